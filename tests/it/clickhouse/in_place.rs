//! Tables whose rows stay at an engine: the same answers as from files, also where only the days or a token's rows were brought; what was
//! brought is there offline. The engine's answers are recorded from a real one.

use std::{fmt::Write as _, sync::Arc};

use api::Api;
use serde_json::Value;

use super::{
    near::same,
    real::{make, tell},
    recorded::{Recorded, recording},
    source, wire_of,
};
use crate::{
    random::Random,
    remote::{Data, api_over, ask},
};
use wire::Consent;

const TOKENS: u64 = 4;

fn token(nth: u64) -> String {
    format!("0x{:040x}", nth * 7_919 + 1)
}

fn wallet(nth: u64) -> String {
    format!("0x{:040x}", 0xab_0000 + nth)
}

/// Candles of some intervals with gaps, prices that are not valid and missing volumes. The first token has days of its own between those that
/// hours make; the last has hours alone.
fn candles() -> String {
    let (mut csv, mut random) = (
        "token_address,timestamp,open,high,low,close,volume,interval\n".to_owned(),
        Random(7),
    );
    for nth in 0..TOKENS {
        for (interval, seconds, from, rows) in [
            ("15m", 900, 0, 300),
            ("1h", 3_600, 0, 900),
            ("1d", 86_400, 10, 20),
            ("1w", 604_800, 0, 6),
        ] {
            if (nth == 3 && interval != "1h") || (nth == 2 && interval == "1d") {
                continue;
            }
            for i in from..from + rows {
                let close = 1.0 + random.below(100) as f64 / 7.0;
                let low = if random.below(31) == 0 {
                    0.0
                } else {
                    close / 3.0
                };
                let volume = if random.below(5) == 0 {
                    String::new()
                } else {
                    format!("{}", random.below(1_000))
                };
                if random.below(9) > 0 {
                    let time = 1_700_006_400 + i * seconds;
                    writeln!(
                        csv,
                        "{},{time},{close},{},{low},{close},{volume},{interval}",
                        token(nth),
                        close + 1.0
                    )
                    .expect("text");
                }
            }
        }
    }
    csv
}

fn holders() -> String {
    let (mut csv, mut random) = (
        "token_address,holder_address,balance\n".to_owned(),
        Random(8),
    );
    for nth in 0..TOKENS {
        for holder in 0..40 + nth * 10 {
            let balance = match random.below(19) {
                0 => String::new(),
                1 => "0".to_owned(),
                _ => format!("{}", random.below(1_000_000) as f64 / 8.0),
            };
            writeln!(csv, "{},{},{balance}", token(nth), wallet(holder * 3 + nth)).expect("text");
        }
    }
    csv
}

fn transfers() -> String {
    let (mut csv, mut random) = (
        "token_address,timestamp,block_number,transaction_hash,from_address,to_address,value,log_index\n".to_owned(),
        Random(9),
    );
    for nth in 0..TOKENS {
        for i in 0..200 {
            let from = if i == 0 {
                format!("0x{:040x}", 0)
            } else {
                wallet(random.below(40) as u64)
            };
            writeln!(
                csv,
                "{},{},{},0x{:064x},{from},{},{},0",
                token(nth),
                1_700_006_400 + i * 3_000,
                19_000_000 + i * 250,
                nth * 1_000 + i + 1,
                wallet(random.below(40) as u64),
                1 + random.below(1_000_000),
            )
            .expect("text");
        }
    }
    csv
}

const TABLES: [(&str, &str); 3] = [
    (
        "candles",
        "token_address String, timestamp DateTime('UTC'), open Float64, high Float64, low Float64, close Float64, volume Nullable(Float64), interval String",
    ),
    (
        "holders",
        "token_address String, holder_address String, balance Nullable(Float64)",
    ),
    (
        "transfers",
        "token_address String, timestamp DateTime('UTC'), block_number UInt64, transaction_hash String, from_address String, to_address String, value UInt256, log_index UInt32",
    ),
];

fn rows_of(table: &str) -> String {
    match table {
        "candles" => candles(),
        "holders" => holders(),
        _ => transfers(),
    }
}

