//! Which matched posts do not count: those of bots and spammers, copies, and lists of tokens. They stay in the table with the reason. Pure
//! functions of the posts of one refresh; no likes are judged, because no rule for bought ones is proven.

use std::collections::HashMap;

use model::{
    address::Address,
    time::{DAY_MS, Time},
    untrusted::visible,
};

/// Quality score below which an author's posts do not count.
const SCORE_MIN: f64 = 0.3;
/// Posts of an author on a token within a day that count.
const POSTS_PER_DAY_MAX: usize = 20;
/// Authors with the same text within a day from which the text is a campaign.
const COPY_AUTHORS_MIN: usize = 3;

model::words! {
    /// Why a post does not count; if several reasons apply, the first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Dropped {
        /// The service marks the author as a bot.
        Bot = "bot",
        /// The author's quality score is below 0.3.
        LowScore = "low_score",
        /// The author's 21st or a later post on the token within 24 hours.
        Flood = "flood",
        /// At least 3 authors posted the text within 24 hours, and another post was the first.
        Copy = "copy",
        /// It names many tokens; see `matching::is_list`.
        List = "list",
    }
}

/// A matched post.
#[derive(Debug, Clone, Default)]
pub(crate) struct MatchedPost<'a> {
    pub(crate) token: Address,
    pub(crate) post_id: &'a str,
    pub(crate) platform: &'a str,
    pub(crate) author_id: Option<&'a str>,
    pub(crate) published_at: Time,
    pub(crate) text: &'a str,
    pub(crate) is_bot: bool,
    pub(crate) score: Option<f64>,
    pub(crate) is_list: bool,
}

/// For each post, why it does not count; `None` if it counts. The order of the posts does not matter.
pub(crate) fn dropped(posts: &[MatchedPost<'_>]) -> Vec<Option<Dropped>> {
    let own = |post: &MatchedPost<'_>| {
        let is_low = post.score.is_some_and(|score| score < SCORE_MIN);
        let first = is_low.then_some(Dropped::LowScore);
        if post.is_bot {
            Some(Dropped::Bot)
        } else {
            first
        }
    };
    let mut reasons: Vec<Option<Dropped>> = posts.iter().map(own).collect();
    let mut by_author: HashMap<_, Vec<usize>> = HashMap::new();
    let mut by_text: HashMap<_, Vec<usize>> = HashMap::new();
    for row in in_order(posts) {
        let post = &posts[row];
        let Some(author) = post.author_id else {
            continue;
        };
        let on_token = by_author.entry((post.token, post.platform, author));
        on_token.or_default().push(row);
        let text = same_text(post.text);
        if !text.is_empty() {
            by_text.entry((post.token, text)).or_default().push(row);
        }
    }
    for rows in by_author.values() {
        for (first, row) in rows.iter().zip(rows.iter().skip(POSTS_PER_DAY_MAX)) {
            if is_within_day(&posts[*first], &posts[*row]) {
                reasons[*row].get_or_insert(Dropped::Flood);
            }
        }
    }
    for rows in by_text.values() {
        for row in copies(posts, rows) {
            reasons[row].get_or_insert(Dropped::Copy);
        }
    }
    for (reason, post) in reasons.iter_mut().zip(posts) {
        *reason = reason.or(post.is_list.then_some(Dropped::List));
    }
    reasons
}

