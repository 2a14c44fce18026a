//! Clusters: addresses that move a token as one owner would. Each link between two addresses has a kind and its evidence; hubs, which many
//! unrelated addresses use, are no link. Pure.

pub mod funding;
mod ledger;
mod links;
#[cfg(test)]
mod market;
#[cfg(test)]
mod tests;
mod union;

use std::collections::{BTreeMap, HashMap};

use self::{
    ledger::{Buy, Ledger},
    links::{Peers, WalletLink},
    union::Sets,
};
use crate::roles::AddressRole;
use model::{address::Address, data::Data, time::Time};

/// Most clusters of a result, and links of a cluster.
const CLUSTERS_MAX: usize = 1_000;
const LINKS_MAX: usize = 1_000;
const TOP: usize = 10;

model::words! {
    /// Why two addresses are linked.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum LinkKind {
        /// The same address paid for their first transactions, in one period.
        Funder = "common_funder",
        /// The same address paid for their first transactions at the same moment.
        FundedTogether = "funded_together",
        /// One of them paid for the first transaction of the other.
        FundedBy = "funded_by",
        /// They bought in one transaction, or like amounts in one block, at launch.
        Bundle = "bundle",
        /// They bought equal amounts, or amounts with equal steps, one after the other.
        Amounts = "equal_amounts",
        /// One got its first and most tokens from the other.
        Transfer = "transfer",
        /// Both sent each other tokens.
        BothWays = "both_ways",
        /// They and a third address sent tokens in a circle.
        Ring = "ring",
        /// What one of them bought went to the other, like that of others.
        Collected = "collected",
    }
}

/// A link between two addresses.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    pub kind: LinkKind,
    /// The linked addresses; of a transfer or payment, its sender and its recipient.
    pub addresses: [Address; 2],
    /// The payer, for the kinds of funding.
    pub funder: Option<Address>,
    pub time: Option<Time>,
    pub block: Option<i64>,
    /// Number of the evidence among the token's transfers, which has the transaction.
    pub row: Option<usize>,
    /// Amount of this transfer, in whole tokens; in base units where the decimals are unknown.
    pub amount: Option<f64>,
}

/// Addresses with one likely owner. Amounts are in whole tokens, and in base units where the decimals are unknown.
#[derive(Debug, Clone, PartialEq)]
pub struct Cluster {
    /// Largest balance first.
    pub members: Vec<Address>,
    /// Fraction of the supply outside burn addresses, pools, exchanges, bridges and lockers.
    pub share: f64,
    pub held: f64,
    /// Received from pools and routers, and sent to them.
    pub bought: f64,
    pub sold: f64,
    /// Whether the creator or the owner of the token is a member.
    pub has_creator: bool,
    pub first: Option<Time>,
    pub last: Option<Time>,
    /// The links that join the members, the strongest kinds first.
    pub links: Vec<Link>,
}

/// The clusters of a token.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Clusters {
    /// Largest share first.
    pub clusters: Vec<Cluster>,
    /// Time of the token's last transfer.
    pub as_of: Option<Time>,
    /// The fraction of the free supply that the ten largest addresses have, and the ten largest owners: clusters count as one.
    pub top_10: [f64; 2],
    /// Whether the token has more addresses or transfers than are examined.
    pub is_limited: bool,
    /// Whether pools or routers are known, without which purchases and sales are unknown.
    pub has_pools: bool,
    /// Whether the first purchases, if there are any, have block numbers, without which there are no bundles.
    pub has_blocks: bool,
}

impl Clusters {
    /// The share of the largest cluster; 0 without clusters.
    pub fn largest_share(&self) -> f64 {
        self.clusters.first().map_or(0.0, |cluster| cluster.share)
    }

    /// The cluster of the address.
    pub fn of(&self, address: &Address) -> Option<&Cluster> {
        self.clusters
            .iter()
            .find(|cluster| cluster.members.contains(address))
    }
}

/// Why the clusters are unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoClusters {
    /// The token has no transfers.
    Transfers,
    /// Its first transfers are at an engine and not here.
    LeftOut,
    Canceled,
}

