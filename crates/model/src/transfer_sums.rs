//! What the analyses need of a token's transfers: sums, counts and the first rows of each kind. They are the same whether the rows were
//! read here or summed at an engine.

use std::sync::Arc;

use super::{
    address::Address,
    time::{DAY_MS, Time},
};

/// Number of blocks after the first liquidity in which a buy counts as sniping.
pub const SNIPE_BLOCKS: i64 = 3;
/// Time after the first liquidity, in milliseconds, in which sells by the creator count as a dump.
pub const DUMP_MS: i64 = 7 * DAY_MS;
/// A transfer of at least this fraction of a pool's balance is a removal of liquidity: no trade against a constant-product pool yields that
/// much.
pub const EMPTYING: f64 = 0.9;
/// Minimum balance of a pool, as a fraction of its peak, for its emptying to matter.
pub const WORTH_PULLING: f64 = 0.01;
/// A transfer into a pool opens the pool if the pool has at most this fraction of the amount: it adds liquidity.
pub const OPENING: f64 = 1e-6;
/// Half of the shortest window of wash trading, in milliseconds: edges are summed in steps of it.
pub const WASH_STEP_MS: i64 = DAY_MS / 48;
/// Number of steps in half of the longest window.
pub const WASH_STEPS: i64 = 168;
/// Spans of the flows, in days before the token's last transfer.
pub const FLOW_DAYS: [i64; 2] = [7, 30];
/// Number of rows to keep of each kind: as many as the evidence shows.
pub const SAMPLES_MAX: usize = 10;

/// A time and block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    pub time: Time,
    pub block: Option<i64>,
}

/// A transfer, for evidence.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TransferSample {
    pub time: Option<Time>,
    pub block: Option<i64>,
    pub hash: Option<String>,
    pub from: Option<Address>,
    pub to: Option<Address>,
    /// In base units.
    pub value: Option<f64>,
}

/// A removal of liquidity by one transfer.
#[derive(Debug, Clone, PartialEq)]
pub struct EmptiedPool {
    /// Fraction of the pool's balance.
    pub share: f64,
    pub value: f64,
    /// Amount that was added to pools within a day afterwards.
    pub put_back: f64,
    pub row: TransferSample,
}

/// Wallets that bought and sold. They are traders, in the order in which the transfers first name them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sellers {
    /// Wallets that bought and are not owner-linked.
    pub buyers: u64,
    /// The first wallet that sold and is not owner-linked, and how much it sold.
    pub outsider: Option<(Address, f64)>,
    /// Number of owner-linked wallets that sold, and the first of them.
    pub count: u64,
    pub first: Vec<(Address, f64)>,
}

/// The largest group of wallets that received the same amount from one sender and have no other transfer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Airdrop {
    pub sender: Address,
    pub value: f64,
    pub count: u64,
}

/// Transfers from one trader to another within a step of `WASH_STEP_MS`; both are indexes into `WashEdges::traders`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WashEdge {
    pub step: i32,
    pub from: u32,
    pub to: u32,
    pub count: u32,
    pub volume: f64,
}

/// All edges that may be part of a ring, by step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WashEdges {
    pub edges: Vec<WashEdge>,
    /// Whether there are too many edges, so that the list is empty.
    pub unfinished: bool,
    pub traders: Vec<Address>,
}

