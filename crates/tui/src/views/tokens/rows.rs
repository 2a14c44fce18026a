//! The rows of the list, which the query service filters and sorts, and the figures of optional columns, which it computes. What is on screen
//! stays until something newer has arrived.

use std::{collections::HashSet, sync::Arc};

use super::{TokensView, list::ListedToken};
use crate::views::{prelude::*, token_list::TokenList};
use analysis::market::TokenSummary;
use query::{
    queries::{
        Find,
        tokens::{
            FiguresOf,
            arrangement::{ArrangedTokens, Arrangement, KnownFigures, TokenListQuery},
        },
        track_record::is_weighed,
    },
    service::pending::PendingResult,
};

type FoundFigures = <FiguresOf as Find>::Found;

/// What rows are of.
#[derive(Clone, PartialEq)]
pub(super) struct RowsOf {
    generation: u64,
    /// How often the record of all tokens was published, where the rows depend on it.
    records: u64,
    query: TokenListQuery,
}

#[derive(Default)]
pub(super) struct Rows {
    /// What the rows on screen are of; `None` before the first.
    shown: Option<RowsOf>,
    pub(super) snapshot: Option<Arc<Snapshot>>,
    /// The computed figures of that snapshot.
    pub(super) known: Arc<KnownFigures>,
    /// The last query: on screen, pending, failed or stopped.
    asked: Option<RowsOf>,
    pub(super) pending: Option<PendingResult<ArrangedTokens>>,
    /// Figures for the rows on screen, and the version of the records by which advice among them is weighed.
    pending_figures: Option<(u64, PendingResult<FoundFigures>)>,
    /// The figures to compute for every token.
    pub(super) all: Vec<&'static str>,
    /// Why rows or figures cannot be computed; the next query tries again.
    pub(super) problem: Option<String>,
    /// The number of tokens whose figures filter and order lack, because computing them was stopped.
    stopped: Option<u64>,
}

impl Rows {
    pub(super) fn tokens(&self) -> &[TokenSummary] {
        self.snapshot
            .as_ref()
            .map_or(&[], |snapshot| &snapshot.market.tokens)
    }

    /// The rows of the list, by index.
    pub(super) fn listed<'a>(
        &'a self,
        changed: Option<&'a HashSet<Address>>,
        context: &'a Context<'_>,
    ) -> impl Fn(usize) -> Option<ListedToken<'a>> {
        move |place| {
            let token = self.tokens().get(place)?;
            let address = &token.token_address;
            Some(ListedToken {
                token,
                figures: self.known.get(address),
                starred: context.watchlist.contains(address),
                has_changed: changed.is_some_and(|changed| changed.contains(address)),
            })
        }
    }

    /// Whether figures are being computed that the rows wait for.
    pub(super) fn is_computing(&self) -> bool {
        let computes = |asked: &RowsOf| !asked.query.computed().is_empty();
        self.pending.is_some() && self.asked.as_ref().is_some_and(computes)
    }

    /// Whether rows of another filter or order are about to come.
    pub(super) fn is_arranging(&self) -> bool {
        let shown = self.shown.as_ref().map(|of| &of.query);
        let is_other = shown != self.asked.as_ref().map(|of| &of.query);
        self.pending.is_some() && !self.is_computing() && is_other
    }

    /// Cancels the computation; false where none is running.
    pub(super) fn stop(&mut self) -> bool {
        if !self.is_computing() {
            return false;
        }
        let total = self
            .pending
            .take()
            .map_or(0, |pending| pending.progress().1);
        self.end_all();
        if self.asked != self.shown {
            let all = self.tokens().len() as u64;
            self.stopped = Some(if total == 0 { all } else { total });
        }
        true
    }

    /// Stops computing figures for every token.
    fn end_all(&mut self) {
        if let Some(asked) = self
            .asked
            .as_mut()
            .filter(|of| !of.query.figures.is_empty())
        {
            asked.query.figures.clear();
            self.all.clear();
        }
    }

    /// The note beside the filter: the error, the progress, or what was stopped.
    pub(super) fn note(&self) -> Option<String> {
        if let Some(why) = &self.problem {
            return Some(format!("! {why}"));
        }
        let computing = self.pending.as_ref().filter(|_| self.is_computing());
        match computing.map(PendingResult::progress) {
            // Until the total is known, known figures are looked up.
            Some((done, total)) if total > 0 => {
                let (done, total) = (format::count(done), format::count(total));
                Some(format!("computed {done} of {total}, Esc stops"))
            }
            _ => {
                let tokens = format::count(self.stopped?);
                Some(format!("{tokens} not computed"))
            }
        }
    }

    /// Computes the figures `names` of those tokens that lack one. Not while rows are pending, which come with figures.
    fn compute(&mut self, screen: &[Address], names: Vec<&'static str>, context: &Context<'_>) {
        let snapshot = self.snapshot.as_ref();
        let Some(snapshot) = snapshot.filter(|_| self.pending.is_none()) else {
            return;
        };
        if let Some((version, pending)) = &mut self.pending_figures {
            match pending.poll_now() {
                Some(Ok(found)) => Arc::make_mut(&mut self.known).take(*version, found),
                Some(Err(problem)) => self.problem = Some(problem.detail),
                None => return,
            }
            self.pending_figures = None;
        }
        let version = snapshot.track_records.version();
        let tokens: Vec<Address> = screen
            .iter()
            .copied()
            .filter(|token| self.known.lacks(token, &names, version))
            .collect();
        if !tokens.is_empty() && self.problem.is_none() {
            let pending = context.find(snapshot, FiguresOf { tokens, names });
            self.pending_figures = Some((version, pending));
        }
    }
}

