//! Test terminal: a real pty, a screen that interprets output and answers terminal queries, and waiting for expected content. Isolated from
//! the user's own configuration and state.

use std::{
    fs,
    io::{Read, Write},
    num::NonZeroU16,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    process::{self, Command},
    sync::{Arc, Condvar, Mutex},
    thread,
    time::{Duration, Instant},
};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::{
    fs::{Mode, OFlags},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};
use tempfile::TempDir;
use vt100::{Callbacks, MouseProtocolMode, Parser, Screen};

use crate::wait::{PATIENCE, wait_for, wait_until};
use model::locks::Locked as _;

pub(super) const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/datasets");
pub(super) const SIZE: (u16, u16) = (140, 42);

/// Idle time after which the program counts as at rest: longer than any of its own pauses.
const BLINK: Duration = Duration::from_millis(300);

/// Number of key presses in a text; an escape sequence, alone, is one.
pub(super) fn key_presses(keys: &str) -> usize {
    if keys.starts_with('\x1b') {
        1
    } else {
        keys.chars().count()
    }
}

/// A home folder for the program, shared by several runs.
pub(super) struct Home {
    folder: TempDir,
}

impl Home {
    pub(super) fn new() -> Self {
        let home = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        // A free port, independent of other tests.
        home.write(
            "config/tokendeck/config.toml",
            "[api]\nlisten = '127.0.0.1:0'\n[deck]\nrecords = false\n",
        );
        home
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Files below a folder of the home.
    pub(super) fn files(&self, name: &str) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.path().join(name)) else {
            return Vec::new();
        };
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// Opens the dashboard on the demo data, and waits for its first screen.
    pub(super) fn open(&self) -> Terminal {
        let terminal = self.run(&["--data", DEMO], &[]);
        terminal.ready();
        terminal
    }

    pub(super) fn run(&self, args: &[&str], variables: &[(&str, &str)]) -> Terminal {
        Terminal::start(self.command(args, variables), Duration::ZERO, Shows::Text)
    }

    /// Runs the program in a terminal that is not its session's: the terminal's other side, and the program.
    pub(super) fn run_without_session(&self, args: &[&str]) -> (OwnedFd, process::Child) {
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let open =
            || rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let (ws_col, ws_row) = SIZE;
        tcsetwinsize(
            &master,
            Winsize {
                ws_row,
                ws_col,
                ws_xpixel: 0,
                ws_ypixel: 0,
            },
        )
        .unwrap();
        let line = self.command(args, &[]);
        let mut command = Command::new(&line.get_argv()[0]);
        command.args(&line.get_argv()[1..]).env_clear();
        command
            .envs(line.iter_extra_env_as_str())
            .stdin(open())
            .stdout(open())
            .stderr(open());
        (master, command.spawn().unwrap())
    }

    /// Runs the dashboard on the demo data in a terminal that shows pictures, and answers after so long.
    pub(super) fn run_in(&self, shows: Shows, late: Duration, args: &[&str]) -> Terminal {
        Terminal::start(
            self.command(&[&["--data", DEMO], args].concat(), &[]),
            late,
            shows,
        )
    }

    /// Runs a test of this binary as the program, with `variable` set.
    pub(super) fn run_this(&self, test: &str, variable: &str) -> Terminal {
        let this = std::env::current_exe().unwrap();
        let command = self.command_of(
            &this.to_string_lossy(),
            &["--exact", test, "--nocapture"],
            &[(variable, "1")],
        );
        Terminal::start(command, Duration::ZERO, Shows::Text)
    }

    fn command(&self, args: &[&str], variables: &[(&str, &str)]) -> CommandBuilder {
        self.command_of(env!("CARGO_BIN_EXE_tokendeck"), args, variables)
    }

    fn command_of(
        &self,
        program: &str,
        args: &[&str],
        variables: &[(&str, &str)],
    ) -> CommandBuilder {
        let mut command = CommandBuilder::new(program);
        command.args(args);
        command.env_clear();
        command.cwd(self.path());
        let folder = |name: &str| self.path().join(name);
        for (variable, name) in [
            ("STATE", "state"),
            ("CONFIG", "config"),
            ("DATA", "data"),
            ("CACHE", "cache"),
        ]
        .map(|(v, n)| (format!("XDG_{v}_HOME"), n))
        {
            command.env(variable, folder(name));
        }
        command.env("HOME", self.path());
        command.env("TERM", "xterm-256color");
        command.env("COLORTERM", "truecolor");
        for (variable, value) in variables {
            command.env(variable, value);
        }
        command
    }

    /// Like `open`, in a terminal that answers queries only after `late`.
    pub(super) fn open_slow(&self, late: Duration) -> Terminal {
        let terminal = Terminal::start(self.command(&["--data", DEMO], &[]), late, Shows::Kitty);
        terminal.ready();
        terminal
    }
}

/// What a terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Shows {
    #[default]
    Text,
    Kitty,
    Iterm,
    Sixel,
}

/// Pixels of a cell.
pub(super) const CELL: (u16, u16) = (10, 20);

