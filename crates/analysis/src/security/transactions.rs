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
    check_log::{CheckLog, NeededInput},
    facts::Facts,
    pool_story::{PoolStory, ReserveSide},
};
use model::{
    address::Address,
    error::Result,
    time::{DAY_MS, Time},
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
    pub log: CheckLog,
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
struct CheckInput<'a> {
    facts: &'a Facts<'a>,
    pools: Vec<PoolStory>,
    ledger: TransferLedger,
    trades: Trades,
    wash: Wash,
    digits: LeadingDigits,
    log: CheckLog,
}

/// Runs the transaction checks. `step` is called with the progress in rows and may cancel.
pub fn examine(facts: &Facts<'_>, step: &dyn Fn(u64, u64) -> Result<()>) -> Result<Transactions> {
    let total = facts.dataset.transfers().count(&facts.address);
    let mut input = CheckInput::new(facts, pool_stories(facts, step)?);
    input.read(total, step)?;
    let eventful = input.pools.iter().any(|pool| pool.last.is_some());
    if total == 0 && !eventful {
        input.log.note(NeededInput::Transfers, &AnomalyCode::of(Part::Transactions).collect::<Vec<_>>());
        return Ok(Transactions { blind: true, log: input.log, ..Transactions::default() });
    }
    let mut anomalies = flow::tests(&mut input);
    anomalies.extend(creator::tests(&mut input));
    if total > 0 {
        anomalies.extend(history::tests(&mut input));
    } else {
        input.log.note(NeededInput::Transfers, history::CODES);
    }
    if facts.dataset.is_approximate("transfers", "value") {
        for anomaly in anomalies.iter_mut().filter(|anomaly| !OF_EVENTS.contains(&anomaly.code)) {
            anomaly.sentence.push_str("; the amounts are approximate, as the dataset says");
        }
    }
    let mut unfinished = Vec::new();
    if input.ledger.overflowed {
        unfinished.push(format!("only {} wallets can be distinguished", ledger::WALLETS_MAX));
    }
    if input.wash.unfinished {
        unfinished.push("windows with too many pairs of traders were not checked for wash trading".to_owned());
    }
    let CheckInput { log, ledger, pools, .. } = input;
    Ok(Transactions { blind: false, anomalies, log, last: ledger.last, unfinished, pools })
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

impl<'a> CheckInput<'a> {
    fn new(facts: &'a Facts<'a>, pools: Vec<PoolStory>) -> Self {
        let launch = pools.iter().filter_map(|pool| pool.first_liquidity).min_by_key(|moment| moment.time);
        let ledger = TransferLedger::new(launch);
        let (trades, wash, digits, log) = (Trades::default(), Wash::default(), LeadingDigits::default(), CheckLog::default());
        Self { facts, pools, ledger, trades, wash, digits, log }
    }

    fn read(&mut self, total: usize, step: &dyn Fn(u64, u64) -> Result<()>) -> Result<()> {
        let mut row = 0;
        for chunk in self.facts.dataset.transfers().chunks(&self.facts.address) {
            step(row as u64, total as u64)?;
            for transfer in &chunk {
                let pools = &self.pools;
                let liquidity = |block: i64| pools.iter().any(|pool| pool.liquidity_blocks.contains(&block));
                if let Some(movement) = self.ledger.add(row, transfer, self.facts, liquidity) {
                    self.trades.add(&movement, &self.ledger, self.facts.creator);
                    self.wash.add(&movement, &self.ledger);
                    self.digits.add(&movement);
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
        self.log.require(supply, NeededInput::Supply, code)
    }

    /// Records these transfers as evidence for a check that finds nothing.
    fn prove(&mut self, code: AnomalyCode, what: &str, places: &[usize]) {
        let rows = self.rows(places);
        self.log.prove_by(code, what, rows);
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
    fn add(&mut self, movement: &Move, ledger: &TransferLedger, creator: Option<Address>) {
        let since_launch = |time: Time| ledger.launch.map(|launch| time.0 - launch.time.0);
        match movement.kind {
            TransferKind::Sell => {
                let outsider = !ledger.wallet(movement.from).insider;
                self.tried += u64::from(outsider);
                self.failed += u64::from(outsider && movement.failed);
                self.sells += u64::from(!movement.failed);
                if !movement.failed {
                    keep(&mut self.sales, movement.row);
                } else if outsider {
                    keep(&mut self.failures, movement.row);
                }
                let by_creator = !movement.failed && Some(ledger.wallet(movement.from).address) == creator;
                let early = movement.time.and_then(since_launch).is_some_and(|since| (0..=DUMP_MS).contains(&since));
                if by_creator && early {
                    self.creator_sold += movement.value;
                    keep(&mut self.creator_sales, movement.row);
                }
            }
            TransferKind::Buy if !movement.failed => {
                self.buys += 1;
                let launch = ledger.launch.and_then(|launch| launch.block);
                let blocks = movement.block.zip(launch).map(|(block, launch)| block - launch);
                if blocks.is_some_and(|blocks| (0..=SNIPE_BLOCKS).contains(&blocks)) {
                    self.sniped += movement.value;
                    keep(&mut self.snipes, movement.row);
                }
            }
            // The mint at launch itself is not late.
            TransferKind::Mint if !movement.failed && movement.time.and_then(since_launch).is_some_and(|since| since > 0) => {
                *self.minted_late.entry(movement.to).or_default() += movement.value;
                keep(&mut self.mints_late, movement.row);
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
