//! From findings to scores: part scores, the security score with its caps, the order of findings, the recommendation. Adding a finding never
//! raises the score.

use super::{Anomaly, AnomalyCode, AnomalyPart, Cap, Missing, check_log::could_not_be_read};

/// Weight of each part's risk: code in full, transactions less, holders least.
const TRANSACTIONS_SHARE: f64 = 0.9;
const HOLDERS_SHARE: f64 = 0.7;
const CAP_FATAL: i64 = 10;
const CAP_NOT_EXECUTED: i64 = 60;
/// Just below the reassuring verdicts: a token that may not be for sale must not read as one.
const CAP_SALE_UNKNOWN: i64 = REASSURING - 1;
/// Losing a table that has findings against a token must not improve its score.
const CAP_UNREAD: i64 = 85;
const CAP_NO_TRANSFERS: i64 = 85;
const CAP_NO_HOLDERS: i64 = 90;
const REASONS_MAX: usize = 3;

/// Measures of the same property: only the worst counts.
const ONE_THING: &[AnomalyCode] = &[
    AnomalyCode::Top10Concentration,
    AnomalyCode::HhiHigh,
    AnomalyCode::NakamotoLow,
    AnomalyCode::GiniExtreme,
];

const CAUTION_MIN: i64 = 40;

/// Verdicts of the recommendation, with the minimum score of each.
const WORDS: &[(i64, &str)] = &[
    (80, "NO MAJOR RISK FOUND"),
    (60, "LOW RISK"),
    (CAUTION_MIN, "CAUTION"),
    (20, HIGH_RISK),
    (0, AVOID),
];
pub const AVOID: &str = "AVOID";
pub const HIGH_RISK: &str = "HIGH RISK";
/// The verdict if no sell is known to succeed; it also replaces a reassuring verdict if the checks that ran have less than `ENOUGH` of the
/// total weight.
pub const NOT_ENOUGH_DATA: &str = "NOT ENOUGH DATA";
const ENOUGH: f64 = 0.5;
/// Minimum score of a reassuring verdict.
const REASSURING: i64 = 60;

/// Availability of the inputs.
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownInputs {
    pub code: bool,
    /// Whether executing the code showed trading and was completed.
    pub executed: bool,
    /// Whether it is known that an on-chain sell goes as in the simulation, or fails.
    pub sale: bool,
    pub transfers: bool,
    pub holders: bool,
    /// A table that checks needed and that exists but could not be read.
    pub unread: Option<&'static str>,
}

/// The score and its derivation.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub score: i64,
    pub uncapped: i64,
    /// Caps that apply, the lowest first.
    pub caps: Vec<Cap>,
    pub fatal: bool,
    /// Whether no finding is severe, but it is unknown whether the token can be sold.
    pub unknown: bool,
}

/// Risk of a part, 0 to 1: one minus the product of (1 − weight · strength) over its findings.
pub fn risk(anomalies: &[Anomaly]) -> f64 {
    let (mut left, mut worst) = (1.0, 0.0);
    for anomaly in anomalies {
        if ONE_THING.contains(&anomaly.code) {
            worst = f64::max(worst, anomaly.weighed());
        } else {
            left *= 1.0 - anomaly.weighed();
        }
    }
    1.0 - left * (1.0 - worst)
}

/// Display text of the score's formula.
pub fn formula() -> String {
    format!(
        "100 × (1 − code) × (1 − {TRANSACTIONS_SHARE} × transfers) × (1 − {HOLDERS_SHARE} × holders), rounded down, capped"
    )
}

/// Sorts by descending weighted strength; ties by code.
pub fn order(anomalies: &mut [Anomaly]) {
    anomalies.sort_by(|a, b| {
        b.weighed()
            .total_cmp(&a.weighed())
            .then(a.code.cmp(&b.code))
    });
}

/// A part of the response; `None` stands for a part without its input.
pub fn part(anomalies: Option<&[Anomaly]>, explain: bool) -> AnomalyPart {
    let all = anomalies.unwrap_or_default();
    AnomalyPart {
        score: anomalies.map(|all| (risk(all) * 1_000.0).round() / 10.0),
        anomalies: all.iter().map(Anomaly::text).collect(),
        evidence: explain.then(|| all.to_vec()),
    }
}

