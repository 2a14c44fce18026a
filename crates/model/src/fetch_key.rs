//! Names of rows that stay at their source. How they are fetched is the storage's affair.

use std::sync::Arc;

use super::{address::Address, chain_state::MissingState, holding::IndividualHolders, transfer_sums::TransferPart};

/// Rows of a table that stays at its source, which an answer needs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FetchKey {
    /// A token's candles for its charts, with intervals that divide an hour resampled to hours.
    Chart(Address),
    /// All rows of a token.
    Rows { table: &'static str, token: Address },
    /// A page of a token's rows in table order: `count` rows, with `from` rows before and `rows_after` rows after them.
    Page { table: &'static str, token: Address, from: u64, count: u64, rows_after: u64 },
    /// A token's balances, for a question about the token `about`: its own, or those of its liquidity pool.
    Balances { token: Address, about: Address, individual: Arc<IndividualHolders> },
    /// Sums over a token's transfers, or some of them.
    Transfers { token: Address, part: TransferPart },
    /// Accounts and storage on the chain, for the execution of a token's contract.
    State { token: Address, missing: Arc<MissingState> },
}

impl FetchKey {
    /// The table the rows are in.
    pub fn table(&self) -> &'static str {
        match self {
            Self::Chart(_) => "candles",
            Self::Balances { .. } => "holders",
            Self::State { .. } => "contracts",
            Self::Transfers { .. } => "transfers",
            Self::Rows { table, .. } | Self::Page { table, .. } => table,
        }
    }

    /// The token the rows are of.
    pub fn token(&self) -> Address {
        match self {
            Self::Chart(token)
            | Self::Rows { token, .. }
            | Self::Page { token, .. }
            | Self::Balances { token, .. }
            | Self::Transfers { token, .. }
            | Self::State { token, .. } => *token,
        }
    }

    /// The cache key of fetched balances.
    pub fn balances(token: Address, about: Address) -> Self {
        Self::Balances { token, about, individual: Arc::default() }
    }

    /// The key without the holders reported individually, and without the addresses of a role, who may be as many as there are labels.
    #[must_use]
    pub fn as_key(&self) -> Self {
        match self {
            Self::Balances { token, about, .. } => Self::balances(*token, *about),
            Self::Transfers { token, part: TransferPart::Sums(_) } => {
                Self::Transfers { token: *token, part: TransferPart::Sums(Arc::default()) }
            }
            key => key.clone(),
        }
    }

    /// Whether it bypasses the cache: paging asks for each page once.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Page { .. })
    }
}
