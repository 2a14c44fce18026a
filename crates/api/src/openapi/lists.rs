//! Regular expressions of text parameters in the OpenAPI document: times, and lists (possibly empty) of addresses, conditions, columns and
//! indicators. For documentation only, not parsing; a test checks that matching text is accepted.

use serde_json::{Value, json};

use analysis::indicators::{INDICATORS_MAX, KINDS, PERIOD_MAX};
use model::chain::CHAINS;
use query::queries::{
    order::SORTS_MAX,
    parameter::{EXAMPLE_TOKEN, NAME_CHARS_MAX},
};
use table::filter::{ColumnKind, ColumnValues, FilterColumn, TEXT_CHARS_MAX};

/// A token beside the one of the examples, where two are asked for.
const ANOTHER_TOKEN: &str = "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2";

/// Pattern of a list of `min` to `max` addresses.
pub(super) fn addresses(min: usize, max: usize) -> Value {
    // Blanks alone name nothing. Not every regex engine counts U+0085 as one, as the parser does.
    let address = format!("[^,\\s\\u0085][^,]{{0,{}}}", NAME_CHARS_MAX - 1);
    let (fewest, most) = (min.saturating_sub(1), max.saturating_sub(1));
    let example = [EXAMPLE_TOKEN, ANOTHER_TOKEN][..min.clamp(1, 2)].join(",");
    json!({ "type": "string", "pattern": format!("^{address}(,{address}){{{fewest},{most}}}$"), "examples": [example] })
}

/// Pattern of an RFC 3339 time, a day or a Unix time in seconds, from year 1 to 9999.
pub(super) fn time() -> Value {
    let seconds = r"[0-9]{1,11}|1[0-9]{11}|2[0-4][0-9]{10}|-[0-9]{1,10}|-[1-5][0-9]{10}";
    let pattern = format!("^({}({CLOCK})?|{seconds})?$", day());
    json!({ "type": "string", "pattern": pattern, "examples": ["2026-08-14T00:00:00Z", "2026-08-14"] })
}

const CLOCK: &str = r"[Tt ]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])";
const YEAR: &str = r"([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)";

/// Pattern of a Gregorian calendar day.
fn day() -> String {
    let long = r"(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])";
    let short = r"(0[469]|11)-(0[1-9]|[12][0-9]|30)";
    let february = r"02-(0[1-9]|1[0-9]|2[0-8])";
    let fourth = "(0[48]|[2468][048]|[13579][26])";
    format!(r"({YEAR}-({long}|{short}|{february})|([0-9][0-9]{fourth}|{fourth}00)-02-29)")
}

/// Pattern of a past day, or of an RFC 3339 time.
pub(super) fn as_of() -> Value {
    let pattern = format!("^{}({CLOCK})?$", day());
    json!({ "type": "string", "pattern": pattern, "examples": ["2026-08-14", "2026-08-14T09:30:00Z"] })
}

/// Pattern of a comma-separated list of these words.
pub(super) fn words(words: &[&str]) -> Value {
    let word = words.join("|");
    json!({ "type": "string", "pattern": format!("^(({word})(,({word}))*)?$"), "examples": [words[..words.len().min(2)].join(",")] })
}

/// Pattern of a filter over these columns.
pub(super) fn conditions(columns: &[FilterColumn]) -> Value {
    json!({ "type": "string", "maxLength": TEXT_CHARS_MAX, "pattern": pattern(columns), "examples": [example(columns)] })
}

/// Pattern of a sort order by these columns.
pub(super) fn sort(columns: &[FilterColumn], default: Option<&'static str>) -> Value {
    let names: Vec<&str> = columns.iter().flat_map(names).collect();
    let column = format!("[+-]?({})", names.join("|"));
    let pattern = format!("^({column}(,{column}){{0,{}}})?$", SORTS_MAX - 1);
    let mut schema =
        json!({ "type": "string", "pattern": pattern, "examples": [format!("-{}", names[0])] });
    if let Some(default) = default {
        schema["default"] = default.into();
    }
    schema
}

