//! The checklist: every check with its result. Checks that ran are distinguished from checks that could not run, so that missing results are
//! never mistaken for safety. No check is run here.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Anomaly, AnomalyCode, Evidence, Part,
    check_log::{CheckLog, NeededInput},
    check_table::Group,
    code::{CodeReport, DeployedBy, Opening, SaleState, TrialsDone},
    transactions::percent,
};

model::words! {
    /// Result of a check.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum CheckState {
        Found = "found",
        /// A renounced privilege: no one can use it anymore.
        Unheld = "unheld",
        /// It could not run, or the data was inconclusive.
        NotChecked = "not_checked",
        /// It ran and found nothing.
        Passed = "passed",
    }
}

/// One line of the checklist.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Check {
    pub code: AnomalyCode,
    /// The question that it belongs to.
    pub group: Group,
    pub state: CheckState,
    /// Whether it passed with a notable measurement, so that passing is no reassurance.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub remarkable: bool,
    /// Weight within its part, 0 to 1; 0 for information only.
    pub weight: f64,
    /// The finding or measurement as a sentence; null if not checked.
    pub evidence: Option<String>,
    /// Why it was not checked, and the table and column to add; null if it was checked.
    pub missing: Option<String>,
    /// Calls or rows behind a passed check. The `evidence` of each part has those of findings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub proof: Vec<Evidence>,
}

/// Every code once, by question; within a question, findings first, then by descending weight.
pub fn checks(found: [&[Anomaly]; 3], logs: [&CheckLog; 3]) -> Vec<Check> {
    let of = |code: AnomalyCode| {
        let place = match code.part() {
            Part::Code => 0,
            Part::Transactions => 1,
            Part::Holders => 2,
        };
        (
            found[place].iter().find(|anomaly| anomaly.code == code),
            logs[place],
        )
    };
    let mut all: Vec<(f64, Check)> = AnomalyCode::ALL
        .iter()
        .map(|code| {
            let (anomaly, log) = of(*code);
            (
                anomaly.map_or(0.0, Anomaly::weighed),
                check(*code, anomaly, log),
            )
        })
        .collect();
    all.sort_by(|(a_weighed, a), (b_weighed, b)| {
        let place = (a.group, a.state).cmp(&(b.group, b.state));
        place
            .then(b_weighed.total_cmp(a_weighed))
            .then(b.weight.total_cmp(&a.weight))
            .then(a.code.cmp(&b.code))
    });
    all.into_iter().map(|(_, check)| check).collect()
}

fn check(code: AnomalyCode, anomaly: Option<&Anomaly>, log: &CheckLog) -> Check {
    let line = |state, evidence, missing| {
        let (group, weight) = (code.group(), code.weight());
        let proof = if state == CheckState::Passed {
            log.proof(code)
        } else {
            Vec::new()
        };
        // A finding without weight is no reassurance either.
        let remarkable =
            state == CheckState::Passed && (anomaly.is_some() || log.is_remarkable(code));
        Check {
            code,
            group,
            state,
            remarkable,
            weight,
            evidence,
            missing,
            proof,
        }
    };
    let sentence = |anomaly: &Anomaly| Some(anomaly.sentence_with_dispute());
    match anomaly {
        Some(anomaly) if anomaly.disputed.is_some() => {
            line(CheckState::Found, sentence(anomaly), None)
        }
        Some(anomaly) if anomaly.weighed() > 0.0 => {
            line(CheckState::Found, sentence(anomaly), None)
        }
        Some(anomaly) if code.is_power() => line(CheckState::Unheld, sentence(anomaly), None),
        // A finding of strength 0 explains itself.
        Some(anomaly) => line(CheckState::Passed, sentence(anomaly), None),
        None => match log.gap(code) {
            Some(gap) => line(CheckState::NotChecked, None, Some(gap)),
            None => line(
                CheckState::Passed,
                Some(log.seen(code).unwrap_or_else(|| code.passed().to_owned())),
                None,
            ),
        },
    }
}

/// The share of the total weight of all checks that belongs to the checks that ran, 0 to 1.
pub fn checked(checks: &[Check]) -> f64 {
    let sum = |of: &dyn Fn(&Check) -> bool| {
        checks
            .iter()
            .filter(|check| of(check))
            .map(|check| check.weight)
            .sum::<f64>()
    };
    sum(&|check| check.state != CheckState::NotChecked) / sum(&|_| true).max(f64::MIN_POSITIVE)
}

/// Checks of the code part that need no execution.
const READ: &[AnomalyCode] = &[
    AnomalyCode::KnownScam,
    AnomalyCode::Impersonates,
    AnomalyCode::SimilarToScam,
    AnomalyCode::Proxy,
    AnomalyCode::Unverified,
];
/// Checks that the simulated trade alone decides, before any privilege is tested.
const TRADED: &[AnomalyCode] = &[AnomalyCode::SellBlocked, AnomalyCode::SellTax];

