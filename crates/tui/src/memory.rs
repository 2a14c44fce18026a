//! The dashboard's memory between runs: the watchlist and the session. Of the session, what was chosen for a dataset (view, token, filters,
//! sort orders, timeframe, marks, wallet) is stored by dataset; other settings apply to all. Storage is in `state`.

#[cfg(test)]
mod tests;

use std::{
    collections::HashSet,
    path::{self, Path, PathBuf},
};

use serde_json::{Map, Value, json};

use crate::{
    app::App,
    views::{
        keymap::{VIEWS, ViewId},
        view::{EditedLine, ProgramError},
    },
    widgets::theme::{Palette, Theme},
};
use model::{
    address::Address,
    annotations::{Annotation, Annotations},
};

/// Members of a view's session that belong to the dataset.
const OF_DATASET: &[&str] = &[
    "filter",
    "sort",
    "timeframe",
    "period",
    "rows",
    "open",
    "watchlist",
    "marks",
    "window",
    "all",
    "wallet",
    "chains",
    "plans",
];
/// Most datasets whose session is stored.
const DATASETS_MAX: usize = 50;

/// Loads and saves; by default nothing. A failing store reports its error; the dashboard continues.
pub trait Memory: Send {
    fn watchlist(&self) -> HashSet<Address> {
        HashSet::new()
    }
    /// The watchlist, if another program changed it since.
    fn changed_watchlist(&mut self) -> Option<HashSet<Address>> {
        None
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

/// Splits a view's session into the members of the dataset and the others.
fn split(session: Value) -> [Map<String, Value>; 2] {
    let Value::Object(all) = session else {
        return [Map::new(), Map::new()];
    };
    let (own, others) = all
        .into_iter()
        .partition(|(name, _)| OF_DATASET.contains(&name.as_str()));
    [own, others]
}

/// The name of a dataset in the session.
fn name_of(folder: &Path) -> String {
    let whole = path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    whole.to_string_lossy().into_owned()
}

/// The sessions of the datasets, and the settings of each view. Earlier versions stored one session, which belongs to its folder.
fn by_dataset(session: &Value) -> (Map<String, Value>, Map<String, Value>) {
    let mut views = session["views"].as_object().cloned().unwrap_or_default();
    if let Some(datasets) = session["datasets"].as_object() {
        return (datasets.clone(), views);
    }
    let mut own = Map::new();
    for (name, view) in &mut views {
        let [of_dataset, others] = split(view.take());
        own.insert(name.clone(), Value::Object(of_dataset));
        *view = Value::Object(others);
    }
    let folder = session["folder"].as_str().unwrap_or_default();
    let of_folder = json!({ "view": session["view"], "token": session["token"], "views": own });
    (Map::from_iter([(folder.to_owned(), of_folder)]), views)
}

impl App {
    /// Restores the last session. Invalid entries are ignored.
    pub(super) fn remember(&mut self, memory: &dyn Memory) {
        self.watchlist = memory.watchlist();
        self.annotations = memory.annotations();
        let session = memory.session();
        self.is_new_here = session["view"].is_null();
        self.last_folder = session["folder"].as_str().map(PathBuf::from);
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
        let (datasets, settings) = by_dataset(&session);
        self.datasets = datasets;
        self.dataset = name_of(&self.setup.service.folder());
        self.restore_views(&settings);
    }

    /// Restores the session of the dataset, and the settings of the views.
    fn restore_views(&mut self, settings: &Map<String, Value>) {
        let kept = self
            .datasets
            .get(&self.dataset)
            .cloned()
            .unwrap_or_default();
        if let Some(view) = kept["view"].as_str().and_then(ViewId::parse) {
            self.current = view;
        }
        self.token = kept["token"]
            .as_str()
            .and_then(Address::parse)
            .or(self.token);
        for (view, row) in self.views.iter_mut().zip(VIEWS) {
            let mut session = settings
                .get(row.word)
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default();
            session.extend(
                kept["views"][row.word]
                    .as_object()
                    .cloned()
                    .unwrap_or_default(),
            );
            view.restore(&Value::Object(session));
        }
    }

    /// After another dataset was opened: stores the session of the one before, and begins or restores its own.
    pub(super) fn follow_dataset(&mut self) {
        let shown = self.snapshot.as_ref();
        let Some(shown) = shown.map(|snapshot| name_of(&snapshot.dataset.folder)) else {
            return;
        };
        if shown == self.dataset || self.dataset.is_empty() {
            (self.dataset, self.is_loaded) = (shown, true);
            return;
        }
        let (own, settings) = self.sessions();
        if self.is_loaded {
            self.datasets.insert(self.dataset.clone(), own);
        }
        (self.dataset, self.is_loaded) = (shown, true);
        (self.filter, self.token, self.opened_from) = (None, None, None);
        self.views = crate::views::all();
        if self.datasets.contains_key(&self.dataset) || self.current != ViewId::Data {
            self.current = ViewId::Tokens;
        }
        self.restore_views(&settings);
    }

    /// Takes over the watchlist that another program changed.
    pub(super) fn take_watchlist(&mut self, watchlist: HashSet<Address>) {
        self.watchlist = watchlist;
        self.take_in_changes();
    }

    /// The session to save at exit; a filter still being typed that does not parse is left out.
    pub(super) fn last_session(&mut self) -> Value {
        self.drop_invalid_filter();
        self.session()
    }

    /// The session to save now.
    pub(super) fn session_now(&self) -> Value {
        self.session()
    }

    /// The session of the dataset, and the settings of the views.
    fn sessions(&self) -> (Value, Map<String, Value>) {
        let (mut own, mut settings) = (Map::new(), Map::new());
        for (view, row) in self.views.iter().zip(VIEWS) {
            let mut saved = view.save();
            // What is being typed is not confirmed yet.
            let typed = self.filter.as_ref().filter(|_| row.id == self.current);
            if let Some(line) = typed.filter(|line| line.of == EditedLine::Filter)
                && saved["filter"].is_string()
            {
                saved["filter"] = json!(line.before);
            }
            let [of_dataset, others] = split(saved);
            for (members, session) in [(of_dataset, &mut own), (others, &mut settings)] {
                if !members.is_empty() {
                    session.insert(row.word.to_owned(), Value::Object(members));
                }
            }
        }
        let own = json!({
            "view": self.current.row().word,
            "token": self.token.map(|token| token.to_string()),
            "views": own,
        });
        (own, settings)
    }

    fn session(&self) -> Value {
        let shown = self
            .snapshot
            .as_ref()
            .and_then(|snapshot| path::absolute(&snapshot.dataset.folder).ok());
        let (own, settings) = self.sessions();
        let mut datasets = self.datasets.clone();
        if shown.is_some() {
            let others: Vec<String> = datasets.keys().cloned().collect();
            for name in others.iter().skip(DATASETS_MAX - 1) {
                datasets.remove(name);
            }
            datasets.insert(self.dataset.clone(), own);
        }
        json!({
            "view": self.current.row().word,
            "theme": self.chosen_theme,
            "folder": shown.or_else(|| self.last_folder.clone()),
            "views": settings,
            "datasets": datasets,
            "screens": self.screens,
        })
    }
}
