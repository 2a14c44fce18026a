//! Tables whose files lie elsewhere: which objects they are, whether they may be asked for and fetched, and what was there last time,
//! which stands where nobody answers. Reading them is as of files here.

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

use super::{Context, bind::bind, engine, keep, table::Stop};
use crate::{
    dataset::{
        findings::{Finding, Severity},
        manifest::{Manifest, TableManifest},
        progress::LoadProgress,
        schema::TableSchema,
        source::{
            format_of,
            kept::{self, ObjectParts, name_of},
            locate::{self, Answer, GLOB, LocatedFile, MAX_FILES},
            object::{FetchState, PART, RemoteFile},
            partition,
        },
        time::Time,
        wall_clock::now,
    },
    wire::{Fault, Object, UrlPattern, Wire, amount},
};

/// How often the load is asked whether it is still wanted, while bytes are waited for.
const LOOK: Duration = Duration::from_millis(30);

/// What there is to tell of a table whose files lie elsewhere.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Elsewhere {
    /// What its sources are called.
    pub sources: Vec<String>,
    /// Nobody answered, and these rows are what was there then.
    pub as_of: Option<Time>,
    /// Nobody answered, and nothing is here.
    pub unreached: bool,
}

/// The files of a table, those elsewhere as they were listed.
#[derive(Default)]
pub(super) struct Located {
    pub(super) files: Vec<LocatedFile>,
    /// Objects that `where` leaves out by the names of their folders.
    pub(super) left_out: usize,
    /// When they were listed, where that was not now.
    pub(super) as_of: Option<Time>,
    /// Why nobody is asked for more: a sentence.
    pub(super) offline: Option<Fault>,
    /// What was listed once and is no more.
    pub(super) gone: Option<Gone>,
}

/// Files that a pattern named when the table was loaded before, and that are not there any more: their rows went with them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Gone {
    /// When they were there last.
    at: i64,
    count: usize,
    first: String,
}

/// What was listed when the table was last loaded.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Listed {
    at: i64,
    left_out: usize,
    objects: Vec<Object>,
    #[serde(default)]
    answers: Vec<Answer>,
    /// The last time that files went.
    #[serde(default)]
    gone: Option<Gone>,
}

/// The paths that lie elsewhere.
pub(super) fn urls(manifest: &TableManifest) -> impl Iterator<Item = &str> {
    manifest.path.iter().map(String::as_str).filter(|path| UrlPattern::is_url(path))
}

/// Whether rows of the table lie elsewhere.
pub(super) fn is_any(manifest: &TableManifest) -> bool {
    manifest.engine.is_some() || urls(manifest).next().is_some()
}

/// What the table asks, as a person agrees to it.
fn origins(manifest: &TableManifest) -> impl Iterator<Item = String> {
    let places = urls(manifest).filter_map(|url| UrlPattern::parse(url).ok()).map(|place| place.origin());
    places.chain(manifest.engine.iter().map(engine::origin))
}

/// The origins that the dataset asks and that the person has not agreed to, if agreeing would do.
pub fn asks(folder: &Path, wire: &Wire) -> Vec<String> {
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let text = super::read_manifest(&real.join(crate::dataset::manifest::FILE)).unwrap_or_default();
    let manifest = Manifest::parse(&text).unwrap_or_default();
    let mut origins: Vec<String> = manifest
        .tables
        .values()
        // A source that nobody named is asked nothing.
        .filter(|table| table.engine.as_ref().is_none_or(|asked| wire.has_engine(&asked.source)))
        .flat_map(origins)
        .filter(|origin| wire.asks_first() && wire.may_ask(&real, origin).is_err())
        .collect();
    origins.sort();
    origins.dedup();
    origins
}

/// What there is to tell of a table that cannot be had.
pub(super) fn unreached(context: &Context<'_>, url: &str) -> Elsewhere {
    let named = || UrlPattern::parse(url).ok().and_then(|place| Some(context.wire?.name_of(&place)));
    let name = engine::source_of(url).map(str::to_owned).or_else(named);
    Elsewhere { sources: name.into_iter().collect(), as_of: None, unreached: true }
}

pub(super) fn stop_of(url: &str, fault: Fault) -> Stop {
    match fault {
        Fault::Stopped => Stop::Cancelled,
        Fault::Changed => Stop::Moved,
        fault => Stop::Elsewhere(url.to_owned(), fault),
    }
}

/// The person does not agree that it is asked: nothing is wrong there, and nothing of it is shown.
pub(super) fn not_agreed(url: &str, fault: &Fault) -> Stop {
    Stop::Unusable(format!("`{url}` {fault}"))
}

