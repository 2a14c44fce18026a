//! DEXes and pools of a token: one entry per DEX and chain. Pure.

pub mod sale;

use schemars::JsonSchema;
use serde::Serialize;

use super::numeric::{descending, known_sum};
use model::{
    address::Address,
    chain::Chain,
    data::Data,
    rows::{DexRow, PoolRow},
};

/// The DEXes with a pool of the token, by descending volume, then by name.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DexList {
    pub dexes: Vec<DexSummary>,
    /// With `explain`: why there can be no DEXes, naming the table that is missing or unusable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// The token's trading on one DEX and chain.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DexSummary {
    /// Identifier of the DEX in `/{contractAddress}/dexes/{dexId}`.
    pub dex_id: String,
    pub name: String,
    /// EIP-155 id as decimal text; null for a chain without one.
    pub chain_id: Option<String>,
    /// USD traded in 24 hours in the token's pools on this DEX; null when none is known.
    pub volume_24h: Option<f64>,
    /// Number of the token's pools on this DEX.
    pub pool_count: i64,
    /// With `explain`: total USD liquidity of the token's pools on this DEX; omitted when none is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub liquidity: Option<f64>,
    pub best_pool: BestPool,
}

/// The pool with the most liquidity.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BestPool {
    pub address: Address,
    pub pair: String,
    /// USD.
    pub liquidity: Option<f64>,
}

/// Details of one DEX on one chain.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DexDetail {
    pub name: String,
    /// EIP-155 id as decimal text; null for a chain without one.
    pub chain_id: Option<String>,
    pub version: Option<String>,
    pub router: Option<Address>,
    pub factory: Option<Address>,
    pub fee_structure: Vec<FeeTier>,
    /// Total value locked in the whole DEX, in USD.
    pub total_value_locked: Option<f64>,
    /// The token's pools on this DEX, most liquid first.
    pub pools: Vec<Pool>,
}

/// Trading fee of one tier.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FeeTier {
    pub tier: String,
    /// Fee as a fraction of the traded amount.
    pub fee: Option<f64>,
}

/// A liquidity pool.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Pool {
    pub address: Address,
    pub pair: String,
    /// USD.
    pub liquidity: Option<f64>,
    /// USD traded in 24 hours.
    #[serde(rename = "volume24h")]
    pub volume_24h: Option<f64>,
}

/// The token's pools on one DEX and chain, most liquid first.
struct Venue<'a> {
    slug: &'a str,
    chain: &'a Chain,
    pools: Vec<&'a PoolRow>,
}

pub fn list(dataset: &dyn Data, token: &Address) -> DexList {
    let venues = venues(dataset, token);
    let mut dexes: Vec<DexSummary> = venues
        .iter()
        .filter_map(|venue| {
            let best = venue.pools.first()?;
            Some(DexSummary {
                dex_id: dex_id(&venues, venue),
                name: venue_name(dataset, venue),
                chain_id: venue.chain.id().map(|id| id.to_string()),
                volume_24h: volume(venue),
                pool_count: venue.pools.len() as i64,
                liquidity: liquidity(venue),
                best_pool: BestPool {
                    address: best.address,
                    pair: pair(dataset, best),
                    liquidity: best.liquidity,
                },
            })
        })
        .collect();
    dexes.sort_by(|a, b| {
        descending(a.volume_24h, b.volume_24h)
            .then_with(|| a.name.cmp(&b.name))
            .then_with(|| a.dex_id.cmp(&b.dex_id))
    });
    DexList {
        dexes,
        missing: None,
    }
}

/// Returns the DEX of this token with the id `slug` or `slug-chain`, ignoring case. A bare slug that exists on several chains means the one
/// with the most liquidity.
pub fn detail(dataset: &dyn Data, token: &Address, id: &str) -> Option<DexDetail> {
    let venues = venues(dataset, token);
    let id = id.to_lowercase();
    let exact = venues.iter().find(|venue| dex_id(&venues, venue) == id);
    let venue = exact.or_else(|| {
        let mut named: Vec<&Venue<'_>> = venues
            .iter()
            .filter(|venue| venue.slug.to_lowercase() == id || full_id(venue) == id)
            .collect();
        named.sort_by(|a, b| descending(liquidity(a), liquidity(b)).then(a.chain.cmp(b.chain)));
        named.first().copied()
    })?;
    let row = dex_row(dataset, venue);
    Some(DexDetail {
        name: venue_name(dataset, venue),
        chain_id: venue.chain.id().map(|id| id.to_string()),
        version: row.and_then(|row| row.version.clone()),
        router: row.and_then(|row| row.router),
        factory: row.and_then(|row| row.factory),
        fee_structure: fees(dataset, venue),
        total_value_locked: row.and_then(|row| row.total_value_locked),
        pools: venue
            .pools
            .iter()
            .map(|pool| Pool {
                address: pool.address,
                pair: pair(dataset, pool),
                liquidity: pool.liquidity,
                volume_24h: pool.volume24h,
            })
            .collect(),
    })
}

