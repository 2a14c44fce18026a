//! Why an import fails, why a file is not imported, and why an option is wrong, in the words that people read.

use std::{
    env, fmt, io,
    path::{Path, PathBuf},
};

use zip::CompressionMethod;

use super::options::VALUED;
use load::{
    ReadError,
    formats::{ProviderError, SourceError},
    loader::LoadError,
    manifest::FILE,
};
use model::{
    chain::Chain, command_line::shell_word, progress::Cancelled, toml_reader::TomlError,
    untrusted::DecodeError,
};

/// Why an import failed as a whole.
#[derive(Debug)]
pub enum ImportError {
    Cancelled,
    /// The dataset's path is that of a file.
    NotFolder(PathBuf),
    NotCreated {
        folder: PathBuf,
        error: io::Error,
    },
    NotWritten {
        path: PathBuf,
        error: io::Error,
    },
    /// Another import writes to this folder.
    Busy(PathBuf),
    Option(OptionError),
    Load(LoadError),
    Manifest(TomlError),
    /// `dataset.toml` cannot get this line about the table.
    NotDescribed {
        table: &'static str,
        line: String,
    },
    UnknownTable(&'static str),
    /// This key of `dataset.toml` would apply to imported rows too.
    Applied {
        key: &'static str,
        table: &'static str,
    },
    /// Rows cannot be added to the table.
    NotAdded {
        table: &'static str,
        error: Box<Self>,
    },
    /// A file that the table has already cannot be read.
    Existing {
        table: &'static str,
        file: String,
        error: Box<Self>,
    },
    File(FileError),
    FormatsUnread {
        file: PathBuf,
        error: io::Error,
    },
    Formats {
        file: PathBuf,
        error: TomlError,
    },
    /// Described formats have the name of the format of mapped files.
    FormatName {
        file: PathBuf,
        name: &'static str,
    },
    FormatSigns {
        provider: String,
        request: String,
        error: String,
    },
    Providers(ProviderError),
}

impl ImportError {
    pub(super) fn not_written(path: &Path, error: io::Error) -> Self {
        Self::NotWritten {
            path: path.to_owned(),
            error,
        }
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("the import was canceled"),
            Self::NotFolder(path) => write!(
                f,
                "`{}` is not a folder; choose a folder to import into",
                path.display()
            ),
            Self::NotCreated { folder, error } => write!(
                f,
                "the folder `{}` cannot be created: {error}",
                folder.display()
            ),
            Self::NotWritten { path, error } => {
                write!(f, "`{}` cannot be written: {error}", path.display())
            }
            Self::Busy(folder) => write!(
                f,
                "another import is writing to `{}`; wait until it is done",
                folder.display()
            ),
            Self::Option(error) => write!(f, "{error}"),
            Self::Load(error) => write!(f, "{error}"),
            Self::Manifest(error) => write!(f, "{FILE}, {error}"),
            Self::NotDescribed { table, line } => write!(
                f,
                "{FILE} defines `{table}` in a way that an import cannot extend; add {line} under [tables.{table}] yourself"
            ),
            Self::UnknownTable(table) => write!(f, "no table `{table}`"),
            Self::Applied { key, table } => write!(
                f,
                "the `{key}` of [tables.{table}] in dataset.toml would change imported rows too; import into another folder, or \
                 remove it"
            ),
            Self::NotAdded { table, error } => {
                write!(f, "cannot be added to the table `{table}`: {error}")
            }
            Self::Existing { table, file, error } => write!(
                f,
                "the existing table `{table}` cannot be read: `{file}` {error}"
            ),
            Self::File(error) => write!(f, "{error}"),
            Self::FormatsUnread { file, error } => {
                write!(f, "`{}` cannot be read: {error}", file.display())
            }
            Self::Formats { file, error } => write!(f, "`{}`, {error}", file.display()),
            Self::FormatName { file, name } => write!(
                f,
                "`{}` describes `{name}`, which is the name of tables in tokendeck columns; choose another",
                file.display()
            ),
            Self::FormatSigns {
                provider,
                request,
                error,
            } => write!(
                f,
                "`known` of the request `{request}` of {provider}: {error}"
            ),
            Self::Providers(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for ImportError {}

impl From<Cancelled> for ImportError {
    fn from(Cancelled: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl From<LoadError> for ImportError {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Cancelled => Self::Cancelled,
            error => Self::Load(error),
        }
    }
}

/// `ERROR into VARIANT of TYPE`, also in more than one step.
macro_rules! from {
    ($($error:ty => $of:ident::$variant:ident;)*) => {
        $(impl From<$error> for $of {
            fn from(error: $error) -> Self {
                Self::$variant(error.into())
            }
        })*
    };
}

from! {
    OptionError => ImportError::Option;
    SourceError => ImportError::File;
    DecodeError => ImportError::File;
    ReadError => ImportError::File;
    ArchiveError => FileError::Archive;
    WorkbookError => FileError::Workbook;
    DatabaseError => FileError::Database;
    SourceError => FileError::Source;
    DecodeError => FileError::Decode;
    ProviderError => FileError::Answer;
    ReadError => FileError::Table;
    ArchiveError => WorkbookError::Archive;
}

impl From<ImportError> for String {
    fn from(error: ImportError) -> Self {
        error.to_string()
    }
}

/// Why an option's value, or the options together, cannot be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OptionError {
    Unknown(String),
    /// A suggested command has not been filled in.
    Placeholder {
        word: &'static str,
        stands_for: &'static str,
    },
    /// The error is in this option.
    In {
        option: String,
        error: Box<Self>,
    },
    Contradictory {
        ours: &'static str,
        set: String,
        said: String,
    },
    Expected {
        text: String,
        expected: String,
    },
    NoAddress,
    UnknownChain(String),
    SeveralZones {
        text: String,
        zones: &'static str,
    },
}

impl OptionError {
    pub(super) fn expected(text: &str, expected: impl Into<String>) -> Self {
        Self::Expected {
            text: text.to_owned(),
            expected: expected.into(),
        }
    }
}

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(option) => write!(
                f,
                "unknown option `--{option}`; the options with a value are --{}",
                VALUED.join(", --")
            ),
            Self::Placeholder { word, stands_for } => {
                write!(f, "{word} stands for {stands_for}; replace it")
            }
            Self::In { option, error } => write!(f, "`{option}`: {error}"),
            Self::Contradictory { ours, set, said } => write!(
                f,
                "`--set {ours}={set}` and `--{ours} {said}` contradict each other; pass only one of them"
            ),
            Self::Expected { text, expected } => write!(f, "`{text}`: expected {expected}"),
            Self::NoAddress => {
                f.write_str("expected an address: 0x and 40 hex digits, or coin:BTC")
            }
            Self::UnknownChain(text) => write!(
                f,
                "unknown chain; did you mean {}?",
                Chain::nearest(text).join(", ")
            ),
            Self::SeveralZones { text, zones } => write!(
                f,
                "`{text}` is the abbreviation of several time zones; pass {zones}"
            ),
        }
    }
}

