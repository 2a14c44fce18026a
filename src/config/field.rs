//! Value types of settings: parsing, validation, and the description of accepted values in messages.

use std::path::{Path, PathBuf};

use toml::de::DeValue;

use model::toml_reader::{integer, number};
use query::jobs::{AlertCommand, AlertRoutes};
use tui::{graphics::Graphics, zone::DisplayZone};
use wire::{
    Consent,
    web::{WebhookSecret, WebhookUrl},
};

/// Accepted values of a setting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Expect {
    Switch,
    Path,
    /// A path; empty for none.
    OptionalPath,
    Listen,
    Hosts,
    Origins,
    Theme,
    Graphics,
    Zone,
    /// Whether remote hosts may be contacted.
    Consent,
    /// A program with its arguments; empty for none.
    Command,
    /// A URL that messages are posted to; empty for none.
    Webhook,
    /// A secret that messages to a webhook are signed with; empty for none.
    WebhookSecret,
    /// The JSON field of a webhook for the text; empty for none.
    Member,
    /// Inclusive range.
    Whole(u32, u32),
    /// Inclusive range.
    Number(f64, f64),
}

impl Expect {
    /// Describes the accepted values; continues "expected …".
    pub fn sentence(self) -> String {
        match self {
            Self::Switch => "true or false".into(),
            Self::Path => "a path, as text".into(),
            Self::OptionalPath => "a path, as text; empty for none".into(),
            Self::Listen => "an address and port, such as \"127.0.0.1:8787\"".into(),
            Self::Hosts => "a list of host names without port, as in [\"deck.example.org\"]".into(),
            Self::Origins => "a list of origins, as in [\"https://deck.example.org\"]".into(),
            Self::Theme => "auto, dark, light, high-contrast, or the path of a theme file that ends in .toml".into(),
            Self::Graphics => "auto, kitty, iterm, sixel or off".into(),
            Self::Zone => "a time zone such as \"UTC\" or \"Europe/Berlin\"".into(),
            Self::Consent => "\"ask\", true or false".into(),
            Self::Command => AlertCommand::expected(),
            Self::Webhook => "a URL that starts with https://, or with http:// on this machine or its network; empty for none".into(),
            Self::WebhookSecret => "`whsec_` and 24 to 64 bytes in base64; empty for none".into(),
            Self::Member => "the name of a JSON field, such as `text` or `content`; empty for none".into(),
            Self::Whole(least, most) => format!("a whole number from {least} to {most}"),
            Self::Number(least, most) => format!("a number from {least} to {most}"),
        }
    }

    /// Whether the value may hold a key, and is therefore not shown.
    pub(super) fn is_secret(self) -> bool {
        matches!(self, Self::Webhook | Self::WebhookSecret)
    }
}

/// Choice of theme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThemeChoice {
    /// Dark or light, like the terminal's background.
    Auto,
    /// A built-in theme.
    Named(&'static str),
    File(PathBuf),
}

impl ThemeChoice {
    pub const NAMES: [&str; 3] = ["dark", "light", "high-contrast"];

    /// Parses a theme's name, or the path of a theme file relative to `folder`.
    pub fn parse(text: &str, folder: &Path) -> Option<Self> {
        if text.eq_ignore_ascii_case("auto") {
            return Some(Self::Auto);
        }
        let named = Self::NAMES
            .into_iter()
            .find(|name| text.eq_ignore_ascii_case(name));
        let is_file = || {
            Path::new(text)
                .extension()
                .is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
        };
        named
            .map(Self::Named)
            .or_else(|| is_file().then(|| Self::File(resolve_path(text, folder))))
    }
}

