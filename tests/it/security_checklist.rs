//! The checklist of a token: every check exactly once, unavailable checks marked, and the resulting wording. One test per reported bug.

mod insiders;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::OnceLock,
};

use load::loader::load;
use model::{
    address::Address,
    data::AddressRows as _,
    progress::{NoProgress, Progress},
    token::Token,
};
use query::queries::{
    Query,
    security::SecurityQuery,
    snapshot::{AnswerSettings, Snapshot},
    token::TokenQuery,
    view::View,
};
use security::{AnomalyCode, Check, CheckState, Group, SecurityInference};

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/datasets");
const TOKEN: &str = "0x00000000000000000000000000000000000a11ce";
const TOKENS: &str = "token_address,symbol,name,chain,decimals,total_supply\n0x00000000000000000000000000000000000a11ce,ALICE,Alice,eth,18,1000\n";
const HOLDERS: &str = "token_address,holder_address,balance\n\
    0x00000000000000000000000000000000000a11ce,0x0000000000000000000000000000000000001001,300\n\
    0x00000000000000000000000000000000000a11ce,0x0000000000000000000000000000000000001002,200\n\
    0x00000000000000000000000000000000000a11ce,0x0000000000000000000000000000000000001003,100\n";

fn snapshot(tables: &[(&str, &str)]) -> Snapshot {
    let folder = tempfile::tempdir().expect("a folder");
    for (table, text) in tables {
        std::fs::write(folder.path().join(format!("{table}.csv")), text).expect("written");
    }
    of_folder(folder.path())
}

fn demo() -> Snapshot {
    of_folder(Path::new(DEMO))
}

fn of_folder(folder: &Path) -> Snapshot {
    Snapshot::new(
        1,
        load(folder, &NoProgress).expect("a dataset"),
        AnswerSettings::default(),
    )
}

/// Explained answers of the demo's tokens that have one, computed by the first test that needs them.
fn demo_answers() -> &'static [SecurityInference] {
    static ANSWERS: OnceLock<Vec<SecurityInference>> = OnceLock::new();
    ANSWERS.get_or_init(|| {
        let demo = demo();
        let question = |token: &Token| SecurityQuery {
            contract_address: token.row.token_address,
            explain: true,
        };
        demo.dataset
            .tokens()
            .iter()
            .filter_map(|token| {
                question(token)
                    .answer(&View::new(&demo), &Progress::default())
                    .ok()
            })
            .collect()
    })
}

fn ask(snapshot: &Snapshot, token: Address) -> SecurityInference {
    SecurityQuery {
        contract_address: token,
        explain: true,
    }
    .answer(&View::new(snapshot), &Progress::default())
    .expect("an answer")
}

fn alice(tables: &[(&str, &str)]) -> SecurityInference {
    ask(
        &snapshot(tables),
        Address::parse(TOKEN).expect("an address"),
    )
}

fn word(answer: &SecurityInference) -> &str {
    answer.recommendation.split(':').next().unwrap_or_default()
}

fn check(answer: &SecurityInference, code: AnomalyCode) -> &Check {
    answer
        .checks
        .iter()
        .flatten()
        .find(|check| check.code == code)
        .expect("every code is listed")
}

/// Invariants of every checklist.
fn assert_whole(answer: &SecurityInference) {
    let checks = answer.checks.as_ref().expect("it is explained");
    let codes: BTreeSet<AnomalyCode> = checks.iter().map(|check| check.code).collect();
    assert_eq!(
        (checks.len(), codes.len()),
        (AnomalyCode::ALL.len(), AnomalyCode::ALL.len()),
        "every code stands once"
    );
    for check in checks {
        assert_eq!(
            (check.group, check.weight),
            (check.code.group(), check.code.weight()),
            "{check:?}"
        );
        assert_eq!(
            check.missing.is_some(),
            check.state == CheckState::NotChecked,
            "{check:?}"
        );
        assert_eq!(
            check.evidence.is_none(),
            check.state == CheckState::NotChecked,
            "{check:?}"
        );
        let part = answer.anomaly_detection.part(check.code.part());
        let weighed = part
            .evidence
            .iter()
            .flatten()
            .any(|anomaly| anomaly.code == check.code && anomaly.weighed() > 0.0);
        assert_eq!(weighed, check.state == CheckState::Found, "{check:?}");
    }
    assert!(checks.is_sorted_by_key(|check| check.group), "by question");
}

