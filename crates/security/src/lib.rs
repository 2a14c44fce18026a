//! Security inference: what in a token's code, holders and trading is a danger to its buyers. Each kind of detection has a file of its own;
//! `score` turns anomalies into a score. Here stand the anomalies, grouped in three parts, and the shape of the answer.
//!
//! Like the other analyses these are pure functions: no I/O, no clock, no randomness, no state. What a whole dataset is needed for is asked
//! through [`model::data::Data`]; [`code::inspect`] executes a contract's code without one.

pub mod changes;
pub mod check_log;
pub mod checks;
pub mod code;
pub mod codes;
pub mod corpus;
pub mod danger;
mod disputes;
pub mod facts;
#[cfg(test)]
mod fake_data;
pub mod holders;
pub mod implementations;
pub mod infer;
pub mod opcodes;
pub mod own_pools;
pub mod pool_story;
pub mod resemblance;
pub mod score;
pub mod similarity;
pub mod simulation;
pub mod transactions;

use schemars::JsonSchema;
use serde::Serialize;

pub use self::{
    changes::SecurityChanges,
    checks::{Check, CheckState},
    codes::{AnomalyCode, Group, Part},
    danger::Danger,
    simulation::Simulation,
};
use model::{address::Address, time::Time};

/// Security assessment of a token. Null means unknown, never safe.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecurityInference {
    /// Security score out of 100; higher is safer.
    pub security_score: i64,
    pub anomaly_detection: AnomalyDetection,
    /// Known scams with similar code, the most similar first.
    pub similar_scams: Vec<SimilarScam>,
    /// The verdict, its strongest reasons, and the missing data.
    pub recommendation: String,
    /// What the verdict allows beside it.
    #[serde(skip)]
    pub danger: Danger,
    /// Every check, grouped by question, with its result. Only with `explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checks: Option<Vec<Check>>,
    /// Details behind the figures. Only with `explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// Trades over the state of the chain. Only with `explain`, and where the dataset names a node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulation: Option<Simulation>,
    /// What differs from the scan before: where the state of the chain was read before, or files were read that the scan found otherwise. Only
    /// with `explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<SecurityChanges>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnomalyDetection {
    pub transaction_patterns: AnomalyPart,
    pub holder_distribution: AnomalyPart,
    pub code_patterns: AnomalyPart,
}

impl AnomalyDetection {
    pub fn part(&self, part: Part) -> &AnomalyPart {
        match part {
            Part::Code => &self.code_patterns,
            Part::Transactions => &self.transaction_patterns,
            Part::Holders => &self.holder_distribution,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnomalyPart {
    /// 0 to 100, 0 if nothing was found; null without the required data.
    pub score: Option<f64>,
    /// `CODE: sentence`, the highest weighted strength first.
    pub anomalies: Vec<String>,
    /// The same anomalies, in the same order, with their evidence. Only with `explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Vec<Anomaly>>,
}

/// A problem of the token, or a power that its holder could abuse.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Anomaly {
    pub code: AnomalyCode,
    /// Weight within its part, 0 to 1.
    pub weight: f64,
    /// Strength of the evidence, 0 to 1, after the discount for the holder of a power.
    pub strength: f64,
    /// Whether it alone means AVOID.
    pub fatal: bool,
    /// The finding, with its figure and source. Without the leading code and the final full stop.
    pub sentence: String,
    /// A person's objection: the finding then counts for nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disputed: Option<Objection>,
    /// Measured figures.
    pub figures: Vec<Figure>,
    pub evidence: Vec<Evidence>,
}

/// Why a person objects to a finding, as the table `disputes` has it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Objection {
    pub why: String,
    /// When it ends; null for never.
    pub until: Option<Time>,
}

/// A named measurement, such as `share` 0.93.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Figure {
    pub name: &'static str,
    pub value: f64,
}

/// One piece of evidence: a call and its effect, or rows of the dataset.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// Action or count: `setTax(99)`, `sell of 1000`, `burned within a day`.
    pub what: String,
    /// Resulting change: `+100 tokens`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// 4-byte selector of the called function: `0x` and eight hex digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// Caller of the function: `owner`, `stranger`, `router`, `holder`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Rows that show it, at most `EVIDENCE_ROWS_MAX`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<EvidenceRow>,
}

