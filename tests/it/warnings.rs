//! Where security says AVOID, or a sale fails, that stands first in every answer about the token, and nothing beside it invites to buy.

use std::{path::Path, sync::Arc};

use model::{address::Address, progress::Progress, token_names::TokenReader};
use query::{
    document::{self, DocumentForm},
    queries::{
        compare::CompareQuery,
        parameter::Arguments,
        request::Request,
        security::{SecurityQuery, WarningsOf},
        view::View,
        yields::YieldQuery,
    },
    service::{QueryService, ServiceOptions},
};

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/datasets");
const MOONPUP: &str = "0x14a3b8fb4d0b0738d1fd66abc72320452a4ceff7";
const UNI: &str = "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984";

fn service() -> Arc<QueryService> {
    let service = QueryService::new(
        Path::new(DEMO),
        ServiceOptions {
            workers: 2,
            ..ServiceOptions::default()
        },
    )
    .unwrap();
    service.load().unwrap();
    service
}

fn address(text: &str) -> Address {
    Address::parse(text).unwrap()
}

#[test]
fn the_report_of_a_token_to_avoid_begins_with_that_and_has_no_trade_card() {
    let service = service();
    let snapshot = service.snapshot().unwrap();
    let mut warned = 0;
    for token in &snapshot.market.tokens {
        let verdict = SecurityQuery::verdict(
            &View::new(&snapshot),
            token.token_address,
            &Progress::default(),
        )
        .unwrap();
        let warns = verdict.is_some_and(|verdict| verdict.danger.warns_first());
        let report = document::of_token(&service, token.token_address, &Progress::default())
            .unwrap()
            .write(DocumentForm::Markdown);
        let symbol = token.symbol.as_deref().unwrap_or_default();
        let (warning, summary) = (report.find("Security: "), report.find("### Summary"));
        assert_eq!(warning.is_some(), warns, "{symbol}");
        assert!(
            !warns || warning < summary,
            "{symbol}: the warning comes first"
        );
        for tempting in ["Trade card", "Reward:risk", "Strong buy:", "Buy:"] {
            assert!(
                !(warns && report.contains(tempting)),
                "{symbol}: `{tempting}` beside a warning\n{report}"
            );
        }
        warned += usize::from(warns);
    }
    assert!(
        (1..snapshot.market.tokens.len() / 2).contains(&warned),
        "{warned} of the demo's tokens"
    );
}

#[test]
fn comparisons_and_plans_say_it_of_the_tokens_that_they_name() {
    let (service, progress) = (service(), Progress::default());
    let query = format!("addresses={UNI},{MOONPUP}");
    let question =
        CompareQuery::parse(&Arguments::new(CompareQuery::PARAMETERS, &[], &query).unwrap())
            .unwrap();
    let compared = service.answer(&question, &progress).unwrap();
    let warned: Vec<Address> = compared
        .answer
        .warnings
        .iter()
        .map(|of| of.token_address)
        .collect();
    assert_eq!(warned, [address(MOONPUP)]);
    let body = format!(
        r#"{{"tokens":{{"{UNI}":"1000000000000000000","{MOONPUP}":"1000000000000000000"}}}}"#
    );
    let plan = YieldQuery {
        max_lock_days: None,
        exit_within_days: None,
        explain: true,
        ..YieldQuery::parse_body(body.as_bytes(), TokenReader::default()).unwrap()
    };
    let notes = service
        .answer(&plan, &progress)
        .unwrap()
        .answer
        .notes
        .clone()
        .unwrap();
    assert!(
        notes[0].starts_with("MOONPUP: Security: AVOID, score "),
        "{notes:?}"
    );
    assert!(
        !notes.iter().any(|note| note.starts_with("UNI: ")),
        "{notes:?}"
    );
    let of = service
        .find_in(
            &service.snapshot().unwrap(),
            &WarningsOf(vec![address(UNI)]),
            &progress,
        )
        .unwrap();
    assert!(of.is_empty(), "an honest token has none: {of:?}");
}
