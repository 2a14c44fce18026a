//! Tests of the chart: glyphs, positions, and freedom from panics.

use model::format;
use proptest::prelude::*;

use super::*;
use crate::widgets::{
    picture,
    pixels::plot::CellPixels,
    theme::{Depth, Options, Palette},
};

const DAY: i64 = 86_400_000;

/// Owned candle columns.
#[derive(Debug, Clone, Default)]
pub(super) struct Owned {
    timestamp: Vec<i64>,
    open: Vec<f64>,
    high: Vec<f64>,
    pub(super) low: Vec<f64>,
    close: Vec<f64>,
    volume: Vec<f64>,
}

impl Owned {
    pub(super) fn new(rows: &[[f64; 5]]) -> Self {
        let column = |k: usize| rows.iter().map(|row| row[k]).collect::<Vec<_>>();
        let timestamp = (0..rows.len() as i64)
            .map(|i| 1_767_225_600_000 + i * DAY)
            .collect();
        Self {
            timestamp,
            open: column(0),
            high: column(1),
            low: column(2),
            close: column(3),
            volume: column(4),
        }
    }

    pub(super) fn candles(&self) -> Candles<'_> {
        Candles {
            timestamp: &self.timestamp,
            open: &self.open,
            high: &self.high,
            low: &self.low,
            close: &self.close,
            volume: &self.volume,
            volume_usd: &[],
        }
    }
}

pub(super) fn wave(count: usize) -> Owned {
    let price = |i: usize| 10.0 + 3.0 * (i as f64 * 0.35).sin() + i as f64 * 0.05;
    let rows: Vec<[f64; 5]> = (0..count)
        .map(|i| {
            let (open, close) = (price(i), price(i + 1));
            [
                open,
                open.max(close) + 0.4,
                open.min(close) - 0.4,
                close,
                1e6 * (1.0 + (i % 5) as f64),
            ]
        })
        .collect();
    Owned::new(&rows)
}

fn drawn(data: &ChartData<'_>, width: u16, height: u16, theme: &Theme) -> (Buffer, ChartLayout) {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    let layout = render(data, area, &mut buffer, theme);
    (buffer, layout)
}

pub(super) fn lines(buffer: &Buffer) -> Vec<String> {
    picture::text(buffer).lines().map(str::to_owned).collect()
}

#[test]
fn curves_and_panes_stand_where_their_values_are_and_keep_to_their_room() {
    let owned = wave(60);
    // A curve over the candles with a gap; in one pane a share of 0 to 100, in another bars below zero.
    let over = IndicatorCurve {
        values: (0..60)
            .map(|i| if i == 30 { f64::NAN } else { 15.0 })
            .collect(),
        role: Role::Warning,
        dashed: false,
    };
    let share = IndicatorCurve {
        values: vec![100.0; 60],
        role: Role::Accent,
        dashed: false,
    };
    let title = |name: &str| vec![(format!(" {name} "), Role::Text)];
    let panes = [
        IndicatorPane {
            title: title("RSI 14"),
            curves: vec![share],
            guides: vec![30.0, 70.0],
            ..IndicatorPane::default()
        },
        IndicatorPane {
            title: title("MACD"),
            bars: vec![-1.0; 60],
            ..IndicatorPane::default()
        },
    ];
    let curves = [over];
    let data = ChartData {
        curves: &curves,
        panes: &panes,
        ..ChartData::new(owned.candles())
    };
    let (buffer, layout) = drawn(&data, 90, 40, &Theme::default());
    let shown = lines(&buffer);
    let (first, second) = (layout.pane(0).expect("room"), layout.pane(1).expect("room"));
    let text = |y: u16| &shown[usize::from(y)];
    assert!(
        text(first.y).contains(" RSI 14 ─") && text(second.y).contains(" MACD ─"),
        "{shown:#?}"
    );
    assert!(
        text(first.y + 1).contains('⠉'),
        "the highest value in the highest row: {shown:#?}"
    );
    assert!(text(second.bottom() - 1).contains('│') && layout.panes() == 2);
    let y = layout.y_of(15.0).expect("inside the prices");
    let there = |index: usize| buffer[(layout.x_of(index).expect("on screen"), y)].symbol() != " ";
    assert!(there(28) && there(33) && !there(30), "{}", text(y));
    // With little space the candles keep their rows, and the last pane is dropped first.
    let (_, small) = drawn(&data, 90, 20, &Theme::default());
    assert_eq!(
        (small.panes(), small.pane(1), small.plot.height >= 8),
        (1, None, true)
    );
    assert_eq!(drawn(&data, 90, 12, &Theme::default()).1.panes(), 0);
}

