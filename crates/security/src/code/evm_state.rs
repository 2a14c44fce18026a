//! World state for the execution: accounts and storage in memory, with an undo log. Unknown addresses are answered by a mock contract, or,
//! over the state of a chain, are noted as missing. Execution is in `machine`.

use std::{
    collections::{HashMap, HashSet},
    convert::Infallible,
    sync::Arc,
};

use revm::{
    Database,
    bytecode::Bytecode,
    primitives::{
        Address, B256, Bytes, KECCAK_EMPTY, StorageKey, StorageValue, U256, address, keccak256,
    },
    state::AccountInfo,
};

use super::{
    abi::Selector,
    accounts::{Accounts, Seed},
    transaction_context::TransactionContext,
};
use model::{
    address::Address as ModelAddress,
    chain_state::{ChainState, MissingState},
};

/// Maximum number of accounts and of slots noted as missing in one run.
const MISSING_MAX: usize = 4_096;
/// EIP-2935: the contract in whose storage a chain keeps the hashes of its last blocks, each at its number modulo `HASHES_KEPT`.
const HASH_HISTORY: Address = address!("0000F90827F1C53a10cb7A02335B175320002935");
const HASHES_KEPT: u64 = 8_191;

pub(super) const fn small(number: u32) -> Address {
    let mut bytes = [0; 20];
    let tail = number.to_be_bytes();
    let mut at = 0;
    while at < 4 {
        bytes[16 + at] = tail[at];
        at += 1;
    }
    Address::new(bytes)
}

/// Answer of the mock to anything but a transfer, an approval, or a question about the exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MockAnswer {
    /// The pair's address, three times.
    Pair,
    /// One, three times: also `true`.
    One,
    /// Zero, three times: also `false`.
    Zero,
    /// More than any supply, three times: a balance kept by another contract.
    HugeBalance,
}

impl MockAnswer {
    pub(super) const ALL: [Self; 4] = [Self::Pair, Self::One, Self::Zero, Self::HugeBalance];
}

#[derive(Debug)]
enum Undo {
    Slot(Address, U256, Option<U256>),
    Account(Address, Option<AccountInfo>),
    Blank(Address),
}

pub(super) struct EvmState {
    accounts: HashMap<Address, AccountInfo>,
    storage: HashMap<(Address, U256), U256>,
    /// Addresses at which a contract is about to be created: empty accounts.
    blank: HashSet<Address>,
    undo: Vec<Undo>,
    mocks: [(B256, Bytecode); MockAnswer::ALL.len()],
    pub(super) answer: MockAnswer,
    /// Slots read by the running call, each once.
    pub(super) reads: Vec<(Address, U256)>,
    pub(super) people: Accounts,
    /// Coins of each person.
    purse: U256,
    /// Derives the block hashes that are not known.
    pub(super) hashes: Seed,
    /// The chain behind it; `None` for a fresh world.
    chain: Option<Arc<dyn ChainState>>,
    /// What was read and is not known of that chain: it counted as zero.
    missing: MissingState,
}

impl EvmState {
    pub(super) fn new(people: Accounts, circumstances: &TransactionContext) -> Self {
        let person = AccountInfo {
            balance: circumstances.purse,
            nonce: 1,
            ..AccountInfo::default()
        };
        Self {
            accounts: people
                .persons()
                .into_iter()
                .map(|address| (address, person.clone()))
                .collect(),
            storage: HashMap::new(),
            blank: HashSet::new(),
            undo: Vec::new(),
            mocks: mocks(&people),
            answer: MockAnswer::Pair,
            reads: Vec::new(),
            people,
            purse: circumstances.purse,
            hashes: circumstances.hashes,
            chain: None,
            missing: MissingState::default(),
        }
    }

