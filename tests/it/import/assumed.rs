//! Assumptions where neither file nor user states a fact: reported by the import and every later `check`; impossible values are refused.

use super::{Desk, PEPE, UNI, address, rows, words};

/// Returns the import's messages for its only file, and the check's for the table.
fn told(desk: &Desk, args: &[&str], table: &str) -> (String, String) {
    let says = desk.imports(args)["files"][0]["says"].to_string();
    let dataset = desk.dataset();
    let findings = &dataset.table(table).unwrap().findings;
    (
        says,
        findings
            .kept()
            .iter()
            .map(|finding| finding.reason.clone())
            .collect::<Vec<_>>()
            .join("\n"),
    )
}

#[test]
fn a_column_whose_cells_cannot_be_read_is_refused_and_forced_it_stays_told() {
    let desk = Desk::empty();
    let member = |i: u32| {
        format!("\"0x{i:040x}\":[{{\"block\":{i},\"size\":1}},{{\"block\":2,\"size\":1}}]")
    };
    desk.write(
        "airdrop.json",
        format!("{{{}}}", (1..=80).map(member).collect::<Vec<_>>().join(",")),
    );
    let seen = desk.refuses(&["airdrop.json"]);
    assert!(
        seen.contains("an object with 80 fields, read as a table with the columns `key`, `1`, `2`"),
        "{seen}"
    );
    let line =
        format!("airdrop.json --as holders --token {UNI} --map holder_address=key --map balance=1");
    let args = words(&line);
    let err = desk.refuses(&args);
    assert!(
        err.contains(
            "contains 80 cells, out of 80, that cannot be read as `balance`; the first is row 1"
        ),
        "{err}"
    );
    assert!(
        err.contains("the cell is an object")
            && !err.contains("decimal = ")
            && !desk.data().exists(),
        "{err}"
    );
    let (says, checked) = told(&desk, &[&args[..], &["--broken-too"]].concat(), "holders");
    assert!(
        says.contains("forced with --broken-too, although it contains 80 cells, out of 80,"),
        "{says}"
    );
    assert!(
        checked.contains(
            "imported from `airdrop.json`: forced with --broken-too, although it contains 80 cells, out of 80,"
        ),
        "{checked}"
    );
}

#[test]
fn the_chain_of_tokens_that_a_file_brings_is_said_to_be_assumed() {
    let desk = Desk::empty();
    desk.write(
        "holders.csv",
        format!(
            "rank,address,qty,percentage,token_address\n{}",
            rows(|i| format!("{i},0x{i:040x},{i}.5,1,{UNI}\n"))
        ),
    );
    let args = ["holders.csv"];
    let (says, checked) = told(&desk, &args, "tokens");
    assert!(says.contains("assumed: the chain of its tokens is `eth`, as the file names none; to change it, pass --chain"), "{says}");
    assert!(
        checked.contains("imported from `holders.csv`: assumed: the chain of its tokens is `eth`"),
        "{checked}"
    );
    let chain = |desk: &Desk| {
        desk.dataset().token(&address(UNI)).unwrap().chains[0]
            .as_str()
            .to_owned()
    };
    assert_eq!(chain(&desk), "eth");
    // A later statement replaces the assumption.
    let report = desk.imports(&["holders.csv", "--chain", "base"]);
    assert!(
        report["notes"][0]
            .as_str()
            .unwrap()
            .contains("is now `base`, from --chain"),
        "{report:#}"
    );
    assert_eq!(chain(&desk), "base");
    // A known token keeps its chain.
    let known = Desk::new();
    known.write(
        "holders.csv",
        std::fs::read(desk.path("holders.csv")).unwrap(),
    );
    let (says, _) = told(&known, &args, "tokens");
    assert!(!says.contains("assumed: the chain"), "{says}");
}

