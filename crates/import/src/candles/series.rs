//! Splits a file of candles into one series per token, by its columns of symbols, pairs and exchanges. A file that would mix several series
//! into one is refused, with the options that pick one.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    super::{
        error::FileError,
        format::{FileToImport, ImportPlan, ImportedTable},
        names::{Names, PLACES, QUOTES, SERIES, TOKEN, is_one_of, plain},
        pair,
        refusal::Refusal,
        report::{few, listed},
        rows,
        sheet::RawTable,
    },
    columns::CandleColumns,
    currency::is_of_quote,
    pools,
};

/// Members beside the table that name the quote currency.
const QUOTED: &str = "currency quotecurrency vscurrency quote";
/// Columns of `SERIES` that hold names and units as well as symbols.
const TEXTS: &str = "name coinname cryptoname instrumentname slug unit";
/// Maximum number of series per file.
const SERIES_MAX: usize = 20_000;

/// The columns that identify a row's series, with that of the token's address, and their values in the whole file.
struct SeriesColumns {
    /// Columns of symbols or pairs, best first; of exchanges; of quote currencies.
    symbols: Vec<usize>,
    places: Vec<usize>,
    quotes: Vec<usize>,
    /// Row counts of each combination of those columns' values, among the picked rows.
    found: BTreeMap<Vec<String>, u64>,
    columns: Vec<usize>,
}

/// Returns the plan that assigns a token to each row, and whether the file holds several series.
pub(super) fn by_series(
    file: &FileToImport<'_>,
    sheet: &RawTable,
    found: &CandleColumns,
    mut take: ImportedTable,
) -> Result<(ImportPlan, bool), Refusal> {
    for (name, value) in &file.options.pick {
        if !sheet
            .names
            .iter()
            .any(|known| known.eq_ignore_ascii_case(name))
        {
            return Err(format!(
                "has no column `{name}` for --pick; its columns are {}",
                listed(&sheet.names)
            )
            .into());
        }
        take = take.keep(name, &[value], "do not match --pick");
    }
    let names = Names::of(&sheet.names);
    let token = token_column(sheet, &names);
    let parts = parts(file, sheet, found, token)?;
    let is_known_by = |columns: &[usize], more: usize| {
        count(&parts, &[columns, &[more]].concat()) == count(&parts, columns)
    };
    // Rows of several quote currencies would mix, and of several exchanges where they are of one token.
    let mixes = parts.quotes.iter().any(|quote| !is_known_by(&[], *quote));
    if let Some(token) = token {
        if mixes
            || parts
                .places
                .iter()
                .any(|place| !is_known_by(&[token], *place))
        {
            return Err(pick(file, sheet, &parts));
        }
        in_dollars(file, sheet)?;
        return Ok((
            ImportPlan::of(vec![
                take.columns(&[("token_address", &sheet.names[token])]),
            ]),
            true,
        ));
    }
    let combinations = parts.found.len();
    if combinations <= 1 {
        let values = parts.found.keys().next();
        let content = values.and_then(|values| named_token(file, sheet, &parts, values));
        pools::is_of_said_token(file, sheet, found)?;
        let token = match file.stated_token()? {
            Some(token) => token,
            None => file.traded(content.as_deref().or_else(|| beside(sheet)))?,
        };
        return Ok((ImportPlan::of(vec![take.of(&token)]).about(token), false));
    }
    // A symbol that tells every series from the others has one exchange.
    let Some(&symbol) = parts
        .symbols
        .iter()
        .find(|&&at| !mixes && count(&parts, &[at]) == combinations)
    else {
        return Err(pick(file, sheet, &parts));
    };
    if file.hints.token.is_some() || pair::address(&file.sniffed.name).is_some() {
        let refusal = pick(file, sheet, &parts);
        return Err(Refusal {
            reason: format!("{}; --token applies to the chosen series", refusal.reason),
            ..refusal
        });
    }
    split(file, sheet, &parts, symbol, take).map(|plan| (plan, true))
}

