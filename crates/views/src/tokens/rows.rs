//! The rows of the list, which the query service filters and sorts, and the figures of optional columns, which it computes. What is on screen
//! stays until something newer has arrived.

use std::{collections::HashSet, sync::Arc};

use super::{TokensView, list::ListedToken};
use crate::{prelude::*, token_list::TokenList};
use analysis::market::TokenSummary;
use query::{
    deck::pending::PendingResult,
    question::{
        fields::Figures,
        search::{
            FiguresOf,
            arrangement::{ArrangedTokens, Arrangement, KnownFigures, TokenQuery},
        },
        track_record::is_weighed,
    },
};

/// What rows are of.
#[derive(Clone)]
pub(super) struct RowsOf {
    pub(super) snapshot: Arc<Snapshot>,
    /// How often the record of all tokens was published, where the rows depend on it.
    records: u64,
    pub(super) query: TokenQuery,
}

impl PartialEq for RowsOf {
    fn eq(&self, other: &Self) -> bool {
        let key = |rows: &Self| (rows.snapshot.generation, rows.records);
        key(self) == key(other) && self.query == other.query
    }
}

#[derive(Default)]
pub(super) struct Rows {
    /// What the rows on screen are of; `None` before the first.
    pub(super) shown: Option<RowsOf>,
    /// What was asked for last: on screen, pending, failed or stopped.
    pub(super) asked: Option<RowsOf>,
    pending: Option<PendingResult<ArrangedTokens>>,
    pub(super) figures: ListFigures,
    /// Figures for the rows on screen, and the version of the records that they are weighed by.
    pending_figures: Option<(u64, PendingResult<Vec<(Address, Figures)>>)>,
    /// The figures that were asked for of every token, while they are computed.
    pub(super) all: Vec<&'static str>,
    /// Why rows or figures cannot be computed; not tried again until something else is asked for.
    problem: Option<String>,
    /// The number of tokens that filter and order wait for, as computing their figures was stopped.
    stopped: Option<u64>,
}

/// The computed figures of the shown snapshot.
#[derive(Clone, Default)]
pub(super) struct ListFigures {
    /// Those that came with the rows.
    known: Arc<KnownFigures>,
    /// Those that were computed because their rows were on screen.
    on_screen: KnownFigures,
}

impl ListFigures {
    /// The figures of a token: where none has all `names`, weighed by this version of the records, those that there are.
    pub(super) fn get(&self, token: &Address, names: &[&str], version: u64) -> Option<&Figures> {
        let known = self.known.get(token);
        if self.known.lacks(token, names, version) {
            self.on_screen.get(token).or(known)
        } else {
            known
        }
    }

    pub(super) fn lacks(&self, token: &Address, names: &[&str], version: u64) -> bool {
        self.known.lacks(token, names, version) && self.on_screen.lacks(token, names, version)
    }
}

impl Rows {
    pub(super) fn tokens(&self) -> &[TokenSummary] {
        self.shown
            .as_ref()
            .map_or(&[], |shown| &shown.snapshot.market.tokens)
    }

