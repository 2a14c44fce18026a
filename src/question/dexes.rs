//! The questions behind GET /{contractAddress}/dexes, its detail, and GET /dexes.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Question, known_token,
    parameter::{CONTRACT, EXPLAIN, PAGE, ParameterKind, clip, parameter},
    posts::page_of,
    progress::Progress,
    request::request,
    snapshot::Snapshot,
};
use crate::{
    analysis::dex::{DexDetail, DexList, detail, list},
    dataset::{address::Address, chain::Chain},
    error::{Code, Problem, Result},
};

request! {
    DexListQuestion at "/{contractAddress}/dexes" {
        contract_address: Address = CONTRACT,
        explain: bool = EXPLAIN,
    }
}

impl Question for DexListQuestion {
    type Answer = DexList;
    const NAME: &'static str = "dexes";
    const SUMMARY: &'static str = "DEXes where a token trades.";
    const NEEDS: &'static [&'static str] = &[];

    fn answer(&self, snapshot: &Snapshot, _: &Progress) -> Result<DexList> {
        known_token(snapshot, &self.contract_address)?;
        let missing = snapshot.dataset.lack("pools").filter(|_| self.explain);
        Ok(DexList { missing, ..list(&snapshot.dataset, &self.contract_address) })
    }
}

request! {
    DexDetailQuestion at "/{contractAddress}/dexes/{dexId}" {
        contract_address: Address = CONTRACT,
        /// Lower case.
        dex_id: String = parameter("dexId", ParameterKind::Identifier, "The DEX's slug, as the DEX list gives it; any letter case."),
    }
}

impl Question for DexDetailQuestion {
    type Answer = DexDetail;
    const NAME: &'static str = "dex";
    const SUMMARY: &'static str = "Detail of one DEX where a token trades.";
    const NEEDS: &'static [&'static str] = &[];

    fn answer(&self, snapshot: &Snapshot, _: &Progress) -> Result<DexDetail> {
        known_token(snapshot, &self.contract_address)?;
        detail(&snapshot.dataset, &self.contract_address, &self.dex_id).ok_or_else(|| {
            Problem::new(
                Code::DexNotFound,
                format!(
                    "No DEX `{}` has a pool of token `{}`: GET /{}/dexes lists those that have, with their `dexId`.",
                    clip(&self.dex_id),
                    self.contract_address,
                    self.contract_address
                ),
            )
        })
    }
}

request! {
    /// A page of every DEX in the data.
    AllDexesQuestion at "/dexes" {
        page: u64 = PAGE,
        limit: u64 = parameter("limit", ParameterKind::Integer { min: 1, max: 250, default: 50 }, "DEXes a page."),
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AllDexes {
    pub page: u64,
    pub limit: u64,
    pub total: u64,
    pub dexes: Vec<DexEntry>,
    /// Why there can be none, naming the table that is missing or could not be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// A DEX on one chain.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DexEntry {
    pub dex_id: String,
    pub name: Option<String>,
    pub chain: Chain,
    pub version: Option<String>,
    pub router: Option<Address>,
    pub factory: Option<Address>,
    /// USD.
    pub total_value_locked: Option<f64>,
}

impl Question for AllDexesQuestion {
    type Answer = AllDexes;
    const NAME: &'static str = "all_dexes";
    const SUMMARY: &'static str = "Every DEX in the data, one entry for each chain.";
    const NEEDS: &'static [&'static str] = &[];

    fn answer(&self, snapshot: &Snapshot, _: &Progress) -> Result<AllDexes> {
        let rows = snapshot.dataset.dexes();
        let dexes = page_of(rows.iter(), self.page, self.limit)
            .map(|row| DexEntry {
                dex_id: row.dex_id.clone(),
                name: row.name.clone(),
                chain: row.chain.clone(),
                version: row.version.clone(),
                router: row.router,
                factory: row.factory,
                total_value_locked: row.total_value_locked,
            })
            .collect();
        Ok(AllDexes { page: self.page, limit: self.limit, total: rows.len() as u64, dexes, missing: snapshot.dataset.lack("dexes") })
    }
}
