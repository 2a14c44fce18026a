//! Primal–dual interior-point method over the concave hulls of all pools at once. Only the normal matrix of the constraints is factored,
//! and of it only the coupling rows, since no pool is in two budgets (Mehrotra 1992; Wright, "Primal-Dual Interior-Point Methods", ch. 10).

use super::{
    WorkBudget,
    problem::{AllocationProblem, Choice},
};

/// A variable: a segment of a pool's hull, either its chord or the curve from `from` on.
#[derive(Debug, Clone, Copy)]
struct Column {
    item: u32,
    from: f64,
    width: f64,
    chord: bool,
}

/// Optimum over the concave hulls.
#[derive(Debug, Clone)]
pub struct Interior {
    /// Deposits by item, for the items given.
    pub deposits: Vec<(u32, f64)>,
    /// Fraction of the chord used by each of them; 1 for those that must be used.
    pub used: Vec<f64>,
    /// Shadow price of each budget, and of each coupling row.
    pub budgets: Vec<f64>,
    pub rows: Vec<f64>,
}

const ITERATIONS: usize = 80;
/// Relative duality gap at which the iteration stops.
const CLOSE: f64 = 1e-12;

/// Current iterate.
struct Iterate<'a> {
    problem: &'a AllocationProblem,
    columns: Vec<Column>,
    /// Index of each coupling row in the factored matrix.
    places: Vec<Option<usize>>,
    /// Remaining capacity of the budgets, then of the active rows.
    room: Vec<f64>,
    /// Deposit in each column, and the multipliers of its bounds.
    x: Vec<f64>,
    low_dual: Vec<f64>,
    high_dual: Vec<f64>,
    /// Unused capacity of each row, and its multiplier.
    slack: Vec<f64>,
    price: Vec<f64>,
}

/// Solves the relaxation over the hulls with each item free or required, and only the `active` coupling rows; `items` excludes those ruled
/// out. Returns `None` if the required minimum deposits do not fit.
pub fn solve(
    problem: &AllocationProblem,
    items: &[(u32, Choice)],
    active: &[bool],
    effort: &mut WorkBudget<'_>,
) -> Option<Interior> {
    let mut places = vec![None; problem.caps.len()];
    let mut room = problem.budgets.clone();
    for (row, _) in active.iter().enumerate().filter(|(_, active)| **active) {
        places[row] = Some(room.len());
        room.push(problem.caps[row]);
    }
    let whole = room.clone();
    for &(item, _) in items.iter().filter(|(_, choice)| *choice == Choice::In) {
        let pool = &problem.items[item as usize];
        room[pool.token as usize] -= pool.low;
        for &(row, weight) in pool.rows.iter().flatten() {
            if let Some(place) = places[row as usize] {
                room[place] -= weight * pool.low;
            }
        }
    }
    if room
        .iter()
        .zip(&whole)
        .any(|(room, whole)| *room < -1e-12 * whole)
    {
        return None;
    }
    // A row without capacity bars all items that would load it: they get no columns, and the row a sufficient shadow price.
    let full: Vec<bool> = room
        .iter()
        .zip(&whole)
        .map(|(room, whole)| *room <= 1e-12 * whole)
        .collect();
    for (room, _) in room.iter_mut().zip(&full).filter(|(_, full)| **full) {
        *room = 1.0;
    }
    let mut kept_out = vec![0.0f64; problem.caps.len()];
    let mut columns = Vec::with_capacity(items.len() * 2);
    for &(item, choice) in items {
        let pool = &problem.items[item as usize];
        let mut barred = full[pool.token as usize];
        for &(row, weight) in pool
            .rows
            .iter()
            .flatten()
            .filter(|(_, weight)| *weight > 0.0)
        {
            if places[row as usize].is_some_and(|place| full[place]) {
                barred = true;
                kept_out[row as usize] =
                    kept_out[row as usize].max(pool.chord.max(pool.curve.slope(pool.low)) / weight);
            }
        }
        if barred {
            continue;
        }
        let from = if choice == Choice::Free {
            pool.chord_end
        } else {
            pool.low
        };
        if choice == Choice::Free {
            columns.push(Column {
                item,
                from: 0.0,
                width: pool.chord_end,
                chord: true,
            });
        }
        if pool.high - from > 1e-13 * pool.high {
            columns.push(Column {
                item,
                from,
                width: pool.high - from,
                chord: false,
            });
        }
    }
    let mut iterate = Iterate::new(problem, columns, places, room);
    iterate.walk(effort);
    let mut interior = iterate.result(items);
    for (price, kept_out) in interior.rows.iter_mut().zip(kept_out) {
        *price = price.max(kept_out);
    }
    Some(interior)
}

