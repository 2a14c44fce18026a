//! What one answer reads: a snapshot and, until the answer is written, the rows of engines and the state of chains that it brings. Bringing
//! blocks the thread; it ends when the answer is canceled.

use std::{
    ops::Deref,
    sync::{Arc, Mutex},
};

use polars::prelude::DataFrame;

use super::snapshot::Snapshot;
use load::{
    Table,
    engine_rows::{FetchError, FetchedRows},
};
use model::{
    address::Address,
    chain_state::MissingState,
    error::{Code, Problem, Result},
    locks::Locked as _,
    progress::{Cancelled, LoadProgress, Progress},
    table_ask::SourceQuery,
};

/// Rounds after which a state is given up: an execution names more the further it gets.
const STATE_ROUNDS_MAX: u64 = 12;
/// Number of failures, without a success, after which no further state is read.
const FAILURES_MAX: usize = 3;
/// Most tokens of one list whose holders, transfers or state are fetched: a token takes a query or more.
const FETCHED_MAX: usize = 100;

/// What one answer reads.
#[derive(Debug)]
pub struct View<'a> {
    snapshot: &'a Snapshot,
    /// The number of tokens of the list of which it reads one.
    tokens: usize,
    held: Mutex<Vec<Arc<FetchedRows>>>,
    states: Arc<Mutex<StatesRead>>,
    /// How many rows were missed before.
    missed: u64,
}

/// How the reading of chain states went.
#[derive(Debug, Default)]
struct StatesRead {
    read: usize,
    /// Tokens whose state could not be read, with the reason.
    unread: Vec<(Address, Problem)>,
}

impl StatesRead {
    /// Why the state of this token is not read.
    fn given_up(&self, token: &Address) -> Option<&Problem> {
        let of_token = self.unread.iter().find(|(unread, _)| unread == token);
        let is_hopeless = self.read == 0 && self.unread.len() >= FAILURES_MAX;
        let last = self.unread.last().filter(|_| is_hopeless);
        of_token.or(last).map(|(_, why)| why)
    }
}

impl Deref for View<'_> {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        self.snapshot
    }
}

impl<'a> View<'a> {
    pub fn new(snapshot: &'a Snapshot) -> Self {
        Self {
            snapshot,
            tokens: 1,
            held: Mutex::default(),
            states: Arc::default(),
            missed: missed(snapshot),
        }
    }

    /// The same for one token of a list of `tokens`: what it brings goes once the token is done.
    #[must_use]
    pub fn part(&self, tokens: usize) -> Self {
        Self {
            tokens,
            states: Arc::clone(&self.states),
            ..Self::new(self.snapshot)
        }
    }

    /// Brings the rows of these tokens where the table is at an engine. Errors: they cannot be fetched; canceled; the list is too long.
    pub fn bring(
        &self,
        table: &'static str,
        tokens: &[Address],
        progress: &Progress,
    ) -> Result<()> {
        let Some(engine) = self.dataset.engine_rows(table) else {
            return Ok(());
        };
        for token in tokens.iter().filter(|token| engine.has(token)) {
            self.check_count("fetches the rows", " from a source queried in place")?;
            let rows = engine
                .fetch(
                    token,
                    &Asker {
                        progress,
                        round: None,
                    },
                )
                .map_err(|why| unfetched(table, &[*token], &engine.source, why))?;
            self.held.locked().extend(rows);
        }
        Ok(())
    }

    /// The result of a query of a table at an engine, and the number of rows that it is about.
    pub fn page(&self, ask: &Arc<SourceQuery>, progress: &Progress) -> Result<(DataFrame, u64)> {
        let Some(engine) = self.dataset.engine_rows(ask.table) else {
            let detail = "Internal error: the rows are not queried in place.";
            return Err(Problem::new(Code::Defect, detail));
        };
        engine
            .page(
                ask,
                &Asker {
                    progress,
                    round: None,
                },
            )
            .map_err(|why| unfetched(ask.table, &ask.tokens, &engine.source, why))
    }

    /// Runs over the state of a token's chain until nothing is missing, reading from the node what is. Errors: it cannot be read, which is
    /// the problem of this token alone; canceled; the list is too long.
    pub fn over_state<T>(
        &self,
        token: Address,
        progress: &Progress,
        run: impl Fn() -> std::result::Result<T, MissingState>,
    ) -> Result<T> {
        let mut round = 0;
        loop {
            let missing = match run() {
                Ok(found) => return Ok(found),
                Err(missing) => missing,
            };
            self.check_count("reads the on-chain state", "")?;
            round += 1;
            let given_up = self.states.locked().given_up(&token).cloned();
            match given_up.map_or_else(|| self.read(token, &missing, round, progress), Err) {
                Ok(()) => self.states.locked().read += 1,
                Err(why) if why.code == Code::Cancelled => return Err(why),
                Err(why) => {
                    progress.note_partial();
                    let mut states = self.states.locked();
                    if !states.unread.iter().any(|(unread, _)| *unread == token) {
                        states.unread.push((token, why.clone()));
                    }
                    return Err(why);
                }
            }
        }
    }

