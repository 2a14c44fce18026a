//! Chain names: EIP-3770 short names, EIP-155 ids and common aliases. A closed list, no lookups.
//! Sources: ethereum-lists/chains (short names, ids), DefiLlama's chain names.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

/// A chain of the list, or a slug for one outside it (which has no id).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Chain(Cow<'static, str>);

/// A row of the list of chains.
#[derive(Debug)]
pub struct ChainRow {
    /// EIP-3770 short name, which responses use.
    pub short_name: &'static str,
    /// EIP-155 chain id.
    pub id: u64,
    pub name: &'static str,
    /// Aliases, in lower case with `-` for spaces.
    pub aliases: &'static [&'static str],
}

const fn row(
    short_name: &'static str,
    id: u64,
    name: &'static str,
    aliases: &'static [&'static str],
) -> ChainRow {
    ChainRow {
        short_name,
        id,
        name,
        aliases,
    }
}

pub const CHAINS: &[ChainRow] = &[
    row(
        "eth",
        1,
        "Ethereum",
        &["ethereum", "mainnet", "ethereum-mainnet"],
    ),
    row("oeth", 10, "OP Mainnet", &["optimism", "op", "op-mainnet"]),
    row("cro", 25, "Cronos", &["cronos"]),
    row("rsk", 30, "Rootstock", &["rootstock", "rootstock-mainnet"]),
    row(
        "bnb",
        56,
        "BNB Smart Chain",
        &[
            "bsc",
            "binance",
            "binance-smart-chain",
            "bnb-chain",
            "bnb-smart-chain",
            "bnb-smart-chain-mainnet",
        ],
    ),
    row("okt", 66, "OKXChain", &["okxchain", "okexchain", "okc"]),
    row("gno", 100, "Gnosis", &["gnosis", "xdai"]),
    row("fuse", 122, "Fuse", &["fuse-mainnet"]),
    row(
        "heco",
        128,
        "Huobi ECO Chain",
        &["huobi-eco-chain", "huobi"],
    ),
    row("unichain", 130, "Unichain", &[]),
    row(
        "pol",
        137,
        "Polygon",
        &["polygon", "matic", "polygon-mainnet", "polygon-pos"],
    ),
    row("monad", 143, "Monad", &[]),
    row("sonic", 146, "Sonic", &[]),
    row("manta", 169, "Manta Pacific", &["manta-pacific"]),
    row("okb", 196, "X Layer", &["x-layer", "xlayer"]),
    row("obnb", 204, "opBNB", &["opbnb", "op-bnb"]),
    row("ftm", 250, "Fantom", &["fantom", "fantom-opera"]),
    row("fraxtal", 252, "Fraxtal", &[]),
    row("zksync", 324, "zkSync", &["zksync-era", "era"]),
    row("wc", 480, "World Chain", &["world-chain", "worldchain"]),
    row("redstone", 690, "Redstone", &[]),
    row(
        "hyper_evm",
        999,
        "HyperEVM",
        &["hyperevm", "hyperliquid", "hyperliquid-l1"],
    ),
    row("metis-andromeda", 1088, "Metis", &["metis"]),
    row("zkevm", 1101, "Polygon zkEVM", &["polygon-zkevm"]),
    row("lisk", 1135, "Lisk", &[]),
    row("mbeam", 1284, "Moonbeam", &["moonbeam"]),
    row("mriver", 1285, "Moonriver", &["moonriver"]),
    row("sei", 1329, "Sei", &[]),
    row("metall2", 1750, "Metal L2", &["metal-l2", "metal"]),
    row("soneium", 1868, "Soneium", &[]),
    row("dc", 2000, "Dogechain", &["dogechain"]),
    row("ron", 2020, "Ronin", &["ronin"]),
    row("kava", 2222, "Kava", &[]),
    row("mnt", 5000, "Mantle", &["mantle"]),
    row("base", 8453, "Base", &[]),
    row("plasma", 9745, "Plasma", &[]),
    row("mode", 34443, "Mode", &[]),
    row(
        "arb1",
        42161,
        "Arbitrum One",
        &["arbitrum", "arb", "arbitrum-one"],
    ),
    row("arb-nova", 42170, "Arbitrum Nova", &["arbitrum-nova"]),
    row("celo", 42220, "Celo", &["celo-mainnet"]),
    row(
        "avax",
        43114,
        "Avalanche C-Chain",
        &["avalanche", "avalanche-c-chain", "avax-c"],
    ),
    row("ink", 57073, "Ink", &[]),
    row("linea", 59144, "Linea", &[]),
    row("bob", 60808, "BOB", &[]),
    row("berachain", 80094, "Berachain", &["bera"]),
    row("blastmainnet", 81457, "Blast", &["blast"]),
    row("tko-mainnet", 167_000, "Taiko", &["taiko"]),
    row("scr", 534_352, "Scroll", &["scroll"]),
    row("zora", 7_777_777, "Zora", &[]),
    row("aurora", 1_313_161_554, "Aurora", &[]),
    row(
        "hmy-s0",
        1_666_600_000,
        "Harmony Shard 0",
        &["harmony", "harmony-shard-0"],
    ),
    row("palm", 11_297_108_109, "Palm", &[]),
];

