//! Shapes of files that people reported elsewhere: several series, titles and types above the rows, statuses in words, tagged addresses.

use model::data::AddressRows as _;
use serde_json::json;

use super::{Desk, PEPE, UNI, rows, taken, words};
use crate::shared::shared;

#[test]
fn reported_files_are_taken_as_they_are_meant() {
    for (case, options, table, expected) in [
        ("26/title1.xlsx", "--token PEPE", "candles", 60),
        ("26/title_blank.xlsx", "--token PEPE", "candles", 60),
        ("26/meta.xlsx", "--token PEPE", "candles", 60),
        ("26/top.xlsx", "--token PEPE", "candles", 60),
        ("26/merged.xlsx", "--token PEPE", "candles", 60),
        ("26/hidden.xlsx", "--token PEPE", "candles", 60),
        ("26/total.xlsx", "--token PEPE", "candles", 60),
        ("22/token_transfers.csv", "--chain eth", "transfers", 30),
        ("22/st.csv", "--chain eth", "transfers", 30),
        ("22c/address.csv", "--chain eth", "transfers", 30),
        ("22c/token.csv", "--chain eth", "transfers", 30),
        ("16b/t.parquet", "--chain eth", "transfers", 40),
        ("16v/with_hexvalue.csv", "--chain eth", "transfers", 10),
    ] {
        let Some(file) = shared(&format!("data/reports/cases/{case}")) else {
            return;
        };
        let options = options.replace("PEPE", PEPE);
        let desk = Desk::empty();
        let report = desk.imports(&[&[file.as_str()][..], &words(&options)].concat());
        assert_eq!(taken(&report, 0, table)[0], expected, "{case}: {report:#}");
    }
}

#[test]
fn of_two_tickers_side_by_side_that_of_the_coin_is_taken() {
    let Some(file) = shared("data/reports/cases/08b/two.csv") else {
        return;
    };
    for (coin, from, to) in [("BTC", 20_000.0, 90_000.0), ("ETH", 1_000.0, 5_000.0)] {
        let desk = Desk::empty();
        desk.imports(&[&file, "--coin", coin]);
        let (_, close) = desk
            .dataset()
            .candles()
            .latest_close(&model::address::Address::coin(coin))
            .unwrap();
        assert!((from..to).contains(&close), "{coin}: {close}");
    }
    // A price whose name stands twice: of two series, or the same twice.
    let text = |second: u32| {
        let row = |i: u32| format!("2024-01-{i:02},{i},{},{i},{i},{}\n", i + 1, i + second);
        format!("date,open,high,low,close,close\n{}", rows(row))
    };
    let desk = Desk::new();
    desk.write("two.csv", text(5));
    assert!(
        desk.refuses(&["two.csv", "--token", PEPE])
            .contains("`close` appears twice in its header")
    );
    desk.write("one.csv", text(0));
    desk.imports(&["one.csv", "--token", PEPE]);
}

