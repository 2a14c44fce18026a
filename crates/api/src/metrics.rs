//! Metrics: request counts by route and status, latency, and the loaded data; for Prometheus and the terminal. Counting only: nothing here
//! answers a request.

use std::{
    fmt::Write,
    fs,
    sync::atomic::{AtomicI64, AtomicU64, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use super::endpoint::Endpoint;
use model::wall_clock::now;
use query::service::{QueryService, refresh::FeedTable};

/// Upper bounds of the latency histogram's buckets, in microseconds; one more bucket is unbounded.
pub const LATENCY_MICROS: [u64; 15] = [
    10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 1_000_000,
    10_000_000,
];

/// Statuses counted individually; any other counts as the last.
const STATUSES: [u16; 23] = [
    200, 201, 202, 204, 304, 400, 401, 403, 404, 405, 408, 409, 410, 413, 414, 415, 421, 422, 429,
    431, 500, 503, 499,
];

#[derive(Debug)]
pub struct Metrics {
    endpoints: &'static [Endpoint],
    /// Per endpoint, and for requests without one: a counter per status.
    requests: Vec<[AtomicU64; STATUSES.len()]>,
    latency: [AtomicU64; LATENCY_MICROS.len() + 1],
    micros: AtomicU64,
    in_flight: AtomicI64,
}

/// Latency histogram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latency {
    /// Requests per bucket of `LATENCY_MICROS`, and in the unbounded one.
    pub counts: [u64; LATENCY_MICROS.len() + 1],
    /// Sum of all latencies.
    pub micros: u64,
}

impl Latency {
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

impl Metrics {
    pub(super) fn of(endpoints: &'static [Endpoint]) -> Self {
        Self {
            endpoints,
            requests: (0..=endpoints.len()).map(|_| Default::default()).collect(),
            latency: Default::default(),
            micros: AtomicU64::new(0),
            in_flight: AtomicI64::new(0),
        }
    }

    pub(super) fn count(&self, position: Option<usize>, status: u16, took: Duration) {
        let micros = took.as_micros() as u64;
        let status = STATUSES
            .iter()
            .position(|known| *known == status)
            .unwrap_or(STATUSES.len() - 1);
        self.requests[position.unwrap_or(self.endpoints.len())][status]
            .fetch_add(1, Ordering::Relaxed);
        self.latency[LATENCY_MICROS.partition_point(|&end| end < micros)]
            .fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    pub(super) fn begin(&self) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn end(&self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }

    /// Requests in flight.
    pub fn in_flight(&self) -> i64 {
        self.in_flight.load(Ordering::Relaxed)
    }

    pub fn latency(&self) -> Latency {
        Latency {
            counts: std::array::from_fn(|i| self.latency[i].load(Ordering::Relaxed)),
            micros: self.micros.load(Ordering::Relaxed),
        }
    }

    /// Number of requests answered with this status.
    pub fn answered(&self, status: u16) -> u64 {
        let Some(i) = STATUSES.iter().position(|known| *known == status) else {
            return 0;
        };
        self.requests
            .iter()
            .map(|route| route[i].load(Ordering::Relaxed))
            .sum()
    }

    /// Renders the Prometheus text exposition format, version 0.0.4.
    pub(super) fn text(&self, service: &QueryService) -> String {
        let mut page = Page(String::with_capacity(8 << 10));
        self.write_requests(&mut page);
        self.write_latency(&mut page);
        page.figure(
            "tokendeck_requests_in_flight",
            "gauge",
            "Requests in progress.",
            self.in_flight() as f64,
        );
        write_dataset(&mut page, service);
        if let Some(fetched) = service.remote_traffic() {
            page.figure(
                "tokendeck_remote_requests_total",
                "counter",
                "Requests to remote sources.",
                fetched.requests as f64,
            );
            page.figure(
                "tokendeck_remote_bytes_total",
                "counter",
                "Bytes fetched from remote sources.",
                fetched.bytes as f64,
            );
        }
        write_feeds(&mut page, service);
        if let Some(bytes) = resident_bytes() {
            page.figure(
                "process_resident_memory_bytes",
                "gauge",
                "Resident memory of the process.",
                bytes as f64,
            );
        }
        page.0
    }

    fn write_requests(&self, page: &mut Page) {
        page.head(
            "tokendeck_requests_total",
            "counter",
            "Requests by route and status.",
        );
        for (i, counters) in self.requests.iter().enumerate() {
            let route = self
                .endpoints
                .get(i)
                .map_or("none", |endpoint| endpoint.name);
            for (status, counter) in STATUSES.iter().zip(counters) {
                let count = counter.load(Ordering::Relaxed);
                if count > 0 {
                    page.line(
                        &format!(
                            "tokendeck_requests_total{{route=\"{route}\",status=\"{status}\"}}"
                        ),
                        count as f64,
                    );
                }
            }
        }
    }

    fn write_latency(&self, page: &mut Page) {
        let latency = self.latency();
        page.head(
            "tokendeck_request_seconds",
            "histogram",
            "Response time in seconds.",
        );
        let mut seen = 0;
        for (end, count) in LATENCY_MICROS.iter().zip(latency.counts) {
            seen += count;
            page.line(
                &format!(
                    "tokendeck_request_seconds_bucket{{le=\"{}\"}}",
                    *end as f64 / 1e6
                ),
                seen as f64,
            );
        }
        let all = latency.count() as f64;
        page.line("tokendeck_request_seconds_bucket{le=\"+Inf\"}", all);
        page.line("tokendeck_request_seconds_sum", latency.micros as f64 / 1e6);
        page.line("tokendeck_request_seconds_count", all);
    }
}

/// Metrics of the live tables.
fn write_feeds(page: &mut Page, service: &QueryService) {
    let feeds = service.feed_tables();
    let age = |feed: &FeedTable| feed.last.map(|last| (now().0 - last.0).max(0) as f64 / 1e3);
    if !feeds.is_empty() {
        page.head(
            "tokendeck_feed_age_seconds",
            "gauge",
            "Seconds since rows of the live table were last fetched.",
        );
        for (feed, age) in feeds.iter().filter_map(|feed| Some((feed, age(feed)?))) {
            page.line(
                &format!("tokendeck_feed_age_seconds{{table=\"{}\"}}", feed.table),
                age,
            );
        }
        page.head(
            "tokendeck_feed_failing",
            "gauge",
            "1 if the last fetch of the live table failed.",
        );
        for feed in &feeds {
            page.line(
                &format!("tokendeck_feed_failing{{table=\"{}\"}}", feed.table),
                f64::from(feed.failure.is_some()),
            );
        }
    }
}

fn write_dataset(page: &mut Page, service: &QueryService) {
    let Ok(snapshot) = service.snapshot() else {
        return;
    };
    page.figure(
        "tokendeck_dataset_generation",
        "gauge",
        "Number of the data snapshot; increases with every load.",
        snapshot.generation as f64,
    );
    let tables = &snapshot.dataset.tables;
    let newest = tables
        .iter()
        .flat_map(|table| &table.sources)
        .filter_map(|source| source.modified)
        .max();
    if let (Some(newest), Ok(now)) = (newest, SystemTime::now().duration_since(UNIX_EPOCH)) {
        let age = (now.as_secs_f64() - newest.0 as f64 / 1e3).max(0.0);
        page.figure(
            "tokendeck_dataset_age_seconds",
            "gauge",
            "Seconds since the newest source file was written.",
            age,
        );
    }
    page.head(
        "tokendeck_dataset_rows",
        "gauge",
        "Rows of each loaded table.",
    );
    for table in tables.iter().filter(|table| table.loaded()) {
        page.line(
            &format!("tokendeck_dataset_rows{{table=\"{}\"}}", table.schema.name),
            table.height() as f64,
        );
    }
}

/// Resident set size of the process, from /proc; `None` without it.
fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim()
        .strip_suffix(" kB")?
        .parse::<u64>()
        .ok()
        .map(|kib| kib * 1_024)
}

struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a String cannot fail.
        writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}").ok();
    }

    fn line(&mut self, name: &str, value: f64) {
        writeln!(self.0, "{name} {value}").ok();
    }

    fn figure(&mut self, name: &str, kind: &str, help: &str, value: f64) {
        self.head(name, kind, help);
        self.line(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::ENDPOINTS;
    use model::error::CODES;

    #[test]
    fn every_status_has_its_counter() {
        for status in CODES
            .iter()
            .map(|row| row.status)
            .chain(ENDPOINTS.iter().map(|endpoint| endpoint.status))
        {
            assert!(STATUSES.contains(&status), "{status}");
        }
    }

    #[test]
    fn each_request_is_counted_in_its_bucket_and_by_its_status() {
        let metrics = Metrics::of(ENDPOINTS);
        for micros in [1, 2, 3, 400, 50_000_000] {
            metrics.count(None, 200, Duration::from_micros(micros));
        }
        let latency = metrics.latency();
        let buckets: Vec<u64> = latency
            .counts
            .iter()
            .copied()
            .filter(|count| *count > 0)
            .collect();
        assert_eq!(
            (buckets, latency.counts[LATENCY_MICROS.len()]),
            (vec![3, 1, 1], 1)
        );
        assert_eq!(
            (
                latency.count(),
                metrics.answered(200),
                metrics.answered(404)
            ),
            (5, 5, 0)
        );
    }
}
