//! The dashboard around its views: one state owner (`app`), its header and footer (`chrome`), what lies over a view for a moment
//! (`overlay`), and the terminal it all runs on. What a view shows, and with which keys, belongs to the crate `views`.

pub mod app;
pub mod chrome;
pub mod event;
pub mod graphics;
pub mod memory;
pub mod overlay;
pub mod run;
mod saver;
pub mod terminal;
mod typed;
