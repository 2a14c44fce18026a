//! The query behind GET /analytics/tokens/holders-growth and its alias under /api.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Query,
    parameter::{EXPLAIN, ParameterKind, parameter},
    request::request,
    snapshot::Snapshot,
    view::View,
};
use analysis::{growth, market::TokenSummary, numeric::descending};
use model::{
    address::Address,
    error::Result,
    progress::Progress,
    time::{Day, Time},
};

request! {
    GrowthQuery at "/analytics/tokens/holders-growth" {
        limit: u64 = parameter("limit", ParameterKind::Integer { min: 1, max: 1_000, default: 10 }, "Number of tokens to return."),
        /// In days.
        window: u64 = parameter("window", ParameterKind::Word { words: WINDOWS, default: Some("7") }, "Growth period in days."),
        explain: bool = EXPLAIN,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HoldersGrowth {
    pub limit: u64,
    /// Largest growth first; ties by market cap, then address.
    pub tokens: Vec<GrowthEntry>,
    /// With `explain`: reason for an empty ranking: the table that is missing or unusable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// A token in the ranking.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GrowthEntry {
    pub token_address: Address,
    pub symbol: Option<String>,
    pub name: Option<String>,
    /// Percent over the window.
    pub holders_growth: f64,
    /// USD.
    pub price: Option<f64>,
    /// USD.
    pub market_cap: Option<f64>,
    /// With `explain`: day of the token's latest holder count, the end of the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_counted: Option<Day>,
    /// With `explain`: day of the holder count at the start of the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_counted: Option<Day>,
    /// With `explain`: times of price and market cap, if the data has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_as_of: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub market_cap_as_of: Option<Time>,
}

/// The windows, in days.
pub const WINDOWS: &[&str] = &["1", "7", "30"];

impl Query for GrowthQuery {
    type Answer = HoldersGrowth;
    const NAME: &'static str = "holders_growth";
    const SUMMARY: &'static str = "Rank tokens by holder growth.";
    const NEEDS: &'static [&'static str] = &[];

    fn as_of(&self, snapshot: &Snapshot, answer: &HoldersGrowth) -> Option<Time> {
        let counted = |entry: &GrowthEntry| {
            snapshot
                .dataset
                .holder_counts_of(&entry.token_address)
                .last()
        };
        answer
            .tokens
            .iter()
            .filter_map(counted)
            .map(|count| count.date.start())
            .max()
    }

    fn answer(&self, view: &View<'_>, progress: &Progress) -> Result<HoldersGrowth> {
        let mut ranked: Vec<(&TokenSummary, growth::Growth)> = Vec::new();
        let total = view.market.tokens.len() as u64;
        for (i, token) in view.market.tokens.iter().enumerate() {
            if i % 4_096 == 0 {
                progress.step(i as u64, total)?;
            }
            if let Some(growth) = growth::growth(
                view.dataset.holder_counts_of(&token.token_address),
                self.window,
            ) {
                ranked.push((token, growth));
            }
        }
        ranked.sort_by(|(a, grown_a), (b, grown_b)| {
            (grown_b.percent.total_cmp(&grown_a.percent))
                .then_with(|| descending(a.market_cap, b.market_cap))
                .then(a.token_address.cmp(&b.token_address))
        });
        ranked.truncate(usize::try_from(self.limit).unwrap_or(usize::MAX));
        let tokens = ranked
            .into_iter()
            .map(|(token, growth)| self.entry(token, growth))
            .collect();
        let missing = view
            .dataset
            .absence_reason("holder_counts")
            .filter(|_| self.explain);
        Ok(HoldersGrowth {
            limit: self.limit,
            tokens,
            missing,
        })
    }
}

impl GrowthQuery {
    fn entry(&self, token: &TokenSummary, growth: growth::Growth) -> GrowthEntry {
        GrowthEntry {
            token_address: token.token_address,
            symbol: token.symbol.clone(),
            name: token.name.clone(),
            holders_growth: growth.percent,
            price: token.price,
            market_cap: token.market_cap,
            last_counted: self.explain.then_some(growth.last),
            base_counted: self.explain.then_some(growth.base),
            price_as_of: token.price_as_of.filter(|_| self.explain),
            market_cap_as_of: token.market_cap_as_of.filter(|_| self.explain),
        }
    }
}
