//! Classifier of contracts by opcode bigrams (pairs of consecutive instructions): known scams against other tokens. Trained on the
//! dataset's codes and trusted according to its cross-validated accuracy. Scams of one kind are seldom copied exactly, but they are built
//! from the same parts. Similarity search is the index's task.

use std::collections::{BTreeMap, HashMap};

use revm::bytecode::OpCode;

use super::{
    CodeOrigin, DUP, PUSH, SWAP, Signature, agreeing, grams,
    margin::{LinearSvm, Sample, Sparse},
    normalise, signature,
};
use model::error::Result;

/// Minimum number of scam families, and of other tokens, for training.
const FAMILIES_MIN: usize = 10;
const TOKENS_MIN: usize = 20;
/// Of 128 hashes: two codes that agree in at least this many are of one family and are never split between training and validation.
const FAMILY_HASHES: usize = 90;
const FOLDS: usize = 8;
/// Minimum number of codes that must contain a pair for it to count.
const CODES_MIN: u32 = 3;
/// Maximum strength: the opcode mix does not show any behavior, so alone it never makes a token a high risk.
const HINT: f64 = 0.75;
/// Total cost of mistakes, in multiples of the number of codes.
const COST: f64 = 0.25;
/// Minimum divisor of a sample's weight, so that a group's few codes of one era do not outweigh the many of another.
const ERA_MIN: f64 = 3.0;
/// Cross-validated area under the ROC curve at which the classifier begins to count, and at which it counts fully.
const TRUST: (f64, f64) = (0.6, 0.8);
/// Share of other tokens with a decision value as high from which on the result has no strength.
const COMMON: f64 = 0.05;
const PAIRS_SHOWN: usize = 3;

/// Compiler generation of a code. Scams are younger than other tokens; without balancing this, the classifier would only tell the year.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Era {
    /// The dispatcher extracts the selector by division.
    Divided,
    /// By shifts, from Solidity 0.5 on.
    Shifted,
    /// Arithmetic is checked by the compiler, from Solidity 0.8 on.
    Checked,
}

impl Era {
    pub fn of(code: &[u8]) -> Self {
        read(code).1
    }
}

/// Selectors in every ERC-20 contract's code: `transfer(address,uint256)`, `balanceOf(address)`, `totalSupply()`, each after its PUSH4.
const TOKEN: [[u8; 5]; 3] = [
    [0x63, 0xa9, 0x05, 0x9c, 0xbb],
    [0x63, 0x70, 0xa0, 0x82, 0x31],
    [0x63, 0x18, 0x16, 0x0d, 0xdd],
];
/// `Panic(uint256)`.
const PANIC: [u8; 4] = [0x4e, 0x48, 0x7b, 0x71];
const SHR: u8 = 0x1c;
/// Number of leading symbols that are taken for the dispatcher.
const DISPATCH: usize = 120;

/// Counts of the pairs of consecutive instructions.
type Pairs = Vec<([u8; 2], u32)>;

/// A training code.
#[derive(Debug, Clone)]
pub struct Example {
    pairs: Pairs,
    era: Era,
    group: CodeOrigin,
    signature: Box<Signature>,
}

impl Example {
    /// Returns `None` if the code is not a token's.
    pub fn new(group: CodeOrigin, code: &[u8], signature: &Signature) -> Option<Self> {
        let token = TOKEN
            .iter()
            .all(|function| code.windows(function.len()).any(|bytes| bytes == function));
        let (pairs, era) = read(code);
        token.then(|| Self {
            pairs,
            era,
            group,
            signature: Box::new(*signature),
        })
    }
}

/// Result of the classifier for one code.
#[derive(Debug, Clone, PartialEq)]
pub struct Classification {
    /// 0 to 1.
    pub strength: f64,
    /// Upper estimate of the share of other tokens whose cross-validated decision value is at least as high.
    pub share_above: f64,
    /// Pairs of instructions that contribute most.
    pub pairs: Vec<String>,
}

