//! The list parameters shared by our own lists: `where` filters rows, `sort` orders them by up to four columns, `only` selects members. The
//! columns and members belong to each row type; no data is read here.

use model::scalar::Scalar;
use std::{borrow::Cow, cmp::Ordering, ops::Deref};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{
    Serialize, Serializer,
    ser::{Error as _, SerializeMap, SerializeSeq},
};
use serde_json::Value;

use super::{
    order::Order,
    parameter::{Parameter, ParameterKind, parameter},
};
use table::filter::{Filter, FilterColumn, ListColumns};

/// The row type of a list.
pub trait Listed: Serialize + JsonSchema {
    /// The columns for conditions and sorting.
    const COLUMNS: &'static [FilterColumn];
    /// The JSON members, in order.
    const MEMBERS: &'static [&'static str];

    /// The row's value in a column.
    fn field(&self, column: &str) -> Scalar<'_>;
}

/// The columns of a row type, a row of this table each: name, kind, other names, what else the filter knows, how the value is read. The
/// members are the columns, unless they are named.
macro_rules! listed {
    ($row:ty { $($name:literal: $kind:ident $aliases:tt $(.$with:ident($($given:expr)?))* = $read:expr;)* }) => {
        $crate::queries::list::listed!($row [$($name),*] {
            $($name: $kind $aliases $(.$with($($given)?))* = $read;)*
        });
    };
    ($row:ty [$($member:literal),*] { $($name:literal: $kind:ident $aliases:tt $(.$with:ident($($given:expr)?))* = $read:expr;)* }) => {
        impl $crate::queries::list::Listed for $row {
            const COLUMNS: &'static [table::filter::FilterColumn] = &[$(
                table::filter::FilterColumn::new($name, table::filter::ColumnKind::$kind, &$aliases)
                    $(.$with($($given)?))*
            ),*];
            const MEMBERS: &'static [&'static str] = &[$($member),*];

            fn field(&self, column: &str) -> ::model::scalar::Scalar<'_> {
                type Read = for<'r> fn(&'r $row) -> ::model::scalar::Scalar<'r>;
                let read: Read = match column {
                    $($name => $read,)*
                    _ => return ::model::scalar::Scalar::Missing,
                };
                read(self)
            }
        }
    };
}
pub(crate) use listed;

/// The `where` parameter of a list of such rows.
pub const fn conditions<T: Listed>() -> Parameter {
    let meaning = "Conditions such as `name:usd`: column, operator (: = != > >= < <=), value; combined with and, `or` and brackets. \
        Missing values never match. A token's symbol can stand for its address.";
    parameter("where", ParameterKind::Where(T::COLUMNS), meaning)
}

/// The `sort` parameter of a list of such rows.
pub const fn sort<T: Listed>(default: Option<&'static str>, meaning: &'static str) -> Parameter {
    parameter(
        "sort",
        ParameterKind::Sort {
            columns: T::COLUMNS,
            default,
        },
        meaning,
    )
}

pub const SORT: &str =
    "Up to 4 columns, comma-separated; `-` for descending. Rows without a value come last.";

/// The `only` parameter of a list of such rows.
pub const fn only<T: Listed>() -> Parameter {
    parameter(
        "only",
        ParameterKind::Words(T::MEMBERS),
        "Fields to return, comma-separated. Default: all.",
    )
}

/// Keeps the rows that match the filter; `field` returns a row's value in a column.
pub fn keep_matching<R>(
    rows: &mut Vec<R>,
    filter: &Filter,
    field: impl for<'r> Fn(&'r R, &'static str) -> Scalar<'r>,
) {
    let columns = ListColumns::new(|row, column| Some(field(rows.get(row)?, column)));
    let mut kept = filter.kept(&columns, rows.len()).0.into_iter();
    rows.retain(|_| kept.next() == Some(true));
}

/// Filters rows in place and sorts them.
pub fn filter_and_sort<R: Listed>(rows: &mut Vec<R>, filter: &Filter, orders: &[Order]) {
    keep_matching(rows, filter, Listed::field);
    sort_rows(
        rows,
        orders,
        |row, column| row.field(column).sort_key(),
        |_, _| Ordering::Equal,
    );
}

/// Sorts rows by each of `orders`, then by `ties`; stable. `key` returns a row's sort key in a column.
pub fn sort_rows<R>(
    rows: &mut Vec<R>,
    orders: &[Order],
    key: impl Fn(&R, &str) -> Option<Scalar<'static>>,
    ties: impl Fn(&R, &R) -> Ordering,
) {
    let keys = |row: &R| {
        orders
            .iter()
            .map(|order| key(row, order.column))
            .collect::<Vec<_>>()
    };
    let mut keyed: Vec<(Vec<Option<Scalar<'static>>>, R)> =
        rows.drain(..).map(|row| (keys(&row), row)).collect();
    keyed.sort_by(|(keys_a, a), (keys_b, b)| {
        let mut columns = orders.iter().zip(keys_a.iter().zip(keys_b));
        let by_columns = columns.find_map(|(order, (a, b))| {
            Some(order.compare(a.as_ref(), b.as_ref())).filter(|found| found.is_ne())
        });
        by_columns.unwrap_or_else(|| ties(a, b))
    });
    rows.extend(keyed.into_iter().map(|(_, row)| row));
}

/// The rows of an answer, with all members or those selected by `only`.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows<T> {
    rows: Vec<T>,
    /// Selected members; empty: all.
    only: Vec<&'static str>,
}

