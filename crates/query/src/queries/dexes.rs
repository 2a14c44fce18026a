//! The queries behind GET /{contractAddress}/dexes, its detail, and GET /dexes.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Query, known_token,
    list::{Listed as _, Rows, SORT, conditions, filter_and_sort, listed, only, sort},
    order::Order,
    paging::{page_of, paged},
    parameter::{CONTRACT, EXPLAIN, PAGE, ParameterKind, clip, parameter},
    request::request,
    tabular::tabular,
    view::View,
};
use analysis::dex::{DexDetail, DexList, detail, list};
use model::{
    address::Address,
    chain::Chain,
    error::{Code, Problem, Result},
    progress::Progress,
    rows::DexRow,
    scalar::Scalar,
};
use table::filter::Filter;

request! {
    DexListQuery at "/{contractAddress}/dexes" {
        contract_address: Address = CONTRACT,
        explain: bool = EXPLAIN,
    }
}

impl Query for DexListQuery {
    type Answer = DexList;
    const NAME: &'static str = "dexes";
    const SUMMARY: &'static str = "List DEXes where a token trades.";
    const NEEDS: &'static [&'static str] = &[];

    fn answer(&self, view: &View<'_>, _: &Progress) -> Result<DexList> {
        known_token(view, &self.contract_address)?;
        let missing = view
            .dataset
            .absence_reason("pools")
            .filter(|_| self.explain);
        let mut listed = list(&view.dataset, &self.contract_address);
        if !self.explain {
            listed.dexes.iter_mut().for_each(|dex| dex.liquidity = None);
        }
        Ok(DexList { missing, ..listed })
    }
}

request! {
    DexDetailQuery at "/{contractAddress}/dexes/{dexId}" {
        contract_address: Address = CONTRACT,
        /// In lower case.
        dex_id: String = parameter("dexId", ParameterKind::Identifier, "DEX id from the list of DEXes, case-insensitive."),
    }
}

impl Query for DexDetailQuery {
    type Answer = DexDetail;
    const NAME: &'static str = "dex";
    const SUMMARY: &'static str = "Get one DEX of a token.";
    const NEEDS: &'static [&'static str] = &[];

    fn answer(&self, view: &View<'_>, _: &Progress) -> Result<DexDetail> {
        known_token(view, &self.contract_address)?;
        detail(&view.dataset, &self.contract_address, &self.dex_id).ok_or_else(|| {
            Problem::new(
                Code::DexNotFound,
                format!(
                    "No DEX `{}` has a pool of token `{}`. GET /{}/dexes lists the DEXes that do, with their `dexId`.",
                    clip(&self.dex_id),
                    self.contract_address,
                    self.contract_address
                ),
            )
        })
    }
}

request! {
    /// A page of all DEXes of the dataset.
    AllDexesQuery at "/dexes" {
        filter: Filter = conditions::<DexEntry>(),
        sort: Vec<Order> = sort::<DexEntry>(None, SORT),
        /// Members out of `DexEntry::MEMBERS`; empty: all.
        only: Vec<&'static str> = only::<DexEntry>(),
        page: u64 = PAGE,
        limit: u64 = parameter("limit", ParameterKind::Integer { min: 1, max: 250, default: 50 }, "DEXes per page."),
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AllDexes {
    pub page: u64,
    pub limit: u64,
    pub total: u64,
    /// By slug, then chain, unless `sort` is given.
    pub dexes: Rows<DexEntry>,
    /// Reason for an empty list: the table that is missing or unusable.
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

impl Query for AllDexesQuery {
    type Answer = AllDexes;
    const NAME: &'static str = "all_dexes";
    const SUMMARY: &'static str = "List all DEXes, one entry per chain.";
    const NEEDS: &'static [&'static str] = &[];

    paged!(AllDexes);

    fn answer(&self, view: &View<'_>, _: &Progress) -> Result<AllDexes> {
        let mut rows: Vec<DexEntry> = view.dataset.dexes().iter().map(DexEntry::of).collect();
        filter_and_sort(&mut rows, &self.filter, &self.sort);
        let total = rows.len() as u64;
        let dexes = Rows::new(
            page_of(rows.into_iter(), self.page, self.limit).collect(),
            &self.only,
        );
        Ok(AllDexes {
            page: self.page,
            limit: self.limit,
            total,
            dexes,
            missing: view.dataset.absence_reason("dexes"),
        })
    }
}

tabular!(AllDexesQuery, dexes of DexEntry);

impl DexEntry {
    fn of(row: &DexRow) -> Self {
        Self {
            dex_id: row.dex_id.clone(),
            name: row.name.clone(),
            chain: row.chain.clone(),
            version: row.version.clone(),
            router: row.router,
            factory: row.factory,
            total_value_locked: row.total_value_locked,
        }
    }
}

listed!(DexEntry {
    "dex_id": Text ["id", "dex"] = |dex| Scalar::text(&dex.dex_id);
    "name": Text [] = |dex| dex.name.as_deref().into();
    "chain": Chain [] = |dex| Scalar::text(dex.chain.as_str());
    "version": Text [] = |dex| dex.version.as_deref().into();
    "router": Text [] = |dex| dex.router.map(|address| address.to_string()).into();
    "factory": Text [] = |dex| dex.factory.map(|address| address.to_string()).into();
    "total_value_locked": Number ["tvl"] = |dex| dex.total_value_locked.into();
});
