//! A refresh: plans the missing rows, requests them, and stores the responses. One program at a time refreshes a dataset; its state is
//! written after the rows.

mod posts;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    path::Path,
    sync::Arc,
};

use self::posts::{RecheckedPosts, own_accounts};
use super::{Held, RefreshError, RefreshReport, RefreshWatch, TableRefreshReport};
use crate::{
    Dataset,
    live::{
        ask::{Ask, LiveToken},
        forget::{self, Forgotten},
        pages::{AskOutcome, Asker, FetchFault},
        plan::{self, Needs, ProviderChoice, Wanted, most_liquid},
        rows::Known,
        state::{RefreshLock, RefreshState, RequestHistory, TableRefreshed},
    },
    live_files::files,
    manifest::{LiveTable, Manifest},
    part_files::{Parts, ReplaceScope},
    provider::{Provider, Providers, RequestScope},
};
use frames::{frame_rows::FromFrame as _, order};
use model::{
    address::Address,
    rows::{AccountRow, PersonRow, PoolRow},
    schema::{Grows, TABLES, TableSchema},
    time::Time,
    token::Token,
};
use wire::{RemoteClient, web::WebVersion};

/// Rows of a table that are held before they are written.
const HELD_ROWS: usize = 100_000;
/// Odd answers after which a provider is not asked again in a refresh.
const ODD_MAX: u32 = 3;
/// Notes that are kept of a table.
const NOTES_MAX: usize = 20;

/// Inputs of a refresh.
pub struct RefreshContext<'a> {
    /// The dataset's folder.
    pub dataset: &'a Path,
    pub manifest: &'a Manifest,
    pub providers: &'a Providers,
    pub wire: &'a Arc<RemoteClient>,
    pub market: &'a LiveMarket,
    /// The dataset, if it is loaded: some requests are about its posts and holders.
    pub rows: Option<&'a Dataset>,
    /// Whether the user asked for the refresh. Some services must not be searched by a clock.
    pub by_hand: bool,
    pub watchlist: &'a [Address],
    pub now: Time,
    pub watch: Arc<dyn RefreshWatch>,
}

/// What the dataset knows of the market, for requests.
#[derive(Debug, Clone, Default)]
pub struct LiveMarket {
    pub tokens: Vec<LiveToken>,
    pub pools: Vec<PoolRow>,
    /// The tokens' own social accounts.
    pub accounts: Vec<AccountRow>,
    pub decimals: HashMap<Address, Option<i64>>,
}

impl LiveMarket {
    fn tokens_of(dataset: &Dataset) -> Vec<LiveToken> {
        let token = |token: &Token| LiveToken {
            address: token.row.token_address,
            symbol: token.row.symbol.clone(),
            name: token.row.name.clone(),
            chains: token.chains.clone(),
            listed: token.row.listed == Some(true),
        };
        dataset.tokens().iter().map(token).collect()
    }

    pub fn of(dataset: &Dataset) -> Self {
        let accounts = dataset
            .tokens()
            .iter()
            .flat_map(|token| dataset.accounts_of(&token.row.token_address));
        Self {
            tokens: Self::tokens_of(dataset),
            pools: dataset.pools().to_vec(),
            accounts: own_accounts(accounts.cloned(), dataset.people()),
            decimals: dataset
                .tokens()
                .iter()
                .map(|token| (token.row.token_address, token.row.decimals))
                .collect(),
        }
    }
}

/// The live tables, in the order in which they are fetched: candles need the pools, and posts the accounts.
pub fn live_tables(manifest: &Manifest) -> Vec<(&'static TableSchema, &LiveTable)> {
    let mut tables: Vec<_> = TABLES
        .iter()
        .filter_map(|schema| Some((schema, manifest.tables.get(schema.name)?.live.as_ref()?)))
        .collect();
    tables.sort_by_key(|(schema, _)| match schema.name {
        "pools" | "tokens" => 0,
        "accounts" => 1,
        _ => 2,
    });
    tables
}

/// The tables that a refresh reads, besides tokens: what its requests are about.
pub fn tables_read(manifest: &Manifest, known: &Providers) -> Vec<&'static str> {
    let mut tables = vec!["pools", "accounts", "people"];
    for (schema, live) in live_tables(manifest) {
        for provider in plan::providers(schema, live, known).unwrap_or_default() {
            for request in provider.filling(schema.name) {
                match request.each {
                    RequestScope::Post => tables.push("posts"),
                    RequestScope::Holder => tables.push("holders"),
                    _ => {}
                }
            }
        }
    }
    tables
}

