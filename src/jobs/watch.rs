//! Looks at the alerts of the dataset with each generation, and says that some fired. Every program does it for its own dataset: the
//! store sees to it that of several on the same one only the first finds that something fired.

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use super::{
    alerts::{AlertBody, HOLDING_MAX, dataset, held, symbol},
    store::{Checked, Watched},
    worker::Shared,
};
use crate::{
    dataset::{address::Address, wall_clock::now},
    deck::DeckEvent,
    error::{Code, Problem, Result},
    question::{progress::Progress, search::holding::MatchedTokens, snapshot::Snapshot},
};

/// After something failed that may pass; twice as long after each further time.
const RETRY: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_mins(1);
/// Alerts whose state is read at once.
const AT_ONCE: usize = 32;

/// What the thread that looks at the alerts remembers.
#[derive(Debug, Default)]
pub(super) struct AlertWatch {
    generation: u64,
    /// The alerts that were looked at in these data, by whomever. When another program looks at them in other data after that, this
    /// one lets it be: else the two would go back and forth, and what fired would fire again.
    looked_at: HashSet<String>,
    /// The last firing that was published, by dataset.
    announced: HashMap<String, u64>,
    /// How often it failed in a row, and when it is tried again.
    failed: u32,
    again: Option<Instant>,
}

impl AlertWatch {
    /// One round: what fired is told at once, whoever found it; alerts are looked at once with a new generation, and after failures only
    /// from time to time.
    pub(super) fn turn(&mut self, shared: &Shared, progress: &Progress) {
        let Ok(snapshot) = shared.deck.whole_snapshot() else { return };
        if snapshot.generation != self.generation {
            *self = Self { generation: snapshot.generation, announced: std::mem::take(&mut self.announced), ..Self::default() };
        }
        // What comes is looked at then.
        let waits = shared.deck.is_loading() || self.again.is_some_and(|again| Instant::now() < again);
        let checked = (!waits).then(|| self.check_alerts(shared, &snapshot, progress));
        let announced = self.announce_fired(shared, &dataset(&snapshot.dataset.folder));
        let Some(all) = checked else { return };
        if all == Ok(true) && announced.is_ok() {
            (self.failed, self.again) = (0, None);
        } else {
            if let (Some(problem), 0) = (all.err().or(announced.err()), self.failed) {
                shared.deck.tell(DeckEvent::Said(format!("alerts cannot be looked at: {}", problem.detail)));
            }
            self.again = Some(Instant::now() + pause(self.failed));
            self.failed = self.failed.saturating_add(1);
        }
    }

    /// Looks at every alert that is due; false where one has to be tried again. It fails where the store does.
    fn check_alerts(&mut self, shared: &Shared, snapshot: &Snapshot, progress: &Progress) -> Result<bool> {
        let (looked_at, due): (Vec<_>, Vec<_>) = shared
            .store
            .looked_at(&dataset(&snapshot.dataset.folder), snapshot.digest())?
            .into_iter()
            .partition(|(_, looked_at)| *looked_at);
        self.looked_at.extend(looked_at.into_iter().map(|(id, _)| id));
        let due: Vec<String> = due.into_iter().map(|(id, _)| id).filter(|id| !self.looked_at.contains(id)).collect();
        let mut all = true;
        for some in due.chunks(AT_ONCE) {
            let watched = some.iter().filter_map(|id| shared.store.watched(id).transpose()).collect::<Result<Vec<_>>>()?;
            // Files that say something else by now may have been read, and looked at, by another program. As they do not, what was read
            // from the store is older than any such look, and the store refuses what comes after one.
            if !shared.deck.is_current(snapshot) {
                return Ok(false);
            }
            for watched in watched {
                if progress.cancelled() {
                    return Ok(false);
                }
                if check(shared, snapshot, &watched, progress)? {
                    self.looked_at.insert(watched.id);
                } else {
                    all = false;
                }
            }
        }
        Ok(all)
    }