/// Sums over the transfers whose ends and amount are known. Amounts are in base units.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TransferSums {
    pub transfers: u64,
    /// Whether the history begins with a mint, so that balances can be replayed.
    pub complete: bool,
    /// Whether any row has a success status.
    pub statuses: bool,
    pub minted: f64,
    pub burned: f64,
    /// The first liquidity.
    pub launch: Option<Moment>,
    pub last: Option<Time>,
    pub worst_emptied: Option<EmptiedPool>,
    pub buys: u64,
    pub sells: u64,
    /// Sells attempted by wallets other than creator and owner; `failed` counts those that failed.
    pub tried: u64,
    pub failed: u64,
    pub sales: Vec<TransferSample>,
    pub failures: Vec<TransferSample>,
    /// Amount bought within `SNIPE_BLOCKS` of the launch.
    pub sniped: f64,
    pub snipes: Vec<TransferSample>,
    /// Amount sold by the creator within `DUMP_MS` of the launch.
    pub creator_sold: f64,
    pub creator_sales: Vec<TransferSample>,
    /// Amount minted after the launch: the sum, the most to one receiver, and the number of receivers.
    pub minted_late: f64,
    pub minted_most: f64,
    pub minted_to: u64,
    pub mints_late: Vec<TransferSample>,
    pub sellers: Sellers,
    /// Number of traders that received anything.
    pub receivers: u64,
    pub airdrop: Option<Airdrop>,
    /// Number of amounts by first digit, 1 to 9.
    pub digits: [u64; 9],
    /// Amount traded, and sent between traders, without mints, burns and liquidity.
    pub volume: f64,
    /// For the user: results that the sums cannot decide in the way the rows could.
    pub unfinished: Vec<String>,
}

/// Role of an address in the sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndRole {
    Trader,
    Burned,
    Pool,
    /// A pool in which the token is the quote token.
    QuotedPool,
    Router,
    Exchange,
    /// Another custodial address.
    Other,
}

/// What an engine needs to sum a token's transfers.
#[derive(Debug, Clone, Default)]
pub struct TransferContext {
    /// All addresses that are not traders, except unlabeled burn addresses.
    pub roles: Vec<(Address, EndRole)>,
    /// The first liquidity according to the pools' events; without events, the transfers show it.
    pub launch: Option<Moment>,
    /// Blocks in which liquidity was added or removed, according to the pools' events.
    pub liquidity_blocks: Vec<i64>,
    pub creator: Option<Address>,
    pub owner: Option<Address>,
    /// Owner-linked wallets: creator, owner, and the wallets they funded.
    pub circle: Vec<Address>,
}

impl TransferContext {
    /// The context of a query that depends on no role.
    pub const NONE: Self = Self {
        roles: Vec::new(),
        launch: None,
        liquidity_blocks: Vec::new(),
        creator: None,
        owner: None,
        circle: Vec::new(),
    };
}

/// A part of the sums over a token's transfers.
#[derive(Debug, Clone)]
pub enum TransferPart {
    Sums(Arc<TransferContext>),
    /// What these addresses received minus what they sent.
    Replayed(Arc<[Address]>),
    /// The first successful transfers from one of these addresses to another.
    Among(Arc<[Address]>),
    /// What these addresses received and sent in the last days.
    Flows(Arc<[Address]>),
}

/// What an address received and sent, in base units. `None` if one of the amounts is unknown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AddressFlow {
    pub address: Address,
    /// Its first transfer with a nonzero amount.
    pub first_seen: Option<Time>,
    pub received: [Option<f64>; 2],
    pub sent: [Option<f64>; 2],
}

/// The result for a `TransferPart`.
#[derive(Debug, Clone, PartialEq)]
pub enum TransferAnswer {
    Sums(Box<TransferSums>, WashEdges),
    /// In the order of the query.
    Replayed(Vec<f64>),
    Among(Vec<TransferSample>),
    /// The time of the token's last transfer, and the flows of the addresses that have any.
    Flows(Option<Time>, Vec<AddressFlow>),
}

impl TransferAnswer {
    pub fn bytes(&self) -> u64 {
        let bytes = match self {
            // A sum has some fifty rows.
            Self::Sums(_, flow) => {
                size_of_val(flow.edges.as_slice())
                    + size_of_val(flow.traders.as_slice())
                    + (16 << 10)
            }
            Self::Replayed(balances) => size_of_val(balances.as_slice()),
            Self::Among(rows) => size_of_val(rows.as_slice()),
            Self::Flows(_, flows) => size_of_val(flows.as_slice()),
        };
        bytes as u64
    }
}
