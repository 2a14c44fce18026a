//! Engine tables that are refused, omitted or not shown, so that no wrong number goes unreported.

use polars::prelude::{DataType, IntoColumn as _, NamedFrom as _, Series};

use super::{Bench, MANIFEST, UNI, candles, reason, source, wire_of};
use crate::remote::{api_over, ask};
use model::table_state::TableState;
use wire::Consent;

#[test]
fn what_one_server_gave_is_not_shown_for_another_of_the_same_name() {
    {
        let bench = Bench::new(300);
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
                "{:?}",
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
    bench.write("dataset.toml", &format!("{MANIFEST}read = 'in place'\n"));
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
