//! The trade card of the chosen pattern: breakout, target, stop-loss and their distances from the last close, and the reasons of its fit.
//! All values come from the result.

use super::sheet::trend;
use crate::views::prelude::*;
use analysis::track_record::errors::Verdict;
use analysis::{
    patterns::{AdviceWord, Direction, DirectionBy, Pattern, PatternDetail, Status},
    trendlines::{TrendlineAnswer, trend::TrendMeasure},
};
use query::queries::track_record::TrackRecord;

/// Rows of the card, without its title.
pub(super) const ROWS: u16 = 13;
/// Columns of the figures and of their notes.
const FIGURE: u16 = 13;
const NOTE: u16 = 23;
/// Width of reasons with their longest names.
const REASONS: u16 = 62;
/// From this width distances name their reference.
const ROOMY: u16 = 48;
/// From this width the reasons are drawn beside the card.
const BESIDE: u16 = 76;
/// Width of the figures beside reasons that need the room.
const NARROW: u16 = 38;

/// The label of the target in one-line texts.
pub(super) const TARGET: &str = "target ";

/// The data of the card.
pub(super) struct Card<'a> {
    pub pattern: &'a Pattern,
    /// The recommendation of all patterns, weighed by track record.
    pub advice: Option<AdviceWord>,
    pub as_of: Option<Time>,
    pub trendline: Option<&'a TrendlineAnswer>,
    pub part: CardPart,
    /// The track record was requested.
    pub followed: bool,
    /// The track record of the token's patterns; `None` while unknown.
    pub record: Option<Result<&'a TrackRecord, &'a Problem>>,
}

/// The drawn parts of the card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CardPart {
    Figures,
    /// The figures, and the reasons as space allows.
    Whole,
    Reasons,
}

/// Rows of the card with its reasons below it.
pub(super) fn rows(pattern: &Pattern, trendline: Option<&TrendlineAnswer>) -> u16 {
    let why = pattern
        .detail
        .as_ref()
        .map_or(0, |detail| detail.why.len().max(1));
    let trend = trendline
        .and_then(|answer| answer.why.as_ref())
        .map_or(0, |why| why.parts.len() + 3);
    ROWS + 2 + (why + trend) as u16
}

