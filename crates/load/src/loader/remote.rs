//! Tables with remote files: lists the objects, checks consent and budget, and stores the listing for use while the source is unreachable.
//! Objects are read like local files.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use glob::Pattern;
use serde::{Deserialize, Serialize};

use super::{
    LoadContext,
    bind::bind,
    forecast, row_filter,
    task::{TableLoad, TableLoadError},
};
use crate::{
    Dataset, RemoteOrigin, chain, engine,
    formats::{
        downloads::{self, ObjectParts, name_of},
        format_of,
        locate::{self, Answer, FILES_MAX, GLOB, LocatedFile},
        object::{FetchState, PART, RemoteFile},
        partition,
    },
    manifest::{Manifest, TableManifest},
};
use model::{
    findings::{Finding, Severity},
    private_files::replace,
    schema::TableSchema,
    time::Time,
    wall_clock::now,
};
use wire::{Fault, Object, RemoteClient, UrlPattern, amount};

/// Poll interval for cancellation of a load that waits for bytes.
const POLL_INTERVAL: Duration = Duration::from_millis(30);

impl Dataset {
    /// Message about tables whose rows are from an earlier load; `None` if all rows are from this one.
    pub fn stale_tables(&self) -> Option<String> {
        let stale = self
            .tables
            .iter()
            .filter_map(|table| Some((table.schema.name, table.stale_since()?)));
        let said: Vec<String> = stale
            .map(|(name, then)| format!("`{name}` from {then}"))
            .collect();
        (!said.is_empty()).then(|| {
            format!(
                "a source is unreachable; using earlier rows: {}",
                said.join(", ")
            )
        })
    }
}

/// Files of a table, remote ones as listed.
#[derive(Default)]
pub(crate) struct Located {
    pub(crate) files: Vec<LocatedFile>,
    /// Objects that `where` excludes by their partition folders.
    pub(crate) left_out: usize,
    /// Time of the listing, if it is not current.
    pub(crate) as_of: Option<Time>,
    /// Reason why the source is not queried.
    pub(crate) offline: Option<Fault>,
    /// Files of an earlier listing that are missing now.
    pub(crate) gone: Option<DisappearedFiles>,
    /// The node whose logs the files are made of, and what is to be said of them.
    pub(crate) from_logs: Option<String>,
    pub(crate) notes: Vec<Finding>,
}

/// Files that a pattern matched at an earlier load and no longer matches: their rows are gone too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DisappearedFiles {
    /// Time at which they were last listed.
    at: i64,
    count: usize,
    first: String,
}

/// Listing of the table's last load, as stored on disk.
#[derive(Debug, Default, Serialize, Deserialize)]
struct ListingRecord {
    at: i64,
    left_out: usize,
    objects: Vec<Object>,
    #[serde(default)]
    answers: Vec<Answer>,
    /// The files that disappeared most recently.
    #[serde(default)]
    gone: Option<DisappearedFiles>,
}

/// Paths that are URLs.
pub(super) fn urls(manifest: &TableManifest) -> impl Iterator<Item = &str> {
    manifest
        .path
        .iter()
        .map(String::as_str)
        .filter(|path| UrlPattern::is_url(path))
}

/// Whether any rows of the table are remote.
pub(super) fn is_remote(manifest: &TableManifest) -> bool {
    manifest.engine.is_some() || manifest.logs.is_some() || urls(manifest).next().is_some()
}

/// Origins for which the table needs the user's consent.
fn origins(manifest: &TableManifest) -> impl Iterator<Item = String> {
    let places = urls(manifest)
        .filter_map(|url| UrlPattern::parse(url).ok())
        .map(|place| place.origin());
    places.chain(manifest.engine.iter().map(engine::origin))
}

/// Nodes that the table is read from.
fn table_nodes(table: &TableManifest) -> impl Iterator<Item = &str> {
    table
        .node
        .as_deref()
        .into_iter()
        .chain(table.logs.as_ref().map(|logs| logs.source.as_str()))
}

