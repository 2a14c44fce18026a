//! `import`: imports files in any recognized layout into the dataset's tables. The type and format of a file are detected from its content
//! (`sniff`, `format`); its rows are read as by the loader (`file`, `take`), spilled to disk per table (`spool`), merged with the existing
//! rows (`combine`, `table`), and put in place by rename once everything is written (`publish`).

mod archive;
mod candles;
mod combine;
mod database;
mod describe;
mod edits;
mod encoding;
mod error;
mod evidence;
mod file;
mod finish;
mod format;
mod names;
mod notation;
mod options;
mod outline;
mod pair;
mod publish;
mod quality;
mod refusal;
mod report;
mod rows;
mod script;
mod seams;
mod sheet;
mod sniff;
mod spool;
mod staging;
mod table;
mod take;
mod tokens;
mod workbook;
mod written;
mod zone;

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    path::{Path, PathBuf},
};

use self::{
    combine::FIRST_NEW,
    evidence::when::TimeStyle,
    publish::publish,
    refusal::{LostColumn, Refusal},
    sniff::Sniffed,
    spool::TableSpool,
    staging::StagingFolder,
    table::ExistingTable,
    take::ImportRejection,
    tokens::KnownTokens,
};
pub use self::{
    error::{ArchiveError, DatabaseError, FileError, ImportError, OptionError, WorkbookError},
    format::{FormatRow, Formats},
    options::{
        AmountUnit, Dates, ImportOptions, VALUED, VolumeUnit, assignment, chain, decimals,
        table_name, token,
    },
    refusal::PLACEHOLDERS,
    report::{ColumnSource, FileReport, ImportReport, Preview, TableReport, Taken},
    zone::Zone,
};
use frames::{cache::CacheOptions, decode::guarded, order};
use load::{
    check::in_order::TokenStatistic,
    loader::{self, LoadContext},
    manifest::{FILE, Manifest},
    provenance::Origin,
};
use model::{address::Address, chain::Chain, progress::LoadProgress, schema::TABLES};

/// Imports the files into the dataset's folder `into`. Refused files are in the report; all other files are imported.
pub fn import(
    files: &[PathBuf],
    into: &Path,
    formats: &Formats,
    options: &ImportOptions,
    progress: &dyn LoadProgress,
) -> Result<ImportReport, ImportError> {
    if into.exists() && !into.is_dir() {
        return Err(ImportError::NotFolder(into.to_owned()));
    }
    refusal::left_placeholder(options)?;
    refusal::contradictory(options)?;
    let text = loader::read_manifest(&into.join(FILE))?;
    let manifest = Manifest::parse(&text).map_err(ImportError::Manifest)?;
    let staging = if options.dry_run {
        StagingFolder::temporary()?
    } else {
        StagingFolder::in_dataset(into)?
    };
    let (cache, options, mut refused_late) =
        (CacheOptions::default(), &options.settled(), BTreeMap::new());
    let (finished, report) = loop {
        let context = LoadContext::new(into, &manifest, progress, &cache);
        let mut run = Run::new(formats, options, &staging.folder, context, refused_late);
        run.read_existing_tokens()?;
        run.files(files)?;
        run.missing_tokens()?;
        let known = run.refused_late.len();
        let finished = run.tables()?;
        if run.refused_late.len() == known {
            run.tell_gaps();
            run.report.tell_alike_once();
            break (finished, run.report);
        }
        // Conflicting rows that reveal a file of several series show up only after the merge; the import is then rerun without that file.
        refused_late = run.refused_late;
    };
    if !options.dry_run {
        publish(into, &text, &finished)?;
    }
    Ok(report)
}

/// The state of one import.
struct Run<'a> {
    formats: &'a Formats,
    options: &'a ImportOptions,
    folder: &'a Path,
    context: LoadContext<'a>,
    tokens: KnownTokens,
    /// By the table's position in the schema, so that tokens come first.
    spools: BTreeMap<usize, TableSpool>,
    existing: BTreeMap<usize, ExistingTable>,
    /// Source numbers whose rows are ignored.
    refused: HashSet<u32>,
    /// Tokens that imported rows refer to, with their symbol and chain as far as known.
    needed: BTreeMap<Address, (Option<String>, Chain)>,
    report: ImportReport,
    /// Number of the next source.
    sources: u32,
    /// Files found during the merge to hold several series, with their refusals.
    refused_late: BTreeMap<String, Refusal>,
    /// Tables and columns whose amounts are floating-point numbers.
    approximate: BTreeSet<(&'static str, &'static str)>,
    /// Symbol of the first file that `--token` was applied to.
    said_for: Option<String>,
    /// Provenance of rows, by source number and table.
    origins: Vec<(u32, &'static str, Origin)>,
    /// First and last candles of the files about one token.
    spans: Vec<seams::PartSpan>,
    /// Statistics to check against the other files, with their source numbers.
    observed: Vec<(u32, TokenStatistic)>,
}

impl<'a> Run<'a> {
    fn new(
        formats: &'a Formats,
        options: &'a ImportOptions,
        folder: &'a Path,
        context: LoadContext<'a>,
        refused_late: BTreeMap<String, Refusal>,
    ) -> Self {
        Self {
            formats,
            options,
            folder,
            context,
            refused_late,
            tokens: KnownTokens::default(),
            spools: BTreeMap::new(),
            existing: BTreeMap::new(),
            refused: HashSet::new(),
            needed: BTreeMap::new(),
            report: ImportReport::default(),
            sources: FIRST_NEW,
            approximate: BTreeSet::new(),
            said_for: None,
            origins: Vec::new(),
            spans: Vec::new(),
            observed: Vec::new(),
        }
    }
}

