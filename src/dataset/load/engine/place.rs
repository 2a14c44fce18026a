//! Candles that stay at the engine: what is looked up and summed when the generation is made, and the rows of a token when they are asked
//! for, of the same state.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::Arc,
};

use polars::prelude::{Column, DataFrame, DataType, IntoColumn, NamedFrom as _, Series, TimeUnit, TimeZone};
use sha2::{Digest, Sha256};

use super::{
    Asking, Context,
    sql::Theirs,
    sum::{GIVES, ROWS_MAX, Sum},
};
use crate::{
    dataset::{
        Source, Table, TableState,
        address::Address,
        cache::CacheOptions,
        candles::{
            Interval, Shelf,
            shelf::{Fetch, HISTORY_DAYS, Unfetched},
            sound,
        },
        load::{
            Blocks,
            bind::bind,
            elsewhere::{Elsewhere, Pulse, said},
            table::{self, Stop},
        },
        manifest::{Asked, Keep, Manifest, TableManifest},
        order,
        progress::{Cancelled, Progress},
        schema::TableSchema,
        source::{arrow_stream, forward::Forward},
        time::DAY_MS,
    },
    wire::{Fault, Wire},
};

/// What is known of a table whose rows stay where they are, for as long as a generation stands.
#[derive(Debug, Clone)]
pub(crate) struct Looked {
    /// Its columns, and how they are written.
    pub(super) described: Vec<Theirs>,
    /// What keeps the rows that were there, and how that is told.
    pub(super) until: Vec<String>,
    pub(super) as_of: Option<String>,
}

/// One who fetches the rows of a token.
#[derive(Debug)]
struct InPlace {
    folder: PathBuf,
    manifest: Manifest,
    cache: CacheOptions,
    wire: Arc<Wire>,
    looked: Looked,
    schema: &'static TableSchema,
}

/// The table: what is summed up of it, and who fetches the rest.
pub(in crate::dataset::load) fn in_place(
    context: &Context<'_>,
    schema: &'static TableSchema,
    manifest: &TableManifest,
    asked: &Asked,
    pulse: &Pulse,
) -> Result<(Table, [u8; 32]), Stop> {
    let asking = Asking::new(context, schema, manifest, asked)?;
    let Some(wire) = context.wire else { return Err(Stop::Cancelled) };
    if asking.old {
        return Err(Stop::Unusable(format!("`{}` cannot stay in place: its server is too old; say read = \"bring\"", asking.name)));
    }
    let (described, picked) = asking.described()?;
    let names: Vec<String> = described.iter().map(|column| column.name.clone()).collect();
    let bound = bind(schema, manifest, &names)?;
    let conditions = asking.conditions(&picked, &bound);
    if conditions.len() < manifest.keep.len() {
        let name = &asking.name;
        return Err(Stop::Unusable(format!("`{name}` cannot stay in place: not all of `where` can be said there; say read = \"bring\"")));
    }
    let counted = asking.count(&picked, &bound, &conditions)?;
    let base = asking.candles(&picked, &bound, &counted.conditions)?;
    let mut sums = asking.sum(&Sum::Recent, &base, pulse)?;
    let short = short(&sums);
    if !short.is_empty() {
        let all = asking.sum(&Sum::Whole(short.clone()), &base, pulse)?;
        sums.retain(|row| !short.contains(&row.token));
        sums.extend(all);
    }
    let recent = frame(sums, schema)?;
    let mut mark = Sha256::new();
    for part in [&base, &counted.rows.to_string(), &counted.checksum, &asking.engine.source().url] {
        mark.update((part.len() as u64).to_le_bytes());
        mark.update(part);
    }
    let mut table = Table::absent(schema);
    table.sources = vec![Source { file: asking.name.clone(), bytes: 0, modified: None, rows: counted.rows }];
    table.elsewhere = Some(Elsewhere { sources: vec![asked.source.clone()], as_of: None, unreached: false });
    table.frame = table::empty(schema)?;
    table.state = TableState::Loaded;
    let place = InPlace {
        folder: context.folder.to_owned(),
        manifest: context.manifest.clone(),
        cache: context.cache.clone(),
        wire: Arc::clone(wire),
        looked: Looked { described, until: counted.conditions, as_of: counted.as_of },
        schema,
    };
    table.shelf = Some(Arc::new(Shelf::new(counted.rows, asked.source.clone(), &recent, Box::new(place))));
    Ok((table, mark.finalize().into()))
}

