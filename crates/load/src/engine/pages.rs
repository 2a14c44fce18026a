//! Queries of a table: rows in any order, the values of a column, groups. Conditions and metrics use the schema's columns, as the loader
//! would fill them.

use polars::prelude::{DataFrame, Float64Chunked, IntoColumn as _};

use super::{
    columns::{UNKNOWN, counted, counted_in_order, floats, texts, whole},
    sql,
    templates::USED,
};
use frames::order;
use model::{
    scalar::Scalar,
    schema::{Kind, TableSchema},
    table_ask::{AskKind, Measured, RowsPage, SourceQuery},
};

/// SQL: an interval as `Interval` prints it.
const WORD: &str = "multiIf(ms % 604800000 = 0, concat(toString(intDiv(ms, 604800000)), 'w'), ms % 86400000 = 0, \
                    concat(toString(intDiv(ms, 86400000)), 'd'), ms % 3600000 = 0, concat(toString(intDiv(ms, 3600000)), 'h'), \
                    ms % 60000 = 0, concat(toString(intDiv(ms, 60000)), 'm'), concat(toString(intDiv(ms, 1000)), 's'))";

/// SQL: a time as it is written in answers.
const TIME_TEXT: &str =
    "formatDateTime(fromUnixTimestamp64Milli(ts, 'UTC'), '%Y-%m-%dT%H:%i:%SZ') AS timestamp_text";

/// Most values of a column, or groups, that are given; one more shows that there are more.
const VALUES_MAX: u64 = 1_000_000;
const GROUPS_MAX: u64 = 1_000_000;

/// SQL: the rows of `base` in the schema's columns; `NAME_small` is a text in lower case. Rows without a token are left out, as in the loader.
fn rows(base: &str, ask: &SourceQuery) -> String {
    let table = ask.table;
    let known =
        |figure: &str, name: &str| format!("if(isFinite({figure}), {figure}, NULL) AS {name}");
    let (columns, some) = if table == "transfers" {
        let known = |own: &str, name: &str| format!("nullIf({own}, {UNKNOWN}) AS {name}");
        let text =
            |own: &str, name: &str| format!("nullIf({own}, '') AS {name}, {name} AS {name}_small");
        let columns = [
            known("t", "timestamp"),
            TIME_TEXT.replace("ts", "timestamp"),
            known("k", "block_number"),
            text(
                "if(startsWith(h, '0x'), h, concat('0x', h))",
                "transaction_hash",
            ),
            text("fa", "from_address"),
            text("oa", "to_address"),
            "nullIf(va, '') AS value, amount AS value_number".to_owned(),
            known("g", "log_index"),
            known("st", "status"),
        ];
        (columns.join(", "), "notEmpty(h)")
    } else if table == "holders" {
        (
            "holder AS holder_address, holder AS holder_address_small, b AS balance".to_owned(),
            "1",
        )
    } else {
        let figures = [known("v", "volume"), known("u", "volume_usd")].join(", ");
        let columns = format!(
            "{WORD} AS interval, interval AS interval_small, ms, ts AS timestamp, {TIME_TEXT}, o AS open, h AS high, \
             l AS low, c AS close, {figures}, nullIf(s, '') AS source, {} AS source_small",
            small("source")
        );
        (columns, USED)
    };
    let some = if ask.tokens.is_empty() {
        format!("{some} AND match(token, '^0x[0-9a-f]{{40}}$')")
    } else {
        some.to_owned()
    };
    format!(
        "(SELECT token AS token_address, token AS token_address_small, {columns} FROM {base} WHERE {some})"
    )
}

/// A column of an order, in SQL, and whether it falls.
type OrderKey = (String, bool);

/// The columns that order the rows: the last row before a page is known by its values in them.
fn keys(page: &RowsPage, schema: &TableSchema) -> Vec<OrderKey> {
    let said = |(nth, (name, falls)): (usize, (&str, bool))| match name {
        // Intervals that are sorted by are sorted by their length.
        "interval" if nth < page.sort.len() => ("ms".to_owned(), falls),
        "value" => (AMOUNT.to_owned(), falls),
        name => (sql::identifier(name), falls),
    };
    schema
        .ordered_by(&page.sort)
        .into_iter()
        .enumerate()
        .map(said)
        .collect()
}

/// SQL: an amount as a number, by which it is sorted.
const AMOUNT: &str = "toUInt256OrNull(value)";

/// `backwards`: from the last row to the first. Missing values come last in the order, whether a column rises or falls.
fn order_by(keys: &[OrderKey], backwards: bool) -> String {
    let nulls = if backwards { "FIRST" } else { "LAST" };
    let said = keys.iter().map(|(key, falls)| {
        format!(
            "{key} {} NULLS {nulls}",
            if *falls == backwards { "ASC" } else { "DESC" }
        )
    });
    said.collect::<Vec<_>>().join(", ")
}

