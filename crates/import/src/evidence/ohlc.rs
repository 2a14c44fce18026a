//! Infers which of four columns are open, high, low and close. High and low follow from every row: no price is above the one or below the
//! other. Open and close follow from the previous row: a candle opens near the last close. What the rows leave ambiguous is not guessed.

use model::candles::is_valid_candle;

/// The share of rows in which an order must hold.
const HOLDS: f64 = 0.99;
/// The prices of a row are close together: in nearly all rows the high is less than this multiple of the low.
const SPREAD_MAX: f64 = 8.0;
/// The same, where one column has whole numbers only and others have fractions: a number of trades is not a price.
const MIXED_SPREAD_MAX: f64 = 2.0;
/// Maximum ratio of the better reading's mean jump, from one close to the next open, to the other reading's.
const CLEARLY: f64 = 0.75;
/// Rows required to tell open from close by these jumps.
const ROWS_MIN: usize = 4;
/// Rows that suffice if each candle opens exactly at the last close.
const EXACT_ROWS_MIN: usize = 3;

/// The columns of open, high, low and close.
pub(crate) type OhlcPlaces = [usize; 4];

/// The result of the search for an order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FoundOrder {
    /// Exactly one order holds.
    Order(OhlcPlaces),
    /// Several orders hold equally well.
    Several(Vec<OhlcPlaces>),
    Nothing,
}

/// The share of complete rows in which the order holds, and the first row in which it does not.
pub(crate) fn holds(columns: &[Vec<f64>], order: OhlcPlaces) -> (f64, Option<usize>) {
    let (mut all, mut good, mut first) = (0_usize, 0_usize, None);
    for (row, [open, high, low, close]) in filled(columns, order) {
        all += 1;
        if is_valid_candle(open, high, low, close) {
            good += 1;
        } else {
            first = first.or(Some(row));
        }
    }
    (
        if all == 0 {
            0.0
        } else {
            good as f64 / all as f64
        },
        first,
    )
}

/// The rows with all four prices, which are not all 0.
fn filled(columns: &[Vec<f64>], order: OhlcPlaces) -> impl Iterator<Item = (usize, [f64; 4])> {
    let rows = (0..columns[order[0]].len()).map(move |row| (row, order.map(|at| columns[at][row])));
    rows.filter(|(_, prices)| !prices.iter().any(|price| price.is_nan()) && *prices != [0.0; 4])
}

/// Mean jump from one candle's close to the next one's open, as a fraction of the range of both: 0 if every open is the previous close.
fn jump(columns: &[Vec<f64>], order: OhlcPlaces, by_time: &[usize]) -> f64 {
    let [open, high, low, close] = order.map(|at| &columns[at]);
    let mut jumps: Vec<f64> = by_time
        .windows(2)
        .filter_map(|two| {
            let range = high[two[0]].max(high[two[1]]) - low[two[0]].min(low[two[1]]);
            let jump = (open[two[1]] - close[two[0]]).abs() / range;
            jump.is_finite().then_some(jump)
        })
        .collect();
    jumps.sort_by(f64::total_cmp);
    if jumps.is_empty() {
        f64::NAN
    } else {
        jumps.iter().sum::<f64>() / jumps.len() as f64
    }
}

