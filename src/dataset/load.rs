//! Reads a folder into a `Dataset`. A bad row costs the row, a bad table the table; only what leaves nothing to show is an error.
//! The source files are never written.

pub(in crate::dataset) mod bind;
pub(in crate::dataset) mod file;
pub(in crate::dataset) mod fill;
mod identity;
mod judge;
pub(in crate::dataset) mod order;
mod table;

use std::{collections::HashMap, fmt, fs, io, path::Path};

use polars::prelude::DataFrame;
use rayon::prelude::*;

use super::{
    Dataset, Table, TableState,
    address::Address,
    manifest::{self, Manifest},
    progress::{Cancelled, Progress},
    schema::TABLES,
};

/// Why there is no dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadError {
    /// The load was no longer wanted.
    Cancelled,
    /// One line for the person: what is wrong and what to do.
    Unusable(String),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("loading was cancelled"),
            Self::Unusable(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for LoadError {}

impl From<Cancelled> for LoadError {
    fn from(Cancelled: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// The largest `dataset.toml`.
const MAX_MANIFEST: u64 = 1 << 20;

const DEMO: &str = "`tokendeck demo DIR` writes a folder to try";

/// What every table is loaded with.
pub(crate) struct Context<'a> {
    pub folder: &'a Path,
    pub manifest: &'a Manifest,
    pub progress: &'a dyn Progress,
    /// Decimals of each token; `None` where its rows disagree. Empty while the tokens themselves are read.
    pub decimals: HashMap<Address, Option<i64>>,
}

/// Loads the dataset in `folder`: the tokens first, as raw amounts need their decimals, then the other tables side by side.
pub fn load(folder: &Path, progress: &dyn Progress) -> Result<Dataset, LoadError> {
    let shown = folder.display();
    let listing = fs::read_dir(folder)
        .map_err(|error| LoadError::Unusable(format!("the dataset folder `{shown}` cannot be read: {error}; {DEMO}")))?;
    if listing.take(1).count() == 0 {
        return Err(LoadError::Unusable(format!(
            "the dataset folder `{shown}` is empty: put a `tokens` table there, or `tokendeck demo {shown}`"
        )));
    }
    // Where the folder is a link that may be turned meanwhile, all of it is read from where it led at first.
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let text = read_manifest(&real.join(manifest::FILE))?;
    let manifest = Manifest::parse(&text).map_err(LoadError::Unusable)?;
    let mut context = Context { folder: &real, manifest: &manifest, progress, decimals: HashMap::new() };
    // The schema's first table is `tokens`; a test holds it to that.
    let tokens = table::load(&context, &TABLES[0])?;
    match &tokens.0.state {
        TableState::Loaded => context.decimals = decimals(&tokens.0.frame),
        TableState::Absent => {
            let hint = "add tokens.csv (or .parquet, .ndjson, .json, .arrow), or say in dataset.toml where it is ([tables.tokens] path)";
            return Err(LoadError::Unusable(format!("no `tokens` table in `{shown}`: {hint}; {DEMO}")));
        }
        TableState::Unusable(reason) => {
            return Err(LoadError::Unusable(format!("the `tokens` table of `{shown}` is unusable: {reason}; {DEMO}")));
        }
    }
    let mut loaded = vec![tokens];
    let others: Result<Vec<_>, Cancelled> = TABLES[1..].par_iter().map(|schema| table::load(&context, schema)).collect();
    loaded.extend(others?);
    let identity = identity::of(&text, loaded.iter().flat_map(|(table, files)| table.sources.iter().zip(files)));
    let tables: Vec<Table> = loaded.into_iter().map(|(table, _)| table).collect();
    let mut dataset = Dataset::new(tables);
    dataset.title = manifest.title;
    dataset.license = manifest.license;
    dataset.synthetic = manifest.synthetic;
    folder.clone_into(&mut dataset.folder);
    dataset.identity = identity;
    judge::judge(&mut dataset);
    Ok(dataset)
}

/// The text of `dataset.toml`; empty without one.
pub(in crate::dataset) fn read_manifest(path: &Path) -> Result<String, LoadError> {
    match fs::metadata(path) {
        Ok(meta) if !meta.is_file() => return Err(LoadError::Unusable("dataset.toml is not a regular file".to_owned())),
        Ok(meta) if meta.len() > MAX_MANIFEST => return Err(LoadError::Unusable("dataset.toml is larger than 1 MiB".to_owned())),
        _ => {}
    }
    match fs::read_to_string(path) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').map_or_else(|| text.clone(), str::to_owned)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(LoadError::Unusable(format!("dataset.toml cannot be read: {error}"))),
    }
}

pub(in crate::dataset) fn decimals(tokens: &DataFrame) -> HashMap<Address, Option<i64>> {
    let mut decimals: HashMap<Address, Option<i64>> = HashMap::new();
    let columns =
        (tokens.column("token_address").and_then(|column| column.str()), tokens.column("decimals").and_then(|column| column.i64()));
    if let (Ok(addresses), Ok(numbers)) = columns {
        for (address, number) in addresses.iter().zip(numbers.iter()) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_first() {
        assert_eq!(TABLES[0].name, "tokens");
    }
}
