//! The columns that a filter can name, with their kinds. The rows they belong to are the caller's.

use model::schema::{Column, Kind, TableSchema};

/// The kind of a column's values, which decides the values and operators it accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    Number,
    Text,
    /// Several names.
    List,
    /// One chain or several; matched as a whole name, by any alias of the chain.
    Chain,
    Flag,
    /// A time or a day.
    Time,
    /// A duration, such as an age.
    Duration,
}

/// A column that a filter can name.
#[derive(Debug, Clone)]
pub struct FilterColumn {
    pub name: &'static str,
    pub kind: ColumnKind,
    /// Aliases, such as `cap` for `market_cap`.
    pub aliases: &'static [&'static str],
    /// Whether plain words search it.
    pub searched: bool,
    /// Whether its values are fractions, which screens show as percentages: `5%` is 0.05.
    pub fraction: bool,
    /// Whether its values are known to be neither fractions nor percentages.
    pub absolute: bool,
    pub values: ColumnValues,
}

/// The values that a column can have, as far as they are known before any row is read.
#[derive(Debug, Clone)]
pub enum ColumnValues {
    /// Any: they are the data's own.
    Open,
    /// One of these words.
    Words(fn() -> Vec<&'static str>),
    /// A chain of the list, or one of these of the data.
    Chains(Vec<String>),
    /// Addresses, of which a condition can name a part, or a token by its name.
    Addresses(AddressOf),
}

/// Whose addresses a column has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressOf {
    /// Those of tokens: a symbol comes before the same letters within an address, as in `token_address:ada`.
    Tokens,
    /// Those of wallets, pools and contracts, of which a few are tokens.
    Anyone,
}

impl FilterColumn {
    pub const fn new(
        name: &'static str,
        kind: ColumnKind,
        aliases: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            kind,
            aliases,
            searched: false,
            fraction: false,
            absolute: false,
            values: ColumnValues::Open,
        }
    }

    /// The same column, searched by plain words.
    #[must_use]
    pub const fn searched(mut self) -> Self {
        self.searched = true;
        self
    }

    /// The same column with fractions as values.
    #[must_use]
    pub const fn fraction(mut self) -> Self {
        self.fraction = true;
        self
    }

    /// The same column, whose values are one of these words.
    #[must_use]
    pub const fn of_words(mut self, words: fn() -> Vec<&'static str>) -> Self {
        // A const function may not drop the old values; those of a constant own nothing.
        std::mem::forget(std::mem::replace(
            &mut self.values,
            ColumnValues::Words(words),
        ));
        self
    }

    /// The same column, whose values are addresses.
    #[must_use]
    pub const fn addresses(mut self, of: AddressOf) -> Self {
        std::mem::forget(std::mem::replace(
            &mut self.values,
            ColumnValues::Addresses(of),
        ));
        self
    }

    /// The same column, whose values are chains of the list, or `own` ones of the data.
    #[must_use]
    pub const fn of_chains(mut self, own: Vec<String>) -> Self {
        std::mem::forget(std::mem::replace(
            &mut self.values,
            ColumnValues::Chains(own),
        ));
        self
    }

    pub fn has_addresses(&self) -> bool {
        matches!(self.values, ColumnValues::Addresses(_))
    }

    /// The shortest of its names, for narrow space.
    pub fn short(&self) -> &str {
        self.aliases
            .iter()
            .copied()
            .chain([self.name])
            .min_by_key(|name| name.len())
            .unwrap_or(self.name)
    }

    /// An example value, as it would be typed.
    pub(super) fn example(&self) -> &'static str {
        match self.kind {
            ColumnKind::Number if self.is_large() => "1m",
            ColumnKind::Number => "50",
            ColumnKind::Time => "2026-01-31",
            ColumnKind::Duration => "30d",
            ColumnKind::Flag => "yes",
            ColumnKind::Chain => "eth",
            ColumnKind::Text | ColumnKind::List => "word",
        }
    }

    /// Whether a percentage makes sense for it: in a fraction it is one hundredth, otherwise its plain number. It makes no sense for counts
    /// and amounts; for extra columns, whose meaning is unknown, it is taken as it is.
    pub fn takes_percentages(&self) -> bool {
        self.fraction || !(self.absolute || self.is_large())
    }

    fn is_large(&self) -> bool {
        LARGE.iter().any(|part| self.name.contains(part))
    }

    fn answers_to(&self, name: &str) -> bool {
        let same = |known: &str| known.eq_ignore_ascii_case(name);
        same(self.name) || self.aliases.iter().any(|alias| same(alias))
    }
}

/// Name parts of columns with large figures.
const LARGE: &[&str] = &[
    "cap",
    "volume",
    "liquidity",
    "tvl",
    "value_locked",
    "supply",
    "usd",
];

/// Finds a column by name or alias, in any letter case.
pub fn column<'a>(name: &str, columns: &'a [FilterColumn]) -> Option<&'a FilterColumn> {
    columns.iter().find(|column| column.answers_to(name))
}

/// All column names, each followed by its aliases.
pub fn names(columns: &[FilterColumn]) -> impl Iterator<Item = &str> {
    columns
        .iter()
        .flat_map(|column| std::iter::once(column.name).chain(column.aliases.iter().copied()))
}

/// The filter columns of a table; plain words search its text columns.
pub fn of_table(schema: &TableSchema) -> Vec<FilterColumn> {
    schema.columns.iter().map(of_column).collect()
}

/// The filter column of a table's column; its meaning shows whether it is a fraction or a percentage.
pub fn of_column(column: &Column) -> FilterColumn {
    let fraction = column.fraction;
    let absolute = !fraction && !column.meaning.contains("percent");
    FilterColumn {
        fraction,
        absolute,
        ..of_kind(column.name, column.kind, column.aliases)
    }
}

/// A filter column for cells of this kind.
pub fn of_kind(name: &'static str, kind: Kind, aliases: &'static [&'static str]) -> FilterColumn {
    let searched = matches!(
        kind,
        Kind::Text | Kind::Address | Kind::Chain | Kind::Chains
    );
    let of = if name.starts_with("token") {
        AddressOf::Tokens
    } else {
        AddressOf::Anyone
    };
    let is_address = matches!(kind, Kind::Address | Kind::Addresses);
    let values = if is_address {
        ColumnValues::Addresses(of)
    } else {
        ColumnValues::Open
    };
    let kind = match kind {
        Kind::Text | Kind::Address | Kind::Hex => ColumnKind::Text,
        Kind::Chain | Kind::Chains => ColumnKind::Chain,
        Kind::Addresses => ColumnKind::List,
        Kind::Integer | Kind::Float | Kind::Uint256 => ColumnKind::Number,
        Kind::Time | Kind::Date => ColumnKind::Time,
        Kind::Boolean => ColumnKind::Flag,
    };
    FilterColumn {
        searched,
        values,
        ..FilterColumn::new(name, kind, aliases)
    }
}
