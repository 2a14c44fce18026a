//! Writes the fitted coefficients and trees as the program's files of them.

use std::{fs, path::PathBuf};

use analysis::patterns::{
    PatternName,
    market::{Calibration, CandidateKind, KNOTS, Model, Trees},
};

const FOLDER: &str = "crates/analysis/src/patterns/market";

pub(super) fn model(model: &Model) {
    let mut text =
        "stage,kind,measure,knot1,knot2,knot3,knot4,knot5,add1,add2,add3,add4,add5\n".to_owned();
    for (stage, models) in [("sieve", &model.sieve), ("own", &model.own)] {
        for (kind, model) in CandidateKind::ALL.iter().zip(models) {
            let list = |numbers: &[f64; KNOTS]| numbers.map(short).join(",");
            text += &format!(
                "{stage},{},intercept,{}\n",
                kind.word(),
                short(model.intercept())
            );
            let mut curves = model.curves().to_vec();
            curves.sort_by_key(|curve| curve.measure);
            for curve in curves {
                text += &format!(
                    "{stage},{},{},{},{}\n",
                    kind.word(),
                    curve.measure,
                    list(&curve.knots),
                    list(&curve.adds)
                );
            }
        }
    }
    let Calibration {
        intercept,
        slope,
        offsets,
    } = model.calibration;
    text += &format!(
        "confidence,all,intercept,{}\nconfidence,all,logit,{}\n",
        short(intercept),
        short(slope)
    );
    for (name, offset) in PatternName::ALL.iter().zip(offsets) {
        if offset != 0.0 {
            text += &format!("confidence,{},offset,{}\n", name.word(), short(offset));
        }
    }
    write("coefficients.csv", &text);
    write("trees.csv", &trees(&model.trees));
}

fn trees(trees: &Trees) -> String {
    let mut text = format!(
        "tree,measure,threshold,right,adds\n,,,,{}\n",
        short(trees.base())
    );
    for (tree, nodes) in trees.nodes().iter().enumerate() {
        for node in nodes {
            let split = node.split.map_or_else(
                || ",,".to_owned(),
                |split| {
                    format!(
                        "{},{},{}",
                        split.measure,
                        short(split.threshold),
                        split.right
                    )
                },
            );
            text += &format!("{tree},{split},{}\n", short(node.adds));
        }
    }
    text
}

fn write(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join(FOLDER)
        .join(name);
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
