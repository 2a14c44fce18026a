//! Providers: services described in TOML, one file each. A description lists requests and maps the rows of a response to tokendeck's
//! tables, in the language of `dataset.toml`. Descriptions are parsed and validated here; `live` sends the requests, `import` reads saved
//! responses, and both use the JSON reader here.

mod answer;
mod computed;
mod request;

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::Path,
    sync::LazyLock,
};

use crate::formats::ProviderError;
use model::{
    chain::Chain,
    interval::Interval,
    private_files::read_text,
    spelling::meant,
    toml_reader::{TomlDocument, TomlEntry, TomlError},
};

pub(crate) use self::answer::texts_at;
pub use self::{
    answer::JsonAnswer,
    computed::Computed,
    request::{
        FilledTable, NextPage, PostSigns, ProviderRequest, RefusalAction, RefusalSign, RequestScope,
    },
};
pub use request::{Placeholder, Template, expand};

/// The descriptions compiled into the program, by id.
const BUILT_IN_TEXTS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/providers.rs"));

/// Folder of the user's own descriptions next to config.toml, and of descriptions in a dataset.
pub const FOLDER: &str = "providers";
/// Maximum size of a description in bytes.
const FILE_MAX: u64 = 256 << 10;
/// Maximum number of descriptions in a folder.
const FILES_MAX: usize = 200;

/// Providers by id.
pub type Providers = BTreeMap<String, Provider>;

/// A service.
#[derive(Debug, Clone, PartialEq)]
pub struct Provider {
    /// Name of its file.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Prefix of its request URLs.
    pub home: Template,
    /// Attribution that its terms require next to its data.
    pub credit: Option<String>,
    /// Page with its limits and terms.
    pub terms: Option<String>,
    /// Requests per minute, over all tables.
    pub per_minute: u32,
    /// Requests per second, if the service limits them.
    pub per_second: Option<u32>,
    /// Requests per day, if the service limits them.
    pub per_day: Option<u32>,
    /// Concurrent requests.
    pub in_flight: u32,
    pub headers: Vec<(String, String)>,
    pub key: Option<KeyPlacement>,
    /// The provider's names of chains; chains without one are not requested.
    pub chains: Vec<(Chain, String)>,
    /// The provider's names of coins, where they differ from tokendeck's.
    pub symbols: HashMap<String, String>,
    /// Candle lengths that it offers.
    pub intervals: Vec<Interval>,
    /// The social platform whose accounts it serves, as in the table `accounts`.
    pub platform: Option<String>,
    pub requests: Vec<ProviderRequest>,
    pub origin: ProviderOrigin,
}

/// Origin of a description.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProviderOrigin {
    #[default]
    BuiltIn,
    /// Next to config.toml.
    Own,
    /// In the dataset's folder, so another person may have written it.
    Dataset,
}

/// How a request sends its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPlacement {
    /// Name of the header or of the parameter.
    pub name: String,
    pub in_query: bool,
    /// Text before the key, such as `Bearer `.
    pub before: String,
    /// Whether the service also responds without a key.
    pub optional: bool,
}

/// The descriptions compiled into the program.
pub fn built_in() -> &'static Providers {
    static ALL: LazyLock<Providers> = LazyLock::new(|| {
        let read = |(id, text): &(&str, &str)| {
            let provider = Provider::parse(id, text, ProviderOrigin::BuiltIn)
                .expect("they are compiled in, and a test reads them");
            ((*id).to_owned(), provider)
        };
        BUILT_IN_TEXTS.iter().map(read).collect()
    });
    &ALL
}

/// The built-in providers, replaced and extended by the descriptions in the `providers` folders next to config.toml and in the dataset.
/// Fails at the first description that cannot be read, with its file and line.
pub fn all(
    beside_config: Option<&Path>,
    dataset: Option<&Path>,
) -> Result<Providers, ProviderError> {
    let mut all = built_in().clone();
    for (folder, origin) in [
        (beside_config, ProviderOrigin::Own),
        (dataset, ProviderOrigin::Dataset),
    ] {
        let Some(folder) = folder.map(|folder| folder.join(FOLDER)) else {
            continue;
        };
        let mut files: Vec<_> = fs::read_dir(&folder)
            .into_iter()
            .flatten()
            .flatten()
            .take(FILES_MAX)
            .map(|entry| entry.path())
            .collect();
        files.sort();
        for file in files
            .into_iter()
            .filter(|file| file.extension().is_some_and(|ending| ending == "toml"))
        {
            let id = file
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
                .unwrap_or_default();
            let text = match read_text(&file, FILE_MAX) {
                Ok(text) => text,
                Err(error) => return Err(ProviderError::Unreadable { file, error }),
            };
            let provider = Provider::parse(&id, &text, origin)
                .map_err(|error| ProviderError::Invalid { file, error })?;
            all.insert(id, provider);
        }
    }
    Ok(all)
}

/// The provider with this id. If there is none, the error suggests a similar id.
pub fn named<'a>(all: &'a Providers, id: &str) -> Result<&'a Provider, ProviderError> {
    all.get(id).ok_or_else(|| ProviderError::Unknown {
        id: id.to_owned(),
        meant: meant(id, all.keys().map(String::as_str)).map(str::to_owned),
    })
}

