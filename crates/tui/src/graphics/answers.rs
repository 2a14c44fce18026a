//! The terminal's replies to the query about pictures. They arrive among the keys: here they are separated, and keys pressed meanwhile are
//! kept.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::widgets::pixels::plot::CellPixels;

/// kitty's query with a picture of one pixel, the terminal's name (XTVERSION), the size of a cell, and its attributes (DA1): every
/// terminal replies to these, so they come last.
pub(super) const QUESTION: &[u8] =
    b"\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[>q\x1b[16t\x1b[c";

/// The query without kitty's.
pub(super) const ATTRIBUTES: &[u8] = b"\x1b[>q\x1b[16t\x1b[c";

/// The terminal's properties, as far as known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TerminalAnswers {
    /// Its attributes have arrived, which ends its replies.
    pub arrived: bool,
    pub kitty: bool,
    pub sixel: bool,
    pub name: String,
    pub cell: Option<CellPixels>,
}

impl TerminalAnswers {
    /// Terminals with iTerm2's inline images, by their names.
    pub fn names_iterm(&self) -> bool {
        ["iTerm2", "WezTerm"]
            .iter()
            .any(|name| self.name.starts_with(name))
    }
}

/// Bytes of one sequence, which may be a paste; a longer one is dropped.
const REST_MAX: usize = 1 << 20;

/// A piece of what was read.
#[derive(Debug, Clone, PartialEq)]
pub enum TerminalReply {
    Key(KeyEvent),
    Paste(String),
}

/// Parses the bytes of a terminal that was queried.
#[derive(Debug, Default)]
pub struct TerminalReader {
    pub answers: TerminalAnswers,
    rest: Vec<u8>,
}

impl TerminalReader {
    /// Takes in what was read; returns the keys in it. An incomplete sequence is kept until more comes.
    pub fn take(&mut self, bytes: &[u8]) -> Vec<TerminalReply> {
        self.rest.extend_from_slice(bytes);
        let mut heard = Vec::new();
        let mut at = 0;
        while let Some(length) = token_length(&self.rest[at..]) {
            let token = &self.rest[at..at + length];
            if !note(&mut self.answers, token) {
                heard.extend(input(token));
            }
            at += length;
        }
        self.rest.drain(..at);
        if self.rest.len() > REST_MAX {
            self.rest.clear();
        }
        heard
    }

    /// Whether no sequence is cut.
    pub fn is_whole(&self) -> bool {
        self.rest.is_empty()
    }
}

/// Begin and end of pasted text.
const PASTE: (&[u8], &[u8]) = (b"\x1b[200~", b"\x1b[201~");

/// The length of the first key press or sequence; `None` without bytes, or where its end is missing.
fn token_length(bytes: &[u8]) -> Option<usize> {
    let find = |end: &[u8]| {
        bytes
            .windows(end.len())
            .position(|part| part == end)
            .map(|at| at + end.len())
    };
    match bytes {
        [] => None,
        [0x1b] => Some(1),
        [0x1b, b'_' | b'P' | b']', ..] => {
            match (find(b"\x1b\\"), find(b"\x07").filter(|_| bytes[1] == b']')) {
                (Some(string), Some(bell)) => Some(string.min(bell)),
                (string, bell) => string.or(bell),
            }
        }
        _ if bytes.starts_with(PASTE.0) => find(PASTE.1),
        [0x1b, b'[', rest @ ..] => rest
            .iter()
            .position(|byte| (0x40..=0x7e).contains(byte))
            .map(|at| at + 3),
        [0x1b, b'O', rest @ ..] => (!rest.is_empty()).then_some(3),
        [0x1b, rest @ ..] => letter_length(rest).map(|length| length + 1),
        _ => letter_length(bytes),
    }
}

/// Bytes of the first character; an invalid one counts as one.
fn letter_length(bytes: &[u8]) -> Option<usize> {
    let length = match bytes.first()? {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => 1,
    };
    (bytes.len() >= length).then_some(length)
}

