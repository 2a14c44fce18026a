//! Negation by `not`: the opposite of each condition, so that no other module needs to know about it. A missing value matches neither a
//! condition nor its opposite.

use super::{ConditionValue, Operator, Term, pieces::OPERATORS};

/// The conditions that hold where these do not all hold.
pub(super) fn all(mut terms: Vec<Term>) -> Vec<Term> {
    match (terms.pop(), terms.is_empty()) {
        (None, _) => Vec::new(),
        (Some(Term::Either(alternatives)), true) => {
            alternatives.into_iter().flat_map(all).collect()
        }
        (Some(term), true) => vec![one(term)],
        (Some(last), false) => {
            terms.push(last);
            let mut alternatives = Vec::new();
            for term in terms {
                match all(vec![term]).as_mut_slice() {
                    [Term::Either(inner)] => alternatives.append(inner),
                    opposite => alternatives.push(opposite.to_vec()),
                }
            }
            vec![Term::Either(alternatives)]
        }
    }
}

/// The opposite of a condition.
pub(super) fn one(term: Term) -> Term {
    let Term::Compare {
        column,
        operator,
        wanted,
        text,
    } = term
    else {
        return term;
    };
    let opposite = match operator {
        // Of texts `:` asks for a part.
        Operator::Has if matches!(wanted, ConditionValue::Text(_)) => Operator::Lacks,
        Operator::Has | Operator::Equal => Operator::Differs,
        Operator::Differs => Operator::Equal,
        Operator::Lacks => Operator::Has,
        Operator::Greater => Operator::AtMost,
        Operator::AtMost => Operator::Greater,
        Operator::Less => Operator::AtLeast,
        Operator::AtLeast => Operator::Less,
    };
    let sign = OPERATORS
        .iter()
        .find(|(_, known)| *known == opposite)
        .map_or("", |(sign, _)| sign);
    // A flag alone has neither sign nor value.
    let (name, value) = text
        .find([':', '=', '!', '<', '>'])
        .map_or((text.as_str(), "yes"), |at| {
            let length = OPERATORS
                .iter()
                .find(|(sign, _)| text[at..].starts_with(sign))
                .map_or(1, |(sign, _)| sign.len());
            (&text[..at], &text[at + length..])
        });
    let text = format!("{name}{sign}{value}");
    Term::Compare {
        column,
        operator: opposite,
        wanted,
        text,
    }
}
