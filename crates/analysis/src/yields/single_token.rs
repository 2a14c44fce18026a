//! One token alone: its budget is the only constraint, so the optimum is water-filling to one level (KKT conditions). The relaxation uses
//! at most one pool partially although its fee is paid in full; best-first branch and bound decides whether it is in or out.

use super::{
    WorkBudget,
    open_nodes::OpenNodes,
    problem::{Deposits, Item},
};

/// The pools of one token, the additional unit cost in each (prices of coupling rows), and the budget.
#[derive(Debug, Clone, Copy)]
pub struct TokenProblem<'a> {
    pub items: &'a [Item],
    /// Indexed by item.
    pub shadow_costs: &'a [f64],
    pub budget: f64,
}

/// Optimum over the concave hulls.
#[derive(Debug, Clone)]
pub struct Relaxed {
    /// Shadow price of the budget (the water level).
    pub lambda: f64,
    pub deposits: Deposits,
    /// The pool whose chord is used partially, if any.
    pub partial: Option<u32>,
    /// Upper bound on the value of any plan for this token.
    pub bound: f64,
}

/// Best plan found and its upper bound.
#[derive(Debug, Clone)]
pub struct Solved {
    pub deposits: Deposits,
    pub value: f64,
    pub bound: f64,
    /// Level of the first relaxation, and its bound.
    pub lambda: f64,
    pub hull_bound: f64,
}

/// A level at which more money flows: a pool opens up to the end of its chord, or a pool with a constant rate takes all.
#[derive(Debug, Clone, Copy)]
struct Entry {
    slope: f64,
    item: u32,
    /// Whether it is the constant-rate part of a pool that is already open.
    tail: bool,
    /// Amount that flows at exactly this level.
    amount: f64,
}

/// The level at which the budget is spent.
struct Flow<'e> {
    lambda: f64,
    /// Entries above the level.
    passed: &'e [Entry],
    /// The entry at the level, and the amount that it takes.
    part: Option<(Entry, f64)>,
}

/// Newton's method within a bracket; bisection alone would need as many.
const STEPS: usize = 100;

