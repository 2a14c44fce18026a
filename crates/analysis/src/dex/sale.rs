//! Cost of selling a USD amount of a token in each of its pools: fee, price impact, proceeds. Pure.
//!
//! A pool of constant product x · y = k (Uniswap V2 whitepaper, 2020, 3.2.1) that holds tokens worth R on the side of the token pays, for an
//! amount A of which it keeps the fee f, R · a / (R + a) with a = A · (1 − f): its price is R / R, so both sides are worth as much. The
//! price impact is a / (R + a). R is the pool's last known reserve at the token's price, or an equal share of its liquidity: an estimate
//! for pools that concentrate liquidity, where a trade within the range costs less and one beyond it more.

use schemars::JsonSchema;
use serde::Serialize;

use super::{dex_id, dex_row, fees, pair, venue_name, venues};
use model::{
    address::Address,
    chain::Chain,
    data::Data,
    rows::{DexRow, PoolEventRow, PoolRow},
    time::{DAY_MS, Time},
};

/// Days of the trades that are counted.
const TRADES_DAYS: i64 = 30;

/// A pool of the token, and the cost of selling an amount in it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TokenPool {
    pub address: Address,
    /// As in `/{contractAddress}/dexes/{dexId}`.
    pub dex_id: String,
    pub dex: String,
    pub chain: Chain,
    pub pair: String,
    /// Fraction of the amount traded: the pool's fee, or the fee of a DEX with one tier; null if several are possible.
    pub fee: Option<f64>,
    /// USD.
    pub liquidity: Option<f64>,
    /// USD traded in 24 hours.
    pub volume24h: Option<f64>,
    /// Price impact: the fraction by which the sell lowers its own price, without the fee; null without price or liquidity.
    pub price_impact: Option<f64>,
    /// Proceeds in USD, after fee and price impact; null if either is null.
    pub proceeds: Option<f64>,
    /// Cost: the fraction of the amount lost to fee and price impact.
    pub loss: Option<f64>,
    /// Lowest possible cost: equal to `loss` if the fee is known, otherwise the cost at the lowest fee of the DEX's tiers, or without a fee if
    /// no tier is known; null without price or liquidity.
    pub loss_min: Option<f64>,
    /// Basis of the price impact: `reserves` of the pool, or `liquidity` (an estimate).
    pub basis: Option<&'static str>,
    /// Creation time of the pool, or its first mint if that is the first of its events.
    pub created_at: Option<Time>,
    /// Swaps per day over the last 30 days of the pool's events; null without swaps, or if the events span less than a day.
    pub trades_per_day: Option<f64>,
    /// USD of the token that the pool holds.
    #[serde(skip)]
    pub side: Option<f64>,
}

impl TokenPool {
    /// Whether the impact is computed from the liquidity alone.
    pub fn is_estimate(&self) -> bool {
        self.basis == Some(LIQUIDITY)
    }
}

const LIQUIDITY: &str = "liquidity";

/// The outcome of a sell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sale {
    pub price_impact: f64,
    pub proceeds: f64,
    pub loss: f64,
}

/// Sells tokens worth `amount` to a pool of constant product that holds tokens worth `side`, both above 0, for a `fee` of 0 to 1.
pub fn sell(amount: f64, side: f64, fee: f64) -> Option<Sale> {
    let kept = amount * (1.0 - fee);
    let (price_impact, proceeds) = (kept / (side + kept), side * (kept / (side + kept)));
    let sale = Sale {
        price_impact,
        proceeds,
        loss: 1.0 - proceeds / amount,
    };
    let fits =
        (side + kept).is_finite() && amount > 0.0 && side > 0.0 && (0.0..=1.0).contains(&fee);
    (fits
        && [sale.price_impact, sale.proceeds, sale.loss]
            .iter()
            .all(|figure| figure.is_finite()))
    .then_some(sale)
}