/// Finds the order of four adjacent columns of prices; `by_time` are the row indexes, oldest first.
pub(crate) fn find_order(columns: &[Vec<f64>], by_time: &[usize]) -> FoundOrder {
    let mut found: Vec<(f64, OhlcPlaces)> = Vec::new();
    for start in 0..columns.len().saturating_sub(3) {
        let four = [start, start + 1, start + 2, start + 3];
        if !near(columns, four) {
            continue;
        }
        for (high, low) in four
            .iter()
            .flat_map(|&high| four.iter().map(move |&low| (high, low)))
            .filter(|(high, low)| high != low)
        {
            let rest: Vec<usize> = four
                .iter()
                .copied()
                .filter(|at| *at != high && *at != low)
                .collect();
            let order = [rest[0], high, low, rest[1]];
            if holds(columns, order).0 >= HOLDS {
                for order in [order, [rest[1], high, low, rest[0]]] {
                    found.push((jump(columns, order, by_time), order));
                }
            }
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    match &found[..] {
        [] => FoundOrder::Nothing,
        [(best, order), (next, _), ..]
            if *best < next * CLEARLY
                && (by_time.len() >= ROWS_MIN
                    || *best == 0.0 && by_time.len() >= EXACT_ROWS_MIN) =>
        {
            FoundOrder::Order(*order)
        }
        several => {
            let mut orders: Vec<OhlcPlaces> = several.iter().map(|(_, order)| *order).collect();
            // The usual order, behind the time, is the first to propose.
            orders.sort_by_key(|order| *order != [0, 1, 2, 3]);
            FoundOrder::Several(orders)
        }
    }
}

/// Whether the four columns hold prices that are close together.
fn near(columns: &[Vec<f64>], four: [usize; 4]) -> bool {
    let (mut all, mut good) = (0_usize, 0_usize);
    let whole = four.map(|at| {
        columns[at]
            .iter()
            .filter(|figure| !figure.is_nan())
            .all(|figure| figure.fract() == 0.0)
    });
    let spread = if whole.contains(&true) && whole.contains(&false) {
        MIXED_SPREAD_MAX
    } else {
        SPREAD_MAX
    };
    for (_, prices) in filled(columns, four) {
        all += 1;
        let (low, high) = prices
            .iter()
            .fold((f64::INFINITY, 0.0_f64), |(low, high), price| {
                (low.min(*price), high.max(*price))
            });
        good += usize::from(low > 0.0 && high <= low * spread);
    }
    all > 0 && good as f64 >= 0.95 * all as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OHLC of a random walk: each candle opens at the last close.
    fn candles(rows: usize) -> Vec<[f64; 4]> {
        let mut price = 100.0;
        let mut seed = 7_u64;
        let mut next = move || {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 40) as f64 / (1_u64 << 24) as f64 - 0.5
        };
        (0..rows)
            .map(|_| {
                let open = price;
                let close = open * (1.0 + 0.02 * next());
                price = close;
                [
                    open,
                    open.max(close) * (1.0 + 0.01 * next().abs()),
                    open.min(close) * (1.0 - 0.01 * next().abs()),
                    close,
                ]
            })
            .collect()
    }

    fn columns(rows: &[[f64; 4]], order: OhlcPlaces, more: &[f64]) -> Vec<Vec<f64>> {
        let mut columns: Vec<Vec<f64>> = (0..4)
            .map(|place| {
                let of = order.iter().position(|at| *at == place).unwrap();
                rows.iter().map(|row| row[of]).collect()
            })
            .collect();
        columns.extend(more.iter().map(|value| vec![*value; rows.len()]));
        columns
    }

    #[test]
    fn every_order_of_columns_is_found_again() {
        let rows = candles(60);
        let by_time: Vec<usize> = (0..60).collect();
        for order in [
            [0, 1, 2, 3],
            [2, 1, 0, 3],
            [0, 2, 3, 1],
            [3, 1, 2, 0],
            [1, 2, 3, 0],
        ] {
            assert_eq!(
                find_order(&columns(&rows, order, &[5000.0]), &by_time),
                FoundOrder::Order(order),
                "{order:?}"
            );
        }
        let newest_first: Vec<[f64; 4]> = rows.iter().rev().copied().collect();
        let by_time: Vec<usize> = (0..60).rev().collect();
        assert_eq!(
            find_order(&columns(&newest_first, [2, 1, 0, 3], &[]), &by_time),
            FoundOrder::Order([2, 1, 0, 3])
        );
    }

    #[test]
    fn what_the_rows_leave_open_is_not_guessed() {
        // Candles that do not open at the last close determine high and low, but not open and close.
        let rows: Vec<[f64; 4]> = (0..40)
            .map(|i| {
                [
                    100.0 + f64::from(i % 7),
                    120.0,
                    80.0,
                    100.0 + f64::from((i * 3) % 5),
                ]
            })
            .collect();
        let by_time: Vec<usize> = (0..40).collect();
        assert!(matches!(
            find_order(&columns(&rows, [0, 1, 2, 3], &[]), &by_time),
            FoundOrder::Several(_)
        ));
        assert_eq!(
            find_order(&[vec![1.0], vec![2.0], vec![3.0], vec![900.0]], &[0]),
            FoundOrder::Nothing
        );
        // Fractions of prices, and a count that is never one.
        let counted = columns(
            &[
                [1.05, 1.06, 1.05, 1.06],
                [1.06, 1.06, 1.06, 1.06],
                [1.07, 1.08, 1.07, 1.08],
            ],
            [0, 1, 2, 3],
            &[4.0],
        );
        let FoundOrder::Several(orders) = find_order(&counted, &[0, 1, 2]) else {
            panic!("open and close are not told apart")
        };
        assert!(
            orders[0] == [0, 1, 2, 3] && orders.iter().flatten().all(|at| *at < 4),
            "{orders:?}"
        );
        // Three candles, each of which opens at the last close.
        let exact = columns(
            &[
                [5.0, 6.0, 4.0, 5.5],
                [5.5, 7.0, 5.0, 6.5],
                [6.5, 6.8, 5.9, 6.0],
            ],
            [0, 1, 2, 3],
            &[],
        );
        assert_eq!(
            find_order(&exact, &[0, 1, 2]),
            FoundOrder::Order([0, 1, 2, 3])
        );
        assert!(matches!(
            find_order(&exact, &[0, 1]),
            FoundOrder::Several(_)
        ));
        let broken = columns(&candles(50), [0, 2, 1, 3], &[]);
        assert!(holds(&broken, [0, 1, 2, 3]).0 < 0.5 && holds(&broken, [0, 1, 2, 3]).1 == Some(0));
    }
}
