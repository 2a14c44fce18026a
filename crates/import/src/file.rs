//! Imports one file into its tables: plans how to read it, reads its rows table by table, and records the tokens it adds.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::PathBuf,
};

use polars::prelude::DataFrame;

use super::{
    Run, candles,
    error::FileError,
    format::{self, FileToImport, FormatRow, ImportPlan, ImportedTable},
    names::Names,
    pair, quality,
    refusal::{COLUMN, LostColumn, Refusal, WRITE_TOKENS},
    report::{self, FileReport, Taken, few, listed},
    seams::{self, SeriesSpan},
    sheet::RawTable,
    sniff::Sniffed,
    table_index,
    take::{ImportRejection, Reading, add_tokens, note},
    tokens::{TokenFoundBy, TokenHints, TokenMatch},
    written,
};
use frames::duplicates;
use load::{loader, provenance::Origin};
use model::{
    address::Address,
    chain::Chain,
    findings::{Finding, Severity},
    schema::TABLES,
};

/// Tables whose rows belong to a token; the rows are visible only if that token is in `tokens`.
const ABOUT_TOKENS: &[&str] = &["candles", "holders", "holder_counts", "transfers", "posts"];
/// Members beside a table that name its chain; ids are the surest.
const BESIDE_CHAIN: [&str; 5] = ["chainid", "chain", "chainname", "network", "blockchain"];
/// Rows in a file's preview.
const SHOWN: usize = 5;

