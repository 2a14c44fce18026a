//! Refusals of tables whose columns have no names or unknown ones, by what their cells hold.

use std::collections::HashSet;

use super::{Kind, chains, holds_kind};
use crate::{
    evidence::{
        CellKind, addresses, kind,
        ohlc::{self, FoundOrder},
        when::TimeStyle,
    },
    names::plain,
    notation,
    refusal::{ADDRESS, COLUMN, LABEL, OURS, Refusal, TABLE, UNIT},
    report::few,
    sheet::RawTable,
};

/// What is known of each column, for a file whose names are in a language or of a kind that is not known.
fn asked(sheet: &RawTable, table: &str, what: &str, map: Vec<(&'static str, String)>) -> Refusal {
    let named: Vec<String> = map
        .iter()
        .map(|(ours, theirs)| {
            format!(
                "{ours} = {}",
                if theirs == COLUMN {
                    COLUMN.to_owned()
                } else {
                    format!("\"{theirs}\"")
                }
            )
        })
        .collect();
    let lines = format!("[tables.{table}] columns = {{ {} }}", named.join(", "));
    let told = format!(
        "The column names are unknown, but {what}: {}. If they are, map each column.",
        contents(sheet)
    );
    Refusal::new(told)
        .say("as", table)
        .saying(
            map.into_iter()
                .map(|(ours, theirs)| ("map", format!("{ours}={theirs}"))),
        )
        .lines(lines)
}

/// Four columns of numbers whose rows fit as prices of candles, beside a time.
pub(super) fn candles_by_rows(sheet: &RawTable) -> Option<Refusal> {
    let of = |wanted: CellKind| {
        (0..sheet.names.len()).filter(move |&at| kind(sheet.column(at).take(200)) == wanted)
    };
    let time = of(CellKind::Time).next()?;
    let numbers: Vec<usize> = of(CellKind::Number).collect();
    let style = notation::style(sheet, &numbers)?;
    let figure = |cell: &str| {
        style
            .plain(cell)
            .and_then(|text| text.parse().ok())
            .unwrap_or(f64::NAN)
    };
    let figures: Vec<Vec<f64>> = numbers
        .iter()
        .map(|&at| sheet.column(at).map(figure).collect())
        .collect();
    let when = sheet
        .when(&sheet.column(time).collect::<Vec<_>>())
        .ok()
        .flatten();
    let at = |row: usize| when?.ms(sheet.first.get(row)?.get(time)?);
    let mut by_time: Vec<usize> = (0..sheet.first.len()).collect();
    by_time.sort_by_key(|&row| at(row));
    let name = |at: usize| sheet.names[numbers[at]].clone();
    let prices: Vec<String> = match ohlc::find_order(&figures, &by_time) {
        FoundOrder::Order(order) => order.map(name).to_vec(),
        FoundOrder::Several(_) => vec![COLUMN.to_owned(); 4],
        FoundOrder::Nothing => return None,
    };
    let mut map = vec![("timestamp", sheet.names[time].clone())];
    map.extend(["open", "high", "low", "close"].into_iter().zip(prices));
    map.extend(
        numbers
            .iter()
            .filter(|&&at| plain(&sheet.names[at]).starts_with("vol"))
            .take(1)
            .map(|&at| ("volume", sheet.names[at].clone())),
    );
    Some(asked(
        sheet,
        "candles",
        "four columns may be the prices of candles",
        map,
    ))
}

/// A hash, two addresses and a number.
pub(super) fn transfers_by_cells(sheet: &RawTable) -> Option<Refusal> {
    let of = |wanted: Kind| (0..sheet.names.len()).filter(move |&at| holds_kind(sheet, at, wanted));
    let (hash, ..) = (
        of(Kind::Hash).next()?,
        of(Kind::Address).nth(1)?,
        of(Kind::Number).next()?,
    );
    let mut map = vec![("transaction_hash", sheet.names[hash].clone())];
    // Cells do not tell who sends.
    map.extend(["from_address", "to_address", "value"].map(|ours| (ours, COLUMN.to_owned())));
    Some(asked(sheet, "transfers", "the rows may be transfers", map))
}

/// Refuses a time and columns of single numbers, such as the prices of one coin each: they may be prices, shares or counts.
pub(super) fn numbers_by_time(sheet: &RawTable) -> Option<Refusal> {
    // Days such as 20240102 are numbers too.
    let are_days = |at: usize| {
        let filled = || sheet.column(at).take(200).filter(|cell| !cell.is_empty());
        filled()
            .filter(|cell| TimeStyle::Digits.ms(cell).is_some())
            .count()
            * 10
            >= filled().count() * 8
    };
    let (mut times, mut numbers) = (Vec::new(), Vec::new());
    for at in 0..sheet.names.len() {
        match kind(sheet.column(at).take(200)) {
            CellKind::Time => times.push(at),
            CellKind::Number if are_days(at) => times.push(at),
            CellKind::Number => numbers.push(at),
            _ => {}
        }
    }
    // Beside the numbers there may be the name of a table or a note.
    if times.len() != 1 || numbers.len() < sheet.names.len() - numbers.len() {
        return None;
    }
    let shown = few(
        numbers.iter().map(|&at| format!("`{}`", sheet.names[at])),
        6,
    );
    Some(Refusal::new(format!(
        "It has only one number per time in each of its columns ({shown}); if they are prices, a candle has four (open, high, low, \
            close), so get candles from the source."
    )))
}

/// The content of the first columns.
fn contents(sheet: &RawTable) -> String {
    let shown: Vec<String> = (0..sheet.names.len().min(6))
        .map(|at| {
            let what = match kind(sheet.column(at).take(200)) {
                CellKind::Address => "addresses",
                CellKind::Hash => "hashes",
                CellKind::Hex => "hexadecimal data other than addresses",
                CellKind::Number => "numbers",
                CellKind::Time => "times",
                CellKind::Text => "texts",
                CellKind::Empty => "nothing",
            };
            let cell: String = sheet
                .column(at)
                .find(|cell| !cell.is_empty())
                .unwrap_or_default()
                .chars()
                .take(24)
                .collect();
            format!("`{}` has {what} (`{cell}`)", sheet.names[at])
        })
        .collect();
    shown.join(", ")
}

/// The refusal of addresses with a word of few or with chains, and without amounts.
fn labels_by_cells(sheet: &RawTable, address: usize, told: &str) -> Option<Refusal> {
    let of = |wanted: CellKind| {
        (0..sheet.names.len()).filter(move |&at| kind(sheet.column(at).take(200)) == wanted)
    };
    let is_repeated = |at: &usize| {
        let filled: Vec<&str> = sheet.column(*at).filter(|cell| !cell.is_empty()).collect();
        filled.iter().collect::<HashSet<_>>().len() * 4 <= filled.len()
    };
    let counts = |at: &usize| {
        let numbers: Vec<i64> = sheet
            .column(*at)
            .filter_map(|cell| cell.trim().parse().ok())
            .collect();
        let is_low = numbers
            .first()
            .is_some_and(|first| (0..1_000_000).contains(first));
        is_low
            && numbers.len() == sheet.first.len()
            && numbers
                .windows(2)
                .all(|two| two[0].checked_add(1) == Some(two[1]))
    };
    let label = of(CellKind::Text).find(is_repeated);
    // Equal numbers beside nothing but addresses are more likely amounts.
    let chain = of(CellKind::Number)
        .find(|&at| chains(sheet, at) && (label.is_some() || sheet.different(at).len() > 1));
    let is_amount =
        |at: &usize| Some(*at) != chain && !(label.is_some() && is_repeated(at)) && !counts(at);
    if of(CellKind::Number).any(|at| is_amount(&at)) {
        return None;
    }
    let mut map = vec![("address", address)];
    map.extend(label.map(|at| ("label", at)));
    map.extend(chain.map(|at| ("chain", at)));
    let map: Vec<(&str, &String)> = map
        .into_iter()
        .map(|(ours, at)| (ours, &sheet.names[at]))
        .collect();
    let lines: Vec<String> = map
        .iter()
        .map(|(ours, name)| format!("{ours} = \"{name}\""))
        .collect();
    let (option, set) = if label.is_some() {
        ("", "")
    } else {
        (" --label LABEL", ", set = { label = LABEL }")
    };
    let shown: Vec<String> = map
        .iter()
        .map(|(ours, name)| format!(" --map {ours}={name}"))
        .collect();
    let shown = shown.concat();
    let refusal = Refusal::new(format!(
        "{told} If they are labels of addresses, map the columns, as in --as labels{shown}{option}."
    ))
    .say("as", "labels")
    .saying(
        map.iter()
            .map(|(ours, name)| ("map", format!("{ours}={name}"))),
    );
    let refusal = if label.is_some() {
        refusal
    } else {
        refusal.say("label", LABEL)
    };
    Some(refusal.lines(format!(
        "[tables.labels] header = false, columns = {{ {} }}{set}",
        lines.join(", ")
    )))
}

/// The refusal of headerless columns: the content of each, so that the user can map them.
pub(super) fn unnamed(sheet: &RawTable) -> Refusal {
    let told = format!("Its columns have no names: {}.", contents(sheet));
    let all = || 0..sheet.names.len();
    let is_address = |at: &usize| addresses(sheet.column(*at)) > 0.9;
    let of = |wanted: CellKind| all().filter(move |&at| kind(sheet.column(at).take(200)) == wanted);
    let address = all().find(is_address);
    if let Some(address) = address
        .filter(|_| all().filter(is_address).count() == 1 && of(CellKind::Hash).next().is_none())
        && let Some(refusal) = labels_by_cells(sheet, address, &told)
    {
        return refusal;
    }
    if (2..=3).contains(&sheet.names.len())
        && all().all(|at| {
            matches!(
                kind(sheet.column(at).take(200)),
                CellKind::Number | CellKind::Time
            )
        })
        && !matches!(sheet.when(&sheet.column(0).collect::<Vec<_>>()), Ok(None))
    {
        return Refusal::new(format!(
            "{told} They may be trades or single prices, but a candle has four prices (open, high, low, close) for an interval; get \
                candles from the source, or create them from the trades."
        ));
    }
    let number = of(CellKind::Number).next();
    let (Some(address), Some(number), true) = (address, number, sheet.names.len() < 6) else {
        return Refusal::new(format!("{told} Map them, as in --as TABLE --map TARGET=1."))
            .say("as", TABLE)
            .say("map", format!("{OURS}=1"))
            .lines("[tables.TABLE] header = false, columns = { TARGET = \"1\" }");
    };
    let (address, number) = (&sheet.names[address], &sheet.names[number]);
    Refusal::new(format!(
        "{told} If they are balances, the closest table is `holders`; map the columns, and pass the unit and the token, as in --as \
         holders --map holder_address={address} --map balance={number} --unit UNIT --token ADDRESS."
    ))
    .say("as", "holders")
    .say("map", format!("holder_address={address}"))
    .say("map", format!("balance={number}"))
    .say("unit", UNIT)
    .say("token", ADDRESS)
    .lines(format!(
        "[tables.holders] header = false, columns = {{ holder_address = \"{address}\", balance = {{ from = \"{number}\", unit = UNIT }} }}"
    ))
}
