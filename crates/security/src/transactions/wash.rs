//! Wash trading: groups of traders among which the same tokens circulate. In windows of 1 h, 1 d and 7 d, the transfers among traders form
//! a directed graph; a strongly connected component whose every member gets back what it gives is wash trading (Victor and Weintraud,
//! "Detecting and Quantifying Wash Trading on Decentralized Cryptocurrency Exchanges", WWW 2021). Memory is bounded by the pairs of one
//! window.

mod rings;

use std::collections::BTreeSet;

use self::rings::Rings;
use super::ledger::{Move, TransferKind, TransferLedger};
use crate::facts::AddressRole;
use model::time::DAY_MS;

/// Half of the shortest window, in milliseconds: edges are summed in steps of it.
const STEP_MS: i64 = DAY_MS / 48;
/// Window lengths: number of half-windows of the level below in each half-window, and the name of the window. Windows overlap by half, so a
/// cycle no longer than half a window lies entirely in one of them.
const LEVELS: [(i64, &str); 3] = [(1, "1 hour"), (24, "1 day"), (7, "7 days")];
/// Volumes that differ by less are of the same transfers, added up in another order.
const SAME_VOLUME: f64 = 1e-9;
/// Maximum number of pairs in a window; larger windows are skipped and reported.
const PAIRS_MAX: usize = 1_000_000;
/// Minimum number of unsorted transfers before they are merged by pair.
const UNSORTED_MIN: usize = 1 << 16;

/// Aggregated transfers from one wallet to another.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Edge {
    from: u32,
    to: u32,
    volume: f64,
    count: u64,
}

/// Wash trades found in all windows of one length and phase.
#[derive(Debug, Clone, Default)]
pub(super) struct WashTrades {
    pub(super) window: &'static str,
    pub(super) volume: f64,
    pub(super) count: u64,
    pub(super) members: BTreeSet<u32>,
}

/// Edges: the first `sorted_len` are sorted and merged, the rest is not.
#[derive(Debug, Clone, Default)]
struct Pairs {
    edges: Vec<Edge>,
    sorted_len: usize,
    /// Whether the maximum number of pairs was exceeded; then all are dropped.
    full: bool,
}

/// State of one window length: the half-window being collected and the previous one.
#[derive(Debug, Default)]
struct Level {
    number: Option<i64>,
    pairs: Pairs,
    before: Option<(i64, Pairs)>,
    /// Results for windows that begin with an even half-window, and for the others.
    found: [WashTrades; 2],
}

#[derive(Debug, Default)]
pub(super) struct Wash {
    levels: [Level; LEVELS.len()],
    rings: Rings,
    pub(super) unfinished: bool,
}

impl Wash {
    pub(super) fn add(&mut self, movement: &Move, ledger: &TransferLedger) {
        let trader = |id: u32| ledger.wallet(id).role == AddressRole::Trader;
        let Some(time) = movement.time else { return };
        if movement.failed
            || movement.kind != TransferKind::Transfer
            || movement.from == movement.to
            || movement.value <= 0.0
            || !trader(movement.from)
            || !trader(movement.to)
        {
            return;
        }
        self.gather(
            0,
            time.0.div_euclid(STEP_MS),
            &[Edge {
                from: movement.from,
                to: movement.to,
                volume: movement.value,
                count: 1,
            }],
        );
    }

    /// Result of the window length with the largest wash volume, of equal ones the longest; `None` if there is none.
    pub(super) fn finish(&mut self) -> Option<WashTrades> {
        for (level, (_, name)) in LEVELS.iter().enumerate() {
            self.close(level);
            self.alone(level);
            self.levels[level]
                .found
                .iter_mut()
                .for_each(|found| found.window = name);
        }
        let all = self.levels.iter().flat_map(|level| &level.found);
        let best = all.reduce(|best, next| {
            if next.volume >= best.volume * (1.0 - SAME_VOLUME) {
                next
            } else {
                best
            }
        })?;
        (best.count > 0).then(|| best.clone())
    }

    fn gather(&mut self, level: usize, number: i64, edges: &[Edge]) {
        if self.levels[level].number != Some(number) {
            self.close(level);
            self.levels[level].number = Some(number);
        }
        self.levels[level].pairs.extend(edges);
    }

    /// Completes a half-window: analyses it together with the previous one, and passes it to the next level.
    fn close(&mut self, level: usize) {
        let Some(number) = self.levels[level].number.take() else {
            return;
        };
        let mut pairs = std::mem::take(&mut self.levels[level].pairs);
        pairs.merge();
        if self.levels[level]
            .before
            .as_ref()
            .is_some_and(|(before, _)| before + 1 != number)
        {
            self.alone(level);
        }
        let mut window = self.levels[level]
            .before
            .take()
            .map_or_else(Pairs::default, |(_, before)| before);
        window.append(&pairs);
        window.merge();
        self.look(level, number - 1, window);
        if let Some((ratio, _)) = LEVELS.get(level + 1) {
            let above = number.div_euclid(*ratio);
            self.gather(level + 1, above, &pairs.edges);
            self.levels[level + 1].pairs.full |= pairs.full;
        }
        self.levels[level].before = Some((number, pairs));
    }

    /// Analyses the last half-window alone, if the next one is empty.
    fn alone(&mut self, level: usize) {
        if let Some((number, pairs)) = self.levels[level].before.take() {
            self.look(level, number, pairs);
        }
    }

