//! The terminal face: one owner (`app`), views that are lenses on one selected token, widgets that draw plain input. Nothing under
//! this module computes a figure of the market; it shows what the questions answer.

pub mod app;
pub mod ascii;
pub mod chrome;
pub mod event;
pub mod fuzzy;
pub mod keymap;
pub mod list;
pub mod memory;
pub mod overlay;
pub mod picture;
pub mod run;
pub mod task;
pub mod terminal;
pub mod text;
pub mod theme;
pub mod view;
pub mod views;
pub mod widgets;
mod words;

pub use crate::document::format;
