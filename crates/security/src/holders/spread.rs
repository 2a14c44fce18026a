//! Distribution of the supply over holders, and its metrics. Custodial addresses are excluded.

use std::collections::BTreeMap;

use super::super::{
    ExcludedHolders, HolderMetrics, HolderShare, LARGEST_MAX,
    facts::{AddressRole, TokenContext},
};
use analysis::token::holders_distribution;
use model::{address::Address, format::plural, holding::OtherHolders};

/// A list of holders that may lack some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Partial {
    /// The token has more holders than are listed.
    Holders,
    /// The listed holders do not have the whole supply.
    Supply,
    /// It is unknown whether any are missing, because the supply is unknown.
    Unknown,
}

/// The listed fraction of the supply that counts as all of it: rounded balances do not add up to it exactly.
const WHOLE_MIN: f64 = 0.999;

#[derive(Debug)]
pub(super) struct Spread {
    /// Holders counted, with their share of the unburned supply; largest first.
    pub(super) shares: Vec<(Address, f64)>,
    /// The part of the unburned supply that is in no pool, exchange, bridge or locker; `None` if the supply is not known.
    free: Option<f64>,
    /// Bounds of the Nakamoto coefficient: the fewest with more than half of what is free.
    pub(super) nakamoto: Option<[u64; 2]>,
    /// Holders that are not in `shares`, with their shares: only their number and sum are known. They are counted as individual holders.
    pub(super) others: OtherHolders,
    left_out: BTreeMap<AddressRole, (u64, f64)>,
    /// Description of the total that the shares refer to.
    pub(super) whole: &'static str,
    /// The same without what pools and exchanges have.
    pub(super) free_whole: &'static str,
    /// Why it is not known that the table has every holder; `None` where it has.
    pub(super) partial: Option<Partial>,
    /// Number of holders in the table that have a balance.
    listed: u64,
    /// The same, or as many holders as the token is said to have.
    pub(super) known_count: u64,
}

impl Spread {
    /// Returns `None` without a holder that has a balance.
    pub(super) fn new(facts: &TokenContext<'_>) -> Option<Self> {
        let holding = facts.dataset.holding_of(&facts.address);
        let others = holding.others();
        let mut held: Vec<(Address, f64)> = Vec::new();
        let mut left: BTreeMap<AddressRole, (u64, f64)> = BTreeMap::new();
        let mut all = 0.0;
        for (holder, balance) in holding.rows() {
            let Some(balance) = balance.filter(|balance| balance.is_finite() && *balance > 0.0)
            else {
                continue;
            };
            all += balance;
            match facts.role(&holder) {
                AddressRole::Trader => held.push((holder, balance)),
                // A router holding for itself would be an ordinary contract; it never does for long.
                role => {
                    let sum = left.entry(role).or_default();
                    *sum = (sum.0 + 1, sum.1 + balance);
                }
            }
        }
        all += others.sum;
        if all <= 0.0 || !all.is_finite() {
            return None;
        }
        let burned = left.get(&AddressRole::Burned).map_or(0.0, |(_, sum)| *sum);
        // Balances that exceed the supply show that the supply figure is of another time.
        let given = facts.total_supply();
        let known = given.filter(|supply| *supply >= all * WHOLE_MIN);
        let total = known.unwrap_or(all);
        let supply = if total - burned > 0.0 {
            total - burned
        } else {
            all
        };
        let counted = facts
            .dataset
            .holder_counts_of(&facts.address)
            .last()
            .and_then(|count| count.holders);
        let said = facts
            .token
            .row
            .holders
            .max(counted)
            .and_then(|holders| u64::try_from(holders).ok());
        let lacks_holders = said.is_some_and(|said| said as f64 > holding.listed() as f64 * 1.1);
        let lacks_supply = known.is_some_and(|supply| all < supply * WHOLE_MIN);
        let kept_for_others: f64 = left
            .iter()
            .filter(|(role, _)| **role != AddressRole::Burned)
            .map(|(_, (_, sum))| sum)
            .sum();
        let free = known
            .map(|_| supply - kept_for_others)
            .filter(|free| *free > 0.0);
        let counted = held.iter().map(|(_, balance)| balance).sum::<f64>() + others.sum;
        let listed =
            held.len() as u64 + others.held + left.values().map(|(count, _)| count).sum::<u64>();
        let nakamoto = nakamoto(
            held.iter().map(|(_, balance)| *balance),
            free.unwrap_or(counted),
            others,
        );
        Some(Self {
            shares: held
                .into_iter()
                .map(|(address, balance)| (address, balance / supply))
                .collect(),
            free: free.map(|free| free / supply),
            nakamoto,
            others: OtherHolders {
                sum: others.sum / supply,
                most: others.most / supply,
                ..others
            },
            left_out: left
                .into_iter()
                .map(|(role, (count, sum))| (role, (count, sum / total)))
                .collect(),
            whole: match (known, given) {
                (Some(_), _) => "the supply",
                (None, Some(_)) => "the listed balances, which exceed the given total supply",
                (None, None) => "the listed balances, with the total supply unknown",
            },
            free_whole: match (known, given) {
                (Some(_), _) => "the supply outside pools and exchanges",
                (None, Some(_)) => {
                    "the listed balances (which exceed the given total supply) outside pools and exchanges"
                }
                (None, None) => {
                    "the listed balances outside pools and exchanges, with the total supply unknown"
                }
            },
            partial: match given {
                _ if lacks_holders => Some(Partial::Holders),
                _ if lacks_supply => Some(Partial::Supply),
                None => Some(Partial::Unknown),
                Some(_) => None,
            },
            listed,
            known_count: said.map_or(listed, |said| said.max(listed)),
        })
    }

