//! A remote object as a file: missing ranges are fetched and stored on disk, announced ranges are prefetched. Waiting for bytes ends when
//! the load is canceled.

use std::{
    io,
    ops::Range,
    path::Path,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use super::{
    downloads::{ObjectParts, gaps},
    read_at::ReadAt,
};
use model::locks::Locked as _;
use wire::{ByteSink, Fault, Object, PartFetch, RemoteClient};

/// Maximum bytes of a range request.
pub const PART: u64 = 8 << 20;
/// Ranges this close are fetched as one, as a request costs more than the gap.
const GAP: u64 = 256 << 10;
/// Objects of up to this size are prefetched whole.
const SMALL: u64 = 1 << 20;
/// Bytes at the end with the footer of a Parquet or Arrow file, which is read first.
const TAIL: u64 = 64 << 10;
/// Poll interval for cancellation while waiting.
const LOOK: Duration = Duration::from_millis(20);

/// Cancellation flag and number of bytes fetched; shared with the threads that watch the load.
#[derive(Debug, Default)]
pub struct FetchState {
    pub stopped: AtomicBool,
    pub fetched: AtomicU64,
}

/// A remote object as a file.
pub struct RemoteFile {
    wire: Arc<RemoteClient>,
    object: Object,
    shared: Arc<Shared>,
    watch: Arc<FetchState>,
    /// Reason why the source is not queried.
    offline: Option<Fault>,
    fetches: Mutex<Vec<PartFetch>>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    watch: Arc<FetchState>,
}

struct State {
    kept: ObjectParts,
    coming: Vec<Range<u64>>,
    fault: Option<Fault>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.locked()
    }
}

impl ByteSink for Shared {
    fn take(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.watch
            .fetched
            .fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.lock().kept.take(at, bytes)
    }

    fn end(&self, range: Range<u64>, outcome: Result<(), Fault>) {
        let mut state = self.lock();
        state.kept.end(&range);
        state.coming.retain(|coming| *coming != range);
        if let Err(fault) = outcome {
            state.fault.get_or_insert(fault);
        }
        drop(state);
        self.changed.notify_all();
    }
}

impl RemoteFile {
    /// Opens the object with its parts on disk; no request is sent yet.
    pub fn open(
        wire: &Arc<RemoteClient>,
        cache: Option<&Path>,
        object: &Object,
        watch: Arc<FetchState>,
        offline: Option<Fault>,
    ) -> io::Result<Arc<Self>> {
        let state = State {
            kept: ObjectParts::open(cache, object)?,
            coming: Vec::new(),
            fault: None,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
            watch: Arc::clone(&watch),
        });
        Ok(Arc::new(Self {
            wire: Arc::clone(wire),
            object: object.clone(),
            shared,
            watch,
            offline,
            fetches: Mutex::default(),
        }))
    }

    /// Prefetches the ranges that a reader reads first.
    pub fn prefetch(&self) {
        let end = self.object.bytes;
        if end <= SMALL {
            self.ahead(std::slice::from_ref(&(0..end)));
        } else {
            self.ahead(&[0..8, end - TAIL..end]);
        }
    }

    /// Prefetches the end only, where Parquet has its footer.
    pub fn prefetch_end(&self) {
        self.ahead(std::slice::from_ref(
            &(self.object.bytes.saturating_sub(TAIL)..self.object.bytes),
        ));
    }

    /// Fault that prevented a fetch, if any.
    pub fn fault(&self) -> Option<Fault> {
        if self.watch.stopped.load(Ordering::Acquire) {
            return Some(Fault::Stopped);
        }
        self.shared.lock().fault.clone()
    }

    /// Requests the ranges that are neither on disk nor being fetched.
    fn request(&self, ranges: &[Range<u64>]) -> Result<(), Fault> {
        for range in joined(ranges, self.object.bytes) {
            let mut begun = Vec::new();
            {
                let mut state = self.shared.lock();
                for gap in state.kept.missing(&range) {
                    if let Some(fault) = &self.offline {
                        return Err(fault.clone());
                    }
                    for gap in gaps(&state.coming, &gap) {
                        let mut at = gap.start;
                        while at < gap.end {
                            let part = at..gap.end.min(at + PART);
                            at = part.end;
                            state.coming.push(part.clone());
                            state.kept.begin(part.clone());
                            begun.push(part);
                        }
                    }
                }
            }
            for part in begun {
                let sink: Arc<dyn ByteSink> = Arc::clone(&self.shared) as _;
                let fetch = self.wire.fetch(&self.object, part, sink)?;
                self.fetches.locked().push(fetch);
            }
        }
        Ok(())
    }
}

/// Sorts the ranges and joins close ones.
fn joined(ranges: &[Range<u64>], bytes: u64) -> Vec<Range<u64>> {
    let mut sorted: Vec<_> = ranges
        .iter()
        .filter(|range| range.start < range.end && range.end <= bytes)
        .cloned()
        .collect();
    sorted.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in sorted {
        match joined.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(GAP) => {
                last.end = last.end.max(range.end);
            }
            _ => joined.push(range),
        }
    }
    joined
}

impl Drop for RemoteFile {
    fn drop(&mut self) {
        self.fetches
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        // The bytes received of unfinished ranges are kept.
        let mut state = self.shared.lock();
        for range in std::mem::take(&mut state.coming) {
            state.kept.end(&range);
        }
    }
}

impl ReadAt for RemoteFile {
    fn bytes(&self) -> io::Result<u64> {
        Ok(self.object.bytes)
    }

    fn read_exact_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        let range = at..at
            .checked_add(buffer.len() as u64)
            .filter(|end| *end <= self.object.bytes)
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        let fail = |fault: &Fault| io::Error::other(fault.to_string());
        loop {
            if self.watch.stopped.load(Ordering::Acquire) {
                return Err(fail(&Fault::Stopped));
            }
            self.request(std::slice::from_ref(&range))
                .map_err(|fault| {
                    self.shared
                        .lock()
                        .fault
                        .get_or_insert_with(|| fault.clone());
                    fail(&fault)
                })?;
            let state = self.shared.lock();
            if state.kept.missing(&range).is_empty() {
                return state.kept.read(buffer, at);
            }
            if let Some(fault) = &state.fault {
                return Err(fail(fault));
            }
            drop(self.shared.changed.wait_timeout(state, LOOK));
        }
    }

    fn ahead(&self, ranges: &[Range<u64>]) {
        if self.offline.is_some() {
            return;
        }
        // A failure is reported when the range is read.
        self.request(ranges).ok();
    }
}

#[cfg(test)]
#[allow(
    clippy::single_range_in_vec_init,
    reason = "a list of ranges may have one"
)]
mod tests {
    use super::*;

    #[test]
    fn close_ranges_are_one_request() {
        assert_eq!(joined(&[10..20, 0..5, 30..30, 90..101], 100), [0..20]);
        assert_eq!(
            joined(&[0..1, 2 * GAP..2 * GAP + 1], 1 << 30),
            [0..1, 2 * GAP..2 * GAP + 1]
        );
    }
}
