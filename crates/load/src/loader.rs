//! Loads a folder into a `Dataset`. A bad row is dropped, and a bad table is marked unusable; only a dataset without any usable table is an
//! error. Source files are never written.

pub mod apart;
pub mod bind;
pub(crate) mod cached;
mod column;
mod column_formats;
mod cross_checks;
pub mod file;
pub mod fill;
mod forecast;
pub mod identity;
mod lengths;
mod logs;
pub mod others;
pub mod path;
pub(crate) mod remote;
mod row_filter;
pub(crate) mod stages;
pub(crate) mod task;
pub mod units;

use std::{
    collections::{HashMap, HashSet},
    fmt, fs, io,
    num::NonZero,
    panic::resume_unwind,
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use polars::prelude::{Column, DataFrame, DataType};

use self::task::TableLoad;
use super::Table;
use crate::{
    Dataset, SourcePosition,
    chain::{self, ChainStates},
    formats::locate,
    manifest::{self, Manifest},
};
use frames::{
    cache::CacheOptions,
    frame_rows::{integers, parsed, times},
};
use model::{
    address::Address,
    command_line::shell_word,
    progress::{Cancelled, LoadProgress, NoProgress},
    schema::{TABLES, TableSchema},
    table_state::TableState,
};
use table::trim_heap;
use wire::RemoteClient;

pub use self::{
    logs::NodeLogs,
    remote::{origins_of, origins_to_agree},
};

/// Reason why no dataset was loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadError {
    /// The user canceled the load.
    Cancelled,
    /// Files changed during the load, so it must be repeated.
    ChangedDuringRead,
    Unusable(Unusable),
}

/// Error that makes a dataset unusable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unusable {
    /// One line for the user: the problem and its remedy.
    pub reason: String,
    /// File and row, if the error has a single position.
    pub position: Option<SourcePosition>,
}

impl LoadError {
    pub fn unusable(reason: impl Into<String>, position: Option<SourcePosition>) -> Self {
        Self::Unusable(Unusable {
            reason: reason.into(),
            position,
        })
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("loading was canceled"),
            Self::ChangedDuringRead => {
                f.write_str("the files changed while being read; reload when they are complete")
            }
            Self::Unusable(unusable) => f.write_str(&unusable.reason),
        }
    }
}

impl std::error::Error for LoadError {}

impl From<Cancelled> for LoadError {
    fn from(Cancelled: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// Maximum size of `dataset.toml` in bytes.
const MANIFEST_MAX: u64 = 1 << 20;

const DEMO: &str = "create demo data with `tokendeck demo DIR`";

/// Common inputs for loading every table.
pub struct LoadContext<'a> {
    pub folder: &'a Path,
    pub manifest: &'a Manifest,
    pub progress: &'a dyn LoadProgress,
    pub cache: &'a CacheOptions,
    /// Fetches remote files; if `None`, only local files are read.
    pub wire: Option<&'a Arc<RemoteClient>>,
    /// Whether text files may grow during the load: they are then read up to the last whole line they had at its start.
    pub growing: bool,
    /// Decimals of each token; `None` where its rows disagree. Empty while the tokens themselves are read.
    pub decimals: HashMap<Address, Option<i64>>,
    /// Block times.
    pub blocks: Blocks,
    /// All tokens of the dataset; empty while the tokens themselves are read.
    pub tokens: HashSet<Address>,
    /// The logs that tables are built from, by node.
    pub logs: NodeLogs,
    /// State of the engine's table that a query must match.
    pub snapshot: Option<&'a crate::engine::EngineSnapshot>,
    /// Names of the entries in the folder; listed once, for the tables that are absent.
    pub entries: OnceLock<Vec<String>>,
}

impl<'a> LoadContext<'a> {
    /// For local files, with nothing known yet.
    pub fn new(
        folder: &'a Path,
        manifest: &'a Manifest,
        progress: &'a dyn LoadProgress,
        cache: &'a CacheOptions,
    ) -> Self {
        Self {
            folder,
            manifest,
            progress,
            cache,
            wire: None,
            growing: false,
            decimals: HashMap::new(),
            blocks: Blocks::default(),
            tokens: HashSet::new(),
            logs: NodeLogs::default(),
            snapshot: None,
            entries: OnceLock::new(),
        }
    }

