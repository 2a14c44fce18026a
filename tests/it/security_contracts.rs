//! Shared helpers of the contract tests: a service over contract tables and its answers, execution of a contract, and comparison of the
//! findings with the planted faults.

use std::{collections::BTreeSet, sync::Arc};

use demo::contracts::{Contract, ContractCode};
use model::{address::Address, error::Result, progress::Progress};
use query::{
    queries::security::SecurityQuery,
    service::{QueryService, ServiceOptions},
};
use security::{
    SecurityInference,
    code::{Budget, CodeInput, CodeReport, inspect},
};

pub(crate) type Codes = BTreeSet<&'static str>;

/// A service over these tables, given as CSV.
pub(crate) fn deck_of(tables: &[(&str, String)]) -> Arc<QueryService> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in tables {
        std::fs::write(folder.path().join(format!("{name}.csv")), text).unwrap();
    }
    let service = QueryService::new(folder.path(), ServiceOptions::default()).unwrap();
    service.load().unwrap();
    service
}

/// The explained answer.
pub(crate) fn ask(service: &QueryService, contract_address: Address) -> Result<SecurityInference> {
    service
        .answer(
            &SecurityQuery {
                contract_address,
                explain: true,
            },
            &Progress::default(),
        )
        .map(|known| known.answer.clone())
}

/// Deploys the contract, whose constructor takes no arguments, and trades its token.
pub(crate) fn executed(code: &ContractCode) -> CodeReport {
    let input = CodeInput {
        runtime: &code.runtime,
        creation: Some(&code.creation),
        constructor_types: Some(&[]),
        has_source: true,
        ..CodeInput::default()
    };
    inspect(&input, &Budget::default(), &|| false)
}

pub(crate) fn codes(report: &CodeReport) -> Codes {
    report
        .anomalies
        .iter()
        .map(|anomaly| anomaly.code.word())
        .collect()
}

/// Describes wrong findings: missed faults, and unjustified codes; `None` if all is right.
pub(crate) fn wrong(what: &str, contract: &Contract, found: &Codes) -> Option<String> {
    let missed: Vec<_> = contract
        .fires
        .iter()
        .filter(|code| !found.contains(*code))
        .collect();
    let borne_out =
        |code: &&&'static str| contract.fires.contains(*code) || contract.also.contains(*code);
    let false_alarms: Vec<_> = found.iter().filter(|code| !borne_out(code)).collect();
    let right = missed.is_empty() && false_alarms.is_empty();
    (!right).then(|| {
        format!(
            "{what}: {} missed {missed:?}, accused falsely {false_alarms:?}",
            contract.name
        )
    })
}