    /// Number of individual holders, here or not.
    pub(super) fn count(&self) -> u64 {
        self.shares.len() as u64 + self.others.held
    }

    /// What the holders counted have together.
    fn sum(&self) -> f64 {
        self.shares.iter().map(|(_, share)| share).sum::<f64>() + self.others.sum
    }

    /// The fraction of what is free that the largest holders have: what sits in pools and exchanges spreads nothing.
    pub(super) fn top_of_free(&self, n: usize) -> f64 {
        (self.top(n)
            / self
                .free
                .unwrap_or_else(|| self.sum())
                .max(f64::MIN_POSITIVE))
        .min(1.0)
    }

    /// Whether the table certainly lacks holders.
    pub(super) fn is_part(&self) -> bool {
        matches!(self.partial, Some(Partial::Holders | Partial::Supply))
    }

    /// How many of the others have the most if as many as possible do, and what is left for one more.
    fn uneven(&self) -> (f64, f64) {
        let OtherHolders {
            held, sum, most, ..
        } = self.others;
        let full = (sum / most).floor().min(held as f64);
        (full, (sum - full * most).max(0.0))
    }

    /// Bounds of the Herfindahl-Hirschman index of what is free. The others have the same each, or as many as possible have the most. Of
    /// holders that the table lacks: as if they had next to nothing each, and as if those counted had all. No one that it lacks has more than
    /// the smallest of these.
    pub(super) fn hhi(&self) -> [f64; 2] {
        let known = self
            .shares
            .iter()
            .map(|(_, share)| share * share)
            .sum::<f64>();
        let OtherHolders {
            held, sum, most, ..
        } = self.others;
        let others = if held == 0 {
            [0.0; 2]
        } else {
            let (full, rest) = self.uneven();
            [sum * sum / held as f64, full * most * most + rest * rest]
        };
        let over = |squares: f64, whole: f64| {
            if whole > 0.0 {
                (known + squares) / whole / whole
            } else {
                0.0
            }
        };
        let [mut least, most] = others.map(|squares| over(squares, self.sum()));
        if self.is_part() {
            least = self
                .free
                .map_or(0.0, |free| over(others[0], free).min(least));
        }
        [least, most]
    }

    fn top(&self, n: usize) -> f64 {
        self.shares
            .iter()
            .take(n)
            .map(|(_, share)| share)
            .sum::<f64>()
            .min(1.0)
    }

    pub(super) fn metrics(&self, facts: &TokenContext<'_>) -> HolderMetrics {
        let largest = self.shares.iter().take(LARGEST_MAX);
        let all = holders_distribution(facts.dataset, facts.token);
        let [least, most] = self.hhi();
        let [least_gini, most_gini] = self.gini();
        HolderMetrics {
            count: self.count(),
            listed: self.listed,
            holders: self.known_count,
            top10: all.top_10_holders,
            top50: all.top_50_holders,
            top10_free: self.top(10),
            top50_free: self.top(50),
            top10_owners: None,
            hhi: if self.is_part() {
                most
            } else {
                least.midpoint(most)
            },
            hhi_at_least: self.is_part().then_some(least),
            nakamoto: self.nakamoto.map(|[least, most]| least.midpoint(most)),
            gini: (!self.is_part()).then(|| least_gini.midpoint(most_gini)),
            largest: largest
                .map(|(address, share)| HolderShare {
                    address: *address,
                    share: *share,
                    role: facts.title(address),
                })
                .collect(),
            left_out: self
                .left_out
                .iter()
                .map(|(role, (count, share))| ExcludedHolders {
                    kind: role.word(),
                    count: *count,
                    share: *share,
                })
                .collect(),
        }
    }

