//! The effective configuration as text: every setting with its value and origin. It can be parsed as `config.toml` again, but for a secret.

use std::{borrow::Cow, fmt::Write as _};

use super::{Config, Expect, KEYS_SECTION, SECTIONS, SETTINGS, SettingRow, VARIABLE, sources};
use wire::{Source, SourceKind};

/// A setting of the file: its text and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenSetting {
    pub section: &'static str,
    pub key: &'static str,
    /// As written in the file.
    pub value: String,
    pub line: usize,
}

/// Environment variables in use, each with its effect.
pub const VARIABLES: &[(&str, &str)] = &[
    (VARIABLE, "path of the configuration file"),
    (
        "TOKENDECK_API_KEY",
        "an API key in addition to the stored keys",
    ),
    ("XDG_CONFIG_HOME", "searched for tokendeck/config.toml"),
    (
        "XDG_STATE_HOME",
        "contains keys, watchlist, session and jobs",
    ),
    (
        "XDG_CACHE_HOME",
        "contains the cache, unless `cache.dir` is set",
    ),
    ("XDG_DATA_HOME", "contains the demo data"),
    ("NO_COLOR", "disables colors"),
    (
        "COLORFGBG",
        "reports whether the terminal is dark or light, for the theme `auto`",
    ),
];

impl Config {
    /// Returns every setting with its value and origin, in the order of the table; `variable` looks up environment variables.
    pub fn in_force(&self, variable: impl Fn(&str) -> Option<String>) -> String {
        let file = self.file.as_ref().map(|file| file.display().to_string());
        let mut text = match &file {
            Some(file) => format!("# Effective configuration, from {file}.\n"),
            None => {
                "# Effective configuration: no file, all settings have their defaults.\n".to_owned()
            }
        };
        let name = file.as_deref().unwrap_or(super::FILE);
        let name = name.rsplit('/').next().unwrap_or(name);
        for section in SECTIONS {
            // Writing to a String cannot fail.
            write!(text, "\n[{}]\n", section.name).ok();
            for row in SETTINGS.iter().filter(|row| row.section == section.name) {
                let given = self
                    .given
                    .iter()
                    .find(|given| (given.section, given.key) == (row.section, row.key));
                match given {
                    Some(given) => writeln!(
                        text,
                        "{} = {}  # {name}:{}",
                        row.key,
                        self.shown_value(row, given),
                        given.line
                    )
                    .ok(),
                    None => writeln!(text, "{} = {}  # default", row.key, row.default).ok(),
                };
            }
            if section.name == KEYS_SECTION {
                for (action, keys) in &self.keys {
                    writeln!(text, "{action} = {keys}  # {name}").ok();
                }
            }
            if section.name == sources::SECTION {
                for source in &self.sources {
                    self.source(source, name, &variable, &mut text);
                }
            }
        }
        text.push_str("\n# From the environment:\n");
        let before = text.len();
        for (name, meaning) in VARIABLES {
            if let Some(value) = variable(name).filter(|value| !value.is_empty()) {
                // Secrets are never shown.
                let value = if name.ends_with("_KEY") {
                    "(set)".to_owned()
                } else {
                    value.replace('\n', " ")
                };
                writeln!(text, "# {name}={value}  {meaning}").ok();
            }
        }
        if text.len() == before {
            text.push_str("# no relevant variables\n");
        }
        text
    }

