//! Per-user state stored between runs, and its location (the XDG directories; on Windows `AppData`). The modules below define its contents.

pub mod annotations;
pub mod consents;
pub mod session;
pub mod watchlist;

use std::path::PathBuf;

use color_eyre::eyre::{Result, eyre};
use etcetera::{BaseStrategy, choose_base_strategy};

const PROGRAM: &str = "tokendeck";

/// The user's directories for this program. `find` creates none of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dirs {
    /// Keys, jobs, watchlist, session, crash reports.
    pub state: PathBuf,
    /// Demo data.
    pub data: PathBuf,
    /// `config.toml`, themes.
    pub config: PathBuf,
    /// Files that can be rebuilt.
    pub cache: PathBuf,
}

impl Dirs {
    /// Locates them by the XDG variables, or below the home directory; on Windows below `AppData`.
    pub fn find() -> Result<Self> {
        let user = choose_base_strategy()
            .map_err(|_| eyre!("no home directory; set HOME to a writable folder"))?;
        let state = user.state_dir().unwrap_or_else(|| user.data_dir());
        Ok(Self {
            state: state.join(PROGRAM),
            data: user.data_dir().join(PROGRAM),
            config: user.config_dir().join(PROGRAM),
            cache: user.cache_dir().join(PROGRAM),
        })
    }
}
