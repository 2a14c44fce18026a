//! The questions behind GET /{contractAddress}/dexes, its detail, and GET /dexes.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Question, flag_text, known_token,
    parameter::{Arguments, EXPLAIN, Parameter, ParameterKind, clip, encode, parameter},
    posts::{PAGE, page_of},
    progress::Progress,
    snapshot::Snapshot,
    target,
};
use crate::{
    analysis::dex::{DexDetail, DexList, detail, list},
    dataset::{address::Address, chain::Chain},
    error::{Code, Problem, Result},
};

const CONTRACT: Parameter = parameter("contractAddress", ParameterKind::Address, "The token's contract address.");

#[derive(Debug, Clone, PartialEq)]
pub struct DexListQuestion {
    pub contract_address: Address,
    pub explain: bool,
}

impl Question for DexListQuestion {
    type Answer = DexList;
    const NAME: &'static str = "dexes";
    const SUMMARY: &'static str = "DEXes where a token trades.";
    const PATH: &'static str = "/{contractAddress}/dexes";
    const NEEDS: &'static [&'static str] = &[];
    const PARAMETERS: &'static [Parameter] = &[CONTRACT, EXPLAIN];

    fn parse(arguments: &Arguments<'_>) -> Result<Self> {
        Ok(Self { contract_address: arguments.address("contractAddress")?, explain: arguments.flag("explain")? })
    }

    fn target(&self) -> String {
        target(&format!("/{}/dexes", self.contract_address), &[("explain", flag_text(self.explain))])
    }

    fn answer(&self, snapshot: &Snapshot, _: &Progress) -> Result<DexList> {
        known_token(snapshot, &self.contract_address)?;
        let missing = snapshot.dataset.lack("pools").filter(|_| self.explain);
        Ok(DexList { missing, ..list(&snapshot.dataset, &self.contract_address) })
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct DexDetailQuestion {
    pub contract_address: Address,
    /// Lower case.
    pub dex_id: String,
}

impl Question for DexDetailQuestion {
    type Answer = DexDetail;
    const NAME: &'static str = "dex";
    const SUMMARY: &'static str = "Detail of one DEX where a token trades.";
    const PATH: &'static str = "/{contractAddress}/dexes/{dexId}";
    const NEEDS: &'static [&'static str] = &[];
    const PARAMETERS: &'static [Parameter] =
        &[CONTRACT, parameter("dexId", ParameterKind::Identifier, "The DEX's slug, as the DEX list gives it; any letter case.")];

    fn parse(arguments: &Arguments<'_>) -> Result<Self> {
        Ok(Self { contract_address: arguments.address("contractAddress")?, dex_id: arguments.identifier("dexId").to_lowercase() })
    }

    fn target(&self) -> String {
        format!("/{}/dexes/{}", self.contract_address, encode(&self.dex_id))
    }

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

/// A page of every DEX in the data.
#[derive(Debug, Clone, PartialEq)]
pub struct AllDexesQuestion {
    pub page: u64,
    pub limit: u64,
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
    const PATH: &'static str = "/dexes";
    const NEEDS: &'static [&'static str] = &[];
    const PARAMETERS: &'static [Parameter] =
        &[PAGE, parameter("limit", ParameterKind::Integer { min: 1, max: 250, default: 50 }, "DEXes a page.")];

    fn parse(arguments: &Arguments<'_>) -> Result<Self> {
        Ok(Self { page: arguments.integer("page")?, limit: arguments.integer("limit")? })
    }

    fn target(&self) -> String {
        format!("/dexes?page={}&limit={}", self.page, self.limit)
    }

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
