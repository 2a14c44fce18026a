//! Real facts of the demo market: tokens, exchanges, gas. Addresses, symbols, decimals, routers, factories and fee tiers are public (see
//! `SOURCES`); prices and supplies are right in order of magnitude only, and everything else is invented in other modules.

/// Sources of the facts, for the dataset's README.
pub(super) const SOURCES: &[(&str, &str)] = &[
    (
        "token addresses, symbols, names, decimals",
        "npm `@uniswap/default-token-list` 22.21.0 and `@eth-optimism/tokenlist` 10.0.1757 (MIT); stETH, SHIB: brianleect/etherscan-labels (MIT); CAKE: npm `@pancakeswap/tokens` 0.9.1 (MIT)",
    ),
    ("Uniswap routers and factories", "npm `@uniswap/sdk-core` 7.19.4 (MIT); v4's factory is its PoolManager"),
    ("Uniswap v3 fee tiers", "npm `@uniswap/v3-sdk` 3.31.5 (MIT)"),
    (
        "PancakeSwap routers, factories, fee tiers",
        "npm `@pancakeswap/v2-sdk` 1.2.2, `@pancakeswap/v3-sdk` 3.10.2, `@pancakeswap/smart-router` 7.7.3 (MIT)",
    ),
    ("SushiSwap routers, factories, fee tiers", "npm `@sushiswap/core-sdk` 0.1.2 (MIT)"),
    ("chain ids and short names", "ethereum-lists/chains (MIT)"),
];

/// An existing token.
pub(super) struct RealToken {
    pub(super) symbol: &'static str,
    pub(super) name: &'static str,
    /// One row of `tokens` per chain.
    pub(super) chains: &'static [&'static str],
    pub(super) address: &'static str,
    pub(super) decimals: i64,
    /// USD at the end of the demo's time; order of magnitude, not a quotation.
    pub(super) price: f64,
    /// Whole tokens; order of magnitude.
    pub(super) supply: f64,
    /// Tokens of one asset share a price path.
    pub(super) asset: &'static str,
}

const fn token(
    symbol: &'static str,
    name: &'static str,
    chains: &'static [&'static str],
    address: &'static str,
    (decimals, price, supply, asset): (i64, f64, f64, &'static str),
) -> RealToken {
    RealToken { symbol, name, chains, address, decimals, price, supply, asset }
}

/// The asset of tokens pegged to the dollar.
pub(super) const DOLLAR: &str = "usd";

