//! Tests of the chart in pixels: the same places as in cells, crisp candles, words apart from the picture.

use super::{
    tests::{Owned, SUPPORT, lines, wave},
    *,
};
use crate::widgets::{
    picture,
    pixels::{PixelCanvas, Rgb, plot::CellPixels},
    theme::{Depth, Options, Palette},
};

const CELL: (u16, u16) = (10, 20);

fn painted(data: &ChartData<'_>, width: u16, height: u16) -> (Buffer, ChartLayout, PixelCanvas) {
    let area = Rect::new(0, 0, width, height);
    let mut buffer = Buffer::empty(area);
    let (layout, scene) = render_words(data, area, &mut buffer, &Theme::default());
    let canvas = scene
        .expect("a theme with colors")
        .paint(CellPixels::new(CELL.0, CELL.1).expect("a cell"));
    (buffer, layout, canvas)
}

fn color(role: Role) -> Rgb {
    Theme::default().rgb(role).expect("a color")
}

/// The runs of a color in a row of pixels.
fn runs(canvas: &PixelCanvas, y: usize, color: Rgb) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for x in (0..canvas.width()).filter(|x| canvas.rgb(*x, y) == Some(color)) {
        match runs.last_mut() {
            Some((_, end)) if *end == x => *end += 1,
            _ => runs.push((x, x + 1)),
        }
    }
    runs
}

#[test]
fn a_wick_is_one_pixel_in_the_middle_of_its_body_and_air_is_between_bodies() {
    // The scale is 0.88 to 5.12; bodies are 2 to 4, wicks 1 to 5.
    let rows = [[2.0, 5.0, 1.0, 4.0, 1.0]; 6];
    let owned = Owned::new(&rows);
    for columns in [1, 2, 3, 5, 8] {
        let data = ChartData {
            columns,
            volume: false,
            ..ChartData::new(owned.candles())
        };
        let (_, layout, canvas) = painted(&data, 6 * columns + 11, 12);
        let y = |price: f64| {
            ((f64::from(layout.plot.height) - layout.rise(price)) * f64::from(CELL.1)) as usize
        };
        let (bodies, wicks) = (
            runs(&canvas, y(3.0), color(Role::Up)),
            runs(&canvas, y(4.5), color(Role::Up)),
        );
        assert_eq!(
            (bodies.len(), wicks.len()),
            (6, 6),
            "{columns} columns: {bodies:?} {wicks:?}"
        );
        for (body, wick) in bodies.iter().zip(&wicks) {
            assert_eq!(wick.1 - wick.0, 1, "{columns} columns");
            assert_eq!(
                wick.0 - body.0,
                body.1 - wick.1,
                "{columns} columns: {body:?} {wick:?}"
            );
        }
        assert!(
            bodies.windows(2).all(|pair| pair[1].0 > pair[0].1),
            "{columns} columns: {bodies:?}"
        );
        // The cells' painter has the candle in the same column.
        let cell = usize::from(layout.x_of(2).expect("on screen") - layout.plot.x);
        assert_eq!(
            (wicks[2].0 / usize::from(CELL.0)),
            cell,
            "{columns} columns"
        );
        let above = runs(&canvas, y(5.05), color(Role::Up));
        assert_eq!(above, [], "nothing above the high");
    }
}

