//! The list of the Tokens view: one row of the table for each field of a token.

use super::figures;
use crate::{views::prelude::*, widgets::sparkline::sparkline_over};
use analysis::market::{LastCandle, TokenSummary};
use query::queries::{
    fields::{self, Figures, TokenEntry},
    list::Listed,
    tokens::row::{self, TokenRow},
};
use table::filter::FilterColumn;

pub(crate) struct TokenFields;

#[derive(Clone, Copy)]
pub(crate) struct ListedToken<'a> {
    pub token: &'a TokenSummary,
    /// The computed figures; `None` before any is computed.
    pub figures: Option<&'a Figures>,
    pub starred: bool,
    /// Its price changed a moment ago.
    pub has_changed: bool,
}

type F = Field<TokenFields>;

/// A placeholder: the value is the one of the API's `where`.
pub(super) const LISTED: for<'a> fn(ListRow<'a, TokenFields>) -> Scalar<'a> = |_| Scalar::Missing;

impl Fields for TokenFields {
    type Row<'a> = ListedToken<'a>;

    const FIELDS: &'static [F] = &[
        F::hidden("token_address", ColumnKind::Text, LISTED),
        F::text("symbol", "symbol", [6, 8], 255, LISTED).widths(&[(110, [6, 11])]),
        F::text("name", "name", [14, 18], 200, LISTED)
            .widths(&[(110, [14, 26])])
            .grows(),
        F::text("chain", "chain", [7, 8], 198, LISTED).member("chains"),
        F::figure("price", "price", 10, 220, LISTED)
            // Dim: not of the time of the other figures.
            .cell(|row, _| {
                match row.token.outdated(row.token.price_as_of).is_some()
                    || row.token.close_apart.is_some()
                {
                    _ if row.has_changed => shorter(
                        Cell::new(format::price(row.token.price), Role::Accent),
                        row.token.price,
                    ),
                    true => shorter(
                        Cell::new(format::price(row.token.price), Role::Dim),
                        row.token.price,
                    ),
                    false => price(row.token.price, stale(row.token)),
                }
            })
            .widths(&[(110, [12, 12])])
            .decimal(),
        F::figure("price_change_1h", "1h", 6, 100, LISTED).change(),
        F::figure("price_change_24h", "24h", 7, 210, LISTED)
            // A stale price has no current change.
            .cell(|row, _| match stale(row.token) {
                Some(_) => Cell::new("stale", Role::Dim),
                None => Cell::change(row.token.price_change_24h),
            })
            .unit("%")
            .decimal(),
        F::figure("price_change_7d", "7d", 6, 150, LISTED).change(),
        F::figure("price_change_30d", "30d", 6, 105, LISTED).change(),
        F::figure("market_cap", "cap", 6, 205, LISTED).cell(|row, _| {
            dated(
                row.token.market_cap,
                row.token.outdated(row.token.market_cap_as_of),
            )
        }),
        F::figure("volume_24h", "vol", 6, 148, LISTED),
        F::figure("liquidity", "liq", 6, 120, LISTED),
        F::figure("age", "age", 5, 110, LISTED).smallest_first(),
        F::figure("holders", "holders", 7, 90, LISTED).cell(|row, _| {
            dated(
                float(row.token.holders),
                row.token.outdated(row.token.holders_as_of),
            )
        }),
        F::figure("holders_growth", "holders 7d", 6, 80, LISTED)
            // Dim: growth up to an older day is not this week's.
            .cell(|row, _| {
                match row
                    .token
                    .last_count
                    .filter(|count| count.old && row.token.holders_growth.is_some())
                {
                    Some(_) => Cell::new(
                        Cell::change(row.token.holders_growth).plain().into_owned(),
                        Role::Dim,
                    ),
                    None => Cell::change(row.token.holders_growth),
                }
            })
            .unit("%")
            .decimal(),
        F::picture("price_history", "last 30 days", 30, 140, |row, look| {
            history(row.token, look.cells)
        })
        .widths(&[(0, [10, 10]), (96, [15, 15]), (120, [30, 30])])
        .short_title(12, "30 days")
        .member("price_history"),
        figures::TREND,
        figures::PATTERN,
        figures::ADVICE,
        figures::SCORE,
        figures::RISK,
        figures::CLUSTER,
        figures::RSI,
        figures::FROM_HIGH,
        F::text("as_of", "as of", [10, 10], 30, LISTED)
            .largest_first()
            .cell(|row, _| {
                let role = if stale(row.token).is_some() {
                    Role::Warning
                } else {
                    Role::Dim
                };
                let day = |last: LastCandle| {
                    Cell::new(
                        last.start.to_string().chars().take(10).collect::<String>(),
                        role,
                    )
                };
                row.token.last_candle.map_or_else(Cell::missing, day)
            }),
        F::hidden("recommendedAction", ColumnKind::Text, LISTED),
        F::hidden("signal", ColumnKind::Text, LISTED),
        F::hidden("created_at", ColumnKind::Time, LISTED),
        F::hidden("price_as_of", ColumnKind::Time, LISTED),
        F::hidden("market_cap_as_of", ColumnKind::Time, LISTED),
        F::hidden("holders_as_of", ColumnKind::Time, LISTED),
        F::hidden("mentions", ColumnKind::Number, LISTED),
        F::hidden("engagement_7d", ColumnKind::Number, LISTED),
        F::hidden("decimals", ColumnKind::Number, LISTED),
    ];

    const STANDARD: Option<Order> = Some(Order::falling("market_cap"));
    const OTHERWISE: Option<Order> = Some(Order::falling("volume_24h"));
    const STARS: bool = true;
    const CELLS: bool = true;

    /// Those of the API's `where`, and the watchlist.
    fn filter_columns() -> Vec<FilterColumn> {
        [
            TokenEntry::COLUMNS,
            &[FilterColumn::new(
                "starred",
                ColumnKind::Flag,
                &["star", "watchlist"],
            )],
        ]
        .concat()
    }

    fn value<'a>(row: ListRow<'a, Self>, key: &str) -> Scalar<'a> {
        listed(*row).field(key)
    }

    fn starred(row: ListedToken<'_>) -> bool {
        row.starred
    }

    fn words(key: &str, context: &Context<'_>) -> Vec<String> {
        token_texts(key, context)
    }

    fn json(row: ListedToken<'_>) -> Json {
        let mut token = serde_json::to_value(row.token).unwrap_or_default();
        let known = serde_json::to_value(fields::precomputed(row.token, fields::FIELDS));
        if let Some(token) = token.as_object_mut() {
            // A built-in member wins over a custom column of the same name.
            for (name, value) in row::own_values(row.token) {
                token.entry(name).or_insert(value);
            }
            for figures in [known, serde_json::to_value(row.figures)] {
                if let Ok(Json::Object(figures)) = figures {
                    token.extend(figures);
                }
            }
        }
        token
    }
}

