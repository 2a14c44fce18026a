//! Quality and cost of yield plans: the benchmark of 144 problems with proven gaps, beside strategies without a plan. The optimum lies
//! between a plan's net yield and its bound.

use std::time::Instant;

use analysis::yields::{STEPS_MAX, WorkBudget, case::Case, joint::optimum, plan};

#[path = "../../tests/generator/yields.rs"]
mod generator;

struct Row {
    size: (usize, usize, f64),
    gap: f64,
    open_usd: f64,
    coupled: bool,
    /// Seconds of the solver alone, and of the whole computation from pools to integers.
    solver: f64,
    whole: f64,
    /// Loss without a plan, as a fraction of the optimum.
    highest: f64,
    quoted: f64,
}

pub(super) fn report() {
    let rows: Vec<Row> = generator::benchmark()
        .map(|(size, instance)| measured(size, &instance))
        .collect();
    println!(
        "\nyield: {} problems, one core; gap = (bound - net) / net",
        rows.len()
    );
    println!(
        "{:>7} {:>6} {:>11} {:>9} {:>10} {:>11} {:>11} {:>12} {:>12}",
        "pools",
        "tokens",
        "wallet",
        "worst gap",
        "coupled",
        "solver ms",
        "whole ms",
        "all-in loss",
        "quoted loss"
    );
    for chunk in rows.chunks(generator::SEEDS.len()) {
        let worst = |of: fn(&Row) -> f64| chunk.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
        let (pools, tokens, wallet) = chunk[0].size;
        let coupled = chunk.iter().filter(|row| row.coupled).count();
        println!(
            "{pools:>7} {tokens:>6} {wallet:>11.0} {:>9.1e} {coupled:>10} {:>11.3} {:>11.3} {:>10.2} % {:>10.2} %",
            worst(|row| row.gap),
            worst(|row| row.solver) * 1e3,
            worst(|row| row.whole) * 1e3,
            worst(|row| row.highest) * 100.0,
            worst(|row| row.quoted) * 100.0
        );
    }
    let closed = rows
        .iter()
        .filter(|row| row.gap <= 1e-6 || row.open_usd <= 0.01)
        .count();
    println!(
        "closed to 1e-6 or a cent: {closed} of {}; met coupling rows: {}",
        rows.len(),
        rows.iter().filter(|row| row.coupled).count()
    );
    let beaten = |of: fn(&Row) -> f64| rows.iter().filter(|row| of(row) > 1e-4).count();
    println!(
        "missed by more than 1e-4: all into the highest APY {}, filled by quoted APY {}",
        beaten(|row| row.highest),
        beaten(|row| row.quoted)
    );
    for (name, of) in [
        ("solver", (|row| row.solver) as fn(&Row) -> f64),
        ("pools to integers", |row| row.whole),
    ] {
        let mut times: Vec<f64> = rows.iter().map(of).collect();
        times.sort_by(f64::total_cmp);
        let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize] * 1e3;
        println!(
            "{name}: median {:.3} ms, p90 {:.3} ms, worst {:.3} ms",
            at(0.5),
            at(0.9),
            at(1.0)
        );
    }
}

fn measured(size: (usize, usize, f64), instance: &generator::Instance) -> Row {
    let pools = instance.pools();
    let case = Case::new(&pools, &instance.holdings, instance.wish);
    let (mut solver, mut whole, mut coupled) = (f64::INFINITY, f64::INFINITY, false);
    for _ in 0..5 {
        let start = Instant::now();
        coupled = optimum(
            &case.problem,
            &mut WorkBudget::new(STEPS_MAX, case.unit, &mut |_, _| true),
        )
        .joint;
        solver = solver.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let plan = plan(&pools, &instance.holdings, instance.wish, &mut |_, _| true);
        whole = whole.min(start.elapsed().as_secs_f64());
        drop(plan);
    }
    let plan = plan(&pools, &instance.holdings, instance.wish, &mut |_, _| true);
    let (net, bound) = (plan.totals.net(), plan.upper_bound);
    let part = |usd: f64| if bound > 0.0 { usd / bound } else { 0.0 };
    Row {
        size,
        gap: plan.gap().unwrap_or(f64::INFINITY),
        open_usd: bound - net,
        coupled,
        solver,
        whole,
        highest: part(net - plan.highest.net()),
        quoted: part(net - plan.quoted.net()),
    }
}
