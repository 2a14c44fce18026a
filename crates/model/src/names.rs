//! Interns names of columns outside the schema as `&'static str`, like the schema's own, and names of metrics of known columns. The
//! interner is bounded; other names from requests never get here.

use std::{collections::HashSet, sync::Mutex};

use crate::{
    locks::Locked as _,
    schema::{Column, Kind},
};

/// Maximum number of interned names: 64 columns of as many datasets as one session is likely to open, and five figures of each.
const MAX: usize = 24_576;
/// Maximum length of a name, in bytes.
const BYTES_MAX: usize = 200;

static KEPT: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);

/// Returns the interned name; `None` if it is too long or the interner is full.
pub fn intern(name: &str) -> Option<&'static str> {
    let mut kept = KEPT.locked();
    let kept = kept.get_or_insert_default();
    if let Some(known) = kept.get(name) {
        return Some(known);
    }
    if name.is_empty() || name.len() > BYTES_MAX || kept.len() >= MAX {
        return None;
    }
    let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
    kept.insert(name);
    Some(name)
}

/// The column of an interned name, of this kind; `None` if the name is not interned.
pub fn column(name: &str, kind: Kind) -> Option<&'static Column> {
    static COLUMNS: Mutex<Vec<&'static Column>> = Mutex::new(Vec::new());
    let name = intern(name)?;
    let mut columns = COLUMNS.locked();
    let known = columns
        .iter()
        .find(|column| column.name == name && column.kind == kind);
    if let Some(known) = known {
        return Some(known);
    }
    // One of each kind at most.
    let column: &'static Column = Box::leak(Box::new(Column::of_kind(name, kind, "")));
    columns.push(column);
    Some(column)
}

/// Why a name is not interned, worded as the end of a sentence.
pub fn refusal(name: &str) -> String {
    if name.len() > BYTES_MAX {
        format!("the column's name is too long: expected up to {BYTES_MAX} bytes")
    } else {
        format!(
            "tokendeck already has {MAX} column names in memory, the maximum; restart it to load others"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_interned_once_unless_it_is_empty_or_too_long() {
        let (first, again) = (intern("my rating"), intern(&["my", "rating"].join(" ")));
        assert!(
            first
                .zip(again)
                .is_some_and(|(first, again)| std::ptr::eq(first, again))
        );
        assert_eq!((intern(""), intern(&"x".repeat(201))), (None, None));
        assert!(
            refusal(&"x".repeat(201)).contains("too long")
                && refusal("my rating").contains("24576 column names")
        );
    }
}
