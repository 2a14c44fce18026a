//! A suggested command contains only facts of the file; the rest are placeholders. Nothing is suggested that would import wrong numbers.

use model::address::Address;

use super::{Desk, PEPE, UNI, address, reasons, rows, taken, words};

fn candles(header: &str) -> String {
    let row = |day: u32| format!("2024-01-{day:02},{day},{},{}.5,{day}.5\n", day + 1, day - 1);
    format!("{header}\n{}", rows(row))
}

#[test]
fn a_suggested_command_holds_only_what_the_file_shows() {
    let holder = |i: u32| format!("0x{i:040x}");
    for (name, text, says, lacks) in [
        // A number is no chain, and a fraction under one no percentage.
        (
            "pools.csv",
            format!(
                "Pool Name,APY,Protocol,Chain\n{}",
                rows(|i| format!("P{i},0.0{i},Curve,{}\n", i % 2 + 1))
            ),
            &[
                "--set chain=CHAIN",
                "--unit UNIT",
                "--map protocol=Protocol",
                "`2` in `Chain` is not a chain",
            ][..],
            &["chain=Chain", "chain=eth", "dataset.toml"][..],
        ),
        // A single price per time makes no candle.
        (
            "points.csv",
            format!(
                "date,price,market_cap\n{}",
                rows(|i| format!("2024-01-{i:02},{i},9\n"))
            ),
            &["one price per time, `price`"],
            &["try:", "dataset.toml"],
        ),
        // Amounts paid or distributed, not held.
        (
            "paid.csv",
            format!(
                "addr,block,size\n{}",
                rows(|i| format!("{},{i},{i}.5\n", holder(i)))
            ),
            &[
                "--map balance=COLUMN",
                "--token ADDRESS",
                "no column is recognized as `balance`",
                "balance = COLUMN }, set = { token_address = ADDRESS }",
            ],
            &["balance=size"],
        ),
        // No column can be the address.
        (
            "coins.csv",
            "symbol,name,price\nBTC,Bitcoin,5\nETH,Ether,6\n".to_owned(),
            &["no column is recognized as `token_address`"],
            &["try:"],
        ),
        (
            "ETHEUR.csv",
            candles("date,open,high,low,close"),
            &["has prices of ETH in EUR", "--as-usd if they are"],
            &["try:"],
        ),
        (
            "UNIUSDT.csv",
            candles("date,open,high,low,close"),
            &["--token ADDRESS   #"],
            &["try: tokendeck import UNIUSDT.csv --into data --coin"],
        ),
        (
            "UNIUSD.csv",
            candles("date,open,high,low,close").replace(",3,4,2.5,", ",3,1,2.5,"),
            &["row 3", "--broken-too"],
            &["try:"],
        ),
        (
            "Export.csv",
            format!("Address,Name Tag\n{UNI},Kraken 1\n"),
            &["--label LABEL"],
            &["--label export"],
        ),
        (
            "tags.csv",
            format!("address,type,category,name\n{UNI},cold,exchange,Kraken\n"),
            &["`type`", "`category`", "--map label=COLUMN"],
            &["try: tokendeck import tags.csv --into data --map label=type"],
        ),
    ] {
        let desk = Desk::empty();
        desk.write(name, text);
        let err = desk.refuses(&[name]);
        for part in says {
            assert!(err.contains(part), "{name}: no {part} in {err}");
        }
        for part in lacks {
            assert!(!err.contains(part), "{name}: {part} in {err}");
        }
    }
}

