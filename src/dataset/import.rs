//! `import`: takes files as researchers get them into a dataset's own columns. Each is known by what it holds (`format`), read through
//! the loader's own reading (`take`), gathered by table (`spool`), made one with what stands (`combine`, `table`), and put in place
//! by renaming once all of it is written.

mod archive;
mod candles;
mod combine;
mod database;
mod describe;
mod edits;
mod evidence;
mod format;
mod look;
mod names;
mod options;
mod outline;
mod pair;
mod place;
mod report;
mod rows;
mod sheet;
mod sound;
mod spool;
mod table;
mod take;
mod tokens;
mod unpack;
mod workbook;
mod workplace;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    path::{Path, PathBuf},
};

use polars::prelude::{Column, DataFrame, IntoColumn, NamedFrom, PlSmallStr, Series};

use self::{
    combine::FIRST_NEW,
    format::{Asked, Plan},
    look::Looked,
    place::{Finished, place},
    sound::{several, sound},
    spool::Spool,
    table::{Standing, Written},
    take::{Reading, Stop, add_tokens, note},
    tokens::{By, Said, Tokens},
    workplace::Workplace,
};
pub use self::{
    format::{FORMATS, FormatRow, formats_table},
    options::{AmountUnit, ImportOptions, VALUED, VolumeUnit, assignment, table_name},
    report::{FileReport, Guess, Preview, Report, TableReport, Taken},
};
use super::{
    address::Address,
    cache::CacheOptions,
    chain::Chain,
    coerce,
    findings::{Finding, Severity},
    load::{self, Blocks, Context, LoadError},
    manifest::{FILE, Manifest},
    progress::Progress,
    schema::{self, TABLES},
    source::guarded,
};

/// Why nothing was imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportError {
    Cancelled,
    /// One line for the person.
    Failed(String),
}

impl From<Stop> for ImportError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Cancelled => Self::Cancelled,
            Stop::Refused(reason) => Self::Failed(reason),
        }
    }
}

impl From<String> for ImportError {
    fn from(reason: String) -> Self {
        Self::Failed(reason)
    }
}

/// Tables whose rows are about a token, which must then be among the tokens for them to be seen.
const ABOUT_TOKENS: &[&str] = &["candles", "holders", "holder_counts", "transfers"];
/// Rows of a file that are shown before it is written.
const SHOWN: usize = 5;

/// Imports the files into the dataset's folder `into`. What is refused is in the report, and the rest is imported.
pub fn import(files: &[PathBuf], into: &Path, options: &ImportOptions, progress: &dyn Progress) -> Result<Report, ImportError> {
    if into.exists() && !into.is_dir() {
        return Err(ImportError::Failed(format!("`{}` is not a folder: name one to import into", into.display())));
    }
    let text = load::read_manifest(&into.join(FILE)).map_err(|error| ImportError::Failed(error.to_string()))?;
    let manifest = Manifest::parse(&text)?;
    let workplace = if options.dry_run { Workplace::elsewhere()? } else { Workplace::in_dataset(into)? };
    let (cache, options, mut late) = (CacheOptions::default(), &options.settled(), BTreeMap::new());
    let (finished, report) = loop {
        let context = Context {
            wire: None,
            folder: into,
            manifest: &manifest,
            progress,
            cache: &cache,
            growing: false,
            blocks: Blocks::default(),
            decimals: HashMap::new(),
            tokens: HashSet::new(),
            looked: None,
        };
        let mut run = Run::new(options, &workplace.folder, context, late);
        run.tokens_that_stand()?;
        run.files(files)?;
        run.missing_tokens()?;
        let known = run.late.len();
        let finished = run.tables()?;
        if run.late.len() == known {
            break (finished, run.report);
        }
        // That a file holds several series shows when all of its rows are gathered; the others are then taken without it.
        late = run.late;
    };
    if !options.dry_run {
        place(into, &text, &finished)?;
    }
    Ok(report)
}

