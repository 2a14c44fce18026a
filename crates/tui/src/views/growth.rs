//! The Growth view: tokens ranked by holder growth, with bars, holder sparklines and the days compared.

mod list;

use self::list::{Ranked, RankingFields};
use super::{
    compare::Compare,
    token_list::{TokenList, own_fields},
};
use crate::views::prelude::*;
use analysis::growth::WINDOW_DAYS_DEFAULT;
use model::{day_counts::DayCounts, time::Day};
use query::queries::growth::{GrowthEntry, GrowthQuery, WINDOWS};

/// The query's largest limit.
const LIMIT: u64 = 1_000;

#[derive(Default)]
pub struct GrowthView {
    /// Row indices are those of the ranking.
    list: List<RankingFields>,
    window: Window,
    followed: Option<Address>,
    /// The first ranking came, and with it the row of the program's token.
    is_placed: bool,
    compare: Compare,
    ranking: ViewQuery<GrowthQuery>,
}

/// Days that the growth is taken over: one of the query's windows.
struct Window(u64);

impl Default for Window {
    fn default() -> Self {
        Self(WINDOW_DAYS_DEFAULT)
    }
}

impl View for GrowthView {
    fn refresh(&mut self, context: &Context<'_>) {
        self.compare.refresh(context);
        let mut changed = self.ranking.refresh(self.question(), context);
        if let Some(snapshot) = context.snapshot {
            changed |= self
                .list
                .set_own(snapshot.generation, context.tokens(), || {
                    own_fields(&snapshot.dataset)
                });
        }
        if changed {
            self.arrange(context);
        }
        // A token without a row leaves the selection where it is: at first on the top.
        let is_first = !self.is_placed && !self.list.is_empty();
        if self.followed != context.token || is_first {
            self.point_to(context.token, context);
            self.followed = context.token;
            self.is_placed |= is_first;
        }
    }

    fn act(&mut self, action: Action, context: &Context<'_>) -> Effect {
        if let Some(effect) = self.act_common(action, context) {
            return effect;
        }
        match action {
            Action::Window => {
                let at = WINDOWS
                    .iter()
                    .position(|days| days.parse() == Ok(self.window.0))
                    .unwrap_or(0);
                self.window.0 = WINDOWS[(at + 1) % WINDOWS.len()]
                    .parse()
                    .unwrap_or(WINDOW_DAYS_DEFAULT);
                self.list.cursor.select(0);
                self.refresh(context);
            }
            _ => return Effect::Pass,
        }
        Effect::Redraw
    }

    fn answers(&self, action: Action) -> bool {
        self.compare.answers(action) && action != Action::OpenLink
    }

    fn mouse(&mut self, mouse: MouseEvent, context: &Context<'_>) -> Effect {
        self.mouse_common(mouse, context)
    }

    fn as_of(&self) -> Option<Time> {
        self.ranking.known.as_ref()?.as_of
    }

    fn draw_in(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        if self.compare.is_open() {
            return self.compare.draw(buffer, area, context);
        }
        let ranking = ranked(&self.ranking);
        let days = plural(self.window.0, "day", "days");
        let days = counted(ranking).map_or_else(
            || format!("over {days}"),
            |counted| format!("over {days} {counted}"),
        );
        let total = (ranking.len() as u64, ["token ranked", "tokens ranked"]);
        let mut notes = vec![(days, Role::Dim)];
        if ranking.len() as u64 == LIMIT {
            notes.push((
                format!("only the first {} are listed", format::count(LIMIT)),
                Role::Warning,
            ));
        }
        draw_list_line(&self.list, &notes, total, buffer, area, context);
        if let Some(sentence) = missing_table(context, "holder_counts", "holder growth") {
            return say(buffer, below(area, 2), context, &sentence);
        }
        let below = below(area, 1);
        if self.ranking.shown(buffer, below, context).is_none() {
            return;
        }
        let table = Rect {
            height: below.height.saturating_sub(1),
            ..below
        };
        self.draw_table(buffer, table, context);
        self.draw_exact(
            buffer,
            Rect {
                y: table.bottom(),
                height: below.height.min(1),
                ..below
            },
            context,
        );
    }

    listing!(list);

    fn own_keys(&self) -> Option<(&'static str, &'static [(Action, &'static str)])> {
        self.compare.keys()
    }

    fn relist(&mut self, context: &Context<'_>) {
        self.arrange(context);
    }

    fn select_neighbour(
        &mut self,
        token: Option<Address>,
        forward: bool,
        context: &Context<'_>,
    ) -> Option<(Address, usize, usize)> {
        self.step_to_neighbour(token, forward, context)
    }

    fn selected_token(&self, context: &Context<'_>) -> Option<Address> {
        self.token(context)
    }

    fn needs(&self) -> Option<&'static [&'static str]> {
        Some(GrowthQuery::NEEDS)
    }

    fn request(&self, _: &Context<'_>) -> Option<HttpRequest> {
        if self.compare.is_open() {
            return Some(self.compare.request());
        }
        Some(HttpRequest::of(&self.question()))
    }

    fn export(&self, context: &Context<'_>) -> Option<Export> {
        if self.compare.is_open() {
            return self.compare.export();
        }
        let ranking = &self.ranking.answer()?.tokens;
        Some(self.list.export(
            format!("holders-growth-{}d", self.window.0),
            rows(ranking, 0.0, context),
        ))
    }

    fn save(&self) -> Json {
        self.list
            .save(json!({ "window": self.window.0, "marks": self.compare.saved() }))
    }

    fn restore(&mut self, kept: &Json) {
        let known = |days: &u64| WINDOWS.iter().any(|word| word.parse() == Ok(*days));
        self.window.0 = kept["window"]
            .as_u64()
            .filter(known)
            .unwrap_or(self.window.0);
        self.compare.restore(&kept["marks"]);
        self.list.restore(kept);
    }
}

impl TokenList for GrowthView {
    type Fields = RankingFields;

