//! The Yield view: a wallet in one line, its plan as a table with its proof, beside what is got without one. Wishes change by key and
//! are answered at once; requests can be kept and compared.

mod draw;
mod list;
mod wallet;

use std::collections::BTreeMap;

use crossterm::event::MouseEvent;
use ratatui::{buffer::Buffer, layout::Rect};
use ruint::aliases::U256;
use serde_json::{Value, json};

use self::{list::Strategies, wallet::Wallet};
use super::parts::{absent, say, symbol_of};
use crate::{
    dataset::{address::Address, chain::Chain},
    question::{
        Question,
        snapshot::Snapshot,
        yields::{RiskLevel, YieldPlan, YieldQuestion, answer::Strategy},
    },
    tui::{
        format,
        keymap::{Action, ViewId},
        list::{Did, Frame, List},
        text,
        theme::Role,
        view::{Asked, Context, Effect, Export, Request, View},
        widgets::{panel, progress, put, put_right},
    },
};

/// The floors that `m` goes through, percent.
const FLOORS: &[f64] = &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0];
const SCALES: &[u64] = &[1, 2, 4, 10];
/// What demo data start with.
const EXAMPLE: &str = "12.5 WETH, 250k USDC";
const KEPT_MAX: usize = 50;

/// The pane shown where there is room for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pane {
    Comparison,
    Allocation,
    Steps,
}

/// A request that was kept, and what its plan netted then.
#[derive(Debug, Clone, PartialEq)]
struct Kept {
    name: String,
    body: String,
    net: Option<f64>,
}

pub struct YieldView {
    list: List<Strategies>,
    line: String,
    amounts: BTreeMap<Address, U256>,
    risk: RiskLevel,
    chains: Vec<Chain>,
    min_apy: f64,
    scale: u64,
    pane: Pane,
    kept: Vec<Kept>,
    /// The kept request that is taken up.
    taken: Option<usize>,
    /// The generation that the line was read with, and what was wrong with it.
    read: u64,
    unread: Option<String>,
    plan: Asked<YieldQuestion>,
}

impl Default for YieldView {
    fn default() -> Self {
        Self {
            list: List::default(),
            line: String::new(),
            amounts: BTreeMap::new(),
            risk: RiskLevel::Medium,
            chains: Vec::new(),
            min_apy: 0.0,
            scale: 1,
            pane: Pane::Comparison,
            kept: Vec::new(),
            taken: None,
            read: 0,
            unread: None,
            plan: Asked::default(),
        }
    }
}

impl View for YieldView {
    fn id(&self) -> ViewId {
        ViewId::Yield
    }

    fn refresh(&mut self, context: &Context<'_>) {
        let Some(snapshot) = context.snapshot else { return };
        if self.read != snapshot.generation {
            let first = self.read == 0;
            self.read = snapshot.generation;
            let line = self.line.clone();
            self.unread = self.read_line(&line, snapshot).err();
            if first && self.line.is_empty() && snapshot.dataset.synthetic {
                // Without these tokens the demo starts empty.
                self.read_line(EXAMPLE, snapshot).ok();
            }
        }
        if self.amounts.is_empty() {
            self.plan.clear();
        } else {
            self.plan.refresh(self.question(), context);
        }
        self.arrange();
    }

    fn act(&mut self, action: Action, context: &Context<'_>) -> Effect {
        let did = self.list.act(action);
        if did != Did::Nothing {
            return self.did(did, context);
        }
        match action {
            Action::Open => return self.strategy().map_or(Effect::Pass, |row| Effect::Open(row.token.address, ViewId::Chart)),
            Action::CopyValue => {
                return self.strategy().and_then(|row| row.pool_id.clone()).map_or(Effect::Pass, |id| Effect::Copy(id, "pool"));
            }
            Action::Star => return self.strategy().map_or(Effect::Pass, |row| Effect::Star(row.token.address)),
            Action::AddAmount => return self.add(context),
            Action::RemoveAmount => return self.remove(context),
            Action::SavePlan => return self.keep(),
            Action::NextPlan => return self.take_up(context),
            Action::DropPlan => return self.drop_kept(),
            // The line above is the wallet, which Esc must not empty.
            Action::Back => return Effect::Nothing,
            Action::Risk => self.risk = RiskLevel::ALL[(self.risk as usize + 1) % RiskLevel::ALL.len()],
            Action::Chains => self.next_chain(context),
            Action::MinimumApy => self.min_apy = FLOORS.iter().copied().find(|floor| *floor > self.min_apy).unwrap_or(FLOORS[0]),
            Action::MinimumApyLess => self.min_apy = FLOORS.iter().rev().copied().find(|floor| *floor < self.min_apy).unwrap_or(FLOORS[0]),
            Action::Scale => {
                let at = SCALES.iter().position(|scale| *scale == self.scale).unwrap_or(0);
                self.scale = SCALES[(at + 1) % SCALES.len()];
            }
            Action::Compare => {
                self.pane = match self.pane {
                    Pane::Comparison => Pane::Allocation,
                    Pane::Allocation => Pane::Steps,
                    Pane::Steps => Pane::Comparison,
                };
            }
            _ => return Effect::Pass,
        }
        self.refresh(context);
        Effect::Redraw
    }

