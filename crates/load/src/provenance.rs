//! Provenance of imported rows: their file, and the options of their import. Stored in the Parquet file's metadata, so that a later import
//! can name the rows it replaces, and a load how they were read.

use std::path::Path;

use polars::prelude::{KeyValueMetadata, ParquetReader, SerReader};
use serde::{Deserialize, Serialize};

use frames::decode::guarded;
use model::{address::Address, format::plural};

/// Key of the Parquet metadata.
const KEY: &str = "tokendeck.origins";
/// Maximum number of imports that are remembered (the latest), and of tokens for each; one with more tokens counts as of any token.
const KEPT: usize = 100;
const TOKENS_KEPT: usize = 20;
/// Maximum number of origins whose options are shown.
const TOLD: usize = 20;
/// Maximum number of origins named in a message.
const SHOWN: usize = 3;

/// A file that rows of a table were imported from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    pub file: String,
    pub title: String,
    /// Tokens of its rows; empty: many.
    pub tokens: Vec<String>,
    /// Options of its import, as on the command line.
    #[serde(default)]
    pub said: Vec<String>,
    /// Assumptions that the import made or was forced to make, for the user.
    #[serde(default)]
    pub notes: Vec<String>,
}

impl Origin {
    pub fn new(
        file: &str,
        title: &str,
        tokens: impl IntoIterator<Item = Address>,
        said: Vec<String>,
        notes: Vec<String>,
    ) -> Self {
        let mut tokens: Vec<String> = tokens.into_iter().map(|token| token.to_string()).collect();
        tokens.sort_unstable();
        if tokens.len() > TOKENS_KEPT {
            tokens.clear();
        }
        Self {
            file: file.to_owned(),
            title: title.to_owned(),
            tokens,
            said,
            notes,
        }
    }

    /// Its options, then its assumptions and forced choices, as sentences.
    fn sentences(&self) -> Vec<String> {
        let said = Some(format!(
            "imported from `{}` with options: {}",
            self.file,
            self.said.join(" ")
        ))
        .filter(|_| !self.said.is_empty());
        said.into_iter()
            .chain(
                self.notes
                    .iter()
                    .map(|note| format!("imported from `{}`: {note}", self.file)),
            )
            .collect()
    }

    /// The file and its format, such as `` `binance.csv` (Binance klines) ``.
    pub fn file_and_format(&self) -> String {
        format!("`{}` ({})", self.file, self.title)
    }
}

/// Options and assumptions of the imports into a file, latest last, for the user; empty for a file that no import wrote.
pub fn import_notes(path: &Path) -> Vec<String> {
    if path
        .extension()
        .is_none_or(|ending| !ending.eq_ignore_ascii_case("parquet"))
    {
        return Vec::new();
    }
    let all = of(path);
    let telling = || {
        all.iter()
            .filter(|origin| !origin.said.is_empty() || !origin.notes.is_empty())
    };
    let left = telling().count().saturating_sub(TOLD);
    let mut notes: Vec<String> = telling().skip(left).flat_map(Origin::sentences).collect();
    if left > 0 {
        notes.insert(
            0,
            format!(
                "{} imported with options or assumptions, before those below",
                plural(left as u64, "more file was", "more files were")
            ),
        );
    }
    notes
}

/// Origins of the rows of an imported file; empty for one that an earlier version wrote.
pub fn of(path: &Path) -> Vec<Origin> {
    let Ok(file) = std::fs::File::open(path) else {
        return Vec::new();
    };
    let text = guarded("Parquet", || {
        let mut reader = ParquetReader::new(file);
        let metadata = reader.get_metadata()?;
        let pair = metadata
            .key_value_metadata()
            .iter()
            .flatten()
            .find(|pair| pair.key == KEY);
        Ok(pair.and_then(|pair| pair.value.clone()))
    });
    text.ok()
        .flatten()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default()
}

/// Parquet metadata of the file: the mark, and the origins, latest last.
pub fn metadata(mark: &str, origins: &[Origin]) -> KeyValueMetadata {
    let mut kept: Vec<&Origin> = Vec::new();
    for origin in origins {
        kept.retain(|known| {
            (&known.file, &known.title, &known.tokens)
                != (&origin.file, &origin.title, &origin.tokens)
        });
        kept.push(origin);
    }
    let kept = &kept[kept.len().saturating_sub(KEPT)..];
    let origins = serde_json::to_string(kept).unwrap_or_default();
    KeyValueMetadata::from_static(vec![
        (mark.to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        (KEY.to_owned(), origins),
    ])
}

/// Names the origins that have rows of the tokens, for a message.
pub fn named(origins: &[Origin], tokens: &[String]) -> String {
    let of = |origin: &&Origin| {
        origin.tokens.is_empty()
            || tokens.is_empty()
            || origin.tokens.iter().any(|token| tokens.contains(token))
    };
    let all: Vec<String> = origins
        .iter()
        .rev()
        .filter(of)
        .map(Origin::file_and_format)
        .collect();
    let more = if all.len() > SHOWN {
        format!(" and {} more", all.len() - SHOWN)
    } else {
        String::new()
    };
    if all.is_empty() {
        "an earlier import".to_owned()
    } else {
        format!("{}{more}", all[..all.len().min(SHOWN)].join(", "))
    }
}
