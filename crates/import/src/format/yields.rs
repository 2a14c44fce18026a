//! Yields: infers whether figures are percentages, as the schema's, or fractions, from the file itself, or the user must say.

use super::{
    super::{
        evidence::number::NumberStyle,
        names::plain,
        refusal::{Refusal, UNIT},
        sheet::Sheet,
    },
    FileToImport, ImportPlan, Take,
};
use crate::AmountUnit;
use model::schema::{self, TableSchema};
use store::load::bind::bind;

/// Schema columns in percent a year.
pub(super) const PERCENT: &[&str] = &["apy", "apy_base", "apy_reward", "apy_mean_30d"];
/// Schema columns that may be missing: pools are then listed without the values, and plans that need these skip them.
pub(super) const MAY_LACK: &[&str] = &["tokens", "tvl", "apy_base", "apy_reward"];
/// Median that tells percentages from fractions: more than half of all pools pay more than this many percent a year, and almost none more
/// than this many times the deposit.
const PERCENT_MEDIAN: f64 = 1.0;

/// Words in names of rates that may be per period, or annualised at that time.
const TIMES: &str = "daily weekly monthly";

/// Whether the name leaves the rate's period ambiguous.
pub(super) fn may_be_of_a_period(name: &str) -> bool {
    TIMES.split(' ').any(|word| plain(name).contains(word))
}

/// The unit of a yield column, if its name or cells show it.
pub(super) fn unit_shown(sheet: &Sheet, at: usize) -> Option<AmountUnit> {
    let name = plain(&sheet.names[at]);
    if ["percent", "pct"].iter().any(|word| name.contains(word)) || sheet.names[at].contains('%') {
        return Some(AmountUnit::Percent);
    }
    if sheet.column(at).any(|cell| cell.trim().ends_with('%')) {
        return Some(AmountUnit::Percent);
    }
    let style = NumberStyle::of(sheet.column(at), sheet.semicolons)?;
    let mut figures: Vec<f64> =
        sheet.column(at).filter_map(|cell| style.plain(cell)?.parse().ok()).filter(|figure: &f64| *figure > 0.0).collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).filter(|median| **median > PERCENT_MEDIAN).map(|_| AmountUnit::Percent)
}

/// A cell to quote, not 0 if possible, as 0 shows no unit.
fn example_cell(sheet: &Sheet, at: usize) -> &str {
    let filled = || sheet.column(at).filter(|cell| !cell.is_empty());
    filled().find(|cell| cell.parse() != Ok(0.0)).or_else(|| filled().next()).unwrap_or_default()
}

/// The note on pools without a category, which the loader counts as vaults.
pub(super) fn category_assumed(take: &Take, sheet: &Sheet, schema: &'static TableSchema) -> Result<Option<String>, Refusal> {
    let says = "assumed: its pools have the category `vault`, as the file names none; to change it, pass --set category=lending";
    Ok((!take.served(sheet, schema)?.contains(&"category")).then(|| says.to_owned()))
}

/// Completes the plan with yields converted to percent; asks the user if the unit is unclear.
pub(super) fn in_percent(file: &FileToImport<'_>, sheet: &Sheet, take: &mut Take, plan: ImportPlan) -> Result<ImportPlan, Refusal> {
    let Some(schema) = schema::table("yields") else { return Ok(plan) };
    let bound = bind(schema, &take.manifest, &sheet.names)?;
    let columns: Vec<(&'static str, usize)> = bound
        .iter()
        .filter(|bound| PERCENT.contains(&bound.column.name))
        .filter_map(|bound| Some((bound.column.name, sheet.names.iter().position(|name| Some(name) == bound.raw.as_ref())?)))
        .collect();
    let Some((_, first)) = columns.first() else { return Ok(plan) };
    let fractions = match file.options.unit {
        Some(AmountUnit::Fraction) => true,
        Some(AmountUnit::Percent) => false,
        _ if let Some((_, at)) = columns.iter().find(|(_, at)| may_be_of_a_period(&sheet.names[*at])) => {
            return Err(Refusal::new(format!(
                "looks like yields, but `{}` in `{}` may be an annual rate as of that time, or the rate of that period only, and \
                 tokendeck needs annual rates; pass --unit percent if it is annual and in percent, or --unit fraction if it is annual \
                 and a fraction of 1. Otherwise, use a file with annual rates",
                example_cell(sheet, *at),
                sheet.names[*at]
            ))
            .say("unit", UNIT));
        }
        // One conclusive column decides for all, as a file has one notation.
        _ if columns.iter().any(|(_, at)| unit_shown(sheet, *at).is_some()) => false,
        _ => {
            let (name, cell) = (&sheet.names[*first], example_cell(sheet, *first));
            return Err(Refusal::new(format!(
                "looks like yields, but `{cell}` in `{name}` may be a percentage or a fraction; pass --unit percent if 0.05 means \
                 0.05%, or --unit fraction if it means 5%"
            ))
            .say("unit", UNIT));
        }
    };
    if !fractions {
        return Ok(plan);
    }
    for (ours, _) in columns {
        take.rule(ours).scale = Some(100.0);
    }
    Ok(plan.saying("its yields are fractions, so they are multiplied by 100"))
}
