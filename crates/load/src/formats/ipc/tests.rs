//! Tests of Arrow IPC in both formats: order, skipping, columns that cannot be read, and truncated files.

use std::{fs::File, io::Write as _};

use polars::prelude::{
    DataType, IntoColumn, IpcCompression, IpcStreamWriter, IpcWriter, NamedFrom, SerWriter, Series,
};

use super::*;

fn part(first: usize, rows: usize) -> DataFrame {
    let rows = first..first + rows;
    let texts: Vec<Option<String>> = rows
        .clone()
        .map(|row| (row % 5 > 0).then(|| format!("row {row}")))
        .collect();
    let numbers: Vec<f64> = rows.clone().map(|row| row as f64 / 3.0).collect();
    let whole: Vec<i64> = rows.clone().map(|row| row as i64).collect();
    let columns = [
        Series::new("text".into(), texts),
        Series::new("number".into(), numbers),
        Series::new("whole".into(), whole),
    ];
    DataFrame::new(
        rows.len(),
        columns.into_iter().map(IntoColumn::into_column).collect(),
    )
    .expect("valid")
}

/// A file with a record batch for each of these row counts.
fn file(batches: &[usize], stream: bool, compression: Option<IpcCompression>) -> File {
    let mut parts = Vec::new();
    for &rows in batches {
        parts.push(part(parts.iter().map(DataFrame::height).sum(), rows));
    }
    let mut bytes = Vec::new();
    if stream {
        // Concatenated streams: the first with its columns, all without their end marker, which is eight bytes.
        for mut part in std::iter::once(part(0, 0)).chain(parts) {
            let mut stream = Vec::new();
            IpcStreamWriter::new(&mut stream)
                .with_compression(compression)
                .finish(&mut part)
                .expect("valid");
            let columns =
                8 + u32::from_le_bytes(*stream[4..].first_chunk().expect("valid")) as usize;
            bytes.extend_from_slice(
                &stream[if bytes.is_empty() { 0 } else { columns }..stream.len() - 8],
            );
        }
        bytes.extend_from_slice(&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    } else {
        let fields = vec![
            polars_arrow::io::ipc::IpcField {
                fields: Vec::new(),
                dictionary_id: None
            };
            3
        ];
        let mut writer = IpcWriter::new(&mut bytes)
            .with_compression(compression)
            .batched(part(0, 0).schema(), fields)
            .expect("valid");
        for part in &parts {
            writer.write_batch(part).expect("valid");
        }
        writer.finish().expect("valid");
    }
    let mut file = tempfile::tempfile().expect("valid");
    file.write_all(&bytes).expect("valid");
    file
}

fn open(file: File, columns: &'static [&'static str]) -> Result<IpcRows, SourceError> {
    let wanted: ColumnFilter = Arc::new(move |name: &str| columns.contains(&name));
    IpcRows::open(Arc::new(file), &wanted)
}

const BATCHES: &[usize] = &[1_000, 0, 1, 20_000, 8_192, 7_191, 30_000, 5];

#[test]
fn rows_come_in_order_whatever_the_record_batches_and_few_are_held() {
    let total: usize = BATCHES.iter().sum();
    for stream in [false, true] {
        for compression in [
            None,
            Some(IpcCompression::LZ4),
            Some(IpcCompression::default()),
        ] {
            let mut rows =
                open(file(BATCHES, stream, compression), &["whole", "text"]).expect("valid");
            assert_eq!(rows.columns(), ["text", "number", "whole"]);
            let (mut seen, mut read) = (0, 0);
            while let Some(batch) = rows.next_batch().expect("valid") {
                assert_eq!(
                    (batch.first_row, batch.height),
                    (seen as u64 + 1, BATCH_ROWS.min(total - seen))
                );
                let frame = DataFrame::new(batch.height, batch.columns).expect("valid");
                assert!(
                    frame.equals_missing(
                        &part(seen, batch.height)
                            .select(["text", "whole"])
                            .expect("valid")
                    ),
                    "{stream} {seen}"
                );
                seen += batch.height;
                // The largest record batch, and the rest of the one before that did not fill a batch.
                assert!(rows.decoded.height() < 30_000 + BATCH_ROWS);
                assert!(rows.bytes_read() >= read && rows.bytes_read() <= rows.messages.bytes);
                read = rows.bytes_read();
            }
            assert_eq!((seen, rows.bytes_read()), (total, rows.messages.bytes));
        }
    }
}

