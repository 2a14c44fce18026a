//! Two independent optimisers: exhaustive search over pool sets with a barrier method for the amounts; and a mixed integer program over
//! tangents, solved by a third-party solver.

use microlp::{ComparisonOp, OptimizationDirection, Problem};

use super::generator::{Instance, instance};
use analysis::yields::{
    STEPS_MAX, WorkBudget,
    case::Case,
    joint::{Optimum, optimum},
    problem::{AllocationProblem, Item},
};

fn solved(problem: &AllocationProblem, unit: f64) -> Optimum {
    optimum(
        problem,
        &mut WorkBudget::new(STEPS_MAX, unit, &mut |_, _| true),
    )
}

/// Value of a given set of pools, all used: the primal barrier method with dense Newton steps (Boyd and Vandenberghe, "Convex
/// Optimization", ch. 11), which shares only the yield curves with the solver under test.
fn value_of(problem: &AllocationProblem, support: &[&Item]) -> f64 {
    let rows: Vec<f64> = problem
        .budgets
        .iter()
        .chain(&problem.caps)
        .copied()
        .collect();
    let weight = |item: &Item, row: usize| {
        if row < problem.budgets.len() {
            return f64::from(u8::from(item.token as usize == row));
        }
        let coupled = item
            .rows
            .iter()
            .flatten()
            .find(|(other, _)| *other as usize == row - problem.budgets.len());
        coupled.map_or(0.0, |(_, weight)| *weight)
    };
    let slack = |amounts: &[f64]| -> Vec<f64> {
        let load = |row: usize| {
            support
                .iter()
                .zip(amounts)
                .map(|(item, y)| weight(item, row) * y)
                .sum::<f64>()
        };
        rows.iter()
            .enumerate()
            .map(|(row, cap)| cap - load(row))
            .collect()
    };
    let least: Vec<f64> = support.iter().map(|item| item.low).collect();
    let at_least = slack(&least);
    if at_least
        .iter()
        .zip(&rows)
        .any(|(slack, cap)| *slack < -1e-12 * cap)
    {
        return f64::NEG_INFINITY;
    }
    // Amounts fixed by a full row or by equal bounds stay at their minimum.
    let moves = |item: &Item| {
        item.high - item.low > 1e-12 * item.high
            && (0..rows.len())
                .all(|row| weight(item, row) == 0.0 || at_least[row] > 1e-12 * rows[row])
    };
    let free: Vec<usize> = (0..support.len()).filter(|i| moves(support[*i])).collect();
    let worth = |amounts: &[f64]| -> f64 {
        support
            .iter()
            .zip(amounts)
            .map(|(item, y)| item.net(*y))
            .sum()
    };
    let used: Vec<usize> = (0..rows.len())
        .filter(|row| free.iter().any(|i| weight(support[*i], *row) > 0.0))
        .collect();
    let barrier = |amounts: &[f64], mu: f64| -> f64 {
        let slack = slack(amounts);
        let mut logs: f64 = used.iter().map(|row| slack[*row].ln()).sum();
        logs += free
            .iter()
            .map(|i| (amounts[*i] - support[*i].low).ln() + (support[*i].high - amounts[*i]).ln())
            .sum::<f64>();
        if logs.is_nan() {
            f64::NEG_INFINITY
        } else {
            worth(amounts) + mu * logs
        }
    };
    let mut amounts = least;
    for &i in &free {
        let room = used
            .iter()
            .filter(|row| weight(support[i], **row) > 0.0)
            .map(|row| at_least[*row])
            .fold(f64::INFINITY, f64::min);
        amounts[i] += 0.4 * (support[i].high - support[i].low).min(room / free.len() as f64);
    }
    let mut mu = 1e-3;
    while mu > 1e-13 && !free.is_empty() {
        for _ in 0..60 {
            let slack = slack(&amounts);
            let count = free.len();
            let mut matrix = vec![vec![0.0; count + 1]; count];
            for (a, &i) in free.iter().enumerate() {
                let (item, y) = (support[i], amounts[i]);
                let (below, above) = (y - item.low, item.high - y);
                matrix[a][count] = item.curve.slope(y) + mu / below - mu / above;
                matrix[a][a] =
                    -item.curve.curvature(y) + mu / (below * below) + mu / (above * above);
                for &row in &used {
                    let own = weight(item, row);
                    matrix[a][count] -= mu * own / slack[row];
                    for (b, &j) in free.iter().enumerate() {
                        matrix[a][b] +=
                            mu * own * weight(support[j], row) / (slack[row] * slack[row]);
                    }
                }
            }
            let gradient: Vec<f64> = matrix.iter().map(|row| row[count]).collect();
            let step = eliminated(matrix);
            let gain: f64 = gradient
                .iter()
                .zip(&step)
                .map(|(gradient, step)| gradient * step)
                .sum();
            let (mut length, now) = (1.0, barrier(&amounts, mu));
            let moved = |length: f64| {
                let mut moved = amounts.clone();
                free.iter()
                    .zip(&step)
                    .for_each(|(i, step)| moved[*i] += length * step);
                moved
            };
            while length > 1e-12 && barrier(&moved(length), mu) < now + 0.1 * length * gain {
                length *= 0.5;
            }
            if length <= 1e-12 || gain <= 1e-17 || !gain.is_finite() {
                break;
            }
            amounts = moved(length);
        }
        mu *= 0.2;
    }
    worth(&amounts)
}

