//! The keys of `dataset.toml` for a live table: `provider`, or the `url` of a service, and `every`, `history`, `interval`, `tokens`.

use crate::provider::Template;
use model::{
    interval::Interval,
    schema::TableSchema,
    time::DAY_MS,
    toml_reader::{TomlEntry, TomlError},
};

use super::TableManifest;

/// How a live table is fetched.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveTable {
    pub from: LiveSource,
    pub every: Every,
    /// How far back the first fetch goes, in milliseconds.
    pub history: i64,
    /// For candles: their lengths.
    pub intervals: Vec<Interval>,
    pub tokens: LiveTokens,
    /// Whether the rows of all providers are put together, instead of those of the first that knows a token.
    pub together: bool,
}

/// Source of the rows.
#[derive(Debug, Clone, PartialEq)]
pub enum LiveSource {
    /// Ids of providers. For each token, the first that knows it is used.
    Providers(Vec<String>),
    Url(Box<LiveUrl>),
}

/// A service that the table describes itself.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveUrl {
    pub url: Template,
    /// Place of the rows in the response.
    pub rows: String,
    /// How to read its columns.
    pub mapping: TableManifest,
}

/// When rows are fetched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Every {
    /// When the user requests them.
    #[default]
    Request,
    /// Also once at each start.
    Start,
    /// Also at this interval in milliseconds, while the program runs.
    Span(i64),
}

/// Which tokens are kept fresh.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LiveTokens {
    #[default]
    All,
    Watchlist,
}

/// How far back the first fetch goes, where nothing is said.
const HISTORY: i64 = 365 * DAY_MS;
const HISTORY_MAX: i64 = 20 * 365 * DAY_MS;
/// Shortest time between two fetches.
const EVERY_MIN: i64 = 10_000;
const EVERY_MAX: i64 = 366 * DAY_MS;

/// The keys that are read here.
pub(super) const KEYS: [&str; 8] = [
    "provider", "url", "rows", "every", "history", "interval", "tokens", "together",
];

