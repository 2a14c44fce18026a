//! Response formats and how a request selects one: `format=`, then the `Accept` header, then JSON.

use std::marker::PhantomData;

use hyper::{HeaderMap, header::ACCEPT};

use frames::export::writers::ExportFormat;
use model::error::Result;
use query::queries::{
    Query,
    parameter::{Arguments, Parameter, ParameterKind, parameter},
};

/// A response format.
#[derive(Debug)]
pub(super) struct AnswerFormat {
    pub(super) word: &'static str,
    /// Media type, followed by its aliases in `Accept`.
    pub(super) media: &'static [&'static str],
    /// Export format of the rows; `None` if the answer is more than rows.
    pub(super) form: Option<ExportFormat>,
    /// Whether it is text, which compresses well.
    pub(super) text: bool,
}

/// THE table of row formats, in order of preference, which decides between formats that the client weighs equally.
pub(super) const ROW_FORMATS: &[AnswerFormat] = &[
    AnswerFormat {
        word: "json",
        media: &["application/json"],
        form: None,
        text: true,
    },
    AnswerFormat {
        word: "ndjson",
        media: &[
            "application/x-ndjson",
            "application/ndjson",
            "application/jsonl",
        ],
        form: Some(ExportFormat::Ndjson),
        text: true,
    },
    AnswerFormat {
        word: "csv",
        media: &["text/csv"],
        form: Some(ExportFormat::Csv),
        text: true,
    },
    AnswerFormat {
        word: "arrow",
        media: &["application/vnd.apache.arrow.stream"],
        form: Some(ExportFormat::Arrow),
        text: false,
    },
    AnswerFormat {
        word: "parquet",
        media: &["application/vnd.apache.parquet"],
        form: Some(ExportFormat::Parquet),
        text: false,
    },
];

const WORDS: &[&str] = &["json", "ndjson", "csv", "arrow", "parquet"];

/// THE table of report formats: JSON, or a document to read.
pub(super) const REPORT_FORMATS: &[AnswerFormat] = &[
    AnswerFormat {
        word: "json",
        media: &["application/json"],
        form: None,
        text: true,
    },
    AnswerFormat {
        word: "md",
        media: &["text/markdown"],
        form: None,
        text: true,
    },
    AnswerFormat {
        word: "html",
        media: &["text/html"],
        form: None,
        text: true,
    },
];

pub(super) const REPORT_FORMAT: Parameter = parameter(
    "format",
    ParameterKind::Word {
        words: &["json", "md", "html"],
        default: None,
    },
    "json, or the report as a document: html is one file without scripts or external requests. Default: the `Accept` header, then json.",
);

pub(super) const FORMAT: Parameter = parameter(
    "format",
    ParameterKind::Word {
        words: WORDS,
        default: None,
    },
    "Row format. Default: the `Accept` header, then json. Without `limit` and `page`, formats other than json stream all rows.",
);

/// Maximum number of a list's parameters, including `format`.
const LIST_PARAMETERS_MAX: usize = 24;

/// The parameters of a list query, followed by `format`.
pub(super) struct WithFormat<Q>(PhantomData<Q>);

impl<Q: Query> WithFormat<Q> {
    const ALL: &'static [Parameter; LIST_PARAMETERS_MAX] = &{
        let mut all = [FORMAT; LIST_PARAMETERS_MAX];
        let mut nth = 0;
        while nth < Q::PARAMETERS.len() {
            all[nth] = Q::PARAMETERS[nth];
            nth += 1;
        }
        all
    };
    pub(super) const PARAMETERS: &'static [Parameter] =
        Self::ALL.split_at(Q::PARAMETERS.len() + 1).0;
}

impl AnswerFormat {
    pub(super) fn negotiated(
        arguments: &Arguments<'_>,
        headers: Option<&HeaderMap>,
    ) -> Result<&'static Self> {
        Self::negotiated_among(ROW_FORMATS, arguments, headers)
    }

    /// Like `negotiated`, among the formats of another table.
    pub(super) fn negotiated_among(
        table: &'static [Self],
        arguments: &Arguments<'_>,
        headers: Option<&HeaderMap>,
    ) -> Result<&'static Self> {
        Ok(match arguments.word(FORMAT.name)? {
            Some(word) => table
                .iter()
                .find(|row| row.word == word)
                .unwrap_or(&table[0]),
            None => headers
                .and_then(|headers| accepted(table, headers))
                .unwrap_or(&table[0]),
        })
    }
}

