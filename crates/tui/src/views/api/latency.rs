//! The latency panel: a histogram of response times, and their 50th and 99th percentiles.

use super::{duration_text, log};
use crate::views::prelude::*;
use model::logged_request::LoggedRequest;

/// The widest label: `≤ 999 ms`.
const LABEL: u16 = 11;
const FIGURE: u16 = 9;
const TITLE: &str = "response times";

/// A histogram bin: its upper bound, `None` beyond the last, and its count.
type Span = (Option<u64>, u64);

/// Preferred height of the panel in rows.
pub(super) fn height(histogram: &[(u64, u64)]) -> u16 {
    let spans = spans(histogram, usize::MAX).len() as u16;
    if spans == 0 { 0 } else { spans + 1 }
}

/// The bins from the first to the last non-empty one, merged to at most `most`.
fn spans(histogram: &[(u64, u64)], most: usize) -> Vec<Span> {
    let Some(first) = histogram.iter().position(|(_, count)| *count > 0) else {
        return Vec::new();
    };
    let last = histogram
        .iter()
        .rposition(|(_, count)| *count > 0)
        .unwrap_or(first);
    // Bounds beyond a day stand for no bound.
    let bound = |micros: u64| (micros < 86_400_000_000).then_some(micros);
    let mut spans: Vec<Span> = histogram[first..=last]
        .iter()
        .map(|(micros, count)| (bound(*micros), *count))
        .collect();
    let joined = spans.len().div_ceil(most.max(1));
    if joined > 1 {
        spans = spans
            .chunks(joined)
            .map(|run| {
                (
                    run[run.len() - 1].0,
                    run.iter().map(|(_, count)| count).sum(),
                )
            })
            .collect();
    }
    spans
}

/// The upper bound of the bin that contains the percentile `share`.
fn percentile_bound(histogram: &[(u64, u64)], share: f64) -> Option<u64> {
    let total: u64 = histogram.iter().map(|(_, count)| count).sum();
    let wanted = (total as f64 * share).ceil() as u64;
    let mut seen = 0;
    histogram
        .iter()
        .find(|(_, count)| {
            seen += count;
            seen >= wanted && total > 0
        })
        .map(|(micros, _)| *micros)
}

pub(super) fn draw(
    buffer: &mut Buffer,
    area: Rect,
    histogram: &[(u64, u64)],
    requests: &[LoggedRequest],
    context: &Context<'_>,
) {
    let area = area.intersection(buffer.area);
    if area.height < 2 || area.width < LABEL + FIGURE + 4 {
        return;
    }
    let theme = context.theme;
    let time = |share| {
        percentile_bound(histogram, share).map_or_else(|| format::MISSING.to_owned(), duration_text)
    };
    let says = format!("p50 ≤ {}, p99 ≤ {}", time(0.5), time(0.99));
    // In the title rule where it fits, else on a line of its own under the bars.
    let in_rule = usize::from(area.width) >= text::width(&says) + text::width(TITLE) + 12;
    let panel = Panel {
        note: if in_rule && !histogram.is_empty() {
            &says
        } else {
            ""
        },
        ..Panel::new(TITLE)
    };
    let body = panel.render(area, buffer, theme);
    let below = if in_rule { 0 } else { 2 };
    let most = usize::from(body.height.saturating_sub(below)).max(1);
    let spans = spans(histogram, most);
    if spans.is_empty() {
        put(buffer, body, 1, 1, "no responses yet", theme.dim());
        return;
    }
    let highest = spans
        .iter()
        .map(|(_, count)| *count)
        .max()
        .unwrap_or(1)
        .max(1);
    let slow = percentile_bound(histogram, 0.99);
    for (y, (bound, count)) in spans.iter().enumerate() {
        let y = y as u16;
        let label = bound.map_or_else(
            || "longer".to_owned(),
            |micros| format!("≤ {}", duration_text(micros)),
        );
        let label_area = Rect {
            width: LABEL,
            ..body
        };
        put_right(buffer, label_area, y, &label, theme.dim());
        let width = body.width - LABEL - FIGURE - 2;
        let place = Rect {
            x: body.x + LABEL + 1,
            y: body.y + y,
            width,
            height: 1,
        };
        // Bins above the 99th percentile stand out.
        let role = if bound.is_none_or(|micros| slow.is_some_and(|slow| micros > slow)) {
            Role::WarningSoft
        } else {
            Role::AccentSoft
        };
        put(
            buffer,
            place,
            0,
            0,
            &progress::bar(*count as f64 / highest as f64, usize::from(width)),
            theme.style(role),
        );
        let figure = Rect {
            x: body.right() - FIGURE,
            width: FIGURE - 1,
            ..body
        };
        let shown = if *count == 0 {
            format::MISSING.to_owned()
        } else {
            format::count(*count)
        };
        put_right(
            buffer,
            figure,
            y,
            &shown,
            if *count == 0 {
                theme.dim()
            } else {
                theme.text()
            },
        );
    }
    if !in_rule {
        put(buffer, body, 1, spans.len() as u16 + 1, &says, theme.dim());
    }
    let used = spans.len() as u16 + below + 1;
    let rest = Rect {
        y: body.y + used,
        height: body.height.saturating_sub(used),
        ..body
    };
    draw_statuses(buffer, rest, requests, context);
}

/// Draws the latest requests by status code.
fn draw_statuses(
    buffer: &mut Buffer,
    area: Rect,
    requests: &[LoggedRequest],
    context: &Context<'_>,
) {
    if area.height < 3 || requests.is_empty() {
        return;
    }
    let theme = context.theme;
    let note = format!("last {}", format::count(requests.len() as u64));
    let body = Panel {
        note: &note,
        ..Panel::new("statuses")
    }
    .render(area, buffer, theme);
    let mut counts = std::collections::BTreeMap::<u16, usize>::new();
    for request in requests {
        *counts.entry(request.status).or_default() += 1;
    }
    let highest = counts.values().copied().max().unwrap_or(1);
    for (y, (status, count)) in counts
        .into_iter()
        .enumerate()
        .take(usize::from(body.height))
    {
        let y = y as u16;
        let role = log::status_role(status);
        put_right(
            buffer,
            Rect {
                width: LABEL,
                ..body
            },
            y,
            &status.to_string(),
            theme.style(role),
        );
        let width = body.width - LABEL - FIGURE - 2;
        let [bar, _] = thin_bar(count as f64 / highest as f64, usize::from(width));
        put(buffer, body, LABEL + 1, y, &bar, theme.style(role));
        put_right(
            buffer,
            Rect {
                x: body.right() - FIGURE,
                width: FIGURE - 1,
                ..body
            },
            y,
            &format::count(count as u64),
            theme.text(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_trimmed_and_joined_and_lose_no_answer() {
        let histogram = [
            (100, 0),
            (200, 3),
            (400, 0),
            (800, 5),
            (u64::MAX, 1),
            (u64::MAX, 0),
        ];
        assert_eq!(
            spans(&histogram, 9),
            [(Some(200), 3), (Some(400), 0), (Some(800), 5), (None, 1)]
        );
        assert_eq!(spans(&histogram, 2), [(Some(400), 3), (None, 6)]);
        assert_eq!(spans(&histogram, 0), [(None, 9)]);
        assert_eq!(spans(&[(1, 0)], 4), []);
        assert_eq!(
            (
                percentile_bound(&histogram, 0.5),
                percentile_bound(&histogram, 0.3),
                percentile_bound(&[], 0.5)
            ),
            (Some(800), Some(200), None)
        );
    }
}