/// Each live table whose `provider` is unknown or lacks the table, with the reason.
pub fn provider_errors(manifest: &Manifest, known: &Providers) -> Vec<(&'static str, String)> {
    let errors = live_tables(manifest).into_iter();
    errors
        .filter_map(|(schema, live)| {
            let error = plan::providers(schema, live, known).err()?;
            Some((schema.name, error.to_string()))
        })
        .collect()
}

/// The hosts that a refresh connects to, with the number of certain requests; more may follow for further pages.
pub fn hosts(context: &RefreshContext<'_>, only: &[&str]) -> BTreeMap<String, u64> {
    let state = RefreshState::read(context.dataset);
    let mut hosts = BTreeMap::new();
    for (schema, live) in live_tables(context.manifest) {
        if only.is_empty() || only.contains(&schema.name) {
            let Ok(providers) = plan::providers(schema, live, context.providers) else {
                continue;
            };
            let plan = plan::plan(context.needs(schema, live, &state), &providers);
            plan::hosts(&plan, context.wire, &mut hosts);
            plan::social_hosts(schema, &providers, context.wire, &mut hosts);
        }
    }
    hosts
}

/// The origins, among the hosts of a refresh, of social platforms: they learn which tokens the user watches.
pub fn social_hosts(context: &RefreshContext<'_>) -> BTreeSet<String> {
    let mut hosts = BTreeMap::new();
    for (schema, live) in live_tables(context.manifest) {
        let mut providers = plan::providers(schema, live, context.providers).unwrap_or_default();
        providers.retain(|provider| provider.platform.is_some());
        let state = RefreshState::default();
        let plan = plan::plan(context.needs(schema, live, &state), &providers);
        plan::hosts(&plan, context.wire, &mut hosts);
        plan::social_hosts(schema, &providers, context.wire, &mut hosts);
    }
    hosts.into_keys().collect()
}

/// The hosts of one table that the user has not allowed yet.
pub fn hosts_without_consent(context: &RefreshContext<'_>, table: &str) -> Vec<String> {
    let is_open = |origin: &String| context.wire.may_ask(context.dataset, origin).is_err();
    hosts(context, &[table])
        .into_keys()
        .filter(is_open)
        .collect()
}

/// Refreshes all live tables, or only those named in `only`. Rows fetched before a failure are stored, and the report contains the failure.
pub fn refresh(context: &RefreshContext<'_>, only: &[&str]) -> Result<RefreshReport, RefreshError> {
    let _lock = RefreshLock::take(context.dataset)?.ok_or(RefreshError::Busy)?;
    let mut run = Run {
        context,
        state: RefreshState::read(context.dataset),
        asker: Asker {
            wire: context.wire,
            dataset: context.dataset,
            known: Known {
                decimals: context.market.decimals.clone(),
                tokens: context
                    .market
                    .tokens
                    .iter()
                    .map(|token| token.address)
                    .collect(),
                matcher: None,
            },
            watch: Arc::clone(&context.watch),
            requests: 0,
        },
        pools: context.market.pools.clone(),
        accounts: context.market.accounts.clone(),
        failed: HashMap::new(),
        odd: HashMap::new(),
        answered: HashSet::new(),
        without_rows: live_tables(context.manifest)
            .iter()
            .map(|(schema, _)| schema.name)
            .filter(|table| files(context.dataset, table).is_empty())
            .collect(),
        forgotten: Forgotten::read(context.dataset)?,
        people: HashMap::new(),
        rechecked: RecheckedPosts::default(),
    };
    let mut report = RefreshReport::default();
    for (schema, live) in live_tables(context.manifest) {
        if only.is_empty() || only.contains(&schema.name) {
            let table = run.table(schema, live);
            context.wire.settle();
            if let Err(RefreshError::Failed(error)) = &table {
                // What cannot be kept is not asked for again at once.
                let failed = TableRefreshReport {
                    table: schema.name.to_owned(),
                    failure: Some(error.to_string()),
                    ..TableRefreshReport::default()
                };
                run.end(failed).ok();
            }
            report.tables.push(table.map_err(|error| {
                if context.watch.is_stopped() {
                    RefreshError::Stopped
                } else {
                    error
                }
            })?);
        }
    }
    if let Some(keep) = context.manifest.social.keep {
        forget::empty_old(context.dataset, keep, context.now)?;
    }
    Ok(report)
}

