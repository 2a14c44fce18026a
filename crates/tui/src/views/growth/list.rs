//! The list of the Growth view: one row of the table for each field of the ranking.

use crate::{views::prelude::*, widgets::sparkline::sparkline_over};
use analysis::market::TokenSummary;
use model::{day_counts::DayCounts, time::Day};
use query::queries::{
    growth::GrowthEntry,
    tokens::row::{self, TokenRow},
};

/// Counts of the sparkline.
const HISTORY_COUNTS: usize = 60;
/// The full height of each sparkline is at least this share of its largest count, so that heights of different rows compare.
const HISTORY_SPAN_MIN: f64 = 0.1;

pub(crate) struct RankingFields;

#[derive(Clone, Copy)]
pub(crate) struct Ranked<'a> {
    pub entry: &'a GrowthEntry,
    /// Index in the ranking.
    pub place: usize,
    /// The largest growth, the scale of the bars.
    pub most: f64,
    /// Figures shared with other token lists.
    pub token: Option<&'a TokenSummary>,
    /// The latest count day of any token in the ranking.
    pub newest: Option<Day>,
    pub counts: DayCounts<'a>,
    pub starred: bool,
}

type F = Field<RankingFields>;

impl Fields for RankingFields {
    type Row<'a> = Ranked<'a>;