    /// Publishes every firing since the last one published, whichever program found it.
    fn announce_fired(&mut self, shared: &Shared, dataset: &str) -> Result<()> {
        let last = shared.store.last_fired(dataset)?;
        let before = match self.announced.get(dataset) {
            Some(before) => *before,
            None => shared.told_before(dataset)?,
        };
        if last > before {
            shared.deck.tell(DeckEvent::AlertsFired);
        }
        self.announced.insert(dataset.to_owned(), last);
        Ok(())
    }
}

fn pause(failed: u32) -> Duration {
    RETRY.saturating_mul(1 << failed.min(8)).min(RETRY_MAX)
}

/// False where it has to be tried again with the same data.
fn check(shared: &Shared, snapshot: &Snapshot, watched: &Watched, progress: &Progress) -> Result<bool> {
    let wish = AlertBody { token_address: watched.token, condition: watched.condition.clone() };
    match held(&shared.deck, snapshot, &wish, &progress.quiet()) {
        Ok(held) => shared.store.checked(watched, &compare(snapshot, watched, &held)),
        Err(problem) if problem.code == Code::Cancelled => Ok(false),
        // What cannot be looked at has not stopped holding.
        Err(problem) => {
            let for_now = passes(&problem);
            shared.store.not_checked(&watched.id, &problem.detail, (!for_now).then(|| snapshot.digest()), now())?;
            Ok(!for_now)
        }
    }
}

/// Whether the same question may be answered in a moment.
fn passes(problem: &Problem) -> bool {
    matches!(problem.code, Code::Busy | Code::Loading | Code::SourceUnavailable)
}

/// What fired: what holds now and did not before. A token that went, or of which it is not known, has not stopped holding.
fn compare(snapshot: &Snapshot, watched: &Watched, found: &MatchedTokens) -> Checked {
    let before: HashSet<&Address> = watched.held.iter().collect();
    let (holds, unknown): (HashSet<&Address>, HashSet<&Address>) = (found.holds.iter().collect(), found.unknown.iter().collect());
    let fired = found.holds.iter().filter(|token| !before.contains(token)).map(|token| (*token, symbol(snapshot, token))).collect();
    let stays = |token: &&Address| !holds.contains(token) && (unknown.contains(token) || snapshot.dataset.token(token).is_none());
    // Those that went longest ago stand last, and go first.
    let rest = watched.held.iter().filter(stays).take(HOLDING_MAX);
    let held = found.holds.iter().chain(rest).copied().collect();
    Checked { held, holds: found.holds.len(), fired, digest: *snapshot.digest(), at: now() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{dataset::sample, question::snapshot::AnswerSettings};

    #[test]
    fn who_went_or_is_unknown_has_not_stopped_holding() {
        let dataset = sample::dataset(&[("tokens", "token_address,symbol,name,chain,price\n0x1,A,A,eth,3\n0x2,B,B,eth,30\n0x3,C,C,eth,")]);
        let snapshot = Snapshot::new(1, dataset, AnswerSettings::default());
        let tokens = |short: &[&str]| -> Vec<Address> { short.iter().map(|short| sample::address(short)).collect() };
        let held = tokens(&["0x1", "0x3", "0x9"]);
        let watched =
            Watched { id: String::new(), dataset: String::new(), token: None, condition: String::new(), held, digest: Vec::new() };
        let checked = compare(&snapshot, &watched, &MatchedTokens { holds: tokens(&["0x2"]), unknown: tokens(&["0x3"]) });
        assert_eq!(checked.held, tokens(&["0x2", "0x3", "0x9"]), "0x1 stopped");
        assert_eq!((checked.holds, checked.fired), (1, vec![(sample::address("0x2"), Some("B".to_owned()))]));
        let gone: Vec<Address> = (0..=HOLDING_MAX as u64).map(|i| sample::address(&format!("0xa{i:x}"))).collect();
        let checked = compare(&snapshot, &Watched { held: gone, ..watched }, &MatchedTokens::default());
        assert_eq!((checked.held.len(), checked.holds), (HOLDING_MAX, 0));
    }

    #[test]
    fn what_fails_is_tried_less_and_less_often() {
        let pauses: Vec<u64> = [0, 1, 2, 5, 6, 9, u32::MAX].into_iter().map(|failed| pause(failed).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 32, 60, 60, 60]);
    }
}
