//! The dashboard end to end: the real program in a real terminal, from the first screen to the exit code, through resizes, suspends and
//! hang-ups.

mod defect;
mod graphics;
mod screening;
mod tasks;
mod terminal;
mod typed;

use std::{
    fs::{self, File},
    io::Read as _,
    net::TcpListener,
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::Value;
use tui::views::keymap::VIEWS;

use self::terminal::{DEMO, Home, SIZE};
use crate::wait::{stays, wait_for, wait_until};

const ESC: &str = "\x1b";
const CTRL_L: &str = "\x0c";
const CTRL_Z: &str = "\x1a";
/// The first token of the demo data, and another.
const FIRST: (&str, &str) = ("SHIB", "0x95ad61b0a150d79219dcf64e1e6cc01f0b64c4ce");
const OTHER: (&str, &str) = ("UNI", "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984");

fn header(screen: &vt100::Screen) -> String {
    screen
        .contents()
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn every_view_is_a_number_away() {
    let home = Home::new();
    let terminal = home.open();
    terminal.until("the most traded token", |screen| {
        header(screen).contains(FIRST.0) && header(screen).contains("DEMO DATA")
    });
    terminal.until("where the API listens", |screen| {
        header(screen).contains("api 127.0.0.1:")
    });
    for row in VIEWS {
        terminal.keys(&row.key.to_string());
        terminal.keys("?");
        terminal.see(&format!("keys · {}", row.title));
        terminal.keys(ESC);
        terminal.see_no("keys · ");
        let body = terminal
            .text()
            .lines()
            .skip(3)
            .take(usize::from(SIZE.1) - 4)
            .any(|line| !line.trim().is_empty());
        assert!(body, "{} shows nothing:\n{}", row.title, terminal.text());
    }
}

#[test]
fn the_palette_finds_a_token_and_selects_it() {
    let home = Home::new();
    let terminal = home.open();
    terminal.keys(":");
    terminal.see("palette");
    terminal.keys("qqqq\r");
    terminal.see("no match; Esc closes");
    terminal.keys("\x15unis");
    terminal.see("› unis");
    // Bracketed paste inserts text, line breaks included.
    terminal.keys("\x1b[200~w\rap\x1b[201~");
    terminal.see("› uniswap");
    terminal.keys("\r");
    terminal.until("the other token in the header", |screen| {
        header(screen).contains(&format!("{}  0x1f98", OTHER.0))
    });
    terminal.see_no("› uniswap");
}

#[test]
fn keys_pressed_before_the_data_are_there_choose_the_token() {
    for _ in 0..3 {
        let home = Home::new();
        let terminal = home.run(&["--data", DEMO], &[]);
        terminal.see("1 Tokens");
        terminal.keys("/uni\r2");
        terminal.until("the token in the header and over its posts", |screen| {
            header(screen).contains(&format!("{}  0x1f98", OTHER.0))
                && screen.contents().contains(&format!("of {} ", OTHER.0))
        });
        terminal.keys("1");
        terminal.see("/ uni");
        terminal.until("the same token", |screen| header(screen).contains(OTHER.0));
    }
}

#[test]
fn patterns_are_stepped_through_and_switched_off_by_key() {
    let home = Home::new();
    let terminal = home.open();
    terminal.keys(":");
    terminal.see("palette");
    terminal.keys("uniswap\r");
    terminal.until("the token", |screen| header(screen).contains(OTHER.0));
    terminal.keys("3");
    terminal.see("patterns ─");
    terminal.keys("n");
    terminal.see("◆");
    terminal.keys("n");
    terminal.see("◆");
    terminal.keys("uidfb");
    terminal.see("all patterns found are hidden");
    terminal.see_no("◆");
    terminal.keys("uidfb");
    terminal.see("◆");
    terminal.keys("p");
    terminal.see_no("patterns ─");
    terminal.keys("pN");
    terminal.see("patterns ─");
    terminal.keys(ESC);
    terminal.settle();
    terminal.keys("t");
    terminal.see(&format!("{} · 1w", OTHER.0));
}

#[test]
fn a_window_too_small_says_so_and_recovers() {
    let home = Home::new();
    let terminal = home.open();
    for ((columns, rows), says) in [
        ((40, 10), "40×10 is too small; enlarge to 60×16"),
        ((20, 9), "enlarge to 60×16"),
        ((10, 5), "60×16"),
        ((1, 1), "…"),
    ] {
        terminal.resize(columns, rows);
        terminal.until(says, |screen| {
            let lines: Vec<String> = screen
                .contents()
                .lines()
                .map(str::trim)
                .filter(|line| !line.is_empty())
                .map(str::to_owned)
                .collect();
            lines == [says]
        });
        // Key presses are still processed.
        terminal.keys("?j/x");
        // Two Esc read at once count as one.
        for _ in 0..2 {
            terminal.settle();
            terminal.keys(ESC);
        }
        terminal.settle();
    }
    terminal.resize(SIZE.0, SIZE.1);
    terminal.ready();
    terminal.see("? help");
}

#[test]
fn an_answer_that_comes_late_is_not_taken_for_keys() {
    let home = Home::new();
    let mut terminal = home.open_slow(Duration::from_millis(700));
    terminal.settle();
    assert!(
        !terminal.text().contains("palette ─") && !terminal.text().contains("keys · "),
        "{}",
        terminal.text()
    );
    terminal.keys("?");
    terminal.see("keys · Tokens");
    terminal.keys("qq");
    assert_eq!(terminal.exit(), 0);
}

#[test]
fn the_mouse_opens_tabs_unless_it_is_left_to_the_terminal() {
    let home = Home::new();
    let terminal = home.open();
    let tabs = terminal.text().lines().nth(1).unwrap().to_owned();
    let column = tabs
        .chars()
        .collect::<String>()
        .split("Chart")
        .next()
        .unwrap()
        .chars()
        .count()
        + 1;
    terminal.keys(&format!("\x1b[<0;{column};2M\x1b[<0;{column};2m"));
    terminal.keys("?");
    terminal.see("keys · Chart");
    drop(terminal);
    let terminal = home.run(&["--data", DEMO, "--no-mouse"], &[]);
    terminal.ready();
    terminal.until("the screen with no mouse", |screen| {
        screen.alternate_screen() && screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None
    });
    assert!(!terminal.stream().contains("\x1b[?1000h"));
}

#[test]
fn ctrl_z_gives_the_terminal_back_until_it_is_continued() {
    let home = Home::new();
    let terminal = home.open();
    for stop in [CTRL_Z, "a signal"] {
        terminal.settle();
        if stop == CTRL_Z {
            terminal.keys(CTRL_Z);
        } else {
            terminal.signal("-TSTP");
        }
        terminal.until_state(&['T']);
        terminal.restored();
        terminal.signal("-CONT");
        terminal.until("the whole screen again", |screen| {
            screen.alternate_screen() && screen.hide_cursor()
        });
        terminal.ready();
        terminal.see("? help");
        assert!(!terminal.cooked());
        terminal.keys("?");
        terminal.see("keys · ");
        terminal.keys(ESC);
        terminal.see_no("keys · ");
    }
}

#[test]
fn ctrl_l_draws_the_screen_afresh() {
    let home = Home::new();
    let terminal = home.open();
    terminal.settle();
    let before = terminal.written();
    terminal.keys(CTRL_L);
    terminal.settle();
    let fresh = terminal.stream().split_off(before);
    assert!(
        fresh.contains("tokendeck") && fresh.contains("\x1b[2J"),
        "{fresh:?}"
    );
}

#[test]
fn every_way_to_leave_has_its_exit_code_and_gives_the_terminal_back() {
    for (way, code) in [
        ("q", 0),
        ("\x03", 0),
        ("-TERM", 0),
        ("-INT", 0),
        ("-HUP", 129),
    ] {
        let home = Home::new();
        let mut terminal = home.open();
        if way.starts_with('-') {
            terminal.signal(way);
        } else {
            terminal.keys(way);
        }
        assert_eq!(terminal.exit(), code, "{way:?}");
        terminal.restored();
    }
}

#[test]
fn input_without_its_end_does_not_swallow_ctrl_c_and_whole_input_leaves_it_a_key() {
    for begun in ["\x1b[200~pasted", "\x1b[1;2;3"] {
        let home = Home::new();
        let mut terminal = home.open();
        // A whole paste, and an overlay that Ctrl-C closes.
        terminal.keys("/\x1b[200~cap>1m\x1b[201~");
        terminal.see("cap>1m");
        terminal.keys("\r?");
        terminal.see("keys · ");
        terminal.keys("\x03");
        terminal.see_no("keys · ");
        terminal.keys(begun);
        std::thread::sleep(Duration::from_millis(500));
        terminal.keys("\x03");
        assert_eq!(terminal.exit(), 0, "{begun:?}");
        terminal.restored();
    }
}

#[test]
fn a_terminal_larger_than_any_is_drawn_in_part() {
    let home = Home::new();
    let mut terminal = home.open();
    terminal.claim(30_000, 30_000);
    terminal.settle();
    terminal.claim(SIZE.0, SIZE.1);
    terminal.keys("?");
    terminal.see("keys · ");
    terminal.keys("\x03q");
    assert_eq!(terminal.exit(), 0);
}

#[test]
fn a_window_that_is_closed_ends_the_program_and_keeps_the_session() {
    let home = Home::new();
    let mut terminal = home.open();
    terminal.keys("3?");
    terminal.see("keys · Chart");
    terminal.hang_up();
    terminal.signal("-HUP");
    assert_eq!(terminal.exit(), 129);
    assert_eq!(session(&home)["view"], "chart");
}

/// As of a program that a script started: no signal comes, and what is read from the terminal ends.
#[test]
fn a_terminal_that_goes_without_a_signal_ends_the_program() {
    let home = Home::new();
    let (master, mut child) = home.run_without_session(&["--data", DEMO, "--no-api"]);
    let (mut seen, mut master) = (Vec::new(), File::from(master));
    while !String::from_utf8_lossy(&seen).contains(FIRST.0) {
        let mut more = [0; 4_096];
        let count = master.read(&mut more).unwrap();
        seen.extend_from_slice(&more[..count]);
    }
    drop(master);
    let ended = wait_for("the end of the program", || child.try_wait().unwrap());
    assert_eq!(ended.code(), Some(129));
}

#[test]
fn a_port_in_use_is_said_and_stops_nothing() {
    let home = Home::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    home.write(
        "config/tokendeck/config.toml",
        &format!("[api]\nlisten = '{address}'\n[deck]\nrecords = false\n"),
    );
    let mut terminal = home.run(&["--data", DEMO], &[]);
    terminal.see("api off: port in use");
    terminal.ready();
    terminal.keys("?");
    terminal.see("keys · ");
    terminal.keys("qq");
    assert_eq!(terminal.exit(), 0);
}

#[test]
fn without_a_place_for_state_it_runs_and_says_so() {
    let home = Home::new();
    let mut terminal = home.run(&["--data", DEMO], &[("XDG_STATE_HOME", "/dev/null/x")]);
    terminal.ready();
    terminal.until("the warning in the header", |screen| {
        header(screen).contains("⚠ cannot create the folder")
    });
    terminal.keys("q");
    assert_eq!(terminal.exit(), 0);
    terminal.restored();
    // Printed where it remains readable.
    terminal.see("tokendeck: warning: cannot");
}

#[test]
fn without_data_it_offers_three_ways() {
    let home = Home::new();
    let nowhere = home.path().join("nowhere");
    let mut terminal = home.run(&["--data", &nowhere.to_string_lossy()], &[]);
    terminal.see("Where do you want to start");
    terminal.see("2   a folder of your own");
    terminal.see("3   live tokens");
    terminal.keys("1");
    terminal.ready();
    terminal.until("demo data in the header", |screen| {
        header(screen).contains("DEMO DATA")
    });
    assert!(home.path().join("data/tokendeck/demo/tokens.csv").is_file());
    terminal.keys("q");
    assert_eq!(terminal.exit(), 0);
    assert!(!nowhere.exists());
}

#[test]
fn without_a_terminal_it_says_in_one_line_what_to_do() {
    let home = Home::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tokendeck"));
    command
        .args(["--data", DEMO])
        .env_clear()
        .env("HOME", home.path())
        .current_dir(home.path());
    let output = command.stdin(Stdio::null()).output().unwrap();
    let (out, err) = (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    );
    assert_eq!(
        (output.status.code(), out.as_str(), err.lines().count()),
        (Some(2), "", 1),
        "{err}"
    );
    assert!(
        err.starts_with("tokendeck: the dashboard needs a terminal; use `tokendeck serve`"),
        "{err}"
    );
}

#[test]
fn at_rest_nothing_is_written_and_no_time_is_spent() {
    let home = Home::new();
    let terminal = home.open();
    terminal.keys("y");
    terminal.see("copied address");
    // The message in the footer expires by itself, once.
    terminal.see_no("copied address");
    terminal.settle();
    let before = (terminal.written(), terminal.ticks());
    stays("nothing is written at rest", Duration::from_secs(2), || {
        terminal.written() == before.0
    });
    // A tick is a hundredth of a second; a busy machine may cost a few, a busy loop two hundred.
    let spent = terminal.ticks() - before.1;
    assert!(spent <= 10, "{spent} ticks spent at rest");
}

fn session(home: &Home) -> Value {
    serde_json::from_slice(&fs::read(home.path().join("state/tokendeck/session.json")).unwrap())
        .unwrap()
}

#[test]
fn the_next_run_takes_up_where_the_last_was_left() {
    let home = Home::new();
    let mut terminal = home.open();
    terminal.keys(":uniswap");
    terminal.see("› uniswap");
    terminal.keys("\r");
    terminal.until("the other token", |screen| {
        header(screen).contains("0x1f98")
    });
    terminal.keys("w");
    terminal.see("UNI added to the watchlist");
    terminal.keys("6q");
    assert_eq!(terminal.exit(), 0);
    let kept = session(&home);
    let dataset = &kept["datasets"][DEMO];
    assert_eq!(
        (dataset["view"].as_str(), dataset["token"].as_str()),
        (Some("growth"), Some(OTHER.1))
    );

    let mut again = home.open();
    again.until("the same token", |screen| header(screen).contains("0x1f98"));
    again.keys("?");
    again.see("keys · Growth");
    again.keys(ESC);
    again.see_no("keys · ");
    again.keys("1w");
    again.see("UNI removed from the watchlist");
    again.keys("q");
    assert_eq!(again.exit(), 0);
    // Unreadable or outdated session values are ignored.
    home.write(
        "state/tokendeck/session.json",
        "{\"token\": \"0x00000000000000000000000000000000000000ff\", \"view\": \"nowhere\", \"theme\": 7, \"views\": []}",
    );
    let last = home.open();
    last.until("the most traded token", |screen| {
        header(screen).contains(FIRST.0)
    });
    assert_ne!(FIRST.1, OTHER.1);
}

#[test]
fn a_table_is_exported_whole_and_over_another_file_only_when_told_twice() {
    let home = Home::new();
    let terminal = home.open();
    terminal.keys("9");
    terminal.see("tables");
    terminal.keys("\x1b[B\x1b[B\x1b[B\r");
    terminal.see("INTERVAL");
    terminal.keys("e");
    terminal.see("Enter save");
    terminal.keys("\r");
    terminal.see("exported 1");
    let written = home.path().join("tokendeck-candles.csv");
    let rows = fs::read_to_string(&written).unwrap().lines().count() - 1;
    let said = terminal.text();
    let count = said
        .split("exported ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next())
        .map(|count| count.replace(',', ""));
    assert!(
        rows > 10_000 && count.as_deref() == Some(&*rows.to_string()),
        "{rows} rows in the file:\n{said}"
    );
    terminal.keys("e");
    terminal.see("Enter save");
    terminal.keys("\r");
    terminal.see("this file exists; press Enter again to replace it");
    assert_eq!(
        fs::read_to_string(&written).unwrap().lines().count() - 1,
        rows
    );
    // Under another name nothing is replaced; a second Enter on this one replaces it.
    fs::write(&written, "old").unwrap();
    terminal.keys("\r");
    terminal.see_no("this file exists");
    terminal.see("tokendeck-candles.csv");
    let whole = || fs::read_to_string(&written).is_ok_and(|text| text.lines().count() - 1 == rows);
    wait_until("the file is replaced", whole);
    // A condition that can never match is refused while typing.
    terminal.keys("/close>2026-01");
    terminal.see("`2026-01` is not a number");
}
