//! Decides whether a fetched post is about a token, whatever the service searched with. A pure function of the post's texts, the tokens and their
//! accounts: no requests, no files. `dropped` decides which of these posts count.

use std::collections::{HashMap, HashSet};

use model::{
    address::Address,
    chain::{CHAINS, Chain},
    rows::AccountRow,
    social::account_name,
};

/// Cashtags of currencies, shares and words, in upper case.
const OTHER_CASHTAGS: &str = include_str!("../../../../assets/cashtags.txt");
/// Bytes of a post's texts that are read: services limit posts to a few thousand letters, a hostile one does not.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// Letters of a symbol or name from which it is one: `$F` and `$100` are a share and an amount.
const LETTERS_MIN: usize = 3;
/// Characters of a symbol or name up to which it is searched for.
const NAME_CHARS_MAX: usize = 64;
/// A post with more different cashtags or contracts is a list of tokens, and about none of them.
const LIST_CASHTAGS_MAX: usize = 5;
const LIST_CONTRACTS_MAX: usize = 3;

model::words! {
    /// The first sign by which a post is about a token.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum MatchedBy {
        /// The token's address is in a text, also inside a URL.
        Contract = "contract",
        /// An account of the token wrote the post.
        Account = "account",
        /// The post names or answers an account of the token.
        Mention = "mention",
        /// The post starts a thread in a channel, space, repository or feed of the token.
        Channel = "channel",
        /// `$SYMBOL`, if it can mean only this token.
        Cashtag = "cashtag",
    }
}

/// Whether a post is about a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MatchOutcome {
    Matched(MatchedBy),
    /// The token's cashtag, which may mean something other than the token.
    Ambiguous,
    /// No sign of the token.
    Unrelated,
}

/// A token of the dataset.
#[derive(Debug, Clone, Default)]
pub(crate) struct MatchToken {
    pub(crate) address: Address,
    pub(crate) symbol: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) chains: Vec<Chain>,
    pub(crate) listed: bool,
}

/// A post as the service returned it.
#[derive(Debug, Clone, Default)]
pub(crate) struct PostTexts<'a> {
    /// Text, embeds, link targets, and the texts of a quoted post.
    pub(crate) texts: Vec<&'a str>,
    pub(crate) author: Option<&'a str>,
    pub(crate) author_id: Option<&'a str>,
    pub(crate) platform: &'a str,
    /// Handles or ids of the accounts that the post names or answers.
    pub(crate) mentions: Vec<&'a str>,
    /// Channel, space, repository or feed of the post, as the service states it with each post; if the service never does, the one that the
    /// request was for. The feed of a channel also contains posts from outside the channel.
    pub(crate) channel: Option<&'a str>,
    /// Whether the post starts a thread.
    pub(crate) is_top_level: bool,
}

/// Decides which posts are about which token. Built once per refresh.
#[derive(Debug)]
pub(crate) struct Matcher {
    tokens: HashMap<Address, TokenSigns>,
    /// By symbol in lower case.
    by_symbol: HashMap<String, Namesakes>,
}

/// The tokens with one symbol.
#[derive(Debug, Default)]
struct Namesakes {
    tokens: Vec<Address>,
    listed: usize,
    /// Number of these tokens with a name, and on a chain.
    names: HashMap<String, usize>,
    chains: HashMap<Chain, usize>,
}

/// A platform and a handle, id or place on it, in lower case.
type AccountKey = (String, String);

