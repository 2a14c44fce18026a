//! Token transfers: exports and APIs of explorers, blockchain-etl, the public lake, cryo, Dune. Native coin transactions and NFT transfers
//! are rejected; amounts are in base units, or converted from whole tokens digit for digit.

use super::{
    super::{
        edits::{Fix, fixed},
        error::FileError,
        evidence::{CellKind, kind, number::NumberStyle},
        names::{DECIMALS, NAME, Names, SYMBOL, is_one_of},
        notation,
        refusal::{DATES, DECIMALS as OF_TOKEN, Refusal, UNIT, WRITE_TOKENS},
        report::few,
        rows::{Edited, address, cells, put},
        sheet::RawTable,
    },
    FileToImport, ImportPlan, ImportedTable, NO_COLUMN,
};
use crate::AmountUnit;
use frames::raw_cell::is_null_word;
use load::manifest::Unit;
use model::address::Address;

/// Column names that mean whole tokens, as on explorers' pages.
const WHOLE: &str = "quantity tokenvalue tokenamount 数量";
const NFTS: &str = "tokenid tokenids erc721tokenid nftid erc1155metadata";
/// Columns of native coin transactions.
const OWN_COIN: &str = "gasprice nonce input valueineth valueouteth valueinbnb valueinmatic txnfeeeth isinvalid transactiontype";

/// The same of Blockscout, whose token transfers have a column of contracts; and beginnings of such names, before a coin's ticker.
const BLOCKSCOUT: &str = "errcode txdateopeningprice txdateclosingprice";
const OWN_COIN_BEGINS: [&str; 4] = ["valuein", "valueout", "txnfee", "currentvalue"];
/// Added column that marks the rows with an amount.
const HAS_AMOUNT: &str = "has an amount";
/// Digits that a floating-point number surely has, and by how much of it one written in other digits may differ.
const FLOAT_DIGITS: usize = 15;
const SAME: f64 = 1e-12;

/// Names of columns that say whether the transaction succeeded.
const STATUS: &str = "status txstatus receiptstatus txreceiptstatus success";
const SUCCEEDED: &str = "1 0x1 1.0 ok success successful succeeded true";
const FAILED: &str = "0 0x0 0.0 error failed fail reverted false";

/// The status that a word means.
fn outcome(cell: &str) -> Option<String> {
    let word = cell.trim().to_lowercase();
    is_one_of(&word, SUCCEEDED)
        .then_some("1")
        .or_else(|| is_one_of(&word, FAILED).then_some("0"))
        .map(str::to_owned)
}

/// The columns that amounts and their unit depend on.
struct Columns {
    value: usize,
    token: Option<usize>,
}

