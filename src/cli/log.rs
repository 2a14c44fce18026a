//! The stderr log of `serve` and `mcp`, with batched writes: a system call per request would cost too much, so a thread writes buffered
//! lines. Warnings and errors are written at once.

use std::{
    io::{self, IsTerminal, Write, stderr},
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
    time::Duration,
};

use tracing::{Level, Metadata};
use tracing_subscriber::{
    filter::Targets, fmt::MakeWriter, layer::SubscriberExt, util::SubscriberInitExt,
};

use api::log::Sink;
use model::locks::Locked as _;

/// How long a line is buffered.
const WAIT: Duration = Duration::from_millis(20);
/// Buffer limit. The thread that exceeds it writes the buffer itself, so that an unread log does not fill the memory.
const BUFFER_BYTES_MAX: usize = 64 << 10;

#[derive(Debug, Default)]
struct LogBuffer {
    lines: Vec<u8>,
    ended: bool,
}

#[derive(Debug, Default)]
struct Shared {
    buffer: Mutex<LogBuffer>,
    changed: Condvar,
    /// Locked while writing to stderr, so that lines stay in order.
    writing: Mutex<()>,
}

/// The log of this process; dropping it flushes the buffer.
#[derive(Debug)]
pub(super) struct Log(Arc<Shared>);

impl Log {
    /// Returns the sink for the API's request log.
    pub(super) fn sink(&self) -> Sink {
        let shared = Arc::clone(&self.0);
        Box::new(move |line| shared.add(line.as_bytes(), false))
    }

    /// Installs a tracing subscriber that writes to stderr.
    pub(super) fn to_stderr() -> Self {
        let colours = stderr().is_terminal()
            && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let log = Self(Arc::default());
        let shared = Arc::clone(&log.0);
        // Without the thread, lines are written when the buffer is full, and at the end.
        thread::Builder::new()
            .name("log".into())
            .spawn(move || shared.write_until_ended())
            .ok();
        let logging = tracing_subscriber::fmt()
            .with_writer(Lines(Arc::clone(&log.0)))
            .with_ansi(colours);
        // rmcp logs every message.
        let shown = Targets::new()
            .with_default(Level::INFO)
            .with_target("rmcp", Level::WARN);
        // Fails only if a subscriber is set already, which does as well.
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
    fn lock(&self) -> std::sync::MutexGuard<'_, LogBuffer> {
        self.buffer.locked()
    }

    fn add(&self, line: &[u8], urgent: bool) {
        let mut buffer = self.lock();
        let first = buffer.lines.is_empty();
        buffer.lines.extend_from_slice(line);
        let full = buffer.lines.len() > BUFFER_BYTES_MAX;
        drop(buffer);
        if urgent || full {
            self.flush();
        } else if first {
            self.changed.notify_one();
        }
    }

    fn flush(&self) {
        let _one = self.writing.locked();
        let lines = std::mem::take(&mut self.lock().lines);
        // A failure could be reported nowhere else.
        stderr().write_all(&lines).ok();
    }

    /// Writer thread: waits for a line, then `WAIT` for further ones, and writes them; returns when the log ends.
    fn write_until_ended(&self) {
        loop {
            let idle = |buffer: &mut LogBuffer| buffer.lines.is_empty() && !buffer.ended;
            let buffer = self
                .changed
                .wait_while(self.lock(), idle)
                .unwrap_or_else(PoisonError::into_inner);
            let ended = buffer.ended;
            drop(buffer);
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

/// Writer of one event.
#[derive(Debug)]
struct Line<'a> {
    shared: &'a Shared,
    urgent: bool,
    /// Whether this program logged it. Other crates' lines are dropped: they may repeat server responses, which may repeat the request.
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
        Line {
            shared: &self.0,
            urgent: true,
            ours: true,
        }
    }

    fn make_writer_for(&'a self, about: &Metadata<'_>) -> Line<'a> {
        Line {
            shared: &self.0,
            urgent: *about.level() <= Level::WARN,
            ours: about.target().starts_with("tokendeck"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_buffered_until_one_is_urgent_or_they_are_too_many() {
        let shared = Shared::default();
        shared.add(b"", false);
        assert!(shared.lock().lines.is_empty());
        shared.add(b"log: one line of a test\n", false);
        shared.add(b"log: another\n", false);
        assert_eq!(shared.lock().lines.split(|byte| *byte == b'\n').count(), 3);
        shared.add(b"log: urgent\n", true);
        assert!(shared.lock().lines.is_empty());
        shared.add(&vec![b' '; BUFFER_BYTES_MAX + 1], false);
        assert!(shared.lock().lines.is_empty());
    }
}
