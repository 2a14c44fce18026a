//! Security inference of one token: runs the checks of its three parts and the comparisons, and assembles the response. Every step is
//! implemented in another file.

use std::sync::Arc;

use super::{
    Anomaly, AnomalyCode, AnomalyDetection, Danger, Explanation, Missing, Part, SecurityChanges,
    SecurityInference,
    changes::Scan,
    check_log::{self, CheckLog, NeededInput},
    checks,
    code::{
        self, Budget, CodeInput, CodePlace, CodeReport, Slot,
        live::{self, Exchanges, LiveInput},
    },
    corpus::{Corpus, contract_code},
    disputes,
    facts::TokenContext,
    holders::{self, HolderFindings},
    implementations,
    resemblance::{self, CodeTraits, Resemblance},
    score::{self, KnownInputs},
    similarity::bytes,
    transactions::{self, Transactions},
};
use analysis::{clusters::Clusters, numeric::to_four_places};
use model::{
    address::Address,
    chain::Chain,
    chain_state::{ChainState, MissingState},
    data::Data,
    error::Result,
    rows::ContractRow,
    time::Time,
    token::Token,
};

/// Receiver of progress reports, which may cancel the inference.
pub trait ProgressSink {
    /// Reports progress. Errors: the request was canceled.
    fn step(&self, done: u64, total: u64) -> Result<()>;
    fn cancelled(&self) -> bool;
}

/// Labels of contracts that several parties decide over together.
const SHARED_LABELS: &[&str] = &[
    "multisig",
    "safe",
    "safe-formerly-gnosis-safe",
    "gnosis-safe",
    "timelock",
    "governor",
    "dao",
    "contract",
];

/// Chain of a token whose data name none.
const USUAL_CHAIN: &str = "eth";

/// Strength from which sales that end later, or for some, count as sales that fail.
const ENDS: f64 = 0.6;

/// Number of largest holders whose balances a complete snapshot must contain.
const HOLDERS_ASKED: usize = 5;

/// Whether the token has any data for a security inference.
pub fn has_data(dataset: &dyn Data, token: &Address) -> bool {
    dataset.chain_state_of(token).is_some()
        || dataset.contracts().count(token) > 0
        || dataset.transfers_listed(token) > 0
        || dataset.holders_listed(token) > 0
}

/// The code on the chain, if there is any, and what executing it over the chain's state shows.
#[derive(Debug)]
pub struct OnChain {
    code: Option<Vec<u8>>,
    report: CodeReport,
}

/// What executing the token's code over the chain's state shows; `None` where the dataset names no node. Errors: the state to fetch before
/// it is executed again.
pub fn on_chain(
    dataset: &dyn Data,
    token: &Token,
    exchanges: &Exchanges,
    cancelled: &dyn Fn() -> bool,
) -> std::result::Result<Option<OnChain>, MissingState> {
    let address = &token.row.token_address;
    let Some((chain, state)) = dataset.chain_state_of(address) else {
        return Ok(None);
    };
    let facts = TokenContext::new(dataset, token);
    let report = inspect_on_chain(&facts, exchanges, &chain, &state, cancelled)?;
    let code = state
        .account(address)
        .map(|account| account.code.to_vec())
        .filter(|code| !code.is_empty());
    Ok(Some(OnChain { code, report }))
}