#[derive(Debug, Default)]
struct TokenSigns {
    /// In lower case, without `$`.
    symbol: String,
    /// Whether the cashtag suffices without another sign.
    is_unmistakable: bool,
    /// Names that tell which token the cashtag means.
    names: Vec<NameSign>,
    authors: HashSet<AccountKey>,
    places: HashSet<AccountKey>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NameSign {
    text: String,
    /// Whether the letter case must be the same.
    is_exact: bool,
}

impl Matcher {
    pub(crate) fn new(tokens: &[MatchToken], accounts: &[AccountRow]) -> Self {
        let others: HashSet<String> = OTHER_CASHTAGS
            .lines()
            .filter(|line| !line.starts_with('#'))
            .flat_map(str::split_whitespace)
            .map(str::to_lowercase)
            .collect();
        let mut by_symbol: HashMap<String, Namesakes> = HashMap::new();
        for token in tokens {
            by_symbol.entry(symbol_of(token)).or_default().add(token);
        }
        let signs = |token: &MatchToken| {
            let symbol = symbol_of(token);
            let namesakes = &by_symbol[&symbol];
            let is_the_one = namesakes.tokens.len() == 1 || token.listed && namesakes.listed == 1;
            TokenSigns {
                is_unmistakable: is_the_one && has_letters(&symbol) && !others.contains(&symbol),
                names: namesakes.names_of(token, &symbol),
                symbol,
                ..TokenSigns::default()
            }
        };
        let mut signs: HashMap<Address, TokenSigns> = tokens
            .iter()
            .map(|token| (token.address, signs(token)))
            .collect();
        for account in accounts {
            let Some(token) = signs.get_mut(&account.token_address) else {
                continue;
            };
            let role = account.role.as_deref().unwrap_or_default();
            let keys = if PLACES.contains(&role) {
                &mut token.places
            } else {
                &mut token.authors
            };
            let names = [Some(&account.account), account.account_id.as_ref()];
            let names = names.into_iter().flatten().filter(|name| !name.is_empty());
            keys.extend(names.map(|name| account_key(&account.platform, name)));
        }
        Self {
            tokens: signs,
            by_symbol,
        }
    }

    /// Whether the post is about the token. The first sign that holds is named, in the order of `MatchedBy`. Takes time proportional to the
    /// length of the texts.
    pub(crate) fn matched(&self, token: &Address, post: &PostTexts<'_>) -> MatchOutcome {
        let Some(signs) = self.tokens.get(token) else {
            return MatchOutcome::Unrelated;
        };
        let texts = read_part(&post.texts);
        let contracts: HashSet<Address> = texts.iter().flat_map(|text| contracts(text)).collect();
        let platform = post.platform.trim().to_lowercase();
        let key = |name: &&str| account_key(&platform, name);
        let own_author = |name: &&str| signs.authors.contains(&key(name));
        let is_named = |(of, name): &AccountKey| {
            *of == platform && texts.iter().any(|text| has_handle(text, name))
        };
        let by = if contracts.contains(token) {
            MatchedBy::Contract
        } else if post.author.iter().chain(&post.author_id).any(own_author) {
            MatchedBy::Account
        } else if post.mentions.iter().any(own_author) || signs.authors.iter().any(is_named) {
            MatchedBy::Mention
        } else if post.is_top_level
            && post
                .channel
                .as_ref()
                .is_some_and(|name| signs.places.contains(&key(name)))
        {
            MatchedBy::Channel
        } else {
            return self.cashtag(signs, &texts, &contracts);
        };
        MatchOutcome::Matched(by)
    }

    /// `contracts` does not contain the token's own.
    fn cashtag(
        &self,
        signs: &TokenSigns,
        texts: &[&str],
        contracts: &HashSet<Address>,
    ) -> MatchOutcome {
        if signs.symbol.is_empty() || !texts.iter().any(|text| has_cashtag(text, &signs.symbol)) {
            return MatchOutcome::Unrelated;
        }
        let is_named = |signs: &TokenSigns| {
            let has = |name| texts.iter().any(|text| has_name(text, name));
            signs.names.iter().any(has)
        };
        // `$PEPE on Base` is not about the listed PEPE, which is on Ethereum only.
        let means_other = || {
            let namesakes = self.by_symbol.get(&signs.symbol);
            namesakes
                .into_iter()
                .flat_map(|all| &all.tokens)
                .any(|other| {
                    contracts.contains(other) || self.tokens.get(other).is_some_and(is_named)
                })
        };
        if is_named(signs) || signs.is_unmistakable && !means_other() {
            MatchOutcome::Matched(MatchedBy::Cashtag)
        } else {
            MatchOutcome::Ambiguous
        }
    }
}

/// Whether the texts name more than 5 different cashtags or more than 3 different contracts, such as a list of gainers.
pub(crate) fn is_list(texts: &[&str]) -> bool {
    let texts = read_part(texts);
    let cashtags: HashSet<String> = texts.iter().flat_map(|text| cashtags(text)).collect();
    let contracts: HashSet<Address> = texts.iter().flat_map(|text| contracts(text)).collect();
    cashtags.len() > LIST_CASHTAGS_MAX || contracts.len() > LIST_CONTRACTS_MAX
}

/// Roles of accounts that are places to post in.
const PLACES: [&str; 4] = ["channel", "space", "repo", "feed"];

fn account_key(platform: &str, account: &str) -> AccountKey {
    (platform.trim().to_lowercase(), account_name(account))
}

fn symbol_of(token: &MatchToken) -> String {
    named(
        token
            .symbol
            .as_deref()
            .unwrap_or_default()
            .trim_start_matches('$'),
    )
}

/// The name in lower case; empty if it is too long to be searched for.
fn named(name: &str) -> String {
    let name = name.trim();
    let is_short = name.chars().nth(NAME_CHARS_MAX).is_none();
    if is_short {
        name.to_lowercase()
    } else {
        String::new()
    }
}

fn has_letters(name: &str) -> bool {
    name.chars().filter(|letter| letter.is_alphabetic()).count() >= LETTERS_MIN
}

impl Namesakes {
    fn add(&mut self, token: &MatchToken) {
        self.tokens.push(token.address);
        self.listed += usize::from(token.listed);
        *self.names.entry(name_of(token)).or_default() += 1;
        for chain in &token.chains {
            *self.chains.entry(chain.clone()).or_default() += 1;
        }
    }

