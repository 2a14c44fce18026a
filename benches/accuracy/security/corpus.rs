//! The labelled contracts, read from the parquet file beside the repository. A third of the clusters is the hold-out set: nothing is tuned
//! on it, and reported metrics are measured there.

use std::fs::File;

use polars::prelude::*;
use sha2::{Digest, Sha256};

pub(crate) const CONTRACTS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../shared/data/security/contracts.parquet"
);

pub(crate) struct Labelled {
    pub(crate) label: String,
    pub(crate) confidence: String,
    pub(crate) scam_type: String,
    pub(crate) token: bool,
    /// Cluster of near-duplicate codes, as assigned by the set's authors.
    pub(crate) cluster: String,
    /// Mint, leak, limit, as labelled by people.
    pub(crate) powers: [Option<bool>; 3],
    pub(crate) origin: String,
    pub(crate) runtime: Vec<u8>,
    pub(crate) creation: Option<Vec<u8>>,
    pub(crate) constructor_types: Option<Vec<String>>,
}

/// Subset of the clusters covered by a report.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    /// Development set, two thirds.
    Open,
    /// Hold-out set, one third.
    Closed,
}

impl Labelled {
    /// By hash of the cluster, so that near-duplicates are on one side.
    pub(crate) fn section(&self) -> Section {
        let hash = Sha256::digest(format!("tokendeck-closed-third-v1:{}", self.cluster));
        let number = hash[..4]
            .iter()
            .fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
        if number.is_multiple_of(3) {
            Section::Closed
        } else {
            Section::Open
        }
    }

    /// Whether it counts in the metrics: a token with a reliable label.
    pub(crate) fn sure(&self) -> bool {
        self.token && self.confidence != "low"
    }

    /// A listed token deployed on a chain.
    pub(crate) fn listed(&self) -> bool {
        self.sure() && self.label == "benign" && self.origin == "onchain"
    }
}

pub(crate) fn read() -> Result<Vec<Labelled>, String> {
    let file = File::open(CONTRACTS).map_err(|why| format!("`{CONTRACTS}`: {why}"))?;
    rows(
        &ParquetReader::new(file)
            .finish()
            .map_err(|why| why.to_string())?,
    )
    .map_err(|why| why.to_string())
}

fn rows(frame: &DataFrame) -> PolarsResult<Vec<Labelled>> {
    let text = |name: &str| frame.column(name)?.str().cloned();
    let flag = |name: &str| frame.column(name)?.bool().cloned();
    let bytes = |name: &str| frame.column(name)?.binary().cloned();
    let (label, confidence, scam_type) = (
        text("label")?,
        text("label_confidence")?,
        text("scam_type")?,
    );
    let (origin, types, token) = (
        text("runtime_origin")?,
        text("ctor_types")?,
        flag("is_erc20")?,
    );
    let cluster = text("cluster")?;
    let powers = [flag("cap_mint")?, flag("cap_leak")?, flag("cap_limit")?];
    let (runtime, creation) = (bytes("runtime")?, bytes("creation")?);
    let word = |column: &StringChunked, at: usize| column.get(at).unwrap_or_default().to_string();
    Ok((0..frame.height())
        .map(|at| Labelled {
            label: word(&label, at),
            confidence: word(&confidence, at),
            scam_type: word(&scam_type, at),
            token: token.get(at).unwrap_or_default(),
            cluster: word(&cluster, at),
            powers: [0, 1, 2].map(|power| powers[power].get(at)),
            origin: word(&origin, at),
            runtime: runtime.get(at).unwrap_or_default().to_vec(),
            creation: creation.get(at).map(<[u8]>::to_vec),
            constructor_types: types
                .get(at)
                .and_then(|text| serde_json::from_str(text).ok()),
        })
        .collect())
}
