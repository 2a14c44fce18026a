//! Coefficients of the first two stages by stage and kind: the intercept, and the addend of each measure to the log odds. They are data, in
//! `coefficients.csv`. `cargo bench --bench accuracy -- charts-fit` fits them to all chartists' marks and rewrites the file; none of the
//! numbers is written by hand.

use std::sync::LazyLock;

use super::{
    candidate::CandidateKind,
    model::{AdditiveModel, Calibration, Curve, KNOTS, Model},
    name::PatternName,
    overlap::SelectionParams,
    trees::Trees,
};

/// Stages in the order of a search.
pub(super) const STAGES: [&str; 2] = ["sieve", "own"];

const FILE: &str = include_str!("coefficients.csv");

/// The model that the program uses, read once.
pub(super) static BUILT_IN: LazyLock<Model> = LazyLock::new(|| {
    let [sieve, own] = models();
    Model {
        sieve,
        own,
        trees: Trees::built_in(),
        calibration: calibration(),
        selection: SelectionParams::default(),
    }
});

/// The models of each stage, in the order of the kinds.
fn models() -> [Vec<AdditiveModel>; 2] {
    let rows: Vec<Vec<&str>> = FILE
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect())
        .collect();
    STAGES.map(|stage| {
        CandidateKind::ALL
            .iter()
            .map(|kind| model(&rows, stage, kind.word()))
            .collect()
    })
}

/// The last rows: intercept and slope, and the offset of each name that has one.
fn calibration() -> Calibration {
    let of = |row: &str| {
        FILE.lines().find_map(|line| {
            line.strip_prefix("confidence,")?
                .strip_prefix(row)?
                .parse()
                .ok()
        })
    };
    let Calibration {
        intercept, slope, ..
    } = Calibration::NONE;
    Calibration {
        intercept: of("all,intercept,").unwrap_or(intercept),
        slope: of("all,logit,").unwrap_or(slope),
        offsets: PatternName::ALL
            .map(|name| of(&format!("{},offset,", name.word())).unwrap_or_default()),
    }
}

fn model(rows: &[Vec<&str>], stage: &str, kind: &str) -> AdditiveModel {
    let own = rows.iter().filter(|row| row[..2] == [stage, kind]);
    let intercept = own
        .clone()
        .find(|row| row[2] == "intercept")
        .and_then(|row| row[3].parse().ok());
    AdditiveModel::new(
        intercept.unwrap_or_default(),
        own.filter_map(|row| curve(row)).collect(),
    )
}

fn curve(row: &[&str]) -> Option<Curve> {
    let numbers: Vec<f64> = row
        .get(3..)?
        .iter()
        .filter_map(|cell| cell.parse().ok())
        .collect();
    let (knots, adds) = numbers.split_at_checked(KNOTS)?;
    Some(Curve::new(
        row[2].parse().ok()?,
        knots.try_into().ok()?,
        adds.try_into().ok()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_file_is_part_of_a_model() {
        let models = models();
        let curves: usize = models
            .iter()
            .flatten()
            .map(|model| model.curves().len())
            .sum();
        let intercepts = models
            .iter()
            .flatten()
            .filter(|model| model.intercept() != 0.0)
            .count();
        // After the line of the columns' names; the confidence has an intercept and a slope besides its offsets.
        let offsets = calibration().offsets.into_iter().filter(|it| *it != 0.0);
        assert_eq!(
            (intercepts, curves + intercepts + offsets.count() + 3),
            (26, FILE.lines().count())
        );
    }
}
