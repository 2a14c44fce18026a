//! Waiting for what comes by itself: it is looked for again and again until it is there, and what never comes fails the test by name.
//! An absence shows in time alone: `stays` looks all the while, and its time is just longer than what must not come would take.

use std::{
    thread,
    time::{Duration, Instant},
};

/// How long anything may take on a machine that has much else to do; reached by a failure alone.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(3);

/// Waits until `look` finds it.
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

/// Waits until it holds.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    wait_for(what, || holds().then_some(()));
}

/// Holds that it stays so for the time.
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