#[test]
fn one_bad_column_or_row_costs_itself_alone() {
    let sent = |i: u32, from: &str, decimals: &str, status: &str, block: &str| {
        let number = format!("{i:064x}");
        format!(
            "0x{number},{from},0x{i:040x},{i}000000000000000000,{PEPE},PEPE,{decimals},{status},{block}\n"
        )
    };
    let tagged = |i: u32| format!("0x{:040x} (Hot Wallet)", i + 50);
    let text = |of: &dyn Fn(u32) -> String| {
        format!(
            "hash,from,to,value,token_address,tokenSymbol,tokenDecimal,status,block_number\n{}",
            rows(of)
        )
    };
    for (name, file, says, statuses) in [
        (
            "tagged",
            text(&|i| sent(i, &tagged(i), "18", "Success", "5")),
            "",
            20,
        ),
        (
            "name",
            text(&|i| {
                sent(
                    i,
                    &if i < 4 {
                        "Binance: Hot Wallet".to_owned()
                    } else {
                        tagged(i)
                    },
                    "18",
                    "0x1",
                    "5",
                )
            }),
            "",
            20,
        ),
        (
            "padded",
            text(&|i| sent(i, &format!("0x{:064x}", i + 50), "18", "TRUE", "5")),
            "",
            20,
        ),
        (
            "decimals",
            text(&|i| sent(i, &tagged(i), if i < 4 { "999" } else { "18" }, "ok", "5")),
            "",
            20,
        ),
        (
            "status",
            text(&|i| {
                sent(
                    i,
                    &tagged(i),
                    "18",
                    if i == 9 { "pending" } else { "ok" },
                    "5",
                )
            }),
            "status is left empty, as `pending`",
            0,
        ),
        (
            "blocks",
            text(&|i| sent(i, &tagged(i), "18", "ok", if i < 4 { "soon" } else { "5" })),
            "`block_number` is left empty",
            20,
        ),
    ] {
        let desk = Desk::empty();
        desk.write("sent.csv", file);
        let report = desk.imports(&["sent.csv", "--chain", "eth"]);
        assert_eq!(taken(&report, 0, "transfers")[0], 20, "{name}: {report:#}");
        assert!(
            report["files"][0]["says"].to_string().contains(says),
            "{name}: {report:#}"
        );
        let dataset = desk.dataset();
        let known = dataset
            .transfers()
            .chunks(&super::address(PEPE))
            .flatten()
            .filter(|row| row.status == Some(1))
            .count();
        assert_eq!(known, statuses, "{name}");
    }
}

#[test]
fn two_tokens_at_one_address_are_told_at_import() {
    let desk = Desk::empty();
    desk.write(
        "list.csv",
        format!("token_address,symbol,name,chain,decimals,market_cap\n{PEPE},OP,Optimism,op,18,5\n{PEPE},FAKE,Fake,base,6,\n"),
    );
    let notes = desk.imports(&["list.csv"])["notes"].to_string();
    assert!(
        notes.contains("FAKE on base, next to OP on oeth") && notes.contains("the row is excluded"),
        "{notes}"
    );
    let twin = Desk::empty();
    twin.write(
        "list.csv",
        format!(
            "token_address,symbol,name,chain,decimals\n{PEPE},USDC,A,op,6\n{PEPE},usdc,A,base,6\n"
        ),
    );
    assert_eq!(
        twin.imports(&["list.csv"])["notes"]
            .to_string()
            .find("kept out"),
        None
    );
    assert_eq!(twin.clean().tokens()[0].chains.len(), 2);
}

/// Candles of twenty days, the cells of a row between `between`.
fn days(between: &str) -> String {
    rows(|i| {
        [
            format!("2024-01-{i:02}"),
            format!("{i}.5"),
            format!("{}.75", i + 1),
            format!("{i}.25"),
            format!("{}.5", i + 1),
        ]
        .join(between)
            + "\n"
    })
}