    fn list(&self) -> &List<RankingFields> {
        &self.list
    }

    fn parts(&mut self) -> (&mut List<RankingFields>, &mut Compare) {
        (&mut self.list, &mut self.compare)
    }

    fn row<'a>(&'a self, context: &'a Context<'_>) -> Option<Ranked<'a>> {
        rows(ranked(&self.ranking), 0.0, context)(self.list.selected()?)
    }

    fn token_at(&self, place: usize, _: &Context<'_>) -> Option<Address> {
        ranked(&self.ranking)
            .get(place)
            .map(|entry| entry.token_address)
    }

    fn sorted(&mut self, context: &Context<'_>) -> Effect {
        self.arrange(context);
        self.selected(context)
    }
}

impl GrowthView {
    fn question(&self) -> GrowthQuery {
        GrowthQuery {
            limit: LIMIT,
            window: self.window.0,
            explain: true,
        }
    }

    /// Sorts the ranking; the selection stays on its token, unless it is at the top.
    fn arrange(&mut self, context: &Context<'_>) {
        // A user who moved the selection has made its token the program's.
        let before = self
            .followed
            .filter(|_| self.list.cursor.selected() > Some(0));
        let ranking = ranked(&self.ranking);
        self.list
            .arrange(0..ranking.len(), rows(ranking, 0.0, context));
        self.list.cursor.select(0);
        self.point_to(before, context);
    }

    fn draw_table(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let ranking = ranked(&self.ranking);
        let grown = |place: usize| ranking.get(place).map(|entry| entry.holders_growth.abs());
        let most = self.list.places().filter_map(grown).fold(0.0, f64::max);
        let empty = if self.list.filter().is_empty() {
            "no token has holder counts this far apart; t changes the window"
        } else {
            &words::no_match("token")
        };
        let marked = |place: usize| {
            self.compare
                .row_mark(&ranking.get(place)?.token_address, context)
        };
        let frame = ListFrame {
            marked: Some(&marked),
            ..ListFrame::new(area, empty)
        };
        self.list
            .draw(buffer, frame, context, rows(ranking, most, context));
    }

    /// Draws the selected token's exact figures in one line.
    fn draw_exact(&self, buffer: &mut Buffer, row: Rect, context: &Context<'_>) {
        let (Some(Ranked { entry, .. }), theme) = (self.row(context), context.theme) else {
            return;
        };
        let day = |day: Option<Day>| {
            day.map_or_else(|| format::MISSING.to_owned(), |day| day.to_string())
        };
        let mut x = 1 + put(
            buffer,
            row,
            1,
            0,
            &entry.token_address.to_string(),
            theme.accent(),
        );
        let growth = format!(
            "{}%",
            format::fixed(entry.holders_growth, 4).replace('-', "−")
        );
        let days = format!("{} → {}", day(entry.base_counted), day(entry.last_counted));
        let cap = match entry.market_cap_as_of {
            Some(as_of) => format!("{} on {}", format::exact(entry.market_cap), as_of.day()),
            None => format::exact(entry.market_cap),
        };
        for (word, value) in [("growth", growth), ("counted", days), ("cap", cap)] {
            if x + 4 + text::width(word) as u16 + text::width(&value) as u16 > row.width {
                continue;
            }
            x += 3 + put(buffer, row, x + 3, 0, word, theme.dim());
            x += 1 + put(buffer, row, x + 1, 0, &value, theme.text());
        }
    }
}

/// The ranking; empty until it is answered.
fn ranked(asked: &ViewQuery<GrowthQuery>) -> &[GrowthEntry] {
    asked.answer().map_or(&[], |answer| &answer.tokens)
}

/// The latest count day of any token in the ranking.
fn newest(ranking: &[GrowthEntry]) -> Option<Day> {
    ranking.iter().filter_map(|entry| entry.last_counted).max()
}

/// `to 2024-03-01; 12 counted earlier, the oldest on 2018-05-01`: growth over other weeks is not comparable.
fn counted(ranking: &[GrowthEntry]) -> Option<String> {
    let newest = newest(ranking)?;
    let earlier = || {
        ranking
            .iter()
            .filter_map(|entry| entry.last_counted)
            .filter(|day| *day < newest)
    };
    let oldest = earlier().min().map(|oldest| {
        format!(
            "; {} have older counts, the oldest from {oldest}",
            format::count(earlier().count() as u64)
        )
    });
    Some(format!("to {newest}{}", oldest.unwrap_or_default()))
}

/// The rows of the list, by index.
fn rows<'a>(
    ranking: &'a [GrowthEntry],
    most: f64,
    context: &'a Context<'_>,
) -> impl Fn(usize) -> Option<Ranked<'a>> {
    let newest = newest(ranking);
    move |place| {
        let entry = ranking.get(place)?;
        let token = &entry.token_address;
        let counts = context
            .snapshot
            .map_or_else(DayCounts::default, |snapshot| {
                snapshot.dataset.holder_counts_of(token)
            });
        Some(Ranked {
            entry,
            place,
            most,
            token: summary(context, token),
            newest,
            counts,
            starred: context.watchlist.contains(token),
        })
    }
}

#[cfg(test)]
mod tests;
