//! A progress line on stderr for long commands; only if stderr is a terminal.

use std::{
    io::{IsTerminal, Write, stderr},
    sync::Mutex,
    time::{Duration, Instant},
};

use super::outcome::say;
use model::progress::{Cancelled, LoadProgress};

const EVERY: Duration = Duration::from_millis(100);

/// First drawn 0.1 s after its creation, so that short commands draw nothing; erased when dropped.
pub(super) struct Meter {
    verb: &'static str,
    is_terminal: bool,
    state: Mutex<State>,
}

struct State {
    /// Time of the last drawing, or of its creation.
    last: Instant,
    drawn: bool,
}

impl Meter {
    pub(super) fn new(verb: &'static str) -> Self {
        Self { verb, is_terminal: stderr().is_terminal(), state: Mutex::new(State { last: Instant::now(), drawn: false }) }
    }

    pub(super) fn show(&self, table: &str, done: u64, total: u64) {
        let Ok(mut state) = self.state.lock() else { return };
        if !self.is_terminal || state.last.elapsed() < EVERY {
            return;
        }
        (state.last, state.drawn) = (Instant::now(), true);
        let percent = done.min(total).saturating_mul(100).checked_div(total).map_or_else(String::new, |percent| format!(" {percent} %"));
        write!(stderr(), "\r\x1b[K{} {table}{percent}", self.verb).ok();
    }
}

impl LoadProgress for Meter {
    fn fetching(&self, says: &str) {
        // On a line of its own.
        if self.state.lock().is_ok_and(|mut state| std::mem::take(&mut state.drawn)) {
            write!(stderr(), "\r\x1b[K").ok();
        }
        say(says);
    }

    fn step(&self, table: &str, done: u64, total: u64) -> Result<(), Cancelled> {
        self.show(table, done, total);
        Ok(())
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if self.state.get_mut().is_ok_and(|state| state.drawn) {
            write!(stderr(), "\r\x1b[K").ok();
        }
    }
}
