//! Transaction checks: one pass over the token's transfers and its pools' events, then twelve checks, each a function from the aggregates
//! to a finding or `None`. A check that lacks an input notes it and does not fire.

mod amounts;
mod creator;
mod digest;
mod flow;
mod fold;
mod history;
mod ledger;
mod wash;

use self::digest::TransferDigest;
use super::{
    Anomaly, AnomalyCode, EvidenceRow, Part,
    check_log::{CheckLog, NeededInput},
    facts::Facts,
    pool_story::{PoolHistory, ReserveSide},
};
use model::{
    error::Result,
    time::Time,
    transfer_sums::{TransferSample, TransferSums},
};

/// Checks that do not depend on the amounts of transfers.
const OF_EVENTS: &[AnomalyCode] = &[
    AnomalyCode::LiquidityPulled,
    AnomalyCode::SerialDeployer,
    AnomalyCode::SellFailures,
];

/// Results of the transaction checks.
#[derive(Debug, Default)]
pub struct Transactions {
    /// Whether there are neither transfers nor pool events.
    pub blind: bool,
    pub anomalies: Vec<Anomaly>,
    /// Missing inputs of the checks.
    pub log: CheckLog,
    pub last: Option<Time>,
    pub unfinished: Vec<String>,
    /// Histories of the pools, in the order of `Facts::pools`.
    pub pools: Vec<PoolHistory>,
}

/// Input of the checks.
struct CheckInput<'a> {
    facts: &'a Facts<'a>,
    pools: Vec<PoolHistory>,
    digest: TransferDigest,
    log: CheckLog,
}

/// Runs the transaction checks. `step` is called with the progress in rows and may cancel.
pub fn examine(facts: &Facts<'_>, step: &dyn Fn(u64, u64) -> Result<()>) -> Result<Transactions> {
    let total = facts.dataset.transfers_listed(&facts.address);
    let pools = pool_stories(facts, step)?;
    let digest = TransferDigest::new(facts, &pools, &|row| step(row, total))?;
    let mut input = CheckInput {
        facts,
        pools,
        digest,
        log: CheckLog::default(),
    };
    let eventful = input.pools.iter().any(|pool| pool.last.is_some());
    if total == 0 && !eventful {
        input.log.note(
            NeededInput::Transfers,
            &AnomalyCode::of(Part::Transactions).collect::<Vec<_>>(),
        );
        return Ok(Transactions {
            blind: true,
            log: input.log,
            ..Transactions::default()
        });
    }
    let mut anomalies = flow::tests(&mut input);
    anomalies.extend(creator::tests(&mut input));
    if total > 0 {
        anomalies.extend(history::tests(&mut input));
    } else {
        input.log.note(NeededInput::Transfers, history::CODES);
    }
    if facts.dataset.is_approximate("transfers", "value") {
        for anomaly in anomalies
            .iter_mut()
            .filter(|anomaly| !OF_EVENTS.contains(&anomaly.code))
        {
            anomaly.sentence.push_str("; amounts are approximate (floating-point, or declared approximate in `dataset.toml`)");
        }
    }
    let CheckInput {
        log, pools, digest, ..
    } = input;
    let mut unfinished = digest.sums.unfinished;
    if digest.wash_unfinished {
        unfinished.push(
            "time windows with too many pairs of traders were not checked for wash trading"
                .to_owned(),
        );
    }
    Ok(Transactions {
        blind: false,
        anomalies,
        log,
        last: digest.sums.last,
        unfinished,
        pools,
    })
}

fn pool_stories(
    facts: &Facts<'_>,
    step: &dyn Fn(u64, u64) -> Result<()>,
) -> Result<Vec<PoolHistory>> {
    let mut stories = Vec::new();
    for pool in &facts.pools {
        let row = facts
            .dataset
            .pools_of(&facts.address)
            .find(|row| row.address == *pool);
        let side = row.map_or(ReserveSide::Neither, |row| {
            ReserveSide::of(&facts.address, row)
        });
        let mut story = PoolHistory::default();
        for chunk in facts.dataset.pool_events().chunks(pool) {
            step(0, 0)?;
            for event in &chunk {
                story.see(event, side);
            }
        }
        stories.push(story);
    }
    Ok(stories)
}

impl CheckInput<'_> {
    /// Whether any transfer went to or came from a pool.
    fn traded(&self) -> bool {
        self.digest.sums.buys + self.digest.sums.sells > 0
    }

    /// Missing input of a check that knows of no trade.
    fn no_trades(&self) -> NeededInput {
        if self.digest.sums.transfers == 0 {
            NeededInput::Transfers
        } else {
            self.facts.no_trades()
        }
    }

    /// Total supply in smallest units; `None`, with a note of the missing input, if it is unknown.
    fn supply(&mut self, code: AnomalyCode) -> Option<f64> {
        let supply = self.facts.supply(&self.digest.sums);
        self.log.require(supply, NeededInput::Supply, code)
    }

    /// Records these transfers as evidence for a check that finds nothing.
    fn prove(
        &mut self,
        code: AnomalyCode,
        what: &str,
        of: impl Fn(&TransferSums) -> &Vec<TransferSample>,
    ) {
        let rows = self.rows(of(&self.digest.sums));
        self.log.prove_by(code, what, rows);
    }

    /// Transfers as evidence.
    fn rows(&self, rows: &[TransferSample]) -> Vec<EvidenceRow> {
        rows.iter().map(|row| self.row(row)).collect()
    }

    fn row(&self, row: &TransferSample) -> EvidenceRow {
        EvidenceRow {
            table: "transfers",
            timestamp: row.time,
            block_number: row.block,
            transaction_hash: row.hash.clone(),
            address: row.from,
            to_address: row.to,
            amount: row
                .value
                .zip(self.facts.unit())
                .map(|(value, unit)| value / unit),
            ..EvidenceRow::default()
        }
    }
}

/// Formats a fraction as `93.1%`.
pub fn percent(share: f64) -> String {
    // An empty sum is -0.0; adding 0.0 removes the sign.
    format!("{:.1}%", share * 100.0 + 0.0)
}
