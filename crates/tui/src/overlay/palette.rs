//! The command palette: fuzzy search over all actions, tokens and settings. The entries come from the tables; nothing runs here.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::{buffer::Buffer, layout::Rect};

use super::{Command, Dialog, OverlayOutcome, Rows, TypedLine, floating};
use crate::{
    fuzzy,
    keymap::{Keymap, ViewId},
};
use analysis::market::TokenSummary;
use model::format;
use query::question::filter::words;
use widgets::{
    put, text,
    theme::{BUILTIN, Role, Theme},
};

/// Maximum number of entries ranked and shown.
const SHOWN_MAX: usize = 200;
/// Longest input in characters.
const CHARS_MAX: usize = 500;

#[derive(Debug)]
pub struct CommandPalette {
    line: TypedLine,
    entries: Vec<Entry>,
    /// Number of leading entries that are not tokens.
    fixed: usize,
    /// Indices into `entries`, best first.
    found: Vec<usize>,
    rows: Rows,
}

#[derive(Debug)]
struct Entry {
    /// Search synonyms.
    synonyms: &'static str,
    /// Searched and shown.
    name: String,
    /// Shown dimmed beside it.
    note: String,
    /// Shown at the right: keys, price.
    right: String,
    command: Command,
}

impl CommandPalette {
    pub fn new(keymap: &Keymap, view: ViewId, tokens: &[TokenSummary], api_on: bool) -> Self {
        let mut entries: Vec<Entry> = keymap
            .help(view)
            .into_iter()
            .map(|row| Entry {
                name: row.action.name().replace('_', " "),
                note: row.says.to_owned(),
                right: row.keys,
                command: Command::Act(row.action),
                synonyms: row.synonyms,
            })
            .collect();
        let keyless = |name: &str, note: &str, synonyms, command| Entry {
            name: name.to_owned(),
            note: note.to_owned(),
            right: String::new(),
            synonyms,
            command,
        };
        let api = if api_on { "stop api" } else { "start api" };
        let import = "Take a file of yours in: its path, and options as `tokendeck import` has them.";
        let files = "load add file folder";
        entries.extend([
            keyless(api, "Start or stop answering over HTTP.", "server http", Command::ToggleApi),
            keyless("import FILE", import, files, Command::Type("import ".to_owned())),
            keyless("open DIR", "Look at another dataset: its folder.", files, Command::Type("open ".to_owned())),
        ]);
        entries.extend(BUILTIN.iter().map(|(theme, _)| {
            let command = Command::Theme((*theme).to_owned());
            keyless(&format!("theme {theme}"), "Change the colours.", "colors dark light appearance", command)
        }));
        let fixed = entries.len();
        let mut palette = Self { line: TypedLine::new("", CHARS_MAX), entries, fixed, found: Vec::new(), rows: Rows::default() };
        palette.set_tokens(tokens);
        palette
    }

    /// Replaces the tokens by those of another generation.
    pub fn set_tokens(&mut self, tokens: &[TokenSummary]) {
        self.entries.truncate(self.fixed);
        self.entries.extend(tokens.iter().map(|token| Entry {
            name: text::clean(token.symbol.as_deref().unwrap_or("–")).into_owned(),
            note: format!("{}  {}", text::clean(token.name.as_deref().unwrap_or_default()), token.token_address.short()),
            right: format!("{}{}", if token.is_stale() { "stale " } else { "" }, format::price(token.price)),
            command: Command::Select(token.token_address),
            synonyms: "",
        }));
        self.rank();
    }

    /// `import FILE` and `open DIR` take a typed path, as files are not listed here; everything else is an entry.
    fn chosen(&self) -> OverlayOutcome {
        if let Some(said) = self.import() {
            return OverlayOutcome::Run(Command::Import(said.to_owned()));
        }
        if let Some(folder) = self.folder() {
            return OverlayOutcome::Run(Command::OpenFolder(folder.to_owned()));
        }
        self.run(self.rows.selected).unwrap_or(OverlayOutcome::Close)
    }

    fn run(&self, row: usize) -> Option<OverlayOutcome> {
        self.found.get(row).map(|&i| OverlayOutcome::Run(self.entries[i].command.clone()))
    }