/// What went wrong where the table lies, if that is why it is not read: then what was brought earlier stands.
pub(super) fn source_failure(manifest: &TableManifest, stop: &Stop) -> Option<String> {
    let all = || manifest.path.iter().all(|path| UrlPattern::is_url(path));
    match stop {
        Stop::Elsewhere(url, fault) => Some(format!("`{url}` {fault}")),
        Stop::Unusable(reason) if is_any(manifest) => Some(reason.clone()),
        // A file here that is written to is read once it is whole.
        Stop::Moved if is_any(manifest) && all() => Some("it changed while it was read".to_owned()),
        _ => None,
    }
}

/// The files that `dataset.toml` names, of which some lie elsewhere; asks for the listings.
pub(super) fn locate(context: &Context<'_>, schema: &'static TableSchema, manifest: &TableManifest) -> Result<Located, Stop> {
    let (mut located, mut seen) = (Located::default(), HashSet::new());
    for spelled in &manifest.path {
        let found = if UrlPattern::is_url(spelled) {
            let (objects, left_out) = list(context, schema, manifest, spelled)?;
            located.left_out += left_out;
            objects.into_iter().map(LocatedFile::elsewhere).collect()
        } else {
            locate::by_path(context.folder, std::slice::from_ref(spelled))?
        };
        located.files.extend(found.into_iter().filter(|file| seen.insert(file.path.clone())));
        if located.files.len() > MAX_FILES {
            return Err(Stop::Unusable(format!("`{spelled}` names more than {MAX_FILES} files")));
        }
    }
    if located.files.is_empty() {
        return Err(Stop::Unusable("`where` leaves out every file, by the names of their folders".to_owned()));
    }
    located.gone = gone(context, manifest, &located.files);
    let missing = missing(context, schema, manifest, &located.files);
    if let (Some(wire), Some(first), true) = (context.wire, urls(manifest).next(), missing > 0) {
        wire.afford(missing).map_err(|fault| Stop::Elsewhere(first.to_owned(), fault))?;
        tell(context, schema, &located.files, missing);
    }
    Ok(located)
}

/// Bytes of the files elsewhere that are not here; none of a table that was brought into the cache.
fn missing(context: &Context<'_>, schema: &'static TableSchema, manifest: &TableManifest, files: &[LocatedFile]) -> u64 {
    if super::gather::place(context, schema, manifest, files).is_some_and(|placed| placed.place.is_there()) {
        return 0;
    }
    let cache = context.cache.folder.as_deref();
    objects(files).map(|object| cache.map_or(object.bytes, |cache| ObjectParts::missing_of(cache, object))).sum()
}

/// Says what is about to be fetched.
fn tell(context: &Context<'_>, schema: &TableSchema, files: &[LocatedFile], missing: u64) {
    let count = objects(files).count();
    let requests = missing.div_ceil(PART) + count as u64;
    let (files, amount) = (if count == 1 { "file" } else { "files" }, amount(missing));
    context.progress.fetching(&format!("`{}`: {count} {files} elsewhere, up to {amount} to fetch, about {requests} requests", schema.name));
}

pub(super) fn objects(files: &[LocatedFile]) -> impl Iterator<Item = &Object> {
    files.iter().filter_map(|file| file.object.as_ref())
}

pub(super) fn answers(files: &[LocatedFile]) -> impl Iterator<Item = &Answer> {
    files.iter().filter_map(|file| file.answer.as_deref())
}

