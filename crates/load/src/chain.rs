//! State of a chain's tokens as a node returns it: read at one block when a query needs it, and stored in the dataset's folder, so that the
//! same query works later without the node. The analyses interpret it.

mod kept;
mod nodes;
mod read;
mod token_state;
mod tokens;
mod transfers;

use std::{
    collections::{HashMap, HashSet},
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
};

pub use self::transfers::TRANSFERS_VERSION;
use self::{kept::StateFiles, nodes::ChainNodes, token_state::TokenState};
pub(crate) use self::{
    nodes::origins,
    tokens::fill,
    transfers::{LogsAsked, TransferLogs},
};
use crate::{engine_rows::FetchError, error::ReadError};
use model::{
    address::Address,
    chain::Chain,
    chain_state::{ChainState, MissingState},
    flight::Flights,
    locks::Locked as _,
    progress::{Cancelled, LoadProgress},
    time::Time,
    wall_clock::now,
};
use wire::{Fault, RemoteClient};

/// Limit of the states kept in memory; states in use don't count.
const BYTES_MAX: u64 = 64 << 20;
/// Accounts and slots that one fetch may read.
const WANTED_MAX: usize = 20_000;

/// The states of the tokens of one chain.
#[derive(Debug)]
pub struct ChainStates {
    /// Start of this run: stored states from an earlier run may be of another block.
    pub begun: Time,
    nodes: ChainNodes,
    files: StateFiles,
    held: Mutex<HeldStates>,
    /// Tokens that are being read: by one caller each, since what it reads depends on what is known.
    reading: Flights<Address, ()>,
    /// Whether the user was told that states cannot be stored.
    unkept: AtomicBool,
}

/// The states in memory.
#[derive(Debug, Default)]
struct HeldStates {
    states: HashMap<Address, (Arc<TokenState>, u64)>,
    bytes: u64,
    /// LRU clock: increases with every use.
    now: u64,
    /// States that results were computed from, with the state of the block before, unless they are on disk.
    settled: HashMap<Address, Arc<TokenState>>,
    previous: HashMap<Address, Arc<TokenState>>,
    /// Tokens that were read but that no result was computed from yet.
    unsettled: HashSet<Address>,
    /// Whether every token is to be read again at the newest block, except those read since.
    all_aged: bool,
    renewed: HashSet<Address>,
    /// Whether the next read must pin a newer block than the last one.
    pin_anew: bool,
}

impl HeldStates {
    fn is_aged(&self, token: &Address) -> bool {
        self.all_aged && !self.renewed.contains(token)
    }

    fn get(&mut self, token: &Address) -> Option<Arc<TokenState>> {
        self.now += 1;
        let (state, used) = self.states.get_mut(token)?;
        *used = self.now;
        Some(Arc::clone(state))
    }

    fn put(&mut self, token: Address, state: &Arc<TokenState>) {
        self.now += 1;
        self.bytes += state.bytes();
        if let Some((before, _)) = self.states.insert(token, (Arc::clone(state), self.now)) {
            self.bytes -= before.bytes();
        }
        while self.bytes > BYTES_MAX && self.states.len() > 1 {
            let oldest = self
                .states
                .iter()
                .min_by_key(|(_, (_, used))| *used)
                .map(|(token, _)| *token);
            let Some((state, _)) = oldest.and_then(|oldest| self.states.remove(&oldest)) else {
                break;
            };
            self.bytes -= state.bytes();
        }
    }
}

impl ChainStates {
    /// State from the node of this name in config.toml; sends no request.
    pub fn new(wire: &Arc<RemoteClient>, dataset: &Path, source: &str) -> Self {
        let nodes = ChainNodes::new(wire, dataset, source);
        Self {
            begun: now(),
            files: StateFiles::new(dataset, &nodes.folder_name()),
            nodes,
            held: Mutex::default(),
            reading: Flights::default(),
            unkept: AtomicBool::new(false),
        }
    }

    /// Name of the node in config.toml.
    pub fn source(&self) -> &str {
        &self.nodes.source
    }

    /// The node's chain; unknown if config.toml has no such node, which the next fetch then reports.
    pub fn chain(&self) -> Chain {
        self.nodes.chain.clone().unwrap_or_else(Chain::unknown)
    }

    /// Whether a token on these chains is on the node's chain. If the node's chain is unknown, every token is, so that each response
    /// reports the fault.
    pub fn is_of(&self, chains: &[Chain]) -> bool {
        self.nodes.is_of(chains)
    }

    /// The known state of the chain for the token; empty before the first fetch.
    pub fn of(&self, token: &Address) -> Arc<dyn ChainState> {
        self.state_of(token)
    }

