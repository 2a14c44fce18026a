//! Gradient boosting of regression trees on the logistic loss (Friedman 2001; second-order gains and leaf values as in Chen & Guestrin 2016,
//! "XGBoost: a scalable tree boosting system"). Trees grow leaf by leaf, the split of the largest gain first, over binned measures; each sees
//! a part of the examples and of the measures.

use analysis::{
    numeric::sigmoid,
    patterns::market::{JUDGED, LEAVES_MOST, TreeNode, TreeSplit, Trees},
};

use crate::random::Random;

const TREES: usize = 200;
const LEAVES: usize = 20;
const _: () = assert!(LEAVES <= LEAVES_MOST);
/// Fraction of a tree's values that is added.
const RATE: f64 = 0.06;
/// Minimum number of examples in a leaf.
const LEAST: usize = 30;
/// L2 penalty on the values of the leaves.
const RIDGE: f64 = 5.0;
/// Parts of the examples and of the measures that a tree sees.
const ROWS: f64 = 0.6;
const MEASURES: f64 = 0.5;
/// Number of bins of a measure.
const BINS: usize = 32;
const SEED: u64 = 20_261_127;

/// An example: all measures, the fraction of chartists who agree, and its weight.
pub(super) struct Example {
    pub(super) measures: [f64; JUDGED],
    pub(super) target: f64,
    pub(super) weight: f64,
}

/// First and second derivative of the loss.
#[derive(Debug, Clone, Copy, Default)]
struct Slope {
    first: f64,
    second: f64,
    count: usize,
}

impl Slope {
    fn plus(self, other: Self) -> Self {
        Self {
            first: self.first + other.first,
            second: self.second + other.second,
            count: self.count + other.count,
        }
    }

    fn minus(self, other: Self) -> Self {
        Self {
            first: self.first - other.first,
            second: self.second - other.second,
            count: self.count - other.count,
        }
    }

    fn of(rows: &[u32], slopes: &[Slope]) -> Self {
        rows.iter()
            .fold(Self::default(), |sum, row| sum.plus(slopes[*row as usize]))
    }

    fn gain(self) -> f64 {
        self.first * self.first / (self.second + RIDGE)
    }

    fn value(self) -> f64 {
        RATE * self.first / (self.second + RIDGE)
    }
}

/// Thresholds of a measure, rising: bin k holds the values from threshold k − 1 on, below threshold k.
fn thresholds(examples: &[Example], measure: usize) -> Vec<f64> {
    let mut values: Vec<f64> = examples
        .iter()
        .map(|example| example.measures[measure])
        .collect();
    values.sort_unstable_by(f64::total_cmp);
    let mut thresholds: Vec<f64> = (1..BINS)
        .map(|k| values[(values.len() - 1) * k / BINS])
        .collect();
    thresholds.dedup();
    thresholds.retain(|threshold| *threshold > values[0]);
    thresholds
}

/// A leaf that may be split: its rows and its best split, as measure and bin.
struct Leaf {
    node: usize,
    rows: Vec<u32>,
    gain: f64,
    split: (usize, usize),
}

struct Boost<'a> {
    thresholds: Vec<Vec<f64>>,
    /// Bin of each example, measure by measure.
    bins: Vec<Vec<u8>>,
    examples: &'a [Example],
}

/// A tree as it grows; the nodes below a split are anywhere.
struct Growing {
    measure: usize,
    threshold: f64,
    below: Option<(usize, usize)>,
    adds: f64,
}

pub(super) fn fit(examples: &[Example]) -> Trees {
    let thresholds: Vec<Vec<f64>> = (0..JUDGED)
        .map(|measure| thresholds(examples, measure))
        .collect();
    let bin = |measure: usize, value: f64| {
        thresholds[measure].partition_point(|threshold| *threshold <= value) as u8
    };
    let bins = (0..JUDGED)
        .map(|measure| {
            examples
                .iter()
                .map(|example| bin(measure, example.measures[measure]))
                .collect()
        })
        .collect();
    let sum = |of: fn(&Example) -> f64| examples.iter().map(of).sum::<f64>();
    let mean = sum(|one| one.weight * one.target) / sum(|one| one.weight).max(1.0);
    let base = (mean.max(1e-6) / (1.0 - mean).max(1e-6)).ln();
    Boost {
        thresholds,
        bins,
        examples,
    }
    .trees(base)
}

