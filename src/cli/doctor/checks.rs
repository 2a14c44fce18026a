//! What the facts of a machine mean: a line each, and what mends it. Nothing is looked at here.

use std::{net::SocketAddr, time::Duration};

use model::time::{DAY_MS, Time};
use tui::{
    chrome::{HEIGHT_MIN, WIDTH_MIN},
    graphics::{Graphics, PictureProtocol},
};
use widgets::theme::Depth;

/// One of each kind of glyph that the dashboard draws with.
const GLYPHS: &str = "▁▂▃▄▅▆▇█ ▌▖▝▗ ⡇⠤⠒⠉ ▲▼ ◆●◦• ─│┌┘├ ⏎ ★ ✓ × …";

/// How good what was found is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LineVerdict {
    Good,
    /// It works, and could be better.
    Note,
    /// Something does not work, or is not safe, until it is mended.
    Mend,
}

impl LineVerdict {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Note => "note",
            Self::Mend => "mend",
        }
    }
}

/// What was found of one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DoctorLine {
    pub(super) what: String,
    pub(super) verdict: LineVerdict,
    pub(super) found: String,
    /// Empty where nothing is to be done.
    pub(super) mend: String,
}

fn check(what: &str, verdict: LineVerdict, found: impl Into<String>, mend: impl Into<String>) -> DoctorLine {
    DoctorLine { what: what.to_owned(), verdict, found: found.into(), mend: mend.into() }
}

fn good(what: &str, found: impl Into<String>) -> DoctorLine {
    check(what, LineVerdict::Good, found, "")
}

/// What was looked at.
#[derive(Debug, Clone)]
pub(super) struct MachineFacts {
    /// Columns and rows; none where the output is no terminal.
    pub(super) size: Option<(u16, u16)>,
    pub(super) term: String,
    pub(super) depth: Depth,
    pub(super) graphics: Graphics,
    /// By which protocol the terminal shows pictures.
    pub(super) protocol: Result<Option<PictureProtocol>, String>,
    /// `LC_ALL`, `LC_CTYPE` or `LANG`, the first that says something.
    pub(super) locale: String,
    pub(super) ascii: bool,
    pub(super) now: Time,
    /// The newest time of a file of this program, and which: the clock cannot be before it.
    pub(super) newest: Option<(Time, String)>,
    pub(super) config: Result<Option<String>, String>,
    /// What is wrong with the keys of one's own.
    pub(super) wrong_keys: Vec<String>,
    pub(super) data: DataFact,
    /// Folder of keys, jobs and session; the error says why it cannot be written.
    pub(super) state: Result<String, String>,
    /// What is wrong with the API keys, or how many there are.
    pub(super) keys: Result<usize, Vec<String>>,
    pub(super) cache: Result<CacheFact, String>,
    pub(super) listen: String,
    /// Whether the port can be had; none where the API is off.
    pub(super) port: Option<Result<(), String>>,
    pub(super) sources: Vec<SourceFact>,
    /// Places that the dataset asks and the user has not agreed to.
    pub(super) open_origins: Vec<String>,
    /// What was asked and how long it took; none without `--online`.
    pub(super) reached: Option<Vec<(String, Result<Duration, String>)>>,
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
    /// The environment variable with its key, where that is not set.
    pub(super) unset: Option<String>,
}

