//! The query behind GET /tokens: search and browse tokens, the way clients find addresses.

pub mod alert_rule;
pub mod arrangement;
pub mod condition;
mod facts;
pub mod named;
pub mod row;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use self::arrangement::{Hit, TokenListQuery};
use super::{
    Find, Query,
    fields::{self, FIELDS, Figures, TokenEntry, is_computed, is_inferred},
    list::{Listed, Rows, only, sort},
    paging::{page_of, paged},
    parallel,
    parameter::{self, PAGE, ParameterKind, TokenNames as _, TokenReader, clip, parameter},
    request::{Request as _, request},
    snapshot::Snapshot,
    tabular::{Tabled, Tabular, members},
    track_record::is_weighed,
    view::View,
};
use analysis::market::TokenSummary;
use model::{
    address::Address,
    chain::Chain,
    error::{Code, Problem, Result},
    progress::Progress,
    time::Time,
    token_names::is_part_of_address,
};

pub use self::facts::TokenFacts;

request! {
    TokensQuery at "/tokens" {
        query: Option<String> = parameter("query", ParameterKind::Text, "Symbol, name or address, or part of one; also `$UNI` and \
            `UNI@base`."),
        chain: Option<Chain> = parameter("chain", ParameterKind::Chain, "Only tokens on this chain: short name, alias or EIP-155 id."),
        /// Parsed with the data at hand: the `tokens` file may have custom columns.
        conditions: Option<String> = parameter(
            "where",
            ParameterKind::Where(TokenEntry::COLUMNS),
            "Conditions such as `name:usd`: column, operator (: = != > >= < <=), value; combined with and, `or` and brackets, as in \
            `price>10 or (chain:eth score>=60)`. Missing values never match. Extra columns of the `tokens` file can be named too, with \
            the prefix `own_` if a tokendeck column has the same name.",
        ),
        /// As `conditions`. `None`: by match rank, then by market cap.
        sort: Option<String> = sort::<TokenEntry>(
            None,
            "Up to 4 columns, comma-separated; `-` for descending. Default: best match first, then -market_cap, then -liquidity.",
        ),
        /// Figures out of `fields::FIELDS`, in its order.
        fields: Vec<&'static str> = parameter("fields", ParameterKind::Words(FIELDS), "Metrics to add to the fields that are always there, comma-separated."),
        /// Members of a token, in their order; empty: all but the figures not in `fields`.
        only: Vec<&'static str> = only::<TokenEntry>(),
        page: u64 = PAGE,
        limit: u64 = parameter("limit", ParameterKind::Integer { min: 1, max: 250, default: 50 }, "Tokens per page."),
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Tokens {
    pub page: u64,
    pub limit: u64,
    /// Number of matching tokens.
    pub total: u64,
    pub tokens: Rows<TokenEntry>,
}

impl Query for TokensQuery {
    type Answer = Tokens;
    const NAME: &'static str = "tokens";
    const SUMMARY: &'static str = "Search and list tokens.";
    const NEEDS: &'static [&'static str] = &["candles", "holders"];

    paged!(Tokens);

    fn heavy(&self, snapshot: &Snapshot) -> bool {
        self.answered_fields()
            .iter()
            .any(|field| is_inferred(field))
            || self.compares(snapshot, is_computed)
    }

    /// The advice of a token depends on its security, whose rows and state may have to be fetched; candles are here.
    fn waits(&self, snapshot: &Snapshot) -> bool {
        let dataset = &snapshot.dataset;
        let fetches = || {
            dataset.chain_states().is_some()
                || ["holders", "transfers"]
                    .iter()
                    .any(|table| dataset.engine_rows(table).is_some())
        };
        self.heavy(snapshot)
            || self.answered_fields().iter().any(|field| is_weighed(field)) && fetches()
    }

    fn etag(&self, snapshot: &Snapshot) -> String {
        let target = self.target();
        if self.answered_fields().into_iter().any(is_weighed) || self.compares(snapshot, is_weighed)
        {
            snapshot.etag_of_advice(&target, "1d")
        } else {
            snapshot.etag(&target)
        }
    }

    fn as_of(&self, _: &Snapshot, answer: &Tokens) -> Option<Time> {
        answer
            .tokens
            .iter()
            .filter_map(|token| token.newest())
            .max()
    }

    fn answer(&self, view: &View<'_>, progress: &Progress) -> Result<Tokens> {
        let found = self.found(view, progress)?;
        let total = found.len() as u64;
        let mut tokens: Vec<_> = page_of(found.into_iter(), self.page, self.limit)
            .map(|token| TokenEntry {
                summary: token.clone(),
                figures: Figures::default(),
            })
            .collect();
        let (fields, addresses) = (
            self.answered_fields(),
            tokens.iter().map(|token| token.token_address).collect(),
        );
        if !fields.is_empty() {
            let figures = of_each(addresses, &fields, view, progress)?;
            tokens
                .iter_mut()
                .zip(figures)
                .for_each(|(token, (_, figures))| token.figures = figures);
        }
        Ok(Tokens {
            page: self.page,
            limit: self.limit,
            total,
            tokens: Rows::new(tokens, &self.only),
        })
    }
}

impl Tabular for TokensQuery {
    fn tabled(
        &self,
        view: &View<'_>,
        _: &Arc<Snapshot>,
        whole: bool,
        progress: &Progress,
    ) -> Result<Tabled> {
        let (page, limit) = if whole {
            (1, u64::MAX)
        } else {
            (self.page, self.limit)
        };
        let answer = Self {
            page,
            limit,
            ..self.clone()
        }
        .answer(view, progress)?;
        let added = self.answered_fields();
        let mut members = members(<TokenEntry as Listed>::MEMBERS, &self.only);
        members.retain(|member| !FIELDS.contains(member) || added.contains(member));
        Tabled::of(&answer.tokens, &members)
    }
}

impl TokensQuery {
    /// The figures in each row of the answer.
    fn answered_fields(&self) -> Vec<&'static str> {
        let named = |field: &&str| {
            if self.only.is_empty() {
                self.fields.contains(field)
            } else {
                self.only.contains(field)
            }
        };
        FIELDS
            .iter()
            .copied()
            .filter(|field| named(field))
            .collect()
    }

    /// The conditions and the order.
    fn read(&self, snapshot: &Snapshot) -> Result<TokenListQuery> {
        let columns = row::columns(&snapshot.dataset);
        Ok(TokenListQuery {
            filter: parameter::conditions(
                "where",
                self.conditions.as_deref().unwrap_or_default(),
                &columns,
                TokenReader::of(snapshot),
            )?,
            sort: parameter::orders("sort", self.sort.as_deref().unwrap_or_default(), &columns)?,
            ..TokenListQuery::default()
        })
    }

    /// Whether the conditions or the order are about such a computed column.
    fn compares(&self, snapshot: &Snapshot, is_such: fn(&str) -> bool) -> bool {
        (self.conditions.is_some() || self.sort.is_some())
            && self
                .read(snapshot)
                .is_ok_and(|query| query.computed().into_iter().any(is_such))
    }

    /// All matching tokens, in order.
    fn found<'a>(&self, view: &'a View<'_>, progress: &Progress) -> Result<Vec<&'a TokenSummary>> {
        let tokens = &view.market.tokens;
        if let Some(chain) = &self.chain {
            check_chain(chain, tokens)?;
        }
        let query = self.read(view)?;
        let needle = self
            .query
            .as_deref()
            .map(|query| Needle::new(query, view.tokens_named(query)));
        let mut hits: Vec<Hit> = Vec::new();
        for (place, token) in (0_u32..).zip(tokens) {
            if place % 4_096 == 0 {
                progress.step(place.into(), tokens.len() as u64)?;
            }
            if self
                .chain
                .as_ref()
                .is_none_or(|chain| token.chains.contains(chain))
                && let Some(rank) = needle.as_ref().map_or(Some(0), |needle| needle.rank(token))
            {
                hits.push((rank, place));
            }
        }
        query.arrange(&mut hits, &mut Arc::default(), view, progress)?;
        Ok(hits
            .into_iter()
            .filter_map(|(_, place)| tokens.get(place as usize))
            .collect())
    }
}

