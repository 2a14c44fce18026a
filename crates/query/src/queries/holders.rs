//! The queries behind GET /tokens/{token_address}/holders and /holder-counts.

mod flows;

use std::{cmp::Ordering, ops::Range, sync::Arc};

use polars::prelude::DataFrame;
use schemars::JsonSchema;
use serde::Serialize;

use self::flows::KnownFlows;
use super::{
    Dated, Query, known_token,
    list::{
        Listed, Rows, SORT, conditions, filter_and_sort, keep_matching, listed, only, sort,
        sort_rows,
    },
    order::Order,
    paging::{page_of, page_range, paged},
    parameter::{PAGE, Parameter, ParameterKind, TOKEN, parameter},
    request::request,
    snapshot::Snapshot,
    tabular::{Tabled, Tabular, frame, members, tabular},
    view::View,
};
use frames::{error::FrameError, export::RowBatches};
use load::Dataset;
use model::{
    address::Address,
    day_counts::DayCount,
    error::Result,
    format,
    progress::Progress,
    rows::HolderRow,
    scalar::Scalar,
    time::{Day, Time},
};
use table::filter::{AddressOf, Filter};

/// Holders between two cancellation checks.
const CHUNK_ROWS: usize = 16_384;
const LIMIT: Parameter = parameter(
    "limit",
    ParameterKind::Integer {
        min: 1,
        max: 250,
        default: 50,
    },
    "Rows per page.",
);

request! {
    /// A page of a token's holders, largest balance first.
    HoldersQuery at "/tokens/{token_address}/holders" {
        token_address: Address = TOKEN,
        flows: bool = parameter(
            "flows",
            ParameterKind::Flag,
            "Add each holder's share, first transfer, and amounts received and sent in 7 and 30 days, from `transfers`.",
        ),
        filter: Filter = conditions::<Holder>(),
        /// `None`: largest balance first.
        sort: Vec<Order> = sort::<Holder>(None, SORT),
        /// Members out of `Holder::MEMBERS`; empty: all.
        only: Vec<&'static str> = only::<Holder>(),
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
    /// Largest balance first, unless `sort` is given.
    pub holders: Rows<Holder>,
    /// With `flows`: time of the token's last transfer, where the 7 and 30 days end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows_to: Option<Time>,
    /// With `flows`: reason why the amounts received and sent are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows_missing: Option<String>,
    /// Reason for an empty list: the table that is missing or unusable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Which holders are listed, filtered and sorted, where it is not all of them: the largest, of a table that is queried in place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Holder {
    pub holder_address: Address,
    /// In whole tokens.
    pub balance: Option<f64>,
    /// Known labels of the address: burn, exchange, …
    pub labels: Vec<String>,
    /// With `flows`: fraction of the supply that is not burned, or of the sum of all holders' balances if the supply is unknown. Omitted
    /// for a burn address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// With `flows`: its first transfer of the token in the data with an amount above zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_seen: Option<Time>,
    /// With `flows`: whole tokens received in the 7 days before the token's last transfer; unknown if the value of one of these transfers
    /// is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_7d: Option<f64>,
    /// With `flows`: whole tokens sent in the same 7 days.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out_7d: Option<f64>,
    /// With `flows`: whole tokens received in 30 days.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_30d: Option<f64>,
    /// With `flows`: whole tokens sent in the same 30 days.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out_30d: Option<f64>,
}

impl Query for HoldersQuery {
    type Answer = Holders;
    const NAME: &'static str = "holders";
    const SUMMARY: &'static str = "List a token's holders, largest first.";
    const NEEDS: &'static [&'static str] = &["holders"];
    const DATED: Dated = Dated::Always;

    paged!(Holders);

    fn heavy(&self, _: &Snapshot) -> bool {
        self.needs_transfers()
    }

    fn as_of(&self, _: &Snapshot, answer: &Holders) -> Option<Time> {
        answer.flows_to
    }

    fn answer(&self, view: &View<'_>, progress: &Progress) -> Result<Holders> {
        known_token(view, &self.token_address)?;
        let dataset = &view.dataset;
        let mut known = self.flows(view, progress)?;
        let (total, holders) = match self.matching_rows(dataset, known.as_ref(), progress)? {
            None => {
                let page =
                    dataset.holders_page(&self.token_address, page_range(self.page, self.limit));
                (
                    dataset.holders_listed(&self.token_address) as usize,
                    Holder::all(&page, dataset),
                )
            }
            Some(matching) => (
                matching.len(),
                page_of(matching.into_iter(), self.page, self.limit).collect(),
            ),
        };
        Ok(Holders {
            token_address: self.token_address,
            page: self.page,
            limit: self.limit,
            total: total as u64,
            holders: Rows::new(holders, &self.only),
            flows_to: known.as_mut().and_then(|known| known.last),
            flows_missing: known.and_then(|known| known.missing),
            missing: dataset.absence_reason("holders"),
            cut: self.cut(dataset),
        })
    }
}

