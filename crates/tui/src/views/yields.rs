//! The Yield view: a wallet on one line, its plan as a table with its optimality gap, and baseline allocations. Settings change by key and
//! are answered at once; plans can be saved and compared.

mod draw;
mod list;
mod saved;
mod wallet;

pub(super) use self::wallet::{MAX_LOCK, MINIMUM, MINIMUM_MAX, named};

use std::collections::BTreeMap;

use ruint::aliases::U256;

use self::{
    list::StrategyFields,
    saved::SavedPlan,
    wallet::{Terms, WalletInput},
};
use super::price::Price;
use crate::views::prelude::*;
use model::chain::Chain;
use query::queries::yields::{RiskLevel, YieldQuery, answer::Strategy};

const SCALES: &[u64] = &[1, 2, 4, 10];
/// The initial wallet on demo data.
const EXAMPLE: &str = "12.5 WETH, 250k USDC";
/// Cells before the wallet, and between it and the settings.
const AROUND: usize = 6;

/// The pane on screen, where only one fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pane {
    Comparison,
    Allocation,
    Steps,
}

pub struct YieldView {
    list: List<StrategyFields>,
    line: String,
    amounts: BTreeMap<Address, U256>,
    risk: RiskLevel,
    chains: Vec<Chain>,
    terms: Terms,
    scale: u64,
    /// The line before it was scaled.
    unscaled: String,
    pane: Pane,
    /// Without space under the table, the chosen pane replaces it.
    pane_replaces_table: bool,
    /// The last frame had no space under the table.
    narrow: bool,
    saved: Vec<SavedPlan>,
    /// The saved plan that is loaded.
    loaded: Option<usize>,
    /// The generation that the line was parsed with, and its error.
    read: u64,
    unread: Option<InputError>,
    /// The candles of the selected row's token, where they fit.
    price: Price,
    plan: ViewQuery<YieldQuery>,
}

impl Default for YieldView {
    fn default() -> Self {
        Self {
            list: List::default(),
            line: String::new(),
            amounts: BTreeMap::new(),
            risk: RiskLevel::Medium,
            chains: Vec::new(),
            terms: Terms::default(),
            scale: 1,
            unscaled: String::new(),
            pane: Pane::Comparison,
            pane_replaces_table: false,
            narrow: false,
            saved: Vec::new(),
            loaded: None,
            read: 0,
            unread: None,
            price: Price::default(),
            plan: ViewQuery::default(),
        }
    }
}

impl View for YieldView {
    fn refresh(&mut self, context: &Context<'_>) {
        let Some(snapshot) = context.snapshot else {
            return;
        };
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
        self.price
            .refresh(self.strategy().map(|row| row.token.address), context);
    }

    fn act(&mut self, action: Action, context: &Context<'_>) -> Effect {
        let event = self.list.act(action);
        if event != ListEvent::Nothing {
            return self.on_list_event(event, context);
        }
        match action {
            Action::Open => {
                return self.strategy().map_or(Effect::Pass, |row| {
                    Effect::Open(row.token.address, ViewId::Chart)
                });
            }
            Action::CopyValue => {
                return self
                    .strategy()
                    .and_then(|row| row.pool_id.clone())
                    .map_or(Effect::Pass, |id| Effect::Copy(id, "pool"));
            }
            Action::Star => {
                return self
                    .strategy()
                    .map_or(Effect::Pass, |row| Effect::Star(row.token.address));
            }
            Action::AddAmount => return self.add(context),
            Action::RemoveAmount => return self.remove(context),
            Action::SavePlan => return self.save_plan(),
            Action::NextPlan => return self.load_next(context),
            Action::DropPlan => return self.delete_loaded(),
            Action::Back if self.pane_replaces_table => self.pane_replaces_table = false,
            // The line above is the wallet, which Esc must not clear.
            Action::Back => return Effect::Nothing,
            Action::Risk => {
                self.risk = RiskLevel::ALL[(self.risk as usize + 1) % RiskLevel::ALL.len()];
            }
            Action::Chains => self.next_chain(context),
            Action::MinimumApy => return self.type_minimum(),
            Action::NoMinimumApy => return self.no_minimum(context),
            Action::Scale => self.next_scale(context),
            Action::NextPane => self.next_pane(),
            _ => return Effect::Pass,
        }
        self.refresh(context);
        Effect::Redraw
    }

    fn answers(&self, action: Action) -> bool {
        match action {
            Action::OpenLink => false,
            Action::NextPlan | Action::DropPlan => !self.saved.is_empty(),
            _ => true,
        }
    }

