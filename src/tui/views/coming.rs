//! A view whose analysis is not built yet: it says so, what it will show, and what the data need for it. No figures.

use ratatui::{buffer::Buffer, layout::Rect};

use super::many;
use crate::tui::{
    keymap::{Action, ViewId},
    text,
    theme::Role,
    view::{Context, Effect, View},
    widgets::put,
};

#[derive(Debug)]
pub struct Coming {
    id: ViewId,
}

/// What each view will show, and the tables it will need.
const PLANS: &[(ViewId, &str, &[&str])] = &[(
    ViewId::Yield,
    "A plan for idle tokens: where each amount earns most after its own deposit and gas, within the risk you choose, with a proof \
         of how far from the best possible it can be.",
    &["yields", "gas"],
)];

impl Coming {
    pub fn new(id: ViewId) -> Self {
        Self { id }
    }
}

impl View for Coming {
    fn id(&self) -> ViewId {
        self.id
    }

    fn refresh(&mut self, _: &Context<'_>) {}

    fn answers(&self, action: Action) -> bool {
        matches!(action, Action::Palette | Action::Help | Action::Star | Action::CopyCurl)
    }

    fn act(&mut self, _: Action, _: &Context<'_>) -> Effect {
        Effect::Pass
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let theme = context.theme;
        let Some((_, says, tables)) = PLANS.iter().find(|(id, ..)| *id == self.id) else { return };
        let area = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
        put(buffer, area, 0, 1, &format!("{} is not built yet; the API answers 501.", self.id.title()), theme.style(Role::Warning));
        let mut y = 3;
        for line in text::wrap(says, usize::from(area.width.min(90)), 6) {
            put(buffer, area, 0, y, &line, theme.text());
            y += 1;
        }
        y += 1;
        put(buffer, area, 0, y, "tables it will read", theme.dim());
        for table in *tables {
            y += 1;
            let rows = context.snapshot.and_then(|snapshot| snapshot.dataset.table(table)).filter(|table| table.loaded());
            let state = rows
                .map_or_else(|| "not in this dataset".to_owned(), |table| format!("{} loaded", many(table.height() as u64, "row", "rows")));
            put(buffer, area, 2, y, table, theme.text());
            put(buffer, area, 18, y, &state, theme.dim());
        }
    }
}
