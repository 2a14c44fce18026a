//! The development and the report set: same generator, different seeds.

use super::{Bars, Case, Kind, NAMES, case, plan::RULES, walk};
use crate::random::Random;

/// Seeds of the development set.
pub(crate) const DEVELOPMENT: u64 = 0x1000;
/// Seeds of the report (hold-out) set: nothing is tuned to these.
pub(crate) const REPORT: u64 = 0x0bad_5eed;

/// Sizes of a set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    /// Easy instances per name, and as many hard ones.
    pub(crate) instances: usize,
    /// Near misses per name and rule.
    pub(crate) misses: usize,
    pub(crate) walks: usize,
    pub(crate) walk_length: usize,
}

pub(crate) struct Set {
    pub(crate) cases: Vec<Case>,
    pub(crate) misses: Vec<Case>,
    pub(crate) walks: Vec<Bars>,
}

pub(crate) fn set(seed: u64, sizes: Sizes) -> Set {
    let mut cases = Vec::new();
    let mut misses = Vec::new();
    for (n, name) in NAMES.iter().enumerate() {
        // An independent stream per name, so that a change to one pattern leaves the others as they are.
        let mut random = Random(
            seed.wrapping_mul(0x0100_0001)
                .wrapping_add(n as u64 * 7_919),
        );
        for kind in [Kind::Easy, Kind::Hard] {
            cases.extend((0..sizes.instances).map(|_| case(&mut random, name, kind.clone())));
        }
        for (rule, _) in RULES
            .iter()
            .filter(|(_, families)| families.iter().any(|names| names.contains(name)))
        {
            misses.extend((0..sizes.misses).map(|_| case(&mut random, name, Kind::NearMiss(rule))));
        }
    }
    let mut random = Random(seed ^ 0x7a1c);
    let walks = (0..sizes.walks)
        .map(|_| walk(&mut random, sizes.walk_length))
        .collect();
    Set {
        cases,
        misses,
        walks,
    }
}
