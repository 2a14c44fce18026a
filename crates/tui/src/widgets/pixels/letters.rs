//! The letters of pictures: one size, from `fonts/mono.bin`, which `fonts/make.py` describes.

use std::{io::Read as _, sync::OnceLock};

use flate2::read::ZlibDecoder;

use super::{PixelCanvas, STEPS};

/// Pixels of a letter's cell.
pub const WIDTH: usize = 10;
pub const HEIGHT: usize = 20;

/// Two pixels a byte.
const BYTES: usize = WIDTH * HEIGHT / 2;

static LETTERS: OnceLock<Letters> = OnceLock::new();

/// The code points in order, and their glyphs in the same.
#[derive(Debug, Default)]
struct Letters {
    codes: Vec<u32>,
    glyphs: Vec<u8>,
}

impl Letters {
    fn read() -> Self {
        let mut file = Vec::new();
        // The file is compiled in, and a test reads it.
        if ZlibDecoder::new(&include_bytes!("../../../fonts/mono.bin")[..])
            .read_to_end(&mut file)
            .is_err()
            || file.len() < 2
        {
            return Self::default();
        }
        let count = usize::from(u16::from_le_bytes([file[0], file[1]]));
        let codes = file[2..]
            .chunks_exact(4)
            .take(count)
            .map(|code| u32::from_le_bytes([code[0], code[1], code[2], code[3]]))
            .collect();
        Self {
            codes,
            glyphs: file.split_off((2 + 4 * count).min(file.len())),
        }
    }

    fn glyph(&self, letter: char) -> Option<&[u8]> {
        let place = self.codes.binary_search(&u32::from(letter)).ok()?;
        self.glyphs.get(place * BYTES..(place + 1) * BYTES)
    }
}

/// Writes a letter into the cell at these pixels; an unknown one is a frame.
pub fn write(
    canvas: &mut PixelCanvas,
    (left, top): (i64, i64),
    letter: char,
    bold: bool,
    ink: usize,
) {
    let letters = LETTERS.get_or_init(Letters::read);
    let Some(glyph) = letters.glyph(letter).or_else(|| letters.glyph('□')) else {
        return;
    };
    let covered = |x: usize, y: usize| {
        let at = y * WIDTH + x;
        usize::from(if at.is_multiple_of(2) {
            glyph[at / 2] >> 4
        } else {
            glyph[at / 2] & 15
        })
    };
    for y in 0..HEIGHT {
        for x in 0..WIDTH {
            let beside = if bold && x > 0 { covered(x - 1, y) } else { 0 };
            let step = (covered(x, y).max(beside) * STEPS + 7) / 15;
            canvas.dab(left + x as i64, top + y as i64, ink, step);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_letters_are_whole_and_have_what_the_program_writes() {
        let letters = Letters::read();
        assert_eq!(letters.glyphs.len(), letters.codes.len() * BYTES);
        assert!(letters.codes.is_sorted());
        let all = "Aaz09µé—…│┌╌▌█▄⣿▲▼◆•★✓✗⚠→↗⏎−²≤";
        assert_eq!(
            all.chars()
                .filter(|letter| letters.glyph(*letter).is_none())
                .collect::<String>(),
            ""
        );
        assert!(
            letters
                .glyph('█')
                .is_some_and(|glyph| glyph.iter().all(|byte| *byte == 0xff)),
            "blocks fill their cells"
        );
    }
}
