//! The sums over a token's transfers, folded from its rows in one pass. An engine computes the same for rows that are queried in place.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    amounts::first_digit,
    ledger::{Move, TransferKind, TransferLedger, WALLETS_MAX, Wallet},
    wash::Wash,
};
use crate::{
    facts::{AddressRole, Facts},
    pool_story::PoolHistory,
};
use model::{
    address::Address,
    error::Result,
    time::Time,
    transfer_sums::{
        Airdrop, DUMP_MS, EmptiedPool, Moment, SAMPLES_MAX, SNIPE_BLOCKS, Sellers, TransferSample,
        TransferSums,
    },
};

/// State of the pass. Rows are kept by their number among the token's transfers.
pub(super) struct Fold<'a> {
    facts: &'a Facts<'a>,
    ledger: TransferLedger,
    pub(super) wash: Wash,
    /// What needs no further step.
    sums: TransferSums,
    sales: Vec<usize>,
    failures: Vec<usize>,
    snipes: Vec<usize>,
    creator_sales: Vec<usize>,
    mints_late: Vec<usize>,
    minted_late: BTreeMap<u32, f64>,
}

impl<'a> Fold<'a> {
    /// Reads all transfers. `step` is called with the number of rows read.
    pub(super) fn read(
        facts: &'a Facts<'a>,
        pools: &[PoolHistory],
        launch: Option<Moment>,
        step: &dyn Fn(u64) -> Result<()>,
    ) -> Result<Self> {
        let (ledger, wash, sums) = (
            TransferLedger::new(launch),
            Wash::default(),
            TransferSums::default(),
        );
        let (sales, failures, snipes, creator_sales, mints_late) = Default::default();
        let mut fold = Self {
            facts,
            ledger,
            wash,
            sums,
            sales,
            failures,
            snipes,
            creator_sales,
            mints_late,
            minted_late: BTreeMap::new(),
        };
        let liquidity = |block: i64| {
            pools
                .iter()
                .any(|pool| pool.liquidity_blocks.contains(&block))
        };
        let mut row = 0;
        for chunk in facts.dataset.transfers().chunks(&facts.address) {
            step(row as u64)?;
            for transfer in &chunk {
                if let Some(movement) = fold.ledger.add(row, transfer, facts, liquidity) {
                    fold.add(&movement);
                }
                row += 1;
            }
        }
        Ok(fold)
    }

    fn add(&mut self, movement: &Move) {
        let Move {
            failed,
            value,
            row,
            kind,
            ..
        } = *movement;
        self.wash.add(movement, &self.ledger);
        if !failed
            && matches!(
                kind,
                TransferKind::Buy | TransferKind::Sell | TransferKind::Transfer
            )
        {
            self.sums.volume += value;
            if let Some(digit) = first_digit(value) {
                self.sums.digits[digit - 1] += 1;
            }
        }
        let launch = self.ledger.launch;
        let since_launch = |time: Time| launch.map(|launch| time.0 - launch.time.0);
        let sums = &mut self.sums;
        match kind {
            TransferKind::Sell => {
                let seller = self.ledger.wallet(movement.from);
                sums.tried += u64::from(!seller.insider);
                sums.failed += u64::from(!seller.insider && failed);
                sums.sells += u64::from(!failed);
                if !failed {
                    keep(&mut self.sales, row);
                } else if !seller.insider {
                    keep(&mut self.failures, row);
                }
                let by_creator = !failed && Some(seller.address) == self.facts.creator;
                let early = movement
                    .time
                    .and_then(since_launch)
                    .is_some_and(|since| (0..=DUMP_MS).contains(&since));
                if by_creator && early {
                    sums.creator_sold += value;
                    keep(&mut self.creator_sales, row);
                }
            }
            TransferKind::Buy if !failed => {
                sums.buys += 1;
                let launch = launch.and_then(|launch| launch.block);
                let blocks = movement
                    .block
                    .zip(launch)
                    .map(|(block, launch)| block - launch);
                if blocks.is_some_and(|blocks| (0..=SNIPE_BLOCKS).contains(&blocks)) {
                    sums.sniped += value;
                    keep(&mut self.snipes, row);
                }
            }
            // The mint at launch itself is not late.
            TransferKind::Mint
                if !failed
                    && movement
                        .time
                        .and_then(since_launch)
                        .is_some_and(|since| since > 0) =>
            {
                *self.minted_late.entry(movement.to).or_default() += value;
                keep(&mut self.mints_late, row);
            }
            _ => {}
        }
    }

