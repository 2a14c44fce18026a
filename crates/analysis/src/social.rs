//! Social metrics of a token, from its accounts, the posts about it, and the people, follows and reactions of the dataset. Pure. A metric whose
//! rows are missing is null, with the reason, and never 0. The formulas are this project's own; docs/social.md lists them with their limits.

use std::{
    cmp::{Ordering, Reverse},
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
};

use schemars::JsonSchema;
use serde::Serialize;

use super::token::{Kol, SmartFollowerDistribution, Thresholds};
use model::{
    address::Address,
    data::Data,
    rows::{AccountRow, KolRow, PersonRow, SocialPost},
    social::{LIVE_WINDOW, SmartRule},
    time::{Day, Time},
};

/// The quality score from which the rule `score` counts a person as smart.
const SMART_SCORE: f64 = 0.9;
/// An engagement rate over fewer followers says nothing.
const FOLLOWERS_LEAST: i64 = 100;
/// Posts that a leader needs, on two days or more: one viral post makes no leader.
const LEADER_POSTS: u64 = 2;
/// The label of the rule `list`.
const SMART_LABEL: &str = "smart";

model::words! {
    /// The rows that a social metric is from.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum SocialSource {
        /// The token's row in `tokens`.
        Tokens = "tokens",
        Posts = "posts",
        Kols = "kols",
        Accounts = "accounts",
        /// Followers in `follows` whom the rule counts, by their rows in `people`.
        Follows = "follows",
        /// Reactions in `reactions` of people whom the rule counts.
        Reactions = "reactions",
        /// Authors and reposters, by their rows in `people`.
        People = "people",
        /// Balances in `holders` of the verified wallets in `people` and of the leaders in `kols`.
        Holders = "holders",
    }
}

model::words! {
    /// How a metric differs from the true value.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum SocialBound {
        /// The true value is this or more: some rows are not in the data.
        AtLeast = "at_least",
        /// The true value is this or less: some people are counted more than once.
        AtMost = "at_most",
    }
}

model::words! {
    /// Why a social metric is null, or a list empty.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum SocialGap {
        /// `accounts` has no row of the token.
        NoAccounts = "no_accounts",
        /// No account of the token has a number of followers.
        NoFollowerCounts = "no_follower_counts",
        /// No post of the window counts.
        NoPosts = "no_posts",
        /// The platforms of the posts do not publish this number.
        NotPublished = "not_published",
        /// `follows` has no follower of the token's accounts.
        NoFollows = "no_follows",
        /// `reactions` has no reaction to the posts.
        NoReactions = "no_reactions",
        /// `people` has none of the persons.
        NoPeople = "no_people",
        /// Nobody in `people` has a score, which the rule `score` needs.
        NoScores = "no_scores",
        /// The dataset has no `labels`, which the rule `list` needs.
        NoLabels = "no_labels",
        /// The token has no price.
        NoPrice = "no_price",
        /// `holders` has no row of the token.
        NoHolders = "no_holders",
        /// A wallet that is not among the largest holders could change a number.
        SmallHoldersUnknown = "small_holders_unknown",
        /// The number of followers of a smart author is unknown.
        FollowersUnknown = "followers_unknown",
        /// No author has enough posts and a verified wallet.
        NoLeaders = "no_leaders",
    }
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

/// What the posts of the window sum up to.
#[derive(Debug, Default)]
pub(super) struct Posts {
    pub(super) impressions: Option<i64>,
    pub(super) engagement: Option<i64>,
    pub(super) smart_engagement: Option<i64>,
    /// By descending rank: smart engagement, engagement and place among the token's posts.
    pub(super) ranked: Vec<(Option<i64>, Option<i64>, Reverse<usize>)>,
    /// Engagement of the posts whose reactions are in the data.
    covered: f64,
    /// Whether smart engagement was counted from reactions.
    by_reactions: bool,
    authors: HashMap<(String, String), Author>,
    /// Places in `people` of smart authors and reposters.
    smart: BTreeSet<usize>,
}