/// One import under way.
struct Run<'a> {
    options: &'a ImportOptions,
    folder: &'a Path,
    context: Context<'a>,
    tokens: Tokens,
    /// By place in the schema, so that tokens come first.
    spools: BTreeMap<usize, Spool>,
    standing: BTreeMap<usize, Standing>,
    /// Numbers of the sources whose rows do not count.
    refused: HashSet<u32>,
    /// Tokens that rows are about, with what is known of them: symbol and chain.
    needed: BTreeMap<Address, (Option<String>, Chain)>,
    report: Report,
    /// The number of the next source.
    sources: u32,
    /// Files that were found to hold several series when all their rows were gathered, and why they are refused.
    late: BTreeMap<String, String>,
    /// Columns whose amounts are floating-point numbers.
    approximate: BTreeSet<(&'static str, &'static str)>,
    /// The symbol of the file that `--token` was taken for.
    said_for: Option<String>,
}

impl<'a> Run<'a> {
    fn new(options: &'a ImportOptions, folder: &'a Path, context: Context<'a>, late: BTreeMap<String, String>) -> Self {
        Self {
            options,
            folder,
            context,
            late,
            tokens: Tokens::default(),
            spools: BTreeMap::new(),
            standing: BTreeMap::new(),
            refused: HashSet::new(),
            needed: BTreeMap::new(),
            report: Report::default(),
            sources: FIRST_NEW,
            approximate: BTreeSet::new(),
            said_for: None,
        }
    }
}

fn at(table: &str) -> usize {
    TABLES.iter().position(|schema| schema.name == table).unwrap_or_default()
}

