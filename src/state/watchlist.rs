//! The watchlist: the tokens that the user starred, a file with one address per line, saved at every change.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use model::address::Address;
use store::private_files::{exclusively, read_text, write_atomic};

const FILE: &str = "watchlist";
const FILE_BYTES_MAX: u64 = 4 << 20;
const TOKENS_MAX: usize = 50_000;

#[derive(Debug)]
pub struct Watchlist {
    folder: PathBuf,
    tokens: BTreeSet<Address>,
}

impl Watchlist {
    /// Loads the watchlist from `state_dir`; empty where there is none, or it is unreadable.
    pub fn open(state_dir: &Path) -> Self {
        let tokens = read(&state_dir.join(FILE)).unwrap_or_else(|reason| {
            tracing::warn!("{reason}");
            BTreeSet::new()
        });
        Self { folder: state_dir.to_owned(), tokens }
    }

    /// Starred tokens, ordered by address.
    pub fn tokens(&self) -> impl ExactSizeIterator<Item = &Address> {
        self.tokens.iter()
    }

    /// Stars or unstars the token; returns whether it is starred now. Errors: the watchlist is full, or could not be saved; in the latter
    /// case the change holds for this run.
    pub fn toggle(&mut self, token: Address) -> Result<bool, String> {
        let starred = !self.tokens.contains(&token);
        let change = |tokens: &mut BTreeSet<Address>| if starred { tokens.insert(token) } else { tokens.remove(&token) };
        if starred && self.tokens.len() >= TOKENS_MAX {
            return Err(format!("the watchlist holds {TOKENS_MAX} tokens already: take one off first"));
        }
        change(&mut self.tokens);
        let kept = exclusively(&self.folder, || {
            let path = self.folder.join(FILE);
            // Stars set by another program are kept: the change is applied to the current content of the file.
            let mut tokens = read(&path)?;
            change(&mut tokens);
            let text = tokens.iter().fold(String::new(), |text, token| text + &token.to_string() + "\n");
            write_atomic(&path, text.as_bytes())?;
            Ok(tokens)
        })?;
        self.tokens = kept;
        Ok(starred)
    }
}

/// The starred tokens of the user.
pub fn addresses(state_dir: &Path) -> Vec<Address> {
    Watchlist::open(state_dir).tokens().copied().collect()
}

/// Reads the addresses of the file; other lines are skipped.
fn read(path: &Path) -> Result<BTreeSet<Address>, String> {
    match read_text(path, FILE_BYTES_MAX) {
        Ok(text) => Ok(text.lines().filter_map(|line| Address::parse(line.trim())).take(TOKENS_MAX).collect()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(BTreeSet::new()),
        Err(error) => Err(format!("cannot read the watchlist `{}`: {error}: repair it or move it away", path.display())),
    }
}