/// Assigns a token to each symbol of a column.
fn split(
    file: &FileToImport<'_>,
    sheet: &RawTable,
    parts: &SeriesColumns,
    symbol: usize,
    mut take: ImportedTable,
) -> Result<ImportPlan, Refusal> {
    let (mut says, mut unknown, mut known, mut taken) = (
        Vec::new(),
        Vec::new(),
        Vec::new(),
        BTreeMap::<_, String>::new(),
    );
    for values in parts.found.keys() {
        let value = &values[parts
            .columns
            .iter()
            .position(|at| *at == symbol)
            .unwrap_or_default()];
        let asked_for = content(parts, values).unwrap_or_else(|| value.clone());
        match file.traded(Some(&asked_for)) {
            Ok(token) if token.multiplier == 1.0 => {
                let address = token.address;
                if let Some(other) = taken.insert(address, value.clone()) {
                    let picked = format!("{}={value}", sheet.names[symbol]);
                    return Err(Refusal::new(format!(
                        "has `{other}` and `{value}` in `{}`, which are the same token, {}; choose one with --pick {picked}",
                        sheet.names[symbol],
                        token.display_name()
                    ))
                    .say("pick", picked));
                }
                says.push(format!("`{value}` is token {}", token.display_name()));
                take.rule("token_address")
                    .values
                    .insert(value.clone(), address.to_string());
                known.push(value.as_str());
            }
            Ok(token) => {
                unknown.push(format!(
                    "the series `{value}` has prices per {} tokens; import it separately",
                    token.multiplier
                ));
            }
            Err(refusal) => unknown.push(format!("the series `{value}` {}", refusal.reason)),
        }
    }
    if says.is_empty() {
        let refusal = pick(file, sheet, parts);
        let reason = format!(
            "{}. None of their tokens is known yet: {}",
            refusal.reason,
            unknown.first().map_or("", String::as_str)
        );
        return Err(Refusal { reason, ..refusal });
    }
    take.rule("token_address").from = Some(sheet.names[symbol].clone());
    if !unknown.is_empty() {
        take = take.keep(
            &sheet.names[symbol],
            &known,
            "have symbols of tokens that are not in the dataset",
        );
        says.push(match &unknown[..] {
            [one] => format!("the rows of 1 symbol are omitted: {one}"),
            [first, ..] => format!(
                "the rows of {} symbols are omitted; the first: {first}",
                unknown.len()
            ),
            [] => String::new(),
        });
    }
    let more = says.len().saturating_sub(20);
    says.truncate(20);
    if more > 0 {
        says.push(format!("and {more} more"));
    }
    Ok(ImportPlan::of(vec![take]).saying_all(says))
}

/// The symbol or pair that tells the token of all rows. In a column that is not for symbols, or has no name, only a pair or a known symbol
/// does: `TRUE` and `run1` do not.
fn named_token(
    file: &FileToImport<'_>,
    sheet: &RawTable,
    parts: &SeriesColumns,
    values: &[String],
) -> Option<String> {
    let at = parts
        .symbols
        .iter()
        .copied()
        .find(|&at| value(parts, values, at).is_some())?;
    let content = content(parts, values)?;
    let text = content.to_uppercase();
    let is_for_symbols = || sheet.named && !is_one_of(Names::of(&sheet.names).last(at), TEXTS);
    let known = |word: &str| file.tokens.has_symbol(word);
    // With `--token`, a coin beside the rows may be their currency as well.
    let is_coin =
        || pair::is_native(&text) && (file.hints.token.is_none() || file.hints.coin.is_some());
    let is_token = known(&text)
        || is_coin()
        || is_for_symbols()
        || pair::pair_in_name(&text.replace('/', "_"), known).is_some();
    is_token.then_some(content)
}

