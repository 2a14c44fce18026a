//! `tokendeck serve` under a supervisor: its first line, its signals, and its start-up failures.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    net::{TcpListener, TcpStream},
    process::{Child, ChildStdout, Command, Stdio},
};

use super::{DEMO, Desk, told};
use crate::wait::wait_for;

const KEY: &str = "tdk_0123456789abcdef0123456789abcdef";

/// A running server, killed on drop.
struct Server {
    child: Child,
    stdout: BufReader<ChildStdout>,
    address: String,
}

impl Server {
    fn start(desk: &Desk) -> Self {
        Self::of(
            desk.command(&["serve", "--listen", "127.0.0.1:0", "--data", DEMO])
                .stderr(Stdio::piped()),
        )
    }

    fn of(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let address = line
            .strip_prefix("listening on http://")
            .and_then(|rest| rest.strip_suffix('\n'))
            .unwrap_or_else(|| panic!("{line:?}"));
        Self {
            child,
            stdout,
            address: address.to_owned(),
        }
    }

    /// A server with a known key.
    fn with_key(desk: &Desk) -> Self {
        let mut command = desk.command(&["serve", "--listen", "127.0.0.1:0", "--data", DEMO]);
        Self::of(command.env("TOKENDECK_API_KEY", KEY).stderr(Stdio::null()))
    }

    fn ask(&self, target: &str) -> (u16, String) {
        let url = format!("http://{}{target}", self.address);
        let agent = ureq::Agent::new_with_config(
            ureq::Agent::config_builder()
                .http_status_as_error(false)
                .build(),
        );
        let mut answer = agent.get(url).header("x-api-key", KEY).call().unwrap();
        (
            answer.status().as_u16(),
            answer.body_mut().read_to_string().unwrap(),
        )
    }

    /// Retries until the answer is not 503.
    fn settled(&self, target: &str) -> (u16, String) {
        wait_for("an answer", || {
            Some(self.ask(target)).filter(|answer| answer.0 != 503)
        })
    }

    fn signal(&self, signal: &str) {
        assert!(
            Command::new("kill")
                .args([signal, &self.child.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Sends the signal; returns the exit code and the rest of stdout.
    fn end(mut self, signal: &str) -> (i32, String) {
        self.signal(signal);
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        (code, rest)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn serve_prints_its_address_first_and_ends_on_a_signal() {
    for (signal, code) in [("-TERM", 0), ("-INT", 0), ("-HUP", 129)] {
        let server = Server::start(&Desk::new());
        assert!(
            server.address.starts_with("127.0.0.1:") && !server.address.ends_with(":0"),
            "{}",
            server.address
        );
        TcpStream::connect(&server.address).unwrap();
        assert_eq!(server.end(signal), (code, String::new()), "{signal}");
    }
}

#[test]
fn a_port_in_use_is_exit_code_1_and_names_the_way_out() {
    let desk = Desk::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (code, out, err) = desk.run(&["serve", "--listen", &address, "--data", DEMO]);
    let expected = format!(
        "tokendeck: cannot listen on `{address}`: address already in use; pass another address with --listen (port 0 picks a free port)"
    );
    assert_eq!(
        (code, out.as_str(), err.lines().last()),
        (1, "", Some(expected.as_str()))
    );
}

#[test]
fn without_a_writable_state_folder_serve_does_not_start() {
    let desk = Desk::new();
    desk.write("state", "a file, where a folder should be");
    let mut command = desk.command(&["serve", "--listen", "127.0.0.1:0", "--data", DEMO]);
    let (code, out, err) = told(
        &command
            .env("XDG_STATE_HOME", desk.path().join("state"))
            .output()
            .unwrap(),
    );
    assert!(
        code == 1 && out.is_empty() && err.lines().last().unwrap().starts_with("tokendeck: "),
        "{err}"
    );
}

#[test]
fn a_cache_file_truncated_while_mapped_is_made_again() {
    let desk = Desk::new();
    desk.write("config.toml", "[cache]\nrows = 100\ndir = \"kept\"\n");
    let server = Server::with_key(&desk);
    let (uni, weth) = (
        "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984",
        "0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2",
    );
    let candles =
        |token: &str, limit: usize| format!("/tokens/{token}/candles?timeframe=1h&limit={limit}");
    let whole = server.settled(&candles(uni, 700));
    assert_eq!(whole.0, 200, "{}", whole.1);
    let entry = frames::cache::list(&desk.path().join("kept"))
        .into_iter()
        .find(|entry| entry.table == "candles")
        .unwrap();
    let rows = desk
        .path()
        .join("kept/tables")
        .join(&entry.name)
        .join("rows.arrow");
    fs::File::options()
        .write(true)
        .open(&rows)
        .unwrap()
        .set_len(0)
        .unwrap();
    // This query is not cached, so it reads the truncated file.
    assert_eq!(server.ask(&candles(uni, 701)).0, 503);
    let again = server.settled(&candles(uni, 700));
    assert_eq!(again, whole);
    let (status, body) = server.settled(&candles(weth, 700));
    assert!(status == 200 && body.len() > 10_000, "{status} {body}");
    assert_eq!(server.end("-TERM").0, 0);
}

#[test]
fn sigusr1_reloads_the_data() {
    let server = Server::with_key(&Desk::new());
    let generation = || -> u64 {
        let (status, body) = server.settled("/datasets");
        assert_eq!(status, 200, "{body}");
        serde_json::from_str::<serde_json::Value>(&body).unwrap()["generation"]
            .as_u64()
            .unwrap()
    };
    server.settled("/tokens");
    let before = generation();
    server.signal("-USR1");
    wait_for("the next generation", || {
        (generation() > before).then_some(())
    });
    assert_eq!(server.end("-TERM").0, 0);
}

#[test]
fn health_asks_a_running_server_and_fails_without_one() {
    let desk = Desk::new();
    let server = Server::with_key(&desk);
    let health = |address: &str| desk.run(&["health", "--listen", address]);
    assert!(
        wait_for("data", || Some(health(&server.address))
            .filter(|told| told.1.contains("\"ok\"")))
        .0 == 0
    );
    // A server that listens on every address is asked on loopback.
    let port = server.address.rsplit(':').next().unwrap().to_owned();
    assert_eq!(health(&format!("0.0.0.0:{port}")).0, 0);
    drop(server);
    let (code, out, err) = health(&format!("127.0.0.1:{port}"));
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("no healthy response from "), "{err}");
    // Another program's answer is none.
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap().to_string();
    let answering = std::thread::spawn(move || {
        use std::io::Write as _;
        let (mut client, _) = other.accept().unwrap();
        assert!(client.read(&mut [0; 1024]).unwrap() > 0);
        client.write_all(b"HTTP/1.1 404 Not Found\r\n\r\n").unwrap();
    });
    let (code, _, err) = health(&address);
    answering.join().unwrap();
    assert!(
        code == 1 && err.contains("`HTTP/1.1 404 Not Found`"),
        "{err}"
    );
}
