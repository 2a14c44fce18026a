//! What can only be judged once the tables stand together. A contradiction between tables is a finding; no figure is changed here.

use crate::dataset::{
    Dataset,
    findings::{Finding, Severity},
    rows::YieldRow,
};

/// The largest holders whose share is ever answered.
const LARGEST: usize = 50;

/// Tokens whose largest holders hold more than there is outside burn addresses: their shares are answered as 1.
pub(super) fn judge(dataset: &mut Dataset) {
    let mut found = Vec::new();
    for token in dataset.tokens() {
        let Some(supply) = token.row.total_supply else { continue };
        let (mut burned, mut held, mut counted) = (0.0, 0.0, 0);
        for (holder, balance) in dataset.holders_of(&token.row.token_address).balances() {
            let balance = balance.filter(|balance| *balance > 0.0).unwrap_or_default();
            if dataset.is_labelled(&holder, "burn") {
                burned += balance;
            } else if counted < LARGEST {
                held += balance;
                counted += 1;
            }
        }
        if held > supply - burned && supply > burned {
            found.push((token.row.token_address, held, supply - burned));
        }
    }
    unusable_pools(dataset);
    let Some(table) = dataset.tables.iter_mut().find(|table| table.schema.name == "holders") else { return };
    let file = table.sources.first().map_or_else(|| "holders".to_owned(), |source| source.file.clone());
    for (token, held, supply) in found {
        table.findings.add(Finding {
            severity: Severity::Warning,
            file: file.clone(),
            row: None,
            column: Some("balance".to_owned()),
            value: Some(format!("{token}: {held} of {supply}")),
            reason: "the largest holders hold more than the supply outside burn addresses; their share is answered as 1".to_owned(),
        });
    }
}

/// Yield pools that no plan can use.
fn unusable_pools(dataset: &mut Dataset) {
    let told = |row: &YieldRow| row.unusable().map(|(column, reason)| (row.pool.clone(), column, reason));
    let found: Vec<_> = dataset.yields().iter().filter_map(told).collect();
    let Some(table) = dataset.tables.iter_mut().find(|table| table.schema.name == "yields") else { return };
    let file = table.sources.first().map_or_else(|| "yields".to_owned(), |source| source.file.clone());
    for (pool, column, reason) in found {
        table.findings.add(Finding {
            severity: Severity::Note,
            file: file.clone(),
            row: None,
            column: Some(column.to_owned()),
            value: Some(pool),
            reason: reason.to_owned(),
        });
    }
}
