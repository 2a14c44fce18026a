//! Row sources derived from a file's rows: by editing each batch, or by generating one row at a time; and helpers to find, read and replace
//! a batch's columns. What cells mean is decided by the formats.

use polars::prelude::{Column, DataType, IntoColumn, NamedFrom, PlSmallStr, Series};

use super::{evidence::number::NumberStyle, sheet::flat};
use load::formats::{BATCH_ROWS, RowSource, SourceBatch, SourceError};
use model::address::Address;

type Edit = Box<dyn FnMut(&mut SourceBatch) + Send>;

/// Rows with an edit applied to each batch, which rewrites cells or adds columns.
pub(super) struct Edited {
    inner: Box<dyn RowSource>,
    edit: Edit,
    added: Vec<String>,
    /// Only the added columns are left.
    alone: bool,
    names: Vec<String>,
}

impl Edited {
    /// `added` are the columns that the edit adds.
    pub(super) fn over(
        inner: Box<dyn RowSource>,
        added: impl IntoIterator<Item: Into<String>>,
        edit: impl FnMut(&mut SourceBatch) + Send + 'static,
    ) -> Box<dyn RowSource> {
        Self::made(inner, added, false, Box::new(edit))
    }

    /// Rows of the columns `made` by the edit, without those they are made of.
    pub(super) fn only(
        inner: Box<dyn RowSource>,
        made: impl IntoIterator<Item: Into<String>>,
        edit: impl FnMut(&mut SourceBatch) + Send + 'static,
    ) -> Box<dyn RowSource> {
        Self::made(inner, made, true, Box::new(edit))
    }

    fn made(
        inner: Box<dyn RowSource>,
        added: impl IntoIterator<Item: Into<String>>,
        alone: bool,
        edit: Edit,
    ) -> Box<dyn RowSource> {
        let added = added.into_iter().map(Into::into).collect();
        let mut edited = Self {
            inner,
            edit,
            added,
            alone,
            names: Vec::new(),
        };
        edited.name();
        Box::new(edited)
    }

    fn name(&mut self) {
        self.names = self
            .inner
            .columns()
            .iter()
            .filter(|_| !self.alone)
            .chain(&self.added)
            .cloned()
            .collect();
    }
}

impl RowSource for Edited {
    fn next_batch(&mut self) -> Result<Option<SourceBatch>, SourceError> {
        let batch = self.inner.next_batch()?;
        self.name();
        Ok(batch.map(|mut batch| {
            (self.edit)(&mut batch);
            if self.alone {
                batch
                    .columns
                    .retain(|column| self.added.iter().any(|name| name == column.name().as_str()));
            }
            batch
        }))
    }

    fn columns(&self) -> &[String] {
        &self.names
    }

    fn notes(&self) -> Vec<String> {
        self.inner.notes()
    }

    fn bytes_read(&self) -> u64 {
        self.inner.bytes_read()
    }
}

/// Index of the batch's column of this name, exact or ignoring letter case.
fn place(batch: &SourceBatch, name: &str) -> Option<usize> {
    let exact = batch
        .columns
        .iter()
        .position(|column| column.name() == name);
    exact.or_else(|| {
        batch
            .columns
            .iter()
            .position(|column| column.name().trim().eq_ignore_ascii_case(name))
    })
}

pub(super) fn column<'b>(batch: &'b mut SourceBatch, name: &str) -> Option<&'b mut Column> {
    place(batch, name).map(|at| &mut batch.columns[at])
}

/// The cells of a column as texts; all `None` if the batch lacks it.
pub(super) fn cells(batch: &SourceBatch, name: &str) -> Vec<Option<String>> {
    place(batch, name).map_or_else(
        || vec![None; batch.height],
        |at| flat::optional(&batch.columns[at]),
    )
}

/// The numbers of a column; NaN for other cells.
pub(super) fn numbers(batch: &SourceBatch, name: &str, style: NumberStyle) -> Vec<f64> {
    let Some(at) = place(batch, name) else {
        return vec![f64::NAN; batch.height];
    };
    let column = &batch.columns[at];
    if let Ok(cast) = column.cast(&DataType::Float64)
        && column.dtype().is_primitive_numeric()
        && let Ok(numbers) = cast.f64()
    {
        return numbers
            .iter()
            .map(|number| number.unwrap_or(f64::NAN))
            .collect();
    }
    flat::optional(column)
        .into_iter()
        .map(|cell| {
            cell.and_then(|cell| style.plain(&cell)?.parse().ok())
                .unwrap_or(f64::NAN)
        })
        .collect()
}

/// Replaces or adds a column.
pub(super) fn put<T>(batch: &mut SourceBatch, name: &str, cells: Vec<Option<T>>)
where
    Series: NamedFrom<Vec<Option<T>>, [Option<T>]>,
{
    let place = place(batch, name);
    let named = place.map_or_else(
        || PlSmallStr::from_str(name),
        |at| batch.columns[at].name().clone(),
    );
    let column = Series::new(named, cells).into_column();
    match place {
        Some(at) => batch.columns[at] = column,
        None => batch.columns.push(column),
    }
}

