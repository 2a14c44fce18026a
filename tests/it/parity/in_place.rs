//! Parity for in-place tables: every front end gives the same answers, equal to those from files.

use api::routes::ENDPOINTS;

use super::{CASES, FrontEnds, arguments, deck, walk};
use crate::{clickhouse::in_place::Stays, demo::market};

/// Endpoints that need a page of holders, all of them, or their aggregates.
const HELD_THERE: &[&str] = &["token", "holders", "security"];

#[test]
fn of_candles_and_holders_that_stay_at_an_engine_too_they_say_the_same() {
    let (_market, data) = market();
    let stays = Stays::of(&data, &["candles", "holders"]);
    let front_ends = FrontEnds::over(stays.folder.path(), &stays.config());
    let answered = walk(&front_ends, |name| {
        if HELD_THERE.contains(&name) {
            usize::MAX
        } else {
            1
        }
    });
    let silent: Vec<&str> = CASES
        .iter()
        .map(|(name, ..)| *name)
        .filter(|name| !answered.contains(name))
        .collect();
    // Scans of all candles, or of all holders, are refused.
    assert_eq!(
        silent,
        [
            "track_record_of_all",
            "held_tokens",
            "table_describe",
            "events"
        ]
    );
    assert!(stays.fetched() > 12, "nothing stayed there");
    // The answers equal those from files.
    let here = deck(&data, "", front_ends.home.path().join("here"));
    for (name, held, targets) in CASES.iter().filter(|(name, ..)| HELD_THERE.contains(name)) {
        let endpoint = ENDPOINTS
            .iter()
            .find(|endpoint| endpoint.name == *name)
            .unwrap();
        for target in targets.iter().map(|target| front_ends.filled(target)) {
            let (path, query) = arguments(endpoint.path, &target);
            let answers = [&here, &front_ends.view].map(|deck| {
                held.unwrap()(deck, &path, query)
                    .map(|(bytes, _)| String::from_utf8(bytes).unwrap())
            });
            assert_eq!(
                format!("{:?}", answers[0]),
                format!("{:?}", answers[1]),
                "{target}"
            );
        }
    }
}
