//! Row keys as numbers: 128-bit hashes of cells, which identify rows, and eight-byte sort keys, which compare like a cell.

use polars::prelude::{AnyValue, Column, DataFrame, DataType, PolarsResult};

use model::schema::TableSchema;
use table::keys::{order_key_bytes, order_key_f64, order_key_i64};

/// 128-bit hash of these columns' cells in each row; equal rows have equal hashes.
pub fn hashes(frame: &DataFrame, columns: &[&str]) -> PolarsResult<Vec<u128>> {
    let mut hashes = vec![KeyHash::default(); frame.height()];
    for name in columns {
        hash_into(frame.column(name)?, &mut hashes)?;
    }
    Ok(hashes.into_iter().map(|hash| hash.0).collect())
}

/// Marks the rows without a key.
pub fn keyless(schema: &TableSchema, frame: &DataFrame) -> PolarsResult<Vec<bool>> {
    let mut keyless = vec![schema.key.is_empty(); frame.height()];
    if let Some(column) = schema.keyless_without {
        let column = frame.column(column)?;
        if column.null_count() > 0 {
            keyless
                .iter_mut()
                .zip(column.is_null().iter())
                .for_each(|(keyless, empty)| *keyless |= empty == Some(true));
        }
    }
    Ok(keyless)
}

/// Hash of a row's key so far; of 128 bits, so that collisions do not occur by chance.
#[derive(Debug, Clone, Copy, Default)]
struct KeyHash(u128);

impl KeyHash {
    /// Both steps are invertible, so keys that differ in one word alone never collide.
    fn word(&mut self, word: u64) {
        // The multiplier of a 128-bit linear congruential generator (L'Ecuyer 1999, table 4).
        const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;
        let product = (self.0 ^ u128::from(word)).wrapping_mul(MULTIPLIER);
        self.0 = product ^ (product >> 67);
    }

    fn bytes(&mut self, bytes: Option<&[u8]>) {
        let Some(bytes) = bytes else {
            return self.word(u64::MAX);
        };
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
        self.word(bytes.len() as u64);
    }

    fn number(&mut self, number: Option<i64>) {
        self.word(u64::from(number.is_some()));
        self.word(number.unwrap_or_default() as u64);
    }
}

fn hash_into(column: &Column, hashes: &mut [KeyHash]) -> PolarsResult<()> {
    match column.dtype() {
        DataType::String => hashes
            .iter_mut()
            .zip(column.str()?.iter())
            .for_each(|(hash, text)| hash.bytes(text.map(str::as_bytes))),
        DataType::Binary => hashes
            .iter_mut()
            .zip(column.binary()?.iter())
            .for_each(|(hash, bytes)| hash.bytes(bytes)),
        DataType::List(_) => hashes
            .iter_mut()
            .zip(list_texts(column))
            .for_each(|(hash, text)| hash.bytes(text.as_deref().map(str::as_bytes))),
        DataType::Float64 => {
            let bits = column
                .f64()?
                .iter()
                .map(|number| number.map(|number| number.to_bits() as i64));
            hashes
                .iter_mut()
                .zip(bits)
                .for_each(|(hash, number)| hash.number(number));
        }
        _ => {
            let numbers = column.to_physical_repr().cast(&DataType::Int64)?;
            hashes
                .iter_mut()
                .zip(numbers.i64()?.iter())
                .for_each(|(hash, number)| hash.number(number));
        }
    }
    Ok(())
}

/// Each list joined to one text, which compares like the list.
pub(super) fn list_texts(column: &Column) -> Vec<Option<String>> {
    let text = |value: AnyValue<'_>| match value {
        AnyValue::List(list) => list
            .str()
            .ok()
            .map(|texts| texts.iter().flatten().collect::<Vec<_>>().join("\u{1f}")),
        _ => None,
    };
    column
        .as_materialized_series()
        .rechunk()
        .iter()
        .map(text)
        .collect()
}

/// Sort key of each row, which compares like its cell as far as eight bytes go; `-` first for descending. Nulls sort last in either
/// direction.
pub(super) fn order_keys(frame: &DataFrame, column: &str) -> PolarsResult<Vec<u64>> {
    let (name, falls) = column
        .strip_prefix('-')
        .map_or((column, false), |name| (name, true));
    let turned = |key: Option<u64>| key.map_or(u64::MAX, |key| if falls { !key } else { key });
    let column = frame.column(name)?;
    Ok(match column.dtype() {
        DataType::Float64 => column
            .f64()?
            .iter()
            .map(|number| turned(number.map(order_key_f64)))
            .collect(),
        DataType::String => column
            .str()?
            .iter()
            .map(|text| turned(text.map(|text| order_key_bytes(text.as_bytes()))))
            .collect(),
        _ => column
            .to_physical_repr()
            .cast(&DataType::Int64)?
            .i64()?
            .iter()
            .map(|number| turned(number.map(order_key_i64)))
            .collect(),
    })
}
