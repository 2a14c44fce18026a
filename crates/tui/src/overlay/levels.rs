//! The dialog of a token's price levels: set, move or remove one, or set an alert on it.

use crossterm::event::KeyModifiers;

use super::{alerts::AboutToken, prelude::*};
use crate::error::TypedError;
use model::annotations::{Annotation, LEVELS_MAX, NAME_CHARS_MAX, UserLevel};

/// Longest price in characters.
const PRICE_CHARS_MAX: usize = 24;
/// Column of the price.
const PRICE: u16 = 34;

#[derive(Debug)]
pub struct LevelsDialog {
    about: AboutToken,
    name: TypedLine,
    price: TypedLine,
    /// The price is typed, not the name.
    in_price: bool,
    levels: Vec<UserLevel>,
    rows: Rows,
    /// The selected row's level is in the lines, and whether it was changed there.
    chosen: bool,
    edited: bool,
    problem: Option<String>,
}

impl LevelsDialog {
    /// For a new level at a price.
    pub fn new(about: AboutToken, price: Option<f64>, levels: Vec<UserLevel>) -> Self {
        // Six digits are finer than a crosshair.
        let price = price
            .and_then(|price| format!("{price:.5e}").parse::<f64>().ok())
            .map_or_else(String::new, |price| price.to_string());
        Self {
            about,
            name: TypedLine::new("", NAME_CHARS_MAX),
            price: TypedLine::new(price, PRICE_CHARS_MAX),
            in_price: false,
            levels,
            rows: Rows::default(),
            chosen: false,
            edited: false,
            problem: None,
        }
    }

    /// Takes the row's level into the lines.
    fn choose(&mut self, row: usize) {
        let Some(level) = self.levels.get(row) else {
            return;
        };
        self.rows.selected = row;
        self.name = TypedLine::new(level.name.clone(), NAME_CHARS_MAX);
        self.price = TypedLine::new(level.price.to_string(), PRICE_CHARS_MAX);
        (self.chosen, self.edited) = (true, false);
    }

    /// The level in the lines.
    fn typed(&self) -> Result<UserLevel, TypedError> {
        let text = self.price.text().trim().replace([',', '_'], "");
        let price = text.parse().map_err(|_| TypedError::Price(text))?;
        UserLevel::new(self.name.text(), price).map_err(TypedError::Level)
    }

    fn outcome(&mut self, of: impl FnOnce(UserLevel) -> Command) -> OverlayOutcome {
        match self.typed() {
            Ok(level) => OverlayOutcome::Run(of(level)),
            Err(problem) => {
                self.problem = Some(problem.to_string());
                OverlayOutcome::Stay
            }
        }
    }

    fn remove(&mut self) -> OverlayOutcome {
        let level = self.levels.remove(self.rows.selected);
        (self.chosen, self.rows.selected) = (false, 0);
        self.name = TypedLine::new("", NAME_CHARS_MAX);
        OverlayOutcome::Apply(Command::Annotation(
            self.about.token,
            Annotation::NoLevel(level.name),
        ))
    }
}

