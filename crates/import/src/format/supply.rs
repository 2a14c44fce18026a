//! The unit of total supplies: whole tokens, or base units as in blockchain-etl. Inferred from the figures, as a supply below one whole
//! token is implausible; the user must say if they are inconclusive.

use super::{
    super::{
        names::{DECIMALS, Names, is_one_of, plain},
        refusal::UNIT,
        sheet::RawTable,
    },
    FileToImport, Refusal,
};
use crate::AmountUnit;

const SUPPLY: &str = "totalsupply";
/// blockchain-etl's columns of tokens; other columns mean another source.
const ETL: &str = "address symbol name decimals totalsupply blocknumber blockhash blocktimestamp";
/// Decimals from which a supply reveals its unit.
const DECIMALS_TELL: i32 = 12;
/// The share of tokens that must agree.
const MOST: f64 = 0.8;

/// The unit that the figures show.
enum Shown {
    Raw,
    Whole,
    /// They disagree, or their tokens have few decimals.
    Mixed,
    Nothing,
}

/// Whether the supplies in a file with blockchain-etl's columns are in base units.
pub(super) fn is_raw(file: &FileToImport<'_>, sheet: &RawTable) -> Result<bool, Refusal> {
    if let Some(said) = said(file) {
        return Ok(said);
    }
    let is_etl = sheet.names.iter().all(|name| is_one_of(&plain(name), ETL));
    match shown(sheet) {
        Shown::Raw => Ok(true),
        Shown::Whole => Ok(false),
        Shown::Nothing if is_etl => Ok(true),
        Shown::Mixed | Shown::Nothing => Err(asked(sheet)),
    }
}

/// Whether supplies under the schema's name are in base units; refused if they seem so without `--unit`.
pub(super) fn is_raw_in_ours(file: &FileToImport<'_>, sheet: &RawTable) -> Result<bool, Refusal> {
    match (said(file), shown(sheet)) {
        (Some(said), _) => Ok(said),
        (None, Shown::Raw) => Err(asked(sheet)),
        (None, _) => Ok(false),
    }
}

/// Whether `--unit` says base units.
fn said(file: &FileToImport<'_>) -> Option<bool> {
    match file.options.unit? {
        AmountUnit::Raw => Some(true),
        AmountUnit::Whole => Some(false),
        AmountUnit::Percent | AmountUnit::Fraction | AmountUnit::Millionths => None,
    }
}

fn asked(sheet: &RawTable) -> Refusal {
    let at = Names::of(&sheet.names).find(SUPPLY).unwrap_or_default();
    let shown = sheet
        .column(at)
        .find(|cell| !cell.is_empty())
        .unwrap_or_default();
    Refusal::new(format!(
        "looks like tokens, but its supplies, such as `{shown}` in `{}`, may be whole tokens or base units; pass --unit whole or \
         --unit raw",
        sheet.names[at]
    ))
    .say("unit", UNIT)
}

fn shown(sheet: &RawTable) -> Shown {
    let names = Names::of(&sheet.names);
    let (Some(supply), Some(decimals)) = (names.find(SUPPLY), names.find(DECIMALS)) else {
        return Shown::Nothing;
    };
    let rows: Vec<(f64, i32)> = sheet
        .first
        .iter()
        .filter_map(|row| {
            Some((
                row[supply].trim().parse().ok()?,
                row[decimals].trim().trim_end_matches(".0").parse().ok()?,
            ))
        })
        .filter(|(supply, _): &(f64, i32)| *supply > 0.0)
        .collect();
    if rows.iter().any(|(supply, _)| supply.fract() != 0.0) {
        return Shown::Whole;
    }
    let telling: Vec<&(f64, i32)> = rows
        .iter()
        .filter(|(_, decimals)| (DECIMALS_TELL..=40).contains(decimals))
        .collect();
    if telling.is_empty() {
        return Shown::Nothing;
    }
    let raw = telling
        .iter()
        .filter(|(supply, decimals)| *supply >= 10_f64.powi(*decimals))
        .count() as f64
        / telling.len() as f64;
    match raw {
        raw if raw >= MOST => Shown::Raw,
        0.0 => Shown::Whole,
        _ => Shown::Mixed,
    }
}
