//! The aggregates of a token's transfers that the checks use: folded from its rows, or queried from the engine that has them.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    fold::Fold,
    history::to_replay,
    wash::{Wash, WashTrades},
};
use crate::{
    facts::{AddressRole, Facts},
    pool_story::PoolHistory,
};
use model::{
    address::Address,
    beside_key::IgnoredInKey,
    error::Result,
    transfer_sums::{
        EndRole, Moment, TransferAnswer, TransferContext, TransferPart, TransferSample,
        TransferSums,
    },
};

/// Maximum number of addresses that a query names: of the members of a ring, and of the holders whose balances are compared.
const MEMBERS_MAX: usize = 5_000;
const REPLAYED_MAX: usize = 50_000;

/// Wash trades, with the addresses of those who made them.
#[derive(Debug)]
pub(super) struct WashRing {
    pub(super) found: WashTrades,
    pub(super) members: usize,
    /// The first transfers among them.
    pub(super) rows: Vec<TransferSample>,
}

#[derive(Debug, Default)]
pub(super) struct TransferDigest {
    pub(super) sums: TransferSums,
    pub(super) ring: Option<WashRing>,
    /// Whether windows with too many pairs were not checked for wash trading.
    pub(super) wash_unfinished: bool,
    /// The replayed balances of `to_replay`; `None` if these are too many to ask for.
    pub(super) replayed: Option<Vec<f64>>,
}

impl TransferDigest {
    /// Errors: canceled, or rows must be fetched first.
    pub(super) fn new(
        facts: &Facts<'_>,
        pools: &[PoolHistory],
        step: &dyn Fn(u64) -> Result<()>,
    ) -> Result<Self> {
        let launch = pools
            .iter()
            .filter_map(|pool| pool.first_liquidity)
            .min_by_key(|moment| moment.time);
        if facts.dataset.transfers_stay() {
            Self::fetched(facts, pools, launch)
        } else {
            Self::folded(facts, pools, launch, step)
        }
    }

    fn folded(
        facts: &Facts<'_>,
        pools: &[PoolHistory],
        launch: Option<Moment>,
        step: &dyn Fn(u64) -> Result<()>,
    ) -> Result<Self> {
        let mut fold = Fold::read(facts, pools, launch, step)?;
        let (sums, found) = (fold.sums(), fold.wash.finish());
        let ring = found.map(|found| {
            let members: Vec<Address> = found
                .members
                .iter()
                .map(|member| fold.address(*member))
                .collect();
            WashRing {
                members: members.len(),
                rows: fold.among(&members),
                found,
            }
        });
        let replayed = Some(fold.replayed(&to_replay(facts, &sums)));
        Ok(Self {
            sums,
            ring,
            wash_unfinished: fold.wash.unfinished,
            replayed,
        })
    }

    fn fetched(facts: &Facts<'_>, pools: &[PoolHistory], launch: Option<Moment>) -> Result<Self> {
        let token = &facts.address;
        if facts.dataset.transfers_listed(token) == 0 {
            return Ok(Self {
                sums: TransferSums {
                    launch,
                    ..TransferSums::default()
                },
                ..Self::default()
            });
        }
        let answer = |part: TransferPart| facts.dataset.transfer_answer(token, &part);
        let summed = answer(TransferPart::Sums(IgnoredInKey(Arc::new(context(
            facts, pools, launch,
        )))))?;
        let TransferAnswer::Sums(sums, flow) = &*summed else {
            return Ok(Self::default());
        };
        let (mut sums, mut wash) = (TransferSums::clone(sums), Wash::default());
        wash.add_edges(&flow.edges);
        let ring = match wash.finish() {
            None => None,
            Some(found) => {
                let members: Vec<Address> = found
                    .members
                    .iter()
                    .filter_map(|member| flow.traders.get(*member as usize).copied())
                    .collect();
                let mut ring = WashRing {
                    members: members.len(),
                    rows: Vec::new(),
                    found,
                };
                if members.len() > MEMBERS_MAX {
                    sums.unfinished
                        .push(format!("the circular transfers among {} wallets are too many to query and are not shown", members.len()));
                } else if let TransferAnswer::Among(rows) =
                    &*answer(TransferPart::Among(members.into()))?
                {
                    ring.rows.clone_from(rows);
                }
                Some(ring)
            }
        };
        let holders = to_replay(facts, &sums);
        let replayed = match holders.len() {
            0 => Some(Vec::new()),
            1..=REPLAYED_MAX => match &*answer(TransferPart::Replayed(holders.into()))? {
                TransferAnswer::Replayed(balances) => Some(balances.clone()),
                _ => None,
            },
            _ => None,
        };
        Ok(Self {
            sums,
            ring,
            wash_unfinished: wash.unfinished || flow.unfinished,
            replayed,
        })
    }
}

/// What an engine must know to sum the token's transfers.
fn context(facts: &Facts<'_>, pools: &[PoolHistory], launch: Option<Moment>) -> TransferContext {
    let role = |address: Address| {
        let role = match facts.role(&address) {
            AddressRole::Trader => return None,
            AddressRole::Pool if facts.quoted.contains(&address) => EndRole::QuotedPool,
            AddressRole::Pool => EndRole::Pool,
            AddressRole::Burned => EndRole::Burned,
            AddressRole::Router => EndRole::Router,
            AddressRole::Exchange => EndRole::Exchange,
            AddressRole::Bridge | AddressRole::Locker | AddressRole::Token => EndRole::Other,
        };
        Some((address, role))
    };
    // Ordered, so that the same query is the same text.
    let known: BTreeMap<Address, EndRole> = facts
        .dataset
        .labelled()
        .into_iter()
        .chain(facts.named())
        .filter_map(role)
        .collect();
    let mut liquidity_blocks: Vec<i64> = pools
        .iter()
        .flat_map(|pool| pool.liquidity_blocks.iter().copied())
        .collect();
    liquidity_blocks.sort_unstable();
    liquidity_blocks.dedup();
    let insiders = || [facts.creator, facts.owner].into_iter().flatten();
    let mut circle: Vec<Address> = Vec::new();
    if insiders().next().is_some() {
        circle.extend(
            facts
                .dataset
                .funded()
                .into_iter()
                .filter(|address| facts.circle(address))
                .chain(insiders()),
        );
        circle.sort_unstable();
        circle.dedup();
    }
    TransferContext {
        roles: known.into_iter().collect(),
        launch,
        liquidity_blocks,
        creator: facts.creator,
        owner: facts.owner,
        circle,
    }
}
