//! More about the token, in the space under its patterns: the user's levels and note, and metrics of the token list, from the tokens
//! query.

use crate::views::prelude::*;
use query::queries::tokens::TokensQuery;

/// Minimum number of rows, with the title.
const ROWS_MIN: u16 = 4;
/// Maximum number of rows of the levels, and of the note.
const LEVELS: usize = 6;
const NOTE: usize = 4;
/// Columns of a label, and of the second figure of a row.
const LABEL: u16 = 14;
const SECOND: u16 = 29;

const FIGURES: [&str; 2] = ["rsi_14", "from_52w_high"];

#[derive(Default)]
pub(super) struct ChartFacts {
    asked: ViewQuery<TokensQuery>,
    /// The last frame had room for it.
    wanted: bool,
}

/// A label, its figure and the figure's color.
type Labelled = (&'static str, String, Role);

impl ChartFacts {
    /// Runs no query while there is no room.
    pub(super) fn refresh(&mut self, token: Address, context: &Context<'_>) {
        if !self.wanted {
            return;
        }
        let question = TokensQuery {
            query: None,
            chain: None,
            conditions: Some(format!("token_address={token}")),
            sort: None,
            fields: FIGURES.to_vec(),
            only: Vec::new(),
            page: 1,
            limit: 1,
        };
        self.asked.refresh(question, context);
    }

    /// `marks` is a line about the marks of the chart.
    pub(super) fn draw(
        &mut self,
        buffer: &mut Buffer,
        area: Rect,
        marks: &str,
        context: &Context<'_>,
    ) {
        let wanted = area.height >= ROWS_MIN;
        if wanted && !self.wanted {
            // Asked on the next refresh.
            (context.wake)();
        }
        self.wanted = wanted;
        let Some(token) = context.token.filter(|_| wanted) else {
            return;
        };
        let title = symbol_of(context, &token);
        let panel = Panel {
            note: "a levels · E note",
            ..Panel::new(&title)
        };
        let body = panel.render(area, buffer, context.theme);
        let mut y = 0;
        if let Some(own) = context.annotations.get(&token) {
            if !own.note.is_empty() {
                y += put_wrapped(buffer, body, 1, y, &own.note, NOTE, context.theme.text());
            }
            for level in own.levels.iter().take(LEVELS) {
                let figure = format::price(Some(level.price));
                y += put_row(
                    buffer,
                    body,
                    y,
                    &[(&level.name, figure, Role::Text)],
                    context,
                );
            }
            if own.levels.len() > LEVELS {
                let more = format!("{} more levels; press a", own.levels.len() - LEVELS);
                put(buffer, body, 1, y, &more, context.theme.dim());
                y += 1;
            }
        }
        for row in self.figures(&token, context) {
            y += put_row(buffer, body, y, &row, context);
        }
        put(buffer, body, 1, y, marks, context.theme.dim());
    }

    fn figures(&self, token: &Address, context: &Context<'_>) -> Vec<Vec<Labelled>> {
        let Some(summary) = summary(context, token) else {
            return Vec::new();
        };
        let found = self
            .asked
            .answer()
            .and_then(|answer| answer.tokens.first())
            .filter(|found| found.token_address == *token);
        let figure = |name: &str| match found?.figures.get(name)?.field() {
            Scalar::Float(number) => Some(number),
            Scalar::Whole(number) => Some(number as f64),
            _ => None,
        };
        let change = |label, percent: Option<f64>| {
            (
                label,
                format::change(percent),
                percent.map_or(Role::Dim, Role::of_change),
            )
        };
        let plain = |label, text: String| {
            let role = role_of(&text);
            (label, text, role)
        };
        let [rsi, high] = FIGURES.map(figure);
        let rsi = rsi.map_or_else(|| MISSING.to_owned(), |rsi| format::fixed(rsi, 1));
        vec![
            vec![
                change("24 hours", summary.price_change_24h),
                change("7 days", summary.price_change_7d),
            ],
            vec![
                change("30 days", summary.price_change_30d),
                change("from 52w high", high),
            ],
            vec![
                plain("RSI 14, 1d", rsi),
                plain("volume 24h", format::human(summary.volume_24h)),
            ],
        ]
    }
}

/// Draws one or two labeled figures; returns one row.
fn put_row(
    buffer: &mut Buffer,
    body: Rect,
    y: u16,
    figures: &[(&str, String, Role)],
    context: &Context<'_>,
) -> u16 {
    for (nth, (label, figure, role)) in figures.iter().enumerate() {
        let x = 1 + nth as u16 * SECOND;
        let used = put(
            buffer,
            Rect {
                width: body.width.min(x + SECOND),
                ..body
            },
            x,
            y,
            label,
            context.theme.dim(),
        );
        put(
            buffer,
            body,
            x + LABEL.max(used + 1),
            y,
            figure,
            context.theme.style(*role),
        );
    }
    1
}
