//! Rows of transfers in tokendeck's own columns. Reads and writes no files.

use polars::prelude::{
    BooleanChunked, Column, DataFrame, DataType, IntoColumn as _, NamedFrom as _,
    NewChunkedArray as _, PolarsResult, Series, TimeUnit, TimeZone,
};

use super::event::TransferEvent;
use model::address::Address;
use source::decode::guarded;

/// A transfer with the time of its block, in milliseconds since 1970.
pub(super) type TimedEvent = (TransferEvent, i64);

pub(super) fn frame(events: &[TimedEvent]) -> PolarsResult<DataFrame> {
    let texts = |name: &str, text: &dyn Fn(&TransferEvent) -> String| -> Column {
        Series::new(
            name.into(),
            events
                .iter()
                .map(|(event, _)| text(event))
                .collect::<Vec<_>>(),
        )
        .into_column()
    };
    let numbers = |name: &str, number: &dyn Fn(&TimedEvent) -> i64| {
        Series::new(name.into(), events.iter().map(number).collect::<Vec<_>>())
    };
    let time = DataType::Datetime(TimeUnit::Milliseconds, Some(TimeZone::UTC));
    let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let columns = vec![
        texts("token_address", &|event| event.token.to_string()),
        numbers("timestamp", &|(_, time)| *time)
            .cast(&time)?
            .into_column(),
        numbers("block_number", &|(event, _)| whole(event.block)).into_column(),
        texts("transaction_hash", &|event| {
            const_hex::encode_prefixed(event.transaction)
        }),
        texts("from_address", &|event| event.from.to_string()),
        texts("to_address", &|event| event.to.to_string()),
        texts("value", &|event| event.value.to_string()),
        numbers("log_index", &|(event, _)| whole(event.log_index)).into_column(),
    ];
    DataFrame::new(events.len(), columns)
}

fn numbers(frame: &DataFrame) -> Vec<Option<i64>> {
    let column = frame
        .column("block_number")
        .ok()
        .and_then(|column| column.i64().ok());
    column.map_or_else(Vec::new, |numbers| numbers.iter().collect())
}

/// The lowest and the highest block.
pub(super) fn blocks(frame: &DataFrame) -> Option<(u64, u64)> {
    let all = || {
        numbers(frame)
            .into_iter()
            .flatten()
            .filter_map(|number| u64::try_from(number).ok())
    };
    Some((all().min()?, all().max()?))
}

/// The rows of blocks up to this one.
pub(super) fn up_to(frame: &DataFrame, block: u64) -> Result<DataFrame, String> {
    let kept = numbers(frame).into_iter().map(|number| {
        number.is_some_and(|number| u64::try_from(number).is_ok_and(|number| number <= block))
    });
    let kept = BooleanChunked::from_iter_values("kept".into(), kept);
    guarded("table", || frame.filter(&kept))
}

/// The rows of both.
pub(super) fn joined(mut first: DataFrame, second: &DataFrame) -> Result<DataFrame, String> {
    guarded("table", || {
        first.vstack_mut(second)?;
        first.rechunk_mut();
        Ok(first)
    })
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
pub(super) fn movements(frame: &DataFrame) -> Vec<Movement> {
    let texts = |name: &str| frame.column(name).ok()?.str().ok();
    let time = frame.column("timestamp").ok().map(Column::to_physical_repr);
    let times = time.as_ref().and_then(|time| time.i64().ok());
    let (Some(tokens), Some(from), Some(to), Some(values), Some(times)) = (
        texts("token_address"),
        texts("from_address"),
        texts("to_address"),
        texts("value"),
        times,
    ) else {
        return Vec::new();
    };
    let movement = |row: usize| {
        let address = |texts: &polars::prelude::StringChunked| Address::parse(texts.get(row)?);
        let value = values.get(row)?.parse().ok()?;
        Some(Movement {
            token: address(tokens)?,
            from: address(from)?,
            to: address(to)?,
            time: times.get(row)?,
            value,
        })
    };
    (0..frame.height()).filter_map(movement).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cut_at_a_block_and_joined() {
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
        let joined = joined(some, &frame(&[event(9)]).expect("rows")).expect("rows");
        assert!(joined.equals(&all));
        let last = movements(&joined).pop().expect("a transfer");
        assert_eq!(
            (last.time, last.value, last.to),
            (9_000, ruint::Uint::MAX, Address([2; 20]))
        );
        assert!(movements(&DataFrame::default()).is_empty());
    }
}