#[test]
fn candles_are_read_however_their_cells_are_separated_and_written() {
    let sjis =
        b"\x93\xfa\x95\x74,\x8e\x6e\x92\x6c,\x8d\x82\x92\x6c,\x88\xc0\x92\x6c,\x8f\x49\x92\x6c\n";
    let gbk =
        b"\xc8\xd5\xc6\xda,\xbf\xaa\xc5\xcc,\xd7\xee\xb8\xdf,\xd7\xee\xb5\xcd,\xca\xd5\xc5\xcc\n";
    let comma = |name: &str| format!("{name}\n{}", days(","));
    let google = |i: u32| serde_json::json!({"c": [{"v": format!("Date(2024,0,{i})")}, {"v": f64::from(i) + 0.5}, {"v": i + 1}, {"v": i}, {"v": f64::from(i) + 0.25}]});
    let columns = ["Date", "Open", "High", "Low", "Close"]
        .map(|label| serde_json::json!({"id": "A", "label": label}));
    let google = serde_json::json!({"table": {"cols": columns, "rows": (1..=20).map(google).collect::<Vec<_>>()}});
    for (name, bytes, says) in [
        (
            "blanks.txt",
            format!("date  open high low close\n{}", days("   ")).into_bytes(),
            "",
        ),
        ("comma.txt", days("  ").replace('.', ",").into_bytes(), ""),
        (
            "jp.csv",
            [&sjis[..], days(",").as_bytes()].concat(),
            "read as Shift_JIS",
        ),
        (
            "cn.csv",
            [&gbk[..], days(",").as_bytes()].concat(),
            "read as gb18030",
        ),
        (
            "one_more.csv",
            comma("date,open,high,low,close")
                .replace("5\n", "5,0\n")
                .into_bytes(),
            "",
        ),
        ("index.csv", comma("open,high,low,close").into_bytes(), ""),
        (
            "split.csv",
            format!(
                "Date, Open, High, Low, Close\n{}",
                rows(|i| format!("Jan {i:02}, 2024, {i}.5, {}, {i}, {i}.25\n", i + 1))
            )
            .into(),
            "",
        ),
        (
            "excel.csv",
            format!(
                "date,open,high,low,close\n{}",
                rows(|i| format!("=\"2024-01-{i:02}\",{i}.5,{},{i},{i}.25\n", i + 1))
            )
            .into(),
            "",
        ),
        (
            "gviz.json",
            format!("/*O_o*/\ngoogle.visualization.Query.setResponse({google});\n").into_bytes(),
            "is JavaScript",
        ),
    ] {
        let desk = Desk::empty();
        desk.write(name, &bytes);
        let report = desk.imports(&[name, "--token", PEPE]);
        assert_eq!(taken(&report, 0, "candles")[0], 20, "{name}: {report:#}");
        assert!(
            report["files"][0]["says"].to_string().contains(says),
            "{name}: {report:#}"
        );
        let dataset = desk.dataset();
        let first = dataset
            .table("candles")
            .unwrap()
            .frame()
            .column("open")
            .unwrap()
            .f64()
            .unwrap()
            .get(0);
        assert_eq!(first, Some(1.5), "{name}");
    }
}

