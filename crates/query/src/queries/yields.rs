//! The query behind POST /yield/optimize: the strictly validated portfolio and settings. The plan is computed in the analysis, its shape
//! is in `answer`.

pub mod answer;

use std::collections::BTreeMap;

use ruint::aliases::U256;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{json, value::RawValue};

pub use self::answer::YieldPlan;
use super::{
    BodyQuery, Find as _, Query,
    json::{distinct_members, invalid, members, pointer, text, well_formed},
    parameter::{
        AN_ADDRESS, Arguments, EXAMPLE_TOKEN, EXPLAIN, NamedToken, Parameter, TokenReader, clip,
    },
    request::{ParameterValue, Request, target},
    security::{SecurityWarning, WarningsOf},
    view::View,
};
pub use analysis::yields::risk::RiskLevel;
use analysis::yields::{case::PlanPreferences, plan, wallet};
use model::{
    address::Address,
    chain::Chain,
    error::{Code, Problem, Result},
    progress::Progress,
};

const TOKENS_MAX: usize = 1_000;
/// Maximum number of names in `chains`; there are fewer than half as many chains.
const CHAINS_MAX: usize = 1_000;

/// A yield request: the portfolio to allocate and its constraints.
#[derive(Debug, Clone, PartialEq)]
pub struct YieldQuery {
    /// Amounts in the token's smallest unit.
    pub tokens: BTreeMap<Address, U256>,
    pub risk_level: RiskLevel,
    /// Empty: all.
    pub chains: Vec<Chain>,
    /// In percent.
    pub min_apy: f64,
    /// `None`: as the risk level sets it.
    pub max_lock_days: Option<f64>,
    pub exit_within_days: Option<f64>,
    pub explain: bool,
}

/// The words of `riskLevel`, synonyms included.
const RISK_WORDS: &[(&str, RiskLevel)] = &[
    ("low", RiskLevel::Low),
    ("medium", RiskLevel::Medium),
    ("high", RiskLevel::High),
    ("conservative", RiskLevel::Low),
    ("moderate", RiskLevel::Medium),
    ("balanced", RiskLevel::Medium),
    ("aggressive", RiskLevel::High),
];

fn risk_words() -> Vec<&'static str> {
    RISK_WORDS.iter().map(|(word, _)| *word).collect()
}

impl Request for YieldQuery {
    const PATH: &'static str = "/yield/optimize";
    const PARAMETERS: &'static [Parameter] = &[EXPLAIN];

    /// A POST query is parsed from its body, by `parse_request`.
    fn parse(arguments: &Arguments<'_>) -> Result<Self> {
        Self::parse_request(arguments, b"")
    }

    fn target(&self) -> String {
        target(Self::PATH, &[(EXPLAIN, self.explain.written())])
    }

    fn explains(&self) -> bool {
        self.explain
    }
}

impl Query for YieldQuery {
    type Answer = YieldPlan;
    const NAME: &'static str = "yield";
    const SUMMARY: &'static str = "Optimize a yield allocation.";

    fn answer(&self, view: &View<'_>, progress: &Progress) -> Result<YieldPlan> {
        for chain in &self.chains {
            let in_data = || {
                view.yields.knows(chain)
                    || view
                        .market
                        .tokens
                        .iter()
                        .any(|token| token.chains.contains(chain))
            };
            if chain.id().is_none() && !in_data() {
                return Err(invalid(
                    "/settings/chains",
                    &format!(
                        "unknown chain `{}`; the closest are {}",
                        clip(chain.as_str()),
                        Chain::nearest(chain.as_str()).join(", ")
                    ),
                ));
            }
        }
        let holdings = wallet::holdings(&view.dataset, &self.tokens, &self.chains);
        let wish = PlanPreferences {
            risk: self.risk_level,
            min_apy: self.min_apy,
            max_lock_days: self.max_lock_days,
            exit_within_days: self.exit_within_days,
        };
        let plan = plan(&view.yields, &holdings, wish, &mut |done, total| {
            progress.step(done, total).is_ok()
        });
        if progress.cancelled() {
            progress.step(0, 0)?;
        }
        let mut answer = YieldPlan::new(&plan, &holdings, self.risk_level, self.explain);
        if let Some(notes) = &mut answer.notes {
            let warnings =
                WarningsOf(self.tokens.keys().copied().collect()).find(view, progress)?;
            let symbol = |token: &Address| {
                view.dataset
                    .token(token)
                    .and_then(|token| token.row.symbol.clone())
            };
            let named = |of: SecurityWarning| {
                format!(
                    "{}: {}",
                    symbol(&of.token_address).unwrap_or(of.token_address.short()),
                    of.warning
                )
            };
            notes.splice(0..0, warnings.into_iter().map(named));
        }
        Ok(answer)
    }

