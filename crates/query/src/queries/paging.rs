//! Pagination: the rows of a page, and the `Link` header (RFC 8288) to neighboring pages or earlier candles. Link targets are relative to
//! the server.

use std::ops::Range;

use super::parameter::encode;
use model::time::{SECOND_MS, Time};

/// Up to this row, a page comes from a top-k selection; beyond it, all rows are sorted.
pub(super) const TOP_ROWS_MAX: usize = 50_000;

/// The pagination of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Paging {
    /// One page of `total` rows.
    Page { page: u64, limit: u64, total: u64 },
    /// There are earlier rows, before this time.
    Before(Time),
    /// There are more rows, from this cursor.
    From(String),
}

/// The pagination of a query with `page` and `limit` whose answer has a `total`.
macro_rules! paged {
    ($answer:ty) => {
        fn paging(&self, answer: &$answer) -> Option<$crate::queries::paging::Paging> {
            Some($crate::queries::paging::Paging::Page {
                page: self.page,
                limit: self.limit,
                total: answer.total,
            })
        }
    };
}
pub(super) use paged;

impl Paging {
    /// The `Link` header of the answer to the canonical request `target`; `None` on the only page.
    pub fn links(self, target: &str) -> Option<String> {
        match self {
            Self::Page { page, limit, total } => {
                let last = total.div_ceil(limit.max(1)).max(1);
                let pages = [
                    ("first", Some(1)),
                    (
                        "prev",
                        page.checked_sub(1)
                            .filter(|page| *page > 0)
                            .map(|page| page.min(last)),
                    ),
                    ("next", page.checked_add(1).filter(|page| *page <= last)),
                    ("last", Some(last)),
                ];
                let links = pages
                    .into_iter()
                    .filter_map(|(relation, page)| Some((relation, page?)));
                let links: Vec<String> = links
                    .map(|(relation, page)| {
                        link(relation, &with_parameter(target, "page", &page.to_string()))
                    })
                    .collect();
                Some(links.join(", "))
            }
            Self::From(cursor) => Some(link("next", &with_parameter(target, "cursor", &cursor))),
            // `to` is in whole seconds and inclusive.
            Self::Before(time) => Some(link(
                "next",
                &with_parameter(target, "to", &Time(time.0 - SECOND_MS).to_string()),
            )),
        }
    }
}

/// The row range of page `page` (from 1) of `limit` rows each.
pub(super) fn page_range(page: u64, limit: u64) -> Range<usize> {
    let place = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let skipped = page.saturating_sub(1).saturating_mul(limit);
    place(skipped)..place(skipped.saturating_add(limit))
}

/// The items of that page; empty past the end.
pub(super) fn page_of<T>(
    items: impl Iterator<Item = T>,
    page: u64,
    limit: u64,
) -> impl Iterator<Item = T> {
    let places = page_range(page, limit);
    items.skip(places.start).take(places.len())
}

/// One link of a `Link` header.
pub fn link(relation: &str, target: &str) -> String {
    format!("<{target}>; rel=\"{relation}\"")
}

/// The request with the parameter `name` set to `value`.
pub fn with_parameter(target: &str, name: &str, value: &str) -> String {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let pair = format!("{name}={}", encode(value));
    let is_it = |pair: &&str| pair.split('=').next() == Some(name);
    let mut pairs: Vec<&str> = query.split('&').filter(|pair| !pair.is_empty()).collect();
    match pairs.iter().position(is_it) {
        Some(place) => pairs[place] = &pair,
        None => pairs.push(&pair),
    }
    format!("{path}?{}", pairs.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_lead_to_those_beside_them() {
        let relations = |page, limit, total| {
            let links = Paging::Page { page, limit, total }
                .links("/x?a=page%3D9&page=1&limit=5")
                .unwrap();
            let parts = links.split(", ").map(|link| {
                let (target, relation) = link.split_once("; ").unwrap();
                let page = target
                    .strip_prefix("</x?a=page%3D9&page=")
                    .unwrap()
                    .strip_suffix("&limit=5>")
                    .unwrap();
                format!(
                    "{}{page}",
                    relation.trim_start_matches("rel=").trim_matches('"')
                )
            });
            parts.collect::<Vec<_>>().join(" ")
        };
        for (page, limit, total, expected) in [
            (1, 5, 0, "first1 last1"),
            (1, 5, 5, "first1 last1"),
            (1, 5, 6, "first1 next2 last2"),
            (2, 5, 6, "first1 prev1 last2"),
            (3, 5, 20, "first1 prev2 next4 last4"),
            (9, 5, 6, "first1 prev2 last2"),
            (
                u64::MAX,
                1,
                u64::MAX,
                "first1 prev18446744073709551614 last18446744073709551615",
            ),
        ] {
            assert_eq!(
                relations(page, limit, total),
                expected,
                "{page} {limit} {total}"
            );
        }
    }

    #[test]
    fn candles_lead_to_those_before() {
        let before = Paging::Before(Time(1_769_855_415_000));
        let expected = "</x?from=2025&to=2026-01-31T10%3A30%3A14Z>; rel=\"next\"";
        assert_eq!(
            before.clone().links("/x?from=2025").as_deref(),
            Some(expected)
        );
        assert_eq!(
            before.links("/x?from=2025&to=2027").as_deref(),
            Some(expected)
        );
    }
}
