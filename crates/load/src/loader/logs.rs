//! Tables built from the logs of a node: transfers, and the holders counted from them. The logs are first read up to the newest final
//! block, and then loaded like files of the dataset's folder.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, atomic::Ordering},
};

use polars::prelude::DataFrame;

use super::{
    LoadContext,
    remote::{Located, Pulse, load_error_of, not_agreed},
    task::{TableLoad, TableLoadError},
};
use crate::{
    chain::{LogsAsked, TransferLogs},
    formats::locate,
    manifest::{LogTable, RowFilter, TableManifest},
};
use frames::frame_rows::FromFrame as _;
use model::{
    address::Address,
    findings::{Finding, Severity},
    progress::Cancelled,
    rows::TokenRow,
};
use wire::Fault;

/// Tables that are made of logs.
const TABLES: [&str; 2] = ["transfers", "holder_counts"];

/// The logs that tables are built from, by node.
#[derive(Debug, Default)]
pub struct NodeLogs(BTreeMap<String, Arc<TransferLogs>>);

impl NodeLogs {
    /// Sends no request. Tables of one node share its logs.
    pub(super) fn of(context: &LoadContext<'_>, tokens: &DataFrame) -> Self {
        let Some(wire) = context.wire else {
            return Self::default();
        };
        let mut asked: BTreeMap<&str, LogsAsked<'_>> = BTreeMap::new();
        for manifest in TABLES
            .iter()
            .filter_map(|name| context.manifest.tables.get(name))
        {
            let Some(LogTable { source, from_block }) = &manifest.logs else {
                continue;
            };
            let own = LogsAsked {
                source,
                from_block: *from_block,
                only: named_tokens(manifest),
            };
            let both = asked
                .remove(source.as_str())
                .map_or_else(|| own.clone(), |other| other.and(&own));
            asked.insert(source, both);
        }
        if asked.is_empty() {
            return Self::default();
        }
        let rows = TokenRow::rows(tokens);
        let logs = asked.iter().map(|(source, asked)| {
            (
                (*source).to_owned(),
                Arc::new(TransferLogs::new(wire, context.folder, asked, &rows)),
            )
        });
        Self(logs.collect())
    }
}

/// Tokens that `where` names, if it does.
fn named_tokens(manifest: &TableManifest) -> Option<BTreeSet<Address>> {
    let (_, filter) = manifest
        .filters
        .iter()
        .find(|(column, _)| column == "token_address")?;
    let RowFilter::OneOf(names) = filter else {
        return None;
    };
    names.iter().map(|name| Address::parse(name)).collect()
}

/// Brings the logs up to date, and lists the files of their rows.
pub(super) fn locate(
    load: &TableLoad<'_>,
    asked: &LogTable,
    pulse: &Pulse,
) -> Result<Located, TableLoadError> {
    let context = load.context;
    let Some(logs) = context.logs.0.get(&asked.source) else {
        return Err(TableLoadError::Unusable(format!(
            "its rows are from `node://{}`, but only local files are read",
            asked.source
        )));
    };
    let step = |done: u64, total: u64| {
        pulse.done.store(done, Ordering::Relaxed);
        pulse.total.store(total, Ordering::Relaxed);
        if pulse.watch.stopped.load(Ordering::Acquire) {
            Err(Cancelled)
        } else {
            Ok(())
        }
    };
    let (read, origin) = (logs.read(&step), logs.origin());
    match &read.fault {
        Some(Fault::Stopped) => return Err(TableLoadError::Cancelled),
        Some(fault @ Fault::Refused(_)) if read.files.is_empty() => {
            return Err(not_agreed(&origin, fault));
        }
        Some(fault) if read.files.is_empty() => return Err(load_error_of(&origin, fault.clone())),
        _ => {}
    }
    let mut located = Located {
        from_logs: Some(logs.source().to_owned()),
        ..Located::default()
    };
    let mut files = read.files.clone();
    if load.schema.name == TABLES[1] {
        let (file, notes) = logs
            .holder_counts(&step)
            .map_err(|fault| load_error_of(&origin, fault))?;
        for note in notes {
            let severity = if note.is_warning {
                Severity::Warning
            } else {
                Severity::Note
            };
            let finding = Finding::new(severity, &file, note.says);
            located.notes.push(match note.token {
                Some(token) => finding.column("holders").value(token.to_string()),
                None => finding,
            });
        }
        files = vec![file];
    }
    let first = files.first().cloned().unwrap_or_default();
    let note = |severity, says: String| Finding::new(severity, &first, says);
    match &read.fault {
        // What came before the fault counts too.
        Some(fault) => located.notes.push(note(
            Severity::Warning,
            format!("the rows are not up to date: `{origin}` {fault}"),
        )),
        None => located.notes.push(note(
            Severity::Note,
            format!(
                "the rows reach block {}; later blocks are not final yet",
                read.end
            ),
        )),
    }
    located.notes.extend(
        read.notes
            .iter()
            .map(|says| note(Severity::Note, says.clone())),
    );
    located.as_of = read.as_of.filter(|_| read.fault.is_some());
    located.files = locate::by_path(context.folder, &files)?;
    Ok(located)
}
