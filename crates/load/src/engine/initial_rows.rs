//! Attaches a table that stays at the engine: it is counted by token when the dataset is loaded, the days of its candles come as a table
//! like any other, and `fetched` brings rows later. `stored` keeps the counts on disk for an offline start.

mod stored;

use std::{collections::HashMap, sync::Arc};

use polars::prelude::{DataFrame, DataType, ListChunked};
use serde::{Deserialize, Serialize};

use super::{
    Columns, EngineQuery,
    columns::{counted, counts, floats, lists, texts},
    fetched::EngineFetch,
    name_of,
    spelling::is_mixed_case,
    sql::{EngineColumn, HexSpelling},
    templates,
};
use crate::{
    RemoteOrigin, Table, TableFile,
    engine_rows::{EngineRows, FetchError},
    formats::locate::Answer,
    loader::{
        remote::{self, Pulse},
        task::{TableLoad, TableLoadError},
    },
    manifest::EngineTable,
};
use frames::order;
use model::{
    address::Address,
    field_hash::FieldHash,
    findings::{Finding, Severity},
    format::plural,
    holding::Listed,
    table_state::TableState,
    time::Time,
    wall_clock,
};
use table::TableRows;

/// Most tokens of a table that stays at the engine.
const TOKENS_MAX: u64 = 1_000_000;
/// Examples in a finding.
const EXAMPLES: usize = 3;

/// State of an engine's table that a snapshot was loaded from: later queries see it up to the newest row that it had.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EngineSnapshot {
    /// Its columns, with the spelling of their values.
    pub(super) described: Vec<EngineColumn>,
    /// SQL conditions that keep the rows of this state, and its end for display.
    pub(super) until: Vec<String>,
    pub(super) as_of: Option<String>,
}

impl EngineSnapshot {
    /// Whether the answer belongs to this state.
    pub(crate) fn is_of(&self, answer: &Answer) -> bool {
        answer.as_of == self.as_of
            && self
                .until
                .iter()
                .all(|condition| answer.sql.contains(condition))
    }
}

/// A table at the engine, as counted.
struct CountedTable {
    state: CountedState,
    /// What was counted of each token.
    counts: DataFrame,
}

/// What is known of it besides its counts; stored on disk too.
#[derive(Debug, Serialize, Deserialize)]
struct CountedState {
    /// Time of the load, in milliseconds.
    at: i64,
    snapshot: EngineSnapshot,
    rows: u64,
    /// Whether only the last days of each token come with the table.
    last_days: bool,
    /// Findings for the user: warnings, such as about excluded rows, and notes.
    warnings: Vec<String>,
    notes: Vec<String>,
    hash: [u8; 32],
}

/// Counts the table, brings its days, and prepares what brings the rest. Where the engine fails, the last load is used.
pub(crate) fn attach(
    load: &TableLoad<'_>,
    asked: &EngineTable,
    pulse: &Pulse,
) -> Result<Table, TableLoadError> {
    let now = CountedTable::ask(load, asked, pulse).and_then(|counted| {
        let table = counted.table(load, asked)?;
        counted.keep(load);
        Ok(table)
    });
    now.or_else(|error| {
        let why = remote::source_failure(load.manifest, &error);
        let Some((counted, why)) = why.and_then(|why| Some((CountedTable::kept(load)?, why)))
        else {
            return Err(error);
        };
        // What the engine said now is the reason, whatever the copy lacks.
        let mut table = counted.table(load, asked).map_err(|_| error)?;
        let (file, then) = (name_of(asked), Time(counted.state.at));
        table.findings.add(remote::stale_note(&file, then, &why));
        if let Some(remote) = &mut table.remote {
            remote.as_of = Some(then);
        }
        Ok(table)
    })
}

