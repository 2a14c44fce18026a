//! Open nodes of branch and bound: a priority queue by bound, largest first; ties go to the oldest, so that the same request takes the same
//! path.

use std::{cmp::Ordering, collections::BinaryHeap};

#[derive(Debug)]
pub(super) struct OpenNodes<T> {
    nodes: BinaryHeap<Node<T>>,
    pushed: u64,
}

#[derive(Debug)]
struct Node<T> {
    bound: f64,
    sequence: u64,
    part: T,
}

impl<T> OpenNodes<T> {
    pub(super) fn new() -> Self {
        Self {
            nodes: BinaryHeap::new(),
            pushed: 0,
        }
    }

    pub(super) fn push(&mut self, bound: f64, part: T) {
        self.pushed += 1;
        self.nodes.push(Node {
            bound,
            sequence: self.pushed,
            part,
        });
    }

    /// Pops the node with the largest bound if `worth` accepts that bound.
    pub(super) fn pop_if(&mut self, worth: impl FnOnce(f64) -> bool) -> Option<T> {
        self.nodes
            .peek()
            .is_some_and(|node| worth(node.bound))
            .then(|| self.nodes.pop().map(|node| node.part))
            .flatten()
    }

    /// Upper bound over all open nodes.
    pub(super) fn bound(&self) -> f64 {
        self.nodes
            .peek()
            .map_or(f64::NEG_INFINITY, |node| node.bound)
    }
}

impl<T> Ord for Node<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bound
            .total_cmp(&other.bound)
            .then(other.sequence.cmp(&self.sequence))
    }
}

impl<T> PartialOrd for Node<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Node<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Node<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_bound_comes_first_and_of_equal_ones_the_oldest() {
        let mut open = OpenNodes::new();
        for (bound, part) in [(1.0, 'a'), (3.0, 'b'), (3.0, 'c'), (2.0, 'd')] {
            open.push(bound, part);
        }
        assert_eq!(open.bound(), 3.0);
        let taken: String = std::iter::from_fn(|| open.pop_if(|bound| bound > 1.0)).collect();
        assert_eq!((taken.as_str(), open.bound()), ("bcd", 1.0));
        assert_eq!(
            (open.pop_if(|_| true), open.pop_if(|_| true), open.bound()),
            (Some('a'), None, f64::NEG_INFINITY)
        );
    }
}
