//! Primal–dual interior-point method over the concave hulls of all pools at once. Only the normal matrix of the constraints is factored,
//! and of it only the coupling rows, since no pool is in two budgets (Mehrotra 1992; Wright, "Primal-Dual Interior-Point Methods", ch. 10).

use super::{
    effort::Effort,
    program::{Choice, LinearProgram},
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
struct Path<'a> {
    program: &'a LinearProgram,
    columns: Vec<Column>,
    /// Index of each coupling row in the factored matrix.
    places: Vec<Option<usize>>,
    /// Remaining capacity of the budgets, then of the active rows.
    room: Vec<f64>,
    x: Vec<f64>,
    below: Vec<f64>,
    above: Vec<f64>,
    slack: Vec<f64>,
    price: Vec<f64>,
}

/// Solves the relaxation over the hulls with each item free or required, and only the `active` coupling rows; `items` excludes those ruled
/// out. Returns `None` if the required minimum deposits do not fit.
pub fn solve(program: &LinearProgram, items: &[(u32, Choice)], active: &[bool], effort: &mut Effort<'_>) -> Option<Interior> {
    let mut places = vec![None; program.caps.len()];
    let mut room = program.budgets.clone();
    for (row, _) in active.iter().enumerate().filter(|(_, active)| **active) {
        places[row] = Some(room.len());
        room.push(program.caps[row]);
    }
    let whole = room.clone();
    for &(item, _) in items.iter().filter(|(_, choice)| *choice == Choice::In) {
        let pool = &program.items[item as usize];
        room[pool.token as usize] -= pool.low;
        for &(row, weight) in pool.rows.iter().flatten() {
            if let Some(place) = places[row as usize] {
                room[place] -= weight * pool.low;
            }
        }
    }
    if room.iter().zip(&whole).any(|(room, whole)| *room < -1e-12 * whole) {
        return None;
    }
    // A row without capacity bars all items that would load it: they get no columns, and the row a sufficient shadow price.
    let full: Vec<bool> = room.iter().zip(&whole).map(|(room, whole)| *room <= 1e-12 * whole).collect();
    for (room, _) in room.iter_mut().zip(&full).filter(|(_, full)| **full) {
        *room = 1.0;
    }
    let mut kept_out = vec![0.0f64; program.caps.len()];
    let mut columns = Vec::with_capacity(items.len() * 2);
    for &(item, choice) in items {
        let pool = &program.items[item as usize];
        let mut barred = full[pool.token as usize];
        for &(row, weight) in pool.rows.iter().flatten().filter(|(_, weight)| *weight > 0.0) {
            if places[row as usize].is_some_and(|place| full[place]) {
                barred = true;
                kept_out[row as usize] = kept_out[row as usize].max(pool.chord.max(pool.curve.slope(pool.low)) / weight);
            }
        }
        if barred {
            continue;
        }
        let from = if choice == Choice::Free { pool.knee } else { pool.low };
        if choice == Choice::Free {
            columns.push(Column { item, from: 0.0, width: pool.knee, chord: true });
        }
        if pool.high - from > 1e-13 * pool.high {
            columns.push(Column { item, from, width: pool.high - from, chord: false });
        }
    }
    let mut path = Path::new(program, columns, places, room);
    path.walk(effort);
    let mut interior = path.result(items);
    for (price, kept_out) in interior.rows.iter_mut().zip(kept_out) {
        *price = price.max(kept_out);
    }
    Some(interior)
}

impl<'a> Path<'a> {
    fn new(program: &'a LinearProgram, columns: Vec<Column>, places: Vec<Option<usize>>, room: Vec<f64>) -> Self {
        let count = columns.len();
        let mut path = Self {
            program,
            x: vec![0.0; count],
            below: vec![0.0; count],
            above: vec![0.0; count],
            slack: room.clone(),
            price: vec![0.0; room.len()],
            columns,
            places,
            room,
        };
        path.start();
        path
    }

    /// Strictly feasible starting point, with prices that make all dual residuals 0. A tiny centred start would stall, so no value is tiny.
    fn start(&mut self) {
        let mut load = vec![0.0; self.room.len()];
        for k in 0..self.columns.len() {
            self.each(k, |row, weight| load[row] += weight * self.columns[k].width);
        }
        let mut slopes = Vec::with_capacity(self.columns.len());
        for k in 0..self.columns.len() {
            let mut part = 0.5f64;
            self.each(k, |row, _| part = part.min(0.5 * self.room[row] / load[row]));
            self.x[k] = self.columns[k].width * part;
            slopes.push(self.derivatives(k).0);
        }
        for k in 0..self.columns.len() {
            let x = self.x[k];
            let mut taken = std::mem::take(&mut self.slack);
            self.each(k, |row, weight| taken[row] -= weight * x);
            self.slack = taken;
        }
        let middle = slopes.len() / 2;
        let median = if slopes.is_empty() { 1.0 } else { *slopes.clone().select_nth_unstable_by(middle, f64::total_cmp).1 };
        let scale = median.abs().max(1e-9);
        self.price.fill(0.5 * scale);
        for (k, slope) in slopes.into_iter().enumerate() {
            let cost = self.cost(k);
            self.below[k] = (cost - slope).max(0.0) + 0.1 * scale;
            self.above[k] = slope - cost + self.below[k];
        }
    }

