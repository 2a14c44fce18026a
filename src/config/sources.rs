//! `[sources.NAME]`: any number of sources of remote files. The table of their settings, and the parser of one source.

use toml::de::DeValue;

use super::GivenSetting;
use model::{
    chain::Chain,
    spelling::meant,
    toml_reader::{TomlEntry, TomlError, integer},
};
use wire::{
    Source,
    SourceKind::{self, Azure, ClickHouse, Gcs, Https, Node, Provider, S3},
};

/// The section that contains them.
pub(crate) const SECTION: &str = "sources";

/// Wrong names under which people put credentials into a source.
const SECRETS: [&str; 8] =
    ["key", "secret", "password", "token", "access_key_id", "secret_access_key", "aws_access_key_id", "aws_secret_access_key"];

/// One setting of a source with its documentation.
#[derive(Debug, Clone, Copy)]
pub struct SourceRow {
    pub key: &'static str,
    /// An example in TOML syntax.
    pub example: &'static str,
    pub expected: &'static str,
    /// The kinds of sources that have it; none: all.
    of: &'static [SourceKind],
    /// Goes on after `Of node: ` where it is of some kinds only.
    meaning: &'static str,
    put: Put,
}

impl SourceRow {
    /// What it means, and of which kinds of sources.
    pub fn says(&self) -> String {
        if self.of.is_empty() { self.meaning.to_owned() } else { format!("Of {}: {}", words(self.of), self.meaning) }
    }
}

