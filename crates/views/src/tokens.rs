//! The Tokens view: every token in one table, and the selected one's detail beside it, below it or over it.

mod detail;
mod draw;
mod figures;
mod fresh;
mod list;

use std::{collections::HashSet, path::PathBuf, sync::Arc, time::Instant};

pub use self::fresh::MARKED_FOR;
use self::list::{ListedToken, TokenFields};
use super::{
    compare::Compare,
    token_list::{TokenList, own_fields},
};
use crate::prelude::*;
use analysis::market::TokenSummary;
use query::question::{
    fields::{COMPUTED, FIELDS},
    search::SearchQuestion,
    token::TokenQuestion,
};
use store::export;

/// From this width the detail is drawn beside the table.
const BESIDE_WIDTH: u16 = 110;
/// From this height the detail is drawn below a table that is too narrow for it.
const BELOW_HEIGHT: u16 = 36;

#[derive(Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is an independent switch, and any combination is valid"
)]
pub struct TokensView {
    /// Row indices are those of the market's tokens.
    list: List<TokenFields>,
    /// The generation and the watchlist of the current rows.
    made: Option<(u64, HashSet<Address>)>,
    /// The filter or the sorting has changed since.
    stale: bool,
    /// The first row of a new order is selected, whichever token it is, until the selection moves or the data change.
    at_first: bool,
    watched_only: bool,
    /// The detail is not shown beside or below the table.
    detail_hidden: bool,
    /// The detail is drawn over the table, where it fits nowhere else.
    detail_open: bool,
    /// The figures of optional columns.
    figures: figures::FigureStore,
    /// Prices that changed a moment ago.
    fresh: fresh::FreshPrices,
    /// The program's token at the last refresh.
    followed: Option<Address>,
    place: Place,
    compare: Compare,
    /// The end of the newest candle of all.
    newest_candle: Option<Time>,
    detail: ViewQuestion<TokenQuestion>,
    /// The filter is the user's, or was chosen for the data.
    filter_chosen: bool,
    /// The dataset that `PRICED` was chosen for.
    priced_of: Option<PathBuf>,
}

