//! The help of a view: its bindings from the key table, with an incremental filter; Enter runs the selected one.

use super::prelude::*;
use crate::views::keymap::{Action, HelpLine, Keymap, Scope, ViewId};
use table::filter::words;

/// Lines of the selected sentence, where it is too long for its row.
const SENTENCE: usize = 2;
/// Widest keys column in cells.
const KEYS_WIDTH: usize = 18;
/// Longest filter in bytes.
const FILTER_BYTES_MAX: usize = 100;
/// Width of the box in cells, as far as the terminal allows.
const WIDTH_MIN: u16 = 76;
const WIDTH_MAX: u16 = 110;

#[derive(Debug)]
pub struct Help {
    lines: Vec<HelpLine>,
    /// `None` until `/` starts it.
    filter: Option<String>,
    title: String,
    /// Warnings of the configuration, in full.
    warnings: Vec<String>,
    rows: Rows,
}

impl Help {
    pub fn new(keymap: &Keymap, view: ViewId, warnings: &[String]) -> Self {
        let title = format!("keys · {}", view.title());
        Self {
            lines: keymap.help(view),
            filter: None,
            title,
            warnings: warnings.to_vec(),
            rows: Rows::default(),
        }
    }

    /// Replaces the lines by the bindings of the pane shown in the view.
    #[must_use]
    pub fn of_pane(self, name: &str, keys: &[(Action, &'static str)]) -> Self {
        let line = |&(action, says): &(Action, &'static str)| {
            let line = self.lines.iter().find(|line| line.action == action)?;
            Some(HelpLine {
                says,
                ..line.clone()
            })
        };
        Self {
            lines: keys.iter().filter_map(line).collect(),
            title: format!("keys · {name}"),
            ..self
        }
    }

    /// The action menu of a row.
    pub fn of_row(lines: Vec<HelpLine>, row: &str) -> Self {
        let title = format!("actions · {row}");
        Self {
            lines,
            filter: None,
            title,
            warnings: Vec::new(),
            rows: Rows::default(),
        }
    }

    /// Whether it is of a view: a tour is no action of a row.
    fn has_tour(&self) -> bool {
        self.lines.iter().any(|line| line.action == Action::Tour)
    }

    fn set_filter(&mut self, filter: Option<String>) {
        self.filter = filter;
        self.rows.selected = 0;
    }

    fn run(&self, row: usize) -> Option<OverlayOutcome> {
        self.matching_lines()
            .get(row)
            .map(|line| OverlayOutcome::Run(Command::Act(line.action)))
    }

    fn matching_lines(&self) -> Vec<&HelpLine> {
        let wanted = self.filter.as_deref().unwrap_or_default().to_lowercase();
        let hit = |line: &&HelpLine| {
            wanted.is_empty() || {
                [line.says, line.synonyms]
                    .iter()
                    .any(|text| words::contains(&wanted, text))
                    || line.action.name().contains(&wanted)
            }
        };
        self.lines.iter().filter(hit).collect()
    }
}

impl Dialog for Help {
    fn key(&mut self, key: &KeyEvent) -> OverlayOutcome {
        let (count, has_tour) = (self.matching_lines().len(), self.has_tour());
        match (key.code, self.filter.as_mut()) {
            (KeyCode::Esc, Some(_)) => self.set_filter(None),
            (KeyCode::Esc | KeyCode::Char('q' | '?'), None) => return OverlayOutcome::Close,
            (KeyCode::Enter, _) => {
                return self
                    .run(self.rows.selected)
                    .unwrap_or(OverlayOutcome::Close);
            }
            (KeyCode::Backspace, Some(filter)) => {
                filter.pop();
                self.rows.selected = 0;
            }
            (KeyCode::Char(letter), Some(filter)) => {
                if filter.len() < FILTER_BYTES_MAX {
                    filter.push(letter);
                    self.rows.selected = 0;
                }
            }
            (KeyCode::Char('/'), None) => self.set_filter(Some(String::new())),
            (KeyCode::Char('t'), None) if has_tour => {
                return OverlayOutcome::Run(Command::Act(Action::Tour));
            }
            (code, _) => _ = self.rows.letter(code, count),
        }
        OverlayOutcome::Stay
    }

    /// Runs the clicked line.
    fn click(&mut self, x: u16, y: u16) -> Option<OverlayOutcome> {
        self.run(self.rows.at(x, y)?)
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        // As wide as the longest sentence with its keys, the gap, the borders and a cell of padding at both sides.
        let longest = self
            .lines
            .iter()
            .map(|line| text::width(line.says))
            .max()
            .unwrap_or(0) as u16;
        let keys_width = self
            .lines
            .iter()
            .map(|line| text::width(&line.keys))
            .max()
            .unwrap_or(0)
            .min(KEYS_WIDTH);
        let width = (keys_width as u16 + 1 + longest + 4).clamp(WIDTH_MIN, WIDTH_MAX);
        let room = usize::from(width.min(area.width).saturating_sub(6)).max(1);
        let wrapped = |warning: &String| text::wrap(&format!("! {warning}"), room, 4);
        let warned: Vec<String> = self.warnings.iter().flat_map(wrapped).collect();
        let inside = floating(
            buffer,
            area,
            (width, (self.lines.len() + warned.len()) as u16 + 5),
            &self.title,
            theme,
        );
        for (row, says) in warned.iter().enumerate() {
            put(
                buffer,
                inside,
                0,
                row as u16,
                says,
                theme.style(Role::Warning).patch(theme.style(Role::Panel)),
            );
        }
        let top = (warned.len() as u16).min(inside.height);
        let inside = below(inside, top);
        let shown: Vec<HelpLine> = self.matching_lines().into_iter().cloned().collect();
        let base = theme.style(Role::Panel);
        // Where sentences are cut, the selected one is shown in full below.
        let cells = usize::from(inside.width);
        let cut = keys_width + 1 + usize::from(longest) > cells;
        let whole = shown
            .get(self.rows.selected)
            .filter(|_| cut)
            .map_or_else(Vec::new, |entry| text::wrap(entry.says, cells, SENTENCE));
        let below = if cut { SENTENCE as u16 + 1 } else { 2 };
        for (nth, says) in whole.iter().enumerate() {
            put(
                buffer,
                inside,
                0,
                inside.height.saturating_sub(below) + nth as u16,
                says,
                theme.text().patch(base),
            );
        }
        let list = Rect {
            height: inside.height.saturating_sub(below),
            ..inside
        };
        for (_, place, style, entry) in self.rows.draw(&shown, buffer, list, theme) {
            let own = entry.scope != Scope::Everywhere;
            let keys = if own { theme.accent() } else { theme.text() };
            let used = put(
                buffer,
                place,
                0,
                0,
                &text::fit(&entry.keys, keys_width, text::Align::Left),
                keys.patch(style),
            );
            let room = usize::from(place.width.saturating_sub(used + 1));
            put(
                buffer,
                place,
                used + 1,
                0,
                text::clauses(entry.says, room),
                theme.dim().patch(style).patch(theme.text()),
            );
        }
        let hint = match &self.filter {
            Some(filter) => format!("/ {filter}▏"),
            None if self.has_tour() => "Enter run   / filter   t tour   Esc close".to_owned(),
            None => "Enter run   / filter   Esc close".to_owned(),
        };
        let bottom = inside.height.saturating_sub(1);
        let used = put(buffer, inside, 0, bottom, &hint, theme.dim().patch(base));
        let place = format!(
            "{} of {}",
            (self.rows.selected + 1).min(shown.len()),
            shown.len()
        );
        let left = inside.width.saturating_sub(text::width(&place) as u16);
        if left > used {
            put(
                buffer,
                inside,
                left,
                bottom,
                &place,
                theme.dim().patch(base),
            );
        }
    }
}
