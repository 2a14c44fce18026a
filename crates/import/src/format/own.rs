//! Files in the dataset's own schema, by column names or aliases.

use super::{
    super::{candles, pair, sheet::RawTable, sniff::Sniffed},
    FileToImport, ImportPlan, ImportedTable, Refusal, holders, mapped, supply,
    tokens::no_chain,
    transfers, yields,
};
use load::{
    loader::bind::{bind, missing},
    manifest::{TableManifest, Unit},
};
use model::schema::{TABLES, TableSchema};

/// The table whose required columns are all present. If several match, the one that the file is named after, or the one with the most
/// matching columns; none if a table with more of them lacks one, as the file is meant for that.
fn table(sniffed: &Sniffed) -> Option<(&'static TableSchema, TableManifest)> {
    let sheet: &RawTable = sniffed.sheet.as_ref().filter(|sheet| sheet.named)?;
    let names = &sheet.names;
    let stem = pair::words(&sniffed.name).join("_").to_lowercase();
    let served = |schema: &'static TableSchema, manifest: &TableManifest| {
        let bound = bind(schema, manifest, names).ok()?;
        Some(
            bound
                .iter()
                .filter(|bound| bound.raw.is_some() || bound.units.is_some())
                .count(),
        )
    };
    let most = TABLES
        .iter()
        .filter_map(|schema| served(schema, &TableManifest::default()))
        .max()
        .unwrap_or_default();
    let fits = |schema: &'static TableSchema| {
        // A tokens table may lack the chain.
        let manifest = chainless(schema, names);
        let served = served(schema, &manifest)?;
        let bound = bind(schema, &manifest, names).ok()?;
        // Few matching columns are weak evidence: requires three, or all of the table's.
        let enough = (served >= 3 || served == schema.columns.len())
            && (served >= most || schema.name == stem);
        // Payments with a hash may as well be transfers of a token: only the file's name decides.
        let has_hash = || {
            bound
                .iter()
                .any(|bound| bound.column.name == "transaction_hash" && bound.raw.is_some())
        };
        let is_vague = schema.name == "funding" && schema.name != stem && has_hash();
        (enough && !is_vague && missing(schema, &manifest, &bound, names).is_none())
            .then_some(((schema.name == stem, served), schema))
    };
    let best = TABLES.iter().filter_map(fits).max_by_key(|(rank, _)| *rank);
    best.map(|(_, schema)| (schema, chainless(schema, names)))
}

/// A placeholder for the chain of a tokens table without one, filled from `--chain`.
fn chainless(schema: &TableSchema, names: &[String]) -> TableManifest {
    let mut manifest = TableManifest::default();
    if schema.name == "tokens"
        && !names
            .iter()
            .any(|name| ["chain", "chains"].contains(&name.to_lowercase().as_str()))
    {
        manifest.set.insert("chain", String::new());
    }
    manifest
}

pub(super) fn is(sniffed: &Sniffed) -> bool {
    table(sniffed).is_some()
}

pub(super) fn open(file: &FileToImport<'_>) -> Result<ImportPlan, Refusal> {
    let (schema, mut manifest) =
        table(file.sniffed).ok_or("lacks the required columns of every tokendeck table")?;
    let sheet = file.sheet()?;
    // Names alone show neither that prices fit their rows nor the unit of amounts.
    match (schema.name, file.of_any_source(schema.name)) {
        ("candles", _) => return candles::open(file),
        ("transfers", Some(file)) => return transfers::open(&file),
        ("holders", Some(file)) => return holders::open(&file),
        _ => {}
    }
    let mut says = Vec::new();
    if let Some(place) = manifest.set.get_mut("chain") {
        let Some(chain) = &file.options.chain else {
            return Err(no_chain(sheet, "token_address"));
        };
        *place = chain.to_string();
        says.push(format!("chain {chain}, from --chain"));
    }
    let mut take = ImportedTable {
        manifest,
        ..ImportedTable::into(schema.name, sheet.rows(file.sniffed)?)
    };
    let mut plan = ImportPlan::default().saying_all(says);
    if schema.name == "tokens" && supply::is_raw_in_ours(file, sheet)? {
        take.rule("total_supply").unit = Some(Unit::Raw);
        plan = plan.saying(
            "its `total_supply` is in base units, so it is converted with each token's decimals",
        );
    }
    if schema.name == "yields" {
        let (newest, assumed) = yields::newest(file, sheet, schema, take)?;
        take = newest;
        plan = yields::in_percent(file, sheet, &mut take, plan.noting(assumed), false)?;
    }
    plan = mapped::in_fraction(file, sheet, schema, &mut take, plan)?;
    plan.takes.push(take);
    Ok(plan)
}
