//! Scams against honest tokens by their code, and the rate of honest tokens with low scores: by code alone, and with a corpus of other
//! scams and listed tokens. Compiler age separates scams too; the age-adjusted metrics remove that effect.

use security::{
    Anomaly, AnomalyCode,
    score::{KnownInputs, Verdict, verdict},
    similarity::bigrams::Era,
};

use super::{
    chance,
    code::{ERAS, Run, ratio},
};

/// SIMILAR_TO_SCAM strength added to a run: by the nearest scam, and by opcode mix.
type Likeness = (f64, f64);
/// A run with its similarity.
type Seen<'a> = (&'a Run<'a>, Likeness);
/// Score of a contract, higher is worse, with its era and cluster.
type Score<'a> = (f64, Era, &'a str);
/// A variant's name, and the similarity it uses.
type Way = (&'static str, fn(Likeness) -> f64);

const WAYS: [Way; 3] = [
    ("code alone", |_| 0.0),
    ("with the nearest scam of a corpus", |(near, _)| near),
    ("with a corpus, mix included", |(near, mix)| near.max(mix)),
];

pub(crate) fn print(runs: &[Run<'_>], likeness: &[Likeness]) {
    let seen: Vec<Seen<'_>> = runs.iter().zip(likeness.iter().copied()).collect();
    for (what, way) in WAYS {
        let scores = |scam: bool| -> Vec<Score<'_>> {
            let counted = seen
                .iter()
                .filter(|(run, _)| run.counted() && run.scam() == scam);
            counted
                .map(|(run, like)| {
                    (
                        part_score(&findings(run, way(*like))),
                        run.era,
                        &*run.contract.cluster,
                    )
                })
                .collect()
        };
        separation(what, &scores(true), &scores(false));
    }
    let ages = |scam: bool| -> Vec<Score<'_>> {
        let counted = runs
            .iter()
            .filter(|run| run.counted() && run.scam() == scam);
        counted
            .map(|run| (f64::from(run.era as u8), run.era, &*run.contract.cluster))
            .collect()
    };
    println!(
        "  the era of the code alone: AUC {:.3}",
        auc(&ages(true), &ages(false), |_, _| 1.0)
    );
    println!("  (wanted: code alone 0.80; with a corpus, ages made equal, 0.78)");
    for (what, way) in [WAYS[0], WAYS[2]] {
        let of = |fits: &dyn Fn(&Run<'_>) -> bool| {
            seen.iter()
                .copied()
                .filter(|(run, _)| fits(run))
                .collect::<Vec<_>>()
        };
        low(
            &format!("listed tokens, not known as such, {what}"),
            &of(&|run| run.contract.listed()),
            way,
            true,
        );
        low(
            &format!("ordinary tokens, {what}"),
            &of(&|run| run.contract.sure() && run.contract.label == "unlabelled"),
            way,
            false,
        );
        low(
            &format!("scams, {what}"),
            &of(&|run| run.counted() && run.scam()),
            way,
            false,
        );
    }
}

/// The run's anomalies, plus SIMILAR_TO_SCAM of that strength.
fn findings(run: &Run<'_>, like: f64) -> Vec<Anomaly> {
    let mut all = run.report.anomalies.clone();
    if like > 0.0 {
        all.push(Anomaly::new(
            AnomalyCode::SimilarToScam,
            like,
            "its code is made like known scams'",
        ));
    }
    all
}

fn separation(what: &str, bad: &[Score<'_>], good: &[Score<'_>]) {
    let counts = format!("({} v {})", bad.len(), good.len());
    // Resampled together, so that clusters stay whole on both sides.
    let all: Vec<(bool, Score<'_>)> = bad
        .iter()
        .map(|score| (true, *score))
        .chain(good.iter().map(|score| (false, *score)))
        .collect();
    let drawn = |figure: fn(&[Score<'_>], &[Score<'_>]) -> f64| {
        chance::text(chance::interval(
            &all,
            |(_, score)| score.2.to_owned(),
            |all| figure(&side(all, true), &side(all, false)),
        ))
    };
    println!("scam v honest, {what}  {counts}");
    println!("  AUC {:.3}{}", plain(bad, good), drawn(plain));
    println!(
        "  ages made equal {:.3}{}; within an era {:.3}",
        equal(bad, good),
        drawn(equal),
        within(bad, good)
    );
    for (era, name) in ERAS {
        let (bad, good) = (of_era(bad, era), of_era(good, era));
        if bad.is_empty() || good.is_empty() {
            println!(
                "  {name}: none to compare  ({} v {})",
                bad.len(),
                good.len()
            );
        } else {
            println!(
                "  {name}: AUC {:.3}  ({} v {})",
                plain(&bad, &good),
                bad.len(),
                good.len()
            );
        }
    }
}

fn side<'a>(all: &[(bool, Score<'a>)], scam: bool) -> Vec<Score<'a>> {
    all.iter()
        .filter(|(of, _)| *of == scam)
        .map(|(_, score)| *score)
        .collect()
}

