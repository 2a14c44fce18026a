//! A two-pass assembler for EVM bytecode: mnemonics, number pushes, labels, function selectors and event topics by signature, and the init
//! code that deploys. It knows nothing of tokens.

use std::collections::HashMap;

use revm::{
    bytecode::opcode::{JUMPDEST, OpCode, PUSH1, PUSH2, PUSH4, PUSH32},
    primitives::keccak256,
};

/// A program fragment, whose size is known before labels are resolved.
enum Fragment {
    Bytes(Vec<u8>),
    /// `PUSH2` of a label's offset.
    Label(String),
}

impl Fragment {
    fn size(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Label(_) => 3,
        }
    }
}

/// Assembles `text`. Words are separated by white space; `;` starts a comment up to the end of the line; `name:` defines a label, and
/// `@name` pushes its offset; `12` is pushed in the fewest bytes, `0x000c` in as many as are written; `$transfer(address,uint256)` pushes a
/// function selector, `%Transfer(address,address,uint256)` an event topic. A name in the table `macros` expands to its text, which may use
/// the macros above it in the table.
pub(super) fn assemble(text: &str, macros: &[(&str, &str)]) -> Result<Vec<u8>, String> {
    let mut words = Vec::new();
    for line in text.lines() {
        expand(line.split(';').next().unwrap_or_default(), macros, &mut words);
    }
    let mut fragments = Vec::new();
    let mut offsets = HashMap::new();
    let mut at = 0;
    for word in words {
        let fragment = if let Some(label) = word.strip_suffix(':') {
            if offsets.insert(label.to_owned(), at).is_some() {
                return Err(format!("`{label}:` stands twice"));
            }
            Fragment::Bytes(vec![JUMPDEST])
        } else if let Some(label) = word.strip_prefix('@') {
            Fragment::Label(label.to_owned())
        } else {
            Fragment::Bytes(bytes_of(word).ok_or_else(|| format!("`{word}`: expected an opcode, a number, a label or a signature"))?)
        };
        at += fragment.size();
        fragments.push(fragment);
    }
    let mut code = Vec::with_capacity(at);
    for fragment in fragments {
        match fragment {
            Fragment::Bytes(bytes) => code.extend(bytes),
            Fragment::Label(label) => {
                let offset = offsets.get(&label).ok_or_else(|| format!("`@{label}`: no such label"))?;
                let offset = u16::try_from(*offset).map_err(|_| format!("`@{label}` lies beyond 65,535 bytes"))?;
                code.push(PUSH2);
                code.extend(offset.to_be_bytes());
            }
        }
    }
    Ok(code)
}

/// Splits `text` into words, expanding macros recursively.
fn expand<'a>(text: &'a str, table: &[(&str, &'a str)], words: &mut Vec<&'a str>) {
    for word in text.split_whitespace() {
        match table.iter().position(|(name, _)| *name == word) {
            // Terminates: each level sees fewer rows.
            Some(row) => expand(table[row].1, &table[..row], words),
            None => words.push(word),
        }
    }
}

fn bytes_of(word: &str) -> Option<Vec<u8>> {
    let hash_of = |signature: &str| signature.ends_with(')').then(|| keccak256(signature));
    if let Some(function) = word.strip_prefix('$') {
        return Some([&[PUSH4][..], &hash_of(function)?[..4]].concat());
    }
    if let Some(event) = word.strip_prefix('%') {
        return Some([&[PUSH32][..], &hash_of(event)?[..]].concat());
    }
    if word.starts_with(|first: char| first.is_ascii_digit()) { push(word) } else { opcode(word).map(|byte| vec![byte]) }
}

/// Returns the opcode of this mnemonic, except PUSH1 to PUSH32, which are written as numbers.
fn opcode(word: &str) -> Option<u8> {
    let is_named = |byte: &u8| OpCode::new(*byte).is_some_and(|known| known.as_str().eq_ignore_ascii_case(word));
    (0..=u8::MAX).find(is_named).filter(|byte| !(PUSH1..=PUSH32).contains(byte))
}

/// Encodes the `PUSHn` of a number: decimal in the fewest bytes, hex in as many as are written.
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

/// Init code: runs `constructor`, then returns `runtime`.
pub(super) fn deploy(constructor: &[u8], runtime: &[u8]) -> Vec<u8> {
    // PUSH2 size, DUP1, PUSH2 offset, PUSH1 0, CODECOPY, PUSH1 0, RETURN, INVALID
    const COPY: usize = 14;
    let [size, offset] = [runtime.len(), constructor.len() + COPY].map(|offset| (offset as u16).to_be_bytes());
    let copy: [u8; COPY] = [PUSH2, size[0], size[1], 0x80, PUSH2, offset[0], offset[1], PUSH1, 0, 0x39, PUSH1, 0, 0xf3, 0xfe];
    [constructor, &copy, runtime].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACROS: &[(&str, &str)] = &[("FIVE", "5"), ("MASK", "0x00ff"), ("BOTH", "FIVE MASK and")];

    #[test]
    fn each_kind_of_word_becomes_its_bytes() {
        for (text, code) in [
            ("add stop", "0100"),
            ("0 5 255 256 65536", "6000600560ff61010062010000"),
            ("0x00 0x000c", "600061000c"),
            ("dup1 dup16 swap1 swap16 log0 log4", "808f909fa0a4"),
            ("$transfer(address,uint256)", "63a9059cbb"),
            ("%Transfer(address,address,uint256)", "7fddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"),
            ("FIVE MASK", "60056100ff"),
            ("BOTH stop", "60056100ff1600"),
            ("@end add end: stop ; @nowhere", "610004015b00"),
            ("back: @back jump", "5b61000056"),
            ("", ""),
        ] {
            assert_eq!(assemble(text, MACROS), Ok(const_hex::decode(code).expect("hex")), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_assembled_is_named() {
        for text in ["frobnicate", "@nowhere", "a: a:", "$transfer", "%Transfer", "0x0", "dup17", "push1", "log5", "0xzz", "0x", "12a"] {
            assert!(assemble(text, MACROS).is_err(), "{text}");
        }
        assert!(assemble(&format!("0x{}", "00".repeat(33)), MACROS).is_err());
    }

    #[test]
    fn init_code_ends_with_the_runtime_code() {
        assert_eq!(deploy(&[0x5b], &[0xaa, 0xbb]), const_hex::decode("5b6100028061000f6000396000f3feaabb").expect("hex"));
    }
}