    /// Reads the state of the chain for a token; nothing where no node says it.
    fn read(
        &self,
        token: Address,
        missing: &MissingState,
        round: u64,
        progress: &Progress,
    ) -> Result<()> {
        if round > STATE_ROUNDS_MAX {
            let detail = format!(
                "Cannot read the on-chain state of `{token}`: each of {STATE_ROUNDS_MAX} reads showed that more is needed."
            );
            return Err(Problem::new(Code::SourceUnavailable, detail));
        }
        let Some(states) = self.dataset.chain_states_of(&token) else {
            return Ok(());
        };
        let asker = Asker {
            progress,
            round: Some(round),
        };
        let what = format!("the on-chain state of `{token}`");
        states
            .fetch(&token, missing, &asker)
            .map_err(|why| unavailable(&what, states.source(), why))
    }

    /// Whether the state of this token's chain could not be read.
    pub fn is_unread(&self, token: &Address) -> bool {
        let states = self.states.locked();
        states.unread.iter().any(|(unread, _)| unread == token)
    }

    /// Errors: the state of several tokens was to be read, and that of none could be.
    pub fn check_states(&self) -> Result<()> {
        let states = self.states.locked();
        match states.unread.as_slice() {
            [(_, first), _, ..] if states.read == 0 => Err(first.clone()),
            _ => Ok(()),
        }
    }

    /// The answer about one token of several. Errors: a problem that ends the answer about all: rows cannot be fetched from their source. That
    /// the state of a chain cannot be read is the problem of its token alone.
    pub fn unless_it_ends<T>(&self, token: &Address, answer: Result<T>) -> Result<Result<T>> {
        match answer {
            Err(why) if why.code == Code::SourceUnavailable && !self.is_unread(token) => Err(why),
            answer => Ok(answer),
        }
    }

    /// Errors: an analysis read rows before they were fetched, so the answer lacks them.
    pub fn check_brought(&self) -> Result<()> {
        if missed(self.snapshot) == self.missed {
            return Ok(());
        }
        let detail = "Internal error: rows were read before they were fetched from their source.";
        Err(Problem::new(Code::Defect, detail))
    }

    /// Errors: more tokens than a list fetches something of.
    fn check_count(&self, does: &str, from: &str) -> Result<()> {
        let count = self.tokens;
        if count <= FETCHED_MAX {
            return Ok(());
        }
        let detail = format!(
            "{count} tokens remain to be checked, but a list {does} of at most {FETCHED_MAX} tokens{from}; add other conditions, or query \
             the tokens one by one."
        );
        Err(Problem::new(Code::InvalidParameter, detail))
    }
}

fn missed(snapshot: &Snapshot) -> u64 {
    let engines = snapshot
        .dataset
        .tables
        .iter()
        .filter_map(Table::engine_rows);
    engines.map(|engine| engine.missed()).sum()
}

/// Cancels a fetch once the result has no reader.
struct Asker<'a> {
    progress: &'a Progress,
    /// The round of reading a chain's state, which is reported.
    round: Option<u64>,
}

impl LoadProgress for Asker<'_> {
    fn step(&self, _: &str, _: u64, _: u64) -> std::result::Result<(), Cancelled> {
        if let Some(round) = self.round {
            self.progress.step(round, STATE_ROUNDS_MAX).ok();
        }
        if self.progress.cancelled() {
            Err(Cancelled)
        } else {
            Ok(())
        }
    }
}

fn unfetched(table: &str, tokens: &[Address], source: &str, why: FetchError) -> Problem {
    let what = match tokens {
        [token] => format!("the {table} of `{token}`"),
        _ => format!("the {table}"),
    };
    unavailable(&what, source, why)
}

