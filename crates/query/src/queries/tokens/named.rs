//! The token that a person names where no list is at hand to choose from: by its address or a part of it, or by a symbol or name that one token
//! of the data has.

use crate::queries::{
    parameter::{TokenNames, TokenReader, clip},
    snapshot::Snapshot,
};
use analysis::{market::TokenSummary, numeric::descending};
use model::{
    address::Address,
    chain::Chain,
    error::{Code, Problem, Result},
    format,
    rows::TokenRow,
    spelling::meant,
    token_names::AddressPart,
};

/// Tokens that an error lists.
const LISTED: usize = 8;

impl TokenNames for Snapshot {
    fn token_named(&self, name: &str) -> Result<Option<Address>> {
        let mut found = tokens_of(self, name);
        let is_listed = |(place, _): &&(usize, &TokenSummary)| {
            self.dataset.tokens()[*place].row.listed == Some(true)
        };
        // `listed` settles which token a name means, not which address begins so.
        let listed: Vec<_> = found
            .iter()
            .filter(|found| AddressPart::read(name).is_none() && is_listed(found))
            .collect();
        match (found.as_slice(), listed.as_slice()) {
            ([], _) => kept_apart(self, name).map_or(Ok(None), Err),
            ([(_, token)], _) | (_, [(_, token)]) => Ok(Some(token.token_address)),
            _ => {
                found.sort_by(|(_, a), (_, b)| {
                    descending(a.market_cap, b.market_cap)
                        .then_with(|| a.token_address.cmp(&b.token_address))
                });
                let all: Vec<&TokenSummary> = found.iter().map(|(_, token)| *token).collect();
                Err(Problem::new(Code::AmbiguousToken, ambiguous(name, &all)))
            }
        }
    }

    fn tokens_named(&self, name: &str) -> Vec<Address> {
        tokens_of(self, name)
            .into_iter()
            .map(|(_, token)| token.token_address)
            .collect()
    }

    fn nearest_name(&self, name: &str) -> Option<String> {
        let names = self
            .market
            .tokens
            .iter()
            .flat_map(|token| [&token.symbol, &token.name])
            .filter_map(|name| name.as_deref());
        meant(name.trim().trim_start_matches('$'), names).map(str::to_owned)
    }
}

/// The largest of several tokens with one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LargestNamed {
    pub address: Address,
    /// A sentence that says which token was taken, and which others there are.
    pub says: String,
}

/// How many times the market cap of the next token the largest must have; otherwise either may be meant.
const LARGEST_BY: f64 = 2.0;

/// The token that is probably meant by a name that several have: by far the largest. `None` if one has the name, or none is much larger.
pub fn largest_named(snapshot: &Snapshot, name: &str) -> Option<LargestNamed> {
    if AddressPart::read(name).is_some()
        || !matches!(snapshot.token_named(name), Err(problem) if problem.code == Code::AmbiguousToken)
    {
        return None;
    }
    let mut found: Vec<&TokenSummary> = tokens_of(snapshot, name)
        .into_iter()
        .map(|(_, token)| token)
        .collect();
    found.sort_by(|a, b| {
        descending(a.market_cap, b.market_cap).then_with(|| a.token_address.cmp(&b.token_address))
    });
    let (largest, others) = found.split_first()?;
    let cap = largest.market_cap?;
    let next = others.first()?.market_cap.unwrap_or_default();
    (cap >= LARGEST_BY * next).then(|| LargestNamed {
        address: largest.token_address,
        says: format!(
            "`{}` is the name of {} tokens. This result is about the largest, {}; other tokens with this name: {}.",
            clip(name),
            found.len(),
            told_among(&found, largest),
            listed(&found, others)
        ),
    })
}

/// The error that names the token of this symbol that is kept out, as its address holds another.
fn kept_apart(snapshot: &Snapshot, name: &str) -> Option<Problem> {
    let wanted = name.trim().trim_start_matches('$').to_lowercase();
    let (symbol, chain) = wanted
        .rsplit_once('@')
        .map_or((wanted.as_str(), None), |(symbol, chain)| {
            (symbol, Some(chain))
        });
    let is_meant = |row: &TokenRow| {
        let has = |own: &Option<String>| {
            own.as_deref()
                .is_some_and(|own| own.trim().to_lowercase() == symbol)
        };
        let on = |chain: &str| Chain::parse(chain).is_some_and(|chain| row.chain.contains(&chain));
        (has(&row.symbol) || has(&row.name)) && chain.is_none_or(on)
    };
    let other = snapshot
        .dataset
        .table("tokens")?
        .apart
        .iter()
        .find(|other| is_meant(&other.row))?;
    let detail = format!(
        "the token `{}` is excluded, because a dataset has one token per address: {}.",
        clip(name),
        other.description()
    );
    Some(Problem::new(Code::TokenNotFound, detail))
}

