//! Conditions on an age as conditions on a time.

use super::{ConditionValue, Filter, Operator, Term};
use model::time::{SECOND_MS, Time};

impl Filter {
    /// The filter with each condition on the column `age` as conditions on the column `time`, for rows that have a time only.
    #[must_use]
    pub fn with_times(&self, age: &str, time: &'static str, now: Time) -> Self {
        let term = |operator: Operator, sign: &str, at: i64| Term::Compare {
            column: time,
            operator,
            wanted: ConditionValue::Period {
                start: Time(at),
                end: Time(at.saturating_add(SECOND_MS)),
            },
            text: format!("{time}{sign}{}", Time(at)),
        };
        let (since, before) = (
            |at| term(Operator::AtLeast, ">=", at),
            |at| term(Operator::Less, "<", at),
        );
        let in_times = |each: &Term| match each {
            Term::Either(alternatives) => {
                let of = |terms: &Vec<Term>| {
                    Self {
                        terms: terms.clone(),
                        ..Self::default()
                    }
                    .with_times(age, time, now)
                    .terms
                };
                vec![Term::Either(alternatives.iter().map(of).collect())]
            }
            Term::Compare {
                column,
                operator,
                wanted: ConditionValue::Duration { length, unit },
                ..
            } if *column == age => {
                let young = now.0.saturating_sub(*length);
                match operator {
                    Operator::Less | Operator::AtMost => vec![since(young)],
                    Operator::Greater | Operator::AtLeast => vec![before(young)],
                    // An age of `3d` is one from three days up to, not including, four.
                    Operator::Has | Operator::Equal => {
                        vec![since(young.saturating_sub(*unit)), before(young)]
                    }
                    Operator::Differs | Operator::Lacks => {
                        vec![Term::Either(vec![
                            vec![before(young.saturating_sub(*unit))],
                            vec![since(young)],
                        ])]
                    }
                }
            }
            other => vec![other.clone()],
        };
        Self {
            terms: self.terms.iter().flat_map(in_times).collect(),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{ColumnKind, FilterColumn, parse};
    use model::{
        scalar::Scalar,
        time::{DAY_MS, HOUR_MS},
    };

    #[test]
    fn a_condition_on_an_age_is_one_on_a_time() {
        let columns = [
            FilterColumn::new("age", ColumnKind::Duration, &[]),
            FilterColumn::new("at", ColumnKind::Time, &[]),
        ];
        let now = Time(100 * DAY_MS);
        for condition in [
            "age<3d",
            "age<=3d",
            "age>3d",
            "age>=3d",
            "age:3d",
            "age=3d",
            "age!=3d",
            "not age:3d age<2w",
            "age>0d age<2w",
            "age<3d or age>10d",
            "(age<3d or age>10d) age<2w",
        ] {
            let filter = parse(condition, &columns).expect("a filter");
            let timed = filter.with_times("age", "at", now);
            let read_again =
                parse(&timed.conditions(), &columns).expect("conditions that can be read");
            assert!(!timed.names("age"), "{condition}");
            // Half hours, as no age is a whole day to the millisecond.
            for hours in (0..20 * 24).step_by(5) {
                let age = hours * HOUR_MS + HOUR_MS / 2;
                let by_age = filter.matches(|_| Scalar::Duration(age));
                let by_time = |filter: &Filter| filter.matches(|_| Scalar::Time(Time(now.0 - age)));
                assert_eq!(
                    (by_time(&timed), by_time(&read_again)),
                    (by_age, by_age),
                    "{condition} {hours}"
                );
            }
        }
    }
}
