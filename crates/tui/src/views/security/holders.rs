//! The holders of the token as a list, filtered and sorted by a query over all of them; one level deeper, the other tokens of an address. A
//! pane that replaces the view while it is open.

use super::clusters::ClustersPane;
use crate::views::prelude::*;
use query::queries::{
    clusters::ClustersQuery,
    held::{AccountAddress, HeldToken, HeldTokensQuery},
    holders::{Holder, HoldersQuery},
};
use table::filter::Filter;

/// Maximum number of rows in a result.
const ROWS_MAX: u64 = 250;
/// From this width an address is shown in full.
const WHOLE_ADDRESS_WIDTH: u16 = 136;

pub(super) struct HolderFields;
pub(super) struct HeldFields;

#[derive(Default)]
pub(super) struct HoldersPane {
    open: bool,
    token: Option<Address>,
    /// Row indices are those of the answer.
    pub(super) list: List<HolderFields>,
    asked: ViewQuery<HoldersQuery>,
    /// The address whose tokens are shown.
    address: Option<Address>,
    held: List<HeldFields>,
    holds: ViewQuery<HeldTokensQuery>,
    /// Whether the holders are grouped by likely owner.
    is_grouped: bool,
    clusters: ClustersPane,
}

type H = Field<HolderFields>;
type T = Field<HeldFields>;

impl Fields for HolderFields {
    type Row<'a> = &'a Holder;

    const FIELDS: &'static [H] = &[
        H::text("holder_address", "address", [11, 11], 255, |row| {
            row.holder_address.to_string().into()
        })
        .addresses(AddressOf::Anyone)
        .cell(|row, look| whole_or_short(&row.holder_address, look.cells, Role::Text))
        .plain(),
        H::text("labels", "label", [8, 20], 230, |row| {
            Scalar::list(row.labels.iter().map(String::as_str))
        })
        .of(ColumnKind::List)
        .plain(),
        H::figure("share", "share", 8, 250, |row| row.share.into())
            .cell(|row, _| Cell::figure(format::share(row.share))),
        H::figure("balance", "balance", 9, 240, |row| row.balance.into()),
        H::figure("first_seen", "first seen", 10, 120, |row| {
            row.first_seen.into()
        })
        .cell(|row, _| {
            row.first_seen.map_or_else(Cell::missing, |time| {
                Cell::new(time.day().to_string(), Role::Dim)
            })
        })
        .of(ColumnKind::Time),
        H::figure("in_7d", "in 7d", 8, 220, |row| row.in_7d.into())
            .cell(|row, _| moved(row.in_7d, Role::Up)),
        H::figure("out_7d", "out 7d", 8, 219, |row| row.out_7d.into())
            .cell(|row, _| moved(row.out_7d, Role::Down)),
        H::figure("in_30d", "in 30d", 8, 200, |row| row.in_30d.into())
            .cell(|row, _| moved(row.in_30d, Role::Up)),
        H::figure("out_30d", "out 30d", 8, 199, |row| row.out_30d.into())
            .cell(|row, _| moved(row.out_30d, Role::Down)),
    ];

    const STANDARD: Option<Order> = Some(Order::falling("balance"));

    fn fit(column: &mut TableColumn, width: u16) {
        if column.key == "holder_address" && width >= WHOLE_ADDRESS_WIDTH {
            (column.min, column.ideal) = (ADDRESS_CELLS, ADDRESS_CELLS);
        }
    }

    fn json(row: Self::Row<'_>) -> Json {
        serde_json::to_value(row).unwrap_or_default()
    }
}

impl Fields for HeldFields {
    type Row<'a> = &'a HeldToken;

    const FIELDS: &'static [T] = &[
        T::text("symbol", "token", [8, 16], 255, |row| (&row.symbol).into()).searched(),
        T::figure("balance", "balance", 12, 240, |row| row.balance.into()),
        T::figure("share", "share", 9, 230, |row| row.share.into())
            .cell(|row, _| Cell::figure(format::share(row.share))),
        T::figure("value", "value", 9, 220, |row| row.value.into()).unit("USD"),
        T::text("token_address", "address", [11, 11], 100, |row| {
            row.token_address.to_string().into()
        })
        .addresses(AddressOf::Tokens)
        .cell(|row, _| Cell::new(row.token_address.short(), Role::Dim))
        .plain(),
    ];

    const STANDARD: Option<Order> = Some(Order::falling("value"));

    fn json(row: Self::Row<'_>) -> Json {
        serde_json::to_value(row).unwrap_or_default()
    }
}

