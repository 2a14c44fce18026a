//! Type inference of a column from its cells, regardless of its name. The notation of numbers and times, the order of prices and the unit
//! of volumes have modules of their own. Knows no file formats.

pub(super) mod currency;
pub(super) mod number;
pub(super) mod ohlc;
pub(super) mod when;

use super::{
    names::{is_one_of, plain},
    sheet::RawTable,
};
use frames::raw_cell::is_null_word;
use model::{address::Address, time::DAY_MS};

/// Cell types that can be told apart without a column name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CellKind {
    Empty,
    /// 20 bytes as hex.
    Address,
    /// 32 bytes as hex: a transaction or block hash.
    Hash,
    /// Any other bytes as hex.
    Hex,
    Number,
    /// A formatted time, not just a number.
    Time,
    Text,
}

pub(super) fn kind_of(cell: &str) -> CellKind {
    let cell = cell.trim();
    if is_null_word(cell) {
        return CellKind::Empty;
    }
    if cell.starts_with("0x") || cell.starts_with("0X") {
        let digits = &cell[2..];
        return match digits.len() {
            _ if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) => CellKind::Text,
            40 => CellKind::Address,
            64 => CellKind::Hash,
            _ => CellKind::Hex,
        };
    }
    let figure = cell.strip_suffix('%').map_or(cell, str::trim_end);
    // `20230315T` is a day, not trillions.
    let is_day = || cell.ends_with('T') && when::is_written_out(cell);
    if (number::plain(figure, false).is_some() || number::plain(figure, true).is_some())
        && !is_day()
    {
        return CellKind::Number;
    }
    if when::is_written_out(cell) {
        CellKind::Time
    } else {
        CellKind::Text
    }
}

/// The type of nearly all cells of a column; empty ones are ignored.
pub(super) fn kind<'a>(cells: impl Iterator<Item = &'a str>) -> CellKind {
    const KINDS: [CellKind; 6] = [
        CellKind::Address,
        CellKind::Hash,
        CellKind::Hex,
        CellKind::Number,
        CellKind::Time,
        CellKind::Text,
    ];
    let mut counts = [0_usize; KINDS.len()];
    let mut all = 0;
    for cell in cells {
        let found = kind_of(cell);
        if let Some(at) = KINDS.iter().position(|kind| *kind == found) {
            counts[at] += 1;
            all += 1;
        }
    }
    let most = counts.iter().enumerate().max_by_key(|(_, count)| **count);
    match most {
        Some((at, count)) if all > 0 && count * 10 >= all * 8 => KINDS[at],
        _ if all > 0 => CellKind::Text,
        _ => CellKind::Empty,
    }
}

/// Whether the text has the form of an address of a network without 0x addresses: base58 (Bitcoin, Solana, Tron) or bech32 (Cosmos, Bitcoin).
fn is_of_other_network(cell: &str) -> bool {
    let cell = cell.trim();
    let is_base58 = |byte: u8| byte.is_ascii_alphanumeric() && !b"0OIl".contains(&byte);
    let has = |of: fn(&u8) -> bool| cell.bytes().any(|byte| of(&byte));
    let is_mixed =
        has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    let bech32 = cell.rsplit_once('1').is_some_and(|(prefix, data)| {
        (2..=20).contains(&prefix.len())
            && prefix.bytes().all(|byte| byte.is_ascii_lowercase())
            && (38..=70).contains(&data.len())
            && data
                .bytes()
                .all(|byte| b"qpzry9x8gf2tvdw0s3jn54khce6mua7l".contains(&byte))
    });
    bech32 || matches!(cell.len(), 26..=44 | 95) && is_mixed && cell.bytes().all(is_base58)
}

/// The share of a column's non-empty cells that are addresses of other networks: by their form, or, in a column named as addresses, by
/// their 32 bytes (Alephium, Aptos, Sui).
pub(super) fn of_other_networks(sheet: &RawTable, at: usize) -> f64 {
    let name = plain(sheet.names[at].rsplit('.').next().unwrap_or_default());
    // The ids of pools and transactions have 32 bytes too; those of tokens are listed with symbols.
    let is_id =
        is_one_of(&name, "id tokenid") && sheet.names.iter().any(|name| plain(name) == "symbol");
    let is_named = is_id
        || is_one_of(
            &name,
            "address mint token contract holder wallet owner account cointype",
        );
    let long = |cell: &str| {
        let cell = cell.trim();
        let digits = cell
            .strip_prefix("0x")
            .filter(|_| !is_id)
            .unwrap_or(cell)
            .split("::")
            .next()
            .unwrap_or_default();
        is_named && digits.len() == 64 && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    };
    let filled = || sheet.column(at).filter(|cell| !is_null_word(cell));
    let others = filled()
        .filter(|cell| is_of_other_network(cell) || long(cell))
        .count();
    others as f64 / filled().count().max(1) as f64
}

