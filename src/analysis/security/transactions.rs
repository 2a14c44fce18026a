//! Transaction checks: one pass over the token's transfers and its pools' events, then twelve checks, each a function from the aggregates
//! to an anomaly or `None`. A check that lacks an input notes it and does not fire.

mod amounts;
mod creator;
mod flow;
mod history;
mod ledger;
mod wash;

use self::{
    amounts::LeadingDigits,
    ledger::{Move, TransferKind, TransferLedger},
    wash::Wash,
};
use super::{
    Anomaly, AnomalyCode, EvidenceRow, Part,
    facts::Facts,
    missing::{Lacking, NeededInput},
    pool_story::{PoolStory, ReserveSide},
};
use crate::{
    dataset::{
        address::Address,
        time::{DAY_MS, Time},
    },
    error::Result,
};

/// Number of blocks after the first liquidity in which a purchase counts as sniping.
const SNIPE_BLOCKS: i64 = 3;
const DUMP_MS: i64 = 7 * DAY_MS;

/// Checks that do not depend on the amounts of transfers.
const OF_EVENTS: &[AnomalyCode] = &[AnomalyCode::LiquidityPulled, AnomalyCode::SerialDeployer, AnomalyCode::SellFailures];

/// Results of the transaction checks.
#[derive(Debug, Default)]
pub struct Transactions {
    /// Whether there are neither transfers nor pool events.
    pub blind: bool,
    pub anomalies: Vec<Anomaly>,
    /// Inputs that the checks needed and did not have.
    pub lacking: Lacking,
    pub last: Option<Time>,
    pub unfinished: Vec<String>,
    /// Histories of the pools, in the order of `Facts::pools`.
    pub pools: Vec<PoolStory>,
}

/// Aggregates over the trades.
#[derive(Debug, Default)]
struct Trades {
    buys: u64,
    sells: u64,
    /// Sales attempted by outsiders; `failed`: those that failed.
    tried: u64,
    failed: u64,
    /// Row numbers of the first sales; `failures`: of failed sales; `snipes`: of purchases by snipers.
    sales: Vec<usize>,
    failures: Vec<usize>,
    snipes: Vec<usize>,
    sniped: f64,
    creator_sold: f64,
    creator_sales: Vec<usize>,
    minted_late: std::collections::BTreeMap<u32, f64>,
    mints_late: Vec<usize>,
}

/// Input of the checks.
struct Seen<'a> {
    facts: &'a Facts<'a>,
    pools: Vec<PoolStory>,
    ledger: TransferLedger,
    trades: Trades,
    wash: Wash,
    digits: LeadingDigits,
    lacking: Lacking,
}

/// Runs the transaction checks. `step` is called with the progress in rows and may cancel.
pub fn examine(facts: &Facts<'_>, step: &dyn Fn(u64, u64) -> Result<()>) -> Result<Transactions> {
    let total = facts.dataset.transfers().count(&facts.address);
    let mut seen = Seen::new(facts, pool_stories(facts, step)?);
    seen.read(total, step)?;
    let eventful = seen.pools.iter().any(|pool| pool.last.is_some());
    if total == 0 && !eventful {
        seen.lacking.note(NeededInput::Transfers, &AnomalyCode::of(Part::Transactions).collect::<Vec<_>>());
        return Ok(Transactions { blind: true, lacking: seen.lacking, ..Transactions::default() });
    }
    let mut anomalies = flow::tests(&mut seen);
    anomalies.extend(creator::tests(&mut seen));
    if total > 0 {
        anomalies.extend(history::tests(&mut seen));
    } else {
        seen.lacking.note(NeededInput::Transfers, history::CODES);
    }
    if facts.dataset.is_approximate("transfers", "value") {
        for anomaly in anomalies.iter_mut().filter(|anomaly| !OF_EVENTS.contains(&anomaly.code)) {
            anomaly.sentence.push_str("; the amounts are approximate, as the dataset says");
        }
    }
    let mut unfinished = Vec::new();
    if seen.ledger.overflowed {
        unfinished.push(format!("only {} wallets can be distinguished", ledger::WALLETS_MAX));
    }
    if seen.wash.unfinished {
        unfinished.push("windows with too many pairs of traders were not checked for wash trading".to_owned());
    }
    let Seen { lacking, ledger, pools, .. } = seen;
    Ok(Transactions { blind: false, anomalies, lacking, last: ledger.last, unfinished, pools })
}

