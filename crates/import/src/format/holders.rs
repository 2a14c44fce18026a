//! Holder balances. Amounts that are no balance (paid, distributed, an account's native coin) are rejected.

use super::{
    super::{
        edits::{Fix, fixed},
        evidence::{addresses, currency::of_cell, number::NumberStyle},
        names::{DECIMALS as DECIMAL_PLACES, Names, TOKEN, is_one_of, plain},
        notation, pair,
        refusal::{DECIMALS, Refusal, UNIT, WRITE_TOKENS},
        rows::{address, address_text},
        sheet::RawTable,
        sniff::Sniffed,
    },
    FileToImport, FormatRow, ImportPlan, ImportedTable, transfers,
};
use crate::AmountUnit;
use load::manifest::{ColumnManifest, Unit};
use model::{address::Address, chain::Chain};

const HOLDERS: &str = "\
    holderaddress tokenholderaddress holder wallet walletaddress owner owneraddress account accountaddress user useraddress address \
    addr holders key 地址 持有者 userid accountid addresshash";
const BALANCES: &str = "\
    balanceformatted balance balances tokenbalance tokenholderquantity holding holdings tokensheld amountheld balancedecimal \
    balancewhole 余额 持有数量";
/// Words of a balance column's name that are not the token's symbol.
const NO_SYMBOL: &str = "\
    balance balances wei gwei raw atomic base unit units usd eth after before whole formatted decimal decimals normalized current total \
    final start end initial latest last new old net snapshot amount quantity token tokens of in at the on for block date holder user wallet \
    account address";
/// Note on balances that are converted.
pub(super) const IN_BASE_UNITS: &str =
    "its balances are in base units, so they are converted with the token's decimals";
/// Columns of the token's address, or of its symbol.
const MAYBE_TOKEN: &str = "token contract asset coin currency";
/// Balances only beside a rank, a share or the total supply.
const RANKED: &str = "qty quantity amount value tokens";
const SHARES: &str =
    "rank percentage percent share pct percentageofsupply percentagerelativetototalsupply ratio";
const SUPPLY: &str = "totalsupply tokentotalsupply";
/// Columns of lists of accounts or transactions, which rule out a list of holders.
const OTHERS: &str = "nametag txncount txcount nonce transactionhash txhash hash label labels family bytecode blocknumber tokennumholders";
/// Number of balances from which whole numbers are either in base units or rounded: the user must say which.
const ROWS_TELL: usize = 10;

/// Upper limit of one holder's balance in whole tokens.
const WHOLE_MAX: f64 = 1e20;
/// Larger numbers in E notation have lost digits.
const ROUNDED: f64 = 1e15;

/// Where the holders are.
#[derive(Clone, Copy)]
enum Holders {
    Column(usize),
    /// The rows are the tokens of one account, which is named next to them.
    Beside(Address),
}

impl Holders {
    fn column(self) -> Option<usize> {
        if let Self::Column(at) = self {
            Some(at)
        } else {
            None
        }
    }
}

struct Columns {
    holder: Holders,
    balance: usize,
    token: Option<usize>,
    /// The token's symbol in the balance column's name.
    symbol: Option<String>,
}

