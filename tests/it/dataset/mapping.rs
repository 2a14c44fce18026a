//! The mapping options of `dataset.toml`, verified in the rows; and the derivation of omitted columns.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use load::{
    Dataset,
    loader::{LoadError, load},
};
use model::{
    address::Address,
    findings::Severity,
    progress::{Cancelled, LoadProgress, NoProgress},
    table_state::TableState,
};

use super::{ETH, TOKENS, UNI, findings, folder, load_files, load_texts, table};

fn address(text: &str) -> Address {
    Address::parse(text).expect("an address")
}

/// A column as text, empty cells as `∅`.
fn column(dataset: &Dataset, name: &str, column: &str) -> Vec<String> {
    let cell = |value: polars::prelude::AnyValue<'_>| {
        value.get_str().map_or_else(
            || {
                if value.is_null() {
                    "∅".into()
                } else {
                    value.to_string()
                }
            },
            str::to_owned,
        )
    };
    let column = table(dataset, name)
        .frame()
        .column(column)
        .expect("loaded")
        .clone();
    column.as_materialized_series().iter().map(cell).collect()
}

#[test]
fn values_where_set_and_formats_are_followed() {
    let toml = format!(
        "title = 'Mine'\nsynthetic = true\n[tables.candles]\npath = 'k/**/*.csv'\nformat = '%m/%d/%Y'\n\
         columns = {{ token_address = 'sym', timestamp = 'day' }}\nset = {{ volume = 7 }}\nwhere = {{ venue = ['a', 'b'] }}\nvalues = {{ U = '{UNI}' }}\n"
    );
    let one = "sym,day,open,high,low,close,venue\nU,01/02/2024,1,2,1,2,a\nU,01/03/2024,1,2,1,2,z\n";
    let two = format!(
        "sym,day,open,high,low,close,venue\nU,01/01/2024,1,2,1,2,b\n{ETH},13/13/2024,1,2,1,2,b\n"
    );
    let files: [(&str, &[u8]); 4] = [
        ("dataset.toml", toml.as_bytes()),
        ("k/x.csv", one.as_bytes()),
        ("k/deep/er/y.csv", two.as_bytes()),
        ("k/note.txt", b"no table"),
    ];
    let dataset = load_files(&files).expect("loads");
    assert_eq!(
        (dataset.title.as_deref(), dataset.synthetic),
        (Some("Mine"), true)
    );
    let candles = table(&dataset, "candles");
    assert_eq!((candles.frame().height(), candles.rows_bad), (2, 1));
    assert_eq!(
        candles
            .sources
            .iter()
            .map(|source| (source.file.as_str(), source.rows))
            .collect::<Vec<_>>(),
        [("k/deep/er/y.csv", 2), ("k/x.csv", 2)]
    );
    assert_eq!(
        findings(candles)[0],
        "Error k/deep/er/y.csv:2 timestamp `13/13/2024`: expected a time written as %m/%d/%Y; the row is rejected"
    );
    assert!(
        findings(candles).contains(&"Note k/x.csv: `where` excludes 1 of 2 rows".to_owned()),
        "{:?}",
        findings(candles)
    );
    assert_eq!(
        dataset.candles().of(&address(UNI)).series()[0].1.volume,
        [7.0, 7.0]
    );
}