/// The objects a URL names, in the order of their names, and how many `where` leaves out.
fn list(context: &Context<'_>, schema: &'static TableSchema, manifest: &TableManifest, url: &str) -> Result<(Vec<Object>, usize), Stop> {
    let mut place = UrlPattern::parse(url).map_err(|reason| Stop::Unusable(format!("`{}` {reason}", UrlPattern::without_secrets(url))))?;
    let Some(wire) = context.wire else { return Err(Stop::Unusable(format!("`{url}` lies elsewhere, and only files here are read"))) };
    wire.may_ask(context.folder, &place.origin()).map_err(|fault| not_agreed(url, &fault))?;
    let name = place.path.rsplit('/').next().unwrap_or_default().to_owned();
    if !place.is_pattern() && !place.path.ends_with('/') && format_of(&name).is_none() {
        place.path.push('/');
    }
    let stopped = || context.progress.step(schema.name, 0, 0).is_err();
    let mut found = wire.find(&place, locate::MAX_ENTRIES, &stopped).map_err(|fault| stop_of(url, fault))?;
    if place.is_pattern() || place.path.ends_with('/') {
        let below = place.url(if place.is_pattern() { "" } else { &place.path });
        let pattern = Pattern::new(&place.path).map_err(|error| format!("`{url}` is not a glob: {}", error.msg))?;
        found.retain(|object| {
            let path = object.url.strip_prefix(&below).unwrap_or_default();
            let hidden = || format!("/{path}").contains("/.") || format!("/{path}").contains("/_");
            let meant = if place.is_pattern() { pattern.matches_with(path, GLOB) } else { !hidden() };
            meant && object.bytes > 0 && format_of(path).is_some()
        });
        if found.is_empty() {
            let reason = "matches no file of a known format: look at its path in dataset.toml, and whether the files are still there";
            return Err(stop_of(url, Fault::Unavailable(reason.to_owned())));
        }
    }
    found.sort_by(|a, b| a.url.cmp(&b.url));
    let all = found.len();
    found.retain(|object| is_kept(schema, manifest, object));
    let left_out = all - found.len();
    Ok((found, left_out))
}

/// Whether `where` keeps rows of the object, as far as the names of its folders tell.
fn is_kept(schema: &'static TableSchema, manifest: &TableManifest, object: &Object) -> bool {
    let parts = partition::parts(&object.url);
    let names: Vec<String> = parts.iter().map(|(name, _)| name.clone()).collect();
    let Ok(bound) = bind(schema, manifest, &names) else { return true };
    manifest.keep.iter().all(|(column, rule)| {
        let ours = bound.iter().find(|bound| bound.column.name == column);
        let theirs = ours.and_then(|bound| bound.raw.as_deref()).unwrap_or(column);
        // What is read otherwise than it stands there is judged row by row.
        let plain = ours.is_none_or(|bound| bound.rule.values.is_empty() && bound.rule.format.is_none() && bound.rule.scale.is_none());
        let part = parts.iter().find(|(name, _)| name.eq_ignore_ascii_case(theirs)).filter(|_| plain);
        part.is_none_or(|(_, value)| keep::may_hold(rule, value, ours.map(|bound| bound.column.kind)))
    })
}

fn record_of(context: &Context<'_>, manifest: &TableManifest) -> Option<PathBuf> {
    let folder = kept::folder(context.cache.folder.as_deref()?);
    let rules = format!("{:?}", manifest.keep);
    let asked = manifest.engine.as_ref().map(|asked| format!("{asked:?}"));
    let texts: Vec<&str> = manifest.path.iter().map(String::as_str).chain([rules.as_str()]).chain(asked.as_deref()).collect();
    Some(folder.join(format!("{}.listed", name_of(&texts))))
}

fn recorded(context: &Context<'_>, manifest: &TableManifest) -> Option<Listed> {
    serde_json::from_slice(&fs::read(record_of(context, manifest)?).ok()?).ok()
}

/// What was listed when the table was last loaded and is not now, or what went the last time that files did.
fn gone(context: &Context<'_>, manifest: &TableManifest, files: &[LocatedFile]) -> Option<Gone> {
    let before = recorded(context, manifest)?;
    let now: HashSet<&str> = objects(files).map(|object| object.url.as_str()).collect();
    let mut went = before.objects.iter().filter(|object| !now.contains(object.url.as_str()));
    let Some(first) = went.next() else { return before.gone.filter(|gone| !now.contains(gone.first.as_str())) };
    Some(Gone { at: before.at, count: 1 + went.count(), first: first.url.clone() })
}

impl Located {
    /// Says which files went, and that their rows did.
    pub(super) fn what_went(&self) -> Option<Finding> {
        let Gone { at, count, first } = self.gone.as_ref()?;
        let more = if *count > 1 { format!(", and {} more with it", count - 1) } else { String::new() };
        let reason = format!("was there at {} and is listed no more{more}: the rows of what is gone are left out", Time(*at));
        Some(Finding::new(Severity::Warning, first, reason))
    }
}

