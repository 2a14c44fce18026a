//! What reads, what is refused, and that every expression means what it says.

use model::scalar::Scalar;
use proptest::prelude::*;

use super::{
    super::{Columns, ExcludedRows, ListColumns, Values, tests::COLUMNS},
    *,
};
use crate::Extent;
use model::schema::Kind;

#[test]
fn errors_name_the_part_that_is_wrong() {
    let cases = [
        (
            "capp>1m",
            "unknown column `capp`; did you mean `cap`? Columns: symbol, name, chain, cap, 24h, labels, starred, action, …",
            0..4,
        ),
        (
            "cpa>1m",
            "unknown column `cpa`; did you mean `cap`? Columns: symbol, name, chain, cap, 24h, labels, starred, action, …",
            0..3,
        ),
        (
            "age<<4",
            "no value after `age<`; write one, as in `age<30d`",
            0..4,
        ),
        (
            "usd cap>",
            "no value after `cap>`; write one, as in `cap>1m`",
            4..8,
        ),
        (
            ">1m",
            "`>` needs a column before it, as in `cap>1m`; quote text that contains operators",
            0..1,
        ),
        (
            "name:\"usd",
            "unclosed quote in `\"usd`; add `\"` at the end",
            5..9,
        ),
    ];
    for (text, message, at) in cases {
        assert_eq!(parse(text, COLUMNS), Err(FilterError::new(message, at)));
    }
    for (text, ends) in [
        ("a ".repeat(33), "33 conditions; at most 32 are allowed"),
        ("é".repeat(501), "501 characters; at most 500 are allowed"),
    ] {
        let error = parse(&text, COLUMNS).unwrap_err();
        assert!(error.message.ends_with(ends), "{error}");
    }
    assert!(parse(&"a ".repeat(32), COLUMNS).is_ok() && parse(&"é".repeat(500), COLUMNS).is_ok());
}

#[test]
fn conditions_have_no_plain_words_and_list_the_columns() {
    let cases = [
        (
            "usd",
            "`usd` is not a condition; write column, operator and value, as in `symbol:usd`",
            0..3,
        ),
        (
            "cap>1m \"us d\"",
            "`\"us d\"` is not a condition; write column, operator and value, as in `symbol:\"us d\"`",
            7..13,
        ),
        (
            "cap>1m ages<9d",
            "unknown column `ages`; did you mean `age`? Columns: symbol, name, chain, market_cap, \
             price_change_24h, labels, starred, recommendedAction, counted_at, date, age",
            7..11,
        ),
    ];
    for (text, message, at) in cases {
        assert_eq!(
            conditions(text, COLUMNS),
            Err(FilterError::new(message, at))
        );
    }
    let starred = conditions("starred", COLUMNS).expect("a flag");
    let same = |term: &Term, other: &Term| {
        let of = |term: &Term| match term {
            Term::Compare {
                column,
                operator,
                wanted,
                ..
            } => Some((*column, *operator, wanted.clone())),
            Term::Word { .. } | Term::Either(_) => None,
        };
        of(term) == of(other)
    };
    assert!(same(
        &starred.terms[0],
        &conditions("starred:yes", COLUMNS).expect("a flag").terms[0]
    ));
    let text = "chain:base cap>=1m name:\"usd coin\" age<90d";
    assert_eq!(conditions(text, COLUMNS), parse(text, COLUMNS));
    assert_eq!(
        conditions(text, COLUMNS).map(|filter| filter.terms.len()),
        Ok(4)
    );
}

#[test]
fn a_blank_and_the_word_and_are_the_same() {
    for text in [
        "cap>1m and chain:base",
        "cap>1m AND chain:base",
        "cap>1m && chain:base",
        "(cap>1m) (chain:base)",
        "((cap>1m and(chain:base)))",
    ] {
        assert_eq!(
            parse(text, COLUMNS),
            parse("cap>1m chain:base", COLUMNS),
            "{text}"
        );
        assert_eq!(conditions(text, COLUMNS), parse(text, COLUMNS), "{text}");
    }
    assert_eq!(
        parse("usd and cap>1m", COLUMNS),
        parse("usd cap>1m", COLUMNS)
    );
    // Tokens may have such names.
    for text in [
        "and",
        "NOT",
        "or",
        "salt and pepper",
        "ether (pos)",
        "usd) or (",
        "\"or\" cap>1m",
    ] {
        let found = parse(text, COLUMNS)
            .map(|filter| filter.words().map(str::to_owned).collect::<Vec<_>>());
        let expected = text
            .to_lowercase()
            .replace(['"'], "")
            .replace(" cap>1m", "");
        assert_eq!(found.map(|words| words.join(" ")), Ok(expected), "{text}");
    }
}

