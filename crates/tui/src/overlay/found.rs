//! The tokens that providers found for the text after `add`; the user chooses one.

use super::prelude::*;
use crate::views::words::CANCEL;
use query::service::refresh::add::FoundToken;

#[derive(Debug)]
pub struct FoundDialog {
    words: String,
    /// `None` while the providers are asked.
    tokens: Option<Vec<FoundToken>>,
    rows: Rows,
}

impl FoundDialog {
    pub fn new(words: &str) -> Self {
        Self {
            words: words.to_owned(),
            tokens: None,
            rows: Rows::default(),
        }
    }

    pub fn show(&mut self, tokens: Vec<FoundToken>) {
        self.tokens = Some(tokens);
    }

    fn run(&self, row: usize) -> Option<OverlayOutcome> {
        (row < self.tokens.as_ref()?.len()).then_some(OverlayOutcome::Run(Command::AddFound(row)))
    }
}

impl Dialog for FoundDialog {
    fn key(&mut self, key: &KeyEvent) -> OverlayOutcome {
        let count = self.tokens.as_ref().map_or(0, Vec::len);
        match key.code {
            KeyCode::Esc | KeyCode::Char('q') => return OverlayOutcome::Close,
            KeyCode::Enter => return self.run(self.rows.selected).unwrap_or(OverlayOutcome::Stay),
            code => _ = self.rows.letter(code, count),
        }
        OverlayOutcome::Stay
    }

    fn click(&mut self, x: u16, y: u16) -> Option<OverlayOutcome> {
        self.run(self.rows.at(x, y)?)
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let base = theme.style(Role::Panel);
        let height = self
            .tokens
            .as_ref()
            .map_or(1, Vec::len)
            .saturating_add(5)
            .min(20) as u16;
        let inside = floating(
            buffer,
            area,
            (96, height),
            &format!("add {}", text::clean(&self.words)),
            theme,
        );
        let Some(tokens) = &self.tokens else {
            put(buffer, inside, 0, 0, "searching…", theme.dim().patch(base));
            put(
                buffer,
                inside,
                0,
                inside.height.saturating_sub(1),
                CANCEL,
                theme.dim().patch(base),
            );
            return;
        };
        put(
            buffer,
            inside,
            0,
            0,
            "several tokens match; which one?",
            theme.text().patch(base),
        );
        let list = Rect {
            y: inside.y + 1,
            height: inside.height.saturating_sub(3),
            ..inside
        };
        for (_, place, style, token) in self.rows.draw(tokens, buffer, list, theme) {
            let symbol = text::clean(token.symbol.as_deref().unwrap_or("–")).into_owned();
            let mut x = put(
                buffer,
                place,
                0,
                0,
                &text::fit(&symbol, 10, text::Align::Left),
                theme.strong().patch(style),
            );
            let name = text::clean(token.name.as_deref().unwrap_or_default()).into_owned();
            x += put(
                buffer,
                place,
                x + 1,
                0,
                &text::fit(&name, 22, text::Align::Left),
                theme.text().patch(style),
            ) + 1;
            let about = format!("{}  {:<6} ", token.address.short(), token.chain);
            x += put(buffer, place, x + 1, 0, &about, theme.dim().patch(style)) + 1;
            let cap = token.market_cap.map_or_else(String::new, |cap| {
                format!("  cap ${}", format::human(Some(cap)))
            });
            let liquid = format!(
                "${} in {}{cap}",
                format::human(Some(token.liquidity)),
                plural(token.pools as u64, "pool", "pools")
            );
            put(buffer, place, x + 1, 0, &liquid, theme.text().patch(style));
        }
        put(
            buffer,
            inside,
            0,
            inside.height.saturating_sub(1),
            &format!("Enter add   {CANCEL}"),
            theme.accent().patch(base),
        );
    }
}
