//! Dice: the same figures from the same seed on every machine.

/// `SplitMix64` (Steele, Lea & Flood 2014).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Even in the logarithm, for figures that span decades.
    pub(crate) fn scale(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }

    /// From `low` to `high`, both included.
    pub(crate) fn whole(&mut self, low: usize, high: usize) -> usize {
        low + (self.bits() % (high - low + 1) as u64) as usize
    }

    pub(crate) fn chance(&mut self, share: f64) -> bool {
        self.between(0.0, 1.0) < share
    }

    /// `size` or `-size`.
    pub(crate) fn either(&mut self, size: f64) -> f64 {
        if self.chance(0.5) { size } else { -size }
    }

    /// Box & Muller (1958).
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * self.between(f64::MIN_POSITIVE, 1.0).ln()).sqrt() * self.between(0.0, std::f64::consts::TAU).cos()
    }

    pub(crate) fn exponential(&mut self) -> f64 {
        -self.between(f64::MIN_POSITIVE, 1.0).ln()
    }
}
