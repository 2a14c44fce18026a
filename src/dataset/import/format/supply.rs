//! In which unit the total supply of tokens stands: whole tokens, or smallest units as blockchain-etl has it. Told by the figures, as less than
//! one whole token is no supply; where they leave it open it is asked.

use super::{
    super::{
        names::{DECIMALS, Names, is_one_of, plain},
        refusal::UNIT,
        sheet::Sheet,
    },
    FileToImport, Refusal,
};
use crate::dataset::import::AmountUnit;

const SUPPLY: &str = "totalsupply";
/// The columns of blockchain-etl's tokens; a file with others is of another source.
const ETL: &str = "address symbol name decimals totalsupply blocknumber blockhash blocktimestamp";
/// Decimals from which a supply shows its unit.
const DECIMALS_TELL: i32 = 12;
/// The share of tokens that must show the same.
const MOST: f64 = 0.8;

/// What the figures show.
enum Shown {
    Raw,
    Whole,
    /// They differ, or are of tokens with few decimals.
    Mixed,
    Nothing,
}

/// Whether the supplies of a file with blockchain-etl's columns are in smallest units.
pub(super) fn is_raw(file: &FileToImport<'_>, sheet: &Sheet) -> Result<bool, Refusal> {
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

/// Whether supplies under our own name are in smallest units; refused where they seem to be and nobody says so.
pub(super) fn is_raw_in_ours(file: &FileToImport<'_>, sheet: &Sheet) -> Result<bool, Refusal> {
    match (said(file), shown(sheet)) {
        (Some(said), _) => Ok(said),
        (None, Shown::Raw) => Err(asked(sheet)),
        (None, _) => Ok(false),
    }
}

/// What `--unit` says.
fn said(file: &FileToImport<'_>) -> Option<bool> {
    match file.options.unit? {
        AmountUnit::Raw => Some(true),
        AmountUnit::Whole => Some(false),
        AmountUnit::Percent | AmountUnit::Fraction => None,
    }
}

fn asked(sheet: &Sheet) -> Refusal {
    let at = Names::of(&sheet.names).find(SUPPLY).unwrap_or_default();
    let shown = sheet.column(at).find(|cell| !cell.is_empty()).unwrap_or_default();
    Refusal::new(format!(
        "is nearest to tokens, but its supplies, as `{shown}` in `{}`, may be whole tokens or smallest units: say --unit whole or --unit raw",
        sheet.names[at]
    ))
    .say("unit", UNIT)
}

fn shown(sheet: &Sheet) -> Shown {
    let names = Names::of(&sheet.names);
    let (Some(supply), Some(decimals)) = (names.find(SUPPLY), names.find(DECIMALS)) else { return Shown::Nothing };
    let rows: Vec<(f64, i32)> = sheet
        .first
        .iter()
        .filter_map(|row| Some((row[supply].trim().parse().ok()?, row[decimals].trim().trim_end_matches(".0").parse().ok()?)))
        .filter(|(supply, _): &(f64, i32)| *supply > 0.0)
        .collect();
    if rows.iter().any(|(supply, _)| supply.fract() != 0.0) {
        return Shown::Whole;
    }
    let telling: Vec<&(f64, i32)> = rows.iter().filter(|(_, decimals)| (DECIMALS_TELL..=40).contains(decimals)).collect();
    if telling.is_empty() {
        return Shown::Nothing;
    }
    let raw = telling.iter().filter(|(supply, decimals)| *supply >= 10_f64.powi(*decimals)).count() as f64 / telling.len() as f64;
    match raw {
        raw if raw >= MOST => Shown::Raw,
        0.0 => Shown::Whole,
        _ => Shown::Mixed,
    }
}
