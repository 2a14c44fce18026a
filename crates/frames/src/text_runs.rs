//! Text columns with long runs of equal cells, such as tokens and intervals: read run by run, and built so that a repeated text is in
//! memory once.

use std::{borrow::Cow, ops::Range};

use polars::prelude::{Column, IntoColumn, PlSmallStr, StringChunked};
use polars_arrow::array::{Array, MutableBinaryViewArray, Utf8ViewArray};

/// Runs of equal cells in order, each with its text. The end of a chunk also ends a run.
pub fn runs_of(texts: &StringChunked) -> impl Iterator<Item = (Range<usize>, Option<&str>)> {
    let mut first = 0;
    texts.downcast_iter().flat_map(move |chunk| {
        let start = first;
        first += chunk.len();
        ChunkRuns { chunk, at: 0 }
            .map(move |(rows, text)| (start + rows.start..start + rows.end, text))
    })
}

/// Runs of rows in which neither of two columns changes, each with both texts.
pub fn pairs<'a>(
    texts: &'a StringChunked,
    others: &'a StringChunked,
) -> impl Iterator<Item = (Range<usize>, Option<&'a str>, Option<&'a str>)> {
    let (mut texts, mut others, mut start) =
        (runs_of(texts).peekable(), runs_of(others).peekable(), 0);
    std::iter::from_fn(move || {
        let ((rows, text), (other_rows, other)) = (texts.peek()?.clone(), others.peek()?.clone());
        let end = rows.end.min(other_rows.end);
        texts.next_if(|(rows, _)| rows.end == end);
        others.next_if(|(rows, _)| rows.end == end);
        Some((std::mem::replace(&mut start, end)..end, text, other))
    })
}

struct ChunkRuns<'a> {
    chunk: &'a Utf8ViewArray,
    at: usize,
}

impl<'a> Iterator for ChunkRuns<'a> {
    type Item = (Range<usize>, Option<&'a str>);

    fn next(&mut self) -> Option<Self::Item> {
        let (chunk, start) = (self.chunk, self.at);
        let views = chunk.views().as_slice();
        let first = *views.get(start)?;
        let text = chunk.get(start);
        let whole = chunk.null_count() == 0;
        let same = |row: usize| {
            let view = views[row];
            if !whole {
                return chunk.get(row) == text;
            }
            // Equal views mean equal texts. Equal texts may have different views, but not different lengths or prefixes.
            view.as_u128() == first.as_u128()
                || (view.length, view.prefix) == (first.length, first.prefix)
                    && chunk.get(row) == text
        };
        self.at = (start + 1..views.len())
            .find(|row| !same(*row))
            .unwrap_or(views.len());
        Some((start..self.at, text))
    }
}

/// Builder of a text column.
pub struct Texts(MutableBinaryViewArray<str>);

impl Texts {
    pub fn with_capacity(rows: usize) -> Self {
        Self(MutableBinaryViewArray::with_capacity(rows))
    }

    /// Appends a run of equal cells.
    pub fn push(&mut self, text: Option<&str>, rows: usize) {
        match text {
            Some(_) => self.0.extend_constant(rows, text),
            None => self.0.extend_null(rows),
        }
    }

