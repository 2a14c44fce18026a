//! Wash trading: groups among which the same tokens go round. In windows of 1 h, 1 d and 7 d the transfers among traders are a
//! directed graph; a strongly connected part whose every member gets back what it gives is wash (Victor and Weintraud, "Detecting
//! and Quantifying Wash Trading on Decentralized Cryptocurrency Exchanges", WWW 2021). Memory is bounded by the pairs of one window.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::ledger::{Kind, Ledger, Move};
use crate::{
    analysis::security::facts::Role,
    dataset::time::{DAY_MS, HOUR_MS},
};

/// Length, where it begins, name. Each length twice, half of it apart: what lasts no longer than that is whole in one of them.
const WINDOWS: [(i64, i64, &str); 6] = [
    (HOUR_MS, 0, "1 hour"),
    (HOUR_MS, HOUR_MS / 2, "1 hour"),
    (DAY_MS, 0, "1 day"),
    (DAY_MS, DAY_MS / 2, "1 day"),
    (7 * DAY_MS, 0, "7 days"),
    (7 * DAY_MS, 7 * DAY_MS / 2, "7 days"),
];
/// A member's net position, of its gross.
const NET_MAX: f64 = 0.01;
/// Pairs of one window; a window with more is left out and said to be.
const PAIRS_MAX: usize = 1_000_000;
/// Rounds of leaving out those who do not get back what they give; each halves the worst that is allowed.
const ROUNDS_MAX: usize = 64;

/// A pair's transfers in a window.
#[derive(Debug, Clone, Copy, Default)]
struct Edge {
    volume: f64,
    count: u64,
}

/// What went round, over all windows of one length and beginning.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    pub(super) window: &'static str,
    pub(super) volume: f64,
    pub(super) count: u64,
    pub(super) members: BTreeSet<u32>,
}

#[derive(Debug, Default)]
struct Window {
    number: Option<i64>,
    edges: HashMap<(u32, u32), Edge>,
    found: Found,
    full: bool,
}

#[derive(Debug, Default)]
pub(super) struct Wash {
    windows: [Window; WINDOWS.len()],
    /// All that changed hands: minted, burned and failed left out.
    pub(super) volume: f64,
    pub(super) unfinished: bool,
}

impl Wash {
    pub(super) fn see(&mut self, seen: &Move, ledger: &Ledger) {
        if seen.failed || matches!(seen.kind, Kind::Mint | Kind::Burn | Kind::Venue) {
            return;
        }
        self.volume += seen.value;
        let trader = |id: u32| ledger.wallet(id).role == Role::Trader;
        let Some(time) = seen.time else { return };
        if seen.kind != Kind::Transfer || seen.from == seen.to || seen.value <= 0.0 || !trader(seen.from) || !trader(seen.to) {
            return;
        }
        for (window, (length, start, _)) in self.windows.iter_mut().zip(WINDOWS) {
            let number = Some((time.0 - start).div_euclid(length));
            if window.number != number {
                window.close();
                window.number = number;
            }
            let full = window.edges.len() >= PAIRS_MAX;
            match window.edges.get_mut(&(seen.from, seen.to)) {
                Some(edge) => edge.add(seen.value),
                None if full => (window.full, self.unfinished) = (true, true),
                None => window.edges.entry((seen.from, seen.to)).or_default().add(seen.value),
            }
        }
    }

    /// The window length that shows the most; none when nothing goes round.
    pub(super) fn finish(&mut self) -> Option<Found> {
        for (window, (.., name)) in self.windows.iter_mut().zip(WINDOWS) {
            window.close();
            window.found.window = name;
        }
        let best = self.windows.iter().map(|window| &window.found).max_by(|a, b| a.volume.total_cmp(&b.volume))?;
        (best.count > 0).then(|| best.clone())
    }
}

impl Edge {
    fn add(&mut self, value: f64) {
        self.volume += value;
        self.count += 1;
    }
}

impl Window {
    fn close(&mut self) {
        if !std::mem::take(&mut self.full) {
            // In one order, so that sums of the same transfers are the same to the last digit.
            let edges: BTreeMap<(u32, u32), Edge> = self.edges.iter().map(|(pair, edge)| (*pair, *edge)).collect();
            for ((from, to), edge) in round(edges) {
                self.found.volume += edge.volume;
                self.found.count += edge.count;
                self.found.members.extend([from, to]);
            }
        }
        self.edges.clear();
    }
}

