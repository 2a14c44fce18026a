//! Imports of nearly every view: the view's contract, its list, and the panels and texts it draws. Each view imports its own queries.

pub(super) use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
pub(super) use ratatui::{buffer::Buffer, layout::Rect};
pub(super) use serde_json::{Value as Json, json};

pub(super) use super::{inset, listing, shared::*, thin_bar};
pub(super) use crate::{
    views::{
        error::InputError,
        keymap::{Action, ViewId},
        list::{CellContext, Field, Fields, List, ListEvent, ListFrame, ListRow, Listing},
        view::{Context, EditedLine, Effect, Export, HttpRequest, View, ViewQuery},
        words,
    },
    widgets::{
        below, beside,
        panel::{self, Panel},
        progress, put, put_right, put_wrapped, stacked,
        table::{Cell, TableColumn},
        text,
        theme::Role,
    },
};
pub(super) use model::{
    address::Address,
    error::Problem,
    format::{self, MISSING, plural},
    scalar::Scalar,
    time::Time,
};
pub(super) use query::queries::{Query, order::Order, parameter::TokenReader, snapshot::Snapshot};
pub(super) use table::filter::{AddressOf, ColumnKind};