#[test]
fn expressions_are_written_in_one_way() {
    for (text, written) in [
        ("cap>1m OR chain:base", "cap>1m or chain:base"),
        (
            "cap > 1m || chain:base || age<9d",
            "cap>1m or chain:base or age<9d",
        ),
        (
            "cap>1m or (chain:base or age<9d)",
            "cap>1m or chain:base or age<9d",
        ),
        (
            "cap>1m or (chain:eth and age>=60d)",
            "cap>1m or (chain:eth age>=60d)",
        ),
        (
            "cap>1m or chain:eth age>=60d",
            "cap>1m or (chain:eth age>=60d)",
        ),
        (
            "(cap>1m or chain:eth) age>=60d",
            "(cap>1m or chain:eth) age>=60d",
        ),
        ("usd (cap>1m or chain:eth)", "cap>1m or chain:eth"),
        (
            "(cap>1m or(chain:eth (age>9d or starred:yes)))",
            "cap>1m or (chain:eth (age>9d or starred:yes))",
        ),
        (
            "name:Ether(PoS) or name:\"(x\"",
            "name:Ether(PoS) or name:\"(x\"",
        ),
        ("(name:(pos) or cap>1m)", "name:(pos) or cap>1m"),
        ("not cap>1m", "cap<=1m"),
        ("NOT chain:base", "chain!=base"),
        ("not name:x cap>1m", "name!:x cap>1m"),
        ("not not name:x", "name:x"),
        ("not(cap>1m or chain:base)", "cap<=1m chain!=base"),
        ("not (cap>1m chain:base)", "cap<=1m or chain!=base"),
        (
            "not (cap>1m (chain:base or age<9d)) starred:yes",
            "(cap<=1m or (chain!=base age>=9d)) starred:yes",
        ),
        (
            "cap>1m or not (age<9d starred:no)",
            "cap>1m or age>=9d or starred!=no",
        ),
        ("chain in (base, eth)", "chain=base or chain=eth"),
        (
            "chain in(base,eth) cap>1e6",
            "(chain=base or chain=eth) cap>1e6",
        ),
        ("chain not in (base, eth)", "chain!=base chain!=eth"),
        ("not chain in (base)", "chain!=base"),
        (
            "name in (\"a b\", or) or cap>1m",
            "name=\"a b\" or name=or or cap>1m",
        ),
        (
            "counted_at in (2026-01, 2026-03)",
            "counted_at=2026-01 or counted_at=2026-03",
        ),
        // As they were before there were brackets.
        ("name:pos) cap>1m", "name:pos) cap>1m"),
        ("cap>1m name:(pos", "cap>1m name:(pos"),
        ("name:or cap>1m", "name:or cap>1m"),
        ("name:or and cap>1m", "name:or cap>1m"),
    ] {
        let filter = parse(text, COLUMNS).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(filter.conditions(), written, "{text}");
        assert_eq!(
            conditions(written, COLUMNS),
            Ok(Filter {
                terms: filter.without_words().terms,
                ..filter
            }),
            "{text}"
        );
    }
    assert_eq!(
        conditions("not starred cap>1m", COLUMNS).map(|filter| filter.conditions()),
        Ok("starred!=yes cap>1m".to_owned())
    );
    assert_eq!(
        conditions("starred or cap>1m", COLUMNS).map(|filter| filter.conditions()),
        Ok("starred or cap>1m".to_owned())
    );
    let long = format!("{}(name:x or cap>1)", "(cap>1 or age<9d)".repeat(26));
    assert!(
        long.len() < 500 && conditions(&long, COLUMNS).is_err(),
        "its written form is longer"
    );
}

