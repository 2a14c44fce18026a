//! The record of all tokens, and the advice made of it, on made markets.

use super::*;
use crate::queries::{
    caches::RecordName,
    patterns::PatternsQuery,
    tests::{self, addresses, answered, parsed},
};
use analysis::patterns::{PatternsAnswer, TradeAction};
use model::{
    error::{Code, Problem},
    time::DAY_MS,
};

/// A snapshot of these tokens with the daily closes of each.
fn market(tokens: &str, closes: &[Vec<f64>]) -> Snapshot {
    market_with(tokens, closes, &[])
}

fn market_with(tokens: &str, closes: &[Vec<f64>], more: &[(&str, &str)]) -> Snapshot {
    let mut rows = "token_address,timestamp,open,high,low,close,interval\n".to_owned();
    for (token, closes) in (1..).zip(closes) {
        for (day, &close) in closes.iter().enumerate() {
            // All end on one day, none is stale.
            let date = Time((20_000 + day as i64 - closes.len() as i64) * DAY_MS);
            let open = closes[day.saturating_sub(1)];
            rows += &format!(
                "0x{token:x},{date},{open},{},{},{close},1d\n",
                open.max(close) * 1.001,
                open.min(close) * 0.999
            );
        }
    }
    let tokens = format!("token_address,symbol,name,chain\n{tokens}");
    tests::snapshot(&[&[("tokens", tokens.as_str()), ("candles", &rows)], more].concat())
}

/// Computes the track record of all tokens as the query service does.
fn counted(snapshot: &Snapshot, timeframe: &'static str) -> WholeRecord {
    let step = |_, _| Ok(());
    let (tokens, digest) = digest(snapshot, timeframe, &step).expect("candles that are here");
    count(snapshot, timeframe, (&tokens, digest), None, &step).expect("a record")
}

fn publish(snapshot: &Snapshot, timeframe: &'static str) {
    let record = counted(snapshot, timeframe);
    snapshot.track_records.publish(timeframe, Ok(record));
}

fn patterns(snapshot: &Snapshot, token: u8, query: &str) -> PatternsAnswer {
    let address = format!("0x{token:040x}");
    answered::<PatternsQuery>(snapshot, &[("contractAddress", &address)], query).expect("patterns")
}

/// Double bottoms, each followed by the rise that it promises, then by a slow fall back; after the last one `days` without a move.
fn planted(cycles: usize, days: usize) -> Vec<f64> {
    let mut closes = vec![100.0];
    let mut go = |to: f64, days: usize| {
        let from = closes[closes.len() - 1];
        let step = |day: usize| {
            from + (to - from) * day as f64 / days as f64
                + if day < days {
                    0.15 * (day % 2) as f64
                } else {
                    0.0
                }
        };
        closes.extend((1..=days).map(step));
    };
    for cycle in 0..cycles {
        for (to, days) in [(80.0, 9), (92.0, 7), (80.4, 7), (93.0, 7)] {
            go(to, days);
        }
        if cycle + 1 < cycles {
            for (to, days) in [(112.0, 6), (100.0, 26)] {
                go(to, days);
            }
        }
    }
    closes.extend((0..days).map(|day| 93.0 + 0.1 * (day % 2) as f64));
    closes
}

fn upside_down(closes: &[f64]) -> Vec<f64> {
    closes.iter().map(|close| 10_000.0 / close).collect()
}

