//! Execution over states recorded from a local node: contracts of the synthetic market with pools of the real exchange's code.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

use super::*;
use crate::{AnomalyCode, changes::Scan, check_log::CheckLog, code::SaleState};
use model::{
    address::Address as ModelAddress,
    chain_state::{BlockHead, ChainAccount, ChainEvent, ChainEvents, EventFilter, Word},
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
    /// Contract, topics and data of each event.
    #[serde(default)]
    events: Vec<(String, Vec<String>, String)>,
}

/// A recorded state that knows what it was asked for: everything, or only what was fetched.
#[derive(Debug)]
struct RecordedState {
    head: BlockHead,
    accounts: HashMap<ModelAddress, ChainAccount>,
    slots: HashMap<(ModelAddress, Word), Word>,
    events: HashMap<EventFilter, ChainEvents>,
    fetched: Option<MissingState>,
    requests: u32,
}

impl ChainState for RecordedState {
    fn block(&self) -> Option<BlockHead> {
        (self.requests > 0).then_some(self.head)
    }

    fn account(&self, address: &ModelAddress) -> Option<ChainAccount> {
        let known = self
            .fetched
            .as_ref()
            .is_none_or(|fetched| fetched.accounts.contains(address));
        let nobody = || ChainAccount {
            balance: [0; 32],
            code: Arc::from([]),
        };
        known.then(|| self.accounts.get(address).cloned().unwrap_or_else(nobody))
    }

    fn slot(&self, address: &ModelAddress, slot: &Word) -> Option<Word> {
        let key = (*address, *slot);
        let known = self
            .fetched
            .as_ref()
            .is_none_or(|fetched| fetched.slots.contains(&key));
        known.then(|| self.slots.get(&key).copied().unwrap_or_default())
    }