/// Checks that further simulated trades decide; `untried` has what each of them needs.
const BY_TRIALS: &[AnomalyCode] = &[
    AnomalyCode::SimulatorAware,
    AnomalyCode::ClosesLater,
    AnomalyCode::Cooldown,
    AnomalyCode::Limit,
    AnomalyCode::BuyTax,
];

/// Why the simulated trades do not decide the check; `None` if they do.
fn untried(report: &CodeReport, code: AnomalyCode) -> Option<String> {
    let Some(TrialsDone {
        bought,
        sold,
        finished,
    }) = report.trials
    else {
        return Some("no trade was simulated".to_owned());
    };
    match code {
        _ if !finished => Some("some simulated trades hit the step limit".to_owned()),
        AnomalyCode::ClosesLater | AnomalyCode::Cooldown | AnomalyCode::Limit if !sold => {
            Some("the usual sell failed".to_owned())
        }
        AnomalyCode::BuyTax if !bought => Some("no buy succeeded".to_owned()),
        _ => match &report.sale {
            SaleState::Depends(why) => Some(why.clone()),
            SaleState::Unknown
                if report
                    .anomalies
                    .iter()
                    .any(|found| found.code == AnomalyCode::SellBlocked) =>
            {
                Some("selling is blocked; see Selling blocked (SELL_BLOCKED)".to_owned())
            }
            SaleState::Unknown => Some("it is unknown whether the token can be sold".to_owned()),
            SaleState::Stands => None,
        },
    }
}

