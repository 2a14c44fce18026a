//! Traps written from public reports of scams by an author who had not read this program, and honest tokens of the same shape. Each was measured
//! by trading on a local chain. A trap counts as detected by a finding, or if it is unknown whether the token can be sold. Which codes count was
//! fixed after the first results were seen, and the engine was changed by them: this guards against regressions and measures nothing. Group `now`
//! takes the money immediately, `later` takes it later or from some holders, `armed` after a call by its developer.

use serde::Deserialize;

use super::{accounts::Accounts, machine::Machine, *};
use crate::AnomalyCode;

#[derive(Deserialize)]
struct Unseen {
    id: String,
    group: String,
    what: String,
    creation: String,
}

/// Findings that count against a trap.
const WARNINGS: &[AnomalyCode] = &[
    AnomalyCode::SellBlocked,
    AnomalyCode::SimulatorAware,
    AnomalyCode::ClosesLater,
    AnomalyCode::PersonalTax,
    AnomalyCode::Blacklist,
    AnomalyCode::Pausable,
    AnomalyCode::TaxRaisable,
    AnomalyCode::ExternalGate,
    AnomalyCode::OwnerDrain,
    AnomalyCode::PublicDrain,
    AnomalyCode::OwnershipReturns,
    AnomalyCode::LimitChangeable,
    AnomalyCode::BuyBlockable,
];
/// Traps that still get past by their code alone.
const PAST: &[&str] = &[
    "R03", "R21", "R34", "R36", "R42", "S17", "T10", "T13", "T19", "V06", "V12", "V19", "V20",
    "V21", "X06", "X13", "X16", "Z06", "Z19", "A10",
];

fn looked_at(token: &Unseen) -> CodeReport {
    let creation = const_hex::decode(&token.creation).expect("hex");
    let place = CodePlace::default();
    let seed = place.seed();
    let never = || false;
    let mut machine = Machine::new(
        &Budget::default(),
        &never,
        Accounts::new(seed, None, None),
        seed,
        place.time(),
    );
    let owner = machine.people.owner;
    let made = machine
        .create(owner, creation.clone())
        .created
        .expect("a contract");
    let runtime = machine.evm_state().code(made);
    let input = CodeInput {
        runtime: &runtime,
        creation: Some(&creation),
        constructor_types: Some(&[]),
        has_source: true,
        ..CodeInput::default()
    };
    inspect(&input, &Budget::default(), &never)
}

#[test]
fn traps_that_nobody_here_wrote_are_told_and_honest_tokens_are_not_accused() {
    let tokens: Vec<Unseen> = serde_json::from_str(include_str!("unseen.json")).expect("a list");
    let mut wrong = Vec::new();
    for token in &tokens {
        let report = looked_at(token);
        // A tax of more than a fifth; no trade of more than 2 % of the pool.
        let harsh = |anomaly: &Anomaly| match anomaly.code {
            AnomalyCode::SellTax => anomaly.strength > 0.4,
            AnomalyCode::Limit => anomaly.strength > 0.9,
            _ => false,
        };
        let taxed = report.anomalies.iter().any(harsh);
        let told: Vec<&str> = report
            .anomalies
            .iter()
            .filter(|anomaly| WARNINGS.contains(&anomaly.code))
            .map(|anomaly| anomaly.code.word())
            .collect();
        let open = !matches!(report.sale, SaleState::Stands);
        let is_told = taxed || !told.is_empty() || open && token.group != "honest";
        let expected = token.group != "honest" && !PAST.contains(&&*token.id);
        if is_told != expected {
            let sentences: Vec<&str> = report
                .anomalies
                .iter()
                .map(|anomaly| &*anomaly.sentence)
                .collect();
            wrong.push(format!(
                "{} ({}, {}): {told:?} {:?} {:?} {:?}",
                token.id, token.group, token.what, report.sale, report.unfinished, sentences
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        tokens.len(),
        wrong.join("\n")
    );
}

/// Both leave `balanceOf` without an amount for every holder: one no longer answers, so nothing is known to be taken; the other answers zero.
#[test]
fn a_contract_that_no_longer_answers_has_taken_nothing() {
    let tokens: Vec<Unseen> = serde_json::from_str(include_str!("silent.json")).expect("a list");
    let drains = |token: &Unseen| {
        looked_at(token)
            .anomalies
            .iter()
            .any(|anomaly| anomaly.code == AnomalyCode::OwnerDrain)
    };
    let found: Vec<(&str, bool)> = tokens
        .iter()
        .map(|token| (&*token.id, drains(token)))
        .collect();
    assert_eq!(found, [("retire", false), ("rescale", true)]);
}
