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
    primitives::{Address, B256, Bytes, KECCAK_EMPTY, StorageKey, StorageValue, U256, keccak256},
    state::AccountInfo,
};

use model::{
    address::Address as ModelAddress,
    chain_state::{ChainState, MissingState},
};

/// Small address that the mock returns: it serves as factory, router, wrapped coin and pair.
pub(super) const PAIR: Address = small(0x00FA_1700);
/// A router that is not the pair.
pub(super) const ROUTER: Address = person(0x66);
pub(super) const OWNER: Address = person(0x11);
pub(super) const STRANGER: Address = person(0x22);
/// Two holders, so that a power over one differs from a power over all.
pub(super) const HOLDER: Address = person(0x33);
pub(super) const OTHER: Address = person(0x44);
/// An account without tokens.
pub(super) const NEWCOMER: Address = person(0x55);
/// Address for runtime code that no constructor deployed.
pub(super) const RUNTIME_ADDRESS: Address = person(0x77);

const PEOPLE: [Address; 6] = [OWNER, STRANGER, HOLDER, OTHER, NEWCOMER, ROUTER];
/// A mock contract even over the state of a chain: it is passed to functions that set a contract which the token consults.
pub(super) const GATE: Address = small(0x00FA_1A00);
/// Maximum number of accounts and of slots noted as missing in one run.
const MISSING_MAX: usize = 4_096;
const PURSE: U256 = U256::from_limbs([0, 1 << 40, 0, 0]);

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

/// A test account: bytes derived from `byte` that resemble a random address and occur in no code.
const fn person(byte: u8) -> Address {
    let mut bytes = [0; 20];
    let mut at = 0;
    while at < 20 {
        bytes[at] = byte.wrapping_add((at as u8).wrapping_mul(7)) | 0x80;
        at += 1;
    }
    Address::new(bytes)
}

/// Answer of the mock to anything but a transfer or an approval.
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

pub(super) struct World {
    accounts: HashMap<Address, AccountInfo>,
    storage: HashMap<(Address, U256), U256>,
    /// Addresses at which a contract is about to be created: empty accounts.
    blank: HashSet<Address>,
    undo: Vec<Undo>,
    mocks: [(B256, Bytecode); MockAnswer::ALL.len()],
    pub(super) answer: MockAnswer,
    /// Slots read by the running call, each once.
    pub(super) reads: Vec<(Address, U256)>,
    /// The chain behind it; `None` for a fresh world.
    chain: Option<Arc<dyn ChainState>>,
    /// What was read and is not known of that chain: it counted as zero.
    missing: MissingState,
}

impl World {
    pub(super) fn new() -> Self {
        let person = AccountInfo { balance: PURSE, nonce: 1, ..AccountInfo::default() };
        Self {
            accounts: PEOPLE.iter().map(|address| (*address, person.clone())).collect(),
            storage: HashMap::new(),
            blank: HashSet::new(),
            undo: Vec::new(),
            mocks: MockAnswer::ALL.map(|answer| {
                let code = mock(answer);
                (keccak256(&code), Bytecode::new_legacy(code))
            }),
            answer: MockAnswer::Pair,
            reads: Vec::new(),
            chain: None,
            missing: MissingState::default(),
        }
    }

