//! `[sources.NAME]`: any number of sources of remote files. The table of their settings, and the parser of one source.

use toml::de::DeValue;

use super::GivenSetting;
use model::{
    chain::Chain,
    private_files::notify,
    spelling::meant,
    toml_reader::{TomlEntry, TomlError, integer},
};
use wire::{
    Source,
    SourceKind::{self, Azure, ClickHouse, Gcs, Https, Node, Provider, S3},
};

/// The section that contains them.
pub(crate) const SECTION: &str = "sources";

/// Wrong names under which users put credentials into a source.
const SECRETS: [&str; 8] = [
    "key",
    "secret",
    "password",
    "token",
    "access_key_id",
    "secret_access_key",
    "aws_access_key_id",
    "aws_secret_access_key",
];

/// One setting of a source with its documentation.
#[derive(Debug, Clone, Copy)]
pub struct SourceRow {
    pub key: &'static str,
    /// An example in TOML syntax.
    pub example: &'static str,
    pub expected: &'static str,
    /// The kinds of sources that have it; empty: all.
    of: &'static [SourceKind],
    /// Continues `For node: ` if only some kinds have it.
    meaning: &'static str,
    put: Put,
}

impl SourceRow {
    /// Its meaning, and the kinds of sources that have it.
    pub fn says(&self) -> String {
        if self.of.is_empty() {
            self.meaning.to_owned()
        } else {
            format!("For {}: {}", words(self.of), self.meaning)
        }
    }
}

/// `node`, or `https, node and provider`.
fn words(kinds: &[SourceKind]) -> String {
    let word = |kind: &SourceKind| {
        SourceKind::WORDS
            .iter()
            .find(|(_, known)| known == kind)
            .map_or("", |(word, _)| *word)
    };
    match kinds.split_last() {
        Some((last, before @ [_, ..])) => format!(
            "{} and {}",
            before.iter().map(word).collect::<Vec<_>>().join(", "),
            word(last)
        ),
        _ => kinds.first().map_or("", word).to_owned(),
    }
}

