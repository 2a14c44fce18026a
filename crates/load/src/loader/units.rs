//! Converts values in another unit than the schema's: amounts in base units or whole tokens, volumes in USD, values in tokens.

use polars::prelude::{Column, DataType, IntoColumn, NamedFrom, Series};

use super::{LoadContext, bind::Bound};
use crate::{
    cells::{notation::Notation, plain_float, raw_amount, smallest_units},
    manifest::{Unit, columns::power_of_ten},
};
use frames::raw_cell::RawCell;
use model::{address::Address, schema::TableSchema, time::Time, token::are_apart};

pub const NO_DECIMALS: &str =
    "the token's decimals are unknown, so base units cannot be converted; the cell is cleared";
const NOT_RAW: &str = "expected a whole number of base units; the cell is cleared";
const NOT_WHOLE: &str = "expected an amount of whole tokens as plain digits, with no more decimals than the token has; if it has thousands separators, as in 1,234.5, set decimal = \".\" next to its unit; the cell is cleared";
const NO_PRICE: &str =
    "without a positive price, USD and tokens cannot be converted; the cell is cleared";
const APART: &str = "`price_as_of` and `stats_as_of` are more than seven days apart, so the amount is not multiplied by the price; the cell is cleared";
const NOT_A_NUMBER: &str = "expected a number; the cell is cleared";

/// A figure that could not be converted: row, value, reason.
pub(super) type UnitIssue = (usize, String, &'static str);

/// Fills the null cells of the column `at` from `cells`, which are in another unit.
pub(super) fn converted(
    context: &LoadContext<'_>,
    schema: &TableSchema,
    columns: &[Column],
    at: usize,
    bound: &Bound<'_>,
    cells: &[RawCell<'_>],
) -> (Column, Vec<UnitIssue>) {
    let column = &columns[at];
    let decimals = Decimals::of(context, schema, columns);
    let mut issues = Vec::new();
    let mut tell =
        |row: usize, reason: &'static str| issues.push((row, cells[row].shown(), reason));
    let notation = Notation {
        decimal: bound.rule.decimal,
        days: false,
    };
    let filled = if column.dtype() == &DataType::String {
        let given: Vec<Option<String>> = column.str().map_or_else(
            |_| Vec::new(),
            |texts| texts.iter().map(|text| text.map(str::to_owned)).collect(),
        );
        let scale = bound.rule.scale.and_then(power_of_ten);
        let value = |(row, cell): (usize, &RawCell<'_>)| {
            if cell.is_null() || given.get(row).is_some_and(Option::is_some) {
                return given.get(row).cloned().flatten();
            }
            let Some(decimals) = scale.or_else(|| decimals.get(row)) else {
                tell(row, NO_DECIMALS);
                return None;
            };
            smallest_units(cell, decimals, notation.decimal, bound.rule.approximate).unwrap_or_else(
                |_| {
                    tell(row, NOT_WHOLE);
                    None
                },
            )
        };
        Series::new(
            column.name().clone(),
            cells.iter().enumerate().map(value).collect::<Vec<_>>(),
        )
    } else {
        let given: Vec<Option<f64>> = column
            .f64()
            .map_or_else(|_| Vec::new(), |numbers| numbers.iter().collect());
        let value = |(row, cell): (usize, &RawCell<'_>)| {
            if cell.is_null() || given.get(row).is_some_and(Option::is_some) {
                return given.get(row).copied().flatten();
            }
            let read = match bound.unit {
                Some(Unit::Usd) => priced(columns, row, cell, notation),
                Some(Unit::Token) => worth(columns, row, cell, notation),
                _ => match decimals.get(row) {
                    Some(decimals) => {
                        raw_amount(cell, decimals, bound.rule.approximate).map_err(|_| NOT_RAW)
                    }
                    None => Err(NO_DECIMALS),
                },
            };
            read.unwrap_or_else(|reason| {
                tell(row, reason);
                None
            })
        };
        Series::new(
            column.name().clone(),
            cells.iter().enumerate().map(value).collect::<Vec<_>>(),
        )
    };
    (filled.into_column(), issues)
}

/// Decimals of each row's token.
struct Decimals<'a> {
    context: &'a LoadContext<'a>,
    own: Option<&'a Column>,
    tokens: Option<&'a Column>,
}

impl<'a> Decimals<'a> {
    fn of(context: &'a LoadContext<'a>, schema: &TableSchema, columns: &'a [Column]) -> Self {
        let named = |name: &str| columns.iter().find(|column| column.name() == name);
        Self {
            context,
            own: named("decimals").filter(|_| schema.name == "tokens"),
            tokens: named("token_address"),
        }
    }

    fn get(&self, row: usize) -> Option<i64> {
        if let Some(own) = self.own {
            return own.i64().ok()?.get(row);
        }
        let token = self.tokens?.str().ok()?.get(row).and_then(Address::parse)?;
        self.context.decimals.get(&token).copied().flatten()
    }
}

fn time(columns: &[Column], name: &str, row: usize) -> Option<Time> {
    let cells = columns
        .iter()
        .find(|column| column.name() == name)?
        .to_physical_repr();
    cells.i64().ok()?.get(row).map(Time)
}

fn float(columns: &[Column], name: &str, row: usize) -> Option<f64> {
    columns
        .iter()
        .find(|column| column.name() == name)?
        .f64()
        .ok()?
        .get(row)
}

/// Converts a volume in USD to tokens, by the candle's typical price: the mean of high, low and close.
fn priced(
    columns: &[Column],
    row: usize,
    cell: &RawCell<'_>,
    notation: Notation,
) -> Result<Option<f64>, &'static str> {
    let Some(usd) = plain_float(cell, notation).map_err(|_| NOT_A_NUMBER)? else {
        return Ok(None);
    };
    let prices: Option<Vec<f64>> = ["high", "low", "close"]
        .iter()
        .map(|name| float(columns, name, row))
        .collect();
    let typical = prices
        .map(|prices| prices.iter().sum::<f64>() / 3.0)
        .filter(|price| *price > 0.0 && price.is_finite());
    typical.map(|price| Some(usd / price)).ok_or(NO_PRICE)
}

/// Converts an amount of the row's token to USD, by its price.
fn worth(
    columns: &[Column],
    row: usize,
    cell: &RawCell<'_>,
    notation: Notation,
) -> Result<Option<f64>, &'static str> {
    let Some(amount) = plain_float(cell, notation).map_err(|_| NOT_A_NUMBER)? else {
        return Ok(None);
    };
    if are_apart(
        time(columns, "price_as_of", row),
        time(columns, "stats_as_of", row),
    ) {
        return Err(APART);
    }
    float(columns, "price", row)
        .filter(|price| *price > 0.0 && price.is_finite())
        .map(|price| Some(amount * price))
        .ok_or(NO_PRICE)
}
