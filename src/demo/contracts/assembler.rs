//! A two-pass assembler of EVM bytecode from text: mnemonics, numbers pushed by their width, labels, selectors and event topics by
//! name, and the prelude that deploys. It knows nothing of tokens.

use std::collections::HashMap;

/// Opcodes by name; `PUSH`, `DUP`, `SWAP` and `LOG` are counted, see `opcode`. Numbers: the Ethereum Yellow Paper, appendix H.
const OPCODES: &[(&str, u8)] = &[
    ("stop", 0x00),
    ("add", 0x01),
    ("mul", 0x02),
    ("sub", 0x03),
    ("div", 0x04),
    ("mod", 0x06),
    ("exp", 0x0a),
    ("lt", 0x10),
    ("gt", 0x11),
    ("eq", 0x14),
    ("iszero", 0x15),
    ("and", 0x16),
    ("or", 0x17),
    ("not", 0x19),
    ("shl", 0x1b),
    ("shr", 0x1c),
    ("sha3", 0x20),
    ("address", 0x30),
    ("balance", 0x31),
    ("origin", 0x32),
    ("caller", 0x33),
    ("callvalue", 0x34),
    ("calldataload", 0x35),
    ("calldatasize", 0x36),
    ("calldatacopy", 0x37),
    ("codesize", 0x38),
    ("codecopy", 0x39),
    ("extcodesize", 0x3b),
    ("returndatasize", 0x3d),
    ("returndatacopy", 0x3e),
    ("timestamp", 0x42),
    ("number", 0x43),
    ("pop", 0x50),
    ("mload", 0x51),
    ("mstore", 0x52),
    ("sload", 0x54),
    ("sstore", 0x55),
    ("jump", 0x56),
    ("jumpi", 0x57),
    ("pc", 0x58),
    ("msize", 0x59),
    ("gas", 0x5a),
    ("create", 0xf0),
    ("call", 0xf1),
    ("return", 0xf3),
    ("delegatecall", 0xf4),
    ("staticcall", 0xfa),
    ("revert", 0xfd),
    ("invalid", 0xfe),
    ("selfdestruct", 0xff),
];
const JUMPDEST: u8 = 0x5b;
const PUSH1: u8 = 0x60;
const PUSH2: u8 = 0x61;
const PUSH4: u8 = 0x63;
const PUSH32: u8 = 0x7f;

/// What a text may name: a function as `$transfer(address,uint256)` pushes its selector, an event as `%Transfer` its topic; a word as
/// `OWNER` stands for the text it means, in which the words above it in the table may stand.
#[derive(Debug, Clone, Copy)]
pub(super) struct SymbolTable {
    pub(super) functions: &'static [(&'static str, u32)],
    pub(super) events: &'static [(&'static str, &'static str)],
    pub(super) words: &'static [(&'static str, &'static str)],
}

/// One piece of a program whose size is known before where the labels lie.
enum Piece {
    Bytes(Vec<u8>),
    /// `PUSH2` of where the label lies.
    Label(String),
}

impl Piece {
    fn size(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Label(_) => 3,
        }
    }
}

/// The bytecode of `text`. Words are parted by white space; `;` starts a comment that ends with the line; `name:` is a place to
/// jump to and `@name` pushes where it lies; `12` is pushed in as few bytes as hold it, `0x000c` in as many as are written.
pub(super) fn assemble(text: &str, names: &SymbolTable) -> Result<Vec<u8>, String> {
    let mut words = Vec::new();
    for line in text.lines() {
        expand(line.split(';').next().unwrap_or_default(), names.words, &mut words);
    }
    let mut pieces = Vec::new();
    let mut places = HashMap::new();
    let mut at = 0;
    for word in words {
        let piece = if let Some(label) = word.strip_suffix(':') {
            if places.insert(label.to_owned(), at).is_some() {
                return Err(format!("`{label}:` stands twice"));
            }
            Piece::Bytes(vec![JUMPDEST])
        } else if let Some(label) = word.strip_prefix('@') {
            Piece::Label(label.to_owned())
        } else {
            Piece::Bytes(bytes_of(word, names).ok_or_else(|| format!("`{word}`: expected an opcode, a number, a label or a name"))?)
        };
        at += piece.size();
        pieces.push(piece);
    }
    let mut code = Vec::with_capacity(at);
    for piece in pieces {
        match piece {
            Piece::Bytes(bytes) => code.extend(bytes),
            Piece::Label(label) => {
                let place = places.get(&label).ok_or_else(|| format!("`@{label}`: no such label"))?;
                let place = u16::try_from(*place).map_err(|_| format!("`@{label}` lies beyond 65,535 bytes"))?;
                code.push(PUSH2);
                code.extend(place.to_be_bytes());
            }
        }
    }
    Ok(code)
}

