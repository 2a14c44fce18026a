//! Rows of a query as a stream. Those of a small table are copied to disk as they arrive, for an offline start; those of a large one go
//! into the cache, like rows of a file.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek as _, Write as _},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use polars::prelude::{Column, DataType, IntoColumn, NamedFrom as _, Series};

use crate::{
    error::ReadError,
    formats::{
        self, ColumnFilter, Layout, RowSource, SourceBatch, SourceError,
        downloads::{self, name_of},
        forward::BufferedStream,
        locate::Answer,
    },
    loader::{LoadContext, remote::Pulse},
};
use model::locks::Locked as _;
use wire::{Fault, clickhouse::StreamEnd};

/// Bytes read beyond undecodable rows: the engine may add the reason.
pub(super) const DRAIN_MAX: u64 = 1 << 20;
/// Size of the write buffer in bytes.
const BUFFER: usize = 64 << 10;
/// Files in the folder of a copy: its bytes, and their checksum.
const BYTES: &str = "bytes";
const SUM: &str = "sum";

/// Outcome of reading the rows, for the caller that opened them.
#[derive(Debug, Default)]
pub(crate) struct RowsOutcome {
    fault: Mutex<Option<Fault>>,
    bytes: AtomicU64,
    /// End of the stream from the server.
    stream_end: OnceLock<Arc<StreamEnd>>,
}

impl RowsOutcome {
    /// Fault by which the rows did not arrive, if any.
    pub(crate) fn fault(&self) -> Option<Fault> {
        self.fault.locked().clone()
    }

    /// Bytes received.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Records the engine's own error message as the fault, else `fault`; returns the fault that came first.
    fn record_engine_fault_or(&self, fault: Fault) -> Fault {
        let engines_own = self.stream_end.get().and_then(|end| end.error_in_tail());
        self.record_fault(engines_own.unwrap_or(fault))
    }

    fn record_fault(&self, fault: Fault) -> Fault {
        self.fault.locked().get_or_insert(fault).clone()
    }
}

/// Rows of a query, with the outcome of reading them.
pub(crate) struct QueryRows {
    pub(crate) rows: Box<dyn RowSource>,
    pub(crate) outcome: Arc<RowsOutcome>,
}

fn answer_folder(context: &LoadContext<'_>, answer: &Answer) -> Option<PathBuf> {
    copy_folder(context, &[&answer.name, &answer.mark])
}

/// Folder of a copy, named by these texts alone; none without a cache.
pub(super) fn copy_folder(context: &LoadContext<'_>, texts: &[&str]) -> Option<PathBuf> {
    Some(downloads::folder(context.cache.folder.as_deref()?).join(name_of(texts)))
}

/// Writes a whole copy.
pub(super) fn keep(
    place: &Path,
    write: impl FnOnce(&mut dyn io::Write) -> Result<(), ReadError>,
) -> Result<(), ReadError> {
    let writer = CopyWriter::begin(place)?;
    let copy = writer.copy.clone();
    let mut out = io::BufWriter::with_capacity(BUFFER, writer);
    write(&mut out)
        .and_then(|()| Ok(out.flush()?))
        .and_then(|()| Ok(copy.settle()?))
        .inspect_err(|_| drop(fs::remove_file(&copy.beside)))
}

/// Whether a copy of the rows exists.
pub(super) fn is_kept(context: &LoadContext<'_>, answer: &Answer) -> bool {
    answer_folder(context, answer).is_some_and(|place| place.join(BYTES).is_file())
}

