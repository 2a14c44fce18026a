//! Computes the track record of all tokens. Call `digest` first: the same candles have the same pattern records, which may be cached.

use std::{collections::HashSet, sync::Arc};

use sha2::{Digest as _, Sha256};

use super::{candles_in, replayed, set_table_verdicts};
use crate::queries::{
    caches::{Counted, RecordName, ReplayedToken, Step, WholeRecord},
    coins::Coins,
    snapshot::Snapshot,
    timeframes::interval,
};
use analysis::{
    market::TokenSummary,
    patterns::PatternRecord,
    peg::peg,
    timeframes::CandleVec,
    track_record::{
        COUNTED_BY, Replay, records,
        returns::{
            RankedToken, ReturnRecord, SignalReturn, after_growth, after_trends, growth_records,
            trend_records,
        },
    },
};
use model::{
    address::Address,
    candles::Interval,
    error::{Code, Problem, Result},
    time::Time,
};

/// Most tokens that are followed, of the largest market cap: each takes seconds.
const TOKENS_MAX: usize = 1_000;

/// The record of the patterns of all tokens on a timeframe, as it is counted in the background.
pub struct PatternRecords(pub &'static str);

impl Counted for PatternRecords {
    type Record = WholeRecord;
    type Inputs = Vec<Address>;
    type Kept = Vec<PatternRecord>;

    fn name(&self) -> RecordName {
        RecordName::Patterns(self.0)
    }

    fn inputs(&self, snapshot: &Snapshot, step: Step<'_>) -> Result<(Vec<Address>, [u8; 32])> {
        digest(snapshot, self.0, step)
    }

    fn count(
        &self,
        snapshot: &Snapshot,
        (tokens, digest): (Vec<Address>, [u8; 32]),
        known: Option<Vec<PatternRecord>>,
        step: Step<'_>,
    ) -> Result<(WholeRecord, Vec<PatternRecord>)> {
        let record = count(snapshot, self.0, (&tokens, digest), known, step)?;
        let kept = record.patterns.to_vec();
        Ok((record, kept))
    }
}

/// Whether the metric of a token changes with the track record of all tokens.
pub fn is_weighed(field: &str) -> bool {
    matches!(field, "advice" | "recommendedAction")
}

/// The digest of a token's candles.
pub(super) fn digest_of(candles: &CandleVec) -> [u8; 32] {
    let mut hash = Sha256::new();
    candles
        .timestamp
        .iter()
        .for_each(|time| hash.update(time.to_le_bytes()));
    for column in [
        &candles.open,
        &candles.high,
        &candles.low,
        &candles.close,
        &candles.volume,
    ] {
        for value in column {
            hash.update(value.to_bits().to_le_bytes());
        }
    }
    hash.finalize().into()
}

/// The tokens that are looked at, of the largest market cap.
fn candidates(snapshot: &Snapshot) -> Vec<&TokenSummary> {
    let mut all: Vec<&TokenSummary> = snapshot.market.tokens.iter().collect();
    all.sort_by(|a, b| {
        b.market_cap
            .unwrap_or_default()
            .total_cmp(&a.market_cap.unwrap_or_default())
    });
    all.truncate(TOKENS_MAX);
    all
}

/// Errors: the candles of all tokens are not here.
pub(super) fn check_here(snapshot: &Snapshot, timeframe: &str) -> Result<()> {
    let is_here = interval(timeframe) >= Interval::DAY;
    if is_here || snapshot.dataset.engine_rows("candles").is_none() {
        return Ok(());
    }
    let detail = format!(
        "The track record of all tokens cannot be computed from `{timeframe}` candles: they are queried in place at the source. Use \
         `timeframe=1d`, request one token's record, or set read = \"bring\" in dataset.toml."
    );
    Err(Problem::new(Code::InvalidParameter, detail))
}

/// The token's candles that are here.
fn candles(snapshot: &Snapshot, token: &Address, timeframe: &str) -> CandleVec {
    candles_in(&snapshot.dataset.candles().loaded(token), timeframe)
}

/// The tokens to evaluate, without duplicates, and the digest of their candles and of the rules. Errors: their candles are queried in
/// place; canceled.
pub fn digest(
    snapshot: &Snapshot,
    timeframe: &'static str,
    step: Step<'_>,
) -> Result<(Vec<Address>, [u8; 32])> {
    check_here(snapshot, timeframe)?;
    let all = candidates(snapshot);
    let mut hash = Sha256::new();
    hash.update(format!(
        "{} {COUNTED_BY} {timeframe}",
        env!("CARGO_PKG_VERSION")
    ));
    let mut tokens = Vec::new();
    for token in all.iter().map(|token| token.token_address) {
        step(0, 0)?;
        let candles = candles(snapshot, &token, timeframe);
        // Patterns of a pegged token are of a fraction of a percent, or those of the coin that it is another form of.
        let coins = Coins::here(snapshot, &token, interval(timeframe));
        if !candles.close.is_empty()
            && peg(&candles.as_candles(), &coins.frames().coins()).is_none()
        {
            hash.update(token.0);
            hash.update(digest_of(&candles));
            tokens.push(token);
        }
    }
    Ok((tokens, hash.finalize().into()))
}

/// Computes the track record of these tokens, or uses the pattern records that are `known`. Reports each evaluated token. Errors: canceled.
pub fn count(
    snapshot: &Snapshot,
    timeframe: &'static str,
    (tokens, digest): (&[Address], [u8; 32]),
    known: Option<Vec<PatternRecord>>,
    step: Step<'_>,
) -> Result<WholeRecord> {
    let (mut replays, mut trends): (Vec<Arc<ReplayedToken>>, Vec<Box<[SignalReturn]>>) =
        Default::default();
    let (total, mut as_of) = (tokens.len() as u64, None);
    for (done, token) in (0..).zip(tokens) {
        step(done, total)?;
        let candles = candles(snapshot, token, timeframe);
        as_of = as_of.max(candles.timestamp.last().map(|&start| Time(start)));
        trends.push(if known.is_some() {
            after_trends(&candles.as_candles()).into()
        } else {
            let mut go_on = |_, _| step(done, total);
            let replay = replayed(snapshot, *token, timeframe, &candles, &mut go_on)?;
            let trends = replay.trends.clone();
            replays.push(replay);
            trends
        });
    }
    step(total, total)?;
    let replays: Vec<&Replay> = replays.iter().map(|replay| &replay.patterns).collect();
    let trends: Vec<&[SignalReturn]> = trends.iter().map(AsRef::as_ref).collect();
    let mut patterns = known.unwrap_or_else(|| records(&replays));
    let mut trends = trend_records(&trends);
    let mut growth = if interval(timeframe) == Interval::DAY {
        growth(snapshot, tokens, step)?
    } else {
        Vec::new()
    };
    set_table_verdicts(&mut patterns, &mut trends, &mut growth);
    Ok(WholeRecord {
        digest,
        tokens: total,
        as_of,
        patterns: patterns.into(),
        trends,
        growth,
    })
}

/// Of these tokens: a coin on three chains is one coin, and a pegged token has no returns of its own. Holder counts of the others only
/// determine the latest day.
fn growth(snapshot: &Snapshot, tokens: &[Address], step: Step<'_>) -> Result<Vec<ReturnRecord>> {
    let tokens: HashSet<&Address> = tokens.iter().collect();
    let mut counted = Vec::new();
    for token in snapshot
        .market
        .tokens
        .iter()
        .map(|token| &token.token_address)
    {
        step(0, 0)?;
        let counts = snapshot.dataset.holder_counts_of(token);
        if !counts.is_empty() {
            let days = if tokens.contains(token) {
                candles(snapshot, token, "1d")
            } else {
                CandleVec::default()
            };
            counted.push((counts, days));
        }
    }
    let held: Vec<RankedToken> = counted
        .iter()
        .map(|(counts, days)| RankedToken {
            counts: *counts,
            days: days.as_candles(),
        })
        .collect();
    let ranks = after_growth(&held);
    let ranks: Vec<&[SignalReturn]> = ranks
        .iter()
        .filter(|ranks| !ranks.is_empty())
        .map(Vec::as_slice)
        .collect();
    Ok(growth_records(&ranks))
}