impl HoldersQuery {
    /// Which holders the list is of: of a table at an engine, the largest.
    fn cut(&self, dataset: &Dataset) -> Option<String> {
        let listed = dataset.holders_listed(&self.token_address);
        let here = dataset.holders_of_source(&self.token_address)?.len() as u64;
        let [here, all] = [here, listed].map(format::count);
        (here != all).then(|| format!("the {here} largest of {all} holders"))
    }

    /// The filtered and sorted rows; `None` for all rows in the table's order.
    fn matching_rows(
        &self,
        dataset: &Dataset,
        flows: Option<&KnownFlows>,
        progress: &Progress,
    ) -> Result<Option<Vec<Holder>>> {
        if self.filter.is_empty() && self.sort.is_empty() && flows.is_none() {
            return Ok(None);
        }
        let rows = dataset.holders_page(&self.token_address, 0..usize::MAX);
        let mut matching = Vec::new();
        for (nth, part) in rows.chunks(CHUNK_ROWS).enumerate() {
            progress.step((nth * CHUNK_ROWS) as u64, rows.len() as u64)?;
            let mut holders = Holder::all(part, dataset);
            if let Some(flows) = flows {
                let holders = holders.iter_mut();
                holders.for_each(|holder| flows.add_to(holder, dataset));
            }
            keep_matching(&mut holders, &self.filter, Listed::field);
            matching.append(&mut holders);
        }
        sort_rows(
            &mut matching,
            &self.sort,
            |holder, column| holder.field(column).sort_key(),
            |_, _| Ordering::Equal,
        );
        Ok(Some(matching))
    }

    /// The first page, unfiltered.
    pub fn first(token_address: Address) -> Self {
        Self {
            token_address,
            flows: false,
            filter: Filter::default(),
            sort: Vec::new(),
            only: Vec::new(),
            page: 1,
            limit: 50,
        }
    }
}

/// The labels of an address, each once, in the order of the table.
pub(super) fn labels(dataset: &Dataset, address: &Address) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for row in dataset.labels_of(address) {
        if !labels.contains(&row.label) {
            labels.push(row.label.clone());
        }
    }
    labels
}

impl Holder {
    fn of(row: &HolderRow, dataset: &Dataset) -> Self {
        let labels = labels(dataset, &row.holder_address);
        let (share, first_seen) = (None, None);
        let (in_7d, out_7d, in_30d, out_30d) = (None, None, None, None);
        Self {
            holder_address: row.holder_address,
            balance: row.balance,
            labels,
            share,
            first_seen,
            in_7d,
            out_7d,
            in_30d,
            out_30d,
        }
    }

    fn all(rows: &[HolderRow], dataset: &Dataset) -> Vec<Self> {
        rows.iter().map(|row| Self::of(row, dataset)).collect()
    }
}

impl Tabular for HoldersQuery {
    fn tabled(
        &self,
        view: &View<'_>,
        snapshot: &Arc<Snapshot>,
        whole: bool,
        progress: &Progress,
    ) -> Result<Tabled> {
        let dataset = &snapshot.dataset;
        let known = self.flows(view, progress)?;
        let mut matching = self.matching_rows(dataset, known.as_ref(), progress)?;
        let page = page_range(self.page, self.limit);
        let is_page = matching.is_none() && !whole;
        if is_page {
            matching = Some(Holder::all(
                &dataset.holders_page(&self.token_address, page.clone()),
                dataset,
            ));
        } else if matching.is_none() {
            matching = dataset
                .holders_of_source(&self.token_address)
                .map(|rows| Holder::all(&rows, dataset));
        }
        let count = matching
            .as_ref()
            .map_or_else(|| dataset.holders_of(&self.token_address).len(), Vec::len);
        let page = if whole || is_page { 0..count } else { page };
        let rows = page.start.min(count)..page.end.min(count);
        // Those of what was not asked for would be empty.
        let asked = if known.is_none() {
            PLAIN_MEMBERS
        } else if self.needs_transfers() {
            Holder::MEMBERS.len()
        } else {
            SHARED_MEMBERS
        };
        let members = members(&Holder::MEMBERS[..asked], &self.only);
        let holders = HolderFrames {
            snapshot: Arc::clone(snapshot),
            token: self.token_address,
            matching,
            rows,
            members: members.clone(),
        };
        Ok(Tabled::frames(Box::new(holders), &members))
    }
}

