//! A dataset for unit tests, written as CSV and loaded like a user's files.

use crate::{Dataset, loader};
use model::progress::NoProgress;

/// Loads tables given as (name, CSV text), and other files by their whole name. Lines may be indented, and `0x1` is padded to an address of
/// 40 digits.
///
/// # Panics
/// If the tables are not a dataset, or no temporary folder can be created.
pub fn dataset(tables: &[(&str, &str)]) -> Dataset {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in tables {
        let lines: Vec<String> = text
            .lines()
            .map(|line| {
                line.trim()
                    .split(',')
                    .map(|text| text.split(';').map(cell).collect::<Vec<_>>().join(";"))
                    .collect::<Vec<_>>()
                    .join(",")
            })
            .collect();
        let file = if name.contains('.') {
            (*name).to_owned()
        } else {
            format!("{name}.csv")
        };
        std::fs::write(folder.path().join(file), lines.join("\n") + "\n").expect("a file");
    }
    loader::load(folder.path(), &NoProgress).expect("a dataset")
}

fn cell(text: &str) -> String {
    match text.strip_prefix("0x") {
        Some(digits) if digits.len() < 40 => format!("0x{digits:0>40}"),
        _ => text.to_owned(),
    }
}

/// The address that a short form such as `0x1` is padded to.
///
/// # Panics
/// If it is not a short form of an address.
pub fn address(short: &str) -> model::address::Address {
    model::address::Address::parse(&cell(short)).expect("an address")
}
