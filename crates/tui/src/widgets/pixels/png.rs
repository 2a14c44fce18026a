//! PNG of a canvas: a palette and one byte for each pixel (ISO/IEC 15948).

use std::io::Write as _;

use flate2::{Compression, Crc, write::ZlibEncoder};

use super::PixelCanvas;

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// The canvas as a PNG file. `level` 0 to 9 is how hard to compress.
pub fn png(canvas: &PixelCanvas, level: u32) -> Vec<u8> {
    let mut file = SIGNATURE.to_vec();
    let mut header = Vec::with_capacity(13);
    header.extend((canvas.width() as u32).to_be_bytes());
    header.extend((canvas.height() as u32).to_be_bytes());
    // Eight bits, indexed; the usual coding, filter and order.
    header.extend([8, 3, 0, 0, 0]);
    chunk(&mut file, *b"IHDR", &header);
    let colors: Vec<u8> = canvas
        .palette()
        .iter()
        .flat_map(|(r, g, b)| [*r, *g, *b])
        .collect();
    chunk(&mut file, *b"PLTE", &colors);
    chunk(&mut file, *b"IDAT", &data(canvas, level));
    chunk(&mut file, *b"IEND", &[]);
    file
}

/// The rows, each behind a zero for "no filter": of indices, no filter makes them shorter.
fn data(canvas: &PixelCanvas, level: u32) -> Vec<u8> {
    let mut rows = Vec::with_capacity((canvas.width() + 1) * canvas.height());
    for row in canvas.pixels().chunks_exact(canvas.width().max(1)) {
        rows.push(0);
        rows.extend_from_slice(row);
    }
    let mut encoder = ZlibEncoder::new(Vec::with_capacity(1 << 15), Compression::new(level));
    // Writing to memory cannot fail.
    encoder.write_all(&rows).ok();
    encoder.finish().unwrap_or_default()
}

fn chunk(file: &mut Vec<u8>, name: [u8; 4], data: &[u8]) {
    let mut crc = Crc::new();
    crc.update(&name);
    crc.update(data);
    file.extend((data.len() as u32).to_be_bytes());
    file.extend(name);
    file.extend(data);
    file.extend(crc.sum().to_be_bytes());
}
