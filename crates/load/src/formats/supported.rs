//! Converts Arrow columns to series of the types that the program's build of polars supports: short integers and half floats are widened,
//! lists of fixed length become lists, and dictionaries become their values. Supporting more types would add seconds to every build. No
//! cell is read here.

use polars::prelude::{
    ArrowField, Column, CompatLevel, DataType, IdxCa, IdxSize, IntoColumn, NewChunkedArray,
    PolarsResult, Series, StringChunkedBuilder, pf16, polars_bail,
};
use polars_arrow::{
    array::{
        Array, DictionaryArray, DictionaryKey, FixedSizeBinaryArray, FixedSizeListArray, ListArray,
        MapArray, PrimitiveArray, StructArray, new_empty_array,
    },
    datatypes::ArrowDataType,
    match_integer_type,
    offset::{Offset, OffsetsBuffer},
    types::NativeType,
};

use crate::formats::words::digits;
use frames::{decode::guarded, raw_cell::with_point};

const NOT_READ: &str = "unsupported column type";
/// Why a column of such a type is not read.
const OF_TYPE: &str = "its type is not supported; write it as text or numbers";

/// The columns whose type or encoding is not read, and why: each costs itself, not the file.
pub(super) struct UnreadColumns(Vec<(String, String)>);

impl UnreadColumns {
    pub(super) fn of(fields: &[ArrowField]) -> Self {
        // Of some types the program's build of polars lacks a part, and panics.
        let unread = |field: &&ArrowField| guarded("column", || empty_column(field)).is_err();
        Self(
            fields
                .iter()
                .filter(unread)
                .map(|field| (field.name.to_string(), OF_TYPE.to_owned()))
                .collect(),
        )
    }

    /// The column as read, or without values where its type or encoding is not read. Other errors mean damage.
    pub(super) fn or(
        &mut self,
        field: &ArrowField,
        height: usize,
        read: impl FnOnce() -> PolarsResult<Column>,
    ) -> PolarsResult<Column> {
        if !self.0.iter().any(|(name, _)| *name == field.name.as_str()) {
            let read = read();
            let Some(why) = read
                .as_ref()
                .err()
                .and_then(|error| why_unread(&error.to_string()))
            else {
                return read;
            };
            self.0.push((field.name.to_string(), why));
        }
        Ok(Column::full_null(
            field.name.clone(),
            height,
            &DataType::String,
        ))
    }

    pub(super) fn notes(&self) -> Vec<String> {
        self.0
            .iter()
            .map(|(name, why)| format!("warning: the column `{name}` is left empty: {why}"))
            .collect()
    }

    /// Each column, and why it is not read.
    pub(super) fn list(&self) -> Vec<(String, String)> {
        self.0.clone()
    }
}

/// Why a column is not read, if the decoder's error is about its type or, as in `"DeltaByteArray"-encoded`, its encoding.
fn why_unread(error: &str) -> Option<String> {
    if let Some(encoding) = error
        .split_once("\"-encoded")
        .and_then(|(before, _)| before.rsplit('"').next())
    {
        let mut name = String::new();
        for character in encoding.chars() {
            if character.is_ascii_uppercase() && !name.is_empty() {
                name.push('_');
            }
            name.push(character.to_ascii_uppercase());
        }
        return Some(format!(
            "its Parquet encoding {name} is not supported; write it with plain or dictionary encoding"
        ));
    }
    ["not implemented", "Not yet supported", NOT_READ]
        .iter()
        .any(|sign| error.contains(sign))
        .then(|| OF_TYPE.to_owned())
}

/// A column of one chunk for each array.
pub(super) fn column(field: &ArrowField, arrays: Vec<Box<dyn Array>>) -> PolarsResult<Column> {
    if is_supported(&field.dtype) {
        return Ok(Series::try_from((field, arrays))?.into_column());
    }
    let arrays: Vec<Box<dyn Array>> = arrays
        .iter()
        .map(|array| to_supported(&**array))
        .collect::<PolarsResult<_>>()?;
    let dtype = arrays
        .first()
        .map_or(ArrowDataType::Null, |array| array.dtype().clone());
    Ok(
        Series::try_from((&ArrowField::new(field.name.clone(), dtype, true), arrays))?
            .into_column(),
    )
}

/// As `column`; decimals of more than 128 bits, which come as bytes, become texts, as no type of the program has as many digits.
pub(super) fn column_or_decimals(
    field: &ArrowField,
    arrays: Vec<Box<dyn Array>>,
    little: bool,
) -> PolarsResult<Column> {
    let ArrowDataType::Decimal256(_, scale) = field.dtype else {
        return column(field, arrays);
    };
    let mut texts = StringChunkedBuilder::new(
        field.name.clone(),
        arrays.iter().map(|array| array.len()).sum(),
    );
    for array in &arrays {
        let numbers = as_type::<FixedSizeBinaryArray>(&**array)?;
        numbers.iter().for_each(|number| {
            texts.append_option(
                number.map(|number| with_point(&digits(number, little, true), scale)),
            );
        });
    }
    Ok(texts.finish().into_column())
}

