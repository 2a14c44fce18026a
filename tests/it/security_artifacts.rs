//! Third-party token contracts as shipped in registry packages: bytecode changes that keep every jump target must not change the findings.

use std::{collections::BTreeSet, fs::File};

use model::address::Address;
use polars::prelude::{ParquetReader, SerReader};
use security::code::{Budget, CodeInput, ImplementationContract, inspect};

use crate::{security_mutants::mutants::clone_of, shared::shared};

const BEHIND: [u8; 20] = [0xC4; 20];
/// Maximum code length and number of codes: the test must also finish in unoptimised builds.
const LENGTH_MAX: usize = 9_000;
const ARTIFACTS_MAX: usize = 20;

type Codes = BTreeSet<&'static str>;

/// Runtime bytecode of honest tokens from packages; `None`, with a message, if the data are missing.
fn artifacts() -> Option<Vec<Vec<u8>>> {
    let file = File::open(shared("data/security/contracts.parquet")?).expect("the contracts");
    let frame = ParquetReader::new(file).finish().unwrap();
    let text = |name: &str| frame.column(name).unwrap().str().unwrap().clone();
    let (origin, label) = (text("runtime_origin"), text("label"));
    let token = frame.column("is_erc20").unwrap().bool().unwrap().clone();
    let runtime = frame.column("runtime").unwrap().binary().unwrap().clone();
    let honest = (0..frame.height()).filter(|at| {
        origin.get(*at) == Some("artifact")
            && label.get(*at) == Some("benign")
            && token.get(*at) == Some(true)
    });
    let codes: BTreeSet<Vec<u8>> = honest
        .filter_map(|at| runtime.get(at))
        .filter(|code| code.len() <= LENGTH_MAX)
        .map(<[u8]>::to_vec)
        .collect();
    Some(codes.into_iter().collect())
}

/// Codes raised by execution; `None` if the token does not trade by itself.
fn found(input: &CodeInput<'_>) -> Option<Codes> {
    let report = inspect(
        &CodeInput {
            has_source: true,
            ..*input
        },
        &Budget::default(),
        &|| false,
    );
    report.conclusive.then(|| {
        report
            .anomalies
            .iter()
            .map(|anomaly| anomaly.code.word())
            .collect()
    })
}

fn alone(code: &[u8]) -> Option<Codes> {
    found(&CodeInput {
        runtime: code,
        ..CodeInput::default()
    })
}

fn before(front: &[u8], code: &[u8]) -> Codes {
    let implementations = [ImplementationContract {
        address: Address(BEHIND),
        code: code.to_vec(),
        storage: Vec::new(),
    }];
    found(&CodeInput {
        runtime: front,
        implementations: &implementations,
        ..CodeInput::default()
    })
    .unwrap_or_default()
}

/// Permutes adjacent dispatcher rows: `DUP1 PUSH4 EQ PUSH2 JUMPI`, eleven bytes each.
fn reordered(code: &[u8]) -> Vec<u8> {
    const ROW: usize = 11;
    let row = |at: usize| {
        let bytes = code.get(at..at + ROW)?;
        (bytes[0] == 0x80
            && bytes[1] == 0x63
            && bytes[6] == 0x14
            && bytes[7] == 0x61
            && bytes[10] == 0x57)
            .then_some(bytes)
    };
    let (mut made, mut at) = (code.to_vec(), 0);
    while at + 2 * ROW <= code.len() {
        if let (Some(first), Some(second)) = (row(at), row(at + ROW)) {
            made[at..at + ROW].copy_from_slice(second);
            made[at + ROW..at + 2 * ROW].copy_from_slice(first);
            at += 2 * ROW;
        } else {
            at += 1;
        }
    }
    made
}

/// Replaces the metadata's source hash, and the bytes after the end.
fn restamped(code: &[u8]) -> Vec<u8> {
    let length = code[code.len() - 2..]
        .iter()
        .fold(0, |length, byte| length << 8 | usize::from(*byte));
    let mut made = code.to_vec();
    if let Some(start) = code
        .len()
        .checked_sub(length + 2)
        .filter(|_| (32..=64).contains(&length))
    {
        // Skips the hash's name to reach its bytes.
        for byte in &mut made[start + 12..start + 32] {
            *byte ^= 0x5a;
        }
    }
    made.extend([0xfe, 0x55, 0xff, 0x00]);
    made
}

#[test]
fn mutated_artifacts_show_the_same_anomalies() {
    let Some(artifacts) = artifacts() else { return };
    let (mut pairs, mut wrong) = (0, Vec::new());
    for code in artifacts {
        let Some(plain) = alone(&code) else { continue };
        if pairs >= 3 * ARTIFACTS_MAX {
            break;
        }
        let mut proxied = plain.clone();
        proxied.insert("PROXY");
        for (what, made, expected) in [
            (
                "in another order",
                alone(&reordered(&code)).unwrap_or_default(),
                &plain,
            ),
            (
                "from another source",
                alone(&restamped(&code)).unwrap_or_default(),
                &plain,
            ),
            ("behind a clone", before(&clone_of(BEHIND), &code), &proxied),
        ] {
            pairs += 1;
            if made != *expected {
                wrong.push(format!(
                    "{} bytes {what}: {made:?}, expected {expected:?}",
                    code.len()
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {pairs}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(pairs >= 3 * ARTIFACTS_MAX / 2, "{pairs} pairs");
}
