//! The saved session of the dashboard: a JSON object that is not interpreted here.

use std::path::Path;

use color_eyre::eyre::{Report, Result, bail, eyre};
use serde_json::{Map, Value};

use model::private_files::{KeptState, exclusively, read_state, write_atomic};

const FILE: &str = "session.json";
const FILE_BYTES_MAX: u64 = 4 << 20;

/// Loads the session from `state_dir`; empty if there is none. A damaged file is set aside.
pub fn open(state_dir: &Path) -> Map<String, Value> {
    read(state_dir).unwrap_or_else(|reason| {
        tracing::warn!("{reason}");
        Map::new()
    })
}

fn read(state_dir: &Path) -> Result<Map<String, Value>> {
    let parsed = |text: &str| serde_json::from_str(text).map_err(|error| error.to_string());
    Ok(
        match read_state(&state_dir.join(FILE), FILE_BYTES_MAX, parsed).map_err(Report::msg)? {
            KeptState::Read(session) => session,
            KeptState::Missing | KeptState::SetAside(_) => Map::new(),
        },
    )
}

/// Saves the changes from `before` to `session`. Fields that another process changed meanwhile, or that a newer version wrote, are preserved.
pub fn update(
    before: &Map<String, Value>,
    session: &Map<String, Value>,
    state_dir: &Path,
) -> Result<()> {
    exclusively(state_dir, || {
        let mut kept = read(state_dir)?;
        merge(before, session, &mut kept);
        let text = serde_json::to_vec_pretty(&kept)
            .map_err(|error| eyre!("cannot save the session: {error}"))?;
        if text.len() as u64 > FILE_BYTES_MAX {
            bail!(
                "cannot save the session: its size of {} bytes exceeds the limit of {FILE_BYTES_MAX}; delete saved plans",
                text.len()
            );
        }
        write_atomic(&state_dir.join(FILE), &text).map_err(Report::msg)
    })
}

/// Three-way merge into `kept`: fields that differ between `before` and `after` take the value of `after`.
fn merge(before: &Map<String, Value>, after: &Map<String, Value>, kept: &mut Map<String, Value>) {
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        kept.remove(name);
    }
    for (name, value) in after {
        let old = before.get(name);
        if old == Some(value) && kept.contains_key(name) {
            continue;
        }
        match (value, kept.get_mut(name)) {
            (Value::Object(value), Some(Value::Object(kept))) => merge(
                old.and_then(Value::as_object).unwrap_or(&Map::new()),
                value,
                kept,
            ),
            _ => drop(kept.insert(name.clone(), value.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_two_programs_change_is_kept_of_both() {
        let folder = tempfile::tempdir().expect("a folder");
        let object = |value: Value| value.as_object().cloned().expect("an object");
        let start = object(
            json!({ "view": "tokens", "views": { "yield": { "plans": [1] }, "tokens": { "filter": "a" } } }),
        );
        update(&Map::new(), &start, folder.path()).expect("saved");
        let one = object(
            json!({ "view": "tokens", "views": { "yield": { "plans": [1, 2] }, "tokens": { "filter": "a" } } }),
        );
        let two = object(
            json!({ "view": "chart", "views": { "yield": { "plans": [1] }, "tokens": { "filter": "b" }, "growth": 3 } }),
        );
        update(&start, &one, folder.path()).expect("saved");
        update(&start, &two, folder.path()).expect("saved");
        let both = json!({ "view": "chart", "views": { "yield": { "plans": [1, 2] }, "tokens": { "filter": "b" }, "growth": 3 } });
        assert_eq!(Value::Object(open(folder.path())), both);
        // What one program takes out is gone.
        let without = object(
            json!({ "view": "chart", "views": { "yield": { "plans": [1] }, "tokens": { "filter": "b" } } }),
        );
        update(&two, &without, folder.path()).expect("saved");
        assert_eq!(
            open(folder.path())["views"],
            json!({ "yield": { "plans": [1, 2] }, "tokens": { "filter": "b" } })
        );
    }
}
