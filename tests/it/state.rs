//! Per-user state: API keys, watchlist, session; and damaged or modified state files.

use std::{fs, path::Path};

use api::keys::{KeySource, Keys};
use model::{address::Address, private_files::write_atomic};
use serde_json::{Map, json};
use tokendeck::state::{session, watchlist::Watchlist};

use crate::wait::wait_until;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn keys(state: &Path) -> Keys {
    Keys::open_with(None, None, state).expect("keys")
}

fn secret(keys: &Keys) -> String {
    keys.show().expect("a key").reveal().to_owned()
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).expect("a file").permissions().mode() & 0o777
}

#[test]
fn a_key_is_made_on_first_start_and_kept() {
    let state = folder();
    let below = state.path().join("not/yet/there");
    let first = secret(&keys(&below));
    assert!(first.starts_with("td_") && first.len() == 67, "{first}");
    assert_eq!(secret(&keys(&below)), first);
    assert_ne!(secret(&keys(folder().path())), first);
    let read = keys(&below);
    for (header, accepted) in [
        (first.as_bytes(), true),
        (b"" as &[u8], false),
        (b"td_", false),
        (&first.as_bytes()[..66], false),
        (format!("{first} ").as_bytes(), false),
        (first.to_uppercase().as_bytes(), false),
        (&[0xff; 67], false),
        (&vec![b'x'; 100_000], false),
    ] {
        assert_eq!(
            read.accepts(header),
            accepted,
            "{}",
            String::from_utf8_lossy(&header[..header.len().min(80)])
        );
    }
}

#[cfg(unix)]
#[test]
fn the_key_file_is_the_users_alone_and_a_wider_mode_is_warned_of() {
    use std::os::unix::fs::PermissionsExt;
    let state = folder();
    let keys = keys(state.path());
    let file = state.path().join("keys");
    assert_eq!(mode(&file), 0o600);
    assert_eq!(keys.warnings(), Vec::<String>::new());
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("a mode");
    let opened = Keys::open_with(None, None, state.path()).expect("keys");
    assert!(
        opened
            .warnings()
            .iter()
            .any(|warning| warning.contains("chmod 600") && warning.contains("0644")),
        "{:?}",
        opened.warnings()
    );
    keys.new_key().expect("a key");
    assert_eq!(mode(&file), 0o600);
}

#[test]
fn a_key_that_can_be_guessed_is_warned_of_and_opens_nothing_to_other_machines() {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
    let state = folder();
    let elsewhere = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    for (chars, warned, refused) in [
        (15, true, true),
        (16, true, false),
        (31, true, false),
        (32, false, false),
    ] {
        let keys = Keys::open_with(Some(&"k".repeat(chars)), None, state.path()).expect("keys");
        assert_eq!(
            keys.warnings()
                .iter()
                .any(|warning| warning.contains("TOKENDECK_API_KEY")),
            warned,
            "{chars}"
        );
        assert_eq!(keys.refused_on(elsewhere).is_some(), refused, "{chars}");
        for near in [
            IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(Ipv6Addr::LOCALHOST),
        ] {
            assert_eq!(keys.refused_on(near), None, "{chars}");
        }
    }
}

#[test]
fn a_running_program_sees_new_and_revoked_keys_at_once() {
    let state = folder();
    let server = keys(state.path());
    let old = secret(&server);
    assert!(server.accepts(old.as_bytes()));
    let command = keys(state.path());
    let mut made = Vec::new();
    for _ in 0..20 {
        let key = command.new_key().expect("a key");
        assert!(
            server.accepts(key.reveal().as_bytes()),
            "a key made by another program opens at once"
        );
        made.push(key);
    }
    assert_eq!(server.list().len(), 21);
    for (i, key) in made.iter().enumerate() {
        let name = if i % 2 == 0 { &key.id } else { key.reveal() };
        assert_eq!(command.revoke(name).expect("revoked"), *key);
        // A revoked key may remain valid for a moment.
        if i < 2 {
            wait_until("the key is refused", || {
                !server.accepts(key.reveal().as_bytes())
            });
        }
    }
    assert!(server.accepts(old.as_bytes()));
    assert!(
        command
            .revoke(&made[0].id)
            .is_err_and(|reason| !reason.to_string().contains("td_"))
    );
    command.revoke(&old).expect("the last one can go too");
    wait_until("the last key is refused", || {
        !server.accepts(old.as_bytes())
    });
    assert!(server.show().is_none());
    assert_ne!(
        secret(&keys(state.path())),
        old,
        "the next start makes a new one"
    );
}

