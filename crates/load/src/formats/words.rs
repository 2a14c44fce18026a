//! Whole numbers of 32 or 16 bytes, whose byte order is not part of a Parquet or Arrow type: nodes and cryo write the most significant byte
//! first, ClickHouse the least significant. Amounts are far smaller than their bytes allow, so the zeros of a column show the order.
//! Numbers in any form other than 32 bytes, most significant first, become decimal text.

use std::collections::HashMap;

use polars::prelude::{
    ArrowField, BinaryChunked, Column, DataType, IntoColumn, PlSmallStr, StringChunkedBuilder,
};
use polars_arrow::datatypes::ArrowDataType;
use ruint::aliases::U256;

use super::{RowSource, SourceBatch, SourceError};

/// Parts of the names of columns that hold bytes, not numbers, however many zeros end them.
const NO_NUMBERS: [&str; 9] = [
    "hash", "topic", "data", "root", "code", "input", "uuid", "name", "symbol",
];
/// One in this many words that show a byte order may contradict it: a number may happen to end in many zeros.
const ONE_MAY_CONTRADICT: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Bytes, as they are.
    Bytes,
    BigEndian,
    LittleEndian,
}

/// Rows whose columns of numbers in bytes are readable as numbers, whatever their byte order.
pub(super) struct WordRows {
    inner: Box<dyn RowSource>,
    /// Whether ClickHouse wrote the file, as its metadata says.
    of_clickhouse: bool,
    forms: HashMap<PlSmallStr, Form>,
    notes: Vec<String>,
}

/// Whether a column of this type may hold numbers in bytes.
pub(super) fn may_have_words(field: &ArrowField) -> bool {
    use ArrowDataType as Type;
    matches!(
        &field.dtype,
        Type::FixedSizeBinary(32 | 16) | Type::Binary | Type::LargeBinary | Type::BinaryView
    ) && is_of_numbers(&field.name)
}

fn is_of_numbers(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !NO_NUMBERS.iter().any(|part| name.contains(part))
}

/// What the words of a column tell.
#[derive(Default)]
struct Evidence {
    width: usize,
    /// Words with more zeros at their beginning, and at their end.
    big: usize,
    little: usize,
    /// Nonzero words that show neither order.
    neither: usize,
    /// By how many bytes the words show the order.
    bytes: usize,
    /// Length of the words as texts, and whether all may be texts, which can also end in zeros.
    letters: usize,
    is_text: bool,
}

impl Evidence {
    /// None: the column is not of numbers in bytes.
    fn of(column: &BinaryChunked) -> Option<Self> {
        let mut evidence = Self {
            is_text: true,
            ..Self::default()
        };
        for word in column.iter().flatten() {
            if !matches!(word.len(), 32 | 16) || evidence.width > 0 && evidence.width != word.len()
            {
                return None;
            }
            evidence.width = word.len();
            // Zero, and the greatest number, are the same in both orders.
            if word
                .iter()
                .all(|byte| Some(byte) == word.first() && matches!(byte, 0 | 0xff))
            {
                continue;
            }
            let (head, tail) = (
                filling(word.iter().copied()),
                filling(word.iter().rev().copied()),
            );
            match head.cmp(&tail) {
                std::cmp::Ordering::Greater => evidence.big += 1,
                std::cmp::Ordering::Less => evidence.little += 1,
                std::cmp::Ordering::Equal => evidence.neither += 1,
            }
            evidence.bytes += head.abs_diff(tail);
            let letters = word.len() - tail;
            evidence.letters += letters;
            evidence.is_text &= word[..letters]
                .iter()
                .all(|byte| (b' '..=b'~').contains(byte));
        }
        (evidence.width > 0).then_some(evidence)
    }

    /// None: its words are the same in both orders. Second, whether some words tell the other order.
    fn form(&self, of_clickhouse: bool) -> Option<(Form, bool)> {
        let words = self.big + self.little + self.neither;
        if words == 0 {
            return None;
        }
        // Hashes and identifiers have hardly any zeros; amounts leave an eighth of their bytes empty and more. Of ClickHouse's, fewer will do.
        let part = if of_clickhouse { 32 } else { 8 };
        if self.bytes * part < words * self.width || self.is_text && self.letters >= 3 * words {
            return Some((Form::Bytes, false));
        }
        let (less, more) = (self.big.min(self.little), self.big.max(self.little));
        let mixed = less * ONE_MAY_CONTRADICT > more;
        let little = if mixed {
            of_clickhouse
        } else {
            self.little > self.big
        };
        Some((
            if little {
                Form::LittleEndian
            } else {
                Form::BigEndian
            },
            mixed,
        ))
    }
}