/// The tokens with this symbol, `UNI`, `$UNI` or `UNI@base`, or else name, or with an address of which it is a part; and their places.
fn tokens_of<'a>(snapshot: &'a Snapshot, name: &str) -> Vec<(usize, &'a TokenSummary)> {
    let tokens = &snapshot.market.tokens;
    let those = |is: &dyn Fn(&TokenSummary) -> bool| {
        tokens
            .iter()
            .enumerate()
            .filter(|(_, token)| is(token))
            .collect::<Vec<_>>()
    };
    if let Some(part) = AddressPart::read(name) {
        return those(&|token| part.is_of(&token.token_address));
    }
    let called = |name: &str| {
        let is_name = |own: &str| {
            own.trim()
                .chars()
                .flat_map(char::to_lowercase)
                .eq(name.chars())
        };
        let found = if name.is_empty() {
            return Vec::new();
        } else {
            snapshot.symbols.of(tokens, name)
        };
        if found.is_empty() {
            those(&|token| token.name.as_deref().is_some_and(is_name))
        } else {
            found
        }
    };
    let wanted = name.trim().to_lowercase();
    for name in [Some(wanted.as_str()), wanted.strip_prefix('$')]
        .into_iter()
        .flatten()
    {
        let mut found = called(name);
        if let Some((symbol, chain)) = name.rsplit_once('@').filter(|_| found.is_empty())
            && let Some(chain) = Chain::parse(chain)
        {
            found = called(symbol);
            found.retain(|(_, token)| token.chains.contains(&chain));
        }
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// One of the tokens with this name: as `UNI@base` if only one token on that chain has it, otherwise by its address.
fn told_among(tokens: &[&TokenSummary], token: &TokenSummary) -> String {
    let is_alone = |chain: &&Chain| {
        tokens
            .iter()
            .filter(|token| token.chains.contains(chain))
            .count()
            == 1
    };
    let symbol = token
        .symbol
        .as_deref()
        .filter(|symbol| !symbol.contains(['@', '`']));
    let short = symbol
        .zip(token.chains.iter().find(is_alone))
        .map(|(symbol, chain)| format!("`{symbol}@{chain}`"));
    let (address, about) = (token.token_address, chains_and_cap(token));
    short.map_or_else(
        || format!("{address} ({about})"),
        |short| format!("{short} ({address}, {about})"),
    )
}

/// Lists `shown`, some of the tokens with one name.
fn listed(tokens: &[&TokenSummary], shown: &[&TokenSummary]) -> String {
    let all: Vec<String> = shown
        .iter()
        .take(LISTED)
        .map(|token| told_among(tokens, token))
        .collect();
    let more = shown.len().saturating_sub(LISTED);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    all.join(", ") + &more
}

fn ambiguous(name: &str, tokens: &[&TokenSummary]) -> String {
    format!(
        "`{}` is ambiguous ({} tokens); pass one of {}",
        clip(name),
        tokens.len(),
        listed(tokens, tokens)
    )
}

/// The address that is named. Errors: no token has the name, or several have.
pub fn named_token(snapshot: &Snapshot, name: &str) -> Result<Address> {
    let tokens = TokenReader::of(snapshot);
    tokens.read(name)?.ok_or_else(|| {
        let detail = match tokens.nearest(name) {
            Some(near) => format!("no token has the symbol `{}`; did you mean `{near}`?", clip(name)),
            None => {
                format!("no token has the symbol `{}`; pass a symbol in the data, an address, or a coin such as `coin:BTC`", clip(name))
            }
        };
        Problem::new(Code::TokenNotFound, detail)
    })
}

/// Chains and market cap.
fn chains_and_cap(token: &TokenSummary) -> String {
    let chains: Vec<String> = token.chains.iter().map(ToString::to_string).collect();
    let on = if chains.is_empty() {
        String::new()
    } else {
        format!("on {}, ", chains.join(" and "))
    };
    let cap = token.market_cap.map_or_else(
        || "no market cap".to_owned(),
        |cap| format!("market cap ${}", format::human(Some(cap))),
    );
    format!("{on}{cap}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queries::tests;
    use load::sample;

    #[test]
    fn the_largest_of_several_is_meant_if_it_is_by_far_the_largest() {
        let largest = |next: &str| {
            let tokens = format!(
                "token_address,symbol,name,chain,market_cap\n0x1,UNI,U,eth,9\n0x2,USDC,A,base,{next}\n0x3,usdc,B,eth,2000"
            );
            let snapshot = tests::snapshot(&[("tokens", &tokens)]);
            [
                largest_named(&snapshot, "USDC"),
                largest_named(&snapshot, "UNI"),
            ]
        };
        let third = sample::address("0x3");
        for next in ["1000", "0", ""] {
            let [found, alone] = largest(next);
            let found = found.expect(next);
            assert!(
                found.address == third
                    && found.says.starts_with(&format!(
                        "`USDC` is the name of 2 tokens. This result is about the largest, `usdc@eth` ({third}, on eth, market cap $2"
                    ))
                    && found.says.contains("; other tokens with this name: `USDC@base` ("),
                "{found:?}"
            );
            assert_eq!(alone, None);
        }
        assert_eq!(largest("1001")[0], None);
    }

    #[test]
    fn a_symbol_names_the_one_token_that_has_it() {
        let tokens = "token_address,symbol,name,chain,market_cap\n0x1,UNI,Uniswap,eth,3\n0x2,LINK,Link,eth,5000000\n0x3,link,Other,base,\n\
                      0x4,Link,Third,bsc,9000000";
        let snapshot = tests::snapshot(&[("tokens", tokens)]);
        let named = |name: &str| named_token(&snapshot, name).map_err(|problem| problem.detail);
        let [first, second, fourth] = ["0x1", "0x2", "0x4"].map(sample::address);
        assert_eq!(
            (named("uni"), named(" UNI "), named(&first.to_string())),
            (Ok(first), Ok(first), Ok(first))
        );
        assert_eq!(
            named("coin:BTC"),
            Ok(Address::coin("BTC")),
            "the query itself checks whether it is in the data"
        );
        let several = named("LINK").unwrap_err();
        assert!(
            several.starts_with(&format!("`LINK` is ambiguous (3 tokens); pass one of `Link@bnb` ({fourth}, on bnb, market cap $9.00M)")),
            "{several}"
        );
        assert!(
            several.contains(", `LINK@eth` (") && several.contains(", `link@base` ("),
            "{several}"
        );
        let place = |text: &str| {
            several
                .find(text)
                .unwrap_or_else(|| panic!("{text}: {several}"))
        };
        assert!(
            place(&format!("{fourth}, on bnb, market cap $9.00M"))
                < place(&format!("{second}, on eth, market cap $5.00M")),
            "{several}"
        );
        assert!(several.ends_with(", on base, no market cap)"), "{several}");
        assert_eq!(
            largest_named(&snapshot, "LINK"),
            None,
            "9 is less than twice 5"
        );
        assert_eq!(named("link@bnb"), Ok(fourth));
        assert_eq!(named("Link@base"), Ok(sample::address("0x3")));
        assert!(
            named("link@polygon")
                .unwrap_err()
                .starts_with("no token has the symbol `link@polygon`")
        );
        assert!(
            named("LINKK")
                .unwrap_err()
                .to_lowercase()
                .contains("`linkk`; did you mean `link`?")
        );
        let apart = "token_address,symbol,name,chain,decimals,market_cap\n0x1,OP,Optimism,op,18,5\n0x1,FAKE,Fake,base,6,";
        let snapshot = tests::snapshot(&[("tokens", apart)]);
        let named = |name: &str| named_token(&snapshot, name).map_err(|problem| problem.detail);
        assert_eq!(named("op"), Ok(first));
        for name in ["FAKE", "$fake", "fake@base"] {
            assert!(
                named(name)
                    .unwrap_err()
                    .ends_with(&format!("{first}: FAKE on base, next to OP on oeth.")),
                "{name}"
            );
        }
        assert!(named("fake@op").unwrap_err().starts_with("no token has"));
        assert!(
            named("ZZZZZZ")
                .unwrap_err()
                .starts_with("no token has the symbol `ZZZZZZ`; pass a symbol")
        );
    }

    #[test]
    fn of_several_the_one_that_is_listed_is_meant() {
        let tokens = "token_address,symbol,name,chain,listed\n0x1,UNI,Uniswap,eth,true\n0x2,UNI,Copy,eth,\n0x3,AB,A,eth,true\n0x4,AB,B,base,true";
        let snapshot = tests::snapshot(&[("tokens", tokens)]);
        let named = |name: &str| snapshot.token_named(name).map_err(|problem| problem.code);
        assert_eq!(named("UNI"), Ok(Some(sample::address("0x1"))));
        assert_eq!(
            (named("ab"), named("AB@base")),
            (Err(Code::AmbiguousToken), Ok(Some(sample::address("0x4"))))
        );
        assert_eq!(
            (named("x"), named(""), named("@eth")),
            (Ok(None), Ok(None), Ok(None))
        );
    }
}
