//! The wallet to allocate: each token of the request as a holding with its value, or excluded with a reason.

use std::collections::BTreeMap;

use ruint::aliases::U256;
use schemars::JsonSchema;
use serde::Serialize;

use super::amounts;
use crate::market::price;
use model::data::Data;
use model::{
    address::Address,
    chain::Chain,
    yield_rows::{NATIVE_DECIMALS, native_chains},
};

/// Reason why money is not allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "UnplacedReason")]
pub enum UnplacedReason {
    UnknownToken,
    ZeroAmount,
    NoPrice,
    NoDecimals,
    NoEligiblePool,
    GasExceedsYield,
    Limits,
    TinyAmount,
    HugeAmount,
}

impl UnplacedReason {
    /// Display text.
    pub fn phrase(self) -> &'static str {
        match self {
            Self::UnknownToken => "unknown token",
            Self::ZeroAmount => "zero amount",
            Self::NoPrice => "no price",
            Self::NoDecimals => "no decimals",
            Self::NoEligiblePool => "no eligible pool",
            Self::GasExceedsYield => "gas exceeds a year's yield",
            Self::Limits => "limits",
            Self::TinyAmount => "worth less than 1 USD; amounts are in base units",
            Self::HugeAmount => "worth more than 10^15 USD; amounts are in base units",
        }
    }
}

/// A token of the wallet.
#[derive(Debug, Clone, PartialEq)]
pub struct WalletToken {
    pub address: Address,
    pub symbol: Option<String>,
    pub amount: U256,
    /// Chain of its deposits: the first requested chain that the token is on.
    pub chain: Option<Chain>,
    pub decimals: Option<u32>,
    /// USD per token; `None` if `held` has the reason.
    pub price: Option<f64>,
    /// Reason why none of it can be allocated.
    pub held: Option<UnplacedReason>,
}

/// Maximum decimals, and maximum USD value: larger values must be mistakes.
const DECIMALS_MAX: i64 = 77;
const VALUE_MAX: f64 = 1e150;

impl WalletToken {
    /// Value of an amount of it in USD.
    pub fn value(&self, amount: U256) -> f64 {
        match (self.decimals, self.price) {
            (Some(decimals), Some(price)) => amounts::value(amount, decimals, price),
            _ => 0.0,
        }
    }

    /// An amount of it in whole tokens.
    pub fn in_tokens(&self, amount: U256) -> Option<String> {
        self.decimals
            .map(|decimals| amounts::in_tokens(amount, decimals))
    }
}

/// The requested tokens, sorted by address. Empty `chains` means all.
pub fn holdings(
    dataset: &dyn Data,
    tokens: &BTreeMap<Address, U256>,
    chains: &[Chain],
) -> Vec<WalletToken> {
    tokens
        .iter()
        .map(|(address, amount)| holding(dataset, *address, *amount, chains))
        .collect()
}

fn holding(dataset: &dyn Data, address: Address, amount: U256, chains: &[Chain]) -> WalletToken {
    let mut holding = WalletToken {
        address,
        symbol: None,
        amount,
        chain: None,
        decimals: None,
        price: None,
        held: Some(UnplacedReason::UnknownToken),
    };
    let Some(token) = dataset.token(&address) else {
        return holding;
    };
    holding.symbol.clone_from(&token.row.symbol);
    let native = native_chains(address);
    let on = if native.is_empty() {
        &token.chains
    } else {
        &native
    };
    holding.decimals = token
        .row
        .decimals
        .or((!native.is_empty()).then_some(NATIVE_DECIMALS))
        .filter(|decimals| (0..=DECIMALS_MAX).contains(decimals))
        .map(|decimals| decimals as u32);
    holding.chain = if chains.is_empty() {
        on.first().cloned()
    } else {
        chains.iter().find(|chain| on.contains(chain)).cloned()
    };
    holding.price = price(dataset, token).filter(|price| *price > 0.0);
    let value = holding.value(amount);
    holding.held = if amount.is_zero() {
        Some(UnplacedReason::ZeroAmount)
    } else if holding.decimals.is_none() {
        Some(UnplacedReason::NoDecimals)
    } else if holding.price.is_none() {
        Some(UnplacedReason::NoPrice)
    } else if value > VALUE_MAX {
        Some(UnplacedReason::HugeAmount)
    } else {
        None
    };
    holding
}