    /// Calls `call` with each row of the column and its coefficient.
    #[inline]
    fn each(&self, k: usize, mut call: impl FnMut(usize, f64)) {
        let pool = &self.program.items[self.columns[k].item as usize];
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
        let pool = &self.program.items[column.item as usize];
        if column.chord {
            return (pool.chord, 0.0);
        }
        let y = column.from + self.x[k];
        (pool.curve.slope(y), pool.curve.bend(y).min(0.0))
    }

    fn gap(&self) -> f64 {
        let columns: f64 =
            (0..self.columns.len()).map(|k| self.x[k] * self.below[k] + (self.columns[k].width - self.x[k]) * self.above[k]).sum();
        columns + self.slack.iter().zip(&self.price).map(|(slack, price)| slack * price).sum::<f64>()
    }

    fn walk(&mut self, effort: &mut Effort<'_>) {
        let (columns, rows) = (self.columns.len(), self.room.len());
        if columns == 0 {
            return self.price.fill(0.0);
        }
        let pairs = (2 * columns + rows) as f64;
        let coupled = rows - self.program.budgets.len();
        let mut derivatives = vec![(0.0, 0.0); columns];
        for _ in 0..ITERATIONS {
            effort.spend(columns * 3 + coupled * coupled * coupled / 100 + rows);
            let mut worth = 0.0;
            for (k, derivative) in derivatives.iter_mut().enumerate() {
                *derivative = self.derivatives(k);
                worth += derivative.0 * self.x[k];
            }
            let gap = self.gap();
            let astray: f64 =
                (0..columns).map(|k| (derivatives[k].0 - self.cost(k) + self.below[k] - self.above[k]).abs() * self.columns[k].width).sum();
            if gap + astray <= CLOSE * worth || effort.cancelled {
                break;
            }
            let mu = gap / pairs;
            let mut system = System::new(self, &derivatives);
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
            self.below[k] += length * step.below[k];
            self.above[k] += length * step.above[k];
        }
        for row in 0..self.room.len() {
            self.slack[row] += length * step.slack[row];
            self.price[row] += length * step.price[row];
        }
    }

    fn result(self, items: &[(u32, Choice)]) -> Interior {
        let budgets = self.program.budgets.len();
        let mut deposits = Vec::with_capacity(items.len());
        let mut used = Vec::with_capacity(items.len());
        let mut columns = self.columns.iter().zip(&self.x).peekable();
        for &(item, choice) in items {
            let pool = &self.program.items[item as usize];
            let (mut y, mut part) = if choice == Choice::In { (pool.low, 1.0) } else { (0.0, 0.0) };
            while let Some((column, x)) = columns.next_if(|(column, _)| column.item == item) {
                y += x;
                if column.chord {
                    part = x / column.width;
                }
            }
            deposits.push((item, y.min(pool.high)));
            used.push(part);
        }
        let rows = self.places.iter().map(|place| place.map_or(0.0, |place| self.price[place])).collect();
        Interior { deposits, used, budgets: self.price[..budgets].to_vec(), rows }
    }
}

/// A search direction.
struct Step {
    x: Vec<f64>,
    below: Vec<f64>,
    above: Vec<f64>,
    slack: Vec<f64>,
    price: Vec<f64>,
}

impl Step {
    /// Maximum primal and dual step lengths: `share` of the distance to the boundary, at most 1.
    fn lengths(&self, path: &Path<'_>, share: f64) -> (f64, f64) {
        let (mut primal, mut dual) = (1.0 / share, 1.0 / share);
        let meet = |length: &mut f64, value: f64, change: f64| {
            if change < 0.0 {
                *length = length.min(-value / change);
            }
        };
        for k in 0..path.columns.len() {
            meet(&mut primal, path.x[k], self.x[k]);
            meet(&mut primal, path.columns[k].width - path.x[k], -self.x[k]);
            meet(&mut dual, path.below[k], self.below[k]);
            meet(&mut dual, path.above[k], self.above[k]);
        }
        for row in 0..path.room.len() {
            meet(&mut primal, path.slack[row], self.slack[row]);
            meet(&mut dual, path.price[row], self.price[row]);
        }
        ((primal * share).min(1.0), (dual * share).min(1.0))
    }

