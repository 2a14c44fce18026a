//! The indicator dialog of the chart: kinds and parameters. Valid changes apply at once.

use super::prelude::*;
use analysis::indicators::{INDICATORS_MAX, Indicator, IndicatorError, IndicatorKind, KINDS};

/// Maximum number of digits of a parameter.
const DIGITS_MAX: usize = 5;

#[derive(Debug)]
pub struct IndicatorsDialog {
    indicators: Vec<Row>,
    rows: Rows,
}

/// A row of the dialog: an indicator as text, `sma(20)`.
#[derive(Debug, Clone)]
struct Row {
    kind: &'static IndicatorKind,
    numbers: Vec<String>,
    shown: bool,
    /// The parameter being edited.
    number: usize,
    /// The first digit replaces the parameter.
    fresh: bool,
}

impl Row {
    fn of(kind: &'static IndicatorKind, name: &str, shown: bool) -> Self {
        let numbers = name.split('_').skip(1).map(str::to_owned).collect();
        Self {
            kind,
            numbers,
            shown,
            number: 0,
            fresh: true,
        }
    }

    fn read(&self) -> Result<Indicator, IndicatorError> {
        let parts: Vec<&str> = std::iter::once(self.kind.word)
            .chain(self.numbers.iter().map(String::as_str))
            .collect();
        Indicator::parse(&parts.join("_"))
    }

    fn step(&mut self, by: f64) {
        let Some(number) = self.numbers.get_mut(self.number) else {
            return;
        };
        // The width of Bollinger bands in standard deviations need not be whole.
        let unit = if self.kind.word == "bollinger" && self.number == 1 {
            0.5
        } else {
            1.0
        };
        *number = (number.parse::<f64>().unwrap_or_default() + by * unit)
            .max(unit)
            .to_string();
        self.fresh = true;
    }
}

impl IndicatorsDialog {
    /// The active indicators, then one with default parameters of every other kind.
    pub fn new(chosen: &[Indicator]) -> Self {
        let mut indicators = Vec::new();
        for kind in KINDS {
            let of_kind = chosen
                .iter()
                .filter(|indicator| indicator.kind().word == kind.word);
            let before = indicators.len();
            indicators.extend(of_kind.map(|indicator| Row::of(kind, &indicator.to_string(), true)));
            if indicators.len() == before {
                indicators.push(Row::of(kind, kind.usual, false));
            }
        }
        Self {
            indicators,
            rows: Rows::default(),
        }
    }

    /// Changes the row and shows its indicator.
    fn change(&mut self, change: impl FnOnce(&mut Row)) -> OverlayOutcome {
        let Some(row) = self
            .indicators
            .get_mut(self.rows.selected)
            .filter(|row| !row.numbers.is_empty())
        else {
            return OverlayOutcome::Stay;
        };
        change(row);
        row.shown = true;
        self.apply()
    }

    /// The shown and valid indicators, without duplicates.
    fn apply(&self) -> OverlayOutcome {
        let mut chosen: Vec<Indicator> = Vec::new();
        for indicator in self
            .indicators
            .iter()
            .filter(|row| row.shown)
            .filter_map(|row| row.read().ok())
        {
            if !chosen.contains(&indicator) {
                chosen.push(indicator);
            }
        }
        OverlayOutcome::Apply(Command::Indicators(chosen))
    }
}

