//! Track record of the security verdict: what it was a day, a week and a month after each token's launch, from the rows with a time alone, and
//! the outcomes of the tokens, compared with all tokens of the same age. Free of look-ahead: the verdict uses only rows before its time, an
//! outcome only later ones.

pub mod known_at;
pub mod outcomes;

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use self::{
    known_at::{DatedEvidence, KnownAt},
    outcomes::{Outcome, Outcomes, TokenHistory},
};
use super::{
    code::live::Exchanges,
    corpus::Corpus,
    infer::{ProgressSink, infer, traits},
    score::{verdicts, word_of},
};
use analysis::track_record::errors::{Entries, Evidence, Verdict, day_of, set_verdicts};
use model::{
    address::Address,
    data::Data,
    error::Result,
    format::plural,
    time::{DAY_MS, Time},
};

/// Version of the rules. It increases with each change, so that no record of other rules is used.
pub const COUNTED_BY: u32 = 1;

/// Days after the launch at which a token gets a verdict.
pub const AGES: [i64; 3] = [1, 7, 30];
/// Days after that in which outcomes are observed.
pub const HORIZONS: [i64; 2] = [30, 90];

/// Largest share of the tokens of an age with one verdict that is compared with all of them.
const SHARE_MAX: f64 = 0.9;
/// Interval at which the contracts to compare with are collected again.
const CORPUS_MS: i64 = 28 * DAY_MS;

/// What no verdict of the track record uses, and why.
pub const EXCLUDED: &[(&str, &str)] = &[
    (
        "KNOWN_SCAM",
        "a scam report counts from its `reported_at`; reports without it are excluded",
    ),
    (
        "SIMILAR_TO_SCAM",
        "compared with scams reported up to four weeks before the verdict; reports without `reported_at` are excluded",
    ),
    ("UNVERIFIED", "the source code has no time of publication"),
    ("IMPERSONATES", "the liquidity of pools has no time"),
    ("labels", "the rows have no time"),
    (
        "holders",
        "the balances have no time, so the checks of the distribution and of the LP tokens are excluded",
    ),
    ("locks", "the rows have no time of locking"),
    ("dexes", "the rows have no time"),
    ("disputes", "the rows have no time"),
    (
        "contracts.storage",
        "the state has no time; the code is executed in the state after its deployment",
    ),
    (
        "contracts.owner",
        "the owner has no time; the creator counts instead",
    ),
    ("on-chain state", "a node returns the current state"),
];

/// A token's verdict at one age, and its outcomes.
#[derive(Debug, Clone, PartialEq)]
pub struct PastVerdict {
    pub token: Address,
    /// Its creator if known.
    pub creator: Option<Address>,
    /// In days.
    pub age: i64,
    pub time: Time,
    /// The first word of the recommendation; empty until the verdict is computed.
    pub recommendation: &'static str,
    /// Within each of `HORIZONS`.
    pub outcomes: [Outcomes; 2],
}

/// The verdicts to give on the token at index `place` of `tokens()`: at each age from which an outcome is known.
pub fn ages(data: &dyn Data, evidence: &DatedEvidence, place: usize) -> Vec<PastVerdict> {
    let Some(launch) = evidence.launch(place) else {
        return Vec::new();
    };
    let token = evidence.address(place);
    let last = AGES[AGES.len() - 1] + HORIZONS[HORIZONS.len() - 1];
    let history = TokenHistory::read(data, evidence, place, after(launch, last));
    let at_age = |age: i64| {
        let time = after(launch, age);
        let outcomes = HORIZONS.map(|days| history.after(time, days));
        let is_known = outcomes.iter().flatten().any(Option::is_some);
        is_known.then(|| PastVerdict {
            token,
            creator: data.contracts().first(&token).and_then(|row| row.creator),
            age,
            time,
            recommendation: "",
            outcomes,
        })
    };
    AGES.into_iter().filter_map(at_age).collect()
}

fn after(time: Time, days: i64) -> Time {
    Time(time.0.saturating_add(days.saturating_mul(DAY_MS)))
}