/// The columns of holders; `said` is that of balances, where the format describes it.
fn columns(sheet: &RawTable, said: Option<&str>) -> Option<Columns> {
    if !sheet.named {
        return None;
    }
    let names = Names::of(&sheet.names);
    // A malformed address or a footer costs only its row.
    let holds = |at: &usize| addresses(sheet.column(*at).map(address_text)) >= 0.8;
    // `address.hash` is an address, despite its name.
    if names.all(OTHERS).iter().any(|at| !holds(at)) {
        return None;
    }
    // A column that may hold symbols identifies the token if its cells are addresses.
    let of_tokens = (0..names.len()).filter(|at| is_of_token(&sheet.names[*at]));
    let token = names
        .all(TOKEN)
        .into_iter()
        .chain(names.all(MAYBE_TOKEN))
        .chain(of_tokens)
        .find(holds);
    let all = HOLDERS.split_whitespace().flat_map(|word| names.all(word));
    let is_holder = |at: &usize| Some(*at) != token && holds(at) && !is_of_token(&sheet.names[*at]);
    let holder = names
        .in_order(HOLDERS)
        .chain(all)
        .find(is_holder)
        .map(Holders::Column);
    let holder =
        holder.or_else(|| Some(Holders::Beside(token.and_then(|_| account_beside(sheet))?)))?;
    let spelt = |at: &usize| {
        let words: Vec<String> = words(&sheet.names[*at])
            .iter()
            .map(|word| word.to_lowercase())
            .collect();
        words.iter().any(|word| word == "balance")
            && !words
                .iter()
                .any(|word| word == "usd" || word == "eth" && words.len() > 1)
    };
    let ranked = || {
        if names.has(SHARES) || names.has(SUPPLY) {
            names.find(RANKED)
        } else {
            None
        }
    };
    let said = said.and_then(|said| {
        sheet
            .names
            .iter()
            .position(|name| name.eq_ignore_ascii_case(said))
    });
    let balance = said
        .or_else(|| names.find(BALANCES))
        .or_else(|| (0..names.len()).find(spelt))
        .or_else(ranked);
    let balance = balance.filter(|at| Some(*at) != holder.column())?;
    // Beside balances that are rounded in E notation, the exact ones.
    let is_rounded = sheet.column(balance).any(|cell| cell.contains(['e', 'E']));
    let raw = names
        .find("rawbalance balanceraw")
        .filter(|_| is_rounded || names.has(DECIMAL_PLACES));
    let balance = raw.unwrap_or(balance);
    let mut rest = words(&sheet.names[balance]);
    rest.retain(|word| {
        !is_one_of(&word.to_lowercase(), NO_SYMBOL)
            && !word.bytes().all(|byte| byte.is_ascii_digit())
    });
    let is_plain =
        is_one_of(names.whole(balance), BALANCES) || is_one_of(names.whole(balance), RANKED);
    let symbol = rest
        .pop()
        .filter(|symbol| rest.is_empty() && symbol.len() < 20 && !is_plain);
    Some(Columns {
        holder,
        balance,
        token,
        symbol,
    })
}

/// Whether the path leads to a token's own address: `tokenInfo.address`, `token.address_hash`.
fn is_of_token(name: &str) -> bool {
    let mut parts = name.rsplit('.').map(plain);
    let (last, before) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    let is_token = before.starts_with("token") || before.starts_with("contract");
    let is_account = ["holder", "owner", "account", "wallet"]
        .iter()
        .any(|word| before.contains(word));
    is_token && !is_account && is_one_of(&last, "address addresshash hash id contract")
}

/// The account beside a table of its balances: `address` next to `tokens`.
fn account_beside(sheet: &RawTable) -> Option<Address> {
    let (_, place) = sheet
        .beside
        .iter()
        .rev()
        .find(|(path, _)| path == "place")
        .filter(|(_, place)| !place.is_empty())?;
    let is_beside = |path: &str| {
        !path
            .strip_prefix(place.as_str())
            .is_some_and(|rest| rest.starts_with('.'))
            && !is_of_token(path)
    };
    let named = |word: &str, path: &str| {
        path.rsplit('.')
            .next()
            .is_some_and(|last| plain(last) == word)
    };
    let of = |word: &str| {
        sheet
            .beside
            .iter()
            .find(|(path, _)| named(word, path) && is_beside(path))
    };
    HOLDERS
        .split_whitespace()
        .find_map(|word| Address::parse(&of(word)?.1))
}