/// The trained classifier.
#[derive(Debug, Clone)]
pub struct BigramClassifier {
    terms: Terms,
    /// The rule of each fold, which has not seen the fold's families.
    rules: Vec<LinearSvm>,
    /// The first signature of each family. A family's fold is its place, modulo `FOLDS`.
    families: Vec<Signature>,
    /// Cross-validated decision values of tokens, ascending, each with its family.
    tokens: Vec<(f64, usize)>,
    scams: usize,
    /// Cross-validated area under the ROC curve: the probability that an unseen scam scores higher than an unseen token.
    auc: f64,
}

impl BigramClassifier {
    /// Trains on the examples. Returns `None` if there are too few, or if the groups cannot be separated. `step` may cancel.
    pub fn learn(examples: &[Example], step: &dyn Fn() -> Result<()>) -> Result<Option<Self>> {
        let examples = different(examples);
        let (firsts, families) = families(&examples);
        let of = |group| {
            examples
                .iter()
                .filter(|example| example.group == group)
                .count()
        };
        let mut scam_families: Vec<usize> = examples
            .iter()
            .zip(&families)
            .filter(|(example, _)| example.group == CodeOrigin::Scam)
            .map(|(_, family)| *family)
            .collect();
        scam_families.sort_unstable();
        scam_families.dedup();
        if scam_families.len() < FAMILIES_MIN || of(CodeOrigin::Token) < TOKENS_MIN {
            return Ok(None);
        }
        let terms = Terms::new(&examples);
        let vectors: Vec<Sparse> = examples
            .iter()
            .map(|example| terms.vector(&example.pairs))
            .collect();
        let (mut scams, mut tokens, mut rules) = (Vec::new(), Vec::new(), Vec::new());
        for fold in 0..FOLDS {
            step()?;
            let unseen = |i: usize| families[i] % FOLDS == fold;
            let rule = fit(&examples, &vectors, terms.rarity.len(), &|i| !unseen(i));
            for i in (0..examples.len()).filter(|i| unseen(*i)) {
                let list = if examples[i].group == CodeOrigin::Scam {
                    &mut scams
                } else {
                    &mut tokens
                };
                list.push((rule.of(&vectors[i]), families[i]));
            }
            rules.push(rule);
        }
        let auc = auc(&scams, &tokens);
        if auc <= TRUST.0 {
            return Ok(None);
        }
        tokens.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        Ok(Some(Self {
            terms,
            rules,
            families: firsts,
            tokens,
            scams: of(CodeOrigin::Scam),
            auc,
        }))
    }

    /// Number of scams and other tokens in the training set.
    pub fn learned_from(&self) -> (usize, usize) {
        (self.scams, self.tokens.len())
    }

    pub fn auc(&self) -> f64 {
        self.auc
    }

    /// Classifies a code with the classifiers trained on other families. Returns `None` for a code without known instruction pairs.
    pub fn classify(&self, code: &[u8]) -> Option<Classification> {
        let (pairs, _) = read(code);
        let vector = self.terms.vector(&pairs);
        if vector.is_empty() {
            return None;
        }
        let own = family_of(&signature(&grams(code)), &self.families);
        // The mean of the rules varies less than each of them.
        let rules = own.map_or(&self.rules[..], |family| {
            &self.rules[family % FOLDS..=family % FOLDS]
        });
        let mean =
            |of: &dyn Fn(&LinearSvm) -> f64| rules.iter().map(of).sum::<f64>() / rules.len() as f64;
        let sum = mean(&|rule| rule.of(&vector));
        let share_above = self.share_above(sum, own);
        let trust = ((self.auc - TRUST.0) / (TRUST.1 - TRUST.0)).clamp(0.0, 1.0);
        let mut parts: Vec<(f64, u32)> = vector
            .iter()
            .map(|(at, value)| (mean(&|rule| rule.weights[*at as usize]) * value, *at))
            .collect();
        parts.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let shown = parts
            .iter()
            .filter(|(part, _)| *part > 0.0)
            .take(PAIRS_SHOWN);
        Some(Classification {
            // One of the tokens is always the last: it must also be on the scams' side.
            strength: if sum > 0.0 {
                HINT * trust * (1.0 - share_above / COMMON).max(0.0)
            } else {
                0.0
            },
            share_above,
            pairs: shown.map(|(_, at)| self.terms.name(*at)).collect(),
        })
    }

