//! Whether a sale on the chain is known: what was sold in a fresh deployment counts only if nothing that is not in the data could have
//! stopped it. One check per kind of contract and of data.

use std::fmt::Write as _;

use demo::contracts::{Identity, contract};
use model::address::Address;
use security::{AnomalyCode, CheckState, SecurityInference};

use crate::security_contracts::{ask, deck_of};

const OWNER: Address = Address([0xA1; 20]);

/// What the dataset has of a contract beside its runtime code.
#[derive(Clone, Copy, Debug)]
enum Given {
    Runtime,
    Creation,
    /// All its slots: the supply, the owner, and these.
    Storage(&'static str),
}
use Given::{Creation, Runtime, Storage};

/// Explained answers for demo contracts.
fn answers(cases: &[(&str, Given)]) -> Vec<SecurityInference> {
    let mut tokens = "token_address,symbol,name,chain,decimals\n".to_owned();
    let mut rows = "token_address,bytecode,creation_bytecode,constructor_types,creator,owner,storage,is_verified\n".to_owned();
    let address = |i: usize| Address([0x11 + i as u8; 20]);
    for (i, (name, given)) in cases.iter().enumerate() {
        let code = contract(name).unwrap().code(&Identity::default());
        let runtime = const_hex::encode_prefixed(&code.runtime);
        let (creation, storage) = match given {
            Runtime => (String::new(), String::new()),
            Creation => (const_hex::encode_prefixed(&code.creation), String::new()),
            Storage(slots) => (
                String::new(),
                format!("{{\"0x2\": \"0x033b2e3c9fd0803ce8000000\", \"0x3\": \"{OWNER}\"{slots}}}"),
            ),
        };
        let (address, storage) = (address(i), storage.replace('"', "\"\""));
        writeln!(tokens, "{address},S{i},Sale {i},eth,18").unwrap();
        writeln!(
            rows,
            "{address},{runtime},{creation},[],{OWNER},{OWNER},\"{storage}\",true"
        )
        .unwrap();
    }
    let service = deck_of(&[("tokens", tokens), ("contracts", rows)]);
    (0..cases.len())
        .map(|i| ask(&service, address(i)).unwrap())
        .collect()
}

/// State of a check, and why it was not checked.
fn check(answer: &SecurityInference, code: AnomalyCode) -> (CheckState, &str) {
    let check = answer
        .checks
        .iter()
        .flatten()
        .find(|check| check.code == code)
        .unwrap();
    (check.state, check.missing.as_deref().unwrap_or_default())
}

#[test]
fn a_sale_that_depends_on_nothing_unknown_passes() {
    let cases = [
        ("honest", Runtime),
        ("honest", Creation),
        // Functions that write, but nothing a sale reads.
        ("pause_flag", Runtime),
        ("register", Creation),
        ("owner_mint", Runtime),
        // Only the constructor writes the fee, and it is known.
        ("tax_none", Creation),
        // The storage shows that nothing is paused, and that trading is open.
        ("pausable", Storage("")),
        ("launch_switch", Storage(", \"0xb\": \"0x1\"")),
    ];
    for (answer, case) in answers(&cases).iter().zip(cases) {
        for code in [AnomalyCode::SellBlocked, AnomalyCode::SellTax] {
            assert_eq!(
                check(answer, code),
                (CheckState::Passed, ""),
                "{case:?}: {}",
                code.word()
            );
        }
        let caps = &answer.explanation.as_ref().unwrap().caps;
        assert!(caps.iter().all(|cap| cap.score > 60), "{case:?}: {caps:?}");
    }
}

#[test]
fn a_sale_that_the_owner_may_have_stopped_is_not_checked() {
    let constructor = "which the constructor may have set";
    let cases = [
        (
            "pausable",
            Runtime,
            "which the owner can set with `pause()`",
        ),
        (
            "pausable",
            Creation,
            "which the owner can set with `pause()`",
        ),
        (
            "blacklist",
            Creation,
            "an entry of the mapping at slot 5, which the owner can set with `ban(holder, true)`",
        ),
        ("buy_block", Creation, "which the owner can set with `"),
        (
            "tax_raisable",
            Creation,
            "which the owner can set with `setFee(99)`",
        ),
        ("gate", Creation, "which the owner can set with `"),
        (
            "launch_switch",
            Runtime,
            "selling works in a fresh deployment once trading opens, but it depends on slot 11, whose on-chain value is unknown",
        ),
        (
            "launch_switch",
            Creation,
            "selling works in a fresh deployment once trading opens, but it depends on slot 11, whose on-chain value is unknown",
        ),
        // The trap and its honest twin share their code.
        ("tax", Runtime, constructor),
        ("tax_none", Runtime, constructor),
        ("sell_block_pair", Runtime, constructor),
        ("sell_allowlist", Runtime, constructor),
        (
            "launch_switch",
            Storage(""),
            "with the dataset's storage, selling is disabled until trading opens",
        ),
    ];
    let asked = cases.map(|(name, given, _)| (name, given));
    for (answer, (name, given, says)) in answers(&asked).iter().zip(cases) {
        let (state, missing) = check(answer, AnomalyCode::SellBlocked);
        assert_eq!(state, CheckState::NotChecked, "{name} {given:?}");
        assert!(
            missing.starts_with("contracts: ") && missing.contains(says),
            "{name} {given:?}: {missing}"
        );
        assert_ne!(
            check(answer, AnomalyCode::SellTax).0,
            CheckState::Passed,
            "{name} {given:?}"
        );
        let caps = &answer.explanation.as_ref().unwrap().caps;
        assert!(
            caps.iter()
                .any(|cap| cap.score == 59 && cap.reason.contains("can be sold on-chain now")),
            "{name} {given:?}: {caps:?}"
        );
        let word = answer.recommendation.split(':').next().unwrap_or_default();
        assert!(
            answer.security_score < 60 && !["LOW RISK", "NO MAJOR RISK FOUND"].contains(&word),
            "{name} {given:?}: {word}"
        );
    }
}

#[test]
fn the_missing_storage_is_named_with_the_checks_that_need_it() {
    let answers = answers(&[("pausable", Creation), ("honest", Creation)]);
    let says = "no contract storage (Selling blocked, Sell tax)";
    let [paused, honest] =
        [&answers[0], &answers[1]].map(|answer| answer.recommendation.contains(says));
    assert!(
        paused && !honest,
        "{} / {}",
        answers[0].recommendation,
        answers[1].recommendation
    );
}
