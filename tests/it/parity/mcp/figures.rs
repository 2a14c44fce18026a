//! Questions of analysts in plain English: each is answered by one call, with figures of the demo dataset.

use std::path::Path;

use serde_json::Value;

use super::{Client, FrontEnds};

/// The question, the tool, its arguments, the figures of the answer as `pointer=value`, and the answer in words.
const QUESTIONS: &str = include_str!("../../../questions/figures.tsv");

fn is_equal(found: &Value, expected: &Value) -> bool {
    match (found.as_f64(), expected.as_f64()) {
        (Some(found), Some(expected)) => (found - expected).abs() <= 1e-6 * expected.abs(),
        _ => found == expected,
    }
}

#[test]
fn a_plain_question_is_answered_by_one_call() {
    let front_ends = FrontEnds::over(
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/datasets")),
        "",
    );
    let client = Client::over_http(&front_ends);
    let mut asked = 0;
    for line in QUESTIONS.lines() {
        let [question, tool, given, figures, _] =
            line.split('\t').collect::<Vec<_>>().try_into().expect(line);
        let given: Value = serde_json::from_str(given).expect(line);
        let result = client
            .call(tool, given.as_object().unwrap().clone())
            .unwrap();
        assert_eq!(result.is_error, Some(false), "{question}: {result:?}");
        let answer = result.structured_content.unwrap();
        for figure in figures.split(" | ") {
            let (pointer, expected) = figure.split_once('=').expect(line);
            let expected: Value = serde_json::from_str(expected).expect(figure);
            let found = answer.pointer(pointer).unwrap_or(&Value::Null);
            assert!(
                is_equal(found, &expected),
                "{question} {pointer}: {found}, not {expected}"
            );
        }
        asked += 1;
    }
    assert_eq!(asked, 40);
}
