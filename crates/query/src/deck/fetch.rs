//! Fetches the rows that a query lacks, and runs it again: the query itself never waits for the network.

use std::{
    collections::{BTreeMap, HashSet},
    panic::resume_unwind,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crate::question::{progress::Progress, snapshot::Snapshot};
use model::{
    address::Address,
    chain_state::MissingState,
    error::{Code, Problem, Result},
    fetch_key::FetchKey,
    locks::Locked as _,
    progress::{Cancelled, LoadProgress},
};
use store::in_place::{FetchError, Fetched};

/// Cancels a fetch once the result has no reader.
struct Asker<'a>(&'a Progress);

impl LoadProgress for Asker<'_> {
    fn step(&self, _: &str, _: u64, _: u64) -> std::result::Result<(), Cancelled> {
        if self.0.cancelled() {
            Err(Cancelled)
        } else {
            Ok(())
        }
    }
}

/// Reports the progress of reading on-chain state, and cancels it once the result has no reader.
struct StateAsker<'a> {
    progress: &'a Progress,
    /// What was read, and what is being read with it.
    round: (u64, u64),
}

impl LoadProgress for StateAsker<'_> {
    fn step(&self, _: &str, _: u64, _: u64) -> std::result::Result<(), Cancelled> {
        self.progress
            .step(self.round.0, self.round.1)
            .map_err(|_| Cancelled)
    }
}

/// Rounds after which an answer that still misses rows is given up: each names more only because of what the one before fetched.
const ROUNDS_MAX: usize = 8;
/// The same of the state of a chain, where an execution names more the further it gets.
const STATE_ROUNDS_MAX: usize = 12;

/// Tokens whose state is read at once: they wait for the network.
const TOKENS_AT_ONCE: usize = 4;

/// Tries until nothing is missing, fetching between. The rows stay here until the last try has ended, or those of the step after the next.
pub(super) fn complete<T>(
    snapshot: &Snapshot,
    progress: &Progress,
    attempt: impl Fn() -> Result<T>,
) -> Result<T> {
    let (mut held, mut held_before, mut stepped) = (Vec::new(), Vec::new(), 0);
    let (mut rounds, mut state_rounds) = (1, 0);
    let mut unread = Unread {
        snapshot,
        tokens: Vec::new(),
        read: AtomicUsize::new(0),
    };
    loop {
        let problem = match attempt() {
            Err(problem) if problem.is_missing_rows() => problem,
            outcome => return outcome,
        };
        let (states, rows): (Vec<_>, Vec<_>) = problem
            .missing
            .iter()
            .partition(|key| matches!(key, FetchKey::State { .. }));
        match problem.step {
            Some((done, total)) if done > stepped => {
                progress.step(done, total)?;
                stepped = done;
                std::mem::swap(&mut held, &mut held_before);
                held.clear();
            }
            _ => rounds += usize::from(!rows.is_empty()),
        }
        state_rounds += usize::from(!states.is_empty());
        if rounds > ROUNDS_MAX || state_rounds > STATE_ROUNDS_MAX {
            return Err(problem);
        }
        for (token, why) in fetch_states(
            snapshot,
            together(states),
            (state_rounds as u64, &unread.read),
            progress,
        )? {
            unread.note(token, why);
        }
        let (charts, rows): (Vec<_>, Vec<_>) = rows
            .into_iter()
            .partition(|key| matches!(key, FetchKey::Chart(_)));
        // In the order of the answer: what a token needs beside its own candles comes before the next token.
        let mut seen = HashSet::new();
        let mut tokens: Vec<Address> = charts
            .iter()
            .flat_map(|key| key.tokens())
            .filter(|token| seen.insert(**token))
            .copied()
            .collect();
        while !tokens.is_empty() {
            held.extend(fetch_charts(snapshot, &mut tokens, progress)?);
            if problem.step.is_some() {
                break;
            }
        }
        for key in rows {
            held.extend(fetch(snapshot, key, progress)?);
        }
    }
}

/// What is missing of the chain by token, each to be read at once.
fn together(keys: Vec<&FetchKey>) -> BTreeMap<Address, MissingState> {
    let mut all: BTreeMap<Address, MissingState> = BTreeMap::new();
    for key in keys {
        let FetchKey::State { token, missing } = key else {
            continue;
        };
        let of_token = all.entry(*token).or_default();
        of_token.accounts.extend(&missing.accounts);
        of_token.slots.extend(&missing.slots);
        of_token.events.extend(&missing.events);
    }
    all
}

/// Tokens whose state could not be read: each is answered with the reason, as long as this question is being answered.
struct Unread<'a> {
    snapshot: &'a Snapshot,
    tokens: Vec<Address>,
    /// States that could be read.
    read: AtomicUsize,
}

