//! The query behind GET /{contractAddress}/security/inference. Its caches (the contract corpus, traits of scams, summaries) are in
//! `caches::security`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Find, Query,
    caches::SecuritySummary,
    known_token,
    parameter::{CONTRACT, EXPLAIN},
    request::{Request as _, request},
    snapshot::Snapshot,
    view::View,
};
use crate::error::TextError;
use model::{
    address::Address,
    data::AddressRows as _,
    error::{Code, Problem, Result},
    progress::Progress,
    spelling::meant,
    time::Time,
};
use security::{
    AnomalyCode, Danger, SecurityInference,
    facts::{TokenContext, scam_report},
    infer,
};

request! {
    SecurityQuery at "/{contractAddress}/security/inference" {
        contract_address: Address = CONTRACT,
        explain: bool = EXPLAIN,
    }
}

impl Query for SecurityQuery {
    type Answer = SecurityInference;
    const NAME: &'static str = "security";
    const SUMMARY: &'static str = "Assess a token's security.";
    const HEAVY: bool = true;

    /// Files may return to an earlier state; then `changed` is the only difference.
    fn etag(&self, snapshot: &Snapshot) -> String {
        let changed = snapshot.security.earlier(&self.contract_address).len();
        snapshot.etag(&if self.explain && changed > 1 {
            format!("{}\n{changed}", self.target())
        } else {
            self.target()
        })
    }

    fn as_of(&self, snapshot: &Snapshot, _: &SecurityInference) -> Option<Time> {
        let (transfers, token) = (snapshot.dataset.transfers(), &self.contract_address);
        transfers
            .row(token, transfers.count(token).checked_sub(1)?)?
            .timestamp
    }

    fn answer(&self, view: &View<'_>, progress: &Progress) -> Result<SecurityInference> {
        let token = known_token(view, &self.contract_address)?;
        let dataset = &view.dataset;
        view.bring("transfers", &[self.contract_address], progress)?;
        if dataset.engine_rows("holders").is_some() {
            // Those of the pools whose liquidity is judged, too.
            let facts = TokenContext::new(dataset, token);
            let pools = facts.pools.iter().take(facts.informative).copied();
            let wanted: Vec<Address> = std::iter::once(facts.address).chain(pools).collect();
            view.bring("holders", &wanted, progress)?;
        }
        if !infer::has_data(dataset, &self.contract_address) {
            let known = scam_report(dataset, &self.contract_address)
                .map_or_else(String::new, |report| {
                    format!(" The address is {}.", report.how)
                });
            return Err(Problem::new(
                Code::NoSecurityData,
                format!(
                    "No security data for token `{}`. Add rows to `contracts`, `transfers` or `holders`, or name a node of its chain in \
                     dataset.toml ([tables.contracts] source).{known}",
                    self.contract_address
                ),
            ));
        }
        let watch = Watched(progress);
        let exchanges = &view.settings.exchanges;
        let live = view.over_state(self.contract_address, progress, || {
            infer::on_chain(dataset, token, exchanges, &|| progress.cancelled())
        })?;
        let corpus = view.security.corpus(dataset, progress)?;
        let traits_of = |address: &Address, code: &[u8]| {
            view.security.traits(address, progress, || {
                infer::traits(code, &|| progress.cancelled())
            })
        };
        let earlier = view.security.earlier(&self.contract_address);
        let (mut answer, scan) = infer::infer(
            dataset,
            token,
            (corpus, exchanges),
            (live, &earlier),
            self.explain,
            &traits_of,
            &watch,
        )?;
        // A canceled result is incomplete and must not be cached.
        progress.step(1, 1)?;
        if let Some(states) = dataset.chain_states_of(&self.contract_address) {
            states.settle(&self.contract_address);
        }
        view.security
            .insert(self.contract_address, SecuritySummary::of(&answer));
        view.security.keep_scan(self.contract_address, scan);
        answer.changed = answer.changed.filter(|_| self.explain);
        Ok(answer)
    }
}

/// Parses a finding code as people write it. Errors: the code is unknown.
pub fn finding_code(text: &str) -> std::result::Result<String, TextError> {
    let words = || AnomalyCode::ALL.iter().map(|code| code.word());
    let upper = text.trim().to_ascii_uppercase();
    words()
        .find(|word| *word == upper)
        .map(str::to_owned)
        .ok_or_else(|| TextError::UnknownFinding {
            code: text.to_owned(),
            near: meant(&upper, words()),
        })
}

impl SecurityQuery {
    /// The token's score and recommendation word, cached if possible.
    pub fn summary(
        view: &View<'_>,
        token: Address,
        progress: &Progress,
    ) -> Result<SecuritySummary> {
        if let Some(summary) = view.security.summary(&token) {
            return Ok(summary);
        }
        let answer = Self {
            contract_address: token,
            explain: false,
        }
        .answer(view, progress)?;
        Ok(view
            .security
            .summary(&token)
            .unwrap_or_else(|| SecuritySummary::of(&answer)))
    }
}

