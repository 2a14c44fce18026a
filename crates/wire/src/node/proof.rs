//! Proofs of a node's responses: an account and its slots against the state root of a block, and the block's fields against its hash. The
//! hash itself is trusted. Sends no requests.

use alloy_primitives::{B256, Bytes, keccak256};
use alloy_trie::{Nibbles, proof::verify_proof};
use serde_json::Value;

use super::answer::{bytes, number, word};

type Word = [u8; 32];

/// Fields of a block in the order in which they are hashed, and how each is encoded. Later ones are missing in older blocks.
const HEADER: [(&str, Field); 21] = [
    ("parentHash", Field::Bytes),
    ("sha3Uncles", Field::Bytes),
    ("miner", Field::Bytes),
    ("stateRoot", Field::Bytes),
    ("transactionsRoot", Field::Bytes),
    ("receiptsRoot", Field::Bytes),
    ("logsBloom", Field::Bytes),
    ("difficulty", Field::Number),
    ("number", Field::Number),
    ("gasLimit", Field::Number),
    ("gasUsed", Field::Number),
    ("timestamp", Field::Number),
    ("extraData", Field::Bytes),
    ("mixHash", Field::Bytes),
    ("nonce", Field::Bytes),
    ("baseFeePerGas", Field::Number),
    ("withdrawalsRoot", Field::Bytes),
    ("blobGasUsed", Field::Number),
    ("excessBlobGas", Field::Number),
    ("parentBeaconBlockRoot", Field::Bytes),
    ("requestsHash", Field::Bytes),
];

#[derive(Clone, Copy)]
enum Field {
    Bytes,
    Number,
}

/// The proved values of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvedAccount {
    pub balance: Word,
    /// Hash of its code; the hash of no bytes if it has none.
    pub code_hash: Word,
    /// In the order of the request.
    pub slots: Vec<Word>,
}

impl ProvedAccount {
    pub fn is_code(&self, code: &[u8]) -> bool {
        keccak256(code).0 == self.code_hash
    }
}

/// The state root of a block whose fields match this hash. Fails if they do not.
pub fn state_root(block: &Value, hash: &Word) -> Result<Word, &'static str> {
    let mut fields = Vec::new();
    for (name, field) in HEADER {
        let value = &block[name];
        // The fields of later rules are at the end, so none of them follows one that is missing.
        if value.is_null() {
            break;
        }
        let value = match field {
            Field::Bytes => bytes(value),
            Field::Number => word(value).map(|word| trimmed(&word).to_vec()),
        };
        fields.extend(encoded(&value.ok_or("an unreadable field")?));
    }
    if keccak256(list(&fields)).0 != *hash {
        return Err("fields that don't match its hash");
    }
    word(&block["stateRoot"]).ok_or("no state root")
}

/// The account and the slots in a response to `eth_getProof`, checked against the state root. An error names what is not proved, as "the
/// slot 0x…".
pub fn account(answer: &Value, address: &[u8; 20], slots: &[Word], root: &Word) -> Result<ProvedAccount, String> {
    let told = |name: &str| word(&answer[name]).ok_or_else(|| format!("an unreadable `{name}`"));
    let (balance, code_hash, storage) = (told("balance")?, told("codeHash")?, told("storageHash")?);
    let nonce = number(&answer["nonce"]).ok_or("an unreadable `nonce`")?;
    let leaf = [encoded(trimmed(&nonce.to_be_bytes())), encoded(trimmed(&balance)), encoded(&storage), encoded(&code_hash)].concat();
    let path = nodes(&answer["accountProof"]).ok_or("an unreadable `accountProof`")?;
    let empty = keccak256([]).0;
    // An account that never was has no leaf; nodes write its hashes as those of nothing, or as zero.
    let is_blank = nonce == 0 && balance == [0; 32] && [empty, [0; 32]].contains(&code_hash);
    if is_blank && is_proved(root, address, None, &path) {
        let values = slots.iter().zip(all(&answer["storageProof"]));
        let is_zero = values.map(|(_, slot)| word(&slot["value"])).all(|value| value == Some([0; 32]));
        return if is_zero {
            Ok(ProvedAccount { balance, code_hash: empty, slots: vec![[0; 32]; slots.len()] })
        } else {
            Err("a slot of an account that does not exist".to_owned())
        };
    }
    if !is_proved(root, address, Some(list(&leaf)), &path) {
        return Err("the account".to_owned());
    }
    let mut values = Vec::new();
    for (slot, said) in slots.iter().zip(all(&answer["storageProof"])) {
        let name = || format!("the slot {}", const_hex::encode_prefixed(slot));
        let (value, path) = word(&said["value"]).zip(nodes(&said["proof"])).ok_or_else(name)?;
        let is_leaf = is_proved(&storage, slot, Some(encoded(trimmed(&value))), &path);
        // A slot that is zero has no leaf; some test nodes keep one.
        if !is_leaf && (value != [0; 32] || !is_proved(&storage, slot, None, &path)) {
            return Err(name());
        }
        values.push(value);
    }
    if values.len() < slots.len() {
        Err("some of the requested slots".to_owned())
    } else {
        Ok(ProvedAccount { balance, code_hash, slots: values })
    }
}