    /// The names next to which the cashtag means this token: its own and those of its chains, unless another of these tokens shares them.
    fn names_of(&self, token: &MatchToken, symbol: &str) -> Vec<NameSign> {
        let is_name = |name: &str| has_letters(name) && name != symbol;
        let mut names = Vec::new();
        let name = name_of(token);
        if is_name(&name) && self.names.get(&name) == Some(&1) {
            names.push(any_case(name));
        }
        for chain in &token.chains {
            if *chain == Chain::unknown() || self.chains.get(chain) != Some(&1) {
                continue;
            }
            let row = CHAINS.iter().find(|row| row.short_name == chain.as_str());
            if let Some(row) = row {
                names.push(NameSign {
                    text: row.name.to_owned(),
                    is_exact: true,
                });
            }
            let aliases = row
                .into_iter()
                .flat_map(|row| row.aliases.iter().chain([&row.name]));
            let words = aliases.copied().chain([chain.as_str()]);
            names.extend(words.filter(|word| is_name(word)).flat_map(chain_names));
        }
        names
    }
}

fn name_of(token: &MatchToken) -> String {
    named(token.name.as_deref().unwrap_or_default())
}

pub(super) fn any_case(text: String) -> NameSign {
    NameSign {
        text,
        is_exact: false,
    }
}

/// Names of chains that are ordinary words or coins; all names of up to 5 letters count as such (base, mode, eth).
const ORDINARY_CHAIN_NAMES: [&str; 9] = [
    "aurora",
    "avalanche",
    "harmony",
    "mainnet",
    "mantle",
    "optimism",
    "plasma",
    "polygon",
    "scroll",
];
const ORDINARY_CHARS_MAX: usize = 5;

/// How posts write the name of a chain. An ordinary word names a chain only in a phrase, such as `on base`.
fn chain_names(name: &str) -> Vec<NameSign> {
    let name = name.to_lowercase().replace('-', " ");
    let name = name.as_str();
    if name.chars().count() > ORDINARY_CHARS_MAX && !ORDINARY_CHAIN_NAMES.contains(&name) {
        return vec![any_case(name.to_owned())];
    }
    let phrases = [
        format!("on {name}"),
        format!("#{name}"),
        format!("/{name}/"),
        format!("{name} chain"),
        format!("{name}chain"),
        format!("{name} network"),
        format!("{name} mainnet"),
    ];
    phrases.into_iter().map(any_case).collect()
}

/// The texts up to the number of bytes that are read.
fn read_part<'a>(texts: &[&'a str]) -> Vec<&'a str> {
    let mut left = TEXT_BYTES_MAX;
    let mut read = Vec::new();
    for text in texts.iter().take(TEXT_BYTES_MAX) {
        let end = (0..=left.min(text.len()))
            .rev()
            .find(|end| text.is_char_boundary(*end));
        let part = &text[..end.unwrap_or_default()];
        left -= part.len();
        if !part.is_empty() {
            read.push(part);
        }
    }
    read
}