fn literal(value: &Scalar<'static>) -> String {
    match value {
        Scalar::Whole(number) => format!("toInt64({number})"),
        Scalar::Float(number) => format!("reinterpretAsFloat64(toUInt64({}))", number.to_bits()),
        Scalar::Text(text) => sql::text(text),
        // The columns of an order have no other values.
        _ => "NULL".to_owned(),
    }
}

/// Condition for the rows behind the one with these values.
fn behind(keys: &[OrderKey], values: &[Scalar<'static>]) -> String {
    let mut condition = "0".to_owned();
    for ((key, falls), value) in keys.iter().zip(values).rev() {
        let own = if key == AMOUNT {
            format!("toUInt256({})", literal(value))
        } else {
            literal(value)
        };
        condition = if *value == Scalar::Missing {
            format!("(isNull({key}) AND {condition})")
        } else {
            let sign = if *falls { "<" } else { ">" };
            format!("({key} {sign} {own} OR isNull({key}) OR ({key} = {own} AND {condition}))")
        };
    }
    condition
}

/// The condition as one that is true or false.
fn met(ask: &SourceQuery) -> String {
    if ask.condition.is_empty() {
        "1".to_owned()
    } else {
        format!("ifNull({}, 0)", ask.condition)
    }
}

/// SQL for the rows or figures, in their order, with their number in each.
pub(super) fn page(base: &str, ask: &SourceQuery, schema: &TableSchema) -> String {
    let sql = asked(base, ask, schema);
    match ask.wanted {
        AskKind::Values { is_text: false, .. } => counted(&sql) + " ORDER BY item",
        AskKind::Groups { .. } => counted(&sql) + " ORDER BY at",
        AskKind::Values { .. } | AskKind::Page(_) | AskKind::Count => counted_in_order(&sql),
    }
}

/// SQL for the rows or figures.
pub(super) fn asked(base: &str, ask: &SourceQuery, schema: &TableSchema) -> String {
    let (rows, met) = (rows(base, ask), met(ask));
    // The first row, in the table's order, decides between texts that are equally frequent, and between ways to write one.
    let first = || {
        let keys: Vec<String> = schema
            .ordered_by(&[])
            .iter()
            .map(|(name, falls)| ranked(schema, name, *falls))
            .collect();
        format!("tuple({})", keys.join(", "))
    };
    match &ask.wanted {
        AskKind::Count => "SELECT 1 AS one".to_owned(),
        AskKind::Page(page) => {
            let keys = keys(page, schema);
            let after = if page.after.is_empty() {
                "1".to_owned()
            } else {
                behind(&keys, &page.after)
            };
            let mut columns: Vec<String> = schema
                .columns
                .iter()
                .map(|column| sql::identifier(column.name))
                .collect();
            columns.extend((ask.table == "candles").then(|| "ms".to_owned()));
            let part = format!(
                "SELECT {} FROM {rows} WHERE {met} AND {after} ORDER BY {} LIMIT {} OFFSET {}",
                columns.join(", "),
                order_by(&keys, page.from_end),
                page.count,
                page.skip
            );
            if page.from_end {
                format!("SELECT * FROM ({part}) ORDER BY {}", order_by(&keys, false))
            } else {
                part
            }
        }
        AskKind::Values {
            column,
            is_text: true,
            first: most,
        } => {
            let (column, first) = (sql::identifier(column), first());
            let values = format!(
                "SELECT {column} AS item, count() AS held, min({first}) AS at FROM {rows} WHERE {met} AND isNotNull({column}) GROUP BY item"
            );
            format!(
                "SELECT assumeNotNull(item) AS item, held, count() OVER () AS distinct, sum(held) OVER () AS present, \
                 min(assumeNotNull(item)) OVER () AS least, max(assumeNotNull(item)) OVER () AS most FROM ({values}) ORDER BY held DESC, at LIMIT {most}"
            )
        }
        AskKind::Values {
            column,
            is_text: false,
            ..
        } => {
            let (unsigned, column) = (unsigned(schema, column), sql::identifier(column));
            format!(
                "SELECT assumeNotNull({column}){unsigned} AS item, count() AS held FROM {rows} WHERE {met} AND isNotNull({column}) GROUP BY item \
                 LIMIT {}",
                VALUES_MAX + 1
            )
        }
        AskKind::Groups { by, is_text, of } => {
            // The groups come as their first rows stand, which decides between groups that are equal in every order.
            let plus = unsigned(schema, by);
            let (by, first) = (sql::identifier(by), first());
            let key = if by == "`source`" {
                "source_small".to_owned()
            } else {
                format!("{by}{plus}")
            };
            let shown = if *is_text {
                format!(", argMin({by}, {first}) AS shown")
            } else {
                String::new()
            };
            let figures: Vec<String> = of
                .iter()
                .enumerate()
                .map(|(nth, of)| format!(", {}", figures(nth, of)))
                .collect();
            format!(
                "SELECT {key} AS item, count() AS held, min({first}) AS at{shown}{} FROM {rows} WHERE {met} GROUP BY item LIMIT {}",
                figures.concat(),
                GROUPS_MAX + 1
            )
        }
    }
}

/// Added to a float, it makes −0 a 0.
fn unsigned(schema: &TableSchema, column: &str) -> &'static str {
    let is_float = schema
        .column(column)
        .is_some_and(|column| column.kind == Kind::Float);
    if is_float { " + toFloat64(0)" } else { "" }
}

