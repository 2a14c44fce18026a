//! Saved responses of providers, as formats: the provider's description says how to recognize them and what their columns are.
//! `live` sends the requests.

use std::{collections::HashMap, path::Path};

use super::{ChainFrom, FormatRow, Formats, READERS, Signs, TokenFrom};
use crate::error::ImportError;
use load::{
    manifest::TableManifest,
    provider::{FOLDER, Provider, ProviderOrigin, ProviderRequest, Providers, RequestScope},
};
use model::schema::{self, Need};

impl Formats {
    /// Adds the saved responses of providers: user-defined ones after the user's formats, built-in ones before the formats that guess.
    pub(super) fn add_answers(&mut self, providers: &Providers) -> Result<(), ImportError> {
        for provider in providers.values() {
            for request in &provider.requests {
                let Some(row) = FormatRow::of_answer(provider, request)? else {
                    continue;
                };
                // A built-in one that is known by the same signs says more.
                let better = |known: &&FormatRow| {
                    known.word == row.word || row.file.is_none() && known.known == row.known
                };
                if let Some(known) = self.0.iter().position(|known| better(&known)) {
                    // Whether times are ends is a fact of the service, which its description alone says.
                    self.0[known].ends |= row.ends;
                    continue;
                }
                let own = self
                    .0
                    .iter()
                    .take_while(|known| known.file.is_some())
                    .count();
                let guessing = self
                    .0
                    .iter()
                    .position(|known| known.word == super::MAPPED)
                    .unwrap_or(self.0.len());
                self.0
                    .insert(if row.file.is_some() { own } else { guessing }, row);
            }
        }
        Ok(())
    }
}

impl FormatRow {
    /// The format of a request's saved answers; `None` if nothing says how they are known. Errors: `known` is no list of signs.
    fn of_answer(
        provider: &Provider,
        request: &ProviderRequest,
    ) -> Result<Option<Self>, ImportError> {
        let Some(known) = &request.known else {
            return Ok(None);
        };
        let known: Vec<Signs> = known.clone().try_into().map_err(|error: toml::de::Error| {
            ImportError::FormatSigns {
                provider: provider.id.clone(),
                request: request.name.clone(),
                error: error.message().to_owned(),
            }
        })?;
        let candles = request
            .tables
            .iter()
            .any(|filled| filled.table == "candles");
        let listed = known.iter().all(|signs| signs.list.is_some());
        let places = request
            .tables
            .iter()
            .filter(|_| !listed || request.tables.len() > 1);
        let rows: HashMap<String, String> = places
            .map(|filled| (filled.table.to_owned(), filled.rows.clone()))
            .collect();
        let mappings: Vec<_> = request
            .tables
            .iter()
            .map(|filled| (filled.table, as_saved(&filled.mapping)))
            .collect();
        let needs = |table: &str, column: &str| {
            schema::table(table)
                .and_then(|schema| schema.column(column))
                .is_some_and(|column| column.need != Need::Optional)
        };
        let lacks = |column: &str| {
            mappings.iter().any(|(table, mapping)| {
                needs(table, column) && !mapping.columns.contains_key(column)
            })
        };
        let token = if candles {
            TokenFrom::Priced
        } else {
            TokenFrom::Named
        };
        let mut format = Self {
            word: format!("{}-{}", provider.id, request.name),
            file: (provider.origin != ProviderOrigin::BuiltIn)
                .then(|| Path::new(FOLDER).join(format!("{}.toml", provider.id))),
            title: format!("{} {}", provider.name, request.name.replace('-', " ")),
            into: mappings
                .iter()
                .map(|(table, _)| (*table).to_owned())
                .collect(),
            known,
            // Prices are checked against their rows, wherever they come from.
            read_by: READERS
                .iter()
                .find(|reader| candles && reader.word == "candles"),
            rows,
            token: (request.each != RequestScope::Once && lacks("token_address")).then_some(token),
            chain: lacks("chain").then_some(ChainFrom::Asked),
            ends: request.ends,
            mappings,
            ..Self::default()
        };
        format.look();
        Ok(Some(format))
    }
}

/// The mapping without what only the request knows: the token, its chain, and what stands in placeholders.
fn as_saved(mapping: &TableManifest) -> TableManifest {
    let mut saved = mapping.clone();
    let of_request = |text: &str| text.contains('{');
    saved.set.retain(|ours, value| {
        !(of_request(value) || value.is_empty() && ["token_address", "chain"].contains(ours))
    });
    saved
        .columns
        .retain(|_, rule| !rule.from.as_deref().is_some_and(of_request));
    saved
}
