//! Security inference: the risks for buyers in a token's code, holders and trades. Each kind of detection has its own file; `score` turns
//! findings into a score. This file has the findings, grouped in three parts, and the shape of the response.
//!
//! Like the other analyses, these are pure functions: no I/O, no clock, no randomness, no state. They query a whole dataset through
//! [`model::data::Data`]; [`code::inspect`] executes a contract's code without a dataset.

pub mod changes;
pub mod check_log;
pub mod check_table;
pub mod checks;
pub mod code;
pub mod corpus;
pub mod danger;
mod disputes;
pub mod facts;
#[cfg(test)]
mod fake_data;
pub mod holders;
pub mod implementations;
pub mod infer;
#[cfg(test)]
mod left_out_tests;
pub mod opcodes;
pub mod own_pools;
pub mod pool_story;
pub mod resemblance;
pub mod score;
pub mod similarity;
pub mod simulation;
pub mod track_record;
pub mod transactions;

use schemars::JsonSchema;
use serde::Serialize;

pub use self::{
    changes::SecurityChanges,
    check_table::{AnomalyCode, Group, Part},
    checks::{Check, CheckState},
    danger::Danger,
    simulation::Simulation,
    transactions::percent,
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
    /// What may be shown next to the verdict.
    #[serde(skip)]
    pub danger: Danger,
    /// Fraction of the free supply that the largest cluster of holders has, 0 without clusters; null without all transfers.
    #[serde(skip)]
    pub largest_cluster: Option<f64>,
    /// Every check, grouped by question, with its result. Only with `explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checks: Option<Vec<Check>>,
    /// Details behind the score. Only with `explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// Trades simulated on the on-chain state. Only with `explain`, and if the dataset has a node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulation: Option<Simulation>,
    /// Differences from the previous scan, if the on-chain state was read before, or if reloaded files changed the result. Only with
    /// `explain`.
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
    /// `CODE: sentence`, in descending order of weight × strength.
    pub anomalies: Vec<String>,
    /// The same findings, in the same order, with their evidence. Only with `explain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Vec<Anomaly>>,
}

/// A finding: an issue of the token, or an owner privilege that could be abused.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Anomaly {
    pub code: AnomalyCode,
    /// Weight within its part, 0 to 1.
    pub weight: f64,
    /// Strength of the evidence, 0 to 1, after the discount for the holder of a privilege.
    pub strength: f64,
    /// Whether this finding alone means AVOID.
    pub fatal: bool,
    /// The finding with its value and source table, without code and final period.
    pub sentence: String,
    /// Your dispute: the finding does not affect the score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disputed: Option<Objection>,
    /// Measured values.
    pub figures: Vec<Figure>,
    pub evidence: Vec<Evidence>,
}

/// Why you dispute a finding, from the table `disputes`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Objection {
    pub why: String,
    /// End of the dispute; null for none.
    pub until: Option<Time>,
}

/// A named value, such as `share` 0.93.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Figure {
    pub name: &'static str,
    pub value: f64,
}

/// A piece of evidence: a call and its effect, or rows of the dataset.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// Action or count: `setTax(99)`, `sell of 1,000 tokens`, `liquidity burned within a day`.
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
    /// Rows that show it, up to 10.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<EvidenceRow>,
}

impl Evidence {
    pub fn of_rows(what: impl Into<String>, rows: Vec<EvidenceRow>) -> Self {
        Self {
            what: what.into(),
            rows,
            ..Self::default()
        }
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
    /// Further text, such as a label with its name and source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl EvidenceRow {
    pub fn of(table: &'static str, address: Address) -> Self {
        Self {
            table,
            address: Some(address),
            ..Self::default()
        }
    }
}

/// A known scam that is similar to the token.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SimilarScam {
    pub address: Address,
    pub name: Option<String>,
    pub scam_type: Option<String>,
    /// 0 to 1, four decimal places; 1 means identical code.
    pub similarity: f64,
    /// Finding codes of the code part that both have.
    pub shared_traits: Vec<AnomalyCode>,
    /// Number of function selectors that both have.
    pub shared_selectors: u64,
    /// Whether both were deployed by the same address.
    pub same_creator: bool,
    /// Source of the report.
    pub source: Option<String>,
}

/// Details behind the score.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// Score before any cap.
    pub uncapped_score: i64,
    /// Caps that apply, the lowest first.
    pub caps: Vec<Cap>,
    /// The share of the total weight of all checks that belongs to the checks that ran, 0 to 1.
    pub checked: f64,
    /// Missing inputs and checks, and how to supply them.
    pub missing: Vec<Missing>,
    /// Similarity of the codes of tokens that are not in a scam list: `similarScams` has only scams above its `tail`; null with fewer than
    /// two tokens.
    pub token_similarity: Option<TokenSimilarity>,
    /// Distribution of the supply; null without holders.
    pub holders: Option<HolderMetrics>,
    /// Statistics of executing the contract; null without code.
    pub execution: Option<Execution>,
}

