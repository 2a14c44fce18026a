//! The Transfer event of tokens, as a node encodes it. Sends no requests.

use ruint::Uint;
use serde_json::Value;

use model::{address::Address, chain_state::Word};
use wire::node;

/// `Transfer(address,address,uint256)`.
pub(super) const TRANSFER: Word = [
    0xdd, 0xf2, 0x52, 0xad, 0x1b, 0xe2, 0xc8, 0x9b, 0x69, 0xc2, 0xb0, 0x68, 0xfc, 0x37, 0x8d, 0xaa,
    0x95, 0x2b, 0xa7, 0xf1, 0x63, 0xc4, 0xa1, 0x16, 0x28, 0xf5, 0x5a, 0x4d, 0xf5, 0x23, 0xb3, 0xef,
];

/// A transfer of a token.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TransferEvent {
    pub(super) token: Address,
    pub(super) block: u64,
    pub(super) block_hash: Word,
    /// Seconds since 1970; not every node writes it.
    pub(super) timestamp: Option<u64>,
    pub(super) transaction: Word,
    pub(super) log_index: u64,
    pub(super) from: Address,
    pub(super) to: Address,
    pub(super) value: Uint<256, 4>,
}

impl TransferEvent {
    /// Reads a log. `Ok(None)`: it is no transfer of an amount, as that of an NFT, or it was taken back. Errors: it is not understood.
    pub(super) fn read(log: &Value) -> Result<Option<Self>, ()> {
        let [token, block, block_hash, transaction, log_index] = [
            "address",
            "blockNumber",
            "blockHash",
            "transactionHash",
            "logIndex",
        ]
        .map(|member| &log[member]);
        let topics: Vec<Word> = log["topics"]
            .as_array()
            .ok_or(())?
            .iter()
            .map(node::word)
            .collect::<Option<_>>()
            .ok_or(())?;
        let data = node::bytes(&log["data"]).ok_or(())?;
        if log["removed"].as_bool() == Some(true) || topics.first() != Some(&TRANSFER) {
            return Ok(None);
        }
        // Some old tokens do not index sender and receiver.
        let words: Vec<Word> = data.as_chunks::<32>().0.to_vec();
        let [from, to, value] = match [&topics[1..], &words[..]].concat()[..] {
            [from, to, value] if topics.len() < 4 => [from, to, value],
            _ => return Ok(None),
        };
        let event = || {
            Some(Self {
                token: Address::parse(token.as_str()?)?,
                block: node::number(block)?,
                block_hash: node::word(block_hash)?,
                timestamp: node::number(&log["blockTimestamp"]),
                transaction: node::word(transaction)?,
                log_index: node::number(log_index)?,
                from: address(&from),
                to: address(&to),
                value: Uint::from_be_bytes(value),
            })
        };
        event().map(Some).ok_or(())
    }
}

/// The address in the last 20 bytes of a word.
fn address(word: &Word) -> Address {
    let mut address = [0; 20];
    address.copy_from_slice(&word[12..]);
    Address(address)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn word(number: u64) -> String {
        format!("0x{number:064x}")
    }

    fn log(topics: &[String], data: &str) -> Value {
        json!({
            "address": format!("0x{}", "aa".repeat(20)), "topics": topics, "data": data, "blockNumber": "0x10", "blockHash": word(16),
            "transactionHash": word(7), "logIndex": "0x2", "removed": false
        })
    }

    #[test]
    fn transfers_of_amounts_are_read_in_both_spellings() {
        let signature = const_hex::encode_prefixed(TRANSFER);
        let indexed = log(&[signature.clone(), word(1), word(2)], &word(500));
        let plain = log(
            std::slice::from_ref(&signature),
            &format!("{}{:064x}{:064x}", word(1), 2, 500),
        );
        let event = TransferEvent::read(&indexed)
            .expect("understood")
            .expect("a transfer");
        assert_eq!(
            (event.block, event.log_index, event.timestamp, event.value),
            (16, 2, None, Uint::from(500))
        );
        assert_eq!((event.from.0[19], event.to.0[19]), (1, 2));
        assert_eq!(TransferEvent::read(&plain), Ok(Some(event)));
        let mut timed = indexed.clone();
        timed["blockTimestamp"] = json!("0x65540000");
        assert_eq!(
            TransferEvent::read(&timed)
                .expect("understood")
                .and_then(|event| event.timestamp),
            Some(0x6554_0000)
        );
        // An NFT, another event, one that was taken back.
        let mut removed = indexed.clone();
        removed["removed"] = json!(true);
        let nft = log(&[signature.clone(), word(1), word(2), word(3)], "0x");
        for none in [
            nft,
            log(&[word(9), word(1), word(2)], &word(500)),
            removed,
            log(&[signature.clone(), word(1), word(2)], "0x"),
        ] {
            assert_eq!(TransferEvent::read(&none), Ok(None), "{none}");
        }
        for (member, wrong) in [
            ("blockNumber", json!(16)),
            ("topics", json!("none")),
            ("data", json!("0x1")),
            ("address", json!(null)),
        ] {
            let mut log = indexed.clone();
            log[member] = wrong;
            assert_eq!(TransferEvent::read(&log), Err(()), "{member}");
        }
    }
}
