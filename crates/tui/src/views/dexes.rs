//! The DEXes view: the DEXes of the selected token, and one of them in detail: contracts, fee tiers, and the pools with the cost of a sell of
//! some size in each; or the pools on all DEXes.

mod list;
mod sale;

use self::list::{DexFields, PoolFields};
use super::price::Price;
use crate::views::{list::mouse_of_two, prelude::*};
use analysis::dex::{DexDetail, DexSummary, FeeTier, sale::TokenPool};
use query::queries::{
    dexes::{DexDetailQuery, DexListQuery},
    pools::PoolsQuery,
    security::SecurityQuery,
};

/// From this width the DEX is drawn beside the list, else below it.
const BESIDE_WIDTH: u16 = 130;

#[derive(Default)]
pub struct DexesView {
    /// Row indices are those of the answer.
    dexes: List<DexFields>,
    pools: List<PoolFields>,
    /// All pools of the token, under those of the selected DEX where there is room.
    others: List<PoolFields>,
    /// The pool list has the focus.
    in_pools: bool,
    /// The pools of every DEX are shown, not of the selected one.
    every_pool: bool,
    /// What is sold in each pool.
    amount: sale::SoldAmount,
    sale: ViewQuery<PoolsQuery>,
    /// Whether the token can be sold at all, as in the Security view.
    security: ViewQuery<SecurityQuery>,
    /// How many addresses of the selected DEX were copied.
    copied: usize,
    token: Option<Address>,
    /// The token's candles, where the list leaves space.
    price: Price,
    list: ViewQuery<DexListQuery>,
    detail: ViewQuery<DexDetailQuery>,
}

impl View for DexesView {
    fn refresh(&mut self, context: &Context<'_>) {
        if self.token != context.token {
            (self.token, self.in_pools) = (context.token, false);
            self.list.clear();
            self.detail.clear();
            self.sale.clear();
            self.security.clear();
            self.arrange();
            self.moved_to_another();
        }
        self.price.refresh(self.token, context);
        let Some(token) = self.token else { return };
        if self.list.refresh(
            DexListQuery {
                contract_address: token,
                explain: true,
            },
            context,
        ) {
            self.arrange();
        }
        if let Some(question) = self.detail_query() {
            self.detail.refresh(question, context);
        }
        self.sale
            .refresh(sale::question(token, self.amount), context);
        if self
            .sale
            .answer()
            .is_some_and(|answer| !answer.pools.is_empty())
        {
            self.security.refresh(
                SecurityQuery {
                    contract_address: token,
                    explain: true,
                },
                context,
            );
        }
        self.arrange_pools();
    }

    fn act(&mut self, action: Action, context: &Context<'_>) -> Effect {
        let event = if self.in_pools {
            self.pools.act(action)
        } else {
            self.dexes.act(action)
        };
        if event != ListEvent::Nothing {
            return self.on_list_event(event, context);
        }
        match action {
            Action::Open | Action::Right if !self.in_pools && self.sale.answer().is_some() => {
                self.in_pools = true;
            }
            Action::EveryPool => {
                self.every_pool = !self.every_pool;
                self.in_pools = self.every_pool;
                self.pools.cursor.select(0);
                self.arrange_pools();
            }
            Action::SellAmount => return Effect::Edit(EditedLine::Own(sale::SELL), String::new()),
            Action::Back | Action::Left if self.in_pools => self.in_pools = false,
            Action::CopyValue => return self.copy(),
            _ => return Effect::Pass,
        }
        Effect::Redraw
    }

    fn mouse(&mut self, mouse: MouseEvent, context: &Context<'_>) -> Effect {
        let event = mouse_of_two(&mut self.dexes, &mut self.pools, &mut self.in_pools, mouse);
        if event == ListEvent::Nothing {
            return Effect::Nothing;
        }
        self.on_list_event(event, context)
    }

