//! The query behind GET /posts/track-record: whose posts, on which candles. `analysis::track_record::posts` computes what followed them.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashSet},
};

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Dated, Query, mentions::mentions, request::request, security_record::ExcludedEvidence,
    snapshot::Snapshot, timeframes::interval, view::View,
};
use analysis::{
    timeframes::frame,
    track_record::posts::{Closes, HORIZONS, Horizon, Mention, PostsRecord, records, set_verdicts},
};
use model::{
    candles::Interval, error::Result, progress::Progress, rows::SocialPost, time::Time,
    token::Token,
};

/// Most authors shown.
const AUTHORS_MAX: usize = 50;

/// What no row uses.
const EXCLUDED: [ExcludedEvidence; 4] = [
    ExcludedEvidence {
        what: "deleted posts",
        why: "a post that was deleted before its first fetch is not in the data, and one deleted later no longer counts; authors who \
            delete their mistakes look better than they are",
    },
    ExcludedEvidence {
        what: "the token's own posts",
        why: "posts of its own accounts and channels (`matched_by` is `account` or `channel`) are announcements",
    },
    ExcludedEvidence {
        what: "dropped posts",
        why: "bots, floods, copies and lists (`dropped`) do not count",
    },
    ExcludedEvidence {
        what: "posts without an author",
        why: "they belong to no row",
    },
];

request! {
    PostsRecordQuery at "/posts/track-record" {
    }
}

/// What followed each author's posts: returns 1 hour, 1 day and 7 days after the first post about a token on a UTC day, compared with similar
/// candles of the same token, with the tokens that had no post that day, and with the author's posts moved in time. Expect no
/// difference: most published lists of successful authors are noise.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PostsTrackRecord {
    /// Time of the newest post that counts; null without any.
    pub as_of: Option<Time>,
    /// The times after the entry at which returns are measured.
    pub horizons: Vec<PostsHorizon>,
    /// The 50 authors with the most posts that count, most first.
    pub authors: Vec<AuthorRecord>,
    /// Number of authors with a post that counts.
    pub authors_total: u64,
    /// Posts that no row uses.
    pub excluded: Vec<ExcludedEvidence>,
    /// Reason for an empty list of authors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// The candles of one horizon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PostsHorizon {
    /// `1h`, `1d` or `7d`.
    pub horizon: &'static str,
    /// Length of the candles: the entry is the close of the first one that begins after the post.
    pub candles: &'static str,
    /// Number of tokens with these candles.
    pub tokens: u64,
    /// Reason for rows without returns. Hourly candles that are queried in place are not loaded.
    pub missing: Option<String>,
}

/// What followed one author's posts.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuthorRecord {
    /// The handle in the newest post, or the id without one.
    pub author: String,
    pub platform: Option<String>,
    /// Number of posts that count.
    pub posts: u64,
    /// One for each horizon. The verdicts are corrected for all rows in the response.
    pub records: Vec<PostsRecord>,
}

impl Query for PostsRecordQuery {
    type Answer = PostsTrackRecord;
    const NAME: &'static str = "posts_track_record";
    const SUMMARY: &'static str = "Get the returns after each author's posts, compared with similar candles and with the market.";
    const NEEDS: &'static [&'static str] = &["posts", "candles"];
    const HEAVY: bool = true;
    const DATED: Dated = Dated::Itself;

    fn as_of(&self, _: &Snapshot, answer: &PostsTrackRecord) -> Option<Time> {
        answer.as_of
    }

    fn answer(&self, view: &View<'_>, progress: &Progress) -> Result<PostsTrackRecord> {
        let (by_author, named) = counted_posts(view, progress)?;
        let newest = by_author.values().flatten().map(|post| post.0).max();
        let total = by_author.len() as u64;
        // The number of posts is no outcome, so it selects no lucky authors.
        let mut shown: Vec<_> = by_author.into_iter().collect();
        shown.sort_by_key(|(_, posts)| Reverse(posts.len()));
        shown.truncate(AUTHORS_MAX);
        let (mut authors, mut keys, mut mentions) = (Vec::new(), Vec::new(), Vec::new());
        for (author, ((platform, key), posts)) in shown.into_iter().enumerate() {
            mentions.extend(posts.iter().map(|&(time, token, _)| Mention {
                author,
                token,
                time,
            }));
            keys.push(format!("{platform:?} {key}"));
            authors.push(AuthorRecord {
                platform,
                posts: posts.len() as u64,
                author: posts.into_iter().max().map_or(key, |post| post.2),
                records: Vec::new(),
            });
        }
        let is_named = |day: i64, token: usize| named.contains(&(day, token));
        let (mut horizons, mut closes) = (Vec::new(), Vec::new());
        let mut timeframe = "";
        for horizon in HORIZONS {
            if timeframe != horizon.timeframe {
                timeframe = horizon.timeframe;
                closes = closes_of(view, horizon, progress)?;
            }
            let posts = (&keys[..], &mentions[..]);
            let of_authors = records(*horizon, (&closes, &is_named), posts, progress)?;
            for (author, record) in authors.iter_mut().zip(of_authors) {
                author.records.push(record);
            }
            let tokens = closes.iter().filter(|closes| !closes.is_empty()).count() as u64;
            let missing =
                format!("No token has `{timeframe}` candles, or shorter ones, in the loaded data.");
            horizons.push(PostsHorizon {
                horizon: horizon.word,
                candles: timeframe,
                tokens,
                missing: (tokens == 0).then_some(missing),
            });
        }
        set_verdicts(authors.iter_mut().flat_map(|author| &mut author.records));
        let missing = view.dataset.absence_reason("posts");
        let missing = missing.or_else(|| {
            let reason = "No post that counts has an author. Deleted and dropped posts and posts of the tokens' own accounts do not count.";
            authors.is_empty().then(|| reason.to_owned())
        });
        Ok(PostsTrackRecord {
            as_of: newest,
            horizons,
            authors,
            authors_total: total,
            excluded: EXCLUDED.to_vec(),
            missing,
        })
    }
}

