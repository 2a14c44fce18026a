//! Which branches of a contract depend on the caller or the arguments: the words on the stack are traced from their origin to the jumps that
//! they decide. An unknown caller may meet such a condition, so a call can be made that meets it too.

use std::{
    collections::{BTreeMap, HashSet},
    rc::Rc,
};

use revm::{
    bytecode::opcode::OPCODE_INFO,
    primitives::{Address, U256},
};

/// The conditional jump, and the difference of two words.
pub(super) const JUMPI: u8 = 0x57;
const SUB: u8 = 0x03;
/// Branches that are kept of a call.
const GUARDS_MAX: usize = 200;
/// Words of memory that are followed at most; a contract may use more, and what is beyond is taken for its own.
const MEMORY_MAX: usize = 4_096;

/// A conditional jump on the way of a call: the instruction, and which of its executions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Branch {
    pub(super) code: Address,
    pub(super) pc: usize,
    pub(super) nth: u32,
}

/// A branch that the caller or the arguments decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Guard {
    pub(super) branch: Branch,
    /// Whether a balance or an allowance is compared: who has as much passes, and may.
    pub(super) of_ledger: bool,
    /// Whether who calls decides it, and nothing that was passed.
    pub(super) of_caller: bool,
    /// What the caller's word or an argument has to be equal to, where it is one word.
    pub(super) against: Option<U256>,
    /// An earlier branch that the same word decided: the first one, if two conditions must both be true.
    pub(super) same_as: Option<Branch>,
}

/// Where a word comes from, a bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sources(u8);

impl Sources {
    /// The caller, or the sender of the transaction.
    const CALLER: Self = Self(1);
    /// What was passed.
    const ARGUMENTS: Self = Self(2);
    /// A slot of balances, allowances or the supply.
    const LEDGER: Self = Self(4);
    /// A hash of it, or the entry that a mapping has for it: what fits cannot be told from the code.
    const HASHED: Self = Self(8);

    fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    fn hashed(self) -> Self {
        if self.of_person() {
            self | Self::HASHED
        } else {
            self
        }
    }

    /// Whether a caller may pass a branch that such a word decides, possibly compared with `against` or with another argument.
    fn is_guard(self, compared: bool, one_word: bool) -> bool {
        // What is computed with a balance fails for who has too little of it.
        if self.has(Self::LEDGER) {
            return self.has(Self::CALLER) && !self.has(Self::ARGUMENTS);
        }
        // Whom an account has chosen may act for it.
        if self.has(Self::CALLER) && self.has(Self::ARGUMENTS) {
            return one_word;
        }
        // A bound of an argument holds for what is passed in truth, too.
        self.has(Self::CALLER) || self.has(Self::ARGUMENTS) && (compared || self.has(Self::HASHED))
    }

    fn of_person(self) -> bool {
        self.has(Self(Self::CALLER.0 | Self::ARGUMENTS.0))
    }
}

impl std::ops::BitOr for Sources {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What is known of a word on the stack.
#[derive(Debug, Clone, Copy, Default)]
struct Origin {
    from: Sources,
    /// The word with which it was compared for equality, if it is the result of that.
    against: Option<U256>,
    /// Whether it is the result of such a comparison.
    compared: bool,
    /// The same for all copies of a word.
    id: usize,
    /// Whether an argument was compared with the same without the bits that its type has not.
    of_type: bool,
}

/// One execution of code: the stack and the memory, as far as they are followed.
#[derive(Debug, Default)]
struct Frame {
    /// The address in whose place the code runs; whether it is traced, and is called by the trader; and the origin of its arguments.
    at: Address,
    watched: bool,
    by_person: bool,
    passed: Sources,
    stack: Vec<Origin>,
    /// Words that were made so far.
    words: usize,
    memory: BTreeMap<usize, Sources>,
    /// Branches, each with the word that decided it.
    decided: Vec<(usize, Branch)>,
    /// Sources of what the last inner call was given, and so of what it returned.
    returned: Sources,
    /// Where the inner call that runs now puts its result.
    output: (usize, usize),
}

impl Frame {
    fn pop(&mut self) -> Origin {
        self.stack.pop().unwrap_or_default()
    }