    fn folder(&self) -> Option<&str> {
        self.line.text().strip_prefix("open ").map(str::trim).filter(|folder| folder.contains(['/', '.', '~']))
    }

    /// The argument of `import`: path and options.
    fn import(&self) -> Option<&str> {
        self.line.text().strip_prefix("import ").map(str::trim).filter(|said| !said.is_empty())
    }

    fn rank(&mut self) {
        self.rows.selected = 0;
        let wanted = self.line.text().trim().to_lowercase();
        let mut ranked: Vec<(i32, usize)> = self
            .entries
            .iter()
            .enumerate()
            .filter_map(|(i, entry)| {
                // A match in note or synonyms ranks below a match in the name.
                let by_name = fuzzy::score(&wanted, &entry.name);
                let told = || words::contains(&wanted, entry.synonyms) || words::contains(&wanted, &entry.note);
                let by_note = (wanted.len() > 2).then(told).filter(|hit| *hit).map(|_| 0);
                by_name.or(by_note).map(|score| (score, i))
            })
            .collect();
        ranked.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        self.found = ranked.into_iter().take(SHOWN_MAX).map(|(_, i)| i).collect();
    }
}

impl Dialog for CommandPalette {
    fn key(&mut self, key: &KeyEvent) -> OverlayOutcome {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => return OverlayOutcome::Close,
            KeyCode::Char('p') if control => return OverlayOutcome::Close,
            KeyCode::Enter => return self.chosen(),
            KeyCode::Tab => _ = self.rows.arrow(KeyCode::Down, self.found.len()),
            KeyCode::BackTab => _ = self.rows.arrow(KeyCode::Up, self.found.len()),
            code => {
                if !self.rows.arrow(code, self.found.len()) && self.line.key(key) {
                    self.rank();
                }
            }
        }
        OverlayOutcome::Stay
    }

    /// Runs the clicked entry.
    fn click(&mut self, x: u16, y: u16) -> Option<OverlayOutcome> {
        self.run(self.rows.at(x, y)?)
    }

    fn paste(&mut self, pasted: &str) {
        // A path dropped on the terminal is a file to import.
        let dropped = pasted.trim().trim_start_matches(['\'', '"']);
        if self.line.text().is_empty() && ["/", "~/", "./"].iter().any(|start| dropped.starts_with(start)) {
            self.line.paste("import ");
        }
        self.line.paste(pasted);
        self.rank();
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let inside = floating(buffer, area, (84, 20), "palette", theme);
        let base = theme.style(Role::Panel);
        let used = put(buffer, inside, 0, 0, "› ", theme.accent().patch(base));
        self.line.draw(buffer, inside, used, theme);
        if self.line.text().is_empty() {
            put(
                buffer,
                inside,
                used + 2,
                0,
                "an action, a token, `import FILE`, or `open DIR` for another dataset",
                theme.dim().patch(base),
            );
        }
        let below = Rect { y: inside.y + 2.min(inside.height), height: inside.height.saturating_sub(2), ..inside };
        for (_, place, style, &i) in self.rows.draw(&self.found, buffer, below, theme) {
            draw_entry(buffer, place, &self.entries[i], theme, style);
        }
        if self.found.is_empty() {
            let says = match (self.import(), self.folder()) {
                (Some(_), _) => "Enter shows what would be taken of this file",
                (None, Some(_)) => "Enter opens this folder",
                // No claim about tokens before they are loaded.
                (None, None) if self.entries.len() == self.fixed => "no action is called that; tokens come once the dataset is read",
                (None, None) => "nothing is called that",
            };
            put(buffer, inside, 0, 2, says, theme.dim().patch(base));
        }
    }
}

fn draw_entry(buffer: &mut Buffer, place: Rect, entry: &Entry, theme: &Theme, style: ratatui::style::Style) {
    let right = text::width(&entry.right) as u16;
    let room = place.width.saturating_sub(right + 1);
    let left = Rect { width: room, ..place };
    let used = put(buffer, left, 0, 0, &text::fit(&entry.name, 18, text::Align::Left), theme.text().patch(style));
    put(buffer, left, used + 1, 0, &entry.note, theme.dim().patch(style));
    put(buffer, place, place.width.saturating_sub(right), 0, &entry.right, theme.accent().patch(style));
}
