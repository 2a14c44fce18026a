//! Tests with hostile bytecode: whatever it is, a result comes within the budget and lists unfinished steps. The findings for honest and
//! faulty tokens are tested with the demo contracts.

use super::*;

fn looked_at(runtime: &[u8], budget: &Budget) -> CodeReport {
    inspect(
        &CodeInput {
            runtime,
            creation: Some(runtime),
            has_source: true,
            ..CodeInput::default()
        },
        budget,
        &|| false,
    )
}

/// A dispatcher whose ERC-20 selectors all jump to one body, so that every call to the token runs it.
fn token_of(body: &[u8]) -> Vec<u8> {
    let selectors = [
        abi::TRANSFER,
        abi::APPROVE,
        abi::TRANSFER_FROM,
        abi::BALANCE_OF,
        abi::TOTAL_SUPPLY,
    ];
    let mut code = vec![0x5F, 0x35, 0x60, 0xE0, 0x1C];
    let start = code.len() + selectors.len() * 11 + 3;
    for selector in selectors {
        code.extend([0x80, 0x63]);
        code.extend(selector);
        code.extend([0x14, 0x61, 0, start as u8, 0x57]);
    }
    code.extend([0x5F, 0x5F, 0xFD, 0x5B]);
    code.extend(body);
    code
}

const SMALL: Budget = Budget {
    calls: 2_000,
    work: 3_000_000,
    work_per_call: 100_000,
    gas_per_call: 2_000_000,
};

#[test]
fn hostile_bodies_end_within_the_budget() {
    // Each body runs on every call to the token.
    let bodies: &[(&str, &[u8])] = &[
        ("endless loop", &[0x5B, 0x60, 0x40, 0x56]),
        ("memory bomb", &[0x63, 0xFF, 0xFF, 0xFF, 0x00, 0x51]),
        (
            "hash bomb",
            &[
                0x5B, 0x62, 0x0F, 0xFF, 0xFF, 0x5F, 0x20, 0x50, 0x60, 0x40, 0x56,
            ],
        ),
        (
            "calls itself",
            &[0x5F, 0x5F, 0x60, 0x04, 0x5F, 0x5F, 0x30, 0x5A, 0xF1],
        ),
        (
            "recovers signatures",
            &[
                0x5B, 0x5F, 0x5F, 0x5F, 0x5F, 0x5F, 0x60, 0x01, 0x5A, 0xF1, 0x60, 0x40, 0x56,
            ],
        ),
        ("writes slots", &[0x5B, 0x5A, 0x5A, 0x55, 0x60, 0x40, 0x56]),
        (
            "creates itself",
            &[0x38, 0x5F, 0x5F, 0x39, 0x38, 0x5F, 0x5F, 0xF0],
        ),
        ("destroys itself", &[0x33, 0xFF]),
        (
            "answers with its gas",
            &[0x5A, 0x5F, 0x52, 0x60, 0x20, 0x5F, 0xF3],
        ),
    ];
    for (name, body) in bodies {
        let report = looked_at(&token_of(body), &SMALL);
        assert!(
            report.calls <= SMALL.calls && report.work <= SMALL.work + 4 * SMALL.work_per_call,
            "{name}: {} calls, {} work",
            report.calls,
            report.work
        );
        assert_eq!(report.selectors.len(), 5, "{name}");
    }
}

#[test]
fn code_that_is_no_token_has_no_anomaly_and_says_why() {
    let cases: &[(&str, Vec<u8>, &str)] = &[
        ("empty", vec![], "no runtime code"),
        ("one byte", vec![0xFE], "not a token"),
        (
            "a container of another format",
            vec![0xEF, 0x00, 0x01],
            "not a token",
        ),
        ("a cut push", vec![0x7F, 0x36, 0x08], "not a token"),
        (
            "sixty kilobytes of nothing",
            vec![0x5B; 60_000],
            "not a token",
        ),
    ];
    for (name, code, says) in cases {
        let report = looked_at(code, &Budget::default());
        assert!(
            report.anomalies.is_empty(),
            "{name}: {:?}",
            report.anomalies
        );
        assert!(
            report.unfinished.iter().any(|text| text.contains(says)),
            "{name}: {:?}",
            report.unfinished
        );
    }
}

