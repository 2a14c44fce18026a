//! Draws a plan: figures and optimality gap, allocation by protocol and chain, comparison, steps. All values come from the result.

use super::{Pane, YieldView, inner, saved::SavedPlan};
use crate::prelude::*;
use analysis::yields::expected::{YieldDoubt, YieldRemark};
use query::question::yields::answer::{Allocation, Step, Strategy, YieldPlan};

/// From this width two panes are side by side.
const WIDE: u16 = 120;
/// From this width all three are.
const WIDEST: u16 = 180;
/// Minimum number of rows of the selected row's detail, with its title.
const SELECTED_ROWS: u16 = 8;

/// Display names of the alternatives.
const NAMES: &[(&str, &str)] =
    &[("highest_apy", "best pool only"), ("highest_apy_unlimited", "highest APY, no limits"), ("by_quoted_apy", "by quoted APY")];

fn usd(value: f64) -> String {
    let whole = format::fixed(value.abs(), 2);
    if value < 0.0 && whole != "0.00" { format!("-{whole}") } else { whole }
}

/// The difference to the plan, with its color; a difference that rounds to zero has neither sign nor color.
fn difference(value: f64) -> (String, Role) {
    match usd(value) {
        same if same == "0.00" => (same, Role::Dim),
        less if value < 0.0 => (less, Role::Down),
        more => (format!("+{more}"), Role::Up),
    }
}

/// A risk score, from 0 for the safest to 100.
fn risk(score: Option<f64>) -> String {
    score.map_or_else(|| format::MISSING.to_owned(), |score| format::fixed(score, 0))
}

/// The basis of the expected APY.
fn basis(row: &Strategy) -> String {
    match row.expected_days {
        Some(days) if days > 0 => format!(", median of {days} days"),
        _ => ", as quoted".to_owned(),
    }
}

/// The reasons to doubt the quoted APY; empty if there are none.
fn doubts(row: &Strategy) -> String {
    let word = |remark: &YieldRemark| {
        let usual = remark.usual_apy.map_or_else(String::new, |apy| format::fixed(apy, 2));
        match remark.code {
            YieldDoubt::StuckAtZero => "the pool paid nothing on most of the last 30 days".to_owned(),
            YieldDoubt::AboveHistory => format!("the quote exceeds every earlier day (highest {usual}%)"),
            YieldDoubt::AboveMean => format!("the 30-day mean is only {usual}%"),
            YieldDoubt::TwoSided => "you may withdraw a different token than you deposited".to_owned(),
            YieldDoubt::Outlier => "the dataset marks the pool as an outlier".to_owned(),
        }
    };
    row.remarks.iter().flatten().map(word).collect::<Vec<_>>().join("; ")
}

/// Draws as many label and value pairs as fit; returns the next column.
fn pairs(buffer: &mut Buffer, row: Rect, pairs: &[(&str, String, Role)], context: &Context<'_>) {
    let mut x = 1;
    for (word, value, role) in pairs {
        let needed = (text::width(word) + text::width(value) + 4) as u16;
        if x + needed > row.width {
            break;
        }
        x += put(buffer, row, x, 0, word, context.theme.dim()) + 1;
        x += put(buffer, row, x, 0, value, context.theme.style(*role)) + 3;
    }
}