/// The addresses in the text. The first 40 digits of a longer hex string, such as a transaction hash, are none.
fn contracts(text: &str) -> impl Iterator<Item = Address> {
    const LENGTH: usize = 42;
    let bytes = text.as_bytes();
    let starts = (0..bytes.len().saturating_sub(LENGTH - 1))
        .filter(|at| bytes[*at] == b'0' && bytes[at + 1].eq_ignore_ascii_case(&b'x'));
    starts.filter_map(move |at| {
        let address = Address::parse(text.get(at..at + LENGTH)?)?;
        let after = &bytes[at + LENGTH..];
        let is_next_address = matches!(after, [b'0', b'x' | b'X', ..]);
        let is_longer = after.first().is_some_and(u8::is_ascii_hexdigit) && !is_next_address;
        (!is_longer).then_some(address)
    })
}

/// The cashtags of the text in lower case. Those that begin with a digit are amounts.
fn cashtags(text: &str) -> impl Iterator<Item = String> {
    text.match_indices('$').filter_map(|(at, _)| {
        let after = &text[at + 1..];
        let is_start = !text[..at]
            .chars()
            .next_back()
            .is_some_and(|c| is_word(c) || c == '$');
        let end = after.find(|c| !is_word(c)).unwrap_or(after.len());
        let is_whole = !after[end..].starts_with('-');
        let is_name = after.starts_with(char::is_alphabetic);
        (is_start && is_whole && is_name).then(|| after[..end].to_lowercase())
    })
}

/// `(?<![\w$])\$SYMBOL(?![\w-])`, in any letter case.
fn has_cashtag(text: &str, symbol: &str) -> bool {
    occurs(text, |before, rest| {
        let after = rest
            .strip_prefix('$')
            .and_then(|rest| strip(rest, symbol, false));
        !before.is_some_and(|c| is_word(c) || c == '$')
            && after.is_some_and(|after| !after.starts_with(|c| is_word(c) || c == '-'))
    })
}

/// `@handle`, not as the beginning of a longer handle, such as `@handle.eth`, nor in the path of a URL.
pub(super) fn has_handle(text: &str, handle: &str) -> bool {
    occurs(text, |before, rest| {
        let after = rest
            .strip_prefix('@')
            .and_then(|rest| strip(rest, handle, false));
        !before.is_some_and(|c| is_word(c) || c == '@' || c == '/')
            && after.is_some_and(|after| {
                let after = after.strip_prefix('.').unwrap_or(after);
                !after.starts_with(|c| is_word(c) || c == '-' || c == '@')
            })
    })
}

/// The name as whole words. In `$degen`, the name Degen does not occur.
pub(super) fn has_name(text: &str, name: &NameSign) -> bool {
    let (begins, ends) = (name.text.starts_with(is_word), name.text.ends_with(is_word));
    occurs(text, |before, rest| {
        !(begins && before.is_some_and(|c| is_word(c) || c == '$'))
            && strip(rest, &name.text, name.is_exact)
                .is_some_and(|after| !(ends && after.starts_with(is_word)))
    })
}

/// Whether `is_here` holds anywhere in the text, for the character before and the text from there.
fn occurs(text: &str, is_here: impl Fn(Option<char>, &str) -> bool) -> bool {
    let mut before = None;
    text.char_indices().any(|(at, letter)| {
        let found = is_here(before, &text[at..]);
        before = Some(letter);
        found
    })
}

/// The text after the word that it begins with.
fn strip<'a>(text: &'a str, word: &str, is_exact: bool) -> Option<&'a str> {
    let mut letters = text.chars();
    for wanted in word.chars() {
        let letter = letters.next()?;
        if letter != wanted && (is_exact || !is_same(letter, wanted)) {
            return None;
        }
    }
    Some(letters.as_str())
}

/// Equal in any letter case. The Kelvin sign, whose lower case is `k`, is no `K`.
fn is_same(a: char, b: char) -> bool {
    a.is_ascii() == b.is_ascii() && a.to_lowercase().eq(b.to_lowercase())
}

/// `\w` of Unicode regular expressions (UTS #18, annex C), with the common blocks of combining marks.
fn is_word(letter: char) -> bool {
    letter.is_alphanumeric()
        || matches!(letter, '_' | '\u{200c}' | '\u{200d}' | '\u{203f}' | '\u{300}'..='\u{36f}'
            | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

#[cfg(test)]
mod tests;
