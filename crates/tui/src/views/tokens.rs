//! The Tokens view: every token in one table, and the selected one's detail beside it, below it or over it.

mod detail;
mod draw;
mod figures;
mod fresh;
mod list;
mod rows;

use std::{path::PathBuf, sync::Arc, time::Instant};

pub use self::fresh::MARKED_FOR;
use self::list::{ListedToken, TokenFields};
use super::{
    compare::{Compare, Comparison},
    price::Price,
    token_list::{TokenList, own_fields},
};
use crate::views::prelude::*;
use frames::export;
use query::queries::{fields::FIELDS, token::TokenQuery, tokens::TokensQuery};

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
    /// Row indices are those of the tokens in the market of the rows.
    list: List<TokenFields>,
    rows: rows::Rows,
    /// The candles of the selected token, where the detail leaves space.
    price: Price,
    /// A token without a row: once pending rows have arrived, a filter that hides it is cleared.
    revealed: Option<Address>,
    /// The first row of a new order is selected, whichever token it is, until the selection moves or the data change.
    at_first: bool,
    watched_only: bool,
    /// The detail is not shown beside or below the table.
    detail_hidden: bool,
    /// The detail is drawn over the table, where it fits nowhere else.
    detail_open: bool,
    /// Prices that changed a moment ago.
    fresh: fresh::FreshPrices,
    /// The program's token at the last refresh.
    followed: Option<Address>,
    place: Place,
    compare: Compare,
    detail: ViewQuery<TokenQuery>,
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
            let facts = &snapshot.token_facts;
            self.list.set_empty_columns(facts.empty_columns.clone());
            let outdated = facts.outdated_columns.iter();
            self.list.ideal_widths = outdated.map(|column| (*column, DATED)).collect();
            self.choose_filter(snapshot);
            match (&self.rows.snapshot, context.as_of()) {
                (_, Some(_)) => self.fresh.clear(),
                (Some(_), None) => {
                    let token = |token: &Address| snapshot.market.of(&snapshot.dataset, token);
                    self.fresh.compare(token, Instant::now());
                }
                (None, None) => {}
            }
        }
        self.compare.refresh(context);
        self.price.refresh(context.token, context);
        self.refresh_rows(context);
        if self.followed != context.token {
            self.followed = context.token;
            self.at_first &= self.token(context) == context.token;
            self.point_to(context.token, context);
        }
        if self.rows.pending.is_none()
            && let Some(token) = self.revealed.take()
            && !self.point_to(Some(token), context)
        {
            self.list.clear_filter();
            self.watched_only = false;
            self.refresh_rows(context);
        }
        if let Some(token) = self.token(context) {
            self.detail.refresh(
                TokenQuery {
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
                self.rows.all = self.shown_figures();
                self.refresh(context);
            }
            Action::Detail if self.place == Place::Over => self.detail_open = !self.detail_open,
            Action::Detail => self.detail_hidden = !self.detail_hidden,
            Action::Watchlist => {
                self.watched_only = !self.watched_only;
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
        if self.compare.is_open() {
            return self.compare.draw(buffer, area, context);
        }
        if self.rows.snapshot.is_none() {
            return match &self.rows.problem {
                Some(why) => panel::failure(area, buffer, context.theme, why),
                None => progress::skeleton(area, buffer, context.theme),
            };
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
        self.refresh(context);
    }

    fn is_arranging(&self) -> bool {
        self.rows.is_arranging()
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
        if self.is_arranging() {
            return None;
        }
        self.step_to_neighbour(token, forward, context)
    }

    fn reveal(&mut self, token: Address, context: &Context<'_>) {
        if context.snapshot.is_none() {
            return;
        }
        self.at_first &= self.token(context) == Some(token);
        let is_shown = self.point_to(Some(token), context);
        self.revealed = (!is_shown).then_some(token);
        self.refresh(context);
    }

    /// None while the selection is about to move.
    fn selected_token(&self, context: &Context<'_>) -> Option<Address> {
        let is_moving = self.is_arranging() || self.revealed.is_some();
        let is_known = |token: &Address| {
            let snapshot = context.snapshot;
            snapshot.is_some_and(|snapshot| snapshot.dataset.token(token).is_some())
        };
        self.token(context)
            .filter(|token| !is_moving && is_known(token))
    }

    fn request(&self, context: &Context<'_>) -> Option<HttpRequest> {
        if self.compare.is_open() {
            return Some(self.compare.request());
        }
        if self.place == Place::Over && self.detail_open {
            return self.token(context).map(|token| {
                HttpRequest::of(&TokenQuery {
                    token_address: token,
                    explain: true,
                })
            });
        }
        let question = self.question();
        // The page of the selected token: the API has the same rows in the same order.
        let on = self
            .list
            .cursor
            .selected()
            .map(|row| (row as u64 / question.limit + 1, self.list.len() as u64));
        let (page, total) = on.unwrap_or((1, 0));
        let question = TokensQuery { page, ..question };
        Some(HttpRequest::of(&question).of_page(page, question.limit, total))
    }

    fn export(&self, _: &Context<'_>) -> Option<Export> {
        if self.compare.is_open() {
            return self.compare.export();
        }
        let snapshot = Arc::clone(self.rows.snapshot.as_ref()?);
        let (places, members): (Vec<usize>, _) =
            (self.list.places().collect(), self.list.members());
        let known = if self.shown_figures().is_empty() {
            Arc::default()
        } else {
            Arc::clone(&self.rows.known)
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

    fn marks(&self) -> &[Address] {
        self.compare.marks()
    }

    fn compare(&mut self, wanted: &Comparison, context: &Context<'_>) -> Effect {
        self.compare.open_typed(wanted, context)
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
        self.rows.listed(None, context)(self.list.selected()?)
    }

    fn token_at(&self, place: usize, _: &Context<'_>) -> Option<Address> {
        let token = self.rows.tokens().get(place)?;
        Some(token.token_address)
    }

    fn place_of(&self, token: &Address, _: &Context<'_>) -> Option<usize> {
        let snapshot = self.rows.snapshot.as_ref()?;
        snapshot.dataset.token_position(token)
    }

    /// The first row is selected once the order is there.
    fn sorted(&mut self, context: &Context<'_>) -> Effect {
        self.at_first = true;
        self.refresh(context);
        if self.rows.pending.is_some() {
            self.point_to(context.token, context);
            return Effect::Redraw;
        }
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
    /// The API query for the same list, without conditions on the watchlist, which the API does not know: it refuses one beside an `or`.
    fn question(&self) -> TokensQuery {
        let words: Vec<&str> = self.list.filter().words().collect();
        TokensQuery {
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
        let (priced, tokens) = (snapshot.token_facts.priced, snapshot.market.tokens.len());
        if self
            .priced_of
            .take_if(|of| *of != snapshot.dataset.folder)
            .is_some()
            && self.list.filter_text() == PRICED
        {
            self.list.set_filter("", TokenReader::default()).ok();
            self.filter_chosen = false;
        }
        let chosen = self.filter_chosen || !self.list.filter().is_empty();
        if !chosen && (1..tokens.div_ceil(2)).contains(&priced) {
            self.list.set_filter(PRICED, TokenReader::default()).ok();
            self.priced_of = Some(snapshot.dataset.folder.clone());
        }
        self.filter_chosen |= tokens > 0;
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
    }

    fn toggle_more(&mut self, context: &Context<'_>) -> Effect {
        self.show_more(!self.more());
        self.refresh(context);
        self.selected(context)
    }

    /// Esc: closes the detail, else cancels the computation, else leaves the watchlist; an active filter is cleared by the application
    /// first.
    fn back(&mut self, context: &Context<'_>) -> Effect {
        if self.place == Place::Over && self.detail_open {
            self.detail_open = false;
        } else if self.rows.stop() {
            return Effect::Redraw;
        } else if self.watched_only && self.list.filter().is_empty() {
            self.watched_only = false;
        } else {
            return Effect::Pass;
        }
        self.refresh(context);
        self.selected(context)
    }
}

#[cfg(test)]
mod naming_tests;
#[cfg(test)]
mod tests;