fn pool_stories(facts: &Facts<'_>, step: &dyn Fn(u64, u64) -> Result<()>) -> Result<Vec<PoolStory>> {
    let mut stories = Vec::new();
    for pool in &facts.pools {
        let row = facts.dataset.pools_of(&facts.address).find(|row| row.address == *pool);
        let side = row.map_or(ReserveSide::Neither, |row| ReserveSide::of(&facts.address, row));
        let mut story = PoolStory::default();
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

impl<'a> Seen<'a> {
    fn new(facts: &'a Facts<'a>, pools: Vec<PoolStory>) -> Self {
        let launch = pools.iter().filter_map(|pool| pool.first_liquidity).min_by_key(|moment| moment.time);
        let ledger = TransferLedger::new(launch);
        let (trades, wash, digits, lacking) = (Trades::default(), Wash::default(), LeadingDigits::default(), Lacking::default());
        Self { facts, pools, ledger, trades, wash, digits, lacking }
    }

    fn read(&mut self, total: usize, step: &dyn Fn(u64, u64) -> Result<()>) -> Result<()> {
        let mut row = 0;
        for chunk in self.facts.dataset.transfers().chunks(&self.facts.address) {
            step(row as u64, total as u64)?;
            for transfer in &chunk {
                let pools = &self.pools;
                let liquidity = |block: i64| pools.iter().any(|pool| pool.liquidity_blocks.contains(&block));
                if let Some(seen) = self.ledger.see(row, transfer, self.facts, liquidity) {
                    self.trades.see(&seen, &self.ledger, self.facts.creator);
                    self.wash.see(&seen, &self.ledger);
                    self.digits.see(&seen);
                }
                row += 1;
            }
        }
        Ok(())
    }

    /// Whether any transfer went to or came from a pool.
    fn traded(&self) -> bool {
        self.trades.buys + self.trades.sells > 0
    }

    /// Total supply in smallest units; `None`, with a note of the missing input, if it is unknown.
    fn supply(&mut self, code: AnomalyCode) -> Option<f64> {
        let supply = self.ledger.supply(self.facts);
        self.lacking.require(supply, NeededInput::Supply, code)
    }

    /// Records these transfers as evidence for a check that finds nothing.
    fn prove(&mut self, code: AnomalyCode, what: &str, places: &[usize]) {
        let rows = self.rows(places);
        self.lacking.prove_by(code, what, rows);
    }

    /// Transfers with the given row numbers, as evidence.
    fn rows(&self, places: &[usize]) -> Vec<EvidenceRow> {
        places.iter().map(|place| self.row(*place)).collect()
    }

    /// The transfer with the given row number, as evidence.
    fn row(&self, place: usize) -> EvidenceRow {
        let (transfers, token) = (self.facts.dataset.transfers(), &self.facts.address);
        let unit = self.facts.unit();
        let Some(row) = transfers.row(token, place) else { return EvidenceRow { table: "transfers", ..EvidenceRow::default() } };
        EvidenceRow {
            table: "transfers",
            timestamp: row.timestamp,
            block_number: row.block_number,
            transaction_hash: transfers.text(token, place, "transaction_hash"),
            address: row.from_address,
            to_address: row.to_address,
            amount: row.value.zip(unit).map(|(value, unit)| value.0 / unit),
            ..EvidenceRow::default()
        }
    }
}

impl Trades {
    fn see(&mut self, seen: &Move, ledger: &TransferLedger, creator: Option<Address>) {
        let since_launch = |time: Time| ledger.launch.map(|launch| time.0 - launch.time.0);
        match seen.kind {
            TransferKind::Sell => {
                let outsider = !ledger.wallet(seen.from).insider;
                self.tried += u64::from(outsider);
                self.failed += u64::from(outsider && seen.failed);
                self.sells += u64::from(!seen.failed);
                if !seen.failed {
                    keep(&mut self.sales, seen.row);
                } else if outsider {
                    keep(&mut self.failures, seen.row);
                }
                let by_creator = !seen.failed && Some(ledger.wallet(seen.from).address) == creator;
                let early = seen.time.and_then(since_launch).is_some_and(|since| (0..=DUMP_MS).contains(&since));
                if by_creator && early {
                    self.creator_sold += seen.value;
                    keep(&mut self.creator_sales, seen.row);
                }
            }
            TransferKind::Buy if !seen.failed => {
                self.buys += 1;
                let launch = ledger.launch.and_then(|launch| launch.block);
                let blocks = seen.block.zip(launch).map(|(block, launch)| block - launch);
                if blocks.is_some_and(|blocks| (0..=SNIPE_BLOCKS).contains(&blocks)) {
                    self.sniped += seen.value;
                    keep(&mut self.snipes, seen.row);
                }
            }
            // The mint at launch itself is not late.
            TransferKind::Mint if !seen.failed && seen.time.and_then(since_launch).is_some_and(|since| since > 0) => {
                *self.minted_late.entry(seen.to).or_default() += seen.value;
                keep(&mut self.mints_late, seen.row);
            }
            _ => {}
        }
    }
}

/// Keeps the first rows, as many as evidence can show.
fn keep(rows: &mut Vec<usize>, row: usize) {
    if rows.len() < super::EVIDENCE_ROWS_MAX {
        rows.push(row);
    }
}

/// Formats a fraction as `93.1 %`.
pub(super) fn percent(share: f64) -> String {
    // An empty sum is -0.0; adding 0.0 removes the sign.
    format!("{:.1} %", share * 100.0 + 0.0)
}