fn venues<'a>(dataset: &'a dyn Data, token: &Address) -> Vec<Venue<'a>> {
    let mut pools: Vec<&PoolRow> = dataset.pools_of(token).collect();
    pools.sort_by(|a, b| {
        (a.dex_id.cmp(&b.dex_id))
            .then_with(|| a.chain.cmp(&b.chain))
            .then_with(|| descending(a.liquidity, b.liquidity))
            .then_with(|| descending(a.volume24h, b.volume24h))
            .then_with(|| a.address.cmp(&b.address))
    });
    let mut venues: Vec<Venue<'_>> = Vec::new();
    for pool in pools {
        match venues.last_mut() {
            Some(venue) if venue.slug == pool.dex_id && *venue.chain == pool.chain => {
                venue.pools.push(pool);
            }
            _ => venues.push(Venue {
                slug: &pool.dex_id,
                chain: &pool.chain,
                pools: vec![pool],
            }),
        }
    }
    venues
}

/// Returns the slug if the token has that DEX on only one chain, and `slug-chain` otherwise.
fn dex_id(venues: &[Venue<'_>], venue: &Venue<'_>) -> String {
    let chains = venues
        .iter()
        .filter(|other| other.slug == venue.slug)
        .count();
    if chains == 1 {
        venue.slug.to_lowercase()
    } else {
        full_id(venue)
    }
}

fn full_id(venue: &Venue<'_>) -> String {
    format!("{}-{}", venue.slug, venue.chain).to_lowercase()
}

fn dex_row<'a>(dataset: &'a dyn Data, venue: &Venue<'_>) -> Option<&'a DexRow> {
    dataset
        .dexes()
        .iter()
        .find(|row| row.dex_id == venue.slug && row.chain == *venue.chain)
}

/// Name of the DEX on that chain, or on any chain, or its slug.
fn venue_name(dataset: &dyn Data, venue: &Venue<'_>) -> String {
    let anywhere = || dataset.dexes().iter().find(|row| row.dex_id == venue.slug);
    let row = dex_row(dataset, venue).or_else(anywhere);
    row.and_then(|row| row.name.clone())
        .unwrap_or_else(|| venue.slug.to_owned())
}

fn volume(venue: &Venue<'_>) -> Option<f64> {
    known_sum(venue.pools.iter().map(|pool| pool.volume24h))
}

fn liquidity(venue: &Venue<'_>) -> Option<f64> {
    known_sum(venue.pools.iter().map(|pool| pool.liquidity))
}

/// Fee tiers of that chain, or the chain-independent ones.
fn fees(dataset: &dyn Data, venue: &Venue<'_>) -> Vec<FeeTier> {
    let of_dex = || {
        dataset
            .fee_tiers()
            .iter()
            .filter(|row| row.dex_id == venue.slug)
    };
    let here = of_dex().any(|row| row.chain.as_ref() == Some(venue.chain));
    of_dex()
        .filter(|row| {
            if here {
                row.chain.as_ref() == Some(venue.chain)
            } else {
                row.chain.is_none()
            }
        })
        // The loader names an unnamed tier by its fee, so a tier without a name has no fee either.
        .filter_map(|row| {
            Some(FeeTier {
                tier: row.tier.clone()?,
                fee: row.fee,
            })
        })
        .collect()
}

/// Pair label such as `A/B` or `A/B/C`: the dataset's text, or the token symbols, or short addresses.
fn pair(dataset: &dyn Data, pool: &PoolRow) -> String {
    let name = |address: &Address| {
        dataset
            .token(address)
            .and_then(|token| token.row.symbol.clone())
            .unwrap_or_else(|| address.short())
    };
    // `tokens` may hold a single distinct token; then both sides are shown.
    let tokens = if pool.tokens.len() > 1 {
        pool.tokens.as_slice()
    } else {
        &[pool.token0, pool.token1]
    };
    pool.pair
        .clone()
        .unwrap_or_else(|| tokens.iter().map(name).collect::<Vec<_>>().join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::sample;

    /// 0x1 trades on uniswap-v3 on two chains, on curve, and on a DEX without a row.
    fn dataset() -> load::Dataset {
        sample::dataset(&[
            (
                "tokens",
                "token_address,symbol,name,chain\n0x1,ONE,One,eth;base\n0x2,TWO,Two,eth\n0x3,,Nameless,eth\n0x4,ALONE,Alone,eth",
            ),
            (
                "dexes",
                "dex_id,name,chain,version,router,factory,total_value_locked
                 uniswap-v3,Uniswap V3,eth,3,0xaa,0xab,1000
                 uniswap-v3,Uniswap V3,base,3,,,
                 curve,Curve,arb1,1,,,5",
            ),
            (
                "fee_tiers",
                "dex_id,chain,tier,fee
                 uniswap-v3,,,0.003
                 uniswap-v3,,,0.0005
                 uniswap-v3,base,low,0.0001
                 uniswap-v3,base,unknown,
                 curve,,stable,0.0004",
            ),
            (
                "pools",
                "address,dex_id,chain,token0,token1,pair,liquidity,volume24h
                 0xb1,uniswap-v3,eth,0x1,0x2,,100,
                 0xb2,uniswap-v3,eth,0x3,0x1,,300,
                 0xb3,uniswap-v3,eth,0x1,0x9,ONE/OTHER,,7
                 0xc1,uniswap-v3,base,0x1,0x2,,900,5
                 0xd2,curve,eth,0x1,0x2,,,
                 0xd1,curve,eth,0x1,0x2,,,
                 0xe2,odd-dex,atlantis,0x1,0x2,,10,6
                 0xe1,odd-dex,atlantis,0x2,0x1,,10,6",
            ),
        ])
    }

    #[test]
    fn a_dex_is_listed_once_a_chain_by_volume_then_name() {
        let found: Vec<_> = list(&dataset(), &sample::address("0x1"))
            .dexes
            .into_iter()
            .map(|dex| {
                let (figures, best) = (
                    (dex.volume_24h, dex.pool_count, dex.liquidity),
                    dex.best_pool.address,
                );
                (
                    dex.dex_id,
                    dex.name,
                    dex.chain_id.unwrap_or_default(),
                    figures,
                    best,
                )
            })
            .collect();
        let expected = [
            (
                "odd-dex",
                "odd-dex",
                "",
                (Some(12.0), 2, Some(20.0)),
                "0xe1",
            ),
            // Unknown volumes are left out of the sum; unknown liquidity ranks last.
            (
                "uniswap-v3-eth",
                "Uniswap V3",
                "1",
                (Some(7.0), 3, Some(400.0)),
                "0xb2",
            ),
            (
                "uniswap-v3-base",
                "Uniswap V3",
                "8453",
                (Some(5.0), 1, Some(900.0)),
                "0xc1",
            ),
            // Nothing known: no volume, and the best pool is the one with the lowest address.
            ("curve", "Curve", "1", (None, 2, None), "0xd1"),
        ]
        .map(|(id, name, chain, figures, best)| {
            (
                id.to_owned(),
                name.to_owned(),
                chain.to_owned(),
                figures,
                sample::address(best),
            )
        });
        assert_eq!(found, expected);
        assert_eq!(list(&dataset(), &sample::address("0x4")).dexes, []);
    }

    #[test]
    fn an_id_names_one_dex_on_one_chain_in_any_letter_case() {
        let dataset = dataset();
        for (id, chain, pools) in [
            ("uniswap-v3-eth", Some("1"), 3),
            ("Uniswap-V3-BASE", Some("8453"), 1),
            // The bare slug: the chain with the most liquidity, 900 against 400.
            ("uniswap-v3", Some("8453"), 1),
            ("curve", Some("1"), 2),
            ("curve-eth", Some("1"), 2),
            ("odd-dex", None, 2),
        ] {
            let detail = detail(&dataset, &sample::address("0x1"), id).expect(id);
            assert_eq!(
                (detail.chain_id.as_deref(), detail.pools.len()),
                (chain, pools),
                "{id}"
            );
        }
        for (token, id) in [
            ("0x1", "uniswap"),
            ("0x1", "curve-arb1"),
            ("0x1", ""),
            ("0x4", "curve"),
            ("0x3", "uniswap-v3-base"),
        ] {
            assert_eq!(
                detail(&dataset, &sample::address(token), id),
                None,
                "{token} {id}"
            );
        }
    }

    #[test]
    fn fees_are_those_of_the_chain_else_those_of_every_chain() {
        let dataset = dataset();
        let tiers = |id| {
            let detail = detail(&dataset, &sample::address("0x1"), id).expect(id);
            detail
                .fee_structure
                .into_iter()
                .map(|tier| (tier.tier, tier.fee))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            tiers("uniswap-v3-eth"),
            [
                ("0.05%".to_owned(), Some(0.0005)),
                ("0.3%".to_owned(), Some(0.003))
            ]
        );
        assert_eq!(
            tiers("uniswap-v3-base"),
            [
                ("low".to_owned(), Some(0.0001)),
                ("unknown".to_owned(), None)
            ]
        );
        assert_eq!(tiers("odd-dex"), []);
    }

    #[test]
    fn what_is_not_known_of_a_dex_is_null_and_never_of_another_chain() {
        let dataset = dataset();
        let of = |id| detail(&dataset, &sample::address("0x1"), id).expect(id);
        assert_eq!(
            (
                of("uniswap-v3-eth").total_value_locked,
                of("uniswap-v3-eth").router
            ),
            (Some(1000.0), Some(sample::address("0xaa")))
        );
        assert_eq!(
            (
                of("uniswap-v3-base").total_value_locked,
                of("uniswap-v3-base").router
            ),
            (None, None)
        );
        // Its row is for another chain: only the name applies.
        assert_eq!(
            (
                of("curve").name.as_str(),
                of("curve").version,
                of("curve").total_value_locked
            ),
            ("Curve", None, None)
        );
    }

    #[test]
    fn a_pair_is_the_datasets_text_else_symbols_else_short_addresses() {
        let detail = detail(&dataset(), &sample::address("0x1"), "uniswap-v3-eth").expect("listed");
        let pairs: Vec<_> = detail.pools.iter().map(|pool| pool.pair.as_str()).collect();
        assert_eq!(pairs, ["0x0000…0003/ONE", "ONE/TWO", "ONE/OTHER"]);
    }

    #[test]
    fn a_pool_is_found_by_every_token_it_holds() {
        let tokens = "token_address,symbol,name,chain\n0x1,ONE,One,eth\n0x2,TWO,Two,eth\n0x3,THREE,Three,eth\n0x4,FOUR,Four,eth";
        for (header, first, all) in [
            ("token0,token1,tokens", "0x1,0x2", "0x1;0x2;0x3"),
            // token0 and token1 count even if `tokens` omits them.
            ("token0,token1,tokens", "0x1,0x2", "0x3"),
            // `tokens` alone is enough, too.
            ("tokens", "", "0x1;0x2;0x3"),
        ] {
            let all: Vec<String> = all
                .split(';')
                .map(|short| sample::address(short).to_string())
                .collect();
            let first = if first.is_empty() {
                String::new()
            } else {
                format!("{first},")
            };
            let pools = format!(
                "address,dex_id,chain,{header},liquidity,volume24h\n0xa,curve,eth,{first}{},100,7",
                all.join(";")
            );
            let dataset = sample::dataset(&[("tokens", tokens), ("pools", &pools)]);
            for token in ["0x1", "0x2", "0x3"] {
                let listed = list(&dataset, &sample::address(token)).dexes;
                let found: Vec<_> = listed
                    .iter()
                    .map(|dex| (dex.pool_count, dex.best_pool.pair.as_str(), dex.volume_24h))
                    .collect();
                assert_eq!(
                    found,
                    [(1, "ONE/TWO/THREE", Some(7.0))],
                    "{token} {header} {all:?}"
                );
                let detail = detail(&dataset, &sample::address(token), "curve").expect("listed");
                assert_eq!(detail.pools.len(), 1, "{token} {header}");
            }
            assert_eq!(list(&dataset, &sample::address("0x4")).dexes, []);
        }
    }
}
