//! Shape of the simulated trades in the response: the results of buying and selling a token in memory, on its chain's state. The simulation
//! itself is in `code::live`.

use schemars::JsonSchema;
use serde::Serialize;

use analysis::numeric::to_four_places;
use model::{address::Address, time::Time};

/// Trades simulated in memory on the on-chain state of one block; no transaction was sent.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Simulation {
    /// Number of the block.
    pub block: u64,
    /// Time of the block.
    pub timestamp: Time,
    /// The token's deepest pool; null if none is known.
    pub pool: Option<Address>,
    /// Name of the pool's exchange.
    pub dex: Option<String>,
    #[serde(flatten)]
    pub trades: SimulatedTrades,
    /// Number of round trips to the node for the state.
    pub requests: u32,
}

/// The trades; null for a trade that could not be simulated.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimulatedTrades {
    /// A buy of the tokens that are then sold. Null if buying fails, and an earlier buyer's tokens are sold instead.
    pub buy: Option<SimulatedTrade>,
    /// Why buying fails, if an earlier buyer's tokens are sold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buy_reason: Option<String>,
    /// A sell of half of them, some minutes later.
    pub sell: Option<SimulatedTrade>,
    /// A sell of the rest, in the next block.
    pub sell_rest: Option<SimulatedTrade>,
    /// A transfer of half of them to another wallet.
    pub transfer: Option<SimulatedTrade>,
    /// A sell of half of them, a day after the buy.
    pub sell_after_day: Option<SimulatedTrade>,
    /// A sell by a wallet that received the tokens by transfer.
    pub sell_received: Option<SimulatedTrade>,
    /// The largest buy that succeeded and whose tokens could be sold at once, as a share of the coins in the pool, 0 to 1; null if no buy of
    /// 2% or more did.
    pub largest_share: Option<f64>,
    /// Further sells: sooner and later, of other amounts, by other routes and other traders.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<SimulatedTrial>,
}

/// A further simulated sell, by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimulatedTrial {
    pub name: String,
    #[serde(flatten)]
    pub trade: SimulatedTrade,
}

/// Each trade in order: its field in the response, and its display name.
pub const TRADES: [(&str, &str); 6] = [
    ("buy", "buy"),
    ("sell", "sell half"),
    ("sellRest", "sell the rest"),
    ("sellAfterDay", "sell half after 1 day"),
    ("transfer", "transfer to another wallet"),
    ("sellReceived", "sell received tokens"),
];

impl SimulatedTrades {
    /// The simulated trades, first those of `TRADES`: each name, and its result.
    pub fn tried(&self) -> impl Iterator<Item = (&str, &SimulatedTrade)> {
        let all = [
            &self.buy,
            &self.sell,
            &self.sell_rest,
            &self.sell_after_day,
            &self.transfer,
            &self.sell_received,
        ];
        let own = TRADES
            .into_iter()
            .zip(all)
            .filter_map(|((_, name), trade)| Some((name, trade.as_ref()?)));
        own.chain(
            self.trials
                .iter()
                .map(|trial| (trial.name.as_str(), &trial.trade)),
        )
    }
}

/// One simulated trade.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimulatedTrade {
    pub ok: bool,
    /// Tax: the fraction of the tokens that did not arrive, 0 to 1; null if the trade failed.
    pub tax: Option<f64>,
    /// The amount received, as a fraction of the pool's quote before the trade; null if it quotes nothing.
    pub of_quote: Option<f64>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl SimulatedTrade {
    /// `received 97.0%`, or why it failed.
    pub fn outcome(&self) -> String {
        match (&self.reason, self.tax) {
            (Some(reason), _) => reason.clone(),
            (None, Some(tax)) => format!("received {:.1}%", (1.0 - tax) * 100.0),
            (None, None) if self.ok => "succeeds".to_owned(),
            (None, None) => "fails".to_owned(),
        }
    }

    pub(super) fn refused(reason: String) -> Self {
        Self {
            reason: Some(reason),
            ..Self::default()
        }
    }

    pub(super) fn through(tax: Option<f64>, of_quote: Option<f64>) -> Self {
        // More than was sent may arrive, where holders are paid a share.
        Self {
            ok: true,
            tax: tax.map(|tax| to_four_places(tax.clamp(0.0, 1.0))),
            of_quote: of_quote.map(to_four_places),
            reason: None,
        }
    }
}
