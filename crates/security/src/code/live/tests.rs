//! Execution over states recorded from a local node: contracts of the synthetic market with pools of the real exchange's code.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

use super::*;
use crate::{AnomalyCode, changes::Scan, code::SaleState};
use model::{
    address::Address as ModelAddress,
    chain_state::{BlockHead, ChainAccount, Word},
};

const EXCHANGES: &str = include_str!("../../../../query/exchanges.toml");

/// The recordings: codes once, and each token's accounts and slots that are not zero.
#[derive(Deserialize)]
struct Recordings {
    codes: Vec<String>,
    tokens: Vec<Recording>,
}

#[derive(Deserialize)]
struct Recording {
    name: String,
    token: String,
    block: u64,
    timestamp: u64,
    /// Balance, and index of the code.
    accounts: BTreeMap<String, (String, usize)>,
    slots: BTreeMap<String, BTreeMap<String, String>>,
}

/// A recorded state that knows what it was asked for: everything, or only what was fetched.
#[derive(Debug)]
struct RecordedState {
    head: BlockHead,
    accounts: HashMap<ModelAddress, ChainAccount>,
    slots: HashMap<(ModelAddress, Word), Word>,
    fetched: Option<MissingState>,
    requests: u32,
}

impl ChainState for RecordedState {
    fn block(&self) -> Option<BlockHead> {
        (self.requests > 0).then_some(self.head)
    }

    fn account(&self, address: &ModelAddress) -> Option<ChainAccount> {
        let known = self.fetched.as_ref().is_none_or(|fetched| fetched.accounts.contains(address));
        let nobody = || ChainAccount { balance: [0; 32], code: Arc::from([]) };
        known.then(|| self.accounts.get(address).cloned().unwrap_or_else(nobody))
    }

    fn slot(&self, address: &ModelAddress, slot: &Word) -> Option<Word> {
        let key = (*address, *slot);
        let known = self.fetched.as_ref().is_none_or(|fetched| fetched.slots.contains(&key));
        known.then(|| self.slots.get(&key).copied().unwrap_or_default())
    }

    fn requests(&self) -> u32 {
        self.requests
    }

    fn rounds(&self) -> u32 {
        self.requests
    }
}

fn hex<const N: usize>(text: &str) -> [u8; N] {
    const_hex::decode_to_array(text).expect("hex")
}

/// The recorded token and its state.
fn recorded(name: &str, sparse: bool) -> (ModelAddress, RecordedState) {
    let all: Recordings = serde_json::from_str(include_str!("recorded.json")).expect("recordings");
    let one = all.tokens.into_iter().find(|one| one.name == name).expect("a recording");
    let code = |at: usize| Arc::from(const_hex::decode(&all.codes[at]).expect("hex"));
    let account = |(address, (balance, at)): (&String, &(String, usize))| {
        (ModelAddress(hex(address)), ChainAccount { balance: hex(balance), code: code(*at) })
    };
    let slots = one.slots.iter().flat_map(|(address, slots)| {
        let address = ModelAddress(hex(address));
        slots.iter().map(move |(slot, value)| ((address, hex(slot)), hex(value)))
    });
    let state = RecordedState {
        head: BlockHead { number: one.block, timestamp: one.timestamp, hash: [0; 32], ..BlockHead::default() },
        accounts: one.accounts.iter().map(account).collect(),
        slots: slots.collect(),
        fetched: sparse.then(MissingState::default),
        requests: u32::from(!sparse),
    };
    (ModelAddress(hex(&one.token)), state)
}

fn inspected(token: ModelAddress, state: Arc<RecordedState>) -> Result<CodeReport, MissingState> {
    let exchanges: Exchanges = toml::from_str(EXCHANGES).expect("exchanges");
    let chain = Chain::known("eth").expect("a chain");
    let live = LiveInput { state, exchanges: &exchanges, chain: &chain, token };
    let input = CodeInput { has_source: true, ..CodeInput::default() };
    inspect(&input, &live, &Budget::default(), &|| false)
}

/// What is expected of a recorded token: whether one can buy (none where an earlier buyer's tokens are sold), whether one can sell, the tax
/// of a sale, and the codes found.
type Case = (&'static str, Option<bool>, bool, Option<f64>, &'static [AnomalyCode]);