#[test]
fn a_damaged_file_of_keys_is_read_as_far_as_it_can_be_and_kept_before_it_is_written() {
    let state = folder();
    let good = format!("td_{}", "5".repeat(64));
    let bytes = [b"\xef\xbb\xbf", good.as_bytes(), b"\n\xff\x80 x\n"].concat();
    fs::write(state.path().join("keys"), &bytes).expect("a file");
    let keys = keys(state.path());
    assert!(
        keys.accepts(good.as_bytes()),
        "a mark is no letter of the key"
    );
    keys.new_key().expect("a key");
    assert_eq!(set_aside(state.path(), "keys"), [bytes]);
    keys.new_key().expect("a key");
    assert!(keys.accepts(good.as_bytes()));
    assert_eq!(
        set_aside(state.path(), "keys").len(),
        1,
        "what is written is whole"
    );
}

#[test]
fn no_key_opens_when_its_file_is_gone() {
    let state = folder();
    let keys = keys(state.path());
    let key = secret(&keys);
    fs::remove_file(state.path().join("keys")).expect("removed");
    wait_until("the key is refused", || !keys.accepts(key.as_bytes()));
    assert!(
        keys.warnings()
            .iter()
            .any(|warning| warning.contains("cannot read the keys"))
    );
}

#[test]
fn sources_are_taken_in_order() {
    let state = folder();
    let file = state.path().join("own-keys");
    fs::write(
        &file,
        "# mine\n\nfirst-key-of-twenty-chars  made by hand\r\nsecond-key-of-twenty-chars",
    )
    .expect("a file");
    let environment =
        Keys::open_with(Some("from-the-environment"), Some(&file), state.path()).expect("keys");
    assert_eq!(*environment.source(), KeySource::Environment);
    assert!(
        environment.accepts(b"from-the-environment")
            && !environment.accepts(b"first-key-of-twenty-chars")
    );
    for outcome in [
        environment.new_key(),
        environment.revoke("from-the-environment"),
    ] {
        let reason = outcome.expect_err("not from here").to_string();
        assert!(
            reason.contains("TOKENDECK_API_KEY") && !reason.contains("from-the"),
            "{reason}"
        );
    }
    let configured = Keys::open_with(None, Some(&file), state.path()).expect("keys");
    assert!(
        configured.accepts(b"first-key-of-twenty-chars")
            && configured.accepts(b"second-key-of-twenty-chars")
    );
    assert!(
        !configured.accepts(b"made") && !configured.accepts(b"# mine") && !configured.accepts(b"")
    );
    configured
        .revoke("first-key-of-twenty-chars")
        .expect("revoked");
    let made = configured.new_key().expect("a key");
    let text = fs::read_to_string(&file).expect("the file");
    assert!(
        text.starts_with("# mine\n\nsecond-key-of-twenty-chars\n") && text.contains(made.reveal()),
        "{text}"
    );
    assert!(
        !state.path().join("keys").exists(),
        "the state directory's own file is not made"
    );

    for (variable, file, part) in [
        (Some("two words"), None, "visible ASCII"),
        (Some("ключ"), None, "visible ASCII"),
        (
            None,
            Some(state.path().join("none")),
            "cannot read the keys",
        ),
        (None, Some(state.path().to_owned()), "cannot read the keys"),
    ] {
        let reason = Keys::open_with(variable, file.as_deref(), state.path())
            .expect_err(part)
            .to_string();
        assert!(
            reason.contains(part) && !reason.contains("two words"),
            "{reason}"
        );
    }
    fs::write(&file, "# nothing\n\u{7}bell\n").expect("a file");
    assert!(
        Keys::open_with(None, Some(&file), state.path())
            .is_err_and(|reason| reason.to_string().contains("contains no key"))
    );
}