/// Gives verdicts at past times. The scams to compare code with are those reported up to four weeks before.
#[derive(Debug)]
pub struct Judge<'a> {
    data: &'a dyn Data,
    evidence: &'a DatedEvidence,
    exchanges: &'a Exchanges,
    corpus: Corpus,
    /// Time of the corpus.
    compared: Option<Time>,
}

impl<'a> Judge<'a> {
    pub fn new(data: &'a dyn Data, evidence: &'a DatedEvidence, exchanges: &'a Exchanges) -> Self {
        Self {
            data,
            evidence,
            exchanges,
            corpus: Corpus::default(),
            compared: None,
        }
    }

    /// Returns the first word of the recommendation. Fastest in the order of the times. Errors: canceled.
    pub fn verdict(
        &mut self,
        token: &Address,
        time: Time,
        watch: &dyn ProgressSink,
    ) -> Result<&'static str> {
        let Some(place) = self.data.token_position(token) else {
            return Ok(word_of(""));
        };
        let compared = Time(time.0.div_euclid(CORPUS_MS) * CORPUS_MS);
        if self.evidence.has_dated_scams && self.compared != Some(compared) {
            let then = KnownAt::new(self.data, self.evidence, place, compared);
            self.corpus = Corpus::new(&then, &|_, _| watch.step(0, 0))?;
            self.compared = Some(compared);
        }
        let known = KnownAt::new(self.data, self.evidence, place, time);
        let (answer, _) = infer(
            &known,
            known.token(),
            (&self.corpus, self.exchanges),
            (None, &[]),
            false,
            &|_, code| traits(code, &|| watch.cancelled()),
            watch,
        )?;
        Ok(word_of(&answer.recommendation))
    }
}

/// Track record of one verdict at one age.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerdictRecord {
    /// Days from the launch to the verdict.
    pub day: i64,
    /// The first words of the recommendation: `AVOID`, `HIGH RISK`, `CAUTION`, `LOW RISK`, `NO MAJOR RISK FOUND`, `NOT ENOUGH DATA`.
    pub recommendation: &'static str,
    /// Number of tokens with this verdict.
    pub tokens: u64,
    /// Number of tokens of this age with any verdict.
    pub of: u64,
    pub outcomes: Vec<OutcomeRecord>,
}

/// How often an outcome followed a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutcomeRecord {
    pub outcome: Outcome,
    /// Days after the verdict within which it occurs.
    pub within_days: i64,
    /// Number of tokens with this verdict of which the outcome is known. The data must reach to the end of these days; a token without later
    /// rows counts as not traded.
    pub count: u64,
    /// Fraction of them with the outcome; null without any.
    pub share: Option<f64>,
    /// The same fraction of all tokens of this age, with any verdict.
    pub base_rate: Option<f64>,
    /// Comparison of the two. `days` are the UTC days of the verdicts, `tokens` the creators: tokens of one creator are one cluster. Here
    /// `beats_base_rate` means that the outcome was significantly more frequent than among all tokens, `below_base_rate` less frequent.
    #[serde(flatten)]
    pub evidence: Evidence,
}

