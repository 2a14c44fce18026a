//! Files that change while a service runs: the next generation is loaded automatically, and never from a half-written file.

use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::symlink,
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use load::SourcePosition;
use model::address::Address;
use query::service::{QueryService, ServiceEvent, ServiceOptions, load::Watching};
use tempfile::TempDir;
use tokio::sync::broadcast::{Receiver, error::TryRecvError};

use crate::wait::{PATIENCE, stays, wait_for, wait_until};

const TOKEN: &str = "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984";
/// Longer than an unwanted load would take: files are read once they are unchanged for 150 ms.
const UNDISTURBED: Duration = Duration::from_millis(500);
/// Two of these in a row are no pause yet in which a file counts as unchanged.
const HELD_UP: Duration = Duration::from_millis(70);

fn tokens(price: u32) -> String {
    format!("token_address,symbol,name,chain,price\n{TOKEN},UNI,Uniswap,eth,{price}\n")
}

fn labels(name: u32) -> String {
    format!("address,label,name\n{TOKEN},bridge,{name}\n")
}

fn write(folder: &Path, price: u32) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("tokens.csv"), tokens(price)).unwrap();
    fs::write(folder.join("labels.csv"), labels(price)).unwrap();
}

struct Desk {
    _place: TempDir,
    folder: std::path::PathBuf,
    service: Arc<QueryService>,
    events: Receiver<ServiceEvent>,
}

impl Desk {
    /// A service on the folder `data` of a new place, filled by `prepare` with price 1.
    fn watched_by(watch: impl FnOnce(&Arc<QueryService>), prepare: impl FnOnce(&Path)) -> Self {
        let place = tempfile::tempdir().unwrap();
        prepare(place.path());
        let folder = place.path().join("data");
        let service = QueryService::new(
            &folder,
            ServiceOptions {
                workers: 1,
                ..ServiceOptions::default()
            },
        )
        .unwrap();
        service.load().unwrap();
        let events = service.listen();
        watch(&service);
        let desk = Self {
            _place: place,
            folder,
            service,
            events,
        };
        wait_until("it is watched", || {
            desk.service.load_state().watching != Watching::Off
        });
        desk
    }

    fn new(prepare: impl FnOnce(&Path)) -> Self {
        Self::watched_by(|service| service.watch().unwrap(), prepare)
    }

    fn plain() -> Self {
        Self::new(|place| write(&place.join("data"), 1))
    }

    /// Price and label name in the current generation.
    fn current(&self) -> (u32, u32) {
        let snapshot = self.service.snapshot().unwrap();
        let token = Address::parse(TOKEN).unwrap();
        let price = snapshot
            .dataset
            .token(&token)
            .and_then(|token| token.row.price)
            .unwrap_or_default();
        let label = snapshot
            .dataset
            .labels_of(&token)
            .first()
            .and_then(|label| label.name.as_ref()?.parse().ok());
        (price as u32, label.unwrap_or_default())
    }

    fn until(&self, what: (u32, u32)) {
        wait_until(&format!("price and name {what:?}"), || {
            self.current() == what
        });
    }

    /// Returns the next event, if there is one.
    fn next_event(&mut self) -> Option<ServiceEvent> {
        loop {
            match self.events.try_recv() {
                Ok(event) => return Some(event),
                Err(TryRecvError::Lagged(_)) => {}
                Err(_) => return None,
            }
        }
    }

    /// Waits for a failed load; returns its reason.
    fn failure(&mut self) -> String {
        wait_for("a load that fails", || match self.next_event() {
            Some(ServiceEvent::LoadFailed(reason)) => Some(reason),
            _ => None,
        })
    }
}