impl CountedTable {
    /// Queries the engine for the current state.
    fn ask(
        load: &TableLoad<'_>,
        asked: &EngineTable,
        pulse: &Pulse,
    ) -> Result<Self, TableLoadError> {
        let TableLoad {
            schema, manifest, ..
        } = *load;
        let asking = EngineQuery::new(load, asked)?;
        if asking.old {
            return Err(asking.cannot_stay("its server is too old; set read = \"bring\""));
        }
        let columns = asking.columns()?;
        let conditions = asking.conditions(&columns);
        if let Some((name, _)) = manifest
            .filters
            .iter()
            .find(|(name, _)| columns.of_condition(name).0.is_none())
        {
            return Err(asking.cannot_stay(format!(
                "`where` uses `{name}`, which is not a column at the source"
            )));
        }
        if conditions.len() < manifest.filters.len() || !asking.is_exact(&columns) {
            return Err(asking
                .cannot_stay("`where` cannot be fully expressed in SQL; set read = \"bring\""));
        }
        let ended = asking.count(&columns, &conditions)?;
        let base = asking.base(&columns, &ended.conditions)?;
        let frames = asking.frames(
            &counted(&templates::counts(schema.name, &base)),
            TOKENS_MAX,
            pulse,
        )?;
        let found = order::whole(frames)
            .map_err(|_| asking.unread())?
            .unwrap_or_default();
        let tokens = Tokens::read(&found).ok_or_else(|| asking.unread())?;
        tokens.check(&asking, ended.rows)?;
        let source = asking.engine.source();
        let of_server = [&source.url, &source.database, &source.user];
        let hash = FieldHash::of(
            [&base, &ended.rows.to_string()]
                .into_iter()
                .chain(of_server),
        )
        .finish();
        let last_days = tokens.days > templates::DAYS_MAX;
        let mut notes = ended.notes;
        notes.push(format!(
            "the {} rows stay at `{}` and are brought by token; {}",
            super::grouped(ended.rows),
            asked.source,
            unchecked(schema.name)
        ));
        if last_days {
            notes.push(format!(
                "only the last {} days of each token are loaded; older days are brought with the token's chart",
                templates::DAYS_OF_MANY
            ));
        }
        let snapshot = EngineSnapshot {
            described: with_spelling(columns, tokens.mixed_case),
            until: ended.conditions,
            as_of: ended.as_of,
        };
        Ok(Self {
            state: CountedState {
                at: wall_clock::now().0,
                snapshot,
                rows: ended.rows,
                last_days,
                warnings: tokens.warnings(schema.name),
                notes,
                hash,
            },
            counts: found,
        })
    }

    /// The table of these counts.
    fn table(&self, load: &TableLoad<'_>, asked: &EngineTable) -> Result<Table, TableLoadError> {
        let TableLoad {
            context, schema, ..
        } = *load;
        let Some(wire) = context.wire else {
            return Err(TableLoadError::Cancelled);
        };
        let listed = Tokens::read(&self.counts)
            .map(|tokens| tokens.listed)
            .ok_or_else(|| {
                TableLoadError::Unusable(
                    "its local copy cannot be read; reload the data".to_owned(),
                )
            })?;
        let state = &self.state;
        let fetch = EngineFetch::new(
            context,
            schema,
            Arc::clone(wire),
            state.snapshot.clone(),
            listed.clone(),
        );
        let days = if schema.name == "candles" {
            Some(
                fetch
                    .days(state.last_days, context.progress)
                    .map_err(|why| match why {
                        FetchError::Cancelled => TableLoadError::Cancelled,
                        FetchError::Unavailable(reason) => TableLoadError::Unusable(reason),
                    })?,
            )
        } else {
            None
        };
        let priceless = days.as_ref().and_then(|days| priceless(days, &listed));
        let rows = EngineRows::new(state.rows, asked.source.clone(), listed, Arc::new(fetch));
        let file = name_of(asked);
        let rows_here = days.map_or_else(|| Arc::new(TableRows::empty(schema)), |days| days.rows);
        let mut table = Table {
            rows: rows_here,
            engine: Some(Arc::new(rows)),
            state: TableState::Loaded,
            ..Table::absent(schema)
        };
        table.sources = vec![TableFile {
            file: file.clone(),
            rows: state.rows,
            ends: state.hash,
            ..TableFile::default()
        }];
        table.remote = Some(RemoteOrigin {
            sources: vec![asked.source.clone()],
            ..RemoteOrigin::default()
        });
        let warnings = state.warnings.iter().cloned().chain(priceless);
        let told = warnings.map(|reason| (Severity::Warning, reason)).chain(
            state
                .notes
                .iter()
                .cloned()
                .map(|reason| (Severity::Note, reason)),
        );
        for (severity, reason) in told {
            table.findings.add(Finding::new(severity, &file, reason));
        }
        Ok(table)
    }
}

