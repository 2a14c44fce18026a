//! The questions behind GET /tokens/{token_address}/holders and /holder-counts.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Question, known_token,
    parameter::{PAGE, Parameter, ParameterKind, TOKEN, parameter},
    posts::{page_of, page_range},
    progress::Progress,
    request::request,
    snapshot::Snapshot,
};
use crate::{
    dataset::{address::Address, time::Day},
    error::Result,
};

const LIMIT: Parameter = parameter("limit", ParameterKind::Integer { min: 1, max: 250, default: 50 }, "Rows a page.");

request! {
    /// A page of a token's holders, largest balance first.
    HoldersQuestion at "/tokens/{token_address}/holders" {
        token_address: Address = TOKEN,
        page: u64 = PAGE,
        limit: u64 = LIMIT,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Holders {
    pub token_address: Address,
    pub page: u64,
    pub limit: u64,
    pub total: u64,
    pub holders: Vec<Holder>,
    /// Why there can be no holders, naming the table that is missing or could not be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Holder {
    pub holder_address: Address,
    /// Whole tokens.
    pub balance: Option<f64>,
    /// What is known of the address: burn, exchange, …
    pub labels: Vec<String>,
}

impl Question for HoldersQuestion {
    type Answer = Holders;
    const NAME: &'static str = "holders";
    const SUMMARY: &'static str = "A token's holders, largest balance first.";
    const NEEDS: &'static [&'static str] = &["holders"];

    fn answer(&self, snapshot: &Snapshot, _: &Progress) -> Result<Holders> {
        known_token(snapshot, &self.token_address)?;
        let rows = snapshot.dataset.holders_of(&self.token_address);
        let holders = rows
            .part(page_range(self.page, self.limit))
            .into_iter()
            .map(|row| Holder {
                holder_address: row.holder_address,
                balance: row.balance,
                labels: snapshot.dataset.labels_of(&row.holder_address).iter().map(|label| label.label.clone()).collect(),
            })
            .collect();
        Ok(Holders {
            token_address: self.token_address,
            page: self.page,
            limit: self.limit,
            total: rows.len() as u64,
            holders,
            missing: snapshot.dataset.lack("holders"),
        })
    }
}

request! {
    /// A page of a token's holder counts, newest first.
    HolderCountsQuestion at "/tokens/{token_address}/holder-counts" {
        token_address: Address = TOKEN,
        page: u64 = PAGE,
        limit: u64 = LIMIT,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HolderCounts {
    pub token_address: Address,
    pub page: u64,
    pub limit: u64,
    pub total: u64,
    pub holder_counts: Vec<HolderCount>,
    /// Why there can be no counts, naming the table that is missing or could not be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HolderCount {
    pub date: Day,
    /// Number of holders.
    pub holders: Option<i64>,
    /// Whole tokens held by whales.
    pub whale_balance: Option<f64>,
}

impl Question for HolderCountsQuestion {
    type Answer = HolderCounts;
    const NAME: &'static str = "holder_counts";
    const SUMMARY: &'static str = "A token's number of holders day by day, newest first.";
    const NEEDS: &'static [&'static str] = &[];

    fn answer(&self, snapshot: &Snapshot, _: &Progress) -> Result<HolderCounts> {
        known_token(snapshot, &self.token_address)?;
        let rows = snapshot.dataset.holder_counts_of(&self.token_address);
        let holder_counts = page_of(rows.iter().rev(), self.page, self.limit)
            .map(|row| HolderCount { date: row.date, holders: row.holders, whale_balance: row.whale_balance })
            .collect();
        Ok(HolderCounts {
            token_address: self.token_address,
            page: self.page,
            limit: self.limit,
            total: rows.len() as u64,
            holder_counts,
            missing: snapshot.dataset.lack("holder_counts"),
        })
    }
}
