//! How a plan is drawn: its figures and its proof, the allocation by protocol and chain, the comparison, the steps. Everything shown is
//! the answer's.

use ratatui::{buffer::Buffer, layout::Rect};

use super::{Kept, Pane, YieldView};
use crate::{
    question::yields::answer::{Allocation, YieldPlan},
    tui::{
        format, text,
        theme::Role,
        view::Context,
        views::{many, parts::low_bar},
        widgets::{panel::Panel, put, put_right},
    },
};

/// From here on the panes stand beside each other.
const WIDE: u16 = 120;

/// What an alternative is called.
const NAMES: &[(&str, &str)] = &[("highest_apy", "all into the highest APY"), ("by_quoted_apy", "filled by quoted APY")];

fn usd(value: f64) -> String {
    let whole = format::fixed(value.abs(), 2);
    if value < 0.0 { format!("-{whole}") } else { whole }
}

/// Words and figures in a row, as many as fit; the column after them.
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

/// The plan's figures, and how near it is to the best there can be.
pub(super) fn summary(buffer: &mut Buffer, area: Rect, plan: &YieldPlan, context: &Context<'_>) {
    let summary = &plan.summary;
    let Some(explained) = &summary.explained else { return };
    let row = |y: u16| Rect { y: area.y + y, height: 1.min(area.height.saturating_sub(y)), ..area };
    let figures = [
        ("net a year", format!("{} USD", usd(explained.net_yield_usd)), Role::Up),
        ("on", usd(summary.total_value_usd), Role::Text),
        ("at", format!("{} %", format::fixed(summary.weighted_apy, 2)), Role::Text),
        ("gas", usd(summary.gas_estimate_usd), Role::Text),
        ("idle", usd(explained.idle_value_usd), Role::Text),
        ("pools", format!("{} of {} eligible", plan.strategies.len(), format::count(explained.eligible_pools)), Role::Text),
    ];
    pairs(buffer, row(0), &figures, context);
    let (sentence, role) = match explained.gap_percent {
        Some(gap) => (format!("within {} % of the best possible", format::fixed(gap, 2)), Role::Up),
        None => ("nothing is placed; more may be possible".to_owned(), Role::Warning),
    };
    let proof = [("proved", sentence, role), ("no plan nets over", usd(explained.upper_bound_usd), Role::Text)];
    pairs(buffer, row(1), &proof, context);
}

impl YieldView {
    /// The panes under the table: all of them where there is room, else the one that was chosen.
    pub(super) fn draw_panes(&self, buffer: &mut Buffer, area: Rect, plan: &YieldPlan, context: &Context<'_>) {
        if area.width < WIDE {
            return self.draw_pane(buffer, area, self.pane, plan, context);
        }
        let (left, middle) = (area.width * 37 / 100, area.width * 27 / 100);
        let mut x = area.x;
        for (pane, width) in [(Pane::Comparison, left), (Pane::Allocation, middle), (Pane::Steps, area.width - left - middle)] {
            let gap = if x + width < area.right() { 2 } else { 0 };
            self.draw_pane(buffer, Rect { x, width: width - gap, ..area }, pane, plan, context);
            x += width;
        }
    }

    fn draw_pane(&self, buffer: &mut Buffer, area: Rect, pane: Pane, plan: &YieldPlan, context: &Context<'_>) {
        let (title, note) = match pane {
            Pane::Comparison => ("compared", "net a year"),
            Pane::Allocation => ("allocation", "share of what is placed"),
            Pane::Steps => ("steps", "gas, USD"),
        };
        let body = Panel { note, ascii: context.ascii, ..Panel::new(title) }.render(area, buffer, context.theme);
        match pane {
            Pane::Comparison => comparison(buffer, body, plan, &self.kept, context),
            Pane::Allocation => allocation(buffer, body, plan, context),
            Pane::Steps => steps(buffer, body, plan, context),
        }
    }
}

