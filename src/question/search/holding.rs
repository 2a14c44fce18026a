//! Which tokens meet some conditions now: what alerts are judged by. Columns, grammar and figures are those of `where` of GET /tokens.

use super::{
    Hit,
    row::{self, TokenRow, is_worked_out},
    work_out,
};
use crate::{
    dataset::address::Address,
    error::{Code, Problem, Result},
    question::{Find, filter::Filter, known_token, parameter, progress::Progress, snapshot::Snapshot},
};

/// Which tokens meet the conditions, of all or this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionMatch {
    pub condition: String,
    pub token: Option<Address>,
}

impl ConditionMatch {
    /// The conditions as they are read; without any everything would hold.
    fn filter(&self, snapshot: &Snapshot) -> Result<Filter> {
        let filter = parameter::conditions("condition", &self.condition, &row::columns(&snapshot.dataset))?;
        if filter.is_empty() {
            let detail = "`condition` is empty: write a column, a sign and a value, as in `price>20`.";
            return Err(Problem::new(Code::InvalidParameter, detail));
        }
        Ok(filter)
    }
}

/// The tokens that do not fail the conditions, in the order of the dataset.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MatchedTokens {
    pub holds: Vec<Address>,
    /// A value is missing on which it hangs whether they hold: the column is empty there, or its table cannot be read.
    pub unknown: Vec<Address>,
}

impl Find for ConditionMatch {
    type Found = MatchedTokens;

    fn find(&self, snapshot: &Snapshot, progress: &Progress) -> Result<MatchedTokens> {
        let filter = self.filter(snapshot)?;
        let all = &snapshot.market.tokens;
        let tokens = match &self.token {
            None => all.as_slice(),
            Some(token) => {
                known_token(snapshot, token)?;
                snapshot.market.of(&snapshot.dataset, token).map_or(&[][..], std::slice::from_ref)
            }
        };
        let (slow, quick) = filter.split(is_worked_out);
        let (mut found, mut held): (Vec<Hit<'_>>, MatchedTokens) = Default::default();
        for row in tokens.iter().map(TokenRow::plain) {
            match quick.judge(|column| row.field(column)) {
                Some(true) => found.push((0, row)),
                Some(false) => {}
                None => held.unknown.push(row.token.token_address),
            }
        }
        work_out(&mut found, &slow, &[], snapshot, progress)?;
        for (_, row) in &found {
            // Where candles show no pattern, that is known.
            let no_pattern = slow.names("best_pattern") && row.field("best_pattern").is_none() && !row.lacks("best_pattern");
            match slow.judge(|column| row.field(column)).or(no_pattern.then_some(false)) {
                Some(true) => held.holds.push(row.token.token_address),
                Some(false) => {}
                None => held.unknown.push(row.token.token_address),
            }
        }
        Ok(held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        dataset::sample,
        question::{fields, tests},
    };

    fn matched(snapshot: &Snapshot, condition: &str, token: Option<&str>) -> Result<MatchedTokens> {
        ConditionMatch { condition: condition.to_owned(), token: token.map(sample::address) }.find(snapshot, &Progress::default())
    }

    #[test]
    fn the_tokens_that_hold_are_those_that_where_keeps() {
        let tokens = "token_address,symbol,name,chain,price\n0x1,A,A,eth,3\n0x2,B,B,eth,30\n0x3,C,C,eth,";
        let snapshot = tests::snapshot(&[("tokens", tokens)]);
        let holding = |condition: &str, token: Option<&str>| matched(&snapshot, condition, token).map(|held| held.holds.len());
        let unknown = |condition: &str| matched(&snapshot, condition, None).map(|held| held.unknown);
        let third = vec![sample::address("0x3")];
        assert_eq!((unknown("price>20"), unknown("price>20 symbol:x")), (Ok(third), Ok(vec![])));
        assert_eq!(unknown("trend:uptrend").map(|tokens| tokens.len()), Ok(3), "there are no candles to tell it by");
        assert_eq!((holding("price>20", None), holding("price<20", None), holding("price>1 symbol:a", None)), (Ok(1), Ok(1), Ok(1)));
        assert_eq!(
            (holding("price>20", Some("0x2")), holding("price>20", Some("0x1")), holding("price<9", Some("0x3"))),
            (Ok(1), Ok(0), Ok(0))
        );
        assert_eq!(holding("trend:uptrend", None), Ok(0), "without candles there is no trend");
        for wrong in ["", " ", "usd", "pric>2", "price>x"] {
            assert_eq!(holding(wrong, None).map_err(|problem| problem.code), Err(Code::InvalidParameter), "{wrong}");
        }
        assert_eq!(holding("price>2", Some("0x9")).map_err(|problem| problem.code), Err(Code::TokenNotFound));
    }

    #[test]
    fn candles_without_a_pattern_are_no_missing_value() {
        let snapshot = fields::tests::snapshot();
        for condition in ["pattern:bull_flag", "pattern!=double_top pattern:bull_flag"] {
            let held = matched(&snapshot, condition, None);
            assert_eq!(held, Ok(MatchedTokens { holds: vec![], unknown: vec![sample::address("0x2")] }), "0x2 has no candles");
        }
    }
}