#[test]
fn a_placeholder_that_is_left_is_named() {
    let desk = Desk::empty();
    desk.write(
        "pools.csv",
        format!("pool,token0,token1\n{PEPE},{UNI},{PEPE}\n"),
    );
    for (args, says) in [
        (
            &["--set", "chain=eth", "--set", "dex_id=DEX"][..],
            "`--set dex_id=DEX`: DEX stands for",
        ),
        (
            &["--set", "chain=CHAIN", "--set", "dex_id=curve"],
            "`--set chain=CHAIN`: CHAIN stands for",
        ),
        (&["--label", "LABEL"], "`--label LABEL`: LABEL stands for"),
        (
            &["--map", "TARGET=1"],
            "`--map TARGET=1`: TARGET stands for",
        ),
        (&["--chain", "CHAIN"], "CHAIN stands for a chain"),
        (&["--as", "TABLE"], "TABLE stands for a tokendeck table"),
        (&["--unit", "UNIT"], "UNIT stands for raw or whole"),
        (&["--decimals", "DECIMALS"], "DECIMALS stands for"),
        (&["--token", "ADDRESS"], "ADDRESS stands for"),
        (
            &["--chain", "base", "--set", "chain=eth"],
            "`--set chain=eth` and `--chain base` contradict each other",
        ),
    ] {
        let (code, _, err) = desk.run(&[&["pools.csv"], args].concat());
        assert!(
            code != 0 && err.contains(says) && !desk.data().exists(),
            "{args:?}: {err}"
        );
    }
}

#[test]
fn the_symbol_of_a_coin_is_not_taken_for_a_token_that_bears_it() {
    let desk = Desk::empty();
    let bridged = format!("0x{:040x}", 77);
    desk.write(
        "list.csv",
        format!(
            "address,symbol,name,decimals\n{bridged},ETH,Ether (bridged),18\n{UNI},UNI,Uniswap,18\n"
        ),
    );
    desk.imports(&["list.csv", "--chain", "moonbeam"]);
    desk.write("ETH-USD.csv", candles("Date,Open,High,Low,Close"));
    let err = desk.refuses(&["ETH-USD.csv"]);
    assert!(
        err.contains("is about `ETH`, a coin without a contract")
            && err.contains(&format!("{bridged} on mbeam")),
        "{err}"
    );
    assert!(
        err.contains("try: tokendeck import ETH-USD.csv --into data --coin ETH\n"),
        "{err}"
    );
    desk.imports(&["ETH-USD.csv", "--coin", "ETH"]);
    // From here on ETH is the coin, as in the dataset.
    let says = desk.imports(&["ETH-USD.csv"])["files"][0]["says"].to_string();
    let coin = Address::coin("ETH");
    assert!(says.contains("coin:ETH"), "{says}");
    let dataset = desk.clean();
    assert_eq!(
        (
            dataset.candles().of(&coin).series().len(),
            dataset.candles().of(&address(&bridged)).series().len()
        ),
        (1, 0)
    );
}

#[test]
fn yields_are_percent_or_it_is_asked() {
    let file = |rate: &str| {
        format!(
            "pool_name,apy,tvl,project,chain\n{}",
            rows(|i| format!("P{i},{rate}{i},50000,curve,ethereum\n"))
        )
    };
    let args = words("y.csv --as yields --map symbol=pool_name --map protocol=project");
    for (rate, unit, expected) in [
        ("0.0", None, None),
        ("0.0", Some("fraction"), Some(5.0)),
        ("0.0", Some("percent"), Some(0.05)),
        ("1", None, Some(15.0)),
    ] {
        let desk = Desk::empty();
        desk.write("y.csv", file(rate));
        let all = [&args[..], &unit.map_or(vec![], |unit| vec!["--unit", unit])].concat();
        let Some(expected) = expected else {
            let err = desk.refuses(&all);
            assert!(
                err.contains("may be a percentage or a fraction") && err.contains("--unit UNIT"),
                "{err}"
            );
            continue;
        };
        desk.imports(&all);
        let dataset = desk.dataset();
        let frame = dataset.table("yields").unwrap().frame();
        let (names, apys) = (
            frame.column("symbol").unwrap().str().unwrap(),
            frame.column("apy").unwrap().f64().unwrap(),
        );
        let at = names.iter().position(|name| name == Some("P5")).unwrap();
        assert!(
            (apys.get(at).unwrap() - expected).abs() < 1e-9,
            "{rate} {unit:?}: {:?}",
            apys.get(at)
        );
    }
}

