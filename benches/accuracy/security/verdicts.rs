//! Outcomes of tokens after past verdicts: on the recorded pools, and on the real data.

#[path = "../../../tests/generator/recorded_pools.rs"]
mod recorded_pools;

use std::path::Path;

use analysis::track_record::errors::interval_text;
use load::{Dataset, loader::load};
use model::{error::Result, progress::NoProgress};
use security::{
    infer::ProgressSink,
    track_record::{Judge, PastVerdict, ages, known_at::DatedEvidence, records},
};

const LABELLED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data/security");

struct Nobody;

impl ProgressSink for Nobody {
    fn step(&self, _: u64, _: u64) -> Result<()> {
        Ok(())
    }

    fn cancelled(&self) -> bool {
        false
    }
}

/// Prints the track record of the verdicts.
pub(crate) fn report() {
    println!("\nTrack record of the security verdict\n");
    let folder = Path::new(LABELLED);
    if folder.is_dir() {
        let pools = recorded_pools::recorded_pools(folder);
        let mut evidence = DatedEvidence::new(&pools.dataset);
        for (token, end) in &pools.cut {
            evidence.end_at(*token, *end);
        }
        let judged = print("recorded pools", &pools.dataset, &evidence);
        let avoided: Vec<&PastVerdict> = judged
            .iter()
            .filter(|case| case.recommendation == "AVOID")
            .collect();
        let trapped = avoided
            .iter()
            .filter(|case| pools.trapdoors.contains(&case.token));
        println!(
            "labeled trapdoors among the AVOID: {} of {}",
            trapped.count(),
            avoided.len()
        );
    } else {
        println!("The labelled sets are not there: {LABELLED}");
    }
    let real = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real");
    match load(&real, &NoProgress) {
        Ok(dataset) => {
            print("recorded data", &dataset, &DatedEvidence::new(&dataset));
        }
        Err(why) => println!("no dataset in {}: {why}", real.display()),
    }
}

fn print(name: &str, dataset: &Dataset, evidence: &DatedEvidence) -> Vec<PastVerdict> {
    let exchanges = query::queries::exchanges::built_in();
    let mut judge = Judge::new(dataset, evidence, &exchanges);
    let places = 0..dataset.tokens().len();
    let launched = places.clone().filter(|it| evidence.launch(*it).is_some());
    println!(
        "{name}: {} tokens, {} with a known launch, data to {:?}",
        places.len(),
        launched.count(),
        evidence.end().map(|end| end.to_string())
    );
    let mut judged: Vec<PastVerdict> = places
        .flat_map(|place| ages(dataset, evidence, place))
        .collect();
    judged.sort_by_key(|case| case.time);
    for case in &mut judged {
        case.recommendation = judge
            .verdict(&case.token, case.time, &Nobody)
            .expect("not canceled");
    }
    println!(
        "| day | verdict | tokens | outcome | within | known | share | base rate | points | interval | compared |\n|---:|---|---:|---|---:|---:|---:|---:|---:|---|---|"
    );
    for record in records(&judged) {
        for outcome in record.outcomes.iter().filter(|it| it.count > 0) {
            let percent = |share: Option<f64>| 100.0 * share.unwrap_or(f64::NAN);
            let evidence = &outcome.evidence;
            println!(
                "| {} | {} | {} of {} | {} | {} | {} | {:.1} | {:.1} | {:+.1} | {} | {} |",
                record.day,
                record.recommendation,
                record.tokens,
                record.of,
                outcome.outcome.word(),
                outcome.within_days,
                outcome.count,
                percent(outcome.share),
                percent(outcome.base_rate),
                evidence.difference.unwrap_or(f64::NAN),
                interval_text(evidence.difference_low, evidence.difference_high)
                    .unwrap_or_default(),
                evidence.verdict.map_or("", |verdict| verdict.word()),
            );
        }
    }
    judged
}
