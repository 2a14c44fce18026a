//! Findings of executing contracts, against the labels: powers by rule and by compiler era, constructors, cost. The input has only data
//! that any unknown token has: neither a listing nor verified source.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    time::Instant,
};

use security::{
    AnomalyCode,
    code::{Budget, CodeInput, CodeReport, inspect},
    similarity::bigrams::Era,
};

use super::{
    chance,
    corpus::{Labelled, Section},
    likeness, scams,
};

/// Labelled powers, the codes that detect them, and the target metrics.
const POWERS: [(&str, &[AnomalyCode], &str); 3] = [
    (
        "mint",
        &[
            AnomalyCode::HiddenMint,
            AnomalyCode::OwnerMint,
            AnomalyCode::PublicMint,
        ],
        "P 0.95 R 0.85",
    ),
    (
        "leak",
        &[AnomalyCode::OwnerDrain, AnomalyCode::PublicDrain],
        "P 0.88 R 0.80",
    ),
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
/// Label of a rug pull whose code is not at fault.
const NOT_IN_CODE: &str = "rug_pull:transaction_related";
pub(crate) const ERAS: [(Era, &str); 3] = [
    (Era::Divided, "before 0.5"),
    (Era::Shifted, "0.5 to 0.7"),
    (Era::Checked, "from 0.8"),
];
/// Strength up to which OWNER_DRAIN concerns the contract's own balance only.
const STOCK: f64 = 0.05;
/// Minimum number of clusters in which a rule is right.
const RIGHT_MIN: usize = 3;
/// Contracts per progress message.
const STEP: usize = 50;

pub(crate) struct Run<'a> {
    pub(crate) contract: &'a Labelled,
    pub(crate) era: Era,
    pub(crate) report: CodeReport,
    /// CPU time.
    millis: f64,
}

impl Run<'_> {
    pub(crate) fn counted(&self) -> bool {
        self.contract.sure()
            && self.contract.scam_type != NOT_IN_CODE
            && ["scam", "benign"].contains(&self.contract.label.as_str())
    }

    pub(crate) fn scam(&self) -> bool {
        self.contract.label == "scam"
    }
}

pub(crate) fn print(contracts: &[Labelled], section: Section) {
    // The cost is measured on all of them, which reveals nothing about accuracy.
    let mut all = Vec::new();
    for (at, contract) in contracts.iter().enumerate() {
        if at % STEP == 0 {
            eprintln!("security: {at} of {} contracts executed", contracts.len());
        }
        all.push(run(contract));
    }
    let mut millis: Vec<f64> = all.iter().map(|run| run.millis).collect();
    let deployed: Vec<bool> = all.iter().filter_map(|run| run.report.deploys).collect();
    let cut = all
        .iter()
        .filter(|run| !run.report.unfinished.is_empty())
        .count();
    let runs: Vec<Run<'_>> = all
        .into_iter()
        .filter(|run| run.contract.section() == section)
        .collect();
    let clusters: BTreeSet<&str> = runs
        .iter()
        .map(|run| run.contract.cluster.as_str())
        .collect();
    let part = if section == Section::Closed {
        "the closed third"
    } else {
        "the open two thirds"
    };
    println!(
        "code part, {part} of the clusters: {} contracts in {} clusters; in brackets the middle 95 %",
        runs.len(),
        clusters.len()
    );
    powers(&runs);
    rules(&runs);
    eprintln!("security: likeness to the scams and listed tokens of the open clusters");
    scams::print(&runs, &likeness::strengths(contracts, section));
    millis.sort_by(f64::total_cmp);
    let at = |share: f64| millis[((millis.len() - 1) as f64 * share) as usize];
    println!("all {} contracts of both parts:", millis.len());
    println!(
        "  CPU time p50 / p95 / worst     {:.1} / {:.1} / {:.0} ms  (wanted 20 / 100 / 1000)",
        at(0.5),
        at(0.95),
        at(1.0)
    );
    let ran = deployed.iter().filter(|ran| **ran).count();
    println!(
        "  constructors that deploy       {ran} of {}, {:.3}  (wanted 0.93)",
        deployed.len(),
        ratio(ran, deployed.len())
    );
    println!("  with something left unfinished {cut}");
}

fn run(contract: &Labelled) -> Run<'_> {
    let input = CodeInput {
        runtime: &contract.runtime,
        creation: contract.creation.as_deref(),
        constructor_types: contract.constructor_types.as_deref(),
        ..CodeInput::default()
    };
    let (start, spent) = (Instant::now(), cpu_millis());
    let report = inspect(&input, &Budget::default(), &|| false);
    let millis = cpu_millis().zip(spent).map_or_else(
        || start.elapsed().as_secs_f64() * 1000.0,
        |(now, then)| now - then,
    );
    Run {
        contract,
        era: Era::of(&contract.runtime),
        report,
        millis,
    }
}

