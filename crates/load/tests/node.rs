//! A node as a source: whatever the node does, the state of a token's chain is right or a readable error, and it is available again without
//! the node.

#[path = "node/server.rs"]
mod server;

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use frames::cache::CacheOptions;
use model::{
    address::Address,
    chain_state::{ChainState, EventFilter, MissingState},
    data::Data as _,
    progress::{Cancelled, LoadProgress, NoProgress},
};
use tokendeck_load::{
    Dataset, ReadError,
    engine_rows::FetchError,
    loader::{load_as, origins_to_agree},
};
use wire::{
    Consent, MemoryLedger, RemoteClient, Source, SourceKind, TimeoutsAndRetries, WireOptions,
};

use self::server::{FakeNode, NodeTrouble};

const TOKEN: Address = Address([0xaa; 20]);
const TOKENS: &str = "token_address,symbol,name,chain\n0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,A,A,eth\n\
                      0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb,B,B,base\n";
const MANIFEST: &str = "[tables.contracts]\nsource = 'mainnet'\n";

fn source(name: &str, url: &str) -> Source {
    Source {
        name: name.into(),
        kind: SourceKind::Node,
        url: url.into(),
        chain: "eth".into(),
        timeout_seconds: 1,
        ..Source::default()
    }
}

fn wire_of(sources: Vec<Source>, consent: Consent) -> Arc<RemoteClient> {
    let ms = Duration::from_millis;
    let timeouts = TimeoutsAndRetries {
        connect_timeout: ms(500),
        read_timeout: ms(500),
        retries: 2,
        backoff: ms(1),
        backoff_max: ms(4),
    };
    RemoteClient::new(
        WireOptions {
            consent,
            sources,
            timeouts,
            ..WireOptions::default()
        },
        Arc::new(MemoryLedger::default()),
    )
}

fn wire(node: &FakeNode) -> Arc<RemoteClient> {
    wire_of(vec![source("mainnet", &node.url())], Consent::Always)
}

fn folder(tokens: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("tokens.csv"), tokens).expect("written");
    fs::write(folder.path().join("dataset.toml"), MANIFEST).expect("written");
    folder
}

fn load(folder: &Path, wire: &Arc<RemoteClient>) -> Dataset {
    load_as(
        folder,
        &CacheOptions::default(),
        Some(wire),
        &NoProgress,
        None,
        false,
    )
    .expect("a dataset")
}

/// Some accounts and slots.
fn missing(accounts: u8, slots: u8) -> MissingState {
    let address = |nth: u8| Address([nth; 20]);
    MissingState {
        accounts: (1..=accounts).map(address).collect(),
        slots: (1..=slots)
            .map(|nth| (address(nth % 3 + 1), [nth; 32]))
            .collect(),
        ..MissingState::default()
    }
}

fn fetch(dataset: &Dataset, missing: &MissingState) -> Result<Arc<dyn ChainState>, ReadError> {
    let states = dataset.chain_states_of(&TOKEN).expect("a node");
    states.fetch(&TOKEN, missing, &NoProgress)?;
    states.settle(&TOKEN);
    Ok(dataset.chain_state_of(&TOKEN).expect("a state").1)
}

/// Asserts that the state has all of it, as the fake node says it.
fn whole(state: &dyn ChainState, missing: &MissingState, fork: u8) {
    for address in &missing.accounts {
        let account = state.account(address).expect("an account");
        assert_eq!(
            (&*account.code, account.balance[31]),
            (&[0x60, address.0[0], fork][..], 7)
        );
    }
    for (address, slot) in &missing.slots {
        assert_eq!(state.slot(address, slot), Some(*slot));
    }
}