    fn gap_after(&self, path: &Path<'_>, length: f64) -> f64 {
        let mut gap = 0.0;
        for k in 0..path.columns.len() {
            let x = path.x[k] + length * self.x[k];
            gap += x * (path.below[k] + length * self.below[k]);
            gap += (path.columns[k].width - x) * (path.above[k] + length * self.above[k]);
        }
        for row in 0..path.room.len() {
            gap += (path.slack[row] + length * self.slack[row]) * (path.price[row] + length * self.price[row]);
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
    fn new(path: &Path<'_>, derivatives: &'d [(f64, f64)]) -> Self {
        let budgets = path.program.budgets.len();
        let size = path.room.len() - budgets;
        let mut diagonal: Vec<f64> = (0..budgets).map(|row| path.slack[row] / path.price[row]).collect();
        let mut mixed = vec![0.0; budgets * size];
        let mut factor = vec![0.0; size * size];
        for place in 0..size {
            factor[place * size + place] = path.slack[budgets + place] / path.price[budgets + place];
        }
        let mut weights = Vec::with_capacity(path.columns.len());
        for (k, column) in path.columns.iter().enumerate() {
            let stiffness = path.below[k] / path.x[k] + path.above[k] / (column.width - path.x[k]) - derivatives[k].1;
            let weight = 1.0 / stiffness;
            weights.push(weight);
            let pool = &path.program.items[column.item as usize];
            let token = pool.token as usize;
            diagonal[token] += weight;
            let mut rows = [(0usize, 0.0); 3];
            let mut count = 0;
            path.each(k, |row, part| {
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
            .map(|token| (0..size).filter(|a| mixed[token * size + a] != 0.0).map(|a| (a as u32, mixed[token * size + a])).collect())
            .collect();
        for (row, diagonal) in mixed.iter().zip(&diagonal) {
            for &(a, left) in row {
                for &(b, right) in row {
                    factor[a as usize * size + b as usize] -= left * right / diagonal;
                }
            }
        }
        cholesky(&mut factor, size);
        Self { derivatives, weight: weights, diagonal, mixed, factor, size }
    }

    /// Direction towards complementarity `target`, with Mehrotra's second-order correction for the predictor step `before`.
    fn step(&mut self, path: &Path<'_>, target: f64, before: Option<&Step>) -> Step {
        let (columns, rows, budgets) = (path.columns.len(), path.room.len(), self.diagonal.len());
        let mut push = vec![0.0; columns];
        let mut right: Vec<f64> = (0..rows)
            .map(|row| {
                let curl = before.map_or(0.0, |step| step.slack[row] * step.price[row]);
                (target - curl) / path.price[row] - path.slack[row]
            })
            .collect();
        for (k, push) in push.iter_mut().enumerate() {
            let (x, rest) = (path.x[k], path.columns[k].width - path.x[k]);
            let (mut low, mut high) = (target / x, target / rest);
            if let Some(step) = before {
                low -= step.x[k] * step.below[k] / x;
                high += step.x[k] * step.above[k] / rest;
            }
            *push = self.derivatives[k].0 - path.cost(k) + low - high;
            let moved = self.weight[k] * *push;
            path.each(k, |row, part| right[row] += part * moved);
        }
        // The primal residual is omitted: the start is feasible and every step preserves that.
        let price = self.solve(right, budgets);
        let mut step = Step { x: vec![0.0; columns], below: vec![0.0; columns], above: vec![0.0; columns], slack: vec![0.0; rows], price };
        for (k, push) in push.iter().enumerate() {
            let mut cost = 0.0;
            path.each(k, |row, part| cost += part * step.price[row]);
            let move_x = self.weight[k] * (push - cost);
            path.each(k, |row, part| step.slack[row] -= part * move_x);
            let (x, rest) = (path.x[k], path.columns[k].width - path.x[k]);
            let (curl_low, curl_high) = before.map_or((0.0, 0.0), |step| (step.x[k] * step.below[k], -step.x[k] * step.above[k]));
            step.x[k] = move_x;
            step.below[k] = (target - curl_low - path.below[k] * move_x) / x - path.below[k];
            step.above[k] = (target - curl_high + path.above[k] * move_x) / rest - path.above[k];
        }
        step
    }

    fn solve(&self, mut right: Vec<f64>, budgets: usize) -> Vec<f64> {
        for (token, row) in self.mixed.iter().enumerate() {
            for &(a, value) in row {
                right[budgets + a as usize] -= value * right[token] / self.diagonal[token];
            }
        }
        substitute(&self.factor, self.size, &mut right[budgets..]);
        for (token, row) in self.mixed.iter().enumerate() {
            let taken: f64 = row.iter().map(|&(a, value)| value * right[budgets + a as usize]).sum();
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
        let pivot = if pivot > 1e-15 * whole { pivot.sqrt() } else { 1e100 };
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
