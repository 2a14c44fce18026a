//! Token amounts in smallest units: 256-bit integers that never pass through a float. Floats are used only for fractions of an amount and
//! for its value.

use ruint::{
    Uint,
    aliases::{U256, U512},
};

/// Precision of a fraction: a multiple of 2^-53, which a float from 0 to 1 represents exactly.
const PART_BITS: usize = 53;

/// Returns ⌊amount · part⌋ with `part` truncated to 53 binary places; at most `amount`.
pub fn share(amount: U256, part: f64) -> U256 {
    let part = U256::from((part.clamp(0.0, 1.0) * (1u64 << PART_BITS) as f64) as u64);
    let product: U512 = amount.widening_mul::<256, 4, 512, 8>(part);
    let shifted: U512 = product >> PART_BITS;
    // The fraction is at most 1, so the shifted product is at most the amount.
    let limbs = shifted.as_limbs();
    U256::from_limbs([limbs[0], limbs[1], limbs[2], limbs[3]])
}

/// Nearest float.
pub fn to_float(amount: U256) -> f64 {
    let bits = amount.bit_len();
    if bits <= 64 {
        return amount.as_limbs()[0] as f64;
    }
    let shift = bits - 64;
    let top = amount >> shift;
    // Sticky bit: whether the truncated bits are non-zero, for rounding ties.
    let rest = u64::from((top << shift) != amount);
    (top.as_limbs()[0] | rest) as f64 * 2f64.powi(shift as i32)
}

/// Value of the amount at `price` per 10^decimals units.
pub fn value(amount: U256, decimals: u32, price: f64) -> f64 {
    to_float(amount) / 10f64.powi(decimals as i32) * price
}

/// Formats an amount in whole tokens, exactly: `1500000` with 6 decimals is `1.5`.
pub fn in_tokens(amount: U256, decimals: u32) -> String {
    let digits = amount.to_string();
    let decimals = decimals as usize;
    if decimals == 0 {
        return digits;
    }
    let padded = format!("{digits:0>width$}", width = decimals + 1);
    let (whole, part) = padded.split_at(padded.len() - decimals);
    let part = part.trim_end_matches('0');
    if part.is_empty() {
        whole.to_owned()
    } else {
        format!("{whole}.{part}")
    }
}

/// Parses an amount in whole tokens, exactly; `None` if the text is no such number, has more decimal places than the token, or exceeds
/// 2^256 − 1.
pub fn from_tokens(text: &str, decimals: u32) -> Option<U256> {
    let text = text.trim().replace(['_', ' ', ','], "");
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let part = part.trim_end_matches('0');
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() && part.is_empty()
        || !digits(whole)
        || !digits(part)
        || part.len() > decimals as usize
    {
        return None;
    }
    let all = format!("{whole}{part:0<width$}", width = decimals as usize);
    let all = all.trim_start_matches('0');
    if all.is_empty() {
        Some(U256::ZERO)
    } else {
        U256::from_str_radix(all, 10).ok()
    }
}

/// Saturating sum; the amounts of one wallet cannot overflow.
pub fn sum(amounts: impl Iterator<Item = U256>) -> U256 {
    amounts.fold(Uint::ZERO, |sum: U256, amount| sum.saturating_add(amount))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_exact_at_every_size() {
        for (amount, part, expected) in [
            (U256::MAX, 1.0, U256::MAX),
            (U256::MAX, 0.5, U256::MAX >> 1),
            (U256::from(3u8), 0.5, U256::from(1u8)),
            (U256::from(10u8), 0.0, U256::ZERO),
            (U256::from(10u8), f64::NAN, U256::ZERO),
            (U256::from(10u8), 7.0, U256::from(10u8)),
            (U256::from(1u128 << 100), 0.25, U256::from(1u128 << 98)),
        ] {
            assert_eq!(share(amount, part), expected, "{amount} {part}");
        }
    }

    #[test]
    fn floats_are_the_nearest() {
        for (amount, expected) in [
            (U256::ZERO, 0.0),
            (U256::from(u64::MAX), 18_446_744_073_709_551_615.0),
            (U256::from((1u128 << 65) + 1), 36_893_488_147_419_103_232.0),
            (U256::MAX, 2f64.powi(256)),
        ] {
            assert_eq!(to_float(amount), expected, "{amount}");
        }
        let odd = (U256::from(1u8) << 200) + (U256::from(1u8) << 147);
        assert_eq!(to_float(odd), 2f64.powi(200), "a tie goes to even");
        assert!(to_float(odd + U256::from(1u8)) > 2f64.powi(200));
    }

    #[test]
    fn whole_tokens_are_written_and_read_exactly() {
        for (text, decimals, units) in [
            ("1.5", 6, "1500000"),
            ("0.000001", 6, "1"),
            ("12", 0, "12"),
            ("0", 18, "0"),
            ("123456789.123", 3, "123456789123"),
        ] {
            let amount = U256::from_str_radix(units, 10).unwrap();
            assert_eq!(in_tokens(amount, decimals), text);
            assert_eq!(from_tokens(text, decimals), Some(amount));
        }
        assert_eq!(from_tokens("1,000.50", 2), Some(U256::from(100_050u32)));
        for text in ["", ".", "1.2345678", "-1", "1e5", "0x10", "1.2.3", "九"] {
            assert_eq!(from_tokens(text, 6), None, "{text}");
        }
        assert_eq!(from_tokens(&U256::MAX.to_string(), 0), Some(U256::MAX));
        assert_eq!(from_tokens(&format!("{}0", U256::MAX), 0), None);
    }
}
