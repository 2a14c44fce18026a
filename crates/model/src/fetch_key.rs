//! Keys of rows that are queried in place. How to fetch them is up to the storage.

use std::sync::Arc;

use super::{
    address::Address,
    beside_key::IgnoredInKey,
    chain_state::MissingState,
    holding::IndividualHolders,
    table_ask::{AskKind, RowsPage, SourceQuery},
    transfer_sums::TransferPart,
};

/// Rows of a table in place that a query needs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FetchKey {
    /// A token's candles for its charts, with intervals that divide an hour resampled to hours.
    Chart(Address),
    /// All rows of a token.
    Rows { table: &'static str, token: Address },
    /// Rows of a table, or metrics of them.
    Table(Arc<SourceQuery>),
    /// A token's balances, for a query about the token `about`: its own, or those of its liquidity pool.
    Balances {
        token: Address,
        about: Address,
        individual: IgnoredInKey<IndividualHolders>,
    },
    /// Sums over a token's transfers, or some of them.
    Transfers { token: Address, part: TransferPart },
    /// Accounts and storage on the chain, for the execution of a token's contract.
    State {
        token: Address,
        missing: Arc<MissingState>,
    },
}

impl FetchKey {
    /// The table the rows are in.
    pub fn table(&self) -> &'static str {
        match self {
            Self::Chart(_) => "candles",
            Self::Balances { .. } => "holders",
            Self::State { .. } => "contracts",
            Self::Transfers { .. } => "transfers",
            Self::Rows { table, .. } => table,
            Self::Table(ask) => ask.table,
        }
    }

    /// The tokens that the rows belong to; empty means all tokens.
    pub fn tokens(&self) -> &[Address] {
        match self {
            Self::Chart(token)
            | Self::Rows { token, .. }
            | Self::Balances { token, .. }
            | Self::Transfers { token, .. }
            | Self::State { token, .. } => std::slice::from_ref(token),
            Self::Table(ask) => &ask.tokens,
        }
    }

    /// A page of a token's rows in the table's order.
    pub fn page(
        table: &'static str,
        token: Address,
        skip: u64,
        count: u64,
        from_end: bool,
    ) -> Self {
        let page = RowsPage {
            sort: Vec::new(),
            after: Vec::new(),
            skip,
            count,
            from_end,
        };
        Self::Table(Arc::new(SourceQuery {
            table,
            tokens: vec![token],
            condition: String::new(),
            wanted: AskKind::Page(page),
        }))
    }

    /// The cache key of fetched balances.
    pub fn balances(token: Address, about: Address) -> Self {
        Self::Balances {
            token,
            about,
            individual: IgnoredInKey::default(),
        }
    }

    /// The key without the holders reported individually and without the addresses of a role, of which there may be as many as labels.
    #[must_use]
    pub fn as_key(&self) -> Self {
        match self {
            Self::Balances { token, about, .. } => Self::balances(*token, *about),
            Self::Transfers {
                token,
                part: TransferPart::Sums(_),
            } => Self::Transfers {
                token: *token,
                part: TransferPart::Sums(IgnoredInKey::default()),
            },
            key => key.clone(),
        }
    }

    /// Whether it bypasses the cache: paging requests each page once, and results are cached elsewhere.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Table(_))
    }
}
