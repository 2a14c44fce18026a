//! Suggested commands of refusals, executed as printed: each imports the file, or leads to the next question.

use std::process::{Command, Stdio};

use super::{Desk, TOKENS, UNI, address, reasons, rows, taken, words};
use crate::shared::shared;

/// Maximum number of questions per file.
const QUESTIONS: usize = 5;

/// Values for the placeholders.
const FILLED: &[(&str, &str)] = &[
    ("ADDRESS", UNI),
    ("CHAIN", "eth"),
    ("=DEX", "=uniswap-v3"),
    ("UNIT", "raw"),
    ("DECIMALS", "18"),
    ("DATES", "day"),
    ("label=COLUMN", "label=category"),
    ("balance=COLUMN", "balance='转账代币数量'"),
];

/// Runs a line in a shell; returns stderr and whether it succeeded.
fn shell(desk: &Desk, line: &str) -> (bool, String) {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_tokendeck"));
    let path = format!(
        "{}:{}",
        program.parent().unwrap().display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let output = Command::new("sh")
        .args(["-c", line])
        .current_dir(desk.path(""))
        .env("PATH", path)
        .env("HOME", desk.path(""))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    (
        output.status.success(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

/// The suggested line of a refusal.
fn line(err: &str) -> Option<String> {
    err.lines()
        .find_map(|line| line.strip_prefix("  try: "))
        .map(str::to_owned)
}

#[test]
fn a_suggested_command_imports_the_file_or_asks_for_the_next_thing() {
    let holder = |i: u32| format!("0x{i:040x}");
    let candles = |name: &str| {
        rows(|day| {
            format!(
                "2024-01-{day:02},{name}{day},{},{},{day}.5,7\n",
                day + 1,
                f64::from(day) - 0.5
            )
        })
    };
    let both = rows(|day| {
        format!(
            "2024-01-{day:02},BTC,{day},{},{day},{day}\n2024-01-{day:02},ETH,2{day},3{day},2{day},2{day}\n",
            day + 1
        )
    });
    let raw = rows(|i| format!("{},{i}000000000000000001\n", holder(i)));
    for (name, text, questions) in [
        (
            "BTCUSDT.csv",
            format!("date,open,high,low,close,volume\n{}", candles("")),
            1,
        ),
        (
            "my prices (1).csv",
            format!("date,open,high,low,close,volume\n{}", candles("")),
            1,
        ),
        (
            "it's ETHUSD.csv",
            format!("date,open,high,low,close,volume\n{}", candles("")),
            1,
        ),
        (
            "several.csv",
            format!("date,symbol,open,high,low,close\n{both}"),
            1,
        ),
        (
            "holders.csv",
            format!(
                "HolderAddress,Quantity,Rank\n{}",
                rows(|i| format!("{},{}.5,{i}\n", holder(i), 100 - i))
            ),
            1,
        ),
        ("raw.csv", format!("address,balance\n{raw}"), 3),
        ("bare.csv", raw, 2),
        (
            "list.csv",
            format!("address,symbol,name,decimals\n{UNI},UNI,Uniswap,18\n"),
            1,
        ),
        (
            "kraken.csv",
            format!("Address,Name Tag\n{UNI},Kraken 1\n"),
            1,
        ),
        (
            "kinds.csv",
            format!("address,type,category,name\n{UNI},cold,exchange,Kraken\n"),
            1,
        ),
        (
            "pools.csv",
            format!("pool,token0,token1\n{},{UNI},{}\n", holder(7), holder(8)),
            1,
        ),
        (
            "odd names.csv",
            format!(
                "地址,转账代币数量\n{}",
                rows(|i| format!("{},{i}.25\n", holder(i)))
            ),
            1,
        ),
        (
            "days.csv",
            format!(
                "date,holders\n{}",
                rows(|i| format!("0{}/01/2024,{}\n", i % 9 + 1, 100 + i))
            ),
            2,
        ),
    ] {
        let desk = Desk::empty();
        desk.write(name, text);
        let mut command = format!(
            "tokendeck import '{}' --into data",
            name.replace('\'', r"'\''")
        );
        let mut told = Vec::new();
        loop {
            let (good, err) = shell(&desk, &command);
            if good {
                break;
            }
            assert!(
                !told.contains(&err) && told.len() < QUESTIONS,
                "{name}: {command}: the same again: {err}"
            );
            let printed = line(&err).unwrap_or_else(|| panic!("{name}: no line in {err}"));
            let printed = printed.split("   # ").next().unwrap();
            command = FILLED
                .iter()
                .fold(printed.to_owned(), |line, (blank, filled)| {
                    line.replace(blank, filled)
                });
            if command != printed {
                let (good, said) = shell(&desk, printed);
                assert!(
                    !good && !desk.data().exists(),
                    "{name}: a line with a blank must not run: {printed}: {said}"
                );
            }
            told.push(err);
        }
        assert_eq!(told.len(), questions, "{name}: {told:#?}");
        desk.dataset();
    }
}

#[test]
fn the_columns_of_a_list_of_projects_are_mapped() {
    let desk = Desk::empty();
    let text = format!("Project,Symbol,Contract,Mkt cap,Price\nUniswap,UNI,{UNI},7.9B,$7.92\n");
    desk.write("coins.csv", text);
    let err = desk.refuses(&["coins.csv"]);
    let printed = line(&err).unwrap_or_default();
    assert!(
        printed.contains("--map name=Project") && printed.contains("--map 'market_cap=Mkt cap'"),
        "{err}"
    );
    let printed = printed.split("   # ").next().unwrap_or_default();
    let (good, err) = shell(&desk, &printed.replace("CHAIN", "eth"));
    assert!(good, "{err}");
    let dataset = desk.dataset();
    let token = &dataset.tokens()[0].row;
    assert_eq!(
        (token.name.as_deref(), token.market_cap),
        (Some("Uniswap"), Some(7.9e9))
    );
}

#[test]
fn a_workbook_is_not_sent_to_dataset_toml() {
    let text = format!("地址,转账代币数量\n{UNI},1.5\n");
    let desk = Desk::empty();
    desk.write("holders.csv", &text);
    assert!(
        desk.refuses(&["holders.csv"])
            .contains("In dataset.toml: [tables.holders]")
    );
    let Some(workbook) = shared("data/wild/files/pgl_transfers.xlsx") else {
        return;
    };
    let err = desk.refuses(&[&workbook]);
    assert!(
        !err.contains("dataset.toml")
            && line(&err).is_some_and(
                |line| line.contains("--as holders") && line.contains("--map balance=COLUMN")
            ),
        "{err}"
    );
}

#[test]
fn decimals_are_of_one_token_and_said_to_be() {
    let desk = Desk::empty();
    let holder = |i: u32| format!("0x{i:040x}");
    let row = |i| {
        format!(
            "{},{},{i}000000000000000000\n",
            holder(1_000 + i % 2),
            holder(i)
        )
    };
    let rows = (1..=20).map(row).collect::<Vec<_>>().concat();
    desk.write("two.csv", format!("token_address,address,balance\n{rows}"));
    let err = desk.refuses(&["two.csv", "--unit", "raw", "--decimals", "18"]);
    assert!(
        err.contains("contains 2 tokens with unknown decimals")
            && err.contains("token_address, symbol, name, chain, decimals"),
        "{err}"
    );
    let one = rows.replace(&holder(1_001), &holder(1_000));
    desk.write("one.csv", format!("token_address,address,balance\n{one}"));
    desk.imports(&["one.csv", "--unit", "raw", "--decimals", "18"]);
    let dataset = desk.dataset();
    let token = dataset.tokens()[0].row.token_address;
    assert_eq!(
        (
            dataset.tokens()[0].row.decimals,
            dataset
                .holders_of(&token)
                .get(0)
                .and_then(|row| row.balance)
        ),
        (Some(18), Some(20.0))
    );
}

#[test]
fn holders_that_come_again_with_other_balances_are_asked_about() {
    let holder = |i: u32| format!("0x{i:040x}");
    let rows = (1..=60)
        .map(|i| format!("{},{},{i}.5\n", holder(i % 40), 9_000 + i))
        .collect::<Vec<_>>()
        .concat();
    let desk = Desk::empty();
    desk.write("paid.csv", format!("addr,block,size\n{rows}"));
    let line =
        format!("paid.csv --as holders --map holder_address=addr --map balance=size --token {UNI}");
    let mapped = words(&line);
    let err = desk.refuses(&mapped);
    assert!(
        err.contains("contains 20 rows, out of 60,")
            && err.contains(": `balance` 1.5, then 41.5)")
            && err.contains("`block`"),
        "{err}"
    );
    assert!(
        err.contains("not transfers or balances") && !desk.data().exists(),
        "{err}"
    );
    let report = desk.imports(&[&mapped[..], &["--broken-too"]].concat());
    let told = reasons(&report, 0);
    let reason = "a later row has the same token_address, holder_address but a different value in `balance`; the later row is kept, this one is excluded";
    assert!(told.contains(&(reason.to_owned(), 20)), "{told:?}");
    // The same file placed directly in a dataset.
    let desk = Desk::empty();
    desk.write("data/tokens.csv", TOKENS);
    desk.write(
        "data/holders.csv",
        format!(
            "token_address,holder_address,block,balance\n{}",
            rows.lines()
                .map(|row| format!("{UNI},{row}\n"))
                .collect::<Vec<_>>()
                .concat()
        ),
    );
    let dataset = desk.dataset();
    let findings = &dataset.table("holders").unwrap().findings;
    let found = findings
        .kept()
        .iter()
        .find(|finding| finding.reason == reason)
        .unwrap();
    assert_eq!(
        (found.column.as_deref(), found.value.as_deref()),
        (Some("balance"), Some("1.5, then 41.5"))
    );
    assert!(
        findings
            .counts()
            .iter()
            .any(|count| count.reason.contains("`block`")
                && count.reason.contains("not transfers or balances")),
        "{findings:?}"
    );
}

#[test]
fn labels_that_differ_in_their_name_say_both() {
    let desk = Desk::empty();
    desk.write(
        "labels.csv",
        format!(
            "chain,address,label,name\neth,{UNI},exchange,Kraken 1\neth,{UNI},exchange,Kraken 2\n"
        ),
    );
    let report = desk.imports(&["labels.csv"]);
    let found = &report["files"][0]["findings"][0];
    assert_eq!(
        (found["column"].as_str(), found["value"].as_str()),
        (Some("name"), Some("Kraken 1, then Kraken 2")),
        "{report:#}"
    );
}

#[test]
fn candles_that_are_replaced_say_by_what_and_of_what() {
    let csv = |add: f64| -> String {
        let row = |day: u32| {
            format!(
                "2024-01-{day:02},{},{},{},{},7\n",
                5.0 + add,
                7.0 + add,
                4.0 + add,
                6.0 + add
            )
        };
        format!(
            "date,open,high,low,close,volume\n{}",
            (1..=20).map(row).collect::<String>()
        )
    };
    let desk = Desk::new();
    desk.write("UNIUSDT_binance.csv", csv(0.0));
    desk.write("UNIUSD_coinbase.csv", csv(0.5));
    desk.imports(&["UNIUSDT_binance.csv"]);
    let report = desk.imports(&["UNIUSD_coinbase.csv"]);
    let says = report["files"][0]["says"].to_string();
    assert!(
        says.contains("20 candles replace earlier ones of") && says.contains(UNI),
        "{says}"
    );
    assert!(
        says.contains("from `UNIUSDT_binance.csv` (candles from any other source)"),
        "{says}"
    );
    assert!(
        !desk.imports(&["UNIUSD_coinbase.csv"])["files"][0]["says"]
            .to_string()
            .contains("candles replace"),
        "the same again replaces nothing"
    );
}

#[test]
fn a_symbol_of_several_tokens_on_a_chain_is_said() {
    let desk = Desk::empty();
    let rows = (1..=3)
        .map(|i| format!("0x{i:040x},USDT,Tether {i},6\n"))
        .collect::<Vec<_>>()
        .concat();
    desk.write(
        "list.csv",
        format!("address,symbol,name,decimals\n{rows}{UNI},UNI,Uniswap,18\n"),
    );
    let says = desk.imports(&["list.csv", "--chain", "eth"])["files"][0]["says"].to_string();
    assert!(says.contains("`USDT` is the symbol of 3 tokens on eth (0x0000000000000000000000000000000000000001, 0x"), "{says}");
    assert!(
        says.contains("needs --token") && !says.contains("`UNI`"),
        "{says}"
    );
}

#[test]
fn pools_bring_the_tokens_they_name() {
    let desk = Desk::empty();
    let (pool, other) = (format!("0x{:040x}", 7), format!("0x{:040x}", 8));
    desk.write("pools.csv", format!("pool,token0,token1,token0_symbol,token0_name,token1_symbol,token1_name,token1_decimals\n{pool},{UNI},{other},UNI,Uniswap,OTH,Other,6\n"));
    let report = desk.imports(&[
        "pools.csv",
        "--set",
        "chain=eth",
        "--set",
        "dex_id=uniswap-v3",
    ]);
    assert_eq!(
        (
            taken(&report, 0, "pools")[0],
            taken(&report, 0, "tokens")[0]
        ),
        (1, 2),
        "{report:#}"
    );
    assert_eq!(reasons(&report, 0), []);
    let dataset = desk.clean();
    let token = &dataset.token(&address(&other)).unwrap().row;
    assert_eq!(
        (
            token.symbol.as_deref(),
            token.name.as_deref(),
            token.decimals
        ),
        (Some("OTH"), Some("Other"), Some(6))
    );
}

#[test]
fn floating_point_numbers_written_out_are_approximate() {
    let holders = |digits: &str| -> String {
        let row = |i: u32| format!("{UNI},0x{i:040x},{i}{digits}\n");
        format!(
            "token_address,holder_address,balance\n{}",
            (10..40).map(row).collect::<String>()
        )
    };
    for (digits, approximate) in [(".234567890123457", true), (".234567890123456789", false)] {
        let desk = Desk::empty();
        desk.write("holders.csv", holders(digits));
        let says = desk.imports(&["holders.csv"])["files"][0]["says"].to_string();
        assert_eq!(
            says.contains("`balance` passed through floating-point numbers"),
            approximate,
            "{says}"
        );
        assert_eq!(
            desk.dataset().is_approximate("holders", "balance"),
            approximate
        );
        let desk = Desk::empty();
        desk.write("data/tokens.csv", TOKENS);
        desk.write("data/holders.csv", holders(digits));
        assert_eq!(
            desk.dataset().is_approximate("holders", "balance"),
            approximate
        );
    }
}

#[test]
fn amounts_with_thousands_set_apart_are_advised_with_their_decimal_sign() {
    let row = |i: u32| {
        format!(
            "0x{i:064x},2000{i:04},1790000{i:03},0x{:040x},0x{:040x},\"{i},694.67\"\n",
            i + 7,
            i + 9
        )
    };
    let page = |rows: &str| format!("Txhash,Blockno,UnixTimestamp,From,To,Quantity\n{rows}");
    let desk = Desk::empty();
    desk.write("page.csv", page(&(1..=40).map(row).collect::<String>()));
    let err = desk.refuses(&["page.csv", "--token", UNI]);
    assert!(
        err.contains("value = { from = \"Quantity\", unit = \"whole\", decimal = \".\" }"),
        "{err}"
    );
    // With the suggested setting, and without it, where the finding says what to add.
    for (decimal, empty) in [(", decimal = \".\"", 0), ("", 40)] {
        let desk = Desk::empty();
        desk.write(
            "data/tokens.csv",
            format!("token_address,symbol,name,chain,decimals\n{UNI},UNI,Uniswap,eth,18\n"),
        );
        desk.write(
            "data/transfers.csv",
            page(&(1..=40).map(row).collect::<String>()),
        );
        let columns = "transaction_hash = \"Txhash\", block_number = \"Blockno\", timestamp = \"UnixTimestamp\", from_address = \"From\", to_address = \"To\"";
        let toml = format!(
            "[tables.transfers]\ncolumns = {{ {columns}, value = {{ from = \"Quantity\", unit = \"whole\"{decimal} }} }}\nset = {{ token_address = \"{UNI}\" }}\n"
        );
        desk.write("data/dataset.toml", toml);
        let dataset = desk.dataset();
        let table = dataset.table("transfers").unwrap();
        let told = table
            .findings
            .kept()
            .iter()
            .filter(|finding| {
                finding
                    .reason
                    .contains("set decimal = \".\" next to its unit")
            })
            .count();
        assert_eq!(
            (table.height(), told > 0),
            (40, empty > 0),
            "{:?}",
            table.findings.kept().first()
        );
    }
}
