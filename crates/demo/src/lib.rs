//! The demo data: a synthetic market, byte-identical for the same seed and options. Here are the list of its tables, `TABLES`, and the code
//! that writes them to a folder. The modules below generate the contents of each table.

mod candles;
pub mod contracts;
mod error;
mod evidence;
mod facts;
mod invented;
mod market;
mod output;
mod path;
mod people;
mod pools;
mod posts;
mod random;
mod readme;
mod shapes;
mod stories;
mod tokens;
mod transfers;
mod yields;

use std::{fs, path::Path};

pub use self::error::{DemoError, FileAction};
use self::{
    market::DemoMarket,
    output::{DemoTable, failed, write_text},
};
use frames::export::writers::ExportFormat;
use model::candles::Interval;

/// Its folder in the user data folder.
pub const FOLDER: &str = "demo";

/// Dataset title. With `synthetic = true` it identifies a demo dataset, which may be overwritten.
pub const TITLE: &str = "Demo market";
const DESCRIPTION: &str = "dataset.toml";
const README: &str = "README.md";
/// Upper limits: more would be unreadable, and each token costs memory.
pub const TOKENS_MAX: u32 = 100_000;
pub const DAYS_MAX: u32 = 20_000;
pub const ROWS_MAX: u64 = 1_000_000_000;

/// Called with (table, rows done, rows expected); returning false cancels.
pub type DemoProgress<'a> = dyn FnMut(&str, u64, u64) -> bool + 'a;
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoOptions {
    pub tokens: u32,
    pub days: u32,
    pub seed: u64,
    /// Total number of candles, shared among the tokens.
    pub candles: Option<u64>,
    /// Total number of transfers, shared among the tokens; by default some thousands of a few invented tokens.
    pub transfers: Option<u64>,
    /// Interval of all candles; by default one hour for the ten leading tokens, one day for the others.
    pub interval: Option<Interval>,
    pub format: Format,
}

impl Default for DemoOptions {
    fn default() -> Self {
        Self {
            tokens: 64,
            days: 400,
            seed: 20_261_115,
            candles: None,
            transfers: None,
            interval: None,
            format: Format::Mixed,
        }
    }
}

/// File format of the tables that can be large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    Csv,
    Parquet,
    /// The usual format of each table
    Mixed,
}

/// A written file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoFile {
    pub file: String,
    /// 0 for a file that is not a table.
    pub rows: u64,
    pub bytes: u64,
}

/// Definition of a demo table.
struct Recipe {
    name: &'static str,
    /// Its format unless `Format` overrides it.
    form: ExportFormat,
    /// Whether it can be large, so that `Format` applies.
    large: bool,
    /// Names of its columns, separated by spaces.
    columns: &'static str,
    /// Estimated number of rows, for progress only.
    rows: fn(&DemoMarket) -> u64,
    write: fn(&DemoMarket, &mut DemoTable) -> Result<(), DemoError>,
}

macro_rules! recipes {
    ($($name:literal $form:ident $large:literal $columns:path, $rows:expr, $write:expr;)*) => {
        &[$(Recipe { name: $name, form: ExportFormat::$form, large: $large, columns: $columns, rows: $rows, write: $write }),*]
    };
}

const TABLES: &[Recipe] = recipes! {
    "tokens" Csv false tokens::COLUMNS, |market| market.each(1), tokens::write;
    "kols" Csv false people::KOL_COLUMNS, |market| market.each(8), people::write_kols;
    "posts" Ndjson true posts::COLUMNS, posts::rows, posts::write;
    "candles" Parquet true candles::COLUMNS, candles::rows, candles::write;
    "holders" Parquet true people::HOLDER_COLUMNS, |market| market.each(96), people::write_holders;
    "holder_counts" Parquet true people::COUNT_COLUMNS, |market| market.each(market.options.days), people::write_counts;
    "transfers" Parquet true transfers::COLUMNS, transfers::rows, transfers::write;
    "contracts" Csv false evidence::CONTRACT_COLUMNS, |_| evidence::ROWS, evidence::write_contracts;
    "scams" Csv false evidence::SCAM_COLUMNS, |_| evidence::ROWS, evidence::write_scams;
    "pool_events" Csv false evidence::EVENT_COLUMNS, |_| 64, evidence::write_pool_events;
    "locks" Csv false evidence::LOCK_COLUMNS, |_| evidence::ROWS, evidence::write_locks;
    "funding" Csv false evidence::FUNDING_COLUMNS, |_| 64, evidence::write_funding;
    "labels" Csv false people::LABEL_COLUMNS, |market| market.each(6), people::write_labels;
    "dexes" Csv false pools::DEX_COLUMNS, |_| facts::FACTS.dexes.len() as u64, pools::write_dexes;
    "fee_tiers" Csv false pools::FEE_COLUMNS, |_| 64, pools::write_fee_tiers;
    "pools" Csv false pools::POOL_COLUMNS, |market| market.each(5), pools::write_pools;
    "yields" Ndjson false yields::YIELD_COLUMNS, |_| 150, yields::write;
    "gas" Csv false yields::GAS_COLUMNS, |_| facts::FACTS.gas.len() as u64, yields::write_gas;
};