impl Dialog for LevelsDialog {
    fn key(&mut self, key: &KeyEvent) -> OverlayOutcome {
        self.problem = None;
        let token = self.about.token;
        match key.code {
            KeyCode::Esc => return OverlayOutcome::Close,
            KeyCode::Enter => {
                return self.outcome(|level| Command::Annotation(token, Annotation::Level(level)));
            }
            KeyCode::Char('a') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                return self.outcome(|level| Command::AlertAt(level.price));
            }
            KeyCode::Tab | KeyCode::BackTab => self.in_price = !self.in_price,
            // The first arrow chooses the first row.
            KeyCode::Down if !self.chosen => self.choose(0),
            KeyCode::Delete if self.chosen && !self.edited => return self.remove(),
            code if self.rows.arrow(code, self.levels.len()) => self.choose(self.rows.selected),
            _ => {
                self.edited = true;
                _ = if self.in_price {
                    self.price.key(key)
                } else {
                    self.name.key(key)
                };
            }
        }
        OverlayOutcome::Stay
    }

    fn click(&mut self, x: u16, y: u16) -> Option<OverlayOutcome> {
        let row = self.rows.at(x, y).filter(|row| *row < self.levels.len())?;
        self.choose(row);
        Some(OverlayOutcome::Stay)
    }

    fn paste(&mut self, pasted: &str) {
        if self.in_price {
            self.price.paste(pasted);
        } else {
            self.name.paste(pasted);
        }
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let height = (self.levels.len() as u16).clamp(1, LEVELS_MAX as u16) + 7;
        let inside = floating(
            buffer,
            area,
            (76, height),
            &format!("levels of {}", self.about.name),
            theme,
        );
        let base = theme.style(Role::Panel);
        let dim = theme.dim().patch(base);
        for (x, label, line, is_typed) in [
            (0, "name  ", &self.name, !self.in_price),
            (PRICE, "price  ", &self.price, self.in_price),
        ] {
            let width = if x == 0 {
                inside.width.min(PRICE)
            } else {
                inside.width
            };
            let place = Rect { width, ..inside };
            let used = x + put(buffer, place, x, 0, label, dim);
            if is_typed {
                line.draw(buffer, place, used, theme);
            } else {
                put(
                    buffer,
                    place,
                    used,
                    0,
                    line.text(),
                    theme.text().patch(base),
                );
            }
        }
        if let Some(problem) = &self.problem {
            put(
                buffer,
                inside,
                0,
                1,
                problem,
                theme.style(Role::Warning).patch(base),
            );
        }
        let list = Rect {
            y: inside.y + 2.min(inside.height),
            height: inside.height.saturating_sub(5),
            ..inside
        };
        if !self.chosen {
            put(
                buffer,
                list,
                0,
                0,
                if self.levels.is_empty() {
                    "no levels yet"
                } else {
                    ""
                },
                dim,
            );
        }
        for (row, place, style, level) in self.rows.draw(&self.levels, buffer, list, theme) {
            let style = if row == self.rows.selected && !self.chosen {
                base
            } else {
                style
            };
            buffer.set_style(place, style);
            put(buffer, place, 0, 0, &level.name, theme.text().patch(style));
            put(
                buffer,
                place,
                PRICE,
                0,
                &format::price(Some(level.price)),
                theme.text().patch(style),
            );
        }
        let hints = [
            "⏎ set the level   Tab name or price   Ctrl-A alert on it",
            "↓ ↑ select one to move   Delete remove   Esc",
        ];
        for (y, hint) in (inside.height.saturating_sub(2)..).zip(hints) {
            put(buffer, inside, 0, y, hint, dim);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::address::Address;

    fn press(dialog: &mut LevelsDialog, code: KeyCode) -> OverlayOutcome {
        dialog.key(&KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn what_is_no_price_is_refused_in_words_and_a_level_without_a_name_has_its_price() {
        let about = AboutToken {
            token: Address([3; 20]),
            name: "UNI".to_owned(),
        };
        for (typed, says) in [
            ("7.5x", Err("`7.5x` is not a price")),
            ("-1", Err("is not a price")),
            ("1,250.5", Ok(1_250.5)),
            ("8e-6", Ok(8e-6)),
        ] {
            let mut dialog = LevelsDialog::new(about.clone(), None, Vec::new());
            press(&mut dialog, KeyCode::Tab);
            dialog.paste(typed);
            let outcome = press(&mut dialog, KeyCode::Enter);
            match says {
                Ok(price) => {
                    let level = UserLevel {
                        name: price.to_string(),
                        price,
                    };
                    assert_eq!(
                        outcome,
                        OverlayOutcome::Run(Command::Annotation(
                            about.token,
                            Annotation::Level(level)
                        ))
                    );
                }
                Err(says) => assert!(
                    dialog
                        .problem
                        .as_ref()
                        .is_some_and(|problem| problem.contains(says)),
                    "{typed}"
                ),
            }
        }
        for (width, height) in [(0, 0), (1, 1), (20, 5), (80, 24)] {
            let area = Rect::new(0, 0, width, height);
            LevelsDialog::new(about.clone(), Some(7.0), Vec::new()).draw(
                &mut Buffer::empty(area),
                area,
                &Theme::default(),
            );
        }
    }
}