/// The token's pools, with a sell of `amount` USD in each.
pub fn pools(
    dataset: &dyn Data,
    token: &Address,
    price: Option<f64>,
    amount: f64,
) -> Vec<TokenPool> {
    let venues = venues(dataset, token);
    let decimals = dataset.token(token).and_then(|token| token.row.decimals);
    let mut pools = Vec::new();
    for venue in &venues {
        let tiers = fees(dataset, venue);
        let only_tier = if let [only] = tiers.as_slice() {
            only.fee
        } else {
            None
        };
        let is_product = dex_row(dataset, venue).is_some_and(is_product);
        let (id, dex) = (dex_id(&venues, venue), venue_name(dataset, venue));
        for pool in &venue.pools {
            let events = Events::of(dataset, pool);
            let reserve = events.reserve_of(pool, token).zip(decimals).zip(price);
            let reserve =
                reserve.map(|((raw, decimals), price)| raw / 10_f64.powi(decimals as i32) * price);
            let sides = pool.every_token().len().max(2) as f64;
            let of_reserves = reserve
                .filter(|side| *side > 0.0 && is_product)
                .map(|side| (side, "reserves"));
            let side = of_reserves.or_else(|| {
                Some((
                    pool.liquidity.filter(|liquidity| *liquidity > 0.0)? / sides,
                    LIQUIDITY,
                ))
            });
            let fee = pool
                .fee
                .or(only_tier)
                .filter(|fee| (0.0..=1.0).contains(fee));
            // Without a fee the impact is that of all of the amount.
            let sale = side.and_then(|(side, _)| sell(amount, side, fee.unwrap_or(0.0)));
            let whole = sale.filter(|_| fee.is_some());
            // A tier without a fee may be free.
            let cheapest = tiers
                .iter()
                .map(|tier| {
                    tier.fee
                        .filter(|fee| (0.0..=1.0).contains(fee))
                        .unwrap_or(0.0)
                })
                .reduce(f64::min);
            let least = fee.or(cheapest).unwrap_or(0.0);
            let at_least = side.and_then(|(side, _)| sell(amount, side, least));
            pools.push(TokenPool {
                address: pool.address,
                dex_id: id.clone(),
                dex: dex.clone(),
                chain: pool.chain.clone(),
                pair: pair(dataset, pool),
                fee,
                liquidity: pool.liquidity,
                volume24h: pool.volume24h,
                price_impact: sale.map(|sale| sale.price_impact),
                proceeds: whole.map(|sale| sale.proceeds),
                loss: whole.map(|sale| sale.loss),
                loss_min: at_least.map(|sale| sale.loss),
                basis: sale.and(side).map(|(_, basis)| basis),
                side: side.map(|(side, _)| side),
                created_at: pool
                    .created_at
                    .or_else(|| dataset.created_at(&pool.address))
                    .or(events.first.filter(|_| events.first_is_mint)),
                trades_per_day: events.trades_per_day(),
            });
        }
    }
    pools
}

/// A split raises the proceeds by at least this fraction of the amount; for less, a second transaction is not worth its gas.
const SPLIT_GAIN_MIN: f64 = 0.001;

/// A sell that is split over two pools.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SplitSale {
    /// The larger part first.
    pub parts: Vec<SplitPart>,
    /// Proceeds in USD of both parts.
    pub proceeds: f64,
    /// Cost: the fraction of the amount lost to fees and price impact.
    pub loss: f64,
}

/// The part of a sell that goes to one pool.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SplitPart {
    pub address: Address,
    pub dex_id: String,
    pub pair: String,
    /// USD value of the tokens sold in this pool.
    pub amount: f64,
    /// Fraction of the whole amount.
    pub share: f64,
    /// Basis of the price impact, as in the list of pools.
    pub basis: Option<&'static str>,
}

impl SplitSale {
    /// Whether a part is computed from liquidity alone.
    pub fn is_estimate(&self) -> bool {
        self.parts.iter().any(|part| part.basis == Some(LIQUIDITY))
    }
}