/// Number of the first bytes that only fill a number up: zeros, or ones of a negative one.
fn filling(mut bytes: impl Iterator<Item = u8>) -> usize {
    let Some(first @ (0 | 0xff)) = bytes.next() else {
        return 0;
    };
    1 + bytes.take_while(|byte| *byte == first).count()
}

/// The number, of up to 32 bytes, as digits. Where the type does not tell that it has a sign, a number whose first half is ones is negative,
/// unless it is the greatest of all.
pub(super) fn digits(word: &[u8], little: bool, signed: bool) -> String {
    let mut bytes = word.to_vec();
    if little {
        bytes.reverse();
    }
    let ones = bytes.iter().take_while(|byte| **byte == 0xff).count();
    let is_negative = if signed {
        bytes.first().is_some_and(|byte| *byte > 0x7f)
    } else {
        ones * 2 >= bytes.len() && ones < bytes.len()
    };
    if is_negative {
        for byte in &mut bytes {
            *byte = !*byte;
        }
        let number = U256::try_from_be_slice(&bytes)
            .unwrap_or_default()
            .saturating_add(U256::from(1));
        return format!("-{number}");
    }
    U256::try_from_be_slice(&bytes)
        .unwrap_or_default()
        .to_string()
}

impl WordRows {
    pub(super) fn over(inner: Box<dyn RowSource>, writer: Option<&str>) -> Box<dyn RowSource> {
        let of_clickhouse =
            writer.is_some_and(|writer| writer.to_ascii_lowercase().contains("clickhouse"));
        Box::new(Self {
            inner,
            of_clickhouse,
            forms: HashMap::new(),
            notes: Vec::new(),
        })
    }

    /// The column in a form that is readable as numbers; none where it stays as it is.
    fn readable(&mut self, column: &Column) -> Option<Column> {
        let name = column.name();
        if column.dtype() != &DataType::Binary || !is_of_numbers(name) {
            return None;
        }
        let words = column.binary().ok()?;
        let form = if let Some(form) = self.forms.get(name) {
            *form
        } else {
            if words.null_count() == words.len() {
                return None;
            }
            let Some(evidence) = Evidence::of(words) else {
                self.forms.insert(name.clone(), Form::Bytes);
                return None;
            };
            if let Some((form, mixed)) = evidence.form(self.of_clickhouse) {
                self.forms.insert(name.clone(), form);
                self.notes
                    .extend(said(name, form, mixed, evidence.width, self.of_clickhouse));
                form
            } else {
                Form::BigEndian
            }
        };
        let is_read = |word: &[u8]| word.len() == 32 && form == Form::BigEndian;
        if form == Form::Bytes || words.iter().flatten().all(is_read) {
            return None;
        }
        let mut texts = StringChunkedBuilder::new(name.clone(), words.len());
        words.iter().for_each(|word| {
            texts.append_option(word.map(|word| digits(word, form == Form::LittleEndian, false)));
        });
        Some(texts.finish().into_column())
    }
}

/// The note about a column whose byte order was detected.
fn said(name: &str, form: Form, mixed: bool, width: usize, of_clickhouse: bool) -> Option<String> {
    let order = match form {
        Form::Bytes => return None,
        Form::BigEndian => "most",
        Form::LittleEndian => "least",
    };
    let which = format!(
        "the numbers in `{name}` are {width} bytes each, the {order} significant byte first"
    );
    match (mixed, form, of_clickhouse) {
        (true, ..) => Some(format!(
            "warning: the byte order of `{name}` is uncertain, because some of its numbers fit one order and some the other; assumed: {which}; if that is wrong, write them as text"
        )),
        // The usual form.
        (false, Form::BigEndian, _) if width == 32 => None,
        (false, Form::LittleEndian, true) => {
            Some(format!("{which}, the order that ClickHouse writes"))
        }
        (false, Form::LittleEndian, false) => Some(format!(
            "assumed from the position of zeros: {which}, as in ClickHouse"
        )),
        (false, ..) => Some(format!("assumed from the position of zeros: {which}")),
    }
}

