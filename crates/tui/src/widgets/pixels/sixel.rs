//! Sixel of a canvas (DEC VT340): bands of six rows, in each band the background and over it a run-length coded pass for every color.

use std::io::Write as _;

use super::PixelCanvas;

/// Rows of a band.
const BAND: usize = 6;

/// The canvas as a sixel image, from the device control string's begin to its end.
pub fn sixel(canvas: &PixelCanvas) -> Vec<u8> {
    let (width, height) = (canvas.width(), canvas.height());
    let mut out = Vec::with_capacity(1 << 15);
    // Pixels of no color stay; all have one. Writing to memory cannot fail.
    let _ = write!(out, "\x1bP0;1q\"1;1;{width};{height}");
    for (index, (r, g, b)) in canvas.palette().iter().enumerate() {
        let percent = |value: u8| (u32::from(value) * 100 + 127) / 255;
        let _ = write!(
            out,
            "#{index};2;{};{};{}",
            percent(*r),
            percent(*g),
            percent(*b)
        );
    }
    let mut masks = vec![0_u8; canvas.palette().len() * width];
    for band in canvas.pixels().chunks(BAND * width.max(1)) {
        let mut extents: Vec<Option<(usize, usize)>> = vec![None; canvas.palette().len()];
        for (row, pixels) in band.chunks_exact(width.max(1)).enumerate() {
            for (x, index) in pixels.iter().enumerate().filter(|(_, index)| **index != 0) {
                let index = usize::from(*index);
                masks[index * width + x] |= 1 << row;
                let extent = &mut extents[index];
                *extent = Some(extent.map_or((x, x), |(first, last)| (first.min(x), last.max(x))));
            }
        }
        // One run instead of one between every two shapes.
        out.extend(b"#0");
        run(
            &mut out,
            ((1_u16 << (band.len() / width.max(1))) - 1) as u8,
            width,
        );
        for (index, extent) in extents.iter().enumerate() {
            let Some((from, to)) = *extent else { continue };
            let _ = write!(out, "$#{index}");
            let mask = &mut masks[index * width..(index + 1) * width];
            run(&mut out, 0, from);
            pass(&mut out, &mask[from..=to]);
            mask[from..=to].fill(0);
        }
        out.push(b'-');
    }
    out.extend(b"\x1b\\");
    out
}

fn pass(out: &mut Vec<u8>, masks: &[u8]) {
    let mut rest = masks;
    while let Some(&mask) = rest.first() {
        let count = rest.iter().take_while(|other| **other == mask).count();
        run(out, mask, count);
        rest = &rest[count..];
    }
}

/// Repeats the same six pixels `count` times.
fn run(out: &mut Vec<u8>, mask: u8, count: usize) {
    let sixel = b'?' + mask;
    if count <= 3 {
        out.extend(std::iter::repeat_n(sixel, count));
    } else {
        let _ = write!(out, "!{count}");
        out.push(sixel);
    }
}