/// Pattern of a list of indicators, each a word with its numbers. No regular expression can require the fast period to be under the slow
/// one.
pub(super) fn indicators(default: &'static str) -> Value {
    let period = "([2-9]|[1-9][0-9]|[1-4][0-9]{2}|500)";
    const {
        assert!(
            PERIOD_MAX == 500,
            "the pattern of a period contains the longest period"
        );
    };
    let width = r"(0\.[1-9][0-9]{0,2}|[1-9](\.[0-9]{1,3})?|10)";
    let spelled = |word: &str, usual: &str| match word {
        "bollinger" => format!("{word}_{period}_{width}"),
        _ => format!("{word}(_{period}){{{}}}", usual.matches('_').count()),
    };
    let names: Vec<String> = KINDS
        .iter()
        .map(|kind| spelled(kind.word, kind.usual))
        .collect();
    let name = format!("({})", names.join("|"));
    json!({ "type": "string", "pattern": format!("^({name}(,{name}){{0,{}}})?$", INDICATORS_MAX - 1), "default": default })
}

/// Pattern of filter conditions: each column with the comparisons and values of its kind, `in` with a list of values, `not` and brackets
/// around them, and `and` or `or` between them. No regular expression can require that every bracket is closed, or that a part of a word is
/// one of a value's.
fn pattern(columns: &[FilterColumn]) -> String {
    const ANY: &str = "!?:|!?=|>=|<=|>|<";
    const SAME: &str = "!?:|!?=";
    // A word without spaces, or a quoted string.
    const WORD: &str = "[^\\s\\u0085\":=<>!(),][^\\s\\u0085\"(),]*|\"[^\"]*\"";
    const PART: &str = "[A-Za-z0-9_-]+";
    const NUMBER: &str = "\\$?[+-]?(([0-9]{1,3}([,_][0-9]{3}){1,4}|[0-9]{1,15})(\\.[0-9]{1,9})?|\\.[0-9]{1,9})([kKmMbBtT]|[eE][+-]?[0-9]{1,2})?";
    // Between the values of `in`, a comma ends one.
    const IN_LIST: &str = "-?[0-9]{1,15}(\\.[0-9]{1,9})?([kmbt]|e[+-]?[0-9]{1,2})?";
    let clock = "[T ]([01][0-9]|2[0-3])(:[0-5][0-9]){0,2}";
    let time = format!("{YEAR}(-(0[1-9]|1[0-2]))?|{}", day());
    let of = |takes: &dyn Fn(&FilterColumn) -> bool, rest: &str| {
        let named = columns
            .iter()
            .filter(|column| takes(column) && matches!(column.values, ColumnValues::Open));
        let names: Vec<&str> = named.flat_map(names).collect();
        (!names.is_empty()).then(|| format!("({}){rest}", names.join("|")))
    };
    let of_kind = |kinds: &[ColumnKind], signs: &str, value: &str, listed: &str| {
        let rest = format!("( *({signs}) *({value}){})", choice(listed));
        of(&|column| kinds.contains(&column.kind), &rest)
    };
    let kinds = [
        of_kind(&[ColumnKind::Number], ANY, NUMBER, IN_LIST),
        of(
            &|column| column.kind == ColumnKind::Number && column.takes_percentages(),
            &format!(" *({ANY}) *{NUMBER}%"),
        ),
        of_kind(
            &[ColumnKind::Text, ColumnKind::List, ColumnKind::Chain],
            SAME,
            WORD,
            WORD,
        ),
        of_kind(&[ColumnKind::Flag], SAME, "yes|no|true|false|1|0", "yes|no"),
        of(&|column| column.kind == ColumnKind::Flag, ""),
        of_kind(
            &[ColumnKind::Time],
            "!?=|>=|<=|>|<",
            &format!(
                "{time}|\"{}{clock}\"|{}T([01][0-9]|2[0-3])(:[0-5][0-9]){{0,2}}",
                day(),
                day()
            ),
            &time,
        ),
        of_kind(
            &[ColumnKind::Duration],
            ANY,
            "[0-9]{1,5}(\\.[0-9]{1,3})?(s|sec|min|h|hours?|d|days?|w|weeks?|mo|months?|y|years?)",
            "[0-9]{1,5}(min|h|d|w|mo|y)",
        ),
    ];
    let closed = columns.iter().filter_map(|column| {
        let rest = match &column.values {
            ColumnValues::Open => return None,
            ColumnValues::Words(words) => {
                let words = words().join("|");
                format!("( *!?: *({PART})| *!?= *({words}){})", choice(&words))
            }
            ColumnValues::Chains(_) => {
                let spelled = CHAINS
                    .iter()
                    .flat_map(|chain| std::iter::once(&chain.short_name).chain(chain.aliases));
                let chains = spelled.copied().collect::<Vec<_>>().join("|");
                format!("( *({SAME}) *({chains}){})", choice(&chains))
            }
            ColumnValues::Addresses(_) => format!("( *({SAME}) *({WORD}){})", choice(WORD)),
        };
        Some(format!(
            "({}){rest}",
            names(column).collect::<Vec<_>>().join("|")
        ))
    });
    let condition = kinds
        .into_iter()
        .flatten()
        .chain(closed)
        .collect::<Vec<_>>()
        .join("|");
    let term = format!("(((not|NOT) +|\\( *)*({condition})( *\\))*)");
    format!("^ *({term}( +((and|or|AND|OR|&&|\\|\\|) +)?{term}){{0,31}})? *$")
}