#[test]
fn the_interval_is_the_most_frequent_step_and_given_ones_are_spelled_one_way() {
    let mut text = "token_address,timestamp,open,high,low,close,interval\n".to_owned();
    for hour in [0, 1, 2, 3, 10, 11] {
        let _ = writeln!(
            text,
            "{UNI},{},1,1,1,1,",
            1_700_000_000 / 3600 * 3600 + hour * 3600
        );
    }
    let _ = writeln!(
        text,
        "{ETH},1700000000,1,1,1,1,\n{ETH},1700000000,1,1,1,1,240\n{ETH},1700000000,1,1,1,1,daily"
    );
    let dataset = load_texts(&[("candles.csv", &text)]).expect("loads");
    // The third row of ETH has no readable interval, and so repeats the first.
    assert_eq!(
        column(&dataset, "candles", "interval"),
        ["1h", "1h", "1h", "1h", "1h", "1h", "1d", "4h"]
    );
    let found = findings(table(&dataset, "candles"));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].starts_with("Warning candles.csv:9 interval `daily`: expected an interval"),
        "{found:?}"
    );
    assert!(
        found[1].starts_with("Warning candles.csv:7: a later row has the same"),
        "{found:?}"
    );
}

#[test]
fn raw_balances_are_divided_by_the_tokens_decimals() {
    let unknown = format!("0x{}", "77".repeat(20));
    let text = format!(
        "token_address,holder_address,balance,balance_raw\n{UNI},{ETH},,115792089237316195423570985008687907853269984665640564039457584007913129639935\n\
         {UNI},{UNI},2.5,9\n{unknown},{UNI},,5\n{ETH},{UNI},,1.5\n"
    );
    let dataset = load_texts(&[("holders.csv", &text)]).expect("loads");
    let balances: Vec<_> = dataset
        .holders_of(&address(UNI))
        .iter()
        .map(|row| row.balance)
        .collect();
    assert_eq!(balances, [Some(1.157_920_892_373_162e59), Some(2.5)]);
    let found = findings(table(&dataset, "holders"));
    assert!(
        found[0].starts_with("Warning holders.csv:3 balance `5`: the token's decimals are unknown"),
        "{found:?}"
    );
    assert!(
        found[1].starts_with(
            "Warning holders.csv:4 balance `1.5`: expected a whole number of base units"
        ),
        "{found:?}"
    );
}

#[test]
fn pools_of_yield_and_fee_tiers_without_a_name_get_one() {
    let yields = "protocol,chain,symbol,tokens,tvl,apy_base,apy_reward,pool,pool_meta\n\
        aave,Ethereum,USDC,,1,2,3,,\naave,eth,USDC,,1,2,3,,\naave,eth,USDC,,1,2,3,,v2\naave,eth,USDC,,1,2,3,id-1,\n";
    let tiers = "dex_id,fees\nuni,500;3000\nuni,\n";
    let toml = "[tables.fee_tiers]\ncolumns = { fee = { from = 'fees', scale = 1e-6 } }\nexplode = 'fee'\nset = { chain = 'ethereum' }\n";
    let dataset = load_texts(&[
        ("yields.csv", yields),
        ("fee_tiers.csv", tiers),
        ("dataset.toml", toml),
    ])
    .expect("loads");
    assert_eq!(
        column(&dataset, "yields", "pool"),
        [
            "aave:eth:USDC",
            "aave:eth:USDC#2",
            "aave:eth:USDC:v2",
            "id-1"
        ]
    );
    assert_eq!(column(&dataset, "yields", "category"), ["vault"; 4]);
    assert_eq!(column(&dataset, "fee_tiers", "tier"), ["0.05%", "0.3%"]);
    assert_eq!(column(&dataset, "fee_tiers", "chain"), ["eth"; 2]);
    assert_eq!(
        findings(table(&dataset, "fee_tiers")),
        ["Note fee_tiers.csv:2 fee: the list is empty, so it creates no row"]
    );
}

