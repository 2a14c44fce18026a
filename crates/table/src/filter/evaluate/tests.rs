//! Blocks of rows are judged as single rows are, and a block is ruled out by its smallest and largest values only if no row of it matches.

use std::path::PathBuf;

use proptest::prelude::*;

use super::*;
use crate::{
    StorageType, StoredColumn, TableRows, UNKNOWN,
    bounds::bounds_of,
    filter::{ColumnKind, FilterColumn, ListColumns, of_table, parse},
    index::{self, Index, Region, RunStarts, TableMetadata},
    map::Image,
};
use model::{
    address::Address,
    names,
    progress::Progress,
    schema::{self, Column},
    time::{DAY_MS, Day, HOUR_MS, Time},
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

/// Cells as they are stored, of a column of this name and kind.
type Stored = (&'static Column, StorageType, Vec<Option<Vec<u8>>>);

/// Puts the cells into `bytes`, as Arrow aligns them.
fn region((column, storage, cells): &Stored, bytes: &mut Vec<u8>) -> Region {
    let mut put = |part: &[u8]| {
        bytes.resize(bytes.len().next_multiple_of(64), 0);
        let at = bytes.len() as u64;
        bytes.extend(part);
        (at, part.len() as u64)
    };
    let nulls = cells.iter().filter(|cell| cell.is_none()).count() as u64;
    let mut bits = vec![0_u8; cells.len().div_ceil(8)];
    for row in (0..cells.len()).filter(|row| cells[*row].is_some()) {
        bits[row / 8] |= 1 << (row % 8);
    }
    let (mut values, mut data) = (Vec::new(), Vec::new());
    if storage.width().is_none() {
        values.extend(0_u64.to_le_bytes());
    }
    for cell in cells {
        let null = match storage {
            StorageType::Float => f64::NAN.to_le_bytes().to_vec(),
            StorageType::Integer => UNKNOWN.to_le_bytes().to_vec(),
            StorageType::Address => vec![0; 20],
            _ => Vec::new(),
        };
        let cell = cell.clone().unwrap_or(null);
        if storage.width().is_some() {
            values.extend(cell);
        } else {
            data.extend(cell);
            values.extend((data.len() as u64).to_le_bytes());
        }
    }
    Region {
        name: column.name.to_owned(),
        nulls,
        validity: if nulls > 0 { put(&bits) } else { (0, 0) },
        values: put(&values),
        data: if storage.width().is_none() {
            put(&data)
        } else {
            (0, 0)
        },
    }
}

fn rows_of(transfers: &[Transfer]) -> TableRows {
    let schema = schema::table("transfers").expect("a table");
    let mut transfers = transfers.to_vec();
    transfers.sort_by_key(|row| row.0);
    let each = |cell: &dyn Fn(&Transfer) -> Option<Vec<u8>>| transfers.iter().map(cell).collect();
    let whole = |last: u8| {
        Address(
            [&[0; 19][..], &[last]]
                .concat()
                .try_into()
                .expect("20 bytes"),
        )
    };
    let column = |name| schema.column(name).expect("a column");
    let own = names::column("own", Kind::Float).expect("a column");
    let columns: [Stored; 5] = [
        (
            column("block_number"),
            StorageType::Integer,
            each(&|row| Some(row.1?.to_le_bytes().to_vec())),
        ),
        (
            column("from_address"),
            StorageType::Address,
            each(&|row| Some(whole(row.2?).0.to_vec())),
        ),
        (
            column("to_address"),
            StorageType::Address,
            each(&|row| Some(whole(row.0 ^ 1).0.to_vec())),
        ),
        (
            column("value"),
            StorageType::Text,
            each(&|row| Some(row.3?.as_bytes().to_vec())),
        ),
        (
            own,
            StorageType::Float,
            each(&|row| Some((row.1? as f64 / 2.0).to_le_bytes().to_vec())),
        ),
    ];
    let mut bytes = Vec::new();
    let regions: Vec<Region> = columns
        .iter()
        .map(|column| region(column, &mut bytes))
        .collect();
    let stored: Vec<StoredColumn> = columns
        .iter()
        .map(|(column, storage, _)| (*column, *storage))
        .collect();
    let (mut starts, mut tokens) = (RunStarts::default(), Vec::new());
    for (place, row) in transfers.iter().enumerate() {
        if tokens.last() != Some(&whole(row.0)) {
            tokens.push(whole(row.0));
        }
        starts.row(tokens.len() as u32 - 1, 0, place as u64);
    }
    let rows = transfers.len() as u64;
    let stats = bounds_of(&bytes, &stored, &regions, rows, 50).expect("bounds");
    let metadata = TableMetadata {
        table: schema.name.to_owned(),
        rows,
        regions,
        block: 50,
        bytes: bytes.len() as u64,
        ..TableMetadata::default()
    };
    let index = index::encode(&metadata, &starts, &stats, &tokens).expect("an index");
    let index = Index::of(Image::from(index.as_slice())).expect("an index");
    TableRows::held(
        schema,
        stored,
        index,
        Image::from(bytes.as_slice()),
        PathBuf::new(),
    )
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
                let is_read = filter.evaluate(&rows, 0..rows.0.len()).is_some();
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
        assert_eq!(
            filter.evaluate(&rows, 0..1).is_some(),
            expected,
            "{condition}"
        );
    }
}
