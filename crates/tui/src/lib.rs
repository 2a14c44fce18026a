//! The terminal interface: one state owner (`app`), views that all show one selected token, and widgets that draw plain data. No market
//! figure is computed here; the questions' answers are displayed.

pub mod app;
pub mod chrome;
pub mod event;
pub mod graphics;
pub mod keymap;
pub mod list;
pub mod memory;
pub mod overlay;
pub mod run;
mod saver;
pub mod task;
pub mod terminal;
mod typed;
pub mod view;
pub mod views;
mod words;
