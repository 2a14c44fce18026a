//! The command that is notified of a fired alert: its arguments with their placeholders, and a run of it, without a shell and with a time
//! limit.

use std::{
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::AlertMessage;
use crate::error::NotifyError;
use model::untrusted::visible;

/// Interval at which a running command is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const ARGUMENTS_MAX: usize = 100;
/// Longest text that stands in for a placeholder, in characters.
const TEXT_MAX: usize = 1_000;

/// Text of a fired alert that a placeholder stands for.
type Fill = fn(&AlertMessage) -> String;

/// THE table of placeholders.
const PLACEHOLDERS: [(&str, Fill); 5] = [
    ("{symbol}", |message| message.fired.about()),
    ("{name}", |message| {
        message
            .name
            .clone()
            .unwrap_or_else(|| message.fired.about())
    }),
    ("{token_address}", |message| {
        message.fired.token_address.to_string()
    }),
    ("{condition}", |message| message.fired.condition.clone()),
    (VALUE, |message| message.value.clone().unwrap_or_default()),
];
const VALUE: &str = "{value}";

/// A program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertCommand {
    program: String,
    arguments: Vec<String>,
}

impl AlertCommand {
    /// What is expected of `alerts.command`; continues "expected …".
    pub fn expected() -> String {
        let known = PLACEHOLDERS.map(|(name, _)| name).join(", ");
        format!(
            "a program and its arguments, such as [\"notify-send\", \"--\", \"{{symbol}}\", \"{{condition}}\"], with no placeholders \
            other than {known}"
        )
    }

    /// None where there is no program, or an unknown placeholder.
    pub fn parse(words: &[String]) -> Option<Self> {
        let (program, arguments) = words.split_first()?;
        let good = |text: &String| {
            !text.contains('\0') && parts(text).iter().all(|(_, fill)| fill.is_ok())
        };
        let fits =
            !program.is_empty() && arguments.len() <= ARGUMENTS_MAX && arguments.iter().all(good);
        // What is started is never chosen by the data.
        let is_fixed = !program.contains('\0')
            && parts(program)
                .iter()
                .all(|(_, fill)| matches!(fill, Ok(None)));
        (fits && is_fixed).then(|| Self {
            program: program.clone(),
            arguments: arguments.to_vec(),
        })
    }

    /// Whether it is told the value that the condition compares.
    pub(super) fn wants_value(&self) -> bool {
        self.arguments
            .iter()
            .any(|argument| argument.contains(VALUE))
    }

    pub(super) fn program(&self) -> &str {
        &self.program
    }

    /// Runs it to its end, or kills it after `limit` or once `stopped`.
    pub(super) fn run(
        &self,
        message: &AlertMessage,
        limit: Duration,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), NotifyError> {
        let arguments = self
            .arguments
            .iter()
            .map(|argument| filled(argument, message));
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command
            .spawn()
            .map_err(|error| NotifyError::Start(error.kind()))?;
        let until = Instant::now() + limit;
        loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(NotifyError::Exit(status.code())),
                Ok(None) if Instant::now() < until && !stopped() => thread::sleep(POLL_INTERVAL),
                Ok(None) | Err(_) => {
                    child.kill().ok();
                    child.wait().ok();
                    return Err(NotifyError::Killed { after: limit });
                }
            }
        }
    }
}

/// The parts of an argument: text, and the placeholder in its place if it is one. A text in braces that is no word is text.
fn parts(argument: &str) -> Vec<(&str, Result<Option<Fill>, ()>)> {
    let mut parts = Vec::new();
    let mut rest = argument;
    while let Some(start) = rest.find('{') {
        let length = rest[start + 1..]
            .find(|c: char| !c.is_ascii_lowercase() && c != '_')
            .unwrap_or(rest.len() - start - 1);
        let end = start + 1 + length;
        let is_word = length > 0 && rest[end..].starts_with('}');
        let end = if is_word { end + 1 } else { start + 1 };
        let (before, word) = (&rest[..start], &rest[start..end]);
        parts.push((before, Ok(None)));
        let known = PLACEHOLDERS
            .iter()
            .find(|(name, _)| *name == word)
            .map(|(_, fill)| *fill);
        parts.push((
            word,
            if is_word {
                known.map(Some).ok_or(())
            } else {
                Ok(None)
            },
        ));
        rest = &rest[end..];
    }
    parts.push((rest, Ok(None)));
    parts
}

/// The argument with its placeholders filled. What fills them comes from the data: it has a limit, and only what is seen is told.
fn filled(argument: &str, message: &AlertMessage) -> String {
    let mut text = String::new();
    for (part, fill) in parts(argument) {
        match fill {
            Ok(Some(fill)) => text.extend(visible(&fill(message)).chars().take(TEXT_MAX)),
            Ok(None) | Err(()) => text.push_str(part),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::notifications::tests::message;

    const LIMIT: Duration = Duration::from_mins(1);

    fn command(words: &[&str]) -> Option<AlertCommand> {
        AlertCommand::parse(
            &words
                .iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn placeholders_are_filled_and_unknown_ones_refused() {
        let message = AlertMessage {
            name: Some("\u{202e}Some\nTo\u{200b}ken\0".to_owned()),
            value: Some("20.5".to_owned()),
            ..message(1, "price>20")
        };
        for (argument, expected) in [
            ("{symbol}: {condition} ({value})", "S1: price>20 (20.5)"),
            ("{name}", "Some Token "),
            (
                "{token_address}",
                "0x0101010101010101010101010101010101010101",
            ),
            ("{\"text\": \"{symbol}\"}", "{\"text\": \"S1\"}"),
            ("{} { {{symbol}} é{", "{} { {S1} é{"),
        ] {
            assert_eq!(filled(argument, &message), expected);
            assert!(command(&["say", argument]).is_some(), "{argument}");
        }
        for wrong in [
            &["say", "{symbl}"][..],
            &["{symbol}"],
            &[""],
            &[],
            &["say", "a\0b"],
        ] {
            assert!(command(wrong).is_none(), "{wrong:?}");
        }
    }

    #[test]
    fn a_run_ends_with_what_is_wrong_with_it() {
        let run = |words: &[&str], limit| {
            command(words)
                .expect("a command")
                .run(&message(1, "a"), limit, &|| false)
        };
        assert_eq!(run(&["true"], LIMIT), Ok(()));
        for (words, limit, says) in [
            (
                &["no-such-program-here"][..],
                LIMIT,
                "was not found; set its full path",
            ),
            (&["sh", "-c", "exit 3"], LIMIT, "exited with code 3"),
            (&["/"], LIMIT, "is not executable"),
            (
                &["sleep", "600"],
                Duration::from_millis(50),
                "did not finish within 0 s and was killed",
            ),
        ] {
            let error = run(words, limit).expect_err("it fails");
            assert_eq!(error.to_string(), says, "{words:?}");
        }
    }
}
