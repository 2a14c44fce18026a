//! Sparklines and column histograms in eighth blocks.

use ratatui::{buffer::Buffer, layout::Rect, style::Style};

const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A sparkline of `cells` blocks, scaled from minimum to maximum; a missing value is a gap. More values than cells are averaged; fewer are
/// right-aligned, as the latest is at the right.
pub fn sparkline(values: &[Option<f64>], cells: usize) -> String {
    sparkline_over(values, cells, 0.0)
}

/// As `sparkline`, but its full height spans at least this share of the largest value, so that small changes look small.
pub fn sparkline_over(values: &[Option<f64>], cells: usize, share: f64) -> String {
    let levels = shrink(values, cells);
    let known = || levels.iter().flatten().copied();
    let (low, high) = known().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    let lacking = (share * high.abs().max(low.abs()) - (high - low)).max(0.0);
    let (low, high) = if lacking.is_finite() {
        (low - lacking / 2.0, high + lacking / 2.0)
    } else {
        (low, high)
    };
    let mut line: String = std::iter::repeat_n(' ', cells - levels.len()).collect();
    line.extend(levels.iter().map(|value| {
        match value {
            None => ' ',
            Some(_) if high <= low => EIGHTHS[3],
            // Halving each term keeps the span of two huge floats finite.
            Some(value) => {
                EIGHTHS[((value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0) * 7.0)
                    .round()
                    .clamp(0.0, 7.0) as usize]
            }
        }
    }));
    line
}

fn shrink(values: &[Option<f64>], cells: usize) -> Vec<Option<f64>> {
    let values: Vec<Option<f64>> = values
        .iter()
        .map(|value| value.filter(|value| value.is_finite()))
        .collect();
    if values.len() <= cells {
        return values;
    }
    (0..cells)
        .map(|cell| {
            let bucket: Vec<f64> = values
                [cell * values.len() / cells..(cell + 1) * values.len() / cells]
                .iter()
                .flatten()
                .copied()
                .collect();
            let share = bucket.len() as f64;
            (!bucket.is_empty()).then(|| bucket.iter().map(|value| value / share).sum())
        })
        .collect()
}

/// Draws columns from the bottom of the area, one cell wide each, at a resolution of an eighth; zero and missing values are empty.
pub fn columns(
    values: &[Option<f64>],
    area: Rect,
    buf: &mut Buffer,
    style: impl Fn(usize) -> Style,
) {
    let area = area.intersection(buf.area);
    let most = values
        .iter()
        .flatten()
        .copied()
        .filter(|value| value.is_finite())
        .fold(0.0_f64, f64::max);
    if area.is_empty() || most <= 0.0 {
        return;
    }
    for (i, value) in values.iter().enumerate().take(usize::from(area.width)) {
        let Some(value) = value.filter(|value| value.is_finite() && *value > 0.0) else {
            continue;
        };
        // A non-zero value is visible: at least one eighth.
        let eighths = ((value / most * f64::from(area.height) * 8.0).round() as u32).max(1);
        for row in 0..u32::from(area.height) {
            let fill = eighths.saturating_sub(row * 8).min(8) as usize;
            if fill == 0 {
                break;
            }
            buf[(area.x + i as u16, area.bottom() - 1 - row as u16)]
                .set_char(EIGHTHS[fill - 1])
                .set_style(style(i));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_span_their_range_with_gaps_where_nothing_is_known() {
        let some = |values: &[f64]| values.iter().copied().map(Some).collect::<Vec<_>>();
        let cases = [
            (
                some(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]),
                8,
                "▁▂▃▄▅▆▇█",
            ),
            (vec![Some(1.0), None, Some(2.0), Some(f64::NAN)], 4, "▁ █ "),
            (some(&[5.0, 5.0]), 4, "  ▄▄"),
            (some(&[0.0, 0.0, 1.0, 1.0]), 2, "▁█"),
            (some(&[f64::MIN, f64::MAX]), 2, "▁█"),
            (vec![], 3, "   "),
            (some(&[1.0]), 0, ""),
        ];
        for (values, cells, expected) in cases {
            assert_eq!(sparkline(&values, cells), expected);
        }
    }

    proptest! {
        #[test]
        fn any_values_fill_exactly_their_cells(values in proptest::collection::vec(proptest::option::of(any::<f64>()), 0..200), cells in 0_usize..90) {
            prop_assert_eq!(sparkline(&values, cells).chars().count(), cells);
            let mut buffer = Buffer::empty(Rect::new(0, 0, 20, 5));
            columns(&values, Rect::new(3, 1, cells as u16, cells as u16), &mut buffer, |_| Style::new());
        }
    }
}
