//! One pass over a token's transfers: sums per address, first purchases, and transfers between addresses that are no venue.

use std::collections::{HashMap, HashSet};

use super::NoClusters;
use crate::roles::{AddressRole, Roles, named};
use model::{address::Address, data::Data, rows::TransferRow, time::Time};

/// Most addresses and transfers between them that are examined; memory grows with both.
const WALLETS_MAX: usize = 1 << 20;
const MOVES_MAX: usize = 6_000_000;
/// Labels of addresses that act for many, beside those of the roles.
const HUB_LABELS: &[&str] = &[
    "deposit",
    "deposit_address",
    "multisender",
    "multisend",
    "disperse",
    "distributor",
    "airdrop",
    "mixer",
    "tornado",
    "tornado-cash",
    "payment",
    "payments",
    "contract",
    "hub",
];
pub(super) const NOBODY: u32 = u32::MAX;

#[derive(Debug, Clone)]
pub(super) struct Wallet {
    pub(super) address: Address,
    /// Whether it trades for itself, as far as labels and tables show.
    pub(super) is_person: bool,
    is_pool: bool,
    pub(super) is_minted_to: bool,
    /// In base units.
    pub(super) received: f64,
    pub(super) sent: f64,
    pub(super) bought: f64,
    pub(super) sold: f64,
    pub(super) first_from: u32,
    pub(super) first: Option<Time>,
    pub(super) last: Option<Time>,
}

/// A transfer; after `pair_up`, all from one address to another, with the first of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Move {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) row: u32,
    pub(super) value: f32,
}

/// The first purchase of an address.
#[derive(Debug, Clone, Copy)]
pub(super) struct Buy {
    pub(super) wallet: u32,
    pub(super) row: u32,
    pub(super) block: Option<i64>,
    pub(super) time: Option<Time>,
    pub(super) value: f64,
}

pub(super) struct Ledger<'a> {
    pub(super) dataset: &'a dyn Data,
    pub(super) token: Address,
    pub(super) roles: Roles<'a>,
    lockers: HashSet<Address>,
    pub(super) wallets: Vec<Wallet>,
    ids: HashMap<Address, u32>,
    pub(super) moves: Vec<Move>,
    /// Where the moves from each wallet begin, and the end.
    starts: Vec<u32>,
    /// Oldest first.
    pub(super) buys: Vec<Buy>,
    pub(super) minted: f64,
    pub(super) last: Option<Time>,
    pub(super) is_limited: bool,
}

impl<'a> Ledger<'a> {
    pub(super) fn read(
        dataset: &'a dyn Data,
        token: &Address,
        go_on: &mut dyn FnMut(usize, usize) -> bool,
    ) -> Result<Self, NoClusters> {
        let transfers = dataset.transfers();
        let total = transfers.count(token);
        let mut ledger = Self {
            dataset,
            token: *token,
            roles: Roles::new(dataset, token),
            lockers: dataset
                .locks_of(token)
                .iter()
                .map(|lock| lock.holder_address)
                .collect(),
            wallets: Vec::new(),
            ids: HashMap::new(),
            moves: Vec::new(),
            starts: Vec::new(),
            buys: Vec::new(),
            minted: 0.0,
            last: None,
            is_limited: false,
        };
        let mut row = 0;
        for chunk in transfers.chunks(token) {
            for transfer in &chunk {
                ledger.add(row, transfer);
                row = row.saturating_add(1);
            }
            go_on(row as usize, total)
                .then_some(())
                .ok_or(NoClusters::Canceled)?;
        }
        ledger.find_origin();
        ledger.pair_up();
        Ok(ledger)
    }

    pub(super) fn find(&self, address: &Address) -> Option<u32> {
        self.ids.get(address).copied()
    }

    /// Whether the address acts for itself: no venue, no hub by its labels, and no contract of the dataset.
    pub(super) fn is_person(&self, address: &Address) -> bool {
        let labels = self.dataset.labels_of(address);
        self.roles.role(address) == AddressRole::Trader
            && !labels.iter().any(|row| named(row, HUB_LABELS))
            && !self.lockers.contains(address)
            && self.dataset.token_position(address).is_none()
            && self.dataset.contracts().count(address) == 0
    }

    fn id(&mut self, address: Address) -> Option<u32> {
        if let Some(id) = self.ids.get(&address) {
            return Some(*id);
        }
        if self.wallets.len() >= WALLETS_MAX {
            self.is_limited = true;
            return None;
        }
        let id = u32::try_from(self.wallets.len()).ok()?;
        let is_person = self.is_person(&address);
        let role = self.roles.role(&address);
        self.wallets.push(Wallet {
            address,
            is_person,
            is_pool: matches!(role, AddressRole::Pool | AddressRole::Router),
            is_minted_to: false,
            received: 0.0,
            sent: 0.0,
            bought: 0.0,
            sold: 0.0,
            first_from: NOBODY,
            first: None,
            last: None,
        });
        self.ids.insert(address, id);
        Some(id)
    }