/// Reads how the table is fetched; `None` unless it is a live table. The mapping of a `url` moves into the result, because the stored rows
/// are in tokendeck's own columns.
pub(super) fn read(
    schema: &TableSchema,
    members: &[TomlEntry<'_>],
    table: &mut TableManifest,
) -> Result<Option<LiveTable>, TomlError> {
    let find = |key: &str| members.iter().find(|member| member.key == key);
    let from = match (find("provider"), find("url")) {
        (Some(provider), Some(_)) => {
            return Err(provider.wrong("and `url` cannot be combined; keep one"));
        }
        (Some(provider), None) => {
            let names = provider.texts()?;
            if names.iter().any(|name| name.trim().is_empty()) {
                return Err(
                    provider.wrong("must name a provider; `tokendeck providers` lists them")
                );
            }
            LiveSource::Providers(names)
        }
        (None, Some(url)) => {
            let text = url.text()?;
            if !text.starts_with("https://") && !text.starts_with("http://") {
                return Err(url.wrong("must begin with https://"));
            }
            let parsed =
                Template::parse(&text).ok_or_else(|| url.wrong("has a `{` without its `}`"))?;
            let known = ["token", "symbol", "chain"];
            if let Some(hole) = parsed
                .holes()
                .find(|hole| !known.contains(&hole.name.as_str()))
            {
                return Err(url.unknown_name("placeholder", &hole.name, &known));
            }
            let rows = find("rows").map_or(Ok(String::new()), TomlEntry::text)?;
            let mapping = TableManifest {
                columns: std::mem::take(&mut table.columns),
                set: std::mem::take(&mut table.set),
                filters: std::mem::take(&mut table.filters),
                ..TableManifest::default()
            };
            LiveSource::Url(Box::new(LiveUrl {
                url: parsed,
                rows,
                mapping,
            }))
        }
        (None, None) => {
            let lone = members.iter().find(|member| KEYS.contains(&member.key));
            let must = "is only for live tables; add `provider` or `url`";
            return lone.map_or(Ok(None), |member| Err(member.wrong(must)));
        }
    };
    if let (Some(_), Some(asked)) = (find("source"), find("provider").or_else(|| find("url"))) {
        return Err(asked.wrong("and `source` cannot be combined; keep one"));
    }
    if let (Some(rows), LiveSource::Providers(_)) = (find("rows"), &from) {
        return Err(rows.wrong("is only for a `url`; a provider's description sets it"));
    }
    let every = match find("every") {
        None => Every::Request,
        Some(member) if member.text()? == "start" => Every::Start,
        Some(member) => Every::Span(span(
            member,
            EVERY_MIN,
            EVERY_MAX,
            "must be \"start\" or a duration of at least 10s, such as \"5m\"",
        )?),
    };
    let history = find("history").map_or(Ok(HISTORY), |member| {
        span(
            member,
            DAY_MS,
            HISTORY_MAX,
            "must be a duration from 1d to 20y, such as \"2y\"",
        )
    })?;
    let intervals = match find("interval") {
        None => vec![Interval::DAY],
        Some(member) if schema.name != "candles" => return Err(member.wrong("is only for candles")),
        Some(member) => {
            let read = |word: String| {
                Interval::parse(&word).ok_or_else(|| {
                    member.wrong("must be one or several intervals, as in [\"1h\", \"1d\"]")
                })
            };
            member
                .texts()?
                .into_iter()
                .map(read)
                .collect::<Result<_, _>>()?
        }
    };
    let tokens = match find("tokens") {
        None => LiveTokens::All,
        Some(member) => match member.text()?.as_str() {
            "all" => LiveTokens::All,
            "watchlist" => LiveTokens::Watchlist,
            _ => return Err(member.wrong("must be \"all\" or \"watchlist\"")),
        },
    };
    let together = find("together").map_or(Ok(schema.together), TomlEntry::boolean)?;
    Ok(Some(LiveTable {
        from,
        every,
        history,
        intervals,
        tokens,
        together,
    }))
}

/// A span of time such as `5m` or `2y`, in milliseconds.
pub(crate) fn span(
    member: &TomlEntry<'_>,
    least: i64,
    most: i64,
    must: &str,
) -> Result<i64, TomlError> {
    let text = member.text()?;
    // An interval of candles is never as long as a span may be.
    let of = |(unit, length): (char, i64)| {
        text.strip_suffix(unit)?
            .trim_end()
            .parse::<i64>()
            .ok()?
            .checked_mul(length)
    };
    let span = [('y', 365 * DAY_MS), ('w', 7 * DAY_MS), ('d', DAY_MS)]
        .into_iter()
        .find_map(of);
    let span = span.or_else(|| Interval::parse(&text).map(|interval| interval.0));
    span.filter(|span| (least..=most).contains(span))
        .ok_or_else(|| member.wrong(must))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Manifest;

    #[test]
    fn a_table_that_comes_by_itself_is_read() {
        let text = "[tables.candles]\nprovider = ['a', 'b']\nevery = '5m'\nhistory = '400d'\ninterval = ['1h', '1d']\ntokens = 'watchlist'\n\
             [tables.posts]\nurl = 'https://x.org/posts?token={token}'\nrows = 'data'\nevery = 'start'\ncolumns = { title = 'headline' }";
        let manifest = Manifest::parse(text).expect("valid");
        let live = manifest.tables["candles"].live.as_ref().expect("live");
        assert_eq!(
            live.from,
            LiveSource::Providers(vec!["a".to_owned(), "b".to_owned()])
        );
        assert_eq!(
            (live.every, live.history / DAY_MS, live.intervals.len()),
            (Every::Span(300_000), 400, 2)
        );
        assert_eq!(live.tokens, LiveTokens::Watchlist);
        let posts = &manifest.tables["posts"];
        let Some(LiveTable {
            from: LiveSource::Url(url),
            every: Every::Start,
            ..
        }) = &posts.live
        else {
            panic!("{posts:?}")
        };
        assert_eq!(
            (
                url.rows.as_str(),
                url.mapping.columns["title"].from.as_deref()
            ),
            ("data", Some("headline"))
        );
        assert!(
            posts.columns.is_empty(),
            "what is kept is in our own columns"
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_what_is_right() {
        for (text, expected) in [
            (
                "every = '5m'",
                "line 2: `every` is only for live tables; add `provider` or `url`",
            ),
            (
                "provider = 'a'\nurl = 'https://x'",
                "line 2: `provider` and `url` cannot be combined; keep one",
            ),
            (
                "provider = 'a'\nevery = '1s'",
                "line 3: `every` must be \"start\" or a duration of at least 10s, such as \"5m\"",
            ),
            (
                "provider = 'a'\nhistory = '1h'",
                "line 3: `history` must be a duration from 1d to 20y, such as \"2y\"",
            ),
            (
                "provider = 'a'\nrows = 'x'",
                "line 3: `rows` is only for a `url`; a provider's description sets it",
            ),
            (
                "provider = 'a'\ntokens = 'some'",
                "line 3: `tokens` must be \"all\" or \"watchlist\"",
            ),
            ("url = 'ftp://x'", "line 2: `url` must begin with https://"),
            (
                "url = 'https://x/{tokn}'",
                "line 2: unknown placeholder `tokn`; did you mean `token`?",
            ),
            (
                "provider = 'a'\nsource = 'b'\ntable = 'c'",
                "line 2: `provider` and `source` cannot be combined; keep one",
            ),
        ] {
            let error = Manifest::parse(&format!("[tables.candles]\n{text}")).expect_err(text);
            assert_eq!(error.to_string(), expected, "{text}");
        }
        let error = Manifest::parse("[tables.posts]\nprovider = 'a'\ninterval = '1d'")
            .expect_err("of candles");
        assert_eq!(error.to_string(), "line 3: `interval` is only for candles");
    }
}