#[test]
fn a_check_that_passed_shows_the_calls_and_rows_behind_it() {
    let (mut shown, mut washed) = (BTreeSet::new(), 0);
    for answer in demo_answers() {
        for check in answer.checks.iter().flatten() {
            assert!(
                check.proof.is_empty() || check.state == CheckState::Passed,
                "{check:?}"
            );
            for proof in &check.proof {
                // Proof by call has a before and an after; proof by rows has an address.
                let call =
                    proof.before.is_some() && proof.after.is_some() && proof.caller.is_some();
                let more = proof.what.starts_with("and ");
                let rows = !proof.rows.is_empty()
                    && proof
                        .rows
                        .iter()
                        .all(|row| row.address.or(row.to_address).is_some());
                assert!(call || rows || more, "{check:?}");
                shown.insert(check.code);
            }
        }
        let wash = answer
            .anomaly_detection
            .transaction_patterns
            .evidence
            .iter()
            .flatten();
        for anomaly in wash.filter(|anomaly| anomaly.code == AnomalyCode::WashTrading) {
            let rows = &anomaly.evidence[0].rows;
            assert!(
                rows.len() >= 6
                    && rows
                        .iter()
                        .all(|row| row.to_address.is_some() && row.amount.is_some()),
                "{anomaly:?}"
            );
            washed += 1;
        }
    }
    // Codes based on comparisons and aggregates only have no rows.
    let least = [
        AnomalyCode::SellBlocked,
        AnomalyCode::OwnerDrain,
        AnomalyCode::PublicMint,
        AnomalyCode::Blacklist,
        AnomalyCode::Top10Concentration,
        AnomalyCode::SybilHolders,
        AnomalyCode::LiquidityPulled,
        AnomalyCode::OneWayFlow,
        AnomalyCode::BalanceMismatch,
    ];
    let silent: Vec<_> = least.iter().filter(|code| !shown.contains(*code)).collect();
    assert!(
        silent.is_empty() && washed > 0,
        "without proof: {silent:?}; {washed} washed"
    );
}

#[test]
fn every_token_of_the_demo_has_every_check_in_one_group_and_one_state() {
    let answers = demo_answers();
    answers.iter().for_each(assert_whole);
    let states: BTreeSet<CheckState> = answers
        .iter()
        .flat_map(|answer| answer.checks.iter().flatten())
        .map(|check| check.state)
        .collect();
    assert!(
        answers.len() > 40 && states.len() >= 3,
        "{} {states:?}",
        answers.len()
    );
}

#[test]
fn every_group_has_checks_and_every_check_a_group() {
    let mut groups: BTreeMap<Group, usize> = BTreeMap::new();
    for code in AnomalyCode::ALL {
        *groups.entry(code.group()).or_default() += 1;
    }
    assert_eq!(groups.keys().copied().collect::<Vec<_>>(), Group::ALL);
    assert_eq!(groups.values().sum::<usize>(), 55);
}

#[test]
fn few_checks_make_the_word_not_enough_data_and_leave_the_score() {
    let answer = alice(&[("tokens", TOKENS), ("holders", HOLDERS)]);
    assert_whole(&answer);
    assert_eq!(
        word(&answer),
        "NOT ENOUGH DATA",
        "{}",
        answer.recommendation
    );
    assert_eq!(answer.security_score, 59, "{}", answer.recommendation);
    let sell = check(&answer, AnomalyCode::SellBlocked);
    assert_eq!(sell.state, CheckState::NotChecked);
    assert!(
        sell.missing.as_ref().is_some_and(
            |missing| missing.contains("`contracts`") && missing.contains("`bytecode`")
        ),
        "{sell:?}"
    );
    assert!(
        answer
            .explanation
            .as_ref()
            .is_some_and(|explanation| explanation.checked < 0.5)
    );
    // Neither scams nor labels are loaded, so the check cannot have run.
    assert_eq!(
        check(&answer, AnomalyCode::KnownScam).state,
        CheckState::NotChecked
    );
}

