//! The saved session of the dashboard: a JSON object that is not interpreted here.

use std::path::Path;

use serde_json::{Map, Value};

use store::private_files::{read_text, write_atomic};

const FILE: &str = "session.json";
const FILE_BYTES_MAX: u64 = 4 << 20;

/// Loads the session from `state_dir`; empty where there is none, or it is unreadable.
pub fn open(state_dir: &Path) -> Map<String, Value> {
    let text = read_text(&state_dir.join(FILE), FILE_BYTES_MAX).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Saves the session for the next start.
pub fn save(session: &Map<String, Value>, state_dir: &Path) -> Result<(), String> {
    let text = serde_json::to_vec_pretty(session).map_err(|error| format!("cannot keep the session: {error}"))?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("cannot keep the session: it has {} bytes, {FILE_BYTES_MAX} are kept: delete saved plans", text.len()));
    }
    write_atomic(&state_dir.join(FILE), &text)
}
