//! The chart's title line: the token, the duration of a column, and the OHLCV values of one candle. All five values are always shown:
//! when space is short, words are dropped first, then digits.

use super::sheet::CandleColumn;
use crate::views::prelude::*;

/// The data of the title.
pub(super) struct Title<'a> {
    pub symbol: &'a str,
    /// The source of the candles, if the file states it.
    pub source: Option<&'a str>,
    /// The timeframe: `1d`.
    pub frame: &'a str,
    /// `8d/column` where a column has several candles.
    pub column: Option<String>,
    pub log: bool,
    /// `400 candles`.
    pub count: &'a str,
    /// The column whose values are shown.
    pub at: Option<CandleColumn>,
    /// Whether that is the one under the crosshair.
    pub crosshair: bool,
    /// Candles of a day or longer show the date only.
    pub dates: bool,
}

/// How much of the symbol and time is shown; the header above the view has the symbol too.
#[derive(Clone, Copy, PartialEq)]
enum Name {
    Whole,
    Short,
    None,
    /// A short symbol and no time.
    Undated,
    /// No symbol and no time, which the axis has.
    Timeless,
    /// Figures only.
    Wordless,
}

/// How much of the source is shown.
#[derive(Clone, Copy)]
enum Source {
    Whole,
    /// Without the pair: `bybit-perp`.
    Exchange,
    None,
}

/// A price format: the usual one, a short one, or three digits.
type Figures = fn(Option<f64>) -> String;

impl Title<'_> {
    /// The most complete title that fits.
    pub(super) fn text(&self, cells: usize) -> String {
        let told: [(bool, Source, Name, Figures, &str); 5] = [
            (true, Source::Whole, Name::Whole, format::price, "  "),
            (false, Source::Whole, Name::Whole, format::price, "  "),
            (false, Source::Whole, Name::Short, short, " "),
            (false, Source::Exchange, Name::Short, short, " "),
            (false, Source::Exchange, Name::Undated, short, " "),
        ];
        let plain: [(bool, Source, Name, Figures, &str); 9] = [
            (true, Source::None, Name::Whole, format::price, "  "),
            (false, Source::None, Name::Whole, format::price, "  "),
            (false, Source::None, Name::Whole, format::price, " "),
            (false, Source::None, Name::Short, format::price, " "),
            (false, Source::None, Name::Short, short, " "),
            (false, Source::None, Name::None, short, " "),
            (false, Source::None, Name::Timeless, short, " "),
            (false, Source::None, Name::Timeless, three, " "),
            (false, Source::None, Name::Wordless, three, " "),
        ];
        // The crosshair's time stays, that of the last candle is on the axis.
        let told = told.into_iter().filter(|wording| {
            self.source.is_some() && !(self.crosshair && wording.2 == Name::Undated)
        });
        text::longest_that_fits(
            told.chain(plain)
                .map(|(count, source, name, figures, gap)| {
                    self.worded(count, source, name, figures, gap)
                }),
            cells,
        )
    }

    fn worded(
        &self,
        count: bool,
        source: Source,
        name: Name,
        figures: Figures,
        gap: &str,
    ) -> String {
        let short = text::truncate(self.symbol, 6);
        let symbol = match name {
            Name::Whole => Some(self.symbol),
            Name::Short | Name::Undated => Some(short.as_ref()),
            Name::None | Name::Timeless | Name::Wordless => None,
        };
        let frame = Some(self.frame).filter(|_| name == Name::Whole || self.column.is_none());
        let log = self.log.then_some("log");
        let source = match source {
            Source::Whole => self.source,
            Source::Exchange => self.source.and_then(|source| source.split(':').next()),
            Source::None => None,
        };
        let words = [
            symbol,
            source,
            frame,
            self.column.as_deref(),
            log,
            Some(self.count).filter(|_| count),
        ];
        let mut title = words.into_iter().flatten().collect::<Vec<_>>().join(" · ");
        if let Some(at) = &self.at {
            let time = at.time.minute_text();
            let shown = if self.dates {
                time.split(' ').next().unwrap_or_default()
            } else {
                &time
            };
            title = match name {
                Name::Wordless => String::new(),
                Name::Timeless | Name::Undated => format!("{title} ─"),
                _ => format!("{title} ─ {shown}"),
            };
            for (name, price) in [
                ("o", at.open),
                ("h", at.high),
                ("l", at.low),
                ("c", at.close),
            ] {
                title.push_str(&format!("{gap}{name} {}", figures(Some(price))));
            }
            title.push_str(&format!("{gap}v {}", format::human(Some(at.volume))));
            if name == Name::Whole {
                // Marked as token units, as volumes elsewhere are in USD.
                title.push_str(&format!(" {short}"));
            }
        }
        title.trim_start().to_owned()
    }
}

/// A price in few characters that still distinguishes neighboring candles: `63,512`, `7.3100`, `0.00000214`.
fn short(value: Option<f64>) -> String {
    let Some(value) = value.filter(|value| value.is_finite()) else {
        return format::MISSING.to_owned();
    };
    match value.abs() {
        size if size >= 999_999.5 => format::human(Some(value)),
        size if size >= 999.95 => format::fixed(value, 0),
        size if size >= 99.995 => format::fixed(value, 1),
        size if size >= 9.9995 => format::fixed(value, 2),
        size if size >= 0.1 => format::fixed(value, 4),
        size if size >= 0.001 => format::fixed(value, 5),
        // As on the axis and in tables.
        _ => format::price(Some(value)),
    }
}

