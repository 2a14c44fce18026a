//! The field definition of a list: everything about a column, in one row of the list's table.

use super::Fields;
use crate::widgets::{
    table::{Cell, ColumnAlign, TableColumn},
    theme::Role,
};
use crate::zone::DisplayZone;
use model::{format, scalar::Scalar, time::Time};
use table::filter::{AddressOf, ColumnKind, FilterColumn};

/// The drawing parameters of a cell.
#[derive(Debug, Clone, Copy)]
pub struct CellContext {
    /// The drawn width of the column.
    pub cells: usize,
    /// The wall clock, and the newest time in the data.
    pub now: Time,
    pub newest: Time,
    pub zone: DisplayZone,
}

/// A row of the list `L`.
pub struct ListRow<'a, L: Fields> {
    pub given: L::Row<'a>,
}

impl<L: Fields> Clone for ListRow<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L: Fields> Copy for ListRow<'_, L> {}

impl<'a, L: Fields> std::ops::Deref for ListRow<'a, L> {
    type Target = L::Row<'a>;

    fn deref(&self) -> &L::Row<'a> {
        &self.given
    }
}

/// A field of the list `L`. Built by `text`, `figure`, `hidden` or `picture`, then modified by the builder methods.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is an independent property of the column, and any combination is valid"
)]
pub struct Field<L: Fields> {
    pub column: TableColumn,
    pub value: for<'a> fn(ListRow<'a, L>) -> Scalar<'a>,
    pub(super) cell: Option<for<'a> fn(ListRow<'a, L>, &CellContext) -> Cell>,
    drawn: Drawn,
    /// Minimum and ideal width from a width of the list on; the last that applies.
    widths: &'static [(u16, [u16; 2])],
    /// A shorter title, and the width in cells below which it is used.
    short_title: (u16, &'static str),
    pub(super) rank: Option<for<'a> fn(ListRow<'a, L>) -> Option<f64>>,
    pub(super) kind: Option<ColumnKind>,
    pub(super) aliases: &'static [&'static str],
    pub(super) searched: bool,
    addresses: Option<AddressOf>,
    /// Whether it is first sorted descending; `None` for an unsortable field.
    pub(super) descending_first: Option<bool>,
    pub(super) shown: bool,
    /// Hidden by default, on screen and in files.
    pub(super) optional: bool,
    /// Newer than the sessions saved without a list of known columns: hidden when such a session is restored.
    pub(super) recent: bool,
    /// The exported member of the row's JSON; empty for none.
    pub(super) member: &'static str,
}

/// How a value is drawn in a field without a rendering of its own.
#[derive(Debug, Clone, Copy)]
enum Drawn {
    /// By its kind, as the list does.
    Plain,
    Dim,
    /// In every digit.
    Count,
    /// A change in percent, in its color.
    Change,
    /// With this number of decimals.
    Fixed(usize, Role),
}

impl<L: Fields> Clone for Field<L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L: Fields> Copy for Field<L> {}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) |$field:ident| $does:expr;)*) => { $(
        $(#[$doc])*
        #[must_use]
        pub const fn $name(self $(, $argument: $type)*) -> Self {
            let mut $field = self;
            $does;
            $field
        }
    )* };
}

