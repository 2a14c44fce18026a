//! Similarity checks: known scams by address and by bytecode, larger tokens by name. The comparison itself is in `corpus`.

use super::{
    Anomaly, AnomalyCode, EvidenceRow, SimilarScam, TokenSimilarity,
    check_log::{CheckLog, NeededInput},
    corpus::{Corpus, contract_code, scam_code},
    facts::{TokenContext, scam_report},
    own_pools::known_liquidity,
    similarity::{CodeOrigin, Near},
    transactions::percent,
};
use analysis::numeric::to_four_places;
use model::address::Address;

/// Minimum similarity of similar bytecode: with enough pairs of tokens to determine what is common, and without.
const SIMILAR_MIN: f64 = 0.6;
const SIMILAR_MIN_FEW: f64 = 0.9;
const PAIRS_MIN: u64 = 100;
const SIMILAR_MAX: usize = 10;
/// Weight of a fault that makes a scam what it is.
const FAULT_MIN: f64 = 0.2;
/// Number of other tokens that must be as similar as a scam for the code to be a template. One may be another copy of it.
pub const TEMPLATE_TOKENS: usize = 3;
/// Minimum ratio of liquidity at which the smaller of two tokens with one name counts as an imitation; and the liquidity in USD assumed for a
/// token whose liquidity is unknown.
const LARGER: f64 = 20.0;
const LIQUIDITY_UNKNOWN: f64 = 5_000.0;
/// Strength of a scam label that other labels contradict: shown, but not decisive.
const CONTRADICTED: f64 = 0.1;

/// Results of executing a contract, for comparison.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CodeTraits {
    pub codes: Vec<AnomalyCode>,
    pub selectors: Vec<[u8; 4]>,
    /// Whether the execution would have shown every fault.
    pub conclusive: bool,
}

impl CodeTraits {
    /// The heaviest finding of executing the code; `None` if nothing has enough weight.
    fn fault(&self) -> Option<AnomalyCode> {
        let heavy = self
            .codes
            .iter()
            .copied()
            .filter(|code| code.weight() >= FAULT_MIN);
        heavy.max_by(|a, b| a.weight().total_cmp(&b.weight()).then(b.cmp(a)))
    }
}

#[derive(Debug, Default)]
pub struct Resemblance {
    /// How similar the tokens are to each other.
    pub alike: Option<TokenSimilarity>,
    pub anomalies: Vec<Anomaly>,
    pub similar: Vec<SimilarScam>,
}

/// Runs the similarity checks. `traits_of` executes the code of a known scam.
pub fn examine(
    facts: &TokenContext<'_>,
    corpus: &Corpus,
    code: Option<&[u8]>,
    own: &CodeTraits,
    traits_of: &dyn Fn(&Address, &[u8]) -> CodeTraits,
    log: &mut CheckLog,
) -> Resemblance {
    let mut found = Resemblance {
        alike: corpus.alike,
        ..Resemblance::default()
    };
    found.anomalies.extend(known(facts, log));
    found.anomalies.extend(impersonates(facts, corpus, log));
    let Some(code) = code else {
        return found;
    };
    if corpus.codes.count(CodeOrigin::Scam) == 0 {
        log.note(NeededInput::Scams, &[AnomalyCode::SimilarToScam]);
        return found;
    }
    let scams = corpus
        .codes
        .nearest(&facts.address, code, CodeOrigin::Scam, |address| {
            scam_code(facts.dataset, address)
        });
    log.saw(
        AnomalyCode::SimilarToScam,
        nearest_text(
            corpus.codes.count(CodeOrigin::Scam),
            scams.first(),
            corpus.alike,
        ),
    );
    let mut floor = tail(corpus.alike);
    if scams.first().is_some_and(|near| near.similarity > floor) {
        // Code that several tokens share is a template, whoever else used it.
        let tokens = corpus
            .codes
            .nearest(&facts.address, code, CodeOrigin::Token, |address| {
                contract_code(facts.dataset, address)
            });
        floor = floor.max(
            tokens
                .get(TEMPLATE_TOKENS - 1)
                .map_or(0.0, |near| near.similarity),
        );
    }
    let near: Vec<Near> = scams
        .into_iter()
        .filter(|near| near.similarity > floor)
        .take(SIMILAR_MAX)
        .collect();
    if !near.is_empty() {
        log.remark(AnomalyCode::SimilarToScam);
    }
    let similar = near
        .first()
        .map(|nearest| similar(facts, nearest, floor, own, traits_of));
    let strength =
        |anomaly: &Option<Anomaly>| anomaly.as_ref().map_or(0.0, |anomaly| anomaly.strength);
    let mixed = mixed(corpus, code);
    found
        .anomalies
        .extend(if strength(&mixed) > strength(&similar) {
            mixed
        } else {
            similar
        });
    found.similar = near
        .iter()
        .map(|near| element(facts, near, own, traits_of))
        .collect();
    found
}

