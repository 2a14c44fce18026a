//! ABI encoding of calls: the ERC-20 selectors, and arguments by their types. Names are for display only: a function is identified by its
//! 4-byte selector.

use evmole::DynSolType;
use revm::primitives::{Address, U256, keccak256};

use super::{accounts::Accounts, signatures};

pub(super) type Selector = [u8; 4];

pub(super) const TRANSFER: Selector = [0xA9, 0x05, 0x9C, 0xBB];
pub(super) const APPROVE: Selector = [0x09, 0x5E, 0xA7, 0xB3];
pub(super) const TRANSFER_FROM: Selector = [0x23, 0xB8, 0x72, 0xDD];
pub(super) const ALLOWANCE: Selector = [0xDD, 0x62, 0xED, 0x3E];
/// ERC-20 functions that move tokens or permit it.
pub(super) const MOVING: [Selector; 3] = [TRANSFER, APPROVE, TRANSFER_FROM];
pub(super) const BALANCE_OF: Selector = [0x70, 0xA0, 0x82, 0x31];
pub(super) const TOTAL_SUPPLY: Selector = [0x18, 0x16, 0x0D, 0xDD];
/// `owner()` and `getOwner()`.
pub(super) const OWNER_OF_IT: [Selector; 2] = [[0x8D, 0xA5, 0xCB, 0x5B], [0x89, 0x3D, 0x20, 0xE8]];
/// `implementation()`, answered by early proxies.
pub(super) const IMPLEMENTATION: Selector = [0x5C, 0x60, 0xDA, 0x1B];

/// Number of elements of a fixed-size array that get values; the rest is zero.
const LIST_MAX: usize = 16;
/// Maximum number of bytes of all those zeros: a signature may name any length.
const ZEROS_MAX: usize = 1 << 16;
/// Maximum nesting of encoded types; deeper ones become zero.
const DEPTH_MAX: usize = 6;

/// Placeholder for `bytes` and `string` arguments, so short that nothing else has its length.
pub(super) const BYTES: [u8; 1] = [b'a'];

pub(super) fn word_of(address: Address) -> U256 {
    U256::from_be_slice(address.as_slice())
}

pub(super) fn address_of(word: U256) -> Address {
    Address::from_slice(&word.to_be_bytes::<32>()[12..])
}

/// Calldata of a function whose arguments are one word each.
pub(super) fn call(selector: Selector, words: &[U256]) -> Vec<u8> {
    let mut data = selector.to_vec();
    for word in words {
        data.extend(word.to_be_bytes::<32>());
    }
    data
}

/// Storage slot of `mapping[key]` at `base`, in Solidity's layout.
pub(super) fn mapped(key: U256, base: U256) -> U256 {
    let mut bytes = [0; 64];
    bytes[..32].copy_from_slice(&key.to_be_bytes::<32>());
    bytes[32..].copy_from_slice(&base.to_be_bytes::<32>());
    keccak256(bytes).into()
}

/// Values for arguments: addresses and numbers in order, the last one repeated if there are more arguments.
#[derive(Debug, Clone)]
pub(super) struct Filling {
    pub(super) addresses: Vec<Address>,
    pub(super) numbers: Vec<U256>,
    pub(super) yes: bool,
    /// Of arguments of 32 bytes.
    pub(super) word: U256,
    /// The token's decimals, for formatting amounts.
    pub(super) decimals: Option<u8>,
    /// Roles of addresses, for display.
    pub(super) names: RoleNames,
}

impl Filling {
    /// Addresses and one number.
    pub(super) fn plain(addresses: Vec<Address>, number: U256) -> Self {
        Self {
            addresses,
            numbers: vec![number],
            yes: true,
            word: U256::ZERO,
            decimals: None,
            names: RoleNames::default(),
        }
    }
}

/// The encoded arguments and their display text; lists have one element.
pub(super) fn encode(types: &[DynSolType], filling: &Filling) -> (Vec<u8>, String) {
    encode_lists(types, filling, 1)
}

/// As `encode`, with lists of `length` 0 or 1.
pub(super) fn encode_lists(
    types: &[DynSolType],
    filling: &Filling,
    length: usize,
) -> (Vec<u8>, String) {
    let mut state = State {
        filling,
        lists: length.min(1),
        address: 0,
        number: 0,
        words: Vec::new(),
        zeros_left: ZEROS_MAX,
    };
    let data = state.tuple(types.iter(), 0);
    (data, state.words.join(", "))
}

/// Letters of a long text.
const LONG_TEXT: usize = 99;

