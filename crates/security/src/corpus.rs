//! Reference corpus for comparisons: bytecode of known scams and of listed tokens, and the names of listed tokens. Built once per
//! generation of the data.

use std::collections::HashMap;

use super::{
    ListedSimilarity,
    similarity::{
        CodeOrigin, Grams, SimilarityIndex,
        bigrams::{BigramClassifier, Example, is_example},
        bytes, grams,
    },
};
use analysis::numeric::{median, to_four_places};
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
    /// Classifier of scam code against listed tokens' code; `None` if the dataset has too few examples.
    pub classifier: Option<BigramClassifier>,
    /// Baseline of similarities; `None` with fewer than two listed codes.
    pub alike: Option<ListedSimilarity>,
    /// Listed tokens by normalized symbol; `names`: by normalized name.
    symbols: HashMap<String, Vec<Address>>,
    names: HashMap<String, Vec<Address>>,
}

impl Corpus {
    /// Reads the bytecode of all scams and listed tokens. `step` is called with the progress (done, total) and may cancel.
    pub fn new(dataset: &dyn Data, step: &dyn Fn(u64, u64) -> Result<()>) -> Result<Self> {
        let mut corpus = Self::default();
        let scams = dataset.scams().addresses();
        let listed: Vec<&Token> = dataset.tokens().iter().filter(|token| token.row.listed == Some(true)).collect();
        let total = (scams.len() + listed.len()) as u64;
        let mut examples = Vec::new();
        let mut compared: Vec<Grams> = Vec::new();
        let every = listed.len().div_ceil(COMPARED_MAX).max(1);
        for (i, address) in scams.iter().enumerate() {
            step(i as u64, total)?;
            if let Some(code) = scam_code(dataset, address) {
                let signature = corpus.codes.add(*address, CodeOrigin::Scam, &code);
                examples.extend(signature.filter(|_| is_example(i, scams.len())).and_then(|of| Example::new(CodeOrigin::Scam, &code, of)));
            }
        }
        for (i, token) in listed.iter().enumerate() {
            step((scams.len() + i) as u64, total)?;
            let address = token.row.token_address;
            if let Some(code) = contract_code(dataset, &address) {
                if i % every == 0 {
                    compared.push(grams(&code));
                }
                let signature = corpus.codes.add(address, CodeOrigin::Template, &code);
                examples
                    .extend(signature.filter(|_| is_example(i, listed.len())).and_then(|of| Example::new(CodeOrigin::Template, &code, of)));
            }
            for (list, text) in [(&mut corpus.symbols, &token.row.symbol), (&mut corpus.names, &token.row.name)] {
                if let Some(key) = text.as_deref().map(folded).filter(|key| !key.is_empty()) {
                    list.entry(key).or_default().push(address);
                }
            }
        }
        corpus.alike = alike(&corpus.codes, &compared);
        corpus.classifier = BigramClassifier::learn(&examples, &|| step(total, total))?;
        Ok(corpus)
    }

    /// Whether any token is on a curated list.
    pub fn has_listed(&self) -> bool {
        !self.names.is_empty() || !self.symbols.is_empty()
    }

    /// Other listed tokens on one of its chains with the same symbol, and those with the same name.
    pub fn namesakes(&self, dataset: &dyn Data, token: &Token) -> (Vec<Address>, Vec<Address>) {
        let of = |list: &HashMap<String, Vec<Address>>, text: &Option<String>| -> Vec<Address> {
            let all = text.as_deref().and_then(|text| list.get(&folded(text))).map_or(&[][..], Vec::as_slice);
            let neighbour = |address: &&Address| {
                **address != token.row.token_address
                    && dataset.token(address).is_some_and(|other| other.chains.iter().any(|chain| token.chains.contains(chain)))
            };
            all.iter().filter(neighbour).copied().collect()
        };
        (of(&self.symbols, &token.row.symbol), of(&self.names, &token.row.name))
    }
}

/// Maximum number of listed tokens whose codes are compared with each other.
const COMPARED_MAX: usize = 24;

/// Similarities of listed tokens' codes, every pair of those given.
fn alike(index: &SimilarityIndex, codes: &[Grams]) -> Option<ListedSimilarity> {
    let pairs = codes.iter().enumerate().flat_map(|(i, a)| codes[i + 1..].iter().map(move |b| (a, b)));
    let mut found: Vec<f64> = pairs.map(|(a, b)| index.similarity(a, b)).collect();
    let highest = found.iter().copied().reduce(f64::max)?;
    Some(ListedSimilarity { pairs: found.len() as u64, median: to_four_places(median(&mut found)), highest: to_four_places(highest) })
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
    let plain = |letter: char| LOOKALIKES.iter().find(|(odd, _)| *odd == letter).map_or(letter, |(_, latin)| *latin);
    text.chars().flat_map(char::to_lowercase).map(plain).filter(|letter| letter.is_alphanumeric()).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_look_alike_letters_are_equal() {
        for (a, b) in [("USD Coin", "usd-coin"), ("UЅDС", "USDC"), ("Tetһer", "tetһer"), ("Ｕ", "ｕ")] {
            assert_eq!(folded(a), folded(b), "{a} {b}");
        }
        assert_ne!(folded("USDC"), folded("USDT"));
        assert_eq!(folded("--"), "");
    }
}
