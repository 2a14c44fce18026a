//! Imports of every dialog: keys in, an outcome out, texts drawn in the theme's roles.

pub(super) use crossterm::event::{KeyCode, KeyEvent};
pub(super) use ratatui::{buffer::Buffer, layout::Rect};

pub(super) use super::{Command, Dialog, OverlayOutcome, Rows, floating};
pub(super) use crate::{
    typed::TypedLine,
    widgets::{
        below, put, put_wrapped, text,
        theme::{Role, Theme},
    },
};
pub(super) use model::format::{self, plural};
