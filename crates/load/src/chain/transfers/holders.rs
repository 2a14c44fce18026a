//! Holders per day, counted from balances that are the sums of transfers, and a comparison of some balances with the chain. Stored as
//! `live/holder_counts/CHAIN/counts.parquet`, with the comparison next to it.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Path, PathBuf},
};

use polars::prelude::{DataFrame, DataType};
use ruint::Uint;
use serde::{Deserialize, Serialize};

use super::{
    BlockStep, HolderNote,
    rows::{self, Movement},
    state::{LogState, RowFiles},
};
use crate::error::ReadError;
use frames::{frame_rows::column, parquet_files::write_rows};
use model::{
    address::Address,
    private_files::{read_text, write_atomic},
    time::DAY_MS,
};
use wire::{
    Fault,
    node::{self, ChainNode, NodeCall},
};

/// Holders of all tokens that are counted.
const HOLDERS_MAX: usize = 5_000_000;
/// Days between two transfers that are filled in.
const DAYS_MAX: i64 = 40_000;
/// Holders of a token whose balances are compared: the largest, and some of the others.
const LARGEST: usize = 4;
const OTHERS: usize = 4;
/// `balanceOf(address)`.
const BALANCE_OF: [u8; 4] = [0x70, 0xa0, 0x82, 0x31];
/// `totalSupply()`.
const TOTAL_SUPPLY: [u8; 4] = [0x18, 0x16, 0x0d, 0xdd];
const RECORD_MAX: u64 = 16 << 20;

/// A sum of transfers, in two's complement: it is below zero where a token hides some.
type Sum = Uint<320, 5>;

/// The holders of a token so far.
#[derive(Default)]
struct Holders {
    balances: HashMap<Address, Sum>,
    count: i64,
    /// The day of the last transfer.
    day: Option<i64>,
    /// Day, and holders at its end.
    days: Vec<(i64, i64)>,
}

fn is_positive(sum: &Sum) -> bool {
    !sum.is_zero() && !sum.bit(319)
}

impl Holders {
    /// Closes the days before this one.
    fn come_to(&mut self, day: i64) {
        let Some(before) = self.day.filter(|before| day > *before) else {
            self.day.get_or_insert(day);
            return;
        };
        let filled = if day - before > DAYS_MAX {
            before..before + 1
        } else {
            before..day
        };
        self.days.extend(filled.map(|day| (day, self.count)));
        self.day = Some(day);
    }

    fn change(&mut self, holder: Address, by: impl Fn(Sum) -> Sum) {
        // Tokens are made and burnt there.
        if holder == Address([0; 20]) {
            return;
        }
        let sum = self.balances.entry(holder).or_default();
        let (before, after) = (is_positive(sum), by(*sum));
        self.count += i64::from(is_positive(&after)) - i64::from(before);
        *sum = after;
        if after.is_zero() {
            self.balances.remove(&holder);
        }
    }

    fn transfer(&mut self, moved: &Movement) {
        let value = Sum::from(moved.value);
        self.come_to(moved.time.div_euclid(DAY_MS));
        self.change(moved.from, |sum| sum.wrapping_sub(value));
        self.change(moved.to, |sum| sum.wrapping_add(value));
    }

    /// What all hold together; nothing where one sent more than the transfers gave.
    fn sum(&self) -> Option<Sum> {
        let mut all = self.balances.values();
        all.try_fold(Sum::ZERO, |sum, held| {
            is_positive(held).then(|| sum.wrapping_add(*held))
        })
    }

    /// Holders to be compared, the same ones each time.
    fn sample(&self) -> Vec<(Address, Sum)> {
        let mut held: Vec<(Address, Sum)> = self
            .balances
            .iter()
            .filter(|(_, sum)| is_positive(sum))
            .map(|(holder, sum)| (*holder, *sum))
            .collect();
        held.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        let mut others = held.split_off(held.len().min(LARGEST));
        others.sort_unstable_by_key(|(holder, _)| *holder);
        let stride = others.len().div_ceil(OTHERS).max(1);
        held.extend(others.into_iter().step_by(stride));
        held
    }
}

/// A comparison with the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TokenCheck {
    token: String,
    compared: usize,
    differing: usize,
    /// The first holder that differs: its address, its balance by transfers, and its balance on the chain, in base units.
    example: Option<(String, String, String)>,
}

