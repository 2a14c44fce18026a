//! The question behind GET /technical/{contractAddress}/track-record. Each token's replay is cached for its generation; the record of all
//! tokens is built over several requests.

use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Question,
    caches::ReplayedToken,
    coins::Coins,
    known_token, parallel,
    parameter::{CONTRACT, ParameterKind, parameter},
    progress::Progress,
    request::request,
    snapshot::Snapshot,
    timeframes::{TIMEFRAME, candles_of, interval},
};
use analysis::{
    frames::{CandleVec, frame},
    market::TokenSummary,
    patterns::{PatternRecord, PatternsAnswer, market::Model},
    peg::peg,
    track_record::{
        REPLAYED, Signal, advice, records, replay,
        returns::{RankedToken, ReturnRecord, SignalReturn, after_growth, after_trends, growth_records, trend_records},
    },
};
use model::{
    address::Address,
    candles::Interval,
    error::{Code, Problem, Result},
    fetch_key::FetchKey,
    time::Time,
};

/// Maximum number of candles replayed by one request about all tokens, a few seconds of work; the next request continues.
const BATCH_CANDLES_MAX: usize = 4_000;

request! {
    TrackRecordQuestion at "/technical/{contractAddress}/track-record" {
        contract_address: Address = CONTRACT,
        timeframe: &'static str = TIMEFRAME,
        scope: &'static str = parameter(
            "scope",
            ParameterKind::Word { words: &["token", "all"], default: Some("token") },
            "The patterns of this token, or of all tokens, but for those that hold a peg and a coin's other forms.",
        ),
    }
}

/// Walk-forward backtest of the patterns confirmed in the last 2,000 candles, without look-ahead: each is detected in the 500 candles up to
/// its breakout, entered at the breakout's close, and evaluated on the 600 candles after it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrackRecord {
    pub contract_address: Address,
    pub timeframe: &'static str,
    pub scope: &'static str,
    /// The start of the latest candle; null without any.
    pub as_of: Option<Time>,
    /// The patterns that occurred, the most frequent first.
    pub patterns: Vec<PatternRecord>,
    /// Returns over the 14 candles after each trend word, which is computed at every candle from the 14 up to it.
    pub trends: Vec<ReturnRecord>,
    /// For all tokens on daily candles, else empty: returns over the 7 days after a ranking by holder growth of the 7 days before, for each
    /// third of the ranking. One ranking every 7 days, of the tokens counted in the 7 days before it; it needs at least three tokens.
    pub growth: Vec<ReturnRecord>,
}

impl Question for TrackRecordQuestion {
    type Answer = TrackRecord;
    const NAME: &'static str = "track_record";
    const SUMMARY: &'static str =
        "Outcomes of the chart patterns confirmed in the past, and price moves after trend words and ranks of growth.";
    const NEEDS: &'static [&'static str] = &["candles"];
    const HEAVY: bool = true;

    fn as_of(&self, _: &Snapshot, answer: &TrackRecord) -> Option<Time> {
        answer.as_of
    }

    fn answer(&self, snapshot: &Snapshot, progress: &Progress) -> Result<TrackRecord> {
        known_token(snapshot, &self.contract_address)?;
        let replays = if self.scope == "all" {
            self.independent(snapshot, self.all(snapshot, progress)?)?
        } else {
            let _held = candles_of(snapshot, &self.contract_address)?;
            vec![self.token(snapshot, progress)?]
        };
        let trends: Vec<SignalReturn> = replays.iter().flat_map(|replay| replay.trends.iter().copied()).collect();
        let ranked = self.scope == "all" && interval(self.timeframe) == Interval::DAY;
        let signals: Vec<Signal> = replays.iter().flat_map(|replay| replay.signals.iter().copied()).collect();
        let patterns = records(&signals);
        if self.scope == "all" {
            snapshot.track_records.keep_whole(self.timeframe, &patterns);
        }
        Ok(TrackRecord {
            contract_address: self.contract_address,
            timeframe: self.timeframe,
            scope: self.scope,
            as_of: replays.iter().filter_map(|replay| replay.as_of).max(),
            patterns,
            trends: trend_records(&trends),
            growth: if ranked { self.growth(snapshot, progress)? } else { Vec::new() },
        })
    }
}

