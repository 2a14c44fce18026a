//! The invented tokens; the lists are data, in `invented.json`. Some names are hard to render: wide, emoji, right-to-left. Addresses derive
//! from the seed. Every scam is among them, never among the real tokens.

use std::sync::LazyLock;

use serde::Deserialize;

use super::random::{Random, round};

/// Symbol, name, chain, decimals, price in USD, market capitalisation in USD.
type Invention = (String, String, &'static str, i64, f64, f64);

#[derive(Deserialize)]
struct Invented {
    tokens: Vec<Invention>,
    /// Name halves of generated tokens, for markets of any size.
    #[serde(borrow)]
    first: Vec<&'static str>,
    second: Vec<&'static str>,
}

static INVENTED: LazyLock<Invented> = LazyLock::new(|| {
    serde_json::from_str(include_str!("invented.json")).expect("the tests read the lists")
});

const CHAINS: &[&str] = &["eth", "base", "arb1", "oeth", "bnb", "pol"];

/// The `i`-th invented token: from the list, and generated beyond it.
pub(super) fn invention(i: usize, random: &mut Random) -> Invention {
    let Invented {
        tokens,
        first,
        second,
    } = &*INVENTED;
    if let Some(listed) = tokens.get(i) {
        return listed.clone();
    }
    let i = i - tokens.len();
    let (first, second) = (
        first[i % first.len()],
        second[(i / first.len() + i) % second.len()],
    );
    let symbol: String = first
        .chars()
        .filter(char::is_ascii_alphabetic)
        .take(4)
        .collect::<String>()
        .to_uppercase();
    let price = round(random.spread(1e-5, 90.0), 5);
    (
        format!("{symbol}{i}"),
        format!("{first} {second} {i}"),
        CHAINS[random.below(CHAINS.len())],
        18,
        price,
        random.spread(4e5, 4e8),
    )
}
