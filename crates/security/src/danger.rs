//! The verdict's meaning for a buyer: whether it rules out buying, and whether its warning precedes everything else. No check is here.

use super::{
    AnomalyCode, Group,
    score::{AVOID, HIGH_RISK, word_of},
};

/// Findings about selling that do not block it.
const HARMLESS: [AnomalyCode; 3] = [
    AnomalyCode::Cooldown,
    AnomalyCode::Limit,
    AnomalyCode::Whitelist,
];

/// A token's security verdict, as far as it limits what may be shown next to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Danger {
    /// The first word of the recommendation; empty without one.
    word: &'static str,
    against_sale: Option<AnomalyCode>,
}

impl Danger {
    /// `found`: the codes of the findings that count. Sells restricted for some holders count only if most of them fail.
    pub fn new(recommendation: &str, found: impl IntoIterator<Item = AnomalyCode>) -> Self {
        // What an owner could stop is not stopped.
        let stops = |code: &AnomalyCode| {
            *code == AnomalyCode::SellTax
                || (code.group() == Group::Sell && !code.is_power() && !HARMLESS.contains(code))
        };
        let order = |code: &AnomalyCode| (*code != AnomalyCode::SellTax, code.fatal());
        let against_sale = found.into_iter().filter(stops).max_by(|a, b| {
            order(a)
                .cmp(&order(b))
                .then(a.weight().total_cmp(&b.weight()))
        });
        Self {
            word: if recommendation.is_empty() {
                ""
            } else {
                word_of(recommendation)
            },
            against_sale,
        }
    }

    pub fn word(self) -> &'static str {
        self.word
    }

    /// The finding that affects a sell and that the pools' values don't include; the fatal and the heaviest take precedence, and a tax comes last.
    pub fn against_sale(self) -> Option<AnomalyCode> {
        self.against_sale
    }

    /// Whether sells fail. A tax takes a part; a tax that takes most is AVOID.
    pub fn sale_fails(self) -> bool {
        self.against_sale
            .is_some_and(|code| code != AnomalyCode::SellTax)
    }

    /// Whether no advice may recommend buying the token.
    pub fn forbids_buy(self) -> bool {
        self.warns_first() || self.word == HIGH_RISK
    }

    /// Whether the warning precedes everything else.
    pub fn warns_first(self) -> bool {
        self.word == AVOID || self.sale_fails()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buy_is_forbidden_by_the_word_or_by_a_sale_that_fails() {
        use AnomalyCode::{
            LpUnlocked, Pausable, PrivilegedSellers, SellBlocked, SellFailures, SellTax,
        };
        // Recommendation, findings; what a sale meets, whether it fails, whether a buy is forbidden and whether the warning comes first.
        let cases: [(&str, &[AnomalyCode], _, _); 10] = [
            (
                "AVOID: bought tokens cannot be sold (honeypot)",
                &[SellBlocked],
                Some(SellBlocked),
                (true, true, true),
            ),
            (
                "AVOID: bought tokens cannot be sold (honeypot)",
                &[SellBlocked, SellFailures, PrivilegedSellers],
                Some(SellBlocked),
                (true, true, true),
            ),
            (
                "AVOID: the address is a known scam",
                &[],
                None,
                (false, true, true),
            ),
            (
                "HIGH RISK: its code resembles",
                &[LpUnlocked],
                None,
                (false, true, false),
            ),
            (
                "CAUTION: sell transactions fail",
                &[Pausable, SellTax, SellFailures],
                Some(SellFailures),
                (true, true, true),
            ),
            (
                "LOW RISK: only owner-linked wallets sell",
                &[PrivilegedSellers],
                Some(PrivilegedSellers),
                (true, true, true),
            ),
            (
                "CAUTION: 10.0% sell tax",
                &[LpUnlocked, SellTax],
                Some(SellTax),
                (false, false, false),
            ),
            (
                "CAUTION: the owner can block all sells",
                &[Pausable, LpUnlocked],
                None,
                (false, false, false),
            ),
            (
                "NOT ENOUGH DATA: no contract code",
                &[],
                None,
                (false, false, false),
            ),
            ("", &[], None, (false, false, false)),
        ];
        for (recommendation, found, against, expected) in cases {
            let danger = Danger::new(recommendation, found.iter().copied());
            assert_eq!(danger.against_sale(), against, "{recommendation}");
            assert_eq!(
                (
                    danger.sale_fails(),
                    danger.forbids_buy(),
                    danger.warns_first()
                ),
                expected,
                "{recommendation}"
            );
        }
    }
}