#[test]
fn one_label_among_several_that_contradict_it_is_shown_and_decides_nothing() {
    let labels = |rows: &str| {
        let rows = rows
            .split(';')
            .map(|row| format!("{TOKEN},{row}\n"))
            .collect::<Vec<_>>()
            .concat();
        format!("address,label,name,source\n{rows}")
    };
    let of = |rows: &str| {
        alice(&[
            ("tokens", TOKENS),
            ("holders", HOLDERS),
            ("labels", &labels(rows)),
        ])
    };
    for (rows, fatal) in [
        ("exploit,Alice thief,some list", true),
        ("exploit,,some list;blocked,,some list", true),
        (
            "exploit,Alice,some list;exchange,Alice Markets,another list",
            false,
        ),
        ("exploit,Alice,some list;stablecoin,Alice,some list", false),
        ("exploit,Alice,some list;bridge,Alice,some list", false),
        ("scam,Alice,some list;token,Alice,some list", false),
        ("exploit,Alice,some list;dex,Alice,some list", false),
        ("scam,Alice,some list;liquidity_pool,Alice,some list", true),
    ] {
        let answer = of(rows);
        assert_whole(&answer);
        let known = check(&answer, AnomalyCode::KnownScam);
        assert_eq!(
            (known.state, word(&answer) == "AVOID"),
            (CheckState::Found, fatal),
            "{rows}: {}",
            answer.recommendation
        );
        let told = known.evidence.as_deref().unwrap_or_default();
        assert!(
            told.contains("labels") && told.contains("some list"),
            "table and source are named: {told}"
        );
        assert_eq!(told.contains("not decisive"), !fatal, "{told}");
        let found = &answer
            .anomaly_detection
            .code_patterns
            .evidence
            .as_ref()
            .expect("explained")[0];
        assert!(
            found.fatal == fatal
                && found.evidence[0]
                    .rows
                    .iter()
                    .all(|row| row.table == "labels" && row.note.is_some())
        );
    }
    let scams =
        format!("address,name,scam_type,bytecode,source\n{TOKEN},Alice,honeypot,,some list\n");
    let answer = alice(&[
        ("tokens", TOKENS),
        ("holders", HOLDERS),
        ("labels", &labels("token,Alice,some list")),
        ("scams", &scams),
    ]);
    assert_eq!(
        word(&answer),
        "AVOID",
        "a row of scams decides, whatever labels say"
    );
}

#[test]
fn top_ten_is_one_figure_wherever_it_stands() {
    let demo = demo();
    let mut compared = 0;
    for token in demo.dataset.tokens().iter().take(20) {
        let address = token.row.token_address;
        let detail = TokenQuery {
            token_address: address,
            explain: false,
        }
        .answer(&View::new(&demo), &Progress::default())
        .expect("a token");
        let answer = ask(&demo, address);
        let Some(metrics) = answer
            .explanation
            .as_ref()
            .and_then(|explanation| explanation.holders.as_ref())
        else {
            continue;
        };
        let spread = &detail.holders_distribution;
        assert_eq!(
            (metrics.top10, metrics.top50),
            (spread.top_10_holders, spread.top_50_holders),
            "{address}"
        );
        assert!(
            metrics
                .top10
                .is_some_and(|all| all + 1e-9 >= metrics.top10_free),
            "pools and exchanges only add: {metrics:?}"
        );
        compared += 1;
    }
    assert!(compared >= 10, "{compared}");
}

