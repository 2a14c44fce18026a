//! Details of a token: social metrics, key opinion leaders, distribution of the supply. Pure; values given in the data take precedence,
//! others are derived where possible.

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    flows::groups::{GroupFlow, GroupFlows},
    growth::{self, WhaleChange, WhaleTrend},
    market::TokenSummary,
    numeric::descending,
    social::{Posts, Social, SocialDetail, SocialGap, SocialMetric, SocialMetrics, SocialSource},
};
use model::{
    address::Address,
    data::Data,
    rows::{KolRow, Post},
    time::Time,
    token::Token,
};

pub(crate) const KOLS_MAX: usize = 10;
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
    /// Followers of the token's own accounts: per platform, those of the largest account.
    pub followers: Option<i64>,
    /// Followers of the token's own accounts whom the rule `social.smart` counts. A score is a standing in the network, not skill as an investor.
    pub smart_followers: Option<i64>,
    /// Number of views of its posts, as far as platforms publish views.
    pub impressions: Option<i64>,
    /// People reached through smart authors and reposters: at most this many, because their followers overlap.
    pub smart_reach: Option<i64>,
    /// Number of reactions to its posts.
    pub post_engagement: Option<i64>,
    /// Number of reactions by people whom the rule `social.smart` counts.
    pub smart_engagement: Option<i64>,
    /// The ten key opinion leaders with the highest followers × engagement rate; without rows in `kols`, the ten authors with the most smart
    /// engagement, then engagement, then followers.
    pub top_kols: Vec<Kol>,
    pub smart_follower_distribution: SmartFollowerDistribution,
    /// The five posts with the most smart engagement.
    pub top_posts: Vec<Post>,
    pub holders_distribution: HoldersDistribution,
    /// Trend of the whales' balance over 7 days, from `transfers` or, without them, from `holder_counts`; null without history.
    pub whale_accumulation_trend: Option<WhaleTrend>,
    /// With `explain`: times of price and market cap, if they are in the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_as_of: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub market_cap_as_of: Option<Time>,
    /// With `explain`: the change behind `whale_accumulation_trend`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whale_change: Option<WhaleChange>,
    /// With `explain`: net flows by group, from `transfers`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<GroupFlow>>,
    /// With `explain`: how the social metrics were counted, and why one is null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub social: Option<Box<SocialDetail>>,
}

impl TokenDetail {
    /// As documented: without the `explain` fields.
    #[must_use]
    pub fn plain(self) -> Self {
        Self {
            price_as_of: None,
            market_cap_as_of: None,
            whale_change: None,
            flows: None,
            social: None,
            ..self
        }
    }
}

/// A key opinion leader; the address is a wallet that the leader verified, or the one in `kols`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Kol {
    pub kol_address: Address,
    /// Social handle.
    pub handle: Option<String>,
    pub followers: Option<i64>,
    /// Reactions per post and follower, usually 0-1; null below 100 followers if it is derived from posts.
    pub engagement_rate: Option<f64>,
}

/// The token's known smart-follower wallets by the USD value they hold; null without price, holders or leaders, or if
/// a leader who is not among the largest holders could change the number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SmartFollowerDistribution {
    pub whale_holders: Option<i64>,
    pub medium_holders: Option<i64>,
    pub small_holders: Option<i64>,
}

/// Fractions of the supply outside labeled burn addresses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct HoldersDistribution {
    pub top_10_holders: Option<f64>,
    pub top_50_holders: Option<f64>,
}

/// Thresholds for medium and whale wallets, and for a change of the whales' balance.
#[derive(Debug, Clone, Copy)]
pub struct Thresholds {
    pub whale_usd: f64,
    pub medium_usd: f64,
    pub whale_change_percent: f64,
}

/// Days that transfers may end before the holder counts and still give the whales' trend: the flows beside it are from them.
const FLOWS_LAG_DAYS: i32 = 7;

