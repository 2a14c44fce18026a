//! The rows of the last load survive any server failure, and report their age and the cause; they go when `dataset.toml` no longer names
//! them. A table that was never loaded states why, and no question that needs it is answered from partial data.

use std::sync::{Arc, atomic::Ordering};

use load::Dataset;
use model::{error::Code, findings::Severity, progress::NoProgress, table_state::TableState};
use wire::{RemoteClient, Source, WireOptions};

use super::{
    Bench, TOKENS, candles, options,
    server::{Server, Trouble},
    wire, wire_with,
};

const TABLES: &str = "[tables.candles]\npath = ['s3://bucket/c/*.csv', 'WEB/bucket/more.csv']\n";
const UNI: &str = "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984";

fn bench() -> Bench {
    let bench = Bench::with(TABLES);
    bench.write("tokens.csv", TOKENS);
    bench.server.put("c/a.csv", candles(0, 100));
    bench.server.put("more.csv", candles(100, 100));
    bench
}

/// A configured source of the bench.
fn source<'a>(options: &'a mut WireOptions, name: &str) -> &'a mut Source {
    options
        .sources
        .iter_mut()
        .find(|source| source.name == name)
        .expect("a source of the bench")
}

fn always(server: &Server, trouble: Trouble) {
    server.trouble(std::iter::repeat_n(trouble, 60));
}

/// Breaks the server, or the user's configuration of it.
type Break = fn(&Server, &mut WireOptions);

/// A client after the break.
fn broken(bench: &Bench, breaks: Break) -> Arc<RemoteClient> {
    let mut options = options(&bench.server);
    breaks(&bench.server, &mut options);
    wire_with(options)
}

/// Failures, and parts of the message to the user.
const TROUBLES: &[(&str, Break, &[&str])] = &[
    (
        "is unreachable",
        |server, _| server.shared.down.store(true, Ordering::Release),
        &["`s3://bucket/c/*.csv`"],
    ),
    (
        "no right without keys",
        |server, _| always(server, Trouble::Status(403)),
        &["requires keys", "`anonymous`", "[sources.lake]"],
    ),
    (
        "a bucket that is not there",
        |server, _| always(server, Trouble::Status(404)),
        &["`lake` has no `bucket`", "`endpoint`", "[sources.lake]"],
    ),
    (
        "another region",
        |server, _| always(server, Trouble::Status(301)),
        &["`s3://bucket/c/*.csv`", "`region`", "[sources.lake]"],
    ),
    (
        "nothing that is called so",
        |server, _| drop(server.shared.objects.lock().unwrap().remove("c/a.csv")),
        &["`s3://bucket/c/*.csv` matches no file"],
    ),
    (
        "a file that was taken away",
        |server, _| drop(server.shared.objects.lock().unwrap().remove("more.csv")),
        &["/bucket/more.csv` does not exist"],
    ),
    (
        "a file that is none any more",
        |server, _| server.put("more.csv", "<html>moved</html>"),
        &["more.csv"],
    ),
    (
        "a server that is in no source any more",
        |_, options| "https://example.org".clone_into(&mut source(options, "web").url),
        &["`[sources]`"],
    ),
    (
        "a token that is not set",
        |_, options| "TOKENDECK_TEST_NOT_SET".clone_into(&mut source(options, "web").token_env),
        &["`TOKENDECK_TEST_NOT_SET`, which is not set"],
    ),
    (
        "an endpoint that is none",
        |_, options| source(options, "lake").endpoint.push_str("/%zz x"),
        &[
            "`s3://bucket/c/*.csv`",
            "`endpoint` does not form a valid URL",
        ],
    ),
    (
        "no more bytes today",
        |server, options| {
            server.put("more.csv", candles(100, 300));
            options.budget = 10;
        },
        &["remote.budget_gb_per_day"],
    ),
    (
        "a file that changes while it is read",
        |server, _| {
            server.put("more.csv", candles(100, 300));
            server.trouble(
                [Trouble::None, Trouble::None]
                    .into_iter()
                    .chain(std::iter::repeat_n(Trouble::Change, 40)),
            );
        },
        &["changed while"],
    ),
];

fn reasons(dataset: &Dataset) -> Vec<String> {
    let table = dataset.table("candles").unwrap();
    table
        .findings
        .kept()
        .iter()
        .filter(|finding| finding.severity == Severity::Warning)
        .map(|finding| finding.reason.clone())
        .collect()
}

