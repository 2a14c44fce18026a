//! Transfers in place on a real engine: what the checks, the flows and the growth say of random tokens is what they say of the same rows in
//! a file. Each token is a history of its own, with planted rings, snipers, airdrops, pulled liquidity, dumps and gaps in its rows. Run like
//! `real`; `TOKENDECK_TRANSFERS=FROM..TO` says which datasets.

use serde_json::Value;

use super::{
    histories::{Files, WETH, ZERO, dataset},
    near::same,
    real::{engine, make, tell, turn, wire},
};
use crate::remote::{Data, api_over, ask};

const COLUMNS: &str = "token_address LowCardinality(String), timestamp Nullable(DateTime64(3)), block_number Nullable(UInt64), \
                       log_index Nullable(UInt32), transaction_hash String, from_address Nullable(String), to_address Nullable(String), \
                       value Nullable(UInt256), status Nullable(UInt8)";

/// The dataset of the files, whose transfers are in a file too, or where this `dataset.toml` says.
pub(super) fn data(files: &Files, manifest: Option<&str>) -> Data {
    let with = |head: &str, rows: &str| format!("{head}\n{rows}");
    let tokens = with(
        "token_address,symbol,name,chain,decimals,total_supply",
        &files.tokens,
    );
    let all = [
        ("tokens.csv", tokens),
        (
            "contracts.csv",
            with("token_address,bytecode,creator,owner", &files.contracts),
        ),
        ("labels.csv", with("address,label", &files.labels)),
        (
            "funding.csv",
            with("from_address,to_address,timestamp", &files.funding),
        ),
        (
            "pools.csv",
            with("address,dex_id,chain,token0,token1,liquidity", &files.pools),
        ),
        (
            "pool_events.csv",
            with(
                "pool,timestamp,block_number,kind,reserve0,reserve1",
                &files.pool_events,
            ),
        ),
        (
            "holders.csv",
            with("token_address,holder_address,balance", &files.holders),
        ),
        ("dexes.csv", with("dex_id,name,chain,router", &files.dexes)),
    ];
    let data = Data::new(&[]);
    for (name, text) in all {
        data.write(name, &text);
    }
    if let Some(manifest) = manifest {
        data.write("dataset.toml", manifest);
    } else {
        let head = "token_address,timestamp,block_number,log_index,transaction_hash,from_address,to_address,value,status";
        data.write("transfers.csv", &with(head, &files.transfers));
    }
    data
}

/// The table of the files' transfers, in which later rows replace earlier ones.
pub(super) fn fill(url: &str, name: &str, files: &Files) {
    make(
        url,
        name,
        COLUMNS,
        "ReplacingMergeTree ORDER BY (token_address, transaction_hash, log_index) SETTINGS allow_nullable_key = 1",
    );
    for values in files.values.chunks(1_000) {
        tell(
            url,
            &format!("INSERT INTO deck_test.{name} VALUES {}", values.join(",")),
        );
    }
}

pub(super) fn questions(token: &str) -> [String; 3] {
    [
        format!("/{token}/security/inference?explain=true"),
        format!("/tokens/{token}/holders?limit=100&flows=true"),
        format!("/tokens/{token}"),
    ]
}

#[test]
#[ignore = "needs a real engine"]
fn transfers_in_place_give_the_answers_of_transfers_in_files() {
    let (_turn, url) = (turn(), engine());
    let range = std::env::var("TOKENDECK_TRANSFERS").unwrap_or_else(|_| "0..6".to_owned());
    let (from, to) = range.split_once("..").unwrap();
    let (mut found, mut compared) = (std::collections::BTreeMap::<String, usize>::new(), 0);
    for seed in from.parse::<u64>().unwrap()..to.parse().unwrap() {
        let name = format!("transfers_{}", std::process::id());
        let (files, tokens) = dataset(seed);
        fill(&url, &name, &files);
        let manifest = format!(
            "[tables.transfers]\nsource = 'warehouse'\ntable = 'deck_test.{name}'\nfinal = true\nread = 'in place'\n"
        );
        let (here, there) = (data(&files, None), data(&files, Some(&manifest)));
        let (brought, stays) = (
            here.load(None, 200_000).unwrap(),
            there.load(Some(&wire(&url)), 200_000).unwrap(),
        );
        let rows = [&brought, &stays].map(|dataset| dataset.table("transfers").unwrap().height());
        assert!(
            rows[0] == rows[1],
            "{seed}: {rows:?} {:?}",
            stays.table("transfers").unwrap().state
        );
        let (brought, stays) = (
            api_over(here.path(), brought),
            api_over(there.path(), stays),
        );
        for token in &tokens {
            for question in questions(token) {
                let ((status, expected), (status_there, answer)) =
                    (ask(&brought, &question), ask(&stays, &question));
                assert_eq!(status, status_there, "{seed} {question}: {answer}");
                let [expected, answer] =
                    [expected, answer].map(|text| serde_json::from_str::<Value>(&text).unwrap());
                let evidence =
                    expected["anomalyDetection"]["transactionPatterns"]["evidence"].as_array();
                for anomaly in evidence.into_iter().flatten() {
                    *found
                        .entry(anomaly["code"].as_str().unwrap_or_default().to_owned())
                        .or_default() += 1;
                }
                same(&expected, &answer, &format!("{seed} {question}"));
                compared += 1;
            }
        }
        tell(&url, &format!("DROP TABLE deck_test.{name}"));
    }
    println!("{compared} answers, {found:?}");
    assert!(compared > 0);
}

