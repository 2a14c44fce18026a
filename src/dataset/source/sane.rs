//! Checks that the figures in a file fit its size. The decoders allocate what a file says it holds, and a damaged figure would abort the
//! program for want of memory, which cannot be caught; so the figures are checked before anything is decoded.

use std::io::Cursor;

use polars::prelude::{PolarsResult, polars_bail, polars_ensure};
use polars_arrow_format::ipc::{MessageHeaderRef, MessageRef, RecordBatchRef};
use polars_buffer::Buffer;
use polars_parquet::parquet::{
    metadata::{ColumnChunkMetadata, FileMetadata},
    page::CompressedPage,
    read::PageReader,
};

/// No file decompresses to more than this times its size, and a row takes some bytes however well it compresses.
const MAX_RATIO: u64 = 4_096;
/// Small files may unpack to this.
const SMALL: u64 = 16 << 20;

pub(super) const DAMAGED: &str = "it says that it holds more than fits into it";

/// The most rows, or decompressed bytes, that are believed of so many bytes of a file.
fn most(bytes: usize) -> u64 {
    SMALL + MAX_RATIO * bytes as u64
}

/// Checks the figures of a Parquet file of so many bytes: rows of groups, and values and places of columns.
pub(super) fn parquet(bytes: u64, metadata: &FileMetadata) -> PolarsResult<()> {
    let length = usize::try_from(bytes).unwrap_or(usize::MAX);
    for group in &metadata.row_groups {
        polars_ensure!(group.num_rows() as u64 <= most(length), ComputeError: DAMAGED);
        for column in group.parquet_columns() {
            let nested = column.descriptor().descriptor.max_rep_level > 0;
            let values = column.num_values();
            polars_ensure!(values >= 0 && values as u64 <= most(length), ComputeError: DAMAGED);
            polars_ensure!(nested || values as usize == group.num_rows(), ComputeError: "a column has not as many values as rows");
            let range = column.byte_range();
            polars_ensure!(range.start <= range.end && range.end <= bytes, ComputeError: DAMAGED);
        }
    }
    Ok(())
}

/// Checks the figures of one column of a row group, given its bytes: values and sizes of pages. Gives back the bytes to decode.
pub(super) fn parquet_column(chunk: Vec<u8>, column: &ColumnChunkMetadata) -> PolarsResult<Buffer<u8>> {
    let length = chunk.len();
    let chunk = Buffer::from(chunk);
    let mut reader = PageReader::new(Cursor::new(chunk.clone()), column, Vec::new(), length);
    let unpacked = |size: usize| size as u64 <= most(length);
    // A dictionary's figures cannot be seen here; they are 31 bits, never negative.
    reader.read_dict()?;
    let mut left = column.num_values() as usize;
    for page in reader {
        if let CompressedPage::Data(page) = page? {
            polars_ensure!(page.num_values() <= left && unpacked(page.uncompressed_size()), ComputeError: DAMAGED);
            polars_ensure!(page.null_count().is_none_or(|nulls| nulls <= page.num_values()), ComputeError: DAMAGED);
            left -= page.num_values();
        }
    }
    Ok(chunk)
}

/// Checks the figures of a message of an Arrow IPC file, given its body: rows of a batch or dictionary, and sizes of buffers.
pub(super) fn ipc_batch(message: &MessageRef<'_>, body: &[u8]) -> PolarsResult<()> {
    match message.header()? {
        Some(MessageHeaderRef::RecordBatch(batch)) => batch_fits(&batch, body),
        Some(MessageHeaderRef::DictionaryBatch(dictionary)) => dictionary.data()?.map_or(Ok(()), |batch| batch_fits(&batch, body)),
        _ => Ok(()),
    }
}

fn batch_fits(batch: &RecordBatchRef<'_>, body: &[u8]) -> PolarsResult<()> {
    let believed = |count: i64| u64::try_from(count).is_ok_and(|count| count <= most(body.len()));
    polars_ensure!(believed(batch.length()?), ComputeError: DAMAGED);
    for node in batch.nodes()?.iter().flat_map(|nodes| nodes.iter()) {
        polars_ensure!(believed(node.length()) && believed(node.null_count()), ComputeError: DAMAGED);
    }
    let packed = batch.compression()?.is_some();
    for buffer in batch.buffers()?.iter().flat_map(|buffers| buffers.iter()) {
        let range = usize::try_from(buffer.offset()).ok().zip(usize::try_from(buffer.length()).ok());
        let bytes = range.and_then(|(start, length)| body.get(start..start.checked_add(length)?));
        let Some(bytes) = bytes else { polars_bail!(ComputeError: DAMAGED) };
        if packed && !bytes.is_empty() {
            // A packed buffer begins with its length unpacked, -1 where it is not packed after all.
            let length = bytes.first_chunk::<8>().map(|length| i64::from_le_bytes(*length));
            let fits = length.is_some_and(|length| length == -1 || u64::try_from(length).is_ok_and(|length| length <= most(bytes.len())));
            polars_ensure!(fits, ComputeError: DAMAGED);
        }
    }
    Ok(())
}
