//! The rows of an answer as they come. Those of a small table are kept as they came, for when nobody answers; those of a large one go into
//! the cache, as they do of a file.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use polars::prelude::{Column, DataType, IntoColumn, NamedFrom as _, Series};

use crate::{
    dataset::{
        load::{Context, elsewhere::Pulse},
        source::{
            self, Batch, Layout, RowSource, Wanted,
            forward::Forward,
            kept::{self, name_of},
            locate::Answer,
        },
    },
    wire::{Fault, clickhouse::Stream},
};

/// What is read on after rows could not be, to see whether the engine says why.
const SAID_MAX: u64 = 1 << 20;
/// The name of what is kept, among what is kept of objects.
const BYTES: &str = "bytes";

/// How a reading went, told to the one who began it.
#[derive(Debug, Default)]
pub(in crate::dataset::load) struct Tell {
    fault: Mutex<Option<Fault>>,
    bytes: AtomicU64,
}

impl Tell {
    /// Why the rows did not come, if that was it.
    pub(in crate::dataset::load) fn fault(&self) -> Option<Fault> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Bytes that came.
    pub(in crate::dataset::load) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn blame(&self, fault: Fault) -> String {
        let mut blamed = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        blamed.get_or_insert(fault).to_string()
    }
}

/// An answer that is read.
pub(in crate::dataset::load) struct Opened {
    pub(in crate::dataset::load) rows: Box<dyn RowSource>,
    pub(in crate::dataset::load) tell: Arc<Tell>,
}

fn place(context: &Context<'_>, answer: &Answer) -> Option<PathBuf> {
    Some(kept::folder(context.cache.folder.as_deref()?).join(name_of(&[&answer.name, &answer.mark])))
}

/// Whether the rows are here as they came.
pub(super) fn is_kept(context: &Context<'_>, answer: &Answer) -> bool {
    place(context, answer).is_some_and(|place| place.join(BYTES).is_file())
}

/// Begins to read the rows: those that are kept, else asks for them, unless nobody is to be asked.
pub(in crate::dataset::load) fn open(
    context: &Context<'_>,
    answer: &Arc<Answer>,
    pulse: &Pulse,
    offline: Option<&Fault>,
    wanted: Wanted,
) -> Result<Opened, Fault> {
    let tell = Arc::new(Tell::default());
    let place = place(context, answer);
    if let Some(file) = place.as_ref().and_then(|place| File::open(place.join(BYTES)).ok()) {
        // When it was used last decides what goes first.
        file.set_modified(std::time::SystemTime::now()).ok();
        let reader = Watched { reader: Box::new(io::BufReader::new(file)), stream: None, tell: Arc::clone(&tell), copy: None };
        return begin(reader, answer, tell, wanted, None);
    }
    if let Some(fault) = offline {
        return Err(fault.clone());
    }
    let wire = context.wire.ok_or_else(|| Fault::Refused("lies elsewhere, and only files here are read".to_owned()))?;
    let watch = Arc::clone(&pulse.watch);
    let stopped = move || watch.stopped.load(Ordering::Acquire);
    let format = if answer.arrow { "ArrowStream" } else { "CSVWithNames" };
    let stream = wire.engine(&answer.source)?.stream(&answer.sql, format, answer.rows, Arc::new(stopped))?;
    let copy = place.filter(|_| answer.rows < context.cache.rows_min.max(1)).and_then(|place| Copy::begin(&place).ok());
    let (copied, copy) = copy.map(|copy| (copy.place.clone(), copy.file)).unzip();
    let reader = Watched { reader: Box::new(io::empty()), stream: Some(stream), tell: Arc::clone(&tell), copy };
    begin(reader, answer, tell, wanted, copied)
}

fn begin(reader: Watched, answer: &Arc<Answer>, tell: Arc<Tell>, wanted: Wanted, copied: Option<PathBuf>) -> Result<Opened, Fault> {
    let (forward, rows) = if answer.arrow {
        let forward = Arc::new(Forward::new(Box::new(reader)));
        let rows = source::arrow_stream(Arc::clone(&forward) as _, &wanted).inspect_err(|_| drop(forward.drain(SAID_MAX)));
        (Some(forward), rows)
    } else {
        (None, source::separated(reader, &[], &Layout::default(), wanted))
    };
    let rows = rows.map_err(|reason| odd(&tell, &reason))?;
    let rows = AnswerRows { rows, forward, tell: Arc::clone(&tell), answer: Arc::clone(answer), seen: 0, ended: false, copied };
    Ok(Opened { rows: Box::new(rows), tell })
}

