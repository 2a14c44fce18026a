//! Writes the fitted coefficients as the program's file of them.

use std::{fs, path::PathBuf};

use analysis::patterns::market::{CandidateKind, KNOTS, Model};

pub(super) fn model(model: &Model) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("crates/analysis/src/patterns/market/coefficients.csv");
    let mut text = "stage,kind,measure,knot1,knot2,knot3,knot4,knot5,add1,add2,add3,add4,add5\n".to_owned();
    for (stage, models) in [("sieve", &model.sieve), ("own", &model.own), ("context", &model.context)] {
        for (kind, model) in CandidateKind::ALL.iter().zip(models) {
            let list = |numbers: &[f64; KNOTS]| numbers.map(short).join(",");
            text += &format!("{stage},{},intercept,{}\n", kind.word(), short(model.intercept()));
            let mut curves = model.curves().to_vec();
            curves.sort_by_key(|curve| curve.measure);
            for curve in curves {
                text += &format!("{stage},{},{},{},{}\n", kind.word(), curve.measure, list(&curve.knots), list(&curve.adds));
            }
        }
    }
    match fs::write(&path, text) {
        Ok(()) => println!("wrote {}", path.display()),
        Err(error) => println!("could not write {}: {error}", path.display()),
    }
}

/// Formats with four significant digits.
fn short(number: f64) -> String {
    if number == 0.0 {
        return "0.0".to_owned();
    }
    let digits = (3 - number.abs().log10().floor() as i32).clamp(0, 8) as usize;
    let text = format!("{number:.digits$}");
    format!("{:?}", text.parse::<f64>().unwrap_or(number))
}
