//! Draws the panes under a plan's table: comparison with other plans, allocation by protocol and chain, steps.

use super::{
    super::{Pane, YieldView, saved::SavedPlan},
    WIDE, doubts, risk, usd,
};
use crate::views::prelude::*;
use query::queries::yields::answer::{Allocation, Step, YieldPlan};

/// From this width all three panes are side by side.
const WIDEST: u16 = 180;

/// Display names of the alternatives.
const NAMES: &[(&str, &str)] = &[
    ("highest_apy", "best pool per token"),
    ("highest_apy_unlimited", "highest quoted APY, no limits"),
    ("by_quoted_apy", "by quoted APY"),
];

impl YieldView {
    /// Draws the panes under the table: all three if they fit, otherwise two, otherwise the chosen one.
    pub(super) fn draw_panes(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        pane: Pane,
        plan: &YieldPlan,
        context: &Context<'_>,
    ) {
        if area.width < WIDE {
            return self.draw_pane(buffer, area, pane, plan, context);
        }
        let left = area.width * 45 / 100;
        // The table has the shares too: below this width the steps take the allocation's space.
        let shown = if area.width >= WIDEST {
            let middle = area.width * 23 / 100;
            vec![
                (Pane::Comparison, left),
                (Pane::Allocation, middle),
                (Pane::Steps, area.width - left - middle),
            ]
        } else {
            let right = if pane == Pane::Allocation {
                pane
            } else {
                Pane::Steps
            };
            vec![(Pane::Comparison, left), (right, area.width - left)]
        };
        let mut x = area.x;
        for (pane, width) in shown {
            let gap = if x + width < area.right() { 2 } else { 0 };
            self.draw_pane(
                buffer,
                Rect {
                    x,
                    width: width - gap,
                    ..area
                },
                pane,
                plan,
                context,
            );
            x += width;
        }
    }

    pub(super) fn draw_pane(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        pane: Pane,
        plan: &YieldPlan,
        context: &Context<'_>,
    ) {
        let (title, note) = match pane {
            Pane::Comparison => ("comparison", "risk · net/yr · vs plan"),
            Pane::Allocation => ("allocation", "share of the allocation"),
            Pane::Steps => ("steps", "gas, USD"),
        };
        let body = Panel {
            note,
            ..Panel::new(title)
        }
        .render(area, buffer, context.theme);
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

fn comparison(
    buffer: &mut Buffer,
    area: Rect,
    plan: &YieldPlan,
    saved: &[SavedPlan],
    context: &Context<'_>,
) {
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
        let name = NAMES
            .iter()
            .find(|(known, _)| *known == alternative.name)
            .map_or(alternative.name, |(_, name)| name);
        Compared {
            name: name.to_owned(),
            rest: if usd(alternative.idle_value_usd) == "0.00" {
                ""
            } else {
                ", rest idle"
            },
            risk: risk(alternative.risk_score),
            net: usd(alternative.net_yield_usd),
            more: difference(-alternative.plan_advantage_usd),
        }
    }));
    rows.extend(saved.iter().map(|saved| {
        Compared {
            name: format!("saved {}", saved.name),
            rest: "",
            risk: risk(saved.risk),
            net: saved.net.map_or_else(|| format::MISSING.to_owned(), usd),
            more: saved
                .net
                .zip(explained)
                .map_or_else(none, |(net, explained)| {
                    difference(net - explained.net_yield_usd)
                }),
        }
    }));
    let widest = |of: fn(&Compared) -> &str| {
        rows.iter()
            .map(|row| text::width(of(row)) as u16 + 2)
            .max()
            .unwrap_or_default()
    };
    let [more, net, scores] = [
        widest(|row| &row.more.0),
        widest(|row| &row.net),
        widest(|row| &row.risk),
    ];
    for (y, compared) in rows.iter().enumerate().take(usize::from(area.height)) {
        let row = Rect {
            y: area.y + y as u16,
            height: 1,
            width: area.width.saturating_sub(1),
            ..area
        };
        let left = |taken: u16| Rect {
            width: row.width.saturating_sub(taken),
            ..row
        };
        put_right(
            buffer,
            row,
            0,
            &compared.more.0,
            theme.style(compared.more.1),
        );
        put_right(
            buffer,
            left(more),
            0,
            &compared.net,
            theme.style(if y == 0 { Role::Up } else { Role::Text }),
        );
        put_right(buffer, left(more + net), 0, &compared.risk, theme.dim());
        let room = usize::from(left(more + net + scores).width).saturating_sub(1);
        let whole = format!("{}{}", compared.name, compared.rest);
        let name = if text::width(&whole) <= room {
            whole
        } else {
            text::truncate(&compared.name, room).into_owned()
        };
        put(buffer, row, 1, 0, &name, theme.text());
    }
}