/// An author's posts in the window.
#[derive(Debug)]
struct Author {
    /// Place in `people`.
    person: Option<usize>,
    handle: Option<String>,
    posts: u64,
    day: Day,
    several_days: bool,
    engagement: Option<i64>,
    /// Number of posts with a known engagement.
    rated: i64,
    smart: Option<i64>,
}

/// A token's rows for the social metrics.
pub(super) struct Social<'a> {
    dataset: &'a dyn Data,
    token: Address,
    accounts: &'a [AccountRow],
    kols: &'a [KolRow],
    people: &'a [PersonRow],
    rule: SmartRule,
    /// Why the rule can judge nobody.
    rule_gap: Option<SocialGap>,
    price: Option<f64>,
    thresholds: Thresholds,
    /// The token's balance in each wallet of a person or leader, by address; none if the wallet is no listed holder.
    balances: Vec<(Address, Option<f64>)>,
    /// The most that a holder who is not listed may have.
    unlisted: f64,
    has_holders: bool,
}

impl<'a> Social<'a> {
    pub(super) fn new(
        dataset: &'a dyn Data,
        token: Address,
        price: Option<f64>,
        thresholds: Thresholds,
    ) -> Self {
        let (people, kols) = (dataset.people(), dataset.kols_of(&token));
        let holders = dataset.holding_of(&token);
        let wallets = people.iter().flat_map(|person| &person.wallets);
        let mut balances: Vec<(Address, Option<f64>)> = wallets
            .chain(kols.iter().map(|kol| &kol.kol_address))
            .map(|wallet| (*wallet, None))
            .collect();
        balances.sort_unstable_by_key(|(wallet, _)| *wallet);
        balances.dedup_by_key(|(wallet, _)| *wallet);
        if !balances.is_empty() {
            for (holder, balance) in holders.rows() {
                if let Ok(place) = balances.binary_search_by_key(&holder, |(wallet, _)| *wallet)
                    && let Some((_, listed)) = balances.get_mut(place)
                {
                    *listed = Some(listed.unwrap_or(0.0) + balance.unwrap_or(0.0).max(0.0));
                }
            }
        }
        let mut social = Self {
            dataset,
            token,
            accounts: dataset.accounts_of(&token),
            kols,
            people,
            rule: dataset.social().smart,
            rule_gap: None,
            price,
            thresholds,
            balances,
            unlisted: holders.others().most,
            has_holders: !holders.is_empty(),
        };
        social.rule_gap = social.rule_gap();
        social
    }

    fn rule_gap(&self) -> Option<SocialGap> {
        if self.people.is_empty() {
            return Some(SocialGap::NoPeople);
        }
        match self.rule {
            SmartRule::Score => {
                let scored = self.people.iter().any(|person| person.score.is_some());
                (!scored).then_some(SocialGap::NoScores)
            }
            SmartRule::Holder => self.holding_gap(),
            SmartRule::List => (!self.dataset.has("labels")).then_some(SocialGap::NoLabels),
        }
    }

    fn holding_gap(&self) -> Option<SocialGap> {
        match self.price {
            None => Some(SocialGap::NoPrice),
            Some(_) => (!self.has_holders).then_some(SocialGap::NoHolders),
        }
    }

    fn is_smart(&self, person: &PersonRow) -> bool {
        match self.rule {
            SmartRule::Score => person.score.is_some_and(|score| score >= SMART_SCORE),
            SmartRule::Holder => {
                self.usd(&person.wallets).0 >= self.thresholds.medium_usd
                    && !person.wallets.is_empty()
            }
            SmartRule::List => person
                .wallets
                .iter()
                .any(|wallet| self.dataset.is_labelled(wallet, SMART_LABEL)),
        }
    }

    fn place(&self, platform: &str, id: &str) -> Option<usize> {
        let key = |person: &PersonRow| (&*person.platform, &*person.author_id).cmp(&(platform, id));
        self.people.binary_search_by(key).ok()
    }

