//! Tests of the codings, by reading back what was written; and of strokes.

use std::io::Read as _;

use flate2::{Crc, read::ZlibDecoder};

use super::*;

/// Colors of every pixel, row by row.
fn colors(canvas: &PixelCanvas) -> Vec<Rgb> {
    canvas
        .pixels()
        .iter()
        .map(|index| canvas.palette()[usize::from(*index)])
        .collect()
}

fn drawn() -> PixelCanvas {
    let mut canvas = PixelCanvas::new(61, 40, (17, 19, 26));
    let (red, blue) = (canvas.ink((240, 105, 111)), canvas.ink((122, 167, 255)));
    canvas.fill(5..30, -3..20, red, 2);
    canvas.fill(50..99, 30..99, red, WHOLE);
    canvas.stroke((-5.0, 3.0), (70.0, 31.5), 1.5, &(0..36), blue);
    canvas.stroke((12.0, 39.0), (15.0, -4.0), 2.0, &(0..36), blue);
    canvas.spot((40.0, 20.0), 4.0, false, red);
    canvas.arrow((20.0, 30.0), 8.0, true, blue);
    canvas
}

/// Width, height and colors of an indexed PNG of eight bits without filters, with every checksum tested.
fn read_png(file: &[u8]) -> (usize, usize, Vec<Rgb>) {
    let number = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(0, |number, byte| number << 8 | usize::from(*byte))
    };
    let (mut rest, mut size, mut palette, mut data) = (&file[8..], (0, 0), Vec::new(), Vec::new());
    assert_eq!(&file[..8], b"\x89PNG\r\n\x1a\n");
    while !rest.is_empty() {
        let length = number(&rest[..4]);
        let (name, body) = (&rest[4..8], &rest[8..8 + length]);
        let mut crc = Crc::new();
        crc.update(&rest[4..8 + length]);
        assert_eq!(number(&rest[8 + length..12 + length]), crc.sum() as usize);
        match name {
            b"IHDR" => {
                size = (number(&body[..4]), number(&body[4..8]));
                assert_eq!(&body[8..], [8, 3, 0, 0, 0]);
            }
            b"PLTE" => palette = body.chunks(3).map(|rgb| (rgb[0], rgb[1], rgb[2])).collect(),
            b"IDAT" => data.extend_from_slice(body),
            _ => assert_eq!((name, length), (&b"IEND"[..], 0)),
        }
        rest = &rest[12 + length..];
    }
    let mut rows = Vec::new();
    ZlibDecoder::new(&data[..])
        .read_to_end(&mut rows)
        .expect("zlib");
    let pixels = rows
        .chunks(size.0 + 1)
        .inspect(|row| assert_eq!(row[0], 0))
        .flat_map(|row| &row[1..]);
    (
        size.0,
        size.1,
        pixels.map(|index| palette[usize::from(*index)]).collect(),
    )
}