impl Evidence {
    pub fn of_rows(what: impl Into<String>, rows: Vec<EvidenceRow>) -> Self {
        Self { what: what.into(), rows, ..Self::default() }
    }
}

pub const EVIDENCE_ROWS_MAX: usize = 10;

/// A row of the dataset, or an address with its holding.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvidenceRow {
    /// Table of the row.
    pub table: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_number: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transaction_hash: Option<String>,
    /// Holder of the row, or sender of the transfer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
    /// Recipient of the transfer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_address: Option<Address>,
    /// Whole tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<f64>,
    /// Fraction of the supply, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Further text of the row: the label, its name and source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl EvidenceRow {
    pub fn of(table: &'static str, address: Address) -> Self {
        Self { table, address: Some(address), ..Self::default() }
    }
}

/// A known scam that resembles the token.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimilarScam {
    pub address: Address,
    pub name: Option<String>,
    pub scam_type: Option<String>,
    /// 0 to 1, four decimal places; 1 means identical code.
    pub similarity: f64,
    /// Anomaly codes of the code part that both show.
    pub shared_traits: Vec<AnomalyCode>,
    /// Number of function selectors that both have.
    pub shared_selectors: u64,
    /// Whether both were deployed by the same address.
    pub same_creator: bool,
    /// Source of the report.
    pub source: Option<String>,
}

/// Details behind the figures.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// Score before any cap.
    pub uncapped_score: i64,
    /// Caps that apply, the lowest first.
    pub caps: Vec<Cap>,
    /// Fraction of the total weight of all checks that belongs to checks that ran, 0 to 1.
    pub checked: f64,
    /// Missing inputs and checks, and how to supply them.
    pub missing: Vec<Missing>,
    /// How alike the codes of tokens are that nobody reported: `similarScams` has only what is above the tail; null with fewer than two.
    pub token_similarity: Option<TokenSimilarity>,
    /// Distribution of the supply; null without holders.
    pub holders: Option<HolderMetrics>,
    /// Statistics of executing the contract; null without code.
    pub execution: Option<Execution>,
}

/// Similarities of tokens' codes with each other, 0 to 1, four decimal places: what any two tokens share. Equal codes count once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct TokenSimilarity {
    pub pairs: u64,
    pub median: f64,
    /// What 99 of 100 pairs do not exceed.
    pub tail: f64,
    pub highest: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cap {
    pub score: i64,
    pub reason: String,
}

/// A missing input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Missing {
    pub part: Part,
    /// Short description: `no holder data`.
    pub what: String,
    /// Checks that could not run without it.
    pub codes: Vec<AnomalyCode>,
    /// Data to add to the dataset.
    pub supply: String,
}

/// Distribution of the supply over holders, excluding those that hold for others.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HolderMetrics {
    /// Number of free holders in the table: pools, exchanges, bridges, lockers and the token itself hold for others.
    pub count: u64,
    /// Number of holders in the table that have a balance.
    pub listed: u64,
    /// The same, or as many holders as the token is said to have.
    pub holders: u64,
    /// Fraction of the unburned supply held by the ten and fifty largest of all holders, as in every other "top
    /// 10".
    pub top10: Option<f64>,
    pub top50: Option<f64>,
    /// The same for free holders only: pools, exchanges, bridges, lockers and the token itself are excluded.
    #[serde(rename = "top10FreeHolders")]
    pub top10_free: f64,
    #[serde(rename = "top50FreeHolders")]
    pub top50_free: f64,
    /// Herfindahl-Hirschman index: sum of the squared shares of the free holders, which add up to 1. The most it can be, where not all
    /// holders are given.
    pub hhi: f64,
    /// The least it can be, where not all holders are given; else null.
    pub hhi_at_least: Option<f64>,
    /// Nakamoto coefficient: the fewest free holders that together have more than half of what is in no pool, exchange, bridge or locker; null
    /// if all together have less.
    pub nakamoto: Option<u64>,
    /// Null where not all holders are given.
    pub gini: Option<f64>,
    /// The largest holders' shares, at most `LARGEST_MAX`, in descending order.
    pub largest: Vec<HolderShare>,
    /// Fraction of all holdings that was excluded, by kind.
    pub left_out: Vec<LeftOut>,
}

