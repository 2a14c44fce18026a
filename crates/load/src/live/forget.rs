//! Words of people that are removed from the stored live rows: of a person who asks for it (`forget`), of deleted posts (`mark_gone`), and of
//! old posts (`empty_old`). Counts stay. Files outside the folder `live` belong to the user and are never changed.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    fs, io,
    path::Path,
};

use polars::prelude::{Column, DataFrame, IdxCa, NewChunkedArray as _, PlSmallStr, PolarsResult};
use serde::{Deserialize, Serialize};

use super::{
    LiveError, RefreshError,
    matching::{NameSign, any_case, has_handle, has_name},
    state::{RefreshLock, RefreshState, read_file, write_file},
};
use crate::{live_files::FOLDER, part_files::rewrite};
use frames::frame_rows::{column, filtered, integers, parsed, times};
use model::{
    field_hash::FieldHash,
    private_files::{read_whole_text, remove_unfinished},
    social::account_name,
    time::{DAY_MS, Time},
};

const FORGOTTEN_FILE: &str = "forgotten.json";
const MISSING_FILE: &str = "missing.json";
const FILE_MAX: u64 = 64 << 20;
/// Time between the two refreshes in which a post must be missing: one outage of a service deletes nothing.
const MISSING_MIN: i64 = DAY_MS;
/// Time after which a missing post that was not requested since is no longer remembered.
const MISSING_MAX: i64 = 90 * DAY_MS;

/// A table with rows of people, and its columns for a person's handle and id.
struct PeopleTable {
    name: &'static str,
    handle: &'static str,
    id: &'static str,
}

/// `posts` is the last: its rows name the ids that belong to a handle, so a `forget` that was killed before finds them again.
const TABLES: [PeopleTable; 6] = [
    people_table("reactions", "", "author_id"),
    people_table("follows", "account", "follower_id"),
    people_table("accounts", "account", "account_id"),
    people_table("kols", "handle", ""),
    people_table("people", "handle", "author_id"),
    people_table("posts", "author", "author_id"),
];
/// Whether rows of the live table contain people's handles or ids.
pub fn has_people(table: &str) -> bool {
    TABLES.iter().any(|known| known.name == table)
}

/// Columns of a post that contain words of people.
const WORDS: [&str; 4] = ["title", "author", "author_id", "link"];

const fn people_table(name: &'static str, handle: &'static str, id: &'static str) -> PeopleTable {
    PeopleTable { name, handle, id }
}

/// People whose rows are not stored, as salted hashes of their handles and ids.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Forgotten {
    salt: String,
    hashes: BTreeSet<String>,
}

impl Forgotten {
    /// The people forgotten in this dataset. Errors: the file is damaged, so nothing may be stored.
    pub(crate) fn read(dataset: &Path) -> Result<Self, LiveError> {
        let path = dataset.join(FOLDER).join(FORGOTTEN_FILE);
        let read = match read_whole_text(&path, FILE_MAX) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| error.to_string()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error.to_string()),
        };
        read.map_err(|reason| LiveError::UnreadableForgotten { path, reason })
    }

    /// Whether this person's rows must not be stored.
    pub(crate) fn is_forgotten(
        &self,
        platform: &str,
        handle: Option<&str>,
        id: Option<&str>,
    ) -> bool {
        let names = handle.map(account_name).into_iter();
        let ids = id.map(|id| [id.to_owned(), format!("{platform}:{id}")]);
        !self.hashes.is_empty()
            && names
                .chain(ids.into_iter().flatten())
                .any(|name| self.hashes.contains(&self.hash(&name)))
    }

    /// The rows of a table that may be stored.
    pub(crate) fn without(&self, table: &str, frame: DataFrame) -> PolarsResult<DataFrame> {
        let known = TABLES.iter().find(|known| known.name == table);
        let known = known.filter(|_| !self.hashes.is_empty());
        match known.map(|known| self.rows_of(known, &frame)) {
            Some(rows) if rows.contains(&true) => filtered(&frame, rows.iter().map(|row| !row)),
            _ => Ok(frame),
        }
    }

    /// For each row, whether it belongs to a forgotten person.
    fn rows_of(&self, table: &PeopleTable, frame: &DataFrame) -> Vec<bool> {
        let cells = [table.handle, table.id, "platform"].map(|name| texts(frame, name));
        let [handles, ids, platforms] = &cells;
        let mut known = HashMap::new();
        (0..frame.height())
            .map(|row| {
                let person = [platforms, handles, ids].map(|cells| cells[row].as_deref());
                let [platform, handle, id] = person;
                let is_forgotten = || self.is_forgotten(platform.unwrap_or_default(), handle, id);
                *known.entry(person).or_insert_with(is_forgotten)
            })
            .collect()
    }

    fn hash(&self, name: &str) -> String {
        let fields = [self.salt.as_str(), &name.to_lowercase()];
        const_hex::encode(FieldHash::of(fields).finish())
    }
}

