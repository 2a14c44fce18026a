//! ClickHouse over its HTTP interface: short results as text, and rows as a stream. Its errors become faults in tokendeck's own words; a
//! response that ends early, or that ends normally but contains an error, is never accepted as complete.

mod codes;
mod stream;

use std::{
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use reqwest::{
    Client, Response, Url,
    header::{HeaderMap, HeaderValue},
    redirect,
};
use tokio::sync::Semaphore;

pub use self::stream::{Stream, StreamEnd};
use super::{
    Fault, RemoteClient,
    client::{Connector, TimeoutsAndRetries},
    keys, locked,
    source::{Source, SourceKind},
};

/// Maximum bytes of a short result.
const ANSWER_MAX: usize = 16 << 20;
/// Maximum bytes of an error message.
const REASON_MAX: usize = 64 << 10;
/// The timeout of KILL QUERY.
const KILL_TIME: Duration = Duration::from_secs(5);
/// Settings that are sent where the server has them.
const SETTINGS: [&str; 12] = [
    "readonly",
    "max_execution_time",
    "max_rows_to_read",
    "max_result_rows",
    "result_overflow_mode",
    "max_query_size",
    "skip_unavailable_shards",
    "cancel_http_readonly_queries_on_client_close",
    "output_format_arrow_string_as_string",
    "output_format_arrow_compression_method",
    "output_format_arrow_low_cardinality_as_dictionary",
    "output_format_arrow_fixed_string_as_fixed_byte_array",
];

/// Longest query that a server accepts without `max_query_size`.
const QUERY_MAX: usize = 200_000;

/// Properties of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFacts {
    /// Major and minor version.
    pub version: (u32, u32),
    /// The `SETTINGS` that it has; empty if the user may not change any.
    settings: Vec<String>,
    /// Whether the user may change settings and write.
    writes: bool,
}

impl ServerFacts {
    /// From rows of a name and a value: the settings, and the version.
    fn read(rows: Vec<Vec<Option<String>>>) -> Self {
        let mut facts = Self {
            version: (0, 0),
            settings: Vec::new(),
            writes: true,
        };
        let mut settings_are_fixed = false;
        for row in rows {
            let [Some(name), Some(value)] = &row[..] else {
                continue;
            };
            if name == "version" {
                let mut numbers = value.split('.').map(|number| number.parse().unwrap_or(0));
                facts.version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
                continue;
            }
            if name == "readonly" {
                facts.writes = value == "0";
                settings_are_fixed = value == "1";
            }
            facts.settings.push(name.clone());
        }
        // For a user who may change no setting each one is refused.
        if settings_are_fixed {
            facts.settings.clear();
        }
        facts
    }

    /// Whether it sends rows as an Arrow stream.
    pub fn has_arrow(&self) -> bool {
        self.version >= (20, 8)
    }

    /// Whether it accepts a query of this length.
    pub fn takes(&self, sql: &str) -> bool {
        sql.len() <= QUERY_MAX || self.settings.iter().any(|name| name == "max_query_size")
    }
}

/// A connection to a server.
pub(super) struct Server {
    source: Source,
    client: Client,
    url: Url,
    known: OnceLock<ServerFacts>,
    places: Arc<Semaphore>,
}

/// A server, with the wire that sends requests to it.
#[derive(Clone)]
pub struct Engine {
    wire: Arc<RemoteClient>,
    held: Arc<Server>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("source", &self.held.source.name)
            .finish_non_exhaustive()
    }
}

impl RemoteClient {
    /// Whether the configuration has a source of that name that runs queries.
    pub fn has_engine(&self, name: &str) -> bool {
        self.engine_source(name).is_some()
    }

    /// Configuration of the source of that name.
    pub fn engine_source(&self, name: &str) -> Option<&Source> {
        self.options
            .sources
            .iter()
            .find(|source| source.kind == SourceKind::ClickHouse && source.name == name)
    }

