//! The question behind GET /{contractAddress}/security/inference, and what it keeps for a generation: the corpus that tokens are
//! compared with, and the traits of the scams it was compared with.

pub mod memory;

use super::{
    Question, flag_text, known_token,
    parameter::{Arguments, EXPLAIN, Parameter},
    patterns::CONTRACT,
    progress::Progress,
    snapshot::Snapshot,
    target,
};
use crate::{
    analysis::security::{SecurityInference, facts::called_scam, infer},
    dataset::address::Address,
    error::{Code, Problem, Result},
};

#[derive(Debug, Clone, PartialEq)]
pub struct SecurityQuestion {
    pub contract_address: Address,
    pub explain: bool,
}

impl Question for SecurityQuestion {
    type Answer = SecurityInference;
    const NAME: &'static str = "security";
    const SUMMARY: &'static str = "Security inference for a token contract.";
    const PATH: &'static str = "/{contractAddress}/security/inference";
    const PARAMETERS: &'static [Parameter] = &[CONTRACT, EXPLAIN];

    fn parse(arguments: &Arguments<'_>) -> Result<Self> {
        Ok(Self { contract_address: arguments.address("contractAddress")?, explain: arguments.flag("explain")? })
    }

    fn target(&self) -> String {
        target(&format!("/{}/security/inference", self.contract_address), &[("explain", flag_text(self.explain))])
    }

    fn heavy(&self) -> bool {
        true
    }

    fn answer(&self, snapshot: &Snapshot, progress: &Progress) -> Result<SecurityInference> {
        let token = known_token(snapshot, &self.contract_address)?;
        let dataset = &snapshot.dataset;
        if !infer::has_data(dataset, &self.contract_address) {
            let known = called_scam(dataset, &self.contract_address).map_or_else(String::new, |how| format!(" The address is {how}."));
            return Err(Problem::new(
                Code::NoSecurityData,
                format!(
                    "Token `{}` has no rows in `contracts`, `transfers` or `holders`: add one of them to the dataset folder.{known}",
                    self.contract_address
                ),
            ));
        }
        let watch = Watched(progress);
        let corpus = snapshot.security.corpus(dataset, progress)?;
        let traits_of =
            |address: &Address, code: &[u8]| snapshot.security.traits(address, progress, || infer::traits(code, &|| progress.cancelled()));
        let answer = infer::infer(dataset, token, corpus, self.explain, &traits_of, &watch)?;
        // An answer that was cut short because nobody waits is no answer.
        progress.step(1, 1)?;
        snapshot.security.keep_score(self.contract_address, answer.security_score);
        Ok(answer)
    }
}

impl SecurityQuestion {
    /// The token's score alone, from memory where the token was asked about before.
    pub fn score(snapshot: &Snapshot, token: Address, progress: &Progress) -> Result<i64> {
        if let Some(score) = snapshot.security.score(&token) {
            return Ok(score);
        }
        Self { contract_address: token, explain: false }.answer(snapshot, progress).map(|answer| answer.security_score)
    }
}

struct Watched<'a>(&'a Progress);

impl infer::Watch for Watched<'_> {
    fn step(&self, done: u64, total: u64) -> Result<()> {
        self.0.step(done, total)
    }

    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}
