//! Computes the metrics that `fields` of GET /tokens adds: short forms of the results of the token's own endpoints.

use serde_json::{Map, Value};

use super::{ADDED, FigureSource, FigureValue, Figures, OWN_COLUMNS, SOURCES, value};
use crate::queries::{
    coins::Coins,
    security::SecurityQuery,
    snapshot::Snapshot,
    track_record::{advise, is_weighed},
    trendline::PERIOD_DEFAULT,
    view::View,
};
use analysis::{
    market::TokenSummary,
    patterns::{PatternsAnswer, patterns_to_advise},
    timeframes::{self, CandleVec},
    trendlines::trendlines,
};
use model::{
    address::Address,
    candles::{Candles, ChartCandles, Interval},
    error::{Code, Result},
    progress::Progress,
};

/// The metrics of one token named by `fields` (of `FIELDS`).
pub fn figures(
    view: &View<'_>,
    token: Address,
    fields: &[&str],
    progress: &Progress,
) -> Result<Figures> {
    let summary = view.market.of(&view.dataset, &token);
    let mut figures = summary.map_or_else(Figures::default, |token| precomputed(token, fields));
    if let Some(summary) = summary.filter(|_| fields.contains(&OWN_COLUMNS)) {
        figures.set(OWN_COLUMNS, own(view, summary));
    }
    let by_candles = named(fields).any(|(_, source)| !matches!(source, FigureSource::Security(_)));
    let candles = by_candles.then(|| view.dataset.candles().loaded(&token));
    let series = candles.as_ref().map_or_else(Vec::new, ChartCandles::series);
    let advise = |answer: &mut PatternsAnswer| advise(view, &token, answer, "1d", progress);
    add_of_candles(
        &mut figures,
        (view, &token),
        fields,
        &series,
        summary.is_some_and(TokenSummary::is_stale),
        &advise,
    )?;
    for (name, source) in named(fields) {
        let FigureSource::Security(of) = source else {
            continue;
        };
        let figure = match SecurityQuery::summary(view, token, progress) {
            // The others are shown; the token's own answer says why it has none.
            Err(_) if view.is_unread(&token) => None,
            summary => none_without_data(summary)?.as_ref().map(of),
        };
        figures.set(name, figure);
    }
    Ok(figures)
}

/// Whether a token's candles alone determine the metric.
pub fn is_of_candles(name: &str) -> bool {
    !is_weighed(name)
        && named(&[name]).any(|(_, source)| !matches!(source, FigureSource::Security(_)))
}

/// Whether the metric needs the patterns, which are slow to detect.
pub fn is_by_patterns(name: &str) -> bool {
    named(&[name]).any(|(_, source)| matches!(source, FigureSource::Patterns(_)))
}

/// The named metrics that these candles determine, with the candles of the coin that the token follows.
pub fn of_candles(
    snapshot: &Snapshot,
    token: &Address,
    fields: &[&str],
    series: &[(Interval, Candles<'_>)],
    is_stale: bool,
) -> Result<Figures> {
    let mut figures = Figures::default();
    add_of_candles(
        &mut figures,
        (snapshot, token),
        fields,
        series,
        is_stale,
        &|_| Ok(()),
    )?;
    Ok(figures)
}

fn named(fields: &[&str]) -> impl Iterator<Item = &'static (&'static str, FigureSource)> {
    SOURCES.iter().filter(|(name, _)| fields.contains(name))
}

fn add_of_candles(
    figures: &mut Figures,
    (snapshot, token): (&Snapshot, &Address),
    fields: &[&str],
    series: &[(Interval, Candles<'_>)],
    is_stale: bool,
    advise: &dyn Fn(&mut PatternsAnswer) -> Result<()>,
) -> Result<()> {
    let by_patterns = named(fields).any(|(_, source)| matches!(source, FigureSource::Patterns(_)));
    let by_days = named(fields).any(|(_, source)| matches!(source, FigureSource::Days(_)));
    let frame = if by_patterns || by_days {
        timeframes::frame(series, Interval::DAY)
    } else {
        None
    };
    let mut patterns = frame.as_ref().filter(|_| by_patterns).map(|frame| {
        // Nothing else depends on the coins that the token may follow.
        let coins = Coins::here(snapshot, token, Interval::DAY);
        patterns_to_advise(&frame.as_candles(), &coins.frames().coins(), false)
    });
    if let Some(answer) = patterns
        .as_mut()
        .filter(|_| fields.iter().any(|field| is_weighed(field)))
    {
        advise(answer)?;
    }
    // No signals from a chart that ended long ago.
    let days = frame
        .as_ref()
        .filter(|_| by_days && !is_stale)
        .map(|frame| CandleVec::sound(&frame.as_candles()))
        .unwrap_or_default();
    for (name, source) in named(fields) {
        let figure = match source {
            FigureSource::Trend => {
                let base = timeframes::base(series);
                base.map(|(_, frame)| {
                    trendlines(&frame.as_candles(), PERIOD_DEFAULT as usize, false)
                        .trend
                        .into()
                })
            }
            FigureSource::Patterns(of) => patterns.as_ref().and_then(of),
            FigureSource::Days(of) => of(&days.as_candles()).map(FigureValue::number),
            FigureSource::Security(_) => continue,
        };
        figures.set(name, figure);
    }
    Ok(())
}

/// The named metrics that the token's summary has.
pub fn precomputed(token: &TokenSummary, fields: &[&str]) -> Figures {
    let mut figures = Figures::default();
    let is_known = |name: &str| name != OWN_COLUMNS && !super::is_computed(name);
    for row in ADDED
        .iter()
        .filter(|row| fields.contains(&row.name) && is_known(row.name))
    {
        figures.set(row.name, FigureValue::of(&value(token, row.name)));
    }
    figures
}

/// Every custom column of the `tokens` file, null where the token has no value; `None` where the file has no custom columns.
fn own(snapshot: &Snapshot, token: &TokenSummary) -> Option<FigureValue> {
    let value = |name: &str| {
        token
            .own
            .iter()
            .find(|(known, _)| *known == name)
            .map_or(Value::Null, |(_, value)| value.json())
    };
    let columns = snapshot.dataset.own_columns();
    let all = || {
        columns
            .iter()
            .map(|column| (column.name.to_owned(), value(column.name)))
            .collect::<Map<String, Value>>()
    };
    (!columns.is_empty()).then(|| FigureValue::Own(all()))
}

/// Turns the error of missing data into `None`.
fn none_without_data<T>(answer: Result<T>) -> Result<Option<T>> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(problem) if matches!(problem.code, Code::NoCandles | Code::NoSecurityData) => Ok(None),
        Err(problem) => Err(problem),
    }
}