fn of_era<'a>(all: &[Score<'a>], era: Era) -> Vec<Score<'a>> {
    all.iter()
        .copied()
        .filter(|(_, of, _)| *of == era)
        .collect()
}

fn plain(bad: &[Score<'_>], good: &[Score<'_>]) -> f64 {
    auc(bad, good, |_, _| 1.0)
}

fn equal(bad: &[Score<'_>], good: &[Score<'_>]) -> f64 {
    auc(bad, good, equal_ages(bad, good))
}

fn within(bad: &[Score<'_>], good: &[Score<'_>]) -> f64 {
    auc(bad, good, |scam, honest| {
        f64::from(u8::from(scam == honest))
    })
}

/// Score in 0 to 1: one minus the product of what each anomaly leaves.
fn part_score(anomalies: &[Anomaly]) -> f64 {
    1.0 - anomalies
        .iter()
        .map(|anomaly| 1.0 - anomaly.weighed())
        .product::<f64>()
}

/// Pair weights that give the honest tokens the era distribution of the scams.
fn equal_ages(scams: &[Score<'_>], honest: &[Score<'_>]) -> impl Fn(Era, Era) -> f64 + use<> {
    let share = |all: &[Score<'_>]| {
        ERAS.map(|(era, _)| {
            ratio(
                all.iter().filter(|(_, of, _)| *of == era).count(),
                all.len(),
            )
        })
    };
    let (scams, honest) = (share(scams), share(honest));
    move |_, era| {
        if honest[era as usize] > 0.0 {
            scams[era as usize] / honest[era as usize]
        } else {
            0.0
        }
    }
}

/// Weighted AUC: share of pairs in which the scam scores higher; ties count half.
fn auc(scams: &[Score<'_>], honest: &[Score<'_>], weight: impl Fn(Era, Era) -> f64) -> f64 {
    let (mut right, mut pairs) = (0.0, 0.0);
    for (scam, good) in scams
        .iter()
        .flat_map(|scam| honest.iter().map(move |good| (scam, good)))
    {
        let weight = weight(scam.1, good.1);
        pairs += weight;
        right += weight * f64::from(scam.0.total_cmp(&good.0) as i8 + 1) / 2.0;
    }
    right / pairs
}

/// Prints the number of low scores; for listed tokens also the reasons.
fn low(what: &str, all: &[Seen<'_>], way: fn(Likeness) -> f64, listed: bool) {
    let score = |(run, like): &Seen<'_>| whole(&findings(run, way(*like)));
    let under = |all: &[Seen<'_>], least: i64| {
        let low = |seen: &&Seen<'_>| {
            let verdict = score(seen);
            verdict.fatal || verdict.score < least
        };
        all.iter().filter(low).count()
    };
    let share = |least| {
        let interval = chance::interval(
            all,
            |(run, _)| run.contract.cluster.clone(),
            |all| ratio(under(all, least), all.len()),
        );
        format!(
            "{} of {}, {:.3}{}",
            under(all, least),
            all.len(),
            ratio(under(all, least), all.len()),
            chance::text(interval)
        )
    };
    let wanted = if listed { "  (wanted 0.06; 0.02)" } else { "" };
    println!(
        "{what}\n  under 40: {}; AVOID: {}{wanted}",
        share(40),
        share(20)
    );
    for (era, name) in ERAS {
        let only: Vec<Seen<'_>> = all
            .iter()
            .copied()
            .filter(|(run, _)| run.era == era)
            .collect();
        if !only.is_empty() {
            println!(
                "  {name}: {} and {} of {}",
                under(&only, 40),
                under(&only, 20),
                only.len()
            );
        }
    }
    for seen in all.iter().filter(|seen| listed && under(&[**seen], 40) > 0) {
        let found = findings(seen.0, way(seen.1));
        let reasons: Vec<&str> = found
            .iter()
            .filter(|of| of.weighed() >= 0.1)
            .map(|of| of.sentence.as_str())
            .collect();
        println!("    {:>3}  {}", score(seen).score, reasons.join("; "));
    }
}

/// Total score if only the code speaks against the token.
fn whole(anomalies: &[Anomaly]) -> Verdict {
    verdict(
        anomalies,
        &[],
        &[],
        KnownInputs {
            code: true,
            executed: true,
            sale: true,
            transfers: true,
            holders: true,
            unread: None,
        },
    )
}
