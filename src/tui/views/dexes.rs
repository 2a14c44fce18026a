//! The DEXes view: where the selected token trades, and one DEX of them whole: contracts, fee tiers, pools.

mod list;
mod sheet;

use crossterm::event::MouseEvent;
use ratatui::{buffer::Buffer, layout::Rect};
use serde_json::{Value, json};

use super::{
    parts::{absent, say, symbol_of},
    rows::{Click, Rows, Sorting, order_by},
};
use crate::{
    analysis::dex::{DexDetail, DexSummary},
    dataset::address::Address,
    question::{
        Question,
        dexes::{DexDetailQuestion, DexListQuestion},
        filter::{self, Filter},
    },
    tui::{
        keymap::{Action, ViewId},
        view::{Asked, Context, Effect, Export, Request, View},
        widgets::{
            panel::{self, Panel},
            progress,
            table::Table,
        },
    },
};

/// From this width on the DEX stands beside the list, else below it.
const BESIDE_WIDTH: u16 = 130;

pub struct DexesView {
    dexes: Rows,
    pools: Rows,
    /// The DEXes as they are shown, as places in the answer.
    order: Vec<u32>,
    sorting: Sorting,
    filter_text: String,
    filter: Filter,
    /// Keys go to the pools.
    in_pools: bool,
    /// How many addresses of the selected DEX were copied.
    copied: usize,
    token: Option<Address>,
    list: Asked<DexListQuestion>,
    detail: Asked<DexDetailQuestion>,
}

impl Default for DexesView {
    fn default() -> Self {
        Self {
            dexes: Rows::default(),
            pools: Rows::default(),
            order: Vec::new(),
            sorting: Sorting { key: "volume24h", descending: true },
            filter_text: String::new(),
            filter: Filter::default(),
            in_pools: false,
            copied: 0,
            token: None,
            list: Asked::default(),
            detail: Asked::default(),
        }
    }
}

impl View for DexesView {
    fn id(&self) -> ViewId {
        ViewId::Dexes
    }

    fn refresh(&mut self, context: &Context<'_>) {
        if self.token != context.token {
            let (filter_text, filter) = (std::mem::take(&mut self.filter_text), std::mem::take(&mut self.filter));
            *self = Self { token: context.token, sorting: self.sorting, filter_text, filter, ..Self::default() };
        }
        let Some(token) = self.token else { return };
        if self.list.refresh(DexListQuestion { contract_address: token, explain: false }, context) {
            self.arrange();
        }
        if let Some(question) = self.detail_question() {
            self.detail.refresh(question, context);
        }
    }

    fn act(&mut self, action: Action, context: &Context<'_>) -> Effect {
        let rows = if self.in_pools { &mut self.pools } else { &mut self.dexes };
        if rows.act(action) {
            self.moved(context);
            return Effect::Redraw;
        }
        match action {
            Action::Open | Action::Right if !self.in_pools && self.detail.answer.is_some() => self.in_pools = true,
            Action::Back | Action::Left if self.in_pools => self.in_pools = false,
            Action::Back if !self.filter_text.is_empty() => {
                (self.filter_text, self.filter) = Default::default();
                self.arrange();
                self.refresh(context);
            }
            Action::CopyValue => return self.copy(),
            Action::Sort => self.sort(self.sorting.next(list::SORTS), context),
            Action::SortReverse => self.sort(self.sorting.reversed(), context),
            _ => return Effect::Pass,
        }
        Effect::Redraw
    }

    fn mouse(&mut self, mouse: MouseEvent, context: &Context<'_>) -> Effect {
        match (self.dexes.mouse(mouse), self.pools.mouse(mouse)) {
            (Some(Click::Header(key)), _) => match self.sorting.clicked(key, list::SORTS) {
                Some(sorting) => self.sort(sorting, context),
                None => return Effect::Nothing,
            },
            (Some(_), _) => {
                self.in_pools = false;
                self.moved(context);
            }
            (None, Some(_)) => self.in_pools = true,
            (None, None) => return Effect::Nothing,
        }
        Effect::Redraw
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        if area.width >= BESIDE_WIDTH {
            let width = (area.width * 9 / 20).clamp(62, 96);
            self.draw_list(buffer, Rect { width: area.width - width - 2, ..area }, context);
            self.draw_dex(buffer, Rect { x: area.right() - width, width, ..area }, context);
        } else {
            // The list takes what it needs, up to half.
            let height = (self.order.len() as u16 + 3).clamp(5, (area.height / 2).max(5)).min(area.height);
            self.draw_list(buffer, Rect { height, ..area }, context);
            self.draw_dex(buffer, Rect { y: area.y + height, height: area.height - height, ..area }, context);
        }
    }