    fn events(&self, filter: &EventFilter) -> Option<&ChainEvents> {
        self.events.get(filter)
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
    let one = all
        .tokens
        .into_iter()
        .find(|one| one.name == name)
        .expect("a recording");
    let code = |at: usize| Arc::from(const_hex::decode(&all.codes[at]).expect("hex"));
    let account = |(address, (balance, at)): (&String, &(String, usize))| {
        (
            ModelAddress(hex(address)),
            ChainAccount {
                balance: hex(balance),
                code: code(*at),
            },
        )
    };
    let slots = one.slots.iter().flat_map(|(address, slots)| {
        let address = ModelAddress(hex(address));
        slots
            .iter()
            .map(move |(slot, value)| ((address, hex(slot)), hex(value)))
    });
    let token = hex(&one.token);
    let logged = |filter: EventFilter| {
        let meant = |topics: &[Word]| {
            filter
                .topics
                .iter()
                .zip(topics)
                .all(|(wanted, topic)| wanted.is_none_or(|wanted| wanted == *topic))
        };
        let of_it = one
            .events
            .iter()
            .filter(|(address, ..)| filter.address.0 == hex(address));
        let events = of_it.map(|(_, topics, data)| ChainEvent {
            topics: topics.iter().map(|topic| hex(topic)).collect(),
            data: const_hex::decode(data).expect("hex"),
        });
        (
            filter,
            ChainEvents {
                events: events.filter(|event| meant(&event.topics)).collect(),
                whole: true,
            },
        )
    };
    let exchanges: Exchanges = toml::from_str(EXCHANGES).expect("exchanges");
    let state = RecordedState {
        head: BlockHead {
            number: one.block,
            timestamp: one.timestamp,
            hash: [0; 32],
            ..BlockHead::default()
        },
        accounts: one.accounts.iter().map(account).collect(),
        slots: slots.collect(),
        events: exchanges
            .openings("eth", Address::new(token))
            .into_iter()
            .map(logged)
            .collect(),
        fetched: sparse.then(MissingState::default),
        requests: u32::from(!sparse),
    };
    (ModelAddress(token), state)
}

fn inspected(token: ModelAddress, state: Arc<RecordedState>) -> Result<CodeReport, MissingState> {
    let exchanges: Exchanges = toml::from_str(EXCHANGES).expect("exchanges");
    let chain = Chain::known("eth").expect("a chain");
    let live = LiveInput {
        state,
        exchanges: &exchanges,
        chain: &chain,
        token,
    };
    let input = CodeInput {
        has_source: true,
        ..CodeInput::default()
    };
    inspect(&input, &live, &Budget::default(), &|| false)
}

/// What is expected of a recorded token: whether one can buy (none where an earlier buyer's tokens are sold), whether one can sell, the tax
/// of a sale, and the codes found.
type Case = (
    &'static str,
    Option<bool>,
    bool,
    Option<f64>,
    &'static [AnomalyCode],
);

#[test]
fn a_token_is_judged_by_trades_with_its_real_pool() {
    use AnomalyCode::{Blacklist, BuyBlockable, SellBlocked, SellTax};
    let cases: [Case; 5] = [
        ("honest", Some(true), true, Some(0.0), &[]),
        ("taxed", Some(true), true, Some(0.3), &[SellTax]),
        ("blocked", Some(true), false, None, &[SellBlocked]),
        ("blacklist", Some(true), true, Some(0.0), &[Blacklist]),
        // The owner has put the pool itself on the list.
        (
            "banned",
            None,
            false,
            None,
            &[SellBlocked, BuyBlockable, Blacklist],
        ),
    ];
    for (name, buys, sells, tax, codes) in cases {
        let (token, state) = recorded(name, false);
        let report = inspected(token, Arc::new(state)).expect("a whole state");
        let trades = &report.simulation.as_ref().expect("a simulation").trades;
        let sell = trades.sell.as_ref().expect("a sale");
        assert_eq!(
            (trades.buy.as_ref().map(|buy| buy.ok), sell.ok, sell.tax),
            (buys, sells, tax),
            "{name}: {trades:?}"
        );
        assert_eq!(trades.buy_reason.is_some(), buys.is_none(), "{name}");
        let found: Vec<AnomalyCode> = report
            .anomalies
            .iter()
            .map(|anomaly| anomaly.code)
            .collect();
        for code in codes {
            assert!(
                found.contains(code),
                "{name} lacks {code:?}: {:?}",
                report.anomalies
            );
        }
        assert_eq!(
            found.contains(&SellBlocked),
            !sells,
            "{name}: {:?}",
            report.anomalies
        );
        assert_eq!(report.sale, SaleState::Stands, "{name}");
        assert!(
            report.unfinished.is_empty() && report.conclusive,
            "{name}: {:?}",
            report.unfinished
        );
    }
}

#[test]
fn the_hooks_of_a_pool_are_executed_and_their_owner_is_tried() {
    use AnomalyCode::{BuyTax, ExternalCall, ExternalGate, SellBlocked, SellTax};
    // Recorded from a local node with the real exchange's code: whether a sale goes through, its tax, and the codes found.
    let cases: [(&str, bool, Option<f64>, &[AnomalyCode]); 4] = [
        ("hooks that refuse", false, None, &[SellBlocked]),
        ("hooks that keep", true, Some(0.95), &[SellTax]),
        ("hooks with a switch", true, Some(0.0), &[ExternalGate]),
        ("hooks with a fee", true, Some(0.01), &[SellTax, BuyTax]),
    ];
    for (name, sells, tax, codes) in cases {
        let (token, state) = recorded(name, false);
        let report = inspected(token, Arc::new(state)).expect("a whole state");
        let sell = report
            .simulation
            .as_ref()
            .and_then(|simulation| simulation.trades.sell.as_ref())
            .expect("a sale");
        assert_eq!(
            (sell.ok, sell.tax.map(|tax| (tax * 1e4).round() / 1e4)),
            (sells, tax),
            "{name}: {sell:?}"
        );
        let found: Vec<AnomalyCode> = report
            .anomalies
            .iter()
            .map(|anomaly| anomaly.code)
            .filter(|code| *code != ExternalCall)
            .collect();
        assert_eq!(found, codes, "{name}: {:?}", report.anomalies);
        assert!(report.conclusive, "{name}: {:?}", report.unfinished);
        assert_eq!(
            sell.reason.as_deref(),
            (!sells).then_some("execution reverted: no"),
            "{name}"
        );
    }
}

#[test]
fn a_pool_whose_logged_id_is_not_the_hash_of_its_key_is_none() {
    let (token, mut state) = recorded("hooks that refuse", false);
    for event in state
        .events
        .values_mut()
        .flat_map(|events| &mut events.events)
    {
        // Another fee.
        event.data[31] ^= 1;
    }
    let report = inspected(token, Arc::new(state)).expect("a whole state");
    assert!(
        matches!(&report.sale, SaleState::Depends(why) if why.starts_with("no pool of the token")),
        "{:?}",
        report.sale
    );
}

#[test]
fn what_nobody_was_seen_to_write_is_no_reassurance() {
    let (token, state) = recorded("blacklist", false);
    let report = inspected(token, Arc::new(state)).expect("a whole state");
    let list = report
        .anomalies
        .iter()
        .find(|anomaly| anomaly.code == AnomalyCode::Blacklist)
        .expect("a list");
    let selector: [u8; 4] = hex(list.evidence[0].selector.as_deref().expect("a function"));
    assert_eq!(report.unwritten, [], "its writer is known");
    // The same contract, whose function for it is never reached: the jump that leads there stores into memory instead.
    let (token, mut state) = recorded("blacklist", false);
    let own = state.accounts.get_mut(&token).expect("the token");
    let mut code = own.code.to_vec();
    let at = code
        .windows(5)
        .position(|bytes| bytes[0] == 0x63 && bytes[1..] == selector)
        .expect("the dispatcher");
    let jump = at
        + code[at..]
            .iter()
            .position(|byte| *byte == 0x57)
            .expect("a jump");
    code[jump] = 0x52;
    own.code = code.into();
    let report = inspected(token, Arc::new(state)).expect("a whole state");
    assert!(
        report
            .anomalies
            .iter()
            .all(|anomaly| anomaly.code != AnomalyCode::Blacklist),
        "{:?}",
        report.anomalies
    );
    let codes: Vec<AnomalyCode> = report.unwritten.iter().map(|(code, _)| *code).collect();
    assert_eq!(codes, [AnomalyCode::Blacklist], "{:?}", report.unwritten);
    let mut log = CheckLog::default();
    crate::checks::executed(&report, &mut log);
    assert!(log.is_remarkable(AnomalyCode::Blacklist) && log.gap(AnomalyCode::Blacklist).is_none());
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
        assert_eq!(
            report.simulation.map(|one| one.trades),
            expected.simulation.map(|one| one.trades),
            "{name}"
        );
    }
}