    fn person(&self, platform: &str, id: &str) -> Option<&'a PersonRow> {
        self.people.get(self.place(platform, id)?)
    }

    fn balance(&self, wallet: &Address) -> Option<f64> {
        let place = self
            .balances
            .binary_search_by_key(wallet, |(wallet, _)| *wallet);
        place.ok().and_then(|place| self.balances.get(place)?.1)
    }

    /// USD of the token in the wallets: what is listed, and the most it may be with the wallets that are not listed.
    fn usd<'w>(&self, wallets: impl IntoIterator<Item = &'w Address>) -> (f64, f64) {
        let (mut listed, mut most) = (0.0, 0.0);
        for wallet in wallets {
            match self.balance(wallet) {
                Some(balance) => listed += balance,
                None => most += self.unlisted,
            }
        }
        let price = self.price.unwrap_or(0.0);
        (listed * price, (listed + most) * price)
    }

    /// Followers of the token's accounts: of several on one platform those of the largest, which most of the others' followers follow too.
    pub(super) fn followers(&self, detail: &mut SocialDetail) -> SocialMetric {
        let mut largest: BTreeMap<&str, i64> = BTreeMap::new();
        for account in self.accounts {
            let id = account.account_id.as_deref().unwrap_or(&account.account);
            let person = || self.person(&account.platform, id)?.followers;
            if let Some(followers) = account.followers.or_else(person) {
                let most = largest.entry(&account.platform).or_insert(followers);
                *most = followers.max(*most);
            }
        }
        detail.account_platforms = largest.keys().map(|name| (*name).to_owned()).collect();
        match largest.into_values().reduce(i64::saturating_add) {
            Some(sum) => SocialMetric::of(sum, SocialSource::Accounts),
            None if self.accounts.is_empty() => SocialMetric::none(SocialGap::NoAccounts),
            None => SocialMetric::none(SocialGap::NoFollowerCounts),
        }
    }

    /// Persons whom the rule counts and who follow an account of the token, each once.
    pub(super) fn smart_followers(&self) -> SocialMetric {
        if self.accounts.is_empty() {
            return SocialMetric::none(SocialGap::NoAccounts);
        }
        let (mut all, mut is_whole) = (BTreeSet::new(), true);
        for account in self.accounts {
            let platform = account.platform.as_str();
            let listed: BTreeSet<&str> = [Some(&account.account), account.account_id.as_ref()]
                .into_iter()
                .flatten()
                .flat_map(|name| {
                    equal(self.dataset.follows(), |row| {
                        (&*row.platform, &*row.account).cmp(&(platform, name))
                    })
                })
                .map(|row| row.follower_id.as_str())
                .collect();
            is_whole &= account.followers.is_some_and(|count| {
                usize::try_from(count).is_ok_and(|count| count <= listed.len())
            });
            all.extend(listed.into_iter().map(|id| (platform, id)));
        }
        if all.is_empty() {
            return SocialMetric::none(SocialGap::NoFollows);
        }
        if let Some(gap) = self.rule_gap {
            return SocialMetric::none(gap);
        }
        let known: Vec<&PersonRow> = all
            .iter()
            .filter_map(|(platform, id)| self.person(platform, id))
            .collect();
        is_whole &= known.len() == all.len();
        let smart = known.into_iter().filter(|person| self.is_smart(person));
        let wallets: Vec<&[Address]> = smart.map(|person| &*person.wallets).collect();
        SocialMetric::count(persons(&wallets).len(), SocialSource::Follows)
            .bounded(SocialBound::AtLeast, !is_whole)
    }

    /// One pass over the token's posts, newest first.
    pub(super) fn posts(&self, detail: &mut SocialDetail) -> Posts {
        let mut posts = Posts::default();
        let newest = self.dataset.newest_post();
        let window = self.dataset.social().window;
        detail.to = newest;
        detail.from = newest
            .zip(window)
            .map(|(newest, window)| Time(newest.0.saturating_sub(window)));
        let rows = self.dataset.posts_of(&self.token);
        for (place, post) in rows.social().enumerate() {
            if detail.from.is_some_and(|from| post.published_at <= from) {
                break;
            }
            if post.gone_at.is_some() {
                detail.deleted += 1;
            } else if let Some(reason) = post.dropped {
                *detail.dropped.entry(reason).or_default() += 1;
            } else {
                self.count(&mut posts, detail, place, post);
            }
        }
        detail.authors = posts.authors.len() as u64;
        let is_known = |author: &&Author| author.person.is_some();
        detail.known_authors = posts.authors.values().filter(is_known).count() as u64;
        detail.reaction_coverage = posts
            .engagement
            .filter(|sum| *sum > 0)
            .map(|sum| posts.covered / sum as f64);
        posts
    }

    fn count(&self, posts: &mut Posts, detail: &mut SocialDetail, place: usize, post: SocialPost) {
        detail.posts += 1;
        let platform = post.platform.unwrap_or_default();
        if !platform.is_empty() && !detail.platforms.contains(&platform) {
            detail.platforms.insert(platform.clone());
        }
        let person = post
            .author_id
            .as_deref()
            .and_then(|id| self.place(&platform, id));
        let reacted = self.reactions(
            (&platform, &post.post_id),
            (post.author_id.as_deref(), person),
            posts,
        );
        if reacted.is_some() {
            posts.covered += post.engagement.unwrap_or(0) as f64;
        }
        let reacted = reacted.filter(|_| self.rule_gap.is_none());
        posts.by_reactions |= post.smart_engagement.is_none() && reacted.is_some();
        let smart = post.smart_engagement.or(reacted);
        add(&mut posts.impressions, post.impressions);
        add(&mut posts.engagement, post.engagement);
        add(&mut posts.smart_engagement, smart);
        posts.ranked.push((smart, post.engagement, Reverse(place)));
        if let Some(id) = post.author_id.or_else(|| post.author.clone()) {
            let day = post.published_at.day();
            let author = posts.authors.entry((platform, id)).or_insert(Author {
                person,
                handle: post.author,
                posts: 0,
                day,
                several_days: false,
                engagement: None,
                rated: 0,
                smart: None,
            });
            author.posts += 1;
            author.several_days |= author.day != day;
            author.rated += i64::from(post.engagement.is_some());
            add(&mut author.engagement, post.engagement);
            add(&mut author.smart, smart);
        }
        posts
            .smart
            .extend(person.filter(|place| self.is_smart_at(*place)));
    }

    fn is_smart_at(&self, place: usize) -> bool {
        self.people
            .get(place)
            .is_some_and(|person| self.is_smart(person))
    }

    /// Number of smart persons other than the author who reacted to the post; `None` without reactions in the data.
    fn reactions(
        &self,
        post: (&str, &str),
        (author, person): (Option<&str>, Option<usize>),
        posts: &mut Posts,
    ) -> Option<i64> {
        let rows = equal(self.dataset.reactions(), |row| {
            (&*row.platform, &*row.post_id).cmp(&post)
        });
        if rows.is_empty() {
            return None;
        }
        let mut smart = BTreeSet::new();
        for row in rows {
            let place = self.place(post.0, &row.author_id);
            let Some(place) = place.filter(|place| self.is_smart_at(*place)) else {
                continue;
            };
            if matches!(&*row.kind, "repost" | "quote") {
                posts.smart.insert(place);
            }
            if Some(row.author_id.as_str()) != author && Some(place) != person {
                smart.insert(place);
            }
        }
        i64::try_from(smart.len()).ok()
    }

    /// Metrics that are sums over the posts: impressions, engagement and smart engagement.
    pub(super) fn sums(&self, posts: &Posts) -> [SocialMetric; 3] {
        let gap = |gap| {
            SocialMetric::none(if posts.ranked.is_empty() {
                SocialGap::NoPosts
            } else {
                gap
            })
        };
        let sum = |sum: Option<i64>| {
            sum.map_or_else(
                || gap(SocialGap::NotPublished),
                |sum| SocialMetric::of(sum, SocialSource::Posts),
            )
        };
        let without_reactions = match self.rule_gap {
            Some(rule) if !self.dataset.reactions().is_empty() => gap(rule),
            _ => gap(SocialGap::NoReactions),
        };
        let smart = match posts.smart_engagement {
            Some(sum) if posts.by_reactions => {
                SocialMetric::of(sum, SocialSource::Reactions).bounded(SocialBound::AtLeast, true)
            }
            Some(sum) => SocialMetric::of(sum, SocialSource::Posts),
            None => without_reactions,
        };
        [sum(posts.impressions), sum(posts.engagement), smart]
    }

    /// Followers of smart people who wrote, reposted or quoted a post: a person who follows two of them counts twice.
    pub(super) fn smart_reach(&self, posts: &Posts, detail: &SocialDetail) -> SocialMetric {
        if posts.ranked.is_empty() {
            return SocialMetric::none(SocialGap::NoPosts);
        }
        if let Some(gap) = self.rule_gap {
            return SocialMetric::none(gap);
        }
        if detail.known_authors == 0 && posts.smart.is_empty() {
            return SocialMetric::none(SocialGap::NoPeople);
        }
        let people = posts
            .smart
            .iter()
            .filter_map(|place| self.people.get(*place));
        match people
            .map(|person| person.followers)
            .try_fold(0_i64, |sum, count| Some(sum.saturating_add(count?)))
        {
            Some(sum) => {
                SocialMetric::of(sum, SocialSource::People).bounded(SocialBound::AtMost, true)
            }
            None => SocialMetric::none(SocialGap::FollowersUnknown),
        }
    }

    /// Authors with two posts or more on two days or more and a verified wallet, without the token's own accounts: by smart engagement, then
    /// engagement, then followers, then address.
    pub(super) fn leaders(&self, posts: &Posts, detail: &mut SocialDetail) -> Vec<Kol> {
        let mut leaders = Vec::new();
        for ((platform, id), author) in &posts.authors {
            let person = author.person.and_then(|place| self.people.get(place));
            let handle = person
                .and_then(|person| person.handle.as_ref())
                .or(author.handle.as_ref());
            if author.posts < LEADER_POSTS
                || !author.several_days
                || self.is_own(platform, id, handle.map(String::as_str))
            {
                continue;
            }
            let wallets = person.map_or(&[][..], |person| &person.wallets);
            let balance = |wallet: &Address| self.balance(wallet).unwrap_or(0.0);
            // The last of equals is the largest: in reverse, the first wallet, which the person names as the main one.
            let largest = wallets
                .iter()
                .rev()
                .max_by(|a, b| balance(a).total_cmp(&balance(b)));
            let Some(wallet) = largest else {
                detail.leaders_without_wallet += 1;
                continue;
            };
            let followers = person.and_then(|person| person.followers);
            let rate = followers
                .filter(|count| *count >= FOLLOWERS_LEAST)
                .zip(author.engagement)
                .map(|(count, sum)| sum as f64 / (author.rated as f64 * count as f64));
            let rank = Reverse((author.smart, author.engagement, followers));
            leaders.push((
                rank,
                Kol {
                    kol_address: *wallet,
                    handle: handle.cloned(),
                    followers,
                    engagement_rate: rate,
                },
            ));
        }
        leaders.sort_by(|(rank, a), (other, b)| {
            rank.cmp(other)
                .then(a.kol_address.cmp(&b.kol_address))
                .then(a.handle.cmp(&b.handle))
        });
        // One person on two platforms.
        let mut seen = HashSet::new();
        leaders
            .into_iter()
            .map(|(_, leader)| leader)
            .filter(|leader| seen.insert(leader.kol_address))
            .collect()
    }

    fn is_own(&self, platform: &str, id: &str, handle: Option<&str>) -> bool {
        let plain = |name: &'_ str| name.rsplit(['/', '@']).next().unwrap_or(name).to_owned();
        self.accounts.iter().any(|account| {
            let is_handle = |handle| plain(handle).eq_ignore_ascii_case(&plain(&account.account));
            account.platform == platform
                && (account.account_id.as_deref() == Some(id)
                    || account.account == id
                    || handle.is_some_and(is_handle))
        })
    }

    /// Smart persons and leaders by the USD value of the token in their wallets.
    pub(super) fn distribution(&self) -> (SmartFollowerDistribution, SocialMetric) {
        let none = |gap| {
            (
                SmartFollowerDistribution::default(),
                SocialMetric::none(gap),
            )
        };
        if let Some(gap) = self.holding_gap() {
            return none(gap);
        }
        let smart = match self.rule_gap {
            Some(gap) if self.kols.is_empty() => return none(gap),
            Some(_) => Vec::new(),
            None => self.people.iter().filter(|p| self.is_smart(p)).collect(),
        };
        let leaders = self
            .kols
            .iter()
            .map(|kol| std::slice::from_ref(&kol.kol_address));
        let smart = smart.iter().map(|person| &*person.wallets);
        let wallets: Vec<&[Address]> = leaders.chain(smart).collect();
        let class = |usd: f64| {
            let thresholds = [
                f64::MIN_POSITIVE,
                self.thresholds.medium_usd,
                self.thresholds.whale_usd,
            ];
            thresholds.iter().filter(|least| usd >= **least).count()
        };
        let (mut counts, mut is_known) = ([0_i64; 4], [true; 4]);
        for person in persons(&wallets) {
            let (listed, most) = self.usd(&person);
            let (least, most) = (class(listed), class(most));
            counts[least] += 1;
            // A wallet that is not listed may lift the person into any class up to this one.
            if least < most {
                is_known[least..=most].fill(false);
            }
        }
        let counted = |class: usize| is_known[class].then_some(counts[class]);
        let found = SmartFollowerDistribution {
            whale_holders: counted(3),
            medium_holders: counted(2),
            small_holders: counted(1),
        };
        let is_unknown = found.small_holders.is_none();
        let gap = is_unknown.then_some(SocialGap::SmallHoldersUnknown);
        let metric = SocialMetric::from(SocialSource::Holders);
        (found, SocialMetric { gap, ..metric })
    }
}

