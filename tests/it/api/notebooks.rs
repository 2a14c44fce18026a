//! The notebooks of `docs/notebooks`, run by nbclient as a person would run them. `TOKENDECK_PYTHON` names a Python that has it with polars and
//! pandas; where there is none, the test is skipped with a message.

use std::{env, fs, process::Command};

use crate::shared::skipped;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Runs the notebook; prints how many of its cells answered something.
const SCRIPT: &str = "
import sys, nbformat
from nbclient import NotebookClient
book = nbformat.read(sys.argv[1], 4)
NotebookClient(book, timeout=120).execute()
print(sum(bool(cell.get('outputs')) for cell in book.cells))
";

#[test]
fn every_notebook_runs_against_the_server_that_it_starts() {
    let python = env::var("TOKENDECK_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has = Command::new(&python)
        .args(["-c", "import nbclient, ipykernel, polars, pandas, pyarrow"])
        .output();
    if !has.is_ok_and(|run| run.status.success()) {
        return skipped(&format!(
            "`{python}` lacks nbclient, ipykernel, polars, pandas or pyarrow; TOKENDECK_PYTHON names one that has them"
        ));
    }
    let mut count = 0;
    for entry in fs::read_dir(format!("{ROOT}/docs/notebooks")).unwrap() {
        let book = entry.unwrap().path();
        if book.extension().is_none_or(|ending| ending != "ipynb") {
            continue;
        }
        let home = tempfile::tempdir().unwrap();
        let mut command = Command::new(&python);
        command
            .arg("-c")
            .arg(SCRIPT)
            .arg(&book)
            .current_dir(home.path());
        command
            .env("HOME", home.path())
            .env("TOKENDECK", env!("CARGO_BIN_EXE_tokendeck"))
            .env("TOKENDECK_DATA", format!("{ROOT}/datasets"));
        let run = command.output().unwrap();
        assert!(
            run.status.success(),
            "{}: {}",
            book.display(),
            String::from_utf8_lossy(&run.stderr)
        );
        let answered: usize = String::from_utf8_lossy(&run.stdout).trim().parse().unwrap();
        assert!(answered >= 3, "{}: {answered} cells answer", book.display());
        count += 1;
    }
    assert_eq!(count, 2);
}
