//! Number and time formats of the columns of one file. They are inferred from its rows as they are read, kept to the end of the file, and
//! reported.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::bind::Bound;
use crate::{
    cells::notation::{DecimalSigns, EpochUnits, Notation},
    error::ReadError,
    manifest::Decimal,
};
use frames::raw_cell::RawCell;
use model::schema::{Column, Kind};

/// Inferred formats of each column of a file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ColumnFormats {
    columns: HashMap<String, LearntFormat>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct LearntFormat {
    /// Whether the decimal sign is a comma.
    comma: Option<bool>,
    /// Whether times are Excel's day numbers.
    days: Option<bool>,
    /// Units of the times seen so far, as bits of `EpochUnits`.
    times: u8,
    /// A cell that is evidence of it.
    shown: String,
}

/// Whether cells of the kind are numbers that people write with decimal and thousands signs.
pub(super) fn is_number(kind: Kind) -> bool {
    matches!(kind, Kind::Integer | Kind::Float | Kind::Uint256)
}

impl ColumnFormats {
    fn learnt(&mut self, column: &Column) -> &mut LearntFormat {
        self.columns.entry(column.name.to_owned()).or_default()
    }

    /// Format of the column from `dataset.toml` or, if it has none, as inferred from its rows.
    pub(super) fn of(&self, bound: &Bound<'_>) -> Notation {
        let learnt = self.columns.get(bound.column.name);
        let decimal = |comma: bool| {
            if comma {
                Decimal::Comma
            } else {
                Decimal::Point
            }
        };
        Notation {
            decimal: bound.rule.decimal.or_else(|| learnt?.comma.map(decimal)),
            days: learnt.and_then(|learnt| learnt.days).unwrap_or_default(),
        }
    }

    /// Records the times of some rows. The first of them decide whether all are Excel's day numbers.
    pub(super) fn note_times(
        &mut self,
        column: &Column,
        times: EpochUnits,
        shown: impl FnOnce() -> String,
    ) {
        if times == EpochUnits::default() {
            return;
        }
        let learnt = self.learnt(column);
        if learnt.days.is_none() {
            learnt.days = Some(times.are_days());
            learnt.shown = shown();
        }
        learnt.times = EpochUnits::from_bits(learnt.times).and(times).bits();
    }

    /// Infers the decimal sign of a column with commas: from its own texts, else from those of the other numeric columns. Returns false
    /// where they give no evidence.
    pub(super) fn learn(
        &mut self,
        column: &Column,
        own: DecimalSigns,
        others: DecimalSigns,
        shown: &str,
        first: bool,
    ) -> Result<bool, ReadError> {
        let own_tells = own != DecimalSigns::default();
        let Some(decimal) = (if own_tells {
            own.decimal()
        } else {
            others.decimal()
        }) else {
            return Ok(false);
        };
        if decimal == Decimal::Comma && !first {
            return Err(ReadError::LateDecimalComma {
                column: column.name,
                value: shown.to_owned(),
            });
        }
        let learnt = self.learnt(column);
        learnt.comma = Some(decimal == Decimal::Comma);
        shown.clone_into(&mut learnt.shown);
        Ok(true)
    }

    /// The inferred formats, for the user: one sentence per column.
    pub(super) fn descriptions(&self) -> Vec<(String, String)> {
        let mut told = Vec::new();
        for (name, learnt) in &self.columns {
            let shown = &learnt.shown;
            match learnt.comma {
                Some(true) => told.push((
                    name.clone(),
                    format!("numbers are read with decimal commas, as in `{shown}`"),
                )),
                Some(false) => told.push((
                    name.clone(),
                    format!("numbers are read with commas between thousands, as in `{shown}`"),
                )),
                None => {}
            }
            if learnt.days == Some(true) {
                told.push((
                    name.clone(),
                    format!("times are read as Excel day numbers, such as `{shown}`"),
                ));
            }
            if let Some(units) = EpochUnits::from_bits(learnt.times).mixed() {
                told.push((
                    name.clone(),
                    format!("times mix {units}; the unit of each is chosen by its size"),
                ));
            }
        }
        told.sort();
        told
    }
}

/// Units in which the cells of a column are times.
pub(super) fn times_of<'a>(cells: impl Iterator<Item = &'a RawCell<'a>>) -> EpochUnits {
    cells.fold(EpochUnits::default(), |all, cell| {
        all.and(EpochUnits::of_cell(cell))
    })
}
