//! Screenshots as plain text, ANSI, SVG or PNG, for reports and documents. No view is drawn here.

use std::fmt::Write;

use ratatui::{
    buffer::{Buffer, Cell},
    layout::Rect,
    style::{Color, Modifier, Style},
};
use unicode_width::UnicodeWidthStr;

use super::{
    pixels::{
        PixelCanvas, Rgb, WHOLE,
        letters::{self, HEIGHT, WIDTH},
        plot::{CellPixels, PlotScene},
        png,
    },
    theme::{Role, Theme},
};

/// The cells as text, line by line, without trailing spaces.
pub fn text(buffer: &Buffer) -> String {
    let mut out = String::new();
    for line in lines(buffer) {
        let joined: String = line.iter().map(|(_, cell)| cell.symbol()).collect();
        out.push_str(joined.trim_end());
        out.push('\n');
    }
    out
}

/// The cells with their colors as escape sequences.
pub fn ansi(buffer: &Buffer) -> String {
    let mut out = String::new();
    for line in lines(buffer) {
        let mut last = Style::reset();
        for (_, cell) in line {
            let style = cell.style();
            if style != last {
                out.push_str("\x1b[0");
                sgr(&mut out, style);
                out.push('m');
                last = style;
            }
            out.push_str(cell.symbol());
        }
        out.push_str("\x1b[0m\n");
    }
    out
}

const CELL_WIDTH: f64 = 8.4;
const CELL_HEIGHT: usize = 18;

/// The cells as SVG for every browser: runs of one style as text, backgrounds as rectangles.
pub fn svg(buffer: &Buffer, theme: &Theme) -> String {
    let area = buffer.area;
    let (width, height) = (
        f64::from(area.width) * CELL_WIDTH,
        usize::from(area.height) * CELL_HEIGHT,
    );
    let foreground = hex(theme.style(Role::Text).fg, "#d7dae0");
    let background = hex(theme.style(Role::Background).bg, "#11131a");
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.1} {height}\" width=\"{width:.0}\" height=\"{height}\" \
         font-family=\"'DejaVu Sans Mono','Menlo','Consolas',monospace\" font-size=\"14\">\
         <rect width=\"100%\" height=\"100%\" fill=\"{background}\"/>"
    );
    for (y, line) in lines(buffer).into_iter().enumerate() {
        svg_line(&mut out, &line, y, &foreground, &background);
    }
    out.push_str("</svg>\n");
    out
}

fn svg_line(out: &mut String, line: &[(u16, &Cell)], y: usize, foreground: &str, background: &str) {
    let mut runs: Vec<(u16, u16, Style, String)> = Vec::new();
    for (x, cell) in line {
        let style = cell.style();
        let width = cell.symbol().width().max(1) as u16;
        match runs.last_mut() {
            // Wide glyphs get runs of their own, so that a font's different width shifts no other cell.
            Some((start, cells, last, text))
                if *last == style
                    && width == 1
                    && *start + *cells == *x
                    && text.is_ascii() == cell.symbol().is_ascii() =>
            {
                *cells += 1;
                text.push_str(cell.symbol());
            }
            _ => runs.push((*x, width, style, cell.symbol().to_owned())),
        }
    }
    let top = y * CELL_HEIGHT;
    for (x, cells, style, text) in runs {
        let reversed = style.add_modifier.contains(Modifier::REVERSED);
        let (mut front, mut back) = (hex(style.fg, foreground), hex(style.bg, background));
        if reversed {
            std::mem::swap(&mut front, &mut back);
        }
        let (left, width) = (f64::from(x) * CELL_WIDTH, f64::from(cells) * CELL_WIDTH);
        if back != background {
            let _ = write!(
                out,
                "<rect x=\"{left:.1}\" y=\"{top}\" width=\"{width:.1}\" height=\"{CELL_HEIGHT}\" fill=\"{back}\"/>"
            );
        }
        if text.trim().is_empty() {
            continue;
        }
        let weight = if style.add_modifier.contains(Modifier::BOLD) {
            " font-weight=\"bold\""
        } else {
            ""
        };
        let faint = if style.add_modifier.contains(Modifier::DIM) {
            " opacity=\"0.6\""
        } else {
            ""
        };
        let _ = write!(
            out,
            "<text x=\"{left:.1}\" y=\"{}\" textLength=\"{width:.1}\" lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\" fill=\"{front}\"{weight}{faint}>{}</text>",
            top + 13,
            escape(&text)
        );
    }
}

/// Each line's cells with their column, without the placeholder cells behind wide glyphs.
fn lines(buffer: &Buffer) -> Vec<Vec<(u16, &Cell)>> {
    let area = buffer.area;
    (0..area.height)
        .map(|y| {
            let mut line = Vec::with_capacity(usize::from(area.width));
            let mut x = 0;
            while x < area.width {
                let cell = &buffer[(area.x + x, area.y + y)];
                line.push((x, cell));
                x += (cell.symbol().width() as u16).max(1);
            }
            line
        })
        .collect()
}

