//! User-facing guarantees of remote files: no request before consent, no credential in any output, a daily budget, and offline use of the
//! last load's rows.

use std::{
    fs,
    process::{Command, Stdio},
    sync::atomic::Ordering,
};

use load::loader::origins_to_agree;
use model::{error::Code, progress::NoProgress};
use polars::prelude::{Column, DataFrame, ParquetWriter};
use wire::{Consent, Fault, Source, SourceKind, Traffic, UrlPattern, WireOptions};

use super::{Bench, TOKENS, candles, files_below, options, server::Trouble, wire, wire_with};
use crate::wait::wait_until;

const TABLES: &str =
    "[tables.tokens]\npath = 's3://bucket/t.csv'\n[tables.candles]\npath = 'WEB/bucket/c.csv'\n";
const UNI: &str = "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984";

fn bench() -> Bench {
    let bench = Bench::with(TABLES);
    bench.server.put("t.csv", TOKENS);
    bench.server.put("c.csv", candles(0, 100));
    bench
}

#[test]
fn no_request_is_sent_before_the_person_agrees() {
    let bench = bench();
    for consent in [Consent::Never, Consent::Ask] {
        let wire = wire_with(WireOptions {
            consent,
            ..options(&bench.server)
        });
        let error = bench.load(&wire).unwrap_err().to_string();
        assert!(error.contains("`s3://bucket/t.csv` is blocked"), "{error}");
        assert_eq!(
            (bench.server.requests(), wire.figures()),
            (0, Traffic::default())
        );
        let open = origins_to_agree(bench.path(), &wire);
        assert_eq!(
            open.len(),
            if consent == Consent::Ask { 2 } else { 0 },
            "{open:?}"
        );
        let real = bench.path().canonicalize().unwrap();
        for origin in &open {
            wire.agree(&real, origin).unwrap();
        }
        if consent == Consent::Ask {
            assert_eq!(
                bench
                    .load(&wire)
                    .unwrap()
                    .table("candles")
                    .unwrap()
                    .height(),
                98
            );
        }
    }
}

#[test]
fn offline_the_rows_of_the_last_load_stay_and_say_how_old_they_are() {
    for rows_min in [1, 200_000] {
        let bench = bench();
        let wire = wire(&bench.server);
        let first = bench.load_with(&wire, rows_min, &NoProgress).unwrap();
        bench.server.shared.down.store(true, Ordering::Release);
        let later = bench.load_with(&wire, rows_min, &NoProgress).unwrap();
        assert_eq!(first.identity, later.identity);
        for name in ["tokens", "candles"] {
            let (a, b) = (first.table(name).unwrap(), later.table(name).unwrap());
            assert_eq!(a.height(), b.height());
            assert!(
                a.remote.as_ref().unwrap().as_of.is_none()
                    && b.remote.as_ref().unwrap().as_of.is_some()
            );
            assert!(
                b.findings
                    .kept()
                    .iter()
                    .any(|finding| finding.reason.starts_with("the rows are from 2")),
                "{:?}",
                b.findings.kept()
            );
        }
        // A part that was never fetched is missing, with a finding.
        bench.server.shared.down.store(false, Ordering::Release);
        bench.server.put("c.csv", candles(0, 200));
        bench.server.trouble(
            [Trouble::None, Trouble::None]
                .into_iter()
                .chain(std::iter::repeat_n(Trouble::Reset, 40)),
        );
        let kept = bench.load_with(&wire, rows_min, &NoProgress).unwrap();
        assert_eq!(
            kept.table("candles").unwrap().height(),
            98,
            "what was whole last time"
        );
        bench.server.trouble([]);
        assert_eq!(
            bench
                .load_with(&wire, rows_min, &NoProgress)
                .unwrap()
                .table("candles")
                .unwrap()
                .height(),
            196
        );
    }
}

#[test]
fn questions_that_need_an_unreachable_table_answer_503() {
    let bench = bench();
    bench.write("tokens.csv", TOKENS);
    let manifest = fs::read_to_string(bench.path().join("dataset.toml")).unwrap();
    bench.write(
        "dataset.toml",
        &manifest.replace("s3://bucket/t.csv", "tokens.csv"),
    );
    bench.server.shared.down.store(true, Ordering::Release);
    let dataset = bench.load(&wire(&bench.server)).unwrap();
    let (status, body) = bench.ask(dataset, &format!("/tokens/{UNI}/candles"));
    assert_eq!(
        (status, body.contains(Code::SourceUnavailable.word())),
        (503, true),
        "{body}"
    );
    assert!(!body.contains("127.0.0.1"), "{body}");
    let dataset = bench.load(&wire(&bench.server)).unwrap();
    assert_eq!(bench.ask(dataset, "/dexes").0, 200);
}

