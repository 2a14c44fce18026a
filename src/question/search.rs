//! The question behind GET /tokens: search and browse, so that a client can find addresses.

use std::{cmp::Ordering, fmt};

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Question,
    fields::{self, FIELDS},
    parameter::{PAGE, ParameterKind, clip, parameter},
    posts::page_of,
    progress::Progress,
    request::request,
    snapshot::Snapshot,
};
use crate::{
    analysis::{market::TokenSummary, token::descending},
    dataset::{address::Address, chain::Chain},
    error::{Code, Problem, Result},
};

request! {
    SearchQuestion at "/tokens" {
        query: Option<String> = parameter("query", ParameterKind::Text, "An address, symbol or name, or a part of one."),
        chain: Option<Chain> = parameter("chain", ParameterKind::Chain, "Only tokens on this chain: short name, alias or EIP-155 id."),
        /// `None`: by rank of the match, else by market cap.
        sort: Option<Order> = parameter(
            "sort",
            ParameterKind::Word { words: TOKEN_SORTS, default: None },
            "Column, `-` first for descending; without it by rank of the match, then -market_cap.",
        ),
        /// Of `fields::FIELDS`, in its order.
        fields: Vec<&'static str> = parameter("fields", ParameterKind::Words(FIELDS), "Figures to add, separated by commas."),
        page: u64 = PAGE,
        limit: u64 = parameter("limit", ParameterKind::Integer { min: 1, max: 250, default: 50 }, "Tokens a page."),
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Tokens {
    pub page: u64,
    pub limit: u64,
    /// All tokens that match.
    pub total: u64,
    pub tokens: Vec<TokenSummary>,
}

/// What tokens can be sorted by; `-` first for descending.
pub const TOKEN_SORTS: &[&str] = &[
    "market_cap",
    "-market_cap",
    "price",
    "-price",
    "price_change_24h",
    "-price_change_24h",
    "holders",
    "-holders",
    "holders_growth",
    "-holders_growth",
    "symbol",
    "-symbol",
    "name",
    "-name",
    "token_address",
    "-token_address",
];

impl Question for SearchQuestion {
    type Answer = Tokens;
    const NAME: &'static str = "tokens";
    const SUMMARY: &'static str = "Search and browse tokens.";
    const NEEDS: &'static [&'static str] = &["candles", "holders"];

    fn heavy(&self) -> bool {
        self.fields.iter().any(|field| ["securityScore", "recommendation"].contains(field))
    }

    fn answer(&self, snapshot: &Snapshot, progress: &Progress) -> Result<Tokens> {
        let found = self.found(snapshot, progress)?;
        let total = found.len() as u64;
        let mut tokens: Vec<_> = page_of(found.into_iter(), self.page, self.limit).map(|(_, token)| token.clone()).collect();
        if !self.fields.is_empty() {
            let count = tokens.len() as u64;
            for (i, token) in tokens.iter_mut().enumerate() {
                progress.step(i as u64, count)?;
                token.figures = Some(Box::new(fields::figures(snapshot, token.token_address, &self.fields, progress)?));
            }
        }
        Ok(Tokens { page: self.page, limit: self.limit, total, tokens })
    }
}

impl SearchQuestion {
    /// The page that the token is on, and how many tokens there are on all pages; none where it is on no page.
    pub fn page_of(&self, token: &Address, snapshot: &Snapshot) -> Option<(u64, u64)> {
        let found = self.found(snapshot, &Progress::default()).ok()?;
        let place = found.iter().position(|(_, found)| found.token_address == *token)?;
        Some((place as u64 / self.limit.max(1) + 1, found.len() as u64))
    }

    /// Every token that matches, with the rank of its match, in order.
    fn found<'a>(&self, snapshot: &'a Snapshot, progress: &Progress) -> Result<Vec<(u8, &'a TokenSummary)>> {
        let tokens = &snapshot.market.tokens;
        if let Some(chain) = &self.chain {
            check_chain(chain, tokens)?;
        }
        let needle = self.query.as_deref().map(Needle::new);
        let mut found: Vec<(u8, &TokenSummary)> = Vec::new();
        for (i, token) in tokens.iter().enumerate() {
            if i % 4_096 == 0 {
                progress.step(i as u64, tokens.len() as u64)?;
            }
            if self.chain.as_ref().is_none_or(|chain| token.chains.contains(chain))
                && let Some(rank) = needle.as_ref().map_or(Some(0), |needle| needle.rank(token))
            {
                found.push((rank, token));
            }
        }
        found.sort_by(|a, b| self.compare(*a, *b));
        Ok(found)
    }

    fn compare(&self, (rank_a, a): (u8, &TokenSummary), (rank_b, b): (u8, &TokenSummary)) -> Ordering {
        let sorted = match &self.sort {
            Some(order) => order.compare_tokens(a, b),
            None => rank_a.cmp(&rank_b).then_with(|| descending(a.market_cap, b.market_cap)),
        };
        sorted.then_with(|| a.token_address.cmp(&b.token_address))
    }
}

