//! Columns found by name: a description lists the names that a schema column may have in files, and the first one in a file whose cells fit
//! the schema column is used. The caller decides what to do with them.

use super::{
    super::{
        edits::Fix,
        evidence::{CellKind, addresses, kind, when::TimeStyle},
        names::Names,
        rows::address,
        sheet::RawTable,
    },
    ImportedTable,
};
use model::{
    address::Address,
    schema::{Column, Kind, Need, TABLES, TableSchema},
    toml_reader::{TomlEntry, TomlError},
};

/// Cells that are looked at.
const CELLS: usize = 300;
/// Share of bytecode that must be hex.
const HEX_MOST: f64 = 0.9;

/// The names of one table's columns, in the order in which they are looked for.
#[derive(Debug, Clone)]
pub(super) struct ColumnNames {
    pub table: &'static TableSchema,
    columns: Vec<(&'static Column, String)>,
}

/// The columns that were looked for, with their places in the file.
#[derive(Debug, Clone)]
pub(super) struct Found(Vec<(&'static Column, Option<usize>)>);

impl ColumnNames {
    /// Reads `names`: by table and column, names in normal form, the best first.
    pub(super) fn read(member: &TomlEntry<'_>) -> Result<Vec<Self>, TomlError> {
        let read = |entry: TomlEntry<'_>| {
            let tables: Vec<&str> = TABLES.iter().map(|schema| schema.name).collect();
            let table = TABLES
                .iter()
                .find(|schema| schema.name == entry.key)
                .ok_or_else(|| entry.unknown("table", &tables))?;
            let column = |entry: TomlEntry<'_>| {
                let known: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
                let column = table
                    .column(entry.key)
                    .ok_or_else(|| entry.unknown("column", &known))?;
                Ok((column, entry.texts()?.join(" ")))
            };
            Ok(Self {
                table,
                columns: entry
                    .table()?
                    .into_iter()
                    .map(column)
                    .collect::<Result<_, _>>()?,
            })
        };
        member.table()?.into_iter().map(read).collect()
    }

    /// The file's columns; `None` if one is not there that each row must have for itself.
    pub(super) fn find(&self, sheet: &RawTable) -> Option<Found> {
        if !sheet.named {
            return None;
        }
        let names = Names::of(&sheet.names);
        let mut found: Vec<(&'static Column, Option<usize>)> = Vec::new();
        for (column, words) in &self.columns {
            let taken = |at: &usize| found.iter().any(|(_, known)| known.as_ref() == Some(at));
            let all = || {
                words
                    .split_whitespace()
                    .flat_map(|word| names.all(word))
                    .filter(|at| !taken(at))
            };
            // Of times, one whose day and month can be told apart is better than one named better.
            let sure = |at: &usize| {
                !matches!(column.kind, Kind::Time | Kind::Date)
                    || sheet.when(&filled(sheet, *at)).is_ok()
            };
            let at = all()
                .find(|at| holds(column.kind, sheet, *at) && sure(at))
                .or_else(|| all().find(|at| holds(column.kind, sheet, *at)));
            if at.is_none() && column.need != Need::Optional && !self.can_be_said(column) {
                return None;
            }
            found.push((column, at));
        }
        Some(Found(found))
    }

    /// Whether the column can be the same in every row, so that an option or the file's name may say it.
    fn can_be_said(&self, column: &Column) -> bool {
        match column.kind {
            Kind::Text | Kind::Chain | Kind::Chains => true,
            Kind::Address => column.name == "token_address" && self.table.key != ["token_address"],
            _ => false,
        }
    }
}

fn filled(sheet: &RawTable, at: usize) -> Vec<&str> {
    sheet.column(at).collect()
}

/// Whether the cells are what such a column holds.
fn holds(wanted: Kind, sheet: &RawTable, at: usize) -> bool {
    let found = || kind(sheet.column(at).take(CELLS));
    match wanted {
        Kind::Address | Kind::Addresses => {
            let undressed: Vec<String> = sheet
                .column(at)
                .map(|cell| undressed(cell).unwrap_or_else(|| cell.to_owned()))
                .collect();
            addresses(undressed.iter().map(String::as_str)) > 0.5
        }
        Kind::Hex => {
            matches!(found(), CellKind::Hash | CellKind::Hex) || hex(sheet, at) >= HEX_MOST
        }
        Kind::Integer => matches!(found(), CellKind::Number | CellKind::Hex),
        Kind::Float => found() == CellKind::Number,
        Kind::Uint256 => matches!(found(), CellKind::Number | CellKind::Hex | CellKind::Hash),
        Kind::Time | Kind::Date => !matches!(TimeStyle::of(&filled(sheet, at)), Ok(None)),
        Kind::Text | Kind::Chain | Kind::Chains | Kind::Boolean => {
            sheet.column(at).any(|cell| !cell.is_empty())
        }
    }
}

/// The share of cells that are long hex, with or without `0x`.
fn hex(sheet: &RawTable, at: usize) -> f64 {
    let filled: Vec<&str> = sheet
        .column(at)
        .filter(|cell| !cell.is_empty() && *cell != "0x")
        .collect();
    let is_hex = |cell: &&&str| {
        cell.len() > 20
            && cell
                .trim_start_matches("0x")
                .bytes()
                .all(|digit| digit.is_ascii_hexdigit())
    };
    filled.iter().filter(is_hex).count() as f64 / filled.len().max(1) as f64
}

/// The address in a cell that has more than it.
fn undressed(cell: &str) -> Option<String> {
    let address = address(cell)?;
    Address::parse(cell.trim())
        .is_none()
        .then(|| address.to_string())
}

impl Found {
    /// The position of a schema column.
    pub(super) fn at(&self, ours: &str) -> Option<usize> {
        self.0
            .iter()
            .find(|(column, _)| column.name == ours)
            .and_then(|(_, at)| *at)
    }

    /// The places of columns that each row must have.
    pub(super) fn all<const N: usize>(&self, ours: [&str; N]) -> Option<[usize; N]> {
        let found: Vec<usize> = ours
            .iter()
            .map(|ours| self.at(ours))
            .collect::<Option<_>>()?;
        found.try_into().ok()
    }

    /// Rewrites for addresses that are written as links or with their network.
    pub(super) fn fixes(&self, sheet: &RawTable) -> Vec<Fix> {
        let dressed = |at: &usize| sheet.column(*at).any(|cell| undressed(cell).is_some());
        let addresses = self
            .0
            .iter()
            .filter(|(column, _)| column.kind == Kind::Address)
            .filter_map(|(_, at)| *at);
        addresses
            .filter(dressed)
            .map(|at| Fix::text(sheet, at, undressed))
            .collect()
    }

    /// Maps them. An optional one that is not there stays empty, even if another column has its name.
    pub(super) fn map(&self, sheet: &RawTable, take: ImportedTable) -> ImportedTable {
        self.0.iter().fold(take, |take, (column, at)| match at {
            Some(at) => take.columns(&[(column.name, &sheet.names[*at])]),
            None if column.need == Need::Optional => take.without(column.name),
            None => take,
        })
    }
}
