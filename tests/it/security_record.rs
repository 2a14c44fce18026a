//! The track record of the security verdict on recorded pools: what is known at a time is what a dataset of that time has, and what the
//! verdicts are worth.

use std::path::Path;

use load::Dataset;
use model::{error::Result, time::Time, token::Token};
use security::{
    corpus::Corpus,
    infer::{ProgressSink, infer, traits},
    score::word_of,
    track_record::{Judge, PastVerdict, ages, known_at::DatedEvidence, outcomes::Outcome, records},
};

use crate::{
    recorded_pools::{RecordedPools, recorded_pools},
    shared::shared,
};

/// Every which verdict is compared with that of a dataset cut at its time.
const EVERY: usize = 12;

struct Nobody;

impl ProgressSink for Nobody {
    fn step(&self, _: u64, _: u64) -> Result<()> {
        Ok(())
    }

    fn cancelled(&self) -> bool {
        false
    }
}

/// The verdict from a dataset as it was known at a time.
fn verdict_of(cut: &Dataset, token: &Token) -> &'static str {
    let (corpus, exchanges) = (Corpus::default(), query::queries::exchanges::built_in());
    let traits_of = |_: &_, code: &[u8]| traits(code, &|| false);
    let (answer, _) = infer(
        cut,
        token,
        (&corpus, &exchanges),
        (None, &[]),
        false,
        &traits_of,
        &Nobody,
    )
    .unwrap();
    word_of(&answer.recommendation)
}

#[test]
fn verdicts_on_recorded_pools_use_nothing_later_and_are_worth_something() {
    let Some(folder) = shared("data/security") else {
        return;
    };
    let RecordedPools {
        dataset,
        cut,
        trapdoors,
    } = recorded_pools(Path::new(&folder));
    let mut evidence = DatedEvidence::new(&dataset);
    for (token, end) in &cut {
        evidence.end_at(*token, *end);
    }
    let exchanges = query::queries::exchanges::built_in();
    let mut judge = Judge::new(&dataset, &evidence, &exchanges);
    let places = 0..dataset.tokens().len();
    let mut judged: Vec<PastVerdict> = places
        .flat_map(|place| ages(&dataset, &evidence, place))
        .collect();
    for (nth, case) in judged.iter_mut().enumerate() {
        case.recommendation = judge.verdict(&case.token, case.time, &Nobody).unwrap();
        if nth % EVERY == 0 {
            // A dataset as of a time includes its whole second.
            let then = dataset.known_at(Time(case.time.0 - 1_000)).unwrap();
            let token = then.token(&case.token).unwrap();
            assert_eq!(verdict_of(&then, token), case.recommendation, "{case:?}");
        }
    }
    let avoided: Vec<&PastVerdict> = judged
        .iter()
        .filter(|case| case.recommendation == "AVOID")
        .collect();
    let right = avoided
        .iter()
        .filter(|case| trapdoors.contains(&case.token))
        .count();
    assert!(avoided.len() >= 20, "{} of {}", avoided.len(), judged.len());
    assert!(
        10 * right >= 9 * avoided.len(),
        "{right} of {}",
        avoided.len()
    );
    let records = records(&judged);
    let high = records
        .iter()
        .find(|record| (record.day, record.recommendation) == (1, "HIGH RISK"))
        .unwrap();
    let pulled = high
        .outcomes
        .iter()
        .find(|outcome| outcome.outcome == Outcome::LiquidityPulled && outcome.within_days == 30)
        .unwrap();
    assert!(
        pulled.count >= 10 && pulled.share > pulled.base_rate,
        "{pulled:?}"
    );
}
