//! The rows of the DEXes view: the token's DEXes, and the pools of one.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use crate::{
    analysis::dex::{DexSummary, Pool},
    dataset::chain::Chain,
    question::filter::{ColumnKind, FieldValue, Filter, FilterColumn},
    tui::{
        format,
        theme::Role,
        views::{parts::low_bar, rows::SortColumn},
        widgets::table::{Cell, Column},
    },
};

const DEXES: &[Column] = &[
    Column { matched: false, ..Column::text("name", "name", 8, 11, 255).grows() },
    Column { matched: false, ..Column::text("dexId", "id", 10, 18, 200) },
    Column { matched: false, ..Column::text("chainId", "chain", 5, 8, 220) },
    Column::figure("volume24h", "vol 24h", 9, 240),
    Column { matched: false, ..Column::text("bar", "", 0, 0, 20) },
    Column::figure("poolCount", "pools", 5, 150),
    Column { matched: false, ..Column::text("pair", "best pair", 9, 13, 120) },
    Column::figure("liquidity", "liquidity", 9, 100),
];

pub(super) const SORTS: &[SortColumn] =
    &[("name", false), ("chainId", false), ("volume24h", true), ("poolCount", true), ("liquidity", true)];

pub(super) const FILTERS: &[FilterColumn] = &[
    FilterColumn::new("name", ColumnKind::Text, &[]).searched(),
    FilterColumn::new("dexId", ColumnKind::Text, &["id", "dex"]).searched(),
    FilterColumn::new("chainId", ColumnKind::Chain, &["chain"]).searched(),
    FilterColumn::new("volume24h", ColumnKind::Number, &["volume", "vol"]),
    FilterColumn::new("poolCount", ColumnKind::Number, &["pools"]),
    FilterColumn::new("liquidity", ColumnKind::Number, &[]),
];

/// Whether the DEX meets every condition. A chain may be given by its number or its short name.
pub(super) fn holds(filter: &Filter, dex: &DexSummary) -> bool {
    filter.is_empty()
        || filter.matches(|column| match column {
            "name" => Some(FieldValue::text(&dex.name)),
            "dexId" => Some(FieldValue::text(&dex.dex_id)),
            "chainId" => dex.chain_id.as_deref().and_then(|id| FieldValue::list([Cow::Borrowed(id), chain(id).into()])),
            "volume24h" => dex.volume24h.map(FieldValue::Number),
            "poolCount" => Some(FieldValue::Number(dex.pool_count as f64)),
            "liquidity" => dex.best_pool.liquidity.map(FieldValue::Number),
            _ => None,
        })
}

const POOLS: &[Column] = &[
    Column { matched: false, ..Column::text("pair", "pair", 9, 14, 255).grows() },
    Column { matched: false, ..Column::text("address", "address", 11, 11, 100) },
    Column::figure("liquidity", "liquidity", 11, 240),
    Column { matched: false, ..Column::text("bar", "", 0, 0, 20) },
    Column::figure("volume24h", "volume 24h", 10, 220),
];

/// From this width on a pool's address is shown whole.
pub(super) const WHOLE_ADDRESS_WIDTH: u16 = 92;

/// The columns at a width, and the cells of a bar among them.
pub(super) fn dex_columns(width: u16) -> (Vec<Column>, usize) {
    let mut columns = DEXES.to_vec();
    if width < 60 {
        columns[0].ideal = 12;
    }
    let cells = if width >= 104 { width - 92 } else { 0 };
    (with_bar(columns, cells.min(24)), usize::from(cells.min(24)))
}

pub(super) fn pool_columns(width: u16) -> (Vec<Column>, usize) {
    let mut columns = POOLS.to_vec();
    if width >= WHOLE_ADDRESS_WIDTH {
        (columns[1].min, columns[1].ideal) = (42, 42);
    }
    let cells = if (64..WHOLE_ADDRESS_WIDTH).contains(&width) { width - 54 } else { 0 };
    (with_bar(columns, cells.min(16)), usize::from(cells.min(16)))
}

/// The bar's column so wide, or gone.
fn with_bar(mut columns: Vec<Column>, cells: u16) -> Vec<Column> {
    for column in columns.iter_mut().filter(|column| column.key == "bar") {
        (column.min, column.ideal) = (cells, cells);
    }
    columns
}

/// A bar of the value beside the largest of its column.
fn beside(value: Option<f64>, most: f64, cells: usize, ascii: bool) -> Cell {
    let share = value.filter(|_| most > 0.0).map_or(0.0, |value| value / most);
    Cell::new(low_bar(share, cells, ascii), Role::AccentSoft)
}

/// The largest of the values that are known.
pub(super) fn most(values: impl Iterator<Item = Option<f64>>) -> f64 {
    values.flatten().fold(0.0, f64::max)
}

/// The chain's short name by its EIP-155 number.
pub(super) fn chain(id: &str) -> String {
    Chain::known(id).map_or_else(|| id.to_owned(), |chain| chain.to_string())
}

pub(super) fn dex_cells(dex: &DexSummary, most: f64, cells: usize, ascii: bool) -> Vec<Cell> {
    vec![
        Cell::text(dex.name.clone()),
        Cell::new(dex.dex_id.clone(), Role::Dim),
        dex.chain_id.as_deref().map_or_else(Cell::missing, |id| Cell::text(chain(id))),
        Cell::figure(format::human(dex.volume24h)),
        beside(dex.volume24h, most, cells, ascii),
        Cell::text(format::count(dex.pool_count.unsigned_abs())),
        Cell::text(dex.best_pool.pair.clone()),
        Cell::figure(format::human(dex.best_pool.liquidity)),
    ]
}

pub(super) fn pool_cells(pool: &Pool, whole: bool, most: f64, cells: usize, ascii: bool) -> Vec<Cell> {
    vec![
        Cell::text(pool.pair.clone()),
        Cell::new(if whole { pool.address.to_string() } else { pool.address.short() }, Role::Dim),
        Cell::figure(format::human(pool.liquidity)),
        beside(pool.liquidity, most, cells, ascii),
        Cell::figure(format::human(pool.volume24h)),
    ]
}

pub(super) const DEXES_EXPORTED: &[&str] = &["dexId", "name", "chainId", "volume24h", "poolCount", "bestPool"];
pub(super) const POOLS_EXPORTED: &[&str] = &["address", "pair", "liquidity", "volume24h"];

pub(super) fn exported(row: &impl Serialize, columns: &[&str]) -> Vec<Value> {
    let row = serde_json::to_value(row).unwrap_or_default();
    columns.iter().map(|column| row[*column].clone()).collect()
}
