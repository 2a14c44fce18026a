//! Catches panics of code that processes untrusted bytes, so that none ends the program. A damaged Parquet or Arrow file can make polars
//! panic, on this thread or on one of its own: the file is reported as damaged. Hostile bytecode can do the same to the contract
//! interpreter.

use std::{
    cell::Cell,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

/// Whether the character is invisible or changes the direction of text: soft hyphens, joiners, direction marks and overrides. For texts
/// from outside that are stored or passed on; screens have their own rules.
pub fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// The text as it may leave the program: without invisible characters, and with a blank for each control character.
pub fn visible(text: &str) -> String {
    text.chars()
        .filter(|letter| !is_invisible(*letter))
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect()
}

static DECODERS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static DECODING_HERE: Cell<usize> = const { Cell::new(0) };
}

/// Whether this thread is decoding untrusted bytes, so that a panic is caught and becomes a reason in the response. The program's panic
/// hook checks this and is then silent. polars decodes on its own threads named `polars-…`: those count as decoding while any file is being
/// decoded.
pub fn decoding() -> bool {
    DECODING_HERE.get() > 0
        || DECODERS.load(Ordering::Acquire) > 0
            && thread::current()
                .name()
                .is_some_and(|name| name.starts_with("polars"))
}

/// Counts a decoder while it runs, even if it panics.
struct DecoderMarker;

impl DecoderMarker {
    fn new() -> Self {
        DECODERS.fetch_add(1, Ordering::AcqRel);
        DECODING_HERE.set(DECODING_HERE.get() + 1);
        Self
    }
}

impl Drop for DecoderMarker {
    fn drop(&mut self) {
        DECODING_HERE.set(DECODING_HERE.get() - 1);
        DECODERS.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Reason why a library did not decode bytes of a format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecodeError {
    /// The library's error, in its words.
    Invalid {
        format: &'static str,
        error: String,
    },
    Panicked {
        format: &'static str,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid { format, error } => write!(f, "is damaged or not {format}: {error}"),
            Self::Panicked { format } => {
                write!(f, "is damaged: its {format} data could not be decoded")
            }
        }
    }
}

impl std::error::Error for DecodeError {}

/// Runs a library's decoder on untrusted bytes.
pub fn guarded<T, E: fmt::Display>(
    format: &'static str,
    decode: impl FnOnce() -> Result<T, E>,
) -> Result<T, DecodeError> {
    let marker = DecoderMarker::new();
    let outcome = catch_unwind(AssertUnwindSafe(decode));
    drop(marker);
    match outcome {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(DecodeError::Invalid {
            format,
            error: one_line(&error.to_string()),
        }),
        Err(_) => Err(DecodeError::Panicked { format }),
    }
}

/// Runs `work` on untrusted bytes; `None` if it panicked. State that it changes must then be dropped or never used again.
pub fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    /// Marks this thread only: no polars thread works for it.
    struct ThreadMarker;
    impl Drop for ThreadMarker {
        fn drop(&mut self) {
            DECODING_HERE.set(DECODING_HERE.get() - 1);
        }
    }
    DECODING_HERE.set(DECODING_HERE.get() + 1);
    let marker = ThreadMarker;
    let outcome = catch_unwind(AssertUnwindSafe(work));
    drop(marker);
    outcome.ok()
}

fn one_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_is_seen_as_it_is() {
        assert_eq!(
            visible("\u{202e}N\u{200b}IU\u{2066}\n\u{1b}[2J"),
            "NIU  [2J"
        );
        assert_eq!(visible("Ünï عربي 漢😀❤\u{fe0f}"), "Ünï عربي 漢😀❤\u{fe0f}");
    }

    #[test]
    fn a_panic_becomes_a_reason_and_the_marker_is_cleared() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !decoding() {
                hook(info);
            }
        }));
        let error = guarded("Parquet", || -> Result<(), fmt::Error> {
            assert!(decoding());
            panic!("out of bounds");
        })
        .expect_err("a panic");
        assert_eq!(
            error.to_string(),
            "is damaged: its Parquet data could not be decoded"
        );
        assert!(!decoding());
        let outcome: Option<()> = caught(|| {
            assert!(decoding());
            panic!("an opcode that nobody thought of");
        });
        assert!(outcome.is_none() && !decoding());
    }
}
