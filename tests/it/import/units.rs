//! Units and number formats inferred from the file: decimal separator, units of volume, supply, balance and fee. Inferred ones
//! are converted, foreign ones refused, and nothing is guessed silently.

mod prices;

use super::{Desk, UNI, rows, words};

const HEADER: &str = "date,open,high,low,close,volume\n";

/// Imports a file of UNI's prices; returns its first candle: open, high, low, close, volume.
fn first(desk: &Desk, name: &str, more: &[&str]) -> [f64; 5] {
    desk.imports(&[&[name, "--token", UNI], more].concat());
    let dataset = desk.dataset();
    let candles = dataset.candles().of(&super::address(UNI));
    let all = candles.series();
    let series = all
        .first()
        .unwrap_or_else(|| panic!("{name}: no candles"))
        .1;
    [
        series.open[0],
        series.high[0],
        series.low[0],
        series.close[0],
        series.volume[0],
    ]
}

#[test]
fn a_point_sets_thousands_apart_where_the_file_shows_it() {
    let header = "Datum;Open;High;Low;Close;Volume\n";
    for (what, row, expected) in [
        (
            "comma in the prices",
            "6,50;6,90;6,10;6,70;29.863",
            [6.5, 6.9, 6.1, 6.7, 29_863.0],
        ),
        (
            "two points in the volume",
            "62.000;64.335;61.967;63.597;2.986.300",
            [62_000.0, 64_335.0, 61_967.0, 63_597.0, 2_986_300.0],
        ),
        (
            "nothing",
            "6.500;6.900;6.100;6.700;29863",
            [6.5, 6.9, 6.1, 6.7, 29_863.0],
        ),
        (
            "point in the volume",
            "6.500;6.900;6.100;6.700;29863.5",
            [6.5, 6.9, 6.1, 6.7, 29_863.5],
        ),
        (
            "point in the prices",
            "6.51;6.91;6.11;6.71;29,863",
            [6.51, 6.91, 6.11, 6.71, 29_863.0],
        ),
    ] {
        let desk = Desk::new();
        desk.write(
            "uni.csv",
            format!("{header}{}", rows(|i| format!("{i:02}.03.2024;{row}\n"))),
        );
        assert_eq!(first(&desk, "uni.csv", &[]), expected, "{what}");
        let (_, report, _) = desk.run(&["uni.csv", "--token", UNI]);
        let assumed = report
            .to_string()
            .contains("assumed: the point in `Open` is a decimal point (as in `6.500`)");
        assert_eq!(assumed, what == "nothing", "{what}: {report:#}");
    }
    let desk = Desk::new();
    let row = |i: u32| {
        format!(
            "0x{i:040x};123.456;{}\n",
            if i == 3 { "1.234,5" } else { "2,5" }
        )
    };
    desk.write("h.csv", format!("address;balance;share\n{}", rows(row)));
    desk.imports(&["h.csv", "--token", UNI]);
    assert_eq!(
        desk.dataset()
            .table("holders")
            .unwrap()
            .frame()
            .column("balance")
            .unwrap()
            .f64()
            .unwrap()
            .get(0),
        Some(123_456.0)
    );
}

#[test]
fn a_dataset_reads_such_points_where_they_lie() {
    for (row, expected) in [
        ("6,50;6,90;6,10;6,70;29.863", [6.5, 29_863.0]),
        ("6.50;6.90;6.10;6.70;29.863", [6.5, 29.863]),
    ] {
        let desk = Desk::empty();
        desk.write("data/tokens.csv", super::TOKENS);
        desk.write(
            "data/candles.csv",
            format!(
                "Datum;Open;High;Low;Close;Volume\n{}",
                rows(|i| format!("{i:02}.03.2024;{row}\n"))
            ),
        );
        let says = format!(
            "format = \"%d.%m.%Y\"\nset = {{ token_address = \"{UNI}\" }}\ncolumns = {{ timestamp = \"Datum\" }}"
        );
        desk.write("data/dataset.toml", format!("[tables.candles]\n{says}\n"));
        let dataset = desk.dataset();
        let candles = dataset.candles().of(&super::address(UNI));
        let all = candles.series();
        let series = all.first().unwrap_or_else(|| panic!("{row}: no candles")).1;
        assert_eq!([series.open[0], series.volume[0]], expected, "{row}");
    }
}