/// Value type of a setting.
pub(super) trait SettingValue: Sized {
    /// Parses the value; none where it is not accepted. Relative paths start at `folder`.
    fn read(value: &DeValue<'_>, expect: Expect, folder: &Path) -> Option<Self>;
}

impl SettingValue for bool {
    fn read(value: &DeValue<'_>, _: Expect, _: &Path) -> Option<Self> {
        value.as_bool()
    }
}

impl SettingValue for u32 {
    fn read(value: &DeValue<'_>, expect: Expect, _: &Path) -> Option<Self> {
        let number = integer(value)?.try_into().ok()?;
        matches!(expect, Expect::Whole(least, most) if (least..=most).contains(&number))
            .then_some(number)
    }
}

impl SettingValue for f64 {
    fn read(value: &DeValue<'_>, expect: Expect, _: &Path) -> Option<Self> {
        let number = number(value)?;
        matches!(expect, Expect::Number(least, most) if (least..=most).contains(&number))
            .then_some(number)
    }
}

impl SettingValue for String {
    fn read(value: &DeValue<'_>, expect: Expect, _: &Path) -> Option<Self> {
        let text = value.as_str()?;
        let good = if expect == Expect::Member {
            AlertRoutes::is_text_member(text)
        } else {
            is_listen_address(text)
        };
        good.then(|| text.to_owned())
    }
}

impl SettingValue for Vec<String> {
    fn read(value: &DeValue<'_>, expect: Expect, _: &Path) -> Option<Self> {
        let good = if expect == Expect::Origins {
            is_origin
        } else {
            is_host
        };
        value
            .as_array()?
            .iter()
            .map(|item| {
                item.get_ref()
                    .as_str()
                    .filter(|text| good(text))
                    .map(str::to_owned)
            })
            .collect()
    }
}

impl SettingValue for Consent {
    fn read(value: &DeValue<'_>, _: Expect, _: &Path) -> Option<Self> {
        match (value.as_bool(), value.as_str()) {
            (Some(true), _) => Some(Self::Always),
            (Some(false), _) => Some(Self::Never),
            (None, Some("ask")) => Some(Self::Ask),
            _ => None,
        }
    }
}

impl SettingValue for ThemeChoice {
    fn read(value: &DeValue<'_>, _: Expect, folder: &Path) -> Option<Self> {
        Self::parse(value.as_str()?, folder)
    }
}

impl SettingValue for Graphics {
    fn read(value: &DeValue<'_>, _: Expect, _: &Path) -> Option<Self> {
        Self::parse(value.as_str()?)
    }
}

impl SettingValue for DisplayZone {
    fn read(value: &DeValue<'_>, _: Expect, _: &Path) -> Option<Self> {
        Self::parse(value.as_str()?)
    }
}

impl SettingValue for PathBuf {
    fn read(value: &DeValue<'_>, _: Expect, folder: &Path) -> Option<Self> {
        value
            .as_str()
            .filter(|text| !text.is_empty() && !text.contains('\0'))
            .map(|text| resolve_path(text, folder))
    }
}

impl SettingValue for Option<PathBuf> {
    fn read(value: &DeValue<'_>, expect: Expect, folder: &Path) -> Option<Self> {
        if value.as_str() == Some("") {
            Some(None)
        } else {
            PathBuf::read(value, expect, folder).map(Some)
        }
    }
}

impl SettingValue for Option<AlertCommand> {
    fn read(value: &DeValue<'_>, _: Expect, _: &Path) -> Option<Self> {
        let words: Vec<String> = value
            .as_array()?
            .iter()
            .map(|item| item.get_ref().as_str().map(str::to_owned))
            .collect::<Option<_>>()?;
        if words.is_empty() {
            Some(None)
        } else {
            AlertCommand::parse(&words).map(Some)
        }
    }
}

impl SettingValue for Option<WebhookUrl> {
    fn read(value: &DeValue<'_>, _: Expect, _: &Path) -> Option<Self> {
        let text = value.as_str()?;
        if text.is_empty() {
            Some(None)
        } else {
            WebhookUrl::parse(text).map(Some)
        }
    }
}

impl SettingValue for Option<WebhookSecret> {
    fn read(value: &DeValue<'_>, _: Expect, _: &Path) -> Option<Self> {
        let text = value.as_str()?;
        if text.is_empty() {
            Some(None)
        } else {
            WebhookSecret::parse(text).map(Some)
        }
    }
}

/// Resolves a path: `~/` is the home directory, other relative paths start at `folder`.
fn resolve_path(text: &str, folder: &Path) -> PathBuf {
    match text.strip_prefix("~/").zip(std::env::home_dir()) {
        Some((rest, home)) => home.join(rest),
        None => folder.join(text),
    }
}

/// Whether the text is `host:port` or `[v6]:port`.
pub(crate) fn is_listen_address(text: &str) -> bool {
    if text.parse::<std::net::SocketAddr>().is_ok() {
        return true;
    }
    text.rsplit_once(':').is_some_and(|(host, port)| {
        is_host(host) && !host.contains(':') && port.parse::<u16>().is_ok()
    })
}

fn is_host(text: &str) -> bool {
    let name = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
    };
    !text.is_empty()
        && text.len() <= 253
        && (name(text) || text.parse::<std::net::Ipv6Addr>().is_ok())
}

/// Whether the text is an origin: scheme and host, perhaps a port, no path.
fn is_origin(text: &str) -> bool {
    let rest = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|host| is_host(host) || is_listen_address(host))
}