#[derive(Default)]
struct Answers {
    bytes: Vec<u8>,
    shows: Shows,
    /// The terminal's name was asked, which comes with the question about pictures.
    named: bool,
}

impl Callbacks for Answers {
    fn unhandled_csi(
        &mut self,
        screen: &mut Screen,
        first: Option<u8>,
        _: Option<u8>,
        params: &[&[u16]],
        last: char,
    ) {
        match (first, params, last) {
            (None, [[6]], 'n') => {
                let (row, column) = screen.cursor_position();
                self.bytes
                    .extend(format!("\x1b[{};{}R", row + 1, column + 1).bytes());
            }
            (Some(b'>'), _, 'q') => {
                self.named = true;
                if self.shows == Shows::Iterm {
                    self.bytes.extend(b"\x1bP>|iTerm2 3.5.4\x1b\\");
                }
            }
            (None, [[16]], 't') if self.shows != Shows::Text => self
                .bytes
                .extend(format!("\x1b[6;{};{}t", CELL.1, CELL.0).bytes()),
            (None, _, 'c') => {
                if self.named && self.shows == Shows::Kitty {
                    self.bytes.extend(b"\x1b_Gi=31;OK\x1b\\");
                }
                self.bytes.extend_from_slice(if self.shows == Shows::Sixel {
                    b"\x1b[?62;4;22c"
                } else {
                    b"\x1b[?62;c"
                });
            }
            _ => {}
        }
    }

    fn unhandled_osc(&mut self, _: &mut Screen, params: &[&[u8]]) {
        if params.first() == Some(&&b"11"[..]) && params.get(1) == Some(&&b"?"[..]) {
            self.bytes.extend(b"\x1b]11;rgb:1111/1313/1a1a\x1b\\");
        }
    }
}

struct Seen {
    parser: Parser<Answers>,
    bytes: Vec<u8>,
    /// Whether a terminal query is unanswered.
    owes: bool,
}

type Shared = Arc<(Mutex<Seen>, Condvar)>;

pub(super) struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    master: Option<Box<dyn MasterPty + Send>>,
    writer: Arc<Mutex<Box<dyn Write + Send>>>,
    seen: Shared,
    pub(super) pid: u32,
}

impl Terminal {
    fn start(command: CommandBuilder, late: Duration, shows: Shows) -> Self {
        let (cols, rows) = SIZE;
        let pair = native_pty_system()
            .openpty(PtySize {
                rows,
                cols,
                pixel_width: 0,
                pixel_height: 0,
            })
            .unwrap();
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let parser = Parser::new_with_callbacks(
            NonZeroU16::new(rows).unwrap(),
            NonZeroU16::new(cols).unwrap(),
            0,
            Answers {
                shows,
                ..Answers::default()
            },
        );
        let seen: Shared = Arc::new((
            Mutex::new(Seen {
                parser,
                bytes: Vec::new(),
                owes: false,
            }),
            Condvar::new(),
        ));
        let writer = Arc::new(Mutex::new(pair.master.take_writer().unwrap()));
        let reader = pair.master.try_clone_reader().unwrap();
        let (theirs, answering) = (Arc::clone(&seen), Arc::clone(&writer));
        thread::spawn(move || read(reader, &theirs, &answering, late));
        let pid = child.process_id().unwrap();
        Self {
            child,
            master: Some(pair.master),
            writer,
            seen,
            pid,
        }
    }

    /// Sends keys as a terminal encodes them.
    pub(super) fn keys(&self, keys: &str) {
        let mut writer = self.writer.lock().unwrap();
        writer.write_all(keys.as_bytes()).unwrap();
        writer.flush().unwrap();
    }

    pub(super) fn resize(&self, cols: u16, rows: u16) {
        let (seen, _) = &*self.seen;
        seen.lock().unwrap().parser.set_size(
            NonZeroU16::new(rows).unwrap(),
            NonZeroU16::new(cols).unwrap(),
        );
        self.claim(cols, rows);
    }

    /// Tells the program a size that the screen here does not have.
    pub(super) fn claim(&self, cols: u16, rows: u16) {
        self.master
            .as_ref()
            .unwrap()
            .resize(PtySize {
                rows,
                cols,
                pixel_width: 0,
                pixel_height: 0,
            })
            .unwrap();
    }

    pub(super) fn signal(&self, signal: &str) {
        assert!(
            Command::new("kill")
                .args([signal, &self.pid.to_string()])
                .status()
                .unwrap()
                .success()
        );
    }

    /// Closes the window (hang-up).
    pub(super) fn hang_up(&mut self) {
        self.master = None;
    }

    pub(super) fn text(&self) -> String {
        self.seen.0.lock().unwrap().parser.screen().contents()
    }

    /// Number of bytes written so far.
    pub(super) fn written(&self) -> usize {
        self.seen.0.lock().unwrap().bytes.len()
    }

    /// All output, including control sequences.
    pub(super) fn stream(&self) -> String {
        String::from_utf8_lossy(&self.seen.0.lock().unwrap().bytes).into_owned()
    }

