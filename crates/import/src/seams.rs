//! Where the parts of one file meet: the candles of a series go on near the price at which those before them ended.

use std::path::Path;

use polars::prelude::DataFrame;

use super::refusal::Refusal;
use model::address::Address;

/// By what factor the price may differ for each step between two candles.
const JUMP: f64 = 1.5;

/// The first and the last candle of a part: time, with open or close.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SeriesSpan {
    first: (i64, f64),
    last: (i64, f64),
    rows: u64,
}

/// The span of a part, with the file's path, the part's name and the token.
pub(super) type PartSpan = (std::path::PathBuf, String, Address, SeriesSpan);

impl SeriesSpan {
    /// The span together with the candles of the frame.
    pub(super) fn with(span: Option<Self>, frame: &DataFrame) -> Option<Self> {
        let column = |name: &str| frame.column(name).ok()?.f64().ok();
        let times = frame
            .column("timestamp")
            .ok()
            .and_then(|column| column.datetime().ok());
        let (Some(times), Some(opens), Some(closes)) = (times, column("open"), column("close"))
        else {
            return span;
        };
        let candles = times.physical().iter().zip(opens.iter().zip(closes.iter()));
        candles
            .filter_map(|(time, (open, close))| Some((time?, open?, close?)))
            .fold(span, |span, (time, open, close)| {
                let Some(Self { first, last, rows }) = span else {
                    return Some(Self {
                        first: (time, open),
                        last: (time, close),
                        rows: 1,
                    });
                };
                let first = if time < first.0 { (time, open) } else { first };
                Some(Self {
                    first,
                    last: if time > last.0 { (time, close) } else { last },
                    rows: rows + 1,
                })
            })
    }

    /// The sentence on the price jump from this part to a later one; `None` if they overlap, or if it may be so of one series.
    fn jump(self, later: Self) -> Option<String> {
        let step = |span: Self| {
            (span.last.0 - span.first.0) as f64 / span.rows.saturating_sub(1).max(1) as f64
        };
        let (step, apart) = (
            step(self).max(step(later)),
            (later.first.0 - self.last.0) as f64,
        );
        let (ends, begins) = (self.last.1, later.first.1);
        if step <= 0.0 || apart <= 0.0 || ends <= 0.0 || begins <= 0.0 {
            return None;
        }
        let may = JUMP.powf((apart / step).max(1.0));
        (begins / ends > may || ends / begins > may)
            .then(|| format!("the price jumps from {ends} to {begins} where they meet"))
    }
}

/// Refuses a part whose candles cannot go on, or come before, those of an earlier part of the same file.
pub(super) fn meets(
    known: &[PartSpan],
    path: &Path,
    token: Address,
    span: SeriesSpan,
) -> Result<(), Refusal> {
    for (_, name, _, other) in known
        .iter()
        .filter(|(of, _, about, _)| of == path && *about == token)
    {
        if let Some(jump) = other.jump(span).or_else(|| span.jump(*other)) {
            return Err(Refusal::new(format!(
                "and `{name}` are not one series: {jump}; save the part you need as a separate file, or pass --broken-too if both \
                 belong to one token"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_one_series_go_on_where_they_stopped() {
        const DAY: i64 = 86_400_000;
        let span = |from: i64, open: f64, close: f64| SeriesSpan {
            first: (from * DAY, open),
            last: ((from + 59) * DAY, close),
            rows: 60,
        };
        for (from, open, jumps) in [
            (60, 2.5, true),
            (60, 8.9, false),
            (60, 13.0, false),
            (62, 20.0, false),
            (62, 200.0, true),
            (400, 90_000.0, false),
            (30, 2.5, false),
        ] {
            let (a, b) = (span(0, 9.0, 8.8), span(from, open, open));
            assert_eq!(a.jump(b).is_some(), jumps, "{from} {open}");
            let known = [(
                Path::new("a").to_owned(),
                "a/1".to_owned(),
                Address::ZERO,
                b,
            )];
            assert_eq!(
                meets(&known, Path::new("a"), Address::ZERO, a).is_err(),
                jumps,
                "either may come first: {from} {open}"
            );
            assert!(
                meets(&known, Path::new("b"), Address::ZERO, a).is_ok(),
                "another file"
            );
        }
    }
}
