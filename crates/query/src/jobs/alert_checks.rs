//! Evaluates the dataset's alerts on each generation of its data, and announces firings. Every process does so for its own dataset; if
//! several share one, the store accepts the first check.

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use super::{
    alert::FiredAlert,
    alerts::{HOLDING_MAX, dataset, matched_tokens, symbol},
    notifications::AlertMessage,
    store::{AlertCheck, StoredAlert},
    worker::Shared,
};
use crate::{
    queries::{
        alert_body::AlertBody,
        caches::RecordCount,
        parameter::clip,
        snapshot::Snapshot,
        tokens::{
            alert_rule::AlertRule,
            condition::{self, ConditionFigure, MatchedTokens},
        },
    },
    service::ServiceEvent,
};
use model::{
    address::Address,
    error::{Code, Result},
    progress::Progress,
    wall_clock::now,
};

/// Exponential backoff after a transient failure: first and longest wait.
const RETRY: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_mins(1);
/// Alerts read from the store at a time.
const AT_ONCE: usize = 32;

/// State of the alert thread.
#[derive(Debug, Default)]
pub(super) struct AlertWatch {
    generation: u64,
    /// How often the record of all tokens was published when the alerts were checked.
    records: u64,
    /// Alerts already checked on these data by any process. They are not checked on them again, even after another process checked them on
    /// other data: else the two would alternate, and the same firing would recur.
    checked: HashSet<String>,
    /// Last announced firing, by dataset.
    announced: HashMap<String, u64>,
    /// Consecutive failures, and the time of the next attempt.
    failed: u32,
    again: Option<Instant>,
}

impl AlertWatch {
    /// One round: checks the alerts if the generation is new or the backoff has elapsed, and announces firings found by any process.
    pub(super) fn run_round(&mut self, shared: &Shared, progress: &Progress) {
        let Ok(snapshot) = shared.service.complete_snapshot() else {
            return;
        };
        if snapshot.generation != self.generation {
            let records = snapshot.track_records.version();
            *self = Self {
                generation: snapshot.generation,
                records,
                announced: std::mem::take(&mut self.announced),
                ..Self::default()
            };
        }
        // Not while the next generation loads, which is checked then.
        let waits =
            shared.service.is_loading() || self.again.is_some_and(|again| Instant::now() < again);
        let checked = (!waits).then(|| {
            self.take_record(shared, &snapshot, progress)?;
            self.check_alerts(shared, &snapshot, progress)
        });
        let announced = self.announce_fired(shared, &dataset(&snapshot.dataset.folder));
        let Some(all) = checked else { return };
        if all == Ok(true) && announced.is_ok() {
            (self.failed, self.again) = (0, None);
        } else {
            if let (Some(problem), 0) = (all.err().or(announced.err()), self.failed) {
                shared.service.notify(ServiceEvent::Notice(format!(
                    "cannot check alerts: {}",
                    problem.detail
                )));
            }
            self.again = Some(Instant::now() + pause(self.failed));
            self.failed = self.failed.saturating_add(1);
        }
    }

    /// After a track record was published, other tokens may match a condition on advice, although the data is the same: the previous
    /// matches are replaced, and nothing fires. Errors: those of the store.
    fn take_record(
        &mut self,
        shared: &Shared,
        snapshot: &Snapshot,
        progress: &Progress,
    ) -> Result<()> {
        let records = snapshot.track_records.version();
        if records == self.records {
            return Ok(());
        }
        for id in &self.checked {
            let Some(watched) = shared.store.stored_alert(id)? else {
                continue;
            };
            if condition::is_weighed(&watched.condition, snapshot) {
                check(shared, snapshot, &watched, Fires::Never, progress)?;
            }
        }
        self.records = records;
        Ok(())
    }

    /// Checks every due alert; false if one must be retried. Errors: those of the store.
    fn check_alerts(
        &mut self,
        shared: &Shared,
        snapshot: &Snapshot,
        progress: &Progress,
    ) -> Result<bool> {
        let alerts = shared
            .store
            .alerts_checked_in(&dataset(&snapshot.dataset.folder), snapshot.digest())?;
        let (checked, due): (Vec<_>, Vec<_>) =
            alerts.into_iter().partition(|(_, checked)| *checked);
        self.checked.extend(checked.into_iter().map(|(id, _)| id));
        let due: Vec<String> = due
            .into_iter()
            .map(|(id, _)| id)
            .filter(|id| !self.checked.contains(id))
            .collect();
        let mut all = true;
        for some in due.chunks(AT_ONCE) {
            let watched = some
                .iter()
                .filter_map(|id| shared.store.stored_alert(id).transpose())
                .collect::<super::store::StoreResult<Vec<_>>>()?;
            // Another process may have loaded newer files and checked the alerts on them. While the files are still ours, no such check
            // preceded our reading of the alerts, and the store rejects ours if one follows.
            if !shared.service.is_current(snapshot) {
                return Ok(false);
            }
            for watched in watched {
                if progress.cancelled() {
                    return Ok(false);
                }
                if check(shared, snapshot, &watched, Fires::OnChange, progress)? {
                    self.checked.insert(watched.id);
                } else {
                    all = false;
                }
            }
        }
        Ok(all)
    }