/// CPU time of this thread on Linux; elsewhere wall-clock time is used.
fn cpu_millis() -> Option<f64> {
    fs::read_to_string("/proc/thread-self/schedstat")
        .ok()?
        .split(' ')
        .next()?
        .parse::<f64>()
        .ok()
        .map(|nanos| nanos / 1e6)
}

/// Hits, false alarms, misses.
#[derive(Clone, Copy, Default)]
struct Tally([usize; 3]);

impl Tally {
    fn of(decisions: &[Decision<'_>]) -> Self {
        let mut tally = Self::default();
        for decision in decisions {
            match (decision.truth, decision.said) {
                (true, true) => tally.0[0] += 1,
                (false, true) => tally.0[1] += 1,
                (true, false) => tally.0[2] += 1,
                (false, false) => {}
            }
        }
        tally
    }

    fn f1(self) -> f64 {
        let [hit, false_alarm, missed] = self.0;
        ratio(2 * hit, 2 * hit + false_alarm + missed)
    }

    fn line(self) -> String {
        let [hit, false_alarm, missed] = self.0;
        let (precision, recall) = (ratio(hit, hit + false_alarm), ratio(hit, hit + missed));
        format!(
            "P {precision:.3} R {recall:.3} F1 {:.3}  ({hit} hit, {false_alarm} false, {missed} missed)",
            self.f1()
        )
    }
}

/// NaN for 0 of 0.
pub(crate) fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

/// A labelled power, with the prediction.
#[derive(Clone, Copy)]
struct Decision<'a> {
    cluster: &'a str,
    era: Era,
    power: usize,
    truth: bool,
    said: bool,
}

fn decisions<'a>(runs: &'a [Run<'_>]) -> Vec<Decision<'a>> {
    let mut all = Vec::new();
    for run in runs.iter().filter(|run| run.contract.sure()) {
        for (power, (_, codes, _)) in POWERS.iter().enumerate() {
            let Some(truth) = run.contract.powers[power] else {
                continue;
            };
            let said = run
                .report
                .anomalies
                .iter()
                .any(|anomaly| codes.contains(&anomaly.code));
            all.push(Decision {
                cluster: &run.contract.cluster,
                era: run.era,
                power,
                truth,
                said,
            });
        }
    }
    all
}

fn powers(runs: &[Run<'_>]) {
    let all = decisions(runs);
    let by_era = |decisions: &[Decision<'_>]| {
        for (era, name) in ERAS {
            let own: Vec<Decision<'_>> = decisions
                .iter()
                .copied()
                .filter(|decision| decision.era == era)
                .collect();
            println!("  {name:<12}{}", Tally::of(&own).line());
        }
    };
    let within = |decisions: &[Decision<'_>], figure: &dyn Fn(Tally) -> f64| {
        chance::text(chance::interval(
            decisions,
            |decision| decision.cluster.to_owned(),
            |drawn| figure(Tally::of(drawn)),
        ))
    };
    for (power, (name, _, wanted)) in POWERS.iter().enumerate() {
        let own: Vec<Decision<'_>> = all
            .iter()
            .copied()
            .filter(|decision| decision.power == power)
            .collect();
        let precision = within(&own, &|Tally([hit, false_alarm, _])| {
            ratio(hit, hit + false_alarm)
        });
        let recall = within(&own, &|Tally([hit, _, missed])| ratio(hit, hit + missed));
        println!(
            "power {name:<8}{}  (wanted {wanted})\n  P{precision}, R{recall}",
            Tally::of(&own).line()
        );
        by_era(&own);
    }
    println!(
        "powers, micro {}  (wanted F1 0.88)\n  F1{}",
        Tally::of(&all).line(),
        within(&all, &Tally::f1)
    );
    by_era(&all);
}

/// Prints for each rule the clusters in which it is right and wrong.
fn rules(runs: &[Run<'_>]) {
    let mut rules: BTreeMap<String, [BTreeSet<&str>; 2]> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.contract.sure()) {
        for (at, (name, codes, _)) in POWERS.iter().enumerate() {
            let Some(truth) = run.contract.powers[at] else {
                continue;
            };
            for anomaly in run
                .report
                .anomalies
                .iter()
                .filter(|anomaly| codes.contains(&anomaly.code))
            {
                let stock = anomaly.code == AnomalyCode::OwnerDrain && anomaly.strength <= STOCK;
                let of = match () {
                    () if anomaly.sentence.contains("call anyone with anything") => {
                        ", by an errand"
                    }
                    () if stock => ", of what the contract holds",
                    () => "",
                };
                let sides = rules
                    .entry(format!("{name} by {}{of}", anomaly.code.word()))
                    .or_default();
                sides[usize::from(!truth)].insert(&run.contract.cluster);
            }
        }
    }
    println!("rules, by the clusters in which they are right and wrong:");
    for (rule, [right, wrong]) in rules {
        let few = if right.len() < RIGHT_MIN {
            "  (few)"
        } else {
            ""
        };
        println!(
            "  {rule:<52}{:>3} right {:>3} wrong{few}",
            right.len(),
            wrong.len()
        );
    }
}
