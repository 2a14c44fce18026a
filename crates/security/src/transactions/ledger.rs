//! One pass over a token's transfers: balances, trades, mints and burns, and the first rows of each kind. Memory grows with the number of
//! wallets, not of transfers. The checks interpret the aggregates.

use std::collections::{BTreeMap, HashMap};

use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::wash::Wash;
use crate::{
    EVIDENCE_ROWS_MAX,
    facts::{AddressRole, TokenContext},
    pool_story::{Moment, PoolHistory},
};
use model::{
    address::Address,
    error::Result,
    rows::TransferRow,
    time::{DAY_MS, Time},
};

/// Maximum number of distinct wallets; all further ones share one entry.
pub(super) const WALLETS_MAX: usize = 4_000_000;
/// Number of blocks after the first liquidity in which a buy counts as sniping.
pub(super) const SNIPE_BLOCKS: i64 = 3;
/// Time after the first liquidity, in milliseconds, in which sells by the creator count as a dump.
const DUMP_MS: i64 = 7 * DAY_MS;
/// A transfer of at least this fraction of a pool's balance is a removal of liquidity: no trade against a constant-product pool yields that
/// much.
const EMPTYING: f64 = 0.9;
/// Minimum balance of a pool, as a fraction of its peak, for its emptying to matter.
const WORTH_PULLING: f64 = 0.01;
/// A transfer into a pool opens the pool if the pool has at most this fraction of the amount: it adds liquidity.
const OPENING: f64 = 1e-6;

/// An address as seen in the transfers. Amounts are in smallest units.
#[derive(Debug, Clone)]
pub(super) struct Wallet {
    pub(super) address: Address,
    pub(super) role: AddressRole,
    /// Whether it is a pool in which the token is the quote side.
    pub(super) quoted: bool,
    pub(super) insider: bool,
    pub(super) balance: f64,
    pub(super) peak: f64,
    pub(super) received: u32,
    pub(super) sent: u32,
    /// Sender and value of the first transfer it received.
    pub(super) first_from: u32,
    pub(super) first_value: f64,
    pub(super) bought: f64,
    pub(super) sold: f64,
}

/// A transfer, successful or failed, with its ends as indices into `wallets`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Move {
    /// Row number among the token's transfers.
    pub(super) row: usize,
    pub(super) time: Option<Time>,
    pub(super) block: Option<i64>,
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) value: f64,
    pub(super) failed: bool,
    pub(super) kind: TransferKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TransferKind {
    Mint,
    Burn,
    Buy,
    Sell,
    /// Liquidity added or removed, and transfers among pools and routers.
    Venue,
    Transfer,
}

/// A removal of liquidity by one transfer.
#[derive(Debug, Clone, Copy)]
pub(super) struct PoolDrain {
    pub(super) share: f64,
    pub(super) row: usize,
    pub(super) at: Option<Moment>,
    pub(super) value: f64,
    /// Amount added to pools within a day afterwards.
    pub(super) put_back: f64,
}

/// Sums over the transfers whose ends and amount are known. Amounts are in base units, rows by their number among the token's transfers.
#[derive(Debug, Default)]
pub(super) struct TransferLedger {
    pub(super) wallets: Vec<Wallet>,
    ids: HashMap<Address, u32>,
    /// Number of earlier transfers that are not here.
    pub(super) left_out: u64,
    pub(super) transfers: u64,
    /// Whether the history begins with a mint, so that balances can be replayed.
    pub(super) complete: bool,
    /// Whether any row has a success status.
    pub(super) statuses: bool,
    pub(super) minted: f64,
    pub(super) burned: f64,
    /// The first liquidity.
    pub(super) launch: Option<Moment>,
    pub(super) last: Option<Time>,
    pub(super) worst_emptied: Option<PoolDrain>,
    pub(super) overflowed: bool,
    pub(super) buys: u64,
    pub(super) sells: u64,
    /// Sells attempted by wallets other than creator and owner; `failed` counts those that failed.
    pub(super) tried: u64,
    pub(super) failed: u64,
    pub(super) sales: Vec<usize>,
    pub(super) failures: Vec<usize>,
    /// Amount bought within `SNIPE_BLOCKS` of the launch.
    pub(super) sniped: f64,
    pub(super) snipes: Vec<usize>,
    /// Amount sold by the creator within `DUMP_MS` of the launch.
    pub(super) creator_sold: f64,
    pub(super) creator_sales: Vec<usize>,
    /// Amount minted after the launch, by receiver.
    pub(super) minted_late: BTreeMap<u32, f64>,
    pub(super) mints_late: Vec<usize>,
    /// Number of amounts by first digit, 1 to 9.
    pub(super) digits: [u64; 9],
    /// Amount traded, and sent between traders, without mints, burns and liquidity.
    pub(super) volume: f64,
}

