//! Description and counts of a table at an engine, stored on disk for an offline start. With them, rows of a token that were fetched before
//! can be used again.

use std::{
    io::{BufRead as _, BufReader},
    path::PathBuf,
};

use polars::prelude::{
    IpcCompression, IpcStreamReader, IpcStreamWriter, SerReader as _, SerWriter as _,
};

use super::{
    super::{
        rows::{copy_folder, keep, open_copy},
        server_of,
    },
    CountedTable, TableLoad, remote,
};
use crate::loader::cached::key_of;

impl CountedTable {
    /// Folder of the file, named by a hash of the table's section of `dataset.toml` and of the server.
    fn place(load: &TableLoad<'_>) -> Option<PathBuf> {
        let TableLoad {
            context,
            schema,
            manifest,
        } = *load;
        let key = key_of(
            schema,
            manifest,
            &context.decimals,
            &context.blocks.files,
            &[],
        );
        let server = server_of(context, manifest.engine.as_ref()?)?;
        copy_folder(
            context,
            &[key.text(), &format!("{:?}", manifest.engine), &server],
        )
    }

    /// Stores the state; its first line, and the counts after it as an Arrow stream, compressed, as it is encoded in memory.
    pub(super) fn keep(&self, load: &TableLoad<'_>) {
        let Some(place) = Self::place(load) else {
            return;
        };
        let kept = keep(&place, |out| {
            serde_json::to_writer(&mut *out, &self.state)?;
            out.write_all(b"\n")?;
            Ok(IpcStreamWriter::new(out)
                .with_compression(Some(IpcCompression::LZ4))
                .finish(&mut self.counts.clone())?)
        });
        if let Err(error) = kept {
            tracing::warn!(
                "cannot store the summary of `{}`; it will be missing when the server does not respond: {error}",
                load.schema.name
            );
        }
    }

    /// The last stored state of the table.
    pub(super) fn kept(load: &TableLoad<'_>) -> Option<Self> {
        let place = Self::place(load).filter(|_| remote::is_agreed(load))?;
        let (mut file, mut state) = (BufReader::new(open_copy(&place)?), Vec::new());
        file.read_until(b'\n', &mut state).ok()?;
        let state = serde_json::from_slice(&state).ok()?;
        let counts = IpcStreamReader::new(file).finish().ok()?;
        Some(Self { state, counts })
    }
}
