//! Brings rows of a table that stays at the engine. What a template selects is loaded like any table at an engine, with the same rules,
//! checks and copies; pages of `/tables` are read as they come.

use std::{path::PathBuf, sync::Arc};

use polars::prelude::DataFrame;
use quick_cache::sync::Cache;

use super::{
    EngineQuery, EngineSnapshot, LoadContext,
    columns::{first, sound},
    pages,
    sql::EngineColumn,
    streamed::StreamedRows,
    templates,
};
use crate::{
    Table,
    engine_rows::{Fetch, FetchError, HOLDERS_MAX, TRANSFERS_MAX},
    loader::{
        remote::{self, Pulse},
        stages,
        task::{TableLoad, TableLoadError},
    },
    manifest::{Manifest, Relation, RowFilter, TableManifest},
};
use frames::{cache::CacheOptions, export::RowBatches, order};
use model::{
    address::Address,
    findings::Severity,
    holding::Listed,
    progress::{Cancelled, LoadProgress},
    schema::TableSchema,
    table_ask::{AskKind, SourceQuery},
    table_state::TableState,
};
use std::collections::HashMap;
use wire::{Fault, RemoteClient};

/// Most numbers of rows that meet a condition that are kept.
const TOTALS_MAX: usize = 1_000;
/// Most rows of a page, and values of a column.
const PAGE_MAX: u64 = 10_000_000;

/// What asks the engine about one table.
#[derive(Debug)]
pub(super) struct EngineFetch {
    folder: PathBuf,
    manifest: Manifest,
    cache: CacheOptions,
    wire: Arc<RemoteClient>,
    snapshot: EngineSnapshot,
    schema: &'static TableSchema,
    listed: HashMap<Address, Listed>,
    /// Number of the snapshot's rows that meet a condition, by tokens and condition.
    totals: Cache<(Vec<Address>, String), u64>,
}

impl EngineFetch {
    pub(super) fn new(
        context: &LoadContext<'_>,
        schema: &'static TableSchema,
        wire: Arc<RemoteClient>,
        snapshot: EngineSnapshot,
        listed: HashMap<Address, Listed>,
    ) -> Self {
        Self {
            folder: context.folder.to_owned(),
            manifest: context.manifest.clone(),
            cache: context.cache.clone(),
            wire,
            snapshot,
            schema,
            listed,
            totals: Cache::new(TOTALS_MAX),
        }
    }

