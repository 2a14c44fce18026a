//! SVG rendering of the chart: scales, and axis labels without overlaps. CSS classes of the page supply the colors.

use super::{Chart, Kind, Mark, Stroke};
use crate::document::html::escaped;
use model::format;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 360.0;
/// Plot area; the axes lie to its right and below.
const LEFT: f64 = 8.0;
const RIGHT: f64 = 812.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 330.0;
/// Vertical spacing of labels.
const LABEL: f64 = 14.0;
/// Levels further from the candles than this fraction of their range are drawn at the edge, so that they do not compress the scale.
const REACH: f64 = 0.5;
/// Segments that approximate a curved line.
const PIECES: u32 = 16;
const DATES: usize = 6;

/// Scale from prices to coordinates.
struct Field {
    low: f64,
    high: f64,
    bars: usize,
}

pub(super) fn draw(chart: &Chart) -> String {
    let field = Field::of(chart);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{0}\"><title>{0}</title>\n",
        escaped(&chart.caption)
    );
    grid(chart, &field, &mut svg);
    candles(chart, &field, &mut svg);
    // Drawn over the candles, so that none hides a figure.
    for price in field.prices() {
        let (x, y) = (LEFT + 2.0, field.y(price) - 3.0);
        svg.push_str(&format!(
            "<text class=\"price\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>\n",
            format::price(Some(price))
        ));
    }
    for stroke in &chart.strokes {
        line(stroke, &field, &mut svg);
    }
    marks(&chart.levels, &field, &mut svg);
    svg.push_str("</svg>\n");
    svg
}

impl Field {
    fn of(chart: &Chart) -> Self {
        let low = chart
            .bars
            .iter()
            .map(|bar| bar.low)
            .fold(f64::INFINITY, f64::min)
            .ln();
        let high = chart
            .bars
            .iter()
            .map(|bar| bar.high)
            .fold(0.0, f64::max)
            .ln();
        // A constant price still gets a range.
        let height = (high - low).max(0.01);
        let reach = (low - REACH * height)..=(high + REACH * height);
        let lines = chart
            .strokes
            .iter()
            .flat_map(|stroke| [stroke.from.1, stroke.to.1]);
        let others = chart
            .levels
            .iter()
            .map(|mark| mark.price)
            .chain(lines)
            .map(f64::ln)
            .filter(|price| reach.contains(price));
        let (low, high) = others.fold((low, high), |(low, high), price| {
            (low.min(price), high.max(price))
        });
        let edge = (high - low).max(0.01) * 0.04;
        Self {
            low: low - edge,
            high: high + edge,
            bars: chart.bars.len(),
        }
    }

    fn y(&self, price: f64) -> f64 {
        let share = (price.ln() - self.low) / (self.high - self.low);
        (BOTTOM - share * (BOTTOM - TOP)).clamp(TOP, BOTTOM)
    }

    fn inside(&self, price: f64) -> bool {
        (self.low..=self.high).contains(&price.ln())
    }

    fn step(&self) -> f64 {
        (RIGHT - LEFT) / self.bars as f64
    }

    fn x(&self, place: f64) -> f64 {
        (LEFT + (place + 0.5) * self.step()).clamp(LEFT, RIGHT)
    }

    /// Round prices for the grid: steps of 1, 2 or 5; over a wide range those figures of every power of ten.
    fn prices(&self) -> Vec<f64> {
        // Subnormal prices underflow to zero through logarithm and back.
        let (low, high) = (self.low.exp().max(f64::MIN_POSITIVE), self.high.exp());
        let power = |value: f64| 10f64.powf(value.log10().floor());
        let rounds = |base: f64| [1.0, 2.0, 5.0, 10.0].map(|by| by * base);
        if high / low > 8.0 {
            let powers = std::iter::successors(Some(power(low)), |power| Some(power * 10.0))
                .take_while(|power| *power <= high);
            let all: Vec<f64> = powers
                .flat_map(|power| rounds(power).into_iter().take(3))
                .filter(|price| self.inside(*price))
                .collect();
            let every = all.len().div_ceil(8).max(1);
            return all.into_iter().step_by(every).collect();
        }
        let rough = (high - low) / 5.0;
        let step = rounds(power(rough))
            .into_iter()
            .find(|step| *step >= rough)
            .unwrap_or(rough);
        let first = (low / step).ceil();
        (0..12)
            .map(|nth| (first + f64::from(nth)) * step)
            .take_while(|price| *price <= high)
            .filter(|price| self.inside(*price))
            .collect()
    }
}