#[test]
fn dollars_and_tokens_are_assumed_aloud() {
    let desk = Desk::new();
    let row = |i: u32| format!("2024-01-{i:02},{i},{},{i},{i}.5,7.25\n", i + 1);
    let text = format!("date,open,high,low,close,volume\n{}", rows(row));
    desk.write("uni.csv", &text);
    desk.write("PEPEUSDT.csv", &text);
    let (says, checked) = told(&desk, &["uni.csv"], "candles");
    for part in [
        "assumed: prices are in USD, as the file names no currency",
        "assumed: `volume` is in tokens",
    ] {
        assert!(
            says.contains(part) && checked.contains(&format!("imported from `uni.csv`: {part}")),
            "{says}\n{checked}"
        );
    }
    let (says, _) = told(&desk, &["PEPEUSDT.csv", "--volume", "token"], "candles");
    assert!(
        !says.contains("assumed"),
        "a pair and --volume tell both: {says}"
    );
}

#[test]
fn one_price_has_no_line_and_forced_it_stays_told() {
    let desk = Desk::new();
    desk.write(
        "p.csv",
        format!("date,value\n{}", rows(|i| format!("2024-01-{i:02},{i}\n"))),
    );
    let one = format!("p.csv --token {UNI} --as candles --map timestamp=date --map close=value");
    let err = desk.refuses(&words(&one));
    assert!(
        err.contains("a candle has four prices") && !err.contains("try:"),
        "{err}"
    );
    let (_, checked) = told(
        &desk,
        &words(&format!(
            "{one} --map open=value --map high=value --map low=value"
        )),
        "candles",
    );
    assert!(
        checked.contains("imported from `p.csv`: warning: it has only one price per time, `value`"),
        "{checked}"
    );
}

#[test]
fn a_list_of_several_chains_has_no_line_for_one() {
    for (rest, line) in [
        (format!("USDT,Tether,6,0x{:040x}\n", 9), false),
        (
            format!("ETH,Ethereum,18,0x{:040x}\nBNB,BNB,18,0x{:040x}\n", 0, 0),
            false,
        ),
        (String::new(), true),
    ] {
        let desk = Desk::empty();
        desk.write(
            "list.csv",
            format!(
                "symbol,name,decimals,address\nUSDT,Tether,6,{UNI}\nPEPE,Pepe,18,{PEPE}\n{rest}"
            ),
        );
        let err = desk.refuses(&["list.csv"]);
        assert_eq!(
            (
                err.contains("try:"),
                err.contains("a column with the chain")
            ),
            (line, !line),
            "{err}"
        );
    }
}

#[test]
fn a_coin_is_the_one_that_the_file_is_of() {
    let desk = Desk::empty();
    let text = format!(
        "date,open,high,low,close\n{}",
        rows(|i| format!("2024-01-{i:02},{i},{},{i},{i}.5\n", i + 1))
    );
    desk.write("BTC_USDT-1d.csv", &text);
    let err = desk.refuses(&["BTC_USDT-1d.csv", "--coin", "ETH"]);
    assert!(
        err.contains("is about `BTC`, but --coin is ETH") && err.contains("--into data --coin BTC"),
        "{err}"
    );
    let report = desk.imports(&["BTC_USDT-1d.csv", "--coin", "BTC"]);
    assert!(
        report["files"][0]["says"][0]
            .as_str()
            .unwrap()
            .starts_with("token coin:BTC, from --coin"),
        "{report:#}"
    );
    assert_eq!(
        report["notes"][0], "added to `tokens`, which did not contain them: coin:BTC",
        "{report:#}"
    );
    desk.imports(&["BTC_USDT-1d.csv", "--coin", "ETH", "--broken-too"]);
}

#[test]
fn addresses_alone_are_labels_by_one_word() {
    let desk = Desk::new();
    desk.write(
        "airdrop.csv",
        format!("address\n{}", rows(|i| format!("0x{i:040x}\n"))),
    );
    assert!(
        desk.refuses(&["airdrop.csv"])
            .contains("--as labels --map address=COLUMN --label LABEL")
    );
    desk.imports(&[
        "airdrop.csv",
        "--as",
        "labels",
        "--map",
        "address=address",
        "--label",
        "airdrop",
    ]);
    assert_eq!(desk.dataset().table("labels").unwrap().frame().height(), 20);
}

