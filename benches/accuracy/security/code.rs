//! What executing the contract finds, against the labels: powers, scams, listed tokens, constructors, cost; and what
//! likeness to known scams adds, each cluster of codes compared with the other clusters' only.
//! Benign rows are older than scam rows: compiler age alone gives an AUC of 0.62 to 0.67.

use std::time::Instant;

use tokendeck::{
    analysis::security::{
        Anomaly, AnomalyCode,
        code::{Budget, CodeInput, CodeReport, inspect},
        score::{Known, Verdict, verdict},
        similarity::{Grams, Group, SimilarityIndex, grams},
    },
    dataset::address::Address,
};

use super::corpus::Labelled;

/// The judged powers, and the codes that say so.
const POWERS: [(&str, &[AnomalyCode]); 3] = [
    ("mint", &[AnomalyCode::HiddenMint, AnomalyCode::OwnerMint, AnomalyCode::PublicMint]),
    ("leak", &[AnomalyCode::OwnerDrain, AnomalyCode::PublicDrain]),
    (
        "limit",
        &[
            AnomalyCode::SellBlocked,
            AnomalyCode::Blacklist,
            AnomalyCode::Pausable,
            AnomalyCode::BuyBlockable,
            AnomalyCode::TaxRaisable,
            AnomalyCode::ExternalGate,
        ],
    ),
];
/// A rug pull with nothing wrong in the code.
const NOT_IN_CODE: &str = "rug_pull:transaction_related";

struct Run {
    report: CodeReport,
    millis: f64,
}

pub(crate) fn print(contracts: &[Labelled]) {
    let runs: Vec<Run> = contracts.iter().map(|contract| run(contract, false)).collect();
    println!("code part, developers' half, {} contracts (compiler age alone: AUC 0.62-0.67)", contracts.len());
    powers(contracts, &runs);
    scams(contracts, &runs);
    listed(contracts);
    let deployed: Vec<bool> = runs.iter().filter_map(|run| run.report.deploys).collect();
    let (ran, all) = (deployed.iter().filter(|ran| **ran).count(), deployed.len());
    println!("constructors that deploy          {ran} of {all}, {:.1} %  (aim 93 %)", 100.0 * ratio(ran, all));
    let mut millis: Vec<f64> = runs.iter().map(|run| run.millis).collect();
    millis.sort_by(f64::total_cmp);
    let at = |share: f64| millis[((millis.len() - 1) as f64 * share) as usize];
    println!("cost p50 / p95 / worst            {:.1} / {:.1} / {:.0} ms  (aim 60 / 400)", at(0.5), at(0.95), at(1.0));
    let cut = runs.iter().filter(|run| !run.report.unfinished.is_empty()).count();
    println!("answers with something unfinished {cut}");
}

fn run(contract: &Labelled, listed: bool) -> Run {
    let input = CodeInput {
        runtime: &contract.runtime,
        creation: contract.creation.as_deref(),
        constructor_types: contract.constructor_types.as_deref(),
        has_source: true,
        listed,
        ..CodeInput::default()
    };
    let start = Instant::now();
    let report = inspect(&input, &Budget::default(), &|| false);
    Run { report, millis: start.elapsed().as_secs_f64() * 1000.0 }
}

fn powers(contracts: &[Labelled], runs: &[Run]) {
    let mut all = [0; 3];
    for (at, (name, codes)) in POWERS.iter().enumerate() {
        let [mut hit, mut false_alarm, mut missed] = [0; 3];
        for (contract, run) in contracts.iter().zip(runs).filter(|(contract, _)| contract.sure()) {
            let Some(truth) = contract.powers[at] else { continue };
            let said = run.report.anomalies.iter().any(|anomaly| codes.contains(&anomaly.code));
            match (truth, said) {
                (true, true) => hit += 1,
                (false, true) => false_alarm += 1,
                (true, false) => missed += 1,
                (false, false) => {}
            }
        }
        println!("power {name:<28}{}", line(hit, false_alarm, missed));
        all = [all[0] + hit, all[1] + false_alarm, all[2] + missed];
    }
    println!("powers, micro                     {}  (aim F1 0.85, each P 0.85)", line(all[0], all[1], all[2]));
}

fn line(hit: usize, false_alarm: usize, missed: usize) -> String {
    let f1 = ratio(2 * hit, 2 * hit + false_alarm + missed);
    format!(
        "P {:.3} R {:.3} F1 {f1:.3}  ({hit} hit, {false_alarm} false, {missed} missed)",
        ratio(hit, hit + false_alarm),
        ratio(hit, hit + missed)
    )
}

fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// 0 to 1: one less what every anomaly leaves.
fn part_score(anomalies: &[Anomaly]) -> f64 {
    1.0 - anomalies.iter().map(|anomaly| 1.0 - anomaly.weighed()).product::<f64>()
}

fn scams(contracts: &[Labelled], runs: &[Run]) {
    let alone: Vec<f64> = runs.iter().map(|run| part_score(&run.report.anomalies)).collect();
    let likeness = likeness(contracts);
    let weight = AnomalyCode::SimilarToScam.weight();
    let with: Vec<f64> = alone.iter().zip(&likeness).map(|(score, like)| 1.0 - (1.0 - score) * (1.0 - weight * like)).collect();
    for (what, scores) in [("code alone", &alone), ("likeness alone", &likeness), ("code and likeness", &with)] {
        let of = |label: &str| -> Vec<f64> {
            let rows = contracts.iter().zip(scores).filter(|(contract, _)| counted(contract) && contract.label == label);
            rows.map(|(_, score)| *score).collect()
        };
        let (scams, benign) = (of("scam"), of("benign"));
        let what = format!("scam v benign, {what}");
        println!(
            "{what:<34}AUC {:.3}, recall at P 0.90 {:.3}  ({} v {})",
            auc(&scams, &benign),
            recall(&scams, &benign),
            scams.len(),
            benign.len()
        );
    }
    println!("  aim 0.92 and 0.65; likeness is to the other clusters' rows only");
}

/// Whether a row counts among scams and honest tokens.
fn counted(contract: &Labelled) -> bool {
    contract.sure() && contract.scam_type != NOT_IN_CODE && ["scam", "benign"].contains(&contract.label.as_str())
}

/// SIMILAR_TO_SCAM's strength of each row, known scams and templates being those of all other clusters; 0 for rows that do not count.
fn likeness(contracts: &[Labelled]) -> Vec<f64> {
    let mut index = SimilarityIndex::default();
    let known: Vec<(&Labelled, Grams)> = contracts
        .iter()
        .filter(|contract| ["scam", "benign"].contains(&contract.label.as_str()) && contract.confidence != "low")
        .map(|contract| (contract, grams(&contract.runtime)))
        .collect();
    for (contract, _) in &known {
        index.add(Address([0; 20]), Group::Scam, &contract.runtime);
    }
    let strength = |contract: &Labelled| {
        let own = grams(&contract.runtime);
        let nearest = |label: &str| {
            let others = known.iter().filter(|(other, _)| other.label == label && other.cluster != contract.cluster);
            others.map(|(_, grams)| index.similarity(&own, grams)).fold(0.0, f64::max)
        };
        (nearest("scam") - nearest("benign").max(0.6)).max(0.0) / 0.4
    };
    contracts.iter().map(|contract| if counted(contract) { strength(contract) } else { 0.0 }).collect()
}

fn auc(scams: &[f64], benign: &[f64]) -> f64 {
    let pairs = scams.iter().flat_map(|scam| {
        benign.iter().map(move |good| {
            if scam > good {
                1.0
            } else if scam < good {
                0.0
            } else {
                0.5
            }
        })
    });
    pairs.sum::<f64>() / (scams.len() * benign.len()).max(1) as f64
}

/// The most scams that a threshold finds of whose alarms nine of ten are right.
fn recall(scams: &[f64], benign: &[f64]) -> f64 {
    let at = |least: &f64| {
        let over = |scores: &[f64]| scores.iter().filter(|score| *score >= least).count();
        let (hit, false_alarm) = (over(scams), over(benign));
        if ratio(hit, hit + false_alarm) >= 0.9 { ratio(hit, scams.len()) } else { 0.0 }
    };
    scams.iter().map(at).fold(0.0, f64::max)
}

/// The whole score, were nothing but the code against the token.
fn listed(contracts: &[Labelled]) {
    let known = Known { code: true, executed: true, transfers: true, holders: true };
    let rows: Vec<Verdict> = contracts
        .iter()
        .filter(|contract| contract.listed())
        .map(|contract| verdict(&run(contract, true).report.anomalies, &[], &[], known))
        .collect();
    let under = rows.iter().filter(|verdict| verdict.fatal || verdict.score < 40).count();
    let avoid = rows.iter().filter(|verdict| verdict.fatal || verdict.score < 20).count();
    println!(
        "listed tokens under 40            {under} of {}, {:.1} %; AVOID {avoid}  (aim 3 %, none)",
        rows.len(),
        100.0 * ratio(under, rows.len())
    );
}