/// The closes of each token of the dataset. Of candles queried in place, only the daily ones are loaded completely.
fn closes_of(view: &View<'_>, horizon: &Horizon, progress: &Progress) -> Result<Vec<Closes>> {
    let interval = interval(horizon.timeframe);
    let is_here = interval >= Interval::DAY || view.dataset.engine_rows("candles").is_none();
    let tokens = view.dataset.tokens();
    let of_token = |(done, token): (usize, &Token)| {
        progress.step(done as u64, tokens.len() as u64)?;
        let candles = view.dataset.candles().loaded(&token.row.token_address);
        let frame = frame(&candles.series(), interval)
            .filter(|_| is_here)
            .map(|frame| Closes::new(&frame.as_candles(), horizon));
        Ok(frame.unwrap_or_default())
    };
    tokens.iter().enumerate().map(of_token).collect()
}

/// The posts that count, by platform and author, each with the place of its token and the name of the author; and the days and tokens with a
/// post of any author.
type Posts = (
    BTreeMap<(Option<String>, String), Vec<(Time, usize, String)>>,
    HashSet<(i64, usize)>,
);

fn counted_posts(view: &View<'_>, progress: &Progress) -> Result<Posts> {
    let tokens = view.dataset.tokens();
    let mut posts = Posts::default();
    for (token, row) in tokens.iter().enumerate() {
        progress.step(token as u64, tokens.len() as u64)?;
        for post in mentions(&view.dataset, &row.row.token_address) {
            let time = post.published_at;
            posts.1.insert((i64::from(time.day().0), token));
            if let Some((key, name)) = author(&post) {
                let of_author = posts.0.entry((post.platform, key)).or_default();
                of_author.push((time, token, name));
            }
        }
    }
    Ok(posts)
}

