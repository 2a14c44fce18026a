//! Resemblance checks: known scams by address and by bytecode, listed tokens by name. The comparison itself is in `corpus`.

use super::{
    Anomaly, AnomalyCode, EvidenceRow, ListedSimilarity, SimilarScam,
    check_log::{CheckLog, NeededInput},
    corpus::{Corpus, contract_code, scam_code},
    facts::{Facts, scam_report},
    similarity::{CodeOrigin, Near},
    transactions::percent,
};
use analysis::numeric::to_four_places;
use model::address::Address;

/// Minimum similarity of similar bytecode.
const SIMILAR_MIN: f64 = 0.6;
const SIMILAR_SPAN: f64 = 0.4;
const SIMILAR_MAX: usize = 10;
/// Strength of a scam label that other labels contradict: shown, but not decisive.
const CONTRADICTED: f64 = 0.1;

/// Results of executing a contract, for comparison.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CodeTraits {
    pub codes: Vec<AnomalyCode>,
    pub selectors: Vec<[u8; 4]>,
}

#[derive(Debug, Default)]
pub struct Resemblance {
    /// How alike any two listed tokens are.
    pub alike: Option<ListedSimilarity>,
    pub anomalies: Vec<Anomaly>,
    pub similar: Vec<SimilarScam>,
}

/// Runs the resemblance checks. `traits_of` executes the code of a known scam.
pub fn examine(
    facts: &Facts<'_>,
    corpus: &Corpus,
    code: Option<&[u8]>,
    own: &CodeTraits,
    traits_of: &dyn Fn(&Address, &[u8]) -> CodeTraits,
    log: &mut CheckLog,
) -> Resemblance {
    let mut found = Resemblance { alike: corpus.alike, ..Resemblance::default() };
    found.anomalies.extend(known(facts, log));
    found.anomalies.extend(impersonates(facts, corpus, log));
    let Some(code) = code else {
        return found;
    };
    if corpus.codes.count(CodeOrigin::Scam) == 0 {
        log.note(NeededInput::Scams, &[AnomalyCode::SimilarToScam]);
        return found;
    }
    let scams = corpus.codes.nearest(&facts.address, code, CodeOrigin::Scam, |address| scam_code(facts.dataset, address));
    log.saw(AnomalyCode::SimilarToScam, nearest_text(corpus.codes.count(CodeOrigin::Scam), scams.first(), corpus.alike));
    if scams.first().is_some_and(|near| near.similarity >= SIMILAR_MIN) {
        log.remark(AnomalyCode::SimilarToScam);
    }
    let near: Vec<Near> = scams.into_iter().filter(|near| near.similarity >= SIMILAR_MIN).take(SIMILAR_MAX).collect();
    let mixed = mixed(corpus, code);
    if !facts.listed() && (!near.is_empty() || mixed.is_some()) {
        let templates = corpus.codes.nearest(&facts.address, code, CodeOrigin::Template, |address| contract_code(facts.dataset, address));
        let similar = near.first().map(|nearest| similar(facts, nearest, templates.first()));
        // A template that is at least as similar explains the shared parts.
        let nearest = near.first().map_or(SIMILAR_MIN, |near| near.similarity);
        let template = templates.first().is_some_and(|template| template.similarity >= nearest);
        let mixed = mixed.filter(|_| !template);
        let strength = |anomaly: &Option<Anomaly>| anomaly.as_ref().map_or(0.0, |anomaly| anomaly.strength);
        found.anomalies.extend(if strength(&mixed) > strength(&similar) { mixed } else { similar });
    }
    found.similar = near.iter().map(|near| element(facts, near, own, traits_of)).collect();
    found
}

fn known(facts: &Facts<'_>, log: &mut CheckLog) -> Option<Anomaly> {
    let code = AnomalyCode::KnownScam;
    let labels = facts.dataset.has("labels");
    if facts.dataset.scams().is_empty() && !labels {
        log.note(NeededInput::Known, &[code]);
        return None;
    }
    let report = scam_report(facts.dataset, &facts.address)?;
    let strength = if report.decisive { 1.0 } else { CONTRADICTED };
    let anomaly = Anomaly::new(code, strength, format!("the address is {}", report.how)).fatal(report.decisive);
    Some(anomaly.rows("rows that name the address", report.rows))
}

