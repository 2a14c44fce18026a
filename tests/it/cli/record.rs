//! The record of all tokens over programs that answer once: counted when it is asked for, kept, and used by the next.

use super::Desk;
use crate::alerts::{
    A,
    record::{closes, write_candles},
};

#[test]
fn a_record_is_waited_for_and_kept_for_the_next_program() {
    let desk = Desk::new();
    desk.write(
        "data/tokens.csv",
        &format!("token_address,symbol,name,chain,price\n{A},A,A,eth,10\n"),
    );
    write_candles(&desk.path().join("data"), &closes(24));
    let get = |path: &str| {
        let (code, out, err) = desk.run(&["get", path, "--data", "data"]);
        assert_eq!(code, 0, "{path}: {err}");
        out
    };
    let action = || {
        serde_json::from_str::<serde_json::Value>(&get("/technical/A/patterns")).unwrap()["recommendedAction"].clone()
    };
    assert_eq!(action(), "hold", "no record is counted");
    let record = get("/technical/track-record");
    assert!(
        record.contains("\"complete\":true") && record.contains("double_bottom"),
        "{record}"
    );
    assert_eq!(
        action(),
        "strong_buy",
        "by the record that the program before has kept"
    );
    assert_eq!(get("/technical/track-record"), record);
    let listed = get("/tokens?where=action:strong_buy&only=symbol,recommendedAction,advice,signal");
    let row = r#"{"symbol":"A","recommendedAction":"strong_buy","advice":"strong_buy","signal":"strong_buy"}"#;
    assert!(listed.contains(row), "{listed}");
    let (code, out, err) = desk.run(&["report", "A", "--out", "a.md", "--data", "data"]);
    assert_eq!(code, 0, "{out}{err}");
    let report = std::fs::read_to_string(desk.path().join("a.md")).unwrap();
    assert!(
        report.contains("Strong buy: double bottom hit its target in 100.0%"),
        "{report}"
    );
}