#[test]
fn every_candle_has_its_glyphs_and_its_own_colour() {
    let owned = Owned::new(&[
        [1.0, 4.0, 1.0, 3.0, 5.0],
        [3.0, 3.0, 1.0, 1.0, 1.0],
        [f64::NAN, 1.0, 1.0, 1.0, 1.0],
        [2.0, 2.0, 2.0, 2.0, f64::NAN],
    ]);
    let theme = Theme::default();
    let (buffer, layout) = drawn(
        &ChartData {
            volume: false,
            ..ChartData::new(owned.candles())
        },
        4,
        4,
        &theme,
    );
    assert_eq!(lines(&buffer), ["│", "▌▖", "▌▌ ▘", "▌▌"], "{layout:?}");
    assert_eq!(
        (buffer[(0, 1)].fg, buffer[(1, 1)].fg),
        (
            theme.style(Role::Up).fg.expect("the role has a color"),
            theme.style(Role::Down).fg.expect("the role has a color")
        )
    );
}

pub(super) const SUPPORT: ChartLine<'static> = ChartLine {
    intercept: 6.5,
    slope: 0.05,
    geometric: false,
    from: 5.0,
    to: 50.0,
    role: Role::Accent,
    dashed: false,
    label: "support",
};

#[test]
fn lines_spans_levels_and_the_crosshair_stand_in_their_places() {
    let owned = wave(48);
    let support = [SUPPORT];
    let spans = [Span {
        from: 20,
        to: 30,
        prices: None,
        role: Role::Up,
        label: "flag",
    }];
    let levels = [PriceLevel {
        price: 17.0,
        from: Some(30),
        role: Role::Warning,
        label: "target",
    }];
    let data = ChartData {
        lines: &support,
        spans: &spans,
        levels: &levels,
        future: 3,
        crosshair: Some(Crosshair {
            candle: 10,
            price: Some(12.0),
        }),
        ..ChartData::new(owned.candles())
    };
    let (buffer, layout) = drawn(&data, 64, 18, &Theme::default());
    let text = lines(&buffer);
    insta::with_settings!({ snapshot_path => concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/snapshots"), prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("chart", text.join("\n"));
    });
    assert_eq!(
        buffer[(layout.x_of(25).expect("a candle on screen"), 0)].bg,
        Theme::default()
            .tint(Role::Up)
            .bg
            .expect("the role has a color")
    );
    assert_eq!(layout.shown, (0, 48));
}

#[test]
fn a_level_off_the_chart_is_named_at_the_edge_it_lies_beyond() {
    let owned = wave(60);
    for (price, ascii, says, at_top) in [
        (0.01, false, "▼ target", false),
        (900.0, false, "▲ target", true),
        (0.01, true, "v target", false),
    ] {
        let levels = [PriceLevel {
            price,
            from: Some(40),
            role: Role::Down,
            label: "target",
        }];
        let data = ChartData {
            levels: &levels,
            future: 12,
            ascii,
            ..ChartData::new(owned.candles())
        };
        let (buffer, layout) = drawn(&data, 90, 24, &Theme::default());
        let row = lines(&buffer)
            .iter()
            .position(|line| line.contains(says))
            .expect("the label") as u16;
        let near = if at_top {
            row - layout.plot.y
        } else {
            layout.plot.bottom() - 1 - row
        };
        assert!(near < 4, "{says} {row}");
    }
}

