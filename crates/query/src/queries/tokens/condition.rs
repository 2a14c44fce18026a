//! The tokens that currently match a condition: the evaluation of alerts. Columns, grammar and metrics are those of `where` of GET /tokens.

use std::sync::Arc;

use super::{
    alert_rule::AlertRule,
    arrangement::{compared, compute},
    row::{self, TokenRow},
};
use crate::queries::{
    Find,
    fields::is_computed,
    known_token,
    parameter::{self, TokenReader},
    snapshot::Snapshot,
    track_record,
    view::View,
};
use model::{
    address::Address,
    error::{Code, Problem, Result},
    format::age,
    progress::Progress,
    scalar::Scalar,
};
use table::filter::Filter;

/// Evaluates a condition on all tokens or on one.
#[derive(Debug, Clone, PartialEq)]
pub struct ConditionMatch {
    pub condition: String,
    pub token: Option<Address>,
    /// Whether the thresholds are moved by the hysteresis of the alert.
    pub relaxed: bool,
}

/// Parses the condition of an alert's text. Errors: an empty one, which every token would meet; an option without a valid value.
pub(in crate::queries) fn filter(text: &str, snapshot: &Snapshot) -> Result<Filter> {
    let rule = AlertRule::read(text)?;
    let filter = parameter::conditions(
        "condition",
        &rule.condition,
        &row::columns(&snapshot.dataset),
        TokenReader::of(snapshot),
    )?;
    if filter.is_empty() {
        let detail = "`condition` is empty; write column, operator and value, as in `price>20`.";
        return Err(Problem::new(Code::InvalidParameter, detail));
    }
    if rule
        .hysteresis
        .is_some_and(|part| filter.relaxed(part).is_none())
    {
        let detail = "`hysteresis` needs a comparison with a number, as in `price>20`.";
        return Err(Problem::new(Code::InvalidParameter, detail));
    }
    Ok(filter)
}

/// Whether the condition is on advice, which changes with the record of all tokens.
pub fn is_weighed(condition: &str, snapshot: &Snapshot) -> bool {
    filter(condition, snapshot).is_ok_and(|filter| filter.columns().any(track_record::is_weighed))
}

/// Whether a row with its figures meets the conditions; `None` where that depends on a missing value.
pub(in crate::queries) fn is_met(conditions: &Filter, row: &TokenRow<'_>) -> Option<bool> {
    // Candles without a pattern are a known absence, not a missing value.
    let no_pattern = |column: &str| column == "best_pattern" && !row.lacks(column);
    conditions.matches_or_unknown(|column| row.field(column), no_pattern)
}

/// A token's value in the first column that a condition compares, in words; none where there is no such column or no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionFigure {
    pub condition: String,
    pub token: Address,
}

impl Find for ConditionFigure {
    type Found = Option<String>;

    fn find(&self, view: &View<'_>, progress: &Progress) -> Result<Option<String>> {
        let filter = filter(&self.condition, view)?;
        let Some(column) = filter.columns().next() else {
            return Ok(None);
        };
        let Some(summary) = view.market.of(&view.dataset, &self.token) else {
            return Ok(None);
        };
        let mut known = Arc::default();
        if is_computed(column) {
            let names = compared(&filter, &[]);
            compute(std::iter::once(summary), &names, &mut known, view, progress)?;
        }
        let value = known.row(summary).field(column).given();
        Ok(value.map(|value| words(&value)))
    }
}

fn words(value: &Scalar<'_>) -> String {
    match value {
        Scalar::Time(time) => time.minute_text(),
        Scalar::Duration(milliseconds) => age(*milliseconds),
        other => other.to_text().unwrap_or_default(),
    }
}

/// The tokens for which the condition is true or unknown, in dataset order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MatchedTokens {
    pub holds: Vec<Address>,
    /// The result depends on a missing value: the cell is empty, or its table cannot be read.
    pub unknown: Vec<Address>,
}

impl Find for ConditionMatch {
    type Found = MatchedTokens;

