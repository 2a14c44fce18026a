//! The currency of the prices, wherever the file states it: in cells, in a column, in lines around the table, in JSON members beside it.
//! Prices not in USD are refused; a file that states none is left to the caller.

use super::{
    super::{
        evidence::currency::{of_cell, of_text},
        format::FileToImport,
        names::{Names, SERIES, is_one_of, plain},
        pair,
        refusal::{Refusal, UNIT},
        sheet::RawTable,
    },
    columns::CandleColumns,
    pools,
};
use crate::AmountUnit;

/// Columns and members that name a currency and nothing else.
const NAMES: &str = "\
    pricecurrency currencycode ccy vscurrency countercurrency counter pricein priceunit quotedin denomination denominatedin unitofaccount";
/// Columns that may name the token instead: they count only if they hold nothing but fiat currencies.
const MAYBE: &str = "currency unit";
/// Members beside the table that name the price currency.
const BESIDE: &str = "quotecurrency vscurrency quote pricecurrency quotesymbol quoteasset";
/// What the other side of a pair is named, longest first, and the words that may follow: `quoteCurrency.symbol`, `quote_token_address`.
const QUOTE: &[&str] = &[
    "quote",
    "counter",
    "denominator",
    "denomination",
    "denominated",
    "conversion",
];
const OF_QUOTE: &str =
    "smartcontract contract currency token asset coin symbol ticker code name address hash mint id";
/// Dollars that are not common as quotes.
const MORE_DOLLARS: &str = "FRAX XDAI WXDAI SDAI GHO MIM DOLA MAI";
/// A member beside the table that may name the token instead.
const BESIDE_MAYBE: &str = "currency";
/// The word of APIs for prices in the chain's native coin.
const NATIVE: &str = "NATIVE";
/// Upper limit of a token's price; larger whole numbers are base units.
const USD_MAX: f64 = 1e8;
/// Whole numbers from which prices are taken to be in wei.
const WEI: f64 = 1e13;
/// Members beside the table, and columns, that give the number of decimals in prices that are written as whole numbers.
const PLACES: &str = "\
    decimalplaces pricedecimalplaces pricedecimals pricedecimal priceprecision pricescale pricedigits quotedecimals expo exponent priceexponent priceexpo";
/// Words in the places of members that count the decimals of an amount.
const AMOUNTS: [&str; 8] = [
    "token", "asset", "base", "volume", "position", "size", "quantity", "amount",
];

/// A currency, and where the file states it.
pub(crate) struct NamedCurrency {
    currency: String,
    says: String,
}

/// Whether the column names the other side of a pair, in which the prices are: `quote_symbol`, `quoteCurrency.address`. Figures of it, as
/// `quoteVolume`, do not.
pub(super) fn is_of_quote(name: &str) -> bool {
    let parts: Vec<String> = name.split('.').map(plain).collect();
    (0..parts.len()).any(|from| {
        let whole = parts[from..].concat();
        let Some(mut rest) = QUOTE.iter().find_map(|word| whole.strip_prefix(word)) else {
            return false;
        };
        while let Some(behind) = OF_QUOTE
            .split_whitespace()
            .find_map(|word| rest.strip_prefix(word))
        {
            rest = behind;
        }
        rest.is_empty()
    })
}