    /// Announces firings newer than the last announced one, found by any process.
    fn announce_fired(&mut self, shared: &Shared, dataset: &str) -> Result<()> {
        let last = shared.store.last_fired(dataset)?;
        let before = match self.announced.get(dataset) {
            Some(before) => *before,
            None => shared.delivered_before_start(dataset)?,
        };
        if last > before {
            shared.service.notify(ServiceEvent::AlertsFired);
        }
        self.announced.insert(dataset.to_owned(), last);
        Ok(())
    }
}

fn pause(failed: u32) -> Duration {
    RETRY.saturating_mul(1 << failed.min(8)).min(RETRY_MAX)
}

/// Whether a check may fire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fires {
    OnChange,
    Never,
}

/// Checks one alert; false if it must be retried on the same data. One on advice waits for the record of all tokens, and its first check with
/// one says only which tokens meet the condition.
fn check(
    shared: &Shared,
    snapshot: &Snapshot,
    watched: &StoredAlert,
    fires: Fires,
    progress: &Progress,
) -> Result<bool> {
    let weighed = condition::is_weighed(&watched.condition, snapshot);
    let counted = if weighed {
        snapshot.track_records.want("1d")
    } else {
        RecordCount::default()
    };
    if weighed
        && counted.record.is_none()
        && counted.problem.is_none()
        && shared.service.options().counts_records
    {
        shared.service.count_wanted();
        return Ok(false);
    }
    let rule = AlertRule::read(&watched.condition).unwrap_or_default();
    if let Some(until) = rule.until.filter(|until| *until < now()) {
        let ended = format!("the alert ended on {}", until.day());
        shared
            .store
            .save_failed_check(&watched.id, &ended, Some(snapshot.digest()), now())?;
        return Ok(true);
    }
    let is_first = weighed && watched.digest.is_empty();
    let request = AlertBody {
        token_address: watched.token,
        condition: watched.condition.clone(),
    };
    let find = |relaxed| {
        let progress = progress.quiet();
        matched_tokens(&shared.service, snapshot, &request, relaxed, &progress)
    };
    let found = find(false).and_then(|matched| {
        let relaxed = rule.hysteresis.map(|_| find(true)).transpose()?;
        Ok((matched, relaxed))
    });
    match found {
        Ok((matched, relaxed)) => {
            let mut outcome = compare(snapshot, watched, &rule, &matched, relaxed.as_ref());
            if is_first || fires == Fires::Never {
                outcome.fired.clear();
            }
            let fired = shared.store.save_check(watched, &outcome)?;
            // Several programs may check the alert: the one whose check was kept tells it outside.
            fired
                .iter()
                .flatten()
                .for_each(|fired| tell_outside(shared, snapshot, fired, progress));
            Ok(fired.is_some())
        }
        Err(problem) if problem.code == Code::Cancelled => Ok(false),
        // An alert that cannot be checked keeps its state.
        Err(problem) => {
            let may_pass = matches!(
                problem.code,
                Code::Busy | Code::Loading | Code::SourceUnavailable
            );
            shared.store.save_failed_check(
                &watched.id,
                &problem.detail,
                (!may_pass).then(|| snapshot.digest()),
                now(),
            )?;
            Ok(!may_pass)
        }
    }
}

fn tell_outside(shared: &Shared, snapshot: &Snapshot, fired: &FiredAlert, progress: &Progress) {
    for messenger in &shared.messengers {
        messenger.offer(|| {
            let name = snapshot
                .dataset
                .token(&fired.token_address)
                .and_then(|token| token.row.name.as_deref().map(clip));
            let asked = ConditionFigure {
                condition: fired.condition.clone(),
                token: fired.token_address,
            };
            let find = || {
                shared
                    .service
                    .find_in(snapshot, &asked, &progress.quiet())
                    .ok()
                    .flatten()
            };
            AlertMessage {
                fired: fired.clone(),
                name,
                value: messenger.wants_value().then(find).flatten(),
            }
        });
    }
}

