//! Rows of Arrow IPC (`.arrow`, `.ipc`, `.feather`), in the file or the stream format, one record batch at a time, so that a file of any
//! size takes the memory of a few batches. A message is read whole and its figures are validated before it is decoded.

use std::{
    collections::HashSet,
    io::{self, Cursor},
    sync::Arc,
};

use planus::{ReadAsRoot, Vector};
use polars::prelude::{
    ArrowField, ArrowSchema, Column, DataFrame, PolarsResult, polars_bail, polars_ensure,
};
use polars_arrow::{
    datatypes::ArrowDataType,
    io::ipc::{
        IpcSchema,
        read::{
            Dictionaries,
            common::{read_dictionary, read_record_batch},
            deserialize_footer, read_stream_metadata,
        },
    },
};
use polars_arrow_format::ipc::{FieldRef, MessageHeaderRef, MessageRef, TypeRef};

use super::{
    BATCH_ROWS, ColumnFilter, ROWS_MAX, RowSource, SourceBatch, SourceError, empty_columns,
    read_at::ReadAt,
    size_limits,
    supported::{self, UnreadColumns},
};
use frames::decode::guarded;

/// Bytes of read-ahead.
const AHEAD: u64 = 16 << 20;
const MAGIC: &[u8; 6] = b"ARROW1";
/// Maximum depth and number of the fields in which an unsupported type is looked for.
const DEPTH_MAX: usize = 32;
const FIELDS_MAX: usize = 100_000;

pub(super) struct IpcRows {
    messages: Messages,
    names: Vec<String>,
    schema: ArrowSchema,
    ipc_schema: IpcSchema,
    dictionaries: Dictionaries,
    /// Indexes of the columns to decode; none: all.
    projection: Option<Vec<usize>>,
    fields: Vec<ArrowField>,
    /// Decoded rows that were not returned yet.
    decoded: DataFrame,
    done: u64,
    started: bool,
    unread: UnreadColumns,
}

/// The messages of the file, with the position of the next one.
struct Messages {
    file: Arc<dyn ReadAt>,
    bytes: u64,
    next: Next,
    /// End of the last message read, and its number of bytes and rows.
    at: u64,
    last: (u64, usize),
}

enum Next {
    /// At the offsets that the footer of a file lists.
    Listed(std::vec::IntoIter<u64>),
    /// Consecutive, as in a stream.
    At(u64),
}

struct Message {
    text: Vec<u8>,
    body: std::ops::Range<u64>,
}

impl Messages {
    fn read(&self, bytes: std::ops::Range<u64>) -> PolarsResult<Vec<u8>> {
        polars_ensure!(bytes.start <= bytes.end && bytes.end <= self.bytes, ComputeError: size_limits::DAMAGED);
        let mut read = vec![
            0;
            usize::try_from(bytes.end - bytes.start)
                .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?
        ];
        self.file.read_exact_at(&mut read, bytes.start)?;
        Ok(read)
    }

    /// Reads the message at `at`, without its body; none at the end. Its length comes first, after a continuation marker of four bytes that
    /// old files lack.
    fn message(&self, mut at: u64) -> PolarsResult<Option<Message>> {
        let mut number = || -> PolarsResult<i32> {
            let read = self.read(at..at.saturating_add(4))?;
            at += 4;
            Ok(read
                .first_chunk()
                .map_or(0, |bytes| i32::from_le_bytes(*bytes)))
        };
        let length = match number() {
            Ok(-1) => number()?,
            first => first?,
        };
        let Ok(length) = u64::try_from(length) else {
            polars_bail!(ComputeError: size_limits::DAMAGED)
        };
        if length == 0 {
            return Ok(None);
        }
        let body = at.saturating_add(length);
        let text = self.read(at..body)?;
        let Ok(size) = u64::try_from(MessageRef::read_as_root(&text)?.body_length()?) else {
            polars_bail!(ComputeError: size_limits::DAMAGED)
        };
        let end = body.checked_add(size).filter(|end| *end <= self.bytes);
        let Some(end) = end else {
            polars_bail!(ComputeError: size_limits::DAMAGED)
        };
        Ok(Some(Message {
            text,
            body: body..end,
        }))
    }

    /// Why the rows cannot be decoded though nothing is damaged: a column of a type that polars lacks, or two of one name.
    fn unsupported(&self) -> Option<SourceError> {
        let found = guarded("Arrow IPC", || {
            let start = if self.read(0..self.bytes.min(6))? == MAGIC {
                8
            } else {
                0
            };
            let Some(message) = self.message(start)? else {
                return Ok(None);
            };
            match MessageRef::read_as_root(&message.text)?.header()? {
                Some(MessageHeaderRef::Schema(schema)) => {
                    unsupported_field(schema.fields()?, 0, &mut 0)
                }
                _ => Ok(None),
            }
        });
        found.ok().flatten()
    }