/// Extracts the address from a link to an explorer's page: from `…/token/0x…?a=0x…` the account in `a`, not the token; from any other link
/// its only address; from `<a href=…>0x…</a>` the text. Returns anything else unchanged, including links with several addresses.
pub(super) fn link_text(text: &str) -> &str {
    let trimmed = text.trim();
    if trimmed.starts_with("https://") || trimmed.starts_with("http://") {
        let account = ["?a=", "&a="]
            .iter()
            .find_map(|mark| trimmed.split_once(mark))
            .map(|(_, rest)| rest);
        let mut found = addresses_in(account.unwrap_or(trimmed));
        return found
            .next()
            .filter(|_| found.next().is_none() || account.is_some())
            .unwrap_or(text);
    }
    if !trimmed.starts_with('<') {
        return text;
    }
    let inner = trimmed
        .split_once('>')
        .map_or("", |(_, rest)| rest.split('<').next().unwrap_or_default())
        .trim();
    if inner.is_empty() { text } else { inner }
}

/// The address in a cell that writes it as a link, behind a network's name, `eth_0x…`, or beside a name: `0x… (Uniswap)`. Returns anything
/// else unchanged.
pub(super) fn address_text(cell: &str) -> &str {
    match cell.trim().rsplit_once('_') {
        Some((_, rest)) if Address::parse(rest).is_some() => rest,
        _ if cell.contains("://") || cell.trim().starts_with('<') => link_text(cell),
        _ => {
            let mut found = addresses_in(cell);
            found
                .next()
                .filter(|_| found.next().is_none())
                .unwrap_or(cell)
        }
    }
}

/// The address in a cell, which may be dressed so, or padded to 32 bytes.
pub(super) fn address(cell: &str) -> Option<Address> {
    let padded = || {
        cell.trim()
            .strip_prefix("0x000000000000000000000000")
            .filter(|digits| digits.len() == 40)
    };
    Address::parse(address_text(cell).trim())
        .or_else(|| Address::parse(&format!("0x{}", padded()?)))
}

/// The addresses in a text.
fn addresses_in(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("0x").filter_map(|(at, _)| {
        let address = text
            .get(at..at + 42)
            .filter(|address| Address::parse(address).is_some())?;
        let longer = text
            .as_bytes()
            .get(at + 42)
            .is_some_and(u8::is_ascii_hexdigit);
        (!longer).then_some(address)
    })
}

type Cells = Vec<Option<String>>;

/// Rows generated one at a time: a text per column, or an error.
pub(super) struct GeneratedRows {
    names: Vec<String>,
    rows: Box<dyn Iterator<Item = Result<Cells, &'static str>> + Send>,
    done: u64,
    bytes: u64,
}

impl GeneratedRows {
    pub(super) fn over<R>(names: &[&str], bytes: u64, rows: R) -> Box<dyn RowSource>
    where
        R: IntoIterator<Item = Result<Cells, &'static str>, IntoIter: Send + 'static>,
    {
        Box::new(Self {
            names: names.iter().map(|&name| name.to_owned()).collect(),
            rows: Box::new(rows.into_iter()),
            done: 0,
            bytes,
        })
    }

    /// Rows without errors.
    pub(super) fn of(names: &[&str], bytes: u64, rows: Vec<Cells>) -> Box<dyn RowSource> {
        Self::over(names, bytes, rows.into_iter().map(Ok))
    }
}

impl RowSource for GeneratedRows {
    fn next_batch(&mut self) -> Result<Option<SourceBatch>, SourceError> {
        let mut columns: Vec<Cells> = self.names.iter().map(|_| Vec::new()).collect();
        let mut malformed = Vec::new();
        let mut height = 0;
        for row in self.rows.by_ref().take(BATCH_ROWS) {
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
        let columns: Vec<Column> = self
            .names
            .iter()
            .zip(columns)
            .map(|(name, cells)| Series::new(PlSmallStr::from_str(name), cells).into_column())
            .collect();
        Ok(Some(SourceBatch {
            columns,
            height,
            first_row,
            malformed,
            ..SourceBatch::default()
        }))
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
        let (token, holder) = (format!("0x{:040x}", 1), format!("0x{:040x}", 2));
        let links = [
            (
                format!("https://etherscan.io/token/{token}?a={holder}"),
                holder.as_str(),
            ),
            (
                format!("https://etherscan.io/token/{token}?x=1&a={holder}#balances"),
                &holder,
            ),
            (format!("https://etherscan.io/address/{holder}"), &holder),
            (
                format!(" http://bscscan.com/address/{holder}#tokentxns"),
                &holder,
            ),
        ];
        for (link, expected) in &links {
            assert_eq!(link_text(link), *expected, "{link}");
        }
        let tagged = [
            (
                format!("{token} (Uniswap V2: Router)"),
                Some(token.as_str()),
            ),
            (format!("Binance: Hot Wallet [{holder}]"), Some(&holder)),
            (format!("eth_{holder}"), Some(&holder)),
            (format!("0x{:064x}", 2), Some(&holder)),
            (format!("0x1{:063x}", 2), None),
            (format!("{token} {holder}"), None),
            ("Binance: Hot Wallet".to_owned(), None),
        ];
        for (cell, expected) in &tagged {
            assert_eq!(address(cell), expected.and_then(Address::parse), "{cell}");
        }
        let two = format!("https://etherscan.io/{token}/{holder}");
        let hash = format!("https://etherscan.io/tx/{token}000000");
        for left in [two.as_str(), hash.as_str(), "https://etherscan.io"] {
            assert_eq!(link_text(left), left);
        }
        for (text, expected) in [
            (link, "0x8a16"),
            ("0x12", "0x12"),
            ("<b></b>", "<b></b>"),
            ("<", "<"),
        ] {
            assert_eq!(link_text(text), expected, "{text}");
        }
    }
}