/// Every currency that the file states for these prices.
pub(super) fn named(
    file: &FileToImport<'_>,
    sheet: &RawTable,
    found: &CandleColumns,
) -> Vec<NamedCurrency> {
    let mut all = Vec::new();
    for at in found.prices {
        if let Some((cell, currency)) = sheet
            .column(at)
            .find_map(|cell| Some((cell, of_cell(cell)?)))
        {
            all.push(NamedCurrency {
                currency: currency.to_owned(),
                says: format!("`{cell}` in `{}`", sheet.names[at]),
            });
        }
    }
    all.extend(in_columns(file, sheet));
    // A footnote is text in the time column.
    let notes: Vec<&str> = sheet
        .column(found.time)
        .filter(|cell| cell.len() > 8 && cell.contains(' '))
        .collect();
    let lines: Vec<&str> = sheet
        .beside
        .iter()
        .filter(|(place, _)| place == "preamble")
        .map(|(_, text)| text.as_str())
        .collect();
    let heading = lines.join(" ");
    for line in std::iter::once(heading.as_str()).chain(notes) {
        let told = of_text(line, pair::is_quote);
        // A line that names the dollar as well is about several figures.
        if !told.iter().any(|currency| pair::is_dollar(currency)) {
            let shown: String = line.chars().take(80).collect();
            let says = format!("stated in `{}`", shown.trim());
            all.extend(told.into_iter().map(|currency| NamedCurrency {
                currency,
                says: says.clone(),
            }));
        }
    }
    all.extend(beside(sheet));
    // Prices named in dollars, or a dollar named elsewhere, go before the pair: `priceUsd` beside a quote of WETH.
    if found.currency.is_none() && !all.iter().any(|named| pair::is_dollar(&named.currency)) {
        all.extend(of_quotes(file, sheet));
    }
    all
}

/// The values that a column of currencies has in the picked rows, in upper case.
fn values(file: &FileToImport<'_>, sheet: &RawTable, at: usize) -> Vec<String> {
    let picked = file
        .options
        .pick
        .iter()
        .find(|(column, _)| column.eq_ignore_ascii_case(&sheet.names[at]));
    match picked {
        Some((_, value)) => vec![value.trim().to_uppercase()],
        None => sheet
            .different(at)
            .iter()
            .map(|value| value.trim().to_uppercase())
            .collect(),
    }
}

/// The tokens or currencies in which columns of quotes say that the prices are. Where one of several is a dollar, the series are told apart
/// by them instead.
fn of_quotes(file: &FileToImport<'_>, sheet: &RawTable) -> Vec<NamedCurrency> {
    let is_symbol = |value: &String| {
        (2..=12).contains(&value.len())
            && value
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte))
            && value.parse::<f64>().is_err()
    };
    let is_named = |at: &usize| {
        let last = plain(sheet.names[*at].rsplit('.').next().unwrap_or_default());
        sheet.named
            && is_of_quote(&sheet.names[*at])
            && !["name", "address", "id", "hash", "mint"]
                .iter()
                .any(|end| last.ends_with(end))
    };
    let mut all = Vec::new();
    for at in (0..sheet.names.len()).filter(is_named) {
        let values = values(file, sheet, at);
        if !values.is_empty() && values.iter().all(is_symbol) {
            let dollar = values.iter().find(|value| {
                pair::is_dollar(value) || value.contains("USD") || is_one_of(value, MORE_DOLLARS)
            });
            let shown = dollar.unwrap_or(&values[0]);
            let currency = if dollar.is_some() {
                "USD"
            } else {
                shown.as_str()
            }
            .to_owned();
            all.push(NamedCurrency {
                currency,
                says: format!("`{shown}` in `{}`", sheet.names[at]),
            });
        }
    }
    all
}

