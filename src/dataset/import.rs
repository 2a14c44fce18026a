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
mod finish;
mod format;
mod names;
mod options;
mod outline;
mod pair;
mod place;
mod refusal;
mod report;
mod rows;
mod sheet;
mod sniff;
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

use polars::prelude::DataFrame;

use self::{
    combine::FIRST_NEW,
    evidence::when::When,
    format::{FileToImport, ImportPlan},
    place::place,
    refusal::{COLUMN, Refusal, WRITE_TOKENS},
    sniff::Sniffed,
    sound::sound,
    spool::TableSpool,
    table::ExistingTable,
    take::{NotTaken, Reading, add_tokens, note},
    tokens::{KnownTokens, TokenFoundBy, TokenHints, TokenMatch},
    workplace::Workplace,
};
pub use self::{
    format::{FORMATS, FormatRow, formats_table},
    options::{AmountUnit, Dates, ImportOptions, VALUED, VolumeUnit, assignment, chain, decimals, table_name, token},
    refusal::BLANKS,
    report::{FileReport, Guess, ImportReport, Preview, TableReport, Taken},
};
use super::{
    address::Address,
    cache::CacheOptions,
    chain::Chain,
    load::{self, Blocks, Context, LoadError},
    manifest::{FILE, Manifest},
    origin::Origin,
    progress::LoadProgress,
    repeats,
    schema::TABLES,
};
use crate::untrusted::guarded;

/// Why nothing was imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportError {
    Cancelled,
    /// One line for the person.
    Failed(String),
}

impl From<NotTaken> for ImportError {
    fn from(stop: NotTaken) -> Self {
        match stop {
            NotTaken::Cancelled => Self::Cancelled,
            NotTaken::Refused(refusal) => Self::Failed(refusal.reason),
        }
    }
}

impl From<String> for ImportError {
    fn from(reason: String) -> Self {
        Self::Failed(reason)
    }
}

/// Tables whose rows are about a token, which must then be among the tokens for them to be seen.
const ABOUT_TOKENS: &[&str] = &["candles", "holders", "holder_counts", "transfers", "posts"];
/// Rows of a file that are shown before it is written.
const SHOWN: usize = 5;

