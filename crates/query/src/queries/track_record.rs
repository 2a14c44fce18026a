//! The queries behind GET /technical/{contractAddress}/track-record and /technical/track-record. Each token's replay is cached for its
//! generation; `all` counts the record of all tokens, in the background.

mod all;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

pub use self::all::{PatternRecords, count, digest, is_weighed};
pub use super::caches::WholeRecord;
use super::{
    Dated, Query,
    caches::ReplayedToken,
    known_token,
    parameter::{CONTRACT, ParameterKind, parameter},
    request::{Request as _, request},
    security::SecurityQuery,
    snapshot::Snapshot,
    timeframes::{TIMEFRAME, candles_of, frame_of, interval},
    view::View,
};
use analysis::{
    market::TokenSummary,
    patterns::{Advice, AdviceReason, AdviceWord, PatternRecord, PatternsAnswer, market::Model},
    timeframes::{CandleVec, frame},
    track_record::{
        advice,
        errors::set_verdicts,
        records, replay,
        returns::{ReturnRecord, SignalReturn, after_trends, trend_records},
    },
};
use model::{
    address::Address, candles::ChartCandles, error::Result, progress::Progress, time::Time,
};

request! {
    TrackRecordQuery at "/technical/{contractAddress}/track-record" {
        contract_address: Address = CONTRACT,
        timeframe: &'static str = TIMEFRAME,
        scope: &'static str = parameter(
            "scope",
            ParameterKind::Word { words: &["token", "all"], default: Some("token") },
            "Patterns of this token, or of all tokens, as in GET /technical/track-record.",
        ),
    }
}

request! {
    WholeRecordQuery at "/technical/track-record" {
        timeframe: &'static str = TIMEFRAME,
    }
}

/// Walk-forward backtest of the patterns confirmed in the last 2,000 candles, without look-ahead: each is detected in the 500 candles up to
/// its breakout, entered at the breakout's close, and evaluated on the 600 candles after it. The intervals are clustered by UTC day and by
/// token and allow for overlapping trades; the verdicts are corrected for all names in the result, at a false discovery rate of 5%.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrackRecord {
    /// Null if no token was named.
    pub contract_address: Option<Address>,
    pub timeframe: &'static str,
    pub scope: &'static str,
    /// Start of the latest candle; null if there are none.
    pub as_of: Option<Time>,
    /// Whether the computation is finished. The track record of all tokens is computed in the background and is empty until then.
    pub complete: bool,
    /// Number of tokens evaluated so far.
    pub done: u64,
    /// Number of tokens to evaluate: for all, the 1,000 with the largest market cap, without pegged tokens, other forms of a coin, and
    /// tokens of the same name whose prices move alike.
    pub total: u64,
    /// Patterns that occurred, most frequent first.
    pub patterns: Vec<PatternRecord>,
    /// Returns over the 14 candles after each trend label, which is computed at every candle from the 14 candles up to it.
    pub trends: Vec<ReturnRecord>,
    /// For all tokens on daily candles, otherwise empty: returns over the 7 days after a ranking by holder growth of the previous 7 days,
    /// for each third of the ranking. There is one ranking every 7 days, of the tokens whose holders were counted in the 7 days before it;
    /// it needs at least three tokens.
    pub growth: Vec<ReturnRecord>,
}

impl Query for TrackRecordQuery {
    type Answer = TrackRecord;
    const NAME: &'static str = "track_record";
    const SUMMARY: &'static str =
        "Get hit rates of past patterns, trend labels and holder-growth ranks.";
    const NEEDS: &'static [&'static str] = &["candles"];
    const DATED: Dated = Dated::Itself;

    fn as_of(&self, _: &Snapshot, answer: &TrackRecord) -> Option<Time> {
        answer.as_of
    }

    fn answer(&self, view: &View<'_>, progress: &Progress) -> Result<TrackRecord> {
        known_token(view, &self.contract_address)?;
        if self.scope == "all" {
            let whole = WholeRecordQuery {
                timeframe: self.timeframe,
            }
            .answer(view, progress)?;
            return Ok(TrackRecord {
                contract_address: Some(self.contract_address),
                ..whole
            });
        }
        frame_of(
            &candles_of(view, &self.contract_address, progress)?.series(),
            &self.contract_address,
            self.timeframe,
        )?;
        let replay = self.token(view, progress)?;
        let (patterns, trends) = records_of(&replay);
        Ok(TrackRecord {
            contract_address: Some(self.contract_address),
            timeframe: self.timeframe,
            scope: "token",
            as_of: replay.as_of,
            complete: true,
            done: 1,
            total: 1,
            patterns,
            trends,
            growth: Vec::new(),
        })
    }

    fn heavy(&self, _: &Snapshot) -> bool {
        self.scope == "token"
    }

    fn etag(&self, snapshot: &Snapshot) -> String {
        let target = self.target();
        if self.scope == "all" {
            snapshot.etag_of_advice(&target, self.timeframe)
        } else {
            snapshot.etag(&target)
        }
    }
}