/// What is known of a group in its `nth` column. Floats are added exactly, as by `analysis::exact_sum`: their digits by the size of what they count.
fn figures(nth: usize, of: &Measured) -> String {
    let extremes = |column: &str| format!("min({column}) AS min_{nth}, max({column}) AS max_{nth}");
    match of {
        Measured::Counted(name) => format!("count({}) AS count_{nth}", sql::identifier(name)),
        Measured::Whole(name) => {
            let column = sql::identifier(name);
            format!(
                "count({column}) AS count_{nth}, toString(sum(toInt128(ifNull({column}, 0)))) AS sum_{nth}, {}",
                extremes(&column)
            )
        }
        Measured::Float(name) => {
            let column = if *name == "value" {
                "value_number".to_owned()
            } else {
                sql::identifier(name)
            };
            let bits = format!("reinterpretAsUInt64(assumeNotNull(ifNull({column}, 0.)))");
            let exponent = format!("bitAnd(bitShiftRight({bits}, 52), 2047)");
            let shift = format!("if({exponent} = 0, 0, {exponent} - 1)");
            let digits = format!(
                "toInt128(bitAnd({bits}, 4503599627370495) + if({exponent} = 0, 0, 4503599627370496))"
            );
            let part = format!(
                "if(bitShiftRight({bits}, 63) = 1, -1, 1) * bitShiftLeft({digits}, {shift} % 32)"
            );
            let map = format!("sumMap([toUInt8(intDiv({shift}, 32))], [toInt128({part})])");
            format!(
                "count({column}) AS count_{nth}, {map} AS parts_{nth}, tupleElement(parts_{nth}, 1) AS places_{nth}, \
                 arrayMap(x -> toString(x), tupleElement(parts_{nth}, 2)) AS sums_{nth}, {}",
                extremes(&column)
            )
        }
    }
}

/// A column of the table's order as a number or text that rises with it.
fn ranked(schema: &TableSchema, name: &str, falls: bool) -> String {
    let column = sql::identifier(name);
    let is_number = schema
        .column(name)
        .is_some_and(|column| matches!(column.kind, Kind::Integer | Kind::Float | Kind::Time));
    if !is_number {
        return format!("ifNull({column}, '')");
    }
    format!(
        "isNull({column}), {}ifNull({column}, 0)",
        if falls { "-" } else { "" }
    )
}

/// A text in lower case. Letters of which the engine may know another lower case than this program are refused.
fn small(column: &str) -> String {
    let odd = format!(
        "throwIf(length({column}) != lengthUTF8({column}), 'letters other than a to z are compared only in rows that are here')"
    );
    format!("lower(if(ifNull({odd}, 0) = 0, {column}, NULL))")
}

/// SQL for the number of the rows that are asked for.
pub(super) fn count(base: &str, ask: &SourceQuery) -> String {
    format!(
        "SELECT countIf({}) AS total FROM {}",
        met(ask),
        rows(base, ask)
    )
}

/// Decodes the rows of a page to canonical columns.
pub(super) fn read(frames: &[DataFrame], schema: &'static TableSchema) -> Option<DataFrame> {
    let Some(all) = order::whole(frames.iter().cloned()).ok()? else {
        return DataFrame::new(
            0,
            schema
                .columns
                .iter()
                .map(|column| frames::canonical::empty(column, 0))
                .collect(),
        )
        .ok();
    };
    let columns = schema
        .columns
        .iter()
        .filter_map(|column| match column.kind {
            Kind::Time | Kind::Integer => whole(&all, column.name)?
                .into_column()
                .cast(&frames::canonical::canonical(column.kind))
                .ok(),
            // NaN is an unknown figure: null.
            Kind::Float => {
                let figures = floats(&all, column.name)?;
                let known = figures
                    .iter()
                    .map(|value| value.filter(|value| value.is_finite()));
                Some(
                    known
                        .collect::<Float64Chunked>()
                        .with_name(column.name.into())
                        .into_column(),
                )
            }
            _ => Some(texts(&all, column.name)?.into_column()),
        });
    let columns: Vec<_> = columns.collect();
    DataFrame::new(all.height(), columns).ok()
}