impl TransferLedger {
    /// Reads the transfers that are here, also for wash trading. `step` is called with the number of rows read.
    pub(super) fn read(
        facts: &TokenContext<'_>,
        pools: &[PoolHistory],
        step: &dyn Fn(u64) -> Result<()>,
    ) -> Result<(Self, Wash)> {
        let mut ledger = Self {
            left_out: facts.dataset.transfers_left_out(&facts.address),
            launch: pools
                .iter()
                .filter_map(|pool| pool.first_liquidity)
                .min_by_key(|moment| moment.time),
            ..Self::default()
        };
        let mut wash = Wash::default();
        let liquidity = |block: i64| {
            pools
                .iter()
                .any(|pool| pool.liquidity_blocks.contains(&block))
        };
        let mut row = 0;
        for chunk in facts.dataset.transfers().chunks(&facts.address) {
            step(row as u64)?;
            for transfer in &chunk {
                if let Some(movement) = ledger.add(row, transfer, facts, liquidity) {
                    wash.add(&movement, &ledger);
                    ledger.count(&movement, facts);
                }
                row += 1;
            }
        }
        Ok((ledger, wash))
    }

    /// Whether earlier transfers are not here: balances, and what began before, are unknown.
    pub(super) fn is_part(&self) -> bool {
        self.left_out > 0
    }

    fn id(&mut self, address: Address, facts: &TokenContext<'_>) -> u32 {
        if let Some(id) = self.ids.get(&address) {
            return *id;
        }
        let full = self.wallets.len() >= WALLETS_MAX;
        if full {
            self.overflowed = true;
            return WALLETS_MAX as u32 - 1;
        }
        let id = self.wallets.len() as u32;
        self.wallets.push(Wallet {
            address,
            role: facts.role(&address),
            quoted: facts.quoted.contains(&address),
            insider: facts.insider(&address),
            balance: 0.0,
            peak: 0.0,
            received: 0,
            sent: 0,
            first_from: u32::MAX,
            first_value: 0.0,
            bought: 0.0,
            sold: 0.0,
        });
        self.ids.insert(address, id);
        id
    }

    pub(super) fn wallet(&self, id: u32) -> &Wallet {
        &self.wallets[id as usize]
    }

    pub(super) fn find(&self, address: &Address) -> Option<&Wallet> {
        self.ids.get(address).map(|id| self.wallet(*id))
    }

    pub(super) fn traders(&self) -> impl Iterator<Item = &Wallet> {
        self.wallets
            .iter()
            .filter(|wallet| wallet.role == AddressRole::Trader)
    }

    /// Processes the next transfer; returns `None` if its ends or its amount are unknown.
    fn add(
        &mut self,
        row: usize,
        transfer: &TransferRow,
        facts: &TokenContext<'_>,
        liquidity_block: impl Fn(i64) -> bool,
    ) -> Option<Move> {
        let (from, to, value) = (
            transfer.from_address?,
            transfer.to_address?,
            transfer.value?.0,
        );
        self.statuses |= transfer.status.is_some();
        let failed = transfer.status == Some(0);
        self.last = self.last.max(transfer.timestamp);
        let mint = from == Address::ZERO;
        if self.transfers == 0 {
            self.complete = mint && !self.is_part();
        }
        self.transfers += 1;
        let (from, to) = (self.id(from, facts), self.id(to, facts));
        let liquidity = transfer.block_number.is_some_and(liquidity_block);
        let mut movement = Move {
            row,
            time: transfer.timestamp,
            block: transfer.block_number,
            from,
            to,
            value,
            failed,
            kind: if mint {
                TransferKind::Mint
            } else {
                TransferKind::Transfer
            },
        };
        if !mint {
            movement.kind = self.kind(&movement, liquidity);
        }
        if !failed {
            self.book(&movement);
        }
        Some(movement)
    }

