//! Why the API's keys, or a client's MCP session, fail.

use std::{fmt, io, path::PathBuf};

use model::private_files::FileError;
use rmcp::service::ServerInitializeError;
use tokio::task::JoinError;

use crate::keys::{ENVIRONMENT, KEY_CHARS_MAX};

/// None contains a key.
#[derive(Debug)]
pub enum KeyError {
    EnvironmentNotText,
    EnvironmentMalformed,
    /// The environment's key cannot be changed from here.
    EnvironmentFixed,
    NoKey(PathBuf),
    Unreadable {
        path: PathBuf,
        error: io::Error,
    },
    TooMany {
        count: usize,
    },
    Unknown,
    NoRandomness(getrandom::Error),
    /// Why the file or its folder cannot be written.
    Unwritable(FileError),
}

impl From<FileError> for KeyError {
    fn from(error: FileError) -> Self {
        Self::Unwritable(error)
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EnvironmentNotText => write!(
                f,
                "`{ENVIRONMENT}` is not valid text; expected visible ASCII characters"
            ),
            Self::EnvironmentMalformed => write!(
                f,
                "`{ENVIRONMENT}` cannot be sent in a header; expected 1 to {KEY_CHARS_MAX} visible ASCII characters"
            ),
            Self::EnvironmentFixed => write!(
                f,
                "the key comes from `{ENVIRONMENT}`; change it there, or unset it to store keys in a file"
            ),
            Self::NoKey(path) => write!(
                f,
                "the keys file `{}` contains no key; write one on a line of its own",
                path.display()
            ),
            Self::Unreadable { path, error } => write!(
                f,
                "cannot read the keys in `{}`: {error}; check that the file exists and is readable",
                path.display()
            ),
            Self::TooMany { count } => {
                write!(f, "there are already {count} keys; revoke one first")
            }
            Self::Unknown => {
                f.write_str("no key has this id or value; `tokendeck key show` lists the keys")
            }
            Self::NoRandomness(error) => write!(
                f,
                "the system cannot supply random numbers for a key: {error}"
            ),
            Self::Unwritable(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for KeyError {}

#[derive(Debug)]
pub enum McpError {
    Handshake(Box<ServerInitializeError>),
    Session(JoinError),
}

impl fmt::Display for McpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Handshake(error) => write!(
                f,
                "the client did not start the Model Context Protocol correctly: {error}"
            ),
            Self::Session(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for McpError {}