impl std::error::Error for OptionError {}

/// Why a file is not imported, as it is said behind the file's name.
#[derive(Debug)]
pub enum FileError {
    Missing,
    Folder,
    NotRegular,
    Unread(io::Error),
    CutOff(io::Error),
    /// No temporary copy can be made.
    NotCopied(io::Error),
    TooLarge {
        gib: u64,
    },
    Empty,
    Blank,
    NoRows,
    /// Bytes of an unknown kind.
    NoText,
    /// Packed in this way, which is not supported.
    Packed(&'static str),
    Archive(ArchiveError),
    Workbook(WorkbookError),
    Database(DatabaseError),
    GitLfs,
    Drawn,
    Page,
    NotRows,
    UnknownEncoding,
    Script,
    PythonLiterals,
    Json(serde_json::Error),
    NotJson,
    NoPlace(String),
    NoTable,
    NotStreamed,
    LongRow {
        kib: usize,
    },
    OpenQuote,
    TooManyColumns {
        count: usize,
        max: usize,
    },
    /// No row has these values, which `--pick` asks for.
    NonePicked(Vec<(String, String)>),
    /// The file is about `symbol`, and the token of `--token` is that of a file about `other`.
    OtherToken {
        symbol: String,
        other: String,
    },
    /// Its rows cannot be read.
    Source(SourceError),
    Decode(DecodeError),
    /// An answer of a provider.
    Answer(ProviderError),
    /// Its columns do not fit the table.
    Table(ReadError),
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "does not exist",
            Self::Folder => "is a folder; pass the files in it, as in DIR/*.csv",
            Self::NotRegular => {
                "is not a regular file; to import a program's output, pipe it in and pass `-`"
            }
            Self::Unread(error) => return write!(f, "cannot be read: {error}"),
            Self::CutOff(error) => return write!(f, "is cut off or damaged: {error}"),
            Self::NotCopied(error) => {
                let folder = env::temp_dir();
                return write!(f, "cannot be unpacked to `{}`: {error}", folder.display());
            }
            Self::TooLarge { gib } => return write!(f, "is larger than {gib} GiB"),
            Self::Empty => "is empty: there is nothing to import",
            Self::Blank => "contains only white space: there is nothing to import",
            Self::NoRows => "has column names but no rows: there is nothing to import",
            Self::NoText => "is not text, Parquet, Arrow, SQLite, a workbook or a zip archive",
            Self::Packed(kind) => {
                return write!(f, "is {kind}, which is not supported; unpack it first");
            }
            Self::Archive(error) => return write!(f, "{error}"),
            Self::Workbook(error) => return write!(f, "{error}"),
            Self::Database(error) => return write!(f, "{error}"),
            Self::GitLfs => {
                "is a Git LFS pointer, which only stands for the file; run `git lfs pull` in its repository, and import the file \
                 itself"
            }
            Self::Drawn => {
                "is a table drawn with box characters, which tokendeck does not read; export it as CSV or JSON"
            }
            Self::Page => "is a web page or XML, not a table; save its table as CSV",
            Self::NotRows => "cannot be read as rows of text",
            Self::UnknownEncoding => {
                "is not UTF-8, and its encoding (Shift-JIS, GBK, Windows-1251, …) could not be detected; save it as UTF-8 and \
                 import it again"
            }
            Self::Script => "is JavaScript, not JSON or a table; save its data as CSV or JSON",
            Self::PythonLiterals => {
                "has strings in single quotes, as Python prints them, so it is not JSON; in Python, write it with `json.dump`"
            }
            Self::Json(error) => {
                return write!(f, "is not complete JSON: {error}; download it again");
            }
            Self::NotJson => "is not JSON",
            Self::NoPlace(place) => return write!(f, "has no `{place}`"),
            Self::NoTable => "contains no table",
            Self::NotStreamed => "has no rows that can be streamed",
            Self::LongRow { kib } => {
                return write!(
                    f,
                    "has a first row longer than {kib} KiB, which no table has; check its line endings"
                );
            }
            Self::OpenQuote => {
                "has a quote in row 1 that is never closed; close or remove the quote"
            }
            Self::TooManyColumns { count, max } => {
                return write!(
                    f,
                    "has {count} columns or more, but at most {max} are supported; remove the columns you don't need"
                );
            }
            Self::NonePicked(pick) => {
                let picked = pick.iter().map(|(name, value)| format!("{name} = `{value}`"));
                let picked: Vec<String> = picked.collect();
                return write!(f, "has no row with {}", picked.join(", "));
            }
            Self::OtherToken { symbol, other } => {
                return write!(
                    f,
                    "is about `{symbol}` (from its name), but --token was already used for a file about `{other}`; import them \
                     one by one"
                );
            }
            Self::Table(error) => return write!(f, "{error}"),
            Self::Source(error) => return write!(f, "{error}"),
            Self::Decode(error) => return write!(f, "{error}"),
            Self::Answer(error) => return write!(f, "{error}"),
        })
    }
}

