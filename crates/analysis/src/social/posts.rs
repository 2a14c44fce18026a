//! The posts about a token in the window: their sums, their ranking, reactions to them, and their authors.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap, HashSet, hash_map::Entry},
};

use super::{
    SocialBound, SocialDetail, SocialGap, SocialMetric, SocialSource, add,
    rows::{Social, equal},
};
use crate::token::{KOLS_MAX, Kol};
use model::{
    address::Address,
    rows::SocialPost,
    time::{Day, Time},
};

/// An engagement rate over fewer followers says nothing.
const FOLLOWERS_LEAST: i64 = 100;
/// Posts that a leader needs, on two days or more: one viral post makes no leader.
const LEADER_POSTS: u64 = 2;

/// What the posts of the window sum up to.
#[derive(Debug, Default)]
pub(crate) struct Posts {
    pub(crate) impressions: Option<i64>,
    pub(crate) engagement: Option<i64>,
    pub(crate) smart_engagement: Option<i64>,
    /// By descending rank: smart engagement, engagement and place among the token's posts.
    pub(crate) ranked: Vec<(Option<i64>, Option<i64>, Reverse<usize>)>,
    /// Engagement of the posts whose reactions are in the data.
    covered: f64,
    /// Whether smart engagement was counted from reactions.
    by_reactions: bool,
    authors: HashMap<(String, String), Author>,
    /// Places in `people` of smart authors and reposters.
    smart: BTreeSet<usize>,
}

/// An author's posts in the window.
#[derive(Debug, Default)]
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

/// An author who qualifies as a leader.
struct Leader<'p> {
    /// Platform and id, which make the order definite.
    key: &'p (String, String),
    author: &'p Author,
    wallet: Address,
    handle: Option<&'p String>,
    followers: Option<i64>,
}

impl<'p> Leader<'p> {
    fn rank(&self) -> impl Ord + use<'p> {
        let author = self.author;
        let rank = Reverse((author.smart, author.engagement, self.followers));
        (rank, self.wallet, self.handle, self.key)
    }

    fn kol(&self) -> Kol {
        let author = self.author;
        let many = self.followers.filter(|count| *count >= FOLLOWERS_LEAST);
        let rate = |(count, sum): (i64, i64)| sum as f64 / (author.rated as f64 * count as f64);
        Kol {
            kol_address: self.wallet,
            handle: self.handle.cloned(),
            followers: self.followers,
            engagement_rate: many.zip(author.engagement).map(rate),
        }
    }
}

impl Social<'_> {
    /// One pass over the token's posts, newest first.
    pub(crate) fn posts(&self, detail: &mut SocialDetail) -> Posts {
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
        let reacted = self.reactions(&post, &mut posts.smart);
        if reacted.is_some() {
            posts.covered += post.engagement.unwrap_or(0) as f64;
        }
        posts.by_reactions |= post.smart_engagement.is_none() && reacted.is_some();
        let smart = post.smart_engagement.or(reacted);
        add(&mut posts.impressions, post.impressions);
        add(&mut posts.engagement, post.engagement);
        add(&mut posts.smart_engagement, smart);
        posts.ranked.push((smart, post.engagement, Reverse(place)));
        let platform = post.platform.unwrap_or_default();
        if !platform.is_empty() && !detail.platforms.contains(&platform) {
            detail.platforms.insert(platform.clone());
        }
        let Some(id) = post.author_id.or_else(|| post.author.clone()) else {
            return;
        };
        let day = post.published_at.day();
        let author = match posts.authors.entry((platform, id)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let (platform, id) = new.key();
                let person = self.place(platform, id);
                let smart = person.filter(|place| self.is_smart_at(*place));
                posts.smart.extend(smart);
                new.insert(Author {
                    person,
                    handle: post.author,
                    day,
                    ..Author::default()
                })
            }
        };
        author.posts += 1;
        author.several_days |= author.day != day;
        author.rated += i64::from(post.engagement.is_some());
        add(&mut author.engagement, post.engagement);
        add(&mut author.smart, smart);
    }

    /// Number of smart persons other than the author who reacted to the post; `None` if no person who reacted is known. Adds those who
    /// reposted it to `reposters`.
    fn reactions(&self, post: &SocialPost, reposters: &mut BTreeSet<usize>) -> Option<i64> {
        let platform = post.platform.as_deref().unwrap_or_default();
        let rows = equal(self.dataset.reactions(), |row| {
            (&*row.platform, &*row.post_id).cmp(&(platform, &*post.post_id))
        });
        let known = rows
            .iter()
            .filter_map(|row| Some((row, self.place(platform, &row.author_id)?)));
        let (mut smart, mut is_known) = (BTreeSet::new(), false);
        for (row, place) in known.filter(|_| self.rule_gap.is_none()) {
            is_known = true;
            if !self.is_smart_at(place) {
                continue;
            }
            if matches!(&*row.kind, "repost" | "quote") {
                reposters.insert(place);
            }
            if post.author_id.as_ref() != Some(&row.author_id) {
                smart.insert(place);
            }
        }
        let count = i64::try_from(smart.len()).ok();
        count.filter(|_| is_known)
    }

    /// Metrics that are sums over the posts: impressions, engagement and smart engagement.
    pub(crate) fn sums(&self, posts: &Posts) -> [SocialMetric; 3] {
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
    pub(crate) fn smart_reach(&self, posts: &Posts, detail: &SocialDetail) -> SocialMetric {
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
    pub(crate) fn leaders(&self, posts: &Posts, detail: &mut SocialDetail) -> Vec<Kol> {
        let mut leaders = Vec::new();
        for (key, author) in &posts.authors {
            let person = author.person.and_then(|place| self.people.get(place));
            let handle = person
                .and_then(|person| person.handle.as_ref())
                .or(author.handle.as_ref());
            if author.posts < LEADER_POSTS
                || !author.several_days
                || self.is_own(&key.0, &key.1, handle.map(String::as_str))
            {
                continue;
            }
            let wallets = person.map_or(&[][..], |person| &person.wallets);
            let balance = |wallet: &Address| self.balance(wallet).unwrap_or(0.0);
            // Of equal balances, `max_by` takes the last: in reverse order, the first wallet, which is the primary one.
            let largest = wallets
                .iter()
                .rev()
                .max_by(|a, b| balance(a).total_cmp(&balance(b)));
            match largest {
                Some(wallet) => leaders.push(Leader {
                    key,
                    author,
                    wallet: *wallet,
                    handle,
                    followers: person.and_then(|person| person.followers),
                }),
                None => detail.leaders_without_wallet += 1,
            }
        }
        leaders.sort_unstable_by_key(Leader::rank);
        // One person on two platforms.
        let mut seen = HashSet::new();
        leaders.retain(|leader| seen.insert(leader.wallet));
        leaders.truncate(KOLS_MAX);
        leaders.iter().map(Leader::kol).collect()
    }
}
