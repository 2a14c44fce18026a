//! The load of one table: its inputs, the location of its rows, and the reason why it is not read. Reading the rows belongs to `reader`.

use std::sync::LazyLock;

use super::{
    LoadContext, cached, logs,
    remote::{self, Located, Pulse},
};
use crate::{
    engine,
    error::ReadError,
    formats::{
        SourceError,
        locate::{self, LocatedFile},
    },
    manifest::TableManifest,
};
use frames::{cache::CacheBuildError, error::FrameError};
use model::{progress::Cancelled, schema::TableSchema, untrusted::DecodeError};

/// The section of a table that `dataset.toml` does not mention.
static PLAIN: LazyLock<TableManifest> = LazyLock::new(TableManifest::default);

/// The load of one table.
#[derive(Clone, Copy)]
pub(crate) struct TableLoad<'a> {
    pub(crate) context: &'a LoadContext<'a>,
    pub(crate) schema: &'static TableSchema,
    pub(crate) manifest: &'a TableManifest,
}

impl<'a> TableLoad<'a> {
    pub(crate) fn new(context: &'a LoadContext<'a>, schema: &'static TableSchema) -> Self {
        Self {
            context,
            schema,
            manifest: context.manifest.tables.get(schema.name).unwrap_or(&PLAIN),
        }
    }

    /// Reports progress in bytes. Fails if the load is canceled.
    pub(super) fn step(&self, done: u64, total: u64) -> Result<(), Cancelled> {
        self.context.progress.step(self.schema.name, done, total)
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.step(0, 0).is_err()
    }

    /// Whether it takes a while: the table is remote, or has to be imported into the cache first.
    pub(super) fn takes_a_while(&self) -> bool {
        // A start does not wait for the network.
        remote::is_remote(self.manifest)
            || self.context.cache.folder.is_some()
                && self
                    .local_files()
                    .is_ok_and(|files| cached::takes_a_while(self, &files))
    }

    fn local_files(&self) -> Result<Vec<LocatedFile>, TableLoadError> {
        Ok(locate::here(
            self.context.folder,
            self.schema.name,
            self.manifest,
        )?)
    }

    /// Lists the files of the table, local or remote.
    pub(super) fn locate(&self, pulse: &Pulse) -> Result<Located, TableLoadError> {
        if let Some(asked) = &self.manifest.logs {
            return logs::locate(self, asked, pulse);
        }
        if let Some(asked) = &self.manifest.engine {
            return engine::locate(self, asked);
        }
        if remote::is_remote(self.manifest) {
            return remote::locate(self);
        }
        Ok(Located {
            files: self.local_files()?,
            ..Located::default()
        })
    }
}

/// Total size of the files, as far as it is known.
pub(super) fn total_bytes(files: &[LocatedFile]) -> u64 {
    files
        .iter()
        .filter_map(|file| file.stamp().ok())
        .map(|stamp| stamp.bytes)
        .sum()
}

/// Reason why a table is not read.
pub(crate) enum TableLoadError {
    Cancelled,
    Unusable(String),
    /// A file was written to during the read.
    ChangedDuringRead,
    /// The import in the cache cannot be read back.
    Damaged,
    /// A remote file cannot be read: its URL, and the fault.
    Remote(String, wire::Fault),
}

impl TableLoadError {
    /// The reason in words for the user, unless they depend on where it is told.
    pub(crate) fn words(&self) -> Option<String> {
        match self {
            Self::Unusable(reason) => Some(reason.clone()),
            Self::Remote(url, fault) => Some(format!("`{url}` {fault}")),
            Self::Cancelled | Self::ChangedDuringRead | Self::Damaged => None,
        }
    }
}

impl From<CacheBuildError> for TableLoadError {
    fn from(fault: CacheBuildError) -> Self {
        match fault {
            CacheBuildError::Cancelled => Self::Cancelled,
            CacheBuildError::Damaged => Self::Damaged,
            CacheBuildError::Failed(reason) => {
                let advice =
                    "free disk space, or set another folder in `[cache] dir` of the configuration";
                Self::Unusable(format!("cannot be cached: {reason}; {advice}"))
            }
        }
    }
}

impl From<Cancelled> for TableLoadError {
    fn from(Cancelled: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl From<String> for TableLoadError {
    fn from(reason: String) -> Self {
        Self::Unusable(reason)
    }
}

/// What makes a table unusable, in its words.
macro_rules! unusable {
    ($($error:ty),*) => {$(
        impl From<$error> for TableLoadError {
            fn from(error: $error) -> Self {
                Self::Unusable(error.to_string())
            }
        }
    )*};
}

unusable!(SourceError, DecodeError, FrameError, ReadError);
