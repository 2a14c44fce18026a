//! The inputs that tests lack, and how a person supplies them. A test whose input is missing does not fire and is named; so is one that
//! ran on too little to tell. What the others measured is kept for the checklist.

use super::{Anomaly, AnomalyCode, Evidence, EvidenceRow, Missing, Part};

macro_rules! needs {
    ($($need:ident $place:literal $what:literal $supply:literal;)*) => {
        /// An input that a test may lack.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum NeededInput { $(#[doc = $what] $need),* }

        impl NeededInput {
            /// The table and column that hold it: `contracts.bytecode`.
            pub fn place(self) -> &'static str {
                match self { $(Self::$need => $place),* }
            }

            /// In a few words.
            pub fn what(self) -> &'static str {
                match self { $(Self::$need => $what),* }
            }

            /// What to add to the dataset.
            pub fn supply(self) -> &'static str {
                match self { $(Self::$need => $supply),* }
            }
        }
    };
}

needs! {
    Code "contracts.bytecode" "no contract code" "a row of the token in `contracts`, with `bytecode`";
    Transfers "transfers" "no transfer data" "rows of the token in `transfers`";
    Holders "holders" "no holder data" "rows of the token in `holders`";
    Scams "scams.bytecode" "no scams to compare with" "the table `scams`, with `bytecode`";
    Listed "tokens.listed" "no curated list" "the column `listed` in `tokens`";
    Pools "pools" "no pool known" "rows of `pools` with the token, or the label `liquidity_pool`";
    OwnPools "pools" "no pool of its own: others are traded for it" "rows of `pools` in which it is what is traded";
    PoolEvents "pool_events" "no pool events" "rows of the token's pools in `pool_events`";
    Status "transfers.status" "no transfer status" "the column `status` in `transfers`, failed ones included";
    Creator "contracts.creator" "no creator known" "`creator` in `contracts`";
    Supply "tokens.total_supply" "no total supply" "`total_supply` and `decimals` in `tokens`";
    History "transfers" "transfers do not begin with the first mint" "`transfers` from the token's first on";
    LpHolders "holders" "no liquidity holders" "rows of `holders` whose `token_address` is the pool";
    Blocks "transfers.block_number" "no block numbers" "`block_number` in `transfers`";
    AllHolders "holders" "not all holders are given" "every holder of the token in `holders`";
    Known "scams, labels" "no list of scams and no labels" "the table `scams` or `labels`";
}

/// What the tests of a part lack, and what those saw that ran and found nothing; gathered as they run.
#[derive(Debug, Default)]
pub struct Lacking {
    needs: Vec<(NeededInput, Vec<AnomalyCode>)>,
    /// Tests that ran on too little to tell anything, and what there was too little of.
    unsure: Vec<(AnomalyCode, String)>,
    /// What tests measured, in a sentence: evidence that they passed.
    seen: Vec<(AnomalyCode, String)>,
    /// The calls and rows behind what they measured.
    proofs: Vec<(AnomalyCode, Evidence)>,
}

impl Lacking {
    pub fn note(&mut self, need: NeededInput, codes: &[AnomalyCode]) {
        match self.needs.iter_mut().find(|(known, _)| *known == need) {
            Some((_, known)) => known.extend_from_slice(codes),
            None => self.needs.push((need, codes.to_vec())),
        }
    }

    /// `value`, or none with a note of what it needs.
    pub fn require<T>(&mut self, value: Option<T>, need: NeededInput, code: AnomalyCode) -> Option<T> {
        if value.is_none() {
            self.note(need, &[code]);
        }
        value
    }

    /// The test ran, and there was too little to tell: neither found nor passed. `why` begins with the table and column, too.
    pub fn unsure(&mut self, code: AnomalyCode, why: impl Into<String>) {
        self.unsure.push((code, why.into()));
    }

    /// What the test measured. Shown where it found nothing.
    pub fn saw(&mut self, code: AnomalyCode, what: impl Into<String>) {
        self.seen.push((code, what.into()));
    }

    /// What the test measured it on: a call, or rows. Shown where it found nothing.
    pub fn prove(&mut self, code: AnomalyCode, proof: Evidence) {
        self.proofs.push((code, proof));
    }

    /// The same of rows alone; nothing where there are none.
    pub fn prove_by(&mut self, code: AnomalyCode, what: &str, rows: Vec<EvidenceRow>) {
        if !rows.is_empty() {
            self.prove(code, Evidence::of_rows(what, rows));
        }
    }

    /// What a test measured on these rows: an anomaly where that is strong enough to be one, else what shows that it passed.
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

    /// Why the test could not run or decide, and what would allow it; none where it did.
    pub fn gap(&self, code: AnomalyCode) -> Option<String> {
        let need = self.needs.iter().find(|(_, codes)| codes.contains(&code));
        let missing = need.map(|(need, _)| format!("{}: {}; add {}", need.place(), need.what(), need.supply()));
        missing.or_else(|| said(&self.unsure, code))
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
