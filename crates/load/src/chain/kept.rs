//! The state of a token as a Parquet file in the dataset's folder: one row for each code, balance, slot or list of events, with the block
//! it was read at. Files are replaced whole, and an unreadable file counts as missing.

use std::{
    iter::repeat_n,
    path::{Path, PathBuf},
    sync::Arc,
};

use polars::prelude::{DataFrame, PolarsResult};

use serde_json::{Value, json};

use super::{
    read::event_list,
    token_state::{TokenState, no_code},
};
use crate::error::ReadError;
use frames::{
    frame_rows::{column, integers, times},
    parquet_files::{parquet_rows, write_rows},
};
use model::{
    address::Address,
    chain_state::{BlockHead, ChainAccount, ChainEvents, EventFilter, Word},
};
use wire::node;

/// Maximum size of a file that is read.
pub(super) const FILE_MAX: u64 = 64 << 20;

const CODE: &str = "code";
const BALANCE: &str = "balance";
const SLOT: &str = "slot";
const EVENTS: &str = "events";

/// Where the states of a chain's tokens are kept: `live/state/CHAIN` in the dataset's folder.
#[derive(Debug, Clone)]
pub(super) struct StateFiles(PathBuf);

impl StateFiles {
    pub(super) fn new(dataset: &Path, chain: &str) -> Self {
        Self(dataset.join("live").join("state").join(chain))
    }

    pub(super) fn folder(&self) -> &Path {
        &self.0
    }

    fn current(&self, token: &Address) -> PathBuf {
        self.0.join(format!("{token}.parquet"))
    }

    fn previous(&self, token: &Address) -> PathBuf {
        self.0.join(format!("{token}.previous.parquet"))
    }

    pub(super) fn read(&self, token: &Address) -> Option<TokenState> {
        read(&self.current(token))
    }

    /// The state of the block before the one that is kept now.
    pub(super) fn read_previous(&self, token: &Address) -> Option<TokenState> {
        read(&self.previous(token))
    }

    /// Keeps the state, and the one of the block before beside it, if that is given.
    pub(super) fn write(
        &self,
        token: &Address,
        state: &TokenState,
        before: Option<&TokenState>,
    ) -> Result<(), ReadError> {
        if let Some(before) = before {
            write_rows(&self.previous(token), || frame(token, before))?;
        }
        Ok(write_rows(&self.current(token), || frame(token, state))?)
    }
}

fn read(path: &Path) -> Option<TokenState> {
    let state = parquet_rows(path, FILE_MAX)?
        .ok()
        .and_then(|frame| decoded(&frame));
    if state.is_none() {
        tracing::warn!(
            "`{}` is not a token state of this version; reading it from the node again",
            path.display()
        );
    }
    state
}

/// One row of the file.
struct StateRow<'a> {
    kind: &'static str,
    address: &'a Address,
    slot: Option<&'a Word>,
    value: String,
}

fn rows(state: &TokenState) -> impl Iterator<Item = StateRow<'_>> {
    let row = |kind, address, slot, value: &[u8]| StateRow {
        kind,
        address,
        slot,
        value: const_hex::encode_prefixed(value),
    };
    let accounts = state.accounts.iter().flat_map(move |(address, account)| {
        [
            row(CODE, address, None, &account.code),
            row(BALANCE, address, None, &account.balance),
        ]
    });
    let slots = state
        .slots
        .iter()
        .map(move |((address, slot), value)| row(SLOT, address, Some(slot), value));
    let events = state.events.iter();
    let events = events.map(|(filter, events)| StateRow {
        kind: EVENTS,
        address: &filter.address,
        slot: None,
        value: text_of(filter, events),
    });
    accounts.chain(slots).chain(events)
}