#[test]
fn prices_at_the_right_edge_stand_at_their_height_and_no_two_in_one_row() {
    let owned = wave(60);
    let last = owned.close[59];
    // One level far from the last close, one in its row, one in the first one's.
    let levels =
        [("target", 16.5), ("mine", last), ("stop", 16.51)].map(|(label, price)| PriceLevel {
            price,
            from: None,
            role: Role::Up,
            label,
        });
    let data = ChartData {
        levels: &levels,
        future: 8,
        ..ChartData::new(owned.candles())
    };
    let (buffer, layout) = drawn(&data, 90, 24, &Theme::default());
    let shown = lines(&buffer);
    let row = |price: f64| usize::from(layout.y_of(price).expect("a price of the plot"));
    let target = &shown[row(16.5)];
    assert!(
        target.contains("┄target◂ 16.50")
            || target.contains("┄ target◂ 16.50")
            || target.ends_with("target◂ 16.50"),
        "{target}"
    );
    let says = format::price(Some(last));
    assert!(
        shown[row(last)].contains(&format!("◂ {says}")),
        "{shown:#?}"
    );
    assert_eq!(
        shown.iter().filter(|line| line.contains(&says)).count(),
        2,
        "a level in the row of the last close has the next\n{shown:#?}"
    );
    let tagged = |says: &str| {
        shown
            .iter()
            .position(|line| line.contains(says))
            .expect("a tag")
    };
    assert_eq!(
        tagged("◂ 16.50").abs_diff(tagged("◂ 16.51")),
        1,
        "{shown:#?}"
    );
}

#[test]
fn a_span_has_a_frame_where_there_is_no_colour_to_shade_it() {
    let owned = wave(60);
    let spans = [Span {
        from: 30,
        to: 40,
        prices: Some((9.0, 14.0)),
        role: Role::Up,
        label: "flag",
    }];
    for (depth, framed) in [
        (Depth::True, false),
        (Depth::Sixteen, true),
        (Depth::None, true),
    ] {
        let theme = Theme::new(
            &Palette::dark(),
            Options {
                depth,
                ..Options::default()
            },
        );
        let (buffer, _) = drawn(
            &ChartData {
                spans: &spans,
                ..ChartData::new(owned.candles())
            },
            90,
            24,
            &theme,
        );
        assert_eq!(lines(&buffer).join("\n").contains('╌'), framed, "{depth:?}");
    }
}

#[test]
fn a_line_that_leaves_the_chart_is_named_at_its_edge_and_moves_no_axis() {
    let owned = wave(60);
    let line = |intercept: f64, slope: f64| ChartLine {
        intercept,
        slope,
        geometric: false,
        from: 0.0,
        to: 66.0,
        role: Role::Up,
        dashed: false,
        label: "S",
    };
    let scale = |lines: &[ChartLine<'_>]| {
        let data = ChartData {
            lines,
            future: 6,
            ..ChartData::new(owned.candles())
        };
        let (buffer, layout) = drawn(&data, 100, 30, &Theme::default());
        (self::lines(&buffer).join("\n"), layout.scale)
    };
    let (bare, alone) = scale(&[]);
    assert!(!bare.contains('S'));
    for (drawn, says) in [
        (line(10.0, -0.1), "▼ S 3."),
        (line(10.0, -1.0), "▼ S below zero"),
        (line(10.0, 1.0), "▲ S 7"),
    ] {
        let (text, scale) = scale(&[drawn]);
        assert!(text.contains(says) && scale == alone, "{says}\n{text}");
    }
    let (inside, _) = scale(&[line(10.0, 0.0)]);
    assert!(inside.contains('S') && !inside.contains("S 10"), "{inside}");
}