    /// Analyses a window, numbered by its first half.
    fn look(&mut self, level: usize, first: i64, window: Pairs) {
        if window.full {
            self.unfinished = true;
            return;
        }
        let found = &mut self.levels[level].found[first.rem_euclid(2) as usize];
        for edge in self.rings.round(window.edges) {
            found.volume += edge.volume;
            found.count += edge.count;
            found.members.extend([edge.from, edge.to]);
        }
    }
}

impl Pairs {
    fn extend(&mut self, edges: &[Edge]) {
        if self.full {
            return;
        }
        self.edges.extend_from_slice(edges);
        if self.edges.len() >= (2 * self.sorted_len).max(UNSORTED_MIN) {
            self.merge();
        }
    }

    fn append(&mut self, other: &Self) {
        self.extend(&other.edges);
        self.full |= other.full;
    }

    /// Merges edges of the same pair. The sort is stable, so sums of the same transfers are bit-identical.
    fn merge(&mut self) {
        if self.sorted_len < self.edges.len() {
            self.edges.sort_by_key(|edge| (edge.from, edge.to));
            self.edges.dedup_by(|next, kept| {
                let same = (next.from, next.to) == (kept.from, kept.to);
                if same {
                    kept.volume += next.volume;
                    kept.count += next.count;
                }
                same
            });
            self.sorted_len = self.edges.len();
        }
        self.full |= self.sorted_len > PAIRS_MAX;
        if self.full {
            (self.edges, self.sorted_len) = (Vec::new(), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: u32, to: u32) -> Edge {
        Edge {
            from,
            to,
            volume: 2.0,
            count: 1,
        }
    }

    #[test]
    fn a_cycle_across_the_edge_of_a_window_is_seen_in_the_window_half_its_length_later() {
        // In half-hours: the transfer there, the one back, and the shortest window that contains both.
        let cases: &[(i64, i64, &str)] = &[
            (4, 4, "1 hour"),
            (4, 5, "1 hour"),
            (5, 6, "1 hour"),
            (5, 7, "1 day"),
            (23, 24, "1 hour"),
            (20, 30, "1 day"),
            (47, 49, "1 day"),
            (10, 100, "7 days"),
            (167, 169, "1 day"),
            (160, 300, "7 days"),
            (-3, -1, "1 day"),
        ];
        for (there, back, name) in cases {
            let mut wash = Wash::default();
            wash.gather(0, *there, &[edge(1, 2)]);
            wash.gather(0, *back, &[edge(2, 1)]);
            let found = wash
                .finish()
                .unwrap_or_else(|| panic!("{there} and {back} are found"));
            // If several lengths give the same volume, the longest is named.
            assert!(
                found.count == 2 && found.volume == 4.0 && found.members == BTreeSet::from([1, 2]),
                "{there} {back}: {found:?}"
            );
            let shortest = wash
                .levels
                .iter()
                .position(|level| level.found.iter().any(|found| found.count > 0));
            assert_eq!(
                shortest.map(|level| LEVELS[level].1),
                Some(*name),
                "{there} and {back}"
            );
        }
        let mut wash = Wash::default();
        wash.gather(0, 0, &[edge(1, 2)]);
        wash.gather(0, 1_000, &[edge(2, 1)]);
        assert!(wash.finish().is_none(), "three weeks lie between them");
    }

    #[test]
    fn of_equal_volumes_the_longest_window_is_named_in_whatever_order_they_are_added_up() {
        let mut wash = Wash::default();
        let volumes = [0.1, 0.1, 0.7];
        for (day, volume) in volumes.into_iter().enumerate() {
            let there = Edge {
                volume,
                ..edge(1, 2)
            };
            wash.gather(
                0,
                day as i64 * 48,
                &[
                    there,
                    Edge {
                        from: 2,
                        to: 1,
                        ..there
                    },
                ],
            );
        }
        let found = wash.finish().expect("found");
        let hour = &wash.levels[0].found[0];
        assert!(
            hour.volume > found.volume && hour.count == found.count,
            "the sums differ in the last digit: {hour:?} {found:?}"
        );
        assert_eq!(found.window, "7 days");
    }

    #[test]
    fn every_transfer_is_counted_once_in_windows_of_one_beginning() {
        let mut wash = Wash::default();
        for half in 0..1_000 {
            wash.gather(
                0,
                half / 3 * 4,
                &[edge(1, 2), edge(2, 1), edge(1, 2), edge(2, 1)],
            );
        }
        wash.finish();
        for found in wash.levels.iter().flat_map(|level| &level.found) {
            assert_eq!(
                (found.count, found.volume),
                (4_000, 8_000.0),
                "{}",
                found.window
            );
        }
    }

    #[test]
    fn a_window_with_too_many_pairs_is_left_out_and_said_to_be() {
        let mut wash = Wash::default();
        wash.gather(0, 0, &[edge(1, 2), edge(2, 1)]);
        let many: Vec<Edge> = (0..PAIRS_MAX as u32)
            .map(|id| edge(id + 10, id + 11))
            .collect();
        wash.gather(0, 100, &many);
        wash.gather(0, 101, &[edge(1, 2), edge(2, 1)]);
        let found = wash.finish();
        assert!(wash.unfinished);
        // The hour-windows in between show the transfers of the first half and of the last, next to the overfull one.
        assert_eq!(
            found.map(|found| (found.count, found.members.len(), found.window)),
            Some((4, 2, "1 hour"))
        );
    }
}
