//! The unit that a volume column states: a scale or currency in its name, words and signs in its cells. The volume column is chosen
//! elsewhere.

use super::super::{
    evidence::{
        currency::of_cell,
        number::{plain, scale},
    },
    names::is_one_of,
    pair,
    sheet::RawTable,
};
use frames::raw_cell::is_null_word;

/// Header words that scale the figures of the column.
const SCALES: &[(&str, f64)] = &[
    ("k thousand thousands tsd 000 000s", 1e3),
    ("lakh lakhs", 1e5),
    ("m mm mn mln mio million millions", 1e6),
    ("crore crores", 1e7),
    ("b bn bln mrd billion billions", 1e9),
];

/// The factor that the name applies to its figures: `Volume (M USD)`, `Volume (k BTC)`, `Volume in millions`; 1 if it has none.
pub(super) fn scale_of(name: &str) -> f64 {
    let name = name
        .to_lowercase()
        .replace("us$", " usd ")
        .replace('$', " usd ");
    let (bracketed, part) = match name.split_once(['(', '[']) {
        Some((_, rest)) => (
            true,
            rest.split([')', ']']).next().unwrap_or_default().to_owned(),
        ),
        None => (false, name),
    };
    let words: Vec<&str> = part
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let is_currency = |word: &str| pair::is_quote(&word.to_uppercase());
    let one = |(i, word): (usize, &&str)| {
        let beside = i
            .checked_sub(1)
            .and_then(|before| words.get(before))
            .into_iter()
            .chain(words.get(i + 1))
            .any(|word| is_currency(word));
        // One letter is ambiguous, and a name such as `BUSD` is a currency, not a billion.
        let sure = word.len() > 2
            || *word == "mn"
            || *word == "bn"
            || beside
            || bracketed && *word != "b" && *word != "mm";
        known(word)
            .filter(|_| sure && (bracketed || i > 0))
            .or_else(|| joined(word).filter(|_| bracketed))
    };
    words.iter().enumerate().find_map(one).unwrap_or(1.0)
}

fn known(word: &str) -> Option<f64> {
    SCALES
        .iter()
        .find(|(words, _)| is_one_of(word, words))
        .map(|(_, by)| *by)
}

/// The scale in a lower-case word that joins scale and currency: `kusd`. `mbtc`, a thousandth of a bitcoin, is no such word.
fn joined(word: &str) -> Option<f64> {
    let rest = ["usdt", "usd", "eur", "btc"]
        .iter()
        .find_map(|code| word.strip_suffix(code).or_else(|| word.strip_prefix(code)))?;
    known(rest).filter(|_| !pair::is_quote(&word.to_uppercase()) && word != "mbtc")
}

/// The bracketed word of a name that joins scale and currency, such as `mUSD`: it could also be the name of a token.
pub(super) fn may_be_token(name: &str) -> Option<&str> {
    let (_, part) = name.split_once(['(', '['])?;
    part.split(|c: char| !c.is_alphanumeric())
        .find(|word| joined(&word.to_lowercase()).is_some())
}

/// The currency that most of the column's cells carry.
pub(super) fn currency(sheet: &RawTable, at: usize) -> Option<&'static str> {
    let filled = sheet.column(at).filter(|cell| !is_null_word(cell)).count();
    let told: Vec<&'static str> = sheet.column(at).filter_map(of_cell).collect();
    (told.len() * 2 > filled).then(|| told[0])
}

/// The cell without the ticker after its number: `29863 BTC`. `None` if there is no ticker.
pub(super) fn without_ticker(cell: &str) -> Option<String> {
    let cell = cell.trim();
    let (number, word) = cell.rsplit_once([' ', '\u{a0}'])?;
    let ticker = (2..=10).contains(&word.len())
        && word
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    let letters = word.bytes().any(|byte| byte.is_ascii_uppercase());
    let other = is_number(cell) || scale(cell).is_some();
    (ticker && letters && !other && is_number(number)).then(|| number.trim_end().to_owned())
}

/// The cell's number as written, without a ticker.
pub(super) fn figure(cell: &str) -> std::borrow::Cow<'_, str> {
    without_ticker(cell).map_or(cell.into(), Into::into)
}

/// Non-numeric cells of a column: their number, the number of filled cells, and the first of them.
pub(super) fn unread(sheet: &RawTable, at: usize) -> (usize, usize, Option<&str>) {
    let filled = sheet.column(at).filter(|cell| !is_null_word(cell));
    let bad = || {
        sheet
            .column(at)
            .filter(|cell| !is_null_word(cell) && !is_number(&figure(cell)))
    };
    (bad().count(), filled.count(), bad().next())
}

/// Empties a cell that is no number.
pub(super) fn emptied(cell: &str) -> Option<String> {
    (!is_number(&figure(cell))).then(String::new)
}

fn is_number(cell: &str) -> bool {
    plain(cell, false).is_some() || plain(cell, true).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_its_figures_are_multiplied_by() {
        for (name, expected) in [
            ("Volume (M USD)", 1e6),
            ("Volume (k BTC)", 1e3),
            ("Volume ($M)", 1e6),
            ("Volume [US$ bn]", 1e9),
            ("Volume (kUSD)", 1e3),
            ("Volume in millions", 1e6),
            ("volume_usd_m", 1e6),
            ("Volume ('000)", 1e3),
            ("Volume (BTC)", 1.0),
            ("Volume BUSD", 1.0),
            ("Volume (BUSD)", 1.0),
            ("Volume MA", 1.0),
            ("Volume_(Currency)", 1.0),
            ("m", 1.0),
            ("volume", 1.0),
            ("Volume (24h)", 1.0),
            ("Volume (mBTC)", 1.0),
        ] {
            assert_eq!(scale_of(name), expected, "{name}");
        }
        for (name, expected) in [
            ("Volume (mUSD)", Some("mUSD")),
            ("Volume (M USD)", None),
            ("Volume (mBTC)", None),
            ("mUSD", None),
        ] {
            assert_eq!(may_be_token(name), expected, "{name}");
        }
        assert_eq!(without_ticker("29863 BTC").as_deref(), Some("29863"));
        assert_eq!(
            (
                without_ticker("29863"),
                without_ticker("1.2 MIO"),
                without_ticker("5 USD")
            ),
            (None, None, None)
        );
    }
}