impl TokenProblem<'_> {
    fn item(&self, item: u32) -> (&Item, f64) {
        (&self.items[item as usize], self.shadow_costs[item as usize])
    }

    fn worth(&self, deposits: &[(u32, f64)]) -> f64 {
        deposits
            .iter()
            .map(|&(item, y)| {
                let (pool, shadow_cost) = self.item(item);
                pool.net(y) - shadow_cost * y
            })
            .sum()
    }

    fn entries(&self, required: &[u32], free: &[u32]) -> Vec<Entry> {
        let mut entries = Vec::with_capacity(required.len() + free.len());
        for (&item, open) in required
            .iter()
            .map(|item| (item, true))
            .chain(free.iter().map(|item| (item, false)))
        {
            let (pool, shadow_cost) = self.item(item);
            if !open {
                entries.push(Entry {
                    slope: pool.chord - shadow_cost,
                    item,
                    tail: false,
                    amount: pool.chord_end,
                });
            }
            let rest = pool.high - if open { pool.low } else { pool.chord_end };
            if pool.curve.has_constant_rate() && rest > 0.0 {
                entries.push(Entry {
                    slope: pool.curve.slope(pool.low) - shadow_cost,
                    item,
                    tail: true,
                    amount: rest,
                });
            }
        }
        entries.retain(|entry| entry.slope > 0.0);
        entries.sort_unstable_by(|a, b| {
            b.slope
                .total_cmp(&a.slope)
                .then(a.tail.cmp(&b.tail))
                .then(a.item.cmp(&b.item))
        });
        entries
    }

    /// Deposits at the level `lambda` once these entries are open; calls `take` with item, deposit and its derivative by the level.
    fn fill(
        &self,
        required: &[u32],
        passed: &[Entry],
        lambda: f64,
        mut take: impl FnMut(u32, f64, f64),
    ) {
        let mut curved = |item: u32, low: f64| {
            let (pool, shadow_cost) = self.item(item);
            if pool.curve.has_constant_rate() {
                return take(item, low, 0.0);
            }
            let y = pool.curve.best(lambda + shadow_cost, low, pool.high);
            let moves = if y > low && y < pool.high {
                1.0 / pool.curve.curvature(y)
            } else {
                0.0
            };
            take(item, y, if moves.is_finite() { moves } else { 0.0 });
        };
        for &item in required {
            curved(item, self.items[item as usize].low);
        }
        for entry in passed.iter().filter(|entry| !entry.tail) {
            curved(entry.item, self.items[entry.item as usize].chord_end);
        }
        for entry in passed.iter().filter(|entry| entry.tail) {
            take(entry.item, entry.amount, 0.0);
        }
    }

    fn total(&self, required: &[u32], passed: &[Entry], lambda: f64) -> (f64, f64) {
        let mut sum = (0.0, 0.0);
        self.fill(required, passed, lambda, |_, y, moves| {
            sum.0 += y;
            sum.1 += moves;
        });
        sum
    }

    /// The level between `low` and `high` at which the budget is spent.
    fn level(&self, required: &[u32], passed: &[Entry], mut low: f64, mut high: f64) -> f64 {
        let mut level = f64::midpoint(low, high);
        for _ in 0..STEPS {
            let (sum, moves) = self.total(required, passed, level);
            let over = sum - self.budget;
            if over.abs() <= 1e-15 * self.budget {
                break;
            }
            if over > 0.0 {
                low = level;
            } else {
                high = level;
            }
            let newton = level - over / moves;
            let next = if newton > low && newton < high {
                newton
            } else {
                f64::midpoint(low, high)
            };
            if next <= low || next >= high {
                return high;
            }
            level = next;
        }
        level
    }

    /// Optimum over the hulls with `required` used, `free` optional and all others unused; `None` if the minimum deposits do not fit.
    pub fn relax(&self, required: &[u32], free: &[u32]) -> Option<Relaxed> {
        let least: f64 = required
            .iter()
            .map(|&item| self.items[item as usize].low)
            .sum();
        if least > self.budget * (1.0 + 1e-13) {
            return None;
        }
        let entries = self.entries(required, free);
        let flow = self.water_level(required, &entries);
        Some(self.gather(required, &flow))
    }

    /// Index of the first entry at whose level the pools up to it spend the budget, or the number of entries.
    fn last_entry(&self, required: &[u32], entries: &[Entry]) -> usize {
        let spends = |count: usize| {
            self.total(required, &entries[..=count], entries[count].slope)
                .0
                >= self.budget
        };
        // Galloping search: most pools pay less than the level and need not be examined.
        let mut end = 1;
        while end < entries.len() && !spends(end - 1) {
            end *= 2;
        }
        let (mut from, mut to) = (end / 2, end.min(entries.len()));
        while from < to {
            let middle = usize::midpoint(from, to);
            if spends(middle) {
                to = middle;
            } else {
                from = middle + 1;
            }
        }
        from
    }

    /// The level at which the budget is spent, or 0 if there is more than all pools take.
    fn water_level<'e>(&self, required: &[u32], entries: &'e [Entry]) -> Flow<'e> {
        let last = self.last_entry(required, entries);
        let top = || {
            required
                .iter()
                .map(|&item| self.items[item as usize])
                .map(|pool| pool.curve.slope(pool.low))
                .fold(0.0, f64::max)
        };
        let above = if last == 0 {
            top()
        } else {
            entries[last - 1].slope
        };
        let passed = &entries[..last];
        let Some(entry) = entries.get(last) else {
            let has_rest = self.total(required, passed, 0.0).0 <= self.budget;
            return Flow {
                lambda: if has_rest {
                    0.0
                } else {
                    self.level(required, passed, 0.0, above)
                },
                passed,
                part: None,
            };
        };
        let before = self.total(required, passed, entry.slope).0;
        if before >= self.budget {
            return Flow {
                lambda: self.level(required, passed, entry.slope, above.max(entry.slope)),
                passed,
                part: None,
            };
        }
        Flow {
            lambda: entry.slope,
            passed,
            part: Some((*entry, self.budget - before)),
        }
    }

    /// The deposits at the level, and their bound.
    fn gather(&self, required: &[u32], flow: &Flow<'_>) -> Relaxed {
        let Flow {
            lambda,
            passed,
            part,
        } = *flow;
        let mut deposits: Deposits = Vec::with_capacity(required.len() + passed.len() + 1);
        self.fill(required, passed, lambda, |item, y, _| {
            deposits.push((item, y));
        });
        let mut partial = None;
        if let Some((entry, amount)) = part {
            let amount = amount.min(entry.amount);
            deposits.push((entry.item, amount));
            if !entry.tail && amount < entry.amount * (1.0 - 1e-12) {
                partial = Some(entry.item);
            }
        }
        deposits.sort_unstable_by_key(|(item, _)| *item);
        deposits.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        self.settle(&mut deposits, partial);
        let mut bound = lambda * self.budget;
        for &item in required {
            let (pool, shadow_cost) = self.item(item);
            bound += pool.surplus_bound(lambda + shadow_cost);
        }
        for entry in passed
            .iter()
            .chain(part.iter().map(|(entry, _)| entry))
            .filter(|entry| !entry.tail)
        {
            let (pool, shadow_cost) = self.item(entry.item);
            bound += pool.surplus_bound(lambda + shadow_cost).max(0.0);
        }
        Relaxed {
            lambda,
            deposits,
            partial,
            bound,
        }
    }

    /// Removes any excess over the budget due to rounding.
    fn settle(&self, deposits: &mut Deposits, partial: Option<u32>) {
        let mut over = deposits.iter().map(|(_, y)| y).sum::<f64>() - self.budget;
        for (item, y) in deposits {
            if over <= 0.0 {
                break;
            }
            if Some(*item) != partial {
                let taken = over.min(*y - self.items[*item as usize].low).max(0.0);
                *y -= taken;
                over -= taken;
            }
        }
    }

    /// The best plan that uses exactly these pools.
    fn with(&self, support: &[u32]) -> Option<(Deposits, f64)> {
        let deposits = self.relax(support, &[])?.deposits;
        let value = self.worth(&deposits);
        Some((deposits, value))
    }
}

