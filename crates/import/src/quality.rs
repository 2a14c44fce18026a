//! Data quality gates: how many invalid or conflicting rows lead to a file's refusal. Datasets reject single rows; a file that is mostly
//! invalid has been mistaken for something else.

use super::{
    combine::Repeat,
    refusal::{COLUMN, LostColumn, Refusal, VALUE, WRITE_TOKENS},
    take::{ImportRejection, RowCounts},
};
use frames::duplicates;
use load::{
    check::named,
    loader::{file::Unread, units::NO_DECIMALS},
};
use model::{
    findings::{Finding, Findings, Severity},
    schema::{self, Kind, Need},
};

/// Conflicting rows (same key, other values) from which a file is taken to hold several series.
const CONFLICTS_MIN: u64 = 5;
/// Maximum share of invalid rows, and the count below which they are tolerated whatever their share.
pub(super) const BROKEN_MAX: f64 = 0.01;
const BROKEN_MIN: u64 = 2;
/// Token columns that change daily.
const FIGURES: &[&str] = &["price", "market_cap", "total_supply", "holders"];
/// Maximum share of unreadable rows, for any table.
const UNREADABLE_MAX: f64 = 0.5;
/// Maximum share of rows that cannot be told apart into cells: where it is more, the file is written in another way than it is read.
const MALFORMED_MAX: f64 = 0.05;

/// The defect for which a file is refused, and the remedy.
struct Flaw {
    what: String,
    advice: String,
    /// The column without which the file can be taken.
    column: Option<&'static str>,
}

/// Refuses a file with too many invalid rows, quoting the first one; if `forced`, returns a note instead.
pub(super) fn broken(
    table: &'static str,
    amount: &RowCounts,
    findings: &Findings,
    forced: bool,
) -> Result<Option<String>, ImportRejection> {
    match flaw(table, amount, findings) {
        Some(Flaw { what, .. }) if forced => Ok(Some(format!(
            "forced with --broken-too, although it {what}"
        ))),
        // No command is suggested: it would import invalid rows.
        Some(Flaw {
            what,
            advice,
            column,
        }) => {
            let costs = column.map(|column| {
                Box::new(LostColumn {
                    table,
                    column,
                    why: what.clone(),
                })
            });
            Err(Refusal {
                costs,
                ..format!("{what}{advice}").into()
            }
            .into())
        }
        None => Ok(None),
    }
}

/// The defect of a file with too many bad rows, quoting the first one.
fn flaw(table: &str, amount: &RowCounts, findings: &Findings) -> Option<Flaw> {
    if let Some(flaw) = two_lengths(findings).or_else(|| months(findings)) {
        return Some(flaw);
    }
    let rows = (amount.rows - amount.left_out).max(1) as f64;
    let unreadable = if table == "candles" { amount.bad } else { 0 };
    let broken = amount.broken + unreadable;
    // A token's figure that cannot be is left empty; the transfers of one such token repeat it.
    let most = if table == "tokens" {
        UNREADABLE_MAX
    } else {
        BROKEN_MAX
    };
    let many = broken >= BROKEN_MIN && broken as f64 > most * rows
        || amount.bad as f64 > UNREADABLE_MAX * rows && amount.bad < amount.rows;
    let many = many
        || amount.malformed > BROKEN_MIN
            && amount.malformed as f64 > MALFORMED_MAX * rows
            && amount.bad < amount.rows;
    if !many {
        // A token list may well omit the supply of tokens whose decimals it lacks.
        return if table == "tokens" {
            None
        } else {
            unreadable_column(table, amount, findings).or_else(|| lost_amounts(amount, findings))
        };
    }
    let first = findings
        .kept()
        .iter()
        .find(|finding| finding.severity != Severity::Note && finding.row.is_some());
    let shown = first.map_or_else(String::new, |finding| {
        format!("; the first is {}", row_of(finding))
    });
    let what = format!(
        "has {} invalid rows out of {}{shown}",
        broken.max(amount.bad),
        amount.rows
    );
    Some(Flaw {
        what,
        advice: advice(table),
        column: None,
    })
}

