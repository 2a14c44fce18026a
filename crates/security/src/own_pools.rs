//! A token's own pools, whose events are informative about it: those in which it is the traded (base) token, not the means of payment. No
//! check is implemented here.

use std::collections::HashSet;

use analysis::numeric::known_sum;
use model::data::Data;
use model::{address::Address, rows::PoolRow};

/// Minimum share of the token's known liquidity for a pool to be informative.
const SHARE_MIN: f64 = 0.20;
/// Stablecoins and wrapped coins by symbol. A symbol alone proves nothing: see `foremost`.
const STABLECOINS: &[&str] = &[
    "USDT", "USDC", "USDC.E", "USDBC", "DAI", "XDAI", "WXDAI", "BUSD", "TUSD", "USDP", "GUSD",
    "FDUSD", "PYUSD", "USDD", "USDE", "USDS", "SUSD", "FRAX", "LUSD", "MIM", "GHO", "CRVUSD",
    "EURC", "EURS", "EURT", "AXLUSDC", "USDT0",
];
const WRAPPED: &[&str] = &[
    "WETH", "WBNB", "WMATIC", "WPOL", "WAVAX", "WFTM", "WS", "WCRO", "WONE", "WGLMR", "WKLAY",
    "WROSE", "WMNT", "WSEI", "WCELO", "WBTC", "BTCB", "CBBTC", "WETH.E", "WBTC.E",
];

/// A token's pools, by its side.
#[derive(Debug, Default)]
pub struct OwnPools {
    /// Pools with the token as the base side: those large enough to be informative first, each group by descending liquidity.
    pub own: Vec<Address>,
    /// Number of pools large enough. Liquidity may have moved to the others.
    pub informative: usize,
    /// Pools with the token as the quote side.
    pub quoted: HashSet<Address>,
}

impl OwnPools {
    pub fn new(dataset: &dyn Data, token: &Address) -> Self {
        let mut rows: Vec<&PoolRow> = dataset.pools_of(token).collect();
        rows.sort_by(|a, b| {
            let worth = |pool: &PoolRow| liquidity(pool).unwrap_or(-1.0);
            worth(b)
                .total_cmp(&worth(a))
                .then(a.address.cmp(&b.address))
        });
        let known = known_liquidity(dataset, token).unwrap_or_default();
        let rank = Rank::of(dataset, token);
        // A token unknown to the dataset never counts as the base side: nobody could ask about it.
        let traded =
            |other: &Address| dataset.token(other).is_some() && rank > Rank::of(dataset, other);
        let quoted: HashSet<Address> = rows
            .iter()
            .filter(|pool| traded(other(pool, token)))
            .map(|pool| pool.address)
            .collect();
        rows.retain(|pool| !quoted.contains(&pool.address));
        // Unknown liquidity may be all there is.
        let large = |pool: &PoolRow| liquidity(pool).is_none_or(|usd| usd >= SHARE_MIN * known);
        // If liquidity is spread so thin that no pool reaches the minimum, the largest counts.
        let informative = rows
            .iter()
            .enumerate()
            .map(|(place, pool)| place == 0 || large(pool))
            .collect::<Vec<_>>();
        let of = |wanted: bool| {
            rows.iter()
                .zip(&informative)
                .filter(move |(_, tells)| **tells == wanted)
                .map(|(pool, _)| pool.address)
        };
        Self {
            own: of(true).chain(of(false)).collect(),
            informative: informative.iter().filter(|tells| **tells).count(),
            quoted,
        }
    }
}

/// Known USD liquidity of the token's pools.
pub fn known_liquidity(dataset: &dyn Data, token: &Address) -> Option<f64> {
    known_sum(dataset.pools_of(token).map(liquidity))
}

fn liquidity(pool: &PoolRow) -> Option<f64> {
    pool.liquidity.filter(|usd| usd.is_finite())
}

fn other<'a>(pool: &'a PoolRow, token: &Address) -> &'a Address {
    if pool.token0 == *token {
        &pool.token1
    } else {
        &pool.token0
    }
}

/// Rank of a token as a means of payment; the higher of two is the quote side. With equal ranks, the pool informs about both.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    stablecoin: bool,
    wrapped: bool,
    pools: usize,
}

impl Rank {
    fn of(dataset: &dyn Data, address: &Address) -> Self {
        let pools = dataset.pools_of(address).count();
        let token = dataset.token(address);
        let scam = dataset.scams().count(address) > 0;
        let symbol = token
            .and_then(|token| token.row.symbol.as_deref())
            .map(str::to_uppercase)
            .unwrap_or_default();
        let is = |symbols: &[&str]| {
            !scam
                && symbols.contains(&symbol.as_str())
                && foremost(dataset, address, &symbol, pools)
        };
        Self {
            stablecoin: is(STABLECOINS),
            wrapped: is(WRAPPED),
            pools,
        }
    }
}

/// Whether the token is a stablecoin: by its symbol, if it is the foremost of that symbol.
pub fn is_stablecoin(dataset: &dyn Data, token: &Address) -> bool {
    Rank::of(dataset, token).stablecoin
}

/// Whether a token may be the genuine one of its symbol: no other token of that symbol on its chains is in as many pools.
fn foremost(dataset: &dyn Data, address: &Address, symbol: &str, pools: usize) -> bool {
    let Some(token) = dataset.token(address) else {
        return false;
    };
    dataset
        .tokens()
        .iter()
        .filter(|other| other.row.token_address != *address)
        .all(|other| {
            let same = other
                .row
                .symbol
                .as_deref()
                .is_some_and(|of| of.eq_ignore_ascii_case(symbol));
            let beside = same
                && other
                    .chains
                    .iter()
                    .any(|chain| token.chains.contains(chain));
            !beside || dataset.pools_of(&other.row.token_address).count() < pools
        })
}