    fn answers(&self, action: Action) -> bool {
        match action {
            Action::OpenLink => false,
            Action::NextPlan | Action::DropPlan => !self.kept.is_empty(),
            _ => true,
        }
    }

    fn mouse(&mut self, mouse: MouseEvent, context: &Context<'_>) -> Effect {
        let did = self.list.mouse(mouse);
        self.did(did, context)
    }

    fn draw(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        self.draw_line(buffer, area, context);
        let below = Rect { y: area.y + 1, height: area.height - 1, ..area };
        if let Some(sentence) = absent(context, "yields", "plans") {
            return say(buffer, inner(below), context, &sentence);
        }
        if let Some(problem) = &self.unread {
            return panel::failure(inner(below), buffer, context.theme, problem);
        }
        if self.amounts.is_empty() {
            let hint = "No wallet yet: press / and type amounts, as in 12.5 WETH, 250k USDC@base, or paste the JSON body of a request; \
                        a adds the selected token. The plan is made at once, with a proof of how near to the best possible it is.";
            return say(buffer, inner(below), context, hint);
        }
        if let Some(problem) = &self.plan.problem {
            return panel::failure(inner(below), buffer, context.theme, &problem.detail);
        }
        let Some(known) = self.plan.answer.clone() else { return progress::skeleton(below, buffer, context.theme, context.ascii) };
        self.draw_plan(buffer, inner(below), &known.answer, context);
    }

    fn filter(&self) -> Option<&str> {
        Some(&self.line)
    }

    fn set_filter(&mut self, text: &str, context: &Context<'_>) -> Result<(), String> {
        let Some(snapshot) = context.snapshot else {
            // Read once the tokens are known.
            text.clone_into(&mut self.line);
            return Ok(());
        };
        self.read_line(text, snapshot)?;
        self.unread = None;
        self.taken = None;
        self.refresh(context);
        Ok(())
    }

    fn selected_token(&self, _: &Context<'_>) -> Option<Address> {
        self.strategy().map(|row| row.token.address)
    }

    fn needs(&self) -> Option<&'static [&'static str]> {
        Some(YieldQuestion::NEEDS)
    }

    fn request(&self, _: &Context<'_>) -> Option<Request> {
        (!self.amounts.is_empty()).then(|| Request::of(&self.question()))
    }

    fn export(&self, _: &Context<'_>) -> Option<Export> {
        Some(self.list.export("yield-plan", |place| self.strategies().get(place)))
    }

    fn save(&self) -> Value {
        let kept: Vec<Value> = self.kept.iter().map(|kept| json!({ "name": kept.name, "body": kept.body, "net": kept.net })).collect();
        let chains: Vec<&str> = self.chains.iter().map(Chain::as_str).collect();
        json!({ "wallet": self.line, "risk": self.risk.word(), "chains": chains, "min_apy": self.min_apy, "kept": kept })
    }

    fn restore(&mut self, saved: &Value) {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        self.line = text(&saved["wallet"]).unwrap_or_default();
        self.risk = RiskLevel::ALL.into_iter().find(|level| saved["risk"] == level.word()).unwrap_or(self.risk);
        self.chains = saved["chains"].as_array().into_iter().flatten().filter_map(|chain| Chain::parse(chain.as_str()?)).collect();
        self.min_apy = saved["min_apy"].as_f64().filter(|floor| floor.is_finite()).unwrap_or(0.0);
        let kept = saved["kept"].as_array().into_iter().flatten();
        let kept = kept.filter_map(|kept| Some(Kept { name: text(&kept["name"])?, body: text(&kept["body"])?, net: kept["net"].as_f64() }));
        self.kept = kept.take(KEPT_MAX).collect();
    }
}

