//! Rows that a filter leaves out only because they have no value in one of its columns: nothing says that they do not meet it, so lists
//! tell how many they are.

use super::{FieldValue, Filter, Term};

/// How many rows were left out for want of a value, and in which columns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RowsLeftOut {
    rows: u64,
    columns: Vec<Lack>,
}

/// The rows left out that have no value in one column.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Lack {
    column: &'static str,
    /// What the condition calls the column.
    name: String,
    rows: u64,
}

impl RowsLeftOut {
    /// No row yet, for a filter that is to be gone through.
    pub fn of(filter: &Filter) -> Self {
        let mut columns: Vec<Lack> = Vec::new();
        for term in &filter.terms {
            if let Term::Compare { column, text, .. } = term
                && columns.iter().all(|known| known.column != *column)
            {
                let end = text.find([':', '=', '!', '<', '>']).unwrap_or(text.len());
                columns.push(Lack { column, name: text[..end].to_lowercase(), rows: 0 });
            }
        }
        Self { rows: 0, columns }
    }

    /// All rows left out.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Each column that some of them have no value in, as the filter calls it, and how many. A row without two values counts for both.
    pub fn columns(&self) -> impl Iterator<Item = (&str, u64)> {
        self.columns.iter().filter(|lack| lack.rows > 0).map(|lack| (lack.name.as_str(), lack.rows))
    }

    /// Those of other rows too, that went through the same filter.
    pub fn add(&mut self, others: &Self) {
        self.rows += others.rows;
        for (lack, other) in self.columns.iter_mut().zip(&others.columns) {
            lack.rows += other.rows;
        }
    }
}

impl Filter {
    /// As `matches`; a row that meets every condition whose value it has is counted where a value `lacks`. A value that is known not to be
    /// there, or is still to come, does not lack.
    pub fn keeps<'a>(
        &self,
        field: impl Fn(&str) -> Option<FieldValue<'a>>,
        lacks: impl Fn(&str) -> bool,
        left_out: &mut RowsLeftOut,
    ) -> bool {
        let mut holds = true;
        for term in &self.terms {
            match self.met(term, &field) {
                Some(true) => {}
                None if matches!(term, Term::Compare { column, .. } if lacks(column)) => holds = false,
                Some(false) | None => return false,
            }
        }
        if !holds {
            left_out.rows += 1;
            left_out.columns.iter_mut().filter(|lack| field(lack.column).is_none()).for_each(|lack| lack.rows += 1);
        }
        holds
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
        // The cap and the change of each row, and its symbol.
        let rows = [("A", Some(5.0), Some(1.0)), ("B", None, Some(1.0)), ("C", Some(5.0), None), ("D", None, None), ("E", Some(1.0), None)];
        let cases: [Case; 8] = [
            ("", 5, 0, &[]),
            ("cap>2", 2, 2, &[("cap", 2)]),
            ("CAP>2 cap<9", 2, 2, &[("cap", 2)]),
            ("cap!=5", 1, 2, &[("cap", 2)]),
            ("cap>2 24h>0", 1, 3, &[("cap", 2), ("24h", 2)]),
            ("cap>2 24h>3", 0, 2, &[("cap", 1), ("24h", 2)]),
            ("symbol:d cap>2", 0, 1, &[("cap", 1)]),
            ("zzz cap>2", 0, 0, &[]),
        ];
        for (text, kept, left_out, columns) in cases {
            let filter = parse(text, COLUMNS).unwrap();
            let mut counted = RowsLeftOut::of(&filter);
            let mut halves = [RowsLeftOut::of(&filter), RowsLeftOut::of(&filter)];
            let mut holding = 0;
            for (nth, (symbol, cap, change)) in rows.into_iter().enumerate() {
                let field = |column: &str| match column {
                    "symbol" => Some(FieldValue::text(symbol)),
                    "market_cap" => cap.map(FieldValue::Number),
                    "price_change_24h" => change.map(FieldValue::Number),
                    _ => None,
                };
                let holds = filter.keeps(field, |_| true, &mut counted);
                assert_eq!(holds, filter.matches(field), "{text} {symbol}");
                holding += usize::from(holds);
                filter.keeps(field, |_| true, &mut halves[nth % 2]);
                assert_eq!(filter.keeps(field, |_| false, &mut RowsLeftOut::default()), holds, "{text} {symbol}");
            }
            let [mut first, second] = halves;
            first.add(&second);
            assert_eq!((holding, counted.rows(), counted.columns().collect::<Vec<_>>()), (kept, left_out, columns.to_vec()), "{text}");
            assert_eq!(first, counted, "{text}");
        }
    }
}