/// What `forget` changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForgetReport {
    /// Posts whose words were emptied.
    pub posts: usize,
    /// Rows of other tables that were removed, also from the history.
    pub rows: usize,
}

/// Empties the posts of a person and removes other rows about them from all files of live tables. Hashes of the handle and the id stay,
/// so that new rows about them are not stored. `name` is a handle or an id on a platform.
pub fn forget(dataset: &Path, name: &str) -> Result<ForgetReport, RefreshError> {
    let _lock = RefreshLock::take(dataset)?.ok_or(RefreshError::Busy)?;
    let name = account_name(name);
    let mut names = BTreeSet::from([name.clone()]);
    let mut forgotten = Forgotten::read(dataset)?;
    if forgotten.salt.is_empty() {
        let mut salt = [0; 16];
        getrandom::fill(&mut salt)
            .map_err(|error| LiveError::Store(io::Error::other(error.to_string()).into()))?;
        forgotten.salt = const_hex::encode(salt);
    }
    // Written before the rows are removed that tell which id belongs to the handle: a second run knows both.
    forgotten.hashes.insert(forgotten.hash(&name));
    let [.., people, posts] = &TABLES;
    for table in [people, posts] {
        rewrite(dataset, table.name, |frame| {
            let cells = [table.handle, table.id, "platform"].map(|name| texts(&frame, name));
            let [handles, ids, platforms] = &cells;
            for ((handle, id), platform) in handles.iter().zip(ids).zip(platforms) {
                let platform = platform.as_deref().unwrap_or_default();
                let has = |cell: &Option<String>| {
                    cell.as_ref().is_some_and(|cell| account_name(cell) == name)
                };
                if has(handle) || has(id) {
                    names.extend(handle.as_ref().map(|handle| account_name(handle)));
                    names.extend(id.as_ref().map(|id| id.to_lowercase()));
                    if let Some(id) = id {
                        let id = forgotten.hash(&format!("{platform}:{id}"));
                        forgotten.hashes.insert(id);
                    }
                    if let Some(handle) = handle {
                        let handle = forgotten.hash(&account_name(handle));
                        forgotten.hashes.insert(handle);
                    }
                }
            }
            Ok(None)
        })?;
    }
    write_file(dataset, FORGOTTEN_FILE, &forgotten)?;
    // A number, such as an id, is also in texts about something else.
    names.retain(|name| name.contains(char::is_alphabetic));
    forget_requests(dataset, &names)?;
    Ok(forgotten.sweep(dataset, &names)?)
}