const KEYS: [&str; 15] = [
    "name",
    "home",
    "credit",
    "terms",
    "per_minute",
    "per_second",
    "per_day",
    "in_flight",
    "headers",
    "key",
    "chains",
    "symbols",
    "intervals",
    "platform",
    "request",
];

impl Provider {
    /// A provider without any requests or limits yet.
    pub fn new(id: &str, origin: ProviderOrigin) -> Self {
        Self {
            id: id.to_owned(),
            name: id.to_owned(),
            home: Template::default(),
            credit: None,
            terms: None,
            per_minute: 30,
            per_second: None,
            per_day: None,
            in_flight: 1,
            headers: Vec::new(),
            key: None,
            chains: Vec::new(),
            symbols: HashMap::new(),
            intervals: Vec::new(),
            platform: None,
            requests: Vec::new(),
            origin,
        }
    }

    /// Parses a description. An error names the line.
    pub fn parse(id: &str, text: &str, origin: ProviderOrigin) -> Result<Self, TomlError> {
        let document = TomlDocument::parse(text)?;
        let mut provider = Self::new(id, origin);
        for member in &document.entries() {
            match member.key {
                "name" => provider.name = member.text()?,
                "home" => provider.home = request::home(member)?,
                "credit" => provider.credit = Some(member.text()?),
                "terms" => provider.terms = Some(member.text()?),
                "per_minute" => provider.per_minute = member.integer(1, 100_000)? as u32,
                "per_second" => provider.per_second = Some(member.integer(1, 1_000)? as u32),
                "per_day" => provider.per_day = Some(member.integer(1, 100_000_000)? as u32),
                "in_flight" => provider.in_flight = member.integer(1, 16)? as u32,
                "headers" => provider.headers = pairs(member)?,
                "key" => provider.key = Some(key(member)?),
                "chains" => provider.chains = chains(member)?,
                "symbols" => provider.symbols = pairs(member)?.into_iter().collect(),
                "intervals" => provider.intervals = intervals(member)?,
                "platform" => provider.platform = Some(member.text()?.to_lowercase()),
                "request" => provider.requests = request::read(member)?,
                _ => return Err(member.unknown("key", &KEYS)),
            }
        }
        let lacks = |what: &str| Err(document.error(format!("the provider lacks {what}")));
        if provider.home.is_empty() {
            return lacks(
                "`home`, the start of its URLs, as in home = \"https://api.example.org/v1\"",
            );
        }
        if provider.requests.is_empty() {
            return lacks("a [[request]]; add at least one");
        }
        let by_account = |request: &&ProviderRequest| request.each.is_social();
        if let (None, Some(request)) = (
            &provider.platform,
            provider.requests.iter().find(by_account),
        ) {
            return Err(document.error(format!(
                "the request `{}` is for accounts, posts or people, and the provider lacks `platform`, as in platform = \"bluesky\"",
                request.name
            )));
        }
        Ok(provider)
    }

    /// The provider's name of the chain.
    pub fn chain(&self, chain: &Chain) -> Option<&str> {
        self.chains
            .iter()
            .find(|(ours, _)| ours == chain)
            .map(|(_, theirs)| theirs.as_str())
    }

    /// Its requests that fill the table.
    pub fn filling<'a>(&'a self, table: &'a str) -> impl Iterator<Item = &'a ProviderRequest> {
        self.requests
            .iter()
            .filter(move |request| request.tables.iter().any(|filled| filled.table == table))
    }

    /// The tables that it fills, each once.
    pub fn tables(&self) -> Vec<&'static str> {
        let mut tables: Vec<&'static str> = Vec::new();
        for filled in self.requests.iter().flat_map(|request| &request.tables) {
            if !tables.contains(&filled.table) {
                tables.push(filled.table);
            }
        }
        tables
    }
}

fn pairs(member: &TomlEntry<'_>) -> Result<Vec<(String, String)>, TomlError> {
    member
        .table()?
        .iter()
        .map(|pair| Ok((pair.key.to_owned(), pair.scalar()?)))
        .collect()
}

fn key(member: &TomlEntry<'_>) -> Result<KeyPlacement, TomlError> {
    let (mut placement, mut before, mut optional) = (None, String::new(), false);
    for part in member.table()? {
        match part.key {
            "header" => placement = Some((part.text()?, false)),
            "query" => placement = Some((part.text()?, true)),
            "before" => before = part.text()?,
            "optional" => optional = part.boolean()?,
            _ => return Err(part.unknown("key", &["header", "query", "before", "optional"])),
        }
    }
    let (name, in_query) = placement.ok_or_else(|| {
        member.wrong("needs `header` or `query`, the place of the key in a request")
    })?;
    Ok(KeyPlacement {
        name,
        in_query,
        before,
        optional,
    })
}

fn chains(member: &TomlEntry<'_>) -> Result<Vec<(Chain, String)>, TomlError> {
    let chain = |pair: &TomlEntry<'_>| {
        let ours = Chain::parse(pair.key).ok_or_else(|| pair.wrong("is not a chain name"))?;
        Ok((ours, pair.scalar()?))
    };
    member.table()?.iter().map(chain).collect()
}

