//! The outcome of a command: stdout output, error message and exit code.

use std::{
    fmt,
    io::{self, IsTerminal as _, Write},
    process::ExitCode,
};

use color_eyre::eyre::{Report, Result, eyre};
use serde::Serialize;

use crate::config::plain_reason;
use model::{command_line::shell_word, private_files::take_notices, untrusted::is_invisible};

/// Any error is a one-line message and exit code 1, except a `Failure`.
pub(super) type Outcome = Result<()>;

/// Why a command failed, where that has an exit code of its own or no message.
#[derive(Debug)]
pub(super) enum Failure {
    /// The messages are already printed.
    Reported,
    /// Wrong usage; the message is one line. Exit code 2.
    Usage(Report),
    /// Ended by a signal; holds the exit code by shell convention.
    Signal(u8),
    /// Broken pipe: the output's reader is gone (`| head`). Counts as success.
    Unread,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(reason) => reason.fmt(f),
            _ => fmt::Debug::fmt(self, f),
        }
    }
}

impl std::error::Error for Failure {}

/// Prints notices about the user's files and the failure's message, if any; returns the exit code.
pub fn finish(outcome: Outcome) -> ExitCode {
    for notice in take_notices() {
        say(&format!("warning: {notice}"));
    }
    let Err(error) = outcome else {
        return ExitCode::SUCCESS;
    };
    let (has_message, code) = match error.downcast_ref() {
        Some(Failure::Unread) => (false, 0),
        Some(Failure::Reported) => (false, 1),
        Some(Failure::Signal(code)) => (false, *code),
        Some(Failure::Usage(_)) => (true, 2),
        None => (true, 1),
    };
    if has_message {
        say(&in_words_of_commands(&error.to_string()));
    }
    ExitCode::from(code)
}

/// Names the command in place of each request that a message of the API advises, such as `GET /tokens?query=…`. A quoted text stays.
fn in_words_of_commands(text: &str) -> String {
    let mut parts = text.split("GET /");
    let mut named = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let target = part
            .split([' ', ',', ';', ')'])
            .next()
            .unwrap_or_default()
            .trim_end_matches(['.', ':']);
        if named.ends_with('`') {
            named += &format!("GET /{part}");
        } else {
            named += &format!(
                "`tokendeck get {}`{}",
                shell_word(&format!("/{target}")),
                &part[target.len()..]
            );
        }
    }
    named
}

/// Prints a value as one line of JSON.
pub(super) fn print_json(value: &impl Serialize) -> Outcome {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    print(line)
}

/// Prints one line to stderr, ignoring a closed stderr.
pub(super) fn say(message: &str) {
    writeln!(io::stderr(), "tokendeck: {}", printable(message)).ok();
}

/// Prints a continuation line to stderr.
pub(super) fn say_more(message: &str) {
    writeln!(io::stderr(), "{}", printable(message)).ok();
}

/// The text as it is where a program reads it; at a terminal, without what would steer it.
pub(super) fn for_reader(text: Vec<u8>) -> Vec<u8> {
    if io::stdout().is_terminal() {
        shown(&text).into_bytes()
    } else {
        text
    }
}

fn shown(text: &[u8]) -> String {
    let lines = String::from_utf8_lossy(text);
    let lines: Vec<String> = lines.split('\n').map(printable).collect();
    lines.join("\n")
}

/// Writes the whole text to stdout.
pub(super) fn print(text: impl AsRef<[u8]>) -> Outcome {
    let mut stdout = io::stdout().lock();
    let written = stdout
        .write_all(text.as_ref())
        .and_then(|()| stdout.flush());
    written.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::Unread.into(),
        _ => eyre!("cannot write the output: {}", plain_reason(&error)),
    })
}

/// Writes a line to stdout that may contain text from files.
pub(super) fn print_line(text: &str) -> Outcome {
    print(printable(text) + "\n")
}

/// Replaces control characters, invisible characters and those that change the writing direction, so that a text can neither control the
/// terminal nor imitate another text.
pub(super) fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if steers_a_terminal(c) { '\u{fffd}' } else { c })
        .collect()
}

fn steers_a_terminal(c: char) -> bool {
    c.is_control() || is_invisible(c) || matches!(c, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_an_answer_steers_a_terminal() {
        assert_eq!(
            shown("a,b\nev\u{1b}[31mil\u{7},\u{202e}x\n".as_bytes()),
            "a,b\nev\u{fffd}[31mil\u{fffd},\u{fffd}x\n"
        );
    }

    #[test]
    fn advice_names_a_command_and_no_request() {
        for (text, expected) in [
            (
                "Find tokens with GET /tokens?query=…",
                "Find tokens with `tokendeck get '/tokens?query=…'`",
            ),
            (
                "No job `x`. GET /deep-analysis/jobs lists all jobs.",
                "No job `x`. `tokendeck get /deep-analysis/jobs` lists all jobs.",
            ),
            (
                "as in `x-data-generation` or GET /datasets.",
                "as in `x-data-generation` or `tokendeck get /datasets`.",
            ),
            (
                "GET /coin:BTC/dexes lists the DEXes",
                "`tokendeck get /coin:BTC/dexes` lists the DEXes",
            ),
            (
                "no token has the symbol `GET /x`",
                "no token has the symbol `GET /x`",
            ),
            ("cannot read `a.csv`", "cannot read `a.csv`"),
        ] {
            assert_eq!(in_words_of_commands(text), expected);
        }
    }

    #[test]
    fn what_steers_a_terminal_is_made_visible() {
        for (text, shown) in [
            ("a\x1b[2Jb", "a\u{fffd}[2Jb"),
            ("a\nb\u{9b}", "a\u{fffd}b\u{fffd}"),
            ("\u{202e}é漢😀", "\u{fffd}é漢😀"),
            (
                "U\u{200b}NI\u{ad}\u{feff}\u{2066}\u{2028}",
                "U\u{fffd}NI\u{fffd}\u{fffd}\u{fffd}\u{fffd}",
            ),
            ("عربي e\u{301}❤\u{fe0f}", "عربي e\u{301}❤\u{fe0f}"),
        ] {
            assert_eq!(printable(text), shown);
        }
    }
}