fn grid(chart: &Chart, field: &Field, svg: &mut String) {
    svg.push_str("<g class=\"grid\">\n");
    for price in field.prices() {
        let y = field.y(price);
        svg.push_str(&format!(
            "<line x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>"
        ));
    }
    let every = chart.bars.len().div_ceil(DATES).max(1);
    for (place, bar) in chart.bars.iter().enumerate().skip(every / 2).step_by(every) {
        let day = bar.time.day();
        svg.push_str(&format!(
            "<text class=\"date\" x=\"{:.1}\" y=\"{:.1}\">{day}</text>\n",
            field.x(place as f64),
            BOTTOM + 18.0
        ));
    }
    svg.push_str("</g>\n");
}

/// Draws rising and falling candles, each as one path of wicks and one of bodies.
fn candles(chart: &Chart, field: &Field, svg: &mut String) {
    let half = (field.step() * 0.35).clamp(0.4, 6.0);
    for (class, rising) in [("up", true), ("down", false)] {
        let (mut wicks, mut bodies) = (String::new(), String::new());
        for (place, bar) in chart
            .bars
            .iter()
            .enumerate()
            .filter(|(_, bar)| (bar.close >= bar.open) == rising)
        {
            let x = field.x(place as f64);
            wicks.push_str(&format!(
                "M{x:.1} {:.1}V{:.1}",
                field.y(bar.high),
                field.y(bar.low)
            ));
            let (top, bottom) = (
                field.y(bar.open.max(bar.close)),
                field.y(bar.open.min(bar.close)),
            );
            let height = (bottom - top).max(0.8);
            bodies.push_str(&format!(
                "M{:.1} {top:.1}h{:.1}v{height:.1}h-{:.1}z",
                x - half,
                2.0 * half,
                2.0 * half
            ));
        }
        svg.push_str(&format!("<path class=\"wick {class}\" d=\"{wicks}\"/><path class=\"body {class}\" d=\"{bodies}\"/>\n"));
    }
}

fn line(stroke: &Stroke, field: &Field, svg: &mut String) {
    let pieces = if stroke.straight { PIECES } else { 1 };
    let points: Vec<String> = (0..=pieces)
        .map(|piece| {
            let share = f64::from(piece) / f64::from(pieces);
            let between = |from: f64, to: f64| from + share * (to - from);
            format!(
                "{:.1},{:.1}",
                field.x(between(stroke.from.0, stroke.to.0)),
                field.y(between(stroke.from.1, stroke.to.1))
            )
        })
        .collect();
    svg.push_str(&format!(
        "<polyline class=\"stroke {}\" points=\"{}\"/>\n",
        stroke.kind.class(),
        points.join(" ")
    ));
}

/// Draws levels with price labels on the right, moved apart to avoid overlaps.
fn marks(levels: &[Mark], field: &Field, svg: &mut String) {
    let mut ordered: Vec<(f64, &Mark)> = levels
        .iter()
        .map(|mark| (field.y(mark.price), mark))
        .collect();
    ordered.sort_by(|a, b| b.1.price.total_cmp(&a.1.price));
    let mut next = TOP;
    for (i, (y, mark)) in ordered.iter().enumerate() {
        let below = (ordered.len() - 1 - i) as f64 * LABEL;
        let at = y.max(next).min(BOTTOM - below);
        next = at + LABEL;
        let class = mark.kind.class();
        if field.inside(mark.price) && matches!(mark.kind, Kind::Target | Kind::Stop | Kind::Close)
        {
            svg.push_str(&format!("<line class=\"level {class}\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>"));
        }
        // A price outside the plot area gets an arrow.
        let beyond = match field.inside(mark.price) {
            true => "",
            false if mark.price.ln() > field.high => " ↑",
            false => " ↓",
        };
        let price = format::price(Some(mark.price));
        svg.push_str(&format!(
            "<text class=\"label {class}\" x=\"{:.1}\" y=\"{:.1}\">{} {price}{beyond}</text>\n",
            RIGHT + 8.0,
            at + 4.0,
            mark.label
        ));
    }
}
