//! Security inference: the anomalies, each of one table, and the shape of the answer. How the anomalies are found is a file each; how
//! they become a score is `score`'s.

pub mod behind;
pub mod checks;
pub mod code;
pub mod codes;
pub mod corpus;
pub mod facts;
pub mod holders;
pub mod infer;
pub mod missing;
pub mod opcodes;
pub mod own_pools;
pub mod pool_story;
pub mod resemblance;
pub mod score;
pub mod similarity;
pub mod transactions;

use schemars::JsonSchema;
use serde::Serialize;

pub use self::{
    checks::{Check, CheckState},
    codes::{AnomalyCode, Group, Part},
};
use crate::dataset::{address::Address, time::Time};

/// What is known of a token's safety. Null is unknown, which is never safe.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecurityInference {
    /// Out of 100; the lower, the worse.
    pub security_score: i64,
    pub anomaly_detection: AnomalyDetection,
    /// Known scams whose code resembles it, the nearest first.
    pub similar_scams: Vec<SimilarScam>,
    /// The word for the score, the strongest reasons, and what was missing.
    pub recommendation: String,
    /// Every check by the question it answers, and what became of it. Only when explained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checks: Option<Vec<Check>>,
    /// What stands behind the figures. Only when explained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
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
    /// 0 to 100, 0 when nothing was found; null without the data it needs.
    pub score: Option<f64>,
    /// `CODE: sentence`, what weighs most first.
    pub anomalies: Vec<String>,
    /// The same anomalies, in the same order, with what proves them. Only when explained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Vec<Anomaly>>,
}

/// Something that is wrong, or could be made wrong by whoever has the power.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Anomaly {
    pub code: AnomalyCode,
    /// What it weighs in its part, 0 to 1.
    pub weight: f64,
    /// How strong the evidence is, 0 to 1, after the discount for who holds a power.
    pub strength: f64,
    /// It alone means AVOID.
    pub fatal: bool,
    /// What was found, with the figure and where it comes from. No code in front, no full stop.
    pub sentence: String,
    /// The figures that were measured.
    pub figures: Vec<Figure>,
    pub evidence: Vec<Evidence>,
}

/// A measured figure by its name: `share` 0.93.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Figure {
    pub name: &'static str,
    pub value: f64,
}

/// One proof: a call with what it changed, or rows of the dataset.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// What was done or counted: `setTax(99)`, `sell of 1000`, `burned within a day`.
    pub what: String,
    /// By how much it changed: `+100 tokens`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// The function that was called, `0x` and eight digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// Who called: `owner`, `stranger`, `router`, `holder`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The rows that show it, at most `EVIDENCE_ROWS_MAX`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<EvidenceRow>,
}

impl Evidence {
    pub fn of_rows(what: impl Into<String>, rows: Vec<EvidenceRow>) -> Self {
        Self { what: what.into(), rows, ..Self::default() }
    }
}

pub const EVIDENCE_ROWS_MAX: usize = 10;

/// A row of the dataset, or an address with what it holds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvidenceRow {
    /// The table it lies in.
    pub table: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_number: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transaction_hash: Option<String>,
    /// The holder of the row, or the sender of the transfer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
    /// Who received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_address: Option<Address>,
    /// Whole tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<f64>,
    /// Of the supply, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// What else the row says: the label, its name and source.
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
    /// 0 to 1, four places; 1 is equal code.
    pub similarity: f64,
    /// Codes of the code part that both show.
    pub shared_traits: Vec<AnomalyCode>,
    /// Functions that both have.
    pub shared_selectors: u64,
    /// Both were deployed by one address.
    pub same_creator: bool,
    /// Who reported it.
    pub source: Option<String>,
}

/// What stands behind the figures.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The score before any cap.
    pub uncapped_score: i64,
    /// The caps that apply, the lowest first.
    pub caps: Vec<Cap>,
    /// The share of all weight that the checks carry which ran, 0 to 1.
    pub checked: f64,
    /// The inputs and tests that were missing, and how to supply them.
    pub missing: Vec<Missing>,
    /// How the supply is spread; null without holders.
    pub holders: Option<HolderMetrics>,
    /// What executing the contract took; null without code.
    pub execution: Option<Execution>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cap {
    pub score: i64,
    pub reason: String,
}