pub(super) fn open(file: &FileToImport<'_>) -> Result<ImportPlan, Refusal> {
    let sheet = file.sheet()?;
    let known = file
        .format
        .find("transfers", sheet)
        .ok_or("has no transfers")?;
    let named = known.at("value").ok_or("has no amounts")?;
    let names = Names::of(&sheet.names);
    let exact = exact_twin(sheet, &names, named).filter(|_| file.mapped("value").is_none());
    let found = &Columns {
        value: exact.unwrap_or(named),
        token: file.mapped("token_address").or(known.at("token_address")),
    };
    let numbers = refuse_others(sheet, &names, found)?;
    let time = match known
        .at("timestamp")
        .map(|at| (at, sheet.when(&sheet.column(at).collect::<Vec<_>>())))
    {
        Some((at, Err(_))) => {
            let (cell, name) = (
                sheet.column(at).next().unwrap_or_default(),
                &sheet.names[at],
            );
            let why = format!(
                "has transfers whose time `{cell}` in `{name}` could be day/month or month/day; pass --dates day or --dates month"
            );
            return Err(Refusal::new(why).say("dates", DATES));
        }
        Some((at, Ok(Some(when)))) => Some(Fix::time(sheet, at, when)),
        Some((_, Ok(None))) | None => None,
    };
    let style = notation::style(sheet, &[found.value]).ok_or(
        "has amounts with a decimal comma and others with a decimal point; use one notation",
    )?;
    let is_hex = |at: usize| sheet.column(at).any(|cell| cell.starts_with("0x"));
    let decimal = |cell: &str| {
        u64::from_str_radix(cell.trim().strip_prefix("0x")?, 16)
            .ok()
            .map(|number| number.to_string())
    };
    let counts = ["block_number", "log_index"]
        .into_iter()
        .filter_map(|ours| known.at(ours))
        .filter(|&at| is_hex(at));
    let mut fixes: Vec<Fix> = counts
        .map(|at| Fix::text(sheet, at, decimal))
        .chain(time)
        .chain(known.fixes(sheet))
        .collect();
    fixes.extend(Fix::number(sheet, found.value, style).filter(|_| !is_hex(found.value)));
    let status = names.find(STATUS);
    fixes.extend(status.map(|at| Fix::text(sheet, at, outcome)));
    let take = known
        .map(
            sheet,
            ImportedTable::into("transfers", fixed(sheet.rows(file.sniffed)?, fixes)),
        )
        .columns(&[("value", sheet.names[found.value].as_str())]);
    // An unknown word costs the column: what it says of the transfer is not known.
    let unknown = status.and_then(|at| {
        sheet
            .different(at)
            .into_iter()
            .find(|cell| outcome(cell).is_none() && !is_null_word(cell))
            .map(|word| (at, word))
    });
    let take = match (status, unknown) {
        (Some(at), None) => take.columns(&[("status", &sheet.names[at])]),
        _ => take.without("status"),
    };
    let take = with_amounts(
        take,
        &sheet.names[found.value],
        numbers.map(|at| &sheet.names[at]),
    );
    let symbol = names
        .find(SYMBOL)
        .and_then(|at| file.first_picked(sheet, at));
    let accounts: Vec<usize> = ["from_address", "to_address"]
        .into_iter()
        .filter_map(|ours| known.at(ours))
        .collect();
    let (mut plan, mut take, token) = file.of_contract(take, found.token, symbol, &accounts)?;
    if let Some((at, word)) = unknown {
        let name = &sheet.names[at];
        plan = plan.saying(format!("warning: status is left empty, as `{word}` in `{name}` shows neither success nor failure"));
    }
    if let Some(at) = exact {
        plan = plan.saying(format!(
            "its amounts are read from `{}`, because those in `{}` are rounded",
            sheet.names[at], sheet.names[named]
        ));
    }
    if known.at("timestamp").is_none() {
        plan = plan
            .saying("it has no times, so timestamp is left empty; block_number gives the order");
    }
    plan.decimals = super::decimals_in(file, sheet, found.token, token);
    match amounts_in(file, sheet, &names, found, style, token, &mut plan.decimals)? {
        Amounts::Whole => {
            take.rule("value").unit = Some(Unit::Whole);
            plan = plan.saying("its amounts are in whole tokens, so they are converted exactly with the token's decimals");
        }
        Amounts::Approximate => {
            take.rule("value").approximate = true;
            plan = plan.saying(
                "warning: its amounts are floating-point numbers, which lose all but their first 15 digits, so they are approximate",
            );
        }
        Amounts::Raw => {}
    }
    plan.takes.extend(tokens(file, sheet, found.token)?);
    plan.takes.push(take);
    Ok(plan)
}

/// The column that has the amounts of `value` digit for digit, where those are floating-point numbers: in the same unit, else in whole tokens
/// by the decimals beside them.
fn exact_twin(sheet: &RawTable, names: &Names, value: usize) -> Option<usize> {
    let figure = |cell: &str| cell.parse::<f64>().ok();
    let is_typed = |at: usize| sheet.floats.get(at).copied().unwrap_or_default();
    let is_short = |cell: &str| cell.contains(['e', 'E']) && !cell.starts_with("0x");
    let is_long = |cell: &str| {
        cell.bytes().filter(u8::is_ascii_digit).count() > FLOAT_DIGITS && !is_short(cell)
    };
    // What a floating-point number is written as, if not in short.
    let is_float = |cell: &str| {
        figure(cell)
            .is_some_and(|figure| format!("{figure}") == cell || format!("{figure:.0}") == cell)
    };
    let is_exact = |at: usize| {
        let longest = || {
            sheet
                .column(at)
                .any(|cell| is_long(cell) && !is_float(cell))
        };
        !is_typed(at) && !sheet.column(at).any(is_short) && longest()
    };
    let has_floats = is_typed(value)
        || sheet
            .column(value)
            .any(|cell| is_short(cell) || is_long(cell) && is_float(cell));
    if !has_floats
        || sheet
            .column(value)
            .any(|cell| is_long(cell) && !is_float(cell))
    {
        return None;
    }
    let decimals = names.find(DECIMALS);
    let is_same = |at: usize, by_decimals: bool| {
        let mut rows = sheet
            .first
            .iter()
            .filter(|row| !row[value].is_empty() || !row[at].is_empty());
        rows.all(|row| {
            let places = if by_decimals {
                decimals.and_then(|decimals| row[decimals].parse::<i32>().ok())
            } else {
                Some(0)
            };
            let both = figure(&row[value]).zip(figure(&row[at])).zip(places);
            both.is_some_and(|((one, other), places)| {
                (one - other * 10f64.powi(places)).abs() <= one.abs() * SAME
            })
        })
    };
    let all = || (0..sheet.names.len()).filter(|&at| at != value && is_exact(at));
    all()
        .find(|&at| is_same(at, false))
        .or_else(|| all().find(|&at| is_same(at, true)))
}

