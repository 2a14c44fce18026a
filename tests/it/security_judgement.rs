//! What the judgement of a token rests on: nobody's list, a resemblance that is rare, a sale that is known, and scans of files that are compared.
//! Each rule that withholds a word has a twin in which the word comes.

use std::{fmt::Write as _, fs, path::Path, sync::Arc};

use demo::contracts::{Identity, contract, contracts};
use load::loader::load;
use model::{
    address::Address,
    error::Result,
    progress::{NoProgress, Progress},
};
use query::{
    queries::{
        Query,
        parameter::Arguments,
        request::Request as _,
        security::SecurityQuery,
        snapshot::{AnswerSettings, Snapshot},
        tokens::TokensQuery,
        view::View,
    },
    service::{QueryService, ServiceOptions},
};
use security::{AnomalyCode, SecurityInference};
use serde_json::Value;

use crate::{
    security_contracts::{ask, deck_of},
    shared::shared,
};

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/datasets");

fn tokens(service: &QueryService, query: &str) -> Vec<Value> {
    let question =
        TokensQuery::parse(&Arguments::new(TokensQuery::PARAMETERS, &[], query).unwrap()).unwrap();
    let known = service.answer(&question, &Progress::default()).unwrap();
    serde_json::from_slice::<Value>(&known.json).unwrap()["tokens"]
        .as_array()
        .unwrap()
        .clone()
}

fn symbols(service: &QueryService, query: &str) -> String {
    let names = tokens(service, &format!("only=symbol&{query}"));
    names
        .iter()
        .filter_map(|token| token["symbol"].as_str())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Score, recommendation and parts of every token that has any; only of those in `only`, if it is given.
fn judged(folder: &Path, only: Option<&[Address]>) -> Vec<(Address, SecurityInference)> {
    let snapshot = Snapshot::new(
        1,
        load(folder, &NoProgress).expect("a dataset"),
        AnswerSettings::default(),
    );
    let all = snapshot
        .dataset
        .tokens()
        .iter()
        .map(|token| token.row.token_address);
    let asked = all.filter(|token| only.is_none_or(|only| only.contains(token)));
    let answer = |token: Address| -> Result<SecurityInference> {
        SecurityQuery {
            contract_address: token,
            explain: true,
        }
        .answer(&View::new(&snapshot), &Progress::default())
    };
    asked
        .filter_map(|token| Some((token, answer(token).ok()?)))
        .collect()
}

#[test]
fn no_score_of_the_demo_depends_on_who_is_listed() {
    let of = |listed: Option<bool>| {
        let folder = tempfile::tempdir().unwrap();
        for file in fs::read_dir(DEMO).unwrap().map(|file| file.unwrap().path()) {
            fs::copy(&file, folder.path().join(file.file_name().unwrap())).unwrap();
        }
        let place = folder.path().join("tokens.csv");
        let text = fs::read_to_string(&place).unwrap();
        let (head, rows) = text.split_once('\n').unwrap();
        assert!(head.ends_with(",listed"));
        let flagged = |row: &str| {
            let (row, own) = row.rsplit_once(',').unwrap();
            listed.map_or_else(
                || format!("{row},{own}\n"),
                |listed| format!("{row},{listed}\n"),
            )
        };
        fs::write(
            &place,
            format!("{head}\n{}", rows.lines().map(flagged).collect::<String>()),
        )
        .unwrap();
        judged(folder.path(), None)
    };
    let (given, all, none) = (of(None), of(Some(true)), of(Some(false)));
    assert!(
        given.len() > 40 && given == all && given == none,
        "{} tokens",
        given.len()
    );
}

#[test]
fn no_score_of_the_recorded_data_depends_on_who_is_listed() {
    let Some(data) = shared("data/real") else {
        return;
    };
    let manifest = fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/real/dataset.toml"
    ))
    .unwrap();
    let manifest = manifest.replace("../../../shared/data/real", &data);
    let of = |listed: bool, only: Option<&[Address]>| {
        let folder = tempfile::tempdir().unwrap();
        let flag = format!("[tables.tokens]\nset = {{ listed = \"{listed}\" }}");
        fs::write(
            folder.path().join("dataset.toml"),
            manifest.replace("[tables.tokens]", &flag),
        )
        .unwrap();
        judged(folder.path(), only)
    };
    let all = of(true, None);
    let asked: Vec<Address> = all.iter().map(|(token, _)| *token).collect();
    assert!(
        all.len() >= 10 && all == of(false, Some(&asked)),
        "{} tokens",
        all.len()
    );
}