#[test]
fn nothing_prints_a_key() {
    let state = folder();
    let keys = keys(state.path());
    let key = keys.new_key().expect("a key");
    let shown = format!("{keys:?} {key:?} {:#?} {:?}", keys.list(), keys.warnings());
    assert!(!shown.contains("td_") && shown.contains(&key.id), "{shown}");
}

#[test]
fn without_a_writable_state_directory_a_key_lives_in_memory() {
    let state = folder();
    let file = state.path().join("file");
    fs::write(&file, b"").expect("a file");
    let reason =
        Keys::open_with(None, None, &file.join("state")).expect_err("no folder can be made there");
    assert!(
        reason.to_string().contains("cannot create the folder"),
        "{reason}"
    );
    let keys = Keys::in_memory().expect("a key");
    let (old, new) = (secret(&keys), keys.new_key().expect("a key"));
    assert!(keys.accepts(old.as_bytes()) && keys.accepts(new.reveal().as_bytes()));
    keys.revoke(&old).expect("revoked");
    assert!(!keys.accepts(old.as_bytes()) && keys.accepts(new.reveal().as_bytes()));
}

#[test]
fn first_starts_at_once_agree_on_one_key() {
    let state = folder();
    let secrets: Vec<String> = std::thread::scope(|scope| {
        let starts: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| secret(&keys(state.path()))))
            .collect();
        starts
            .into_iter()
            .map(|start| start.join().expect("a key"))
            .collect()
    });
    assert!(secrets.iter().all(|secret| *secret == secrets[0]));
}

#[test]
fn stars_are_kept_and_those_of_two_programs_add_up() {
    let state = folder();
    let tokens: Vec<Address> = (1..=4).map(|i| Address([i; 20])).collect();
    let (mut one, mut two) = (Watchlist::open(state.path()), Watchlist::open(state.path()));
    assert_eq!(one.toggle(tokens[2]).ok(), Some(true));
    assert_eq!(two.toggle(tokens[0]).ok(), Some(true));
    assert_eq!(one.toggle(tokens[1]).ok(), Some(true));
    // The other program sees what this one starred, once.
    assert!(two.changed() && !two.changed());
    assert_eq!(
        two.tokens().collect::<Vec<_>>(),
        [&tokens[0], &tokens[1], &tokens[2]]
    );
    assert_eq!(one.toggle(tokens[1]).ok(), Some(false));
    let kept = Watchlist::open(state.path());
    assert_eq!(kept.tokens().collect::<Vec<_>>(), [&tokens[0], &tokens[2]]);
    fs::write(
        state.path().join("watchlist"),
        format!("rubbish\n\u{0}\n  {}\n0x12\n", tokens[3]),
    )
    .expect("a file");
    let mut mixed = Watchlist::open(state.path());
    assert_eq!(mixed.tokens().collect::<Vec<_>>(), [&tokens[3]]);
    assert_eq!(
        (mixed.toggle(tokens[0]).ok(), mixed.toggle(tokens[3]).ok()),
        (Some(true), Some(false))
    );
    let text = fs::read_to_string(state.path().join("watchlist")).expect("the file");
    assert_eq!(
        text,
        format!("rubbish\n\u{0}\n0x12\n{}\n", tokens[0]),
        "lines that are no address stay"
    );
    fs::write(
        state.path().join("watchlist"),
        format!("\u{feff}{}\n", tokens[1]),
    )
    .expect("a file");
    assert_eq!(
        Watchlist::open(state.path()).tokens().collect::<Vec<_>>(),
        [&tokens[1]],
        "a mark is no letter of the address"
    );
    fs::write(state.path().join("watchlist"), [0x80, 0xff, b'\n']).expect("a file");
    assert_eq!(
        Watchlist::open(state.path()).toggle(tokens[0]).ok(),
        Some(true)
    );
    assert_eq!(
        set_aside(state.path(), "watchlist"),
        [vec![0x80, 0xff, b'\n']]
    );

    let mut nowhere = Watchlist::open(&state.path().join("watchlist/below"));
    assert!(nowhere.toggle(tokens[0]).is_err());
    assert_eq!(
        nowhere.tokens().collect::<Vec<_>>(),
        [&tokens[0]],
        "the star stands for this run"
    );
}