/// The split of `amount` over two pools of one chain with the highest proceeds; `None` if it brings hardly more than one pool. Gas is not
/// included.
pub fn split<'a>(pools: impl Iterator<Item = &'a TokenPool>, amount: f64) -> Option<SplitSale> {
    let pools: Vec<(&TokenPool, f64, f64)> = pools
        .filter_map(|pool| Some((pool, pool.side?, pool.fee.filter(|_| pool.loss.is_some())?)))
        .collect();
    let alone = pools
        .iter()
        .filter_map(|(pool, ..)| pool.proceeds)
        .fold(0.0, f64::max);
    let mut best: Option<(f64, [(&TokenPool, f64); 2])> = None;
    for (nth, &(one, side, fee)) in pools.iter().enumerate() {
        for &(other, other_side, other_fee) in &pools[nth + 1..] {
            if one.chain != other.chain {
                continue;
            }
            let Some(first) = first_part(amount, (side, fee), (other_side, other_fee)) else {
                continue;
            };
            let sold = [
                sell(first, side, fee),
                sell(amount - first, other_side, other_fee),
            ];
            let [Some(sold), Some(rest)] = sold else {
                continue;
            };
            let proceeds = sold.proceeds + rest.proceeds;
            if best.is_none_or(|(most, _)| proceeds > most) {
                best = Some((proceeds, [(one, first), (other, amount - first)]));
            }
        }
    }
    let (proceeds, mut parts) = best?;
    if parts[0].1 < parts[1].1 {
        parts.reverse();
    }
    let part = |(pool, sold): (&TokenPool, f64)| SplitPart {
        address: pool.address,
        dex_id: pool.dex_id.clone(),
        pair: pool.pair.clone(),
        amount: sold,
        share: sold / amount,
        basis: pool.basis,
    };
    (proceeds - alone >= SPLIT_GAIN_MIN * amount).then(|| SplitSale {
        parts: parts.into_iter().map(part).collect(),
        proceeds,
        loss: 1.0 - proceeds / amount,
    })
}

/// The part of `amount` that goes to `first`, so that the last unit brings the same in both pools, each given by its side R and its fee; `None`
/// if one pool gets all. A pool pays g · R² / (R + g · a)² for the last unit of a, with g = 1 − f, the derivative of the proceeds in `sell`.
/// It equals λ at a = R · (√(g / λ) − 1) / g; both parts sum to the amount at 1 / √λ = (A + Σ R / g) / Σ (R / √g) (Angeris, Chitra, Evans and
/// Boyd, Optimal routing for constant function market makers, 2022).
fn first_part(amount: f64, first: (f64, f64), second: (f64, f64)) -> Option<f64> {
    let sums = [first, second].map(|(side, fee)| {
        let rest = 1.0 - fee;
        (side / rest, side / rest.sqrt())
    });
    let level = (amount + sums[0].0 + sums[1].0) / (sums[0].1 + sums[1].1);
    let part = sums[0].1 * level - sums[0].0;
    (part > 0.0 && part < amount).then_some(part)
}

/// DEXes whose version 2 is Uniswap V2 with other fees, so that all of its pools have a constant product. Version 2 of other DEXes has weighted
/// pools, or stable pools with another curve.
const PRODUCT_FAMILIES: &[&str] = &[
    "uniswap",
    "sushi",
    "sushiswap",
    "pancakeswap",
    "quickswap",
    "apeswap",
    "biswap",
    "baseswap",
    "shibaswap",
    "spookyswap",
];

fn is_product(dex: &DexRow) -> bool {
    let version = dex
        .version
        .as_deref()
        .unwrap_or_default()
        .trim()
        .to_lowercase();
    let name: String = dex
        .name
        .as_deref()
        .unwrap_or(&dex.dex_id)
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect();
    let name = name.to_lowercase();
    version.trim_start_matches('v').parse() == Ok(2.0)
        && PRODUCT_FAMILIES.contains(&name.strip_suffix("v2").unwrap_or(&name))
}

/// Facts from a pool's events.
#[derive(Default)]
struct Events {
    first: Option<Time>,
    last: Option<Time>,
    first_is_mint: bool,
    /// The last event with reserves.
    reserves: Option<PoolEventRow>,
    swaps: Vec<Time>,
}