    /// The server of the source of that name; no request is sent yet.
    pub fn engine(self: &Arc<Self>, name: &str) -> Result<Engine, Fault> {
        let mut engines = locked(&self.engines);
        if let Some(held) = engines.get(name) {
            return Ok(Engine {
                wire: Arc::clone(self),
                held: Arc::clone(held),
            });
        }
        let source = self.engine_source(name).ok_or_else(|| {
            Fault::Refused(format!(
                "belongs to an unknown source; add [sources.{name}] with kind = \"clickhouse\" and `url` to config.toml"
            ))
        })?;
        if let Some(reason) = source.fault() {
            return Err(Fault::Refused(format!("belongs to a source that {reason}")));
        }
        let held = Arc::new(Server::new(source.clone(), &self.options.timeouts)?);
        engines.insert(name.to_owned(), Arc::clone(&held));
        Ok(Engine {
            wire: Arc::clone(self),
            held,
        })
    }
}

impl Server {
    fn new(source: Source, timeouts: &TimeoutsAndRetries) -> Result<Self, Fault> {
        let url = Url::parse(&source.url)
            .map_err(|_| Fault::Refused("has an invalid `url`".to_owned()))?;
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("x-clickhouse-user", Some(source.user.clone())),
            ("x-clickhouse-key", keys::password(&source)?),
        ] {
            let Some(value) = value.filter(|value| !value.is_empty()) else {
                continue;
            };
            let odd = |_| {
                Fault::Refused(format!(
                    "belongs to `{}`, whose user or password has characters that cannot be sent in a header",
                    source.name
                ))
            };
            let mut value = HeaderValue::from_str(&value).map_err(odd)?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let timeouts = TimeoutsAndRetries {
            read_timeout: source.timeout(),
            ..timeouts.clone()
        };
        let connector = Connector {
            timeouts,
            named: true,
            plain: url.scheme() == "http",
            headers,
        };
        // A redirect must not send the password elsewhere.
        let client = connector
            .builder()
            .redirect(redirect::Policy::none())
            .build();
        let client = client.map_err(|error| codes::of_request(&source, &error))?;
        let places = Arc::new(Semaphore::new(source.queries()));
        Ok(Self {
            source,
            client,
            url,
            known: OnceLock::new(),
            places,
        })
    }

    async fn post(
        &self,
        id: &str,
        sql: String,
        pairs: &[(&str, String)],
    ) -> Result<Response, Fault> {
        let mut url = self.url.clone();
        {
            let mut query = url.query_pairs_mut();
            query.append_pair("query_id", id);
            if !self.source.database.is_empty() {
                query.append_pair("database", &self.source.database);
            }
            for (name, value) in pairs {
                query.append_pair(name, value);
            }
        }
        let mut response = self
            .client
            .post(url)
            .body(sql)
            .send()
            .await
            .map_err(|error| codes::of_request(&self.source, &error))?;
        let code = codes::of_headers(response.headers());
        if response.status().is_success() && code.is_none() {
            return Ok(response);
        }
        let mut text = Vec::new();
        while let Ok(Some(part)) = response.chunk().await {
            text.extend_from_slice(&part);
            if text.len() >= REASON_MAX {
                break;
            }
        }
        let text = String::from_utf8_lossy(&text);
        Err(codes::of_answer(
            &self.source,
            response.status().as_u16(),
            code.or_else(|| codes::in_text(&text)),
            &text,
        ))
    }
}

/// Generates a query id, by which the query can be killed.
fn new_id() -> Result<String, Fault> {
    let mut random = [0u8; 16];
    getrandom::fill(&mut random)
        .map_err(|error| Fault::Failed(format!("cannot be queried: {error}")))?;
    Ok(format!("tokendeck-{:032x}", u128::from_ne_bytes(random)))
}

impl Engine {
    pub fn source(&self) -> &Source {
        &self.held.source
    }

    /// Whether the daily budget allows this many bytes. The error continues "`URL` …".
    pub fn afford(&self, bytes: u64) -> Result<(), Fault> {
        self.wire.afford(bytes)
    }

    /// Properties of the server, which are queried once.
    pub fn known(&self, stopped: &dyn Fn() -> bool) -> Result<ServerFacts, Fault> {
        if let Some(known) = self.held.known.get() {
            return Ok(known.clone());
        }
        let names = SETTINGS.map(|name| format!("'{name}'")).join(", ");
        let sql = format!(
            "SELECT name, value FROM system.settings WHERE name IN ({names}) UNION ALL SELECT 'version', version()"
        );
        let known = ServerFacts::read(self.text(&sql, &[], stopped)?);
        drop(self.held.known.set(known.clone()));
        Ok(known)
    }