#[test]
fn what_joins_nothing_is_refused_at_its_place() {
    let cases = [
        (
            "cap>1m not",
            "`not` needs a condition after it, as in `not cap>1m`",
            7..10,
        ),
        (
            "cap>1m or not or age>9d",
            "`not` needs a condition after it, as in `not cap>1m`",
            10..13,
        ),
        (
            "cap>1m (not)",
            "`not` needs a condition after it, as in `not cap>1m`",
            8..11,
        ),
        ("cap>1 not ()", "empty brackets", 10..12),
        (
            "chain in () cap>1",
            "`in` needs values in brackets, as in `chain in (eth)`",
            9..10,
        ),
        (
            "chain in (eth",
            "`in` needs values in brackets, as in `chain in (eth)`",
            9..10,
        ),
        (
            "cap in (1m, x)",
            "`x` is not a number; write `cap=1000` or `cap=2.5m`",
            12..13,
        ),
        ("cap>1m and", "`and` needs a condition on both sides", 7..10),
        ("&& cap>1m", "`&&` needs a condition on both sides", 0..2),
        (
            "cap>1m (and age>9d)",
            "`and` needs a condition on both sides",
            8..11,
        ),
        (
            "cap>1m and or age>9d",
            "`and` needs a condition on both sides",
            7..10,
        ),
        ("cap>1m or", "`or` needs a condition on both sides", 7..9),
        ("(OR cap>1m)", "`OR` needs a condition on both sides", 1..3),
        (
            "cap>1m or or age>9d",
            "`or` needs a condition on both sides",
            7..9,
        ),
        (
            "cap>1m or age>9d || (starred:yes || )",
            "`||` needs a condition on both sides",
            33..35,
        ),
        ("cap>1m ()", "empty brackets", 7..9),
        ("(cap>1m or age>9d", "unclosed `(`; add `)`", 0..1),
        ("(cap>1m) or age>9d) starred:yes", "`age", 0..0),
        (
            "(cap>1m)) age>9d",
            "unmatched `)`; add `(` before it, or quote the text",
            8..9,
        ),
        (
            "cap>1m or name:pos)",
            "unmatched bracket in `pos)`; quote the text",
            15..19,
        ),
        (
            "cap>1m name:(pos or age>9d",
            "unmatched bracket in `(pos`; quote the text",
            12..16,
        ),
        (
            "cap>(1m or 2m)",
            "`(1m` is not a number; write `cap>1000` or `cap>2.5m`",
            4..7,
        ),
        (
            "(cap> or age>9d)",
            "`or` is not a number; write `cap>1000` or `cap>2.5m`",
            6..8,
        ),
        (
            "(cap>)",
            "no value after `cap>`; write one, as in `cap>1m`",
            1..5,
        ),
    ];
    for (text, message, at) in cases {
        for read in [parse, conditions] {
            let error = read(text, COLUMNS).expect_err(text);
            if at.is_empty() {
                // Where no bracket is open, one in a value is a part of it.
                assert_eq!(text.get(error.at), Some("9d)"), "{text}: {}", error.message);
                continue;
            }
            let more = error
                .message
                .strip_prefix(message)
                .unwrap_or_else(|| panic!("{text}: {error}"));
            assert!(
                more.is_empty() || more.starts_with("; to search for the word, write `\""),
                "{error}"
            );
            assert_eq!(error.at, at, "{text}");
        }
    }
    for (text, message, at) in [
        (
            "usd or cap>1m",
            "`usd` next to `or` needs a column and an operator, as in `symbol:usd`",
            0..3,
        ),
        (
            "cap>1m or (age>9d (\"us d\"))",
            "`\"us d\"` next to `or` needs a column and an operator, as in `symbol:\"us d\"`",
            19..25,
        ),
        (
            "starred or cap>1m",
            "`starred` next to `or` needs a column and an operator, as in `starred:yes`",
            0..7,
        ),
    ] {
        assert_eq!(parse(text, COLUMNS), Err(FilterError::new(message, at)));
    }
    for (text, place) in [
        ("cap>1m or", ""),
        ("cap>1m or age>9d or", " (at character 18)"),
        ("(cap>1m) (é (age>9d", " (at character 13)"),
    ] {
        let error = parse(text, COLUMNS).expect_err(text);
        assert_eq!(
            error.in_text(text),
            format!("{}{place}", error.message),
            "{text}"
        );
    }
    assert!(
        conditions(&vec!["cap>1"; 33].join(" or "), COLUMNS)
            .unwrap_err()
            .message
            .contains("33 conditions")
    );
    assert!(conditions(&vec!["cap>1"; 32].join(" or "), COLUMNS).is_ok());
    assert!(
        conditions(
            &format!("{}cap>1{}", "(".repeat(247), ")".repeat(247)),
            COLUMNS
        )
        .is_ok(),
        "as deep as a text can be"
    );
}