/// Why a zip archive or a member of it cannot be read.
#[derive(Debug)]
pub enum ArchiveError {
    Unread(io::Error),
    Damaged(String),
    NoData(String),
    Empty,
    TooManyFiles {
        count: usize,
        max: usize,
    },
    Encrypted(String),
    Compression {
        name: String,
        method: CompressionMethod,
    },
    /// An archive in an archive.
    Nested,
}

impl fmt::Display for ArchiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unread(error) => write!(f, "cannot be read: {error}"),
            Self::Damaged(error) => write!(f, "is a damaged zip archive: {error}"),
            Self::NoData(name) => write!(f, "is a damaged zip archive: `{name}` has no data"),
            Self::Empty => f.write_str("is an archive without files"),
            Self::TooManyFiles { count, max } => write!(
                f,
                "contains {count} files, more than the maximum of {max}; unpack it and import the files you need"
            ),
            Self::Encrypted(name) => write!(
                f,
                "contains the password-protected file `{name}`; unpack it first"
            ),
            Self::Compression { name, method } => write!(
                f,
                "contains `{name}`, compressed with {method}, which is not supported; unpack it first"
            ),
            Self::Nested => f.write_str("is an archive inside an archive; unpack it first"),
        }
    }
}

/// Why a workbook cannot be read.
#[derive(Debug)]
pub enum WorkbookError {
    Archive(ArchiveError),
    /// The file of an old workbook.
    Unread(io::Error),
    Unreadable(String),
    Damaged,
    DamagedSheet {
        sheet: String,
        error: String,
    },
    DamagedPart(String),
    Encrypted,
    NoSheet,
    OnlyHidden,
    /// Its unpacked size.
    TooLarge {
        mib: u64,
    },
    /// The size of an old workbook.
    OldTooLarge {
        mib: u64,
    },
    TooManyCells {
        max: usize,
    },
    /// With the empty cells between filled ones.
    TooWide {
        max: u64,
    },
    TooManyTexts {
        count: u64,
        max: usize,
    },
    TooManyFormats {
        max: usize,
    },
    LongText {
        part: String,
        mib: usize,
    },
    RepeatedTexts {
        mib: u64,
    },
    /// A filled cell, from 1 on, and how many columns and rows there may be.
    FarCell {
        row: usize,
        column: usize,
        columns: usize,
        rows: usize,
    },
    Sparse,
}