pub fn verdict(
    code: &[Anomaly],
    transactions: &[Anomaly],
    holders: &[Anomaly],
    known: KnownInputs,
) -> Verdict {
    let others =
        (1.0 - TRANSACTIONS_SHARE * risk(transactions)) * (1.0 - HOLDERS_SHARE * risk(holders));
    // Tolerance for exact integers that rounding puts just below.
    let whole = |code: &[Anomaly]| {
        (100.0 * (1.0 - risk(code)) * others + 1e-9)
            .floor()
            .clamp(0.0, 100.0) as i64
    };
    let seen: Vec<Anomaly> = code
        .iter()
        .filter(|anomaly| anomaly.code != AnomalyCode::SimilarToScam)
        .cloned()
        .collect();
    // Resemblance shows no behaviour: alone it is a reason for caution.
    let uncapped = if whole(&seen) < CAUTION_MIN {
        whole(code)
    } else {
        whole(code).max(CAUTION_MIN)
    };
    let fatal: Vec<&str> = [code, transactions, holders]
        .concat()
        .iter()
        .filter(|a| a.fatal)
        .map(|a| a.code.title())
        .collect();
    let applies = [
        (
            !fatal.is_empty(),
            CAP_FATAL,
            format!("fatal finding: {}", fatal.join(", ")),
        ),
        (
            !known.code,
            CAP_SALE_UNKNOWN,
            "the contract code is unknown".to_owned(),
        ),
        (
            known.code && !known.sale,
            CAP_SALE_UNKNOWN,
            "it is unknown whether the token can be sold on-chain now".to_owned(),
        ),
        (
            known.code && !known.executed,
            CAP_NOT_EXECUTED,
            "executing the contract code was inconclusive".to_owned(),
        ),
        (
            known.unread.is_some(),
            CAP_UNREAD,
            could_not_be_read(known.unread.unwrap_or_default()),
        ),
        (
            !known.transfers && known.unread != Some("transfers"),
            CAP_NO_TRANSFERS,
            "no transfer data".to_owned(),
        ),
        (
            !known.holders && known.unread != Some("holders"),
            CAP_NO_HOLDERS,
            "no holder data".to_owned(),
        ),
    ];
    let caps: Vec<Cap> = applies
        .into_iter()
        .filter(|(applies, ..)| *applies)
        .map(|(_, score, reason)| Cap { score, reason })
        .collect();
    let score = caps.first().map_or(uncapped, |cap| uncapped.min(cap.score));
    let unknown = !known.sale && fatal.is_empty() && uncapped >= REASSURING;
    Verdict {
        score,
        uncapped,
        caps,
        fatal: !fatal.is_empty(),
        unknown,
    }
}

/// Verdict, up to three reasons, and the missing data. Never "safe".
///
/// `checked`: the share of the total weight of all checks that belongs to the checks that ran.
pub fn recommendation(
    verdict: &Verdict,
    checked: f64,
    parts: [&[Anomaly]; 3],
    missing: &[Missing],
    unfinished: &[&String],
) -> String {
    let word = word(verdict, checked);
    let mut reasons: Vec<Anomaly> = parts
        .concat()
        .into_iter()
        .filter(|anomaly| anomaly.weighed() > 0.0)
        .collect();
    order(&mut reasons);
    // Fatal anomalies come first, whatever else weighs as much.
    reasons.sort_by_key(|anomaly| !anomaly.fatal);
    let mut says: Vec<String> = reasons
        .iter()
        .take(REASONS_MAX)
        .map(|anomaly| anomaly.sentence.clone())
        .collect();
    let disputed: Vec<&str> = parts
        .concat()
        .iter()
        .filter(|anomaly| anomaly.disputed.is_some())
        .map(|anomaly| anomaly.code.title())
        .collect();
    if says.is_empty() && !disputed.is_empty() {
        says.push(format!(
            "all findings are disputed ({})",
            disputed.join(", ")
        ));
    } else if says.is_empty() {
        says.push(
            if missing.is_empty() {
                "no check found anything"
            } else {
                "no check that could run found anything"
            }
            .to_owned(),
        );
    }
    let unfinished = if unfinished.is_empty() {
        String::new()
    } else {
        format!(". Incomplete: {}", joined(unfinished))
    };
    format!(
        "{word}: {}{}{unfinished}",
        says.join("; "),
        missing_text(missing)
    )
}

