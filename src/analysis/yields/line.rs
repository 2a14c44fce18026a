//! One token alone: its budget is the only constraint, so the optimum is water-filling to one level (KKT conditions). The relaxation uses
//! at most one pool partially although its fee is paid in full; best-first branch and bound decides whether it is in or out.

use super::{
    effort::Effort,
    open::Open,
    program::{Deposits, Item},
};

/// The pools of one token, the additional unit cost in each (prices of coupling rows), and the budget.
#[derive(Debug, Clone, Copy)]
pub struct TokenBudget<'a> {
    pub items: &'a [Item],
    /// Indexed by item.
    pub tolls: &'a [f64],
    pub budget: f64,
}

/// Optimum over the concave hulls.
#[derive(Debug, Clone)]
pub struct Relaxed {
    /// Shadow price of the budget (the water level).
    pub lambda: f64,
    pub deposits: Deposits,
    /// The pool whose chord is used partially, if any.
    pub half: Option<u32>,
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
    pub hull: f64,
}

/// A level at which more money flows: a pool opens up to its knee, or a pool with a constant rate takes all.
#[derive(Debug, Clone, Copy)]
struct Entry {
    slope: f64,
    item: u32,
    /// Whether it is the constant-rate part of a pool that is already open.
    tail: bool,
    /// Amount that flows at exactly this level.
    amount: f64,
}

/// Newton's method within a bracket; bisection alone would need as many.
const STEPS: usize = 100;