    pub(super) fn schema(&self) -> &'static TableSchema {
        self.schema
    }

    /// Runs `ask` with a load of the table under other rules.
    fn as_asked<T>(
        &self,
        (snapshot, tokens): (&EngineSnapshot, &[Address]),
        progress: &dyn LoadProgress,
        change: impl FnOnce(&mut TableManifest),
        ask: impl FnOnce(&TableLoad<'_>) -> T,
    ) -> T {
        let mut manifest = self.manifest.clone();
        if let Some(table) = manifest.tables.get_mut(self.schema.name) {
            change(table);
        }
        let context = LoadContext {
            wire: Some(&self.wire),
            tokens: tokens.iter().copied().collect(),
            snapshot: Some(snapshot),
            ..LoadContext::new(&self.folder, &manifest, progress, &self.cache)
        };
        let outcome = ask(&TableLoad::new(&context, self.schema));
        self.wire.settle();
        outcome
    }

    /// Asks the engine about the rows of these tokens; of all, where none is named. `ask` also gets the conditions that keep them.
    pub(super) fn at_the_engine<T>(
        &self,
        tokens: &[Address],
        progress: &dyn LoadProgress,
        ask: impl FnOnce(&EngineQuery<'_>, &[String], &Pulse) -> Result<T, TableLoadError>,
    ) -> Result<T, FetchError> {
        let pulse = Pulse::default();
        // `until` has the conditions of `where`.
        let some = RowFilter::OneOf(tokens.iter().map(Address::to_string).collect());
        let filters = if tokens.is_empty() {
            Vec::new()
        } else {
            vec![("token_address".to_owned(), some)]
        };
        let outcome = self.as_asked(
            (&self.snapshot, tokens),
            progress,
            |table| table.filters = filters,
            |load| {
                remote::cancellable(load, &pulse, || {
                    let Some(asked) = &load.manifest.engine else {
                        return Err(TableLoadError::ChangedDuringRead);
                    };
                    let asking = EngineQuery::new(load, asked)?;
                    let mut conditions = asking.conditions(&asking.columns()?);
                    if conditions.is_empty() && !tokens.is_empty() {
                        return Err(TableLoadError::Unusable(format!(
                            "`{}` cannot be queried for one token; set read = \"bring\"",
                            asking.name
                        )));
                    }
                    conditions.extend(self.snapshot.until.iter().cloned());
                    ask(&asking, &conditions, &pulse)
                })
            },
        );
        outcome.map_err(fetch_error)
    }

    /// The days of all tokens, or only the last, as a table.
    pub(super) fn days(
        &self,
        last: bool,
        progress: &dyn LoadProgress,
    ) -> Result<Table, FetchError> {
        let sql = self.at_the_engine(&[], progress, |asking, conditions, _| {
            let base = asking.base(&asking.columns()?, conditions)?;
            Ok(templates::days(&base, &sound(), last))
        })?;
        self.made(sql, progress)
    }

    /// Candles that a template makes, in canonical columns.
    fn made(&self, sql: String, progress: &dyn LoadProgress) -> Result<Table, FetchError> {
        let columns = templates::CANDLE_COLUMNS
            .iter()
            .map(|(name, kind)| EngineColumn::new(name, kind));
        let snapshot = EngineSnapshot {
            described: columns.collect(),
            until: Vec::new(),
            as_of: self.snapshot.as_of.clone(),
        };
        self.load(sql, &snapshot, progress, |table| {
            *table = TableManifest {
                engine: table.engine.take(),
                ..TableManifest::default()
            };
        })
    }

    /// Loads the result of a query like any table.
    fn load(
        &self,
        sql: String,
        snapshot: &EngineSnapshot,
        progress: &dyn LoadProgress,
        change: impl FnOnce(&mut TableManifest),
    ) -> Result<Table, FetchError> {
        let change = |table: &mut TableManifest| {
            change(table);
            table.filters = Vec::new();
            if let Some(asked) = &mut table.engine {
                (asked.in_place, asked.last) = (false, false);
                asked.from = Relation::Query(sql);
            }
        };
        let loaded = self.as_asked((snapshot, &[]), progress, change, |load| {
            stages::load(load.context, load.schema)
        });
        let table = loaded.map_err(|Cancelled| FetchError::Cancelled)?;
        let then = table.remote.as_ref().and_then(|remote| remote.as_of);
        match (&table.state, then) {
            (TableState::Loaded, None) => Ok(table),
            // Most likely of an earlier generation.
            (TableState::Loaded, Some(then)) => {
                let old =
                    table.findings.kept().iter().find(|finding| {
                        finding.severity == Severity::Warning && finding.row.is_none()
                    });
                let told = old.map_or_else(
                    || format!("the rows are from {then}"),
                    |old| old.reason.clone(),
                );
                Err(FetchError::Unavailable(format!(
                    "only earlier rows are available: {told}"
                )))
            }
            (TableState::Unusable(reason), _) => Err(FetchError::Unavailable(reason.clone())),
            (TableState::Absent, _) => Err(FetchError::Unavailable(
                "the rows no longer exist".to_owned(),
            )),
        }
    }
}

impl Fetch for EngineFetch {
    fn rows(&self, token: &Address, progress: &dyn LoadProgress) -> Result<Table, FetchError> {
        let listed = self.listed.get(token).map_or(0, |listed| listed.rows);
        let is_candles = self.schema.name == "candles";
        let sql = self.at_the_engine(
            std::slice::from_ref(token),
            progress,
            |asking, conditions, _| {
                let columns = asking.columns()?;
                if is_candles {
                    let base = asking.base(&columns, conditions)?;
                    return Ok(templates::chart(&base, &sound()));
                }
                let most = if self.schema.name == "holders" {
                    HOLDERS_MAX
                } else {
                    TRANSFERS_MAX
                };
                let order = asking.first_of(&columns);
                Ok(templates::first(
                    &asking.rows(&columns, conditions),
                    &order,
                    most,
                    listed,
                ))
            },
        )?;
        if is_candles {
            return self.made(sql, progress);
        }
        let snapshot = EngineSnapshot {
            until: Vec::new(),
            ..self.snapshot.clone()
        };
        self.load(sql, &snapshot, progress, |_| ())
    }

    fn page(
        &self,
        ask: &Arc<SourceQuery>,
        progress: &dyn LoadProgress,
    ) -> Result<(DataFrame, Option<u64>), FetchError> {
        self.at_the_engine(&ask.tokens, progress, |asking, conditions, pulse| {
            let base = asking.base(&asking.columns()?, conditions)?;
            let read = |sql: &str| {
                asking.must_take(sql)?;
                asking.frames(sql, PAGE_MAX, pulse)
            };
            let whole = |frames: Vec<DataFrame>| {
                order::whole(frames)
                    .map(Option::unwrap_or_default)
                    .map_err(|_| asking.unread())
            };
            let frame = match ask.wanted {
                AskKind::Count => DataFrame::default(),
                AskKind::Page(_) => {
                    pages::read(&read(&pages::page(&base, ask, self.schema))?, self.schema)
                        .ok_or_else(|| asking.unread())?
                }
                _ => whole(read(&pages::page(&base, ask, self.schema))?)?,
            };
            if ask.condition.is_empty() {
                return Ok((frame, None));
            }
            let which = (ask.tokens.clone(), ask.condition.clone());
            if let Some(total) = self.totals.get(&which) {
                return Ok((frame, Some(total)));
            }
            let counted = read(&super::columns::counted(&pages::count(&base, ask)))?;
            let total = counted
                .first()
                .and_then(|frame| first(frame, "total"))
                .ok_or_else(|| asking.unread())?;
            self.totals.insert(which, total);
            Ok((frame, Some(total)))
        })
    }

    fn stream(
        self: Arc<Self>,
        ask: Arc<SourceQuery>,
        columns: Vec<&'static str>,
    ) -> Box<dyn RowBatches> {
        Box::new(StreamedRows::new(self, ask, columns))
    }
}

impl EngineQuery<'_> {
    /// Errors: the server does not take so long a query.
    fn must_take(&self, sql: &str) -> Result<(), TableLoadError> {
        if self
            .engine
            .known(&|| self.load.is_stopped())
            .is_ok_and(|known| !known.takes(sql))
        {
            return Err(TableLoadError::Unusable(format!(
                "`{}` cannot run this query: it is longer than its server accepts; raise the server's max_query_size, or set read = \"bring\"",
                self.name
            )));
        }
        Ok(())
    }
}

fn fetch_error(error: TableLoadError) -> FetchError {
    match error {
        TableLoadError::Cancelled | TableLoadError::Remote(_, Fault::Stopped) => {
            FetchError::Cancelled
        }
        error => FetchError::Unavailable(error.words().unwrap_or_else(|| {
            "it has changed since the data was loaded; reload the data".to_owned()
        })),
    }
}