/// What identifies the author of a post on its platform, and the name to show; `None` for the token's own accounts, and without an author.
fn author(post: &SocialPost) -> Option<(String, String)> {
    if matches!(post.matched_by.as_deref(), Some("account" | "channel")) {
        return None;
    }
    let known = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    let id = known(&post.author_id);
    let name = known(&post.author).or_else(|| id.clone())?;
    Some((id.unwrap_or_else(|| name.to_lowercase()), name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queries::tests::{answered, snapshot};
    use analysis::track_record::posts::PostsVerdict;
    use model::time::DAY_MS;

    const TOKENS: usize = 22;

    fn address(number: usize) -> String {
        format!("0x{number:040x}")
    }

    fn asked(posts: &str, candles: &str) -> PostsTrackRecord {
        let mut tokens = "token_address,symbol,name,chain\n".to_owned();
        for n in 1..=TOKENS {
            tokens += &format!("{},T{n},T,eth\n", address(n));
        }
        let mut tables = vec![("tokens", tokens.as_str())];
        tables.extend(Some(("posts", posts)).filter(|(_, rows)| !rows.is_empty()));
        tables.extend(Some(("candles", candles)).filter(|(_, rows)| !rows.is_empty()));
        answered::<PostsRecordQuery>(&snapshot(&tables), &[], "").expect("an answer")
    }

    /// Daily candles: those of the first token rise by 5% on each of the days that `rises`.
    fn candles(rises: impl Fn(i64) -> bool) -> String {
        let mut rows = "token_address,timestamp,interval,open,high,low,close,volume\n".to_owned();
        for token in 1..=TOKENS {
            let mut price = 100.0;
            for day in 20_000..20_400_i64 {
                // A small move that differs between tokens and days.
                let noise = ((day * 7 + token as i64 * 13) % 11 - 5) as f64 / 1_000.0;
                price *= 1.0 + noise + if token == 1 && rises(day) { 0.05 } else { 0.0 };
                let start = Time(day * DAY_MS);
                rows.push_str(&format!(
                    "{},{start},1d,{price},{price},{price},{price},1\n",
                    address(token)
                ));
            }
        }
        rows
    }

    fn post(nth: i64, token: usize, day: i64, rest: &str) -> String {
        let time = Time(day * DAY_MS + DAY_MS / 2);
        format!("p{nth},{},{time},{rest}\n", address(token))
    }

    const HEADER: &str =
        "post_id,token_address,published_at,author,author_id,platform,matched_by,dropped\n";

    #[test]
    fn an_author_whose_posts_come_before_rises_is_better() {
        let days: Vec<i64> = (0..30).map(|nth| 20_200 + 5 * nth).collect();
        let mut posts = HEADER.to_owned();
        for (nth, day) in days.iter().enumerate() {
            let nth = nth as i64;
            posts += &post(nth, 1, *day, "Anna,7,farcaster,cashtag,");
            // A new handle of the same author; own posts; dropped ones; one without an author.
            posts += &post(1_000 + nth, 2, day + 1, "Ann.eth,7,farcaster,mention,");
            posts += &post(2_000 + nth, 1, *day, "team,8,farcaster,account,");
            posts += &post(3_000 + nth, 1, *day, "bot,9,farcaster,cashtag,bot");
            posts += &post(4_000 + nth, 3, day - 1, ",,farcaster,cashtag,");
            posts += &post(5_000 + nth, 1, day + 2, "Anna,,x,,");
        }
        let answer = asked(&posts, &candles(|day| days.contains(&(day - 2))));
        let names: Vec<(&str, Option<&str>, u64)> = answer
            .authors
            .iter()
            .map(|it| (it.author.as_str(), it.platform.as_deref(), it.posts))
            .collect();
        assert_eq!(
            names,
            [("Ann.eth", Some("farcaster"), 60), ("Anna", Some("x"), 30)]
        );
        let [hour, day, week] = &answer.authors[0].records[..] else {
            panic!("{answer:?}")
        };
        assert_eq!(
            (hour.events, hour.median, hour.verdict),
            (0, None, PostsVerdict::TooFew)
        );
        assert!(
            answer.horizons[0]
                .missing
                .as_ref()
                .is_some_and(|why| why.contains("`1h`"))
        );
        assert_eq!(
            (answer.horizons[1].tokens, &answer.horizons[1].missing),
            (22, &None)
        );
        assert_eq!(
            (day.events, day.verdict),
            (60, PostsVerdict::Better),
            "{day:?}"
        );
        assert!(
            day.excess_market
                .is_some_and(|excess| (1.0..4.0).contains(&excess)),
            "{day:?}"
        );
        assert_eq!(week.horizon, "7d");
        let json = serde_json::to_value(&answer).expect("JSON");
        let row = &json["authors"][0]["records"][1];
        assert_eq!(
            (&row["verdict"], row["placebo"].as_array().map(Vec::len)),
            (&"better".into(), Some(2))
        );
        assert!(json.get("missing").is_none() && row["meanExcess"].is_number());
    }

    #[test]
    fn an_empty_list_has_a_reason() {
        let anonymous = format!("{HEADER}{}", post(1, 1, 20_200, ",,x,,"));
        let own = format!("{HEADER}{}", post(1, 1, 20_200, "team,,x,channel,"));
        for (posts, says) in [
            ("", "no `posts` table"),
            (&anonymous, "has an author"),
            (&own, "has an author"),
        ] {
            let answer = asked(posts, "");
            assert!(answer.authors.is_empty());
            assert!(
                answer.missing.is_some_and(|why| why.contains(says)),
                "{says}"
            );
        }
        let named = format!("{HEADER}{}", post(1, 1, 20_200, "Anna,,x,,"));
        let answer = asked(&named, "");
        assert_eq!((answer.authors.len(), answer.missing), (1, None));
        assert!(
            answer
                .horizons
                .iter()
                .all(|horizon| horizon.missing.is_some())
        );
    }

    #[test]
    fn only_the_authors_with_the_most_posts_are_shown() {
        let mut posts = HEADER.to_owned();
        for author in 0..60 {
            for nth in 0..=author / 10 {
                posts += &post(author * 10 + nth, 1, 20_200, &format!("a{author:02},,x,,"));
            }
        }
        let answer = asked(&posts, "");
        assert_eq!((answer.authors.len(), answer.authors_total), (50, 60));
        assert_eq!(
            (answer.authors[0].author.as_str(), answer.authors[0].posts),
            ("a50", 6)
        );
        assert!(answer.authors.iter().all(|it| it.author.as_str() >= "a10"));
    }
}