    /// Waits until the screen satisfies `test`.
    pub(super) fn until(&self, what: &str, test: impl Fn(&Screen) -> bool) {
        let end = Instant::now() + PATIENCE;
        let (seen, arrived) = &*self.seen;
        let mut guard = seen.lock().unwrap();
        while !test(guard.parser.screen()) {
            let left = end.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero(),
                "never saw {what}; the screen:\n{}",
                guard.parser.screen().contents()
            );
            guard = arrived.wait_timeout(guard, left).unwrap().0;
        }
    }

    pub(super) fn see(&self, text: &str) {
        self.until(text, |screen| screen.contents().contains(text));
    }

    pub(super) fn see_no(&self, text: &str) {
        self.until(&format!("the end of `{text}`"), |screen| {
            !screen.contents().contains(text)
        });
    }

    /// Waits for the first screen: data loaded, token selected, API listening.
    pub(super) fn ready(&self) {
        self.until("the first screen", |screen| {
            let header = screen
                .contents()
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned();
            header.contains("tokendeck")
                && header.contains("0x")
                && header.contains("api")
                && !header.contains("loading")
        });
    }

    /// Waits until the program is at rest: all threads sleep and nothing is written for `BLINK`.
    pub(super) fn settle(&self) {
        let mut before = (self.written(), Instant::now());
        wait_until("the program at rest", || {
            let written = self.written();
            if written != before.0 || self.seen.0.lock().unwrap().owes || !self.sleeps() {
                before = (written, Instant::now());
            }
            before.1.elapsed() >= BLINK
        });
    }

    /// Whether all threads of the program are sleeping.
    fn sleeps(&self) -> bool {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.pid))
            .into_iter()
            .flatten()
            .flatten();
        tasks
            .map(|task| stat(&task.path()))
            .all(|stat| stat.first().is_none_or(|state| state == "S"))
    }

    /// Whether the terminal is back in cooked mode.
    pub(super) fn cooked(&self) -> bool {
        const ICANON: u32 = 0o2;
        const ECHO: u32 = 0o10;
        let flags = self
            .master
            .as_ref()
            .unwrap()
            .get_termios()
            .unwrap()
            .local_flags
            .bits();
        flags & (ICANON | ECHO) == ICANON | ECHO
    }

    /// Asserts that every terminal mode the program entered has been left, as far as the terminal can tell.
    pub(super) fn restored(&self) {
        self.until("every mode left", |screen| {
            !screen.alternate_screen()
                && !screen.hide_cursor()
                && !screen.bracketed_paste()
                && screen.mouse_protocol_mode() == MouseProtocolMode::None
        });
        assert!(self.cooked(), "the terminal is still raw");
        // Modes that the screen above does not track.
        let stream = self.stream();
        for mode in [
            "1000", "1002", "1003", "1006", "1015", "1049", "2004", "2026",
        ] {
            let (on, off) = (
                stream.rfind(&format!("\x1b[?{mode}h")),
                stream.rfind(&format!("\x1b[?{mode}l")),
            );
            assert!(
                on.is_none_or(|on| off.is_some_and(|off| on < off)),
                "mode {mode} is still on"
            );
        }
    }

    /// State letter of the process, such as `T` for stopped.
    pub(super) fn state(&self) -> char {
        self.stat()
            .first()
            .and_then(|state| state.chars().next())
            .unwrap_or('-')
    }

    /// CPU time so far, in clock ticks.
    pub(super) fn ticks(&self) -> u64 {
        let stat = self.stat();
        stat[11].parse::<u64>().unwrap() + stat[12].parse::<u64>().unwrap()
    }

    fn stat(&self) -> Vec<String> {
        stat(Path::new(&format!("/proc/{}", self.pid)))
    }

    pub(super) fn until_state(&self, states: &[char]) {
        wait_until(
            &format!("the process in one of the states {states:?}"),
            || states.contains(&self.state()),
        );
    }

    /// Waits for the process to end; returns its exit code.
    pub(super) fn exit(&mut self) -> u32 {
        let status = wait_for("the end of the program", || self.child.try_wait().unwrap());
        assert_eq!(status.signal(), None, "{}", self.text());
        status.exit_code()
    }
}

/// Fields of a process's or thread's `stat` after the program's name; empty if it is gone.
fn stat(place: &Path) -> Vec<String> {
    let stat = fs::read_to_string(place.join("stat")).unwrap_or_default();
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    fields.split_whitespace().map(str::to_owned).collect()
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Reads output until the program ends, and answers the terminal queries in it.
fn read(
    mut reader: Box<dyn Read + Send>,
    seen: &Shared,
    writer: &Mutex<Box<dyn Write + Send>>,
    late: Duration,
) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = reader.read(&mut buffer) {
        let (lock, arrived) = &**seen;
        let answers = {
            let mut seen = lock.locked();
            seen.bytes.extend_from_slice(&buffer[..count]);
            seen.parser.process(&buffer[..count]);
            let answers = std::mem::take(&mut seen.parser.callbacks_mut().bytes);
            seen.owes = !answers.is_empty();
            answers
        };
        arrived.notify_all();
        if !answers.is_empty() {
            thread::sleep(late);
            writer.locked().write_all(&answers).ok();
            lock.locked().owes = false;
        }
    }
}