    fn draw_in(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        if area.width >= BESIDE_WIDTH {
            let right = if self.every_pool {
                (area.width * 3 / 5).clamp(78, 150)
            } else {
                (area.width * 9 / 20).clamp(72, 96)
            };
            let (left, right) = beside(area, right);
            let rows = (self.dexes.len() as u16 + 3 + NOTE_LINES)
                .max(6)
                .min(left.height);
            // A list that must scroll gets the full height.
            let rows = if self.dexes.is_empty() || left.height - rows < left.height / 3 {
                left.height
            } else {
                rows
            };
            self.draw_list(
                buffer,
                Rect {
                    height: rows,
                    ..left
                },
                context,
            );
            self.price.draw(buffer, below(left, rows), context);
            self.draw_dex(buffer, right, context);
        } else {
            // The list gets the height it needs, up to half.
            let height = (self.dexes.len() as u16 + 3)
                .clamp(5, (area.height / 2).max(5))
                .min(area.height);
            self.draw_list(buffer, Rect { height, ..area }, context);
            self.draw_dex(buffer, below(area, height), context);
        }
    }

    listing!(dexes);

    fn own_line(&self, _: &'static str) -> String {
        self.amount.to_string()
    }

    /// The amount of the sale; the one before while nothing is typed.
    fn set_own_line(
        &mut self,
        _: &'static str,
        text: &str,
        context: &Context<'_>,
    ) -> Result<(), InputError> {
        self.amount = if text.trim().is_empty() {
            self.amount
        } else {
            sale::SoldAmount::read(text)?
        };
        self.refresh(context);
        Ok(())
    }

    fn save(&self) -> serde_json::Value {
        self.dexes
            .save(serde_json::json!({ "sell_usd": self.amount.to_string() }))
    }

    fn restore(&mut self, kept: &serde_json::Value) {
        let amount = kept["sell_usd"].as_str();
        let amount = amount.and_then(|amount| sale::SoldAmount::read(amount).ok());
        self.amount = amount.unwrap_or(self.amount);
        self.dexes.restore(kept);
    }

    fn relist(&mut self, context: &Context<'_>) {
        self.in_pools = false;
        self.on_list_event(ListEvent::Sorted, context);
    }

    fn undated(&self) -> &'static [&'static str] {
        &["pools"]
    }

    fn needs(&self) -> Option<&'static [&'static str]> {
        Some(DexListQuery::NEEDS)
    }

    fn request(&self, _: &Context<'_>) -> Option<HttpRequest> {
        if self.in_pools {
            let all = sale::question(self.token?, self.amount);
            let dex = self.dex().filter(|_| !self.every_pool);
            return Some(HttpRequest::of(
                &dex.map_or_else(|| all.clone(), |dex| sale::of_dex(&all, &dex.dex_id)),
            ));
        }
        self.token.map(|token| {
            HttpRequest::of(&DexListQuery {
                contract_address: token,
                explain: true,
            })
        })
    }

    fn export(&self, context: &Context<'_>) -> Option<Export> {
        let symbol = symbol_of(context, &self.token?).to_lowercase();
        if self.in_pools {
            return Some(
                self.pools
                    .export(format!("{symbol}-pools"), pools(self.known_pools())),
            );
        }
        let answered = &self.list.answer()?.dexes;
        Some(
            self.dexes
                .export(format!("{symbol}-dexes"), dexes(answered)),
        )
    }
}

impl DexesView {
    fn dex(&self) -> Option<&DexSummary> {
        self.list.answer()?.dexes.get(self.dexes.selected()?)
    }

    fn detail_query(&self) -> Option<DexDetailQuery> {
        Some(DexDetailQuery {
            contract_address: self.token?,
            dex_id: self.dex()?.dex_id.to_lowercase(),
        })
    }

    /// The detail of the selected DEX, once answered; never that of another.
    fn detail(&self) -> Option<&DexDetail> {
        let (dex, detail) = (self.dex()?, self.detail.answer()?);
        (detail.name == dex.name && detail.chain_id == dex.chain_id).then_some(detail)
    }