    /// Share of the tokens of other families than `own` with a decision value of at least `sum`, as if one more had it: that none of a few
    /// has it says little. Linearly interpolated: decreases as `sum` rises.
    fn share_above(&self, sum: f64, own: Option<usize>) -> f64 {
        let others: Vec<f64> = self
            .tokens
            .iter()
            .filter(|(_, family)| Some(*family) != own)
            .map(|(value, _)| *value)
            .collect();
        let under = others.partition_point(|other| *other < sum);
        let between = match (under.checked_sub(1).map(|at| others[at]), others.get(under)) {
            (Some(low), Some(high)) if *high > low => (sum - low) / (high - low),
            _ => 0.0,
        };
        ((others.len() - under) as f64 - between + 1.0) / (others.len() + 1) as f64
    }
}

/// Pairs used as features, with their inverse document frequency.
#[derive(Debug, Clone)]
struct Terms {
    places: HashMap<[u8; 2], u32>,
    rarity: Vec<f64>,
}

impl Terms {
    fn new(examples: &[&Example]) -> Self {
        let mut codes: BTreeMap<[u8; 2], u32> = BTreeMap::new();
        for (pair, _) in examples.iter().flat_map(|example| &example.pairs) {
            *codes.entry(*pair).or_default() += 1;
        }
        codes.retain(|_, count| *count >= CODES_MIN);
        let all = examples.len() as f64;
        Self {
            rarity: codes
                .values()
                .map(|with| ((1.0 + all) / (1.0 + f64::from(*with))).ln() + 1.0)
                .collect(),
            places: codes.into_keys().zip(0..).collect(),
        }
    }

    /// TF-IDF vector of unit length: for each pair, the logarithm of its count times its rarity.
    fn vector(&self, pairs: &Pairs) -> Sparse {
        let weigh = |(pair, count): &([u8; 2], u32)| {
            let at = *self.places.get(pair)?;
            Some((at, f64::from(*count).ln_1p() * self.rarity[at as usize]))
        };
        let vector: Sparse = pairs.iter().filter_map(weigh).collect();
        let length = vector
            .iter()
            .map(|(_, value)| value * value)
            .sum::<f64>()
            .sqrt();
        vector
            .into_iter()
            .map(|(at, value)| (at, value / length))
            .collect()
    }

    fn name(&self, place: u32) -> String {
        let pair = self
            .places
            .iter()
            .find(|(_, at)| **at == place)
            .map_or([0; 2], |(pair, _)| *pair);
        pair.map(symbol).join(" ")
    }
}

fn symbol(symbol: u8) -> String {
    match symbol {
        PUSH => "PUSH".into(),
        DUP => "DUP".into(),
        SWAP => "SWAP".into(),
        other => OpCode::new(other).map_or_else(
            || format!("0x{other:02x}"),
            |opcode| opcode.as_str().to_owned(),
        ),
    }
}

fn read(code: &[u8]) -> (Pairs, Era) {
    let symbols = normalise(code);
    let symbols = &symbols[..symbols.len().min(super::OPCODES_MAX)];
    let mut counts: BTreeMap<[u8; 2], u32> = BTreeMap::new();
    for pair in symbols.array_windows() {
        *counts.entry(*pair).or_default() += 1;
    }
    let era = if code.windows(PANIC.len()).any(|bytes| bytes == PANIC) {
        Era::Checked
    } else if symbols.iter().take(DISPATCH).any(|symbol| *symbol == SHR) {
        Era::Shifted
    } else {
        Era::Divided
    };
    (counts.into_iter().collect(), era)
}

/// Deduplicates identical codes within a group.
fn different(examples: &[Example]) -> Vec<&Example> {
    let mut different: Vec<&Example> = examples.iter().collect();
    let key = |example: &Example| {
        (
            example.group == CodeOrigin::Token,
            example.signature.clone(),
        )
    };
    different.sort_by_cached_key(|example| key(example));
    different.dedup_by(|a, b| key(a) == key(b) && a.pairs == b.pairs);
    different
}

