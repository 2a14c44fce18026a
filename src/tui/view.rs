//! What a view is to the program around it: it sees a `Context`, holds answers it asked for, and returns what it wants done. A view
//! knows no other view, asks only the deck, and never waits.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use crossterm::event::MouseEvent;
use ratatui::{buffer::Buffer, layout::Rect};

use super::{
    keymap::{Action, Keymap, ViewId},
    list::{ColumnLayout, Listing},
    task::Wake,
    theme::{Appearance, Theme},
    widgets::table::AlertMark,
};
use crate::{
    analysis::indicators::Indicator,
    dataset::{address::Address, export::ExportRows, time::Time},
    deck::{Deck, known::Known, load::LoadState, pending::Pending},
    error::{Problem, Result},
    jobs::Jobs,
    question::{Question, progress::Progress, snapshot::Snapshot},
};

/// What every view may look at. Made afresh for every update and every frame.
pub struct Context<'a> {
    pub deck: &'a Arc<Deck>,
    pub jobs: Option<&'a Arc<Jobs>>,
    pub api: &'a dyn ApiDesk,
    /// None until the first generation is loaded.
    pub snapshot: Option<&'a Arc<Snapshot>>,
    pub load: &'a LoadState,
    /// The one token that runs through all views.
    pub token: Option<Address>,
    pub watchlist: &'a HashSet<Address>,
    /// Tokens whose rows tell of an alert.
    pub alerts: &'a HashMap<Address, AlertMark>,
    pub theme: &'a Theme,
    /// Only ASCII glyphs.
    pub ascii: bool,
    /// The wall clock, for ages.
    pub now: Time,
    pub wake: &'a Wake,
}