impl<'a> Iterate<'a> {
    fn new(
        problem: &'a AllocationProblem,
        columns: Vec<Column>,
        places: Vec<Option<usize>>,
        room: Vec<f64>,
    ) -> Self {
        let count = columns.len();
        let mut iterate = Self {
            problem,
            x: vec![0.0; count],
            low_dual: vec![0.0; count],
            high_dual: vec![0.0; count],
            slack: room.clone(),
            price: vec![0.0; room.len()],
            columns,
            places,
            room,
        };
        iterate.start();
        iterate
    }

    /// Strictly feasible starting point, with prices that make all dual residuals 0. A tiny centred start would stall, so no value is tiny.
    fn start(&mut self) {
        self.start_deposits();
        let slopes: Vec<f64> = (0..self.columns.len())
            .map(|k| self.derivatives(k).0)
            .collect();
        let middle = slopes.len() / 2;
        let median = if slopes.is_empty() {
            1.0
        } else {
            *slopes
                .clone()
                .select_nth_unstable_by(middle, f64::total_cmp)
                .1
        };
        let scale = median.abs().max(1e-9);
        self.price.fill(0.5 * scale);
        for (k, slope) in slopes.into_iter().enumerate() {
            let cost = self.cost(k);
            self.low_dual[k] = (cost - slope).max(0.0) + 0.1 * scale;
            self.high_dual[k] = slope - cost + self.low_dual[k];
        }
    }

    /// Deposits that use half of each column, or less, so that no row is filled by more than half.
    fn start_deposits(&mut self) {
        let mut load = vec![0.0; self.room.len()];
        for k in 0..self.columns.len() {
            self.each(k, |row, weight| load[row] += weight * self.columns[k].width);
        }
        for k in 0..self.columns.len() {
            let mut part = 0.5f64;
            self.each(k, |row, _| {
                part = part.min(0.5 * self.room[row] / load[row]);
            });
            self.x[k] = self.columns[k].width * part;
        }
        let mut slack = std::mem::take(&mut self.slack);
        for k in 0..self.columns.len() {
            self.each(k, |row, weight| slack[row] -= weight * self.x[k]);
        }
        self.slack = slack;
    }

    /// Calls `call` with each row of the column and its coefficient.
    #[inline]
    fn each(&self, k: usize, mut call: impl FnMut(usize, f64)) {
        let pool = &self.problem.items[self.columns[k].item as usize];
        call(pool.token as usize, 1.0);
        for &(row, weight) in pool.rows.iter().flatten() {
            if let Some(place) = self.places[row as usize]
                && weight > 0.0
            {
                call(place, weight);
            }
        }
    }

    fn cost(&self, k: usize) -> f64 {
        let mut cost = 0.0;
        self.each(k, |row, weight| cost += weight * self.price[row]);
        cost
    }

    /// First and second derivative of the objective in the column.
    fn derivatives(&self, k: usize) -> (f64, f64) {
        let column = &self.columns[k];
        let pool = &self.problem.items[column.item as usize];
        if column.chord {
            return (pool.chord, 0.0);
        }
        let y = column.from + self.x[k];
        (pool.curve.slope(y), pool.curve.curvature(y).min(0.0))
    }

    fn gap(&self) -> f64 {
        let columns: f64 = (0..self.columns.len())
            .map(|k| {
                self.x[k] * self.low_dual[k]
                    + (self.columns[k].width - self.x[k]) * self.high_dual[k]
            })
            .sum();
        columns
            + self
                .slack
                .iter()
                .zip(&self.price)
                .map(|(slack, price)| slack * price)
                .sum::<f64>()
    }