    /// The value as written; of a URL that may contain a key, only scheme and host, and of a secret, nothing.
    fn shown_value<'a>(&self, row: &SettingRow, given: &'a GivenSetting) -> Cow<'a, str> {
        match (row.expect, &self.alerts.webhook) {
            (Expect::Webhook, Some(webhook)) => format!("\"{}/…\"", webhook.origin()).into(),
            (Expect::WebhookSecret, _) if self.alerts.webhook_secret.is_some() => "\"…\"".into(),
            _ => given.value.as_str().into(),
        }
    }

    /// Appends a source's settings and the origin of its credentials, never a credential itself.
    fn source(
        &self,
        source: &Source,
        file: &str,
        variable: &impl Fn(&str) -> Option<String>,
        text: &mut String,
    ) {
        let bare = |name: &str| {
            !name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        let name = if bare(&source.name) {
            source.name.clone()
        } else {
            toml::Value::from(source.name.as_str()).to_string()
        };
        writeln!(text, "\n[{}.{name}]", sources::SECTION).ok();
        for (_, said) in self
            .said_of_sources
            .iter()
            .filter(|(of, _)| *of == source.name)
        {
            writeln!(
                text,
                "{} = {}  # {file}:{}",
                said.key, said.value, said.line
            )
            .ok();
        }
        writeln!(text, "# keys: {}", credentials(source, variable)).ok();
    }

    /// Returns the settings that differ between the two configurations, as `section.key`.
    pub fn differs(&self, other: &Self) -> Vec<String> {
        let said = |config: &Self, section: &str, key: &str| {
            config
                .given
                .iter()
                .find(|given| (given.section, given.key) == (section, key))
                .map(|given| given.value.clone())
        };
        let differs = SETTINGS
            .iter()
            .filter(|row| said(self, row.section, row.key) != said(other, row.section, row.key));
        let mut names: Vec<String> = differs
            .map(|row| format!("{}.{}", row.section, row.key))
            .collect();
        if self.keys != other.keys {
            names.push(KEYS_SECTION.to_owned());
        }
        if self.sources != other.sources {
            names.push(sources::SECTION.to_owned());
        }
        names
    }
}

/// The variable for a source's key, if it is not set.
pub fn unset_variable(
    source: &Source,
    variable: &impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let named = match source.kind {
        SourceKind::ClickHouse => [&source.password_env, ""],
        SourceKind::Https | SourceKind::Provider => [&source.token_env, ""],
        SourceKind::Node => [source.token_env.as_str(), &source.url_env],
        SourceKind::S3 | SourceKind::Gcs | SourceKind::Azure => ["", ""],
    };
    let is_unset =
        |name: &&str| !name.is_empty() && variable(name).is_none_or(|value| value.is_empty());
    named.into_iter().find(is_unset).map(str::to_owned)
}

