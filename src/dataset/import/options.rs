//! What a person says of files that do not say it themselves.

use crate::dataset::{address::Address, chain::Chain};

/// What the person says of the files.
#[derive(Debug, Clone, Default)]
pub struct ImportOptions {
    /// The token of files that are about one and do not say which.
    pub token: Option<Address>,
    /// The symbol of the coin without a contract that files are about: `token` is its address then.
    pub coin: Option<String>,
    /// The chain of tokens and labels that do not say theirs.
    pub chain: Option<Chain>,
    /// The label of labelled accounts.
    pub label: Option<String>,
    /// Prices are in USD whatever the file's name says.
    pub as_usd: bool,
    /// Nothing is written.
    pub dry_run: bool,
    /// The table that `map` and `set` speak of.
    pub table: Option<String>,
    /// Columns of ours and the columns of theirs that serve them.
    pub map: Vec<(String, String)>,
    /// Columns of ours and their one value.
    pub set: Vec<(String, String)>,
    /// Columns of theirs and the value of the rows to take.
    pub pick: Vec<(String, String)>,
    /// The unit of amounts.
    pub unit: Option<AmountUnit>,
    /// What volumes count.
    pub volume: Option<VolumeUnit>,
    /// The decimals of tokens the dataset does not know.
    pub decimals: Option<u32>,
    /// Files are taken however many of their rows are broken.
    pub broken_too: bool,
}

/// In what amounts of tokens are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AmountUnit {
    /// Smallest units.
    Raw,
    /// Whole tokens.
    Whole,
}

/// What a volume counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VolumeUnit {
    Usd,
    Token,
}