impl Dialog for IndicatorsDialog {
    fn key(&mut self, key: &KeyEvent) -> OverlayOutcome {
        let count = self.indicators.len();
        let row = &mut self.indicators[self.rows.selected.min(count.saturating_sub(1))];
        match key.code {
            KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q' | 'I') => {
                return OverlayOutcome::Close;
            }
            KeyCode::Left | KeyCode::Char('h') => {
                (row.number, row.fresh) = (row.number.saturating_sub(1), true);
            }
            KeyCode::Right | KeyCode::Char('l') => {
                (row.number, row.fresh) = (
                    (row.number + 1).min(row.numbers.len().saturating_sub(1)),
                    true,
                );
            }
            KeyCode::Char(' ' | 'x') => {
                row.shown = !row.shown;
                return self.apply();
            }
            KeyCode::Char('+' | '=') => return self.change(|row| row.step(1.0)),
            KeyCode::Char('-') => return self.change(|row| row.step(-1.0)),
            KeyCode::Char(digit @ ('0'..='9' | '.')) => {
                return self.change(|row| type_in(row, digit));
            }
            KeyCode::Backspace => {
                return self.change(|row| {
                    row.fresh = false;
                    row.numbers.get_mut(row.number).map(String::pop);
                });
            }
            KeyCode::Char('a') if count < INDICATORS_MAX => {
                let another = Row {
                    shown: false,
                    fresh: true,
                    number: 0,
                    ..row.clone()
                };
                self.indicators.insert(self.rows.selected + 1, another);
                self.rows.selected += 1;
            }
            code => _ = self.rows.letter(code, count),
        }
        OverlayOutcome::Stay
    }

    /// Shows or hides the clicked indicator.
    fn click(&mut self, x: u16, y: u16) -> Option<OverlayOutcome> {
        self.rows.selected = self
            .rows
            .at(x, y)
            .filter(|row| *row < self.indicators.len())?;
        let row = &mut self.indicators[self.rows.selected];
        row.shown = !row.shown;
        Some(self.apply())
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let height = (self.indicators.len() as u16 + 6).min(area.height.saturating_sub(2));
        let inside = floating(buffer, area, (66, height), "indicators", theme);
        let base = theme.style(Role::Panel);
        let selected = self.rows.selected;
        let list = Rect {
            height: inside.height.saturating_sub(4),
            ..inside
        };
        for (nth, place, style, row) in self.rows.draw(&self.indicators, buffer, list, theme) {
            put(
                buffer,
                place,
                0,
                0,
                if row.shown { "[x]" } else { "[ ]" },
                theme.accent().patch(style),
            );
            let words = if row.shown { theme.text() } else { theme.dim() };
            put(
                buffer,
                place,
                4,
                0,
                &text::fit(&row.kind.word.to_uppercase(), 10, text::Align::Left),
                words.patch(style),
            );
            let mut x = 15;
            for (at, number) in row.numbers.iter().enumerate() {
                let here = nth == selected && at == row.number;
                let number = if here {
                    format!("[{number}]")
                } else {
                    format!(" {number} ")
                };
                x += put(
                    buffer,
                    place,
                    x,
                    0,
                    &number,
                    if here { theme.accent() } else { words }.patch(style),
                );
            }
            put(
                buffer,
                place,
                30,
                0,
                row.kind.title,
                theme.dim().patch(style),
            );
        }
        let bottom = inside.height.saturating_sub(3);
        if let Some(Err(problem)) = self
            .indicators
            .get(selected)
            .filter(|row| row.shown)
            .map(Row::read)
        {
            put(
                buffer,
                inside,
                0,
                bottom,
                &problem.to_string(),
                theme.style(Role::Warning).patch(base),
            );
        }
        let hints = [
            "Space show or hide   0-9 type the number   + - change it",
            "← → other number   a add another of this kind   Esc done",
        ];
        for (nth, hint) in hints.iter().enumerate() {
            put(
                buffer,
                inside,
                0,
                bottom + 1 + nth as u16,
                hint,
                theme.dim().patch(base),
            );
        }
    }
}

fn type_in(row: &mut Row, digit: char) {
    let fresh = std::mem::replace(&mut row.fresh, false);
    let Some(number) = row.numbers.get_mut(row.number) else {
        return;
    };
    if fresh {
        number.clear();
    }
    if number.len() < DIGITS_MAX {
        number.push(digit);
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyModifiers;

    use super::*;

    fn names(outcome: &OverlayOutcome) -> String {
        let OverlayOutcome::Apply(Command::Indicators(chosen)) = outcome else {
            panic!("{outcome:?}")
        };
        chosen
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(",")
    }

    #[test]
    fn indicators_are_switched_typed_stepped_and_doubled() {
        let mut dialog = IndicatorsDialog::new(&[Indicator::Rsi(14)]);
        let mut press = |code| dialog.key(&KeyEvent::new(code, KeyModifiers::NONE));
        assert_eq!(names(&press(KeyCode::Char(' '))), "sma_20,rsi_14");
        // The first digit replaces the parameter; an invalid indicator is left out.
        assert_eq!(names(&press(KeyCode::Char('5'))), "sma_5,rsi_14");
        assert_eq!(names(&press(KeyCode::Char('0'))), "sma_50,rsi_14");
        assert_eq!(names(&press(KeyCode::Char('0'))), "sma_500,rsi_14");
        assert_eq!(names(&press(KeyCode::Char('0'))), "rsi_14");
        assert_eq!(names(&press(KeyCode::Backspace)), "sma_500,rsi_14");
        assert_eq!(press(KeyCode::Char('a')), OverlayOutcome::Stay);
        assert_eq!(names(&press(KeyCode::Char('-'))), "sma_500,sma_499,rsi_14");
        (0..2).for_each(|_| assert_eq!(press(KeyCode::Down), OverlayOutcome::Stay));
        assert_eq!(press(KeyCode::Right), OverlayOutcome::Stay);
        assert_eq!(
            names(&press(KeyCode::Char('+'))),
            "sma_500,sma_499,bollinger_20_2.5,rsi_14"
        );
        assert_eq!(press(KeyCode::Esc), OverlayOutcome::Close);
    }

    #[test]
    fn a_number_that_cannot_be_is_explained_in_any_size() {
        let mut dialog = IndicatorsDialog::new(&[]);
        dialog.key(&KeyEvent::new(KeyCode::Char('1'), KeyModifiers::NONE));
        for (width, height) in [(1, 1), (20, 5), (60, 16), (140, 42)] {
            let area = Rect::new(0, 0, width, height);
            let mut buffer = Buffer::empty(area);
            dialog.draw(&mut buffer, area, &Theme::default());
            assert_eq!(
                crate::widgets::picture::text(&buffer).contains("2 to 500"),
                width >= 60,
                "{width}x{height}"
            );
        }
    }
}
