//! 20-byte account address, the identifier that joins all tables. Parsing, formatting, EIP-55 checksums; no lookups.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use sha3::{Digest, Keccak256};

/// A 20-byte address, printed as `0x` and 40 lower-case hex digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Address(pub [u8; 20]);

impl Address {
    /// The zero address, which issuers use for burning.
    pub const ZERO: Self = Self([0; 20]);

    /// Whether the address is one without a known key, used to burn tokens: zero, one, 0x…dead, or
    /// 0xdead000000000000000042069420694206942069 and others that start with 0xdead and eight zero bytes.
    pub fn is_burn_address(&self) -> bool {
        let bytes = &self.0;
        let zeros = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
        let ends_dead = bytes[18..] == [0xde, 0xad] && zeros(&bytes[..18]);
        let begins_dead = bytes[..2] == [0xde, 0xad] && zeros(&bytes[2..10]);
        let zero_or_one = zeros(&bytes[..19]) && bytes[19] <= 1;
        ends_dead || begins_dead || zero_or_one
    }

    /// Parses `0x` and exactly 40 hex digits in any letter case; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text
            .strip_prefix("0x")
            .or_else(|| text.strip_prefix("0X"))?;
        let mut bytes = [0; 20];
        // The decoder would accept a second `0x`.
        let decoded = digits.len() == 40 && const_hex::decode_to_slice(digits, &mut bytes).is_ok();
        decoded.then_some(Self(bytes))
    }

    /// Pseudo-address of a coin without a contract: the last 20 bytes of keccak256("coin:BTC"), the symbol in upper case.
    pub fn coin(symbol: &str) -> Self {
        let hash: [u8; 32] =
            Keccak256::digest(format!("coin:{}", symbol.trim().to_uppercase()).as_bytes()).into();
        Self(hash.last_chunk().copied().unwrap_or_default())
    }

    /// Like `parse`, and also accepts a coin written `coin:BTC`.
    pub fn or_coin(text: &str) -> Option<Self> {
        match text.split_once(':') {
            Some((word, symbol))
                if word.eq_ignore_ascii_case("coin") && !symbol.trim().is_empty() =>
            {
                Some(Self::coin(symbol))
            }
            _ => Self::parse(text),
        }
    }

    /// Like `or_coin`, but accepts only alphanumeric tickers as coins: for input from requests and users.
    pub fn asked(text: &str) -> Option<Self> {
        let is_ticker = |symbol: &str| {
            symbol.len() <= 20 && symbol.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        Self::or_coin(text).filter(|_| {
            text.split_once(':')
                .is_none_or(|(_, symbol)| is_ticker(symbol))
        })
    }

    /// Shortened form, `0x1f98…f984`, for narrow columns.
    pub fn short(&self) -> String {
        let whole = self.to_string();
        format!("{}…{}", &whole[..6], &whole[38..])
    }

    /// Checksummed form of EIP-55, in mixed letter case.
    pub fn checksummed(&self) -> String {
        let small = self.to_string();
        let hash = Keccak256::digest(&small.as_bytes()[2..]);
        let high = |i: usize| (hash[i / 2] >> if i.is_multiple_of(2) { 4 } else { 0 }) & 0x0f >= 8;
        let digit = |(i, digit): (usize, char)| {
            if i >= 2 && high(i - 2) {
                digit.to_ascii_uppercase()
            } else {
                digit
            }
        };
        small.chars().enumerate().map(digit).collect()
    }

    /// Whether the letter case of `text` (a valid address) breaks its EIP-55 checksum. Single-case text carries none.
    pub fn checksum_broken(text: &str) -> bool {
        // A coin, `coin:BTC`, has no checksum.
        let Some(address) = Self::parse(text) else {
            return false;
        };
        let digits = &text[2..];
        let is_mixed = digits.bytes().any(|b| b.is_ascii_lowercase())
            && digits.bytes().any(|b| b.is_ascii_uppercase());
        is_mixed && address.checksummed()[2..] != *digits
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(const_hex::Buffer::<20, true>::new().format(&self.0))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Address {
    fn schema_name() -> Cow<'static, str> {
        "Address".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "pattern": "^0x[0-9a-f]{40}$",
            "description": "`0x` and 40 hexadecimal digits; case-insensitive in requests, lower case in responses.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_letter_case_is_read_and_lower_case_is_written() {
        let text = "0x1F9840a85d5aF5bf1D1762F925BDADdC4201F984";
        let address = Address::parse(text).expect("readable");
        assert_eq!(address.to_string(), text.to_lowercase());
        assert_eq!(address.short(), "0x1f98…f984");
    }

    #[test]
    fn anything_but_40_digits_is_refused() {
        let digits = "1f9840a85d5af5bf1d1762f925bdaddc4201f984";
        for text in [
            "",
            "0x",
            digits,
            &format!("0x{digits}0"),
            &format!("0x0x{digits}"),
            &format!("0x0x{}", &digits[2..]),
            &format!("0x{}", &digits[1..]),
            "0xg",
            "0x€€€€€€€€€€€€€€",
        ] {
            assert_eq!(Address::parse(text), None, "{text}");
        }
    }

    #[test]
    fn only_a_mixed_case_address_can_break_its_checksum() {
        // The examples of EIP-55.
        assert!(!Address::checksum_broken(
            "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
        ));
        assert!(!Address::checksum_broken(
            "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
        ));
        for text in [
            "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
            "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
        ] {
            assert_eq!(
                Address::parse(text).expect("an address").checksummed(),
                text
            );
        }
        assert!(Address::checksum_broken(
            "0xFB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
        ));
        assert!(!Address::checksum_broken(
            "0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359"
        ));
        assert!(
            !Address::checksum_broken("")
                && !Address::checksum_broken("coin:BTC")
                && !Address::checksum_broken("Coin:btc")
        );
    }
}