impl<L: Fields> Field<L> {
    const fn new(
        column: TableColumn,
        kind: Option<ColumnKind>,
        descending_first: Option<bool>,
        value: for<'a> fn(ListRow<'a, L>) -> Scalar<'a>,
    ) -> Self {
        let member = column.key;
        Self {
            column,
            value,
            cell: None,
            drawn: Drawn::Plain,
            widths: &[],
            short_title: (0, ""),
            rank: None,
            kind,
            aliases: &[],
            searched: false,
            addresses: None,
            descending_first,
            shown: true,
            optional: false,
            recent: false,
            member,
        }
    }

    /// A text column with its minimum and ideal width in cells.
    pub const fn text(
        key: &'static str,
        title: &'static str,
        [min, ideal]: [u16; 2],
        priority: u8,
        value: for<'a> fn(ListRow<'a, L>) -> Scalar<'a>,
    ) -> Self {
        Self::new(
            TableColumn::text(key, title, min, ideal, priority),
            Some(ColumnKind::Text),
            Some(false),
            value,
        )
    }

    /// A figure column.
    pub const fn figure(
        key: &'static str,
        title: &'static str,
        width: u16,
        priority: u8,
        value: for<'a> fn(ListRow<'a, L>) -> Scalar<'a>,
    ) -> Self {
        Self::new(
            TableColumn::figure(key, title, width, priority),
            Some(ColumnKind::Number),
            Some(true),
            value,
        )
    }

    /// A field for filters and files only, without a column.
    pub const fn hidden(
        key: &'static str,
        kind: ColumnKind,
        value: for<'a> fn(ListRow<'a, L>) -> Scalar<'a>,
    ) -> Self {
        Self {
            shown: false,
            ..Self::new(TableColumn::text(key, "", 0, 0, 0), Some(kind), None, value)
        }
    }

    /// A drawn column, without filter or sorting.
    pub const fn picture(
        key: &'static str,
        title: &'static str,
        width: u16,
        priority: u8,
        cell: for<'a> fn(ListRow<'a, L>, &CellContext) -> Cell,
    ) -> Self {
        Self::new(
            TableColumn::text(key, title, width, width, priority),
            None,
            None,
            |_| Scalar::Missing,
        )
        .member("")
        .plain()
        .cell(cell)
    }

    setters! {
        cell(cell: for<'a> fn(ListRow<'a, L>, &CellContext) -> Cell) |field| field.cell = Some(cell);
        dim() |field| field.drawn = Drawn::Dim;
        counted() |field| field.drawn = Drawn::Count;
        fixed(digits: usize, role: Role) |field| field.drawn = Drawn::Fixed(digits, role);
        change() |field| (field.drawn, field.column.unit, field.column.align) = (Drawn::Change, "%", ColumnAlign::Decimal);
        /// Minimum and ideal width from a width of the list on; the last that applies.
        widths(widths: &'static [(u16, [u16; 2])]) |field| field.widths = widths;
        /// A shorter title, and the width in cells below which it is used.
        short_title(cells: u16, title: &'static str) |field| field.short_title = (cells, title);
        /// Replaces the value as the sort key.
        rank(rank: for<'a> fn(ListRow<'a, L>) -> Option<f64>) |field| field.rank = Some(rank);
        /// Sets the kind of the value for filters.
        of(kind: ColumnKind) |field| field.kind = Some(kind);
        /// Excludes the field from filters.
        unfiltered() |field| field.kind = None;
        aliases(aliases: &'static [&'static str]) |field| field.aliases = aliases;
        /// Its values are addresses, which a filter may name as tokens.
        addresses(of: AddressOf) |field| field.addresses = Some(of);
        /// Plain filter words search it.
        searched() |field| field.searched = true;
        /// Sorts descending first.
        largest_first() |field| field.descending_first = Some(true);
        smallest_first() |field| field.descending_first = Some(false);
        unsorted() |field| field.descending_first = None;
        optional() |field| field.optional = true;
        recent() |field| field.recent = true;
        /// The JSON member, where its name differs from the field's; empty for a field that is not exported.
        member(member: &'static str) |field| field.member = member;
        /// Filter words are not highlighted in it.
        plain() |field| field.column.matched = false;
        unit(unit: &'static str) |field| field.column.unit = unit;
        grows() |field| field.column.grows = true;
        decimal() |field| field.column.align = ColumnAlign::Decimal;
    }

    pub fn show(&self, row: ListRow<'_, L>, look: &CellContext) -> Cell {
        let value = match (self.cell, self.drawn) {
            (Some(cell), _) => return cell(row, look),
            (None, Drawn::Plain) => return L::cell(row, self.column.key),
            (None, _) => L::value(row, self.column.key),
        };
        match (self.drawn, value) {
            (Drawn::Count, Scalar::Float(number)) => Cell::text(format::count(number as u64)),
            (Drawn::Change, Scalar::Float(percent)) => Cell::change(Some(percent)),
            (Drawn::Fixed(digits, role), Scalar::Float(number)) => {
                Cell::new(format::fixed(number, digits), role)
            }
            (_, value) => Cell::new(cell_of(value).plain().into_owned(), Role::Dim),
        }
    }

    /// Its column in a list of that width.
    pub(super) fn column_in(&self, width: u16) -> TableColumn {
        let mut column = self.column;
        if let Some((_, widths)) = self.widths.iter().rfind(|(from, _)| *from <= width) {
            [column.min, column.ideal] = *widths;
        }
        if column.min < self.short_title.0 {
            column.title = self.short_title.1;
        }
        L::fit(&mut column, width);
        column
    }

    /// The filter column; `None` for an unfiltered field.
    pub(super) fn filter_column(&self) -> Option<FilterColumn> {
        let column = FilterColumn {
            searched: self.searched,
            ..FilterColumn::new(self.column.key, self.kind?, self.aliases)
        };
        Some(if let Some(of) = self.addresses {
            column.addresses(of)
        } else {
            column
        })
    }

    pub(super) fn sort_key(&self, row: ListRow<'_, L>) -> Option<Scalar<'static>> {
        self.rank.map_or_else(
            || (self.value)(row).sort_key(),
            |rank| rank(row).map(Scalar::Float),
        )
    }
}

/// A value as it is drawn without a rendering of the field's own.
pub(super) fn cell_of(value: Scalar<'_>) -> Cell {
    match value {
        Scalar::Missing => Cell::missing(),
        Scalar::Float(number) => Cell::number(number),
        Scalar::Whole(number) => Cell::number(number as f64),
        Scalar::Digits(text) | Scalar::Text(text) => Cell::text(text.into_owned()),
        Scalar::Flag(flag) => Cell::text(if flag { "yes" } else { "no" }),
        Scalar::Time(time) => Cell::new(time.to_string(), Role::Dim),
        Scalar::Day(day) => Cell::new(day.to_string(), Role::Dim),
        Scalar::Duration(length) => Cell::text(format::age(length)),
        // `eth +4`
        Scalar::List(names) => match &*names {
            [] => Cell::missing(),
            [only] => Cell::text(only.to_string()),
            [first, others @ ..] => {
                Cell::text(first.to_string()).then(format!(" +{}", others.len()), Role::Dim)
            }
        },
    }
}
