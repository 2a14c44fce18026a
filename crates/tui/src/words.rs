//! Short texts shared within the terminal interface. Words for the API's terms are in `document::words`.

pub(super) use query::document::words::{of, shown, versioned};

/// The key hints of an input line or a choice.
pub(super) const SAVE_OR_CANCEL: &str = "Enter save · Esc cancel";
/// The key hint of a dialog.
pub(super) const CANCEL: &str = "Esc cancel";

/// `no token matches: Esc clears the filter`.
pub(super) fn no_match(what: &str) -> String {
    format!("no {what} matches: Esc clears the filter")
}