impl Forgotten {
    fn sweep(&self, dataset: &Path, names: &BTreeSet<String>) -> Result<ForgetReport, LiveError> {
        let mut report = ForgetReport::default();
        let [others @ .., posts] = &TABLES;
        let renamed = self.telling_ids(dataset, names)?;
        let mut missing: BTreeMap<String, i64> = read_file(dataset, MISSING_FILE);
        missing.retain(|post, _| !renamed.contains(post));
        write_file(dataset, MISSING_FILE, &missing)?;
        for table in others {
            rewrite(dataset, table.name, |frame| {
                let rows = frame.height();
                let rest = self.without(table.name, frame)?;
                let (rest, is_renamed) = self.renamed(rest, &renamed)?;
                report.rows += rows - rest.height();
                Ok((is_renamed || rest.height() < rows).then_some(rest))
            })?;
        }
        rewrite(dataset, posts.name, |frame| {
            let own = self.rows_of(posts, &frame);
            let (frame, is_renamed) = self.renamed(frame, &renamed)?;
            let (frame, emptied) = emptied(frame, &own, &WORDS)?;
            report.posts += emptied;
            // Posts of others that name them keep their author, but not their text.
            let titles = texts(&frame, "title").into_iter();
            let naming: Vec<bool> = titles
                .map(|title| {
                    title.is_some_and(|title| names.iter().any(|name| has_handle(&title, name)))
                })
                .collect();
            let (frame, others) = self::emptied(frame, &naming, &["title"])?;
            Ok((is_renamed || emptied + others > 0).then_some(frame))
        })?;
        remove_unfinished_below(&dataset.join(FOLDER));
        Ok(report)
    }

    /// Ids of posts that contain the author's handle or id, as those of Bluesky do.
    fn telling_ids(
        &self,
        dataset: &Path,
        names: &BTreeSet<String>,
    ) -> Result<HashSet<String>, LiveError> {
        let mut ids = HashSet::new();
        let [.., posts] = &TABLES;
        // Also of old posts whose author is emptied: a decentralized identifier, `did:plc:…`, is unique.
        let unique: Vec<&String> = names.iter().filter(|name| name.contains(':')).collect();
        rewrite(dataset, posts.name, |frame| {
            let own = self.rows_of(posts, &frame);
            let cells = ["post_id", posts.handle, posts.id].map(|name| texts(&frame, name));
            let [post_ids, authors @ ..] = &cells;
            for (row, is_own) in own.iter().enumerate() {
                let tells = |post: &&String| {
                    let mut people = authors.iter().filter_map(|cells| cells[row].as_deref());
                    *is_own && people.any(|person| post.contains(person))
                        || unique
                            .iter()
                            .any(|name| post.to_lowercase().contains(*name))
                };
                ids.extend(post_ids[row].as_ref().filter(tells).cloned());
            }
            Ok(None)
        })?;
        Ok(ids)
    }

    /// The rows with hashes in place of these ids of posts, and whether there are any.
    fn renamed(
        &self,
        mut frame: DataFrame,
        ids: &HashSet<String>,
    ) -> PolarsResult<(DataFrame, bool)> {
        let mut posts = texts(&frame, "post_id");
        let telling = |post: &&mut String| ids.contains(*post);
        let mut is_renamed = false;
        for post in posts.iter_mut().flatten().filter(telling) {
            *post = self.hash(post);
            is_renamed = true;
        }
        if is_renamed {
            frame.with_column(column("post_id", posts))?;
        }
        Ok((frame, is_renamed))
    }
}

/// Removes files that a killed process did not finish.
fn remove_unfinished_below(folder: &Path) {
    remove_unfinished(folder);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        remove_unfinished_below(&entry.path());
    }
}

/// Removes what the records of requests say about these people.
fn forget_requests(dataset: &Path, names: &BTreeSet<String>) -> Result<(), LiveError> {
    let mut state = RefreshState::read(dataset);
    let before = state.clone();
    let signs: Vec<NameSign> = names.iter().cloned().map(any_case).collect();
    let is_about = |text: &String| signs.iter().any(|sign| has_name(text, sign));
    state.asked.retain(|key, _| !is_about(key));
    for table in state.tables.values_mut() {
        table.notes.retain(|note| !is_about(note));
        table.failure.take_if(|failure| is_about(failure));
    }
    if state == before {
        Ok(())
    } else {
        state.write(dataset)
    }
}

