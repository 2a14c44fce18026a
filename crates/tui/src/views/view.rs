//! The interface between a view and the application: a view reads a `Context`, keeps the results of its queries, and returns an `Effect`. A
//! view knows no other view, queries only the query service, and never blocks.

mod desk;
mod picture;

pub use self::{
    desk::{ApiServerHandle, ApiState, LiveSettings, NewSettings, NoApi, ProgramError},
    picture::PictureSlot,
};

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use crossterm::event::MouseEvent;
use ratatui::{buffer::Buffer, layout::Rect};

use super::compare::Comparison;
use crate::zone::DisplayZone;
use crate::{
    views::{
        error::InputError,
        keymap::{Action, ViewId},
        list::{ColumnLayout, Listing},
        task::Wake,
    },
    widgets::{panel, progress, table::AlertMark, theme::Theme},
};
use analysis::indicators::Indicator;
use frames::export::ExportRows;
use model::{
    address::Address,
    annotations::Annotations,
    error::{Problem, Result},
    progress::Progress,
    time::Time,
};
use query::{
    jobs::Jobs,
    queries::{Find, Query, parameter::TokenReader, snapshot::Snapshot},
    service::{
        QueryService,
        cached::CachedAnswer,
        load::LoadState,
        pending::{PendingAnswer, PendingResult},
    },
};

/// The application state that views read. Built for every update and every frame.
pub struct Context<'a> {
    pub service: &'a Arc<QueryService>,
    pub jobs: Option<&'a Arc<Jobs>>,
    pub api: &'a dyn ApiServerHandle,
    /// `None` until the first snapshot is loaded.
    pub snapshot: Option<&'a Arc<Snapshot>>,
    pub load: &'a LoadState,
    /// The program's token, shared by all views.
    pub token: Option<Address>,
    /// The tokens marked in Tokens, in the order of marking.
    pub marks: &'a [Address],
    pub watchlist: &'a HashSet<Address>,
    /// The user's levels and notes.
    pub annotations: &'a Annotations,
    pub alerts: &'a HashMap<Address, AlertMark>,
    pub theme: &'a Theme,
    /// ASCII glyphs only.
    pub ascii: bool,
    /// Of times on screen.
    pub zone: DisplayZone,
    /// The wall clock, for the program's own events: jobs, loading the data.
    pub now: Time,
    pub wake: &'a Wake,
    pub picture: &'a PictureSlot,
}

impl Context<'_> {
    /// The reference time of ages in the market: the point in time of the view, or the latest time that several tokens have reached.
    pub fn newest(&self) -> Time {
        self.as_of()
            .or(self.snapshot.and_then(|snapshot| snapshot.market.newest))
            .unwrap_or(self.now)
    }

    /// The reference time of the ages of posts, which do not depend on other tables.
    pub fn newest_post(&self) -> Time {
        self.as_of()
            .or(self
                .snapshot
                .and_then(|snapshot| snapshot.market.newest_post))
            .unwrap_or(self.now)
    }

    /// The warning that these tables show current values in a point-in-time view; `None` if they have a history.
    pub fn of_today(&self, tables: &[&'static str]) -> Option<String> {
        let (dataset, day) = (&self.snapshot?.dataset, self.as_of()?.day());
        let word = |table: &&'static str| match *table {
            "tokens" => (!dataset.own_columns().is_empty()).then_some("extra columns"),
            "posts" => Some("impressions, engagement"),
            table => Some(table),
        };
        let words: Vec<&str> = tables
            .iter()
            .filter(|table| dataset.lacks_history(table))
            .filter_map(word)
            .collect();
        (!words.is_empty()).then(|| format!("current, not as of {day}: {}", words.join(", ")))
    }

    /// The names of the tokens in the data.
    pub fn tokens(&self) -> TokenReader<'_> {
        self.snapshot.map_or_else(TokenReader::default, |snapshot| {
            TokenReader::of(&**snapshot)
        })
    }

    /// Has the query service find something in a snapshot, and wakes the event loop when it is there.
    pub fn find<F: Find>(&self, snapshot: &Arc<Snapshot>, wanted: F) -> PendingResult<F::Found> {
        let wake = Arc::clone(self.wake);
        self.service.find(snapshot, wanted, move || wake())
    }

    /// The point in time of the view; `None` for the present.
    pub fn as_of(&self) -> Option<Time> {
        self.snapshot?
            .dataset
            .as_of
            .as_ref()
            .map(|as_of| as_of.time)
    }
}

