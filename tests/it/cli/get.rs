//! `tokendeck get`: the answer alone on stdout, in each format, and problems on stderr.

use std::{io::Write as _, process::Stdio};

use serde_json::Value;

use super::{DEMO, Desk, told};

#[test]
fn get_prints_the_answer_and_nothing_else() {
    let desk = Desk::new();
    let (code, out, err) = desk.run(&["get", "/healthz", "--data", DEMO]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(
        out,
        format!(
            "{{\"status\":\"ok\",\"version\":\"{}\"}}\n",
            env!("CARGO_PKG_VERSION")
        )
    );
    let (code, out, _) = desk.run(&["get", "/tokens?limit=3", "--data", DEMO]);
    let answer: Value = serde_json::from_str(out.trim_end_matches('\n')).unwrap();
    assert_eq!(
        (
            code,
            answer["limit"].as_u64(),
            answer["tokens"].as_array().map(Vec::len)
        ),
        (0, Some(3), Some(3))
    );
}

#[test]
fn a_parameter_that_is_ignored_is_said_and_lists_are_given_as_json() {
    let desk = Desk::new();
    desk.write("market/tokens.csv", "token_address,symbol,name,chain,price\n0x00000000000000000000000000000000000000a1,A,A,eth,3\n");
    let run = |args: &[&str]| desk.run(&[args, &["--data", "market"]].concat());
    let (code, out, err) = run(&["get", "/tokens?limt=3"]);
    assert!(
        code == 0
            && out.contains("\"limit\":50")
            && err.contains("Unknown parameter `limt`; this endpoint accepts query, "),
        "{err}"
    );
    assert_eq!(run(&["get", "/tokens?limit=3"]).2, "");
    assert_eq!(run(&["alert", "add", "price>5"]).0, 0);
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let alerts = json(&run(&["alert", "list", "--json"]).1);
    assert_eq!(
        (alerts["alerts"][0]["condition"].as_str(), &alerts["fired"]),
        (Some("price>5"), &serde_json::json!([]))
    );
    assert_eq!(
        json(&desk.run(&["jobs", "list", "--json"]).1),
        serde_json::json!({ "total": 0, "jobs": [] })
    );
    let (code, out, _) = run(&["alert", "add", "price>5", "--rehearse"]);
    assert_eq!((code, out.as_str()), (0, "no candles to backtest on\n"));
}

#[test]
fn get_prints_the_list_of_an_answer_as_csv_and_as_table() {
    let desk = Desk::new();
    let (code, out, _) = desk.run(&["get", "/tokens?limit=3", "--data", DEMO, "--format", "csv"]);
    let mut reader = csv::Reader::from_reader(out.as_bytes());
    assert!(
        reader
            .headers()
            .unwrap()
            .iter()
            .any(|name| name == "token_address")
    );
    assert_eq!((code, reader.records().map(Result::unwrap).count()), (0, 3));
    let (code, out, _) = desk.run(&[
        "get",
        "/tokens?limit=3",
        "--data",
        DEMO,
        "--format",
        "table",
    ]);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!((code, lines.len()), (0, 9), "{out}");
    assert_eq!((lines[1], lines[3], lines[4]), ("limit  3", "", "tokens"));
    assert!(lines[5].starts_with("token_address "));
}

#[test]
fn get_writes_csv_as_the_api_does() {
    let desk = Desk::new();
    for path in [
        "/tokens?limit=3",
        "/dexes",
        "/tables/candles?limit=5",
        "/tokens/UNI/holders",
    ] {
        let as_asked = desk.run(&["get", path, "--data", DEMO, "--format", "csv"]);
        let by_path = desk.run(&[
            "get",
            &format!(
                "{path}{}format=csv",
                if path.contains('?') { "&" } else { "?" }
            ),
            "--data",
            DEMO,
        ]);
        assert_eq!(as_asked, by_path, "{path}");
    }
    // What has one form alone is flattened.
    for path in ["/tokens?addresses=UNI", "/tables", "/tokens/UNI"] {
        let (code, out, err) = desk.run(&["get", path, "--data", DEMO, "--format", "csv"]);
        assert!(code == 0 && out.lines().count() > 1, "{path}: {err}");
    }
}

#[test]
fn get_tells_of_a_table_that_cannot_be_read() {
    let desk = Desk::new();
    desk.write("bad/tokens.csv", "token_address,symbol,name,chain\n0x1f9840a85d5af5bf1d1762f925bdaddc4201f984,UNI,Uniswap,eth\n");
    desk.write("bad/candles.parquet", "garbage");
    for format in ["json", "csv", "table"] {
        let (code, out, err) = desk.run(&["get", "/tokens", "--data", "bad", "--format", format]);
        assert!(
            code == 1 && out.contains("UNI") && err.contains("unreadable tables: `candles`: "),
            "{code} {out} {err}"
        );
    }
}

#[test]
fn a_problem_goes_to_stderr_in_one_line() {
    let desk = Desk::new();
    let (code, out, err) = desk.run(&["get", "/tokens?limit=0", "--data", DEMO]);
    assert_eq!(
        (code, out.as_str(), err.lines().count()),
        (1, "", 1),
        "{err}"
    );
    assert!(
        err.starts_with("tokendeck: 400 invalid_parameter: ") && err.contains("limit"),
        "{err}"
    );
    let (code, out, err) = desk.run(&["get", "/events", "--data", DEMO]);
    assert_eq!((code, out.as_str()), (1, ""), "{err}");
    assert!(
        err.contains("`/events` is an endless stream; run `tokendeck serve` and request it there"),
        "{err}"
    );
    let (code, out, err) = desk.run(&["get", "/nowhere\u{1b}[2J", "--data", DEMO]);
    assert!(
        code == 1 && out.is_empty() && !err.contains('\u{1b}'),
        "{err:?}"
    );
}

#[test]
fn a_body_is_read_from_stdin() {
    let desk = Desk::new();
    let mut command = desk.command(&["get", "/nowhere", "--data", DEMO, "--body", "-"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"{}").unwrap();
    let (code, _, err) = told(&child.wait_with_output().unwrap());
    assert!(
        code == 1 && err.starts_with("tokendeck: 404 route_not_found: "),
        "{err}"
    );
}

#[test]
fn a_node_that_the_configuration_does_not_name_is_said_to_be_missing() {
    const TOKEN: &str = "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984";
    let desk = Desk::new();
    desk.write("c.toml", "[remote]\nenabled = true\n");
    desk.write(
        "d/dataset.toml",
        "[tables.contracts]\nsource = \"mainet\"\n",
    );
    desk.write(
        "d/tokens.csv",
        &format!("token_address,chain\n{TOKEN},eth\n"),
    );
    let (code, out, err) = desk.run(&[
        "get",
        &format!("/{TOKEN}/security/inference"),
        "--data",
        "d",
        "--config",
        "c.toml",
    ]);
    assert_eq!((code, out.as_str()), (1, ""), "{err}");
    assert!(
        err.contains("source_unavailable") && err.contains("[sources.mainet]"),
        "{err}"
    );
}
