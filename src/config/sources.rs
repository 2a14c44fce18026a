//! `[sources.NAME]`: sources of files elsewhere, of which a person may name any number. The table of what is said of one, and its reader.

use toml::de::DeValue;

use super::GivenSetting;
use crate::{
    spelling::meant,
    toml_reader::{TomlEntry, TomlError, integer},
    wire::{Source, SourceKind},
};

/// The section that holds them.
pub(crate) const SECTION: &str = "sources";

/// Names under which people put keys into a source.
const SECRETS: [&str; 8] =
    ["key", "secret", "password", "token", "access_key_id", "secret_access_key", "aws_access_key_id", "aws_secret_access_key"];

/// What may be said of a source, as a person is told of it.
#[derive(Debug, Clone, Copy)]
pub struct SourceRow {
    pub key: &'static str,
    /// An example, as it would stand in the file.
    pub example: &'static str,
    pub expected: &'static str,
    pub meaning: &'static str,
    put: Put,
}

/// Takes the value in, if it is what is expected.
type Put = fn(&mut Source, &DeValue<'_>) -> Option<()>;

macro_rules! row {
    ($key:literal, $example:literal, $expected:literal, $meaning:literal, $put:expr) => {
        SourceRow { key: $key, example: $example, expected: $expected, meaning: $meaning, put: $put }
    };
}

fn text(value: &DeValue<'_>) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn whole(value: &DeValue<'_>, least: u64, most: u64) -> Option<u64> {
    let number = integer(value).and_then(|number| u64::try_from(number).ok());
    number.filter(|number| (least..=most).contains(number))
}

/// What may be said of a source.
pub const SOURCE_SETTINGS: &[SourceRow] = &[
    row!("kind", "\"s3\"", "\"s3\", \"gcs\", \"azure\", \"https\" or \"clickhouse\"", "What it speaks.", |source, value| {
        let word = value.as_str()?;
        source.kind = SourceKind::WORDS.iter().find(|(known, _)| *known == word)?.1;
        Some(())
    }),
    row!(
        "buckets",
        "[\"my-bucket\"]",
        "a list of names",
        "Of s3, gcs and azure: the buckets or containers its keys may be sent to.",
        |source, value| {
            let names: Option<Vec<String>> =
                value.as_array()?.iter().map(|item| text(item.get_ref()).filter(|name| !name.is_empty())).collect();
            source.buckets = names?;
            Some(())
        }
    ),
    row!("region", "\"eu-west-1\"", "text", "Of s3, where the environment does not say it.", |source, value| {
        source.region = text(value)?;
        Some(())
    }),
    row!(
        "endpoint",
        "\"http://127.0.0.1:9000\"",
        "a URL",
        "A store that is not the cloud's own, as MinIO or Ceph; http:// on this machine only.",
        |source, value| {
            source.endpoint = text(value)?;
            Some(())
        }
    ),
    row!("profile", "\"work\"", "text", "Of s3: whose keys of `~/.aws` are used, before those of the environment.", |source, value| {
        source.profile = text(value)?;
        Some(())
    }),
    row!("account", "\"myaccount\"", "text", "Of azure: the storage account.", |source, value| {
        source.account = text(value)?;
        Some(())
    }),
    row!(
        "url",
        "\"https://files.example.org/data\"",
        "a URL",
        "Of https: what its URLs begin with; of clickhouse: its HTTP interface.",
        |source, value| {
            source.url = text(value)?;
            Some(())
        }
    ),
    row!(
        "token_env",
        "\"FILES_TOKEN\"",
        "the name of an environment variable",
        "Of https: the variable with the token that is sent.",
        |source, value| {
            source.token_env = text(value)?;
            Some(())
        }
    ),
    row!("anonymous", "true", "true or false", "Whether it is asked without keys.", |source, value| {
        source.anonymous = value.as_bool()?;
        Some(())
    }),
    row!("insecure", "true", "true or false", "Whether http:// is used to other machines too.", |source, value| {
        source.insecure = value.as_bool()?;
        Some(())
    }),
    row!("database", "\"ethereum\"", "text", "Of clickhouse: the database of tables that name none.", |source, value| {
        source.database = text(value)?;
        Some(())
    }),
    row!("user", "\"analyst\"", "text", "Of clickhouse: who asks; without it the server's `default`.", |source, value| {
        source.user = text(value)?;
        Some(())
    }),
    row!(
        "password_env",
        "\"CLICKHOUSE_PASSWORD\"",
        "the name of an environment variable",
        "Of clickhouse: the variable with the user's password.",
        |source, value| {
            source.password_env = text(value)?;
            Some(())
        }
    ),
    row!(
        "password_file",
        "\"/run/secrets/clickhouse\"",
        "the path of a file",
        "Of clickhouse: the file with the user's password, in place of the variable.",
        |source, value| {
            source.password_file = text(value)?;
            Some(())
        }
    ),
    row!(
        "timeout_seconds",
        "60",
        "a whole number from 1 to 86400",
        "Of clickhouse: how long an answer may take to come, and may be worked on there.",
        |source, value| {
            source.timeout_seconds = whole(value, 1, 86_400)? as u32;
            Some(())
        }
    ),
    row!("scan_rows_max", "5000000000", "a whole number above 0", "Of clickhouse: rows that one query may read there.", |source, value| {
        source.scan_rows_max = whole(value, 1, u64::MAX >> 1)?;
        Some(())
    }),
    row!("queries_max", "2", "a whole number from 1 to 64", "Of clickhouse: queries at once.", |source, value| {
        source.queries_max = whole(value, 1, 64)? as u32;
        Some(())
    }),
    row!(
        "lag_minutes",
        "15",
        "a whole number from 0 to 10080",
        "Of clickhouse: minutes a block has to be old to be taken, as the newest may be taken back.",
        |source, value| {
            source.lag_minutes = Some(whole(value, 0, 10_080)? as u32);
            Some(())
        }
    ),
];

/// Reads one source, and what is said of it as it is written; what is wrong goes to `errors`.
pub(super) fn read(entry: &TomlEntry<'_>, said: &[TomlEntry<'_>], errors: &mut Vec<TomlError>) -> (Source, Vec<GivenSetting>) {
    let name = entry.key;
    let mut source = Source { name: name.to_owned(), ..Source::default() };
    let (before, mut given) = (errors.len(), Vec::new());
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
        given.push(GivenSetting { section: SECTION, key: row.key, value: entry.written().to_owned(), line: entry.line() });
    }
    if let (true, Some(reason)) = (errors.len() == before, source.fault()) {
        errors.push(entry.error(format!("`{SECTION}.{name}` {reason}")));
    }
    (source, given)
}
