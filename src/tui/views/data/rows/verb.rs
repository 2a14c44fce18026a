//! What is asked of the selected column: how often its values occur, and what they are like. It follows the selected column; the
//! figures are the question's.

use std::sync::Arc;

use ratatui::{buffer::Buffer, layout::Rect};
use serde_json::Value;

use crate::{
    deck::pending::Coming,
    question::{
        snapshot::Snapshot,
        tables::{
            column::{Counts, Description, Look, Looked},
            order::Wanted,
        },
    },
    tui::{
        format, text,
        theme::Role,
        view::{Context, Wake},
        views::parts::low_bar,
        widgets::{
            panel::{self, Panel},
            put, put_right,
        },
    },
};

/// Values that are counted for the screen.
const COUNTED: usize = 500;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Counts,
    Describe,
}

#[derive(Debug)]
pub(super) struct Verb {
    pub(super) kind: Kind,
    look: Look,
    coming: Option<Coming<Looked>>,
    looked: Option<Looked>,
    problem: Option<String>,
}

impl Verb {
    pub(super) fn new(kind: Kind, wanted: &Wanted, column: &str, snapshot: &Arc<Snapshot>, context: &Context<'_>) -> Self {
        let mut verb = Self {
            kind,
            look: Look { wanted: Wanted { sort: Vec::new(), ..wanted.clone() }, column: column.to_owned(), limit: COUNTED },
            coming: None,
            looked: None,
            problem: None,
        };
        verb.ask(snapshot, context);
        verb
    }

    fn ask(&mut self, snapshot: &Arc<Snapshot>, context: &Context<'_>) {
        let wake = Wake::clone(context.wake);
        self.coming = Some(context.deck.find(snapshot, self.look.clone(), move || wake()));
        (self.looked, self.problem) = (None, None);
    }

    /// Takes what has come; asks anew for another column or other rows, which cancels what is on its way.
    pub(super) fn follow(&mut self, wanted: &Wanted, column: &str, snapshot: &Arc<Snapshot>, context: &Context<'_>) {
        if self.look.column != column || self.look.wanted.filter != wanted.filter {
            *self = Self::new(self.kind, wanted, column, snapshot, context);
        }
        match self.coming.as_mut().and_then(Coming::poll_now) {
            Some(Ok(looked)) => (self.looked, self.coming) = (Some(looked), None),
            Some(Err(problem)) => (self.problem, self.coming) = (Some(problem.detail), None),
            None => {}
        }
    }

    /// Whether it is still on its way.
    pub(super) fn is_under_way(&self) -> bool {
        self.coming.is_some()
    }

    pub(super) fn draw(&self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let what = match self.kind {
            Kind::Counts => "values of",
            Kind::Describe => "description of",
        };
        let title = format!("{what} {}", self.look.column);
        let progress = self.coming.as_ref().map(|coming| match coming.progress() {
            (_, 0) => None,
            (done, total) => Some(done as f64 / total as f64),
        });
        let note = if progress.is_some() { "Esc cancels" } else { "← → column  F D  Esc close" };
        let body = Panel { note, progress, ascii: context.ascii, ..Panel::new(&title) }.render(area, buffer, context.theme);
        if let Some(problem) = &self.problem {
            return panel::failure(body, buffer, context.theme, problem);
        }
        match (&self.looked, self.kind) {
            (Some(looked), Kind::Counts) => counts(&looked.counts, buffer, body, context),
            (Some(looked), Kind::Describe) => description(&looked.description, buffer, body, context),
            (None, _) => _ = put(buffer, body, 0, 0, "counting…", context.theme.dim()),
        }
    }
}

/// A value of JSON as a person reads it.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => format::MISSING.to_owned(),
        Value::String(text) => text::clean(text).into_owned(),
        Value::Number(number) => number
            .as_f64()
            .filter(|_| !number.is_i64() && !number.is_u64())
            .map_or_else(|| number.to_string(), |float| format::exact(Some(float))),
        other => other.to_string(),
    }
}

/// Where a bin begins: a figure in a few digits, since its place is a division's.
fn edge_of(value: &Value) -> String {
    value.as_f64().map_or_else(|| shown(value), |edge| format::human(Some(edge)))
}

fn summary(rows: u64, missing: u64, distinct: u64) -> String {
    format!("{} rows · {} missing · {} distinct", format::count(rows), format::count(missing), format::count(distinct))
}

fn counts(counts: &Counts, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
    let theme = context.theme;
    put(buffer, area, 0, 0, &summary(counts.rows, counts.missing, counts.distinct), theme.dim());
    let most = counts.counts.first().map_or(1, |value| value.count.max(1)) as f64;
    let rows = usize::from(area.height.saturating_sub(3));
    let width = usize::from(area.width);
    let name = (width * 45 / 100).clamp(6, 46);
    let bar = width.saturating_sub(name + 24);
    for (nth, value) in counts.counts.iter().take(rows).enumerate() {
        let y = nth as u16 + 2;
        put(buffer, area, 0, y, &text::truncate(&shown(&value.value), name), theme.text());
        let slot = Rect { width: (name + 12) as u16, ..area };
        put_right(buffer, slot, y, &format::count(value.count), theme.text());
        put_right(buffer, Rect { width: (name + 21) as u16, ..area }, y, &format!("{:.1} %", value.share * 100.0), theme.dim());
        put(buffer, area, (name + 23) as u16, y, &low_bar(value.count as f64 / most, bar, context.ascii), theme.style(Role::AccentSoft));
    }
    let more = counts.distinct.saturating_sub(counts.counts.len().min(rows) as u64);
    if more > 0 {
        put(buffer, area, 0, area.height.saturating_sub(1), &format!("and {} more values", format::count(more)), theme.dim());
    }
}

fn description(description: &Description, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
    let theme = context.theme;
    let figures = [
        ("type", description.kind.to_owned()),
        ("count", format::count(description.rows - description.missing.min(description.rows))),
        ("missing", format::count(description.missing)),
        ("distinct", format::count(description.distinct)),
        ("min", shown(&description.min)),
        ("25 %", shown(&description.quartile_1)),
        ("median", shown(&description.median)),
        ("75 %", shown(&description.quartile_3)),
        ("max", shown(&description.max)),
        ("mean", shown(&description.mean)),
    ];
    for (nth, (word, value)) in figures.iter().enumerate() {
        let y = nth as u16;
        put(buffer, area, 0, y, word, theme.dim());
        let room = usize::from(area.width.saturating_sub(10)).max(1);
        put(buffer, area, 10, y, &text::truncate(value, room), if value == format::MISSING { theme.dim() } else { theme.text() });
    }
    let most = description.histogram.iter().map(|bin| bin.count).max().unwrap_or(0).max(1) as f64;
    let start = figures.len() as u16 + 1;
    let edge = if description.histogram.iter().any(|bin| bin.from.is_string()) { 24_usize } else { 10 }.min(usize::from(area.width) / 2);
    let bar = usize::from(area.width).saturating_sub(edge + 12);
    for (nth, bin) in description.histogram.iter().enumerate() {
        let y = start + nth as u16;
        if y >= area.height {
            break;
        }
        put(buffer, area, 0, y, &text::truncate(&edge_of(&bin.from), edge), theme.dim());
        put(buffer, area, edge as u16 + 1, y, &low_bar(bin.count as f64 / most, bar, context.ascii), theme.style(Role::AccentSoft));
        put_right(buffer, area, y, &format::count(bin.count), theme.dim());
    }
}