impl Query for WholeRecordQuery {
    type Answer = TrackRecord;
    const NAME: &'static str = "track_record_of_all";
    const SUMMARY: &'static str = "Get hit rates of past patterns, trend labels and holder-growth ranks over all tokens. They are \
        computed in the background; `complete` is true when they are ready.";
    const NEEDS: &'static [&'static str] = &["candles"];
    const DATED: Dated = Dated::Itself;

    fn as_of(&self, _: &Snapshot, answer: &TrackRecord) -> Option<Time> {
        answer.as_of
    }

    fn answer(&self, view: &View<'_>, progress: &Progress) -> Result<TrackRecord> {
        all::check_here(view, self.timeframe)?;
        let counted = view.track_records.want(self.timeframe);
        let whole = counted.record.filter(|_| !counted.inherited);
        if whole.is_none() {
            if let Some(problem) = counted.problem {
                return Err(problem);
            }
            progress.note_partial();
        }
        let (done, total) = whole
            .as_ref()
            .map_or(counted.progress, |whole| (whole.tokens, whole.tokens));
        let (patterns, trends, growth, as_of) =
            whole.as_ref().map_or_else(Default::default, |whole| {
                (
                    whole.patterns.to_vec(),
                    whole.trends.clone(),
                    whole.growth.clone(),
                    whole.as_of,
                )
            });
        let (complete, timeframe) = (whole.is_some(), self.timeframe);
        Ok(TrackRecord {
            contract_address: None,
            timeframe,
            scope: "all",
            as_of,
            complete,
            done,
            total,
            patterns,
            trends,
            growth,
        })
    }

    fn etag(&self, snapshot: &Snapshot) -> String {
        snapshot.etag_of_advice(&self.target(), self.timeframe)
    }
}

impl TrackRecordQuery {
    /// The pattern records of one token.
    pub fn of_token(
        snapshot: &Snapshot,
        contract_address: Address,
        timeframe: &'static str,
        progress: &Progress,
    ) -> Result<Vec<PatternRecord>> {
        let question = Self {
            contract_address,
            timeframe,
            scope: "token",
        };
        Ok(records_of(&*question.token(snapshot, progress)?).0)
    }

    fn token(&self, snapshot: &Snapshot, progress: &Progress) -> Result<Arc<ReplayedToken>> {
        let candles = snapshot.dataset.candles().of(&self.contract_address);
        let candles = candles_in(&candles, self.timeframe);
        let mut go_on = |done: usize, total: usize| progress.step(done as u64, total as u64);
        replayed(
            snapshot,
            self.contract_address,
            self.timeframe,
            &candles,
            &mut go_on,
        )
    }
}

/// Computes the advice for a token from its patterns, the track record of all tokens, the age of its candles and its security, which is
/// checked only if the advice would be to buy.
pub fn advise(
    view: &View<'_>,
    token: &Address,
    answer: &mut PatternsAnswer,
    timeframe: &'static str,
    progress: &Progress,
) -> Result<()> {
    let record = view.track_records.want(timeframe).record;
    let is_stale = view
        .market
        .of(&view.dataset, token)
        .is_some_and(TokenSummary::is_stale);
    let advice = advice(
        answer,
        record.as_ref().map(|record| &*record.patterns),
        is_stale,
    );
    answer.take_advice(match forbidden(view, token, advice.word, progress)? {
        Some(text) => Advice {
            word: AdviceWord::Hold,
            reason: AdviceReason::Security,
            text,
        },
        None => advice,
    });
    Ok(())
}

/// What security says against a buy.
fn forbidden(
    view: &View<'_>,
    token: &Address,
    word: AdviceWord,
    progress: &Progress,
) -> Result<Option<String>> {
    let verdict = if word.is_buy() {
        SecurityQuery::verdict(view, *token, progress)?
    } else {
        None
    };
    let forbids = verdict.filter(|verdict| verdict.danger.forbids_buy());
    Ok(forbids.map(|verdict| {
        format!(
            "the security verdict is {}, score {}",
            verdict.recommendation, verdict.score
        )
    }))
}

/// The records of one token, with their verdicts.
fn records_of(replay: &ReplayedToken) -> (Vec<PatternRecord>, Vec<ReturnRecord>) {
    let mut patterns = records(&[&replay.patterns]);
    let mut trends = trend_records(&[&replay.trends]);
    set_table_verdicts(&mut patterns, &mut trends, &mut []);
    (patterns, trends)
}

/// Sets the verdicts of all names in one table.
fn set_table_verdicts(
    patterns: &mut [PatternRecord],
    trends: &mut [ReturnRecord],
    growth: &mut [ReturnRecord],
) {
    let patterns = patterns.iter_mut().map(|record| &mut record.evidence);
    let words = trends.iter_mut().chain(growth);
    set_verdicts(patterns.chain(words.map(|record| &mut record.evidence)));
}

/// The replay of a token's candles, from the cache if these are the candles that it was made of.
fn replayed(
    snapshot: &Snapshot,
    token: Address,
    timeframe: &'static str,
    candles: &CandleVec,
    go_on: &mut dyn FnMut(usize, usize) -> Result<()>,
) -> Result<Arc<ReplayedToken>> {
    let digest = all::digest_of(candles);
    if let Some(replay) = snapshot
        .track_records
        .get(token, timeframe)
        .filter(|replay| replay.digest == digest)
    {
        return Ok(replay);
    }
    let mut stopped = Ok(());
    let mut step = |done, total| {
        stopped = go_on(done, total);
        stopped.is_ok()
    };
    let series = candles.as_candles();
    let patterns = replay(&series, Model::built_in(), &mut step).unwrap_or_default();
    stopped?;
    let trends: Box<[SignalReturn]> = after_trends(&series).into();
    let replay = Arc::new(ReplayedToken {
        as_of: series.timestamp.last().map(|&start| Time(start)),
        patterns,
        trends,
        digest,
    });
    snapshot.track_records.insert(token, timeframe, &replay);
    Ok(replay)
}

/// The candles with plausible prices.
fn candles_in(candles: &ChartCandles<'_>, timeframe: &str) -> CandleVec {
    frame(&candles.series(), interval(timeframe))
        .map(|frame| CandleVec::sound(&frame.as_candles()))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
