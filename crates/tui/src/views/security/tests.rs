//! The Security view on a synthetic result, and on the synthetic market.

use std::sync::Arc;

use super::*;
use crate::views::fixture::{Stage, address, market};
use model::time::DAY_MS;
use query::{queries::caches::SecurityRecord, service::cached::CachedAnswer};
use security::{
    Anomaly, AnomalyCode, AnomalyDetection, AnomalyPart, Cap, CheckState, Danger, Evidence,
    EvidenceRow, ExcludedHolders, Execution, Explanation, HolderMetrics, HolderShare, Missing,
    Part, SecurityInference, SimilarScam, Simulation, Taxes,
    changes::{SecurityChange, SecurityChanges},
    check_log::{CheckLog, NeededInput},
    checks::checks,
    simulation::{SimulatedTrade, SimulatedTrades},
    track_record::{PastVerdict, records},
};

fn part(score: Option<f64>, evidence: Vec<Anomaly>) -> AnomalyPart {
    AnomalyPart {
        score,
        anomalies: evidence.iter().map(Anomaly::text).collect(),
        evidence: Some(evidence),
    }
}

fn row(i: u8) -> EvidenceRow {
    EvidenceRow {
        table: "transfers",
        timestamp: Some(Time(1_783_000_000_000 + i64::from(i) * 3_600_000)),
        block_number: Some(23_812_004 + i64::from(i)),
        transaction_hash: Some(format!("0x{}", format!("{:02x}", 0x3c + i).repeat(32))),
        address: Some(address(40 + i)),
        to_address: Some(address(180)),
        amount: Some(12_400.0 * f64::from(i + 1)),
        share: Some(0.001 * f64::from(i + 1)),
        note: None,
    }
}

/// The answer with its checklist, given the missing input of each part.
fn listed(mut answer: SecurityInference, lacks: [Option<NeededInput>; 3]) -> SecurityInference {
    let parts = [Part::Code, Part::Transactions, Part::Holders];
    let found = parts.map(|part| {
        answer
            .anomaly_detection
            .part(part)
            .evidence
            .clone()
            .unwrap_or_default()
    });
    let mut logs: [CheckLog; 3] = Default::default();
    for ((part, need), log) in parts.into_iter().zip(lacks).zip(&mut logs) {
        if let Some(need) = need {
            log.note(need, &AnomalyCode::of(part).collect::<Vec<_>>());
        }
    }
    let call = Evidence {
        what: "burn(holder, 100 tokens)".into(),
        selector: Some("0x9dc29fac".into()),
        caller: Some("stranger".into()),
        before: Some("holder 2,000 tokens".into()),
        after: Some("refused".into()),
        ..Evidence::default()
    };
    logs[0].prove(AnomalyCode::PublicDrain, call);
    logs[2].prove_by(
        AnomalyCode::FewHolders,
        "the largest holders",
        (0..3).map(row).collect(),
    );
    answer.checks = Some(checks(found.each_ref().map(Vec::as_slice), logs.each_ref()));
    answer
}

