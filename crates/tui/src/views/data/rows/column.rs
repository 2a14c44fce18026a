//! The statistics pane of the selected column: value counts, or descriptive statistics. Follows the selection; the values come
//! from the query.

use std::sync::Arc;

use super::cells;
use crate::views::prelude::*;
use model::schema::Kind as ColumnKind;
use query::{
    queries::tables::{
        column::{Bin, ColumnFindings, ColumnScan, Counts, Description},
        order::RowQuery,
    },
    service::pending::PendingResult,
};

/// Maximum number of values in the counts.
const COUNTS_MAX: usize = 500;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnQuery {
    Counts,
    Describe,
}

#[derive(Debug)]
pub(super) struct ColumnPane {
    pub(super) kind: ColumnQuery,
    scan: ColumnScan,
    pending: Option<PendingResult<ColumnFindings>>,
    findings: Option<ColumnFindings>,
    problem: Option<String>,
}

impl ColumnPane {
    pub(super) fn new(
        kind: ColumnQuery,
        query: &RowQuery,
        column: &str,
        snapshot: &Arc<Snapshot>,
        context: &Context<'_>,
    ) -> Self {
        let mut pane = Self {
            kind,
            scan: ColumnScan {
                query: RowQuery {
                    sort: Vec::new(),
                    ..query.clone()
                },
                column: column.to_owned(),
                limit: COUNTS_MAX,
            },
            pending: None,
            findings: None,
            problem: None,
        };
        pane.ask(snapshot, context);
        pane
    }

    fn ask(&mut self, snapshot: &Arc<Snapshot>, context: &Context<'_>) {
        self.pending = Some(context.find(snapshot, self.scan.clone()));
        (self.findings, self.problem) = (None, None);
    }

    /// Takes arrived results; queries again for another column or filter, which cancels the pending query.
    pub(super) fn follow(
        &mut self,
        query: &RowQuery,
        column: &str,
        snapshot: &Arc<Snapshot>,
        context: &Context<'_>,
    ) {
        if self.scan.column != column || self.scan.query.filter != query.filter {
            *self = Self::new(self.kind, query, column, snapshot, context);
        }
        match self.pending.as_mut().and_then(PendingResult::poll_now) {
            Some(Ok(findings)) => (self.findings, self.pending) = (Some(findings), None),
            Some(Err(problem)) => (self.problem, self.pending) = (Some(problem.detail), None),
            None => {}
        }
    }

    /// Whether a result is pending.
    pub(super) fn is_under_way(&self) -> bool {
        self.pending.is_some()
    }

    pub(super) fn draw(&self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let what = match self.kind {
            ColumnQuery::Counts => "values of",
            ColumnQuery::Describe => "description of",
        };
        let title = format!("{what} {}", self.scan.column);
        let progress = self
            .pending
            .as_ref()
            .map(|pending| progress::share(pending.progress()));
        let note = if progress.is_some() {
            "Esc cancels"
        } else {
            "← → column  F D  Esc close"
        };
        let body = inset(
            Panel {
                note,
                progress,
                ..Panel::new(&title)
            }
            .render(area, buffer, context.theme),
        );
        if let Some(problem) = &self.problem {
            return panel::failure(body, buffer, context.theme, problem);
        }
        match (&self.findings, self.kind) {
            (Some(findings), ColumnQuery::Counts) => {
                counts(&findings.counts, buffer, body, context);
            }
            (Some(findings), ColumnQuery::Describe) => {
                description(&findings.description, buffer, body, context);
            }
            (None, _) => _ = put(buffer, body, 0, 0, "counting…", context.theme.dim()),
        }
    }
}

/// A JSON value as displayed in the rows of its column.
fn value_cell(value: &Json) -> Cell {
    let read = match value {
        Json::Null => Scalar::Missing,
        Json::String(text) => Scalar::text(text),
        Json::Number(number) => number.as_i64().map_or_else(
            || {
                number
                    .as_f64()
                    .map_or_else(|| Scalar::text(number.to_string()), Scalar::Float)
            },
            Scalar::Whole,
        ),
        other => Scalar::text(other.to_string()),
    };
    cells::cell(&read, ColumnKind::Text)
}

/// Aligned figures, each at most `room` wide; if one does not fit, all are abbreviated.
fn in_one_style(values: &[&Json], room: usize) -> Vec<String> {
    let cells: Vec<Cell> = values.iter().map(|value| value_cell(value)).collect();
    let mut texts: Vec<String> = cells
        .iter()
        .map(Cell::plain)
        .map(std::borrow::Cow::into_owned)
        .collect();
    if texts.iter().any(|text| text::width(text) > room) {
        let short = |(cell, text): (Cell, String)| {
            cell.short
                .map_or(text, |number| format::brief(number, room))
        };
        texts = cells.into_iter().zip(texts).map(short).collect();
    }
    if values
        .iter()
        .all(|value| value.is_number() || value.is_null())
    {
        format::align_decimals(&mut texts);
        let widest = texts
            .iter()
            .map(|text| text::width(text))
            .max()
            .unwrap_or(0);
        texts = texts
            .iter()
            .map(|text| text::fit(text, widest, text::Align::Right))
            .collect();
    }
    texts
        .into_iter()
        .map(|text| text::truncate(text.trim_end(), room).into_owned())
        .collect()
}

