//! Aggregate queries of the test server, computed over its rows as far as the tests need.

use std::collections::{BTreeMap, HashSet};

use model::candles::{Interval, is_valid_candle};
use polars::prelude::{Column, DataFrame, DataType, Series, SortMultipleOptions};

/// Whether it is a market-wide aggregate, run at load; the others run on demand.
pub(super) fn is_of_all(sql: &str) -> bool {
    sql.contains("arrayResize") || sql.contains("uniqExact(holder)") || is_state(sql)
}

/// Whether it asks for number and checksum alone.
fn is_state(sql: &str) -> bool {
    ["(SELECT count() AS listed", "(SELECT sum(rows) AS listed"]
        .iter()
        .any(|start| sql.contains(start))
}

/// Whether it asks for rows of a table in an order.
fn is_of_table(sql: &str) -> bool {
    sql.contains(" NULLS LAST")
}

/// Whether it is a condition or an aggregate that this server cannot work out; real engines are asked for those.
pub(super) fn is_beyond(sql: &str) -> bool {
    sql.contains("GROUP BY item")
        || sql.contains("ifNull((") && sql.contains("AS token_address_small")
}

/// Answers an aggregate query over these rows; `None` if it is not one.
pub(super) fn of(rows: &DataFrame, sql: &str) -> Option<DataFrame> {
    if is_of_table(sql) && !sql.contains("count() OVER () AS rows") {
        return Some(page(rows, sql));
    }
    if !sql.contains("count() OVER () AS rows") {
        return None;
    }
    let mut answer = if sql.contains("arrayResize") {
        market(rows)
    } else if sql.contains("argMinIf") {
        chart(rows)
    } else if sql.contains("uniqExact(holder)") {
        listed(rows)
    } else if is_state(sql) {
        state(rows)
    } else if sql.contains("rest_ranked") {
        balances(rows)
    } else {
        page(rows, sql)
    };
    let count = answer.height();
    answer
        .with_column(Column::new("rows".into(), vec![count as u64; count]))
        .unwrap();
    Some(answer)
}

fn time(candles: &DataFrame) -> &'static str {
    if candles.column("ts").is_ok() {
        "ts"
    } else {
        "timestamp"
    }
}

fn cast(frame: &DataFrame, name: &str, from: &str, kind: &DataType) -> Column {
    frame
        .column(from)
        .unwrap()
        .cast(kind)
        .unwrap()
        .with_name(name.into())
}

/// Every candle individually, which is more than requested and equivalent.
fn market(candles: &DataFrame) -> DataFrame {
    let count = candles.height();
    let prices =
        ["open", "high", "low", "close"].map(|name| cast(candles, name, name, &DataType::Float64));
    let is_sound = |row: usize| {
        let [open, high, low, close] = prices
            .each_ref()
            .map(|price| price.f64().unwrap().get(row).unwrap_or(f64::NAN));
        is_valid_candle(open, high, low, close)
    };
    let whole = |name: &str, from: &str, kind: &DataType| cast(candles, name, from, kind);
    let lists = |name: &str, from: &str, kind: &DataType| {
        let all = whole(name, from, kind).take_materialized_series();
        Column::new(
            name.into(),
            (0..count)
                .map(|row| all.slice(row as i64, usize::from(is_sound(row))))
                .collect::<Vec<Series>>(),
        )
    };
    let time = time(candles);
    let columns = vec![
        whole("token_address", "token_address", &DataType::String),
        whole("interval", "interval", &DataType::String),
        whole("first", time, &DataType::Int64),
        whole("newest", time, &DataType::Int64),
        Column::new("cut".into(), vec![0_i64; count]),
        lists("timestamp", time, &DataType::Int64),
        lists("close", "close", &DataType::Float64),
        lists("volume", "volume", &DataType::Float64),
        Column::new(
            "written".into(),
            vec![Series::new_empty("".into(), &DataType::String); count],
        ),
        Column::new("count".into(), vec![1_u64; count]),
        Column::new("mark".into(), contents(candles)),
        Column::new("again".into(), vec![0_u64; count]),
        Column::new("candles".into(), vec![count as u64; count]),
    ];
    DataFrame::new(count, columns).unwrap()
}

/// Content hash of each candle.
fn contents(candles: &DataFrame) -> Vec<u64> {
    let closes = cast(candles, "close", "close", &DataType::Float64);
    closes
        .f64()
        .unwrap()
        .iter()
        .map(|close| close.unwrap_or(-1.0).to_bits())
        .collect()
}

fn content(candles: &DataFrame) -> u64 {
    contents(candles).into_iter().fold(0, u64::wrapping_add)
}

/// Number of candles that repeat an interval and time.
fn repeated(candles: &DataFrame) -> u64 {
    let (words, times) = (
        lengths(candles),
        cast(candles, "timestamp", time(candles), &DataType::Int64),
    );
    let tokens = cast(candles, "token_address", "token_address", &DataType::String);
    let (tokens, words, times) = (
        tokens.str().unwrap(),
        words.i64().unwrap(),
        times.i64().unwrap(),
    );
    let own: HashSet<(Option<&str>, Option<i64>, Option<i64>)> = (0..candles.height())
        .map(|row| (tokens.get(row), words.get(row), times.get(row)))
        .collect();
    (candles.height() - own.len()) as u64
}

