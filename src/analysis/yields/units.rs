//! Rounding of the optimum to whole smallest units: all deposits are rounded down, then the remainder is distributed to where it earns
//! most. Every cap holds in whole units, and a fully placed token is placed to its last unit.

use ruint::aliases::U256;

use super::{
    amounts,
    case::Case,
    program::{CAP_TOLERANCE, LinearProgram},
    wallet::WalletToken,
};

/// A position in whole units.
#[derive(Debug, Clone, Copy)]
pub struct Position {
    pub item: u32,
    pub amount: U256,
    least: U256,
    most: U256,
}

/// A token counts as fully placed if at most this fraction of it remains.
const FULL: f64 = 1e-9;
/// Tokens with so few decimals, or so few units, are distributed unit by unit.
const COARSE_DECIMALS: u32 = 2;
const COARSE_UNITS: u64 = 1_000_000;
const MOVES: usize = 2_000;

/// Rounds the optimum of a case to whole units, by holding.
pub fn settle(case: &Case<'_>, holdings: &[WalletToken], deposits: &[(u32, f64)]) -> Vec<Position> {
    let program = &case.program;
    let mut settling = Settling { program, loads: Vec::new(), positions: Vec::with_capacity(deposits.len()) };
    let mut start = 0;
    let mut sorted: Vec<(u32, f64)> = deposits.to_vec();
    sorted.sort_unstable_by_key(|(item, _)| (program.items[*item as usize].token, *item));
    // All are rounded down before any is raised, so that the rows' loads are known.
    let mut ranges = Vec::new();
    for (token, holding) in holdings.iter().enumerate() {
        let budget = program.budgets[token];
        while start < sorted.len() && program.items[sorted[start].0 as usize].token as usize == token {
            let (item, y) = sorted[start];
            let pool = &program.items[item as usize];
            let units = |y: f64| amounts::share(holding.amount, y / budget);
            let low = units(pool.low);
            let least =
                if low < holding.amount && pool.low < budget { low.saturating_add(U256::from(u8::from(!low.is_zero()))) } else { low };
            let position = Position { item, amount: units(y), least: least.max(U256::ONE).min(units(pool.high)), most: units(pool.high) };
            settling.positions.push(position);
            start += 1;
        }
        let from = ranges.last().copied().unwrap_or_default();
        trim(&mut settling.positions[from..], holding.amount);
        ranges.push(settling.positions.len());
    }
    let value = |position: &Position| holdings[program.items[position.item as usize].token as usize].value(position.amount) / case.unit;
    let cut: Vec<(u32, f64)> = settling.positions.iter().map(|position| (position.item, value(position))).collect();
    settling.loads = program.loads(&cut);
    let mut from = 0;
    for ((token, holding), to) in holdings.iter().enumerate().zip(ranges) {
        if from < to {
            let placed: f64 = settling.positions[from..to].iter().map(|at| deposit(&sorted, at.item)).sum();
            let full = placed >= program.budgets[token] * (1.0 - FULL);
            settling.token(holding, program.budgets[token], from, to, full);
        }
        from = to;
    }
    settling.positions.retain(|position| !position.amount.is_zero());
    settling.positions
}

/// Removes any excess over the amount due to rounding from the largest position.
fn trim(positions: &mut [Position], amount: U256) {
    let over = amounts::sum(positions.iter().map(|position| position.amount)).saturating_sub(amount);
    if let Some(largest) = positions.iter_mut().max_by_key(|position| position.amount) {
        largest.amount = largest.amount.saturating_sub(over);
    }
}

fn deposit(deposits: &[(u32, f64)], item: u32) -> f64 {
    deposits.iter().find(|(other, _)| *other == item).map_or(0.0, |(_, y)| *y)
}

struct Settling<'a> {
    program: &'a LinearProgram,
    loads: Vec<f64>,
    positions: Vec<Position>,
}

