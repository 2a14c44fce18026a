//! Advice from the patterns, weighed by their track record. A pattern whose track record does not beat the base rate is worth
//! watching at most.

use super::errors::Verdict;
use crate::{
    patterns::{
        Advice, AdviceReason, AdviceWord, Pattern, PatternRecord, PatternsAnswer, Status,
        TradeAction,
    },
    peg::{Peg, PeggedCoin},
};
use model::format::{age, plural};

/// Weighs the signal of the patterns by the track record of all tokens, `None` if it is not known. Only triggered patterns with a hit rate above
/// the base rate support the signal; all patterns in the other direction reduce it. Stale candles give no advice.
pub fn advice(
    answer: &PatternsAnswer,
    records: Option<&[PatternRecord]>,
    is_stale: bool,
) -> Advice {
    if let Some(peg) = &answer.peg {
        return Advice {
            word: AdviceWord::Hold,
            reason: AdviceReason::Pegged,
            text: peg_text(peg),
        };
    }
    let side = match answer.signal.map(|signal| signal.action) {
        Some(TradeAction::StrongBuy | TradeAction::Buy) => 1.0,
        Some(TradeAction::Sell | TradeAction::StrongSell) => -1.0,
        Some(TradeAction::Hold) | None => return held(answer),
    };
    if is_stale {
        let text = "the token's candles end long before the newest in the data".to_owned();
        return Advice {
            word: AdviceWord::Hold,
            reason: AdviceReason::Stale,
            text,
        };
    }
    let record = |pattern: &Pattern| records?.iter().find(|record| record.name == pattern.name);
    let backed =
        |pattern: &&Pattern| is_entered(pattern) && record(pattern).is_some_and(beats_base_rate);
    let adds = |pattern: &Pattern| {
        side * pattern
            .detail
            .as_ref()
            .map_or(0.0, |detail| detail.action_contribution)
    };
    let counts = |pattern: &&Pattern| adds(pattern) < 0.0 || backed(pattern);
    let sum: f64 = answer.patterns.iter().filter(counts).map(adds).sum();
    let word = AdviceWord::from(TradeAction::of_sum(side * sum));
    // Patterns in the other direction reduce the action, but cause none of their own: no track record supports them.
    if sum > 0.0 && word != AdviceWord::Hold {
        let leading = answer
            .deciding()
            .find(backed)
            .or_else(|| answer.patterns.iter().find(backed));
        let text = leading
            .and_then(|pattern| Some(hit_rate_text(record(pattern)?)))
            .unwrap_or_default();
        return Advice {
            word,
            reason: AdviceReason::Record,
            text,
        };
    }
    // The largest pattern without support is the reason.
    let unbacked = answer
        .deciding()
        .find(|pattern| !backed(pattern))
        .or_else(|| answer.deciding().next());
    let (reason, text) = match unbacked {
        Some(pattern) if !is_entered(pattern) => (
            AdviceReason::NotEntered,
            format!("the {} has not triggered yet", display_name(pattern)),
        ),
        Some(_) if records.is_none() => (AdviceReason::NoRecord, "no track record yet".to_owned()),
        Some(pattern) => {
            let text = record(pattern).map_or_else(
                || format!("no earlier {} is known", display_name(pattern)),
                hit_rate_text,
            );
            (AdviceReason::NoBetterThanChance, text)
        }
        None => (AdviceReason::NoBetterThanChance, String::new()),
    };
    Advice {
        word: AdviceWord::Watch,
        reason,
        text,
    }
}

/// `95% of closes are within 0.21% of $1`, `… within 0.11% of 1.2043 ETH; see the chart of ETH`.
fn peg_text(
    Peg {
        price,
        within_percent,
        coin,
    }: &Peg,
) -> String {
    let in_coin = |coin: &PeggedCoin| {
        format!(
            "{:.4} {symbol}; see the chart of {symbol}",
            coin.ratio,
            symbol = coin.symbol
        )
    };
    let worth = coin.as_ref().map_or_else(|| format!("${price}"), in_coin);
    format!("95% of closes are within {within_percent:.2}% of {worth}")
}