impl TrackRecordQuestion {
    /// The pattern records of one token.
    pub fn of_token(
        snapshot: &Snapshot,
        contract_address: Address,
        timeframe: &'static str,
        progress: &Progress,
    ) -> Result<Vec<PatternRecord>> {
        let question = Self { contract_address, timeframe, scope: "token" };
        Ok(records(&question.token(snapshot, progress)?.signals))
    }

    /// Weighs the recommended action of a token's explained patterns by the records of all tokens, if those are known.
    pub fn advise(snapshot: &Snapshot, token: &Address, answer: &mut PatternsAnswer, timeframe: &'static str, progress: &Progress) {
        let records = snapshot.track_records.whole(timeframe);
        // An answer that is weighed anew once all tokens are counted is not kept.
        if records.as_ref().is_none_or(|records| records.inherited) {
            progress.note_partial();
        }
        let is_stale = snapshot.market.of(&snapshot.dataset, token).is_some_and(TokenSummary::is_stale);
        answer.advice = Some(advice(answer, records.as_ref().map(|records| &*records.records), is_stale));
    }

    fn token(&self, snapshot: &Snapshot, progress: &Progress) -> Result<Arc<ReplayedToken>> {
        if let Some(replay) = snapshot.track_records.get(self.contract_address, self.timeframe) {
            return Ok(replay);
        }
        let candles = self.candles(snapshot, &self.contract_address);
        let replay = replay_token(&candles, Model::built_in(), &mut |done, total| progress.step(done as u64, total as u64))?;
        snapshot.track_records.insert(self.contract_address, self.timeframe, &replay);
        Ok(replay)
    }

    /// The replays that count once each: not those of tokens that hold a peg, whose patterns are of a fraction of a percent, or those of the
    /// coin that they are another form of.
    fn independent(&self, snapshot: &Snapshot, replays: Vec<(Address, Arc<ReplayedToken>)>) -> Result<Vec<Arc<ReplayedToken>>> {
        let mut counted = Vec::new();
        for (token, replay) in replays {
            let holds_peg = if let Some(holds) = replay.holds_peg.get() {
                *holds
            } else {
                let coins = Coins::and_namesakes_of(snapshot, &token)?;
                let candles = self.candles(snapshot, &token);
                let holds = peg(&candles.as_candles(), &coins.frames(interval(self.timeframe)).coins()).is_some();
                *replay.holds_peg.get_or_init(|| holds)
            };
            if !holds_peg {
                counted.push(replay);
            }
        }
        Ok(counted)
    }

    /// The replays of every token. Errors: some are still missing; the text has the progress.
    fn all(&self, snapshot: &Snapshot, progress: &Progress) -> Result<Vec<(Address, Arc<ReplayedToken>)>> {
        let tokens = || snapshot.market.tokens.iter().map(|token| token.token_address);
        let _held = snapshot.dataset.require(tokens().map(FetchKey::Chart)).map_err(|_| {
            let detail = "`scope`: the candles of all tokens stay at their source and are not all here: ask for `token`, or say \
                          read = \"bring\" in dataset.toml.";
            Problem::new(Code::InvalidParameter, detail)
        })?;
        let missing: Vec<Address> = tokens().filter(|token| snapshot.track_records.get(*token, self.timeframe).is_none()).collect();
        let model = Model::built_in();
        let mut batch = Vec::new();
        let mut replayed_candles = 0;
        for token in &missing {
            let candles = self.candles(snapshot, token);
            replayed_candles += candles.timestamp.len().min(REPLAYED);
            batch.push((*token, candles));
            if replayed_candles >= BATCH_CANDLES_MAX {
                break;
            }
        }
        parallel::each(&mut batch, progress, |(token, candles)| {
            let progress = progress.quiet();
            let replay = replay_token(candles, model, &mut |done, total| progress.step(done as u64, total as u64))?;
            snapshot.track_records.insert(*token, self.timeframe, &replay);
            Ok(())
        })?;
        let replays: Vec<(Address, Arc<ReplayedToken>)> =
            tokens().filter_map(|token| Some((token, snapshot.track_records.get(token, self.timeframe)?))).collect();
        let total = tokens().count();
        if replays.len() < total {
            let detail =
                format!("The patterns of {} of {total} tokens have been followed so far: the answer comes once all are.", replays.len());
            return Err(Problem::new(Code::Loading, detail));
        }
        Ok(replays)
    }