    fn filter(&self) -> Option<&str> {
        Some(&self.filter_text)
    }

    fn set_filter(&mut self, text: &str, context: &Context<'_>) -> Result<(), String> {
        self.filter = filter::parse(text, list::FILTERS).map_err(|error| error.to_string())?;
        text.clone_into(&mut self.filter_text);
        self.in_pools = false;
        self.arrange();
        self.moved(context);
        Ok(())
    }

    fn needs(&self) -> Option<&'static [&'static str]> {
        Some(DexListQuestion::NEEDS)
    }

    fn request(&self, _: &Context<'_>) -> Option<Request> {
        if self.in_pools {
            return self.detail_question().map(|question| Request::of(&question));
        }
        self.token.map(|token| Request::of(&DexListQuestion { contract_address: token, explain: false }))
    }

    fn export(&self, context: &Context<'_>) -> Option<Export> {
        let symbol = symbol_of(context, &self.token?).to_lowercase();
        if self.in_pools {
            let (name, detail) = (format!("{symbol}-pools"), self.detail()?);
            let rows = detail.pools.iter().map(|pool| list::exported(pool, list::POOLS_EXPORTED)).collect();
            return Some(Export::of(name, list::POOLS_EXPORTED, rows, self.pools.selected()));
        }
        let answered = &self.list.answer.as_ref()?.answer.dexes;
        let dexes = self.order.iter().filter_map(|&i| answered.get(i as usize));
        let rows = dexes.map(|dex| list::exported(dex, list::DEXES_EXPORTED)).collect();
        Some(Export::of(format!("{symbol}-dexes"), list::DEXES_EXPORTED, rows, self.dexes.selected()))
    }

    fn save(&self) -> Value {
        json!({ "sort": self.sorting.save(), "filter": self.filter_text })
    }

    fn restore(&mut self, kept: &Value) {
        self.sorting = self.sorting.restore(&kept["sort"], list::SORTS);
        if let Some(text) = kept["filter"].as_str()
            && let Ok(filter) = filter::parse(text, list::FILTERS)
        {
            (self.filter_text, self.filter) = (text.to_owned(), filter);
        }
    }
}

impl DexesView {
    fn dex(&self) -> Option<&DexSummary> {
        let place = *self.order.get(self.dexes.selected()?)?;
        self.list.answer.as_ref()?.answer.dexes.get(place as usize)
    }

    fn detail_question(&self) -> Option<DexDetailQuestion> {
        Some(DexDetailQuestion { contract_address: self.token?, dex_id: self.dex()?.dex_id.to_lowercase() })
    }

    /// The selected DEX, once it is answered; not the one before.
    fn detail(&self) -> Option<&DexDetail> {
        let (dex, detail) = (self.dex()?, &self.detail.answer.as_ref()?.answer);
        (detail.name == dex.name && detail.chain_id == dex.chain_id).then_some(detail)
    }

    fn arrange(&mut self) {
        let before = self.dex().map(|dex| dex.dex_id.clone());
        let dexes = self.list.answer.as_ref().map_or(&[][..], |known| &known.answer.dexes);
        let Sorting { key, descending } = self.sorting;
        let dex = |i: u32| &dexes[i as usize];
        self.order = (0..dexes.len() as u32).filter(|&i| list::holds(&self.filter, dex(i))).collect();
        match key {
            "name" => order_by(&mut self.order, descending, |i| Some(dex(i).name.to_lowercase())),
            "chainId" => order_by(&mut self.order, descending, |i| dex(i).chain_id.as_deref().map(list::chain)),
            "poolCount" => order_by(&mut self.order, descending, |i| Some(dex(i).pool_count)),
            "liquidity" => order_by(&mut self.order, descending, |i| dex(i).best_pool.liquidity),
            _ => order_by(&mut self.order, descending, |i| dex(i).volume24h),
        }
        self.dexes.set_count(self.order.len());
        let place = self.order.iter().position(|&i| Some(&dex(i).dex_id) == before.as_ref());
        self.dexes.select(place.unwrap_or(0));
    }

    fn sort(&mut self, sorting: Sorting, context: &Context<'_>) {
        self.sorting = sorting;
        self.arrange();
        self.refresh(context);
    }

    fn moved(&mut self, context: &Context<'_>) {
        if !self.in_pools {
            self.pools.select(0);
            self.copied = 0;
        }
        self.refresh(context);
    }