#[test]
fn a_token_is_judged_by_trades_with_its_real_pool() {
    use AnomalyCode::{Blacklist, BuyBlockable, SellBlocked, SellTax};
    let cases: [Case; 5] = [
        ("honest", Some(true), true, Some(0.0), &[]),
        ("taxed", Some(true), true, Some(0.3), &[SellTax]),
        ("blocked", Some(true), false, None, &[SellBlocked]),
        ("blacklist", Some(true), true, Some(0.0), &[Blacklist]),
        // The owner has put the pool itself on the list.
        ("banned", None, false, None, &[SellBlocked, BuyBlockable, Blacklist]),
    ];
    for (name, buys, sells, tax, codes) in cases {
        let (token, state) = recorded(name, false);
        let report = inspected(token, Arc::new(state)).expect("a whole state");
        let trades = &report.simulation.as_ref().expect("a simulation").trades;
        let sell = trades.sell.as_ref().expect("a sale");
        assert_eq!((trades.buy.as_ref().map(|buy| buy.ok), sell.ok, sell.tax), (buys, sells, tax), "{name}: {trades:?}");
        assert_eq!(trades.buy_reason.is_some(), buys.is_none(), "{name}");
        let found: Vec<AnomalyCode> = report.anomalies.iter().map(|anomaly| anomaly.code).collect();
        for code in codes {
            assert!(found.contains(code), "{name} lacks {code:?}: {:?}", report.anomalies);
        }
        assert_eq!(found.contains(&SellBlocked), !sells, "{name}: {:?}", report.anomalies);
        assert_eq!(report.sale, SaleState::Stands, "{name}");
        assert!(report.unfinished.is_empty() && report.conclusive, "{name}: {:?}", report.unfinished);
    }
}

#[test]
fn what_is_missing_is_asked_for_in_few_rounds_and_the_answer_is_the_same() {
    for name in ["honest", "taxed", "blocked", "blacklist", "banned"] {
        let (token, whole) = recorded(name, false);
        let expected = inspected(token, Arc::new(whole)).expect("a whole state");
        let mut known = MissingState::default();
        let mut rounds = 0;
        let report = loop {
            let (_, mut state) = recorded(name, true);
            state.fetched = Some(known.clone());
            state.requests = rounds;
            match inspected(token, Arc::new(state)) {
                Ok(report) => break report,
                Err(missing) => {
                    assert!(!missing.is_empty(), "{name}");
                    known.accounts.extend(missing.accounts);
                    known.slots.extend(missing.slots);
                    rounds += 1;
                }
            }
        };
        // One more asks for the block.
        assert!(rounds <= 5, "{name}: {rounds} rounds");
        assert_eq!(report.anomalies, expected.anomalies, "{name}");
        assert_eq!(report.simulation.map(|one| one.trades), expected.simulation.map(|one| one.trades), "{name}");
    }
}

#[test]
fn trades_over_a_state_that_never_becomes_whole_show_nothing() {
    let (token, whole) = recorded("blocked", false);
    let first = live_need(token);
    // A contract that reads on and on: after many round trips most of it is still not there.
    let state = RecordedState { fetched: Some(first), requests: ROUNDS_MAX, ..whole };
    let report = inspected(token, Arc::new(state)).expect("a report, and no further request");
    assert!(matches!(&report.sale, SaleState::Depends(why) if why.contains("was fetched")), "{:?}", report.sale);
    assert!(!report.traded && report.taxes.is_none() && report.sale_unknown());
    assert!(report.anomalies.iter().all(|anomaly| anomaly.code != AnomalyCode::SellBlocked), "{:?}", report.anomalies);
}

/// What the first round trip brings.
fn live_need(token: ModelAddress) -> MissingState {
    let (_, mut state) = recorded("blocked", true);
    state.requests = 0;
    inspected(token, Arc::new(state)).expect_err("nothing is known")
}

#[test]
fn what_the_owner_did_between_two_scans_is_named() {
    let report = |name: &str| {
        let (token, state) = recorded(name, false);
        inspected(token, Arc::new(state)).expect("a whole state")
    };
    let (before, after) = (report("blacklist"), report("banned"));
    let [before, after] = [before, after].map(|report| (Scan::of(&report), report.simulation.map(|one| one.block)));
    let changed = after.0.since(&before.0);
    assert_eq!(changed.since_block, before.1);
    let told: Vec<_> = changed.changes.iter().map(|change| (&*change.what, &*change.before, &*change.after)).collect();
    let expected = [
        ("buy", "goes through", "fails"),
        ("sale", "goes through", "fails"),
        ("SELL_BLOCKED", "not found", "found"),
        ("BUY_BLOCKABLE", "not found", "found"),
    ];
    assert_eq!(told, expected);
    assert!(after.0.since(&after.0).changes.is_empty());
}

#[test]
fn an_address_without_code_is_said_to_have_none() {
    let (_, state) = recorded("honest", false);
    let report = inspected(ModelAddress([7; 20]), Arc::new(state)).expect("a whole state");
    assert_eq!(report.unfinished, ["there is no contract at this address on eth"]);
    assert!(report.simulation.is_none() && !report.traded);
}