/// The note of a pane that Esc closes.
pub(super) fn with_back(note: &str) -> String {
    if note.is_empty() {
        "Esc back".to_owned()
    } else {
        format!("{note} · Esc back")
    }
}

/// An amount that moved; zero is dim.
fn moved(amount: Option<f64>, role: Role) -> Cell {
    match amount {
        None => Cell::missing(),
        Some(0.0) => Cell::new("0", Role::Dim),
        Some(amount) => Cell::new(format::human(Some(amount)), role),
    }
}

impl HoldersPane {
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    fn question(&self) -> Option<HoldersQuery> {
        let (filter, sort) = (
            self.list.filter().clone(),
            self.list.sorting.keys().to_vec(),
        );
        Some(HoldersQuery {
            flows: true,
            filter,
            sort,
            limit: ROWS_MAX,
            ..HoldersQuery::first(self.token?)
        })
    }

    fn held_query(&self) -> Option<HeldTokensQuery> {
        let sort = vec![Order::falling("value"), Order::rising("symbol")];
        Some(HeldTokensQuery {
            address: AccountAddress(self.address?),
            filter: Filter::default(),
            sort,
            only: Vec::new(),
            page: 1,
            limit: ROWS_MAX,
        })
    }

    pub(super) fn refresh(&mut self, token: Option<Address>, context: &Context<'_>) {
        if self.token != token {
            *self = Self {
                open: self.open,
                is_grouped: self.is_grouped,
                token,
                list: std::mem::take(&mut self.list),
                ..Self::default()
            };
        }
        if !self.open {
            return;
        }
        if self.is_grouped {
            self.clusters.refresh(token, context);
            return;
        }
        if let Some(question) = self.question() {
            self.asked.refresh(question, context);
        }
        self.list
            .set_count(self.asked.answer().map_or(0, |answer| answer.holders.len()));
        if let Some(question) = self.held_query() {
            self.holds.refresh(question, context);
            self.arrange_held();
        }
    }

    fn arrange_held(&mut self) {
        let known = self.holds.known.clone();
        let tokens = known
            .as_ref()
            .map_or(&[][..], |known| &known.answer.tokens[..]);
        self.held
            .arrange(0..tokens.len(), |place| tokens.get(place));
    }

    fn selected(&self) -> Option<&Holder> {
        self.asked.answer()?.holders.get(self.list.selected()?)
    }

    /// Handles an action while open; `None` for one that is not the pane's.
    pub(super) fn act(&mut self, action: Action, context: &Context<'_>) -> Effect {
        match (action, self.address) {
            (Action::TokenHolders, None) if self.open && !self.is_grouped => self.is_grouped = true,
            (Action::TokenHolders, _) => {
                self.open = !self.open;
                self.is_grouped = false;
            }
            (Action::Back, _) if self.is_grouped => self.is_grouped = false,
            (Action::CopyValue, _) if self.is_grouped => {
                return self.clusters.selected().map_or(Effect::Pass, |address| {
                    Effect::Copy(address.to_string(), "address")
                });
            }
            (action, _) if self.is_grouped => {
                if !self.clusters.act(action) {
                    return Effect::Pass;
                }
            }
            (Action::Back, Some(_)) => {
                self.address = None;
                self.holds.clear();
            }
            (Action::Back, None) => self.open = false,
            (Action::Open, None) => {
                self.address = self.selected().map(|holder| holder.holder_address);
                self.held.cursor.select(0);
            }
            (Action::Open, Some(_)) => {
                let token = self
                    .held
                    .selected()
                    .and_then(|place| self.holds.answer()?.tokens.get(place));
                return token.map_or(Effect::Pass, |token| {
                    Effect::Open(token.token_address, ViewId::Chart)
                });
            }
            (Action::CopyValue, address) => {
                let address =
                    address.or_else(|| self.selected().map(|holder| holder.holder_address));
                return address.map_or(Effect::Pass, |address| {
                    Effect::Copy(address.to_string(), "address")
                });
            }
            (action, address) => {
                let event = if address.is_some() {
                    self.held.act(action)
                } else {
                    self.list.act(action)
                };
                if event == ListEvent::Nothing {
                    return Effect::Pass;
                }
            }
        }
        self.refresh(self.token, context);
        Effect::Redraw
    }

    pub(super) fn mouse(&mut self, mouse: MouseEvent, context: &Context<'_>) -> Effect {
        if self.is_grouped {
            return if self.clusters.mouse(mouse) {
                Effect::Redraw
            } else {
                Effect::Nothing
            };
        }
        let event = if self.address.is_some() {
            self.held.mouse(mouse)
        } else {
            self.list.mouse(mouse)
        };
        match event {
            ListEvent::Nothing => return Effect::Nothing,
            ListEvent::ClickedAgain => return self.act(Action::Open, context),
            _ => self.refresh(self.token, context),
        }
        Effect::Redraw
    }

