//! Short texts that views and dialogs share. Words for the API's terms are in `document::words`.

pub use query::document::words::{of, shown, versioned, warning};

/// The key hints of an input line or a choice.
pub const SAVE_OR_CANCEL: &str = "Enter save · Esc cancel";
/// The key hint of a dialog.
pub const CANCEL: &str = "Esc cancel";

/// `no token matches; Esc clears the filter`.
pub fn no_match(what: &str) -> String {
    format!("no {what} matches; Esc clears the filter")
}
