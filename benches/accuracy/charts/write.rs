//! Writes the fitted coefficients as source files of the program.

use std::{fs, path::PathBuf};

use tokendeck::analysis::patterns::market::{CandidateKind, Judge, KNOTS, Model};

/// Candidate kinds by source file.
const FILES: [(&str, &[CandidateKind]); 3] = [
    (
        "reversals",
        &[CandidateKind::Double, CandidateKind::HeadAndShoulders, CandidateKind::Triple, CandidateKind::Rounding, CandidateKind::Cup],
    ),
    (
        "lines",
        &[
            CandidateKind::Rectangle,
            CandidateKind::Channel,
            CandidateKind::Wedge,
            CandidateKind::LevelTriangle,
            CandidateKind::SymmetricalTriangle,
            CandidateKind::Broadening,
        ],
    ),
    ("flags", &[CandidateKind::Flag, CandidateKind::Pennant]),
];

pub(super) fn model(model: &Model) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/analysis/patterns/market/coefficients");
    for (what, judges) in [("sieve", &model.sieve), ("own", &model.own), ("company", &model.company)] {
        for (family, kinds) in FILES {
            let path = folder.join(format!("{what}_{family}.rs"));
            let text = kinds.iter().fold(
                "//! Fitted, not written: `cargo bench --bench accuracy -- charts-fit` makes this file. What the measures add to the odds, by\n\
                 //! kind: the measure, the knots, what it adds at each.\n\nuse super::super::model::Curve;\n"
                    .to_owned(),
                |text, kind| text + &constant(*kind, &judges[*kind as usize]),
            );
            // `cargo fmt` wraps the lines.
            match fs::write(&path, text) {
                Ok(()) => println!("wrote {}", path.display()),
                Err(error) => println!("could not write {}: {error}", path.display()),
            }
        }
    }
}

fn constant(kind: CandidateKind, judge: &Judge) -> String {
    let name = format!("{kind:?}").chars().fold(String::new(), |name, letter| {
        let gap = if letter.is_uppercase() && !name.is_empty() { "_" } else { "" };
        format!("{name}{gap}{}", letter.to_ascii_uppercase())
    });
    let list = |numbers: &[f64; KNOTS]| numbers.map(short).join(", ");
    let mut curves = judge.curves().to_vec();
    curves.sort_by_key(|curve| curve.measure);
    let curves = curves.iter().fold(String::new(), |text, curve| {
        format!("{text}    Curve::new({}, [{}], [{}]),\n", curve.measure, list(&curve.knots), list(&curve.adds))
    });
    format!("\npub(in super::super) const {name}: (f64, &[Curve]) = ({}, &[\n{curves}]);\n", short(judge.base()))
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
