//! Joint optimization of all tokens by branch and bound. Each token is solved alone first: if the result satisfies the coupling rows, it is
//! optimal. Otherwise the interior-point method prices those rows, every token is solved again at these prices, which bounds any plan
//! (Lagrangian relaxation), and branching on the pools closes the remaining gap.

use std::collections::HashSet;

use super::{
    WorkBudget,
    interior::{self, Interior},
    open_nodes::OpenNodes,
    problem::{AllocationProblem, CAP_TOLERANCE, Choice, Deposits},
    single_token::{self, Solved, TokenProblem},
};

/// Best plan found and its upper bound, in units of the wallet.
#[derive(Debug, Clone, Default)]
pub struct Optimum {
    pub deposits: Deposits,
    pub value: f64,
    pub bound: f64,
    /// Whether coupling rows were binding.
    pub joint: bool,
}

/// Maximum number of supports tried by flipping one pool, at the root.
const FLIPS: usize = 16;
/// Up to this many pools, all are in the relaxation from the start.
const WHOLE: usize = 300;
const ROUNDS: usize = 12;

/// The best plan within the effort.
pub fn optimum(problem: &AllocationProblem, effort: &mut WorkBudget<'_>) -> Optimum {
    let mut members = vec![Vec::new(); problem.budgets.len()];
    for (i, item) in problem.items.iter().enumerate() {
        members[item.token as usize].push(i as u32);
    }
    let shadow_costs = vec![0.0; problem.items.len()];
    let mut best = Optimum::default();
    let mut lambdas = Vec::with_capacity(members.len());
    for (members, &budget) in members.iter().zip(&problem.budgets) {
        let token = TokenProblem {
            items: &problem.items,
            shadow_costs: &shadow_costs,
            budget,
        };
        let solved = single_token::solve(token, &[], members, effort);
        lambdas.push(solved.as_ref().map_or(0.0, |solved| solved.lambda));
        if let Some(solved) = solved {
            best.deposits.extend(solved.deposits);
            best.value += solved.value;
            best.bound += solved.bound;
        }
    }
    let broken: Vec<bool> = broken_rows(problem, &best.deposits).collect();
    if !broken.contains(&true) {
        return best;
    }
    let nothing = Optimum {
        bound: best.bound,
        joint: true,
        ..Optimum::default()
    };
    let joint = Joint {
        problem,
        active: broken,
        lambdas,
        best: nothing,
        seen: HashSet::new(),
        open: OpenNodes::new(),
        closed: f64::NEG_INFINITY,
        effort,
    };
    joint.search(&best.deposits)
}

/// Whether each coupling row is violated.
fn broken_rows(problem: &AllocationProblem, deposits: &[(u32, f64)]) -> impl Iterator<Item = bool> {
    problem
        .loads(deposits)
        .into_iter()
        .zip(problem.caps.clone())
        .map(|(load, cap)| load > cap * (1.0 + CAP_TOLERANCE))
}

/// A node of the search tree: items with their states, and the item to branch on.
struct Node {
    items: Vec<(u32, Choice)>,
    branch: u32,
}

struct Joint<'a, 'b> {
    problem: &'a AllocationProblem,
    /// Coupling rows that some solution violated; the others have price 0 and are only monitored.
    active: Vec<bool>,
    lambdas: Vec<f64>,
    best: Optimum,
    seen: HashSet<Vec<u32>>,
    open: OpenNodes<Node>,
    /// Largest bound of a closed node that was not pruned by the best plan.
    closed: f64,
    effort: &'a mut WorkBudget<'b>,
}

/// Each token solved at the prices of the coupling rows.
struct Priced {
    bound: f64,
    shadow_costs: Vec<f64>,
    tokens: Vec<Option<Solved>>,
}

impl Joint<'_, '_> {
    fn search(mut self, alone: &[(u32, f64)]) -> Optimum {
        let all: Vec<(u32, Choice)> = (0..self.problem.items.len() as u32)
            .map(|item| (item, Choice::Free))
            .collect();
        let ceiling = self.best.bound;
        let favourites: Vec<u32> = alone.iter().map(|(item, _)| *item).collect();
        self.attempt(favourites);
        self.visit(all, true);
        loop {
            let floor = self.best.value + self.effort.tolerance(self.best.value);
            let over = self.effort.is_over();
            let Some(node) = self.open.pop_if(|bound| bound > floor && !over) else {
                break;
            };
            for choice in [Choice::Out, Choice::In] {
                let mut items = node.items.clone();
                match choice {
                    Choice::Out => items.retain(|(item, _)| *item != node.branch),
                    _ => items
                        .iter_mut()
                        .filter(|(item, _)| *item == node.branch)
                        .for_each(|(_, choice)| *choice = Choice::In),
                }
                self.visit(items, false);
            }
        }
        self.best.bound = self
            .open
            .bound()
            .max(self.closed)
            .min(ceiling)
            .max(self.best.value);
        self.best
    }

