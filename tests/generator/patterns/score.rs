//! The scorer: matches findings with labels, and computes the metrics.

use std::fmt;

use super::{Bars, Kind, Label, NAMES, Set};

/// A detector's finding.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found {
    pub(crate) name: &'static str,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) confidence: f64,
    pub(crate) completion: f64,
    pub(crate) movement: f64,
}

impl Found {
    /// Whether name and label match, with an IoU of at least 0.5.
    pub(crate) fn hits(&self, label: &Label) -> bool {
        self.name == label.name && self.overlap(label) >= 0.5
    }

    /// Intersection over union of the spans.
    fn overlap(&self, label: &Label) -> f64 {
        let shared = (self.end.min(label.end) + 1).saturating_sub(self.start.max(label.start));
        let all = self.end.max(label.end) + 1 - self.start.min(label.start);
        shared as f64 / all as f64
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    easy: (usize, usize),
    hard: (usize, usize),
    /// Findings of this name in labelled series, and true positives among them.
    found: usize,
    hits: usize,
}

impl Count {
    fn recall(self) -> f64 {
        share(self.easy.0 + self.hard.0, self.easy.1 + self.hard.1)
    }

    fn precision(self) -> f64 {
        share(self.hits, self.found)
    }

    fn f1(self) -> f64 {
        let (p, r) = (self.precision(), self.recall());
        if p + r > 0.0 {
            2.0 * p * r / (p + r)
        } else {
            0.0
        }
    }
}

fn share(part: usize, all: usize) -> f64 {
    if all == 0 {
        0.0
    } else {
        part as f64 / all as f64
    }
}

/// Metrics of a detector on a set. Its `Display` is the report.
#[derive(Debug, Clone, Default)]
pub(crate) struct Score {
    counts: [Count; 24],
    /// Confidence and correctness of every finding in labelled series.
    ranked: Vec<(f64, bool)>,
    walk_candles: usize,
    walk_found: [usize; 24],
    /// Near misses, and those reported under the name they miss, by rule.
    misses: Vec<(&'static str, usize, usize)>,
    signs: (usize, usize),
    errors: Vec<f64>,
    /// Confirmed hits at 100, and forming hits below 100.
    confirmed: (usize, usize),
    forming: (usize, usize),
}

/// Runs `detect` over the set. A second hit on one label counts as a false positive.
pub(crate) fn score(set: &Set, mut detect: impl FnMut(&Bars) -> Vec<Found>) -> Score {
    let mut score = Score::default();
    for case in &set.cases {
        score.judge(case.kind == Kind::Easy, &case.label, detect(&case.bars));
    }
    for case in &set.misses {
        let Kind::NearMiss(rule) = case.kind else {
            continue;
        };
        let wrong = detect(&case.bars)
            .iter()
            .any(|found| found.hits(&case.label));
        match score.misses.iter_mut().find(|(known, ..)| *known == rule) {
            Some((_, all, wrongly)) => {
                *all += 1;
                *wrongly += usize::from(wrong);
            }
            None => score.misses.push((rule, 1, usize::from(wrong))),
        }
    }
    for walk in &set.walks {
        score.walk_candles += walk.len();
        for found in detect(walk) {
            score.walk_found[place(found.name)] += 1;
        }
    }
    score
}

fn place(name: &str) -> usize {
    NAMES
        .iter()
        .position(|known| *known == name)
        .unwrap_or_else(|| panic!("no pattern is called `{name}`"))
}

impl Score {
    fn judge(&mut self, easy: bool, label: &Label, mut found: Vec<Found>) {
        found.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
        let hit = found.iter().position(|found| found.hits(label));
        for (i, found) in found.iter().enumerate() {
            self.counts[place(found.name)].found += 1;
            self.ranked.push((found.confidence, hit == Some(i)));
        }
        let count = &mut self.counts[place(label.name)];
        let recall = if easy {
            &mut count.easy
        } else {
            &mut count.hard
        };
        recall.1 += 1;
        let Some(hit) = hit else { return };
        recall.0 += 1;
        count.hits += 1;
        let hit = &found[hit];
        if label.signed {
            self.signs.1 += 1;
            self.signs.0 += usize::from(hit.movement.signum() == label.movement.signum());
        }
        if !label.signed || hit.movement.signum() == label.movement.signum() {
            let (a, b) = (hit.movement, label.movement);
            // If the sign is undetermined, up and down percentages of one height differ: compare log heights.
            let (a, b) = (log_height(a), log_height(b));
            self.errors.push((a - b).abs() / b);
        }
        let completion = if label.confirmed {
            &mut self.confirmed
        } else {
            &mut self.forming
        };
        completion.1 += 1;
        completion.0 += usize::from((hit.completion >= 100.0) == label.confirmed);
    }

    pub(crate) fn macro_f1(&self) -> f64 {
        self.counts.iter().map(|count| count.f1()).sum::<f64>() / 24.0
    }

