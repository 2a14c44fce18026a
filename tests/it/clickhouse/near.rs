//! Equality of two answers, figures to 1e-12: the engine adds up sums in another order. Also used by `tests/it`.

use serde_json::Value;

pub(crate) fn near(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-12 * a.abs().max(1e-2)
}

/// Asserts equality, figures to 1e-12, also within sentences.
pub(crate) fn same(a: &Value, b: &Value, at: &str) {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            assert_eq!(
                a.keys().collect::<Vec<_>>(),
                b.keys().collect::<Vec<_>>(),
                "{at}"
            );
            a.iter()
                .zip(b.values())
                .for_each(|((key, a), b)| same(a, b, &format!("{at}/{key}")));
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{at}");
            a.iter().zip(b).for_each(|(a, b)| same(a, b, at));
        }
        (Value::Number(x), Value::Number(y)) => {
            assert!(
                x.as_f64().zip(y.as_f64()).is_some_and(|(x, y)| near(x, y)),
                "{at}: {x} {y}"
            );
        }
        (Value::String(x), Value::String(y)) => {
            let is_near = |(x, y): (&str, &str)| {
                x == y
                    || x.parse::<f64>()
                        .ok()
                        .zip(y.parse::<f64>().ok())
                        .is_some_and(|(x, y)| near(x, y))
            };
            assert!(
                x.split(' ').count() == y.split(' ').count()
                    && x.split(' ').zip(y.split(' ')).all(is_near),
                "{at}: {x} {y}"
            );
        }
        _ => assert_eq!(a, b, "{at}"),
    }
}
