//! The record of the verdicts, from wanted to complete, on a made dataset.

use super::*;
use crate::queries::tests::{answered, snapshot};
use model::time::DAY_MS;

/// Two trades per day, from day `from` to day `to`, after which 95% of the liquidity is removed if it is `pulled`.
fn events(rows: &mut String, pool: &str, (from, to): (i64, i64), pulled: bool) {
    let mut add = |at: i64, token: u64, other: u64| {
        let at = Time(at);
        rows.push_str(&format!(
            "{pool},{at},{},sync,{token},{other}\n",
            at.0 / 12_000
        ));
    };
    add(from * DAY_MS, 1_000_000, 1_000_000);
    for day in from..to {
        add(day * DAY_MS + DAY_MS / 3, 990_000, 1_010_200);
        add(day * DAY_MS + DAY_MS / 2, 1_000_000, 1_000_200);
    }
    if pulled {
        add(to * DAY_MS, 50_000, 50_010);
    }
}

/// One token lives, one is pulled on day 20,030, one is too young, one has no launch, and more tables.
fn market(more: &[(&str, &str)]) -> Snapshot {
    let mut rows = "pool,timestamp,block_number,kind,reserve0,reserve1\n".to_owned();
    events(&mut rows, "0xa1", (20_020, 20_200), false);
    events(&mut rows, "0xa2", (20_020, 20_030), true);
    events(&mut rows, "0xa3", (20_180, 20_200), false);
    events(&mut rows, "0xa4", (20_000, 20_200), false);
    let contract =
        |number: u8, day: i64| format!("0x{number},,0xc{number},{}\n", Time(day * DAY_MS));
    let contracts = format!(
        "token_address,bytecode,creator,created_at\n{}{}{}",
        contract(1, 20_020),
        contract(2, 20_020),
        contract(3, 20_180)
    );
    let tables = [
        (
            "tokens",
            "token_address,symbol,name,chain\n0x1,A,A,eth\n0x2,B,B,eth\n0x3,C,C,eth\n0x4,D,D,eth",
        ),
        (
            "pools",
            "address,dex_id,chain,token0,token1\n0xa1,v2,eth,0x1,0xee\n0xa2,v2,eth,0x2,0xee\n0xa3,v2,eth,0x3,0xee\n0xa4,v2,eth,0x4,0xee",
        ),
        ("pool_events", &rows),
        ("contracts", &contracts),
    ];
    snapshot(&[&tables, more].concat())
}

fn counted(snapshot: &Snapshot) -> SecurityRecord {
    let step = |_, _| Ok(());
    let inputs = VerdictRecords.inputs(snapshot, &step).expect("inputs");
    let (record, words) = VerdictRecords
        .count(snapshot, inputs, None, &step)
        .expect("a record");
    // The stored words make the same record.
    let inputs = VerdictRecords.inputs(snapshot, &step).expect("inputs");
    let (again, same) = VerdictRecords
        .count(snapshot, inputs, Some(words.clone()), &step)
        .expect("a record");
    assert_eq!((&again, same), (&record, words));
    record
}

#[test]
fn the_record_is_wanted_counted_and_complete() {
    let snapshot = market(&[]);
    let ask = || answered::<SecurityRecordQuery>(&snapshot, &[], "").expect("an answer");
    let before = ask();
    assert!(!before.complete && before.records.is_empty());
    assert_eq!(snapshot.track_records.due(), Some(RecordName::Security));
    let name = RecordName::Security;
    snapshot.track_records.report(name, (1, 5));
    assert_eq!((ask().done, ask().total), (1, 5));
    let etag = SecurityRecordQuery {}.etag(&snapshot);
    snapshot
        .track_records
        .publish_security(Ok(counted(&snapshot)));
    let answer = ask();
    assert!(answer.complete && snapshot.track_records.due().is_none());
    assert_ne!(etag, SecurityRecordQuery {}.etag(&snapshot));
    // The pulled token has no outcome that is open 30 days after its launch.
    assert_eq!((answer.tokens, answer.done, answer.total), (2, 5, 5));
    let left_out = TokensLeftOut {
        launch_unknown: 1,
        no_outcome: 1,
        in_place: 0,
        above_limit: 0,
    };
    assert_eq!(answer.left_out, left_out);
    let known: u64 = answer
        .records
        .iter()
        .filter(|record| record.day == 7)
        .map(|record| record.tokens)
        .sum();
    assert_eq!(known, 2);
    let json = serde_json::to_value(&answer).expect("JSON");
    let outcome = &json["records"][0]["outcomes"][0];
    assert_eq!(outcome["outcome"], "price_down_50");
    assert_eq!(
        (&outcome["withinDays"], &outcome["baseRate"]),
        (&30.into(), &0.5.into())
    );
    // Both tokens have this verdict, so there is nothing to compare it with.
    assert!(outcome["difference"].is_null() && outcome["verdict"].is_null());
}

#[test]
fn only_evidence_with_a_time_changes_the_record() {
    let plain = counted(&market(&[]));
    let undated: [&[(&str, &str)]; 3] = [
        &[("labels", "address,label\n0x1,scam\n0xc1,scam")],
        &[(
            "holders",
            "token_address,holder_address,balance\n0x1,0xb1,100\n0x1,0xb2,1",
        )],
        &[("scams", "address,name,scam_type\n0x1,A,rug pull")],
    ];
    for table in undated {
        assert_eq!(counted(&market(table)), plain, "{table:?}");
    }
    let reported = |day: i64| {
        let scams = format!(
            "address,name,scam_type,reported_at\n0x1,A,rug pull,{}",
            Time(day * DAY_MS)
        );
        let record = counted(&market(&[("scams", &scams)]));
        let avoided = record
            .records
            .iter()
            .filter(|it| it.recommendation == "AVOID");
        avoided.map(|it| it.day).collect::<Vec<_>>()
    };
    let avoided = reported(20_190);
    assert!(!reported(20_100).contains(&1) && reported(20_100) == avoided);
    assert!(reported(20_022).contains(&7) && !reported(20_022).contains(&1));
}
