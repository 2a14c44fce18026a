//! Candles that stay at the engine: what is looked up and summed when the generation is made, and the rows of a token when they are asked
//! for, of the same state.

mod known;

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::Arc,
};

use polars::prelude::{Column, DataFrame, DataType, IntoColumn, ListChunked, NamedFrom as _, Series, TimeUnit, TimeZone};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{
    Asking, Context, name_of, ours,
    rows::SAID_MAX,
    spelt::is_odd,
    sql::{Spelt, Theirs},
    sum::{GIVES, ROWS_MAX, Sum},
};
use crate::{
    dataset::{
        Table, TableFile, TableState,
        address::Address,
        cache::CacheOptions,
        candles::{
            Interval, Shelf,
            shelf::{Fetch, HISTORY_DAYS, Unfetched},
        },
        findings::{Finding, Severity},
        load::{
            Blocks,
            bind::{Bound, bind},
            elsewhere::{self, Elsewhere, Pulse},
            table::{self, Stop},
        },
        manifest::{Asked, Keep, Manifest, TableManifest},
        order,
        progress::{Cancelled, LoadProgress},
        schema::TableSchema,
        source::{arrow_stream, forward::Forward, locate::Answer},
        time::DAY_MS,
    },
    wire::{Fault, Wire},
};

/// What is known of a table whose rows stay where they are, for as long as a generation stands.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Looked {
    /// Its columns, and how they are written.
    pub(super) described: Vec<Theirs>,
    /// What keeps the rows that were there, and how that is told.
    pub(super) until: Vec<String>,
    pub(super) as_of: Option<String>,
}

impl Looked {
    /// Whether the answer is of the rows that were there.
    pub(in crate::dataset::load) fn is_of(&self, answer: &Answer) -> bool {
        answer.as_of == self.as_of && self.until.iter().all(|condition| answer.sql.contains(condition))
    }
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

/// What is here of a table that stays where it is.
struct Known {
    looked: Looked,
    rows: u64,
    /// What a person has to know of it.
    notes: Vec<String>,
    mark: [u8; 32],
    /// The candles that the market's figures need.
    recent: DataFrame,
}

/// The table: what is summed up of it, and who fetches the rest. Whatever is wrong there, it is what it was last time.
pub(in crate::dataset::load) fn in_place(
    context: &Context<'_>,
    schema: &'static TableSchema,
    manifest: &TableManifest,
    asked: &Asked,
    pulse: &Pulse,
) -> Result<(Table, [u8; 32]), Stop> {
    let Some(wire) = context.wire else { return Err(Stop::Cancelled) };
    let (known, old) = match Known::ask(context, schema, manifest, asked, pulse) {
        Ok(known) => {
            known.keep(context, schema, manifest);
            (known, None)
        }
        Err(stop) => {
            let kept = elsewhere::trouble(manifest, &stop).and_then(|why| Some((Known::kept(context, schema, manifest)?, why)));
            let Some(((known, then), why)) = kept else { return Err(stop) };
            (known, Some((then, why)))
        }
    };
    let Known { looked, rows, notes, mark, recent } = known;
    let file = name_of(asked);
    let mut table = Table::absent(schema);
    table.sources = vec![TableFile { file: file.clone(), bytes: 0, modified: None, rows }];
    table.elsewhere = Some(Elsewhere { sources: vec![asked.source.clone()], as_of: old.as_ref().map(|(then, _)| *then), unreached: false });
    table.frame = table::empty(schema)?;
    table.state = TableState::Loaded;
    if let Some((then, why)) = old {
        table.findings.add(elsewhere::old(&file, then, &why));
    }
    for reason in notes {
        table.findings.add(Finding { severity: Severity::Note, file: file.clone(), row: None, column: None, value: None, reason });
    }
    let place = InPlace {
        folder: context.folder.to_owned(),
        manifest: context.manifest.clone(),
        cache: context.cache.clone(),
        wire: Arc::clone(wire),
        looked,
        schema,
    };
    table.shelf = Some(Arc::new(Shelf::new(rows, asked.source.clone(), &recent, Box::new(place))));
    Ok((table, mark))
}

impl Known {
    /// As it is there now.
    fn ask(
        context: &Context<'_>,
        schema: &'static TableSchema,
        manifest: &TableManifest,
        asked: &Asked,
        pulse: &Pulse,
    ) -> Result<Self, Stop> {
        let asking = Asking::new(context, schema, manifest, asked)?;
        if asking.old {
            return Err(Stop::Unusable(format!("`{}` cannot stay in place: its server is too old; say read = \"bring\"", asking.name)));
        }
        let (described, picked) = asking.described()?;
        let names: Vec<String> = described.iter().map(|column| column.name.clone()).collect();
        let bound = bind(schema, manifest, &names)?;
        let conditions = asking.conditions(&picked, &bound);
        if conditions.len() < manifest.keep.len() {
            let name = &asking.name;
            return Err(Stop::Unusable(format!(
                "`{name}` cannot stay in place: not all of `where` can be said there; say read = \"bring\""
            )));
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
        let odd = sums.iter().any(|row| row.odd);
        let mut mark = Sha256::new();
        for part in [&base, &counted.rows.to_string(), &counted.checksum, &asking.engine.source().url] {
            mark.update((part.len() as u64).to_le_bytes());
            mark.update(part);
        }
        let stays = format!(
            "its {} rows stay at `{}`: a token's are fetched, and judged, when somebody looks at it; what is wrong in the others nobody has seen",
            super::grouped(counted.rows),
            asked.source
        );
        Ok(Self {
            looked: Looked { described: spelt(described, &bound, odd), until: counted.conditions, as_of: counted.as_of },
            rows: counted.rows,
            notes: counted.notes.into_iter().chain([stays]).collect(),
            mark: mark.finalize().into(),
            recent: frame(&sums, schema)?,
        })
    }
}

/// The columns, of which the tokens' is known to be written oddly, if it is.
fn spelt(mut described: Vec<Theirs>, bound: &[Bound<'_>], odd: bool) -> Vec<Theirs> {
    for column in described.iter_mut().filter(|column| odd && ours(column, bound).is_some_and(|bound| bound.column.name == GIVES[0])) {
        column.spelt = Spelt::Odd;
    }
    described
}

impl Fetch for InPlace {
    fn fetch(&self, token: &Address, progress: &dyn LoadProgress) -> Result<Table, Unfetched> {
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
                let old = table.findings.kept().iter().find(|finding| finding.severity == Severity::Warning && finding.row.is_none());
                let told = old.map_or_else(|| format!("is of {then}"), |old| old.reason.clone());
                Err(Unfetched::Unavailable(format!("what is here of them {told}")))
            }
            (TableState::Unusable(reason), _) => Err(Unfetched::Unavailable(reason.clone())),
            (TableState::Absent, _) => Err(Unfetched::Unavailable("nothing is there any more".to_owned())),
        }
    }
}

/// What a sum gives of a token and an interval.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    token: Address,
    interval: Interval,
    /// When the first and the last of the candles start that were looked at, whether they can be believed or not.
    first: i64,
    newest: i64,
    /// There are older candles than those that were looked at.
    cut: bool,
    /// Time, close and volume of candles that can be believed, by time.
    candles: Vec<(i64, f64, f64)>,
    /// The token is written in a way by which its rows are not found.
    odd: bool,
}