/// The refusal of native coin transactions; `None` for others. `value` is the column of amounts, and `token` that of token contracts.
pub(super) fn of_own_coin(
    sheet: &RawTable,
    value: Option<usize>,
    token: Option<usize>,
) -> Option<Refusal> {
    let names = Names::of(&sheet.names);
    let begins = |at: &usize| {
        let name = names.whole(*at);
        OWN_COIN_BEGINS.iter().any(|word| {
            name.strip_prefix(word)
                .is_some_and(|rest| !rest.starts_with("usd"))
        })
    };
    let of_tokens = || value.is_some_and(|at| names.whole(at).contains("token"));
    let more = || {
        names
            .find(BLOCKSCOUT)
            .or_else(|| (0..names.len()).find(begins))
            .filter(|_| !of_tokens())
    };
    let at = names
        .find(OWN_COIN)
        .or_else(more)
        .filter(|_| token.is_none())?;
    Some(Refusal::new(format!(
        "looks like transfers, but contains transactions in the chain's native coin (it has `{}` and no column of token contracts), \
         which no table stores; export the token transfers (ERC-20) instead",
        sheet.names[at]
    )))
}

/// Refuses native coin transactions and NFT transfers; returns the column that numbers NFTs among transfers of tokens.
fn refuse_others(
    sheet: &RawTable,
    names: &Names,
    found: &Columns,
) -> Result<Option<usize>, Refusal> {
    if let Some(refusal) = of_own_coin(sheet, Some(found.value), found.token) {
        return Err(refusal);
    }
    let Some(at) = names
        .all(NFTS)
        .into_iter()
        .find(|&at| Some(at) != found.token && kind(sheet.column(at)) == CellKind::Number)
    else {
        return Ok(None);
    };
    if sheet
        .first
        .iter()
        .any(|row| !is_null_word(&row[found.value]) && is_null_word(&row[at]))
    {
        return Ok(Some(at));
    }
    Err(format!(
        "looks like transfers, but its column `{}` contains ids of NFTs, which have no amounts",
        sheet.names[at]
    )
    .into())
}

/// Leaves out the rows without an amount, and those with a number of an NFT: they are no transfers of a token's amount.
pub(super) fn with_amounts(
    take: ImportedTable,
    value: &str,
    number: Option<&String>,
) -> ImportedTable {
    let (value, number) = (value.to_owned(), number.cloned());
    let is_filled = |cell: Option<&String>| cell.is_some_and(|cell| !is_null_word(cell));
    let rows = Edited::over(take.rows, [HAS_AMOUNT], move |batch| {
        let numbers = number
            .as_ref()
            .map_or_else(Vec::new, |name| cells(batch, name));
        let has = |(row, value): (usize, &Option<String>)| {
            let has =
                is_filled(value.as_ref()) && !is_filled(numbers.get(row).and_then(Option::as_ref));
            Some(if has { "yes" } else { "no" }.to_owned())
        };
        let kept = cells(batch, &value).iter().enumerate().map(has).collect();
        put(batch, HAS_AMOUNT, kept);
    });
    ImportedTable { rows, ..take }.keep(HAS_AMOUNT, &["yes"], "have no token amount")
}

/// The tokens that the file lists with their decimals.
pub(super) fn tokens(
    file: &FileToImport<'_>,
    sheet: &RawTable,
    token: Option<usize>,
) -> Result<Option<ImportedTable>, FileError> {
    let names = Names::of(&sheet.names);
    // Covalent's names; elsewhere a contract's name is that of its code.
    let symbol = names
        .find(SYMBOL)
        .or_else(|| names.find("contracttickersymbol"));
    let name = names.find(NAME).or_else(|| {
        names
            .find("contractname")
            .filter(|_| names.has("contracttickersymbol"))
    });
    let (Some(token), Some(symbol), Some(decimals)) = (token, symbol, names.find(DECIMALS)) else {
        return Ok(None);
    };
    let take = ImportedTable::into("tokens", sheet.rows(file.sniffed)?)
        .columns(&[
            ("token_address", &sheet.names[token]),
            ("symbol", &sheet.names[symbol]),
            ("decimals", &sheet.names[decimals]),
        ])
        .columns(&[(
            "name",
            name.map_or(NO_COLUMN, |at| sheet.names[at].as_str()),
        )])
        .set("chain", &file.chain());
    Ok(Some(take))
}