/// The code as another author compiles it: other names of its functions, other metadata, another order of two pushes here and there.
fn recompiled(code: &[u8]) -> Vec<u8> {
    const PUSH4: u8 = 0x63;
    const STANDARD: [[u8; 4]; 5] = [
        [0xa9, 0x05, 0x9c, 0xbb],
        [0x70, 0xa0, 0x82, 0x31],
        [0x09, 0x5e, 0xa7, 0xb3],
        [0x23, 0xb8, 0x72, 0xdd],
        [0x18, 0x16, 0x0d, 0xdd],
    ];
    // Each compiler appends metadata of its own, and their length.
    let metadata = usize::from(u16::from_be_bytes([
        code[code.len() - 2],
        code[code.len() - 1],
    ])) + 2;
    let mut code = code[..code.len() - metadata].to_vec();
    for at in 0..code.len().saturating_sub(5) {
        let name = [code[at + 1], code[at + 2], code[at + 3], code[at + 4]];
        if code[at] == PUSH4 && !STANDARD.contains(&name) {
            code[at + 1..at + 5]
                .iter_mut()
                .for_each(|byte| *byte ^= 0x5a);
        }
    }
    let metadata = [
        &[0xa2, 0x64][..],
        b"ipfs",
        &[0x58, 0x22],
        &[7; 34],
        &[0x64],
        b"solc",
        &[0x43, 0, 8, 30],
        &[0, 0x33],
    ]
    .concat();
    // What another compiler checks on entry.
    code.splice(
        0..0,
        [
            0x34, 0x80, 0x15, 0x60, 0x0a, 0x57, 0x5f, 0x80, 0xfd, 0x5b, 0x50,
        ],
    );
    [code, metadata].concat()
}

#[test]
fn a_scam_in_another_guise_is_listed_and_an_honest_token_is_not() {
    let scam = "hidden_mint";
    let code = |name: &str| contract(name).unwrap().code(&Identity::default()).runtime;
    let (mut tokens, mut rows) = (
        "token_address,symbol,name,chain,decimals\n".to_owned(),
        "token_address,bytecode\n".to_owned(),
    );
    let mut row = |at: u8, symbol: &str, code: &[u8]| {
        let address = Address([at; 20]);
        writeln!(tokens, "{address},{symbol},{symbol},eth,18").unwrap();
        writeln!(rows, "{address},{}", const_hex::encode_prefixed(code)).unwrap();
        address
    };
    let others: Vec<(Address, bool)> = contracts()
        .filter(|contract| contract.name != scam)
        .enumerate()
        .map(|(i, contract)| {
            let runtime = contract.code(&Identity::default()).runtime;
            (
                row(0x20 + i as u8, contract.name, &runtime),
                contract.fires.is_empty(),
            )
        })
        .collect();
    let variant = row(0x10, "variant", &recompiled(&code(scam)));
    let scams = format!(
        "address,name,scam_type,bytecode,source\n{},Yak,honeypot,{},a list\n",
        Address([9; 20]),
        const_hex::encode_prefixed(code(scam))
    );
    let service = deck_of(&[("tokens", tokens), ("contracts", rows), ("scams", scams)]);
    let found = ask(&service, variant).unwrap();
    assert_eq!(
        found.similar_scams.len(),
        1,
        "{:?}",
        found
            .explanation
            .and_then(|explanation| explanation.token_similarity)
    );
    assert!(found.similar_scams[0].similarity < 1.0);
    let accused: Vec<_> = others
        .iter()
        .filter(|(token, _)| !ask(&service, *token).unwrap().similar_scams.is_empty())
        .collect();
    assert!(
        accused.len() * 20 <= others.len() && accused.iter().all(|(_, is_honest)| !is_honest),
        "{accused:?} of {}",
        others.len()
    );
}