fn sgr(out: &mut String, style: Style) {
    for (modifier, code) in [
        (Modifier::BOLD, 1),
        (Modifier::DIM, 2),
        (Modifier::UNDERLINED, 4),
        (Modifier::REVERSED, 7),
    ] {
        if style.add_modifier.contains(modifier) {
            let _ = write!(out, ";{code}");
        }
    }
    for (color, base) in [(style.fg, 38), (style.bg, 48)] {
        match color {
            Some(Color::Rgb(r, g, b)) => {
                let _ = write!(out, ";{base};2;{r};{g};{b}");
            }
            Some(Color::Indexed(index)) => {
                let _ = write!(out, ";{base};5;{index}");
            }
            Some(color) => {
                if let Some(index) = SIXTEEN.iter().position(|(named, _)| *named == color) {
                    let _ = write!(out, ";{base};5;{index}");
                }
            }
            None => {}
        }
    }
}

/// The sixteen ANSI colors in code order, in xterm's values.
const SIXTEEN: [(Color, &str); 16] = [
    (Color::Black, "#000000"),
    (Color::Red, "#cd3131"),
    (Color::Green, "#0dbc79"),
    (Color::Yellow, "#e5e510"),
    (Color::Blue, "#2472c8"),
    (Color::Magenta, "#bc3fbc"),
    (Color::Cyan, "#11a8cd"),
    (Color::Gray, "#e5e5e5"),
    (Color::DarkGray, "#666666"),
    (Color::LightRed, "#f14c4c"),
    (Color::LightGreen, "#23d18b"),
    (Color::LightYellow, "#f5f543"),
    (Color::LightBlue, "#3b8eea"),
    (Color::LightMagenta, "#d670d6"),
    (Color::LightCyan, "#29b8db"),
    (Color::White, "#ffffff"),
];

fn hex(color: Option<Color>, default: &str) -> String {
    match color {
        Some(Color::Rgb(r, g, b)) => format!("#{r:02x}{g:02x}{b:02x}"),
        Some(color) => SIXTEEN
            .iter()
            .find(|(named, _)| *named == color)
            .map_or(default, |(_, hex)| hex)
            .to_owned(),
        None => default.to_owned(),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

// A screenshot in pixels: the cells with their letters, and the picture of a plot under them.

/// How hard to compress: a file is written once.
const LEVEL: u32 = 9;

/// A part of the screen as a PNG file.
pub fn png(buffer: &Buffer, area: Rect, theme: &Theme, scene: Option<&PlotScene>) -> Vec<u8> {
    png::png(&canvas(buffer, area, theme, scene), LEVEL)
}

fn canvas(buffer: &Buffer, area: Rect, theme: &Theme, scene: Option<&PlotScene>) -> PixelCanvas {
    let area = area.intersection(buffer.area);
    let background = theme.rgb(Role::Background).unwrap_or((0, 0, 0));
    let foreground = theme.rgb(Role::Text).unwrap_or((255, 255, 255));
    let mut canvas = PixelCanvas::new(
        usize::from(area.width) * WIDTH,
        usize::from(area.height) * HEIGHT,
        background,
    );
    let place = |x: u16, y: u16| {
        (
            i64::from(x - area.x) * WIDTH as i64,
            i64::from(y - area.y) * HEIGHT as i64,
        )
    };
    let colors = |x: u16, y: u16| {
        let cell = &buffer[(x, y)];
        let (front, back) = (rgb(cell.fg, foreground), rgb(cell.bg, background));
        if cell.modifier.contains(Modifier::REVERSED) {
            (back, front)
        } else {
            (front, back)
        }
    };
    for position in area.positions() {
        let (left, top) = place(position.x, position.y);
        let (_, back) = colors(position.x, position.y);
        if back != background {
            let ink = canvas.ink(back);
            canvas.fill(
                left..left + WIDTH as i64,
                top..top + HEIGHT as i64,
                ink,
                WHOLE,
            );
        }
    }
    let cell = CellPixels::new(WIDTH as u16, HEIGHT as u16);
    if let Some((scene, cell)) = scene
        .zip(cell)
        .filter(|(scene, _)| scene.area.intersection(area) == scene.area)
    {
        canvas.lay(&scene.paint(cell), place(scene.area.x, scene.area.y));
    }
    for position in area.positions() {
        let cell = &buffer[position];
        let (left, top) = place(position.x, position.y);
        let ink = canvas.ink(colors(position.x, position.y).0);
        if let Some(letter) = cell.symbol().chars().next().filter(|letter| *letter != ' ') {
            letters::write(
                &mut canvas,
                (left, top),
                letter,
                cell.modifier.contains(Modifier::BOLD),
                ink,
            );
        }
        if cell.modifier.contains(Modifier::UNDERLINED) {
            let bottom = top + HEIGHT as i64 - 3;
            canvas.fill(left..left + WIDTH as i64, bottom..bottom + 1, ink, WHOLE);
        }
    }
    canvas
}

fn rgb(color: Color, default: Rgb) -> Rgb {
    if let Color::Rgb(r, g, b) = color {
        (r, g, b)
    } else {
        default
    }
}