/// A view of the selected token or of the whole market.
pub trait View {
    /// Called after any outside change (token, generation, arrived answer): asks for missing answers and takes arrived ones. Never blocks.
    fn refresh(&mut self, context: &Context<'_>);

    /// Handles an action of the view's scope, or a global one that is delegated to views (movement, sort, filter, copy, …).
    fn act(&mut self, action: Action, context: &Context<'_>) -> Effect;

    /// The tokens that the user marked.
    fn marks(&self) -> &[Address] {
        &[]
    }

    /// Opens the comparison of these tokens.
    fn compare(&mut self, _: &Comparison, _: &Context<'_>) -> Effect {
        Effect::Nothing
    }

    /// The tables that it shows whose rows may have no time.
    fn undated(&self) -> &'static [&'static str] {
        &[]
    }

    /// The time of the newest row that its main answer is made of.
    fn as_of(&self) -> Option<Time> {
        None
    }

    /// Whether the footer may offer the action.
    fn answers(&self, _: Action) -> bool {
        true
    }

    fn mouse(&mut self, _: MouseEvent, _: &Context<'_>) -> Effect {
        Effect::Nothing
    }

    /// Draws the body into an area of any size.
    fn draw(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let area = area.intersection(buffer.area);
        if !area.is_empty() {
            self.draw_in(buffer, area, context);
        }
    }

    /// Draws the body into `area`, which lies on the screen and is not empty. Asks nothing and never blocks.
    fn draw_in(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>);

    /// The main list: filtered by `/`, its columns chosen by `C`, saved between runs.
    fn listing(&self) -> Option<&dyn Listing> {
        None
    }

    fn listing_mut(&mut self) -> Option<&mut dyn Listing> {
        None
    }

    /// The list's filter or columns changed: refresh its rows.
    fn relist(&mut self, _: &Context<'_>) {}

    /// Whether rows of the chosen filter and order are about to come; keys that act on a row wait for them.
    fn is_arranging(&self) -> bool {
        false
    }

    /// The text that `/` edits; `None` for a view without a filter.
    fn filter(&self) -> Option<&str> {
        self.listing().map(Listing::filter_text)
    }

    /// Called at every key while the filter is edited; an error is shown beside it, and the last valid filter stays in force.
    fn set_filter(
        &mut self,
        text: &str,
        context: &Context<'_>,
    ) -> std::result::Result<(), InputError> {
        let Some(list) = self.listing_mut() else {
            return Ok(());
        };
        list.set_filter(text, context.tokens())?;
        self.relist(context);
        Ok(())
    }

    /// Reads the filter of the list again: other data may have other tokens by the names in it.
    fn name_again(&mut self, context: &Context<'_>) {
        if let Some(list) = self
            .listing_mut()
            .filter(|list| !list.filter_text().is_empty())
        {
            let text = list.filter_text().to_owned();
            list.set_filter(&text, context.tokens()).ok();
        }
    }

    /// The text of a line of the view's own, which Esc restores.
    fn own_line(&self, _: &'static str) -> String {
        String::new()
    }

    /// As `set_filter`, of that line.
    fn set_own_line(
        &mut self,
        _: &'static str,
        _: &str,
        _: &Context<'_>,
    ) -> std::result::Result<(), InputError> {
        Ok(())
    }

    /// As `completions`, of that line.
    fn own_completions(&self, _: &'static str, _: &str) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Completions of the filter's last word: the whole text, and the new word.
    fn completions(&self, text: &str, context: &Context<'_>) -> Vec<(String, String)> {
        self.listing()
            .map_or_else(Vec::new, |list| list.completions(text, context))
    }

    /// Selects the row before or after the token's; returns its token, row number and the number of rows. `None` at the ends, or without
    /// rows.
    fn select_neighbour(
        &mut self,
        _: Option<Address>,
        _forward: bool,
        _: &Context<'_>,
    ) -> Option<(Address, usize, usize)> {
        None
    }

    /// Whether there is something of the token to show; a step to the next token passes over those without.
    fn can_show(&self, _: &Address, _: &Context<'_>) -> bool {
        true
    }

    /// The price that is pointed at, in a view with prices.
    fn pointed_price(&self) -> Option<f64> {
        None
    }

    /// Applies the user's columns; `None` restores the defaults.
    fn choose_columns(&mut self, layout: Option<ColumnLayout>, context: &Context<'_>) {
        if let Some(list) = self.listing_mut() {
            list.set_layout(layout);
            self.relist(context);
        }
    }

    /// The active indicators, in a view with indicators.
    fn indicators(&self) -> Option<&[Indicator]> {
        None
    }

    fn choose_indicators(&mut self, _: Vec<Indicator>, _: &Context<'_>) {}

    /// Selects the token's row, clearing a filter that hides it.
    fn reveal(&mut self, _: Address, _: &Context<'_>) {}

    /// The name and key help of a pane that currently replaces the view.
    fn own_keys(&self) -> Option<(&'static str, &'static [(Action, &'static str)])> {
        None
    }

    /// The large tables that the view shows; `None` for a view that needs no dataset. While one of them is loading, a placeholder replaces
    /// the view.
    fn needs(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// The token of the selected row; it becomes the program's token once a filter is kept, since rows moved under the selection.
    fn selected_token(&self, _: &Context<'_>) -> Option<Address> {
        None
    }

    /// The HTTP request for the same data.
    fn request(&self, _: &Context<'_>) -> Option<HttpRequest> {
        None
    }

    /// The page on screen, which is exported in place of the table: the base of its file's name, and what writes it.
    fn page(&self) -> Option<(String, WritePage)> {
        None
    }

    /// The table on screen, for export and for copying a row.
    fn export(&self, _: &Context<'_>) -> Option<Export> {
        None
    }

    /// The session state of the view.
    fn save(&self) -> serde_json::Value {
        self.listing().map_or(serde_json::Value::Null, |list| {
            list.save(serde_json::json!({}))
        })
    }

    /// Restores a saved session; invalid entries are ignored.
    fn restore(&mut self, kept: &serde_json::Value) {
        if let Some(list) = self.listing_mut() {
            list.restore(kept);
        }
    }
}

/// The columns of a list, and the user's layout.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnChoice {
    /// In order: key, title, and whether it is shown.
    pub columns: Vec<(&'static str, &'static str, bool)>,
    /// The columns that are empty in all of the data.
    pub empty: Vec<&'static str>,
    /// The shown columns that have no room on the screen.
    pub no_room: Vec<&'static str>,
    pub layout: ColumnLayout,
}

/// Esc in a view with nothing of its own to close: clears the filter; false when there is none.
pub fn take_filter_off(view: &mut dyn View, context: &Context<'_>) -> bool {
    view.filter().is_some_and(|filter| !filter.is_empty()) && view.set_filter("", context).is_ok()
}

/// A side effect that a view requests from the application.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Nothing changed.
    Nothing,
    /// Draw again.
    Redraw,
    /// Not handled: use the default (Esc with nothing open, for example).
    Pass,
    /// Select this token.
    Select(Address),
    /// Select this token and switch to the view.
    Open(Address, ViewId),
    /// Copy the text to the clipboard; the second is its name ("address").
    Copy(String, &'static str),
    /// Open a link with the system's handler.
    OpenLink(String),
    /// Toggle the token's star.
    Star(Address),
    /// Show a toast.
    Say(String),
    /// Show a toast as a warning.
    Warn(String),
    /// Open the input line with this text.
    Edit(EditedLine, String),
}

/// What the input line edits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditedLine {
    /// The view's filter.
    Filter,
    /// A line of the view's own, by the word before it.
    Own(&'static str),
}

/// A request for `curl`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    pub method: &'static str,
    pub target: String,
    pub body: Option<String>,
    /// Page number and page count, where the data has several pages.
    pub page: Option<(u64, u64)>,
}

impl HttpRequest {
    pub fn of<Q: Query>(question: &Q) -> Self {
        let body = question.body();
        Self {
            method: if body.is_some() { "POST" } else { "GET" },
            target: question.target(),
            body,
            page: None,
        }
    }

    pub fn get(target: impl Into<String>) -> Self {
        Self {
            method: "GET",
            target: target.into(),
            body: None,
            page: None,
        }
    }

    /// Sets the page number of a list of `total` rows.
    #[must_use]
    pub fn of_page(self, page: u64, limit: u64, total: u64) -> Self {
        let pages = total.div_ceil(limit.max(1));
        Self {
            page: (pages > 1).then_some((page, pages)),
            ..self
        }
    }
}

/// A table for export: column names as in the API, exact values.
pub struct Export {
    /// The base of the file name.
    pub name: String,
    pub columns: Vec<String>,
    /// Number of rows; `None` while they are still being found.
    pub count: Option<usize>,
    /// The selected row, one JSON value for each cell.
    pub selected: Option<Vec<serde_json::Value>>,
    /// Computes the rows, off the drawing thread.
    pub rows: Gather,
}

/// Writes a page on screen as HTML, off the drawing thread.
pub type WritePage = Box<dyn FnOnce() -> String + Send>;

/// Computes rows for writing, with progress and cancellation.
pub type Gather = Box<dyn FnOnce(&Progress) -> Result<ExportRows> + Send>;

impl Export {
    /// A short table in memory: one JSON value for each cell.
    pub fn of(
        name: impl Into<String>,
        columns: &[&str],
        rows: Vec<Vec<serde_json::Value>>,
        selected: Option<usize>,
    ) -> Self {
        Self {
            name: name.into(),
            columns: columns.iter().map(|&column| column.to_owned()).collect(),
            count: Some(rows.len()),
            selected: selected.and_then(|row| rows.get(row).cloned()),
            rows: Box::new(|_| Ok(ExportRows::Values(rows))),
        }
    }

    /// All rows to be written.
    #[cfg(test)]
    pub(crate) fn values(self) -> Vec<Vec<serde_json::Value>> {
        let rows = (self.rows)(&Progress::default()).expect("rows");
        rows.values(self.columns.len())
            .expect("cells written as JSON")
    }
}

/// A query that a view keeps up to date: the current result, and the pending one. The last result stays on screen until the next
/// outcome.
pub struct ViewQuery<Q: Query> {
    question: Option<(u64, Q)>,
    pending: Option<PendingAnswer<Q::Answer>>,
    /// The current result, shared while it is drawn.
    pub known: Option<Arc<CachedAnswer<Q::Answer>>>,
    pub problem: Option<Problem>,
}

impl<Q: Query> Default for ViewQuery<Q> {
    fn default() -> Self {
        Self {
            question: None,
            pending: None,
            known: None,
            problem: None,
        }
    }
}

impl<Q: Query + PartialEq> ViewQuery<Q> {
    /// Runs the query, unless it already ran on this snapshot, and takes an arrived result. Returns whether the display changed.
    pub fn refresh(&mut self, question: Q, context: &Context<'_>) -> bool {
        let Some(snapshot) = context.snapshot else {
            return false;
        };
        // With tables still loading the answer would be wrong.
        if snapshot
            .dataset
            .importing
            .iter()
            .any(|table| Q::NEEDS.contains(table))
        {
            return false;
        }
        let wanted = (snapshot.generation, question);
        let mut changed = false;
        if self.question.as_ref() != Some(&wanted) {
            if let Some(known) = context.service.cached(&wanted.1) {
                self.pending = None;
                (self.known, self.problem) = (Some(known), None);
            } else {
                let wake = Arc::clone(context.wake);
                self.pending = Some(context.service.ask(wanted.1.clone(), move || wake()));
            }
            self.question = Some(wanted);
            changed = true;
        }
        if let Some(outcome) = self.pending.as_mut().and_then(PendingAnswer::poll_now) {
            self.pending = None;
            changed = true;
            match outcome {
                Ok(known) => (self.known, self.problem) = (Some(known), None),
                Err(problem) => (self.known, self.problem) = (None, Some(problem)),
            }
        }
        changed
    }

    /// Marks the query to run again; the current result stays until then.
    pub fn ask_again(&mut self) {
        self.question = None;
    }

    /// Resets everything; a pending query is canceled.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// The current result.
    pub fn answer(&self) -> Option<&Q::Answer> {
        self.known.as_deref().map(|known| &known.answer)
    }

    /// The result to draw; without one, draws the error or the loading placeholder instead.
    pub fn shown(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        context: &Context<'_>,
    ) -> Option<Arc<CachedAnswer<Q::Answer>>> {
        if let Some(problem) = &self.problem {
            panel::failure(area, buffer, context.theme, &problem.detail);
        } else if self.known.is_none() {
            progress::skeleton(area, buffer, context.theme);
        }
        self.known.clone().filter(|_| self.problem.is_none())
    }

    pub fn question(&self) -> Option<&Q> {
        self.question.as_ref().map(|(_, question)| question)
    }

    /// (done, total) of a pending query.
    pub fn progress(&self) -> Option<(u64, u64)> {
        self.pending.as_ref().map(PendingAnswer::progress)
    }
}
