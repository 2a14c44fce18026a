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
    /// `common_funder`, `funded_together`, `funded_by`, `bundle`, `equal_amounts`, `transfer`, `both_ways`, `ring` or `collected`.
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
        // Links by funding date from the payment to the second address.
        let [_, paid] = &link.addresses;
        let payment = view.dataset.funders_of(paid).first();
        let hash = match link.row {
            Some(row) => transfers.text(&self.token_address, row, "transaction_hash"),
            None => payment.and_then(|row| row.transaction_hash.clone()),
        };
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
                transaction_hash: hash,
                amount: link.amount,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use serde_json::{Value, json};

    use crate::queries::{clusters::ClustersQuery, tests, tokens::TokensQuery};

    /// Of 0x1, four addresses buy nearly the same in one block at launch and have a tenth of the free supply; of 0x2 they buy different
    /// amounts; 0x3 has no transfers.
    fn tables() -> [(&'static str, String); 3] {
        let mut transfers =
            "token_address,timestamp,block_number,transaction_hash,from_address,to_address,value,log_index"
                .to_owned();
        let mut row = |token: u8, block: u64, from: u64, to: u64, value: u64| {
            let _ = write!(
                transfers,
                "\n0x{token},2026-01-01T00:{:02}:00Z,{block},0x{:064x},0x{from:x},0x{to:x},{value},{}",
                block % 60,
                block * 1_000 + to,
                to + 1_000 * u64::from(token)
            );
        };
        for token in [1, 2] {
            row(token, 1, 0, 0xa, 1_000_000);
            row(token, 2, 0xa, 0xb, 600_000);
            for nth in 0..4 {
                let value = if token == 1 {
                    10_003 - nth
                } else {
                    2_500 << nth
                };
                row(token, 3, 0xb, 0x50 + nth, value);
            }
        }
        let tokens = "token_address,symbol,name,chain,decimals,total_supply\n0x1,ONE,One,eth,0,1000000\n0x2,TWO,Two,eth,0,1000000\n\
            0x3,NONE,None,eth,0,1000000";
        [
            ("tokens", tokens.to_owned()),
            ("transfers", transfers),
            ("labels", "address,label\n0xb,liquidity_pool".to_owned()),
        ]
    }

    #[test]
    fn the_largest_cluster_is_a_column_and_a_condition_of_the_token_list() {
        let tables = tables();
        let tables: Vec<(&str, &str)> = tables
            .iter()
            .map(|(name, text)| (*name, text.as_str()))
            .collect();
        let snapshot = tests::snapshot(&tables);
        let listed = |query: &str| -> Vec<Value> {
            let query = format!("only=symbol,largest_cluster&{query}");
            let answer = tests::answered::<TokensQuery>(&snapshot, &[], &query).expect("an answer");
            let tokens = serde_json::to_value(answer.tokens).expect("JSON");
            tokens.as_array().cloned().unwrap_or_default()
        };
        let all = listed("sort=-largest_cluster");
        let shares: Vec<(&str, Option<f64>)> = all
            .iter()
            .map(|token| {
                (
                    token["symbol"].as_str().unwrap_or_default(),
                    token["largest_cluster"].as_f64(),
                )
            })
            .collect();
        // The pool's tokens are not free: 40,006 of 440,006.
        let share = 40_006.0 / 440_006.0;
        assert!(
            matches!(&shares[..], [("ONE", Some(one)), ("TWO", Some(two)), ("NONE", None)] if (one - share).abs() < 1e-9 && *two == 0.0),
            "{shares:?}"
        );
        let names = |query: &str| -> Vec<Value> {
            listed(query)
                .iter()
                .map(|token| token["symbol"].clone())
                .collect()
        };
        assert_eq!(names("where=largest_cluster%3E5%25"), [json!("ONE")]);
        assert_eq!(names("where=cluster%3C%3D0.05"), [json!("TWO")]);
    }

    #[test]
    fn a_link_by_funding_names_the_transaction_if_the_table_has_it() {
        let tables = tables();
        // One payer for two addresses without another link: of 0x2 they buy different amounts. The later payment is the evidence.
        let [first, later] = [7, 8].map(|nth| format!("0x{nth:064x}"));
        let with_hash = format!(
            "from_address,to_address,timestamp,transaction_hash\n0xf,0x50,2025-12-31T00:00:00Z,{first}\n0xf,0x51,2025-12-31T00:01:00Z,{later}"
        );
        let without = "from_address,to_address,timestamp\n0xf,0x50,2025-12-31T00:00:00Z\n0xf,0x51,2025-12-31T00:01:00Z".to_owned();
        for (funding, expected) in [(with_hash, json!(later)), (without, Value::Null)] {
            let mut tables: Vec<(&str, &str)> = tables
                .iter()
                .map(|(name, text)| (*name, text.as_str()))
                .collect();
            tables.push(("funding", &funding));
            let snapshot = tests::snapshot(&tables);
            let token = format!("0x{:040x}", 2);
            let answer =
                tests::answered::<ClustersQuery>(&snapshot, &[("token_address", &token)], "")
                    .expect("an answer");
            let answer = serde_json::to_value(answer).expect("JSON");
            let edge = &answer["clusters"][0]["edges"][0];
            assert_eq!(edge["evidence"]["table"], json!("funding"), "{answer}");
            assert_eq!(edge["evidence"]["transaction_hash"], expected, "{answer}");
        }
    }
}