/// Runs the security inference; also returns the scan that later scans are compared with. `live` is the result of `on_chain`. `earlier`:
/// earlier scans of the dataset's files, newest first. `traits_of` executes a known scam's code as `traits` does, and may cache the result.
/// Errors: canceled.
pub fn infer(
    dataset: &dyn Data,
    token: &Token,
    (corpus, exchanges): (&Corpus, &Exchanges),
    (live, earlier): (Option<OnChain>, &[Scan]),
    explain: bool,
    traits_of: &dyn Fn(&Address, &[u8]) -> CodeTraits,
    watch: &dyn ProgressSink,
) -> Result<(SecurityInference, Scan)> {
    let facts = TokenContext::new(dataset, token);
    // Each transfer row is a step; execution and comparison are one step each.
    let total = dataset.transfers().count(&facts.address) as u64 + 2;
    let transactions = transactions::examine(&facts, &|done, _| watch.step(done, total))?;
    let holders = holders::examine(&facts, &transactions);
    watch.step(total - 2, total)?;
    let mut log = CheckLog::default();
    let live_before = live
        .as_ref()
        .map(|_| earlier_report(&facts, exchanges, &|| watch.cancelled()));
    // What the node says counts: code of the dataset for an address without any is of the past.
    let OnChain { code, report } = live.unwrap_or_else(|| {
        let code = contract_code(dataset, &facts.address);
        let report = code
            .as_deref()
            .map(|code| execute(&facts, code, exchanges, &|| watch.cancelled()))
            .unwrap_or_default();
        OnChain { code, report }
    });
    let scan = Scan::of(&report);
    let changed = match live_before {
        Some(before) => before
            .filter(|before| before.simulation.is_some())
            .map(|before| scan.since(&Scan::of(&before))),
        None => scan.since_any(earlier),
    };
    watch.step(total - 1, total)?;
    let own = traits_from(&report);
    let resembles =
        resemblance::examine(&facts, corpus, code.as_deref(), &own, traits_of, &mut log);
    if code.is_none() {
        let executed = AnomalyCode::of(Part::Code)
            .filter(|code| !matches!(code, AnomalyCode::KnownScam | AnomalyCode::Impersonates));
        log.note(NeededInput::Code, &executed.collect::<Vec<_>>());
    } else {
        checks::executed(&report, &mut log);
    }
    watch.step(total, total)?;
    let findings = Findings {
        changed,
        has_code: code.is_some(),
        facts,
        report,
        resembles,
        log,
        transactions,
        holders,
    };
    Ok((findings.inference(explain), scan))
}

/// Results of all checks and comparisons of a token.
struct Findings<'a> {
    changed: Option<SecurityChanges>,
    has_code: bool,
    facts: TokenContext<'a>,
    report: CodeReport,
    resembles: Resemblance,
    /// Log of the code checks; the other parts have theirs.
    log: CheckLog,
    transactions: Transactions,
    holders: HolderFindings,
}

