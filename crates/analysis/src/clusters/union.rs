//! Disjoint sets of limited size. R. E. Tarjan, “Efficiency of a Good But Not Linear Set Union Algorithm”, 1975.

/// Most members of a set: a larger one is a market, not an owner.
pub(super) const MEMBERS_MAX: u32 = 500;

pub(super) struct Sets {
    parents: Vec<u32>,
    sizes: Vec<u32>,
}

impl Sets {
    pub(super) fn new(count: u32) -> Self {
        Self {
            parents: (0..count).collect(),
            sizes: vec![1; count as usize],
        }
    }

    pub(super) fn root(&mut self, mut of: u32) -> u32 {
        while self.parents[of as usize] != of {
            let above = self.parents[self.parents[of as usize] as usize];
            self.parents[of as usize] = above;
            of = above;
        }
        of
    }

    /// Joins the sets of both, unless they would be too large together. Returns whether both are in one set now.
    pub(super) fn join(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        if a == b {
            return true;
        }
        let size = self.sizes[a as usize] + self.sizes[b as usize];
        if size > MEMBERS_MAX {
            return false;
        }
        // The smaller number leads, so that the order of the joins does not show.
        let (root, child) = (a.min(b), a.max(b));
        self.parents[child as usize] = root;
        self.sizes[root as usize] = size;
        true
    }
}