fn all(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn nodes(value: &Value) -> Option<Vec<Bytes>> {
    value.as_array()?.iter().map(|node| bytes(node).map(Bytes::from)).collect()
}

fn is_proved(root: &Word, key: &[u8], leaf: Option<Vec<u8>>, path: &[Bytes]) -> bool {
    verify_proof(B256::new(*root), Nibbles::unpack(keccak256(key)), leaf, path).is_ok()
}

/// A number without its leading zeros.
fn trimmed(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}

/// Bytes in the chain's encoding (RLP).
fn encoded(bytes: &[u8]) -> Vec<u8> {
    match bytes {
        [single @ 0..=0x7f] => vec![*single],
        _ => [&head(0x80, bytes.len())[..], bytes].concat(),
    }
}

/// A list of what is encoded already.
fn list(items: &[u8]) -> Vec<u8> {
    [&head(0xc0, items.len())[..], items].concat()
}

fn head(kind: u8, length: usize) -> Vec<u8> {
    if let Ok(short @ 0..=55) = u8::try_from(length) {
        return vec![kind + short];
    }
    let length = length.to_be_bytes();
    let length = trimmed(&length);
    [&[kind + 55 + u8::try_from(length.len()).unwrap_or(8)][..], length].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_hashes_to_its_hash_and_accounts_are_proved_by_its_root() {
        // Of a node: a block, two accounts with slots, and an address where nothing is.
        let recorded: Value = serde_json::from_str(include_str!("proofs.json")).expect("JSON");
        let (block, hash) = (&recorded["block"], word(&recorded["block"]["hash"]).expect("a hash"));
        let root = state_root(block, &hash).expect("it hashes");
        let mut other = block.clone();
        other["gasUsed"] = "0x1".into();
        assert_eq!(state_root(&other, &hash), Err("fields that don't match its hash"));
        for proof in recorded["proofs"].as_array().expect("proofs") {
            let address: [u8; 20] = bytes(&proof["address"]).expect("an address").try_into().expect("20 bytes");
            let keys: Vec<Word> = all(&proof["storageProof"]).map(|slot| word(&slot["key"]).expect("a slot")).collect();
            let told: Vec<Word> = all(&proof["storageProof"]).map(|slot| word(&slot["value"]).expect("a value")).collect();
            let proved = account(proof, &address, &keys, &root).expect("proved");
            assert_eq!((proved.balance, proved.slots), (word(&proof["balance"]).expect("a balance"), told));
            // Lies.
            let lie = |change: &dyn Fn(&mut Value)| {
                let mut proof = proof.clone();
                change(&mut proof);
                account(&proof, &address, &keys, &root).expect_err("a lie")
            };
            assert_eq!(lie(&|proof| proof["balance"] = "0x1234567".into()), "the account");
            assert_eq!(lie(&|proof| proof["accountProof"] = serde_json::json!([])), "the account");
            if proof["nonce"] != "0x0" {
                assert_eq!(lie(&|proof| proof["codeHash"] = const_hex::encode_prefixed([7; 32]).into()), "the account");
                assert!(lie(&|proof| proof["storageProof"][0]["value"] = "0x123".into()).starts_with("the slot 0x"));
                assert!(lie(&|proof| proof["storageProof"][1]["value"] = "0x0".into()).starts_with("the slot 0x"));
                assert_eq!(lie(&|proof| proof["storageProof"] = serde_json::json!([])), "some of the requested slots");
            }
        }
    }

    #[test]
    fn lengths_are_encoded_in_as_few_bytes_as_they_take() {
        assert_eq!((encoded(&[]), encoded(&[0x7f]), encoded(&[0x80])), (vec![0x80], vec![0x7f], vec![0x81, 0x80]));
        assert_eq!((head(0x80, 55), head(0x80, 56), head(0xc0, 256)), (vec![0xb7], vec![0xb8, 56], vec![0xf9, 1, 0]));
    }
}
