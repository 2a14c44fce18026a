//! The watchlist: the tokens that the user starred, a file with one address per line, saved at every change.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use color_eyre::eyre::{Report, Result, bail};

use model::{
    address::Address,
    private_files::{KeptState, exclusively, read_state, write_atomic},
};

const FILE: &str = "watchlist";
const FILE_BYTES_MAX: u64 = 4 << 20;
const TOKENS_MAX: usize = 50_000;

#[derive(Debug)]
pub struct Watchlist {
    folder: PathBuf,
    tokens: BTreeSet<Address>,
    /// When the file was written, as last seen.
    written: Option<SystemTime>,
}

impl Watchlist {
    /// Loads the watchlist from `state_dir`; empty if there is none. A file that is not text is set aside.
    pub fn open(state_dir: &Path) -> Self {
        let text = read(&state_dir.join(FILE)).unwrap_or_else(|reason| {
            tracing::warn!("{reason}");
            String::new()
        });
        Self {
            folder: state_dir.to_owned(),
            tokens: tokens(&text),
            written: written(state_dir),
        }
    }

    /// Reads the file if it was written since; returns whether another program changed the tokens.
    pub fn changed(&mut self) -> bool {
        let written = written(&self.folder);
        if written == self.written {
            return false;
        }
        let read = Self::open(&self.folder);
        let is_other = read.tokens != self.tokens;
        *self = read;
        is_other
    }

    /// Starred tokens, ordered by address.
    pub fn tokens(&self) -> impl ExactSizeIterator<Item = &Address> {
        self.tokens.iter()
    }

    /// Stars or unstars the token; returns whether it is starred now. Errors: the watchlist is full, or could not be saved; in the latter
    /// case the change holds for this run.
    pub fn toggle(&mut self, token: Address) -> Result<bool> {
        let starred = !self.tokens.contains(&token);
        if starred && self.tokens.len() >= TOKENS_MAX {
            bail!("the watchlist is full ({TOKENS_MAX} tokens); remove a token first");
        }
        if starred {
            self.tokens.insert(token)
        } else {
            self.tokens.remove(&token)
        };
        let kept = exclusively(&self.folder, || {
            let path = self.folder.join(FILE);
            // Stars set by another program are kept, as are lines that are no address: only the lines of this token change.
            let mut text: String = read(&path)?
                .lines()
                .filter(|line| address(line) != Some(token))
                .flat_map(|line| [line, "\n"])
                .collect();
            if starred {
                text += &format!("{token}\n");
            }
            write_atomic(&path, text.as_bytes()).map_err(Report::msg)?;
            Ok::<_, Report>(tokens(&text))
        })?;
        self.tokens = kept;
        Ok(starred)
    }
}

/// The user's starred tokens.
pub fn addresses(state_dir: &Path) -> Vec<Address> {
    Watchlist::open(state_dir).tokens().copied().collect()
}

fn written(state_dir: &Path) -> Option<SystemTime> {
    fs::metadata(state_dir.join(FILE))
        .and_then(|file| file.modified())
        .ok()
}

fn read(path: &Path) -> Result<String> {
    Ok(
        match read_state(path, FILE_BYTES_MAX, |text| {
            Ok::<_, String>(text.to_owned())
        })
        .map_err(Report::msg)?
        {
            KeptState::Read(text) => text,
            KeptState::Missing | KeptState::SetAside(_) => String::new(),
        },
    )
}

fn address(line: &str) -> Option<Address> {
    Address::parse(line.trim())
}

/// The addresses of the file; other lines are skipped.
fn tokens(text: &str) -> BTreeSet<Address> {
    text.lines().filter_map(address).take(TOKENS_MAX).collect()
}
