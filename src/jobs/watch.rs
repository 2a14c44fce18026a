//! Checks the alerts of the dataset with each generation of its data, and announces those that fired. Every program does so for its own
//! dataset; where several have the same one, the store takes the check of the first.

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use super::{
    alert::AlertBody,
    alerts::{HOLDING_MAX, dataset, held, symbol},
    store::{AlertCheck, StoredAlert},
    worker::Shared,
};
use crate::{
    dataset::{address::Address, wall_clock::now},
    deck::DeckEvent,
    error::{Code, Result},
    question::{progress::Progress, search::holding::MatchedTokens, snapshot::Snapshot},
};

/// The wait after a failure that may pass; it doubles with each further failure.
const RETRY: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_mins(1);
/// Alerts that are read from the store together.
const AT_ONCE: usize = 32;

/// What the thread that checks the alerts remembers.
#[derive(Debug, Default)]
pub(super) struct AlertWatch {
    generation: u64,
    /// The alerts that some program checked in these data. They are not checked in them again, also after another program checked them
    /// in other data: else the two would take turns, and the same firing would come again.
    checked: HashSet<String>,
    /// The last firing that was announced, by dataset.
    announced: HashMap<String, u64>,
    /// Failures in a row, and when it is tried again.
    failed: u32,
    again: Option<Instant>,
}

impl AlertWatch {
    /// One round: checks the alerts where the generation is new, or where the wait after a failure is over; and announces firings,
    /// whichever program found them.
    pub(super) fn turn(&mut self, shared: &Shared, progress: &Progress) {
        let Ok(snapshot) = shared.deck.whole_snapshot() else { return };
        if snapshot.generation != self.generation {
            *self = Self { generation: snapshot.generation, announced: std::mem::take(&mut self.announced), ..Self::default() };
        }
        // Not while the next generation loads, which is checked then.
        let waits = shared.deck.is_loading() || self.again.is_some_and(|again| Instant::now() < again);
        let checked = (!waits).then(|| self.check_alerts(shared, &snapshot, progress));
        let announced = self.announce_fired(shared, &dataset(&snapshot.dataset.folder));
        let Some(all) = checked else { return };
        if all == Ok(true) && announced.is_ok() {
            (self.failed, self.again) = (0, None);
        } else {
            if let (Some(problem), 0) = (all.err().or(announced.err()), self.failed) {
                shared.deck.tell(DeckEvent::Said(format!("alerts cannot be checked: {}", problem.detail)));
            }
            self.again = Some(Instant::now() + pause(self.failed));
            self.failed = self.failed.saturating_add(1);
        }
    }

    /// Checks every alert that is due; false where one has to be tried again. It fails where the store does.
    fn check_alerts(&mut self, shared: &Shared, snapshot: &Snapshot, progress: &Progress) -> Result<bool> {
        let alerts = shared.store.alerts_checked_in(&dataset(&snapshot.dataset.folder), snapshot.digest())?;
        let (checked, due): (Vec<_>, Vec<_>) = alerts.into_iter().partition(|(_, checked)| *checked);
        self.checked.extend(checked.into_iter().map(|(id, _)| id));
        let due: Vec<String> = due.into_iter().map(|(id, _)| id).filter(|id| !self.checked.contains(id)).collect();
        let mut all = true;
        for some in due.chunks(AT_ONCE) {
            let watched = some.iter().filter_map(|id| shared.store.stored_alert(id).transpose()).collect::<Result<Vec<_>>>()?;
            // Another program may have loaded newer files and checked the alerts in them. While the files are still ours, no such check
            // came before the alerts were read here, and the store refuses ours if one comes after.
            if !shared.deck.is_current(snapshot) {
                return Ok(false);
            }
            for watched in watched {
                if progress.cancelled() {
                    return Ok(false);
                }
                if check(shared, snapshot, &watched, progress)? {
                    self.checked.insert(watched.id);
                } else {
                    all = false;
                }
            }
        }
        Ok(all)
    }