    /// The sums.
    pub(super) fn sums(&self) -> TransferSums {
        let (ledger, late) = (&self.ledger, &self.minted_late);
        let emptied = ledger.worst_emptied.map(|emptied| EmptiedPool {
            share: emptied.share,
            value: emptied.value,
            put_back: emptied.put_back,
            row: self.sample(emptied.row),
        });
        TransferSums {
            transfers: ledger.transfers,
            complete: ledger.complete,
            statuses: ledger.statuses,
            minted: ledger.minted,
            burned: ledger.burned,
            launch: ledger.launch,
            last: ledger.last,
            worst_emptied: emptied,
            sales: self.samples(&self.sales),
            failures: self.samples(&self.failures),
            snipes: self.samples(&self.snipes),
            creator_sales: self.samples(&self.creator_sales),
            minted_late: late.values().sum(),
            minted_most: late.values().copied().fold(0.0, f64::max),
            minted_to: late.len() as u64,
            mints_late: self.samples(&self.mints_late),
            sellers: self.sellers(),
            receivers: self.traders().filter(|wallet| wallet.received > 0).count() as u64,
            airdrop: self.airdrop(),
            unfinished: ledger
                .overflowed
                .then(|| format!("wallets beyond the first {WALLETS_MAX} were not tracked"))
                .into_iter()
                .collect(),
            ..self.sums.clone()
        }
    }

    fn traders(&self) -> impl Iterator<Item = &Wallet> {
        self.ledger
            .wallets
            .iter()
            .filter(|wallet| wallet.role == AddressRole::Trader)
    }

    fn sellers(&self) -> Sellers {
        let mut sellers = Sellers::default();
        for wallet in self
            .traders()
            .filter(|wallet| wallet.bought > 0.0 || wallet.sold > 0.0)
        {
            let (own, seller) = (
                self.facts.circle(&wallet.address),
                (wallet.address, wallet.sold),
            );
            sellers.buyers += u64::from(wallet.bought > 0.0 && !own);
            if wallet.sold > 0.0 && !own {
                sellers.outsider.get_or_insert(seller);
            } else if wallet.sold > 0.0 {
                sellers.count += 1;
                keep(&mut sellers.first, seller);
            }
        }
        sellers
    }

    /// Of several as large, the one whose sender comes last among the wallets, and of the largest amount.
    fn airdrop(&self) -> Option<Airdrop> {
        let mut groups: BTreeMap<(u32, u64), u64> = BTreeMap::new();
        for wallet in self
            .traders()
            .filter(|wallet| wallet.received == 1 && wallet.sent == 0)
        {
            let sender = self.ledger.wallet(wallet.first_from).role;
            if !matches!(
                sender,
                AddressRole::Pool | AddressRole::Router | AddressRole::Exchange
            ) {
                *groups
                    .entry((wallet.first_from, wallet.first_value.to_bits()))
                    .or_default() += 1;
            }
        }
        let ((sender, value), count) = groups.into_iter().max_by_key(|(_, count)| *count)?;
        Some(Airdrop {
            sender: self.ledger.wallet(sender).address,
            value: f64::from_bits(value),
            count,
        })
    }

    pub(super) fn replayed(&self, holders: &[Address]) -> Vec<f64> {
        holders
            .iter()
            .map(|holder| {
                self.ledger
                    .find(holder)
                    .map_or(0.0, |wallet| wallet.balance)
            })
            .collect()
    }

    pub(super) fn address(&self, wallet: u32) -> Address {
        self.ledger.wallet(wallet).address
    }

    /// The first successful transfers from one of these addresses to another.
    pub(super) fn among(&self, members: &[Address]) -> Vec<TransferSample> {
        let members: BTreeSet<&Address> = members.iter().collect();
        let member = |address: &Option<Address>| {
            address
                .as_ref()
                .is_some_and(|address| members.contains(address))
        };
        let mut places = Vec::new();
        let mut place = 0;
        for chunk in self.facts.dataset.transfers().chunks(&self.facts.address) {
            for transfer in &chunk {
                let passed =
                    transfer.status != Some(0) && transfer.from_address != transfer.to_address;
                if passed && member(&transfer.from_address) && member(&transfer.to_address) {
                    places.push(place);
                    if places.len() == SAMPLES_MAX {
                        return self.samples(&places);
                    }
                }
                place += 1;
            }
        }
        self.samples(&places)
    }

    fn samples(&self, places: &[usize]) -> Vec<TransferSample> {
        places.iter().map(|place| self.sample(*place)).collect()
    }

    fn sample(&self, place: usize) -> TransferSample {
        let (transfers, token) = (self.facts.dataset.transfers(), &self.facts.address);
        let Some(row) = transfers.row(token, place) else {
            return TransferSample::default();
        };
        TransferSample {
            time: row.timestamp,
            block: row.block_number,
            hash: transfers.text(token, place, "transaction_hash"),
            from: row.from_address,
            to: row.to_address,
            value: row.value.map(|value| value.0),
        }
    }
}

/// Keeps the first rows, as many as evidence can show.
fn keep<T>(rows: &mut Vec<T>, row: T) {
    if rows.len() < SAMPLES_MAX {
        rows.push(row);
    }
}