/// A token with every kind of finding.
fn trap() -> SecurityInference {
    let call = |what: &str, selector: &str, before: &str, after: &str| Evidence {
        what: what.into(),
        selector: Some(selector.into()),
        caller: Some("owner".into()),
        before: Some(before.into()),
        after: Some(after.into()),
        ..Evidence::default()
    };
    let blocked = Anomaly::new(
        AnomalyCode::SellBlocked,
        1.0,
        "a holder who bought 1,000 tokens cannot sell, even after owner calls and a wait (after its constructor)",
    )
    .evidence(Evidence {
        caller: Some("router".into()),
        ..call("transferFrom(holder, pair, 1000)", "0x23b872dd", "bought 1,000", "revert")
    });
    let raisable = Anomaly::new(
        AnomalyCode::TaxRaisable,
        0.94,
        "setFee(99) [0x69fe0e2d] by the owner raises the tax: buy receives 95.0% → buy receives 1.0%",
    )
    .figure("before", 0.95)
    .figure("after", 0.01)
    .evidence(call("setFee(99)", "0x69fe0e2d", "sent 1,000 received 950", "sent 1,000 received 10"));
    let drain = Anomaly::new(
        AnomalyCode::OwnerDrain,
        1.0,
        "transfer(holder, 2,000 tokens) [0xa9059cbb] by the owner takes tokens that are not the caller's",
    )
    .evidence(Evidence {
        change: Some("-2,000 tokens".into()),
        ..call("transfer(holder, 2,000 tokens)", "0xa9059cbb", "holder 2,000 tokens", "holder 0 tokens")
    });
    let minted = Anomaly::new(
        AnomalyCode::OwnerMint,
        0.0,
        "mint(owner, 100 tokens) [0x40c10f19] by the owner mints (renounced: the owner is the zero address)",
    );
    let unverified = Anomaly::new(
        AnomalyCode::Unverified,
        1.0,
        "its source code is not in the dataset",
    );
    let pulled = Anomaly::new(
        AnomalyCode::LiquidityPulled,
        0.97,
        "97.0% of pool 0x0909…0909's liquidity was removed within a day of 2026-07-02",
    )
    .figure("share", 0.97)
    .evidence(Evidence {
        what: "burned within a day".into(),
        rows: vec![row(0)],
        ..Evidence::default()
    });
    let failures = Anomaly::new(
        AnomalyCode::SellFailures,
        0.8,
        "46 of 61 sells failed, at least 63.0% with 95% confidence",
    )
    .figure("failed", 46.0)
    .figure("tried", 61.0)
    .evidence(Evidence {
        what: "failed sells".into(),
        rows: (1..5).map(row).collect(),
        ..Evidence::default()
    });
    let top = Anomaly::new(
        AnomalyCode::Top10Concentration,
        0.62,
        "the top 10 individual holders own 61.0% of the supply",
    )
    .figure("top10", 0.61);
    let unlocked = Anomaly::new(
        AnomalyCode::LpUnlocked,
        0.91,
        "91.0% of the LP tokens are neither burned nor locked",
    );
    let scam =
        |i: u8, name: Option<&str>, kind: &str, similarity, traits: &[AnomalyCode], shared| {
            SimilarScam {
                address: address(70 + i),
                name: name.map(str::to_owned),
                scam_type: Some(kind.into()),
                similarity,
                shared_traits: traits.to_vec(),
                shared_selectors: shared,
                same_creator: i == 1,
                source: Some("an invented list".into()),
            }
        };
    let answer = SecurityInference {
        checks: None,
        security_score: 3,
        anomaly_detection: AnomalyDetection {
            code_patterns: part(Some(98.1), vec![blocked, drain, raisable, unverified, minted]),
            transaction_patterns: part(Some(87.0), vec![pulled, failures]),
            holder_distribution: part(Some(58.2), vec![unlocked, top]),
        },
        similar_scams: vec![
            scam(1, Some("Rocket Yak 1000x"), "honeypot", 1.0, &[AnomalyCode::SellBlocked, AnomalyCode::TaxRaisable], 12),
            scam(2, Some("漢字 wide name that is long"), "rug_pull", 0.8341, &[AnomalyCode::TaxRaisable, AnomalyCode::OwnerMint], 9),
            scam(3, None, "honeypot", 0.6102, &[AnomalyCode::SellBlocked], 7),
        ],
        danger: Danger::default(),
        largest_cluster: None,
        recommendation:
            "AVOID: buyers cannot sell; the owner can raise the tax to 99%; 97.0% of the liquidity was removed. Not checked (missing data): no funding data".into(),
        explanation: Some(trap_explained()),
        simulation: None,
        changed: None,
    };
    listed(answer, [None; 3])
}

/// Trades over the state of a chain: one that can be bought and not sold later.
fn simulation() -> Simulation {
    let through = |tax, share| {
        Some(SimulatedTrade {
            ok: true,
            tax: Some(tax),
            of_quote: share,
            reason: None,
        })
    };
    let refused = |reason: &str| {
        Some(SimulatedTrade {
            reason: Some(reason.into()),
            ..SimulatedTrade::default()
        })
    };
    Simulation {
        block: 21_345_678,
        timestamp: Time(1_783_000_000_000),
        pool: Some(address(9)),
        dex: Some("uniswap-v2".into()),
        trades: SimulatedTrades {
            buy: through(0.0, Some(0.997)),
            sell: through(0.03, Some(0.967)),
            sell_rest: refused(
                "execution reverted: the amount is above the limit that applies to a sale of a holder within a single block",
            ),
            transfer: through(0.0, None),
            sell_after_day: refused("execution reverted: paused"),
            sell_received: refused("execution reverted"),
            largest_share: Some(0.05),
            ..SimulatedTrades::default()
        },
        requests: 5,
    }
}