/// For each kind of column: accepted values, and the error for others.
#[test]
fn a_value_must_be_what_the_column_holds() {
    const NUMBER: &str = " is not a number; write `cap~1000` or `cap~2.5m`";
    const TIME: &str =
        " is not a time; write `date~2026-01`, `date~2026-01-31` or `date~2026-01-31T10:30`";
    const TEXT: &str = "`name` is text, which cannot be compared with `~`; write `name:abc` for text that contains abc, or `name=abc` for exactly abc";
    const CHAIN: &str = "`chain` is a chain, which cannot be compared with `~`; write `chain:base` for rows on base";
    const LIST: &str = "`labels` is a list of names, which cannot be compared with `~`; write `labels:abc` for lists that contain abc";
    const LENGTH: &str = " is not a duration; write `age~90d`, `age~12h` or `age~2w`";
    const FLAG: &str = " is not yes or no; write `starred~yes` or `starred~no`";
    const UNORDERED: &str = "`starred` is yes or no, which cannot be compared with `~`; write `starred:yes` or `starred:no`";
    let refused = [
        ("cap", ">", "2026-01", "`2026-01`", NUMBER),
        (
            "cap",
            "<=",
            "2026-01-31T10:30",
            "`2026-01-31T10:30`",
            NUMBER,
        ),
        ("cap", ">", "1x", "`1x`", NUMBER),
        ("cap", "<", "\"\"", "``", NUMBER),
        ("cap", "=", "abc", "`abc`", NUMBER),
        ("cap", ":", "usd", "`usd`", NUMBER),
        ("cap", "!=", "2026-01", "`2026-01`", NUMBER),
        ("date", ">", "5", "`5`", TIME),
        ("date", "<", "1m", "`1m`", TIME),
        ("date", "=", "20260131", "`20260131`", TIME),
        ("date", ">", "2026-13", "`2026-13`", TIME),
        ("date", ":", "monday", "`monday`", TIME),
        ("date", "!=", "5%", "`5%`", TIME),
        ("name", ">", "5", "", TEXT),
        ("name", "<=", "2026-01", "", TEXT),
        ("chain", ">", "eth", "", CHAIN),
        ("chain", ">=", "1", "", CHAIN),
        ("labels", ">", "burn", "", LIST),
        ("age", "<", "90", "`90`", LENGTH),
        ("age", ">", "2m", "`2m`", LENGTH),
        ("age", ">", "2026-01", "`2026-01`", LENGTH),
        ("age", "=", "-3d", "`-3d`", LENGTH),
        ("age", ":", "day", "`day`", LENGTH),
        ("starred", ":", "maybe", "`maybe`", FLAG),
        ("starred", "=", "2026-01", "`2026-01`", FLAG),
        ("starred", ">", "0", "", UNORDERED),
    ];
    for (column, sign, value, is, wants) in refused {
        let text = format!("usd {column}{sign}{value}");
        let expected = FilterError::new(
            format!("{is}{}", wants.replace('~', sign)),
            text.len() - value.len()..text.len(),
        );
        assert_eq!(parse(&text, COLUMNS), Err(expected), "{text}");
    }
    let taken = [
        "cap>-1",
        "cap:1m",
        "cap=2.5k",
        "24h<5%",
        "cap>$1,000",
        "cap>2026",
        "date>2026",
        "date<2026-01",
        "date>=\"2026-01-31 10:30\"",
        "date=2026-01-31T10:30:15Z",
        "date:10:30",
        "name=5",
        "name:2026-01",
        "name!=\"\"",
        "chain:1",
        "chain!=eth",
        "starred:YES",
        "starred=0",
        "labels:burn",
        "age<0.5Y",
    ];
    for text in taken {
        assert!(
            parse(text, COLUMNS).is_ok(),
            "{text}: {:?}",
            parse(text, COLUMNS)
        );
    }
}