impl Events {
    fn of(dataset: &dyn Data, pool: &PoolRow) -> Self {
        let mut events = Self::default();
        for event in dataset.pool_events().chunks(&pool.address).flatten() {
            if events.first.is_none() {
                (events.first, events.first_is_mint) =
                    (Some(event.timestamp), event.kind.as_deref() == Some("mint"));
            }
            if event.kind.as_deref() == Some("swap") {
                events.swaps.push(event.timestamp);
            }
            events.last = Some(event.timestamp);
            if event.reserve0.is_some() {
                events.reserves = Some(event);
            }
        }
        events
    }

    fn reserve_of(&self, pool: &PoolRow, token: &Address) -> Option<f64> {
        let last = self.reserves.as_ref()?;
        let reserve = if pool.token0 == *token {
            last.reserve0
        } else {
            last.reserve1.filter(|_| pool.token1 == *token)
        };
        reserve.map(|reserve| reserve.0)
    }

    fn trades_per_day(&self) -> Option<f64> {
        let (first, last) = (self.first?, self.last.filter(|_| !self.swaps.is_empty())?);
        let days = ((last.0 - first.0) / DAY_MS).min(TRADES_DAYS);
        let from = last.0 - days * DAY_MS;
        (days > 0)
            .then(|| self.swaps.iter().filter(|time| time.0 > from).count() as f64 / days as f64)
    }
}

#[cfg(test)]
mod tests {
    use load::sample;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_sale_is_that_of_constant_product() {
        // By hand: 100 without a fee into 900 | 900: k = 810,000, 900 − 810,000 / 1,000 = 90.
        let sale = sell(100.0, 900.0, 0.0).expect("a sale");
        assert!(
            (sale.proceeds - 90.0).abs() < 1e-9
                && (sale.price_impact - 0.1).abs() < 1e-12
                && (sale.loss - 0.1).abs() < 1e-12
        );
        // A fee of a tenth: 90 come in, 900 − 810,000 / 990 = 81.81…
        let sale = sell(100.0, 900.0, 0.1).expect("a sale");
        assert!(
            (sale.proceeds - 900.0 * 90.0 / 990.0).abs() < 1e-9
                && (sale.loss - (1.0 - 9.0 * 9.0 / 99.0)).abs() < 1e-9
        );
        for (amount, side, fee) in [
            (0.0, 1.0, 0.0),
            (1.0, 0.0, 0.0),
            (1.0, 1.0, 1.1),
            (1.0, 1.0, -0.1),
            (f64::MAX, f64::MAX, 0.0),
        ] {
            assert_eq!(sell(amount, side, fee), None, "{amount} {side} {fee}");
        }
    }

    proptest! {
        #[test]
        fn no_other_split_of_two_pools_brings_more(
            amount in 1.0_f64..1e7,
            sides in [1e2_f64..1e8, 1e2_f64..1e8],
            fees in [0.0_f64..0.05, 0.0_f64..0.05],
            share in 0.0_f64..1.0,
        ) {
            let brings = |first: f64| {
                let part = |amount: f64, nth: usize| sell(amount, sides[nth], fees[nth]).map_or(0.0, |sale| sale.proceeds);
                part(first, 0) + part(amount - first, 1)
            };
            let found = first_part(amount, (sides[0], fees[0]), (sides[1], fees[1]));
            let most = found.map_or_else(|| brings(0.0).max(brings(amount)), brings);
            prop_assert!(most >= brings(share * amount) - 1e-9 * amount, "{found:?}");
        }
    }

