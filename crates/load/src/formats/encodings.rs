//! Detects text that is not UTF-8: Windows-1252, as older spreadsheets save it, and the encodings of other alphabets. Which of these a text
//! has can only be told from its words. Decoding a whole file belongs to `text`.

use encoding_rs::{BIG5, EUC_JP, EUC_KR, Encoding, GB18030, SHIFT_JIS, WINDOWS_1251, WINDOWS_1252};

/// Encodings of other alphabets than those of western Europe.
const OTHERS: [&Encoding; 6] = [SHIFT_JIS, GB18030, EUC_KR, BIG5, EUC_JP, WINDOWS_1251];

/// The encoding of a text that is not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextEncoding(&'static Encoding);

impl TextEncoding {
    /// Its common name: `Shift_JIS`.
    pub fn name(self) -> &'static str {
        if self.is_western() {
            "Windows-1252"
        } else {
            self.0.name()
        }
    }

    /// Whether it is Windows-1252.
    pub fn is_western(self) -> bool {
        self.0 == WINDOWS_1252
    }

    pub(super) fn get(self) -> &'static Encoding {
        self.0
    }
}

/// The encodings that the beginning of a text may have, and the text in them; none for UTF-8. Windows-1252 is only among them if it is likely.
pub(super) fn possible(bytes: &[u8]) -> Vec<(TextEncoding, String)> {
    if std::str::from_utf8(bytes).map_or_else(|error| error.error_len().is_none(), |_| true) {
        return Vec::new();
    }
    // The last character may be cut off.
    let end = bytes
        .iter()
        .rposition(|byte| *byte == b'\n')
        .unwrap_or(bytes.len());
    let western = Some(WINDOWS_1252)
        .filter(|_| is_likely(bytes))
        .map(|western| (western, bytes));
    let others = OTHERS.into_iter().map(|encoding| (encoding, &bytes[..end]));
    let decoded = |(encoding, bytes): (&'static Encoding, &[u8])| {
        let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?;
        Some((TextEncoding(encoding), text.into_owned()))
    };
    western
        .into_iter()
        .chain(others)
        .filter_map(decoded)
        .collect()
}

/// Bytes from 0x80 to 0x9f that are common characters: the euro, quotes, dashes, dots, ™ and letters of western Europe.
const SIGNS: &[u8] = &[
    0x80, 0x82, 0x84, 0x85, 0x8a, 0x8c, 0x8e, 0x91, 0x92, 0x93, 0x94, 0x95, 0x96, 0x97, 0x99, 0x9a,
    0x9c, 0x9e, 0x9f,
];

/// Maximum number of adjacent non-ASCII letters in words of western Europe, as in `größer`; words of other alphabets consist of them.
const SIDE_BY_SIDE: usize = 2;

/// Whether bytes are not UTF-8 and likely Windows-1252: of the bytes from 0x80 to 0x9f only `SIGNS`, and at most a tenth of the
/// non-ASCII characters in runs of more than `SIDE_BY_SIDE`.
fn is_likely(bytes: &[u8]) -> bool {
    match std::str::from_utf8(bytes) {
        Ok(_) => return false,
        // UTF-8 with a character cut off at the end.
        Err(error) if error.error_len().is_none() => return false,
        Err(_) => {}
    }
    if bytes
        .iter()
        .any(|byte| (0x80..0xa0).contains(byte) && !SIGNS.contains(byte))
    {
        return false;
    }
    let runs = || {
        bytes
            .chunk_by(|a, b| (*a >= 0x80) == (*b >= 0x80))
            .filter(|run| run[0] >= 0x80)
            .map(<[u8]>::len)
    };
    let (all, long) = (
        runs().sum::<usize>(),
        runs().filter(|run| *run > SIDE_BY_SIDE).sum::<usize>(),
    );
    long * 10 <= all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_western_europe_is_told_from_other_bytes() {
        for (what, bytes, expected) in [
            ("é", &b"Libell\xe9,1\n"[..], true),
            ("€", b"\x80 1.5,2\n", true),
            ("quotes", b"\x93Caf\xe9\x94 \x96 d\xfcrr\n", true),
            ("two letters side by side", b"Gr\xf6\xdfe,1\n", true),
            ("ASCII", b"a,b\n", false),
            ("UTF-8", "é,€\n".as_bytes(), false),
            ("UTF-8 cut off", b"abc\xc3", false),
            ("Cyrillic in Windows-1251", b"\xe4\xe0\xf2\xe0,1\n", false),
            ("Chinese in GBK", b"\xca\xb1\xbc\xe4,1\n", false),
            ("Japanese in Shift-JIS", b"\x83V\x83X,1\n", false),
        ] {
            assert_eq!(is_likely(bytes), expected, "{what}");
        }
    }
}