/// Imports the files into the dataset's folder `into`. What is refused is in the report, and the rest is imported.
pub fn import(files: &[PathBuf], into: &Path, options: &ImportOptions, progress: &dyn LoadProgress) -> Result<ImportReport, ImportError> {
    if into.exists() && !into.is_dir() {
        return Err(ImportError::Failed(format!("`{}` is not a folder: name one to import into", into.display())));
    }
    refusal::left_blank(options)?;
    refusal::contradictory(options)?;
    let text = load::read_manifest(&into.join(FILE)).map_err(|error| ImportError::Failed(error.to_string()))?;
    let manifest = Manifest::parse(&text).map_err(|error| format!("{FILE}, {error}"))?;
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
            snapshot: None,
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
    tokens: KnownTokens,
    /// By place in the schema, so that tokens come first.
    spools: BTreeMap<usize, TableSpool>,
    standing: BTreeMap<usize, ExistingTable>,
    /// Numbers of the sources whose rows do not count.
    refused: HashSet<u32>,
    /// Tokens that rows are about, with what is known of them: symbol and chain.
    needed: BTreeMap<Address, (Option<String>, Chain)>,
    report: ImportReport,
    /// The number of the next source.
    sources: u32,
    /// Files that were found to hold several series when all their rows were gathered, and why they are refused.
    late: BTreeMap<String, Refusal>,
    /// Columns whose amounts are floating-point numbers.
    approximate: BTreeSet<(&'static str, &'static str)>,
    /// The symbol of the file that `--token` was taken for.
    said_for: Option<String>,
    /// By number of the source and table, where rows came from.
    origins: Vec<(u32, &'static str, Origin)>,
}

impl<'a> Run<'a> {
    fn new(options: &'a ImportOptions, folder: &'a Path, context: Context<'a>, late: BTreeMap<String, Refusal>) -> Self {
        Self {
            options,
            folder,
            context,
            late,
            tokens: KnownTokens::default(),
            spools: BTreeMap::new(),
            standing: BTreeMap::new(),
            refused: HashSet::new(),
            needed: BTreeMap::new(),
            report: ImportReport::default(),
            sources: FIRST_NEW,
            approximate: BTreeSet::new(),
            said_for: None,
            origins: Vec::new(),
        }
    }
}

fn at(table: &str) -> usize {
    TABLES.iter().position(|schema| schema.name == table).unwrap_or_default()
}

impl Run<'_> {
    /// What the dataset knows of tokens: names to find files' tokens by, decimals to read amounts with.
    fn tokens_that_stand(&mut self) -> Result<(), ImportError> {
        let standing = ExistingTable::of(&self.context, &TABLES[0])?;
        let mut tokens = KnownTokens::default();
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
        let all = files.iter().flat_map(|file| sniff::sniff(file).into_iter().map(move |looked| (file, looked)));
        for (path, looked) in all {
            let mut looked = match looked {
                Ok(looked) => looked,
                Err((name, reason)) => {
                    self.refuse(FileReport::new(path, &name), &reason.into(), None);
                    continue;
                }
            };
            if let Some(sheet) = &mut looked.sheet {
                (sheet.dates, sheet.broken_too) = (self.options.dates.map(When::said), self.options.broken_too);
            }
            if let Some(refusal) = self.late.get(&looked.name).cloned() {
                self.refuse(FileReport::new(path, &looked.name), &refusal, Some(&looked));
                continue;
            }
            match FormatRow::of(&looked) {
                _ if self.options.table.is_some() => known.push((path, looked, FormatRow::own())),
                None => self.refuse(FileReport::new(path, &looked.name), &format::unknown(&looked), Some(&looked)),
                Some(format) => known.push((path, looked, format)),
            }
        }
        known.sort_by_key(|(_, _, format)| (format.tables[0] != "tokens", format.word == "own"));
        for (path, looked, format) in known {
            let mut report = FileReport { format: Some(format.word), title: Some(format.title), ..FileReport::new(path, &looked.name) };
            match self.file(&looked, format, &mut report) {
                Ok(()) => self.report.files.push(report),
                Err(NotTaken::Cancelled) => return Err(ImportError::Cancelled),
                Err(NotTaken::Refused(refusal)) => {
                    report.taken.clear();
                    self.refuse(report, &refusal, Some(&looked));
                }
            }
        }
        Ok(())
    }

    fn refuse(&mut self, mut report: FileReport, refusal: &Refusal, looked: Option<&Sniffed>) {
        report.refused = Some(refusal.told(looked));
        report.try_with = if refusal.say.is_empty() { Vec::new() } else { self.options.words(&refusal.say) };
        self.report.files.push(report);
    }

    fn file(&mut self, looked: &Sniffed, format: &'static FormatRow, report: &mut FileReport) -> Result<(), NotTaken> {
        let chain = self.options.chain.clone().unwrap_or_else(default_chain);
        let said = TokenHints::of(self.options, &chain);
        let asked = FileToImport { looked, tokens: &self.tokens, said, options: self.options, decimals: &self.context.decimals };
        mapped_columns(looked, &self.options.map)?;
        let plan = match &self.options.table {
            Some(table) => format::mapped::open(&asked, table)?,
            None => format.plan(&asked)?.with_said(&asked)?,
        };
        self.hold_to_one_token(looked, &plan)?;
        report.says.clone_from(&plan.says);
        let mut notes = plan.notes.clone();
        report.movements = looked.sheet.as_ref().map_or_else(Vec::new, |sheet| repeats::movements(&sheet.names));
        self.context.decimals.extend(plan.decimals.iter().map(|(token, decimals)| (*token, Some(*decimals))));
        let source = self.sources;
        // Refused until all of it is read.
        self.sources += 1;
        self.refused.insert(source);
        let chain_told = self.options.chain.is_some() || plan.chain.is_some() || plan.token.as_ref().is_some_and(TokenMatch::is_coin);
        let about = (plan.token.as_ref().and_then(|token| token.symbol.clone()), self.chain_of(&plan, chain));
        if let Some(decimals) = self.options.decimals {
            let token = decimals_of(looked, &plan, &self.context.decimals)?;
            match token {
                Some(token) => drop(self.context.decimals.insert(token, Some(decimals.into()))),
                None => report.says.push("--decimals is not used: the decimals of its tokens are known".to_owned()),
            }
        }
        let (mut brought, mut needed, mut used): (Vec<DataFrame>, HashSet<Address>, HashSet<String>) =
            (Vec::new(), HashSet::new(), HashSet::new());
        let names = looked.sheet.as_ref().map_or(&[][..], |sheet| &sheet.names);
        let mut as_it_is = false;
        let one_token = self.options.token.is_some();
        // A file of one token is about it, whatever table it goes to.
        needed.extend(plan.token.as_ref().map(|token| token.address));
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
                if ABOUT_TOKENS.contains(&take.table) || take.table == "contracts" && one_token {
                    add_tokens(&frame, &mut needed);
                }
                if shown.len() < SHOWN {
                    shown.extend(report::first_rows(&frame, &bound, SHOWN - shown.len()));
                }
                Ok(spool.add(frame, source, rows)?)
            })?;
            used.extend(reading.used(take.rows.columns())?);
            // Rows that a format makes have columns of their own.
            as_it_is |= names.iter().filter(|name| take.rows.columns().contains(name)).count() * 2 > names.len();
            used.extend(take.worked_out);
            report.previews.push(report::Preview { table: take.table, columns: bound, rows: shown });
            for column in &amount.approximate {
                if !approximate.contains(&(take.table, *column)) {
                    report.says.push(format!(
                        "warning: `{column}` went through floating-point numbers, which keep 15 to 17 digits: it is approximate"
                    ));
                    approximate.push((take.table, *column));
                }
            }
            report.taken.push(Taken::of(take.table, &amount, take.left_out));
            notes.extend(sound(take.table, &amount, &report.findings, self.options.broken_too)?);
        }
        if report.taken.iter().all(|taken| taken.rows == taken.set_aside + taken.left_out) {
            let (table, why) = report::nothing(report);
            return Err(format!("is nearest to {table}, but has no row that can be taken: {why}").into());
        }
        let unused: Vec<String> = names.iter().filter(|name| !used.contains(*name) && as_it_is).cloned().collect();
        if !unused.is_empty() {
            note(&mut report.findings, &looked.name, format!("no table of ours takes {}", listed(&unused)));
        }
        self.refused.remove(&source);
        self.approximate.extend(approximate);
        for frame in &brought {
            self.tokens.add(frame);
            report.says.extend(self.tokens.sharing(frame));
            self.context.decimals.extend(load::decimals(frame));
        }
        let origin = |notes| Origin::new(&looked.name, format.title, needed.iter().copied(), self.options.words(&[]), notes);
        self.origins.extend(report.taken.iter().map(|taken| (source, taken.table, origin(notes.clone()))));
        if !chain_told && needed.iter().any(|token| !self.tokens.has(token)) {
            // Of the tokens it brings, which stand in a table of their own.
            let note = format!("assumed: the chain of its tokens is `{}`, as it names none", about.1);
            self.origins.push((source, "tokens", origin(vec![note.clone()])));
            report.says.push(format!("{note}; say another with --chain"));
        }
        report.says.extend(notes);
        for token in needed {
            self.needed.entry(token).or_insert_with(|| about.clone());
        }
        Ok(())
    }

    /// The chain of a token that nothing is known of yet: as the file says; of a coin without a contract, its own.
    fn chain_of(&self, plan: &ImportPlan, said: Chain) -> Chain {
        let coin =
            self.options.coin.as_ref().filter(|_| plan.token.as_ref().is_some_and(|token| Some(token.address) == self.options.token));
        coin.map(|coin| Chain::of_coin(coin)).or_else(|| plan.chain.clone()).unwrap_or(said)
    }

    /// `--token` is for files of one token: two that are named for different ones cannot both be of it.
    fn hold_to_one_token(&mut self, looked: &Sniffed, plan: &ImportPlan) -> Result<(), String> {
        let words: Vec<String> = pair::pair(&looked.name, |_| false).map(|pair| pair.base).into_iter().collect();
        let (Some(token), Some(said), [symbol]) = (&plan.token, self.options.token, &words[..]) else { return Ok(()) };
        if token.address != said || token.by != TokenFoundBy::Said {
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
    fn open(&mut self, table: &'static str) -> Result<(), NotTaken> {
        let place = at(table);
        if self.spools.contains_key(&place) {
            return Ok(());
        }
        let standing =
            ExistingTable::of(&self.context, &TABLES[place]).map_err(|reason| format!("cannot go into the table `{table}`: {reason}"))?;
        let mut spool = TableSpool::new(&TABLES[place], self.folder);
        standing.read(&self.context, |frame, number, rows| Ok(spool.add(frame, number, rows)?))?;
        self.spools.insert(place, spool);
        self.standing.insert(place, standing);
        Ok(())
    }
}

/// What is mapped must be there: else what the person says would be passed over.
fn mapped_columns(looked: &Sniffed, map: &[(String, String)]) -> Result<(), Refusal> {
    let Some(sheet) = &looked.sheet else { return Ok(()) };
    let lacks = |(_, theirs): &&(String, String)| !sheet.names.iter().any(|name| name.eq_ignore_ascii_case(theirs));
    map.iter().find(lacks).map_or(Ok(()), |(ours, theirs)| {
        let reason = format!("has no column `{theirs}` for `{ours}`: it has {}", listed(&sheet.names));
        Err(Refusal::new(reason).say("map", format!("{ours}={COLUMN}")))
    })
}

/// The token that said decimals are of: the one of the file, else the one whose decimals nobody knows. Several such could have others.
fn decimals_of(looked: &Sniffed, plan: &ImportPlan, known: &HashMap<Address, Option<i64>>) -> Result<Option<Address>, Refusal> {
    if let Some(token) = &plan.token {
        return Ok(Some(token.address));
    }
    let column = plan.takes.iter().find_map(|take| take.manifest.columns.get("token_address")?.from.as_deref());
    let sheet = looked.sheet.as_ref();
    let at = sheet.and_then(|sheet| sheet.names.iter().position(|name| Some(name.as_str()) == column));
    let mut all: Vec<Address> =
        sheet.zip(at).map_or_else(Vec::new, |(sheet, at)| sheet.column(at).filter_map(|cell| Address::parse(cell.trim())).collect());
    let set = plan.takes.iter().find_map(|take| take.manifest.set.get("token_address"));
    all.extend(set.and_then(|token| Address::parse(token)));
    all.retain(|token| known.get(token).copied().flatten().is_none() && !plan.decimals.iter().any(|(told, _)| told == token));
    all.sort_unstable();
    all.dedup();
    let shown: Vec<String> = all.iter().take(3).map(ToString::to_string).collect();
    match &all[..] {
        [] => Ok(None),
        [one] => Ok(Some(*one)),
        several => Err(format!(
            "is of {} tokens whose decimals are not known ({}{}), and --decimals is for a file of one: {WRITE_TOKENS}",
            several.len(),
            shown.join(", "),
            if several.len() > shown.len() { ", …" } else { "" }
        )
        .into()),
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
