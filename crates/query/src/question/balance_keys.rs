//! Balances to fetch for the holder checks if the table stays in another database, and the addresses to list individually.

use std::{collections::BTreeSet, sync::Arc};

use super::snapshot::Snapshot;
use model::{
    address::Address, beside_key::IgnoredInKey, data::AddressRows as _, error::Result,
    fetch_key::FetchKey, holding::IndividualHolders, token::Token,
};
use security::facts::{AddressRole, Facts};
use store::{Dataset, in_place::Fetched};

/// Returns the balance queries for the token and for its pools' liquidity; nothing if the tables are local.
fn wanted(dataset: &Dataset, token: &Token) -> Vec<FetchKey> {
    let about = token.row.token_address;
    let Some(in_place) = dataset.in_place("holders") else {
        return Vec::new();
    };
    let facts = Facts::new(dataset, token);
    let pools: Vec<Address> = facts
        .pools
        .iter()
        .take(facts.informative)
        .copied()
        .filter(|pool| in_place.has(pool))
        .collect();
    if pools.is_empty() && !in_place.has(&about) {
        return Vec::new();
    }
    let own = individual_holders(dataset, &facts);
    let of_pool = |pool: Address| {
        // Among liquidity holders, lockers and contracts are listed individually, too.
        let locked = dataset
            .locks_of(&pool)
            .iter()
            .map(|lock| lock.holder_address);
        let contracts = dataset.contracts().addresses();
        let named: BTreeSet<Address> = own
            .named
            .iter()
            .copied()
            .chain(locked)
            .chain(contracts)
            .collect();
        let named = IndividualHolders {
            named: named.into_iter().collect(),
            supply: None,
            ..own.clone()
        };
        FetchKey::Balances {
            token: pool,
            about,
            individual: IgnoredInKey(Arc::new(named)),
        }
    };
    let pools: Vec<FetchKey> = pools.into_iter().map(of_pool).collect();
    std::iter::once(FetchKey::Balances {
        token: about,
        about,
        individual: IgnoredInKey(Arc::new(own.clone())),
    })
    .chain(pools)
    .collect()
}

/// Addresses that hold for others are listed individually; key opinion leaders, creator and owner are looked up.
fn individual_holders(dataset: &Dataset, facts: &Facts<'_>) -> IndividualHolders {
    let about = &facts.address;
    let named: BTreeSet<Address> = dataset
        .labelled()
        .into_iter()
        .chain(facts.named())
        .filter(|address| facts.role(address) != AddressRole::Trader)
        .collect();
    let burned = named
        .iter()
        .copied()
        .filter(|address| facts.role(address) == AddressRole::Burned)
        .collect();
    let leaders = dataset.kols_of(about).iter().map(|row| row.kol_address);
    let watched: BTreeSet<Address> = leaders.chain(facts.creator).chain(facts.owner).collect();
    IndividualHolders {
        named: named.into_iter().collect(),
        burned,
        watched: watched.into_iter().collect(),
        supply: facts.total_supply(),
    }
}

/// Holds the balances that the analyses of the tokens need. Errors: some are missing.
pub(super) fn require_balances(
    snapshot: &Snapshot,
    tokens: &[Address],
) -> Result<Vec<Arc<Fetched>>> {
    let known = tokens
        .iter()
        .filter_map(|token| snapshot.dataset.token(token));
    snapshot
        .dataset
        .require(known.flat_map(|token| wanted(&snapshot.dataset, token)))
}