    /// The rows of the list, by index, with the figures `names`.
    pub(super) fn listed<'a>(
        &'a self,
        names: Vec<&'static str>,
        changed: Option<&'a HashSet<Address>>,
        context: &'a Context<'_>,
    ) -> impl Fn(usize) -> Option<ListedToken<'a>> {
        let version = self.records_version();
        move |place| {
            let token = self.tokens().get(place)?;
            let address = &token.token_address;
            Some(ListedToken {
                token,
                figures: self.figures.get(address, &names, version),
                starred: context.watchlist.contains(address),
                has_changed: changed.is_some_and(|changed| changed.contains(address)),
            })
        }
    }

    /// How often the record of all tokens was published in the shown snapshot.
    pub(super) fn records_version(&self) -> u64 {
        let version = |shown: &RowsOf| shown.snapshot.track_records.version();
        self.shown.as_ref().map_or(0, version)
    }

    pub(super) fn is_pending(&self) -> bool {
        self.pending.is_some()
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

    /// Why there are no rows.
    pub(super) fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// From now on no figure is asked for of every token.
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
        let computed = self.pending.as_ref().filter(|_| self.is_computing());
        let so_far = |(done, total)| {
            let (done, total) = (format::count(done), format::count(total));
            format!("computed {done} of {total}, Esc stops")
        };
        let problem = self.problem.as_ref().map(|why| format!("! {why}"));
        problem
            .or_else(|| {
                // Until the total is known, the figures are looked up that are computed already.
                let progress = computed.map(PendingResult::progress);
                progress.filter(|(_, total)| *total > 0).map(so_far)
            })
            .or_else(|| {
                let tokens = self.stopped.map(format::count);
                tokens.map(|tokens| format!("{tokens} not computed"))
            })
    }

    /// Computes the figures `names` of those tokens that lack one.
    fn compute(&mut self, screen: &[Address], names: Vec<&'static str>, context: &Context<'_>) {
        let Some(shown) = &self.shown else {
            return;
        };
        if let Some((version, pending)) = &mut self.pending_figures {
            match pending.poll_now() {
                Some(Ok(found)) => self.figures.on_screen.take(*version, found),
                Some(Err(problem)) => self.problem = Some(problem.detail),
                None => return,
            }
            self.pending_figures = None;
        }
        let version = self.records_version();
        let tokens: Vec<Address> = screen
            .iter()
            .copied()
            .filter(|token| self.figures.lacks(token, &names, version))
            .collect();
        if !tokens.is_empty() && self.problem.is_none() {
            let wake = Arc::clone(context.wake);
            let wanted = FiguresOf { tokens, names };
            let pending = context.deck.find(&shown.snapshot, wanted, move || wake());
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
    fn wanted(&self, snapshot: &Arc<Snapshot>, context: &Context<'_>) -> RowsOf {
        let filter = self.list.filter().clone();
        let watchlist = if self.watched_only || filter.names("starred") {
            let before = self.rows.asked.as_ref().map(|of| &of.query.watchlist);
            before
                .filter(|before| ***before == *context.watchlist)
                .map_or_else(|| Arc::new(context.watchlist.clone()), Arc::clone)
        } else {
            Arc::default()
        };
        let query = TokenQuery {
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
            snapshot: Arc::clone(snapshot),
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
            let of_same = |of: &RowsOf| of.snapshot.generation == snapshot.generation;
            let known = if rows.shown.as_ref().is_some_and(of_same) {
                Arc::clone(&rows.figures.known)
            } else {
                Arc::default()
            };
            let (query, wake) = (wanted.query.clone(), Arc::clone(context.wake));
            let arrangement = Arrangement { query, known };
            rows.pending = Some(context.deck.find(snapshot, arrangement, move || wake()));
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
        let of_same = |of: &RowsOf| of.snapshot.generation == asked.snapshot.generation;
        let before = rows.shown.as_ref();
        let is_same_data = before.is_some_and(of_same);
        let is_same_choice = before.is_some_and(|before| {
            let (was, is) = (&before.query, &asked.query);
            was.filter == is.filter && was.sort == is.sort && was.watched_only == is.watched_only
        });
        self.at_first &= is_same_data || before.is_none();
        if !is_same_data {
            (rows.figures, rows.pending_figures) = (ListFigures::default(), None);
        }
        rows.figures.known = arranged.known;
        rows.shown = Some(asked);
        self.list.set_rows(arranged.places, arranged.excluded);
        // After unstarring, the selection stays in place; after filtering, it goes to the first row.
        if self.at_first
            || (!self.point_to(context.token, context) && !(is_same_data && is_same_choice))
        {
            self.list.cursor.select(0);
        }
        true
    }
}
