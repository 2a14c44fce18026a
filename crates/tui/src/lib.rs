//! The dashboard: terminal widgets over plain data (`widgets`), the views with their lists and keys (`views`), and the program around them:
//! one state owner (`app`), its header and footer (`chrome`), its dialogs (`overlay`), and the terminal it all runs on.

pub mod app;
pub mod chrome;
pub mod error;
pub mod event;
pub mod graphics;
pub mod memory;
pub mod overlay;
pub mod run;
mod saver;
pub mod terminal;
mod typed;
pub mod views;
pub mod widgets;
pub mod zone;