/// Finds the columns that tell series apart, and their values in all picked rows.
fn parts(
    file: &FileToImport<'_>,
    sheet: &RawTable,
    found: &CandleColumns,
    token: Option<usize>,
) -> Result<SeriesColumns, FileError> {
    let names = Names::of(&sheet.names);
    let texts = |at: &usize| {
        let used = *at == found.time
            || found.prices.contains(at)
            || Some(*at) == found.interval
            || Some(*at) == found.clock;
        !used
            && sheet
                .column(*at)
                .take(200)
                .all(|cell| cell.is_empty() || cell.parse::<f64>().is_err())
    };
    let of = |words: &str| -> Vec<usize> {
        if sheet.named {
            names.all(words).into_iter().filter(texts).collect()
        } else {
            Vec::new()
        }
    };
    let (mut symbols, mut places, mut quotes) = (of(SERIES), of(PLACES), of(QUOTES));
    // The symbol of what prices are in is no symbol of what is priced.
    let of_quote: Vec<usize> = symbols
        .extract_if(.., |at| is_of_quote(&sheet.names[*at]))
        .collect();
    quotes.extend(of_quote.into_iter().filter(|at| names.last(*at) != "name"));
    // What names a pool or its two tokens tells series apart, but not which of the two is priced.
    let in_pool = |at: &usize| pools::is_of_pool(&sheet.names[*at]);
    quotes.retain(|at| !in_pool(at));
    places.extend(
        of("id address symbol name pool pooladdress poolid")
            .into_iter()
            .filter(in_pool),
    );
    places.dedup();
    symbols.retain(|at| !places.contains(at) && !quotes.contains(at) && !in_pool(at));
    // Without a header, a column with few distinct texts holds symbols.
    if !sheet.named {
        symbols = (0..sheet.names.len())
            .filter(|at| texts(at) && !sheet.column(*at).all(str::is_empty))
            .filter(|at| sheet.different(*at).len() < 50)
            .collect();
    }
    // Pairs before symbols, symbols before names.
    symbols.sort_by_key(|&at| {
        let pairs = sheet
            .different(at)
            .first()
            .is_some_and(|cell| pair::pair(cell, |_| false).is_some());
        (
            !pairs,
            SERIES
                .split_whitespace()
                .position(|word| word == names.whole(at))
                .unwrap_or(usize::MAX),
        )
    });
    let mut columns: Vec<usize> = symbols
        .iter()
        .chain(&places)
        .chain(&quotes)
        .copied()
        .collect();
    columns.dedup();
    if !columns.is_empty() {
        columns.extend(token.filter(|at| !columns.contains(at)));
    }
    let mut parts = SeriesColumns {
        symbols,
        places,
        quotes,
        found: BTreeMap::new(),
        columns,
    };
    if parts.columns.is_empty() {
        return Ok(parts);
    }
    let mut rows = sheet.rows(file.sniffed)?;
    let mut last: Option<Vec<String>> = None;
    while let Some(batch) = rows.next_batch()? {
        let cells: Vec<Vec<Option<String>>> = parts
            .columns
            .iter()
            .map(|&at| rows::cells(&batch, &sheet.names[at]))
            .collect();
        let picks: Vec<(Vec<Option<String>>, &String)> = file
            .options
            .pick
            .iter()
            .filter_map(|(name, value)| {
                Some((
                    rows::cells(
                        &batch,
                        sheet
                            .names
                            .iter()
                            .find(|known| known.eq_ignore_ascii_case(name))?,
                    ),
                    value,
                ))
            })
            .collect();
        for row in 0..batch.height {
            if picks.iter().any(|(cells, value)| {
                cells[row].as_deref().unwrap_or_default().trim() != value.trim()
            }) {
                continue;
            }
            let same = last.as_ref().is_some_and(|last| {
                last.iter()
                    .zip(&cells)
                    .all(|(known, cells)| cells[row].as_deref().unwrap_or_default().trim() == known)
            });
            if !same {
                last = Some(
                    cells
                        .iter()
                        .map(|cells| cells[row].as_deref().unwrap_or_default().trim().to_owned())
                        .collect(),
                );
            }
            if let Some(last) = last
                .as_ref()
                .filter(|last| last.iter().any(|value| !value.is_empty()))
            {
                match parts.found.get_mut(last) {
                    Some(count) => *count += 1,
                    None => drop(parts.found.insert(last.clone(), 1)),
                }
            }
        }
        if parts.found.len() > SERIES_MAX {
            // Texts that differ in every row do not identify a series.
            parts.columns.clear();
            parts.found.clear();
            (parts.symbols, parts.places, parts.quotes) = Default::default();
            return Ok(parts);
        }
    }
    if parts.found.is_empty() && !file.options.pick.is_empty() {
        return Err(FileError::NonePicked(file.options.pick.clone()));
    }
    Ok(parts)
}

/// Number of distinct values that those columns have together.
fn count(parts: &SeriesColumns, columns: &[usize]) -> usize {
    let places: Vec<usize> = columns
        .iter()
        .filter_map(|at| parts.columns.iter().position(|known| known == at))
        .collect();
    let values: BTreeSet<Vec<&String>> = parts
        .found
        .keys()
        .map(|values| places.iter().map(|&place| &values[place]).collect())
        .collect();
    values.len()
}

fn value<'v>(parts: &SeriesColumns, values: &'v [String], at: usize) -> Option<&'v String> {
    parts
        .columns
        .iter()
        .position(|known| *known == at)
        .and_then(|place| values.get(place))
        .filter(|value| !value.is_empty())
}

/// The symbol or pair that a combination of values names.
fn content(parts: &SeriesColumns, values: &[String]) -> Option<String> {
    let symbol = parts
        .symbols
        .iter()
        .find_map(|&at| value(parts, values, at))?;
    let quote = parts.quotes.iter().find_map(|&at| value(parts, values, at));
    Some(match quote {
        Some(quote) if pair::pair(symbol, |_| false).is_none() => format!("{symbol}/{quote}"),
        _ => symbol.clone(),
    })
}