/// Returns the format the client weighs highest, by most specific range among equals; `None` if it accepts none.
fn accepted(table: &'static [AnswerFormat], headers: &HeaderMap) -> Option<&'static AnswerFormat> {
    let ranges: Vec<(&str, u16)> = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|list| list.split(','))
        .map(weighed)
        .collect();
    let preference = |row: &AnswerFormat| {
        let matching = ranges
            .iter()
            .filter_map(|(range, weight)| Some((specificity(range, row.media)?, *weight)));
        matching
            .max_by_key(|(specificity, _)| *specificity)
            .map(|(specificity, weight)| (weight, specificity))
    };
    let acceptable = table
        .iter()
        .filter_map(|row| Some((preference(row).filter(|(weight, _)| *weight > 0)?, row)));
    // `max_by_key` returns the last of equal maxima.
    acceptable
        .rev()
        .max_by_key(|(preference, _)| *preference)
        .map(|(_, row)| row)
}

/// Specificity of a media range for these types; `None` if it does not match.
fn specificity(range: &str, media: &[&str]) -> Option<u8> {
    let kind = range.strip_suffix("/*");
    if range == "*/*" {
        Some(0)
    } else if media.iter().any(|known| known.eq_ignore_ascii_case(range)) {
        Some(2)
    } else if kind.is_some_and(|kind| {
        media[0]
            .split('/')
            .next()
            .is_some_and(|known| known.eq_ignore_ascii_case(kind))
    }) {
        Some(1)
    } else {
        None
    }
}

/// Splits `text/csv;q=0.5` into name and weight in thousandths; an unreadable weight counts as 1.
pub(super) fn weighed(item: &str) -> (&str, u16) {
    let mut parts = item.split(';');
    let name = parts.next().unwrap_or_default().trim();
    let weight = parts
        .filter_map(|part| part.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
    let weight = weight
        .and_then(|(_, weight)| weight.trim().parse::<f64>().ok())
        .filter(|weight| (0.0..=1.0).contains(weight));
    (name, (weight.unwrap_or(1.0) * 1_000.0).round() as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_parameter_and_of_the_exports_are_those_of_the_table() {
        assert!(
            ROW_FORMATS
                .iter()
                .map(|row| row.word)
                .eq(WORDS.iter().copied())
        );
        assert!(REPORT_FORMATS[1..].iter().all(|row| {
            query::document::DocumentForm::ALL
                .iter()
                .any(|form| form.word() == row.word)
        }));
        assert!(
            ROW_FORMATS
                .iter()
                .all(|row| row.form.is_none_or(|form| form.ending() == row.word))
        );
    }

    #[test]
    fn the_query_decides_before_the_accept_header() {
        let table: &'static [Parameter] = &[FORMAT];
        for (query, accept, format) in [
            ("", "", "json"),
            ("", "*/*", "json"),
            ("", "text/csv", "csv"),
            ("", "TEXT/CSV; charset=utf-8", "csv"),
            ("", "text/*", "csv"),
            ("", "application/x-ndjson", "ndjson"),
            ("", "application/jsonl, application/json;q=0.9", "ndjson"),
            ("", "application/vnd.apache.arrow.stream", "arrow"),
            (
                "",
                "application/vnd.apache.parquet;q=0.1, */*;q=0.05",
                "parquet",
            ),
            ("", "text/csv, */*", "csv"),
            ("", "text/csv;q=0.5, application/json", "json"),
            ("", "text/csv;q=0", "json"),
            ("", "text/csv;q=0, */*", "json"),
            ("", "application/*", "json"),
            (
                "",
                "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
                "json",
            ),
            ("", "application/xml", "json"),
            ("format=json", "text/csv", "json"),
            ("format=arrow", "text/csv", "arrow"),
        ] {
            let mut headers = HeaderMap::new();
            if !accept.is_empty() {
                headers.insert(ACCEPT, accept.parse().expect("a header value"));
            }
            let arguments = Arguments::new(table, &[], query).expect("a query");
            assert_eq!(
                AnswerFormat::negotiated(&arguments, Some(&headers)).map(|row| row.word),
                Ok(format),
                "{query} {accept}"
            );
        }
        let arguments = Arguments::new(table, &[], "format=xml").expect("a query");
        assert!(AnswerFormat::negotiated(&arguments, None).is_err());
    }
}
