//! Clusters: addresses that move a token as one owner would. Each link between two addresses has a kind and its evidence; hubs, which many
//! strangers use, link nobody. Pure.

use model::{address::Address, data::Data, time::Time};

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
    /// Whole tokens; base units where the decimals are unknown.
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
}

impl Clusters {
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
    let total = dataset.transfers().count(token);
    if total == 0 {
        return Err(NoClusters::Transfers);
    }
    if dataset.transfers_left_out(token) > 0 {
        return Err(NoClusters::LeftOut);
    }
    go_on(0, total).then_some(()).ok_or(NoClusters::Canceled)?;
    Ok(Clusters::default())
}
