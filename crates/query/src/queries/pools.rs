//! The query behind GET /tokens/{token_address}/pools: the pools of a token, and what selling an amount in each costs.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Query, known_token,
    list::{Listed as _, Rows, SORT, conditions, filter_and_sort, listed, only, sort},
    order::Order,
    paging::{page_of, paged},
    parameter::{PAGE, Parameter, ParameterKind, TOKEN, parameter},
    request::request,
    tabular::tabular,
    view::View,
};
use analysis::dex::sale::{SplitSale, TokenPool, pools, split};
use model::{address::Address, error::Result, progress::Progress, scalar::Scalar};
use table::filter::{AddressOf, Filter};

/// Default sell size in USD.
pub const AMOUNT_DEFAULT: u64 = 10_000;
/// The largest amount: more than any token is worth.
pub const AMOUNT_MAX: u64 = 1_000_000_000_000;

const AMOUNT: Parameter = parameter(
    "amount",
    ParameterKind::Integer {
        min: 1,
        max: AMOUNT_MAX,
        default: AMOUNT_DEFAULT,
    },
    "USD value of the tokens to sell in each pool.",
);

request! {
    /// The pools of a token, lowest cost first.
    PoolsQuery at "/tokens/{token_address}/pools" {
        token_address: Address = TOKEN,
        amount: u64 = AMOUNT,
        filter: Filter = conditions::<TokenPool>(),
        sort: Vec<Order> = sort::<TokenPool>(Some("loss_min,-liquidity"), SORT),
        /// Members out of `TokenPool::MEMBERS`; empty: all.
        only: Vec<&'static str> = only::<TokenPool>(),
        page: u64 = PAGE,
        limit: u64 = parameter("limit", ParameterKind::Integer { min: 1, max: 250, default: 50 }, "Pools per page."),
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TokenPools {
    pub token_address: Address,
    /// USD value of the tokens sold.
    pub amount: u64,
    /// USD per token, the price of the sell; null if unknown.
    pub price: Option<f64>,
    /// The pool with the lowest cost of the sell, of all that match `where`; null if no cost is known.
    pub best: Option<TokenPool>,
    /// The sell split over the two of these pools that bring the most together; null if that brings less than 0.1% of the amount more than
    /// one pool, or if fees or liquidity are missing. Gas is not included.
    pub split: Option<SplitSale>,
    pub page: u64,
    pub limit: u64,
    pub total: u64,
    /// Lowest possible cost first, unless `sort` is given: a pool of unknown fee counts with its lower bound. Pools without any by liquidity.
    pub pools: Rows<TokenPool>,
    /// Reason for an empty list: the table that is missing or unusable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

impl Query for PoolsQuery {
    type Answer = TokenPools;
    const NAME: &'static str = "pools";
    const SUMMARY: &'static str = "List a token's pools with fee and price impact of a sell.";
    const NEEDS: &'static [&'static str] = &[];

    paged!(TokenPools);

    fn answer(&self, view: &View<'_>, _: &Progress) -> Result<TokenPools> {
        known_token(view, &self.token_address)?;
        let dataset = &view.dataset;
        let price = view
            .market
            .of(dataset, &self.token_address)
            .and_then(|token| token.price);
        let mut found = pools(dataset, &self.token_address, price, self.amount as f64);
        filter_and_sort(&mut found, &self.filter, &self.sort);
        let known = found.iter().filter(|pool| pool.loss.is_some());
        let best = known
            .min_by(|a, b| {
                a.loss
                    .partial_cmp(&b.loss)
                    .unwrap_or(std::cmp::Ordering::Equal)
            })
            .cloned();
        let split = split(found.iter(), self.amount as f64);
        let total = found.len() as u64;
        Ok(TokenPools {
            token_address: self.token_address,
            amount: self.amount,
            price,
            best,
            split,
            page: self.page,
            limit: self.limit,
            total,
            pools: Rows::new(
                page_of(found.into_iter(), self.page, self.limit).collect(),
                &self.only,
            ),
            missing: dataset.absence_reason("pools"),
        })
    }
}

tabular!(PoolsQuery, pools of TokenPool);

listed!(TokenPool {
    "address": Text ["pool"].addresses(AddressOf::Anyone) = |pool| Scalar::text(pool.address.to_string());
    "dex_id": Text ["dex"] = |pool| Scalar::text(&pool.dex_id);
    "dex": Text ["name"] = |pool| Scalar::text(&pool.dex);
    "chain": Chain [] = |pool| Scalar::text(pool.chain.as_str());
    "pair": Text [] = |pool| Scalar::text(&pool.pair);
    "fee": Number [].fraction() = |pool| pool.fee.into();
    "liquidity": Number ["liq"] = |pool| pool.liquidity.into();
    "volume24h": Number ["volume", "vol"] = |pool| pool.volume24h.into();
    "price_impact": Number ["impact"].fraction() = |pool| pool.price_impact.into();
    "proceeds": Number [] = |pool| pool.proceeds.into();
    "loss": Number [].fraction() = |pool| pool.loss.into();
    "loss_min": Number ["cost"].fraction() = |pool| pool.loss_min.into();
    "basis": Text [] = |pool| pool.basis.into();
    "created_at": Time [] = |pool| pool.created_at.into();
    "trades_per_day": Number ["trades"] = |pool| pool.trades_per_day.into();
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queries::tests::{answered, snapshot};

    #[test]
    fn the_pool_that_loses_least_is_first_and_named() {
        let snapshot = snapshot(&[
            (
                "tokens",
                "token_address,symbol,name,chain,decimals,price\n0x1,A,A,eth,0,1\n0x2,B,B,eth,0,1\n0x3,C,C,eth,0,1",
            ),
            (
                "fee_tiers",
                "dex_id,chain,tier,fee\ncheap,eth,0.01%,0.0001\ndeep,eth,1%,0.01",
            ),
            (
                "pools",
                "address,dex_id,chain,token0,token1,liquidity\n0xb1,cheap,eth,0x1,0x2,20000\n0xb2,deep,eth,0x1,0x2,2000000\n0xb3,none,eth,0x1,0x2,9000000",
            ),
        ]);
        let path = [(
            "token_address",
            "0x0000000000000000000000000000000000000001",
        )];
        let order = |query: &str| {
            let answer = answered::<PoolsQuery>(&snapshot, &path, query).expect("an answer");
            let last = |address: &Address| address.0[19];
            (
                answer
                    .pools
                    .iter()
                    .map(|pool| last(&pool.address))
                    .collect::<Vec<_>>(),
                answer.best.map(|best| last(&best.address)),
            )
        };
        // A small sale is cheapest where the fee is low, a large one where the pool is deep; a pool without a fee counts with its price
        // impact, but is never the best.
        assert_eq!(order("amount=10"), (vec![0xb3, 0xb1, 0xb2], Some(0xb1)));
        assert_eq!(order("amount=10000"), (vec![0xb3, 0xb2, 0xb1], Some(0xb2)));
        assert_eq!(
            order("amount=10000&sort=-liquidity&limit=1"),
            (vec![0xb3], Some(0xb2))
        );
        assert_eq!(
            order("amount=10000&where=dex:cheap"),
            (vec![0xb1], Some(0xb1))
        );
        assert!(answered::<PoolsQuery>(&snapshot, &path, "amount=0").is_err());
        assert!(
            answered::<PoolsQuery>(
                &snapshot,
                &[(
                    "token_address",
                    "0x0000000000000000000000000000000000000009"
                )],
                ""
            )
            .is_err()
        );
    }
}
