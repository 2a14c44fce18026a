//! Rows that a filter leaves out only because of missing values in its columns: they might match, so lists show their number.

use super::{Filter, Term, evaluate::Evaluated};

/// Number of rows left out because of missing values, in total and by column.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExcludedRows {
    rows: u64,
    columns: Vec<Lack>,
}

/// Number of left-out rows without a value in one column.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Lack {
    column: &'static str,
    /// Name of the column in the condition.
    name: String,
    rows: u64,
}

impl ExcludedRows {
    /// Zero counts for the columns of a filter.
    pub fn of(filter: &Filter) -> Self {
        let mut columns: Vec<Lack> = Vec::new();
        for (column, _, text) in filter.terms.iter().flat_map(Term::conditions) {
            if columns.iter().all(|known| known.column != column) {
                let end = text.find([':', '=', '!', '<', '>']).unwrap_or(text.len());
                columns.push(Lack {
                    column,
                    name: text[..end].to_lowercase(),
                    rows: 0,
                });
            }
        }
        Self { rows: 0, columns }
    }

    /// Total number of rows left out.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Each column with missing values, by its name in the filter, and their number. A row without two values counts for both columns.
    pub fn columns(&self) -> impl Iterator<Item = (&str, u64)> {
        self.columns
            .iter()
            .filter(|lack| lack.rows > 0)
            .map(|lack| (lack.name.as_str(), lack.rows))
    }

    /// Adds those that a part of the filter leaves out.
    pub fn add(&mut self, of_part: &Self) {
        self.rows += of_part.rows;
        for lack in &mut self.columns {
            let same = of_part.columns.iter();
            let same = same.filter(|other| other.column == lack.column);
            lack.rows += same.map(|other| other.rows).sum::<u64>();
        }
    }

    /// Counts the rows of a block that match or not by their missing values.
    pub(super) fn count(&mut self, evaluated: &Evaluated) {
        if evaluated.lacks.is_empty() {
            return;
        }
        self.rows += evaluated.unknown.rows().count() as u64;
        for lack in &mut self.columns {
            let rows = evaluated.lacks.iter();
            let rows = rows.filter(|(column, _)| *column == lack.column);
            let rows = rows.map(|(_, rows)| rows.clone());
            let rows = rows.reduce(|rows, others| rows.or(&others));
            lack.rows += rows.map_or(0, |rows| rows.rows().count() as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{ListColumns, parse, tests::COLUMNS},
        *,
    };
    use model::scalar::Scalar;

    #[test]
    fn rows_are_counted_that_a_missing_value_alone_leaves_out() {
        type Case = (&'static str, usize, u64, &'static [(&'static str, u64)]);
        // Symbol, cap and change of each row.
        let rows = [
            ("A", Some(5.0), Some(1.0)),
            ("B", None, Some(1.0)),
            ("C", Some(5.0), None),
            ("D", None, None),
            ("E", Some(1.0), None),
        ];
        let cases: [Case; 13] = [
            ("", 5, 0, &[]),
            ("cap>2", 2, 2, &[("cap", 2)]),
            ("CAP>2 cap<9", 2, 2, &[("cap", 2)]),
            ("cap!=5", 1, 2, &[("cap", 2)]),
            ("cap>2 24h>0", 1, 3, &[("cap", 2), ("24h", 2)]),
            ("cap>2 24h>3", 0, 2, &[("cap", 1), ("24h", 2)]),
            ("symbol:d cap>2", 0, 1, &[("cap", 1)]),
            ("zzz cap>2", 0, 0, &[]),
            ("cap>2 or 24h>0", 3, 2, &[("cap", 1), ("24h", 2)]),
            ("cap>2 or symbol:d", 3, 1, &[("cap", 1)]),
            ("cap>2 or (24h>0 symbol:b)", 3, 1, &[("cap", 1)]),
            ("cap>2 (24h>0 or symbol:d)", 1, 3, &[("cap", 2), ("24h", 1)]),
            ("cap>2 or (cap<=2 symbol:zzz)", 2, 2, &[("cap", 2)]),
        ];
        for (text, kept, left_out, columns) in cases {
            let filter = parse(text, COLUMNS).unwrap();
            let field = |row: usize, column: &str| {
                let (symbol, cap, change) = rows[row];
                match column {
                    "symbol" => Scalar::text(symbol),
                    "market_cap" => cap.into(),
                    "price_change_24h" => change.into(),
                    _ => Scalar::Missing,
                }
            };
            let of = |lacks: bool| {
                let value = |row: usize, column: &str| {
                    Some(field(row, column)).filter(|value| lacks || !value.is_missing())
                };
                filter.kept(&ListColumns::new(value), rows.len())
            };
            let (holding, counted) = of(true);
            assert_eq!(
                (
                    holding.iter().filter(|holds| **holds).count(),
                    counted.rows(),
                    counted.columns().collect::<Vec<_>>()
                ),
                (kept, left_out, columns.to_vec()),
                "{text}"
            );
            for (row, held) in holding.iter().enumerate() {
                let holds = filter.matches(|column| field(row, column));
                assert_eq!(holds, *held, "{text} {row}");
            }
            let none = (holding, ExcludedRows::of(&filter));
            assert_eq!(of(false), none, "{text}");
        }
    }
}
