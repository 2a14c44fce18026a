//! Which posts count as mentions of a token, and their number per candle for the Chart view.

use super::{Find, view::View};
use load::Dataset;
use model::{address::Address, error::Result, progress::Progress, rows::SocialPost};

/// The token's posts that count, newest first: neither dropped nor deleted.
pub(super) fn mentions<'a>(
    dataset: &'a Dataset,
    token: &Address,
) -> impl Iterator<Item = SocialPost> + use<'a> {
    let posts = dataset.posts_of(token).social();
    posts.filter(|post| post.dropped.is_none() && post.gone_at.is_none())
}

/// The times of a token's mentions in milliseconds, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MentionTimes(pub Address);

impl Find for MentionTimes {
    type Found = Vec<i64>;

    fn find(&self, view: &View<'_>, _: &Progress) -> Result<Vec<i64>> {
        let posts = mentions(&view.dataset, &self.0);
        let mut times: Vec<i64> = posts.map(|post| post.published_at.0).collect();
        times.sort_unstable();
        Ok(times)
    }
}

/// Number of mentions from each start to the next; of the last, from its start on. Both are sorted.
pub fn per_span(times: &[i64], starts: &[i64]) -> Vec<f64> {
    let before = |start: &i64| times.partition_point(|time| time < start);
    let ends = starts.iter().skip(1).map(before).chain([times.len()]);
    let spans = starts.iter().map(before).zip(ends);
    spans
        .map(|(start, end)| end.saturating_sub(start) as f64)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mention_counts_in_the_span_that_it_is_in() {
        for (times, starts, expected) in [
            (&[][..], &[0, 10][..], &[0.0, 0.0][..]),
            (&[9, 10, 19, 20, 99], &[10, 20], &[2.0, 2.0]),
            (&[10, 10], &[10], &[2.0]),
            (&[10], &[], &[]),
        ] {
            assert_eq!(per_span(times, starts), expected, "{times:?} {starts:?}");
        }
    }
}
