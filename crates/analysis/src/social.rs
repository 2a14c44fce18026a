//! Social metrics of a token, from its accounts, the posts about it, and the people, follows and reactions of the dataset. Pure. A metric whose
//! rows are missing is null, with the reason, and never 0. The formulas are this project's own; docs/social.md lists them with their limits.

mod posts;
mod rows;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use model::{rows::PostFigures, social::LIVE_WINDOW, time::Time};

pub(super) use self::{posts::Posts, rows::Social};

/// The rows that a social metric is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SocialSource {
    /// The token's row in `tokens`.
    Tokens,
    Posts,
    Kols,
    Accounts,
    /// Followers in `follows` whom the rule counts, by their rows in `people`.
    Follows,
    /// Reactions in `reactions` of people whom the rule counts.
    Reactions,
    /// Authors and reposters, by their rows in `people`.
    People,
    /// Balances in `holders` of the verified wallets in `people` and of the leaders in `kols`.
    Holders,
}

/// How a metric differs from the true value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SocialBound {
    /// The true value is this or more: some rows are not in the data.
    AtLeast,
    /// The true value is this or less: some people are counted more than once.
    AtMost,
}

/// Why a social metric is null, or a list empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SocialGap {
    /// `accounts` has no row of the token.
    NoAccounts,
    /// No account of the token has a number of followers.
    NoFollowerCounts,
    /// No post in the window counts.
    NoPosts,
    /// The platforms of the posts do not publish this number.
    NotPublished,
    /// `follows` has no follower of the token's accounts.
    NoFollows,
    /// `reactions` has no reaction to the posts.
    NoReactions,
    /// `people` has no row of the followers, authors or reactors.
    NoPeople,
    /// No row of `people` has a score, which the rule `score` needs.
    NoScores,
    /// The dataset has no `labels`, which the rule `list` needs.
    NoLabels,
    /// The token has no price.
    NoPrice,
    /// `holders` has no row of the token.
    NoHolders,
    /// A wallet that is not among the largest holders could change a number.
    SmallHoldersUnknown,
    /// The number of followers of a smart author is unknown.
    FollowersUnknown,
    /// No author has enough posts and a verified wallet.
    NoLeaders,
}

/// The basis of a social metric.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SocialMetric {
    #[serde(skip)]
    pub value: Option<i64>,
    pub source: Option<SocialSource>,
    /// Null: the value is complete as far as the data shows.
    pub bound: Option<SocialBound>,
    /// Why it is null.
    pub gap: Option<SocialGap>,
}

impl SocialMetric {
    fn of(value: impl Into<i64>, source: SocialSource) -> Self {
        Self {
            value: Some(value.into()),
            ..source.into()
        }
    }

    fn count(count: usize, source: SocialSource) -> Self {
        Self::of(i64::try_from(count).unwrap_or(i64::MAX), source)
    }

    pub(super) fn none(gap: SocialGap) -> Self {
        Self {
            gap: Some(gap),
            ..Self::default()
        }
    }

    fn bounded(self, bound: SocialBound, is_bounded: bool) -> Self {
        Self {
            bound: is_bounded.then_some(bound),
            ..self
        }
    }

    /// The value that `tokens` gives, if it does.
    pub(super) fn unless_given(self, given: Option<i64>) -> Self {
        given.map_or(self, |given| Self::of(given, SocialSource::Tokens))
    }
}

impl From<SocialSource> for SocialMetric {
    fn from(source: SocialSource) -> Self {
        Self {
            source: Some(source),
            ..Self::default()
        }
    }
}

/// The basis of each social metric of a token, by the metric's name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SocialMetrics {
    pub followers: SocialMetric,
    pub smart_followers: SocialMetric,
    pub impressions: SocialMetric,
    pub smart_reach: SocialMetric,
    pub post_engagement: SocialMetric,
    pub smart_engagement: SocialMetric,
    pub top_kols: SocialMetric,
    pub smart_follower_distribution: SocialMetric,
}

/// How a token's social metrics were counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SocialDetail {
    /// Who counts as smart: `score`, `holder` or `list`.
    pub smart_rule: &'static str,
    /// Posts count if they were published after this time; null: all posts count.
    pub from: Option<Time>,
    /// The newest post of the dataset; null without posts.
    pub to: Option<Time>,
    /// Number of posts that count.
    pub posts: u64,
    /// Number of posts of the window that do not count, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// Number of posts of the window that their platform deleted.
    pub deleted: u64,
    /// Platforms of the posts that count.
    pub platforms: BTreeSet<String>,
    /// Platforms of the token's accounts with a number of followers.
    pub account_platforms: BTreeSet<String>,
    /// Number of authors of these posts, and how many of them are in `people`.
    pub authors: u64,
    pub known_authors: u64,
    /// Share of the engagement that is on posts whose reactions are in the data; null without engagement.
    pub reaction_coverage: Option<f64>,
    /// Number of authors with enough posts to be leaders who verified no wallet, so that they are not in `top_kols`.
    pub leaders_without_wallet: u64,
    pub metrics: SocialMetrics,
}

/// Number of posts that count, and their engagement, in the 7 days up to the newest post of the dataset, from a token's posts, newest first; null
/// without any.
pub(crate) fn recent(
    posts: impl Iterator<Item = PostFigures>,
    newest: Option<Time>,
) -> (Option<i64>, Option<i64>) {
    let (mut mentions, mut engagement) = (None, None);
    for post in posts {
        let is_recent = newest.is_some_and(|newest| newest.0 - post.published_at.0 < LIVE_WINDOW);
        let counts = is_recent && post.is_counted();
        add(&mut mentions, Some(i64::from(counts)));
        add(&mut engagement, post.engagement.filter(|_| counts));
        if !is_recent {
            break;
        }
    }
    (mentions, engagement)
}

fn add(sum: &mut Option<i64>, more: Option<i64>) {
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or(0).saturating_add(more));
    }
}

#[cfg(test)]
mod tests;