/// The currencies in currency columns, for the picked rows.
fn in_columns(file: &FileToImport<'_>, sheet: &RawTable) -> Vec<NamedCurrency> {
    let names = Names::of(&sheet.names);
    let mut all = Vec::new();
    let all_of = |words: &str| {
        if sheet.named {
            names.all(words)
        } else {
            Vec::new()
        }
    };
    // Any other column that says a currency in every row, but that of a fee or of what is traded; dollars may be what is traded.
    let others = || {
        let other = |at: &usize| {
            let of_fee = ["fee", "commission", "tax"]
                .iter()
                .any(|word| names.whole(*at).contains(word));
            let of_traded = is_one_of(
                names.last(*at),
                "base baseasset basecurrency basesymbol basetoken basecoin",
            ) || pools::is_of_pool(&sheet.names[*at]);
            let first = sheet
                .column(*at)
                .find(|cell| !cell.is_empty())
                .unwrap_or_default()
                .trim()
                .to_uppercase();
            let is_told = pair::is_money(&first)
                && (!pair::is_dollar(&first) || !is_one_of(names.last(*at), SERIES));
            is_told && (!sheet.named || !of_fee && !of_traded && !is_of_quote(&sheet.names[*at]))
        };
        (0..names.len()).filter(other).collect()
    };
    for (words, sure) in [(NAMES, true), (MAYBE, false), ("", false)] {
        // The others count where no column is named for a currency.
        if words.is_empty() && !all.is_empty() {
            break;
        }
        for at in if words.is_empty() {
            others()
        } else {
            all_of(words)
        } {
            let name = &sheet.names[at];
            let values = values(file, sheet, at);
            let is_currency = |value: &String| {
                value == NATIVE
                    || if sure {
                        pair::is_quote(value)
                    } else {
                        pair::is_money(value)
                    }
            };
            if !values.is_empty() && values.iter().all(is_currency) {
                let says = |value: &str| format!("`{}` in `{name}`", value.to_lowercase());
                all.extend(values.into_iter().map(|value| NamedCurrency {
                    says: says(&value),
                    currency: value,
                }));
            }
        }
    }
    all
}

/// The symbol of a `quoteCurrency` that is an object beside the table. The `quote` of a pool is not: its prices may be in USD.
fn beside_quote(sheet: &RawTable) -> Option<&str> {
    let is_symbol = |place: &str| {
        let mut parts = place.rsplit('.').map(plain);
        let (last, of) = (
            parts.next().unwrap_or_default(),
            parts.next().unwrap_or_default(),
        );
        is_one_of(&last, "symbol code ticker")
            && is_one_of(&of, "quotecurrency quoteasset countercurrency vscurrency")
    };
    sheet
        .beside
        .iter()
        .find(|(place, _)| is_symbol(place))
        .map(|(_, text)| text.as_str())
}

/// The currency in members beside the table.
pub(crate) fn beside(sheet: &RawTable) -> Option<NamedCurrency> {
    let of = |names: &str, is_currency: fn(&str) -> bool| {
        let value = sheet.beside(names).or_else(|| beside_quote(sheet))?.trim();
        let currency = value.to_uppercase();
        let known = currency == NATIVE || is_currency(&currency);
        known.then(|| NamedCurrency {
            currency,
            says: format!("`{value}` next to its table"),
        })
    };
    of(BESIDE, pair::is_quote).or_else(|| of(BESIDE_MAYBE, pair::is_money))
}

/// Refuses prices stated to be in a currency other than USD.
pub(crate) fn in_dollars(file: &FileToImport<'_>, named: &[NamedCurrency]) -> Result<(), Refusal> {
    let foreign = |named: &&NamedCurrency| !pair::is_dollar(&named.currency);
    let Some(first) = named.iter().find(foreign).filter(|_| !file.options.as_usd) else {
        return Ok(());
    };
    let what = if first.currency == NATIVE {
        "the chain's native coin"
    } else {
        first.currency.as_str()
    };
    Err(format!(
        "has prices in {what} ({}), but candles must be in USD; use a file with prices in USD, or pass --as-usd if its prices are in \
         USD",
        first.says
    )
    .into())
}

/// The number of decimals that the file states for prices written as whole numbers, and where it does.
fn stated_places(sheet: &RawTable) -> Option<(u32, String)> {
    let of = |name: &str, text: &str| {
        let number: i64 = text.trim().parse().ok()?;
        match plain(name) {
            name if !is_one_of(&name, PLACES) => None,
            name if name.contains("expo") => number.checked_neg(),
            // 100 of TradingView means two decimals.
            name if name == "pricescale" && number >= 10 => {
                (10_i64.checked_pow(number.ilog10())? == number).then(|| number.ilog10().into())
            }
            _ => Some(number),
        }
        .and_then(|places| u32::try_from(places).ok())
        .filter(|places| (1..=18).contains(places))
    };
    let beside = sheet.beside.iter().find_map(|(place, text)| {
        let mut parts = place.rsplit('.');
        let name = parts.next()?;
        let is_of_amounts = parts.any(|part| {
            AMOUNTS
                .iter()
                .any(|word| part.to_lowercase().contains(word))
        });
        Some((
            of(name, text).filter(|_| !is_of_amounts)?,
            format!("`{name}` next to its table is {}", text.trim()),
        ))
    });
    let column = |at: usize| match (sheet.named, &sheet.different(at)[..]) {
        (true, [one]) => Some((
            of(&sheet.names[at], one)?,
            format!("`{}` is {} in its rows", sheet.names[at], one.trim()),
        )),
        _ => None,
    };
    beside.or_else(|| (0..sheet.names.len()).find_map(column))
}

