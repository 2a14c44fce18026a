//! Evaluates the facts about a machine: one line and remedy per fact. Nothing is measured here.

use std::{net::SocketAddr, time::Duration};

use color_eyre::eyre::Result;

use model::{
    format::{count, plural},
    time::{DAY_MS, Time},
};
use tui::{
    chrome::{HEIGHT_MIN, WIDTH_MIN},
    graphics::{Graphics, PictureProtocol},
    widgets::theme::Depth,
};

/// One of each kind of glyph that the dashboard draws with.
const GLYPHS: &str = "▁▂▃▄▅▆▇█ ▌▖▝▗ ⡇⠤⠒⠉ ▲▼ ◆●◦• ─│┌┘├ ⏎ ★ ✓ × …";

/// Verdict on one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LineVerdict {
    Good,
    /// It works, but could be better.
    Note,
    /// Something does not work, or is not safe, until it is fixed.
    Mend,
}

impl LineVerdict {
    /// The word in JSON.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Note => "note",
            Self::Mend => "mend",
        }
    }

    /// The word on screen.
    pub(super) fn label(self) -> &'static str {
        if self == Self::Mend {
            "fix"
        } else {
            self.word()
        }
    }
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DoctorLine {
    pub(super) what: String,
    pub(super) verdict: LineVerdict,
    pub(super) found: String,
    /// The remedy; empty if there is nothing to do.
    pub(super) mend: String,
}

fn check(
    what: &str,
    verdict: LineVerdict,
    found: impl Into<String>,
    mend: impl Into<String>,
) -> DoctorLine {
    DoctorLine {
        what: what.to_owned(),
        verdict,
        found: found.into(),
        mend: mend.into(),
    }
}

fn good(what: &str, found: impl Into<String>) -> DoctorLine {
    check(what, LineVerdict::Good, found, "")
}

