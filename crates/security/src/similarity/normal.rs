//! Normalization of bytecode for comparison: metadata removed; the parts that compilers vary (PUSH data, the index of DUP and SWAP)
//! collapsed to one symbol each.

use crate::opcodes::{PUSH0, PUSH1, PUSH32, instructions};

pub(super) const PUSH: u8 = PUSH1;
pub(super) const DUP: u8 = 0x80;
pub(super) const SWAP: u8 = 0x90;

/// Opcodes of the code: every PUSH with its data is one symbol, as are every DUP and every SWAP.
pub fn normalise(code: &[u8]) -> Vec<u8> {
    let code = without_metadata(code);
    let mut symbols = Vec::with_capacity(code.len() / 2);
    symbols.extend(instructions(code).map(|(opcode, _)| match opcode {
        PUSH0..=PUSH32 => PUSH,
        DUP..=0x8f => DUP,
        SWAP..=0x9f => SWAP,
        other => other,
    }));
    symbols
}

/// Compilers append CBOR metadata (a map that begins with `bzzr`, `ipfs`, `solc` or `experimental`) and its length in two bytes.
fn without_metadata(code: &[u8]) -> &[u8] {
    let Some((rest, length)) = code.split_last_chunk::<2>() else {
        return code;
    };
    let length = usize::from(u16::from_be_bytes(*length));
    let Some(start) = rest.len().checked_sub(length) else {
        return code;
    };
    let metadata = &rest[start..];
    let keys: [&[u8]; 4] = [b"bzzr", b"ipfs", b"solc", b"experimental"];
    let map = metadata
        .first()
        .is_some_and(|first| (0xa1..=0xa4).contains(first));
    if map
        && keys
            .iter()
            .any(|key| metadata.get(2..2 + key.len()) == Some(*key))
    {
        &code[..start]
    } else {
        code
    }
}

/// Decodes hex text with or without `0x`; `None` if it is invalid.
pub fn bytes(text: &str) -> Option<Vec<u8>> {
    const_hex::decode(text.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pushes_dups_and_swaps_are_one_symbol_each() {
        // PUSH1 80, PUSH2 0040, PUSH0, DUP3, SWAP2, ADD
        assert_eq!(
            normalise(&[0x60, 0x80, 0x61, 0, 0x40, 0x5f, 0x82, 0x91, 0x01]),
            [PUSH, PUSH, PUSH, DUP, SWAP, 0x01]
        );
        // A PUSH truncated by the end of the code.
        assert_eq!(normalise(&[0x7f, 1, 2]), [PUSH]);
        assert!(normalise(&[]).is_empty());
    }

    #[test]
    fn metadata_is_cut_off_and_nothing_else() {
        let mut code = vec![0x01, 0x02, 0x03];
        let metadata = [
            &[0xa2, 0x64][..],
            b"ipfs",
            &[0x58, 0x22],
            &[7; 34],
            &[0x64],
            b"solc",
            &[0x43, 0, 8, 4],
        ]
        .concat();
        code.extend(&metadata);
        code.extend((metadata.len() as u16).to_be_bytes());
        assert_eq!(normalise(&code), [1, 2, 3]);
        // A length beyond the start, and one that points at something other than metadata.
        assert_eq!(normalise(&[0x01, 0xff, 0xff]), [0x01, 0xff, 0xff]);
        assert_eq!(
            normalise(&[0x01, 0x02, 0x00, 0x01]),
            [0x01, 0x02, 0x00, 0x01]
        );
    }

    #[test]
    fn hex_is_read_and_odd_hex_is_not() {
        assert_eq!(bytes("0x6001"), Some(vec![0x60, 1]));
        assert_eq!(bytes(" aB "), Some(vec![0xab]));
        assert_eq!(
            (bytes("0x123"), bytes("0xzz"), bytes("0x")),
            (None, None, Some(vec![]))
        );
    }
}