#[test]
fn words_and_axes_are_those_of_the_cells_and_nothing_else_is() {
    let mut owned = wave(120);
    // Of one candle that is on screen, the wick leaves the axis.
    owned.low[110] = 0.5;
    let support = [
        SUPPORT,
        ChartLine {
            intercept: 12.0,
            to: 130.0,
            label: "reg",
            dashed: true,
            ..SUPPORT
        },
    ];
    let spans = [Span {
        from: 60,
        to: 80,
        prices: Some((9.0, 15.0)),
        role: Role::Up,
        label: "flag",
    }];
    let levels = [PriceLevel {
        price: 17.0,
        from: Some(100),
        role: Role::Warning,
        label: "target",
    }];
    let marks = [Mark {
        index: 70,
        over: true,
        role: Role::Warning,
        glyph: Glyph::Anchor,
    }];
    let data = ChartData {
        lines: &support,
        spans: &spans,
        levels: &levels,
        marks: &marks,
        future: 8,
        ..ChartData::new(owned.candles())
    };
    let area = Rect::new(0, 0, 140, 36);
    let mut cells = Buffer::empty(area);
    let layout = render(&data, area, &mut cells, &Theme::default());
    let (buffer, same, canvas) = painted(&data, 140, 36);
    assert_eq!(layout, same);
    let letters = |buffer: &Buffer| {
        picture::text(buffer)
            .chars()
            .filter(|letter| letter.is_alphanumeric())
            .collect::<String>()
    };
    assert_eq!(letters(&buffer), letters(&cells));
    let plot = lines(&buffer)[..usize::from(layout.plot.height)].concat();
    assert!(
        !plot.contains(['▌', '│', '◆', '⠉', '┄'])
            || plot.chars().filter(|glyph| *glyph == '│').count() <= 36,
        "{plot}"
    );
    assert!(plot.contains("flag") && plot.contains("target") && plot.contains("wick 0.5000"));
    // The level's line ends at its word.
    let y = ((f64::from(layout.plot.height) - layout.rise(17.0)) * f64::from(CELL.1)) as usize;
    let end = runs(&canvas, y, color(Role::Warning))
        .last()
        .map_or(0, |run| run.1);
    let word = (usize::from(layout.plot.width) - "target".len()) * usize::from(CELL.0);
    assert!(end > 0 && end <= word, "{end} of {word}");
    // The wick that leaves the axis ends with the plot.
    let below = usize::from(layout.plot.height) * usize::from(CELL.1)..canvas.height();
    assert!(
        below.clone().count() > 40
            && below
                .into_iter()
                .all(|y| runs(&canvas, y, color(Role::Up)).is_empty())
    );
    // Line, level, mark and soft surface are in the picture.
    for role in [
        Role::Accent,
        Role::Warning,
        Role::Up,
        Role::Down,
        Role::UpSoft,
    ] {
        assert!(canvas.palette().contains(&color(role)), "{role:?}");
    }
    assert!(
        (10..256).contains(&canvas.palette().len()),
        "{}",
        canvas.palette().len()
    );
}

#[test]
fn a_price_is_at_the_same_height_in_pixels_and_in_cells() {
    let owned = wave(40);
    let levels = [PriceLevel {
        price: 11.0,
        from: None,
        role: Role::Warning,
        label: "",
    }];
    let data = ChartData {
        levels: &levels,
        volume: false,
        ..ChartData::new(owned.candles())
    };
    let (_, layout, canvas) = painted(&data, 60, 24);
    let row = (0..canvas.height())
        .find(|y| !runs(&canvas, *y, color(Role::Warning)).is_empty())
        .expect("the level");
    assert_eq!(
        row / usize::from(CELL.1),
        usize::from(layout.y_of(11.0).expect("inside") - layout.plot.y)
    );
    assert_eq!(
        row,
        ((f64::from(layout.plot.height) - layout.rise(11.0)) * f64::from(CELL.1)) as usize
    );
}

#[test]
fn a_theme_of_the_terminals_own_colours_has_no_picture_and_whole_cells() {
    let owned = wave(30);
    for depth in [Depth::Sixteen, Depth::None] {
        let theme = Theme::new(
            &Palette::dark(),
            Options {
                depth,
                ..Options::default()
            },
        );
        let area = Rect::new(0, 0, 60, 20);
        let (mut words, mut cells) = (Buffer::empty(area), Buffer::empty(area));
        let (_, scene) = render_words(&ChartData::new(owned.candles()), area, &mut words, &theme);
        render(&ChartData::new(owned.candles()), area, &mut cells, &theme);
        assert!(scene.is_none() && words == cells, "{depth:?}");
    }
}