    const FIELDS: &'static [F] = &[
        F::hidden("token_address", ColumnKind::Text, |row| {
            row.entry.token_address.to_string().into()
        })
        .aliases(&["address"])
        .addresses(AddressOf::Tokens),
        F::figure("rank", "#", 4, 210, |row| (row.place + 1).into())
            .cell(|row, _| Cell::new((row.place + 1).to_string(), Role::Dim))
            .unsorted()
            .unfiltered()
            .member(""),
        F::text("symbol", "symbol", [6, 10], 255, |row| {
            (&row.entry.symbol).into()
        })
        .searched(),
        F::text("name", "name", [14, 24], 185, |row| {
            (&row.entry.name).into()
        })
        .searched()
        .grows(),
        F::text("chain", "chain", [7, 8], 145, |row| {
            token_value(*row, "chain")
        })
        .of(ColumnKind::Chain)
        .aliases(&["chains"])
        .member("chains"),
        F::figure("holders_growth", "growth", 10, 250, |row| {
            row.entry.holders_growth.into()
        })
        .aliases(&["growth"])
        .cell(|row, _| {
            Cell::new(
                Cell::change(Some(row.entry.holders_growth))
                    .plain()
                    .into_owned(),
                role(row.entry),
            )
        })
        .unit("%")
        .decimal(),
        F::picture("bar", "", 8, 180, |row, look| {
            let share = if row.most > 0.0 {
                row.entry.holders_growth.abs() / row.most
            } else {
                0.0
            };
            Cell::new(low_bar(share, look.cells), role(row.entry))
        })
        .widths(&[(100, [20, 20]), (160, [36, 36])]),
        // Of the count's day in this row; the `tokens` table may be of another day.
        F::figure("holders", "holders", 7, 120, |row| {
            row.counts
                .iter()
                .rev()
                .find_map(|count| float(count.holders))
                .into()
        })
        .member(""),
        F::picture(
            "holder_counts",
            "holders, last 60 counts",
            12,
            100,
            |row, look| {
                let latest = row
                    .counts
                    .iter()
                    .skip(row.counts.len().saturating_sub(HISTORY_COUNTS));
                let history: Vec<Option<f64>> = latest.map(|count| float(count.holders)).collect();
                let line = low(&sparkline_over(&history, look.cells, HISTORY_SPAN_MIN));
                Cell::new(line, direction(&history))
            },
        )
        .widths(&[(100, [24, 24]), (160, [60, 60])])
        .short_title(23, "60 counts"),
        F::figure("market_cap", "cap", 6, 140, |row| {
            row.entry.market_cap.into()
        })
        .aliases(&["cap", "mcap"])
        .cell(|row, _| {
            dated(
                row.entry.market_cap,
                row.token
                    .and_then(|token| token.outdated(token.market_cap_as_of)),
            )
        }),
        F::figure("price", "price", 10, 90, |row| row.entry.price.into())
            .cell(|row, _| price(row.entry.price, row.token.and_then(stale)))
            .decimal(),
        F::figure("volume_24h", "vol", 6, 84, |row| {
            token_value(*row, "volume_24h")
        })
        .aliases(&["vol", "volume"])
        .member("")
        .optional(),
        F::figure("liquidity", "liq", 6, 83, |row| {
            token_value(*row, "liquidity")
        })
        .aliases(&["liq"])
        .member("")
        .optional(),
        F::figure("age", "age", 5, 82, |row| token_value(*row, "age"))
            .of(ColumnKind::Duration)
            .smallest_first()
            .member("")
            .optional(),
        F::figure("price_change_24h", "24h", 6, 81, |row| {
            token_value(*row, "price_change_24h")
        })
        .aliases(&["24h"])
        .cell(|row, _| match row.token.and_then(stale) {
            Some(_) => Cell::new("stale", Role::Dim),
            None => Cell::change(row.token.and_then(|token| token.price_change_24h)),
        })
        .unit("%")
        .decimal()
        .member("")
        .optional(),
        F::figure("price_change_7d", "7d", 6, 81, |row| {
            token_value(*row, "price_change_7d")
        })
        .aliases(&["7d"])
        .change()
        .member("")
        .optional(),
        F::figure("price_change_30d", "30d", 6, 81, |row| {
            token_value(*row, "price_change_30d")
        })
        .aliases(&["30d"])
        .change()
        .member("")
        .optional(),
        F::figure("last_counted", "counted", 10, 60, |row| {
            row.entry.last_counted.into()
        })
        .of(ColumnKind::Time)
        .aliases(&["counted"])
        .cell(|row, _| {
            let day = row.entry.last_counted;
            let role = if day < row.newest {
                Role::Warning
            } else {
                Role::Dim
            };
            day.map_or_else(Cell::missing, |day| Cell::new(day.to_string(), role))
        }),
        F::hidden("base_counted", ColumnKind::Time, |row| {
            row.entry.base_counted.into()
        }),
    ];

    const STANDARD: Option<Order> = Some(Order::falling("holders_growth"));
    const STARS: bool = true;
    const CELLS: bool = true;

    fn own<'a>(row: ListRow<'a, Self>, key: &str) -> Scalar<'a> {
        token_value(*row, key)
    }

    fn starred(row: Ranked<'_>) -> bool {
        row.starred
    }

    fn words(key: &str, context: &Context<'_>) -> Vec<String> {
        token_texts(key, context)
    }

    fn json(row: Ranked<'_>) -> Json {
        let mut entry = serde_json::to_value(row.entry).unwrap_or_default();
        entry["chains"] = row
            .token
            .into_iter()
            .flat_map(|token| &token.chains)
            .map(ToString::to_string)
            .collect();
        if let Some(entry) = entry.as_object_mut() {
            // A built-in member wins over a custom column of the same name.
            row.token
                .into_iter()
                .flat_map(row::own_values)
                .for_each(|(name, value)| _ = entry.entry(name).or_insert(value));
        }
        entry
    }
}

/// The value of the Tokens view's column of this name.
fn token_value<'a>(row: Ranked<'a>, column: &str) -> Scalar<'a> {
    row.token
        .map(|token| TokenRow::plain(token).field(column))
        .into()
}

/// The color of the growth's sign.
fn role(entry: &GrowthEntry) -> Role {
    Role::of_change(entry.holders_growth)
}

/// The color of a sparkline: of its own first and last count, not of the growth over the window.
fn direction(counts: &[Option<f64>]) -> Role {
    let known = || counts.iter().flatten();
    match known().next().zip(known().next_back()) {
        Some((first, last)) if last > first => Role::UpSoft,
        Some((first, last)) if last < first => Role::DownSoft,
        _ => Role::Dim,
    }
}
