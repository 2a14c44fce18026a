//! On-demand queries of a table in place: aggregates of one token, and its rows. An answer from another version than the generation's is
//! refused.

mod transfers;

use std::{
    io::{Cursor, Read as _},
    path::PathBuf,
    sync::Arc,
};

use polars::prelude::{DataFrame, IpcStreamReader, IpcStreamWriter, SerReader as _, SerWriter as _};

use super::{
    super::{
        EngineQuery,
        rows::{copy_folder, keep, open_copy},
        sum::{Aggregation, Repeated, chart, holders, page, rows_version},
    },
    EngineSnapshot, LoadContext,
};
use crate::{
    Table,
    cache::CacheOptions,
    in_place::{Fetch, FetchError, Fetched, RowsVersion},
    load::{
        remote::{self, Pulse},
        table,
        task::{TableLoad, TableLoadError},
    },
    manifest::{Manifest, RowFilter},
    order,
    source::downloads,
};
use model::{
    address::Address,
    fetch_key::FetchKey,
    findings::Severity,
    progress::{Cancelled, LoadProgress},
    schema::TableSchema,
    table_state::TableState,
    transfer_sums::{TransferAnswer, TransferPart},
};
use wire::{Fault, Wire};

/// On-demand queries of the table.
#[derive(Debug)]
pub(super) struct OnDemand {
    folder: PathBuf,
    manifest: Manifest,
    cache: CacheOptions,
    wire: Arc<Wire>,
    snapshot: EngineSnapshot,
    schema: &'static TableSchema,
    /// Hash of the generation's state.
    hash: String,
}

impl OnDemand {
    pub(super) fn new(
        context: &LoadContext<'_>,
        schema: &'static TableSchema,
        wire: Arc<Wire>,
        snapshot: EngineSnapshot,
        hash: [u8; 32],
    ) -> Self {
        Self {
            folder: context.folder.to_owned(),
            manifest: context.manifest.clone(),
            cache: context.cache.clone(),
            wire,
            snapshot,
            schema,
            hash: const_hex::encode(hash),
        }
    }

    /// Runs `ask` with a load restricted to one token's rows.
    fn as_asked<T>(&self, token: &Address, progress: &dyn LoadProgress, ask: impl FnOnce(&TableLoad<'_>) -> T) -> T {
        let mut manifest = self.manifest.clone();
        if let Some(table) = manifest.tables.get_mut(self.schema.name) {
            if let Some(asked) = &mut table.engine {
                asked.in_place = false;
            }
            table.filters = vec![("token_address".to_owned(), RowFilter::OneOf(vec![token.to_string()]))];
        }
        let context = LoadContext {
            wire: Some(&self.wire),
            tokens: std::iter::once(*token).collect(),
            snapshot: Some(&self.snapshot),
            ..LoadContext::new(&self.folder, &manifest, progress, &self.cache)
        };
        ask(&TableLoad::new(&context, self.schema))
    }

    /// All rows of the token, loaded like those of any table.
    fn rows(&self, token: &Address, progress: &dyn LoadProgress) -> Result<Table, FetchError> {
        let loaded = self.as_asked(token, progress, |load| table::load(load.context, load.schema));
        let table = loaded.map_err(|Cancelled| FetchError::Cancelled)?;
        let then = table.remote.as_ref().and_then(|remote| remote.as_of);
        match (&table.state, then) {
            (TableState::Loaded, None) => Ok(table),
            // Most likely of an earlier generation.
            (TableState::Loaded, Some(then)) => {
                let old = table.findings.kept().iter().find(|finding| finding.severity == Severity::Warning && finding.row.is_none());
                let told = old.map_or_else(|| format!("is of {then}"), |old| old.reason.clone());
                Err(FetchError::Unavailable(format!("what is here of them {told}")))
            }
            (TableState::Unusable(reason), _) => Err(FetchError::Unavailable(reason.clone())),
            (TableState::Absent, _) => Err(FetchError::Unavailable("nothing is there any more".to_owned())),
        }
    }

    /// An aggregation over the token's rows, decoded by `read`. Results are kept on disk, except pages and versions.
    fn sum<T>(&self, aggregation: &Aggregation, request: &Request<'_>, read: impl Fn(&[DataFrame]) -> Option<T>) -> Result<T, FetchError> {
        let pulse = Pulse::default();
        let outcome = self.as_asked(request.token, request.progress, |load| {
            remote::cancellable(load, &pulse, || self.ask(load, aggregation, request.version, &pulse, read))
        });
        outcome.map_err(fetch_error)
    }

    fn summed_transfers(&self, part: &TransferPart, request: &Request<'_>) -> Result<TransferAnswer, FetchError> {
        let pulse = Pulse::default();
        let outcome = self.as_asked(request.token, request.progress, |load| {
            remote::cancellable(load, &pulse, || self.transfers(load, part, request.version, &pulse))
        });
        outcome.map_err(fetch_error)
    }

    /// A query about the rows of a token in the state of the generation, and their SQL.
    fn prepare<'q>(&self, load: &TableLoad<'q>) -> Result<(EngineQuery<'q>, String), TableLoadError> {
        let Some(asked) = &load.manifest.engine else { return Err(TableLoadError::ChangedDuringRead) };
        let asking = EngineQuery::new(load, asked)?;
        let columns = asking.columns()?;
        let mut conditions = asking.conditions(&columns);
        if conditions.is_empty() {
            return Err(TableLoadError::Unusable(format!("`{}` cannot be asked for one token: say read = \"bring\"", asking.name)));
        }
        conditions.extend(self.snapshot.until.iter().cloned());
        let base = asking.base(&columns, &conditions, self.snapshot.summed)?;
        Ok((asking, base))
    }

