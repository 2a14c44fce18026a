//! Where `serve` writes its log: stderr, many lines at once. A line for every request would cost a system call each; a thread of its
//! own writes what has gathered. Warnings and errors are written at once.

use std::{
    io::{self, IsTerminal, Write, stderr},
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
    time::Duration,
};

use tracing::{Level, Metadata};
use tracing_subscriber::{filter::Targets, fmt::MakeWriter, layer::SubscriberExt, util::SubscriberInitExt};

use crate::api::log::Sink;

/// How long a line may wait for company.
const WAIT: Duration = Duration::from_millis(20);
/// More than this is written by whoever adds to it, so that a log nobody reads does not fill the memory.
const HELD_BYTES: usize = 64 << 10;

#[derive(Debug, Default)]
struct Held {
    lines: Vec<u8>,
    ended: bool,
}

#[derive(Debug, Default)]
struct Shared {
    held: Mutex<Held>,
    changed: Condvar,
    /// Held while stderr is written to, so that lines stay in order.
    writing: Mutex<()>,
}

/// The log of this process; what is left is written when it is dropped.
#[derive(Debug)]
pub(super) struct Log(Arc<Shared>);

impl Log {
    /// Takes the lines of requests.
    pub(super) fn sink(&self) -> Sink {
        let shared = Arc::clone(&self.0);
        Box::new(move |line| shared.add(line.as_bytes(), false))
    }

    /// Sends all that is traced to stderr from here on.
    pub(super) fn to_stderr() -> Self {
        let colours = stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let log = Self(Arc::default());
        let shared = Arc::clone(&log.0);
        // Without its thread the lines are written as they fill up, and at the end.
        thread::Builder::new().name("log".into()).spawn(move || shared.write_on()).ok();
        let logging = tracing_subscriber::fmt().with_writer(Lines(Arc::clone(&log.0))).with_ansi(colours);
        // Only a logger set before could refuse; its logs are as good.
        // Of the protocol only what goes wrong: it would tell of every message.
        let shown = Targets::new().with_default(Level::INFO).with_target("rmcp", Level::WARN);
        logging.finish().with(shown).try_init().ok();
        log
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.0.lock().ended = true;
        self.0.changed.notify_one();
        self.0.flush();
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, line: &[u8], urgent: bool) {
        let mut held = self.lock();
        let first = held.lines.is_empty();
        held.lines.extend_from_slice(line);
        let full = held.lines.len() > HELD_BYTES;
        drop(held);
        if urgent || full {
            self.flush();
        } else if first {
            self.changed.notify_one();
        }
    }

    fn flush(&self) {
        let _one = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = std::mem::take(&mut self.lock().lines);
        // There is nowhere to say that stderr takes nothing.
        stderr().write_all(&lines).ok();
    }

    /// Sleeps until there is a line, lets others join it, writes them.
    fn write_on(&self) {
        loop {
            let idle = |held: &mut Held| held.lines.is_empty() && !held.ended;
            let held = self.changed.wait_while(self.lock(), idle).unwrap_or_else(PoisonError::into_inner);
            let ended = held.ended;
            drop(held);
            if ended {
                return;
            }
            thread::sleep(WAIT);
            self.flush();
        }
    }
}

#[derive(Debug)]
struct Lines(Arc<Shared>);

/// Where one event is written.
#[derive(Debug)]
struct Line<'a> {
    shared: &'a Shared,
    urgent: bool,
    /// Said by this program. What the crates below it say may repeat what servers said, and those what they were sent.
    ours: bool,
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.ours {
            self.shared.add(bytes, self.urgent);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line { shared: &self.0, urgent: true, ours: true }
    }

    fn make_writer_for(&'a self, about: &Metadata<'_>) -> Line<'a> {
        Line { shared: &self.0, urgent: *about.level() <= Level::WARN, ours: about.target().starts_with("tokendeck") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_wait_for_company_and_urgent_ones_do_not() {
        let shared = Shared::default();
        shared.add(b"", false);
        assert!(shared.lock().lines.is_empty());
        shared.add(b"log: one line of a test\n", false);
        shared.add(b"log: another\n", false);
        assert_eq!(shared.lock().lines.split(|byte| *byte == b'\n').count(), 3);
        shared.add(b"log: urgent\n", true);
        assert!(shared.lock().lines.is_empty());
        shared.add(&vec![b' '; HELD_BYTES + 1], false);
        assert!(shared.lock().lines.is_empty());
    }
}