/// `node`, or `https, node and provider`.
fn words(kinds: &[SourceKind]) -> String {
    let word = |kind: &SourceKind| SourceKind::WORDS.iter().find(|(_, known)| known == kind).map_or("", |(word, _)| *word);
    match kinds.split_last() {
        Some((last, before @ [_, ..])) => format!("{} and {}", before.iter().map(word).collect::<Vec<_>>().join(", "), word(last)),
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
    value.as_array()?.iter().map(|item| text(item.get_ref()).filter(|name| !name.is_empty())).collect()
}

fn kind(value: &DeValue<'_>) -> Option<SourceKind> {
    let word = value.as_str()?;
    SourceKind::WORDS.iter().find(|(known, _)| *known == word).map(|(_, kind)| *kind)
}

/// The short name of a chain.
fn chain(value: &DeValue<'_>) -> Option<String> {
    let written = integer(value).map(|id| id.to_string()).or_else(|| text(value))?;
    Chain::parse(&written).map(|chain| chain.to_string())
}

fn whole<T: TryFrom<i64>>(value: &DeValue<'_>, least: i64, most: i64) -> Option<T> {
    integer(value).filter(|number| (least..=most).contains(number)).and_then(|number| T::try_from(number).ok())
}

/// All settings of a source.
pub const SOURCE_SETTINGS: &[SourceRow] = rows! {
    kind: |value| kind(value)?, "\"s3\"", "\"s3\", \"gcs\", \"azure\", \"https\", \"clickhouse\", \"node\" or \"provider\"", &[], "What it speaks.";
    buckets: |value| names(value)?, "[\"my-bucket\"]", "a list of names", &[S3, Gcs, Azure], "the buckets or containers its keys may be sent to.";
    region: |value| text(value)?, "\"eu-west-1\"", "text", &[S3], "where the environment does not say it.";
    endpoint: |value| text(value)?, "\"http://127.0.0.1:9000\"", "a URL", &[], "A store that is not the cloud's own, as MinIO or Ceph; http:// on this machine only.";
    profile: |value| text(value)?, "\"work\"", "text", &[S3], "whose keys of `~/.aws` are used, before those of the environment.";
    account: |value| text(value)?, "\"myaccount\"", "text", &[Azure], "the storage account.";
    url: |value| text(value)?, "\"https://files.example.org/data\"", "a URL", &[Https, ClickHouse, Node, Provider], "the prefix of https URLs; ClickHouse's HTTP interface; a node's JSON-RPC; where a provider is asked, in place of its home.";
    url_env: |value| text(value)?, "\"NODE_URL\"", "the name of an environment variable", &[Node], "the variable with its URL, where a key stands in the path.";
    chain: |value| chain(value)?, "\"eth\"", "the name or id of a chain", &[Node], "the chain it is of; of several nodes of a chain the next is asked when one fails, in the order of this file.";
    token_env: |value| text(value)?, "\"FILES_TOKEN\"", "the name of an environment variable", &[Https, Node, Provider], "the variable with the token or key that is sent.";
    anonymous: |value| value.as_bool()?, "true", "true or false", &[], "Whether it is asked without keys.";
    insecure: |value| value.as_bool()?, "true", "true or false", &[], "Whether http:// is used to other machines too.";
    verify: |value| value.as_bool()?, "true", "true or false", &[Node], "whether it must prove accounts, code and slots (eth_getProof) against the state root of the block.";
    database: |value| text(value)?, "\"ethereum\"", "text", &[ClickHouse], "the database of tables that name none.";
    user: |value| text(value)?, "\"analyst\"", "text", &[ClickHouse], "who asks; without it the server's `default`.";
    password_env: |value| text(value)?, "\"CLICKHOUSE_PASSWORD\"", "the name of an environment variable", &[ClickHouse], "the variable with the user's password.";
    password_file: |value| text(value)?, "\"/run/secrets/clickhouse\"", "the path of a file", &[ClickHouse], "the file with the user's password, in place of the variable.";
    timeout_seconds: |value| whole(value, 1, 86_400)?, "60", "a whole number from 1 to 86400", &[ClickHouse, Node], "how long an answer may take to come, and may be worked on there; else 60, of a node 20.";
    scan_rows_max: |value| whole(value, 1, i64::MAX)?, "5000000000", "a whole number above 0", &[ClickHouse], "rows that one query may read there.";
    queries_max: |value| whole(value, 1, 64)?, "2", "a whole number from 1 to 64", &[ClickHouse], "queries at once.";
    lag_minutes: |value| Some(whole(value, 0, 10_080)?), "15", "a whole number from 0 to 10080", &[ClickHouse, Node], "minutes a block has to be old to be taken, as the newest may be taken back; without it a node's are as old as its chain wants.";
    per_minute: |value| whole(value, 1, 100_000)?, "500", "a whole number from 1 to 100000", &[Provider], "requests a minute, where a key allows another number than its description says.";
    per_day: |value| whole(value, 1, 100_000_000)?, "200000", "a whole number above 0", &[Provider], "requests a day.";
};

/// Parses one source; returns it with its settings as written. Problems are added to `errors`.
pub(super) fn read(entry: &TomlEntry<'_>, said: &[TomlEntry<'_>], errors: &mut Vec<TomlError>) -> (Source, Vec<GivenSetting>) {
    let name = entry.key;
    let mut source = Source { name: name.to_owned(), ..Source::default() };
    let (before, mut given, mut wanted) = (errors.len(), Vec::new(), Vec::new());
    for entry in said {
        let key = entry.key;
        let full = format!("{SECTION}.{name}.{key}");
        if SECRETS.contains(&key.to_ascii_lowercase().as_str()) {
            errors.push(entry.error(format!("`{full}`: keys do not belong in this file: they stand in the environment (AWS_ACCESS_KEY_ID, …; of clickhouse the variable that `password_env` names) or in ~/.aws")));
            continue;
        }
        let Some(row) = SOURCE_SETTINGS.iter().find(|row| row.key == key) else {
            let keys: Vec<&str> = SOURCE_SETTINGS.iter().map(|row| row.key).collect();
            let meant = meant(key, keys.iter().copied()).map(|key| format!(": did you mean `{SECTION}.{name}.{key}`?"));
            let known = || format!(": expected one of {}", keys.join(", "));
            errors.push(entry.error(format!("unknown setting `{full}`{}", meant.unwrap_or_else(known))));
            continue;
        };
        if (row.put)(&mut source, entry.value).is_none() {
            errors.push(entry.error(format!("`{full}`: expected {}, as in {}", row.expected, row.example)));
        }
        if !row.of.is_empty() {
            wanted.push((row, entry));
        }
        given.push(GivenSetting { section: SECTION, key: row.key, value: entry.written().to_owned(), line: entry.line() });
    }
    // Once `kind` is read, wherever it stands.
    for (row, entry) in wanted.into_iter().filter(|(row, _)| !row.of.contains(&source.kind)) {
        let (key, of, kind) = (row.key, words(row.of), words(&[source.kind]));
        let reason = format!(
            "`{SECTION}.{name}.{key}` is a setting of {of}, and the source is of the kind {kind}: take it out, or say another `kind`"
        );
        errors.push(entry.error(reason));
    }
    if let (true, Some(reason)) = (errors.len() == before, source.fault()) {
        errors.push(entry.error(format!("`{SECTION}.{name}` {reason}")));
    }
    (source, given)
}
