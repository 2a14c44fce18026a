//! The rows of the Tokens table: its columns, what a filter can name, in which order tokens stand, and each token's cells.

use std::{borrow::Cow, cmp::Ordering, collections::HashSet};

use serde_json::Value;

use super::figures::{self, Known};

use crate::{
    analysis::market::TokenSummary,
    dataset::{address::Address, chain::Chain},
    question::{
        filter::{self, ColumnKind, FieldValue, Filter, FilterColumn},
        list::{Key, Listed, Order, put_in_order},
        search::row::{TokenRow, is_worked_out},
    },
    tui::{
        format,
        theme::Role,
        views::{
            parts::{change, float, low},
            rows::{SortColumn, Sorting},
        },
        widgets::{
            sparkline::sparkline,
            table::{Cell, Column},
        },
    },
};

const COLUMNS: &[Column] = &[
    Column::text("symbol", "symbol", 6, 8, 255),
    Column { ideal: 18, ..Column::text("name", "name", 8, 18, 200).grows() },
    Column::text("chain", "chain", 7, 8, 50),
    Column::figure("price", "price", 10, 220).decimal(),
    Column::figure("price_change_24h", "24h", 7, 210).unit("%").decimal(),
    Column::figure("market_cap", "cap", 6, 205),
    Column::figure("holders", "holders", 7, 40),
    Column::figure("holders_growth", "7d", 6, 30).unit("%").decimal(),
    Column::text("price_history", "last 30 days", 12, 12, 20),
];

/// Also the order that `s` goes through, the optional columns last.
const SORTS: &[SortColumn] = &[
    ("symbol", false),
    ("name", false),
    ("chain", false),
    ("price", true),
    ("price_change_24h", true),
    ("market_cap", true),
    ("holders", true),
    ("holders_growth", true),
];

/// What can be sorted by, with the optional columns or without.
pub(super) fn sorts(more: bool) -> Vec<SortColumn> {
    SORTS.iter().chain(if more { figures::SORTS } else { &[] }).copied().collect()
}

/// The columns that a filter can name: those of the API's `where`, and the watchlist.
pub(super) fn filters() -> Vec<FilterColumn> {
    [TokenSummary::COLUMNS, &[FilterColumn::new("starred", ColumnKind::Flag, &["star", "watchlist"])]].concat()
}

/// Reads a filter.
pub(super) fn parse(text: &str) -> Result<Filter, String> {
    filter::parse(text, &filters()).map_err(|error| error.to_string())
}

/// Whether the filter names an optional column.
pub(super) fn needs_more(filter: &Filter) -> bool {
    filter.columns().any(is_worked_out)
}

/// The columns where the table is so wide, and the cells of the sparkline in them.
pub(super) fn columns(width: u16, more: bool) -> (Vec<Column>, usize) {
    let spark = match width {
        ..96 => 10,
        96..120 => 15,
        _ => 30,
    };
    let mut columns = COLUMNS.to_vec();
    for column in &mut columns {
        match column.key {
            "price_history" => {
                (column.min, column.ideal, column.matched) = (spark, spark, false);
                column.title = if spark < 12 { "30 days" } else { "last 30 days" };
            }
            "symbol" if width >= 110 => column.ideal = 11,
            "price" if width >= 110 => (column.min, column.ideal) = (12, 12),
            "name" if width >= 110 => column.ideal = 26,
            _ => {}
        }
    }
    if more {
        columns.extend(figures::COLUMNS);
    }
    (columns, usize::from(spark))
}

/// The tokens that hold, in their order, as places in `tokens`.
pub(super) fn order(
    tokens: &[TokenSummary],
    filter: &Filter,
    sorting: Sorting,
    watchlist: &HashSet<Address>,
    watched_only: bool,
    known: &Known,
) -> Vec<u32> {
    let holds = |token: &TokenSummary| {
        let starred = watchlist.contains(&token.token_address);
        (!watched_only || starred) && (filter.is_empty() || matches(token, filter, starred, known))
    };
    let mut order: Vec<u32> = (0..tokens.len() as u32).filter(|&i| holds(&tokens[i as usize])).collect();
    let Sorting { key, descending } = sorting;
    // Tokens stand by address, so that a stable sort leaves equals by address.
    let orders = [Order { column: key, descending }];
    let key = |&i: &u32, column: &str| row(&tokens[i as usize], known).rank(column).and_then(Key::of);
    put_in_order(&mut order, &orders, key, |_, _| Ordering::Equal);
    order
}

fn row<'a>(token: &'a TokenSummary, known: &'a Known) -> TokenRow<'a> {
    TokenRow { token, figures: known.get(&token.token_address).map(Cow::Borrowed) }
}

fn matches(token: &TokenSummary, filter: &Filter, starred: bool, known: &Known) -> bool {
    let row = row(token, known);
    filter.matches(|column| if column == "starred" { Some(FieldValue::Flag(starred)) } else { row.field(column) })
}

