//! THE table of settings: key, default, accepted values, meaning. The reader, `config.toml`, `docs/configuration.md` and the tests are derived from it.
//! The search path of the file is decided here too; the effect of a setting belongs to the module that uses it.

mod document;
mod field;
mod read;
mod shown;
mod sources;

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

use color_eyre::eyre::{Result, bail, eyre};
use toml::de::DeValue;

pub(crate) use self::field::is_listen_address;
pub use self::{
    document::{config_toml, settings_table},
    field::{Expect, ThemeChoice},
    shown::{GivenSetting, VARIABLES, credentials, unset_variable},
    sources::{SOURCE_SETTINGS, SourceRow},
};
use frames::cache::CacheOptions;
use model::private_files::read_whole_text;
use query::{
    jobs::{AlertCommand, AlertRoutes},
    queries::{
        exchanges::{self, Exchanges},
        snapshot::AnswerSettings,
    },
    service::{ServiceOptions, refresh::FeedOptions},
};
use tui::{graphics::Graphics, zone::DisplayZone};
use wire::{
    self, Consent, Source,
    web::{WebhookSecret, WebhookUrl},
};

/// The file's name, in the working directory and in the user's configuration directory.
pub const FILE: &str = "config.toml";
/// A file next to it with the user's own exchanges.
pub const EXCHANGES_FILE: &str = "exchanges.toml";
/// Maximum size of one of these files.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Environment variable with the path of the file, used where `--config` is not given.
pub const VARIABLE: &str = "TOKENDECK_CONFIG";
/// Default rate limit of a server reachable from other machines, in requests per second and API key: far above the needs of a user
/// reading a page, far below the capacity of the machine.
const RATE_OFF_LOOPBACK: u32 = 100;