    fn shows_verdict(&self) -> bool {
        true
    }

    fn body(&self) -> Option<String> {
        let body = YieldBody {
            tokens: self
                .tokens
                .iter()
                .map(|(address, amount)| (address.to_string(), amount.to_string()))
                .collect(),
            settings: YieldSettings {
                risk_level: self.risk_level,
                chains: self.chains.clone(),
                min_apy: self.min_apy,
                max_lock_days: self.max_lock_days,
                exit_within_days: self.exit_within_days,
            },
        };
        serde_json::to_string(&body).ok()
    }
}

impl BodyQuery for YieldQuery {
    fn parse_request(arguments: &Arguments<'_>, body: &[u8]) -> Result<Self> {
        let explain = arguments.flag("explain")?;
        Ok(Self {
            explain,
            ..Self::parse_body(body, arguments.tokens())?
        })
    }
}

/// Body of POST /yield/optimize.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(example = json!({
    "tokens": { EXAMPLE_TOKEN: "1000000000000000000" }, "settings": { "riskLevel": "medium", "chains": ["eth"], "minApy": 2 }
}))]
pub struct YieldBody {
    /// From token, by address or symbol, to amount in base units, at most 2^256-1.
    #[schemars(extend("minProperties" = 1, "maxProperties" = TOKENS_MAX, "propertyNames" = NamedToken::text(),
                      "additionalProperties" = { "type": "string", "pattern": "^[0-9]+$" }))]
    tokens: BTreeMap<String, String>,
    #[serde(default)]
    #[schemars(with = "Option<YieldSettings>")]
    settings: YieldSettings,
}

/// Constraints of the plan.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct YieldSettings {
    /// low, medium or high; conservative, moderate, balanced and aggressive are synonyms.
    #[schemars(with = "String", extend("enum" = risk_words()))]
    risk_level: RiskLevel,
    /// Short names or aliases; empty: all.
    chains: Vec<Chain>,
    /// In percent.
    min_apy: f64,
    /// Maximum days of a lock; excludes unknown locks. Absent: as `riskLevel` sets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    max_lock_days: Option<f64>,
    /// Maximum days until all can be withdrawn, as `maxLockDays`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    exit_within_days: Option<f64>,
}

impl Default for YieldSettings {
    fn default() -> Self {
        Self {
            risk_level: RiskLevel::Medium,
            chains: Vec::new(),
            min_apy: 0.0,
            max_lock_days: None,
            exit_within_days: None,
        }
    }
}

impl YieldQuery {
    /// Parses the body: syntax first (400), then each value (422, with its JSON pointer).
    pub fn parse_body(body: &[u8], tokens: TokenReader<'_>) -> Result<Self> {
        let whole = well_formed(body)?;
        let mut question = Self {
            tokens: BTreeMap::new(),
            risk_level: RiskLevel::Medium,
            chains: Vec::new(),
            min_apy: 0.0,
            max_lock_days: None,
            exit_within_days: None,
            explain: false,
        };
        let mut seen_tokens = false;
        for (name, value) in members("", whole)? {
            match &*name {
                "tokens" => {
                    seen_tokens = true;
                    question.tokens = parse_tokens(value, tokens)?;
                }
                "settings" if value.get() == "null" => {}
                "settings" => question.parse_settings(value)?,
                _ => {
                    return Err(invalid(
                        &pointer("", &name),
                        "unknown field; expected `tokens` and `settings`",
                    ));
                }
            }
        }
        if seen_tokens {
            Ok(question)
        } else {
            Err(invalid(
                "/tokens",
                "the field is missing; expected an object from token address to amount",
            ))
        }
    }

