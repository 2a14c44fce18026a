//! Transaction checks: one pass over the token's transfers and its pools' events, then twelve checks, each a function from the aggregates
//! to a finding or `None`. A check that lacks an input notes it and does not fire.

mod creator;
mod flow;
mod history;
mod ledger;
mod wash;

pub(crate) use self::flow::{FAILING_FULL as FAILING_SELLS, TRIED_MIN as TRIED_SELLS_MIN};
use self::{ledger::TransferLedger, wash::Wash};
use super::{
    Anomaly, AnomalyCode, EvidenceRow, Part,
    check_log::{CheckLog, NeededInput},
    facts::TokenContext,
    pool_story::{PoolHistory, ReserveSide},
};
use analysis::clusters::{Clusters, clusters_of};
use model::{error::Result, format::count, time::Time};

/// Checks that do not depend on the amounts of transfers.
const OF_EVENTS: &[AnomalyCode] = &[
    AnomalyCode::LiquidityPulled,
    AnomalyCode::SerialDeployer,
    AnomalyCode::SellFailures,
];

/// Checks of all transfers that are here, where the earlier ones are not.
const OF_NEWEST: &[AnomalyCode] = &[
    AnomalyCode::SellFailures,
    AnomalyCode::PrivilegedSellers,
    AnomalyCode::WashTrading,
    AnomalyCode::AirdropSpam,
    AnomalyCode::AmountDigits,
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
    /// Histories of the pools, in the order of `TokenContext::pools`.
    pub pools: Vec<PoolHistory>,
    /// `None` without all transfers of the token.
    pub clusters: Option<Clusters>,
}

/// Input of the checks.
struct CheckInput<'a> {
    facts: &'a TokenContext<'a>,
    pools: Vec<PoolHistory>,
    ledger: TransferLedger,
    wash: Wash,
    log: CheckLog,
}

/// Runs the transaction checks. `step` is called with the progress in rows and may cancel.
pub fn examine(
    facts: &TokenContext<'_>,
    step: &dyn Fn(u64, u64) -> Result<()>,
) -> Result<Transactions> {
    let total = facts.dataset.transfers().count(&facts.address) as u64;
    let pools = pool_stories(facts, step)?;
    let (ledger, wash) = TransferLedger::read(facts, &pools, &|row| step(row, total))?;
    let mut input = CheckInput {
        facts,
        pools,
        ledger,
        wash,
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
    let (newest, mut unfinished) = (newest(facts), Vec::new());
    if !newest.is_empty() {
        let of_newest = |anomaly: &&mut Anomaly| OF_NEWEST.contains(&anomaly.code);
        for anomaly in anomalies.iter_mut().filter(of_newest) {
            anomaly.sentence.push_str(&newest);
        }
        input.log.limit(OF_NEWEST, &newest);
        unfinished.push(format!("the transaction checks ran{newest}"));
    }
    if facts.dataset.is_approximate("transfers", "value") {
        // Once is enough: a reader sees all findings together.
        let mut of_transfers = anomalies
            .iter_mut()
            .filter(|anomaly| !OF_EVENTS.contains(&anomaly.code));
        if let Some(first) = of_transfers.next() {
            first.sentence.push_str("; amounts are approximate in all findings (floating-point, or declared approximate in `dataset.toml`)");
        }
    }
    let CheckInput {
        log,
        pools,
        ledger,
        wash,
        ..
    } = input;
    if ledger.overflowed {
        unfinished.push(format!(
            "wallets beyond the first {} were not tracked",
            ledger::WALLETS_MAX
        ));
    }
    if wash.unfinished {
        unfinished.push(
            "time windows with too many pairs of traders were not checked for wash trading"
                .to_owned(),
        );
    }
    let mut going = Ok(());
    let clusters = clusters_of(facts.dataset, &facts.address, &mut |done, _| {
        going = step(done as u64, total);
        going.is_ok()
    });
    going?;
    Ok(Transactions {
        clusters: clusters.ok(),
        blind: false,
        anomalies,
        log,
        last: ledger.last,
        unfinished,
        pools,
    })
}

/// The transfers that the checks are over, if earlier ones are not here; otherwise empty.
fn newest(facts: &TokenContext<'_>) -> String {
    let (dataset, token) = (facts.dataset, &facts.address);
    let left_out = dataset.transfers_left_out(token);
    if left_out == 0 {
        return String::new();
    }
    let here = dataset.transfers().count(token) as u64;
    let since = dataset
        .transfers()
        .first(token)
        .and_then(|row| row.timestamp)
        .map_or_else(String::new, |time| format!(", since {time}"));
    format!(
        " over the newest {} of {} transfers{since}",
        count(here),
        count(here + left_out)
    )
}

fn pool_stories(
    facts: &TokenContext<'_>,
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
        self.ledger.buys + self.ledger.sells > 0
    }

    /// Missing input of a check that knows of no trade.
    fn no_trades(&self) -> NeededInput {
        if self.ledger.transfers == 0 {
            NeededInput::Transfers
        } else {
            self.facts.no_trades()
        }
    }

    /// Total supply in smallest units: the dataset's value, or mints minus burns; `None`, with a note of the missing input, if it is unknown.
    fn supply(&mut self, code: AnomalyCode) -> Option<f64> {
        let given = self
            .facts
            .total_supply()
            .zip(self.facts.unit())
            .map(|(supply, unit)| supply * unit);
        let ledger = &self.ledger;
        let replayed = ledger.complete.then_some(ledger.minted - ledger.burned);
        let supply = given
            .or(replayed)
            .filter(|supply| supply.is_finite() && *supply > 0.0);
        self.log.require(supply, NeededInput::Supply, code)
    }

    /// Records these transfers as evidence for a check that finds nothing.
    fn prove(
        &mut self,
        code: AnomalyCode,
        what: &str,
        of: impl Fn(&TransferLedger) -> &Vec<usize>,
    ) {
        let rows = self.rows(of(&self.ledger));
        self.log.prove_by(code, what, rows);
    }

    /// Transfers as evidence, by their numbers.
    fn rows(&self, places: &[usize]) -> Vec<EvidenceRow> {
        places.iter().map(|place| self.row(*place)).collect()
    }

    fn row(&self, place: usize) -> EvidenceRow {
        let (transfers, token) = (self.facts.dataset.transfers(), &self.facts.address);
        let row = transfers.row(token, place);
        let row = row.as_ref();
        EvidenceRow {
            table: "transfers",
            timestamp: row.and_then(|row| row.timestamp),
            block_number: row.and_then(|row| row.block_number),
            transaction_hash: transfers.text(token, place, "transaction_hash"),
            address: row.and_then(|row| row.from_address),
            to_address: row.and_then(|row| row.to_address),
            amount: row
                .and_then(|row| row.value)
                .zip(self.facts.unit())
                .map(|(value, unit)| value.0 / unit),
            ..EvidenceRow::default()
        }
    }
}

/// Formats a fraction as `93.1%`.
pub fn percent(share: f64) -> String {
    // An empty sum is -0.0; adding 0.0 removes the sign.
    format!("{:.1}%", share * 100.0 + 0.0)
}
