//! Number of blocks and contracts per request to a node: fewer after a refusal, more again after a success. Sends no requests.

/// Blocks asked for at first.
const BLOCKS_FIRST: u64 = 2_048;
const BLOCKS_MAX: u64 = 1 << 20;
/// Contracts of one filter.
const ADDRESSES_MAX: usize = 100;
/// Events up to which the next span is longer, and from which on it is shorter.
const FEW: usize = 2_000;
const MANY: usize = 20_000;
/// Answers after which a length that was refused is tried again.
const PATIENCE: u32 = 32;
/// Spans of one batch.
const AT_ONCE: u64 = 4;

/// The length of a span of blocks, as the node takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SpanSize {
    pub(super) blocks: u64,
    pub(super) addresses: usize,
    /// The longest span to try for now.
    ceiling: u64,
    answered: u32,
}

impl SpanSize {
    /// Begins with the length that was good last; 0 for none.
    pub(super) fn new(last: u64) -> Self {
        let blocks = if last == 0 {
            BLOCKS_FIRST
        } else {
            last.min(BLOCKS_MAX)
        };
        Self {
            blocks,
            addresses: ADDRESSES_MAX,
            ceiling: BLOCKS_MAX,
            answered: 0,
        }
    }

    /// The next spans, first and last block of each.
    pub(super) fn plan(&self, from: u64, end: u64) -> Vec<(u64, u64)> {
        let starts = (0..AT_ONCE)
            .map(|nth| from.saturating_add(nth * self.blocks))
            .take_while(|start| *start <= end);
        starts
            .map(|start| (start, (start + self.blocks - 1).min(end)))
            .collect()
    }

    /// The node refused. False if nothing less can be asked for.
    pub(super) fn narrow(&mut self) -> bool {
        self.answered = 0;
        if self.blocks > 1 {
            self.blocks /= 2;
            self.ceiling = self.blocks;
        } else if self.addresses > 1 {
            self.addresses /= 2;
        } else {
            return false;
        }
        true
    }

    /// The node answered with this many events at most in a span.
    pub(super) fn answered(&mut self, events: usize) {
        self.answered += 1;
        if self.answered >= PATIENCE {
            self.answered = 0;
            self.ceiling = (self.ceiling * 2).min(BLOCKS_MAX);
            self.addresses = (self.addresses * 2).min(ADDRESSES_MAX);
        }
        if events > MANY {
            self.blocks = (self.blocks / 2).max(1);
        } else if events < FEW {
            self.blocks = (self.blocks * 2).min(self.ceiling);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fetches blocks from a node that accepts up to `most` of them; returns the number of requests, and of refused ones.
    fn fetch(size: &mut SpanSize, blocks: u64, most: u64) -> (u32, u32) {
        let (mut at, mut requests, mut refused) = (0, 0, 0);
        while at <= blocks {
            requests += 1;
            let plan = size.plan(at, blocks);
            if plan[0].1 - plan[0].0 >= most {
                refused += 1;
                assert!(size.narrow());
                continue;
            }
            at = plan.last().expect("a span").1 + 1;
            size.answered(10);
        }
        (requests, refused)
    }

    #[test]
    fn a_span_becomes_what_the_node_takes() {
        let mut size = SpanSize::new(0);
        assert_eq!(size.plan(10, 11), [(10, 11)]);
        assert_eq!(
            size.plan(0, 5_000),
            [(0, 2_047), (2_048, 4_095), (4_096, 5_000)]
        );
        let (requests, refused) = fetch(&mut size, 1_000_000, 1_000);
        assert!(
            refused * 20 < requests && requests < 700,
            "{refused} of {requests}"
        );
        let (requests, refused) = fetch(&mut SpanSize::new(0), 20_000_000, u64::MAX);
        assert!(requests < 30 && refused == 0, "{requests}");
        // A single block may still be asked for fewer contracts at once.
        let mut size = SpanSize::new(1);
        let halves = (0..99).take_while(|_| size.narrow()).count();
        assert_eq!((halves, size.addresses, size.blocks), (6, 1, 1));
        size.answered(MANY + 1);
        assert_eq!(size.blocks, 1);
    }
}