#[test]
fn yields_that_look_like_fractions_are_told_in_a_dataset() {
    for (rate, count, told) in [
        ("0.0", 20, true),
        ("0.0", 3, true),
        ("1", 20, false),
        ("0.0", 2, false),
    ] {
        let desk = Desk::empty();
        desk.write("data/tokens.csv", super::TOKENS);
        let row = |i: u32| format!("p{i},curve,eth,P{i},{UNI},50000,{rate}{i},0\n");
        desk.write(
            "data/yields.csv",
            format!(
                "pool,protocol,chain,symbol,tokens,tvl,apy_base,apy_reward\n{}",
                (1..=count).map(row).collect::<Vec<_>>().concat()
            ),
        );
        let dataset = desk.dataset();
        let counts = dataset.table("yields").unwrap().findings.counts();
        assert_eq!(
            counts
                .iter()
                .any(|count| count.reason.starts_with("no yield reaches 1%")),
            told,
            "{rate}: {counts:?}"
        );
    }
}

#[test]
fn prices_are_four_columns_or_one_that_says_so() {
    let desk = Desk::new();
    desk.write(
        "p.csv",
        format!(
            "when,price,top\n{}",
            rows(|i| format!("2024-01-{i:02},{i},{}\n", i + 1))
        ),
    );
    let map = |open: &str, high: &str| {
        format!(
            "p.csv --token {UNI} --as candles --map timestamp=when --map open={open} --map high={high} --map low=price --map close=price"
        )
    };
    let says = desk.imports(&words(&map("price", "price")))["files"][0]["says"].to_string();
    assert!(
        says.contains("warning: it has only one price per time, `price`"),
        "{says}"
    );
    let err = desk.refuses(&words(&map("price", "top")));
    assert!(
        err.contains("has only one column, `price`, for open and low and close"),
        "{err}"
    );
    // The volume is checked even if the price columns are mapped by hand.
    let row = |i: u32| {
        format!(
            "2024-01-{i:02},{i},{},{}.5,{i}.25,9,{}000\n",
            i + 1,
            i - 1,
            i
        )
    };
    desk.write(
        "y.csv",
        format!("d,o1,h1,l1,c1,Adj Close,Volume\n{}", rows(row)),
    );
    let args = format!(
        "y.csv --token {UNI} --as candles --map timestamp=d --map open=o1 --map high=h1 --map low=l1 --map close=c1"
    );
    let says = desk.imports(&words(&args))["files"][0]["says"].to_string();
    assert!(
        says.contains("is in USD (as in sources that also have `Adj Close`)"),
        "{says}"
    );
}

#[test]
fn one_column_for_several_prices_is_warned_of_in_a_dataset() {
    let desk = Desk::empty();
    desk.write("data/tokens.csv", super::TOKENS);
    desk.write(
        "data/dataset.toml",
        "[tables.candles.columns]\nopen = 'p'\nhigh = 'p'\nlow = 'p'\nclose = 'p'\n",
    );
    desk.write(
        "data/candles.csv",
        format!(
            "token_address,timestamp,p\n{}",
            rows(|i| format!("{UNI},2024-01-{i:02},{i}\n"))
        ),
    );
    let dataset = desk.dataset();
    let counts = dataset.table("candles").unwrap().findings.counts();
    assert!(
        counts.iter().any(|count| count
            .reason
            .starts_with("open, high, low, close are read from the same column, `p`")),
        "{counts:?}"
    );
}

