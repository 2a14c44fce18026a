//! A token's detail: social figures, leaders, how its supply is spread. Pure; every figure given in the data stands, the others are
//! derived where they can be.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    growth::{self, WhaleTrend},
    market::TokenSummary,
};
use crate::dataset::{
    Dataset, Token,
    address::Address,
    rows::{HolderRow, KolRow, Post},
};

const KOLS_MAX: usize = 10;
const POSTS_MAX: usize = 5;

/// Detail of one token.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TokenDetail {
    pub token_address: Address,
    pub symbol: Option<String>,
    pub name: Option<String>,
    /// USD.
    pub price: Option<f64>,
    /// USD.
    pub market_cap: Option<f64>,
    /// Followers of the token's accounts.
    pub followers: Option<i64>,
    /// Followers known as good investors.
    pub smart_followers: Option<i64>,
    /// Times its posts were seen.
    pub impressions: Option<i64>,
    /// People reached through smart followers.
    pub smart_reach: Option<i64>,
    /// Reactions to its posts.
    pub post_engagement: Option<i64>,
    /// Reactions of smart followers.
    pub smart_engagement: Option<i64>,
    /// The ten leaders with the most followers × engagement rate.
    pub top_kols: Vec<Kol>,
    pub smart_follower_distribution: SmartFollowerDistribution,
    /// The five posts with the most smart engagement.
    pub top_posts: Vec<Post>,
    pub holders_distribution: HoldersDistribution,
    /// What the whales did over the last 7 days; null without history.
    pub whale_accumulation_trend: Option<WhaleTrend>,
}

/// A key opinion leader.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Kol {
    pub kol_address: Address,
    /// Social handle.
    pub handle: Option<String>,
    pub followers: Option<i64>,
    /// Reactions a follower, 0-1.
    pub engagement_rate: Option<f64>,
}

/// The token's known smart-follower wallets by the USD value they hold; null without price, holders or leaders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SmartFollowerDistribution {
    pub whale_holders: Option<i64>,
    pub medium_holders: Option<i64>,
    pub small_holders: Option<i64>,
}

/// Fractions of the supply outside labelled burn addresses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct HoldersDistribution {
    pub top_10_holders: Option<f64>,
    pub top_50_holders: Option<f64>,
}

/// Where wallets begin to count as medium and as whales, and how much whales must move.
#[derive(Debug, Clone, Copy)]
pub struct Thresholds {
    pub whale_usd: f64,
    pub medium_usd: f64,
    pub whale_change_percent: f64,
}

pub fn detail(dataset: &Dataset, token: &Token, summary: &TokenSummary, thresholds: Thresholds) -> TokenDetail {
    let address = token.row.token_address;
    let posts = dataset.posts_of(&address);
    let kols = dataset.kols_of(&address);
    let counts = dataset.holder_counts_of(&address);
    TokenDetail {
        token_address: address,
        symbol: token.row.symbol.clone(),
        name: token.row.name.clone(),
        price: summary.price,
        market_cap: summary.market_cap,
        followers: token.row.followers,
        smart_followers: token.row.smart_followers,
        impressions: token.row.impressions.or_else(|| sum(posts, |post| post.impressions)),
        smart_reach: token.row.smart_reach,
        post_engagement: token.row.post_engagement.or_else(|| sum(posts, |post| post.engagement)),
        smart_engagement: token.row.smart_engagement.or_else(|| sum(posts, |post| post.smart_engagement)),
        top_kols: top_kols(kols),
        smart_follower_distribution: smart_followers(dataset, token, summary.price, thresholds),
        top_posts: top_posts(posts),
        holders_distribution: holders_distribution(dataset, token),
        whale_accumulation_trend: growth::whale_trend(counts, growth::WINDOW_DAYS_DEFAULT, thresholds.whale_change_percent),
    }
}

