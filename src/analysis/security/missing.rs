//! What a test may lack, and how the person supplies it. A test whose input is missing does not fire and is named.

use super::{AnomalyCode, Missing, Part};

macro_rules! needs {
    ($($need:ident $what:literal $supply:literal;)*) => {
        /// An input that a test may lack.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Need { $(#[doc = $what] $need),* }

        impl Need {
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
    Code "no contract code" "a row of the token in `contracts`, with `bytecode`";
    Transfers "no transfer data" "rows of the token in `transfers`";
    Holders "no holder data" "rows of the token in `holders`";
    Scams "no scams to compare with" "the table `scams`, with `bytecode`";
    Listed "no curated list" "the column `listed` in `tokens`";
    Pools "no pool known" "rows of `pools` with the token, or the label `liquidity_pool`";
    OwnPools "no pool of its own: others are traded for it" "rows of `pools` in which it is what is traded";
    PoolEvents "no pool events" "rows of the token's pools in `pool_events`";
    Status "no transfer status" "the column `status` in `transfers`, failed ones included";
    Creator "no creator known" "`creator` in `contracts`";
    Supply "no total supply" "`total_supply` and `decimals` in `tokens`";
    History "transfers do not begin with the first mint" "`transfers` from the token's first on";
    LpHolders "no liquidity holders" "rows of `holders` whose `token_address` is the pool";
    Blocks "no block numbers" "`block_number` in `transfers`";
    AllHolders "not all holders are given" "every holder of the token in `holders`";
}

/// What the tests of a part lack, gathered as they run.
#[derive(Debug, Default)]
pub struct Lacking(Vec<(Need, Vec<AnomalyCode>)>);

impl Lacking {
    pub fn note(&mut self, need: Need, codes: &[AnomalyCode]) {
        match self.0.iter_mut().find(|(known, _)| *known == need) {
            Some((_, known)) => known.extend_from_slice(codes),
            None => self.0.push((need, codes.to_vec())),
        }
    }

    /// `value`, or none with a note of what it needs.
    pub fn require<T>(&mut self, value: Option<T>, need: Need, code: AnomalyCode) -> Option<T> {
        if value.is_none() {
            self.note(need, &[code]);
        }
        value
    }

    pub fn into_missing(self, part: Part) -> Vec<Missing> {
        let missing = |(need, codes): (Need, Vec<AnomalyCode>)| Missing {
            part,
            what: need.what().to_owned(),
            codes,
            supply: need.supply().to_owned(),
        };
        self.0.into_iter().map(missing).collect()
    }
}