#[test]
fn calls_are_named_and_their_change_is_written_out() {
    let mut seen = 0;
    for answer in demo_answers() {
        for anomaly in answer
            .anomaly_detection
            .code_patterns
            .evidence
            .iter()
            .flatten()
        {
            for evidence in &anomaly.evidence {
                if let Some(change) = &evidence.change {
                    assert!(
                        change.starts_with(['+', '-']) && evidence.before != evidence.after,
                        "{evidence:?}"
                    );
                    assert!(
                        !change.contains("base units"),
                        "the decimals are known: {evidence:?}"
                    );
                    seen += 1;
                }
                let mint = evidence.selector.as_deref() == Some("0x40c10f19");
                assert!(!mint || evidence.what.starts_with("mint("), "{evidence:?}");
            }
        }
    }
    assert!(seen > 0);
}

/// Returns the token's answer by symbol.
fn of_symbol(demo: &Snapshot, symbol: &str) -> SecurityInference {
    let token = demo
        .dataset
        .tokens()
        .iter()
        .find(|token| token.row.symbol.as_deref() == Some(symbol))
        .expect(symbol);
    ask(demo, token.row.token_address)
}

#[test]
fn the_cheats_of_the_demo_read_as_what_they_are() {
    let demo = demo();
    for (symbol, words) in [
        ("ASTROCAT", &["CAUTION"][..]),
        ("FROGKING", &["AVOID"]),
        ("SAFEMAX", &["AVOID", "HIGH RISK"]),
        ("CLAIMETH", &["AVOID", "HIGH RISK"]),
    ] {
        let answer = of_symbol(&demo, symbol);
        assert!(
            words.contains(&word(&answer)),
            "{symbol}: {} {}",
            answer.security_score,
            answer.recommendation
        );
    }
    let sybil = of_symbol(&demo, "ASTROCAT");
    assert_eq!(
        check(&sybil, AnomalyCode::SybilHolders).state,
        CheckState::Found
    );
}

#[test]
fn the_forty_largest_tokens_of_the_demo_show_every_view_alive() {
    let demo = demo();
    let mut tokens: Vec<_> = demo.market.tokens.iter().collect();
    tokens.sort_by(|a, b| {
        b.market_cap
            .unwrap_or_default()
            .total_cmp(&a.market_cap.unwrap_or_default())
    });
    let (mut praised, mut open) = (0, 0);
    for token in &tokens[..40] {
        let (address, symbol) = (
            token.token_address,
            token.symbol.as_deref().unwrap_or_default(),
        );
        let rows = [
            ("contracts", demo.dataset.contracts().count(&address)),
            ("transfers", demo.dataset.transfers().count(&address)),
            ("holders", demo.dataset.holders_of(&address).len()),
        ];
        assert!(rows.iter().all(|(_, rows)| *rows > 0), "{symbol}: {rows:?}");
        let answer = ask(&demo, address);
        assert!(
            answer
                .explanation
                .as_ref()
                .is_some_and(|explanation| explanation.checked > 0.5),
            "{symbol}: {:?}",
            answer.explanation
        );
        let parts = &answer.anomaly_detection;
        assert!(
            [
                &parts.code_patterns,
                &parts.transaction_patterns,
                &parts.holder_distribution
            ]
            .iter()
            .all(|part| part.score.is_some())
        );
        assert_ne!(
            word(&answer),
            "AVOID",
            "{symbol}: {}",
            answer.recommendation
        );
        // A coin that its issuer can stop may have been stopped: only then is it not known how good it is.
        let uncapped = answer
            .explanation
            .as_ref()
            .map_or(0, |explanation| explanation.uncapped_score);
        let stoppable = check(&answer, AnomalyCode::SellBlocked).state == CheckState::NotChecked;
        assert_eq!(
            answer.security_score >= 60,
            uncapped >= 60 && !stoppable,
            "{symbol}: {}",
            answer.recommendation
        );
        assert_eq!(
            word(&answer) == "NOT ENOUGH DATA",
            uncapped >= 60 && stoppable,
            "{symbol}: {}",
            answer.recommendation
        );
        praised += usize::from(uncapped >= 60);
        open += usize::from(!stoppable);
    }
    assert!(
        (1..40).contains(&open),
        "some can be stopped and some cannot: {open}"
    );
    assert!(praised >= 36, "{praised} of 40 are honest in the main");
    let events: BTreeSet<Address> = demo
        .dataset
        .pools_of(&tokens[0].token_address)
        .map(|pool| pool.address)
        .collect();
    assert!(
        events
            .iter()
            .any(|pool| demo.dataset.pool_events().count(pool) > 10),
        "the largest has a pool whose story is told"
    );
}