#[test]
fn a_volume_is_counted_as_its_name_and_its_cells_say() {
    for (name, cell, expected, said) in [
        (
            "Volume (M USD)",
            "4",
            1e6,
            "its volume `Volume (M USD)` is in USD",
        ),
        (
            "Volume (k UNI)",
            "0.2",
            200.0,
            "multiplied by 1000 because of its name",
        ),
        (
            "Volume (mUSD)",
            "4",
            1e6,
            "assumed: the values in `Volume (mUSD)` are multiplied by 1000000, because of `mUSD`; if mUSD is a token",
        ),
        ("Volume", "$0.4M", 1e5, "from its cells"),
        (
            "Volume",
            "29863 UNI",
            29_863.0,
            "assumed: `Volume` is in tokens",
        ),
        ("Volume", "1.25 Mio", 1.25e6, ""),
        ("Volume", "1.25bn", 1.25e9, ""),
        ("Volume", "2.98万", 29_800.0, ""),
        ("Volume", "189 Cr", 1.89e9, ""),
    ] {
        let desk = Desk::new();
        desk.write(
            "uni.csv",
            format!(
                "date,open,high,low,close,{name}\n{}",
                rows(|i| format!("2024-01-{i:02},4,4,4,4,{cell}\n"))
            ),
        );
        let volume = first(&desk, "uni.csv", &[])[4];
        assert!(
            (volume - expected).abs() < 1e-9 * expected,
            "{name}, {cell}: {volume}"
        );
        let (_, report, _) = desk.run(&["uni.csv", "--token", UNI]);
        assert!(
            report["files"][0]["says"].to_string().contains(said),
            "{name}, {cell}: {report:#}"
        );
    }
}

#[test]
fn a_volume_of_which_some_cells_are_no_numbers_keeps_the_others_and_says_so() {
    let desk = Desk::new();
    let cell = |i: u32| {
        if i.is_multiple_of(4) {
            "--".to_owned()
        } else {
            format!("{i}.5")
        }
    };
    desk.write(
        "uni.csv",
        format!(
            "{HEADER}{}",
            rows(|i| format!("2024-01-{i:02},4,5,4,5,{}\n", cell(i)))
        ),
    );
    assert_eq!(first(&desk, "uni.csv", &[])[4], 1.5);
    let (_, report, _) = desk.run(&["uni.csv", "--token", UNI]);
    let says = report["files"][0]["says"].to_string();
    assert!(says.contains("5 of the first 20 cells of `volume` are not numbers, such as `--`; such cells are left empty"), "{says}");
    let checked: Vec<String> = desk
        .dataset()
        .table("candles")
        .unwrap()
        .findings
        .kept()
        .iter()
        .map(|finding| finding.reason.clone())
        .collect();
    assert!(
        checked
            .iter()
            .any(|reason| reason.contains("5 of the first 20 cells of `volume`")),
        "{checked:?}"
    );
}

#[test]
fn contracts_are_no_tokens_and_whole_volumes_no_yahoo() {
    let desk = Desk::new();
    let row = |i: i64| {
        let open = 1_700_006_400_000 + i * 86_400_000;
        format!(
            "{open},400,410,390,400,{},{},{},9,1,1,0\n",
            100 + i,
            open + 86_399_999,
            (100 + i) as f64 * 100.0 / 400.0
        )
    };
    let text: String = (0..20).map(row).collect();
    desk.write(
        "UNIUSD_PERP-1d.csv",
        format!(
            "open_time,open,high,low,close,volume,close_time,quote_volume,count,taker_buy_volume,taker_buy_quote_volume,ignore\n{text}"
        ),
    );
    assert_eq!(first(&desk, "UNIUSD_PERP-1d.csv", &[])[4], 25.0);
    let desk = Desk::new();
    desk.write(
        "uni.csv",
        format!(
            "{HEADER}{}",
            rows(|i| format!("2024-01-{i:02},6.512345,6.9{i:05},6.412347,6.612343,300000{i}\n"))
        ),
    );
    assert_eq!(first(&desk, "uni.csv", &[])[4], 3_000_001.0);
}