impl Boost<'_> {
    fn trees(&self, base: f64) -> Trees {
        let mut random = Random(SEED);
        let mut logits = vec![base; self.examples.len()];
        let mut trees = Vec::new();
        for _ in 0..TREES {
            let slope = |(example, logit): (&Example, &f64)| {
                let chance = sigmoid(*logit);
                Slope {
                    first: example.weight * (example.target - chance),
                    second: example.weight * chance * (1.0 - chance),
                    count: 1,
                }
            };
            let slopes: Vec<Slope> = self.examples.iter().zip(&logits).map(slope).collect();
            let rows: Vec<u32> = (0..slopes.len() as u32)
                .filter(|_| random.chance(ROWS))
                .collect();
            let measures: Vec<usize> = (0..JUDGED).filter(|_| random.chance(MEASURES)).collect();
            let tree = in_order(&self.grow(rows, &measures, &slopes));
            let grown = Trees::new(0.0, vec![tree.clone()]);
            let adds = grown.logits(self.examples.iter().map(|example| &example.measures));
            logits
                .iter_mut()
                .zip(adds)
                .for_each(|(logit, adds)| *logit += adds);
            trees.push(tree);
        }
        Trees::new(base, trees)
    }

    fn grow(&self, rows: Vec<u32>, measures: &[usize], slopes: &[Slope]) -> Vec<Growing> {
        let leaf_of = |rows: &[u32]| Growing {
            measure: 0,
            threshold: 0.0,
            below: None,
            adds: Slope::of(rows, slopes).value(),
        };
        let mut nodes = vec![leaf_of(&rows)];
        let mut leaves: Vec<Leaf> = self.leaf(0, rows, measures, slopes).into_iter().collect();
        for _ in 1..LEAVES {
            let Some(best) =
                (0..leaves.len()).max_by(|a, b| leaves[*a].gain.total_cmp(&leaves[*b].gain))
            else {
                break;
            };
            let Leaf {
                node,
                rows,
                split: (measure, bin),
                ..
            } = leaves.swap_remove(best);
            let (low, high): (Vec<u32>, Vec<u32>) = rows
                .iter()
                .partition(|row| usize::from(self.bins[measure][**row as usize]) <= bin);
            let below = (nodes.len(), nodes.len() + 1);
            let adds = nodes[node].adds;
            nodes[node] = Growing {
                measure,
                threshold: self.thresholds[measure][bin],
                below: Some(below),
                adds,
            };
            nodes.extend([leaf_of(&low), leaf_of(&high)]);
            leaves.extend(self.leaf(below.0, low, measures, slopes));
            leaves.extend(self.leaf(below.1, high, measures, slopes));
        }
        nodes
    }

    /// The leaf with its best split; `None` if none gains anything.
    fn leaf(
        &self,
        node: usize,
        rows: Vec<u32>,
        measures: &[usize],
        slopes: &[Slope],
    ) -> Option<Leaf> {
        let whole = Slope::of(&rows, slopes);
        let mut best = (0.0, (0, 0));
        for &measure in measures {
            let mut sums = [Slope::default(); BINS];
            for row in &rows {
                let sum = &mut sums[usize::from(self.bins[measure][*row as usize])];
                *sum = sum.plus(slopes[*row as usize]);
            }
            let mut low = Slope::default();
            for (bin, sum) in sums.iter().enumerate().take(self.thresholds[measure].len()) {
                low = low.plus(*sum);
                let high = whole.minus(low);
                let gain = low.gain() + high.gain() - whole.gain();
                if low.count >= LEAST && high.count >= LEAST && gain > best.0 {
                    best = (gain, (measure, bin));
                }
            }
        }
        (best.0 > 0.0).then_some(Leaf {
            node,
            rows,
            gain: best.0,
            split: best.1,
        })
    }
}

/// The nodes, the one for smaller values behind each split.
fn in_order(nodes: &[Growing]) -> Vec<TreeNode> {
    fn put(nodes: &[Growing], at: usize, tree: &mut Vec<TreeNode>) {
        let Growing {
            measure,
            threshold,
            below,
            adds,
        } = nodes[at];
        let place = tree.len();
        tree.push(TreeNode { split: None, adds });
        if let Some((low, high)) = below {
            put(nodes, low, tree);
            tree[place].split = Some(TreeSplit {
                measure,
                threshold,
                right: tree.len(),
            });
            put(nodes, high, tree);
        }
    }
    let mut tree = Vec::with_capacity(nodes.len());
    put(nodes, 0, &mut tree);
    tree
}