/// Similarities of the tokens' codes to each other, 0 to 1, four decimal places. Identical codes count once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct TokenSimilarity {
    pub pairs: u64,
    pub median: f64,
    /// 99% of pairs are at most this similar.
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

/// Distribution of the supply over holders, excluding custodial addresses. If only the sum of the smaller holders is known, HHI, Nakamoto
/// coefficient and Gini coefficient are in the middle of their bounds.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HolderMetrics {
    /// Number of individual holders in the table: burn addresses, pools, routers, exchanges, bridges, lockers and the token itself are
    /// excluded.
    pub count: u64,
    /// Number of holders with a balance in the table.
    pub listed: u64,
    /// The same number, or the token's given number of holders if that is larger.
    pub holders: u64,
    /// Fraction of the unburned supply that the largest 10 and 50 of all holders own, as in every other "top 10".
    pub top10: Option<f64>,
    pub top50: Option<f64>,
    /// The same for individual holders.
    #[serde(rename = "top10FreeHolders")]
    pub top10_free: f64,
    #[serde(rename = "top50FreeHolders")]
    pub top50_free: f64,
    /// Fraction of the free supply (outside burn addresses, pools, exchanges, bridges and lockers) that the ten largest owners hold; addresses
    /// of one cluster are one owner. Null without all transfers.
    pub top10_owners: Option<f64>,
    /// Herfindahl-Hirschman index: sum of the squared shares of the individual holders, whose shares add up to 1. If the holder list is
    /// incomplete, the upper bound.
    pub hhi: f64,
    /// The lower bound of the index if the holder list is incomplete; otherwise null.
    pub hhi_at_least: Option<f64>,
    /// Nakamoto coefficient: the smallest number of individual holders that together own more than half of the supply outside pools,
    /// exchanges, bridges and lockers; null if all listed ones together own less.
    pub nakamoto: Option<u64>,
    /// Gini coefficient; null if the holder list is incomplete.
    pub gini: Option<f64>,
    /// Shares of the largest individual holders, up to 50, in descending order.
    pub largest: Vec<HolderShare>,
    /// Excluded fraction of the supply, by kind.
    pub left_out: Vec<ExcludedHolders>,
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

/// Excluded addresses: pools, lockers, exchanges, bridges, burn addresses.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExcludedHolders {
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
    /// Source of its state: `constructor`, `runtime code`, `snapshot` (the dataset's storage), `chain`.
    pub deployed_by: Option<String>,
    /// Whether and how trading opened: `open`, `wait`, `owner`, `outside`, `flip`, `blocked`.
    pub trading: Option<String>,
    /// Buy, sell and transfer tax; null if nothing was traded.
    pub taxes: Option<Taxes>,
    /// Incomplete steps, with the reason; empty if everything was completed.
    pub unfinished: Vec<String>,
}

/// Taxes measured in the simulation: the lost fraction of a sent amount, 0 to 1; null for a trade that failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Taxes {
    pub buy: Option<f64>,
    pub sell: Option<f64>,
    pub transfer: Option<f64>,
}

/// Holder of a privilege.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PrivilegeHolder {
    /// Renounced: the owner is the zero address, and calls by the former owner fail.
    Nobody,
    /// A contract: a multisig, a timelock or a governance vote.
    Contract,
    /// A single key, or unknown.
    Account,
}

impl PrivilegeHolder {
    /// Discount factor on the strength of a privilege.
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
        let strength = if strength.is_nan() {
            0.0
        } else {
            strength.clamp(0.0, 1.0)
        };
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

    /// Removes it from the score; it stays visible, with the reason.
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

    /// Discounts a privilege by its holder; behavior is never discounted.
    #[must_use]
    pub fn held_by(mut self, holder: PrivilegeHolder) -> Self {
        if self.code.is_power() {
            self.strength *= holder.factor();
        }
        self
    }

    /// Weight times strength; zero if it is disputed.
    pub fn weighed(&self) -> f64 {
        if self.disputed.is_some() {
            0.0
        } else {
            self.weight * self.strength
        }
    }

    /// The sentence, with the dispute.
    pub fn sentence_with_dispute(&self) -> String {
        match &self.disputed {
            Some(objection) => format!("{} (disputed: {})", self.sentence, objection.why),
            None => self.sentence.clone(),
        }
    }

    /// Text in the response.
    pub fn text(&self) -> String {
        format!("{}: {}", self.code.word(), self.sentence_with_dispute())
    }
}