#[test]
fn a_supply_is_divided_where_its_figures_are_smallest_units() {
    const HEAD: &str = "address,symbol,name,chain,decimals,total_supply\n";
    let usdc = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";
    let whole =
        format!("{UNI},UNI,Uniswap,eth,18,1000000000\n{usdc},USDC,USD Coin,eth,6,28000000000\n");
    let raw = format!(
        "{UNI},UNI,Uniswap,eth,18,1000000000000000000000000000\n{usdc},USDC,USD Coin,eth,6,28000000000000000\n"
    );
    let open = format!("{usdc},USDC,USD Coin,eth,6,28000000000\n");
    for (text, unit, expected) in [
        (format!("{HEAD}{whole}"), None, [1e9, 2.8e10]),
        (format!("{HEAD}{raw}"), None, [1e9, 2.8e10]),
        (format!("{HEAD}{open}"), Some("whole"), [2.8e10, 0.0]),
        (format!("{HEAD}{open}"), Some("raw"), [2.8e4, 0.0]),
        (format!("token_{HEAD}{raw}"), Some("raw"), [1e9, 2.8e10]),
    ] {
        let desk = Desk::empty();
        desk.write("t.csv", &text);
        let args = match unit {
            Some(unit) => {
                let err = desk.refuses(&["t.csv"]);
                assert!(
                    err.contains("may be whole tokens or base units")
                        && err.contains("--unit UNIT"),
                    "{err}"
                );
                vec!["t.csv", "--unit", unit]
            }
            None => vec!["t.csv"],
        };
        desk.imports(&args);
        let dataset = desk.dataset();
        let frame = dataset.table("tokens").unwrap().frame();
        let mut supplies: Vec<f64> = frame
            .column("total_supply")
            .unwrap()
            .f64()
            .unwrap()
            .iter()
            .flatten()
            .collect();
        supplies.sort_by(f64::total_cmp);
        supplies.resize(2, 0.0);
        assert_eq!(supplies, expected, "{text}");
    }
}

#[test]
fn balances_that_are_money_or_too_large_are_not_taken_in_silence() {
    let as_holders = format!(
        "h.csv --as holders --token {UNI} --map holder_address=address --map balance=balance"
    );
    let plain = format!("h.csv --token {UNI}");
    for (header, cell, expected) in [
        (
            "address,balance",
            "\"$1,234,567.50\"",
            "is the value of the tokens",
        ),
        (
            "address,balance",
            "123456789000000000000000000",
            "so they may be in base units; pass --unit raw or --unit whole",
        ),
        (
            "address,balance",
            "1.23457E+26",
            "its balances are rounded, such as `1.23457E+26`",
        ),
        (
            "HolderAddress,Balance",
            "1.23457E+26",
            "its balances are rounded, such as `1.23457E+26`",
        ),
    ] {
        let desk = Desk::new();
        desk.write(
            "h.csv",
            format!("{header}\n{}", rows(|i| format!("0x{i:040x},{cell}\n"))),
        );
        let lines = if header.starts_with("address") {
            vec![&plain, &as_holders]
        } else {
            vec![&plain]
        };
        for line in lines {
            let err = desk.refuses(&words(line));
            assert!(err.contains(expected), "{line}: {err}");
            let taken = cell.starts_with(|c: char| c.is_ascii_digit());
            if taken {
                desk.imports(&[&words(line)[..], &["--unit", "whole"]].concat());
            }
        }
    }
}

