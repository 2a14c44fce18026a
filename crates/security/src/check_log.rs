//! Missing inputs of the checks, and how to supply them. A check without its input does not fire and is listed; so is one whose data are
//! inconclusive. Measurements of the other checks are kept for the checklist.

use super::{Anomaly, AnomalyCode, Evidence, EvidenceRow, Missing, Part};

macro_rules! needs {
    ($($need:ident $place:literal $what:literal $supply:literal;)*) => {
        /// An input that a check may lack.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum NeededInput { $(#[doc = $what] $need),* }

        impl NeededInput {
            /// The table and column that hold it, such as `contracts.bytecode`.
            pub fn place(self) -> &'static str {
                match self { $(Self::$need => $place),* }
            }

            /// Short description of the gap.
            pub fn what(self) -> &'static str {
                match self { $(Self::$need => $what),* }
            }

            /// Data to add to the dataset.
            pub fn supply(self) -> &'static str {
                match self { $(Self::$need => $supply),* }
            }
        }
    };
}

needs! {
    Code "contracts.bytecode" "no contract code" "a row of the token in `contracts`, with `bytecode`";
    Storage "contracts.storage" "no storage of the contract" "all slots of the token as a JSON object in `storage` of `contracts`";
    Transfers "transfers" "no transfer data" "rows of the token in `transfers`";
    Holders "holders" "no holder data" "rows of the token in `holders`";
    Scams "scams.bytecode" "no scams to compare with" "the table `scams`, with `bytecode`";
    Listed "tokens.listed" "no curated list" "the column `listed` in `tokens`";
    Pools "pools" "no pool in the data" "rows of `pools` with the token, or the label `liquidity_pool`";
    OwnPools "pools" "no pool of its own: others are traded for it" "rows of `pools` in which it is what is traded";
    Trades "transfers" "no transfer with its own pools" "rows of `transfers` from and to its pools";
    Launch "pool_events" "no first liquidity of its pools" "`pool_events` of its pools from the first on";
    PoolEvents "pool_events" "no pool events" "rows of the token's pools in `pool_events`";
    Status "transfers.status" "no transfer status" "the column `status` in `transfers`, failed ones included";
    Creator "contracts.creator" "no creator known" "`creator` in `contracts`";
    Supply "tokens.total_supply" "no total supply" "`total_supply` and `decimals` in `tokens`";
    History "transfers" "transfers do not begin with the first mint" "`transfers` from the token's first on";
    LpHolders "holders" "no liquidity holders" "rows of `holders` whose `token_address` is the pool";
    Blocks "transfers.block_number" "no block numbers" "`block_number` in `transfers`";
    AllHolders "holders" "not all holders are given" "every holder of the token in `holders`";
    WholeList "tokens.total_supply" "no total supply by which to tell whether all holders are given" "`total_supply` in `tokens`";
    Known "scams, labels" "no list of scams and no labels" "the table `scams` or `labels`";
}

/// Missing inputs of a part's checks, and the measurements of those that ran without a finding; collected while they run.
#[derive(Debug, Default)]
pub struct CheckLog {
    needs: Vec<(NeededInput, Vec<AnomalyCode>)>,
    /// Inconclusive checks, with the reason.
    unsure: Vec<(AnomalyCode, String)>,
    /// Measurements as sentences: evidence that a check passed.
    seen: Vec<(AnomalyCode, String)>,
    /// Passed checks whose measurement is worth reading all the same.
    remarkable: Vec<AnomalyCode>,
    /// Calls and rows behind the measurements.
    proofs: Vec<(AnomalyCode, Evidence)>,
}

impl CheckLog {
    pub fn note(&mut self, need: NeededInput, codes: &[AnomalyCode]) {
        match self.needs.iter_mut().find(|(known, _)| *known == need) {
            Some((_, known)) => known.extend_from_slice(codes),
            None => self.needs.push((need, codes.to_vec())),
        }
    }

    /// Returns `value`, noting the missing input if it is `None`.
    pub fn require<T>(&mut self, value: Option<T>, need: NeededInput, code: AnomalyCode) -> Option<T> {
        if value.is_none() {
            self.note(need, &[code]);
        }
        value
    }

    /// Marks a check as inconclusive: neither found nor passed. `why` begins with the table and column.
    pub fn unsure(&mut self, code: AnomalyCode, why: impl Into<String>) {
        self.unsure.push((code, why.into()));
    }

    /// Records a check's measurement. Shown if it found nothing.
    pub fn saw(&mut self, code: AnomalyCode, what: impl Into<String>) {
        self.seen.push((code, what.into()));
    }

    /// Marks a measurement as worth reading although it is no finding.
    pub fn remark(&mut self, code: AnomalyCode) {
        self.remarkable.push(code);
    }

    pub fn is_remarkable(&self, code: AnomalyCode) -> bool {
        self.remarkable.contains(&code)
    }

    /// Records the call or rows behind a check's measurement. Shown if it found nothing.
    pub fn prove(&mut self, code: AnomalyCode, proof: Evidence) {
        self.proofs.push((code, proof));
    }

    /// As `prove`, for rows only; ignored if there are none.
    pub fn prove_by(&mut self, code: AnomalyCode, what: &str, rows: Vec<EvidenceRow>) {
        if !rows.is_empty() {
            self.prove(code, Evidence::of_rows(what, rows));
        }
    }

    /// Turns a measurement into an anomaly if it has a strength; else records it as evidence that the check passed.
    pub fn measured(
        &mut self,
        code: AnomalyCode,
        strength: Option<f64>,
        sentence: String,
        what: &str,
        rows: Vec<EvidenceRow>,
    ) -> Option<Anomaly> {
        let Some(strength) = strength else {
            self.saw(code, sentence);
            self.prove_by(code, what, rows);
            return None;
        };
        Some(Anomaly::new(code, strength, sentence).rows(what, rows))
    }

    pub fn proof(&self, code: AnomalyCode) -> Vec<Evidence> {
        self.proofs.iter().filter(|(of, _)| *of == code).map(|(_, proof)| proof.clone()).collect()
    }

    /// Reason why a check could not run or decide, and the remedy; `None` if it did.
    pub fn gap(&self, code: AnomalyCode) -> Option<String> {
        // A reason of the check's own says more than the missing input.
        said(&self.unsure, code).or_else(|| {
            let (need, _) = self.needs.iter().find(|(_, codes)| codes.contains(&code))?;
            Some(format!("{}: {}; add {}", need.place(), need.what(), need.supply()))
        })
    }

    pub fn seen(&self, code: AnomalyCode) -> Option<String> {
        said(&self.seen, code)
    }

    pub fn missing(&self, part: Part) -> Vec<Missing> {
        let missing = |(need, codes): &(NeededInput, Vec<AnomalyCode>)| Missing {
            part,
            what: need.what().to_owned(),
            codes: codes.clone(),
            supply: need.supply().to_owned(),
        };
        self.needs.iter().map(missing).collect()
    }
}

fn said(list: &[(AnomalyCode, String)], code: AnomalyCode) -> Option<String> {
    list.iter().find(|(of, _)| *of == code).map(|(_, text)| text.clone())
}
