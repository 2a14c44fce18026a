//! The rows of the DEXes view: the token's DEXes, and the pools of one.

use serde::Serialize;
use serde_json::Value;

use crate::{
    analysis::dex::{DexSummary, Pool},
    dataset::chain::Chain,
    tui::{
        format,
        theme::Role,
        views::rows::SortColumn,
        widgets::table::{Cell, Column},
    },
};

const DEXES: &[Column] = &[
    Column { matched: false, ..Column::text("name", "name", 8, 18, 255).grows() },
    Column { matched: false, ..Column::text("chainId", "chain", 5, 8, 220) },
    Column::figure("volume24h", "volume 24h", 10, 240).unit(""),
    Column::figure("poolCount", "pools", 7, 150),
    Column { matched: false, ..Column::text("pair", "best pair", 9, 14, 120) },
    Column::figure("liquidity", "liquidity", 9, 100),
];

pub(super) const SORTS: &[SortColumn] =
    &[("name", false), ("chainId", false), ("volume24h", true), ("poolCount", true), ("liquidity", true)];

const POOLS: &[Column] = &[
    Column { matched: false, ..Column::text("pair", "pair", 9, 14, 255).grows() },
    Column { matched: false, ..Column::text("address", "address", 11, 11, 100) },
    Column::figure("liquidity", "liquidity", 11, 240),
    Column::figure("volume24h", "volume 24h", 10, 220),
];

/// From this width on a pool's address is shown whole.
pub(super) const WHOLE_ADDRESS_WIDTH: u16 = 92;

pub(super) fn dex_columns(width: u16) -> Vec<Column> {
    let mut columns = DEXES.to_vec();
    if width < 60 {
        columns[0].ideal = 12;
    }
    columns
}

pub(super) fn pool_columns(width: u16) -> Vec<Column> {
    let mut columns = POOLS.to_vec();
    if width >= WHOLE_ADDRESS_WIDTH {
        (columns[1].min, columns[1].ideal) = (42, 42);
    }
    columns
}

/// The chain's short name by its EIP-155 number.
pub(super) fn chain(id: &str) -> String {
    Chain::known(id).map_or_else(|| id.to_owned(), |chain| chain.to_string())
}

pub(super) fn dex_cells(dex: &DexSummary) -> Vec<Cell> {
    vec![
        Cell::text(dex.name.clone()),
        dex.chain_id.as_deref().map_or_else(Cell::missing, |id| Cell::text(chain(id))),
        Cell::figure(format::human(dex.volume24h)),
        Cell::text(format::count(dex.pool_count.unsigned_abs())),
        Cell::text(dex.best_pool.pair.clone()),
        Cell::figure(format::human(dex.best_pool.liquidity)),
    ]
}

pub(super) fn pool_cells(pool: &Pool, whole: bool) -> Vec<Cell> {
    vec![
        Cell::text(pool.pair.clone()),
        Cell::new(if whole { pool.address.to_string() } else { pool.address.short() }, Role::Dim),
        Cell::figure(format::human(pool.liquidity)),
        Cell::figure(format::human(pool.volume24h)),
    ]
}

pub(super) const DEXES_EXPORTED: &[&str] = &["dexId", "name", "chainId", "volume24h", "poolCount", "bestPool"];
pub(super) const POOLS_EXPORTED: &[&str] = &["address", "pair", "liquidity", "volume24h"];

pub(super) fn named(columns: &[&str]) -> Vec<String> {
    columns.iter().map(|&column| column.to_owned()).collect()
}

pub(super) fn exported(row: &impl Serialize, columns: &[&str]) -> Vec<Value> {
    let row = serde_json::to_value(row).unwrap_or_default();
    columns.iter().map(|column| row[*column].clone()).collect()
}