/// Gaussian elimination of a positive definite system, with the right side as last column.
fn eliminated(mut matrix: Vec<Vec<f64>>) -> Vec<f64> {
    let count = matrix.len();
    for i in 0..count {
        for j in i + 1..count {
            let part = matrix[j][i] / matrix[i][i];
            let above = matrix[i].clone();
            for (cell, above) in matrix[j].iter_mut().zip(above).skip(i) {
                *cell -= part * above;
            }
        }
    }
    let mut solution = vec![0.0; count];
    for i in (0..count).rev() {
        let rest: f64 = (i + 1..count).map(|k| matrix[i][k] * solution[k]).sum();
        solution[i] = (matrix[i][count] - rest) / matrix[i][i];
    }
    solution
}

fn enumerated(problem: &AllocationProblem) -> f64 {
    let count = problem.items.len();
    let mut best = 0.0f64;
    for set in 1u32..1 << count {
        let support: Vec<&Item> = (0..count)
            .filter(|i| set >> i & 1 == 1)
            .map(|i| &problem.items[i])
            .collect();
        best = best.max(value_of(problem, &support));
    }
    best
}

/// A generated instance with significant gas costs and no pool of constant rate (where every split is equally good).
fn small(seed: u64, pools: usize, tokens: usize, wallet: f64) -> Instance {
    let mut instance = instance(seed, pools, tokens, wallet);
    for row in &mut instance.rows {
        row.apy_reward = row.apy_reward.or(Some(0.01));
    }
    instance
}

#[test]
fn no_set_of_pools_is_better_than_the_plan() {
    let (mut tried, mut joint, mut several) = (0, 0, 0);
    for seed in 0..340 {
        let (pools, tokens) = if seed % 2 == 0 { (14, 1) } else { (12, 3) };
        let wallet = [800.0, 3e4, 2e6, 6e7][seed as usize / 2 % 4];
        let instance = small(seed, pools, tokens, wallet);
        let pools = instance.pools();
        let case = Case::new(&pools, &instance.holdings, instance.wish);
        if case.problem.items.is_empty()
            || case.problem.items.len() > 8 + usize::from(seed % 10 == 0) * 4
        {
            continue;
        }
        let found = solved(&case.problem, case.unit);
        let best = enumerated(&case.problem);
        assert!(
            (found.value - best).abs() <= 1e-8 * best.max(1e-12),
            "{seed}: {} is not {best}",
            found.value
        );
        assert!(
            found.bound >= best * (1.0 - 1e-12),
            "{seed}: the bound {} is under {best}",
            found.bound
        );
        tried += 1;
        joint += usize::from(found.joint);
        several += usize::from(found.deposits.len() > 1);
    }
    assert!(
        tried >= 100 && joint >= 25 && several >= 50,
        "{tried} {joint} {several}: too few to say anything"
    );
}

