//! Balanced cycles in the transfer graph: strongly connected edges whose every node gets back what it gives. Works on edges only; time and
//! tokens are unknown here.

use super::Edge;

/// Maximum net position of a member, as a fraction of its gross volume.
const NET_MAX: f64 = 0.01;
/// Maximum rounds of removing unbalanced members; each round halves the allowed imbalance.
const ROUNDS_MAX: usize = 64;
/// Number of a node not visited yet.
const UNSEEN: u32 = u32::MAX;

/// Buffers reused for each window.
#[derive(Debug, Default)]
pub(super) struct Rings {
    /// Node number of each wallet; `UNSEEN` for wallets outside the current graph.
    numbers: Vec<u32>,
    nodes: Vec<u32>,
}

impl Rings {
    /// Returns the edges of balanced cycles, given edges in order. Removes members with too large a net position, the worst first, and
    /// repeats.
    pub(super) fn round(&mut self, mut edges: Vec<Edge>) -> Vec<Edge> {
        for _ in 0..ROUNDS_MAX {
            if edges.is_empty() {
                break;
            }
            self.number(&edges);
            let number = |id: u32| self.numbers[id as usize] as usize;
            let parts = components(&edges, self.nodes.len(), number);
            edges.retain(|edge| parts[number(edge.from)] == parts[number(edge.to)]);
            let mut positions = vec![(0.0, 0.0); self.nodes.len()];
            for edge in &edges {
                for (id, signed) in [(edge.from, -edge.volume), (edge.to, edge.volume)] {
                    let position: &mut (f64, f64) = &mut positions[number(id)];
                    position.0 += signed;
                    position.1 += edge.volume;
                }
            }
            let imbalance =
                |(net, gross): (f64, f64)| if gross > 0.0 { net.abs() / gross } else { 0.0 };
            let worst = positions
                .iter()
                .map(|position| imbalance(*position))
                .fold(0.0, f64::max);
            if worst > NET_MAX {
                let allowed = (worst / 2.0).max(NET_MAX);
                let stays = |id: u32| imbalance(positions[number(id)]) <= allowed;
                edges.retain(|edge| stays(edge.from) && stays(edge.to));
            }
            self.nodes
                .iter()
                .for_each(|id| self.numbers[*id as usize] = UNSEEN);
            if worst <= NET_MAX {
                return edges;
            }
        }
        Vec::new()
    }

    /// Numbers the nodes in order of appearance.
    fn number(&mut self, edges: &[Edge]) {
        self.nodes.clear();
        for id in edges.iter().flat_map(|edge| [edge.from, edge.to]) {
            if id as usize >= self.numbers.len() {
                self.numbers.resize(id as usize + 1, UNSEEN);
            }
            if self.numbers[id as usize] == UNSEEN {
                self.numbers[id as usize] = self.nodes.len() as u32;
                self.nodes.push(id);
            }
        }
    }
}

/// Strongly connected component of each node (Tarjan's algorithm, without recursion: a chain of transfers may have any length).
fn components(edges: &[Edge], nodes: usize, number: impl Fn(u32) -> usize) -> Vec<u32> {
    // Edges are sorted by sender, so each node's receivers are contiguous.
    let mut runs = vec![(0, 0); nodes];
    for (place, edge) in edges.iter().enumerate() {
        let run: &mut (usize, usize) = &mut runs[number(edge.from)];
        *run = (if run.1 == 0 { place } else { run.0 }, place + 1);
    }
    let (mut order, mut low) = (vec![UNSEEN; nodes], vec![UNSEEN; nodes]);
    let (mut part, mut stack, mut path) = (vec![UNSEEN; nodes], Vec::new(), Vec::new());
    let (mut clock, mut parts) = (0, 0);
    for root in 0..nodes {
        if order[root] == UNSEEN {
            path.push((root, runs[root].0));
        }
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            if order[node] == UNSEEN {
                (order[node], low[node]) = (clock, clock);
                clock += 1;
                stack.push(node);
            }
            if *next < runs[node].1 {
                let to = number(edges[*next].to);
                *next += 1;
                if order[to] == UNSEEN {
                    path.push((to, runs[to].0));
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
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(list: &[(u32, u32, f64)]) -> Vec<Edge> {
        let mut edges: Vec<Edge> = list
            .iter()
            .map(|(from, to, volume)| Edge {
                from: *from,
                to: *to,
                volume: *volume,
                count: 1,
            })
            .collect();
        edges.sort_by_key(|edge| (edge.from, edge.to));
        let mut rings = Rings::default();
        // State of one graph must not leak into the next.
        assert_eq!(
            rings.round(vec![Edge {
                from: 3,
                to: 1,
                volume: 1.0,
                count: 1
            }]),
            []
        );
        rings.round(edges)
    }

    #[test]
    fn only_edges_of_balanced_cycles_are_left() {
        type Flow = (u32, u32, f64);
        let cases: &[(&[Flow], usize)] = &[
            (&[(0, 1, 5.0), (1, 0, 5.0)], 2),
            (&[(0, 1, 5.0), (1, 2, 5.0), (2, 0, 5.0)], 3),
            // One member keeps a tenth.
            (&[(0, 1, 5.0), (1, 2, 4.5), (2, 0, 4.5)], 0),
            (&[(0, 1, 5.0), (1, 2, 5.0)], 0),
            // A ring, and an outsider who trades with one member.
            (
                &[
                    (0, 1, 5.0),
                    (1, 2, 5.0),
                    (2, 0, 5.0),
                    (2, 3, 9.0),
                    (3, 0, 0.02),
                ],
                3,
            ),
            (&[], 0),
        ];
        for (list, left) in cases {
            assert_eq!(round(list).len(), *left, "{list:?}");
        }
    }

    #[test]
    fn a_long_chain_and_a_long_ring_do_not_overflow_the_stack() {
        let mut list: Vec<(u32, u32, f64)> = (0..200_000).map(|i| (i, i + 1, 1.0)).collect();
        assert_eq!(round(&list).len(), 0);
        list.push((200_000, 0, 1.0));
        assert_eq!(round(&list).len(), 200_001);
    }
}