/// Cells of a tiny figure: two digits and an exponent.
const BRIEF: usize = 6;

/// Three digits: `63.5k`, `7.31`, `1.00`, `2.1e-6`.
fn three(value: Option<f64>) -> String {
    let Some(value) = value.filter(|value| value.is_finite()) else {
        return format::MISSING.to_owned();
    };
    match value.abs() {
        size if size < 0.01 => format::brief(value, BRIEF),
        // Whole numbers keep their decimals, for alignment with their neighbors.
        size if (0.995..9.995).contains(&size) => format::fixed(value, 2),
        size if (9.995..99.95).contains(&size) => format::fixed(value, 1),
        _ => format::human(Some(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn title(price: f64) -> Title<'static> {
        let at = CandleColumn {
            time: Time(1_767_225_600_000),
            open: price,
            high: 1.1 * price,
            low: 0.9 * price,
            close: price,
            volume: 4.123e9,
        };
        Title {
            symbol: "LONGSYMBOL",
            source: None,
            frame: "1d",
            column: None,
            log: false,
            count: "5,000 candles",
            at: Some(at),
            crosshair: false,
            dates: true,
        }
    }

    #[test]
    fn every_figure_stands_whatever_the_price_and_the_room() {
        for price in [
            63_512.45,
            0.000_002_14,
            7.31,
            0.0,
            1e-14,
            4.2e12,
            f64::NAN,
            999_999.4,
            0.123_4,
        ] {
            for column in [None, Some("8d/column".to_owned())] {
                for (dates, cells) in [
                    (true, 56),
                    (false, 56),
                    (true, 76),
                    (false, 76),
                    (false, 84),
                    (true, 120),
                    (true, 200),
                ] {
                    let title = Title {
                        column: column.clone(),
                        dates,
                        ..title(price)
                    };
                    let text = title.text(cells);
                    assert!(text::width(&text) <= cells, "{cells}: {text}");
                    let figures = format!(" {text}");
                    let at: Vec<usize> = [" o ", " h ", " l ", " c ", " v "]
                        .map(|name| figures.find(name).unwrap_or(usize::MAX))
                        .to_vec();
                    assert!(at.is_sorted() && at[4] < figures.len(), "{text}");
                }
            }
        }
    }

    #[test]
    fn words_go_before_digits() {
        for (price, column, cells, expected) in [
            (
                7.31,
                None,
                200,
                "LONGSYMBOL · 1d · 5,000 candles ─ 2026-01-01  o 7.3100  h 8.0410  l 6.5790  c 7.3100  v 4.12B LONGS…",
            ),
            (
                7.31,
                None,
                85,
                "LONGSYMBOL · 1d ─ 2026-01-01  o 7.3100  h 8.0410  l 6.5790  c 7.3100  v 4.12B LONGS…",
            ),
            (
                63_512.45,
                None,
                76,
                "LONGS… · 1d ─ 2026-01-01 o 63,512 h 69,864 l 57,161 c 63,512 v 4.12B",
            ),
            (
                7.31,
                None,
                59,
                "1d ─ 2026-01-01 o 7.3100 h 8.0410 l 6.5790 c 7.3100 v 4.12B",
            ),
            (
                7.31,
                None,
                58,
                "1d ─ o 7.3100 h 8.0410 l 6.5790 c 7.3100 v 4.12B",
            ),
            (7.31, None, 47, "1d ─ o 7.31 h 8.04 l 6.58 c 7.31 v 4.12B"),
            (
                63_512.45,
                Some("8d/column"),
                76,
                "LONGS… · 8d/column ─ 2026-01-01 o 63,512 h 69,864 l 57,161 c 63,512 v 4.12B",
            ),
        ] {
            let title = Title {
                column: column.map(str::to_owned),
                ..title(price)
            };
            assert_eq!(title.text(cells), expected);
        }
    }

    #[test]
    fn the_source_of_the_candles_stands_before_their_count_and_their_last_digits() {
        let pointed = Title {
            source: Some("bybit-perp:XUSDT"),
            crosshair: true,
            ..title(7.31)
        };
        assert_eq!(
            pointed.text(76),
            "LONGS… · 1d ─ 2026-01-01 o 7.3100 h 8.0410 l 6.5790 c 7.3100 v 4.12B"
        );
        let title = Title {
            source: Some("bybit-perp:XUSDT"),
            ..title(7.31)
        };
        for (cells, expected) in [
            (
                200,
                "LONGSYMBOL · bybit-perp:XUSDT · 1d · 5,000 candles ─ 2026-01-01  o 7.3100  h 8.0410  l 6.5790  c 7.3100  v 4.12B LONGS…",
            ),
            (
                93,
                "LONGS… · bybit-perp:XUSDT · 1d ─ 2026-01-01 o 7.3100 h 8.0410 l 6.5790 c 7.3100 v 4.12B",
            ),
            (
                84,
                "LONGS… · bybit-perp · 1d ─ 2026-01-01 o 7.3100 h 8.0410 l 6.5790 c 7.3100 v 4.12B",
            ),
            (
                76,
                "LONGS… · bybit-perp · 1d ─ o 7.3100 h 8.0410 l 6.5790 c 7.3100 v 4.12B",
            ),
        ] {
            assert_eq!(title.text(cells), expected);
        }
    }
}
