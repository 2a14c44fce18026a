//! Event logs as nodes and node dumps return them: topics and data. `Transfer(address,address,uint256)` events of ERC-20 become transfers;
//! other events are left out and counted. Topics may be in one column or in four.

use std::collections::BTreeMap;

use super::{
    super::{
        evidence::{CellKind, kind, when::TimeStyle},
        names::Names,
        rows::{Edited, cells, put},
        sheet::RawTable,
        sniff::Sniffed,
    },
    FileToImport, ImportPlan, ImportedTable, NO_COLUMN, Refusal,
};
use load::formats::SourceBatch;
use model::{address::Address, time::Time};

/// Event signature hash keccak256("Transfer(address,address,uint256)"), the same for ERC-20 and ERC-721.
const TRANSFER: &str = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const TOKENS: &str = "address contractaddress contract logaddress loggedby emitter tokenaddress";
const HASHES: &str = "transactionhash txhash hash evttxhash";
const TIMES: &str = "timestamp blocktimestamp blocktime blocksignedat time date";
const BLOCKS: &str = "blocknumber block blockheight blockno";
const INDEXES: &str = "logindex index eventindex logoffset";

/// Columns decoded from an event.
const MADE: &[&str] = &[
    "event",
    "of token",
    "sent at",
    "in block",
    "in transaction",
    "sent from",
    "sent to",
    "amount sent",
    "place in block",
];

struct Columns {
    topics: Vec<String>,
    data: String,
    token: String,
    hash: String,
    time: Option<(String, TimeStyle)>,
    block: Option<String>,
    index: Option<String>,
    /// The column that flags events removed by a chain reorganization.
    removed: Option<String>,
}

/// The 32-byte words in a cell, in lower case: a topic, a list of topics, or data.
fn words(cell: &str) -> Vec<String> {
    let parts = cell
        .split(|c: char| !c.is_ascii_alphanumeric())
        .map(|part| part.strip_prefix("0x").unwrap_or(part));
    let hex = parts.filter(|part| {
        part.len() >= 64
            && part.len().is_multiple_of(64)
            && part.bytes().all(|digit| digit.is_ascii_hexdigit())
    });
    hex.flat_map(|part| (0..part.len() / 64).map(|at| part[at * 64..(at + 1) * 64].to_lowercase()))
        .collect()
}

fn columns(sheet: &RawTable) -> Option<Columns> {
    if !sheet.named {
        return None;
    }
    let names = Names::of(&sheet.names);
    let mut topics: Vec<(String, usize)> = (0..names.len())
        .map(|at| (names.last(at).to_owned(), at))
        .filter(|(name, at)| {
            name.starts_with("topic")
                && (sheet.column(*at).any(|cell| !words(cell).is_empty()) || name.len() == 6)
        })
        .collect();
    topics.sort();
    let name = |at: usize| sheet.names[at].clone();
    let signed = topics
        .first()
        .is_some_and(|(_, at)| sheet.column(*at).any(|cell| !words(cell).is_empty()));
    let data = names.find("data logdata").filter(|_| signed)?;
    let token = names
        .in_order(TOKENS)
        .find(|&at| kind(sheet.column(at).take(300)) == CellKind::Address)?;
    let hash = names
        .in_order(HASHES)
        .find(|&at| kind(sheet.column(at).take(300)) == CellKind::Hash)?;
    let when = |at: usize| {
        let texts: Vec<String> = sheet.column(at).map(decimal).collect();
        TimeStyle::of(&texts.iter().map(String::as_str).collect::<Vec<_>>())
            .ok()
            .flatten()
    };
    let time = names
        .in_order(TIMES)
        .find_map(|at| Some((name(at), when(at)?)));
    Some(Columns {
        topics: topics.into_iter().map(|(_, at)| name(at)).collect(),
        data: name(data),
        token: name(token),
        hash: name(hash),
        time,
        block: names.find(BLOCKS).map(name),
        index: names.find(INDEXES).map(name),
        removed: names.find("removed").map(name),
    })
}

/// Converts a hex number to decimal; other text is unchanged.
fn decimal(cell: &str) -> String {
    let number = cell
        .trim()
        .strip_prefix("0x")
        .and_then(|digits| u64::from_str_radix(digits, 16).ok());
    number.map_or_else(|| cell.to_owned(), |number| number.to_string())
}