    fn kind(&mut self, movement: &Move, liquidity: bool) -> TransferKind {
        let (from, to) = (self.wallet(movement.from), self.wallet(movement.to));
        let venue = |role: AddressRole| matches!(role, AddressRole::Pool | AddressRole::Router);
        match (venue(from.role), venue(to.role)) {
            (true, true) => TransferKind::Venue,
            // Transfers to and from a pool with the token as the quote side pay for the other token.
            _ if from.quoted || to.quoted => TransferKind::Venue,
            (true, false) => {
                let emptying = !self.is_part()
                    && from.role == AddressRole::Pool
                    && from.balance > 0.0
                    && movement.value >= EMPTYING * from.balance;
                if emptying && !movement.failed && from.balance >= WORTH_PULLING * from.peak {
                    self.emptied(movement, (movement.value / from.balance).min(1.0));
                }
                if emptying || liquidity {
                    TransferKind::Venue
                } else {
                    TransferKind::Buy
                }
            }
            (false, true) => {
                // The first transfer into a pool, or into an empty pool, is liquidity.
                let opening = !self.is_part()
                    && to.role == AddressRole::Pool
                    && (self.launch.is_none() || to.balance <= movement.value * OPENING);
                if opening || liquidity {
                    TransferKind::Venue
                } else {
                    TransferKind::Sell
                }
            }
            (false, false) if to.role == AddressRole::Burned => TransferKind::Burn,
            (false, false) => TransferKind::Transfer,
        }
    }

    fn emptied(&mut self, movement: &Move, share: f64) {
        if self.worst_emptied.is_none_or(|worst| share > worst.share) {
            let at = movement.time.map(|time| Moment {
                time,
                block: movement.block,
            });
            self.worst_emptied = Some(PoolDrain {
                share,
                row: movement.row,
                at,
                value: movement.value,
                put_back: 0.0,
            });
        }
    }

    /// Books a successful transfer.
    fn book(&mut self, movement: &Move) {
        let to = self.wallet(movement.to);
        let into_pool = !self.is_part()
            && to.role == AddressRole::Pool
            && !to.quoted
            && movement.kind != TransferKind::Sell;
        if into_pool && let Some(time) = movement.time {
            self.launch.get_or_insert(Moment {
                time,
                block: movement.block,
            });
            if let Some(emptied) = &mut self.worst_emptied
                && emptied.at.is_some_and(|at| time.0 - at.time.0 <= DAY_MS)
            {
                emptied.put_back += movement.value;
            }
        }
        match movement.kind {
            TransferKind::Mint => self.minted += movement.value,
            TransferKind::Burn => self.burned += movement.value,
            _ => {}
        }
        let from = &mut self.wallets[movement.from as usize];
        from.sent = from.sent.saturating_add(1);
        if movement.kind != TransferKind::Mint {
            from.balance -= movement.value;
        }
        from.sold += if movement.kind == TransferKind::Sell {
            movement.value
        } else {
            0.0
        };
        let to = &mut self.wallets[movement.to as usize];
        if to.received == 0 {
            (to.first_from, to.first_value) = (movement.from, movement.value);
        }
        to.received = to.received.saturating_add(1);
        to.balance += movement.value;
        to.peak = to.peak.max(to.balance);
        to.bought += if movement.kind == TransferKind::Buy {
            movement.value
        } else {
            0.0
        };
    }