    fn mouse(&mut self, mouse: MouseEvent, context: &Context<'_>) -> Effect {
        let event = self.list.mouse(mouse);
        self.on_list_event(event, context)
    }

    fn draw_in(&mut self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        self.draw_line(buffer, area, context);
        let below = below(area, 1);
        if let Some(sentence) = missing_table(context, "yields", "plans") {
            return say(buffer, inner(below), context, &sentence);
        }
        if let Some(problem) = &self.unread {
            return panel::failure(inner(below), buffer, context.theme, &problem.to_string());
        }
        if self.amounts.is_empty() {
            let hint = "No wallet yet. Press / and type amounts, as in 12.5 WETH, 250k USDC@base, or paste the JSON body of a request; a \
                adds the selected token. The plan appears immediately, with an upper bound on what any plan could yield.";
            return say(buffer, inner(below), context, hint);
        }
        if let Some(problem) = &self.plan.problem {
            return panel::failure(inner(below), buffer, context.theme, &problem.detail);
        }
        let Some(known) = self.plan.known.clone() else {
            return progress::skeleton(below, buffer, context.theme);
        };
        self.draw_plan(buffer, inner(below), &known.answer, context);
    }

    fn filter(&self) -> Option<&str> {
        Some(&self.line)
    }

    fn set_filter(&mut self, text: &str, context: &Context<'_>) -> Result<(), InputError> {
        let Some(snapshot) = context.snapshot else {
            // Parsed once the tokens are known.
            text.clone_into(&mut self.line);
            return Ok(());
        };
        self.read_line(text, snapshot)?;
        self.unread = None;
        self.loaded = None;
        self.refresh(context);
        Ok(())
    }

    fn selected_token(&self, _: &Context<'_>) -> Option<Address> {
        self.strategy().map(|row| row.token.address)
    }

    fn undated(&self) -> &'static [&'static str] {
        &["yields", "gas"]
    }

    fn needs(&self) -> Option<&'static [&'static str]> {
        Some(YieldQuery::NEEDS)
    }

    fn request(&self, _: &Context<'_>) -> Option<HttpRequest> {
        (!self.amounts.is_empty()).then(|| HttpRequest::of(&self.question()))
    }

    fn export(&self, _: &Context<'_>) -> Option<Export> {
        let plan = self.plan.answer()?;
        // For the selected pool, its deposit step.
        let selected = self.list.selected().map(|place| 2 * place + 1);
        Some(Export::of(
            "yield-plan",
            list::EXPORTED,
            list::exported(plan),
            selected,
        ))
    }

    fn save(&self) -> Json {
        let saved: Vec<Json> = self.saved.iter().map(SavedPlan::save).collect();
        let chains: Vec<&str> = self.chains.iter().map(Chain::as_str).collect();
        let wallet = if self.scale == 1 {
            &self.line
        } else {
            &self.unscaled
        };
        json!({ "wallet": wallet, "risk": self.risk.word(), "chains": chains, "plans": saved })
    }

    fn restore(&mut self, saved: &Json) {
        let text = |value: &Json| value.as_str().map(str::to_owned);
        self.line = text(&saved["wallet"]).unwrap_or_default();
        self.risk = RiskLevel::ALL
            .into_iter()
            .find(|level| saved["risk"] == level.word())
            .unwrap_or(self.risk);
        self.chains = saved["chains"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|chain| Chain::parse(chain.as_str()?))
            .collect();
        self.saved = SavedPlan::restore_all(&saved["plans"]);
    }
}

/// A free line above the body.
fn inner(area: Rect) -> Rect {
    let free = u16::from(area.height > 20);
    below(area, free)
}

impl YieldView {
    fn question(&self) -> YieldQuery {
        let scale = U256::from(self.scale);
        YieldQuery {
            tokens: self
                .amounts
                .iter()
                .map(|(token, amount)| (*token, amount.saturating_mul(scale)))
                .collect(),
            risk_level: self.risk,
            chains: self.chains.clone(),
            min_apy: self.terms.min_apy,
            max_lock_days: self.terms.max_lock_days,
            exit_within_days: self.terms.exit_within_days,
            explain: true,
        }
    }

    fn strategies(&self) -> &[Strategy] {
        self.plan.answer().map_or(&[], |answer| &answer.strategies)
    }

    fn strategy(&self) -> Option<&Strategy> {
        self.strategies().get(self.list.selected()?)
    }