#[test]
fn proxies_are_named_and_not_executed() {
    let minimal = [
        &[0x36, 0x3D, 0x3D, 0x37, 0x3D, 0x3D, 0x3D, 0x36, 0x3D, 0x73][..],
        &[9; 20],
        &[0x5A, 0xF4, 0x3D],
    ]
    .concat();
    let report = looked_at(&minimal, &Budget::default());
    assert_eq!(
        report
            .anomalies
            .iter()
            .map(|anomaly| (anomaly.code, anomaly.strength))
            .collect::<Vec<_>>(),
        [(AnomalyCode::Proxy, 0.4)]
    );
    assert_eq!(report.calls, 0);
    // An account that has a contract's code run for it, as long as its owner likes.
    let report = looked_at(
        &[&[0xEF, 0x01, 0x00][..], &[7; 20]].concat(),
        &Budget::default(),
    );
    assert_eq!(
        report
            .anomalies
            .iter()
            .map(|anomaly| (anomaly.code, anomaly.strength))
            .collect::<Vec<_>>(),
        [(AnomalyCode::Proxy, 1.0)]
    );
}

#[test]
fn a_cancelled_execution_ends_and_says_so() {
    let code = token_of(&[0x60, 0x01, 0x5F, 0x52, 0x60, 0x20, 0x5F, 0xF3]);
    let report = inspect(
        &CodeInput {
            runtime: &code,
            ..CodeInput::default()
        },
        &Budget::default(),
        &|| true,
    );
    assert_eq!(report.calls, 0);
    assert!(
        report
            .unfinished
            .iter()
            .any(|text| text.contains("canceled")),
        "{:?}",
        report.unfinished
    );
}

#[test]
fn random_and_mutated_code_never_breaks_it_and_is_answered_alike_twice() {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let tiny = Budget {
        calls: 60,
        work: 60_000,
        work_per_call: 5_000,
        gas_per_call: 200_000,
    };
    let by_transfers = token_of(&[
        0x5F, 0x54, 0x5F, 0x52, 0x33, 0x54, 0x5F, 0x55, 0x60, 0x20, 0x5F, 0xF3,
    ]);
    for round in 0..4_000 {
        let code: Vec<u8> = if round % 2 == 0 {
            (0..next() % 300).map(|_| next() as u8).collect()
        } else {
            let mut code = by_transfers.clone();
            for _ in 0..=next() % 6 {
                let at = (next() % code.len() as u64) as usize;
                code[at] = next() as u8;
            }
            code
        };
        let report = looked_at(&code, &tiny);
        assert!(
            report.unfinished.iter().all(
                |text| !text.contains("internal error") && !text.contains("could not be split")
            ),
            "{code:02x?}"
        );
        if round % 100 == 1 {
            let again = looked_at(&code, &tiny);
            assert_eq!(
                (report.anomalies, report.calls, report.work),
                (again.anomalies, again.calls, again.work),
                "{code:02x?}"
            );
        }
    }
}

#[test]
fn code_that_could_not_be_executed_is_never_conclusive() {
    let stuffed: Vec<u8> = (0..40_000_u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    for (name, code) in [
        ("endless loop", token_of(&[0x5B, 0x60, 0x40, 0x56])),
        ("garbage", stuffed),
        ("empty", Vec::new()),
    ] {
        let report = looked_at(&code, &SMALL);
        assert!(
            !report.conclusive && !report.unfinished.is_empty(),
            "{name}"
        );
    }
}

#[test]
fn what_makes_a_token_is_found_among_thousands_of_other_functions() {
    // The ERC-20 functions come last, and their selectors are larger than the others.
    let mut code = vec![0x5F, 0x35, 0x60, 0xE0, 0x1C];
    let junk = (0..3_000_u32).map(u32::to_be_bytes);
    let end = 5 + 3_007 * 11 + 3;
    for selector in junk.chain([
        abi::TRANSFER,
        abi::APPROVE,
        abi::TRANSFER_FROM,
        abi::BALANCE_OF,
        abi::TOTAL_SUPPLY,
    ]) {
        code.extend([0x80, 0x63]);
        code.extend(selector);
        code.extend([0x14, 0x61, (end >> 8) as u8, end as u8, 0x57]);
    }
    code.resize(end, 0x5B);
    code.extend([0x5B, 0x5A, 0x5F, 0x52, 0x60, 0x20, 0x5F, 0xF3]);
    let shape = functions::shape(&code);
    assert!(
        shape.token() && shape.too_many && shape.functions.len() == functions::FUNCTIONS_MAX,
        "{}",
        shape.functions.len()
    );
}
