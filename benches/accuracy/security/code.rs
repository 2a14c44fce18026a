//! What executing the contract finds, against the labels: powers, scams, listed tokens, constructors, cost, by the era of the compiler.
//! Nothing is passed in that a stranger's token does not have: neither that it is listed nor that its source is known.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use tokendeck::analysis::security::{
    Anomaly, AnomalyCode,
    code::{Budget, CodeInput, CodeReport, inspect},
    score::{Known, Verdict, verdict},
    similarity::mix::Era,
};

use super::{
    corpus::{Labelled, Section},
    likeness,
};

/// The judged powers, the codes that say so, and what is wanted of them.
const POWERS: [(&str, &[AnomalyCode], &str); 3] = [
    ("mint", &[AnomalyCode::HiddenMint, AnomalyCode::OwnerMint, AnomalyCode::PublicMint], "P 0.95 R 0.85"),
    ("leak", &[AnomalyCode::OwnerDrain, AnomalyCode::PublicDrain], "P 0.88 R 0.80"),
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
        "P 0.90 R 0.85",
    ),
];
/// A rug pull with nothing wrong in the code.
const NOT_IN_CODE: &str = "rug_pull:transaction_related";
const ERAS: [(Era, &str); 3] = [(Era::Divided, "before 0.5"), (Era::Shifted, "0.5 to 0.7"), (Era::Checked, "from 0.8")];
/// Strength up to which OWNER_DRAIN is about what the contract itself holds.
const STOCK: f64 = 0.05;
/// Clusters in which a rule has to be right.
const RIGHT_MIN: usize = 3;

struct Run<'a> {
    contract: &'a Labelled,
    era: Era,
    report: CodeReport,
    millis: f64,
}

impl Run<'_> {
    /// The whole score, were nothing but the code against the token.
    fn verdict(&self) -> Verdict {
        verdict(&self.report.anomalies, &[], &[], Known { code: true, executed: true, transfers: true, holders: true })
    }

    fn counted(&self) -> bool {
        self.contract.sure() && self.contract.scam_type != NOT_IN_CODE && ["scam", "benign"].contains(&self.contract.label.as_str())
    }

    fn scam(&self) -> bool {
        self.contract.label == "scam"
    }
}

/// What runs are called that fit.
type Kept = (&'static str, fn(&Run<'_>) -> bool);

pub(crate) fn print(contracts: &[Labelled], section: Section) {
    let runs: Vec<Run<'_>> = contracts.iter().filter(|contract| contract.section() == section).map(run).collect();
    let clusters: BTreeSet<&str> = runs.iter().map(|run| run.contract.cluster.as_str()).collect();
    let part = if section == Section::Closed { "the closed third" } else { "the open two thirds" };
    println!("code part, {part} of the clusters: {} contracts in {} clusters", runs.len(), clusters.len());
    powers(&runs);
    rules(&runs);
    scams(&runs, &likeness::strengths(contracts, section));
    let all: &[Kept] = &[
        ("listed tokens, not known as such", |run| run.contract.listed()),
        ("ordinary tokens of the chain", |run| run.contract.sure() && run.contract.label == "unlabelled"),
        ("scams", |run| run.counted() && run.scam()),
    ];
    for (what, of) in all {
        low(what, &runs.iter().filter(|run| of(run)).collect::<Vec<_>>());
    }
    let deployed: Vec<bool> = runs.iter().filter_map(|run| run.report.deploys).collect();
    let (ran, all) = (deployed.iter().filter(|ran| **ran).count(), deployed.len());
    println!("constructors that deploy            {ran} of {all}, {:.1} %  (aim 93 %)", 100.0 * ratio(ran, all));
    let mut millis: Vec<f64> = runs.iter().map(|run| run.millis).collect();
    millis.sort_by(f64::total_cmp);
    let at = |share: f64| millis[((millis.len() - 1) as f64 * share) as usize];
    println!("cost p50 / p95 / worst              {:.1} / {:.1} / {:.0} ms  (aim 20 / 100 / 1000)", at(0.5), at(0.95), at(1.0));
    let cut = runs.iter().filter(|run| !run.report.unfinished.is_empty()).count();
    println!("answers with something unfinished   {cut}");
}