    /// A world that begins as the chain is.
    pub(super) fn of_chain(
        chain: Arc<dyn ChainState>,
        people: Accounts,
        circumstances: &TransactionContext,
    ) -> Self {
        let mut evm_state = Self {
            chain: Some(chain),
            ..Self::new(people, circumstances)
        };
        // Whoever makes the block, so that it is not asked for.
        evm_state
            .accounts
            .entry(circumstances.coinbase)
            .or_default();
        // A router is a contract, though nobody asks this one anything: PUSH0 PUSH0 REVERT.
        let code = Bytecode::new_legacy(Bytes::from_static(&[0x5F, 0x5F, 0xFD]));
        let router = AccountInfo {
            nonce: 1,
            code_hash: code.hash_slow(),
            code: Some(code),
            ..AccountInfo::default()
        };
        evm_state.accounts.insert(people.other_router, router);
        evm_state
    }

    /// Other accounts from here on.
    pub(super) fn set_people(&mut self, people: Accounts) {
        for address in people.persons() {
            self.person(address);
        }
        self.mocks = mocks(&people);
        self.people = people;
    }

    /// Whether it is that of a chain.
    pub(super) fn is_of_chain(&self) -> bool {
        self.chain.is_some()
    }

    /// What the calls so far read and is not known; empty in a fresh world.
    pub(super) fn missing(&mut self) -> &mut MissingState {
        &mut self.missing
    }

    /// Position in the undo log, for `rollback`.
    pub(super) fn mark(&self) -> usize {
        self.undo.len()
    }

    pub(super) fn rollback(&mut self, mark: usize) {
        while self.undo.len() > mark {
            match self.undo.pop() {
                Some(Undo::Slot(address, slot, Some(value))) => {
                    self.storage.insert((address, slot), value);
                }
                Some(Undo::Slot(address, slot, None)) => {
                    self.storage.remove(&(address, slot));
                }
                Some(Undo::Account(address, Some(info))) => {
                    drop(self.accounts.insert(address, info));
                }
                Some(Undo::Account(address, None)) => drop(self.accounts.remove(&address)),
                Some(Undo::Blank(address)) => drop(self.blank.remove(&address)),
                None => break,
            }
        }
    }

    pub(super) fn slot(&mut self, address: Address, slot: U256) -> U256 {
        match self.storage.get(&(address, slot)) {
            Some(value) => *value,
            None => self.chain_slot(address, slot),
        }
    }

    fn chain_slot(&mut self, address: Address, slot: U256) -> U256 {
        // What was created here, and our people, have no storage on the chain.
        let Some(chain) = self
            .chain
            .as_ref()
            .filter(|_| !self.blank.contains(&address) && !self.made_up(address))
        else {
            return U256::ZERO;
        };
        let key = (ModelAddress(address.into_array()), slot.to_be_bytes());
        if let Some(value) = chain.slot(&key.0, &key.1) {
            return U256::from_be_bytes(value);
        }
        if self.missing.slots.len() < MISSING_MAX {
            self.missing.slots.insert(key);
        }
        U256::ZERO
    }

    fn made_up(&self, address: Address) -> bool {
        let people = &self.people;
        people.persons().contains(&address)
            || [people.gate, people.other_router].contains(&address)
            || precompiled(address, true)
    }

    /// The account on the chain; `None` if there is none, or if it is not known, which is noted.
    fn chain_account(&mut self, address: Address) -> Option<AccountInfo> {
        let key = ModelAddress(address.into_array());
        let Some(known) = self.chain.as_ref()?.account(&key) else {
            if self.missing.accounts.len() < MISSING_MAX {
                self.missing.accounts.insert(key);
            }
            return None;
        };
        let balance = U256::from_be_bytes(known.balance);
        let code = Bytes::copy_from_slice(&known.code);
        let code =
            Bytecode::new_raw_checked(code.clone()).unwrap_or_else(|_| Bytecode::new_legacy(code));
        let info = AccountInfo {
            balance,
            nonce: 1,
            code_hash: code.hash_slow(),
            code: Some(code),
            ..AccountInfo::default()
        };
        self.accounts.insert(address, info.clone());
        Some(info)
    }

    pub(super) fn set_slot(&mut self, address: Address, slot: U256, value: U256) {
        let old = self.storage.insert((address, slot), value);
        self.undo.push(Undo::Slot(address, slot, old));
    }

    pub(super) fn set_account(&mut self, address: Address, info: AccountInfo) {
        let old = self.accounts.insert(address, info);
        self.undo.push(Undo::Account(address, old));
    }