impl Fetch for InPlace {
    fn fetch(&self, token: &Address, progress: &dyn Progress) -> Result<Table, Unfetched> {
        let mut manifest = self.manifest.clone();
        let name = self.schema.name;
        if let Some(table) = manifest.tables.get_mut(name) {
            if let Some(asked) = &mut table.engine {
                asked.in_place = false;
            }
            table.keep = vec![("token_address".to_owned(), Keep::OneOf(vec![token.to_string()]))];
        }
        let context = Context {
            folder: &self.folder,
            manifest: &manifest,
            progress,
            cache: &self.cache,
            wire: Some(&self.wire),
            growing: false,
            decimals: HashMap::new(),
            blocks: Blocks::default(),
            tokens: std::iter::once(*token).collect(),
            looked: Some(&self.looked),
        };
        let (table, _) = table::load(&context, self.schema).map_err(|Cancelled| Unfetched::Cancelled)?;
        self.wire.settle();
        let then = table.elsewhere.as_ref().and_then(|elsewhere| elsewhere.as_of);
        match (&table.state, then) {
            (TableState::Loaded, None) => Ok(table),
            // Of an earlier generation, most likely.
            (TableState::Loaded, Some(then)) => {
                Err(Unfetched::Unavailable(format!("their source does not answer, and what is here of them is of {then}")))
            }
            (TableState::Unusable(reason), _) => Err(Unfetched::Unavailable(reason.clone())),
            (TableState::Absent, _) => Err(Unfetched::Unavailable("nothing is there any more".to_owned())),
        }
    }
}

/// A candle as a sum gives it.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    token: Address,
    interval: Interval,
    timestamp: i64,
    /// Open, high, low, close, volume.
    figures: [f64; 5],
    /// There are older candles than those that were looked at.
    cut: bool,
}

impl Asking<'_> {
    /// What a sum gives.
    fn sum(&self, sum: &Sum, base: &str, pulse: &Pulse) -> Result<Vec<Row>, Stop> {
        let watch = Arc::clone(&pulse.watch);
        let stopped = move || watch.stopped.load(std::sync::atomic::Ordering::Acquire);
        let refused = |fault: Fault| said(&self.name, fault);
        let stream = self.engine.sum(&sum.sql(base), Arc::new(stopped)).map_err(refused)?;
        let fault = stream.fault_later();
        let forward = Arc::new(Forward::new(Box::new(stream)));
        let odd = |reason: String| {
            let fault = fault.get().cloned();
            refused(fault.unwrap_or_else(|| Fault::Unavailable(format!("is answered with sums that cannot be read: the answer {reason}"))))
        };
        let mut batches = arrow_stream(Arc::clone(&forward) as _, &(Arc::new(|_: &str| true) as _)).map_err(odd)?;
        let (mut rows, mut came, mut counted) = (Vec::new(), 0, 0);
        while let Some(batch) = batches.next_batch().map_err(odd)? {
            let frame = DataFrame::new(batch.height, batch.columns).map_err(|error| odd(error.to_string()))?;
            came += frame.height() as u64;
            counted = total(&frame).unwrap_or(counted);
            if counted > ROWS_MAX {
                let [counted, most] = [counted, ROWS_MAX].map(super::grouped);
                return Err(Stop::Unusable(format!(
                    "`{}` cannot stay in place: the last days have {counted} candles, and {most} are held; name fewer tokens or intervals with \
                     `where` in dataset.toml, or say read = \"bring\"",
                    self.name
                )));
            }
            if let Some(coin) = coin(&frame) {
                // A token's rows are asked for by its address, and a coin is written in ways that nobody here knows.
                return Err(Stop::Unusable(format!(
                    "`{}` cannot stay in place: it has coins without a contract, as `{coin}`; say read = \"bring\"",
                    self.name
                )));
            }
            rows.extend(read(&frame).ok_or_else(|| odd("has other columns".to_owned()))?);
        }
        match forward.drain(1 << 20) {
            Ok(0) if came == counted => Ok(rows),
            Ok(0) => Err(refused(super::fewer(came, counted))),
            _ => Err(odd("goes on behind its end".to_owned())),
        }
    }
}

/// A coin among the tokens.
fn coin(frame: &DataFrame) -> Option<String> {
    let tokens = frame.column(GIVES[0]).ok()?.cast(&DataType::String).ok()?;
    let is_coin = |token: &&str| Address::parse(token.trim()).is_none() && Address::or_coin(token.trim()).is_some();
    tokens.str().ok()?.iter().flatten().find(is_coin).map(str::to_owned)
}

