//! Missing inputs of the checks, and how to supply them. A check without its input does not fire and is listed; so is one whose data are
//! inconclusive. Measurements of the other checks are kept for the checklist.

use super::{Anomaly, AnomalyCode, Evidence, EvidenceRow, Missing, Part};
use model::data::Data;

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

            /// The first table of `place`.
            fn table(self) -> &'static str {
                self.place().split(['.', ',']).next().unwrap_or_default()
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
    Liquidity "pools.liquidity" "no liquidity of it or its namesakes" "`liquidity` in `pools`";
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

/// Checks that pass, or lack something else, without a table that is there and could not be read: it might have shown what they look for.
const READ_BY: &[(&str, &[AnomalyCode])] = &[
    (
        "transfers",
        &[
            AnomalyCode::SellFailures,
            AnomalyCode::PrivilegedSellers,
            AnomalyCode::BalanceMismatch,
            AnomalyCode::MintAfterLaunch,
            AnomalyCode::WashTrading,
            AnomalyCode::CreatorDump,
            AnomalyCode::Sniped,
            AnomalyCode::AirdropSpam,
            AnomalyCode::AmountDigits,
        ],
    ),
    (
        "pools",
        &[
            AnomalyCode::LiquidityPulled,
            AnomalyCode::OneWayFlow,
            AnomalyCode::SellFailures,
            AnomalyCode::PrivilegedSellers,
            AnomalyCode::MintAfterLaunch,
            AnomalyCode::CreatorDump,
            AnomalyCode::Sniped,
            AnomalyCode::LpUnlocked,
            AnomalyCode::LpCreator,
        ],
    ),
    ("pool_events", &[AnomalyCode::LiquidityPulled, AnomalyCode::OneWayFlow]),
    ("funding", &[AnomalyCode::PrivilegedSellers, AnomalyCode::SybilHolders]),
    ("labels", &[AnomalyCode::KnownScam, AnomalyCode::SerialDeployer]),
    ("scams", &[AnomalyCode::KnownScam, AnomalyCode::SimilarToScam, AnomalyCode::SerialDeployer]),
    ("contracts", &[AnomalyCode::SerialDeployer]),
    ("holders", &[AnomalyCode::BalanceMismatch]),
];

/// The tables that checks read, and that are there and could not be read.
pub fn unreadable(dataset: &dyn Data) -> Vec<&'static str> {
    READ_BY.iter().map(|(table, _)| *table).filter(|table| dataset.is_unreadable(table)).collect()
}

/// Missing inputs of a part's checks, and the measurements of those that ran without a finding; collected while they run.
#[derive(Debug, Default)]
pub struct CheckLog {
    needs: Vec<(NeededInput, Vec<AnomalyCode>)>,
    /// Tables that could not be read, with the checks that are not known for that reason.
    unreadable: Vec<(&'static str, Vec<AnomalyCode>)>,
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

    /// Marks the part's checks that need a table that could not be read as not known, unless they found something all the same. Returns
    /// whether there are any.
    pub fn without(&mut self, table: &'static str, part: Part, found: &[Anomaly]) -> bool {
        let readers = READ_BY.iter().filter(|(name, _)| *name == table).flat_map(|(_, codes)| codes.iter().copied());
        let lacking = self.needs.iter().filter(|(need, _)| need.table() == table).flat_map(|(_, codes)| codes.iter().copied());
        let known = |code: &AnomalyCode| {
            found.iter().any(|anomaly| anomaly.code == *code) || self.unreadable.iter().any(|(_, codes)| codes.contains(code))
        };
        let mut codes: Vec<AnomalyCode> = lacking.chain(readers).filter(|code| code.part() == part && !known(code)).collect();
        codes.sort_unstable();
        codes.dedup();
        for (_, lacking) in &mut self.needs {
            lacking.retain(|code| !codes.contains(code));
        }
        self.needs.retain(|(_, lacking)| !lacking.is_empty());
        let any = !codes.is_empty();
        if any {
            self.unreadable.push((table, codes));
        }
        any
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
        if let Some((table, _)) = self.unreadable.iter().find(|(_, codes)| codes.contains(&code)) {
            return Some(format!("{table}: {}; {}", could_not_be_read(table), mend(table)));
        }
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
        let unreadable = self.unreadable.iter().map(|(table, codes)| Missing {
            part,
            what: could_not_be_read(table),
            codes: codes.clone(),
            supply: mend(table),
        });
        unreadable.chain(self.needs.iter().map(missing)).collect()
    }
}

/// The same words for checks, the recommendation and the cap of the score.
pub fn could_not_be_read(table: &str) -> String {
    format!("the table `{table}` could not be read")
}

fn mend(table: &str) -> String {
    format!("mend `{table}`: `tokendeck check` says what is wrong with it")
}

fn said(list: &[(AnomalyCode, String)], code: AnomalyCode) -> Option<String> {
    list.iter().find(|(of, _)| *of == code).map(|(_, text)| text.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_of_a_table_that_could_not_be_read_neither_passes_nor_asks_for_rows() {
        let part = Part::Transactions;
        let mut log = CheckLog::default();
        log.saw(AnomalyCode::OneWayFlow, "186 purchases and 93 sales");
        log.unsure(AnomalyCode::SellFailures, "transfers: 0 tried sales are too few to tell");
        log.note(NeededInput::Pools, &[AnomalyCode::PrivilegedSellers]);
        log.note(NeededInput::Creator, &[AnomalyCode::CreatorDump]);
        let found = [Anomaly::new(AnomalyCode::Sniped, 1.0, "bought at once")];
        assert!(log.without("pools", part, &found));
        for code in [AnomalyCode::OneWayFlow, AnomalyCode::SellFailures, AnomalyCode::PrivilegedSellers, AnomalyCode::CreatorDump] {
            let gap = log.gap(code).unwrap_or_default();
            assert!(gap.starts_with("pools: the table `pools` could not be read; mend"), "{}: {gap}", code.word());
        }
        for code in [AnomalyCode::Sniped, AnomalyCode::WashTrading, AnomalyCode::LpUnlocked] {
            assert_eq!(log.gap(code), None, "{}", code.word());
        }
        assert!(!log.without("pools", Part::Code, &[]), "no check of the code reads pools");
        // Each check is missing once.
        let missing = log.missing(part);
        let codes: Vec<AnomalyCode> = missing.iter().flat_map(|missing| missing.codes.iter().copied()).collect();
        assert_eq!(codes.iter().filter(|code| **code == AnomalyCode::PrivilegedSellers).count(), 1);
        assert_eq!((missing.len(), missing[0].what.as_str()), (1, "the table `pools` could not be read"));
    }
}