pub const LARGEST_MAX: usize = 50;

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HolderShare {
    pub address: Address,
    /// Fraction of the supply, 0 to 1.
    pub share: f64,
    /// `creator`, `owner`, or a label of the dataset.
    pub role: Option<String>,
}

/// Addresses excluded because they hold for others: pools, lockers, exchanges, bridges, burn addresses.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeftOut {
    pub kind: &'static str,
    pub count: u64,
    /// Fraction of the supply before burning, 0 to 1.
    pub share: f64,
}

/// Statistics of executing the contract.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Execution {
    pub calls: u64,
    pub gas: u64,
    /// 4-byte selectors of the contract's functions: `0x` and eight hex digits.
    pub selectors: Vec<String>,
    /// Source of its state: `constructor`, `runtime code`, `snapshot`.
    pub deployed_by: Option<String>,
    /// Whether and how trading opened: `open`, `owner`, `flip`, `blocked`.
    pub trading: Option<String>,
    /// Buy, sell and transfer tax; null if nothing was traded.
    pub taxes: Option<Taxes>,
    /// Steps left undone, with the reason; empty if all was finished.
    pub unfinished: Vec<String>,
}

/// Fraction of a sent amount that does not arrive, 0 to 1, as measured in the trial; null for actions that failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Taxes {
    pub buy: Option<f64>,
    pub sell: Option<f64>,
    pub transfer: Option<f64>,
}

/// Holder of a power that the contract grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PowerHolder {
    /// The owner is the zero address and the previous owner's calls fail.
    Nobody,
    /// A contract: a multisig, a timelock or a governance vote.
    Contract,
    /// A single key, or unknown.
    Account,
}

impl PowerHolder {
    /// Discount factor on the strength of a power.
    pub fn factor(self) -> f64 {
        match self {
            Self::Nobody => 0.0,
            Self::Contract => 0.6,
            Self::Account => 1.0,
        }
    }
}

impl Anomaly {
    /// `strength` is clamped to 0..=1; NaN becomes 0.
    pub fn new(code: AnomalyCode, strength: f64, sentence: impl Into<String>) -> Self {
        let strength = if strength.is_nan() { 0.0 } else { strength.clamp(0.0, 1.0) };
        Self {
            code,
            weight: code.weight(),
            strength,
            fatal: code.fatal(),
            sentence: sentence.into(),
            disputed: None,
            figures: Vec::new(),
            evidence: Vec::new(),
        }
    }

    /// Takes it out of the score; it stays visible, with the reason.
    pub fn dispute(&mut self, objection: Objection) {
        self.fatal = false;
        self.disputed = Some(objection);
    }

    #[must_use]
    pub fn fatal(mut self, fatal: bool) -> Self {
        self.fatal = fatal;
        self
    }

    #[must_use]
    pub fn figure(mut self, name: &'static str, value: f64) -> Self {
        self.figures.push(Figure { name, value });
        self
    }

    #[must_use]
    pub fn evidence(mut self, evidence: Evidence) -> Self {
        self.evidence.push(evidence);
        self
    }

    #[must_use]
    pub fn rows(self, what: impl Into<String>, rows: Vec<EvidenceRow>) -> Self {
        self.evidence(Evidence::of_rows(what, rows))
    }

    /// Discounts a power by its holder; behaviour is never discounted.
    #[must_use]
    pub fn held_by(mut self, holder: PowerHolder) -> Self {
        if self.code.is_power() {
            self.strength *= holder.factor();
        }
        self
    }

    /// Weight times strength: its deduction from its part. Zero if it is disputed.
    pub fn weighed(&self) -> f64 {
        if self.disputed.is_some() { 0.0 } else { self.weight * self.strength }
    }

    /// The sentence, with the objection to it.
    pub fn told(&self) -> String {
        match &self.disputed {
            Some(objection) => format!("{} (disputed: {})", self.sentence, objection.why),
            None => self.sentence.clone(),
        }
    }

    /// Text in the response.
    pub fn text(&self) -> String {
        format!("{}: {}", self.code.word(), self.told())
    }
}
