//! Answers of services as they were recorded (`tests/recorded/providers`): those whose description says how they are known are imported by it.

use std::path::Path;

use super::{Desk, UNI};
use crate::shared::shared;
use load::provider::built_in;
use toml::{Table, Value};

#[test]
fn recorded_answers_are_known_by_the_descriptions_of_their_services() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded/providers");
    let index: Table = std::fs::read_to_string(folder.join("index.toml"))
        .unwrap()
        .parse()
        .unwrap();
    let mut known = 0;
    for answer in index["answer"].as_array().unwrap() {
        let text = |key: &str| answer.get(key).and_then(Value::as_str);
        // A file keeps the price of the moment of asking, which is no candle when it is fetched.
        let rows = answer
            .get("imported")
            .or_else(|| answer.get("rows"))
            .and_then(Value::as_integer);
        let (provider, request) = (text("provider").unwrap(), text("request").unwrap());
        let described = built_in()[provider]
            .requests
            .iter()
            .find(|described| described.name == request)
            .unwrap();
        let (Some(rows), Some(_)) = (rows.filter(|rows| *rows > 0), &described.known) else {
            continue;
        };
        let path = match text("file") {
            Some(file) => folder.join(file).display().to_string(),
            None => match shared(&format!("data/{}", text("shared").unwrap())) {
                Some(path) => path,
                None => continue,
            },
        };
        let desk = Desk::empty();
        let said = [path.as_str(), "--chain", "eth", "--unit", "raw"];
        let (mut code, mut report, mut err) = desk.run(&said);
        if err.contains("--token ADDRESS") {
            (code, report, err) = desk.run(&[&said[..], &["--token", UNI]].concat());
        }
        // Some services round each price by itself, and what breaks the rules of candles is refused whoever it is from.
        if err.contains("breaks the rule low ≤ open") {
            continue;
        }
        assert_eq!(code, 0, "{provider} {request} {path}: {err}");
        let file = &report["files"][0];
        let title = file["title"].as_str().unwrap();
        assert!(
            title
                .to_lowercase()
                .starts_with(&built_in()[provider].name.to_lowercase()),
            "{provider} {request} {path}: {title}"
        );
        let table = described.tables[0].table;
        let taken = file["taken"]
            .as_array()
            .unwrap()
            .iter()
            .find(|taken| taken["table"] == table)
            .unwrap();
        assert_eq!(
            taken["rows"].as_i64(),
            Some(rows),
            "{provider} {request} {path}: {file:#}"
        );
        known += 1;
    }
    assert!(known > 3, "{known}");
}