struct State<'a> {
    filling: &'a Filling,
    lists: usize,
    address: usize,
    number: usize,
    words: Vec<String>,
    zeros_left: usize,
}

impl State<'_> {
    fn tuple<'t>(&mut self, types: impl Iterator<Item = &'t DynSolType>, depth: usize) -> Vec<u8> {
        let parts: Vec<(bool, Vec<u8>)> = types
            .map(|of| (dynamic(of), self.value(of, depth)))
            .collect();
        let head: usize = parts
            .iter()
            .map(|(dynamic, data)| if *dynamic { 32 } else { data.len() })
            .sum();
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
                let address =
                    pick(&self.filling.addresses, &mut self.address).unwrap_or(Address::ZERO);
                self.words.push(self.filling.names.of(address));
                word(word_of(address))
            }
            DynSolType::Uint(bits) | DynSolType::Int(bits) => {
                let mut value = pick(&self.filling.numbers, &mut self.number).unwrap_or_default();
                if *bits < 256 {
                    let signed = usize::from(matches!(of, DynSolType::Int(_)));
                    value = value.min((U256::ONE << (*bits).saturating_sub(signed)) - U256::ONE);
                }
                self.words.push(argument(value, self.filling.decimals));
                word(value)
            }
            DynSolType::FixedBytes(_) | DynSolType::Function => {
                self.words.push(figure(self.filling.word, DIGITS));
                word(self.filling.word)
            }
            DynSolType::Bytes | DynSolType::String => {
                // Contracts store short texts otherwise than long ones.
                let length = if self.filling.yes { 1 } else { LONG_TEXT };
                self.words.push(if self.filling.yes {
                    "\"a\"".into()
                } else {
                    format!("\"{LONG_TEXT} letters\"")
                });
                let mut data = word(U256::from(length));
                data.extend([BYTES[0]].repeat(length));
                data.resize(data.len().next_multiple_of(32), 0);
                data
            }
            DynSolType::Tuple(types) if depth < DEPTH_MAX => self.tuple(types.iter(), depth + 1),
            DynSolType::FixedArray(of, length) if depth < DEPTH_MAX => {
                let mut data = self.tuple(
                    std::iter::repeat_n(&**of, (*length).min(LIST_MAX)),
                    depth + 1,
                );
                if *length > LIST_MAX && !dynamic(of) {
                    let zeros = (data.len() / LIST_MAX)
                        .saturating_mul(length - LIST_MAX)
                        .min(self.zeros_left);
                    self.zeros_left -= zeros;
                    data.resize(data.len() + zeros, 0);
                }
                data
            }
            DynSolType::Array(of) if depth < DEPTH_MAX => {
                let mut data = word(U256::from(self.lists));
                data.extend(self.tuple(std::iter::repeat_n(&**of, self.lists), depth + 1));
                data
            }
            _ => word(U256::ZERO),
        }
    }
}

