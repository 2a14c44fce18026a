//! Scorer of the labelled charts. An answer matches an annotation if their spans have an IoU of at least 0.4 and the names agree: equal, an
//! alternative of the chartist, or related. Answers match greedily by falling confidence; an annotation is matched once.

use std::{collections::BTreeMap, fmt};

use super::data::{Mark, Window};
use analysis::patterns::{PatternsAnswer, market::overlap};

/// A detected pattern.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) name: &'static str,
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) confidence: f64,
}

/// Converts the program's answer for the scorer.
pub(crate) fn said(answer: &PatternsAnswer) -> Vec<Said> {
    let said = answer.patterns.iter().map(|pattern| Said {
        name: pattern.name.word(),
        start: pattern.start_index as u32,
        end: pattern.end_index as u32,
        confidence: pattern.confidence,
    });
    said.collect()
}

/// Groups of related names, which chartists use for the same figure.
const KIN: &[&[&str]] = &[
    &["rising_wedge", "ascending_channel"],
    &["falling_wedge", "descending_channel"],
    &["rectangle", "triple_top", "triple_bottom"],
    &["double_bottom", "rounding_bottom", "cup_and_handle"],
    &["double_top", "rounding_top", "inverse_cup_and_handle"],
    &[
        "symmetrical_triangle",
        "ascending_triangle",
        "descending_triangle",
    ],
    &["bull_flag", "bull_pennant"],
    &["bear_flag", "bear_pennant"],
    &["broadening_top", "broadening_bottom"],
];

/// Agreement of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Likeness {
    Other,
    Kin,
    Same,
}

pub(crate) fn likeness(name: &str, mark: &Mark) -> Likeness {
    let named = |names: &[&str]| {
        mark.names
            .iter()
            .any(|known| names.contains(&known.as_str()))
    };
    if named(&[name]) {
        Likeness::Same
    } else if KIN.iter().any(|kin| kin.contains(&name) && named(kin)) {
        Likeness::Kin
    } else {
        Likeness::Other
    }
}

/// Returns the matched annotation of each answer.
fn claim(
    said: &[Said],
    marks: &[Mark],
    least_likeness: Likeness,
    least: f64,
) -> Vec<Option<usize>> {
    let mut order: Vec<usize> = (0..said.len()).collect();
    order.sort_by(|a, b| said[*b].confidence.total_cmp(&said[*a].confidence));
    let mut free = vec![true; marks.len()];
    let mut claimed = vec![None; said.len()];
    for n in order {
        let near = (0..marks.len())
            .filter(|m| free[*m] && likeness(said[n].name, &marks[*m]) >= least_likeness);
        let shared = near.map(|m| {
            (
                overlap((said[n].start, said[n].end), (marks[m].start, marks[m].end)),
                m,
            )
        });
        if let Some((shared, m)) = shared.max_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
            && shared >= least
        {
            claimed[n] = Some(m);
            free[m] = false;
        }
    }
    claimed
}

/// Pairs of annotations, one of each chartist, that agree.
fn agreed(window: &Window) -> Vec<(usize, usize)> {
    // Annotations with alternative names also match on those, unlike answers.
    let mut free = vec![true; window.marks[1].len()];
    let mut twins = Vec::new();
    for (n, mine) in window.marks[0].iter().enumerate() {
        let agrees = |theirs: &Mark| {
            mine.names
                .iter()
                .any(|name| likeness(name, theirs) > Likeness::Other)
        };
        let near = (0..free.len()).filter(|m| free[*m] && agrees(&window.marks[1][*m]));
        let shared = near.map(|m| {
            (
                overlap(
                    (mine.start, mine.end),
                    (window.marks[1][m].start, window.marks[1][m].end),
                ),
                m,
            )
        });
        if let Some((shared, m)) = shared.max_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
            && shared >= 0.4
        {
            twins.push((n, m));
            free[m] = false;
        }
    }
    twins
}

/// Each answer's confidence, and whether either chartist draws it.
pub(crate) fn judged(windows: &[Window], said: &[Vec<Said>]) -> Vec<(f64, bool)> {
    let of = |(window, said): (&Window, &Vec<Said>)| {
        let any = drawn_by_any(window, &agreed(window));
        said.iter()
            .zip(claim(said, &any, Likeness::Kin, 0.4))
            .map(|(said, claimed)| (said.confidence, claimed.is_some()))
            .collect::<Vec<_>>()
    };
    windows.iter().zip(said).flat_map(of).collect()
}

/// The annotations of either chartist, those of both once.
fn drawn_by_any(window: &Window, both: &[(usize, usize)]) -> Vec<Mark> {
    let lone = |who: usize, k: usize| !both.iter().any(|pair| [pair.0, pair.1][who] == k);
    let mut any: Vec<Mark> = both
        .iter()
        .map(|(a, _)| window.marks[0][*a].clone())
        .collect();
    for who in 0..2 {
        any.extend(
            window.marks[who]
                .iter()
                .enumerate()
                .filter(|(k, _)| lone(who, *k))
                .map(|(_, mark)| mark.clone()),
        );
    }
    any
}

/// Metrics of a detector.
#[derive(Debug, Clone, Default)]
pub(crate) struct Score {
    pub(crate) answers: usize,
    pub(crate) candles: usize,
    pub(crate) precision: f64,
    pub(crate) recall: f64,
    pub(crate) f1: f64,
    pub(crate) strict_f1: f64,
    pub(crate) exact_f1: f64,
    pub(crate) clear: f64,
    pub(crate) accepted: f64,
    pub(crate) calibration: f64,
    pub(crate) auc: f64,
    /// By name: annotated by both, detected among these, answered, accepted.
    names: BTreeMap<String, [usize; 4]>,
}