    fn next(&mut self) -> PolarsResult<Option<Message>> {
        let at = match &mut self.next {
            Next::Listed(places) => places.next(),
            // A stream may end without an end marker.
            Next::At(at) => Some(*at).filter(|at| *at < self.bytes),
        };
        // The bytes after the message are read soon, most likely.
        let soon = at.map(|at| at..at.saturating_add(AHEAD).min(self.bytes));
        self.file.ahead(soon.as_slice());
        let message = at.map_or(Ok(None), |at| self.message(at))?;
        let end = message
            .as_ref()
            .map_or(self.bytes, |message| message.body.end);
        self.last = (end.saturating_sub(at.unwrap_or(self.bytes)), 0);
        self.at = end;
        if let Next::At(at) = &mut self.next {
            *at = end;
        }
        Ok(message)
    }
}

impl IpcRows {
    pub(super) fn open(file: Arc<dyn ReadAt>, wanted: &ColumnFilter) -> Result<Self, SourceError> {
        let bytes = file.bytes()?;
        let mut messages = Messages {
            file: Arc::clone(&file),
            bytes,
            next: Next::At(0),
            at: 0,
            last: (0, 0),
        };
        let opened = guarded("Arrow IPC", || {
            let listed = messages.read(0..bytes.min(6))? == MAGIC;
            let (mut schema, ipc_schema, dictionaries) = if listed {
                footer(&mut messages)?
            } else {
                head(&mut messages)?
            };
            let names = schema.iter_names().map(ToString::to_string).collect();
            let places: Vec<usize> = (0..)
                .zip(schema.iter_names())
                .filter(|(_, name)| wanted(name))
                .map(|(place, _)| place)
                .collect();
            let projection =
                Some(places).filter(|places| !places.is_empty() && places.len() < schema.len());
            let fields = schema.iter_values().enumerate();
            let fields = fields.filter(|(place, _)| {
                projection
                    .as_ref()
                    .is_none_or(|places| places.contains(place))
            });
            let fields: Vec<_> = fields.map(|(_, field)| field.clone()).collect();
            let unread = UnreadColumns::of(&fields);
            // Decimals of 256 bits lie as bytes do, and are read as such.
            for field in schema
                .iter_values_mut()
                .filter(|field| matches!(field.dtype, ArrowDataType::Decimal256(..)))
            {
                field.dtype = ArrowDataType::FixedSizeBinary(32);
            }
            let mut rows = Self {
                messages,
                names,
                schema,
                ipc_schema,
                dictionaries: Dictionaries::default(),
                projection,
                fields,
                decoded: DataFrame::default(),
                done: 0,
                started: false,
                unread,
            };
            for at in dictionaries {
                if let Some(message) = rows.messages.message(at)? {
                    rows.decode(&message)?;
                }
            }
            Ok(rows)
        });
        opened.map_err(|damage| {
            Messages {
                file,
                bytes,
                next: Next::At(0),
                at: 0,
                last: (0, 0),
            }
            .unsupported()
            .unwrap_or_else(|| damage.into())
        })
    }

    /// The selected columns.
    pub(super) fn fields(&self) -> &[ArrowField] {
        &self.fields
    }

    /// Decodes the record batch, or the dictionary, of a message.
    fn decode(&mut self, message: &Message) -> PolarsResult<()> {
        let text = MessageRef::read_as_root(&message.text)?;
        let body = self.messages.read(message.body.clone())?;
        size_limits::ipc_batch(&text, &body)?;
        // The default validates every offset and text.
        let (mut body, mut scratch, checked) = (Cursor::new(body), Vec::new(), <_>::default());
        match text.header()? {
            Some(MessageHeaderRef::RecordBatch(batch)) => {
                let batch = read_record_batch(
                    batch,
                    &self.schema,
                    &self.ipc_schema,
                    self.projection.as_deref(),
                    None,
                    &self.dictionaries,
                    text.version()?,
                    &mut body,
                    0,
                    &mut scratch,
                    checked,
                )?;
                drop(body);
                let height = batch.len();
                let unread = &mut self.unread;
                let column = |(field, array)| {
                    unread.or(field, height, || {
                        supported::column_or_decimals(field, vec![array], true)
                    })
                };
                let columns: PolarsResult<Vec<Column>> = self
                    .fields
                    .iter()
                    .zip(batch.into_arrays())
                    .map(column)
                    .collect();
                let frame = DataFrame::new(height, columns?)?;
                polars_ensure!(self.done + (self.decoded.height() + height) as u64 <= ROWS_MAX, ComputeError: "it has more rows than a table can have");
                self.messages.last.1 = height;
                if self.decoded.width() == 0 {
                    self.decoded = frame;
                } else {
                    self.decoded.vstack_mut(&frame)?;
                }
                Ok(())
            }
            Some(MessageHeaderRef::DictionaryBatch(batch)) => read_dictionary(
                batch,
                &self.schema,
                &self.ipc_schema,
                &mut self.dictionaries,
                &mut body,
                0,
                &mut scratch,
                checked,
            ),
            _ => {
                polars_bail!(ComputeError: "it has a message that is neither rows nor a dictionary")
            }
        }
    }