    /// Adds a transfer, successful or failed, to the counts of its kind.
    fn count(&mut self, movement: &Move, facts: &TokenContext<'_>) {
        let Move {
            failed,
            value,
            row,
            kind,
            ..
        } = *movement;
        if !failed
            && matches!(
                kind,
                TransferKind::Buy | TransferKind::Sell | TransferKind::Transfer
            )
        {
            self.volume += value;
            if let Some(digit) = first_digit(value) {
                self.digits[digit - 1] += 1;
            }
        }
        let since_launch = movement
            .time
            .zip(self.launch)
            .map(|(time, launch)| time.0 - launch.time.0);
        match kind {
            TransferKind::Sell => {
                let seller = self.wallet(movement.from);
                let (insider, by_creator) = (seller.insider, Some(seller.address) == facts.creator);
                self.tried += u64::from(!insider);
                self.failed += u64::from(!insider && failed);
                self.sells += u64::from(!failed);
                if !failed {
                    keep(&mut self.sales, row);
                } else if !insider {
                    keep(&mut self.failures, row);
                }
                let early = since_launch.is_some_and(|since| (0..=DUMP_MS).contains(&since));
                if !failed && by_creator && early {
                    self.creator_sold += value;
                    keep(&mut self.creator_sales, row);
                }
            }
            TransferKind::Buy if !failed => {
                self.buys += 1;
                let launch = self.launch.and_then(|launch| launch.block);
                let blocks = movement
                    .block
                    .zip(launch)
                    .map(|(block, launch)| block - launch);
                if blocks.is_some_and(|blocks| (0..=SNIPE_BLOCKS).contains(&blocks)) {
                    self.sniped += value;
                    keep(&mut self.snipes, row);
                }
            }
            // The mint at launch itself is not late.
            TransferKind::Mint if !failed && since_launch.is_some_and(|since| since > 0) => {
                *self.minted_late.entry(movement.to).or_default() += value;
                keep(&mut self.mints_late, row);
            }
            _ => {}
        }
    }
}

/// Keeps the first rows, as many as evidence can show.
fn keep(rows: &mut Vec<usize>, row: usize) {
    if rows.len() < EVIDENCE_ROWS_MAX {
        rows.push(row);
    }
}

// Benford's law of first digits: in organic amounts, the first digit is d with probability log10(1 + 1/d). The mean absolute deviation and
// its limit are Nigrini's ("Benford's Law", 2012). Only a hint: taxes, faucets and round amounts violate it.

/// Minimum number of transfers.
pub(super) const COUNT_MIN: u64 = 500;
/// Nigrini's limit of nonconformity for first digits.
pub(super) const DEVIATION_MAX: f64 = 0.015;
pub(super) const CHANCE_MAX: f64 = 0.001;

/// Deviation of the first digits from Benford's law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Deviation {
    pub(super) count: u64,
    /// Mean absolute deviation of the nine shares.
    pub(super) mean: f64,
    /// P-value: the probability that organic amounts deviate as much, by Pearson's chi-square test with 8 degrees of freedom.
    pub(super) chance: f64,
}

/// `None` for too few amounts.
pub(super) fn deviation(counts: &[u64; 9]) -> Option<Deviation> {
    let count: u64 = counts.iter().sum();
    if count < COUNT_MIN {
        return None;
    }
    let (mut mean, mut square) = (0.0, 0.0);
    for (i, counted) in counts.iter().enumerate() {
        let expected = (1.0 + 1.0 / (i + 1) as f64).log10();
        mean += (*counted as f64 / count as f64 - expected).abs() / 9.0;
        let expected = expected * count as f64;
        square += (*counted as f64 - expected).powi(2) / expected;
    }
    let chance = ChiSquared::new(8.0).map_or(1.0, |chi| 1.0 - chi.cdf(square));
    Some(Deviation {
        count,
        mean,
        chance,
    })
}

/// The first digit of the shortest decimal number, as an engine writes it.
pub(super) fn first_digit(value: f64) -> Option<usize> {
    if !(value.is_finite() && value > 0.0) {
        return None;
    }
    let leading = value / 10_f64.powf(value.log10().floor());
    if (leading - leading.round()).abs() > 1e-6 {
        return Some(leading as usize);
    }
    // So close to a whole number the quotient may be on its other side.
    let first = format!("{value:e}").bytes().next()?;
    Some(usize::from(first - b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_digit_is_that_of_the_decimal_number() {
        for (value, digit) in [
            (1.0, 1),
            (9.0, 9),
            (10.0, 1),
            (999.0, 9),
            (1000.0, 1),
            (3.5e21, 3),
            (1e23, 1),
            (8.999_999e18, 8),
            (999_999_999_999_999.9, 9),
            (1e300, 1),
        ] {
            assert_eq!(first_digit(value), Some(digit), "{value}");
        }
        assert_eq!((first_digit(0.0), first_digit(f64::INFINITY)), (None, None));
    }
}
