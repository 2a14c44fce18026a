//! The user's view of a defect. A child process of this test binary runs the dashboard with a watchlist that panics: the shipped program
//! has no way to fail on purpose.

use std::{collections::HashSet, env, fs};

use clap::Parser;
use model::address::Address;
use serde_json::Value;
use tokendeck::cli::{self, CommandLine, defect};
use tui::{memory::Memory, views::view::ProgramError};

use super::terminal::{DEMO, Home};

/// Without this variable, `child_that_breaks` does nothing.
const CHILD: &str = "TOKENDECK_TEST_BREAKS";
const REASON: &str = "the watchlist breaks on purpose";

struct Breaking;

impl Memory for Breaking {
    fn watchlist(&self) -> HashSet<Address> {
        HashSet::new()
    }

    fn session(&self) -> Value {
        Value::Null
    }

    fn star(&mut self, _: Address) -> Result<(), ProgramError> {
        panic!("{REASON}")
    }

    fn keep_session(&mut self, _: &Value) -> Result<(), ProgramError> {
        Ok(())
    }
}

/// The program like `main`, except for its storage.
#[test]
fn child_that_breaks() {
    if env::var_os(CHILD).is_none() {
        return;
    }
    defect::install();
    let arguments =
        CommandLine::parse_from(["tokendeck", "--data", DEMO]).with_memory(|_| Box::new(Breaking));
    assert!(cli::run(arguments).is_ok());
}

#[test]
fn a_defect_gives_the_terminal_back_and_names_its_report() {
    let home = Home::new();
    let mut terminal = home.run_this("pty::defect::child_that_breaks", CHILD);
    terminal.ready();
    terminal.keys("w");
    assert_eq!(terminal.exit(), 101);
    terminal.restored();
    terminal.see("tokendeck: internal error");
    let said = terminal
        .text()
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect::<String>();
    let reports: Vec<_> = home
        .files("state/tokendeck")
        .into_iter()
        .filter(|file| file.to_string_lossy().contains("defect-"))
        .collect();
    // Of the thread that broke, and of the program that ended for it.
    assert_eq!(reports.len(), 2);
    // The terminal wraps a long path.
    assert!(
        reports
            .iter()
            .any(|report| said.contains(&*report.to_string_lossy())),
        "{said}"
    );
    let texts: Vec<String> = reports
        .iter()
        .map(|report| fs::read_to_string(report).unwrap())
        .collect();
    assert!(
        texts.iter().any(|text| text.contains(REASON))
            && texts
                .iter()
                .any(|text| text.contains("can no longer be saved")),
        "{texts:?}"
    );
}
