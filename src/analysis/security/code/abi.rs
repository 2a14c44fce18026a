//! Calls in bytes: the selectors of the token standard, and arguments encoded by their types. No names: a function is its selector.

use evmole::DynSolType;
use revm::primitives::{Address, U256, keccak256};

use super::world::{FRESH, HOLDER, OTHER, PAIR};

pub(super) type Selector = [u8; 4];

pub(super) const TRANSFER: Selector = [0xA9, 0x05, 0x9C, 0xBB];
pub(super) const APPROVE: Selector = [0x09, 0x5E, 0xA7, 0xB3];
pub(super) const TRANSFER_FROM: Selector = [0x23, 0xB8, 0x72, 0xDD];
pub(super) const BALANCE_OF: Selector = [0x70, 0xA0, 0x82, 0x31];
pub(super) const TOTAL_SUPPLY: Selector = [0x18, 0x16, 0x0D, 0xDD];
/// `owner()` and `getOwner()`.
pub(super) const OWNER_OF_IT: [Selector; 2] = [[0x8D, 0xA5, 0xCB, 0x5B], [0x89, 0x3D, 0x20, 0xE8]];
/// `implementation()`, which proxies of old answered.
pub(super) const IMPLEMENTATION: Selector = [0x5C, 0x60, 0xDA, 0x1B];

/// Longest list that is made up for an argument.
const LIST_MAX: usize = 16;
/// Deepest nesting of types that is encoded; deeper ones become empty.
const DEPTH_MAX: usize = 6;

/// What is passed for bytes: so short that nothing but this has its length.
pub(super) const BYTES: [u8; 1] = [b'a'];

pub(super) fn word_of(address: Address) -> U256 {
    U256::from_be_slice(address.as_slice())
}

pub(super) fn address_of(word: U256) -> Address {
    Address::from_slice(&word.to_be_bytes::<32>()[12..])
}

/// A call whose arguments are all one word.
pub(super) fn call(selector: Selector, words: &[U256]) -> Vec<u8> {
    let mut data = selector.to_vec();
    for word in words {
        data.extend(word.to_be_bytes::<32>());
    }
    data
}

/// The slot of `mapping[key]` at `base`, as Solidity places it.
pub(super) fn mapped(key: U256, base: U256) -> U256 {
    let mut bytes = [0; 64];
    bytes[..32].copy_from_slice(&key.to_be_bytes::<32>());
    bytes[32..].copy_from_slice(&base.to_be_bytes::<32>());
    keccak256(bytes).into()
}

/// What arguments are filled with: by order for addresses and numbers, the last one again when there are more.
#[derive(Debug, Clone)]
pub(super) struct Filling {
    pub(super) addresses: Vec<Address>,
    pub(super) numbers: Vec<U256>,
    pub(super) yes: bool,
}

/// The arguments encoded, and in words for people.
pub(super) fn encode(types: &[DynSolType], filling: &Filling) -> (Vec<u8>, String) {
    let mut state = State { filling, address: 0, number: 0, words: Vec::new() };
    let data = state.tuple(types.iter(), 0);
    (data, state.words.join(", "))
}

struct State<'a> {
    filling: &'a Filling,
    address: usize,
    number: usize,
    words: Vec<String>,
}

impl State<'_> {
    fn tuple<'t>(&mut self, types: impl Iterator<Item = &'t DynSolType>, depth: usize) -> Vec<u8> {
        let parts: Vec<(bool, Vec<u8>)> = types.map(|of| (dynamic(of), self.value(of, depth))).collect();
        let head: usize = parts.iter().map(|(dynamic, data)| if *dynamic { 32 } else { data.len() }).sum();
        let (mut heads, mut tails) = (Vec::with_capacity(head), Vec::new());
        for (dynamic, data) in parts {
            if dynamic {
                heads.extend(U256::from(head + tails.len()).to_be_bytes::<32>());
                tails.extend(data);
            } else {
                heads.extend(data);
            }
        }
        heads.extend(tails);
        heads
    }

    fn value(&mut self, of: &DynSolType, depth: usize) -> Vec<u8> {
        let word = |value: U256| value.to_be_bytes::<32>().to_vec();
        match of {
            DynSolType::Bool => {
                self.words.push(self.filling.yes.to_string());
                word(U256::from(self.filling.yes))
            }
            DynSolType::Address => {
                let address = pick(&self.filling.addresses, &mut self.address).unwrap_or(Address::ZERO);
                self.words.push(name(address));
                word(word_of(address))
            }
            DynSolType::Uint(bits) | DynSolType::Int(bits) => {
                let mut value = pick(&self.filling.numbers, &mut self.number).unwrap_or_default();
                if *bits < 256 {
                    let signed = usize::from(matches!(of, DynSolType::Int(_)));
                    value = value.min((U256::ONE << (*bits).saturating_sub(signed)) - U256::ONE);
                }
                self.words.push(figure(value));
                word(value)
            }
            DynSolType::FixedBytes(_) | DynSolType::Function => {
                self.words.push("0".into());
                word(U256::ZERO)
            }
            DynSolType::Bytes | DynSolType::String => {
                self.words.push("\"a\"".into());
                let mut data = word(U256::ONE);
                data.extend(word(U256::from(BYTES[0]) << 248));
                data
            }
            DynSolType::Tuple(types) if depth < DEPTH_MAX => self.tuple(types.iter(), depth + 1),
            DynSolType::FixedArray(of, length) if depth < DEPTH_MAX => {
                self.tuple(std::iter::repeat_n(&**of, (*length).min(LIST_MAX)), depth + 1)
            }
            DynSolType::Array(of) if depth < DEPTH_MAX => {
                let mut data = word(U256::ONE);
                data.extend(self.tuple(std::iter::once(&**of), depth + 1));
                data
            }
            _ => word(U256::ZERO),
        }
    }
}

fn pick<T: Copy>(from: &[T], next: &mut usize) -> Option<T> {
    let taken = from.get((*next).min(from.len().saturating_sub(1))).copied();
    *next += 1;
    taken
}

fn dynamic(of: &DynSolType) -> bool {
    match of {
        DynSolType::Bytes | DynSolType::String | DynSolType::Array(_) => true,
        DynSolType::FixedArray(of, _) => dynamic(of),
        DynSolType::Tuple(types) => types.iter().any(dynamic),
        _ => false,
    }
}

/// An address by its part in the trial.
pub(super) fn name(address: Address) -> String {
    let known = [
        (PAIR, "pair"),
        (super::world::OWNER, "owner"),
        (super::world::STRANGER, "stranger"),
        (HOLDER, "holder"),
        (OTHER, "other holder"),
        (FRESH, "newcomer"),
        (super::world::PLACED, "token"),
        (Address::ZERO, "zero address"),
    ];
    known.iter().find(|(of, _)| *of == address).map_or_else(|| format!("{address:#x}"), |(_, name)| (*name).to_string())
}

/// A number as people read it: all of it while short, else rounded to a power of ten.
pub(super) fn figure(value: U256) -> String {
    let text = value.to_string();
    if value == U256::MAX {
        "2^256-1".into()
    } else if text.len() <= 12 {
        text
    } else {
        let (lead, rest) = text.split_at(1);
        let tail = rest[..3].trim_end_matches('0');
        format!("{lead}{}{tail}e{}", if tail.is_empty() { "" } else { "." }, rest.len())
    }
}

/// A selector as it is answered.
pub(super) fn hex(selector: Selector) -> String {
    format!("0x{:08x}", u32::from_be_bytes(selector))
}
