//! Tests of where the table in a JSON text is found, and of its rows.

use super::*;

/// Path, column names and first row.
fn found(text: &str) -> (String, Vec<String>, Vec<Option<String>>) {
    let json = Json::of(text.as_bytes()).expect("JSON").expect("a table");
    let row = json.row(0);
    (json.place, json.names, row)
}

#[test]
fn the_table_is_found_wherever_it_stands() {
    for (text, place, names, row) in [
        (
            r#"[[1,"2",3],[4,"5",6]]"#,
            "",
            &["1", "2", "3"][..],
            &["1", "2", "3"][..],
        ),
        (
            r#"{"error":[],"result":{"XXBTZUSD":[[1,"2"],[3,"4"]],"last":9}}"#,
            "result.XXBTZUSD",
            &["1", "2"],
            &["1", "2"],
        ),
        (
            r#"{"tokens":[{"a":{"b":1},"c":[1]},{"d":2}],"tags":["x","y"]}"#,
            "tokens",
            &["a.b", "c", "d"],
            &["1", "[1]", ""],
        ),
        (
            r#"{"columns":["o","c"],"index":[7,8],"data":[[1,2],[3,4]]}"#,
            "",
            &["index", "o", "c"],
            &["7", "1", "2"],
        ),
        (
            r#"{"index":["x","y"],"columns":["o","c"],"data":[[1,2],[3,4]]}"#,
            "",
            &["index", "o", "c"],
            &["x", "1", "2"],
        ),
        (
            r#"{"columns":["t","c"],"index":[0,1],"data":[[1,2],[3,4]]}"#,
            "",
            &["t", "c"],
            &["1", "2"],
        ),
        (
            r#"{"meta":[{"name":"a","type":"x"},{"name":"b"}],"data":[["1",2]],"rows":1}"#,
            "",
            &["a", "b"],
            &["1", "2"],
        ),
        (
            r#"{"time":5,"open":1,"close":2}"#,
            "",
            &["time", "open", "close"],
            &["5", "1", "2"],
        ),
        (
            r#"{"s":"ok","t":[1,2,3],"o":[4,5,6],"c":[7,8,9]}"#,
            "",
            &["t", "o", "c"],
            &["1", "4", "7"],
        ),
        (
            r#"{"chart":{"result":[{"meta":{"symbol":"BTC-USD"},"timestamp":[1,2],"indicators":{"quote":[{"open":[3,4],"close":[5,6]}]}}]}}"#,
            "chart",
            &["timestamp", "open", "close"],
            &["1", "3", "5"],
        ),
        (
            r#"{"2024-01-01":{"1. open":"5"},"2024-01-02":{"1. open":"6"}}"#,
            "",
            &["key", "1. open"],
            &["2024-01-01", "5"],
        ),
        (
            r#"{"open":{"0":1,"1":2},"close":{"0":3,"1":4},"low":{"0":5,"1":6}}"#,
            "",
            &["key", "open", "close", "low"],
            &["0", "1", "3", "5"],
        ),
        (
            r#"{"0x1111111111111111111111111111111111111111":"5","0x2222222222222222222222222222222222222222":"6"}"#,
            "",
            &["key", "1"],
            &["0x1111111111111111111111111111111111111111", "5"],
        ),
        (
            r#"{"root":"x","claims":{"0x1111111111111111111111111111111111111111":{"amount":"5","proof":["a","b","c"]},"0x2222222222222222222222222222222222222222":{"amount":"6","proof":["d","e","f"]}}}"#,
            "claims",
            &["key", "amount", "proof"],
            &[
                "0x1111111111111111111111111111111111111111",
                "5",
                r#"["a","b","c"]"#,
            ],
        ),
    ] {
        let row: Vec<Option<String>> = row
            .iter()
            .map(|cell| Some((*cell).to_owned()).filter(|cell| !cell.is_empty()))
            .collect();
        assert_eq!(
            found(text),
            (
                place.to_owned(),
                names.iter().map(|&name| name.to_owned()).collect(),
                row
            ),
            "{text}"
        );
    }
    let lists = Json::of(
        br#"{"a":[{"t":1,"o":2,"c":3}],"note":"x","b":[{"t":1,"o":5,"c":6},{"t":2,"o":7,"c":8}]}"#,
    )
    .expect("valid")
    .expect("valid");
    assert_eq!(
        (&lists.names[..], lists.height()),
        (&["list", "t", "o", "c"].map(str::to_owned)[..], 3)
    );
    assert_eq!(
        lists.row(1),
        ["b", "1", "5", "6"].map(|cell| Some(cell.to_owned()))
    );
    let lists = Json::of(br#"{"A":[[1,2,3,4,5]],"B":[[6,7,8,9,10]]}"#)
        .expect("valid")
        .expect("valid");
    assert_eq!(
        (lists.names.len(), lists.row(1)[..2].to_vec()),
        (6, vec![Some("B".to_owned()), Some("6".to_owned())])
    );
    let graph =
        Json::of(br#"{"data":{"get_result":[{"data":{"a":1,"b":2},"__typename":"x"},{"data":{"a":3},"__typename":"x"}]}}"#).expect("valid");
    assert_eq!(
        graph.map(|json| (json.names.clone(), json.row(1))),
        Some((vec!["a".into(), "b".into()], vec![Some("3".into()), None]))
    );
    let one = found(
        r#"{"result":{"rows":[{"a":1,"b":2}],"metadata":{"column_names":["a","b"],"column_types":["x","y"]}}}"#,
    );
    assert_eq!((one.0.as_str(), one.1.len()), ("result.rows", 2));
    assert!(
        Json::of(br#"{"status":"0","message":"x"}"#)
            .expect("valid")
            .is_none()
    );
    assert!(Json::of(b"5").expect("valid").is_none() && Json::of(b"{").is_err());
    let beside = Json::of(br#"{"meta":{"base":{"address":"0xab"}},"list":[[1,2],[3,4]]}"#)
        .expect("valid")
        .expect("valid")
        .beside;
    assert_eq!(
        beside,
        [("meta.base.address".to_owned(), "0xab".to_owned())]
    );
}

#[test]
fn lines_may_be_lists_and_none_is_dropped_in_silence() {
    let first = |text: &str| {
        let json = Json::lines(text.as_bytes());
        (
            json.names.join(" "),
            json.height(),
            json.row(0)
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(" "),
            json.notes.len(),
        )
    };
    for (text, names, height, row, notes) in [
        ("{\"a\":1}\n{\"a\":2}", "a", 2, "1", 0),
        ("{\"a\":NaN,\"b\":1}\n{\"a\":2}", "b a", 2, "1", 1),
        ("{\"a\":1}\n{\"a\":\n\n{\"a\":3}", "a", 2, "1", 1),
        ("[\"t\",\"c\"]\n[1,\"5\"]\n[2,\"6\"]", "t c", 2, "1 5", 0),
        (
            "[\"t\",\"c\"]\n[\"UInt64\",\"Nullable(String)\"]\n[1,\"5\"]",
            "t c",
            1,
            "1 5",
            0,
        ),
        ("[1,\"5\"]\n[2,\"6\"]", "1 2", 2, "1 5", 0),
        ("[\"x\",\"y\"]\n[\"z\",\"w\"]", "1 2", 2, "x y", 0),
    ] {
        assert_eq!(
            first(text),
            (names.to_owned(), height, row.to_owned(), notes),
            "{text}"
        );
    }
}