/// Posts that count, and their engagement, in the 7 days up to the newest post of the dataset; null for a token without posts.
pub fn recent(
    dataset: &dyn Data,
    token: &Address,
    newest: Option<Time>,
) -> (Option<i64>, Option<i64>) {
    let Some(newest) = newest else {
        return (None, None);
    };
    let from = newest.0.saturating_sub(LIVE_WINDOW);
    let posts = dataset.posts_of(token);
    let (mut mentions, mut engagement) = (None, None);
    for post in posts.figures() {
        let is_recent = post.published_at.0 > from;
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

/// The rows that are equal to a key, of rows in the order of the key.
fn equal<T>(rows: &[T], order: impl Fn(&T) -> Ordering) -> &[T] {
    let start = rows.partition_point(|row| order(row).is_lt());
    let (_, rows) = rows.split_at(start);
    rows.split_at(rows.partition_point(|row| order(row).is_eq()))
        .0
}

/// Accounts as persons: accounts that share a wallet are one person. The wallets of each person; none for an account without wallets.
fn persons(accounts: &[&[Address]]) -> Vec<BTreeSet<Address>> {
    let mut parents: Vec<usize> = (0..accounts.len()).collect();
    let mut owners: HashMap<Address, usize> = HashMap::new();
    for (place, wallets) in accounts.iter().enumerate() {
        for wallet in *wallets {
            let owner = *owners.entry(*wallet).or_insert(place);
            let (a, b) = (root(&mut parents, owner), root(&mut parents, place));
            parents[b] = a;
        }
    }
    let mut found: BTreeMap<usize, BTreeSet<Address>> = BTreeMap::new();
    for (place, wallets) in accounts.iter().enumerate() {
        let person = found.entry(root(&mut parents, place)).or_default();
        person.extend(*wallets);
    }
    found.into_values().collect()
}

fn root(parents: &mut [usize], mut place: usize) -> usize {
    while parents[place] != place {
        // Halves the way for the next search.
        parents[place] = parents[parents[place]];
        place = parents[place];
    }
    place
}