/// Ordered by market rank: the first ten have hourly candles.
pub(super) const TOKENS: &[RealToken] = &[
    token("WETH", "Wrapped Ether", &["eth"], "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2", (18, 3_412.5, 2.6e6, "eth")),
    token("WBTC", "Wrapped BTC", &["eth"], "0x2260fac5e5542a773aa44fbcfedf7c193bc2c599", (8, 59_870.0, 128e3, "btc")),
    token("UNI", "Uniswap", &["eth"], "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984", (18, 7.92, 1e9, "uni")),
    token("USDC", "USD Coin", &["eth"], "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", (6, 1.0, 42e9, DOLLAR)),
    token("LINK", "Chainlink", &["eth"], "0x514910771af9ca656af840dff83e8264ecf986ca", (18, 16.4, 1e9, "link")),
    token("AERO", "Aerodrome Finance", &["base"], "0x940181a94a35a4569e4529a3cdfb74e38fd98631", (18, 1.13, 1.6e9, "aero")),
    token("ARB", "Arbitrum", &["arb1"], "0x912ce59144191c1204e64559fe8253a0e49e6548", (18, 0.487, 1e10, "arb")),
    token("PEPE", "Pepe", &["eth"], "0x6982508145454ce325ddbe47a25d4ec3d2311933", (18, 8.31e-6, 420.69e12, "pepe")),
    token("WBNB", "Wrapped BNB", &["bnb"], "0xbb4cdb9cbd36b01bd1cbaebf2de08d9173bc095c", (18, 884.0, 1.5e6, "bnb")),
    token("OP", "Optimism", &["oeth"], "0x4200000000000000000000000000000000000042", (18, 0.742, 4.29e9, "op")),
    token("USDT", "Tether USD", &["eth"], "0xdac17f958d2ee523a2206206994597c13d831ec7", (6, 1.0, 96e9, DOLLAR)),
    token("DAI", "Dai Stablecoin", &["eth"], "0x6b175474e89094c44da98b954eedeac495271d0f", (18, 1.0, 4.4e9, DOLLAR)),
    token("AAVE", "Aave Token", &["eth"], "0x7fc66500c84a76ad7e9c93437bfc5ac33e2ddae9", (18, 214.6, 16e6, "aave")),
    token("WETH", "Wrapped Ether", &["base", "oeth"], "0x4200000000000000000000000000000000000006", (18, 3_412.5, 310e3, "eth")),
    token("WMATIC", "Wrapped Matic", &["pol"], "0x0d500b1d8e8ef31e21c99d1db9a6444d3adf1270", (18, 0.218, 180e6, "pol")),
    token("stETH", "stETH", &["eth"], "0xae7ab96520de3a18e5e111b5eaab095312d7fe84", (18, 3_409.8, 8.7e6, "eth")),
    token("LDO", "Lido DAO Token", &["eth"], "0x5a98fcbea516cf06857215779fd812ca3bef1b32", (18, 0.934, 1e9, "ldo")),
    token("MKR", "Maker", &["eth"], "0x9f8f72aa9304c8b593d555f12ef6589cc3a579a2", (18, 1_642.0, 0.88e6, "mkr")),
    token("CRV", "Curve DAO Token", &["eth"], "0xd533a949740bb3306d119cc777fa900ba034cd52", (18, 0.583, 2.3e9, "crv")),
    token("SHIB", "SHIBA INU", &["eth"], "0x95ad61b0a150d79219dcf64e1e6cc01f0b64c4ce", (18, 1.07e-5, 589.5e12, "shib")),
    token("COMP", "Compound", &["eth"], "0xc00e94cb662c3520282e6f5717214004a7f26888", (18, 41.7, 10e6, "comp")),
    token("SNX", "Synthetix", &["eth"], "0xc011a73ee8576fb46f5e1c5751ca3b9fe0af2a6f", (18, 0.871, 339e6, "snx")),
    token("ENS", "Ethereum Name Service", &["eth"], "0xc18360217d8f7ab5e7c516566761ea12ce7f9d72", (18, 18.3, 100e6, "ens")),
    token("GRT", "Graph Token", &["eth"], "0xc944e90c64b2c07662a292be6244bdf05cda44a7", (18, 0.0782, 10.8e9, "grt")),
    token("cbETH", "Coinbase Wrapped Staked ETH", &["base"], "0x2ae3f1ec7f1f5012cfeab0185bfc7aa3cf0dec22", (18, 3_758.0, 120e3, "eth")),
    token("rETH", "Rocket Pool ETH", &["eth"], "0xae78736cd615f374d3085123a210448e74fc6393", (18, 3_921.0, 390e3, "eth")),
    token("PENDLE", "Pendle", &["eth"], "0x808507121b80c02388fad14726482e061b8da827", (18, 3.28, 281.5e6, "pendle")),
    token("ENA", "Ethena", &["eth"], "0x57e114b691db790c35207b2e685d4a43181e6061", (18, 0.374, 15e9, "ena")),
    token("ONDO", "Ondo Finance", &["eth"], "0xfaba6f8e4a5e8ab82f62fe7c39859fa577269be3", (18, 0.762, 1e10, "ondo")),
    token("USDC", "USD Coin", &["base"], "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913", (6, 1.0, 3.9e9, DOLLAR)),
    token("USDC", "USD Coin", &["arb1"], "0xaf88d065e77c8cc2239327c5edb3a432268e5831", (6, 1.0, 5.1e9, DOLLAR)),
    token("WETH", "Wrapped Ether", &["arb1"], "0x82af49447d8a07e3bd95bd0d56f35241523fbab1", (18, 3_412.5, 290e3, "eth")),
    token("GMX", "GMX", &["arb1"], "0xfc5a1a6eb076a2c7ad06ed22c90d7e710e35ad0a", (18, 14.9, 10.3e6, "gmx")),
    token("USDT", "Tether USD", &["bnb"], "0x55d398326f99059ff775485246999027b3197955", (18, 1.0, 7.4e9, DOLLAR)),
    token("USDC", "USD Coin", &["bnb"], "0x8ac76a51cc950d9822d68b83fe1ad97b32cd580d", (18, 1.0, 1.1e9, DOLLAR)),
    token("USDC", "USD Coin", &["oeth"], "0x0b2c639c533813f4aa9d7837caf62653d097ff85", (6, 1.0, 0.48e9, DOLLAR)),
    token("USDC", "USD Coin", &["pol"], "0x3c499c542cef5e3811e1192ce70d8cc03d5c3359", (6, 1.0, 0.62e9, DOLLAR)),
    token("VELO", "Velodrome Finance", &["oeth"], "0x9560e827af36c94d2ac33a39bce1fe78631088db", (18, 0.0514, 2.4e9, "velo")),
    token("cbBTC", "Coinbase Wrapped BTC", &["base"], "0xcbb7c0000ab88b473b1f5afd9ef808440eed33bf", (8, 59_905.0, 21e3, "btc")),
    token("CAKE", "PancakeSwap Token", &["bnb"], "0x0e09fabb73bd3ade0a17ecc321fd13a19e81ce82", (18, 2.64, 350e6, "cake")),
    token("DEGEN", "Degen", &["base"], "0x4ed4e862860bed51a9570b96d89af5e1b0efefed", (18, 0.003_47, 36.9e9, "degen")),
];