/// A free line above the body.
fn inner(area: Rect) -> Rect {
    let free = u16::from(area.height > 20);
    Rect { y: area.y + free, height: area.height - free, ..area }
}

impl YieldView {
    fn question(&self) -> YieldQuestion {
        let scale = U256::from(self.scale);
        YieldQuestion {
            tokens: self.amounts.iter().map(|(token, amount)| (*token, amount.saturating_mul(scale))).collect(),
            risk_level: self.risk,
            chains: self.chains.clone(),
            min_apy: self.min_apy,
            explain: true,
        }
    }

    fn strategies(&self) -> &[Strategy] {
        self.plan.answer.as_ref().map_or(&[], |known| &known.answer.strategies)
    }

    fn strategy(&self) -> Option<&Strategy> {
        self.strategies().get(self.list.selected()?)
    }

    fn arrange(&mut self) {
        let strategies = self.plan.answer.as_ref().map_or(&[][..], |known| &known.answer.strategies);
        self.list.arrange(0..strategies.len(), |place| strategies.get(place));
    }

    fn did(&mut self, did: Did, context: &Context<'_>) -> Effect {
        match did {
            Did::Nothing => return Effect::Nothing,
            Did::Sorted => self.arrange(),
            _ => {}
        }
        self.selected(context)
    }

    fn selected(&self, context: &Context<'_>) -> Effect {
        match self.strategy() {
            Some(row) if context.token != Some(row.token.address) => Effect::Select(row.token.address),
            _ => Effect::Redraw,
        }
    }

    fn read_line(&mut self, text: &str, snapshot: &Snapshot) -> Result<(), String> {
        match wallet::parse(text, snapshot)? {
            Wallet::Amounts(amounts) => self.amounts = amounts,
            Wallet::Request(question) => self.take(*question),
        }
        text.clone_into(&mut self.line);
        Ok(())
    }

    fn take(&mut self, question: YieldQuestion) {
        (self.amounts, self.risk, self.chains, self.min_apy) = (question.tokens, question.risk_level, question.chains, question.min_apy);
        self.scale = 1;
    }

    /// Opens the line with the selected token behind what stands there.
    fn add(&self, context: &Context<'_>) -> Effect {
        let token = context.token.map_or_else(String::new, |token| format!("1 {}", symbol_of(context, &token)));
        if self.line.trim().is_empty() || self.line.trim_start().starts_with('{') {
            return Effect::Edit(token);
        }
        Effect::Edit(format!("{}, {token}", self.line.trim_end_matches([',', ' '])))
    }

    /// Takes the parts of the line that are the selected row's token out of it.
    fn remove(&mut self, context: &Context<'_>) -> Effect {
        let (Some(token), Some(snapshot)) = (self.strategy().map(|row| row.token.address), context.snapshot) else {
            return Effect::Say("select a row of the plan first".to_owned());
        };
        if self.line.trim_start().starts_with('{') {
            return Effect::Warn("the wallet is a JSON request: edit it with /".to_owned());
        }
        let is_other = |part: &&str| !matches!(wallet::parse(part, snapshot), Ok(Wallet::Amounts(amounts)) if amounts.contains_key(&token));
        let line = self.line.split([',', ';']).map(str::trim).filter(is_other).collect::<Vec<_>>().join(", ");
        self.unread = self.read_line(&line, snapshot).err();
        self.refresh(context);
        Effect::Redraw
    }

    /// All chains, then each chain that a token of the wallet lives on.
    fn next_chain(&mut self, context: &Context<'_>) {
        let Some(snapshot) = context.snapshot else { return };
        let mut chains: Vec<Chain> =
            self.amounts.keys().filter_map(|token| snapshot.dataset.token(token)).flat_map(|token| token.chains.clone()).collect();
        chains.sort();
        chains.dedup();
        let at = self.chains.first().and_then(|chain| chains.iter().position(|other| other == chain));
        let next = if self.chains.is_empty() { chains.first() } else { at.and_then(|at| chains.get(at + 1)) };
        self.chains = next.cloned().into_iter().collect();
    }