#[test]
fn ascii_charts_have_no_other_character() {
    let owned = wave(60);
    let support = [ChartLine {
        dashed: true,
        ..SUPPORT
    }];
    let levels = [PriceLevel {
        price: 15.0,
        from: None,
        role: Role::Warning,
        label: "target",
    }];
    let theme = Theme::new(
        &Palette::dark(),
        Options {
            depth: Depth::None,
            ..Options::default()
        },
    );
    for columns in [1, 2, 4] {
        let crosshair = Some(Crosshair {
            candle: 55,
            price: Some(12.0),
        });
        let data = ChartData {
            ascii: true,
            columns,
            lines: &support,
            levels: &levels,
            crosshair,
            ..ChartData::new(owned.candles())
        };
        let (mut buffer, _) = drawn(&data, 80, 24, &theme);
        crate::widgets::ascii::replace_glyphs(&mut buffer);
        let text = lines(&buffer).join("\n");
        assert!(text.is_ascii(), "{text}");
        assert!(text.contains('#') && text.contains('o') && text.contains('|'));
    }
}

#[test]
fn without_colours_rising_and_falling_differ_in_shape() {
    let owned = Owned::new(&[[1.0, 4.0, 1.0, 4.0, 1.0], [4.0, 4.0, 1.0, 1.0, 1.0]]);
    let theme = Theme::new(
        &Palette::dark(),
        Options {
            depth: Depth::None,
            ..Options::default()
        },
    );
    let (buffer, _) = drawn(&ChartData::new(owned.candles()), 2, 3, &theme);
    assert_eq!(lines(&buffer)[1], "║▌");
}

#[test]
fn bodies_are_two_columns_wide_when_zoomed_in_and_no_wick_looks_like_one() {
    let owned = wave(120);
    for columns in [1_u16, 3, 4, 5, 8] {
        let (buffer, layout) = drawn(
            &ChartData {
                columns,
                volume: false,
                ..ChartData::new(owned.candles())
            },
            80,
            24,
            &Theme::default(),
        );
        insta::with_settings!({ snapshot_path => concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/snapshots"), prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("candles-{columns}"), lines(&buffer).join("\n"));
        });
        // Halves of a column that a glyph fills.
        let halves = |glyph: &str| match glyph {
            "▌" | "▐" | "▖" | "▗" | "▘" | "▝" => 1,
            "█" | "▀" | "▄" | "▁" | "▂" | "▃" | "▅" | "▆" | "▇" | "━" => 2,
            _ => 0,
        };
        for index in layout.shown.0..layout.shown.1 {
            let left = layout.left_of(index);
            let middle = f64::midpoint(owned.open[index], owned.close[index]);
            let y = layout.y_of(middle).expect("inside");
            // A thin body may be rounded into the row beside.
            let rows = y.saturating_sub(1)..=(y + 1).min(layout.plot.bottom() - 1);
            let wide: u16 = rows
                .map(|y| {
                    (left..left + columns)
                        .map(|x| halves(buffer[(x, y)].symbol()))
                        .sum()
                })
                .max()
                .unwrap_or(0);
            let least = if columns > 1 { 4 } else { 1 };
            assert!(
                wide >= least && wide < 2 * columns,
                "candle {index} of {columns} columns: {wide} halves"
            );
        }
    }
}

#[test]
fn wide_bodies_end_to_an_eighth() {
    // The scale is 0.9 to 5.1 here; the body is 2 to 3.
    let owned = Owned::new(&[[1.0, 5.0, 1.0, 5.0, 1.0], [2.0, 3.0, 2.0, 3.0, 1.0]]);
    let (buffer, layout) = drawn(
        &ChartData {
            columns: 4,
            volume: false,
            ..ChartData::new(owned.candles())
        },
        8,
        5,
        &Theme::default(),
    );
    let x = layout.x_of(1).expect("a candle on screen");
    let column: Vec<&str> = (0..5).map(|y| buffer[(x, y)].symbol()).collect();
    assert_eq!(layout.x_of(1), Some(5));
    let rise = |price: f64| (layout.rise(price) * 8.0).round() as usize;
    let filled: usize = (0..5)
        .map(|y| {
            let cell = &buffer[(x, y)];
            let eighths = " ▁▂▃▄▅▆▇█"
                .chars()
                .position(|c| cell.symbol().starts_with(c))
                .expect("a part of a bar");
            if cell.modifier.contains(ratatui::style::Modifier::REVERSED) {
                8 - eighths
            } else {
                eighths
            }
        })
        .sum();
    assert_eq!(filled, rise(3.0) - rise(2.0), "{column:?}");
}

