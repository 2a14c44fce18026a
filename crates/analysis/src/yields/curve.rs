//! Yield curve of a pool after a deposit of `y`: rate, earnings, their derivatives, and the deposit at a given marginal rate. With the
//! dilution q = S / (S + y), a fixed flow pays b·q. Lenders get utilisation × borrow rate × (1 − reserve factor); with a fixed debt and a
//! borrow rate linear in utilisation, which falls to U·q, that is b·q² (the rate models of Compound, "Compound: The Money Market Protocol"
//! 2019, 3.1, and Aave, below their kink).

use schemars::JsonSchema;
use serde::Serialize;

/// Dilution of the base rate by new deposits; rewards are always shared pro rata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dilution {
    /// Staking, real-world assets, savings: none.
    None,
    /// Vaults and fees: a fixed flow is shared pro rata.
    Shared,
    /// Lending: the debt is fixed and the rate linear in utilisation, so the supply rate falls with its square.
    Squared,
}

/// r(y) = base·q^e + reward·q − cost, with the dilution's exponent e; rates are fractions a year, money in any one unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct YieldCurve {
    pub base: f64,
    pub reward: f64,
    /// Fees for entering and leaving, as a fraction of the deposit.
    pub cost: f64,
    /// Deposits in the pool that share the yield.
    pub size: f64,
    pub dilution: Dilution,
}

/// Newton's method converges in five or six steps here; the rest is for the last bit.
const STEPS: usize = 60;

/// Newton's method from above a root, where it never overshoots; `step` is the function divided by its derivative.
fn newton_from_above(start: f64, step: impl Fn(f64) -> f64) -> f64 {
    let mut x = start;
    for _ in 0..STEPS {
        let next = x - step(x);
        if next >= x || next.is_nan() {
            break;
        }
        x = next;
    }
    x
}

impl YieldCurve {
    fn share(&self, y: f64) -> f64 {
        self.size / (self.size + y)
    }

    /// Rate after a deposit of `y`, as a fraction a year.
    pub fn rate(&self, y: f64) -> f64 {
        let q = self.share(y);
        let paid = match self.dilution {
            Dilution::None => self.base + self.reward * q,
            Dilution::Shared => (self.base + self.reward) * q,
            Dilution::Squared => (self.base * q + self.reward) * q,
        };
        paid - self.cost
    }

    /// Earnings f(y) = y·r(y), in money a year.
    pub fn value(&self, y: f64) -> f64 {
        y * self.rate(y)
    }

    /// Coefficients (c0, c2, c3) of f'(y) = c0 + c2·q² + c3·q³.
    fn terms(&self) -> (f64, f64, f64) {
        match self.dilution {
            Dilution::None => (self.base - self.cost, self.reward, 0.0),
            Dilution::Shared => (-self.cost, self.base + self.reward, 0.0),
            Dilution::Squared => (-self.cost, self.reward - self.base, 2.0 * self.base),
        }
    }

    /// Marginal rate f'(y).
    pub fn slope(&self, y: f64) -> f64 {
        let ((c0, c2, c3), q) = (self.terms(), self.share(y));
        c0 + q * q * (c2 + c3 * q)
    }

    /// Second derivative f''(y); at most 0 while the deposit is below twice the pool.
    pub fn curvature(&self, y: f64) -> f64 {
        let ((_, c2, c3), q) = (self.terms(), self.share(y));
        -q * q * q * (2.0 * c2 + 3.0 * c3 * q) / self.size
    }

    /// Whether the rate does not depend on the deposit.
    pub fn has_constant_rate(&self) -> bool {
        let (_, c2, c3) = self.terms();
        c2 == 0.0 && c3 == 0.0
    }

    /// The optimal deposit within `low..=high` if money costs `price`: where f' = price, or the nearer end.
    pub fn best(&self, price: f64, low: f64, high: f64) -> f64 {
        if self.slope(low) <= price {
            return low;
        }
        if self.slope(high) >= price {
            return high;
        }
        let (c0, c2, c3) = self.terms();
        let q = if c3 == 0.0 {
            ((price - c0) / c2).sqrt()
        } else {
            // Increasing and convex in q from the share at `high` on.
            newton_from_above(self.share(low), |q| {
                (q * q * (c2 + c3 * q) - (price - c0)) / (q * (2.0 * c2 + 3.0 * c3 * q))
            })
        };
        (self.size * (1.0 / q - 1.0)).clamp(low, high)
    }

    /// The deposit within `low..=high` with the highest net earnings per unit, given a fixed cost `fee`: argmax (f(y) − fee) / y. With t =
    /// 1 − q, the condition f − y·f' = fee reads S·t²·(…) = fee.
    pub fn chord_end(&self, fee: f64, low: f64, high: f64) -> f64 {
        if fee <= 0.0 {
            return low;
        }
        let weight = match self.dilution {
            Dilution::None => self.reward,
            Dilution::Shared => self.base + self.reward,
            Dilution::Squared => self.reward + 2.0 * self.base,
        };
        let bent = if self.dilution == Dilution::Squared {
            2.0 * self.base
        } else {
            0.0
        };
        let (goal, end) = (fee / self.size, 1.0 - self.share(high));
        if end * end * (weight - bent * end) <= goal {
            return high;
        }
        let t = if bent == 0.0 {
            (goal / weight).sqrt()
        } else {
            newton_from_above(end, |t| {
                (t * t * (weight - bent * t) - goal) / (t * (2.0 * weight - 3.0 * bent * t))
            })
        };
        (self.size * t / (1.0 - t)).clamp(low, high)
    }