/// The posts by time.
fn in_order(posts: &[MatchedPost<'_>]) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..posts.len()).collect();
    rows.sort_by_key(|row| (posts[*row].published_at, posts[*row].post_id));
    rows
}

fn is_within_day(first: &MatchedPost<'_>, later: &MatchedPost<'_>) -> bool {
    later.published_at.0.saturating_sub(first.published_at.0) < DAY_MS
}

/// Of posts with one text, in order of time, those that follow another in a span of 24 hours with enough authors.
fn copies(posts: &[MatchedPost<'_>], rows: &[usize]) -> Vec<usize> {
    let author = |row: usize| (posts[row].platform, posts[row].author_id);
    let mut authors: HashMap<_, usize> = HashMap::new();
    let (mut copies, mut end, mut found) = (Vec::new(), 0, 0);
    for (start, first) in rows.iter().enumerate() {
        while end < rows.len() && is_within_day(&posts[*first], &posts[rows[end]]) {
            *authors.entry(author(rows[end])).or_default() += 1;
            end += 1;
        }
        if authors.len() >= COPY_AUTHORS_MIN {
            copies.extend(&rows[found.max(start + 1)..end]);
            found = end;
        }
        let count = authors.entry(author(*first)).or_default();
        *count -= 1;
        if *count == 0 {
            authors.remove(&author(*first));
        }
    }
    copies
}

/// The text in lower case, without invisible characters and with one blank between words.
fn same_text(text: &str) -> String {
    let text = visible(text).to_lowercase();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{
        Dropped::{Bot, Copy, Flood, List, LowScore},
        *,
    };

    const HOUR: i64 = DAY_MS / 24;

    fn post<'a>(author: &'a str, at: i64, text: &'a str) -> MatchedPost<'a> {
        MatchedPost {
            platform: "farcaster",
            author_id: Some(author),
            published_at: Time(at),
            text,
            ..MatchedPost::default()
        }
    }

    #[test]
    fn a_bot_a_low_score_and_a_list_do_not_count() {
        let one = || post("a", 0, "gm");
        let scored = |score| MatchedPost { score, ..one() };
        let bot = MatchedPost {
            is_bot: true,
            is_list: true,
            ..scored(Some(0.1))
        };
        for (post, reason) in [
            (one(), None),
            (scored(Some(0.3)), None),
            (scored(Some(0.2999)), Some(LowScore)),
            (scored(Some(f64::NAN)), None),
            (
                MatchedPost {
                    is_list: true,
                    ..one()
                },
                Some(List),
            ),
            (bot, Some(Bot)),
        ] {
            assert_eq!(dropped(std::slice::from_ref(&post)), [reason], "{post:?}");
        }
    }

    #[test]
    fn from_the_21st_post_of_a_day_an_author_floods() {
        let texts: Vec<String> = (0..25).map(|i| format!("post {i}")).collect();
        let every = |step: i64| -> Vec<MatchedPost<'_>> {
            let times = (0..).step_by(step as usize);
            texts
                .iter()
                .zip(times)
                .map(|(text, at)| post("a", at, text))
                .collect()
        };
        let flooding = |posts: &[MatchedPost<'_>]| {
            dropped(posts)
                .iter()
                .filter(|reason| **reason == Some(Flood))
                .count()
        };
        assert_eq!(flooding(&every(1)), 5);
        assert_eq!(flooding(&every(1)[..20]), 0);
        // The 21st is a day after the first one.
        assert_eq!(flooding(&every(DAY_MS / 20)), 0);
        assert_eq!(flooding(&every(DAY_MS / 20 - 1)), 5);
        let mut turned = every(1);
        turned.reverse();
        assert_eq!(dropped(&turned)[..5], [Some(Flood); 5]);
        let mut shared = every(1);
        shared
            .iter_mut()
            .step_by(2)
            .for_each(|post| post.author_id = Some("b"));
        assert_eq!(flooding(&shared), 0);
        for post in &mut shared {
            post.author_id = None;
        }
        assert_eq!(flooding(&shared), 0);
        let mut tokens = every(1);
        tokens
            .iter_mut()
            .step_by(2)
            .for_each(|post| post.token = Address([1; 20]));
        assert_eq!(flooding(&tokens), 0);
    }

    #[test]
    fn a_text_of_three_authors_in_a_day_counts_once() {
        let day = [
            post("a", 0, "Buy  NOW"),
            post("b", HOUR, "buy now"),
            post("c", DAY_MS - 1, "\u{200b}buy now\n"),
        ];
        assert_eq!(dropped(&day), [None, Some(Copy), Some(Copy)]);
        assert_eq!(dropped(&day[..2]), [None, None]);
        let mut later = day.clone();
        later[2].published_at = Time(DAY_MS);
        assert_eq!(dropped(&later), [None; 3]);
        let mut same = day.clone();
        same[2].author_id = Some("a");
        assert_eq!(dropped(&same), [None; 3]);
        let mut other = day.clone();
        other[1].text = "buy later";
        assert_eq!(dropped(&other), [None; 3]);
        let mut empty = day.clone();
        for post in &mut empty {
            post.text = " ";
        }
        assert_eq!(dropped(&empty), [None; 3]);
        // A campaign goes on: those who follow within a day of copies are copies.
        let wave: Vec<MatchedPost<'_>> = (0..6)
            .zip(["a", "b", "c", "d", "e", "f"])
            .map(|(i, by)| post(by, i * 11 * HOUR, "gm"))
            .collect();
        assert_eq!(
            dropped(&wave),
            [
                None,
                Some(Copy),
                Some(Copy),
                Some(Copy),
                Some(Copy),
                Some(Copy)
            ]
        );
        let mut rest = wave;
        rest.push(post("g", 90 * HOUR, "gm"));
        assert_eq!(dropped(&rest)[6], None);
    }
}
