//! Work budget of a plan, counted in steps over pools rather than time, so that the same request gives the same bytes; and the tolerance at
//! which a plan is close enough to the bound.

/// Maximum number of steps over a pool (a few tens of nanoseconds each): about a second and a half.
pub const STEPS_MAX: u64 = 40_000_000;

/// Relative optimality gap at which a search stops …
const TIGHT: f64 = 1e-10;
/// … and after `TIGHT_STEPS` steps: this relative gap, or a fifth of a cent.
const LOOSE: f64 = 2e-7;
const LOOSE_USD: f64 = 0.002;
const TIGHT_STEPS: u64 = 500_000;

/// Work done so far, with progress reporting.
pub struct WorkBudget<'a> {
    spent: u64,
    limit: u64,
    /// Called with (done, total); returns false if the request was canceled.
    keep_on: &'a mut dyn FnMut(u64, u64) -> bool,
    told: u64,
    pub cancelled: bool,
    /// USD per unit of money.
    pub unit: f64,
}

impl<'a> WorkBudget<'a> {
    pub fn new(limit: u64, unit: f64, keep_on: &'a mut dyn FnMut(u64, u64) -> bool) -> Self {
        Self {
            spent: 0,
            limit,
            keep_on,
            told: 0,
            cancelled: false,
            unit,
        }
    }

    pub fn spend(&mut self, steps: usize) {
        self.spent += steps as u64 + 1;
        if self.spent > self.told {
            self.told = self.spent + 100_000;
            self.cancelled |= !(self.keep_on)(self.spent.min(self.limit), self.limit);
        }
    }

    pub fn is_over(&self) -> bool {
        self.cancelled || self.spent >= self.limit
    }

    /// Allowed gap below the bound for a plan worth `best`.
    pub fn tolerance(&self, best: f64) -> f64 {
        if self.spent < TIGHT_STEPS {
            TIGHT * best.abs()
        } else {
            (LOOSE * best.abs()).max(LOOSE_USD / self.unit)
        }
    }
}
