//! Files whose columns are ours already, under our names or their aliases.

use super::{
    super::{
        look::{Looked, Shape},
        outline::{First, elements},
        pair,
    },
    Asked, Plan, Take,
};
use crate::dataset::{
    load::bind::{bind, missing},
    manifest::TableManifest,
    schema::{TABLES, TableSchema},
    source::{self, Layout},
};

fn names(looked: &Looked) -> Vec<String> {
    match &looked.shape {
        Shape::Json { outline, .. } => match outline.list("") {
            Some(First::Object(keys)) => keys.clone(),
            _ => Vec::new(),
        },
        _ => looked.header(),
    }
}

/// The table the columns are of: all it requires are there. Of several, the one that the file is named after, else that with most of its columns.
fn table(looked: &Looked) -> Option<(&'static TableSchema, TableManifest)> {
    let names = names(looked);
    let stem = pair::words(&looked.name).join("_").to_lowercase();
    let fits = |schema: &'static TableSchema| {
        // A tokens table may leave the chain to be said.
        let manifest = chainless(schema, &names);
        let bound = bind(schema, &manifest, &names).ok()?;
        let served = bound.iter().filter(|bound| bound.raw.is_some() || bound.units.is_some()).count();
        (served > 0 && missing(schema, &bound, &names).is_none()).then_some(((schema.name == stem, served), schema))
    };
    let best = TABLES.iter().filter_map(fits).max_by_key(|(rank, _)| *rank);
    best.map(|(_, schema)| (schema, chainless(schema, &names)))
}

/// A tokens table without a chain has that which is said; its place is held here.
fn chainless(schema: &TableSchema, names: &[String]) -> TableManifest {
    let mut manifest = TableManifest::default();
    if schema.name == "tokens" && !names.iter().any(|name| ["chain", "chains"].contains(&name.as_str())) {
        manifest.set.insert("chain", String::new());
    }
    manifest
}

pub(super) fn is(looked: &Looked) -> bool {
    table(looked).is_some()
}

pub(super) fn open(asked: &Asked<'_>) -> Result<Plan, String> {
    let (schema, mut manifest) = table(asked.looked).ok_or("has not the columns of a table of ours")?;
    let rows = match &asked.looked.shape {
        Shape::Json { text, .. } => {
            let list = elements(text, "")?.into_iter().map(ToOwned::to_owned).collect();
            source::json_objects(list, asked.looked.bytes, std::sync::Arc::new(|_: &str| true))
        }
        _ => asked.looked.rows(&Layout::default())?,
    };
    let mut says = Vec::new();
    if let Some(chain) = manifest.set.get_mut("chain") {
        *chain = asked.said.chain.to_string();
        says.push(format!("chain {}, as the file has none; --chain says another", asked.said.chain));
    }
    let take = Take { manifest, ..Take::into(schema.name, rows) };
    Ok(Plan { says, ..Plan::of(vec![take]) })
}