fn unavailable(what: &str, source: &str, why: FetchError) -> Problem {
    match why {
        FetchError::Cancelled => Problem::new(Code::Cancelled, "The query was canceled."),
        FetchError::Unavailable(reason) => {
            let detail = format!("Cannot read {what} from `{source}`: {reason}.");
            Problem::new(Code::SourceUnavailable, detail)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::queries::{
        Query as _,
        patterns::PatternsQuery,
        snapshot::AnswerSettings,
        tests::{addresses, parsed, snapshot},
        tokens::TokensQuery,
    };
    use load::sample;
    use model::progress::NoProgress;

    /// Four tokens at a node that nobody can reach.
    fn away() -> (tempfile::TempDir, Snapshot) {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).expect("written");
        };
        let row = |nth: u8| format!("0x{nth:0>40},T{nth},A,eth\n");
        write(
            "tokens.csv",
            &format!(
                "token_address,symbol,name,chain\n{}",
                (1..=4).map(row).collect::<String>()
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
        let dataset = load::loader::load_as(
            folder.path(),
            &frames::cache::CacheOptions::default(),
            Some(&wire),
            &NoProgress,
            None,
            false,
        );
        let dataset = dataset.expect("a dataset");
        (folder, Snapshot::new(1, dataset, AnswerSettings::default()))
    }

    fn token(nth: u8) -> Address {
        sample::address(&format!("0x{nth}"))
    }

    fn missing(nth: u8) -> MissingState {
        MissingState {
            accounts: [Address([nth; 20])].into(),
            ..MissingState::default()
        }
    }

    /// Whether the state of the token could be read, and how many times it was run over.
    fn run(view: &View<'_>, of: u8, misses: bool) -> (Result<()>, u32) {
        let runs = Cell::new(0);
        let outcome = view.over_state(token(of), &Progress::default(), || {
            runs.set(runs.get() + 1);
            if misses { Err(missing(of)) } else { Ok(()) }
        });
        (outcome, runs.get())
    }

    #[test]
    fn a_token_that_cannot_be_read_is_a_problem_of_its_own() {
        let (_folder, snapshot) = away();
        let view = View::new(&snapshot);
        let progress = Progress::default();
        let unread = view
            .part(2)
            .over_state(token(1), &progress, || Err::<(), _>(missing(1)));
        let says = format!(
            "Cannot read the on-chain state of `{}` from `away`: ",
            token(1)
        );
        let why = unread.expect_err("unread");
        assert!(why.detail.starts_with(&says), "{why}");
        assert!(progress.is_partial() && view.is_unread(&token(1)) && !view.is_unread(&token(2)));
        assert_eq!(view.check_states(), Ok(()));
        assert_eq!(run(&view, 2, false), (Ok(()), 1));
        // None of several: that is a problem of the answer.
        assert!(run(&view, 2, true).0.is_err());
        assert_eq!(view.check_states(), Err(why));
    }

    #[test]
    fn one_answer_gives_up_and_the_next_tries_again() {
        let (_folder, snapshot) = away();
        let (first, second) = (View::new(&snapshot), View::new(&snapshot));
        let reason = |view: &View<'_>, of: u8| run(view, of, true).0.expect_err("unread").detail;
        let last = (1..=3).map(|of| reason(&first.part(4), of)).last();
        assert_eq!(Some(reason(&first, 4)), last, "the node is not asked again");
        assert!(!second.is_unread(&token(1)));
        assert!(reason(&second, 4).contains(&token(4).to_string()));
        assert_eq!(second.check_states(), Ok(()));
    }

    #[test]
    fn a_state_that_is_never_complete_is_given_up() {
        let snapshot = snapshot(&[("tokens", "token_address,symbol,name,chain\n0x1,A,A,eth")]);
        let (outcome, runs) = run(&View::new(&snapshot), 1, true);
        assert!(outcome.is_err_and(|why| why.detail.contains("each of 12 reads showed")));
        assert_eq!(u64::from(runs), STATE_ROUNDS_MAX + 1);
    }

    #[test]
    fn an_answer_with_a_verdict_waits_where_a_node_is_asked() {
        let contract = addresses("1");
        let path = [("contractAddress", contract.as_str())];
        let patterns = parsed::<PatternsQuery>(&path, "").expect("a question");
        let list = |query: &str| parsed::<TokensQuery>(&[], query).expect("a question");
        let (advice, trend) = (list("fields=advice"), list("fields=trend"));
        let local = snapshot(&[("tokens", "token_address,symbol,name,chain\n0x1,A,A,eth")]);
        for (snapshot, waits) in [(&away().1, true), (&local, false)] {
            let found = [patterns.waits(snapshot), advice.waits(snapshot)];
            assert_eq!((found, trend.waits(snapshot)), ([waits; 2], false));
        }
    }

    #[test]
    fn a_list_reads_the_state_of_a_hundred_tokens() {
        let (_folder, snapshot) = away();
        let refused = |tokens: usize, misses: bool| {
            let outcome = run(&View::new(&snapshot).part(tokens), 1, misses).0;
            outcome.is_err_and(|why| why.code == Code::InvalidParameter)
        };
        assert!(refused(101, true) && !refused(100, true) && !refused(101, false));
    }
}
