//! Whether a block of rows can contain a match, by the smallest and largest values in it.

use super::{ConditionValue, Filter, Operator, Term, holds};
use model::time::Time;

/// The minimum and maximum of a column within a block of rows (its zone map).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Range {
    /// All values are missing.
    Empty,
    Number(f64, f64),
    /// Whole numbers, of which a float may not hold all digits.
    Whole(i64, i64),
    Time(Time, Time),
}

impl Filter {
    /// Whether a block of rows can contain a match, according to its zone map; true if the range is unknown.
    pub fn may_match(&self, range: impl Fn(&str) -> Option<Range>) -> bool {
        may_match(&self.terms, &range)
    }
}

fn may_match(terms: &[Term], range: &impl Fn(&str) -> Option<Range>) -> bool {
    terms.iter().all(|term| match term {
        Term::Word { .. } => true,
        Term::Compare {
            column,
            operator,
            wanted,
            ..
        } => range(column).is_none_or(|range| may_hold(range, *operator, wanted)),
        Term::Either(alternatives) => alternatives.iter().any(|terms| may_match(terms, range)),
    })
}

fn may_hold(range: Range, operator: Operator, wanted: &ConditionValue) -> bool {
    match (range, wanted) {
        (Range::Empty, _) => false,
        (Range::Number(low, high), ConditionValue::Number(wanted)) => {
            between(low, high, operator, wanted.float)
        }
        (Range::Whole(low, high), ConditionValue::Number(wanted)) => {
            let meets = |value: i64, operator: Operator| {
                (operator.comparison().1)(wanted.order_of(&value.to_string()))
            };
            match operator {
                Operator::Has | Operator::Equal => {
                    meets(low, Operator::AtMost) && meets(high, Operator::AtLeast)
                }
                Operator::Greater | Operator::AtLeast => meets(high, operator),
                Operator::Less | Operator::AtMost => meets(low, operator),
                Operator::Differs | Operator::Lacks => true,
            }
        }
        (Range::Time(low, high), ConditionValue::Period { start, end }) => match operator {
            Operator::Equal => low < *end && high >= *start,
            // Behind a span, and up to it, are judged by its end, as in `compare`.
            Operator::Greater => high >= *end,
            Operator::AtMost => low < *end,
            operator => between(low, high, operator, *start),
        },
        _ => true,
    }
}

fn between<T: PartialOrd + Copy>(low: T, high: T, operator: Operator, wanted: T) -> bool {
    match operator {
        Operator::Has | Operator::Equal => low <= wanted && wanted <= high,
        Operator::Greater | Operator::AtLeast => holds(high, operator, wanted),
        Operator::Less | Operator::AtMost => holds(low, operator, wanted),
        Operator::Differs | Operator::Lacks => true,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{ColumnKind, FilterColumn, parse},
        *,
    };
    use model::scalar::Scalar;

    /// A block is skipped only where none of its rows matches.
    #[test]
    fn a_block_with_a_match_is_read() {
        const ABOVE: i64 = (1 << 53) + 1;
        let columns = [
            FilterColumn::new("at", ColumnKind::Time, &[]),
            FilterColumn::new("count", ColumnKind::Number, &[]),
        ];
        let hours = |from: i64, to: i64| {
            (from..=to)
                .map(|hour| Time(hour * model::time::HOUR_MS))
                .collect::<Vec<_>>()
        };
        for (sign, within, before, behind) in [
            ("=", true, false, false),
            ("<", false, true, false),
            ("<=", true, true, false),
            (">", false, false, true),
            (">=", true, false, true),
        ] {
            let filter = parse(&format!("at{sign}1970-01-02"), &columns).unwrap();
            for (times, expected) in [
                (hours(30, 40), within),
                (hours(0, 23), before),
                (hours(48, 60), behind),
            ] {
                let any = times
                    .iter()
                    .any(|time| filter.matches(|_| Scalar::Time(*time)));
                let may = filter.may_match(|_| Some(Range::Time(times[0], times[times.len() - 1])));
                assert_eq!((any, may), (expected, expected), "{sign} {times:?}");
            }
        }
        for (condition, expected) in [
            ("count>9007199254740992", true),
            ("count>9007199254740993", false),
            ("count=9007199254740993", true),
            ("count=9007199254740992", false),
            ("count<9007199254740993", false),
            ("count<=9007199254740993.5", true),
            ("count!=9007199254740993", true),
        ] {
            let filter = parse(condition, &columns).unwrap();
            assert_eq!(
                filter.may_match(|_| Some(Range::Whole(ABOVE, ABOVE))),
                expected,
                "{condition}"
            );
        }
    }
}