/// Draws the plan's metrics and its optimality gap.
pub(super) fn summary(buffer: &mut Buffer, area: Rect, plan: &YieldPlan, level: &str, context: &Context<'_>) {
    let summary = &plan.summary;
    let Some(explained) = &summary.explained else { return };
    let row = |y: u16| Rect { y: area.y + y, height: 1.min(area.height.saturating_sub(y)), ..area };
    // A person reads the APY as the wallet's: where money lies idle, both are named.
    let [placed, whole] = [summary.weighted_apy, explained.wallet_apy].map(|apy| format::fixed(apy, 2));
    let apy = if placed == whole { format!("{placed}%") } else { format!("{placed}% allocated, {whole}% of the wallet") };
    let figures = [
        ("net yield/yr", format!("{} USD", usd(explained.net_yield_usd)), Role::Up),
        ("APY", apy, Role::Text),
        ("allocated", usd(summary.total_value_usd), Role::Text),
        ("risk", risk(explained.risk_score), Role::Text),
        ("gas", usd(summary.gas_estimate_usd), Role::Text),
        ("idle", usd(explained.idle_value_usd), Role::Text),
        ("pools", format!("{} of {} eligible", plan.strategies.len(), format::count(explained.eligible_pools)), Role::Text),
    ];
    pairs(buffer, row(0), &figures, context);
    let (word, sentence, role) = match explained.gap_percent {
        Some(gap) if format::fixed(gap, 2) == "0.00" => ("proven", format!("optimal for {level} risk"), Role::Up),
        Some(gap) => ("proven", format!("within {}% of the optimum for {level} risk", format::fixed(gap, 2)), Role::Up),
        None => ("nothing allocated", "a better plan may exist".to_owned(), Role::Warning),
    };
    pairs(buffer, row(1), &[(word, sentence, role), ("upper bound", usd(explained.upper_bound_usd), Role::Text)], context);
}

/// `: size 6 of 30, age 3 of 15`: the parts of a pool's risk score that add to it.
fn risk_parts(row: &Strategy) -> String {
    let parts = row.risk_parts.iter().flatten().filter(|part| part.points >= 0.5);
    let said: Vec<String> = parts.map(|part| format!("{} {} of {}", part.name, format::fixed(part.points, 0), part.most)).collect();
    if said.is_empty() { String::new() } else { format!(": {}", said.join(", ")) }
}

/// Draws the plan's caveats; returns the remaining area.
fn notes(buffer: &mut Buffer, area: Rect, plan: &YieldPlan, context: &Context<'_>) -> Rect {
    let width = usize::from(area.width.saturating_sub(2));
    // The table matters more where there is little room.
    let most = usize::from(area.height / 8);
    let lines: Vec<String> = plan.notes.iter().flatten().flat_map(|note| text::wrap(note, width, 2)).take(most).collect();
    for (y, line) in lines.iter().enumerate() {
        put(buffer, area, 1, y as u16, line, context.theme.style(Role::Warning));
    }
    below(area, lines.len() as u16)
}

impl YieldView {
    /// Cycles comparison, allocation, steps; where only one thing fits, then the table again.
    pub(super) fn next_pane(&mut self) {
        if self.narrow && !self.pane_replaces_table {
            (self.pane, self.pane_replaces_table) = (Pane::Comparison, true);
            return;
        }
        (self.pane, self.pane_replaces_table) = match self.pane {
            Pane::Comparison => (Pane::Allocation, self.pane_replaces_table),
            Pane::Allocation => (Pane::Steps, self.pane_replaces_table),
            Pane::Steps => (Pane::Comparison, false),
        };
    }

