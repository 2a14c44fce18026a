//! Metadata of an Arrow IPC file whose columns are written in place: magic, schema and the header of the single record batch before them,
//! the footer after them. Writing the columns belongs to `columns`.

use polars_arrow_format::ipc::{
    Block, Buffer, Endianness, Field, FieldNode, FixedSizeBinary, FloatingPoint, Footer, Int,
    LargeBinary, LargeUtf8, Message, MessageHeader, MetadataVersion, Precision, RecordBatch,
    Schema, TimeUnit, Timestamp, Type,
    planus::{Builder, WriteAsOffset},
};

use crate::error::FrameError;
use table::{StorageType, StoredColumn, rows::BODY_AT};

/// Offset of the record batch: the schema has the space before it.
const BATCH_AT: u64 = 16 << 10;
/// Space reserved for the header of the record batch.
const BATCH_HEADER: u64 = BODY_AT - BATCH_AT;
const MAGIC: &[u8; 6] = b"ARROW1";
/// Continuation marker before a message (since Arrow 0.15).
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Field node of a column in the batch header: null count, and buffers as (offset from the start of the columns, length).
pub(super) struct Node {
    pub(super) nulls: u64,
    pub(super) buffers: Vec<(u64, u64)>,
}

/// Returns the bytes before the columns.
pub(super) fn head(
    columns: &[StoredColumn],
    rows: u64,
    body: u64,
    nodes: &[Node],
) -> Result<Vec<u8>, FrameError> {
    let mut head = Vec::with_capacity(BODY_AT as usize);
    head.extend_from_slice(MAGIC);
    head.extend_from_slice(&[0, 0]);
    let schema = MessageHeader::Schema(Box::new(schema(columns)));
    message(&mut head, schema, 0, BATCH_AT)?;
    let node = |node: &Node| FieldNode {
        length: rows as i64,
        null_count: node.nulls as i64,
    };
    let buffer = |&(offset, length): &(u64, u64)| Buffer {
        offset: offset as i64,
        length: length as i64,
    };
    let batch = RecordBatch {
        length: rows as i64,
        nodes: Some(nodes.iter().map(node).collect()),
        buffers: Some(
            nodes
                .iter()
                .flat_map(|node| &node.buffers)
                .map(buffer)
                .collect(),
        ),
        compression: None,
        variadic_buffer_counts: None,
    };
    message(
        &mut head,
        MessageHeader::RecordBatch(Box::new(batch)),
        body,
        BODY_AT,
    )?;
    Ok(head)
}

/// Appends a message, padded to end at `end`.
fn message(
    head: &mut Vec<u8>,
    header: MessageHeader,
    body: u64,
    end: u64,
) -> Result<(), FrameError> {
    let message = Message {
        version: MetadataVersion::V5,
        header: Some(header),
        body_length: body as i64,
        custom_metadata: None,
    };
    let bytes = flat(&message);
    let room = end as usize - head.len() - 8;
    if bytes.len() > room {
        return Err(FrameError::TooManyColumns);
    }
    head.extend_from_slice(&CONTINUATION);
    head.extend_from_slice(&(room as i32).to_le_bytes());
    head.extend_from_slice(&bytes);
    head.resize(end as usize, 0);
    Ok(())
}

/// Returns the bytes after the columns.
pub(super) fn tail(columns: &[StoredColumn], body: u64) -> Vec<u8> {
    let block = Block {
        offset: BATCH_AT as i64,
        meta_data_length: BATCH_HEADER as i32,
        body_length: body as i64,
    };
    let footer = Footer {
        version: MetadataVersion::V5,
        schema: Some(Box::new(schema(columns))),
        dictionaries: Some(Vec::new()),
        record_batches: Some(vec![block]),
        custom_metadata: None,
    };
    let footer = flat(&footer);
    let mut tail = Vec::from(CONTINUATION);
    tail.extend_from_slice(&[0; 4]);
    tail.extend_from_slice(&footer);
    tail.extend_from_slice(&(footer.len() as i32).to_le_bytes());
    tail.extend_from_slice(MAGIC);
    tail
}

fn flat<T>(root: impl WriteAsOffset<T>) -> Vec<u8> {
    Builder::new().finish(root, None).to_vec()
}

fn schema(columns: &[StoredColumn]) -> Schema {
    let field = |(column, storage): &StoredColumn| Field {
        name: Some(column.name.to_owned()),
        nullable: true,
        type_: Some(type_of(*storage)),
        dictionary: None,
        children: Some(Vec::new()),
        custom_metadata: None,
    };
    Schema {
        endianness: Endianness::Little,
        fields: Some(columns.iter().map(field).collect()),
        custom_metadata: None,
        features: None,
    }
}

fn type_of(storage: StorageType) -> Type {
    match storage {
        StorageType::Float => Type::FloatingPoint(Box::new(FloatingPoint {
            precision: Precision::Double,
        })),
        // Days are whole numbers of the same width as all others.
        StorageType::Integer | StorageType::Day | StorageType::Flag => Type::Int(Box::new(Int {
            bit_width: 64,
            is_signed: true,
        })),
        StorageType::Time => Type::Timestamp(Box::new(Timestamp {
            unit: TimeUnit::Millisecond,
            timezone: Some("UTC".to_owned()),
        })),
        StorageType::Address => Type::FixedSizeBinary(Box::new(FixedSizeBinary { byte_width: 20 })),
        StorageType::Hex | StorageType::List => Type::LargeBinary(Box::new(LargeBinary {})),
        StorageType::Text => Type::LargeUtf8(Box::new(LargeUtf8 {})),
    }
}