#[test]
fn what_is_empty_in_every_row_is_told_once() {
    let lines =
        |count: u32, line: fn(u32) -> String| (1..=count).map(line).collect::<Vec<_>>().concat();
    let tokens = lines(82, |i| format!("0x{i:040x},T{i},\n"));
    let tiers = lines(40, |i| {
        format!("d{i},{},eth\n", if i % 2 == 0 { "" } else { "500" })
    });
    let files = [
        ("tokens.csv", format!("token_address,symbol,chain\n{tokens}")),
        ("fee_tiers.csv", format!("dex_id,fees,chain\n{tiers}")),
        ("labels.csv", format!("address,label\n{UNI},\n{UNI},a\n")),
        (
            "dataset.toml",
            "[tables.fee_tiers]\ncolumns.fee = { from = 'fees', scale = 1e-6, explode = true }\n[tables.tokens.set]\nname = 'x'\n".into(),
        ),
    ];
    let dataset = load_files(
        &files
            .each_ref()
            .map(|(name, text)| (*name, text.as_bytes())),
    )
    .expect("loads");
    let tokens = table(&dataset, "tokens");
    assert_eq!(
        findings(tokens),
        [
            "Error tokens.csv chain: the column is empty in all 82 rows; expected one or several chains in every row; the rows are rejected"
        ],
        "not a line a row"
    );
    assert_eq!(
        (tokens.rows_bad, tokens.findings.count(Severity::Error)),
        (82, 1)
    );
    let tiers = table(&dataset, "fee_tiers");
    assert_eq!(findings(tiers).len(), 1, "{:?}", findings(tiers));
    assert_eq!(tiers.findings.count(Severity::Note), 20);
    let labels = table(&dataset, "labels");
    assert_eq!(findings(labels).len(), 1);
    assert!(
        findings(labels)[0].starts_with("Error labels.csv:1 label: the cell is empty; expected"),
        "a row alone keeps its number"
    );
}

#[test]
fn rows_are_ordered_as_the_schema_says() {
    let text = format!(
        "token_address,holder_address,balance\n{UNI},{ETH},\n{UNI},{UNI},1\n{UNI},0x{},9\n",
        "11".repeat(20)
    );
    let dataset = load_texts(&[("holders.csv", &text)]).expect("loads");
    let balances: Vec<_> = dataset
        .holders_of(&address(UNI))
        .iter()
        .map(|row| row.balance)
        .collect();
    assert_eq!(balances, [Some(9.0), Some(1.0), None]);
}

#[test]
fn a_mapping_that_names_what_is_not_there_says_so() {
    let text = format!("token_address,day,holders\n{UNI},2024-01-01,5\n");
    for (toml, expected) in [
        (
            "columns = { date = 'dya' }",
            "`holder_counts.csv` has no column `dya`, which dataset.toml maps to `date`; it has `token_address`, `day`, `holders`; did you mean `day`?",
        ),
        // Even though the file has a column of the canonical name.
        (
            "columns = { date = 'day', holders = 'holdrs' }",
            "`holder_counts.csv` has no column `holdrs`, which dataset.toml maps to `holders`; it has `token_address`, `day`, `holders`; did you mean `holders`?",
        ),
        (
            "path = 'nowhere.csv'",
            "`nowhere.csv` does not exist; paths in dataset.toml are relative to that file",
        ),
        (
            "path = 'x*.csv'",
            "`x*.csv` matches no file of a known format",
        ),
        (
            "columns = { date = 'day' }\nwhere = { mood = 'good' }",
            "`holder_counts.csv` has no column `mood`, which [tables.holder_counts.where] in dataset.toml uses",
        ),
    ] {
        let toml = format!("[tables.holder_counts]\n{toml}\n");
        let dataset = load_texts(&[("holder_counts.csv", &text), ("dataset.toml", &toml)])
            .expect("the tokens are fine");
        assert_eq!(
            table(&dataset, "holder_counts").state,
            TableState::Unusable(expected.to_owned())
        );
    }
}