/// Whether an argument of the type holds words of 32 bytes.
pub(super) fn holds_word(of: &DynSolType) -> bool {
    match of {
        DynSolType::FixedBytes(32) | DynSolType::Uint(256) => true,
        DynSolType::Array(of) | DynSolType::FixedArray(of, _) => holds_word(of),
        _ => false,
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

/// The addresses of a scene that are displayed by their role. Zero for none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RoleNames {
    pub(super) people: Accounts,
    pub(super) token: Address,
    pub(super) pair: Address,
    pub(super) owner: Address,
}

impl RoleNames {
    /// Role of an address in the trial, or its full text.
    pub(super) fn of(&self, address: Address) -> String {
        let known = [
            (Address::ZERO, "zero address"),
            (self.people.pair, "pair"),
            (self.pair, "pair"),
            (self.people.owner, "owner"),
            (self.owner, "owner"),
            (self.people.stranger, "outsider"),
            (self.people.holder, "holder"),
            (self.people.other, "other holder"),
            (self.people.newcomer, "newcomer"),
            (self.token, "token"),
        ];
        known
            .iter()
            .find(|(of, _)| *of == address)
            .map_or_else(|| format!("{address:#x}"), |(_, name)| (*name).to_string())
    }
}

/// Formats a number: in full if short, else with `digits` significant digits and a power of ten.
fn figure(value: U256, digits: usize) -> String {
    let text = value.to_string();
    if value == U256::MAX {
        "2^256-1".into()
    } else if text.len() <= 12 {
        text
    } else {
        let (lead, rest) = text.split_at(1);
        let tail = rest[..(digits - 1).min(rest.len())].trim_end_matches('0');
        format!(
            "{lead}{}{tail}e{}",
            if tail.is_empty() { "" } else { "." },
            rest.len()
        )
    }
}

/// Formats a number argument; whole token amounts get the unit.
fn argument(value: U256, decimals: Option<u8>) -> String {
    let whole = decimals
        .filter(|decimals| *decimals > 2)
        .is_some_and(|decimals| {
            let (whole, rest) = value.div_rem(U256::from(10).pow(U256::from(decimals)));
            rest.is_zero() && !whole.is_zero() && whole < U256::from(WHOLE_MAX)
        });
    if whole {
        amount(value, decimals)
    } else {
        figure(value, DIGITS)
    }
}

/// Token amounts from this on are rounded to a power of ten.
const WHOLE_MAX: u64 = 1_000_000_000_000_000;
/// Digits of a rounded number, and decimal places of an amount.
const DIGITS: usize = 4;
/// No 256-bit word has more digits.
const DIGITS_MAX: usize = 80;

/// Formats an amount: in tokens if the decimals are known, otherwise in base units.
pub(super) fn amount(value: U256, decimals: Option<u8>) -> String {
    amount_to(value, decimals, DIGITS)
}

/// Formats an amount before, after and their signed difference, with enough digits for the first two to differ if they do.
pub(super) fn change(was: U256, now: U256, decimals: Option<u8>) -> [String; 3] {
    let texts = |digits| [was, now].map(|value| amount_to(value, decimals, digits));
    let apart = (DIGITS..DIGITS_MAX)
        .map(texts)
        .find(|[was, now]| was != now);
    let [before, after] = apart.unwrap_or_else(|| texts(DIGITS));
    let sign = if now < was { "-" } else { "+" };
    [
        before,
        after,
        format!("{sign}{}", amount(was.abs_diff(now), decimals)),
    ]
}

fn amount_to(value: U256, decimals: Option<u8>, digits_shown: usize) -> String {
    let Some(decimals) = decimals.map(usize::from).filter(|_| value != U256::MAX) else {
        return format!("{} base units", figure(value, digits_shown));
    };
    let (whole, rest) = value.div_rem(U256::from(10).pow(U256::from(decimals)));
    if whole >= U256::from(WHOLE_MAX) {
        return format!("{} tokens", figure(whole, digits_shown));
    }
    let grouped = grouped(&whole.to_string());
    let digits = format!("{:0>decimals$}", rest.to_string());
    // Below one token, leading zeros do not count as digits.
    let nothing = if whole.is_zero() {
        digits.len() - digits.trim_start_matches('0').len()
    } else {
        1
    };
    let shown = nothing + digits_shown - 1;
    let digits = if rest.is_zero() {
        ""
    } else {
        digits[..shown.min(decimals)].trim_end_matches('0')
    };
    let point = if digits.is_empty() { "" } else { "." };
    format!(
        "{grouped}{point}{digits} token{}",
        if whole == U256::ONE && digits.is_empty() {
            ""
        } else {
            "s"
        }
    )
}

/// Inserts thousands separators.
fn grouped(digits: &str) -> String {
    let first = digits.len() % 3;
    let groups: Vec<&str> = [&digits[..first]]
        .into_iter()
        .chain(
            (first..digits.len())
                .step_by(3)
                .map(|at| &digits[at..at + 3]),
        )
        .filter(|group| !group.is_empty())
        .collect();
    groups.join(",")
}

/// Display text of a call: its name if that is published, otherwise its selector.
pub(super) fn named(selector: Selector, arguments: &str) -> String {
    signatures::name(selector).map_or_else(
        || format!("{}({arguments})", hex(selector)),
        |name| format!("{name}({arguments})"),
    )
}

/// As `named`, for sentences: with the selector beside the name.
pub(super) fn named_beside(selector: Selector, arguments: &str) -> String {
    let hex = hex(selector);
    signatures::name(selector).map_or_else(
        || format!("{hex}({arguments})"),
        |name| format!("{name}({arguments}) [{hex}]"),
    )
}

/// Hexadecimal text of a selector.
pub(super) fn hex(selector: Selector) -> String {
    format!("0x{:08x}", u32::from_be_bytes(selector))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_written_in_tokens_where_the_decimals_are_known() {
        let ten = |power: u64| U256::from(10).pow(U256::from(power));
        let cases = [
            (U256::from(2_000) * ten(18), Some(18), "2,000 tokens"),
            (
                U256::from(1_000_100) * ten(18),
                Some(18),
                "1,000,100 tokens",
            ),
            (U256::ZERO, Some(18), "0 tokens"),
            (ten(17) + ten(19), Some(18), "10.1 tokens"),
            (U256::from(16_389_888), Some(18), "0.0000000000163 tokens"),
            (ten(18), Some(18), "1 token"),
            (U256::from(999_999), Some(6), "0.999 tokens"),
            (U256::from(1_234_567_891), Some(6), "1,234.5678 tokens"),
            (U256::from(250), Some(0), "250 tokens"),
            (ten(60), Some(18), "1e42 tokens"),
            (U256::MAX, Some(18), "2^256-1 base units"),
            (ten(20), None, "1e20 base units"),
        ];
        for (value, decimals, text) in cases {
            assert_eq!(amount(value, decimals), text);
        }
    }

    #[test]
    fn arguments_are_written_as_they_are_passed() {
        let token = U256::from(10).pow(U256::from(18));
        let cases = [
            (U256::from(100) * token, "100 tokens"),
            (token, "1 token"),
            (U256::from(10_000_000) * token, "10,000,000 tokens"),
            (U256::from(99), "99"),
            (token / U256::from(2), "5e17"),
            (U256::MAX, "2^256-1"),
            (U256::ZERO, "0"),
        ];
        for (value, text) in cases {
            assert_eq!(argument(value, Some(18)), text);
        }
        assert_eq!(argument(U256::from(100) * token, None), "1e20");
    }

    #[test]
    fn a_long_static_array_is_as_long_as_its_type() {
        let types: Vec<DynSolType> = ["uint256[20][2]", "address"]
            .map(|text| text.parse().expect("a type"))
            .to_vec();
        let (data, _) = encode(
            &types,
            &Filling::plain(vec![Address::repeat_byte(0xA5)], U256::ONE),
        );
        assert_eq!(
            (data.len(), &data[40 * 32..]),
            (
                41 * 32,
                &word_of(Address::repeat_byte(0xA5)).to_be_bytes::<32>()[..]
            )
        );
        let endless = ["uint256[4000000000]".parse().expect("a type")];
        assert_eq!(
            encode(&endless, &Filling::plain(Vec::new(), U256::ONE))
                .0
                .len(),
            LIST_MAX * 32 + ZEROS_MAX
        );
    }

    #[test]
    fn a_change_has_so_many_digits_that_before_and_after_differ() {
        let ten = |power: u64| U256::from(10).pow(U256::from(power));
        for (was, now, decimals, expected) in [
            (
                ten(24),
                ten(24) + ten(20),
                None,
                [
                    "1e24 base units",
                    "1.0001e24 base units",
                    "+1e20 base units",
                ],
            ),
            (
                ten(24),
                ten(24) + ten(12),
                None,
                [
                    "1e24 base units",
                    "1.000000000001e24 base units",
                    "+1e12 base units",
                ],
            ),
            (
                ten(21) * U256::from(2),
                ten(20) * U256::from(21),
                Some(18),
                ["2,000 tokens", "2,100 tokens", "+100 tokens"],
            ),
            (
                ten(21),
                ten(21) + U256::ONE,
                Some(18),
                [
                    "1,000 tokens",
                    "1,000.000000000000000001 tokens",
                    "+0.000000000000000001 tokens",
                ],
            ),
            (
                ten(20),
                U256::ZERO,
                Some(18),
                ["100 tokens", "0 tokens", "-100 tokens"],
            ),
            (
                ten(40),
                ten(40) + ten(30),
                Some(18),
                [
                    "1e22 tokens",
                    "1.0000000001e22 tokens",
                    "+1,000,000,000,000 tokens",
                ],
            ),
            (
                ten(20),
                ten(20),
                Some(18),
                ["100 tokens", "100 tokens", "+0 tokens"],
            ),
        ] {
            assert_eq!(change(was, now, decimals), expected);
        }
    }

    #[test]
    fn a_call_is_named_where_its_name_is_published() {
        assert_eq!(
            named([0x40, 0xC1, 0x0F, 0x19], "holder, 100 tokens"),
            "mint(holder, 100 tokens)"
        );
        assert_eq!(
            named_beside([0x40, 0xC1, 0x0F, 0x19], "holder"),
            "mint(holder) [0x40c10f19]"
        );
        assert_eq!(
            named_beside([0xDE, 0xAD, 0xBE, 0xEF], "holder"),
            "0xdeadbeef(holder)"
        );
    }
}
