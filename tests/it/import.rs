//! `tokendeck import` as a process: every format, practical defects of files, and its guarantees: no line of the user's is lost, nothing is
//! written twice, no table is left half written.

mod amounts;
mod as_saved;
mod assumed;
mod folder;
mod formats;
mod hostile;
mod lengths;
mod malformed;
mod one_token;
mod placeholders;
mod public_files;
mod recorded_files;
mod reported_refusals;
mod reported_shapes;
mod saved_answers;
mod series;
mod shapes;
mod suggested_commands;
mod times;
mod units;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use load::{Dataset, loader::load};
use model::{address::Address, findings::Severity, progress::NoProgress};
use serde_json::Value;
use tempfile::TempDir;

const UNI: &str = "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984";
const PEPE: &str = "0x6982508145454ce325ddbe47a25d4ec3d2311933";
const TOKENS: &str = "token_address,symbol,name,chain,decimals\n0x1f9840a85d5af5bf1d1762f925bdaddc4201f984,UNI,Uniswap,eth,18\n\
                      0x6982508145454ce325ddbe47a25d4ec3d2311933,PEPE,Pepe,eth,18\n";

/// A working folder with a dataset folder to import into.
struct Desk {
    place: TempDir,
}

impl Desk {
    fn empty() -> Self {
        Self {
            place: tempfile::tempdir().unwrap(),
        }
    }

    /// With the tokens UNI and PEPE imported.
    fn new() -> Self {
        let desk = Self::empty();
        desk.write("list.csv", TOKENS);
        desk.imports(&["list.csv"]);
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn data(&self) -> PathBuf {
        self.path("data")
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.program(&["import", "--into", "data"]);
        command.args(args);
        command
    }

    /// Any command of the program, run in this folder.
    fn program(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tokendeck"));
        command
            .args(args)
            .current_dir(self.place.path())
            .env("HOME", self.place.path())
            .stdin(Stdio::null());
        command
    }

    /// Returns exit code, report and stderr.
    fn run(&self, args: &[&str]) -> (i32, Value, String) {
        let output: Output = self.command(args).arg("--json").output().unwrap();
        let report = serde_json::from_slice(&output.stdout).unwrap_or_default();
        (
            output.status.code().unwrap_or(-1),
            report,
            String::from_utf8(output.stderr).unwrap(),
        )
    }

    /// Imports all files successfully; returns the report.
    fn imports(&self, args: &[&str]) -> Value {
        let (code, report, err) = self.run(args);
        assert_eq!((code, err.as_str()), (0, ""), "{args:?}: {report:#}");
        report
    }

    /// Runs a refused import; returns stderr.
    fn refuses(&self, args: &[&str]) -> String {
        let (code, _, err) = self.run(args);
        assert_eq!(code, 1, "{args:?}: {err}");
        err
    }

    fn dataset(&self) -> Dataset {
        load(&self.data(), &NoProgress).expect("what was imported loads")
    }

    /// Loads the dataset, asserting that it has no findings; notes (a pool too small for a plan) are allowed.
    fn clean(&self) -> Dataset {
        let dataset = self.dataset();
        for table in &dataset.tables {
            let wrong: Vec<_> = table
                .findings
                .counts()
                .iter()
                .filter(|count| count.severity != Severity::Note)
                .collect();
            assert!(wrong.is_empty(), "{}: {wrong:?}", table.schema.name);
        }
        dataset
    }
}

/// Row counts of a file for a table: new, changed, same, repeated, rejected, left out.
fn taken(report: &Value, file: usize, table: &str) -> [u64; 6] {
    let taken = report["files"][file]["taken"]
        .as_array()
        .unwrap()
        .iter()
        .find(|taken| taken["table"] == table);
    let taken = taken.unwrap_or_else(|| panic!("nothing for {table}: {report:#}"));
    [
        "new",
        "changed",
        "same",
        "repeated",
        "set_aside",
        "left_out",
    ]
    .map(|name| taken[name].as_u64().unwrap())
}

/// Finding reasons of a file, with their counts.
fn reasons(report: &Value, file: usize) -> Vec<(String, u64)> {
    let counts = report["files"][file]["counts"].as_array().unwrap();
    counts
        .iter()
        .map(|count| {
            (
                count["reason"].as_str().unwrap().to_owned(),
                count["count"].as_u64().unwrap(),
            )
        })
        .collect()
}

/// Splits a command line into words.
fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

/// Twenty rows, numbered from 1.
fn rows(of: impl Fn(u32) -> String) -> String {
    (1..=20).map(of).collect()
}

fn errors(dataset: &Dataset) -> u64 {
    dataset
        .tables
        .iter()
        .map(|table| table.findings.count(Severity::Error))
        .sum()
}

fn address(text: &str) -> Address {
    Address::parse(text).unwrap()
}

/// All files of a folder with their bytes.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                all.push((path.clone(), fs::read(&path).unwrap()));
            }
        }
    }
    all.sort();
    all
}
