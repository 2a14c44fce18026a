//! The lists of the DEXes view, the token's DEXes and the pools of one: one row of a table for each field.

use crate::views::prelude::*;
use analysis::dex::{DexSummary, sale::TokenPool};
use model::chain::Chain;

pub(super) struct DexFields;
pub(super) struct PoolFields;

type D = Field<DexFields>;
type P = Field<PoolFields>;

impl Fields for DexFields {
    /// With the largest volume, the scale of the bars.
    type Row<'a> = (&'a DexSummary, f64);

    const FIELDS: &'static [D] = &[
        D::text("name", "name", [14, 14], 255, |dex| versioned(dex.0).into())
            .searched()
            .plain()
            .grows(),
        D::text("dexId", "id", [18, 18], 90, |dex| (&dex.0.dex_id).into())
            .dim()
            .aliases(&["id", "dex"])
            .searched()
            .unsorted()
            .plain(),
        // A chain matches by its short name or its number.
        D::text("chainId", "chain", [5, 8], 220, |dex| {
            dex.0
                .chain_id
                .as_deref()
                .map(|id| Scalar::List(vec![chain(id).into(), id.into()]))
                .into()
        })
        .cell(|dex, _| {
            dex.0
                .chain_id
                .as_deref()
                .map_or_else(Cell::missing, |id| Cell::text(chain(id)))
        })
        .of(ColumnKind::Chain)
        .aliases(&["chain"])
        .searched()
        .plain(),
        D::figure("volume24h", "vol 24h", 9, 240, |dex| {
            dex.0.volume_24h.into()
        })
        .aliases(&["volume", "vol"]),
        D::picture("bar", "", 0, 20, |dex, look| {
            share_bar(dex.0.volume_24h, dex.1, look.cells)
        }),
        D::figure("poolCount", "pools", 5, 150, |dex| dex.0.pool_count.into()).aliases(&["pools"]),
        D::text("pair", "best pair", [9, 13], 120, |dex| {
            (&dex.0.best_pool.pair).into()
        })
        .unsorted()
        .unfiltered()
        .plain()
        .member("bestPool"),
        D::figure("liquidity", "liquidity", 9, 100, |dex| {
            dex.0.liquidity.into()
        }),
    ];

    const STANDARD: Option<Order> = Some(Order::falling("volume24h"));

    fn fit(column: &mut TableColumn, width: u16) {
        if column.key == "bar" {
            fit_bar(
                column,
                if width >= 104 {
                    (width - 92).min(24)
                } else {
                    0
                },
            );
        }
    }

    fn json((dex, _): Self::Row<'_>) -> Json {
        serde_json::to_value(dex).unwrap_or_default()
    }
}

/// From this width a pool's address is shown in full.
pub(super) const WHOLE_ADDRESS_WIDTH: u16 = 160;

impl Fields for PoolFields {
    type Row<'a> = &'a TokenPool;

    const FIELDS: &'static [P] = &[
        P::text("pair", "pair", [9, 14], 255, |pool| (&pool.pair).into())
            .plain()
            .grows(),
        P::text("dex_id", "dex", [14, 18], 238, |pool| (&pool.dex_id).into())
            .dim()
            .plain(),
        P::figure("fee", "fee", 6, 235, |pool| pool.fee.into())
            .cell(|pool, _| share(pool.fee, false))
            .smallest_first(),
        P::figure("price_impact", "impact", 9, 230, |pool| {
            pool.price_impact.into()
        })
        .cell(|pool, _| share(pool.price_impact, pool.is_estimate()))
        .smallest_first(),
        // Without a fee the lowest possible cost, marked as a bound.
        P::figure("loss_min", "cost", 9, 250, |pool| pool.loss_min.into())
            .aliases(&["cost"])
            .cell(|pool, _| match (pool.loss, pool.loss_min) {
                (None, Some(_)) => {
                    Cell::new(format!("≥ {}", format::share(pool.loss_min)), Role::Dim)
                }
                _ => share(pool.loss, pool.is_estimate()),
            })
            .smallest_first(),
        P::hidden("loss", ColumnKind::Number, |pool| pool.loss.into()),
        P::figure("proceeds", "proceeds", 8, 245, |pool| {
            pool.proceeds.map(f64::round).into()
        })
        .cell(|pool, _| {
            pool.proceeds.map_or_else(Cell::missing, |usd| {
                Cell::text(format::count(usd.round() as u64)).or(usd)
            })
        }),
        P::figure("liquidity", "liquidity", 9, 240, |pool| {
            pool.liquidity.into()
        }),
        P::figure("volume24h", "vol 24h", 8, 220, |pool| pool.volume24h.into()),
        P::figure("trades_per_day", "trades/d", 8, 110, |pool| {
            pool.trades_per_day.into()
        }),
        P::figure("created_at", "age", 5, 120, |pool| pool.created_at.into())
            .cell(|pool, look| {
                pool.created_at.map_or_else(Cell::missing, |made| {
                    Cell::text(format::age(look.newest.0.saturating_sub(made.0)))
                })
            })
            .of(ColumnKind::Time),
        P::text("address", "address", [11, 11], 100, |pool| {
            pool.address.to_string().into()
        })
        .addresses(AddressOf::Anyone)
        .cell(|pool, look| whole_or_short(&pool.address, look.cells, Role::Dim))
        .unsorted()
        .plain(),
    ];

    const STANDARD: Option<Order> = Some(Order::rising("loss_min"));

    fn fit(column: &mut TableColumn, width: u16) {
        if column.key == "address" && width >= WHOLE_ADDRESS_WIDTH {
            (column.min, column.ideal) = (ADDRESS_CELLS, ADDRESS_CELLS);
        }
    }

    fn json(pool: Self::Row<'_>) -> Json {
        serde_json::to_value(pool).unwrap_or_default()
    }
}

/// A fraction in percent; an estimate is marked.
fn share(fraction: Option<f64>, is_estimate: bool) -> Cell {
    let text = format::share(fraction);
    Cell::figure(if is_estimate && fraction.is_some() {
        format!("≈ {text}")
    } else {
        text
    })
}

pub(super) fn versioned(dex: &DexSummary) -> String {
    words::versioned(&dex.name, &dex.dex_id)
}

fn fit_bar(column: &mut TableColumn, cells: u16) {
    (column.min, column.ideal) = (cells, cells);
}

/// A bar of the value, relative to the largest of its column.
fn share_bar(value: Option<f64>, most: f64, cells: usize) -> Cell {
    let share = value
        .filter(|_| most > 0.0)
        .map_or(0.0, |value| value / most);
    Cell::new(low_bar(share, cells), Role::AccentSoft)
}

/// The largest of the known values.
pub(super) fn largest(values: impl Iterator<Item = Option<f64>>) -> f64 {
    values.flatten().fold(0.0, f64::max)
}

/// The chain's short name, from its EIP-155 number.
pub(super) fn chain(id: &str) -> String {
    Chain::known(id).map_or_else(|| id.to_owned(), |chain| chain.to_string())
}
