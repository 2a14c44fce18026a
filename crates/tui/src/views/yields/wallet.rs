//! Parses and formats the wallet line: amounts in whole tokens, the minimum yield and limits of the way out (`1.5 WETH, 250k USDC@base,
//! min APY 2.5%, max lock 30 d, exit within 7 d`), or the JSON body of a request. Exact to the last digit; uses the tokens of one snapshot.

use std::collections::BTreeMap;

use ruint::aliases::U256;

use crate::views::prelude::*;
use analysis::yields::amounts::{from_tokens, in_tokens};
use model::{chain::Chain, token::Token};
use query::queries::{parameter::TokenReader, yields::YieldQuery};

/// The parsed wallet line.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum WalletInput {
    Typed {
        /// By token, in smallest units.
        amounts: BTreeMap<Address, U256>,
        terms: Terms,
    },
    /// A complete request, with its settings.
    Request(Box<YieldQuery>),
}

/// What a line demands of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Terms {
    /// In percent.
    pub(super) min_apy: f64,
    pub(super) max_lock_days: Option<f64>,
    pub(super) exit_within_days: Option<f64>,
}

impl Terms {
    pub(super) fn of(question: &YieldQuery) -> Self {
        Self {
            min_apy: question.min_apy,
            max_lock_days: question.max_lock_days,
            exit_within_days: question.exit_within_days,
        }
    }

    /// Reads a part of a line; false if it is no term.
    fn read(&mut self, part: &str) -> Result<bool, InputError> {
        if let Some(minimum) = minimum(part) {
            self.min_apy = minimum?;
        } else if let Some(days) = days(part, MAX_LOCK) {
            self.max_lock_days = Some(days?);
        } else if let Some(days) = days(part, EXIT_WITHIN) {
            self.exit_within_days = Some(days?);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn words(self) -> impl Iterator<Item = String> {
        let minimum = (self.min_apy > 0.0).then(|| format!("{MINIMUM} {}%", self.min_apy));
        let days = |name: &str, days: Option<f64>| days.map(|days| format!("{name} {days} d"));
        [
            minimum,
            days(MAX_LOCK, self.max_lock_days),
            days(EXIT_WITHIN, self.exit_within_days),
        ]
        .into_iter()
        .flatten()
    }
}

/// Largest minimum APY, in percent; no pool could meet more.
pub(crate) const MINIMUM_MAX: f64 = 10_000.0;

/// Most days of a term.
const DAYS_MAX: f64 = 36_500.0;

/// Suffixes for powers of ten.
const ZEROS: &[(char, u32)] = &[('k', 3), ('m', 6), ('b', 9)];

/// The prefix of a part with the minimum APY.
pub(crate) const MINIMUM: &str = "min APY";

/// The prefixes of parts with the most days of a lock, and until all can be withdrawn.
pub(crate) const MAX_LOCK: &str = "max lock";
const EXIT_WITHIN: &str = "exit within";

/// What follows the word at the beginning of the text; `None` if it begins otherwise.
fn after<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let head = text.get(..word.len())?;
    head.eq_ignore_ascii_case(word)
        .then(|| text[word.len()..].trim_start())
}

/// Parses a part with this prefix and a number of days; `None` for any other part.
fn days(part: &str, prefix: &str) -> Option<Result<f64, InputError>> {
    let rest = after(part, prefix)?;
    let number = rest.trim_end_matches(|letter: char| letter.is_alphabetic());
    let days = number
        .trim_end()
        .parse()
        .ok()
        .filter(|days: &f64| (0.0..=DAYS_MAX).contains(days));
    Some(days.ok_or_else(|| InputError::TermDays(part.to_owned())))
}

/// Parses a part with the minimum APY, in percent; `None` for any other part.
pub(super) fn minimum(part: &str) -> Option<Result<f64, InputError>> {
    let rest = after(part, "min ")?;
    let rest = after(rest, "apy").unwrap_or(rest);
    let number = rest.trim_end_matches('%').trim_end();
    let percent = number
        .parse()
        .ok()
        .filter(|percent: &f64| (0.0..=MINIMUM_MAX).contains(percent));
    Some(percent.ok_or_else(|| InputError::MinimumApy(part.to_owned())))
}

/// Parses the wallet line.
pub(super) fn parse(text: &str, snapshot: &Snapshot) -> Result<WalletInput, InputError> {
    if text.trim_start().starts_with('{') {
        return YieldQuery::parse_body(text.as_bytes(), TokenReader::of(snapshot))
            .map(|question| WalletInput::Request(Box::new(question)))
            .map_err(InputError::Query);
    }
    let (mut amounts, mut terms) = (BTreeMap::new(), Terms::default());
    for part in text
        .split([',', ';', '\n'])
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        if terms.read(part)? {
            continue;
        }
        let Some((amount, name)) = part.split_once(char::is_whitespace) else {
            return Err(InputError::WalletEntry(part.to_owned()));
        };
        let token = named(name.trim(), snapshot)?;
        let amount = units(amount, name.trim(), token)?;
        let whole: &mut U256 = amounts.entry(token.row.token_address).or_default();
        *whole = whole
            .checked_add(amount)
            .ok_or_else(|| InputError::WalletSum(part.to_owned()))?;
    }
    Ok(WalletInput::Typed { amounts, terms })
}