/// What the counts were made of.
#[derive(Debug, Default, Serialize, Deserialize)]
struct CountRecord {
    /// Revision of the rows.
    revision: u64,
    tokens: BTreeSet<String>,
    block: u64,
    checks: Vec<TokenCheck>,
    /// Why no balance was compared.
    unchecked: Option<String>,
    /// Tokens that are not counted, and why: they are read from a block that dataset.toml names, and may have older holders.
    refused: Vec<(String, String)>,
}

#[derive(Debug)]
pub(super) struct HolderFiles {
    rows: PathBuf,
    record: PathBuf,
    shown: String,
}

impl HolderFiles {
    pub(super) fn new(dataset: &Path, chain: &str) -> Self {
        let shown = format!("live/holder_counts/{chain}/counts.parquet");
        let rows = dataset.join(&shown);
        Self {
            record: rows.with_extension("json"),
            rows,
            shown,
        }
    }

    pub(super) fn shown(&self) -> String {
        self.shown.clone()
    }

    fn record(&self) -> Option<CountRecord> {
        serde_json::from_str(&read_text(&self.record, RECORD_MAX).ok()?).ok()
    }

    /// Counts the holders, unless these same rows were counted before, and describes the differences from the chain.
    pub(super) fn counted(
        &self,
        files: &RowFiles,
        state: &LogState,
        tokens: &[Address],
        node: Option<&ChainNode>,
        step: BlockStep<'_>,
    ) -> Result<Vec<HolderNote>, Fault> {
        let names: BTreeSet<String> = tokens.iter().map(ToString::to_string).collect();
        let known = self.record().filter(|known| {
            known.revision == state.revision && known.tokens == names && self.rows.is_file()
        });
        let record = match known {
            // Where the node was away it may be there now.
            Some(known) if known.unchecked.is_none() || node.is_none() => known,
            _ => {
                let mut holders = count(files, state, tokens, step)?;
                let mut unchecked = None;
                let mut told = |fault: Fault| match fault {
                    Fault::Stopped => Err(Fault::Stopped),
                    fault => Ok(unchecked.insert(fault.to_string()).clone()),
                };
                let refused = match incomplete(&holders, state, node, step) {
                    Ok(refused) => refused,
                    Err(fault) => {
                        let why = format!(
                            "it is unknown whether the transfers since then account for the whole supply: the node {}",
                            told(fault)?
                        );
                        state
                            .named
                            .keys()
                            .map(|token| (token.clone(), why.clone()))
                            .collect()
                    }
                };
                holders.retain(|token, _| {
                    !refused
                        .iter()
                        .any(|(refused, _)| *refused == token.to_string())
                });
                write_rows(&self.rows, || frame(&holders)).map_err(ReadError::from)?;
                let checks = check(&holders, state, node, step)
                    .or_else(|fault| told(fault).map(|_| Vec::new()))?;
                let refused = refused.into_iter().map(|(token, why)| {
                    let first = state.named.get(&token).copied().unwrap_or_default();
                    let says = format!(
                        "its holders are not counted: its transfers are read only from block {first} on (`from_block`), and {why}; set `from_block` to the block of its first transfer, or remove it if the node keeps the state of old blocks"
                    );
                    (token, says)
                });
                let refused = refused.collect();
                let record = CountRecord {
                    revision: state.revision,
                    tokens: names,
                    block: state.end,
                    checks,
                    unchecked,
                    refused,
                };
                let text = serde_json::to_vec(&record).unwrap_or_default();
                write_atomic(&self.record, &text).map_err(ReadError::from)?;
                record
            }
        };
        Ok(record.notes())
    }
}

impl CountRecord {
    fn notes(&self) -> Vec<HolderNote> {
        let refused = self.refused.iter();
        let mut notes: Vec<HolderNote> = refused
            .map(|(token, says)| HolderNote {
                token: Address::parse(token),
                says: says.clone(),
                is_warning: true,
            })
            .collect();
        for check in self.checks.iter().filter(|check| check.differing > 0) {
            let example = check.example.as_ref().map_or_else(String::new, |(holder, by_transfers, on_chain)| {
                format!(", such as {holder}: {by_transfers} by transfers, {on_chain} by balanceOf (base units)")
            });
            notes.push(HolderNote {
                token: Address::parse(&check.token),
                says: format!(
                    "{} of {} holders compared at block {} have an on-chain balance that differs from the sum of their transfers{example}; the token changes balances without transfers, as rebasing tokens do, so its number of holders is approximate",
                    check.differing, check.compared, self.block
                ),
                is_warning: true,
            });
        }
        if let Some(why) = &self.unchecked {
            let says = format!(
                "holders are computed from transfers and were not compared with balances at block {}: the node {why}",
                self.block
            );
            notes.push(HolderNote {
                token: None,
                says,
                is_warning: false,
            });
        } else if notes.is_empty() && !self.checks.is_empty() {
            let compared: usize = self.checks.iter().map(|check| check.compared).sum();
            let says = format!(
                "holders are computed from transfers; {compared} of them were compared with balanceOf at block {}, and all agree",
                self.block
            );
            notes.push(HolderNote {
                token: None,
                says,
                is_warning: false,
            });
        }
        notes
    }
}