/// The unit of amounts.
enum Amounts {
    Raw,
    Whole,
    Approximate,
}

fn amounts_in(
    file: &FileToImport<'_>,
    sheet: &RawTable,
    names: &Names,
    found: &Columns,
    style: NumberStyle,
    token: Option<Address>,
    told: &mut Vec<(Address, i64)>,
) -> Result<Amounts, Refusal> {
    let name = &sheet.names[found.value];
    let cells: Vec<&str> = sheet
        .column(found.value)
        .filter(|cell| !cell.is_empty())
        .collect();
    let figures: Vec<f64> = cells
        .iter()
        .filter_map(|cell| style.plain(cell)?.parse().ok())
        .collect();
    let most = figures.iter().copied().fold(0.0, f64::max);
    let fractions = figures.iter().any(|figure| figure.fract() != 0.0);
    // Decorated amounts can be read only with a known decimal separator.
    let decimal = match (style.needs_rewrite, style.comma) {
        (false, _) => "",
        (true, false) => ", decimal = \".\"",
        (true, true) => ", decimal = \",\"",
    };
    let lines = format!(
        "[tables.transfers] columns = {{ value = {{ from = \"{name}\", unit = \"whole\"{decimal} }} }}"
    );
    let known = names.whole(found.value);
    let pages = is_one_of(known, WHOLE);
    let floats = sheet.floats.get(found.value).copied().unwrap_or(false)
        || cells
            .iter()
            .any(|cell| cell.contains(['e', 'E']) && !cell.starts_with("0x"));
    let is_whole = match file.options.unit {
        Some(unit) => unit == AmountUnit::Whole,
        None if floats && !fractions && most > 1e12 => return Ok(Amounts::Approximate),
        None if fractions || pages => true,
        None if cells.iter().all(|cell| cell.starts_with("0x")) => false,
        // Base units are whole numbers, and these are large enough to show it.
        None if most >= 1e12
            || names.has(DECIMALS)
            || known != "amount" && found.token.is_some() =>
        {
            false
        }
        None => {
            return Err(Refusal::new(format!(
                "looks like transfers, but `{}` in `{name}` may be whole tokens or base units; pass --unit raw or --unit whole",
                cells.first().copied().unwrap_or_default()
            ))
            .say("unit", UNIT)
            .lines(lines));
        }
    };
    if !is_whole {
        return Ok(if floats {
            Amounts::Approximate
        } else {
            Amounts::Raw
        });
    }
    let all: Vec<Address> = found.token.map_or_else(Vec::new, |at| {
        sheet
            .different(at)
            .into_iter()
            .filter_map(address)
            .collect()
    });
    let knows = |token: &Address| {
        file.decimals.get(token).copied().flatten().is_some()
            || told.iter().any(|(known, _)| known == token)
    };
    let mut unknown: Vec<Address> = all
        .into_iter()
        .chain(token)
        .filter(|token| !knows(token))
        .collect();
    unknown.sort_unstable();
    unknown.dedup();
    let say = match (&unknown[..], file.options.decimals) {
        ([], _) => return Ok(Amounts::Whole),
        ([one], Some(decimals)) => {
            told.push((*one, decimals.into()));
            return Ok(Amounts::Whole);
        }
        ([_], None) => format!("pass them, as in --decimals 18, or {WRITE_TOKENS}"),
        // `--decimals` is for one token; others may have different ones.
        (_, Some(_)) => format!(
            "--decimals applies to one token only, not to {}; {WRITE_TOKENS}",
            unknown.len()
        ),
        _ => WRITE_TOKENS.to_owned(),
    };
    let refusal = Refusal::new(format!(
        "has amounts in whole tokens, such as `{}` in `{name}`, but transfers are in base units, and the decimals of {} are unknown; \
         {say}",
        cells.first().copied().unwrap_or_default(),
        few(&unknown, 3)
    ))
    .lines(lines);
    Err(if unknown.len() == 1 {
        refusal.say("decimals", OF_TOKEN)
    } else {
        refusal
    })
}
