//! Rounding of the optimum to whole smallest units: all deposits are rounded down, then the remainder is distributed to where it earns
//! most. Every cap holds in whole units, and a fully allocated token is allocated to its last unit.

use std::ops::Range;

use ruint::aliases::U256;

use super::{
    amounts,
    case::Case,
    problem::{AllocationProblem, CAP_TOLERANCE, Item},
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
pub fn round_to_units(
    case: &Case<'_>,
    holdings: &[WalletToken],
    deposits: &[(u32, f64)],
) -> Vec<Position> {
    let problem = &case.problem;
    let mut sorted: Vec<(u32, f64)> = deposits.to_vec();
    sorted.sort_unstable_by_key(|(item, _)| (problem.items[*item as usize].token, *item));
    // All are rounded down before any is raised, so that the rows' loads are known.
    let (positions, tokens) = rounded_down(problem, holdings, &sorted);
    let value = |position: &Position| {
        holdings[problem.items[position.item as usize].token as usize].value(position.amount)
            / case.unit
    };
    let cut: Vec<(u32, f64)> = positions
        .iter()
        .map(|position| (position.item, value(position)))
        .collect();
    let mut rounding = Rounding {
        problem,
        loads: problem.loads(&cut),
        positions,
    };
    for token in tokens.iter().filter(|token| !token.range.is_empty()) {
        let placed: f64 = rounding.positions[token.range.clone()]
            .iter()
            .map(|position| deposit(&sorted, position.item))
            .sum();
        rounding.round_token(token, placed >= token.budget * (1.0 - FULL));
    }
    rounding
        .positions
        .retain(|position| !position.amount.is_zero());
    rounding.positions
}

/// A token and its positions.
struct TokenPositions<'a> {
    holding: &'a WalletToken,
    budget: f64,
    range: Range<usize>,
}

impl TokenPositions<'_> {
    /// The part of the budget that corresponds to an amount.
    fn part(&self, amount: U256) -> f64 {
        self.budget * (amounts::to_float(amount) / amounts::to_float(self.holding.amount))
    }

    /// The amount that is in none of its positions.
    fn left(&self, positions: &[Position]) -> U256 {
        self.holding.amount.saturating_sub(amounts::sum(
            positions[self.range.clone()]
                .iter()
                .map(|position| position.amount),
        ))
    }

    fn is_coarse(&self) -> bool {
        self.holding
            .decimals
            .is_some_and(|decimals| decimals <= COARSE_DECIMALS)
            || self.holding.amount < U256::from(COARSE_UNITS)
    }
}

/// Positions with the deposits rounded down, and the range of each token in them. The deposits are in order of their tokens.
fn rounded_down<'a>(
    problem: &AllocationProblem,
    holdings: &'a [WalletToken],
    deposits: &[(u32, f64)],
) -> (Vec<Position>, Vec<TokenPositions<'a>>) {
    let (mut positions, mut tokens) = (
        Vec::with_capacity(deposits.len()),
        Vec::with_capacity(holdings.len()),
    );
    for (token, holding) in holdings.iter().enumerate() {
        let (budget, start) = (problem.budgets[token], positions.len());
        let of_token =
            |(item, _): &&(u32, f64)| problem.items[*item as usize].token as usize == token;
        for &(item, y) in deposits[start..].iter().take_while(of_token) {
            let pool = &problem.items[item as usize];
            let units = |y: f64| amounts::share(holding.amount, y / budget);
            let low = units(pool.low);
            let least = if low < holding.amount && pool.low < budget {
                low.saturating_add(U256::from(u8::from(!low.is_zero())))
            } else {
                low
            };
            positions.push(Position {
                item,
                amount: units(y),
                least: least.max(U256::ONE).min(units(pool.high)),
                most: units(pool.high),
            });
        }
        trim(&mut positions[start..], holding.amount);
        tokens.push(TokenPositions {
            holding,
            budget,
            range: start..positions.len(),
        });
    }
    (positions, tokens)
}

/// Removes any excess over the amount due to rounding from the largest position.
fn trim(positions: &mut [Position], amount: U256) {
    let over =
        amounts::sum(positions.iter().map(|position| position.amount)).saturating_sub(amount);
    if let Some(largest) = positions.iter_mut().max_by_key(|position| position.amount) {
        largest.amount = largest.amount.saturating_sub(over);
    }
}

fn deposit(deposits: &[(u32, f64)], item: u32) -> f64 {
    deposits
        .iter()
        .find(|(other, _)| *other == item)
        .map_or(0.0, |(_, y)| *y)
}

struct Rounding<'a> {
    problem: &'a AllocationProblem,
    loads: Vec<f64>,
    positions: Vec<Position>,
}