#[test]
fn a_column_that_cannot_be_read_is_named_and_not_called_damage() {
    use polars_arrow_format::ipc::{self, Type};
    let field = |name: &str, of: Type, children: Option<Vec<ipc::Field>>| ipc::Field {
        name: Some(name.to_owned()),
        nullable: true,
        type_: Some(of),
        dictionary: None,
        children,
        custom_metadata: None,
    };
    let text = |name: &str| field(name, Type::Utf8(Box::default()), None);
    let views = || {
        field(
            "y",
            Type::ListView(Box::default()),
            Some(vec![text("item")]),
        )
    };
    for (fields, says) in [
        (
            vec![
                text("a"),
                field("x", Type::RunEndEncoded(Box::default()), None),
            ],
            Some("`x` of the Arrow type run-end encoded"),
        ),
        (
            vec![field(
                "z",
                Type::Struct(Box::default()),
                Some(vec![views()]),
            )],
            Some("`y` of the Arrow type list view"),
        ),
        (vec![text("a"), text("b")], None),
    ] {
        let schema = ipc::Schema {
            endianness: ipc::Endianness::Little,
            fields: Some(fields),
            custom_metadata: None,
            features: None,
        };
        let message = ipc::Message {
            version: ipc::MetadataVersion::V5,
            header: Some(ipc::MessageHeader::Schema(Box::new(schema))),
            body_length: 0,
            custom_metadata: None,
        };
        let mut builder = planus::Builder::new();
        let mut body = builder.finish(message, None).to_vec();
        body.resize(body.len().next_multiple_of(8), 0);
        let mut file = tempfile::tempfile().expect("valid");
        file.write_all(&[&[0xff; 4][..], &(body.len() as u32).to_le_bytes(), &body].concat())
            .expect("valid");
        match (open(file, &["a"]).err(), says) {
            (Some(told), Some(says)) => assert!(told.to_string().contains(says), "{told}"),
            (told, says) => assert!(told.is_none() && says.is_none(), "{told:?} {says:?}"),
        }
    }
}

#[test]
fn a_file_without_rows_has_its_columns_once() {
    for (stream, batches) in [(false, &[][..]), (true, &[]), (false, &[0]), (true, &[0])] {
        let mut rows = open(file(batches, stream, None), &["text"]).expect("valid");
        let batch = rows.next_batch().expect("valid").expect("valid");
        assert_eq!(
            (batch.height, batch.columns.len(), batch.columns[0].dtype()),
            (0, 1, &DataType::String)
        );
        assert!(rows.next_batch().expect("valid").is_none());
    }
}

#[test]
fn a_truncated_file_gives_its_rows_before_the_cut_and_is_damaged() {
    for stream in [false, true] {
        let whole = file(&[10_000; 4], stream, None);
        let length = whole.metadata().expect("valid").len();
        for cut in [1, 11, length / 3, length - 9] {
            let file = file(&[10_000; 4], stream, None);
            file.set_len(length - cut).expect("valid");
            let read = open(file, &["whole"]).and_then(|mut rows| {
                let mut count = 0;
                while let Some(batch) = rows.next_batch()? {
                    count += batch.height;
                }
                Ok(count)
            });
            // The end marker of a stream carries no data.
            let ends_early = stream && cut <= 8;
            assert!(
                read.as_ref().map_or_else(
                    |error| error.to_string().starts_with("is damaged"),
                    |count| ends_early && *count == 40_000
                ),
                "{stream} {cut}: {read:?}"
            );
        }
    }
}
