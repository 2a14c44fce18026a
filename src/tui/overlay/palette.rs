//! The palette: every action, token and setting by name, found fuzzily. The list comes from the tables; nothing is run here.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::{buffer::Buffer, layout::Rect};
use tui_input::{Input, backend::crossterm::EventHandler};

use super::{Command, OverlayOutcome, Rows, floating, line};
use crate::{
    analysis::market::TokenSummary,
    question::filter::words,
    tui::{
        format, fuzzy,
        keymap::{Keymap, ViewId},
        text,
        theme::{Role, Theme},
    },
};

/// How many entries are ranked and shown at the most.
const SHOWN_MAX: usize = 200;

#[derive(Debug)]
pub struct CommandPalette {
    input: Input,
    entries: Vec<Entry>,
    /// How many entries, from the first, are not tokens.
    fixed: usize,
    /// Positions in `entries`, best first.
    found: Vec<usize>,
    selected: usize,
    /// Where the entries stand on screen, and the first of them.
    rows: Rows,
}

#[derive(Debug)]
struct Entry {
    /// Other words that find it.
    everyday: &'static str,
    /// What is matched and shown.
    name: String,
    /// Shown dim beside it.
    note: String,
    /// Shown at the right: keys, price.
    right: String,
    command: Command,
}

impl CommandPalette {
    pub fn new(keymap: &Keymap, view: ViewId, tokens: &[TokenSummary], themes: &[String], api_on: bool) -> Self {
        let mut entries: Vec<Entry> = keymap
            .help(view)
            .into_iter()
            .map(|row| Entry {
                name: row.action.name().replace('_', " "),
                note: row.says.to_owned(),
                right: row.keys,
                command: Command::Act(row.action),
                everyday: row.everyday,
            })
            .collect();
        entries.push(Entry {
            name: if api_on { "stop api" } else { "start api" }.to_owned(),
            note: "Start or stop answering over HTTP.".to_owned(),
            right: String::new(),
            command: Command::ToggleApi,
            everyday: "server http",
        });
        for (name, note, typed) in [
            ("import FILE", "Take a file of yours in: its path, and options as `tokendeck import` has them.", "import "),
            ("open DIR", "Look at another dataset: its folder.", "open "),
        ] {
            let command = Command::Type(typed.to_owned());
            entries.push(Entry {
                name: name.to_owned(),
                note: note.to_owned(),
                right: String::new(),
                command,
                everyday: "load add file folder",
            });
        }
        entries.extend(themes.iter().map(|theme| Entry {
            name: format!("theme {theme}"),
            note: "Change the colours.".to_owned(),
            right: String::new(),
            command: Command::Theme(theme.clone()),
            everyday: "colors dark light appearance",
        }));
        let fixed = entries.len();
        let mut palette = Self { input: Input::default(), entries, fixed, found: Vec::new(), selected: 0, rows: Rows::default() };
        palette.set_tokens(tokens);
        palette
    }

    /// Takes the tokens of another generation.
    pub fn set_tokens(&mut self, tokens: &[TokenSummary]) {
        self.entries.truncate(self.fixed);
        self.entries.extend(tokens.iter().map(|token| Entry {
            name: text::clean(token.symbol.as_deref().unwrap_or("–")).into_owned(),
            note: format!("{}  {}", text::clean(token.name.as_deref().unwrap_or_default()), token.token_address.short()),
            right: format::price(token.price),
            command: Command::Select(token.token_address),
            everyday: "",
        }));
        self.rank();
    }

