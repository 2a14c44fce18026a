//! The data beside the checkout, which not every machine has. A test that needs them is skipped with a message; where the checks find
//! them, they set `TOKENDECK_SHARED=required`, and a test that did not find its data fails.

use std::{env, path::Path};

/// The whole path of `path` below `../shared`, if it is there.
pub(crate) fn shared(path: &str) -> Option<String> {
    let whole = format!("{}/../shared/{path}", env!("CARGO_MANIFEST_DIR"));
    if Path::new(&whole).exists() {
        return Some(whole);
    }
    assert!(env::var_os("TOKENDECK_SHARED").is_none(), "`{whole}` is not there, and TOKENDECK_SHARED asks for it");
    eprintln!("skipped: `{whole}` is not there");
    None
}