fn trap_explained() -> Explanation {
    let largest = (0..50).map(|i| HolderShare {
        address: address(100 + i),
        share: 0.19 * 0.82_f64.powi(i32::from(i)),
        role: [Some("creator"), None, Some("exchange")]
            .get(usize::from(i))
            .copied()
            .flatten()
            .map(str::to_owned),
    });
    Explanation {
        uncapped_score: 0,
        checked: 1.0,
        caps: vec![Cap { score: 10, reason: "fatal finding: Selling blocked".into() }],
        missing: vec![Missing {
            part: Part::Holders,
            what: "no funding data".into(),
            codes: vec![AnomalyCode::SybilHolders, AnomalyCode::PrivilegedSellers],
            supply: "add a table `funding` (from_address, to_address, timestamp): the wallet that funded each address".into(),
        }],
        token_similarity: None,
        holders: Some(HolderMetrics {
            count: 2_114,
            listed: 2_117,
            holders: 2_117,
            top10: Some(0.72),
            top50: Some(0.91),
            top10_free: 0.61,
            top10_owners: Some(0.66),
            top50_free: 0.83,
            hhi: 0.092,
            hhi_at_least: None,
            nakamoto: Some(5),
            gini: Some(0.91),
            largest: largest.collect(),
            left_out: vec![ExcludedHolders { kind: "pool", count: 2, share: 0.31 }, ExcludedHolders { kind: "burned", count: 1, share: 0.02 }],
        }),
        execution: Some(Execution {
            calls: 214,
            gas: 9_812_004,
            selectors: vec!["0xa9059cbb".into()],
            deployed_by: Some("constructor".into()),
            trading: Some("blocked".into()),
            taxes: Some(Taxes { buy: Some(0.05), sell: None, transfer: Some(0.0) }),
            unfinished: vec!["two functions were not tested with every set of arguments".into()],
        }),
    }
}

/// A token with almost no data.
fn unknown() -> SecurityInference {
    let gap = |part, what: &str, supply: &str| Missing {
        part,
        what: what.into(),
        codes: AnomalyCode::of(part).collect(),
        supply: supply.into(),
    };
    let answer = SecurityInference {
        checks: None,
        security_score: 59,
        anomaly_detection: AnomalyDetection {
            code_patterns: part(None, Vec::new()),
            transaction_patterns: part(None, Vec::new()),
            holder_distribution: part(Some(0.0), Vec::new()),
        },
        similar_scams: Vec::new(),
        danger: Danger::default(),
        largest_cluster: None,
        recommendation:
            "NOT ENOUGH DATA: no check that could run found anything. Not checked (missing data): no contract code; no transfer data".into(),
        explanation: Some(Explanation {
            uncapped_score: 100,
            checked: 0.15,
            caps: vec![
                Cap { score: 59, reason: "the contract code is unknown".into() },
                Cap { score: 85, reason: "no transfer data".into() },
            ],
            missing: vec![
                gap(Part::Code, "no contract code", "add the token's `bytecode` to `contracts`"),
                gap(Part::Transactions, "no transfer data", "add the token's rows to `transfers`"),
            ],
            token_similarity: None,
            holders: None,
            execution: None,
        }),
        simulation: None,
        changed: None,
    };
    listed(
        answer,
        [Some(NeededInput::Code), Some(NeededInput::Transfers), None],
    )
}

fn shown(answer: SecurityInference) -> (Stage, SecurityView) {
    let stage = Stage::new(Some(market()));
    let mut view = SecurityView {
        token: stage.token,
        ..SecurityView::default()
    };
    view.asked.known = Some(Arc::new(CachedAnswer {
        answer,
        as_of: None,
        json: Vec::new().into(),
        etag: "\"0\"".into(),
        links: None,
    }));
    (stage, view)
}