impl Findings<'_> {
    fn inference(self, explain: bool) -> SecurityInference {
        let mut known = self.known_inputs();
        let Self {
            changed,
            facts,
            report,
            resembles,
            mut log,
            mut transactions,
            mut holders,
            ..
        } = self;
        let mut codes = report.anomalies.clone();
        codes.extend(resembles.anomalies);
        let mut parts = [codes, transactions.anomalies, holders.anomalies];
        let newest = facts.as_of(transactions.last).max(
            report
                .simulation
                .as_ref()
                .map(|simulation| simulation.timestamp),
        );
        for part in &mut parts {
            disputes::mark(part, facts.dataset.disputes_of(&facts.address), newest);
            score::order(part);
        }
        let [codes, moves, held] = &parts;
        let by_part = [
            (&mut log, Part::Code, codes),
            (&mut transactions.log, Part::Transactions, moves),
            (&mut holders.log, Part::Holders, held),
        ];
        for (log, part, found) in by_part {
            for table in check_log::unreadable(facts.dataset) {
                if log.without(table, part, found) {
                    known.unread = known.unread.or(Some(table));
                }
            }
        }
        let verdict = score::verdict(codes, moves, held, known);
        let logs = [
            (&log, Part::Code),
            (&transactions.log, Part::Transactions),
            (&holders.log, Part::Holders),
        ];
        let missing: Vec<Missing> = logs
            .iter()
            .flat_map(|(log, part)| log.missing(*part))
            .collect();
        let checks = checks::checks([codes, moves, held], logs.map(|(log, _)| log));
        let checked = checks::checked(&checks);
        let unfinished: Vec<&String> = report
            .unfinished
            .iter()
            .chain(&transactions.unfinished)
            .collect();
        let recommendation = score::recommendation(
            &verdict,
            checked,
            [codes, moves, held],
            &missing,
            &unfinished,
        );
        let harms = |anomaly: &&Anomaly| {
            anomaly.weighed() > 0.0
                && (anomaly.code != AnomalyCode::ClosesLater || anomaly.strength >= ENDS)
        };
        let counts = parts
            .iter()
            .flatten()
            .filter(harms)
            .map(|anomaly| anomaly.code);
        let danger = Danger::new(&recommendation, counts);
        let largest_cluster = transactions.clusters.as_ref();
        let largest_cluster = largest_cluster.map(Clusters::largest_share);
        let mut execution = report.execution();
        execution.unfinished.extend(transactions.unfinished);
        SecurityInference {
            security_score: verdict.score,
            anomaly_detection: AnomalyDetection {
                transaction_patterns: score::part(
                    (!transactions.blind).then_some(moves.as_slice()),
                    explain,
                ),
                holder_distribution: score::part(
                    (!holders.blind).then_some(held.as_slice()),
                    explain,
                ),
                code_patterns: score::part(
                    (known.code || !codes.is_empty()).then_some(codes.as_slice()),
                    explain,
                ),
            },
            similar_scams: resembles.similar,
            recommendation,
            danger,
            largest_cluster,
            changed,
            simulation: report.simulation.filter(|_| explain),
            checks: explain.then_some(checks),
            explanation: explain.then(|| Explanation {
                uncapped_score: verdict.uncapped,
                caps: verdict.caps,
                checked: to_four_places(checked),
                missing,
                token_similarity: resembles.alike,
                holders: holders.metrics,
                execution: known.code.then_some(execution),
            }),
        }
    }

    fn known_inputs(&self) -> KnownInputs {
        let TokenContext {
            dataset, address, ..
        } = &self.facts;
        KnownInputs {
            code: self.has_code,
            executed: self.report.conclusive,
            sale: !self.report.sale_unknown(),
            transfers: dataset.transfers_listed(address) > 0,
            holders: dataset.holders_listed(address) > 0,
            unread: None,
        }
    }
}

/// The report over the state that was read before; `None` without one, or if it is not whole enough to be executed again.
fn earlier_report(
    facts: &TokenContext<'_>,
    exchanges: &Exchanges,
    cancelled: &dyn Fn() -> bool,
) -> Option<CodeReport> {
    let (chain, state) = facts.dataset.earlier_chain_state_of(&facts.address)?;
    inspect_on_chain(facts, exchanges, &chain, &state, cancelled).ok()
}

fn inspect_on_chain(
    facts: &TokenContext<'_>,
    exchanges: &Exchanges,
    chain: &Chain,
    state: &Arc<dyn ChainState>,
    cancelled: &dyn Fn() -> bool,
) -> std::result::Result<CodeReport, MissingState> {
    let live = LiveInput {
        state: Arc::clone(state),
        exchanges,
        chain,
        token: facts.address,
    };
    live::inspect(&code_input(facts), &live, &Budget::default(), cancelled)
}

