//! The data beside the checkout, which not every machine has. A test that needs them is skipped with a message; where the checks find
//! them, they set `TOKENDECK_SHARED=required`, and a test that did not find its data fails.

use std::{env, io::Write as _, path::Path};

/// The whole path of `path` below `../shared`, if it is there.
pub(crate) fn shared(path: &str) -> Option<String> {
    let whole = format!("{}/../shared/{path}", env!("CARGO_MANIFEST_DIR"));
    if Path::new(&whole).exists() {
        return Some(whole);
    }
    assert!(env::var_os("TOKENDECK_SHARED").is_none(), "`{whole}` is not there, and TOKENDECK_SHARED asks for it");
    skipped(&format!("`{whole}` is not there"));
    None
}

/// Says on the terminal, past the capture of what passing tests print, that nothing was checked.
pub(crate) fn skipped(because: &str) {
    writeln!(std::io::stderr(), "skipped: {because}").ok();
}