impl Chain {
    /// Finds a chain of the list by short name, alias, name, number, `eip155:1` or `chain-1`, in any letter case.
    pub fn known(text: &str) -> Option<Self> {
        let slug = slug(text);
        let number = slug
            .strip_prefix("eip155:")
            .or_else(|| slug.strip_prefix("chain-"))
            .unwrap_or(&slug);
        let id = number.parse::<u64>().ok();
        CHAINS
            .iter()
            .find(|row| {
                id.map_or_else(
                    || {
                        row.short_name == slug
                            || row.aliases.contains(&slug.as_str())
                            || self::slug(row.name) == slug
                    },
                    |id| row.id == id,
                )
            })
            .map(|row| Self(Cow::Borrowed(row.short_name)))
    }

    /// A chain of the list, or the text as a slug for any other; `None` if the slug is empty.
    pub fn parse(text: &str) -> Option<Self> {
        let slug = slug(text);
        (!slug.is_empty()).then(|| Self::known(text).unwrap_or(Self(Cow::Owned(slug))))
    }

    /// Chain of a coin without a contract: its symbol as a slug, prefixed with `coin-` if it would be a chain of the list, such as `eth`,
    /// because the coin is not a token on Ethereum.
    pub fn of_coin(symbol: &str) -> Self {
        let slug = slug(symbol);
        Self(Cow::Owned(if Self::known(&slug).is_some() {
            format!("coin-{slug}")
        } else {
            slug
        }))
    }

    /// Placeholder for a missing chain.
    pub fn unknown() -> Self {
        Self(Cow::Borrowed("unknown"))
    }

    /// The EIP-3770 short name, or the slug.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The EIP-155 id; `None` for a chain outside the list.
    pub fn id(&self) -> Option<u64> {
        CHAINS
            .iter()
            .find(|row| row.short_name == self.0)
            .map(|row| row.id)
    }

    /// Whether a short name, alias or name of the list begins with the text.
    pub fn begins(text: &str) -> bool {
        let typed = slug(text);
        CHAINS.iter().any(|row| {
            let names = row.aliases.iter().copied().chain([row.short_name]);
            names.into_iter().any(|name| name.starts_with(&typed))
                || slug(row.name).starts_with(&typed)
        })
    }

    /// Suggestions for "did you mean": the short names of the list nearest to `text`, at most three.
    pub fn nearest(text: &str) -> Vec<&'static str> {
        ranked(text)
            .into_iter()
            .take(3)
            .map(|(_, name)| name)
            .collect()
    }

    /// Short name of which `text` is probably a misspelling.
    pub fn alike(text: &str) -> Option<&'static str> {
        ranked(text)
            .first()
            .filter(|(alike, _)| *alike >= ALIKE)
            .map(|(_, name)| *name)
    }
}

/// Minimum similarity, in thousandths, of a probable misspelling.
const ALIKE: u32 = 800;

/// Jaro-Winkler similarity of `text` to the names of each chain, in thousandths, highest first.
fn ranked(text: &str) -> Vec<(u32, &'static str)> {
    let slug = slug(text);
    let alike = |name: &str| (strsim::jaro_winkler(&slug, name) * 1000.0) as u32;
    let of = |row: &ChainRow| {
        row.aliases
            .iter()
            .map(|alias| alike(alias))
            .max()
            .unwrap_or(0)
            .max(alike(row.short_name))
    };
    let mut ranked: Vec<(u32, &'static str)> =
        CHAINS.iter().map(|row| (of(row), row.short_name)).collect();
    ranked.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    ranked
}

/// Normalizes to lower case, with `-` for spaces and underscores (except for the one short name of the list that has an underscore).
fn slug(text: &str) -> String {
    let lower = text.trim().to_lowercase();
    if lower == "hyper_evm" {
        lower
    } else {
        lower
            .split([' ', '_', '\t'])
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("-")
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl JsonSchema for Chain {
    fn schema_name() -> Cow<'static, str> {
        "Chain".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "[^\\s_]", "description": "An EIP-3770 short name (`eth`, `base`, `arb1`), or a slug for a chain without one." })
    }
}

// How often a chain makes a block, and after how many blocks one is final. Rounded values from the chains' own documents; a chain without
// a row uses those of Ethereum.

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
    fn every_way_of_naming_a_chain_leads_to_its_short_name() {
        for (text, short) in [
            ("eth", "eth"),
            ("Ethereum", "eth"),
            ("1", "eth"),
            ("eip155:1", "eth"),
            ("BSC", "bnb"),
            ("matic", "pol"),
            ("OP Mainnet", "oeth"),
            ("Op_bnb", "obnb"),
            ("Opbnb", "obnb"),
            ("Hyperliquid L1", "hyper_evm"),
            ("hyper_evm", "hyper_evm"),
            ("chain-143", "monad"),
            ("arb", "arb1"),
            ("Avalanche", "avax"),
            ("x-layer", "okb"),
        ] {
            assert_eq!(
                Chain::known(text).map(|c| c.to_string()).as_deref(),
                Some(short),
                "{text}"
            );
        }
    }

    #[test]
    fn a_chain_outside_the_list_is_kept_as_a_slug_without_id() {
        let chain = Chain::parse("Robinhood Chain").expect("not empty");
        assert_eq!((chain.as_str(), chain.id()), ("robinhood-chain", None));
        assert_eq!(Chain::parse("  "), None);
        assert_eq!(Chain::known("chain-5042"), None);
    }

    #[test]
    fn a_misspelt_chain_suggests_the_nearest() {
        assert_eq!(Chain::nearest("etherium")[0], "eth");
        assert_eq!(Chain::nearest("avalance")[0], "avax");
        assert_eq!(
            (
                Chain::alike("etherium"),
                Chain::alike("newchain"),
                Chain::alike("zq")
            ),
            (Some("eth"), Some("unichain"), None)
        );
    }
}

#[cfg(test)]
mod blocks_tests {
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
