//! Symbol, name, decimals and total supply that the chain has for tokens whose files have only an address. They are requested once, again
//! when the user refreshes, and stored as `live/state/CHAIN/tokens.parquet`. Missing values stay missing, except the symbol: that is then
//! the shortened address.

use std::{
    collections::{BTreeMap, HashSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use polars::prelude::{DataFrame, PolarsResult};
use serde_json::Value;

use super::{ChainStates, kept::FILE_MAX};
use crate::Table;
use frames::{
    frame_rows::{FromFrame as _, column, times},
    parquet_files::{parquet_rows, write_rows},
    rows::Frames as _,
};
use model::{
    address::Address,
    findings::{Finding, Severity},
    rows::{TokenFacts, TokenRow},
    time::Time,
    untrusted::is_invisible,
};
use table::TableRows;
use wire::{
    Fault,
    node::{self, CallRefusal, NodeBlock, NodeCall},
};

/// Tokens of which facts are asked at once.
const TOKENS_AT_ONCE: usize = 250;
/// Maximum characters of a symbol and a name.
const SYMBOL_MAX: usize = 32;
const NAME_MAX: usize = 100;
/// Most decimals that a number of 256 bits has.
const DECIMALS_MAX: u64 = 77;

/// `symbol()`, `name()`, `decimals()`, `totalSupply()`.
const ASKED: [[u8; 4]; 4] = [
    [0x95, 0xd8, 0x9b, 0x41],
    [0x06, 0xfd, 0xde, 0x03],
    [0x31, 0x3c, 0xe5, 0x67],
    [0x18, 0x16, 0x0d, 0xdd],
];

/// Fills in what the tokens table lacks of tokens that have neither symbol nor name. `anew`: all of them are asked again, as their supply
/// changes. Returns the tokens whose supply is the contract's word.
pub(crate) fn fill(
    states: &ChainStates,
    table: &mut Table,
    anew: bool,
    stopped: &dyn Fn() -> bool,
) -> HashSet<Address> {
    let mut rows = table.typed::<TokenRow>();
    let is_bare = |row: &&TokenRow| row.symbol.is_none() && row.name.is_none();
    let bare: HashSet<Address> = rows
        .iter()
        .filter(|row| is_bare(row) && states.is_of(&row.chain))
        .map(|row| row.token_address)
        .collect();
    if bare.is_empty() {
        return bare;
    }
    let file = file_in(states.files.folder());
    let mut facts = read(&file).unwrap_or_default();
    let lacking: Vec<Address> = bare
        .iter()
        .filter(|token| anew || !facts.contains_key(*token))
        .copied()
        .collect();
    if let Err(fault) = ask(states, (lacking, anew), &mut facts, &file, stopped) {
        let count = bare
            .iter()
            .filter(|token| !facts.contains_key(*token))
            .count();
        let origin = states.nodes.origin();
        let reason = if count > 0 {
            format!(
                "the names of {}, listed by address, are unknown: `{origin}` {fault}",
                model::format::plural(count as u64, "token", "tokens")
            )
        } else {
            format!("names and supplies are from an earlier read: `{origin}` {fault}")
        };
        let file = table
            .sources
            .first()
            .map_or("tokens", |source| &source.file);
        table
            .findings
            .add(Finding::new(Severity::Warning, file, reason));
    }
    let mut supplied = HashSet::new();
    for row in rows
        .iter_mut()
        .filter(|row| bare.contains(&row.token_address))
    {
        let token = row.token_address;
        let facts = facts.get(&token);
        let symbol = facts.and_then(|facts| facts.symbol.clone());
        row.symbol = symbol.or_else(|| Some(token.short()));
        row.name = facts.and_then(|facts| facts.name.clone());
        row.decimals = row.decimals.or(facts.and_then(|facts| facts.decimals));
        if row.total_supply.is_none() {
            supplied.insert(token);
            row.total_supply = facts.and_then(|facts| facts.total_supply);
        }
    }
    let mut frame = table.rows.slice(0..table.height(), None);
    for column in [
        column("symbol", rows.iter().map(|row| row.symbol.clone())),
        column("name", rows.iter().map(|row| row.name.clone())),
        column("decimals", rows.iter().map(|row| row.decimals)),
        column("total_supply", rows.iter().map(|row| row.total_supply)),
    ] {
        // A column of the same length always fits.
        frame.replace(&column.name().clone(), column).ok();
    }
    match TableRows::in_memory(table.schema, &frame) {
        Ok(rows) => table.rows = Arc::new(rows),
        Err(error) => {
            tracing::warn!("cannot fill in the tokens: {error}");
            return HashSet::new();
        }
    }
    supplied
}

/// Asks for the facts of these tokens, and keeps them as they come.
fn ask(
    states: &ChainStates,
    (mut tokens, anew): (Vec<Address>, bool),
    facts: &mut BTreeMap<Address, TokenFacts>,
    file: &Path,
    stopped: &dyn Fn() -> bool,
) -> Result<(), Fault> {
    if tokens.is_empty() {
        return Ok(());
    }
    tokens.sort_unstable();
    let node = states.nodes.node()?;
    let (block, _) = node.newest(anew, stopped)?;
    for some in tokens.chunks(TOKENS_AT_ONCE) {
        let calls = some.iter().flat_map(|token| {
            ASKED
                .iter()
                .map(move |asked| NodeCall::call(&token.0, asked, block.number))
        });
        let answers = node.ask(calls.collect(), stopped)?.answers;
        // One that refused all may not be there yet: it is asked again at the next load.
        let answered = some
            .iter()
            .zip(answers.chunks(ASKED.len()))
            .filter(|(_, answers)| answers.iter().any(Result::is_ok));
        facts.extend(answered.map(|(token, answers)| (*token, understood(*token, block, answers))));
        let written = write_rows(file, || frame(facts));
        if let Err(reason) = written {
            states.say_unkept(&reason.into());
        }
    }
    Ok(())
}

fn understood(
    token_address: Address,
    block: NodeBlock,
    answers: &[Result<Value, CallRefusal>],
) -> TokenFacts {
    let bytes = |place: usize| {
        node::bytes(answers.get(place)?.as_ref().ok()?).filter(|bytes| !bytes.is_empty())
    };
    let decimals = bytes(2)
        .and_then(|bytes| whole(&bytes))
        .filter(|decimals| *decimals <= DECIMALS_MAX);
    let seconds = i64::try_from(block.timestamp).unwrap_or_default();
    TokenFacts {
        token_address,
        block_number: Some(i64::try_from(block.number).unwrap_or_default()),
        timestamp: Time(seconds.saturating_mul(1_000)),
        symbol: bytes(0).and_then(|bytes| text(&bytes, SYMBOL_MAX)),
        name: bytes(1).and_then(|bytes| text(&bytes, NAME_MAX)),
        decimals: decimals.and_then(|decimals| i64::try_from(decimals).ok()),
        // Without decimals the amount is in units of unknown size.
        total_supply: decimals.and_then(|decimals| supply(&bytes(3)?, decimals)),
    }
}

/// A number of the ABI that fits.
fn whole(word: &[u8]) -> Option<u64> {
    let (high, low) = word.get(..32)?.split_last_chunk::<8>()?;
    high.iter()
        .all(|byte| *byte == 0)
        .then(|| u64::from_be_bytes(*low))
}

/// Whole tokens of an amount in smallest units.
fn supply(word: &[u8], decimals: u64) -> Option<f64> {
    let raw = ruint::Uint::<256, 4>::from_be_slice(word.get(..32)?).to_string();
    format!("{raw}e-{decimals}").parse().ok()
}

/// A text of the ABI: a `string`, or a `bytes32` as old tokens have it. Signs that are not shown, or that turn the text around, go.
fn text(bytes: &[u8], most: usize) -> Option<String> {
    let string = || {
        let start = usize::try_from(whole(bytes)?).ok()?;
        let length = usize::try_from(whole(bytes.get(start..)?)?).ok()?;
        bytes.get(start.checked_add(32)?..)?.get(..length)
    };
    let said = if bytes.len() == 32 { bytes } else { string()? };
    let hidden = |letter: char| {
        letter.is_control()
            || is_invisible(letter)
            || matches!(letter, '\u{2028}' | '\u{2029}' | '\u{fffd}')
    };
    let clean: String = String::from_utf8_lossy(said)
        .chars()
        .filter(|letter| !hidden(*letter))
        .take(most)
        .collect();
    let clean = clean.trim();
    (!clean.is_empty()).then(|| clean.to_owned())
}

fn read(path: &Path) -> Option<BTreeMap<Address, TokenFacts>> {
    let rows = TokenFacts::rows(&parquet_rows(path, FILE_MAX)?.ok()?).into_iter();
    let ours = rows.filter(|facts| facts.block_number.is_some());
    Some(ours.map(|facts| (facts.token_address, facts)).collect())
}

fn frame(facts: &BTreeMap<Address, TokenFacts>) -> PolarsResult<DataFrame> {
    let all = || facts.values();
    let text = |facts: &TokenFacts| facts.token_address.to_string();
    let columns = vec![
        column("token_address", all().map(text)),
        column("block_number", all().map(|facts| facts.block_number)),
        times("timestamp", all().map(|facts| facts.timestamp.0))?,
        column("symbol", all().map(|facts| facts.symbol.clone())),
        column("name", all().map(|facts| facts.name.clone())),
        column("decimals", all().map(|facts| facts.decimals)),
        column("total_supply", all().map(|facts| facts.total_supply)),
    ];
    DataFrame::new(facts.len(), columns)
}

fn file_in(folder: &Path) -> PathBuf {
    folder.join("tokens.parquet")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn string(text: &[u8]) -> Vec<u8> {
        let word = |number: usize| [&[0; 24][..], &(number as u64).to_be_bytes()].concat();
        let mut padded = text.to_vec();
        padded.resize(text.len().next_multiple_of(32), 0);
        [word(32), word(text.len()), padded].concat()
    }

    #[test]
    fn a_text_is_read_as_string_and_as_bytes32_and_cleaned() {
        let mut maker = b"MKR".to_vec();
        maker.resize(32, 0);
        for (bytes, expected) in [
            (string(b"UNI"), Some("UNI")),
            (maker, Some("MKR")),
            (
                string("\u{202e}TH\u{200b}E \u{7f}\n".as_bytes()),
                Some("THE"),
            ),
            (string(b"\xff\xfe"), None),
            (string(b""), None),
            (vec![0; 32], None),
            (vec![0xff; 64], None),
            (vec![0xff; 31], None),
            (string(b"UNI")[..70].to_vec(), Some("UNI")),
            (string(b"UNI")[..66].to_vec(), None),
        ] {
            assert_eq!(text(&bytes, SYMBOL_MAX).as_deref(), expected, "{bytes:?}");
        }
        assert_eq!(
            text(&string(&[b'x'; 5_000]), NAME_MAX).map(|name| name.len()),
            Some(NAME_MAX)
        );
    }

    #[test]
    fn amounts_are_in_whole_tokens() {
        let word = |number: u64| [&[0; 24][..], &number.to_be_bytes()].concat();
        assert_eq!(
            (
                supply(&word(1_500), 3),
                supply(&word(7), 0),
                supply(&[1], 0)
            ),
            (Some(1.5), Some(7.0), None)
        );
        assert!(supply(&[0xff; 32], 18).is_some_and(|supply| (1.15e59..1.16e59).contains(&supply)));
        assert_eq!((whole(&word(18)), whole(&[0xff; 32])), (Some(18), None));
    }

    #[test]
    fn facts_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let facts = |token: u8, symbol: Option<&str>, decimals, total_supply| {
            let token_address = Address([token; 20]);
            let facts = TokenFacts {
                token_address,
                block_number: Some(7),
                timestamp: Time(8_000),
                symbol: symbol.map(str::to_owned),
                name: None,
                decimals,
                total_supply,
            };
            (token_address, facts)
        };
        let all = BTreeMap::from([
            facts(1, Some("UNI"), Some(18), Some(1e9)),
            facts(2, None, None, None),
        ]);
        write_rows(&file_in(folder.path()), || frame(&all)).expect("written");
        assert_eq!(read(&file_in(folder.path())), Some(all));
        fs::write(file_in(folder.path()), b"something else").expect("written");
        assert_eq!(read(&file_in(folder.path())), None);
    }
}
