//! Whole tables in place on a real engine: filtered, sorted, paged, counted, grouped and exported there, they give byte for byte the answers of
//! the same rows in local files. Run like `real`.

use std::sync::Arc;

use api::Api;

use super::real::{engine, load, make, tell, turn};
use crate::remote::{Data, api_over, ask};

const TOKENS: u64 = 11;

fn token(nth: u64) -> String {
    format!("0x{:040x}", nth * 7_919 + 1)
}

/// Candles and holders with gaps, ties, missing figures, figures of all sizes, and texts in both cases.
pub(super) fn fill(url: &str) {
    let columns = "token_address String, timestamp DateTime, open Float64, high Float64, low Float64, close Float64, volume Nullable(Float64), \
                   interval LowCardinality(String), volume_usd Nullable(Float64), source Nullable(String)";
    make(
        url,
        "asked_candles",
        columns,
        "MergeTree ORDER BY (token_address, interval, timestamp)",
    );
    let address = |number: &str| format!("concat('0x', lower(leftPad(hex({number}), 40, '0')))");
    for (interval, seconds, rows) in [
        ("15m", 900, 300),
        ("1h", 3_600, 200),
        ("4h", 14_400, 60),
        ("1d", 86_400, 90),
        ("1w", 604_800, 12),
    ] {
        tell(
            url,
            &format!(
                "INSERT INTO deck_test.asked_candles SELECT {}, toDateTime(1700006400 + t * 3600 + i * {seconds}), c, if(h % 17 = 0, c / 2, c * 1.1), \
                 if(h % 31 = 0, 0, c / 3), c, if(h % 5 = 0, NULL, if(h % 41 = 0, -1, exp2(h % 60 - 20) * (h + 0.1))), '{interval}', \
                 if(h % 3 = 0, NULL, round(h * c, 2)), multiIf(h % 4 = 0, NULL, h % 4 = 1, 'Binance-Spot:UNI', h % 4 = 2, 'binance-spot:uni', concat('bybit~', toString(h % 7), '!')) \
                 FROM (SELECT intDiv(number, {rows}) AS t, number % {rows} AS i, cityHash64(number, '{interval}') % 1000 AS h, \
                 if(h % 10 < 4, 1.5, 1 + h / 7) AS c FROM numbers({})) WHERE h % 9 > 0",
                address("t * 7919 + 1"),
                rows * TOKENS
            ),
        );
    }
    make(
        url,
        "asked_holders",
        "token_address String, holder_address String, balance Nullable(Float64)",
        "MergeTree ORDER BY token_address",
    );
    tell(
        url,
        &format!(
            "INSERT INTO deck_test.asked_holders SELECT {}, {}, multiIf(h % 19 = 0, NULL, h % 13 = 0, 0, h % 17 = 0, -5, h % 3 = 0, 12.5, pow(h / 1000000, 6) * 1e9) \
             FROM (SELECT intDiv(number, 300) AS t, number % 300 AS i, cityHash64(number) % 1000000 AS h FROM numbers({})) WHERE i < 20 + cityHash64(t) % 280",
            address("t * 7919 + 1"),
            address("734439407616 + (i * 37) % 300 + t % 3"),
            TOKENS * 300
        ),
    );
    fill_transfers(url);
}

/// Transfers with equal times, amounts that only a text holds, and cells without a value.
fn fill_transfers(url: &str) {
    let columns = "token_address String, timestamp Nullable(DateTime), block_number Nullable(UInt64), transaction_hash String, from_address Nullable(String), \
                   to_address Nullable(String), value Nullable(UInt256), log_index UInt32, status Nullable(UInt8)";
    make(
        url,
        "asked_transfers",
        columns,
        "MergeTree ORDER BY (token_address, transaction_hash)",
    );
    let address = |number: &str| format!("concat('0x', lower(leftPad(hex({number}), 40, '0')))");
    tell(
        url,
        &format!(
            "INSERT INTO deck_test.asked_transfers SELECT {}, if(h % 23 = 0, NULL, toDateTime(1700000000 + intDiv(h, 7) * 60)), if(h % 29 = 0, NULL, 19000000 + intDiv(h, 7)), \
             concat('0x', lower(hex(reinterpretAsFixedString(sipHash128(number)))), '00000000000000000000000000000000'), if(h % 31 = 0, NULL, {}), {}, \
             multiIf(h % 19 = 0, NULL, h % 5 = 0, toUInt256('115792089237316195423570985008687907853269984665640564039457584007913129639935') - h, \
             h % 3 = 0, toUInt256(9007199254740993) + h % 4, toUInt256(h)), number % 5, if(h % 4 = 0, NULL, h % 3 > 0) \
             FROM (SELECT number, cityHash64(number, 'transfers') % 3000 AS h FROM numbers(4000))",
            address("(number % {TOKENS}) * 7919 + 1").replace("{TOKENS}", &TOKENS.to_string()),
            address("734439407616 + h % 17"),
            address("734439407616 + h % 13"),
        ),
    );
}

