//! From the log odds of the trees to a confidence (Platt 1999): logistic regression of whether a chartist draws an answer on its log odds and
//! its name. The offsets of the names are shrunk by a ridge penalty (Hoerl & Kennard 1970), so that a name with few answers keeps the pooled
//! curve.

use analysis::{
    numeric::sigmoid,
    patterns::{PatternName, market::Calibration},
};

use super::fit::solved;

const STEPS: usize = 20;
/// Penalty on the offset of a name. An answer's variance is about 0.22, so 45 answers (10 / 0.22) give a name half of the offset that it would have
/// alone.
const NAME_RIDGE: f64 = 10.0;
const NAMES: usize = PatternName::ALL.len();
/// Intercept, slope, and the names' offsets.
const SIZE: usize = 2 + NAMES;

/// An answer of a model that was not calibrated and had not seen its window.
pub(super) struct Judged {
    pub(super) name: &'static str,
    pub(super) confidence: f64,
    /// Whether a chartist draws it.
    pub(super) right: bool,
    pub(super) weight: f64,
}

/// Newton's method.
pub(super) fn fit(answers: &[Judged]) -> Calibration {
    let row = |answer: &Judged| {
        let odds = answer.confidence.max(1e-6) / (1.0 - answer.confidence).max(1e-6);
        let name = PatternName::ALL
            .iter()
            .position(|name| name.word() == answer.name);
        let mut row = vec![(0, 1.0), (1, odds.ln())];
        row.extend(name.map(|name| (2 + name, 1.0)));
        row
    };
    let rows: Vec<Vec<(usize, f64)>> = answers.iter().map(row).collect();
    let mut found = [0.0; SIZE];
    found[1] = 1.0;
    for _ in 0..STEPS {
        let (mut slope, mut bend) = (vec![0.0; SIZE], vec![0.0; SIZE * SIZE]);
        for k in 0..SIZE {
            let ridge = if k < 2 { 1e-6 } else { NAME_RIDGE };
            bend[k * SIZE + k] = ridge;
            slope[k] = if k < 2 { 0.0 } else { -ridge * found[k] };
        }
        for (answer, row) in answers.iter().zip(&rows) {
            let chance = sigmoid(row.iter().map(|(k, part)| found[*k] * part).sum());
            let off = answer.weight * (f64::from(u8::from(answer.right)) - chance);
            let curve = answer.weight * chance * (1.0 - chance);
            for (n, (k, part)) in row.iter().enumerate() {
                slope[*k] += off * part;
                for (l, other) in &row[..=n] {
                    bend[k * SIZE + l] += curve * part * other;
                }
            }
        }
        let step = solved(&mut bend, slope);
        found
            .iter_mut()
            .zip(step)
            .for_each(|(found, part)| *found += part);
    }
    Calibration {
        intercept: found[0],
        slope: found[1],
        offsets: std::array::from_fn(|name| found[2 + name]),
    }
}
