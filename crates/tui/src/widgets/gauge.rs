//! Large numbers, in digits three or five rows high.

use ratatui::{buffer::Buffer, layout::Rect, style::Style};

/// Rows of a big number; the lower half of the last one is empty.
pub const ROWS: u16 = 3;

/// Digits of three by five half cells.
const DIGITS: [[&str; 3]; 10] = [
    ["█▀█", "█ █", "▀▀▀"],
    ["▀█ ", " █ ", "▀▀▀"],
    ["▀▀█", "█▀▀", "▀▀▀"],
    ["▀▀█", " ▀█", "▀▀▀"],
    ["█ █", "▀▀█", "  ▀"],
    ["█▀▀", "▀▀█", "▀▀▀"],
    ["█▀▀", "█▀█", "▀▀▀"],
    ["▀▀█", "  █", "  ▀"],
    ["█▀█", "█▀█", "▀▀▀"],
    ["█▀█", "▀▀█", "▀▀▀"],
];

/// The rows of a number in big digits, with `-`, `.` and `?`.
pub fn big(number: &str) -> [String; 3] {
    let mut rows = [String::new(), String::new(), String::new()];
    for c in number.chars() {
        let glyph = match (c, c.to_digit(10)) {
            (_, Some(digit)) => DIGITS[digit as usize],
            ('-' | '–', _) => ["  ", "▀▀", "  "],
            ('.', _) => [" ", " ", "▀"],
            ('?', _) => ["▀▀█", " ▀▀", " ▀ "],
            _ => [" ", " ", " "],
        };
        for (row, part) in rows.iter_mut().zip(glyph) {
            if !row.is_empty() {
                row.push(' ');
            }
            row.push_str(part);
        }
    }
    rows
}

/// Draws a number in big digits at the top left of `area`; in plain ones if `ascii` or if it does not fit. Returns the cells used.
pub fn render(area: Rect, buf: &mut Buffer, number: &str, style: Style, ascii: bool) -> u16 {
    let rows = big(number);
    if ascii
        || area.height < ROWS
        || crate::widgets::text::width(&rows[0]) > usize::from(area.width)
    {
        return super::put(buf, area, 0, 0, number, style);
    }
    let mut used = 0;
    for (y, row) in rows.iter().enumerate() {
        used = used.max(super::put(buf, area, 0, y as u16, row, style));
    }
    used
}

/// Rows of a number in huge digits.
pub const HUGE_ROWS: u16 = 5;

/// Draws a number in digits of five rows, each half cell of the big ones as two whole cells; in big ones if it does not fit. Returns the
/// cells used.
pub fn huge(area: Rect, buf: &mut Buffer, number: &str, style: Style, ascii: bool) -> u16 {
    let rows = big(number);
    if ascii
        || area.height < HUGE_ROWS
        || crate::widgets::text::width(&rows[0]) * 2 > usize::from(area.width)
    {
        return render(area, buf, number, style, ascii);
    }
    for y in 0..HUGE_ROWS {
        let full = |c: char| {
            if y % 2 == 0 {
                c == '█' || c == '▀'
            } else {
                c == '█' || c == '▄'
            }
        };
        for (x, _) in rows[usize::from(y / 2)]
            .chars()
            .enumerate()
            .filter(|(_, c)| full(*c))
        {
            // Gaps are not written: without colors a style may underline.
            super::put(buf, area, x as u16 * 2, y, "██", style);
        }
    }
    crate::widgets::text::width(&rows[0]) as u16 * 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_digit_is_a_shape_of_its_own() {
        let shapes: std::collections::HashSet<[String; 3]> =
            (0..10).map(|digit| big(&digit.to_string())).collect();
        assert_eq!(shapes.len(), 10);
        assert_eq!(big("42"), ["█ █ ▀▀█", "▀▀█ █▀▀", "  ▀ ▀▀▀"]);
    }

    #[test]
    fn where_big_digits_do_not_fit_plain_ones_stand() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 12, 3));
        assert_eq!(
            render(
                Rect::new(0, 0, 12, 3),
                &mut buffer,
                "100",
                Style::new(),
                false
            ),
            11
        );
        assert_eq!(
            render(
                Rect::new(0, 0, 8, 3),
                &mut buffer,
                "100",
                Style::new(),
                false
            ),
            3
        );
        assert_eq!(
            render(
                Rect::new(0, 0, 0, 0),
                &mut buffer,
                "100",
                Style::new(),
                false
            ),
            0
        );
    }

    #[test]
    fn huge_digits_are_the_big_ones_doubled() {
        let area = Rect::new(0, 0, 14, 5);
        let mut buffer = Buffer::empty(area);
        assert_eq!(huge(area, &mut buffer, "42", Style::new(), false), 14);
        let row = |y| (0..14).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        assert_eq!(row(0), "██  ██  ██████");
        assert_eq!(row(1), "██  ██      ██");
        assert_eq!(row(4), "    ██  ██████");
        assert_eq!(
            huge(
                Rect::new(0, 0, 13, 5),
                &mut Buffer::empty(area),
                "42",
                Style::new(),
                false
            ),
            7
        );
    }
}
