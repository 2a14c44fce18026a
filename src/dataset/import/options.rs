//! What a person says of files that do not say it themselves.

use std::str::FromStr;

use super::refusal::placeholder;
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
    /// Columns of ours, and the file's columns that are read into them.
    pub map: Vec<(String, String)>,
    /// Columns of ours and their one value.
    pub set: Vec<(String, String)>,
    /// Columns of the file, and the value of the rows to take.
    pub pick: Vec<(String, String)>,
    /// The unit of amounts.
    pub unit: Option<AmountUnit>,
    /// What volumes count.
    pub volume: Option<VolumeUnit>,
    /// The decimals of tokens the dataset does not know.
    pub decimals: Option<u32>,
    /// Which of day and month stands first in times that do not show it.
    pub dates: Option<Dates>,
    /// Files are taken however many of their rows are broken.
    pub broken_too: bool,
}

/// Which of day and month stands first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dates {
    Day,
    Month,
}

/// In what amounts of tokens are, or yields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AmountUnit {
    /// Smallest units.
    Raw,
    /// Whole tokens.
    Whole,
    /// Of a yield: 5 is five percent.
    Percent,
    /// Of a yield: 0.05 is five percent.
    Fraction,
}

/// What a volume counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VolumeUnit {
    Usd,
    Token,
}

/// Options that take a value, as `--NAME VALUE`; the command line and the terminal's dialog both know them.
pub const VALUED: &[&str] = &["token", "coin", "chain", "label", "pick", "map", "set", "as", "unit", "volume", "decimals", "dates"];

impl ImportOptions {
    /// Takes what was said with one option of `VALUED`.
    pub fn say(&mut self, option: &str, value: &str) -> Result<(), String> {
        match option {
            "token" => self.token = Some(token(value)?),
            "coin" => {
                self.coin = Some(value.to_owned());
                self.token = Some(Address::coin(value));
            }
            "chain" => self.chain = Some(chain(value)?),
            "label" => self.label = Some(value.to_owned()),
            "pick" => self.pick.push(assignment(value)?),
            "map" => self.map.push(assignment(value)?),
            "set" => self.set.push(assignment(value)?),
            "as" => self.table = Some(table_name(value)?),
            "unit" => self.unit = Some(value.parse()?),
            "volume" => self.volume = Some(value.parse()?),
            "decimals" => self.decimals = Some(decimals(value)?),
            "dates" => self.dates = Some(value.parse()?),
            _ => return Err(format!("no option `--{option}` takes a value here: --{}", VALUED.join(", --"))),
        }
        Ok(())
    }

    /// These options and those to `say`, as words of a command line; where both name one, `say` counts.
    pub(super) fn words(&self, say: &[(&'static str, String)]) -> Vec<String> {
        let pairs = |pairs: &[(String, String)]| -> Vec<String> { pairs.iter().map(|(ours, theirs)| format!("{ours}={theirs}")).collect() };
        let one = |value: Option<String>| -> Vec<String> { value.into_iter().collect() };
        let token = self.token.filter(|_| self.coin.is_none()).map(|token| token.to_string());
        let mut said: Vec<(&'static str, String)> = Vec::new();
        for (name, values) in [
            ("as", one(self.table.clone())),
            ("token", one(token)),
            ("coin", one(self.coin.clone())),
            ("chain", one(self.chain.as_ref().map(ToString::to_string))),
            ("label", one(self.label.clone())),
            ("pick", pairs(&self.pick)),
            ("map", pairs(&self.map)),
            ("set", pairs(&self.set)),
            ("unit", one(word(self.unit, AMOUNT_UNITS))),
            ("volume", one(word(self.volume, VOLUME_UNITS))),
            ("decimals", one(self.decimals.map(|decimals| decimals.to_string()))),
            ("dates", one(word(self.dates, DATES))),
            ("as-usd", one(self.as_usd.then(String::new))),
            ("broken-too", one(self.broken_too.then(String::new))),
        ] {
            said.extend(values.into_iter().map(|value| (name, value)));
        }
        let key = |(name, value): &(&'static str, String)| {
            // A coin is a token; of NAME=VALUE the name tells which it is.
            let name = if *name == "coin" { "token" } else { name };
            (name, value.split_once('=').map(|(left, _)| left.to_owned()))
        };
        said.retain(|said| !say.iter().any(|say| key(say) == key(said)));
        let all = said.iter().chain(say);
        all.flat_map(|(name, value)| std::iter::once(format!("--{name}")).chain(Some(value.clone()).filter(|value| !value.is_empty())))
            .collect()
    }

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

/// The address of a token, or a coin.
pub fn token(text: &str) -> Result<Address, String> {
    filled(text)?;
    Address::asked(text).ok_or_else(|| "expected an address: 0x and 40 hex digits, or coin:BTC".to_owned())
}

/// A chain that is known, by any of its names.
pub fn chain(text: &str) -> Result<Chain, String> {
    filled(text)?;
    Chain::known(text).ok_or_else(|| format!("no such chain is known: did you mean {}?", Chain::nearest(text).join(", ")))
}

/// Refuses a placeholder: a suggested command that is copied must not run before it is filled in.
fn filled(text: &str) -> Result<(), String> {
    placeholder(text).map_or(Ok(()), Err)
}

/// The name of one of our tables.
pub fn table_name(text: &str) -> Result<String, String> {
    filled(text)?;
    let names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
    if names.contains(&text) { Ok(text.to_owned()) } else { Err(format!("`{text}`: expected one of {}", names.join(", "))) }
}

/// Decimals of a token, 0 to 77.
pub fn decimals(text: &str) -> Result<u32, String> {
    filled(text)?;
    text.parse().ok().filter(|decimals| *decimals <= 77).ok_or_else(|| format!("`{text}`: expected decimals from 0 to 77"))
}

/// The words of each choice, and what an error says is expected.
const DATES: (&[(&str, Dates)], &str) = (&[("day", Dates::Day), ("month", Dates::Month)], "day (31.12.2024) or month (12/31/2024)");
const AMOUNT_UNITS: (&[(&str, AmountUnit)], &str) = (
    &[("raw", AmountUnit::Raw), ("whole", AmountUnit::Whole), ("percent", AmountUnit::Percent), ("fraction", AmountUnit::Fraction)],
    "raw (smallest units) or whole (whole tokens); of yields percent or fraction",
);
const VOLUME_UNITS: (&[(&str, VolumeUnit)], &str) = (&[("usd", VolumeUnit::Usd), ("token", VolumeUnit::Token)], "usd or token");

fn chosen<T: Copy>(text: &str, (choices, expected): (&[(&str, T)], &str)) -> Result<T, String> {
    filled(text)?;
    let choice = choices.iter().find(|(word, _)| *word == text);
    choice.map(|(_, choice)| *choice).ok_or_else(|| format!("`{text}`: expected {expected}"))
}

fn word<T: Copy + PartialEq>(choice: Option<T>, (choices, _): (&[(&str, T)], &str)) -> Option<String> {
    choices.iter().find(|(_, known)| Some(*known) == choice).map(|(word, _)| (*word).to_owned())
}

impl FromStr for Dates {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        chosen(text, DATES)
    }
}

impl FromStr for AmountUnit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        chosen(text, AMOUNT_UNITS)
    }
}

impl FromStr for VolumeUnit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        chosen(text, VOLUME_UNITS)
    }
}