fn held(answer: &PatternsAnswer) -> Advice {
    let ways = |up: bool| {
        answer
            .deciding()
            .any(|pattern| (pattern.projected_movement > 0.0) == up)
    };
    let (reason, text) = match (ways(true), ways(false)) {
        (true, true) => (AdviceReason::Disagreement, "patterns disagree".to_owned()),
        (false, false) if answer.patterns.is_empty() => (
            AdviceReason::NoPattern,
            "no pattern in these candles".to_owned(),
        ),
        (false, false) if answer.patterns.iter().any(is_forming) => (
            AdviceReason::NoPattern,
            "no forming pattern has a direction yet".to_owned(),
        ),
        (false, false) => (
            AdviceReason::NoPattern,
            "all patterns have completed or are too old".to_owned(),
        ),
        _ => (
            AdviceReason::Faint,
            answer
                .deciding()
                .next()
                .map_or_else(String::new, |pattern| faint(answer, pattern)),
        ),
    };
    Advice {
        word: AdviceWord::Hold,
        reason,
        text,
    }
}

/// `double top was confirmed 41d ago, too old to act on`, `bull flag is still forming`, `bull flag has a low pattern fit of 15%`.
fn faint(answer: &PatternsAnswer, pattern: &Pattern) -> String {
    let name = display_name(pattern);
    if !is_entered(pattern) {
        return format!("the {name} is still forming");
    }
    match pattern.detail.as_ref().zip(answer.as_of) {
        Some((detail, as_of)) if TradeAction::of_sum(pattern.confidence) != TradeAction::Hold => {
            format!(
                "the {name} was confirmed {} ago, too old to act on",
                age(as_of.0 - detail.end_time.0)
            )
        }
        _ => format!(
            "the {name} has a low pattern fit of {:.0}%",
            100.0 * pattern.confidence
        ),
    }
}

fn is_forming(pattern: &Pattern) -> bool {
    pattern
        .detail
        .as_ref()
        .is_some_and(|detail| detail.status == Status::Forming)
}

fn is_entered(pattern: &Pattern) -> bool {
    pattern
        .detail
        .as_ref()
        .is_some_and(|detail| detail.status == Status::Confirmed)
}

fn beats_base_rate(record: &PatternRecord) -> bool {
    record.evidence.verdict == Some(Verdict::BeatsBaseRate)
}

/// `bull flag hit its target in 51.3% of 230 cases on 84 days; base rate 48.4% (no edge)`.
fn hit_rate_text(record: &PatternRecord) -> String {
    let name = record.name.word().replace('_', " ");
    let Some((target, any)) = record.target.zip(record.random_target) else {
        return format!("no earlier {name} has completed");
    };
    let (target, any, count) = (100.0 * target, 100.0 * any, record.count);
    let verdict = match record.evidence.verdict {
        Some(Verdict::NoEdge) => " (no edge)",
        Some(Verdict::TooFew) | None => " (too few)",
        Some(Verdict::BeatsBaseRate | Verdict::BelowBaseRate) => "",
    };
    format!(
        "{name} hit its target in {target:.1}% of {} on {}; base rate {any:.1}%{verdict}",
        plural(count, "case", "cases"),
        plural(record.evidence.days, "day", "days")
    )
}