/// Whether a typed line means exactly these amounts and terms.
pub(super) fn means(
    line: &str,
    amounts: &BTreeMap<Address, U256>,
    terms: Terms,
    snapshot: &Snapshot,
) -> bool {
    matches!(parse(line, snapshot), Ok(WalletInput::Typed { amounts: typed, terms: wanted }) if typed == *amounts && wanted == terms)
}

/// Formats a wallet in typed form. Not possible for a token without known decimals: see [`means`].
pub(super) fn typed_form(
    amounts: &BTreeMap<Address, U256>,
    terms: Terms,
    snapshot: &Snapshot,
) -> String {
    let decimals = |token: &Address| {
        snapshot
            .dataset
            .token(token)?
            .row
            .decimals
            .and_then(|decimals| u32::try_from(decimals).ok())
    };
    let amount = |(token, amount): (&Address, &U256)| {
        format!(
            "{} {}",
            short(in_tokens(*amount, decimals(token).unwrap_or(0))),
            name_of(token, snapshot)
        )
    };
    amounts
        .iter()
        .map(amount)
        .chain(terms.words())
        .collect::<Vec<_>>()
        .join(", ")
}

/// `250000` as `250k`.
fn short(number: String) -> String {
    let shorter = ZEROS.iter().rev().find_map(|(letter, zeros)| {
        let head = number
            .strip_suffix(&"0".repeat(*zeros as usize))
            .filter(|head| !head.is_empty() && !number.contains('.'))?;
        Some(format!("{head}{letter}"))
    });
    shorter.unwrap_or(number)
}

/// The token's name in a wallet: its symbol, with its chain unless it is the largest of that symbol, or its address.
pub(super) fn name_of(token: &Address, snapshot: &Snapshot) -> String {
    let known = snapshot.dataset.token(token);
    let symbol = known
        .and_then(|known| known.row.symbol.clone())
        .filter(|symbol| !symbol.contains([' ', ',', ';', '@']));
    let chains = known.map_or(&[][..], |known| &known.chains);
    let names = symbol.into_iter().flat_map(|symbol| {
        std::iter::once(symbol.clone())
            .chain(chains.iter().map(move |chain| format!("{symbol}@{chain}")))
    });
    let is_it =
        |name: &String| named(name, snapshot).is_ok_and(|found| found.row.token_address == *token);
    names
        .into_iter()
        .find(is_it)
        .unwrap_or_else(|| token.to_string())
}

/// Finds the token of an address, or the largest of a symbol, on the chain after `@` if given.
pub(in crate::views) fn named<'a>(
    name: &str,
    snapshot: &'a Snapshot,
) -> Result<&'a Token, InputError> {
    let unknown = || InputError::UnknownToken(name.to_owned());
    if let Some(address) = Address::asked(name) {
        return snapshot.dataset.token(&address).ok_or_else(unknown);
    }
    let (symbol, chain) = name
        .split_once('@')
        .map_or((name, None), |(symbol, chain)| (symbol, Some(chain)));
    let chain = match chain.map(Chain::parse) {
        Some(None) => return Err(unknown()),
        chain => chain.flatten(),
    };
    let fits = |token: &&Token| {
        let named = token
            .row
            .symbol
            .as_deref()
            .is_some_and(|known| known.to_lowercase() == symbol.to_lowercase());
        named
            && chain
                .as_ref()
                .is_none_or(|chain| token.chains.contains(chain))
    };
    let cap = |token: &Token| {
        snapshot
            .market
            .of(&snapshot.dataset, &token.row.token_address)
            .and_then(|summary| summary.market_cap)
    };
    let all: Vec<&Token> = snapshot.dataset.tokens().iter().filter(fits).collect();
    // As of a day no market cap may be known: which of several is meant is not guessed then.
    if all.len() > 1 && all.iter().all(|token| cap(token).is_none()) {
        let on = all[0]
            .chains
            .first()
            .map_or_else(|| "CHAIN".to_owned(), ToString::to_string);
        return Err(InputError::AmbiguousToken {
            name: name.to_owned(),
            count: all.len(),
            example: format!("{symbol}@{on}"),
        });
    }
    all.into_iter()
        .reduce(|best, next| if cap(next) > cap(best) { next } else { best })
        .ok_or_else(unknown)
}

