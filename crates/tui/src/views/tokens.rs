//! The Tokens view: every token in one table, and the selected one's detail beside it, below it or over it.

mod detail;
mod draw;
mod figures;
mod list;
mod request;

use std::{collections::HashSet, sync::Arc};

use crossterm::event::MouseEvent;
use ratatui::{buffer::Buffer, layout::Rect};
use serde_json::{Value, json};

use self::list::{ListedToken, TokenFields};
use super::{
    compare::Compare,
    listing,
    token_list::{TokenList, own_fields},
};
use crate::{
    keymap::{Action, ViewId},
    list::{List, Listing},
    view::{Context, Effect, Export, HttpRequest, View, ViewQuestion},
};
use analysis::market::TokenSummary;
use model::address::Address;
use query::question::{fields::COMPUTED, search::SearchQuestion, snapshot::Snapshot, token::TokenQuestion};
use store::export;

/// From this width the detail is drawn beside the table.
const BESIDE_WIDTH: u16 = 110;
/// From this height the detail is drawn below a table that is too narrow for it.
const BELOW_HEIGHT: u16 = 36;

#[derive(Default)]
pub struct TokensView {
    /// Row indices are those of the market's tokens.
    list: List<TokenFields>,
    /// The generation and the watchlist of the current rows.
    made: Option<(u64, HashSet<Address>)>,
    /// The filter or the sorting has changed since.
    stale: bool,
    choices: Choices,
    /// The detail is drawn over the table, where it fits nowhere else.
    detail_open: bool,
    /// The figures of optional columns.
    figures: figures::FigureStore,
    /// The program's token at the last refresh.
    followed: Option<Address>,
    place: Place,
    compare: Compare,
    detail: ViewQuestion<TokenQuestion>,
}

/// The user's switches; saved between runs.
struct Choices {
    watched_only: bool,
    /// The detail is shown beside or below the table.
    detail_shown: bool,
}

impl Default for Choices {
    fn default() -> Self {
        Self { watched_only: false, detail_shown: true }
    }
}

/// Placement of the detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Place {
    Beside,
    Below,
    #[default]
    Over,
}

impl View for TokensView {
    fn refresh(&mut self, context: &Context<'_>) {
        let Some(snapshot) = context.snapshot else { return };
        if self.list.set_own(snapshot.generation, || own_fields(&snapshot.dataset)) {
            self.list.set_empty_columns(list::empty_columns(&snapshot.market.tokens));
            self.stale = true;
        }
        self.compare.refresh(context);
        self.compute(snapshot, context);
        self.arrange(context);
        if self.followed != context.token {
            self.followed = context.token;
            self.point_to(context.token, context);
        }
        if let Some(token) = self.token(context) {
            self.detail.refresh(TokenQuestion { token_address: token }, context);
        }
    }

