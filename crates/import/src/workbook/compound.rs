//! What an old binary workbook would take is counted before it is read: its reader follows chains that may be loops, and lays out each sheet as
//! the whole field between its outermost cells.

use std::path::Path;

use super::super::error::WorkbookError;

/// Maximum size of such a workbook, which is not compressed.
const FILE_MAX: u64 = 128 << 20;
/// Maximum number of cells in the fields of all sheets.
const FIELDS_MAX: u64 = 6_000_000;
/// The largest field that such a sheet can have.
const FIELD_MAX: u64 = 65_536 * 256;
/// Sector numbers from here on are marks, such as the end of a chain.
const MARKS: u32 = 0xffff_fffa;
const HEADER: usize = 512;

/// Refuses a workbook that would take too much.
pub(super) fn check(path: &Path) -> Result<(), WorkbookError> {
    let size = std::fs::metadata(path).map_or(0, |meta| meta.len());
    if size > FILE_MAX {
        return Err(WorkbookError::OldTooLarge {
            mib: FILE_MAX >> 20,
        });
    }
    let bytes = std::fs::read(path).map_err(WorkbookError::Unread)?;
    let Some(stream) = stream(&bytes).ok_or(WorkbookError::Damaged)? else {
        return Ok(());
    };
    fields(&stream)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes
        .get(at..)?
        .first_chunk()
        .map(|bytes| u16::from_le_bytes(*bytes))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes
        .get(at..)?
        .first_chunk()
        .map(|bytes| u32::from_le_bytes(*bytes))
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes
        .as_chunks()
        .0
        .iter()
        .map(|number| u32::from_le_bytes(*number))
}

/// The sectors of a chain, at most `most` bytes; `None` if it leaves the file or is a loop.
fn chain(sectors: &[u8], size: usize, next: &[u32], mut at: u32, most: usize) -> Option<Vec<u8>> {
    let mut found = Vec::new();
    while at < MARKS && found.len() < most {
        let start = (at as usize).checked_mul(size)?;
        let sector = sectors.get(start..)?;
        found.extend_from_slice(sector.get(..size).unwrap_or(sector));
        if found.len() > sectors.len() + size {
            return None;
        }
        at = *next.get(at as usize)?;
    }
    found.truncate(most);
    Some(found)
}

/// The stream of the workbook. `None` if the file is damaged; `Some(None)` if it holds something else, as its reader reports.
#[expect(
    clippy::option_option,
    reason = "damage and another content are told apart"
)]
fn stream(bytes: &[u8]) -> Option<Option<Vec<u8>>> {
    let size = if u16_at(bytes, 30)? == 9 { 512 } else { 4096 };
    let sectors = bytes.get(size..)?;
    let count = sectors.len() / size + 1;
    // The sectors of the table of chains: the first in the header, the others in a chain of their own.
    let mut table_at: Vec<u32> = numbers(bytes.get(76..HEADER)?).collect();
    let mut more = u32_at(bytes, 68)?;
    while more < MARKS {
        let start = (more as usize).checked_mul(size)?;
        table_at.extend(numbers(sectors.get(start..start + size)?));
        more = table_at.pop()?;
        if table_at.len() > count + HEADER {
            return None;
        }
    }
    let mut next = Vec::new();
    for at in table_at.into_iter().filter(|at| *at < MARKS) {
        let sector = sectors.get((at as usize).checked_mul(size)?..)?;
        next.extend(numbers(sector.get(..size).unwrap_or(sector)));
        if next.len() > count + (sectors.len() / 4).max(size) {
            return None;
        }
    }
    let folder = chain(sectors, size, &next, u32_at(bytes, 48)?, usize::MAX)?;
    let (entries, _) = folder.as_chunks::<128>();
    let root = entries.first()?;
    // Large sectors come with lengths of eight bytes.
    let length_of = |entry: &[u8; 128]| {
        let is_huge = size > 512 && u32_at(entry, 124)? > 0;
        if is_huge {
            Some(usize::MAX)
        } else {
            u32_at(entry, 120).map(|length| length as usize)
        }
    };
    let (mut small, mut small_next) = (Vec::new(), Vec::new());
    if u32_at(bytes, 64)? > 0 {
        small = chain(sectors, size, &next, u32_at(root, 116)?, length_of(root)?)?;
        let length = (u32_at(bytes, 64)? as usize).checked_mul(size)?;
        small_next = numbers(&chain(sectors, size, &next, u32_at(bytes, 60)?, length)?).collect();
    }
    let is = |entry: &[u8; 128], name: &str| {
        let letters = entry
            .as_chunks()
            .0
            .iter()
            .take(32)
            .map(|letter| u16::from_le_bytes(*letter))
            .take_while(|letter| *letter != 0);
        char::decode_utf16(letters)
            .map(Result::unwrap_or_default)
            .collect::<String>()
            .eq_ignore_ascii_case(name)
    };
    let found = ["Workbook", "Book"]
        .iter()
        .find_map(|name| entries.iter().find(|entry| is(entry, name)));
    let Some(entry) = found else {
        return Some(None);
    };
    let (start, length) = (u32_at(entry, 116)?, length_of(entry)?);
    if length < 4096 {
        chain(&small, 64, &small_next, start, length)
    } else {
        chain(sectors, size, &next, start, length)
    }
    .map(Some)
}