fn display_name(pattern: &Pattern) -> String {
    pattern.name.word().replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patterns::{PatternName, RawSignal, explained_sample};
    use crate::track_record::errors::Evidence;
    use crate::{
        patterns::patterns,
        timeframes::CandleVec,
        trendlines::{Trend, trendlines},
    };
    use model::time::DAY_MS;

    fn record(name: PatternName, target: f64, verdict: Verdict) -> PatternRecord {
        PatternRecord {
            count: 100,
            target: Some(target),
            random_target: Some(0.5),
            evidence: Evidence {
                days: 84,
                verdict: Some(verdict),
                ..Evidence::default()
            },
            ..PatternRecord::none(name)
        }
    }

    fn answer(patterns: &[(PatternName, f64, Status)]) -> PatternsAnswer {
        let patterns: Vec<Pattern> = patterns
            .iter()
            .map(|(name, adds, status)| explained_sample(*name, *adds, *status))
            .collect();
        let sum = patterns
            .iter()
            .filter_map(|pattern| Some(pattern.detail.as_ref()?.action_contribution))
            .sum();
        PatternsAnswer {
            patterns,
            signal: Some(RawSignal::of_weight(sum)),
            ..PatternsAnswer::empty()
        }
    }

    #[test]
    fn no_word_is_stronger_than_the_track_record_of_its_patterns() {
        use AdviceReason as Because;
        use PatternName::{BullFlag, DoubleBottom, DoubleTop};
        use Status::{Confirmed, Forming, Reached};
        // The verdict decides, however high the hit rate is.
        let chance = || {
            Some(vec![
                record(BullFlag, 0.59, Verdict::NoEdge),
                record(DoubleBottom, 0.40, Verdict::BelowBaseRate),
                record(DoubleTop, 0.60, Verdict::BeatsBaseRate),
            ])
        };
        let few = || Some(vec![record(BullFlag, 0.90, Verdict::TooFew)]);
        let proven = || {
            Some(vec![
                record(BullFlag, 0.60, Verdict::BeatsBaseRate),
                record(DoubleTop, 0.60, Verdict::BeatsBaseRate),
            ])
        };
        let (flag, bottom, top) = (
            (BullFlag, 0.8, Confirmed),
            (DoubleBottom, 0.7, Confirmed),
            (DoubleTop, -0.7, Confirmed),
        );
        let cases = [
            (
                vec![flag],
                None,
                AdviceWord::Watch,
                Because::NoRecord,
                "no track record yet",
            ),
            // Earlier patterns of the list were detected in hindsight, which is no track record.
            (
                vec![
                    flag,
                    (BullFlag, 0.0, Reached),
                    (BullFlag, 0.0, Status::Failed),
                    (DoubleTop, 0.0, Reached),
                ],
                None,
                AdviceWord::Watch,
                Because::NoRecord,
                "no track record yet",
            ),
            (
                vec![flag],
                chance(),
                AdviceWord::Watch,
                Because::NoBetterThanChance,
                "bull flag hit its target in 59.0% of 100 cases on 84 days; base rate 50.0% (no edge)",
            ),
            (
                vec![flag],
                few(),
                AdviceWord::Watch,
                Because::NoBetterThanChance,
                "bull flag hit its target in 90.0% of 100 cases on 84 days; base rate 50.0% (too few)",
            ),
            (
                vec![bottom],
                chance(),
                AdviceWord::Watch,
                Because::NoBetterThanChance,
                "double bottom hit its target in 40.0% of 100 cases on 84 days; base rate 50.0%",
            ),
            (
                vec![flag],
                proven(),
                AdviceWord::StrongBuy,
                Because::Record,
                "bull flag hit its target in 60.0% of 100 cases on 84 days; base rate 50.0%",
            ),
            (
                vec![bottom],
                proven(),
                AdviceWord::Watch,
                Because::NoBetterThanChance,
                "no earlier double bottom is known",
            ),
            (
                vec![(BullFlag, 0.3, Confirmed), bottom],
                proven(),
                AdviceWord::Buy,
                Because::Record,
                "bull flag hit its target in 60.0% of 100 cases on 84 days; base rate 50.0%",
            ),
            (
                vec![(BullFlag, 0.4, Forming)],
                proven(),
                AdviceWord::Watch,
                Because::NotEntered,
                "the bull flag has not triggered yet",
            ),
            (
                vec![top],
                chance(),
                AdviceWord::StrongSell,
                Because::Record,
                "double top hit its target in 60.0% of 100 cases on 84 days; base rate 50.0%",
            ),
            // A pattern in the other direction causes no word of its own.
            (
                vec![(BullFlag, 0.7, Confirmed), (DoubleTop, -0.3, Confirmed)],
                None,
                AdviceWord::Watch,
                Because::NoRecord,
                "no track record yet",
            ),
            (
                vec![flag, (DoubleTop, -0.75, Confirmed)],
                proven(),
                AdviceWord::Hold,
                Because::Disagreement,
                "patterns disagree",
            ),
            (
                vec![(BullFlag, 0.1, Forming)],
                proven(),
                AdviceWord::Hold,
                Because::Faint,
                "the bull flag is still forming",
            ),
            (
                vec![(BullFlag, 0.1, Confirmed)],
                proven(),
                AdviceWord::Hold,
                Because::Faint,
                "the bull flag has a low pattern fit of 10%",
            ),
            (
                vec![(BullFlag, 0.0, Reached)],
                proven(),
                AdviceWord::Hold,
                Because::NoPattern,
                "all patterns have completed or are too old",
            ),
            (
                vec![(BullFlag, 0.0, Forming)],
                None,
                AdviceWord::Hold,
                Because::NoPattern,
                "no forming pattern has a direction yet",
            ),
            (
                vec![],
                None,
                AdviceWord::Hold,
                Because::NoPattern,
                "no pattern in these candles",
            ),
        ];
        for (patterns, records, word, reason, text) in cases {
            let given = advice(&answer(&patterns), records.as_deref(), false);
            assert_eq!(
                (given.word, given.reason, given.text.as_str()),
                (word, reason, text),
                "{patterns:?} {records:?}"
            );
        }
    }

    #[test]
    fn what_is_sure_and_old_is_called_old() {
        let mut old = answer(&[(PatternName::DoubleTop, -0.12, Status::Confirmed)]);
        old.patterns[0].confidence = 0.91;
        old.as_of = Some(model::time::Time(41 * DAY_MS));
        let given = advice(&old, None, false);
        assert_eq!(
            (given.reason, given.text.as_str()),
            (
                AdviceReason::Faint,
                "the double top was confirmed 5w ago, too old to act on"
            )
        );
    }

    #[test]
    fn candles_that_ended_long_ago_advise_nothing() {
        let proven = [record(PatternName::BullFlag, 0.60, Verdict::BeatsBaseRate)];
        let word = |is_stale: bool| {
            let advice = advice(
                &answer(&[(PatternName::BullFlag, 0.8, Status::Confirmed)]),
                Some(&proven),
                is_stale,
            );
            (advice.word, advice.reason)
        };
        assert_eq!(word(false).1, AdviceReason::Record);
        assert_eq!(word(true), (AdviceWord::Hold, AdviceReason::Stale));
    }

    #[test]
    fn a_pegged_token_has_no_signal() {
        let mut candles = CandleVec::default();
        for day in 0..200_i64 {
            // Five tops and bottoms a tenth of a percent apart, in ten days each.
            let close = 1.0 + 0.000_2 * (5 - (day % 10 - 5).abs()) as f64;
            candles.timestamp.push(day * DAY_MS);
            for column in [
                &mut candles.open,
                &mut candles.high,
                &mut candles.low,
                &mut candles.close,
            ] {
                column.push(close);
            }
            candles.volume.push(1.0);
        }
        let hit_rate_text = |explain: bool| patterns(&candles.as_candles(), explain);
        let (plain, explained) = (hit_rate_text(false), hit_rate_text(true));
        assert_eq!(
            (
                plain.patterns.len(),
                explained.signal.map(|signal| signal.action)
            ),
            (0, Some(TradeAction::Hold))
        );
        assert!(
            !explained.patterns.is_empty()
                && explained.best().is_none()
                && explained.deciding().next().is_none()
        );
        let advice = advice(&explained, None, false);
        assert_eq!(
            (advice.word, advice.reason, advice.text.as_str()),
            (
                AdviceWord::Hold,
                AdviceReason::Pegged,
                "95% of closes are within 0.10% of $1"
            )
        );
        // The last days rise.
        assert_eq!(
            trendlines(&candles.as_candles().part(0..196), 6, false).trend,
            Trend::Sideways
        );
    }
}
