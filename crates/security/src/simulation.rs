//! Shape of the simulated trades in the answer: what happened when a token was bought and sold in memory over the state of its chain. How it
//! is done is in `code::live`.

use schemars::JsonSchema;
use serde::Serialize;

use analysis::numeric::to_four_places;
use model::{address::Address, time::Time};

/// Trades over the state of the chain at one block, in memory: nothing was sent.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Simulation {
    /// Number of the block.
    pub block: u64,
    /// Time of the block.
    pub timestamp: Time,
    /// The deepest pool of the token; null if it has none that is known.
    pub pool: Option<Address>,
    /// Name of the pool's exchange.
    pub dex: Option<String>,
    #[serde(flatten)]
    pub trades: SimulatedTrades,
    /// Round trips to the node that the state took.
    pub requests: u32,
}

/// The trades; null for those that could not be tried.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimulatedTrades {
    /// The purchase of what is then sold. Null if nobody can buy, and the tokens of an earlier buyer are sold instead.
    pub buy: Option<SimulatedTrade>,
    /// Why nobody can buy, where the tokens of an earlier buyer are sold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buy_reason: Option<String>,
    /// A sale of half of it, some minutes later.
    pub sell: Option<SimulatedTrade>,
    /// A sale of the rest, in the next block.
    pub sell_rest: Option<SimulatedTrade>,
    /// A transfer of half of it to somebody else.
    pub transfer: Option<SimulatedTrade>,
    /// A sale of half of it, a day after the purchase.
    pub sell_after_day: Option<SimulatedTrade>,
    /// A sale by one who was sent the tokens.
    pub sell_received: Option<SimulatedTrade>,
    /// The largest purchase that went through and whose tokens were sold at once, as a share of the coins in the pool, 0 to 1; null if none
    /// of 2 % or more did.
    pub largest_share: Option<f64>,
    /// Further sales: sooner and later, of other amounts, by other routes and other people.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<SimulatedTrial>,
}

/// A sale that was tried besides, by its name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimulatedTrial {
    pub name: String,
    #[serde(flatten)]
    pub trade: SimulatedTrade,
}

/// Each trade in order: its member in the answer, and its name for people.
pub const TRADES: [(&str, &str); 6] = [
    ("buy", "buy"),
    ("sell", "sell half"),
    ("sellRest", "sell the rest"),
    ("sellAfterDay", "sell half a day later"),
    ("transfer", "transfer to somebody else"),
    ("sellReceived", "sell what was sent"),
];

impl SimulatedTrades {
    /// The trades that were tried, first those of `TRADES`: the name of each, and how it went.
    pub fn tried(&self) -> impl Iterator<Item = (&str, &SimulatedTrade)> {
        let all = [&self.buy, &self.sell, &self.sell_rest, &self.sell_after_day, &self.transfer, &self.sell_received];
        let own = TRADES.into_iter().zip(all).filter_map(|((_, name), trade)| Some((name, trade.as_ref()?)));
        own.chain(self.trials.iter().map(|trial| (trial.name.as_str(), &trial.trade)))
    }
}

/// One simulated trade.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimulatedTrade {
    pub ok: bool,
    /// Fraction of the tokens that did not arrive, 0 to 1; null if it failed.
    pub tax: Option<f64>,
    /// What came, as a fraction of what the pool quoted before; null where it quotes nothing.
    pub of_quote: Option<f64>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl SimulatedTrade {
    /// `received 97.0 %`, or why it failed.
    pub fn outcome(&self) -> String {
        match (&self.reason, self.tax) {
            (Some(reason), _) => reason.clone(),
            (None, Some(tax)) => format!("received {:.1} %", (1.0 - tax) * 100.0),
            (None, None) if self.ok => "goes through".to_owned(),
            (None, None) => "fails".to_owned(),
        }
    }

    pub(super) fn refused(reason: String) -> Self {
        Self { reason: Some(reason), ..Self::default() }
    }

    pub(super) fn through(tax: Option<f64>, of_quote: Option<f64>) -> Self {
        // More than was sent may arrive, where holders are paid a share.
        Self { ok: true, tax: tax.map(|tax| to_four_places(tax.clamp(0.0, 1.0))), of_quote: of_quote.map(to_four_places), reason: None }
    }
}