/// Errors: a chain that is neither known nor in the data, which would otherwise give an empty answer.
fn check_chain(chain: &Chain, tokens: &[TokenSummary]) -> Result<()> {
    if chain.id().is_some() || tokens.iter().any(|token| token.chains.contains(chain)) {
        return Ok(());
    }
    Err(Problem::new(
        Code::InvalidParameter,
        format!(
            "`chain` is `{}`, an unknown chain; the closest are {}.",
            clip(chain.as_str()),
            Chain::nearest(chain.as_str()).join(", ")
        ),
    ))
}

/// A search text. Match ranks, lower is better: exact address, exact symbol, symbol prefix, name-word prefix, substring, one typo. What names a
/// token in another way, as `$UNI` or `UNI@base`, is its exact symbol.
struct Needle {
    text: String,
    address: Option<Address>,
    named: Vec<Address>,
}

/// Shorter words would match too much with a typo.
const TYPO_CHARS_MIN: usize = 4;

impl Needle {
    fn new(query: &str, named: Vec<Address>) -> Self {
        Self {
            text: query.to_lowercase(),
            address: Address::asked(query),
            named,
        }
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
            || (is_part_of_address(text) && token.token_address.to_string().contains(text))
        {
            Some(4)
        } else if self.named.contains(&token.token_address) {
            Some(1)
        } else {
            let length = text.chars().count();
            // The edit distance costs time and memory for every pair of letters, and names have no length limit.
            let near = |word: &str| {
                word.chars().take(length + 2).count().abs_diff(length) <= 1
                    && strsim::osa_distance(word, text) == 1
            };
            let typo = length >= TYPO_CHARS_MIN
                && (near(&symbol) || near(&name) || words(&name).any(near));
            typo.then_some(5)
        }
    }
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
}

