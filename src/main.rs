//! tokendeck, from its arguments to its exit code. What each command does is in `cli`.

use std::process::ExitCode;

use tokendeck::cli::{self, defect};

fn main() -> ExitCode {
    defect::install();
    cli::finish(cli::run(cli::arguments()))
}