/// `row 3, close `x`: reason`.
pub(super) fn row_of(finding: &Finding) -> String {
    let value = finding
        .value
        .as_ref()
        .map_or_else(String::new, |value| format!(" `{value}`"));
    let column = finding
        .column
        .as_ref()
        .map_or_else(String::new, |column| format!(", {column}{value}"));
    format!(
        "row {}{column}: {}",
        finding.row.unwrap_or_default(),
        finding.reason
    )
}

/// The defect of a series with candles of two lengths: either length would be the wrong interval for some of them.
fn two_lengths(findings: &Findings) -> Option<Flaw> {
    let reason = named("two_lengths").reason();
    let found = findings
        .kept()
        .iter()
        .find(|finding| finding.reason == reason)?;
    let what = format!(
        "contains candles of two lengths: {}",
        found.value.as_deref().unwrap_or_default()
    );
    let advice = ". Save the candles of each length as a separate file, or add a column `interval` with the length of each row, such as \
                  1d or 1h; to import all rows as one length, pass --broken-too";
    Some(Flaw {
        what,
        advice: advice.to_owned(),
        column: None,
    })
}

fn months(findings: &Findings) -> Option<Flaw> {
    let reason = named("months").reason();
    findings
        .kept()
        .iter()
        .find(|finding| finding.reason == reason)?;
    let what = "contains monthly candles, but months differ in length, and all candles must have the same length, such as 1d or 1w";
    let advice =
        "; use daily or weekly candles, or pass --broken-too to import all rows as one length";
    Some(Flaw {
        what: what.to_owned(),
        advice: advice.to_owned(),
        column: None,
    })
}

fn advice(table: &str) -> String {
    format!(
        ". Use another file, map its columns (--as {table} --map TARGET=COLUMN), or pass --broken-too to import it anyway"
    )
}

/// A column with many unreadable cells has been mistaken for another: they would all become null. Among addresses names may stand, which
/// cost no more than their rows; a column that a row can do without costs itself alone.
fn unreadable_column(table: &str, amount: &RowCounts, findings: &Findings) -> Option<Flaw> {
    let ours =
        |unread: &Unread| schema::table(table).and_then(|schema| schema.column(unread.column));
    let most = |unread: &Unread| match ours(unread).map(|column| column.kind) {
        Some(Kind::Address) => UNREADABLE_MAX,
        _ => BROKEN_MAX,
    };
    let many = |unread: &&Unread| {
        unread.cells >= BROKEN_MIN && unread.cells as f64 > most(unread) * unread.filled as f64
    };
    // A needed one first.
    let can_lack = |unread: &Unread| {
        let is_key = schema::table(table).is_some_and(|schema| schema.key.contains(&unread.column));
        ours(unread).is_some_and(|column| {
            column.need == Need::Optional && !matches!(column.kind, Kind::Time | Kind::Date)
        }) && !is_key
    };
    let found = amount
        .unread
        .iter()
        .filter(many)
        .min_by_key(|unread| can_lack(unread))?;
    let Unread {
        column,
        cells,
        filled,
    } = found;
    let in_column = |finding: &&Finding| {
        finding.column.as_deref() == Some(*column)
            && finding.row.is_some()
            && finding.value.is_some()
    };
    let shown = findings
        .kept()
        .iter()
        .find(in_column)
        .map_or_else(String::new, |finding| {
            let value: String = finding
                .value
                .iter()
                .flat_map(|value| value.chars())
                .take(60)
                .collect();
            format!(
                "; the first is row {}, `{value}`: {}",
                finding.row.unwrap_or_default(),
                finding.reason
            )
        });
    let what = format!(
        "contains {cells} cells, out of {filled}, that cannot be read as `{column}`{shown}"
    );
    Some(Flaw {
        what,
        advice: advice(table),
        column: can_lack(found).then_some(*column),
    })
}