    pub fn finish(self, name: PlSmallStr) -> Column {
        let texts: Utf8ViewArray = self.0.into();
        StringChunked::with_chunk(name, texts).into_column()
    }
}

/// Unused bytes that a column may hold before it is rebuilt.
const SPARE: usize = 4 << 10;

/// Maps each run of texts through `read`. If nothing changes, the column is shared, unless it holds more than twice the memory it needs.
pub fn rewritten<'a>(
    name: PlSmallStr,
    texts: &'a StringChunked,
    mut read: impl FnMut(Range<usize>, Option<&'a str>) -> Option<Cow<'a, str>>,
) -> Column {
    let mut column: Option<Texts> = None;
    let mut needed = 0;
    for (rows, text) in runs_of(texts) {
        let (start, height) = (rows.start, rows.len());
        needed += text.map_or(0, str::len);
        let new = read(rows, text);
        if column.is_none() && new.as_deref() != text {
            let mut before = Texts::with_capacity(texts.len());
            runs_of(texts)
                .take_while(|(rows, _)| rows.start < start)
                .for_each(|(rows, text)| before.push(text, rows.len()));
            column = Some(before);
        }
        if let Some(column) = &mut column {
            column.push(new.as_deref(), height);
        }
    }
    let held: usize = texts
        .downcast_iter()
        .map(Utf8ViewArray::total_buffer_len)
        .sum();
    if column.is_none() && held > 2 * needed + SPARE {
        let mut once = Texts::with_capacity(texts.len());
        runs_of(texts).for_each(|(rows, text)| once.push(text, rows.len()));
        column = Some(once);
    }
    match column {
        Some(column) => column.finish(name),
        None => texts.clone().with_name(name).into_column(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, option, prelude::any, proptest};

    use super::*;

    /// A column of these texts in chunks, each text stored once per stretch or once per row.
    fn column(rows: &[Option<u8>], cuts: &[usize], once: bool) -> StringChunked {
        let text = |row: &Option<u8>| {
            row.map(|number| {
                format!(
                    "{}{number}",
                    "a text too long to be stored next to its length ".repeat((number % 2).into())
                )
            })
        };
        let chunk = |rows: &[Option<u8>]| {
            let mut texts = Texts::with_capacity(rows.len());
            for alike in rows.chunk_by(|a, b| once && a == b) {
                texts.push(text(&alike[0]).as_deref(), alike.len());
            }
            texts.finish("x".into()).str().unwrap().clone()
        };
        let mut cuts: Vec<usize> = cuts
            .iter()
            .map(|cut| cut % (rows.len() + 1))
            .chain([0, rows.len()])
            .collect();
        cuts.sort_unstable();
        cuts.windows(2)
            .map(|cut| chunk(&rows[cut[0]..cut[1]]))
            .reduce(|mut whole, next| {
                whole.append(&next).unwrap();
                whole
            })
            .unwrap()
    }

    #[test]
    fn a_text_that_is_repeated_is_held_once() {
        let held = |column: &Column| {
            column
                .str()
                .unwrap()
                .downcast_iter()
                .map(Utf8ViewArray::total_buffer_len)
                .sum::<usize>()
        };
        let address = "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984";
        let texts: StringChunked = (0..1_000)
            .map(|row| {
                Some(if row < 700 {
                    address
                } else {
                    "0xdac17f958d2ee523a2206206994597c13d831ec7"
                })
            })
            .collect();
        let column = rewritten("x".into(), &texts, |_, text| text.map(Cow::Borrowed));
        assert!(
            held(&texts.clone().into_column()) >= 42_000 && held(&column) == 84,
            "{}",
            held(&column)
        );
        assert_eq!(
            column.str().unwrap().iter().collect::<Vec<_>>(),
            texts.iter().collect::<Vec<_>>()
        );
        // A column of distinct texts is shared.
        let texts = (0..1_000)
            .map(|row| Some(format!("a text of its own with the number {row}")))
            .collect::<StringChunked>();
        assert_eq!(
            held(&rewritten("x".into(), &texts, |_, text| text.map(Cow::Borrowed))),
            held(&texts.into_column())
        );
    }

    proptest! {
        #[test]
        fn runs_have_every_row_once_and_in_order(
            rows in vec(option::of(0u8..3), 0..40), others in vec(option::of(0u8..2), 40), cuts in vec(any::<usize>(), 0..3), once in any::<bool>(),
        ) {
            let texts = column(&rows, &cuts, once);
            let told: Vec<Option<&str>> = runs_of(&texts).flat_map(|(rows, text)| rows.map(move |_| text)).collect();
            assert_eq!(told, texts.iter().collect::<Vec<_>>());
            if cuts.is_empty() {
                let runs = rows.chunk_by(|a, b| a == b).count();
                assert_eq!(runs_of(&texts).count(), runs);
            }
            let longer = |text: &'_ str| format!("{text}!");
            let made = rewritten("y".into(), &texts, |_, text| text.map(|text| if text == "0" { longer(text).into() } else { text.into() }));
            let expected: Vec<_> = texts.iter().map(|text| text.map(|text| if text == "0" { longer(text) } else { text.to_owned() })).collect();
            assert_eq!(made.str().unwrap().iter().map(|text| text.map(str::to_owned)).collect::<Vec<_>>(), expected);
            let others = column(&others[..rows.len()], &[], !once);
            let told: Vec<_> = pairs(&texts, &others).flat_map(|(rows, a, b)| rows.map(move |row| (row, a, b))).collect();
            assert_eq!(told, texts.iter().zip(others.iter()).enumerate().map(|(row, (a, b))| (row, a, b)).collect::<Vec<_>>());
        }
    }
}