/// Stores a value in the source; none where it is invalid.
type Put = fn(&mut Source, &DeValue<'_>) -> Option<()>;

/// For each field of `Source`: parser of its value, example, accepted values, the kinds that have it (none: all), meaning.
macro_rules! rows {
    ($($key:ident: |$value:ident| $read:expr, $example:literal, $expected:literal, $of:expr, $meaning:literal;)*) => {
        &[$(SourceRow {
            key: stringify!($key),
            example: $example,
            expected: $expected,
            of: $of,
            meaning: $meaning,
            put: |source, $value| {
                source.$key = $read;
                Some(())
            },
        }),*]
    };
}

fn text(value: &DeValue<'_>) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn names(value: &DeValue<'_>) -> Option<Vec<String>> {
    value
        .as_array()?
        .iter()
        .map(|item| text(item.get_ref()).filter(|name| !name.is_empty()))
        .collect()
}

fn kind(value: &DeValue<'_>) -> Option<SourceKind> {
    let word = value.as_str()?;
    SourceKind::WORDS
        .iter()
        .find(|(known, _)| *known == word)
        .map(|(_, kind)| *kind)
}

/// The short name of a chain.
fn chain(value: &DeValue<'_>) -> Option<String> {
    let written = integer(value)
        .map(|id| id.to_string())
        .or_else(|| text(value))?;
    Chain::parse(&written).map(|chain| chain.to_string())
}

fn whole<T: TryFrom<i64>>(value: &DeValue<'_>, least: i64, most: i64) -> Option<T> {
    integer(value)
        .filter(|number| (least..=most).contains(number))
        .and_then(|number| T::try_from(number).ok())
}

/// All settings of a source.
pub const SOURCE_SETTINGS: &[SourceRow] = rows! {
    kind: |value| kind(value)?, "\"s3\"", "\"s3\", \"gcs\", \"azure\", \"https\", \"clickhouse\", \"node\" or \"provider\"", &[], "Type of source.";
    buckets: |value| names(value)?, "[\"my-bucket\"]", "a list of names", &[S3, Gcs, Azure], "the buckets or containers that may receive its credentials.";
    region: |value| text(value)?, "\"eu-west-1\"", "text", &[S3], "region, if the environment doesn't set it.";
    endpoint: |value| text(value)?, "\"http://127.0.0.1:9000\"", "a URL", &[], "URL of a store outside the cloud, such as MinIO or Ceph; http:// only on this machine, unless `insecure` is true.";
    profile: |value| text(value)?, "\"work\"", "text", &[S3], "profile of `~/.aws` whose keys take precedence over the environment.";
    account: |value| text(value)?, "\"myaccount\"", "text", &[Azure], "storage account.";
    url: |value| text(value)?, "\"https://files.example.org/data\"", "a URL", &[Https, ClickHouse, Node, Provider], "prefix of the https URLs, ClickHouse's HTTP interface, the node's JSON-RPC endpoint, or the provider's base URL instead of its default.";
    url_env: |value| text(value)?, "\"NODE_URL\"", "the name of an environment variable", &[Node], "variable with its URL, if the URL contains a key.";
    chain: |value| chain(value)?, "\"eth\"", "the name or id of a chain", &[Node], "its chain. If several nodes serve the same chain, \
        tokendeck tries them in the order of this file.";
    token_env: |value| text(value)?, "\"FILES_TOKEN\"", "the name of an environment variable", &[Https, Node, Provider], "variable with the token or key to send.";
    anonymous: |value| value.as_bool()?, "true", "true or false", &[], "Send requests without credentials.";
    insecure: |value| value.as_bool()?, "true", "true or false", &[], "Allow http:// to other machines too.";
    database: |value| text(value)?, "\"ethereum\"", "text", &[ClickHouse], "database of tables that don't name one.";
    user: |value| text(value)?, "\"analyst\"", "text", &[ClickHouse], "user name. Default: `default`.";
    password_env: |value| text(value)?, "\"CLICKHOUSE_PASSWORD\"", "the name of an environment variable", &[ClickHouse], "variable with the user's password.";
    password_file: |value| text(value)?, "\"/run/secrets/clickhouse\"", "the path of a file", &[ClickHouse], "file with the user's password, instead of the variable.";
    timeout_seconds: |value| whole(value, 1, 86_400)?, "60", "a whole number from 1 to 86400", &[ClickHouse, Node], "maximum seconds for a response, also enforced by ClickHouse itself. Default: 60, or 20 for a node.";
    scan_rows_max: |value| whole(value, 1, i64::MAX)?, "5000000000", "a whole number above 0", &[ClickHouse], "maximum rows that one query may read on the server.";
    queries_max: |value| whole(value, 1, 64)?, "2", "a whole number from 1 to 64", &[ClickHouse], "maximum simultaneous queries.";
    lag_minutes: |value| Some(whole(value, 0, 10_080)?), "15", "a whole number from 0 to 10080", &[ClickHouse, Node], "minimum age of a block in minutes, since the newest blocks can be reverted. Default: 15, or the chain's finality for a node.";
    per_minute: |value| whole(value, 1, 100_000)?, "500", "a whole number from 1 to 100000", &[Provider], "requests per minute, if your key's rate differs from the one in the provider's description.";
    per_day: |value| whole(value, 1, 100_000_000)?, "200000", "a whole number above 0", &[Provider], "maximum requests per day.";
};

/// Parses one source; returns it with its settings as written. Problems are added to `errors`.
pub(super) fn read(
    entry: &TomlEntry<'_>,
    said: &[TomlEntry<'_>],
    errors: &mut Vec<TomlError>,
) -> (Source, Vec<GivenSetting>) {
    let name = entry.key;
    let mut source = Source {
        name: name.to_owned(),
        ..Source::default()
    };
    let (before, mut given, mut wanted) = (errors.len(), Vec::new(), Vec::new());
    for entry in said {
        let key = entry.key;
        let full = format!("{SECTION}.{name}.{key}");
        if SECRETS.contains(&key.to_ascii_lowercase().as_str()) {
            errors.push(entry.error(format!("`{full}`: keys do not belong in this file; put them in the environment (AWS_ACCESS_KEY_ID, …; for clickhouse, the variable that `password_env` names) or in ~/.aws")));
            continue;
        }
        if key == "verify" {
            notify(format!(
                "`{full}` no longer has an effect: tokendeck does not ask nodes for proofs. Remove the line."
            ));
            continue;
        }
        let Some(row) = SOURCE_SETTINGS.iter().find(|row| row.key == key) else {
            let keys: Vec<&str> = SOURCE_SETTINGS.iter().map(|row| row.key).collect();
            let meant = meant(key, keys.iter().copied())
                .map(|key| format!(": did you mean `{SECTION}.{name}.{key}`?"));
            let known = || format!(": expected one of {}", keys.join(", "));
            errors.push(entry.error(format!(
                "unknown setting `{full}`{}",
                meant.unwrap_or_else(known)
            )));
            continue;
        };
        if (row.put)(&mut source, entry.value).is_none() {
            errors.push(entry.error(format!(
                "`{full}` is invalid: expected {}, as in {}",
                row.expected, row.example
            )));
        }
        if !row.of.is_empty() {
            wanted.push((row, entry));
        }
        given.push(GivenSetting {
            section: SECTION,
            key: row.key,
            value: entry.written().to_owned(),
            line: entry.line(),
        });
    }
    // Once `kind` is read, wherever it is in the section.
    for (row, entry) in wanted
        .into_iter()
        .filter(|(row, _)| !row.of.contains(&source.kind))
    {
        let (key, of, kind) = (row.key, words(row.of), words(&[source.kind]));
        let reason = format!(
            "`{SECTION}.{name}.{key}` applies only to {of}, but the source's `kind` is {kind}; remove it or change `kind`"
        );
        errors.push(entry.error(reason));
    }
    if let (true, Some(reason)) = (errors.len() == before, source.fault()) {
        errors.push(entry.error(format!("`{SECTION}.{name}` {reason}")));
    }
    (source, given)
}
