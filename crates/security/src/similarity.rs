//! Similarity of contract bytecode: 5-grams of normalized opcodes, weighted by inverse document frequency. Candidates come from
//! MinHash signatures with banding (LSH); the similarity itself is exact. Only signatures are stored, not the grams. Classifying code that
//! is not close to any known scam is done in `bigrams`.

pub mod bigrams;
mod margin;

use std::collections::HashMap;

use super::opcodes::{PUSH0, PUSH1, PUSH32, instructions};
use model::address::Address;

/// Opcodes per gram.
const GRAM: usize = 5;
const HASHES: usize = 128;
const BANDS: usize = 32;
const ROWS: usize = HASHES / BANDS;
/// Maximum number of candidates compared exactly.
const EXACT_MAX: usize = 50;
/// Maximum number of opcodes examined: well over the most that a chain accepts.
const OPCODES_MAX: usize = 1 << 17;

/// Grams of a code with their counts, ordered by gram.
pub type Grams = Vec<(u64, u32)>;
pub type Signature = [u32; HASHES];

/// Origin of a known code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CodeOrigin {
    Scam,
    /// Contract of a token that is in no scam list.
    Token,
}

/// A known code.
#[derive(Debug, Clone)]
struct Entry {
    address: Address,
    group: CodeOrigin,
    signature: Box<Signature>,
}

/// A known code similar to the queried one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Near {
    pub address: Address,
    pub similarity: f64,
}

/// Index of known codes for similarity search.
#[derive(Debug, Default)]
pub struct SimilarityIndex {
    entries: Vec<Entry>,
    /// Document frequency: number of codes that contain a gram.
    document_counts: HashMap<u64, u32>,
    /// LSH buckets: entries by the hash of a band's rows.
    bands: HashMap<u64, Vec<u32>>,
}

impl SimilarityIndex {
    /// Adds a code and returns its signature; `None` if the code is too short for a gram.
    pub fn add(&mut self, address: Address, group: CodeOrigin, code: &[u8]) -> Option<&Signature> {
        let grams = grams(code);
        if grams.is_empty() {
            return None;
        }
        for (gram, _) in &grams {
            *self.document_counts.entry(*gram).or_default() += 1;
        }
        let signature = Box::new(signature(&grams));
        let place = self.entries.len() as u32;
        for key in band_keys(&signature) {
            self.bands.entry(key).or_default().push(place);
        }
        self.entries.push(Entry {
            address,
            group,
            signature,
        });
        self.entries.last().map(|entry| &*entry.signature)
    }

    pub fn count(&self, group: CodeOrigin) -> usize {
        self.entries
            .iter()
            .filter(|entry| entry.group == group)
            .count()
    }

    /// Codes of the group most similar to `code`, in descending order, ties by address; excludes `own`. `code_of` reads a code again.
    pub fn nearest(
        &self,
        own: &Address,
        code: &[u8],
        group: CodeOrigin,
        code_of: impl Fn(&Address) -> Option<Vec<u8>>,
    ) -> Vec<Near> {
        let own_grams = grams(code);
        let own_signature = signature(&own_grams);
        let mut seen: Vec<u32> = band_keys(&own_signature)
            .filter_map(|key| self.bands.get(&key))
            .flatten()
            .copied()
            .collect();
        seen.sort_unstable();
        seen.dedup();
        let mut candidates: Vec<(usize, &Entry)> = seen
            .into_iter()
            .map(|place| &self.entries[place as usize])
            .filter(|entry| entry.group == group && entry.address != *own)
            .map(|entry| (agreeing(&own_signature, &entry.signature), entry))
            .collect();
        candidates.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.address.cmp(&b.1.address)));
        let exact =
            |entry: &Entry| Some(self.similarity(&own_grams, &grams(&code_of(&entry.address)?)));
        let measured = candidates.iter().take(EXACT_MAX).filter_map(|(_, entry)| {
            Some(Near {
                address: entry.address,
                similarity: exact(entry)?,
            })
        });
        let mut near: Vec<Near> = measured.collect();
        near.sort_by(|a, b| {
            b.similarity
                .total_cmp(&a.similarity)
                .then(a.address.cmp(&b.address))
        });
        near
    }

    /// Weighted Jaccard similarity of the gram counts, with inverse document frequency as weights. Identical codes give 1.
    pub fn similarity(&self, a: &Grams, b: &Grams) -> f64 {
        let (mut both, mut either) = (0.0, 0.0);
        let (mut i, mut j) = (0, 0);
        while i < a.len() || j < b.len() {
            let gram = match (a.get(i), b.get(j)) {
                (Some(x), Some(y)) => x.0.min(y.0),
                (Some(x), None) | (None, Some(x)) => x.0,
                (None, None) => break,
            };
            let count = |list: &Grams, place: &mut usize| match list.get(*place) {
                Some((at, count)) if *at == gram => {
                    *place += 1;
                    f64::from(*count)
                }
                _ => 0.0,
            };
            let (x, y) = (count(a, &mut i), count(b, &mut j));
            let weight = self.weight(gram);
            both += weight * x.min(y);
            either += weight * x.max(y);
        }
        if either > 0.0 { both / either } else { 0.0 }
    }

    /// Inverse document frequency, smoothed so that no gram has weight 0.
    fn weight(&self, gram: u64) -> f64 {
        let (all, with) = (
            self.entries.len() as f64,
            f64::from(self.document_counts.get(&gram).copied().unwrap_or_default()),
        );
        ((1.0 + all) / (1.0 + with)).ln() + 1.0
    }
}

