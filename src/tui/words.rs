//! The short sentences that several places of the terminal share. What stands for the API's words is `document::words`'.

pub(super) use crate::document::words::{of, shown, versioned};

/// What Enter and Esc do where something is typed or chosen.
pub(super) const SAVE_OR_CANCEL: &str = "Enter save · Esc cancel";
/// Esc in a dialog.
pub(super) const CANCEL: &str = "Esc cancel";

/// `no token matches: Esc clears the filter`.
pub(super) fn no_match(what: &str) -> String {
    format!("no {what} matches: Esc clears the filter")
}