/// A token whose transfers are these values of the engine's table.
fn one(url: &str, name: &str, values: &[&str]) -> Data {
    make(
        url,
        name,
        COLUMNS,
        "MergeTree ORDER BY (token_address, timestamp) SETTINGS allow_nullable_key = 1",
    );
    tell(
        url,
        &format!("INSERT INTO deck_test.{name} VALUES {}", values.join(",")),
    );
    let manifest = format!(
        "[tables.transfers]\nsource = 'warehouse'\ntable = 'deck_test.{name}'\nread = 'in place'\n"
    );
    Data::new(&[
        ("dataset.toml", &manifest),
        (
            "tokens.csv",
            &format!("token_address,symbol,name,chain,decimals\n{ONE},ONE,One,eth,18\n"),
        ),
        (
            "holders.csv",
            &format!("token_address,holder_address,balance\n{ONE},{WETH},5\n"),
        ),
    ])
}

const ONE: &str = "0x1111111111111111111111111111111111111111";

fn row(second: u32, log: &str, hash: &str, to: &str, value: &str) -> String {
    format!(
        "('{ONE}',toDateTime64({second},3,'UTC'),{second},{log},'{hash}','{ZERO}','{to}',{value},NULL)"
    )
}

#[test]
#[ignore = "needs a real engine"]
fn what_the_sums_cannot_tell_is_said_or_refused() {
    let (_turn, url) = (turn(), engine());
    let security = format!("/{ONE}/security/inference?explain=true");
    let plain = [
        row(1, "1", "0x01", WETH, "5"),
        row(2, "1", "0x02", WETH, "7"),
    ];
    let cases: [(&str, &[String], u16, &str); 4] = [
        ("plain", &[], 200, "\"transactionPatterns\""),
        (
            "ties",
            &[
                row(2, "NULL", "0x03", WETH, "9"),
                row(2, "NULL", "0x04", WETH, "9"),
            ],
            200,
            "1 transfers at the source share their time",
        ),
        (
            "twice",
            &[
                row(3, "4", "0x05", WETH, "9"),
                row(3, "4", "0x05", WETH, "9"),
            ],
            503,
            "1 of its transfers is a duplicate",
        ),
        (
            "odd",
            &[row(3, "4", "0x05", "0xabc", "9")],
            503,
            "0x0000000000000000000000000000000000000000 0xabc 9",
        ),
    ];
    for (name, more, status, says) in cases {
        let values: Vec<&str> = plain.iter().chain(more).map(String::as_str).collect();
        let data = one(&url, &format!("told_{name}"), &values);
        let api = api_over(data.path(), data.load(Some(&wire(&url)), 200_000).unwrap());
        let (found, body) = ask(&api, &security);
        assert!(
            found == status && body.contains(says),
            "{name}: {found} {body}"
        );
    }
    // Rows without a hash, and of what is no token, are counted.
    let odd = [
        "('nothing',toDateTime64(1,3,'UTC'),1,1,'0x09',NULL,NULL,NULL,NULL)".to_owned(),
        row(4, "1", "", WETH, "9"),
    ];
    let values: Vec<&str> = plain.iter().chain(&odd).map(String::as_str).collect();
    let data = one(&url, "told_left_out", &values);
    let dataset = data.load(Some(&wire(&url)), 200_000).unwrap();
    let told: Vec<&str> = dataset
        .table("transfers")
        .unwrap()
        .findings
        .kept()
        .iter()
        .map(|finding| finding.reason.as_str())
        .collect();
    for says in [
        "1 of the rows is excluded because its token is not an address, such as `nothing`",
        "1 of the rows is excluded because it has no transaction hash",
    ] {
        assert!(told.iter().any(|told| told.contains(says)), "{told:?}");
    }
    // The rows of a token, page by page.
    let api = api_over(data.path(), dataset);
    let (status, body) = ask(
        &api,
        &format!("/tables/transfers?where=token_address={ONE}&limit=10"),
    );
    let rows: Value = serde_json::from_str(&body).unwrap();
    let first = &rows["rows"][0];
    assert!(
        status == 200 && rows["rows"].as_array().map(Vec::len) == Some(2),
        "{body}"
    );
    assert_eq!(
        (
            first["value"].as_str(),
            first["transaction_hash"].as_str(),
            first["to_address"].as_str()
        ),
        (Some("5"), Some("0x01"), Some(WETH))
    );
    // A row that changes is noticed.
    let before = ask(&api, &security);
    tell(
        &url,
        &format!(
            "INSERT INTO deck_test.told_left_out VALUES {}",
            row(2, "7", "0x77", WETH, "1")
        ),
    );
    assert_eq!(ask(&api, &security), before, "what was summed stays");
    data.clear_cache();
    let (status, body) = ask(&api, &format!("/tokens/{ONE}/holders?flows=true"));
    assert!(
        status == 503 && body.contains("reload the data"),
        "{status} {body}"
    );
}