#[test]
fn a_rate_of_a_day_is_asked_for_and_a_category_assumed_aloud() {
    let desk = Desk::new();
    desk.write(
        "y.csv",
        format!(
            "pool_name,daily_apy,tvl\nnone,0,50000\n{}",
            rows(|i| format!("P{i},1{i}.5,50000\n"))
        ),
    );
    let args = words(
        "y.csv --as yields --map symbol=pool_name --map apy=daily_apy --set protocol=curve --set chain=eth",
    );
    let err = desk.refuses(&args);
    assert!(
        err.contains("`11.5` in `daily_apy` may be an annual rate") && err.contains("--unit UNIT"),
        "{err}"
    );
    let (says, checked) = told(
        &desk,
        &[&args[..], &["--unit", "percent"]].concat(),
        "yields",
    );
    let part = "assumed: its pools have the category `vault`, as the file names none";
    assert!(
        says.contains(part) && checked.contains(part),
        "{says}\n{checked}"
    );
    assert!(checked.contains("--unit percent"), "{checked}");
}

#[test]
fn of_the_history_of_pools_the_newest_row_of_each_is_taken() {
    let desk = Desk::new();
    let day = |i: u32| {
        format!(
            "{{\"timestamp\":\"2024-01-{i:02}T23:01:08.664Z\",\"tvlUsd\":2{i:02}000,\"apy\":3.{i:02},\"apyBase\":null}}"
        )
    };
    desk.write(
        "one.json",
        format!(
            "{{\"status\":\"success\",\"data\":[{}]}}",
            (1..=30).map(day).collect::<Vec<_>>().join(",")
        ),
    );
    assert!(desk.refuses(&["one.json"]).contains("--set symbol=VALUE"));
    let args = "one.json --as yields --set protocol=lido --set chain=eth --set symbol=STETH --map tvl=tvlUsd --map apy=apy";
    let report = desk.imports(&words(args));
    assert_eq!(
        super::taken(&report, 0, "yields"),
        [1, 0, 0, 0, 0, 29],
        "{report:#}"
    );
    assert!(
        report["files"][0]["says"]
            .to_string()
            .contains("assumed: its rows are the history of pools"),
        "{report:#}"
    );
    assert_eq!(
        desk.dataset()
            .table("yields")
            .unwrap()
            .frame()
            .column("apy")
            .unwrap()
            .f64()
            .unwrap()
            .get(0),
        Some(3.30)
    );
    let row = |i: u32, day: u32, symbol: &str, meta: &str| {
        format!("2024-01-{day:02},curve,eth,{symbol},{meta},{i}000,{i}.5\n")
    };
    let rows = |of: &dyn Fn(u32) -> String| super::rows(of);
    for (what, text, expected) in [
        (
            "two pools of one symbol",
            rows(&|i| row(i, i / 2 + 1, "UNI", if i % 2 == 0 { "a" } else { "b" })),
            [2, 18],
        ),
        (
            "two pools of one name at the last time",
            rows(&|i| row(i, i / 2 + 1, "UNI", "")) + &row(21, 11, "UNI", ""),
            [2, 19],
        ),
        (
            "pools that were measured one by one",
            rows(&|i| row(i, i, &format!("P{i}"), "")),
            [20, 0],
        ),
        (
            "a few of one name among them",
            rows(&|i| row(i, i, &format!("P{}", i.max(4)), "")),
            [20, 0],
        ),
        ("one time", rows(&|i| row(i, 1, "UNI", "")), [20, 0]),
    ] {
        let desk = Desk::new();
        desk.write(
            "p.csv",
            format!("date,protocol,chain,symbol,pool_meta,tvl,apy\n{text}"),
        );
        let args = "p.csv --as yields --map protocol=protocol --map chain=chain --map symbol=symbol --map tvl=tvl --map apy=apy --unit percent";
        let taken = super::taken(&desk.imports(&words(args)), 0, "yields");
        assert_eq!([taken[0], taken[5]], expected, "{what}");
    }
}