/// The facts that the checks evaluate.
#[derive(Debug)]
pub(super) struct MachineFacts {
    /// Columns and rows; none if stdin or stdout is not a terminal.
    pub(super) size: Option<(u16, u16)>,
    pub(super) term: String,
    pub(super) depth: Depth,
    pub(super) graphics: Graphics,
    /// The protocol with which the terminal draws pixels.
    pub(super) protocol: Result<Option<PictureProtocol>>,
    /// The first of `LC_ALL`, `LC_CTYPE` and `LANG` that is set.
    pub(super) locale: String,
    pub(super) ascii: bool,
    pub(super) now: Time,
    /// The newest time of a file of this program, and which: the clock cannot be before it.
    pub(super) newest: Option<(Time, String)>,
    pub(super) config: Result<Option<String>>,
    /// Errors in the user's key bindings.
    pub(super) wrong_keys: Vec<String>,
    pub(super) data: DataFact,
    /// Folder of keys, jobs and session; the error says why it is not writable.
    pub(super) state: Result<String>,
    /// Number of API keys, or warnings about them.
    pub(super) keys: Result<usize, Vec<String>>,
    pub(super) cache: Result<CacheFact>,
    pub(super) listen: String,
    /// Whether the port is free; none if the API is off.
    pub(super) port: Option<Result<()>>,
    pub(super) sources: Vec<SourceFact>,
    /// Whether the dataset has live tables, whose hosts a refresh contacts.
    pub(super) live: bool,
    /// Origins that the dataset needs and the user has not allowed yet.
    pub(super) open_origins: Vec<String>,
    /// The contacted origins with their response times; none without `--online`.
    pub(super) reached: Option<Vec<(String, Result<Duration>)>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DataFact {
    Absent(String),
    Bad(String),
    There { folder: String, files: usize },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CacheFact {
    pub(super) folder: String,
    pub(super) bytes: u64,
    pub(super) limit_mb: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SourceFact {
    pub(super) name: String,
    pub(super) kind: &'static str,
    /// Where its keys come from.
    pub(super) keys: String,
    /// The environment variable with its key, if it is not set.
    pub(super) unset: Option<String>,
}

/// All checks, in the order in which a user meets them.
pub(super) fn checks(facts: &MachineFacts) -> Vec<DoctorLine> {
    let mut all = vec![
        terminal(facts),
        colors(facts),
        graphics(facts),
        fonts(facts),
        clock(facts),
        config(facts),
        data(&facts.data),
        state(facts),
        keys(facts),
        cache(facts),
        port(facts),
    ];
    all.extend(sources(facts));
    all
}

fn terminal(facts: &MachineFacts) -> DoctorLine {
    let make = format!(
        "enlarge it to at least {WIDTH_MIN}×{HEIGHT_MIN}; 80×24 shows most of a view, 140×42 all of it"
    );
    match facts.size {
        None => check(
            "terminal",
            LineVerdict::Note,
            "stdin or stdout is not a terminal",
            "the dashboard needs one; `serve`, `get` and `shot` don't",
        ),
        Some(_) if facts.term.is_empty() || facts.term == "dumb" => {
            let found = if facts.term.is_empty() {
                "TERM is not set".to_owned()
            } else {
                format!("TERM is `{}`", facts.term)
            };
            check(
                "terminal",
                LineVerdict::Mend,
                found,
                "export TERM=xterm-256color, or your terminal's own name",
            )
        }
        Some((width, height)) if width < WIDTH_MIN || height < HEIGHT_MIN => check(
            "terminal",
            LineVerdict::Mend,
            format!("{width}×{height} is too small"),
            make,
        ),
        Some((width, height)) if width < 80 || height < 24 => check(
            "terminal",
            LineVerdict::Note,
            format!("{}, {width}×{height}", facts.term),
            make,
        ),
        Some((width, height)) => good("terminal", format!("{}, {width}×{height}", facts.term)),
    }
}

fn colors(facts: &MachineFacts) -> DoctorLine {
    let more = "export COLORTERM=truecolor, if the terminal supports it";
    match facts.depth {
        Depth::True => good("colors", "16 million"),
        Depth::Indexed => check(
            "colors",
            LineVerdict::Note,
            "256: theme colors are approximated",
            more,
        ),
        Depth::Sixteen => check(
            "colors",
            LineVerdict::Note,
            "16: the terminal's own colors are used, and charts are drawn in characters",
            more,
        ),
        Depth::None => check(
            "colors",
            LineVerdict::Note,
            "none, because of NO_COLOR or TERM",
            "unset NO_COLOR if you want colors; words and symbols show the same information",
        ),
    }
}

fn graphics(facts: &MachineFacts) -> DoctorLine {
    let listed =
        "docs/dashboard.md lists terminals that draw pixels; characters show the same chart";
    match &facts.protocol {
        _ if facts.size.is_none() => {
            good("graphics", "not checked: stdin or stdout is not a terminal")
        }
        _ if facts.graphics == Graphics::Off => good(
            "graphics",
            "off (`terminal.graphics`): charts are drawn in characters",
        ),
        Ok(Some(protocol)) => good(
            "graphics",
            format!("{}: charts are drawn in pixels", protocol_word(*protocol)),
        ),
        Ok(None) => check(
            "graphics",
            LineVerdict::Note,
            "the terminal draws no pixels; charts are drawn in characters",
            listed,
        ),
        Err(reason) => check(
            "graphics",
            LineVerdict::Mend,
            reason.to_string(),
            "set terminal.graphics = \"auto\" in config.toml",
        ),
    }
}

fn protocol_word(protocol: PictureProtocol) -> &'static str {
    match protocol {
        PictureProtocol::Kitty => "kitty graphics protocol",
        PictureProtocol::Iterm => "iTerm2 inline images",
        PictureProtocol::Sixel => "sixels",
    }
}

fn fonts(facts: &MachineFacts) -> DoctorLine {
    let judge = format!("symbols: {GLYPHS}");
    let plain = "if you see a box or a question mark, use another font, or set terminal.ascii = true in config.toml";
    let is_utf8 = ["utf-8", "utf8"]
        .iter()
        .any(|name| facts.locale.to_ascii_lowercase().contains(name));
    match (facts.ascii, is_utf8) {
        (true, _) => good(
            "fonts",
            "ASCII only (`terminal.ascii`, or a kind of terminal without other glyphs)",
        ),
        (false, true) => check("fonts", LineVerdict::Good, judge, plain),
        (false, false) => {
            let locale = if facts.locale.is_empty() {
                "no locale is set".to_owned()
            } else {
                format!("the locale is `{}`", facts.locale)
            };
            check(
                "fonts",
                LineVerdict::Note,
                format!("{locale}; {judge}"),
                format!("export LANG=C.UTF-8; {plain}"),
            )
        }
    }
}

fn clock(facts: &MachineFacts) -> DoctorLine {
    let now = facts.now.minute_text();
    match &facts.newest {
        Some((newest, file)) if newest.0 > facts.now.0 + DAY_MS => check(
            "clock",
            LineVerdict::Mend,
            format!(
                "{now} UTC, earlier than the time of `{file}`, {}",
                newest.minute_text()
            ),
            "set the clock (for example `timedatectl set-ntp true`): ages, rate limits and alerts depend on it",
        ),
        _ => good("clock", format!("{now} UTC")),
    }
}

fn config(facts: &MachineFacts) -> DoctorLine {
    if facts.config.is_ok() && !facts.wrong_keys.is_empty() {
        let mends =
            "fix [terminal.keys] in config.toml; `?` in the dashboard lists actions and keys";
        return check(
            "configuration",
            LineVerdict::Mend,
            facts.wrong_keys.join("; "),
            mends,
        );
    }
    match &facts.config {
        Ok(Some(file)) => good("configuration", format!("`{file}`")),
        Ok(None) => good("configuration", "no file; all settings have their defaults"),
        Err(reason) => check(
            "configuration",
            LineVerdict::Mend,
            reason.to_string(),
            "correct this line; the checks below use the defaults",
        ),
    }
}

fn data(data: &DataFact) -> DoctorLine {
    match data {
        DataFact::Absent(folder) => check(
            "dataset",
            LineVerdict::Note,
            format!("none in `{folder}`"),
            "run `tokendeck` for three ways to start, or `tokendeck demo --tour` for a synthetic market",
        ),
        DataFact::Bad(reason) => check(
            "dataset",
            LineVerdict::Mend,
            reason,
            "run `tokendeck check` for details",
        ),
        DataFact::There { folder, files } => good(
            "dataset",
            format!(
                "`{folder}`, {}; `tokendeck check` checks them",
                plural(*files as u64, "file", "files")
            ),
        ),
    }
}

fn state(facts: &MachineFacts) -> DoctorLine {
    match &facts.state {
        Ok(folder) => good("state", format!("`{folder}` is writable")),
        Err(reason) => check(
            "state",
            LineVerdict::Mend,
            reason.to_string(),
            "make it writable or set XDG_STATE_HOME: keys, jobs and the watchlist are stored there",
        ),
    }
}

fn keys(facts: &MachineFacts) -> DoctorLine {
    match &facts.keys {
        Ok(0) => good("keys", "none yet; one is created at the first start"),
        Ok(1) => good("keys", "1 API key"),
        Ok(count) => good("keys", format!("{count} API keys")),
        Err(warnings) => check(
            "keys",
            LineVerdict::Mend,
            warnings.join("; "),
            "write one key per line, make the file private with chmod 600, and replace a weak key with `tokendeck key new`",
        ),
    }
}

fn cache(facts: &MachineFacts) -> DoctorLine {
    match &facts.cache {
        Ok(CacheFact {
            folder,
            bytes,
            limit_mb,
        }) => {
            let found = format!(
                "{:.1} of {} MB in `{folder}`",
                *bytes as f64 / 1e6,
                count(u64::from(*limit_mb))
            );
            if *bytes as f64 / 1e6 > 0.9 * f64::from(*limit_mb) {
                return check(
                    "cache",
                    LineVerdict::Note,
                    found,
                    "raise cache.size_mb or run `tokendeck cache clear`: when the cache is full, tables are rebuilt at every start",
                );
            }
            good("cache", found)
        }
        Err(reason) => check(
            "cache",
            LineVerdict::Mend,
            reason.to_string(),
            "make it writable or set cache.dir; until then, large tables are rebuilt at every \
                start",
        ),
    }
}

fn port(facts: &MachineFacts) -> DoctorLine {
    match &facts.port {
        None => good("port", "not used (`api.enabled` is false)"),
        Some(Err(reason)) => check(
            "port",
            LineVerdict::Mend,
            format!("`{}`: {reason}", facts.listen),
            "stop the program on this port (another tokendeck?), set api.listen = \"127.0.0.1:0\", or pass --no-api",
        ),
        Some(Ok(()))
            if facts
                .listen
                .parse::<SocketAddr>()
                .is_ok_and(|address| !address.ip().is_loopback()) =>
        {
            check(
                "port",
                LineVerdict::Note,
                format!(
                    "`{}` is free and reachable from other machines",
                    facts.listen
                ),
                "unless intended, listen on 127.0.0.1: requests need a key but are not encrypted",
            )
        }
        Some(Ok(())) => good("port", format!("`{}` is free", facts.listen)),
    }
}

fn sources(facts: &MachineFacts) -> Vec<DoctorLine> {
    let configured = facts.sources.iter().map(|source| {
        let what = format!("source {}", source.name);
        match &source.unset {
            Some(variable) => check(
                &what,
                LineVerdict::Mend,
                format!("{}; `{variable}` is not set", source.kind),
                format!("export {variable}=…"),
            ),
            None => good(&what, format!("{}; keys: {}", source.kind, source.keys)),
        }
    });
    let mut all: Vec<DoctorLine> = configured.collect();
    if !facts.open_origins.is_empty() {
        let named = facts.open_origins.join(", ");
        all.push(check(
            "sources",
            LineVerdict::Note,
            format!("not allowed yet: {named}"),
            "the dashboard asks you; --remote allows them for one run",
        ));
    }
    match &facts.reached {
        Some(reached) if !reached.is_empty() => {
            all.extend(reached.iter().map(|(origin, outcome)| match outcome {
                Ok(time) => good(
                    "reached",
                    format!("{origin} responded in {} ms", time.as_millis()),
                ),
                Err(reason) => check(
                    "reached",
                    LineVerdict::Mend,
                    format!("{origin} {reason}"),
                    "check the network, the proxy, and the URL in config.toml and dataset.toml",
                ),
            }));
        }
        _ if all.is_empty() && !facts.live => {
            all.push(good("sources", "none; nothing is contacted"));
        }
        Some(_) => {}
        None => all.push(good(
            "reached",
            "not contacted; --online contacts each host once",
        )),
    }
    all
}

#[cfg(test)]
mod tests;
