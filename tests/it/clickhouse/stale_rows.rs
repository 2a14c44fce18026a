//! The rows of the last load survive any engine failure, and report their age and the cause. Also: false alarms, and silent damage.

use std::{
    fs,
    sync::{Arc, atomic::Ordering},
};

use model::{error::Code, findings::Severity, table_state::TableState};
use polars::prelude::{Column, DataFrame, IntoColumn as _, NamedFrom as _, Series};
use wire::{Consent, RemoteClient, Source};

use super::{
    Bench, MANIFEST, UNI, candles,
    server::{Rows, Server, Trouble},
    source, wire_of,
};
use crate::remote::files_below;

/// Breaks the server, or the user's configuration of it.
type Break = fn(&Server, &mut Source);

/// A client after the break.
fn broken(bench: &Bench, breaks: Break) -> Arc<RemoteClient> {
    let mut source = source(&bench.server.url());
    breaks(&bench.server, &mut source);
    wire_of(vec![source], Consent::Always)
}

/// Failures, and parts of the message to the user.
const TROUBLES: &[(&str, Break, &[&str])] = &[
    (
        "is unreachable",
        |server, _| server.shared.down.store(true, Ordering::Release),
        &[],
    ),
    (
        "a table that was dropped",
        |server, _| server.refuse(404, 60),
        &["does not exist (code 60)"],
    ),
    (
        "a wrong password",
        |server, _| server.refuse(403, 516),
        &["`user` and `password_env` in [sources.warehouse] of config.toml"],
    ),
    (
        "no right",
        |server, _| server.refuse(403, 497),
        &["is not readable: the user lacks the privilege"],
    ),
    (
        "a busy server",
        |server, _| server.refuse(500, 202),
        &["too many queries"],
    ),
    (
        "a password that is not set",
        |_, source| "TOKENDECK_TEST_NOT_SET".clone_into(&mut source.password_env),
        &["the variable `TOKENDECK_TEST_NOT_SET`, which is not set"],
    ),
    (
        COLUMN_GONE,
        |server, _| server.put("candles", without_close(3_000)),
        &["lacks the column `close`"],
    ),
    (
        "a table that became too large",
        |server, source| {
            server.shared.estimate.store(6_000, Ordering::Release);
            source.scan_rows_max = 5_999;
        },
        &["would scan 6,000 rows"],
    ),
];

/// The one failure caused by the mapping, not by a server.
const COLUMN_GONE: &str = "a column that is gone";

fn without_close(rows: u64) -> Rows {
    let mut rows = candles(rows);
    rows.columns.retain(|(name, _)| *name != "close");
    rows
}

#[test]
fn rows_of_the_last_load_stay_whatever_goes_wrong_at_the_engine() {
    for rows_min in [1_000, 200_000] {
        for (name, breaks, says) in TROUBLES {
            let bench = Bench::new(3_000);
            let answer = bench.ask(bench.load(&bench.wire(), rows_min), "/tokens");
            let later = bench.load(&broken(&bench, *breaks), rows_min);
            let table = later.table("candles").unwrap();
            assert_eq!(
                (table.height(), &table.state),
                (3_000, &TableState::Loaded),
                "{name}: {:?}",
                table.state
            );
            assert!(
                table
                    .remote
                    .as_ref()
                    .is_some_and(|remote| remote.as_of.is_some()),
                "{name}"
            );
            let old = table
                .findings
                .kept()
                .iter()
                .find(|finding| finding.reason.starts_with("the rows are from 2"))
                .expect(name);
            assert_eq!(old.severity, Severity::Warning);
            for says in [&["`clickhouse://warehouse/market.candles`"], *says].concat() {
                assert!(old.reason.contains(says), "{name}: {}", old.reason);
            }
            assert_eq!(bench.ask(later, "/tokens"), answer, "{name}");
            bench.write("dataset.toml", "");
            let without = bench.load(&bench.wire(), rows_min);
            assert_eq!(
                without.table("candles").unwrap().state,
                TableState::Absent,
                "{name}"
            );
        }
    }
}

#[test]
fn a_table_never_loaded_says_why_and_no_answer_is_given_without_it() {
    for (name, breaks, says) in TROUBLES.iter().filter(|(name, ..)| *name != COLUMN_GONE) {
        let bench = Bench::new(3_000);
        let reason = super::reason(&bench.load(&broken(&bench, *breaks), 1_000));
        assert!(
            says.iter().all(|says| reason.contains(says)),
            "{name}: {reason}"
        );
        for path in [
            "/tokens",
            &format!("/tokens/{UNI}"),
            &format!("/tokens/{UNI}/candles"),
        ] {
            let (status, body) = bench.ask(bench.load(&broken(&bench, *breaks), 1_000), path);
            assert_eq!(
                (status, body.contains(Code::SourceUnavailable.word())),
                (503, true),
                "{name}: {path} {body}"
            );
        }
        assert_eq!(
            bench
                .ask(bench.load(&broken(&bench, *breaks), 1_000), "/dexes")
                .0,
            200,
            "{name}"
        );
    }
}