/// The words of a column's name, at the end of its path in JSON: `balance` and `wei` of `user.balance_wei` and of `balanceWei`.
fn words(name: &str) -> Vec<String> {
    let last = name
        .rsplit('.')
        .next()
        .filter(|last| !last.is_empty() && !name.contains(' '))
        .unwrap_or(name);
    let mut words: Vec<String> = Vec::new();
    for part in last
        .split(|c: char| !c.is_alphanumeric() && c != '.')
        .filter(|part| !part.is_empty())
    {
        let is_camel = part.to_lowercase().contains("balance");
        let (mut word, mut was_lower) = (String::new(), false);
        for c in part.chars() {
            if is_camel && was_lower && c.is_uppercase() {
                words.push(std::mem::take(&mut word));
            }
            was_lower = c.is_lowercase();
            word.push(c);
        }
        words.push(word);
    }
    words
}

/// Whether the column's name says that its amounts are in base units, as `balance_wei` does.
pub(super) fn is_named_raw(sheet: &RawTable, at: usize) -> bool {
    words(&sheet.names[at])
        .iter()
        .any(|word| is_one_of(&word.to_lowercase(), "wei raw"))
}

/// The column of the same balances in a coin, if the balances in wei are of no token: `balance_eth` beside `balance_wei`.
fn in_coin(sheet: &RawTable, balance: usize) -> Option<&str> {
    let figure = |row: &Vec<String>, at: usize| row[at].trim().parse::<f64>().ok();
    let is_same = |at: usize| {
        let mut pairs = sheet
            .first
            .iter()
            .filter_map(|row| Some((figure(row, balance)?, figure(row, at)?)))
            .filter(|(wei, _)| *wei > 0.0);
        pairs.clone().next().is_some()
            && pairs.all(|(wei, coins)| (coins * 1e18 / wei - 1.0).abs() < 1e-3)
    };
    let is_coin = |name: &String| words(name).iter().any(|word| pair::is_native(word));
    let at = (0..sheet.names.len())
        .find(|&at| at != balance && is_coin(&sheet.names[at]) && is_same(at))?;
    Some(&sheet.names[at])
}

pub(super) fn is(format: &FormatRow, sniffed: &Sniffed) -> bool {
    sniffed.sheet.as_ref().is_some_and(|sheet| {
        columns(
            sheet,
            said(format, sheet).and_then(|rule| rule.from.as_deref()),
        )
        .is_some()
    })
}

/// How the format says to read balances.
fn said<'a>(format: &'a FormatRow, sheet: &RawTable) -> Option<&'a ColumnManifest> {
    format.said("holders", "balance", sheet)
}

