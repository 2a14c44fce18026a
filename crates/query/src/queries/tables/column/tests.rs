//! Value counts and statistics of columns of a small dataset.

use super::*;
use crate::queries::tests::{answered, snapshot};

fn ask<Q: Query>(table: &str, query: &str) -> Result<Value> {
    let snapshot = snapshot(&[
        ("tokens", "token_address,symbol,name,chain,rating\n0x1,A,A,eth,3\n0x2,B,B,base,3\n0x3,C,,eth,5\n0x4,A,D,eth,"),
        (
            "candles",
            "token_address,timestamp,open,high,low,close,interval
             0x1,2026-01-01,1,1,1,1,1d
             0x1,2026-01-02,1,2,1,2,1d
             0x1,2026-01-03,1,3,1,3,1d
             0x2,2026-01-01,1,4,1,4,1d",
        ),
        (
            "transfers",
            "token_address,from_address,to_address,value,timestamp,transaction_hash,log_index,block_number
             0x1,0xa,0xb,123456789012345678901,2026-01-01,0x1,1,1
             0x1,0xa,0xb,9,2026-01-01,0x1,2,1
             0x1,0xa,0xb,123456789012345678902,2026-01-01,0x1,3,1",
        ),
    ]);
    Ok(serde_json::to_value(answered::<Q>(&snapshot, &[("table", table)], query)?).expect("JSON"))
}

#[test]
fn values_are_counted_the_most_frequent_first() {
    let counts = ask::<CountsQuery>("tokens", "column=symbol").expect("counts");
    assert_eq!(
        (&counts["rows"], &counts["missing"], &counts["distinct"]),
        (&json!(4), &json!(0), &json!(3))
    );
    assert_eq!(
        counts["counts"][0],
        json!({ "value": "A", "count": 2, "share": 0.5 })
    );
    assert_eq!(counts["counts"][1]["value"], "B");
    let own = ask::<CountsQuery>("tokens", "column=rating&limit=1").expect("counts");
    assert_eq!(
        (&own["missing"], &own["distinct"], &own["counts"]),
        (
            &json!(1),
            &json!(2),
            &json!([{ "value": 3, "count": 2, "share": 2.0 / 3.0 }])
        )
    );
    let some = ask::<CountsQuery>("tokens", "column=symbol&where=chain:eth").expect("counts");
    assert_eq!((&some["rows"], &some["distinct"]), (&json!(3), &json!(2)));
}

#[test]
fn a_row_with_a_list_has_each_of_its_elements() {
    let snapshot = snapshot(&[(
        "tokens",
        "token_address,symbol,name,chain\n0x1,A,A,\"base, oeth\"\n0x2,B,B,base\n0x3,C,C,\"oeth, base\"\n0x4,D,D,eth\n0x5,E,E,eth",
    )]);
    let ask = |query: &str| {
        let counts =
            answered::<CountsQuery>(&snapshot, &[("table", "tokens")], query).expect("counts");
        let values = counts.counts.iter().map(|count| {
            (
                count.value.as_str().unwrap_or_default().to_owned(),
                count.count,
                count.share,
            )
        });
        (
            counts.rows,
            counts.missing,
            counts.distinct,
            values.collect::<Vec<_>>(),
        )
    };
    let of = |value: &str, count: u64, share: f64| (value.to_owned(), count, share);
    assert_eq!(
        ask("column=chain"),
        (
            5,
            0,
            3,
            vec![of("base", 3, 0.6), of("eth", 2, 0.4), of("oeth", 2, 0.4)]
        )
    );
    assert_eq!(
        ask("column=chain&where=symbol:A").3,
        [of("base", 1, 1.0), of("oeth", 1, 1.0)]
    );
    let described = answered::<DescribeQuery>(&snapshot, &[("table", "tokens")], "column=chain")
        .expect("a description");
    assert_eq!(
        (described.min, described.max),
        (json!("base"), json!("oeth"))
    );
}

#[test]
fn a_column_is_described_by_what_it_holds() {
    let close = ask::<DescribeQuery>("candles", "column=close").expect("a description");
    let figures = ["min", "quartile_1", "median", "quartile_3", "max", "mean"]
        .map(|name| close[name].as_f64());
    assert_eq!(
        figures,
        [
            Some(1.0),
            Some(1.75),
            Some(2.5),
            Some(3.25),
            Some(4.0),
            Some(2.5)
        ]
    );
    assert_eq!(
        (
            close["distinct"].as_u64(),
            close["histogram"].as_array().map(Vec::len)
        ),
        (Some(4), Some(20))
    );
    // Every digit, in numeric order, not in text order.
    let value = ask::<DescribeQuery>("transfers", "column=value").expect("a description");
    assert_eq!(
        (&value["min"], &value["max"]),
        (&json!("9"), &json!("123456789012345678902"))
    );
    assert_eq!(
        (&value["distinct"], value["median"].as_f64()),
        (&json!(3), Some(123_456_789_012_345_680_000.0))
    );
    let time =
        ask::<DescribeQuery>("candles", "column=timestamp&where=close>1").expect("a description");
    assert_eq!(
        (&time["min"], &time["median"]),
        (
            &json!("2026-01-01T00:00:00Z"),
            &json!("2026-01-02T00:00:00Z")
        )
    );
    let name = ask::<DescribeQuery>("tokens", "column=name").expect("a description");
    assert_eq!(
        (
            &name["min"],
            &name["max"],
            &name["median"],
            &name["missing"]
        ),
        (&json!("A"), &json!("D"), &Value::Null, &json!(1))
    );
}

#[test]
fn a_column_that_is_not_there_is_refused_with_its_name() {
    for (query, says) in [
        (
            "",
            "`column` is required; choose one of token_address, symbol",
        ),
        ("column=symbl", "did you mean `symbol`?"),
        ("column=symbol&where=x>1", "`where`: unknown column `x`"),
    ] {
        let refused = ask::<CountsQuery>("tokens", query).expect_err("a problem");
        assert!(
            refused.code == Code::InvalidParameter && refused.detail.contains(says),
            "{query}: {refused}"
        );
    }
    assert_eq!(
        ask::<CountsQuery>("tokns", "column=symbol")
            .expect_err("a problem")
            .code,
        Code::TableNotFound
    );
}

#[test]
fn numbers_are_sorted_on_any_count_of_threads() {
    // Multiples of an odd number modulo a prime, each occurring about twelve times.
    let keys: Vec<u64> = (0..100_000_u64).map(|nth| nth * 7_919 % 8_209).collect();
    let mut expected = keys.clone();
    expected.sort_unstable();
    for threads in [0, 1, 2, 3, 8] {
        let mut sorted = keys.clone();
        parallel_sort(&mut sorted, threads);
        assert!(sorted == expected, "{threads} threads");
    }
}