    fn act(&mut self, action: Action, context: &Context<'_>) -> Effect {
        if let Some(effect) = self.act_common(action, context) {
            return effect;
        }
        match action {
            Action::Back => return self.back(context),
            Action::MoreColumns => return self.toggle_more(context),
            Action::AllFigures => {
                if self.shown_figures().is_empty() {
                    self.show_more(true);
                }
                self.figures.want_all(self.shown_figures());
                self.refresh(context);
            }
            Action::Detail if self.place == Place::Over => self.detail_open = !self.detail_open,
            Action::Detail => self.choices.detail_shown = !self.choices.detail_shown,
            Action::Watchlist => {
                self.choices.watched_only = !self.choices.watched_only;
                self.stale = true;
                self.refresh(context);
                return self.selected(context);
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

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let area = area.intersection(buffer.area);
        if area.is_empty() || context.snapshot.is_none() {
            return;
        }
        self.arrange(context);
        if self.compare.is_open() {
            return self.compare.draw(buffer, area, context);
        }
        self.place = match area {
            Rect { width: BESIDE_WIDTH.., .. } => Place::Beside,
            Rect { height: BELOW_HEIGHT.., .. } => Place::Below,
            _ => Place::Over,
        };
        match self.place {
            _ if self.list.is_empty() => self.draw_list(buffer, area, context),
            Place::Over if self.detail_open => self.draw_detail(buffer, area, context),
            // A short list leaves space for the selected token's detail.
            Place::Over if self.choices.detail_shown && usize::from(area.height) >= self.list.len() + 10 => {
                let rows = self.list.len() as u16 + 3;
                self.draw_list(buffer, Rect { height: rows, ..area }, context);
                self.draw_detail(buffer, Rect { y: area.y + rows, height: area.height - rows, ..area }, context);
            }
            Place::Beside if self.choices.detail_shown => {
                // Wide enough for a full address.
                let width = (area.width * 3 / 10).clamp(44, 66);
                self.draw_list(buffer, Rect { width: area.width - width - 2, ..area }, context);
                self.draw_detail(buffer, Rect { x: area.right() - width, width, ..area }, context);
            }
            Place::Below if self.choices.detail_shown => {
                // The detail gets the space that a short list leaves.
                let spare = usize::from(area.height).saturating_sub(self.list.len() + 3) as u16;
                let height = (area.height * 9 / 20).clamp(16, 24).max(spare);
                self.draw_list(buffer, Rect { height: area.height - height, ..area }, context);
                self.draw_detail(buffer, Rect { y: area.bottom() - height, height, ..area }, context);
            }
            _ => self.draw_list(buffer, area, context),
        }
    }

    listing!(list);

    fn own_keys(&self) -> Option<(&'static str, &'static [(Action, &'static str)])> {
        self.compare.keys()
    }

    fn relist(&mut self, context: &Context<'_>) {
        self.stale = true;
        self.request_filter_and_sort_figures();
        self.refresh(context);
    }

    fn needs(&self) -> Option<&'static [&'static str]> {
        Some(&[])
    }

    fn select_neighbour(&mut self, token: Option<Address>, forward: bool, context: &Context<'_>) -> Option<(Address, usize, usize)> {
        self.refresh(context);
        self.step_to_neighbour(token, forward, context)
    }

    fn reveal(&mut self, token: Address, context: &Context<'_>) {
        if context.snapshot.is_none() {
            return;
        }
        self.arrange(context);
        if !self.point_to(Some(token), context) {
            self.list.clear_filter();
            self.choices.watched_only = false;
            self.stale = true;
            self.refresh(context);
        }
    }

    fn selected_token(&self, context: &Context<'_>) -> Option<Address> {
        self.token(context)
    }

    fn request(&self, context: &Context<'_>) -> Option<HttpRequest> {
        if self.compare.is_open() {
            return Some(self.compare.request());
        }
        if self.place == Place::Over && self.detail_open {
            return self.token(context).map(|token| HttpRequest::of(&TokenQuestion { token_address: token }));
        }
        let question = self.question();
        // The API page of the selected token.
        let on = if self.filter_and_sort_figures().is_empty() {
            self.token(context).and_then(|token| question.page_of(&token, context.snapshot?))
        } else {
            // Same row order as the API's; sorting again would be slow.
            self.list.cursor.selected().map(|row| (row as u64 / question.limit + 1, self.list.len() as u64))
        };
        let (page, total) = on.unwrap_or((1, 0));
        let question = SearchQuestion { page, ..question };
        Some(HttpRequest::of(&question).of_page(page, question.limit, total))
    }

    fn export(&self, context: &Context<'_>) -> Option<Export> {
        if self.compare.is_open() {
            return self.compare.export();
        }
        let snapshot = Arc::clone(context.snapshot?);
        let (places, members): (Vec<usize>, _) = (self.list.places().collect(), self.list.members());
        let known = if self.shown_figures().is_empty() { figures::KnownFigures::new() } else { self.figures.known.clone() };
        let row = move |place: usize, members: &[&str]| {
            let token = snapshot.market.tokens.get(place)?;
            Some(List::<TokenFields>::written(ListedToken { token, figures: known.get(&token.token_address), starred: false }, members))
        };
        Some(Export {
            name: "tokens".to_owned(),
            columns: members.iter().map(|&member| member.to_owned()).collect(),
            count: Some(places.len()),
            selected: self.list.selected().and_then(|place| row(place, &members)),
            rows: Box::new(move |_| Ok(export::ExportRows::Values(places.iter().filter_map(|&place| row(place, &members)).collect()))),
        })
    }

    fn save(&self) -> Value {
        let Choices { watched_only, detail_shown } = self.choices;
        self.list.save(json!({ "watchlist": watched_only, "detail": detail_shown, "marks": self.compare.saved() }))
    }

    fn restore(&mut self, kept: &Value) {
        // The format of earlier versions.
        if kept["more"] == true {
            self.show_more(true);
        }
        self.list.restore(kept);
        self.compare.restore(&kept["marks"]);
        self.choices.watched_only = kept["watchlist"].as_bool().unwrap_or(self.choices.watched_only);
        self.choices.detail_shown = kept["detail"].as_bool().unwrap_or(self.choices.detail_shown);
        self.stale = true;
    }
}

impl TokenList for TokensView {
    type Fields = TokenFields;

    fn list(&self) -> &List<TokenFields> {
        &self.list
    }

    fn parts(&mut self) -> (&mut List<TokenFields>, &mut Compare) {
        (&mut self.list, &mut self.compare)
    }

    fn row<'a>(&'a self, context: &'a Context<'_>) -> Option<ListedToken<'a>> {
        rows(&context.snapshot?.market.tokens, &self.figures.known, context)(self.list.selected()?)
    }

    fn token_at(&self, place: usize, context: &Context<'_>) -> Option<Address> {
        context.snapshot?.market.tokens.get(place).map(|token| token.token_address)
    }

    /// The selection stays on its token, unless it is at the top: then the new first row is selected.
    fn sorted(&mut self, context: &Context<'_>) -> Effect {
        let top = self.list.cursor.selected() == Some(0);
        self.stale = true;
        self.request_filter_and_sort_figures();
        self.refresh(context);
        if top {
            self.list.cursor.select(0);
        }
        self.selected(context)
    }

    /// Shows the detail if it is hidden, else opens the chart.
    fn open(&mut self, token: Address, _: &Context<'_>) -> Effect {
        let hidden = if self.place == Place::Over { &mut self.detail_open } else { &mut self.choices.detail_shown };
        if !std::mem::replace(hidden, true) {
            return Effect::Redraw;
        }
        Effect::Open(token, ViewId::Chart)
    }
}

impl TokensView {
    /// The optional figures that filter or sorting depend on, needed for every token.
    fn filter_and_sort_figures(&self) -> Vec<&'static str> {
        let ordered = |field: &&str| self.list.sorting.keys().iter().any(|order| order.column == *field);
        COMPUTED.iter().copied().filter(|field| self.list.filter().names(field) || ordered(field)).collect()
    }