    fn parse_settings(&mut self, value: &RawValue) -> Result<()> {
        for (name, value) in members("/settings", value)? {
            match &*name {
                "riskLevel" => self.risk_level = parse_risk(value)?,
                "chains" => self.chains = parse_chains(value)?,
                "minApy" => {
                    self.min_apy = parse_number(value, "/settings/minApy", "in percent", |_| true)?;
                }
                "maxLockDays" => {
                    self.max_lock_days = Some(parse_days(value, "/settings/maxLockDays")?);
                }
                "exitWithinDays" => {
                    self.exit_within_days = Some(parse_days(value, "/settings/exitWithinDays")?);
                }
                _ => {
                    return Err(invalid(
                        &pointer("/settings", &name),
                        "unknown setting; expected `riskLevel`, `chains`, `minApy`, `maxLockDays` or `exitWithinDays`",
                    ));
                }
            }
        }
        Ok(())
    }
}

fn parse_number(value: &RawValue, at: &str, unit: &str, fits: fn(f64) -> bool) -> Result<f64> {
    let number = serde_json::from_str(value.get()).ok();
    number
        .filter(|number: &f64| number.is_finite() && fits(*number))
        .ok_or_else(|| {
            let given = clip(value.get());
            invalid(
                at,
                &format!("expected a finite number {unit}, not `{given}`"),
            )
        })
}

fn parse_days(value: &RawValue, at: &str) -> Result<f64> {
    parse_number(value, at, "of days, at least 0", |days| days >= 0.0)
}