    /// The pool's address; of a DEX its addresses one after the other: router, factory, best pool.
    fn copy(&mut self) -> Effect {
        if self.in_pools {
            let pool = self.detail().and_then(|detail| detail.pools.get(self.pools.selected()?));
            return pool.map_or(Effect::Pass, |pool| Effect::Copy(pool.address.to_string(), "pool address"));
        }
        let Some(dex) = self.dex() else { return Effect::Pass };
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
        let mut title =
            self.token.map_or_else(|| "no token selected".to_owned(), |token| format!("where {} trades", symbol_of(context, &token)));
        if !self.filter_text.is_empty() {
            title.push_str(&format!(" / {}", self.filter_text));
        }
        let all = self.list.answer.as_ref().map_or(0, |known| known.answer.dexes.len());
        let note = match (self.order.len(), all) {
            (_, 0) => String::new(),
            (shown, all) if shown < all => format!("{shown} of {all} DEXes"),
            (1, _) => "1 DEX".to_owned(),
            (count, _) => format!("{count} DEXes"),
        };
        let asked = self.list.answer.is_none() && self.list.problem.is_none();
        let rule =
            Panel { note: &note, focused: !self.in_pools, progress: asked.then_some(None), ascii: context.ascii, ..Panel::new(&title) };
        let body = rule.render(area, buffer, theme);
        if let Some(sentence) = absent(context, "pools", "the DEXes of a token") {
            return say(buffer, body, context, &sentence);
        }
        if let Some(problem) = &self.list.problem {
            return panel::failure(body, buffer, theme, &problem.detail);
        }
        let Some(known) = &self.list.answer else { return progress::skeleton(body, buffer, theme, context.ascii) };
        if known.answer.dexes.is_empty() {
            return say(buffer, body, context, "no pool of this token is in the data; 1 chooses another token");
        }
        let body = Rect { x: body.x + 1, width: body.width.saturating_sub(1), ..body };
        let (columns, cells) = list::dex_columns(body.width);
        let (order, dexes) = (&self.order, &known.answer.dexes);
        let most = list::most(dexes.iter().map(|dex| dex.volume24h));
        let dex = |row: usize| order.get(row).and_then(|&i| dexes.get(i as usize));
        let row = |row: usize| dex(row).map_or_else(Vec::new, |dex| list::dex_cells(dex, most, cells, context.ascii));
        let table = Table {
            sort: self.sorting.place(&columns).into_iter().collect(),
            focused: !self.in_pools,
            ascii: context.ascii,
            empty: "no DEX matches: Esc takes the filter off",
            ..Table::new(&columns, order.len(), &row)
        };
        self.dexes.draw(&table, buffer, body, theme);
    }

    fn draw_dex(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let theme = context.theme;
        let Some(dex) = self.dex() else { return };
        let chain = dex.chain_id.as_deref().map(list::chain).unwrap_or_default();
        let title = format!("{} {chain}", dex.name);
        let detail = self.detail();
        let asked = detail.is_none() && self.detail.problem.is_none();
        let rule = Panel {
            note: &dex.dex_id,
            focused: self.in_pools,
            progress: asked.then_some(None),
            ascii: context.ascii,
            ..Panel::new(&title)
        };
        let body = rule.render(area, buffer, theme);
        let body = Rect { x: body.x + 1, width: body.width.saturating_sub(2), ..body };
        if let Some(problem) = &self.detail.problem {
            return panel::failure(body, buffer, theme, &problem.detail);
        }
        let Some(detail) = detail else { return progress::skeleton(body, buffer, theme, context.ascii) };
        let used = sheet::draw(detail, buffer, body, context).min(body.height);
        let body = Rect { y: body.y + used, height: body.height - used, ..body };
        let (columns, cells) = list::pool_columns(body.width);
        let whole = body.width >= list::WHOLE_ADDRESS_WIDTH;
        let pools = detail.pools.clone();
        let most = list::most(pools.iter().map(|pool| pool.liquidity));
        let row = |row: usize| pools.get(row).map_or_else(Vec::new, |pool| list::pool_cells(pool, whole, most, cells, context.ascii));
        let table = Table {
            sort: vec![(columns.iter().position(|column| column.key == "liquidity").unwrap_or(0), true)],
            focused: self.in_pools,
            ascii: context.ascii,
            empty: "no pools",
            ..Table::new(&columns, pools.len(), &row)
        };
        self.pools.draw(&table, buffer, body, theme);
    }
}

#[cfg(test)]
mod tests;