    /// Computes the figures of the rows on screen, or those that filter and sorting depend on.
    fn compute(&mut self, snapshot: &Arc<Snapshot>, context: &Context<'_>) {
        let (shown, judged) = (self.shown_figures(), self.filter_and_sort_figures());
        if shown.is_empty() && judged.is_empty() {
            return;
        }
        let token = |place: usize| snapshot.market.tokens.get(place).map(|token| token.token_address);
        let screen: Vec<Address> = self.list.on_screen().filter_map(token).collect();
        let needs_all = !judged.is_empty();
        if self.figures.refresh(snapshot, &screen, [shown, judged], context) && needs_all {
            self.made = None;
        }
    }

    fn request_filter_and_sort_figures(&mut self) {
        let judged = self.filter_and_sort_figures();
        if !judged.is_empty() {
            self.figures.want_all(judged);
        } else if self.shown_figures().is_empty() {
            // Figures of an earlier filter or order need not be computed any more.
            self.figures.stop();
        }
    }

    /// The figures of visible columns.
    fn shown_figures(&self) -> Vec<&'static str> {
        let mut shown: Vec<&'static str> = List::<TokenFields>::optional().filter(|key| self.list.is_shown(key)).collect();
        // The score needs its word: a score with little data must not look reliable.
        if shown.contains(&"securityScore") && !shown.contains(&"recommendation") {
            shown.push("recommendation");
        }
        shown
    }

    /// Whether a column of the `m` set is shown.
    fn more(&self) -> bool {
        figures::MORE.iter().any(|key| self.list.is_shown(key))
    }

    /// Shows or hides the optional columns; hiding them drops a sort by one of them.
    fn show_more(&mut self, more: bool) {
        for key in figures::MORE {
            self.list.show(key, more);
        }
        self.stale = true;
    }

    fn toggle_more(&mut self, context: &Context<'_>) -> Effect {
        self.show_more(!self.more());
        self.refresh(context);
        self.selected(context)
    }

    /// Filters and sorts again if any input changed; the selection stays on the program's token.
    fn arrange(&mut self, context: &Context<'_>) {
        let Some(snapshot) = context.snapshot else { return };
        let same_rows = self.made.as_ref().is_some_and(|(generation, _)| *generation == snapshot.generation);
        let same_stars = self.made.as_ref().is_some_and(|(_, watchlist)| watchlist == context.watchlist);
        if same_rows && same_stars && !self.stale {
            return;
        }
        let tokens = &snapshot.market.tokens;
        let row = rows(tokens, &self.figures.known, context);
        let watched = |place: &usize| {
            !self.choices.watched_only || tokens.get(*place).is_some_and(|token| context.watchlist.contains(&token.token_address))
        };
        self.list.arrange((0..tokens.len()).filter(watched), row);
        self.made = Some((snapshot.generation, context.watchlist.clone()));
        // After unstarring, the selection stays in place; after filtering, it goes to the first row.
        if !self.point_to(context.token, context) && std::mem::take(&mut self.stale) {
            self.list.cursor.select(0);
        }
        self.stale = false;
    }

    /// Esc: closes the detail, else cancels the computation, else leaves the watchlist; an active filter is cleared by the application
    /// first.
    fn back(&mut self, context: &Context<'_>) -> Effect {
        if self.place == Place::Over && self.detail_open {
            self.detail_open = false;
        } else if !self.figures.all.is_empty() {
            self.figures.stop();
        } else if self.choices.watched_only && self.list.filter().is_empty() {
            self.choices.watched_only = false;
        } else {
            return Effect::Pass;
        }
        self.stale = true;
        self.refresh(context);
        self.selected(context)
    }
}

/// The rows of the list, by index.
fn rows<'a>(
    tokens: &'a [TokenSummary],
    known: &'a figures::KnownFigures,
    context: &'a Context<'_>,
) -> impl Fn(usize) -> Option<ListedToken<'a>> {
    move |place| {
        let token = tokens.get(place)?;
        let address = &token.token_address;
        Some(ListedToken { token, figures: known.get(address), starred: context.watchlist.contains(address) })
    }
}

#[cfg(test)]
mod tests;