impl RefreshContext<'_> {
    fn needs<'b>(
        &'b self,
        schema: &'static TableSchema,
        live: &'b LiveTable,
        state: &'b RefreshState,
    ) -> Needs<'b> {
        let is_kept = !files(self.dataset, schema.name).is_empty();
        Needs {
            schema,
            live,
            tokens: &self.market.tokens,
            watchlist: self.watchlist,
            pools: &self.market.pools,
            accounts: &self.market.accounts,
            dataset: self.rows,
            by_hand: self.by_hand,
            state,
            is_kept,
            now: self.now,
        }
    }
}

/// A refresh under way.
struct Run<'a> {
    context: &'a RefreshContext<'a>,
    state: RefreshState,
    asker: Asker<'a>,
    /// The pools of the dataset, and those fetched in this refresh.
    pools: Vec<PoolRow>,
    /// The accounts of the dataset, and those fetched in this refresh.
    accounts: Vec<AccountRow>,
    /// Providers that failed, with the reason: they are not used again in this refresh.
    failed: HashMap<String, String>,
    /// Number of responses of each provider that did not match its description.
    odd: HashMap<String, u32>,
    /// Requests that are done: a request may fill several tables.
    answered: HashSet<String>,
    /// Live tables that had no rows at the start.
    without_rows: HashSet<&'static str>,
    /// People whose rows are not stored.
    forgotten: Forgotten,
    /// Scores of the people fetched in this refresh, and whether they are bots, by platform and id.
    people: HashMap<(String, String), PersonRow>,
    /// Posts that were requested by id.
    rechecked: RecheckedPosts,
}

/// Result of a search for a token's pool.
enum PoolFound {
    Pool(Address),
    None,
    /// The provider failed, or the refresh was stopped.
    Failed,
}