/// The clusters of the token. `go_on` is called with (done, total), in transfers; returning false cancels.
pub fn clusters_of(
    dataset: &dyn Data,
    token: &Address,
    go_on: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Clusters, NoClusters> {
    if dataset.transfers().count(token) == 0 {
        return Err(NoClusters::Transfers);
    }
    if dataset.transfers_left_out(token) > 0 {
        return Err(NoClusters::LeftOut);
    }
    let ledger = Ledger::read(dataset, token, go_on)?;
    let peers = Peers::new(&ledger);
    let mut links = by_funding(&ledger, &peers);
    let plain = links::by_purchases(&ledger, &peers).into_iter();
    links.extend(
        plain
            .chain(links::by_transfers(&ledger, &peers))
            .map(|link| (link, None, None)),
    );
    links.sort_unstable_by_key(|(link, ..)| (link.kind, link.pair, link.row));
    links.dedup_by_key(|(link, ..)| (link.kind, link.pair));
    let mut sets = Sets::new(u32::try_from(ledger.wallets.len()).unwrap_or(u32::MAX));
    links.retain(|(link, ..)| sets.join(link.pair[0], link.pair[1]));
    Ok(Balances::new(&ledger).clusters(links, &mut sets))
}

/// A link with its payer and the time of the payment, for the kinds of funding.
type Linked = (WalletLink, Option<Address>, Option<Time>);

fn by_funding(ledger: &Ledger<'_>, peers: &Peers) -> Vec<Linked> {
    let buys: HashMap<u32, &Buy> = ledger.buys.iter().map(|buy| (buy.wallet, buy)).collect();
    let id = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
    let find = |address: &Address| ledger.find(address).map(|id| id as usize);
    let is_hub = |address: &Address| match find(address) {
        Some(place) => peers.is_hub[place],
        None => !ledger.is_person(address),
    };
    let addresses = ledger.wallets.iter().map(|wallet| wallet.address);
    let mut groups = if ledger.dataset.has("funding") {
        funding::funded(ledger.dataset, addresses, &|address| !is_hub(address))
    } else {
        BTreeMap::new()
    };
    for group in groups.values_mut() {
        group.retain(|(_, place)| !peers.is_hub[*place]);
    }
    groups.retain(|_, group| !group.is_empty());
    let buy = |place: usize| buys.get(&id(place)).copied();
    let is_alike = |a: usize, b: usize| links::is_alike(buy(a), buy(b));
    funding::links(&groups, &find, &is_alike)
        .into_iter()
        .map(|link| {
            let plain = WalletLink {
                kind: link.kind,
                pair: link.pair.map(id),
                row: ledger::NOBODY,
            };
            (plain, Some(link.funder), link.time)
        })
        .collect()
}

/// Who has how many whole tokens, and how many are free.
struct Balances<'a, 'b> {
    ledger: &'b Ledger<'a>,
    unit: f64,
    /// By wallet.
    held: Vec<f64>,
    /// Holders without a transfer.
    others: Vec<f64>,
    free: f64,
}

impl<'a, 'b> Balances<'a, 'b> {
    /// By the table `holders`, or by the transfers if it lacks holders.
    fn new(ledger: &'b Ledger<'a>) -> Self {
        let dataset = ledger.dataset;
        let row = dataset.token(&ledger.token).map(|token| &token.row);
        let unit = row
            .and_then(|row| i32::try_from(row.decimals?).ok())
            .map_or(1.0, |decimals| 10_f64.powi(decimals));
        let holding = dataset.holding_of(&ledger.token);
        let wallets = ledger.wallets.iter();
        let (mut held, mut others) = (vec![0.0; ledger.wallets.len()], Vec::new());
        let (mut all, mut kept) = (0.0, 0.0);
        let is_free = |address: &Address| ledger.roles.role(address) == AddressRole::Trader;
        // Without decimals, for example, no balance of `holders` may be known.
        let is_known = holding.is_whole() && holding.rows().any(|(_, balance)| balance.is_some());
        if is_known {
            for (address, balance) in holding.rows() {
                let balance = balance.unwrap_or_default().max(0.0);
                all += balance;
                kept += if is_free(&address) { 0.0 } else { balance };
                match ledger.find(&address) {
                    Some(id) => held[id as usize] = balance,
                    None if is_free(&address) => others.push(balance),
                    None => {}
                }
            }
        } else {
            for (wallet, held) in wallets.zip(&mut held) {
                *held = wallet.balance() / unit;
                all += *held;
                kept += if is_free(&wallet.address) { 0.0 } else { *held };
            }
        }
        let supply = row.and_then(|row| row.total_supply).unwrap_or(all).max(all);
        Self {
            ledger,
            unit,
            held,
            others,
            free: supply - kept,
        }
    }

    fn share(&self, held: f64) -> f64 {
        if self.free > 0.0 {
            (held / self.free).min(1.0)
        } else {
            0.0
        }
    }

    fn clusters(&self, links: Vec<Linked>, sets: &mut Sets) -> Clusters {
        let mut groups: BTreeMap<u32, (Vec<u32>, Vec<Linked>)> = BTreeMap::new();
        for linked in links {
            let (members, links) = groups.entry(sets.root(linked.0.pair[0])).or_default();
            members.extend(linked.0.pair);
            links.push(linked);
        }
        let mut is_single = vec![true; self.held.len()];
        let mut clusters: Vec<Cluster> = groups
            .into_values()
            .map(|(mut members, links)| {
                members.sort_unstable();
                members.dedup();
                for id in &members {
                    is_single[*id as usize] = false;
                }
                self.cluster(members, &links)
            })
            .collect();
        clusters.sort_by(|a, b| {
            let order = b.share.total_cmp(&a.share);
            order
                .then(b.bought.total_cmp(&a.bought))
                .then_with(|| a.members.cmp(&b.members))
        });
        let (wallets, ledger) = (|| self.held.iter().zip(&self.ledger.wallets), self.ledger);
        let is_free = |address| ledger.roles.role(address) == AddressRole::Trader;
        let free = wallets()
            .zip(&is_single)
            .filter(|((_, wallet), _)| is_free(&wallet.address));
        let (mut addresses, mut owners) = (self.others.clone(), self.others.clone());
        for ((held, _), is_single) in free {
            addresses.push(*held);
            owners.extend(is_single.then_some(*held));
        }
        owners.extend(clusters.iter().map(|cluster| cluster.held));
        let top = |mut held: Vec<f64>| {
            held.sort_unstable_by(|a, b| b.total_cmp(a));
            self.share(held.iter().take(TOP).sum())
        };
        clusters.truncate(CLUSTERS_MAX);
        Clusters {
            clusters,
            as_of: ledger.last,
            top_10: [top(addresses), top(owners)],
            is_limited: ledger.is_limited,
            has_pools: ledger.has_pools(),
            has_blocks: ledger.buys.is_empty() || ledger.buys.iter().any(|buy| buy.block.is_some()),
        }
    }

    fn cluster(&self, mut members: Vec<u32>, links: &[Linked]) -> Cluster {
        let held_by = |id: &u32| self.held[*id as usize];
        members.sort_by(|a, b| held_by(b).total_cmp(&held_by(a)).then(a.cmp(b)));
        let wallets = || members.iter().map(|id| self.ledger.wallet(*id));
        let held = members.iter().map(held_by).sum();
        let dataset = self.ledger.dataset;
        let contract = dataset.contracts().first(&self.ledger.token);
        let made = contract.map_or([None; 2], |row| [row.creator, row.owner]);
        Cluster {
            share: self.share(held),
            held,
            bought: wallets().map(|wallet| wallet.bought).sum::<f64>() / self.unit,
            sold: wallets().map(|wallet| wallet.sold).sum::<f64>() / self.unit,
            has_creator: wallets().any(|wallet| made.contains(&Some(wallet.address))),
            first: wallets().filter_map(|wallet| wallet.first).min(),
            last: wallets().filter_map(|wallet| wallet.last).max(),
            links: links
                .iter()
                .take(LINKS_MAX)
                .map(|link| self.link(link))
                .collect(),
            members: wallets().map(|wallet| wallet.address).collect(),
        }
    }

    fn link(&self, (link, funder, paid): &Linked) -> Link {
        let ledger = self.ledger;
        let row = Some(link.row as usize).filter(|_| link.row != ledger::NOBODY);
        let transfer = row.and_then(|row| ledger.dataset.transfers().row(&ledger.token, row));
        let (time, block) = transfer
            .as_ref()
            .map_or((*paid, None), |row| (row.timestamp, row.block_number));
        Link {
            kind: link.kind,
            addresses: link.pair.map(|id| ledger.wallet(id).address),
            funder: *funder,
            time,
            block,
            row,
            amount: transfer
                .and_then(|row| row.value)
                .map(|value| value.0 / self.unit),
        }
    }
}