impl Asking<'_> {
    /// What a sum gives.
    fn sum(&self, sum: &Sum, base: &str, pulse: &Pulse) -> Result<Vec<Row>, Stop> {
        let watch = Arc::clone(&pulse.watch);
        let stopped = move || watch.stopped.load(std::sync::atomic::Ordering::Acquire);
        let refused = |fault: Fault| elsewhere::said(&self.name, fault);
        let stream = self.engine.sum(&sum.sql(base), Arc::new(stopped)).map_err(refused)?;
        let said = stream.said();
        let forward = Arc::new(Forward::new(Box::new(stream)));
        let odd = |reason: String| {
            // The server may say why at the end.
            forward.drain(SAID_MAX).ok();
            refused(
                said.fault()
                    .or_else(|| said.last_words())
                    .unwrap_or_else(|| Fault::Unavailable(format!("is answered with sums that cannot be read: the answer {reason}"))),
            )
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
                    "`{}` cannot stay in place: it has candles of {counted} tokens and intervals, and of {most} they are held; name fewer with \
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
        match forward.drain(SAID_MAX) {
            Ok(0) if came == counted => Ok(rows),
            Ok(0) => Err(refused(said.last_words().unwrap_or_else(|| super::fewer(came, counted)))),
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
    let list = |name: &str, kind: DataType| column(name, DataType::List(Box::new(kind)));
    let [token, interval, first, newest, cut, timestamp, close, volume, written, _] = GIVES;
    let (tokens, intervals) = (column(token, DataType::String)?, column(interval, DataType::String)?);
    let (first, newest, cut) = (column(first, DataType::Int64)?, column(newest, DataType::Int64)?, column(cut, DataType::Int64)?);
    let (times, written) = (list(timestamp, DataType::Int64)?, list(written, DataType::String)?);
    let (closes, volumes) = (list(close, DataType::Float64)?, list(volume, DataType::Float64)?);
    let (tokens, intervals, first, newest, cut) =
        (tokens.str().ok()?, intervals.str().ok()?, first.i64().ok()?, newest.i64().ok()?, cut.i64().ok()?);
    let (times, written, closes, volumes) = (times.list().ok()?, written.list().ok()?, closes.list().ok()?, volumes.list().ok()?);
    let floats = |list: &ListChunked, row: usize| {
        let series = list.get_as_series(row)?;
        Some(series.f64().ok()?.iter().map(|value| value.unwrap_or(f64::NAN)).collect::<Vec<f64>>())
    };
    let row = |i: usize| {
        let (token, interval) = (tokens.get(i)?, Interval::parse(intervals.get(i)?.trim()));
        // A row without a token or an interval is none here either.
        let Some((token, interval)) = Address::or_coin(token.trim()).zip(interval) else { return Some(None) };
        let at: Vec<i64> = times.get_as_series(i)?.i64().ok()?.iter().collect::<Option<_>>()?;
        let (closes, volumes) = (floats(closes, i)?, floats(volumes, i)?);
        if at.len() != closes.len() || at.len() != volumes.len() || !at.is_sorted() {
            return None;
        }
        let written = written.get_as_series(i)?;
        let odd = written.str().ok()?.iter().flatten().any(is_odd);
        let candles = at.into_iter().zip(closes).zip(volumes).map(|((time, close), volume)| (time, close, volume)).collect();
        Some(Some(Row { token, interval, first: first.get(i)?, newest: newest.get(i)?, cut: cut.get(i)? == 1, candles, odd }))
    };
    let rows: Option<Vec<Option<Row>>> = (0..frame.height()).map(row).collect();
    Some(rows?.into_iter().flatten().collect())
}

/// Tokens whose last days do not tell enough: daily closes may be missing that older candles have.
fn short(rows: &[Row]) -> Vec<Address> {
    let mut days: HashMap<Address, HashMap<i64, usize>> = HashMap::new();
    let mut cut: Vec<Address> = rows.iter().filter(|row| row.cut).map(|row| row.token).collect();
    cut.sort_unstable();
    cut.dedup();
    for row in rows {
        let own: HashSet<i64> = row.candles.iter().map(|(time, ..)| time.div_euclid(DAY_MS)).collect();
        // Two ways to write an interval are one.
        let days = days.entry(row.token).or_default().entry(row.interval.0).or_default();
        *days = own.len().max(*days);
    }
    let enough = |token: &Address| {
        let own: Vec<(i64, usize)> = days.get(token).into_iter().flatten().map(|(interval, days)| (*interval, *days)).collect();
        let daily = own.iter().find(|(interval, _)| *interval == DAY_MS);
        let finer = own.iter().filter(|(interval, _)| (1..DAY_MS).contains(interval) && DAY_MS % interval == 0).max();
        daily.or(finer).is_some_and(|(_, days)| *days >= HISTORY_DAYS)
    };
    cut.retain(|token| !enough(token));
    cut
}

/// The rows as a table of candles. Of those that cannot be believed the first and the last are told, which say how far a series reaches.
fn frame(rows: &[Row], schema: &'static TableSchema) -> Result<DataFrame, Stop> {
    let mut candles: Vec<(Address, Interval, i64, f64, f64)> = Vec::new();
    for row in rows {
        let known = |time: i64| row.candles.iter().any(|(own, ..)| *own == time);
        let unsound = [row.first, row.newest].into_iter().filter(|time| !known(*time)).map(|time| (time, 0.0, f64::NAN));
        candles
            .extend(row.candles.iter().copied().chain(unsound).map(|(time, close, volume)| (row.token, row.interval, time, close, volume)));
    }
    candles.sort_by_key(|(token, interval, time, ..)| (*token, *interval, *time));
    candles.dedup_by_key(|(token, interval, time, ..)| (*token, *interval, *time));
    let texts = |name: &str, text: &dyn Fn(usize) -> String| Series::new(name.into(), (0..candles.len()).map(text).collect::<Vec<_>>());
    let floats = |name: &str, float: &dyn Fn(usize) -> f64| Series::new(name.into(), (0..candles.len()).map(float).collect::<Vec<_>>());
    let times = Series::new("timestamp".into(), candles.iter().map(|(_, _, time, ..)| *time).collect::<Vec<_>>());
    let kind = DataType::Datetime(TimeUnit::Milliseconds, TimeZone::opt_try_new(Some("UTC")).unwrap_or_default());
    let mut columns: Vec<Column> = vec![
        texts("token_address", &|i| candles[i].0.to_string()).into_column(),
        times.cast(&kind).map_err(|error| error.to_string())?.into_column(),
    ];
    // What they opened at, and how high and low they were, no figure of the market says.
    columns.extend(["open", "high", "low", "close"].map(|name| floats(name, &|i| candles[i].3).into_column()));
    columns.push(floats("volume", &|i| candles[i].4).into_column());
    columns.push(texts("interval", &|i| candles[i].1.to_string()).into_column());
    let frame = DataFrame::new(candles.len(), columns).map_err(|error| error.to_string())?;
    order::sorted(schema.order, frame).map_err(|error| Stop::Unusable(error.to_string()))
}

#[cfg(test)]
mod tests;
