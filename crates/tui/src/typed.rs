//! A text input: its cursor, its limit, and the text before editing. The meaning of the text is up to its owner.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::{buffer::Buffer, layout::Rect, style::Style};
use tui_input::{Input, backend::crossterm::EventHandler};

use crate::widgets::{
    put, text,
    theme::{Role, Theme},
};

/// A text input. Initial text is selected up to the cursor, as in a form: typing or pasting replaces it, any other key keeps it.
#[derive(Debug, Clone)]
pub struct TypedLine {
    input: Input,
    chars_max: usize,
    selected: bool,
}

impl TypedLine {
    pub fn new(text: impl Into<String>, chars_max: usize) -> Self {
        let input = Input::new(text.into());
        let selected = !input.value().is_empty();
        Self {
            input,
            chars_max,
            selected,
        }
    }

    /// With initial text that is continued, not replaced.
    #[must_use]
    pub fn kept(self) -> Self {
        Self {
            selected: false,
            ..self
        }
    }

    /// With the cursor after `at` characters; the text before it is selected.
    #[must_use]
    pub fn with_cursor(self, at: usize) -> Self {
        Self {
            input: self.input.with_cursor(at),
            ..self
        }
    }

    pub fn text(&self) -> &str {
        self.input.value()
    }

    /// Whether typing replaces the text.
    pub fn is_selected(&self) -> bool {
        self.selected
    }

    pub fn is_at_end(&self) -> bool {
        self.input.cursor() == self.text().chars().count()
    }

    /// Returns whether the key changed the text.
    pub fn key(&mut self, key: &KeyEvent) -> bool {
        let commands = KeyModifiers::CONTROL | KeyModifiers::ALT;
        if matches!(key.code, KeyCode::Char(_)) && !key.modifiers.intersects(commands) {
            self.remove_selected();
            if self.text().chars().count() >= self.chars_max {
                return false;
            }
        }
        self.selected = false;
        self.input
            .handle_event(&Event::Key(*key))
            .is_some_and(|change| change.value)
    }

    /// Inserts pasted text at the cursor.
    pub fn paste(&mut self, pasted: &str) {
        self.remove_selected();
        let (text, at) = (self.text(), self.input.cursor());
        let room = self.chars_max.saturating_sub(text.chars().count());
        let pasted: Vec<char> = pasted
            .chars()
            .filter(|c| !c.is_control())
            .take(room)
            .collect();
        let whole: String = text
            .chars()
            .take(at)
            .chain(pasted.iter().copied())
            .chain(text.chars().skip(at))
            .collect();
        self.input = Input::new(whole).with_cursor(at + pasted.len());
    }

    fn remove_selected(&mut self) {
        if std::mem::take(&mut self.selected) {
            let rest: String = self.text().chars().skip(self.input.cursor()).collect();
            self.input = Input::new(rest).with_cursor(0);
        }
    }

    /// The text with its cursor, in lines of that width.
    pub fn wrapped(&self, width: usize) -> Vec<String> {
        let at = self.input.cursor();
        let shown: String = self
            .text()
            .chars()
            .take(at)
            .chain(['▏'])
            .chain(self.text().chars().skip(at))
            .collect();
        text::wrap(&shown, width, usize::MAX)
    }

    /// Draws the text from column `x` on, scrolled to the cursor.
    pub fn draw(&self, buffer: &mut Buffer, line: Rect, x: u16, theme: &Theme) {
        self.draw_on(theme.style(Role::Panel), buffer, line, x, theme);
    }

    /// As `draw`, on that ground; returns the column behind the text.
    pub fn draw_on(
        &self,
        ground: Style,
        buffer: &mut Buffer,
        line: Rect,
        x: u16,
        theme: &Theme,
    ) -> u16 {
        // Columns, which a wide character has two of.
        let mut columns = self
            .input
            .visual_scroll(usize::from(line.width.saturating_sub(x + 1)).max(1));
        let is_left_out = |c: &char| {
            let left_out = columns > 0;
            columns = columns.saturating_sub(text::width(c.encode_utf8(&mut [0; 4])));
            left_out
        };
        let scroll = self.text().chars().take_while(is_left_out).count();
        let shown = self.text().chars().skip(scroll);
        let before: String = shown
            .clone()
            .take(self.input.cursor().saturating_sub(scroll))
            .collect();
        let after: String = shown.skip(before.chars().count()).collect();
        let selected = if self.selected {
            theme.style(Role::Selection)
        } else {
            ground
        };
        let mut end = x + put(buffer, line, x, 0, &before, theme.text().patch(selected));
        end += put(buffer, line, end, 0, "▏", theme.accent().patch(ground));
        end + put(buffer, line, end, 0, &after, theme.text().patch(ground))
    }
}

/// The texts that complete a line, each with its new word, and how many of them were tried.
#[derive(Debug, Clone, Default)]
pub struct Completions {
    pub all: Vec<(String, String)>,
    tried: usize,
}

