//! Blocks of rows are judged as single rows are, and a block is ruled out by its smallest and largest values only if no row of it matches.

use std::fmt::Write as _;

use polars::prelude::{DataFrame, IntoColumn, NamedFrom, Series};
use proptest::prelude::*;

use super::*;
use crate::question::{
    filter::{ColumnKind, FilterColumn, ListColumns, of_table, parse},
    progress::Progress,
};
use model::{
    progress::NoProgress,
    schema,
    time::{DAY_MS, Day, HOUR_MS, Time},
};
use store::cache::Frames as _;
use store::{
    cache::{CacheOptions, TableRows},
    load::load_with,
};

/// A filter judged row by row, as it is defined.
struct Reference<'r> {
    filter: &'r Filter,
    field: &'r dyn Fn(&'static str) -> Scalar<'r>,
}

impl Reference<'_> {
    /// The first result that is `decisive`; otherwise unknown if one is unknown, or the opposite.
    fn decided_by(decisive: bool, results: &[Option<bool>]) -> Option<bool> {
        if results.contains(&Some(decisive)) {
            Some(decisive)
        } else if results.contains(&None) {
            None
        } else {
            Some(!decisive)
        }
    }

    fn all(&self, terms: &[Term]) -> Option<bool> {
        let results: Vec<_> = terms.iter().map(|term| self.met(term)).collect();
        Self::decided_by(false, &results)
    }

    fn met(&self, term: &Term) -> Option<bool> {
        let has = |columns: &[&'static str], test: &dyn Fn(&Scalar<'_>) -> bool| {
            columns.iter().any(|column| test(&(self.field)(column)))
        };
        match term {
            Term::Word {
                word,
                exact,
                tokens,
            } => {
                let part = Some(word.as_str()).filter(|word| is_part_of_address(word));
                Some(
                    has(&self.filter.searched, &|value| found(value, word, *exact))
                        || has(&self.filter.addresses, &|value| {
                            is_named(value, tokens, part)
                        }),
                )
            }
            Term::Compare {
                column,
                operator,
                wanted,
                ..
            } => {
                let value = (self.field)(column).given()?;
                Some(compare(&value, *operator, wanted))
            }
            Term::Either(alternatives) => {
                let results: Vec<_> = alternatives.iter().map(|terms| self.all(terms)).collect();
                Self::decided_by(true, &results)
            }
        }
    }

    /// The columns without a value for which these terms are unknown.
    fn unknown<'t>(&self, terms: &'t [Term]) -> Vec<&'t str> {
        let of = |term: &'t Term| -> Vec<&'t str> {
            match term {
                term if self.met(term).is_some() => Vec::new(),
                Term::Either(alternatives) => alternatives
                    .iter()
                    .filter(|terms| self.all(terms).is_none())
                    .flat_map(|terms| self.unknown(terms))
                    .collect(),
                Term::Compare { column, .. } => vec![column],
                Term::Word { .. } => Vec::new(),
            }
        };
        terms.iter().flat_map(of).collect()
    }
}