/// The similarity that a scam's code must exceed.
pub fn tail(alike: Option<TokenSimilarity>) -> f64 {
    let least = if alike.is_some_and(|alike| alike.pairs >= PAIRS_MIN) {
        SIMILAR_MIN
    } else {
        SIMILAR_MIN_FEW
    };
    alike.map_or(least, |alike| alike.tail.max(least))
}

/// Strength of the similarity `scam` to a scam, where similarity up to `floor` is common; and the scam's fault that the token lacks: then the
/// token is the honest twin, and the similarity does not count.
pub fn likeness(
    scam: f64,
    floor: f64,
    own: &CodeTraits,
    theirs: &CodeTraits,
) -> (f64, Option<AnomalyCode>) {
    let lacks = theirs
        .fault()
        .filter(|fault| own.conclusive && scam < 1.0 && !own.codes.contains(fault));
    let strength = (scam - floor).max(0.0) / (1.0 - floor);
    (if lacks.is_some() { 0.0 } else { strength }, lacks)
}

fn known(facts: &TokenContext<'_>, log: &mut CheckLog) -> Option<Anomaly> {
    let code = AnomalyCode::KnownScam;
    let labels = facts.dataset.has("labels");
    if facts.dataset.scams().is_empty() && !labels {
        log.note(NeededInput::Known, &[code]);
        return None;
    }
    let report = scam_report(facts.dataset, &facts.address)?;
    let strength = if report.decisive { 1.0 } else { CONTRADICTED };
    let anomaly = Anomaly::new(code, strength, format!("the address is {}", report.how))
        .fatal(report.decisive);
    Some(anomaly.rows("rows about the address", report.rows))
}

/// Of two tokens with one name or symbol, people mean the one with far more liquidity, whichever is on a list.
fn impersonates(facts: &TokenContext<'_>, corpus: &Corpus, log: &mut CheckLog) -> Option<Anomaly> {
    let code = AnomalyCode::Impersonates;
    let liquidity = |token: &Address| known_liquidity(facts.dataset, token);
    let (by_symbol, by_name) = corpus.namesakes(facts.dataset, facts.token);
    let own = liquidity(&facts.address);
    if by_symbol.iter().chain(&by_name).next().is_none() {
        log.saw(
            code,
            "no other token on its chain has its symbol or name (tokens)",
        );
        return None;
    }
    if own.is_none()
        && by_symbol
            .iter()
            .chain(&by_name)
            .all(|other| liquidity(other).is_none())
    {
        log.note(NeededInput::Liquidity, &[code]);
        return None;
    }
    let least = LARGER * own.unwrap_or(LIQUIDITY_UNKNOWN);
    let larger = |others: &[Address]| {
        let of = others
            .iter()
            .filter_map(|other| Some((*other, liquidity(other)?)))
            .filter(|(_, usd)| *usd >= least);
        of.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
    };
    // Symbols are short and coincide by chance; whole names hardly do.
    let (strength, what, (whose, usd)) = match (larger(&by_symbol), larger(&by_name)) {
        (Some(_), Some(whose)) => (1.0, "name and symbol", whose),
        (None, Some(whose)) => (0.8, "name", whose),
        (Some(whose), None) => (0.5, "symbol", whose),
        (None, None) => return None,
    };
    let title = facts
        .dataset
        .token(&whose)
        .and_then(|token| token.row.symbol.clone())
        .unwrap_or_default();
    let at = whose.short();
    let sentence = match own {
        Some(own) => {
            format!(
                "the token uses the {what} of {title} at {at}, which has {:.0} times its liquidity (tokens, pools)",
                usd / own
            )
        }
        None => format!(
            "the token uses the {what} of {title} at {at} and has no known liquidity of its own (tokens, pools)"
        ),
    };
    let rows = vec![EvidenceRow::of("tokens", whose)];
    Some(
        Anomaly::new(code, strength, sentence)
            .rows(format!("larger token with the same {what}"), rows),
    )
}