    fn walk(&mut self, effort: &mut WorkBudget<'_>) {
        let (columns, rows) = (self.columns.len(), self.room.len());
        if columns == 0 {
            return self.price.fill(0.0);
        }
        let pairs = (2 * columns + rows) as f64;
        let coupled = rows - self.problem.budgets.len();
        let mut derivatives = vec![(0.0, 0.0); columns];
        for _ in 0..ITERATIONS {
            effort.spend(columns * 3 + coupled * coupled * coupled / 100 + rows);
            let mut worth = 0.0;
            for (k, derivative) in derivatives.iter_mut().enumerate() {
                *derivative = self.derivatives(k);
                worth += derivative.0 * self.x[k];
            }
            let gap = self.gap();
            let astray: f64 = (0..columns)
                .map(|k| {
                    (derivatives[k].0 - self.cost(k) + self.low_dual[k] - self.high_dual[k]).abs()
                        * self.columns[k].width
                })
                .sum();
            if gap + astray <= CLOSE * worth || effort.cancelled {
                break;
            }
            let mu = gap / pairs;
            let system = System::new(self, &derivatives);
            let straight = system.step(self, 0.0, None);
            let (primal, dual) = straight.lengths(self, 1.0);
            let after = straight.gap_after(self, primal.min(dual)) / pairs;
            let centre = (after / mu).powi(3).clamp(1e-6, 0.9) * mu;
            let step = system.step(self, centre, Some(&straight));
            let (primal, dual) = step.lengths(self, 0.995);
            self.advance(&step, primal.min(dual));
            if primal.min(dual) < 1e-10 {
                break;
            }
        }
    }

    fn advance(&mut self, step: &Step, length: f64) {
        for k in 0..self.columns.len() {
            self.x[k] += length * step.x[k];
            self.low_dual[k] += length * step.low_dual[k];
            self.high_dual[k] += length * step.high_dual[k];
        }
        for row in 0..self.room.len() {
            self.slack[row] += length * step.slack[row];
            self.price[row] += length * step.price[row];
        }
    }

    fn result(self, items: &[(u32, Choice)]) -> Interior {
        let budgets = self.problem.budgets.len();
        let mut deposits = Vec::with_capacity(items.len());
        let mut used = Vec::with_capacity(items.len());
        let mut columns = self.columns.iter().zip(&self.x).peekable();
        for &(item, choice) in items {
            let pool = &self.problem.items[item as usize];
            let (mut y, mut part) = if choice == Choice::In {
                (pool.low, 1.0)
            } else {
                (0.0, 0.0)
            };
            while let Some((column, x)) = columns.next_if(|(column, _)| column.item == item) {
                y += x;
                if column.chord {
                    part = x / column.width;
                }
            }
            deposits.push((item, y.min(pool.high)));
            used.push(part);
        }
        let rows = self
            .places
            .iter()
            .map(|place| place.map_or(0.0, |place| self.price[place]))
            .collect();
        Interior {
            deposits,
            used,
            budgets: self.price[..budgets].to_vec(),
            rows,
        }
    }
}

/// A search direction.
struct Step {
    x: Vec<f64>,
    low_dual: Vec<f64>,
    high_dual: Vec<f64>,
    slack: Vec<f64>,
    price: Vec<f64>,
}

impl Step {
    /// Maximum primal and dual step lengths: `share` of the distance to the boundary, at most 1.
    fn lengths(&self, iterate: &Iterate<'_>, share: f64) -> (f64, f64) {
        let (mut primal, mut dual) = (1.0 / share, 1.0 / share);
        let meet = |length: &mut f64, value: f64, change: f64| {
            if change < 0.0 {
                *length = length.min(-value / change);
            }
        };
        for k in 0..iterate.columns.len() {
            meet(&mut primal, iterate.x[k], self.x[k]);
            meet(
                &mut primal,
                iterate.columns[k].width - iterate.x[k],
                -self.x[k],
            );
            meet(&mut dual, iterate.low_dual[k], self.low_dual[k]);
            meet(&mut dual, iterate.high_dual[k], self.high_dual[k]);
        }
        for row in 0..iterate.room.len() {
            meet(&mut primal, iterate.slack[row], self.slack[row]);
            meet(&mut dual, iterate.price[row], self.price[row]);
        }
        ((primal * share).min(1.0), (dual * share).min(1.0))
    }

