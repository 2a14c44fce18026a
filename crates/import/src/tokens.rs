//! Resolves the token that a file is about: by the options, by the file's content, or by its name through the symbols known to the dataset.

use std::collections::{HashMap, HashSet};

use polars::prelude::{DataFrame, DataType};

use super::{
    options::ImportOptions,
    pair,
    refusal::{ADDRESS, Refusal},
    report::few,
};
use frames::frame_rows::FromFrame;
use model::{address::Address, chain::Chain, format::plural, rows::TokenRow};

/// Maximum number of shared symbols reported, and of tokens reported for each.
const SHARING_SHOWN: usize = 4;

/// A token of the dataset, by the attributes that tell namesakes apart.
#[derive(Debug, Clone)]
struct Known {
    address: Address,
    chains: Vec<Chain>,
    listed: bool,
}

impl Known {
    /// `0x… on mbeam`.
    fn display_name(&self) -> String {
        let chains: Vec<&str> = self.chains.iter().map(Chain::as_str).collect();
        if chains.is_empty() {
            self.address.to_string()
        } else {
            format!("{} on {}", self.address, chains.join(", "))
        }
    }
}

/// The tokens of the dataset, and those that this import adds.
#[derive(Debug, Default)]
pub(super) struct KnownTokens {
    by_symbol: HashMap<String, Vec<Known>>,
    symbols: HashMap<Address, Option<String>>,
    /// The chains of tokens that are known only from rows that refer to them.
    bare: HashMap<Address, Vec<Chain>>,
}

/// The resolved token of a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TokenMatch {
    pub address: Address,
    /// Its symbol in the file, for the row of a token that is not in `tokens` yet.
    pub symbol: Option<String>,
    /// How many tokens a price is for, usually 1.
    pub multiplier: f64,
    /// Whether a trading pair named the quote currency.
    pub quoted: bool,
    pub by: TokenFoundBy,
    /// How it was found, for the report.
    pub says: String,
}

impl TokenMatch {
    /// Whether it is a coin without a contract.
    pub(super) fn is_coin(&self) -> bool {
        coin_word(&self.address, self.symbol.as_deref()).is_some()
    }

    /// Display form: `0x… (UNI)`; a coin as `coin:BTC`, as its address means nothing to people.
    pub(super) fn display_name(&self) -> String {
        let symbol = self.symbol.as_deref();
        let contract = || {
            symbol.map_or_else(
                || self.address.to_string(),
                |symbol| format!("{} ({symbol})", self.address),
            )
        };
        coin_word(&self.address, symbol).unwrap_or_else(contract)
    }
}

/// The `coin:BTC` form that is accepted in place of an address; `None` if the token is no coin.
pub(super) fn coin_word(address: &Address, symbol: Option<&str>) -> Option<String> {
    symbol
        .filter(|symbol| Address::coin(symbol) == *address)
        .map(|symbol| format!("coin:{}", symbol.trim().to_uppercase()))
}

/// How a token was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenFoundBy {
    /// By the user's option.
    Said,
    /// By the file's content or name.
    File,
}

/// The options that affect a file's token.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenHints<'a> {
    pub token: Option<Address>,
    /// The coin whose address `token` is.
    pub coin: Option<&'a str>,
    /// The rows can only be a contract's: coins are not offered.
    pub contract: bool,
    pub chain: &'a Chain,
    pub as_usd: bool,
    /// Accept options that contradict the file.
    pub forced: bool,
}

impl<'a> TokenHints<'a> {
    pub(super) fn of(options: &'a ImportOptions, chain: &'a Chain) -> Self {
        Self {
            token: options.token,
            coin: options.coin.as_deref(),
            contract: false,
            chain,
            as_usd: options.as_usd,
            forced: options.broken_too,
        }
    }
}

