//! Import options: facts that the user states because the files do not.

use std::str::FromStr;

use super::{error::OptionError, refusal::filled, zone::Zone};
use model::{address::Address, chain::Chain, schema::TABLES};

/// The import options.
#[derive(Debug, Clone, Default)]
pub struct ImportOptions {
    /// The token of files that are about one token and don't name it.
    pub token: Option<Address>,
    /// Symbol of the coin without a contract that files are about; `token` is then its address.
    pub coin: Option<String>,
    /// The chain of tokens and labels whose rows name none.
    pub chain: Option<Chain>,
    /// The label of a list of labeled accounts.
    pub label: Option<String>,
    /// Treat prices as USD, whatever the file says.
    pub as_usd: bool,
    /// Write nothing.
    pub dry_run: bool,
    /// The table to which `map` and `set` apply.
    pub table: Option<String>,
    /// Schema column and the file's column read into it.
    pub map: Vec<(String, String)>,
    /// Schema column and its constant.
    pub set: Vec<(String, String)>,
    /// The file's column and the value of the rows to import.
    pub pick: Vec<(String, String)>,
    /// The unit of amounts, yields and fees.
    pub unit: Option<AmountUnit>,
    /// The unit of volumes.
    pub volume: Option<VolumeUnit>,
    /// The decimals of tokens for which the dataset has none.
    pub decimals: Option<u32>,
    /// The order of day and month, for ambiguous dates.
    pub dates: Option<Dates>,
    /// The time zone of times that carry none.
    pub timezone: Option<Zone>,
    /// Import files however many of their rows are invalid.
    pub broken_too: bool,
}

macro_rules! choices {
    ($($(#[$doc:meta])* $choice:ident($expected:literal) { $($(#[$of:meta])* $variant:ident = $word:literal,)+ })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $choice { $($(#[$of])* $variant),+ }

        impl $choice {
            fn word(self) -> String {
                match self { $(Self::$variant => $word),+ }.to_owned()
            }
        }

        impl FromStr for $choice {
            type Err = OptionError;

            fn from_str(text: &str) -> Result<Self, OptionError> {
                filled(text)?;
                match text {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(OptionError::expected(text, $expected)),
                }
            }
        }
    )*};
}

choices! {
    /// Date order: day or month first.
    Dates("day (31.12.2024) or month (12/31/2024)") { Day = "day", Month = "month", }

    /// The unit of token amounts, of yields, or of fees.
    AmountUnit("raw (base units) or whole (whole tokens) for amounts, percent or fraction for yields, percent, fraction or millionths for \
         fees") {
        /// Base units.
        Raw = "raw",
        /// Whole tokens.
        Whole = "whole",
        /// A yield or fee in which 5 means 5%.
        Percent = "percent",
        /// A yield or fee in which 0.05 means 5%.
        Fraction = "fraction",
        /// A fee in which 3000 means 0.3%.
        Millionths = "millionths",
    }

    /// The unit of a volume: quote (USD) or base (token).
    VolumeUnit("usd or token") { Usd = "usd", Token = "token", }
}

/// Options with a value, as `--NAME VALUE`; shared by the command line and the terminal's dialog.
pub const VALUED: &[&str] = &[
    "token", "coin", "chain", "label", "pick", "map", "set", "as", "unit", "volume", "decimals",
    "dates", "timezone",
];

impl ImportOptions {
    /// Sets an option of `VALUED`.
    pub fn say(&mut self, option: &str, value: &str) -> Result<(), OptionError> {
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
            "timezone" => self.timezone = Some(value.parse()?),
            _ => return Err(OptionError::Unknown(option.to_owned())),
        }
        Ok(())
    }

    /// Formats these options and those of `say` as command-line words; where both set the same one, `say` wins.
    pub(super) fn words(&self, say: &[(&'static str, String)]) -> Vec<String> {
        let pairs = |pairs: &[(String, String)]| -> Vec<String> {
            pairs
                .iter()
                .map(|(ours, theirs)| format!("{ours}={theirs}"))
                .collect()
        };
        let one = |value: Option<String>| -> Vec<String> { value.into_iter().collect() };
        let token = self
            .token
            .filter(|_| self.coin.is_none())
            .map(|token| token.to_string());
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
            ("unit", one(self.unit.map(AmountUnit::word))),
            ("volume", one(self.volume.map(VolumeUnit::word))),
            (
                "decimals",
                one(self.decimals.map(|decimals| decimals.to_string())),
            ),
            ("dates", one(self.dates.map(Dates::word))),
            ("timezone", one(self.timezone.map(|zone| zone.to_string()))),
            ("as-usd", one(self.as_usd.then(String::new))),
            ("broken-too", one(self.broken_too.then(String::new))),
        ] {
            said.extend(values.into_iter().map(|value| (name, value)));
        }
        let key = |(name, value): &(&'static str, String)| {
            // A coin is a token; options of the form NAME=VALUE are the same if NAME is.
            let name = if *name == "coin" { "token" } else { name };
            (name, value.split_once('=').map(|(left, _)| left.to_owned()))
        };
        said.retain(|said| !say.iter().any(|say| key(say) == key(said)));
        let all = said.iter().chain(say);
        all.flat_map(|(name, value)| {
            std::iter::once(format!("--{name}"))
                .chain(Some(value.clone()).filter(|value| !value.is_empty()))
        })
        .collect()
    }

    /// Treats `--set chain=eth` as `--chain eth`, as refusals suggest both.
    pub(super) fn settled(&self) -> Self {
        let set = || {
            self.set
                .iter()
                .find(|(ours, _)| ours == "chain")
                .and_then(|(_, value)| Chain::known(value))
        };
        Self {
            chain: self.chain.clone().or_else(set),
            ..self.clone()
        }
    }
}

/// Splits `NAME=VALUE`.
pub fn assignment(text: &str) -> Result<(String, String), OptionError> {
    text.split_once('=')
        .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
        .filter(|(name, _)| !name.is_empty())
        .ok_or_else(|| OptionError::expected(text, "NAME=VALUE"))
}

/// Parses a token address, or a coin.
pub fn token(text: &str) -> Result<Address, OptionError> {
    filled(text)?;
    Address::asked(text).ok_or(OptionError::NoAddress)
}

/// Parses a known chain, by any of its names.
pub fn chain(text: &str) -> Result<Chain, OptionError> {
    filled(text)?;
    Chain::known(text).ok_or_else(|| OptionError::UnknownChain(text.to_owned()))
}

/// Parses the name of a schema table.
pub fn table_name(text: &str) -> Result<String, OptionError> {
    filled(text)?;
    let names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
    if names.contains(&text) {
        Ok(text.to_owned())
    } else {
        Err(OptionError::expected(
            text,
            format!("one of {}", names.join(", ")),
        ))
    }
}

/// Parses a token's decimals, 0 to 77.
pub fn decimals(text: &str) -> Result<u32, OptionError> {
    filled(text)?;
    text.parse()
        .ok()
        .filter(|decimals| *decimals <= 77)
        .ok_or_else(|| OptionError::expected(text, "a number of decimals from 0 to 77"))
}