/// As `read_png`, of sixels; pixels that no pass covers are `None`.
fn read_sixel(image: &[u8]) -> (usize, usize, Vec<Option<Rgb>>) {
    let text = std::str::from_utf8(image).expect("ASCII");
    let body = text
        .strip_prefix("\x1bP0;1q\"1;1;")
        .and_then(|text| text.strip_suffix("\x1b\\"))
        .expect("a sixel image");
    let (mut at, bytes) = (0, body.as_bytes());
    let number = |at: &mut usize| {
        let start = *at;
        while bytes.get(*at).is_some_and(u8::is_ascii_digit) {
            *at += 1;
        }
        body[start..*at].parse::<usize>().expect("a number")
    };
    let width = number(&mut at);
    at += 1;
    let height = number(&mut at);
    let (mut palette, mut pixels) = (vec![(0, 0, 0); 256], vec![None; width * height]);
    let (mut x, mut top, mut color) = (0, 0, 0);
    while at < bytes.len() {
        let byte = bytes[at];
        at += 1;
        let (count, mask) = match byte {
            b'#' => {
                color = number(&mut at);
                if bytes.get(at) == Some(&b';') {
                    let parts = [0; 4].map(|_| {
                        at += 1;
                        number(&mut at)
                    });
                    assert_eq!(parts[0], 2, "RGB");
                    palette[color] = (parts[1] as u8, parts[2] as u8, parts[3] as u8);
                }
                continue;
            }
            b'$' => {
                x = 0;
                continue;
            }
            b'-' => {
                (x, top) = (0, top + 6);
                continue;
            }
            b'!' => {
                let count = number(&mut at);
                at += 1;
                (count, bytes[at - 1] - b'?')
            }
            _ => (1, byte - b'?'),
        };
        for _ in 0..count {
            for row in (0..6).filter(|row| mask >> row & 1 == 1) {
                let place = (top + row) * width + x;
                // The background is laid first, each other color once.
                assert!(
                    pixels[place].is_none_or(|under| under == palette[0]),
                    "a pixel has two colors"
                );
                pixels[place] = Some(palette[color]);
            }
            x += 1;
        }
    }
    (width, height, pixels)
}

#[test]
fn a_png_is_read_as_it_was_drawn() {
    let canvas = drawn();
    for level in [0, 6, 9] {
        assert_eq!(
            read_png(&png::png(&canvas, level)),
            (61, 40, colors(&canvas))
        );
    }
    assert_eq!(
        read_png(&png::png(&PixelCanvas::new(0, 0, (1, 2, 3)), 6)),
        (0, 0, Vec::new())
    );
}

#[test]
fn a_sixel_is_read_as_it_was_drawn() {
    let canvas = drawn();
    let (width, height, pixels) = read_sixel(&sixel::sixel(&canvas));
    let percent =
        |(r, g, b): Rgb| [r, g, b].map(|value| ((u32::from(value) * 100 + 127) / 255) as u8);
    let expected: Vec<Option<[u8; 3]>> =
        colors(&canvas).into_iter().map(percent).map(Some).collect();
    assert_eq!((width, height), (61, 40));
    assert_eq!(
        pixels
            .into_iter()
            .map(|color| color.map(|(r, g, b)| [r, g, b]))
            .collect::<Vec<_>>(),
        expected
    );
    sixel::sixel(&PixelCanvas::new(0, 0, (1, 2, 3)));
}

#[test]
fn a_stroke_has_soft_edges_and_keeps_to_its_rows() {
    let mut canvas = PixelCanvas::new(40, 40, (0, 0, 0));
    let white = canvas.ink((255, 255, 255));
    canvas.stroke((0.0, 10.0), (40.0, 30.0), 2.0, &(0..25), white);
    let column = |x: usize| {
        (0..40)
            .map(|y| u32::from(canvas.rgb(x, y).expect("inside").0))
            .sum::<u32>()
    };
    // Two pixels across the line are more down the column: by the root of 1 + (1/2)².
    let expected = 255.0 * 2.0 * 1.25_f64.sqrt();
    for x in [3, 10, 20] {
        assert!(
            (f64::from(column(x)) - expected).abs() < 80.0,
            "{x}: {}",
            column(x)
        );
    }
    assert_eq!(column(39), 0, "under the last row");
    assert!(canvas.palette().len() > 3, "soft edges");
    assert!(canvas.palette().len() <= STEPS + 1 + STEPS * STEPS);
}

#[test]
fn a_full_palette_takes_the_nearest_colour() {
    let mut canvas = PixelCanvas::new(600, 1, (0, 0, 0));
    for x in 0..600 {
        let ink = canvas.ink(((x % 256) as u8, (x / 256 * 90) as u8, 7));
        canvas.fill(x..x + 1, 0..1, ink, WHOLE);
    }
    assert_eq!(canvas.palette().len(), 256);
    let (r, g, _) = canvas.rgb(599, 0).expect("inside");
    assert!(r.abs_diff(87) < 90 && g <= 180, "{r} {g}");
}