/// Adds up all transfers.
fn count(
    files: &RowFiles,
    state: &LogState,
    tokens: &[Address],
    step: BlockStep<'_>,
) -> Result<BTreeMap<Address, Holders>, Fault> {
    let mut all: BTreeMap<Address, Holders> = tokens
        .iter()
        .filter(|token| state.next_of(token).is_some())
        .map(|token| (*token, Holders::default()))
        .collect();
    for (done, file) in state.files.iter().enumerate() {
        step(done as u64, state.files.len() as u64).map_err(|_| Fault::Stopped)?;
        let frame = files.read(file)?;
        for moved in rows::movements(&frame) {
            // Within a token the rows of all files are in the order of the chain.
            if let Some(holders) = all.get_mut(&moved.token) {
                holders.transfer(&moved);
            }
        }
        let held: usize = all.values().map(|holders| holders.balances.len()).sum();
        if held > HOLDERS_MAX {
            let said = format!(
                "returned transfers to more than {HOLDERS_MAX} holders of these tokens; select fewer tokens with `where` in \
                    [tables.holder_counts]"
            );
            return Err(Fault::Failed(said));
        }
    }
    for (token, holders) in &mut all {
        let next = state.next_of(token).unwrap_or_default();
        let last = state.marks.iter().rev().find(|mark| mark.block < next);
        let day = last.and_then(|mark| i64::try_from(mark.timestamp / 86_400).ok());
        if let (Some(day), Some(last)) = (day, holders.day) {
            // The last day counts as far as it was read.
            holders.come_to(day.max(last) + 1);
        }
    }
    Ok(all)
}

fn frame(all: &BTreeMap<Address, Holders>) -> polars::prelude::PolarsResult<DataFrame> {
    let rows = || {
        let of_token = |(token, holders): (_, &Holders)| {
            let days = holders.days.clone().into_iter();
            days.map(move |(day, count)| (token, day, count))
        };
        all.iter().flat_map(of_token)
    };
    let days = rows().map(|(_, day, _)| i32::try_from(day).unwrap_or_default());
    let columns = vec![
        column(
            "token_address",
            rows().map(|(token, ..)| Address::to_string(token)),
        ),
        column("date", days).cast(&DataType::Date)?,
        column("holders", rows().map(|(.., count)| count)),
    ];
    DataFrame::new(rows().count(), columns)
}

/// Tokens read from a block that dataset.toml names whose holders since do not hold all of the supply, and why.
fn incomplete(
    all: &BTreeMap<Address, Holders>,
    state: &LogState,
    node: Option<&ChainNode>,
    step: BlockStep<'_>,
) -> Result<Vec<(String, String)>, Fault> {
    let named: Vec<(&Address, &Holders)> = all
        .iter()
        .filter(|(token, _)| state.named.contains_key(&token.to_string()))
        .collect();
    if named.is_empty() {
        return Ok(Vec::new());
    }
    let node = node.ok_or_else(|| Fault::Unavailable("is not contacted".to_owned()))?;
    let calls = named
        .iter()
        .map(|(token, _)| NodeCall::call(&token.0, &TOTAL_SUPPLY, state.end))
        .collect();
    let answers = node.ask(calls, &|| step(0, 0).is_err())?.answers;
    let judged = named.into_iter().zip(answers).filter_map(|((token, holders), answer)| {
        let supply = answer.ok().and_then(|answer| node::bytes(&answer)).and_then(|bytes| Some(Sum::from_be_slice(bytes.get(..32)?)));
        let why = match (holders.sum(), supply) {
            (None, _) => "some holders have sent more than they received since then".to_owned(),
            (_, None) => "the node does not return its supply".to_owned(),
            (Some(sum), Some(supply)) if sum == supply => return None,
            (Some(sum), Some(supply)) => format!("the transfers since then account for {sum} of a supply of {supply} (base units)"),
        };
        Some((token.to_string(), why))
    });
    Ok(judged.collect())
}

