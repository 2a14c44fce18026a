//! Similarity of each contract to known scams, where known scams and other tokens are from other clusters.

use model::address::Address;
use security::{
    corpus::alike,
    infer::traits,
    resemblance,
    similarity::{
        CodeOrigin, Grams, SimilarityIndex,
        bigrams::{BigramClassifier, Example},
        grams,
    },
};

use super::corpus::{Labelled, Section};

/// Folds of the development clusters; each is compared with the others.
const FOLDS: usize = 10;

/// Strength of SIMILAR_TO_SCAM by nearest scam and by opcode mix, for each contract of the section in order. The hold-out third is compared
/// with the development set; that set fold by fold with its other folds.
pub(crate) fn strengths(contracts: &[Labelled], section: Section) -> Vec<(f64, f64)> {
    let mut clusters: Vec<&str> = contracts
        .iter()
        .map(|contract| contract.cluster.as_str())
        .collect();
    clusters.sort_unstable();
    clusters.dedup();
    let fold = |contract: &Labelled| {
        clusters
            .binary_search(&contract.cluster.as_str())
            .map_or(0, |at| at % FOLDS)
    };
    let asked: Vec<&Labelled> = contracts
        .iter()
        .filter(|contract| contract.section() == section)
        .collect();
    let open: Vec<&Labelled> = contracts
        .iter()
        .filter(|contract| contract.section() == Section::Open)
        .collect();
    let mut strengths = vec![(0.0, 0.0); asked.len()];
    for part in 0..if section == Section::Open { FOLDS } else { 1 } {
        let others = |contract: &Labelled| section == Section::Closed || fold(contract) != part;
        let known: Vec<&Labelled> = open
            .iter()
            .copied()
            .filter(|contract| others(contract))
            .collect();
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
    known: Vec<(CodeOrigin, Grams, Vec<u8>)>,
    tail: f64,
    classifier: Option<BigramClassifier>,
}

impl Corpus {
    fn new(contracts: &[&Labelled]) -> Self {
        let mut index = SimilarityIndex::default();
        let (mut known, mut examples) = (Vec::new(), Vec::new());
        // As in a dataset: whatever nobody reported is another token.
        let of = |scam: bool| {
            contracts.iter().filter(move |row| {
                (row.label == "scam") == scam && (!scam || row.confidence != "low")
            })
        };
        for (scam, group) in [(true, CodeOrigin::Scam), (false, CodeOrigin::Token)] {
            for row in of(scam) {
                let signature = index.add(Address([0; 20]), group, &row.runtime);
                examples.extend(
                    signature.and_then(|signature| Example::new(group, &row.runtime, signature)),
                );
                known.push((group, grams(&row.runtime), row.runtime.clone()));
            }
        }
        let tokens: Vec<Grams> = known
            .iter()
            .filter(|(group, ..)| *group == CodeOrigin::Token)
            .map(|(_, grams, _)| grams.clone())
            .collect();
        let tail = resemblance::tail(alike(&index, &tokens));
        let classifier = BigramClassifier::learn(&examples, &|| Ok(())).expect("nobody gives up");
        Self {
            index,
            known,
            tail,
            classifier,
        }
    }

    fn strength(&self, code: &[u8]) -> (f64, f64) {
        let own = grams(code);
        let nearest = |group: CodeOrigin, place: usize| {
            let others = self.known.iter().filter(|(of, ..)| *of == group);
            let mut alike: Vec<(f64, Vec<u8>)> = others
                .map(|(_, grams, code)| (self.index.similarity(&own, grams), code.clone()))
                .collect();
            alike.sort_by(|a, b| b.0.total_cmp(&a.0));
            alike.into_iter().nth(place).unwrap_or_default()
        };
        let (scam, common) = (
            nearest(CodeOrigin::Scam, 0),
            nearest(CodeOrigin::Token, resemblance::TEMPLATE_TOKENS - 1),
        );
        let floor = self.tail.max(common.0);
        let likeness = if scam.0 > floor {
            let [own, theirs] = [code, &*scam.1].map(|code| traits(code, &|| false));
            resemblance::likeness(scam.0, floor, &own, &theirs).0
        } else {
            0.0
        };
        let classified = self
            .classifier
            .as_ref()
            .and_then(|classifier| classifier.classify(code))
            .map_or(0.0, |classified| classified.strength);
        (likeness, classified)
    }
}
