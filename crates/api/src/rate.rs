//! The rate limiter: a token bucket per accepted key, so that buckets never outnumber keys. Off unless configured.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::Mutex,
    time::Instant,
};

use model::{
    error::{Code, Problem, Result},
    locks::Locked as _,
};

#[derive(Debug)]
pub(super) struct Rate {
    /// Refill rate in requests per second, and the bucket size.
    per_second: u32,
    hasher: RandomState,
    /// By hash of the key, so that the key itself is not kept.
    buckets: Mutex<HashMap<u64, Bucket>>,
}

#[derive(Debug)]
struct Bucket {
    left: f64,
    filled: Instant,
}

impl Rate {
    pub(super) fn new(per_second: u32) -> Self {
        Self {
            per_second: per_second.max(1),
            hasher: RandomState::new(),
            buckets: Mutex::default(),
        }
    }

    /// Takes one token from the key's bucket. Errors: the bucket is empty.
    pub(super) fn take(&self, key: &[u8], now: Instant) -> Result<()> {
        let most = f64::from(self.per_second);
        let mut buckets = self.buckets.locked();
        let bucket = buckets.entry(self.hasher.hash_one(key)).or_insert(Bucket {
            left: most,
            filled: now,
        });
        bucket.left = (bucket.left
            + now.saturating_duration_since(bucket.filled).as_secs_f64() * most)
            .min(most);
        bucket.filled = now;
        if bucket.left < 1.0 {
            return Err(Problem::new(
                Code::TooManyRequests,
                format!(
                    "Rate limit exceeded ({} requests per second). Retry in one second.",
                    self.per_second
                ),
            ));
        }
        bucket.left -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_key_has_a_bucket_that_refills() {
        let (rate, now) = (Rate::new(3), Instant::now());
        assert_eq!(
            [(); 5].map(|()| rate.take(b"a", now).is_ok()),
            [true, true, true, false, false]
        );
        assert!(rate.take(b"b", now).is_ok());
        assert!(rate.take(b"a", now + Duration::from_millis(340)).is_ok());
        assert!(rate.take(b"a", now + Duration::from_millis(340)).is_err());
        assert!(
            rate.take(b"a", now + Duration::from_millis(540)).is_err(),
            "a fraction of a request is not enough"
        );
        assert_eq!(
            [(); 4].map(|()| rate.take(b"a", now + Duration::from_mins(1)).is_ok()),
            [true, true, true, false]
        );
    }
}