#[test]
fn screens_look_as_they_did() {
    let (stage, mut view) = shown(trap());
    insta::assert_snapshot!("security", stage.text_now(&mut view, 140, 38));
    stage.press(&mut view, &[Action::ExpandAll]);
    insta::assert_snapshot!("security-evidence", stage.screens_now(&mut view));
    let (stage, mut view) = shown(unknown());
    insta::assert_snapshot!("security-unknown", stage.screens_now(&mut view));
    let (stage, mut view) = shown(SecurityInference {
        simulation: Some(simulation()),
        ..trap()
    });
    insta::assert_snapshot!("security-simulated", stage.screens_now(&mut view));
}

#[test]
fn a_score_of_what_was_hardly_looked_at_is_grey_with_a_question_mark() {
    use crate::widgets::theme::Role;
    let (stage, mut view) = shown(unknown());
    for (width, height) in [(80, 20), (140, 38)] {
        let buffer = stage.draw_now(&mut view, width, height);
        let up = stage.theme.style(Role::Up).fg;
        let head = buffer
            .content()
            .iter()
            .take(usize::from(width) * 6)
            .filter(|cell| cell.symbol().trim() != "");
        assert!(
            head.clone()
                .any(|cell| cell.fg == stage.theme.style(Role::Dim).fg.unwrap_or_default())
        );
        assert!(
            head.filter(|cell| "█▀▄".contains(cell.symbol()))
                .all(|cell| Some(cell.fg) != up),
            "{width}x{height}"
        );
        let text = crate::widgets::picture::text(&buffer);
        assert!(text.contains("NOT ENOUGH DATA"), "{text}");
    }
    let mut buffer = Buffer::empty(Rect::new(0, 0, 80, 20));
    view.draw(
        &mut buffer,
        Rect::new(0, 0, 80, 20),
        &Context {
            ascii: true,
            ..stage.context()
        },
    );
    let text = crate::widgets::picture::text(&buffer);
    assert!(
        text.contains('?') && !text.contains("59"),
        "a limit is not a score: {text}"
    );
}

#[test]
fn what_changed_between_two_readings_of_the_files_stands_in_the_view() {
    let change = SecurityChange {
        what: "sale".into(),
        before: "succeeds".into(),
        after: "unknown".into(),
    };
    let changed = SecurityChanges {
        since_block: None,
        since: None,
        changes: vec![change],
    };
    let (stage, mut view) = shown(SecurityInference {
        changed: Some(changed),
        ..trap()
    });
    let text = stage.text_now(&mut view, 140, 60);
    assert!(
        text.contains("changed since the files were last loaded")
            && text.contains("sell: succeeds → unknown"),
        "{text}"
    );
    let (stage, mut view) = shown(trap());
    assert!(
        !stage
            .text_now(&mut view, 140, 60)
            .contains("since the files")
    );
}

#[test]
fn a_tax_is_called_measured_only_where_the_checks_know_it() {
    for state in [CheckState::Passed, CheckState::NotChecked] {
        let mut answer = trap();
        let execution = answer
            .explanation
            .as_mut()
            .and_then(|explanation| explanation.execution.as_mut())
            .expect("an execution");
        (execution.trading, execution.taxes) = (
            Some("open".into()),
            Some(Taxes {
                buy: Some(0.0),
                sell: Some(0.0),
                transfer: Some(0.0),
            }),
        );
        for check in answer
            .checks
            .iter_mut()
            .flatten()
            .filter(|check| matches!(check.code.word(), "SELL_BLOCKED" | "SELL_TAX"))
        {
            check.state = state;
        }
        let (stage, mut view) = shown(answer);
        let text = stage.text_now(&mut view, 140, 38);
        let is_trial = state == CheckState::NotChecked;
        assert_eq!(text.contains("measured tax"), !is_trial, "{text}");
        assert_eq!(
            text.contains("simulated tax") && text.contains("trading: open in the simulation"),
            is_trial,
            "{text}"
        );
    }
}

