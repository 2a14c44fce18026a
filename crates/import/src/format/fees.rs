//! Fees of pools and of fee tiers: fractions of the amount, whatever unit the file has.

use super::{
    super::{names::plain, sheet::RawTable},
    FileToImport, ImportPlan, ImportedTable, Refusal,
};
use crate::AmountUnit;
use load::loading::bind::bind;
use model::schema::TableSchema;

/// Usual fees of exchanges, in millionths.
const USUAL: &[f64] = &[
    100.0, 200.0, 300.0, 400.0, 500.0, 1_000.0, 2_500.0, 3_000.0, 5_000.0, 10_000.0,
];
/// A larger one is no fraction, and 100 may be hundredths of a percent.
const NO_FRACTION: f64 = 0.1;
const MILLIONTHS_MIN: f64 = 100.0;

/// Reads the fees in the unit of the option, or in the one that the column's name or all of its cells show.
pub(super) fn in_fraction(
    file: &FileToImport<'_>,
    sheet: &RawTable,
    schema: &'static TableSchema,
    take: &mut ImportedTable,
    plan: ImportPlan,
) -> Result<ImportPlan, Refusal> {
    let bound = bind(schema, &take.manifest, &sheet.names)?;
    let fee = bound
        .iter()
        .find(|bound| bound.column.name == "fee")
        .and_then(|bound| bound.raw.as_ref());
    let Some(at) = sheet.names.iter().position(|name| Some(name) == fee) else {
        return Ok(plan);
    };
    let (scale, unit) = match file.options.unit.or_else(|| shown(sheet, at)) {
        Some(AmountUnit::Percent) => (0.01, "percent"),
        Some(AmountUnit::Millionths) => (1e-6, "millionths"),
        Some(AmountUnit::Raw | AmountUnit::Whole | AmountUnit::Fraction) | None => return Ok(plan),
    };
    take.rule("fee").scale = Some(scale);
    Ok(plan.saying(format!(
        "its `{}` is in {unit}, so it is multiplied by {scale}",
        sheet.names[at]
    )))
}

fn shown(sheet: &RawTable, at: usize) -> Option<AmountUnit> {
    if plain(&sheet.names[at]).ends_with("ppm") {
        return Some(AmountUnit::Millionths);
    }
    let fees: Vec<f64> = sheet
        .column(at)
        .filter(|cell| !cell.trim().is_empty())
        .map(|cell| cell.trim().parse().ok())
        .collect::<Option<_>>()?;
    let all_are = |per_unit: f64| {
        fees.iter().all(|fee| {
            USUAL
                .iter()
                .any(|usual| (fee * per_unit - usual).abs() < 1e-6)
        })
    };
    let largest = fees.iter().copied().fold(0.0, f64::max);
    match () {
        () if largest > MILLIONTHS_MIN && all_are(1.0) => Some(AmountUnit::Millionths),
        () if largest > NO_FRACTION && all_are(1e4) => Some(AmountUnit::Percent),
        () => None,
    }
}