/// Posts that were requested again, by id.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rechecked<'a> {
    pub(crate) asked: &'a HashSet<String>,
    pub(crate) returned: &'a HashSet<String>,
    /// Those which the service states to be deleted.
    pub(crate) deleted: &'a HashSet<String>,
}

/// Empties title, author and link of deleted posts and sets `gone_at`: posts stated to be deleted, or missing from two responses at least a
/// day apart. Returns their ids. Requires the lock of the refresh.
pub(crate) fn mark_gone(
    dataset: &Path,
    posts: Rechecked<'_>,
    now: Time,
) -> Result<BTreeSet<String>, LiveError> {
    let mut missing: BTreeMap<String, i64> = read_file(dataset, MISSING_FILE);
    let before = missing.clone();
    let mut gone = BTreeSet::new();
    for post in posts.asked {
        if posts.returned.contains(post) {
            missing.remove(post);
            continue;
        }
        let first = *missing.entry(post.clone()).or_insert(now.0);
        if posts.deleted.contains(post) || now.0 - first >= MISSING_MIN {
            gone.insert(post.clone());
        }
    }
    if !gone.is_empty() {
        rewrite(dataset, "posts", |frame| {
            let own: Vec<bool> = texts(&frame, "post_id")
                .iter()
                .map(|post| post.as_ref().is_some_and(|post| gone.contains(post)))
                .collect();
            let before = integers(&frame, "gone_at");
            let is_new = before
                .iter()
                .zip(&own)
                .any(|(at, own)| *own && at.is_none());
            let (mut frame, emptied) = emptied(frame, &own, &["title", "author", "link"])?;
            let at = before.iter().zip(&own);
            let at = at.map(|(at, own)| at.or(own.then_some(now.0)));
            frame.with_column(times("gone_at", at)?)?;
            Ok((is_new || emptied > 0).then_some(frame))
        })?;
    }
    missing.retain(|post, first| !gone.contains(post) && now.0 - *first < MISSING_MAX);
    if missing != before {
        write_file(dataset, MISSING_FILE, &missing)?;
    }
    Ok(gone)
}

/// Empties title, author and link of posts published more than `keep` milliseconds ago. Requires the lock of the refresh.
pub(crate) fn empty_old(dataset: &Path, keep: i64, now: Time) -> Result<(), LiveError> {
    let oldest = now.0.saturating_sub(keep);
    Ok(rewrite(dataset, "posts", |frame| {
        let published = integers(&frame, "published_at").into_iter();
        let old: Vec<bool> = published
            .map(|at| at.is_some_and(|at| at < oldest))
            .collect();
        let (frame, emptied) = emptied(frame, &old, &WORDS)?;
        Ok((emptied > 0).then_some(frame))
    })?)
}

/// The rows with empty cells in the columns of the marked rows, and the number of rows that this changed.
fn emptied(
    mut frame: DataFrame,
    rows: &[bool],
    columns: &[&str],
) -> PolarsResult<(DataFrame, usize)> {
    let present: Vec<Column> = columns
        .iter()
        .filter_map(|name| frame.column(name).ok().cloned())
        .collect();
    let filled: Vec<_> = present.iter().map(Column::is_not_null).collect();
    let has_words = |row: usize| filled.iter().any(|cells| cells.get(row) == Some(true));
    let changed = (0..rows.len())
        .filter(|row| rows[*row] && has_words(*row))
        .count();
    if changed > 0 {
        let places = (0..)
            .zip(rows)
            .map(|(row, is_emptied)| (!is_emptied).then_some(row));
        let places = IdxCa::from_slice_options(PlSmallStr::EMPTY, &places.collect::<Vec<_>>());
        for cells in present {
            frame.with_column(cells.take(&places)?)?;
        }
    }
    Ok((frame, changed))
}

fn texts(frame: &DataFrame, column: &str) -> Vec<Option<String>> {
    parsed(frame, column, |text| Some(text.to_owned()))
}

#[cfg(test)]
mod tests;
