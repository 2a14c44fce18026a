//! The target table of an import: its existing files, and the file to which imported rows are written. The user's own files are never
//! written: beside these, imported rows get a file of their own, which `dataset.toml` lists.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs::{self, File},
    io::{self, BufWriter},
    path::{Path, PathBuf},
};

use polars::{
    io::parquet::write::BatchedWriter,
    prelude::{DataFrame, ParquetCompression, ParquetReader, ParquetWriter, SerReader},
};

use super::{
    combine::{self, EXISTING, FIRST_NEW, IMPORTED, MergeCounts, Repeat, Replaced},
    error::ImportError,
    spool::{RepeatedRows, TableSpool},
    take::Reading,
};
use frames::decode::guarded;
use load::{
    check::in_order::SeriesChecker,
    formats::{
        self,
        locate::{self, LocatedFile},
    },
    loader::{LoadContext, apart::apart},
    manifest::TableManifest,
    provenance::{self, Origin},
};
use model::{findings::Findings, schema::TableSchema, token::TokenApart};

/// The folder of imported files, if the table has the user's own files too.
const BESIDE: &str = "imported";
/// Parquet metadata key that marks a file as written by an import.
const MARK: &str = "tokendeck.import";
/// Rows per Parquet row group.
const GROUP_ROWS: usize = 131_072;

/// A table before the import.
#[derive(Debug)]
pub(super) struct ExistingTable {
    pub schema: &'static TableSchema,
    /// The file of imported rows, existing or to be created.
    pub target: PathBuf,
    /// The target, relative to the dataset's folder.
    pub shown: String,
    /// The `path` that `dataset.toml` must get, if it needs a change.
    pub paths: Option<Vec<String>>,
    pub theirs: Vec<LocatedFile>,
    /// Provenance of the rows imported earlier.
    pub origins: Vec<Origin>,
    ours: bool,
}

/// The merged table.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub rows: u64,
    /// The series that were there before.
    pub before: SeriesChecker,
    pub counts: HashMap<u32, MergeCounts>,
    /// New rows whose key recurs later in the same file: with other values, and with the same ones, by source.
    pub repeats: Vec<Repeat>,
    pub repeated: BTreeMap<u32, RepeatedRows>,
    pub replaced: HashMap<(u32, u32), Replaced>,
    /// For `tokens`: rows with another token than the dataset has at their address.
    pub apart: Vec<TokenApart>,
    /// The finished file, if the table changed.
    pub file: Option<PathBuf>,
}

impl ExistingTable {
    pub(super) fn of(
        context: &LoadContext<'_>,
        schema: &'static TableSchema,
    ) -> Result<Self, ImportError> {
        let folder = context.folder;
        let said = context.manifest.tables.get(schema.name);
        let paths = said.map_or(&[][..], |table| &table.path);
        let found = match (paths.is_empty(), folder.is_dir()) {
            (_, false) => Vec::new(),
            (true, true) => locate::by_name(folder, schema.name)?,
            (false, true) => locate::by_path(folder, paths)?,
        };
        let file = format!("{}.parquet", schema.name);
        let (plain, beside) = (folder.join(&file), folder.join(BESIDE).join(&file));
        let own = |path: &Path| (path == plain || path == beside) && is_ours(path);
        let (ours, theirs): (Vec<LocatedFile>, Vec<LocatedFile>) =
            found.into_iter().partition(|found| own(&found.path));
        let target = if theirs.is_empty() && !ours.iter().any(|found| found.path == beside) {
            plain
        } else {
            beside
        };
        if let Some(said) = said {
            fits(schema, said)?;
        }
        let listed =
            ours.iter().any(|found| found.path == target) || theirs.is_empty() && paths.is_empty();
        let shown = target
            .strip_prefix(folder)
            .unwrap_or(&target)
            .display()
            .to_string();
        let paths = (!listed).then(|| {
            let named = |found: &LocatedFile| {
                found
                    .name
                    .split('/')
                    .next()
                    .unwrap_or(&found.name)
                    .to_owned()
            };
            let mut paths: Vec<String> = if paths.is_empty() {
                theirs.iter().map(named).collect()
            } else {
                paths.to_vec()
            };
            paths.dedup();
            paths.push(shown.clone());
            paths
        });
        let ours = is_ours(&target);
        let origins = if ours {
            provenance::of(&target)
        } else {
            Vec::new()
        };
        Ok(Self {
            schema,
            target,
            shown,
            paths,
            theirs,
            origins,
            ours,
        })
    }