    /// Announces that there are firings since the last one announced, whichever program found them.
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

/// Checks one alert; false where it has to be tried again with the same data.
fn check(shared: &Shared, snapshot: &Snapshot, watched: &StoredAlert, progress: &Progress) -> Result<bool> {
    let wish = AlertBody { token_address: watched.token, condition: watched.condition.clone() };
    match held(&shared.deck, snapshot, &wish, &progress.quiet()) {
        Ok(held) => shared.store.keep_check(watched, &compare(snapshot, watched, &held)),
        Err(problem) if problem.code == Code::Cancelled => Ok(false),
        // An alert that cannot be checked has not stopped holding.
        Err(problem) => {
            let may_pass = matches!(problem.code, Code::Busy | Code::Loading | Code::SourceUnavailable);
            shared.store.keep_failed_check(&watched.id, &problem.detail, (!may_pass).then(|| snapshot.digest()), now())?;
            Ok(!may_pass)
        }
    }
}

/// The outcome of a check: it fires for the tokens that meet the condition now and did not before. A token that is gone from the data,
/// or has no value for the condition, has not stopped meeting it.
fn compare(snapshot: &Snapshot, watched: &StoredAlert, found: &MatchedTokens) -> AlertCheck {
    let before: HashSet<&Address> = watched.held.iter().collect();
    let (holds, unknown): (HashSet<&Address>, HashSet<&Address>) = (found.holds.iter().collect(), found.unknown.iter().collect());
    let fired = found.holds.iter().filter(|token| !before.contains(token)).map(|token| (*token, symbol(snapshot, token))).collect();
    let stays = |token: &&Address| !holds.contains(token) && (unknown.contains(token) || snapshot.dataset.token(token).is_none());
    // Those that are gone longest are last in the list, and are cut off first.
    let rest = watched.held.iter().filter(stays).take(HOLDING_MAX);
    let held = found.holds.iter().chain(rest).copied().collect();
    AlertCheck { held, holds: found.holds.len(), fired, digest: *snapshot.digest(), at: now() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{dataset::sample, question::snapshot::AnswerSettings};

    #[test]
    fn a_token_that_is_gone_or_has_no_value_has_not_stopped_holding() {
        let dataset = sample::dataset(&[("tokens", "token_address,symbol,name,chain,price\n0x1,A,A,eth,3\n0x2,B,B,eth,30\n0x3,C,C,eth,")]);
        let snapshot = Snapshot::new(1, dataset, AnswerSettings::default());
        let tokens = |short: &[&str]| -> Vec<Address> { short.iter().map(|short| sample::address(short)).collect() };
        let held = tokens(&["0x1", "0x3", "0x9"]);
        let watched =
            StoredAlert { id: String::new(), dataset: String::new(), token: None, condition: String::new(), held, digest: Vec::new() };
        let checked = compare(&snapshot, &watched, &MatchedTokens { holds: tokens(&["0x2"]), unknown: tokens(&["0x3"]) });
        assert_eq!(checked.held, tokens(&["0x2", "0x3", "0x9"]), "0x1 stopped");
        assert_eq!((checked.holds, checked.fired), (1, vec![(sample::address("0x2"), Some("B".to_owned()))]));
        let gone: Vec<Address> = (0..=HOLDING_MAX as u64).map(|i| sample::address(&format!("0xa{i:x}"))).collect();
        let checked = compare(&snapshot, &StoredAlert { held: gone, ..watched }, &MatchedTokens::default());
        assert_eq!((checked.held.len(), checked.holds), (HOLDING_MAX, 0));
    }

    #[test]
    fn the_wait_doubles_with_each_failure_up_to_a_minute() {
        let pauses: Vec<u64> = [0, 1, 2, 5, 6, 9, u32::MAX].into_iter().map(|failed| pause(failed).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 32, 60, 60, 60]);
    }
}
