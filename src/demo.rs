//! The demo data: a synthetic market, the same bytes for the same seed and options. Which tables there are and how they come to
//! their folder; what is in them is in the modules below. A further table is a further row of `TABLES`.

mod candles;
pub mod contracts;
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

use self::{
    market::DemoMarket,
    output::{DemoTable, failed, write_text},
};
use crate::dataset::{candles::Interval, export::form::ExportFormat};

/// The title that, with `synthetic = true`, tells a demo dataset, which may be written over, from any other.
pub const TITLE: &str = "Demo market";
const DESCRIPTION: &str = "dataset.toml";
const README: &str = "README.md";
/// More would not be read by anyone, and a token costs memory.
const MOST_TOKENS: u32 = 100_000;
const MOST_DAYS: u32 = 20_000;
const MOST_ROWS: u64 = 1_000_000_000;

/// Told (table, rows done, rows expected); answers whether to go on.
pub type DemoProgress<'a> = dyn FnMut(&str, u64, u64) -> bool + 'a;

/// What the market is like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoOptions {
    pub tokens: u32,
    pub days: u32,
    pub seed: u64,
    /// Candles in all, shared among the tokens.
    pub candles: Option<u64>,
    /// Transfers in all, shared among the tokens; else some thousand of a few invented tokens.
    pub transfers: Option<u64>,
    /// Of all candles; else an hour for the leading ten tokens and a day for the others.
    pub interval: Option<Interval>,
    pub format: Format,
}

impl Default for DemoOptions {
    fn default() -> Self {
        Self { tokens: 64, days: 400, seed: 20_261_115, candles: None, transfers: None, interval: None, format: Format::Mixed }
    }
}

/// How the tables that can be large are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Csv,
    Parquet,
    /// Each table in a form it is often found in.
    Mixed,
}

impl Format {
    /// `csv`, `parquet` or `mixed`.
    pub fn parse(text: &str) -> Option<Self> {
        [("csv", Self::Csv), ("parquet", Self::Parquet), ("mixed", Self::Mixed)]
            .into_iter()
            .find(|(name, _)| *name == text)
            .map(|(_, format)| format)
    }
}

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoFile {
    pub file: String,
    /// 0 for a file that is no table.
    pub rows: u64,
    pub bytes: u64,
}

/// One table of the demo: its usual format, whether `Format` overrides that, its columns and what writes it.
struct Recipe {
    name: &'static str,
    form: ExportFormat,
    large: bool,
    columns: &'static [&'static str],
    /// The number of rows expected, of a large table.
    rows: fn(&DemoMarket, &DemoOptions) -> u64,
    write: fn(&DemoMarket, &DemoOptions, &mut DemoTable) -> Result<(), String>,
}

macro_rules! recipes {
    ($($name:literal $form:ident $large:literal $columns:path, $rows:expr, $write:expr;)*) => {
        &[$(Recipe { name: $name, form: ExportFormat::$form, large: $large, columns: $columns, rows: $rows, write: $write }),*]
    };
}