    /// Rebuilds the list and keeps the selected DEX.
    fn arrange(&mut self) {
        let before = self.dex().map(|dex| dex.dex_id.clone());
        let answered = self.list.answer().map_or(&[][..], |answer| &answer.dexes);
        self.dexes.arrange(0..answered.len(), dexes(answered));
        if !self
            .dexes
            .point_to(|place| answered.get(place).map(|dex| &dex.dex_id) == before.as_ref())
        {
            self.dexes.cursor.select(0);
        }
    }

    /// The pools of the token on every DEX.
    fn known_pools(&self) -> &[TokenPool] {
        self.sale.answer().map_or(&[][..], |answer| &answer.pools)
    }

    fn arrange_pools(&mut self) {
        let dex = self
            .dex()
            .filter(|_| !self.every_pool)
            .map(|dex| dex.dex_id.clone());
        let known = self.sale.known.clone();
        let known = known
            .as_ref()
            .map_or(&[][..], |known| &known.answer.pools[..]);
        let shown = |place: &usize| {
            dex.as_ref()
                .is_none_or(|dex| known.get(*place).is_some_and(|pool| pool.dex_id == *dex))
        };
        self.pools
            .arrange((0..known.len()).filter(shown), pools(known));
        self.others.arrange(0..known.len(), pools(known));
    }

    fn on_list_event(&mut self, event: ListEvent, context: &Context<'_>) -> Effect {
        if event == ListEvent::Sorted && !self.in_pools {
            self.arrange();
            self.dexes.cursor.select(0);
        }
        if !self.in_pools {
            self.moved_to_another();
        }
        self.refresh(context);
        Effect::Redraw
    }

    fn moved_to_another(&mut self) {
        self.pools.cursor.select(0);
        self.copied = 0;
    }

    /// Copies the pool's address, or the addresses of the DEX in turn: router, factory, best pool.
    fn copy(&mut self) -> Effect {
        if self.in_pools {
            let pool = self
                .pools
                .selected()
                .and_then(|place| self.known_pools().get(place));
            return pool.map_or(Effect::Pass, |pool| {
                Effect::Copy(pool.address.to_string(), "pool address")
            });
        }
        let Some(dex) = self.dex() else {
            return Effect::Pass;
        };
        let detail = self.detail();
        let known: Vec<(Address, &str)> = [
            (detail.and_then(|detail| detail.router), "router address"),
            (detail.and_then(|detail| detail.factory), "factory address"),
            (Some(dex.best_pool.address), "best pool's address"),
        ]
        .into_iter()
        .filter_map(|(address, what)| Some((address?, what)))
        .collect();
        let (address, what) = known[self.copied % known.len()];
        self.copied += 1;
        Effect::Copy(address.to_string(), what)
    }

    fn draw_list(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let theme = context.theme;
        let whose = self.token.map_or_else(
            || "no token selected".to_owned(),
            |token| format!("where {} trades", symbol_of(context, &token)),
        );
        let title = self.dexes.titled(&whose);
        let all = self.list.answer().map_or(0, |answer| answer.dexes.len());
        let note = match (self.dexes.len(), all) {
            (_, 0) => String::new(),
            (shown, all) if shown < all => format!("{shown} of {all} DEXes"),
            (1, _) => "1 DEX".to_owned(),
            (count, _) => format!("{count} DEXes"),
        };
        let note = with_left_out(note, &self.dexes.left_out, usize::from(area.width / 2));
        let asked = self.list.answer().is_none() && self.list.problem.is_none();
        let (note, warns) = with_today(note, self.undated(), context);
        let rule = Panel {
            note: &note,
            warns,
            focused: !self.in_pools,
            progress: asked.then_some(None),
            ..Panel::new(&title)
        };
        let body = rule.render(area, buffer, theme);
        if let Some(sentence) = missing_table(context, "pools", "the DEXes view") {
            return say(buffer, body, context, &sentence);
        }
        let Some(known) = self.list.shown(buffer, body, context) else {
            return;
        };
        if known.answer.dexes.is_empty() {
            return say(
                buffer,
                body,
                context,
                "no pool of this token in the data; press 1 to choose another token",
            );
        }
        let body = inset(body);
        self.dexes.focused = !self.in_pools;
        let empty = words::no_match("DEX");
        let frame = ListFrame::new(body, &empty);
        self.dexes
            .draw(buffer, frame, context, dexes(&known.answer.dexes));
        let under = below(body, self.dexes.len() as u16 + 2);
        let note = self.token.and_then(|token| other_volume(context, &token));
        if let Some(note) = note.filter(|_| under.height >= NOTE_LINES) {
            put_wrapped(
                buffer,
                under,
                0,
                0,
                &note,
                usize::from(NOTE_LINES),
                context.theme.dim(),
            );
        }
    }