/// How many rows there are in all, as each of them says.
fn total(frame: &DataFrame) -> Option<u64> {
    let [.., total] = GIVES;
    frame.column(total).ok()?.cast(&DataType::UInt64).ok()?.u64().ok()?.get(0)
}

fn read(frame: &DataFrame) -> Option<Vec<Row>> {
    let column = |name: &str, kind: DataType| frame.column(name).ok()?.cast(&kind).ok();
    let [token, interval, timestamp, open, high, low, close, volume, cut, _] = GIVES;
    let (tokens, intervals) = (column(token, DataType::String)?, column(interval, DataType::String)?);
    let (times, cut) = (column(timestamp, DataType::Int64)?, column(cut, DataType::Int64)?);
    let figures: Option<Vec<Column>> = [open, high, low, close, volume].into_iter().map(|name| column(name, DataType::Float64)).collect();
    let figures = figures?;
    let figures: Option<Vec<_>> = figures.iter().map(|column| column.f64().ok()).collect();
    let (tokens, intervals, times, cut, figures) =
        (tokens.str().ok()?, intervals.str().ok()?, times.i64().ok()?, cut.i64().ok()?, figures?);
    let row = |i: usize| {
        // A row without a token or an interval is none here either.
        let (token, interval) = (Address::or_coin(tokens.get(i)?.trim())?, Interval::parse(intervals.get(i)?.trim())?);
        let figures = std::array::from_fn(|nth| figures.get(nth).and_then(|column| column.get(i)).unwrap_or(f64::NAN));
        Some(Row { token, interval, timestamp: times.get(i)?, figures, cut: cut.get(i)? == 1 })
    };
    Some((0..frame.height()).filter_map(row).collect())
}

/// Tokens whose last days do not tell enough: daily closes may be missing that older candles have.
fn short(rows: &[Row]) -> Vec<Address> {
    let mut days: HashMap<Address, HashMap<i64, HashSet<i64>>> = HashMap::new();
    let mut cut: Vec<Address> = rows.iter().filter(|row| row.cut).map(|row| row.token).collect();
    cut.sort_unstable();
    cut.dedup();
    for row in rows {
        let days = days.entry(row.token).or_default().entry(row.interval.0).or_default();
        let [open, high, low, close, _] = row.figures;
        if sound(open, high, low, close) {
            days.insert(row.timestamp.div_euclid(DAY_MS));
        }
    }
    let enough = |token: &Address| {
        let own: Vec<(i64, usize)> = days.get(token).into_iter().flatten().map(|(interval, days)| (*interval, days.len())).collect();
        let daily = own.iter().find(|(interval, _)| *interval == DAY_MS);
        let finer = own.iter().filter(|(interval, _)| (1..DAY_MS).contains(interval) && DAY_MS % interval == 0).max();
        daily.or(finer).is_some_and(|(_, days)| *days >= HISTORY_DAYS)
    };
    cut.retain(|token| !enough(token));
    cut
}

/// The rows as a table of candles.
fn frame(mut rows: Vec<Row>, schema: &'static TableSchema) -> Result<DataFrame, Stop> {
    rows.sort_by_key(|row| (row.token, row.interval, row.timestamp));
    rows.dedup_by(|a, b| (a.token, a.interval, a.timestamp) == (b.token, b.interval, b.timestamp));
    let texts =
        |name: &str, text: &dyn Fn(&Row) -> String| Series::new(name.into(), rows.iter().map(text).collect::<Vec<_>>()).into_column();
    let floats =
        |name: &str, float: &dyn Fn(&Row) -> f64| Series::new(name.into(), rows.iter().map(float).collect::<Vec<_>>()).into_column();
    let times = Series::new("timestamp".into(), rows.iter().map(|row| row.timestamp).collect::<Vec<_>>());
    let kind = DataType::Datetime(TimeUnit::Milliseconds, TimeZone::opt_try_new(Some("UTC")).unwrap_or_default());
    let columns: Vec<Column> = vec![
        texts("token_address", &|row| row.token.to_string()),
        times.cast(&kind).map_err(|error| error.to_string())?.into_column(),
        floats("open", &|row| row.figures[0]),
        floats("high", &|row| row.figures[1]),
        floats("low", &|row| row.figures[2]),
        floats("close", &|row| row.figures[3]),
        floats("volume", &|row| row.figures[4]),
        texts("interval", &|row| row.interval.to_string()),
    ];
    let frame = DataFrame::new(rows.len(), columns).map_err(|error| error.to_string())?;
    order::sorted(schema.order, frame).map_err(|error| Stop::Unusable(error.to_string()))
}

#[cfg(test)]
mod tests;