/// Sum of what is known; `None` when nothing is. Saturates rather than overflow.
fn sum(posts: &[Post], figure: impl Fn(&Post) -> Option<i64>) -> Option<i64> {
    posts.iter().filter_map(figure).reduce(i64::saturating_add)
}

/// By followers × engagement rate, ties by followers, then address; unknown counts as least.
fn top_kols(kols: &[KolRow]) -> Vec<Kol> {
    let weight = |kol: &KolRow| Some(kol.followers? as f64 * kol.engagement_rate?);
    let mut ranked: Vec<&KolRow> = kols.iter().collect();
    ranked.sort_by(|a, b| descending(weight(a), weight(b)).then(b.followers.cmp(&a.followers)).then(a.kol_address.cmp(&b.kol_address)));
    ranked.truncate(KOLS_MAX);
    ranked
        .into_iter()
        .map(|row| Kol {
            kol_address: row.kol_address,
            handle: row.handle.clone(),
            followers: row.followers,
            engagement_rate: row.engagement_rate,
        })
        .collect()
}

/// By smart engagement, then engagement, then newest, then id.
fn top_posts(posts: &[Post]) -> Vec<Post> {
    let mut ranked: Vec<&Post> = posts.iter().collect();
    ranked.sort_by(|a, b| {
        (b.smart_engagement.cmp(&a.smart_engagement))
            .then(b.engagement.cmp(&a.engagement))
            .then(b.published_at.cmp(&a.published_at))
            .then_with(|| a.post_id.cmp(&b.post_id))
    });
    ranked.into_iter().take(POSTS_MAX).cloned().collect()
}

fn smart_followers(dataset: &Dataset, token: &Token, price: Option<f64>, thresholds: Thresholds) -> SmartFollowerDistribution {
    let address = &token.row.token_address;
    let (kols, holders) = (dataset.kols_of(address), dataset.holders_of(address));
    let (Some(price), false, false) = (price, kols.is_empty(), holders.is_empty()) else {
        return SmartFollowerDistribution::default();
    };
    let (mut whale, mut medium, mut small) = (0, 0, 0);
    for holder in holders {
        // `kols` is ordered by address within a token.
        if kols.binary_search_by(|kol| kol.kol_address.cmp(&holder.holder_address)).is_err() {
            continue;
        }
        match holder.balance.map(|balance| balance * price) {
            Some(usd) if usd >= thresholds.whale_usd => whale += 1,
            Some(usd) if usd >= thresholds.medium_usd => medium += 1,
            Some(usd) if usd > 0.0 => small += 1,
            _ => {}
        }
    }
    SmartFollowerDistribution { whale_holders: Some(whale), medium_holders: Some(medium), small_holders: Some(small) }
}

/// Top ten and fifty of the holders outside burn addresses, over the supply that is not burned (else over what they hold together).
pub fn holders_distribution(dataset: &Dataset, token: &Token) -> HoldersDistribution {
    let holders = dataset.holders_of(&token.row.token_address);
    let burns = |holder: &&HolderRow| dataset.is_labelled(&holder.holder_address, "burn");
    let balance = |holder: &HolderRow| holder.balance.filter(|balance| *balance > 0.0);
    // The table keeps a token's holders largest first.
    let kept: Vec<f64> = holders.iter().filter(|holder| !burns(holder)).filter_map(balance).collect();
    let burned: f64 = holders.iter().filter(burns).filter_map(balance).sum();
    let supply = token.row.total_supply.map(|supply| supply - burned).filter(|supply| *supply > 0.0);
    let whole = supply.unwrap_or_else(|| kept.iter().sum());
    if kept.is_empty() || !whole.is_finite() || whole <= 0.0 {
        return HoldersDistribution::default();
    }
    let share = |n: usize| Some((kept.iter().take(n).sum::<f64>() / whole).clamp(0.0, 1.0));
    HoldersDistribution { top_10_holders: share(10), top_50_holders: share(50) }
}

/// Largest first, unknown last.
pub fn descending(a: Option<f64>, b: Option<f64>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => b.total_cmp(&a),
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}