/// Remembers what the table was made of.
pub(super) fn remember(context: &Context<'_>, manifest: &TableManifest, located: &Located) {
    let Some(record) = record_of(context, manifest).filter(|_| located.offline.is_none()) else { return };
    let objects: Vec<Object> = objects(&located.files).cloned().collect();
    let answers = answers(&located.files).cloned().collect();
    let Ok(text) = serde_json::to_vec(&Listed { at: now().0, left_out: located.left_out, objects, answers, gone: located.gone.clone() })
    else {
        return;
    };
    let beside = record.with_extension("new");
    let write = || {
        fs::create_dir_all(record.parent().unwrap_or(Path::new(".")))?;
        fs::write(&beside, text)?;
        fs::rename(&beside, &record)
    };
    if let Some(cache) = context.cache.folder.as_deref() {
        kept::evict(cache, context.cache.size_max / 4);
    }
    if let Err(error) = write() {
        tracing::warn!("what was listed cannot be kept, and is not there once nobody answers: {error}");
    }
}

/// What the table was made of when it was last loaded, and why that is read; nobody is asked.
pub(super) fn recall(context: &Context<'_>, manifest: &TableManifest, why: String) -> Option<Located> {
    let listed = recorded(context, manifest).filter(|_| is_agreed(context, manifest))?;
    let here = manifest.path.iter().filter(|path| !UrlPattern::is_url(path)).cloned().collect::<Vec<_>>();
    let mut files = if here.is_empty() { Vec::new() } else { locate::by_path(context.folder, &here).ok()? };
    // Of the state that is asked for, it is no older than what else is here.
    let is_old = !context.snapshot.is_some_and(|snapshot| listed.answers.iter().all(|answer| snapshot.is_of(answer)));
    files.extend(listed.objects.into_iter().map(LocatedFile::elsewhere));
    files.extend(listed.answers.into_iter().map(LocatedFile::answered));
    let (as_of, offline) = (is_old.then_some(Time(listed.at)), Some(Fault::Unavailable(why)));
    Some(Located { files, left_out: listed.left_out, as_of, offline, gone: listed.gone })
}

/// Whether the person agrees to all that the table asks: what they do not agree to is not shown either.
pub(super) fn is_agreed(context: &Context<'_>, manifest: &TableManifest) -> bool {
    origins(manifest).all(|origin| context.wire.is_some_and(|wire| wire.may_ask(context.folder, &origin).is_ok()))
}

/// What a table says of itself that is what it was then.
pub(super) fn stale_note(file: &str, then: Time, why: &str) -> Finding {
    // Nobody sees by the rows that they are old.
    Finding::new(Severity::Warning, file, format!("is what it was at {then}: {why}"))
}

/// Where a load of objects stands, for the thread beside it.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    pub(super) watch: Arc<FetchState>,
    pub(super) done: AtomicU64,
    pub(super) total: AtomicU64,
    ended: AtomicBool,
}

/// Runs `work`, and meanwhile asks whether it is still wanted, so that one who waits for bytes learns of it at once.
pub(super) fn cancellable<T>(progress: &dyn LoadProgress, table: &str, pulse: &Pulse, work: impl FnOnce() -> T) -> T {
    struct End<'a>(&'a AtomicBool);
    impl Drop for End<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }
    std::thread::scope(|scope| {
        let attend = || {
            while !pulse.ended.load(Ordering::Acquire) {
                let (done, total) = (pulse.done.load(Ordering::Relaxed), pulse.total.load(Ordering::Relaxed));
                if progress.step(table, done, total).is_err() {
                    pulse.watch.stopped.store(true, Ordering::Release);
                    return;
                }
                std::thread::park_timeout(LOOK);
            }
        };
        // Without the thread the load is asked between two batches, as of files here.
        let thread = std::thread::Builder::new().name("attend".into()).spawn_scoped(scope, attend).ok();
        let end = End(&pulse.ended);
        let outcome = work();
        drop(end);
        if let Some(thread) = thread {
            thread.thread().unpark();
        }
        outcome
    })
}

/// The object as a file; one that nobody is asked for gives what is here.
pub(super) fn open(context: &Context<'_>, object: &Object, pulse: &Pulse, offline: Option<&Fault>) -> Result<Arc<RemoteFile>, Stop> {
    let wire = context.wire.ok_or_else(|| Stop::Unusable("only files here are read".to_owned()))?;
    let cache = context.cache.folder.as_deref();
    let file = RemoteFile::open(wire, cache, object, Arc::clone(&pulse.watch), offline.cloned());
    let file =
        file.map_err(|error| Stop::Unusable(format!("cannot be kept: {error}; make room, or name another folder in `[cache] dir`")))?;
    file.prefetch();
    Ok(file)
}

/// Why the object could not be read, if that was it.
pub(super) fn fault_of(url: &str, file: &RemoteFile) -> Option<Stop> {
    file.fault().map(|fault| stop_of(url, fault))
}