/// The track record of each verdict at each age, worst verdict first. Differences are tested over all of them together.
pub fn records(judged: &[PastVerdict]) -> Vec<VerdictRecord> {
    // Tokens of one creator are no independent cases; a token without a known creator is its own.
    let mut clusters: HashMap<Address, usize> = HashMap::new();
    for case in judged {
        let count = clusters.len();
        clusters
            .entry(case.creator.unwrap_or(case.token))
            .or_insert(count);
    }
    let mut records = Vec::new();
    for age in AGES {
        let all: Vec<&PastVerdict> = judged.iter().filter(|case| case.age == age).collect();
        for word in verdicts() {
            let of_word = all.iter().filter(|case| case.recommendation == word);
            let cases: Vec<&PastVerdict> = of_word.copied().collect();
            if cases.is_empty() {
                continue;
            }
            let outcome = |(horizon, outcome): (usize, usize)| {
                let known = |case: &&PastVerdict| {
                    Some((
                        day_of(case.time),
                        clusters[&case.creator.unwrap_or(case.token)],
                        case.outcomes[horizon][outcome]?,
                    ))
                };
                let of = |cases: &[&PastVerdict]| -> Vec<(i32, usize, bool)> {
                    cases.iter().filter_map(known).collect()
                };
                let (own, every) = (of(&cases), of(&all));
                OutcomeRecord {
                    outcome: Outcome::ALL[outcome],
                    within_days: HORIZONS[horizon],
                    count: own.len() as u64,
                    share: share(&own),
                    base_rate: share(&every),
                    evidence: evidence(&own, &every, HORIZONS[horizon]),
                }
            };
            let places = (0..Outcome::ALL.len()).flat_map(|it| [(0, it), (1, it)]);
            records.push(VerdictRecord {
                day: age,
                recommendation: word,
                tokens: cases.len() as u64,
                of: all.len() as u64,
                outcomes: places.map(outcome).collect(),
            });
        }
    }
    let outcomes = records.iter_mut().flat_map(|record| &mut record.outcomes);
    set_verdicts(outcomes.map(|outcome| &mut outcome.evidence));
    records
}

/// `of 41 tokens called AVOID 7 days after launch, 83% lost half of their price within 30 days; of all tokens, 22%`: of the age at which most
/// tokens had this verdict; `None` without any.
pub fn sentence(records: &[VerdictRecord], recommendation: &str) -> Option<String> {
    let word = word_of(recommendation);
    let of_word = records.iter().filter(|it| it.recommendation == word);
    let fell = |record: &VerdictRecord| {
        let fell = |it: &&OutcomeRecord| {
            it.outcome == Outcome::PriceDown50 && it.within_days == HORIZONS[0]
        };
        Some((record.day, record.outcomes.iter().find(fell)?.clone()))
    };
    let (day, fell) = of_word
        .filter_map(fell)
        .max_by_key(|(day, fell)| (fell.count, -day))?;
    let (share, base_rate) = fell.share.zip(fell.base_rate)?;
    let sure = match fell.evidence.verdict {
        Some(Verdict::BeatsBaseRate | Verdict::BelowBaseRate) => "",
        Some(Verdict::NoEdge) => " (no significant difference)",
        Some(Verdict::TooFew) => " (too few to compare)",
        None => " (nearly all tokens had this verdict)",
    };
    Some(format!(
        "of {} called {word} {} after launch, {:.0}% lost half of their price within {} days; of all tokens, {:.0}%{sure}",
        plural(fell.count, "token", "tokens"),
        plural(day.unsigned_abs(), "day", "days"),
        100.0 * share,
        HORIZONS[0],
        100.0 * base_rate,
    ))
}

fn share(cases: &[(i32, usize, bool)]) -> Option<f64> {
    let hits = cases.iter().filter(|(.., occurred)| *occurred).count();
    (!cases.is_empty()).then(|| hits as f64 / cases.len() as f64)
}

fn evidence(own: &[(i32, usize, bool)], every: &[(i32, usize, bool)], days: i64) -> Evidence {
    let Some(base_rate) = share(every) else {
        return Evidence::default();
    };
    let mut entries = Entries::default();
    for (day, cluster, occurred) in own {
        entries.add(*day, *cluster, *occurred, base_rate, days as f64);
    }
    // The base rate of each case is the mean of all outcomes.
    let weight = own.len() as f64 / every.len() as f64;
    for (day, _, occurred) in every {
        entries.add_baseline(*day, weight * (f64::from(u8::from(*occurred)) - base_rate));
    }
    let mut clusters: Vec<usize> = every.iter().map(|(_, cluster, _)| *cluster).collect();
    clusters.sort_unstable();
    clusters.dedup();
    let evidence = entries.evidence(clusters.len());
    // A verdict that nearly all tokens have would be compared with itself.
    if own.len() as f64 <= SHARE_MAX * every.len() as f64 {
        return evidence;
    }
    Evidence {
        difference: None,
        difference_low: None,
        difference_high: None,
        p_value: None,
        ..evidence
    }
}

#[cfg(test)]
mod tests;