    fn arrange(&mut self) {
        let strategies = self
            .plan
            .answer()
            .map_or(&[][..], |answer| &answer.strategies);
        self.list
            .arrange(0..strategies.len(), |place| strategies.get(place));
    }

    fn on_list_event(&mut self, event: ListEvent, context: &Context<'_>) -> Effect {
        match event {
            ListEvent::Nothing => return Effect::Nothing,
            ListEvent::Sorted => self.arrange(),
            _ => {}
        }
        self.selected(context)
    }

    fn selected(&self, context: &Context<'_>) -> Effect {
        match self.strategy() {
            Some(row) if context.token != Some(row.token.address) => {
                Effect::Select(row.token.address)
            }
            _ => Effect::Redraw,
        }
    }

    fn read_line(&mut self, text: &str, snapshot: &Snapshot) -> Result<(), InputError> {
        match wallet::parse(text, snapshot)? {
            WalletInput::Typed { amounts, terms } => {
                (self.amounts, self.terms, self.scale) = (amounts, terms, 1);
                text.clone_into(&mut self.line);
            }
            WalletInput::Request(question) => self.take(*question, text, snapshot),
        }
        Ok(())
    }

    /// Takes over a request's wallet and settings. The line shows it in the typed form, and in JSON only where that form cannot express it
    /// exactly.
    fn take(&mut self, question: YieldQuery, body: &str, snapshot: &Snapshot) {
        let terms = Terms::of(&question);
        let is_said = |line: &str| wallet::means(line, &question.tokens, terms, snapshot);
        // An equivalent line keeps its order and spelling.
        if !is_said(&self.line) {
            let words = wallet::typed_form(&question.tokens, terms, snapshot);
            self.line = if is_said(&words) {
                words
            } else {
                body.to_owned()
            };
        }
        (self.amounts, self.risk, self.chains) =
            (question.tokens, question.risk_level, question.chains);
        (self.terms, self.scale) = (terms, 1);
    }

    /// Opens the line with the selected token appended.
    fn add(&self, context: &Context<'_>) -> Effect {
        let Some((token, snapshot)) = context.token.zip(context.snapshot) else {
            return Effect::Say("no token is selected; press 1 to choose one".to_owned());
        };
        if self.amounts.contains_key(&token) && !self.line.trim_start().starts_with('{') {
            // A second amount would be added to the first.
            return Effect::Edit(EditedLine::Filter, self.line.clone());
        }
        let token = format!("1 {}", wallet::name_of(&token, snapshot));
        if self.line.trim().is_empty() || self.line.trim_start().starts_with('{') {
            return Effect::Edit(EditedLine::Filter, token);
        }
        Effect::Edit(
            EditedLine::Filter,
            format!("{}, {token}", self.line.trim_end_matches([',', ' '])),
        )
    }

    /// Removes the selected row's token from the line.
    fn remove(&mut self, context: &Context<'_>) -> Effect {
        let (Some(token), Some(snapshot)) = (
            self.strategy().map(|row| row.token.address),
            context.snapshot,
        ) else {
            return Effect::Say("select a row of the plan first".to_owned());
        };
        if self.line.trim_start().starts_with('{') {
            return Effect::Warn("the wallet is a JSON request; edit it with /".to_owned());
        }
        let is_other = |part: &&str| !matches!(wallet::parse(part, snapshot), Ok(WalletInput::Typed { amounts, .. }) if amounts.contains_key(&token));
        let line = self
            .line
            .split([',', ';'])
            .map(str::trim)
            .filter(is_other)
            .collect::<Vec<_>>()
            .join(", ");
        self.unread = self.read_line(&line, snapshot).err();
        self.refresh(context);
        Effect::Redraw
    }

    /// Scales the wallet, and its line, to the next multiple.
    fn next_scale(&mut self, context: &Context<'_>) {
        let Some(snapshot) = context.snapshot else {
            return;
        };
        if self.scale == 1 {
            self.unscaled.clone_from(&self.line);
        }
        let at = SCALES.iter().position(|scale| *scale == self.scale);
        self.scale = SCALES[at.map_or(0, |at| at + 1) % SCALES.len()];
        if self.scale == 1 {
            return self.line.clone_from(&self.unscaled);
        }
        let question = self.question();
        let words = wallet::typed_form(&question.tokens, self.terms, snapshot);
        let is_said = wallet::means(&words, &question.tokens, self.terms, snapshot);
        self.line = match question.body() {
            Some(body) if !is_said => body,
            _ => words,
        };
    }

