//! Tables on a real engine whose values SQL would read differently from the loader: each gives the same answers as cached, or states why it
//! cannot stay in place. Run like `real`.

use std::sync::Arc;

use api::Api;
use load::Dataset;
use model::table_state::TableState;

use super::{
    TOKENS, UNI,
    real::{engine, load, make, tell, turn},
};
use crate::remote::{Data, api_over, ask};

/// A dataset whose candles or holders are on a real engine.
struct Bench {
    data: Data,
    url: String,
}

impl Bench {
    fn new(url: &str) -> Self {
        Self {
            data: Data::new(&[("tokens.csv", TOKENS)]),
            url: url.to_owned(),
        }
    }

    fn load(&self, table: &str, read: &str, more: &str) -> Dataset {
        let name = if table.contains("holders") {
            "holders"
        } else {
            "candles"
        };
        let manifest = format!(
            "[tables.{name}]\nsource = 'warehouse'\ntable = 'deck_test.{table}'\nread = '{read}'\n{more}\n"
        );
        self.data.write("dataset.toml", &manifest);
        load(&self.data, &self.url, 200_000)
    }

    /// An API over the table's current state.
    fn api(&self, table: &str, read: &str) -> Arc<Api> {
        api_over(self.data.path(), self.load(table, read, ""))
    }
}

fn questions(table: &str) -> Vec<String> {
    match table {
        "holders" => vec![
            format!("/tokens/{UNI}/holders?limit=20"),
            format!("/tokens/{UNI}/holders?limit=20&sort=balance"),
            format!("/{UNI}/security/inference?explain=true"),
        ],
        _ => ["1h", "4h", "1d"]
            .map(|frame| format!("/tokens/{UNI}/candles?timeframe={frame}&limit=500"))
            .into_iter()
            .chain([
                "/tokens".to_owned(),
                format!("/tables/candles?where=token_address={UNI}&limit=10000"),
            ])
            .collect(),
    }
}

fn told(dataset: &Dataset, name: &str) -> String {
    let table = dataset.table(name).unwrap();
    match &table.state {
        TableState::Unusable(reason) => reason.clone(),
        _ => table
            .findings
            .kept()
            .iter()
            .map(|finding| finding.reason.clone())
            .collect::<Vec<_>>()
            .join("; "),
    }
}

/// Fills a table with ninety days of hourly candles of one token; `change` replaces columns: (name, type, expression).
fn fill(url: &str, table: &str, engine: &str, change: &[(&str, &str, &str)]) {
    let mut columns = vec![
        ("token_address", "String", format!("'{UNI}'")),
        (
            "timestamp",
            "DateTime",
            "toDateTime(1700006400 + number * 3600)".to_owned(),
        ),
        ("open", "Float64", "1 + number % 7 / 10".to_owned()),
        ("high", "Float64", "9".to_owned()),
        ("low", "Float64", "1".to_owned()),
        ("close", "Float64", "1 + number % 11 / 10".to_owned()),
        ("volume", "Float64", "number".to_owned()),
        ("interval", "String", "'1h'".to_owned()),
    ];
    for (name, kind, value) in change {
        match columns.iter_mut().find(|column| column.0 == *name) {
            Some(column) => *column = (*name, *kind, (*value).to_owned()),
            None => columns.push((*name, *kind, (*value).to_owned())),
        }
    }
    let kinds: Vec<String> = columns
        .iter()
        .map(|(name, kind, _)| format!("{name} {kind}"))
        .collect();
    let values: Vec<String> = columns.iter().map(|(_, _, value)| value.clone()).collect();
    make(url, table, &kinds.join(", "), engine);
    tell(
        url,
        &format!(
            "INSERT INTO deck_test.{table} SELECT {} FROM numbers(2160)",
            values.join(", ")
        ),
    );
}

const PLAIN: &str = "MergeTree ORDER BY tuple()";

