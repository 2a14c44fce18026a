//! Named screens of a view: its filter, order and columns, saved and restored by two keys.

use super::prelude::*;

/// Longest name in characters.
const NAME_MAX: usize = 60;

#[derive(Debug)]
pub struct ScreensDialog {
    /// Name and summary of each screen.
    screens: Vec<(String, String)>,
    name: TypedLine,
    rows: Rows,
}

impl ScreensDialog {
    pub fn new(screens: Vec<(String, String)>) -> Self {
        Self {
            screens,
            name: TypedLine::new("", NAME_MAX),
            rows: Rows::default(),
        }
    }
}

impl Dialog for ScreensDialog {
    fn key(&mut self, key: &KeyEvent) -> OverlayOutcome {
        let named = self
            .screens
            .get(self.rows.selected)
            .map(|(name, _)| name.clone());
        let typed = self.name.text().trim().to_owned();
        match key.code {
            KeyCode::Esc | KeyCode::F(2) => return OverlayOutcome::Close,
            KeyCode::Enter if !typed.is_empty() => {
                return OverlayOutcome::Run(Command::SaveScreen(typed));
            }
            KeyCode::Enter => {
                return named.map_or(OverlayOutcome::Close, |name| {
                    OverlayOutcome::Run(Command::OpenScreen(name))
                });
            }
            KeyCode::Delete if typed.is_empty() => {
                return named.map_or(OverlayOutcome::Stay, |name| {
                    OverlayOutcome::Apply(Command::DropScreen(name))
                });
            }
            KeyCode::Tab => _ = self.rows.arrow(KeyCode::Down, self.screens.len()),
            KeyCode::BackTab => _ = self.rows.arrow(KeyCode::Up, self.screens.len()),
            code => _ = self.rows.arrow(code, self.screens.len()) || self.name.key(key),
        }
        OverlayOutcome::Stay
    }

    /// Opens the clicked screen.
    fn click(&mut self, x: u16, y: u16) -> Option<OverlayOutcome> {
        let (name, _) = self.screens.get(self.rows.at(x, y)?)?;
        Some(OverlayOutcome::Run(Command::OpenScreen(name.clone())))
    }

    fn paste(&mut self, pasted: &str) {
        self.name.paste(pasted);
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let inside = floating(
            buffer,
            area,
            (76, (self.screens.len() as u16 + 7).min(20)),
            "screens",
            theme,
        );
        let base = theme.style(Role::Panel);
        let used = put(
            buffer,
            inside,
            0,
            0,
            "save this screen as  ",
            theme.dim().patch(base),
        );
        self.name.draw(buffer, inside, used, theme);
        let below = Rect {
            y: inside.y + 2.min(inside.height),
            height: inside.height.saturating_sub(4),
            ..inside
        };
        for (_, place, style, (name, holds)) in self.rows.draw(&self.screens, buffer, below, theme)
        {
            let used = put(buffer, place, 0, 0, name, theme.text().patch(style));
            put(
                buffer,
                place,
                used.max(20) + 2,
                0,
                holds,
                theme.dim().patch(style),
            );
        }
        if self.screens.is_empty() {
            put(
                buffer,
                inside,
                0,
                2,
                "none yet; type a name and press Enter to save filter, order and columns",
                theme.dim().patch(base),
            );
        }
        let hint = if self.name.text().trim().is_empty() {
            "Enter open   Delete remove   type a name to save   Esc"
        } else {
            "Enter save   Esc"
        };
        put(
            buffer,
            inside,
            0,
            inside.height.saturating_sub(1),
            hint,
            theme.dim().patch(base),
        );
    }
}