    /// All pools of the token, under the selected pool's address.
    fn draw_others(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let Some(known) = self.sale.known.clone() else {
            return;
        };
        if self.every_pool || area.height < OTHERS_HEIGHT || self.others.len() <= self.pools.len() {
            return;
        }
        let counted = plural(self.others.len() as u64, "pool", "pools");
        let rule = Panel {
            note: &counted,
            ..Panel::new("on every DEX")
        };
        let body = rule.render(area, buffer, context.theme);
        self.others.draw(
            buffer,
            ListFrame::new(body, "no pools").to_read(),
            context,
            pools(&known.answer.pools),
        );
    }

    fn draw_dex(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let theme = context.theme;
        if self.every_pool {
            let title = format!(
                "pools of {}",
                self.token
                    .map_or_else(String::new, |token| symbol_of(context, &token))
            );
            let counted = plural(self.pools.len() as u64, "pool", "pools");
            let (note, warns) = with_today(counted, self.undated(), context);
            let rule = Panel {
                note: &note,
                warns,
                focused: self.in_pools,
                ..Panel::new(&title)
            };
            let body = rule.render(area, buffer, theme);
            return self.draw_pools(buffer, inset(body), context);
        }
        let Some(dex) = self.dex() else { return };
        let chain = dex.chain_id.as_deref().map(list::chain).unwrap_or_default();
        let title = format!("{} · {chain}", list::versioned(dex));
        let detail = self.detail();
        let asked = detail.is_none() && self.detail.problem.is_none();
        let (note, warns) = with_today(dex.dex_id.as_str(), self.undated(), context);
        let rule = Panel {
            note: &note,
            warns,
            focused: self.in_pools,
            progress: asked.then_some(None),
            ..Panel::new(&title)
        };
        let body = inset(rule.render(area, buffer, theme));
        if let Some(problem) = &self.detail.problem {
            return panel::failure(body, buffer, theme, &problem.detail);
        }
        let Some(detail) = detail else {
            return progress::skeleton(body, buffer, theme);
        };
        let used = draw_facts(detail, buffer, body, context).min(body.height);
        self.draw_pools(buffer, below(body, used), context);
    }

    /// The sale in a line or two, and the pools.
    fn draw_pools(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let Some(known) = self.sale.shown(buffer, area, context) else {
            return;
        };
        let against = self
            .security
            .answer()
            .and_then(|security| sale::against(security.danger, security.security_score));
        let used = sale::draw(&known.answer, against.as_deref(), buffer, area, context);
        self.pools.focused = self.in_pools;
        // The pools of one DEX stand under its name.
        self.pools.empty_columns = if self.every_pool {
            Vec::new()
        } else {
            vec!["dex_id"]
        };
        let list = below(area, used);
        self.pools.draw(
            buffer,
            ListFrame::new(list, "no pools"),
            context,
            pools(&known.answer.pools),
        );
        // The list has no room for whole addresses, but below it there is.
        let pool = self
            .pools
            .selected()
            .and_then(|place| known.answer.pools.get(place));
        let row = self.pools.len() as u16 + 2;
        if let Some(pool) =
            pool.filter(|_| area.width < list::WHOLE_ADDRESS_WIDTH && row < list.height)
        {
            let brief = format!("{}  {}", pool.pair, pool.address);
            let says = [
                format!("{} on {}  {}", pool.pair, pool.dex_id, pool.address),
                brief,
                pool.address.to_string(),
            ];
            put(
                buffer,
                list,
                0,
                row,
                &text::longest_that_fits(says, usize::from(list.width)),
                context.theme.dim(),
            );
        }
        self.draw_others(buffer, below(list, row + 2), context);
    }
}

