//! Which balances to fetch for the tests of holders where the table stays in another database, and which of its addresses count one by
//! one.

use std::{collections::BTreeSet, sync::Arc};

use super::super::facts::{AddressRole, Facts};
use crate::dataset::{Dataset, Token, address::Address, holding::Apart, shelf::Want};

/// The balances of the token, and of the liquidity of its pools, where they stay elsewhere; nothing where they are here.
pub fn wanted(dataset: &Dataset, token: &Token) -> Vec<Want> {
    let about = token.row.token_address;
    let Some(shelf) = dataset.shelf("holders") else { return Vec::new() };
    let facts = Facts::new(dataset, token);
    let pools: Vec<Address> = facts.pools.iter().take(facts.telling).copied().filter(|pool| shelf.has(pool)).collect();
    if pools.is_empty() && !shelf.has(&about) {
        return Vec::new();
    }
    let own = apart(&facts);
    let of_pool = |pool: Address| {
        // Of those who hold liquidity, lockers and contracts count for themselves too.
        let locked = dataset.locks_of(&pool).iter().map(|lock| lock.holder_address);
        let contracts = dataset.contracts().addresses();
        let named: BTreeSet<Address> = own.named.iter().copied().chain(locked).chain(contracts).collect();
        let named = Apart { named: named.into_iter().collect(), supply: None, ..own.clone() };
        Want::Balances { token: pool, about, apart: Arc::new(named) }
    };
    let pools: Vec<Want> = pools.into_iter().map(of_pool).collect();
    std::iter::once(Want::Balances { token: about, about, apart: Arc::new(own.clone()) }).chain(pools).collect()
}

/// Who holds for others counts for themselves; key opinion leaders, the creator and the owner are looked for by name.
fn apart(facts: &Facts<'_>) -> Apart {
    let (dataset, about) = (facts.dataset, &facts.address);
    let named: BTreeSet<Address> =
        dataset.labelled().chain(facts.named()).filter(|address| facts.role(address) != AddressRole::Trader).collect();
    let burned = named.iter().copied().filter(|address| facts.role(address) == AddressRole::Burned).collect();
    let leaders = dataset.kols_of(about).iter().map(|row| row.kol_address);
    let watched: BTreeSet<Address> = leaders.chain(facts.creator).chain(facts.owner).collect();
    Apart { named: named.into_iter().collect(), burned, watched: watched.into_iter().collect(), supply: facts.total_supply() }
}