#[test]
fn posts_without_ids_get_one_and_their_token_a_row() {
    let desk = Desk::empty();
    let text = "date,user,text\n2024-01-01 10:00:00,ann,up\n2024-01-01 10:00:00,bob,up\n2024-01-02 10:00:00,ann,up\n2024-01-02 10:00:00,ann,up\n";
    desk.write("posts.csv", text);
    let line = desk.refuses(&["posts.csv"]);
    assert!(
        line.contains("--as posts --token ADDRESS --map title=text --map published_at=date"),
        "{line}"
    );
    let args = words(
        "posts.csv --as posts --coin BTC --map title=text --map published_at=date --map author=user",
    );
    let report = desk.imports(&args);
    assert_eq!(taken(&report, 0, "posts"), [3, 0, 0, 1, 0, 0], "{report:#}");
    assert!(
        report["files"][0]["says"]
            .to_string()
            .contains("its posts have no id"),
        "{report:#}"
    );
    assert_eq!(
        taken(&desk.imports(&args), 0, "posts"),
        [0, 0, 3, 1, 0, 0],
        "the same file again is the same posts"
    );
    let dataset = desk.clean();
    let symbols: Vec<_> = dataset
        .tokens()
        .iter()
        .map(|token| token.row.symbol.clone())
        .collect();
    assert_eq!(symbols, [Some("BTC".to_owned())]);
}

#[test]
fn all_that_lacks_is_said_at_once_and_so_is_what_goes_nowhere() {
    let desk = Desk::new();
    desk.write("odd.csv", "a,b\n1,2\n");
    let err = desk.refuses(&["odd.csv", "--as", "dexes"]);
    assert!(
        err.contains("lacks the columns `dex_id`")
            && err.contains("`name`")
            && err.contains("`chain`"),
        "{err}"
    );
    assert!(
        err.contains("--map dex_id=COLUMN") && err.contains("--map name=COLUMN"),
        "{err}"
    );
    let pool = format!("0x{:040x}", 9);
    desk.write(
        "pools.csv",
        format!("time,pool,fee,token0,token1,token0_symbol,token1_symbol\n2024-01-01,{pool},3000,{UNI},{PEPE},UNI,PEPE\n"),
    );
    let report = desk.imports(&[
        "pools.csv",
        "--set",
        "chain=eth",
        "--set",
        "dex_id=uniswap-v3",
    ]);
    assert_eq!(
        reasons(&report, 0),
        [("columns not imported: `time`".to_owned(), 1)],
        "{report:#}"
    );
}

#[test]
fn pools_with_their_tokens_in_one_list_are_taken_apart_by_dataset_toml() {
    let desk = Desk::new();
    let pool = format!("0x{:040x}", 9);
    let pools = format!(
        "dex,chain,address,pair,tokens\nuniswap-v2,ethereum,{pool},UNI/PEPE,{UNI};{PEPE}\n"
    );
    let err = desk.refuses(&[desk.write("real.csv", &pools).to_str().unwrap()]);
    assert!(
        err.contains("The closest table is `pools`, but its `token0` is item 1 of `tokens`"),
        "{err}"
    );
    let line = err
        .lines()
        .find_map(|line| line.split_once("In dataset.toml: "))
        .expect(&err)
        .1;
    let (table, rest) = line.split_once("] ").expect(line);
    let columns = rest.split(" }").collect::<Vec<_>>().join(" }");
    desk.write("data/pools.csv", &pools);
    desk.write(
        "data/dataset.toml",
        format!("{table}]\n{}\n", columns.trim_end_matches(';')),
    );
    let dataset = desk.dataset();
    let read = dataset.table("pools").unwrap().frame();
    assert_eq!(
        read.column("token1").unwrap().str().unwrap().get(0),
        Some(PEPE),
        "{line}"
    );
}

#[test]
fn what_a_file_was_told_stays_visible() {
    let desk = Desk::new();
    let row = |day: u32| {
        format!(
            "2024-01-{day:02},{day},{},{}.5,{day}.5\n",
            if day == 3 { 1 } else { day + 1 },
            day - 1
        )
    };
    desk.write(
        "prices.csv",
        format!("date,open,high,low,close\n{}", rows(row)),
    );
    desk.imports(&["prices.csv", "--token", UNI, "--broken-too"]);
    let dataset = desk.dataset();
    let notes: Vec<&str> = dataset
        .table("candles")
        .unwrap()
        .findings
        .kept()
        .iter()
        .map(|finding| finding.reason.as_str())
        .collect();
    let expected = format!("imported from `prices.csv` with options: --token {UNI} --broken-too");
    assert!(notes.contains(&expected.as_str()), "{notes:?}");
    let told = |table: &str| {
        let findings = &dataset.table(table).unwrap().findings;
        findings
            .kept()
            .iter()
            .any(|finding| finding.reason.contains("as said"))
    };
    assert!(!told("tokens"), "nothing was said of the list");
}