/// A row: label, figure, note and color.
type Row = (&'static str, String, String, Role);

impl Card<'_> {
    pub(super) fn draw(&self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        if self.part == CardPart::Reasons {
            return self.draw_why(buffer, area, context);
        }
        let beside = self.part == CardPart::Whole && area.width >= BESIDE;
        let half = Rect {
            width: (area.width / 2).min(NARROW.max(area.width.saturating_sub(REASONS))),
            ..area
        };
        let card = if beside {
            Rect {
                width: half.width - 2,
                ..half
            }
        } else {
            Rect {
                height: area.height.min(ROWS + 1),
                ..area
            }
        };
        let hint = if self.part == CardPart::Whole && self.has_room(area) {
            ""
        } else {
            "Enter: why"
        };
        self.draw_figures(buffer, card, hint, context);
        if self.part == CardPart::Figures {
            return;
        }
        let rest = if beside {
            Rect {
                x: half.right(),
                width: area.width - half.width,
                ..area
            }
        } else {
            Rect {
                y: card.bottom(),
                height: area.height - card.height,
                ..area
            }
        };
        self.draw_why(buffer, rest, context);
    }

    /// Whether all reasons fit beside or below the figures.
    pub(super) fn has_room(&self, area: Rect) -> bool {
        let reasons = self
            .pattern
            .detail
            .as_ref()
            .map_or(0, |detail| detail.why.len().max(1)) as u16
            + 1;
        area.height
            >= if area.width >= BESIDE {
                reasons
            } else {
                ROWS + 1 + reasons
            }
    }

    fn draw_why(&self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let rows = self.draw_reasons(buffer, area, context);
        self.draw_trend(buffer, below(area, rows), context);
    }

    fn draw_figures(&self, buffer: &mut Buffer, area: Rect, hint: &str, context: &Context<'_>) {
        let Some(detail) = &self.pattern.detail else {
            return;
        };
        let rule = Panel {
            note: hint,
            ..Panel::new(words::shown(self.pattern.name.word()))
        };
        let body = rule.render(area, buffer, context.theme);
        for (y, (label, figure, note, role)) in
            self.rows(detail, body.width).into_iter().enumerate()
        {
            let y = y as u16;
            put(buffer, body, 1, y, label, context.theme.dim());
            let end = FIGURE + put(buffer, body, FIGURE, y, &figure, context.theme.text());
            put(
                buffer,
                body,
                NOTE.max(end + 2),
                y,
                &note,
                context.theme.style(role),
            );
        }
    }

    fn rows(&self, detail: &PatternDetail, width: u16) -> Vec<Row> {
        let roomy = width >= ROOMY;
        let pattern = self.pattern;
        let price = |price: f64| format::price(Some(price));
        let note = |says: &str| {
            if roomy {
                says.to_owned()
            } else {
                String::new()
            }
        };
        let from = note(" from last close");
        // The distance of a completed pattern is only the market's move since, which says nothing about it.
        let away = |percent: f64| {
            if detail.status.is_over() {
                String::new()
            } else {
                format!("{}{from}", format::change(Some(percent)))
            }
        };
        let (to_target, to_stop) = (
            away(detail.distance_to_target),
            away(detail.distance_to_stop),
        );
        let candles = pattern.end_index - pattern.start_index + 1;
        let direction = if detail.direction == Direction::Up {
            "up"
        } else {
            "down"
        };
        // A note is in full, or a shorter one takes its place.
        let room = |figure: &str| {
            usize::from(width).saturating_sub(
                usize::from(NOTE).max(usize::from(FIGURE) + text::width(figure) + 2),
            )
        };
        let breakout = price(detail.breakout_price);
        let direction = match detail.direction_by {
            DirectionBy::PriorTrend => {
                let trend = format!("{direction} if the trend continues");
                text::longest_that_fits(
                    [
                        format!("either side; {trend}"),
                        trend,
                        format!("{direction}?"),
                    ],
                    room(&breakout),
                )
            }
            DirectionBy::Breakout | DirectionBy::Shape => direction.to_owned(),
        };
        let state = format!("{:.0}% complete", pattern.completion_percent);
        let plain = |label, figure: String, note: String| (label, figure, note, Role::Dim);
        let pivots: Vec<String> = detail
            .anchors
            .iter()
            .map(|anchor| price(anchor.price))
            .collect();
        // A number is never cut.
        let pivots = (0..=pivots.len()).rev().map(|count| {
            let more = if count < pivots.len() { "  …" } else { "" };
            pivots[..count].join("  ") + more
        });
        let pivots = text::longest_that_fits(pivots, usize::from(width.saturating_sub(FIGURE)));
        vec![
            ("target", price(detail.target_price), to_target, Role::Up),
            ("stop", price(detail.stop_price), to_stop, Role::Down),
            reward_risk(detail, room),
            plain("breakout", breakout, direction),
            plain("status", words::of(&detail.status), state),
            plain(
                "pattern fit",
                percent(pattern.confidence),
                note("not a win rate"),
            ),
            plain("height", price(detail.height), note(height_note(detail))),
            plain(
                "from",
                format::candle_time(detail.start_time),
                String::new(),
            ),
            plain(
                "to",
                format::candle_time(detail.end_time),
                format!("{candles} candles"),
            ),
            plain("pivots", pivots, String::new()),
            self.record(usize::from(width)),
            plain(
                "advice",
                self.advice
                    .map_or_else(String::new, |word| words::of(&word)),
                format!(
                    "signal {}{}",
                    signed(detail.action_contribution),
                    if roomy { " (−1 to 1)" } else { "" }
                ),
            ),
            plain(
                "as of",
                self.as_of
                    .map_or_else(|| format::MISSING.to_owned(), format::candle_time),
                note("the last candle"),
            ),
        ]
    }

    /// The track record, such as `8 of 14 hit the target; random entries 36%; too few`. Its patterns were detected in real time; those of the list were
    /// detected with all candles up to now and may differ.
    fn record(&self, width: usize) -> Row {
        let plain = |figure: &str, says: String| ("hit rate", figure.to_owned(), says, Role::Dim);
        let fitting = |figure: &str, says: Vec<String>| {
            let before = usize::from(NOTE).max(usize::from(FIGURE) + text::width(figure) + 2);
            plain(
                figure,
                text::longest_that_fits(says, width.saturating_sub(before)),
            )
        };
        if self
            .pattern
            .detail
            .as_ref()
            .is_some_and(|detail| detail.status.is_over())
        {
            // The record would include this pattern and later ones.
            return fitting(
                format::MISSING,
                ["R: track record", "R: record"].map(str::to_owned).into(),
            );
        }
        let record = match self.record {
            Some(Ok(record)) => record,
            Some(Err(problem)) => return plain(format::MISSING, problem.detail.clone()),
            None => {
                let says = if self.followed {
                    ["counting earlier patterns", "counting…"]
                } else {
                    ["Enter: earlier patterns", "Enter: count"]
                };
                return fitting(format::MISSING, says.map(str::to_owned).into());
            }
        };
        let of_name = record
            .patterns
            .iter()
            .find(|known| known.name == self.pattern.name);
        let Some((known, target)) = of_name.and_then(|known| Some((known, known.target?))) else {
            return fitting(
                "none",
                ["completed (detected in real time)", "completed yet"]
                    .map(str::to_owned)
                    .into(),
            );
        };
        let base = |words: &str| {
            known
                .random_target
                .map_or_else(String::new, |rate| format!("{words} {}", percent(rate)))
        };
        let hit = |words: &str, base: String| {
            format!("{words}{}{base}", if base.is_empty() { "" } else { "; " })
        };
        let verdict = known.evidence.verdict.map_or("", Verdict::text);
        let with_verdict = |words: &str, base: String| format!("{}; {verdict}", hit(words, base));
        let says = vec![
            with_verdict(
                "hit the target (detected in real time)",
                base("random entries"),
            ),
            with_verdict("hit the target", base("random entries")),
            with_verdict("hit target", base("base")),
            with_verdict("hit", base("base")),
            format!("{}; {verdict}", base("base")),
            base("base"),
        ];
        fitting(
            &format!("{:.0} of {}", target * known.count as f64, known.count),
            says,
        )
    }

    /// Draws the reasons of the confidence; returns the rows used.
    fn draw_reasons(&self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) -> u16 {
        let reasons = self
            .pattern
            .detail
            .as_ref()
            .map_or(&[][..], |detail| &detail.why);
        let title = "what raised or lowered the fit";
        let rows: Vec<(String, f64, f64)> = reasons
            .iter()
            .map(|part| (part.measure.to_owned(), part.value, part.contribution))
            .collect();
        let all: f64 = reasons.iter().map(|part| part.contribution).sum();
        draw_parts(
            buffer,
            area,
            context,
            title,
            &format!("log odds {}", signed(all)),
            &rows,
        )
    }

    /// Draws the reasons of the trend word, given enough space.
    fn draw_trend(&self, buffer: &mut Buffer, area: Rect, context: &Context<'_>) {
        let Some((answer, why)) = self
            .trendline
            .and_then(|answer| Some((answer, answer.why.as_ref()?)))
        else {
            return;
        };
        if area.height < why.parts.len() as u16 + 3 {
            return;
        }
        let area = below(area, 1);
        let rows: Vec<(String, f64, f64)> = why
            .parts
            .iter()
            .map(|part| {
                (
                    measured(part.measure).to_owned(),
                    part.value,
                    part.contribution,
                )
            })
            .collect();
        let (title, _) = trend(answer, "", 0);
        let needs = format!("trend above {0:.1} or below −{0:.1}", why.threshold);
        draw_parts(
            buffer,
            area,
            context,
            &format!("why {title}"),
            &needs,
            &rows,
        );
    }
}