impl TokensView {
    /// Asks for the rows that were chosen, takes those that have arrived, and has the figures of those on screen computed.
    pub(super) fn refresh_rows(&mut self, context: &Context<'_>) {
        self.ask(context);
        while self.take_rows(context) {
            self.ask(context);
        }
        let tokens = self.rows.tokens();
        let token = |place: usize| tokens.get(place).map(|token| token.token_address);
        let screen: Vec<Address> = self.list.on_screen().filter_map(token).collect();
        let names = self.shown_figures();
        self.rows.compute(&screen, names, context);
    }

    /// What the rows should be of.
    fn wanted(&self, snapshot: &Snapshot, context: &Context<'_>) -> RowsOf {
        let filter = self.list.filter().clone();
        let watchlist = if self.watched_only || filter.names("starred") {
            Arc::new(context.watchlist.clone())
        } else {
            Arc::default()
        };
        let query = TokenListQuery {
            filter,
            sort: self.list.sorting.keys().to_vec(),
            watchlist,
            watched_only: self.watched_only,
            figures: self.rows.all.clone(),
        };
        // The first rows do not wait for figures.
        let query = if self.rows.shown.is_none() {
            query.without_computed()
        } else {
            query
        };
        let records = if query.computed().into_iter().any(is_weighed) {
            snapshot.track_records.version()
        } else {
            0
        };
        RowsOf {
            generation: snapshot.generation,
            records,
            query,
        }
    }

    /// Asks for the rows, unless they were asked for.
    fn ask(&mut self, context: &Context<'_>) {
        let Some(snapshot) = context.snapshot else {
            return;
        };
        let wanted = self.wanted(snapshot, context);
        let rows = &mut self.rows;
        if rows.asked.as_ref() == Some(&wanted) {
            return;
        }
        (rows.pending, rows.problem, rows.stopped) = (None, None, None);
        if rows.shown.as_ref() != Some(&wanted) {
            let has_known = |shown: &RowsOf| shown.generation == wanted.generation;
            let known = if rows.shown.as_ref().is_some_and(has_known) {
                Arc::clone(&rows.known)
            } else {
                Arc::default()
            };
            let query = wanted.query.clone();
            rows.pending = Some(context.find(snapshot, Arrangement { query, known }));
        }
        rows.asked = Some(wanted);
    }

    /// Takes rows that have arrived; the selection stays on the program's token.
    fn take_rows(&mut self, context: &Context<'_>) -> bool {
        let rows = &mut self.rows;
        let Some(outcome) = rows.pending.as_mut().and_then(PendingResult::poll_now) else {
            return false;
        };
        rows.pending = None;
        rows.end_all();
        let arranged = match outcome {
            Ok(arranged) => arranged,
            Err(problem) => {
                rows.problem = Some(problem.detail);
                return false;
            }
        };
        let Some(asked) = rows.asked.clone() else {
            return false;
        };
        let before = rows.shown.as_ref();
        let is_same_data = before.is_some_and(|before| before.generation == asked.generation);
        let is_same_choice = before.is_some_and(|before| {
            let (was, is) = (&before.query, &asked.query);
            was.filter == is.filter && was.sort == is.sort && was.watched_only == is.watched_only
        });
        self.at_first &= is_same_data || before.is_none();
        if !is_same_data {
            rows.pending_figures = None;
        }
        rows.known = arranged.known;
        // Rows of another snapshot would have been asked for before.
        (rows.shown, rows.snapshot) = (Some(asked), context.snapshot.cloned());
        self.list.set_rows(arranged.places, arranged.excluded);
        // After unstarring, the selection stays in place; after filtering, it goes to the first row.
        let stays = is_same_data && is_same_choice;
        if self.at_first || !(self.point_to(context.token, context) || stays) {
            self.list.cursor.select(0);
        }
        true
    }
}