#[test]
fn a_changed_file_is_the_next_generation() {
    let mut desk = Desk::plain();
    let before = desk.service.snapshot().unwrap();
    fs::write(desk.folder.join("tokens.csv"), tokens(2)).unwrap();
    desk.until((2, 1));
    let after = desk.service.snapshot().unwrap();
    assert_eq!(after.generation, before.generation + 1);
    assert_ne!(after.etag("/tokens"), before.etag("/tokens"));
    assert_eq!(
        wait_for("it is told", || desk.next_event()),
        ServiceEvent::Reloaded(after.generation)
    );
    assert_eq!(desk.service.load_state().watching, Watching::Notified);
    // Without a change nothing is loaded.
    stays("nothing is loaded", UNDISTURBED, || {
        desk.service.snapshot().unwrap().generation == after.generation
    });
}

#[test]
fn every_way_of_saving_a_file_is_noticed() {
    let desk = Desk::plain();
    let file = |name: &str| desk.folder.join(name);
    // Atomic replacement by rename, as careful programs save.
    fs::write(file(".tokens.part"), tokens(2)).unwrap();
    fs::rename(file(".tokens.part"), file("tokens.csv")).unwrap();
    desk.until((2, 1));
    // Moved away, rewritten, the old one removed, as editors save.
    fs::rename(file("tokens.csv"), file("tokens.csv~")).unwrap();
    // Missing for longer than the debounce.
    thread::sleep(Duration::from_millis(200));
    fs::write(file("tokens.csv"), tokens(3)).unwrap();
    fs::remove_file(file("tokens.csv~")).unwrap();
    desk.until((3, 1));
    assert!(desk.service.load_state().failure.is_none());
    // Replaced by a file in another format.
    fs::remove_file(file("tokens.csv")).unwrap();
    fs::write(
        file("tokens.json"),
        format!(
            r#"[{{"token_address":"{TOKEN}","symbol":"UNI","name":"U","chain":"eth","price":4}}]"#
        ),
    )
    .unwrap();
    desk.until((4, 1));
    // A table whose file is removed is gone.
    fs::remove_file(file("labels.csv")).unwrap();
    desk.until((4, 0));
}

#[test]
fn a_growing_file_is_loaded_once_it_is_whole() {
    wait_until("a file grows without a pause", grows_and_is_loaded_whole);
}

/// False where a busy machine held the writer up for so long that the file seemed to be complete.
fn grows_and_is_loaded_whole() -> bool {
    let mut desk = Desk::plain();
    let generation = desk.service.snapshot().unwrap().generation;
    let mut file = File::create(desk.folder.join("tokens.csv")).unwrap();
    file.write_all(tokens(2).as_bytes()).unwrap();
    let mut before = Instant::now();
    for i in 0..40u32 {
        writeln!(file, "0x{i:040x},T{i},Token {i},eth,2").unwrap();
        file.flush().unwrap();
        thread::sleep(Duration::from_millis(30));
        let current = desk.current();
        if before.elapsed() > HELD_UP {
            return false;
        }
        before = Instant::now();
        assert_eq!(current, (1, 1), "a part was shown");
    }
    drop(file);
    desk.until((2, 1));
    let snapshot = desk.service.snapshot().unwrap();
    assert_eq!(
        (snapshot.generation, snapshot.dataset.tokens().len()),
        (generation + 1, 41)
    );
    assert_eq!(
        wait_for("it is told", || desk.next_event()),
        ServiceEvent::Reloaded(generation + 1)
    );
    true
}

