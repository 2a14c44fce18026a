//! Whether a table can be read.

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableState {
    Loaded,
    /// No file of that name exists, and `dataset.toml` names none.
    Absent,
    /// Present but unusable, with the reason for the user.
    Unusable(String),
}
