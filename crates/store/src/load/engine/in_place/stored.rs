//! Description and aggregates of a table in place, stored on disk for an offline start. With them, rows of a token that were fetched before
//! are found again.

use std::{
    io::{Cursor, Read as _},
    path::PathBuf,
};

use polars::prelude::{IpcStreamReader, IpcStreamWriter, SerReader as _, SerWriter as _};
use serde::{Deserialize, Serialize};

use super::{
    super::{
        rows::{copy_folder, keep, open_copy},
        server_of,
    },
    EngineSnapshot, LoadContext, LoadedAggregates, TableManifest, TableSchema, remote,
};
use crate::{cache::Key, wall_clock};
use model::time::Time;

/// First line of the file; the aggregates follow as an Arrow stream.
#[derive(Debug, Serialize, Deserialize)]
struct Record {
    at: i64,
    snapshot: EngineSnapshot,
    rows: u64,
    #[serde(default)]
    warnings: Vec<String>,
    notes: Vec<String>,
    mark: [u8; 32],
}

impl LoadedAggregates {
    /// Folder of the file, named by a hash of the table's section of `dataset.toml` and of the server.
    fn place(context: &LoadContext<'_>, schema: &TableSchema, manifest: &TableManifest) -> Option<PathBuf> {
        let key = Key::of(schema, manifest, &context.decimals, &context.blocks.files, &[]);
        let server = server_of(context, manifest.engine.as_ref()?)?;
        copy_folder(context, &[key.text(), &format!("{:?}", manifest.engine), &server])
    }

    pub(super) fn keep(&self, context: &LoadContext<'_>, schema: &TableSchema, manifest: &TableManifest) {
        let Some(place) = Self::place(context, schema, manifest) else { return };
        let Self { snapshot, rows, warnings, notes, hash, sums } = self;
        let (warnings, notes) = (warnings.clone(), notes.clone());
        let record = Record { at: wall_clock::now().0, snapshot: snapshot.clone(), rows: *rows, warnings, notes, mark: *hash };
        let kept = keep(&place, |out| {
            serde_json::to_writer(&mut *out, &record).map_err(|error| error.to_string())?;
            out.write_all(b"\n").map_err(|error| error.to_string())?;
            IpcStreamWriter::new(out).finish(&mut sums.clone()).map_err(|error| error.to_string())
        });
        if let Err(error) = kept {
            tracing::warn!("the summary of `{}` cannot be stored, so it is missing when the server does not answer: {error}", schema.name);
        }
    }

    /// The last stored state of the table, and its time.
    pub(super) fn kept(context: &LoadContext<'_>, schema: &TableSchema, manifest: &TableManifest) -> Option<(Self, Time)> {
        let place = Self::place(context, schema, manifest).filter(|_| remote::is_agreed(context, manifest))?;
        let mut bytes = Vec::new();
        open_copy(&place)?.read_to_end(&mut bytes).ok()?;
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let Record { at, snapshot, rows, warnings, notes, mark: hash } = serde_json::from_slice(&bytes[..end]).ok()?;
        let sums = IpcStreamReader::new(Cursor::new(&bytes[end + 1..])).finish().ok()?;
        Some((Self { snapshot, rows, warnings, notes, hash, sums }, Time(at)))
    }
}