fn units(text: &str, name: &str, token: &Token) -> Result<U256, InputError> {
    let Some(decimals) = token
        .row
        .decimals
        .and_then(|decimals| u32::try_from(decimals).ok())
    else {
        return Err(InputError::UnknownDecimals(name.to_owned()));
    };
    let zeros = ZEROS.iter().find_map(|(letter, zeros)| {
        let number = text.strip_suffix([*letter, letter.to_ascii_uppercase()])?;
        Some((number, *zeros))
    });
    let (number, zeros) = zeros.unwrap_or((text, 0));
    from_tokens(number, decimals + zeros).ok_or_else(|| InputError::TokenAmount {
        amount: text.to_owned(),
        token: name.to_owned(),
        decimals,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::sample;
    use query::queries::snapshot::AnswerSettings;

    #[test]
    fn wallets_are_read_as_people_write_them() {
        let tokens = "token_address,symbol,name,chain,decimals,market_cap\n0x1,USDC,USD,eth,6,9\n0x2,USDC,USD,base,6,5\n0x3,WETH,Ether,eth,18,7\n0x4,NOD,None,eth,,1";
        let snapshot = Snapshot::new(
            1,
            sample::dataset(&[("tokens", tokens)]),
            AnswerSettings::default(),
        );
        let amounts = |text: &str| match parse(text, &snapshot).map_err(String::from)? {
            WalletInput::Typed { amounts, .. } => Ok(amounts
                .into_iter()
                .map(|(token, amount)| (token.0[19], amount.to_string()))
                .collect::<Vec<_>>()),
            WalletInput::Request(question) => Err(format!("{:?}", question.risk_level)),
        };
        for (token, name) in [(1, "USDC"), (2, "USDC@base"), (3, "WETH")] {
            let address = Address::asked(&format!("0x{token:040x}")).expect("an address");
            assert_eq!(name_of(&address, &snapshot), name);
        }
        let one = |token: u8, amount: &str| Ok(vec![(token, amount.to_owned())]);
        assert_eq!(amounts(""), Ok(Vec::new()));
        assert_eq!(amounts("1.5 WETH"), one(3, "1500000000000000000"));
        assert_eq!(amounts("250k usdc"), one(1, "250000000000"));
        assert_eq!(amounts("1.25m USDC@Base;"), one(2, "1250000000000"));
        assert_eq!(amounts("1 USDC, 2 usdc"), one(1, "3000000"));
        assert_eq!(
            amounts("1 0x0000000000000000000000000000000000000003"),
            one(3, "1000000000000000000")
        );
        assert_eq!(
            amounts("1 USDC; 2 WETH").map(|amounts| amounts.len()),
            Ok(2)
        );
        assert_eq!(
            amounts(
                r#"{"tokens":{"0x0000000000000000000000000000000000000001":"5"},"settings":{"riskLevel":"low"}}"#
            ),
            Err("Low".to_owned())
        );
        for (text, percent) in [
            ("1 USDC", 0.0),
            ("1 USDC, min APY 2.5%", 2.5),
            ("min 3%; 1 USDC", 3.0),
            ("MIN apy 4", 4.0),
        ] {
            assert!(
                matches!(parse(text, &snapshot), Ok(WalletInput::Typed { terms, .. }) if terms.min_apy == percent),
                "{text}"
            );
        }
        let capless = "token_address,symbol,name,chain,decimals\n0x1,USDC,USD,eth,6\n0x2,USDC,USD,base,6\n0x3,WETH,Ether,eth,18";
        let capless = Snapshot::new(
            1,
            sample::dataset(&[("tokens", capless)]),
            AnswerSettings::default(),
        );
        let refused = parse("1 WETH, 1 USDC", &capless).expect_err("two tokens fit");
        let says = "`USDC` is the symbol of 2 tokens, none with a known market cap; write USDC@eth, or an address";
        assert_eq!(refused.to_string(), says);
        assert!(parse("1 WETH, 1 USDC@base", &capless).is_ok());
        for line in [
            "1.5 WETH",
            "250k USDC, 1.25 USDC@base",
            "12500k USDC",
            "3m USDC, 0.000001 USDC@base, min APY 2.5%",
            "1.5 WETH, max lock 30 d",
            "1.5 WETH, min APY 1%, max lock 0 d, exit within 7.5 d",
        ] {
            let Ok(WalletInput::Typed { amounts, terms }) = parse(line, &snapshot) else {
                panic!("{line}")
            };
            assert_eq!(typed_form(&amounts, terms, &snapshot), line);
            assert!(
                means(line, &amounts, terms, &snapshot)
                    && !means("1 USDC", &amounts, terms, &snapshot),
                "{line}"
            );
        }
        let nod = BTreeMap::from([(
            Address::asked(&format!("0x{:040x}", 4)).expect("an address"),
            U256::from(7),
        )]);
        assert!(
            !means(
                &typed_form(&nod, Terms::default(), &snapshot),
                &nod,
                Terms::default(),
                &snapshot
            ),
            "what has no decimals is not said in words"
        );
        for (text, part) in [
            ("min APY x", "expected a percentage"),
            ("min APY -1", "expected a percentage"),
            ("min APY nan", "expected a percentage"),
            ("WETH", "expected an amount and a token"),
            ("1 WBTC", "is not a token in the data"),
            ("1 USDC@arb", "is not a token in the data"),
            ("0.0000001 USDC", "at most 6 after the decimal point"),
            ("-1 USDC", "is not an amount of USDC"),
            ("1 NOD", "decimals of"),
            ("{", "not valid JSON"),
        ] {
            assert!(
                amounts(text).unwrap_err().contains(part),
                "{text}: {:?}",
                amounts(text)
            );
        }
    }
}
