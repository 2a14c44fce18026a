//! Sort keys of eight bytes, which compare like the cells as far as they go.

/// Bits of a number that compare like the numbers; both zeros are equal.
pub fn order_key_f64(number: f64) -> u64 {
    let bits = (number + 0.0).to_bits();
    if bits >> 63 == 1 {
        !bits
    } else {
        bits | 1 << 63
    }
}

/// Like `order_key_f64`, for an integer.
pub fn order_key_i64(number: i64) -> u64 {
    number as u64 ^ 1 << 63
}

/// The first eight bytes as a number, which compares like the text as far as they go.
pub fn order_key_bytes(bytes: &[u8]) -> u64 {
    let mut first = [0; 8];
    first
        .iter_mut()
        .zip(bytes)
        .for_each(|(slot, byte)| *slot = *byte);
    u64::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_order_as_bits() {
        let numbers = [
            f64::NEG_INFINITY,
            -2.0,
            -1e-9,
            0.0,
            1e-9,
            3.0,
            f64::INFINITY,
        ];
        assert!(
            numbers
                .windows(2)
                .all(|pair| order_key_f64(pair[0]) < order_key_f64(pair[1]))
        );
        assert_eq!(order_key_f64(-0.0), order_key_f64(0.0));
        assert!(
            [i64::MIN, -1, 0, 7]
                .windows(2)
                .all(|pair| order_key_i64(pair[0]) < order_key_i64(pair[1]))
        );
    }
}