    /// Bounds of the Gini coefficient of the balances by rank: 0 if all are equal, approaching 1 if one holder has all.
    pub(super) fn gini(&self) -> [f64; 2] {
        let (n, all) = (self.count() as f64, self.sum());
        if all <= 0.0 {
            return [0.0; 2];
        }
        // Sorted in descending order: the smallest has rank 1.
        let ranked: f64 = self
            .shares
            .iter()
            .enumerate()
            .map(|(i, (_, share))| (n - i as f64) * share)
            .sum();
        let OtherHolders { sum, most, .. } = self.others;
        let others = if self.others.held == 0 {
            [0.0; 2]
        } else {
            let (held, (full, rest)) = (self.others.held as f64, self.uneven());
            let uneven = most * full * (2.0 * held - full + 1.0) / 2.0 + rest * (held - full);
            [sum * (held + 1.0) / 2.0, uneven]
        };
        others.map(|others| (2.0 * (ranked + others) / (n * all) - (n + 1.0) / n).clamp(0.0, 1.0))
    }

    /// A figure in words, with its bounds if holders are known by their sum only.
    pub(super) fn bounded(&self, figure: String, [least, most]: [String; 2]) -> String {
        if least == most {
            return figure;
        }
        let others = plural(self.others.held, "holder is", "holders are");
        format!("{figure} (between {least} and {most}: {others} known by their sum only)")
    }
}