#[test]
fn any_size_can_be_drawn_opened_or_not() {
    for answer in [
        trap(),
        unknown(),
        SecurityInference {
            simulation: Some(simulation()),
            ..unknown()
        },
    ] {
        let (stage, mut view) = shown(answer);
        for _ in 0..2 {
            stage.draw_in_odd_sizes(&mut view);
            stage.press(&mut view, &[Action::ExpandAll]);
            view.act(Action::Last, &stage.context());
        }
    }
}

#[test]
fn enter_opens_the_evidence_and_esc_closes_it() {
    let (stage, mut view) = shown(trap());
    stage.draw_now(&mut view, 140, 38);
    let closed = stage.text_now(&mut view, 140, 38);
    assert!(!closed.contains("transferFrom(holder, pair, 1000)"));
    assert_eq!(view.act(Action::Open, &stage.context()), Effect::Redraw);
    let open = stage.text_now(&mut view, 140, 38);
    for part in [
        "transferFrom(holder, pair, 1000)",
        "by router",
        "0x23b872dd",
        "bought 1,000 → revert",
    ] {
        assert!(open.contains(part), "{part} in\n{open}");
    }
    assert_eq!(view.act(Action::Back, &stage.context()), Effect::Redraw);
    assert_eq!(stage.text_now(&mut view, 140, 38), closed);
    assert_eq!(view.act(Action::Back, &stage.context()), Effect::Pass);
}