#[test]
fn what_an_answer_needs_comes_in_one_batch_whatever_the_node_does_with_it() {
    let two = || missing(3, 8);
    for (trouble, trips) in [
        (vec![], 2),
        (vec![NodeTrouble::Reversed; 2], 2),
        (vec![NodeTrouble::None, NodeTrouble::Partial], 3),
        (
            vec![NodeTrouble::Status(429, Some(0)), NodeTrouble::None],
            3,
        ),
        (
            vec![
                NodeTrouble::None,
                NodeTrouble::Status(503, None),
                NodeTrouble::Status(502, None),
            ],
            4,
        ),
        (
            vec![
                NodeTrouble::None,
                NodeTrouble::One(-32_005, "rate limit exceeded"),
            ],
            3,
        ),
        (
            vec![
                NodeTrouble::None,
                NodeTrouble::Whole(-32_005, "too many requests"),
            ],
            3,
        ),
        (vec![NodeTrouble::None, NodeTrouble::Cut], 3),
        (vec![NodeTrouble::None, NodeTrouble::Broken], 3),
    ] {
        let (node, folder) = (FakeNode::start(), folder(TOKENS));
        let dataset = load(folder.path(), &wire(&node));
        assert_eq!(
            node.requests(),
            0,
            "nothing is asked before an answer needs it"
        );
        node.trouble(trouble.clone());
        let state =
            fetch(&dataset, &two()).unwrap_or_else(|reason| panic!("{trouble:?}: {reason}"));
        whole(&*state, &two(), 0);
        let block = state.block().expect("a block");
        assert_eq!(
            (block.number, block.timestamp),
            (100, 0x6554_0000),
            "{trouble:?}"
        );
        assert_eq!(
            (state.requests(), node.requests()),
            (trips, trips as usize),
            "{trouble:?}"
        );
        // The chain's id comes with the first batch.
        assert_eq!(
            node.set().requests[0],
            ["eth_chainId", "eth_getBlockByNumber"]
        );
    }
}

#[test]
fn events_come_apart_from_the_rest_and_a_node_that_does_not_search_for_them_spoils_nothing() {
    let topic = |nth: u8| [nth; 32];
    let filter = EventFilter {
        address: Address([5; 20]),
        since: 2,
        topics: [Some(topic(9)), None, Some(topic(7)), None],
    };
    // Blocks that the node searches at once: any number, or few.
    for (span_max, whole, events) in [(None, true, 1), (Some(50), false, 0)] {
        let (node, folder) = (FakeNode::start(), folder(TOKENS));
        node.set().transfers = vec![(3, 5, 1, 2, 77), (4, 6, 1, 2, 78)];
        node.set().span_max = span_max;
        let dataset = load(folder.path(), &wire(&node));
        let state = fetch(
            &dataset,
            &MissingState {
                events: [filter].into(),
                ..missing(1, 1)
            },
        )
        .expect("a state");
        let known = state.events(&filter).expect("asked for");
        assert_eq!(
            (known.whole, known.events.len()),
            (whole, events),
            "{span_max:?}"
        );
        if let Some(event) = known.events.first() {
            assert_eq!(
                (event.topics[0], event.topics.len(), event.data[31]),
                (topic(9), 3, 77)
            );
        }
        assert!(state.account(&Address([1; 20])).is_some());
        // It is kept as the rest is.
        let again = load(folder.path(), &wire(&FakeNode::start()));
        assert_eq!(
            again
                .chain_state_of(&TOKEN)
                .expect("a state")
                .1
                .events(&filter),
            Some(known),
            "{span_max:?}"
        );
    }
}