#[cfg(unix)]
#[test]
fn loops_of_links_and_pipes_end() {
    let folder = folder(&[
        ("tokens.csv", TOKENS.as_bytes()),
        (
            "holder_counts/a.csv",
            format!("token_address,date,holders\n{UNI},2024-01-01,5\n").as_bytes(),
        ),
    ]);
    std::os::unix::fs::symlink(folder.path(), folder.path().join("holder_counts/again"))
        .expect("linked");
    std::os::unix::fs::symlink("loop.csv", folder.path().join("loop.csv")).expect("linked");
    std::fs::write(
        folder.path().join("dataset.toml"),
        "[tables.labels]\npath = '**/loop.csv'\n[tables.gas]\npath = '/dev/zero'\n",
    )
    .expect("written");
    let dataset = load(folder.path(), &NoProgress).expect("the tokens are fine");
    // The linked folder is read only once, under its own names.
    assert!(!matches!(
        table(&dataset, "holder_counts").state,
        TableState::Absent
    ));
    assert!(matches!(
        table(&dataset, "labels").state,
        TableState::Unusable(_)
    ));
    assert_eq!(
        table(&dataset, "gas").state,
        TableState::Unusable("`/dev/zero` is not a regular file".to_owned())
    );
}

/// Cancels the load at a given step.
struct EndAt(AtomicU64);

impl LoadProgress for EndAt {
    fn step(&self, _: &str, done: u64, total: u64) -> Result<(), Cancelled> {
        assert!(done <= total);
        if self.0.fetch_sub(1, Ordering::Relaxed) == 0 {
            Err(Cancelled)
        } else {
            Ok(())
        }
    }
}

#[test]
fn a_load_ends_when_it_is_no_longer_wanted() {
    let folder = folder(&[("tokens.csv", TOKENS.as_bytes())]);
    for step in 0..2 {
        assert_eq!(
            load(folder.path(), &EndAt(AtomicU64::new(step))).expect_err("ended"),
            LoadError::Cancelled
        );
    }
    assert!(load(folder.path(), &EndAt(AtomicU64::new(100))).is_ok());
}

#[test]
fn times_of_another_way_of_writing_are_one_finding_with_the_line_that_reads_them() {
    let rows = (1..=28)
        .map(|day| format!("{UNI},{day:02}.02.2022,1,2,1,2\n"))
        .collect::<Vec<_>>()
        .concat();
    let candles = format!("token_address,timestamp,open,high,low,close\n{rows}");
    let load = |toml: &str| {
        load_texts(&[
            ("tokens.csv", TOKENS),
            ("candles.csv", &candles),
            ("dataset.toml", toml),
        ])
        .expect("loads")
    };
    let dataset = load("");
    let found = findings(table(&dataset, "candles"));
    let line = "format = \"%d.%m.%Y\"";
    assert_eq!(
        found[0],
        format!(
            "Error candles.csv timestamp `01.02.2022`: 28 times are written like `01.02.2022`; add {line} under [tables.candles] in dataset.toml; these rows are rejected"
        )
    );
    assert_eq!(
        found
            .iter()
            .filter(|found| found.starts_with("Error"))
            .count(),
        1,
        "{found:?}"
    );
    let dataset = load(&format!("[tables.candles]\n{line}\n"));
    assert_eq!(
        (
            table(&dataset, "candles").frame().height(),
            table(&dataset, "candles").rows_bad
        ),
        (28, 0)
    );
}

#[test]
fn chains_outside_the_list_are_noted_with_the_nearest() {
    let btc = Address::coin("BTC");
    let tokens = format!(
        "token_address,symbol,name,chain\n{UNI},UNI,Uniswap,newchain\n{ETH},ETH,Ether,eth\ncoin:BTC,BTC,Bitcoin,btc\n"
    );
    let dataset = load_texts(&[("tokens.csv", &tokens)]).expect("loads");
    let found = findings(table(&dataset, "tokens"));
    assert_eq!(
        found,
        [
            "Note tokens.csv chain ``newchain` (nearest: `unichain`)`: the chain is not in the list (`tokendeck schema --chains`); it is kept under this name, without a chain id"
        ]
    );
    assert!(
        dataset.token(&btc).is_some(),
        "a coin is no address that could break its checksum"
    );
}