/// A view of the selected token or of the whole market.
pub trait View {
    /// After anything changed outside (token, generation, an answer came): asks what is needed, takes what is there. Never waits.
    fn refresh(&mut self, context: &Context<'_>);

    /// An action of the view's scope, or one of everywhere that is the view's to carry out (movement, sort, filter, copy, …).
    fn act(&mut self, action: Action, context: &Context<'_>) -> Effect;

    /// Whether the footer may offer the action here.
    fn answers(&self, _: Action) -> bool {
        true
    }

    fn mouse(&mut self, _: MouseEvent, _: &Context<'_>) -> Effect {
        Effect::Nothing
    }

    /// Draws the body into `area` of any size. Asks nothing and waits for nothing.
    fn draw(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>);

    /// The list that `/` filters, whose columns `C` chooses, and that is kept between runs.
    fn listing(&self) -> Option<&dyn Listing> {
        None
    }

    fn listing_mut(&mut self) -> Option<&mut dyn Listing> {
        None
    }

    /// The list has another filter or other columns: its rows are to stand anew.
    fn relist(&mut self, _: &Context<'_>) {}

    /// What `/` edits; `None` when the view has nothing to filter.
    fn filter(&self) -> Option<&str> {
        self.listing().map(Listing::filter_text)
    }

    /// Called at every key while the filter is edited; the error is shown beside it and the last good filter stands.
    fn set_filter(&mut self, text: &str, context: &Context<'_>) -> std::result::Result<(), String> {
        let Some(list) = self.listing_mut() else { return Ok(()) };
        list.set_filter(text)?;
        self.relist(context);
        Ok(())
    }

    /// The token of the row before or after that of the token, which is selected then; none at the end, or where there are no rows.
    fn beside(&mut self, _: Option<Address>, _forward: bool, _: &Context<'_>) -> Option<(Address, usize, usize)> {
        None
    }

    /// Shows its list with the columns that were chosen; none are those it has at first.
    fn choose_columns(&mut self, layout: Option<ColumnLayout>, context: &Context<'_>) {
        if let Some(list) = self.listing_mut() {
            list.set_layout(layout);
            self.relist(context);
        }
    }

    /// The indicators on screen, of a view with indicators.
    fn indicators(&self) -> Option<&[Indicator]> {
        None
    }

    fn choose_indicators(&mut self, _: Vec<Indicator>, _: &Context<'_>) {}

    /// Puts the selection on the token, taking off what hides its row.
    fn reveal(&mut self, _: Address, _: &Context<'_>) {}

    /// What stands in its place and has keys of its own: its name, and each key with a sentence.
    fn own_keys(&self) -> Option<(&'static str, &'static [(Action, &'static str)])> {
        None
    }

    /// The large tables that it shows something of; `None` for a view that needs no dataset. While one of them is on its way, the
    /// pane says so in the view's place.
    fn needs(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// The token of the selected row: it becomes the program's once a filter is kept, since rows moved under the selection.
    fn selected_token(&self, _: &Context<'_>) -> Option<Address> {
        None
    }

    /// The request that gives the same data over HTTP.
    fn request(&self, _: &Context<'_>) -> Option<HttpRequest> {
        None
    }

    /// The table on screen, for export and for copying a row.
    fn export(&self, _: &Context<'_>) -> Option<Export> {
        None
    }

    /// What is kept between runs.
    fn save(&self) -> serde_json::Value {
        self.listing().map_or(serde_json::Value::Null, |list| list.save(serde_json::json!({})))
    }

    /// Takes back what `save` gave; anything unreadable is passed over.
    fn restore(&mut self, kept: &serde_json::Value) {
        if let Some(list) = self.listing_mut() {
            list.restore(kept);
        }
    }
}

/// The columns of a list, and what was chosen of them.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnChoice {
    /// In their order: key, title, and whether it is shown.
    pub columns: Vec<(&'static str, &'static str, bool)>,
    /// Those that nothing in the data has a value for.
    pub absent: Vec<&'static str>,
    pub layout: ColumnLayout,
}

/// Esc where the view had nothing of its own to close: false when there is no filter to take off.
pub fn take_filter_off(view: &mut dyn View, context: &Context<'_>) -> bool {
    view.filter().is_some_and(|filter| !filter.is_empty()) && view.set_filter("", context).is_ok()
}

/// What a view wants done that it cannot do itself.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Nothing changed.
    Nothing,
    /// Draw again.
    Redraw,
    /// Not mine: let the program handle it (Esc with nothing open, say).
    Pass,
    /// Make this the selected token.
    Select(Address),
    /// Make this the selected token and go to the view.
    Open(Address, ViewId),
    /// Put the text on the clipboard; the second says what it was ("address").
    Copy(String, &'static str),
    /// Open a link with the system's handler.
    OpenLink(String),
    /// Star the token, or unstar it.
    Star(Address),
    /// Show the text in the footer for a few seconds.
    Say(String),
    /// As `Say`, as a warning.
    Warn(String),
    /// Load the data again.
    Reload,
    /// Open the line that `/` opens with this text in it.
    Edit(String),
}

/// A request as `curl` would send it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    pub method: &'static str,
    pub target: String,
    pub body: Option<String>,
    /// Which page of how many it asks for, where one does not hold all.
    pub page: Option<(u64, u64)>,
}

impl HttpRequest {
    pub fn of<Q: Question>(question: &Q) -> Self {
        let body = question.body();
        Self { method: if body.is_some() { "POST" } else { "GET" }, target: question.target(), body, page: None }
    }

    pub fn get(target: impl Into<String>) -> Self {
        Self { method: "GET", target: target.into(), body: None, page: None }
    }

    /// Says which page it is of a list of so many.
    #[must_use]
    pub fn of_page(self, page: u64, limit: u64, total: u64) -> Self {
        let pages = total.div_ceil(limit.max(1));
        Self { page: (pages > 1).then_some((page, pages)), ..self }
    }
}

/// A table as it is exported: names as in the API, exact values.
pub struct Export {
    /// For the file's name.
    pub name: String,
    pub columns: Vec<String>,
    /// How many rows there are; none while they are still being found.
    pub count: Option<usize>,
    /// The selected row, one JSON value a cell.
    pub selected: Option<Vec<serde_json::Value>>,
    /// Gets the rows, off the drawing thread.
    pub rows: Gather,
}

/// Makes rows ready to be written; what takes a while there can be followed and stopped.
pub type Gather = Box<dyn FnOnce(&Progress) -> Result<ExportRows> + Send>;

impl Export {
    /// A short table that is at hand: one JSON value a cell.
    pub fn of(name: impl Into<String>, columns: &[&str], rows: Vec<Vec<serde_json::Value>>, selected: Option<usize>) -> Self {
        Self {
            name: name.into(),
            columns: columns.iter().map(|&column| column.to_owned()).collect(),
            count: Some(rows.len()),
            selected: selected.and_then(|row| rows.get(row).cloned()),
            rows: Box::new(|_| Ok(ExportRows::Values(rows))),
        }
    }

    /// Every row that would be written.
    #[cfg(test)]
    pub(crate) fn values(self) -> Vec<Vec<serde_json::Value>> {
        (self.rows)(&Progress::default()).expect("rows that can be had").values(self.columns.len())
    }
}

/// A question that a view keeps asked: the answer that stands, and the next one on its way. The last good answer is shown until
/// the next is there.
pub struct ViewQuestion<Q: Question> {
    question: Option<(u64, Q)>,
    pending: Option<Pending<Q::Answer>>,
    /// The answer that stands, to be held while it is drawn.
    pub known: Option<Arc<Known<Q::Answer>>>,
    pub problem: Option<Problem>,
}

impl<Q: Question> Default for ViewQuestion<Q> {
    fn default() -> Self {
        Self { question: None, pending: None, known: None, problem: None }
    }
}

impl<Q: Question + PartialEq> ViewQuestion<Q> {
    /// Asks unless this very question of this generation is asked already, and takes the answer if it has come. True when what is
    /// shown changed.
    pub fn refresh(&mut self, question: Q, context: &Context<'_>) -> bool {
        let Some(snapshot) = context.snapshot else { return false };
        // From half of the tables it would be answered wrongly.
        if snapshot.dataset.importing.iter().any(|table| Q::NEEDS.contains(table)) {
            return false;
        }
        let wanted = (snapshot.generation, question);
        let mut changed = false;
        if self.question.as_ref() != Some(&wanted) {
            if let Some(known) = context.deck.known(&wanted.1) {
                self.pending = None;
                (self.known, self.problem) = (Some(known), None);
            } else {
                let wake = Arc::clone(context.wake);
                self.pending = Some(context.deck.ask(wanted.1.clone(), move || wake()));
            }
            self.question = Some(wanted);
            changed = true;
        }
        if let Some(outcome) = self.pending.as_mut().and_then(Pending::poll_now) {
            self.pending = None;
            changed = true;
            match outcome {
                Ok(known) => (self.known, self.problem) = (Some(known), None),
                Err(problem) => (self.known, self.problem) = (None, Some(problem)),
            }
        }
        changed
    }

    /// Forgets everything; what is on its way is cancelled.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// The answer that stands.
    pub fn answer(&self) -> Option<&Q::Answer> {
        self.known.as_deref().map(|known| &known.answer)
    }

    pub fn question(&self) -> Option<&Q> {
        self.question.as_ref().map(|(_, question)| question)
    }

    /// (done, total) while an answer is on its way.
    pub fn progress(&self) -> Option<(u64, u64)> {
        self.pending.as_ref().map(Pending::progress)
    }
}

/// The API as its view sees it; wired where both faces are known.
pub trait ApiDesk {
    fn state(&self) -> ApiState;
    /// The first key, for showing and for copying.
    fn key(&self) -> Option<String>;
    /// The latest requests, newest first, at most `limit`.
    fn requests(&self, limit: usize) -> Vec<RequestLine>;
    /// Requests by duration: upper bound in microseconds, count.
    fn histogram(&self) -> Vec<(u64, u64)>;
    fn start(&self) -> std::result::Result<(), String>;
    fn stop(&self);
    /// From now on, requests that come in wake the dashboard.
    fn listen(&self, _: Wake) {}
}

/// The configuration file while the dashboard runs; wired where it is read.
pub trait LiveSettings: Send + Sync {
    /// What the file says now, once after each change: what is to hold from now on, or what is wrong with it.
    fn take(&self) -> Option<std::result::Result<NewSettings, String>>;
    /// From now on, a change wakes the dashboard.
    fn listen(&self, wake: Wake);
}

/// Settings that hold from now on.
#[derive(Debug, Clone)]
pub struct NewSettings {
    pub keymap: Option<Keymap>,
    pub look: Option<Appearance>,
    /// What was taken in, and what waits for the next start.
    pub says: Vec<String>,
}

/// Whether the API listens, and where.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ApiState {
    /// It was not wanted, or was stopped.
    #[default]
    Off,
    /// At this address.
    Listening(String),
    /// It could not; the reason for the person.
    Failed(String),
}

/// A request that was answered.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestLine {
    pub time: Time,
    pub method: String,
    pub path: String,
    pub status: u16,
    pub micros: u64,
    pub bytes: u64,
}

/// No API at all.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoApi;

impl ApiDesk for NoApi {
    fn state(&self) -> ApiState {
        ApiState::Off
    }

    fn key(&self) -> Option<String> {
        None
    }

    fn requests(&self, _: usize) -> Vec<RequestLine> {
        Vec::new()
    }

    fn histogram(&self) -> Vec<(u64, u64)> {
        Vec::new()
    }

    fn start(&self) -> std::result::Result<(), String> {
        Err("the API is not part of this run".to_owned())
    }

    fn stop(&self) {}
}
