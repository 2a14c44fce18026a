//! Draws a plan: figures and optimality gap, allocation by protocol and chain, comparison, steps. All values come from the result.

mod panes;

use super::{Pane, YieldView, inner, list::within};
use crate::views::prelude::*;
use analysis::yields::{
    curve::Dilution,
    expected::{YieldDoubt, YieldRemark},
};
use query::queries::yields::answer::{ExitShare, Strategy, YieldPlan};

/// From this width two panes are side by side.
const WIDE: u16 = 120;
/// Minimum number of rows of the selected row's detail, with its title.
const SELECTED_ROWS: u16 = 8;

fn usd(value: f64) -> String {
    let whole = format::fixed(value.abs(), 2);
    if value < 0.0 && whole != "0.00" {
        format!("-{whole}")
    } else {
        whole
    }
}

/// A risk score, from 0 for the safest to 100.
fn risk(score: Option<f64>) -> String {
    score.map_or_else(
        || format::MISSING.to_owned(),
        |score| format::fixed(score, 0),
    )
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
        let usual = remark
            .usual_apy
            .map_or_else(String::new, |apy| format::fixed(apy, 2));
        match remark.code {
            YieldDoubt::StuckAtZero => {
                "the pool paid nothing on most of the last 30 days".to_owned()
            }
            YieldDoubt::AboveHistory => {
                format!("the quote exceeds every earlier day's APY (highest {usual}%)")
            }
            YieldDoubt::AboveMean => format!("the 30-day mean is only {usual}%"),
            YieldDoubt::TwoSided => {
                "you may withdraw a different token than you deposited".to_owned()
            }
            YieldDoubt::Outlier => "the dataset marks the pool as an outlier".to_owned(),
        }
    };
    row.remarks
        .iter()
        .flatten()
        .map(word)
        .collect::<Vec<_>>()
        .join("; ")
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
pub(super) fn summary(
    buffer: &mut Buffer,
    area: Rect,
    plan: &YieldPlan,
    level: &str,
    context: &Context<'_>,
) {
    let summary = &plan.summary;
    let Some(explained) = &summary.explained else {
        return;
    };
    let row = |y: u16| Rect {
        y: area.y + y,
        height: 1.min(area.height.saturating_sub(y)),
        ..area
    };
    // A person reads the APY as the wallet's: where money lies idle, both are named.
    let [placed, whole] =
        [summary.weighted_apy, explained.wallet_apy].map(|apy| format::fixed(apy, 2));
    let apy = if placed == whole {
        format!("{placed}%")
    } else {
        format!("{placed}%, whole wallet {whole}%")
    };
    let figures = [
        (
            "net yield/yr",
            format!("{} USD", usd(explained.net_yield_usd)),
            Role::Up,
        ),
        ("APY", apy, Role::Text),
        ("allocated", usd(summary.total_value_usd), Role::Text),
        ("risk", risk(explained.risk_score), Role::Text),
        ("exit", exits(explained.exits.as_deref()), Role::Text),
        ("gas", usd(summary.gas_estimate_usd), Role::Text),
        ("idle", usd(explained.idle_value_usd), Role::Text),
        (
            "pools",
            format!(
                "{} of {} eligible",
                plan.strategies.len(),
                format::count(explained.eligible_pools)
            ),
            Role::Text,
        ),
    ];
    pairs(buffer, row(0), &figures, context);
    let (word, sentence, role) = match explained.gap_percent {
        _ if plan.strategies.is_empty() => (
            "nothing allocated",
            "the steps give the reasons".to_owned(),
            Role::Warning,
        ),
        Some(gap) if format::fixed(gap, 2) == "0.00" => {
            ("proven", format!("optimal for {level} risk"), Role::Up)
        }
        Some(gap) => (
            "proven",
            format!(
                "within {}% of the optimum for {level} risk",
                format::fixed(gap, 2)
            ),
            Role::Up,
        ),
        None => (
            "nothing allocated",
            "a better plan may exist".to_owned(),
            Role::Warning,
        ),
    };
    pairs(
        buffer,
        row(1),
        &[
            (word, sentence, role),
            ("upper bound", usd(explained.upper_bound_usd), Role::Text),
        ],
        context,
    );
}