/// Something that could not be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Missing {
    pub part: Part,
    /// In a few words: `no holder data`.
    pub what: String,
    /// The tests that did not run for it.
    pub codes: Vec<AnomalyCode>,
    /// What to add to the dataset.
    pub supply: String,
}

/// How the supply is spread over holders, those left out who hold for others.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HolderMetrics {
    /// Holders that count.
    pub count: u64,
    /// Share of the supply less burned that the ten and the fifty largest of all holders have: as wherever "top 10" stands.
    pub top10: Option<f64>,
    pub top50: Option<f64>,
    /// The same of free holders alone: pools, exchanges, bridges, lockers and the token itself left out.
    #[serde(rename = "top10FreeHolders")]
    pub top10_free: f64,
    #[serde(rename = "top50FreeHolders")]
    pub top50_free: f64,
    /// Sum of the squared shares (Herfindahl-Hirschman).
    pub hhi: f64,
    /// Fewest holders with more than half; null when all together have less.
    pub nakamoto: Option<u64>,
    pub gini: f64,
    /// The largest holders' shares, at most `LARGEST_MAX`, the largest first.
    pub largest: Vec<HolderShare>,
    /// Share of all that holders hold which was left out, by kind.
    pub left_out: Vec<LeftOut>,
}

pub const LARGEST_MAX: usize = 50;

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HolderShare {
    pub address: Address,
    /// Of the supply, 0 to 1.
    pub share: f64,
    /// `creator`, `owner`, or a label of the dataset.
    pub role: Option<String>,
}

/// Addresses that hold for others: pools, lockers, exchanges, bridges, burned.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeftOut {
    pub kind: &'static str,
    pub count: u64,
    /// Of the supply before burning, 0 to 1.
    pub share: f64,
}

/// What executing the contract took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Execution {
    pub calls: u64,
    pub gas: u64,
    /// The contract's functions, `0x` and eight digits.
    pub selectors: Vec<String>,
    /// How it came to stand: `constructor`, `runtime code`, `snapshot`.
    pub deployed_by: Option<String>,
    /// What trading took: `open`, `owner`, `flip`, `blocked`.
    pub trading: Option<String>,
    /// What does not arrive of a purchase, a sale, a transfer; null where nothing was traded.
    pub taxes: Option<Taxes>,
    /// What was left undone, and why; empty when all was finished.
    pub unfinished: Vec<String>,
}

/// What does not arrive of what was sent, 0 to 1, as measured in the trial; null for what did not go through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Taxes {
    pub buy: Option<f64>,
    pub sell: Option<f64>,
    pub transfer: Option<f64>,
}

/// Who could use a power that the contract gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PowerHolder {
    /// The owner is zero and the old owner's calls fail.
    Nobody,
    /// The token is on a curated list.
    Listed,
    /// A contract: a multisig, a timelock, a vote.
    Contract,
    /// One key, or nobody knows.
    Account,
}

impl PowerHolder {
    /// By what the strength of a power is multiplied.
    pub fn factor(self) -> f64 {
        match self {
            Self::Nobody => 0.0,
            Self::Listed => 0.35,
            Self::Contract => 0.6,
            Self::Account => 1.0,
        }
    }
}

impl Anomaly {
    /// `strength` outside 0 to 1 is clamped, and NaN is 0.
    pub fn new(code: AnomalyCode, strength: f64, sentence: impl Into<String>) -> Self {
        let strength = if strength.is_nan() { 0.0 } else { strength.clamp(0.0, 1.0) };
        Self {
            code,
            weight: code.weight(),
            strength,
            fatal: code.fatal(),
            sentence: sentence.into(),
            figures: Vec::new(),
            evidence: Vec::new(),
        }
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

    /// A power counts by who holds it; behaviour is never discounted.
    #[must_use]
    pub fn held_by(mut self, holder: PowerHolder) -> Self {
        if self.code.is_power() {
            self.strength *= holder.factor();
        }
        self
    }

    /// What it takes from its part.
    pub fn weighed(&self) -> f64 {
        self.weight * self.strength
    }

    /// As it is answered.
    pub fn text(&self) -> String {
        format!("{}: {}", self.code.word(), self.sentence)
    }
}
