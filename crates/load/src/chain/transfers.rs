//! Transfers of the dataset's tokens from the logs of a node: read up to the newest final block at each load, and stored as Parquet under
//! `live/transfers` in the dataset's folder. Reading those files as a table belongs to the loader.

mod event;
mod fetch;
mod holders;
mod rows;
mod span;
mod start;
mod state;

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{Arc, OnceLock},
};

pub(crate) use self::fetch::BlockStep;
pub use self::state::TRANSFERS_VERSION;
use self::{fetch::TransferFetch, holders::HolderFiles, state::RowFiles};
use super::nodes::ChainNodes;
use model::{address::Address, private_files::try_exclusive, rows::TokenRow, time::Time};
use wire::{Fault, RemoteClient};

/// Tokens whose logs are read.
const TOKENS_MAX: usize = 2_000;

/// The transfers of a dataset's tokens on one chain.
#[derive(Debug)]
pub(crate) struct TransferLogs {
    nodes: ChainNodes,
    files: RowFiles,
    holders: HolderFiles,
    from_block: Option<u64>,
    tokens: Vec<Address>,
    /// Read by the first thread that needs them.
    read: OnceLock<TransfersRead>,
}

/// What is there after the node was asked.
#[derive(Debug, Clone)]
pub(crate) struct TransfersRead {
    /// Files of the rows, relative to the dataset's folder; none before anything was read.
    pub(crate) files: Vec<String>,
    /// When all was read last.
    pub(crate) as_of: Option<Time>,
    /// The newest block that was final then.
    pub(crate) end: u64,
    /// Why not all was read now.
    pub(crate) fault: Option<Fault>,
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
}

/// The section of `dataset.toml` about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogsAsked<'a> {
    pub(crate) source: &'a str,
    pub(crate) from_block: Option<u64>,
    /// The tokens that `where` names.
    pub(crate) only: Option<BTreeSet<Address>>,
}

impl LogsAsked<'_> {
    /// What both ask for.
    pub(crate) fn and(&self, other: &Self) -> Self {
        let from_block = self.from_block.zip(other.from_block).map(|(a, b)| a.min(b));
        let only = self
            .only
            .as_ref()
            .zip(other.only.as_ref())
            .map(|(a, b)| a.union(b).copied().collect());
        Self {
            source: self.source,
            from_block,
            only,
        }
    }
}

impl TransferLogs {
    /// Sends no request.
    pub(crate) fn new(
        wire: &Arc<RemoteClient>,
        dataset: &Path,
        asked: &LogsAsked<'_>,
        tokens: &[TokenRow],
    ) -> Self {
        let nodes = ChainNodes::new(wire, dataset, asked.source);
        let chain = nodes.folder_name();
        let meant = |row: &&TokenRow| {
            nodes.is_of(&row.chain)
                && asked
                    .only
                    .as_ref()
                    .is_none_or(|only| only.contains(&row.token_address))
        };
        let own: BTreeSet<Address> = tokens
            .iter()
            .filter(meant)
            .map(|row| row.token_address)
            .collect();
        Self {
            files: RowFiles::new(dataset, &chain),
            holders: HolderFiles::new(dataset, &chain),
            from_block: asked.from_block,
            tokens: own.into_iter().collect(),
            nodes,
            read: OnceLock::new(),
        }
    }

    pub(crate) fn source(&self) -> &str {
        &self.nodes.source
    }

    /// Name of the node in messages.
    pub(crate) fn origin(&self) -> String {
        self.nodes.origin()
    }

    /// Asks the node, once; what it does not say stays as it was read before.
    pub(crate) fn read(&self, step: BlockStep<'_>) -> &TransfersRead {
        self.read.get_or_init(|| self.ask(step))
    }

    fn ask(&self, step: BlockStep<'_>) -> TransfersRead {
        let mut notes = Vec::new();
        let outcome = self.sync_to_block(step, &mut notes);
        // As it is on disk, which is what counts.
        let state = self.files.load().unwrap_or_default();
        if let Some(first) = state.named.values().max() {
            notes.push(format!("the rows begin at block {first}, as set by `from_block`; earlier transfers are missing"));
        }
        TransfersRead {
            files: self.files.shown(&state),
            as_of: state.at.map(Time),
            end: state.end,
            fault: outcome.err(),
            notes,
        }
    }

    fn sync_to_block(&self, step: BlockStep<'_>, notes: &mut Vec<String>) -> Result<(), Fault> {
        let node = self.nodes.node()?;
        if self.tokens.len() > TOKENS_MAX {
            return Err(Fault::Refused(format!(
                "is not queried for the logs of {} tokens, because the limit is {TOKENS_MAX}; select some with `where` in dataset.toml",
                self.tokens.len()
            )));
        }
        let _lock = self.lock()?;
        let mut state = self.files.load()?;
        let mut fetch = TransferFetch::new(node, &self.files, &mut state, &self.tokens, step);
        let outcome = fetch.run(self.nodes.depth(), self.from_block);
        notes.append(&mut fetch.notes);
        outcome
    }

    /// Keeps other programs from reading the same logs. Errors: one does already.
    fn lock(&self) -> Result<std::fs::File, Fault> {
        let lock = try_exclusive(&self.files.folder().join("lock"));
        lock.map_err(|reason| Fault::Failed(format!("cannot be stored: {reason}")))?.ok_or_else(|| {
            Fault::Unavailable("is being read by another process for this dataset; its rows appear at the next load".to_owned())
        })
    }

    /// Counts the holders from the transfers read, and compares a sample of them with the chain. Returns the file, relative to the
    /// dataset's folder, and notes for the user.
    pub(crate) fn holder_counts(
        &self,
        step: BlockStep<'_>,
    ) -> Result<(String, Vec<HolderNote>), Fault> {
        let state = self.files.load()?;
        let counts = self.holders.counted(
            &self.files,
            &state,
            &self.tokens,
            self.nodes.node().ok().as_ref(),
            step,
        )?;
        Ok((self.holders.shown(), counts))
    }
}

/// A remark on holder counts: of one token, or of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HolderNote {
    pub(crate) token: Option<Address>,
    pub(crate) says: String,
    /// Whether the counts are wrong because of it.
    pub(crate) is_warning: bool,
}