    pub(super) fn draw_plan(&mut self, buffer: &mut Buffer, area: Rect, plan: &YieldPlan, context: &Context<'_>) {
        summary(buffer, area, plan, self.risk.word(), context);
        let below = self::notes(buffer, below(area, 2), plan, context);
        let below = inner(below);
        let panes_height = match below.height {
            ..10 => 0,
            10..24 => 7,
            height => height / 2,
        };
        self.narrow = panes_height == 0;
        // With nothing deposited, the steps give the reasons.
        let pane = if plan.strategies.is_empty() { Pane::Steps } else { self.pane };
        if self.narrow && (self.pane_replaces_table || plan.strategies.is_empty()) {
            return self.draw_pane(buffer, below, pane, plan, context);
        }
        let rows = (plan.strategies.len() as u16 + 2).max(4);
        let table = Rect { height: (below.height - panes_height).min(rows), ..below };
        // Aligned with the lines above.
        let inset = Rect { x: table.x + 1.min(table.width), width: table.width.saturating_sub(2), ..table };
        let frame = ListFrame::new(inset, "nothing can be allocated within these limits; the steps below give the reasons");
        self.list.fit_figures(&plan.strategies.iter().collect::<Vec<_>>(), context);
        self.list.draw(buffer, frame, context, |place| plan.strategies.get(place));
        let rest = Rect { y: table.bottom(), height: below.bottom() - table.bottom(), ..below };
        // Spare space below the panes shows the selected row in detail.
        let pane_lines = plan.steps.len().max(plan.alternatives.iter().flatten().count() + 1 + self.saved.len()) as u16 + 2;
        let spare = rest.height.saturating_sub(pane_lines);
        let has_detail = panes_height > 0 && below.width >= WIDE && spare >= SELECTED_ROWS;
        let panes = Rect { height: rest.height - if has_detail { spare } else { 0 }, ..rest };
        self.draw_selected(buffer, Rect { y: panes.bottom(), height: rest.height - panes.height, ..rest }, plan, context);
        if panes_height > 0 {
            self.draw_panes(buffer, panes, pane, plan, context);
        } else if rest.height > 0 {
            put(buffer, Rect { y: rest.bottom() - 1, height: 1, ..rest }, 1, 0, "n comparison, allocation, steps", context.theme.dim());
        }
    }

    /// Draws the selected row in detail, with its token's candles.
    fn draw_selected(&mut self, buffer: &mut Buffer, area: Rect, plan: &YieldPlan, context: &Context<'_>) {
        let left = Rect { width: area.width * 45 / 100, ..area };
        let right = Rect { x: left.right(), width: area.width - left.width, ..area };
        self.price.draw(buffer, right, context);
        let selected = self.list.selected().and_then(|place| plan.strategies.get(place));
        let Some(row) = selected.filter(|_| !area.is_empty()) else { return };
        let missing = || format::MISSING.to_owned();
        let percent = |value: Option<f64>| value.map_or_else(missing, |value| format!("{}%", format::fixed(value, 4)));
        let dollars = |value: Option<f64>| value.map_or_else(missing, |value| format!("{} USD", usd(value)));
        let facts = [
            // What the table has not comes first, as the last rows may not fit.
            ("risk", row.risk_score.map_or_else(missing, |score| format!("{} of 100{}", format::fixed(score, 0), risk_parts(row)))),
            ("share", format!("{} of the allocation, {} of the wallet", format::share(row.share), format::share(row.wallet_share))),
            ("net APY", percent(Some(row.apy))),
            ("quoted APY", percent(row.quoted_apy)),
            ("expected APY", format!("{}{}", percent(row.expected_apy), basis(row))),
            ("caveats", doubts(row)),
            ("pool TVL", dollars(Some(row.tvl))),
            ("pool", row.pool_id.clone().unwrap_or_else(missing)),
            ("token", row.token.address.to_string()),
            ("value", dollars(row.value_usd)),
            ("amount", row.tokens.clone().unwrap_or_else(missing)),
            ("protocol", row.protocol.clone().unwrap_or_else(missing)),
            ("chain", row.chain.to_string()),
        ];
        let title = format!("{} {}", row.protocol.as_deref().unwrap_or("pool"), row.token.symbol.as_deref().unwrap_or_default());
        let panel = Panel { note: "y copies the pool id", ..Panel::new(&title) };
        let body = panel.render(Rect { width: left.width.saturating_sub(2), ..left }, buffer, context.theme);
        let mut y = 0;
        for (word, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
            put(buffer, body, 1, y, word, context.theme.dim());
            let room = Rect { x: body.x + 14.min(body.width), width: body.width.saturating_sub(14), ..body };
            y += put_wrapped(buffer, room, 0, y, value, 2, context.theme.style(role_of(value)));
        }
    }

