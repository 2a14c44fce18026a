//! Creates a dataset of live tables: its `dataset.toml`.

use std::{fs, path::Path};

use super::LiveError;
use crate::{
    manifest::FILE,
    provider::{Providers, named},
};
use model::{
    private_files::{create_dir, write_atomic},
    social::LIVE_WINDOW,
    time::DAY_MS,
};

/// Default providers.
const USUAL: [&str; 5] = [
    "dexscreener",
    "geckoterminal",
    "binance",
    "kraken",
    "defillama",
];

/// Providers of posts and people; the first needs a key.
pub const SOCIAL: [&str; 3] = ["neynar", "bluesky", "github"];
/// The tables that they fill.
const SOCIAL_TABLES: [&str; 4] = ["accounts", "posts", "people", "follows"];

/// The tables of such a dataset, and how often they come.
const TABLES: [(&str, &str); 12] = [
    ("tokens", "15m"),
    ("pools", "1h"),
    ("candles", "5m"),
    ("yields", "6h"),
    ("holders", "6h"),
    ("holder_counts", "6h"),
    ("transfers", "1h"),
    ("contracts", "24h"),
    ("accounts", "24h"),
    ("posts", "1h"),
    ("people", "24h"),
    ("follows", "24h"),
];

/// Text of its `dataset.toml`. Errors: one of the names is no provider.
fn text(
    title: &str,
    providers: &[String],
    social: &[&str],
    known: &Providers,
    node: Option<&str>,
) -> Result<String, LiveError> {
    let names: Vec<&str> = if providers.is_empty() {
        USUAL.to_vec()
    } else {
        providers.iter().map(String::as_str).collect()
    };
    for name in &names {
        named(known, name)?;
    }
    // A text in JSON is one in TOML.
    let quoted = |text: &str| serde_json::Value::String(text.to_owned()).to_string();
    let mut text = format!("title = {}\n", quoted(title));
    if !social.is_empty() {
        text.push_str(&format!(
            "\n[social]\nwindow = \"{}d\"\n",
            LIVE_WINDOW / DAY_MS
        ));
    }
    for (table, every) in TABLES {
        let is_social = SOCIAL_TABLES.contains(&table);
        if is_social && social.is_empty() {
            continue;
        }
        let filling: Vec<String> = names
            .iter()
            .chain(social.iter().filter(|_| is_social))
            .filter(|name| {
                known
                    .get(**name)
                    .is_some_and(|provider| provider.filling(table).next().is_some())
            })
            .map(|name| quoted(name))
            .collect();
        // A key is needed for these, or many requests: whoever wants them says so.
        let left_out = providers.is_empty()
            && ["holders", "holder_counts", "transfers", "contracts"].contains(&table);
        if let (Some(node), "contracts") = (node, table) {
            text.push_str(&format!(
                "\n[tables.contracts]\nsource = {}\n",
                quoted(node)
            ));
        } else if !filling.is_empty() && !left_out {
            text.push_str(&format!(
                "\n[tables.{table}]\nprovider = [{}]\nevery = \"{every}\"\n",
                filling.join(", ")
            ));
        }
    }
    Ok(text)
}

/// Creates the dataset; `social` are the providers of posts and people. Fails if the folder has one already, or if it cannot be written.
pub fn create(
    folder: &Path,
    providers: &[String],
    social: &[&str],
    known: &Providers,
    node: Option<&str>,
) -> Result<(), LiveError> {
    let file = folder.join(FILE);
    if file.exists() || fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(LiveError::FolderTaken(folder.to_owned()));
    }
    let title = folder.file_name().map_or_else(
        || "live".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    );
    let text = text(&title, providers, social, known, node)?;
    create_dir(folder)?;
    Ok(write_atomic(&file, text.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{manifest::Manifest, provider::built_in};

    #[test]
    fn a_new_dataset_can_be_read_and_every_table_has_a_provider() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("my \"deck\"");
        create(&place, &[], &SOCIAL, built_in(), Some("mainnet")).expect("made");
        let text = fs::read_to_string(place.join(FILE)).expect("text");
        let manifest = Manifest::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(manifest.title.as_deref(), Some("my \"deck\""));
        assert!(
            ["tokens", "pools", "candles", "yields"]
                .iter()
                .all(|table| manifest.tables[table].live.is_some()),
            "{text}"
        );
        assert!(
            SOCIAL_TABLES.iter().all(|table| manifest.tables[table]
                .live
                .as_ref()
                .is_some_and(|live| live.together)),
            "{text}"
        );
        assert_eq!(manifest.social.window, Some(LIVE_WINDOW));
        assert_eq!(
            manifest.tables["contracts"].node.as_deref(),
            Some("mainnet")
        );
        assert!(
            create(&place, &[], &[], built_in(), None)
                .expect_err("there")
                .to_string()
                .contains("exists and is not empty")
        );
        let error = create(
            &folder.path().join("b"),
            &["binanc".to_owned()],
            &[],
            built_in(),
            None,
        )
        .expect_err("misspelt");
        assert_eq!(
            error.to_string(),
            "`binanc` is not a provider; did you mean `binance`?"
        );
    }
}