    /// Decodes the next message, if there is one.
    fn advance(&mut self) -> Result<bool, SourceError> {
        let advanced = guarded("Arrow IPC", || {
            let Some(message) = self.messages.next()? else {
                return Ok(false);
            };
            self.decode(&message)?;
            Ok(true)
        });
        advanced.map_err(|damage| self.messages.unsupported().unwrap_or_else(|| damage.into()))
    }

    fn take(&mut self, rows: usize) -> DataFrame {
        let taken = self.decoded.slice(0, rows);
        self.decoded = self.decoded.slice(rows as i64, usize::MAX);
        self.done += taken.height() as u64;
        taken
    }
}

/// What is unsupported among the fields and those within them, if anything is.
fn unsupported_field<'a>(
    fields: Option<Vector<'a, planus::Result<FieldRef<'a>>>>,
    depth: usize,
    seen: &mut usize,
) -> PolarsResult<Option<SourceError>> {
    let mut names = HashSet::new();
    for field in fields.into_iter().flatten() {
        *seen += 1;
        if depth > DEPTH_MAX || *seen > FIELDS_MAX {
            break;
        }
        let field = field?;
        let name = field.name()?.unwrap_or_default();
        let shown: String = name.chars().take(40).collect();
        let unsupported = match field.type_()? {
            Some(TypeRef::RunEndEncoded(_)) => Some("run-end encoded"),
            Some(TypeRef::ListView(_) | TypeRef::LargeListView(_)) => Some("list view"),
            Some(TypeRef::Union(_)) => Some("union"),
            Some(TypeRef::Interval(_)) => Some("interval"),
            _ => None,
        };
        if let Some(arrow) = unsupported {
            let column = shown;
            return Ok(Some(SourceError::UnsupportedType { column, arrow }));
        }
        if !names.insert(name) {
            return Ok(Some(SourceError::RepeatedColumn(shown)));
        }
        if let Some(found) = unsupported_field(field.children()?, depth + 1, seen)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Schema and offsets of the dictionaries, from the head of a stream or the footer of a file.
type Outline = (ArrowSchema, IpcSchema, Vec<u64>);

/// Reads the schema message at the start of a stream.
fn head(messages: &mut Messages) -> PolarsResult<Outline> {
    let Some(first) = messages.next()? else {
        polars_bail!(ComputeError: "it has no columns")
    };
    let whole = messages.read(0..first.body.start)?;
    let metadata = read_stream_metadata(&mut whole.as_slice())?;
    Ok((metadata.schema, metadata.ipc_schema, Vec::new()))
}

/// Reads the footer of a file, which is before its own length and the magic.
fn footer(messages: &mut Messages) -> PolarsResult<Outline> {
    let end = messages.bytes.saturating_sub(10);
    let tail = messages.read(end..messages.bytes)?;
    let length = tail
        .first_chunk()
        .map(|bytes| i32::from_le_bytes(*bytes))
        .and_then(|length| u64::try_from(length).ok());
    let start = length
        .and_then(|length| end.checked_sub(length))
        .filter(|_| tail.ends_with(MAGIC));
    let Some(start) = start else {
        polars_bail!(ComputeError: "its end is missing")
    };
    let metadata = deserialize_footer(&messages.read(start..end)?, messages.bytes)?;
    let place =
        |block: &polars_arrow_format::ipc::Block| u64::try_from(block.offset).unwrap_or(u64::MAX);
    let dictionaries = metadata.dictionaries.iter().flatten().map(place).collect();
    messages.next = Next::Listed(
        metadata
            .blocks
            .iter()
            .map(place)
            .collect::<Vec<_>>()
            .into_iter(),
    );
    Ok((
        metadata.schema.as_ref().clone(),
        metadata.ipc_schema,
        dictionaries,
    ))
}

impl RowSource for IpcRows {
    fn next_batch(&mut self) -> Result<Option<SourceBatch>, SourceError> {
        let first = !std::mem::replace(&mut self.started, true);
        while self.decoded.height() < BATCH_ROWS && self.advance()? {}
        if self.decoded.height() == 0 && !first {
            return Ok(None);
        }
        let first_row = self.done + 1;
        if self.decoded.width() == 0 {
            // A file without a record batch still has its columns.
            let columns = empty_columns(&self.fields);
            return Ok(Some(SourceBatch {
                columns,
                first_row,
                ..SourceBatch::default()
            }));
        }
        let mut taken = self.take(BATCH_ROWS);
        taken.rechunk_mut();
        let (height, unread) = (taken.height(), self.unread.list());
        Ok(Some(SourceBatch {
            height,
            columns: taken.into_columns(),
            first_row,
            unread,
            ..SourceBatch::default()
        }))
    }

    fn columns(&self) -> &[String] {
        &self.names
    }

    fn notes(&self) -> Vec<String> {
        self.unread.notes()
    }

    fn bytes_read(&self) -> u64 {
        let (bytes, rows) = self.messages.last;
        let left =
            u128::from(bytes) * self.decoded.height().min(rows) as u128 / rows.max(1) as u128;
        self.messages.at.saturating_sub(left as u64)
    }
}

#[cfg(test)]
mod tests;
