//! Real files of live tables in a temporary folder, before and after people, posts and old words are removed.

use std::path::PathBuf;

use super::*;
use crate::{
    live::state::RequestHistory,
    live_files::{files, history_files},
    part_files::{Parts, ReplaceScope},
};
use frames::parquet_files::parquet_rows;
use model::schema;

const NOW: Time = Time(20_000 * DAY_MS);
/// The person who is forgotten, and an id that tells who it is.
const ALICE: &str = "Alice.Example";
const ALICE_ID: &str = "did:plc:a11ce";
const TELLING_POST: &str = "bluesky:at://did:plc:a11ce/post/1";

type Cells<'a> = &'a [(&'a str, &'a [&'a str])];

fn frame(cells: Cells<'_>) -> DataFrame {
    let text = |text: &&str| (!text.is_empty()).then(|| (*text).to_owned());
    let columns = cells
        .iter()
        .map(|(name, texts)| column(name, texts.iter().map(text)));
    DataFrame::new(cells[0].1.len(), columns.collect()).expect("a frame")
}

fn posts(published_days_ago: &[i64], cells: Cells<'_>) -> DataFrame {
    let mut posts = frame(cells);
    let at = published_days_ago.iter().map(|days| NOW.0 - days * DAY_MS);
    posts
        .with_column(times("published_at", at).expect("times"))
        .expect("posts");
    let likes = published_days_ago.iter().map(|days| days + 100);
    posts.with_column(column("likes", likes)).expect("posts");
    posts
}

fn parts<'a>(dataset: &'a Path, table: &str) -> Parts<'a> {
    let schema = schema::table(table).expect("a table");
    Parts { dataset, schema }
}

fn token(number: u8) -> String {
    format!("0x{number:040x}")
}

/// Two parts of posts, and every other table with rows of people, some of them seen twice.
fn dataset() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let (one, two) = (token(1), token(2));
    let tokens = [one.as_str(), two.as_str(), one.as_str()];
    let first = posts(
        &[3, 3, 2],
        &[
            ("token_address", &tokens),
            ("post_id", &[TELLING_POST, TELLING_POST, "bluesky:9"]),
            (
                "title",
                &["secret one", "secret one", "thanks @alice.example!"],
            ),
            (
                "link",
                &[
                    "https://bsky.app/alice.example/1",
                    "",
                    "https://bsky.app/bob/9",
                ],
            ),
            ("author", &["alice.example", "alice.example", "bob"]),
            ("author_id", &[ALICE_ID, ALICE_ID, "did:plc:b0b"]),
            ("platform", &["bluesky", "bluesky", "bluesky"]),
        ],
    );
    // Renamed since; one post of the other platform has the handle as its id.
    let second = posts(
        &[1, 1],
        &[
            ("token_address", &[&one, &one]),
            ("post_id", &["bluesky:2", "farcaster:3"]),
            ("title", &["secret two", "the alice.example.org site"]),
            ("link", &["https://bsky.app/2", ""]),
            ("author", &["malice", "carol"]),
            ("author_id", &[ALICE_ID, "7"]),
            ("platform", &["bluesky", "farcaster"]),
        ],
    );
    for (part, days) in [(first, 2), (second, 0)] {
        let at = Time(NOW.0 - days * DAY_MS);
        parts(path, "posts").append(part, at).expect("kept");
    }
    for (days, handle) in [(2, "alice.example"), (0, "malice")] {
        let people = frame(&[
            ("platform", &["bluesky", "bluesky"]),
            ("author_id", &[ALICE_ID, "did:plc:b0b"]),
            ("handle", &[handle, "bob"]),
        ]);
        let at = Time(NOW.0 - days * DAY_MS);
        parts(path, "people")
            .replace(&people, &ReplaceScope::Keys, at)
            .expect("kept");
    }
    let others: [(&str, Cells<'_>); 4] = [
        (
            "reactions",
            &[
                ("platform", &["bluesky"; 3]),
                ("post_id", &["bluesky:9", TELLING_POST, "bluesky:9"]),
                ("author_id", &[ALICE_ID, "did:plc:b0b", "did:plc:b0b"]),
                ("kind", &["like"; 3]),
            ],
        ),
        (
            "follows",
            &[
                ("platform", &["bluesky"; 2]),
                ("account", &["degen", "degen"]),
                ("follower_id", &[ALICE_ID, "did:plc:b0b"]),
            ],
        ),
        (
            "accounts",
            &[
                ("token_address", &[&one, &one]),
                ("platform", &["bluesky", "x"]),
                (
                    "account",
                    &["https://bsky.app/profile/alice.example", "degen"],
                ),
            ],
        ),
        (
            "kols",
            &[
                ("token_address", &[&one, &one]),
                ("kol_address", &[&two, &one]),
                ("handle", &["@Alice.example", "bob"]),
            ],
        ),
    ];
    for (table, cells) in others {
        parts(path, table)
            .replace(&frame(cells), &ReplaceScope::Keys, NOW)
            .expect("kept");
    }
    let mut state = RefreshState::default();
    for key in ["neynar search degen", "bluesky account actor=alice.example"] {
        state
            .asked
            .insert(key.to_owned(), RequestHistory::default());
    }
    let notes = ["1 post of alice.example", "6 without a sign"].map(str::to_owned);
    state.tables.entry("posts".to_owned()).or_default().notes = notes.to_vec();
    state.write(path).expect("written");
    let missing = [(TELLING_POST, 5), ("bluesky:9", 6)].map(|(post, at)| (post.to_owned(), at));
    write_file(path, MISSING_FILE, &BTreeMap::from(missing)).expect("written");
    folder
}

fn all_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let inside = |entry: fs::DirEntry| match entry.path() {
        path if path.is_dir() => all_files(&path),
        path => vec![path],
    };
    entries.flat_map(inside).collect()
}

