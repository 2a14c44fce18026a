//! What executing the contract finds, against the labels: powers, scams, listed tokens, constructors, cost; and what
//! likeness to known scams adds, each cluster of codes compared with the other clusters' only.
//! Benign rows are older than scam rows: compiler age alone gives an AUC of 0.62 to 0.67.

use std::time::Instant;

use tokendeck::{
    analysis::security::{
        Anomaly, AnomalyCode,
        code::{Budget, CodeInput, CodeReport, inspect},
        score::{Known, Verdict, verdict},
        similarity::{
            Group, SimilarityIndex, grams,
            mix::{Era, Example, Mix},
        },
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
    let (near, mix): (Vec<f64>, Vec<f64>) = likeness(contracts).into_iter().unzip();
    let weight = AnomalyCode::SimilarToScam.weight();
    let like = near.iter().zip(&mix).map(|(near, mix)| near.max(*mix));
    let with: Vec<f64> = alone.iter().zip(like).map(|(score, like)| 1.0 - (1.0 - score) * (1.0 - weight * like)).collect();
    let rows =
        [("code alone", &alone), ("nearest scam alone", &near), ("mix of instructions alone", &mix), ("code, nearest and mix", &with)];
    for (what, scores) in rows {
        let of = |label: &str| -> Vec<(f64, Era)> {
            let rows = contracts.iter().zip(scores).filter(|(contract, _)| counted(contract) && contract.label == label);
            rows.map(|(contract, score)| (*score, Era::of(&contract.runtime))).collect()
        };
        let (scams, benign) = (of("scam"), of("benign"));
        let what = format!("scam v benign, {what}");
        println!(
            "{what:<40}AUC {:.3}, within an era {:.3}, recall at P 0.90 {:.3}  ({} v {})",
            auc(&scams, &benign, |_, _| true),
            auc(&scams, &benign, |scam, benign| scam == benign),
            recall(&scams, &benign),
            scams.len(),
            benign.len()
        );
    }
    let eras = |label: &str| -> Vec<(f64, Era)> {
        let rows = contracts.iter().filter(|contract| counted(contract) && contract.label == label);
        rows.map(|contract| (f64::from(Era::of(&contract.runtime) as u8), Era::of(&contract.runtime))).collect()
    };
    println!("  the era of the code alone       AUC {:.3}", auc(&eras("scam"), &eras("benign"), |_, _| true));
    println!("  aim 0.92 and 0.65; likeness is to the other clusters' rows only, {FOLDS} folds of clusters");
}

/// Whether a row counts among scams and honest tokens.
fn counted(contract: &Labelled) -> bool {
    contract.sure() && contract.scam_type != NOT_IN_CODE && ["scam", "benign"].contains(&contract.label.as_str())
}

/// Parts of the clusters, of which one is asked about while the others are known.
const FOLDS: usize = 10;

/// SIMILAR_TO_SCAM's strength of each row, by the nearest scam and by the mix of instructions, known scams and templates being those of
/// other clusters; 0 for rows that do not count.
fn likeness(contracts: &[Labelled]) -> Vec<(f64, f64)> {
    let mut clusters: Vec<&str> = contracts.iter().map(|contract| contract.cluster.as_str()).collect();
    clusters.sort_unstable();
    clusters.dedup();
    let fold = |contract: &Labelled| clusters.binary_search(&contract.cluster.as_str()).map_or(0, |at| at % FOLDS);
    let mut strengths = vec![(0.0, 0.0); contracts.len()];
    for asked in 0..FOLDS {
        let mut index = SimilarityIndex::default();
        let (mut known, mut examples) = (Vec::new(), Vec::new());
        for (label, group) in [("scam", Group::Scam), ("benign", Group::Template)] {
            for row in contracts.iter().filter(|row| row.label == label && row.confidence != "low" && fold(row) != asked) {
                let signature = index.add(Address([0; 20]), group, &row.runtime);
                examples.extend(signature.and_then(|signature| Example::new(group, &row.runtime, signature)));
                known.push((group, grams(&row.runtime)));
            }
        }
        let mix = Mix::learn(&examples, &|| Ok(())).expect("nobody gives up");
        for (row, strength) in contracts.iter().zip(&mut strengths).filter(|(row, _)| counted(row) && fold(row) == asked) {
            let own = grams(&row.runtime);
            let nearest = |group: Group| {
                let others = known.iter().filter(|(of, _)| *of == group);
                others.map(|(_, grams)| index.similarity(&own, grams)).fold(0.0, f64::max)
            };
            let (scam, benign) = (nearest(Group::Scam), nearest(Group::Template).max(0.6));
            let judged = mix.as_ref().and_then(|mix| mix.judge(&row.runtime)).map_or(0.0, |judged| judged.strength);
            *strength = ((scam - benign).max(0.0) / 0.4, if benign > 0.6 && benign >= scam { 0.0 } else { judged });
        }
    }
    strengths
}

/// The share of pairs, of those that `compared` lets in, where the scam's figure is the larger; ties count half.
fn auc(scams: &[(f64, Era)], benign: &[(f64, Era)], compared: impl Fn(Era, Era) -> bool) -> f64 {
    let mut right = 0.0;
    let mut pairs = 0.0;
    for (scam, good) in scams.iter().flat_map(|scam| benign.iter().map(move |good| (scam, good))).filter(|(a, b)| compared(a.1, b.1)) {
        pairs += 1.0;
        right += f64::from(scam.0.total_cmp(&good.0) as i8 + 1) / 2.0;
    }
    right / pairs
}

/// The most scams that a threshold finds of whose alarms nine of ten are right.
fn recall(scams: &[(f64, Era)], benign: &[(f64, Era)]) -> f64 {
    let at = |least: &(f64, Era)| {
        let over = |scores: &[(f64, Era)]| scores.iter().filter(|score| score.0 >= least.0).count();
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