/// Origins in the dataset that the user has not consented to yet, if consent is required.
pub fn origins_to_agree(folder: &Path, wire: &RemoteClient) -> Vec<String> {
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let mut origins = origins_of(folder, wire);
    origins.retain(|origin| wire.asks_first() && wire.may_ask(&real, origin).is_err());
    origins
}

/// Every origin that the tables of the dataset name.
pub fn origins_of(folder: &Path, wire: &RemoteClient) -> Vec<String> {
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let text = super::read_manifest(&real.join(crate::manifest::FILE)).unwrap_or_default();
    let manifest = Manifest::parse(&text).unwrap_or_default();
    let mut origins: Vec<String> = manifest
        .tables
        .values()
        // A source missing from the configuration cannot be queried.
        .filter(|table| {
            table
                .engine
                .as_ref()
                .is_none_or(|asked| wire.has_engine(&asked.source))
        })
        .flat_map(|table| {
            origins(table).chain(table_nodes(table).flat_map(|node| chain::origins(wire, node)))
        })
        .collect();
    origins.sort();
    origins.dedup();
    origins
}

/// Origin of a table that could not be loaded.
pub(super) fn unreached(context: &LoadContext<'_>, url: &str) -> RemoteOrigin {
    let named = || {
        UrlPattern::parse(url)
            .ok()
            .and_then(|place| Some(context.wire?.name_of(&place)))
    };
    let name = engine::source_of(url)
        .or_else(|| url.strip_prefix("node://"))
        .map(str::to_owned)
        .or_else(named);
    RemoteOrigin {
        sources: name.into_iter().collect(),
        unreached: true,
        ..RemoteOrigin::default()
    }
}

pub(crate) fn load_error_of(url: &str, fault: Fault) -> TableLoadError {
    match fault {
        Fault::Stopped => TableLoadError::Cancelled,
        Fault::Changed => TableLoadError::ChangedDuringRead,
        fault => TableLoadError::Remote(url.to_owned(), fault),
    }
}

/// Error for missing consent: nothing is wrong at the source, and nothing of it is shown.
pub(crate) fn not_agreed(url: &str, fault: &Fault) -> TableLoadError {
    TableLoadError::Unusable(format!("`{url}` {fault}"))
}

/// Message of a failure at the source, if that is why the table is not read: then the rows of the last load are used.
pub(crate) fn source_failure(manifest: &TableManifest, error: &TableLoadError) -> Option<String> {
    let all = || manifest.path.iter().all(|path| UrlPattern::is_url(path));
    match error {
        TableLoadError::Remote(..) => error.words(),
        TableLoadError::Unusable(_) if is_remote(manifest) => error.words(),
        // A local file that is being written is read once it is complete.
        TableLoadError::ChangedDuringRead if is_remote(manifest) && all() => {
            Some("it changed while it was read".to_owned())
        }
        _ => None,
    }
}

/// Lists the files that `dataset.toml` names, some of them remote.
pub(super) fn locate(load: &TableLoad<'_>) -> Result<Located, TableLoadError> {
    let TableLoad {
        context, manifest, ..
    } = *load;
    let (mut located, mut seen) = (Located::default(), HashSet::new());
    for spelled in &manifest.path {
        let found = if UrlPattern::is_url(spelled) {
            let (objects, left_out) = list(load, spelled)?;
            located.left_out += left_out;
            objects.into_iter().map(LocatedFile::remote).collect()
        } else {
            locate::by_path(context.folder, std::slice::from_ref(spelled))?
        };
        located.files.extend(
            found
                .into_iter()
                .filter(|file| seen.insert(file.path.clone())),
        );
        if located.files.len() > FILES_MAX {
            return Err(TableLoadError::Unusable(format!(
                "`{spelled}` matches more than {FILES_MAX} files"
            )));
        }
    }
    if located.files.is_empty() {
        return Err(TableLoadError::Unusable(
            "`where` excludes every file by its folder name; widen it in dataset.toml".to_owned(),
        ));
    }
    located.gone = missing_since(load, &located.files);
    let missing = missing(load, &located.files);
    if let (Some(wire), Some(first), true) = (context.wire, urls(manifest).next(), missing > 0) {
        let (needed, rows) = forecast::afford(load, wire, &located.files, missing, first)?;
        tell(load, &located.files, needed, rows);
    }
    Ok(located)
}

