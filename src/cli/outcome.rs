//! How a command ends: what it prints, what it says when it fails, and its exit code.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use crate::config::plain_reason;

pub(super) type Outcome = Result<(), Failure>;

/// Why a command did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The data or the answer is bad; the message is one line. Exit code 1.
    Bad(String),
    /// As `Bad`, where the messages are printed already.
    Reported,
    /// Wrong usage; the message is one line. Exit code 2.
    Usage(String),
    /// A signal ended it; the exit code that a shell gives it.
    Signal(u8),
    /// Nobody reads the output any more (`| head`): counts as done.
    Unread,
}

impl From<io::Error> for Failure {
    /// For errors of stdout.
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Unread,
            _ => Self::Bad(format!("the output cannot be written: {}", plain_reason(&error))),
        }
    }
}

/// Prints the failure's message, if it has one; the exit code.
pub fn finish(outcome: Outcome) -> ExitCode {
    let (message, code) = match outcome {
        Ok(()) | Err(Failure::Unread) => (None, 0),
        Err(Failure::Reported) => (None, 1),
        Err(Failure::Bad(message)) => (Some(message), 1),
        Err(Failure::Usage(message)) => (Some(message), 2),
        Err(Failure::Signal(code)) => (None, code),
    };
    if let Some(message) = message {
        say(&message);
    }
    ExitCode::from(code)
}

/// One line on stderr; a closed stderr is no reason to fail.
pub(super) fn say(message: &str) {
    writeln!(io::stderr(), "tokendeck: {}", printable(message)).ok();
}

/// A further line on stderr, which belongs to the one before.
pub(super) fn say_more(message: &str) {
    writeln!(io::stderr(), "{}", printable(message)).ok();
}

/// Writes all of it to stdout.
pub(super) fn print(text: impl AsRef<[u8]>) -> Outcome {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_ref())?;
    Ok(stdout.flush()?)
}

/// Writes a line to stdout that may hold what files say.
pub(super) fn print_line(text: &str) -> Outcome {
    print(printable(text) + "\n")
}

/// The text with what would steer a terminal replaced: control characters, and those that change the direction of writing.
pub(super) fn printable(text: &str) -> String {
    text.chars().map(|c| if steers_a_terminal(c) { '\u{fffd}' } else { c }).collect()
}

fn steers_a_terminal(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_made_visible() {
        for (text, shown) in [("a\x1b[2Jb", "a\u{fffd}[2Jb"), ("a\nb\u{9b}", "a\u{fffd}b\u{fffd}"), ("\u{202e}é漢😀", "\u{fffd}é漢😀")]
        {
            assert_eq!(printable(text), shown);
        }
    }
}