/// Notes an answer; false for anything else. An answer of another question counts too: it is no key.
fn note(answers: &mut TerminalAnswers, token: &[u8]) -> bool {
    let text = String::from_utf8_lossy(token);
    if let Some(says) = text.strip_prefix("\x1b_G") {
        answers.kitty |= says.starts_with("i=31;OK");
        return true;
    }
    if let Some(says) = text.strip_prefix("\x1bP>|") {
        says.trim_end_matches("\x1b\\")
            .clone_into(&mut answers.name);
        return true;
    }
    if let Some(says) = text
        .strip_prefix("\x1b[?")
        .and_then(|says| says.strip_suffix('c'))
    {
        answers.arrived = true;
        // The first number is the terminal's class.
        answers.sixel = says.split(';').skip(1).any(|attribute| attribute == "4");
        return true;
    }
    if let Some(says) = text
        .strip_prefix("\x1b[6;")
        .and_then(|says| says.strip_suffix('t'))
    {
        let sizes: Option<Vec<u16>> = says.split(';').map(|part| part.parse().ok()).collect();
        if let Some([height, width]) = sizes.as_deref() {
            answers.cell = CellPixels::new(*width, *height);
        }
        return true;
    }
    text.starts_with("\x1b_") || text.starts_with("\x1bP") || text.starts_with("\x1b]")
}

/// The key press of a sequence, as far as keys are pressed in the first moments; others (the mouse) are dropped.
fn input(token: &[u8]) -> Option<TerminalReply> {
    let key = |code, modifiers| Some(TerminalReply::Key(KeyEvent::new(code, modifiers)));
    let text = std::str::from_utf8(token).ok()?;
    if let Some(pasted) = text.strip_prefix("\x1b[200~") {
        return Some(TerminalReply::Paste(
            pasted
                .strip_suffix("\x1b[201~")
                .unwrap_or(pasted)
                .to_owned(),
        ));
    }
    if let Some(sequence) = text
        .strip_prefix("\x1b[")
        .or_else(|| text.strip_prefix("\x1bO"))
        .filter(|sequence| !sequence.is_empty())
    {
        let code = match sequence {
            "A" => KeyCode::Up,
            "B" => KeyCode::Down,
            "C" => KeyCode::Right,
            "D" => KeyCode::Left,
            "H" | "1~" | "7~" => KeyCode::Home,
            "F" | "4~" | "8~" => KeyCode::End,
            "Z" => return key(KeyCode::BackTab, KeyModifiers::SHIFT),
            "2~" => KeyCode::Insert,
            "3~" => KeyCode::Delete,
            "5~" => KeyCode::PageUp,
            "6~" => KeyCode::PageDown,
            "P" => KeyCode::F(1),
            "Q" => KeyCode::F(2),
            "R" => KeyCode::F(3),
            "S" => KeyCode::F(4),
            _ => return None,
        };
        return key(code, KeyModifiers::NONE);
    }
    match text.strip_prefix('\x1b') {
        Some("") => key(KeyCode::Esc, KeyModifiers::NONE),
        Some(rest) => {
            let (code, modifiers) = plain(rest.chars().next()?);
            key(code, modifiers | KeyModifiers::ALT)
        }
        None => {
            let (code, modifiers) = plain(text.chars().next()?);
            key(code, modifiers)
        }
    }
}

fn plain(letter: char) -> (KeyCode, KeyModifiers) {
    match letter {
        '\r' => (KeyCode::Enter, KeyModifiers::NONE),
        '\t' => (KeyCode::Tab, KeyModifiers::NONE),
        '\x7f' => (KeyCode::Backspace, KeyModifiers::NONE),
        '\0' => (KeyCode::Char(' '), KeyModifiers::CONTROL),
        '\x01'..='\x1a' => (
            KeyCode::Char((letter as u8 - 1 + b'a') as char),
            KeyModifiers::CONTROL,
        ),
        '\x1c'..='\x1f' => (
            KeyCode::Char((letter as u8 - 0x1c + b'4') as char),
            KeyModifiers::CONTROL,
        ),
        letter if letter.is_uppercase() => (KeyCode::Char(letter), KeyModifiers::SHIFT),
        letter => (KeyCode::Char(letter), KeyModifiers::NONE),
    }
}
