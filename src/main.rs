//! Entry point: from arguments to exit code. The commands are in `cli`.

use std::process::ExitCode;

use tokendeck::cli::{self, defect};

fn main() -> ExitCode {
    defect::install();
    cli::finish(cli::run(cli::arguments()))
}
