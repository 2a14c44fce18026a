//! `tokendeck doctor` end to end: what it says of this machine's folders, ports and sources, and that it neither writes nor asks unasked.

use std::{
    io::{Read, Write},
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use serde_json::Value;

use super::{DEMO, Desk};

/// Verdict and finding of each line of that name.
fn lines(out: &str, what: &str) -> Vec<(String, String)> {
    let told: Value = serde_json::from_str(out).unwrap_or_else(|error| panic!("{error}: {out}"));
    let text = |check: &Value, name: &str| check[name].as_str().unwrap().to_owned();
    let checks = told["checks"].as_array().unwrap();
    checks
        .iter()
        .filter(|check| check["what"] == what)
        .map(|check| (text(check, "verdict"), text(check, "found")))
        .collect()
}

#[test]
fn a_sound_machine_is_exit_code_0_and_nothing_is_written() {
    let desk = Desk::new();
    desk.write("config.toml", "[api]\nlisten = '127.0.0.1:0'\n");
    let (code, out, err) = desk.run(&["doctor", "--data", DEMO]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.contains("\n0 things to fix, "), "{out}");
    let left: Vec<_> = std::fs::read_dir(desk.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["config.toml"]);
}

#[test]
fn what_must_be_mended_is_exit_code_1() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = format!("[api]\nlisten = '{}'\n", taken.local_addr().unwrap());
    for (config, what, found) in [
        (listen.as_str(), "port", "address already in use"),
        ("[api]\nlistn = 'x'\n", "configuration", "listn"),
        (
            "[cache]\ndir = '/dev/null/cache'\n[api]\nenabled = false\n",
            "cache",
            "cannot write to `/dev/null/cache`: not a directory",
        ),
        (
            "api.enabled = false\n[sources.posts]\nkind = 'https'\nurl = 'https://posts.invalid'\ntoken_env = 'NO_SUCH_TOKEN'\n",
            "source posts",
            "`NO_SUCH_TOKEN` is not set",
        ),
    ] {
        let desk = Desk::new();
        desk.write("deck.toml", config);
        let (code, out, err) =
            desk.run(&["doctor", "--config", "deck.toml", "--json", "--data", DEMO]);
        assert_eq!((code, err.as_str()), (1, ""), "{out}");
        let line = lines(&out, what);
        assert!(
            line.iter()
                .any(|(verdict, says)| verdict == "mend" && says.contains(found)),
            "{what}: {line:?}"
        );
    }
}

#[test]
fn a_source_is_asked_with_online_alone() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    thread::spawn(move || {
        for connection in server.incoming() {
            let mut connection = connection.unwrap();
            count.fetch_add(1, Ordering::SeqCst);
            assert!(connection.read(&mut [0; 1024]).unwrap() > 0);
            // Any status is an answer.
            connection
                .write_all(
                    b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
                )
                .unwrap();
        }
    });
    let desk = Desk::new();
    // Nobody listens at port 1.
    desk.write(
        "config.toml",
        &format!("api.enabled = false\n[sources.here]\nkind = 'https'\nurl = 'http://{address}'\n[sources.gone]\nkind = 'https'\nurl = 'http://127.0.0.1:1'\n"),
    );
    let (code, out, _) = desk.run(&["doctor", "--json", "--data", DEMO]);
    assert_eq!((code, asked.load(Ordering::SeqCst)), (0, 0), "{out}");
    let (code, out, _) = desk.run(&["doctor", "--json", "--online", "--data", DEMO]);
    assert_eq!((code, asked.load(Ordering::SeqCst)), (1, 1), "{out}");
    let reached = lines(&out, "reached");
    let verdict = |place: &str| {
        reached
            .iter()
            .find(|(_, found)| found.contains(place))
            .map(|(verdict, _)| verdict.as_str())
    };
    assert_eq!(
        (verdict(&address.to_string()), verdict("127.0.0.1:1 ")),
        (Some("good"), Some("mend")),
        "{reached:?}"
    );
}
