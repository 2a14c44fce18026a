//! The table of exchanges that tokens are traded at: the one of the program, with a person's own rows. What is done with it is the affair of
//! the security analysis.

use std::sync::{Arc, LazyLock};

use crate::error::TextError;
use model::chain::Chain;

pub use security::code::live::Exchanges;

/// The program's own table.
pub fn built_in() -> Arc<Exchanges> {
    static TABLE: LazyLock<Arc<Exchanges>> = LazyLock::new(|| {
        let table = read(include_str!("../../exchanges.toml"));
        // A test reads it.
        Arc::new(table.unwrap_or_default())
    });
    Arc::clone(&TABLE)
}

/// The program's table with the rows of `text` before its own.
pub fn with_own(text: &str) -> Result<Arc<Exchanges>, TextError> {
    let mut own = read(text)?;
    let table = built_in();
    own.quotes.extend(table.quotes.iter().cloned());
    own.exchanges.extend(table.exchanges.iter().cloned());
    Ok(Arc::new(own))
}

fn read(text: &str) -> Result<Exchanges, TextError> {
    let line = |at: usize| text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
    let told = |error: toml::de::Error| TextError::Toml {
        line: error.span().map_or(1, |span| line(span.start)),
        message: error.message().to_owned(),
    };
    let mut table: Exchanges = toml::from_str(text).map_err(told)?;
    for (chain, name) in table
        .quotes
        .iter_mut()
        .map(|row| (&mut row.chain, row.symbol.clone()))
        .chain(
            table
                .exchanges
                .iter_mut()
                .map(|row| (&mut row.chain, row.name.clone())),
        )
    {
        let known = Chain::known(chain).ok_or_else(|| TextError::UnknownChain {
            chain: chain.clone(),
            name,
        })?;
        known.as_str().clone_into(chain);
    }
    if let Some(row) = table
        .quotes
        .iter()
        .find(|row| !(row.worth.is_finite() && row.worth > 0.0))
    {
        return Err(TextError::Worth {
            symbol: row.symbol.clone(),
            worth: row.worth,
        });
    }
    if let Some(row) = table
        .exchanges
        .iter()
        .find(|row| row.fees.is_empty() || row.fees.iter().any(|fee| *fee >= FEE_END))
    {
        return Err(TextError::Fees {
            name: row.name.clone(),
            fees: row.fees.clone(),
        });
    }
    Ok(table)
}

