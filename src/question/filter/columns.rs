//! The columns that a filter can name, and what each holds. Which rows they belong to is the caller's.

use crate::dataset::schema::{Kind, TableSchema};

/// What a column holds, and so what it can be compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    Number,
    Text,
    /// Several names.
    List,
    /// One chain or several: it may be named by any of its names, and is a name.
    Chain,
    Flag,
    /// A time or a day.
    Time,
    /// A length of time, as an age.
    Duration,
}

/// A column that a filter can name.
#[derive(Debug, Clone)]
pub struct FilterColumn {
    pub name: &'static str,
    pub kind: ColumnKind,
    /// Other names, as `cap` for `market_cap`.
    pub aliases: &'static [&'static str],
    /// Plain words look into it.
    pub searched: bool,
}

impl FilterColumn {
    pub const fn new(name: &'static str, kind: ColumnKind, aliases: &'static [&'static str]) -> Self {
        Self { name, kind, aliases, searched: false }
    }

    /// The same, and plain words look into it.
    #[must_use]
    pub const fn searched(mut self) -> Self {
        self.searched = true;
        self
    }

    /// The shortest of its names, for a line with little room.
    pub fn short(&self) -> &str {
        self.aliases.iter().copied().chain([self.name]).min_by_key(|name| name.len()).unwrap_or(self.name)
    }

    fn answers_to(&self, name: &str) -> bool {
        let same = |known: &str| known.eq_ignore_ascii_case(name);
        same(self.name) || self.aliases.iter().any(|alias| same(alias))
    }
}

/// Likeness from which a name is taken for a slip.
const LIKE: f64 = 0.8;

/// The column of this name, in any letter case, or of this other name.
pub fn column<'a>(name: &str, columns: &'a [FilterColumn]) -> Option<&'a FilterColumn> {
    columns.iter().find(|column| column.answers_to(name))
}

/// Of the names and other names of the columns, the nearest to `name`.
pub fn nearest_column<'a>(name: &str, columns: &'a [FilterColumn]) -> Option<&'a str> {
    nearest(name, columns.iter().flat_map(|column| std::iter::once(column.name).chain(column.aliases.iter().copied())))
}

/// As `nearest_column`, where it is near enough to have been meant.
pub(super) fn near_column<'a>(name: &str, columns: &'a [FilterColumn]) -> Option<&'a str> {
    nearest_column(name, columns).filter(|near| strsim::jaro_winkler(&name.to_lowercase(), &near.to_lowercase()) >= LIKE)
}

/// The one of the known names that is nearest to `name`, in any letter case; none where none is known.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    let likeness = |known: &str| strsim::jaro_winkler(&lower, &known.to_lowercase());
    known.map(|known| (likeness(known), known)).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known)
}

/// The columns of a table as a filter names them; plain words look into what is text.
pub fn of_table(schema: &TableSchema) -> Vec<FilterColumn> {
    schema.columns.iter().map(|ours| of_kind(ours.name, ours.kind, ours.aliases)).collect()
}

/// A column that holds cells of this kind.
pub fn of_kind(name: &'static str, kind: Kind, aliases: &'static [&'static str]) -> FilterColumn {
    let searched = matches!(kind, Kind::Text | Kind::Address | Kind::Chain | Kind::Chains);
    let kind = match kind {
        Kind::Text | Kind::Address | Kind::Hex => ColumnKind::Text,
        Kind::Chain | Kind::Chains => ColumnKind::Chain,
        Kind::Addresses => ColumnKind::List,
        Kind::Integer | Kind::Float | Kind::Uint256 => ColumnKind::Number,
        Kind::Time | Kind::Date => ColumnKind::Time,
        Kind::Boolean => ColumnKind::Flag,
    };
    FilterColumn { name, kind, aliases, searched }
}