impl RowSource for WordRows {
    fn next_batch(&mut self) -> Result<Option<SourceBatch>, SourceError> {
        let Some(mut batch) = self.inner.next_batch()? else {
            return Ok(None);
        };
        for column in &mut batch.columns {
            if let Some(readable) = self.readable(column) {
                *column = readable;
            }
        }
        Ok(Some(batch))
    }

    fn columns(&self) -> &[String] {
        self.inner.columns()
    }

    fn notes(&self) -> Vec<String> {
        self.inner
            .notes()
            .into_iter()
            .chain(self.notes.iter().cloned())
            .collect()
    }

    fn stopped_at(&self) -> Option<u64> {
        self.inner.stopped_at()
    }

    fn bytes_read(&self) -> u64 {
        self.inner.bytes_read()
    }
}

#[cfg(test)]
mod tests {
    use polars::prelude::NewChunkedArray;

    use super::*;

    fn word(number: u128, width: usize, little: bool) -> Vec<u8> {
        let mut bytes = vec![0; width - 16];
        bytes.extend(number.to_be_bytes());
        if little {
            bytes.reverse();
        }
        bytes
    }

    /// The form of a column of these words.
    fn form(words: &[Vec<u8>], of_clickhouse: bool) -> Option<(Form, bool)> {
        let column = BinaryChunked::from_iter_values("x".into(), words.iter().map(Vec::as_slice));
        Evidence::of(&column).and_then(|evidence| evidence.form(of_clickhouse))
    }

    #[test]
    fn the_zeros_of_a_column_tell_the_byte_order() {
        let amounts = |width, little| -> Vec<Vec<u8>> {
            (1..30)
                .map(|n| word(n * 10_u128.pow(18), width, little))
                .collect()
        };
        let hashes: Vec<Vec<u8>> = (1..30_u8)
            .map(|n| {
                (0..32_u8)
                    .map(|at| n.wrapping_mul(37).wrapping_add(at.wrapping_mul(13)) | 1)
                    .collect()
            })
            .collect();
        let texts: Vec<Vec<u8>> = ["MKR", "Maker"]
            .iter()
            .map(|text| [text.as_bytes(), &[0; 32][text.len()..]].concat())
            .collect();
        let both = [amounts(32, true), amounts(32, false)].concat();
        let nearly = [
            amounts(32, true),
            vec![word(1, 32, false)],
            vec![vec![0; 32], vec![0xff; 32]],
        ]
        .concat();
        for (words, of_clickhouse, expected) in [
            (amounts(32, false), false, Some((Form::BigEndian, false))),
            // A FixedString of ClickHouse may hold the words of a node.
            (amounts(32, false), true, Some((Form::BigEndian, false))),
            (amounts(32, true), false, Some((Form::LittleEndian, false))),
            (amounts(16, true), false, Some((Form::LittleEndian, false))),
            (amounts(16, false), false, Some((Form::BigEndian, false))),
            (nearly, false, Some((Form::LittleEndian, false))),
            (both.clone(), false, Some((Form::BigEndian, true))),
            (both, true, Some((Form::LittleEndian, true))),
            (hashes.clone(), true, Some((Form::Bytes, false))),
            (texts, true, Some((Form::Bytes, false))),
            (vec![vec![0; 32]], true, None),
            (vec![vec![1; 20]], true, None),
        ] {
            assert_eq!(form(&words, of_clickhouse), expected, "{words:?}");
        }
        assert!(!is_of_numbers("transaction_hash") && is_of_numbers("value"));
    }

    #[test]
    fn numbers_become_their_digits() {
        let five = word(5, 32, true);
        let minus_five: Vec<u8> = std::iter::once(0xfb).chain([0xff; 31]).collect();
        for (word, little, expected) in [
            (&five[..], true, "5"),
            (&minus_five, true, "-5"),
            (
                &word(10_u128.pow(24), 16, false),
                false,
                "1000000000000000000000000",
            ),
            (
                &[0xff; 32],
                true,
                "115792089237316195423570985008687907853269984665640564039457584007913129639935",
            ),
        ] {
            assert_eq!(digits(word, little, false), expected);
        }
    }
}