    /// Whether the table has any file.
    pub(super) fn is_there(&self) -> bool {
        self.ours || !self.theirs.is_empty()
    }

    /// Reads the existing rows; `keep` receives them with their source number.
    pub(super) fn read(
        &self,
        context: &LoadContext<'_>,
        mut keep: impl FnMut(DataFrame, u32, &[u32]) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let plain = TableManifest::default();
        let theirs = context
            .manifest
            .tables
            .get(self.schema.name)
            .unwrap_or(&plain);
        let files = self
            .theirs
            .iter()
            .map(|found| (&*found.path, EXISTING, theirs));
        let ours = self.ours.then_some((&*self.target, IMPORTED, &plain));
        for (path, number, manifest) in files.chain(ours) {
            let name = path
                .file_name()
                .unwrap_or(path.as_os_str())
                .to_string_lossy()
                .into_owned();
            let bytes = fs::metadata(path).map_or(0, |meta| meta.len());
            let blame = |error| match error {
                ImportError::Cancelled => error,
                error => ImportError::Existing {
                    table: self.schema.name,
                    file: name.clone(),
                    error: Box::new(error),
                },
            };
            let mut rows = formats::open(path, load::loader::bind::wanted(self.schema, manifest))
                .map_err(|error| blame(error.into()))?;
            let reading = Reading {
                context,
                schema: self.schema,
                manifest,
                name: &name,
                bytes,
            };
            // Defects of existing rows are reported by `check`.
            reading
                .run(&mut *rows, &mut Findings::default(), |frame, numbers| {
                    keep(frame, number, numbers)
                })
                .map_err(blame)?;
        }
        Ok(())
    }
}

/// Refuses tables whose `dataset.toml` section would change the values of imported rows, as it applies to all files of the table. Column
/// renames do not.
fn fits(schema: &TableSchema, said: &TableManifest) -> Result<(), ImportError> {
    let changes = |column: &&load::manifest::ColumnManifest| {
        column.scale.is_some() || column.unit.is_some() || column.item.is_some() || column.explode
    };
    let key = if !said.filters.is_empty() {
        Some("where")
    } else if !said.set.is_empty() {
        Some("set")
    } else {
        said.columns.values().find(changes).map(|_| "columns")
    };
    key.map_or(Ok(()), |key| {
        Err(ImportError::Applied {
            key,
            table: schema.name,
        })
    })
}

/// Whether the file was written by an import.
fn is_ours(path: &Path) -> bool {
    let Ok(file) = model::private_files::open_regular(path) else {
        return false;
    };
    let marked = guarded("Parquet", || {
        let mut reader = ParquetReader::new(file);
        let metadata = reader.get_metadata()?;
        Ok(metadata
            .key_value_metadata()
            .iter()
            .flatten()
            .any(|pair| pair.key == MARK))
    });
    marked == Ok(true)
}