/// Upper bound from a mixed integer program: each pool's earnings under tangents, refined every round.
fn from_above(problem: &AllocationProblem) -> f64 {
    let mut tangents: Vec<Vec<f64>> = problem
        .items
        .iter()
        .map(|item| vec![item.low, item.high, item.chord_end])
        .collect();
    let mut bound = f64::INFINITY;
    for _ in 0..12 {
        let mut program = Problem::new(OptimizationDirection::Maximize);
        let mut variables = Vec::new();
        for (item, tangents) in problem.items.iter().zip(&tangents) {
            let amount = program.add_var(0.0, (0.0, item.high));
            let earned = program.add_var(1.0, (0.0, f64::INFINITY));
            let used = program.add_binary_var(-item.fee);
            program.add_constraint([(amount, 1.0), (used, -item.high)], ComparisonOp::Le, 0.0);
            program.add_constraint([(amount, 1.0), (used, -item.low)], ComparisonOp::Ge, 0.0);
            for &at in tangents {
                let slope = item.curve.slope(at);
                let rest = item.curve.value(at) - slope * at;
                // An unused pool earns nothing.
                program.add_constraint(
                    [(earned, 1.0), (amount, -slope), (used, -rest)],
                    ComparisonOp::Le,
                    0.0,
                );
            }
            variables.push((amount, used));
        }
        for (token, &budget) in problem.budgets.iter().enumerate() {
            let terms: Vec<_> = problem
                .items
                .iter()
                .zip(&variables)
                .filter(|(item, _)| item.token as usize == token)
                .collect();
            program.add_constraint(
                terms
                    .iter()
                    .map(|(_, (amount, _))| (*amount, 1.0))
                    .collect::<Vec<_>>(),
                ComparisonOp::Le,
                budget,
            );
        }
        for (row, &cap) in problem.caps.iter().enumerate() {
            let of = |(item, (amount, _)): (&Item, &(microlp::Variable, microlp::Variable))| {
                item.rows
                    .iter()
                    .flatten()
                    .find(|(other, _)| *other as usize == row)
                    .map(|(_, weight)| (*amount, *weight))
            };
            let terms: Vec<_> = problem
                .items
                .iter()
                .zip(&variables)
                .filter_map(of)
                .collect();
            program.add_constraint(terms, ComparisonOp::Le, cap);
        }
        let solution = program
            .solve()
            .expect("solved")
            .into_solution()
            .expect("placing nothing is a plan");
        bound = solution.objective();
        for ((item, tangents), (amount, _)) in
            problem.items.iter().zip(&mut tangents).zip(&variables)
        {
            tangents.push(solution.var_value(*amount).clamp(item.low, item.high));
        }
    }
    bound
}

#[test]
fn a_mixed_integer_solver_agrees() {
    let mut tried = 0;
    for seed in 500..540 {
        let instance = small(
            seed,
            24,
            1 + seed as usize % 3,
            [5e3, 1e6, 3e7][seed as usize % 3],
        );
        let pools = instance.pools();
        let case = Case::new(&pools, &instance.holdings, instance.wish);
        if !(2..=14).contains(&case.problem.items.len()) {
            continue;
        }
        let found = solved(&case.problem, case.unit);
        let above = from_above(&case.problem);
        // The third-party solver's tolerances are 1e-8 of the money and more.
        assert!(
            found.value <= above * (1.0 + 1e-6) + 1e-9,
            "{seed}: {} is over {above}",
            found.value
        );
        assert!(
            above <= found.value * (1.0 + 2e-5) + 1e-9,
            "{seed}: {above} is over {}",
            found.value
        );
        tried += 1;
    }
    assert!(tried >= 12, "{tried}");
}