#[test]
fn a_planted_edge_gives_every_word_and_security_takes_a_buy_away() {
    // Each pattern has entries of three tokens, on days of their own.
    let tokens = "0x1,A,A,eth\n0x2,B,B,eth\n0x3,C,C,eth\n0x4,D,D,eth\n0x5,E,E,eth\n0x6,F,F,eth";
    let closes = [
        planted(14, 0),
        planted(14, 14),
        upside_down(&planted(14, 0)),
        upside_down(&planted(14, 14)),
        planted(14, 7),
        upside_down(&planted(14, 7)),
    ];
    let snapshot = market(tokens, &closes);
    let words = || [1, 2, 3, 4].map(|token| patterns(&snapshot, token, "").recommended_action);
    assert_eq!(words(), [TradeAction::Hold; 4], "no record is counted");
    let explained = patterns(&snapshot, 1, "explain=true");
    let reason = explained.advice.map(|advice| (advice.word, advice.reason));
    assert_eq!(reason, Some((AdviceWord::Watch, AdviceReason::NoRecord)));
    assert_eq!(
        explained.signal.map(|signal| signal.action),
        Some(TradeAction::StrongBuy),
        "the raw signal is given too"
    );
    publish(&snapshot, "1d");
    assert_eq!(
        words(),
        [
            TradeAction::StrongBuy,
            TradeAction::Buy,
            TradeAction::StrongSell,
            TradeAction::Sell
        ]
    );
    let word = |token: u8| {
        patterns(&snapshot, token, "explain=true")
            .advice
            .map(|advice| (advice.word, advice.reason))
    };
    assert_eq!(word(1), Some((AdviceWord::StrongBuy, AdviceReason::Record)));

    // Of known scams no buy is advised, and a sale stays one.
    let more = [
        (
            "scams",
            "address,name,scam_type\n0x1,A,rug pull\n0x2,B,rug pull\n0x3,C,rug pull",
        ),
        (
            "holders",
            "token_address,holder_address,balance\n0x1,0xa1,5\n0x2,0xa1,5\n0x3,0xa1,5\n0x4,0xa1,5",
        ),
    ];
    let snapshot = market_with(tokens, &closes, &more);
    publish(&snapshot, "1d");
    let words = [1, 2, 3, 4].map(|token| patterns(&snapshot, token, "").recommended_action);
    assert_eq!(
        words,
        [
            TradeAction::Hold,
            TradeAction::Hold,
            TradeAction::StrongSell,
            TradeAction::Sell
        ]
    );
    let explained = patterns(&snapshot, 1, "explain=true");
    let advice = explained.advice.expect("advice");
    assert_eq!(
        (advice.word, advice.reason),
        (AdviceWord::Hold, AdviceReason::Security)
    );
    assert!(
        advice.text.starts_with("the security verdict is AVOID"),
        "{}",
        advice.text
    );
    assert_eq!(
        explained.signal.map(|signal| signal.action),
        Some(TradeAction::StrongBuy)
    );
}

#[test]
fn random_walks_are_held() {
    let mut state = 7_u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut walk = || {
        let mut price = 100.0;
        (0..300)
            .map(|_| {
                price *= 1.0 + 0.05 * (random() + random() + random() - 1.5);
                price
            })
            .collect::<Vec<f64>>()
    };
    let mut strong = 0;
    for _ in 0..3 {
        let closes: Vec<Vec<f64>> = (0..6).map(|_| walk()).collect();
        let tokens: Vec<String> = (1..=6)
            .map(|token| format!("0x{token},T{token},T,eth"))
            .collect();
        let snapshot = market(&tokens.join("\n"), &closes);
        publish(&snapshot, "1d");
        strong += (1..=6)
            .filter(|token| patterns(&snapshot, *token, "").recommended_action != TradeAction::Hold)
            .count();
    }
    assert_eq!(strong, 0, "of 18 walks");
}

#[test]
fn the_record_of_all_tokens_is_empty_until_it_is_whole() {
    let snapshot = market("0x1,A,A,eth", &[planted(4, 0)]);
    let progress = Progress::default();
    let ask = |progress: &Progress| {
        let question =
            parsed::<TrackRecordQuery>(&[("contractAddress", &addresses("1"))], "scope=all")
                .expect("a question");
        question
            .answer(&View::new(&snapshot), progress)
            .expect("an answer")
    };
    let before = ask(&progress);
    assert!(
        !before.complete && before.patterns.is_empty() && progress.is_partial(),
        "{before:?}"
    );
    assert_eq!(
        snapshot.track_records.due(),
        Some(RecordName::Patterns("1d")),
        "from now on it is wanted"
    );
    snapshot
        .track_records
        .report(RecordName::Patterns("1d"), (1, 3));
    let counting = ask(&progress);
    assert_eq!((counting.done, counting.total), (1, 3));
    publish(&snapshot, "1d");
    assert_eq!(snapshot.track_records.due(), None);
    let progress = Progress::default();
    let whole = ask(&progress);
    assert!(
        whole.complete && !whole.patterns.is_empty() && !progress.is_partial(),
        "{whole:?}"
    );
    assert_eq!((whole.done, whole.total, whole.scope), (1, 1, "all"));
    let unnamed = WholeRecordQuery { timeframe: "1d" }
        .answer(&View::new(&snapshot), &progress)
        .expect("an answer");
    assert_eq!(
        TrackRecord {
            contract_address: whole.contract_address,
            ..unnamed
        },
        whole
    );
    // What cannot be counted is said, and not tried again.
    snapshot
        .track_records
        .publish("4h", Err(Problem::new(Code::InvalidParameter, "so")));
    assert_eq!(snapshot.track_records.due(), None);
    let refused = WholeRecordQuery { timeframe: "4h" }
        .answer(&View::new(&snapshot), &progress)
        .map_err(|problem| problem.detail);
    assert_eq!(refused.map(|record| record.complete), Err("so".to_owned()));
}