    /// The largest deposit after which the rate is at least `floor`; 0 if even the current rate is lower.
    pub fn ceiling(&self, floor: f64) -> f64 {
        let is_free = floor <= 0.0;
        let floor = floor + self.cost;
        let q = match self.dilution {
            _ if is_free => 0.0,
            Dilution::None if self.base >= floor => 0.0,
            Dilution::None => (floor - self.base) / self.reward,
            Dilution::Shared => floor / (self.base + self.reward),
            Dilution::Squared if self.base > 0.0 => {
                // Root of base·q² + reward·q = floor, in the form without cancellation.
                2.0 * floor
                    / (self.reward + (self.reward * self.reward + 4.0 * self.base * floor).sqrt())
            }
            Dilution::Squared => floor / self.reward,
        };
        if q <= 0.0 {
            f64::INFINITY
        } else if q.is_nan() || q >= 1.0 {
            0.0
        } else {
            // Rounding must not push the rate below the floor.
            self.size * (1.0 / q - 1.0) * (1.0 - 1e-12)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CURVES: [YieldCurve; 10] = [
        YieldCurve {
            base: 0.05,
            reward: 0.02,
            cost: 0.003,
            size: 100.0,
            dilution: Dilution::None,
        },
        YieldCurve {
            base: 0.08,
            reward: 0.01,
            cost: 0.004,
            size: 100.0,
            dilution: Dilution::Shared,
        },
        YieldCurve {
            base: 0.03,
            reward: 0.05,
            cost: 0.005,
            size: 100.0,
            dilution: Dilution::Squared,
        },
        YieldCurve {
            base: 0.04,
            reward: 0.0,
            cost: 0.0,
            size: 100.0,
            dilution: Dilution::None,
        },
        YieldCurve {
            base: 0.04,
            reward: 0.02,
            cost: 0.0,
            size: 100.0,
            dilution: Dilution::None,
        },
        YieldCurve {
            base: 0.0,
            reward: 0.05,
            cost: 0.0,
            size: 100.0,
            dilution: Dilution::Shared,
        },
        YieldCurve {
            base: 0.08,
            reward: 0.01,
            cost: 0.0,
            size: 100.0,
            dilution: Dilution::Shared,
        },
        YieldCurve {
            base: 0.03,
            reward: 0.0,
            cost: 0.0,
            size: 100.0,
            dilution: Dilution::Squared,
        },
        YieldCurve {
            base: 0.03,
            reward: 0.05,
            cost: 0.0,
            size: 100.0,
            dilution: Dilution::Squared,
        },
        YieldCurve {
            base: 0.0,
            reward: 0.05,
            cost: 0.0,
            size: 100.0,
            dilution: Dilution::Squared,
        },
    ];

    #[test]
    fn slopes_are_the_derivatives() {
        for curve in CURVES {
            for y in [0.5, 3.0, 20.0, 50.0] {
                let h = 1e-4;
                let slope = (curve.value(y + h) - curve.value(y - h)) / (2.0 * h);
                let curvature = (curve.slope(y + h) - curve.slope(y - h)) / (2.0 * h);
                assert!((slope - curve.slope(y)).abs() < 1e-9, "{curve:?} {y}");
                assert!(
                    (curvature - curve.curvature(y)).abs() < 1e-9 && curvature <= 1e-12,
                    "{curve:?} {y}"
                );
            }
        }
    }

    #[test]
    fn the_best_deposit_beats_its_neighbours() {
        for curve in CURVES {
            for price in [0.0, 0.01, 0.03, 0.05, 0.09] {
                let worth = |y: f64| curve.value(y) - price * y;
                let best = curve.best(price, 1.0, 50.0);
                for i in 0..=490 {
                    assert!(
                        worth(best) >= worth(1.0 + f64::from(i) / 10.0) - 1e-12,
                        "{curve:?} {price}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_end_of_the_chord_is_where_it_is_steepest() {
        for curve in CURVES {
            for fee in [0.0, 0.001, 0.05, 0.3, 5.0] {
                let chord = |y: f64| (curve.value(y) - fee) / y;
                let chord_end = curve.chord_end(fee, 1.0, 50.0);
                for i in 0..=490 {
                    assert!(
                        chord(chord_end) >= chord(1.0 + f64::from(i) / 10.0) - 1e-12,
                        "{curve:?} {fee} {chord_end}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_ceiling_is_where_the_rate_meets_the_floor() {
        for curve in CURVES {
            let quoted = curve.rate(0.0);
            assert_eq!(curve.ceiling(-1.0), f64::INFINITY);
            assert_eq!(curve.ceiling(quoted * 1.01), 0.0, "{curve:?}");
            let ceiling = curve.ceiling(quoted * 0.7);
            if ceiling.is_finite() {
                assert!(
                    curve.rate(ceiling) >= quoted * 0.7
                        && curve.rate(ceiling * 1.001) < quoted * 0.7,
                    "{curve:?}"
                );
            } else {
                assert!(curve.rate(1e12) >= quoted * 0.7, "{curve:?}");
            }
        }
    }
}