fn word(verdict: &Verdict, checked: f64) -> &'static str {
    let word = WORDS
        .iter()
        .find(|(from, _)| verdict.score >= *from)
        .map_or(AVOID, |(_, word)| word);
    match word {
        _ if verdict.fatal => AVOID,
        _ if verdict.unknown => NOT_ENOUGH_DATA,
        // A good score from few checks is no reassurance.
        _ if verdict.score >= REASSURING && checked < ENOUGH => NOT_ENOUGH_DATA,
        word => word,
    }
}

/// All verdicts, the worst first.
pub fn verdicts() -> impl Iterator<Item = &'static str> {
    let words = WORDS.iter().rev().map(|(_, word)| *word);
    words.chain([NOT_ENOUGH_DATA])
}

/// The verdict at the start of a recommendation.
pub fn word_of(recommendation: &str) -> &'static str {
    verdicts()
        .find(|word| recommendation.starts_with(word))
        .unwrap_or(AVOID)
}

/// The lowest score of a verdict; 0 for one that has no score of its own.
pub fn least_score(verdict: &str) -> i64 {
    WORDS
        .iter()
        .find(|(_, word)| *word == verdict)
        .map_or(0, |(from, _)| *from)
}

/// Whether the recommendation's verdict is reassuring.
pub fn is_safe(recommendation: &str) -> bool {
    WORDS
        .iter()
        .take(2)
        .any(|(_, word)| recommendation.starts_with(word))
}

/// Whether the recommendation's verdict is that there is not enough data: its score is then an upper limit, and is not shown, sorted by or
/// compared.
pub fn too_little_known(recommendation: &str) -> bool {
    recommendation.starts_with(NOT_ENOUGH_DATA)
}

fn joined(texts: &[&String]) -> String {
    texts
        .iter()
        .map(|text| text.as_str())
        .collect::<Vec<_>>()
        .join("; ")
}