impl Run<'_> {
    fn table(
        &mut self,
        schema: &'static TableSchema,
        live: &LiveTable,
    ) -> Result<TableRefreshReport, RefreshError> {
        let mut report = TableRefreshReport {
            table: schema.name.to_owned(),
            ..TableRefreshReport::default()
        };
        let providers = match plan::providers(schema, live, self.context.providers) {
            Ok(providers) => providers,
            Err(error) => {
                report.failure = Some(error.to_string());
                return self.end(report);
            }
        };
        if schema.name == "posts" {
            self.asker.known.matcher = Some(Arc::new(self.matcher()));
        }
        let accounts = self.accounts.clone();
        let needs = Needs {
            pools: &self.pools,
            accounts: &accounts,
            ..self.context.needs(schema, live, &self.state)
        };
        let plan = plan::plan(needs, &providers);
        let (mut held, total) = (Held::default(), plan.len());
        for (done, wanted) in plan.iter().enumerate() {
            if self.context.watch.is_stopped() {
                break;
            }
            let provider = wanted
                .choices
                .first()
                .map_or("", |choice| &choice.provider.name);
            self.context.watch.step(schema.name, provider, done, total);
            self.wanted(schema, live.together, wanted, &mut held, &mut report);
            if held.rows >= HELD_ROWS {
                self.keep(schema, live.together, &mut held)?;
            }
        }
        self.keep(schema, live.together, &mut held)?;
        if schema.name == "posts" {
            report.notes.extend(report.excluded.notes());
            report.notes.extend(self.mark_gone()?);
        }
        report.notes.truncate(NOTES_MAX);
        if self.context.watch.is_stopped() {
            return Err(RefreshError::Stopped);
        }
        self.end(report)
    }

    /// Asks the first provider that knows it, or all of them if their rows are put together. A series stays that of the provider which
    /// gave its first rows: two markets are not mixed.
    fn wanted(
        &mut self,
        schema: &TableSchema,
        together: bool,
        wanted: &Wanted<'_>,
        held: &mut Held,
        report: &mut TableRefreshReport,
    ) {
        let (mut unknown, mut known) = (wanted.choices.is_empty(), false);
        let gave = |choice: &&ProviderChoice<'_>| {
            choice.asks.iter().any(|ask| {
                self.state
                    .asked
                    .get(&ask.key())
                    .is_some_and(|asked| asked.gave)
            })
        };
        let before = wanted
            .choices
            .iter()
            .find(gave)
            .filter(|_| schema.grows == Grows::ByParts && !together);
        let choices: Vec<&ProviderChoice<'_>> =
            before.map_or_else(|| wanted.choices.iter().collect(), |choice| vec![choice]);
        for choice in choices {
            if let Some(reason) = self.failed.get(&choice.provider.id) {
                report.failure.get_or_insert_with(|| reason.clone());
                continue;
            }
            match self.choice(choice, together, held, report) {
                Some(true) if !together => return,
                Some(true) => known = true,
                Some(false) => unknown = true,
                None => {}
            }
            if self.context.watch.is_stopped() {
                return;
            }
        }
        report
            .unknown
            .extend(wanted.token.filter(|_| unknown && !known));
    }

    /// Asks one provider all it takes: whether it knows it; none after a failure.
    fn choice(
        &mut self,
        choice: &ProviderChoice<'_>,
        together: bool,
        held: &mut Held,
        report: &mut TableRefreshReport,
    ) -> Option<bool> {
        let now = self.context.now;
        let mut pool = None;
        if let Some(ask) = &choice.pools {
            match self.first_pool(ask, held, report) {
                PoolFound::Pool(found) => pool = Some(found),
                PoolFound::None => return Some(false),
                PoolFound::Failed => return None,
            }
        }
        let mut knows = false;
        let mut unknown: HashSet<String> = HashSet::new();
        for ask in &choice.asks {
            let mut ask = ask.clone();
            ask.about.pool = ask.about.pool.or(pool);
            let key = ask.key();
            if unknown.contains(&key) {
                continue;
            }
            if ask.span.is_none() && self.answered.contains(&key) {
                knows = true;
                report.providers.insert(choice.provider.id.clone());
                continue;
            }
            if self.state.is_unknown(&key, now) {
                continue;
            }
            let mut before = self.state.asked.get(&key).cloned().unwrap_or_default();
            // What is known of rows that were taken away counts no more.
            if ask
                .request
                .tables
                .iter()
                .any(|filled| self.without_rows.contains(filled.table))
            {
                (before.covered, before.version) = (None, WebVersion::default());
            }
            let version = if ask.span.is_none() {
                before.version.clone()
            } else {
                WebVersion::default()
            };
            let requests = self.asker.requests;
            let outcome = self.asker.all_pages(&ask, version);
            report.requests += self.asker.requests - requests;
            self.recheck(&ask, &outcome);
            match outcome {
                AskOutcome::Rows(fetched) => {
                    let fault = fetched.fault.clone();
                    let came = fetched
                        .frames
                        .iter()
                        .any(|(table, frame)| *table == report.table && frame.height() > 0);
                    self.answered.insert(key.clone());
                    // An answer without posts about a token is an answer.
                    if came || before.gave || together {
                        knows = true;
                        report.providers.insert(choice.provider.id.clone());
                    }
                    if let (Some(token), Some(chain), Some(pool)) =
                        (ask.about.token, &ask.about.chain, ask.about.pool)
                    {
                        self.state.keep_pool(token, chain, pool);
                    }
                    held.take(&ask, &before, *fetched, report, now);
                    if let Some(fault) = fault {
                        self.fail(choice.provider, &fault, report);
                        return None;
                    }
                }
                AskOutcome::Unchanged => {
                    knows = true;
                    held.asked.push((
                        key,
                        RequestHistory {
                            at: now.0,
                            ..before
                        },
                    ));
                }
                AskOutcome::Unknown => {
                    let earlier = held
                        .asked
                        .iter()
                        .rev()
                        .find(|(other, _)| *other == key)
                        .map(|(_, asked)| asked.clone())
                        .unwrap_or(before);
                    // A part of what is known may be refused, as of times before it began.
                    let asked = RequestHistory {
                        at: now.0,
                        unknown: !earlier.gave,
                        ..earlier
                    };
                    held.asked.push((key.clone(), asked));
                    unknown.insert(key);
                }
                AskOutcome::Failed(fault) => {
                    self.fail(choice.provider, &fault, report);
                    return None;
                }
                AskOutcome::Stopped => return None,
            }
        }
        Some(knows)
    }

    /// Notes a failure. A service that is away, or answers oddly again and again, is not asked any more in this refresh.
    fn fail(&mut self, provider: &Provider, fault: &FetchFault, report: &mut TableRefreshReport) {
        let reason = format!("{} {}", provider.name, fault.reason);
        report.failure.get_or_insert_with(|| reason.clone());
        let odd = self.odd.entry(provider.id.clone()).or_default();
        *odd += 1;
        if !fault.of_answer || *odd >= ODD_MAX {
            self.failed.insert(provider.id.clone(), reason);
        }
    }

    fn is_live(&self, table: &str) -> bool {
        self.context
            .manifest
            .tables
            .get(table)
            .is_some_and(|table| table.live.is_some())
    }

    /// The token's most liquid pool, as its provider says.
    fn first_pool(
        &mut self,
        ask: &Ask<'_>,
        held: &mut Held,
        report: &mut TableRefreshReport,
    ) -> PoolFound {
        let (Some(token), Some(chain)) = (ask.about.token, ask.about.chain.as_ref()) else {
            return PoolFound::None;
        };
        if let Some(pool) = most_liquid(&self.pools, token, chain) {
            return PoolFound::Pool(pool);
        }
        if self.state.is_unknown(&ask.key(), self.context.now) {
            return PoolFound::None;
        }
        let requests = self.asker.requests;
        let outcome = self.asker.all_pages(ask, WebVersion::default());
        report.requests += self.asker.requests - requests;
        match outcome {
            AskOutcome::Rows(fetched) => {
                for (_, frame) in fetched.frames.iter().filter(|(table, _)| *table == "pools") {
                    self.pools.extend(PoolRow::rows(frame));
                }
                let found = most_liquid(&self.pools, token, chain);
                if found.is_none() {
                    held.asked.push((
                        ask.key(),
                        RequestHistory {
                            at: self.context.now.0,
                            unknown: true,
                            ..RequestHistory::default()
                        },
                    ));
                }
                found.map_or(PoolFound::None, PoolFound::Pool)
            }
            AskOutcome::Unknown | AskOutcome::Unchanged => {
                held.asked.push((
                    ask.key(),
                    RequestHistory {
                        at: self.context.now.0,
                        unknown: true,
                        ..RequestHistory::default()
                    },
                ));
                PoolFound::None
            }
            AskOutcome::Failed(fault) => {
                self.fail(ask.provider, &fault, report);
                PoolFound::Failed
            }
            AskOutcome::Stopped => PoolFound::Failed,
        }
    }

    /// Writes the rows, and then what is known of them.
    fn keep(
        &mut self,
        schema: &'static TableSchema,
        together: bool,
        held: &mut Held,
    ) -> Result<(), RefreshError> {
        let held = std::mem::take(held);
        self.take_people(held.frames.get("people").into_iter().flatten());
        for (table, frames) in held.frames {
            let Some(filled) = model::schema::table(table).filter(|_| self.is_live(table)) else {
                continue;
            };
            let Some(frame) = order::whole(frames)? else {
                continue;
            };
            let frame = self.forgotten.without(table, frame)?;
            let frame = if table == "posts" {
                self.mark_dropped(frame)?
            } else {
                frame
            };
            if table == "pools" {
                self.pools.extend(PoolRow::rows(&frame));
            }
            if table == "accounts" {
                self.accounts
                    .extend(own_accounts(AccountRow::rows(&frame), &[]));
            }
            let parts = Parts {
                dataset: self.context.dataset,
                schema: filled,
            };
            let scope = match (table == schema.name, held.whole) {
                (true, true) if table != "tokens" && !together => ReplaceScope::All,
                // A list of holders is whole; of facts several requests give some columns each.
                (true, false) if table == "holders" => ReplaceScope::Tokens(held.tokens.clone()),
                _ => ReplaceScope::Keys,
            };
            if filled.grows == Grows::ByParts {
                parts.append(frame, self.context.now)?;
            } else {
                parts.replace(&frame, &scope, self.context.now)?;
            }
        }
        self.state.asked.extend(held.asked);
        Ok(self.state.write(self.context.dataset)?)
    }

    /// Notes the end of a table's refresh.
    fn end(&mut self, report: TableRefreshReport) -> Result<TableRefreshReport, RefreshError> {
        let now = self.context.now.0;
        let before = self.state.tables.remove(&report.table).unwrap_or_default();
        let table = TableRefreshed {
            last: if report.failure.is_none() || report.rows > 0 {
                Some(now)
            } else {
                before.last
            },
            tried: Some(now),
            failure: report.failure.clone(),
            notes: report.notes.clone(),
            // Rows of those who gave some before are there too, and so must their credit be.
            providers: before
                .providers
                .into_iter()
                .chain(report.providers.iter().cloned())
                .collect(),
        };
        self.state.tables.insert(report.table.clone(), table);
        self.state.write(self.context.dataset)?;
        Ok(report)
    }
}