fn comparison(buffer: &mut Buffer, area: Rect, plan: &YieldPlan, kept: &[Kept], context: &Context<'_>) {
    let theme = context.theme;
    let net = plan.summary.explained.as_ref().map(|explained| explained.net_yield_usd);
    let mut rows = vec![("this plan".to_owned(), net.map_or_else(String::new, usd), String::new(), Role::Up)];
    for alternative in plan.alternatives.iter().flatten() {
        let name = NAMES.iter().find(|(known, _)| *known == alternative.name).map_or(alternative.name, |(_, name)| name);
        let sign = if alternative.plan_advantage_usd > 0.0 { "-" } else { "+" };
        let less = format!("{sign}{}", format::fixed(alternative.plan_advantage_usd.abs(), 2));
        rows.push((name.to_owned(), usd(alternative.net_yield_usd), less, Role::Text));
    }
    rows.extend(
        kept.iter().map(|kept| (format!("kept: {}", kept.name), kept.net.map_or_else(String::new, usd), String::new(), Role::Text)),
    );
    let tail = rows.iter().map(|(_, _, less, _)| text::width(less) as u16 + 2).max().unwrap_or_default();
    for (y, (name, net, less, role)) in rows.iter().enumerate().take(usize::from(area.height)) {
        let row = Rect { y: area.y + y as u16, height: 1, ..area };
        put_right(buffer, row, 0, less, theme.style(Role::Down));
        let figures = Rect { width: row.width.saturating_sub(tail), ..row };
        put_right(buffer, figures, 0, net, theme.style(*role));
        let room = usize::from(figures.width).saturating_sub(text::width(net) + 3);
        put(buffer, row, 1, 0, &text::truncate(name, room), theme.text());
    }
}

fn allocation(buffer: &mut Buffer, area: Rect, plan: &YieldPlan, context: &Context<'_>) {
    let Some(shares) = &plan.allocation else { return };
    let rows = |kind: &'static str, list: &'_ [Allocation]| list.iter().map(|share| (kind, share.clone())).collect::<Vec<_>>();
    // Chains are few; the protocols get the rest.
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
        put(buffer, row, name as u16 + 2, 0, &low_bar(share.share, cells, context.ascii), context.theme.style(role));
        put_right(buffer, row, 0, &format!("{} ", format::share(Some(share.share))), context.theme.text());
    }
}

fn steps(buffer: &mut Buffer, area: Rect, plan: &YieldPlan, context: &Context<'_>) {
    let shown = usize::from(area.height);
    let more = plan.steps.len().saturating_sub(shown);
    // What is held is what must not be missed, so it stays where not all fits.
    let kept = if more > 0 { shown.saturating_sub(1) } else { shown };
    let (held, moves): (Vec<_>, Vec<_>) = plan.steps.iter().partition(|step| step.action.starts_with("Hold "));
    let first = moves.len().min(kept.saturating_sub(held.len().min(kept / 2)));
    let rows = moves[..first].iter().chain(&held).take(kept);
    for (y, step) in rows.enumerate() {
        let row = Rect { y: area.y + y as u16, height: 1, ..area };
        let gas = step.gas_estimate_usd.map_or_else(|| format::MISSING.to_owned(), |gas| format::fixed(gas, 2));
        let held = step.action.starts_with("Hold ");
        put_right(buffer, row, 0, &format!("{gas} "), context.theme.dim());
        let room = usize::from(row.width).saturating_sub(text::width(&gas) + 4);
        let style = if held { context.theme.style(Role::Warning) } else { context.theme.text() };
        put(buffer, row, 1, 0, &text::truncate(&step.action, room), style);
    }
    if more > 0 {
        let row = Rect { y: area.y + kept as u16, height: 1.min(area.height), ..area };
        put(buffer, row, 1, 0, &format!("… {} in all", many(plan.steps.len() as u64, "step", "steps")), context.theme.dim());
    }
}