    fn gap_after(&self, iterate: &Iterate<'_>, length: f64) -> f64 {
        let mut gap = 0.0;
        for k in 0..iterate.columns.len() {
            let x = iterate.x[k] + length * self.x[k];
            gap += x * (iterate.low_dual[k] + length * self.low_dual[k]);
            gap += (iterate.columns[k].width - x)
                * (iterate.high_dual[k] + length * self.high_dual[k]);
        }
        for row in 0..iterate.room.len() {
            gap += (iterate.slack[row] + length * self.slack[row])
                * (iterate.price[row] + length * self.price[row]);
        }
        gap
    }
}

/// Newton system at one iterate, with the budgets eliminated and the coupling rows factored.
struct System<'d> {
    derivatives: &'d [(f64, f64)],
    /// 1 / (zl/x + zu/(h−x) − f'').
    weight: Vec<f64>,
    /// Diagonal block of the budgets, block of coupling rows against budgets, and Cholesky factor of the Schur complement.
    diagonal: Vec<f64>,
    mixed: Vec<Vec<(u32, f64)>>,
    factor: Vec<f64>,
    size: usize,
}

impl<'d> System<'d> {
    fn new(iterate: &Iterate<'_>, derivatives: &'d [(f64, f64)]) -> Self {
        let budgets = iterate.problem.budgets.len();
        let size = iterate.room.len() - budgets;
        let mut diagonal: Vec<f64> = (0..budgets)
            .map(|row| iterate.slack[row] / iterate.price[row])
            .collect();
        let mut mixed = vec![0.0; budgets * size];
        let mut factor = vec![0.0; size * size];
        for place in 0..size {
            factor[place * size + place] =
                iterate.slack[budgets + place] / iterate.price[budgets + place];
        }
        let mut weights = Vec::with_capacity(iterate.columns.len());
        for (k, column) in iterate.columns.iter().enumerate() {
            let stiffness = iterate.low_dual[k] / iterate.x[k]
                + iterate.high_dual[k] / (column.width - iterate.x[k])
                - derivatives[k].1;
            let weight = 1.0 / stiffness;
            weights.push(weight);
            let pool = &iterate.problem.items[column.item as usize];
            let token = pool.token as usize;
            diagonal[token] += weight;
            let mut rows = [(0usize, 0.0); 4];
            let mut count = 0;
            iterate.each(k, |row, part| {
                if row >= budgets {
                    rows[count] = (row - budgets, part);
                    count += 1;
                }
            });
            for &(a, part) in &rows[..count] {
                mixed[token * size + a] += weight * part;
                for &(b, other) in &rows[..count] {
                    factor[a * size + b] += weight * part * other;
                }
            }
        }
        let mixed: Vec<Vec<(u32, f64)>> = (0..budgets)
            .map(|token| {
                (0..size)
                    .filter(|a| mixed[token * size + a] != 0.0)
                    .map(|a| (a as u32, mixed[token * size + a]))
                    .collect()
            })
            .collect();
        for (row, diagonal) in mixed.iter().zip(&diagonal) {
            for &(a, left) in row {
                for &(b, right) in row {
                    factor[a as usize * size + b as usize] -= left * right / diagonal;
                }
            }
        }
        cholesky(&mut factor, size);
        Self {
            derivatives,
            weight: weights,
            diagonal,
            mixed,
            factor,
            size,
        }
    }

