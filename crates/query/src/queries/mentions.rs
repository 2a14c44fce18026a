//! Which posts count as mentions of a token, and their number per candle.

use load::Dataset;
use model::{address::Address, rows::SocialPost};

/// The token's posts that count, newest first: neither dropped nor deleted.
pub(super) fn mentions<'a>(
    dataset: &'a Dataset,
    token: &Address,
) -> impl Iterator<Item = SocialPost> + use<'a> {
    let posts = dataset.posts_of(token).social();
    posts.filter(|post| post.dropped.is_none() && post.gone_at.is_none())
}

/// Number of the token's mentions in each candle of this length; `None` before the first one.
pub(super) fn per_candle(
    dataset: &Dataset,
    token: &Address,
    starts: &[i64],
    length: i64,
) -> Vec<Option<f64>> {
    let mut times: Vec<i64> = mentions(dataset, token)
        .map(|post| post.published_at.0)
        .collect();
    times.sort_unstable();
    let before = |time: i64| times.partition_point(|other| *other < time);
    let counts = starts
        .iter()
        .map(|start| (before(*start), before(start + length)));
    counts
        .map(|(from, to)| (to > 0).then(|| (to - from) as f64))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_candle_counts_the_posts_in_it_from_the_first_post_on() {
        let dataset = load::sample::dataset(&[
            (
                "tokens",
                "token_address,symbol,name,chain\n0x1,A,A,eth\n0x2,B,B,eth",
            ),
            (
                "posts",
                "post_id,token_address,published_at,dropped,gone_at
                 a,0x1,1970-01-01T00:00:20Z,,
                 b,0x1,1970-01-01T00:00:29.999Z,,
                 c,0x1,1970-01-01T00:00:30Z,,
                 d,0x1,1970-01-01T00:00:31Z,bot,
                 e,0x1,1970-01-01T00:00:32Z,,2026-01-01
                 f,0x1,1970-01-01T00:00:45Z,,",
            ),
        ]);
        let counted = |token: &str| {
            let starts = [0, 10_000, 20_000, 30_000, 50_000];
            per_candle(&dataset, &load::sample::address(token), &starts, 10_000)
        };
        assert_eq!(
            counted("0x1"),
            [None, None, Some(2.0), Some(1.0), Some(0.0)]
        );
        assert_eq!(counted("0x2"), [None; 5]);
    }
}