fn allocation(buffer: &mut Buffer, area: Rect, plan: &YieldPlan, context: &Context<'_>) {
    let Some(shares) = &plan.allocation else {
        return;
    };
    let rows = |kind: &'static str, list: &'_ [Allocation]| {
        list.iter()
            .map(|share| (kind, share.clone()))
            .collect::<Vec<_>>()
    };
    // Chains are few; protocols get the remaining rows.
    let chains = rows("chain", &shares.chains);
    let room = usize::from(area.height).saturating_sub(chains.len().min(3));
    let all = rows("", &shares.protocols)
        .into_iter()
        .take(room)
        .chain(chains);
    let name = 18.min(usize::from(area.width) / 3);
    let cells = usize::from(area.width).saturating_sub(name + 14);
    for (y, (kind, share)) in all.enumerate().take(usize::from(area.height)) {
        let row = Rect {
            y: area.y + y as u16,
            height: 1,
            ..area
        };
        let label = if kind.is_empty() {
            share.name.clone()
        } else {
            format!("on {}", share.name)
        };
        let role = if kind.is_empty() {
            Role::Accent
        } else {
            Role::Dim
        };
        put(
            buffer,
            row,
            1,
            0,
            &text::truncate(&label, name),
            context.theme.text(),
        );
        put(
            buffer,
            row,
            name as u16 + 2,
            0,
            &low_bar(share.share, cells),
            context.theme.style(role),
        );
        put_right(
            buffer,
            row,
            0,
            &format!("{} ", format::share(Some(share.share))),
            context.theme.text(),
        );
    }
}

fn steps(buffer: &mut Buffer, area: Rect, plan: &YieldPlan, context: &Context<'_>) {
    let shown = usize::from(area.height);
    let more = plan.steps.len().saturating_sub(shown);
    // Idle holdings are the most important steps, so they stay when not all fit.
    let kept = if more > 0 {
        shown.saturating_sub(1)
    } else {
        shown
    };
    // Each deposit has an approval step before it; idle holdings follow.
    let doubts_of = |at: usize| {
        plan.strategies
            .get(at / 2)
            .filter(|_| at % 2 == 1)
            .map(doubts)
            .unwrap_or_default()
    };
    let all = plan
        .steps
        .iter()
        .enumerate()
        .map(|(at, step)| (step, doubts_of(at)));
    let (held, moves): (Vec<_>, Vec<_>) = all.partition(|(step, _)| is_hold(step));
    let first = moves
        .len()
        .min(kept.saturating_sub(held.len().min(kept / 2)));
    let rows = moves[..first].iter().chain(&held).take(kept);
    for (y, (step, doubts)) in rows.enumerate() {
        let row = Rect {
            y: area.y + y as u16,
            height: 1,
            ..area
        };
        let gas = step
            .gas_estimate_usd
            .map_or_else(|| format::MISSING.to_owned(), |gas| format::fixed(gas, 2));
        put_right(buffer, row, 0, &format!("{gas} "), context.theme.dim());
        let room = usize::from(row.width).saturating_sub(text::width(&gas) + 4);
        let warning = context.theme.style(Role::Warning);
        let style = if is_hold(step) {
            warning
        } else {
            context.theme.text()
        };
        let told = put(
            buffer,
            row,
            1,
            0,
            &text::truncate(&grouped(&step.action), room),
            style,
        );
        let rest = room.saturating_sub(usize::from(told) + 2);
        put(
            buffer,
            row,
            told + 3,
            0,
            &text::truncate(doubts, rest),
            warning,
        );
    }
    if more > 0 {
        let row = Rect {
            y: area.y + kept as u16,
            height: 1.min(area.height),
            ..area
        };
        put(
            buffer,
            row,
            1,
            0,
            &format!(
                "… {} in total",
                plural(plan.steps.len() as u64, "step", "steps")
            ),
            context.theme.dim(),
        );
    }
}

/// The action with separators in its amount: `Approve 250,000 USDC for …`.
fn grouped(action: &str) -> String {
    let mut words: Vec<String> = action.split(' ').map(str::to_owned).collect();
    if let Some(amount) = words.get_mut(1) {
        *amount = format::grouped(amount);
    }
    words.join(" ")
}

fn is_hold(step: &Step) -> bool {
    step.action.starts_with("Hold ")
}

/// The difference to the plan, with its color; a difference that rounds to zero has neither sign nor color.
fn difference(value: f64) -> (String, Role) {
    match usd(value) {
        same if same == "0.00" => (same, Role::Dim),
        less if value < 0.0 => (less, Role::Down),
        more => (format!("+{more}"), Role::Up),
    }
}