/// A token's holders as data frames, made while they are written.
struct HolderFrames {
    snapshot: Arc<Snapshot>,
    token: Address,
    /// The filtered and sorted rows; `None` for all rows in the table's order.
    matching: Option<Vec<Holder>>,
    /// The range of them to write.
    rows: Range<usize>,
    members: Vec<&'static str>,
}

impl RowBatches for HolderFrames {
    fn count(&self) -> usize {
        self.rows.len()
    }

    fn frame(&self, rows: Range<usize>) -> std::result::Result<DataFrame, FrameError> {
        let rows = self.rows.start + rows.start..self.rows.start + rows.end;
        let dataset = &self.snapshot.dataset;
        let read;
        let holders = if let Some(matching) = &self.matching {
            &matching[rows]
        } else {
            read = Holder::all(&dataset.holders_of(&self.token).part(rows), dataset);
            &read
        };
        if dataset.is_damaged() {
            return Err(FrameError::RebuiltTable);
        }
        Ok(frame(holders, &self.members)?)
    }
}

listed!(Holder {
    "holder_address": Text ["address", "holder"].addresses(AddressOf::Anyone) = |row| Scalar::text(row.holder_address.to_string());
    "balance": Number [] = |row| row.balance.into();
    "labels": List ["label"] = |row| Scalar::list(row.labels.iter().map(String::as_str));
    "share": Number [].fraction() = |row| row.share.into();
    "first_seen": Time [] = |row| row.first_seen.into();
    "in_7d": Number [] = |row| row.in_7d.into();
    "out_7d": Number [] = |row| row.out_7d.into();
    "in_30d": Number [] = |row| row.in_30d.into();
    "out_30d": Number [] = |row| row.out_30d.into();
});

/// The first members, which need no transfers.
const PLAIN_MEMBERS: usize = 3;
/// With the share, which needs none either.
const SHARED_MEMBERS: usize = PLAIN_MEMBERS + 1;

request! {
    /// A page of a token's holder counts, newest first.
    HolderCountsQuery at "/tokens/{token_address}/holder-counts" {
        token_address: Address = TOKEN,
        filter: Filter = conditions::<HolderCount>(),
        /// `None`: newest first.
        sort: Vec<Order> = sort::<HolderCount>(None, SORT),
        /// Members out of `HolderCount::MEMBERS`; empty: all.
        only: Vec<&'static str> = only::<HolderCount>(),
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
    /// Newest first, unless `sort` is given.
    pub holder_counts: Rows<HolderCount>,
    /// Reason for an empty list: the table that is missing or unusable.
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

impl Query for HolderCountsQuery {
    type Answer = HolderCounts;
    const NAME: &'static str = "holder_counts";
    const SUMMARY: &'static str = "Get daily holder counts, newest first.";
    const NEEDS: &'static [&'static str] = &[];
    const DATED: Dated = Dated::Always;

    paged!(HolderCounts);

    fn as_of(&self, _: &Snapshot, answer: &HolderCounts) -> Option<Time> {
        answer
            .holder_counts
            .iter()
            .map(|count| count.date.start())
            .max()
    }

    fn answer(&self, view: &View<'_>, _: &Progress) -> Result<HolderCounts> {
        known_token(view, &self.token_address)?;
        let mut rows: Vec<HolderCount> = view
            .dataset
            .holder_counts_of(&self.token_address)
            .iter()
            .rev()
            .map(HolderCount::of)
            .collect();
        filter_and_sort(&mut rows, &self.filter, &self.sort);
        Ok(HolderCounts {
            token_address: self.token_address,
            page: self.page,
            limit: self.limit,
            total: rows.len() as u64,
            holder_counts: Rows::new(
                page_of(rows.into_iter(), self.page, self.limit).collect(),
                &self.only,
            ),
            missing: view.dataset.absence_reason("holder_counts"),
        })
    }
}

tabular!(HolderCountsQuery, holder_counts of HolderCount);

impl HolderCount {
    fn of(row: DayCount) -> Self {
        Self {
            date: row.date,
            holders: row.holders,
            whale_balance: row.whale_balance,
        }
    }
}

listed!(HolderCount {
    "date": Time [] = |row| Scalar::Day(row.date);
    "holders": Number [] = |row| row.holders.into();
    "whale_balance": Number ["whales"] = |row| row.whale_balance.into();
});