/// The filter of data of which most tokens have no price.
const PRICED: &str = "price>0";

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
        let Some(snapshot) = context.snapshot else {
            return;
        };
        if self
            .list
            .set_own(snapshot.generation, context.tokens(), || {
                own_fields(&snapshot.dataset)
            })
        {
            self.list
                .set_empty_columns(list::empty_columns(&snapshot.market.tokens));
            self.list.ideal_widths = list::dated_widths(&snapshot.market.tokens);
            self.stale = true;
            self.choose_filter(snapshot);
        }
        self.compare.refresh(context);
        self.compute(snapshot, context);
        self.arrange(context);
        if self.followed != context.token {
            self.followed = context.token;
            self.at_first &= self.token(context) == context.token;
            self.point_to(context.token, context);
        }
        if let Some(token) = self.token(context) {
            self.detail.refresh(
                TokenQuestion {
                    token_address: token,
                    explain: true,
                },
                context,
            );
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
            Action::Detail => self.detail_hidden = !self.detail_hidden,
            Action::Watchlist => {
                self.watched_only = !self.watched_only;
                self.stale = true;
                self.refresh(context);
                return self.selected(context);
            }
            _ => return Effect::Pass,
        }
        Effect::Redraw
    }

    fn answers(&self, action: Action) -> bool {
        let compared_only = action == Action::Window && !self.compare.is_open();
        self.compare.answers(action) && action != Action::OpenLink && !compared_only
    }

    fn mouse(&mut self, mouse: MouseEvent, context: &Context<'_>) -> Effect {
        self.mouse_common(mouse, context)
    }

    fn draw_in(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        if context.snapshot.is_none() {
            return;
        }
        self.arrange(context);
        if self.compare.is_open() {
            return self.compare.draw(buffer, area, context);
        }
        let sides = beside(area, (area.width * 3 / 10).clamp(44, 66));
        // The detail gives way to columns that were asked for.
        let has_room =
            || self.list.without_room(sides.0.width) <= self.list.without_room(area.width);
        self.place = match area {
            Rect {
                width: BESIDE_WIDTH..,
                ..
            } if has_room() => Place::Beside,
            Rect {
                height: BELOW_HEIGHT..,
                ..
            } => Place::Below,
            _ => Place::Over,
        };
        match self.place {
            _ if self.list.is_empty() => self.draw_list(buffer, area, context),
            Place::Over if self.detail_open => self.draw_detail(buffer, area, context),
            // A short list leaves space for the selected token's detail.
            Place::Over
                if !self.detail_hidden && usize::from(area.height) >= self.list.len() + 10 =>
            {
                self.draw_both(buffer, stacked(area, self.list.len() as u16 + 3), context);
            }
            // Wide enough for a full address.
            Place::Beside if !self.detail_hidden => self.draw_both(buffer, sides, context),
            Place::Below if !self.detail_hidden => {
                // The detail gets the space that a short list leaves.
                let spare = usize::from(area.height).saturating_sub(self.list.len() + 3) as u16;
                let height = (area.height * 9 / 20).clamp(16, 24).max(spare);
                self.draw_both(buffer, stacked(area, area.height - height), context);
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

    fn undated(&self) -> &'static [&'static str] {
        // The score reads what Security does.
        let has_score = self.shown_figures().contains(&"securityScore");
        if has_score {
            &["tokens", "holders", "kols", "pools", "locks"]
        } else {
            &["tokens", "holders", "kols"]
        }
    }

    fn needs(&self) -> Option<&'static [&'static str]> {
        Some(&[])
    }

    fn select_neighbour(
        &mut self,
        token: Option<Address>,
        forward: bool,
        context: &Context<'_>,
    ) -> Option<(Address, usize, usize)> {
        self.refresh(context);
        self.step_to_neighbour(token, forward, context)
    }

    fn reveal(&mut self, token: Address, context: &Context<'_>) {
        if context.snapshot.is_none() {
            return;
        }
        self.at_first &= self.token(context) == Some(token);
        self.arrange(context);
        if !self.point_to(Some(token), context) {
            self.list.clear_filter();
            self.watched_only = false;
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
            return self.token(context).map(|token| {
                HttpRequest::of(&TokenQuestion {
                    token_address: token,
                    explain: true,
                })
            });
        }
        let question = self.question();
        // The API page of the selected token.
        let on = if self.filter_and_sort_figures().is_empty() {
            self.token(context)
                .and_then(|token| question.page_of(&token, context.snapshot?))
        } else {
            // Same row order as the API's; sorting again would be slow.
            self.list
                .cursor
                .selected()
                .map(|row| (row as u64 / question.limit + 1, self.list.len() as u64))
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
        let (places, members): (Vec<usize>, _) =
            (self.list.places().collect(), self.list.members());
        let known = if self.shown_figures().is_empty() {
            figures::KnownFigures::new()
        } else {
            self.figures.known.clone()
        };
        let row = move |place: usize, members: &[&str]| {
            let token = snapshot.market.tokens.get(place)?;
            Some(List::<TokenFields>::written(
                ListedToken {
                    token,
                    figures: known.get(&token.token_address),
                    starred: false,
                    has_changed: false,
                },
                members,
            ))
        };
        Some(Export {
            name: "tokens".to_owned(),
            columns: members.iter().map(|&member| member.to_owned()).collect(),
            count: Some(places.len()),
            selected: self.list.selected().and_then(|place| row(place, &members)),
            rows: Box::new(move |_| {
                Ok(export::ExportRows::Values(
                    places
                        .iter()
                        .filter_map(|&place| row(place, &members))
                        .collect(),
                ))
            }),
        })
    }

    fn save(&self) -> Json {
        let own = json!({ "watchlist": self.watched_only, "detail": !self.detail_hidden, "marks": self.compare.saved() });
        let mut kept = self.list.save(own);
        if self.priced_of.is_some() && self.list.filter_text() == PRICED {
            // The next data may have prices.
            kept["filter"] = Json::Null;
        }
        kept
    }

    fn restore(&mut self, kept: &Json) {
        // The format of earlier versions.
        if kept["more"] == true {
            self.show_more(true);
        }
        self.list.restore(kept);
        self.filter_chosen |= kept["filter"].is_string();
        self.compare.restore(&kept["marks"]);
        self.watched_only = kept["watchlist"].as_bool().unwrap_or(self.watched_only);
        self.detail_hidden = kept["detail"]
            .as_bool()
            .map_or(self.detail_hidden, |shown| !shown);
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
        rows(
            &context.snapshot?.market.tokens,
            &self.figures.known,
            None,
            context,
        )(self.list.selected()?)
    }

    fn token_at(&self, place: usize, context: &Context<'_>) -> Option<Address> {
        context
            .snapshot?
            .market
            .tokens
            .get(place)
            .map(|token| token.token_address)
    }

    /// The first row is selected, also once the figures are there that the order is by.
    fn sorted(&mut self, context: &Context<'_>) -> Effect {
        (self.stale, self.at_first) = (true, true);
        self.request_filter_and_sort_figures();
        self.refresh(context);
        self.selected(context)
    }

    fn moved(&mut self, event: ListEvent) {
        self.at_first &= !matches!(
            event,
            ListEvent::Moved | ListEvent::ClickedAgain | ListEvent::Star
        );
    }

    /// Shows the detail if it is hidden, else opens the chart.
    fn open(&mut self, token: Address, _: &Context<'_>) -> Effect {
        match self.place {
            Place::Over if !self.detail_open => self.detail_open = true,
            Place::Beside | Place::Below if self.detail_hidden => self.detail_hidden = false,
            _ => return Effect::Open(token, ViewId::Chart),
        }
        Effect::Redraw
    }
}

impl TokensView {
    /// The API question for the same list, without conditions on the watchlist, which the API does not know: it refuses one beside an `or`.
    fn question(&self) -> SearchQuestion {
        let words: Vec<&str> = self.list.filter().words().collect();
        SearchQuestion {
            query: (!words.is_empty()).then(|| words.join(" ")),
            chain: None,
            conditions: Some(
                self.list
                    .filter()
                    .split(|column| column == "starred")
                    .1
                    .conditions(),
            )
            .filter(|text| !text.is_empty()),
            sort: Some(
                self.list
                    .sorting
                    .keys()
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(","),
            ),
            fields: self.fields(),
            only: Vec::new(),
            page: 1,
            limit: 250,
        }
    }

    /// The figures that `fields` must name for the visible columns.
    fn fields(&self) -> Vec<&'static str> {
        let columns = self.list.columns();
        let shown = |field: &str| {
            columns.iter().any(|(key, ..)| {
                *key == field && self.list.is_shown(key) && !self.list.empty_columns.contains(key)
            })
        };
        let own = columns
            .iter()
            .any(|(key, _, shown)| *shown && List::<TokenFields>::is_own(key));
        FIELDS
            .iter()
            .copied()
            .filter(|field| shown(field) || (*field == "own" && own))
            .collect()
    }

    /// The optional figures that filter or sorting depend on, needed for every token.
    fn filter_and_sort_figures(&self) -> Vec<&'static str> {
        let ordered = |field: &&str| {
            self.list
                .sorting
                .keys()
                .iter()
                .any(|order| order.column == *field)
        };
        COMPUTED
            .iter()
            .copied()
            .filter(|field| self.list.filter().names(field) || ordered(field))
            .collect()
    }

    /// Computes the figures of the rows on screen, or those that filter and sorting depend on.
    fn compute(&mut self, snapshot: &Arc<Snapshot>, context: &Context<'_>) {
        let (shown, judged) = (self.shown_figures(), self.filter_and_sort_figures());
        if shown.is_empty() && judged.is_empty() {
            return;
        }
        let token = |place: usize| {
            snapshot
                .market
                .tokens
                .get(place)
                .map(|token| token.token_address)
        };
        let screen: Vec<Address> = self.list.on_screen().filter_map(token).collect();
        let needs_all = !judged.is_empty();
        if self
            .figures
            .refresh(snapshot, &screen, [shown, judged], context)
            && needs_all
        {
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
        let mut shown: Vec<&'static str> = List::<TokenFields>::optional()
            .filter(|key| self.list.is_shown(key))
            .collect();
        // The score needs its word: a score with little data must not look reliable.
        if shown.contains(&"securityScore") && !shown.contains(&"recommendation") {
            shown.push("recommendation");
        }
        shown
    }

    /// Opens on the tokens that have a price where most have none; the line above the list says how many.
    fn choose_filter(&mut self, snapshot: &Snapshot) {
        let tokens = &snapshot.market.tokens;
        if self
            .priced_of
            .take_if(|of| *of != snapshot.dataset.folder)
            .is_some()
            && self.list.filter_text() == PRICED
        {
            self.list.set_filter("", TokenReader::default()).ok();
            self.filter_chosen = false;
        }
        let priced = tokens.iter().filter(|token| token.price.is_some()).count();
        let chosen = self.filter_chosen || !self.list.filter().is_empty();
        if !chosen && (1..tokens.len().div_ceil(2)).contains(&priced) {
            self.list.set_filter(PRICED, TokenReader::default()).ok();
            self.priced_of = Some(snapshot.dataset.folder.clone());
        }
        self.filter_chosen |= !tokens.is_empty();
    }

    /// Whether a column of the `m` set is shown.
    fn more(&self) -> bool {
        figures::MORE.iter().any(|key| self.list.is_chosen(key))
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
        let Some(snapshot) = context.snapshot else {
            return;
        };
        let same_rows = self
            .made
            .as_ref()
            .is_some_and(|(generation, _)| *generation == snapshot.generation);
        let same_stars = self
            .made
            .as_ref()
            .is_some_and(|(_, watchlist)| watchlist == context.watchlist);
        if same_rows && same_stars && !self.stale {
            return;
        }
        let tokens = &snapshot.market.tokens;
        match (&self.made, context.as_of()) {
            (_, Some(_)) => self.fresh.clear(),
            (Some((generation, _)), None) if *generation != snapshot.generation => {
                self.fresh.compare(tokens, Instant::now());
            }
            _ => {}
        }
        let row = rows(tokens, &self.figures.known, None, context);
        let watched = |place: &usize| {
            !self.watched_only
                || tokens
                    .get(*place)
                    .is_some_and(|token| context.watchlist.contains(&token.token_address))
        };
        self.list.arrange((0..tokens.len()).filter(watched), row);
        if !same_rows {
            self.newest_candle = draw::newest_candle(tokens);
        }
        self.at_first &= same_rows || self.made.is_none();
        self.made = Some((snapshot.generation, context.watchlist.clone()));
        // After unstarring, the selection stays in place; after filtering, it goes to the first row.
        if self.at_first
            || (!self.point_to(context.token, context) && std::mem::take(&mut self.stale))
        {
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
        } else if self.watched_only && self.list.filter().is_empty() {
            self.watched_only = false;
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
    changed: Option<&'a HashSet<Address>>,
    context: &'a Context<'_>,
) -> impl Fn(usize) -> Option<ListedToken<'a>> {
    move |place| {
        let token = tokens.get(place)?;
        let address = &token.token_address;
        let has_changed = changed.is_some_and(|changed| changed.contains(address));
        Some(ListedToken {
            token,
            figures: known.get(address),
            starred: context.watchlist.contains(address),
            has_changed,
        })
    }
}

#[cfg(test)]
mod naming_tests;
#[cfg(test)]
mod tests;
