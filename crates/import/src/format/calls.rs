//! Transactions as Etherscan's API lists them: those that call a token's transfer functions become transfers. Calls between contracts are
//! not in such a list.

use std::collections::HashMap;

use serde::Deserialize;

use super::{
    super::{
        error::FileError,
        report::few,
        rows::GeneratedRows,
        sniff::{FileShape, Sniffed},
    },
    FileToImport, ImportPlan, ImportedTable, Refusal,
};
use load::provider::JsonAnswer;
use model::address::Address;

/// Function selectors of token transfers: ERC-20, and the two functions that issuers commonly add.
const CALLS: &[(&str, Call)] = &[
    ("0xa9059cbb", Call::Transfer),
    ("0x23b872dd", Call::TransferFrom),
    ("0x40c10f19", Call::Mint),
    ("0x42966c68", Call::Burn),
];

#[derive(Clone, Copy)]
enum Call {
    Transfer,
    TransferFrom,
    Mint,
    Burn,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Transaction {
    block_number: String,
    time_stamp: String,
    hash: String,
    from: String,
    to: String,
    is_error: String,
    #[serde(rename = "txreceipt_status")]
    receipt: String,
    input: String,
}

const COLUMNS: &[&str] = &[
    "kind",
    "token_address",
    "timestamp",
    "block_number",
    "transaction_hash",
    "from_address",
    "to_address",
    "value",
    "status",
];

pub(super) fn open(file: &FileToImport<'_>) -> Result<ImportPlan, Refusal> {
    let list: Vec<Transaction> = objects(file.sniffed)?;
    let only = file.hints.token.map(|token| token.to_string());
    let mut other: HashMap<String, u64> = HashMap::new();
    let mut rows = Vec::with_capacity(list.len());
    for transaction in &list {
        let row = transfer(transaction).filter(|row| {
            only.is_none() || row[1].as_ref().map(|token| token.to_lowercase()) == only
        });
        if row.is_none() {
            let call = transaction.input.get(..10).unwrap_or("no call").to_owned();
            *other.entry(call).or_default() += 1;
        }
        rows.push(row.unwrap_or_else(|| vec![Some("other".to_owned())]));
    }
    let source = GeneratedRows::of(COLUMNS, file.sniffed.bytes, rows);
    let take = ImportedTable::into("transfers", source).keep(
        "kind",
        &["transfer"],
        "call no transfer function of a token",
    );
    let mut plan = ImportPlan::of(vec![take])
        .saying("transfers are read from calls of transfer, transferFrom, mint and burn; calls made by contracts are not in this file");
    let mut other: Vec<_> = other.into_iter().collect();
    other.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    if !other.is_empty() {
        let shown = few(
            other
                .iter()
                .map(|(call, count)| format!("{call} × {count}")),
            5,
        );
        plan = plan.saying(format!("omitted calls: {shown}"));
    }
    Ok(plan)
}

/// The transaction as a transfer row, if it calls a transfer function.
fn transfer(of: &Transaction) -> Option<Vec<Option<String>>> {
    let (_, call) = CALLS.iter().find(|(selector, _)| {
        of.input
            .get(..10)
            .is_some_and(|start| start.eq_ignore_ascii_case(selector))
    })?;
    let word = |i: usize| {
        of.input
            .get(10 + 64 * i..74 + 64 * i)
            .filter(|word| word.bytes().all(|digit| digit.is_ascii_hexdigit()))
    };
    let address = |i: usize| {
        word(i)
            .filter(|word| word[..24].bytes().all(|digit| digit == b'0'))
            .map(|word| format!("0x{}", &word[24..]))
    };
    let value = |i: usize| word(i).map(|word| format!("0x{word}"));
    let (from, to, value) = match call {
        Call::Transfer => (of.from.clone(), address(0)?, value(1)?),
        Call::TransferFrom => (address(0)?, address(1)?, value(2)?),
        Call::Mint => (Address::ZERO.to_string(), address(0)?, value(1)?),
        Call::Burn => (of.from.clone(), Address::ZERO.to_string(), value(0)?),
    };
    let status = if of.is_error == "0" && of.receipt != "0" {
        "1"
    } else {
        "0"
    };
    let cells = [
        "transfer",
        &of.to,
        &of.time_stamp,
        &of.block_number,
        &of.hash,
        &from,
        &to,
        &value,
        status,
    ];
    Some(cells.iter().map(|&cell| Some(cell.to_owned())).collect())
}

fn objects<T: for<'de> Deserialize<'de> + Default>(sniffed: &Sniffed) -> Result<Vec<T>, FileError> {
    let FileShape::Json { text, .. } = &sniffed.shape else {
        return Err(FileError::NotJson);
    };
    // Elements of another shape become empty transactions, which are no transfers.
    let rows = JsonAnswer::read(text)?
        .rows("result")?
        .ok_or_else(|| FileError::NoPlace("result".to_owned()))?;
    Ok(rows
        .into_iter()
        .map(|row| serde_json::from_str(row.get()).unwrap_or_default())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_become_transfers() {
        let word = |digits: &str| format!("{digits:0>64}");
        let (a, b) = ("11".repeat(20), "22".repeat(20));
        let call = |selector: &str, words: &[&str]| Transaction {
            input: format!(
                "0x{selector}{}",
                words.iter().map(|digits| word(digits)).collect::<String>()
            ),
            from: "0xfrom".into(),
            to: "0xtoken".into(),
            is_error: "0".into(),
            ..Transaction::default()
        };
        for (transaction, expected) in [
            (
                call("a9059cbb", &[&a, "ff"]),
                Some(("0xfrom".to_owned(), format!("0x{a}"), "ff")),
            ),
            (
                call("23b872dd", &[&a, &b, "1"]),
                Some((format!("0x{a}"), format!("0x{b}"), "1")),
            ),
            (
                call("40c10f19", &[&a, "2"]),
                Some((Address::ZERO.to_string(), format!("0x{a}"), "2")),
            ),
            (
                call("42966c68", &["3"]),
                Some(("0xfrom".to_owned(), Address::ZERO.to_string(), "3")),
            ),
            (call("095ea7b3", &[&a, "1"]), None),
            (call("a9059cbb", &[&a]), None),
            (call("a9059cbb", &[&"f".repeat(64), "1"]), None),
        ] {
            let row = transfer(&transaction);
            let found = row.map(|row| {
                (
                    row[5].clone().unwrap(),
                    row[6].clone().unwrap(),
                    row[7].clone().unwrap(),
                )
            });
            assert_eq!(
                found,
                expected.map(|(from, to, value)| (from, to, format!("0x{}", word(value)))),
                "{}",
                transaction.input
            );
        }
        assert_eq!(
            transfer(&Transaction {
                is_error: "1".into(),
                ..call("42966c68", &["3"])
            })
            .unwrap()[8]
                .as_deref(),
            Some("0")
        );
    }
}