/// Everything that is known of the machine, in the order in which a person meets it.
pub(super) fn checks(facts: &MachineFacts) -> Vec<DoctorLine> {
    let mut all = vec![
        terminal(facts),
        colours(facts),
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
    let make = format!("make it {WIDTH_MIN}×{HEIGHT_MIN} or larger; 80×24 shows most, 140×42 all");
    match facts.size {
        None => check("terminal", LineVerdict::Note, "the output is none", "the dashboard needs one; `serve`, `get` and `shot` do not"),
        Some(_) if facts.term.is_empty() || facts.term == "dumb" => {
            let found = if facts.term.is_empty() { "TERM is not set".to_owned() } else { format!("TERM is `{}`", facts.term) };
            check("terminal", LineVerdict::Mend, found, "export TERM=xterm-256color, or what your terminal calls itself")
        }
        Some((width, height)) if width < WIDTH_MIN || height < HEIGHT_MIN => {
            check("terminal", LineVerdict::Mend, format!("{width}×{height} is too small"), make)
        }
        Some((width, height)) if width < 80 || height < 24 => {
            check("terminal", LineVerdict::Note, format!("{}, {width}×{height}", facts.term), make)
        }
        Some((width, height)) => good("terminal", format!("{}, {width}×{height}", facts.term)),
    }
}

fn colours(facts: &MachineFacts) -> DoctorLine {
    let more = "export COLORTERM=truecolor, if the terminal can show them";
    match facts.depth {
        Depth::True => good("colours", "16 million"),
        Depth::Indexed => check("colours", LineVerdict::Note, "256: those of the theme are approximated", more),
        Depth::Sixteen => check("colours", LineVerdict::Note, "16: those of the terminal are used, and charts have no pictures", more),
        Depth::None => {
            check("colours", LineVerdict::Note, "none, as NO_COLOR or TERM says", "unset NO_COLOR; words and signs say the same")
        }
    }
}

fn graphics(facts: &MachineFacts) -> DoctorLine {
    let listed = "docs/dashboard.md lists terminals with pictures; characters show the same chart";
    match &facts.protocol {
        _ if facts.size.is_none() => good("graphics", "not asked: the output is no terminal"),
        _ if facts.graphics == Graphics::Off => good("graphics", "off, as `terminal.graphics` says: charts are drawn in characters"),
        Ok(Some(protocol)) => good("graphics", format!("{}: charts are drawn in pixels", protocol_word(*protocol))),
        Ok(None) => check("graphics", LineVerdict::Note, "the terminal shows no pictures: charts are drawn in characters", listed),
        Err(reason) => check("graphics", LineVerdict::Mend, reason, "write terminal.graphics = \"auto\" into config.toml"),
    }
}

fn protocol_word(protocol: PictureProtocol) -> &'static str {
    match protocol {
        PictureProtocol::Kitty => "kitty's protocol",
        PictureProtocol::Iterm => "iTerm2's inline images",
        PictureProtocol::Sixel => "sixels",
    }
}

fn fonts(facts: &MachineFacts) -> DoctorLine {
    let judge = format!("look: {GLYPHS}");
    let plain = "where a box or a question mark stands: another font, or terminal.ascii = true in config.toml";
    let is_utf8 = ["utf-8", "utf8"].iter().any(|name| facts.locale.to_ascii_lowercase().contains(name));
    match (facts.ascii, is_utf8) {
        (true, _) => good("fonts", "ASCII alone, as `terminal.ascii` says"),
        (false, true) => check("fonts", LineVerdict::Good, judge, plain),
        (false, false) => {
            let locale = if facts.locale.is_empty() { "no locale is set".to_owned() } else { format!("the locale is `{}`", facts.locale) };
            check("fonts", LineVerdict::Note, format!("{locale}; {judge}"), format!("export LANG=C.UTF-8; {plain}"))
        }
    }
}

fn clock(facts: &MachineFacts) -> DoctorLine {
    let now = facts.now.minute_text();
    match &facts.newest {
        Some((newest, file)) if newest.0 > facts.now.0 + DAY_MS => check(
            "clock",
            LineVerdict::Mend,
            format!("{now} UTC, before `{file}` of {}", newest.minute_text()),
            "set the clock, as by `timedatectl set-ntp true`: ages, limits of providers and alerts count from it",
        ),
        _ => good("clock", format!("{now} UTC")),
    }
}

fn config(facts: &MachineFacts) -> DoctorLine {
    if facts.config.is_ok() && !facts.wrong_keys.is_empty() {
        let mends = "`?` in the dashboard lists actions and keys; config.toml says its own under [terminal.keys]";
        return check("configuration", LineVerdict::Mend, facts.wrong_keys.join("; "), mends);
    }
    match &facts.config {
        Ok(Some(file)) => good("configuration", format!("`{file}`")),
        Ok(None) => good("configuration", "no file: every setting has its default"),
        Err(reason) => check("configuration", LineVerdict::Mend, reason, "correct the line; what follows is of the defaults"),
    }
}