/// The first signature of each family, and the family of each code: it joins the family of an earlier code with a matching signature, or starts one.
fn families(examples: &[&Example]) -> (Vec<Signature>, Vec<usize>) {
    let mut firsts: Vec<Signature> = Vec::new();
    let mut family = |example: &&Example| {
        family_of(&example.signature, &firsts).unwrap_or_else(|| {
            firsts.push(*example.signature);
            firsts.len() - 1
        })
    };
    let families = examples.iter().map(&mut family).collect();
    (firsts, families)
}

fn family_of(signature: &Signature, firsts: &[Signature]) -> Option<usize> {
    firsts
        .iter()
        .position(|first| agreeing(first, signature) >= FAMILY_HASHES)
}

/// Balances the total cost between the groups, and between the eras within a group, so that features that only tell the era do not help.
fn fit(
    examples: &[&Example],
    vectors: &[Sparse],
    coordinates: usize,
    seen: &dyn Fn(usize) -> bool,
) -> LinearSvm {
    let key = |i: usize| (examples[i].group == CodeOrigin::Scam, examples[i].era);
    let seen: Vec<usize> = (0..examples.len()).filter(|i| seen(*i)).collect();
    let mut peers: BTreeMap<(bool, Era), f64> = BTreeMap::new();
    for i in &seen {
        *peers.entry(key(*i)).or_default() += 1.0;
    }
    let raw = |i: usize| 1.0 / peers[&key(i)].max(ERA_MIN);
    let sum = |scam: bool| -> f64 {
        seen.iter()
            .filter(|i| key(**i).0 == scam)
            .map(|i| raw(*i))
            .sum()
    };
    let (scams, tokens) = (sum(true), sum(false));
    let half = COST * seen.len() as f64 / 2.0;
    let sample = |i: usize| {
        let wanted = key(i).0;
        Sample {
            vector: &vectors[i],
            wanted,
            cost: half * raw(i) / if wanted { scams } else { tokens },
        }
    };
    let samples: Vec<Sample<'_>> = seen.iter().map(|i| sample(*i)).collect();
    LinearSvm::fit(&samples, coordinates)
}

