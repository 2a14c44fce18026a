//! Data beside the checkout, which not every machine has. A test without them is skipped with a message; with `TOKENDECK_SHARED=required`,
//! as set by the checks if the data exist, it fails instead.

use std::{env, io::Write as _, path::Path};

/// Absolute path of `path` below `../shared`, if it exists.
pub(crate) fn shared(path: &str) -> Option<String> {
    let whole = format!("{}/../shared/{path}", env!("CARGO_MANIFEST_DIR"));
    if Path::new(&whole).exists() {
        return Some(whole);
    }
    assert!(
        env::var_os("TOKENDECK_SHARED").is_none_or(|value| value != "required"),
        "`{whole}` is not there, and TOKENDECK_SHARED asks for it"
    );
    skipped(&format!("`{whole}` is not there"));
    None
}

/// Reports a skipped test on stderr, bypassing the output capture of passing tests.
pub(crate) fn skipped(because: &str) {
    writeln!(std::io::stderr(), "skipped: {because}").ok();
}