/// Opens the rows: from the copy, else from the engine, unless `offline`.
pub(crate) fn open(
    context: &LoadContext<'_>,
    answer: &Arc<Answer>,
    pulse: &Pulse,
    offline: Option<&Fault>,
    wanted: ColumnFilter,
) -> Result<QueryRows, Fault> {
    let outcome = Arc::new(RowsOutcome::default());
    let place = answer_folder(context, answer);
    if let Some(file) = place.as_deref().and_then(open_copy) {
        let reader = TeeReader {
            reader: Box::new(io::BufReader::new(file)),
            outcome: Arc::clone(&outcome),
            writer: None,
        };
        return begin(reader, answer, outcome, wanted, None);
    }
    if let Some(fault) = offline {
        return Err(fault.clone());
    }
    let wire = context
        .wire
        .ok_or_else(|| Fault::Refused("is remote, but only local files are read".to_owned()))?;
    let watch = Arc::clone(&pulse.watch);
    let stopped = move || watch.stopped.load(Ordering::Acquire);
    let format = if answer.arrow {
        "ArrowStream"
    } else {
        "CSVWithNames"
    };
    let stream =
        wire.engine(&answer.source)?
            .stream(&answer.sql, format, answer.rows, Arc::new(stopped))?;
    let writer = place
        .filter(|_| answer.rows < context.cache.rows_min.max(1))
        .and_then(|place| CopyWriter::begin(&place).ok());
    outcome.stream_end.set(stream.outcome()).ok();
    let copy = writer.as_ref().map(|writer| writer.copy.clone());
    let reader = TeeReader {
        reader: Box::new(stream),
        outcome: Arc::clone(&outcome),
        writer,
    };
    begin(reader, answer, outcome, wanted, copy)
}

/// Opens the copy in the folder if its checksum matches; a damaged one is removed.
pub(super) fn open_copy(place: &Path) -> Option<File> {
    let file = File::open(place.join(BYTES)).ok()?;
    let written = fs::read_to_string(place.join(SUM)).unwrap_or_default();
    let mut sum = crc32fast::Hasher::new();
    let (mut reader, mut part) = (&file, vec![0; 1 << 20]);
    let read = loop {
        match reader.read(&mut part) {
            Ok(0) => break true,
            Ok(count) => sum.update(&part[..count]),
            Err(_) => break false,
        }
    };
    if !read || written != hex(sum) {
        fs::remove_dir_all(place).ok();
        return None;
    }
    reader.rewind().ok()?;
    // The modification time records the last use, for LRU eviction.
    file.set_modified(std::time::SystemTime::now()).ok();
    Some(file)
}

fn hex(sum: crc32fast::Hasher) -> String {
    format!("{:08x}", sum.finalize())
}

fn begin(
    reader: TeeReader,
    answer: &Arc<Answer>,
    outcome: Arc<RowsOutcome>,
    wanted: ColumnFilter,
    copy: Option<Copy>,
) -> Result<QueryRows, Fault> {
    let (forward, rows) = if answer.arrow {
        let forward = Arc::new(BufferedStream::new(Box::new(reader)));
        let rows = formats::arrow_stream(Arc::clone(&forward) as _, &wanted)
            .inspect_err(|_| drop(forward.drain(DRAIN_MAX)));
        (Some(forward), rows)
    } else {
        (
            None,
            formats::separated(reader, &[], &Layout::default(), wanted),
        )
    };
    let rows = rows.map_err(|error| unreadable(&outcome, &error))?;
    let rows = AnswerRows {
        rows,
        forward,
        outcome: Arc::clone(&outcome),
        answer: Arc::clone(answer),
        seen: 0,
        ended: false,
        copy,
    };
    Ok(QueryRows {
        rows: Box::new(rows),
        outcome,
    })
}

/// The engine's own error message, else a fault for undecodable rows.
fn unreadable(outcome: &RowsOutcome, error: &SourceError) -> Fault {
    outcome.record_engine_fault_or(Fault::Unavailable(format!(
        "sent unreadable rows: the response {error}"
    )))
}

/// A copy being written: its folder, its temporary file, and its checksum so far.
#[derive(Clone)]
struct Copy {
    place: PathBuf,
    beside: PathBuf,
    sum: Arc<Mutex<crc32fast::Hasher>>,
}

impl Copy {
    /// Completes the copy, which replaces the previous one.
    fn settle(&self) -> io::Result<()> {
        let sum = hex(self.sum.locked().clone());
        fs::write(self.place.join(SUM), sum)
            .and_then(|()| fs::rename(&self.beside, self.place.join(BYTES)))
    }
}

/// Writer of a copy.
struct CopyWriter {
    copy: Copy,
    file: File,
}

impl CopyWriter {
    fn begin(place: &Path) -> io::Result<Self> {
        // User-only permissions, as the data may be private.
        model::system::create_private_folder(place)?;
        // A unique name: another program may fetch the same rows.
        let mut random = [0u8; 8];
        getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
        let beside = place.join(format!("{:016x}.new", u64::from_ne_bytes(random)));
        let file = model::system::private(OpenOptions::new().write(true).create_new(true))
            .open(&beside)?;
        Ok(Self {
            copy: Copy {
                place: place.to_owned(),
                beside,
                sum: Arc::default(),
            },
            file,
        })
    }
}