    #[test]
    fn two_pools_share_a_sale_where_that_brings_more() {
        let pool = |last: u8, chain: &str, side: f64, fee: f64| {
            let sale = sell(1_000.0, side, fee);
            let mut address = Address([0; 20]);
            address.0[19] = last;
            TokenPool {
                address,
                dex_id: "dex".to_owned(),
                dex: "DEX".to_owned(),
                chain: Chain::known(chain).expect("a chain"),
                pair: "A/B".to_owned(),
                fee: Some(fee),
                liquidity: None,
                volume24h: None,
                price_impact: sale.map(|sale| sale.price_impact),
                proceeds: sale.map(|sale| sale.proceeds),
                loss: sale.map(|sale| sale.loss),
                loss_min: sale.map(|sale| sale.loss),
                basis: Some("reserves"),
                created_at: None,
                trades_per_day: None,
                side: Some(side),
            }
        };
        let shares = |pools: &[TokenPool]| {
            split(pools.iter(), 1_000.0).map(|split| {
                let shares = split
                    .parts
                    .iter()
                    .map(|part| (part.address.0[19], part.share));
                (shares.collect::<Vec<_>>(), split.proceeds)
            })
        };
        // By hand: equal pools get half each, and 500 into 9,500 brings 475 twice.
        let equal = [pool(1, "eth", 9_500.0, 0.0), pool(2, "eth", 9_500.0, 0.0)];
        let (parts, proceeds) = shares(&equal).expect("a split");
        assert!(
            parts.iter().all(|(_, share)| (share - 0.5).abs() < 1e-12)
                && (proceeds - 950.0).abs() < 1e-9
        );
        // A third, worse pool changes nothing, and the larger part is first.
        let three = [
            pool(1, "eth", 5_000.0, 0.0),
            pool(2, "eth", 9_500.0, 0.0),
            pool(3, "eth", 900.0, 0.01),
        ];
        let (parts, _) = shares(&three).expect("a split");
        assert_eq!(
            parts.iter().map(|(pool, _)| *pool).collect::<Vec<_>>(),
            [2, 1]
        );
        // Pools of two chains hold different tokens; a deep pool gains less than a thousandth.
        let apart = [pool(1, "eth", 9_500.0, 0.0), pool(2, "base", 9_500.0, 0.0)];
        let deep = [pool(1, "eth", 1e7, 0.0), pool(2, "eth", 1e7, 0.0)];
        assert_eq!(
            (shares(&apart), shares(&deep), shares(&equal[..1])),
            (None, None, None)
        );
    }

    #[test]
    fn more_sold_loses_more_and_a_deeper_pool_or_a_lower_fee_loses_less() {
        let sizes = [1.0, 10.0, 1e3, 1e5, 1e7, 1e9];
        for (side, fee) in sizes
            .iter()
            .flat_map(|side| [0.0, 0.0001, 0.003, 0.01].map(|fee| (*side, fee)))
        {
            let sales: Vec<Sale> = sizes
                .iter()
                .map(|amount| sell(*amount, side, fee).expect("a sale"))
                .collect();
            for (amount, sale) in sizes.iter().zip(&sales) {
                assert!(
                    sale.proceeds <= side
                        && sale.proceeds <= *amount
                        && (0.0..=1.0).contains(&sale.loss)
                        && sale.loss >= fee - 1e-12
                );
            }
            for pair in sales.windows(2) {
                assert!(
                    pair[0].price_impact < pair[1].price_impact
                        && pair[0].loss < pair[1].loss
                        && pair[0].proceeds < pair[1].proceeds
                );
            }
            for (amount, sale) in sizes.iter().zip(&sales) {
                let deeper = sell(*amount, side * 2.0, fee).expect("a sale");
                let dearer = sell(*amount, side, fee + 0.01).expect("a sale");
                assert!(
                    deeper.loss <= sale.loss && dearer.loss >= sale.loss,
                    "{amount} {side} {fee}"
                );
            }
        }
    }

