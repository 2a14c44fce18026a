//! Saves what the user typed while the dashboard runs, on a thread of its own: whatever ends the program, at most the last half second is
//! lost. What is saved, and where, belongs to `memory`.

use std::{
    collections::HashSet,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread::{Scope, ScopedJoinHandle},
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{app::App, memory::Memory};
use crate::views::task::Wake;
use model::{address::Address, annotations::Annotation};

/// Changes closer together are saved once.
const DELAY: Duration = Duration::from_millis(300);
/// How often the watchlist of other programs is looked at.
const LOOK: Duration = Duration::from_secs(2);

enum Change {
    Star(Address),
    Annotation(Address, Annotation),
    Session(Value),
}

pub(super) struct Saver<'scope> {
    thread: ScopedJoinHandle<'scope, ()>,
    changes: Sender<Change>,
    problems: Receiver<String>,
    watchlists: Receiver<HashSet<Address>>,
    /// The session as it was last handed over.
    handed: Value,
    /// When a session that may have changed is looked at.
    due: Option<Instant>,
}

impl<'scope> Saver<'scope> {
    /// Starts the thread; it ends with the saver.
    pub(super) fn start(
        scope: &'scope Scope<'scope, '_>,
        memory: &'scope mut dyn Memory,
        wake: Wake,
        app: &App,
    ) -> Self {
        let (changes, received) = channel();
        let (report, problems) = channel();
        let (stars, watchlists) = channel();
        let thread = scope.spawn(move || {
            loop {
                let change = match received.recv_timeout(LOOK) {
                    Ok(change) => change,
                    Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) => {
                        if let Some(watchlist) = memory.changed_watchlist() {
                            stars.send(watchlist).ok();
                            wake();
                        }
                        continue;
                    }
                };
                let outcome = match change {
                    Change::Star(token) => memory.star(token),
                    Change::Annotation(token, annotation) => memory.annotate(token, &annotation),
                    Change::Session(session) => memory.keep_session(&session),
                };
                if let Err(reason) = outcome {
                    report.send(reason.to_string()).ok();
                    wake();
                }
            }
        });
        Self {
            thread,
            changes,
            problems,
            watchlists,
            handed: app.session_now(),
            due: None,
        }
    }

    /// The user did something: the session is looked at soon.
    pub(super) fn touch(&mut self) {
        self.due.get_or_insert_with(|| Instant::now() + DELAY);
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    pub(super) fn star(&self, token: Address) {
        self.changes.send(Change::Star(token)).ok();
    }

    pub(super) fn annotate(&self, token: Address, annotation: Annotation) {
        self.changes
            .send(Change::Annotation(token, annotation))
            .ok();
    }

    /// Hands over the session if it is due and has changed; returns what could not be saved.
    ///
    /// # Panics
    /// If the saving thread has panicked: continuing would lose what the user types.
    pub(super) fn run(&mut self, app: &mut App) {
        assert!(
            !self.thread.is_finished(),
            "the session can no longer be saved"
        );
        if self.due.is_some_and(|due| due <= Instant::now()) {
            self.due = None;
            self.hand_over(app.session_now());
        }
        for problem in self.problems.try_iter() {
            app.say(problem, true);
        }
        if let Some(watchlist) = self.watchlists.try_iter().last() {
            app.take_watchlist(watchlist);
        }
    }

    fn hand_over(&mut self, session: Value) {
        if session != self.handed {
            self.handed.clone_from(&session);
            self.changes.send(Change::Session(session)).ok();
        }
    }

    /// Saves the last session and waits for all that is being saved; returns what could not be.
    pub(super) fn finish(mut self, app: &mut App) -> Option<String> {
        self.hand_over(app.last_session());
        drop(self.changes);
        self.problems.into_iter().last()
    }
}