impl Recipe {
    fn form(&self, format: Format) -> ExportFormat {
        match format {
            Format::Csv if self.large => ExportFormat::Csv,
            Format::Parquet if self.large => ExportFormat::Parquet,
            _ => self.form,
        }
    }
}

/// Writes the market of `options` into `folder`, which must be new, empty, or a demo dataset. Each file is written atomically; on
/// cancellation by `progress` the completed ones stay, and the folder may be written again.
pub fn write(
    folder: &Path,
    options: &DemoOptions,
    progress: &mut DemoProgress,
) -> Result<Vec<DemoFile>, DemoError> {
    check(options)?;
    let earlier = claim(folder)?;
    let market = DemoMarket::new(options);
    let description = describe(options);
    // Written first, so that an unfinished folder is recognised as a demo; skipped if unchanged.
    if earlier.as_deref() != Some(&description) {
        write_text(folder, DESCRIPTION, &description)?;
    }
    let mut written = vec![DemoFile {
        file: DESCRIPTION.to_owned(),
        rows: 0,
        bytes: description.len() as u64,
    }];
    for recipe in TABLES {
        let form = recipe.form(options.format);
        let mut report = |table: &str, done: u64, total: u64| progress(table, done, total);
        let mut table = DemoTable::create(
            folder,
            recipe.name,
            recipe.columns,
            form,
            (recipe.rows)(&market),
            &mut report,
        )?;
        (recipe.write)(&market, &mut table)?;
        written.push(table.finish()?);
        remove_others(folder, recipe.name, form)?;
    }
    let text = readme::text(&market, &written);
    written.push(write_text(folder, README, &text)?);
    Ok(written)
}

fn check(options: &DemoOptions) -> Result<(), DemoError> {
    for (option, value, least, most) in [
        (
            "tokens",
            u64::from(options.tokens),
            1,
            u64::from(TOKENS_MAX),
        ),
        ("days", u64::from(options.days), 1, u64::from(DAYS_MAX)),
        ("candles", options.candles.unwrap_or(0), 0, ROWS_MAX),
        ("transfers", options.transfers.unwrap_or(0), 0, ROWS_MAX),
    ] {
        if !(least..=most).contains(&value) {
            return Err(DemoError::OutOfRange {
                option,
                value,
                least,
                most,
            });
        }
    }
    candles::check(options)
}

/// Creates the folder; returns its existing `dataset.toml`. Errors: it contains anything but demo data.
fn claim(folder: &Path) -> Result<Option<String>, DemoError> {
    if folder.exists() && !folder.is_dir() {
        return Err(DemoError::NotAFolder(folder.to_owned()));
    }
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    let mut entries =
        fs::read_dir(folder).map_err(|error| FileAction::Read.failed(folder, &error))?;
    // A first run killed while it wrote its first file leaves only this one.
    let unfinished = format!(".{DESCRIPTION}.part");
    if entries.all(|entry| entry.is_ok_and(|entry| entry.file_name() == unfinished.as_str())) {
        return Ok(None);
    }
    let text = fs::read_to_string(folder.join(DESCRIPTION)).unwrap_or_default();
    let description: toml::Table = text.parse().unwrap_or_default();
    let synthetic = description.get("synthetic").and_then(toml::Value::as_bool) == Some(true);
    if synthetic && description.get("title").and_then(toml::Value::as_str) == Some(TITLE) {
        return Ok(Some(text));
    }
    Err(DemoError::ForeignFiles(folder.to_owned()))
}

/// Removes an earlier run's files of the table in other formats, finished or not: a table may have one file only.
fn remove_others(folder: &Path, table: &str, kept: ExportFormat) -> Result<(), DemoError> {
    for other in ExportFormat::FILES.into_iter().filter(|form| *form != kept) {
        let name = format!("{table}.{}", other.ending());
        for path in [folder.join(format!(".{name}.part")), folder.join(name)] {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(FileAction::Remove.failed(&path, &error));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

fn describe(options: &DemoOptions) -> String {
    format!(
        "# Written by `{}`. Invented data: see README.md.\ntitle = \"{TITLE}\"\nlicense = \"MIT\"\nsynthetic = true\n",
        readme::command(options)
    )
}