/// The records from a place of the stream on: kind and data.
fn records(stream: &[u8], mut at: usize) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (kind, length) = (u16_at(stream, at)?, usize::from(u16_at(stream, at + 2)?));
        let data = stream.get(at + 4..at + 4 + length)?;
        at += 4 + length;
        Some((kind, data))
    })
}

const END: u16 = 0x0a;
const BEGIN: u16 = 0x0809;
const SHEET: u16 = 0x85;
const DIMENSIONS: u16 = 0x200;
const MANY_NUMBERS: u16 = 0xbd;
/// Records of cells, which begin with row and column: formula, label, shared label, number, another label, true or false, short number.
const CELLS: [u16; 7] = [0x06, 0xd6, 0xfd, 0x203, 0x204, 0x205, 0x27e];

/// Refuses sheets whose fields are too large.
fn fields(stream: &[u8]) -> Result<(), WorkbookError> {
    let (mut all, mut walked) = (0, 0);
    let sheets = records(stream, 0)
        .take_while(|(kind, _)| *kind != END)
        .filter(|(kind, _)| *kind == SHEET);
    for start in sheets.filter_map(|(_, data)| u32_at(data, 0)) {
        let (mut depth, mut field): (usize, Option<[u64; 4]>) = (0, None);
        for (kind, data) in records(stream, start as usize) {
            walked += data.len() + 4;
            // Sheets that lie over each other would be read many times.
            if walked > 2 * stream.len() {
                return Err(WorkbookError::Damaged);
            }
            match kind {
                BEGIN => depth += 1,
                END if depth <= 1 => break,
                END => depth -= 1,
                _ if depth > 1 => {}
                DIMENSIONS => {
                    let wide = data.len() > 10;
                    let number = |at: usize| u16_at(data, at).map_or(0, u64::from);
                    let rows = if wide {
                        u32_at(data, 4).map_or(0, u64::from)
                    } else {
                        number(2)
                    };
                    if rows.saturating_mul(number(if wide { 10 } else { 6 })) > FIELD_MAX {
                        return Err(WorkbookError::Damaged);
                    }
                }
                kind if kind == MANY_NUMBERS || CELLS.contains(&kind) => {
                    let (Some(row), Some(column)) = (
                        u16_at(data, 0).map(u64::from),
                        u16_at(data, 2).map(u64::from),
                    ) else {
                        continue;
                    };
                    let last = if kind == MANY_NUMBERS {
                        u16_at(data, data.len().saturating_sub(2)).map_or(column, u64::from)
                    } else {
                        column
                    };
                    let [top, left, bottom, right] = field.unwrap_or([row, column, row, last]);
                    field = Some([
                        top.min(row),
                        left.min(column),
                        bottom.max(row),
                        right.max(last),
                    ]);
                }
                _ => {}
            }
        }
        all += field.map_or(0, |[top, left, bottom, right]| {
            (bottom - top + 1) * (right.saturating_sub(left) + 1)
        });
        if all > FIELDS_MAX {
            return Err(WorkbookError::TooWide { max: FIELDS_MAX });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u16, data: &[u8]) -> Vec<u8> {
        [
            &kind.to_le_bytes()[..],
            &(data.len() as u16).to_le_bytes(),
            data,
        ]
        .concat()
    }

    fn cell(row: u16, column: u16) -> Vec<u8> {
        record(
            0x203,
            &[&row.to_le_bytes()[..], &column.to_le_bytes(), &[0; 10]].concat(),
        )
    }

    /// A book whose sheets all start behind its own records.
    fn book(sheets: usize, cells: &[Vec<u8>]) -> Vec<u8> {
        let start = (8 + sheets * 8 + 4) as u32;
        let own = record(BEGIN, &[0; 4]);
        let named = record(SHEET, &start.to_le_bytes()).repeat(sheets);
        [
            own.clone(),
            named,
            record(END, &[]),
            own,
            cells.concat(),
            record(END, &[]),
        ]
        .concat()
    }

    #[test]
    fn fields_of_sheets_are_limited() {
        let wide = |rows: u32| {
            record(
                DIMENSIONS,
                &[&[0; 4][..], &rows.to_le_bytes(), &[0, 0, 0, 1, 0, 0]].concat(),
            )
        };
        for (name, stream, reason) in [
            ("a table", book(1, &[wide(3), cell(0, 0), cell(2, 9)]), ""),
            ("a stray cell", book(1, &[cell(0, 0), cell(65_535, 9)]), ""),
            (
                "cells far apart",
                book(1, &[cell(0, 0), cell(65_535, 255)]),
                "more than 6000000 cells",
            ),
            (
                "a field of the wrong size",
                book(1, &[wide(u32::MAX), cell(0, 0)]),
                "damaged",
            ),
            (
                "sheets over each other",
                book(50, &vec![cell(0, 0); 60]),
                "damaged",
            ),
        ] {
            let said = fields(&stream).map_or_else(|error| error.to_string(), |()| String::new());
            assert!(
                said.contains(reason) && said.is_empty() == reason.is_empty(),
                "{name}: {said}"
            );
        }
    }

    #[test]
    fn a_chain_that_is_a_loop_ends() {
        let sectors = [7; 64];
        assert_eq!(
            chain(&sectors, 16, &[2, 0, u32::MAX - 1], 0, 20),
            Some(vec![7; 20])
        );
        assert_eq!(chain(&sectors, 16, &[1, 0], 0, usize::MAX), None);
        assert_eq!(chain(&sectors, 16, &[9], 0, usize::MAX), None);
        assert_eq!(stream(&[0; 600]), None);
    }
}
