//! How far a chain's transfers were read: a small file next to their rows, written only after the rows. Rows that it does not count are not
//! read: unlike the parts of live tables, files are added and taken back together with the blocks that were read.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::rows;
use crate::{chain::kept::FILE_MAX, error::ReadError, part_files::JOINED_ROWS_MAX};
use frames::{
    decode::guarded,
    error::FrameError,
    order,
    parquet_files::{parquet_rows, write_rows},
};
use model::{
    address::Address,
    chain_state::Word,
    private_files::{read_text, write_atomic},
};
use polars::prelude::DataFrame;
use wire::Fault;

/// Format version; a file with a newer one is not changed.
pub const TRANSFERS_VERSION: u32 = 1;
/// Blocks whose hashes are kept, the newest.
const MARKS_MAX: usize = 64;
const STATE_MAX: u64 = 16 << 20;

/// A block that was read, by which one that was taken back is noticed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BlockMark {
    pub(super) block: u64,
    pub(super) hash: String,
    /// Seconds since 1970.
    pub(super) timestamp: u64,
}

/// A file of rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RowFile {
    pub(super) name: String,
    pub(super) rows: usize,
    /// The lowest and the highest block of its rows.
    pub(super) first: u64,
    pub(super) last: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LogState {
    version: u32,
    /// When it was last asked up to the newest final block, in milliseconds since 1970.
    pub(super) at: Option<i64>,
    /// The newest final block then.
    pub(super) end: u64,
    /// Changes with the rows.
    pub(super) revision: u64,
    /// Blocks of a span that the node answers.
    pub(super) span: u64,
    /// The next block of each token.
    pub(super) next: BTreeMap<String, u64>,
    /// The first block of tokens that are read from one that dataset.toml names, unless it is the first of all.
    #[serde(default)]
    pub(super) named: BTreeMap<String, u64>,
    /// By block.
    pub(super) marks: Vec<BlockMark>,
    pub(super) files: Vec<RowFile>,
    /// The name of the next file.
    next_file: u64,
}

#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

impl LogState {
    pub(super) fn next_of(&self, token: &Address) -> Option<u64> {
        self.next.get(&token.to_string()).copied()
    }

    /// The block was read.
    pub(super) fn mark(&mut self, block: u64, hash: &Word, timestamp: u64) {
        self.marks.retain(|mark| mark.block != block);
        self.marks.push(BlockMark {
            block,
            hash: const_hex::encode_prefixed(hash),
            timestamp,
        });
        self.marks.sort_by_key(|mark| mark.block);
        let old = self.marks.len().saturating_sub(MARKS_MAX);
        self.marks.drain(..old);
    }
}

/// The folder with the rows of a chain: `live/transfers/CHAIN` in the dataset's folder.
#[derive(Debug)]
pub(super) struct RowFiles {
    folder: PathBuf,
    /// The same, relative to the dataset's folder.
    shown: String,
}

impl RowFiles {
    pub(super) fn new(dataset: &Path, chain: &str) -> Self {
        let shown = format!("live/transfers/{chain}");
        Self {
            folder: dataset.join(&shown),
            shown,
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Paths of the files that count, relative to the dataset's folder.
    pub(super) fn shown(&self, state: &LogState) -> Vec<String> {
        state
            .files
            .iter()
            .map(|file| format!("{}/{}", self.shown, file.name))
            .collect()
    }

    fn state_path(&self) -> PathBuf {
        self.folder.join("state.json")
    }

    /// What was read so far; nothing where the file is missing or damaged, and all is read again. Errors: a newer program wrote it.
    pub(super) fn load(&self) -> Result<LogState, Fault> {
        let path = self.state_path();
        let Ok(text) = read_text(&path, STATE_MAX) else {
            return Ok(LogState::default());
        };
        // Its other members may be of any form, so the version is read alone.
        if let Ok(Versioned { version }) = serde_json::from_str(&text)
            && version > TRANSFERS_VERSION
        {
            return Err(Fault::Refused(format!(
                "is not queried for logs: `{}` was written by a newer version (format {version}; this one reads {TRANSFERS_VERSION}); use the newer version, or move the folder away",
                path.display()
            )));
        }
        let state = serde_json::from_str::<LogState>(&text).ok();
        let plain = |file: &RowFile| {
            file.name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'.')
                && file.name.ends_with(".parquet")
        };
        Ok(state
            .filter(|state| state.version == TRANSFERS_VERSION && state.files.iter().all(plain))
            .unwrap_or_else(|| {
                tracing::warn!(
                    "`{}` does not record how far transfers were read; they are read again",
                    path.display()
                );
                LogState::default()
            }))
    }

    pub(super) fn save(&self, state: &mut LogState) -> Result<(), ReadError> {
        state.version = TRANSFERS_VERSION;
        let text = serde_json::to_vec(state)?;
        Ok(write_atomic(&self.state_path(), &text)?)
    }

    /// Writes rows into a new file, which does not count yet.
    pub(super) fn write(
        &self,
        state: &mut LogState,
        frame: DataFrame,
    ) -> Result<RowFile, ReadError> {
        let (first, last) = rows::blocks(&frame).unwrap_or_default();
        let (rows, name) = (frame.height(), format!("{:06}.parquet", state.next_file));
        write_rows(&self.folder.join(&name), || Ok(frame))?;
        state.next_file += 1;
        Ok(RowFile {
            name,
            rows,
            first,
            last,
        })
    }

    /// Keeps rows: added to those of the last file, which a new one then replaces, unless they are too many.
    pub(super) fn append(&self, state: &mut LogState, frame: DataFrame) -> Result<(), ReadError> {
        let joins =
            |last: &&RowFile| last.rows > 0 && last.rows + frame.height() <= JOINED_ROWS_MAX;
        let last = state.files.last().filter(joins);
        let before = last.and_then(|last| self.read(last).ok());
        let kept = state.files.len() - usize::from(before.is_some());
        let whole = guarded("table", || order::whole(before.into_iter().chain([frame])))?;
        let file = self.write(state, whole.unwrap_or_default())?;
        state.files.truncate(kept);
        state.files.push(file);
        state.revision += 1;
        self.save(state)
    }

    /// The rows of a file.
    pub(super) fn read(&self, file: &RowFile) -> Result<DataFrame, ReadError> {
        let path = self.folder.join(&file.name);
        match parquet_rows(&path, FILE_MAX).unwrap_or(Err(FrameError::MissingOrTooLarge)) {
            Ok(frame) if frame.height() == file.rows => Ok(frame),
            Ok(_) => Err(ReadError::TransfersGone {
                path,
                rows: file.rows,
            }),
            Err(reason) => Err(ReadError::TransferFile { path, reason }),
        }
    }

    /// Whether a file that counts is there.
    pub(super) fn is_there(&self, file: &RowFile) -> bool {
        self.folder.join(&file.name).is_file()
    }

    /// Removes files that do not count: a program was ended before it could say that they do, or they were replaced.
    pub(super) fn clean(&self, state: &LogState) {
        let counts = |name: &str| state.files.iter().any(|file| file.name == name);
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let stray =
                name.ends_with(".parquet") && !counts(&name) || name.starts_with(".tokendeck-");
            if stray {
                fs::remove_file(entry.path()).ok();
            }
        }
    }