/// Precision, recall and F1, per chartist and averaged.
fn against(windows: &[Window], said: &[Vec<Said>], likeness: Likeness, least: f64) -> [f64; 3] {
    let mut mean = [0.0; 3];
    for who in 0..2 {
        let (mut answers, mut hits, mut marks) = (0.0, 0.0, 0.0);
        for (window, said) in windows.iter().zip(said) {
            answers += said.len() as f64;
            marks += window.marks[who].len() as f64;
            hits += claim(said, &window.marks[who], likeness, least)
                .iter()
                .flatten()
                .count() as f64;
        }
        let (precision, recall) = (hits / f64::max(answers, 1.0), hits / f64::max(marks, 1.0));
        let f1 = if hits > 0.0 {
            2.0 * precision * recall / (precision + recall)
        } else {
            0.0
        };
        for (mean, figure) in mean.iter_mut().zip([precision, recall, f1]) {
            *mean += figure / 2.0;
        }
    }
    mean
}

pub(crate) fn score(windows: &[Window], said: &[Vec<Said>]) -> Score {
    let mut score = Score {
        candles: windows
            .iter()
            .map(|window| window.candles.close.len())
            .sum(),
        ..Score::default()
    };
    let (mut clear, mut found) = (0.0, 0.0);
    let mut judged: Vec<(f64, bool)> = Vec::new();
    for (window, said) in windows.iter().zip(said) {
        let both = agreed(window);
        let merged = |(a, b): &(usize, usize)| {
            let (mut mark, twin) = (window.marks[0][*a].clone(), &window.marks[1][*b]);
            mark.names.extend(twin.names.clone());
            mark.clear |= twin.clear;
            mark
        };
        let strong: Vec<Mark> = both.iter().map(merged).collect();
        let hits = claim(said, &strong, Likeness::Kin, 0.4);
        for (n, mark) in strong.iter().enumerate() {
            let hit = hits.contains(&Some(n));
            let count = score.names.entry(mark.names[0].clone()).or_default();
            count[0] += 1;
            count[1] += usize::from(hit);
            clear += f64::from(u8::from(mark.clear));
            found += f64::from(u8::from(mark.clear && hit));
        }
        let any = drawn_by_any(window, &both);
        for (said, claimed) in said.iter().zip(claim(said, &any, Likeness::Kin, 0.4)) {
            judged.push((said.confidence, claimed.is_some()));
            let count = score.names.entry(said.name.to_owned()).or_default();
            count[2] += 1;
            count[3] += usize::from(claimed.is_some());
        }
    }
    score.answers = judged.len();
    [score.precision, score.recall, score.f1] = against(windows, said, Likeness::Kin, 0.4);
    score.exact_f1 = against(windows, said, Likeness::Same, 0.4)[2];
    score.strict_f1 = against(windows, said, Likeness::Kin, 0.7)[2];
    score.clear = found / f64::max(clear, 1.0);
    score.accepted = judged.iter().filter(|one| one.1).count() as f64 / judged.len().max(1) as f64;
    score.calibration = calibration(&judged);
    score.auc = auc(&judged);
    score
}

/// Expected calibration error: mean |confidence − fraction correct| over ten bins.
pub(crate) fn calibration(judged: &[(f64, bool)]) -> f64 {
    let mut bins = [(0.0, 0.0); 10];
    for (confidence, right) in judged {
        let bin = &mut bins[((confidence * 10.0) as usize).min(9)];
        bin.0 += confidence;
        bin.1 += f64::from(u8::from(*right));
    }
    bins.iter()
        .map(|(confident, right)| f64::abs(confident - right))
        .sum::<f64>()
        / judged.len().max(1) as f64
}

/// AUC: probability that a correct answer has a higher figure than a wrong one; ties count half.
pub(crate) fn auc(judged: &[(f64, bool)]) -> f64 {
    let mut ordered = judged.to_vec();
    ordered.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut above, mut wrong) = (0.0, 0.0);
    for tied in ordered.chunk_by(|a, b| a.0 == b.0) {
        let right = tied.iter().filter(|one| one.1).count() as f64;
        let others = tied.len() as f64 - right;
        above += right * (wrong + others / 2.0);
        wrong += others;
    }
    above / f64::max((judged.len() as f64 - wrong) * wrong, 1.0)
}

impl Score {
    /// Formats the metrics without those by name.
    pub(crate) fn figures(&self) -> String {
        let per_thousand = 1_000.0 * self.answers as f64 / self.candles.max(1) as f64;
        let rows = [
            ("F1", self.f1),
            ("precision", self.precision),
            ("recall", self.recall),
            ("F1 at overlap 0.7", self.strict_f1),
            ("exact F1", self.exact_f1),
            ("recall of clear marks", self.clear),
            ("accepted by either chartist", self.accepted),
            ("calibration of confidence", self.calibration),
            ("AUC of confidence", self.auc),
            ("answers per 1,000 candles", per_thousand),
        ];
        rows.iter().fold(String::new(), |text, (what, figure)| {
            format!("{text}{what:<32} {figure:.3}\n")
        })
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<30} marked by both   found    said  accepted",
            "pattern"
        )?;
        for (name, [both, found, said, accepted]) in &self.names {
            writeln!(
                f,
                "{name:<30} {both:>14} {found:>7} {said:>7} {accepted:>9}"
            )?;
        }
        writeln!(f, "\n{}", self.figures())
    }
}
