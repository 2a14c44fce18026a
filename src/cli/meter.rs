//! A progress line on stderr for long commands, if stderr is a terminal; and a message about slow sources, with or without a terminal.

use std::{
    io::{IsTerminal, Write, stderr},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use super::outcome::say;
use model::progress::{Cancelled, LoadProgress};
use wire::RemoteClient;

const EVERY: Duration = Duration::from_millis(100);
/// Polling interval.
const LOOK: Duration = Duration::from_millis(5);
/// How long a source may take to respond before a message.
const PATIENCE: Duration = Duration::from_secs(3);

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
        Self {
            verb,
            is_terminal: stderr().is_terminal(),
            state: Mutex::new(State {
                last: Instant::now(),
                drawn: false,
            }),
        }
    }

    pub(super) fn show(&self, table: &str, done: u64, total: u64) {
        let Ok(mut state) = self.state.lock() else {
            return;
        };
        if !self.is_terminal || state.last.elapsed() < EVERY {
            return;
        }
        let percent = done
            .min(total)
            .saturating_mul(100)
            .checked_div(total)
            .map_or_else(String::new, |percent| format!(" {percent}%"));
        state.draw(&format!("{} {table}{percent}", self.verb));
    }

    /// Runs `work`. Meanwhile calls `look` repeatedly, and once more at the end; and reports which sources have not responded yet.
    pub(super) fn beside<T>(
        &self,
        wire: Option<&RemoteClient>,
        mut look: impl FnMut() + Send,
        work: impl FnOnce() -> T,
    ) -> T {
        let (done, mut waits) = (AtomicBool::new(false), Waits::default());
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Acquire) {
                    look();
                    waits.tell(
                        &wire.map(RemoteClient::pending_sources).unwrap_or_default(),
                        self,
                    );
                    thread::sleep(LOOK);
                }
                look();
            });
            // Set also where the work panics: the scope waits for the thread.
            let _done = Done(&done);
            work()
        })
    }
}

impl State {
    fn draw(&mut self, line: &str) {
        (self.last, self.drawn) = (Instant::now(), true);
        write!(stderr(), "\r\x1b[K{line}").ok();
    }
}

struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// The sources that have not responded.
#[derive(Default)]
struct Waits {
    since: Option<Instant>,
    /// Whether the message was printed, if no line can be redrawn.
    told: bool,
}

impl Waits {
    fn tell(&mut self, pending: &[String], meter: &Meter) {
        if pending.is_empty() {
            self.since = None;
            return;
        }
        let waited = self.since.get_or_insert_with(Instant::now).elapsed();
        if waited < PATIENCE {
            return;
        }
        let line = format!(
            "waiting for `{}`: {} s so far",
            pending.join("`, `"),
            waited.as_secs()
        );
        if !meter.is_terminal {
            if !std::mem::replace(&mut self.told, true) {
                say(&line);
            }
        } else if let Ok(mut state) = meter.state.lock()
            && state.last.elapsed() >= EVERY
        {
            state.draw(&line);
        }
    }
}

impl LoadProgress for Meter {
    fn fetching(&self, says: &str) {
        // On a line of its own.
        if self
            .state
            .lock()
            .is_ok_and(|mut state| std::mem::take(&mut state.drawn))
        {
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