/// What the dataset says of the contract, besides its code and storage.
fn code_input(facts: &TokenContext<'_>) -> CodeInput<'static> {
    let nobody = Address([0; 20]);
    let has_source = |row: &ContractRow| {
        row.source.as_deref().is_some_and(|text| !text.is_empty()) || row.is_verified == Some(true)
    };
    CodeInput {
        owner: facts
            .owner
            .filter(|owner| *owner != nobody)
            .or(facts.creator),
        supply_known: facts.total_supply().is_some(),
        decimals: facts
            .token
            .row
            .decimals
            .and_then(|decimals| u8::try_from(decimals).ok())
            .filter(|decimals| *decimals <= 36),
        has_source: facts.contract.as_ref().is_some_and(has_source),
        ..CodeInput::default()
    }
}

fn execute(
    facts: &TokenContext<'_>,
    runtime: &[u8],
    exchanges: &Exchanges,
    cancelled: &dyn Fn() -> bool,
) -> CodeReport {
    let row = facts.contract.as_ref();
    let creation = row
        .and_then(|row| bytes(row.creation_bytecode.as_deref()?))
        .filter(|code| !code.is_empty());
    let types = row
        .and_then(|row| row.constructor_types.as_deref())
        .and_then(constructor_types);
    let storage = row
        .and_then(|row| row.storage.as_deref())
        .map(storage_slots)
        .transpose();
    let shared = |owner: Address| {
        let labels = facts.dataset.labels_of(&owner);
        facts.dataset.contracts().count(&owner) > 0
            || labels.iter().any(|row| {
                SHARED_LABELS
                    .iter()
                    .any(|word| row.label.eq_ignore_ascii_case(word))
            })
    };
    // The largest holders, including pools and lockers: a complete snapshot has their balances.
    let holders: Vec<Address> = facts
        .dataset
        .holding_of(&facts.address)
        .rows()
        .take(HOLDERS_ASKED)
        .map(|(holder, _)| holder)
        .collect();
    let storage_of = |address: &Address| {
        let row = facts.dataset.contracts().first(address)?;
        storage_slots(&row.storage?).ok()
    };
    let slots = storage.as_ref().ok().and_then(Option::as_deref);
    let implementations = implementations::implementations(
        facts.dataset,
        &facts.address,
        runtime,
        slots,
        &storage_of,
    );
    let transfers = facts.dataset.transfers();
    let last = transfers
        .count(&facts.address)
        .checked_sub(1)
        .and_then(|at| transfers.row(&facts.address, at)?.timestamp);
    let as_of = facts.as_of(last);
    let chain = facts
        .token
        .chains
        .first()
        .map_or(USUAL_CHAIN, Chain::as_str);
    let pools = exchanges.pools(chain, &facts.address);
    let place = CodePlace {
        token: Some(facts.address),
        pools: &pools,
        digest: digest(facts, runtime, as_of),
        as_of,
        venue: exchanges.venue(chain),
    };
    let input = CodeInput {
        place,
        runtime,
        implementations: &implementations,
        creation: creation.as_deref(),
        constructor_types: types.as_deref(),
        storage: slots,
        holders: &holders,
        owner_is_contract: facts.owner.is_some_and(shared),
        ..code_input(facts)
    };
    let report = code::inspect(&input, &Budget::default(), cancelled);
    let contracts = code::contracts(facts.address, runtime, &implementations);
    let mut report = CodeReport {
        owner: facts.owner,
        contracts,
        ..report
    };
    if let Err(why) = storage {
        report
            .unfinished
            .push(format!("`storage` in `contracts` was ignored: {why}"));
    }
    report
}

/// What a contract cannot know of the data about it, in a hash: the same wherever the data lie.
fn digest(facts: &TokenContext<'_>, runtime: &[u8], as_of: Option<Time>) -> [u8; 32] {
    let TokenContext {
        dataset, address, ..
    } = facts;
    let close = dataset
        .latest_close(address)
        .map(|(time, close)| (time.0, close.to_bits()));
    let known = format!(
        "{as_of:?} {close:?} {} {}",
        dataset.transfers_listed(address),
        dataset.holders_listed(address)
    );
    code::digest(&[runtime, known.as_bytes()])
}

/// Traits of a known scam, with a smaller budget than for the token itself.
pub fn traits(code: &[u8], cancelled: &dyn Fn() -> bool) -> CodeTraits {
    let whole = Budget::default();
    let budget = Budget {
        calls: whole.calls / 8,
        work: whole.work / 12,
        ..whole
    };
    traits_from(&code::inspect(
        &CodeInput {
            runtime: code,
            has_source: true,
            ..CodeInput::default()
        },
        &budget,
        cancelled,
    ))
}

fn traits_from(report: &CodeReport) -> CodeTraits {
    let codes = report
        .anomalies
        .iter()
        .map(|anomaly| anomaly.code)
        .filter(|code| *code != AnomalyCode::Unverified)
        .collect();
    CodeTraits {
        codes,
        selectors: report.selectors.clone(),
        conclusive: report.conclusive,
    }
}

/// Parses `["address","uint256"]`, or the same without brackets and quotes.
fn constructor_types(text: &str) -> Option<Vec<String>> {
    let text = text.trim();
    if let Ok(types) = serde_json::from_str::<Vec<String>>(text) {
        return Some(types);
    }
    let plain = !text.contains(['[', '{', '"']) || text.ends_with("[]");
    plain.then(|| {
        text.split(',')
            .map(|word| word.trim().to_owned())
            .filter(|word| !word.is_empty())
            .collect()
    })
}

/// Maximum number of slots in a snapshot; larger ones are rejected.
const SLOTS_MAX: usize = 1 << 18;

/// Why a snapshot of storage cannot be used.
#[derive(Debug, PartialEq, Eq)]
enum StorageError {
    NotAnObject,
    TooManySlots { found: usize },
    NotAWord(String),
}

impl std::fmt::Display for StorageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotAnObject => f.write_str(
                "expected a JSON object that maps slots to words, both in hex, such as `{\"0x0\": \"0x1\"}`",
            ),
            Self::TooManySlots { found } => {
                write!(f, "expected at most {SLOTS_MAX} slots, found {found}")
            }
            Self::NotAWord(text) => write!(f, "`{text:.80}` is not a hex value of up to 32 bytes"),
        }
    }
}

