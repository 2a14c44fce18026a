//! Missing inputs of the checks, and how to supply them. A check without its input does not fire and is listed as not checked, and so is one
//! whose data is inconclusive. Measurements of the other checks go into the checklist.

use super::{Anomaly, AnomalyCode, Evidence, EvidenceRow, Missing, Part};
use model::data::Data;

macro_rules! needs {
    ($($need:ident $place:literal $what:literal $supply:literal;)*) => {
        /// An input that a check may lack.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum NeededInput { $(#[doc = $what] $need),* }

        impl NeededInput {
            /// Its table and column, such as `contracts.bytecode`.
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

            /// Remedy: the data to add to the dataset.
            pub const fn supply(self) -> &'static str {
                match self { $(Self::$need => $supply),* }
            }
        }
    };
}

needs! {
    Code "contracts.bytecode" "no contract code" "add the token's `bytecode` to `contracts`";
    Storage "contracts.storage" "no contract storage" "add all slots of the token, as a JSON object, to `storage` in `contracts`";
    Transfers "transfers" "no transfer data" "add the token's rows to `transfers`";
    Holders "holders" "no holder data" "add the token's rows to `holders`";
    Scams "scams.bytecode" "no known scams to compare with" "add a table `scams` with `bytecode`";
    Liquidity "pools.liquidity" "no liquidity data for the token or for tokens with its name" "add `liquidity` to `pools`";
    Pools "pools" "no pool in the data" "add the token's pools to `pools`, or to `labels` with the label `liquidity_pool`";
    OwnPools "pools" "not the base token of any pool" "add `pools` rows with it as the base token";
    Trades "transfers" "no transfers to or from pools where it is the base token" "add the transfers to and from its pools to `transfers`";
    Launch "pool_events" "the first liquidity of its pools is unknown" "add all events of its pools, from the first, to `pool_events`";
    PoolEvents "pool_events" "no pool events" "add the events of the token's pools to `pool_events`";
    Status "transfers.status" "no transfer status" "add the column `status` to `transfers`, with failed transfers included";
    Creator "contracts.creator" "unknown creator" "add `creator` to `contracts`";
    Supply "tokens.total_supply" "unknown total supply" "add `total_supply` and `decimals` to `tokens`";
    FirstTransfers "transfers" "needs transfers from the first on" "set read = \"bring\" in dataset.toml";
    History "transfers" "transfers don't start at the first mint" "add the token's earlier transfers to `transfers`";
    LpHolders "holders" "no holders of LP tokens" "add `holders` rows with the pool as `token_address`";
    Blocks "transfers.block_number" "no block numbers" "add `block_number` to `transfers`";
    AllHolders "holders" "the holder list is incomplete" "add all holders of the token to `holders`";
    SmallHolders "holders" "only the largest holders are here" "set read = \"bring\" in dataset.toml";
    WholeList "tokens.total_supply" "total supply unknown, so the holder list may be incomplete" "add `total_supply` to `tokens`";
    Funding "funding" "no payers of first transactions" "add a table `funding`";
    Known "scams, labels" "no list of scams and no labels" "add a table `scams` or `labels`";
}

/// Remedy where only a part of the rows at an engine is here.
pub const BRING: &str = NeededInput::FirstTransfers.supply();

/// Checks that would pass, or lack another input, without a table that exists but could not be read and might have shown a finding.
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
            AnomalyCode::BundledLaunch,
            AnomalyCode::InsiderHeavy,
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
            AnomalyCode::BundledLaunch,
        ],
    ),
    (
        "pool_events",
        &[AnomalyCode::LiquidityPulled, AnomalyCode::OneWayFlow],
    ),
    (
        "funding",
        &[
            AnomalyCode::PrivilegedSellers,
            AnomalyCode::SybilHolders,
            AnomalyCode::InsiderHeavy,
            AnomalyCode::FundedByScammer,
        ],
    ),
    (
        "labels",
        &[
            AnomalyCode::KnownScam,
            AnomalyCode::SerialDeployer,
            AnomalyCode::FundedByScammer,
        ],
    ),
    (
        "scams",
        &[
            AnomalyCode::KnownScam,
            AnomalyCode::SimilarToScam,
            AnomalyCode::SerialDeployer,
            AnomalyCode::FundedByScammer,
        ],
    ),
    ("contracts", &[AnomalyCode::SerialDeployer]),
    ("holders", &[AnomalyCode::BalanceMismatch]),
];

/// The tables that checks read and that exist but could not be read.
pub fn unreadable(dataset: &dyn Data) -> Vec<&'static str> {
    READ_BY
        .iter()
        .map(|(table, _)| *table)
        .filter(|table| dataset.is_unreadable(table))
        .collect()
}

