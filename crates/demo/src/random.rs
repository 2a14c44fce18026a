//! Pseudo-random numbers, reproducible from a seed on every machine. No clock, no system randomness.

use model::address::Address;

/// xoshiro256++ (Blackman and Vigna 2019, <https://prng.di.unimi.it>), seeded by `SplitMix64` (Steele et al. 2014).
#[derive(Debug, Clone)]
pub(super) struct Random([u64; 4]);

impl Random {
    /// An independent stream per topic, so that a table does not change when another one draws more.
    pub(super) fn new(seed: u64, topic: &str) -> Self {
        // FNV-1a of the topic.
        let hash = topic.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let mut state = seed ^ hash;
        Self(std::array::from_fn(|_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        }))
    }

    pub(super) fn next(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in [0, 1).
    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(super) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Log-uniform, as sums of money are.
    pub(super) fn spread(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.unit())
    }

    /// Uniform in 0..`end`; 0 if the range is empty.
    pub(super) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    pub(super) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// Approximately standard normal: the sum of four uniform 16-bit numbers, so within ±3.47. Fast, and independent of the C library.
    pub(super) fn normal(&mut self) -> f64 {
        let bits = self.next();
        let sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
        (sum as f64 / 65536.0 - 2.0) * 3.0_f64.sqrt()
    }

    pub(super) fn address(&mut self) -> Address {
        let mut bytes = [0; 20];
        for part in bytes.chunks_mut(8) {
            part.copy_from_slice(&self.next().to_be_bytes()[..part.len()]);
        }
        Address(bytes)
    }

    /// A random 32-byte hash in hex, with `0x`.
    pub(super) fn digest(&mut self) -> String {
        format!(
            "0x{:016x}{:016x}{:016x}{:016x}",
            self.next(),
            self.next(),
            self.next(),
            self.next()
        )
    }
}

/// Rounds to significant digits, for readable figures and compressible files.
pub(super) fn round(value: f64, digits: i32) -> f64 {
    /// The powers of ten that an f64 holds exactly, so that the result is the nearest number to its decimal text.
    const POWERS: [f64; 23] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
        1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
    ];
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let size = value.abs();
    let exponent = if size >= 1.0 {
        POWERS.iter().take_while(|power| **power <= size).count() as i32 - 1
    } else {
        -(POWERS
            .iter()
            .take_while(|power| size * **power < 1.0)
            .count() as i32)
    };
    let shift = digits - 1 - exponent;
    let power = POWERS[(shift.unsigned_abs() as usize).min(22)];
    if shift >= 0 {
        (value * power).round() / power
    } else {
        (value / power).round() * power
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_and_topic_give_the_same_numbers() {
        let draw = |seed, topic| Random::new(seed, topic).next();
        assert_eq!(draw(1, "a"), draw(1, "a"));
        assert_ne!(draw(1, "a"), draw(2, "a"));
        assert_ne!(draw(1, "a"), draw(1, "b"));
    }

    #[test]
    fn normals_have_mean_0_and_variance_1() {
        let mut random = Random::new(7, "normal");
        let drawn: Vec<f64> = (0..100_000).map(|_| random.normal()).collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / drawn.len() as f64;
        assert!(
            mean.abs() < 0.02 && (variance - 1.0).abs() < 0.02,
            "{mean} {variance}"
        );
    }

    #[test]
    fn rounding_keeps_so_many_significant_digits() {
        for (value, digits, rounded) in [
            (3_456.789_1, 6, 3_456.79),
            (2.345_678_9e-6, 6, 2.345_68e-6),
            (0.1, 5, 0.1),
            (1.0, 3, 1.0),
            (-12.345, 2, -12.0),
            (123_456_789.0, 3, 123e6),
            (0.0, 4, 0.0),
            (9.999_999_9, 3, 10.0),
        ] {
            assert_eq!(round(value, digits), rounded, "{value}");
        }
    }
}