#[test]
fn a_download_over_the_budget_of_the_day_is_refused() {
    let bench = bench();
    let wire = wire_with(WireOptions {
        budget: TOKENS.len() as u64 + 100,
        ..options(&bench.server)
    });
    let dataset = bench.load(&wire).unwrap();
    let table = dataset.table("candles").unwrap();
    assert!(
        format!("{:?}", table.state).contains("remote.budget_gb_per_day"),
        "{:?}",
        table.state
    );
    assert_eq!(wire.figures().bytes, TOKENS.len() as u64);
}

#[test]
fn a_lake_over_the_budget_is_named_by_its_footers_before_any_row_is_fetched() {
    let manifest = "[tables.tokens]\npath = 's3://bucket/t.csv'\n[tables.candles]\npath = 's3://bucket/lake/*.parquet'\n";
    let bench = Bench::with(manifest);
    bench.server.put("t.csv", TOKENS);
    // A column that is not ours is most of each file.
    let rows = 40_000_u64;
    let price: Vec<f64> = (0..rows).map(|nth| 2.0 + (nth % 7) as f64).collect();
    let mixed = |nth: u64| nth.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let other: Vec<String> = (0..rows).map(|nth| format!("{:x}", mixed(nth))).collect();
    let volume: Vec<f64> = (0..rows).map(|nth| (mixed(nth) >> 11) as f64).collect();
    for file in 0..3_i64 {
        let times: Vec<i64> = (0..rows as i64)
            .map(|nth| 1_700_000_000_000 + (file * rows as i64 + nth) * 60_000)
            .collect();
        let mut frame = DataFrame::new(
            rows as usize,
            vec![
                Column::new("token_address".into(), vec![UNI; rows as usize]),
                Column::new("timestamp".into(), times),
                Column::new("open".into(), price.clone()),
                Column::new("high".into(), price.clone()),
                Column::new("low".into(), price.clone()),
                Column::new("close".into(), price.clone()),
                Column::new("volume".into(), volume.clone()),
                Column::new("other".into(), other.clone()),
            ],
        )
        .unwrap();
        let mut bytes = Vec::new();
        ParquetWriter::new(&mut bytes).finish(&mut frame).unwrap();
        bench.server.put(&format!("lake/{file}.parquet"), bytes);
    }
    let load = |budget: u64| {
        let wire = wire_with(WireOptions {
            budget,
            ..options(&bench.server)
        });
        let dataset = bench.load(&wire).unwrap();
        (
            format!("{:?}", dataset.table("candles").unwrap().state),
            dataset.table("candles").unwrap().height() as u64,
            wire.figures().bytes,
        )
    };
    let (state, height, bytes) = load(400_000);
    assert!(
        state.contains("The table has 3 Parquet files of ")
            && state.contains(" in 120,000 rows")
            && state.contains("FROM s3("),
        "{state}"
    );
    assert!(height == 0 && bytes < 250_000, "{height} {bytes}");
    // All but one column fit, if that is left out.
    let (state, height, bytes) = load(1_700_000);
    assert_eq!(height, 0, "{state} {bytes}");
    fs::write(
        bench.path().join("dataset.toml"),
        format!("{manifest}set = {{ volume = '' }}\n"),
    )
    .unwrap();
    let (state, height, bytes) = load(1_700_000);
    assert_eq!(height, 3 * rows, "{state} {bytes}");
    // The columns that are read fit, though the files do not.
    fs::write(bench.path().join("dataset.toml"), manifest).unwrap();
    let (state, height, bytes) = load(3_500_000);
    assert_eq!(height, 3 * rows, "{state} {bytes}");
}

#[test]
fn a_dataset_cannot_reach_into_the_private_network() {
    let bench = bench();
    let without_sources = wire_with(WireOptions {
        sources: Vec::new(),
        ..options(&bench.server)
    });
    for url in [
        format!("{}/bucket/t.csv", bench.server.url()),
        bench.server.url().replace("http:", "https:") + "/bucket/t.csv",
        "https://localhost/x.csv".to_owned(),
        "https://[::1]/x.csv".to_owned(),
        "https://169.254.169.254/latest/meta-data.csv".to_owned(),
        "https://2130706433/x.csv".to_owned(),
        "https://router.local/x.csv".to_owned(),
        "az://box/x.csv".to_owned(),
    ] {
        let place = UrlPattern::parse(&url).unwrap();
        let fault = without_sources.find(&place, 10, &|| false).unwrap_err();
        assert!(matches!(fault, Fault::Refused(_)), "{url}: {fault:?}");
    }
    assert_eq!(bench.server.requests(), 0);
}