/// Every text in every file below `live`, decoded, and the bytes of the files.
fn everything(dataset: &Path) -> String {
    let mut all = String::new();
    for path in all_files(&dataset.join(FOLDER)) {
        all.push_str(&String::from_utf8_lossy(&fs::read(&path).expect("bytes")));
        if let Some(Ok(frame)) = parquet_rows(&path, u64::MAX)
            .filter(|_| path.extension().is_some_and(|ending| ending == "parquet"))
        {
            for name in frame.get_column_names() {
                texts(&frame, name)
                    .iter()
                    .flatten()
                    .for_each(|text| all.push_str(&format!("{text}\n")));
            }
        }
    }
    all.to_lowercase()
}

/// The cells of all files of a table, and of its history.
fn cells(dataset: &Path, table: &str, columns: &[&str]) -> Vec<Vec<Option<String>>> {
    let paths = files(dataset, table)
        .into_iter()
        .chain(history_files(dataset, table));
    let mut rows = Vec::new();
    for path in paths {
        let frame = parquet_rows(&path, u64::MAX)
            .expect("a file")
            .expect("rows");
        let cells: Vec<_> = columns.iter().map(|name| texts(&frame, name)).collect();
        rows.extend(
            (0..frame.height()).map(|row| cells.iter().map(|cells| cells[row].clone()).collect()),
        );
    }
    rows
}

fn likes(dataset: &Path) -> Vec<Option<i64>> {
    let read = |path: PathBuf| {
        integers(
            &parquet_rows(&path, u64::MAX)
                .expect("a file")
                .expect("rows"),
            "likes",
        )
    };
    files(dataset, "posts").into_iter().flat_map(read).collect()
}

