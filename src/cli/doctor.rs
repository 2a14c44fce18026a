//! `tokendeck doctor`: checks the environment and prints each result with its remedy. It leaves no file behind, and contacts no host
//! without `--online`. `checks` evaluates the facts.

mod checks;

use std::{
    fs,
    io::{IsTerminal as _, stdin, stdout},
    net::TcpListener,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use color_eyre::eyre::{Report, Result, eyre};
use serde_json::json;

use self::checks::{
    CacheFact, DataFact, DoctorLine, LineVerdict, MachineFacts, SourceFact, checks,
};
use super::{
    LocationArgs, appearance,
    feed::Feed,
    outcome::{Failure, Outcome, print, print_json},
    program::{self, configuration, open_keys, wire},
    table,
};
use crate::{
    config::{Config, credentials, plain_reason, unset_variable},
    state::Dirs,
};
use frames::cache::list;
use load::{
    loader::{origins_of, origins_to_agree, read_manifest},
    manifest::{FILE, Manifest},
};
use model::{format::plural, time::Time, wall_clock::now};
use tui::{
    graphics::Graphics,
    terminal,
    views::keymap::Keymap,
    widgets::{text::wrap, theme::Depth},
};
use wire::{Source, SourceKind, UrlPattern};

/// Maximum lines of a sentence.
const LINES_MAX: usize = 10;

/// Timeout for the terminal's replies: over a slow line they take longer than the dashboard waits.
const ANSWER_TIME: Duration = Duration::from_millis(500);

#[derive(Debug, Args)]
pub(super) struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Contact each source and host once
    #[arg(long)]
    online: bool,
    #[command(flatten)]
    location: LocationArgs,
}

pub(super) fn run(args: &DoctorArgs) -> Outcome {
    let found = checks(&facts(args));
    let mends = found
        .iter()
        .filter(|check| check.verdict == LineVerdict::Mend)
        .count();
    if args.json {
        print_json(&as_json(&found, mends))?;
    } else {
        print(as_table(
            &found,
            mends,
            terminal::size().filter(|_| stdout().is_terminal()),
        ))?;
    }
    if mends > 0 {
        Err(Failure::Reported.into())
    } else {
        Ok(())
    }
}

fn as_json(found: &[DoctorLine], mends: usize) -> serde_json::Value {
    let row = |check: &DoctorLine| json!({ "what": check.what, "verdict": check.verdict.word(), "found": check.found, "mend": check.mend });
    json!({ "version": env!("CARGO_PKG_VERSION"), "to_mend": mends, "checks": found.iter().map(row).collect::<Vec<_>>() })
}

/// Result and remedy are sentences: each starts on its own line and wraps if the terminal is narrow.
fn as_table(found: &[DoctorLine], mends: usize, size: Option<(u16, u16)>) -> String {
    let before = found
        .iter()
        .map(|check| check.what.chars().count())
        .max()
        .unwrap_or(0)
        + "  note  ".len();
    let cells = size.map_or(usize::MAX, |(width, _)| {
        usize::from(width).saturating_sub(before).max(20)
    });
    let mut rows = Vec::new();
    for check in found {
        let mend = if check.mend.is_empty() {
            Vec::new()
        } else {
            wrap(&format!("→ {}", check.mend), cells, LINES_MAX)
        };
        let (mut what, mut verdict) = (check.what.clone(), check.verdict.label().to_owned());
        for line in wrap(&check.found, cells, LINES_MAX).into_iter().chain(mend) {
            rows.push(vec![
                std::mem::take(&mut what),
                std::mem::take(&mut verdict),
                line,
            ]);
        }
    }
    let notes = found
        .iter()
        .filter(|check| check.verdict == LineVerdict::Note)
        .count();
    let end = format!(
        "{} to fix, {}",
        plural(mends as u64, "thing", "things"),
        plural(notes as u64, "note", "notes")
    );
    table::section(&["what", "", "result, and → remedy"], rows) + &end + "\n"
}

fn facts(args: &DoctorArgs) -> MachineFacts {
    let (mut config, config_file) = match configuration(args.location.config.as_deref()) {
        Ok(config) => {
            let file = config.file.as_ref().map(|file| file.display().to_string());
            (config, Ok(file))
        }
        Err(reason) => (defaults(), Err(reason)),
    };
    args.location.apply_overrides(&mut config);
    let dirs = Dirs::find().ok();
    let state = Dirs::find().and_then(|dirs| writable(&dirs.state));
    let cache = program::cache(&config)
        .folder
        .ok_or_else(|| eyre!("no cache folder; set HOME or cache.dir"));
    let (size, depth, protocol) = terminal_facts(&config);
    let outgoing = wire(&config);
    let folder = &config.datasets.dir;
    let hosts = provider_hosts(&args.location);
    let live = !hosts.is_empty();
    let reached = args.online.then(|| {
        let mut places = origins_of(folder, &outgoing);
        places.extend(config.sources.iter().filter_map(server_of));
        places.extend(hosts);
        places.sort();
        places.dedup();
        let asked = places.into_iter().filter(|place| place.starts_with("http"));
        asked
            .map(|place| (place.clone(), outgoing.reach(&place).map_err(Report::from)))
            .collect()
    });
    MachineFacts {
        size,
        term: variable("TERM").unwrap_or_default(),
        depth,
        graphics: config.terminal.graphics,
        protocol,
        locale: ["LC_ALL", "LC_CTYPE", "LANG"]
            .into_iter()
            .find_map(variable)
            .unwrap_or_default(),
        ascii: config.terminal.ascii || appearance::is_plain_terminal(),
        now: now(),
        newest: newest(dirs.as_ref().map(|dirs| dirs.state.as_path())),
        config: config_file,
        wrong_keys: Keymap::with(&config.keys).1,
        data: data(folder),
        keys: keys(&config, &state),
        state,
        cache: cache.and_then(|folder| cache_fact(&folder, config.cache.size_mb)),
        port: config.api.enabled.then(|| {
            TcpListener::bind(&config.api.listen)
                .map(drop)
                .map_err(|error| Report::msg(plain_reason(&error)))
        }),
        listen: config.api.listen.clone(),
        sources: config.sources.iter().map(source).collect(),
        live,
        open_origins: origins_to_agree(folder, &outgoing),
        reached,
    }
}