/// Draws a title and one row for each part: name, value, contribution. Returns the rows used.
fn draw_parts(
    buffer: &mut Buffer,
    area: Rect,
    context: &Context<'_>,
    title: &str,
    note: &str,
    parts: &[(String, f64, f64)],
) -> u16 {
    if area.height < 2 {
        return 0;
    }
    let body = Panel {
        note,
        ..Panel::new(title)
    }
    .render(area, buffer, context.theme);
    if parts.is_empty() {
        put(buffer, body, 1, 0, "no reasons given", context.theme.dim());
    }
    // The figures take twenty cells at the right; the contribution alone, where the names need the room.
    let longest = parts
        .iter()
        .map(|(measure, ..)| text::width(measure))
        .max()
        .unwrap_or(0);
    let has_values = longest <= usize::from(body.width.saturating_sub(22));
    let words = usize::from(body.width.saturating_sub(if has_values { 22 } else { 9 }));
    for (y, (measure, value, contribution)) in
        parts.iter().take(usize::from(body.height)).enumerate()
    {
        let y = y as u16;
        put(
            buffer,
            body,
            1,
            y,
            &text::truncate(measure, words),
            context.theme.text(),
        );
        let value = text::fit(&format::human(Some(*value)), 8, text::Align::Right);
        if has_values {
            put(
                buffer,
                body,
                body.width.saturating_sub(20),
                y,
                &value,
                context.theme.dim(),
            );
        }
        let role = Role::of_sign(*contribution);
        let slot = Rect {
            width: body.width.saturating_sub(2),
            ..body
        };
        put_right(
            buffer,
            slot,
            y,
            &signed(*contribution),
            context.theme.style(role),
        );
    }
    area.height.min(parts.len().max(1) as u16 + 1)
}