/// Bytes of remote files that are not stored locally yet; 0 for a table that is in the cache.
fn missing(load: &TableLoad<'_>, files: &[LocatedFile]) -> u64 {
    if super::cached::cache_location(load, files).is_some_and(|cached| cached.location.exists()) {
        return 0;
    }
    let cache = load.context.cache.folder.as_deref();
    objects(files)
        .map(|object| cache.map_or(object.bytes, |cache| ObjectParts::missing_of(cache, object)))
        .sum()
}

/// Reports the size of the coming download.
fn tell(load: &TableLoad<'_>, files: &[LocatedFile], missing: u64, rows: Option<String>) {
    let count = objects(files).count();
    let requests = missing.div_ceil(PART) + count as u64;
    let (files, amount) = (if count == 1 { "file" } else { "files" }, amount(missing));
    let (table, rows) = (
        load.schema.name,
        rows.map_or_else(String::new, |rows| format!(" of {rows} rows")),
    );
    load.context
        .progress
        .fetching(&format!("`{table}`: {count} remote {files}, up to {amount}{rows} to download, about {requests} requests"));
}

pub(super) fn objects(files: &[LocatedFile]) -> impl Iterator<Item = &Object> {
    files.iter().filter_map(LocatedFile::object)
}

pub(super) fn answers(files: &[LocatedFile]) -> impl Iterator<Item = &Answer> {
    files.iter().filter_map(LocatedFile::answer)
}

/// Lists the objects that a URL matches, by name, and counts those that `where` excludes.
fn list(load: &TableLoad<'_>, url: &str) -> Result<(Vec<Object>, usize), TableLoadError> {
    let TableLoad {
        context,
        schema,
        manifest,
    } = *load;
    let mut place = UrlPattern::parse(url).map_err(|reason| {
        TableLoadError::Unusable(format!("`{}` {reason}", UrlPattern::without_secrets(url)))
    })?;
    let Some(wire) = context.wire else {
        return Err(TableLoadError::Unusable(format!(
            "`{url}` is remote, but only local files are read"
        )));
    };
    wire.may_ask(context.folder, &place.origin())
        .map_err(|fault| not_agreed(url, &fault))?;
    let name = place.path.rsplit('/').next().unwrap_or_default().to_owned();
    if !place.is_pattern() && !place.path.ends_with('/') && format_of(&name).is_none() {
        place.path.push('/');
    }
    let mut found = wire
        .find(&place, locate::ENTRIES_MAX, &|| load.is_stopped())
        .map_err(|fault| load_error_of(url, fault))?;
    if place.is_pattern() || place.path.ends_with('/') {
        let below = place.url(if place.is_pattern() { "" } else { &place.path });
        let pattern = Pattern::new(&place.path)
            .map_err(|error| format!("`{url}` is not a glob: {}", error.msg))?;
        found.retain(|object| {
            let path = object.url.strip_prefix(&below).unwrap_or_default();
            let hidden = || format!("/{path}").contains("/.") || format!("/{path}").contains("/_");
            let meant = if place.is_pattern() {
                pattern.matches_with(path, GLOB)
            } else {
                !hidden()
            };
            meant && object.bytes > 0 && format_of(path).is_some()
        });
        if found.is_empty() {
            let reason = "matches no file of a known format; check its path in dataset.toml, and that the files still exist";
            return Err(load_error_of(url, Fault::Unavailable(reason.to_owned())));
        }
    }
    found.sort_by(|a, b| a.url.cmp(&b.url));
    let all = found.len();
    found.retain(|object| is_kept(schema, manifest, object));
    let left_out = all - found.len();
    Ok((found, left_out))
}