/// Describes the origin of a source's credentials.
pub fn credentials(source: &Source, variable: &impl Fn(&str) -> Option<String>) -> String {
    let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    let of_variable = |name: &str| {
        format!(
            "environment variable {name} ({})",
            if is_set(name) { "set" } else { "not set" }
        )
    };
    match source.kind {
        SourceKind::ClickHouse if !source.password_env.is_empty() => {
            of_variable(&source.password_env)
        }
        SourceKind::ClickHouse if !source.password_file.is_empty() => {
            format!("the file {}", source.password_file)
        }
        SourceKind::ClickHouse => "no password".to_owned(),
        SourceKind::Https | SourceKind::Node | SourceKind::Provider
            if !source.token_env.is_empty() =>
        {
            of_variable(&source.token_env)
        }
        SourceKind::Node if !source.url_env.is_empty() => {
            format!("in the URL: {}", of_variable(&source.url_env))
        }
        SourceKind::Https | SourceKind::Node | SourceKind::Provider => "none".to_owned(),
        _ if source.anonymous => "none (`anonymous` is true)".to_owned(),
        SourceKind::S3 if !source.profile.is_empty() => {
            format!("profile {} of ~/.aws", source.profile)
        }
        SourceKind::S3 if is_set("AWS_ACCESS_KEY_ID") && is_set("AWS_SECRET_ACCESS_KEY") => {
            "environment variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY".to_owned()
        }
        SourceKind::S3 => {
            "from the environment, ~/.aws, the container or the machine, in this order".to_owned()
        }
        SourceKind::Gcs => {
            "from GOOGLE_APPLICATION_CREDENTIALS and similar variables, or from the machine"
                .to_owned()
        }
        SourceKind::Azure => {
            "from AZURE_STORAGE_ACCOUNT_KEY and similar variables, or from the machine".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_setting_says_where_it_comes_from_and_the_whole_reads_again() {
        let text =
            "[api]\nrate_per_second = 7\n\n[terminal]\ntheme = 'light'\nkeys.export = ['y', 'F5']";
        let config = Config::parse(Some(Path::new("deck/config.toml")), text).expect("a good file");
        let shown = config.in_force(|name| (name == "TOKENDECK_API_KEY").then(|| "abc".to_owned()));
        for line in [
            "# Effective configuration, from deck/config.toml.",
            "rate_per_second = 7  # config.toml:2",
            "theme = 'light'  # config.toml:5",
            "listen = \"127.0.0.1:8787\"  # default",
            "export = [\"y\", \"F5\"]  # config.toml",
            "# TOKENDECK_API_KEY=(set)  an API key in addition to the stored keys",
        ] {
            assert!(shown.lines().any(|shown| shown == line), "{line}\n{shown}");
        }
        let again =
            Config::parse(Some(Path::new("deck/config.toml")), &shown).expect("it reads again");
        assert_eq!(
            (again.api, &again.terminal, &again.keys),
            (config.api.clone(), &config.terminal, &config.keys)
        );
        assert!(!shown.contains("abc"));
    }

    #[test]
    fn the_token_in_a_webhook_is_never_shown() {
        let text = "[alerts]\nwebhook = 'https://hooks.example.org/T0/verysecret?key=verysecret'\ncommand = ['say', '{symbol}']";
        let config = Config::parse(None, text).expect("a good file");
        let shown = config.in_force(|_| None);
        assert!(
            shown.contains("webhook = \"https://hooks.example.org/…\"  # config.toml:2"),
            "{shown}"
        );
        assert!(
            !shown.contains("verysecret") && !format!("{:?}", config.alerts).contains("verysecret")
        );
        assert_eq!(
            Config::parse(None, &shown)
                .expect("it reads again")
                .alerts
                .command,
            config.alerts.command
        );
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let text_with_secret = format!("[alerts]\nwebhook_secret = '{secret}'");
        let signed = Config::parse(None, &text_with_secret).expect("a good file");
        let shown = signed.in_force(|_| None);
        assert!(shown.contains("webhook_secret = \"…\"") && !shown.contains(secret));
        let other = Config::parse(None, &text.replace("?key=", "?k=")).expect("a good file");
        assert_eq!(config.differs(&other), ["alerts.webhook"]);
    }

    #[test]
    fn every_source_is_shown_without_a_key() {
        let text = "[sources.lake]\nkind = 's3'\nbuckets = ['a', 'b']\nregion = 'us-east-1'\n\
                    [sources.\"my files\"]\nkind = 'https'\nurl = 'https://files.example.org'\ntoken_env = 'FILES_TOKEN'\n\
                    [sources.house]\nkind = 'clickhouse'\nurl = 'http://127.0.0.1:8123'\nuser = 'analyst'\npassword_env = 'HOUSE'\nlag_minutes = 5";
        let config = Config::parse(Some(Path::new("config.toml")), text).expect("a good file");
        let secrets = [
            ("AWS_ACCESS_KEY_ID", "AKIA"),
            ("AWS_SECRET_ACCESS_KEY", "hidden"),
            ("HOUSE", "hidden too"),
        ];
        let shown = config.in_force(|name| {
            secrets
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        });
        for line in [
            "[sources.lake]",
            "buckets = ['a', 'b']  # config.toml:3",
            "# keys: environment variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
            "[sources.\"my files\"]",
            "token_env = 'FILES_TOKEN'  # config.toml:8",
            "# keys: environment variable FILES_TOKEN (not set)",
            "user = 'analyst'  # config.toml:12",
            "lag_minutes = 5  # config.toml:14",
            "# keys: environment variable HOUSE (set)",
        ] {
            assert!(shown.lines().any(|shown| shown == line), "{line}\n{shown}");
        }
        assert!(
            !shown.contains("hidden") && !shown.contains("AKIA"),
            "{shown}"
        );
        assert_eq!(
            Config::parse(None, &shown)
                .expect("it reads again")
                .sources
                .len(),
            3
        );
    }

    #[test]
    fn what_was_changed_is_named() {
        let config = |text: &str| Config::parse(None, text).expect("a good file");
        let (before, after) = (
            config("[api]\nrate_per_second = 7"),
            config("terminal.ascii = true\nterminal.keys.quit = 'Q'"),
        );
        assert_eq!(
            before.differs(&after),
            ["api.rate_per_second", "terminal.ascii", "terminal.keys"]
        );
        assert_eq!(before.differs(&before), [""; 0]);
    }
}