/// Bounds of the fewest balances, largest first, that exceed half of what is free. Uses balances: rounded shares of equal balances may not add
/// up to the half.
fn nakamoto(
    balances: impl Iterator<Item = f64>,
    free: f64,
    others: OtherHolders,
) -> Option<[u64; 2]> {
    let (mut sum, mut here) = (0.0, 0);
    for balance in balances {
        sum += balance;
        here += 1;
        if sum > free / 2.0 {
            return Some([here; 2]);
        }
    }
    let lacking = free / 2.0 - sum;
    // The largest of the others have at most the most each, and at least as much as all of them on average.
    let held = others.held as f64;
    let needed = [lacking / others.most, lacking * held / others.sum];
    (others.sum > lacking).then(|| needed.map(|needed| here + (needed as u64 + 1).min(others.held)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_data::{FakeData, someone};
    use model::holding::Listed;
    use proptest::prelude::*;

    fn spread(balances: &[f64]) -> Spread {
        let sum: f64 = balances.iter().sum();
        let shares = balances
            .iter()
            .enumerate()
            .map(|(i, balance)| (Address([i as u8; 20]), balance / sum))
            .collect();
        let others = OtherHolders::default();
        let nakamoto = nakamoto(balances.iter().copied(), sum, others);
        Spread {
            shares,
            free: Some(1.0),
            nakamoto,
            left_out: BTreeMap::new(),
            others,
            whole: "the supply",
            free_whole: "the supply outside pools and exchanges",
            partial: None,
            listed: balances.len() as u64,
            known_count: balances.len() as u64,
        }
    }

    #[test]
    fn the_measures_are_the_known_ones() {
        let equal = [12.5; 398];
        for (balances, gini, nakamoto) in [
            (&[1.0, 1.0, 1.0, 1.0][..], 0.0, 3),
            (&[1.0], 0.0, 1),
            (&[4.0, 3.0, 2.0, 1.0], 0.25, 2),
            (&[97.0, 1.0, 1.0, 1.0], 0.72, 1),
            (&equal, 0.0, 200),
        ] {
            let spread = spread(balances);
            let [least, most] = spread.gini();
            assert!(
                (least - gini).abs() < 1e-12 && least == most,
                "{balances:?}: {least} {most}"
            );
            assert_eq!(spread.nakamoto, Some([nakamoto; 2]), "{balances:?}");
        }
    }

    proptest! {
        #[test]
        fn the_bounds_contain_what_all_holders_show(
            balances in prop::collection::vec(prop_oneof![1..4_u32, 1..1_000_u32, 1..1_000_000_u32], 1..60),
            cut in any::<prop::sample::Index>(), supply in prop::sample::select(vec![None, Some(0.5), Some(1.0), Some(1.5)]),
        ) {
            let mut balances: Vec<f64> = balances.into_iter().map(f64::from).collect();
            balances.sort_by(|a, b| b.total_cmp(a));
            let here = cut.index(balances.len() + 1);
            let all: f64 = balances.iter().sum();
            let mut data = FakeData::default();
            data.row().total_supply = supply.map(|supply| all * supply);
            let rows = |balances: &[f64]| balances.iter().zip(2..).map(|(balance, i)| (someone(i), Some(*balance))).collect();
            data.holders = rows(&balances);
            let whole = Spread::new(&TokenContext::new(&data, data.token())).expect("holders");
            data.holders = rows(&balances[..here]);
            data.listed = Some(Listed { rows: balances.len() as u64, held: balances.len() as u64, balance: all });
            let part = Spread::new(&TokenContext::new(&data, data.token())).expect("holders");
            for ([least, most], [from, to]) in [(whole.hhi(), part.hhi()), (whole.gini(), part.gini())] {
                prop_assert!(from <= least + 1e-9 && most <= to + 1e-9, "{} {} {} {}", least, most, from, to);
            }
            let within = |[least, most]: [u64; 2]| whole.nakamoto.is_some_and(|[exact, _]| least <= exact && exact <= most);
            prop_assert!(part.nakamoto.map_or(whole.nakamoto.is_none(), within), "{:?} {:?}", whole.nakamoto, part.nakamoto);
            prop_assert_eq!((whole.count(), whole.partial, whole.known_count), (part.count(), part.partial, part.known_count));
            if here == balances.len() {
                prop_assert_eq!((whole.hhi(), whole.gini(), whole.nakamoto), (part.hhi(), part.gini(), part.nakamoto));
            }
            if here >= 10 {
                prop_assert!((whole.top_of_free(10) - part.top_of_free(10)).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn pools_and_exchanges_make_no_token_look_spread() {
        // Ten holders with 10 each, and a pool with the rest of a supply; the number of holders that the token is said to have.
        let cases = [
            (100.0, None, [0.1, 0.1], Some(6), Some(0.0)),
            (1_000.0, None, [0.1, 0.1], Some(6), Some(0.0)),
            (1_000.0, Some(500), [0.1, 0.1], Some(6), None),
            // Of the free half nobody knows who has it: the ten may be equal among few or many.
            (
                2_000.0,
                None,
                [100.0 * 10.0 / 1_100.0 / 1_100.0, 0.1],
                None,
                None,
            ),
        ];
        for (supply, said, [least, most], nakamoto, gini) in cases {
            let mut data = FakeData::default();
            data.pool(someone(99));
            let pooled = if supply > 1_000.0 {
                900.0
            } else {
                supply - 100.0
            };
            data.holders = std::iter::once((someone(99), Some(pooled)))
                .chain((1..=10).map(|i| (someone(i), Some(10.0))))
                .collect();
            (data.row().total_supply, data.row().holders) = (Some(supply), said);
            let facts = TokenContext::new(&data, data.token());
            let metrics = Spread::new(&facts).unwrap().metrics(&facts);
            let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
            assert!(
                close(metrics.hhi, most)
                    && close(metrics.hhi_at_least.unwrap_or(metrics.hhi), least),
                "{supply} {said:?}: {metrics:?}"
            );
            assert_eq!(
                (metrics.nakamoto, metrics.gini.is_some()),
                (nakamoto, gini.is_some()),
                "{supply} {said:?}"
            );
            assert_eq!(
                (metrics.count, metrics.listed),
                (10, 10 + u64::from(pooled > 0.0)),
                "{supply} {said:?}"
            );
        }
    }

    #[test]
    fn a_list_is_whole_only_if_it_reaches_the_supply_and_the_number_of_holders() {
        // Supply and number of holders in `tokens`, number in `holder_counts`; of 100 holders with 15 each.
        let cases = [
            (Some(1_500.0), None, None, None, "the supply"),
            (Some(1_500.0), Some(105), Some(100), None, "the supply"),
            (
                Some(1_500.0),
                Some(400),
                None,
                Some(Partial::Holders),
                "the supply",
            ),
            (
                Some(1_500.0),
                None,
                Some(400),
                Some(Partial::Holders),
                "the supply",
            ),
            (
                Some(2_000.0),
                None,
                None,
                Some(Partial::Supply),
                "the supply",
            ),
            (
                None,
                None,
                None,
                Some(Partial::Unknown),
                "with the total supply unknown",
            ),
            (
                None,
                Some(400),
                None,
                Some(Partial::Holders),
                "with the total supply unknown",
            ),
            (
                Some(1_000.0),
                None,
                None,
                None,
                "which exceed the given total supply",
            ),
        ];
        for (supply, holders, counted, partial, whole) in cases {
            let mut data = FakeData::default();
            data.holders = (1..=100).map(|i| (someone(i), Some(15.0))).collect();
            (data.row().total_supply, data.row().holders) = (supply, holders);
            data.counts = counted.map_or_else(Default::default, |counted| {
                (vec![1], vec![counted], vec![f64::NAN])
            });
            let spread = Spread::new(&TokenContext::new(&data, data.token())).unwrap();
            assert_eq!(
                spread.partial, partial,
                "{supply:?} {holders:?} {counted:?}"
            );
            assert!(spread.whole.contains(whole), "{}", spread.whole);
            assert_eq!(
                spread.known_count,
                [holders, counted]
                    .into_iter()
                    .flatten()
                    .max()
                    .map_or(100, |said| said as u64)
            );
        }
    }
}