impl Run<'_> {
    /// What the dataset knows of tokens: names to find files' tokens by, decimals to read amounts with.
    fn tokens_that_stand(&mut self) -> Result<(), ImportError> {
        let standing = Standing::of(&self.context, &TABLES[0])?;
        let mut tokens = Tokens::default();
        let mut whole: Option<DataFrame> = None;
        standing.read(&self.context, |frame, _, _| {
            tokens.add(&frame);
            if let Some(whole) = &mut whole {
                guarded("table", || whole.vstack_mut(&frame).map(|_| ()))?;
            } else {
                whole = Some(frame);
            }
            Ok(())
        })?;
        self.tokens = tokens;
        if let Some(mut whole) = whole {
            whole.rechunk_mut();
            self.context.decimals = load::decimals(&whole);
        }
        Ok(())
    }

    /// Every file in turn, those that bring tokens first, as the others find theirs among them.
    fn files(&mut self, files: &[PathBuf]) -> Result<(), ImportError> {
        let mut known = Vec::new();
        for looked in files.iter().flat_map(|file| look::look(file)) {
            match looked {
                Err((name, reason)) => self.refuse(FileReport::new(&name), reason),
                Ok(looked) if self.late.contains_key(&looked.name) => {
                    let reason = self.late[&looked.name].clone();
                    self.refuse(FileReport::new(&looked.name), reason);
                }
                Ok(looked) => match FormatRow::of(&looked) {
                    _ if self.options.table.is_some() => known.push((looked, FormatRow::own())),
                    None => self.refuse(FileReport::new(&looked.name), format::unknown(&looked)),
                    Some(format) => known.push((looked, format)),
                },
            }
        }
        known.sort_by_key(|(_, format)| (format.tables[0] != "tokens", format.word == "own"));
        for (looked, format) in known {
            let mut report = FileReport { format: Some(format.word), title: Some(format.title), ..FileReport::new(&looked.name) };
            match self.file(&looked, format, &mut report) {
                Ok(()) => self.report.files.push(report),
                Err(Stop::Cancelled) => return Err(ImportError::Cancelled),
                Err(Stop::Refused(reason)) => {
                    report.taken.clear();
                    self.refuse(report, reason);
                }
            }
        }
        Ok(())
    }

    fn refuse(&mut self, mut report: FileReport, reason: String) {
        report.refused = Some(reason);
        self.report.files.push(report);
    }

    fn file(&mut self, looked: &Looked, format: &'static FormatRow, report: &mut FileReport) -> Result<(), Stop> {
        let chain = self.options.chain.clone().unwrap_or_else(default_chain);
        let said = Said::of(self.options, &chain);
        let asked = Asked { looked, tokens: &self.tokens, said, options: self.options, decimals: &self.context.decimals };
        let plan = match &self.options.table {
            Some(table) => format::mapped::open(&asked, table)?,
            None => format.plan(&asked)?.with_said(&asked)?,
        };
        self.hold_to_one_token(looked, &plan)?;
        report.says.clone_from(&plan.says);
        self.context.decimals.extend(plan.decimals.iter().map(|(token, decimals)| (*token, Some(*decimals))));
        let source = self.sources;
        // Refused until all of it is read.
        self.sources += 1;
        self.refused.insert(source);
        let about = (plan.token.as_ref().and_then(|token| token.symbol.clone()), self.chain_of(&plan, chain));
        if let (Some(decimals), Some(token)) = (self.options.decimals, &plan.token) {
            self.context.decimals.insert(token.address, Some(decimals.into()));
        }
        let (mut brought, mut needed, mut unused): (Vec<DataFrame>, HashSet<Address>, Option<Vec<String>>) =
            (Vec::new(), HashSet::new(), None);
        let mut approximate = Vec::new();
        for mut take in plan.takes {
            self.open(take.table)?;
            let schema = &TABLES[at(take.table)];
            let reading = Reading { context: &self.context, schema, manifest: &take.manifest, name: &looked.name, bytes: looked.bytes };
            let bound = report::guesses(schema, &take.manifest, take.rows.columns(), (candles::TOKENS_TRADED, &take.worked_out));
            let mut shown: Vec<Vec<String>> = Vec::new();
            let said = take.manifest.columns.iter().filter(|(_, rule)| rule.approximate);
            approximate.extend(said.map(|(column, _)| (take.table, *column)));
            let Some(spool) = self.spools.get_mut(&at(take.table)) else { continue };
            let amount = reading.run(&mut *take.rows, &mut report.findings, |frame, rows| {
                if take.table == "tokens" {
                    brought.push(frame.clone());
                }
                if ABOUT_TOKENS.contains(&take.table) {
                    add_tokens(&frame, &mut needed);
                }
                if shown.len() < SHOWN {
                    shown.extend(report::first_rows(&frame, &bound, SHOWN - shown.len()));
                }
                Ok(spool.add(frame, source, rows)?)
            })?;
            let made = ["kept", "price", candles::TOKENS_TRADED, candles::TRADED].into_iter();
            let made: Vec<&str> = made.chain(take.worked_out.iter().map(String::as_str)).collect();
            let spare = reading.unused(take.rows.columns(), &made)?;
            unused = Some(match unused {
                Some(unused) => unused.into_iter().filter(|name| spare.contains(name)).collect(),
                None => spare,
            });
            report.previews.push(report::Preview { table: take.table, columns: bound, rows: shown });
            approximate.extend(amount.approximate.iter().map(|column| (take.table, *column)));
            report.taken.push(Taken::of(take.table, &amount, take.left_out));
            if !self.options.broken_too {
                sound(take.table, &amount, &report.findings)?;
            }
        }
        if report.taken.iter().all(|taken| taken.rows == taken.set_aside + taken.left_out) {
            let (table, why) = report::nothing(report);
            return Err(Stop::Refused(format!("is nearest to {table}, but has no row that can be taken: {why}")));
        }
        if let Some(unused) = unused.filter(|unused| !unused.is_empty()) {
            note(&mut report.findings, &looked.name, format!("no table of ours takes {}", listed(&unused)));
        }
        self.refused.remove(&source);
        self.approximate.extend(approximate);
        for frame in &brought {
            self.tokens.add(frame);
            self.context.decimals.extend(load::decimals(frame));
        }
        for token in needed {
            self.needed.entry(token).or_insert_with(|| about.clone());
        }
        Ok(())
    }

    /// The chain of a token that nothing is known of yet: as the file says; of a coin without a contract, its own.
    fn chain_of(&self, plan: &Plan, said: Chain) -> Chain {
        let coin =
            self.options.coin.as_ref().filter(|_| plan.token.as_ref().is_some_and(|token| Some(token.address) == self.options.token));
        coin.map(|coin| Chain::of_coin(coin)).or_else(|| plan.chain.clone()).unwrap_or(said)
    }

    /// `--token` is for files of one token: two that are named for different ones cannot both be of it.
    fn hold_to_one_token(&mut self, looked: &Looked, plan: &Plan) -> Result<(), String> {
        let words: Vec<String> = pair::pair(&looked.name, |_| false).map(|pair| pair.base).into_iter().collect();
        let (Some(token), Some(said), [symbol]) = (&plan.token, self.options.token, &words[..]) else { return Ok(()) };
        if token.address != said || token.by != By::Said {
            return Ok(());
        }
        match &self.said_for {
            Some(other) if other != symbol => {
                Err(format!("is of `{symbol}` by its name, and --token was taken for a file of `{other}`: import them one by one"))
            }
            _ => {
                self.said_for = Some(symbol.clone());
                Ok(())
            }
        }
    }

    /// Gathers what stands of a table, before the first row that comes.
    fn open(&mut self, table: &'static str) -> Result<(), Stop> {
        let place = at(table);
        if self.spools.contains_key(&place) {
            return Ok(());
        }
        let standing =
            Standing::of(&self.context, &TABLES[place]).map_err(|reason| format!("cannot go into the table `{table}`: {reason}"))?;
        let mut spool = Spool::new(&TABLES[place], self.folder);
        standing.read(&self.context, |frame, number, rows| Ok(spool.add(frame, number, rows)?))?;
        self.spools.insert(place, spool);
        self.standing.insert(place, standing);
        Ok(())
    }

    /// Adds a row for each token that is not there, so that its rows can be seen.
    fn missing_tokens(&mut self) -> Result<(), ImportError> {
        let missing: Vec<(Address, (Option<String>, Chain))> =
            std::mem::take(&mut self.needed).into_iter().filter(|(token, _)| !self.tokens.has(token)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        self.open("tokens")?;
        let schema = &TABLES[0];
        let texts = |name: &'static str, texts: Vec<Option<String>>| Series::new(PlSmallStr::from_static(name), texts).into_column();
        let column = |column: &'static schema::Column| -> Column {
            match column.name {
                "token_address" => texts(column.name, missing.iter().map(|(token, _)| Some(token.to_string())).collect()),
                "symbol" => texts(column.name, missing.iter().map(|(_, (symbol, _))| symbol.clone()).collect()),
                "chain" => {
                    let lists: Vec<Series> =
                        missing.iter().map(|(_, (_, chain))| Series::new(PlSmallStr::EMPTY, [chain.as_str()])).collect();
                    Series::new("chain".into(), lists).into_column()
                }
                _ => coerce::empty(column, missing.len()),
            }
        };
        let frame = guarded("table", || DataFrame::new(missing.len(), schema.columns.iter().map(column).collect()))?;
        if let Some(spool) = self.spools.get_mut(&0) {
            spool.add(frame, self.sources, &vec![0; missing.len()])?;
        }
        self.sources += 1;
        let shown: Vec<String> = missing.iter().take(3).map(|(token, _)| token.to_string()).collect();
        let more = if missing.len() > 3 { format!(" and {} more", missing.len() - 3) } else { String::new() };
        self.report.notes.push(format!(
            "added to tokens, as nothing was known of them: {}{more}; import a token list, or write symbol, name and decimals yourself",
            shown.join(", ")
        ));
        Ok(())
    }

    /// Makes each table one with what stood; gives back those that changed.
    fn tables(&mut self) -> Result<Vec<Finished>, ImportError> {
        let mut finished = Vec::new();
        for (place, spool) in std::mem::take(&mut self.spools) {
            let (schema, Some(standing)) = (&TABLES[place], self.standing.remove(&place)) else { continue };
            let mut written = table::write(spool, self.folder, &self.context, &self.refused, self.options.dry_run)?;
            self.tell(schema.name, &written);
            self.several_series(schema.name, &written);
            let file = written.file.take();
            self.report.tables.push(TableReport { table: schema.name, file: standing.shown, rows: written.rows, written: file.is_some() });
            let approximate = if file.is_some() { self.newly_approximate(schema.name) } else { Vec::new() };
            finished.extend(file.map(|from| Finished {
                table: schema.name,
                from,
                to: standing.target,
                paths: standing.paths,
                approximate,
            }));
        }
        for file in &mut self.report.files {
            file.kept = file.findings.kept().to_vec();
            file.counts = file.findings.counts().to_vec();
        }
        let tokens = Standing::of(&self.context, &TABLES[0])?;
        if !tokens.is_there() && !finished.is_empty() && !finished.iter().any(|finished| finished.table == TABLES[0].name) {
            let from = table::write_empty(self.folder, &TABLES[0])?;
            self.report.notes.push("the dataset has no tokens yet, so its `tokens` table is empty: import a token list".to_owned());
            finished.push(Finished { table: TABLES[0].name, from, to: tokens.target, paths: tokens.paths, approximate: Vec::new() });
        }
        Ok(finished)
    }

    /// The columns of a table that are approximate by this import, and of which the dataset does not say so yet.
    fn newly_approximate(&self, table: &'static str) -> Vec<&'static str> {
        let said = |column: &str| {
            self.context.manifest.tables.get(table).and_then(|said| said.columns.get(column)).is_some_and(|rule| rule.approximate)
        };
        self.approximate.iter().filter(|(of, column)| *of == table && !said(column)).map(|(_, column)| *column).collect()
    }

    /// Candles of one time that say different prices are of several series: which one stands would be chance.
    fn several_series(&mut self, table: &str, written: &Written) {
        if table != "candles" || self.options.broken_too {
            return;
        }
        let read: Vec<u32> = (FIRST_NEW..self.sources).filter(|source| !self.refused.contains(source)).collect();
        for (file, source) in self.report.files.iter().filter(|file| file.refused.is_none()).zip(read) {
            let conflicts = written.repeats.iter().filter(|(of, _, same)| *of == source && !same).map(|(_, row, _)| *row).collect();
            let rows: u64 = file.taken.iter().filter(|taken| taken.table == table).map(|taken| taken.rows).sum();
            let Some(reason) = several(conflicts, rows) else { continue };
            self.late.insert(file.file.clone(), reason);
        }
    }

    /// Tells each file what became of its rows in the table.
    fn tell(&mut self, table: &'static str, written: &Written) {
        // Files are numbered in the order they were read; those refused before reading have no number.
        let read: Vec<u32> = (FIRST_NEW..self.sources).filter(|source| !self.refused.contains(source)).collect();
        let files = self.report.files.iter_mut().filter(|file| file.refused.is_none());
        for (file, source) in files.zip(read) {
            let Some(taken) = file.taken.iter_mut().find(|taken| taken.table == table) else { continue };
            let counts = written.counts.get(&source).copied().unwrap_or_default();
            (taken.new, taken.changed, taken.same) = (counts.new, counts.changed, counts.same);
            for (_, row, same) in written.repeats.iter().filter(|(of, ..)| *of == source) {
                taken.repeated += 1;
                let key = schema::table(table).map_or_else(String::new, |schema| schema.key.join(", "));
                let reason = if *same {
                    "a later row says the same; this one is left out".to_owned()
                } else {
                    format!("a later row has the same {key}; that one is kept and this one left out")
                };
                let name = file.file.clone();
                file.findings.add(Finding {
                    severity: Severity::Warning,
                    file: name,
                    row: Some((*row).into()),
                    column: None,
                    value: None,
                    reason,
                });
            }
        }
    }
}

/// The chain of what nobody says the chain of.
fn default_chain() -> Chain {
    Chain::known("eth").unwrap_or_else(Chain::unknown)
}

fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(12).map(|name| format!("`{name}`")).collect();
    format!("{}{}", shown.join(", "), if names.len() > 12 { format!(" and {} more", names.len() - 12) } else { String::new() })
}

impl From<LoadError> for ImportError {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Cancelled => Self::Cancelled,
            LoadError::Moved => Self::Failed(error.to_string()),
            LoadError::Unusable(unusable) => Self::Failed(unusable.reason),
        }
    }
}