    pub(super) fn request(&self) -> Option<HttpRequest> {
        if self.is_grouped {
            let question = ClustersQuery::first(self.token?);
            return Some(HttpRequest::of(&question));
        }
        self.held_query()
            .map(|question| HttpRequest::of(&question))
            .or_else(|| self.question().map(|question| HttpRequest::of(&question)))
    }

    pub(super) fn export(&self, symbol: &str) -> Option<Export> {
        if let Some(address) = self.address {
            let tokens = &self.holds.answer()?.tokens;
            return Some(
                self.held
                    .export(format!("{}-tokens", address.short()), |place| {
                        tokens.get(place)
                    }),
            );
        }
        let holders = &self.asked.answer()?.holders;
        Some(
            self.list
                .export(format!("{symbol}-holders"), |place| holders.get(place)),
        )
    }

    pub(super) fn draw(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let symbol = self
            .token
            .map_or_else(String::new, |token| symbol_of(context, &token));
        if self.is_grouped {
            return self.clusters.draw(&symbol, buffer, area, context);
        }
        if let Some(address) = self.address {
            return self.draw_held(address, buffer, area, context);
        }
        let title = self.list.titled(&format!("holders of {symbol}"));
        let note = self.asked.answer().map_or_else(String::new, |answer| {
            let (shown, total) = (answer.holders.len() as u64, answer.total);
            if let Some(cut) = &answer.cut {
                cut.clone()
            } else if shown < total {
                format!("first {} of {}", format::count(shown), format::count(total))
            } else {
                plural(total, "holder", "holders")
            }
        });
        let note = with_back(&format!("{note} · H by owner"));
        let panel = Panel {
            note: &note,
            focused: true,
            ..Panel::new(&title)
        };
        let body = inset(panel.render(area, buffer, context.theme));
        if let Some(sentence) = missing_table(context, "holders", "a token's holders") {
            return say(buffer, body, context, &sentence);
        }
        let Some(known) = self.asked.shown(buffer, body, context) else {
            return;
        };
        let says = match (&known.answer.flows_missing, known.answer.flows_to) {
            (Some(missing), _) => vec![
                format!("in and out unknown: {missing}"),
                "in and out unknown".to_owned(),
            ],
            (None, Some(last)) => vec![
                format!(
                    "in and out: tokens received and sent in the 7 and 30 days to {}, from the transfers table",
                    last.day()
                ),
                format!("in and out: tokens received and sent, to {}", last.day()),
            ],
            (None, None) => Vec::new(),
        };
        // Balances have no history: they are current on any day.
        let today = if context.of_today(&["holders"]).is_some() {
            "current balances, no history"
        } else {
            ""
        };
        put_right(
            buffer,
            Rect { height: 1, ..body },
            0,
            today,
            context.theme.style(Role::Warning),
        );
        let room = usize::from(body.width).saturating_sub(if today.is_empty() {
            0
        } else {
            text::width(today) + 2
        });
        put(
            buffer,
            body,
            0,
            0,
            &text::longest_that_fits(says, room),
            context.theme.dim(),
        );
        let empty = if known.answer.total == 0 && self.list.filter().is_empty() {
            "no holders of this token in the data"
        } else {
            "no holder matches the filter; / changes it"
        };
        let rows = &known.answer.holders;
        self.list.draw(
            buffer,
            ListFrame::new(below(body, 1), empty),
            context,
            |place| rows.get(place),
        );
    }

    fn draw_held(
        &mut self,
        address: Address,
        buffer: &mut Buffer,
        area: Rect,
        context: &Context<'_>,
    ) {
        let known = self.holds.answer();
        let labels = known.map_or_else(String::new, |known| known.labels.join(", "));
        let title = if labels.is_empty() {
            format!("tokens of {address}")
        } else {
            format!("tokens of {address} · {labels}")
        };
        let note = known.map_or_else(String::new, |known| plural(known.total, "token", "tokens"));
        let note = with_back(&note);
        let body = inset(
            Panel {
                note: &note,
                focused: true,
                ..Panel::new(&title)
            }
            .render(area, buffer, context.theme),
        );
        let Some(known) = self.holds.shown(buffer, body, context) else {
            return;
        };
        let tokens = &known.answer.tokens;
        self.held.draw(
            buffer,
            ListFrame::new(body, "this address holds none of the tokens in the data"),
            context,
            |place| tokens.get(place),
        );
    }
}
