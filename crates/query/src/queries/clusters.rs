//! The query behind GET /tokens/{token_address}/clusters. `analysis::clusters` finds them.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Dated, Query, known_token,
    parameter::{Parameter, ParameterKind, TOKEN, parameter},
    request::request,
    snapshot::Snapshot,
    view::View,
};
use analysis::clusters::{Cluster, Clusters, Link, NoClusters, clusters_of};
use model::{
    address::Address, data::AddressRows as _, error::Result, format, progress::Progress, time::Time,
};

/// Members and links of a cluster that are listed.
const MEMBERS_SHOWN: usize = 250;
const EDGES_SHOWN: usize = 50;
const LIMIT: Parameter = parameter(
    "limit",
    ParameterKind::Integer {
        min: 1,
        max: 100,
        default: 20,
    },
    "Maximum number of clusters.",
);

request! {
    /// The addresses that one owner likely controls.
    ClustersQuery at "/tokens/{token_address}/clusters" {
        token_address: Address = TOKEN,
        limit: u64 = LIMIT,
    }
}

/// Groups of addresses with one likely owner: who really controls the token.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TokenClusters {
    pub token_address: Address,
    /// Time of the token's last transfer.
    #[serde(rename = "asOf")]
    pub as_of: Option<Time>,
    /// Number of clusters.
    pub total: u64,
    /// Fraction of the free supply that the ten largest individual addresses hold. Free is the supply outside burn addresses, pools, routers,
    /// exchanges, bridges and lockers. Null without transfers.
    pub top_10_addresses: Option<f64>,
    /// The same for the ten largest owners: each cluster counts as one.
    pub top_10_owners: Option<f64>,
    /// Largest share first.
    pub clusters: Vec<HolderCluster>,
    /// Reason for an empty list, or why clusters may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// Addresses with one likely owner. Amounts are in whole tokens, and in base units if `tokens` lacks `decimals`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HolderCluster {
    /// Fraction of the free supply.
    pub share: f64,
    pub balance: f64,
    /// Received from pools and routers; null if none is known among the token's transfers.
    pub bought: Option<f64>,
    /// Sent to pools and routers; null as `bought`.
    pub sold: Option<f64>,
    /// First and last transfer of a member.
    pub first: Option<Time>,
    pub last: Option<Time>,
    /// Whether the token's creator or owner is a member.
    pub creator: bool,
    pub members_total: u64,
    /// Largest balance first; at most 250.
    pub members: Vec<Address>,
    pub edges_total: u64,
    /// The links between the members: at most 50, the first of each kind before others.
    pub edges: Vec<ClusterEdge>,
}

/// A link between two members.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ClusterEdge {
    /// `common_funder`, `funded_together`, `funded_by`, `bundle`, `equal_amounts`, `transfer`, `both_ways` or `collected`.
    pub kind: &'static str,
    /// The linked addresses; the sender first.
    pub addresses: [Address; 2],
    pub evidence: EdgeEvidence,
}

/// A row of `transfers` or `funding` that shows the link.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EdgeEvidence {
    pub table: &'static str,
    /// Who paid for the first transactions of both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub funder: Option<Address>,
    pub timestamp: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_number: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transaction_hash: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<f64>,
}

impl Query for ClustersQuery {
    type Answer = TokenClusters;
    const NAME: &'static str = "clusters";
    const SUMMARY: &'static str = "Group a token's holders by likely owner, with the evidence.";
    const NEEDS: &'static [&'static str] = &["transfers", "holders"];
    const HEAVY: bool = true;
    const DATED: Dated = Dated::Itself;

    fn as_of(&self, _: &Snapshot, answer: &TokenClusters) -> Option<Time> {
        answer.as_of
    }

    fn answer(&self, view: &View<'_>, progress: &Progress) -> Result<TokenClusters> {
        known_token(view, &self.token_address)?;
        let token = &self.token_address;
        view.bring("transfers", &[*token], progress)?;
        view.bring("holders", &[*token], progress)?;
        let mut step = Ok(());
        let found = clusters_of(&view.dataset, token, &mut |done, total| {
            step = progress.step(done as u64, total as u64);
            step.is_ok()
        });
        step?;
        let missing = match &found {
            Err(NoClusters::LeftOut) => Some(format!(
                "this needs all {} transfers of the token, and `transfers` is queried in place; set read = \"bring\" in dataset.toml",
                format::count(view.dataset.transfers_listed(token))
            )),
            Err(NoClusters::Transfers | NoClusters::Canceled) => Some(
                view.dataset
                    .absence_reason("transfers")
                    .unwrap_or_else(|| "`transfers` has no transfer of this token".to_owned()),
            ),
            Ok(clusters) if clusters.is_limited => Some(
                "the token has more addresses than are examined; later ones are in no cluster"
                    .to_owned(),
            ),
            Ok(_) => None,
        };
        let is_known = found.is_ok();
        let found = found.unwrap_or_default();
        let [addresses, owners] = found.top_10.map(|top| is_known.then_some(top));
        Ok(TokenClusters {
            token_address: *token,
            as_of: found.as_of,
            total: found.clusters.len() as u64,
            top_10_addresses: addresses,
            top_10_owners: owners,
            clusters: self.listed(view, &found),
            missing,
        })
    }
}

impl ClustersQuery {
    /// The largest.
    pub fn first(token_address: Address) -> Self {
        Self {
            token_address,
            limit: 20,
        }
    }

    fn listed(&self, view: &View<'_>, found: &Clusters) -> Vec<HolderCluster> {
        let clusters = found.clusters.iter().take(self.limit as usize);
        clusters
            .map(|cluster| self.cluster(view, cluster, found.has_pools))
            .collect()
    }

    fn cluster(&self, view: &View<'_>, cluster: &Cluster, has_pools: bool) -> HolderCluster {
        let links = cluster.links.iter().take(EDGES_SHOWN);
        HolderCluster {
            share: cluster.share,
            balance: cluster.held,
            bought: has_pools.then_some(cluster.bought),
            sold: has_pools.then_some(cluster.sold),
            first: cluster.first,
            last: cluster.last,
            creator: cluster.has_creator,
            members_total: cluster.members.len() as u64,
            members: cluster
                .members
                .iter()
                .take(MEMBERS_SHOWN)
                .copied()
                .collect(),
            edges_total: cluster.links.len() as u64,
            edges: links.map(|link| self.edge(view, link)).collect(),
        }
    }

    fn edge(&self, view: &View<'_>, link: &Link) -> ClusterEdge {
        let transfers = view.dataset.transfers();
        let hash = |row| transfers.text(&self.token_address, row, "transaction_hash");
        ClusterEdge {
            kind: link.kind.word(),
            addresses: link.addresses,
            evidence: EdgeEvidence {
                table: if link.row.is_some() {
                    "transfers"
                } else {
                    "funding"
                },
                funder: link.funder,
                timestamp: link.time,
                block_number: link.block,
                transaction_hash: link.row.and_then(hash),
                amount: link.amount,
            },
        }
    }
}
