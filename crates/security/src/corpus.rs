//! Reference corpus for comparisons: bytecode of known scams and of other tokens, and the names of those tokens. Built once per data snapshot.

use std::collections::HashMap;

use super::{
    TokenSimilarity,
    facts::scam_report,
    similarity::{
        CodeOrigin, Grams, SimilarityIndex,
        bigrams::{BigramClassifier, Example},
        bytes, grams,
    },
};
use analysis::numeric::{quantile, to_four_places};
use model::data::Data;
use model::{address::Address, error::Result, token::Token};

/// Homoglyphs: letters of other alphabets that look like Latin ones.
const LOOKALIKES: &[(char, char)] = &[
    ('а', 'a'),
    ('е', 'e'),
    ('о', 'o'),
    ('р', 'p'),
    ('с', 'c'),
    ('у', 'y'),
    ('х', 'x'),
    ('і', 'i'),
    ('ѕ', 's'),
    ('к', 'k'),
    ('т', 't'),
    ('н', 'h'),
    ('в', 'b'),
    ('м', 'm'),
    ('α', 'a'),
    ('β', 'b'),
    ('ε', 'e'),
    ('ι', 'i'),
    ('κ', 'k'),
    ('ν', 'v'),
    ('ο', 'o'),
    ('ρ', 'p'),
    ('τ', 't'),
    ('υ', 'u'),
    ('χ', 'x'),
    ('ⅽ', 'c'),
    ('ⅰ', 'i'),
    ('ı', 'i'),
    ('ł', 'l'),
];

#[derive(Debug, Default)]
pub struct Corpus {
    pub codes: SimilarityIndex,
    /// Classifier of scam code against other tokens' code; `None` if the dataset has too few examples.
    pub classifier: Option<BigramClassifier>,
    /// Baseline of similarities; `None` with fewer than two codes.
    pub alike: Option<TokenSimilarity>,
    /// Tokens by normalized symbol; `names`: by normalized name.
    symbols: HashMap<String, Vec<Address>>,
    names: HashMap<String, Vec<Address>>,
}

impl Corpus {
    /// Reads the bytecode of all scams, and of tokens that are in no scam list. `step` is called with the progress (done, total) and may
    /// cancel.
    pub fn new(dataset: &dyn Data, step: &dyn Fn(u64, u64) -> Result<()>) -> Result<Self> {
        let mut corpus = Self::default();
        let scams = dataset.scams().addresses();
        let tokens: Vec<&Token> = dataset
            .tokens()
            .iter()
            .filter(|token| scam_report(dataset, &token.row.token_address).is_none())
            .collect();
        for token in &tokens {
            for (list, text) in [
                (&mut corpus.symbols, &token.row.symbol),
                (&mut corpus.names, &token.row.name),
            ] {
                if let Some(key) = text.as_deref().map(folded).filter(|key| !key.is_empty()) {
                    list.entry(key).or_default().push(token.row.token_address);
                }
            }
        }
        let coded = tokens
            .iter()
            .map(|token| token.row.token_address)
            .filter(|address| dataset.contracts().count(address) > 0);
        let coded = sample(&coded.collect::<Vec<_>>(), EXAMPLES_MAX);
        let every = scams.len().div_ceil(EXAMPLES_MAX).max(1);
        let total = (scams.len() + coded.len()) as u64;
        let of_scams = scams
            .iter()
            .map(|address| (address, CodeOrigin::Scam, scam_code(dataset, address)));
        let of_tokens = coded
            .iter()
            .map(|address| (address, CodeOrigin::Token, contract_code(dataset, address)));
        let mut examples = Vec::new();
        let mut compared: Vec<Grams> = Vec::new();
        for (i, (address, origin, code)) in of_scams.chain(of_tokens).enumerate() {
            step(i as u64, total)?;
            let Some(code) = code else { continue };
            let Some(signature) = corpus.codes.add(*address, origin, &code) else {
                continue;
            };
            if origin == CodeOrigin::Token {
                compared.push(grams(&code));
            }
            if origin == CodeOrigin::Token || i % every == 0 {
                examples.extend(Example::new(origin, &code, signature));
            }
        }
        corpus.alike = alike(&corpus.codes, &compared);
        corpus.classifier = BigramClassifier::learn(&examples, &|| step(total, total))?;
        Ok(corpus)
    }

