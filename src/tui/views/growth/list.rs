//! The rows of the ranking: columns, filter, order, cells.

use serde_json::Value;

use crate::{
    question::{
        filter::{ColumnKind, FieldValue, Filter, FilterColumn},
        growth::GrowthEntry,
    },
    tui::{
        format,
        theme::Role,
        view::Context,
        views::{
            parts::{change, float, low, low_bar, summary},
            rows::{SortColumn, Sorting, order_by},
        },
        widgets::{
            sparkline::sparkline,
            table::{Cell, Column},
        },
    },
};

/// Counts of the sparkline.
const HISTORY_COUNTS: usize = 60;

const COLUMNS: &[Column] = &[
    Column::figure("rank", "#", 4, 210),
    Column::text("symbol", "symbol", 6, 10, 255),
    Column::text("name", "name", 8, 24, 150).grows(),
    Column::figure("holders_growth", "growth", 10, 250).unit("%").decimal(),
    Column { matched: false, ..Column::text("bar", "", 10, 10, 180) },
    Column::figure("holders", "holders", 7, 120),
    Column { matched: false, ..Column::text("holder_counts", "holders, latest counts", 12, 12, 100) },
    Column::figure("market_cap", "cap", 6, 140),
    Column::figure("price", "price", 10, 90).decimal(),
    Column::figure("last_counted", "counted", 10, 60),
];

pub(super) const SORTS: &[SortColumn] =
    &[("holders_growth", true), ("symbol", false), ("name", false), ("market_cap", true), ("price", true), ("last_counted", true)];

pub(super) const FILTERS: &[FilterColumn] = &[
    FilterColumn::new("symbol", ColumnKind::Text, &[]).searched(),
    FilterColumn::new("name", ColumnKind::Text, &[]).searched(),
    FilterColumn::new("token_address", ColumnKind::Text, &["address"]),
    FilterColumn::new("holders_growth", ColumnKind::Number, &["growth"]),
    FilterColumn::new("market_cap", ColumnKind::Number, &["cap", "mcap"]),
    FilterColumn::new("price", ColumnKind::Number, &[]),
];

/// The columns at a width, with the cells that bars and sparklines have in them.
pub(super) struct Layout {
    pub columns: Vec<Column>,
    bar: usize,
    spark: usize,
}

impl Layout {
    pub(super) fn of(width: u16) -> Self {
        let (bar, spark) = match width {
            ..100 => (10, 12),
            100..160 => (20, 24),
            _ => (36, 60),
        };
        let mut columns = COLUMNS.to_vec();
        for column in &mut columns {
            let cells = match column.key {
                "bar" => bar,
                "holder_counts" => spark,
                _ => continue,
            };
            (column.min, column.ideal) = (cells, cells);
            if column.key == "holder_counts" && cells < 22 {
                column.title = "latest";
            }
        }
        Self { columns, bar: usize::from(bar), spark: usize::from(spark) }
    }
}

fn number(entry: &GrowthEntry, key: &str) -> Option<f64> {
    match key {
        "holders_growth" => Some(entry.holders_growth),
        "market_cap" => entry.market_cap,
        "price" => entry.price,
        "last_counted" => entry.last_counted.map(|day| f64::from(day.0)),
        _ => None,
    }
}

/// The entries that hold, in their order, as places in the ranking; equals stay as they are ranked.
pub(super) fn order(ranking: &[GrowthEntry], filter: &Filter, sorting: Sorting) -> Vec<u32> {
    let holds = |entry: &GrowthEntry| {
        filter.matches(|column| match column {
            "symbol" => entry.symbol.as_deref().map(FieldValue::text),
            "name" => entry.name.as_deref().map(FieldValue::text),
            "token_address" => Some(FieldValue::text(entry.token_address.to_string())),
            key => number(entry, key).map(FieldValue::Number),
        })
    };
    let mut order: Vec<u32> = (0..ranking.len() as u32).filter(|&i| filter.is_empty() || holds(&ranking[i as usize])).collect();
    let lower = |text: &Option<String>| text.as_ref().map(|text| text.to_lowercase());
    match sorting.key {
        "symbol" => order_by(&mut order, sorting.descending, |i| lower(&ranking[i as usize].symbol)),
        "name" => order_by(&mut order, sorting.descending, |i| lower(&ranking[i as usize].name)),
        key => order_by(&mut order, sorting.descending, |i| number(&ranking[i as usize], key)),
    }
    order
}

/// The entry's cells; `most` is the growth whose bar is full.
pub(super) fn cells(entry: &GrowthEntry, place: u32, most: f64, layout: &Layout, context: &Context<'_>) -> Vec<Cell> {
    let text = |text: &Option<String>| text.as_ref().map_or_else(Cell::missing, |text| Cell::text(text.clone()));
    let (soft, strong) = match entry.holders_growth {
        growth if growth >= 0.005 => (Role::UpSoft, Role::Up),
        growth if growth <= -0.005 => (Role::DownSoft, Role::Down),
        _ => (Role::Grid, Role::Dim),
    };
    let share = if most > 0.0 { entry.holders_growth.abs() / most } else { 0.0 };
    let counts = context.snapshot.map_or(&[][..], |snapshot| snapshot.dataset.holder_counts_of(&entry.token_address));
    let latest = &counts[counts.len().saturating_sub(HISTORY_COUNTS)..];
    let history: Vec<Option<f64>> = latest.iter().map(|count| float(count.holders)).collect();
    let holders = summary(context, &entry.token_address).and_then(|summary| summary.holders);
    vec![
        Cell::new((place + 1).to_string(), Role::Dim),
        text(&entry.symbol),
        text(&entry.name),
        Cell::new(change(Some(entry.holders_growth), context.ascii), strong),
        Cell::new(low_bar(share, layout.bar, context.ascii), strong),
        Cell::figure(format::human(float(holders))),
        Cell::new(low(&sparkline(&history, layout.spark, context.ascii)), soft),
        Cell::figure(format::human(entry.market_cap)),
        Cell::figure(format::price(entry.price)),
        entry.last_counted.map_or_else(Cell::missing, |day| Cell::new(day.to_string(), Role::Dim)),
    ]
}

pub(super) const EXPORTED: &[&str] =
    &["token_address", "symbol", "name", "holders_growth", "price", "market_cap", "last_counted", "base_counted"];

pub(super) fn exported(entry: &GrowthEntry) -> Vec<Value> {
    let row = serde_json::to_value(entry).unwrap_or_default();
    EXPORTED.iter().map(|column| row[*column].clone()).collect()
}
