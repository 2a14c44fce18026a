//! The state of a chain at one block, as far as it was fetched for a token. The storage fetches and stores it; the analyses execute
//! contracts on it.

use std::{collections::BTreeSet, fmt, sync::Arc};

use super::address::Address;

/// A word of the chain: a slot's number or its value, a balance, a hash.
pub type Word = [u8; 32];

/// The block that a state was read at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BlockHead {
    pub number: u64,
    /// Seconds since 1970.
    pub timestamp: u64,
    pub hash: Word,
    /// Base fee per unit of gas, in the smallest unit of the chain's coin.
    pub base_fee: u64,
    /// Hash of the previous block; zero if unknown, as are the next two fields.
    pub parent_hash: Word,
    /// Address of the block's producer.
    pub coinbase: Address,
    pub gas_limit: u64,
}

/// An account at that block. One without code is a wallet or an unused address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainAccount {
    /// In the smallest unit of the chain's coin.
    pub balance: Word,
    pub code: Arc<[u8]>,
}

/// Events of one contract by their topics; `None` stands for any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventFilter {
    pub address: Address,
    /// First block that can contain events: the contract has none before it.
    pub since: u64,
    pub topics: [Option<Word>; 4],
}

/// An event as the chain logged it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChainEvent {
    pub topics: Vec<Word>,
    pub data: Vec<u8>,
}

/// Events as a node returned them, in the order of the chain. No node can prove that the list is complete.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChainEvents {
    pub events: Vec<ChainEvent>,
    /// Whether these are all events that the node has; a node may refuse to search the whole chain.
    pub whole: bool,
}

/// The known state of a chain for one token, all at one block. It never changes: state fetched later is in a new one.
pub trait ChainState: fmt::Debug + Send + Sync {
    /// `None` before the first fetch.
    fn block(&self) -> Option<BlockHead>;
    /// `None` if it was not fetched.
    fn account(&self, address: &Address) -> Option<ChainAccount>;
    /// `None` if it was not fetched.
    fn slot(&self, address: &Address, slot: &Word) -> Option<Word>;
    /// `None` if they were not asked for.
    fn events(&self, filter: &EventFilter) -> Option<&ChainEvents>;
    /// Round trips to the node that it took.
    fn requests(&self) -> u32;
    /// Times that something was fetched; several round trips each where a node takes few calls at once.
    fn rounds(&self) -> u32;
}

/// Accounts, slots and events that an analysis of a token needs and that were not fetched yet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct MissingState {
    pub accounts: BTreeSet<Address>,
    pub slots: BTreeSet<(Address, Word)>,
    pub events: BTreeSet<EventFilter>,
}

impl MissingState {
    pub fn is_empty(&self) -> bool {
        self.accounts.is_empty() && self.slots.is_empty() && self.events.is_empty()
    }
}