    /// Other tokens on one of its chains with the same symbol, and those with the same name.
    pub fn namesakes(&self, dataset: &dyn Data, token: &Token) -> (Vec<Address>, Vec<Address>) {
        let of = |list: &HashMap<String, Vec<Address>>, text: &Option<String>| -> Vec<Address> {
            let all = text
                .as_deref()
                .and_then(|text| list.get(&folded(text)))
                .map_or(&[][..], Vec::as_slice);
            let neighbour = |address: &&Address| {
                **address != token.row.token_address
                    && dataset.token(address).is_some_and(|other| {
                        other
                            .chains
                            .iter()
                            .any(|chain| token.chains.contains(chain))
                    })
            };
            all.iter().filter(neighbour).copied().collect()
        };
        (
            of(&self.symbols, &token.row.symbol),
            of(&self.names, &token.row.name),
        )
    }
}

/// Maximum number of codes of a kind that are learned from; of tokens also that others are compared with.
const EXAMPLES_MAX: usize = 600;
/// Maximum number of tokens' codes that are compared with each other.
const COMPARED_MAX: usize = 100;
/// The share of pairs of tokens that are less alike than the baseline's tail.
const TAIL: f64 = 0.99;

/// At most `most` of them, evenly spaced.
fn sample<T: Copy>(all: &[T], most: usize) -> Vec<T> {
    all.iter()
        .step_by(all.len().div_ceil(most).max(1))
        .copied()
        .collect()
}

/// Similarities of tokens' codes, for every pair of a sample. Copies of one code count once.
pub fn alike(index: &SimilarityIndex, codes: &[Grams]) -> Option<TokenSimilarity> {
    let mut codes: Vec<&Grams> = codes.iter().collect();
    codes.sort_unstable();
    codes.dedup();
    let codes = sample(&codes, COMPARED_MAX);
    let pairs = codes
        .iter()
        .enumerate()
        .flat_map(|(i, a)| codes[i + 1..].iter().map(move |b| (a, b)));
    let mut found: Vec<f64> = pairs.map(|(a, b)| index.similarity(a, b)).collect();
    let highest = found.iter().copied().reduce(f64::max)?;
    let [median, tail] = [0.5, TAIL].map(|share| to_four_places(quantile(&mut found, share)));
    Some(TokenSimilarity {
        pairs: found.len() as u64,
        median,
        tail,
        highest: to_four_places(highest),
    })
}

/// Runtime bytecode of a contract, if any.
pub fn contract_code(dataset: &dyn Data, address: &Address) -> Option<Vec<u8>> {
    code_of(dataset.contracts().text(address, 0, "bytecode"))
}

/// Runtime bytecode of a known scam, if any.
pub fn scam_code(dataset: &dyn Data, address: &Address) -> Option<Vec<u8>> {
    code_of(dataset.scams().text(address, 0, "bytecode"))
}

fn code_of(hex: Option<String>) -> Option<Vec<u8>> {
    bytes(&hex?).filter(|code| !code.is_empty())
}

/// Normalizes a name: letters and digits only, lower case, homoglyphs replaced by Latin letters.
fn folded(text: &str) -> String {
    let plain = |letter: char| {
        LOOKALIKES
            .iter()
            .find(|(odd, _)| *odd == letter)
            .map_or(letter, |(_, latin)| *latin)
    };
    text.chars()
        .flat_map(char::to_lowercase)
        .map(plain)
        .filter(|letter| letter.is_alphanumeric())
        .take(200)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_look_alike_letters_are_equal() {
        for (a, b) in [
            ("USD Coin", "usd-coin"),
            ("UЅDС", "USDC"),
            ("Tetһer", "tetһer"),
            ("Ｕ", "ｕ"),
        ] {
            assert_eq!(folded(a), folded(b), "{a} {b}");
        }
        assert_ne!(folded("USDC"), folded("USDT"));
        assert_eq!(folded("--"), "");
    }
}
