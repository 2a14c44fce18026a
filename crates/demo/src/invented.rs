//! The invented tokens. Some names are hard to render: wide, emoji, right-to-left. Addresses derive from the seed. Every scam is among
//! them, never among the real tokens.

use super::random::{Random, round};

/// (symbol, name, chain, decimals, price in USD, market capitalisation in USD)
pub(super) type Invention = (&'static str, &'static str, &'static str, i64, f64, f64);

pub(super) const INVENTIONS: &[Invention] = &[
    ("MOONPUP", "Moon Puppy 🐶🚀", "eth", 9, 2.14e-6, 31e6),
    ("HALYARD", "Halyard Finance", "arb1", 18, 1.83, 148e6),
    ("LUMEO", "Lumeo Network", "base", 18, 0.2941, 203e6),
    ("TORII", "鳥居プロトコル", "bnb", 18, 0.0637, 41e6),
    ("QASR", "شبكة القصر", "pol", 18, 0.4182, 26e6),
    ("FROGKING", "Frog King Inu", "bnb", 9, 6.6e-5, 9.4e6),
    ("OSTRA", "Ostra Credit", "eth", 18, 24.7, 388e6),
    ("VELLUM", "Vellum Data", "oeth", 18, 0.0912, 57e6),
    ("SAFEMAX", "SafeMaxGold 100x", "bnb", 9, 3.2e-6, 0.62e6),
    ("KESTREL", "Kestrel Perps", "arb1", 18, 6.45, 96e6),
    ("NOVAUSD", "Nova Dollar", "base", 6, 1.0, 74e6),
    ("DRIFTWD", "Driftwood Games", "pol", 18, 0.0189, 12e6),
    ("BLOX∞", "∞ Infinite Blocks ∞", "base", 18, 0.000_71, 3.8e6),
    ("MERIDIAN", "Meridian Index of Tokenised Treasury and Infrastructure Claims", "eth", 18, 104.2, 610e6),
    ("ASTROCAT", "Cat From Space 🐱‍🚀", "bnb", 18, 0.000_044, 1.9e6),
    ("BRIAR", "Briar Privacy", "oeth", 18, 0.336, 33e6),
    ("SOLSTICE", "Solstice Compute", "base", 18, 2.07, 171e6),
    ("ÆTHER", "Ætherwake", "arb1", 18, 0.774, 22e6),
    ("CLAIMETH", "Claim Airdrop Now", "eth", 18, 0.0031, 0.21e6),
    ("PAPAYA", "Papaya Swap", "pol", 18, 0.128, 18e6),
    ("GLYPH", "Glyph Oracle", "oeth", 18, 11.6, 129e6),
    ("韭菜", "韭菜币", "bnb", 9, 0.000_12, 2.7e6),
    ("WINTER", "Winter Labs", "arb1", 18, 0.0447, 15e6),
];

/// Name halves of generated tokens, for markets of any size.
const FIRST: &[&str] = &[
    "Amber",
    "Basalt",
    "Cobalt",
    "Dune",
    "Ember",
    "Fjord",
    "Garnet",
    "Harbor",
    "Indigo",
    "Juniper",
    "Krill",
    "Lagoon",
    "Marble",
    "Nimbus",
    "Onyx",
    "Pollen",
    "Quartz",
    "Ripple Oak",
    "Saffron",
    "Tundra",
    "Umber",
    "Violet",
    "Willow",
    "Xenon",
    "Yarrow",
    "Zephyr",
];
const SECOND: &[&str] =
    &["Protocol", "Network", "Finance", "Chain", "Swap", "Labs", "Credit", "Games", "Data", "Vault", "Inu", "Exchange", "Compute", "Index"];
const CHAINS: &[&str] = &["eth", "base", "arb1", "oeth", "bnb", "pol"];

/// The `i`-th token beyond the list: symbol, name, chain, decimals, price, market capitalisation.
pub(super) fn invent(i: usize, random: &mut Random) -> (String, String, &'static str, i64, f64, f64) {
    let (first, second) = (FIRST[i % FIRST.len()], SECOND[(i / FIRST.len() + i) % SECOND.len()]);
    let symbol: String = first.chars().filter(char::is_ascii_alphabetic).take(4).collect::<String>().to_uppercase();
    let price = round(random.spread(1e-5, 90.0), 5);
    (format!("{symbol}{i}"), format!("{first} {second} {i}"), CHAINS[random.below(CHAINS.len())], 18, price, random.spread(4e5, 4e8))
}