/// What was counted of all tokens.
#[derive(Debug, Default)]
struct Tokens {
    listed: HashMap<Address, Listed>,
    /// An upper bound of the number of days of candles.
    days: u64,
    /// Rows that repeat another, and those with numbers that the engine does not read.
    again: u64,
    strange: u64,
    /// Rows that are not used, by reason, and those of tokens that are no addresses, with examples.
    lost: [u64; 3],
    tokenless: u64,
    examples: Vec<String>,
    coin: Option<String>,
    /// Whether some tokens are written in mixed case, by which their rows would not be found.
    mixed_case: bool,
}

impl Tokens {
    /// Decodes the result of `templates::counts`.
    fn read(frame: &DataFrame) -> Option<Self> {
        let mut all = Self::default();
        if frame.height() == 0 {
            return Some(all);
        }
        let tokens = texts(frame, "token_address")?;
        let [rows, held, days, again, strange] =
            ["listed", "held", "days", "again", "strange"].map(|name| counts(frame, name));
        let (rows, held, days) = (rows?, held?, days?);
        let (again, strange, balance) = (again?, strange?, floats(frame, "balance")?);
        let (written, lost) = (
            lists(frame, "written", DataType::String)?,
            lists(frame, "lost", DataType::UInt64)?,
        );
        for row in 0..frame.height() {
            let token = tokens.get(row).unwrap_or_default();
            let listed = Listed {
                rows: rows.get(row)?,
                held: held.get(row)?,
                balance: balance.get(row)?,
            };
            for (sum, nth) in all.lost.iter_mut().zip(0..) {
                *sum = sum.saturating_add(nth_of(&lost, row, nth)?);
            }
            all.strange = all.strange.saturating_add(strange.get(row)?);
            all.mixed_case |= written.get_as_series(row).is_some_and(|texts| {
                texts
                    .str()
                    .is_ok_and(|texts| texts.iter().flatten().any(is_mixed_case))
            });
            if let Some(address) = Address::parse(token) {
                all.days = all.days.saturating_add(days.get(row)?);
                all.again = all.again.saturating_add(again.get(row)?);
                if listed.rows > 0 {
                    all.listed.insert(address, listed);
                }
            } else if Address::or_coin(token.trim()).is_some() && !token.trim().is_empty() {
                all.coin.get_or_insert_with(|| token.to_owned());
            } else {
                all.tokenless = all.tokenless.saturating_add(listed.rows);
                if all.examples.len() < EXAMPLES {
                    all.examples.push(format!("`{token}`"));
                }
            }
        }
        Some(all)
    }

    /// Errors: rows that the loader would read otherwise, or that no query would find.
    fn check(&self, asking: &EngineQuery<'_>, rows: u64) -> Result<(), TableLoadError> {
        let table = asking.load.schema.name;
        let why = if let Some(coin) = &self.coin {
            return Err(asking.cannot_stay(format!(
                "it has coins without a contract, such as `{coin}`; set read = \"bring\""
            )));
        } else if self.again > 0 {
            let (one, more, each) = if table == "holders" {
                (
                    "of its rows is a duplicate holder",
                    "of its rows are duplicate holders",
                    "holder",
                )
            } else {
                (
                    "of its candles is a duplicate",
                    "of its candles are duplicates",
                    "candle",
                )
            };
            format!(
                "{}; set final = true, use a `query` with one row per {each}",
                plural(self.again, one, more)
            )
        } else if self.strange > 0 {
            format!(
                "{} numbers in a notation that the server does not read; convert them with a `query`",
                plural(self.strange, "of its rows has", "of its rows have")
            )
        } else if table == "holders" && self.lost[0] > 0 {
            format!(
                "{}; exclude such rows with a `query`",
                plural(
                    self.lost[0],
                    "of its rows has a holder that is not an address",
                    "of its rows have holders that are not addresses"
                )
            )
        } else if table == "candles" && self.lost[2] > 0 {
            format!(
                "{} an invalid interval (a valid one is `1h`); exclude such rows with a `query`",
                plural(self.lost[2], "of its rows has", "of its rows have")
            )
        } else if table == "candles" && rows > 0 && self.listed.is_empty() {
            format!(
                "none of its {} rows has a token, a time and prices; correct them with a `query`",
                super::grouped(rows)
            )
        } else {
            return Ok(());
        };
        Err(asking.cannot_stay(format!("{why}, or set read = \"bring\"")))
    }