/// Why the volume here is not that of the token lists.
fn other_volume(context: &Context<'_>, token: &Address) -> Option<String> {
    let summary = summary(context, token).filter(|summary| summary.volume_of_candles)?;
    Some(format!(
        "VOL 24H counts these pools only. The {} in the list of tokens is from candles, which can cover exchanges outside the data.",
        format::human(summary.volume_24h)
    ))
}

/// The rows of the DEX list, by index.
fn dexes<'a>(answered: &'a [DexSummary]) -> impl Fn(usize) -> Option<(&'a DexSummary, f64)> {
    let most = list::largest(answered.iter().map(|dex| dex.volume_24h));
    move |place| Some((answered.get(place)?, most))
}

fn pools<'a>(answered: &'a [TokenPool]) -> impl Fn(usize) -> Option<&'a TokenPool> {
    move |place| answered.get(place)
}

/// Lines of the note on volumes.
const NOTE_LINES: u16 = 3;
/// A list of all pools is drawn from this height on.
const OTHERS_HEIGHT: u16 = 6;
const LABEL: u16 = 13;
/// Lines of the fee tiers.
const FEE_LINES: usize = 2;

/// Draws the detail; returns the lines used, plus an empty one where pools fit below.
fn draw_facts(detail: &DexDetail, buffer: &mut Buffer, area: Rect, context: &Context<'_>) -> u16 {
    let theme = context.theme;
    let missing = || MISSING.to_owned();
    let locked = format::human(detail.total_value_locked);
    let locked = if locked == MISSING {
        locked
    } else {
        format!("{locked} USD")
    };
    let facts = [
        ("version", detail.version.clone().unwrap_or_else(missing)),
        (
            "router",
            detail
                .router
                .map_or_else(missing, |address| address.to_string()),
        ),
        (
            "factory",
            detail
                .factory
                .map_or_else(missing, |address| address.to_string()),
        ),
        ("value locked", locked),
    ];
    let mut y = 0;
    for (label, value) in facts {
        put(buffer, area, 0, y, label, theme.dim());
        let style = if value.starts_with("0x") {
            theme.accent()
        } else {
            theme.style(role_of(&value))
        };
        put(buffer, area, LABEL, y, &value, style);
        y += 1;
    }
    let exact = format::exact(detail.total_value_locked);
    if exact != MISSING && area.width >= 50 {
        put_right(buffer, area, y - 1, &exact, theme.dim());
    }
    put(buffer, area, 0, y, "fee tiers", theme.dim());
    let tiers: Vec<String> = detail.fee_structure.iter().map(tier).collect();
    let tiers = if tiers.is_empty() {
        missing()
    } else {
        tiers.join(" · ")
    };
    for line in text::wrap(
        &tiers,
        usize::from(area.width.saturating_sub(LABEL)),
        FEE_LINES,
    ) {
        put(buffer, area, LABEL, y, &line, theme.style(role_of(&line)));
        y += 1;
    }
    if area.height > y + 6 { y + 1 } else { y }
}

/// `0.3%`, or `stable 0.01%` for a named tier.
fn tier(tier: &FeeTier) -> String {
    if let Some(percent) = tier.tier.strip_suffix('%') {
        format!("{}%", percent.trim_end())
    } else {
        format!("{} {}", tier.tier, format::share(tier.fee))
    }
}

#[cfg(test)]
mod tests;