/// Decodes sender, recipient and amount of an ERC-20 transfer event: both addresses are topics, or all three are in the data, as early
/// tokens emitted them.
fn transfer(topics: &[String], data: &[String]) -> Option<[String; 3]> {
    let address = |word: &String| {
        word.starts_with(&"0".repeat(24))
            .then(|| format!("0x{}", &word[24..]))
    };
    let (event, rest) = topics.split_first()?;
    if event != TRANSFER {
        return None;
    }
    match (rest, data) {
        ([from, to], [value]) | ([from], [to, value]) | ([], [from, to, value]) => {
            Some([address(from)?, address(to)?, format!("0x{value}")])
        }
        _ => None,
    }
}

/// Describes an event that is not a token transfer.
fn other_event(topics: &[String]) -> String {
    match topics.first() {
        Some(event) if event == TRANSFER => "Transfer of an NFT".to_owned(),
        Some(event) => format!("0x{}…", &event[..8]),
        None => "no topic".to_owned(),
    }
}

fn topics_of(row: usize, topics: &[Vec<Option<String>>]) -> Vec<String> {
    topics
        .iter()
        .filter_map(|column| column[row].as_deref())
        .flat_map(words)
        .collect()
}

fn is_removed(removed: &[Option<String>], row: usize) -> bool {
    removed
        .get(row)
        .and_then(Option::as_deref)
        .is_some_and(|cell| cell.trim().eq_ignore_ascii_case("true"))
}

pub(super) fn is(sniffed: &Sniffed) -> bool {
    sniffed.sheet.as_ref().and_then(columns).is_some()
}

pub(super) fn open(file: &FileToImport<'_>) -> Result<ImportPlan, Refusal> {
    let sheet = file.sheet()?;
    let columns = columns(sheet).ok_or("has no event logs")?;
    let at = |name: &String| {
        sheet
            .names
            .iter()
            .position(|known| known == name)
            .unwrap_or_default()
    };
    let first = |name: &String| -> Vec<Option<String>> {
        sheet
            .column(at(name))
            .map(|cell| Some(cell.to_owned()))
            .collect()
    };
    let (topics, data): (Vec<_>, _) = (
        columns.topics.iter().map(first).collect(),
        first(&columns.data),
    );
    let mut others: BTreeMap<String, u64> = BTreeMap::new();
    let mut found = 0;
    let removed = columns.removed.as_ref().map(first).unwrap_or_default();
    for (row, data) in data.iter().enumerate() {
        let topics = topics_of(row, &topics);
        match transfer(&topics, &words(data.as_deref().unwrap_or_default())) {
            Some(_) if is_removed(&removed, row) => {
                *others
                    .entry("removed by a reorganization".to_owned())
                    .or_default() += 1;
            }
            Some(_) => found += 1,
            None => *others.entry(other_event(&topics)).or_default() += 1,
        }
    }
    let counted: Vec<String> = others
        .iter()
        .take(5)
        .map(|(event, count)| format!("{event} × {count}"))
        .collect();
    if found == 0 {
        return Err(format!(
            "looks like transfers, but none of its events is Transfer(address,address,uint256) of a token: they are {}; fetch logs \
             with the topic 0x{}…",
            counted.join(", "),
            &TRANSFER[..8]
        )
        .into());
    }
    let mut plan = ImportPlan::default().saying(
        "transfers are read from Transfer events (topics and data); amounts are in base units",
    );
    if !counted.is_empty() {
        plan = plan.saying(format!("omitted events: {}", counted.join(", ")));
    }
    if columns.time.is_none() {
        plan = plan.saying("it has no times, so timestamp is left empty unless `blocks` supplies them; block_number gives the order");
    }
    let has = [
        columns.time.is_some(),
        columns.block.is_some(),
        columns.index.is_some(),
    ];
    let only = file.hints.token;
    let rows = Edited::only(
        sheet.rows(file.sniffed)?,
        MADE.iter().copied(),
        move |batch| add_columns(batch, &columns, only),
    );
    let name = |has: bool, name: &'static str| if has { name } else { NO_COLUMN };
    let take = ImportedTable::into("transfers", rows)
        .columns(&[
            ("token_address", MADE[1]),
            ("timestamp", name(has[0], MADE[2])),
            ("block_number", name(has[1], MADE[3])),
            ("transaction_hash", MADE[4]),
            ("from_address", MADE[5]),
            ("to_address", MADE[6]),
            ("value", MADE[7]),
            ("log_index", name(has[2], MADE[8])),
        ])
        .columns(&[("status", NO_COLUMN)])
        .keep(
            MADE[0],
            &["transfer"],
            "are other events, removed events, or events of tokens other than --token",
        );
    plan.takes.push(take);
    Ok(plan)
}