proptest! {
    #[test]
    fn any_text_reads_or_is_refused_in_words(text in "[ a-z0-9()\"':=<>!%é漢.]{0,40}|(\\(|\\)| or | and |not | in \\(|starred|cap>1|name:[()a]{1,3}| ){0,30}|\\PC{0,40}|.{0,600}|((cap|age|date|chain)[:=<>!]{1,2}[0-9dmky.%-]{0,9} ){0,40}") {
        for read in [parse, conditions] {
            match read(&text, COLUMNS) {
                Ok(filter) => {
                    filter.matches(|_| Scalar::Missing);
                    // The written form parses to the same filter.
                    let written = filter.conditions();
                    prop_assert!(written.chars().count() <= TEXT_CHARS_MAX);
                    let again = conditions(&written, COLUMNS);
                    prop_assert_eq!(again.map(|again| again.conditions()), Ok(written));
                }
                Err(error) => prop_assert!(text.get(error.at).is_some() && !error.message.is_empty()),
            }
        }
    }
}

/// An expression, for evaluating it without the filter's own code.
#[derive(Debug, Clone)]
enum Tree {
    /// A sign and a number, on the number or the text of a column.
    Leaf(usize, &'static str, u8),
    All(Vec<Tree>),
    Any(Vec<Tree>),
    Not(Box<Tree>),
    /// The number or the text of a column is one of these, or none.
    In(usize, bool, Vec<u8>),
}

const NAMES: [&str; 3] = ["cap", "24h", "name"];

impl Tree {
    /// As text: what must be in brackets is, and `extra` brackets more; `joins` is the connective that stands for AND.
    fn text(&self, inside_all: bool, extra: bool, joins: &str) -> String {
        let text = match self {
            Self::Leaf(column, sign, wanted) => format!("{}{sign}{wanted}", NAMES[*column]),
            Self::All(parts) => parts
                .iter()
                .map(|part| part.text(true, extra, joins))
                .collect::<Vec<_>>()
                .join(joins),
            Self::Any(parts) => parts
                .iter()
                .map(|part| part.text(false, extra, joins))
                .collect::<Vec<_>>()
                .join(" or "),
            Self::Not(part) => format!("not ({})", part.text(false, extra, joins)),
            Self::In(column, not, wanted) => {
                let wanted: Vec<String> = wanted.iter().map(u8::to_string).collect();
                format!(
                    "{} {}in ({})",
                    NAMES[*column],
                    if *not { "not " } else { "" },
                    wanted.join(", ")
                )
            }
        };
        if extra || (inside_all && matches!(self, Self::Any(_))) {
            format!("({text})")
        } else {
            text
        }
    }

    /// Kleene's logic, as in SQL.
    fn truth(&self, row: [Option<u8>; 3]) -> Option<bool> {
        match self {
            Self::Leaf(column, sign, wanted) => row[*column].map(|value| match *sign {
                ">" => value > *wanted,
                "<=" => value <= *wanted,
                "!=" => value != *wanted,
                _ => value == *wanted,
            }),
            Self::All(parts) => decided(parts.iter().map(|part| part.truth(row)), false),
            Self::Any(parts) => decided(parts.iter().map(|part| part.truth(row)), true),
            Self::Not(part) => part.truth(row).map(|truth| !truth),
            Self::In(column, not, wanted) => {
                row[*column].map(|value| wanted.contains(&value) != *not)
            }
        }
    }
}

/// The deciding value if a part has it; otherwise unknown if a part is unknown, or the opposite value.
fn decided(parts: impl Iterator<Item = Option<bool>>, by: bool) -> Option<bool> {
    let parts: Vec<Option<bool>> = parts.collect();
    if parts.contains(&Some(by)) {
        Some(by)
    } else {
        (!parts.contains(&None)).then_some(!by)
    }
}

fn tree() -> impl Strategy<Value = Tree> {
    let figure = (
        0..2_usize,
        prop::sample::select(vec![">", "<=", "!=", "="]),
        0..4_u8,
    );
    let name = (2..3_usize, prop::sample::select(vec!["!=", "="]), 0..4_u8);
    let leaf = prop_oneof![figure, name]
        .prop_map(|(column, sign, wanted)| Tree::Leaf(column, sign, wanted));
    let list = (
        0..3_usize,
        any::<bool>(),
        prop::collection::vec(0..4_u8, 1..4),
    );
    let leaf = prop_oneof![3 => leaf, 1 => list.prop_map(|(column, not, wanted)| Tree::In(column, not, wanted))];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let parts = || prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            parts().prop_map(Tree::All),
            parts().prop_map(Tree::Any),
            inner.clone().prop_map(|part| Tree::Not(Box::new(part)))
        ]
    })
}