    fn find(&self, view: &View<'_>, progress: &Progress) -> Result<MatchedTokens> {
        let mut filter = filter(&self.condition, view)?;
        if let Some(part) = AlertRule::read(&self.condition)?.hysteresis
            && self.relaxed
        {
            filter = filter.relaxed(part).unwrap_or(filter);
        }
        let all = &view.market.tokens;
        let tokens = match &self.token {
            None => all.as_slice(),
            Some(token) => {
                known_token(view, token)?;
                view.market
                    .of(&view.dataset, token)
                    .map_or(&[][..], std::slice::from_ref)
            }
        };
        let (quick, slow) = filter.split(|column| !is_computed(column));
        let (mut found, mut matched) = (Vec::new(), MatchedTokens::default());
        for token in tokens {
            match is_met(&quick, &TokenRow::plain(token)) {
                Some(true) => found.push(token),
                Some(false) => {}
                None => matched.unknown.push(token.token_address),
            }
        }
        let (names, mut known) = (compared(&slow, &[]), Arc::default());
        compute(found.iter().copied(), &names, &mut known, view, progress)?;
        for token in found {
            match is_met(&slow, &known.row(token)) {
                Some(true) => matched.holds.push(token.token_address),
                Some(false) => {}
                None => matched.unknown.push(token.token_address),
            }
        }
        Ok(matched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queries::{fields, tests};
    use load::sample;

    fn find(snapshot: &Snapshot, condition: &str, token: Option<&str>) -> Result<MatchedTokens> {
        ConditionMatch {
            condition: condition.to_owned(),
            token: token.map(sample::address),
            relaxed: false,
        }
        .find(&View::new(snapshot), &Progress::default())
    }

    #[test]
    fn the_tokens_that_hold_are_those_that_where_keeps() {
        let tokens =
            "token_address,symbol,name,chain,price\n0x1,A,A,eth,3\n0x2,B,B,eth,30\n0x3,C,C,eth,";
        let snapshot = tests::snapshot(&[("tokens", tokens)]);
        let count = |condition: &str, token: Option<&str>| {
            find(&snapshot, condition, token).map(|matched| matched.holds.len())
        };
        let unknown =
            |condition: &str| find(&snapshot, condition, None).map(|matched| matched.unknown);
        let third = vec![sample::address("0x3")];
        assert_eq!(
            (unknown("price>20"), unknown("price>20 symbol:x")),
            (Ok(third), Ok(vec![]))
        );
        assert_eq!(
            unknown("trend:uptrend").map(|tokens| tokens.len()),
            Ok(3),
            "there are no candles to tell it by"
        );
        assert_eq!(
            (
                count("price>20", None),
                count("price<20", None),
                count("price>1 symbol:a", None)
            ),
            (Ok(1), Ok(1), Ok(1))
        );
        assert_eq!(
            (
                count("price>20", Some("0x2")),
                count("price>20", Some("0x1")),
                count("price<9", Some("0x3"))
            ),
            (Ok(1), Ok(0), Ok(0))
        );
        assert_eq!(
            count("trend:uptrend", None),
            Ok(0),
            "without candles there is no trend"
        );
        // What is known may be enough beside what is not.
        assert_eq!(
            (
                count("trend:uptrend or price>20", None),
                count("price>20 or (symbol:a price<9)", None)
            ),
            (Ok(1), Ok(2))
        );
        assert_eq!(unknown("price>20 or symbol:c"), Ok(vec![]));
        for wrong in [
            "",
            " ",
            "usd",
            "pric>2",
            "price>x",
            "price>2 or",
            "(price>2",
            "()",
            "price>2 or usd",
        ] {
            assert_eq!(
                count(wrong, None).map_err(|problem| problem.code),
                Err(Code::InvalidParameter),
                "{wrong}"
            );
        }
        assert_eq!(
            count("price>2", Some("0x9")).map_err(|problem| problem.code),
            Err(Code::TokenNotFound)
        );
    }

    #[test]
    fn the_value_is_that_of_the_first_column_compared() {
        let tokens = "token_address,symbol,name,chain,price,supply\n0x1,A,A,eth,0.00000012,1000\n0x2,B,B,eth,,1";
        let snapshot = tests::snapshot(&[("tokens", tokens)]);
        let value = |condition: &str, token: &str| {
            ConditionFigure {
                condition: condition.to_owned(),
                token: sample::address(token),
            }
            .find(&View::new(&snapshot), &Progress::default())
        };
        for (condition, token, expected) in [
            ("price<20 symbol:a", "0x1", Some("0.00000012")),
            ("symbol:a price<20", "0x1", Some("A")),
            ("price<20", "0x2", None),
            ("trend:uptrend", "0x1", None),
            ("price<20", "0x9", None),
        ] {
            assert_eq!(
                value(condition, token),
                Ok(expected.map(str::to_owned)),
                "{condition} {token}"
            );
        }
        assert!(value("pric<20", "0x1").is_err());
    }

    #[test]
    fn a_word_that_no_value_can_hold_is_refused_with_the_nearest() {
        let tokens = "token_address,symbol,name,chain,price\n0x1,A,A,eth,3\n0x2,B,B,mychain,30";
        let snapshot = tests::snapshot(&[("tokens", tokens)]);
        for (condition, near) in [
            ("pattern:bull_flg", "`bull_flag`"),
            ("trend=uptrnd", "`uptrend`"),
            ("action!=BUYY", "`buy`"),
            ("trend:zzz", "one of uptrend, sideways, downtrend"),
            ("chain:etherium", "eth"),
            ("chain=mychian", "the closest are"),
        ] {
            let problem = find(&snapshot, condition, None).expect_err(condition);
            assert_eq!(problem.code, Code::InvalidParameter, "{condition}");
            assert!(problem.detail.contains(near), "{condition}: {problem}");
        }
        // Parts of words, words still being typed, and the data's own chains.
        for condition in [
            "pattern:flag",
            "pattern:BULL_",
            "trend:up",
            "trend!=uptrend",
            "chain:bas",
            "chain:mychain",
            "chain=1",
        ] {
            assert!(find(&snapshot, condition, None).is_ok(), "{condition}");
        }
    }

    #[test]
    fn candles_without_a_pattern_are_no_missing_value() {
        let snapshot = fields::tests::snapshot();
        for condition in [
            "pattern:bull_flag",
            "pattern!=double_top pattern:bull_flag",
            "pattern:bull_flag or (pattern:double_top price>0)",
        ] {
            let matched = find(&snapshot, condition, None);
            assert_eq!(
                matched,
                Ok(MatchedTokens {
                    holds: vec![],
                    unknown: vec![sample::address("0x2")]
                }),
                "0x2 has no candles"
            );
        }
    }
}
