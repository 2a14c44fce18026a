//! The query behind GET /security/track-record, and the counting of its record in the background: which tokens get a verdict, and what the
//! record depends on. `security::track_record` judges them.

use std::{fmt::Write as _, sync::Arc};

use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::{
    Dated, Query,
    caches::{Counted, RecordName, SecurityRecord, Step},
    request::{Request as _, request},
    snapshot::Snapshot,
    view::View,
};
use load::Dataset;
use model::{
    address::Address,
    data::{AddressRows, Data as _},
    error::Result,
    progress::Progress,
    time::Time,
};
use security::{
    infer::ProgressSink,
    score::word_of,
    track_record::{
        AGES, COUNTED_BY, EXCLUDED, Judge, PastVerdict, VerdictRecord, ages,
        known_at::{DatedEvidence, KnownAt},
        records,
    },
};

/// Maximum number of tokens with verdicts, at each age: each may take seconds.
const TOKENS_MAX: usize = 1_000;

request! {
    SecurityRecordQuery at "/security/track-record" {
    }
}

/// What the security verdict was 1, 7 and 30 days after each token's launch, and the outcomes within the next 30 and 90 days, compared
/// with all tokens of the same age. The launch is the deployment or the first row. A verdict uses only rows before its time, and no table
/// without times. Tokens whose rows may begin after the launch are excluded.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecurityTrackRecord {
    /// Newest time in the data up to which outcomes are known; null without any.
    pub as_of: Option<Time>,
    /// Whether the computation is finished. It runs in the background; `records` is empty until then.
    pub complete: bool,
    /// Number of verdicts computed so far, of all tokens and ages.
    pub done: u64,
    /// Number of verdicts to compute.
    pub total: u64,
    /// Ages at which tokens get a verdict, in days since the launch.
    pub days: [i64; 3],
    /// Number of tokens with a verdict: at most 1,000, evenly spaced in the order of their addresses.
    pub tokens: u64,
    /// Number of these without a deployment time: their first row counts as the launch, and may be a later listing.
    pub launched_by_first_row: u64,
    pub left_out: TokensLeftOut,
    /// For each age, each verdict that occurred, the worst first.
    pub records: Arc<[VerdictRecord]>,
    /// What no verdict of the record uses, although current verdicts do.
    pub excluded: Vec<ExcludedEvidence>,
}

/// Numbers of tokens without a verdict, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokensLeftOut {
    /// The token has no deployment time, and its rows begin with the data or on the same day as many others.
    pub launch_unknown: u64,
    /// No outcome is known: the token is too young, or its rows do not reach back to the launch.
    pub no_outcome: u64,
    /// Its transfers are queried in place, so that the first are missing.
    pub in_place: u64,
    /// Above the limit of 1,000 tokens.
    pub above_limit: u64,
}

/// A check, a table or a column that takes no part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExcludedEvidence {
    pub what: &'static str,
    pub why: &'static str,
}