#[test]
fn the_mouse_finds_candles_and_prices() {
    let owned = wave(200);
    let (_, layout) = drawn(&ChartData::new(owned.candles()), 111, 30, &Theme::default());
    assert_eq!(layout.shown, (100, 200));
    for index in [100, 150, 199] {
        assert_eq!(
            layout.candle_at(layout.x_of(index).expect("a candle on screen")),
            Some(index)
        );
    }
    assert_eq!(
        (
            layout.candle_at(layout.plot.right()),
            layout.candle_at(200),
            layout.x_of(99)
        ),
        (None, None, None)
    );
    for y in layout.plot.y..layout.plot.bottom() {
        assert_eq!(
            layout.y_of(layout.price_at(y).expect("a price in the plot")),
            Some(y)
        );
    }
    assert_eq!(layout.price_at(layout.axis.y), None);
}

#[test]
fn labels_of_time_are_at_round_times() {
    let owned = wave(120);
    let (buffer, _) = drawn(&ChartData::new(owned.candles()), 131, 20, &Theme::default());
    assert_eq!(
        lines(&buffer)[19]
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" "),
        "Feb 2026 Mar Apr"
    );
    let mut hours = wave(72);
    for (i, time) in hours.timestamp.iter_mut().enumerate() {
        *time = 1_767_225_600_000 + i as i64 * 3_600_000;
    }
    let (buffer, _) = drawn(&ChartData::new(hours.candles()), 83, 20, &Theme::default());
    assert_eq!(
        lines(&buffer)[19]
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" "),
        "Jan 1 12:00 Jan 2 12:00 Jan 3 12:00"
    );
}

#[test]
fn an_axis_has_more_than_one_label_where_there_are_more_candles() {
    for count in [40, 63, 200] {
        let owned = wave(count);
        for log in [false, true] {
            let (buffer, layout) = drawn(
                &ChartData {
                    future: 6,
                    log,
                    ..ChartData::new(owned.candles())
                },
                80,
                18,
                &Theme::default(),
            );
            let labels = lines(&buffer).last().map_or(0, |line| {
                line.split("  ")
                    .filter(|label| !label.trim().is_empty())
                    .count()
            });
            let ticks = (layout.plot.y..layout.plot.bottom())
                .filter(|&y| buffer[(layout.plot.right(), y)].symbol() == "├")
                .count();
            assert!(
                labels > 1 && ticks > 1,
                "{count}: {}",
                lines(&buffer).join("\n")
            );
        }
    }
}

fn price() -> impl Strategy<Value = f64> {
    prop_oneof![0.5_f64..2.0, 1e-12_f64..1e12, any::<f64>()]
}

