//! Per-user state kept between runs, and where it is kept (the XDG directories). The contents belong to the modules below.

pub mod annotations;
pub mod remote;
pub mod session;
pub mod watchlist;

use std::path::PathBuf;

use etcetera::base_strategy::{BaseStrategy, Xdg};

const PROGRAM: &str = "tokendeck";

/// The user's directories for this program. `find` creates none of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dirs {
    /// Keys, jobs, watchlist, session, error reports.
    pub state: PathBuf,
    /// Demo data.
    pub data: PathBuf,
    /// `config.toml`, themes.
    pub config: PathBuf,
    /// Files that can be made again.
    pub cache: PathBuf,
}

impl Dirs {
    /// Locates them by the XDG variables, else below the home directory.
    pub fn find() -> Result<Self, String> {
        let xdg = Xdg::new().map_err(|_| "there is no home directory: set HOME to a folder that can be written".to_owned())?;
        let state = xdg.state_dir().unwrap_or_else(|| xdg.data_dir());
        Ok(Self {
            state: state.join(PROGRAM),
            data: xdg.data_dir().join(PROGRAM),
            config: xdg.config_dir().join(PROGRAM),
            cache: xdg.cache_dir().join(PROGRAM),
        })
    }
}