/// Count and content hash of a token's candles.
fn told(candles: &DataFrame) -> [Column; 2] {
    let (count, mark) = (candles.height(), content(candles));
    [
        Column::new("listed".into(), vec![count as u64; count]),
        Column::new("mark".into(), vec![mark; count]),
    ]
}

fn state(rows: &DataFrame) -> DataFrame {
    let holders = || {
        by_token(rows)
            .values()
            .map(|own| mark(own))
            .fold(0, u64::wrapping_add)
    };
    let mark = if rows.column("balance").is_ok() {
        holders()
    } else {
        content(rows)
    };
    let count = rows.height() as u64;
    let again = if rows.column("balance").is_ok() {
        0
    } else {
        repeated(rows)
    };
    let columns = [
        ("listed", count),
        ("mark", mark),
        ("again", again),
        ("odd", 0),
        ("total", count),
    ]
    .map(|(name, number)| Column::new(name.into(), vec![number]));
    DataFrame::new(1, columns.to_vec()).unwrap()
}

fn lengths(candles: &DataFrame) -> Column {
    let words = cast(candles, "interval", "interval", &DataType::String);
    let lengths: Vec<i64> = words
        .str()
        .unwrap()
        .iter()
        .map(|word| Interval::parse(word.unwrap()).unwrap().0)
        .collect();
    Column::new("ms".into(), lengths)
}

/// The candles unaggregated, none by the hour.
fn chart(candles: &DataFrame) -> DataFrame {
    let count = candles.height();
    let mut columns = vec![
        cast(candles, "token", "token_address", &DataType::String),
        lengths(candles),
        cast(candles, "timestamp", time(candles), &DataType::Int64),
    ];
    columns.extend(
        ["open", "high", "low", "close", "volume"]
            .map(|name| cast(candles, name, name, &DataType::Float64)),
    );
    columns.push(Column::new("again".into(), vec![repeated(candles); count]));
    columns.extend(told(candles));
    let frame = DataFrame::new(count, columns).unwrap();
    frame
        .sort(["token", "ms", "timestamp"], SortMultipleOptions::default())
        .unwrap()
}

/// A holder and its balance.
type Holder = (String, Option<f64>);

/// Content hash of holder rows.
fn mark(rows: &[Holder]) -> u64 {
    rows.iter()
        .fold(rows.len() as u64, |mark, (holder, balance)| {
            let holder = holder.bytes().fold(7_u64, |sum, byte| {
                sum.wrapping_mul(31).wrapping_add(byte.into())
            });
            mark.wrapping_add(holder.wrapping_mul(balance.unwrap_or(-1.0).to_bits() | 1))
        })
}

/// Holders per token, largest first.
fn by_token(rows: &DataFrame) -> BTreeMap<String, Vec<Holder>> {
    let text = |name: &str| cast(rows, name, name, &DataType::String);
    let (tokens, holders, balances) = (
        text("token_address"),
        text("holder_address"),
        cast(rows, "balance", "balance", &DataType::Float64),
    );
    let (tokens, holders, balances) = (
        tokens.str().unwrap(),
        holders.str().unwrap(),
        balances.f64().unwrap(),
    );
    let mut all: BTreeMap<String, Vec<Holder>> = BTreeMap::new();
    for i in 0..rows.height() {
        let row = (holders.get(i).unwrap().to_owned(), balances.get(i));
        all.entry(tokens.get(i).unwrap().to_owned())
            .or_default()
            .push(row);
    }
    for own in all.values_mut() {
        own.sort_by(|a, b| {
            b.1.is_some()
                .cmp(&a.1.is_some())
                .then(b.1.partial_cmp(&a.1).unwrap())
                .then(a.0.cmp(&b.0))
        });
    }
    all
}

fn listed(rows: &DataFrame) -> DataFrame {
    let all = by_token(rows);
    let numbers = |name: &str, number: &dyn Fn(&[Holder]) -> u64| {
        Column::new(
            name.into(),
            all.values().map(|own| number(own)).collect::<Vec<_>>(),
        )
    };
    let columns = vec![
        Column::new(
            "token_address".into(),
            all.keys().cloned().collect::<Vec<_>>(),
        ),
        numbers("listed", &|own| own.len() as u64),
        numbers("held", &|own| {
            own.iter()
                .filter(|(_, balance)| balance.is_some_and(|balance| balance > 0.0))
                .count() as u64
        }),
        numbers("mark", &mark),
        numbers("again", &|own| {
            (own.len()
                - own
                    .iter()
                    .map(|(holder, _)| holder)
                    .collect::<HashSet<_>>()
                    .len()) as u64
        }),
        numbers("odd", &|own| {
            own.iter()
                .filter(|(holder, _)| !holder.starts_with("0x"))
                .count() as u64
        }),
        Column::new(
            "written".into(),
            vec![Series::new_empty("".into(), &DataType::String); all.len()],
        ),
    ];
    DataFrame::new(all.len(), columns).unwrap()
}