/// A file in which many amounts would become null, as their tokens' decimals are unknown.
fn lost_amounts(amount: &RowCounts, findings: &Findings) -> Option<Flaw> {
    let lost: u64 = findings
        .counts()
        .iter()
        .filter(|count| count.reason == NO_DECIMALS)
        .map(|count| count.count)
        .sum();
    if lost < BROKEN_MIN || lost as f64 <= BROKEN_MAX * amount.rows as f64 {
        return None;
    }
    let first = findings
        .kept()
        .iter()
        .find(|finding| finding.reason == NO_DECIMALS)
        .and_then(|finding| finding.row);
    let what = format!(
        "contains {lost} rows, out of {}, whose amounts are left empty, as the decimals of their tokens are unknown (the first is row {})",
        amount.rows,
        first.unwrap_or_default()
    );
    Some(Flaw {
        what,
        advice: format!("; {WRITE_TOKENS}, or pass --broken-too to import it anyway"),
        column: None,
    })
}

/// The refusal of a part of a file whose candles would replace those of the part `other`; `None` if they are few, as where two parts meet.
pub(super) fn replacing(replaced: u64, rows: u64, other: &str) -> Option<Refusal> {
    let many = replaced * 2 > rows
        || replaced >= CONFLICTS_MIN && replaced as f64 > BROKEN_MAX * rows as f64;
    // No command is suggested: it would mix the series.
    many.then(|| {
        Refusal::new(format!(
            "contains {replaced} candles, out of {rows}, at the same times as `{other}` but with different values, and a token has only \
                one series; save the part you need as a separate file, or pass --broken-too to let later candles replace earlier ones"
        ))
    })
}

/// The refusal of a file with too many rows that have the key of another row but different values; `None` if they are few.
pub(super) fn conflicting(
    table: &str,
    conflicts: &[&Repeat],
    rows: u64,
    movements: &[String],
) -> Option<Refusal> {
    let (first, count) = (
        conflicts.iter().min_by_key(|repeat| repeat.row)?,
        conflicts.len() as u64,
    );
    if count < CONFLICTS_MIN || count as f64 <= BROKEN_MAX * rows as f64 {
        return None;
    }
    let shown = first
        .differs
        .as_ref()
        .map_or_else(String::new, |(column, figures)| {
            format!(": `{column}` {figures}")
        });
    let first = first.row;
    if table == "holders" {
        let asked = if movements.is_empty() {
            None
        } else {
            Some(duplicates::are_these_transfers(movements))
        };
        let asked = asked
            .as_deref()
            .unwrap_or("check that each row is the balance of one holder");
        let reason = format!(
            "contains {count} rows, out of {rows}, whose holder appears again with a different balance (the first is row \
                {first}{shown}); {asked}. If the rows are transfers, import them with --as transfers, and with --map for their columns; \
                to use the last balance of each holder, pass --broken-too"
        );
        // No command is suggested: it would record an arbitrary row of each holder as the balance.
        return Some(Refusal::new(reason));
    }
    if table == "tokens" {
        // Tokens repeated with different texts are a merged list; with different figures, a history.
        let told = || {
            conflicts
                .iter()
                .filter_map(|repeat| repeat.differs.as_ref())
        };
        let figures = told()
            .filter(|(column, _)| FIGURES.contains(column))
            .count();
        return (figures * 2 > told().count()).then(|| {
            Refusal::new(format!(
                "contains {count} rows, out of {rows}, whose token appears again with a different value (the first is row \
                    {first}{shown}): it lists tokens at several times, but a dataset has one row per token; import only the last day, \
                    or pass --broken-too to use the last row of each token"
            ))
        });
    }
    Some({
        Refusal::new(format!(
            "contains {count} rows, out of {rows}, with the same time as another row but different prices (the first is row \
                {first}{shown}): it contains several series without a recognized column that separates them; choose one with --pick \
                COLUMN=VALUE, split the file, or pass --broken-too to use the last row for each time"
        ))
        .say("pick", format!("{COLUMN}={VALUE}"))
        .lines("[tables.candles] where = { COLUMN = \"VALUE\" }")
    })
}