/// The pairs among which everything goes round. Members whose net position is too large are left out, the worst first, and what is
/// left is looked at again.
fn round(mut edges: BTreeMap<(u32, u32), Edge>) -> BTreeMap<(u32, u32), Edge> {
    for _ in 0..ROUNDS_MAX {
        let parts = components(&edges);
        edges.retain(|(from, to), _| parts.get(from) == parts.get(to));
        let mut positions: HashMap<u32, (f64, f64)> = HashMap::new();
        for ((from, to), edge) in &edges {
            for (id, signed) in [(from, -edge.volume), (to, edge.volume)] {
                let position = positions.entry(*id).or_default();
                position.0 += signed;
                position.1 += edge.volume;
            }
        }
        let imbalance = |id: &u32| positions.get(id).map_or(0.0, |(net, gross)| net.abs() / gross);
        let worst = positions.keys().map(imbalance).fold(0.0, f64::max);
        if worst <= NET_MAX {
            return edges;
        }
        let allowed = (worst / 2.0).max(NET_MAX);
        edges.retain(|(from, to), _| imbalance(from) <= allowed && imbalance(to) <= allowed);
    }
    BTreeMap::new()
}

/// The number of a node that was not met yet.
const UNSEEN: u32 = u32::MAX;

/// The strongly connected part that each node belongs to (Tarjan, without recursion: a chain of transfers may be any length).
fn components(edges: &BTreeMap<(u32, u32), Edge>) -> HashMap<u32, u32> {
    let mut nodes: Vec<u32> = edges.keys().flat_map(|(from, to)| [*from, *to]).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let place = |id: u32| nodes.binary_search(&id).unwrap_or_default();
    // The pairs are ordered by sender: each node's receivers are one run.
    let receivers: Vec<usize> = edges.keys().map(|(_, to)| place(*to)).collect();
    let mut starts = vec![0usize; nodes.len() + 1];
    for (from, _) in edges.keys() {
        starts[place(*from) + 1] += 1;
    }
    for i in 1..starts.len() {
        starts[i] += starts[i - 1];
    }
    let (mut order, mut low) = (vec![UNSEEN; nodes.len()], vec![UNSEEN; nodes.len()]);
    let (mut part, mut stack, mut path) = (vec![UNSEEN; nodes.len()], Vec::new(), Vec::new());
    let (mut clock, mut parts) = (0, 0);
    for root in 0..nodes.len() {
        if order[root] == UNSEEN {
            path.push((root, starts[root]));
        }
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            if order[node] == UNSEEN {
                (order[node], low[node]) = (clock, clock);
                clock += 1;
                stack.push(node);
            }
            if *next < starts[node + 1] {
                let to = receivers[*next];
                *next += 1;
                if order[to] == UNSEEN {
                    path.push((to, starts[to]));
                } else if part[to] == UNSEEN {
                    low[node] = low[node].min(order[to]);
                }
                continue;
            }
            path.pop();
            if let Some((parent, _)) = path.last() {
                low[*parent] = low[*parent].min(low[node]);
            }
            if low[node] == order[node] {
                while let Some(member) = stack.pop() {
                    part[member] = parts;
                    if member == node {
                        break;
                    }
                }
                parts += 1;
            }
        }
    }
    nodes.into_iter().zip(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(list: &[(u32, u32, f64)]) -> BTreeMap<(u32, u32), Edge> {
        list.iter().map(|(from, to, volume)| ((*from, *to), Edge { volume: *volume, count: 1 })).collect()
    }

    #[test]
    fn only_what_goes_round_is_left() {
        type Flow = (u32, u32, f64);
        let cases: &[(&[Flow], usize)] = &[
            (&[(0, 1, 5.0), (1, 0, 5.0)], 2),
            (&[(0, 1, 5.0), (1, 2, 5.0), (2, 0, 5.0)], 3),
            // One keeps a tenth.
            (&[(0, 1, 5.0), (1, 2, 4.5), (2, 0, 4.5)], 0),
            (&[(0, 1, 5.0), (1, 2, 5.0)], 0),
            // A ring, and somebody who trades with one of it.
            (&[(0, 1, 5.0), (1, 2, 5.0), (2, 0, 5.0), (2, 3, 9.0), (3, 0, 0.02)], 3),
            (&[], 0),
        ];
        for (list, left) in cases {
            assert_eq!(round(edges(list)).len(), *left, "{list:?}");
        }
    }

    #[test]
    fn a_long_chain_and_a_long_ring_do_not_overflow_the_stack() {
        let mut list: Vec<(u32, u32, f64)> = (0..200_000).map(|i| (i, i + 1, 1.0)).collect();
        assert_eq!(round(edges(&list)).len(), 0);
        list.push((200_000, 0, 1.0));
        assert_eq!(round(edges(&list)).len(), 200_001);
    }
}
