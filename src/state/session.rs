//! The session to come back to: view, token, sort orders, filters, theme, saved plans. A member that cannot be read is as if
//! it had never been kept.

use std::path::Path;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{Access, read_text, write_atomic};
use crate::dataset::address::Address;

const FILE: &str = "session.json";
const FILE_BYTES_MAX: u64 = 4 << 20;

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Session {
    /// The view that was open, by its word.
    pub view: Option<String>,
    /// The selected token.
    pub token: Option<Address>,
    /// The theme's name.
    pub theme: Option<String>,
    /// By view.
    pub sort: Map<String, Value>,
    /// By view.
    pub filters: Map<String, Value>,
    /// Saved yield plans, by name.
    pub plans: Map<String, Value>,
    /// Members of a newer program.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl Session {
    /// What was kept in `state_dir`, member by member; the default for what is missing or unreadable.
    pub fn open(state_dir: &Path) -> Self {
        let text = read_text(&state_dir.join(FILE), FILE_BYTES_MAX).unwrap_or_default();
        let Ok(mut members) = serde_json::from_str::<Map<String, Value>>(&text) else { return Self::default() };
        let token: Option<String> = take(&mut members, "token");
        Self {
            view: take(&mut members, "view"),
            token: token.as_deref().and_then(Address::parse),
            theme: take(&mut members, "theme"),
            sort: take(&mut members, "sort"),
            filters: take(&mut members, "filters"),
            plans: take(&mut members, "plans"),
            more: members,
        }
    }

    /// Keeps it for the next start.
    pub fn save(&self, state_dir: &Path) -> Result<(), String> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| format!("cannot keep the session: {error}"))?;
        if text.len() as u64 > FILE_BYTES_MAX {
            return Err(format!("cannot keep the session: it has {} bytes, {FILE_BYTES_MAX} are kept: delete saved plans", text.len()));
        }
        write_atomic(&state_dir.join(FILE), &text, Access::Private)
    }

    /// The value kept for a view in `sort` or `filters`, read as what it was.
    pub fn of_view<T: for<'a> Deserialize<'a>>(map: &Map<String, Value>, view: &str) -> Option<T> {
        map.get(view).and_then(|value| T::deserialize(value).ok())
    }
}

/// Takes a member out; its default when it is of another type than it should be.
fn take<T: DeserializeOwned + Default>(members: &mut Map<String, Value>, name: &str) -> T {
    // Removal keeps the order of the others, so that the file stays the same where nothing changed.
    members.shift_remove(name).and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default()
}
