//! Plausibility checks of the sizes stated in a file. Decoders allocate the sizes that a file claims, and a corrupt size would abort the
//! program when memory runs out, which cannot be caught; so sizes are checked before anything is decoded.

use std::io::Cursor;

use polars::prelude::{PolarsResult, polars_bail, polars_ensure};
use polars_arrow_format::ipc::{MessageHeaderRef, MessageRef, RecordBatchRef};
use polars_buffer::Buffer;
use polars_parquet::parquet::{
    metadata::{ColumnChunkMetadata, FileMetadata},
    page::CompressedPage,
    read::PageReader,
};

/// Maximum ratio of decompressed size to file size; a row, too, takes some bytes however well it compresses.
const RATIO_MAX: u64 = 4_096;
/// Size to which even small files may decompress.
const SMALL: u64 = 16 << 20;

pub(super) const DAMAGED: &str = "it declares more data than it can contain";

/// Maximum plausible rows, or decompressed bytes, for a number of bytes of a file.
fn plausible_max(bytes: usize) -> u64 {
    SMALL + RATIO_MAX * bytes as u64
}

/// Checks the metadata of a Parquet file of `bytes` bytes: row counts of row groups, value counts and byte ranges of columns.
pub(super) fn parquet(bytes: u64, metadata: &FileMetadata) -> PolarsResult<()> {
    let length = usize::try_from(bytes).unwrap_or(usize::MAX);
    for group in &metadata.row_groups {
        polars_ensure!(group.num_rows() as u64 <= plausible_max(length), ComputeError: DAMAGED);
        for column in group.parquet_columns() {
            let nested = column.descriptor().descriptor.max_rep_level > 0;
            let values = column.num_values();
            polars_ensure!(values >= 0 && values as u64 <= plausible_max(length), ComputeError: DAMAGED);
            polars_ensure!(nested || values as usize == group.num_rows(), ComputeError: "the values of a column and the rows differ in number");
            let range = column.byte_range();
            polars_ensure!(range.start <= range.end && range.end <= bytes, ComputeError: DAMAGED);
        }
    }
    Ok(())
}

/// Checks the pages of one column chunk: value counts and sizes. Returns the bytes to decode.
pub(super) fn parquet_column(
    chunk: Vec<u8>,
    column: &ColumnChunkMetadata,
) -> PolarsResult<Buffer<u8>> {
    let length = chunk.len();
    let chunk = Buffer::from(chunk);
    let mut reader = PageReader::new(Cursor::new(chunk.clone()), column, Vec::new(), length);
    let unpacked = |size: usize| size as u64 <= plausible_max(length);
    // The sizes of a dictionary page cannot be seen here; they have 31 bits and are never negative.
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

/// Checks a message of an Arrow IPC file against its body: row counts of a batch or dictionary, and buffer sizes.
pub(super) fn ipc_batch(message: &MessageRef<'_>, body: &[u8]) -> PolarsResult<()> {
    match message.header()? {
        Some(MessageHeaderRef::RecordBatch(batch)) => batch_fits(&batch, body),
        Some(MessageHeaderRef::DictionaryBatch(dictionary)) => dictionary
            .data()?
            .map_or(Ok(()), |batch| batch_fits(&batch, body)),
        _ => Ok(()),
    }
}

fn batch_fits(batch: &RecordBatchRef<'_>, body: &[u8]) -> PolarsResult<()> {
    let believed =
        |count: i64| u64::try_from(count).is_ok_and(|count| count <= plausible_max(body.len()));
    polars_ensure!(believed(batch.length()?), ComputeError: DAMAGED);
    for node in batch.nodes()?.iter().flat_map(|nodes| nodes.iter()) {
        polars_ensure!(believed(node.length()) && believed(node.null_count()), ComputeError: DAMAGED);
    }
    let packed = batch.compression()?.is_some();
    for buffer in batch.buffers()?.iter().flat_map(|buffers| buffers.iter()) {
        let range = usize::try_from(buffer.offset())
            .ok()
            .zip(usize::try_from(buffer.length()).ok());
        let bytes = range.and_then(|(start, length)| body.get(start..start.checked_add(length)?));
        let Some(bytes) = bytes else {
            polars_bail!(ComputeError: DAMAGED)
        };
        if packed && !bytes.is_empty() {
            // A compressed buffer begins with its decompressed length, -1 where it is stored uncompressed.
            let length = bytes
                .first_chunk::<8>()
                .map(|length| i64::from_le_bytes(*length));
            let fits = length.is_some_and(|length| {
                length == -1
                    || u64::try_from(length)
                        .is_ok_and(|length| length <= plausible_max(bytes.len()))
            });
            polars_ensure!(fits, ComputeError: DAMAGED);
        }
    }
    Ok(())
}
