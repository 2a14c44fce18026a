//! Row numbers of a table in some order (a selection vector): a range, a short list in memory, or a long one in a memory-mapped file, so
//! that memory use does not grow with the rows.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    ops::Range,
    path::PathBuf,
    sync::Arc,
};

use super::{map::Map, table::LargeTable};

/// Row numbers; cheap to clone.
#[derive(Debug, Clone)]
pub enum Places {
    /// In table order.
    Run(Range<usize>),
    List(Arc<Vec<u32>>),
    Filed(Arc<Filed>),
    /// Reversed.
    Backwards(Box<Places>),
}

/// A list in an unnamed temporary file, which is deleted with its last user.
#[derive(Debug)]
pub struct Filed(Map);

impl Default for Places {
    fn default() -> Self {
        Self::Run(0..0)
    }
}

impl From<Vec<u32>> for Places {
    fn from(list: Vec<u32>) -> Self {
        Self::List(Arc::new(list))
    }
}

impl Places {
    pub fn len(&self) -> usize {
        match self {
            Self::Run(rows) => rows.len(),
            Self::List(list) => list.len(),
            Self::Filed(filed) => filed.0.bytes().len() / 4,
            Self::Backwards(places) => places.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn get(&self, nth: usize) -> Option<usize> {
        match self {
            Self::Run(rows) => (nth < rows.len()).then(|| rows.start + nth),
            Self::List(list) => list.get(nth).map(|&place| place as usize),
            Self::Filed(filed) => {
                filed.0.bytes().get(nth.checked_mul(4)?..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes) as usize)
            }
            Self::Backwards(places) => places.get(places.len().checked_sub(nth + 1)?),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.len()).filter_map(|nth| self.get(nth))
    }
}

/// Collects row numbers: in memory while they are few, spilled to a file once they are many.
#[derive(Debug)]
pub struct PlacesWriter {
    /// Folder of the file, and the maximum number of rows kept in memory; none: all of them are.
    beside: Option<(PathBuf, usize)>,
    list: Vec<u32>,
    file: Option<BufWriter<File>>,
}

impl PlacesWriter {
    /// For rows of a large table, whose folder takes the file; without a file for a table in memory.
    pub fn beside(table: Option<&LargeTable>) -> Self {
        Self { beside: table.map(|table| (table.folder().to_owned(), table.sorting().in_memory)), list: Vec::new(), file: None }
    }

    pub fn push(&mut self, place: u32) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            return file.write_all(&place.to_le_bytes());
        }
        self.list.push(place);
        if let Some((folder, in_memory)) = &self.beside
            && self.list.len() > *in_memory
        {
            let mut file = BufWriter::with_capacity(1 << 20, tempfile::tempfile_in(folder)?);
            for place in std::mem::take(&mut self.list) {
                file.write_all(&place.to_le_bytes())?;
            }
            self.file = Some(file);
        }
        Ok(())
    }

    pub fn finish(self) -> io::Result<Places> {
        match self.file {
            None => Ok(Places::from(self.list)),
            Some(file) => {
                let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                Ok(Places::Filed(Arc::new(Filed(Map::of(&file)?))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_the_same_wherever_they_stand() {
        let folder = tempfile::tempdir().unwrap();
        for count in [0, 3, 1_000, 1_001, 2_007] {
            let beside = Some((folder.path().to_owned(), 1_000));
            let mut writer = PlacesWriter { beside, list: Vec::new(), file: None };
            (0..count as u32).for_each(|place| writer.push(place ^ 5).unwrap());
            let places = writer.finish().unwrap();
            assert_eq!(matches!(places, Places::Filed(_)), count > 1_000, "{count}");
            assert!(places.iter().eq((0..count).map(|place| place ^ 5)), "{count}");
            let back = Places::Backwards(Box::new(places.clone()));
            assert_eq!((back.len(), back.get(0), back.get(count)), (count, count.checked_sub(1).and_then(|last| places.get(last)), None));
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let run = Places::Run(3..6);
        assert_eq!((run.iter().collect::<Vec<_>>(), run.get(3), run.get(usize::MAX)), (vec![3, 4, 5], None, None));
    }
}