/// Topics of a filter and the events that were found by it, as JSON.
fn text_of(filter: &EventFilter, ChainEvents { events, whole }: &ChainEvents) -> String {
    let hex = |bytes: &[u8]| const_hex::encode_prefixed(bytes);
    let events: Vec<Value> = events
        .iter()
        .map(|event| json!({"topics": event.topics.iter().map(|topic| hex(topic)).collect::<Vec<_>>(), "data": hex(&event.data)}))
        .collect();
    json!({"since": filter.since, "filter": filter.topics.map(|topic| topic.map(|topic| hex(&topic))), "whole": whole, "events": events})
        .to_string()
}

fn of_text(address: Address, text: &str) -> Option<(EventFilter, ChainEvents)> {
    let mut said: Value = serde_json::from_str(text).ok()?;
    let topics: Vec<Option<Word>> = said["filter"]
        .as_array()?
        .iter()
        .map(|topic| {
            if topic.is_null() {
                Some(None)
            } else {
                node::word(topic).map(Some)
            }
        })
        .collect::<Option<_>>()?;
    let filter = EventFilter {
        address,
        since: said["since"].as_u64()?,
        topics: topics.try_into().ok()?,
    };
    let whole = said["whole"].as_bool()?;
    Some((
        filter,
        ChainEvents {
            whole,
            ..event_list(&said["events"].take())?
        },
    ))
}

fn frame(token: &Address, state: &TokenState) -> PolarsResult<DataFrame> {
    let rows: Vec<StateRow<'_>> = rows(state).collect();
    let (height, block) = (rows.len(), state.block.unwrap_or_default());
    let texts = |name, text: String| column(name, repeat_n(text, height));
    let numbers = |name, number: i64| column(name, repeat_n(number, height));
    let most = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let seconds = i64::try_from(block.timestamp).unwrap_or_default();
    let number = i64::try_from(block.number).unwrap_or_default();
    let slot = |row: &StateRow<'_>| row.slot.map(const_hex::encode_prefixed);
    let columns = vec![
        texts("token_address", token.to_string()),
        numbers("block_number", number),
        texts("block_hash", const_hex::encode_prefixed(block.hash)),
        numbers("base_fee", most(block.base_fee)),
        texts("parent_hash", const_hex::encode_prefixed(block.parent_hash)),
        texts("coinbase", block.coinbase.to_string()),
        numbers("gas_limit", most(block.gas_limit)),
        times("timestamp", repeat_n(seconds.saturating_mul(1_000), height))?,
        column("kind", rows.iter().map(|row| row.kind)),
        column("address", rows.iter().map(|row| row.address.to_string())),
        column("slot", rows.iter().map(slot)),
        column("value", rows.iter().map(|row| row.value.as_str())),
        numbers("requests", state.requests.into()),
        numbers("rounds", state.rounds.into()),
    ];
    DataFrame::new(height, columns)
}

fn decoded(frame: &DataFrame) -> Option<TokenState> {
    let text = |name: &str, row: usize| frame.column(name).ok()?.str().ok()?.get(row);
    let number = |name| *integers(frame, name).first()?;
    let block = BlockHead {
        number: number("block_number")?.try_into().ok()?,
        timestamp: (number("timestamp")? / 1_000).try_into().ok()?,
        hash: word(text("block_hash", 0)?)?,
        // Files of earlier versions lack what follows.
        base_fee: number("base_fee")
            .and_then(|fee| fee.try_into().ok())
            .unwrap_or_default(),
        parent_hash: text("parent_hash", 0).and_then(word).unwrap_or_default(),
        coinbase: text("coinbase", 0)
            .and_then(Address::parse)
            .unwrap_or_default(),
        gas_limit: number("gas_limit")
            .and_then(|limit| limit.try_into().ok())
            .unwrap_or_default(),
    };
    let [requests, rounds] = [
        number("requests")?.try_into().ok()?,
        number("rounds")?.try_into().ok()?,
    ];
    let mut state = TokenState {
        block: Some(block),
        requests,
        rounds,
        ..TokenState::default()
    };
    for row in 0..frame.height() {
        let (address, value) = (Address::parse(text("address", row)?)?, text("value", row)?);
        let none = || ChainAccount {
            balance: [0; 32],
            code: no_code(),
        };
        match text("kind", row)? {
            CODE => {
                let code: Arc<[u8]> = const_hex::decode(value).ok()?.into();
                state.accounts.entry(address).or_insert_with(none).code = code;
            }
            BALANCE => state.accounts.entry(address).or_insert_with(none).balance = word(value)?,
            SLOT => drop(
                state
                    .slots
                    .insert((address, word(text("slot", row)?)?), word(value)?),
            ),
            EVENTS => {
                let (filter, events) = of_text(address, value)?;
                state.events.insert(filter, events);
            }
            _ => return None,
        }
    }
    Some(state)
}