impl Query for SecurityRecordQuery {
    type Answer = SecurityTrackRecord;
    const NAME: &'static str = "security_track_record";
    const SUMMARY: &'static str = "Get how often tokens fell, were pulled or died after each security verdict, compared with all tokens of \
        their age. It is computed in the background; `complete` is true when it is ready.";
    const NEEDS: &'static [&'static str] = &["candles", "transfers"];
    const DATED: Dated = Dated::Itself;

    fn as_of(&self, _: &Snapshot, answer: &SecurityTrackRecord) -> Option<Time> {
        answer.as_of
    }

    fn answer(&self, view: &View<'_>, progress: &Progress) -> Result<SecurityTrackRecord> {
        let counted = view.track_records.want_security();
        let record = counted.record.filter(|_| !counted.inherited);
        if record.is_none() {
            if let Some(problem) = counted.problem {
                return Err(problem);
            }
            progress.note_partial();
        }
        let (done, total) = record
            .as_ref()
            .map_or(counted.progress, |it| (it.verdicts, it.verdicts));
        let [launch_unknown, no_outcome, in_place, above_limit] =
            record.as_ref().map_or([0; 4], |record| record.left_out);
        let excluded = EXCLUDED.iter();
        Ok(SecurityTrackRecord {
            as_of: record.as_ref().and_then(|record| record.as_of),
            complete: record.is_some(),
            done,
            total,
            days: AGES,
            tokens: record.as_ref().map_or(0, |record| record.tokens),
            launched_by_first_row: record.as_ref().map_or(0, |record| record.by_first_row),
            left_out: TokensLeftOut {
                launch_unknown,
                no_outcome,
                in_place,
                above_limit,
            },
            records: record.map_or_else(|| Arc::from([]), |record| Arc::clone(&record.records)),
            excluded: excluded
                .map(|(what, why)| ExcludedEvidence { what, why })
                .collect(),
        })
    }

    fn etag(&self, snapshot: &Snapshot) -> String {
        snapshot.etag_of_verdicts(&self.target())
    }
}

/// The record of all verdicts, as it is counted in the background.
pub struct VerdictRecords;

/// The verdicts to give, in the order of their times, each with the hash of its inputs.
pub struct VerdictInputs {
    evidence: DatedEvidence,
    judged: Vec<(PastVerdict, [u8; 32])>,
    tokens: u64,
    by_first_row: u64,
    left_out: [u64; 4],
}

impl Counted for VerdictRecords {
    type Record = SecurityRecord;
    type Inputs = VerdictInputs;
    type Kept = Vec<String>;

    fn name(&self) -> RecordName {
        RecordName::Security
    }

    fn inputs(&self, snapshot: &Snapshot, step: Step<'_>) -> Result<(VerdictInputs, [u8; 32])> {
        snapshot.require(SecurityRecordQuery::NEEDS)?;
        let dataset = &snapshot.dataset;
        let evidence = DatedEvidence::new(dataset);
        let rules = rules(snapshot, &evidence);
        let mut left_out = [0; 4];
        let mut launched = Vec::new();
        for (place, token) in dataset.tokens().iter().enumerate() {
            let is_part = dataset.transfers_left_out(&token.row.token_address) > 0;
            match evidence.launch(place) {
                None => left_out[0] += 1,
                Some(_) if is_part => left_out[2] += 1,
                Some(_) => launched.push(place),
            }
        }
        let every = launched.len().div_ceil(TOKENS_MAX).max(1);
        let sample: Vec<usize> = launched.iter().step_by(every).copied().collect();
        left_out[3] = (launched.len() - sample.len()) as u64;
        let (mut judged, mut tokens, mut by_first_row) = (Vec::new(), 0, 0);
        for place in sample {
            step(0, 0)?;
            let of_token = ages(dataset, &evidence, place);
            if of_token.is_empty() {
                left_out[1] += 1;
            } else {
                tokens += 1;
                let token = &of_token[0].token;
                by_first_row += u64::from(dataset.created_at(token).is_none());
            }
            for case in of_token {
                let inputs = inputs_of(dataset, &evidence, (place, case.time), rules);
                judged.push((case, inputs));
            }
        }
        judged.sort_by_key(|(case, _)| (case.time, case.token));
        let mut hash = Sha256::new();
        for (case, inputs) in &judged {
            hash.update(inputs);
            hash.update(format!("{case:?}"));
        }
        let inputs = VerdictInputs {
            evidence,
            judged,
            tokens,
            by_first_row,
            left_out,
        };
        Ok((inputs, hash.finalize().into()))
    }