#[test]
fn fees_are_fractions_whatever_unit_they_came_in() {
    let options = ["--set", "chain=eth", "--set", "dex_id=uniswap-v3"];
    let mapped = [
        "--as",
        "pools",
        "--map",
        "address=pool",
        "--map",
        "token0=token0",
        "--map",
        "token1=token1",
        "--map",
        "fee=charge",
    ];
    for (column, fees, unit, more, expected) in [
        ("fee", ["3000", "500"], "", &[][..], Some(0.003)),
        ("feeTier", ["10000", "100"], "", &[], Some(0.01)),
        ("fee_ppm", ["30", "45"], "", &[], Some(0.000_03)),
        ("fee", ["0.3", "0.05"], "", &[], Some(0.003)),
        ("fee", ["0.003", "0.0005"], "", &[], Some(0.003)),
        ("fee", ["100", "100"], "", &[], None),
        ("fee", ["3000", "7"], "", &[], None),
        ("fee", ["3000", "7"], "millionths", &[], Some(0.003)),
        ("fee", ["0.09", "0.05"], "percent", &[], Some(0.0009)),
        ("charge", ["3000", "500"], "", &mapped, Some(0.003)),
    ] {
        let desk = Desk::new();
        let row = |nth: usize| {
            format!(
                "0x{nth:040x},{UNI},0x6982508145454ce325ddbe47a25d4ec3d2311933,{}\n",
                fees[nth]
            )
        };
        desk.write(
            "pools.csv",
            format!("pool,token0,token1,{column}\n{}{}", row(0), row(1)),
        );
        let unit = if unit.is_empty() {
            vec![]
        } else {
            vec!["--unit", unit]
        };
        let said = [&["pools.csv"], &options[..], &unit, more].concat();
        if expected.is_none() {
            assert!(
                desk.refuses(&said).contains("(`--unit millionths`)"),
                "{fees:?}"
            );
            continue;
        }
        let report = desk.imports(&said);
        let columns = report["files"][0]["previews"][0]["columns"]
            .as_array()
            .unwrap();
        let fee = columns
            .iter()
            .find(|column| column["column"] == "fee")
            .unwrap();
        assert_eq!(fee["why"] == "from --map", column == "charge", "{fee}");
        let dataset = desk.dataset();
        let read = dataset
            .table("pools")
            .unwrap()
            .frame()
            .column("fee")
            .unwrap()
            .f64()
            .unwrap()
            .get(0);
        assert_eq!(read, expected, "{column} {fees:?} {unit:?}");
    }
}

#[test]
fn volumes_without_names_are_told_by_the_money_beside_them() {
    let kline = |i: u32, price: f64, shown: &dyn Fn(f64) -> String| {
        let at = 1_704_067_200_000_i64 + i64::from(i) * 86_400_000;
        let of = |i: u32| price * (1.0 + f64::from(i * 7 % 5) / 100.0);
        let (open, close, tokens) = (
            of(i - 1),
            of(i),
            f64::from(i * 10) + if price > 1.0 { 0.25 } else { 0.0 },
        );
        let (high, low) = (open.max(close) * 1.001, open.min(close) * 0.999);
        let prices = format!("{at},{open:.10},{high:.10},{low:.10},{close:.10}");
        let bought = format!("{},{:.8},0", shown(tokens / 2.0), tokens * close / 2.0);
        (
            prices.clone(),
            format!(
                "{prices},{},{},{:.8},{},{bought}\n",
                shown(tokens),
                at + 86_399_999,
                tokens * close,
                5 + i * 7 % 11
            ),
        )
    };
    let (points, whole) = (
        |tokens: f64| format!("{tokens:.8}"),
        |tokens: f64| format!("{tokens:.0}"),
    );
    let of = |price: f64, shown: &dyn Fn(f64) -> String| rows(|i| kline(i, price, shown).1);
    let capped = |i: u32, last: &dyn Fn(f64) -> f64| {
        let prices = kline(i, 0.3, &points).0;
        let close: f64 = prices.rsplit(',').next().unwrap().parse().unwrap();
        format!("{prices},{},{:.0}\n", i * 3_060, last(close))
    };
    for (what, text, volume, assumed) in [
        ("whole tokens", of(0.3, &points), 10.0, false),
        (
            "whole tokens of a low price",
            of(0.000_02, &points),
            10.0,
            false,
        ),
        (
            "whole tokens as a spreadsheet writes them",
            of(0.3, &whole),
            10.0,
            false,
        ),
        ("near a price of 1", of(0.98, &points), 10.0, false),
        ("fractions", of(40.0, &points), 10.25, false),
        (
            "three rows",
            (1..=3).map(|i| kline(i, 0.3, &points).1).collect(),
            10.0,
            false,
        ),
        (
            "numbers of trades",
            rows(|i| {
                format!(
                    "{},{}.25,{}\n",
                    kline(i, 0.3, &points).0,
                    i * 10,
                    5 + i * 7 % 11
                )
            }),
            10.25,
            true,
        ),
        (
            "a market cap",
            rows(|i| capped(i, &|close| close * (1.5e9 + f64::from(i)))),
            10_000.0,
            false,
        ),
        (
            "a last column that is no market cap",
            rows(|i| capped(i, &|close| close * 1e9 * f64::from(2 + i * 7 % 5))),
            3_060.0,
            true,
        ),
        (
            "numbers of trades first",
            rows(|i| {
                format!(
                    "{},{},{}.25\n",
                    kline(i, 0.3, &points).0,
                    5 + i * 7 % 11,
                    i * 10
                )
            }),
            10.25,
            true,
        ),
    ] {
        let desk = Desk::new();
        desk.write("a.csv", text);
        let says =
            desk.imports(&["a.csv", "--token", UNI, "--dry-run"])["files"][0]["says"].to_string();
        assert_eq!(
            says.contains("is in tokens, because nothing"),
            assumed,
            "{what}: {says}"
        );
        assert_eq!(first(&desk, "a.csv", &[])[4], volume, "{what}");
    }
}