    fn entries(&self) -> &[String] {
        self.entries.get_or_init(|| locate::entries(self.folder))
    }
}

/// Like `load_with`, with every table in memory.
pub fn load(folder: &Path, progress: &dyn LoadProgress) -> Result<Dataset, LoadError> {
    load_with(folder, &CacheOptions::default(), progress)
}

/// Like `load_as`, for local files only; files that grow are not accepted.
pub fn load_with(
    folder: &Path,
    cache: &CacheOptions,
    progress: &dyn LoadProgress,
) -> Result<Dataset, LoadError> {
    load_as(folder, cache, None, progress, None, false)
}

/// Loads the dataset in `folder`: the tokens first, as raw amounts need their decimals, then the other tables in parallel. Where large
/// tables have to be imported into the cache, which takes a while, `early` receives a dataset of the tables available before. Remote files
/// are fetched through `wire`. With `growing`, text files that are appended to during the load are read up to the last whole line they had.
pub fn load_as(
    folder: &Path,
    cache: &CacheOptions,
    wire: Option<&Arc<RemoteClient>>,
    progress: &dyn LoadProgress,
    early: Option<&dyn Fn(Dataset)>,
    growing: bool,
) -> Result<Dataset, LoadError> {
    let shown = folder.display();
    let (real, text, manifest) = open(folder)?;
    let mut context = LoadContext {
        wire,
        growing,
        ..LoadContext::new(&real, &manifest, progress, cache)
    };
    let states = wire.and_then(|wire| chain_states(&real, &manifest, wire));
    let mut tokens = load_tokens(&context, &shown.to_string())?;
    let mut of_contracts = HashSet::new();
    if let Some(states) = &states {
        of_contracts = chain::fill(states, &mut tokens, progress.renews(), &|| {
            progress.step(TABLES[0].name, 0, 0).is_err()
        });
        // Without this the load would go on with what was told to stop.
        progress.step(TABLES[0].name, 0, 0)?;
    }
    context.decimals = decimals(&tokens.frame());
    context.tokens = addresses(&tokens.frame());
    context.logs = NodeLogs::of(&context, &tokens.frame());
    let mut loaded = vec![tokens];
    if let Some(schema) = TABLES.iter().find(|schema| schema.name == TABLE) {
        let table = crate::loader::stages::load(&context, schema)?;
        context.blocks = Blocks::of(&table);
        loaded.push(table);
    }
    let rest = || TABLES[1..].iter().filter(|schema| schema.name != TABLE);
    let (later, now): (Vec<_>, Vec<_>) = rest()
        .partition(|schema| early.is_some() && TableLoad::new(&context, schema).takes_a_while());
    for schemas in [now, later.clone()] {
        loaded.extend(side_by_side(&context, &schemas)?);
        if let (Some(early), true) = (early, loaded.len() < TABLES.len()) {
            let importing = later.iter().map(|schema| schema.name).collect();
            early(Dataset {
                importing,
                chain_states: states.clone(),
                ..dataset(folder, &text, &manifest, loaded.clone(), &of_contracts)
            });
        }
    }
    if let Some(wire) = wire {
        wire.settle();
    }
    loaded.sort_by_key(|table| {
        TABLES
            .iter()
            .position(|schema| schema.name == table.schema.name)
    });
    Ok(Dataset {
        chain_states: states,
        ..dataset(folder, &text, &manifest, loaded, &of_contracts)
    })
}

/// Loads the tokens and the named tables only, from local files.
pub fn load_tables(
    folder: &Path,
    names: &[&str],
    cache: &CacheOptions,
) -> Result<Dataset, LoadError> {
    let (real, text, manifest) = open(folder)?;
    let mut context = LoadContext::new(&real, &manifest, &NoProgress, cache);
    let tokens = load_tokens(&context, &folder.display().to_string())?;
    context.decimals = decimals(&tokens.frame());
    context.tokens = addresses(&tokens.frame());
    let schemas: Vec<&TableSchema> = TABLES[1..]
        .iter()
        .filter(|schema| names.contains(&schema.name))
        .collect();
    let mut loaded = vec![tokens];
    loaded.extend(side_by_side(&context, &schemas)?);
    Ok(dataset(folder, &text, &manifest, loaded, &HashSet::new()))
}

/// The dataset's folder, with the text of `dataset.toml` and what it says. Errors: there is nothing in it, or it cannot be read.
fn open(folder: &Path) -> Result<(PathBuf, String, Manifest), LoadError> {
    let shown = folder.display();
    let listing = fs::read_dir(folder).map_err(|error| {
        LoadError::unusable(
            format!("cannot read the dataset folder `{shown}`: {error}; {DEMO}"),
            None,
        )
    })?;
    if listing.take(1).count() == 0 {
        let reason = format!(
            "the dataset folder `{shown}` is empty; add a `tokens` table or run `tokendeck demo {shown}`"
        );
        return Err(LoadError::unusable(reason, None));
    }
    // A symlink to the folder may change during the load: everything is read from its first target.
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let text = read_manifest(&real.join(manifest::FILE))?;
    let manifest = Manifest::parse(&text).map_err(|error| {
        manifest_error(
            format!("{}, {error}", manifest::FILE),
            Some(error.line as u64),
        )
    })?;
    Ok((real, text, manifest))
}

/// What a node says of the chain, where `dataset.toml` names one for the contracts.
fn chain_states(
    folder: &Path,
    manifest: &Manifest,
    wire: &Arc<RemoteClient>,
) -> Option<Arc<ChainStates>> {
    let source = manifest.tables.get("contracts")?.node.as_deref()?;
    Some(Arc::new(ChainStates::new(wire, folder, source)))
}

/// Loads the table without which there is nothing to show.
fn load_tokens(context: &LoadContext<'_>, folder: &str) -> Result<Table, LoadError> {
    // The schema's first table is `tokens`, as a test ensures.
    let mut tokens = crate::loader::stages::load(context, &TABLES[0])?;
    match &tokens.state {
        TableState::Loaded => {
            apart::hold_one(&mut tokens);
            Ok(tokens)
        }
        TableState::Absent
            if context
                .manifest
                .tables
                .get("tokens")
                .is_some_and(|tokens| tokens.live.is_some()) =>
        {
            let reason = format!(
                "`{folder}` has no tokens yet; add one with `tokendeck add ADDRESS --data {}`",
                shell_word(folder)
            );
            Err(LoadError::unusable(reason, None))
        }
        TableState::Absent => {
            let hint = "add tokens.csv (or .parquet, .ndjson, .json, .arrow), or set its path in dataset.toml ([tables.tokens] path)";
            let passed_over = |(file, says): (&str, String)| format!("`{file}` {says}; ");
            let meant: String = locate::passed_over(context.entries(), "tokens")
                .into_iter()
                .map(passed_over)
                .collect();
            Err(LoadError::unusable(
                format!("no `tokens` table in `{folder}`: {meant}{hint}; {DEMO}"),
                None,
            ))
        }
        TableState::Unusable(_) if tokens.changed_during_read => Err(LoadError::ChangedDuringRead),
        TableState::Unusable(reason) => {
            let reason = format!("the `tokens` table of `{folder}` is unusable: {reason}; {DEMO}");
            Err(LoadError::unusable(reason, tokens.error_position))
        }
    }
}

/// Bytes of files from which memory freed after reading is returned to the system.
const GIVE_BACK_FROM: u64 = 4 << 20;

/// Loads the tables in parallel, one thread per processor. Not on rayon's threads: one that waits for a part of its table would steal
/// another table meanwhile, and hold the first one's cache lock for as long.
fn side_by_side(
    context: &LoadContext<'_>,
    schemas: &[&'static TableSchema],
) -> Result<Vec<Table>, Cancelled> {
    let next = AtomicUsize::new(0);
    let some = || {
        let mut loaded = Vec::new();
        while let Some(schema) = schemas.get(next.fetch_add(1, Ordering::Relaxed)) {
            let table = crate::loader::stages::load(context, schema)?;
            // Freed memory stays in the heap of this thread, where no other thread can use it.
            if table.sources.iter().map(|source| source.bytes).sum::<u64>() >= GIVE_BACK_FROM {
                trim_heap();
            }
            loaded.push(table);
        }
        Ok(loaded)
    };
    let threads = thread::available_parallelism()
        .map_or(1, NonZero::get)
        .min(schemas.len());
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(some)).collect();
        let mut all = Vec::new();
        for worker in workers {
            all.extend(worker.join().unwrap_or_else(|panic| resume_unwind(panic))?);
        }
        Ok(all)
    })
}