impl Run<'_> {
    /// Reads the rows of one file into their tables, without the columns `lost`; its notes and findings go to `report`.
    pub(super) fn file(
        &mut self,
        sniffed: &Sniffed,
        format: &FormatRow,
        lost: &[LostColumn],
        report: &mut FileReport,
    ) -> Result<(), ImportRejection> {
        let mut plan = self.plan(sniffed, format, report)?;
        for LostColumn { table, column, why } in lost {
            plan.leave_out(table, column);
            plan.notes.push(format!(
                "warning: `{column}` is left empty, as the file {why}"
            ));
        }
        let source = self.sources;
        // Marked as refused until it has been read completely.
        self.sources += 1;
        self.refused.insert(source);
        report.source = Some(source);
        let about = (
            plan.token.as_ref().and_then(|token| token.symbol.clone()),
            self.chain_of(&plan),
        );
        let chain_told = self.options.chain.is_some()
            || plan.chain.is_some()
            || plan.token.as_ref().is_some_and(TokenMatch::is_coin);
        let mut file = FileFacts {
            notes: plan.notes,
            ..FileFacts::default()
        };
        file.notes_once(sniffed.notes.clone());
        // A file of one token needs that token, whatever table it fills.
        file.needed
            .extend(plan.token.as_ref().map(|token| token.address));
        for take in plan.takes {
            self.take(sniffed, take, source, &mut file, report)?;
        }
        if report
            .taken
            .iter()
            .all(|taken| taken.rows == taken.set_aside + taken.left_out)
        {
            let (table, why) = report::why_nothing(report);
            return Err(
                format!("looks like {table}, but has no row that can be imported: {why}").into(),
            );
        }
        if let (Some(token), Some(span)) = (&plan.token, file.span) {
            if !self.options.broken_too {
                seams::meets(&self.spans, &report.path, token.address, span)?;
            }
            self.spans.push((
                report.path.clone(),
                report.file.clone(),
                token.address,
                span,
            ));
        }
        let names = sniffed.sheet.as_ref().map_or(&[][..], |sheet| &sheet.names);
        let unused: Vec<String> = names
            .iter()
            .filter(|name| !file.used.contains(*name) && file.has_own_columns)
            .cloned()
            .collect();
        if !unused.is_empty() {
            note(
                &mut report.findings,
                &sniffed.name,
                format!("columns not imported: {}", listed(&unused)),
            );
        }
        self.refused.remove(&source);
        self.approximate.extend(file.approximate);
        let is_chain_assumed =
            !chain_told && file.needed.iter().any(|token| !self.tokens.has(token));
        let note = format!(
            "assumed: the chain of its tokens is `{}`, as the file names none",
            about.1
        );
        if is_chain_assumed && !file.tokens.is_empty() {
            file.notes.push(note.clone());
        }
        for frame in &file.tokens {
            self.tokens.add(frame);
            report.says.extend(self.tokens.sharing(frame));
            self.context.decimals.extend(loader::decimals(frame));
        }
        let rejected = std::mem::take(&mut file.rejected);
        let notes_of = |table: &str| {
            let rejected = rejected
                .iter()
                .filter(|(of, _)| *of == table)
                .map(|(_, note)| note.clone());
            file.notes.iter().cloned().chain(rejected).collect()
        };
        let origin = |notes| {
            Origin::new(
                &sniffed.name,
                &format.title,
                file.needed.iter().copied(),
                self.options.words(&[]),
                notes,
            )
        };
        self.origins.extend(
            report
                .taken
                .iter()
                .map(|taken| (source, taken.table, origin(notes_of(taken.table)))),
        );
        if is_chain_assumed && file.tokens.is_empty() {
            // The note is about the tokens it adds, which are rows of another table.
            self.origins
                .push((source, "tokens", origin(vec![note.clone()])));
            report
                .says
                .push(format!("{note}; to change it, pass --chain"));
        }
        report.says.extend(file.notes);
        for token in file.needed {
            self.needed.entry(token).or_insert_with(|| about.clone());
        }
        Ok(())
    }

    /// Plans how to read the file, with the options applied.
    fn plan(
        &mut self,
        sniffed: &Sniffed,
        format: &FormatRow,
        report: &mut FileReport,
    ) -> Result<ImportPlan, ImportRejection> {
        let named = sniffed.sheet.as_ref().and_then(named_chain);
        let chain = self
            .options
            .chain
            .clone()
            .or_else(|| named.clone())
            .unwrap_or_else(default_chain);
        let hints = TokenHints::of(self.options, &chain);
        let file = FileToImport {
            sniffed,
            format,
            formats: self.formats,
            tokens: &self.tokens,
            hints,
            options: self.options,
            decimals: &self.context.decimals,
        };
        mapped_columns(sniffed, &self.options.map)?;
        let mut plan = match &self.options.table {
            Some(table) => format::mapped::open(&file, table)?,
            None => format.plan(&file)?.with_options(&file)?,
        };
        if let Some(sheet) = &sniffed.sheet {
            plan = written::as_written(sheet, plan);
        }
        if self.options.chain.is_none() && plan.chain.is_none() {
            plan.chain = named;
        }
        self.hold_to_one_token(sniffed, &plan)?;
        report.says.clone_from(&plan.says);
        report.says.extend(
            sniffed
                .sheet
                .iter()
                .flat_map(|sheet| sheet.says.iter().cloned()),
        );
        if let Some(encoding) = sniffed.sheet.as_ref().and_then(RawTable::encoding) {
            let name = encoding.name();
            let assumed = if encoding.is_western() {
                ""
            } else {
                "assumed: "
            };
            report
                .says
                .push(format!("{assumed}the text is not UTF-8 and is read as {name}; if names look wrong, save the file as UTF-8 first"));
        }
        report.movements = sniffed
            .sheet
            .as_ref()
            .map_or_else(Vec::new, |sheet| duplicates::movements(&sheet.names));
        self.context.decimals.extend(
            plan.decimals
                .iter()
                .map(|(token, decimals)| (*token, Some(*decimals))),
        );
        if let Some(decimals) = self.options.decimals {
            match decimals_of(sniffed, &plan, &self.context.decimals)? {
                Some(token) => drop(self.context.decimals.insert(token, Some(decimals.into()))),
                None => report.says.push(
                    "--decimals is ignored, as the decimals of its tokens are known".to_owned(),
                ),
            }
        }
        Ok(plan)
    }

    /// Reads the rows that a file has for one table.
    fn take(
        &mut self,
        sniffed: &Sniffed,
        mut take: ImportedTable,
        source: u32,
        file: &mut FileFacts,
        report: &mut FileReport,
    ) -> Result<(), ImportRejection> {
        self.open(take.table)?;
        let schema = &TABLES[table_index(take.table)];
        let reading = Reading {
            context: &self.context,
            schema,
            manifest: &take.manifest,
            name: &sniffed.name,
            bytes: sniffed.bytes,
        };
        let made = (candles::TOKENS_TRADED, &take.worked_out[..]);
        let bound = report::column_sources(
            schema,
            &take.manifest,
            take.rows.columns(),
            made,
            &self.options.map,
        );
        let said = take
            .manifest
            .columns
            .iter()
            .filter(|(_, rule)| rule.approximate);
        file.approximate
            .extend(said.map(|(column, _)| (take.table, *column)));
        let Some(spool) = self.spools.get_mut(&table_index(take.table)) else {
            return Ok(());
        };
        let about_tokens = ABOUT_TOKENS.contains(&take.table)
            || take.table == "contracts" && self.options.token.is_some();
        let mut shown: Vec<Vec<String>> = Vec::new();
        let findings_before = report.findings.kept().len();
        let amount = reading.run(&mut *take.rows, &mut report.findings, |frame, rows| {
            if take.table == "tokens" {
                file.tokens.push(frame.clone());
            }
            if about_tokens {
                add_tokens(&frame, &mut file.needed);
            }
            if take.table == "candles" {
                file.span = SeriesSpan::with(file.span, &frame);
            }
            if shown.len() < SHOWN {
                shown.extend(report::first_rows(&frame, &bound, SHOWN - shown.len()));
            }
            spool.add(frame, source, rows)
        })?;
        file.notes_once(take.rows.notes());
        file.used.extend(reading.used(take.rows.columns())?);
        let names = sniffed.sheet.as_ref().map_or(&[][..], |sheet| &sheet.names);
        file.has_own_columns |= names
            .iter()
            .filter(|name| take.rows.columns().contains(name))
            .count()
            * 2
            > names.len();
        file.used.extend(take.worked_out);
        report.previews.push(report::Preview {
            table: take.table,
            columns: bound,
            rows: shown,
        });
        for column in &amount.approximate {
            if !file.approximate.contains(&(take.table, *column)) {
                report.says.push(format!(
                    "warning: `{column}` passed through floating-point numbers, which have 15 to 17 digits, so it is approximate"
                ));
                file.approximate.push((take.table, *column));
            }
        }
        let taken = Taken::of(take.table, &amount, &take.left_out);
        let own_findings = report
            .findings
            .kept()
            .get(findings_before..)
            .unwrap_or_default();
        file.rejected
            .extend(note_on_rejected_rows(&taken, own_findings).map(|note| (take.table, note)));
        report.taken.push(taken);
        self.observed.extend(
            amount
                .observed
                .iter()
                .map(|observed| (source, observed.clone())),
        );
        file.notes.extend(quality::broken(
            take.table,
            &amount,
            &report.findings,
            self.options.broken_too,
        )?);
        Ok(())
    }

    /// The chain of a new token: that of the file; a coin without a contract has its own.
    fn chain_of(&self, plan: &ImportPlan) -> Chain {
        let coin = self.options.coin.as_ref().filter(|_| {
            plan.token
                .as_ref()
                .is_some_and(|token| Some(token.address) == self.options.token)
        });
        let said = || self.options.chain.clone().unwrap_or_else(default_chain);
        coin.map(|coin| Chain::of_coin(coin))
            .or_else(|| plan.chain.clone())
            .unwrap_or_else(said)
    }

    /// The refusals of sheets and members that are named after another token than that which the user says, by path and name.
    pub(super) fn parts_of_others(
        &self,
        known: &[(&PathBuf, Sniffed, &FormatRow)],
    ) -> BTreeMap<(PathBuf, String), Refusal> {
        let chain = self.options.chain.clone().unwrap_or_else(default_chain);
        let mut parts = BTreeMap::<&PathBuf, Vec<&str>>::new();
        for (path, sniffed, format) in known {
            // Of other tables a sheet may be named after anything.
            if format
                .into
                .iter()
                .map(String::as_str)
                .chain(self.options.table.as_deref())
                .any(|table| table == "candles")
            {
                parts.entry(path).or_default().push(&sniffed.name);
            }
        }
        let hints = TokenHints::of(self.options, &chain);
        let refused = parts.into_iter().flat_map(|(path, names)| {
            self.tokens
                .of_others(&names, hints)
                .into_iter()
                .map(move |(name, refusal)| ((path.clone(), name), refusal))
        });
        refused.collect()
    }

    /// Refuses `--token` for files that are named after different tokens.
    fn hold_to_one_token(&mut self, sniffed: &Sniffed, plan: &ImportPlan) -> Result<(), FileError> {
        // Two words that may be a pair count here, as the files would be mixed.
        let pair = pair::pair_in_name(&sniffed.name, |_| false)
            .or_else(|| pair::pair_in_name(&sniffed.name, |_| true));
        let words: Vec<String> = pair.map(|pair| pair.base).into_iter().collect();
        let (Some(token), Some(said), [symbol]) = (&plan.token, self.options.token, &words[..])
        else {
            return Ok(());
        };
        if token.address != said || token.by != TokenFoundBy::Said {
            return Ok(());
        }
        match &self.said_for {
            Some(other) if other != symbol => Err(FileError::OtherToken {
                symbol: symbol.clone(),
                other: other.clone(),
            }),
            _ => {
                self.said_for = Some(symbol.clone());
                Ok(())
            }
        }
    }
}