/// An exchange deployment with its fees in parts per million.
pub(super) struct Dex {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) version: &'static str,
    pub(super) chain: &'static str,
    /// Empty if it has none.
    pub(super) router: &'static str,
    pub(super) factory: &'static str,
    pub(super) fees_ppm: &'static [u32],
}

macro_rules! dexes {
    ($($id:literal $name:literal $version:literal $fees:tt { $($chain:literal $router:literal $factory:literal $([$($own:literal),*])?;)* })*) => {
        &[$($(Dex { id: $id, name: $name, version: $version, chain: $chain, router: $router, factory: $factory, fees_ppm: dexes!(@ $fees $([$($own),*])?) },)*)*]
    };
    (@ $fees:tt) => { &$fees };
    (@ $fees:tt $own:tt) => { &$own };
}

/// A deployment with its own fee tiers lists them; the others use the exchange's.
pub(super) const DEXES: &[Dex] = dexes! {
    "uniswap-v3" "Uniswap" "v3" [100, 500, 3000, 10000] {
        "eth" "0x68b3465833fb72a70ecdf485e0e4c7bd8665fc45" "0x1f98431c8ad98523631ae4a59f267346ea31f984";
        "oeth" "0x68b3465833fb72a70ecdf485e0e4c7bd8665fc45" "0x1f98431c8ad98523631ae4a59f267346ea31f984";
        "bnb" "0xb971ef87ede563556b2ed4b1c0b0019111dd85d2" "0xdb1d10011ad0ff90774d0c6bb92e5c5c8b4461f7";
        "pol" "0x68b3465833fb72a70ecdf485e0e4c7bd8665fc45" "0x1f98431c8ad98523631ae4a59f267346ea31f984";
        "base" "0x2626664c2603336e57b271c5c0b26f421741e481" "0x33128a8fc17869897dce68ed026d694621f6fdfd" [100, 200, 300, 400, 500, 3000, 10000];
        "arb1" "0x68b3465833fb72a70ecdf485e0e4c7bd8665fc45" "0x1f98431c8ad98523631ae4a59f267346ea31f984";
    }
    "uniswap-v2" "Uniswap" "v2" [3000] {
        "eth" "0x7a250d5630b4cf539739df2c5dacb4c659f2488d" "0x5c69bee701ef814a2b6a3edd4b1652cb9cc5aa6f";
        "oeth" "0x4a7b5da61326a6379179b40d00f57e5bbdc962c2" "0x0c3c1c532f1e39edf36be9fe0be1410313e074bf";
        "bnb" "0x4752ba5dbc23f44d87826276bf6fd6b1c372ad24" "0x8909dc15e40173ff4699343b6eb8132c65e18ec6";
        "pol" "0xedf6066a2b290c185783862c7f4776a2c8077ad1" "0x9e5a52f57b3038f1b8eee45f28b3c1967e22799c";
        "base" "0x4752ba5dbc23f44d87826276bf6fd6b1c372ad24" "0x8909dc15e40173ff4699343b6eb8132c65e18ec6";
        "arb1" "0x4752ba5dbc23f44d87826276bf6fd6b1c372ad24" "0xf1d7cc64fb4452f05c498126312ebe29f30fbcf9";
    }
    "uniswap-v4" "Uniswap" "v4" [] {
        "eth" "" "0x000000000004444c5dc75cb358380d2e3de08a90";
        "oeth" "" "0x9a13f98cb987694c9f086b1f5eb990eea8264ec3";
        "bnb" "" "0x28e2ea090877bf75740558f6bfb36a5ffee9e9df";
        "pol" "" "0x67366782805870060151383f4bbff9dab53e5cd6";
        "base" "" "0x498581ff718922c3f8e6a244956af099b2652b2b";
        "arb1" "" "0x360e68faccca8ca495c1b759fd9eee466db9fb32";
    }
    "sushiswap-v2" "SushiSwap" "v2" [3000] {
        "eth" "0xd9e1ce17f2641f24ae83637ab66a2cca9c378b9f" "0xc0aee478e3658e2610c5f7a4a2e1777ce9e4f2ac";
        "bnb" "0x1b02da8cb0d097eb8d57a175b88c7d8b47997506" "0xc35dadb65012ec5796536bd9864ed8773abc74c4";
        "pol" "0x1b02da8cb0d097eb8d57a175b88c7d8b47997506" "0xc35dadb65012ec5796536bd9864ed8773abc74c4";
        "arb1" "0x1b02da8cb0d097eb8d57a175b88c7d8b47997506" "0xc35dadb65012ec5796536bd9864ed8773abc74c4";
    }
    "pancakeswap-v2" "PancakeSwap" "v2" [2500] {
        "eth" "0xeff92a263d31888d860bd50809a8d171709b7b1c" "0x1097053fd2ea711dad45caccc45eff7548fcb362";
        "bnb" "0x10ed43c718714eb63d5aa57b78b54704e256024e" "0xca143ce32fe78f1f7019d7d551a6402fc5350c73";
        "base" "0x8cfe327cec66d1c090dd72bd0ff11d690c33a2eb" "0x02a84c1b3bbd7401a5f7fa98a384ebc70bb5749e";
        "arb1" "0x8cfe327cec66d1c090dd72bd0ff11d690c33a2eb" "0x02a84c1b3bbd7401a5f7fa98a384ebc70bb5749e";
    }
    "pancakeswap-v3" "PancakeSwap" "v3" [100, 500, 2500, 10000] {
        "eth" "0x13f4ea83d0bd40e75c8222255bc855a974568dd4" "0x0bfbcf9fa4f9c56b0f40a671ad40e0805a091865";
        "bnb" "0x13f4ea83d0bd40e75c8222255bc855a974568dd4" "0x0bfbcf9fa4f9c56b0f40a671ad40e0805a091865";
        "base" "0x678aa4bf4e210cf2166753e054d5b7c31cc7fa86" "0x0bfbcf9fa4f9c56b0f40a671ad40e0805a091865";
        "arb1" "0x32226588378236fd0c7c4053999f88ac0e5cac77" "0x0bfbcf9fa4f9c56b0f40a671ad40e0805a091865";
    }
};