    fn keep(&mut self) -> Effect {
        let Some(body) = self.question().body().filter(|_| !self.amounts.is_empty()) else {
            return Effect::Say("no wallet to keep".to_owned());
        };
        if self.kept.len() == KEPT_MAX {
            return Effect::Warn(format!("{KEPT_MAX} requests are kept already: V forgets the one taken up"));
        }
        let explained = self.plan.answer.as_ref().and_then(|known| known.answer.summary.explained.as_ref());
        let name = format!("{} {}", self.kept.len() + 1, self.wishes());
        self.kept.push(Kept { name: name.clone(), body, net: explained.map(|explained| explained.net_yield_usd) });
        Effect::Say(format!("kept as {name}"))
    }

    fn take_up(&mut self, context: &Context<'_>) -> Effect {
        if self.kept.is_empty() {
            return Effect::Say("nothing is kept yet: v keeps this request".to_owned());
        }
        let at = self.taken.map_or(0, |at| (at + 1) % self.kept.len());
        let kept = self.kept[at].clone();
        match YieldQuestion::parse_body(kept.body.as_bytes()) {
            Ok(question) => {
                self.take(question);
                (self.line, self.taken, self.unread) = (kept.body, Some(at), None);
                self.refresh(context);
                Effect::Say(format!("taken up: {}", kept.name))
            }
            Err(problem) => Effect::Warn(problem.detail),
        }
    }

    fn drop_kept(&mut self) -> Effect {
        match self.taken.take().filter(|at| *at < self.kept.len()) {
            Some(at) => Effect::Say(format!("forgotten: {}", self.kept.remove(at).name)),
            None => Effect::Say("p takes up a kept request, V forgets it".to_owned()),
        }
    }

    /// The settings in a few words.
    fn wishes(&self) -> String {
        let chains: Vec<&str> = self.chains.iter().map(Chain::as_str).collect();
        let chains = if chains.is_empty() { "all chains".to_owned() } else { chains.join(", ") };
        let scale = if self.scale == 1 { String::new() } else { format!(" · ×{}", self.scale) };
        let floor = if self.min_apy == 0.0 { String::new() } else { format!(" · at least {} %", format::exact(Some(self.min_apy))) };
        format!("{} risk · {chains}{floor}{scale}", self.risk.word())
    }

    fn draw_line(&self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let theme = context.theme;
        let wishes = format!("{} ", text::truncate(&self.wishes(), usize::from(area.width) / 2));
        put_right(buffer, Rect { height: 1, ..area }, 0, &wishes, theme.accent());
        let room = Rect { width: area.width.saturating_sub(text::width(&wishes) as u16 + 2), height: 1, ..area };
        let x = 1 + put(buffer, room, 1, 0, "/ ", if self.line.is_empty() { theme.dim() } else { theme.accent() });
        let (shown, style) = if self.line.is_empty() { ("wallet", theme.style(Role::Grid)) } else { (self.line.as_str(), theme.text()) };
        put(buffer, room, x, 0, &text::truncate(shown, usize::from(room.width.saturating_sub(x))), style);
    }

    fn draw_plan(&mut self, buffer: &mut Buffer, area: Rect, plan: &YieldPlan, context: &Context<'_>) {
        draw::summary(buffer, area, plan, context);
        let below = Rect { y: area.y + 2.min(area.height), height: area.height.saturating_sub(2), ..area };
        let below = inner(below);
        let panes = match below.height {
            ..10 => 0,
            10..24 => 7,
            height => height / 2,
        };
        let rows = (plan.strategies.len() as u16 + 2).max(4);
        let table = Rect { height: (below.height - panes).min(rows), ..below };
        // In line with what stands above it.
        let inset = Rect { x: table.x + 1.min(table.width), width: table.width.saturating_sub(2), ..table };
        let frame = Frame::new(inset, "nothing can be placed within these limits: the steps below say why");
        self.list.draw(buffer, frame, context, |place| plan.strategies.get(place));
        if panes > 0 {
            let rest = Rect { y: table.bottom(), height: below.bottom() - table.bottom(), ..below };
            self.draw_panes(buffer, rest, plan, context);
        }
    }
}

#[cfg(test)]
mod tests;
