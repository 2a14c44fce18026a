//! A chord: a key with its modifiers, normalized over terminals, and its text form (`g`, `G`, `Ctrl-P`, `PageUp`).

use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Shift is part of the character: there is no Shift-g beside G.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Chord {
    code: KeyCode,
    ctrl: bool,
    alt: bool,
}

const NAMED: &[(&str, KeyCode)] = &[
    ("Enter", KeyCode::Enter),
    ("Esc", KeyCode::Esc),
    ("Tab", KeyCode::Tab),
    ("Shift-Tab", KeyCode::BackTab),
    ("Space", KeyCode::Char(' ')),
    ("Backspace", KeyCode::Backspace),
    ("Delete", KeyCode::Delete),
    ("Insert", KeyCode::Insert),
    ("Up", KeyCode::Up),
    ("Down", KeyCode::Down),
    ("Left", KeyCode::Left),
    ("Right", KeyCode::Right),
    ("Home", KeyCode::Home),
    ("End", KeyCode::End),
    ("PageUp", KeyCode::PageUp),
    ("PageDown", KeyCode::PageDown),
];

impl Chord {
    pub fn of(event: &KeyEvent) -> Option<Self> {
        let (ctrl, alt) = (
            event.modifiers.contains(KeyModifiers::CONTROL),
            event.modifiers.contains(KeyModifiers::ALT),
        );
        let shift = event.modifiers.contains(KeyModifiers::SHIFT);
        let code = match event.code {
            // With Ctrl the case is lost: terminals send one byte for both.
            KeyCode::Char(c) if ctrl => KeyCode::Char(c.to_ascii_lowercase()),
            KeyCode::Char(c) if shift => KeyCode::Char(one_char(c.to_uppercase()).unwrap_or(c)),
            KeyCode::Tab if shift => KeyCode::BackTab,
            KeyCode::Char(_) | KeyCode::F(_) => event.code,
            code if NAMED.iter().any(|(_, known)| *known == code) => code,
            _ => return None,
        };
        Some(Self { code, ctrl, alt })
    }

    /// `g`, `G`, `?`, `Ctrl-P`, `Alt-x`, `PageUp`, `Shift-Tab`, `F5`; names in any letter case.
    pub fn parse(text: &str) -> Option<Self> {
        let (mut rest, mut ctrl, mut alt) = (text, false, false);
        loop {
            if let Some(after) = strip_word(rest, "ctrl-").filter(|after| !after.is_empty()) {
                (rest, ctrl) = (after, true);
            } else if let Some(after) = strip_word(rest, "alt-").filter(|after| !after.is_empty()) {
                (rest, alt) = (after, true);
            } else {
                break;
            }
        }
        if let Some((_, code)) = NAMED
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(rest))
        {
            return Some(Self {
                code: *code,
                ctrl,
                alt,
            });
        }
        if let Some(number) = rest
            .strip_prefix(['F', 'f'])
            .and_then(|digits| digits.parse::<u8>().ok())
        {
            return (1..=24).contains(&number).then_some(Self {
                code: KeyCode::F(number),
                ctrl,
                alt,
            });
        }
        if let Some(letter) = strip_word(rest, "shift-").and_then(|letter| one_char(letter.chars()))
        {
            return Some(Self {
                code: KeyCode::Char(one_char(letter.to_uppercase()).unwrap_or(letter)),
                ctrl,
                alt,
            });
        }
        let c = one_char(rest.chars()).filter(|c| !c.is_control() && *c != ' ')?;
        Some(Self {
            code: KeyCode::Char(if ctrl { c.to_ascii_lowercase() } else { c }),
            ctrl,
            alt,
        })
    }

    /// The footer text: `⏎` for Enter, otherwise the text form.
    pub fn symbol(self) -> String {
        if self.code == KeyCode::Enter && !self.ctrl && !self.alt {
            "⏎".to_owned()
        } else {
            self.to_string()
        }
    }
}

fn one_char(mut chars: impl Iterator<Item = char>) -> Option<char> {
    chars.next().filter(|_| chars.next().is_none())
}

fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let head = text.get(..word.len())?;
    head.eq_ignore_ascii_case(word).then(|| &text[word.len()..])
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ctrl {
            f.write_str("Ctrl-")?;
        }
        if self.alt {
            f.write_str("Alt-")?;
        }
        if let Some((name, _)) = NAMED.iter().find(|(_, code)| *code == self.code) {
            return f.write_str(name);
        }
        match self.code {
            KeyCode::Char(c) if self.ctrl => write!(f, "{}", c.to_ascii_uppercase()),
            KeyCode::Char(c) => write!(f, "{c}"),
            KeyCode::F(number) => write!(f, "F{number}"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_in_any_spelling_and_written_in_one() {
        let cases = "ctrl-p Ctrl-P, Ctrl-P Ctrl-P, pageup PageUp, G G, shift-g G, shift-tab Shift-Tab, f5 F5, alt-x Alt-x, - -, Ctrl-- Ctrl--, é é, \
                     space Space";
        for (text, written) in cases.split(", ").filter_map(|case| case.split_once(' ')) {
            assert_eq!(
                Chord::parse(text).map(|chord| chord.to_string()).as_deref(),
                Some(written)
            );
        }
        for text in ["", "Ctrl-", "gg", "F99", "Ctrl-Banana", " ", "\n"] {
            assert_eq!(Chord::parse(text), None, "{text:?}");
        }
    }
}