/// Compares a sample of the holders with the chain, at the last block that was read.
fn check(
    all: &BTreeMap<Address, Holders>,
    state: &LogState,
    node: Option<&ChainNode>,
    step: BlockStep<'_>,
) -> Result<Vec<TokenCheck>, Fault> {
    let Some(node) = node else {
        return Err(Fault::Unavailable("is not contacted".to_owned()));
    };
    let samples: Vec<(&Address, Vec<(Address, Sum)>)> = all
        .iter()
        .filter(|(token, _)| state.next_of(token) == Some(state.end + 1))
        .map(|(token, holders)| (token, holders.sample()))
        .collect();
    let data = |holder: &Address| [&BALANCE_OF[..], &[0; 12], &holder.0].concat();
    let calls = samples.iter().flat_map(|(token, holders)| {
        holders
            .iter()
            .map(|(holder, _)| NodeCall::call(&token.0, &data(holder), state.end))
    });
    let calls: Vec<NodeCall> = calls.collect();
    if calls.is_empty() {
        return Ok(Vec::new());
    }
    let stopped = || step(0, 0).is_err();
    let answers = node.ask(calls, &stopped)?.answers;
    if let Some(refusal) = answers
        .iter()
        .all(Result::is_err)
        .then(|| answers.first().and_then(|answer| answer.as_ref().err()))
        .flatten()
    {
        return Err(Fault::Unavailable(format!(
            "does not return balances of that block: {}",
            refusal.message
        )));
    }
    let mut answers = answers.into_iter();
    let mut checks = Vec::new();
    for (token, holders) in samples {
        let mut check = TokenCheck {
            token: token.to_string(),
            compared: 0,
            differing: 0,
            example: None,
        };
        for (holder, sum) in holders {
            let said = answers
                .next()
                .and_then(Result::ok)
                .and_then(|answer| node::bytes(&answer));
            let Some(balance) = said
                .as_deref()
                .and_then(|bytes| bytes.get(..32))
                .map(Sum::from_be_slice)
            else {
                continue;
            };
            check.compared += 1;
            if balance != sum {
                check.differing += 1;
                check.example.get_or_insert_with(|| {
                    (holder.to_string(), sum.to_string(), balance.to_string())
                });
            }
        }
        checks.push(check);
    }
    Ok(checks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(day: i64, from: u8, to: u8, value: &str) -> Movement {
        let address = |nth| Address([nth; 20]);
        Movement {
            token: address(9),
            time: day * DAY_MS + 5,
            from: address(from),
            to: address(to),
            value: value.parse().expect("a number"),
        }
    }

    #[test]
    fn holders_are_those_whose_transfers_add_up_to_more_than_nothing() {
        let mut holders = Holders::default();
        for (day, from, to, value) in [
            (3, 0, 1, "100"),
            (3, 1, 2, "40"),
            (5, 2, 3, "40"),
            // To oneself; nothing; from one who never got any.
            (6, 1, 1, "60"),
            (6, 1, 4, "0"),
            (6, 5, 6, "1"),
            // All is burnt.
            (8, 1, 0, "60"),
        ] {
            holders.transfer(&row(day, from, to, value));
        }
        holders.come_to(10);
        assert_eq!(
            holders.days,
            [(3, 2), (4, 2), (5, 2), (6, 3), (7, 3), (8, 2), (9, 2)]
        );
        assert!(
            holders.balances[&Address([5; 20])].bit(319),
            "less than nothing"
        );
        let sample = holders.sample();
        assert_eq!(
            sample
                .iter()
                .map(|(holder, _)| holder.0[0])
                .collect::<Vec<_>>(),
            [3, 6]
        );
    }

    #[test]
    fn the_sample_has_the_largest_and_some_others() {
        let mut holders = Holders::default();
        for nth in 1..=100 {
            holders.transfer(&row(
                1,
                0,
                nth,
                &format!("{nth}000000000000000000000000000000000000000"),
            ));
        }
        let sample = holders.sample();
        assert_eq!(sample.len(), 8);
        assert_eq!(
            sample
                .iter()
                .take(4)
                .map(|(holder, _)| holder.0[0])
                .collect::<Vec<_>>(),
            [100, 99, 98, 97]
        );
        assert_eq!(sample, holders.sample());
    }
}
