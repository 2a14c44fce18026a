//! All planted contracts and honest twins, mutated as other compilers would emit them and placed behind proxies: each fault is still found,
//! no twin is accused.

#[path = "../generator/security/mutants.rs"]
pub(crate) mod mutants;

use std::fmt::Write as _;

use demo::contracts::{Contract, Identity, contract, contracts};
use model::address::Address;
use mutants::{
    CHANGES, Change, IMPLEMENTATION_SLOT, beacon, beacon_proxy, bytes, clone_of, diamond, mutant,
    proxy_1967,
};
use security::code::{Budget, CodeInput, ImplementationContract, Opening, inspect};

use crate::security_contracts::{Codes, ask, codes, deck_of, executed, wrong};

/// Combinations of mutations, applied in order.
const TOGETHER: [&[Change]; 4] = [
    &[Change::Order, Change::Rename],
    &[Change::Pack, Change::Dead, Change::Vyper],
    &[Change::Rename, Change::Divide, Change::Dead],
    &[Change::Rename, Change::Order, Change::Halves],
];
const SEEDS: std::ops::Range<u64> = 1..4;
const IMPLEMENTATION: [u8; 20] = [0xC4; 20];
const FACET: [u8; 20] = [0xC5; 20];
/// Code additionally expected of contracts behind proxies.
const PROXY: &str = "PROXY";

fn found(input: &CodeInput<'_>) -> Codes {
    codes(&inspect(
        &CodeInput {
            has_source: true,
            ..*input
        },
        &Budget::default(),
        &|| false,
    ))
}

/// Every fault with its twin.
fn pairs() -> Vec<(&'static Contract, &'static Contract)> {
    contracts()
        .filter_map(|fault| Some((fault, contract(fault.twin?)?)))
        .collect()
}

#[test]
fn whatever_compiler_wrote_it_a_fault_is_found_and_its_twin_is_not_accused() {
    let changes: Vec<&[Change]> = CHANGES
        .iter()
        .map(std::slice::from_ref)
        .chain(TOGETHER)
        .collect();
    let (mut count, mut problems) = (0, Vec::new());
    for (fault, twin) in pairs() {
        for (change, seed) in changes
            .iter()
            .flat_map(|change| SEEDS.map(move |seed| (change, seed)))
        {
            // Deterministic mutations run once.
            let chance = change
                .iter()
                .any(|change| matches!(change, Change::Order | Change::Rename | Change::Dead));
            if seed > SEEDS.start && !chance {
                continue;
            }
            let made =
                |contract: &Contract| mutant(&contract.code(&Identity::default()), change, seed);
            let (Some(bad), Some(good)) = (made(fault), made(twin)) else {
                continue;
            };
            count += 1;
            let what = format!("{change:?} {seed}");
            problems.extend(wrong(&what, fault, &codes(&executed(&bad))));
            problems.extend(wrong(&what, twin, &codes(&executed(&good))));
        }
    }
    assert!(
        problems.is_empty(),
        "{} of {count} pairs:\n{}",
        problems.len(),
        problems.join("\n")
    );
    assert!(count >= 300, "{count} pairs");
}

#[test]
fn a_mutant_behaves_as_what_it_was_made_of() {
    // Guards against mutations that break the code: nothing found in broken code would prove nothing.
    let original = contract("owner_mint").unwrap().code(&Identity::default());
    for change in CHANGES.iter().filter(|change| **change != Change::Pack) {
        let made = mutant(&original, &[*change], 1)
            .unwrap_or_else(|| panic!("{change:?} changes nothing"));
        let report = executed(&made);
        assert!(
            report.conclusive && report.deploys == Some(true),
            "{change:?}"
        );
        assert_eq!(
            report.opening.map(Opening::word),
            Some("open"),
            "{change:?}"
        );
    }
}

#[test]
fn behind_a_proxy_the_same_is_found_as_in_the_code_itself() {
    let selectors = [
        0xa905_9cbb,
        0x70a0_8231,
        0x095e_a7b3,
        0x23b8_72dd,
        0x1816_0ddd,
    ];
    let slot: [u8; 32] = bytes(IMPLEMENTATION_SLOT).try_into().unwrap();
    let word = |address: [u8; 20]| {
        let mut word = [0; 32];
        word[12..].copy_from_slice(&address);
        word
    };
    let number = |value: u128| {
        let mut word = [0; 32];
        word[16..].copy_from_slice(&value.to_be_bytes());
        word
    };
    let at = |slot: u8| number(slot.into());
    let owner = [0xA1; 20];
    // Storage after the constructor: the supply, and the owner.
    let mut storage = vec![
        (at(2), number(Identity::default().supply)),
        (at(3), word(owner)),
    ];
    let (mut count, mut problems) = (0, Vec::new());
    for contract in pairs().into_iter().flat_map(|(fault, twin)| [fault, twin]) {
        let code = contract.runtime();
        let implementations = [IMPLEMENTATION, FACET].map(|address| ImplementationContract {
            address: Address(address),
            code: code.clone(),
            storage: Vec::new(),
        });
        let plain = found(&CodeInput {
            runtime: &code,
            ..CodeInput::default()
        });
        let stored = found(&CodeInput {
            runtime: &code,
            storage: Some(&storage),
            ..CodeInput::default()
        });
        storage.push((slot, word(IMPLEMENTATION)));
        let proxies = [
            ("EIP-1167", clone_of(IMPLEMENTATION), None, &plain),
            (
                "EIP-2535",
                diamond(FACET, IMPLEMENTATION, &selectors),
                None,
                &plain,
            ),
            ("EIP-1967", proxy_1967(), Some(storage.as_slice()), &stored),
        ];
        for (what, runtime, storage, expected) in proxies {
            // A proxy of a proxy shows nothing more.
            if contract.fires.contains(&PROXY) {
                continue;
            }
            count += 1;
            let found = found(&CodeInput {
                runtime: &runtime,
                storage,
                implementations: &implementations,
                ..CodeInput::default()
            });
            let mut expected = expected.clone();
            expected.insert(PROXY);
            if found != expected {
                problems.push(format!(
                    "{what}: {} is {found:?}, without a proxy {expected:?}",
                    contract.name
                ));
            }
        }
        storage.pop();
    }
    assert!(
        problems.is_empty(),
        "{} of {count}:\n{}",
        problems.len(),
        problems.join("\n")
    );
}