/// A chain of the demo with its gas price in gwei (invented) and the asset of its native coin.
pub(super) struct Gas {
    pub(super) chain: &'static str,
    pub(super) gwei: f64,
    pub(super) asset: &'static str,
}

pub(super) const GAS: &[Gas] = &[
    Gas { chain: "eth", gwei: 1.84, asset: "eth" },
    Gas { chain: "base", gwei: 0.011, asset: "eth" },
    Gas { chain: "arb1", gwei: 0.023, asset: "eth" },
    Gas { chain: "oeth", gwei: 0.006, asset: "eth" },
    Gas { chain: "bnb", gwei: 0.12, asset: "bnb" },
    Gas { chain: "pol", gwei: 48.0, asset: "pol" },
];

#[cfg(test)]
mod tests {
    use super::*;
    use model::{address::Address, chain::Chain};

    #[test]
    fn every_address_and_chain_is_readable_and_no_token_occurs_twice() {
        let mut seen = std::collections::HashSet::new();
        for token in TOKENS {
            assert!(Address::parse(token.address).is_some() && seen.insert(token.address), "{}", token.symbol);
            assert!(token.chains.iter().all(|chain| GAS.iter().any(|gas| gas.chain == *chain)), "{}", token.symbol);
        }
        for dex in DEXES {
            assert!(Address::parse(dex.factory).is_some() && (dex.router.is_empty() || Address::parse(dex.router).is_some()), "{}", dex.id);
            assert!(Chain::known(dex.chain).is_some(), "{}", dex.chain);
        }
    }
}