/// The files beside the tables.
fn others() -> [(&'static str, String); 2] {
    let mut tokens = "token_address,symbol,name,chain,decimals,total_supply\n".to_owned();
    for nth in 0..TOKENS {
        writeln!(
            tokens,
            "{},T{nth},Token {nth},eth,2,{}",
            token(nth),
            10_000_000
        )
        .expect("text");
    }
    let labels = format!(
        "address,label\n{},exchange\n{},burn\n",
        wallet(3),
        wallet(6)
    );
    [("tokens.csv", tokens), ("labels.csv", labels)]
}

fn here() -> Data {
    let data = Data::new(&[]);
    for (name, text) in others() {
        data.write(name, &text);
    }
    for (name, _) in TABLES {
        data.write(&format!("{name}.csv"), &rows_of(name));
    }
    data
}

fn there() -> Data {
    let data = Data::new(&[]);
    for (name, text) in others() {
        data.write(name, &text);
    }
    let section = |(name, _): (&str, &str)| {
        format!(
            "[tables.{name}]\nsource = 'warehouse'\ntable = 'deck_test.recorded_{name}'\nread = 'in place'\n"
        )
    };
    data.write("dataset.toml", &TABLES.map(section).concat());
    data
}

/// The engine; where records are made, with its tables filled.
fn engine(name: &str) -> Recorded {
    if let Some(url) = recording() {
        for (table, columns) in TABLES {
            make(
                &url,
                &format!("recorded_{table}"),
                columns,
                "MergeTree ORDER BY token_address",
            );
            tell(
                &url,
                &format!(
                    "INSERT INTO deck_test.recorded_{table} FORMAT CSVWithNames\n{}",
                    rows_of(table)
                ),
            );
        }
    }
    Recorded::of(name)
}

fn over(data: &Data, engine: &Recorded, rows_min: u64) -> Arc<Api> {
    let wire = wire_of(vec![source(&engine.url())], Consent::Always);
    let dataset = data.load(Some(&wire), rows_min).expect("a dataset");
    for (name, _) in TABLES {
        let table = dataset.table(name).expect("a table");
        assert!(table.loaded(), "{name}: {:?}", table.state);
    }
    api_over(data.path(), dataset)
}

fn questions() -> Vec<String> {
    let mut all: Vec<String> = [
        "/tokens?fields=rsi_14,trend,best_pattern,from_52w_high",
        "/tokens?where=rsi_14%3C60&sort=rsi_14",
        "/technical/compare?addresses=",
        "/tables/holders?where=balance%3E1000&sort=-balance&limit=20",
        "/tables/candles?where=close%3E9&sort=volume&limit=20",
        "/tables/transfers?where=log_index%3C1&sort=-value&limit=20",
    ]
    .map(str::to_owned)
    .into();
    all[2] += &format!("{},{}", token(0), token(3));
    for nth in 0..TOKENS {
        let token = token(nth);
        all.extend(
            ["1h", "4h", "1d", "1w"]
                .map(|frame| format!("/tokens/{token}/candles?timeframe={frame}&limit=2000")),
        );
        all.extend([
            format!("/tokens/{token}?explain=true"),
            format!("/{token}/security/inference?explain=true"),
            format!("/technical/{token}/trendline?explain=true"),
            format!("/technical/{token}/patterns?explain=true"),
            format!("/technical/{token}/patterns?timeframe=4h"),
            format!("/technical/{token}/indicators"),
            format!("/technical/{token}/track-record"),
            format!("/tokens/{token}/holders?limit=20&page=2"),
            format!("/tokens/{token}/holders?limit=20&where=balance%3E10000&sort=-holder_address&flows=true"),
        ]);
    }
    all
}

/// The answer without what depends on the data's identity.
fn answer(api: &Arc<Api>, question: &str) -> (u16, Value) {
    let (status, body) = ask(api, question);
    let mut value: Value = serde_json::from_str(&body).expect("JSON");
    if let Some(next) = value.get_mut("next").filter(|next| next.is_string()) {
        *next = Value::Bool(true);
    }
    (status, value)
}

#[test]
fn tables_that_stay_at_an_engine_give_the_answers_of_recorded_files() {
    let (engine, here, there) = (engine("equal"), here(), there());
    let local = api_over(here.path(), here.load(None, 200_000).expect("a dataset"));
    let away = over(&there, &engine, 200_000);
    let mut answered = 0;
    for question in questions() {
        let (expected, found) = (answer(&local, &question), answer(&away, &question));
        assert_eq!(expected.0, found.0, "{question} {} {}", expected.1, found.1);
        same(&expected.1, &found.1, &question);
        answered += usize::from(found.0 == 200);
    }
    engine.keep();
    assert!(answered > 50, "{answered}");
}

#[test]
fn offline_what_was_brought_before_is_answered_from_recorded_rows() {
    let (engine, there) = (engine("offline"), there());
    let [brought, never] =
        [0, 1].map(|nth| format!("/tokens/{}/candles?timeframe=1h&limit=50", token(nth)));
    let api = over(&there, &engine, 200_000);
    let seen = [answer(&api, "/tokens"), answer(&api, &brought)];
    let asked = engine.asked();
    assert_eq!(answer(&api, &brought), seen[1]);
    assert_eq!(engine.asked(), asked, "rows are brought once");
    engine.keep();
    engine.down(true);
    let api = over(&there, &engine, 200_000);
    assert_eq!([answer(&api, "/tokens"), answer(&api, &brought)], seen);
    let (status, problem) = answer(&api, &never);
    assert!(
        status == 503
            && problem["detail"]
                .as_str()
                .is_some_and(|says| says.contains("from `warehouse`: ")),
        "{problem}"
    );
    let (_, datasets) = ask(&api, "/datasets");
    assert!(datasets.contains("the rows are from 2"), "{datasets}");
    // Without consent the copies are not shown.
    let never = wire_of(vec![source(&engine.url())], Consent::Never);
    let dataset = there.load(Some(&never), 200_000).expect("a dataset");
    assert!(super::reason(&dataset).contains("is blocked"));
}
