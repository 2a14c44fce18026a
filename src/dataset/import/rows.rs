//! Rows that are not as a file has them: cells mended, columns added, lists of JSON as rows. What a cell means is the formats'.

use std::borrow::Cow;

use polars::prelude::{Column, IntoColumn, NamedFrom, PlSmallStr, Series};

use crate::dataset::source::{BATCH_ROWS, Batch, RowSource};

type Edit = Box<dyn FnMut(&mut Batch) + Send>;

/// Rows through an edit that mends cells or adds columns.
pub(super) struct Edited {
    inner: Box<dyn RowSource>,
    edit: Edit,
    added: &'static [&'static str],
    names: Vec<String>,
}

impl Edited {
    /// `added` are the columns that the edit adds.
    pub(super) fn over(
        inner: Box<dyn RowSource>,
        added: &'static [&'static str],
        edit: impl FnMut(&mut Batch) + Send + 'static,
    ) -> Box<dyn RowSource> {
        let mut edited = Self { inner, edit: Box::new(edit), added, names: Vec::new() };
        edited.name();
        Box::new(edited)
    }

    fn name(&mut self) {
        self.names = self.inner.columns().iter().map(String::as_str).chain(self.added.iter().copied()).map(str::to_owned).collect();
    }
}

impl RowSource for Edited {
    fn next_batch(&mut self) -> Result<Option<Batch>, String> {
        let batch = self.inner.next_batch()?;
        if self.names.len() != self.inner.columns().len() + self.added.len() {
            self.name();
        }
        Ok(batch.map(|mut batch| {
            (self.edit)(&mut batch);
            batch
        }))
    }

    fn columns(&self) -> &[String] {
        &self.names
    }

    fn bytes_read(&self) -> u64 {
        self.inner.bytes_read()
    }
}

/// The texts of a column; all empty where the batch lacks it.
pub(super) fn texts<'b>(batch: &'b Batch, name: &str) -> Vec<Option<&'b str>> {
    let found = batch.columns.iter().find(|column| column.name().trim().eq_ignore_ascii_case(name));
    match found.and_then(|column| column.str().ok()) {
        Some(texts) => texts.iter().collect(),
        None => vec![None; batch.height],
    }
}

/// Puts texts in the place of a column, or adds it.
pub(super) fn put(batch: &mut Batch, name: &str, texts: Vec<Option<String>>) {
    let place = batch.columns.iter().position(|column| column.name().trim().eq_ignore_ascii_case(name));
    let named = place.map_or_else(|| PlSmallStr::from_str(name), |at| batch.columns[at].name().clone());
    let column = Series::new(named, texts).into_column();
    match place {
        Some(at) => batch.columns[at] = column,
        None => batch.columns.push(column),
    }
}

/// The text of a link, `<a href=…>0x…</a>`; what is no link stays as it is.
pub(super) fn link_text(text: &str) -> Cow<'_, str> {
    let trimmed = text.trim();
    if !trimmed.starts_with('<') {
        return Cow::Borrowed(text);
    }
    let inner = trimmed.split_once('>').map_or("", |(_, rest)| rest.split('<').next().unwrap_or_default()).trim();
    if inner.is_empty() { Cow::Borrowed(text) } else { Cow::Borrowed(inner) }
}

type Cells = Vec<Option<String>>;
type Next = Box<dyn FnMut() -> Option<Result<Cells, &'static str>> + Send>;

/// Rows produced one at a time.
pub(super) struct GeneratedRows {
    names: Vec<String>,
    next: Next,
    done: u64,
    bytes: u64,
}

impl GeneratedRows {
    pub(super) fn over(
        names: &[&str],
        bytes: u64,
        next: impl FnMut() -> Option<Result<Cells, &'static str>> + Send + 'static,
    ) -> Box<dyn RowSource> {
        Box::new(Self { names: names.iter().map(|&name| name.to_owned()).collect(), next: Box::new(next), done: 0, bytes })
    }
}

impl RowSource for GeneratedRows {
    fn next_batch(&mut self) -> Result<Option<Batch>, String> {
        let mut columns: Vec<Cells> = self.names.iter().map(|_| Vec::new()).collect();
        let mut malformed = Vec::new();
        let mut height = 0;
        while height < BATCH_ROWS {
            let Some(row) = (self.next)() else { break };
            let cells = row.unwrap_or_else(|reason| {
                malformed.push((height, reason));
                Vec::new()
            });
            let mut cells = cells.into_iter();
            for column in &mut columns {
                column.push(cells.next().flatten());
            }
            height += 1;
        }
        if height == 0 && self.done > 0 {
            return Ok(None);
        }
        let first_row = self.done + 1;
        self.done += height.max(1) as u64;
        let columns: Vec<Column> =
            self.names.iter().zip(columns).map(|(name, cells)| Series::new(PlSmallStr::from_str(name), cells).into_column()).collect();
        Ok(Some(Batch { columns, height, first_row, malformed }))
    }

    fn columns(&self) -> &[String] {
        &self.names
    }

    fn bytes_read(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_its_text() {
        let link = "<a href=https://celoscan.io/address/0x8a16 target=_blank>0x8a16</a>";
        for (text, expected) in [(link, "0x8a16"), ("0x12", "0x12"), ("<b></b>", "<b></b>"), ("<", "<")] {
            assert_eq!(link_text(text), expected, "{text}");
        }
    }
}