/// Missing inputs of a part's checks, and the measurements of the checks that ran without a finding; collected while they run.
#[derive(Debug, Default)]
pub struct CheckLog {
    needs: Vec<(NeededInput, Vec<AnomalyCode>)>,
    /// Tables that could not be read, with the checks that are unknown for that reason.
    unreadable: Vec<(&'static str, Vec<AnomalyCode>)>,
    /// Inconclusive checks, with the reason.
    unsure: Vec<(AnomalyCode, String)>,
    /// Measurements as sentences: evidence that a check passed.
    seen: Vec<(AnomalyCode, String)>,
    /// Passed checks whose measurement is notable.
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
    pub fn require<T>(
        &mut self,
        value: Option<T>,
        need: NeededInput,
        code: AnomalyCode,
    ) -> Option<T> {
        if value.is_none() {
            self.note(need, &[code]);
        }
        value
    }

    /// Marks the part's checks that need an unreadable table as unknown, unless they found something without it. Returns whether there are
    /// any.
    pub fn without(&mut self, table: &'static str, part: Part, found: &[Anomaly]) -> bool {
        let readers = READ_BY
            .iter()
            .filter(|(name, _)| *name == table)
            .flat_map(|(_, codes)| codes.iter().copied());
        let lacking = self
            .needs
            .iter()
            .filter(|(need, _)| need.table() == table)
            .flat_map(|(_, codes)| codes.iter().copied());
        let known = |code: &AnomalyCode| {
            found.iter().any(|anomaly| anomaly.code == *code)
                || self
                    .unreadable
                    .iter()
                    .any(|(_, codes)| codes.contains(code))
        };
        let mut codes: Vec<AnomalyCode> = lacking
            .chain(readers)
            .filter(|code| code.part() == part && !known(code))
            .collect();
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

    /// Marks a check as inconclusive: neither found nor passed. `why` starts with the table and column.
    pub fn unsure(&mut self, code: AnomalyCode, why: impl Into<String>) {
        self.unsure.push((code, why.into()));
    }

    /// Records a check's measurement, which is shown if the check found nothing.
    pub fn saw(&mut self, code: AnomalyCode, what: impl Into<String>) {
        self.seen.push((code, what.into()));
    }

    /// Adds to the measurements of these checks over which rows they are; to pass by a part of the rows is no reassurance.
    pub fn limit(&mut self, codes: &[AnomalyCode], over: &str) {
        for code in codes {
            let seen = self.seen.iter_mut().find(|(of, _)| of == code);
            match seen {
                Some((_, text)) => text.push_str(over),
                None => self.saw(*code, format!("{}{over}", code.passed())),
            }
            self.remark(*code);
        }
    }

    /// Marks a measurement as notable although it is not a finding.
    pub fn remark(&mut self, code: AnomalyCode) {
        self.remarkable.push(code);
    }

    pub fn is_remarkable(&self, code: AnomalyCode) -> bool {
        self.remarkable.contains(&code)
    }

    /// Records the call or rows behind a check's measurement, which are shown if the check found nothing.
    pub fn prove(&mut self, code: AnomalyCode, proof: Evidence) {
        self.proofs.push((code, proof));
    }

    /// Like `prove`, for rows; ignored if there are none.
    pub fn prove_by(&mut self, code: AnomalyCode, what: &str, rows: Vec<EvidenceRow>) {
        if !rows.is_empty() {
            self.prove(code, Evidence::of_rows(what, rows));
        }
    }

    /// Turns a measurement into a finding if it has a strength; otherwise records it as evidence that the check passed.
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
        self.proofs
            .iter()
            .filter(|(of, _)| *of == code)
            .map(|(_, proof)| proof.clone())
            .collect()
    }

    /// Reason why a check could not run or decide, and the remedy; `None` if it did.
    pub fn gap(&self, code: AnomalyCode) -> Option<String> {
        if let Some((table, _)) = self
            .unreadable
            .iter()
            .find(|(_, codes)| codes.contains(&code))
        {
            return Some(format!(
                "{table}: {}; {}",
                could_not_be_read(table),
                mend(table)
            ));
        }
        // The check's own reason is more specific than the missing input.
        said(&self.unsure, code).or_else(|| {
            let (need, _) = self.needs.iter().find(|(_, codes)| codes.contains(&code))?;
            Some(format!(
                "{}: {}; {}",
                need.place(),
                need.what(),
                need.supply()
            ))
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

/// The wording shared by checks, the recommendation and the cap of the score.
pub fn could_not_be_read(table: &str) -> String {
    format!("the table `{table}` could not be read")
}

fn mend(table: &str) -> String {
    format!("fix `{table}` (see `tokendeck check`)")
}

fn said(list: &[(AnomalyCode, String)], code: AnomalyCode) -> Option<String> {
    list.iter()
        .find(|(of, _)| *of == code)
        .map(|(_, text)| text.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_of_a_table_that_could_not_be_read_neither_passes_nor_asks_for_rows() {
        let part = Part::Transactions;
        let mut log = CheckLog::default();
        log.saw(AnomalyCode::OneWayFlow, "186 buys and 93 sells");
        log.unsure(
            AnomalyCode::SellFailures,
            "transfers: 0 attempted sells; at least 10 needed",
        );
        log.note(NeededInput::Pools, &[AnomalyCode::PrivilegedSellers]);
        log.note(NeededInput::Creator, &[AnomalyCode::CreatorDump]);
        let found = [Anomaly::new(AnomalyCode::Sniped, 1.0, "bought at once")];
        assert!(log.without("pools", part, &found));
        for code in [
            AnomalyCode::OneWayFlow,
            AnomalyCode::SellFailures,
            AnomalyCode::PrivilegedSellers,
            AnomalyCode::CreatorDump,
        ] {
            let gap = log.gap(code).unwrap_or_default();
            assert!(
                gap.starts_with("pools: the table `pools` could not be read; fix `"),
                "{}: {gap}",
                code.word()
            );
        }
        for code in [
            AnomalyCode::Sniped,
            AnomalyCode::WashTrading,
            AnomalyCode::LpUnlocked,
        ] {
            assert_eq!(log.gap(code), None, "{}", code.word());
        }
        assert!(
            !log.without("pools", Part::Code, &[]),
            "no check of the code reads pools"
        );
        // Each check is missing once.
        let missing = log.missing(part);
        let codes: Vec<AnomalyCode> = missing
            .iter()
            .flat_map(|missing| missing.codes.iter().copied())
            .collect();
        assert_eq!(
            codes
                .iter()
                .filter(|code| **code == AnomalyCode::PrivilegedSellers)
                .count(),
            1
        );
        assert_eq!(
            (missing.len(), missing[0].what.as_str()),
            (1, "the table `pools` could not be read")
        );
    }
}