/// Facts gathered while reading one file.
#[derive(Default)]
struct FileFacts {
    /// Token rows, which later files may refer to.
    tokens: Vec<DataFrame>,
    /// Tokens that its rows refer to.
    needed: HashSet<Address>,
    /// Columns of the file that were read.
    used: HashSet<String>,
    /// Whether more than half of the file's columns are among those that a table was read from.
    has_own_columns: bool,
    /// Tables and columns whose amounts are floating-point numbers.
    approximate: Vec<(&'static str, &'static str)>,
    /// Notes that every load repeats.
    notes: Vec<String>,
    /// Its first and last candle.
    span: Option<SeriesSpan>,
    /// Notes on rejected rows, with their table.
    rejected: Vec<(&'static str, String)>,
}

impl FileFacts {
    /// Adds notes, which several tables of one file may have.
    fn notes_once(&mut self, notes: Vec<String>) {
        let new: Vec<String> = notes
            .into_iter()
            .filter(|note| !self.notes.contains(note))
            .collect();
        self.notes.extend(new);
    }
}

/// The note on the rejected rows of one table, which every load repeats, as the file is not read again; `None` if there are none.
fn note_on_rejected_rows(taken: &Taken, findings: &[Finding]) -> Option<String> {
    let first = findings
        .iter()
        .find(|finding| finding.severity == Severity::Error && finding.row.is_some());
    let first = first.map(quality::row_of);
    match (taken.set_aside, first, taken.rows) {
        (0, ..) => None,
        (1, Some(first), rows) => Some(format!(
            "warning: 1 of its {rows} rows was rejected: {first}"
        )),
        (1, None, rows) => Some(format!("warning: 1 of its {rows} rows was rejected")),
        (rejected, Some(first), rows) => Some(format!(
            "warning: {rejected} of its {rows} rows were rejected; the first: {first}"
        )),
        (rejected, None, rows) => Some(format!(
            "warning: {rejected} of its {rows} rows were rejected"
        )),
    }
}

/// Refuses `--map` of a missing column, which would otherwise be ignored silently.
fn mapped_columns(sniffed: &Sniffed, map: &[(String, String)]) -> Result<(), Refusal> {
    let Some(sheet) = &sniffed.sheet else {
        return Ok(());
    };
    let lacks = |(_, theirs): &&(String, String)| {
        !sheet
            .names
            .iter()
            .any(|name| name.eq_ignore_ascii_case(theirs))
    };
    map.iter().find(lacks).map_or(Ok(()), |(ours, theirs)| {
        let reason = format!(
            "has no column `{theirs}` for `{ours}`; its columns are {}",
            listed(&sheet.names)
        );
        Err(Refusal::new(reason).say("map", format!("{ours}={COLUMN}")))
    })
}

/// The token that `--decimals` applies to: the file's, or the only one in its rows with unknown decimals. Refuses several.
fn decimals_of(
    sniffed: &Sniffed,
    plan: &ImportPlan,
    known: &HashMap<Address, Option<i64>>,
) -> Result<Option<Address>, Refusal> {
    if let Some(token) = &plan.token {
        return Ok(Some(token.address));
    }
    let column = plan
        .takes
        .iter()
        .find_map(|take| take.manifest.columns.get("token_address")?.from.as_deref());
    let sheet = sniffed.sheet.as_ref();
    let at = sheet.and_then(|sheet| {
        sheet
            .names
            .iter()
            .position(|name| Some(name.as_str()) == column)
    });
    let mut all: Vec<Address> = sheet.zip(at).map_or_else(Vec::new, |(sheet, at)| {
        sheet
            .column(at)
            .filter_map(|cell| Address::parse(cell.trim()))
            .collect()
    });
    let set = plan
        .takes
        .iter()
        .find_map(|take| take.manifest.set.get("token_address"));
    all.extend(set.and_then(|token| Address::parse(token)));
    all.retain(|token| {
        known.get(token).copied().flatten().is_none()
            && !plan.decimals.iter().any(|(told, _)| told == token)
    });
    all.sort_unstable();
    all.dedup();
    match &all[..] {
        [] => Ok(None),
        [one] => Ok(Some(*one)),
        several => Err(format!(
            "contains {} tokens with unknown decimals ({}), but --decimals applies to one token only; {WRITE_TOKENS}",
            several.len(),
            few(several, 3)
        )
        .into()),
    }
}

/// The chain of tokens for which neither file nor option names one.
fn default_chain() -> Chain {
    Chain::known("eth").unwrap_or_else(Chain::unknown)
}

/// The chain that a column of the sample rows names, if there is only one, or a member beside them: `chain_name: avalanche-mainnet`.
fn named_chain(sheet: &RawTable) -> Option<Chain> {
    let known = |text: &str| {
        Chain::known(text).or_else(|| Chain::known(text.trim().strip_suffix("-mainnet")?))
    };
    let Some(at) = Names::of(&sheet.names)
        .find("chain network blockchain chainname chainid")
        .filter(|_| sheet.named)
    else {
        return BESIDE_CHAIN
            .iter()
            .find_map(|name| known(sheet.beside(name)?));
    };
    let chains: Vec<Option<Chain>> = sheet.different(at).into_iter().map(known).collect();
    let first = chains.first()?.clone()?;
    chains
        .iter()
        .all(|chain| chain.as_ref() == Some(&first))
        .then_some(first)
}