    fn push(&mut self, from: Sources) {
        self.words += 1;
        self.stack.push(Origin {
            from,
            id: self.words,
            ..Origin::default()
        });
    }

    fn words(at: usize, length: usize) -> impl Iterator<Item = usize> {
        let end = at.saturating_add(length).div_ceil(32);
        at / 32..end.min(at / 32 + MEMORY_MAX)
    }

    fn in_memory(&self, at: usize, length: usize) -> Sources {
        Self::words(at, length)
            .filter_map(|word| self.memory.get(&word))
            .fold(Sources::default(), |all, from| all | *from)
    }

    /// Puts words there. What lies beside them in the same words of memory stays what it was, too.
    fn keep(&mut self, at: usize, length: usize, from: Sources) {
        let whole = at.is_multiple_of(32) && length.is_multiple_of(32);
        for word in Self::words(at, length) {
            if self.memory.len() < MEMORY_MAX || self.memory.contains_key(&word) {
                let kept = self.memory.entry(word).or_default();
                *kept = if whole { from } else { *kept | from };
            }
        }
    }

    /// Before an instruction other than a conditional jump. `words`: those on the stack.
    fn step(&mut self, opcode: u8, words: &[U256], is_ledger: impl Fn(U256) -> bool) {
        let top = |at: usize| {
            words
                .len()
                .checked_sub(at + 1)
                .map_or(U256::ZERO, |at| words[at])
        };
        let place = |at: usize| usize::try_from(top(at)).unwrap_or(usize::MAX);
        match opcode {
            // PUSH0 to PUSH32, DUP, SWAP.
            0x5F..=0x7F => self.push(Sources::default()),
            0x80..=0x8F => {
                let of = self
                    .stack
                    .len()
                    .checked_sub(usize::from(opcode - 0x7F))
                    .map(|at| self.stack[at]);
                self.stack.push(of.unwrap_or_default());
            }
            0x90..=0x9F => {
                let (last, other) = (
                    self.stack.len().wrapping_sub(1),
                    self.stack.len().wrapping_sub(usize::from(opcode - 0x8E)),
                );
                if last < self.stack.len() && other < self.stack.len() {
                    self.stack.swap(last, other);
                }
            }
            // ORIGIN, CALLER.
            0x32 => self.push(Sources::CALLER),
            0x33 => self.push(if self.by_person {
                Sources::CALLER
            } else {
                Sources::default()
            }),
            // CALLDATALOAD: the first word says which function it is.
            0x35 => {
                self.pop();
                self.push(if place(0) == 0 {
                    Sources::default()
                } else {
                    self.passed
                });
            }
            // CALLDATACOPY, RETURNDATACOPY, CODECOPY.
            0x37 | 0x39 | 0x3E => {
                let from = match opcode {
                    0x37 => self.passed,
                    0x3E => self.returned,
                    _ => Sources::default(),
                };
                self.keep(place(0), place(2), from);
                self.stack.truncate(self.stack.len().saturating_sub(3));
            }
            // MCOPY.
            0x5E => {
                let from = self.in_memory(place(1), place(2));
                self.keep(place(0), place(2), from);
                self.stack.truncate(self.stack.len().saturating_sub(3));
            }
            // MLOAD, MSTORE, MSTORE8.
            0x51 => {
                self.pop();
                let from = self.in_memory(place(0), 32);
                self.push(from);
            }
            0x52 | 0x53 => {
                self.pop();
                let from = self.pop().from;
                self.keep(place(0), if opcode == 0x52 { 32 } else { 1 }, from);
            }
            // KECCAK256.
            0x20 => {
                self.pop();
                self.pop();
                let from = self.in_memory(place(0), place(1)).hashed();
                self.push(from);
            }
            // SLOAD.
            0x54 => {
                let key = self.pop().from;
                let ledger = if is_ledger(top(0)) {
                    Sources::LEDGER
                } else {
                    Sources::default()
                };
                self.push(key.hashed() | ledger);
            }
            // EQ, SUB, XOR.
            0x14 | 0x03 | 0x18 => self.compare(opcode, [top(0), top(1)]),
            // ISZERO: the same comparison.
            0x15 => {}
            // CALL, CALLCODE, DELEGATECALL, STATICCALL.
            0xF1 | 0xF2 => self.call([place(3), place(4), place(5), place(6)], 7),
            0xF4 | 0xFA => self.call([place(2), place(3), place(4), place(5)], 6),
            _ => {
                let Some(info) = OPCODE_INFO[usize::from(opcode)] else {
                    return;
                };
                let from =
                    (0..info.inputs()).fold(Sources::default(), |all, _| all | self.pop().from);
                for _ in 0..info.outputs() {
                    self.push(from);
                }
            }
        }
    }

