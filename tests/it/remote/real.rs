//! Against a server of others, by hand: moto or s3s-fs at the address in `TOKENDECK_S3`, with a bucket of the name in
//! `TOKENDECK_S3_BUCKET` that holds the demo data below `d/`; keys from the environment.
//! `TOKENDECK_S3=http://127.0.0.1:9000 cargo test --release remote -- --ignored`

use std::{fs, path::Path, sync::Arc};

use tokendeck::{
    dataset::{cache::CacheOptions, load::load_as, progress::Silent},
    wire::{Consent, MemoryLedger, Source, SourceKind, Wire, WireOptions},
};

use super::{DEMO, assert_same, files};

#[test]
#[ignore = "needs a server of others"]
fn remote() {
    let endpoint = std::env::var("TOKENDECK_S3").expect("TOKENDECK_S3 is the address of a server");
    let bucket = std::env::var("TOKENDECK_S3_BUCKET").unwrap_or_else(|_| "bucket".to_owned());
    let (folder, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut manifest = fs::read_to_string(Path::new(DEMO).join("dataset.toml")).unwrap_or_default();
    for (table, path) in files(Path::new(DEMO)) {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        manifest.push_str(&format!("\n[tables.{table}]\npath = \"s3://{bucket}/d/{}*\"\n", &name[..=name.find('.').unwrap()]));
    }
    fs::write(folder.path().join("dataset.toml"), manifest).unwrap();
    let source = Source {
        name: "real".into(),
        kind: SourceKind::S3,
        buckets: vec![bucket],
        endpoint,
        region: "us-east-1".into(),
        ..Source::default()
    };
    let wire = Wire::new(
        WireOptions { consent: Consent::Always, sources: vec![source], ..WireOptions::default() },
        Arc::new(MemoryLedger::default()),
    );
    let options = |name: &str| CacheOptions { folder: Some(cache.path().join(name)), rows_min: 1_000, ..CacheOptions::default() };
    let there = load_as(folder.path(), &options("there"), Some(&wire), &Silent, None, false).unwrap();
    let here = load_as(Path::new(DEMO), &options("here"), None, &Silent, None, false).unwrap();
    assert_same(&here, &there);
}