#[test]
fn get_shows_the_checklist_as_a_table() {
    let demo = demo();
    let token = demo
        .dataset
        .tokens()
        .iter()
        .find(|token| token.row.symbol.as_deref() == Some("FROGKING"))
        .expect("there")
        .row
        .token_address;
    let folder = tempfile::tempdir().expect("a folder");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_tokendeck"))
        .args([
            "get",
            &format!("/{token}/security/inference?explain=true"),
            "--format",
            "table",
            "--data",
            DEMO,
        ])
        .envs(
            ["XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"]
                .map(|name| (name, folder.path())),
        )
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let line = text
        .lines()
        .find(|line| line.starts_with("SELL_BLOCKED"))
        .unwrap_or_else(|| panic!("a line for each check in\n{text}"));
    assert!(
        line.contains("can_i_sell") && line.contains("found") && line.contains("0.95"),
        "{line}"
    );
    assert_eq!(
        AnomalyCode::ALL
            .iter()
            .filter(|code| text.lines().any(|line| line.starts_with(code.word())))
            .count(),
        AnomalyCode::ALL.len()
    );
}

#[test]
fn the_answer_without_explanation_is_as_documented() {
    let answer = SecurityQuery {
        contract_address: Address::parse(TOKEN).expect("an address"),
        explain: false,
    }
    .answer(
        &View::new(&snapshot(&[("tokens", TOKENS), ("holders", HOLDERS)])),
        &Progress::default(),
    )
    .expect("an answer");
    let value = serde_json::to_value(&answer).expect("JSON");
    let members: Vec<&String> = value
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(
        members,
        [
            "securityScore",
            "anomalyDetection",
            "similarScams",
            "recommendation"
        ]
    );
    assert!(
        value["recommendation"]
            .as_str()
            .is_some_and(|text| text.starts_with("NOT ENOUGH DATA: "))
            && value["securityScore"] == 59
    );
}

#[test]
fn no_tick_stands_beside_what_is_worth_reading() {
    // Sixty of a hundred holders have equal balances, and hold little.
    let holder = |place: usize, balance: usize| format!("{TOKEN},0x{place:040x},{balance}\n");
    let many = |equal: usize| {
        let rows: String = (0..100)
            .map(|place| {
                holder(
                    5_000 + place,
                    if place < equal { 1 } else { 1_000 + 37 * place },
                )
            })
            .collect();
        alice(&[
            ("tokens", TOKENS),
            (
                "holders",
                &format!("token_address,holder_address,balance\n{rows}"),
            ),
        ])
    };
    for (equal, remarkable) in [(60, true), (10, true), (9, false), (0, false)] {
        let answer = many(equal);
        let sybil = check(&answer, AnomalyCode::SybilHolders);
        assert_eq!(
            (sybil.state, sybil.remarkable),
            (CheckState::Passed, remarkable),
            "{equal}: {sybil:?}"
        );
    }
    for answer in demo_answers() {
        let similar = check(answer, AnomalyCode::SimilarToScam);
        let near = !answer.similar_scams.is_empty();
        assert!(
            similar.state != CheckState::Passed || similar.remarkable == near,
            "{similar:?}"
        );
        assert!(
            answer
                .explanation
                .as_ref()
                .is_some_and(|explanation| explanation.token_similarity.is_some())
        );
    }
}
