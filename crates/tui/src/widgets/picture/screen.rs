//! A screenshot in pixels: the cells with their letters, and the picture of a plot under them.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    style::{Color, Modifier},
};

use crate::widgets::{
    pixels::{
        PixelCanvas, Rgb, WHOLE,
        letters::{self, HEIGHT, WIDTH},
        plot::{CellPixels, PlotScene},
        png,
    },
    theme::{Role, Theme},
};

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