/// An open node of the search tree.
struct Node {
    required: Vec<u32>,
    free: Vec<u32>,
    partial: u32,
}

/// State of the search.
struct Search<'a, 'b> {
    problem: TokenProblem<'a>,
    best: Solved,
    open: OpenNodes<Node>,
    /// Largest bound of a closed node: solved, or close enough to the best plan.
    closed: f64,
    effort: &'a mut WorkBudget<'b>,
}

/// The best plan with `required` used and `free` optional; `None` if `required` do not fit the budget.
pub fn solve(
    problem: TokenProblem<'_>,
    required: &[u32],
    free: &[u32],
    effort: &mut WorkBudget<'_>,
) -> Option<Solved> {
    let root = problem.relax(required, free)?;
    effort.spend((required.len() + free.len()) / 4 + root.deposits.len() * 8);
    let (lambda, bound) = (root.lambda, root.bound);
    let none = Solved {
        deposits: Vec::new(),
        value: f64::NEG_INFINITY,
        bound,
        lambda,
        hull_bound: bound,
    };
    let mut search = Search {
        problem,
        best: none,
        open: OpenNodes::new(),
        closed: f64::NEG_INFINITY,
        effort,
    };
    search.visit(required.to_vec(), free.to_vec(), root);
    loop {
        let floor = search.best.value + search.effort.tolerance(search.best.value);
        let over = search.effort.is_over();
        let Some(node) = search.open.pop_if(|bound| bound > floor && !over) else {
            break;
        };
        search.branch(&node);
    }
    let bound = search.open.bound().max(search.closed).min(bound);
    let mut best = search.best;
    best.bound = bound.max(best.value);
    Some(best)
}

impl Search<'_, '_> {
    fn branch(&mut self, node: &Node) {
        let free: Vec<u32> = node
            .free
            .iter()
            .copied()
            .filter(|item| *item != node.partial)
            .collect();
        let mut required = node.required.clone();
        for with in [false, true] {
            if with {
                required.push(node.partial);
            }
            if let Some(relaxed) = self.problem.relax(&required, &free) {
                self.effort
                    .spend(free.len() / 4 + relaxed.deposits.len() * 8);
                self.visit(required.clone(), free.clone(), relaxed);
            }
        }
    }

    /// Derives plans from the relaxation, and keeps the node open if it may contain a better one.
    fn visit(&mut self, required: Vec<u32>, mut free: Vec<u32>, relaxed: Relaxed) {
        let Some(partial) = relaxed.partial else {
            let value = self.problem.worth(&relaxed.deposits);
            self.closed = self.closed.max(relaxed.bound);
            return self.offer(relaxed.deposits, value);
        };
        let mut support: Vec<u32> = relaxed.deposits.iter().map(|(item, _)| *item).collect();
        for drop in [false, true] {
            if drop {
                support.retain(|item| *item != partial);
            }
            if let Some((deposits, value)) = self.problem.with(&support) {
                self.effort.spend(support.len() * 8);
                self.offer(deposits, value);
            }
        }
        let floor = self.best.value;
        if relaxed.bound <= floor + self.effort.tolerance(floor) {
            self.closed = self.closed.max(relaxed.bound);
            return;
        }
        // Reduced-cost fixing: a pool whose use costs more than the gap stays unused. Its surplus is at most (chord − price)·low.
        let lambda = relaxed.lambda;
        free.retain(|&item| {
            let (pool, shadow_cost) = self.problem.item(item);
            item == partial
                || relaxed.bound + ((pool.chord - shadow_cost - lambda) * pool.low).min(0.0) > floor
        });
        self.open.push(
            relaxed.bound,
            Node {
                required,
                free,
                partial,
            },
        );
    }

    fn offer(&mut self, deposits: Deposits, value: f64) {
        if value > self.best.value {
            self.best.deposits = deposits;
            self.best.value = value;
        }
    }
}