#[test]
fn what_stands_behind_a_proxy_is_found_in_the_dataset() {
    let (named, beacon_at) = (Address([0xC6; 20]), Address([0xC7; 20]));
    let slot = |slot: &str, address: Address| format!("\"{{\"\"{slot}\"\": \"\"{address}\"\"}}\"");
    let faulty = contract("owner_drain").unwrap().runtime();
    // (address, code, storage): implementation and beacon, then the proxies.
    let rows = [
        (named, faulty, String::new()),
        (beacon_at, beacon(), slot("0x0", named)),
        (Address([0x11; 20]), clone_of(named.0), String::new()),
        (
            Address([0x12; 20]),
            proxy_1967(),
            slot(&format!("0x{IMPLEMENTATION_SLOT}"), named),
        ),
        (
            Address([0x13; 20]),
            beacon_proxy(beacon_at.0),
            String::new(),
        ),
        // A clone of the previous proxy: the implementation is three steps away.
        (Address([0x15; 20]), clone_of([0x13; 20]), String::new()),
        (Address([0x14; 20]), clone_of([0xC9; 20]), String::new()),
    ];
    let (mut tokens, mut contracts) = (
        "token_address,symbol,name,chain,decimals\n".to_owned(),
        "token_address,bytecode,storage\n".to_owned(),
    );
    for (i, (address, code, storage)) in rows.iter().enumerate() {
        if i > 1 {
            writeln!(tokens, "{address},P{i},Proxy {i},eth,18").unwrap();
        }
        writeln!(
            contracts,
            "{address},{},{storage}",
            const_hex::encode_prefixed(code)
        )
        .unwrap();
    }
    let service = deck_of(&[("tokens", tokens), ("contracts", contracts)]);
    for (i, (address, ..)) in rows.iter().enumerate().skip(2) {
        let answer = ask(&service, *address).unwrap();
        let found = &answer.anomaly_detection.code_patterns.anomalies;
        let has = |code: &str| found.iter().any(|text| text.starts_with(code));
        // The last one's implementation is missing, which must be reported.
        let known = i + 1 < rows.len();
        assert!(
            has("PROXY") && has("OWNER_DRAIN") == known,
            "{i}: {found:?}"
        );
        assert_eq!(
            answer.recommendation.contains("is not in `contracts`"),
            !known,
            "{i}: {}",
            answer.recommendation
        );
    }
}

#[test]
fn taking_the_contracts_own_tokens_is_told_and_no_drain() {
    let drain = contract("owner_drain")
        .expect("it is there")
        .code(&Identity::default());
    // The owner's call takes from its argument's balance: here from the contract's own, with as many bytes.
    let from_argument = [&[0x60, 0x04, 0x35, 0x73][..], &[0xff; 20], &[0x16]].concat();
    let from_itself = [&[0x30][..], &[0x5b; 24]].concat();
    let owned = drain
        .runtime
        .windows(6)
        .rposition(|part| part == [0x33, 0x60, 0x03, 0x54, 0x73, 0xff])
        .expect("its check of the owner");
    let mut runtime = drain.runtime.clone();
    while let Some(at) = runtime[owned..]
        .windows(25)
        .position(|part| part == from_argument)
    {
        runtime[owned + at..][..25].copy_from_slice(&from_itself);
    }
    let report = inspect(
        &CodeInput {
            runtime: &runtime,
            has_source: true,
            ..CodeInput::default()
        },
        &Budget::default(),
        &|| false,
    );
    let told = report
        .anomalies
        .iter()
        .find(|anomaly| anomaly.code.word() == "OWNER_RESCUE")
        .expect("it is told");
    assert!(
        told.weighed() == 0.0 && told.sentence.contains("sent to the contract itself"),
        "{}",
        told.sentence
    );
    assert!(
        !codes(&report).contains("OWNER_DRAIN"),
        "{:?}",
        codes(&report)
    );
    let drains = found(&CodeInput {
        runtime: &drain.runtime,
        ..CodeInput::default()
    });
    assert!(
        drains.contains("OWNER_DRAIN") && !drains.contains("OWNER_RESCUE"),
        "{drains:?}"
    );
}