fn nearest_text(count: usize, nearest: Option<&Near>, alike: Option<TokenSimilarity>) -> String {
    let tokens = alike.map_or_else(String::new, |alike| {
        format!(
            "; the median pair of tokens is {} similar, and 99% of pairs are at most {} similar",
            percent(alike.median),
            percent(alike.tail)
        )
    });
    match nearest {
        Some(near) => format!(
            "the closest of {count} known scams is {} similar{tokens} (scams)",
            percent(near.similarity)
        ),
        None => format!("not similar to any of {count} known scams (scams)"),
    }
}

/// Finding of the opcode-bigram classifier, which needs no similar scam.
fn mixed(corpus: &Corpus, code: &[u8]) -> Option<Anomaly> {
    let classifier = corpus.classifier.as_ref()?;
    let classified = classifier
        .classify(code)
        .filter(|classified| classified.strength > 0.0)?;
    let (scams, tokens) = classifier.learned_from();
    let sentence = format!(
        "its opcode mix resembles that of {scams} known scams, and at most {} of the {tokens} other tokens match them as closely (scams, \
            contracts)",
        percent(classified.share_above),
    );
    let anomaly = Anomaly::new(AnomalyCode::SimilarToScam, classified.strength, sentence)
        .figure("tokensAsBad", classified.share_above)
        .figure("toldApart", classifier.auc())
        .rows(
            format!(
                "most telling instruction pairs: {}",
                classified.pairs.join(", ")
            ),
            Vec::new(),
        );
    Some(anomaly)
}

/// Finding for the most similar scam.
fn similar(
    facts: &TokenContext<'_>,
    scam: &Near,
    floor: f64,
    own: &CodeTraits,
    traits_of: &dyn Fn(&Address, &[u8]) -> CodeTraits,
) -> Anomaly {
    let theirs = scam_code(facts.dataset, &scam.address)
        .map_or_else(CodeTraits::default, |code| traits_of(&scam.address, &code));
    let (strength, lacks) = likeness(scam.similarity, floor, own, &theirs);
    let name = facts
        .dataset
        .scams()
        .first(&scam.address)
        .and_then(|row| row.name)
        .unwrap_or_else(|| scam.address.short());
    let alike = percent(scam.similarity);
    let sentence = match lacks {
        Some(fault) => {
            format!(
                "its code is {alike} similar to the scam {name} but lacks the scam's malicious feature ({}), so the similarity does not \
                    affect the score (scams)",
                fault.title()
            )
        }
        None => format!("its code is {alike} similar to the scam {name} (scams)"),
    };
    let row = EvidenceRow {
        share: Some(scam.similarity),
        ..EvidenceRow::of("scams", scam.address)
    };
    Anomaly::new(AnomalyCode::SimilarToScam, strength, sentence)
        .figure("similarity", scam.similarity)
        .figure("commonSimilarity", floor)
        .rows("the most similar known scam", vec![row])
}

fn element(
    facts: &TokenContext<'_>,
    near: &Near,
    own: &CodeTraits,
    traits_of: &dyn Fn(&Address, &[u8]) -> CodeTraits,
) -> SimilarScam {
    let row = facts.dataset.scams().first(&near.address);
    // Identical code has identical traits and need not be executed again.
    let theirs = match scam_code(facts.dataset, &near.address) {
        Some(code) if near.similarity < 1.0 => traits_of(&near.address, &code),
        _ => own.clone(),
    };
    let mut shared: Vec<AnomalyCode> = own
        .codes
        .iter()
        .copied()
        .filter(|code| theirs.codes.contains(code))
        .collect();
    shared.sort_unstable();
    shared.dedup();
    let theirs_creator = facts
        .dataset
        .contracts()
        .first(&near.address)
        .and_then(|contract| contract.creator);
    let (name, scam_type, source) = row.map_or((None, None, None), |row| {
        (row.name, row.scam_type, row.source)
    });
    SimilarScam {
        address: near.address,
        name,
        scam_type,
        similarity: to_four_places(near.similarity),
        shared_traits: shared,
        shared_selectors: own
            .selectors
            .iter()
            .filter(|selector| theirs.selectors.contains(selector))
            .count() as u64,
        same_creator: theirs_creator.is_some() && theirs_creator == facts.creator,
        source,
    }
}