pub(super) fn empty_column(field: &ArrowField) -> PolarsResult<Column> {
    if matches!(field.dtype, ArrowDataType::Decimal256(..)) {
        return column_or_decimals(field, Vec::new(), false);
    }
    column(field, vec![new_empty_array(field.dtype.clone())])
}

fn is_supported(dtype: &ArrowDataType) -> bool {
    use ArrowDataType as Type;
    match dtype {
        Type::Int8
        | Type::Int16
        | Type::UInt8
        | Type::UInt16
        | Type::UInt128
        | Type::Float16
        | Type::Decimal256(..)
        | Type::FixedSizeList(..)
        | Type::Dictionary(..) => false,
        Type::List(inner) | Type::LargeList(inner) | Type::Map(inner, _) => {
            is_supported(&inner.dtype)
        }
        Type::Struct(members) => members.iter().all(|member| is_supported(&member.dtype)),
        Type::Extension(extension) => is_supported(&extension.inner),
        _ => true,
    }
}

/// The same values in a type that is supported.
fn to_supported(array: &dyn Array) -> PolarsResult<Box<dyn Array>> {
    let dtype = array.dtype();
    if is_supported(dtype) {
        return Ok(array.to_boxed());
    }
    match dtype {
        ArrowDataType::Int8 => widened(array, |n: i8| i64::from(n), ArrowDataType::Int64),
        ArrowDataType::Int16 => widened(array, |n: i16| i64::from(n), ArrowDataType::Int64),
        ArrowDataType::UInt8 => widened(array, |n: u8| i64::from(n), ArrowDataType::Int64),
        ArrowDataType::UInt16 => widened(array, |n: u16| i64::from(n), ArrowDataType::Int64),
        ArrowDataType::Float16 => widened(array, |n: pf16| n.0.to_f32(), ArrowDataType::Float32),
        ArrowDataType::List(inner) => list(
            as_type::<ListArray<i32>>(array)?,
            inner,
            ArrowDataType::List,
        ),
        ArrowDataType::LargeList(inner) => list(
            as_type::<ListArray<i64>>(array)?,
            inner,
            ArrowDataType::LargeList,
        ),
        ArrowDataType::Map(inner, _) => {
            let map = as_type::<MapArray>(array)?;
            let entries = ListArray::<i32>::try_new(
                ArrowDataType::List(inner.clone()),
                map.offsets().clone(),
                map.field().clone(),
                map.validity().cloned(),
            )?;
            list(&entries, inner, ArrowDataType::List)
        }
        ArrowDataType::FixedSizeList(inner, size) => {
            let fixed = as_type::<FixedSizeListArray>(array)?;
            let offsets: Vec<i64> = (0..=fixed.len()).map(|row| (row * size) as i64).collect();
            let dtype = ArrowDataType::LargeList(inner.clone());
            let lists = ListArray::<i64>::try_new(
                dtype,
                OffsetsBuffer::try_from(offsets)?,
                fixed.values().clone(),
                fixed.validity().cloned(),
            )?;
            list(&lists, inner, ArrowDataType::LargeList)
        }
        ArrowDataType::Struct(members) => {
            let structs = as_type::<StructArray>(array)?;
            let values: Vec<Box<dyn Array>> = structs
                .values()
                .iter()
                .map(|values| to_supported(&**values))
                .collect::<PolarsResult<_>>()?;
            let typed = members
                .iter()
                .zip(&values)
                .map(|(member, values)| typed(member, &**values));
            let dtype = ArrowDataType::Struct(typed.collect());
            Ok(
                StructArray::try_new(dtype, structs.len(), values, structs.validity().cloned())?
                    .boxed(),
            )
        }
        ArrowDataType::Dictionary(key, ..) => {
            match_integer_type!(key, |$K| dictionary::<$K>(array))
        }
        _ => polars_bail!(InvalidOperation: "{NOT_READ} {dtype:?}"),
    }
}

fn as_type<A: Array>(array: &dyn Array) -> PolarsResult<&A> {
    match array.as_any().downcast_ref() {
        Some(array) => Ok(array),
        None => polars_bail!(ComputeError: "a column has a different type than declared"),
    }
}

fn widened<T: NativeType, W: NativeType>(
    array: &dyn Array,
    widen: impl Fn(T) -> W,
    dtype: ArrowDataType,
) -> PolarsResult<Box<dyn Array>> {
    let array = as_type::<PrimitiveArray<T>>(array)?;
    let values: Vec<W> = array.values().iter().map(|value| widen(*value)).collect();
    Ok(PrimitiveArray::try_new(dtype, values.into(), array.validity().cloned())?.boxed())
}

fn typed(field: &ArrowField, values: &dyn Array) -> ArrowField {
    ArrowField::new(field.name.clone(), values.dtype().clone(), true)
}

fn list<O: Offset>(
    array: &ListArray<O>,
    inner: &ArrowField,
    of: fn(Box<ArrowField>) -> ArrowDataType,
) -> PolarsResult<Box<dyn Array>> {
    let values = to_supported(&**array.values())?;
    let dtype = of(Box::new(typed(inner, &*values)));
    Ok(ListArray::<O>::try_new(
        dtype,
        array.offsets().clone(),
        values,
        array.validity().cloned(),
    )?
    .boxed())
}

