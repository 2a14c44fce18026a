//! Engine tables that are refused, omitted or not shown, so that no wrong number goes unreported.

use polars::prelude::{DataType, IntoColumn as _, NamedFrom as _, Series};

use super::{
    Bench, MANIFEST, UNI, candles, in_place::stay_in_place, reason, server::Rows, source, wire_of,
};
use crate::remote::{api_over, ask};
use api::answer_offline;
use model::{error::Code, table_state::TableState};
use wire::Consent;

#[test]
fn candles_that_come_twice_are_refused_when_they_are_fetched() {
    let bench = Bench::new(5_500);
    stay_in_place(&bench);
    let whole = candles(5_500);
    // Repeats an old row, which the query at load time does not check.
    let frame = whole.frame.vstack(&whole.frame.slice(7, 1)).unwrap();
    bench.server.put("candles", Rows { frame, ..whole });
    let api = api_over(bench.path(), bench.load(&bench.wire(), 200_000));
    let rows = format!("/tables/candles?where=token_address={UNI}&limit=10");
    for question in [
        format!("/tokens/{UNI}/candles?timeframe=1h"),
        format!("/technical/{UNI}/patterns?timeframe=1d"),
        format!("{rows}&sort=-close"),
        rows,
    ] {
        let (status, body) = ask(&api, &question);
        assert_eq!(
            (
                status,
                body.contains("are duplicates"),
                body.contains("final = true")
            ),
            (503, true, true),
            "{question}: {body}"
        );
    }
}

#[test]
fn what_one_server_gave_is_not_shown_for_another_of_the_same_name() {
    for in_place in [false, true] {
        let bench = Bench::new(300);
        if in_place {
            stay_in_place(&bench);
        }
        assert_eq!(
            bench
                .load(&bench.wire(), 200_000)
                .table("candles")
                .unwrap()
                .height(),
            300
        );
        // Nor for a source that is no longer configured: its server is unknown.
        for (sources, says) in [
            (vec![source("http://127.0.0.1:9")], "is unreachable"),
            (
                Vec::new(),
                "add [sources.warehouse] with kind = \"clickhouse\"",
            ),
        ] {
            let dataset = bench.load(&wire_of(sources, Consent::Always), 200_000);
            let table = dataset.table("candles").unwrap();
            assert!(
                matches!(&table.state, TableState::Unusable(_)) && table.height() == 0,
                "{in_place}: {:?}",
                table.findings.kept()
            );
            assert!(reason(&dataset).contains(says), "{}", reason(&dataset));
        }
    }
}

#[test]
fn addresses_in_a_dictionary_are_read_as_those_in_texts() {
    let bench = Bench::new(300);
    let mut rows = candles(300);
    let plain = vec![&UNI[2..]; 300];
    rows.frame
        .with_column(Series::new("token_address".into(), plain).into_column())
        .unwrap();
    rows.columns[0].1 = "LowCardinality(String)";
    bench.server.put("candles", rows);
    let dataset = bench.load(&bench.wire(), 200_000);
    let table = dataset.table("candles").unwrap();
    assert_eq!(table.height(), 300, "{:?}", table.findings.kept());
    let tokens = table
        .frame()
        .column("token_address")
        .unwrap()
        .cast(&DataType::String)
        .unwrap();
    assert_eq!(tokens.str().unwrap().get(0), Some(UNI));
}

#[test]
fn a_table_that_cannot_stay_in_place_is_an_error_of_every_answer_that_needs_it() {
    let bench = Bench::new(100);
    bench.write(
        "dataset.toml",
        &format!("{MANIFEST}read = 'in place'\nvalues = {{ interval = {{ '60' = '1h' }} }}\n"),
    );
    let api = api_over(bench.path(), bench.load(&bench.wire(), 1_000));
    for question in [
        "/tokens".to_owned(),
        format!("/tokens/{UNI}"),
        format!("/tokens/{UNI}/candles"),
        "/tables/candles".to_owned(),
    ] {
        let (status, body) = ask(&api, &question);
        assert_eq!(
            (
                status,
                body.contains("cannot be queried in place"),
                body.contains("dataset.toml")
            ),
            (503, true, true),
            "{question}: {body}"
        );
    }
}

#[test]
fn a_column_of_another_type_is_named_with_the_type_that_is_needed() {
    let bench = Bench::new(100);
    stay_in_place(&bench);
    let mut rows = candles(100);
    rows.columns[1].1 = "UInt32";
    bench.server.put("candles", rows.clone());
    let said = reason(&bench.load(&bench.wire(), 1_000));
    assert!(
        said.contains(
            "`timestamp` must be a DateTime or a Date at the source, but has another type"
        ),
        "{said}"
    );
    rows.columns[1].1 = "DateTime";
    rows.columns.retain(|(name, _)| *name != "interval");
    bench.server.put("candles", rows);
    let said = reason(&bench.load(&bench.wire(), 1_000));
    assert!(said.contains("set = { interval = \"1h\" }"), "{said}");
}

#[test]
fn rows_in_place_that_cannot_be_used_are_warned_of() {
    let bench = Bench::new(5_500);
    stay_in_place(&bench);
    let mut swapped = candles(5_500);
    swapped
        .frame
        .with_column(Series::new("low".into(), vec![100.0; 5_500]).into_column())
        .unwrap();
    bench.server.put("candles", swapped);
    let dataset = bench.load(&bench.wire(), 200_000);
    let warned = dataset
        .table("candles")
        .unwrap()
        .findings
        .kept()
        .iter()
        .any(|finding| {
            finding.severity == model::findings::Severity::Warning
                && finding.reason.contains("is valid: prices must be positive")
        });
    assert!(
        warned,
        "{:?}",
        dataset.table("candles").unwrap().findings.kept()
    );
}

#[test]
fn a_question_that_candles_in_place_do_not_answer_is_refused_and_not_to_be_tried_again() {
    let bench = Bench::new(300);
    stay_in_place(&bench);
    let api = api_over(bench.path(), bench.load(&bench.wire(), 200_000));
    let alert = r#"{"condition": "price>0"}"#;
    let track_record = format!("/technical/{UNI}/track-record?scope=all");
    let asked = bench.server.queries().len();
    for (method, path, body, code, says) in [
        (
            "POST",
            "/alerts/rehearse",
            alert,
            Code::InvalidRequest,
            "alerts cannot be backtested; download it with",
        ),
        (
            "GET",
            &track_record,
            "",
            Code::InvalidParameter,
            "cannot be computed: their candles are queried in place",
        ),
    ] {
        let reply = answer_offline(&api, method, path, body.as_bytes());
        let problem = String::from_utf8(reply.body.to_vec()).unwrap();
        assert_eq!(
            (
                reply.status,
                problem.contains(code.word()),
                problem.contains(says)
            ),
            (400, true, true),
            "{problem}"
        );
    }
    assert_eq!(
        bench.server.queries().len(),
        asked,
        "a refusal asks the engine nothing"
    );
}