fn intervals(member: &TomlEntry<'_>) -> Result<Vec<Interval>, TomlError> {
    let read = |word: String| {
        Interval::parse(&word)
            .ok_or_else(|| member.wrong("must be a list of intervals, as in [\"1h\", \"1d\"]"))
    };
    member.texts()?.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_description_is_read_and_named_as_its_file() {
        for (id, text) in BUILT_IN_TEXTS {
            let provider = Provider::parse(id, text, ProviderOrigin::BuiltIn);
            let provider = provider.unwrap_or_else(|error| panic!("{id}: {error}"));
            assert!(
                id.bytes().all(|letter| letter.is_ascii_lowercase()
                    || letter.is_ascii_digit()
                    || letter == b'-'),
                "{id}"
            );
            assert!(provider.terms.is_some(), "{id} says no page with its terms");
        }
    }

    #[test]
    fn a_mistake_is_named_with_its_line_and_what_is_right() {
        let request = "home = 'https://a.org'\n[[request]]\nname = 'x'\nfills = 'candles'\n";
        let with = |rest: &str| format!("{request}{rest}");
        for (text, expected) in [
            (
                "nmae = 'x'".to_owned(),
                "line 1: unknown key `nmae`; did you mean `name`?",
            ),
            (
                "name = 'x'".to_owned(),
                "line 1: the provider lacks `home`, the start of its URLs, as in home = \"https://api.example.org/v1\"",
            ),
            (
                "home = 'ftp://x'".to_owned(),
                "line 1: `home` must be a URL that begins with https://",
            ),
            (
                "key = { optional = true }".to_owned(),
                "line 1: `key` needs `header` or `query`, the place of the key in a request",
            ),
            (
                with("each = 'tokn'\npath = '/a'"),
                "line 5: unknown value of `each` `tokn`; did you mean `token`?",
            ),
            (
                with("path = '/a/{tokne}'"),
                "line 5: unknown placeholder `tokne`; did you mean `token`?",
            ),
            (
                with("path = '/a'\ncolumns = { opne = 1 }"),
                "line 6: unknown column `opne`; did you mean `open`?",
            ),
            (
                with("path = '/a'\nnext = { before = 'eldest timestamp' }"),
                "line 6: `before` must be \"oldest COLUMN\", \"newest COLUMN\", \"+1\", or a path in the response",
            ),
            (
                with("path = '/a'\nnext = { page = '+1' }"),
                "line 6: `next` defines `{page}`, but neither `path` nor `query` contains it",
            ),
            (with("rows = ''"), "line 2: the request `x` lacks `path`"),
            (
                with("path = '/a'\nechh = 'token'"),
                "line 6: unknown key `echh`; did you mean `each`?",
            ),
            (
                "home = 'https://a.org'\n[[request]]\nname = 'x'\npath = '/a'".to_owned(),
                "line 2: the request `x` fills no table; add `fills`, as in `fills = \"candles\"`",
            ),
        ] {
            let error = Provider::parse("x", &text, ProviderOrigin::Own).expect_err(&text);
            assert_eq!(error.to_string(), expected, "{text}");
        }
        assert!(Provider::parse("x", "", ProviderOrigin::Own).is_err());
    }

    #[test]
    fn a_description_is_read_whole() {
        let text = r#"
            name = "Example"
            home = "https://api.example.org/v1"
            per_minute = 12
            key = { header = "x-key", optional = true }
            chains = { eth = "eth", 56 = "bsc" }
            symbols = { BTC = "XBT" }
            intervals = ["1h", "1d"]
            [[request]]
            name = "ohlcv"
            fills = "candles"
            each = "pool"
            path = "/{chain}/{pool}/{interval.unit}"
            query = { limit = 1000, before = "{before}" }
            rows = "data.list"
            columns = { timestamp = 1, open = 2, high = 3, low = 4, close = 5, volume = { from = 6, unit = "usd" } }
            set = { interval = "{interval}" }
            next = { before = "oldest timestamp" }
            errors = { "status.code" = "say it", message = { is = "NOTOK", then = "wait", say = "result" } }
        "#;
        let provider = Provider::parse("example", text, ProviderOrigin::Own).expect("valid");
        assert_eq!((provider.per_minute, provider.in_flight), (12, 1));
        assert_eq!(
            provider.chain(&Chain::parse("bnb").expect("a chain")),
            Some("bsc")
        );
        let request = provider.filling("candles").next().expect("one");
        assert_eq!(
            (request.each, request.tables[0].rows.as_str()),
            (RequestScope::Pool, "data.list")
        );
        assert_eq!(
            request.next,
            [(
                "before".to_owned(),
                NextPage::Oldest("timestamp".to_owned())
            )]
        );
        assert_eq!(request.refusals.len(), 2);
        assert_eq!(
            request.tables[0].mapping.columns["volume"].from.as_deref(),
            Some("6")
        );
        assert_eq!(provider.tables(), ["candles"]);
    }
}
