//! What trees add, without walking each of them (Lucchese et al. 2015, "QuickScorer: a fast algorithm to rank documents with additive
//! ensembles of regression trees"). A walk waits at each split for its answer; here a split whose measure is no smaller than its threshold
//! rules out the leaves below it on the smaller side. The first leaf of a tree that is left is the one that a walk reaches.

use super::trees::{JUDGED, TreeNode};

/// Maximum number of leaves of a tree: one bit each.
pub const LEAVES_MOST: usize = 32;
/// Number of candidates that are asked side by side.
const LANES: usize = 8;

/// A split, by the leaves that it leaves possible.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Question {
    tree: usize,
    /// Bits of the leaves of its tree that stay possible for values from the threshold on.
    left_possible: u32,
}

/// Trees as the questions that they ask, measure by measure.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct TreeScorer {
    /// Each measure that is asked for, and where its questions end.
    measures: Vec<(usize, usize)>,
    /// By measure, then by rising threshold.
    questions: Vec<Question>,
    /// The threshold of each question.
    thresholds: Vec<f64>,
    /// What the leaves add, tree after tree, from the smallest side on.
    leaves: Vec<f64>,
    /// The first leaf of each tree.
    first_leaf: Vec<usize>,
}

impl TreeScorer {
    pub(super) fn new(trees: &[Vec<TreeNode>]) -> Self {
        let mut scorer = Self::default();
        let mut asked: Vec<(usize, f64, Question)> = Vec::new();
        for (tree, nodes) in trees.iter().enumerate() {
            // Nodes stand in the order of a walk, so the leaves before a node are those on its smaller side.
            let leaves_before = |node: usize| nodes[..node.min(nodes.len())].iter().filter(|node| node.split.is_none()).count();
            for (at, node) in nodes.iter().enumerate() {
                let Some(split) = node.split else { continue };
                let ruled_out = bits_below(leaves_before(split.right)) & !bits_below(leaves_before(at));
                asked.push((split.measure, split.threshold, Question { tree, left_possible: !ruled_out }));
            }
            scorer.first_leaf.push(scorer.leaves.len());
            scorer.leaves.extend(nodes.iter().filter(|node| node.split.is_none()).map(|leaf| leaf.adds));
        }
        asked.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        for same in asked.chunk_by(|a, b| a.0 == b.0) {
            scorer.thresholds.extend(same.iter().map(|(_, threshold, _)| *threshold));
            scorer.questions.extend(same.iter().map(|(.., question)| *question));
            scorer.measures.push((same[0].0, scorer.questions.len()));
        }
        scorer
    }

    /// What the trees add together to each.
    pub(super) fn sums(&self, of: &[&[f64; JUDGED]]) -> Vec<f64> {
        let mut possible = Vec::new();
        of.chunks(LANES).flat_map(|block| self.block(block, &mut possible).into_iter().take(block.len())).collect()
    }

    /// The same of at most `LANES`, side by side: the answers to a question are practically random, so nothing branches on one of them.
    fn block(&self, of: &[&[f64; JUDGED]], possible: &mut Vec<[u32; LANES]>) -> [f64; LANES] {
        possible.clear();
        possible.resize(self.first_leaf.len(), [u32::MAX; LANES]);
        let mut from = 0;
        for &(measure, to) in &self.measures {
            let thresholds = &self.thresholds[from..to];
            let passed = |measures: &&[f64; JUDGED]| thresholds.partition_point(|threshold| *threshold <= measures[measure]) as i32;
            let passed: [i32; LANES] = std::array::from_fn(|lane| of.get(lane).map_or(0, passed));
            let most = passed.iter().fold(0, |most, passed| most.max(*passed));
            for (asked, &Question { tree, left_possible }) in (0..most).zip(&self.questions[from..to]) {
                // All bits where it has not passed this one.
                possible[tree] =
                    std::array::from_fn(|lane| possible[tree][lane] & (left_possible | !((asked - passed[lane]) >> 31) as u32));
            }
            from = to;
        }
        let mut sums = [0.0; LANES];
        for (possible, first) in possible.iter().zip(&self.first_leaf) {
            for (sum, possible) in sums.iter_mut().zip(possible) {
                *sum += self.leaves.get(first + possible.trailing_zeros() as usize).copied().unwrap_or_default();
            }
        }
        sums
    }
}

fn bits_below(count: usize) -> u32 {
    1_u32.checked_shl(count as u32).map_or(u32::MAX, |bit| bit - 1)
}