    fn growth(&self, snapshot: &Snapshot, progress: &Progress) -> Result<Vec<ReturnRecord>> {
        if let Some(known) = snapshot.track_records.growth() {
            return Ok(known.clone());
        }
        let mut counted = Vec::new();
        for token in &snapshot.market.tokens {
            progress.step(0, 0)?;
            let counts = snapshot.dataset.holder_counts_of(&token.token_address);
            if !counts.is_empty() {
                counted.push((counts, self.candles(snapshot, &token.token_address)));
            }
        }
        let held: Vec<RankedToken> =
            counted.iter().map(|(counts, days)| RankedToken { counts: *counts, days: days.as_candles() }).collect();
        Ok(snapshot.track_records.growth_or_init(|| growth_records(&after_growth(&held))).clone())
    }

    /// The candles with plausible prices.
    fn candles(&self, snapshot: &Snapshot, token: &Address) -> CandleVec {
        let candles = snapshot.dataset.candles().of(token);
        let series = candles.series();
        frame(&series, interval(self.timeframe)).map(|frame| CandleVec::sound(&frame.as_candles())).unwrap_or_default()
    }
}

fn replay_token(candles: &CandleVec, model: &Model, step: &mut dyn FnMut(usize, usize) -> Result<()>) -> Result<Arc<ReplayedToken>> {
    let mut stopped = Ok(());
    let mut go_on = |done, total| {
        stopped = step(done, total);
        stopped.is_ok()
    };
    let candles = candles.as_candles();
    let signals = replay(&candles, model, &mut go_on).unwrap_or_default().into_boxed_slice();
    stopped?;
    let trends = after_trends(&candles).into_boxed_slice();
    let as_of = candles.timestamp.last().map(|&start| Time(start));
    Ok(Arc::new(ReplayedToken { trends, as_of, signals, holds_peg: OnceLock::new() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::tests::{self, addresses, parsed};

    /// Three tokens of 2,100 hours each with constant prices: no patterns, and fast.
    fn snapshot() -> Snapshot {
        let hour = |token: u8, hour: u32| {
            let (day, month) = (hour / 24 % 28 + 1, hour / 24 / 28 + 1);
            format!("0x{token},2026-{month:02}-{day:02}T{:02}:00:00Z,5,5,5,5,1h\n", hour % 24)
        };
        let rows: String = (1..=3).flat_map(|token| (0..2_100).map(move |at| hour(token, at))).collect();
        tests::snapshot(&[
            ("tokens", "token_address,symbol,name,chain\n0x1,A,A,eth\n0x2,B,B,eth\n0x3,C,C,eth"),
            ("candles", &format!("token_address,timestamp,open,high,low,close,interval\n{rows}")),
        ])
    }

    fn ask(snapshot: &Snapshot, query: &str, progress: &Progress) -> Result<TrackRecord> {
        parsed::<TrackRecordQuestion>(&[("contractAddress", &addresses("1"))], query)?.answer(snapshot, progress)
    }

    #[test]
    fn all_tokens_are_followed_over_several_requests() {
        let (snapshot, progress) = (snapshot(), Progress::default());
        let own = ask(&snapshot, "timeframe=1h", &progress).expect("an answer");
        assert_eq!((own.as_of.map(|time| time.to_string()), own.patterns), (Some("2026-04-04T11:00:00Z".to_owned()), Vec::new()));
        let gone = Progress::default();
        gone.cancel();
        assert_eq!(ask(&snapshot, "timeframe=1h&scope=all", &gone).map_err(|problem| problem.code), Err(Code::Cancelled));
        // One token is cached; a request replays two more at most.
        assert!(ask(&snapshot, "timeframe=1h&scope=all", &progress).is_ok_and(|answer| answer.scope == "all"));
        let anew = self::snapshot();
        let waits = ask(&anew, "timeframe=1h&scope=all", &progress).expect_err("there is more to do");
        assert_eq!((waits.code, waits.detail.contains("2 of 3 tokens")), (Code::Loading, true), "{}", waits.detail);
        assert!(ask(&anew, "timeframe=1h&scope=all", &progress).is_ok());
    }

    #[test]
    fn one_price_counts_once_however_many_tokens_have_it() {
        let wave = |day: i64| 2_000.0 * (1.0 + 0.1 * (day as f64 / 4.0).sin() + 0.02 * (day % 3) as f64);
        let rows = |token: u8, by: f64| {
            let row = |day: i64| {
                let (open, close) = (by * wave((day - 1).max(0)), by * wave(day));
                let date = Time(day * model::time::DAY_MS + 1_767_225_600_000);
                format!("0x{token},{date},{open},{},{},{close},1d\n", open.max(close), open.min(close))
            };
            (0..200).map(row).collect::<String>()
        };
        let counted = |tokens: &str, rows: &str| {
            let snapshot = tests::snapshot(&[
                ("tokens", &format!("token_address,symbol,name,chain\n{tokens}")),
                ("candles", &format!("token_address,timestamp,open,high,low,close,interval\n{rows}")),
            ]);
            let progress = Progress::default();
            let answer = (0..9).find_map(|_| ask(&snapshot, "scope=all", &progress).ok()).expect("all are followed");
            (answer.patterns, answer.trends)
        };
        let (one, coin, namesake) = (rows(1, 1.0), rows(2, 1.2), rows(3, 1.001));
        let alone = counted("0x1,ETH,A,eth", &one);
        assert!(!alone.0.is_empty(), "it has patterns");
        let forms = counted("0x1,ETH,A,eth\n0x2,stETH,B,eth\n0x3,ETH,C,base", &format!("{one}{coin}{namesake}"));
        assert_eq!(forms, alone);
        let other = counted("0x1,ETH,A,eth\n0x2,UNI,B,eth", &format!("{one}{coin}"));
        assert_eq!(other.0[0].count, 2 * alone.0[0].count, "another token of the same ups and downs is another");
    }

    #[test]
    fn advice_is_weighed_and_tagged_anew_once_all_tokens_are_followed() {
        let (snapshot, progress) = (snapshot(), Progress::default());
        let tags = |snapshot: &Snapshot| [snapshot.etag("/patterns"), snapshot.etag_of_advice("/patterns")];
        let advised = |snapshot: &Snapshot, timeframe| {
            let progress = Progress::default();
            let mut answer = PatternsAnswer::empty();
            TrackRecordQuestion::advise(snapshot, &Address::default(), &mut answer, timeframe, &progress);
            progress.is_partial()
        };
        let before = tags(&snapshot);
        assert!(advised(&snapshot, "1h"), "an answer without the record is not kept");
        while ask(&snapshot, "timeframe=1h&scope=all", &progress).is_err() {}
        let after = tags(&snapshot);
        assert!(before[0] == after[0] && before[1] != after[1]);
        assert_eq!([advised(&snapshot, "1h"), advised(&snapshot, "4h")], [false, true]);
        // The next reading of the same tokens has the record until it is counted anew.
        let mut again = self::snapshot();
        let mut other = tests::snapshot(&[("tokens", "token_address,symbol,name,chain\n0x1,A,A,eth")]);
        for next in [&mut again, &mut other] {
            next.dataset.folder.clone_from(&snapshot.dataset.folder);
            next.inherit(&snapshot);
        }
        let has = |snapshot: &Snapshot| snapshot.track_records.whole("1h").is_some();
        assert_eq!([has(&again), has(&other)], [true, false]);
        let (tag, kept) = (tags(&again), advised(&again, "1h"));
        while ask(&again, "timeframe=1h&scope=all", &progress).is_err() {}
        assert!(kept && !advised(&again, "1h") && tags(&again)[1] != tag[1], "what an earlier record weighed is not kept");
    }
}
