//! Entry point: from arguments to exit code. The commands are in `cli`.

use std::process::ExitCode;

use tokendeck::cli::{self, defect};

/// musl's allocator has one lock for all threads; the static programs bring a better one.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    defect::install();
    cli::finish(cli::run(cli::arguments()))
}
