//! The system clock. Analyses and queries are passed the time and never read it here.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::time::Time;

pub fn now() -> Time {
    Time(
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_millis() as i64),
    )
}