/// Grams of a code: all runs of five normalized opcodes, counted.
pub fn grams(code: &[u8]) -> Grams {
    let symbols = normalise(code);
    let symbols = &symbols[..symbols.len().min(OPCODES_MAX)];
    // A symbol is a byte, so a gram of five fits in a u64.
    let mut all: Vec<u64> = symbols
        .windows(GRAM)
        .map(|gram| {
            gram.iter()
                .fold(0, |key, symbol| key << 8 | u64::from(*symbol))
        })
        .collect();
    all.sort_unstable();
    let mut counted: Grams = Vec::new();
    for gram in all {
        match counted.last_mut() {
            Some((last, count)) if *last == gram => *count += 1,
            _ => counted.push((gram, 1)),
        }
    }
    counted
}

/// MinHash signature (Broder, "On the resemblance and containment of documents", 1997): for each of 128 hash functions, the minimum over
/// the grams.
pub fn signature(grams: &Grams) -> Signature {
    let mut least = [u32::MAX; HASHES];
    for (gram, _) in grams {
        let base = mix(*gram);
        // All hash functions derive from one hash (Kirsch and Mitzenmacher, 2006); each is mixed again, as minima require.
        for (i, slot) in least.iter_mut().enumerate() {
            *slot = (*slot).min(
                (mix(base.wrapping_add((i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))) >> 32)
                    as u32,
            );
        }
    }
    least
}

/// Estimated Jaccard similarity of the two sets of grams.
pub fn estimate(a: &Signature, b: &Signature) -> f64 {
    agreeing(a, b) as f64 / HASHES as f64
}

fn agreeing(a: &Signature, b: &Signature) -> usize {
    a.iter().zip(b).filter(|(a, b)| a == b).count()
}

fn band_keys(signature: &Signature) -> impl Iterator<Item = u64> {
    signature
        .chunks_exact(ROWS)
        .enumerate()
        .map(|(band, rows)| {
            rows.iter()
                .fold(mix(band as u64 + 1), |key, row| mix(key ^ u64::from(*row)))
        })
}

/// Finaliser of SplitMix64 (Steele, Lea and Flood, 2014).
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

// Normalization of bytecode for comparison: metadata removed; the parts that compilers vary (PUSH data, the index of DUP and SWAP)
// collapsed to one symbol each.

const PUSH: u8 = PUSH1;
const DUP: u8 = 0x80;
const SWAP: u8 = 0x90;

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

    fn code(seed: u64, length: usize) -> Vec<u8> {
        // Opcodes other than PUSH, so that each byte is a symbol.
        (0..length as u64)
            .map(|i| (mix(seed ^ i.wrapping_mul(0x9e37_79b9)) % 0x20) as u8 + 1)
            .collect()
    }

    #[test]
    fn equal_codes_are_1_and_the_nearest_comes_first() {
        let mut index = SimilarityIndex::default();
        let (a, mut b, c) = (code(1, 900), code(1, 900), code(2, 900));
        b[440..470].copy_from_slice(&code(3, 30));
        let codes = [
            (Address([1; 20]), a.clone()),
            (Address([2; 20]), b),
            (Address([3; 20]), c),
            (Address([4; 20]), a.clone()),
        ];
        for (address, code) in &codes {
            index.add(*address, CodeOrigin::Scam, code);
        }
        let code_of = |address: &Address| {
            codes
                .iter()
                .find(|(a, _)| a == address)
                .map(|(_, code)| code.clone())
        };
        let near = index.nearest(&Address([4; 20]), &a, CodeOrigin::Scam, code_of);
        assert_eq!(
            near[0],
            Near {
                address: Address([1; 20]),
                similarity: 1.0
            }
        );
        assert!(
            near[1].address == Address([2; 20])
                && near[1].similarity > 0.8
                && near[1].similarity < 1.0,
            "{near:?}"
        );
        assert!(
            near.iter().all(|near| near.address != Address([4; 20])),
            "never itself"
        );
        assert!(
            index
                .nearest(&Address([4; 20]), &a, CodeOrigin::Token, code_of)
                .is_empty()
        );
    }

    #[test]
    fn codes_too_short_for_a_gram_resemble_nothing() {
        let mut index = SimilarityIndex::default();
        for (i, code) in [&[][..], &[0x60], &[0xfe, 0xfe], &[0x7f; 40]]
            .into_iter()
            .enumerate()
        {
            index.add(Address([i as u8; 20]), CodeOrigin::Scam, code);
            assert!(
                index
                    .nearest(&Address([9; 20]), code, CodeOrigin::Scam, |_| Some(
                        code.to_vec()
                    ))
                    .is_empty(),
                "{code:?}"
            );
        }
        assert_eq!(index.count(CodeOrigin::Scam), 0);
    }
}

#[cfg(test)]
mod normal_tests {
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