fn parse_tokens(value: &RawValue, reader: TokenReader<'_>) -> Result<BTreeMap<Address, U256>> {
    let entries = distinct_members("/tokens", value, Code::DuplicateToken)?;
    if entries.is_empty() || entries.len() > TOKENS_MAX {
        return Err(invalid(
            "/tokens",
            &format!("{} entries; expected 1 to {TOKENS_MAX}", entries.len()),
        ));
    }
    let mut tokens = BTreeMap::new();
    for (key, value) in entries {
        let at = pointer("/tokens", &key);
        let refused = || {
            invalid(
                &at,
                &format!(
                    "`{}` is not an address; {AN_ADDRESS}.{}",
                    clip(&key),
                    reader.proposal(&key)
                ),
            )
        };
        let address = reader.read(&key)?.ok_or_else(refused)?;
        let amount = text(value)
            .filter(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
            .and_then(|digits| U256::from_str_radix(&digits, 10).ok())
            .ok_or_else(|| {
                let expected = "expected a string of decimal digits: the amount in base units, at most 2^256-1";
                invalid(&at, &format!("`{}`; {expected}", clip(value.get())))
            })?;
        if tokens.insert(address, amount).is_some() {
            let twice = format!("`{address}` is set twice, perhaps in different spellings");
            return Err(Problem::new(
                Code::DuplicateToken,
                invalid(&at, &twice).detail,
            ));
        }
    }
    Ok(tokens)
}

fn parse_risk(value: &RawValue) -> Result<RiskLevel> {
    let word = text(value).map(|word| word.to_lowercase());
    RISK_WORDS
        .iter()
        .find(|(known, _)| word.as_deref() == Some(known))
        .map(|(_, level)| *level)
        .ok_or_else(|| {
            invalid(
                "/settings/riskLevel",
                &format!(
                    "`{}`; expected one of {}",
                    clip(value.get()),
                    risk_words().join(", ")
                ),
            )
        })
}

/// Names are only normalized here: whether an unlisted chain is in the data is known when the query is answered.
fn parse_chains(value: &RawValue) -> Result<Vec<Chain>> {
    let names: Vec<String> = serde_json::from_str(value.get()).map_err(|_| {
        invalid(
            "/settings/chains",
            &format!(
                "expected an array of chain names, not `{}`",
                clip(value.get())
            ),
        )
    })?;
    if names.len() > CHAINS_MAX {
        return Err(invalid(
            "/settings/chains",
            &format!("{} names; at most {CHAINS_MAX} are allowed", names.len()),
        ));
    }
    let mut chains = Vec::new();
    for (i, name) in names.iter().enumerate() {
        let chain = Chain::parse(name).ok_or_else(|| {
            invalid(
                &format!("/settings/chains/{i}"),
                "empty; expected a chain name",
            )
        })?;
        if !chains.contains(&chain) {
            chains.push(chain);
        }
    }
    Ok(chains)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNI: &str = "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984";

    #[test]
    fn wrong_values_are_named_by_their_pointer() {
        let upper = format!("0x{}", UNI[2..].to_uppercase());
        for (body, code, part) in [
            (String::new(), Code::InvalidJson, "not valid JSON"),
            ("{".into(), Code::InvalidJson, "not valid JSON"),
            ("[".repeat(100_000), Code::InvalidJson, "not valid JSON"),
            ("[]".into(), Code::InvalidValue, "expected an object"),
            ("{}".into(), Code::InvalidValue, "/tokens"),
            (r#"{"tokens":{}}"#.into(), Code::InvalidValue, "0 entries"),
            (r#"{"tokens":[]}"#.into(), Code::InvalidValue, "/tokens"),
            (
                r#"{"tokens":{"0x12":"1"}}"#.into(),
                Code::InvalidValue,
                "/tokens/0x12",
            ),
            (
                format!(r#"{{"tokens":{{"{UNI}":5}}}}"#),
                Code::InvalidValue,
                "decimal digits",
            ),
            (
                format!(r#"{{"tokens":{{"{UNI}":""}}}}"#),
                Code::InvalidValue,
                "decimal digits",
            ),
            (
                format!(r#"{{"tokens":{{"{UNI}":"-5"}}}}"#),
                Code::InvalidValue,
                "decimal digits",
            ),
            (
                format!(r#"{{"tokens":{{"{UNI}":"{}0"}}}}"#, U256::MAX),
                Code::InvalidValue,
                "2^256-1",
            ),
            (
                format!(r#"{{"tokens":{{"{UNI}":"1","{upper}":"1"}}}}"#),
                Code::DuplicateToken,
                "twice",
            ),
            (
                format!(r#"{{"tokens":{{"{UNI}":"1","{UNI}":"1"}}}}"#),
                Code::DuplicateToken,
                "more than once",
            ),
            (
                format!(r#"{{"tokens":{{"{UNI}":"1"}},"settings":{{"maxLockDays":-1}}}}"#),
                Code::InvalidValue,
                "/settings/maxLockDays",
            ),
            (
                format!(r#"{{"tokens":{{"{UNI}":"1"}},"settings":{{"exitWithinDays":null}}}}"#),
                Code::InvalidValue,
                "/settings/exitWithinDays",
            ),
            (
                format!(r#"{{"tokens":{{"{UNI}":"1"}},"settings":{{"riskLevel":"yolo"}}}}"#),
                Code::InvalidValue,
                "/settings/riskLevel",
            ),
            (
                format!(r#"{{"tokens":{{"{UNI}":"1"}},"settings":{{"minApy":"5"}}}}"#),
                Code::InvalidValue,
                "/settings/minApy",
            ),
            (
                format!(r#"{{"tokens":{{"{UNI}":"1"}},"settings":{{"minApi":5}}}}"#),
                Code::InvalidValue,
                "/settings/minApi",
            ),
            (
                format!(r#"{{"tokens":{{"{UNI}":"1"}},"more":1}}"#),
                Code::InvalidValue,
                "/more",
            ),
            (
                format!(r#"{{"tokens":{{"{UNI}":"1"}},"settings":7}}"#),
                Code::InvalidValue,
                "/settings",
            ),
            (
                format!(
                    r#"{{"tokens":{{"{UNI}":"1"}},"settings":{{"chains":[{}"x"]}}}}"#,
                    "\"x\",".repeat(1_000)
                ),
                Code::InvalidValue,
                "1001 names",
            ),
        ] {
            let problem =
                YieldQuery::parse_body(body.as_bytes(), TokenReader::default()).expect_err(&body);
            assert_eq!(problem.code, code, "{}", clip(&body));
            assert!(problem.detail.contains(part), "{}", problem.detail);
        }
    }

    #[test]
    fn the_whole_range_of_amounts_is_read_exactly() {
        let body = format!(
            r#"{{"tokens":{{"{UNI}":"00{}"}},"settings":{{"riskLevel":"Balanced","chains":["bsc","bnb"]}}}}"#,
            U256::MAX
        );
        let question =
            YieldQuery::parse_body(body.as_bytes(), TokenReader::default()).expect("valid");
        assert_eq!(question.tokens.values().collect::<Vec<_>>(), [&U256::MAX]);
        assert_eq!(
            (question.risk_level, question.chains.len()),
            (RiskLevel::Medium, 1)
        );
        let again = YieldQuery::parse_body(
            question.body().expect("a body").as_bytes(),
            TokenReader::default(),
        );
        assert_eq!(again, Ok(question));
    }
}