impl Unread<'_> {
    fn note(&mut self, token: Address, why: Problem) {
        self.tokens.push(token);
        self.snapshot.security.set_unread(token, Some(why));
    }
}

impl Drop for Unread<'_> {
    fn drop(&mut self) {
        for token in &self.tokens {
            self.snapshot.security.set_unread(*token, None);
        }
    }
}

/// Number of consecutive failures after which the remaining tokens are skipped.
const FAILURES_MAX: usize = 3;

/// Reads the on-chain state of each token, several at a time; returns the tokens that fail, with the reason. Errors: canceled, or several
/// were requested and none could be read for this result. `read` counts the successes.
fn fetch_states(
    snapshot: &Snapshot,
    wanted: BTreeMap<Address, MissingState>,
    (round, read): (u64, &AtomicUsize),
    progress: &Progress,
) -> Result<Vec<(Address, Problem)>> {
    let (wanted, next) = (Vec::from_iter(wanted), AtomicUsize::new(0));
    let failed: Mutex<Vec<(Address, Problem)>> = Mutex::default();
    let some = || {
        while let Some((token, missing)) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
            let hopeless = {
                let failed = failed.locked();
                let hopeless = failed.len() >= FAILURES_MAX && read.load(Ordering::Relaxed) == 0;
                failed
                    .last()
                    .filter(|_| hopeless)
                    .map(|(_, why)| why.clone())
            };
            match hopeless.map_or_else(
                || fetch_state(snapshot, *token, missing, round, progress),
                Err,
            ) {
                Ok(()) => drop(read.fetch_add(1, Ordering::Relaxed)),
                Err(why) if why.code == Code::Cancelled => return Err(why),
                Err(why) => failed.locked().push((*token, why)),
            }
        }
        Ok(())
    };
    if wanted.len() < 2 {
        some()?;
    } else {
        thread::scope(|scope| {
            let workers: Vec<_> = (0..wanted.len().min(TOKENS_AT_ONCE))
                .map(|_| scope.spawn(some))
                .collect();
            workers
                .into_iter()
                .try_for_each(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)))
        })?;
    }
    let mut failed = std::mem::take(&mut *failed.locked());
    if wanted.len() > 1 && failed.len() == wanted.len() && read.load(Ordering::Relaxed) == 0 {
        return Err(failed.swap_remove(0).1);
    }
    Ok(failed)
}

/// Reads the state of the chain for a token; nothing where no node says it.
fn fetch_state(
    snapshot: &Snapshot,
    token: Address,
    missing: &MissingState,
    round: u64,
    progress: &Progress,
) -> Result<()> {
    let Some(states) = snapshot.dataset.chain_states_of(&token) else {
        return Ok(());
    };
    let asker = StateAsker {
        progress,
        round: (round, STATE_ROUNDS_MAX as u64),
    };
    states
        .fetch(&token, missing, &asker)
        .map_err(|why| match why {
            FetchError::Cancelled => Problem::new(Code::Cancelled, "The query was canceled."),
            FetchError::Unavailable(reason) => {
                let says = format!(
                    "Cannot read the on-chain state of `{token}` from `{}`: {reason}.",
                    states.source()
                );
                Problem::new(Code::SourceUnavailable, says)
            }
        })
}

/// Fetches rows that are queried in place; `None` if there are none.
fn fetch(snapshot: &Snapshot, key: &FetchKey, progress: &Progress) -> Result<Option<Arc<Fetched>>> {
    let Some(in_place) = snapshot.dataset.in_place(key.table()) else {
        return Ok(None);
    };
    in_place
        .fetch(key, &Asker(progress))
        .map_err(|why| unfetched(key.table(), key.tokens(), &in_place.source, why))
}

/// Fetches candles of the first of these tokens, and leaves the others.
fn fetch_charts(
    snapshot: &Snapshot,
    tokens: &mut Vec<Address>,
    progress: &Progress,
) -> Result<Vec<Arc<Fetched>>> {
    let Some(in_place) = snapshot.dataset.in_place("candles") else {
        tokens.clear();
        return Ok(Vec::new());
    };
    let all = tokens.clone();
    in_place
        .fetch_charts(tokens, &Asker(progress))
        .map_err(|why| unfetched("candles", &all, &in_place.source, why))
}