impl io::Write for CopyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.copy.sum.locked().update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Tee: counts the bytes received, and writes them to a copy.
struct TeeReader {
    reader: Box<dyn Read + Send>,
    outcome: Arc<RowsOutcome>,
    writer: Option<CopyWriter>,
}

impl Read for TeeReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer).inspect_err(|_| {
            if let Some(fault) = self.outcome.stream_end.get().and_then(|end| end.fault()) {
                self.outcome.record_fault(fault);
            }
        })?;
        self.outcome.bytes.fetch_add(read as u64, Ordering::Relaxed);
        if let Some(writer) = &mut self.writer
            && writer.write_all(&buffer[..read]).is_err()
        {
            // The rows are fetched again next time.
            self.writer = None;
        }
        Ok(read)
    }
}

/// Rows of an answer; as many must arrive as were counted.
struct AnswerRows {
    rows: Box<dyn RowSource>,
    forward: Option<Arc<BufferedStream>>,
    outcome: Arc<RowsOutcome>,
    answer: Arc<Answer>,
    seen: u64,
    ended: bool,
    copy: Option<Copy>,
}

impl AnswerRows {
    /// Checks at the end that all rows arrived, and nothing else.
    fn end(&mut self) -> Result<(), Fault> {
        let more = self
            .forward
            .as_ref()
            .map_or(Ok(0), |forward| forward.drain(DRAIN_MAX));
        if let Some(fault) = self.outcome.fault() {
            return Err(fault);
        }
        if !matches!(more, Ok(0)) {
            return Err(self
                .outcome
                .record_engine_fault_or(Fault::Unavailable("sent more than rows".to_owned())));
        }
        let (came, counted) = (self.seen, self.answer.rows);
        if came != counted {
            return Err(self
                .outcome
                .record_engine_fault_or(super::wrong_count(came, counted)));
        }
        if let Some(copy) = self.copy.take() {
            // A copy that could not be written completely is shorter than the bytes received.
            let is_whole =
                fs::metadata(&copy.beside).is_ok_and(|meta| meta.len() == self.outcome.bytes());
            if !is_whole || copy.settle().is_err() {
                fs::remove_dir_all(&copy.place).ok();
            }
        }
        Ok(())
    }
}

/// Decodes texts that arrive as bytes: the user of such a server may not change the setting for it.
fn as_text(column: Column) -> Result<Column, Fault> {
    let DataType::Binary = column.dtype() else {
        return Ok(column);
    };
    let bytes = column
        .binary()
        .map_err(|error| Fault::Unavailable(error.to_string()))?;
    let texts: Result<Vec<Option<&str>>, _> = bytes
        .iter()
        .map(|bytes| bytes.map(std::str::from_utf8).transpose())
        .collect();
    let texts = texts.map_err(|_| {
        Fault::Unavailable(format!(
            "has strings in `{}` that are not UTF-8",
            column.name()
        ))
    })?;
    Ok(Series::new(column.name().clone(), texts).into_column())
}

impl RowSource for AnswerRows {
    fn next_batch(&mut self) -> Result<Option<SourceBatch>, SourceError> {
        if self.ended {
            return Ok(None);
        }
        match self.rows.next_batch() {
            Ok(Some(mut batch)) => {
                self.seen += batch.height as u64;
                batch.columns = std::mem::take(&mut batch.columns)
                    .into_iter()
                    .map(as_text)
                    .collect::<Result<_, _>>()
                    .map_err(|fault| self.outcome.record_fault(fault))?;
                Ok(Some(batch))
            }
            Ok(None) => {
                self.ended = true;
                self.end()?;
                Ok(None)
            }
            Err(error) => {
                self.forward
                    .as_ref()
                    .map(|forward| forward.drain(DRAIN_MAX));
                Err(unreadable(&self.outcome, &error).into())
            }
        }
    }

    fn columns(&self) -> &[String] {
        &self.answer.columns
    }

    fn bytes_read(&self) -> u64 {
        self.seen * self.answer.width
    }
}

impl Drop for AnswerRows {
    fn drop(&mut self) {
        if let Some(copy) = self.copy.take() {
            fs::remove_file(copy.beside).ok();
        }
    }
}