/// Records the results of execution for the checks that found nothing: evidence if it ran, a gap if it could not.
pub fn executed(report: &CodeReport, log: &mut CheckLog) {
    let unsaid = if report.traded {
        "execution did not show whether a sell succeeds"
    } else {
        "the contract could not be executed"
    };
    let why = report.unfinished.first().map_or(unsaid, String::as_str);
    let advice = match report.deployed_by {
        _ if report.simulation.is_some() => "",
        Some(DeployedBy::Snapshot | DeployedBy::Chain) => "",
        Some(DeployedBy::Constructor) => "; add the token's `storage`",
        Some(DeployedBy::Code) | None => "; add the token's `creation_bytecode` or `storage`",
    };
    let undone = format!("contracts: {why}{advice}");
    for (code, proof) in &report.proofs {
        for proof in proof {
            log.prove(*code, proof.clone());
        }
    }
    for code in BY_TRIALS
        .iter()
        .filter(|code| report.anomalies.iter().all(|found| found.code != **code))
    {
        if let Some(why) = untried(report, *code) {
            log.unsure(*code, format!("contracts: {why}"));
        }
    }
    // The first measurement recorded for a check is shown.
    for (code, place) in report.unwritten.iter().filter(|_| report.conclusive) {
        let would = if *code == AnomalyCode::TaxRaisable {
            "tax"
        } else {
            "block"
        };
        log.saw(
            *code,
            format!(
                "a sell reads {place}; a different value there would {would} the sell, but no call that changes it was \
            found"
            ),
        );
        log.remark(*code);
    }
    let aware = report
        .anomalies
        .iter()
        .any(|found| found.code == AnomalyCode::SimulatorAware);
    if aware
        && report
            .anomalies
            .iter()
            .all(|found| found.code != AnomalyCode::SellBlocked)
    {
        log.unsure(
            AnomalyCode::SellBlocked,
            "contracts: the result of a sell depends on the simulated conditions; see Detects simulation (SIMULATOR_AWARE)",
        );
    }
    let functions = report.selectors.len();
    for code in AnomalyCode::of(Part::Code).filter(|code| !READ.contains(code)) {
        let ran = if TRADED.contains(&code) {
            report.traded
        } else {
            report.conclusive
        };
        if !ran {
            log.unsure(code, &undone);
        } else if !TRADED.contains(&code) {
            let calls = model::format::plural(report.calls, "call", "calls");
            log.saw(
                code,
                format!(
                    "{} ({}, {calls})",
                    code.passed(),
                    model::format::plural(functions as u64, "function", "functions")
                ),
            );
        }
    }
    if let (Some(_), SaleState::Depends(why)) = (&report.simulation, &report.sale) {
        // The real pool was to be traded with, and could not be.
        for code in TRADED
            .iter()
            .filter(|code| report.anomalies.iter().all(|found| found.code != **code))
        {
            log.unsure(*code, format!("contracts: {why}"));
        }
        return;
    }
    let Some(taxes) = report.taxes.filter(|_| report.traded) else {
        return;
    };
    if let SaleState::Depends(why) = &report.sale {
        let open: Vec<_> = TRADED
            .iter()
            .copied()
            .filter(|code| report.anomalies.iter().all(|found| found.code != *code))
            .collect();
        for code in &open {
            log.unsure(*code, format!("contracts: {why}"));
        }
        if !open.is_empty() && report.deployed_by != Some(DeployedBy::Snapshot) {
            log.note(NeededInput::Storage, &open);
        }
    }
    match taxes.sell {
        Some(tax) => log.saw(AnomalyCode::SellTax, format!("{} sell tax", percent(tax))),
        None if report.simulation.is_some() => log.unsure(
            AnomalyCode::SellTax,
            "contracts: the pool's events do not show the amount \
            received",
        ),
        // The trial sold, or tried to: what it could not do is no lack of data.
        None if report.unfinished.is_empty() => {
            log.unsure(
                AnomalyCode::SellTax,
                "contracts: no simulated sell succeeded, so there is no tax to measure",
            );
        }
        None => log.unsure(AnomalyCode::SellTax, &undone),
    }
    if report.simulation.is_none()
        && matches!(
            report.opening,
            Some(Opening::Blocked | Opening::StorageWrite)
        )
    {
        // With unset storage, a failed sale counts neither as found nor as passed.
        let why = "contracts: no call enabled selling, which proves nothing with empty storage; \
                   add the token's `creation_bytecode` or `storage`";
        log.unsure(AnomalyCode::SellBlocked, why);
    }
    if report.sale == SaleState::Unknown {
        for code in TRADED {
            log.unsure(*code, &undone);
        }
    }
    let trading = report.opening.map_or("", |opening| opening.word());
    log.saw(
        AnomalyCode::SellBlocked,
        format!("{} (trading: {trading})", AnomalyCode::SellBlocked.passed()),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Taxes;

    #[test]
    fn a_trade_that_was_not_made_shows_nothing_and_one_that_was_made_does() {
        let done = |bought, sold, finished| {
            Some(TrialsDone {
                bought,
                sold,
                finished,
            })
        };
        let depends = SaleState::Depends("it depends on slot 8".to_owned());
        // What the trades got to, whether the sale stands; of each of BY_TRIALS whether it passed.
        let cases = [
            (done(true, true, true), SaleState::Stands, [true; 5]),
            (
                done(true, false, true),
                SaleState::Stands,
                [true, false, false, false, true],
            ),
            (
                done(false, true, true),
                SaleState::Stands,
                [true, true, true, true, false],
            ),
            (done(true, true, false), SaleState::Stands, [false; 5]),
            (done(true, true, true), depends, [false; 5]),
            (done(true, true, true), SaleState::Unknown, [false; 5]),
            (None, SaleState::Stands, [false; 5]),
        ];
        for (trials, sale, passed) in cases {
            let report = CodeReport {
                traded: true,
                conclusive: true,
                trials,
                sale,
                ..CodeReport::default()
            };
            let mut log = CheckLog::default();
            executed(&report, &mut log);
            assert_eq!(
                BY_TRIALS
                    .iter()
                    .map(|code| log.gap(*code).is_none())
                    .collect::<Vec<_>>(),
                passed,
                "{trials:?} {:?}",
                report.sale
            );
        }
    }

    #[test]
    fn what_was_executed_is_not_said_to_be_beyond_execution() {
        let gap = |report: &CodeReport| {
            let mut log = CheckLog::default();
            executed(report, &mut log);
            log.gap(AnomalyCode::SellTax).unwrap_or_default()
        };
        // It was bought, and not sold.
        let report = CodeReport {
            anomalies: vec![Anomaly::new(
                AnomalyCode::SellBlocked,
                1.0,
                "a holder cannot sell",
            )],
            calls: 868,
            deployed_by: Some(DeployedBy::Constructor),
            opening: Some(Opening::StorageWrite),
            traded: true,
            conclusive: true,
            taxes: Some(Taxes {
                buy: Some(0.0),
                sell: None,
                transfer: Some(0.0),
            }),
            ..CodeReport::default()
        };
        let said = gap(&report);
        assert!(
            said.starts_with("contracts: no simulated sell succeeded") && !said.contains("; add "),
            "{said}"
        );
        let said = gap(&CodeReport {
            unfinished: vec!["the budget is used up".into()],
            ..report.clone()
        });
        assert_eq!(
            said,
            "contracts: the budget is used up; add the token's `storage`"
        );
        let said = gap(&CodeReport {
            deployed_by: Some(DeployedBy::Code),
            traded: false,
            calls: 0,
            ..report
        });
        assert_eq!(
            said,
            "contracts: the contract could not be executed; add the token's `creation_bytecode` or `storage`"
        );
    }
}