#[test]
fn a_failed_load_leaves_the_generation_before() {
    let mut desk = Desk::plain();
    for (name, text, says, row) in [
        ("tokens.csv", "nothing of ours\n1\n", "`tokens`", None),
        (
            "labels.csv",
            "nothing of ours\n1\n",
            "table `labels` is no longer readable",
            None,
        ),
        (
            "dataset.toml",
            "\ntitel = 'x'\n",
            "unknown key `titel`",
            Some(2),
        ),
    ] {
        fs::write(desk.folder.join(name), text).unwrap();
        let reason = desk.failure();
        assert!(reason.contains(says), "{reason}");
        assert_eq!(desk.current(), (1, 1));
        // Not current, so that no alert is checked in it.
        assert!(
            !desk.service.is_current(&desk.service.snapshot().unwrap()),
            "{name}"
        );
        let stale = desk.service.stale().unwrap();
        assert_eq!(
            stale.position,
            Some(SourcePosition {
                file: name.to_owned(),
                row
            })
        );
        assert!(stale.since <= desk.service.load_state().ended.unwrap());
        assert!(
            desk.service
                .load_state()
                .failure
                .is_some_and(|failure| failure.reason.contains(says))
        );
        // Reported once, not repeatedly.
        stays(&format!("{name}: nothing is told"), UNDISTURBED, || {
            desk.next_event().is_none()
        });
        write(&desk.folder, 1);
        fs::remove_file(desk.folder.join("dataset.toml")).ok();
        wait_until(&format!("{name} is read again"), || {
            desk.service.load_state().failure.is_none()
        });
        wait_until(&format!("{name} stands as it is"), || {
            desk.service.is_current(&desk.service.snapshot().unwrap())
        });
        while desk.next_event().is_some() {}
    }
    assert_eq!(desk.service.stale(), None);
    fs::remove_dir_all(&desk.folder).unwrap();
    assert!(desk.failure().contains("cannot read"));
    assert_eq!(desk.current(), (1, 1));
    write(&desk.folder, 5);
    desk.until((5, 5));
}

#[test]
fn a_folder_that_is_a_link_may_be_replaced_by_another() {
    let desk = Desk::new(|place| {
        write(&place.join("a"), 1);
        symlink(place.join("a"), place.join("data")).unwrap();
    });
    let place = desk.folder.parent().unwrap().to_owned();
    for price in 2..6 {
        let next = place.join(format!("next-{price}"));
        write(&next, price);
        symlink(&next, place.join("link")).unwrap();
        fs::rename(place.join("link"), &desk.folder).unwrap();
        desk.until((price, price));
    }
    // The link's target folder is watched too.
    write(&place.join("next-5"), 6);
    desk.until((6, 6));
    // A folder in place of the link.
    fs::remove_file(&desk.folder).unwrap();
    write(&desk.folder, 7);
    desk.until((7, 7));
    // A link in place of the folder.
    fs::rename(&desk.folder, place.join("old")).unwrap();
    write(&place.join("b"), 8);
    symlink(place.join("b"), &desk.folder).unwrap();
    desk.until((8, 8));
}

#[test]
fn files_outside_the_folder_are_watched_too() {
    let desk = Desk::new(|place| {
        write(&place.join("data"), 1);
        fs::create_dir(place.join("away")).unwrap();
        fs::rename(place.join("data/tokens.csv"), place.join("away/prices.csv")).unwrap();
        fs::write(
            place.join("data/dataset.toml"),
            "[tables.tokens]\npath = '../away/*.csv'\n",
        )
        .unwrap();
    });
    let away = desk.folder.parent().unwrap().join("away");
    fs::write(away.join("prices.csv"), tokens(2)).unwrap();
    desk.until((2, 1));
    // A new file that matches the pattern belongs to the table.
    fs::write(away.join("q.csv"), tokens(3)).unwrap();
    desk.until((3, 1));
    // Files named in dataset.toml are watched too.
    fs::write(desk.folder.join("mine.csv"), tokens(4)).unwrap();
    fs::write(
        desk.folder.join("dataset.toml"),
        "[tables.tokens]\npath = 'mine.csv'\n",
    )
    .unwrap();
    desk.until((4, 1));
    fs::write(desk.folder.join("mine.csv"), tokens(5)).unwrap();
    desk.until((5, 1));
}

