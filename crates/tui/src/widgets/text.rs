//! Makes text of the data safe to display: no control or direction characters, a width that every terminal agrees on, cut and padded to
//! exact cells. Copied and exported text never passes through here.

use std::{borrow::Cow, ops::RangeInclusive};

use ratatui::buffer::CellWidth;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthChar;

/// Maximum number of combining marks on one letter.
const MARKS_MAX: usize = 4;

/// Zero-width characters that can hide or reorder their neighbors: soft hyphen, joiners and fillers, direction marks, overrides and
/// isolates, invisible operators, tags. ZWJ is not among them: it is removed once grapheme clusters are formed.
const INVISIBLE: &[RangeInclusive<char>] = &[
    '\u{ad}'..='\u{ad}',
    '\u{34f}'..='\u{34f}',
    '\u{61c}'..='\u{61c}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{200b}'..='\u{200c}',
    '\u{200e}'..='\u{200f}',
    '\u{202a}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{3164}'..='\u{3164}',
    '\u{feff}'..='\u{feff}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{fff0}'..='\u{fffb}',
    '\u{1d173}'..='\u{1d17a}',
    '\u{e0000}'..='\u{e0fff}',
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// Removes what could move the cursor, reverse the line or hide text: control characters (line breaks and tabs become spaces), direction
/// marks, invisible characters. A grapheme cluster whose width differs between terminals (emoji joined by ZWJ, skin tones, VS16) is reduced
/// to its first character, so that rows stay aligned everywhere.
pub fn clean(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Cow::Borrowed(text);
    }
    let visible: String = text.chars().filter_map(visible).collect();
    let mut out = String::with_capacity(visible.len());
    for cluster in visible.graphemes(true) {
        push_cluster(&mut out, cluster);
    }
    Cow::Owned(out)
}

/// The replacement of a character; `None` to drop it.
fn visible(c: char) -> Option<char> {
    match c {
        '\t' | '\n' | '\r' | '\u{2028}' | '\u{2029}' => Some(' '),
        _ if c.is_control() || INVISIBLE.iter().any(|range| range.contains(&c)) => None,
        _ => Some(c),
    }
}

fn push_cluster(out: &mut String, cluster: &str) {
    let chars = || cluster.chars().filter(|&c| c != '\u{200d}');
    let apart: usize = chars().map(char_width).sum();
    let together = usize::from(cluster.cell_width());
    let Some(first) = chars().next() else { return };
    if apart == together
        && chars().count() == cluster.chars().count()
        && cluster.chars().count() <= 1 + MARKS_MAX
    {
        out.push_str(cluster);
        return;
    }
    if char_width(first) == 0 {
        return;
    }
    out.push(first);
    // A joined emoji is reduced to its first one; a letter keeps its first marks.
    if chars().skip(1).all(|c| char_width(c) == 0) && !cluster.contains('\u{fe0f}') {
        let before = out.len() - first.len_utf8();
        out.extend(chars().skip(1).take(MARKS_MAX));
        if usize::from(out[before..].cell_width()) != char_width(first) {
            out.truncate(before + first.len_utf8());
        }
    }
}

fn char_width(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// Width of the cleaned text in cells.
pub fn width(text: &str) -> usize {
    clean(text)
        .graphemes(true)
        .map(|cluster| usize::from(cluster.cell_width()))
        .sum()
}

/// The cleaned text, truncated to `cells` with `…`. A number is never cut inside, since its first digits would read as another number.
pub fn truncate(text: &str, cells: usize) -> Cow<'_, str> {
    const SIGN: &str = "…";
    let text = clean(text);
    let (mut used, mut keep) = (0, 0);
    for (start, cluster) in text.grapheme_indices(true) {
        used += usize::from(cluster.cell_width());
        if used > cells {
            let mut short = before_number(&text, keep).to_owned();
            if cells > 0 {
                short.push_str(SIGN);
            }
            return Cow::Owned(short);
        }
        if used < cells {
            keep = start + cluster.len();
        }
    }
    text
}

/// Non-digits that may be part of a number or a date; a letter behind them is a unit, as in `1.26T`.
const IN_NUMBER: &[char] = &[
    '.', ',', ':', '-', '+', '/', '%', '−', '$', '≥', '≤', '<', '>',
];