    /// Direction towards complementarity `target`, with Mehrotra's second-order correction for the predictor step `before`.
    fn step(&self, iterate: &Iterate<'_>, target: f64, before: Option<&Step>) -> Step {
        let (columns, rows, budgets) = (
            iterate.columns.len(),
            iterate.room.len(),
            self.diagonal.len(),
        );
        let push: Vec<f64> = (0..columns)
            .map(|k| self.push(iterate, target, before, k))
            .collect();
        let mut right: Vec<f64> = (0..rows)
            .map(|row| {
                let correction = before.map_or(0.0, |step| step.slack[row] * step.price[row]);
                (target - correction) / iterate.price[row] - iterate.slack[row]
            })
            .collect();
        for (k, push) in push.iter().enumerate() {
            let moved = self.weight[k] * push;
            iterate.each(k, |row, part| right[row] += part * moved);
        }
        // The primal residual is omitted: the start is feasible and every step preserves that.
        let price = self.solve(right, budgets);
        let mut step = Step {
            x: vec![0.0; columns],
            low_dual: vec![0.0; columns],
            high_dual: vec![0.0; columns],
            slack: vec![0.0; rows],
            price,
        };
        for (k, push) in push.iter().enumerate() {
            let mut cost = 0.0;
            iterate.each(k, |row, part| cost += part * step.price[row]);
            let move_x = self.weight[k] * (push - cost);
            iterate.each(k, |row, part| step.slack[row] -= part * move_x);
            let (x, rest) = (iterate.x[k], iterate.columns[k].width - iterate.x[k]);
            let (low, high) = before.map_or((0.0, 0.0), |step| {
                (step.x[k] * step.low_dual[k], -step.x[k] * step.high_dual[k])
            });
            step.x[k] = move_x;
            step.low_dual[k] =
                (target - low - iterate.low_dual[k] * move_x) / x - iterate.low_dual[k];
            step.high_dual[k] =
                (target - high + iterate.high_dual[k] * move_x) / rest - iterate.high_dual[k];
        }
        step
    }

    /// Right-hand side of a column, with the multipliers of its bounds eliminated.
    fn push(&self, iterate: &Iterate<'_>, target: f64, before: Option<&Step>, k: usize) -> f64 {
        let (x, rest) = (iterate.x[k], iterate.columns[k].width - iterate.x[k]);
        let (mut low, mut high) = (target / x, target / rest);
        if let Some(step) = before {
            low -= step.x[k] * step.low_dual[k] / x;
            high += step.x[k] * step.high_dual[k] / rest;
        }
        self.derivatives[k].0 - iterate.cost(k) + low - high
    }

    fn solve(&self, mut right: Vec<f64>, budgets: usize) -> Vec<f64> {
        for (token, row) in self.mixed.iter().enumerate() {
            for &(a, value) in row {
                right[budgets + a as usize] -= value * right[token] / self.diagonal[token];
            }
        }
        substitute(&self.factor, self.size, &mut right[budgets..]);
        for (token, row) in self.mixed.iter().enumerate() {
            let taken: f64 = row
                .iter()
                .map(|&(a, value)| value * right[budgets + a as usize])
                .sum();
            right[token] = (right[token] - taken) / self.diagonal[token];
        }
        right
    }
}

/// Cholesky factorization in place; a pivot lost to rounding is made huge, which fixes its row.
fn cholesky(matrix: &mut [f64], size: usize) {
    for j in 0..size {
        let whole = matrix[j * size + j];
        let mut pivot = whole;
        for k in 0..j {
            pivot -= matrix[j * size + k] * matrix[j * size + k];
        }
        let pivot = if pivot > 1e-15 * whole {
            pivot.sqrt()
        } else {
            1e100
        };
        matrix[j * size + j] = pivot;
        for i in j + 1..size {
            let mut sum = matrix[i * size + j];
            for k in 0..j {
                sum -= matrix[i * size + k] * matrix[j * size + k];
            }
            matrix[i * size + j] = sum / pivot;
        }
    }
}

fn substitute(factor: &[f64], size: usize, right: &mut [f64]) {
    for i in 0..size {
        for k in 0..i {
            right[i] -= factor[i * size + k] * right[k];
        }
        right[i] /= factor[i * size + i];
    }
    for i in (0..size).rev() {
        for k in i + 1..size {
            right[i] -= factor[k * size + i] * right[k];
        }
        right[i] /= factor[i * size + i];
    }
}