/// Percent with one decimal; a smaller non-zero share is shown as such.
fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.0005 {
        "< 0.1%".to_owned()
    } else {
        format!("{:.1}%", share * 100.0)
    }
}

fn summary(rows: u64, missing: u64, distinct: u64) -> String {
    format!(
        "{} rows · {} missing · {} distinct",
        format::count(rows),
        format::count(missing),
        format::count(distinct)
    )
}

fn counts(counts: &Counts, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
    let theme = context.theme;
    put(
        buffer,
        area,
        0,
        0,
        &summary(counts.rows, counts.missing, counts.distinct),
        theme.dim(),
    );
    let most = counts.counts.first().map_or(1, |value| value.count.max(1)) as f64;
    let rows = usize::from(area.height.saturating_sub(3));
    let width = usize::from(area.width);
    let name = (width * 45 / 100).clamp(6, 46);
    let bar = width.saturating_sub(name + 24);
    for (nth, value) in counts.counts.iter().take(rows).enumerate() {
        let y = nth as u16 + 2;
        put(
            buffer,
            area,
            0,
            y,
            &text::truncate(&value_cell(&value.value).plain(), name),
            theme.text(),
        );
        let slot = Rect {
            width: (name + 12) as u16,
            ..area
        };
        put_right(buffer, slot, y, &format::count(value.count), theme.text());
        put_right(
            buffer,
            Rect {
                width: (name + 21) as u16,
                ..area
            },
            y,
            &percent(value.share),
            theme.dim(),
        );
        put(
            buffer,
            area,
            (name + 23) as u16,
            y,
            &low_bar(value.count as f64 / most, bar),
            theme.style(Role::AccentSoft),
        );
    }
    let more = counts
        .distinct
        .saturating_sub(counts.counts.len().min(rows) as u64);
    if more > 0 {
        put(
            buffer,
            area,
            0,
            area.height.saturating_sub(1),
            &format!("and {} more values", format::count(more)),
            theme.dim(),
        );
    }
}

fn description(description: &Description, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
    let theme = context.theme;
    let counted = [
        ("type", description.kind.to_owned()),
        (
            "count",
            format::count(description.rows - description.missing.min(description.rows)),
        ),
        ("missing", format::count(description.missing)),
        ("distinct", format::count(description.distinct)),
    ];
    let measured = [
        ("min", &description.min),
        ("25%", &description.quartile_1),
        ("median", &description.median),
        ("75%", &description.quartile_3),
        ("max", &description.max),
        ("mean", &description.mean),
    ];
    let room = usize::from(area.width.saturating_sub(10)).max(1);
    let texts = in_one_style(&measured.map(|(_, value)| value), room);
    let figures = counted
        .into_iter()
        .chain(measured.iter().map(|(word, _)| *word).zip(texts));
    let mut start = 0;
    for (word, value) in figures {
        put(buffer, area, 0, start, word, theme.dim());
        let style = if value.trim() == format::MISSING {
            theme.dim()
        } else {
            theme.text()
        };
        put(buffer, area, 10, start, &value, style);
        start += 1;
    }
    histogram(&description.histogram, start + 1, buffer, area, context);
}

/// Draws one bar for each bin, from the line `top` on.
fn histogram(bins: &[Bin], top: u16, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
    let theme = context.theme;
    let most = bins.iter().map(|bin| bin.count).max().unwrap_or(0).max(1) as f64;
    let edges: Vec<&Json> = bins.iter().map(|bin| &bin.from).collect();
    let edges = in_one_style(
        &edges,
        if edges.iter().any(|edge| edge.is_string()) {
            24
        } else {
            12
        }
        .min(usize::from(area.width) / 2),
    );
    let edge = edges
        .iter()
        .map(|text| text::width(text))
        .max()
        .unwrap_or(0);
    let bar = usize::from(area.width).saturating_sub(edge + 12);
    for (nth, (bin, from)) in bins.iter().zip(&edges).enumerate() {
        let y = top + nth as u16;
        if y >= area.height {
            break;
        }
        put(buffer, area, 0, y, from, theme.dim());
        put(
            buffer,
            area,
            edge as u16 + 1,
            y,
            &low_bar(bin.count as f64 / most, bar),
            theme.style(Role::AccentSoft),
        );
        put_right(buffer, area, y, &format::count(bin.count), theme.dim());
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn the_figures_of_a_column_have_one_style() {
        let all = [json!(6), json!(1_234_567), json!(18.5), Json::Null];
        let all: Vec<&Json> = all.iter().collect();
        assert_eq!(
            in_one_style(&all, 20),
            ["        6", "1,234,567", "       18.5", "          –"]
        );
        assert_eq!(
            in_one_style(&all, 8),
            [" 6", " 1.23M", "18.5", "     –"].map(str::to_owned)
        );
        let texts = [json!("AAVE"), json!("a name that is too long")];
        assert_eq!(
            in_one_style(&texts.iter().collect::<Vec<_>>(), 10),
            ["AAVE", "a name th…"]
        );
    }
}