const TABLES: &[Recipe] = recipes! {
    "tokens" Csv false tokens::COLUMNS, |_, options| u64::from(options.tokens), tokens::write;
    "kols" Csv false people::KOL_COLUMNS, |_, options| u64::from(options.tokens) * 8, |market, _, table| people::write_kols(market, table);
    "posts" Ndjson true posts::COLUMNS, |_, options| posts::rows(options), posts::write;
    "candles" Parquet true candles::COLUMNS, |_, options| candles::rows(options), candles::write;
    "holders" Parquet true people::HOLDER_COLUMNS, |_, options| u64::from(options.tokens) * 96, people::write_holders;
    "holder_counts" Parquet true people::COUNT_COLUMNS, |_, options| u64::from(options.tokens) * u64::from(options.days),
        |market, _, table| people::write_counts(market, table);
    "transfers" Parquet true transfers::COLUMNS, transfers::rows, transfers::write;
    "contracts" Csv false evidence::CONTRACT_COLUMNS, |_, _| evidence::ROWS, |market, _, table| evidence::write_contracts(market, table);
    "scams" Csv false evidence::SCAM_COLUMNS, |_, _| evidence::ROWS, |market, _, table| evidence::write_scams(market, table);
    "pool_events" Csv false evidence::EVENT_COLUMNS, |_, _| 64, |market, _, table| evidence::write_pool_events(market, table);
    "locks" Csv false evidence::LOCK_COLUMNS, |_, _| evidence::ROWS, |market, _, table| evidence::write_locks(market, table);
    "funding" Csv false evidence::FUNDING_COLUMNS, |_, _| 64, |market, _, table| evidence::write_funding(market, table);
    "labels" Csv false people::LABEL_COLUMNS, |_, options| u64::from(options.tokens) * 6, |market, _, table| people::write_labels(market, table);
    "dexes" Csv false pools::DEX_COLUMNS, |_, _| facts::DEXES.len() as u64, |market, _, table| pools::write_dexes(market, table);
    "fee_tiers" Csv false pools::FEE_COLUMNS, |_, _| 64, |market, _, table| pools::write_fee_tiers(market, table);
    "pools" Csv false pools::POOL_COLUMNS, |_, options| u64::from(options.tokens) * 5, |market, _, table| pools::write_pools(market, table);
    "yields" Ndjson false yields::YIELD_COLUMNS, |_, _| 150, |market, _, table| yields::write(market, table);
    "gas" Csv false yields::GAS_COLUMNS, |_, _| facts::GAS.len() as u64, |market, _, table| yields::write_gas(market, table);
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

/// Writes the market of `options` into `folder`, which must be new, empty, or a demo dataset. Each file appears whole or not at
/// all; one that `progress` stops leaves those before it, and may be written again.
pub fn write(folder: &Path, options: &DemoOptions, progress: &mut DemoProgress) -> Result<Vec<DemoFile>, String> {
    check(options)?;
    let earlier = claim(folder)?;
    let market = DemoMarket::new(options);
    let description = describe(options);
    // First of all, so that a folder left in the middle is known for a demo. Its bytes stay when they are the same.
    if earlier.as_deref() != Some(&description) {
        write_text(folder, DESCRIPTION, &description)?;
    }
    let mut written = vec![DemoFile { file: DESCRIPTION.to_owned(), rows: 0, bytes: description.len() as u64 }];
    for recipe in TABLES {
        let form = recipe.form(options.format);
        let total = (recipe.rows)(&market, options);
        let mut report = |table: &str, done: u64, total: u64| progress(table, done, total);
        let mut table = DemoTable::create(folder, recipe.name, recipe.columns, form, total, &mut report)?;
        (recipe.write)(&market, options, &mut table)?;
        written.push(table.finish()?);
        remove_others(folder, recipe.name, form)?;
    }
    let text = readme::text(&market, options, &written);
    written.push(write_text(folder, README, &text)?);
    Ok(written)
}

fn check(options: &DemoOptions) -> Result<(), String> {
    for (name, value, least, most) in [
        ("tokens", u64::from(options.tokens), 1, u64::from(MOST_TOKENS)),
        ("days", u64::from(options.days), 1, u64::from(MOST_DAYS)),
        ("candles", options.candles.unwrap_or(0), 0, MOST_ROWS),
        ("transfers", options.transfers.unwrap_or(0), 0, MOST_ROWS),
    ] {
        if !(least..=most).contains(&value) {
            return Err(format!("{name} `{value}`: expected {least} to {most}"));
        }
    }
    candles::check(options)
}

/// Makes `folder` ready to be written to; the description of the demo that is already in it.
fn claim(folder: &Path) -> Result<Option<String>, String> {
    let shown = folder.display();
    if folder.exists() && !folder.is_dir() {
        return Err(format!("`{shown}` is a file: expected a folder; name another"));
    }
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    let mut entries = fs::read_dir(folder).map_err(|error| format!("could not read `{shown}`: {error}"))?;
    // A first run that was killed at its first file has left this and nothing else.
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
    Err(format!(
        "`{shown}` holds something that is not demo data, which is never written over: expected an empty folder, or one whose {DESCRIPTION} says \
         title = \"{TITLE}\" and synthetic = true; name another folder"
    ))
}

/// A table may lie in one file only: those that an earlier run wrote in another format go, finished or not.
fn remove_others(folder: &Path, table: &str, kept: ExportFormat) -> Result<(), String> {
    for other in ExportFormat::FILES.into_iter().filter(|form| *form != kept) {
        let name = format!("{table}.{}", other.ending());
        for path in [folder.join(format!(".{name}.part")), folder.join(name)] {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(format!("could not remove `{}`: {error}", path.display()));
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
