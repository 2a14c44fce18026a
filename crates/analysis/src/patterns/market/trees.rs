//! Gradient-boosted trees (Friedman 2001, "Greedy function approximation: a gradient boosting machine"): the last stage, by a candidate's own
//! measures and those of the candidates around it together. Where a curve per measure can only add, a tree asks one after another. What a
//! measure adds is told along the way to the leaf: each split's measure adds what the node below is worth more than the node above.

use super::{context::CONTEXT_MEASURES, measures::ALL, scorer::TreeScorer};

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