#[test]
#[ignore = "needs a real engine"]
fn unusual_candles_in_place_give_the_answers_of_candles_in_the_cache() {
    let (_turn, url) = (turn(), engine());
    for (nth, (change, notes)) in [
        (vec![], ""),
        // Names that also occur in the aggregate queries.
        (
            vec![
                ("ts", "DateTime", "toDateTime(7)"),
                ("raw", "String", "'x'"),
                ("ms", "Float64", "3"),
                ("o", "String", "'y'"),
            ],
            "",
        ),
        (
            vec![(
                "timestamp",
                "Nullable(DateTime)",
                "if(number % 9 = 0, NULL, toDateTime(1700006400 + number * 3600))",
            )],
            "240 of the rows are excluded because they have no time",
        ),
        (
            vec![("close", "Nullable(Float64)", "if(number % 9 = 0, NULL, 2)")],
            "240 of the rows are excluded because they lack an open",
        ),
        (
            vec![
                ("close", "Float32", "toFloat32(1 + number % 11 / 10)"),
                ("volume", "Float32", "toFloat32(0.1)"),
            ],
            "",
        ),
        (
            vec![
                ("close", "String", "toString(1 + number % 11 / 10)"),
                ("volume", "String", "toString(number)"),
            ],
            "",
        ),
        (
            vec![("interval", "String", "if(number < 1000, '60m', '1h')")],
            "",
        ),
        (
            vec![(
                "token_address",
                "Nullable(String)",
                "if(number % 9 = 0, NULL, '0x1f9840a85d5af5bf1d1762f925bdaddc4201f984')",
            )],
            "240 of the rows are excluded because they have no token address",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        fill(&url, "fault_candles", PLAIN, &change);
        let (brought, there) = (Bench::new(&url), Bench::new(&url));
        let dataset = there.load("fault_candles", "in place", "");
        assert!(
            dataset.table("candles").unwrap().loaded(),
            "{nth}: {}",
            told(&dataset, "candles")
        );
        assert!(
            told(&dataset, "candles").contains(notes),
            "{nth}: {}",
            told(&dataset, "candles")
        );
        let there_api = api_over(there.data.path(), dataset);
        let brought_api = brought.api("fault_candles", "bring");
        for question in questions("candles") {
            let (expected, found) = (ask(&brought_api, &question), ask(&there_api, &question));
            assert_eq!((expected.0, expected), (200, found), "{nth}: {question}");
        }
    }
}

#[test]
#[ignore = "needs a real engine"]
fn candles_that_would_be_read_otherwise_do_not_stay_in_place() {
    let (_turn, url) = (turn(), engine());
    for (change, more, says) in [
        (
            vec![("interval", "String", "if(number % 9 = 0, '1.5h', '1h')")],
            "",
            "240 of its rows have an invalid interval",
        ),
        (
            vec![(
                "interval",
                "Nullable(String)",
                "if(number % 9 = 0, NULL, '1h')",
            )],
            "",
            "240 of its rows have an invalid interval",
        ),
        (
            vec![("volume", "String", "if(number % 9 = 0, '1,5', '1')")],
            "",
            "240 of its rows have numbers in a notation",
        ),
        (
            vec![("close", "String", "'1.234'")],
            "decimal = ','",
            "`close` would need conversion",
        ),
        (
            vec![(
                "timestamp",
                "DateTime",
                "toDateTime(1700006400 + intDiv(number, 2) * 3600)",
            )],
            "",
            "are duplicates",
        ),
        (
            vec![("token_address", "String", "'what'")],
            "",
            "none of its 2,160 rows has a token",
        ),
        (
            vec![("volume", "UInt32", "number")],
            "where = { volume = { min = '10.5' } }",
            "`where` cannot be fully expressed in SQL",
        ),
        (
            vec![("close", "Float32", "1")],
            "where = { close = { max = '1.1' } }",
            "`where` cannot be fully expressed in SQL",
        ),
    ] {
        fill(&url, "fault_candles", PLAIN, &change);
        let dataset = Bench::new(&url).load("fault_candles", "in place", more);
        assert!(
            told(&dataset, "candles").contains(says),
            "{change:?} {more}: {}",
            told(&dataset, "candles")
        );
        assert!(
            !dataset.table("candles").unwrap().loaded(),
            "{change:?} {more}"
        );
    }
}
