//! The encoding of a text that is not UTF-8. Bytes of one often make sense in others too, so the words that a header of a known table has tell which
//! it is; a text whose header has none is refused, as its names would be wrong.

use super::{candles, error::FileError, names};
use load::formats::TextEncoding;

/// Words of headers that are not among the names of columns.
const MORE: &str = "出来高 变化率 変化率 日付け 成交量 成交额 交易量 涨跌幅 漲跌幅 成交額 收盤 開盤 수량 거래량 변동 объём объем кол-во изм 地址 余额 餘額 标签 \
                    代币 アドレス 残高 주소 잔액 адрес баланс";
/// Lines that are looked at for them, and how many different ones there must be.
const LINES: usize = 5;
const WORDS_MIN: usize = 2;
/// One line of this number may be damaged.
const DAMAGED: usize = 10;

/// The encoding, and the text decoded; `None` for UTF-8, whose damaged lines are rejected as rows.
pub(super) fn of(text: &[u8]) -> Result<Option<(TextEncoding, String)>, FileError> {
    let possible = load::formats::possible_encodings(text);
    let known = || {
        let all = candles::header_words()
            .chain([names::SYMBOL, names::NAME, MORE])
            .flat_map(str::split_whitespace);
        all.filter(|word| !word.is_ascii())
    };
    let count = |decoded: &str| {
        let head = decoded
            .lines()
            .take(LINES)
            .collect::<Vec<_>>()
            .join("\n")
            .to_lowercase();
        let mut found: Vec<&str> = known().filter(|word| head.contains(word)).collect();
        found.sort_unstable();
        found.dedup();
        found.len()
    };
    let counts: Vec<usize> = possible
        .iter()
        .map(|(encoding, decoded)| {
            if encoding.is_western() {
                0
            } else {
                count(decoded)
            }
        })
        .collect();
    let most = counts.iter().copied().max().unwrap_or_default();
    let is_best = |at: &usize| counts[*at] == most && most >= WORDS_MIN;
    let western = || {
        possible
            .iter()
            .position(|(encoding, _)| encoding.is_western())
    };
    if let Some(at) = (0..counts.len()).find(is_best).or_else(western) {
        return Ok(possible.into_iter().nth(at));
    }
    let is_damaged = |line: &&[u8]| std::str::from_utf8(line).is_err();
    let mut lines = text
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.trim_ascii().is_empty())
        .peekable();
    let header = lines.peek().is_some_and(is_damaged);
    let (all, damaged) = lines.fold((0, 0), |(all, damaged), line| {
        (all + 1, damaged + usize::from(is_damaged(&line)))
    });
    if possible.is_empty() || !header && damaged * DAMAGED <= all.max(DAMAGED) {
        return Ok(None);
    }
    Err(FileError::UnknownEncoding)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoding_is_told_by_the_words_of_a_header() {
        for (what, bytes, expected) in [
            (
                "Shift-JIS",
                &b"\x93\xfa\x95\x74\x82\xaf,\x8f\x49\x92\x6c,\x8e\x6e\x92\x6c\n1,2,3\n"[..],
                Ok(Some("Shift_JIS")),
            ),
            (
                "GBK",
                b"\xc8\xd5\xc6\xda,\xbf\xaa\xc5\xcc,\xca\xd5\xc5\xcc\n1,2,3\n",
                Ok(Some("gb18030")),
            ),
            (
                "Windows-1251",
                b"\xe4\xe0\xf2\xe0,\xf6\xe5\xed\xe0,\xee\xf2\xea\xf0\n1,2,3\n",
                Ok(Some("windows-1251")),
            ),
            (
                "Windows-1252",
                b"Libell\xe9,b\n1,2\n",
                Ok(Some("Windows-1252")),
            ),
            ("UTF-8", "日付,始値\n1,2\n".as_bytes(), Ok(None)),
            ("UTF-8 cut off", b"a,b\n1,\xc3", Ok(None)),
            (
                "a damaged row",
                b"a,b\n\xe5\x90\x8d\xe5\x89\x8d\xe5,2\n",
                Ok(None),
            ),
            (
                "no known words",
                b"\xb0\xa1\xb0\xa2,\xb0\xa3\xb0\xa4\n1,2\n",
                Err(()),
            ),
        ] {
            let found = of(bytes)
                .map(|found| found.map(|(encoding, _)| encoding.name()))
                .map_err(drop);
            assert_eq!(found, expected, "{what}");
        }
    }
}
