//! What trees add, without walking each of them (Lucchese et al. 2015, "QuickScorer: a fast algorithm to rank documents with additive
//! ensembles of regression trees"). A walk waits at each split for its answer; here a split whose measure is no smaller than its threshold
//! rules out the leaves below it on the smaller side. The first leaf of a tree that is left is the one that a walk reaches.

use super::trees::{JUDGED, TreeNode};

/// Maximum number of leaves of a tree: one bit each.
pub const LEAVES_MOST: usize = 32;
/// Number of candidates that are asked side by side: the answers to a question are practically random, so nothing branches on one of them.
const LANES: usize = 16;

/// A split, by the leaves that it leaves possible.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Split {
    question: usize,
    /// Bits of the leaves of its tree that stay possible for values from the threshold on.
    left_possible: u32,
}

/// A tree: where its splits end, and what its leaves add, from the smallest side on.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Tree {
    splits_end: usize,
    leaves: [f64; LEAVES_MOST],
}

/// Trees as the questions that they ask.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct TreeScorer {
    /// Measure and threshold of each; many splits ask the same.
    questions: Vec<(usize, f64)>,
    trees: Vec<Tree>,
    /// The splits, tree after tree.
    splits: Vec<Split>,
}

impl TreeScorer {
    pub(super) fn new(trees: &[Vec<TreeNode>]) -> Self {
        let order = |a: &(usize, f64), b: &(usize, f64)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1));
        let splits = trees.iter().flatten().filter_map(|node| node.split);
        let mut questions: Vec<(usize, f64)> = splits
            .map(|split| (split.measure, split.threshold))
            .collect();
        questions.sort_by(order);
        questions.dedup();
        let mut scorer = Self {
            questions,
            ..Self::default()
        };
        for nodes in trees {
            let mut leaves = [0.0; LEAVES_MOST];
            // Nodes stand in the order of a walk, so the leaves before a node are those on its smaller side.
            let leaves_before = |node: usize| {
                nodes[..node.min(nodes.len())]
                    .iter()
                    .filter(|node| node.split.is_none())
                    .count()
            };
            for (at, node) in nodes.iter().enumerate() {
                let Some(split) = node.split else {
                    if let Some(leaf) = leaves.get_mut(leaves_before(at)) {
                        *leaf = node.adds;
                    }
                    continue;
                };
                let asks = (split.measure, split.threshold);
                let ruled_out =
                    bits_below(leaves_before(split.right)) & !bits_below(leaves_before(at));
                let question = scorer
                    .questions
                    .partition_point(|other| order(other, &asks).is_lt());
                scorer.splits.push(Split {
                    question,
                    left_possible: !ruled_out,
                });
            }
            scorer.trees.push(Tree {
                splits_end: scorer.splits.len(),
                leaves,
            });
        }
        scorer
    }

    /// What the trees add together to each.
    pub(super) fn sums(&self, of: &[&[f64; JUDGED]]) -> Vec<f64> {
        let mut below = vec![[0; LANES]; self.questions.len()];
        of.chunks(LANES)
            .flat_map(|block| self.block(block, &mut below).into_iter().take(block.len()))
            .collect()
    }

    /// The same of at most `LANES`; `below` has room for the answers: all bits where the measure is below the threshold, else none.
    fn block(&self, of: &[&[f64; JUDGED]], below: &mut [[u32; LANES]]) -> [f64; LANES] {
        let mut columns = [[0.0; LANES]; JUDGED];
        for (lane, measures) in of.iter().enumerate() {
            for (column, value) in columns.iter_mut().zip(*measures) {
                column[lane] = *value;
            }
        }
        for (below, (measure, threshold)) in below.iter_mut().zip(&self.questions) {
            *below = columns[*measure].map(|value| if *threshold <= value { 0 } else { u32::MAX });
        }
        let mut sums = [0.0; LANES];
        let mut from = 0;
        for Tree { splits_end, leaves } in &self.trees {
            let mut possible = [u32::MAX; LANES];
            for &Split {
                question,
                left_possible,
            } in &self.splits[from..*splits_end]
            {
                for (possible, below) in possible.iter_mut().zip(&below[question]) {
                    *possible &= left_possible | below;
                }
            }
            from = *splits_end;
            for (sum, possible) in sums.iter_mut().zip(possible) {
                *sum += leaves[possible.trailing_zeros() as usize % LEAVES_MOST];
            }
        }
        sums
    }
}

fn bits_below(count: usize) -> u32 {
    1_u32
        .checked_shl(count as u32)
        .map_or(u32::MAX, |bit| bit - 1)
}
