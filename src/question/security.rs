//! The question behind GET /{contractAddress}/security/inference. Its parameters are checked; the inference is not built yet and
//! says so.

use super::{
    Question, flag_text, known_token,
    parameter::{Arguments, EXPLAIN, Parameter},
    patterns::CONTRACT,
    progress::Progress,
    snapshot::Snapshot,
    target,
};
use crate::{
    analysis::security::SecurityInference,
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

    fn answer(&self, snapshot: &Snapshot, _: &Progress) -> Result<SecurityInference> {
        known_token(snapshot, &self.contract_address)?;
        let dataset = &snapshot.dataset;
        if !["contracts", "transfers", "holders"].iter().any(|table| dataset.has(table)) {
            return Err(Problem::new(
                Code::NoSecurityData,
                "The loaded datasets have none of the tables `contracts`, `transfers` and `holders`: add one of them to the dataset folder.",
            ));
        }
        Err(Problem::new(Code::NotBuilt, "Security inference is not built yet."))
    }
}