/// Missing parts as a whole first, then single checks by their codes.
fn missing_text(missing: &[Missing]) -> String {
    let whole =
        |m: &&Missing| m.codes.len() > 4 || m.codes.len() == AnomalyCode::of(m.part).count();
    let mut says: Vec<String> = missing
        .iter()
        .filter(whole)
        .map(|m| m.what.clone())
        .collect();
    let said = says.clone();
    // What a whole part lacks is not said again of a single check.
    for m in missing
        .iter()
        .filter(|m| !whole(m) && !said.contains(&m.what))
    {
        let codes: Vec<&str> = m.codes.iter().map(|code| code.title()).collect();
        says.push(if codes.is_empty() {
            m.what.clone()
        } else {
            format!("{} ({})", m.what, codes.join(", "))
        });
    }
    // Two parts may lack the same input.
    let mut seen = std::collections::BTreeSet::new();
    says.retain(|text| seen.insert(text.clone()));
    if says.is_empty() {
        String::new()
    } else {
        format!(". Not checked (missing data): {}", says.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::Part, *};

    const ALL: KnownInputs = KnownInputs {
        code: true,
        executed: true,
        sale: true,
        transfers: true,
        holders: true,
        unread: None,
    };

    fn anomaly(code: AnomalyCode, strength: f64) -> Anomaly {
        Anomaly::new(code, strength, "something")
    }

    fn score(all: &[Anomaly], known: KnownInputs) -> Verdict {
        let of = |part| {
            all.iter()
                .filter(|a| a.code.part() == part)
                .cloned()
                .collect::<Vec<_>>()
        };
        verdict(
            &of(Part::Code),
            &of(Part::Transactions),
            &of(Part::Holders),
            known,
        )
    }

    #[test]
    fn scores_are_those_worked_out_by_hand() {
        use AnomalyCode::{
            Blacklist, HhiHigh, LpUnlocked, OneWayFlow, SellBlocked, Top10Concentration, Unverified,
        };
        for (all, known, expected) in [
            (vec![], ALL, 100),
            (vec![], KnownInputs { code: false, ..ALL }, 59),
            (
                vec![],
                KnownInputs {
                    executed: false,
                    ..ALL
                },
                60,
            ),
            (vec![], KnownInputs { sale: false, ..ALL }, 59),
            (
                vec![],
                KnownInputs {
                    sale: false,
                    code: false,
                    ..ALL
                },
                59,
            ),
            (
                vec![anomaly(SellBlocked, 0.1)],
                KnownInputs { sale: false, ..ALL },
                10,
            ),
            (
                vec![],
                KnownInputs {
                    transfers: false,
                    ..ALL
                },
                85,
            ),
            (
                vec![],
                KnownInputs {
                    holders: false,
                    ..ALL
                },
                90,
            ),
            (
                vec![],
                KnownInputs {
                    unread: Some("pools"),
                    ..ALL
                },
                85,
            ),
            (
                vec![],
                KnownInputs {
                    holders: false,
                    unread: Some("holders"),
                    ..ALL
                },
                85,
            ),
            (vec![anomaly(Unverified, 1.0)], ALL, 92),
            // 0.6 · (1 − 0.9 · 0.7)
            (
                vec![anomaly(Blacklist, 1.0), anomaly(OneWayFlow, 1.0)],
                ALL,
                22,
            ),
            // 1 − 0.7 · (1 − 0.5 · (1 − max(0.4, 0.3)))
            (
                vec![
                    anomaly(LpUnlocked, 1.0),
                    anomaly(Top10Concentration, 1.0),
                    anomaly(HhiHigh, 1.0),
                ],
                ALL,
                51,
            ),
            (vec![anomaly(SellBlocked, 0.1)], ALL, 10),
        ] {
            assert_eq!(score(&all, known).score, expected, "{all:?}");
        }
    }

    #[test]
    fn resemblance_alone_is_a_reason_for_caution_and_no_more() {
        use AnomalyCode::{HiddenMint, SimilarToScam, TaxRaisable};
        // 30 by itself; with what leaves 40, 12; with what leaves less than 40 it counts in full.
        for (others, expected) in [
            (&[][..], 40),
            (&[TaxRaisable], 40),
            (&[TaxRaisable, HiddenMint], 2),
        ] {
            let all: Vec<Anomaly> = others
                .iter()
                .chain(&[SimilarToScam])
                .map(|code| anomaly(*code, 1.0))
                .collect();
            assert_eq!(score(&all, ALL).score, expected, "{others:?}");
        }
    }

    #[test]
    fn code_that_told_nothing_is_never_without_major_risk() {
        let verdict = score(
            &[],
            KnownInputs {
                executed: false,
                ..ALL
            },
        );
        let caps: Vec<i64> = verdict.caps.iter().map(|cap| cap.score).collect();
        assert_eq!((verdict.uncapped, caps), (100, vec![60]));
        assert!(recommendation(&verdict, 1.0, [&[], &[], &[]], &[], &[]).starts_with("LOW RISK"));
        // Missing code has its own cap, and only that.
        assert_eq!(
            score(
                &[],
                KnownInputs {
                    code: false,
                    executed: false,
                    ..ALL
                }
            )
            .caps
            .len(),
            1
        );
    }

    #[test]
    fn the_recommendation_follows_the_score_and_fatal_anomalies() {
        let says = |all: &[Anomaly], missing: &[Missing]| {
            recommendation(&score(all, ALL), 1.0, [all, &[], &[]], missing, &[])
        };
        assert_eq!(
            says(&[], &[]),
            "NO MAJOR RISK FOUND: no check found anything"
        );
        let fatal = [
            anomaly(AnomalyCode::HiddenMint, 1.0),
            anomaly(AnomalyCode::SellTax, 0.02).fatal(true),
        ];
        assert!(
            says(&fatal, &[]).starts_with("AVOID: something; something"),
            "{}",
            says(&fatal, &[])
        );
        let missing = Missing {
            part: Part::Holders,
            what: "no holder data".into(),
            codes: vec![],
            supply: String::new(),
        };
        assert!(says(&[], &[missing]).ends_with(". Not checked (missing data): no holder data"));
        for (from, word) in WORDS {
            let verdict = Verdict {
                score: *from,
                uncapped: *from,
                caps: vec![],
                fatal: false,
                unknown: false,
            };
            assert!(recommendation(&verdict, 1.0, [&[], &[], &[]], &[], &[]).starts_with(word));
        }
    }

    #[test]
    fn few_checks_never_lead_to_a_reassuring_word() {
        let says = |score, fatal, checked| {
            let verdict = Verdict {
                score,
                uncapped: score,
                caps: vec![],
                fatal,
                unknown: false,
            };
            let text = recommendation(&verdict, checked, [&[], &[], &[]], &[], &[]);
            text.split_once(':')
                .map(|(word, _)| word.to_owned())
                .unwrap_or_default()
        };
        for (score, fatal, checked, word) in [
            (100, false, 0.5, "NO MAJOR RISK FOUND"),
            (100, false, 0.499, "NOT ENOUGH DATA"),
            (60, false, 0.0, "NOT ENOUGH DATA"),
            (60, false, 0.5, "LOW RISK"),
            (59, false, 0.0, "CAUTION"),
            (25, false, 0.0, "HIGH RISK"),
            (10, true, 0.0, "AVOID"),
        ] {
            assert_eq!(
                says(score, fatal, checked),
                word,
                "{score} {fatal} {checked}"
            );
            assert_eq!(too_little_known(word), word == "NOT ENOUGH DATA");
        }
    }

    #[test]
    fn a_sale_that_is_not_known_is_unknown_unless_something_was_found() {
        use AnomalyCode::{KnownScam, Pausable, TaxRaisable};
        for (found, sale, expected) in [
            (&[][..], false, (59, NOT_ENOUGH_DATA)),
            (&[Pausable], false, (59, NOT_ENOUGH_DATA)),
            (&[TaxRaisable], false, (40, "CAUTION")),
            (&[KnownScam], false, (5, AVOID)),
            (&[], true, (100, "NO MAJOR RISK FOUND")),
            (&[Pausable], true, (85, "NO MAJOR RISK FOUND")),
        ] {
            let all: Vec<Anomaly> = found.iter().map(|code| anomaly(*code, 1.0)).collect();
            let verdict = score(&all, KnownInputs { sale, ..ALL });
            assert_eq!(
                (verdict.score, word(&verdict, 1.0)),
                expected,
                "{found:?} {sale}"
            );
        }
    }

    #[test]
    fn the_strongest_comes_first_and_ties_by_code() {
        let mut all = [
            anomaly(AnomalyCode::Proxy, 0.5),
            anomaly(AnomalyCode::Blacklist, 1.0),
            anomaly(AnomalyCode::DelegatecallAny, 1.0),
            anomaly(AnomalyCode::SelfDestruct, 1.0),
        ];
        order(&mut all);
        assert_eq!(
            all.map(|a| a.code.word()),
            ["BLACKLIST", "DELEGATECALL_ANY", "SELFDESTRUCT", "PROXY"]
        );
    }

    fn some() -> impl Strategy<Value = Anomaly> {
        (0..AnomalyCode::ALL.len(), 0.0..=1.0f64, any::<bool>()).prop_map(|(i, strength, fatal)| {
            anomaly(AnomalyCode::ALL[i], strength).fatal(fatal && i % 5 == 0)
        })
    }

    proptest! {
        #[test]
        fn adding_an_anomaly_or_strengthening_one_never_raises_the_score(
            all in prop::collection::vec(some(), 0..12), more in some(), place in any::<prop::sample::Index>(), stronger in 0.0..=1.0f64,
            code in any::<bool>(), executed in any::<bool>(), sale in any::<bool>(), transfers in any::<bool>(), holders in any::<bool>(),
            unread in any::<bool>(),
        ) {
            let known = KnownInputs { code, executed, sale, transfers, holders, unread: unread.then_some("pools") };
            let before = score(&all, known);
            prop_assert!((0..=100).contains(&before.score) && before.score <= before.uncapped);
            let mut added = all.clone();
            added.push(more);
            prop_assert!(score(&added, known).score <= before.score);
            if !all.is_empty() {
                let mut raised = all.clone();
                let one = place.get(&raised).strength.max(stronger);
                let i = place.index(raised.len());
                raised[i].strength = one;
                prop_assert!(score(&raised, known).score <= before.score);
            }
        }

        #[test]
        fn a_part_scores_from_0_to_100_in_tenths(all in prop::collection::vec(some(), 0..12)) {
            let part = part(Some(&all), false);
            let score = part.score.unwrap_or(-1.0);
            prop_assert!((0.0..=100.0).contains(&score) && (score * 10.0).fract().abs() < 1e-6);
        }
    }
}