/// A chain that is neither known nor in the data is a mistake to name, not an empty answer.
fn check_chain(chain: &Chain, tokens: &[TokenSummary]) -> Result<()> {
    if chain.id().is_some() || tokens.iter().any(|token| token.chains.contains(chain)) {
        return Ok(());
    }
    Err(Problem::new(
        Code::InvalidParameter,
        format!(
            "`chain` is `{}`, which is no known chain: did you mean {}?",
            clip(chain.as_str()),
            Chain::nearest(chain.as_str()).join(", ")
        ),
    ))
}

/// A column to sort by, and which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    pub column: &'static str,
    pub descending: bool,
}

impl Order {
    /// From a word of a table of sorts: `-` first means descending.
    pub fn parse(word: &'static str) -> Self {
        match word.strip_prefix('-') {
            Some(column) => Self { column, descending: true },
            None => Self { column: word, descending: false },
        }
    }

    /// Values in this order; what has none comes last either way.
    pub(super) fn compare<T: PartialOrd>(&self, a: Option<T>, b: Option<T>) -> Ordering {
        match (a, b) {
            (Some(a), Some(b)) => {
                let ascending = a.partial_cmp(&b).unwrap_or(Ordering::Equal);
                if self.descending { ascending.reverse() } else { ascending }
            }
            (a, b) => b.is_some().cmp(&a.is_some()),
        }
    }

    pub(super) fn compare_tokens(&self, a: &TokenSummary, b: &TokenSummary) -> Ordering {
        let folded = |text: &Option<String>| text.as_ref().map(|text| text.to_lowercase());
        match self.column {
            "price" => self.compare(a.price, b.price),
            "price_change_24h" => self.compare(a.price_change_24h, b.price_change_24h),
            "holders" => self.compare(a.holders, b.holders),
            "holders_growth" => self.compare(a.holders_growth, b.holders_growth),
            "symbol" => self.compare(folded(&a.symbol), folded(&b.symbol)),
            "name" => self.compare(folded(&a.name), folded(&b.name)),
            "token_address" => self.compare(Some(a.token_address), Some(b.token_address)),
            _ => self.compare(a.market_cap, b.market_cap),
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.descending { "-" } else { "" }, self.column)
    }
}

/// What is searched for: exact address, exact symbol, symbol prefix, name-word prefix, substring, one typo; lower rank is better.
struct Needle {
    text: String,
    address: Option<Address>,
}

/// Words shorter than this match too much with a typo in them.
const TYPO_CHARS_MIN: usize = 4;

impl Needle {
    fn new(query: &str) -> Self {
        Self { text: query.to_lowercase(), address: Address::parse(query) }
    }

    fn rank(&self, token: &TokenSummary) -> Option<u8> {
        if self.address.is_some() {
            return (self.address == Some(token.token_address)).then_some(0);
        }
        let text = self.text.as_str();
        let symbol = token.symbol.as_deref().unwrap_or_default().to_lowercase();
        let name = token.name.as_deref().unwrap_or_default().to_lowercase();
        if symbol == text {
            Some(1)
        } else if symbol.starts_with(text) {
            Some(2)
        } else if name.starts_with(text) || words(&name).any(|word| word.starts_with(text)) {
            Some(3)
        } else if symbol.contains(text)
            || name.contains(text)
            || (text.starts_with("0x") && token.token_address.to_string().starts_with(text))
        {
            Some(4)
        } else {
            let length = text.chars().count();
            // The distance takes time and room for every pair of letters, and a name may be of any length.
            let near = |word: &str| word.chars().take(length + 2).count().abs_diff(length) <= 1 && strsim::osa_distance(word, text) == 1;
            let typo = length >= TYPO_CHARS_MIN && (near(&symbol) || near(&name) || words(&name).any(near));
            typo.then_some(5)
        }
    }
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(symbol: &str, name: &str) -> TokenSummary {
        TokenSummary {
            token_address: Address([0xab; 20]),
            symbol: Some(symbol.into()),
            name: Some(name.into()),
            chains: Vec::new(),
            price: None,
            market_cap: None,
            price_change_24h: None,
            holders: None,
            holders_growth: None,
            price_history: Vec::new(),
            last_candle: None,
            figures: None,
        }
    }

    #[test]
    fn the_better_match_has_the_lower_rank() {
        let uni = token("UNI", "Uniswap Protocol");
        for (query, rank) in [
            ("0xabababababababababababababababababababab", Some(0)),
            ("0xcbababababababababababababababababababab", None),
            ("uni", Some(1)),
            ("un", Some(2)),
            ("uniswap", Some(3)),
            ("prot", Some(3)),
            ("swap", Some(4)),
            ("0xabab", Some(4)),
            ("uniswpa", Some(5)),
            ("unl", None),
            ("doge", None),
        ] {
            assert_eq!(Needle::new(query).rank(&uni), rank, "{query}");
        }
    }

    #[test]
    fn what_has_no_value_comes_last_either_way() {
        for word in ["price", "-price"] {
            let order = Order::parse(word);
            assert_eq!(order.compare(None, Some(1.0)), Ordering::Greater, "{word}");
            assert_eq!(order.compare(Some(1.0), None), Ordering::Less, "{word}");
            assert_eq!(order.to_string(), word);
        }
    }
}