fn run(contract: &Labelled) -> Run<'_> {
    let input = CodeInput {
        runtime: &contract.runtime,
        creation: contract.creation.as_deref(),
        constructor_types: contract.constructor_types.as_deref(),
        ..CodeInput::default()
    };
    let start = Instant::now();
    let report = inspect(&input, &Budget::default(), &|| false);
    Run { contract, era: Era::of(&contract.runtime), report, millis: start.elapsed().as_secs_f64() * 1000.0 }
}

/// Hits, false alarms, misses.
#[derive(Clone, Copy, Default)]
struct Tally([usize; 3]);

impl Tally {
    fn count(&mut self, truth: bool, said: bool) {
        match (truth, said) {
            (true, true) => self.0[0] += 1,
            (false, true) => self.0[1] += 1,
            (true, false) => self.0[2] += 1,
            (false, false) => {}
        }
    }

    fn line(self) -> String {
        let [hit, false_alarm, missed] = self.0;
        let f1 = ratio(2 * hit, 2 * hit + false_alarm + missed);
        let (precision, recall) = (ratio(hit, hit + false_alarm), ratio(hit, hit + missed));
        format!("P {precision:.3} R {recall:.3} F1 {f1:.3}  ({hit} hit, {false_alarm} false, {missed} missed)")
    }
}

fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn powers(runs: &[Run<'_>]) {
    let mut all = Tally::default();
    let mut by_era = [Tally::default(); ERAS.len()];
    for (at, (name, codes, aim)) in POWERS.iter().enumerate() {
        let mut tally = Tally::default();
        for run in runs.iter().filter(|run| run.contract.sure()) {
            let Some(truth) = run.contract.powers[at] else { continue };
            let said = run.report.anomalies.iter().any(|anomaly| codes.contains(&anomaly.code));
            for tally in [&mut tally, &mut all, &mut by_era[run.era as usize]] {
                tally.count(truth, said);
            }
        }
        println!("power {name:<30}{}  (aim {aim})", tally.line());
    }
    println!("powers, micro                       {}  (aim F1 0.88)", all.line());
    for ((_, name), tally) in ERAS.iter().zip(by_era) {
        println!("  {name:<34}{}", tally.line());
    }
}

/// Of each rule that says a judged power, the clusters in which it is right and wrong.
fn rules(runs: &[Run<'_>]) {
    let mut rules: BTreeMap<String, [BTreeSet<&str>; 2]> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.contract.sure()) {
        for (at, (name, codes, _)) in POWERS.iter().enumerate() {
            let Some(truth) = run.contract.powers[at] else { continue };
            for anomaly in run.report.anomalies.iter().filter(|anomaly| codes.contains(&anomaly.code)) {
                let stock = anomaly.code == AnomalyCode::OwnerDrain && anomaly.strength <= STOCK;
                let of = if stock { ", of what the contract holds" } else { "" };
                let sides = rules.entry(format!("{name} by {}{of}", anomaly.code.word())).or_default();
                sides[usize::from(!truth)].insert(&run.contract.cluster);
            }
        }
    }
    println!("rules, by the clusters in which they are right and wrong:");
    for (rule, [right, wrong]) in rules {
        let few = if right.len() < RIGHT_MIN { "  (few)" } else { "" };
        println!("  {rule:<52}{:>3} right {:>3} wrong{few}", right.len(), wrong.len());
    }
}

/// A figure of a contract, the larger the worse, with its era.
type Score = (f64, Era);

fn scams(runs: &[Run<'_>], likeness: &[(f64, f64)]) {
    let alone: Vec<f64> = runs.iter().map(|run| part_score(&run.report.anomalies)).collect();
    let weight = AnomalyCode::SimilarToScam.weight();
    let beside = |like: fn(&(f64, f64)) -> f64| -> Vec<f64> {
        alone.iter().zip(likeness).map(|(score, strengths)| 1.0 - (1.0 - score) * (1.0 - weight * like(strengths))).collect()
    };
    let (near, mixed) = (beside(|(near, _)| *near), beside(|(near, mix)| near.max(*mix)));
    for (what, scores) in [("code alone", &alone), ("with the nearest scam", &near), ("with the mix of instructions too", &mixed)] {
        let of = |scam: bool, scored: &dyn Fn(&Run<'_>, f64) -> f64| -> Vec<Score> {
            let counted = runs.iter().zip(scores).filter(|(run, _)| run.counted() && run.scam() == scam);
            counted.map(|(run, score)| (scored(run, *score), run.era)).collect()
        };
        let (bad, good) = (of(true, &|_, score| score), of(false, &|_, score| score));
        println!(
            "scam v honest, {what:<33}AUC {:.3}, ages made equal {:.3}, within an era {:.3}  ({} v {})",
            auc(&bad, &good, |_, _| 1.0),
            auc(&bad, &good, equal_ages(&bad, &good)),
            auc(&bad, &good, |scam, honest| f64::from(u8::from(scam == honest))),
            bad.len(),
            good.len()
        );
        for (era, name) in ERAS {
            let only = |all: &[Score]| all.iter().copied().filter(|(_, of)| *of == era).collect::<Vec<_>>();
            let (bad, good) = (only(&bad), only(&good));
            if !bad.is_empty() && !good.is_empty() {
                println!("  {name:<46}AUC {:.3}  ({} v {})", auc(&bad, &good, |_, _| 1.0), bad.len(), good.len());
            }
        }
    }
    let ages = |scam: bool| -> Vec<Score> {
        runs.iter().filter(|run| run.counted() && run.scam() == scam).map(|run| (f64::from(run.era as u8), run.era)).collect()
    };
    println!("  the era of the code alone                     AUC {:.3}", auc(&ages(true), &ages(false), |_, _| 1.0));
    println!("  (aims: code alone 0.80; with a corpus, ages made equal, 0.78)");
}

/// 0 to 1: one less what every anomaly leaves.
fn part_score(anomalies: &[Anomaly]) -> f64 {
    1.0 - anomalies.iter().map(|anomaly| 1.0 - anomaly.weighed()).product::<f64>()
}

/// Weights of pairs after which every era has among the honest the share that it has among the scams.
fn equal_ages(scams: &[Score], honest: &[Score]) -> impl Fn(Era, Era) -> f64 {
    let share = |all: &[Score]| ERAS.map(|(era, _)| ratio(all.iter().filter(|(_, of)| *of == era).count(), all.len()));
    let (scams, honest) = (share(scams), share(honest));
    move |_, era| if honest[era as usize] > 0.0 { scams[era as usize] / honest[era as usize] } else { 0.0 }
}

/// The weighed share of pairs in which the scam's figure is the larger; ties count half.
fn auc(scams: &[Score], honest: &[Score], weight: impl Fn(Era, Era) -> f64) -> f64 {
    let (mut right, mut pairs) = (0.0, 0.0);
    for (scam, good) in scams.iter().flat_map(|scam| honest.iter().map(move |good| (scam, good))) {
        let weight = weight(scam.1, good.1);
        pairs += weight;
        right += weight * f64::from(scam.0.total_cmp(&good.0) as i8 + 1) / 2.0;
    }
    right / pairs
}

/// How many score low, and why those do that are listed.
fn low(what: &str, all: &[&Run<'_>]) {
    let count = |runs: &[&Run<'_>], under: i64| runs.iter().filter(|run| run.verdict().fatal || run.verdict().score < under).count();
    let line = |runs: &[&Run<'_>]| {
        let (under, avoid) = (count(runs, 40), count(runs, 20));
        let percent = |part: usize| 100.0 * ratio(part, runs.len());
        format!("{under} of {} under 40, {:.1} %; AVOID {avoid}, {:.1} %", runs.len(), percent(under), percent(avoid))
    };
    let aim = if what.starts_with("listed") { "  (aim 6 %; 2 %)" } else { "" };
    println!("{what:<36}{}{aim}", line(all));
    for (era, name) in ERAS {
        println!("  {name:<34}{}", line(&all.iter().copied().filter(|run| run.era == era).collect::<Vec<_>>()));
    }
    if what.starts_with("listed") {
        for run in all.iter().filter(|run| count(&[run], 40) > 0) {
            let reasons: Vec<&str> = run.report.anomalies.iter().filter(|of| of.weighed() >= 0.1).map(|of| of.sentence.as_str()).collect();
            println!("    {:>3}  {}", run.verdict().score, reasons.join("; "));
        }
    }
}