impl TokenBudget<'_> {
    fn item(&self, item: u32) -> (&Item, f64) {
        (&self.items[item as usize], self.tolls[item as usize])
    }

    fn worth(&self, deposits: &[(u32, f64)]) -> f64 {
        deposits
            .iter()
            .map(|&(item, y)| {
                let (pool, toll) = self.item(item);
                pool.net(y) - toll * y
            })
            .sum()
    }

    fn entries(&self, ins: &[u32], free: &[u32]) -> Vec<Entry> {
        let mut entries = Vec::with_capacity(ins.len() + free.len());
        for (&item, open) in ins.iter().map(|item| (item, true)).chain(free.iter().map(|item| (item, false))) {
            let (pool, toll) = self.item(item);
            if !open {
                entries.push(Entry { slope: pool.chord - toll, item, tail: false, amount: pool.knee });
            }
            let rest = pool.high - if open { pool.low } else { pool.knee };
            if pool.curve.is_straight() && rest > 0.0 {
                entries.push(Entry { slope: pool.curve.base - toll, item, tail: true, amount: rest });
            }
        }
        entries.retain(|entry| entry.slope > 0.0);
        entries.sort_unstable_by(|a, b| b.slope.total_cmp(&a.slope).then(a.tail.cmp(&b.tail)).then(a.item.cmp(&b.item)));
        entries
    }

    /// Deposits at the level `lambda` once these entries are open; calls `take` with item, deposit and its derivative by the level.
    fn fill(&self, ins: &[u32], passed: &[Entry], lambda: f64, mut take: impl FnMut(u32, f64, f64)) {
        let mut curved = |item: u32, low: f64| {
            let (pool, toll) = self.item(item);
            if pool.curve.is_straight() {
                return take(item, low, 0.0);
            }
            let y = pool.curve.best(lambda + toll, low, pool.high);
            let moves = if y > low && y < pool.high { 1.0 / pool.curve.bend(y) } else { 0.0 };
            take(item, y, if moves.is_finite() { moves } else { 0.0 });
        };
        for &item in ins {
            curved(item, self.items[item as usize].low);
        }
        for entry in passed.iter().filter(|entry| !entry.tail) {
            curved(entry.item, self.items[entry.item as usize].knee);
        }
        for entry in passed.iter().filter(|entry| entry.tail) {
            take(entry.item, entry.amount, 0.0);
        }
    }

    fn total(&self, ins: &[u32], passed: &[Entry], lambda: f64) -> (f64, f64) {
        let mut sum = (0.0, 0.0);
        self.fill(ins, passed, lambda, |_, y, moves| {
            sum.0 += y;
            sum.1 += moves;
        });
        sum
    }

    /// The level between `low` and `high` at which the budget is spent.
    fn level(&self, ins: &[u32], passed: &[Entry], mut low: f64, mut high: f64) -> f64 {
        let mut level = f64::midpoint(low, high);
        for _ in 0..STEPS {
            let (sum, moves) = self.total(ins, passed, level);
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
            let next = if newton > low && newton < high { newton } else { f64::midpoint(low, high) };
            if next <= low || next >= high {
                return high;
            }
            level = next;
        }
        level
    }

    /// Optimum over the hulls with `ins` used, `free` optional and all others unused; `None` if the minimum deposits exceed the budget.
    pub fn relax(&self, ins: &[u32], free: &[u32]) -> Option<Relaxed> {
        let least: f64 = ins.iter().map(|&item| self.items[item as usize].low).sum();
        if least > self.budget * (1.0 + 1e-13) {
            return None;
        }
        let entries = self.entries(ins, free);
        let spends = |count: usize| self.total(ins, &entries[..=count], entries[count].slope).0 >= self.budget;
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
        let top = || ins.iter().map(|&item| self.items[item as usize]).map(|pool| pool.curve.slope(pool.low)).fold(0.0, f64::max);
        let above = |count: usize| if count == 0 { top() } else { entries[count - 1].slope };
        let (lambda, passed, part) = match entries.get(from) {
            None if self.total(ins, &entries, 0.0).0 <= self.budget => (0.0, entries.len(), None),
            None => (self.level(ins, &entries, 0.0, above(entries.len())), entries.len(), None),
            Some(entry) => {
                let before = self.total(ins, &entries[..from], entry.slope).0;
                if before >= self.budget {
                    let high = above(from).max(entry.slope);
                    (self.level(ins, &entries[..from], entry.slope, high), from, None)
                } else {
                    (entry.slope, from, Some((*entry, self.budget - before)))
                }
            }
        };
        Some(self.gather(ins, &entries[..passed], lambda, part))
    }

    fn gather(&self, ins: &[u32], passed: &[Entry], lambda: f64, part: Option<(Entry, f64)>) -> Relaxed {
        let mut deposits: Deposits = Vec::with_capacity(ins.len() + passed.len() + 1);
        self.fill(ins, passed, lambda, |item, y, _| deposits.push((item, y)));
        let mut half = None;
        if let Some((entry, amount)) = part {
            let amount = amount.min(entry.amount);
            deposits.push((entry.item, amount));
            if !entry.tail && amount < entry.amount * (1.0 - 1e-12) {
                half = Some(entry.item);
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
        self.settle(&mut deposits, half);
        let mut bound = lambda * self.budget;
        for &item in ins {
            let (pool, toll) = self.item(item);
            bound += pool.surplus(lambda + toll);
        }
        for entry in passed.iter().chain(part.iter().map(|(entry, _)| entry)).filter(|entry| !entry.tail) {
            let (pool, toll) = self.item(entry.item);
            bound += pool.surplus(lambda + toll).max(0.0);
        }
        Relaxed { lambda, deposits, half, bound }
    }

    /// Removes any excess over the budget due to rounding.
    fn settle(&self, deposits: &mut Deposits, half: Option<u32>) {
        let mut over = deposits.iter().map(|(_, y)| y).sum::<f64>() - self.budget;
        for (item, y) in deposits {
            if over <= 0.0 {
                break;
            }
            if Some(*item) != half {
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
    ins: Vec<u32>,
    free: Vec<u32>,
    half: u32,
}

/// State of the search.
struct Search<'a, 'b> {
    line: TokenBudget<'a>,
    best: Solved,
    open: Open<Node>,
    /// Largest bound of a closed node: solved, or close enough to the best plan.
    closed: f64,
    effort: &'a mut Effort<'b>,
}

/// The best plan with `ins` used and `free` optional; `None` if `ins` do not fit the budget.
pub fn solve(line: TokenBudget<'_>, ins: &[u32], free: &[u32], effort: &mut Effort<'_>) -> Option<Solved> {
    let root = line.relax(ins, free)?;
    effort.spend((ins.len() + free.len()) / 4 + root.deposits.len() * 8);
    let (lambda, bound) = (root.lambda, root.bound);
    let none = Solved { deposits: Vec::new(), value: f64::NEG_INFINITY, bound, lambda, hull: bound };
    let mut search = Search { line, best: none, open: Open::new(), closed: f64::NEG_INFINITY, effort };
    search.visit(ins.to_vec(), free.to_vec(), root);
    loop {
        let floor = search.best.value + search.effort.tolerance(search.best.value);
        let over = search.effort.is_over();
        let Some(node) = search.open.pop_if(|bound| bound > floor && !over) else { break };
        search.branch(&node);
    }
    let bound = search.open.bound().max(search.closed).min(bound);
    let mut best = search.best;
    best.bound = bound.max(best.value);
    Some(best)
}

impl Search<'_, '_> {
    fn branch(&mut self, node: &Node) {
        let free: Vec<u32> = node.free.iter().copied().filter(|item| *item != node.half).collect();
        let mut ins = node.ins.clone();
        for with in [false, true] {
            if with {
                ins.push(node.half);
            }
            if let Some(relaxed) = self.line.relax(&ins, &free) {
                self.effort.spend(free.len() / 4 + relaxed.deposits.len() * 8);
                self.visit(ins.clone(), free.clone(), relaxed);
            }
        }
    }

    /// Derives plans from the relaxation, and keeps the node open if it may contain a better one.
    fn visit(&mut self, ins: Vec<u32>, mut free: Vec<u32>, relaxed: Relaxed) {
        let Some(half) = relaxed.half else {
            let value = self.line.worth(&relaxed.deposits);
            self.closed = self.closed.max(relaxed.bound);
            return self.offer(relaxed.deposits, value);
        };
        let mut support: Vec<u32> = relaxed.deposits.iter().map(|(item, _)| *item).collect();
        for drop in [false, true] {
            if drop {
                support.retain(|item| *item != half);
            }
            if let Some((deposits, value)) = self.line.with(&support) {
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
            let (pool, toll) = self.line.item(item);
            item == half || relaxed.bound + ((pool.chord - toll - lambda) * pool.low).min(0.0) > floor
        });
        self.open.push(relaxed.bound, Node { ins, free, half });
    }

    fn offer(&mut self, deposits: Deposits, value: f64) {
        if value > self.best.value {
            self.best.deposits = deposits;
            self.best.value = value;
        }
    }
}
