//! The request log: a ring buffer of the latest requests for the terminal's API view, and a line per request where a log is written.
//! Queries are left out, since a client may put a secret there.

use std::{
    cell::Cell,
    collections::VecDeque,
    fmt,
    sync::{Mutex, OnceLock},
    time::Duration,
};

use model::{
    locks::Locked as _,
    logged_request::LoggedRequest,
    time::{SECOND_MS, Time},
    wall_clock,
};

/// Capacity of the ring buffer.
pub const REQUESTS_KEPT: usize = 500;
const METHOD_CHARS_MAX: usize = 16;
const PATH_CHARS_MAX: usize = 200;

/// Borrowed form of `LoggedRequest`.
pub(super) struct LogEntry<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub status: u16,
    pub took: Duration,
    pub bytes: u64,
}

impl LogEntry<'_> {
    fn micros(&self) -> u64 {
        self.took.as_micros() as u64
    }
}

/// Consumer of log lines, each with its line feed.
pub type Sink = Box<dyn Fn(&str) + Send + Sync>;

#[derive(Default)]
pub struct RequestLog {
    ring: Mutex<Ring>,
    sink: OnceLock<Sink>,
}

impl fmt::Debug for RequestLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestLog")
            .field("total", &self.total())
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Ring {
    requests: VecDeque<LoggedRequest>,
    total: u64,
}

impl RequestLog {
    pub(super) fn add(&self, entry: &LogEntry<'_>) {
        let Time(time) = wall_clock::now();
        if let Some(sink) = self.sink.get() {
            let mut line = LINE.take();
            line.write(time, entry);
            sink(&line.text);
            LINE.set(line);
        }
        let mut ring = self.lock();
        ring.total += 1;
        // The newest entry reuses the oldest one's buffers, so that a full ring does not allocate.
        let oldest = if ring.requests.len() >= REQUESTS_KEPT {
            ring.requests.pop_front()
        } else {
            None
        };
        let (mut method, mut path) =
            oldest.map_or_else(Default::default, |request| (request.method, request.path));
        for (buffer, text, most) in [
            (&mut method, entry.method, METHOD_CHARS_MAX),
            (&mut path, entry.path, PATH_CHARS_MAX),
        ] {
            buffer.clear();
            let (start, ellipsis) = shortened(text, most);
            buffer.extend([start, ellipsis]);
        }
        let micros = entry.micros();
        ring.requests.push_back(LoggedRequest {
            time: Time(time),
            method,
            path,
            status: entry.status,
            micros,
            bytes: entry.bytes,
        });
    }

    /// Writes every later request to the sink; has no effect if a sink is set already.
    pub fn write_to(&self, sink: Sink) {
        self.sink.set(sink).ok();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Ring> {
        self.ring.locked()
    }

    /// Returns the latest requests, newest first, at most `count`.
    pub fn recent(&self, count: usize) -> Vec<LoggedRequest> {
        let ring = self.lock();
        ring.requests.iter().rev().take(count).cloned().collect()
    }

    /// Number of requests since the start.
    pub fn total(&self) -> u64 {
        self.lock().total
    }
}

thread_local! {
    /// One per thread, so that a line needs neither a lock nor a new buffer.
    static LINE: Cell<Line> = Cell::default();
}

/// A log line. The text of its second is cached, since under load the next request falls into the same one.
#[derive(Debug, Default)]
struct Line {
    second: i64,
    second_text: String,
    text: String,
}

impl Line {
    /// Written without tracing's formatter, since a line per request must cost next to nothing.
    fn write(&mut self, time: i64, entry: &LogEntry<'_>) {
        let second = time.div_euclid(SECOND_MS);
        if self.second != second || self.second_text.is_empty() {
            let text = Time(second * SECOND_MS).to_string();
            text.trim_end_matches('Z').clone_into(&mut self.second_text);
            self.second = second;
        }
        let mut number = itoa::Buffer::new();
        let text = &mut self.text;
        text.clear();
        text.push_str(&self.second_text);
        text.push('.');
        // Adding 1,000 and cutting off the 1 keeps the leading zeros.
        text.push_str(&number.format(1_000 + time.rem_euclid(SECOND_MS))[1..]);
        text.push_str("Z  INFO request method=");
        text.push_str(entry.method);
        text.push_str(" path=");
        if entry.path.bytes().all(|byte| byte.is_ascii_graphic()) {
            text.push_str(entry.path);
        } else {
            text.extend(entry.path.escape_default());
        }
        for (name, value) in [
            (" status=", u64::from(entry.status)),
            (" micros=", entry.micros()),
            (" bytes=", entry.bytes),
        ] {
            text.push_str(name);
            text.push_str(number.format(value));
        }
        text.push('\n');
    }
}

/// Truncates to `most` characters; the second value is the ellipsis, empty if nothing was cut.
fn shortened(text: &str, most: usize) -> (&str, &'static str) {
    // Characters are counted only if the bytes exceed the limit.
    let end = if text.len() > most {
        text.char_indices().nth(most).map(|(end, _)| end)
    } else {
        None
    };
    end.map_or((text, ""), |end| (&text[..end], "…"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_one_line_with_control_characters_escaped() {
        let mut line = Line::default();
        for (time, path, expected) in [
            (
                0,
                "/tokens",
                "1970-01-01T00:00:00.000Z  INFO request method=GET path=/tokens status=200 micros=7 bytes=1\n",
            ),
            (
                1_999,
                "/a\n\u{1b}[m",
                "1970-01-01T00:00:01.999Z  INFO request method=GET path=/a\\n\\u{1b}[m status=200 micros=7 bytes=1\n",
            ),
        ] {
            line.write(
                time,
                &LogEntry {
                    method: "GET",
                    path,
                    status: 200,
                    took: Duration::from_micros(7),
                    bytes: 1,
                },
            );
            assert_eq!(line.text, expected);
        }
    }

    #[test]
    fn the_ring_keeps_the_latest_and_counts_all() {
        let log = RequestLog::default();
        for status in 0..REQUESTS_KEPT as u16 + 10 {
            log.add(&LogEntry {
                method: "GET",
                path: &"ä".repeat(300),
                status,
                took: Duration::from_micros(7),
                bytes: 1,
            });
        }
        let all = log.recent(usize::MAX);
        assert_eq!(
            (all.len(), log.total()),
            (REQUESTS_KEPT, REQUESTS_KEPT as u64 + 10)
        );
        assert_eq!(
            (all[0].status, all[REQUESTS_KEPT - 1].status),
            (REQUESTS_KEPT as u16 + 9, 10)
        );
        assert_eq!(all[0].path.chars().count(), PATH_CHARS_MAX + 1);
        assert_eq!(log.recent(2).len(), 2);
    }
}