/// Token, block, sender and value.
type Transfer = (u8, Option<i64>, Option<u8>, Option<&'static str>);

/// Transfers that lack some of their values, of a few tokens.
fn transfers() -> impl Strategy<Value = Vec<Transfer>> {
    const ABOVE: i64 = (1 << 53) + 1;
    let blocks = prop_oneof![-2..3_i64, Just(ABOVE), Just(ABOVE - 1), Just(-ABOVE)];
    let values = prop_oneof![
        Just("0"),
        Just("7"),
        Just("9007199254740993"),
        Just("340282366920938463463374607431768211456")
    ];
    let row = (
        0..3_u8,
        prop::option::weighted(0.8, blocks),
        prop::option::weighted(0.8, 0..3_u8),
        prop::option::weighted(0.8, values),
    );
    prop::collection::vec(row, 0..150)
}

fn address(last: u8) -> String {
    format!("0x{last:040x}")
}

fn rows_of(transfers: &[Transfer]) -> TableRows {
    let mut transfers = transfers.to_vec();
    transfers.sort_by_key(|row| row.0);
    let each = || transfers.iter();
    let columns = [
        Series::new(
            "token_address".into(),
            each().map(|row| address(row.0)).collect::<Vec<_>>(),
        ),
        Series::new(
            "block_number".into(),
            each().map(|row| row.1).collect::<Vec<_>>(),
        ),
        Series::new(
            "from_address".into(),
            each().map(|row| row.2.map(address)).collect::<Vec<_>>(),
        ),
        Series::new(
            "to_address".into(),
            each().map(|row| address(row.0 ^ 1)).collect::<Vec<_>>(),
        ),
        Series::new("value".into(), each().map(|row| row.3).collect::<Vec<_>>()),
        Series::new(
            "own".into(),
            each()
                .map(|row| row.1.map(|block| block as f64 / 2.0))
                .collect::<Vec<_>>(),
        ),
    ];
    let columns = columns.map(IntoColumn::into_column).to_vec();
    let frame = DataFrame::new(transfers.len(), columns).expect("a frame");
    TableRows::in_memory(schema::table("transfers").expect("a table"), &frame).expect("rows")
}

/// A filter of such conditions and words, in brackets too.
fn texts() -> impl Strategy<Value = String> {
    let condition = prop_oneof![
        (
            prop::sample::select(vec!["block_number", "value", "own"]),
            prop::sample::select(vec!["=", "!=", ">", ">=", "<", "<=", ":", "!:"]),
            prop::sample::select(vec![
                "0",
                "-1",
                "0.5",
                "1",
                "7",
                "9007199254740992",
                "9007199254740993",
                "9007199254740993.5",
                "-9007199254740992",
                "1e30",
                "340282366920938463463374607431768211456",
            ]),
        )
            .prop_map(|(column, sign, number)| format!("{column}{sign}{number}")),
        (
            prop::sample::select(vec!["token_address", "from_address", "to_address"]),
            prop::sample::select(vec!["=", "!=", ":", "!:"]),
            0..3_u8,
        )
            .prop_map(|(column, sign, last)| format!("{column}{sign}{}", address(last))),
        Just("from_address:0x0000".to_owned()),
        Just("not block_number in (1, 2)".to_owned()),
    ];
    let word = prop_oneof![Just("01".to_owned()), Just("0x0000000".to_owned())];
    let conditions = prop::collection::vec(condition, 1..3).prop_map(|all| all.join(" "));
    let either = prop::collection::vec(conditions.clone(), 1..4)
        .prop_map(|all| format!("({})", all.join(") or (")));
    (
        prop::collection::vec(prop_oneof![conditions, either], 0..3),
        prop::option::weighted(0.2, word),
    )
        .prop_map(|(parts, word)| {
            let parts = parts.into_iter().map(|part| format!("({part})"));
            parts.chain(word).collect::<Vec<_>>().join(" ")
        })
}

/// Checks that the rows are judged as the reference judges them.
fn check(
    text: &str,
    filter: &Filter,
    columns: &(dyn Columns + Sync),
    height: usize,
    cell: &Cell<'_>,
) {
    let (mut expected, mut unknown) = (Vec::new(), 0);
    let mut lacks: Vec<Vec<&str>> = Vec::new();
    for row in 0..height {
        let reference = Reference {
            filter,
            field: &|column| cell(row, column),
        };
        match reference.all(&filter.terms) {
            Some(true) => expected.push(row),
            Some(false) => {}
            None => {
                unknown += 1;
                lacks.push(reference.unknown(&filter.terms));
            }
        }
    }
    let (kept, left_out) = filter.kept(columns, height);
    let kept: Vec<usize> = (0..height).filter(|row| kept[*row]).collect();
    assert_eq!(kept, expected, "{text}");
    assert_eq!(left_out.rows(), unknown, "{text}");
    for (named, count) in left_out.columns() {
        let lacking = lacks.iter().filter(|columns| columns.contains(&named));
        assert_eq!(lacking.count() as u64, count, "{text} {named}");
    }
    let progress = Progress::default();
    let all = 0..height;
    let selected = |rows: Range<usize>, first| {
        let (rows, left_out) = filter
            .select(columns, rows, first, &progress)
            .expect("rows");
        (rows.iter().collect::<Vec<_>>(), left_out)
    };
    assert_eq!(
        selected(all.clone(), usize::MAX),
        (expected.clone(), left_out),
        "{text}"
    );
    let first = expected.iter().copied().take(3).collect::<Vec<_>>();
    assert_eq!(selected(all, 3).0, first, "{text}");
    let from = height / 2;
    expected.retain(|row| *row >= from);
    assert_eq!(selected(from..height, usize::MAX).0, expected, "{text}");
}

type Cell<'a> = dyn Fn(usize, &'static str) -> Scalar<'static> + Sync + 'a;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn blocks_are_judged_as_their_rows_are(transfers in transfers(), text in texts()) {
        let schema = schema::table("transfers").expect("a table");
        let own = FilterColumn::new("own", ColumnKind::Number, &[]);
        let columns: Vec<FilterColumn> = of_table(schema).into_iter().chain([own]).collect();
        let Ok(filter) = parse(&text, &columns) else { return Ok(()) };
        let rows = rows_of(&transfers);
        let cell = |row: usize, column: &'static str| match column {
            "value" => rows.cell(column, row).number(),
            _ => rows.cell(column, row),
        };
        check(&text, &filter, &rows, rows.height(), &cell);
        let list = ListColumns::new(|row, column| Some(cell(row, column)));
        check(&text, &filter, &list, rows.height(), &cell);
    }
}