    fn visit(&mut self, items: Vec<(u32, Choice)>, root: bool) {
        let Some(relaxed) = self.relax(&items) else {
            return;
        };
        let Some(priced) = self.price(&items, &relaxed.rows) else {
            return;
        };
        let union: Vec<u32> = priced
            .tokens
            .iter()
            .flatten()
            .flat_map(|token| token.deposits.iter().map(|(item, _)| *item))
            .collect();
        self.attempt(union);
        let parts = || {
            relaxed
                .deposits
                .iter()
                .zip(&relaxed.used)
                .map(|((item, _), used)| (*item, *used))
        };
        for least in [0.5, 1e-5, 0.999] {
            self.attempt(
                parts()
                    .filter(|(_, used)| *used >= least)
                    .map(|(item, _)| item)
                    .collect(),
            );
        }
        if root && !self.is_enough(priced.bound) {
            self.flip(
                parts()
                    .filter(|(_, used)| (1e-3..=0.999).contains(used))
                    .map(|(item, _)| item)
                    .collect(),
            );
        }
        if self.is_enough(priced.bound) {
            self.closed = self.closed.max(priced.bound);
            return;
        }
        let items = self.fix(items, &priced);
        // Branches on half-used pools with the largest effect; branching by the fee alone is far worse.
        let unsure = |(item, used): (u32, f64)| {
            let pool = &self.problem.items[item as usize];
            (used.min(1.0 - used) * pool.chord * pool.chord_end, item)
        };
        let free: HashSet<u32> = items
            .iter()
            .filter(|(_, choice)| *choice == Choice::Free)
            .map(|(item, _)| *item)
            .collect();
        let worst = parts()
            .filter(|(item, _)| free.contains(item))
            .map(unsure)
            .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        let Some((_, branch)) = worst else {
            self.closed = self.closed.max(priced.bound);
            return;
        };
        self.open.push(priced.bound, Node { items, branch });
    }

    fn is_enough(&self, bound: f64) -> bool {
        bound <= self.best.value + self.effort.tolerance(self.best.value)
    }

    /// Optimum over the hulls; activates violated rows, and adds pools that are profitable at the resulting prices (column generation).
    fn relax(&mut self, items: &[(u32, Choice)]) -> Option<Interior> {
        let pools = &self.problem.items;
        let wanted = |item: u32, choice: Choice, part: f64| {
            let pool = &pools[item as usize];
            choice == Choice::In || pool.chord >= part * self.lambdas[pool.token as usize]
        };
        let part = if items.len() > WHOLE { 0.8 } else { 0.0 };
        let mut live: Vec<bool> = items
            .iter()
            .map(|&(item, choice)| wanted(item, choice, part))
            .collect();
        for round in 1.. {
            let chosen: Vec<(u32, Choice)> = items
                .iter()
                .zip(&live)
                .filter(|(_, live)| **live)
                .map(|(item, _)| *item)
                .collect();
            let solved = interior::solve(self.problem, &chosen, &self.active, self.effort)?;
            let mut settled = true;
            let broken: Vec<bool> = broken_rows(self.problem, &solved.deposits).collect();
            for (active, broken) in self.active.iter_mut().zip(broken) {
                settled &= *active || !broken;
                *active |= broken;
            }
            for (&(item, _), live) in items.iter().zip(&mut live).filter(|(_, live)| !**live) {
                let pool = &pools[item as usize];
                if pool.chord
                    > pool.shadow_cost(&solved.rows)
                        + solved.budgets[pool.token as usize] * (1.0 + 1e-9)
                {
                    *live = true;
                    settled = false;
                }
            }
            if settled || round == ROUNDS {
                return Some(solved);
            }
        }
        None
    }

