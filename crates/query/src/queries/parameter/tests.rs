//! Accepted and refused values of each parameter kind.

use super::*;

const TABLE: &[Parameter] = &[
    parameter(
        "page",
        ParameterKind::Integer {
            min: 1,
            max: 100,
            default: 1,
        },
        "",
    ),
    parameter(
        "timeframe",
        ParameterKind::Word {
            words: &["1h", "1d"],
            default: Some("1d"),
        },
        "",
    ),
];

#[test]
fn integers_are_plain_digits_in_range_given_once() {
    let page =
        |query| Arguments::new(TABLE, &[], query).and_then(|arguments| arguments.integer("page"));
    for (query, value) in [
        ("", 1),
        ("page=7", 7),
        ("other=x", 1),
        ("page=007", 7),
        ("&&page=2&", 2),
    ] {
        assert_eq!(page(query), Ok(value), "{query}");
    }
    for query in [
        "page=",
        "page=0",
        "page=101",
        "page=-1",
        "page=%2B1",
        "page=1e1",
        "page=1.0",
        "page=%00",
        "page=2&page=2",
        "page",
    ] {
        assert_eq!(
            page(query).map_err(|p| p.code),
            Err(Code::InvalidParameter),
            "{query}"
        );
    }
    assert_eq!(
        page("page=%zz").map_err(|p| p.code),
        Err(Code::InvalidRequest)
    );
}

#[test]
fn a_time_that_an_answer_is_as_of_means_the_same_once_written() {
    for (text, written) in [
        ("2026-08-14", "2026-08-14T23:59:59Z"),
        ("2026-08-14T09:30:00Z", "2026-08-14T09:30:00Z"),
        ("2026-08-14T09:30:00.75+02:00", "2026-08-14T07:30:00Z"),
    ] {
        let time = as_of(text).expect("a time");
        assert_eq!(
            (time.to_string().as_str(), as_of(written)),
            (written, Ok(time)),
            "{text}"
        );
    }
    for wrong in ["", "yesterday", "2026-13-01", "1767225600"] {
        assert!(as_of(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn unknown_names_are_passed_over_unless_strict() {
    let new = |query| {
        Arguments::new(TABLE, &[], query)
            .map(drop)
            .map_err(|problem| problem.code)
    };
    for query in [
        "pages=2",
        "strict=false&pages=2",
        "strict=true&page=2",
        "strict=true",
        "",
    ] {
        assert_eq!(new(query), Ok(()), "{query}");
    }
    for query in [
        "strict=true&pages=2",
        "pages=2&strict=true",
        "strict=yes",
        "strict=true&strict=true",
    ] {
        assert_eq!(new(query), Err(Code::InvalidParameter), "{query}");
    }
    let detail = Arguments::new(TABLE, &[], "strict=true&pages=2")
        .map(drop)
        .expect_err("unknown")
        .detail;
    assert!(
        detail.contains("`pages`") && detail.contains("page, timeframe"),
        "{detail}"
    );
}

#[test]
fn words_are_matched_to_the_letter() {
    let frame =
        |query| Arguments::new(TABLE, &[], query).and_then(|arguments| arguments.word("timeframe"));
    assert_eq!(frame("").ok().flatten(), Some("1d"));
    assert_eq!(frame("timeframe=1h").ok().flatten(), Some("1h"));
    assert!(frame("timeframe=1D").is_err_and(|p| p.detail.contains("1h, 1d")));
}

#[test]
fn a_time_is_read_to_the_second_and_written_so_that_it_reads_the_same() {
    let time = |text: &str| {
        Arguments::new(TABLE, &[], &format!("from={}", encode(text)))
            .and_then(|arguments| arguments.time("from"))
    };
    for (text, written) in [
        ("2026-08-14T00:00:00Z", "2026-08-14T00:00:00Z"),
        ("2026-08-14T02:00:00.999+02:00", "2026-08-14T00:00:00Z"),
        ("2026-08-14", "2026-08-14T00:00:00Z"),
        ("0", "1970-01-01T00:00:00Z"),
        ("-1", "1969-12-31T23:59:59Z"),
        ("253402300799", "9999-12-31T23:59:59Z"),
    ] {
        let read = time(text).ok().flatten().expect(text);
        assert_eq!(read.to_string(), written, "{text}");
        assert_eq!(time(written), Ok(Some(read)), "{text}");
    }
    // Milliseconds mistaken for seconds are out of range.
    for text in [
        "1786665600000",
        "253402300800",
        "9223372036854775807",
        "-9223372036854775808",
        "+262142-12-31",
        "yesterday",
    ] {
        assert_eq!(
            time(text).map_err(|p| p.code),
            Err(Code::InvalidParameter),
            "{text}"
        );
    }
}

#[test]
fn decoding_undoes_encoding() {
    for text in ["", "a b", "€/ü?&=%", "plain"] {
        assert_eq!(decode(&encode(text)).as_deref(), Some(text));
    }
    assert_eq!(decode("%e2%82"), None);
    assert_eq!(decode("%2"), None);
}
