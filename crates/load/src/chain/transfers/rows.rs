//! Rows of transfers in tokendeck's own columns. Reads and writes no files.

use polars::prelude::DataFrame;

use super::event::TransferEvent;
use crate::error::ReadError;
use frames::{
    decode::guarded,
    frame_rows::{column, filtered, integers, parsed, times},
};
use model::address::Address;

/// A transfer with the time of its block, in milliseconds since 1970.
pub(super) type TimedEvent = (TransferEvent, i64);

pub(super) fn frame(events: &[TimedEvent]) -> Result<DataFrame, ReadError> {
    let all = || events.iter().map(|(event, _)| event);
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let hash = |event: &TransferEvent| const_hex::encode_prefixed(event.transaction);
    let columns = || {
        let columns = vec![
            column("token_address", all().map(|event| event.token.to_string())),
            times("timestamp", events.iter().map(|(_, time)| *time))?,
            column("block_number", all().map(|event| whole(event.block))),
            column("transaction_hash", all().map(hash)),
            column("from_address", all().map(|event| event.from.to_string())),
            column("to_address", all().map(|event| event.to.to_string())),
            column("value", all().map(|event| event.value.to_string())),
            column("log_index", all().map(|event| whole(event.log_index))),
        ];
        DataFrame::new(events.len(), columns)
    };
    Ok(guarded("table", columns)?)
}

/// The block of each row.
fn blocks_of(frame: &DataFrame) -> impl Iterator<Item = Option<u64>> {
    let numbers = integers(frame, "block_number").into_iter();
    numbers.map(|number| u64::try_from(number?).ok())
}

/// The lowest and the highest block.
pub(super) fn blocks(frame: &DataFrame) -> Option<(u64, u64)> {
    let all = || blocks_of(frame).flatten();
    Some((all().min()?, all().max()?))
}

/// The rows of blocks up to this one.
pub(super) fn up_to(frame: &DataFrame, block: u64) -> Result<DataFrame, ReadError> {
    let kept = blocks_of(frame).map(|number| number.is_some_and(|number| number <= block));
    Ok(guarded("table", || filtered(frame, kept))?)
}

/// A transfer, as far as balances need it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Movement {
    pub(super) token: Address,
    pub(super) from: Address,
    pub(super) to: Address,
    /// Milliseconds since 1970.
    pub(super) time: i64,
    pub(super) value: ruint::Uint<256, 4>,
}

/// The transfers of these rows; nothing where they are no such rows.
pub(super) fn movements(frame: &DataFrame) -> impl Iterator<Item = Movement> {
    let addresses = |name| parsed(frame, name, Address::parse).into_iter();
    let values = parsed(frame, "value", |text| text.parse().ok());
    let moved = addresses("from_address").zip(addresses("to_address"));
    let amounts = integers(frame, "timestamp").into_iter().zip(values);
    let rows = addresses("token_address").zip(moved).zip(amounts);
    rows.filter_map(|((token, (from, to)), (time, value))| {
        Some(Movement {
            token: token?,
            from: from?,
            to: to?,
            time: time?,
            value: value?,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cut_at_a_block() {
        let event = |block: u64| {
            let event = TransferEvent {
                token: Address([9; 20]),
                block,
                block_hash: [0; 32],
                timestamp: None,
                transaction: [block as u8; 32],
                log_index: 1,
                from: Address([1; 20]),
                to: Address([2; 20]),
                value: ruint::Uint::MAX,
            };
            (event, block as i64 * 1_000)
        };
        let all = frame(&[event(3), event(4), event(9)]).expect("rows");
        assert_eq!(blocks(&all), Some((3, 9)));
        let some = up_to(&all, 8).expect("rows");
        assert_eq!((some.height(), blocks(&some)), (2, Some((3, 4))));
        assert_eq!(blocks(&up_to(&all, 2).expect("rows")), None);
        let last = movements(&all).last().expect("a transfer");
        assert_eq!(
            (last.time, last.value, last.to),
            (9_000, ruint::Uint::MAX, Address([2; 20]))
        );
        assert_eq!(movements(&DataFrame::default()).count(), 0);
    }
}
