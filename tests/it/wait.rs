//! Waiting for asynchronous events: polls until the condition holds, and fails by name on timeout. Absence can only be shown over time:
//! `stays` polls for slightly longer than the unwanted event would take.

use std::{
    thread,
    time::{Duration, Instant},
};

/// Timeout for anything on a busy machine; reached on failure only.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// Polling interval.
const PAUSE: Duration = Duration::from_millis(3);

/// Polls until `look` returns a value.
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "never: {what}");
        thread::sleep(PAUSE);
    }
}

/// Polls until the condition holds.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    wait_for(what, || holds().then_some(()));
}

/// Asserts that the condition holds for the whole time.
pub(crate) fn stays(what: &str, time: Duration, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    loop {
        let over = begun.elapsed() >= time;
        assert!(holds(), "not for long: {what}");
        if over {
            return;
        }
        thread::sleep(PAUSE);
    }
}
