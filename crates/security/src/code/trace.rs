//! What an observer notes of calls to one contract: whom the caller is compared with, what words and slots are compared with, and which entries of
//! mappings the slots are.

use std::collections::BTreeMap;

use revm::primitives::{Address, U256};

use super::abi;

/// Entries of each list.
const TRACE_MAX: usize = 4_000;

/// Trace of calls: who is compared with the caller, and which entries of mappings the slots are.
#[derive(Debug, Default)]
pub(super) struct Trace {
    caller: U256,
    pub(super) of: Address,
    /// Values the caller was compared with, and the slot read last before.
    pub(super) compared: Vec<(U256, Option<U256>)>,
    /// Words whose comparisons are recorded, and what they were compared with.
    pub(super) words: Vec<U256>,
    pub(super) against: Vec<U256>,
    /// Of those the ones that they have to be equal to.
    pub(super) equal: Vec<U256>,
    /// What loaded slots were compared with.
    pub(super) loaded_against: Vec<U256>,
    loaded: Vec<U256>,
    /// Whether the step before loaded a slot.
    loads: bool,
    /// Slots read, in order, each with its key if it belongs to a mapping.
    pub(super) read: Vec<(U256, Option<U256>)>,
    hashed: Vec<(U256, U256)>,
    /// Slots of mapping entries, each with the two words whose hash it is.
    entries: BTreeMap<U256, [U256; 2]>,
}

/// A struct in a mapping has its members in this many slots from the entry on.
const MEMBERS_MAX: U256 = U256::from_limbs([64, 0, 0, 0]);
/// Maximum nesting of mappings.
const NESTED_MAX: usize = 4;

impl Trace {
    /// Of the calls to `of` that `caller` makes.
    pub(super) fn new(caller: Address, of: Address) -> Self {
        Self {
            caller: abi::word_of(caller),
            of,
            ..Self::default()
        }
    }

    /// The keys of all entries of mappings that were looked up.
    pub(super) fn keys(&self) -> impl Iterator<Item = U256> {
        self.hashed.iter().map(|(_, key)| *key)
    }

    /// Whether the slot is the mapping entry of this address.
    pub(super) fn kept_for(&self, slot: U256, who: Address) -> bool {
        self.hashed.contains(&(slot, abi::word_of(who)))
    }

    /// The two words that a slot's entry is the hash of, and the member's offset in it.
    fn entry(&self, slot: U256) -> Option<([U256; 2], U256)> {
        let (entry, words) = self.entries.range(..=slot).next_back()?;
        (slot - entry < MEMBERS_MAX).then_some((*words, slot - entry))
    }

    /// The slot of the same entry with another key; `None` if the slot does not depend on the key.
    pub(super) fn entry_of(&self, slot: U256, key: U256, other: U256) -> Option<U256> {
        self.with_key(slot, key, other, NESTED_MAX)
    }

    fn with_key(&self, slot: U256, key: U256, other: U256, depth: usize) -> Option<U256> {
        let (words, member) = self.entry(slot).filter(|_| depth > 0)?;
        let moved = words.map(|word| {
            if word == key {
                Some(other)
            } else {
                self.with_key(word, key, other, depth - 1)
            }
        });
        let [first, second] = [0, 1].map(|at| moved[at].unwrap_or(words[at]));
        moved
            .iter()
            .any(Option::is_some)
            .then(|| abi::mapped(first, second) + member)
    }

    /// The slot of the mapping that a slot belongs to; `None` for a plain variable.
    pub(super) fn mapping_of(&self, slot: U256) -> Option<U256> {
        let plain = |word: U256| word < U256::from(1 << 16);
        let mut base = None;
        let mut inner = slot;
        while let Some(([first, second], _)) = self.entry(inner).filter(|_| base != Some(inner)) {
            // Vyper hashes in the reverse order: the slot, which is small, comes first.
            inner = if plain(first) && !plain(second) && self.entry(second).is_none() {
                first
            } else {
                second
            };
            base = Some(inner);
        }
        base
    }

    pub(super) fn step(
        &mut self,
        opcode: u8,
        stack: &[U256],
        preimage: impl Fn(usize) -> Option<[U256; 2]>,
    ) {
        let top = |at: usize| stack.len().checked_sub(at + 1).map(|at| stack[at]);
        if std::mem::take(&mut self.loads)
            && self.loaded.len() < TRACE_MAX
            && let Some(value) = top(0)
        {
            self.loaded.push(value);
        }
        if opcode == 0x14
            && self.loaded_against.len() < TRACE_MAX
            && let (Some(left), Some(right)) = (top(0), top(1))
        {
            let other = |one: U256, other: U256| self.loaded.contains(&one).then_some(other);
            let found = other(left, right).into_iter().chain(other(right, left));
            self.loaded_against.extend(found.collect::<Vec<_>>());
        }
        // LT, GT, SLT, SGT, EQ, SUB, XOR.
        if !self.words.is_empty()
            && matches!(opcode, 0x10..=0x14 | 0x03 | 0x18)
            && self.against.len() < TRACE_MAX
            && let (Some(left), Some(right)) = (top(0), top(1))
        {
            let other = if self.words.contains(&left) {
                Some(right)
            } else {
                self.words.contains(&right).then_some(left)
            };
            self.against.extend(other);
            if matches!(opcode, 0x14 | 0x18) {
                self.equal.extend(other);
            }
        }
        match opcode {
            // EQ, SUB and XOR: the opcodes with which compilers compare addresses.
            0x14 | 0x03 | 0x18 if self.compared.len() < TRACE_MAX => {
                if let (Some(left), Some(right)) = (top(0), top(1)) {
                    let slot = self.read.last().map(|(slot, _)| *slot);
                    if left == self.caller {
                        self.compared.push((right, slot));
                    } else if right == self.caller {
                        self.compared.push((left, slot));
                    }
                }
            }
            // SLOAD.
            0x54 if self.read.len() < TRACE_MAX => {
                self.loads = true;
                if let Some(slot) = top(0) {
                    let key = self
                        .hashed
                        .iter()
                        .find(|(hash, _)| *hash == slot)
                        .map(|(_, key)| *key);
                    self.read.push((slot, key));
                }
            }
            // KECCAK256 of two words: the slot of a mapping entry.
            0x20 if top(1) == Some(U256::from(64)) && self.hashed.len() < TRACE_MAX => {
                let at = top(0).and_then(|at| usize::try_from(at).ok());
                if let Some([key, base]) = at.and_then(preimage) {
                    // Vyper hashes in the reverse order.
                    let slot = abi::mapped(key, base);
                    self.entries.insert(slot, [key, base]);
                    self.hashed
                        .push((slot, if base == self.caller { base } else { key }));
                }
            }
            _ => {}
        }
    }
}
