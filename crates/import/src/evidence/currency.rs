//! The currency that a cell or a line of text names: signs and codes beside a number, `prices in EUR` in a sentence. What follows for a
//! table is decided elsewhere.

/// Currency signs before or after a number, longer ones first.
const SIGNS: &str = "\
    US$=USD $US=USD HK$=HKD NZ$=NZD MX$=MXN A$=AUD C$=CAD R$=BRL S$=SGD $=USD €=EUR £=GBP ¥=JPY ￥=JPY ₹=INR ₩=KRW ₽=RUB ₺=TRY ₴=UAH \
    ₿=BTC Ξ=ETH";
/// Currency codes that occur there too, longer ones first.
const CODES: &str = "\
    USDT USDC USD EUR GBP CHF JPY KRW TRY BRL AUD CAD INR RUB CNY PLN SEK NOK DKK CZK HUF UAH SGD HKD MXN NZD ZAR THB VND IDR PHP NGN ARS KZT";
/// Words before a currency code that state the unit of figures.
const IN: &[&str] = &[
    "in",
    "en",
    "em",
    "currency",
    "currencies",
    "währung",
    "devise",
    "moneda",
    "moeda",
    "valuta",
    "ccy",
];

/// Splits off the currency before or after a number.
pub(crate) fn apart(text: &str) -> (&str, Option<&'static str>) {
    let text = text.trim();
    if text.starts_with(is_figure) && text.ends_with(is_figure) {
        return (text, None);
    }
    let all = || {
        SIGNS
            .split(' ')
            .filter_map(|word| word.split_once('='))
            .chain(CODES.split(' ').map(|code| (code, code)))
    };
    let before = || {
        all().find_map(|(sign, currency)| Some((text.strip_prefix(sign)?.trim_start(), currency)))
    };
    let after =
        || all().find_map(|(sign, currency)| Some((text.strip_suffix(sign)?.trim_end(), currency)));
    before()
        .or_else(after)
        .map_or((text, None), |(rest, currency)| (rest, Some(currency)))
}

fn is_figure(c: char) -> bool {
    c.is_ascii_digit() || c == '.' || c == ','
}

/// The currency beside a number; `None` for a text without digits.
pub(crate) fn of_cell(cell: &str) -> Option<&'static str> {
    let (rest, currency) = apart(cell.trim().trim_start_matches(['-', '−', '+']));
    let digits = rest
        .trim_start_matches(['-', '−', '+'])
        .starts_with(is_figure);
    currency.filter(|_| digits)
}

/// The currencies that a text states figures to be in: `all prices in EUR`, `Currency: EUR`. `is_code` tells currency codes from other
/// words.
pub(crate) fn of_text(text: &str, is_code: impl Fn(&str) -> bool) -> Vec<String> {
    let words: Vec<&str> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let says = |two: &&[&str]| {
        IN.contains(&two[0].to_lowercase().as_str())
            && two[1].len() >= 3
            && is_code(&two[1].to_uppercase())
    };
    // A word such as `try` is a currency only in capitals.
    let code = |two: &&[&str]| {
        two[1].chars().all(|c| c.is_ascii_uppercase()) || two[0].to_lowercase().starts_with("curr")
    };
    words
        .windows(2)
        .filter(says)
        .filter(code)
        .map(|two| two[1].to_uppercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_currency_is_told_from_cells_and_from_sentences() {
        for (cell, expected) in [
            ("€62,000.00", Some("EUR")),
            ("69.116,92 $", Some("USD")),
            ("69 116,92 $US", Some("USD")),
            ("R$ 62.000,00", Some("BRL")),
            ("CHF 5", Some("CHF")),
            ("62,000.00 USD", Some("USD")),
            ("-$5", Some("USD")),
            ("USD", None),
            ("5", None),
            ("1INCH", None),
        ] {
            assert_eq!(of_cell(cell), expected, "{cell}");
        }
        let is_code = |word: &str| ["EUR", "USD", "TRY"].contains(&word);
        for (text, expected) in [
            ("Bitcoin daily prices, all prices in EUR", &["EUR"][..]),
            ("# Currency: EUR", &["EUR"]),
            ("currency: eur", &["EUR"]),
            ("prices in USD", &["USD"]),
            ("in try mode, EURO area", &[]),
        ] {
            assert_eq!(of_text(text, is_code), expected, "{text}");
        }
    }
}