impl fmt::Display for WorkbookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Archive(error) => write!(f, "{error}"),
            Self::Unread(error) => write!(f, "cannot be read: {error}"),
            Self::Unreadable(error) => write!(
                f,
                "is a workbook that cannot be read: {error}; save it as CSV"
            ),
            Self::Damaged => f.write_str("is a damaged workbook"),
            Self::DamagedSheet { sheet, error } => write!(
                f,
                "has a damaged sheet `{sheet}`: {error}; save the other sheets as CSV"
            ),
            Self::DamagedPart(part) => {
                write!(f, "is a damaged workbook: `{part}` is not complete XML")
            }
            Self::Encrypted => f.write_str(
                "is a password-protected or damaged workbook; save it without a password",
            ),
            Self::NoSheet => f.write_str("is a workbook without a filled sheet"),
            Self::OnlyHidden => f.write_str(
                "is a workbook with only hidden sheets, which are omitted; show the sheet to import, and save the workbook",
            ),
            Self::TooLarge { mib } => write!(
                f,
                "unpacks to more than {mib} MiB, the maximum for a workbook; save its sheets as CSV"
            ),
            Self::OldTooLarge { mib } => write!(
                f,
                "is an old workbook of more than {mib} MiB; save its sheets as CSV"
            ),
            Self::TooManyCells { max } => write!(
                f,
                "has more than {max} cells, the maximum for a workbook; save its sheets as CSV"
            ),
            Self::TooWide { max } => write!(
                f,
                "has more than {max} cells, including empty ones between filled ones; save its sheets as CSV"
            ),
            Self::TooManyTexts { count, max } => write!(
                f,
                "contains or declares {count} text strings, but at most {max} are supported; save its sheets as CSV"
            ),
            Self::TooManyFormats { max } => {
                write!(f, "has more than {max} formats and names: it is damaged")
            }
            Self::LongText { part, mib } => write!(
                f,
                "has a string of more than {mib} MiB in `{part}`, longer than any cell can be: it is damaged"
            ),
            Self::RepeatedTexts { mib } => write!(
                f,
                "repeats long strings in its cells, so that they take {mib} MiB more than the workbook itself; shorten them, or \
                 save its sheets as CSV"
            ),
            Self::FarCell {
                row,
                column,
                columns,
                rows,
            } => write!(
                f,
                "has a filled cell in row {row}, column {column}, but at most {columns} columns and {rows} rows are supported; \
                 delete it, or save the table as CSV"
            ),
            Self::Sparse => f.write_str(
                "has cells so far apart that it is mostly empty; save its table as CSV",
            ),
        }
    }
}

/// Why an SQLite database cannot be read.
#[derive(Debug)]
pub enum DatabaseError {
    Unread(rusqlite::Error),
    UnreadTable {
        table: String,
        error: rusqlite::Error,
    },
    TooManyValues {
        table: String,
        max: usize,
    },
    /// It has several tables, or none that is `wanted`; each comes with its columns.
    WhichTable {
        file: String,
        tables: Vec<(String, Vec<String>)>,
        wanted: Option<String>,
    },
}

/// Maximum number of tables that are shown, and of the columns of each.
const TABLES_SHOWN: usize = 8;
const COLUMNS_SHOWN: usize = 10;

impl fmt::Display for DatabaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, tables, wanted) = match self {
            Self::Unread(error) => {
                return write!(f, "is an SQLite database that cannot be read: {error}");
            }
            Self::UnreadTable { table, error } => {
                return write!(f, "has a table `{table}` that cannot be read: {error}");
            }
            Self::TooManyValues { table, max } => {
                return write!(
                    f,
                    "has a table `{table}` that has more than {max} values, the maximum; copy the part you need into a table of \
                     its own"
                );
            }
            Self::WhichTable {
                file,
                tables,
                wanted,
            } => (file, tables, wanted),
        };
        let Some((first, _)) = tables.first() else {
            return f.write_str("is an SQLite database without tables");
        };
        match wanted {
            None => f.write_str("is an SQLite database with several tables: ")?,
            Some(wanted) => write!(
                f,
                "is an SQLite database without a table `{wanted}`; it has "
            )?,
        }
        let shown = tables.iter().take(TABLES_SHOWN).map(|(table, columns)| {
            let names: Vec<&str> = columns
                .iter()
                .take(COLUMNS_SHOWN)
                .map(String::as_str)
                .collect();
            let more = if columns.len() > names.len() {
                ", …"
            } else {
                ""
            };
            format!("{table} ({}{more})", names.join(", "))
        });
        let shown: Vec<String> = shown.collect();
        let more = if tables.len() > shown.len() {
            " and more"
        } else {
            ""
        };
        write!(
            f,
            "{}{more}. Append a table's name to the path, as in {}",
            shown.join("; "),
            shell_word(&format!("{file}/{first}"))
        )
    }
}