/// A fall by more than the price itself would end below zero.
fn height_note(detail: &PatternDetail) -> &'static str {
    if detail.target_by_log {
        "measured on a log scale"
    } else {
        "measured from breakout"
    }
}

/// The ratio; for a forming pattern, with the entry price from which it is measured, given space.
fn reward_risk(detail: &PatternDetail, room: impl Fn(&str) -> usize) -> Row {
    let ratio = ratio(detail).unwrap_or_else(|| format::MISSING.to_owned());
    if detail.status != Status::Forming {
        return ("reward:risk", ratio, String::new(), Role::Dim);
    }
    let entry = format!(
        "if entered {} {}",
        side(detail),
        format::price(Some(detail.breakout_price))
    );
    let note = text::longest_that_fits([entry, "if entered".to_owned()], room(&ratio));
    ("reward:risk", ratio, note, Role::Dim)
}

fn ratio(detail: &PatternDetail) -> Option<String> {
    detail.reward_risk.map(|ratio| format!("{ratio:.2}"))
}

/// Rounds a fraction to a percentage without a space: `85%`.
fn percent(fraction: f64) -> String {
    format!("{:.0}%", 100.0 * fraction)
}

/// `+0.43` or `−0.43`.
fn signed(value: f64) -> String {
    format!("{value:+.2}").replace('-', "−")
}

/// The side of the boundary on which a trade is entered.
fn side(detail: &PatternDetail) -> &'static str {
    if detail.direction == Direction::Up {
        "above"
    } else {
        "below"
    }
}

fn measured(measure: TrendMeasure) -> &'static str {
    match measure {
        TrendMeasure::NetMove => "net move / random walk",
        TrendMeasure::StraightLine => "straight-line fit, R²",
        TrendMeasure::LastClose => "close in its range, −1 to 1",
    }
}

/// One line: `Double bottom 0.81 confirmed · target 3.15 ▲ 14.2% · stop 2.31 ▼ 8.1% · r:r 1.75`.
pub(super) fn line(pattern: &Pattern, state: &str, cells: usize) -> String {
    let head = format!(
        "{} {:.2}",
        words::shown(pattern.name.word()),
        pattern.confidence
    );
    let Some(detail) = &pattern.detail else {
        return head;
    };
    let away = |percent: f64| format::change(Some(percent));
    let target = format!(
        "{TARGET}{} {}",
        format::price(Some(detail.target_price)),
        away(detail.distance_to_target)
    );
    let stop = format!(
        "stop {} {}",
        format::price(Some(detail.stop_price)),
        away(detail.distance_to_stop)
    );
    let short = format!(
        "{TARGET}{} · stop {}",
        away(detail.distance_to_target),
        away(detail.distance_to_stop)
    );
    if detail.status.is_over() {
        let lines = [
            format!(
                "{head} {state} · {TARGET}{}",
                format::price(Some(detail.target_price))
            ),
            format!("{head} {state}"),
            head,
        ];
        return text::longest_that_fits(lines, cells);
    }
    let entered = detail.status != Status::Forming;
    let entry = if entered {
        String::new()
    } else {
        format!(
            " · {} {}",
            side(detail),
            format::price(Some(detail.breakout_price))
        )
    };
    let ratio = ratio(detail).map_or_else(String::new, |ratio| {
        format!("{} {ratio}:1", if entered { " ·" } else { " then" })
    });
    let ratio = entry + &ratio;
    let lines = [
        format!("{head} {state} · {target} · {stop}{ratio}"),
        format!("{head} {state} · {short}{ratio}"),
        format!("{head} {state} · {short}"),
        format!("{head} · {short}"),
        head,
    ];
    text::longest_that_fits(lines, cells)
}