    fn ask<T>(
        &self,
        load: &TableLoad<'_>,
        aggregation: &Aggregation,
        expected: RowsVersion,
        pulse: &Pulse,
        read: impl Fn(&[DataFrame]) -> Option<T>,
    ) -> Result<T, TableLoadError> {
        let ((asking, base), context) = (self.prepare(load)?, load.context);
        let sql = aggregation.sql(&base);
        let worth = !matches!(aggregation, Aggregation::Page { .. } | Aggregation::RowsVersion(_));
        let place = copy_folder(context, &[&self.hash, &sql]).filter(|_| worth);
        let here = place.as_deref().and_then(open_copy).and_then(|mut file| {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).ok()?;
            let frames = [IpcStreamReader::new(Cursor::new(bytes)).finish().ok()?];
            read(&frames).filter(|_| rows_version(&frames) == Some(expected))
        });
        if let Some(here) = here {
            return Ok(here);
        }
        asking.must_take(&sql)?;
        let frames = asking.sum(aggregation, &base, pulse)?;
        // A result of another version, or one that cannot be decoded, is not kept: it would be found again each time.
        if rows_version(&frames) != Some(expected) {
            return Err(TableLoadError::ChangedDuringRead);
        }
        let answer = read(&frames).ok_or_else(|| asking.unread())?;
        if let (Some(place), Ok(Some(mut joined))) = (place, order::whole(frames)) {
            if let Err(error) = keep(&place, |out| IpcStreamWriter::new(out).finish(&mut joined)) {
                tracing::warn!("the answer of `{}` cannot be stored, and is asked for again: {error}", self.schema.name);
            }
            if let Some(cache) = context.cache.folder.as_deref() {
                downloads::evict(cache, context.cache.size_max / 4);
            }
        }
        Ok(answer)
    }
}

impl EngineQuery<'_> {
    /// Errors: the server does not take so long a query.
    fn must_take(&self, sql: &str) -> Result<(), TableLoadError> {
        if self.engine.known(&|| self.load.is_stopped()).is_ok_and(|known| !known.takes(sql)) {
            return Err(TableLoadError::Unusable(format!(
                "`{}` cannot be asked for that: the query would name more addresses, as `labels` and `contracts` do, than its server takes; \
                 raise its max_query_size, or say read = \"bring\"",
                self.name
            )));
        }
        Ok(())
    }
}

fn fetch_error(error: TableLoadError) -> FetchError {
    match error {
        TableLoadError::Cancelled | TableLoadError::Remote(_, Fault::Stopped) => FetchError::Cancelled,
        error => {
            FetchError::Unavailable(error.words().unwrap_or_else(|| "it has changed since the data were loaded: load again".to_owned()))
        }
    }
}

/// Error for duplicate candles.
fn twice() -> FetchError {
    FetchError::Unavailable(
        "some of its candles come twice there, with the same interval and time: say `final = true`, a `query` with one row for each candle, or \
         `read = \"bring\"` in dataset.toml"
            .to_owned(),
    )
}

/// A query of a token's rows in the generation's version.
struct Request<'a> {
    token: &'a Address,
    version: RowsVersion,
    progress: &'a dyn LoadProgress,
}

impl Fetch for OnDemand {
    fn fetch(&self, key: &FetchKey, version: RowsVersion, progress: &dyn LoadProgress) -> Result<Fetched, FetchError> {
        let request = Request { token: &key.token(), version, progress };
        let all = || {
            let rows = self.rows(request.token, progress)?;
            // The loader would keep the last one, and the server may choose another order for each query.
            self.sum(&Aggregation::RowsVersion(self.schema.name), &request, Repeated::check)?.map_err(|Repeated| twice())?;
            Ok(Fetched::rows(rows))
        };
        let fetched = match key {
            FetchKey::Rows { .. } => all(),
            FetchKey::Chart(token) => {
                let read = self.sum(&Aggregation::Chart, &request, |frames| chart::read(frames, token))?;
                read.map(|candles| Fetched::Chart(Box::new(candles))).map_err(|Repeated| twice())
            }
            FetchKey::Page { count: 0, .. } => {
                table::empty(self.schema).map(Fetched::Page).map_err(|_| FetchError::Unavailable("no table of it can be made".to_owned()))
            }
            FetchKey::Page { from, count, rows_after, table, .. } => {
                let page = Aggregation::Page { table, from: *from, count: *count, rows_after: *rows_after };
                let read = self.sum(&page, &request, |frames| page::read(frames, self.schema))?;
                read.map(Fetched::Page).map_err(|Repeated| twice())
            }
            FetchKey::Balances { individual, .. } => self
                .sum(&Aggregation::Balances(Arc::clone(individual)), &request, holders::read_balances)
                .map(|balances| Fetched::Balances(Arc::new(balances))),
            FetchKey::Transfers { part, .. } => self.summed_transfers(part, &request).map(|answer| Fetched::Transfers(Arc::new(answer))),
            // A node's affair, which never comes here.
            FetchKey::State { .. } => Err(FetchError::Unavailable("it answers queries, and holds no state of a chain".to_owned())),
        };
        self.wire.settle();
        fetched
    }
}