#[test]
fn a_node_that_fails_is_told_of_in_words() {
    for (trouble, says) in [
        (
            NodeTrouble::Stall,
            "timed out after 1 s; raise `timeout_seconds` in [sources.mainnet]",
        ),
        (
            NodeTrouble::Huge,
            "sent more than 33.6 MB, the largest response accepted",
        ),
        (
            NodeTrouble::Endless,
            "sent more than 33.6 MB, the largest response accepted",
        ),
        (
            NodeTrouble::NotJson,
            "sent an unreadable response; check that `url` in [sources.mainnet] of config.toml is a node's JSON-RPC endpoint",
        ),
        (
            NodeTrouble::Status(429, None),
            "its rate limit was exceeded",
        ),
        (
            NodeTrouble::Status(429, Some(3_600)),
            "asks you to wait 3600 s",
        ),
        (NodeTrouble::Status(503, None), "returned 503 on every try"),
        (
            NodeTrouble::Status(401, None),
            "requires a valid key; check `token_env`",
        ),
        (NodeTrouble::Status(404, None), "returned 404"),
        (
            NodeTrouble::Status(302, None),
            "redirects to another address",
        ),
        (NodeTrouble::Cut, "was interrupted on every try"),
        (NodeTrouble::Broken, "was interrupted on every try"),
        (
            NodeTrouble::One(-32_000, "missing trie node 5a"),
            "has no state of that block (missing trie node 5a)",
        ),
        (
            NodeTrouble::One(-32_000, "header not found"),
            "has no state of that block (header not found)",
        ),
        (
            NodeTrouble::One(-32_000, "the database is closed"),
            "rejected the request for an account or a slot (code -32000): the database is closed",
        ),
        (NodeTrouble::Reorganised, "kept reorganizing blocks"),
    ] {
        let (node, folder) = (FakeNode::start(), folder(TOKENS));
        let dataset = load(folder.path(), &wire(&node));
        // The newest block is said before.
        node.trouble([NodeTrouble::None]);
        node.set().always = Some(trouble);
        let reason = fetch(&dataset, &missing(2, 2))
            .err()
            .unwrap_or_else(|| panic!("{trouble:?}"))
            .to_string();
        assert!(
            reason.starts_with("`node://mainnet` ") && reason.contains(says),
            "{trouble:?}: {reason}"
        );
        assert!(
            dataset
                .chain_state_of(&TOKEN)
                .is_some_and(|(_, state)| state.block().is_none()),
            "no data from this node is used"
        );
        assert!(!folder.path().join("live").exists());
    }
}

#[test]
fn a_node_that_is_away_or_of_another_chain_is_not_used() {
    let (node, data) = (FakeNode::start(), folder(TOKENS));
    node.set().chain_id = 5;
    let reason = fetch(&load(data.path(), &wire(&node)), &missing(1, 1))
        .expect_err("refused")
        .to_string();
    assert!(reason.contains("is a node of the chain 5, but [sources.mainnet] in config.toml has chain = \"eth\", which is 1"), "{reason}");
    let away = wire_of(
        vec![source("mainnet", "http://127.0.0.1:1")],
        Consent::Always,
    );
    let reason = fetch(&load(data.path(), &away), &missing(1, 1))
        .expect_err("away")
        .to_string();
    assert!(
        reason.contains("is unreachable; check the `url` of [sources.mainnet]"),
        "{reason}"
    );
    let unknown = wire_of(Vec::new(), Consent::Always);
    let reason = fetch(&load(data.path(), &unknown), &missing(1, 1))
        .expect_err("unknown")
        .to_string();
    assert!(
        reason.contains("belongs to an unknown source; add [sources.mainnet] with kind = \"node\""),
        "{reason}"
    );
}