#[test]
fn a_score_that_is_not_known_is_compared_with_nothing_and_sorts_last() {
    let code = |name: &str| contract(name).unwrap().code(&Identity::default());
    let mut rows = String::new();
    for (address, name) in [
        ("0x1", "honest"),
        ("0x2", "pausable"),
        ("0x3", "hidden_mint"),
    ] {
        let code = code(name);
        let [runtime, creation] = [&code.runtime, &code.creation].map(const_hex::encode_prefixed);
        writeln!(
            rows,
            "{},{runtime},{creation},[],true",
            load::sample::address(address)
        )
        .unwrap();
    }
    let tokens_of = |symbols: [&str; 4]| {
        let row = |(i, symbol): (usize, &&str)| {
            format!(
                "{},{symbol},{symbol},eth,18\n",
                load::sample::address(&format!("0x{}", i + 1))
            )
        };
        format!(
            "token_address,symbol,name,chain,decimals\n{}",
            symbols.iter().enumerate().map(row).collect::<String>()
        )
    };
    let service = deck_of(&[
        ("tokens", tokens_of(["GOOD", "MAYBE", "BAD", "BARE"])),
        (
            "contracts",
            format!(
                "token_address,bytecode,creation_bytecode,constructor_types,is_verified\n{rows}"
            ),
        ),
        // So that what resembles a scam is checked, too.
        (
            "scams",
            format!(
                "address,name,scam_type,bytecode\n{},Other,rug_pull,0x600160020160030160040160050160060100\n",
                Address([9; 20])
            ),
        ),
    ]);
    let words = tokens(
        &service,
        "only=symbol,securityScore,recommendation&sort=symbol",
    );
    let of = |i: usize| {
        (
            words[i]["symbol"].as_str().unwrap(),
            words[i]["recommendation"].as_str(),
            words[i]["securityScore"].as_i64(),
        )
    };
    assert_eq!(
        (of(1), of(3)),
        (
            ("BARE", None, None),
            ("MAYBE", Some("NOT ENOUGH DATA"), None)
        ),
        "{words:?}"
    );
    let answer = ask(&service, load::sample::address("0x2")).unwrap();
    assert_eq!(
        answer.security_score, 59,
        "the documented answer keeps its number: {}",
        answer.recommendation
    );
    for (query, expected) in [
        ("sort=-score,symbol", "GOOD BAD BARE MAYBE"),
        ("sort=score,symbol", "BAD GOOD BARE MAYBE"),
        ("where=score>=0&sort=-score", "GOOD BAD"),
        ("where=score<=100&sort=-score", "GOOD BAD"),
        ("where=score=59", ""),
        ("where=score!=59&sort=-score", "GOOD BAD"),
        ("where=recommendation:enough", "MAYBE"),
    ] {
        assert_eq!(symbols(&service, query), expected, "{query}");
    }
}

/// A service over a folder whose contract can be replaced.
fn replaceable() -> (tempfile::TempDir, Arc<QueryService>, impl Fn(&str)) {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_owned();
    let token = Address([7; 20]);
    fs::write(
        place.join("tokens.csv"),
        format!("token_address,symbol,name,chain,decimals\n{token},T,T,eth,18\n"),
    )
    .unwrap();
    let write = move |name: &str| {
        let code =
            const_hex::encode_prefixed(contract(name).unwrap().code(&Identity::default()).runtime);
        fs::write(
            place.join("contracts.csv"),
            format!("token_address,bytecode,is_verified\n{token},{code},true\n"),
        )
        .unwrap();
    };
    write("honest");
    let service = QueryService::new(folder.path(), ServiceOptions::default()).unwrap();
    service.load().unwrap();
    (folder, service, write)
}

#[test]
fn a_contract_that_was_replaced_in_its_file_is_told_from_the_one_before() {
    let (_folder, service, write) = replaceable();
    let asked = || ask(&service, Address([7; 20])).unwrap();
    let differences = |answer: &SecurityInference| -> Vec<(String, String, String)> {
        let changes = answer.changed.iter().flat_map(|changed| &changed.changes);
        changes
            .map(|change| {
                (
                    change.what.clone(),
                    change.before.clone(),
                    change.after.clone(),
                )
            })
            .collect()
    };
    let first = asked();
    assert!(
        first.changed.is_none() && first.security_score > 59,
        "{}",
        first.security_score
    );
    // Read anew, and nothing is different.
    service.load().unwrap();
    assert_eq!(
        (asked().changed, symbols(&service, "where=security_changed")),
        (None, String::new())
    );
    write("pausable");
    service.load().unwrap();
    let second = asked();
    let told = differences(&second);
    assert!(
        second.security_score <= 59 && told.iter().any(|(what, ..)| what == "code"),
        "{told:?}"
    );
    let sale = (
        "sale".to_owned(),
        "succeeds".to_owned(),
        "unknown".to_owned(),
    );
    assert!(
        told.contains(&sale)
            && told
                .iter()
                .any(|(what, ..)| what == AnomalyCode::Pausable.word()),
        "{told:?}"
    );
    assert_eq!(symbols(&service, "where=security_changed"), "T");
    // It stays in sight while other files are read anew, and an unexplained answer is as documented.
    service.load().unwrap();
    assert_eq!(differences(&asked()), told);
    let plain = service
        .answer(
            &SecurityQuery {
                contract_address: Address([7; 20]),
                explain: false,
            },
            &Progress::default(),
        )
        .unwrap();
    assert!(plain.answer.changed.is_none());
    // Back again: that, too, is a change.
    write("honest");
    service.load().unwrap();
    assert!(differences(&asked()).contains(&(
        "sale".to_owned(),
        "unknown".to_owned(),
        "succeeds".to_owned()
    )));
}
