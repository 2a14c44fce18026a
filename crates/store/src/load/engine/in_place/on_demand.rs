//! On-demand queries of a table in place: aggregates of one token, and its rows. A result from another version than the snapshot's is
//! refused.

mod transfers;

use std::{
    collections::{HashMap, HashSet},
    io::{Cursor, Read as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use polars::prelude::{
    DataFrame, IpcCompression, IpcStreamReader, IpcStreamWriter, SerReader as _, SerWriter as _,
};

use super::{
    super::{
        EngineQuery,
        count::SUMMED_MAX,
        rows::{copy_folder, keep, open_copy},
        sum::{
            Aggregation, Repeated,
            asked::{self, AskedRows},
            chart, first, holders, rows_version,
        },
    },
    EngineSnapshot, LoadContext,
    streamed::StreamedRows,
};
use crate::{
    Table,
    cache::CacheOptions,
    export::RowBatches,
    in_place::{Charts, Fetch, FetchError, Fetched, RowsVersion},
    load::{
        remote::{self, Pulse},
        table,
        task::{TableLoad, TableLoadError},
    },
    order,
};
use model::{
    address::Address,
    fetch_key::FetchKey,
    findings::Severity,
    format::plural,
    locks::Locked as _,
    progress::{Cancelled, LoadProgress},
    schema::TableSchema,
    table_ask::{AskKind, SourceQuery},
    table_state::TableState,
    transfer_sums::{TransferAnswer, TransferPart},
};
use source::{
    downloads,
    manifest::{Manifest, RowFilter},
};
use wire::{Fault, RemoteClient};

/// Most numbers of rows that are kept.
const TOTALS_MAX: usize = 1_000;

/// On-demand queries of the table.
#[derive(Debug)]
pub(super) struct OnDemand {
    folder: PathBuf,
    manifest: Manifest,
    cache: CacheOptions,
    wire: Arc<RemoteClient>,
    snapshot: EngineSnapshot,
    schema: &'static TableSchema,
    /// Hash of the snapshot's state.
    hash: String,
    /// Tokens whose rows are known to be free of duplicates; `None` means all tokens.
    unrepeated: Mutex<HashSet<Option<Address>>>,
    /// Parts of the table each time its rows were confirmed to be those of the snapshot.
    parts: Mutex<HashSet<String>>,
    /// Number of the snapshot's rows that meet a condition, by tokens and condition: it never changes.
    totals: Mutex<HashMap<(Vec<Address>, String), u64>>,
}

impl OnDemand {
    pub(super) fn new(
        context: &LoadContext<'_>,
        schema: &'static TableSchema,
        wire: Arc<RemoteClient>,
        snapshot: EngineSnapshot,
        hash: [u8; 32],
    ) -> Self {
        let parts = Mutex::new(snapshot.parts.iter().cloned().collect());
        Self {
            folder: context.folder.to_owned(),
            manifest: context.manifest.clone(),
            cache: context.cache.clone(),
            wire,
            snapshot,
            schema,
            hash: const_hex::encode(hash),
            unrepeated: Mutex::default(),
            parts,
            totals: Mutex::default(),
        }
    }

    /// Runs `ask` with a load restricted to the rows of these tokens; of all, where none is named.
    fn as_asked<T>(
        &self,
        tokens: &[Address],
        progress: &dyn LoadProgress,
        ask: impl FnOnce(&TableLoad<'_>) -> T,
    ) -> T {
        let mut manifest = self.manifest.clone();
        if let Some(table) = manifest.tables.get_mut(self.schema.name) {
            if let Some(asked) = &mut table.engine {
                asked.in_place = false;
            }
            let some = RowFilter::OneOf(tokens.iter().map(Address::to_string).collect());
            table.filters = if tokens.is_empty() {
                Vec::new()
            } else {
                vec![("token_address".to_owned(), some)]
            };
        }
        let context = LoadContext {
            wire: Some(&self.wire),
            tokens: tokens.iter().copied().collect(),
            snapshot: Some(&self.snapshot),
            ..LoadContext::new(&self.folder, &manifest, progress, &self.cache)
        };
        ask(&TableLoad::new(&context, self.schema))
    }

    /// All rows of the token, loaded like those of any table.
    fn rows_of(&self, token: &Address, progress: &dyn LoadProgress) -> Result<Table, FetchError> {
        let loaded = self.as_asked(std::slice::from_ref(token), progress, |load| {
            table::load(load.context, load.schema)
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

    pub(super) fn schema(&self) -> &'static TableSchema {
        self.schema
    }

    /// Asks the engine, with the rows of the request as a subquery.
    pub(super) fn at_the_engine<T>(
        &self,
        request: &RowsRequest<'_>,
        ask: impl FnOnce(&EngineQuery<'_>, &str, &Pulse) -> Result<T, TableLoadError>,
    ) -> Result<T, FetchError> {
        let pulse = Pulse::default();
        let outcome = self.as_asked(request.tokens, request.progress, |load| {
            remote::cancellable(load, &pulse, || {
                let Some(asked) = &load.manifest.engine else {
                    return Err(TableLoadError::ChangedDuringRead);
                };
                let asking = EngineQuery::new(load, asked)?;
                let columns = asking.columns()?;
                let mut conditions = asking.conditions(&columns);
                if conditions.is_empty() && !request.tokens.is_empty() {
                    return Err(TableLoadError::Unusable(format!(
                        "`{}` cannot be queried for one token; set read = \"bring\"",
                        asking.name
                    )));
                }
                conditions.extend(self.snapshot.until.iter().cloned());
                let base = asking.base(
                    &columns,
                    &conditions,
                    self.snapshot.summed,
                    self.snapshot.whole,
                )?;
                ask(&asking, &base, &pulse)
            })
        });
        outcome.map_err(fetch_error)
    }

    fn summed_transfers(
        &self,
        part: &TransferPart,
        request: &RowsRequest<'_>,
    ) -> Result<TransferAnswer, FetchError> {
        self.at_the_engine(request, |asking, base, pulse| {
            self.transfers(asking, base, part, request.version, pulse)
        })
    }

    /// An aggregation over the rows, decoded by `read`. Results are kept on disk, except rows and versions.
    fn sum<T>(
        &self,
        aggregation: &Aggregation,
        request: &RowsRequest<'_>,
        read: impl Fn(&[DataFrame]) -> Option<T>,
    ) -> Result<T, FetchError> {
        self.at_the_engine(request, |asking, base, pulse| {
            self.ask(asking, aggregation, (base, request), pulse, read)
        })
    }

    fn ask<T>(
        &self,
        asking: &EngineQuery<'_>,
        aggregation: &Aggregation,
        (base, request): (&str, &RowsRequest<'_>),
        pulse: &Pulse,
        read: impl Fn(&[DataFrame]) -> Option<T>,
    ) -> Result<T, TableLoadError> {
        let context = asking.load.context;
        let sql = aggregation.sql(base);
        // A table's rows say nothing of their version, which is asked for after them.
        let is_unbound = matches!(aggregation, Aggregation::Asked(..));
        let is_of =
            |frames: &[DataFrame]| is_unbound || rows_version(frames) == Some(request.version);
        let worth = !is_unbound
            && !matches!(
                aggregation,
                Aggregation::RowsVersion(_) | Aggregation::AskedVersion(..)
            );
        let place = copy_folder(context, &[&self.hash, &sql]).filter(|_| worth);
        let here = place.as_deref().and_then(stored).and_then(|frame| {
            let frames = [frame];
            read(&frames).filter(|_| is_of(&frames))
        });
        if let Some(here) = here {
            return Ok(here);
        }
        asking.must_take(&sql)?;
        let frames = asking.sum(aggregation, base, pulse)?;
        // A result of another version, or one that cannot be decoded, is not kept: it would be found again each time.
        if !is_of(&frames) {
            return Err(TableLoadError::ChangedDuringRead);
        }
        let answer = read(&frames).ok_or_else(|| asking.unread())?;
        if let (Some(place), Ok(Some(joined))) = (place, order::whole(frames)) {
            store(&asking.load, vec![(place, joined)]);
        }
        Ok(answer)
    }
}

impl OnDemand {
    /// The answer, and the number of rows that were asked for.
    pub(super) fn asked(
        &self,
        ask: &Arc<SourceQuery>,
        request: &RowsRequest<'_>,
    ) -> Result<(DataFrame, u64), FetchError> {
        let read = |frames: &[DataFrame]| match ask.wanted {
            AskKind::Page(_) => asked::read_page(frames, self.schema),
            _ => Some(
                order::whole(frames.iter().cloned())
                    .ok()?
                    .unwrap_or_default(),
            ),
        };
        let answer = match ask.wanted {
            AskKind::Count => DataFrame::default(),
            _ => self.sum(&Aggregation::Asked(self.asked_rows(ask)), request, read)?,
        };
        // They are looked for once: it is seen when rows change. Of very many rows they are not, as it takes minutes.
        let of_which: Vec<Option<Address>> = if ask.tokens.is_empty() {
            vec![None]
        } else {
            ask.tokens.iter().copied().map(Some).collect()
        };
        let is_seen = {
            let seen = self.unrepeated.locked();
            seen.contains(&None) || of_which.iter().all(|token| seen.contains(token))
        };
        let unique = !is_seen && (self.snapshot.summed || request.version.rows <= SUMMED_MAX);
        if !unique && let Some(total) = self.unchanged_total(ask, request)? {
            return Ok((answer, total));
        }
        // The checksum is of all rows, or of some tokens'.
        let before = if ask.tokens.is_empty() {
            self.parts_now(request)?
        } else {
            None
        };
        let version = Aggregation::AskedVersion(self.asked_rows(ask), unique);
        let read = |frames: &[DataFrame]| {
            let frame = frames.first()?;
            Some((
                Repeated::check(frames)?,
                first(frame, "odd")?,
                first(frame, "total")?,
            ))
        };
        let (repeated, odd, total) = self.sum(&version, request, read)?;
        repeated.map_err(|Repeated| twice(self.schema))?;
        if odd > 0 {
            return Err(FetchError::Unavailable(format!(
                "{} amounts that are not whole numbers written in digits, or addresses or hashes that are not in hex; convert them with \
                    a `query`, or set `read = \"bring\"` in dataset.toml",
                plural(odd, "of its rows has", "of its rows have")
            )));
        }
        if unique {
            self.unrepeated.locked().extend(of_which);
        }
        if let Some(before) = before
            && self.parts_now(request)?.as_ref() == Some(&before)
        {
            self.parts.locked().insert(before);
        }
        Ok((answer, total))
    }

    pub(super) fn asked_rows(&self, ask: &Arc<SourceQuery>) -> AskedRows {
        AskedRows {
            ask: Arc::clone(ask),
            schema: self.schema,
            whole: self.snapshot.whole,
        }
    }

    fn parts_now(&self, request: &RowsRequest<'_>) -> Result<Option<String>, FetchError> {
        self.at_the_engine(request, |asking, _, _| Ok(asking.parts()))
    }

    /// The number of the rows that were asked for, where the table still consists of what it did; `None` where only its content tells.
    fn unchanged_total(
        &self,
        ask: &Arc<SourceQuery>,
        request: &RowsRequest<'_>,
    ) -> Result<Option<u64>, FetchError> {
        self.at_the_engine(request, |asking, base, pulse| {
            let is_same = || {
                asking
                    .parts()
                    .is_some_and(|parts| self.parts.locked().contains(&parts))
            };
            let known = if ask.condition.is_empty() {
                Some(request.version.rows)
            } else {
                self.totals.locked().get(&which(ask)).copied()
            };
            if known.is_some() || !is_same() {
                return Ok(known.filter(|_| is_same()));
            }
            let counted =
                asking.sum(&Aggregation::AskedCount(self.asked_rows(ask)), base, pulse)?;
            let total = counted
                .first()
                .and_then(|frame| first(frame, "total"))
                .ok_or_else(|| asking.unread())?;
            if !is_same() {
                return Ok(None);
            }
            let mut totals = self.totals.locked();
            if totals.len() >= TOTALS_MAX {
                totals.clear();
            }
            totals.insert(which(ask), total);
            Ok(Some(total))
        })
    }
}

/// Which rows are asked for, in whatever order.
fn which(ask: &SourceQuery) -> (Vec<Address>, String) {
    (ask.tokens.clone(), ask.condition.clone())
}

/// The result of a query that was stored in its folder.
fn stored(place: &Path) -> Option<DataFrame> {
    let mut bytes = Vec::new();
    open_copy(place)?.read_to_end(&mut bytes).ok()?;
    IpcStreamReader::new(Cursor::new(bytes)).finish().ok()
}

/// Stores results of queries, each in its folder.
fn store(load: &TableLoad<'_>, results: Vec<(PathBuf, DataFrame)>) {
    for (place, mut frame) in results {
        if let Err(error) = keep(&place, |out| {
            IpcStreamWriter::new(out)
                .with_compression(Some(IpcCompression::LZ4))
                .finish(&mut frame)
        }) {
            tracing::warn!(
                "cannot store the response of `{}`; it is requested again: {error}",
                load.schema.name
            );
        }
    }
    let cache = &load.context.cache;
    if let Some(folder) = cache.folder.as_deref() {
        downloads::evict(folder, cache.size_max / 4);
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
                "`{}` cannot run this query: it would contain more addresses (from `labels` and `contracts`) than its server accepts; \
                    raise the server's max_query_size, or set read = \"bring\"",
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

/// Error for duplicate candles, or transfers.
fn twice(schema: &TableSchema) -> FetchError {
    let (table, same, one) = match schema.name {
        "transfers" => ("transfers", "transaction and log index", "transfer"),
        _ => ("candles", "interval and time", "candle"),
    };
    FetchError::Unavailable(format!(
        "some of its {table} are duplicates, with the same {same}; set `final = true`, use a `query` with one row per {one}, or set `read = \"bring\"` in dataset.toml"
    ))
}

/// A query of tokens' rows in the generation's version.
pub(super) struct RowsRequest<'a> {
    /// Empty: of all.
    pub(super) tokens: &'a [Address],
    pub(super) version: RowsVersion,
    pub(super) progress: &'a dyn LoadProgress,
}

impl Fetch for OnDemand {
    fn fetch(
        &self,
        key: &FetchKey,
        version: RowsVersion,
        progress: &dyn LoadProgress,
    ) -> Result<Fetched, FetchError> {
        let request = RowsRequest {
            tokens: key.tokens(),
            version,
            progress,
        };
        let all = |token: &Address| {
            let rows = self.rows_of(token, progress)?;
            // The loader would keep the last one, and the server may choose another order for each query.
            self.sum(
                &Aggregation::RowsVersion(self.schema.name),
                &request,
                Repeated::check,
            )?
            .map_err(|Repeated| twice(self.schema))?;
            Ok(Fetched::rows(rows))
        };
        let fetched = match key {
            FetchKey::Rows { token, .. } => all(token),
            FetchKey::Chart(_) => {
                let candles = self
                    .charts(request.tokens, version, progress)?
                    .pop()
                    .map(|(_, candles)| candles);
                Ok(Fetched::Chart(Box::new(candles.unwrap_or_default())))
            }
            FetchKey::Table(ask) => self
                .asked(ask, &request)
                .map(|(frame, total)| Fetched::Answer(frame, total)),
            FetchKey::Balances { individual, .. } => self
                .sum(
                    &Aggregation::Balances(Arc::clone(individual)),
                    &request,
                    holders::read_balances,
                )
                .map(|balances| Fetched::Balances(Arc::new(balances))),
            FetchKey::Transfers { part, .. } => self
                .summed_transfers(part, &request)
                .map(|answer| Fetched::Transfers(Arc::new(answer))),
            // A node's affair, which never comes here.
            FetchKey::State { .. } => Err(FetchError::Unavailable(
                "the source has no chain state".to_owned(),
            )),
        };
        self.wire.settle();
        fetched
    }

    fn charts(
        &self,
        tokens: &[Address],
        version: RowsVersion,
        progress: &dyn LoadProgress,
    ) -> Result<Charts, FetchError> {
        let read = self.sum(
            &Aggregation::Chart,
            &RowsRequest {
                tokens,
                version,
                progress,
            },
            chart::read,
        );
        self.wire.settle();
        read?.map_err(|Repeated| twice(self.schema))
    }

    fn rows(
        self: Arc<Self>,
        ask: Arc<SourceQuery>,
        version: RowsVersion,
        columns: Vec<&'static str>,
    ) -> Box<dyn RowBatches> {
        let count = if let AskKind::Page(page) = &ask.wanted {
            usize::try_from(page.count).unwrap_or(usize::MAX)
        } else {
            0
        };
        Box::new(StreamedRows {
            source: self,
            ask,
            version,
            columns,
            count,
            state: Mutex::default(),
        })
    }
}