/// A fee is less than this many millionths.
const FEE_END: u32 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use security::code::live::PoolKind;

    /// Pools that stand on the chains: chain, exchange, the two coins, fee, and the address that explorers show.
    const POOLS: &[(&str, &str, &str, &str, u32, &str)] = &[
        (
            "eth",
            "uniswap-v2",
            "WETH",
            "USDC",
            3000,
            "0xB4e16d0168e52d35CaCD2c6185b44281Ec28C9Dc",
        ),
        (
            "eth",
            "uniswap-v3",
            "WETH",
            "USDC",
            500,
            "0x88e6A0c2dDD26FEEb64F039a2c41296FcB3f5640",
        ),
        (
            "eth",
            "sushiswap",
            "WETH",
            "USDC",
            3000,
            "0x397FF1542f962076d0BFE58eA045FfA2d347ACa0",
        ),
        (
            "bnb",
            "pancakeswap-v2",
            "WBNB",
            "USDT",
            2500,
            "0x16b9a82891338f9bA80E2D6970FddA79D1eb0daE",
        ),
        (
            "bnb",
            "pancakeswap-v3",
            "WBNB",
            "USDT",
            500,
            "0x36696169C63e42cd08ce11f5deeBbCeBae652050",
        ),
        (
            "pol",
            "quickswap",
            "WPOL",
            "USDC.e",
            3000,
            "0x6e7a5FAFcec6BB1e78bAE2A1F0B612012BF14827",
        ),
        (
            "pol",
            "uniswap-v3",
            "WPOL",
            "USDC.e",
            500,
            "0xA374094527e1673A86dE625aa59517c5dE346d32",
        ),
        (
            "base",
            "uniswap-v2",
            "WETH",
            "USDC",
            3000,
            "0x88A43bbDF9D098eEC7bCEda4e2494615dfD9bB9C",
        ),
        (
            "base",
            "uniswap-v3",
            "WETH",
            "USDC",
            500,
            "0xd0b53D9277642d899DF5C87A3966A349A798F224",
        ),
        (
            "arb1",
            "uniswap-v3",
            "WETH",
            "USDC",
            500,
            "0xC6962004f452bE9203591991D15f6b388e09E8D0",
        ),
        (
            "arb1",
            "sushiswap",
            "WETH",
            "USDC.e",
            3000,
            "0x905dfCD5649217c42684f23958568e533C711Aa3",
        ),
    ];

    #[test]
    fn every_exchange_leads_to_a_pool_that_is_known() {
        let bridged = "[[quote]]\nchain = \"arb1\"\nsymbol = \"USDC.e\"\naddress = \"0xFF970A61A04b1cA14834A43f5dE4533eBDDB5CC8\"\n\
                       decimals = 6\nbalance_slot = 51\nworth = 1.0\n";
        let table = with_own(bridged).expect("a table");
        for exchange in table
            .exchanges
            .iter()
            .filter(|exchange| exchange.kind != PoolKind::V4)
        {
            let (name, chain) = (&exchange.name, &exchange.chain);
            let row = POOLS
                .iter()
                .find(|row| (row.0, row.1) == (chain, name))
                .unwrap_or_else(|| panic!("{chain} {name} has no pool"));
            let coin = |symbol: &str| {
                table
                    .quotes
                    .iter()
                    .find(|quote| quote.chain == *chain && quote.symbol == symbol)
                    .expect("a coin")
            };
            assert!(exchange.fees.contains(&row.4), "{chain} {name}");
            let pool = exchange
                .pool(coin(row.2).address, coin(row.3).address, row.4)
                .to_string();
            assert!(pool.eq_ignore_ascii_case(row.5), "{chain} {name}: {pool}");
        }
    }

    #[test]
    fn a_pool_of_many_in_one_contract_is_known_by_the_hash_of_its_key() {
        // The pool of ETH and USDC at 0.05 % of Uniswap V4, as its explorers show it.
        let table = with_own("").expect("a table");
        let exchange = table
            .exchanges
            .iter()
            .find(|exchange| exchange.kind == PoolKind::V4)
            .expect("an exchange");
        let usdc = table
            .quotes
            .iter()
            .find(|quote| quote.chain == "eth" && quote.symbol == "USDC")
            .expect("a coin")
            .address;
        let weth = table
            .quotes
            .iter()
            .find(|quote| quote.chain == "eth" && quote.native)
            .expect("a coin");
        let id = exchange.pool_id(usdc, weth, 1).expect("a pool").to_string();
        assert_eq!(
            id,
            "0x21c67e77068de97969ba93d4aab21826d33ca12bb9f565d8496e8fda8a82ca27"
        );
    }

    #[test]
    fn a_row_is_held_against_what_it_may_be() {
        let quote = |chain: &str, worth: &str| {
            let address = "0x4200000000000000000000000000000000000006";
            let row = format!(
                "symbol = \"W\"\naddress = \"{address}\"\ndecimals = 18\nbalance_slot = 3\nworth = {worth}"
            );
            format!("[[quote]]\nchain = \"{chain}\"\n{row}")
        };
        for (text, says) in [
            (quote("etherium", "1.0"), "is not a known chain"),
            (quote("eth", "nan"), "`worth` of `W`"),
            (quote("eth", "-1.0"), "`worth`"),
        ] {
            let reason = with_own(&text).expect_err("no table").to_string();
            assert!(reason.contains(says), "{reason}");
        }
        assert_eq!(
            with_own(&quote("ethereum", "1.0")).map(|table| table.quotes[0].chain.clone()),
            Ok("eth".to_owned())
        );
    }

    #[test]
    fn a_row_that_is_none_is_named() {
        for (text, says) in [
            ("[[exchange]]\nchain = \"eth\"", "missing field"),
            ("[[quotes]]", "unknown field `quotes`"),
            ("\n[", "line 2: "),
        ] {
            let reason = with_own(text).expect_err("no table").to_string();
            assert!(reason.contains(says), "{reason}");
        }
    }
}
