//! The latest requests, for the terminal's API pane: a bounded ring. Queries are left out, since a client may put a secret there.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::dataset::time::Time;

/// How many requests are kept.
pub const KEPT: usize = 500;
const PATH_CHARS_MAX: usize = 200;

/// A request that was answered.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedRequest {
    pub time: Time,
    pub method: String,
    /// Without the query, shortened.
    pub path: String,
    /// 499 when the client left before it was answered.
    pub status: u16,
    pub micros: u64,
    /// Of the body.
    pub bytes: u64,
}

/// As `LoggedRequest`, before it is kept.
pub(super) struct Entry<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub status: u16,
    pub took: Duration,
    pub bytes: u64,
}

#[derive(Debug, Default)]
pub struct RequestLog(Mutex<Ring>);

#[derive(Debug, Default)]
struct Ring {
    requests: VecDeque<LoggedRequest>,
    total: u64,
}

impl RequestLog {
    pub(super) fn add(&self, entry: &Entry<'_>) {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64);
        let mut ring = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ring.total += 1;
        // The oldest gives its buffers to the newest, so that the ring stops allocating once it is full.
        let oldest = if ring.requests.len() >= KEPT { ring.requests.pop_front() } else { None };
        let (mut method, mut path) = oldest.map_or_else(Default::default, |request| (request.method, request.path));
        method.clear();
        method.extend(entry.method.chars().take(16));
        path.clear();
        match entry.path.char_indices().nth(PATH_CHARS_MAX) {
            Some((end, _)) => path.extend([&entry.path[..end], "…"]),
            None => path.push_str(entry.path),
        }
        let micros = entry.took.as_micros() as u64;
        ring.requests.push_back(LoggedRequest { time: Time(time), method, path, status: entry.status, micros, bytes: entry.bytes });
    }

    /// The latest requests, newest first, `count` at most.
    pub fn recent(&self, count: usize) -> Vec<LoggedRequest> {
        let ring = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ring.requests.iter().rev().take(count).cloned().collect()
    }

    /// All requests ever, by which a reader sees whether there are new ones.
    pub fn total(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_keeps_the_latest_and_counts_all() {
        let log = RequestLog::default();
        for status in 0..KEPT as u16 + 10 {
            log.add(&Entry { method: "GET", path: &"ä".repeat(300), status, took: Duration::from_micros(7), bytes: 1 });
        }
        let all = log.recent(usize::MAX);
        assert_eq!((all.len(), log.total()), (KEPT, KEPT as u64 + 10));
        assert_eq!((all[0].status, all[KEPT - 1].status), (KEPT as u16 + 9, 10));
        assert_eq!(all[0].path.chars().count(), PATH_CHARS_MAX + 1);
        assert_eq!(log.recent(2).len(), 2);
    }
}
