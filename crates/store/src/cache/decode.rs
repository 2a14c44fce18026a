//! Decodes cells as they are stored: to a value, or to a canonical column of a frame.

use polars::prelude::{
    Column, DataType, IntoColumn, ListBuilderTrait as _, ListStringChunkedBuilder, NamedFrom,
    PlSmallStr, Series, StringChunkedBuilder,
};

use super::StorageType;
use model::{
    address::Address,
    scalar::Scalar,
    schema::Kind,
    time::{Day, Time},
};
use source::coerce;

/// Decodes a stored cell.
pub(super) fn scalar(storage: StorageType, bytes: &[u8]) -> Option<Scalar<'_>> {
    let whole = || bytes.first_chunk().map(|bytes| i64::from_le_bytes(*bytes));
    let text = || String::from_utf8_lossy(bytes);
    Some(match storage {
        StorageType::Float => Scalar::Float(f64::from_le_bytes(*bytes.first_chunk()?)),
        StorageType::Integer => Scalar::Whole(whole()?),
        StorageType::Time => Scalar::Time(Time(whole()?)),
        StorageType::Day => Scalar::Day(Day(i32::try_from(whole()?).ok()?)),
        StorageType::Flag => Scalar::Flag(whole()? != 0),
        StorageType::Address => Scalar::text(Address(*bytes.first_chunk()?).to_string()),
        StorageType::Hex => Scalar::text(const_hex::encode_prefixed(bytes)),
        StorageType::Text => Scalar::Text(text()),
        StorageType::List => Scalar::List(
            text()
                .split_terminator('\0')
                .map(|member| member.to_owned().into())
                .collect(),
        ),
    })
}

/// Decodes stored cells to a canonical column.
pub(super) fn decoded<'a>(
    name: &'static str,
    storage: StorageType,
    height: usize,
    cells: impl Iterator<Item = Option<&'a [u8]>>,
) -> Option<Column> {
    let label = PlSmallStr::from_static(name);
    let number = |bytes: &[u8]| bytes.first_chunk().copied();
    Some(match storage {
        StorageType::Float => {
            let numbers = cells.map(|cell| cell.and_then(number).map(f64::from_le_bytes));
            Series::new(label, numbers.collect::<Vec<_>>()).into_column()
        }
        StorageType::Flag => {
            let flags = cells.map(|cell| Some(i64::from_le_bytes(number(cell?)?) != 0));
            Series::new(label, flags.collect::<Vec<_>>()).into_column()
        }
        StorageType::List => {
            let mut lists = ListStringChunkedBuilder::new(label, height, height);
            for cell in cells {
                match cell.map(String::from_utf8_lossy) {
                    Some(members) => lists.append_values_iter(members.split_terminator('\0')),
                    None => lists.append_null(),
                }
            }
            lists.finish().into_column()
        }
        StorageType::Integer | StorageType::Time | StorageType::Day => {
            let numbers = cells.map(|cell| cell.and_then(number).map(i64::from_le_bytes));
            let column = Series::new(label, numbers.collect::<Vec<_>>()).into_column();
            match storage {
                StorageType::Time => column.cast(&coerce::canonical(Kind::Time)).ok()?,
                StorageType::Day => column
                    .cast(&DataType::Int32)
                    .ok()?
                    .cast(&coerce::canonical(Kind::Date))
                    .ok()?,
                _ => column,
            }
        }
        StorageType::Address => texts(
            label,
            height,
            cells.map(|cell| cell?.first_chunk().map(|bytes| Address(*bytes).to_string())),
        ),
        StorageType::Hex => texts(
            label,
            height,
            cells.map(|cell| cell.map(const_hex::encode_prefixed)),
        ),
        StorageType::Text => texts(
            label,
            height,
            cells.map(|cell| cell.map(String::from_utf8_lossy)),
        ),
    })
}

pub(super) fn texts(
    name: PlSmallStr,
    height: usize,
    cells: impl Iterator<Item = Option<impl AsRef<str>>>,
) -> Column {
    let mut builder = StringChunkedBuilder::new(name, height);
    cells.for_each(|cell| builder.append_option(cell));
    builder.finish().into_column()
}
