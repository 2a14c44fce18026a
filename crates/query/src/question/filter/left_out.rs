//! Rows that a filter leaves out only because of missing values in its columns: they might match, so lists show their number.

use super::{Filter, Row, Term};
use model::scalar::Scalar;

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

    /// Adds the counts of other rows under the same filter.
    pub fn add(&mut self, others: &Self) {
        self.rows += others.rows;
        for (lack, other) in self.columns.iter_mut().zip(&others.columns) {
            lack.rows += other.rows;
        }
    }
}

impl Filter {
    /// As `matches`; also counts in `left_out` a row that fails only for missing values, all of which `lacks` confirms: not those known to be
    /// absent or still to be computed.
    pub fn keeps<'a>(
        &self,
        field: impl Fn(&str) -> Scalar<'a>,
        lacks: impl Fn(&str) -> bool,
        left_out: &mut ExcludedRows,
    ) -> bool {
        let row = Row {
            filter: self,
            field: &field,
            absent: &|column: &str| !lacks(column),
        };
        let all = row.all(&self.terms);
        if all.is_none() {
            let unknown = row.unknown(&self.terms);
            left_out.rows += 1;
            left_out
                .columns
                .iter_mut()
                .filter(|lack| unknown.contains(&lack.column))
                .for_each(|lack| lack.rows += 1);
        }
        all == Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{parse, tests::COLUMNS},
        *,
    };

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
            let mut counted = ExcludedRows::of(&filter);
            let mut halves = [ExcludedRows::of(&filter), ExcludedRows::of(&filter)];
            let mut holding = 0;
            for (nth, (symbol, cap, change)) in rows.into_iter().enumerate() {
                let field = |column: &str| match column {
                    "symbol" => Scalar::text(symbol),
                    "market_cap" => cap.into(),
                    "price_change_24h" => change.into(),
                    _ => Scalar::Missing,
                };
                let holds = filter.keeps(field, |_| true, &mut counted);
                assert_eq!(holds, filter.matches(field), "{text} {symbol}");
                holding += usize::from(holds);
                filter.keeps(field, |_| true, &mut halves[nth % 2]);
                assert_eq!(
                    filter.keeps(field, |_| false, &mut ExcludedRows::default()),
                    holds,
                    "{text} {symbol}"
                );
            }
            let [mut first, second] = halves;
            first.add(&second);
            assert_eq!(
                (
                    holding,
                    counted.rows(),
                    counted.columns().collect::<Vec<_>>()
                ),
                (kept, left_out, columns.to_vec()),
                "{text}"
            );
            assert_eq!(first, counted, "{text}");
        }
    }
}