    /// Removes everything about blocks after `block`: files are written again without those rows. If a file is damaged, its blocks are
    /// removed too.
    pub(super) fn cut(&self, state: &mut LogState, block: u64) -> Result<(), ReadError> {
        let mut kept = Vec::new();
        for file in state.files.clone() {
            if file.last <= block {
                kept.push(file);
            } else if file.first <= block {
                match self.read(&file) {
                    Ok(frame) => kept.push(self.write(state, rows::up_to(&frame, block)?)?),
                    Err(_) if file.first == 0 => return self.reset(state),
                    Err(_) => return self.cut(state, file.first - 1),
                }
            }
        }
        state.files = kept;
        state.revision += 1;
        state.marks.retain(|mark| mark.block <= block);
        for next in state.next.values_mut() {
            *next = (*next).min(block + 1);
        }
        self.save(state)
    }

    /// Forgets everything.
    pub(super) fn reset(&self, state: &mut LogState) -> Result<(), ReadError> {
        *state = LogState {
            revision: state.revision + 1,
            next_file: state.next_file,
            span: state.span,
            ..LogState::default()
        };
        self.save(state)
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use frames::frame_rows::{column, integers};

    #[test]
    fn what_a_newer_program_kept_is_refused_and_left_alone() {
        let dataset = tempfile::tempdir().expect("a folder");
        let files = RowFiles::new(dataset.path(), "eth");
        fs::create_dir_all(files.folder()).expect("a folder");
        let kept = |version: u32| format!(r#"{{"version":{version},"next":"of another form"}}"#);
        for (version, refused) in [(TRANSFERS_VERSION, false), (TRANSFERS_VERSION + 1, true)] {
            fs::write(files.state_path(), kept(version)).expect("a state");
            let reason = files.load().err();
            assert_eq!(reason.is_some(), refused, "{version}");
            assert!(
                reason.is_none_or(|reason| reason.to_string().contains(&format!(
                    "was written by a newer version (format {version};"
                )))
            );
            assert_eq!(
                fs::read_to_string(files.state_path()).expect("the state"),
                kept(version)
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn files_are_the_rows_of_a_list_wherever_a_program_ends(
            steps in vec((0u8..4, 1u64..5, 0u64..60, 0u8..4), 1..30),
        ) {
            let dataset = tempfile::tempdir().expect("a folder");
            let files = RowFiles::new(dataset.path(), "eth");
            let mut known: Vec<u64> = Vec::new();
            for (step, blocks, block, ended) in steps {
                let mut state = files.load().expect("a state");
                let (before, kept) = (known.clone(), fs::read(files.state_path()).ok());
                let first = known.last().map_or(1, |last| last + 1);
                let numbers = (first..first + blocks).map(|block| block as i64);
                let frame = DataFrame::new(blocks as usize, vec![column("block_number", numbers)]);
                let frame = frame.expect("rows");
                if step == 0 {
                    files.cut(&mut state, block).expect("cut");
                    known.retain(|known| *known <= block);
                } else if step == 1 {
                    // The last file is full.
                    let file = files.write(&mut state, frame).expect("written");
                    state.files.push(file);
                    files.save(&mut state).expect("saved");
                    known.extend(first..first + blocks);
                } else {
                    files.append(&mut state, frame).expect("kept");
                    known.extend(first..first + blocks);
                }
                if ended == 0 {
                    // Before it was said that the rows are there.
                    match kept {
                        Some(kept) => fs::write(files.state_path(), kept).expect("written"),
                        None => fs::remove_file(files.state_path()).expect("removed"),
                    }
                    known = before;
                }
                let state = files.load().expect("a state");
                files.clean(&state);
                let rows = state.files.iter().flat_map(|file| {
                    assert!(files.is_there(file));
                    integers(&files.read(file).expect("read"), "block_number")
                });
                let rows: Vec<u64> = rows.flatten().map(|block| block as u64).collect();
                prop_assert_eq!(&rows, &known);
            }
        }
    }
}