    fn add(&mut self, row: u32, transfer: &TransferRow) {
        let (Some(from), Some(to), Some(value)) =
            (transfer.from_address, transfer.to_address, transfer.value)
        else {
            return;
        };
        let (value, time) = (value.0, transfer.timestamp);
        if transfer.status == Some(0) || from == to || value <= 0.0 {
            return;
        }
        self.last = self.last.max(time);
        let (Some(from_id), Some(to_id)) = (self.id(from), self.id(to)) else {
            return;
        };
        let [source, target] = [from_id, to_id].map(|id| &self.wallets[id as usize]);
        let (buys, sells) = (source.is_pool, target.is_pool);
        let is_first_buy = buys && target.is_person && target.bought == 0.0;
        let is_move = source.is_person && target.is_person;
        let is_mint = from == Address::ZERO;
        self.minted += if is_mint { value } else { 0.0 };
        let source = &mut self.wallets[from_id as usize];
        source.sent += value;
        source.sold += if sells { value } else { 0.0 };
        source.seen(time);
        let target = &mut self.wallets[to_id as usize];
        if target.received == 0.0 {
            target.first_from = from_id;
        }
        target.received += value;
        target.bought += if buys { value } else { 0.0 };
        target.is_minted_to |= is_mint;
        target.seen(time);
        if is_first_buy {
            self.buys.push(Buy {
                wallet: to_id,
                row,
                block: transfer.block_number,
                time,
                value,
            });
        }
        if is_move && self.moves.len() < MOVES_MAX {
            self.moves.push(Move {
                from: from_id,
                to: to_id,
                row,
                value: value.min(f64::from(f32::MAX)) as f32,
            });
        } else {
            self.is_limited |= is_move;
        }
    }

    /// Where no transfer is a mint, the first sender received the supply in another way, and counts as minted to.
    fn find_origin(&mut self) {
        if self.minted > 0.0 {
            return;
        }
        let row = self.dataset.token(&self.token).map(|token| &token.row);
        let supply = row.and_then(|row| {
            let decimals = i32::try_from(row.decimals?).ok()?;
            Some(row.total_supply? * 10_f64.powi(decimals))
        });
        let unsent = |wallet: &Wallet| (wallet.sent - wallet.received).max(0.0);
        self.minted = supply.unwrap_or_else(|| self.wallets.iter().map(unsent).sum());
        if let Some(origin) = self.wallets.first_mut() {
            origin.is_minted_to = true;
        }
    }

    /// Whether a pool or router is among the addresses: without one, purchases and sales are unknown.
    pub(super) fn has_pools(&self) -> bool {
        self.wallets.iter().any(|wallet| wallet.is_pool)
    }

    /// Sums the moves from one address to another.
    fn pair_up(&mut self) {
        self.moves
            .sort_unstable_by_key(|step| (step.from, step.to, step.row));
        self.moves.dedup_by(|next, first| {
            let same = (next.from, next.to) == (first.from, first.to);
            if same {
                first.value = (first.value + next.value).min(f32::MAX);
            }
            same
        });
        let mut at = 0;
        self.starts = (0..=self.wallets.len())
            .map(|wallet| {
                while self
                    .moves
                    .get(at)
                    .is_some_and(|step| (step.from as usize) < wallet)
                {
                    at += 1;
                }
                u32::try_from(at).unwrap_or(u32::MAX)
            })
            .collect();
    }

    /// What moved between the two, if anything did.
    pub(super) fn moved(&self, from: u32, to: u32) -> Option<&Move> {
        let own = self.sent_by(from);
        let at = own.binary_search_by_key(&to, |step| step.to);
        at.ok().and_then(|at| own.get(at))
    }

    /// What moved from the address, by recipient.
    pub(super) fn sent_by(&self, id: u32) -> &[Move] {
        let ends = self.starts.get(id as usize..id as usize + 2);
        let own = ends.and_then(|ends| self.moves.get(ends[0] as usize..ends[1] as usize));
        own.unwrap_or_default()
    }

    pub(super) fn wallet(&self, id: u32) -> &Wallet {
        &self.wallets[id as usize]
    }
}

impl Wallet {
    fn seen(&mut self, time: Option<Time>) {
        self.first = match (self.first, time) {
            (Some(first), Some(time)) => Some(first.min(time)),
            (first, time) => first.or(time),
        };
        self.last = self.last.max(time);
    }

    pub(super) fn balance(&self) -> f64 {
        (self.received - self.sent).max(0.0)
    }
}