/// The share of non-empty cells that are addresses.
pub(super) fn addresses<'a>(cells: impl Iterator<Item = &'a str>) -> f64 {
    let (mut all, mut addresses) = (0.0, 0.0);
    for cell in cells.filter(|cell| !is_null_word(cell)) {
        all += 1.0;
        addresses += if Address::parse(cell.trim()).is_some() {
            1.0
        } else {
            0.0
        };
    }
    if all == 0.0 { 0.0 } else { addresses / all }
}

// Infers base or quote volume: whether a column counts tokens or the money paid for them. The ratio of two volume columns is the price; a
// single one shows only whether it is too large to count tokens.

/// The measure of a volume column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VolumeMeasure {
    Tokens,
    Money,
}

/// Upper limit in USD of one token's turnover in a day; larger figures do not count tokens.
const USD_A_DAY_MAX: f64 = 6e11;
/// Tolerance of the ratio of two volumes against the candle's price range.
const NEAR: std::ops::RangeInclusive<f64> = 0.9..=1.1;

/// A candle's price range, against which volumes are checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PriceRange {
    pub low: f64,
    pub high: f64,
}

impl PriceRange {
    /// Whether `money` for `tokens` is a price within this range.
    pub(crate) fn pays(self, tokens: f64, money: f64) -> bool {
        let price = money / tokens;
        price >= self.low * NEAR.start() && price <= self.high * NEAR.end()
    }
}

/// The share of rows in which one column can be the tokens and the other the money paid for them; rows without trades are ignored. `None`
/// if too few rows remain.
pub(crate) fn pair(ranges: &[PriceRange], tokens: &[f64], money: &[f64]) -> Option<f64> {
    let spoken = |row: &usize| tokens[*row] > 0.0 && money[*row] > 0.0 && ranges[*row].low > 0.0;
    let rows: Vec<usize> = (0..ranges.len()).filter(spoken).collect();
    let good = rows
        .iter()
        .filter(|&&row| ranges[row].pays(tokens[row], money[row]))
        .count();
    (!rows.is_empty()).then(|| good as f64 / rows.len() as f64)
}

/// Whether a volume column is too large to count tokens: its worth per day exceeds `USD_A_DAY_MAX`.
pub(crate) fn too_large(ranges: &[PriceRange], volume: &[f64], step_ms: i64) -> bool {
    let mut worth: Vec<f64> = ranges
        .iter()
        .zip(volume)
        .filter(|(range, volume)| **volume > 0.0 && range.low > 0.0)
        .map(|(range, volume)| volume * range.low * DAY_MS as f64 / step_ms.max(1) as f64)
        .collect();
    if worth.is_empty() {
        return false;
    }
    worth.sort_by(f64::total_cmp);
    worth[worth.len() / 2] > USD_A_DAY_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_volumes_are_told_apart_by_the_price_and_one_by_its_size() {
        let ranges = vec![
            PriceRange {
                low: 95.0,
                high: 105.0
            };
            10
        ];
        let (tokens, money) = (vec![3.0; 10], vec![300.0; 10]);
        assert_eq!(pair(&ranges, &tokens, &money), Some(1.0));
        assert_eq!(pair(&ranges, &money, &tokens), Some(0.0));
        assert_eq!(pair(&ranges, &[0.0; 10], &money), None);
        let bitcoin = vec![
            PriceRange {
                low: 90_000.0,
                high: 91_000.0
            };
            10
        ];
        assert!(too_large(&bitcoin, &[2.5e9; 10], 3_600_000));
        assert!(!too_large(&bitcoin, &[12_000.0; 10], 86_400_000));
        assert!(!too_large(&bitcoin, &[0.0; 10], 86_400_000));
    }
}