    /// Solves every token at these prices; `None` if the required minimum deposits do not fit.
    fn price(&mut self, items: &[(u32, Choice)], rows: &[f64]) -> Option<Priced> {
        let mut shadow_costs = vec![0.0; self.problem.items.len()];
        let mut members = vec![(Vec::new(), Vec::new()); self.problem.budgets.len()];
        for &(item, choice) in items {
            let pool = &self.problem.items[item as usize];
            shadow_costs[item as usize] = pool.shadow_cost(rows);
            let (required, free) = &mut members[pool.token as usize];
            if choice == Choice::In {
                required.push(item);
            } else {
                free.push(item);
            }
        }
        let mut bound: f64 = rows
            .iter()
            .zip(&self.problem.caps)
            .map(|(price, cap)| price * cap)
            .sum();
        let mut tokens = Vec::with_capacity(members.len());
        for ((required, free), &budget) in members.iter().zip(&self.problem.budgets) {
            if required.is_empty() && free.is_empty() {
                tokens.push(None);
                continue;
            }
            let token = TokenProblem {
                items: &self.problem.items,
                shadow_costs: &shadow_costs,
                budget,
            };
            let solved = single_token::solve(token, required, free, self.effort)?;
            bound += solved.bound;
            tokens.push(Some(solved));
        }
        Some(Priced {
            bound,
            shadow_costs,
            tokens,
        })
    }

    /// Reduced-cost fixing: pools that no better plan can use are ruled out, those that it must use are required.
    fn fix(&self, items: Vec<(u32, Choice)>, priced: &Priced) -> Vec<(u32, Choice)> {
        let floor = self.best.value;
        let judge = |(item, choice): (u32, Choice)| {
            let pool = &self.problem.items[item as usize];
            let token = priced.tokens[pool.token as usize].as_ref()?;
            if choice == Choice::In {
                return Some((item, choice));
            }
            let hull_bound = priced.bound - token.bound + token.hull_bound;
            let price = token.lambda + priced.shadow_costs[item as usize];
            if pool.chord < price {
                return (hull_bound + (pool.chord - price) * pool.low >= floor)
                    .then_some((item, choice));
            }
            Some((
                item,
                if hull_bound - pool.surplus_bound(price).max(0.0) < floor {
                    Choice::In
                } else {
                    choice
                },
            ))
        };
        items.into_iter().filter_map(judge).collect()
    }

    /// Tries the best support with each of these pools added or removed.
    fn flip(&mut self, mut pools: Vec<u32>) {
        pools.truncate(FLIPS);
        for item in pools {
            let mut support: Vec<u32> = self.best.deposits.iter().map(|(item, _)| *item).collect();
            match support.iter().position(|kept| *kept == item) {
                Some(at) => drop(support.remove(at)),
                None => support.push(item),
            }
            self.attempt(support);
        }
    }

    /// Optimizes the deposits for this set of pools, dropping those that do not fit or pay, and keeps the result if it is the best.
    fn attempt(&mut self, support: Vec<u32>) {
        let mut support = self.fitted(support);
        for _ in 0..4 {
            if support.is_empty() || self.effort.is_over() || !self.seen.insert(support.clone()) {
                return;
            }
            let items: Vec<(u32, Choice)> =
                support.iter().map(|item| (*item, Choice::In)).collect();
            let Some(solved) = self.relax(&items) else {
                return;
            };
            let value = self.problem.net(&solved.deposits);
            if value > self.best.value
                && !broken_rows(self.problem, &solved.deposits).any(|broken| broken)
            {
                self.best.deposits.clone_from(&solved.deposits);
                self.best.value = value;
            }
            let pays = |&(item, y): &(u32, f64)| {
                let pool = &self.problem.items[item as usize];
                pool.net(y)
                    >= (pool.shadow_cost(&solved.rows) + solved.budgets[pool.token as usize]) * y
            };
            let kept: Vec<u32> = solved
                .deposits
                .iter()
                .filter(|deposit| pays(deposit))
                .map(|(item, _)| *item)
                .collect();
            if kept.len() == support.len() {
                return;
            }
            support = kept;
        }
    }

    /// The support in order; drops pools, least profitable first, whose minimum deposits do not fit the rows.
    fn fitted(&self, mut support: Vec<u32>) -> Vec<u32> {
        let pools = &self.problem.items;
        support.sort_unstable_by(|a, b| {
            pools[*b as usize]
                .chord
                .total_cmp(&pools[*a as usize].chord)
                .then(a.cmp(b))
        });
        support.dedup();
        let (mut budgets, mut caps) = (self.problem.budgets.clone(), self.problem.caps.clone());
        support.retain(|&item| {
            let pool = &pools[item as usize];
            let fits = pool.low <= budgets[pool.token as usize] * (1.0 + 1e-13)
                && pool
                    .rows
                    .iter()
                    .flatten()
                    .all(|&(row, weight)| weight * pool.low <= caps[row as usize]);
            if fits {
                budgets[pool.token as usize] -= pool.low;
                for &(row, weight) in pool.rows.iter().flatten() {
                    caps[row as usize] -= weight * pool.low;
                }
            }
            fits
        });
        support.sort_unstable();
        support
    }
}