    /// Runs a query with a short result; returns it by row and column.
    pub fn ask(
        &self,
        sql: &str,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Vec<Vec<Option<String>>>, Fault> {
        let known = self.known(stopped)?;
        let mut pairs = self.settings(&known, None, sql);
        // Without it an old server sends 200 before the query has run.
        pairs.push(("wait_end_of_query", "1".to_owned()));
        self.text(sql, &pairs, stopped)
    }

    fn text(
        &self,
        sql: &str,
        pairs: &[(&'static str, String)],
        stopped: &dyn Fn() -> bool,
    ) -> Result<Vec<Vec<Option<String>>>, Fault> {
        let (wire, held) = (Arc::clone(&self.wire), Arc::clone(&self.held));
        // The first try may still run on the server, which refuses a second query of the same id.
        let id = Arc::new(Mutex::new(new_id()?));
        let mut pairs = pairs.to_vec();
        pairs.push(("default_format", "TabSeparated".to_owned()));
        let (sql, now) = (sql.to_owned(), Arc::clone(&id));
        let answer = self.wire.wait(stopped, async move {
            let _place = held.places.acquire().await;
            let _asking = wire.ask(&held.source.name);
            let mut tries = 0;
            loop {
                let query = locked(&now).clone();
                let fault = match whole(&wire, &held, &query, &sql, &pairs).await {
                    Err(fault @ (Fault::CutOff | Fault::Busy)) => fault,
                    outcome => return outcome,
                };
                tries += 1;
                if tries > wire.options.timeouts.retries {
                    return Err(fault);
                }
                tokio::time::sleep(wire.options.timeouts.backoff * 2u32.pow(tries.min(4) as u32))
                    .await;
                *locked(&now) = new_id()?;
            }
        });
        if answer == Err(Fault::Stopped) {
            self.kill(&locked(&id));
        }
        separated(&answer?)
    }

    /// Starts to stream rows, in the server's own `format`.
    pub fn stream(
        &self,
        sql: &str,
        format: &'static str,
        rows: u64,
        stopped: Arc<dyn Fn() -> bool + Send + Sync>,
    ) -> Result<Stream, Fault> {
        let known = self.known(&*stopped)?;
        let mut pairs = self.settings(&known, Some(rows), sql);
        if !known.has_arrow() {
            pairs.push(("wait_end_of_query", "1".to_owned()));
        }
        pairs.push(("default_format", format.to_owned()));
        Stream::begin(self.clone(), sql.to_owned(), pairs, stopped)
    }

    /// Starts to stream an aggregation, as Arrow that the server buffers whole before it sends any of it.
    pub fn sum(
        &self,
        sql: &str,
        stopped: Arc<dyn Fn() -> bool + Send + Sync>,
    ) -> Result<Stream, Fault> {
        let known = self.known(&*stopped)?;
        let mut pairs = self.settings(&known, None, sql);
        // The texts repeat: compressed they are much smaller.
        pairs.retain(|(name, _)| *name != "output_format_arrow_compression_method");
        pairs.extend([
            ("wait_end_of_query", "1".to_owned()),
            ("default_format", "ArrowStream".to_owned()),
        ]);
        Stream::begin(self.clone(), sql.to_owned(), pairs, stopped)
    }

    /// Settings of a query, of those that the server has and the user may change. A query of rows is limited by their number, any other by
    /// its time.
    fn settings(
        &self,
        known: &ServerFacts,
        rows: Option<u64>,
        sql: &str,
    ) -> Vec<(&'static str, String)> {
        let source = &self.held.source;
        // An unencrypted server is usually on this machine, where compression costs more than it saves.
        let packed = if self.held.url.scheme() == "http" {
            "none"
        } else {
            "lz4_frame"
        };
        let value = |name: &str| match name {
            "readonly" => known.writes.then(|| "2".to_owned()),
            "max_execution_time" => rows
                .is_none()
                .then(|| source.timeout().as_secs().max(1).to_string()),
            "max_rows_to_read" => Some(source.scan_rows_max().to_string()),
            "max_result_rows" => rows.map(|rows| rows.max(1).to_string()),
            "result_overflow_mode" => rows.map(|_| "throw".to_owned()),
            "max_query_size" => (sql.len() > QUERY_MAX).then(|| (sql.len() + 1_024).to_string()),
            "output_format_arrow_compression_method" => Some(packed.to_owned()),
            "skip_unavailable_shards" | "output_format_arrow_low_cardinality_as_dictionary" => {
                Some("0".to_owned())
            }
            _ => Some("1".to_owned()),
        };
        let known = |name: &&&str| known.settings.iter().any(|known| known == **name);
        SETTINGS
            .iter()
            .filter(known)
            .filter_map(|name| Some((*name, value(name)?)))
            .collect()
    }

    /// Kills a query without waiting for it.
    fn kill(&self, id: &str) {
        let (held, id) = (Arc::clone(&self.held), id.to_owned());
        let Ok(runtime) = self.wire.runtime() else {
            return;
        };
        runtime.spawn(async move {
            let sql = format!("KILL QUERY WHERE query_id = '{id}' ASYNC");
            let own = format!("{id}-end");
            drop(tokio::time::timeout(KILL_TIME, held.post(&own, sql, &[])).await);
        });
    }
}

/// Reads a short response in full.
async fn whole(
    wire: &RemoteClient,
    held: &Server,
    id: &str,
    sql: &str,
    pairs: &[(&'static str, String)],
) -> Result<String, Fault> {
    let mut response = held.post(id, sql.to_owned(), pairs).await?;
    let mut text = Vec::new();
    while let Some(part) = response
        .chunk()
        .await
        .map_err(|error| codes::of_request(&held.source, &error))?
    {
        wire.count(part.len() as u64);
        text.extend_from_slice(&part);
        if text.len() > ANSWER_MAX {
            return Err(Fault::Unavailable(
                "sent a longer response than expected".to_owned(),
            ));
        }
    }
    let text = String::from_utf8_lossy(&text);
    match codes::in_text(&text) {
        Some(code) => Err(codes::of_answer(&held.source, 200, Some(code), &text)),
        None => Ok(text.into_owned()),
    }
}

/// Parses TabSeparated: lines of tab-separated fields; `\N` is null.
fn separated(text: &str) -> Result<Vec<Vec<Option<String>>>, Fault> {
    let field = |field: &str| {
        if field == "\\N" {
            return Some(None);
        }
        let mut letters = field.chars();
        let mut out = String::with_capacity(field.len());
        while let Some(letter) = letters.next() {
            out.push(match letter {
                '\\' => match letters.next()? {
                    't' => '\t',
                    'n' => '\n',
                    'r' => '\r',
                    '0' => '\0',
                    'b' => '\u{8}',
                    'f' => '\u{c}',
                    other => other,
                },
                other => other,
            });
        }
        Some(Some(out))
    };
    let line = |line: &str| line.split('\t').map(field).collect::<Option<Vec<_>>>();
    let lines: Option<Vec<_>> = text.lines().map(line).collect();
    lines.ok_or_else(|| Fault::Unavailable("sent an unreadable response".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_nulls_of_tab_separated_fields_are_read() {
        let rows = separated("a\\tb\t\\N\t\n\\\\\tx'\\'\tüé\n").expect("rows");
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            rows,
            [
                [text("a\tb"), None, text("")],
                [text("\\"), text("x''"), text("üé")]
            ]
        );
        assert!(separated("a\\").is_err() && separated("").is_ok_and(|rows| rows.is_empty()));
    }

    #[test]
    fn a_long_query_needs_a_server_with_max_query_size() {
        let known = |settings: &[&str]| ServerFacts {
            version: (23, 8),
            settings: settings.iter().map(|name| (*name).to_owned()).collect(),
            writes: true,
        };
        let long = "x".repeat(QUERY_MAX + 1);
        assert!(
            known(&["max_query_size"]).takes(&long)
                && known(&[]).takes("x")
                && !known(&[]).takes(&long)
        );
    }
}
