//! Formats cells of dataset tables, short in a row and exact in full view, and the paths of their files.

use crate::{views::prelude::*, widgets::table::ColumnAlign};
use model::schema::Kind;

/// Figures up to this width are shown in full.
const EXACT_MAX: usize = 14;
/// From here on two decimals are the last digits shown, and from here on a figure is abbreviated.
const CENTS_FROM: f64 = 1_000.0;
const SHORT_FROM: f64 = 1e16;

/// The cell in a row; figures also have a short form for narrow columns.
pub(super) fn cell(value: &Scalar<'_>, kind: Kind) -> Cell {
    match value {
        Scalar::Missing => Cell::missing(),
        Scalar::Float(number) => Cell::figure(float(*number)).or(*number),
        Scalar::Whole(number) => Cell::text(exact(value)).or(*number as f64),
        Scalar::Flag(_) | Scalar::Digits(_) | Scalar::Duration(_) => Cell::text(exact(value)),
        Scalar::Time(_) | Scalar::Day(_) => Cell::new(exact(value), Role::Dim),
        Scalar::List(members) => Cell::text(members.join(", ")),
        Scalar::Text(text) => match kind {
            Kind::Address => Cell::text(format::short_address(text)),
            Kind::Uint256 => Cell {
                short: text.parse().ok(),
                ..Cell::text(text.to_string())
            },
            Kind::Hex if text.len() > 20 => {
                // Two hexadecimal digits for each byte, after `0x`.
                let bytes = (text.len() as u64).saturating_sub(2) / 2;
                Cell::text(format::short_address(text))
                    .then(format!(" {}", format::bytes(bytes)), Role::Dim)
            }
            _ => Cell::text(text.to_string()),
        },
    }
}

/// One format for a whole column, so that decimal points align: with thousands separators, large values rounded to cents.
fn float(number: f64) -> String {
    let whole = format::exact(Some(number));
    match number.abs() {
        size if (CENTS_FROM..SHORT_FROM).contains(&size) && number.fract() != 0.0 => {
            format::fixed(number, 2)
        }
        size if whole.chars().count() <= EXACT_MAX || (CENTS_FROM..SHORT_FROM).contains(&size) => {
            whole
        }
        _ => format::human(Some(number)),
    }
}

/// The full value, in every digit.
pub(super) fn exact(value: &Scalar<'_>) -> String {
    match value {
        Scalar::Whole(number) => {
            let sign = if *number < 0 { "-" } else { "" };
            format!("{sign}{}", format::count(number.unsigned_abs()))
        }
        Scalar::Float(number) => format::exact(Some(*number)),
        value => value
            .to_text()
            .unwrap_or_else(|| format::MISSING.to_owned()),
    }
}

/// Column widths by kind (minimum, ideal), and alignment.
const WIDTHS: &[(Kind, u16, u16, ColumnAlign)] = &[
    (Kind::Text, 12, 22, ColumnAlign::Left),
    (Kind::Address, 13, 13, ColumnAlign::Left),
    (Kind::Chain, 8, 10, ColumnAlign::Left),
    (Kind::Chains, 10, 18, ColumnAlign::Left),
    (Kind::Addresses, 14, 30, ColumnAlign::Left),
    (Kind::Integer, 11, 13, ColumnAlign::Right),
    (Kind::Float, 14, 20, ColumnAlign::Decimal),
    (Kind::Uint256, 16, 24, ColumnAlign::Right),
    (Kind::Time, 20, 20, ColumnAlign::Left),
    (Kind::Date, 10, 10, ColumnAlign::Left),
    (Kind::Hex, 20, 22, ColumnAlign::Left),
    (Kind::Boolean, 6, 6, ColumnAlign::Left),
];

/// The list column of a schema column.
pub(super) fn column(name: &'static str, kind: Kind) -> TableColumn {
    let (_, min, ideal, align) = WIDTHS
        .iter()
        .find(|row| row.0 == kind)
        .copied()
        .unwrap_or(WIDTHS[0]);
    // The title must fit with its sort mark.
    let title = name.len() as u16 + 2;
    let mut column = TableColumn::text(name, name, min.max(title), ideal.max(title), 100);
    column.align = align;
    column.matched = align == ColumnAlign::Left;
    column.grows = matches!(kind, Kind::Text | Kind::Chains | Kind::Addresses);
    column
}

