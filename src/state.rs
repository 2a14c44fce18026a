//! What is kept per user. (A stand-in: the real one comes with the jobs.)

pub mod keys;

use std::path::PathBuf;

/// The person's folder of a kind: the XDG variable where it is absolute, else the usual place under the home.
fn folder(variable: &str, usual: &str) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    set(variable).or_else(|| set("HOME").map(|home| home.join(usual))).map(|base| base.join("tokendeck"))
}

pub fn state_dir() -> Option<PathBuf> {
    folder("XDG_STATE_HOME", ".local/state")
}

pub fn config_dir() -> Option<PathBuf> {
    folder("XDG_CONFIG_HOME", ".config")
}