#[test]
fn blocks_follow_one_another() {
    let columns = [FilterColumn::new("count", ColumnKind::Number, &[])];
    let cell = |row: usize, _: &'static str| match row % 1_000 {
        7 => Scalar::Missing,
        count => Scalar::Whole(count as i64),
    };
    let list = ListColumns::new(|row, column| Some(cell(row, column)));
    for text in ["count=3", "count!=3", "count>2000"] {
        let filter = parse(text, &columns).expect("a filter");
        check(text, &filter, &list, 40_000, &cell);
    }
}

/// Candles of two tokens and intervals, some without a volume.
fn candles() -> String {
    let mut text = "token_address,interval,timestamp,open,high,low,close,volume\n".to_owned();
    for i in 0..400_u64 {
        let (mixed, at) = (1 + i * 7 % 31, 1_767_225_600 + i / 4 * 86_400);
        let volume = if mixed % 3 == 0 {
            String::new()
        } else {
            mixed.to_string()
        };
        let interval = ["1h", "1d"][(i / 2 % 2) as usize];
        writeln!(
            text,
            "{},{interval},{at},{mixed},40,1,{mixed},{volume}",
            address(1 + (i % 2) as u8)
        )
        .expect("a text");
    }
    text
}

#[test]
fn rows_of_a_mapped_table_are_judged_as_those_in_memory() {
    let (data, cache) = (tempfile::tempdir(), tempfile::tempdir());
    let (data, cache) = (data.expect("a folder"), cache.expect("a folder"));
    let tokens = format!(
        "token_address,symbol,name,chain\n{},A,A,eth\n{},B,B,eth\n",
        address(1),
        address(2)
    );
    for (name, text) in [("tokens.csv", tokens), ("candles.csv", candles())] {
        std::fs::write(data.path().join(name), text).expect("a file");
    }
    let mapped = CacheOptions {
        folder: Some(cache.path().to_owned()),
        rows_min: 10,
        block_rows: 50,
        ..CacheOptions::default()
    };
    let [mapped, held] = [mapped, CacheOptions::default()].map(|options| {
        let dataset = load_with(data.path(), &options, &NoProgress).expect("a dataset");
        dataset.table("candles").expect("candles").rows.clone()
    });
    assert_eq!(
        (mapped.is_held(), held.is_held(), held.height()),
        (false, true, 400)
    );
    let columns = of_table(held.schema());
    for (text, is_skipped) in [
        ("close>5", false),
        ("volume!=5", false),
        ("volume>5 close<20", false),
        ("volume>5 or close<3", false),
        ("interval=1d volume<=7", false),
        ("not (interval=1d or volume>7)", false),
        ("timestamp>=2026-02-01 volume>1", false),
        ("timestamp=2026-01-05", false),
        ("timestamp:03 close in (1, 2, 3)", false),
        ("volume>30 close>1e9", true),
        ("volume>1e9", true),
        ("token_address:0x0000 volume<5", false),
        ("1h volume<5", false),
    ] {
        let filter = parse(text, &columns).expect("a filter");
        let cell = |row: usize, column: &'static str| held.cell(column, row);
        check(text, &filter, &*held, held.height(), &cell);
        let progress = Progress::default();
        let of = |rows: &TableRows| {
            let (rows, left_out) = filter
                .select(rows, 0..rows.height(), usize::MAX, &progress)
                .expect("rows");
            (rows.iter().collect::<Vec<_>>(), left_out)
        };
        let (of_mapped, of_held) = (of(&mapped), of(&held));
        assert_eq!(of_mapped.0, of_held.0, "{text}");
        let counted = if is_skipped {
            ExcludedRows::default()
        } else {
            of_held.1
        };
        assert_eq!(of_mapped.1, counted, "{text}");
    }
}