/// Adds the decoded columns.
fn add_columns(batch: &mut SourceBatch, of: &Columns, only: Option<Address>) {
    let topics: Vec<_> = of.topics.iter().map(|name| cells(batch, name)).collect();
    let (data, token) = (cells(batch, &of.data), cells(batch, &of.token));
    let removed = of
        .removed
        .as_ref()
        .map(|name| cells(batch, name))
        .unwrap_or_default();
    let mut parts: [Vec<Option<String>>; 4] = Default::default();
    for row in 0..batch.height {
        let here = only
            .is_none_or(|only| token[row].as_deref().and_then(Address::parse) == Some(only))
            && !is_removed(&removed, row);
        let transfer = transfer(
            &topics_of(row, &topics),
            &words(data[row].as_deref().unwrap_or_default()),
        )
        .filter(|_| here);
        parts[0].push(Some(
            if transfer.is_some() {
                "transfer"
            } else {
                "other"
            }
            .to_owned(),
        ));
        let [from, to, value] = transfer.map_or([None, None, None], |parts| parts.map(Some));
        parts[1].push(from);
        parts[2].push(to);
        parts[3].push(value);
    }
    let numbers = |name: &Option<String>| match name {
        Some(name) => cells(batch, name)
            .into_iter()
            .map(|cell| cell.map(|cell| decimal(&cell)))
            .collect(),
        None => vec![None; batch.height],
    };
    let times = match &of.time {
        Some((name, when)) => {
            let read = |cell: String| {
                when.ms(&decimal(&cell))
                    .map_or(cell, |ms| Time(ms).to_string())
            };
            cells(batch, name)
                .into_iter()
                .map(|cell| cell.map(read))
                .collect()
        }
        None => vec![None; batch.height],
    };
    let (blocks, indexes, hashes) = (
        numbers(&of.block),
        numbers(&of.index),
        cells(batch, &of.hash),
    );
    let [event, from, to, value] = parts;
    for (name, column) in MADE.iter().zip([
        event, token, times, blocks, hashes, from, to, value, indexes,
    ]) {
        put(batch, name, column);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_a_transfer_wherever_its_parts_stand() {
        let word = |digits: &str| format!("{digits:0>64}");
        let (a, b) = ("11".repeat(20), "22".repeat(20));
        let (from, to, value) = (word(&a), word(&b), word("ff"));
        let expected = Some([format!("0x{a}"), format!("0x{b}"), format!("0x{value}")]);
        let event = TRANSFER.to_owned();
        for (topics, data, found) in [
            (
                vec![event.clone(), from.clone(), to.clone()],
                vec![value.clone()],
                expected.clone(),
            ),
            (
                vec![event.clone()],
                vec![from.clone(), to.clone(), value.clone()],
                expected,
            ),
            (
                vec![event.clone(), from.clone(), to.clone(), value.clone()],
                vec![],
                None,
            ),
            (
                vec![word("8c5b"), from.clone(), to.clone()],
                vec![value.clone()],
                None,
            ),
            (
                vec![event, "f".repeat(64), to.clone()],
                vec![value.clone()],
                None,
            ),
            (vec![], vec![value], None),
        ] {
            assert_eq!(transfer(&topics, &data), found);
        }
    }

    #[test]
    fn words_are_found_in_lists_of_any_writing() {
        let (a, b) = ("A".repeat(64), "b".repeat(64));
        let lower = a.to_lowercase();
        for cell in [
            format!("[\"0x{a}\",\"0x{b}\"]"),
            format!("0x{a},0x{b}"),
            format!("[0x{a} 0x{b}]"),
            format!("0x{a}{b}"),
            format!("{a};{b}"),
        ] {
            assert_eq!(words(&cell), [lower.clone(), b.clone()], "{cell}");
        }
        assert!(words("0x12").is_empty() && words("").is_empty());
    }
}