impl Settling<'_> {
    /// The part of the budget that corresponds to an amount.
    fn part(holding: &WalletToken, budget: f64, amount: U256) -> f64 {
        budget * (amounts::to_float(amount) / amounts::to_float(holding.amount))
    }

    /// Remaining capacity of the rows for the item, in units of the budget.
    fn room(&self, item: u32) -> f64 {
        let rows = self.program.items[item as usize].rows.iter().flatten().filter(|(_, weight)| *weight > 0.0);
        let left = rows.map(|&(row, weight)| (self.program.caps[row as usize] * (1.0 + CAP_TOLERANCE) - self.loads[row as usize]) / weight);
        left.fold(f64::INFINITY, f64::min)
    }

    fn put(&mut self, at: usize, amount: U256, holding: &WalletToken, budget: f64) {
        let position = &mut self.positions[at];
        let change = Self::part(holding, budget, amount) - Self::part(holding, budget, position.amount);
        position.amount = amount;
        for &(row, weight) in self.program.items[position.item as usize].rows.iter().flatten() {
            self.loads[row as usize] += weight * change;
        }
    }

    fn token(&mut self, holding: &WalletToken, budget: f64, from: usize, to: usize, full: bool) {
        let coarse = holding.decimals.is_some_and(|decimals| decimals <= COARSE_DECIMALS) || holding.amount < U256::from(COARSE_UNITS);
        let left = |positions: &[Position]| holding.amount.saturating_sub(amounts::sum(positions.iter().map(|position| position.amount)));
        if coarse {
            for at in from..to {
                let (least, amount) = (self.positions[at].least, self.positions[at].amount);
                if amount < least {
                    let missing = least - amount;
                    let fits = missing <= left(&self.positions[from..to])
                        && Self::part(holding, budget, missing) <= self.room(self.positions[at].item);
                    self.put(at, if fits { least } else { U256::ZERO }, holding, budget);
                }
            }
        }
        // In descending order of marginal earnings.
        let slope = |this: &Self, at: usize| {
            let position = &this.positions[at];
            let pool = &this.program.items[position.item as usize];
            pool.curve.slope(Self::part(holding, budget, position.amount))
        };
        if full {
            let mut order: Vec<usize> = (from..to).filter(|at| !self.positions[*at].amount.is_zero()).collect();
            order.sort_by(|a, b| slope(self, *b).total_cmp(&slope(self, *a)).then(a.cmp(b)));
            if coarse {
                self.units(holding, budget, &order);
            }
            for at in order {
                let position = self.positions[at];
                let more = left(&self.positions[from..to]).min(position.most.saturating_sub(position.amount));
                if !more.is_zero() && Self::part(holding, budget, more) <= self.room(position.item) {
                    self.put(at, position.amount + more, holding, budget);
                }
            }
        }
        if coarse {
            self.exchange(holding, budget, from, to);
        }
    }

    /// Distributes the remainder unit by unit, each to where it earns most.
    fn units(&mut self, holding: &WalletToken, budget: f64, order: &[usize]) {
        let one = Self::part(holding, budget, U256::ONE);
        let placed = amounts::sum(order.iter().map(|at| self.positions[*at].amount));
        let mut left = holding.amount.saturating_sub(placed);
        for _ in 0..MOVES {
            if left.is_zero() {
                return;
            }
            let open = order
                .iter()
                .copied()
                .filter(|at| self.positions[*at].amount < self.positions[*at].most && one <= self.room(self.positions[*at].item));
            let gain = |at: usize| self.gain(at, holding, budget, true);
            let Some(at) = open.max_by(|a, b| gain(*a).total_cmp(&gain(*b)).then(b.cmp(a))) else { return };
            self.put(at, self.positions[at].amount + U256::ONE, holding, budget);
            left -= U256::ONE;
        }
    }

    /// Earnings of the next unit into a position, or loss from taking out the last one.
    fn gain(&self, at: usize, holding: &WalletToken, budget: f64, up: bool) -> f64 {
        let position = &self.positions[at];
        let curve = &self.program.items[position.item as usize].curve;
        let (low, high) = if up { (position.amount, position.amount + U256::ONE) } else { (position.amount - U256::ONE, position.amount) };
        curve.value(Self::part(holding, budget, high)) - curve.value(Self::part(holding, budget, low))
    }

    /// Moves single units as long as that increases the earnings, and removes positions that do not earn their fee.
    fn exchange(&mut self, holding: &WalletToken, budget: f64, from: usize, to: usize) {
        let one = Self::part(holding, budget, U256::ONE);
        for _ in 0..MOVES {
            let used = || (from..to).filter(|at| !self.positions[*at].amount.is_zero());
            let into =
                used().filter(|at| self.positions[*at].amount < self.positions[*at].most && one <= self.room(self.positions[*at].item));
            let out = used().filter(|at| self.positions[*at].amount > self.positions[*at].least);
            let up = into.map(|at| (self.gain(at, holding, budget, true), at)).max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
            let down = out.map(|at| (self.gain(at, holding, budget, false), at)).min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            match (up, down) {
                (Some((gain, into)), Some((cost, out))) if into != out && gain > cost * (1.0 + 1e-12) => {
                    self.put(out, self.positions[out].amount - U256::ONE, holding, budget);
                    self.put(into, self.positions[into].amount + U256::ONE, holding, budget);
                }
                _ => break,
            }
        }
        for at in from..to {
            let pool = &self.program.items[self.positions[at].item as usize];
            if pool.net(Self::part(holding, budget, self.positions[at].amount)) < 0.0 {
                self.put(at, U256::ZERO, holding, budget);
            }
        }
    }
}