/// The engine's own reason, or else that its rows are none.
fn odd(tell: &Tell, reason: &str) -> Fault {
    let fault = Fault::Unavailable(format!("is answered with rows that cannot be read: the answer {reason}"));
    tell.blame(fault);
    tell.fault().unwrap_or(Fault::Changed)
}

/// What comes, kept beside as it comes.
struct Copy {
    place: PathBuf,
    file: File,
}

impl Copy {
    fn begin(place: &Path) -> io::Result<Self> {
        // For the user alone, as the data may be.
        DirBuilder::new().recursive(true).mode(0o700).create(place)?;
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(place.join("bytes.new"))?;
        Ok(Self { place: place.to_owned(), file })
    }
}

/// Bytes as they come, counted, and kept beside.
struct Watched {
    reader: Box<dyn Read + Send>,
    stream: Option<Stream>,
    tell: Arc<Tell>,
    copy: Option<File>,
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.stream {
            Some(stream) => stream.read(buffer).inspect_err(|_| {
                if let Some(fault) = stream.fault() {
                    self.tell.blame(fault.clone());
                }
            }),
            None => self.reader.read(buffer),
        }?;
        self.tell.bytes.fetch_add(read as u64, Ordering::Relaxed);
        if let Some(copy) = &mut self.copy
            && copy.write_all(&buffer[..read]).is_err()
        {
            // Read once more next time.
            self.copy = None;
        }
        Ok(read)
    }
}

/// The rows, of which as many must come as were counted.
struct AnswerRows {
    rows: Box<dyn RowSource>,
    forward: Option<Arc<Forward>>,
    tell: Arc<Tell>,
    answer: Arc<Answer>,
    seen: u64,
    ended: bool,
    copied: Option<PathBuf>,
}

impl AnswerRows {
    /// All rows came, and nothing else.
    fn end(&mut self) -> Result<(), String> {
        let more = self.forward.as_ref().map_or(Ok(0), |forward| forward.drain(SAID_MAX));
        if let Some(fault) = self.tell.fault() {
            return Err(fault.to_string());
        }
        if !matches!(more, Ok(0)) {
            return Err(self.tell.blame(Fault::Unavailable("is answered with more than rows".to_owned())));
        }
        let (came, counted) = (self.seen, self.answer.rows);
        if came != counted {
            return Err(self.tell.blame(super::fewer(came, counted)));
        }
        if let Some(place) = self.copied.take() {
            let kept = place.join("bytes.new");
            // One that could not be written whole is shorter than what came.
            if fs::metadata(&kept).is_ok_and(|meta| meta.len() == self.tell.bytes()) {
                fs::rename(&kept, place.join(BYTES)).ok();
            } else {
                fs::remove_dir_all(&place).ok();
            }
        }
        Ok(())
    }
}

/// Texts that were sent as bytes, as servers do whose user may not say otherwise.
fn as_text(column: Column) -> Result<Column, String> {
    let DataType::Binary = column.dtype() else { return Ok(column) };
    let bytes = column.binary().map_err(|error| error.to_string())?;
    let texts: Result<Vec<Option<&str>>, _> = bytes.iter().map(|bytes| bytes.map(std::str::from_utf8).transpose()).collect();
    let texts = texts.map_err(|_| format!("has texts in `{}` that are not UTF-8", column.name()))?;
    Ok(Series::new(column.name().clone(), texts).into_column())
}

impl RowSource for AnswerRows {
    fn next_batch(&mut self) -> Result<Option<Batch>, String> {
        if self.ended {
            return Ok(None);
        }
        match self.rows.next_batch() {
            Ok(Some(mut batch)) => {
                self.seen += batch.height as u64;
                let columns: Result<Vec<Column>, String> = std::mem::take(&mut batch.columns).into_iter().map(as_text).collect();
                batch.columns = columns.map_err(|reason| self.tell.blame(Fault::Unavailable(reason)))?;
                Ok(Some(batch))
            }
            Ok(None) => {
                self.ended = true;
                self.end().map(|()| None)
            }
            Err(reason) => {
                self.forward.as_ref().map(|forward| forward.drain(SAID_MAX));
                Err(odd(&self.tell, &reason).to_string())
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
        if let Some(place) = self.copied.take() {
            fs::remove_file(place.join("bytes.new")).ok();
        }
    }
}
