//! What a person says of files that do not say it themselves.

use std::str::FromStr;

use crate::dataset::{address::Address, chain::Chain, schema::TABLES};

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

/// Options that take a value, as `--NAME VALUE`; the command line and the terminal's dialog both know them.
pub const VALUED: &[&str] = &["token", "coin", "chain", "label", "pick", "map", "set", "as", "unit", "volume", "decimals"];

impl ImportOptions {
    /// Takes what was said with one option of `VALUED`.
    pub fn say(&mut self, option: &str, value: &str) -> Result<(), String> {
        match option {
            "token" => self.token = Some(Address::or_coin(value).ok_or_else(|| format!("`{value}` is no address"))?),
            "coin" => {
                self.coin = Some(value.to_owned());
                self.token = Some(Address::coin(value));
            }
            "chain" => self.chain = Some(Chain::known(value).ok_or_else(|| format!("no chain `{value}` is known"))?),
            "label" => self.label = Some(value.to_owned()),
            "pick" => self.pick.push(assignment(value)?),
            "map" => self.map.push(assignment(value)?),
            "set" => self.set.push(assignment(value)?),
            "as" => self.table = Some(table_name(value)?),
            "unit" => self.unit = Some(value.parse()?),
            "volume" => self.volume = Some(value.parse()?),
            "decimals" => self.decimals = Some(decimals(value)?),
            _ => return Err(format!("no option `--{option}` takes a value here: --{}", VALUED.join(", --"))),
        }
        Ok(())
    }
}

impl ImportOptions {
    /// With `--set chain=eth` meant as `--chain eth`, which refusals name as well.
    pub(super) fn settled(&self) -> Self {
        let set = || self.set.iter().find(|(ours, _)| ours == "chain").and_then(|(_, value)| Chain::known(value));
        Self { chain: self.chain.clone().or_else(set), ..self.clone() }
    }
}

/// `NAME=VALUE` in its two parts.
pub fn assignment(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("`{text}`: expected NAME=VALUE"))?;
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() { Err(format!("`{text}`: expected NAME=VALUE")) } else { Ok((name.to_owned(), value.to_owned())) }
}

/// The name of one of our tables.
pub fn table_name(text: &str) -> Result<String, String> {
    let names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
    if names.contains(&text) { Ok(text.to_owned()) } else { Err(format!("`{text}`: expected one of {}", names.join(", "))) }
}

/// Decimals of a token, 0 to 77.
fn decimals(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|decimals| *decimals <= 77).ok_or_else(|| format!("`{text}`: expected decimals from 0 to 77"))
}

impl FromStr for AmountUnit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "raw" => Ok(Self::Raw),
            "whole" => Ok(Self::Whole),
            _ => Err(format!("`{text}`: expected raw (smallest units) or whole (whole tokens)")),
        }
    }
}

impl FromStr for VolumeUnit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "usd" => Ok(Self::Usd),
            "token" => Ok(Self::Token),
            _ => Err(format!("`{text}`: expected usd or token")),
        }
    }
}
