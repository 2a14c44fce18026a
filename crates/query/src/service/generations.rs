//! The generations before the current one that are still answered from, so that several answers agree although the data were read again
//! between them. How many and how long is bounded; the clock is passed in.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use super::QueryService;
use crate::queries::snapshot::Snapshot;
use model::{
    error::{Code, Problem, Result},
    locks::Locked as _,
};

/// How long one is kept after the next has come.
const RETAIN_AFTER_REPLACED: Duration = Duration::from_mins(1);
/// How long one is kept after it was last asked for.
const ASKED_FOR: Duration = Duration::from_mins(5);
/// How many are kept. The last one always is.
const KEPT: usize = 3;
/// Numbers that are remembered with the digest of their data, which may still be the current ones.
const DIGESTS: usize = 1_000;

#[derive(Debug, Default)]
pub(super) struct SnapshotRetention {
    /// The oldest first.
    kept: Vec<Kept>,
    /// Which data a number stood for, the oldest first.
    digests: VecDeque<(u64, [u8; 32])>,
    /// When the current one was last asked for by its number.
    asked: Option<(u64, Instant)>,
    /// Whether a thread forgets what is due.
    is_forgetting: bool,
}

#[derive(Debug)]
struct Kept {
    snapshot: Arc<Snapshot>,
    until: Instant,
}

impl SnapshotRetention {
    /// Keeps the one that another has replaced.
    fn keep(&mut self, snapshot: Arc<Snapshot>, now: Instant) {
        let asked = self
            .asked
            .take()
            .filter(|(number, _)| *number == snapshot.number)
            .map(|(_, when)| when + ASKED_FOR);
        self.digests
            .push_back((snapshot.number, *snapshot.digest()));
        self.digests
            .drain(..self.digests.len().saturating_sub(DIGESTS));
        // One that lacks a table answers nothing that the next does not.
        if snapshot.dataset.importing.is_empty() {
            self.kept.push(Kept {
                snapshot,
                until: asked.map_or(now + RETAIN_AFTER_REPLACED, |asked| {
                    asked.max(now + RETAIN_AFTER_REPLACED)
                }),
            });
        }
        self.forget(now);
        while self.kept.len() > KEPT {
            let others = self.kept[..KEPT].iter().enumerate();
            let Some((least, _)) = others.min_by_key(|(_, kept)| kept.until) else {
                return;
            };
            self.kept.remove(least);
        }
    }

    /// The one with this number, if it is kept; it then is for longer.
    fn asked(&mut self, number: u64, now: Instant) -> Option<Arc<Snapshot>> {
        self.forget(now);
        let kept = self
            .kept
            .iter_mut()
            .find(|kept| kept.snapshot.number == number)?;
        kept.until = kept.until.max(now + ASKED_FOR);
        Some(Arc::clone(&kept.snapshot))
    }

    fn forget(&mut self, now: Instant) {
        self.kept.retain(|kept| kept.until > now);
    }

    /// When the next is to be forgotten.
    fn due(&self) -> Option<Instant> {
        self.kept.iter().map(|kept| kept.until).min()
    }
}

impl QueryService {
    /// The snapshot with this number: the current one, a retained one, or the current one if its data is the same. Errors: it has expired.
    pub fn generation(&self, number: u64) -> Result<Arc<Snapshot>> {
        let (current, now) = (self.snapshot()?, Instant::now());
        let mut before = self.before.locked();
        if current.number == number {
            before.asked = Some((number, now));
            return Ok(current);
        }
        let is_same = |before: &SnapshotRetention| {
            before
                .digests
                .iter()
                .any(|known| *known == (number, *current.digest()))
        };
        if let Some(kept) = before.asked(number, now) {
            return Ok(kept);
        }
        if is_same(&before) {
            return Ok(current);
        }
        let detail = format!(
            "Snapshot {number} has expired, and the current snapshot, {}, has different data. Start again with the current one.",
            current.number
        );
        Err(Problem::new(Code::GenerationGone, detail))
    }

    /// Whether queries of this generation are still answered: it is the current one, or kept.
    pub(super) fn answers_from(&self, generation: u64) -> bool {
        self.snapshot()
            .is_ok_and(|current| current.generation == generation)
            || self
                .before
                .locked()
                .kept
                .iter()
                .any(|kept| kept.snapshot.generation == generation)
    }