#[test]
fn rows_of_the_last_load_stay_whatever_goes_wrong_at_the_server() {
    for rows_min in [1, 200_000] {
        for (name, breaks, says) in TROUBLES {
            let bench = bench();
            let first = bench
                .load_with(&wire(&bench.server), rows_min, &NoProgress)
                .unwrap();
            let answer = bench.ask(first, "/tokens");
            let broken = broken(&bench, *breaks);
            for _ in 0..2 {
                let later = bench.load_with(&broken, rows_min, &NoProgress).unwrap();
                let table = later.table("candles").unwrap();
                assert_eq!(
                    (table.height(), &table.state),
                    (196, &TableState::Loaded),
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
                let told = reasons(&later);
                let old = told
                    .iter()
                    .find(|reason| reason.starts_with("the rows are from 2"))
                    .unwrap_or_else(|| panic!("{name}: {told:?}"));
                for says in *says {
                    assert!(old.contains(says), "{name}: {old}");
                }
                assert_eq!(bench.ask(later, "/tokens"), answer, "{name}");
            }
            // Only the user removes them.
            bench.write("dataset.toml", "");
            let without = bench.load_with(&broken, rows_min, &NoProgress).unwrap();
            assert_eq!(
                without.table("candles").unwrap().state,
                TableState::Absent,
                "{name}"
            );
        }
    }
}

#[test]
fn a_table_never_loaded_says_why_and_no_answer_is_given_from_a_part() {
    for (name, breaks, says) in TROUBLES {
        let bench = bench();
        let dataset = bench.load(&broken(&bench, *breaks)).unwrap();
        let TableState::Unusable(reason) = dataset.table("candles").unwrap().state.clone() else {
            panic!("{name}: {:?}", dataset.table("candles").unwrap().state)
        };
        for says in *says {
            assert!(reason.contains(says), "{name}: {reason}");
        }
        // A file known to be no table means that the dataset has no candles; else their existence is unknown.
        let known = dataset
            .table("candles")
            .unwrap()
            .remote
            .as_ref()
            .is_none_or(|remote| !remote.unreached);
        let statuses: Vec<(u16, bool)> = ["/tokens", "/tokens/UNI", "/tokens/UNI/candles"]
            .iter()
            .map(|path| {
                bench.server.trouble([]);
                let dataset = bench.load(&broken(&bench, *breaks)).unwrap();
                let (status, body) = bench.ask(dataset, &path.replace("UNI", UNI));
                (status, body.contains(Code::SourceUnavailable.word()))
            })
            .collect();
        let expected = if known {
            [(200, false), (200, false), (404, false)]
        } else {
            [(503, true); 3]
        };
        assert_eq!(statuses, expected, "{name}: {reason}");
    }
}

#[test]
fn a_changed_mapping_is_not_answered_with_rows_read_by_the_old_one() {
    // A mapping that does not fit the fetched data is reported, instead of answering with rows read by the old mapping.
    let bench = bench();
    for (more, height) in [("", Some(98)), ("columns = { close = 'cloze' }\n", None)] {
        bench.write(
            "dataset.toml",
            &format!("[tables.candles]\npath = 's3://bucket/c/*.csv'\n{more}"),
        );
        let dataset = bench.load(&wire(&bench.server)).unwrap();
        let table = dataset.table("candles").unwrap();
        match (&table.state, height) {
            (TableState::Loaded, Some(height)) => assert_eq!(table.height(), height),
            (TableState::Unusable(reason), None) => assert!(reason.contains("cloze"), "{reason}"),
            (state, _) => panic!("{more}: {state:?}"),
        }
    }
}

#[test]
fn rows_of_a_file_the_pattern_no_longer_matches_go_and_that_is_said() {
    let bench = bench();
    bench.server.put("c/b.csv", candles(200, 100));
    let rows = |dataset: &Dataset| dataset.table("candles").unwrap().height();
    let said = |dataset: &Dataset| -> Vec<(String, String)> {
        let findings = dataset.table("candles").unwrap().findings.kept().iter();
        let gone = findings.filter(|finding| finding.reason.contains("is no longer listed"));
        gone.map(|finding| (finding.file.clone(), finding.reason.clone()))
            .collect()
    };
    let whole = bench.load(&wire(&bench.server)).unwrap();
    assert_eq!((rows(&whole), said(&whole)), (294, vec![]));
    bench
        .server
        .shared
        .objects
        .lock()
        .unwrap()
        .remove("c/b.csv");
    // Reported as long as it persists, not only by the first load that notices.
    for _ in 0..2 {
        let part = bench.load(&wire(&bench.server)).unwrap();
        let said = said(&part);
        assert_eq!(
            (rows(&part), said.len(), said[0].0.as_str()),
            (196, 1, "s3://bucket/c/b.csv")
        );
        assert!(said[0].1.ends_with("its rows are excluded"), "{said:?}");
    }
    bench.server.put("c/b.csv", candles(200, 100));
    let back = bench.load(&wire(&bench.server)).unwrap();
    assert_eq!((rows(&back), said(&back)), (294, vec![]));
}