#[test]
fn a_damaged_copy_is_fetched_again() {
    let bench = Bench::new(3_000);
    let first = bench.load(&bench.wire(), 200_000);
    let damage = || {
        let kept: Vec<_> = files_below(bench.cache.path())
            .into_iter()
            .filter(|path| path.ends_with("bytes"))
            .collect();
        assert_eq!(kept.len(), 1, "{kept:?}");
        let mut bytes = fs::read(&kept[0]).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0xff;
        fs::write(&kept[0], bytes).unwrap();
    };
    damage();
    let again = bench.load(&bench.wire(), 200_000);
    super::same_candles(&first, &again);
    assert!(
        again
            .table("candles")
            .unwrap()
            .remote
            .as_ref()
            .unwrap()
            .as_of
            .is_none()
    );
    // With the engine unreachable, damaged rows are dropped.
    damage();
    bench.server.shared.down.store(true, Ordering::Release);
    let reason = super::reason(&bench.load(&bench.wire(), 200_000));
    assert!(
        reason.contains("`clickhouse://warehouse/market.candles`"),
        "{reason}"
    );
}

#[test]
fn rows_that_hold_the_text_of_an_error_are_rows() {
    let text = "Code: 60. DB::Exception: Table does not exist";
    let column = |name: &str, values: Vec<&str>| Series::new(name.into(), values).into_column();
    let columns: Vec<Column> = vec![
        column("post_id", vec!["1", "2"]),
        column("token_address", vec![UNI, UNI]),
        column(
            "published_at",
            vec!["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"],
        ),
        column("text", vec!["plain", text]),
    ];
    let kinds = [
        ("post_id", "String"),
        ("token_address", "String"),
        ("published_at", "String"),
        ("text", "String"),
    ];
    for rows_min in [1, 200_000] {
        let bench = Bench::new(100);
        let rows = Rows {
            columns: kinds.to_vec(),
            frame: DataFrame::new(2, columns.clone()).unwrap(),
            newest: String::new(),
        };
        bench.server.put("posts", rows);
        bench.write(
            "dataset.toml",
            "[tables.posts]\nsource = 'warehouse'\ntable = 'market.posts'\n",
        );
        let dataset = bench.load(&bench.wire(), rows_min);
        let table = dataset.table("posts").unwrap();
        assert_eq!(
            (&table.state, table.height()),
            (&TableState::Loaded, 2),
            "{:?}",
            table.findings.kept()
        );
        // Half of the rows, then an error text: the error counts.
        bench.server.trouble([Trouble::Behind(1)]);
        bench.clear_cache();
        let dataset = bench.load(&bench.wire(), rows_min);
        let TableState::Unusable(reason) = &dataset.table("posts").unwrap().state else {
            panic!("half of the rows are taken for all")
        };
        assert!(reason.contains("failed with code 395"), "{reason}");
    }
}

#[test]
fn each_try_has_a_query_id_of_its_own() {
    let bench = Bench::new(100);
    bench.server.shared.busy.store(1, Ordering::Release);
    assert_eq!(
        bench
            .load(&bench.wire(), 1_000)
            .table("candles")
            .unwrap()
            .height(),
        100
    );
    let id = |query: &String| {
        query
            .split("query_id=")
            .nth(1)
            .and_then(|rest| rest.split('&').next())
            .map(str::to_owned)
    };
    let mut ids: Vec<String> = bench.server.queries().iter().filter_map(id).collect();
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(
        (ids.len(), count > 3),
        (count, true),
        "a name is used twice"
    );
}

#[test]
fn addresses_in_odd_capitals_are_found_by_their_letters() {
    let bench = Bench::new(100);
    for (written, odd) in [
        ("0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984", false),
        ("0x1F9840a85d5aF5bf1D1762F925BDADdC4201F984", true),
    ] {
        *bench.server.shared.written.lock().unwrap() = Some(written);
        bench.server.shared.queries.lock().unwrap().clear();
        bench.write(
            "dataset.toml",
            &format!("{MANIFEST}where = {{ token_address = {{ in = 'tokens' }} }}\n"),
        );
        bench.load(&bench.wire(), 1_000);
        let rows: Vec<String> = bench
            .server
            .queries()
            .into_iter()
            .filter(|query| query.contains("ArrowStream"))
            .collect();
        let lowered = |query: &String| query.contains("(lower(`token_address`) IN (");
        assert!(
            !rows.is_empty() && rows.iter().all(|query| lowered(query) == odd),
            "{written}: {rows:?}"
        );
    }
}