    pub(super) fn set_blank(&mut self, address: Address) {
        if self.blank.insert(address) {
            self.undo.push(Undo::Blank(address));
        }
    }

    /// Makes the address an account with ample coin; without code, unless the chain has some there.
    pub(super) fn person(&mut self, address: Address) {
        if self.is_of_chain() {
            let info = self.account(address).unwrap_or_default();
            self.set_account(
                address,
                AccountInfo {
                    balance: info.balance.max(self.purse),
                    nonce: 1,
                    ..info
                },
            );
        } else if !self.accounts.contains_key(&address) {
            self.set_account(
                address,
                AccountInfo {
                    balance: self.purse,
                    nonce: 1,
                    ..AccountInfo::default()
                },
            );
        }
    }

    /// Ensures that the account can pay this number of coins.
    pub(super) fn afford(&mut self, address: Address, coins: U256) {
        let info = self.account(address).unwrap_or_default();
        if info.balance < coins {
            self.set_account(
                address,
                AccountInfo {
                    balance: coins.saturating_add(info.balance),
                    ..info
                },
            );
        }
    }

    /// Sets what the account has of the chain's coin.
    pub(super) fn set_coins(&mut self, address: Address, coins: U256) {
        let info = self.account(address).unwrap_or_default();
        self.set_account(
            address,
            AccountInfo {
                balance: coins,
                ..info
            },
        );
    }

    /// What the account has of the chain's coin.
    pub(super) fn coins(&mut self, address: Address) -> U256 {
        self.account(address)
            .map_or(U256::ZERO, |info| info.balance)
    }

    /// The account as it is now; `None` for none.
    fn account(&mut self, address: Address) -> Option<AccountInfo> {
        match self.accounts.get(&address) {
            Some(info) => Some(info.clone()),
            None => self.chain_account(address),
        }
    }

    /// The code at the address.
    pub(super) fn code(&mut self, address: Address) -> Bytes {
        self.account(address)
            .and_then(|info| info.code)
            .map_or_else(Bytes::new, |code| code.original_bytes())
    }

    /// Sets the code of an address without running a constructor.
    pub(super) fn place(&mut self, address: Address, code: &[u8]) {
        let code = Bytecode::new_legacy(Bytes::copy_from_slice(code));
        self.set_account(
            address,
            AccountInfo {
                nonce: 1,
                code_hash: code.hash_slow(),
                code: Some(code),
                ..AccountInfo::default()
            },
        );
    }

    pub(super) fn code_len(&self, address: Address) -> usize {
        self.accounts
            .get(&address)
            .and_then(|info| info.code.as_ref())
            .map_or(0, |code| code.original_byte_slice().len())
    }

    /// Whether the mock answers at this address.
    pub(super) fn mocked(&self, address: Address) -> bool {
        if self.is_of_chain() {
            return address == self.people.gate;
        }
        !self.accounts.contains_key(&address)
            && !self.blank.contains(&address)
            && !precompiled(address, false)
    }

    /// Whether the address is none of those made up here: it is in the code, in the storage or on the chain.
    pub(super) fn is_real(&self, address: Address) -> bool {
        if self.is_of_chain() {
            !address.is_zero() && !self.made_up(address)
        } else {
            self.mocked(address)
        }
    }
}