#[test]
fn the_next_node_of_the_chain_is_asked_where_one_fails() {
    let (node, wrong, data) = (FakeNode::start(), FakeNode::start(), folder(TOKENS));
    wrong.set().chain_id = 56;
    let other = Source {
        chain: "base".into(),
        ..source("base", &wrong.url())
    };
    let sources = vec![
        source("wrong", &wrong.url()),
        other,
        source("mainnet", "http://127.0.0.1:1"),
        source("good", &node.url()),
    ];
    let dataset = load(data.path(), &wire_of(sources.clone(), Consent::Always));
    let state = fetch(&dataset, &missing(2, 2)).expect("from the third");
    whole(&*state, &missing(2, 2), 0);
    assert_eq!(
        (node.requests(), wrong.requests()),
        (2, 1),
        "one that failed is asked last"
    );
    node.set().always = Some(NodeTrouble::Status(500, None));
    let reason = fetch(&dataset, &missing(3, 2))
        .expect_err("all fail")
        .to_string();
    assert!(
        [
            "`node://wrong` is a node of the chain 56",
            "`node://good` returned 500",
            "`node://mainnet` is unreachable"
        ]
        .iter()
        .all(|says| reason.contains(says)),
        "{reason}"
    );
    let asks = wire_of(sources, Consent::Ask);
    assert_eq!(
        origins_to_agree(data.path(), &asks),
        ["node://good", "node://mainnet", "node://wrong"]
    );
    let reason = fetch(&load(data.path(), &asks), &missing(9, 9))
        .expect_err("refused")
        .to_string();
    assert!(
        reason.contains("is blocked until you allow this dataset to contact `node://mainnet`"),
        "{reason}"
    );
}

#[test]
fn a_batch_is_split_where_the_node_takes_less() {
    for most in [1, 3, 10] {
        let (node, folder) = (FakeNode::start(), folder(TOKENS));
        node.set().batch_max = Some(most);
        let dataset = load(folder.path(), &wire(&node));
        let wanted = missing(20, 40);
        whole(&*fetch(&dataset, &wanted).expect("in parts"), &wanted, 0);
        let largest = node
            .set()
            .requests
            .iter()
            .map(Vec::len)
            .filter(|calls| *calls <= most)
            .max();
        assert!(largest > Some(0), "{most}");
        // What was learnt stays: the next batches are not refused.
        let before = node.requests();
        fetch(&dataset, &missing(22, 40)).expect("more");
        assert!(
            node.set().requests[before..]
                .iter()
                .all(|calls| calls.len() <= most),
            "{most}"
        );
    }
}

#[test]
fn blocks_that_were_taken_back_are_read_again() {
    let (node, folder) = (FakeNode::start(), folder(TOKENS));
    let dataset = load(folder.path(), &wire(&node));
    let first = fetch(&dataset, &missing(2, 2)).expect("read");
    whole(&*first, &missing(2, 2), 0);
    // Between two batches.
    node.trouble([NodeTrouble::Reorganised]);
    let second = fetch(&dataset, &missing(3, 4)).expect("read anew");
    whole(&*second, &missing(3, 4), 1);
    assert_eq!(
        second.block().map(|block| block.number),
        Some(101),
        "all of it is of one block"
    );
    whole(&*first, &missing(2, 2), 0);
    // A node that no longer has the state of the block says that of the newest one.
    node.set().block = 700;
    node.trouble([NodeTrouble::One(-32_000, "missing trie node")]);
    let third = fetch(&dataset, &missing(4, 4)).expect("read anew");
    whole(&*third, &missing(4, 4), 1);
    assert_eq!(third.block().map(|block| block.number), Some(700));
}