    pub fn key(&mut self, key: &KeyEvent) -> OverlayOutcome {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => return OverlayOutcome::Close,
            KeyCode::Char('c' | 'p') if control => return OverlayOutcome::Close,
            KeyCode::Enter => return self.chosen(),
            KeyCode::Down | KeyCode::Tab => self.move_by(1),
            KeyCode::Up | KeyCode::BackTab => self.move_by(-1),
            KeyCode::PageDown => self.move_by(10),
            KeyCode::PageUp => self.move_by(-10),
            _ => {
                if self.input.handle_event(&Event::Key(*key)).is_some_and(|change| change.value) {
                    self.rank();
                }
            }
        }
        OverlayOutcome::Stay
    }

    pub fn paste(&mut self, pasted: &str) {
        // A path that is dropped on the terminal is a file to take in.
        let dropped = pasted.trim().trim_start_matches(['\'', '"']);
        if self.input.value().is_empty() && ["/", "~/", "./"].iter().any(|start| dropped.starts_with(start)) {
            self.input = Input::new("import ".to_owned());
        }
        let value: String = self.input.value().chars().chain(pasted.chars().filter(|c| !c.is_control())).take(500).collect();
        self.input = Input::new(value);
        self.rank();
    }

    /// The path of `import FILE` and `open DIR` is typed out, for files cannot be listed here; everything else is an entry.
    fn chosen(&self) -> OverlayOutcome {
        if let Some(said) = self.import() {
            return OverlayOutcome::Run(Command::Import(said.to_owned()));
        }
        if let Some(folder) = self.folder() {
            return OverlayOutcome::Run(Command::OpenFolder(folder.to_owned()));
        }
        self.found.get(self.selected).map_or(OverlayOutcome::Close, |&i| OverlayOutcome::Run(self.entries[i].command.clone()))
    }

    /// A click: on an entry it runs it; none beside the entries.
    pub fn click(&self, x: u16, y: u16) -> Option<OverlayOutcome> {
        self.found.get(self.rows.at(x, y)?).map(|&i| OverlayOutcome::Run(self.entries[i].command.clone()))
    }

    fn folder(&self) -> Option<&str> {
        self.input.value().strip_prefix("open ").map(str::trim).filter(|folder| folder.contains(['/', '.', '~']))
    }

    /// `import PATH`, and what is said of it.
    fn import(&self) -> Option<&str> {
        self.input.value().strip_prefix("import ").map(str::trim).filter(|said| !said.is_empty())
    }

    fn move_by(&mut self, rows: isize) {
        let last = self.found.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(rows).min(last);
    }

    fn rank(&mut self) {
        self.selected = 0;
        let wanted = self.input.value().trim().to_lowercase();
        let mut ranked: Vec<(i32, usize)> = self
            .entries
            .iter()
            .enumerate()
            .filter_map(|(i, entry)| {
                // A word of the note finds an entry too, behind those it names.
                let by_name = fuzzy::score(&wanted, &entry.name);
                let told = || words::contains(&wanted, entry.everyday) || words::contains(&wanted, &entry.note);
                let by_note = (wanted.len() > 2).then(told).filter(|hit| *hit).map(|_| 0);
                by_name.or(by_note).map(|score| (score, i))
            })
            .collect();
        ranked.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        self.found = ranked.into_iter().take(SHOWN_MAX).map(|(_, i)| i).collect();
    }

    pub fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let inside = floating(buffer, area, (84, 20), "palette", theme);
        let base = theme.style(Role::Panel);
        let width = usize::from(inside.width).saturating_sub(3);
        let scroll = self.input.visual_scroll(width.max(1));
        let typed: String = self.input.value().chars().skip(scroll).collect();
        let used = line(buffer, inside, 0, 0, "› ", theme.accent().patch(base));
        let end = line(buffer, inside, 0, used, &typed, theme.text().patch(base));
        line(buffer, inside, 0, used + end, "▏", theme.accent().patch(base));
        if self.input.value().is_empty() {
            line(
                buffer,
                inside,
                0,
                used + 2,
                "an action, a token, `import FILE`, or `open DIR` for another dataset",
                theme.dim().patch(base),
            );
        }
        let below = Rect { y: inside.y + 2.min(inside.height), height: inside.height.saturating_sub(2), ..inside };
        self.rows = Rows::around(self.selected, below);
        for (row, place, &i) in self.rows.of(&self.found) {
            let style = if row == self.selected { theme.style(Role::Selection) } else { base };
            buffer.set_style(place, style);
            draw_entry(buffer, place, &self.entries[i], theme, style);
        }
        if self.found.is_empty() {
            let says = match (self.import(), self.folder()) {
                (Some(_), _) => "Enter shows what would be taken of this file",
                (None, Some(_)) => "Enter opens this folder",
                // Nothing is said of tokens before they are known.
                (None, None) if self.entries.len() == self.fixed => "no action is called that; tokens come once the dataset is read",
                (None, None) => "nothing is called that",
            };
            line(buffer, inside, 2, 0, says, theme.dim().patch(base));
        }
    }
}

fn draw_entry(buffer: &mut Buffer, place: Rect, entry: &Entry, theme: &Theme, style: ratatui::style::Style) {
    let right = text::width(&entry.right) as u16;
    let room = place.width.saturating_sub(right + 1);
    let left = Rect { width: room, ..place };
    let used = line(buffer, left, 0, 0, &text::fit(&entry.name, 18, text::Align::Left), theme.text().patch(style));
    line(buffer, left, 0, used + 1, &entry.note, theme.dim().patch(style));
    line(buffer, place, 0, place.width.saturating_sub(right), &entry.right, theme.accent().patch(style));
}
