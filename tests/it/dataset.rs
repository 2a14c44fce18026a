//! Datasets from files to tables: the recorded data, broken files, round trips through every format, and fuzzed files.

mod broken;
mod mapping;
mod noise;
mod readings;
mod real;
mod round_trip;
mod rules;
mod sources;

use std::fs;

use load::{
    Dataset, Table,
    loader::{LoadError, load},
};
use model::{progress::NoProgress, untrusted::decoding};
use polars::prelude::{DataFrame, IpcStreamWriter, IpcWriter, ParquetWriter, SerWriter};
use tempfile::TempDir;

const UNI: &str = "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984";
const ETH: &str = "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2";

/// A valid `tokens` table.
const TOKENS: &str = "token_address,symbol,name,chain,decimals\n\
    0x1f9840a85d5af5bf1d1762f925bdaddc4201f984,UNI,Uniswap,eth,18\n\
    0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2,WETH,Wrapped Ether,eth,18\n";

fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("inside the folder")).expect("created");
        fs::write(path, bytes).expect("written");
    }
    folder
}

/// Loads a folder of files, with the valid tokens unless they include their own.
fn load_files(files: &[(&str, &[u8])]) -> Result<Dataset, LoadError> {
    let own = files.iter().any(|(name, _)| name.starts_with("tokens"));
    let folder = folder(files);
    if !own {
        fs::write(folder.path().join("tokens.csv"), TOKENS).expect("written");
    }
    load(folder.path(), &NoProgress)
}

/// Like `load_files`, for text files.
fn load_texts(files: &[(&str, &str)]) -> Result<Dataset, LoadError> {
    load_files(
        &files
            .iter()
            .map(|(name, text)| (*name, text.as_bytes()))
            .collect::<Vec<_>>(),
    )
}

fn table<'a>(dataset: &'a Dataset, name: &str) -> &'a Table {
    dataset.table(name).expect("in the schema")
}

/// Findings of a table, one line each, except notes of ignored columns.
fn findings(table: &Table) -> Vec<String> {
    let line = |finding: &model::findings::Finding| {
        let row = finding.row.map(|row| format!(":{row}")).unwrap_or_default();
        let column = finding
            .column
            .as_ref()
            .map(|column| format!(" {column}"))
            .unwrap_or_default();
        let value = finding
            .value
            .as_ref()
            .map(|value| format!(" `{value}`"))
            .unwrap_or_default();
        format!(
            "{:?} {}{row}{column}{value}: {}",
            finding.severity, finding.file, finding.reason
        )
    };
    table.findings.kept().iter().map(line).collect()
}

/// Silences the panic messages of decoders, whose panics are caught.
fn hush_decoders() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !decoding() {
                hook(info);
            }
        }));
    });
}

fn parquet(frame: &DataFrame) -> Vec<u8> {
    let mut bytes = Vec::new();
    ParquetWriter::new(&mut bytes)
        .with_row_group_size(Some(7))
        .finish(&mut frame.clone())
        .expect("written");
    bytes
}

fn ipc(frame: &DataFrame) -> Vec<u8> {
    let mut bytes = Vec::new();
    IpcWriter::new(&mut bytes)
        .finish(&mut frame.clone())
        .expect("written");
    bytes
}

fn ipc_stream(frame: &DataFrame) -> Vec<u8> {
    let mut bytes = Vec::new();
    IpcStreamWriter::new(&mut bytes)
        .finish(&mut frame.clone())
        .expect("written");
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut packer, bytes).expect("packed");
    packer.finish().expect("packed")
}