#[test]
fn a_folder_opened_later_is_watched_in_place_of_the_first() {
    let desk = Desk::plain();
    let other = desk.folder.with_file_name("other");
    write(&other, 8);
    desk.service.open(&other);
    desk.service.load().unwrap();
    assert_eq!(desk.current(), (8, 8));
    // Failing to open another folder does not make the current generation stale.
    desk.service.open(&desk.folder.with_file_name("none"));
    desk.service.load().unwrap_err();
    assert!(desk.service.load_state().failure.is_some() && desk.service.stale().is_none());
    desk.service.open(&other);
    desk.service.load().unwrap();
    // No event reports when the watch has moved to it: saved anew until it has.
    let mut saved: Option<Instant> = None;
    wait_until("the other folder is watched", || {
        if saved.is_none_or(|saved| saved.elapsed() > UNDISTURBED) {
            fs::write(other.join("tokens.csv"), tokens(9)).unwrap();
            saved = Some(Instant::now());
        }
        desk.current() == (9, 8)
    });
}

#[test]
fn a_load_requested_during_another_follows_it() {
    let place = tempfile::tempdir().unwrap();
    write(place.path(), 1);
    // Enough rows that the first load still runs when the second is requested.
    let rows = (0..100_000)
        .map(|i| format!("0x{i:040x},T{i},Token {i},eth,2\n"))
        .collect::<Vec<_>>()
        .concat();
    fs::write(place.path().join("tokens.csv"), tokens(1) + &rows).unwrap();
    let service = QueryService::new(
        place.path(),
        ServiceOptions {
            workers: 1,
            ..ServiceOptions::default()
        },
    )
    .unwrap();
    service.load().unwrap();
    let first = service.snapshot().unwrap().generation;
    service.load_in_background();
    wait_until("it runs", || service.load_state().running);
    service.load_in_background();
    wait_until("both are done", || {
        service.snapshot().unwrap().generation == first + 2
    });
    stays("nothing more is loaded", UNDISTURBED, || {
        service.snapshot().unwrap().generation == first + 2
    });
}

#[test]
fn without_file_events_the_dataset_is_polled_and_this_is_said_once() {
    let mut desk = Desk::watched_by(
        |service| service.watch_by_polling("no more watches").unwrap(),
        |place| write(&place.join("data"), 1),
    );
    assert_eq!(desk.service.load_state().watching, Watching::Polling);
    assert_eq!(
        desk.next_event(),
        Some(ServiceEvent::Notice(
            "no more watches; checking the dataset for changes every 2 s instead".to_owned()
        ))
    );
    for price in 2..4 {
        fs::write(desk.folder.join("tokens.csv"), tokens(price)).unwrap();
        desk.until((price, 1));
        let told = wait_for("a generation is told", || desk.next_event());
        assert!(matches!(told, ServiceEvent::Reloaded(_)), "{told:?}");
    }
}

#[test]
fn the_threads_end_with_the_deck() {
    let desk = Desk::plain();
    let weak = Arc::downgrade(&desk.service);
    drop(desk);
    wait_until("the deck is gone", || weak.upgrade().is_none());
}

#[test]
fn a_file_appended_to_without_pause_is_loaded_up_to_its_last_whole_line() {
    let desk = Desk::plain();
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(desk.folder.join("labels.csv"))
        .unwrap();
    let start = Instant::now();
    let mut name = 1;
    // Each line in two writes: a half-written one is never loaded.
    while desk.current().1 < 5 {
        assert!(
            start.elapsed() < PATIENCE,
            "never taken in: {:?}",
            desk.service.load_state()
        );
        name += 1;
        write!(file, "{TOKEN},bri").unwrap();
        thread::sleep(Duration::from_millis(40));
        writeln!(file, "dge,{name}").unwrap();
        thread::sleep(Duration::from_millis(40));
        let snapshot = desk.service.snapshot().unwrap();
        let labels = snapshot.dataset.table("labels").unwrap();
        assert_eq!((labels.rows_bad, labels.changed_during_read), (0, false));
    }
}