/// Name and aliases of a column.
fn names(column: &FilterColumn) -> impl Iterator<Item = &'static str> {
    std::iter::once(column.name).chain(column.aliases.iter().copied())
}

/// What may stand for sign and value: a list of values, of which one must hold.
fn choice(value: &str) -> String {
    format!("| +((not|NOT) +)?(in|IN) +\\( *({value})( *, *({value})){{0,7}} *\\)")
}

fn example(columns: &[FilterColumn]) -> String {
    let of_kind = |kind: ColumnKind, rest: &str| {
        columns
            .iter()
            .find(|column| column.kind == kind)
            .map(|column| format!("{}{rest}", column.name))
    };
    let examples = [
        of_kind(ColumnKind::Chain, ":base"),
        of_kind(ColumnKind::Number, ">1m"),
        of_kind(ColumnKind::Time, ">=2026-08"),
    ];
    examples.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::{
        string::string_regex,
        test_runner::{Config, TestRunner},
    };

    use super::super::described;
    use crate::routes::ENDPOINTS;
    use model::error::Code;
    use query::queries::parameter::{Arguments, ParameterKind, clip, encode};

    /// What a filter may be refused for although it fits the pattern.
    const BEYOND: &[&str] = &[
        "unmatched",
        "bracket",
        "is not a value of",
        "`not` needs",
        "has no `)`",
        "at most 32 are allowed",
        "at most 500 are allowed",
    ];

    #[test]
    fn the_pattern_of_conditions_takes_what_the_parser_takes() {
        let endpoint = ENDPOINTS
            .iter()
            .find(|endpoint| endpoint.path == "/tokens")
            .expect("the list of tokens");
        let pattern = |name: &str| {
            let parameter = endpoint.parameters.iter().find(|known| known.name == name);
            let schema = described(parameter.expect(name))["schema"].clone();
            let pattern = schema["pattern"].as_str().expect("a pattern").to_owned();
            // The repetition of all conditions is large when it is compiled.
            let mut builder = regex::RegexBuilder::new(&pattern);
            builder
                .size_limit(1 << 30)
                .build()
                .expect("a regular expression")
        };
        let (conditions, sort) = (pattern("where"), pattern("sort"));
        for (text, is_legal) in [
            ("price>20", true),
            ("price>20 or price<3", true),
            ("(price>20 or price<3) chain:base", true),
            ("not (price>20 and cap>1m)", true),
            ("chain in (base, eth) price>1", true),
            ("chain not in (base)", true),
            ("cap>1,000", true),
            ("cap>1,000,000.5", true),
            ("cap>1e6", true),
            ("cap>1_000", true),
            ("price>=.5", true),
            ("NOT price>1 AND cap>2", true),
            ("cap>10M", true),
            ("cap>$10M", true),
            ("chain:ethereum", true),
            ("trend:up", true),
            ("change>5%", true),
            ("age<90d", true),
            ("age<3months", true),
            ("symbol!:usd", true),
            ("starred", false),
            ("price>", false),
            ("price>abc", false),
            ("price 20", false),
            ("nonsense>20", false),
            ("chain:qqq", false),
            ("trend=up", false),
            ("age<90", false),
            ("price>20 or", false),
        ] {
            let query = format!("where={}", encode(text));
            let given = Arguments::new(endpoint.parameters, &[], &query).expect("a query");
            let taken = given.conditions("where").map(drop);
            assert_eq!(
                (taken.is_ok(), conditions.is_match(text)),
                (is_legal, is_legal),
                "{text}: {taken:?}"
            );
        }
        for (text, is_legal) in [("-score", true), ("price,-cap", true), ("moon", false)] {
            let query = format!("sort={}", encode(text));
            let given = Arguments::new(endpoint.parameters, &[], &query).expect("a query");
            assert_eq!(
                (given.orders("sort").is_ok(), sort.is_match(text)),
                (is_legal, is_legal),
                "{text}"
            );
        }
    }

    #[test]
    fn a_parameter_accepts_its_own_examples() {
        let mut checked = 0;
        for endpoint in ENDPOINTS {
            for parameter in endpoint
                .parameters
                .iter()
                .filter(|parameter| !parameter.kind.in_path())
            {
                let schema = described(parameter)["schema"].clone();
                for example in schema["examples"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .chain(schema.get("default"))
                    .filter_map(|value| value.as_str())
                {
                    let query = format!("{}={}", parameter.name, encode(example));
                    let given = Arguments::new(endpoint.parameters, &[], &query).expect("a query");
                    let taken = match parameter.kind {
                        ParameterKind::Time => given.time(parameter.name).map(drop),
                        ParameterKind::Words(_) => given.words(parameter.name).map(drop),
                        ParameterKind::Addresses { min, .. } => given
                            .addresses(parameter.name)
                            .map(|addresses| assert!(addresses.len() >= min, "{query}")),
                        ParameterKind::Where(_) => given.conditions(parameter.name).map(drop),
                        ParameterKind::Sort { .. } => given.orders(parameter.name).map(drop),
                        ParameterKind::Indicators { .. } => {
                            given.indicators(parameter.name).map(drop)
                        }
                        ParameterKind::Word { .. } => given.word(parameter.name).map(drop),
                        ParameterKind::Chain => given
                            .chain(parameter.name)
                            .map(|chain| assert!(chain.is_some(), "{query}")),
                        other => panic!("{other:?} has an example that nothing reads"),
                    };
                    assert_eq!(
                        taken.map_err(|problem| problem.detail),
                        Ok(()),
                        "{} {query}",
                        endpoint.path
                    );
                    checked += 1;
                }
            }
        }
        assert!(checked > 20, "{checked} examples");
    }

    #[test]
    fn a_parameter_accepts_whatever_whatever_its_pattern_allows() {
        let mut checked = 0;
        for endpoint in ENDPOINTS {
            for parameter in endpoint.parameters {
                let schema = &described(parameter)["schema"];
                let (Some(pattern), false) = (schema["pattern"].as_str(), parameter.kind.in_path())
                else {
                    continue;
                };
                let within = pattern.trim_start_matches('^').trim_end_matches('$');
                let texts = string_regex(within).expect(pattern);
                let taken = |text: String| {
                    if schema["maxLength"]
                        .as_u64()
                        .is_some_and(|chars| text.chars().count() as u64 > chars)
                    {
                        return Ok(());
                    }
                    let query = format!("{}={}", parameter.name, encode(&text));
                    let given = Arguments::new(endpoint.parameters, &[], &query).expect("a query");
                    let taken = match parameter.kind {
                        ParameterKind::Time => given.time(parameter.name).map(drop),
                        ParameterKind::Words(_) => given.words(parameter.name).map(drop),
                        ParameterKind::Addresses { .. } => {
                            given.addresses(parameter.name).map(drop)
                        }
                        ParameterKind::Where(_) => given.conditions(parameter.name).map(drop),
                        ParameterKind::Sort { .. } => given.orders(parameter.name).map(drop),
                        ParameterKind::Indicators { .. } => {
                            given.indicators(parameter.name).map(drop)
                        }
                        other => panic!("{other:?} has a pattern that nothing reads"),
                    };
                    match taken {
                        Err(problem)
                            if problem
                                .detail
                                .contains("expected a fast period below the slow one") => {}
                        // Beyond a regular expression: see `pattern`.
                        Err(problem)
                            if parameter.name == "where"
                                && BEYOND.iter().any(|says| problem.detail.contains(says)) => {}
                        // Whether a token has the symbol is told by the data.
                        Err(problem) if problem.code == Code::InvalidAddress => {}
                        Err(problem)
                            if ["is neither an address nor", "is not an address"]
                                .iter()
                                .any(|says| problem.detail.contains(says)) => {}
                        taken => assert_eq!(
                            taken.map_err(|problem| problem.detail),
                            Ok(()),
                            "{} {}",
                            endpoint.path,
                            parameter.name
                        ),
                    }
                    Ok(())
                };
                let config = Config {
                    cases: 48,
                    max_shrink_iters: 0,
                    failure_persistence: None,
                    ..Config::default()
                };
                if let Err(error) = TestRunner::new(config).run(&texts, taken) {
                    panic!(
                        "{} {}: {}",
                        endpoint.path,
                        parameter.name,
                        clip(&error.to_string())
                    );
                }
                checked += 1;
            }
        }
        assert!(checked > 20, "{checked} patterns");
    }
}