/// Parses a JSON object from slots to words, both in hex of up to 32 bytes.
fn storage_slots(text: &str) -> std::result::Result<Vec<Slot>, StorageError> {
    let slots: std::collections::BTreeMap<String, String> =
        serde_json::from_str(text).map_err(|_| StorageError::NotAnObject)?;
    if slots.len() > SLOTS_MAX {
        return Err(StorageError::TooManySlots { found: slots.len() });
    }
    let read = |text: &String| word32(text).ok_or_else(|| StorageError::NotAWord(text.to_owned()));
    slots
        .iter()
        .map(|(slot, word)| Ok((read(slot)?, read(word)?)))
        .collect()
}

fn word32(text: &str) -> Option<[u8; 32]> {
    let digits = text.trim().strip_prefix("0x").unwrap_or(text.trim());
    let bytes = bytes(&if digits.len() % 2 == 1 {
        format!("0{digits}")
    } else {
        digits.to_owned()
    })?;
    let mut word = [0; 32];
    word.get_mut(32usize.checked_sub(bytes.len())?..)?
        .copy_from_slice(&bytes);
    Some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_slots_are_read_as_people_write_them() {
        let two = Some(vec!["address".to_owned(), "uint256[]".to_owned()]);
        for text in [r#"["address","uint256[]"]"#, "address, uint256[]"] {
            assert_eq!(constructor_types(text), two, "{text}");
        }
        assert_eq!(
            (constructor_types(r#"{"a":1}"#), constructor_types("")),
            (None, Some(vec![]))
        );
        let mut one = [0; 32];
        one[31] = 1;
        assert_eq!(storage_slots(r#"{"0x0":"0x1"}"#), Ok(vec![([0; 32], one)]));
        let long = format!("{{\"0x{}\":\"0x1\"}}", "0".repeat(65));
        let cases = [
            ("", "JSON object"),
            ("[]", "JSON object"),
            (r#"{"0x0":1}"#, "JSON object"),
            (r#"{"0xzz":"0x1"}"#, "`0xzz`"),
            (&long, "32 bytes"),
        ];
        for (text, says) in cases {
            assert!(
                storage_slots(text).is_err_and(|why| why.to_string().contains(says)),
                "{text}"
            );
        }
    }
}
