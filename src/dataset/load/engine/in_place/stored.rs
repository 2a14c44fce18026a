//! The description and the sums of a table in place, kept on disk for an offline start. With them the rows of a token that were fetched
//! before are found again.

use std::io::{Cursor, Read as _};

use polars::prelude::{IpcStreamReader, IpcStreamWriter, SerReader as _, SerWriter as _};
use serde::{Deserialize, Serialize};

use super::{
    super::rows::{keep, place_of, whole},
    Context, EngineSnapshot, InPlaceTable, TableManifest, TableSchema, elsewhere,
};
use crate::dataset::{cache::Key, time::Time, wall_clock};

/// The first line of the file; the sums follow as an Arrow stream.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    at: i64,
    snapshot: EngineSnapshot,
    rows: u64,
    notes: Vec<String>,
    mark: [u8; 32],
}

impl InPlaceTable {
    /// The name of the file: a hash of all that `dataset.toml` says of the table.
    fn name(context: &Context<'_>, schema: &TableSchema, manifest: &TableManifest) -> [String; 2] {
        let key = Key::of(schema, manifest, &context.decimals, &context.blocks.files, &[]);
        [key.text().to_owned(), format!("{:?}", manifest.engine)]
    }

    pub(super) fn keep(&self, context: &Context<'_>, schema: &TableSchema, manifest: &TableManifest) {
        let name = Self::name(context, schema, manifest);
        let Some(place) = place_of(context, &name.each_ref().map(String::as_str)) else { return };
        let Self { snapshot, rows, notes, mark, sums } = self;
        let record = Record { at: wall_clock::now().0, snapshot: snapshot.clone(), rows: *rows, notes: notes.clone(), mark: *mark };
        let kept = keep(&place, |out| {
            serde_json::to_writer(&mut *out, &record).map_err(|error| error.to_string())?;
            out.write_all(b"\n").map_err(|error| error.to_string())?;
            IpcStreamWriter::new(out).finish(&mut sums.clone()).map_err(|error| error.to_string())
        });
        if let Err(error) = kept {
            tracing::warn!("what is known of `{}` cannot be kept, and is not there once nobody answers: {error}", schema.name);
        }
    }

    /// The table as it was last kept, and when.
    pub(super) fn kept(context: &Context<'_>, schema: &TableSchema, manifest: &TableManifest) -> Option<(Self, Time)> {
        let name = Self::name(context, schema, manifest);
        let place = place_of(context, &name.each_ref().map(String::as_str)).filter(|_| elsewhere::is_agreed(context, manifest))?;
        let mut bytes = Vec::new();
        whole(&place)?.read_to_end(&mut bytes).ok()?;
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let Record { at, snapshot, rows, notes, mark } = serde_json::from_slice(&bytes[..end]).ok()?;
        let sums = IpcStreamReader::new(Cursor::new(&bytes[end + 1..])).finish().ok()?;
        Some((Self { snapshot, rows, notes, mark, sums }, Time(at)))
    }
}