/// Columns of one block, of which the smallest and the largest value are known.
struct Zoned(Vec<i64>, Kind);

impl Columns for Zoned {
    fn values(&self, _: &'static str, rows: Range<usize>) -> Values<'_> {
        Values::Whole(&self.0[rows], self.1)
    }

    fn zone(&self, _: &str, _: Range<usize>) -> Option<(Extent, Kind)> {
        let (low, high) = (self.0.iter().min()?, self.0.iter().max()?);
        Some((Extent::Whole(*low, *high), self.1))
    }
}

/// A block is skipped only where none of its rows matches.
#[test]
fn a_block_with_a_match_is_read() {
    const ABOVE: i64 = (1 << 53) + 1;
    let columns = [
        FilterColumn::new("at", ColumnKind::Time, &[]),
        FilterColumn::new("count", ColumnKind::Number, &[]),
    ];
    let hours = |from: i64, to: i64| (from..=to).map(|hour| hour * HOUR_MS).collect::<Vec<_>>();
    for (sign, within, before, behind) in [
        ("=", true, false, false),
        ("<", false, true, false),
        ("<=", true, true, false),
        (">", false, false, true),
        (">=", true, false, true),
    ] {
        let filter = parse(&format!("at{sign}1970-01-02"), &columns).expect("a filter");
        for (times, expected) in [
            (hours(30, 40), within),
            (hours(0, 23), before),
            (hours(48, 60), behind),
        ] {
            // The days of the times, too.
            let days = times.iter().map(|time| time / DAY_MS).collect();
            for (rows, value) in [
                (
                    Zoned(times.clone(), Kind::Time),
                    Scalar::Time(Time(times[0])),
                ),
                (
                    Zoned(days, Kind::Date),
                    Scalar::Day(Day((times[0] / DAY_MS) as i32)),
                ),
            ] {
                let any = filter.matches(|_| value.borrowed());
                let is_read = filter.judge(&rows, 0..rows.0.len()).is_some();
                assert_eq!((any, is_read), (expected, expected), "{sign} {times:?}");
            }
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
        let filter = parse(condition, &columns).expect("a filter");
        let rows = Zoned(vec![ABOVE], Kind::Integer);
        assert_eq!(filter.judge(&rows, 0..1).is_some(), expected, "{condition}");
    }
}