impl<T> Rows<T> {
    pub fn new(rows: Vec<T>, only: &[&'static str]) -> Self {
        Self {
            rows,
            only: only.to_vec(),
        }
    }
}

impl<T> Deref for Rows<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.rows
    }
}

impl<T: Serialize> Serialize for Rows<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.only.is_empty() {
            return self.rows.serialize(serializer);
        }
        let mut sequence = serializer.serialize_seq(Some(self.rows.len()))?;
        for row in &self.rows {
            let members = serde_json::to_value(row).map_err(S::Error::custom)?;
            sequence.serialize_element(&SelectedMembers {
                members,
                only: &self.only,
            })?;
        }
        sequence.end()
    }
}

/// A row serialized with the selected members only.
struct SelectedMembers<'a> {
    members: Value,
    only: &'a [&'static str],
}

impl Serialize for SelectedMembers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let selected = self
            .only
            .iter()
            .filter_map(|name| Some((name, self.members.get(name)?)));
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in selected {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<T: Listed> JsonSchema for Rows<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("ListOf{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<Vec<Row<T>>>()
    }
}

/// The schema of a row in the API document: no member is required, as `only` may leave any out.
struct Row<T>(std::marker::PhantomData<T>);

impl<T: Listed> JsonSchema for Row<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Listed{}", T::schema_name().trim_end_matches("Summary")).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        schema.remove("required");
        let meaning = schema
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or("A row.");
        let meaning = format!(
            "{} Contains all fields, or only those listed in `only`.",
            meaning.trim()
        );
        schema.insert("description".into(), meaning.into());
        schema
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::queries::{
        dexes::DexEntry,
        fields::TokenEntry,
        holders::{Holder, HolderCount},
        posts::PostRow,
    };
    use model::time::Day;

    #[test]
    fn what_has_no_value_comes_last_either_way() {
        for order in [Order::rising("price"), Order::falling("price")] {
            assert_eq!(order.compare(None, Some(1.0)), Ordering::Greater, "{order}");
            assert_eq!(order.compare(Some(1.0), None), Ordering::Less, "{order}");
        }
        let mut rows = vec![
            ("b", Some(1.0)),
            ("a", None),
            ("c", Some(1.0)),
            ("d", Some(2.0)),
        ];
        let key = |row: &(&str, Option<f64>), column: &str| match column {
            "name" => Some(Scalar::text(row.0.to_owned())),
            _ => row.1.map(Scalar::Float),
        };
        sort_rows(
            &mut rows,
            &[Order::falling("value"), Order::falling("name")],
            key,
            |_, _| Ordering::Equal,
        );
        assert_eq!(rows.iter().map(|row| row.0).collect::<String>(), "dcba");
        assert_eq!(
            (
                Order::rising("price").to_string(),
                Order::falling("price").to_string()
            ),
            ("price".to_owned(), "-price".to_owned())
        );
    }

    /// Checks that each member resolves by name and that no column name repeats.
    pub(crate) fn check<T: Listed>() {
        let schema = SchemaGenerator::default().into_root_schema_for::<T>();
        let properties: Vec<&str> = schema
            .get("properties")
            .and_then(Value::as_object)
            .expect("an object")
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(T::MEMBERS, properties, "{}", T::schema_name());
        let names: Vec<&str> = T::COLUMNS
            .iter()
            .flat_map(|column| std::iter::once(column.name).chain(column.aliases.iter().copied()))
            .collect();
        let mut once = names.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), names.len(), "{}", T::schema_name());
    }

    #[test]
    fn each_list_names_the_members_of_its_rows() {
        check::<TokenEntry>();
        check::<PostRow>();
        check::<Holder>();
        check::<HolderCount>();
        check::<DexEntry>();
    }

    #[test]
    fn only_the_named_members_are_written() {
        let row = HolderCount {
            date: Day(20_000),
            holders: Some(3),
            whale_balance: None,
        };
        let text = |only: &[&'static str]| {
            serde_json::to_string(&Rows::new(vec![row.clone()], only)).unwrap()
        };
        assert_eq!(
            text(&[]),
            r#"[{"date":"2024-10-04","holders":3,"whale_balance":null}]"#
        );
        assert_eq!(
            text(&["holders", "whale_balance"]),
            r#"[{"holders":3,"whale_balance":null}]"#
        );
    }
}