/// Computes the outcome of a check: it fires for tokens that newly meet the condition, and if the alert is about a crossing, for those that
/// meet it no more. A token missing from the data, or without a value for the condition, counts as unchanged, as does one that met the
/// condition and still meets the `relaxed` one.
fn compare(
    snapshot: &Snapshot,
    watched: &StoredAlert,
    rule: &AlertRule,
    found: &MatchedTokens,
    relaxed: Option<&MatchedTokens>,
) -> AlertCheck {
    let before: HashSet<&Address> = watched.held.iter().collect();
    let (holds, unknown): (HashSet<&Address>, HashSet<&Address>) =
        (found.holds.iter().collect(), found.unknown.iter().collect());
    let near: HashSet<&Address> = relaxed.map_or_else(HashSet::new, |relaxed| {
        relaxed.holds.iter().chain(&relaxed.unknown).collect()
    });
    let stays = |token: &&Address| {
        !holds.contains(token)
            && (near.contains(token)
                || unknown.contains(token)
                || snapshot.dataset.token(token).is_none())
    };
    let entered = found.holds.iter().filter(|token| !before.contains(token));
    let left = watched
        .held
        .iter()
        .filter(|token| rule.crosses && !holds.contains(token) && !stays(token));
    let fired = entered
        .chain(left)
        .map(|token| (*token, symbol(snapshot, token)))
        .collect();
    // The longest missing tokens are last in the list, and are cut off first.
    let rest = watched.held.iter().filter(stays).take(HOLDING_MAX);
    let held = found.holds.iter().chain(rest).copied().collect();
    AlertCheck {
        held,
        holds: found.holds.len(),
        fired,
        cooldown: rule.cooldown,
        digest: *snapshot.digest(),
        at: now(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queries::snapshot::AnswerSettings;
    use load::sample;

    #[test]
    fn a_token_that_is_gone_or_has_no_value_has_not_stopped_holding() {
        let dataset = sample::dataset(&[(
            "tokens",
            "token_address,symbol,name,chain,price\n0x1,A,A,eth,3\n0x2,B,B,eth,30\n0x3,C,C,eth,",
        )]);
        let snapshot = Snapshot::new(1, dataset, AnswerSettings::default());
        let tokens = |short: &[&str]| -> Vec<Address> {
            short.iter().map(|short| sample::address(short)).collect()
        };
        let held = tokens(&["0x1", "0x3", "0x9"]);
        let watched = StoredAlert {
            id: String::new(),
            dataset: String::new(),
            token: None,
            condition: String::new(),
            held,
            digest: Vec::new(),
        };
        let rule = AlertRule::default();
        let checked = compare(
            &snapshot,
            &watched,
            &rule,
            &MatchedTokens {
                holds: tokens(&["0x2"]),
                unknown: tokens(&["0x3"]),
            },
            None,
        );
        assert_eq!(checked.held, tokens(&["0x2", "0x3", "0x9"]), "0x1 stopped");
        assert_eq!(
            (checked.holds, checked.fired),
            (1, vec![(sample::address("0x2"), Some("B".to_owned()))])
        );
        let gone: Vec<Address> = (0..=HOLDING_MAX as u64)
            .map(|i| sample::address(&format!("0xa{i:x}")))
            .collect();
        let checked = compare(
            &snapshot,
            &StoredAlert {
                held: gone,
                ..watched
            },
            &rule,
            &MatchedTokens::default(),
            None,
        );
        assert_eq!((checked.held.len(), checked.holds), (HOLDING_MAX, 0));
    }

    #[test]
    fn hysteresis_keeps_a_token_and_a_crossing_fires_both_ways() {
        let dataset = sample::dataset(&[(
            "tokens",
            "token_address,symbol,name,chain,price\n0x1,A,A,eth,19.5",
        )]);
        let snapshot = Snapshot::new(1, dataset, AnswerSettings::default());
        let all = vec![sample::address("0x1")];
        let watched = StoredAlert {
            id: String::new(),
            dataset: String::new(),
            token: None,
            condition: String::new(),
            held: all.clone(),
            digest: Vec::new(),
        };
        let near = |holds: &[Address]| MatchedTokens {
            holds: holds.to_vec(),
            unknown: Vec::new(),
        };
        let check = |text: &str, relaxed: Option<MatchedTokens>| {
            let rule = AlertRule::read(text).expect("a rule");
            let none = MatchedTokens::default();
            let checked = compare(&snapshot, &watched, &rule, &none, relaxed.as_ref());
            (checked.held.len(), checked.fired.len())
        };
        assert_eq!(check("price>20", None), (0, 0));
        assert_eq!(check("price>20 hysteresis 5%", Some(near(&all))), (1, 0));
        assert_eq!(check("price>20 hysteresis 1%", Some(near(&[]))), (0, 0));
        assert_eq!(check("price crosses 20", None), (0, 1));
        assert_eq!(
            check("price crosses 20 hysteresis 5%", Some(near(&all))),
            (1, 0)
        );
    }

    #[test]
    fn the_wait_doubles_with_each_failure_up_to_a_minute() {
        let pauses: Vec<u64> = [0, 1, 2, 5, 6, 9, u32::MAX]
            .into_iter()
            .map(|failed| pause(failed).as_secs())
            .collect();
        assert_eq!(pauses, [1, 2, 4, 32, 60, 60, 60]);
    }
}