/// Whether `where` may keep rows of the object, judging by its partition folders.
fn is_kept(schema: &'static TableSchema, manifest: &TableManifest, object: &Object) -> bool {
    let parts = partition::parts(&object.url);
    let names: Vec<String> = parts.iter().map(|(name, _)| name.clone()).collect();
    let Ok(bound) = bind(schema, manifest, &names) else {
        return true;
    };
    manifest.filters.iter().all(|(column, rule)| {
        let ours = bound.iter().find(|bound| bound.column.name == column);
        let theirs = ours
            .and_then(|bound| bound.raw.as_deref())
            .unwrap_or(column);
        // A column that the loader converts is filtered row by row.
        let plain = ours.is_none_or(|bound| {
            bound.rule.values.is_empty()
                && bound.rule.format.is_none()
                && bound.rule.scale.is_none()
        });
        let part = parts
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(theirs))
            .filter(|_| plain);
        part.is_none_or(|(_, value)| {
            row_filter::may_hold(rule, value, ours.map(|bound| bound.column.kind))
        })
    })
}

fn record_path(load: &TableLoad<'_>) -> Option<PathBuf> {
    let TableLoad {
        context, manifest, ..
    } = *load;
    let folder = downloads::folder(context.cache.folder.as_deref()?);
    let rules = format!("{:?}", manifest.filters);
    let asked = match &manifest.engine {
        Some(asked) => Some(format!(
            "{asked:?} of {}",
            engine::server_of(context, asked)?
        )),
        None => None,
    };
    let texts: Vec<&str> = manifest
        .path
        .iter()
        .map(String::as_str)
        .chain([rules.as_str()])
        .chain(asked.as_deref())
        .collect();
    Some(folder.join(format!("{}.listed", name_of(&texts))))
}

fn read_record(load: &TableLoad<'_>) -> Option<ListingRecord> {
    serde_json::from_slice(&fs::read(record_path(load)?).ok()?).ok()
}

/// Files of the last listing that are missing from this one or, if none is, those that disappeared before.
fn missing_since(load: &TableLoad<'_>, files: &[LocatedFile]) -> Option<DisappearedFiles> {
    let before = read_record(load)?;
    let now: HashSet<&str> = objects(files).map(|object| object.url.as_str()).collect();
    let mut went = before
        .objects
        .iter()
        .filter(|object| !now.contains(object.url.as_str()));
    let Some(first) = went.next() else {
        return before
            .gone
            .filter(|gone| !now.contains(gone.first.as_str()));
    };
    Some(DisappearedFiles {
        at: before.at,
        count: 1 + went.count(),
        first: first.url.clone(),
    })
}

impl Located {
    /// Finding about the missing files.
    pub(super) fn gone_note(&self) -> Option<Finding> {
        let DisappearedFiles { at, count, first } = self.gone.as_ref()?;
        let more = if *count > 1 {
            format!(" (the same is true of {} more)", count - 1)
        } else {
            String::new()
        };
        let reason = format!(
            "the file existed at {} and is no longer listed{more}; its rows are excluded",
            Time(*at)
        );
        Some(Finding::new(Severity::Warning, first, reason))
    }
}

/// Stores the listing for offline loads.
pub(super) fn remember(load: &TableLoad<'_>, located: &Located) {
    let Some(record) = record_path(load).filter(|_| located.offline.is_none()) else {
        return;
    };
    let objects: Vec<Object> = objects(&located.files).cloned().collect();
    let answers = answers(&located.files).cloned().collect();
    let Ok(text) = serde_json::to_vec(&ListingRecord {
        at: now().0,
        left_out: located.left_out,
        objects,
        answers,
        gone: located.gone.clone(),
    }) else {
        return;
    };
    let write = || {
        fs::create_dir_all(record.parent().unwrap_or(Path::new(".")))?;
        replace(&record, text)
    };
    if let Some(cache) = load.context.cache.folder.as_deref() {
        downloads::evict(cache, load.context.cache.size_max / 4);
    }
    if let Err(error) = write() {
        tracing::warn!(
            "cannot store the listing; it will be missing when the source does not respond: {error}"
        );
    }
}

