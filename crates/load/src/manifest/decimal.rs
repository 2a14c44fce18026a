//! Decimal separators.

use std::fmt;

/// The decimal separator; the other sign may separate thousands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decimal {
    Point,
    Comma,
}

impl Decimal {
    /// The decimal separator and the thousands separator.
    pub fn signs(self) -> (u8, u8) {
        match self {
            Self::Point => (b'.', b','),
            Self::Comma => (b',', b'.'),
        }
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Point => "decimal points",
            Self::Comma => "decimal commas",
        })
    }
}
