//! `tokendeck serve` as a supervisor sees it: its first line, its signals, and what it cannot start with.

use std::{
    io::{BufRead, BufReader, Read},
    net::{TcpListener, TcpStream},
    process::{Child, ChildStdout, Command, Stdio},
};

use super::{DEMO, Desk, told};

/// A running server; ended when the test is.
struct Server {
    child: Child,
    stdout: BufReader<ChildStdout>,
    address: String,
}

impl Server {
    fn start(desk: &Desk) -> Self {
        let mut command = desk.command(&["serve", "--listen", "127.0.0.1:0", "--data", DEMO]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let address =
            line.strip_prefix("listening on http://").and_then(|rest| rest.strip_suffix('\n')).unwrap_or_else(|| panic!("{line:?}"));
        Self { child, stdout, address: address.to_owned() }
    }

    /// The exit code after the signal, and the rest of stdout.
    fn end(mut self, signal: &str) -> (i32, String) {
        assert!(Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap().success());
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
fn the_first_line_says_where_it_listens_and_a_signal_ends_it() {
    for (signal, code) in [("-TERM", 0), ("-INT", 0), ("-HUP", 129)] {
        let server = Server::start(&Desk::new());
        assert!(server.address.starts_with("127.0.0.1:") && !server.address.ends_with(":0"), "{}", server.address);
        TcpStream::connect(&server.address).unwrap();
        assert_eq!(server.end(signal), (code, String::new()), "{signal}");
    }
}

#[test]
fn a_port_in_use_is_told_with_a_way_out() {
    let desk = Desk::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (code, out, err) = desk.run(&["serve", "--listen", &address, "--data", DEMO]);
    let expected = format!(
        "tokendeck: cannot listen on `{address}`: address already in use; choose another with --listen ADDR, port 0 takes a free one"
    );
    assert_eq!((code, out.as_str(), err.lines().last()), (1, "", Some(expected.as_str())));
}

#[test]
fn a_server_that_can_keep_no_state_does_not_start() {
    let desk = Desk::new();
    desk.write("state", "a file, where a folder should be");
    let mut command = desk.command(&["serve", "--listen", "127.0.0.1:0", "--data", DEMO]);
    let (code, out, err) = told(&command.env("XDG_STATE_HOME", desk.path().join("state")).output().unwrap());
    assert!(code == 1 && out.is_empty() && err.lines().last().unwrap().starts_with("tokendeck: "), "{err}");
}