impl Rounding<'_> {
    fn item(&self, at: usize) -> &Item {
        &self.problem.items[self.positions[at].item as usize]
    }

    /// Remaining capacity of the rows for the item of a position, in units of the budget.
    fn room(&self, at: usize) -> f64 {
        let rows = self
            .item(at)
            .rows
            .iter()
            .flatten()
            .filter(|(_, weight)| *weight > 0.0);
        let left = rows.map(|&(row, weight)| {
            (self.problem.caps[row as usize] * (1.0 + CAP_TOLERANCE) - self.loads[row as usize])
                / weight
        });
        left.fold(f64::INFINITY, f64::min)
    }

    fn put(&mut self, at: usize, amount: U256, token: &TokenPositions<'_>) {
        let change = token.part(amount) - token.part(self.positions[at].amount);
        self.positions[at].amount = amount;
        for (row, weight) in self.item(at).rows.into_iter().flatten() {
            self.loads[row as usize] += weight * change;
        }
    }

    /// Distributes what rounding down has left of a token; `full` if the optimum places all of it.
    fn round_token(&mut self, token: &TokenPositions<'_>, full: bool) {
        let coarse = token.is_coarse();
        if coarse {
            self.reach_minimums(token);
        }
        if full {
            // In descending order of marginal earnings.
            let slope = |at: usize| {
                self.item(at)
                    .curve
                    .slope(token.part(self.positions[at].amount))
            };
            let mut order: Vec<usize> = token
                .range
                .clone()
                .filter(|at| !self.positions[*at].amount.is_zero())
                .collect();
            order.sort_by(|a, b| slope(*b).total_cmp(&slope(*a)).then(a.cmp(b)));
            if coarse {
                self.distribute_units(token, &order);
            }
            for at in order {
                let position = self.positions[at];
                let more = token
                    .left(&self.positions)
                    .min(position.most.saturating_sub(position.amount));
                if !more.is_zero() && token.part(more) <= self.room(at) {
                    self.put(at, position.amount + more, token);
                }
            }
        }
        if coarse {
            self.exchange_units(token);
            self.drop_unprofitable(token);
        }
    }

    /// Raises positions below their minimum to it, or removes them if that does not fit.
    fn reach_minimums(&mut self, token: &TokenPositions<'_>) {
        for at in token.range.clone() {
            let Position { least, amount, .. } = self.positions[at];
            if amount < least {
                let missing = least - amount;
                let fits =
                    missing <= token.left(&self.positions) && token.part(missing) <= self.room(at);
                self.put(at, if fits { least } else { U256::ZERO }, token);
            }
        }
    }

    /// Whether one more unit fits into a position.
    fn has_room_for_one(&self, at: usize, token: &TokenPositions<'_>) -> bool {
        self.positions[at].amount < self.positions[at].most
            && token.part(U256::ONE) <= self.room(at)
    }

    /// Distributes the remainder unit by unit, each to where it earns most.
    fn distribute_units(&mut self, token: &TokenPositions<'_>, order: &[usize]) {
        let placed = amounts::sum(order.iter().map(|at| self.positions[*at].amount));
        let mut left = token.holding.amount.saturating_sub(placed);
        for _ in 0..MOVES {
            if left.is_zero() {
                return;
            }
            let open = order
                .iter()
                .copied()
                .filter(|at| self.has_room_for_one(*at, token));
            let gain = |at: usize| self.gain(at, token);
            let Some(at) = open.max_by(|a, b| gain(*a).total_cmp(&gain(*b)).then(b.cmp(a))) else {
                return;
            };
            self.put(at, self.positions[at].amount + U256::ONE, token);
            left -= U256::ONE;
        }
    }

    /// Earnings of the next unit into a position.
    fn gain(&self, at: usize, token: &TokenPositions<'_>) -> f64 {
        let amount = self.positions[at].amount;
        self.earnings_between(at, amount, amount + U256::ONE, token)
    }

    /// Loss of earnings from taking the last unit out of a position.
    fn loss(&self, at: usize, token: &TokenPositions<'_>) -> f64 {
        let amount = self.positions[at].amount;
        self.earnings_between(at, amount - U256::ONE, amount, token)
    }

    fn earnings_between(
        &self,
        at: usize,
        low: U256,
        high: U256,
        token: &TokenPositions<'_>,
    ) -> f64 {
        let curve = &self.item(at).curve;
        curve.value(token.part(high)) - curve.value(token.part(low))
    }

    /// Moves single units as long as that increases the earnings.
    fn exchange_units(&mut self, token: &TokenPositions<'_>) {
        for _ in 0..MOVES {
            let used = || {
                token
                    .range
                    .clone()
                    .filter(|at| !self.positions[*at].amount.is_zero())
            };
            let into = used().filter(|at| self.has_room_for_one(*at, token));
            let out = used().filter(|at| self.positions[*at].amount > self.positions[*at].least);
            let up = into
                .map(|at| (self.gain(at, token), at))
                .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
            let down = out
                .map(|at| (self.loss(at, token), at))
                .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            match (up, down) {
                (Some((gain, into)), Some((cost, out)))
                    if into != out && gain > cost * (1.0 + 1e-12) =>
                {
                    self.put(out, self.positions[out].amount - U256::ONE, token);
                    self.put(into, self.positions[into].amount + U256::ONE, token);
                }
                _ => return,
            }
        }
    }

    /// Removes positions that do not earn their fee.
    fn drop_unprofitable(&mut self, token: &TokenPositions<'_>) {
        for at in token.range.clone() {
            if self.item(at).net(token.part(self.positions[at].amount)) < 0.0 {
                self.put(at, U256::ZERO, token);
            }
        }
    }
}