#[test]
fn a_volume_beside_what_only_sources_in_dollars_give_is_no_number_of_tokens() {
    let row = |i: u32| format!("{UNI},2024-01-{i:02},100,110,90,100,100,{i}00\n");
    let text = format!(
        "token_address,timestamp,open,high,low,close,Adj Close,Volume\n{}",
        rows(row)
    );
    for (said, expected, warned) in [
        ("", 5.0, true),
        (
            "[tables.candles.columns]\nvolume = { unit = 'token' }\n",
            500.0,
            false,
        ),
        ("[tables.candles.columns]\nvolume = 'Volume'\n", 5.0, true),
    ] {
        let desk = Desk::empty();
        desk.write("data/tokens.csv", super::TOKENS);
        desk.write("data/dataset.toml", said);
        desk.write("data/candles.csv", &text);
        let dataset = desk.dataset();
        assert!(
            (dataset.candles().of(&address(UNI)).series()[0].1.volume[4] - expected).abs() < 1e-9,
            "{said}"
        );
        let reasons: Vec<&str> = dataset
            .table("candles")
            .unwrap()
            .findings
            .counts()
            .iter()
            .map(|count| count.reason.as_str())
            .collect();
        assert_eq!(
            reasons
                .iter()
                .any(|reason| reason.starts_with("`Volume` is read as USD")
                    && reason.contains("`Adj Close`")),
            warned,
            "{reasons:?}"
        );
    }
}

#[test]
fn a_coin_is_reached_by_its_name_wherever_an_address_is_taken() {
    let desk = Desk::empty();
    desk.write("ETH-USD.csv", candles("Date,Open,High,Low,Close"));
    desk.imports(&["ETH-USD.csv", "--token", "coin:ETH"]);
    let paths = "/tokens/coin:ETH /tokens/COIN:eth /tokens?addresses=coin:ETH /candles?addresses=coin:ETH /technical/coin:ETH/trendline?period=10";
    for path in words(paths) {
        let output = desk
            .program(&["get", path, "--data", "data"])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success() && !text.contains("\"error\""),
            "{path}: {text}"
        );
    }
    let text = String::from_utf8(
        desk.program(&["get", "/tokens/coin:ETH", "--data", "data"])
            .output()
            .unwrap()
            .stdout,
    )
    .unwrap();
    assert!(text.contains(&Address::coin("ETH").to_string()), "{text}");
}

#[test]
fn a_history_of_prices_is_no_list_of_tokens() {
    let desk = Desk::empty();
    let row = |i: u32| format!("2024-01-{i:02} 00:00:00.000 UTC,ethereum,{UNI},18,UNI,6.{i}\n");
    desk.write(
        "dune_prices.csv",
        format!(
            "minute,blockchain,contract_address,decimals,symbol,price\n{}",
            rows(row)
        ),
    );
    let err = desk.refuses(&["dune_prices.csv"]);
    assert!(
        err.contains("whose token appears again with a different value")
            && err.contains(": `price` 6.1, then 6.2)")
            && !err.contains("try:"),
        "{err}"
    );
    assert!(!desk.data().exists());
}

#[test]
fn a_contract_of_a_token_that_is_named_gives_it_a_row() {
    let desk = Desk::empty();
    let code = format!("0x6080604052{}", "00".repeat(80));
    desk.write("Token.json", format!(r#"{{"abi":[],"bytecode":{{"object":"{code}"}},"deployedBytecode":{{"object":"{code}"}}}}"#));
    desk.imports(&["Token.json", "--token", UNI]);
    assert!(desk.dataset().token(&address(UNI)).is_some());
}