/// `…/candles_hourly.parquet`: the last folders and the name that fit, or the end of the name.
pub(super) fn cut_path(path: &str, cells: usize) -> String {
    let path = text::clean(path);
    if text::width(&path) <= cells {
        return path.into_owned();
    }
    let tails = |at: usize| path.get(at..).filter(|tail| text::width(tail) < cells);
    let folder = path
        .char_indices()
        .filter(|(_, c)| matches!(c, '/' | '\\'))
        .find_map(|(at, _)| tails(at));
    match folder.or_else(|| path.char_indices().find_map(|(at, _)| tails(at))) {
        Some(tail) if cells > 0 => format!("…{tail}"),
        _ => text::truncate(&path, cells).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use polars::prelude::{DataFrame, DataType, IntoColumn, NamedFrom, Series, TimeUnit, TimeZone};

    use super::*;
    use frames::cell::in_frame;

    fn frame() -> DataFrame {
        let times = Series::new("timestamp".into(), [Some(1_760_000_000_000_i64), None])
            .cast(&DataType::Datetime(
                TimeUnit::Milliseconds,
                Some(TimeZone::UTC),
            ))
            .unwrap();
        let days = Series::new("date".into(), [Some(20_000_i32), None])
            .cast(&DataType::Date)
            .unwrap();
        let chains = Series::new(
            "chain".into(),
            [
                Series::new("".into(), ["eth", "base"]),
                Series::new("".into(), [""; 0]),
            ],
        );
        let columns = [
            Series::new("price".into(), [Some(0.1 + 0.2), None]),
            Series::new("holders".into(), [Some(i64::MAX), None]),
            Series::new(
                "address".into(),
                [Some("0x1f9840a85d5af5bf1d1762f925bdaddc4201f984"), None],
            ),
            Series::new("listed".into(), [Some(true), None]),
            times,
            days,
            chains,
        ];
        DataFrame::new(
            2,
            columns.into_iter().map(IntoColumn::into_column).collect(),
        )
        .unwrap()
    }

    #[test]
    fn large_and_small_figures_of_a_column_have_one_style() {
        let cases = [
            (956_123_456_789.125, "956,123,456,789.12"),
            (1_260_000_000_000.0, "1,260,000,000,000"),
            (2_987.414, "2,987.41"),
            (7.31, "7.31"),
            (-1_234_567.891, "-1,234,567.89"),
            (0.1 + 0.2, "0.300"),
            (5.0e17, "500P"),
            (0.0, "0"),
        ];
        for (number, shown) in cases {
            assert_eq!(float(number), shown, "{number}");
        }
    }

    #[test]
    fn cells_are_short_in_a_row_and_exact_alone() {
        let cases = [
            (
                "price",
                Kind::Float,
                "0.300",
                "0.30000000000000004",
                json!(0.1 + 0.2),
            ),
            (
                "holders",
                Kind::Integer,
                "9,223,372,036,854,775,807",
                "9,223,372,036,854,775,807",
                json!(i64::MAX),
            ),
            (
                "address",
                Kind::Address,
                "0x1f98…f984",
                "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984",
                json!("0x1f9840a85d5af5bf1d1762f925bdaddc4201f984"),
            ),
            ("listed", Kind::Boolean, "true", "true", json!(true)),
            (
                "timestamp",
                Kind::Time,
                "2025-10-09T08:53:20Z",
                "2025-10-09T08:53:20Z",
                json!("2025-10-09T08:53:20Z"),
            ),
            (
                "date",
                Kind::Date,
                "2024-10-04",
                "2024-10-04",
                json!("2024-10-04"),
            ),
            (
                "chain",
                Kind::Chains,
                "eth, base",
                "eth, base",
                json!(["eth", "base"]),
            ),
        ];
        for (name, kind, shown, whole, as_json) in cases {
            let value = in_frame(&frame(), name, 0);
            assert_eq!(cell(&value, kind).pieces[0].0, shown);
            assert_eq!((exact(&value), value.json()), (whole.to_owned(), as_json));
        }
        for name in [
            "price",
            "holders",
            "address",
            "listed",
            "timestamp",
            "date",
            "no such column",
        ] {
            assert_eq!(in_frame(&frame(), name, 1), Scalar::Missing);
        }
        assert_eq!(in_frame(&frame(), "price", 99), Scalar::Missing);
        assert_eq!(Scalar::Whole(1_234).to_text().as_deref(), Some("1234"));
    }

    #[test]
    fn the_end_of_a_path_stays() {
        let cases = [
            ("a/b.csv", 20, "a/b.csv"),
            (
                "market/eth/candles_hourly.parquet",
                29,
                "…/eth/candles_hourly.parquet",
            ),
            (
                "market/eth/candles_hourly.parquet",
                26,
                "…/candles_hourly.parquet",
            ),
            ("market/eth/candles_hourly.parquet", 12, "…rly.parquet"),
            ("candles_hourly.parquet", 10, "…y.parquet"),
            ("漢字/漢字.csv", 8, "…字.csv"),
            ("abc", 1, "…"),
            ("abc", 0, ""),
        ];
        for (path, cells, shown) in cases {
            assert_eq!(cut_path(path, cells), shown, "{path} in {cells}");
            assert!(text::width(&cut_path(path, cells)) <= cells);
        }
    }
}