fn dictionary<K: DictionaryKey>(array: &dyn Array) -> PolarsResult<Box<dyn Array>> {
    let array = as_type::<DictionaryArray<K>>(array)?;
    let values = ArrowField::new("".into(), array.values().dtype().clone(), true);
    let values = column(&values, vec![array.values().clone()])?;
    let places: Vec<Option<IdxSize>> = array
        .keys_iter()
        .map(|key| key.map(|key| key as IdxSize))
        .collect();
    let named = values
        .take(&IdxCa::from_slice_options("".into(), &places))?
        .take_materialized_series()
        .rechunk();
    Ok(named.to_arrow(0, CompatLevel::newest()))
}

#[cfg(test)]
mod tests {
    use polars_arrow::array::Utf8ViewArray;

    use super::*;
    use frames::raw_cell::{RawCell, cells};

    /// The cells of the array as a column, and their number where it has no rows.
    fn shown(array: &dyn Array) -> String {
        let field = ArrowField::new("x".into(), array.dtype().clone(), true);
        let read = column(&field, vec![array.to_boxed()])
            .expect("a type that is read")
            .rechunk();
        assert_eq!(
            empty_column(&field).expect("a column without rows").dtype(),
            read.dtype()
        );
        cells(&read)
            .iter()
            .map(RawCell::shown)
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn lists<O: Offset>(
        values: Box<dyn Array>,
        offsets: Vec<O>,
        of: fn(Box<ArrowField>) -> ArrowDataType,
    ) -> Box<dyn Array> {
        let field = Box::new(ArrowField::new("item".into(), values.dtype().clone(), true));
        ListArray::<O>::new(
            of(field),
            OffsetsBuffer::try_from(offsets).expect("offsets"),
            values,
            None,
        )
        .boxed()
    }

    #[test]
    fn every_type_keeps_its_values() {
        let (bytes, words) = (
            PrimitiveArray::from([Some(-1_i8), None, Some(3)]),
            PrimitiveArray::from([Some(0_u16), Some(65_535)]),
        );
        let item = Box::new(ArrowField::new("item".into(), ArrowDataType::UInt16, true));
        let fixed = FixedSizeListArray::new(
            ArrowDataType::FixedSizeList(item, 2),
            1,
            words.clone().boxed(),
            None,
        );
        let texts = || Utf8ViewArray::from_slice_values(["a", "b"]).boxed();
        let named = |keys: [Option<u8>; 3]| {
            DictionaryArray::try_from_keys(PrimitiveArray::from(keys), texts(), false)
                .expect("keys in range")
        };
        let named = named([Some(1), None, Some(0)]);
        let numbered = DictionaryArray::try_from_keys(
            PrimitiveArray::from([Some(1_i32), Some(0)]),
            words.clone().boxed(),
            false,
        );
        let cases: [(Box<dyn Array>, &str); 9] = [
            (bytes.clone().boxed(), "-1  3"),
            (words.clone().boxed(), "0 65535"),
            (PrimitiveArray::from([Some(-300_i16)]).boxed(), "-300"),
            (PrimitiveArray::from([Some(200_u8)]).boxed(), "200"),
            (
                lists(
                    bytes.boxed(),
                    vec![0_i64, 1, 1, 3],
                    ArrowDataType::LargeList,
                ),
                "[-1] [] [, 3]",
            ),
            (
                lists(
                    named.clone().boxed(),
                    vec![0_i32, 2, 3],
                    ArrowDataType::List,
                ),
                "[b, ] [a]",
            ),
            (fixed.boxed(), "[0, 65535]"),
            (named.boxed(), "b  a"),
            (numbered.expect("keys in range").boxed(), "65535 0"),
        ];
        for (array, expected) in cases {
            assert_eq!(shown(&*array), expected, "{:?}", array.dtype());
        }
    }

    #[test]
    fn decimals_of_any_length_keep_their_digits() {
        let field = ArrowField::new("x".into(), ArrowDataType::Decimal256(76, 2), true);
        let words = [
            [&[0; 31][..], &[15]].concat(),
            [&[0xff; 30][..], &[0xfb, 0x50]].concat(),
        ];
        for little in [false, true] {
            let words = words.iter().map(|word| {
                if little {
                    word.iter().rev().copied().collect()
                } else {
                    word.clone()
                }
            });
            let words: Vec<Option<[u8; 32]>> = words
                .map(|word| word.try_into().ok())
                .chain([None])
                .collect();
            let array = FixedSizeBinaryArray::from(words).boxed();
            let read = column_or_decimals(&field, vec![array], little).expect("decimals");
            assert_eq!(
                cells(&read).iter().map(RawCell::shown).collect::<Vec<_>>(),
                ["0.15", "-12", ""]
            );
        }
        assert_eq!(
            empty_column(&field).expect("a column without rows").dtype(),
            &DataType::String
        );
    }
}
