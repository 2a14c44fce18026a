//! The token that a person names where no list is at hand to choose from: by its address, or by a symbol that one token of the data has.

use crate::question::{parameter::TokenNames, snapshot::Snapshot};
use analysis::{market::TokenSummary, numeric::descending};
use model::{
    address::Address,
    chain::Chain,
    error::{Code, Problem, Result},
    format,
    spelling::meant,
};

/// Tokens that an error lists.
const LISTED: usize = 8;

impl TokenNames for Snapshot {
    fn token_named(&self, symbol: &str) -> Result<Option<Address>> {
        token_of_symbol(self, symbol)
    }
}

/// The token with this symbol, `UNI` or `UNI@base`: the only one, or the only one that is `listed`. Errors: several, the largest first.
fn token_of_symbol(snapshot: &Snapshot, name: &str) -> Result<Option<Address>> {
    let wanted = name.trim().to_lowercase();
    let tokens = &snapshot.market.tokens;
    let mut found = snapshot.symbols.of(tokens, &wanted);
    if let Some((symbol, chain)) = wanted.rsplit_once('@').filter(|_| found.is_empty() && !wanted.is_empty())
        && let Some(chain) = Chain::parse(chain)
    {
        found = snapshot.symbols.of(tokens, symbol);
        found.retain(|(_, token)| token.chains.contains(&chain));
    }
    let is_listed = |(place, _): &&(usize, &TokenSummary)| snapshot.dataset.tokens()[*place].row.listed == Some(true);
    let listed: Vec<_> = found.iter().filter(is_listed).collect();
    match (found.as_slice(), listed.as_slice()) {
        ([], _) => Ok(None),
        ([(_, token)], _) | (_, [(_, token)]) => Ok(Some(token.token_address)),
        _ => {
            found.sort_by(|(_, a), (_, b)| descending(a.market_cap, b.market_cap).then_with(|| a.token_address.cmp(&b.token_address)));
            let told: Vec<String> = found.iter().take(LISTED).map(|(_, token)| told(token)).collect();
            let more = found.len().saturating_sub(LISTED);
            let more = if more > 0 { format!("; and {more} more") } else { String::new() };
            let detail = format!("{} tokens have the symbol `{name}`: give the address of one: {}{more}", found.len(), told.join("; "));
            Err(Problem::new(Code::AmbiguousToken, detail))
        }
    }
}

/// The address that is named. Errors: no token has the symbol, or several have.
pub fn named_token(snapshot: &Snapshot, name: &str) -> Result<Address> {
    if let Some(address) = Address::asked(name) {
        return Ok(address);
    }
    if let Some(address) = token_of_symbol(snapshot, name)? {
        return Ok(address);
    }
    let symbols = || snapshot.market.tokens.iter().filter_map(|token| token.symbol.as_deref());
    let near = meant(name, symbols()).map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
    let stop = if near.is_empty() { ":" } else { "" };
    let detail =
        format!("no token has the symbol `{name}`{near}{stop} expected a symbol of the data, an address, or a coin as in `coin:BTC`");
    Err(Problem::new(Code::TokenNotFound, detail))
}

/// Address, chains and market cap.
fn told(token: &TokenSummary) -> String {
    let chains: Vec<String> = token.chains.iter().map(ToString::to_string).collect();
    let on = if chains.is_empty() { String::new() } else { format!(" on {}", chains.join(", ")) };
    let cap = token.market_cap.map_or_else(|| "no market cap".to_owned(), |cap| format!("market cap {}", format::human(Some(cap))));
    format!("{}{on}, {cap}", token.token_address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::tests;
    use store::sample;

    #[test]
    fn a_symbol_names_the_one_token_that_has_it() {
        let tokens = "token_address,symbol,name,chain,market_cap\n0x1,UNI,Uniswap,eth,3\n0x2,LINK,Link,eth,5000000\n0x3,link,Other,base,\n\
                      0x4,Link,Third,bsc,9000000";
        let snapshot = tests::snapshot(&[("tokens", tokens)]);
        let named = |name: &str| named_token(&snapshot, name).map_err(|problem| problem.detail);
        let [first, second, fourth] = ["0x1", "0x2", "0x4"].map(sample::address);
        assert_eq!((named("uni"), named(" UNI "), named(&first.to_string())), (Ok(first), Ok(first), Ok(first)));
        assert_eq!(named("coin:BTC"), Ok(Address::coin("BTC")), "whether it is in the data is asked later");
        let several = named("LINK").unwrap_err();
        assert!(several.starts_with("3 tokens have the symbol `LINK`: give the address of one: "), "{several}");
        let place = |text: &str| several.find(text).unwrap_or_else(|| panic!("{text}: {several}"));
        assert!(place(&format!("{fourth} on bnb, market cap 9.00M")) < place(&format!("{second} on eth, market cap 5.00M")), "{several}");
        assert!(several.ends_with(" on base, no market cap"), "{several}");
        assert_eq!(named("link@bnb"), Ok(fourth));
        assert_eq!(named("Link@base"), Ok(sample::address("0x3")));
        assert!(named("link@polygon").unwrap_err().starts_with("no token has the symbol `link@polygon`"));
        assert!(named("LINKK").unwrap_err().to_lowercase().contains("`linkk`, did you mean `link`?"));
        assert!(named("ZZZZZZ").unwrap_err().starts_with("no token has the symbol `ZZZZZZ`: expected"));
    }

    #[test]
    fn of_several_the_one_that_is_listed_is_meant() {
        let tokens =
            "token_address,symbol,name,chain,listed\n0x1,UNI,Uniswap,eth,true\n0x2,UNI,Copy,eth,\n0x3,AB,A,eth,true\n0x4,AB,B,base,true";
        let snapshot = tests::snapshot(&[("tokens", tokens)]);
        let named = |name: &str| token_of_symbol(&snapshot, name).map_err(|problem| problem.code);
        assert_eq!(named("UNI"), Ok(Some(sample::address("0x1"))));
        assert_eq!((named("ab"), named("AB@base")), (Err(Code::AmbiguousToken), Ok(Some(sample::address("0x4")))));
        assert_eq!((named("x"), named(""), named("@eth")), (Ok(None), Ok(None), Ok(None)));
    }
}