const ID: &str = "AKIDTOBEFOUND";
const SECRET: &str = "SECRETtobefoundSECRETtobefound";

/// The program itself, with credentials in its environment.
fn command(bench: &Bench, arguments: &[&str]) -> Command {
    let home = bench.cache.path();
    let config = home.join("config.toml");
    let with_keys = bench.config().replace("anonymous = true\n", "") + "token_env = 'WEB_TOKEN'\n";
    fs::write(&config, with_keys).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tokendeck"));
    command
        .args(arguments)
        .arg("--config")
        .arg(&config)
        .env_clear()
        .env("HOME", home);
    command
        .env("AWS_ACCESS_KEY_ID", ID)
        .env("AWS_SECRET_ACCESS_KEY", SECRET)
        .env("WEB_TOKEN", SECRET)
        .env("RUST_LOG", "trace");
    command.stdin(Stdio::null());
    command
}

#[test]
fn keys_are_sent_to_their_source_alone() {
    let bench = bench();
    let data = bench.path().display().to_string();
    let mut told = Vec::new();
    let runs: [(&[&str], bool); 5] = [
        (&["check", &data], false),
        (&["get", "/datasets", "--data", &data], false),
        (&["get", "/metrics", "--data", &data], false),
        (
            &["get", &format!("/tokens/{UNI}/candles"), "--data", &data],
            true,
        ),
        (&["get", "/datasets", "--data", &data], true),
    ];
    for (arguments, trouble) in runs {
        if trouble {
            // Error bodies that echo the request.
            bench.server.put("c.csv", candles(0, 120));
            bench
                .server
                .trouble(std::iter::repeat_n(Trouble::Status(403), 30));
        }
        let output = command(&bench, arguments).output().unwrap();
        told.push((
            arguments.join(" "),
            String::from_utf8_lossy(&output.stdout).into_owned(),
        ));
        told.push((
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        ));
        bench.server.trouble([]);
    }
    // A server logs as long as it runs.
    bench.server.put("c.csv", candles(0, 140));
    bench.server.trouble(
        std::iter::repeat_n(Trouble::None, 2).chain(std::iter::repeat_n(Trouble::Status(503), 30)),
    );
    let before = bench.server.requests();
    let mut server = command(
        &bench,
        &["serve", "--listen", "127.0.0.1:0", "--data", &data],
    )
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    wait_until("it is refused again and again", || {
        bench.server.requests() >= before + 5
    });
    server.kill().unwrap();
    let log = server.wait_with_output().unwrap();
    assert!(!log.stderr.is_empty(), "it logs nothing");
    told.push((
        "the log".to_owned(),
        String::from_utf8_lossy(&log.stderr).into_owned(),
    ));
    bench.server.trouble([]);
    for path in [bench.cache.path(), bench.path()]
        .into_iter()
        .flat_map(files_below)
    {
        told.push((
            path.display().to_string(),
            String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned(),
        ));
    }
    for (place, text) in &told {
        assert!(
            !text.contains(ID) && !text.contains(SECRET),
            "{place} tells a key:\n{text}"
        );
    }
    // The credentials were sent, or the search proves nothing; the secret key itself never was.
    let sent = bench.server.shared.requests.lock().unwrap().join("");
    assert!(
        sent.contains(&format!("Credential={ID}")) && sent.contains(&format!("Bearer {SECRET}")),
        "{sent}"
    );
    assert!(
        !sent
            .replace(&format!("Bearer {SECRET}"), "")
            .contains(SECRET)
    );
    let source = Source {
        name: "lake".into(),
        kind: SourceKind::S3,
        token_env: "WEB_TOKEN".into(),
        ..Source::default()
    };
    assert!(!format!("{source:?} {:?}", wire(&bench.server)).contains(SECRET));
}

#[test]
fn commands_name_the_flag_that_agrees() {
    let bench = bench();
    let data = bench.path().display().to_string();
    for arguments in [
        &["get", "/tokens", "--data", &data][..],
        &["check", &data],
        &["serve", "--listen", "127.0.0.1:0", "--data", &data],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_tokendeck"))
            .args(arguments)
            .env_clear()
            .env("HOME", bench.cache.path())
            .output()
            .unwrap();
        let says = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(1)
                && says.contains("--remote")
                && says.contains("`s3://bucket`"),
            "{says}"
        );
    }
    assert_eq!(bench.server.requests(), 0);
}