    /// Rows that are left out, for the user.
    fn warnings(&self, table: &str) -> Vec<String> {
        let [first, second, _] = self.lost;
        let mut warnings = Vec::new();
        let mut note = |count: u64, one: &str, more: &str| {
            if count > 0 {
                let excluded = plural(
                    count,
                    "of the rows is excluded because",
                    "of the rows are excluded because",
                );
                warnings.push(format!(
                    "{excluded} {}",
                    if count == 1 { one } else { more }
                ));
            }
        };
        match table {
            "candles" => {
                note(first, "it has no time", "they have no time");
                note(
                    second,
                    "it lacks an open, high, low or close",
                    "they lack an open, high, low or close",
                );
            }
            "transfers" => note(
                first,
                "it has no transaction hash",
                "they have no transaction hash",
            ),
            _ => {}
        }
        if table == "candles" {
            let one = "it has no token address";
            note(self.tokenless, one, "they have no token address");
        } else {
            let examples = self.examples.join(", ");
            note(
                self.tokenless,
                &format!("its token is not an address, such as {examples}"),
                &format!("their tokens are not addresses, such as {examples}"),
            );
        }
        warnings
    }
}

fn nth_of(lists: &ListChunked, row: usize, nth: usize) -> Option<u64> {
    lists.get_as_series(row)?.u64().ok()?.get(nth)
}

/// Finding about tokens without a valid candle: they have no price, and nothing else would say why.
fn priceless(days: &Table, listed: &HashMap<Address, Listed>) -> Option<String> {
    let candles = crate::candle_table::CandleTable::new(days);
    let mut without: Vec<&Address> = listed
        .keys()
        .filter(|token| candles.latest_close(token).is_none())
        .collect();
    without.sort_unstable();
    let (first, more) = without.split_first()?;
    let others = if more.is_empty() {
        String::new()
    } else {
        format!(
            " and {}",
            plural(more.len() as u64, "more token", "more tokens")
        )
    };
    Some(format!(
        "no candle of `{first}`{others} is valid: prices must be positive, the low the lowest and the high the highest; check which columns open, high, low, close and volume are read from"
    ))
}

/// Note about the checks that are not made for a table at an engine.
fn unchecked(table: &str) -> &'static str {
    match table {
        "holders" => {
            "negative balances are cleared there and not reported as issues; balances are not compared with the supply"
        }
        "transfers" => {
            "amounts are not compared with the supply, and only transfers that were brought are checked"
        }
        _ => {
            "negative volumes are cleared and candles whose prices break a rule are excluded, but neither is reported as an issue; gaps, \
                intervals, steps and the size of volumes are not checked"
        }
    }
}

/// All columns; that of the tokens is marked where some are in mixed case.
fn with_spelling(columns: Columns<'_>, mixed_case: bool) -> Vec<EngineColumn> {
    let tokens = columns
        .serving("token_address")
        .filter(|_| mixed_case)
        .map(|column| column.name.clone());
    let mut all = columns.all;
    for column in all
        .iter_mut()
        .filter(|column| Some(&column.name) == tokens.as_ref())
    {
        column.spelling = HexSpelling::MixedCase;
    }
    all
}