/// Divides prices that are written as whole numbers and that no token costs, if the file states their decimals; asks about lower ones.
pub(super) fn with_stated_places(
    file: &FileToImport<'_>,
    sheet: &RawTable,
    found: &mut CandleColumns,
) -> Result<(), Refusal> {
    let unit = file.options.unit;
    let decimal = if found.style.comma { ',' } else { '.' };
    let is_whole = found
        .prices
        .iter()
        .all(|&at| sheet.column(at).all(|cell| !cell.contains(decimal)));
    if !is_whole || file.options.as_usd || unit == Some(AmountUnit::Whole) {
        return Ok(());
    }
    let Some((places, says)) = stated_places(sheet) else {
        return Ok(());
    };
    if unit != Some(AmountUnit::Raw) && middle_close(found) < USD_MAX {
        let shown = sheet
            .column(found.prices[3])
            .find(|cell| !cell.is_empty())
            .unwrap_or_default();
        return Err(Refusal::new(format!(
            "has whole numbers as prices, such as `{shown}` in `{}`, and {says}, so the last {places} digits of each may be decimals; pass --unit raw if they \
             are, or --unit whole if the prices are in USD as written",
            sheet.names[found.prices[3]]
        ))
        .say("unit", UNIT));
    }
    for figure in found.figures.iter_mut().flatten() {
        *figure /= 10_f64.powi(places as i32);
    }
    found.places = places;
    let assumed = format!(
        "assumed: the last {places} digits of its prices, which are whole numbers, are decimals, as {says}; if the prices are in USD as written, pass --unit \
         whole"
    );
    found
        .notes
        .extend((unit != Some(AmountUnit::Raw)).then_some(assumed));
    Ok(())
}

/// The median of the closes above zero.
fn middle_close(found: &CandleColumns) -> f64 {
    let mut closes: Vec<f64> = found.figures[3]
        .iter()
        .copied()
        .filter(|price| *price > 0.0)
        .collect();
    closes.sort_by(f64::total_cmp);
    closes.get(closes.len() / 2).copied().unwrap_or_default()
}

/// Refuses prices too high for any token, as base units are.
pub(super) fn not_smallest_units(
    file: &FileToImport<'_>,
    sheet: &RawTable,
    found: &CandleColumns,
) -> Result<(), Refusal> {
    let middle = middle_close(found);
    if file.options.as_usd
        || middle < USD_MAX
        || found.figures[3]
            .iter()
            .any(|price| *price > 0.0 && price.fract() != 0.0)
    {
        return Ok(());
    }
    let scale = if middle < WEI { "SCALE" } else { "1e-18" };
    let name = |at: usize| &sheet.names[found.prices[at]];
    let shown = sheet
        .column(found.prices[3])
        .find(|cell| !cell.is_empty())
        .unwrap_or_default();
    let scaled =
        |ours: &str, at: usize| format!("{ours} = {{ from = \"{}\", scale = {scale} }}", name(at));
    let columns = [
        scaled("open", 0),
        scaled("high", 1),
        scaled("low", 2),
        scaled("close", 3),
    ]
    .join(", ");
    Err(Refusal::new(format!(
        "has prices such as `{shown}` in `{}`, too high for any token in USD; they seem to be in base units (wei) or in another \
         currency, so convert them first, or pass --as-usd if they are in USD",
        name(3)
    ))
    .lines(format!("[tables.candles] columns = {{ {columns} }}")))
}
