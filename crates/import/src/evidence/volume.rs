//! Infers base or quote volume: whether a column counts tokens or the money paid for them. The ratio of two volume columns is the price; a
//! single one shows only whether it is too large to count tokens.

use model::time::DAY_MS;

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