/// The symbol or pair stated beside the table.
fn beside(sheet: &RawTable) -> Option<&str> {
    let said = sheet
        .beside("symbol pair instid ticker productid instrument digitalcurrencycode ch market");
    let place = || {
        sheet
            .beside("place")
            .and_then(|place| place.rsplit('.').next())
            .filter(|last| pair::pair(last, |_| false).is_some())
    };
    let preamble = || {
        sheet
            .beside
            .iter()
            .filter(|(place, _)| place == "preamble")
            .map(|(_, text)| text.as_str())
            .find(|text| text.len() < 16 && text.contains('-'))
    };
    said.filter(|text| text.len() < 40)
        .or_else(place)
        .or_else(preamble)
}

/// Whether a column of pairs, or a text beside the table, names the quote currency. Columns of it alone are read with the currencies.
pub(super) fn quotes(sheet: &RawTable) -> bool {
    let names = Names::of(&sheet.names);
    let pairs = |at: usize| {
        sheet
            .column(at)
            .find(|cell| !cell.is_empty())
            .is_some_and(|cell| pair::pair(cell, |_| false).is_some())
    };
    let beside = || sheet.beside(QUOTED).or_else(|| beside(sheet));
    sheet.named && names.all(SERIES).into_iter().any(pairs) || beside().is_some()
}

/// Refuses prices that texts beside the table state to be in another currency.
fn in_dollars(file: &FileToImport<'_>, sheet: &RawTable) -> Result<(), Refusal> {
    match sheet.beside(QUOTED).filter(|_| !file.options.as_usd) {
        Some(quote) if pair::is_currency(&quote.to_lowercase()) && !pair::is_dollar(quote) => Err(format!(
            "has prices in {quote}, but candles must be in USD; use a file with prices in USD, or pass --as-usd if they are in \
                 USD"
        )
        .into()),
        _ => Ok(()),
    }
}

/// The refusal that says how to pick one series; and if its token is not known then, how to name it.
fn pick(file: &FileToImport<'_>, sheet: &RawTable, parts: &SeriesColumns) -> Refusal {
    let parting: Vec<usize> = parts
        .symbols
        .iter()
        .chain(&parts.places)
        .chain(&parts.quotes)
        .copied()
        .filter(|&at| count(parts, &[at]) > 1)
        .collect();
    let shown: Vec<String> = parting
        .iter()
        .map(|&at| {
            let values: BTreeSet<&String> = parts
                .found
                .keys()
                .filter_map(|values| value(parts, values, at))
                .collect();
            format!(
                "`{}` has {}",
                sheet.names[at],
                few(values.iter().map(|value| format!("`{value}`")), 6)
            )
        })
        .collect();
    let most = parts
        .found
        .iter()
        .max_by_key(|(_, count)| **count)
        .map(|(values, _)| values);
    let picked: Vec<(&String, &String)> = parting
        .iter()
        .filter_map(|&at| Some((&sheet.names[at], value(parts, most?, at)?)))
        .collect();
    let picks: Vec<String> = picked
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let then = most
        .and_then(|values| file.traded(content(parts, values).as_deref()).err())
        .map_or_else(Vec::new, |refusal| refusal.say);
    let wheres: Vec<String> = picked
        .iter()
        .map(|(name, value)| format!("{name} = \"{value}\""))
        .collect();
    let flags: Vec<String> = picks.iter().map(|pick| format!("--pick {pick}")).collect();
    Refusal::new(format!(
        "contains {} series of candles, but one file can supply only one per token: {}. Choose one, as in `{}`, and import the others \
            separately",
        parts.found.len(),
        shown.join("; "),
        flags.join(" ")
    ))
    .saying(picks.into_iter().map(|pick| ("pick", pick)))
    .saying(then)
    .lines(format!("[tables.candles] where = {{ {} }}", wheres.join(", ")))
}

/// The column of token addresses. Columns of a pool (`pool.id`, `pair.token0.id`) and of the quote (`quoteCurrency.address`) do not hold the
/// token that is priced.
fn token_column(sheet: &RawTable, names: &Names) -> Option<usize> {
    let of_pair = |name: &str| name.rsplit('.').skip(1).any(|part| plain(part) == "pair");
    let in_pool = |name: &str| of_pair(name) || pools::is_of_pool(name);
    let holds = |at: &usize| {
        !in_pool(&sheet.names[*at])
            && !is_of_quote(&sheet.names[*at])
            && super::super::evidence::addresses(sheet.column(*at)) > 0.9
    };
    let mut all = names.all(TOKEN);
    all.extend(names.all("address token contract id"));
    all.into_iter().find(holds)
}
