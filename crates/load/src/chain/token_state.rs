//! The state of a chain at one block, as far as it was read for a token. Reading it belongs to `read`, storing it to `kept`.

use std::{collections::BTreeMap, sync::Arc};

use model::{
    address::Address,
    chain_state::{
        BlockHead, ChainAccount, ChainEvents, ChainState, EventFilter, MissingState, Word,
    },
};

/// Bytes charged for an account or a slot besides its code.
const ENTRY: u64 = 160;

/// What was read for one token, all at one block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TokenState {
    pub(super) block: Option<BlockHead>,
    pub(super) accounts: BTreeMap<Address, ChainAccount>,
    pub(super) slots: BTreeMap<(Address, Word), Word>,
    pub(super) events: BTreeMap<EventFilter, ChainEvents>,
    pub(super) requests: u32,
    /// Times that something was fetched; several requests each where the node takes few calls at once.
    pub(super) rounds: u32,
}

impl TokenState {
    /// Approximate memory, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        let codes: u64 = self
            .accounts
            .values()
            .map(|account| account.code.len() as u64)
            .sum();
        let events: usize = self
            .events
            .values()
            .map(|events| 1 + events.events.len())
            .sum();
        codes + ENTRY * (self.accounts.len() + self.slots.len() + events) as u64
    }

    /// Those of these that were not read.
    pub(super) fn lacks(&self, missing: &MissingState) -> MissingState {
        MissingState {
            accounts: missing
                .accounts
                .iter()
                .filter(|address| !self.accounts.contains_key(*address))
                .copied()
                .collect(),
            slots: missing
                .slots
                .iter()
                .filter(|slot| !self.slots.contains_key(*slot))
                .copied()
                .collect(),
            events: missing
                .events
                .iter()
                .filter(|filter| !self.events.contains_key(*filter))
                .copied()
                .collect(),
        }
    }

    /// All that was read, and these besides.
    pub(super) fn all_and(&self, missing: &MissingState) -> MissingState {
        MissingState {
            accounts: self
                .accounts
                .keys()
                .chain(&missing.accounts)
                .copied()
                .collect(),
            slots: self.slots.keys().chain(&missing.slots).copied().collect(),
            events: self.events.keys().chain(&missing.events).copied().collect(),
        }
    }
}

impl ChainState for TokenState {
    fn block(&self) -> Option<BlockHead> {
        self.block
    }

    fn account(&self, address: &Address) -> Option<ChainAccount> {
        self.accounts.get(address).cloned()
    }

    fn slot(&self, address: &Address, slot: &Word) -> Option<Word> {
        self.slots.get(&(*address, *slot)).copied()
    }

    fn events(&self, filter: &EventFilter) -> Option<&ChainEvents> {
        self.events.get(filter)
    }

    fn requests(&self) -> u32 {
        self.requests
    }

    fn rounds(&self) -> u32 {
        self.rounds
    }
}

/// Empty code, as of an account without a contract.
pub(super) fn no_code() -> Arc<[u8]> {
    Arc::from([])
}
