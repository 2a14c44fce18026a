//! Yields: whether the figures are percent, as ours are, or fractions of one. By the file's own signs, or a person says it.

use super::{
    super::{
        evidence::number::NumberStyle,
        names::plain,
        refusal::{Refusal, UNIT},
        sheet::Sheet,
    },
    FileToImport, ImportPlan, Take,
};
use crate::dataset::{
    import::AmountUnit,
    load::bind::bind,
    schema::{self, TableSchema},
};

/// Columns of ours that are percent a year.
pub(super) const PERCENT: &[&str] = &["apy", "apy_base", "apy_reward", "apy_mean_30d"];
/// Columns of ours that such a file may lack: its pools are then listed, and no plan uses those without a value.
pub(super) const MAY_LACK: &[&str] = &["tokens", "tvl", "apy_base", "apy_reward"];
/// More than half of all pools pay more than this many percent a year, and next to none more than this many times the deposit.
const PERCENT_MEDIAN: f64 = 1.0;

/// Words of names whose rate may be one of that time, or one a year as it was then.
const TIMES: &str = "daily weekly monthly";

/// Whether the name leaves open of what time a rate is.
pub(super) fn may_be_of_a_period(name: &str) -> bool {
    TIMES.split(' ').any(|word| plain(name).contains(word))
}

/// What a column of yields is in, where its name or its cells tell.
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

/// A cell to quote: one that is not 0, as 0 is 0 in any unit.
fn example_cell(sheet: &Sheet, at: usize) -> &str {
    let filled = || sheet.column(at).filter(|cell| !cell.is_empty());
    filled().find(|cell| cell.parse() != Ok(0.0)).or_else(|| filled().next()).unwrap_or_default()
}

/// The note on pools without a category: the loader counts them as vaults.
pub(super) fn category_assumed(take: &Take, sheet: &Sheet, schema: &'static TableSchema) -> Result<Option<String>, Refusal> {
    let says = "assumed: its pools are of the category `vault`, as it names none; say another with --set category=lending";
    Ok((!take.served(sheet, schema)?.contains(&"category")).then(|| says.to_owned()))
}

/// The plan with these yields as percent; asks the person where the file does not tell the unit.
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
                "is nearest to yields, but `{}` in `{}` may be a rate a year as of that time, or one for that time alone, and ours are a year's: say --unit \
                 percent if it is percent a year, --unit fraction if it is a fraction of one a year; else take a file of yearly rates",
                example_cell(sheet, *at),
                sheet.names[*at]
            ))
            .say("unit", UNIT));
        }
        // One that tells speaks for all: those of a file are written alike.
        _ if columns.iter().any(|(_, at)| unit_shown(sheet, *at).is_some()) => false,
        _ => {
            let (name, cell) = (&sheet.names[*first], example_cell(sheet, *first));
            return Err(Refusal::new(format!(
                "is nearest to yields, but `{cell}` in `{name}` may be a percentage or a fraction of one: say --unit percent if 0.05 is 0.05 %, or \
                 --unit fraction if it is 5 %"
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
    Ok(plan.saying("its yields are fractions: multiplied by 100"))
}
