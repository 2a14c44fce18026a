//! Row numbers of a table in some order (a selection vector): a range, a short list in memory, or a long one in a memory-mapped file, so
//! that memory use does not grow with the rows.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    ops::Range,
    path::PathBuf,
    sync::Arc,
};

use super::{map::MappedFile, rows::TableRows};

/// Row numbers; cheap to clone.
#[derive(Debug, Clone)]
pub enum RowSelection {
    /// In table order.
    Run(Range<usize>),
    List(Arc<Vec<u32>>),
    Mapped(Arc<MappedRows>),
    Reversed(Box<RowSelection>),
}

/// A list in an unnamed temporary file, which is deleted with its last user.
#[derive(Debug)]
pub struct MappedRows(MappedFile);

impl Default for RowSelection {
    fn default() -> Self {
        Self::Run(0..0)
    }
}

impl From<Vec<u32>> for RowSelection {
    fn from(list: Vec<u32>) -> Self {
        Self::List(Arc::new(list))
    }
}

impl RowSelection {
    pub fn len(&self) -> usize {
        match self {
            Self::Run(rows) => rows.len(),
            Self::List(list) => list.len(),
            Self::Mapped(rows) => rows.0.bytes().len() / 4,
            Self::Reversed(selection) => selection.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn get(&self, nth: usize) -> Option<usize> {
        match self {
            Self::Run(rows) => (nth < rows.len()).then(|| rows.start + nth),
            Self::List(list) => list.get(nth).map(|&row| row as usize),
            Self::Mapped(rows) => rows
                .0
                .bytes()
                .get(nth.checked_mul(4)?..)?
                .first_chunk()
                .map(|bytes| u32::from_le_bytes(*bytes) as usize),
            Self::Reversed(selection) => {
                selection.get(selection.len().checked_sub(nth)?.checked_sub(1)?)
            }
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.len()).filter_map(|nth| self.get(nth))
    }
}

/// Collects row numbers: in memory while they are few, spilled to a file once they are many.
#[derive(Debug, Default)]
pub struct RowSelectionWriter {
    /// Folder of the file, and the maximum number of rows in memory; `None` if all rows are in memory.
    spill: Option<(PathBuf, usize)>,
    list: Vec<u32>,
    file: Option<BufWriter<File>>,
}

impl RowSelectionWriter {
    /// A writer for rows of a table; the file goes into the folder of a large table. For a table in memory, there is no file.
    pub fn for_table(table: &TableRows) -> Self {
        let spill = || (table.folder().to_owned(), table.sorting().in_memory);
        Self {
            spill: (!table.is_held()).then(spill),
            ..Self::default()
        }
    }

    pub fn push(&mut self, row: u32) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            return file.write_all(&row.to_le_bytes());
        }
        self.list.push(row);
        if let Some((folder, in_memory)) = &self.spill
            && self.list.len() > *in_memory
        {
            let mut file = BufWriter::with_capacity(1 << 20, tempfile::tempfile_in(folder)?);
            for row in std::mem::take(&mut self.list) {
                file.write_all(&row.to_le_bytes())?;
            }
            self.file = Some(file);
        }
        Ok(())
    }

    pub fn finish(self) -> io::Result<RowSelection> {
        match self.file {
            None => Ok(RowSelection::from(self.list)),
            Some(file) => {
                let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                Ok(RowSelection::Mapped(Arc::new(MappedRows(MappedFile::of(
                    &file,
                )?))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_numbers_are_the_same_wherever_they_are_stored() {
        let folder = tempfile::tempdir().unwrap();
        for count in [0, 3, 1_000, 1_001, 2_007] {
            let spill = Some((folder.path().to_owned(), 1_000));
            let mut writer = RowSelectionWriter {
                spill,
                list: Vec::new(),
                file: None,
            };
            (0..count as u32).for_each(|row| writer.push(row ^ 5).unwrap());
            let selection = writer.finish().unwrap();
            assert_eq!(
                matches!(selection, RowSelection::Mapped(_)),
                count > 1_000,
                "{count}"
            );
            assert!(
                selection.iter().eq((0..count).map(|row| row ^ 5)),
                "{count}"
            );
            let back = RowSelection::Reversed(Box::new(selection.clone()));
            assert_eq!(
                (back.len(), back.get(0), back.get(count)),
                (
                    count,
                    count.checked_sub(1).and_then(|last| selection.get(last)),
                    None
                )
            );
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let run = RowSelection::Run(3..6);
        assert_eq!(
            (
                run.iter().collect::<Vec<_>>(),
                run.get(3),
                run.get(usize::MAX)
            ),
            (vec![3, 4, 5], None, None)
        );
    }
}
