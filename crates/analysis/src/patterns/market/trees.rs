//! Gradient-boosted trees (Friedman 2001, "Greedy function approximation: a gradient boosting machine"): the last stage, by a candidate's own
//! measures and those of the candidates around it together. Where a curve per measure can only add, a tree asks one after another. What a
//! measure adds is told along the way to the leaf: each split's measure adds what the node below is worth more than the node above.

use super::{context::CONTEXT_MEASURES, measures::ALL};

/// Number of measures that the trees ask for: those of the candidates around it, then its own.
pub const JUDGED: usize = CONTEXT_MEASURES + ALL;

/// The trees' file. `cargo bench --bench accuracy -- charts-fit` rewrites it; none of the numbers is written by hand.
const FILE: &str = include_str!("trees.csv");

/// A node of a tree; the node below for smaller values follows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TreeNode {
    /// The measure and threshold, and the next nodes; none at a leaf.
    pub split: Option<TreeSplit>,
    /// Log odds added by a leaf; of a split, the mean of what is below it.
    pub adds: f64,
}

/// Values of a measure below the threshold go on to the next node, others to `right`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TreeSplit {
    pub measure: usize,
    pub threshold: f64,
    /// Index of the node for the larger values, in its tree.
    pub right: usize,
}

/// Log odds as a base and what each tree adds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trees {
    base: f64,
    /// The nodes of each tree.
    nodes: Vec<Vec<TreeNode>>,
    scorer: TreeScorer,
}

impl Trees {
    /// Trees of at most [`LEAVES_MOST`](super::LEAVES_MOST) leaves.
    pub fn new(base: f64, nodes: Vec<Vec<TreeNode>>) -> Self {
        Self {
            base,
            scorer: TreeScorer::new(&nodes),
            nodes,
        }
    }

    /// The trees of the built-in model.
    pub(super) fn built_in() -> Self {
        Self::read(FILE)
    }

    pub fn base(&self) -> f64 {
        self.base
    }

    /// The nodes of each tree.
    pub fn nodes(&self) -> &[Vec<TreeNode>] {
        &self.nodes
    }

    pub fn logit(&self, measures: &[f64; JUDGED]) -> f64 {
        self.base + self.scorer.sums(&[measures])[0]
    }

    /// Log odds of each.
    pub fn logits<'a>(&self, of: impl Iterator<Item = &'a [f64; JUDGED]>) -> Vec<f64> {
        self.scorer
            .sums(&of.collect::<Vec<_>>())
            .iter()
            .map(|sum| self.base + sum)
            .collect()
    }

    /// What each measure adds to the log odds; they and a constant sum up to it.
    pub fn parts(&self, measures: &[f64; JUDGED]) -> [f64; JUDGED] {
        let mut parts = [0.0; JUDGED];
        for tree in &self.nodes {
            walk(tree, measures, |measure, adds| parts[measure] += adds);
        }
        parts
    }

    /// The rows `tree,measure,threshold,right,adds`, after one with the base; a leaf has neither measure nor threshold.
    fn read(text: &str) -> Self {
        let (mut base, mut trees) = (0.0, Vec::<Vec<TreeNode>>::new());
        for line in text.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            let [tree, measure, threshold, right, adds] = cells[..] else {
                continue;
            };
            let Ok(adds) = adds.parse() else { continue };
            let Ok(tree) = tree.parse::<usize>() else {
                base = adds;
                continue;
            };
            let split = || {
                let measure = measure.parse().ok().filter(|measure| *measure < JUDGED)?;
                Some(TreeSplit {
                    measure,
                    threshold: threshold.parse().ok()?,
                    right: right.parse().ok()?,
                })
            };
            if trees.len() <= tree {
                trees.push(Vec::new());
            }
            trees[tree].push(TreeNode {
                split: split(),
                adds,
            });
        }
        Self::new(base, trees)
    }
}

/// Goes to a leaf; `met` is told of each split on the way, and what its answer adds.
fn walk(tree: &[TreeNode], measures: &[f64; JUDGED], mut met: impl FnMut(usize, f64)) {
    let mut at = 0;
    let mut node = tree[0];
    while let Some(TreeSplit {
        measure,
        threshold,
        right,
    }) = node.split
    {
        at = if measures[measure] < threshold {
            at + 1
        } else {
            right
        };
        let Some(next) = tree.get(at) else { break };
        met(measure, next.adds - node.adds);
        node = *next;
    }
}

// What trees add, without walking each of them (Lucchese et al. 2015, "QuickScorer: a fast algorithm to rank documents with additive
// ensembles of regression trees"). A walk waits at each split for its answer; here a split whose measure is no smaller than its threshold
// rules out the leaves below it on the smaller side. The first leaf of a tree that is left is the one that a walk reaches.

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

#[cfg(test)]
mod tests {
    use super::{super::LEAVES_MOST, *};

    #[test]
    fn the_file_is_a_forest_whose_ways_all_end_in_a_leaf() {
        let forest = Trees::built_in();
        let nodes: usize = forest.nodes.iter().map(Vec::len).sum();
        assert_eq!(nodes + 2, FILE.lines().count(), "every row is a node");
        for tree in &forest.nodes {
            let mut met = vec![0; tree.len()];
            met[0] = 1;
            for (at, node) in tree.iter().enumerate() {
                if let Some(split) = node.split {
                    assert!(at + 1 < split.right && split.right < tree.len());
                    met[at + 1] += 1;
                    met[split.right] += 1;
                }
            }
            assert!(
                met.iter().all(|count| *count == 1),
                "each node is below one other"
            );
            assert!(tree.iter().filter(|node| node.split.is_none()).count() <= LEAVES_MOST);
        }
    }

    #[test]
    fn what_the_measures_add_sums_up() {
        let leaf = |adds| TreeNode { split: None, adds };
        let split = |measure, threshold, right, adds| TreeNode {
            split: Some(TreeSplit {
                measure,
                threshold,
                right,
            }),
            adds,
        };
        let first = vec![
            split(0, 2.0, 4, 0.1),
            split(3, 0.0, 3, 0.2),
            leaf(0.5),
            leaf(-0.1),
            leaf(-0.3),
        ];
        let trees = Trees::new(-1.0, vec![first, vec![leaf(0.05)]]);
        for (first, fourth, parts, logit) in [
            (1.0, -1.0, [0.1, 0.3], -0.45),
            (1.0, 0.0, [0.1, -0.3], -1.05),
            (2.0, 0.0, [-0.4, 0.0], -1.25),
        ] {
            let mut measures = [0.0; JUDGED];
            (measures[0], measures[3]) = (first, fourth);
            let told = trees.parts(&measures);
            assert!(
                (trees.logit(&measures) - logit).abs() < 1e-12,
                "{first} {fourth}"
            );
            assert!(
                (told[0] - parts[0]).abs() < 1e-12 && (told[3] - parts[1]).abs() < 1e-12,
                "{told:?}"
            );
            // The constant: the base and the roots.
            assert!((told.iter().sum::<f64>() - 1.0 + 0.1 + 0.05 - logit).abs() < 1e-12);
        }
    }
}