/// `flows`: what the token's transfers give. The whales' trend is from them unless they end more than a week before `holder_counts`.
pub fn detail(
    dataset: &dyn Data,
    token: &Token,
    summary: &TokenSummary,
    thresholds: Thresholds,
    flows: Option<GroupFlows>,
) -> TokenDetail {
    let row = &token.row;
    let address = row.token_address;
    let social = Social::new(dataset, address, summary.price, thresholds);
    let mut explained = SocialDetail {
        smart_rule: dataset.social().smart.word(),
        ..SocialDetail::default()
    };
    let posts = social.posts(&mut explained);
    let leaders = social.leaders(&posts, &mut explained);
    let kols = dataset.kols_of(&address);
    let (top_kols, leading) = match (kols.is_empty(), leaders.is_empty()) {
        (false, _) => (top_kols(kols), SocialMetric::from(SocialSource::Kols)),
        (true, false) => (leaders, SocialMetric::from(SocialSource::People)),
        (true, true) => (leaders, SocialMetric::none(SocialGap::NoLeaders)),
    };
    let (distribution, distributed) = social.distribution();
    let [impressions, engagement, smart_engagement] = social.sums(&posts);
    let metrics = SocialMetrics {
        followers: social.followers(&mut explained).unless_given(row.followers),
        smart_followers: social.smart_followers().unless_given(row.smart_followers),
        impressions: impressions.unless_given(row.impressions),
        smart_reach: social
            .smart_reach(&posts, &explained)
            .unless_given(row.smart_reach),
        post_engagement: engagement.unless_given(row.post_engagement),
        smart_engagement: smart_engagement.unless_given(row.smart_engagement),
        top_kols: leading,
        smart_follower_distribution: distributed,
    };
    explained.metrics = metrics;
    let counts = dataset.holder_counts_of(&address);
    let whales = growth::whale_change(
        counts,
        growth::WINDOW_DAYS_DEFAULT,
        thresholds.whale_change_percent,
    );
    let threshold = thresholds.whale_change_percent;
    let by_flows = flows
        .as_ref()
        .and_then(|flows| flows.whale_change(threshold));
    let whales = by_flows
        .filter(|flows| whales.is_none_or(|counted| counted.to.0 <= flows.to.0 + FLOWS_LAG_DAYS))
        .or(whales);
    TokenDetail {
        token_address: address,
        symbol: token.row.symbol.clone(),
        name: token.row.name.clone(),
        price: summary.price,
        market_cap: summary.market_cap,
        followers: metrics.followers.value,
        smart_followers: metrics.smart_followers.value,
        impressions: metrics.impressions.value,
        smart_reach: metrics.smart_reach.value,
        post_engagement: metrics.post_engagement.value,
        smart_engagement: metrics.smart_engagement.value,
        top_kols,
        smart_follower_distribution: distribution,
        top_posts: top_posts(dataset, &address, posts),
        holders_distribution: holders_distribution(dataset, token),
        whale_accumulation_trend: whales.map(|change| change.trend),
        price_as_of: summary.price_as_of,
        market_cap_as_of: summary.market_cap_as_of,
        whale_change: whales,
        flows: flows.map(super::flows::groups::GroupFlows::without_days),
        social: Some(Box::new(explained)),
    }
}