/// Builds the dataset from its tables. `of_contracts`: the tokens whose supply a node says.
fn dataset(
    folder: &Path,
    text: &str,
    manifest: &Manifest,
    loaded: Vec<Table>,
    of_contracts: &HashSet<Address>,
) -> Dataset {
    let identity = identity::of(text, loaded.iter().flat_map(|table| &table.sources));
    let mut dataset = Dataset::new(loaded);
    dataset.title.clone_from(&manifest.title);
    dataset.license.clone_from(&manifest.license);
    dataset.social = manifest.social;
    dataset.synthetic = manifest.synthetic;
    folder.clone_into(&mut dataset.folder);
    dataset.identity = identity;
    cross_checks::run(&mut dataset, of_contracts);
    dataset.with_yield_days(folder)
}

fn manifest_error(reason: impl Into<String>, row: Option<u64>) -> LoadError {
    LoadError::unusable(
        reason,
        Some(SourcePosition {
            file: manifest::FILE.to_owned(),
            row,
        }),
    )
}

/// Returns the text of `dataset.toml`; empty without one.
pub fn read_manifest(path: &Path) -> Result<String, LoadError> {
    match fs::metadata(path) {
        Ok(meta) if !meta.is_file() => {
            return Err(manifest_error("dataset.toml is not a regular file", None));
        }
        Ok(meta) if meta.len() > MANIFEST_MAX => {
            return Err(manifest_error("dataset.toml is larger than 1 MiB", None));
        }
        _ => {}
    }
    match fs::read_to_string(path) {
        Ok(text) => Ok(text
            .strip_prefix('\u{feff}')
            .map_or_else(|| text.clone(), str::to_owned)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(manifest_error(
            format!("cannot read dataset.toml: {error}"),
            None,
        )),
    }
}

fn addresses(tokens: &DataFrame) -> HashSet<Address> {
    let addresses = parsed(tokens, "token_address", Address::parse);
    addresses.into_iter().flatten().collect()
}

/// The decimals of each token; `None` where its rows disagree.
pub fn decimals(tokens: &DataFrame) -> HashMap<Address, Option<i64>> {
    let out: HashSet<usize> = apart::apart(tokens)
        .into_iter()
        .map(|(place, _)| place)
        .collect();
    let mut decimals: HashMap<Address, Option<i64>> = HashMap::new();
    let columns = (
        tokens
            .column("token_address")
            .and_then(|column| column.str()),
        tokens.column("decimals").and_then(|column| column.i64()),
    );
    if let (Ok(addresses), Ok(numbers)) = columns {
        for (_, (address, number)) in addresses
            .iter()
            .zip(numbers.iter())
            .enumerate()
            .filter(|(place, _)| !out.contains(place))
        {
            if let (Some(address), Some(number)) = (address.and_then(Address::parse), number) {
                let known = decimals.entry(address).or_insert(Some(number));
                if *known != Some(number) {
                    *known = None;
                }
            }
        }
    }
    decimals
}

// Fills the times of transfers from the table `blocks`: many sources give only the block number, and the block times in another file.

/// Name of the table with the block times.
const TABLE: &str = "blocks";

/// Block times by block number.
#[derive(Debug, Default)]
pub struct Blocks {
    rows: Vec<(i64, i64)>,
    /// Identities of its files, which are part of the cache key of a table filled from them.
    pub files: Vec<[u8; 32]>,
}

impl Blocks {
    /// Block times of the table, which is ordered by number.
    fn of(table: &Table) -> Self {
        let frame = table.frame();
        let rows = integers(&frame, "block_number")
            .into_iter()
            .zip(integers(&frame, "timestamp"))
            .filter_map(|(block, time)| Some((block?, time?)));
        Self {
            rows: rows.collect(),
            files: table.sources.iter().map(|source| source.ends).collect(),
        }
    }

    fn time(&self, block: i64) -> Option<i64> {
        self.rows
            .binary_search_by_key(&block, |row| row.0)
            .ok()
            .map(|at| self.rows[at].1)
    }

    /// Fills the missing times of transfers; returns the number filled.
    fn fill(&self, columns: &mut [Column]) -> usize {
        let place = |columns: &[Column], name: &str| {
            columns.iter().position(|column| column.name() == name)
        };
        let (Some(at), Some(blocks)) =
            (place(columns, "timestamp"), place(columns, "block_number"))
        else {
            return 0;
        };
        if self.rows.is_empty() || columns[at].null_count() == 0 {
            return 0;
        }
        let known = columns[at].to_physical_repr().cast(&DataType::Int64);
        let (Ok(known), Ok(numbers)) = (
            known
                .as_ref()
                .map_err(drop)
                .and_then(|known| known.i64().map_err(drop)),
            columns[blocks].i64(),
        ) else {
            return 0;
        };
        let mut filled = 0;
        let all = known.iter().zip(numbers.iter()).map(|(time, block)| {
            time.or_else(|| {
                let found = self.time(block?);
                filled += usize::from(found.is_some());
                found
            })
        });
        if let Ok(column) = times("timestamp", all) {
            columns[at] = column;
        }
        filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_first() {
        assert_eq!(TABLES[0].name, "tokens");
    }
}