    /// Draws the panes under the table: all three if they fit, otherwise two, otherwise the chosen one.
    pub(super) fn draw_panes(&self, buffer: &mut Buffer, area: Rect, pane: Pane, plan: &YieldPlan, context: &Context<'_>) {
        if area.width < WIDE {
            return self.draw_pane(buffer, area, pane, plan, context);
        }
        let left = area.width * 45 / 100;
        // The table has the shares too: below this width the steps take the allocation's space.
        let shown = if area.width >= WIDEST {
            let middle = area.width * 23 / 100;
            vec![(Pane::Comparison, left), (Pane::Allocation, middle), (Pane::Steps, area.width - left - middle)]
        } else {
            let right = if pane == Pane::Allocation { pane } else { Pane::Steps };
            vec![(Pane::Comparison, left), (right, area.width - left)]
        };
        let mut x = area.x;
        for (pane, width) in shown {
            let gap = if x + width < area.right() { 2 } else { 0 };
            self.draw_pane(buffer, Rect { x, width: width - gap, ..area }, pane, plan, context);
            x += width;
        }
    }

    pub(super) fn draw_pane(&self, buffer: &mut Buffer, area: Rect, pane: Pane, plan: &YieldPlan, context: &Context<'_>) {
        let (title, note) = match pane {
            Pane::Comparison => ("comparison", "risk · net yield/yr · vs this plan"),
            Pane::Allocation => ("allocation", "share of the allocation"),
            Pane::Steps => ("steps", "gas, USD"),
        };
        let body = Panel { note, ..Panel::new(title) }.render(area, buffer, context.theme);
        match pane {
            Pane::Comparison => comparison(buffer, body, plan, &self.saved, context),
            Pane::Allocation => allocation(buffer, body, plan, context),
            Pane::Steps => steps(buffer, body, plan, context),
        }
    }
}

/// One line of the comparison.
struct Compared {
    name: String,
    /// A remark, dropped where it does not fit.
    rest: &'static str,
    risk: String,
    net: String,
    more: (String, Role),
}

fn comparison(buffer: &mut Buffer, area: Rect, plan: &YieldPlan, saved: &[SavedPlan], context: &Context<'_>) {
    let theme = context.theme;
    let explained = plan.summary.explained.as_ref();
    let none = || (String::new(), Role::Dim);
    let mut rows = vec![Compared {
        name: "this plan".to_owned(),
        rest: "",
        risk: risk(explained.and_then(|explained| explained.risk_score)),
        net: explained.map_or_else(String::new, |explained| usd(explained.net_yield_usd)),
        more: none(),
    }];
    rows.extend(plan.alternatives.iter().flatten().map(|alternative| {
        let name = NAMES.iter().find(|(known, _)| *known == alternative.name).map_or(alternative.name, |(_, name)| name);
        Compared {
            name: name.to_owned(),
            rest: if usd(alternative.idle_value_usd) == "0.00" { "" } else { ", rest idle" },
            risk: risk(alternative.risk_score),
            net: usd(alternative.net_yield_usd),
            more: difference(-alternative.plan_advantage_usd),
        }
    }));
    rows.extend(saved.iter().map(|saved| Compared {
        name: format!("saved {}", saved.name),
        rest: "",
        risk: risk(saved.risk),
        net: saved.net.map_or_else(|| format::MISSING.to_owned(), usd),
        more: saved.net.zip(explained).map_or_else(none, |(net, explained)| difference(net - explained.net_yield_usd)),
    }));
    let widest = |of: fn(&Compared) -> &str| rows.iter().map(|row| text::width(of(row)) as u16 + 2).max().unwrap_or_default();
    let [more, net, scores] = [widest(|row| &row.more.0), widest(|row| &row.net), widest(|row| &row.risk)];
    for (y, compared) in rows.iter().enumerate().take(usize::from(area.height)) {
        let row = Rect { y: area.y + y as u16, height: 1, width: area.width.saturating_sub(1), ..area };
        let left = |taken: u16| Rect { width: row.width.saturating_sub(taken), ..row };
        put_right(buffer, row, 0, &compared.more.0, theme.style(compared.more.1));
        put_right(buffer, left(more), 0, &compared.net, theme.style(if y == 0 { Role::Up } else { Role::Text }));
        put_right(buffer, left(more + net), 0, &compared.risk, theme.dim());
        let room = usize::from(left(more + net + scores).width).saturating_sub(1);
        let whole = format!("{}{}", compared.name, compared.rest);
        let name = if text::width(&whole) <= room { whole } else { text::truncate(&compared.name, room).into_owned() };
        put(buffer, row, 1, 0, &name, theme.text());
    }
}