    pub(crate) fn recall(&self) -> (f64, f64) {
        let sum = |part: fn(&Count) -> (usize, usize)| {
            let (hits, all) = self
                .counts
                .iter()
                .map(part)
                .fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
            share(hits, all)
        };
        (sum(|count| count.easy), sum(|count| count.hard))
    }

    /// Average precision: mean over all labels of the precision at each hit, from the most confident finding down.
    pub(crate) fn average_precision(&self) -> f64 {
        let mut ranked = self.ranked.clone();
        // At equal confidence misses come first: ties must not flatter.
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let labels: usize = self
            .counts
            .iter()
            .map(|count| count.easy.1 + count.hard.1)
            .sum();
        let mut hits = 0_usize;
        let sum: f64 = ranked
            .iter()
            .enumerate()
            .filter(|(_, (_, hit))| *hit)
            .map(|(i, _)| {
                hits += 1;
                hits as f64 / (i + 1) as f64
            })
            .sum();
        sum / labels.max(1) as f64
    }

    /// False positives per 1,000 candles of random walk.
    pub(crate) fn false_per_thousand(&self) -> f64 {
        1_000.0 * share(self.walk_found.iter().sum(), self.walk_candles)
    }

    /// Fraction of near misses reported under the name they miss.
    pub(crate) fn near_misses(&self) -> f64 {
        share(
            self.misses.iter().map(|miss| miss.2).sum(),
            self.misses.iter().map(|miss| miss.1).sum(),
        )
    }

    pub(crate) fn right_sign(&self) -> f64 {
        share(self.signs.0, self.signs.1)
    }

    /// Median relative error of the movement, as a log height.
    pub(crate) fn movement_error(&self) -> f64 {
        let mut errors = self.errors.clone();
        errors.sort_by(f64::total_cmp);
        errors.get(errors.len() / 2).copied().unwrap_or(f64::NAN)
    }

    pub(crate) fn completion(&self) -> (f64, f64) {
        (
            share(self.confirmed.0, self.confirmed.1),
            share(self.forming.0, self.forming.1),
        )
    }

    /// Expected calibration error in ten bins (Naeini, Cooper & Hauskrecht 2015).
    pub(crate) fn calibration(&self) -> f64 {
        let bin = |confidence: f64| ((confidence * 10.0) as usize).min(9);
        let sum: f64 = (0..10)
            .map(|i| {
                let within: Vec<&(f64, bool)> = self
                    .ranked
                    .iter()
                    .filter(|(confidence, _)| bin(*confidence) == i)
                    .collect();
                let confident: f64 = within.iter().map(|found| found.0).sum();
                let right = within.iter().filter(|found| found.1).count() as f64;
                (confident - right).abs()
            })
            .sum();
        sum / self.ranked.len().max(1) as f64
    }
}

fn log_height(movement: f64) -> f64 {
    if movement > 0.0 {
        -(1.0 - (movement / 100.0).min(0.9999)).ln()
    } else {
        (1.0 - movement / 100.0).ln()
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<28} precision  recall    easy    hard      F1  false in walks",
            "pattern"
        )?;
        for (i, count) in self.counts.iter().enumerate() {
            let (easy, hard) = (
                share(count.easy.0, count.easy.1),
                share(count.hard.0, count.hard.1),
            );
            let (precision, recall, f1) = (count.precision(), count.recall(), count.f1());
            writeln!(
                f,
                "{:<28} {precision:>9.2} {recall:>7.2} {easy:>7.2} {hard:>7.2} {f1:>7.2} {:>15}",
                NAMES[i], self.walk_found[i]
            )?;
        }
        let ((easy, hard), (confirmed, forming)) = (self.recall(), self.completion());
        writeln!(f, "\n{:<52} {:.3}", "macro F1", self.macro_f1())?;
        writeln!(
            f,
            "{:<52} {:.3}",
            "average precision by confidence",
            self.average_precision()
        )?;
        writeln!(f, "{:<52} {easy:.3} / {hard:.3}", "recall, easy / hard")?;
        writeln!(
            f,
            "{:<52} {:.2}",
            "false patterns per 1,000 candles of random walk",
            self.false_per_thousand()
        )?;
        writeln!(
            f,
            "{:<52} {:.2} %",
            "near misses wrongly reported",
            100.0 * self.near_misses()
        )?;
        for (rule, all, wrongly) in &self.misses {
            writeln!(f, "    {rule:<48} {wrongly} of {all}")?;
        }
        let (sign, error) = (100.0 * self.right_sign(), 100.0 * self.movement_error());
        writeln!(
            f,
            "{:<52} {sign:.1} % / {error:.1} %",
            "projectedMovement: right sign / median error"
        )?;
        let (confirmed, forming) = (100.0 * confirmed, 100.0 * forming);
        writeln!(
            f,
            "{:<52} {confirmed:.1} % / {forming:.1} %",
            "confirmed at 100 / forming below 100"
        )?;
        writeln!(
            f,
            "{:<52} {:.3}",
            "calibration of confidence (ECE)",
            self.calibration()
        )
    }
}