/// The words of `text`, those of the table written out.
fn expand<'a>(text: &'a str, table: &[(&str, &'a str)], words: &mut Vec<&'a str>) {
    for word in text.split_whitespace() {
        match table.iter().position(|(name, _)| *name == word) {
            // Each step looks at fewer rows, so this ends.
            Some(row) => expand(table[row].1, &table[..row], words),
            None => words.push(word),
        }
    }
}

fn bytes_of(word: &str, names: &SymbolTable) -> Option<Vec<u8>> {
    if let Some(function) = word.strip_prefix('$') {
        let (_, selector) = names.functions.iter().find(|(name, _)| *name == function)?;
        return Some([vec![PUSH4], selector.to_be_bytes().to_vec()].concat());
    }
    if let Some(event) = word.strip_prefix('%') {
        return push(names.events.iter().find(|(name, _)| *name == event)?.1);
    }
    if word.starts_with(|first: char| first.is_ascii_digit()) { push(word) } else { opcode(word).map(|byte| vec![byte]) }
}

fn opcode(word: &str) -> Option<u8> {
    let counted = [("dup", 0x7f, 1, 16), ("swap", 0x8f, 1, 16), ("log", 0xa0, 0, 4)];
    for (name, base, least, most) in counted {
        if let Some(count) = word.strip_prefix(name).and_then(|count| count.parse::<u8>().ok()) {
            return (least..=most).contains(&count).then_some(base + count);
        }
    }
    OPCODES.iter().find(|(name, _)| *name == word).map(|(_, byte)| *byte)
}

/// `PUSHn` of a number: decimal in as few bytes as hold it, hex in as many as are written.
fn push(number: &str) -> Option<Vec<u8>> {
    let bytes = if let Some(digits) = number.strip_prefix("0x") {
        const_hex::decode(digits).ok()?
    } else {
        let value: u128 = number.parse().ok()?;
        let bytes = value.to_be_bytes();
        bytes[(value.leading_zeros() as usize / 8).min(bytes.len() - 1)..].to_vec()
    };
    let length = u8::try_from(bytes.len()).ok().filter(|length| (1..=PUSH32 - PUSH1 + 1).contains(length))?;
    Some([vec![PUSH1 + length - 1], bytes].concat())
}

/// Creation code: `constructor` runs, then `runtime` is what stays.
pub(super) fn deploy(constructor: &[u8], runtime: &[u8]) -> Vec<u8> {
    // PUSH2 size, DUP1, PUSH2 offset, PUSH1 0, CODECOPY, PUSH1 0, RETURN, INVALID
    const COPY: usize = 14;
    let [size, offset] = [runtime.len(), constructor.len() + COPY].map(|place| (place as u16).to_be_bytes());
    let copy: [u8; COPY] = [PUSH2, size[0], size[1], 0x80, PUSH2, offset[0], offset[1], PUSH1, 0, 0x39, PUSH1, 0, 0xf3, 0xfe];
    [constructor, &copy, runtime].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: SymbolTable = SymbolTable {
        functions: &[("transfer(address,uint256)", 0xa905_9cbb)],
        events: &[("Short", "0xddf2")],
        words: &[("FIVE", "5"), ("MASK", "0x00ff"), ("BOTH", "FIVE MASK and")],
    };

    #[test]
    fn each_kind_of_word_becomes_its_bytes() {
        for (text, code) in [
            ("add stop", "0100"),
            ("0 5 255 256 65536", "6000600560ff61010062010000"),
            ("0x00 0x000c", "600061000c"),
            ("dup1 dup16 swap1 swap16 log0 log4", "808f909fa0a4"),
            ("$transfer(address,uint256) %Short", "63a9059cbb61ddf2"),
            ("FIVE MASK", "60056100ff"),
            ("BOTH stop", "60056100ff1600"),
            ("@end add end: stop ; @nowhere", "610004015b00"),
            ("back: @back jump", "5b61000056"),
            ("", ""),
        ] {
            assert_eq!(assemble(text, &NAMES), Ok(const_hex::decode(code).expect("hex")), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_assembled_is_named() {
        for text in ["frobnicate", "@nowhere", "a: a:", "$unknown()", "%Unknown", "0x0", "dup17", "dup0", "log5", "0xzz", "0x", "12a"] {
            assert!(assemble(text, &NAMES).is_err(), "{text}");
        }
        assert!(assemble(&format!("0x{}", "00".repeat(33)), &NAMES).is_err());
    }

    #[test]
    fn what_deploys_ends_with_what_stays() {
        assert_eq!(deploy(&[0x5b], &[0xaa, 0xbb]), const_hex::decode("5b6100028061000f6000396000f3feaabb").expect("hex"));
    }
}