    /// The state that the previous result was computed from, before the token was read again.
    pub fn previous_of(&self, token: &Address) -> Option<Arc<dyn ChainState>> {
        let (now, previous) = {
            let mut held = self.held();
            let now = if held.unsettled.contains(token) {
                held.get(token).and_then(|now| now.block)
            } else {
                None
            };
            (now, held.previous.get(token).cloned())
        };
        let settled = now.and_then(|now| {
            self.settled(token)
                .filter(|settled| settled.block != Some(now))
        });
        let previous = settled
            .or(previous)
            .or_else(|| self.files.read_previous(token).map(Arc::new))?;
        Some(previous)
    }

    /// What the last answer came of.
    fn settled(&self, token: &Address) -> Option<Arc<TokenState>> {
        let held = self.held().settled.get(token).cloned();
        held.or_else(|| self.files.read(token).map(Arc::new))
    }

    /// Records that a result was computed from the state that was read: stores it, with the state of the previous result. A read that is
    /// interrupted before leaves no trace.
    pub fn settle(&self, token: &Address) {
        let state = {
            let mut held = self.held();
            if !held.unsettled.remove(token) {
                return;
            }
            held.get(token)
        };
        let Some(state) = state else { return };
        let before = self
            .settled(token)
            .filter(|before| before.block != state.block);
        let written = self.files.write(token, &state, before.as_deref());
        let mut held = self.held();
        match (&written, before) {
            (Err(_), Some(before)) => drop(held.previous.insert(*token, before)),
            (Ok(()), Some(_)) => drop(held.previous.remove(token)),
            (_, None) => {}
        }
        match &written {
            Err(_) => drop(held.settled.insert(*token, state)),
            Ok(()) => drop(held.settled.remove(token)),
        }
        drop(held);
        if let Err(reason) = written {
            self.say_unkept(&reason);
        }
    }

    /// Has every token read again, at the newest block, the next time that a query needs it.
    pub fn forget_all(&self) {
        let mut held = self.held();
        held.all_aged = true;
        held.pin_anew = true;
        held.renewed.clear();
    }

    fn held(&self) -> MutexGuard<'_, HeldStates> {
        self.held.locked()
    }

    fn state_of(&self, token: &Address) -> Arc<TokenState> {
        if self.held().is_aged(token) {
            Arc::default()
        } else {
            self.known(token).unwrap_or_default()
        }
    }

    /// What was read last, however old.
    fn known(&self, token: &Address) -> Option<Arc<TokenState>> {
        if let Some(state) = self.held().get(token) {
            return Some(state);
        }
        let state = self.settled(token)?;
        self.held().put(*token, &state);
        Some(state)
    }

    /// Reads the missing state in one batch and stores it. If the node fails while a token is read again, its known state stays.
    pub fn fetch(
        &self,
        token: &Address,
        missing: &MissingState,
        progress: &dyn LoadProgress,
    ) -> Result<(), FetchError> {
        let go_on = || progress.step("contracts", 0, 0);
        let waited = self.reading.wait(token, go_on);
        let _reading = waited.map_err(|Cancelled| FetchError::Cancelled)?;
        let before = self.state_of(token);
        let lacks = before.lacks(missing);
        if lacks.is_empty() && before.block.is_some() {
            return Ok(());
        }
        let wanted = lacks.accounts.len() + lacks.slots.len() + lacks.events.len();
        if wanted > WANTED_MAX {
            let reason = format!(
                "this needs {wanted} accounts and slots at once, more than the limit of {WANTED_MAX}"
            );
            return Err(FetchError::Unavailable(reason));
        }
        let read = self.nodes.node().and_then(|node| {
            let stopped = || progress.step("contracts", 0, 0).is_err();
            let anew = before.block.is_none() && std::mem::take(&mut self.held().pin_anew);
            read::read(&node, &before, &lacks, anew, &stopped)
        });
        match read {
            Ok(state) => {
                self.keep(*token, &Arc::new(state));
                Ok(())
            }
            Err(Fault::Stopped) => Err(FetchError::Cancelled),
            Err(fault) => {
                let reason = format!("`{}` {fault}", self.nodes.origin());
                if before.block.is_none() && self.known(token).is_some() {
                    tracing::warn!(
                        "cannot read the chain state; keeping the previous one: {reason}"
                    );
                    self.renew(token);
                    return Ok(());
                }
                Err(FetchError::Unavailable(reason))
            }
        }
    }

    fn keep(&self, token: Address, state: &Arc<TokenState>) {
        let mut held = self.held();
        held.put(token, state);
        held.unsettled.insert(token);
        drop(held);
        self.renew(&token);
    }

    /// Says once that nothing can be kept.
    fn say_unkept(&self, reason: &ReadError) {
        if !self.unkept.swap(true, Ordering::Relaxed) {
            let folder = self.files.folder().display();
            tracing::warn!(
                "cannot store chain state in `{folder}`; it is read again after a restart: {reason}"
            );
        }
    }

    fn renew(&self, token: &Address) {
        self.held().renewed.insert(*token);
    }
}