#[test]
fn what_was_read_comes_again_without_the_node() {
    let (node, folder) = (FakeNode::start(), folder(TOKENS));
    let there = load(folder.path(), &wire(&node));
    assert!(
        there.chain_states_of(&Address([0xbb; 20])).is_none(),
        "a token of another chain has no state of this one"
    );
    fetch(&there, &missing(2, 2)).expect("read");
    let state = fetch(&there, &missing(3, 2)).expect("more of it");
    assert_eq!((state.requests(), node.requests()), (3, 3));
    fetch(&there, &missing(3, 2)).expect("nothing is missing");
    assert_eq!(node.requests(), 3);
    let away = wire_of(
        vec![source("mainnet", "http://127.0.0.1:1")],
        Consent::Never,
    );
    let here = load(folder.path(), &away);
    let again = here.chain_state_of(&TOKEN).expect("a state").1;
    whole(&*again, &missing(3, 2), 0);
    assert_eq!((again.block(), again.requests()), (state.block(), 3));
    let reason = fetch(&here, &missing(9, 9))
        .expect_err("not here")
        .to_string();
    assert!(reason.contains("remote.enabled is false"), "{reason}");
    // Asked for anew, but the node is away: what was read stays.
    let states = here.chain_states().expect("a node");
    states.forget_all();
    assert!(
        here.chain_state_of(&TOKEN)
            .is_some_and(|(_, state)| state.block().is_none())
    );
    whole(
        &*fetch(&here, &missing(1, 1)).expect("as before"),
        &missing(3, 2),
        0,
    );
    // The node is there again, and the former state stays beside the new one.
    let states = there.chain_states().expect("a node");
    assert!(states.previous_of(&TOKEN).is_none());
    states.forget_all();
    node.trouble([NodeTrouble::Reorganised]);
    let newer = fetch(&there, &missing(1, 1)).expect("read anew");
    assert_eq!(
        newer.account(&Address([2; 20])),
        None,
        "only what is asked for"
    );
    let previous = states.previous_of(&TOKEN).expect("the former state");
    assert_eq!(
        (previous.block(), newer.block().map(|block| block.number)),
        (state.block(), Some(101))
    );
    whole(&*previous, &missing(3, 2), 0);
}

#[test]
fn a_read_that_is_broken_off_leaves_what_an_answer_came_of() {
    let (node, folder) = (FakeNode::start(), folder(TOKENS));
    let first = fetch(&load(folder.path(), &wire(&node)), &missing(3, 3)).expect("read");
    // Asked again, and given up before there was an answer.
    let broken = load(folder.path(), &wire(&node));
    let states = broken.chain_states().expect("a node");
    states.forget_all();
    node.trouble([NodeTrouble::Reorganised]);
    states
        .fetch(&TOKEN, &missing(1, 1), &NoProgress)
        .expect("a part of it");
    assert_eq!(
        states.of(&TOKEN).block().map(|block| block.number),
        Some(101)
    );
    assert_eq!(
        states.previous_of(&TOKEN).and_then(|state| state.block()),
        first.block()
    );
    // And asked again.
    let again = load(folder.path(), &wire(&node));
    let states = again.chain_states().expect("a node");
    whole(&*states.of(&TOKEN), &missing(3, 3), 0);
    states.forget_all();
    node.set().block = 160;
    fetch(&again, &missing(3, 3)).expect("read");
    let previous = states.previous_of(&TOKEN).expect("the last whole one");
    assert_eq!(previous.block(), first.block());
    whole(&*previous, &missing(3, 3), 0);
}

#[test]
fn a_folder_that_cannot_be_written_costs_only_the_keeping() {
    let (node, folder) = (FakeNode::start(), folder(TOKENS));
    fs::write(folder.path().join("live"), "in the way").expect("written");
    let dataset = load(folder.path(), &wire(&node));
    let first = fetch(&dataset, &missing(2, 2)).expect("read");
    whole(
        &*fetch(&dataset, &missing(3, 2)).expect("read"),
        &missing(3, 2),
        0,
    );
    assert_eq!(node.requests(), 3);
    let states = dataset.chain_states().expect("a node");
    states.forget_all();
    node.set().block = 130;
    node.trouble([NodeTrouble::Reorganised]);
    fetch(&dataset, &missing(1, 1)).expect("read anew");
    assert_eq!(
        states.previous_of(&TOKEN).and_then(|state| state.block()),
        first.block()
    );
}