/// A row of market cap, change and name.
type Row = [Option<u8>; 3];

fn field(row: Row, column: &str) -> Scalar<'static> {
    match column {
        "market_cap" => row[0].map(f64::from).into(),
        "price_change_24h" => row[1].map(f64::from).into(),
        _ => row[2].map(|value| value.to_string()).into(),
    }
}

/// A block of one row, of whose numbers the smallest and the largest are known.
struct Zoned(Row);

impl Columns for Zoned {
    fn values(&self, column: &'static str, _: Range<usize>) -> Values<'_> {
        Values::Each(Box::new(move |_| Some(field(self.0, column))))
    }

    fn zone(&self, column: &str, _: Range<usize>) -> Option<(Extent, Kind)> {
        let extent = match (column, field(self.0, column)) {
            ("name", _) => return None,
            (_, Scalar::Float(value)) => Extent::Float(value, value),
            _ => Extent::Empty,
        };
        Some((extent, Kind::Float))
    }
}

proptest! {
    #[test]
    fn an_expression_holds_where_a_plain_evaluation_says_so(
        tree in tree(),
        extra: bool,
        joins in prop::sample::select(vec![" ", " and ", " && "]),
        rows in prop::collection::vec([prop::option::of(0..4_u8), prop::option::of(0..4_u8), prop::option::of(0..4_u8)], 1..12),
    ) {
        let text = tree.text(false, extra, joins);
        prop_assume!(text.len() <= TEXT_CHARS_MAX);
        let filter = match conditions(&text, COLUMNS) {
            Err(error) if error.message.contains("at most") => return Ok(()),
            Err(error) => return Err(TestCaseError::fail(error.message)),
            Ok(filter) => filter,
        };
        prop_assert_eq!(parse(&text, COLUMNS), Ok(filter.clone()));
        prop_assert_eq!(conditions(&filter.conditions(), COLUMNS), Ok(filter.clone()));
        let [caps, names] = [filter.split(|column| column == "market_cap"), filter.split(|column| column == "name")];
        let of = |lacks: bool| {
            let value = |row: usize, column: &str| Some(field(rows[row], column)).filter(|value| lacks || !value.is_missing());
            filter.kept(&ListColumns::new(value), rows.len())
        };
        let (kept, left_out) = of(true);
        let mut unknown = 0;
        for (place, row) in rows.iter().enumerate() {
            let field = |column: &str| field(*row, column);
            let truth = tree.truth(*row);
            unknown += u64::from(truth.is_none());
            prop_assert_eq!(filter.matches_or_unknown(field, |_| false), truth, "{}", text);
            prop_assert_eq!(filter.matches(field), truth == Some(true));
            prop_assert_eq!(kept[place], truth == Some(true));
            // Its parts together say the same.
            for (first, second) in [&caps, &names] {
                prop_assert_eq!(first.matches(field) && second.matches(field), truth == Some(true), "{}", text);
            }
            prop_assert_eq!(filter.kept(&Zoned(*row), 1).0, [truth == Some(true)], "{}", text);
        }
        prop_assert_eq!(left_out.rows(), unknown, "{}", text);
        // Where nothing is missing from the data, a missing value is a condition that does not hold.
        prop_assert_eq!(of(false), (kept, ExcludedRows::of(&filter)));
        // Of the rows that a missing value leaves out, each has one at least that is counted.
        let counted: u64 = left_out.columns().map(|(_, rows)| rows).sum();
        prop_assert!(counted >= left_out.rows() && left_out.columns().all(|(_, rows)| rows <= left_out.rows()));
    }
}
