//! Refusals: why a file is rejected, and the remedy: options, which the command line and the dialog turn into a command, and lines of
//! `dataset.toml` for files that a dataset can read directly.

use super::{
    error::{FileError, OptionError},
    options::ImportOptions,
    sniff::Sniffed,
};
use model::chain::Chain;

/// Placeholders in a suggested command for values that only the user knows: it does not run until they are replaced.
pub(super) const ADDRESS: &str = "ADDRESS";
pub(super) const COLUMN: &str = "COLUMN";
pub(super) const OURS: &str = "TARGET";
pub(super) const VALUE: &str = "VALUE";
pub(super) const TABLE: &str = "TABLE";
pub(super) const CHAIN: &str = "CHAIN";
pub(super) const DEX: &str = "DEX";
pub(super) const PROTOCOL: &str = "PROTOCOL";
pub(super) const LABEL: &str = "LABEL";
pub(super) const UNIT: &str = "UNIT";
pub(super) const DECIMALS: &str = "DECIMALS";
pub(super) const DATES: &str = "DATES";

/// The placeholders and their meanings.
pub const PLACEHOLDERS: &[(&str, &str)] = &[
    (ADDRESS, "the token's contract address"),
    (COLUMN, "a column of the file"),
    (
        OURS,
        "a tokendeck column, as listed by `tokendeck schema TABLE`",
    ),
    (VALUE, "the value in the rows to import"),
    (TABLE, "a tokendeck table, as listed by `tokendeck schema`"),
    (CHAIN, "a chain, as listed by `tokendeck schema --chains`"),
    (DEX, "the DEX, such as uniswap-v3"),
    (PROTOCOL, "the protocol, such as curve"),
    (LABEL, "the kind of address, such as exchange"),
    (
        UNIT,
        "raw or whole for amounts; percent or fraction for yields (both annual); percent, fraction or millionths for fees",
    ),
    (DECIMALS, "the token's decimals"),
    (DATES, "day or month, whichever comes first in the dates"),
];

/// Refuses options whose value is still a placeholder.
pub(super) fn left_placeholder(options: &ImportOptions) -> Result<(), OptionError> {
    let set = options
        .set
        .iter()
        .map(|(ours, value)| (format!("--set {ours}={value}"), value.as_str()));
    let label = options
        .label
        .iter()
        .map(|label| (format!("--label {label}"), label.as_str()));
    let map = options
        .map
        .iter()
        .map(|(ours, theirs)| (format!("--map {ours}={theirs}"), ours.as_str()));
    set.chain(label).chain(map).try_for_each(|(said, value)| {
        filled(value).map_err(|error| OptionError::In {
            option: said,
            error: Box::new(error),
        })
    })
}

/// Refuses a placeholder: a suggested command must not run until it is filled in.
pub(super) fn filled(value: &str) -> Result<(), OptionError> {
    match PLACEHOLDERS.iter().find(|(word, _)| *word == value) {
        Some(&(word, stands_for)) => Err(OptionError::Placeholder { word, stands_for }),
        None => Ok(()),
    }
}

/// Refuses options that contradict each other about a column.
pub(super) fn contradictory(options: &ImportOptions) -> Result<(), OptionError> {
    let set = |ours: &str| {
        options
            .set
            .iter()
            .find(|(column, _)| column == ours)
            .map(|(_, value)| value.as_str())
    };
    let (chain, label) = (
        options.chain.as_ref().map(Chain::as_str),
        options.label.as_deref(),
    );
    let same_chain =
        |set: &str, said: &str| Chain::known(set).is_some_and(|chain| chain.as_str() == said);
    let refused = |ours, set: &str, said: &str| {
        Err(OptionError::Contradictory {
            ours,
            set: set.to_owned(),
            said: said.to_owned(),
        })
    };
    match (set("chain"), chain, set("label"), label) {
        (Some(set), Some(said), ..) if !same_chain(set, said) => refused("chain", set, said),
        (.., Some(set), Some(said)) if set != said => refused("label", set, said),
        _ => Ok(()),
    }
}

/// The remedy for missing decimals.
pub(super) const WRITE_TOKENS: &str = "first import a token list with decimals, such as a CSV with the columns token_address, symbol, name, chain, decimals";

/// The reason for rejecting a file, and its remedy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Refusal {
    pub reason: String,
    /// Suggested options with their values; empty if no option would help.
    pub say: Vec<(&'static str, String)>,
    /// The equivalent section of `dataset.toml`.
    pub lines: Option<String>,
    /// The unreadable column without which the file can be imported.
    pub costs: Option<Box<LostColumn>>,
}

/// A schema column that stays empty, as the file's column cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LostColumn {
    pub table: &'static str,
    pub column: &'static str,
    pub why: String,
}

impl From<FileError> for Refusal {
    fn from(error: FileError) -> Self {
        error.to_string().into()
    }
}

impl From<String> for Refusal {
    fn from(reason: String) -> Self {
        Self {
            reason,
            ..Self::default()
        }
    }
}

impl From<load::ReadError> for Refusal {
    fn from(error: load::ReadError) -> Self {
        error.to_string().into()
    }
}

impl From<load::formats::SourceError> for Refusal {
    fn from(error: load::formats::SourceError) -> Self {
        error.to_string().into()
    }
}

impl From<&str> for Refusal {
    fn from(reason: &str) -> Self {
        reason.to_owned().into()
    }
}

impl Refusal {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        reason.into().into()
    }

    /// Adds an option to the suggestion.
    pub(super) fn say(mut self, option: &'static str, value: impl Into<String>) -> Self {
        self.say.push((option, value.into()));
        self
    }

    pub(super) fn saying(mut self, say: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        self.say.extend(say);
        self
    }

    pub(super) fn lines(mut self, lines: impl Into<String>) -> Self {
        self.lines = Some(lines.into());
        self
    }

    /// The reason as a sentence, followed by the columns that cannot be read, as they may be those that it misses, and by the
    /// `dataset.toml` lines if a dataset can read the file directly.
    pub(super) fn sentence(&self, sniffed: Option<&Sniffed>) -> String {
        let mut sentence = self.reason.clone();
        for (column, why) in sniffed
            .and_then(|sniffed| sniffed.sheet.as_ref())
            .iter()
            .flat_map(|sheet| &sheet.unread)
        {
            if !sentence.contains(why) || !sentence.contains(&format!("`{column}` cannot be read"))
            {
                sentence = format!(
                    "{}. The column `{column}` cannot be read: {why}",
                    sentence.trim_end_matches('.')
                );
            }
        }
        match self
            .lines
            .as_ref()
            .filter(|_| sniffed.is_none_or(Sniffed::is_read_where_it_lies))
        {
            Some(lines) => format!("{sentence}. In dataset.toml: {lines}"),
            None => sentence,
        }
    }
}
