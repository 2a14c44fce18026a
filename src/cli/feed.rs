//! Shared by the commands for live tables: the dataset and its tokens, the user's consent, and progress on stderr.

use std::{
    collections::BTreeMap,
    io::{self, IsTerminal, Write},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use color_eyre::eyre::{Report, Result, bail, eyre};

use super::{
    LocationArgs,
    outcome::{Failure, say},
    program::{cache, configuration, own_providers, wire},
};
use crate::{config::Config, state::Dirs};
use load::{
    formats::locate,
    live::{
        LiveMarket, RefreshContext, RefreshWatch, hosts, hosts_without_consent, live_tables,
        social_hosts, tables_read,
    },
    loader,
    manifest::{FILE, Manifest},
    provider::{self, Providers},
};
use model::{address::Address, format::plural, wall_clock::now};
use wire::RemoteClient;

/// A dataset with live tables.
pub(super) struct Feed {
    pub(super) config: Config,
    pub(super) folder: PathBuf,
    pub(super) providers: Providers,
    pub(super) wire: Arc<RemoteClient>,
}

impl Feed {
    pub(super) fn open(location: &LocationArgs) -> Result<Self> {
        let mut config = configuration(location.config.as_deref())?;
        location.apply_overrides(&mut config);
        let folder = config.datasets.dir.clone();
        let providers =
            provider::all(own_providers(&config).as_deref(), Some(&folder)).map_err(Report::msg)?;
        let wire = wire(&config);
        Ok(Self {
            config,
            folder,
            providers,
            wire,
        })
    }

    /// The dataset's folder in canonical form: consents are stored by it.
    pub(super) fn dataset(&self) -> PathBuf {
        self.folder
            .canonicalize()
            .unwrap_or_else(|_| self.folder.clone())
    }

    pub(super) fn manifest(&self) -> Result<Manifest> {
        let text = loader::read_manifest(&self.folder.join(FILE))?;
        Manifest::parse(&text).map_err(|error| eyre!("{FILE}, {error}"))
    }

    /// Runs `work` on all tokens of the dataset, or on one. `by_hand`: the user named what to fetch.
    pub(super) fn with<T>(
        &self,
        only: Option<&Address>,
        by_hand: bool,
        work: impl FnOnce(&RefreshContext<'_>) -> Result<T>,
    ) -> Result<T> {
        let manifest = self.manifest()?;
        // Without a token there is no dataset yet, but perhaps tables without one.
        let tables = tables_read(&manifest, &self.providers);
        let rows = match loader::load_tables(&self.folder, &tables, &cache(&self.config)) {
            Ok(dataset) => Some(dataset),
            Err(_)
                if locate::by_name(&self.folder, "tokens").is_ok_and(|files| files.is_empty()) =>
            {
                None
            }
            Err(error) => return Err(error.into()),
        };
        let mut market = rows
            .as_ref()
            .map_or_else(LiveMarket::default, LiveMarket::of);
        let watchlist: Vec<Address> = Dirs::find()
            .map(|dirs| crate::state::watchlist::addresses(&dirs.state))
            .unwrap_or_default();
        market
            .tokens
            .retain(|token| only.is_none_or(|only| token.address == *only));
        let dataset = self.dataset();
        work(&RefreshContext {
            dataset: &dataset,
            manifest: &manifest,
            providers: &self.providers,
            wire: &self.wire,
            market: &market,
            rows: rows.as_ref(),
            by_hand,
            watchlist: &watchlist,
            now: now(),
            watch: Arc::new(StderrWatch),
        })
    }

    /// Asks the user for consent to contact the hosts of these live tables, or of all. Social platforms are asked about apart: without
    /// consent to them, the tables that need them are left out. Returns the tables to refresh. Errors: as in `consent`.
    pub(super) fn agreed_tables(
        &self,
        context: &RefreshContext<'_>,
        only: &[&str],
    ) -> Result<Vec<&'static str>> {
        let social = social_hosts(context);
        let (people, markets): (BTreeMap<String, u64>, BTreeMap<String, u64>) =
            hosts(context, only)
                .into_iter()
                .partition(|(origin, _)| social.contains(origin));
        self.consent(&markets)?;
        let is_open = |origin: &&String| context.wire.may_ask(context.dataset, origin).is_err();
        if let Some(first) = people.keys().find(is_open) {
            let named: Vec<&str> = people
                .keys()
                .filter(is_open)
                .map(|origin| host(origin))
                .collect();
            say(&format!(
                "posts about your tokens come from {}; these services learn which tokens you watch",
                named.join(", ")
            ));
            if let Err(refusal) = self.consent(&people) {
                say(&format!(
                    "{refusal}; to stop these questions, remove the tables that use {} from dataset.toml",
                    host(first)
                ));
            }
        }
        let agreed: Vec<&str> = live_tables(context.manifest)
            .into_iter()
            .map(|(schema, _)| schema.name)
            .filter(|table| only.is_empty() || only.contains(table))
            .filter(|table| {
                let open = hosts_without_consent(context, table);
                !open.iter().any(|origin| social.contains(origin))
            })
            .collect();
        // An empty list would stand for all tables.
        if agreed.is_empty() {
            bail!(Failure::Reported);
        }
        Ok(agreed)
    }

    /// Asks the user for consent to contact these hosts, unless it was given earlier. Errors: the user refuses, or stdin is not a terminal.
    pub(super) fn consent(&self, hosts: &BTreeMap<String, u64>) -> Result<()> {
        let dataset = self.dataset();
        let open: Vec<(&String, &u64)> = hosts
            .iter()
            .filter(|(origin, _)| self.wire.may_ask(&dataset, origin).is_err())
            .collect();
        if open.is_empty() {
            return Ok(());
        }
        let said = |(origin, count): &(&String, &u64)| match count {
            0 => format!("{} (only if the others don't know the token)", host(origin)),
            count => format!(
                "{} (at least {})",
                host(origin),
                plural(**count, "request", "requests")
            ),
        };
        let named: Vec<String> = open.iter().map(said).collect();
        let named = named.join(", ");
        if !self.wire.asks_first() || !io::stdin().is_terminal() {
            bail!(
                "did not contact {named}; pass --remote, or run the command in a terminal and answer y"
            );
        }
        let mut out = io::stderr();
        write!(out, "contact {named}? [y/N] ").ok();
        out.flush().ok();
        let mut answer = String::new();
        io::stdin()
            .read_line(&mut answer)
            .map_err(|error| eyre!("cannot read your answer: {error}"))?;
        if !matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
            bail!("no request was sent");
        }
        open.iter()
            .try_for_each(|(origin, _)| self.wire.agree(&dataset, origin))
            .map_err(Report::msg)
    }
}

/// The host of an origin, without the scheme.
fn host(origin: &str) -> &str {
    origin.split_once("://").map_or(origin, |(_, host)| host)
}

/// Progress on stderr: one line per table in a terminal, and one for each long wait.
pub(super) struct StderrWatch;

impl RefreshWatch for StderrWatch {
    fn step(&self, table: &str, provider: &str, done: usize, total: usize) {
        if io::stderr().is_terminal() && total > 1 {
            let end = if done + 1 == total { "\n" } else { "" };
            write!(
                io::stderr(),
                "\r{table}: {done} of {total}, {provider}\u{1b}[K{end}"
            )
            .ok();
        }
    }

    fn waits(&self, provider: &str, wait: Duration, asked: bool) {
        if wait >= Duration::from_secs(2) {
            let why = if asked {
                "requested by the provider"
            } else {
                "rate limit"
            };
            say(&format!(
                "{provider}: waiting {} s ({why})",
                wait.as_secs_f64().ceil()
            ));
        }
    }
}