fn defaults() -> Config {
    // The defaults are parsed by a test.
    Config::parse(None, "").unwrap_or_else(|reason| unreachable!("{reason}"))
}

/// A variable that is set and not empty.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

type Protocol = Result<Option<tui::graphics::PictureProtocol>>;

fn terminal_facts(config: &Config) -> (Option<(u16, u16)>, Depth, Protocol) {
    let depth = Depth::detect(variable);
    if !stdout().is_terminal() || !stdin().is_terminal() {
        return (None, depth, Ok(None));
    }
    let graphics: Graphics = config.terminal.graphics;
    let question = graphics.question(depth > Depth::Sixteen, variable);
    let answers = if question.is_empty() {
        None
    } else {
        terminal::interview(question, ANSWER_TIME).ok()
    };
    let protocol = graphics
        .protocol(&answers.unwrap_or_default(), variable)
        .map_err(Report::msg);
    (terminal::size(), depth, protocol)
}

/// The newest file of the program and its state, which the clock cannot be before.
fn newest(state: Option<&Path>) -> Option<(Time, String)> {
    let below = state
        .and_then(|state| fs::read_dir(state).ok())
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let times = std::env::current_exe()
        .ok()
        .into_iter()
        .chain(below)
        .filter_map(|path| {
            let modified = fs::metadata(&path).ok()?.modified().ok()?;
            let since = modified.duration_since(std::time::UNIX_EPOCH).ok()?;
            Some((Time(since.as_millis() as i64), path.display().to_string()))
        });
    times.max_by_key(|(time, _)| *time)
}

fn data(folder: &Path) -> DataFact {
    let shown = folder.display().to_string();
    let Ok(entries) = fs::read_dir(folder) else {
        return if folder.exists() {
            DataFact::Bad(format!("cannot read `{shown}`"))
        } else {
            DataFact::Absent(shown)
        };
    };
    let files = entries.flatten().count();
    if files == 0 {
        return DataFact::Absent(shown);
    }
    let manifest = folder.join(FILE);
    if manifest.exists() {
        let parsed = read_manifest(&manifest)
            .map_err(|error| error.to_string())
            .and_then(|text| Manifest::parse(&text).map_err(|error| error.to_string()));
        if let Err(reason) = parsed {
            return DataFact::Bad(format!("`{}`: {reason}", manifest.display()));
        }
    }
    DataFact::There {
        folder: shown,
        files,
    }
}

/// Whether files can be created in the folder, or in its nearest existing parent.
fn writable(folder: &Path) -> Result<String> {
    let shown = folder.display();
    let there = folder
        .ancestors()
        .find(|above| above.exists())
        .ok_or_else(|| eyre!("`{shown}` does not exist"))?;
    let probe = there.join(format!(".tokendeck-doctor-{}", std::process::id()));
    let made = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&probe);
    made.map_err(|error| eyre!("cannot write to `{shown}`: {}", plain_reason(&error)))?;
    fs::remove_file(&probe).map_err(|error| {
        eyre!(
            "cannot remove `{}`: {}",
            probe.display(),
            plain_reason(&error)
        )
    })?;
    Ok(shown.to_string())
}

/// The existing keys; none is created here.
fn keys(config: &Config, state: &Result<String>) -> Result<usize, Vec<String>> {
    let is_made = variable(api::keys::ENVIRONMENT).is_some()
        || config.api.keys_file.is_some()
        || state
            .as_ref()
            .is_ok_and(|state| PathBuf::from(state).join("keys").exists());
    if !is_made {
        return Ok(0);
    }
    let keys = open_keys(config).map_err(|reason| vec![reason.to_string()])?;
    let warnings = keys.warnings();
    if warnings.is_empty() {
        Ok(keys.list().len())
    } else {
        Err(warnings)
    }
}

fn cache_fact(folder: &Path, limit_mb: u32) -> Result<CacheFact> {
    let bytes = list(folder).iter().map(|entry| entry.bytes).sum();
    Ok(CacheFact {
        folder: writable(folder)?,
        bytes,
        limit_mb,
    })
}

fn source(source: &Source) -> SourceFact {
    let kind = SourceKind::WORDS
        .iter()
        .find(|(_, kind)| *kind == source.kind)
        .map_or("", |(word, _)| word);
    SourceFact {
        name: source.name.clone(),
        kind,
        keys: credentials(source, &variable),
        unset: unset_variable(source, &variable),
    }
}

/// The source's server, as far as the configuration names it; a URL that contains a key stays in its variable.
fn server_of(source: &Source) -> Option<String> {
    let url = [&source.url, &source.endpoint]
        .into_iter()
        .find(|url| !url.is_empty())?;
    UrlPattern::parse(&format!("{}/x", url.trim_end_matches('/')))
        .ok()
        .map(|place| place.origin())
}

/// The hosts that a refresh of the dataset would contact now.
fn provider_hosts(location: &LocationArgs) -> Vec<String> {
    let hosts = |feed: Feed| {
        feed.with(None, false, |context| {
            Ok(load::live::hosts(context, &[]).into_keys().collect())
        })
    };
    Feed::open(location).and_then(hosts).unwrap_or_default()
}