/// One setting with its documentation.
#[derive(Debug, Clone, Copy)]
pub struct SettingRow {
    pub section: &'static str,
    pub key: &'static str,
    /// In TOML syntax.
    pub default: &'static str,
    pub expect: Expect,
    pub meaning: &'static str,
    /// Whether a value is valid.
    accepts: fn(&DeValue<'_>, Expect) -> bool,
}

/// One section with its documentation.
#[derive(Debug, Clone, Copy)]
pub struct SectionRow {
    pub name: &'static str,
    pub meaning: &'static str,
}

macro_rules! settings {
    ($($name:literal $section:ident $type:ident $says:literal {
        $($key:ident: $kind:ty = $default:literal, $expect:expr, $meaning:literal;)*
    })*) => {
        /// Every setting with its value.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Config {
            /// Path of the file; none where every setting has its default.
            pub file: Option<PathBuf>,
            $(pub $section: $type,)*
            /// The settings that the file contains.
            pub given: Vec<GivenSetting>,
            /// The user's remote sources.
            pub sources: Vec<Source>,
            /// The settings that the file contains for each source, by the source's name.
            pub said_of_sources: Vec<(String, GivenSetting)>,
            /// The user's key bindings: action = key or keys. Validated by the key table.
            pub keys: toml::Table,
            /// The exchanges: the built-in table with the user's own rows.
            pub exchanges: Arc<Exchanges>,
        }

        $(#[doc = $says]
        #[derive(Debug, Clone, PartialEq)]
        pub struct $type { $(#[doc = $meaning] pub $key: $kind,)* })*

        /// All sections, in the order of `config.toml`.
        pub const SECTIONS: &[SectionRow] = &[$(SectionRow { name: $name, meaning: $says },)*
            SectionRow { name: sources::SECTION, meaning: "Remote sources, one section each, [sources.NAME]. Credentials come from the environment, a password file or ~/.aws." },
            SectionRow { name: KEYS_SECTION, meaning: "Your key bindings: an action and its key or keys, as in `copy_value = [\"y\", \"F6\"]`." }];

        /// All settings, in the order of `config.toml`.
        pub const SETTINGS: &[SettingRow] = &[$($(SettingRow {
            section: $name, key: stringify!($key), default: $default, expect: $expect, meaning: $meaning,
            accepts: |value, expect| <$kind as field::SettingValue>::read(value, expect, Path::new("")).is_some(),
        },)*)*];

        impl Config {
            fn from_given(given: &read::Given<'_>) -> Self {
                Self {
                    file: given.file.map(Path::to_owned),
                    $($section: $type { $($key: given.value($name, stringify!($key)),)* },)*
                    given: given.said.clone(),
                    sources: given.sources.clone(),
                    said_of_sources: given.said_of_sources.clone(),
                    keys: given.keys.clone(),
                    exchanges: exchanges::built_in(),
                }
            }
        }
    };
}

/// Section of the key bindings: its keys are actions rather than settings.
pub(crate) const KEYS_SECTION: &str = "terminal.keys";

settings! {
    "datasets" datasets Datasets "The dataset." {
        dir: PathBuf = "\"datasets\"", Expect::Path, "The dataset's folder; `--data` overrides it.";
        watch: bool = "true", Expect::Switch, "Reload changed files while tokendeck runs.";
    }
    "cache" cache Cache "The on-disk cache: large tables are sorted once and then read from disk." {
        dir: Option<PathBuf> = "\"\"", Expect::OptionalPath, "Folder of the cache. Empty: `$XDG_CACHE_HOME/tokendeck`.";
        size_mb: u32 = "20480", Expect::Whole(0, 100_000_000), "Maximum size in MB; above it, the least recently used tables are deleted.";
        rows: u32 = "200000", Expect::Whole(1, 1_000_000_000), "Minimum rows of a cached table; smaller tables stay in memory.";
    }
    "api" api Api "The HTTP API." {
        enabled: bool = "true", Expect::Switch, "Start the API with the dashboard; `--no-api` overrides it.";
        listen: String = "\"127.0.0.1:8787\"", Expect::Listen, "Address to listen on; port 0 picks a free port.";
        hosts: Vec<String> = "[]", Expect::Hosts, "Names that a request's `Host` header may contain, in addition to loopback.";
        cors_origins: Vec<String> = "[]", Expect::Origins, "Origins of web pages that may read responses in a browser.";
        keys_file: Option<PathBuf> = "\"\"", Expect::OptionalPath, "File with the API keys, one per line, instead of the key created at the first start.";
        rate_per_second: u32 = "0", Expect::Whole(0, 1_000_000), "Requests per second per key. 0: no limit on loopback, 100 on other addresses.";
        connections: u32 = "1024", Expect::Whole(1, 65_536), "Maximum simultaneous connections.";
        event_streams: u32 = "64", Expect::Whole(0, 65_536), "Maximum connections that stream events.";
        row_streams: u32 = "16", Expect::Whole(0, 4_096), "Maximum clients that stream rows at the same time.";
        docs: bool = "true", Expect::Switch, "Serve the interactive API documentation at /docs.";
        header_seconds: u32 = "5", Expect::Whole(1, 3_600), "Maximum seconds to receive a request's headers.";
        body_seconds: u32 = "30", Expect::Whole(1, 3_600), "Maximum seconds to receive a request's body.";
        idle_seconds: u32 = "75", Expect::Whole(1, 86_400), "Seconds until an idle connection is closed.";
    }
    "terminal" terminal Terminal "The dashboard." {
        theme: ThemeChoice = "\"auto\"", Expect::Theme, "auto (dark or light, like the terminal), dark, light, high-contrast, or a theme file; `--theme` overrides it.";
        mouse: bool = "true", Expect::Switch, "Enable mouse support; `--no-mouse` overrides it.";
        graphics: Graphics = "\"auto\"", Expect::Graphics, "Draw charts in pixels: auto (if the terminal reports support), kitty, iterm or sixel (with that protocol), or off; `--graphics` overrides it.";
        up_down_swapped: bool = "false", Expect::Switch, "Show rising prices in red and falling prices in green, as markets in East Asia do.";
        colour_blind: bool = "false", Expect::Switch, "Use blue and orange instead of green and red.";
        ascii: bool = "false", Expect::Switch, "Use only ASCII for lines, bars and marks; always on if `TERM` is dumb, vt100, vt220 or linux.";
        bell: bool = "true", Expect::Switch, "Ring the terminal's bell when an alert fires.";
        time_zone: DisplayZone = "\"UTC\"", Expect::Zone, "Time zone of the times on screen, as in \"Europe/Berlin\"; days of daily candles, exports, reports and the API stay in UTC.";
    }
    "analysis" analysis Analysis "Thresholds of the analyses." {
        whale_usd: f64 = "100000", Expect::Number(0.0, 1e15), "A smart follower (the wallet of a key opinion leader) that holds at least this USD value of a token counts as a whale.";
        medium_usd: f64 = "10000", Expect::Number(0.0, 1e15), "A smart follower that holds at least this USD value of a token counts as medium.";
        whale_change_percent: f64 = "1", Expect::Number(0.0, 100.0), "Percent change in the whales' balance at which they count as accumulating or distributing.";
    }
    "jobs" jobs Jobs "Deep analyses." {
        workers: u32 = "2", Expect::Whole(1, 256), "Jobs that run at the same time.";
        queue: u32 = "1000", Expect::Whole(1, 100_000), "Maximum queued jobs.";
        keep_days: u32 = "90", Expect::Whole(0, 36_500), "Days after which a finished job is deleted. 0: never.";
        keep_count: u32 = "10000", Expect::Whole(1, 1_000_000), "Maximum stored jobs; above it, the oldest finished jobs are deleted.";
    }
    "alerts" alerts Alerts "Notifications outside tokendeck when an alert fires, up to one per second and 20 per minute." {
        command: Option<AlertCommand> = "[]", Expect::Command, "Program and arguments, run without a shell for up to 10 s, as in [\"notify-send\", \"--\", \"{symbol}\", \"{condition}\"]; {name}, {token_address} and {value} are replaced too. Empty: none.";
        webhook: Option<WebhookUrl> = "\"\"", Expect::Webhook, "URL to which each alert is posted as JSON, in the form of GET /alerts. Empty: none.";
        webhook_secret: Option<WebhookSecret> = "\"\"", Expect::WebhookSecret, "Secret that signs what the webhook receives, as in \"whsec_…\". Empty: not signed.";
        webhook_text: String = "\"\"", Expect::Member, "JSON field in which a chat service expects the text: \"text\" for Slack and Mattermost, \"content\" for Discord. Empty: none.";
    }
    "deck" service ServiceSettings "The query service." {
        workers: u32 = "0", Expect::Whole(0, 256), "Query threads. 0: one per processor, up to 8.";
        queue: u32 = "1024", Expect::Whole(1, 1_000_000), "Maximum queries that run or wait.";
        memo_mb: u32 = "48", Expect::Whole(0, 65_536), "MB of results cached for repeated queries.";
        records: bool = "true", Expect::Switch, "Compute track records of all tokens in the background when a result first needs them.";
    }
    "remote" remote Remote "Data that a dataset loads from other hosts: object stores, web servers and data providers." {
        enabled: Consent = "\"ask\"", Expect::Consent, "Whether to contact these hosts: \"ask\" (once per dataset and host), true or false; `--remote` sets it to true.";
        budget_gb_per_day: u32 = "200", Expect::Whole(0, 1_000_000), "Maximum GB to download per day.";
        requests_per_day: u32 = "100000", Expect::Whole(1, 100_000_000), "Maximum requests to one provider per day.";
    }
}

impl Config {
    /// Loads the first of: `given` (`--config`), `TOKENDECK_CONFIG`, `./config.toml`, and `config.toml` in `home`, the user's configuration
    /// directory. Returns the defaults if there is none. Errors: a file that was named is missing, or the file is
    /// invalid.
    pub fn find(
        given: Option<&Path>,
        variable: Option<&Path>,
        home: Option<&Path>,
    ) -> Result<Self> {
        let here = [Some(PathBuf::from(FILE)), home.map(|home| home.join(FILE))];
        let named = given
            .or(variable.filter(|path| !path.as_os_str().is_empty()))
            .map(Path::to_owned);
        match named.or_else(|| here.into_iter().flatten().find(|path| path.exists())) {
            Some(file) => Self::load(&file),
            None => Self::parse(None, ""),
        }
    }

    /// Folder of the file, which also contains the user's own descriptions; none without a file.
    pub fn folder(&self) -> Option<PathBuf> {
        let folder = self.file.as_ref()?.parent()?;
        Some(if folder.as_os_str().is_empty() {
            PathBuf::from(".")
        } else {
            folder.to_owned()
        })
    }

    fn load(file: &Path) -> Result<Self> {
        let text = read_whole_text(file, FILE_BYTES_MAX).map_err(|error| {
            eyre!(
                "cannot read the configuration `{}`: {}",
                file.display(),
                plain_reason(&error)
            )
        })?;
        let exchanges = own_exchanges(&file.with_file_name(EXCHANGES_FILE))?;
        Ok(Self {
            exchanges,
            ..Self::parse(Some(file), &text)?
        })
    }

    /// Parses `text`, the content of `file`; paths in it are relative to the folder of the file. The error is one line with the place, the
    /// setting and the expected value.
    pub fn parse(file: Option<&Path>, text: &str) -> Result<Self> {
        let config = read::read(file, text, Self::from_given)?;
        if config.analysis.medium_usd > config.analysis.whale_usd {
            let place = file.map_or_else(String::new, |file| format!("{}: ", file.display()));
            let (medium, whale) = (config.analysis.medium_usd, config.analysis.whale_usd);
            bail!(
                "{place}`analysis.medium_usd` is {medium}: expected no more than `analysis.whale_usd`, which is {whale}"
            );
        }
        Ok(config)
    }

    pub fn deck_options(&self) -> ServiceOptions {
        let usual = ServiceOptions::default();
        ServiceOptions {
            feed: FeedOptions {
                own_providers: self.folder(),
                watchlist: None,
            },
            settings: AnswerSettings {
                whale_usd: self.analysis.whale_usd,
                medium_usd: self.analysis.medium_usd,
                whale_change_percent: self.analysis.whale_change_percent,
                exchanges: Arc::clone(&self.exchanges),
            },
            workers: if self.service.workers == 0 {
                usual.workers
            } else {
                self.service.workers as usize
            },
            queue: self.service.queue as usize,
            memo_bytes: u64::from(self.service.memo_mb) << 20,
            cache: self.cache_options(None),
            wire: None,
            as_of: None,
            counts_records: self.service.records,
        }
    }

    /// Options of the connections to remote sources.
    pub fn wire_options(&self) -> wire::WireOptions {
        wire::WireOptions {
            consent: self.remote.enabled,
            budget: u64::from(self.remote.budget_gb_per_day) * 1_000_000_000,
            requests_per_day: self.remote.requests_per_day,
            sources: self.sources.clone(),
            ..wire::WireOptions::default()
        }
    }

    /// Cache options. The folder is the configured one, or `usual`; with neither, there is no cache.
    pub fn cache_options(&self, usual: Option<&Path>) -> CacheOptions {
        CacheOptions {
            folder: self.cache.dir.clone().or_else(|| usual.map(Path::to_owned)),
            size_max: u64::from(self.cache.size_mb) << 20,
            rows_min: self.cache.rows.into(),
            ..CacheOptions::default()
        }
    }
}

impl Alerts {
    pub fn routes(&self) -> AlertRoutes {
        AlertRoutes {
            command: self.command.clone(),
            webhook: self.webhook.clone(),
            webhook_secret: self.webhook_secret.clone(),
            webhook_text: self.webhook_text.clone(),
        }
    }
}

/// The table of exchanges with the rows of the user's file, if there is one.
fn own_exchanges(file: &Path) -> Result<Arc<Exchanges>> {
    match read_whole_text(file, FILE_BYTES_MAX) {
        Ok(text) => exchanges::with_own(&text).map_err(|reason| {
            eyre!(
                "{}: {reason}; docs/security.md describes its rows",
                file.display()
            )
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(exchanges::built_in()),
        Err(error) => Err(eyre!(
            "cannot read `{}`: {}",
            file.display(),
            plain_reason(&error)
        )),
    }
}

impl Api {
    /// Rate limit of one API key, in requests per second, of a server that listens on `address`; none for no limit.
    pub fn rate(&self, address: IpAddr) -> Option<u32> {
        match self.rate_per_second {
            0 if address.is_loopback() => None,
            0 => Some(RATE_OFF_LOOPBACK),
            rate => Some(rate),
        }
    }
}

/// The system error's reason as text, without its number.
pub(crate) fn plain_reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    let words = text.split(" (os error").next().unwrap_or(&text);
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_parts_they_are_for() {
        let config = Config::parse(None, "").expect("defaults are good");
        let usual = ServiceOptions::default();
        let ours = config.deck_options();
        assert_eq!((ours.settings, ours.cache), (usual.settings, usual.cache));
        assert_eq!(
            (ours.workers, ours.queue, ours.memo_bytes),
            (usual.workers, usual.queue, usual.memo_bytes)
        );
    }

    #[test]
    fn a_server_that_can_be_reached_from_elsewhere_has_a_rate() {
        let mut api = Config::parse(None, "").expect("defaults are good").api;
        let (near, far) = (IpAddr::from([127, 0, 0, 1]), IpAddr::from([0, 0, 0, 0]));
        assert_eq!(
            (api.rate(near), api.rate(far)),
            (None, Some(RATE_OFF_LOOPBACK))
        );
        api.rate_per_second = 7;
        assert_eq!((api.rate(near), api.rate(far)), (Some(7), Some(7)));
    }
}
