//! Seeded random number generator (SplitMix64) of generators, tests and benches, reproducible on every machine.
#![allow(dead_code, unreachable_pub, reason = "each user takes a part of it")]

/// `SplitMix64` (Steele, Lea & Flood 2014, "Fast splittable pseudorandom number generators").
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Log-uniform, for figures that span decades.
    pub fn scale(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.unit())
    }

    pub fn below(&mut self, count: usize) -> usize {
        (self.word() % count.max(1) as u64) as usize
    }

    /// Uniform in `low..=high`.
    pub fn whole(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    pub fn chance(&mut self, share: f64) -> bool {
        self.unit() < share
    }

    /// `size` or `-size`, equally likely.
    pub fn either(&mut self, size: f64) -> f64 {
        if self.chance(0.5) { size } else { -size }
    }

    /// Standard normal (Box & Muller 1958).
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.between(f64::MIN_POSITIVE, 1.0).ln()).sqrt()
            * self.between(0.0, std::f64::consts::TAU).cos()
    }

    pub fn exponential(&mut self) -> f64 {
        -self.between(f64::MIN_POSITIVE, 1.0).ln()
    }
}