impl SecurityQuery {
    /// The verdict to show next to other results; `None` if it is unknown now. Errors: rows cannot be fetched, or those of too many tokens
    /// would have to be; canceled.
    pub fn verdict(
        view: &View<'_>,
        token: Address,
        progress: &Progress,
    ) -> Result<Option<SecuritySummary>> {
        if view.require(Self::NEEDS).is_err() {
            progress.note_partial();
            return Ok(None);
        }
        let ends = [
            Code::Cancelled,
            Code::SourceUnavailable,
            Code::InvalidParameter,
        ];
        match Self::summary(view, token, &progress.quiet()) {
            Ok(summary) => Ok(Some(summary)),
            Err(problem) if ends.contains(&problem.code) && !view.is_unread(&token) => Err(problem),
            Err(_) => Ok(None),
        }
    }
}

/// `Security: AVOID, score 0. Selling fails (SELL_BLOCKED): bought tokens cannot be sold (honeypot).`: the warning that precedes everything
/// else about a token; `None` if there is none.
pub fn warning(danger: Danger, score: i64) -> Option<String> {
    let fails = danger.against_sale().filter(|_| danger.sale_fails());
    let fails = fails.map_or_else(String::new, |code| {
        format!(" Selling fails ({}): {}.", code.word(), code.meaning())
    });
    danger
        .warns_first()
        .then(|| format!("Security: {}, score {score}.{fails}", danger.word()))
}

/// A warning about a token.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SecurityWarning {
    pub token_address: Address,
    pub warning: String,
}

/// The warnings about these tokens: tokens to avoid, and tokens that cannot be sold.
#[derive(Debug, Clone)]
pub struct WarningsOf(pub Vec<Address>);

impl Find for WarningsOf {
    type Found = Vec<SecurityWarning>;

    fn find(&self, view: &View<'_>, progress: &Progress) -> Result<Self::Found> {
        let mut warnings = Vec::new();
        for &token_address in &self.0 {
            let verdict = SecurityQuery::verdict(&view.part(1), token_address, progress)?;
            let warning = verdict.and_then(|verdict| warning(verdict.danger, verdict.score));
            warnings.extend(warning.map(|warning| SecurityWarning {
                token_address,
                warning,
            }));
        }
        Ok(warnings)
    }
}

struct Watched<'a>(&'a Progress);

impl infer::ProgressSink for Watched<'_> {
    fn step(&self, done: u64, total: u64) -> Result<()> {
        self.0.step(done, total)
    }

    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queries::tests;
    use load::sample;

    #[test]
    fn a_code_is_proposed_where_it_is_near() {
        assert_eq!(finding_code("sell_tax"), Ok("SELL_TAX".to_owned()));
        assert_eq!(
            finding_code("SEL_TAX").map_err(|error| error.to_string()),
            Err("unknown finding code `SEL_TAX`; did you mean `SELL_TAX`?".to_owned())
        );
        let far = finding_code("NOSUCH").expect_err("no code").to_string();
        assert!(!far.contains("did you mean"), "{far}");
    }

    #[test]
    fn shares_of_a_list_are_not_called_shares_of_the_supply() {
        let said = |supply: &str| {
            let holders: Vec<String> = (1..=40)
                .map(|holder| format!("0x1,0xa{holder},{}", 100 - holder))
                .collect();
            let snapshot = tests::snapshot(&[
                (
                    "tokens",
                    &format!("token_address,symbol,name,chain,total_supply\n0x1,A,A,eth,{supply}"),
                ),
                (
                    "holders",
                    &format!(
                        "token_address,holder_address,balance\n{}",
                        holders.join("\n")
                    ),
                ),
            ]);
            let question = SecurityQuery {
                contract_address: sample::address("0x1"),
                explain: true,
            };
            let answer = question
                .answer(&View::new(&snapshot), &Progress::default())
                .expect("an answer");
            serde_json::to_string(&answer).expect("JSON")
        };
        assert!(said("100000").contains("of the supply outside pools and exchanges (holders)"));
        let listed = said("");
        assert!(listed.contains("of the listed balances outside pools and exchanges, with the total supply unknown (holders)"), "{listed}");
        assert!(!listed.contains("of the supply "), "{listed}");
    }

    #[test]
    fn a_table_that_could_not_be_read_is_neither_missing_nor_without_effect() {
        let snapshot = tests::snapshot(&[
            (
                "tokens",
                "token_address,symbol,name,chain,total_supply\n0x1,A,A,eth,1000",
            ),
            (
                "holders",
                "token_address,holder_address,balance\n0x1,0xa1,1000",
            ),
            ("pools", "a,b\n1,2"),
        ]);
        let question = SecurityQuery {
            contract_address: sample::address("0x1"),
            explain: true,
        };
        let explanation = question
            .answer(&View::new(&snapshot), &Progress::default())
            .expect("an answer")
            .explanation
            .expect("an explanation");
        let said = "the table `pools` could not be read";
        assert!(
            explanation
                .caps
                .iter()
                .any(|cap| cap.score == 85 && cap.reason == said),
            "{:?}",
            explanation.caps
        );
        let of_pools = |code| {
            explanation
                .missing
                .iter()
                .any(|missing| missing.what == said && missing.codes.contains(&code))
        };
        assert!(
            [AnomalyCode::LpUnlocked, AnomalyCode::LiquidityPulled]
                .into_iter()
                .all(of_pools),
            "{:?}",
            explanation.missing
        );
        let asks_for_rows = explanation.missing.iter().any(|missing| {
            missing.supply.contains("pools to `pools`") || missing.supply.contains("`pools` rows")
        });
        assert!(!asks_for_rows, "{:?}", explanation.missing);
    }
}