    /// Two words are compared, or subtracted, which is how compilers compare addresses, too.
    fn compare(&mut self, opcode: u8, words: [U256; 2]) {
        let [left, right] = [self.pop(), self.pop()].map(|origin| origin.from);
        let against = match (left.of_person(), right.of_person()) {
            (true, false) => Some(words[1]),
            (false, true) => Some(words[0]),
            _ => None,
        };
        let of_type =
            (left, right) == (Sources::ARGUMENTS, Sources::ARGUMENTS) && words[0] == words[1];
        self.push(left | right);
        if let Some(made) = self.stack.last_mut() {
            *made = Origin {
                against,
                compared: opcode != SUB,
                of_type,
                ..*made
            };
        }
    }

    /// Another contract is called with one part of the memory, and answers into another; `popped`: words that the call takes.
    fn call(&mut self, [from, length, to, most]: [usize; 4], popped: usize) {
        let given = self.in_memory(from, length);
        (self.returned, self.output) = (given, (to, most));
        // Contracts without code of their own end at once.
        self.keep(to, most, given);
        self.stack.truncate(self.stack.len().saturating_sub(popped));
        self.push(given);
    }
}

/// Follows the words of a call.
#[derive(Debug, Default)]
pub(super) struct GuardTrace {
    /// Contracts whose branches belong to no token.
    exchange: Vec<Address>,
    ledger: Rc<HashSet<(Address, U256)>>,
    frames: Vec<Frame>,
    times: BTreeMap<(Address, usize), u32>,
    pub(super) guards: Vec<Guard>,
}

impl GuardTrace {
    /// `exchange`: contracts that are not followed; `ledger`: the slots that balances and allowances are read from.
    pub(super) fn new(exchange: Vec<Address>, ledger: Rc<HashSet<(Address, U256)>>) -> Self {
        Self {
            exchange,
            ledger,
            ..Self::default()
        }
    }

    /// Some code begins. `target`: in whose place; `delegated`: whether by a delegating call.
    pub(super) fn enter(&mut self, target: Address, delegated: bool) {
        let (by_person, passed) = match self.frames.last() {
            None => (true, Sources::ARGUMENTS),
            Some(frame) => (frame.by_person && delegated, frame.returned),
        };
        let watched = !self.exchange.contains(&target);
        self.frames.push(Frame {
            at: target,
            watched,
            by_person,
            passed,
            ..Frame::default()
        });
    }

    /// It has ended.
    pub(super) fn leave(&mut self) {
        self.frames.pop();
        if let Some(frame) = self.frames.last_mut() {
            let ((at, length), from) = (frame.output, frame.returned);
            frame.keep(at, length, from);
        }
    }