pub(super) fn open(file: &FileToImport<'_>) -> Result<ImportPlan, Refusal> {
    let sheet = file.sheet()?;
    let said = said(file.format, sheet);
    let found = columns(sheet, said.and_then(|rule| rule.from.as_deref()))
        .ok_or("has no holder balances")?;
    let found = Columns {
        token: file.mapped("token_address").or(found.token),
        ..found
    };
    let cells: Vec<&str> = sheet
        .column(found.balance)
        .filter(|cell| !cell.is_empty())
        .collect();
    if let Some(coin) = cells.iter().find(|cell| {
        cell.trim().ends_with(|c: char| c.is_ascii_alphabetic())
            && NumberStyle {
                comma: false,
                needs_rewrite: true,
            }
            .plain(cell)
            .is_none()
    }) {
        let own = cells
            .iter()
            .filter(|cell| cell.trim().contains(' '))
            .count()
            * 2
            > cells.len();
        if own && found.token.is_none() && file.hints.token.is_none() {
            return Err(format!(
                "looks like holders, but `{coin}` in `{}` is an amount of another coin, not a token balance",
                sheet.names[found.balance]
            )
            .into());
        }
    }
    let name = &sheet.names[found.balance];
    if let Some(coins) = in_coin(sheet, found.balance)
        .filter(|_| is_named_raw(sheet, found.balance) && found.token.is_none())
    {
        return Err(format!(
            "looks like holders, but `{name}` has the amounts of the column `{coins}` in wei, so they are amounts of a coin, not \
                of a token"
        )
        .into());
    }
    // In lower case, a word is a symbol only if the dataset has it.
    let symbol = found.symbol.as_deref().filter(|symbol| {
        let is_written = name.contains(char::is_lowercase) && !symbol.contains(char::is_lowercase);
        is_written || file.tokens.has_symbol(&symbol.to_uppercase())
    });
    let style = notation::style(sheet, &[found.balance]).ok_or(
        "has balances with a decimal comma and others with a decimal point; use one notation",
    )?;
    let holder = found.holder.column();
    let mut fixes: Vec<Fix> = holder
        .map(|at| {
            Fix::text(sheet, at, |cell| {
                address(cell).map(|address| address.to_string())
            })
        })
        .into_iter()
        .collect();
    fixes.extend(Fix::number(
        sheet,
        found.balance,
        NumberStyle {
            needs_rewrite: true,
            ..style
        },
    ));
    let take = ImportedTable::into("holders", fixed(sheet.rows(file.sniffed)?, fixes))
        .columns(&[("balance", &sheet.names[found.balance])]);
    let (take, account) = match found.holder {
        Holders::Column(at) => (take.columns(&[("holder_address", &sheet.names[at])]), None),
        Holders::Beside(account) => (
            take.set("holder_address", &account),
            Some(format!("holder {account}, from the file")),
        ),
    };
    let link = holder.and_then(|at| sheet.column(at).find_map(pair::chain_of_explorer));
    let linked = holder
        .and_then(|at| linked_token(sheet, at))
        .filter(|_| found.token.is_none() && file.hints.token.is_none());
    let (mut plan, mut take, token) = match linked {
        Some(token) => (
            ImportPlan::default().saying(format!("token {token}, from its links")),
            take.of_address(token),
            Some(token),
        ),
        None => file.of_contract(take, found.token, symbol, holder.as_slice())?,
    };
    plan.decimals = super::decimals_in(file, sheet, found.token, token);
    plan.says.extend(account);
    plan.notes
        .extend(notation::assumed(sheet, &[found.balance], style));
    let is_raw = said.is_some_and(|rule| rule.unit == Some(Unit::Raw));
    if plan.decimals.is_empty() && !is_raw {
        plausible(file, sheet, found.balance)?;
    }
    let raw = unit(file, sheet, &found, style, &plan.decimals, token, is_raw)?;
    if raw {
        take.rule("balance").unit = Some(Unit::Raw);
        plan = plan.saying(IN_BASE_UNITS);
    }
    plan.takes
        .extend(transfers::tokens(file, sheet, found.token)?);
    plan.takes.push(take);
    plan.chain = link.and_then(Chain::parse);
    Ok(plan)
}

/// The token in the holders' links, `…/token/0x…?a=0x…`, if all of them have the same.
fn linked_token(sheet: &RawTable, holder: usize) -> Option<Address> {
    let of = |cell: &str| {
        let (token, query) = cell.split_once("/token/")?.1.split_once('?')?;
        let names_account = query.split('&').any(|part| part.starts_with("a="));
        names_account.then(|| Address::parse(token))?
    };
    let mut all = sheet.column(holder).filter_map(of);
    let first = all.next()?;
    all.all(|token| token == first).then_some(first)
}

