//! Entry point: from arguments to exit code. The commands are in `cli`.

use std::process::ExitCode;
#[cfg(unix)]
use std::sync::Arc;

use tokendeck::cli::{self, defect};

/// musl's allocator has one lock for all threads; the static programs bring a better one.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    defect::install();
    // A file that grows beyond what is allowed is then a write that fails, and is said; commands that are started do not inherit it.
    #[cfg(unix)]
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default()).ok();
    cli::finish(cli::run(cli::arguments()))
}
