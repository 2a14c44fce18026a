//! The values of a column of a remote table: the engine counts each, and what is made of them is made here.

use polars::prelude::{DataFrame, DataType};

use super::TEXTS_MAX;
use crate::queries::tables::remote::RemoteQuery;
use analysis::column::{NumberKind, Sorted, key_of_float, key_of_integer};
use model::{
    error::{Code, Problem, Result},
    format,
    schema::{Column, Kind},
    table_ask::AskKind,
};

/// Maximum number of distinct numbers; more would use too much memory.
const NUMBERS_MAX: usize = 1_000_000;

/// The values of the column, and the number of rows. Errors: too many.
pub(super) fn values(
    remote: &RemoteQuery<'_>,
    column: &Column,
    limit: usize,
) -> Result<CountedValues> {
    let kind = match column.kind {
        Kind::Integer | Kind::Time | Kind::Date => Some(NumberKind::Integers),
        Kind::Float => Some(NumberKind::Floats),
        Kind::Uint256 => {
            return Err(remote.refusal(&format!(
                "the values of `{0}` cannot be counted there (use `by` with `agg=min:{0},max:{0},mean:{0}`)",
                column.name
            )));
        }
        _ => None,
    };
    let ask = remote.ask(AskKind::Values {
        column: column.name,
        is_text: kind.is_none(),
        first: limit as u64,
    });
    let (answer, rows) = remote.answer(ask)?;
    if kind.is_some() && answer.height() > NUMBERS_MAX {
        let most = format::count(NUMBERS_MAX as u64);
        let what = format!(
            "`{}` has more than {most} distinct values (narrow the rows with `where`)",
            column.name
        );
        return Err(remote.refusal(&what));
    }
    let unread = || {
        Problem::new(
            Code::Defect,
            "Internal error: the values from the source cannot be read.",
        )
    };
    if let Some(kind) = kind {
        return Ok(CountedValues {
            rows,
            numbers: Some(numbers(&answer, kind).ok_or_else(unread)?),
            texts: None,
        });
    }
    let texts = texts(&answer).ok_or_else(unread)?;
    if texts.distinct > TEXTS_MAX as u64 {
        Err(too_many_texts())
    } else {
        Ok(CountedValues {
            rows,
            numbers: None,
            texts: Some(texts),
        })
    }
}

fn counts(answer: &DataFrame, name: &str) -> Option<Vec<u64>> {
    let counts = answer.column(name).ok()?.cast(&DataType::UInt64).ok()?;
    counts.u64().ok()?.iter().collect()
}

fn numbers(answer: &DataFrame, kind: NumberKind) -> Option<Sorted> {
    if answer.height() == 0 {
        return Some(Sorted::new(kind, Vec::new()));
    }
    let items = answer.column("item").ok()?;
    let keys: Option<Vec<u64>> = match kind {
        NumberKind::Floats => items
            .f64()
            .ok()?
            .iter()
            .map(|number| number.map(key_of_float))
            .collect(),
        NumberKind::Integers => items
            .cast(&DataType::Int64)
            .ok()?
            .i64()
            .ok()?
            .iter()
            .map(|number| number.map(key_of_integer))
            .collect(),
    };
    Some(keys?).filter(|keys| keys.is_sorted()).map(|keys| {
        Sorted::counted(
            kind,
            keys.into_iter()
                .zip(counts(answer, "held").unwrap_or_default()),
        )
    })
}

fn texts(answer: &DataFrame) -> Option<TextValues> {
    if answer.height() == 0 {
        return Some(TextValues::default());
    }
    let texts = |name: &str| -> Option<Vec<String>> {
        let texts = answer.column(name).ok()?.cast(&DataType::String).ok()?;
        texts
            .str()
            .ok()?
            .iter()
            .map(|text| text.map(str::to_owned))
            .collect()
    };
    let one = |name: &str| texts(name)?.into_iter().next();
    Some(TextValues {
        present: *counts(answer, "present")?.first()?,
        distinct: *counts(answer, "distinct")?.first()?,
        counts: ordered_counts(
            texts("item")?
                .into_iter()
                .zip(counts(answer, "held")?)
                .collect(),
        ),
        min: one("least"),
        max: one("most"),
    })
}

// The values of a column, as far as its counts and statistics need them, of rows that are here or at an engine.

/// Numbers, or texts; large integers as both.
pub(super) struct CountedValues {
    pub(super) rows: u64,
    pub(super) numbers: Option<Sorted>,
    pub(super) texts: Option<TextValues>,
}

/// How many texts there are, the most frequent with their counts, the first and the last.
#[derive(Default)]
pub(super) struct TextValues {
    pub(super) present: u64,
    pub(super) distinct: u64,
    pub(super) counts: Vec<(String, u64)>,
    pub(super) min: Option<String>,
    pub(super) max: Option<String>,
}

/// The most frequent first.
pub(super) fn ordered_counts(mut counts: Vec<(String, u64)>) -> Vec<(String, u64)> {
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts
}

pub(super) fn too_many_texts() -> Problem {
    let detail = format!(
        "The column has more than {TEXTS_MAX} distinct text values; narrow the rows with `where`."
    );
    Problem::new(Code::InvalidParameter, detail)
}
