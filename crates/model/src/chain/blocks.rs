//! How often a chain makes a block, and after how many blocks one is final. Rounded values from the chains' own documents; a chain without
//! a row uses those of Ethereum.

use super::Chain;

/// A chain's blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainBlocks {
    /// Approximate milliseconds between two blocks.
    pub interval_ms: u64,
    /// Age in blocks from which a block counts as final. For a rollup, this depends on the chain below it.
    pub finality: u64,
}

/// Blocks of Ethereum, and of a chain that is not known better: two epochs are final.
const USUAL: ChainBlocks = ChainBlocks {
    interval_ms: 12_000,
    finality: 64,
};

/// Short name, milliseconds between two blocks, age in blocks of a final one.
const BLOCKS: &[(&str, u64, u64)] = &[
    ("oeth", 2_000, 400),
    ("base", 2_000, 400),
    ("mode", 2_000, 400),
    ("zora", 2_000, 400),
    ("blastmainnet", 2_000, 400),
    ("fraxtal", 2_000, 400),
    ("wc", 2_000, 400),
    ("redstone", 2_000, 400),
    ("soneium", 2_000, 400),
    ("lisk", 2_000, 400),
    ("bob", 2_000, 400),
    ("metall2", 2_000, 400),
    ("mnt", 2_000, 400),
    ("unichain", 1_000, 800),
    ("ink", 1_000, 800),
    ("celo", 1_000, 800),
    ("zksync", 1_000, 800),
    ("linea", 2_000, 400),
    ("scr", 3_000, 300),
    ("arb1", 250, 3_200),
    ("arb-nova", 250, 3_200),
    ("obnb", 500, 1_600),
    ("bnb", 750, 20),
    ("gno", 5_000, 48),
    ("pol", 2_000, 128),
    ("avax", 2_000, 8),
    ("ftm", 1_000, 16),
    ("sonic", 500, 16),
    ("monad", 400, 16),
    ("sei", 400, 16),
    ("berachain", 2_000, 16),
    ("hyper_evm", 1_000, 16),
    ("plasma", 1_000, 16),
    ("cro", 600, 16),
    ("kava", 6_000, 16),
    ("mbeam", 6_000, 64),
    ("mriver", 6_000, 64),
    ("hmy-s0", 2_000, 16),
    ("fuse", 5_000, 64),
    ("ron", 3_000, 64),
    ("rsk", 25_000, 64),
    ("dc", 2_000, 64),
];

impl Chain {
    pub fn blocks(&self) -> ChainBlocks {
        let row = BLOCKS
            .iter()
            .find(|(short_name, ..)| *short_name == self.as_str());
        row.map_or(USUAL, |(_, interval_ms, finality)| ChainBlocks {
            interval_ms: *interval_ms,
            finality: *finality,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_of_a_chain_of_the_list_and_differs_from_the_usual() {
        for (at, (short_name, interval_ms, finality)) in BLOCKS.iter().enumerate() {
            assert_eq!(
                Chain::known(short_name)
                    .map(|chain| chain.to_string())
                    .as_deref(),
                Some(*short_name)
            );
            assert!(
                BLOCKS[..at].iter().all(|(before, ..)| before != short_name),
                "{short_name} has two rows"
            );
            assert!(
                (100..=60_000).contains(interval_ms) && (1..=10_000).contains(finality),
                "{short_name}"
            );
            assert_ne!(
                ChainBlocks {
                    interval_ms: *interval_ms,
                    finality: *finality
                },
                USUAL,
                "{short_name}"
            );
        }
        assert_eq!(
            (
                Chain::unknown().blocks(),
                Chain::known("arb1").map(|chain| chain.blocks().interval_ms)
            ),
            (USUAL, Some(250))
        );
    }
}