#[test]
fn nothing_of_a_forgotten_person_is_left_and_nothing_comes_back() {
    for name in [ALICE, "@alice.example", ALICE_ID] {
        let folder = dataset();
        let path = folder.path();
        let counts = likes(path);
        let unfinished = ["posts", "history/people"]
            .map(|folder| path.join(FOLDER).join(folder).join(".tokendeck-x.tmp"));
        for file in &unfinished {
            fs::write(file, "alice.example").expect("written");
        }
        assert!(everything(path).contains("alice.example"));
        let report = forget(path, name).expect("forgotten");
        assert_eq!(report.posts, 3, "{name}");
        let all = everything(path);
        for word in [
            "alice.example!",
            "\nalice.example\n",
            "secret",
            "malice",
            "a11ce",
            "actor=alice",
            "of alice.example",
            "profile/alice",
        ] {
            assert!(!all.contains(word), "{name}: {word}");
        }
        assert!(unfinished.iter().all(|file| !file.exists()));
        // The counts stay, and so do the rows of others.
        assert_eq!(likes(path), counts);
        let titles: Vec<_> = cells(path, "posts", &["title", "author"]);
        let text = |text: &str| Some(text.to_owned());
        let carol = vec![text("the alice.example.org site"), text("carol")];
        assert!(
            titles.contains(&vec![None, text("bob")]) && titles.contains(&carol),
            "{titles:?}"
        );
        assert_eq!(
            cells(path, "people", &["handle"]).len(),
            2,
            "state and history of one"
        );
        let ids = cells(path, "posts", &["post_id"]);
        let reactions = cells(path, "reactions", &["post_id"]);
        let renamed: Vec<_> = reactions.iter().filter(|id| ids.contains(id)).collect();
        assert_eq!((reactions.len(), renamed.len()), (4, 4), "{reactions:?}");
        for (table, rows) in [("follows", 2), ("accounts", 2), ("kols", 2)] {
            assert_eq!(cells(path, table, &["platform"]).len(), rows, "{table}");
        }
        let state = RefreshState::read(path);
        assert_eq!(
            state.asked.keys().collect::<Vec<_>>(),
            ["neynar search degen"]
        );
        assert_eq!(state.tables["posts"].notes, ["6 without a sign"]);
        let missing: BTreeMap<String, i64> = read_file(path, MISSING_FILE);
        assert_eq!(missing.into_keys().collect::<Vec<_>>(), ["bluesky:9"]);
        // It comes again.
        let forgotten = Forgotten::read(path).expect("read");
        let again = frame(&[
            ("platform", &["bluesky", "bluesky", "farcaster"]),
            ("author_id", &[ALICE_ID, "did:plc:b0b", "7"]),
            ("author", &["new.name", "bob", "alice.example.org"]),
        ]);
        assert_eq!(
            texts(
                &forgotten.without("posts", again.clone()).expect("rows"),
                "author_id"
            )
            .len(),
            2
        );
        assert_eq!(
            forgotten.without("candles", again).expect("rows").height(),
            3
        );
        assert!(forgotten.is_forgotten("bluesky", Some("ALICE.example"), None));
        assert!(
            !forgotten.is_forgotten("bluesky", Some("bob"), Some("7"))
                && !forgotten.is_forgotten("x", None, None)
        );
        // Again, as after it was stopped half-way.
        let before = everything(path);
        assert_eq!(forget(path, name).expect("again"), ForgetReport::default());
        assert_eq!(everything(path), before);
    }
}

#[test]
fn a_forget_that_was_killed_is_finished_by_the_next() {
    let folder = dataset();
    let path = folder.path();
    // Only the people were removed: the posts still tell the id of the handle.
    rewrite(path, "people", |frame| Ok(Some(frame.clear()))).expect("emptied");
    forget(path, ALICE).expect("forgotten");
    let all = everything(path);
    assert!(!all.contains("secret") && !all.contains("a11ce"));
    // Another process fetches; and a damaged list of forgotten people stores nothing.
    let lock = RefreshLock::take(path).expect("a lock");
    assert!(matches!(forget(path, ALICE), Err(RefreshError::Busy)));
    drop(lock);
    fs::write(path.join(FOLDER).join(FORGOTTEN_FILE), "{half").expect("written");
    assert!(Forgotten::read(path).is_err() && forget(path, ALICE).is_err());
}

#[test]
fn an_id_in_the_id_of_an_old_post_is_forgotten_too() {
    let folder = dataset();
    let path = folder.path();
    empty_old(path, 0, NOW).expect("emptied");
    assert!(everything(path).contains("a11ce/post"));
    forget(path, ALICE).expect("forgotten");
    assert!(!everything(path).contains("a11ce"));
}

#[test]
fn an_unknown_person_changes_no_file() {
    let folder = dataset();
    let rows = cells(folder.path(), "posts", &WORDS);
    assert_eq!(
        forget(folder.path(), "nobody.example").expect("done"),
        ForgetReport::default()
    );
    assert_eq!(cells(folder.path(), "posts", &WORDS), rows);
    let empty = tempfile::tempdir().expect("a folder");
    assert_eq!(
        forget(empty.path(), ALICE).expect("done"),
        ForgetReport::default()
    );
    assert!(
        Forgotten::read(empty.path())
            .expect("read")
            .is_forgotten("", Some(ALICE), None)
    );
}