/// The text up to `end`, or up to the start of the number that `end` would cut; a bracket opened just before it is dropped too.
fn before_number(text: &str, end: usize) -> &str {
    let starts = |&(_, c): &(usize, char)| c.is_whitespace() || c == '(';
    let start = text[..end]
        .char_indices()
        .rfind(starts)
        .map_or(0, |(at, c)| at + c.len_utf8());
    let word = text[start..]
        .split(|c: char| c.is_whitespace() || c == ')')
        .next()
        .unwrap_or_default();
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let is_number = word.len() - digits.len() <= 1
        && digits.contains(|c: char| c.is_ascii_digit())
        && digits
            .chars()
            // `e`: the exponent of `9.8e-7`.
            .all(|c| c.is_ascii_digit() || c == 'e' || IN_NUMBER.contains(&c));
    // A cut between words, or inside a word that is no number, is harmless.
    if end <= start || end >= start + word.len() || !is_number {
        return &text[..end];
    }
    text[..start]
        .strip_suffix('(')
        .map_or(&text[..start], str::trim_end)
}

/// As many clauses of the sentence as fit in `cells`; the whole sentence if not even the first does.
pub fn clauses(sentence: &str, cells: usize) -> &str {
    if width(sentence) <= cells {
        return sentence;
    }
    let ends = sentence
        .char_indices()
        .filter(|(_, c)| matches!(c, ';' | ':' | ',' | '('));
    let is_whole =
        |text: &&str| !text.is_empty() && text.matches('(').count() == text.matches(')').count();
    ends.map(|(end, _)| sentence[..end].trim_end())
        .filter(is_whole)
        .rfind(|text| width(text) <= cells)
        .unwrap_or(sentence)
}

/// The first text that fits in `cells`, or the last one.
pub fn longest_that_fits(texts: impl IntoIterator<Item = String>, cells: usize) -> String {
    let mut shortest = String::new();
    for text in texts {
        if width(&text) <= cells {
            return text;
        }
        shortest = text;
    }
    shortest
}

/// The cleaned text in exactly `cells`, truncated or padded with spaces.
pub fn fit(text: &str, cells: usize, align: Align) -> String {
    let short = truncate(text, cells);
    let padding = " ".repeat(cells.saturating_sub(width(&short)));
    match align {
        Align::Left => format!("{short}{padding}"),
        Align::Right => format!("{padding}{short}"),
    }
}