#[test]
fn a_fetch_ends_when_nobody_waits_for_it() {
    struct Impatient(AtomicBool);
    impl LoadProgress for Impatient {
        fn step(&self, _: &str, _: u64, _: u64) -> Result<(), Cancelled> {
            if self.0.swap(true, Ordering::Relaxed) {
                Err(Cancelled)
            } else {
                Ok(())
            }
        }
    }
    let (node, folder) = (FakeNode::start(), folder(TOKENS));
    node.set().always = Some(NodeTrouble::Stall);
    let slow = Source {
        timeout_seconds: 60,
        ..source("mainnet", &node.url())
    };
    let dataset = load(folder.path(), &wire_of(vec![slow], Consent::Always));
    let (states, start) = (
        dataset.chain_states_of(&TOKEN).expect("a node"),
        Instant::now(),
    );
    let ended = states.fetch(&TOKEN, &missing(1, 1), &Impatient(AtomicBool::new(false)));
    assert_eq!(ended, Err(FetchError::Cancelled));
    assert!(
        start.elapsed() < Duration::from_secs(30),
        "it waited for the node"
    );
}

/// Whoever asks for the data again.
struct Again;
impl LoadProgress for Again {
    fn step(&self, _: &str, _: u64, _: u64) -> Result<(), Cancelled> {
        Ok(())
    }
    fn renews(&self) -> bool {
        true
    }
}

#[test]
fn the_chain_says_the_names_of_tokens_that_are_addresses_alone() {
    let bare = "token_address,chain\n0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,eth\n0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb,base\n";
    let (node, folder) = (FakeNode::start(), folder(bare));
    let away = load(
        folder.path(),
        &wire_of(
            vec![source("mainnet", "http://127.0.0.1:1")],
            Consent::Always,
        ),
    );
    let token = |dataset: &Dataset| dataset.token(&TOKEN).expect("the token").row.clone();
    assert_eq!(
        (token(&away).symbol.as_deref(), token(&away).name),
        (Some("0xaaaa…aaaa"), None)
    );
    let told: Vec<String> = away
        .table("tokens")
        .map(|table| &table.findings)
        .iter()
        .flat_map(|all| all.kept())
        .map(|f| f.reason.clone())
        .collect();
    assert!(
        told.iter()
            .any(|reason| reason.contains("the names of 1 token")
                && reason.contains("is unreachable")),
        "{told:?}"
    );
    // `UNI` as a string, a name that reverts, 6 decimals, 2.5 tokens.
    let number = |number: u64| format!("0x{number:064x}");
    let uni = format!("0x{:064x}{:064x}554e49{}", 32, 3, "0".repeat(58));
    node.set().calls = [
        ("95d89b41", uni),
        ("313ce567", number(6)),
        ("18160ddd", number(2_500_000)),
    ]
    .into_iter()
    .map(|(selector, answer)| (selector.to_owned(), answer))
    .collect();
    let named = load(folder.path(), &wire(&node));
    let row = token(&named);
    assert_eq!(
        (
            row.symbol.as_deref(),
            row.name.as_deref(),
            row.decimals,
            row.total_supply
        ),
        (Some("UNI"), None, Some(6), Some(2.5))
    );
    assert_eq!(node.requests(), 2);
    let again = load(folder.path(), &wire(&node));
    assert_eq!(
        (token(&again), node.requests()),
        (row, 2),
        "what the chain said is kept"
    );
    // Whoever asks again gets what the chain says now.
    node.set()
        .calls
        .insert("18160ddd".to_owned(), number(3_000_000));
    let renewed = |wire: &Arc<RemoteClient>| {
        load_as(
            folder.path(),
            &CacheOptions::default(),
            Some(wire),
            &Again,
            None,
            false,
        )
        .expect("a dataset")
    };
    assert_eq!(token(&renewed(&wire(&node))).total_supply, Some(3.0));
    let away = renewed(&wire_of(
        vec![source("mainnet", "http://127.0.0.1:1")],
        Consent::Always,
    ));
    assert_eq!(
        (token(&away).symbol.as_deref(), token(&away).total_supply),
        (Some("UNI"), Some(3.0))
    );
}
