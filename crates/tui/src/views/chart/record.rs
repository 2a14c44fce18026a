//! The track record pane: hit rates of past signals in this data. A table of patterns, trend labels and holder-growth ranks with their
//! outcomes, compared with random entries. The outcomes come from the track-record query.

use crate::views::{
    prelude::*,
    record_pane::{RecordPane, RecordTexts, percent, so_far},
};
use analysis::track_record::errors::{Evidence, Verdict, interval_text};
use query::queries::track_record::{TrackRecord, WholeRecordQuery};

/// A signal with its outcomes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SignalSummary {
    /// The signal type: pattern, trend or growth.
    of: &'static str,
    name: &'static str,
    count: u64,
    /// Fractions: the hit rate of the signal, and of random entries.
    right: Option<f64>,
    any: Option<f64>,
    evidence: Evidence,
    /// In percent; `None` for patterns, which have no fixed horizon.
    mean_return: Option<f64>,
    random_mean_return: Option<f64>,
    median_days: Option<f64>,
}

pub(super) fn signals(record: &TrackRecord) -> Vec<SignalSummary> {
    let patterns = record.patterns.iter().map(|pattern| SignalSummary {
        of: "pattern",
        name: pattern.name.word(),
        count: pattern.count,
        right: pattern.target,
        any: pattern.random_target,
        evidence: pattern.evidence.clone(),
        mean_return: None,
        random_mean_return: None,
        median_days: pattern.median_days,
    });
    let words = [("trend", &record.trends), ("holders", &record.growth)]
        .into_iter()
        .flat_map(|(of, records)| {
            records.iter().map(move |word| SignalSummary {
                of,
                name: word.word,
                count: word.count,
                right: word.right(word.rose),
                any: word.right(word.random_rose),
                evidence: word.evidence.clone(),
                mean_return: word.mean_return,
                random_mean_return: word.random_mean_return,
                median_days: None,
            })
        });
    patterns.chain(words).collect()
}

pub(super) struct SignalFields;

type F = Field<SignalFields>;

fn role(verdict: Verdict) -> Role {
    match verdict {
        Verdict::BeatsBaseRate | Verdict::BelowBaseRate => Role::Text,
        Verdict::NoEdge | Verdict::TooFew => Role::Dim,
    }
}

impl Fields for SignalFields {
    type Row<'a> = &'a SignalSummary;

    const FIELDS: &'static [F] = &[
        F::text("signal", "signal", [16, 28], 255, |row| row.name.into())
            .cell(|row, _| Cell::text(words::shown(row.name)))
            .searched()
            .grows(),
        F::text("of", "type", [7, 8], 200, |row| row.of.into()).searched(),
        F::figure("count", "times", 7, 230, |row| row.count.into()).counted(),
        F::figure("days", "days", 6, 225, |row| row.evidence.days.into()).counted(),
        F::figure("right", "right", 6, 240, |row| row.right.into())
            .cell(|row, _| percent(row.right))
            .unit("%")
            .decimal(),
        F::figure("any", "base rate", 6, 235, |row| row.any.into())
            .cell(|row, _| percent(row.any))
            .unit("%")
            .decimal(),
        F::figure("edge", "edge", 7, 250, |row| row.evidence.difference.into()).change(),
        F::picture("interval", "95% interval", 14, 242, |row, _| {
            let evidence = &row.evidence;
            interval_text(evidence.difference_low, evidence.difference_high)
                .map_or_else(Cell::missing, Cell::text)
        }),
        F::hidden("edge_low", ColumnKind::Number, |row| {
            row.evidence.difference_low.into()
        }),
        F::hidden("edge_high", ColumnKind::Number, |row| {
            row.evidence.difference_high.into()
        }),
        F::text("verdict", "verdict", [8, 19], 248, |row| {
            row.evidence.verdict.map(Verdict::word).into()
        })
        .cell(|row, _| {
            let cell = |verdict: Verdict| Cell::new(verdict.text().to_owned(), role(verdict));
            row.evidence.verdict.map_or_else(Cell::missing, cell)
        })
        .searched(),
        F::figure("errors", "std errors", 7, 110, |row| {
            row.evidence.errors().into()
        })
        .fixed(1, Role::Text)
        .decimal(),
        F::figure("mean_return", "mean", 7, 150, |row| row.mean_return.into()).change(),
        F::figure("random_mean_return", "base mean", 7, 140, |row| {
            row.random_mean_return.into()
        })
        .change(),
        F::figure("median_days", "days held", 5, 120, |row| {
            row.median_days.into()
        })
        .fixed(1, Role::Text)
        .decimal(),
    ];

    const STANDARD: Option<Order> = Some(Order::falling("errors"));

    fn json(row: &SignalSummary) -> Json {
        json!({
            "signal": row.name, "of": row.of, "count": row.count, "right": row.right, "any": row.any,
            "days": row.evidence.days, "edge": row.evidence.difference, "edge_low": row.evidence.difference_low,
            "edge_high": row.evidence.difference_high, "verdict": row.evidence.verdict.map(Verdict::word), "errors": row.evidence.errors(),
            "mean_return": row.mean_return, "random_mean_return": row.random_mean_return, "median_days": row.median_days,
        })
    }
}

pub(super) type SignalsPane = RecordPane<SignalFields, SignalSummary, WholeRecordQuery>;

pub(super) fn draw(
    pane: &mut SignalsPane,
    buffer: &mut Buffer,
    area: Rect,
    timeframe: &'static str,
    context: &Context<'_>,
) {
    let is_complete = pane.answer().is_some_and(|record| record.complete);
    // How far the count is while it is drawn.
    let waits = (!is_complete).then(|| {
        let counted = context.snapshot.map(|it| it.track_records.want(timeframe));
        counted.map_or((0, 0), |counted| counted.progress)
    });
    let says = waits.map_or_else(
        || LEGEND.to_owned(),
        |waits| {
            let so_far = so_far(waits, " tokens");
            format!("evaluating every pattern in the last 2,000 candles of each token{so_far}")
        },
    );
    let texts = RecordTexts {
        title: &format!("track record · {timeframe} · all tokens"),
        says: &says,
        empty: "no signals in this data",
        waits,
    };
    pane.draw(buffer, area, &texts, context);
}

const LEGEND: &str = "Right: a pattern hit its target before its stop; the price was higher 14 candles after an uptrend or 7 days after \
    top-third holder growth, or lower after a downtrend or bottom-third growth. Base rate: the same for random entries. The interval counts \
    the entries of one day, of one token and of overlapping trades as related; the verdict is corrected for all names in the table. Too few: \
    an edge of 10 points could be missed.";