impl Completions {
    pub fn new(all: Vec<(String, String)>) -> Self {
        Self { all, tried: 0 }
    }

    /// Puts the next one, or the one before, into the line; `again` completes it further where there was no other. False without any.
    pub fn step(
        &mut self,
        forward: bool,
        line: &mut TypedLine,
        again: impl FnOnce(&str) -> Vec<(String, String)>,
    ) -> bool {
        let count = self.all.len();
        if count == 0 {
            return false;
        }
        let tried = if forward {
            self.tried
        } else {
            (self.tried + 2 * count - 2) % count
        };
        let text = self.all[tried % count].0.clone();
        *line = TypedLine::new(text.clone(), line.chars_max).kept();
        *self = if count > 1 {
            Self {
                tried: tried % count + 1,
                ..std::mem::take(self)
            }
        } else {
            Self::new(again(&text))
        };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::widgets::picture;

    fn press(line: &mut TypedLine, codes: &[KeyCode]) -> String {
        for &code in codes {
            line.key(&KeyEvent::new(code, KeyModifiers::NONE));
        }
        line.text().to_owned()
    }

    #[test]
    fn what_is_typed_or_pasted_stands_where_the_cursor_is_seen() {
        let mut line = TypedLine::new("", 6);
        press(
            &mut line,
            &[KeyCode::Char('a'), KeyCode::Char('d'), KeyCode::Left],
        );
        line.paste("b\u{7}c");
        let area = Rect::new(0, 0, 12, 1);
        let mut buffer = Buffer::empty(area);
        line.draw(&mut buffer, area, 2, &Theme::default());
        assert_eq!(picture::text(&buffer), "  abc▏d\n");
        line.paste("too long");
        assert_eq!(line.text(), "abctod");
        assert_eq!(
            press(&mut line, &[KeyCode::Char('x')]),
            "abctod",
            "it is full"
        );
        line.key(&KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL));
        assert_eq!(line.text(), "");
        let wide = TypedLine::new("漢字漢字漢字末", 20);
        let mut buffer = Buffer::empty(area);
        wide.draw(&mut buffer, area, 2, &Theme::default());
        let shown = picture::text(&buffer);
        assert!(shown.contains('末') && shown.contains('▏'), "{shown}");
    }

    #[test]
    fn completions_go_round_and_a_single_one_goes_on() {
        let both = |texts: &[&str]| {
            texts
                .iter()
                .map(|text| ((*text).to_owned(), (*text).to_owned()))
                .collect::<Vec<_>>()
        };
        let (mut line, mut found) = (
            TypedLine::new("p", 9),
            Completions::new(both(&["price>", "pattern:"])),
        );
        for (forward, expected) in [
            (true, "price>"),
            (true, "pattern:"),
            (true, "price>"),
            (false, "pattern:"),
        ] {
            assert!(found.step(forward, &mut line, |_| Vec::new()));
            assert_eq!(line.text(), expected);
        }
        let mut only = Completions::new(both(&["chain:"]));
        assert!(only.step(true, &mut line, |text| both(&[&format!("{text}eth")])));
        assert!(only.step(true, &mut line, |_| Vec::new()));
        assert!(!only.step(true, &mut line, |_| Vec::new()));
        assert_eq!(line.text(), "chain:eth");
    }

    #[test]
    fn what_is_typed_takes_the_place_of_what_was_there_and_any_other_key_keeps_it() {
        use KeyCode::{Backspace, Char, End, Home, Left, Right};
        for (cursor, keys, expected) in [
            (7, &[Char('x'), Char('y')][..], "xy"),
            (3, &[Char('x')], "x.csv"),
            (7, &[End, Char('x')], "old.csvx"),
            (7, &[Home, Char('x')], "xold.csv"),
            (7, &[Left, Char('x')], "old.csxv"),
            (3, &[Right, Char('x')], "old.xcsv"),
            (7, &[Backspace, Char('x')], "old.csx"),
        ] {
            assert_eq!(
                press(&mut TypedLine::new("old.csv", 9).with_cursor(cursor), keys),
                expected,
                "{keys:?}"
            );
        }
        let mut named = TypedLine::new("old.csv", 20).with_cursor(3);
        named.paste("new");
        assert_eq!(named.text(), "new.csv", "the ending is not selected");
        assert_eq!(
            press(&mut TypedLine::new("a note", 20).kept(), &[Char('s')]),
            "a notes"
        );
        // Full, and still replaced.
        assert_eq!(press(&mut TypedLine::new("full", 4), &[Char('x')]), "x");
        let area = Rect::new(0, 0, 6, 1);
        let mut buffer = Buffer::empty(area);
        let theme = Theme::default();
        TypedLine::new("old", 9).draw(&mut buffer, area, 0, &theme);
        assert_eq!(Some(buffer[(0, 0)].bg), theme.style(Role::Selection).bg);
    }
}
