//! Number of calls per batch to a node: fewer after a refusal, more again after successes. Sends no requests.

use std::sync::Mutex;

use crate::locked;

/// Full batches after which more calls are tried, at first.
const PATIENCE: u32 = 16;
/// The same after many refusals: a node that never takes more is seldom asked in vain.
const PATIENCE_MAX: u32 = 1_024;

/// Calls of a batch, as the node takes them.
#[derive(Debug)]
pub(super) struct BatchSize {
    /// Calls per batch for a node that never refused one.
    first: usize,
    now: Mutex<Learnt>,
}

#[derive(Debug, Clone, Copy)]
struct Learnt {
    most: usize,
    /// Full batches accepted since the last change.
    taken: u32,
    patience: u32,
}

impl BatchSize {
    pub(super) fn new(first: usize) -> Self {
        Self {
            first,
            now: Mutex::new(Learnt {
                most: first,
                taken: 0,
                patience: PATIENCE,
            }),
        }
    }

    pub(super) fn most(&self) -> usize {
        locked(&self.now).most.max(1)
    }

    /// The node refused a batch of this size.
    pub(super) fn refused(&self, sent: usize) {
        let mut now = locked(&self.now);
        // Of several batches sent at once each is refused.
        if sent / 2 < now.most {
            *now = Learnt {
                most: (sent / 2).max(1),
                taken: 0,
                patience: (now.patience * 2).min(PATIENCE_MAX),
            };
        }
    }

    /// The node answered a batch of this size.
    pub(super) fn took(&self, sent: usize) {
        let mut now = locked(&self.now);
        if sent < now.most || now.most >= self.first {
            return;
        }
        now.taken += 1;
        if now.taken >= now.patience {
            (now.most, now.taken) = ((now.most * 2).min(self.first), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_was_refused_is_tried_again_after_a_while_and_ever_later() {
        let size = BatchSize::new(100);
        let refusals = |rounds: u32| {
            let mut refused = 0;
            for _ in 0..rounds {
                let most = size.most();
                if most > 40 {
                    size.refused(most);
                    refused += 1;
                } else {
                    size.took(most);
                }
            }
            refused
        };
        assert_eq!((refusals(10), size.most()), (2, 25));
        let (soon, late) = (refusals(1_000), refusals(1_000));
        assert!(soon > late && late > 0, "{soon} {late}");
        // It takes more from now on.
        for _ in 0..10_000 {
            size.took(size.most());
        }
        assert_eq!(size.most(), 100);
        size.took(3);
        assert_eq!(size.most(), 100);
    }
}
