//! The recorded sample data through `tests/real/dataset.toml`.

use std::{collections::BTreeMap, path::Path};

use tokendeck::dataset::{Dataset, findings::Severity, load::load, progress::Silent};

fn real() -> Option<Dataset> {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data/real");
    if !Path::new(data).exists() {
        eprintln!("skipped: {data} is not there");
        return None;
    }
    Some(load(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real")), &Silent).expect("the real data load"))
}

#[test]
fn report() {
    let Some(dataset) = real() else { return };
    for table in &dataset.tables {
        eprintln!(
            "{} {:?} rows {} bad {} ms {} sources {:?}",
            table.schema.name,
            table.state,
            table.frame.height(),
            table.rows_bad,
            table.load_ms,
            table.sources
        );
        for count in table.findings.counts() {
            eprintln!("   {:?} {} {:?} {} x{}", count.severity, count.file, count.column, count.reason, count.count);
        }
        eprintln!("{}", table.frame.head(Some(2)));
    }
}