fn allocation(buffer: &mut Buffer, area: Rect, plan: &YieldPlan, context: &Context<'_>) {
    let Some(shares) = &plan.allocation else { return };
    let rows = |kind: &'static str, list: &'_ [Allocation]| list.iter().map(|share| (kind, share.clone())).collect::<Vec<_>>();
    // Chains are few; protocols get the remaining rows.
    let chains = rows("chain", &shares.chains);
    let room = usize::from(area.height).saturating_sub(chains.len().min(3));
    let all = rows("", &shares.protocols).into_iter().take(room).chain(chains);
    let name = 18.min(usize::from(area.width) / 3);
    let cells = usize::from(area.width).saturating_sub(name + 14);
    for (y, (kind, share)) in all.enumerate().take(usize::from(area.height)) {
        let row = Rect { y: area.y + y as u16, height: 1, ..area };
        let label = if kind.is_empty() { share.name.clone() } else { format!("on {}", share.name) };
        let role = if kind.is_empty() { Role::Accent } else { Role::Dim };
        put(buffer, row, 1, 0, &text::truncate(&label, name), context.theme.text());
        put(buffer, row, name as u16 + 2, 0, &low_bar(share.share, cells), context.theme.style(role));
        put_right(buffer, row, 0, &format!("{} ", format::share(Some(share.share))), context.theme.text());
    }
}

fn steps(buffer: &mut Buffer, area: Rect, plan: &YieldPlan, context: &Context<'_>) {
    let shown = usize::from(area.height);
    let more = plan.steps.len().saturating_sub(shown);
    // Idle holdings are the most important steps, so they stay when not all fit.
    let kept = if more > 0 { shown.saturating_sub(1) } else { shown };
    // Each deposit has an approval step before it; idle holdings follow.
    let doubts_of = |at: usize| plan.strategies.get(at / 2).filter(|_| at % 2 == 1).map(doubts).unwrap_or_default();
    let all = plan.steps.iter().enumerate().map(|(at, step)| (step, doubts_of(at)));
    let (held, moves): (Vec<_>, Vec<_>) = all.partition(|(step, _)| is_hold(step));
    let first = moves.len().min(kept.saturating_sub(held.len().min(kept / 2)));
    let rows = moves[..first].iter().chain(&held).take(kept);
    for (y, (step, doubts)) in rows.enumerate() {
        let row = Rect { y: area.y + y as u16, height: 1, ..area };
        let gas = step.gas_estimate_usd.map_or_else(|| format::MISSING.to_owned(), |gas| format::fixed(gas, 2));
        put_right(buffer, row, 0, &format!("{gas} "), context.theme.dim());
        let room = usize::from(row.width).saturating_sub(text::width(&gas) + 4);
        let warning = context.theme.style(Role::Warning);
        let style = if is_hold(step) { warning } else { context.theme.text() };
        let told = put(buffer, row, 1, 0, &text::truncate(&step.action, room), style);
        let rest = room.saturating_sub(usize::from(told) + 2);
        put(buffer, row, told + 3, 0, &text::truncate(doubts, rest), warning);
    }
    if more > 0 {
        let row = Rect { y: area.y + kept as u16, height: 1.min(area.height), ..area };
        put(buffer, row, 1, 0, &format!("… {} in total", many(plan.steps.len() as u64, "step", "steps")), context.theme.dim());
    }
}

fn is_hold(step: &Step) -> bool {
    step.action.starts_with("Hold ")
}