fn unfetched(table: &str, tokens: &[Address], source: &str, why: FetchError) -> Problem {
    match why {
        FetchError::Cancelled => Problem::new(Code::Cancelled, "The query was canceled."),
        FetchError::Unavailable(reason) => {
            let detail = match tokens {
                [token] => {
                    format!("Cannot read the {table} of `{token}` from `{source}`: {reason}.")
                }
                _ => format!("Cannot read the {table} from `{source}`: {reason}."),
            };
            Problem::new(Code::SourceUnavailable, detail)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::question::snapshot::AnswerSettings;
    use model::progress::NoProgress;
    use store::sample;

    #[test]
    fn a_token_that_cannot_be_read_does_not_take_the_others_with_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).expect("written");
        };
        let tokens = [sample::address("0x1"), sample::address("0x2")];
        write(
            "tokens.csv",
            &format!(
                "token_address,symbol,name,chain\n{},A,A,eth\n{},B,B,eth\n",
                tokens[0], tokens[1]
            ),
        );
        write("dataset.toml", "[tables.contracts]\nsource = 'away'\n");
        let (kind, url) = (wire::SourceKind::Node, "http://127.0.0.1:1".to_owned());
        let source = wire::Source {
            name: "away".to_owned(),
            kind,
            url,
            chain: "eth".to_owned(),
            ..wire::Source::default()
        };
        let options = wire::WireOptions {
            consent: wire::Consent::Always,
            sources: vec![source],
            ..wire::WireOptions::default()
        };
        let wire = wire::RemoteClient::new(options, Arc::new(wire::MemoryLedger::default()));
        let dataset = store::load::load_as(
            folder.path(),
            &store::cache::CacheOptions::default(),
            Some(&wire),
            &NoProgress,
            None,
            false,
        );
        let snapshot = Snapshot::new(1, dataset.expect("a dataset"), AnswerSettings::default());
        let state = |token: Address| FetchKey::State {
            token,
            missing: Arc::new(MissingState {
                accounts: [token].into(),
                ..MissingState::default()
            }),
        };
        // Both are asked for, and none can be read; one, and the other is answered.
        for (wanted, answered) in [
            (2, None),
            (
                1,
                Some(
                    "Cannot read the on-chain state of `0x0000000000000000000000000000000000000001`",
                ),
            ),
        ] {
            let attempt = || -> Result<String> {
                let unread = snapshot.security.unread(&tokens[0]).map(|why| why.detail);
                let missing = || {
                    Problem::missing_rows(
                        tokens[..wanted].iter().map(|token| state(*token)).collect(),
                        "Some state is missing.",
                    )
                };
                unread.ok_or_else(missing)
            };
            let outcome = complete(&snapshot, &Progress::default(), attempt);
            match answered {
                Some(says) => assert!(
                    outcome
                        .as_ref()
                        .is_ok_and(|answer| answer.starts_with(says)),
                    "{outcome:?}"
                ),
                None => assert!(
                    outcome
                        .as_ref()
                        .is_err_and(|why| why.detail.starts_with("Cannot read")
                            && why.detail.contains("from `away`: ")),
                    "{outcome:?}"
                ),
            }
            assert!(
                tokens
                    .iter()
                    .all(|token| snapshot.security.unread(token).is_none()),
                "the next question tries again"
            );
        }
    }

    #[test]
    fn an_answer_that_never_stops_missing_things_is_given_up() {
        let dataset =
            sample::dataset(&[("tokens", "token_address,symbol,name,chain\n0x1,A,A,eth")]);
        let (token, snapshot) = (
            sample::address("0x1"),
            Snapshot::new(1, dataset, AnswerSettings::default()),
        );
        let state = |nth: u8| FetchKey::State {
            token,
            missing: Arc::new(MissingState {
                accounts: [Address([nth; 20])].into(),
                ..MissingState::default()
            }),
        };
        for (key, tries) in [
            (state(1), STATE_ROUNDS_MAX + 1),
            (FetchKey::Chart(token), ROUNDS_MAX),
        ] {
            let asked = Cell::new(0);
            let attempt = || -> Result<()> {
                asked.set(asked.get() + 1);
                Err(Problem::missing_rows(
                    vec![key.clone()],
                    "Some rows are missing.",
                ))
            };
            let problem = complete(&snapshot, &Progress::default(), attempt).expect_err("given up");
            assert_eq!(
                (problem.detail.as_str(), asked.get()),
                ("Some rows are missing.", tries)
            );
        }
        // In steps it goes on as long as each does a part of it.
        for (parts, answered) in [(100, true), (10, false)] {
            let asked = Cell::new(0);
            let attempt = || -> Result<()> {
                asked.set(asked.get() + 1);
                if asked.get() == 101 {
                    return Ok(());
                }
                let missing =
                    Problem::missing_rows(vec![FetchKey::Chart(token)], "Some rows are missing.");
                Err(Problem {
                    step: Some((asked.get().min(parts), 100)),
                    ..missing
                })
            };
            assert_eq!(
                complete(&snapshot, &Progress::default(), attempt).is_ok(),
                answered,
                "{parts}"
            );
        }
        let wanted = together(vec![&state(1), &FetchKey::Chart(token), &state(2)]);
        assert_eq!(
            (wanted.len(), wanted[&token].accounts.len()),
            (1, 2),
            "what is missing of a token is read at once"
        );
    }
}