    fn count(
        &self,
        snapshot: &Snapshot,
        (inputs, digest): (VerdictInputs, [u8; 32]),
        known: Option<Vec<String>>,
        step: Step<'_>,
    ) -> Result<(SecurityRecord, Vec<String>)> {
        let (dataset, cache) = (&snapshot.dataset, &snapshot.track_records);
        let mut judge = Judge::new(dataset, &inputs.evidence, &snapshot.settings.exchanges);
        let total = inputs.judged.len() as u64;
        let mut judged = Vec::new();
        for (done, (mut case, inputs)) in inputs.judged.into_iter().enumerate() {
            let watch = Watched(&|| step(done as u64, total));
            watch.step(0, 0)?;
            let stored = known.as_ref().and_then(|words| words.get(done));
            let stored = stored.map(|word| word_of(word));
            case.recommendation = match stored.or_else(|| cache.verdict(&inputs)) {
                Some(word) => word,
                None => judge.verdict(&case.token, case.time, &watch)?,
            };
            // A canceled execution is incomplete.
            watch.step(0, 0)?;
            cache.keep_verdict(inputs, case.recommendation);
            judged.push(case);
        }
        let words = judged.iter().map(|case| case.recommendation.to_owned());
        let words = words.collect();
        let record = SecurityRecord {
            digest,
            verdicts: total,
            tokens: inputs.tokens,
            by_first_row: inputs.by_first_row,
            left_out: inputs.left_out,
            as_of: inputs.evidence.end(),
            records: records(&judged).into(),
        };
        Ok((record, words))
    }
}

struct Watched<'a>(&'a dyn Fn() -> Result<()>);

impl ProgressSink for Watched<'_> {
    fn step(&self, _: u64, _: u64) -> Result<()> {
        (self.0)()
    }

    fn cancelled(&self) -> bool {
        (self.0)().is_err()
    }
}

/// Feeds text into a hash.
struct Hashed(Sha256);

impl std::fmt::Write for Hashed {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.update(text);
        Ok(())
    }
}

/// Hash of what every verdict depends on: the rules, and tables that are not read by token.
fn rules(snapshot: &Snapshot, evidence: &DatedEvidence) -> [u8; 32] {
    let mut hash = Sha256::new();
    let version = env!("CARGO_PKG_VERSION");
    hash.update(format!(
        "verdicts {version} {COUNTED_BY} {:?}",
        snapshot.settings.exchanges
    ));
    let with_scams: &[&str] = if evidence.has_dated_scams {
        &["scams", "contracts"]
    } else {
        &[]
    };
    for table in &snapshot.dataset.tables {
        let name = table.schema.name;
        if table.loaded() && (name == "funding" || with_scams.contains(&name)) {
            hash.update(table.rows_hash());
        }
    }
    hash.finalize().into()
}

/// Hash of the rows that a verdict depends on.
fn inputs_of(
    dataset: &Dataset,
    evidence: &DatedEvidence,
    (place, time): (usize, Time),
    rules: [u8; 32],
) -> [u8; 32] {
    let known = KnownAt::new(dataset, evidence, place, time);
    let token = known.token().row.token_address;
    let mut hash = Hashed(Sha256::new());
    hash.0.update(rules);
    let own = (
        time,
        known.token(),
        known.latest_close(&token),
        known.holder_counts_of(&token).last(),
    );
    add(&mut hash, own);
    add_rows(&mut hash, known.contracts(), &token);
    add_rows(&mut hash, known.transfers(), &token);
    if let Some(creator) = known.contracts().first(&token).and_then(|row| row.creator) {
        add(&mut hash, known.contracts_by(&creator));
    }
    for pool in known.pools_of(&token) {
        add(&mut hash, pool);
        add_rows(&mut hash, known.pool_events(), &pool.address);
    }
    hash.0.finalize().into()
}

fn add(hash: &mut Hashed, value: impl std::fmt::Debug) {
    write!(hash, "{value:?}").ok();
}

fn add_rows<T: std::fmt::Debug>(hash: &mut Hashed, rows: &dyn AddressRows<T>, address: &Address) {
    for row in rows.chunks(address).flatten() {
        add(hash, row);
    }
}

#[cfg(test)]
mod tests;