    /// A world that begins as the chain is.
    pub(super) fn of_chain(chain: Arc<dyn ChainState>) -> Self {
        let mut world = Self { chain: Some(chain), ..Self::new() };
        // Whoever makes the block, so that it is not asked for.
        world.accounts.entry(Address::ZERO).or_default();
        world
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
                Some(Undo::Slot(address, slot, Some(value))) => drop(self.storage.insert((address, slot), value)),
                Some(Undo::Slot(address, slot, None)) => drop(self.storage.remove(&(address, slot))),
                Some(Undo::Account(address, Some(info))) => drop(self.accounts.insert(address, info)),
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
        let Some(chain) = self.chain.as_ref().filter(|_| !self.blank.contains(&address) && !Self::made_up(address)) else {
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

    fn made_up(address: Address) -> bool {
        PEOPLE.contains(&address) || address == GATE || precompiled(address, true)
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
        let code = Bytecode::new_raw_checked(code.clone()).unwrap_or_else(|_| Bytecode::new_legacy(code));
        let info = AccountInfo { balance, nonce: 1, code_hash: code.hash_slow(), code: Some(code), ..AccountInfo::default() };
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
            self.set_account(address, AccountInfo { balance: PURSE, nonce: 1, ..info });
        } else if !self.accounts.contains_key(&address) {
            self.set_account(address, AccountInfo { balance: PURSE, nonce: 1, ..AccountInfo::default() });
        }
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
        self.account(address).and_then(|info| info.code).map_or_else(Bytes::new, |code| code.original_bytes())
    }

    /// Sets the code of an address without running a constructor.
    pub(super) fn place(&mut self, address: Address, code: &[u8]) {
        let code = Bytecode::new_legacy(Bytes::copy_from_slice(code));
        self.set_account(address, AccountInfo { nonce: 1, code_hash: code.hash_slow(), code: Some(code), ..AccountInfo::default() });
    }

    pub(super) fn code_len(&self, address: Address) -> usize {
        self.accounts.get(&address).and_then(|info| info.code.as_ref()).map_or(0, |code| code.original_byte_slice().len())
    }

    /// Whether the mock answers at this address.
    pub(super) fn mocked(&self, address: Address) -> bool {
        if self.is_of_chain() {
            return address == GATE;
        }
        !self.accounts.contains_key(&address) && !self.blank.contains(&address) && !precompiled(address, false)
    }

    /// Whether the address is none of those made up here: it is in the code, in the storage or on the chain.
    pub(super) fn is_real(&self, address: Address) -> bool {
        if self.is_of_chain() { !address.is_zero() && !Self::made_up(address) } else { self.mocked(address) }
    }
}

impl Database for World {
    type Error = Infallible;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, Infallible> {
        if let Some(info) = self.accounts.get(&address) {
            return Ok(Some(info.clone()));
        }
        if self.blank.contains(&address) || precompiled(address, self.is_of_chain()) {
            return Ok(None);
        }
        if self.is_of_chain() && address != GATE {
            return Ok(self.chain_account(address));
        }
        let (hash, code) = &self.mocks[self.answer as usize];
        Ok(Some(AccountInfo { balance: PURSE, nonce: 1, code_hash: *hash, code: Some(code.clone()), ..AccountInfo::default() }))
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, Infallible> {
        let known = self.mocks.iter().find(|(of, _)| *of == hash).map(|(_, code)| code.clone());
        let own = || self.accounts.values().find(|info| info.code_hash == hash && hash != KECCAK_EMPTY).and_then(|info| info.code.clone());
        Ok(known.or_else(own).unwrap_or_default())
    }

    fn storage(&mut self, address: Address, slot: StorageKey) -> Result<StorageValue, Infallible> {
        self.reads.push((address, slot));
        Ok(self.slot(address, slot))
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, Infallible> {
        let head = self.chain.as_ref().and_then(|chain| chain.block()).filter(|head| head.number == number);
        Ok(head.map_or_else(|| keccak256(number.to_be_bytes()), |head| B256::new(head.hash)))
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

/// Bytecode that returns 1 to transfer, approve and transferFrom, and the answer three times to anything else.
fn mock(answer: MockAnswer) -> Bytes {
    let word: u128 = match answer {
        MockAnswer::Pair => u128::from(u32::from_be_bytes([PAIR[16], PAIR[17], PAIR[18], PAIR[19]])),
        MockAnswer::One => 1,
        MockAnswer::Zero => 0,
        MockAnswer::HugeBalance => 1 << 126,
    };
    // The selector: CALLDATALOAD(0) >> 224.
    let mut code = vec![0x60, 0x00, 0x35, 0x60, 0xE0, 0x1C];
    for selector in super::abi::MOVING {
        code.extend([0x80, 0x63]);
        code.extend(selector);
        code.extend([0x14, 0x60, 0x00, 0x57]);
    }
    for offset in [0x00, 0x20, 0x40] {
        code.push(0x6F);
        code.extend(word.to_be_bytes());
        code.extend([0x60, offset, 0x52]);
    }
    code.extend([0x60, 0x60, 0x60, 0x00, 0xF3]);
    let yes = code.len() as u8;
    code.extend([0x5B, 0x60, 0x01, 0x60, 0x00, 0x52, 0x60, 0x20, 0x60, 0x00, 0xF3]);
    for arm in 0..3 {
        // Jump target: after DUP1 PUSH4 selector EQ PUSH1.
        code[6 + arm * 10 + 8] = yes;
    }
    code.into()
}