// Metrics of many tokens.

/// The named metrics of these tokens.
#[derive(Debug, Clone)]
pub struct FiguresOf {
    pub tokens: Vec<Address>,
    pub names: Vec<&'static str>,
}

impl Find for FiguresOf {
    type Found = Vec<(Address, Figures)>;

    fn find(&self, view: &View<'_>, progress: &Progress) -> Result<Self::Found> {
        of_each(self.tokens.clone(), &self.names, view, progress)
    }
}

/// The figures of each token. Errors: rows cannot be fetched, or those of too many tokens would have to be; of several tokens no state could
/// be read.
fn of_each(
    tokens: Vec<Address>,
    names: &[&str],
    view: &View<'_>,
    progress: &Progress,
) -> Result<Vec<(Address, Figures)>> {
    let count = tokens.len();
    let mut found: Vec<(Address, Figures)> = tokens
        .into_iter()
        .map(|token| (token, Figures::default()))
        .collect();
    parallel::each(&mut found, progress, |(token, found)| {
        *found = fields::figures(&view.part(count), *token, names, &progress.quiet())?;
        Ok(())
    })?;
    view.check_states()?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queries::tests::{parsed, snapshot};

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
            price_as_of: None,
            close_apart: None,
            market_cap_as_of: None,
            holders_as_of: None,
            price_history: Vec::new(),
            price_before_history: None,
            price_change_1h: None,
            price_change_7d: None,
            price_change_30d: None,
            volume_24h: None,
            volume_of_candles: false,
            liquidity: None,
            mentions: None,
            engagement_7d: None,
            decimals: None,
            own: Vec::new(),
            last_candle: None,
            last_count: None,
            created_at: None,
            age: None,
        }
    }

    #[test]
    fn a_column_that_is_named_decides_and_not_a_text_that_looks_like_it() {
        let snapshot = snapshot(&[("tokens", "token_address,symbol,name,chain\n0x1,A,A,eth")]);
        for (query, heavy, is_weighed) in [
            ("", false, false),
            ("where=trend:uptrend", true, false),
            ("where=name:trend", false, false),
            ("where=price>1 or (cap>1 score>60)", true, false),
            ("where=name:\"score>60\"", false, false),
            ("sort=-rsi", true, false),
            ("sort=-price", false, false),
            ("where=action:buy", true, true),
            ("where=name:action", false, false),
            ("query=advice", false, false),
            ("sort=recommendedAction", true, true),
            ("fields=advice", false, true),
            ("fields=advice&only=symbol", false, false),
            ("fields=securityScore", true, false),
        ] {
            let question = parsed::<TokensQuery>(&[], query).expect(query);
            let is_other = question.etag(&snapshot) != snapshot.etag(&question.target());
            assert_eq!(
                (question.heavy(&snapshot), is_other),
                (heavy, is_weighed),
                "{query}"
            );
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
            ("ABAB", Some(4)),
            ("aba", None),
            ("uniswpa", Some(5)),
            ("unl", None),
            ("doge", None),
        ] {
            assert_eq!(Needle::new(query, Vec::new()).rank(&uni), rank, "{query}");
        }
    }
}