fn tokens_csv() -> String {
    let row = |nth: u64| format!("{},T{nth},Token {nth},eth\n", token(nth));
    format!(
        "token_address,symbol,name,chain\n{}",
        (0..TOKENS).map(row).collect::<String>()
    )
}

/// The tables in local files, and in place as the tables or views `of_…`.
pub(super) fn stand(url: &str, of: &str) -> [(Arc<Api>, Data); 2] {
    let section = |name: &str| {
        format!(
            "[tables.{name}]\nsource = 'warehouse'\ntable = 'deck_test.{of}_{name}'\nread = 'in place'\n"
        )
    };
    let there = Data::new(&[
        ("tokens.csv", &tokens_csv()),
        (
            "dataset.toml",
            &["candles", "holders", "transfers"].map(section).concat(),
        ),
    ]);
    let here = Data::new(&[("tokens.csv", &tokens_csv())]);
    for name in ["candles", "holders", "transfers"] {
        here.write(
            &format!("{name}.csv"),
            &tell(
                url,
                &format!("SELECT * FROM deck_test.asked_{name} ORDER BY ALL FORMAT CSVWithNames"),
            )
            .replace("\\N", ""),
        );
    }
    let datasets = [
        here.load(None, 10_000_000).unwrap(),
        load(&there, url, 10_000_000),
    ];
    for name in ["candles", "holders", "transfers"] {
        let heights = datasets
            .each_ref()
            .map(|dataset| dataset.table(name).unwrap().height());
        assert!(
            heights[0] == heights[1] && heights[0] > 1_500,
            "{name}: {heights:?} {:?}",
            datasets[1].table(name).unwrap().state
        );
    }
    let [first, second] = datasets;
    [
        (api_over(here.path(), first), here),
        (api_over(there.path(), second), there),
    ]
}

/// Status and body; the cursor of the next page depends on the identity of the data.
pub(super) fn answer(api: &Arc<Api>, question: &str) -> (u16, String) {
    let (status, body) = ask(api, question);
    let cursor = next(&body);
    (
        status,
        cursor.map_or_else(|| body.clone(), |cursor| body.replace(&cursor, "…")),
    )
}

/// Asserts that both give the same answer, also on the next pages; whether it is one.
pub(super) fn same(apis: &[(Arc<Api>, Data); 2], question: &str, pages: usize) -> bool {
    let mut targets = [question.to_owned(), question.to_owned()];
    for _ in 0..pages {
        let [here, there] = [0, 1].map(|nth| answer(&apis[nth].0, &targets[nth]));
        assert!(
            here == there,
            "{}\n{}\n{}",
            targets[1],
            around(&here, &there),
            around(&there, &here)
        );
        let cursors = [0, 1].map(|nth| next(&ask(&apis[nth].0, &targets[nth]).1));
        let [Some(a), Some(b)] = cursors else {
            return here.0 == 200;
        };
        targets = [a, b].map(|cursor| format!("{question}&cursor={}", encoded(&cursor)));
    }
    true
}

/// What stands where the answers differ.
fn around(one: &(u16, String), other: &(u16, String)) -> String {
    let at = one
        .1
        .bytes()
        .zip(other.1.bytes())
        .position(|(a, b)| a != b)
        .unwrap_or_default();
    format!(
        "{} …{}…",
        one.0,
        one.1
            .chars()
            .skip(at.saturating_sub(120))
            .take(300)
            .collect::<String>()
    )
}

fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| {
            if byte.is_ascii_alphanumeric() {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

/// Random choices, the same in each run.
struct Choices(u64);

impl Choices {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }

    fn number(&mut self) -> String {
        match self.below(6) {
            0 => "1.5".to_owned(),
            1 => "0".to_owned(),
            2 => format!("{}k", self.below(900)),
            3 => format!("{:.3}", self.below(1_000_000) as f64 / 997.0),
            4 => format!("{}e-{}", self.below(100), self.below(9)),
            _ => (1 + self.below(150)).to_string(),
        }
    }

    fn condition(&mut self, table: &str) -> String {
        let number = self.number();
        let (columns, kinds): (&[&str], &[usize]) = match table {
            "holders" => (&["balance"], &[0, 1]),
            "transfers" => (
                &["value", "block_number", "log_index", "status"],
                &[0, 1, 4, 5],
            ),
            _ => (
                &["open", "close", "high", "volume", "volume_usd"],
                &[0, 1, 2, 3, 4],
            ),
        };
        let sign = self.of(&[">", "<", ">=", "<=", "=", "!=", ":"]);
        match kinds[self.below(kinds.len())] {
            0 => format!("{}{sign}{number}", self.of(columns)),
            1 => {
                let nth = self.below(TOKENS as usize + 1) as u64;
                match self.below(4) {
                    0 => format!("token_address={}", token(nth)),
                    1 => format!("token_address!={}", token(nth)),
                    2 if table == "holders" => {
                        format!("holder_address:{:x}", 0xab_0000_0000_u64 / 256 + nth)
                    }
                    _ => format!("token_address:{:x}", nth * 7_919 + 1),
                }
            }
            2 => format!(
                "interval{}{}",
                self.of(&["=", "!=", ":"]),
                self.of(&["1h", "1H", "h", "4h", "1w", "60m"])
            ),
            3 => {
                format!(
                    "source{}{}",
                    self.of(&["=", "!=", ":", "!:"]),
                    self.of(&["binance-spot:uni", "SPOT", "bybit~3!", "\"\"", "x'\\"])
                )
            }
            _ => {
                let time = self.of(&[
                    "2023-11",
                    "2023-11-20",
                    "2024-01-02T03",
                    "2023-12-24T18:15",
                    "2024",
                ]);
                format!(
                    "timestamp{}{time}",
                    self.of(&[">", "<", ">=", "<=", "=", "!=", ":", "!:"])
                )
            }
        }
    }

    fn conditions(&mut self, table: &str) -> String {
        let [a, b, c] = [0; 3].map(|_| self.condition(table));
        match self.below(7) {
            0 => String::new(),
            1 => a,
            2 => format!("{a} {b}"),
            3 => format!("{a} or {b}"),
            4 => format!("{a} ({b} or {c})"),
            5 => format!("not ({a} {b}) or {c}"),
            _ => format!("not {a} and {b}"),
        }
    }

    fn sort(&mut self, columns: &[&str]) -> String {
        let one = |choices: &mut Self| format!("{}{}", choices.of(&["", "-"]), choices.of(columns));
        (0..self.below(4))
            .map(|_| one(self))
            .collect::<Vec<_>>()
            .join(",")
    }
}

const CANDLES: &[&str] = &[
    "token_address",
    "timestamp",
    "open",
    "high",
    "low",
    "close",
    "volume",
    "interval",
    "volume_usd",
    "source",
];
const TRANSFERS: &[&str] = &[
    "token_address",
    "timestamp",
    "block_number",
    "transaction_hash",
    "from_address",
    "to_address",
    "value",
    "log_index",
    "status",
];
const HOLDERS: &[&str] = &["token_address", "holder_address", "balance"];

#[test]
#[ignore = "needs a real engine"]
fn rows_of_a_table_in_place_are_those_of_local_files() {
    let (_turn, url) = (turn(), engine());
    fill(&url);
    let apis = stand(&url, "asked");
    // Plain pages, up to the end.
    for table in ["candles", "holders", "transfers"] {
        for limit in [700, 10_000] {
            assert!(same(&apis, &format!("/tables/{table}?limit={limit}"), 40));
        }
    }
    let mut choices = Choices(7);
    let (mut answered, count) = (
        0,
        std::env::var("TOKENDECK_ASKED")
            .ok()
            .and_then(|count| count.parse().ok())
            .unwrap_or(1_500),
    );
    for _ in 0..count {
        let (table, columns) = [
            ("holders", HOLDERS),
            ("candles", CANDLES),
            ("candles", CANDLES),
            ("transfers", TRANSFERS),
        ][choices.below(4)];
        let (filter, sort, limit) = (
            choices.conditions(table),
            choices.sort(columns),
            [1, 7, 50, 1_000][choices.below(4)],
        );
        let chosen = if choices.below(3) == 0 {
            format!("&columns={}", choices.of(columns))
        } else {
            String::new()
        };
        let question = format!(
            "/tables/{table}?limit={limit}&where={}&sort={sort}{chosen}",
            encoded(&filter)
        );
        let pages = 1 + choices.below(3);
        answered += usize::from(same(&apis, &question, pages));
    }
    assert!(answered > count * 8 / 10, "{answered} of {count}");
}

#[test]
#[ignore = "needs a real engine"]
fn an_export_of_a_table_in_place_is_that_of_local_files() {
    let (_turn, url) = (turn(), engine());
    fill(&url);
    let apis = stand(&url, "asked");
    for question in [
        "/tables/candles?format=csv".to_owned(),
        "/tables/holders?format=ndjson&where=balance%3E10&sort=-balance".to_owned(),
        "/tables/candles?format=csv&where=close%3E50&sort=source,-volume&columns=volume,source,timestamp".to_owned(),
        format!("/tables/candles?format=ndjson&where=token_address={}", token(3)),
        "/tables/candles?format=csv&where=close%3C0".to_owned(),
    ] {
        let [here, there] = [0, 1].map(|nth| streamed(&apis[nth].0, &question));
        assert_eq!(here, there, "{question}");
        // From a cursor on, too.
        let plain = question.replace("format=csv", "limit=10").replace("format=ndjson", "limit=10");
        let rest = [0, 1].map(|nth| {
            let cursor = next(&ask(&apis[nth].0, &plain).1)?;
            Some(streamed(&apis[nth].0, &format!("{question}&cursor={}", encoded(&cursor))))
        });
        assert_eq!(rest[0], rest[1], "{question}");
    }
}

#[test]
#[ignore = "needs a real engine"]
fn groups_and_columns_of_a_table_in_place_are_those_of_local_files() {
    let (_turn, url) = (turn(), engine());
    fill(&url);
    let apis = stand(&url, "asked");
    let mut choices = Choices(11);
    let count = std::env::var("TOKENDECK_ASKED")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(600);
    let mut answered = 0;
    for _ in 0..count {
        let (table, columns) = [
            ("holders", HOLDERS),
            ("candles", CANDLES),
            ("candles", CANDLES),
            ("transfers", TRANSFERS),
        ][choices.below(4)];
        let (filter, column) = (encoded(&choices.conditions(table)), choices.of(columns));
        let figure = |choices: &mut Choices| {
            let column = choices.of(match table {
                "holders" => &["balance"],
                "transfers" => &["value", "block_number", "timestamp", "to_address", "status"],
                _ => &[
                    "open",
                    "close",
                    "volume",
                    "volume_usd",
                    "timestamp",
                    "source",
                ],
            });
            format!(
                "{}:{column}",
                choices.of(&["count", "sum", "mean", "min", "max"])
            )
        };
        // Amounts beyond an integer are looked at only in rows that are here.
        let question = match if column == "value" {
            2
        } else {
            choices.below(4)
        } {
            0 => format!(
                "/tables/{table}/counts?column={column}&where={filter}&limit={}",
                [1, 5, 1_000][choices.below(3)]
            ),
            1 => format!("/tables/{table}/describe?column={column}&where={filter}"),
            _ => {
                let agg = format!("count,{},{}", figure(&mut choices), figure(&mut choices));
                let sort = choices.of(&["", "count", "-count"]);
                format!(
                    "/tables/{table}?by={column}&agg={agg}&where={filter}&sort={sort}&limit={}",
                    [3, 10_000][choices.below(2)]
                )
            }
        };
        answered += usize::from(same(&apis, &question, 1));
    }
    assert!(answered > count * 6 / 10, "{answered} of {count}");
    for nth in 0..40 {
        let held = format!("/addresses/0x{:040x}/tokens", 0xab_0000_0000_u64 + nth);
        same(&apis, &held, 1);
    }
}

/// Concatenates a whole stream.
fn streamed(api: &Arc<Api>, path: &str) -> String {
    let mut reply = api::answer_offline(api, "GET", path, b"");
    let rows = reply
        .rows
        .as_mut()
        .unwrap_or_else(|| panic!("{path}: {}", String::from_utf8_lossy(&reply.body)));
    let mut whole = Vec::new();
    while let Some(piece) = rows.next_piece().unwrap() {
        whole.extend_from_slice(&piece);
    }
    String::from_utf8(whole).unwrap()
}

/// The `next` cursor of a page.
fn next(body: &str) -> Option<String> {
    let text = body.split("\"next\":\"").nth(1)?;
    text.split('"').next().map(str::to_owned)
}