fn listed(row: ListedToken<'_>) -> TokenRow<'_> {
    TokenRow {
        token: row.token,
        figures: row.figures,
    }
}

/// The sparkline's minimum span, as a share of the price: smaller monthly changes are drawn small, so a stablecoin's cents are no
/// mountains.
const HISTORY_SPAN_MIN: f64 = 0.04;

/// The sparkline: the last week strong, earlier days muted, in the color of the change over 30 days.
pub(super) fn history(token: &TokenSummary, cells: usize) -> Cell {
    let closes: Vec<f64> = token
        .price_before_history
        .iter()
        .chain(&token.price_history)
        .copied()
        .collect();
    sparkline_of(closes, token.price_change_30d, cells)
}

fn sparkline_of(closes: Vec<f64>, change: Option<f64>, cells: usize) -> Cell {
    let (Some(first), Some(last)) = (closes.first(), closes.last()) else {
        return Cell::missing();
    };
    let (soft, strong) = if change.map_or(last >= first, |change| change >= 0.0) {
        (Role::UpSoft, Role::Up)
    } else {
        (Role::DownSoft, Role::Down)
    };
    let values: Vec<Option<f64>> = closes.into_iter().map(Some).collect();
    let line = low(&sparkline_over(&values, cells, HISTORY_SPAN_MIN));
    let recent = (cells * 7).div_ceil(30);
    let split = line
        .char_indices()
        .nth(cells.saturating_sub(recent))
        .map_or(line.len(), |(at, _)| at);
    Cell::new(line[..split].to_owned(), soft).then(line[split..].to_owned(), strong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_week_of_a_sparkline_is_strong() {
        let cell = sparkline_of((0..30).map(f64::from).collect(), None, 30);
        let pieces: Vec<(usize, Role)> = cell
            .pieces
            .iter()
            .map(|(text, role)| (text.chars().count(), *role))
            .collect();
        assert_eq!(pieces, [(23, Role::UpSoft), (7, Role::Up)]);
        // The color is that of the 30-day column, whose first close can be another.
        let falling = sparkline_of(vec![1.0, 2.0], Some(-0.1), 30);
        assert_eq!(
            falling.pieces.last().map(|(_, role)| *role),
            Some(Role::Down)
        );
        assert_eq!(sparkline_of(Vec::new(), None, 10), Cell::missing());
    }
}