/// `now 38% · 7 d 100%`: the part of the deposits that can be withdrawn, by number of days.
fn exits(exits: Option<&[ExitShare]>) -> String {
    let exits = exits.unwrap_or_default();
    let known = exits.last().map_or(0.0, |last| last.share);
    let parts = exits
        .iter()
        .map(|exit| format!("{} {}", within(exit.days), format::share(Some(exit.share))));
    let unknown = (known < 1.0 - 1e-9).then(|| match exits {
        [] => "unknown".to_owned(),
        _ => "rest unknown".to_owned(),
    });
    parts.chain(unknown).collect::<Vec<_>>().join(" · ")
}

/// What is known about leaving the pool; empty if nothing is.
fn way_out(row: &Strategy) -> String {
    let Some(exit) = &row.exit else {
        return String::new();
    };
    let days = |name: &str, days: Option<f64>| {
        days.map(|days| format!("{name} {} d", format::fixed(days.ceil(), 0)))
    };
    let dollars = |usd: Option<f64>, name: &str| {
        usd.map(|usd| format!("{} USD {name}", format::human(Some(usd))))
    };
    let fee = |name: &str, percent: Option<f64>| {
        percent.map(|percent| format!("{name} {}%", format::fixed(percent, 2)))
    };
    let known = [
        dollars(exit.withdrawable_usd, "withdrawable"),
        dollars(exit.cap_left_usd, "until full"),
        days("lock", exit.lock_days),
        days("cooldown", exit.cooldown_days),
        exit.matures_at.map(|end| format!("ends {}", end.day())),
        fee("deposit fee", exit.deposit_fee),
        fee("exit fee", exit.exit_fee),
    ];
    known.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// How the deposit dilutes the pool's APY.
fn dilution(row: &Strategy) -> String {
    let how = match row.dilution {
        None => return String::new(),
        Some(Dilution::None) => "the deposit does not lower the base APY",
        Some(Dilution::Shared) => "a fixed flow is shared pro rata",
        Some(Dilution::Squared) => "a fixed debt, with a rate that falls with utilization",
    };
    how.to_owned()
}

/// `: size 6 of 30, age 3 of 15`: the parts of a pool's risk score that add to it.
fn risk_parts(row: &Strategy) -> String {
    let parts = row
        .risk_parts
        .iter()
        .flatten()
        .filter(|part| part.points >= 0.5);
    let said: Vec<String> = parts
        .map(|part| {
            format!(
                "{} {} of {}{}",
                part.name,
                format::fixed(part.points, 0),
                part.most,
                if part.assumed {
                    " (as similar pools)"
                } else {
                    ""
                }
            )
        })
        .collect();
    if said.is_empty() {
        String::new()
    } else {
        format!(": {}", said.join(", "))
    }
}

/// Draws the plan's caveats; returns the remaining area.
fn notes(buffer: &mut Buffer, area: Rect, plan: &YieldPlan, context: &Context<'_>) -> Rect {
    let width = usize::from(area.width.saturating_sub(2));
    // The table matters more where there is little room.
    let most = usize::from(area.height / 8);
    let lines: Vec<String> = plan
        .notes
        .iter()
        .flatten()
        .flat_map(|note| text::wrap(note, width, 2))
        .take(most)
        .collect();
    for (y, line) in lines.iter().enumerate() {
        put(
            buffer,
            area,
            1,
            y as u16,
            line,
            context.theme.style(Role::Warning),
        );
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

    pub(super) fn draw_plan(
        &mut self,
        buffer: &mut Buffer,
        area: Rect,
        plan: &YieldPlan,
        context: &Context<'_>,
    ) {
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
        let pane = if plan.strategies.is_empty() {
            Pane::Steps
        } else {
            self.pane
        };
        if self.narrow && (self.pane_replaces_table || plan.strategies.is_empty()) {
            return self.draw_pane(buffer, below, pane, plan, context);
        }
        let rows = (plan.strategies.len() as u16 + 2).max(4);
        let table = Rect {
            height: (below.height - panes_height).min(rows),
            ..below
        };
        // Aligned with the lines above.
        let inset = Rect {
            x: table.x + 1.min(table.width),
            width: table.width.saturating_sub(2),
            ..table
        };
        let frame = ListFrame::new(
            inset,
            "nothing can be allocated within these limits; the steps below give the reasons",
        );
        self.list
            .fit_figures(&plan.strategies.iter().collect::<Vec<_>>(), context);
        self.list
            .draw(buffer, frame, context, |place| plan.strategies.get(place));
        let rest = Rect {
            y: table.bottom(),
            height: below.bottom() - table.bottom(),
            ..below
        };
        // Spare space below the panes shows the selected row in detail.
        let pane_lines = plan
            .steps
            .len()
            .max(plan.alternatives.iter().flatten().count() + 1 + self.saved.len())
            as u16
            + 2;
        let spare = rest.height.saturating_sub(pane_lines);
        let has_detail = panes_height > 0 && below.width >= WIDE && spare >= SELECTED_ROWS;
        let panes = Rect {
            height: rest.height - if has_detail { spare } else { 0 },
            ..rest
        };
        self.draw_selected(
            buffer,
            Rect {
                y: panes.bottom(),
                height: rest.height - panes.height,
                ..rest
            },
            plan,
            context,
        );
        if panes_height > 0 {
            self.draw_panes(buffer, panes, pane, plan, context);
        } else if rest.height > 0 {
            put(
                buffer,
                Rect {
                    y: rest.bottom() - 1,
                    height: 1,
                    ..rest
                },
                1,
                0,
                "n comparison, allocation, steps",
                context.theme.dim(),
            );
        }
    }

    /// Draws the selected row in detail, with its token's candles.
    fn draw_selected(
        &mut self,
        buffer: &mut Buffer,
        area: Rect,
        plan: &YieldPlan,
        context: &Context<'_>,
    ) {
        let left = Rect {
            width: area.width * 45 / 100,
            ..area
        };
        let right = Rect {
            x: left.right(),
            width: area.width - left.width,
            ..area
        };
        self.price.draw(buffer, right, context);
        let selected = self
            .list
            .selected()
            .and_then(|place| plan.strategies.get(place));
        let Some(row) = selected.filter(|_| !area.is_empty()) else {
            return;
        };
        let missing = || format::MISSING.to_owned();
        let percent = |value: Option<f64>| {
            value.map_or_else(missing, |value| format!("{}%", format::fixed(value, 4)))
        };
        let dollars =
            |value: Option<f64>| value.map_or_else(missing, |value| format!("{} USD", usd(value)));
        let facts = [
            // What the table has not comes first, as the last rows may not fit.
            (
                "risk",
                row.risk_score.map_or_else(missing, |score| {
                    format!("{} of 100{}", format::fixed(score, 0), risk_parts(row))
                }),
            ),
            (
                "share",
                format!(
                    "{} of the allocation, {} of the wallet",
                    format::share(row.share),
                    format::share(row.wallet_share)
                ),
            ),
            ("exit", way_out(row)),
            ("net APY", percent(Some(row.apy))),
            ("dilution", dilution(row)),
            ("quoted APY", percent(row.quoted_apy)),
            (
                "expected APY",
                format!("{}{}", percent(row.expected_apy), basis(row)),
            ),
            ("caveats", doubts(row)),
            ("pool TVL", dollars(Some(row.tvl))),
            ("pool", row.pool_id.clone().unwrap_or_else(missing)),
            ("token", row.token.address.to_string()),
            ("value", dollars(row.value_usd)),
            ("amount", row.tokens.clone().unwrap_or_else(missing)),
            ("protocol", row.protocol.clone().unwrap_or_else(missing)),
            ("chain", row.chain.to_string()),
        ];
        let title = format!(
            "{} {}",
            row.protocol.as_deref().unwrap_or("pool"),
            row.token.symbol.as_deref().unwrap_or_default()
        );
        let panel = Panel {
            note: "y copies the pool id",
            ..Panel::new(&title)
        };
        let body = panel.render(
            Rect {
                width: left.width.saturating_sub(2),
                ..left
            },
            buffer,
            context.theme,
        );
        let mut y = 0;
        for (word, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
            put(buffer, body, 1, y, word, context.theme.dim());
            let room = Rect {
                x: body.x + 14.min(body.width),
                width: body.width.saturating_sub(14),
                ..body
            };
            y += put_wrapped(
                buffer,
                room,
                0,
                y,
                value,
                2,
                context.theme.style(role_of(value)),
            );
        }
    }
}