fn ids(ids: &[&str]) -> HashSet<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

fn gone_posts(dataset: &Path, returned: &[&str], deleted: &[&str], now: Time) -> Vec<String> {
    let (returned, deleted) = (ids(returned), ids(deleted));
    // A post that is gone is not requested again.
    let there = usize::from(now.0 > NOW.0 + DAY_MS);
    let asked = ids(&["bluesky:9", "bluesky:2", "farcaster:3"][there..]);
    let posts = Rechecked {
        asked: &asked,
        returned: &returned,
        deleted: &deleted,
    };
    mark_gone(dataset, posts, now)
        .expect("marked")
        .into_iter()
        .collect()
}

#[test]
fn a_post_missing_twice_a_day_apart_is_gone_and_keeps_its_counts() {
    let folder = dataset();
    let path = folder.path();
    write_file(path, MISSING_FILE, &BTreeMap::<String, i64>::new()).expect("written");
    let counts = likes(path);
    let at = |ms: i64| Time(NOW.0 + ms);
    let none: [&str; 0] = [];
    assert_eq!(gone_posts(path, &["bluesky:2"], &[], at(0)), none);
    // Within the day; then one returns, and its count begins again.
    assert_eq!(gone_posts(path, &["bluesky:2"], &[], at(DAY_MS - 1)), none);
    assert_eq!(
        gone_posts(path, &["bluesky:2", "farcaster:3"], &[], at(DAY_MS - 1)),
        none
    );
    assert_eq!(
        gone_posts(path, &["bluesky:2"], &[], at(DAY_MS)),
        ["bluesky:9"]
    );
    let rows = cells(path, "posts", &["post_id", "title", "author", "link"]);
    let row = |id: &str| {
        rows.iter()
            .find(|row| row[0].as_deref() == Some(id))
            .expect(id)
            .clone()
    };
    assert_eq!(row("bluesky:9")[1..], [None, None, None]);
    assert!(row("bluesky:2")[1..].iter().all(Option::is_some));
    assert!(row("farcaster:3")[1].is_some());
    assert_eq!(likes(path), counts);
    let gone_at = |dataset: &Path| -> Vec<Option<i64>> {
        let read = |path: PathBuf| {
            integers(
                &parquet_rows(&path, u64::MAX)
                    .expect("a file")
                    .expect("rows"),
                "gone_at",
            )
        };
        files(dataset, "posts").into_iter().flat_map(read).collect()
    };
    let marked = |dataset: &Path| gone_at(dataset).into_iter().flatten().collect::<Vec<_>>();
    assert_eq!(marked(path), [at(DAY_MS).0]);
    // A post stated to be deleted is gone at once; the time of the first one stays.
    assert_eq!(
        gone_posts(path, &["farcaster:3"], &["bluesky:2"], at(2 * DAY_MS)),
        ["bluesky:2"]
    );
    assert_eq!(
        gone_posts(path, &["farcaster:3"], &[], at(3 * DAY_MS)),
        none
    );
    assert_eq!(marked(path), [at(DAY_MS).0, at(2 * DAY_MS).0]);
    let again = everything(path);
    assert!(!again.contains("secret two") && again.contains("secret one"));
}

#[test]
fn old_words_are_emptied_and_counts_stay() {
    let folder = dataset();
    let path = folder.path();
    let counts = likes(path);
    empty_old(path, 3 * DAY_MS, NOW).expect("emptied");
    assert!(
        everything(path).contains("secret one"),
        "as old as the limit"
    );
    let written = |path: &PathBuf| {
        fs::metadata(path)
            .and_then(|file| file.modified())
            .expect("a time")
    };
    let newest = files(path, "posts").pop().expect("a part");
    let before = written(&newest);
    empty_old(path, 3 * DAY_MS, Time(NOW.0 + 1)).expect("emptied");
    let all = everything(path);
    assert!(
        !all.contains("secret one") && all.contains("secret two") && all.contains("@alice.example")
    );
    assert_eq!(likes(path), counts);
    assert_eq!(
        written(&newest),
        before,
        "a file without old words is not written"
    );
}