/// Sorted by descending followers × engagement rate, ties by followers, then address; unknown weights rank last.
fn top_kols(kols: &[KolRow]) -> Vec<Kol> {
    let weight = |kol: &KolRow| Some(kol.followers? as f64 * kol.engagement_rate?);
    let mut ranked: Vec<&KolRow> = kols.iter().collect();
    ranked.sort_by(|a, b| {
        descending(weight(a), weight(b))
            .then(b.followers.cmp(&a.followers))
            .then(a.kol_address.cmp(&b.kol_address))
    });
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

/// The posts that count, sorted by smart engagement, then engagement, then newest, then id.
fn top_posts(dataset: &dyn Data, token: &Address, posts: Posts) -> Vec<Post> {
    // A token's posts are stored newest first, ties by id, so their positions decide ties.
    let mut ranked = posts.ranked;
    if ranked.len() > POSTS_MAX {
        ranked.select_nth_unstable_by(POSTS_MAX, |a, b| b.cmp(a));
        ranked.truncate(POSTS_MAX);
    }
    ranked.sort_unstable_by(|a, b| b.cmp(a));
    let rows = dataset.posts_of(token);
    let post = |(smart_engagement, _, place): (Option<i64>, Option<i64>, Reverse<usize>)| {
        let post = rows.get(place.0)?;
        Some(Post {
            smart_engagement,
            ..post
        })
    };
    ranked.into_iter().filter_map(post).collect()
}

/// The supply that is not burned; if unknown, what its holders have together. `None` where that is nothing.
pub fn unburned_supply(dataset: &dyn Data, token: &Token) -> Option<f64> {
    unburned(dataset, token).0
}

/// A holder's fraction of `supply`, which is not burned; `None` for a burn address, whose tokens are no part of it.
pub fn share(
    dataset: &dyn Data,
    holder: &Address,
    balance: Option<f64>,
    supply: Option<f64>,
) -> Option<f64> {
    balance
        .zip(supply)
        .filter(|_| !burns(dataset, holder))
        .map(|(balance, supply)| balance / supply)
}

fn burns(dataset: &dyn Data, holder: &Address) -> bool {
    holder.is_burn_address() || dataset.is_labelled(holder, "burn")
}

/// The supply that is not burned, and the balances above zero that make it up, largest first.
fn unburned(dataset: &dyn Data, token: &Token) -> (Option<f64>, Vec<f64>) {
    let holders = dataset.holding_of(&token.row.token_address);
    // The table stores a token's holders in descending order.
    let (mut kept, mut burned): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    for (holder, balance) in holders.rows() {
        if burns(dataset, &holder) {
            &mut burned
        } else {
            &mut kept
        }
        .extend(balance.filter(|balance| *balance > 0.0));
    }
    let burned: f64 = burned.iter().sum();
    let supply = token
        .row
        .total_supply
        .map(|supply| supply - burned)
        .filter(|supply| *supply > 0.0);
    let whole = supply.unwrap_or_else(|| kept.iter().sum::<f64>() + holders.others().sum);
    (
        Some(whole).filter(|whole| whole.is_finite() && *whole > 0.0),
        kept,
    )
}

/// Shares of the ten and fifty largest holders, without burn addresses, in the unburned supply (or, if unknown, in their total balance).
pub fn holders_distribution(dataset: &dyn Data, token: &Token) -> HoldersDistribution {
    let (whole, kept) = unburned(dataset, token);
    let Some(whole) = whole.filter(|_| !kept.is_empty()) else {
        return HoldersDistribution::default();
    };
    let share = |n: usize| Some((kept.iter().take(n).sum::<f64>() / whole).clamp(0.0, 1.0));
    HoldersDistribution {
        top_10_holders: share(10),
        top_50_holders: share(50),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::Market;
    use load::sample;

    const THRESHOLDS: Thresholds = Thresholds {
        whale_usd: 100_000.0,
        medium_usd: 10_000.0,
        whale_change_percent: 1.0,
    };

    fn of(tables: &[(&str, &str)]) -> TokenDetail {
        let dataset = sample::dataset(tables);
        let market = Market::new(&dataset);
        detail(
            &dataset,
            &dataset.tokens()[0],
            &market.tokens[0],
            THRESHOLDS,
            None,
        )
    }

    fn tokens(columns: &str, values: &str) -> String {
        format!("token_address,symbol,name,chain,{columns}\n0x1,ONE,One,eth,{values}")
    }

    #[test]
    fn leaders_rank_by_weight_then_followers_then_address_and_unknown_last() {
        let kols = "token_address,kol_address,handle,followers,engagement_rate
            0x1,0xa1,tie-late,100,0.1
            0x1,0xa0,tie-early,100,0.1
            0x1,0xa2,tie-big,1000,0.01
            0x1,0xa3,top,1000,0.5
            0x1,0xa4,no-rate,9000000,
            0x1,0xa5,no-followers,,0.9
            0x1,0xa6,nothing-said,500,0";
        let detail = of(&[("tokens", &tokens("price", "1")), ("kols", kols)]);
        let handles: Vec<_> = detail
            .top_kols
            .iter()
            .filter_map(|kol| kol.handle.as_deref())
            .collect();
        assert_eq!(
            handles,
            [
                "top",
                "tie-big",
                "tie-early",
                "tie-late",
                "nothing-said",
                "no-rate",
                "no-followers"
            ]
        );
        let many = (0..12)
            .map(|i| format!("\n0x1,0xb{i:x},h{i},{i},1"))
            .collect::<Vec<_>>()
            .concat();
        let many = format!("token_address,kol_address,handle,followers,engagement_rate{many}");
        let detail = of(&[("tokens", &tokens("price", "1")), ("kols", &many)]);
        assert_eq!(
            detail
                .top_kols
                .iter()
                .map(|kol| kol.followers)
                .collect::<Vec<_>>(),
            (2..12).rev().map(Some).collect::<Vec<_>>()
        );
    }

    #[test]
    fn posts_rank_by_smart_engagement_then_engagement_then_newest_then_id() {
        let posts =
            "post_id,token_address,title,link,published_at,impressions,engagement,smart_engagement
            none,0x1,,,2026-01-09,1,99,
            old,0x1,,,2026-01-01,2,5,7
            new-b,0x1,,,2026-01-02,,5,7
            new-a,0x1,,,2026-01-02,,5,7
            most,0x1,,,2026-01-01,,6,7
            other,0x1,,,2026-01-01,,,3";
        let detail = of(&[("tokens", &tokens("price", "1")), ("posts", posts)]);
        let ids: Vec<_> = detail
            .top_posts
            .iter()
            .map(|post| post.post_id.as_str())
            .collect();
        assert_eq!(ids, ["most", "new-a", "new-b", "old", "other"]);
        // Sums over all posts, nulls skipped.
        assert_eq!(
            (
                detail.impressions,
                detail.post_engagement,
                detail.smart_engagement
            ),
            (Some(3), Some(120), Some(31))
        );
    }

    #[test]
    fn social_figures_are_given_or_summed_and_null_where_nothing_is_known() {
        let posts =
            "post_id,token_address,title,link,published_at,impressions,engagement,smart_engagement
            a,0x1,,,2026-01-01,9223372036854775807,,4
            b,0x1,,,2026-01-01,1,,";
        let given = of(&[
            ("tokens", &tokens("smart_engagement,smart_reach", "0,8")),
            ("posts", posts),
        ]);
        assert_eq!(
            (
                given.impressions,
                given.post_engagement,
                given.smart_engagement
            ),
            (Some(i64::MAX), None, Some(0))
        );
        assert_eq!((given.smart_reach, given.smart_followers), (Some(8), None));
        let without = of(&[("tokens", &tokens("price", "1"))]);
        assert_eq!(
            (
                without.impressions,
                without.smart_engagement,
                without.smart_reach
            ),
            (None, None, None)
        );
        assert_eq!(
            (
                without.top_kols,
                without.top_posts,
                without.whale_accumulation_trend
            ),
            (vec![], vec![], None)
        );
    }

    #[test]
    fn smart_followers_count_by_the_value_they_hold() {
        let kols = "token_address,kol_address,handle,followers,engagement_rate
            0x1,0xa1,,,\n0x1,0xa2,,,\n0x1,0xa3,,,\n0x1,0xa4,,,\n0x1,0xa5,,,\n0x1,0xa6,,,\n0x1,0xa7,,,";
        // At 2 USD: exactly a whale, one cent short of it, exactly medium, just below, almost nothing, nothing, unknown, and a holder who
        // is no leader.
        let holders = "token_address,holder_address,balance
            0x1,0xa1,50000\n0x1,0xa2,49999.99\n0x1,0xa3,5000\n0x1,0xa4,4999.99\n0x1,0xa5,0.000001\n0x1,0xa6,0\n0x1,0xa7,\n0x1,0xff,1e9";
        let counts = |tables: &[(&str, &str)]| {
            let found = of(tables).smart_follower_distribution;
            (
                found.whale_holders,
                found.medium_holders,
                found.small_holders,
            )
        };
        let (priced, unpriced) = (tokens("price", "2"), tokens("price", ""));
        assert_eq!(
            counts(&[("tokens", &priced), ("kols", kols), ("holders", holders)]),
            (Some(1), Some(2), Some(2))
        );
        for tables in [
            &[
                ("tokens", unpriced.as_str()),
                ("kols", kols),
                ("holders", holders),
            ][..],
            &[("tokens", &priced), ("holders", holders)],
            &[("tokens", &priced), ("kols", kols)],
        ] {
            assert_eq!(counts(tables), (None, None, None), "{tables:?}");
        }
        let strangers = "token_address,holder_address,balance\n0x1,0xff,5";
        assert_eq!(
            counts(&[("tokens", &priced), ("kols", kols), ("holders", strangers)]),
            (Some(0), Some(0), Some(0))
        );
    }

    #[test]
    fn shares_are_of_the_supply_that_is_not_burned() {
        let labels = "address,label\n0xdead,Burn\n0xe1,exchange";
        let eleven = (1..=11)
            .map(|i| format!("\n0x1,0xc{i:x},10"))
            .collect::<Vec<_>>()
            .concat();
        for (supply, rows, top_10, top_50) in [
            // 11 × 10 held and 90 burned, of 290: 200 remain.
            (
                "290",
                format!("{eleven}\n0x1,0xdead,90"),
                Some(0.5),
                Some(0.55),
            ),
            // Without a supply: relative to the unburned holdings.
            (
                "",
                format!("{eleven}\n0x1,0xdead,90"),
                Some(100.0 / 110.0),
                Some(1.0),
            ),
            // As much burned as the supply: treated as without a supply.
            (
                "90",
                format!("{eleven}\n0x1,0xdead,90"),
                Some(100.0 / 110.0),
                Some(1.0),
            ),
            // Holdings exceed the supply: clamped.
            ("50", eleven.clone(), Some(1.0), Some(1.0)),
            // Other labels do not burn; zero, negative and unknown balances hold nothing.
            (
                "40",
                "\n0x1,0xe1,10\n0x1,0xc1,0\n0x1,0xc2,-5\n0x1,0xc3,".to_owned(),
                Some(0.25),
                Some(0.25),
            ),
            ("40", "\n0x1,0xdead,10".to_owned(), None, None),
            ("40", "\n0x1,0xc1,0".to_owned(), None, None),
        ] {
            let tokens = tokens("total_supply", supply);
            let holders = format!("token_address,holder_address,balance{rows}");
            let found = of(&[
                ("tokens", &tokens),
                ("holders", &holders),
                ("labels", labels),
            ])
            .holders_distribution;
            assert_eq!(
                (found.top_10_holders, found.top_50_holders),
                (top_10, top_50),
                "supply {supply}, {rows}"
            );
        }
        assert_eq!(
            of(&[("tokens", &tokens("total_supply", "5"))]).holders_distribution,
            HoldersDistribution::default()
        );
    }

    #[test]
    fn a_clamped_share_is_a_finding_of_the_holders() {
        let holders = "token_address,holder_address,balance\n0x1,0xc1,60";
        for (supply, findings) in [("50", 2), ("60", 0)] {
            let dataset = sample::dataset(&[
                ("tokens", &tokens("total_supply", supply)),
                ("holders", holders),
            ]);
            let table = dataset.table("holders").expect("a table of the schema");
            assert_eq!(table.findings.kept().len(), findings, "supply {supply}");
        }
    }
}