#[test]
fn trades_over_a_state_that_never_becomes_whole_show_nothing() {
    let (token, whole) = recorded("blocked", false);
    let first = live_need(token);
    // A contract that reads on and on: after many round trips most of it is still not there.
    let state = RecordedState {
        fetched: Some(first),
        requests: ROUNDS_MAX,
        ..whole
    };
    let report = inspected(token, Arc::new(state)).expect("a report, and no further request");
    assert!(
        matches!(&report.sale, SaleState::Depends(why) if why.contains("was fetched")),
        "{:?}",
        report.sale
    );
    assert!(!report.traded && report.taxes.is_none() && report.sale_unknown());
    assert!(
        report
            .anomalies
            .iter()
            .all(|anomaly| anomaly.code != AnomalyCode::SellBlocked),
        "{:?}",
        report.anomalies
    );
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
    let [before, after] =
        [before, after].map(|report| (Scan::of(&report), report.simulation.map(|one| one.block)));
    let changed = after.0.since(&before.0);
    assert_eq!(changed.since_block, before.1);
    let told: Vec<_> = changed
        .changes
        .iter()
        .map(|change| (&*change.what, &*change.before, &*change.after))
        .collect();
    let expected = [
        ("buy", "succeeds", "fails"),
        ("sale", "succeeds", "fails"),
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
    assert_eq!(
        report.unfinished,
        ["there is no contract at this address on eth"]
    );
    assert!(report.simulation.is_none() && !report.traded);
}

/// Where the code of a token stands that hands all its calls there.
const BEHIND: [u8; 20] = [0xBE; 20];

/// Code that does something first, again and again as long as there is much gas, and then hands the call on.
fn bomb(does: &[u8]) -> Vec<u8> {
    // JUMPDEST … GAS > 90,000 JUMPI
    let mut code = [
        &[0x5B],
        does,
        &[0x62, 0x01, 0x5F, 0x90, 0x5A, 0x11, 0x5F, 0x57],
    ]
    .concat();
    if does.is_empty() {
        code.clear();
    }
    code.extend([0x36, 0x5F, 0x5F, 0x37, 0x5F, 0x5F, 0x36, 0x5F, 0x73]); // CALLDATACOPY; PUSH20
    code.extend(BEHIND);
    code.extend([0x5A, 0xF4, 0x3D, 0x5F, 0x5F, 0x3E, 0x60]); // DELEGATECALL; RETURNDATACOPY; PUSH1
    let end = code.len() + 5;
    code.extend([end as u8, 0x57, 0x3D, 0x5F, 0xFD, 0x5B, 0x3D, 0x5F, 0xF3]); // JUMPI REVERT JUMPDEST RETURN
    code
}

#[test]
fn a_contract_made_to_take_long_is_given_up_soon() {
    // What it does again and again: nothing, hashing 2 KiB, a recovery, a read of another slot.
    let recover: &[u8] = &[
        0x60, 0x20, 0x5F, 0x60, 0x80, 0x5F, 0x60, 0x01, 0x61, 0x0B, 0xB8, 0xFA, 0x50,
    ];
    let deeds: [(&[u8], bool); 5] = [
        (&[], true),
        (&[0x5B], false),
        (&[0x61, 0x08, 0x00, 0x5F, 0x20, 0x50], false),
        (recover, false),
        (&[0x5A, 0x54, 0x50], false),
    ];
    for (does, finished) in deeds {
        let (token, mut state) = recorded("honest", false);
        let own = state.accounts.get_mut(&token).expect("the token");
        let behind = std::mem::replace(&mut own.code, bomb(does).into());
        state.accounts.insert(
            ModelAddress(BEHIND),
            ChainAccount {
                balance: [0; 32],
                code: behind,
            },
        );
        let report = inspected(token, Arc::new(state)).expect("a whole state");
        assert_eq!(
            report.unfinished.is_empty(),
            finished,
            "{does:02x?}: {:?}",
            report.unfinished
        );
        assert_eq!(report.conclusive, finished, "{does:02x?}");
        // The budget is work, not time: a call that goes beyond it is the last.
        let most = Budget::default().work / 10 * 11;
        assert!(report.work <= most, "{does:02x?}: {}", report.work);
    }
}