    /// Before an instruction. `stack`: the words on it; `place`: of the code, and of the instruction in it.
    pub(super) fn step(&mut self, opcode: u8, words: &[U256], (code, pc): (Address, usize)) {
        let Some(frame) = self.frames.last_mut() else {
            return;
        };
        if !frame.watched {
            return;
        }
        frame.stack.resize(words.len(), Origin::default());
        if opcode != JUMPI {
            let (ledger, of) = (&self.ledger, frame.at);
            frame.step(opcode, words, |slot| ledger.contains(&(of, slot)));
            return;
        }
        frame.pop();
        let Origin {
            from,
            against,
            compared,
            of_type,
            id,
        } = frame.pop();
        let nth = self.times.entry((code, pc)).or_default();
        let branch = Branch {
            code,
            pc,
            nth: *nth,
        };
        *nth += 1;
        if from.is_guard(compared || against.is_some(), against.is_some())
            && !of_type
            && self.guards.len() < GUARDS_MAX
        {
            let of_ledger = from.has(Sources::LEDGER);
            let of_caller = !from.has(Sources::ARGUMENTS);
            let same_as = frame
                .decided
                .iter()
                .find(|(of, _)| *of == id)
                .map(|(_, branch)| *branch);
            frame.decided.push((id, branch));
            self.guards.push(Guard {
                branch,
                of_ledger,
                of_caller,
                against,
                same_as,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{
        Budget,
        accounts::{Accounts, Seed},
        machine::Machine,
    };

    /// The branches of code that jumps once, on the word that these instructions leave.
    fn guards(condition: &str) -> Vec<Guard> {
        let condition = const_hex::decode(condition).expect("hex");
        let at = u8::try_from(condition.len() + 4).expect("short code");
        // PUSH1 at JUMPI STOP JUMPDEST STOP
        let runtime = [&condition[..], &[0x60, at, JUMPI, 0x00, 0x5B, 0x00]].concat();
        let length = u8::try_from(runtime.len()).expect("short code");
        // PUSH1 length PUSH1 10 PUSH0 CODECOPY PUSH1 length PUSH0 RETURN
        let creation = [
            &[0x60, length, 0x60, 10, 0x5F, 0x39, 0x60, length, 0x5F, 0xF3][..],
            &runtime,
        ]
        .concat();
        let (never, seed) = (|| false, Seed::default());
        let people = Accounts::new(seed, None, None);
        let mut machine = Machine::new(&Budget::default(), &never, people, seed, 1_800_000_000);
        let made = machine
            .create(people.owner, creation)
            .created
            .expect("a contract");
        machine.start_guards(Rc::default());
        let call = [[0; 16].as_slice(), &[7; 20]].concat();
        assert!(
            machine.simulate(people.stranger, made, call).ok,
            "{runtime:02x?}"
        );
        machine.end_guards()
    }

    #[test]
    fn who_calls_and_what_fits_a_hash_are_guards_and_a_bound_is_none() {
        let word = "11".repeat(32);
        let address = "22".repeat(20);
        // The condition, whether it is a guard, whether of the caller alone, and whether one word passes it.
        let cases = [
            (
                "the caller is one account",
                format!("3373{address}14"),
                Some((true, true)),
            ),
            (
                "the caller has a role: an entry of a mapping",
                "335f5260405f2054".to_owned(),
                Some((true, false)),
            ),
            (
                "the argument's hash is a word",
                format!("6004355f5260205f207f{word}14"),
                Some((false, true)),
            ),
            (
                "the argument is a word",
                format!("6004357f{word}14"),
                Some((false, true)),
            ),
            (
                "the argument is below a bound",
                "600435600510".to_owned(),
                None,
            ),
            (
                "the argument is within its type",
                format!("6004358073{}1614", "ff".repeat(20)),
                None,
            ),
            ("a setting of the contract", "600154".to_owned(), None),
        ];
        for (what, condition, expected) in cases {
            let found: Vec<_> = guards(&condition)
                .iter()
                .map(|guard| (guard.of_caller, guard.against.is_some()))
                .collect();
            assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{what}");
        }
    }

    #[test]
    fn a_copy_of_a_word_decides_with_it() {
        // Two of the same account: the second branch is decided by a copy of the first's word.
        let address = "22".repeat(20);
        let found = guards(&format!("3373{address}14806025575b"));
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(
            (found[0].same_as, found[1].same_as),
            (None, Some(found[0].branch))
        );
    }
}