/// Area under the ROC curve; ties count half.
fn auc(scams: &[(f64, usize)], tokens: &[(f64, usize)]) -> f64 {
    let pairs = scams
        .iter()
        .flat_map(|scam| tokens.iter().map(move |other| scam.0.total_cmp(&other.0)));
    let right: f64 = pairs.map(|order| f64::from(order as i8 + 1) / 2.0).sum();
    right / (scams.len() * tokens.len()).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::{super::mix as hash, *};

    /// A token's code of random instructions, with occasional runs that only its makers write.
    fn code(seed: u64, habit: &[u8]) -> Vec<u8> {
        let draw = |i: u64| hash(seed.wrapping_mul(0x9e37_79b9).wrapping_add(i));
        let mut code: Vec<u8> = TOKEN.concat();
        for i in 0..300 {
            match draw(i) % 16 {
                0 => code.extend(habit),
                other => code.push(other as u8 + 1),
            }
        }
        code
    }

    const SCAMS: &[u8] = &[0x33, 0x54, 0x14];
    const HONEST: &[u8] = &[0x42, 0x10, 0x15];

    fn examples(scams: u64, tokens: u64, habit: &[u8]) -> Vec<Example> {
        let example = |group, code: Vec<u8>| {
            Example::new(group, &code, &signature(&grams(&code))).expect("a token's code")
        };
        let scams = (0..scams).map(|seed| example(CodeOrigin::Scam, code(seed, habit)));
        scams
            .chain(
                (1_000..1_000 + tokens).map(|seed| example(CodeOrigin::Token, code(seed, HONEST))),
            )
            .collect()
    }

    fn learned(examples: &[Example]) -> Option<BigramClassifier> {
        BigramClassifier::learn(examples, &|| Ok(())).expect("not canceled")
    }

    #[test]
    fn code_like_that_of_scams_is_told_from_code_like_that_of_other_tokens() {
        let classifier = learned(&examples(15, 199, SCAMS)).expect("there is a difference");
        assert_eq!(
            (classifier.learned_from(), classifier.auc()),
            ((15, 199), 1.0)
        );
        let classify = |seed, habit| classifier.classify(&code(seed, habit)).expect("a code");
        let (scam, honest) = (classify(5_000, SCAMS), classify(6_000, HONEST));
        assert!(
            (scam.strength - HINT * 0.9).abs() < 1e-12 && scam.share_above == 1.0 / 200.0,
            "{scam:?}"
        );
        assert!(
            scam.pairs.contains(&"CALLER SLOAD".to_owned())
                || scam.pairs.contains(&"SLOAD EQ".to_owned()),
            "{scam:?}"
        );
        assert!(
            honest.share_above > COMMON && honest.strength == 0.0,
            "{honest:?}"
        );
        assert_eq!(classifier.classify(&[]), None);
    }

    #[test]
    fn a_scam_among_the_tokens_is_judged_by_what_was_learned_from_others() {
        let mut all = examples(15, 199, SCAMS);
        let planted = code(5_000, SCAMS);
        all.push(
            Example::new(CodeOrigin::Token, &planted, &signature(&grams(&planted)))
                .expect("a token's code"),
        );
        let classifier = learned(&all).expect("there is a difference");
        let found = |code: &[u8]| {
            classifier
                .classify(code)
                .map(|classified| classified.strength)
        };
        let strength = found(&planted).expect("a code");
        assert!(
            (strength - HINT * 0.9).abs() < 1e-12,
            "it is not beside itself, and none of 199 others is as near: {strength}"
        );
        let highest = (1_000..1_199)
            .filter_map(|seed| found(&code(seed, HONEST)))
            .fold(0.0, f64::max);
        assert_eq!(highest, 0.0, "no token that was learned from as honest");
    }

    #[test]
    fn few_tokens_are_no_measure_of_what_is_rare() {
        let strength = |tokens: u64| {
            let classifier = learned(&examples(15, tokens, SCAMS)).expect("there is a difference");
            classifier
                .classify(&code(5_000, SCAMS))
                .expect("a code")
                .strength
        };
        assert!(strength(21) < HINT * 0.1, "{}", strength(21));
        assert!(strength(199) > HINT * 0.8, "{}", strength(199));
    }

    #[test]
    fn too_few_codes_or_no_difference_teach_nothing() {
        for (scams, listed, habit) in [
            (9, 40, SCAMS),
            (15, 19, SCAMS),
            (0, 0, SCAMS),
            (30, 60, HONEST),
        ] {
            assert!(
                learned(&examples(scams, listed, habit)).is_none(),
                "{scams} {listed}"
            );
        }
        // Copies of one scam count once.
        let mut copies = examples(0, 40, SCAMS);
        let one = examples(1, 0, SCAMS).remove(0);
        copies.extend(std::iter::repeat_n(one, 50));
        assert!(learned(&copies).is_none());
    }

    #[test]
    fn the_order_of_the_codes_does_not_matter() {
        let (mut codes, asked) = (examples(15, 40, SCAMS), code(7_000, HONEST));
        let one = learned(&codes).and_then(|classifier| classifier.classify(&asked));
        codes.reverse();
        assert_eq!(
            one,
            learned(&codes).and_then(|classifier| classifier.classify(&asked))
        );
    }

    #[test]
    fn the_higher_a_score_the_fewer_tokens_reach_it() {
        let classifier = BigramClassifier {
            terms: Terms::new(&[]),
            rules: Vec::new(),
            families: Vec::new(),
            tokens: vec![(-1.0, 0), (-1.0, 1), (0.0, 2), (0.5, 3), (9.0, 4)],
            scams: 0,
            auc: 1.0,
        };
        let share = |sum: f64| classifier.share_above(sum, Some(4));
        let shares: Vec<f64> = (-20..=10).map(|sum| share(f64::from(sum) / 10.0)).collect();
        assert!(shares.is_sorted_by(|a, b| a >= b), "{shares:?}");
        assert_eq!((shares[0], shares[30], share(0.25)), (1.0, 0.2, 0.3));
    }

    #[test]
    fn codes_that_are_no_tokens_are_not_learned_from() {
        let code = [
            0x63, 0xa9, 0x05, 0x9c, 0xbb, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06,
        ];
        assert!(Example::new(CodeOrigin::Scam, &code, &signature(&grams(&code))).is_none());
    }
}
