//! Similarity of each contract to known scams, where known scams and listed tokens are from other clusters.

use model::address::Address;
use security::similarity::{
    CodeOrigin, SimilarityIndex,
    bigrams::{BigramClassifier, Example},
    grams,
};

use super::corpus::{Labelled, Section};

/// Folds of the development clusters; each is compared with the others.
const FOLDS: usize = 10;

/// Strength of SIMILAR_TO_SCAM by nearest scam and by opcode mix, for each contract of the section in order. The hold-out third is compared
/// with the development set; that set fold by fold with its other folds.
pub(crate) fn strengths(contracts: &[Labelled], section: Section) -> Vec<(f64, f64)> {
    let mut clusters: Vec<&str> = contracts.iter().map(|contract| contract.cluster.as_str()).collect();
    clusters.sort_unstable();
    clusters.dedup();
    let fold = |contract: &Labelled| clusters.binary_search(&contract.cluster.as_str()).map_or(0, |at| at % FOLDS);
    let asked: Vec<&Labelled> = contracts.iter().filter(|contract| contract.section() == section).collect();
    let open: Vec<&Labelled> = contracts.iter().filter(|contract| contract.section() == Section::Open).collect();
    let mut strengths = vec![(0.0, 0.0); asked.len()];
    for part in 0..if section == Section::Open { FOLDS } else { 1 } {
        let others = |contract: &Labelled| section == Section::Closed || fold(contract) != part;
        let known: Vec<&Labelled> = open.iter().copied().filter(|contract| others(contract)).collect();
        let corpus = Corpus::new(&known);
        for (contract, strength) in asked.iter().zip(&mut strengths) {
            if section == Section::Closed || fold(contract) == part {
                *strength = corpus.strength(&contract.runtime);
            }
        }
    }
    strengths
}

struct Corpus {
    index: SimilarityIndex,
    known: Vec<(CodeOrigin, security::similarity::Grams)>,
    classifier: Option<BigramClassifier>,
}

impl Corpus {
    fn new(contracts: &[&Labelled]) -> Self {
        let mut index = SimilarityIndex::default();
        let (mut known, mut examples) = (Vec::new(), Vec::new());
        for (label, group) in [("scam", CodeOrigin::Scam), ("benign", CodeOrigin::Template)] {
            for row in contracts.iter().filter(|row| row.label == label && row.confidence != "low") {
                let signature = index.add(Address([0; 20]), group, &row.runtime);
                examples.extend(signature.and_then(|signature| Example::new(group, &row.runtime, signature)));
                known.push((group, grams(&row.runtime)));
            }
        }
        let classifier = BigramClassifier::learn(&examples, &|| Ok(())).expect("nobody gives up");
        Self { index, known, classifier }
    }

    fn strength(&self, code: &[u8]) -> (f64, f64) {
        let own = grams(code);
        let nearest = |group: CodeOrigin| {
            let others = self.known.iter().filter(|(of, _)| *of == group);
            others.map(|(_, grams)| self.index.similarity(&own, grams)).fold(0.0, f64::max)
        };
        let (scam, benign) = (nearest(CodeOrigin::Scam), nearest(CodeOrigin::Template).max(0.6));
        let judged = self.classifier.as_ref().and_then(|classifier| classifier.judge(code)).map_or(0.0, |judged| judged.strength);
        ((scam - benign).max(0.0) / 0.4, if benign > 0.6 && benign >= scam { 0.0 } else { judged })
    }
}
