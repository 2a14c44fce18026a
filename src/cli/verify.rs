//! `tokendeck verify`: recomputes a report from the data and lists the differences.

use std::path::PathBuf;

use clap::Args;
use color_eyre::eyre::{Report, eyre};

use super::{
    LocationArgs,
    outcome::{Failure, Outcome, print_line},
    program::Program,
    shot::ending,
};
use crate::config::plain_reason;
use model::{address::Address, private_files::read_text, progress::Progress};
use query::document::{self, DocumentForm, Provenance, differing_lines, figures_of};

/// Maximum size of a report.
const REPORT_MAX: u64 = 64 << 20;

#[derive(Debug, Args)]
pub(super) struct VerifyArgs {
    /// Report (.html or .md) written by `tokendeck report`
    #[arg(value_name = "FILE")]
    report: PathBuf,
    #[command(flatten)]
    location: LocationArgs,
}

pub(super) fn run(args: &VerifyArgs) -> Outcome {
    let shown = args.report.display().to_string();
    let ending = ending(&shown);
    let form = DocumentForm::ALL
        .iter()
        .find(|form| ending.as_deref() == Some(form.word()));
    let form = form
        .ok_or_else(|| Failure::Usage(eyre!("`{shown}` is not a report; expected .html or .md")))?;
    let text = read_text(&args.report, REPORT_MAX)
        .map_err(|error| eyre!("cannot read `{shown}`: {}", plain_reason(&error)))?;
    let refused =
        || eyre!("`{shown}` does not record its inputs; create it again with `tokendeck report`");
    let made = Provenance::read(&text).ok_or_else(refused)?;
    let address = Address::asked(&made.token).ok_or_else(refused)?;
    let location = LocationArgs {
        as_of: made.as_of(),
        ..args.location.clone()
    };
    let lacking = |reason: Report| {
        eyre!(
            "cannot verify `{shown}`, which needs {}: {reason}",
            made.needs()
        )
    };
    let program = Program::open_loaded(&location).map_err(lacking)?;
    let make = || {
        document::of_token(&program.service, address, &Progress::default())
            .map_err(|problem| lacking(problem.into()))
    };
    let mut again = make()?;
    if program.service.wait_for_kept_records() {
        again = make()?;
    }
    let now = again.write(*form);
    let changes = again
        .provenance
        .as_ref()
        .map(|now| made.changes(now))
        .unwrap_or_default();
    let lines = differing_lines(figures_of(&text), figures_of(&now));
    if changes.is_empty() && lines.is_empty() {
        return print_line(&format!(
            "{shown}: identical, recomputed from {}",
            made.needs()
        ));
    }
    print_line(&format!("{shown}: differs from the current result"))?;
    for line in changes.into_iter().chain(lines) {
        print_line(&format!("  {line}"))?;
    }
    Err(Failure::Reported.into())
}
