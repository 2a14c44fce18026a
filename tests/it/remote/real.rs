//! Against third-party S3 servers, run manually: moto or s3s-fs at the address in `TOKENDECK_S3`, with a bucket of the name in
//! `TOKENDECK_S3_BUCKET` that holds the demo data below `d/`; credentials from the environment.
//! `TOKENDECK_S3=http://127.0.0.1:9000 cargo test --release remote -- --ignored`

use std::{fs, path::Path};

use load::loader::load_with;
use model::progress::NoProgress;
use wire::{Consent, Source, SourceKind, WireOptions};

use super::{DEMO, Data, assert_same, files, wire_with};

#[test]
#[ignore = "needs a server of others"]
fn a_dataset_on_a_real_server_is_the_dataset_of_the_same_files_here() {
    let endpoint = std::env::var("TOKENDECK_S3").expect("TOKENDECK_S3 is the address of a server");
    let bucket = std::env::var("TOKENDECK_S3_BUCKET").unwrap_or_else(|_| "bucket".to_owned());
    let (remote, local) = (Data::new(&[]), Data::new(&[]));
    let mut manifest = fs::read_to_string(Path::new(DEMO).join("dataset.toml")).unwrap_or_default();
    for (table, path) in files(Path::new(DEMO)) {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        manifest.push_str(&format!(
            "\n[tables.{table}]\npath = \"s3://{bucket}/d/{}*\"\n",
            &name[..=name.find('.').unwrap()]
        ));
    }
    remote.write("dataset.toml", &manifest);
    let source = Source {
        name: "real".into(),
        kind: SourceKind::S3,
        buckets: vec![bucket],
        endpoint,
        region: "us-east-1".into(),
        ..Source::default()
    };
    let wire = wire_with(WireOptions {
        consent: Consent::Always,
        sources: vec![source],
        ..WireOptions::default()
    });
    let there = remote.load(Some(&wire), 1_000).unwrap();
    let here = load_with(Path::new(DEMO), &local.options(1_000), &NoProgress).unwrap();
    assert_same(&here, &there);
}
