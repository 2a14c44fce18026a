//! Why the dashboard ends, or rejects a dialog's input.

use std::{fmt, io, path::PathBuf};

use import::{OptionError, VALUED};
use model::{annotations::AnnotationError, error::Problem};

/// An operation of the terminal that failed.
#[derive(Debug)]
pub enum TerminalError {
    Open(io::Error),
    Read(io::Error),
    Suspend(io::Error),
    Draw(io::Error),
}

impl fmt::Display for TerminalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(error) => write!(f, "cannot open the terminal: {error}"),
            Self::Read(error) => write!(f, "cannot read from the terminal: {error}"),
            Self::Suspend(error) => write!(f, "cannot suspend: {error}"),
            Self::Draw(error) => write!(f, "cannot draw: {error}"),
        }
    }
}

impl std::error::Error for TerminalError {}

/// A refused price level or import.
#[derive(Debug)]
pub(super) enum TypedError {
    Price(String),
    /// Why the level is invalid.
    Level(AnnotationError),
    NotAFile(PathBuf),
    NoValue(String),
    Token(Problem),
    /// Why the value of an import option is invalid.
    Option(OptionError),
    UnknownOption(String),
}

impl fmt::Display for TypedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Price(text) => write!(
                f,
                "`{text}` is not a price; type a number above zero, such as 7.25"
            ),
            Self::Level(error) => error.fmt(f),
            Self::Option(error) => error.fmt(f),
            Self::NotAFile(path) => write!(f, "`{}` is not a file", path.display()),
            Self::NoValue(option) => write!(f, "`{option}` needs a value"),
            Self::Token(problem) => problem.fmt(f),
            Self::UnknownOption(word) => write!(
                f,
                "`{word}` is not an import option; options are --as-usd, --broken-too, --{}",
                VALUED.join(", --")
            ),
        }
    }
}

impl std::error::Error for TypedError {}