proptest! {
    #[test]
    fn any_data_in_any_rectangle_can_be_drawn(
        rows in proptest::collection::vec([price(), price(), price(), price(), price()], 0..60),
        rect in (any::<u16>(), any::<u16>(), any::<u16>(), any::<u16>()),
        (columns, future, log, volume, ascii) in (0_u16..9, 0_u16..20, any::<bool>(), any::<bool>(), any::<bool>()),
        (intercept, slope, from, to) in (price(), -1.0_f64..1.0, any::<f64>(), any::<f64>()),
        (index, other, sorted) in (0_usize..80, any::<usize>(), any::<bool>()),
    ) {
        let mut owned = Owned::new(&rows);
        for i in 0..rows.len() {
            if sorted {
                let mut four = [owned.open[i], owned.high[i], owned.low[i], owned.close[i]].map(f64::abs);
                four.sort_by(f64::total_cmp);
                (owned.low[i], owned.open[i], owned.close[i], owned.high[i]) = (four[0], four[1], four[2], four[3]);
            }
            if i % 7 == 3 {
                owned.timestamp[i] = (other as i64).wrapping_mul(i as i64);
            }
        }
        let lines = [
            ChartLine { intercept, slope, geometric: false, from, to, role: Role::Accent, dashed: false, label: "漢字 label" },
            ChartLine { intercept: 1.0, slope, geometric: true, from: -5.0, to: 90.0, role: Role::Up, dashed: true, label: "b" },
        ];
        let spans = [Span { from: index, to: other, prices: None, role: Role::Up, label: "span" }, Span { from: other, to: index, prices: Some((intercept, slope)), role: Role::Down, label: "x" }, Span { from: 0, to: index, prices: Some((slope, intercept)), role: Role::Down, label: "x" }];
        let levels = [PriceLevel { price: intercept, from: Some(index), role: Role::Warning, label: "level" }, PriceLevel { price: 1.1, from: None, role: Role::Warning, label: "" }];
        let (x, y, width, height) = rect;
        let marks = [Glyph::Touch, Glyph::Anchor, Glyph::BreakUp, Glyph::BreakDown].map(|glyph| Mark { index, over: glyph != Glyph::Touch, role: Role::Warning, glyph });
        let values: Vec<f64> = (0..index % 70).map(|i| if i % 5 == 1 { f64::NAN } else { intercept + slope * i as f64 }).collect();
        let curves = [IndicatorCurve { values: values.clone(), role: Role::Accent, dashed: log }];
        let pane = IndicatorPane { title: vec![("title".to_owned(), Role::Text)], curves: curves.to_vec(), bars: values, guides: vec![slope, 30.0] };
        let panes = [pane, IndicatorPane::default()];
        for area in [Rect::new(x, y, width, height), Rect::new(x % 110, y % 45, width % 110, height % 45)] {
            for crosshair in [None, Some(Crosshair { candle: index, price: Some(intercept) }), Some(Crosshair { candle: other, price: None })] {
                let data = ChartData { columns, future, lines: &lines, spans: &spans, levels: &levels, curves: &curves, panes: &panes, marks: &marks, crosshair, log, volume, ascii, ..ChartData::new(owned.candles()) };
                let mut buffer = Buffer::empty(Rect::new(0, 0, 100, 40));
                let layout = render(&data, area, &mut buffer, &Theme::default());
                let (_, scene) = render_words(&data, area, &mut buffer, &Theme::default());
                if let Some((scene, cell)) = scene.zip(CellPixels::new(4, 8)) {
                    let _ = scene.paint(cell);
                }
                let _ = (layout.candle_at(x), layout.price_at(y), layout.x_of(index), layout.x_of(other), layout.y_of(intercept));
            }
        }
    }
}

#[test]
fn a_lone_wick_does_not_take_the_axis_and_is_named_at_its_edge() {
    let theme = Theme::default();
    // Bodies from 6.75 to 15.5 or so; the low of candle 20 changes, in the second row those of two.
    let bodies = wave(40);
    let (bottom, top) = (
        bodies.open.iter().copied().fold(f64::INFINITY, f64::min),
        bodies.open.iter().copied().fold(0.0, f64::max),
    );
    for (lows, is_cut) in [
        (&[][..], false),
        (&[(20, 5.0)], false),
        (&[(20, 0.5)], true),
        (&[(20, 0.5), (25, 0.6)], false),
    ] {
        let mut candles = wave(40);
        for (i, low) in lows {
            candles.low[*i] = *low;
        }
        let (buffer, layout) = drawn(&ChartData::new(candles.candles()), 100, 30, &theme);
        let (low, shown) = (layout.scale.low(), picture::text(&buffer));
        assert!(layout.scale.high() > top && low < bottom, "{lows:?}");
        assert_eq!(
            (low > 4.0, shown.contains("▼ wick 0.5000")),
            (is_cut || lows.is_empty() || lows[0].1 > 4.0, is_cut),
            "{lows:?}\n{shown}"
        );
    }
    // Of few candles, each counts.
    let mut few = wave(6);
    few.low[3] = 0.5;
    assert!(
        drawn(&ChartData::new(few.candles()), 100, 30, &theme)
            .1
            .scale
            .low()
            < 0.5
    );
}