    #[test]
    fn a_pool_is_sold_to_by_its_reserves_else_by_its_liquidity() {
        let dataset = sample::dataset(&[
            ("tokens", "token_address,symbol,name,chain,decimals\n0x1,ONE,One,eth,2\n0x2,TWO,Two,eth,0\n0x3,THREE,Three,eth,0"),
            ("dexes", "dex_id,name,chain,version\nold,Uniswap,eth,V2.0\nnew,New,eth,v3\nodd,Balancer,eth,v2"),
            ("fee_tiers", "dex_id,chain,tier,fee\nold,eth,0.3%,0.003\nodd,eth,0.3%,0.003\nnew,eth,0.05%,0.0005\nnew,eth,1%,0.01"),
            (
                "pools",
                "address,dex_id,chain,token0,token1,tokens,liquidity,volume24h,fee,created_at
                 0xb1,old,eth,0x1,0x2,,1800,,,2026-01-01T00:00:00Z
                 0xb2,new,eth,0x2,0x1,,1800,,,
                 0xb3,new,eth,0x2,0x1,,1800,,0.01,
                 0xb4,old,eth,0x1,0x2,0x0000000000000000000000000000000000000001;0x0000000000000000000000000000000000000002;0x0000000000000000000000000000000000000003,1800,,,
                 0xb5,old,eth,0x2,0x1,,,,,
                 0xb6,odd,eth,0x1,0x2,,1800,,,",
            ),
            (
                "pool_events",
                "pool,timestamp,block_number,kind,reserve0,reserve1
                 0xb1,2026-01-01T00:00:00Z,1,mint,10,10
                 0xb1,2026-01-02T00:00:00Z,2,sync,20000,1
                 0xb1,2026-01-03T00:00:00Z,3,sync,30000,7
                 0xb1,2026-01-03T00:00:00Z,3,swap,,
                 0xb1,2026-01-03T00:00:00Z,3,swap,,
                 0xb3,2026-01-03T00:00:00Z,3,mint,,
                 0xb4,2026-01-03T00:00:00Z,3,burn,,
                 0xb6,2026-01-01T00:00:00Z,1,swap,,
                 0xb6,2026-01-01T00:00:00Z,1,sync,30000,7
                 0xb6,2026-03-01T00:00:00Z,3,burn,,",
            ),
        ]);
        let token = dataset.tokens()[0].row.token_address;
        let sold = pools(&dataset, &token, Some(3.0), 100.0);
        let of = |number: u8| {
            sold.iter()
                .find(|pool| pool.address.0[19] == number)
                .expect("the pool")
        };
        // 300 whole tokens at 3 USD.
        let near = |found: Option<f64>, wanted: f64| {
            found.is_some_and(|found| (found - wanted).abs() < 1e-9)
        };
        assert!(
            near(of(0xb1).proceeds, 900.0 * 99.7 / 999.7) && of(0xb1).basis == Some("reserves")
        );
        assert_eq!(
            (
                of(0xb1)
                    .created_at
                    .map(|time| time.to_string()[..10].to_owned())
                    .as_deref(),
                of(0xb1).trades_per_day
            ),
            (Some("2026-01-01"), Some(1.0))
        );
        let made = |number: u8| {
            of(number)
                .created_at
                .map(|time| time.to_string()[..10].to_owned())
        };
        assert_eq!(
            (made(0xb3).as_deref(), made(0xb4), of(0xb3).trades_per_day),
            (Some("2026-01-03"), None, None)
        );
        // Weighted or stable pools of a version 2 are not of constant product: an estimate. Its swaps are older than the last 30 days.
        assert_eq!(
            (of(0xb6).basis, of(0xb6).trades_per_day),
            (Some("liquidity"), Some(0.0))
        );
        // One of two tiers: no fee, so no proceeds; the impact is that of the whole amount on half of the liquidity.
        assert_eq!(
            (
                of(0xb2).fee,
                of(0xb2).proceeds,
                of(0xb2).loss,
                of(0xb2).basis
            ),
            (None, None, None, Some("liquidity"))
        );
        assert!(near(of(0xb2).price_impact, 0.1));
        assert!(near(of(0xb3).proceeds, 900.0 * 99.0 / 999.0) && of(0xb3).fee == Some(0.01));
        // A third of the liquidity is the token's.
        assert!(near(of(0xb4).price_impact, 99.7 / 699.7));
        assert_eq!(
            (
                of(0xb5).price_impact,
                of(0xb5).basis,
                of(0xb5).fee,
                of(0xb5).created_at
            ),
            (None, None, Some(0.003), None)
        );
        // Without a price the reserves are worth nothing known.
        assert_eq!(
            pools(&dataset, &token, None, 100.0)
                .iter()
                .find(|pool| pool.address == of(0xb1).address)
                .and_then(|pool| pool.basis),
            Some("liquidity")
        );
    }
}
