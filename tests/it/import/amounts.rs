//! Amounts stored as floating-point numbers, as in public data lakes: accepted, and reported as approximate wherever they are used.

use std::{fs, path::Path, sync::Arc};

use api::{Api, ApiOptions, keys::Keys};
use load::loader::load;
use model::{data::AddressRows as _, progress::NoProgress};
use polars::prelude::{DataFrame, DataType, ParquetWriter};
use query::service::{QueryService, ServiceOptions};

use super::Desk;

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/datasets");
const SAID: &str = "amounts are approximate";

/// The demo's transfers in the layout of AWS's public data lake.
fn lake(path: &Path) {
    let demo = load(Path::new(DEMO), &NoProgress).unwrap();
    let mut frame: DataFrame = demo.table("transfers").unwrap().frame().clone();
    let value = frame
        .column("value")
        .unwrap()
        .cast(&DataType::Float64)
        .unwrap();
    frame.with_column(value).unwrap();
    frame.rename("timestamp", "block_timestamp".into()).unwrap();
    let columns = [
        "token_address",
        "from_address",
        "to_address",
        "value",
        "transaction_hash",
        "log_index",
        "block_timestamp",
        "block_number",
    ];
    let mut frame = frame.select(columns).unwrap();
    ParquetWriter::new(fs::File::create(path).unwrap())
        .finish(&mut frame)
        .unwrap();
}

/// Sentences of the transfer analysis of the dataset's tokens.
fn sentences(folder: &Path) -> Vec<String> {
    let service = QueryService::new(folder, ServiceOptions::default()).unwrap();
    service.load().unwrap();
    let dataset = &service.snapshot().unwrap().dataset;
    let tokens: Vec<String> = dataset
        .transfers()
        .addresses()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(dataset.is_approximate("transfers", "value"));
    let notes: Vec<&str> = dataset
        .table("transfers")
        .unwrap()
        .findings
        .kept()
        .iter()
        .map(|finding| finding.reason.as_str())
        .collect();
    assert!(
        notes
            .iter()
            .any(|note| note.starts_with("`value` is approximate")),
        "the Data view says so: {notes:?}"
    );
    assert!(
        notes.iter().all(|note| !note.contains("left empty")),
        "no amount is lost: {notes:?}"
    );
    let api = Api::new(
        Arc::clone(&service),
        None,
        Arc::new(Keys::in_memory().unwrap()),
        ApiOptions::default(),
    );
    let mut found = Vec::new();
    for token in tokens {
        let answer = api::answer_offline(
            &api,
            "GET",
            &format!("/{token}/security/inference?explain=true"),
            &[],
        );
        let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        let patterns = &body["anomalyDetection"]["transactionPatterns"];
        found.extend(
            patterns["anomalies"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|text| Some(text.as_str()?.to_owned())),
        );
    }
    found
}

#[test]
fn amounts_of_floating_point_are_said_to_be_approximate_from_the_file_to_the_sentence() {
    let desk = Desk::empty();
    lake(&desk.path("part-0.snappy.parquet"));
    for table in ["tokens.csv", "labels.csv", "pools.csv", "contracts.csv"] {
        if let Ok(bytes) = fs::read(Path::new(DEMO).join(table)) {
            desk.write(&format!("data/{table}"), &bytes);
            desk.write(&format!("lying/{table}"), &bytes);
        }
    }
    let (code, report, err) = desk.run(&["part-0.snappy.parquet"]);
    assert_eq!(code, 0, "{err}");
    assert!(
        report["files"][0]["says"]
            .to_string()
            .contains("they are approximate"),
        "{report:#}"
    );
    assert!(
        fs::read_to_string(desk.path("data/dataset.toml"))
            .unwrap()
            .contains("columns.value.approximate = true")
    );
    // Used directly, without dataset.toml: column names and types identify it.
    fs::copy(
        desk.path("part-0.snappy.parquet"),
        desk.path("lying/transfers.parquet"),
    )
    .unwrap();
    let imported = sentences(&desk.data());
    assert!(
        imported.len() > 1 && imported.iter().any(|sentence| sentence.contains(SAID)),
        "{imported:#?}"
    );
    assert_eq!(imported, sentences(&desk.path("lying")));
}
