//! Entry point: from arguments to exit code. The commands are in `cli`.

use std::process::ExitCode;
#[cfg(unix)]
use std::sync::Arc;

use tokendeck::cli::{self, defect};

/// musl's allocator has one lock for all threads; the static binaries use a better one.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    defect::install();
    // A write beyond the file size limit then fails with an error that is reported; child processes don't inherit this.
    #[cfg(unix)]
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default()).ok();
    cli::finish(cli::run(cli::arguments()))
}