    /// Cycles the chain filter: all, then each chain of the wallet's tokens.
    fn next_chain(&mut self, context: &Context<'_>) {
        let Some(snapshot) = context.snapshot else {
            return;
        };
        let mut chains: Vec<Chain> = self
            .amounts
            .keys()
            .filter_map(|token| snapshot.dataset.token(token))
            .flat_map(|token| token.chains.clone())
            .collect();
        chains.sort();
        chains.dedup();
        let at = self
            .chains
            .first()
            .and_then(|chain| chains.iter().position(|other| other == chain));
        let next = if self.chains.is_empty() {
            chains.first()
        } else {
            at.and_then(|at| chains.get(at + 1))
        };
        self.chains = next.cloned().into_iter().collect();
    }

    /// Opens the line with the minimum APY at its end, for editing.
    fn type_minimum(&self) -> Effect {
        if self.line.trim_start().starts_with('{') {
            return Effect::Warn("the wallet is a JSON request; edit its minApy with /".to_owned());
        }
        let wallet = self.without_minimum();
        let comma = if wallet.is_empty() { "" } else { ", " };
        Effect::Edit(
            EditedLine::Filter,
            format!("{wallet}{comma}{} ", wallet::MINIMUM),
        )
    }

    fn no_minimum(&mut self, context: &Context<'_>) -> Effect {
        let Some(snapshot) = context
            .snapshot
            .filter(|_| !self.line.trim_start().starts_with('{'))
        else {
            return Effect::Warn("the wallet is a JSON request; edit its minApy with /".to_owned());
        };
        let line = self.without_minimum();
        self.unread = self.read_line(&line, snapshot).err();
        self.refresh(context);
        Effect::Redraw
    }

    /// The line without its minimum APY.
    fn without_minimum(&self) -> String {
        let others = self
            .line
            .split([',', ';'])
            .map(str::trim)
            .filter(|part| !part.is_empty() && wallet::minimum(part).is_none());
        others.collect::<Vec<_>>().join(", ")
    }

    /// The settings in a few words.
    fn settings_text(&self) -> String {
        format!(
            "{} risk · min APY {}%{}",
            self.risk.word(),
            format::exact(Some(self.terms.min_apy)),
            self.limits()
        )
    }

    /// ` · base only · ×2`
    fn limits(&self) -> String {
        let chains: Vec<&str> = self.chains.iter().map(Chain::as_str).collect();
        let chains = if chains.is_empty() {
            String::new()
        } else {
            format!(" · {} only", chains.join(", "))
        };
        let scale = if self.scale == 1 {
            String::new()
        } else {
            format!(" · ×{}", self.scale)
        };
        let days = |name: &str, days: Option<f64>| {
            days.map_or_else(String::new, |days| {
                format!(" · {name} ≤ {} d", format::fixed(days, 0))
            })
        };
        let lock = days("lock", self.terms.max_lock_days);
        let exit = days("exit", self.terms.exit_within_days);
        format!("{chains}{lock}{exit}{scale}")
    }

    /// Draws the wallet, and at the right the settings in as many words as fit.
    fn draw_line(&self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let theme = context.theme;
        let (shown, style) = if self.line.is_empty() {
            ("wallet", theme.dim())
        } else {
            (self.line.as_str(), theme.text())
        };
        let left = usize::from(area.width).saturating_sub(text::width(shown) + AROUND);
        // The minimum APY is dropped first: the wallet's line shows it too.
        let risk = self.risk.word();
        let settings = text::longest_that_fits(
            [
                self.settings_text(),
                format!("{risk} risk{}", self.limits()),
                format!("{risk} risk"),
            ],
            left,
        );
        let (settings, _) = with_today(settings, &["yields"], context);
        let settings = format!(
            "{} ",
            text::truncate(&settings, usize::from(area.width) / 2)
        );
        put_right(
            buffer,
            Rect { height: 1, ..area },
            0,
            &settings,
            theme.accent(),
        );
        let room = Rect {
            width: area.width.saturating_sub(text::width(&settings) as u16 + 2),
            height: 1,
            ..area
        };
        let x = 1 + put(
            buffer,
            room,
            1,
            0,
            "/ ",
            if self.line.is_empty() {
                theme.dim()
            } else {
                theme.accent()
            },
        );
        put(buffer, room, x, 0, shown, style);
    }
}

#[cfg(test)]
mod tests;