#[test]
fn one_price_counts_once_however_many_tokens_have_it() {
    let one = planted(6, 0);
    let times = |by: f64| one.iter().map(|close| by * close).collect::<Vec<f64>>();
    let of = |tokens: &str, closes: &[Vec<f64>]| {
        let record = counted(&market(tokens, closes), "1d");
        (record.tokens, record.patterns.to_vec(), record.trends)
    };
    let alone = of("0x1,ETH,A,eth", &[times(1.0)]);
    assert!(!alone.1.is_empty(), "it has patterns");
    let forms = of(
        "0x1,ETH,A,eth\n0x2,stETH,B,eth\n0x3,ETH,C,base",
        &[times(1.0), times(1.2), times(1.001)],
    );
    assert_eq!(forms, alone);
    let other = of("0x1,ETH,A,eth\n0x2,UNI,B,eth", &[times(1.0), times(1.2)]);
    assert_eq!(
        other.1[0].count,
        2 * alone.1[0].count,
        "another token of the same ups and downs is another"
    );
}

#[test]
fn a_coin_on_two_chains_has_the_chart_of_the_larger_one() {
    let one = planted(6, 0);
    let closes = [one.iter().map(|close| 1.001 * close).collect(), one];
    let more = [(
        "tokens",
        "token_address,symbol,name,chain,market_cap\n0x1,ETH,A,base,5\n0x2,ETH,B,eth,500",
    )];
    let snapshot = market_with("", &closes, &more);
    let counts = [1, 2].map(|token| patterns(&snapshot, token, "").patterns.len());
    assert!(counts[0] == 0 && counts[1] > 0, "{counts:?}");
    let follows = patterns(&snapshot, 1, "explain=true")
        .peg
        .and_then(|peg| peg.coin)
        .map(|coin| coin.contract_address);
    assert_eq!(follows, Some(load::sample::address("0x2")));
}

#[test]
fn an_answer_is_tagged_by_the_record_that_it_was_weighed_by() {
    let closes = [planted(4, 0)];
    let snapshot = market("0x1,A,A,eth", &closes);
    let tags = |snapshot: &Snapshot| {
        [
            snapshot.etag("/p"),
            snapshot.etag_of_advice("/p", "1d"),
            snapshot.etag_of_advice("/p", "4h"),
        ]
    };
    let before = tags(&snapshot);
    publish(&snapshot, "1d");
    let after = tags(&snapshot);
    assert_eq!(
        [0, 1, 2].map(|nth| before[nth] == after[nth]),
        [true, false, true]
    );
    let twin = market("0x1,A,A,eth", &closes);
    publish(&twin, "1d");
    assert_eq!(
        tags(&twin)[1],
        after[1],
        "the same candles have the same tag in every process"
    );
    // The next reading of the same tokens has the record until it is computed again.
    let mut again = market("0x1,A,A,eth", &[planted(5, 0)]);
    let mut other = market("0x1,A,A,eth\n0x2,B,B,eth", &[planted(4, 0), planted(5, 0)]);
    for next in [&mut again, &mut other] {
        next.dataset.folder.clone_from(&snapshot.dataset.folder);
        next.inherit(&snapshot);
    }
    let digests = |snapshot: &Snapshot| {
        snapshot
            .track_records
            .known("1d")
            .map(|record| record.digest)
    };
    assert_eq!(
        (digests(&again), digests(&other)),
        (digests(&snapshot), None)
    );
    assert_eq!(
        again.track_records.due(),
        Some(RecordName::Patterns("1d")),
        "it is computed again"
    );
    publish(&again, "1d");
    assert!(digests(&again) != digests(&snapshot) && again.track_records.due().is_none());
}

#[test]
fn a_stored_record_is_the_one_that_was_counted() {
    let snapshot = market("0x1,A,A,eth", &[planted(4, 0)]);
    let step = |_, _| Ok(());
    let (tokens, digest) = digest(&snapshot, "1d", &step).expect("a digest");
    let of = |known| count(&snapshot, "1d", (&tokens, digest), known, &step).expect("a record");
    let fresh = of(None);
    assert!(!fresh.patterns.is_empty() && !fresh.trends.is_empty());
    assert_eq!(of(Some(fresh.patterns.to_vec())), fresh);
}
