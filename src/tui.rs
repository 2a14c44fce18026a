//! The terminal face. Here: its building blocks. Nothing under this module computes a figure of the market; it shows what the
//! questions answer.

pub mod filter;
pub mod format;
pub mod fuzzy;
pub mod keymap;
pub mod text;
pub mod theme;
pub mod widgets;