/// The refusal of a file whose token is unknown: the reason, and the options that name the token.
fn refused(reason: &str, symbol: Option<&str>, contract: bool) -> Refusal {
    if contract {
        return Refusal::new(format!("{reason}; pass --token ADDRESS")).say("token", ADDRESS);
    }
    let symbol = symbol.map(|symbol| pair::coin_by_name(symbol).unwrap_or(symbol));
    if let Some(coin) = symbol.filter(|symbol| pair::is_native(symbol)) {
        let display_name = format!(
            "{reason}; pass --coin {coin} for the coin itself, or --token ADDRESS for a token"
        );
        return Refusal::new(display_name).say("coin", coin);
    }
    // Only an alphanumeric text can be a coin's ticker.
    let is_ticker = |symbol: &&str| {
        symbol.len() <= 10 && symbol.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let coin = symbol.filter(is_ticker).unwrap_or("SYMBOL");
    Refusal::new(format!(
        "{reason}; pass --token ADDRESS, or --coin {coin} if it has no contract"
    ))
    .say("token", ADDRESS)
}

impl KnownTokens {
    pub(super) fn has(&self, address: &Address) -> bool {
        self.symbols.contains_key(address)
    }

    pub(super) fn symbol(&self, address: &Address) -> Option<String> {
        self.symbols.get(address).cloned().flatten()
    }

    /// Whether nothing is known of the token but that it is on other chains than this one.
    pub(super) fn is_bare_elsewhere(&self, address: &Address, chain: &Chain) -> bool {
        self.bare
            .get(address)
            .is_some_and(|chains| !chains.contains(chain))
    }

    pub(super) fn has_symbol(&self, symbol: &str) -> bool {
        self.by_symbol.contains_key(symbol)
    }

    pub(super) fn add(&mut self, frame: &DataFrame) {
        let strings = |name: &str| {
            frame
                .column(name)
                .ok()
                .is_some_and(|column| *column.dtype() == DataType::String)
        };
        if !strings("token_address") {
            return;
        }
        for row in TokenRow::rows(frame) {
            if row.name.is_none() {
                self.bare
                    .entry(row.token_address)
                    .or_insert_with(|| row.chain.clone());
            }
            self.symbols
                .entry(row.token_address)
                .or_insert_with(|| row.symbol.clone());
            if let Some(symbol) = row.symbol {
                let list = self.by_symbol.entry(symbol.to_uppercase()).or_default();
                match list
                    .iter_mut()
                    .find(|known| known.address == row.token_address)
                {
                    Some(known) => known.chains.extend(row.chain),
                    None => list.push(Known {
                        address: row.token_address,
                        chains: row.chain,
                        listed: row.listed.unwrap_or(false),
                    }),
                }
            }
        }
    }

    /// Notes on symbols in these rows that several tokens of one chain share; a file that names such a symbol needs a choice.
    pub(super) fn sharing(&self, frame: &DataFrame) -> Vec<String> {
        let mut met = HashSet::new();
        // In list order, which usually starts with the largest.
        let symbols = TokenRow::rows(frame)
            .into_iter()
            .filter_map(|row| Some(row.symbol?.to_uppercase()));
        let symbols: Vec<String> = symbols
            .filter(|symbol| met.insert(symbol.clone()))
            .collect();
        let mut found: Vec<String> = Vec::new();
        for symbol in symbols {
            let Some(all) = self.by_symbol.get(&symbol) else {
                continue;
            };
            let mut chains: Vec<&Chain> = all.iter().flat_map(|known| &known.chains).collect();
            chains.sort_unstable();
            chains.dedup();
            for chain in chains {
                let here: Vec<&Known> = all
                    .iter()
                    .filter(|known| known.chains.contains(chain))
                    .collect();
                if here.len() < 2 {
                    continue;
                }
                let shown = few(here.iter().map(|known| known.address), SHARING_SHOWN);
                found.push(format!(
                    "`{symbol}` is the symbol of {} tokens on {chain} ({shown})",
                    here.len()
                ));
            }
        }
        if found.is_empty() {
            return Vec::new();
        }
        let count = found.len();
        let mut says: Vec<String> = found.into_iter().take(SHARING_SHOWN).collect();
        if count > says.len() {
            let more = plural(
                (count - says.len()) as u64,
                "more symbol is",
                "more symbols are",
            );
            says.push(format!("and {more} shared by several tokens"));
        }
        says.push(
            "all of them are imported; a file that names such a symbol needs --token, unless only one of the tokens has `listed = \
             true` in `tokens`"
                .to_owned(),
        );
        says
    }

    /// The token of a symbol: of several, the one on the chosen chain; of those, the listed one. A native coin's symbol is the coin if the
    /// dataset has it; if only other tokens have that symbol, the user must choose, as they are wrapped or bridged.
    fn by_symbol(&self, symbol: &str, hints: TokenHints<'_>) -> Result<Option<Address>, Refusal> {
        let coin = Some(Address::coin(symbol))
            .filter(|coin| pair::is_native(symbol) && !hints.contract && self.has(coin));
        if coin.is_some() {
            return Ok(coin);
        }
        let Some(all) = self.by_symbol.get(symbol) else {
            return Ok(None);
        };
        if pair::is_native(symbol) && !hints.contract {
            let shown = few(all.iter().map(Known::display_name), 3);
            let reason = format!(
                "is about `{symbol}`, a coin without a contract, but in the dataset that symbol belongs to {shown}"
            );
            return Err(refused(&reason, Some(symbol), false));
        }
        let here: Vec<&Known> = all
            .iter()
            .filter(|known| known.chains.contains(hints.chain))
            .collect();
        let here = if here.is_empty() {
            all.iter().collect()
        } else {
            here
        };
        let listed: Vec<&Known> = here.iter().filter(|known| known.listed).copied().collect();
        match (&here[..], &listed[..]) {
            ([one], _) | (_, [one]) => Ok(Some(one.address)),
            _ => {
                let shown = few(here.iter().map(|known| known.address), SHARING_SHOWN);
                let several = format!(
                    "is about `{symbol}`, but {} tokens in the dataset have that symbol ({shown})",
                    here.len()
                );
                Err(refused(&several, Some(symbol), hints.contract))
            }
        }
    }

    /// Resolves the token from the file's name and from `content`, a symbol or pair found in the file.
    pub(super) fn find(
        &self,
        name: &str,
        content: Option<&str>,
        hints: TokenHints<'_>,
    ) -> Result<TokenMatch, Refusal> {
        let found = |address, symbol, by, says| TokenMatch {
            address,
            symbol,
            multiplier: 1.0,
            quoted: false,
            by,
            says,
        };
        let named = pair::address(name).filter(|address| hints.token != Some(*address));
        match (pair::address(name), hints.token) {
            // An address that is no token of the dataset may be of an account or a pool, after which exports are named as well.
            (Some(address), Some(token))
                if token != address && self.has(&address) && !hints.forced =>
            {
                let reason = format!(
                    "is about {address} (from its name), but --token is {token}; import it without --token"
                );
                return Err(Refusal::new(reason).say("token", address.to_string()));
            }
            (Some(address), said) if said.is_none_or(|token| token == address) => {
                return Ok(found(
                    address,
                    None,
                    TokenFoundBy::File,
                    "from the file name".to_owned(),
                ));
            }
            _ => {}
        }
        let (symbol, place) = match content {
            Some(content) => (Some(content.to_uppercase()), "from the file"),
            None => (self.only_symbol(name, hints)?, "from the file name"),
        };
        if let Some(address) = hints.token {
            let coin = hints.coin.map(str::to_uppercase);
            let in_name = pair::coins(name);
            let other = in_name.first().filter(|_| {
                coin.as_ref()
                    .is_some_and(|coin| !in_name.iter().any(|named| alike(coin, named)))
            });
            // The ticker of another coin is not an alias of this one.
            if let (Some(coin), Some(symbol), false) =
                (&coin, symbol.as_ref().or(other), hints.forced)
                && pair::is_native(symbol)
                && !alike(coin, symbol)
            {
                return Err(Refusal::new(format!(
                    "is about `{symbol}`, but --coin is {coin}; pass --coin {symbol}, or --broken-too if it is {coin}"
                ))
                .say("coin", symbol.clone()));
            }
            let known = self.symbols.get(&address).cloned().flatten().or(coin);
            let by = if hints.coin.is_some() {
                "--coin"
            } else {
                "--token"
            };
            let mut says = match (&known, &symbol) {
                (Some(known), Some(symbol)) if !alike(known, symbol) => {
                    format!(
                        "from {by}; warning: its symbol is `{known}`, but the file is about `{symbol}`"
                    )
                }
                _ => format!("from {by}"),
            };
            if let Some(other) = named {
                says.push_str(&format!("; warning: its name contains {other}, which is assumed to be an account or a pool, not the token"));
            }
            return Ok(found(address, known.or(symbol), TokenFoundBy::Said, says));
        }
        let Some(symbol) = symbol else {
            let coins = pair::coins(name);
            let coin = coins
                .first()
                .map(String::as_str)
                .or_else(|| pair::coin_by_name(name));
            return Err(refused("does not name its token", coin, hints.contract));
        };
        if let Some(address) = self.by_symbol(&symbol, hints)? {
            return Ok(found(
                address,
                Some(symbol),
                TokenFoundBy::File,
                place.to_owned(),
            ));
        }
        let refusal = refused(
            &format!("is about `{symbol}`, which is not in the dataset"),
            Some(&symbol),
            hints.contract,
        );
        Err(Refusal {
            reason: format!(
                "{}, or first import a token list that contains it",
                refusal.reason
            ),
            ..refusal
        })
    }

    /// The only word of the name that is a symbol. Of several it is none where the user says the token.
    fn only_symbol(&self, name: &str, hints: TokenHints<'_>) -> Result<Option<String>, Refusal> {
        let mut symbols = pair::symbols(name, |word| self.has_symbol(word));
        symbols.dedup();
        match &symbols[..] {
            [one] => Ok(Some(one.clone())),
            many if many.is_empty() || hints.token.is_some() => Ok(None),
            many => Err(refused(
                &format!(
                    "has a name that fits several tokens (`{}`)",
                    many.join("`, `")
                ),
                None,
                hints.contract,
            )),
        }
    }

    /// Refusals of parts of one container that are not of the token that the user says: a sheet or a file of an archive for each of several
    /// tokens, as their names tell. By the part's name.
    pub(super) fn of_others(
        &self,
        parts: &[&str],
        hints: TokenHints<'_>,
    ) -> Vec<(String, Refusal)> {
        let Some(token) = hints.token.filter(|_| !hints.forced) else {
            return Vec::new();
        };
        let named: Vec<(&str, String)> = parts
            .iter()
            .filter_map(|&part| Some((part, pair::ticker(part, |word| self.has_symbol(word))?)))
            .collect();
        if named.windows(2).all(|two| alike(&two[0].1, &two[1].1)) {
            return Vec::new();
        }
        let said = hints
            .coin
            .map(str::to_uppercase)
            .or_else(|| self.symbol(&token));
        let is_said = |ticker: &str| said.as_deref().is_some_and(|said| alike(said, ticker));
        let none = !named.iter().any(|(_, ticker)| is_said(ticker));
        let option = if hints.coin.is_some() {
            "--coin"
        } else {
            "--token"
        };
        let mut shown: Vec<String> = named
            .iter()
            .map(|(_, ticker)| format!("`{ticker}`"))
            .collect();
        shown.dedup();
        let refusal = |ticker: &str| {
            let reason = if none {
                format!(
                    "is about `{ticker}` (from its name), but the parts of the file are about several tokens ({}), and {option} \
                     names only one; save the part you need as a separate file, or pass --broken-too to import all parts as one \
                     token",
                    few(&shown, SHARING_SHOWN)
                )
            } else {
                let said = said.as_deref().unwrap_or_default();
                format!(
                    "is about `{ticker}` (from its name), but {option} applies to the part about `{said}`; import it separately with \
                     its own option"
                )
            };
            let refusal = Refusal::new(reason);
            if pair::is_native(ticker) {
                refusal.say("coin", ticker)
            } else if none {
                refusal
            } else {
                refusal.say("token", ADDRESS)
            }
        };
        named
            .iter()
            .filter(|(_, ticker)| !is_said(ticker))
            .map(|(part, ticker)| ((*part).to_owned(), refusal(ticker)))
            .collect()
    }

    /// As `find`, for prices: tries a trading pair first, whose quote must be dollars.
    pub(super) fn find_traded(
        &self,
        name: &str,
        content: Option<&str>,
        hints: TokenHints<'_>,
    ) -> Result<TokenMatch, Refusal> {
        let known = |symbol: &str| self.has_symbol(symbol);
        let in_content = content.and_then(|content| pair::pair(content, known));
        let is_in_name = in_content.is_none();
        let in_name = || {
            pair::pair_in_name(name, known)
                .filter(|pair| content.is_none_or(|content| alike(content, &pair.base)))
        };
        let not_taken = |currency: &str| {
            format!("; `{currency}` in the file name is not used as the price currency")
        };
        let Some(pair) = in_content.or_else(in_name) else {
            let mut found = self.find(name, content, hints)?;
            if let Some(currency) = pair::foreign_money(name).filter(|_| !hints.as_usd) {
                found.says.push_str(&not_taken(&currency));
            }
            return Ok(found);
        };
        if !pair.in_dollars() && !hints.as_usd {
            // Two words of a name may be no pair, and the token is said; the currency then counts as unknown, which is told.
            if is_in_name && pair.loose && hints.token.is_some() {
                let mut found = self.find(name, content, hints)?;
                found.says.push_str(&not_taken(&pair.quote));
                return Ok(found);
            }
            let (base, quote) = (&pair.base, &pair.quote);
            // No command is suggested: it would treat another currency as dollars.
            return Err(format!(
                "has prices of {base} in {quote}, but candles must be in USD; use a file with prices in USD, or pass --as-usd if \
                 they are in USD"
            )
            .into());
        }
        let (symbol, multiplier) = match pair::without_multiplier(&pair.base) {
            Some((symbol, multiplier))
                if !known(&pair.base) && (known(symbol) || hints.token.is_some()) =>
            {
                (symbol, multiplier)
            }
            _ => (pair.base.as_str(), 1.0),
        };
        let mut found = self.find(name, Some(symbol), hints)?;
        if hints.token.is_none() && pair::address(name).is_none() && content.is_none() {
            found.says = format!(
                "from the pair `{}/{}` in the file name",
                pair.base, pair.quote
            );
        }
        if pair.quote != "USD" {
            found
                .says
                .push_str(&format!("; prices in {} are treated as USD", pair.quote));
        }
        Ok(TokenMatch {
            multiplier,
            quoted: true,
            ..found
        })
    }
}

/// Whether two symbols are of one asset: equal, or one of them wrapped.
pub(super) fn alike(a: &str, b: &str) -> bool {
    let (a, b) = (a.to_uppercase(), b.to_uppercase());
    a == b || a.strip_prefix('W') == Some(&b) || b.strip_prefix('W') == Some(&a)
}

#[cfg(test)]
mod tests;
