//! From the log odds of the trees to a confidence (Platt 1999): logistic regression of whether a chartist draws an answer on its log odds.

use analysis::{numeric::sigmoid, patterns::market::Calibration};

const STEPS: usize = 20;

/// Newton's method. `judged` are answers of models that were not calibrated, and whether they were right.
pub(super) fn fit(judged: &[(f64, bool)]) -> Calibration {
    let logit = |confidence: f64| (confidence.max(1e-6) / (1.0 - confidence).max(1e-6)).ln();
    let (mut intercept, mut slope) = (0.0, 1.0);
    for _ in 0..STEPS {
        let (mut a, mut b, mut aa, mut ab, mut bb) = (0.0, 0.0, 1e-6, 0.0, 1e-6);
        for (confidence, right) in judged {
            let x = logit(*confidence);
            let chance = sigmoid(intercept + slope * x);
            let (off, curve) = (
                f64::from(u8::from(*right)) - chance,
                chance * (1.0 - chance),
            );
            (a, b) = (a + off, b + off * x);
            (aa, ab, bb) = (aa + curve, ab + curve * x, bb + curve * x * x);
        }
        let determinant = aa * bb - ab * ab;
        intercept += (bb * a - ab * b) / determinant;
        slope += (aa * b - ab * a) / determinant;
    }
    Calibration { intercept, slope }
}