/// Every balance individually: there are fewer than the limit for that.
fn balances(rows: &DataFrame) -> DataFrame {
    let own = by_token(rows).into_values().next().unwrap_or_default();
    let count = own.len();
    assert!(count <= 1_000, "too many to be told one by one");
    let all = |name: &str, number: u64| Column::new(name.into(), vec![number; count]);
    let mut columns = vec![
        Column::new(
            "holder_address".into(),
            own.iter()
                .map(|(holder, _)| holder.clone())
                .collect::<Vec<_>>(),
        ),
        Column::new(
            "balance".into(),
            own.iter().map(|(_, balance)| *balance).collect::<Vec<_>>(),
        ),
        all("told", 1),
        all("listed", count as u64),
        all("mark", mark(&own)),
    ];
    columns.extend(
        [
            "rest_count",
            "rest_sum",
            "rest_squares",
            "rest_ranked",
            "within",
            "frees",
        ]
        .map(|name| all(name, 0)),
    );
    DataFrame::new(count, columns).unwrap()
}

/// A page of rows in the table's order, after a skip or after a known row.
fn page(rows: &DataFrame, sql: &str) -> DataFrame {
    let number = |word: &str| {
        sql.split(word)
            .nth(1)
            .and_then(|rest| rest.split([' ', ')']).next())
            .and_then(|text| text.parse().ok())
            .unwrap()
    };
    let (count, skip): (usize, usize) = (number(" LIMIT "), number(" OFFSET "));
    let frame = if rows.column("balance").is_ok() {
        all_holders(rows)
    } else {
        all_candles(rows)
    };
    let after = |name: &str, end: char| {
        sql.split(&format!("`{name}` = "))
            .nth(1)
            .map(|rest| rest.split(end).nth(1).unwrap_or_default())
    };
    let known: Vec<Option<&str>> = if rows.column("balance").is_ok() {
        vec![after("token_address", '\''), after("holder_address", '\'')]
    } else {
        vec![
            after("token_address", '\''),
            after("interval", '\''),
            sql.split("`timestamp` = toInt64(")
                .nth(1)
                .and_then(|rest| rest.split(')').next()),
        ]
    };
    let names = if rows.column("balance").is_ok() {
        &["token_address", "holder_address"][..]
    } else {
        &["token_address", "interval", "timestamp"]
    };
    let texts: Vec<Column> = names
        .iter()
        .map(|name| cast(&frame, name, name, &DataType::String))
        .collect();
    let is_known = |row: &usize| {
        texts
            .iter()
            .zip(&known)
            .all(|(column, value)| column.str().unwrap().get(*row) == *value)
    };
    let before = (0..frame.height()).find(is_known).map_or(0, |row| row + 1);
    let from = if sql.contains(" NULLS FIRST") {
        frame.height() - skip - count
    } else {
        before + skip
    };
    frame.slice(from as i64, count)
}

fn all_holders(rows: &DataFrame) -> DataFrame {
    let all: Vec<(String, Holder)> = by_token(rows)
        .into_iter()
        .flat_map(|(token, own)| own.into_iter().map(move |holder| (token.clone(), holder)))
        .collect();
    let columns = vec![
        Column::new(
            "token_address".into(),
            all.iter()
                .map(|(token, _)| token.clone())
                .collect::<Vec<_>>(),
        ),
        Column::new(
            "holder_address".into(),
            all.iter()
                .map(|(_, (holder, _))| holder.clone())
                .collect::<Vec<_>>(),
        ),
        Column::new(
            "balance".into(),
            all.iter()
                .map(|(_, (_, balance))| *balance)
                .collect::<Vec<_>>(),
        ),
    ];
    DataFrame::new(all.len(), columns).unwrap()
}

fn all_candles(rows: &DataFrame) -> DataFrame {
    let words = cast(rows, "interval", "interval", &DataType::String);
    let times = cast(rows, "timestamp", time(rows), &DataType::Int64);
    let mut columns = vec![
        cast(rows, "token_address", "token_address", &DataType::String),
        times,
        words,
    ];
    columns.extend(
        ["open", "high", "low", "close", "volume"]
            .map(|name| cast(rows, name, name, &DataType::Float64)),
    );
    columns.push(Column::full_null(
        "volume_usd".into(),
        rows.height(),
        &DataType::Float64,
    ));
    columns.push(Column::full_null(
        "source".into(),
        rows.height(),
        &DataType::String,
    ));
    let frame = DataFrame::new(rows.height(), columns).unwrap();
    frame
        .sort(
            ["token_address", "interval", "timestamp"],
            SortMultipleOptions::default(),
        )
        .unwrap()
}
