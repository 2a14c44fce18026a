//! The tokens a person has starred: a set of addresses, one a line of a file, kept the moment it changes.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::{exclusively, read_text, write_atomic};
use crate::dataset::address::Address;

const FILE: &str = "watchlist";
const FILE_BYTES_MAX: u64 = 4 << 20;
const TOKENS_MAX: usize = 50_000;

#[derive(Debug)]
pub struct Watchlist {
    folder: PathBuf,
    tokens: BTreeSet<Address>,
}

impl Watchlist {
    /// What was kept in `state_dir`; empty when there is nothing, or nothing readable.
    pub fn open(state_dir: &Path) -> Self {
        let tokens = read(&state_dir.join(FILE)).unwrap_or_else(|reason| {
            tracing::warn!("{reason}");
            BTreeSet::new()
        });
        Self { folder: state_dir.to_owned(), tokens }
    }

    /// By address.
    pub fn tokens(&self) -> impl ExactSizeIterator<Item = &Address> {
        self.tokens.iter()
    }

    /// Stars the token, or takes its star away; true when it is starred now. The error is that it could not be kept: for this run
    /// the change stands all the same.
    pub fn toggle(&mut self, token: Address) -> Result<bool, String> {
        let starred = !self.tokens.contains(&token);
        let change = |tokens: &mut BTreeSet<Address>| if starred { tokens.insert(token) } else { tokens.remove(&token) };
        if starred && self.tokens.len() >= TOKENS_MAX {
            return Err(format!("the watchlist holds {TOKENS_MAX} tokens already: take one off first"));
        }
        change(&mut self.tokens);
        let kept = exclusively(&self.folder, || {
            let path = self.folder.join(FILE);
            // Another program's stars are kept too: the change is made to what the file holds now.
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

/// Lines that are no addresses are passed over.
fn read(path: &Path) -> Result<BTreeSet<Address>, String> {
    match read_text(path, FILE_BYTES_MAX) {
        Ok(text) => Ok(text.lines().filter_map(|line| Address::parse(line.trim())).take(TOKENS_MAX).collect()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(BTreeSet::new()),
        Err(error) => Err(format!("cannot read the watchlist `{}`: {error}: repair it or move it away", path.display())),
    }
}