/// What was kept of damaged files of that name.
fn set_aside(state: &Path, name: &str) -> Vec<Vec<u8>> {
    let files = fs::read_dir(state).expect("a folder").flatten();
    let mut files: Vec<_> = files
        .map(|file| file.path())
        .filter(|path| path.to_string_lossy().contains(&format!("{name}.damaged-")))
        .collect();
    files.sort();
    files
        .iter()
        .map(|path| fs::read(path).expect("a file"))
        .collect()
}

#[test]
fn a_session_comes_back_and_rubbish_is_no_session() {
    let state = folder();
    assert!(session::open(state.path()).is_empty());
    let mut kept = Map::from_iter([
        ("view".to_owned(), json!("chart")),
        ("of_a_newer_program".to_owned(), json!([1, 2])),
    ]);
    session::update(&Map::new(), &kept, state.path()).expect("kept");
    assert_eq!(session::open(state.path()), kept);

    let file = state.path().join("session.json");
    fs::write(
        &file,
        format!("\u{feff}{}", fs::read_to_string(&file).expect("the file")),
    )
    .expect("a file");
    assert_eq!(session::open(state.path()), kept, "a mark is no damage");
    let damaged = [
        "{",
        "null",
        "[]",
        "7",
        "\u{0}\u{1}",
        &"[".repeat(100_000),
        &" ".repeat(5 << 20),
    ]
    .map(|text| text.as_bytes().to_vec());
    for bytes in damaged
        .iter()
        .cloned()
        .chain([vec![0xff, 0xfe, 0x00], Vec::new()])
    {
        fs::write(&file, bytes).expect("a file");
        assert!(session::open(state.path()).is_empty());
        session::update(&Map::new(), &kept, state.path()).expect("kept");
        assert_eq!(session::open(state.path()), kept);
    }
    let aside = set_aside(state.path(), "session.json");
    assert_eq!(
        aside.len(),
        damaged.len() + 1,
        "each is kept, and of an empty file there is nothing"
    );
    assert!(damaged.iter().all(|bytes| aside.contains(bytes)));
    kept.insert("huge".to_owned(), json!("x".repeat(5 << 20)));
    assert!(
        session::update(&Map::new(), &kept, state.path())
            .is_err_and(|reason| reason.to_string().contains("saved plans"))
    );
}

#[test]
fn a_file_is_replaced_whole_and_leaves_nothing_beside_it() {
    let state = folder();
    let file = state.path().join("deep/er/file");
    for text in ["first", "second, longer", ""] {
        write_atomic(&file, text.as_bytes()).expect("written");
        assert_eq!(fs::read_to_string(&file).expect("read"), text);
    }
    let beside = fs::read_dir(file.parent().expect("a folder"))
        .expect("a folder")
        .count();
    assert_eq!(beside, 1);
    let reason = write_atomic(&file.join("x"), b"").expect_err("a file is no folder");
    assert!(
        reason.to_string().contains("cannot create the folder"),
        "{reason}"
    );
    #[cfg(unix)]
    {
        assert_eq!(mode(&file), 0o600);
        let link = state.path().join("link");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        write_atomic(&link, b"through").expect("written");
        assert!(fs::symlink_metadata(&link).expect("the link").is_symlink());
        assert_eq!(fs::read_to_string(&file).expect("read"), "through");
    }
}