fn word(text: &str) -> Option<Word> {
    let mut word = [0; 32];
    const_hex::decode_to_slice(text, &mut word).ok()?;
    Some(word)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use frames::parquet_files::as_parquet;
    use model::chain_state::ChainEvent;

    /// A state of two accounts and two slots at block `number`.
    pub(in crate::chain) fn sample(number: u64) -> TokenState {
        let account = |balance: u8, code: &[u8]| ChainAccount {
            balance: [balance; 32],
            code: code.into(),
        };
        TokenState {
            block: Some(BlockHead {
                number,
                timestamp: 1_700_000_000 + number,
                hash: [number as u8; 32],
                base_fee: number,
                parent_hash: [7; 32],
                coinbase: Address([number as u8; 20]),
                gas_limit: 36_000_000,
            }),
            accounts: [
                (Address([1; 20]), account(1, &[0x60, 0x80])),
                (Address([2; 20]), account(0, &[])),
            ]
            .into(),
            slots: [
                ((Address([1; 20]), [5; 32]), [6; 32]),
                ((Address([1; 20]), [7; 32]), [0; 32]),
            ]
            .into(),
            events: [
                (
                    EventFilter {
                        address: Address([1; 20]),
                        since: 7,
                        topics: [Some([8; 32]), None, None, Some([9; 32])],
                    },
                    ChainEvents {
                        events: vec![ChainEvent {
                            topics: vec![[8; 32], [3; 32]],
                            data: vec![1, 2, 3],
                        }],
                        whole: true,
                    },
                ),
                (
                    EventFilter {
                        address: Address([2; 20]),
                        since: 0,
                        topics: [None; 4],
                    },
                    ChainEvents::default(),
                ),
            ]
            .into(),
            requests: 3,
            rounds: 2,
        }
    }

    #[test]
    fn a_state_is_kept_and_the_one_of_the_block_before_beside_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let (files, token) = (StateFiles::new(folder.path(), "eth"), Address([9; 20]));
        assert!(files.folder().ends_with("live/state/eth"));
        assert!(files.read(&token).is_none() && files.read_previous(&token).is_none());
        files.write(&token, &sample(7), None).expect("written");
        let mut more = sample(7);
        more.slots.insert((Address([2; 20]), [1; 32]), [2; 32]);
        files.write(&token, &more, None).expect("written");
        assert_eq!(
            (files.read(&token), files.read_previous(&token)),
            (Some(more.clone()), None)
        );
        files
            .write(&token, &sample(8), Some(&more))
            .expect("written");
        assert_eq!(
            (files.read(&token), files.read_previous(&token)),
            (Some(sample(8)), Some(more))
        );
    }

    #[test]
    fn a_file_of_something_else_counts_as_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let (files, token) = (StateFiles::new(folder.path(), "eth"), Address([9; 20]));
        files.write(&token, &sample(7), None).expect("written");
        let whole = std::fs::read(files.current(&token)).expect("the file");
        let other = column("kind", ["code"]).into_frame();
        let strange = as_parquet(|| Ok(other)).expect("Parquet");
        for bytes in [
            &b"not Parquet"[..],
            &[],
            &whole[..whole.len() / 2],
            &strange,
        ] {
            std::fs::write(files.current(&token), bytes).expect("written");
            assert!(files.read(&token).is_none());
        }
    }
}
