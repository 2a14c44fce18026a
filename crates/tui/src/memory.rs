//! The dashboard's memory between runs: the watchlist and the session (view, token, folder, settings of each view). Storage is in `state`.

use std::{
    collections::HashSet,
    path::{self, PathBuf},
};

use serde_json::{Map, Value, json};

use crate::{
    app::App,
    views::{
        keymap::{VIEWS, ViewId},
        view::ProgramError,
    },
    widgets::theme::{Palette, Theme},
};
use model::{
    address::Address,
    annotations::{Annotation, Annotations},
};

/// Loads and saves; by default nothing. A failing store reports its error; the dashboard continues.
pub trait Memory: Send {
    fn watchlist(&self) -> HashSet<Address> {
        HashSet::new()
    }
    fn session(&self) -> Value {
        Value::Null
    }
    /// Toggles the token's star.
    fn star(&mut self, _token: Address) -> Result<(), ProgramError> {
        Ok(())
    }
    /// The user's levels and notes.
    fn annotations(&self) -> Annotations {
        Annotations::new()
    }
    /// Saves a change of them; on return it is on disk.
    fn annotate(&mut self, _token: Address, _annotation: &Annotation) -> Result<(), ProgramError> {
        Ok(())
    }
    /// Saves the session; on return it is on disk.
    fn keep_session(&mut self, _session: &Value) -> Result<(), ProgramError> {
        Ok(())
    }
}

/// A memory that saves nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoStorage;

impl Memory for NoStorage {}

impl App {
    /// Restores the last session. Invalid entries are ignored.
    pub(super) fn remember(&mut self, memory: &dyn Memory) {
        self.watchlist = memory.watchlist();
        self.annotations = memory.annotations();
        let session = memory.session();
        self.is_new_here = session["view"].is_null();
        self.last_folder = session["folder"].as_str().map(PathBuf::from);
        if let Some(view) = session["view"].as_str().and_then(ViewId::parse) {
            self.current = view;
        }
        self.token = session["token"]
            .as_str()
            .and_then(Address::parse)
            .or(self.token);
        self.chosen_theme = session["theme"].as_str().map(str::to_owned);
        if let Some(palette) = session["theme"].as_str().and_then(Palette::builtin)
            && !self.setup.look.fixed
        {
            self.setup.look.theme = Theme::new(&palette, self.setup.look.options);
        }
        for row in VIEWS {
            if let Some(screens) = session["screens"][row.word].as_object() {
                self.screens.insert(row.word, screens.clone());
            }
        }
        for (view, row) in self.views.iter_mut().zip(VIEWS) {
            view.restore(&session["views"][row.word]);
        }
    }

    /// The session to save at exit; a filter still being typed that does not parse is left out.
    pub(super) fn last_session(&mut self) -> Value {
        self.drop_invalid_filter();
        self.session()
    }

    /// The session to save now; `None` while a filter is typed that does not parse.
    pub(super) fn session_now(&self) -> Option<Value> {
        let is_unfinished = self
            .filter
            .as_ref()
            .is_some_and(|line| line.problem.is_some());
        (!is_unfinished).then(|| self.session())
    }

    fn session(&self) -> Value {
        let views: Map<String, Value> = self
            .views
            .iter()
            .zip(VIEWS)
            .map(|(view, row)| (row.word.to_owned(), view.save()))
            .filter(|(_, kept)| !kept.is_null())
            .collect();
        let shown = self
            .snapshot
            .as_ref()
            .and_then(|snapshot| path::absolute(&snapshot.dataset.folder).ok());
        json!({
            "view": self.current.row().word,
            "token": self.token.map(|token| token.to_string()),
            "theme": self.chosen_theme,
            "folder": shown.or_else(|| self.last_folder.clone()),
            "views": views,
            "screens": self.screens,
        })
    }
}