#[test]
fn exports_of_mysql_keep_quotes_and_nulls_and_unreadable_rows_refuse_the_file() {
    let desk = Desk::empty();
    let list = "\"token_address\",\"symbol\",\"name\",\"decimals\",\"chain\"\n";
    let row = |token: &str, name: &str| format!("\"{token}\",\"X\",{name},18,\"eth\"\n");
    desk.write(
        "tokens.csv",
        format!(
            "{list}{}{}",
            row(UNI, r#""\"UNI\" coin""#),
            row(PEPE, r"\N")
        ),
    );
    let report = desk.imports(&["tokens.csv"]);
    assert!(
        report["files"][0]["says"]
            .to_string()
            .contains("assumed: a backslash before a quote"),
        "{report:#}"
    );
    let dataset = desk.dataset();
    let name = |token: &str| {
        dataset
            .token(&super::address(token))
            .unwrap()
            .row
            .name
            .clone()
    };
    assert_eq!(
        (name(UNI).as_deref(), name(PEPE)),
        (Some("\"UNI\" coin"), None)
    );
    // Cells that are not closed, but for a few, show that the file is written in another way.
    for (bad, good) in [(10, false), (2, true), (0, true)] {
        let label = |i: u32| {
            format!(
                "\"0x{i:040x}\",\"{}\n",
                if i <= bad { "N," } else { "exchange\"" }
            )
        };
        let desk = Desk::empty();
        desk.write("labels.csv", format!("address,label\n{}", rows(label)));
        let (_, _, err) = desk.run(&["labels.csv"]);
        assert_eq!(err.is_empty(), good, "{bad}: {err}");
        assert!(
            good || err.contains("has 10 invalid rows out of 20"),
            "{err}"
        );
    }
}

#[test]
fn the_exact_amounts_and_the_chain_beside_the_rows_are_taken() {
    let desk = Desk::empty();
    let sent = |i: u32| {
        let exact = format!("{i}234567890123456789");
        let float = exact.parse::<f64>().unwrap();
        format!(
            "0x{i:064x},{UNI},0x{i:040x},0x{:040x},{float:e},{exact},18,UNI\n",
            i + 1
        )
    };
    desk.write(
        "t.csv",
        format!("tx_hash,contract_address,from_address,to_address,raw_amount,raw_amount_precise,decimals,symbol\n{}", rows(sent)),
    );
    let report = desk.imports(&["t.csv", "--chain", "eth"]);
    let says = report["files"][0]["says"].to_string();
    assert!(
        says.contains("its amounts are read from `raw_amount_precise`")
            && !says.contains("approximate"),
        "{says}"
    );
    // A single column of rounded amounts stays one, and said to be.
    let rounded = rows(sent)
        .lines()
        .map(|line| line.rsplitn(4, ',').last().unwrap().to_owned() + ",18,UNI\n")
        .collect::<String>();
    let desk = Desk::empty();
    desk.write(
        "r.csv",
        format!(
            "tx_hash,contract_address,from_address,to_address,raw_amount,decimals,symbol\n{rounded}"
        ),
    );
    assert!(
        desk.imports(&["r.csv", "--chain", "eth"])["files"][0]["says"]
            .to_string()
            .contains("approximate")
    );
    let holder = |i: u32| {
        serde_json::json!({"contract_decimals": 18, "contract_name": "Uniswap", "contract_ticker_symbol": "UNI", "contract_address": UNI,
            "address": format!("0x{i:040x}"), "balance": format!("{i}000000000000000000000")})
    };
    for (member, value, chain) in [
        ("chain_id", serde_json::json!(43114), "avax"),
        ("chain_name", serde_json::json!("avalanche-mainnet"), "avax"),
        ("chain_id", serde_json::json!(0), "eth"),
    ] {
        let desk = Desk::empty();
        desk.write("h.json", serde_json::json!({"data": {member: value, "items": (1..=20).map(holder).collect::<Vec<_>>()}}).to_string());
        let says = desk.imports(&["h.json"])["files"][0]["says"].to_string();
        assert_eq!(
            says.contains("assumed: the chain of its tokens"),
            chain == "eth",
            "{member}: {says}"
        );
        let dataset = desk.dataset();
        let token = dataset.token(&super::address(UNI)).unwrap();
        assert_eq!(
            (token.chains[0].as_str(), token.row.name.as_deref()),
            (chain, Some("Uniswap")),
            "{member}"
        );
    }
}

#[test]
fn lists_of_addresses_are_one_label_for_each() {
    let desk = Desk::empty();
    let at = |i: u32| format!("\"0x{:040x}\"", 0xabc_0000 + i);
    let entry = |i: u32, addresses: &str| {
        format!(r#"{{"name":"site{i}.com","category":"Phishing","addresses":{addresses}}}"#)
    };
    let lists = [
        format!(r#"{{"ETH":[{},{}]}}"#, at(1), at(2)),
        format!(r#"{{"ETH":[{}]}}"#, at(3)),
        "null".to_owned(),
    ];
    let entries: Vec<String> = (1..)
        .zip(&lists)
        .map(|(i, addresses)| entry(i, addresses))
        .collect();
    desk.write(
        "scams.json",
        format!(
            "[{},{}]",
            entries.join(","),
            entry(9, r#"{"BTC":["1BoatSLRHtKNngkdXEeobR76b53LETtpyT"]}"#)
        ),
    );
    desk.imports(&["scams.json", "--map", "label=category"]);
    assert_eq!(desk.dataset().table("labels").unwrap().frame().height(), 3);
}

#[test]
fn posts_of_a_chat_have_their_whole_text_and_are_at_utc() {
    let desk = Desk::new();
    let post = |id: u32, kind: &str, text: &str| {
        let (hour, seconds) = (10 + id, 1_684_051_200 + 3_600 * id);
        format!(
            r#"{{"id":{id},"type":"{kind}","date":"2023-05-14T{hour}:00:00","date_unixtime":"{seconds}","from":"ann","text":{text}}}"#
        )
    };
    let runs = r#"["up ",{"type":"bold","text":"only"},"!"]"#;
    let posts = [
        post(1, "message", runs),
        post(2, "service", r#""""#),
        post(3, "message", r#"["a","b"]"#),
    ]
    .join(",");
    desk.write(
        "result.json",
        format!(r#"{{"name":"x","type":"public_channel","id":7,"messages":[{posts}]}}"#),
    );
    let report = desk.imports(&["result.json", "--token", PEPE]);
    assert_eq!(taken(&report, 0, "posts"), [2, 0, 0, 0, 0, 1], "{report:#}");
    let dataset = desk.dataset();
    let frame = dataset.table("posts").unwrap().frame();
    let titles = frame.column("title").unwrap().str().unwrap();
    // A list of strings alone is a list.
    assert!(
        titles.iter().flatten().any(|title| title == "up only!")
            && titles.iter().flatten().any(|title| title.starts_with('['))
    );
    let times = frame
        .column("published_at")
        .unwrap()
        .cast(&polars::prelude::DataType::Int64)
        .unwrap();
    assert!(
        times
            .i64()
            .unwrap()
            .iter()
            .flatten()
            .any(|time| time == 1_684_054_800_000),
        "{frame}"
    );
    desk.write("all.json", format!(r#"{{"about":"x","chats":{{"about":"y","list":[{{"name":"x","id":1,"messages":[{posts}]}}]}}}}"#));
    assert!(
        desk.refuses(&["all.json", "--token", PEPE])
            .contains("contains all chats of an account")
    );
    // A time that is said to be UTC is proposed before one beside it.
    for (names, expected) in [
        ("date,date_utc", "date_utc"),
        ("created,created_utc", "created_utc"),
        ("created,flair", "created"),
    ] {
        desk.write(
            "p.csv",
            format!(
                "text,{names}\n{}",
                rows(|i| format!("up {i},2024-01-{i:02} 10:00:00,2024-01-{i:02} 08:00:00\n"))
            ),
        );
        let err = desk.refuses(&["p.csv", "--token", PEPE]);
        assert!(
            err.contains(&format!("--map published_at={expected}\n"))
                || err.contains(&format!("--map published_at={expected} ")),
            "{err}"
        );
    }
}

#[test]
fn names_with_units_and_values_are_read_as_they_say() {
    let at = |i: u32| format!("0x{:040x}", 0xabc_0000 + i);
    let whole = |header: &str| {
        format!(
            "address,{header}\n{}",
            rows(|i| format!("{},{i}000000000000000000\n", at(i)))
        )
    };
    let day = |i: u32| {
        format!(
            "2024-01-{i:02},{}.5,{}.5,{}.5,{}.5\n",
            100 + i,
            102 + i,
            98 + i,
            101 + i
        )
    };
    let chart = |header: &str| {
        format!(
            "Date(UTC),UnixTimeStamp,{header}\n{}",
            rows(|i| format!("1/{i}/2024,{},5{i:02}\n", 1_704_067_200 + i * 86_400))
        )
    };
    let token = format!("--token {UNI}");
    let mapped =
        format!("{token} --as holders --map holder_address=address --map balance=knine_wei");
    for (name, text, options, table, expected, says) in [
        (
            "wei.csv",
            whole("balance_wei"),
            token.as_str(),
            "holders",
            20,
            "in base units",
        ),
        (
            "camel.csv",
            whole("balanceWei"),
            &token,
            "holders",
            20,
            "in base units",
        ),
        (
            "mapped.csv",
            whole("knine_wei"),
            &mapped,
            "holders",
            20,
            "in base units",
        ),
        (
            "lower.csv",
            format!(
                "address,balance_pepe\n{}",
                rows(|i| format!("{},{i}.5\n", at(i)))
            ),
            "",
            "holders",
            20,
            PEPE,
        ),
        (
            "upper.csv",
            format!(
                "address,Balance PEPE\n{}",
                rows(|i| format!("{},{i}.5\n", at(i)))
            ),
            "",
            "holders",
            20,
            PEPE,
        ),
        (
            "values.csv",
            format!(
                "date,open_value,max_value,min_value,close_value\n{}",
                rows(day)
            ),
            &token,
            "candles",
            20,
            "",
        ),
        (
            "seeds.csv",
            rows(|i| day(i).replace('-', "").replacen(',', "T,", 1)),
            &token,
            "candles",
            20,
            "",
        ),
        (
            "coin.csv",
            format!(
                "date,prices,market_caps,total_volumes\n{}",
                rows(|i| format!("2024-01-{i:02},{}.5,1.5,2.5\n", 100 + i))
            ),
            &token,
            "candles",
            20,
            "open, high, low and close are equal",
        ),
        ("wei_chart.csv", chart("Value (Wei)"), "", "gas", 1, ""),
        ("gwei_chart.csv", chart("Value (Gwei)"), "", "gas", 1, ""),
    ] {
        let desk = Desk::new();
        desk.write(name, text);
        let options: Vec<&str> = options.split_whitespace().collect();
        let report = desk.imports(&[&[name], &options[..]].concat());
        assert!(
            taken(&report, 0, table)[0] == expected && report.to_string().contains(says),
            "{name}: {report:#}"
        );
    }
}

#[test]
fn a_candle_that_has_not_ended_is_left_out_where_the_file_says_so() {
    let price = |i: u32| [100 + i, 103 + i, 99 + i, 101 + i].map(|price| format!("{price}.5"));
    let flag = |i: u32| i < 20;
    let time = |i: u32| 1_704_067_200_000_u64 + u64::from(i) * 86_400_000;
    let stream = |closed: &dyn Fn(u32) -> bool| {
        rows(|i| {
            let [open, high, low, close] = price(i);
            let candle = json!({"t": time(i), "T": time(i) + 86_399_999, "L": i, "o": open, "c": close, "h": high, "l": low,
                "v": "5.5", "x": closed(i)});
            format!("{}\n", json!({"e": "kline", "s": "BTCUSDT", "k": candle}))
        })
    };
    let lists = |flag: &dyn Fn(u32) -> u32| {
        let rows: Vec<_> = (1..=20)
            .rev()
            .map(|i| {
                let [open, high, low, close] = price(i);
                json!([
                    time(i).to_string(),
                    open,
                    high,
                    low,
                    close,
                    "5.5",
                    "500.5",
                    "500.5",
                    flag(i).to_string()
                ])
            })
            .collect();
        json!({"code": "0", "msg": "", "data": rows}).to_string()
    };
    for (name, text, expected) in [
        ("BTCUSDT.ndjson", stream(&flag), 19),
        ("BTCUSDT.ndjson", stream(&|_| true), 20),
        ("BTC-USDT.json", lists(&|i| u32::from(flag(i))), 19),
        ("BTC-USDT.json", lists(&|_| 1), 20),
        ("BTC-USDT.json", lists(&|i| i % 2), 20),
    ] {
        let desk = Desk::new();
        desk.write(name, text);
        let report = desk.imports(&[name, "--token", UNI]);
        assert_eq!(
            taken(&report, 0, "candles")[0],
            expected,
            "{name}: {report:#}"
        );
        let dataset = desk.dataset();
        let frame = dataset.table("candles").unwrap().frame();
        let lows = frame.column("low").unwrap().f64().unwrap();
        assert!(lows.iter().flatten().all(|low| low > 100.0), "{name}");
    }
}