/// Merges the collected rows into one table, in a staged file that records their provenance.
pub(super) fn write(
    mut spool: TableSpool,
    folder: &Path,
    context: &LoadContext<'_>,
    refused: &HashSet<u32>,
    origins: Option<&[Origin]>,
) -> Result<Written, ImportError> {
    let schema = spool.schema;
    let parts = spool.parts() as u64;
    let path = folder.join(format!("{}.parquet", schema.name));
    let mut written = Written {
        repeated: std::mem::take(&mut spool.repeated),
        ..Written::default()
    };
    let mut output = origins
        .map(|origins| Output::create(&path, schema, origins))
        .transpose()?;
    spool.each(|i, frame| {
        context
            .progress
            .step(&format!("{} (writing)", schema.name), i as u64, parts)?;
        if schema.name == "candles" {
            let known = guarded("table", || combine::known(&frame))?;
            written
                .before
                .add(schema.name, &known, &vec![0; known.height()]);
        }
        let combined = guarded("table", || combine::combine(schema, frame, refused))?;
        written.rows += combined.frame.height() as u64;
        // Parts of a spilled table have not all rows of an address: the load tells.
        if schema.name == "tokens" && parts == 1 {
            written.apart = apart(&combined.frame)
                .into_iter()
                .map(|(_, other)| other)
                .collect();
        }
        for repeat in combined.repeats {
            if repeat.same {
                written
                    .repeated
                    .entry(repeat.source)
                    .or_default()
                    .add(repeat.row);
            } else {
                written.repeats.push(repeat);
            }
        }
        for (from, part) in combined.replaced {
            let sum = written.replaced.entry(from).or_default();
            sum.rows += part.rows;
            sum.tokens.extend(part.tokens);
        }
        for (source, counts) in combined.counts {
            *written.counts.entry(source).or_default() += counts;
        }
        output
            .as_mut()
            .map_or(Ok(()), |output| output.rows(&combined.frame))
    })?;
    if let Some(output) = output {
        output.finish()?;
        let changed = written
            .counts
            .iter()
            .any(|(source, counts)| *source >= FIRST_NEW && counts.new + counts.changed > 0);
        written.file = changed.then_some(path);
    }
    Ok(written)
}

/// A Parquet writer that marks its file as an import's.
struct Output {
    path: PathBuf,
    file: File,
    writer: BatchedWriter<BufWriter<File>>,
}

impl Output {
    fn create(path: &Path, schema: &TableSchema, origins: &[Origin]) -> Result<Self, ImportError> {
        let failed = |error| ImportError::not_written(path, error);
        let file = File::create(path).map_err(failed)?;
        let twin = file.try_clone().map_err(failed)?;
        let empty = empty(schema)?;
        let mark = provenance::metadata(MARK, origins);
        let writer = guarded("table", || {
            ParquetWriter::new(BufWriter::new(twin))
                .with_compression(ParquetCompression::Zstd(None))
                .with_key_value_metadata(Some(mark))
                .batched(empty.schema())
        })?;
        Ok(Self {
            path: path.to_owned(),
            file,
            writer,
        })
    }

    fn rows(&mut self, frame: &DataFrame) -> Result<(), ImportError> {
        let mut at = 0;
        while at < frame.height() {
            let mut group = frame.slice(at as i64, GROUP_ROWS);
            group.rechunk_mut();
            self.writer
                .write_batch(&group)
                .map_err(|error| ImportError::not_written(&self.path, io::Error::other(error)))?;
            at += GROUP_ROWS;
        }
        Ok(())
    }

    fn finish(self) -> Result<(), ImportError> {
        self.writer
            .finish()
            .map_err(io::Error::other)
            .and_then(|_| self.file.sync_all())
            .map_err(|error| ImportError::not_written(&self.path, error))
    }
}

/// An empty table.
fn empty(schema: &TableSchema) -> Result<DataFrame, ImportError> {
    let columns = schema.columns.iter();
    let empty = columns
        .map(|column| frames::canonical::empty(column, 0))
        .collect();
    Ok(guarded("table", || DataFrame::new(0, empty))?)
}

/// Writes an empty table to the staging folder, so that a dataset without tokens loads.
pub(super) fn write_empty(
    folder: &Path,
    schema: &'static TableSchema,
) -> Result<PathBuf, ImportError> {
    let path = folder.join(format!("{}.parquet", schema.name));
    Output::create(&path, schema, &[])?.finish()?;
    Ok(path)
}