/// Restores the listing of the last load, for an offline load; `why` is the reason why the source is not queried.
pub(super) fn recall(load: &TableLoad<'_>, why: String) -> Option<Located> {
    let TableLoad {
        context, manifest, ..
    } = *load;
    // Rows of logs stay in the dataset's folder by themselves.
    if manifest.logs.is_some() {
        return None;
    }
    let listed = read_record(load).filter(|_| is_agreed(load))?;
    let here = manifest
        .path
        .iter()
        .filter(|path| !UrlPattern::is_url(path))
        .cloned()
        .collect::<Vec<_>>();
    let mut files = if here.is_empty() {
        Vec::new()
    } else {
        locate::by_path(context.folder, &here).ok()?
    };
    // Rows of the requested snapshot are not stale.
    let is_old = !context
        .snapshot
        .is_some_and(|snapshot| listed.answers.iter().all(|answer| snapshot.is_of(answer)));
    files.extend(listed.objects.into_iter().map(LocatedFile::remote));
    files.extend(listed.answers.into_iter().map(LocatedFile::answered));
    let (as_of, offline) = (
        is_old.then_some(Time(listed.at)),
        Some(Fault::Unavailable(why)),
    );
    Some(Located {
        files,
        left_out: listed.left_out,
        as_of,
        offline,
        gone: listed.gone,
        ..Located::default()
    })
}

/// Whether the user consented to every origin of the table: without consent the rows of earlier loads are not shown either.
pub(crate) fn is_agreed(load: &TableLoad<'_>) -> bool {
    let LoadContext { wire, folder, .. } = load.context;
    origins(load.manifest)
        .all(|origin| wire.is_some_and(|wire| wire.may_ask(folder, &origin).is_ok()))
}

/// Finding about a table whose rows are from an earlier load.
pub(crate) fn stale_note(file: &str, then: Time, why: &str) -> Finding {
    Finding::new(
        Severity::Warning,
        file,
        format!("the rows are from {then}: {why}"),
    )
}

/// Progress of a load of objects, for the thread that watches it.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    pub(crate) watch: Arc<FetchState>,
    pub(super) done: AtomicU64,
    pub(super) total: AtomicU64,
    ended: AtomicBool,
}

/// Runs `work`, while a second thread polls for cancellation, so that a wait for bytes ends at once.
pub(crate) fn cancellable<T>(load: &TableLoad<'_>, pulse: &Pulse, work: impl FnOnce() -> T) -> T {
    struct End<'a>(&'a AtomicBool);
    impl Drop for End<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }
    std::thread::scope(|scope| {
        let attend = || {
            while !pulse.ended.load(Ordering::Acquire) {
                let (done, total) = (
                    pulse.done.load(Ordering::Relaxed),
                    pulse.total.load(Ordering::Relaxed),
                );
                if load.step(done, total).is_err() {
                    pulse.watch.stopped.store(true, Ordering::Release);
                    return;
                }
                std::thread::park_timeout(POLL_INTERVAL);
            }
        };
        // Without the thread the load checks between two batches, as for local files.
        let thread = std::thread::Builder::new()
            .name("attend".into())
            .spawn_scoped(scope, attend)
            .ok();
        let end = End(&pulse.ended);
        let outcome = work();
        drop(end);
        if let Some(thread) = thread {
            thread.thread().unpark();
        }
        outcome
    })
}

/// Opens the object as a file; with `offline` only its locally stored parts are read.
pub(super) fn open(
    context: &LoadContext<'_>,
    object: &Object,
    pulse: &Pulse,
    offline: Option<&Fault>,
) -> Result<Arc<RemoteFile>, TableLoadError> {
    let wire = context
        .wire
        .ok_or_else(|| TableLoadError::Unusable("only local files are read".to_owned()))?;
    let cache = context.cache.folder.as_deref();
    let file = RemoteFile::open(
        wire,
        cache,
        object,
        Arc::clone(&pulse.watch),
        offline.cloned(),
    );
    let file = file.map_err(|error| {
        TableLoadError::Unusable(format!(
            "cannot be stored: {error}; free disk space, or set another folder in `[cache] dir`"
        ))
    })?;
    Ok(file)
}