/// The table's position in the schema.
fn table_index(table: &str) -> usize {
    TABLES
        .iter()
        .position(|schema| schema.name == table)
        .unwrap_or_default()
}

impl Run<'_> {
    /// Reads the dataset's tokens: symbols to match files by, decimals to convert amounts with.
    fn read_existing_tokens(&mut self) -> Result<(), ImportError> {
        let existing = ExistingTable::of(&self.context, &TABLES[0])?;
        let mut frames = Vec::new();
        existing.read(&self.context, |frame, _, _| {
            frames.push(frame);
            Ok(())
        })?;
        if let Some(whole) = guarded("table", || order::whole(frames))? {
            self.tokens.add(&whole);
            self.context.decimals = loader::decimals(&whole);
        }
        Ok(())
    }

    /// Imports the files, those with tokens first, as the others refer to them.
    fn files(&mut self, files: &[PathBuf]) -> Result<(), ImportError> {
        let (formats, mut known) = (self.formats, Vec::new());
        let all = files.iter().flat_map(|file| {
            sniff::sniff(file)
                .into_iter()
                .map(move |sniffed| (file, sniffed))
        });
        for (path, sniffed) in all {
            let mut sniffed = match sniffed {
                Ok(sniffed) => sniffed,
                Err((name, error)) => {
                    self.refuse(FileReport::new(path, &name), &error.into(), None);
                    continue;
                }
            };
            if let Some(sheet) = &mut sniffed.sheet {
                (sheet.dates, sheet.broken_too) = (
                    self.options.dates.map(TimeStyle::said),
                    self.options.broken_too,
                );
                sheet.zone = self.options.timezone;
            }
            let symbol = self
                .options
                .coin
                .clone()
                .or_else(|| self.tokens.symbol(&self.options.token?));
            if self.options.map.is_empty()
                && let Some(Err(tickers)) = sniffed
                    .sheet
                    .as_mut()
                    .map(|sheet| sheet.choose_ticker(symbol.as_deref()))
            {
                let reason = format!(
                    "has prices of {} side by side; choose one with --coin or --token, or map its columns with --map",
                    report::few(tickers.iter().map(|ticker| format!("`{ticker}`")), 6)
                );
                self.refuse(
                    FileReport::new(path, &sniffed.name),
                    &reason.into(),
                    Some(&sniffed),
                );
                continue;
            }
            if let Some(refusal) = self.refused_late.get(&sniffed.name).cloned() {
                self.refuse(
                    FileReport::new(path, &sniffed.name),
                    &refusal,
                    Some(&sniffed),
                );
                continue;
            }
            match formats.recognised(&sniffed) {
                _ if self.options.table.is_some() => known.push((path, sniffed, formats.mapped())),
                None => self.refuse(
                    FileReport::new(path, &sniffed.name),
                    &format::unknown(&sniffed, self.options),
                    Some(&sniffed),
                ),
                Some(format) => known.push((path, sniffed, format)),
            }
        }
        known.sort_by_key(|(_, _, format)| (format.into[0] != "tokens", format.word == "own"));
        let others = self.parts_of_others(&known);
        for (path, sniffed, format) in known {
            let other = others.get(&(path.clone(), sniffed.name.clone())).cloned();
            // A column that cannot be read, and is not needed, costs itself: the file is read again without it.
            let mut lost: Vec<LostColumn> = Vec::new();
            let (mut report, outcome) = loop {
                let (word, title) = (Some(format.word.clone()), Some(format.title.clone()));
                let mut report = FileReport {
                    format: word,
                    title,
                    ..FileReport::new(path, &sniffed.name)
                };
                let outcome = match other.clone() {
                    Some(refusal) => Err(ImportRejection::Refused(refusal)),
                    None => self.file(&sniffed, format, &lost, &mut report),
                };
                let costs = if let Err(ImportRejection::Refused(refusal)) = &outcome {
                    refusal.costs.clone().map(|lost| *lost)
                } else {
                    None
                };
                let is_said =
                    |of: &LostColumn| self.options.map.iter().any(|(ours, _)| ours == of.column);
                match costs
                    .filter(|of| !is_said(of) && lost.iter().all(|known| known.column != of.column))
                {
                    Some(column) => lost.push(column),
                    None => break (report, outcome),
                }
            };
            match outcome {
                Ok(()) => self.report.files.push(report),
                Err(ImportRejection::Cancelled) => return Err(ImportError::Cancelled),
                Err(ImportRejection::Refused(refusal)) => {
                    report.taken.clear();
                    self.refuse(report, &refusal, Some(&sniffed));
                }
            }
        }
        Ok(())
    }

    fn refuse(&mut self, mut report: FileReport, refusal: &Refusal, sniffed: Option<&Sniffed>) {
        report.refused = Some(refusal.sentence(sniffed));
        report.try_with = if refusal.say.is_empty() {
            Vec::new()
        } else {
            self.options.words(&refusal.say)
        };
        self.report.files.push(report);
    }

    /// Spills the table's existing rows before its first new ones.
    fn open(&mut self, table: &'static str) -> Result<(), ImportError> {
        let place = table_index(table);
        if self.spools.contains_key(&place) {
            return Ok(());
        }
        let existing = ExistingTable::of(&self.context, &TABLES[place]).map_err(|error| {
            let error = Box::new(error);
            ImportError::NotAdded { table, error }
        })?;
        let mut spool = TableSpool::new(&TABLES[place], self.folder);
        existing.read(&self.context, |frame, number, rows| {
            spool.add(frame, number, rows)
        })?;
        self.spools.insert(place, spool);
        self.existing.insert(place, existing);
        Ok(())
    }
}