/// Refuses balances in money, or too large to be whole tokens where no unit is stated.
pub(super) fn plausible(
    file: &FileToImport<'_>,
    sheet: &RawTable,
    balance: usize,
) -> Result<(), Refusal> {
    let name = &sheet.names[balance];
    let filled = sheet
        .column(balance)
        .filter(|cell| !cell.is_empty())
        .count();
    let money: Vec<&str> = sheet
        .column(balance)
        .filter(|cell| of_cell(cell).is_some())
        .collect();
    if money.len() * 2 > filled {
        let shown = money[0];
        let reason = format!(
            "looks like holders, but `{shown}` in `{name}` is the value of the tokens, and a balance is a number of tokens"
        );
        return Err(reason.into());
    }
    let Some(style) = notation::style(sheet, &[balance]) else {
        return Ok(());
    };
    let figure = |cell: &str| style.plain(cell).and_then(|text| text.parse::<f64>().ok());
    let whole = sheet
        .column(balance)
        .filter_map(figure)
        .all(|figure| figure.fract() == 0.0);
    let over = |least: f64| {
        sheet
            .column(balance)
            .filter(move |cell| figure(cell).is_some_and(|figure| figure > least))
    };
    let rounded = over(ROUNDED).find(|cell| cell.contains(['e', 'E']));
    let unit = file.options.unit;
    if let Some(shown) = rounded.filter(|_| whole && unit != Some(AmountUnit::Whole)) {
        // No line of `dataset.toml`: with either unit it would record a wrong balance.
        return Err(format!(
            "looks like holders, but its balances are rounded, such as `{shown}` in `{name}`, which is how spreadsheets show long \
                numbers; use the original file, from before a spreadsheet saved it, or pass --unit whole if the balances are whole \
                tokens"
        )
        .into());
    }
    let is_raw = is_named_raw(sheet, balance) && unit.is_none();
    if is_raw && !whole {
        let reason = format!(
            "looks like holders, but the column name `{name}` indicates base units, and some of its balances have fractions; pass --unit \
                whole if they are whole tokens"
        );
        return Err(Refusal::new(reason).say("unit", UNIT));
    }
    let large = over(WHOLE_MAX)
        .next()
        .filter(|_| whole && unit.is_none() && !is_raw);
    large.map_or(Ok(()), |shown| Err(either_unit(shown, name)))
}

/// The refusal that asks for the unit of whole numbers.
fn either_unit(shown: &str, name: &str) -> Refusal {
    Refusal::new(format!(
        "looks like holders, but all its balances are whole numbers, such as `{shown}` in `{name}`, so they may be in base units; \
         pass --unit raw or --unit whole"
    ))
    .say("unit", UNIT)
    .lines(format!("[tables.holders] columns = {{ balance = {{ from = \"{name}\", unit = UNIT }} }}"))
}

/// Whether the balances are in base units. Fractions are whole tokens; for large whole numbers in every row the user must say.
fn unit(
    file: &FileToImport<'_>,
    sheet: &RawTable,
    found: &Columns,
    style: NumberStyle,
    told: &[(Address, i64)],
    token: Option<Address>,
    is_raw: bool,
) -> Result<bool, Refusal> {
    let name = &sheet.names[found.balance];
    let known = |token: Option<Address>| {
        let token = token?;
        file.decimals_of(&token).or_else(|| {
            told.iter()
                .find(|(known, _)| *known == token)
                .map(|(_, decimals)| *decimals)
        })
    };
    let with_decimals = |raw: bool| {
        match (raw, known(token)) {
        (true, None) => Err(Refusal::new(format!(
            "has balances in base units, but the decimals of its token are unknown; pass them, as in --decimals 18, or \
             {WRITE_TOKENS}"
        ))
        .say("decimals", DECIMALS)
        .lines(format!("[tables.holders] columns = {{ balance = {{ from = \"{name}\", unit = \"raw\" }} }}"))),
        (raw, _) => Ok(raw),
    }
    };
    if let Some(unit) = file.options.unit {
        return with_decimals(unit == AmountUnit::Raw);
    }
    if is_raw {
        return with_decimals(true);
    }
    let figures: Vec<f64> = sheet
        .column(found.balance)
        .filter_map(|cell| style.plain(cell)?.parse().ok())
        .collect();
    let most = figures.iter().copied().fold(0.0, f64::max);
    let fractions = figures.iter().any(|figure| figure.fract() != 0.0);
    let exported = file.format.word == "etherscan-holders";
    let is_small = most < 1e6 || figures.len() < ROWS_TELL && most < 1e15;
    if fractions || exported || is_small && !is_named_raw(sheet, found.balance) {
        return Ok(false);
    }
    if told.is_empty() && is_named_raw(sheet, found.balance) {
        return with_decimals(true);
    }
    if !told.is_empty() {
        // A source that gives a token's decimals beside its balances gives these in base units.
        return Ok(true);
    }
    let shown = sheet.column(found.balance).next().unwrap_or_default();
    Err(either_unit(shown, name))
}