    /// Keeps the generation that another has replaced, until it is due.
    pub(super) fn keep(&self, before: Option<Arc<Snapshot>>) {
        let Some(before) = before else { return };
        let mut generations = self.before.locked();
        generations.keep(before, Instant::now());
        let starts = !std::mem::replace(&mut generations.is_forgetting, true);
        drop(generations);
        self.forget_answers();
        if starts {
            let service = self.this.clone();
            let forget = move || {
                while let Some(due) = service.upgrade().and_then(|service| service.drop_expired()) {
                    std::thread::sleep(due.saturating_duration_since(Instant::now()));
                }
            };
            if std::thread::Builder::new()
                .name("forget".into())
                .spawn(forget)
                .is_err()
            {
                // Then at the next reload.
                self.before.locked().is_forgetting = false;
            }
        }
    }

    /// Forgets what is due; returns when the next is. `None` ends the thread that asks.
    fn drop_expired(&self) -> Option<Instant> {
        let mut before = self.before.locked();
        let kept = before.kept.len();
        before.forget(Instant::now());
        let (due, forgotten) = (before.due(), before.kept.len() < kept);
        before.is_forgetting = due.is_some();
        drop(before);
        if forgotten {
            self.forget_answers();
            table::trim_heap();
        }
        due
    }

    /// Drops the results and point-in-time services of expired snapshots.
    fn forget_answers(&self) {
        let past = self.forget_as_of();
        self.memo
            .retain(|key, _| past.contains(&key.0) || self.answers_from(key.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queries::snapshot::AnswerSettings;
    use load::sample;

    fn snapshot(generation: u64) -> Arc<Snapshot> {
        let token = format!("token_address,symbol,name,chain\n0x{generation},A,A,eth");
        Arc::new(Snapshot::new(
            generation,
            sample::dataset(&[("tokens", &token)]),
            AnswerSettings::default(),
        ))
    }

    fn numbers(generations: &SnapshotRetention) -> Vec<u64> {
        generations
            .kept
            .iter()
            .map(|kept| kept.snapshot.number)
            .collect()
    }

    #[test]
    fn the_last_one_is_kept_for_a_minute_and_longer_while_it_is_asked_for() {
        let (begun, mut generations) = (Instant::now(), SnapshotRetention::default());
        let at = |seconds: u64| begun + Duration::from_secs(seconds);
        generations.keep(snapshot(1), at(0));
        assert_eq!(generations.due(), Some(at(60)));
        assert!(generations.asked(2, at(1)).is_none(), "that is another");
        generations.forget(at(59));
        assert_eq!(numbers(&generations), [1]);
        generations.forget(at(60));
        assert_eq!((numbers(&generations).len(), generations.due()), (0, None));
        assert!(generations.asked(1, at(60)).is_none());
        generations.keep(snapshot(2), at(100));
        assert!(generations.asked(2, at(159)).is_some());
        assert!(generations.asked(2, at(159 + 299)).is_some());
        assert!(generations.asked(2, at(159 + 299 + 300)).is_none());
        // One that was asked for while it was the current one is in use.
        generations.asked = Some((3, at(1_000)));
        generations.keep(snapshot(3), at(1_010));
        assert_eq!(
            (generations.due(), generations.asked),
            (Some(at(1_300)), None)
        );
        generations.asked = Some((3, at(1_010)));
        generations.keep(snapshot(4), at(1_020));
        assert_eq!(
            generations.due(),
            Some(at(1_080)),
            "another one was asked for"
        );
    }

    #[test]
    fn few_are_kept_and_those_in_use_first() {
        let (now, mut generations) = (Instant::now(), SnapshotRetention::default());
        for generation in 1..=50 {
            generations.keep(snapshot(generation), now);
            assert!(generations.kept.len() <= KEPT);
            if generation == 7 {
                assert!(generations.asked(7, now).is_some());
            }
        }
        assert_eq!(numbers(&generations), [7, 49, 50]);
        for generation in [49, 50] {
            assert!(generations.asked(generation, now).is_some());
        }
        generations.keep(snapshot(51), now);
        assert!(
            numbers(&generations).contains(&51),
            "the last one is kept although all others are in use: {:?}",
            numbers(&generations)
        );
        for generation in 52..2_000 {
            generations.digests.push_back((generation, [0; 32]));
        }
        generations.keep(snapshot(2_000), now);
        assert_eq!(generations.digests.len(), DIGESTS);
    }
}