impl Database for EvmState {
    type Error = Infallible;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, Infallible> {
        if let Some(info) = self.accounts.get(&address) {
            return Ok(Some(info.clone()));
        }
        if self.blank.contains(&address) || precompiled(address, self.is_of_chain()) {
            return Ok(None);
        }
        if self.is_of_chain() && address != self.people.gate {
            return Ok(self.chain_account(address));
        }
        let (hash, code) = &self.mocks[self.answer as usize];
        Ok(Some(AccountInfo {
            balance: self.purse,
            nonce: 1,
            code_hash: *hash,
            code: Some(code.clone()),
            ..AccountInfo::default()
        }))
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, Infallible> {
        let known = self
            .mocks
            .iter()
            .find(|(of, _)| *of == hash)
            .map(|(_, code)| code.clone());
        let own = || {
            self.accounts
                .values()
                .find(|info| info.code_hash == hash && hash != KECCAK_EMPTY)
                .and_then(|info| info.code.clone())
        };
        Ok(known.or_else(own).unwrap_or_default())
    }

    fn storage(&mut self, address: Address, slot: StorageKey) -> Result<StorageValue, Infallible> {
        self.reads.push((address, slot));
        Ok(self.slot(address, slot))
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, Infallible> {
        let made_up = self.hashes.word(&format!("block {number}"));
        let Some(head) = self
            .chain
            .as_ref()
            .and_then(|chain| chain.block())
            .filter(|head| number <= head.number)
        else {
            return Ok(made_up);
        };
        let kept = match head.number - number {
            0 => U256::from_be_bytes(head.hash),
            1 if head.parent_hash != [0; 32] => U256::from_be_bytes(head.parent_hash),
            _ => self.slot(HASH_HISTORY, U256::from(number % HASHES_KEPT)),
        };
        Ok(if kept.is_zero() {
            made_up
        } else {
            B256::from(kept)
        })
    }
}

/// Whether it is one of the precompiled contracts of a chain.
pub(super) fn is_precompile(address: Address) -> bool {
    precompiled(address, true)
}

/// Addresses 1 to 4: the precompiled contracts available in a fresh world, where further ones would only be a way to burn time. A chain has
/// them all.
fn precompiled(address: Address, of_chain: bool) -> bool {
    let last = if of_chain { 0x11 } else { 4 };
    address[..19].iter().all(|byte| *byte == 0) && (1..=last).contains(&address[19])
}

/// Calls that a router, a factory and a pool answer: `factory()`, `WETH()`, `getPair(address,address)`, `createPair(address,address)`.
const OF_EXCHANGE: [Selector; 4] = [
    [0xC4, 0x5A, 0x01, 0x55],
    [0xAD, 0x5C, 0x46, 0x48],
    [0xE6, 0xA4, 0x39, 0x05],
    [0xC9, 0xC6, 0x53, 0x96],
];

fn mocks(people: &Accounts) -> [(B256, Bytecode); MockAnswer::ALL.len()] {
    MockAnswer::ALL.map(|answer| {
        let code = mock(answer, people);
        (keccak256(&code), Bytecode::new_legacy(code))
    })
}

/// Bytecode that returns 1 to transfer, approve and transferFrom, the exchange's addresses to who asks for them, and the answer three times
/// to anything else.
fn mock(answer: MockAnswer, people: &Accounts) -> Bytes {
    let word = match answer {
        MockAnswer::Pair => super::abi::word_of(people.pair),
        MockAnswer::One => U256::ONE,
        MockAnswer::Zero => U256::ZERO,
        MockAnswer::HugeBalance => U256::ONE << 126,
    };
    let answers = [people.factory, people.coin, people.pair, people.pair].map(super::abi::word_of);
    let moving = super::abi::MOVING
        .into_iter()
        .map(|selector| (selector, U256::ONE));
    let arms: Vec<(Selector, U256)> = moving.chain(OF_EXCHANGE.into_iter().zip(answers)).collect();
    // The selector: CALLDATALOAD(0) >> 224.
    let mut code = vec![0x60, 0x00, 0x35, 0x60, 0xE0, 0x1C];
    for (selector, answer) in arms {
        // DUP1 PUSH4 selector EQ ISZERO PUSH2 next JUMPI; else the answer is stored and returned.
        let next = code.len() + 12 + 33 + 8;
        code.extend([0x80, 0x63]);
        code.extend(selector);
        code.extend([0x14, 0x15, 0x61, (next >> 8) as u8, next as u8, 0x57]);
        code.push(0x7F);
        code.extend(answer.to_be_bytes::<32>());
        code.extend([0x60, 0x00, 0x52, 0x60, 0x20, 0x60, 0x00, 0xF3]);
        code.push(0x5B);
    }
    for offset in [0x00, 0x20, 0x40] {
        code.push(0x7F);
        code.extend(word.to_be_bytes::<32>());
        code.extend([0x60, offset, 0x52]);
    }
    code.extend([0x60, 0x60, 0x60, 0x00, 0xF3]);
    code.into()
}