/// The token's cells, one for each of `columns`.
pub(super) fn cells(token: &TokenSummary, spark: usize, ascii: bool) -> Vec<Cell> {
    let text = |text: &Option<String>, role| text.as_ref().map_or_else(Cell::missing, |text| Cell::new(text.clone(), role));
    let change = |percent: Option<f64>| match percent {
        Some(value) => Cell::new(change(Some(value), ascii), by_sign(value)),
        None => Cell::missing(),
    };
    vec![
        text(&token.symbol, Role::Text),
        text(&token.name, Role::Text),
        chains(&token.chains),
        Cell::figure(format::price(token.price)),
        // What changed in a day long past is no news.
        if stale(token).is_some() { Cell::new("stale", Role::Dim) } else { change(token.price_change_24h) },
        Cell::figure(format::human(token.market_cap)),
        Cell::figure(format::human(float(token.holders))),
        change(token.holders_growth),
        history(&token.price_history, spark, ascii),
    ]
}

/// How old the last candle is against the newest in the dataset, in milliseconds, where that is too old to be live.
pub(super) fn stale(token: &TokenSummary) -> Option<i64> {
    token.last_candle.and_then(|last| last.behind)
}

fn by_sign(value: f64) -> Role {
    match value {
        value if value >= 0.005 => Role::Up,
        value if value <= -0.005 => Role::Down,
        _ => Role::Dim,
    }
}

/// `eth +4`
fn chains(chains: &[Chain]) -> Cell {
    match chains {
        [] => Cell::missing(),
        [only] => Cell::text(only.to_string()),
        [first, others @ ..] => Cell::text(first.to_string()).then(format!(" +{}", others.len()), Role::Dim),
    }
}

/// The sparkline: the last week strong, what was before quieter, in the colour of where the month went.
pub(super) fn history(closes: &[f64], cells: usize, ascii: bool) -> Cell {
    let (Some(first), Some(last)) = (closes.first(), closes.last()) else { return Cell::missing() };
    let (soft, strong) = if last >= first { (Role::UpSoft, Role::Up) } else { (Role::DownSoft, Role::Down) };
    let values: Vec<Option<f64>> = closes.iter().copied().map(Some).collect();
    let line = low(&sparkline(&values, cells, ascii));
    let recent = (cells * 7).div_ceil(30);
    let split = line.char_indices().nth(cells.saturating_sub(recent)).map_or(line.len(), |(at, _)| at);
    Cell::new(line[..split].to_owned(), soft).then(line[split..].to_owned(), strong)
}

pub(super) const EXPORTED: &[&str] =
    &["token_address", "symbol", "name", "chains", "price", "market_cap", "price_change_24h", "holders", "holders_growth", "price_history"];

/// The token as the API would list it, column by column, then what is known for the optional ones.
pub(super) fn exported(token: &TokenSummary, more: &[&str], known: &Known) -> Vec<Value> {
    let row = serde_json::to_value(token).unwrap_or_default();
    let figures = known.get(&token.token_address).and_then(|figures| serde_json::to_value(figures).ok()).unwrap_or_default();
    let base = EXPORTED.iter().map(|column| row[*column].clone());
    base.chain(more.iter().map(|column| figures[*column].clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(i: u8, symbol: &str, cap: Option<f64>, chain: &str) -> TokenSummary {
        TokenSummary {
            token_address: Address([i; 20]),
            symbol: Some(symbol.to_owned()),
            name: None,
            chains: Chain::parse(chain).into_iter().collect(),
            price: None,
            market_cap: cap,
            price_change_24h: None,
            holders: None,
            holders_growth: None,
            price_history: Vec::new(),
            last_candle: None,
            created_at: None,
            age: None,
            figures: None,
        }
    }

    #[test]
    fn tokens_stand_in_their_order_and_those_without_a_value_last() {
        let tokens = [
            token(1, "b", None, "eth"),
            token(2, "C", Some(5.0), "base"),
            token(3, "a", Some(9.0), "eth"),
            token(4, "d", Some(5.0), "bnb"),
        ];
        let cases: [(&str, bool, &str, &[u32]); 6] = [
            ("market_cap", true, "", &[2, 1, 3, 0]),
            ("market_cap", false, "", &[1, 3, 2, 0]),
            ("symbol", false, "", &[2, 0, 1, 3]),
            ("symbol", true, "", &[3, 1, 0, 2]),
            ("market_cap", true, "chain:ethereum", &[2, 0]),
            ("market_cap", true, "cap>=5 starred:yes", &[1]),
        ];
        let watchlist = HashSet::from([Address([2; 20])]);
        for (key, descending, filter, expected) in cases {
            let got = order(&tokens, &parse(filter).unwrap(), Sorting { key, descending }, &watchlist, false, &Known::new());
            assert_eq!(got, expected, "{key} {descending} {filter}");
        }
        let watched = order(&tokens, &Filter::default(), Sorting { key: "symbol", descending: false }, &watchlist, true, &Known::new());
        assert_eq!(watched, [1]);
    }

    #[test]
    fn every_column_to_sort_by_can_be_filtered_by() {
        for (key, _) in sorts(true) {
            assert!(filters().iter().any(|column| column.name == key), "{key}");
            assert!(columns(140, true).0.iter().any(|column| column.key == key), "{key}");
        }
    }

    #[test]
    fn the_last_week_of_a_sparkline_is_strong() {
        let cell = history(&(0..30).map(f64::from).collect::<Vec<_>>(), 30, false);
        let pieces: Vec<(usize, Role)> = cell.pieces.iter().map(|(text, role)| (text.chars().count(), *role)).collect();
        assert_eq!(pieces, [(23, Role::UpSoft), (7, Role::Up)]);
        assert_eq!(history(&[], 10, false), Cell::missing());
    }
}