#[test]
fn a_percent_sign_says_the_unit() {
    let mapped = "--as yields --map protocol=Project --map chain=Chain --map symbol=Symbol --map tvl=TVL --map apy=APY";
    let file = |tvl: &str, [one, other]: [&str; 2]| {
        format!(
            "Chain,Project,Symbol,TVL,APY\nEthereum,aave-v3,USDC,{tvl},{one}\nEthereum,aave-v3,DAI,{tvl},{other}\n"
        )
    };
    let row =
        |symbol: &str, apy: &str| format!("eth,aave-v3,{symbol},{UNI},1000000,{apy},0%,{apy}\n");
    let own = format!(
        "chain,protocol,symbol,tokens,tvl,apy_base,apy_reward,apy\n{}{}",
        row("USDC", "3.12%"),
        row("DAI", "0.5%")
    );
    for (text, args, refused) in [
        (file("1000000", ["3.12%", "0.5 %"]), mapped.to_owned(), ""),
        (
            file("1000000", ["3.12%", "0.5%"]),
            format!("{mapped} --unit fraction"),
            "",
        ),
        (
            file("1000000", ["3.12", "0.5"]),
            format!("{mapped} --unit percent"),
            "",
        ),
        (
            file("1000000", ["0.0312", "0.005"]),
            format!("{mapped} --unit fraction"),
            "",
        ),
        (own, String::new(), ""),
        (
            file("1000000", ["0.0312", "0.005"]),
            mapped.to_owned(),
            "may be a percentage or a fraction",
        ),
        // A column of other numbers has no percentages.
        (
            file("5%", ["3.12%", "0.5%"]),
            mapped.to_owned(),
            "cannot be read as `tvl`",
        ),
    ] {
        let desk = Desk::new();
        desk.write("y.csv", &text);
        let args: Vec<&str> = std::iter::once("y.csv")
            .chain(args.split_whitespace())
            .collect();
        if !refused.is_empty() {
            let err = desk.refuses(&args);
            assert!(err.contains(refused), "{text}: {err}");
            continue;
        }
        desk.imports(&args);
        let dataset = desk.dataset();
        let found = dataset
            .table("yields")
            .unwrap()
            .frame()
            .column("apy")
            .unwrap()
            .f64()
            .unwrap()
            .clone();
        let mut found: Vec<f64> = found.iter().flatten().collect();
        found.sort_by(|a, b| b.total_cmp(a));
        assert!(
            found.len() == 2 && (found[0] - 3.12).abs() < 1e-9 && (found[1] - 0.5).abs() < 1e-9,
            "{text}{args:?}: {found:?}"
        );
    }
}