#[test]
fn a_check_that_passed_opens_to_its_calls_and_rows() {
    let (stage, mut view) = shown(trap());
    stage.draw_now(&mut view, 140, 160);
    for (code, parts) in [
        (
            AnomalyCode::PublicDrain,
            &[
                "burn(holder, 100 tokens)",
                "by any caller",
                "0x9dc29fac",
                "holder 2,000 tokens → refused",
            ][..],
        ),
        (
            AnomalyCode::FewHolders,
            &["the largest holders", "2026-", "12.4k"],
        ),
    ] {
        view.pane().select(PaneEntry::Check(code));
        view.act(Action::Open, &stage.context());
        let text = stage.text_now(&mut view, 140, 160);
        for part in parts {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        view.act(Action::Back, &stage.context());
    }
}

#[test]
fn each_kind_of_entry_copies_what_it_is_about() {
    let (stage, mut view) = shown(trap());
    stage.press(&mut view, &[Action::ExpandAll]);
    stage.draw_now(&mut view, 80, 20);
    let mut seen = HashSet::new();
    for _ in 0..160 {
        stage.draw_now(&mut view, 80, 20);
        if let Effect::Copy(text, what) = view.act(Action::CopyValue, &stage.context()) {
            assert!(!text.is_empty());
            seen.insert(what);
        }
        let export = view.export(&stage.context()).expect("rows to export");
        let (columns, selected) = (export.columns.len(), export.selected.clone());
        let rows = export.values();
        assert!(rows.iter().all(|row| row.len() == columns));
        assert!(selected.is_none_or(|row| rows.contains(&row)));
        view.act(Action::Down, &stage.context());
    }
    assert_eq!(
        seen,
        HashSet::from([
            "check",
            "selector",
            "evidence",
            "transaction",
            "address",
            "advice"
        ])
    );
}

#[test]
fn the_selection_is_always_on_screen() {
    let (stage, mut view) = shown(trap());
    stage.press(&mut view, &[Action::ExpandAll]);
    for (width, height) in [(80, 20), (140, 38), (60, 12)] {
        let selection = stage.theme.style(crate::widgets::theme::Role::Selection).bg;
        stage.draw_now(&mut view, width, height);
        view.act(Action::First, &stage.context());
        for action in [Action::Down, Action::Up]
            .into_iter()
            .flat_map(|action| std::iter::repeat_n(action, 50))
        {
            let buffer = stage.draw_now(&mut view, width, height);
            assert!(
                buffer
                    .content()
                    .iter()
                    .any(|cell| Some(cell.bg) == selection),
                "{width}x{height} after {action:?}"
            );
            view.act(action, &stage.context());
        }
    }
}

#[test]
fn the_request_explains_and_a_cancelled_question_says_so() {
    let (stage, mut view) = shown(trap());
    let target = format!("/{}/security/inference?explain=true", address(1));
    assert_eq!(
        view.request(&stage.context()).expect("a request").target,
        target
    );
    assert!(matches!(view.stop(&stage.context()), Effect::Say(_)));
    view.refresh(&stage.context());
    assert!(stage.text_now(&mut view, 80, 20).contains("canceled"));
    assert_eq!(view.act(Action::Open, &stage.context()), Effect::Redraw);
    assert!(stage.text(&mut view, 80, 20).contains("100"));
}

#[test]
fn holders_are_a_list_and_enter_shows_what_one_holds() {
    let mut stage = Stage::new(Some(market()));
    stage.token = Some(address(1));
    let mut view = SecurityView::default();
    stage.draw(&mut view, 140, 38);
    assert!(!view.answers(Action::Filter) && view.listing().is_none());
    stage.act(&mut view, Action::TokenHolders);
    let list = stage.text(&mut view, 140, 38);
    assert!(
        list.contains("holders of ") && list.contains("SHARE") && list.contains("OUT 30D"),
        "{list}"
    );
    assert!(view.answers(Action::Filter) && view.listing().is_some());
    let target = view.request(&stage.context()).expect("a request").target;
    assert!(
        target.contains("/holders?flows=true") && target.contains("sort=-balance"),
        "{target}"
    );
    view.set_filter("balance>1t", &stage.context())
        .expect("a filter");
    assert!(
        stage
            .text(&mut view, 140, 38)
            .contains("no holder matches the filter")
    );
    view.set_filter("", &stage.context()).expect("no filter");
    stage.draw(&mut view, 140, 38);
    stage.act(&mut view, Action::Open);
    let held = stage.text(&mut view, 140, 38);
    assert!(
        held.contains("tokens of 0x") && held.contains("VALUE USD"),
        "{held}"
    );
    assert!(matches!(
        stage.act(&mut view, Action::Open),
        Effect::Open(_, ViewId::Chart)
    ));
    assert_eq!(stage.act(&mut view, Action::Back), Effect::Redraw);
    assert!(stage.text(&mut view, 140, 38).contains("holders of "));
    stage.act(&mut view, Action::Back);
    assert!(view.listing().is_none());
}

#[test]
fn the_record_of_the_verdicts_is_a_table_of_all_tokens() {
    let mut stage = Stage::new(Some(market()));
    stage.token = Some(address(1));
    let mut view = SecurityView::default();
    stage.draw(&mut view, 140, 38);
    stage.act(&mut view, Action::VerdictRecord);
    let waits = stage.text(&mut view, 140, 38);
    assert!(waits.contains("computing the verdicts"), "{waits}");
    let case = |number: u8| PastVerdict {
        token: address(number),
        creator: None,
        age: 7,
        time: Time(i64::from(number) * DAY_MS),
        recommendation: if number < 10 { "AVOID" } else { "CAUTION" },
        outcomes: [[Some(number < 10), None, None, None, None], [None; 5]],
    };
    let judged: Vec<PastVerdict> = (0..40).map(case).collect();
    let snapshot = stage.snapshot.clone().expect("data");
    snapshot.track_records.publish_security(Ok(SecurityRecord {
        digest: [1; 32],
        verdicts: 40,
        tokens: 40,
        by_first_row: 0,
        left_out: [0; 4],
        as_of: None,
        records: records(&judged).into(),
    }));
    let text = stage.text(&mut view, 140, 38);
    for says in [
        "AVOID",
        "CAUTION",
        "price fell by half",
        "100.0",
        "25.0",
        "+75.0",
        "40 tokens",
        "KNOWN_SCAM",
    ] {
        assert!(text.contains(says), "{says}: {text}");
    }
    assert!(
        !text.contains("sells fail"),
        "an outcome that is not known has no row: {text}"
    );
    let target = view.request(&stage.context()).expect("a request").target;
    assert_eq!(target, "/security/track-record");
    let exported = view.export(&stage.context()).expect("rows to export");
    assert_eq!(exported.values().len(), 2);
    stage.act(&mut view, Action::Back);
    assert!(view.listing().is_none());
}