fn impersonates(facts: &Facts<'_>, corpus: &Corpus, log: &mut CheckLog) -> Option<Anomaly> {
    let code = AnomalyCode::Impersonates;
    if !corpus.has_listed() {
        log.note(NeededInput::Listed, &[code]);
        return None;
    }
    if facts.listed() {
        log.saw(code, "it is on the curated list itself (tokens)");
        return None;
    }
    let (by_symbol, by_name) = corpus.namesakes(facts.dataset, facts.token);
    // Symbols are short and coincide by chance; whole names hardly do.
    let (strength, what, whose) = match (by_symbol.first(), by_name.first()) {
        (Some(_), Some(whose)) => (1.0, "name and symbol", whose),
        (None, Some(whose)) => (0.8, "name", whose),
        (Some(whose), None) => (0.5, "symbol", whose),
        (None, None) => return None,
    };
    let title = facts.dataset.token(whose).and_then(|token| token.row.symbol.clone()).unwrap_or_default();
    let sentence = format!("it bears the {what} of the listed {title} at {} (tokens)", whose.short());
    let rows = vec![EvidenceRow::of("tokens", *whose)];
    Some(Anomaly::new(code, strength, sentence).rows(format!("listed token of the same {what}"), rows))
}

fn nearest_text(count: usize, nearest: Option<&Near>, alike: Option<ListedSimilarity>) -> String {
    let listed = alike.map_or_else(String::new, |alike| {
        format!("; two listed tokens are {} alike at the median, {} at most", percent(alike.median), percent(alike.highest))
    });
    match nearest {
        Some(near) => format!("of {count} known scams' codes the nearest is {} alike{listed} (scams)", percent(near.similarity)),
        None => format!("none of {count} known scams' codes comes near (scams)"),
    }
}

/// Finding of the opcode-bigram classifier, which needs no similar scam.
fn mixed(corpus: &Corpus, code: &[u8]) -> Option<Anomaly> {
    let classifier = corpus.classifier.as_ref()?;
    let judged = classifier.judge(code).filter(|judged| judged.strength > 0.0)?;
    let (scams, listed) = classifier.learned_from();
    let sentence = format!(
        "its instructions are mixed as in the {scams} known scams: {} of the {listed} listed tokens come as near to them (scams, contracts)",
        if judged.share_of_listed_above > 0.0 { percent(judged.share_of_listed_above) } else { "none".to_owned() },
    );
    let anomaly = Anomaly::new(AnomalyCode::SimilarToScam, judged.strength, sentence)
        .figure("listedAsBad", judged.share_of_listed_above)
        .figure("toldApart", classifier.auc())
        .rows(format!("pairs of instructions that say most: {}", judged.pairs.join(", ")), Vec::new());
    Some(anomaly)
}

/// Finding for the most similar scam.
fn similar(facts: &Facts<'_>, scam: &Near, template: Option<&Near>) -> Anomaly {
    let benign = template.map_or(0.0, |near| near.similarity);
    let strength = (scam.similarity - benign.max(SIMILAR_MIN)).max(0.0) / SIMILAR_SPAN;
    let name = facts.dataset.scams().first(&scam.address).and_then(|row| row.name).unwrap_or_else(|| scam.address.short());
    let listed =
        |near: &Near| facts.dataset.token(&near.address).and_then(|token| token.row.symbol.clone()).unwrap_or_else(|| near.address.short());
    let sentence = match template.filter(|_| benign >= scam.similarity) {
        Some(template) => {
            format!(
                "shares a template with the listed {} ({}), and so with the scam {name}: this adds nothing",
                listed(template),
                percent(benign)
            )
        }
        None => format!("its code is {} that of the scam {name} (scams)", percent(scam.similarity)),
    };
    let row = EvidenceRow { share: Some(scam.similarity), ..EvidenceRow::of("scams", scam.address) };
    Anomaly::new(AnomalyCode::SimilarToScam, strength, sentence)
        .figure("similarity", scam.similarity)
        .figure("templateSimilarity", benign)
        .rows("the nearest known scam", vec![row])
}

fn element(facts: &Facts<'_>, near: &Near, own: &CodeTraits, traits_of: &dyn Fn(&Address, &[u8]) -> CodeTraits) -> SimilarScam {
    let row = facts.dataset.scams().first(&near.address);
    // Identical code has identical traits and need not be executed again.
    let theirs = match scam_code(facts.dataset, &near.address) {
        Some(code) if near.similarity < 1.0 => traits_of(&near.address, &code),
        _ => own.clone(),
    };
    let mut shared: Vec<AnomalyCode> = own.codes.iter().copied().filter(|code| theirs.codes.contains(code)).collect();
    shared.sort_unstable();
    shared.dedup();
    let theirs_creator = facts.dataset.contracts().first(&near.address).and_then(|contract| contract.creator);
    let (name, scam_type, source) = row.map_or((None, None, None), |row| (row.name, row.scam_type, row.source));
    SimilarScam {
        address: near.address,
        name,
        scam_type,
        similarity: to_four_places(near.similarity),
        shared_traits: shared,
        shared_selectors: own.selectors.iter().filter(|selector| theirs.selectors.contains(selector)).count() as u64,
        same_creator: theirs_creator.is_some() && theirs_creator == facts.creator,
        source,
    }
}
