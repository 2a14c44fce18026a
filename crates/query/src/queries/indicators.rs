//! The query behind GET /technical/{contractAddress}/indicators.

use std::{collections::BTreeMap, sync::Arc};

use polars::prelude::{Column, DataFrame, DataType, NamedFrom, Series, TimeUnit, TimeZone};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::{
    Dated, Query,
    candles::latest,
    mentions::per_candle,
    paging::Paging,
    parameter::{CONTRACT, ParameterKind, parameter},
    request::request,
    snapshot::Snapshot,
    tabular::{Tabled, Tabular},
    timeframes::{FROM, TIMEFRAME, TO, candles_of, frame_of, interval},
    view::View,
};
use analysis::{indicators::Indicator, timeframes::CandleVec};
use model::{
    address::Address,
    error::{Code, Problem, Result},
    progress::Progress,
    time::Time,
};

request! {
    IndicatorsQuery at "/technical/{contractAddress}/indicators" {
        contract_address: Address = CONTRACT,
        names: Vec<Indicator> = parameter(
            "names",
            ParameterKind::Indicators { default: "sma_20,ema_50,rsi_14" },
            "Up to 16 indicators, each with its periods in candles: sma_20, ema_50, bollinger_20_2, vwap_20, rsi_14, macd_12_26_9, obv, \
            atr_14, mentions (posts about the token in each candle).",
        ),
        timeframe: &'static str = TIMEFRAME,
        from: Option<Time> = FROM,
        to: Option<Time> = TO,
        limit: u64 = parameter("limit", ParameterKind::Integer { min: 1, max: 5_000, default: 500 }, "Number of latest rows to return."),
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenIndicators {
    pub contract_address: Address,
    pub timeframe: &'static str,
    /// Start of the last candle used; null without candles.
    pub as_of: Option<Time>,
    /// The latest rows within `limit`, oldest first: one per candle with plausible prices. Earlier candles are included in the first row's
    /// values.
    pub rows: Vec<IndicatorRow>,
    /// Whether `limit` excluded earlier rows.
    #[serde(skip)]
    pub cut: bool,
    #[serde(skip)]
    pub columns: Vec<Arc<str>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct IndicatorRow {
    /// Start of the candle.
    pub timestamp: Time,
    /// By indicator name. Indicators of several columns: `macd_12_26_9`, `macd_12_26_9_signal`, `macd_12_26_9_histogram` and
    /// `bollinger_20_2_lower`, `bollinger_20_2_middle`, `bollinger_20_2_upper`. Null during the warm-up (too few earlier candles), if a
    /// required volume is unknown, or before the token's first post for `mentions`.
    #[serde(flatten, serialize_with = "in_order")]
    #[schemars(with = "BTreeMap<String, IndicatorCell>")]
    pub values: Vec<(Arc<str>, Option<f64>)>,
}

/// The schema of an indicator's value: a number or null. It allows a text too, because generators of clients require that of the fields beside
/// `timestamp`, which is one.
#[expect(dead_code, reason = "only its schema is used")]
#[derive(JsonSchema)]
#[schemars(untagged, inline)]
enum IndicatorCell {
    Number(f64),
    Text(String),
    None,
}

fn in_order<S: Serializer>(
    values: &[(Arc<str>, Option<f64>)],
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_map(values.iter().map(|(name, value)| (&**name, value)))
}

impl Query for IndicatorsQuery {
    type Answer = TokenIndicators;
    const NAME: &'static str = "indicators";
    const SUMMARY: &'static str = "Get technical indicators per candle.";
    const NEEDS: &'static [&'static str] = &["candles"];
    const DATED: Dated = Dated::Itself;

    fn paging(&self, answer: &TokenIndicators) -> Option<Paging> {
        answer
            .rows
            .first()
            .filter(|_| answer.cut)
            .map(|first| Paging::Before(first.timestamp))
    }

    fn as_of(&self, _: &Snapshot, answer: &TokenIndicators) -> Option<Time> {
        answer.rows.last().map(|row| row.timestamp)
    }

    fn answer(&self, view: &View<'_>, progress: &Progress) -> Result<TokenIndicators> {
        let candles = candles_of(view, &self.contract_address, progress)?;
        let series = candles.series();
        let sound = CandleVec::sound(
            &frame_of(&series, &self.contract_address, self.timeframe)?.as_candles(),
        );
        let all = sound.as_candles();
        let (range, cut) = latest(all.timestamp, self.from, self.to, self.limit);
        let mut rows: Vec<IndicatorRow> = all.timestamp[range.clone()]
            .iter()
            .map(|&time| IndicatorRow {
                timestamp: Time(time),
                values: Vec::new(),
            })
            .collect();
        let mut columns = Vec::new();
        for (done, indicator) in self.names.iter().enumerate() {
            progress.step(done as u64, self.names.len() as u64)?;
            let values = if *indicator == Indicator::Mentions {
                view.require(&["posts"])?;
                let starts = &all.timestamp[range.clone()];
                let length = interval(self.timeframe).0;
                vec![per_candle(
                    &view.dataset,
                    &self.contract_address,
                    starts,
                    length,
                )]
            } else {
                indicator.values(&all, range.clone())
            };
            for (name, values) in indicator.columns().zip(values) {
                let name: Arc<str> = name.into();
                rows.iter_mut()
                    .zip(values)
                    .for_each(|(row, value)| row.values.push((Arc::clone(&name), value)));
                columns.push(name);
            }
        }
        let as_of = all.timestamp.last().map(|&time| Time(time));
        Ok(TokenIndicators {
            contract_address: self.contract_address,
            timeframe: self.timeframe,
            as_of,
            rows,
            cut,
            columns,
        })
    }
}

impl Tabular for IndicatorsQuery {
    fn tabled(
        &self,
        view: &View<'_>,
        _: &Arc<Snapshot>,
        whole: bool,
        progress: &Progress,
    ) -> Result<Tabled> {
        let limit = if whole { u64::MAX } else { self.limit };
        let answer = Self {
            limit,
            ..self.clone()
        }
        .answer(view, progress)?;
        let failed = |_| {
            Problem::new(
                Code::Defect,
                "Internal error: the rows cannot be written as a table.",
            )
        };
        let times: Vec<i64> = answer.rows.iter().map(|row| row.timestamp.0).collect();
        let times = Series::new("timestamp".into(), times);
        let times = times
            .cast(&DataType::Datetime(
                TimeUnit::Milliseconds,
                Some(TimeZone::UTC),
            ))
            .map_err(failed)?;
        let values = answer.columns.iter().enumerate().map(|(nth, name)| {
            let values: Vec<Option<f64>> =
                answer.rows.iter().map(|row| row.values[nth].1).collect();
            Column::from(Series::new(name.as_ref().into(), values))
        });
        let columns = std::iter::once(Column::from(times)).chain(values).collect();
        let frame = DataFrame::new(answer.rows.len(), columns).map_err(failed)?;
        let columns = std::iter::once("timestamp".to_owned())
            .chain(answer.columns.iter().map(ToString::to_string))
            .collect();
        Ok(Tabled {
            columns,
            rows: Box::new(frame),
            next: None,
        })
    }
}
