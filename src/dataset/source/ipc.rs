//! Rows of an Arrow IPC file (`.arrow`, `.ipc`, `.feather`), of the file or the stream format.

use std::io::Cursor;

use bytes::Bytes;
use polars::prelude::{DataFrame, IpcReader, IpcStreamReader, SerReader};

use super::{BATCH_ROWS, Batch, RowSource, Wanted, guarded, sane};

pub(super) struct IpcRows {
    names: Vec<String>,
    frame: DataFrame,
    bytes: u64,
    done: usize,
    started: bool,
}

impl IpcRows {
    pub(super) fn open(bytes: Vec<u8>, wanted: &Wanted) -> Result<Self, String> {
        let bytes = Bytes::from(bytes);
        let size = bytes.len() as u64;
        let (names, frame) = guarded("Arrow IPC", || {
            let file = bytes.starts_with(b"ARROW1");
            if file {
                sane::ipc_file(&bytes)?;
            } else {
                sane::ipc_stream(&bytes)?;
            }
            let names: Vec<String> = if file {
                IpcReader::new(Cursor::new(bytes.clone())).schema()?.iter_names().map(ToString::to_string).collect()
            } else {
                IpcStreamReader::new(Cursor::new(bytes.clone())).schema()?.iter_names().map(ToString::to_string).collect()
            };
            let columns: Vec<String> = names.iter().filter(|name| wanted(name)).cloned().collect();
            let columns = Some(columns).filter(|columns| !columns.is_empty());
            let frame = if file {
                IpcReader::new(Cursor::new(bytes)).with_columns(columns).set_rechunk(true).finish()?
            } else {
                IpcStreamReader::new(Cursor::new(bytes)).with_columns(columns).set_rechunk(true).finish()?
            };
            Ok((names, frame))
        })?;
        Ok(Self { names, frame, bytes: size, done: 0, started: false })
    }
}

impl RowSource for IpcRows {
    fn next_batch(&mut self) -> Result<Option<Batch>, String> {
        let first = !std::mem::replace(&mut self.started, true);
        let rows = BATCH_ROWS.min(self.frame.height() - self.done);
        if rows == 0 && !first {
            return Ok(None);
        }
        let columns = self.frame.slice(self.done as i64, rows).into_columns();
        let batch = Batch { columns, height: rows, first_row: self.done as u64 + 1, malformed: Vec::new() };
        self.done += rows;
        Ok(Some(batch))
    }

    fn columns(&self) -> &[String] {
        &self.names
    }

    fn bytes_read(&self) -> u64 {
        (u128::from(self.bytes) * self.done as u128 / self.frame.height().max(1) as u128) as u64
    }
}