fn data(data: &DataFact) -> DoctorLine {
    match data {
        DataFact::Absent(folder) => check(
            "dataset",
            LineVerdict::Note,
            format!("none in `{folder}`"),
            "`tokendeck` offers three ways; `tokendeck demo --tour` shows an invented market",
        ),
        DataFact::Bad(reason) => check("dataset", LineVerdict::Mend, reason, "`tokendeck check` says what is wrong, and where"),
        DataFact::There { folder, files } => good("dataset", format!("`{folder}`, {files} files; `tokendeck check` looks into them")),
    }
}

fn state(facts: &MachineFacts) -> DoctorLine {
    match &facts.state {
        Ok(folder) => good("state", format!("`{folder}` can be written")),
        Err(reason) => check(
            "state",
            LineVerdict::Mend,
            reason,
            "make it writable, or name another by XDG_STATE_HOME: keys, jobs and watchlist are kept there",
        ),
    }
}

fn keys(facts: &MachineFacts) -> DoctorLine {
    match &facts.keys {
        Ok(0) => good("keys", "none yet: one is made at the first start"),
        Ok(1) => good("keys", "1 key of the API"),
        Ok(count) => good("keys", format!("{count} keys of the API")),
        Err(warnings) => check(
            "keys",
            LineVerdict::Mend,
            warnings.join("; "),
            "`tokendeck key new` makes one that cannot be guessed; chmod 600 its file",
        ),
    }
}

fn cache(facts: &MachineFacts) -> DoctorLine {
    match &facts.cache {
        Ok(CacheFact { folder, bytes, limit_mb }) => {
            let found = format!("{:.1} of {limit_mb} MB in `{folder}`", *bytes as f64 / 1e6);
            if *bytes as f64 / 1e6 > 0.9 * f64::from(*limit_mb) {
                return check(
                    "cache",
                    LineVerdict::Note,
                    found,
                    "raise cache.size_mb, or `tokendeck cache clear`: tables are made again at each start",
                );
            }
            good("cache", found)
        }
        Err(reason) => check(
            "cache",
            LineVerdict::Mend,
            reason,
            "make it writable, or name another by cache.dir: large tables are read anew at each start",
        ),
    }
}

fn port(facts: &MachineFacts) -> DoctorLine {
    match &facts.port {
        None => good("port", "not used, as `api.enabled` says"),
        Some(Err(reason)) => check(
            "port",
            LineVerdict::Mend,
            format!("`{}`: {reason}", facts.listen),
            "end what listens there, perhaps another tokendeck; or api.listen = \"127.0.0.1:0\" in config.toml, or --no-api",
        ),
        Some(Ok(())) if facts.listen.parse::<SocketAddr>().is_ok_and(|address| !address.ip().is_loopback()) => check(
            "port",
            LineVerdict::Note,
            format!("`{}` can be had, and other machines reach it", facts.listen),
            "listen on 127.0.0.1 unless they should: every request needs a key, and is sent unencrypted",
        ),
        Some(Ok(())) => good("port", format!("`{}` can be had", facts.listen)),
    }
}

fn sources(facts: &MachineFacts) -> Vec<DoctorLine> {
    let configured = facts.sources.iter().map(|source| {
        let what = format!("source {}", source.name);
        match &source.unset {
            Some(variable) => {
                check(&what, LineVerdict::Mend, format!("{}; `{variable}` is not set", source.kind), format!("export {variable}=…"))
            }
            None => good(&what, format!("{}; keys: {}", source.kind, source.keys)),
        }
    });
    let mut all: Vec<DoctorLine> = configured.collect();
    if !facts.open_origins.is_empty() {
        let named = facts.open_origins.join(", ");
        all.push(check(
            "sources",
            LineVerdict::Note,
            format!("not agreed to yet: {named}"),
            "the dashboard asks you; --remote agrees for one run",
        ));
    }
    match &facts.reached {
        Some(reached) if !reached.is_empty() => all.extend(reached.iter().map(|(origin, outcome)| match outcome {
            Ok(time) => good("reached", format!("{origin} in {} ms", time.as_millis())),
            Err(reason) => check(
                "reached",
                LineVerdict::Mend,
                format!("{origin} {reason}"),
                "look at the network, a proxy, or the URL in config.toml and dataset.toml",
            ),
        })),
        _ if all.is_empty() => all.push(good("sources", "none: nothing is asked anywhere")),
        Some(_) => {}
        None => all.push(good("reached", "nobody was asked; --online asks each place once")),
    }
    all
}

#[cfg(test)]
mod tests;
