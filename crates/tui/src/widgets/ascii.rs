//! The last pass over a frame for terminals without Unicode: replaces the program's own glyphs by ASCII ones of the same width. Text of the
//! data (names, posts) stays as it is.

use ratatui::buffer::Buffer;

/// Glyphs and their ASCII replacements.
const SIGNS: &[(&str, &str)] = &[
    ("─┄┈╌╸═–—", "-"),
    ("━", "="),
    ("│┃┆╎║▐▏▎▍", "|"),
    ("┊", ":"),
    ("┌┐└┘├┤┬┴┼┿╭╮╰╯", "+"),
    ("▲◆", "+"),
    ("▼", "-"),
    ("▴↑", "^"),
    ("▾↓", "v"),
    ("…≈", "~"),
    ("★●•", "*"),
    ("○", "o"),
    // The mark of an alert.
    ("◦", "a"),
    ("⚠", "!"),
    ("·▖", "."),
    ("−", "-"),
    ("²", "2"),
    ("✓", "+"),
    ("✗×■", "x"),
    ("▸▶→›↗≥", ">"),
    ("◂←‹⏎≤", "<"),
    // Heights of bars.
    ("█▇▆▌▉▊▋▟▙▜▛▝▘▗", "#"),
    ("▅▀", "="),
    ("▄▃", "-"),
    ("▂░▒▓", "."),
    ("▁", "_"),
    ("╷╵╻╹╽╿", "|"),
    ("µ", "u"),
];

/// Replaces the glyphs in the whole buffer.
pub fn replace_glyphs(buf: &mut Buffer) {
    for cell in &mut buf.content {
        let symbol = cell.symbol();
        if symbol.is_ascii() {
            continue;
        }
        let mut chars = symbol.chars();
        let (Some(c), None) = (chars.next(), chars.next()) else {
            continue;
        };
        let braille = ('\u{2800}'..='\u{28ff}').contains(&c).then_some(".");
        if let Some(plain) = SIGNS
            .iter()
            .find(|(signs, _)| signs.contains(c))
            .map(|(_, plain)| *plain)
            .or(braille)
        {
            cell.set_symbol(plain);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_signs_become_ascii_and_names_stay() {
        let mut buffer =
            Buffer::with_lines(["─ holders ─ ▲ 2.1% … ★ ▂▅█ ⠤ Ünï 漢 ← → ↑ ↓ • −1 ×2 R²"]);
        replace_glyphs(&mut buffer);
        assert_eq!(
            buffer,
            Buffer::with_lines(["- holders - + 2.1% ~ * .=# . Ünï 漢 < > ^ v * -1 x2 R2"])
        );
    }
}