/// Wraps the text at spaces into lines of at most `cells`; longer words are broken. At most `lines` lines, the last one truncated.
pub fn wrap(text: &str, cells: usize, lines: usize) -> Vec<String> {
    let text = clean(text);
    let mut out: Vec<String> = Vec::new();
    if cells == 0 || lines == 0 {
        return out;
    }
    let mut line = String::new();
    let mut used = 0;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        if out.len() > lines {
            break;
        }
        let word_cells = width(word);
        if used > 0 && used + 1 + word_cells <= cells {
            line.push(' ');
            line.push_str(word);
            used += 1 + word_cells;
            continue;
        }
        if used > 0 {
            out.push(std::mem::take(&mut line));
            used = 0;
        }
        for cluster in word.graphemes(true) {
            let cluster_cells = usize::from(cluster.cell_width());
            if used + cluster_cells > cells && used > 0 {
                out.push(std::mem::take(&mut line));
                used = 0;
            }
            if cluster_cells <= cells {
                line.push_str(cluster);
                used += cluster_cells;
            }
        }
    }
    if used > 0 {
        out.push(line);
    }
    if out.len() > lines {
        out.truncate(lines);
        if let Some(last) = out.last_mut() {
            // Half of a parenthesis is useless.
            let open = last
                .rfind('(')
                .filter(|at| !last[*at..].contains(')') && *at > 0);
            let whole = open.map_or(last.as_str(), |at| last[..at].trim_end());
            *last = truncate(&format!("{whole}…"), cells).into_owned();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_could_disturb_the_screen_is_taken_out() {
        let cases = [
            ("plain", "plain"),
            ("a\u{1b}[31mred", "a[31mred"),
            ("two\nlines\tand\ta tab", "two lines and a tab"),
            ("\u{202e}evil\u{202c}", "evil"),
            ("\u{2066}a\u{2069}\u{200e}\u{200f}b", "ab"),
            ("zero\u{200b}width\u{feff}\u{2060}", "zerowidth"),
            ("soft\u{ad}hyphen", "softhyphen"),
            ("👩\u{200d}💻 dev", "👩 dev"),
            ("❤\u{fe0f} heart", "❤ heart"),
            ("👍🏽", "👍"),
            ("🇩🇪", "🇩🇪"),
            ("1\u{fe0f}\u{20e3}", "1"),
            ("漢字", "漢字"),
            ("e\u{301}t\u{e9}", "e\u{301}té"),
            ("שלום", "שלום"),
            ("مرحبا", "مرحبا"),
            ("\u{9b}31mC1", "31mC1"),
        ];
        for (given, shown) in cases {
            assert_eq!(clean(given), shown, "{given:?}");
        }
        let zalgo = format!("Z{}", "\u{336}".repeat(50));
        assert!(clean(&zalgo).chars().count() <= 1 + MARKS_MAX);
    }

    #[test]
    fn cut_text_ends_with_an_ellipsis_and_never_inside_a_cluster() {
        let cases = [
            ("Wrapped Ether", 9, "Wrapped …"),
            ("漢字漢字", 5, "漢字…"),
            ("漢字漢字", 4, "漢…"),
            ("abc", 3, "abc"),
            ("abc", 0, ""),
            ("漢", 1, "…"),
        ];
        for (given, cells, shown) in cases {
            assert_eq!(truncate(given, cells), shown, "{given} in {cells}");
        }
        assert_eq!(fit("7.31", 8, Align::Right), "    7.31");
    }

    #[test]
    fn a_sentence_loses_whole_clauses() {
        let sentence = "Keep rows with this value (one, or higher); arrows select.";
        for (cells, shown) in [
            (60, sentence),
            (50, "Keep rows with this value (one, or higher)"),
            (36, "Keep rows with this value"),
            (10, sentence),
        ] {
            assert_eq!(clauses(sentence, cells), shown, "{cells}");
        }
    }

    #[test]
    fn a_number_is_never_cut_inside() {
        let cases = [
            ("Gini 0.661", 8, "Gini …"),
            ("1,260,000,000,000", 9, "…"),
            ("min APY 2.5%", 11, "min APY …"),
            ("a 1.26T b", 5, "a …"),
            ("a\u{a0}1.26T b", 5, "a\u{a0}…"),
            ("read 2026-11-22 ok", 12, "read …"),
            ("all stop (14 probes)", 12, "all stop…"),
            ("7.31  7.42", 8, "7.31  …"),
            ("7.31 and", 6, "7.31 …"),
            ("9.84e-11", 6, "…"),
            ("cost $1,234", 9, "cost …"),
            // Names may be cut anywhere.
            ("0x1f9840a85d", 8, "0x1f984…"),
            ("pool3crv", 6, "pool3…"),
        ];
        for (given, cells, shown) in cases {
            assert_eq!(truncate(given, cells), shown, "{given} in {cells}");
        }
        assert_eq!(
            wrap("stopped all purchases (14 probes of it)", 26, 1),
            ["stopped all purchases…"]
        );
    }

    #[test]
    fn wrapped_lines_fit_and_the_last_says_that_more_follows() {
        assert_eq!(
            wrap("sells fail after opening", 10, 5),
            ["sells fail", "after", "opening"]
        );
        assert_eq!(
            wrap("sells fail after opening", 10, 2),
            ["sells fail", "after…"]
        );
        assert_eq!(wrap("abcdefgh", 3, 9), ["abc", "def", "gh"]);
    }

    fn nasty() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            any::<char>().prop_map(String::from),
            "[a-zA-Z0-9 ]{1,6}",
            proptest::sample::select(vec![
                "👩\u{200d}👩\u{200d}👧",
                "❤\u{fe0f}",
                "👍🏽",
                "🇩🇪",
                "漢",
                "e\u{301}",
                "\u{202e}",
                "\u{200d}",
                "\u{fe0f}",
                "ﾊﾞ",
                "\u{301}",
                "한",
                "ᄒ",
                "ᅡ",
                "लक्ष्मी",
                "لا",
                "\u{1b}",
                "\n",
                "ﷺ",
                "𒐫",
                "\u{11a8}",
                "ா",
                "\u{e0067}",
            ])
            .prop_map(String::from),
        ];
        proptest::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn fitted_text_has_exactly_the_cells_asked_for(text in nasty(), cells in 0_usize..40) {
            for align in [Align::Left, Align::Right] {
                let fitted = fit(&text, cells, align);
                prop_assert_eq!(width(&fitted), cells);
                // Terminals may measure by character or by cluster: both sums must agree.
                prop_assert_eq!(fitted.chars().map(char_width).sum::<usize>(), cells, "{:?}", fitted);
                let mut buffer = ratatui::buffer::Buffer::empty(ratatui::layout::Rect::new(0, 0, 60, 1));
                let (end, _) = buffer.set_stringn(0, 0, &fitted, 60, ratatui::style::Style::new());
                prop_assert_eq!(usize::from(end), cells);
            }
            for line in wrap(&text, cells, 3) {
                prop_assert!(width(&line) <= cells);
            }
        }
    }
}
