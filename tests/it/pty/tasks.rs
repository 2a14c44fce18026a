//! An analyst's tasks as a table: key presses, and the expected screen after each step.

use std::fs;

use super::terminal::{Home, Terminal, key_presses};

/// A step: the keys, and the text expected then.
type Part = (&'static str, &'static str);

struct Task {
    what: &'static str,
    parts: &'static [Part],
    /// Total key presses.
    keys: usize,
    /// File expected at the end.
    file: Option<&'static str>,
}

const fn task(what: &'static str, keys: usize, parts: &'static [Part]) -> Task {
    Task {
        what,
        parts,
        keys,
        file: None,
    }
}

const TASKS: &[Task] = &[
    task(
        "the five tokens whose holders grow fastest",
        1,
        &[("6", "GROWTH %")],
    ),
    task(
        "the 4h chart of a token, its patterns, their targets and why",
        13,
        &[
            (":uniswap\r", "UNI  0x1f98"),
            ("3T", "UNI · 4h"),
            ("n", "target"),
            ("\r", "raised or lowered the fit"),
        ],
    ),
    task(
        "why a token has a low score",
        12,
        &[
            (":frogking\r", "FROGKING  0x"),
            ("4", "AVOID"),
            ("x", "weight "),
        ],
    ),
    Task {
        file: Some("tokendeck-yield-plan.csv"),
        ..task(
            "a plan for 250k USDC and 10 WETH, compared with the plan before, its steps in a file",
            28,
            &[
                ("7/\x15250k USDC, 10 WETH\r", "250k USDC, 10 WETH"),
                ("v", "saved plan 1"),
                ("t", "high risk"),
                ("np", "saved 1: medium"),
                ("e\r", "exported "),
            ],
        )
    },
    task(
        "posts with a word over every token, by their engagement",
        24,
        &[
            ("2a", "of all tokens"),
            ("/audit engagement>5k\r\r", "platform"),
        ],
    ),
    Task {
        file: Some("tokendeck-tokens.csv"),
        ..task(
            "the tokens of a chain in a file",
            15,
            &[("1/chain:base\r", "/ chain:base"), ("e\r", "exported ")],
        )
    },
    task(
        "a deep analysis and its report",
        3,
        &[("8a", "6 of 6"), ("\r", "verdict")],
    ),
    task(
        "a watchlist",
        3,
        &[("1w", "added to the watchlist"), ("W", "watchlist")],
    ),
    task(
        "every cell of a row of a table",
        3,
        &[("9\r", "token_address"), ("\r", "total_supply")],
    ),
    task(
        "a verb by an everyday word, from the help",
        8,
        &[("?/favour", "Add the token to the watchlist")],
    ),
];

#[test]
fn each_task_takes_the_keys_that_the_table_says() {
    for task in TASKS {
        let pressed: usize = task.parts.iter().map(|(keys, _)| key_presses(keys)).sum();
        assert_eq!(pressed, task.keys, "{}", task.what);
        let home = Home::new();
        let terminal = home.open();
        for (keys, seen) in task.parts {
            press(&terminal, keys);
            terminal.see(seen);
        }
        if let Some(file) = task.file {
            let rows =
                fs::read_to_string(home.path().join(file)).map_or(0, |text| text.lines().count());
            assert!(
                rows > 1,
                "{}: no rows in {file}\n{}",
                task.what,
                terminal.text()
            );
        }
    }
}

/// Sends text after `:` or `/` at once, other keys one by one as a person presses them.
fn press(terminal: &Terminal, keys: &str) {
    terminal.keys(keys);
    terminal.settle();
}

#[test]
fn a_value_is_copied_through_the_terminal_so_that_it_works_over_ssh() {
    let home = Home::new();
    let terminal = home.open();
    terminal.keys("gy");
    terminal.see("copied address 0xdac1");
    // It is written after the frame.
    terminal.settle();
    // OSC 52 (clipboard) with the address in base64.
    assert!(
        terminal
            .stream()
            .contains("\x1b]52;c;MHhkYWMxN2Y5NThkMmVlNTIzYTIyMDYyMDY5OTQ1OTdjMTNkODMxZWM3")
    );
}

#[test]
fn the_mouse_presses_keys_of_the_footer_and_shows_what_a_row_can_do() {
    let home = Home::new();
    let terminal = home.open();
    let click = |button: u8, text: &str| {
        let (column, row) = at(&terminal, text);
        terminal.keys(&format!(
            "\x1b[<{button};{column};{row}M\x1b[<{button};{column};{row}m"
        ));
    };
    click(0, "? help");
    terminal.see("keys · Tokens");
    terminal.keys("\x1b");
    terminal.see_no("keys · Tokens");
    click(2, "WBTC ");
    terminal.see("actions · Tokens");
    click(0, "Add the token to the watchlist");
    terminal.see("WBTC added to the watchlist");
    // The hints below the filter are clickable too, and so are a row's actions afterwards.
    terminal.keys("/wbtc");
    terminal.see("/ wbtc");
    click(0, "Esc cancel");
    terminal.see_no("Esc cancel");
    // The detail pane beside the list names the token too.
    click(2, "WBTC  ");
    terminal.see("actions · Tokens");
}

/// Column and row of a text on screen, 1-based; not in the header, which names the token too.
fn at(terminal: &Terminal, text: &str) -> (usize, usize) {
    terminal.see(text);
    let shown = terminal.text();
    let found = shown
        .lines()
        .enumerate()
        .skip(1)
        .find_map(|(row, line)| Some((line[..line.find(text)?].chars().count() + 1, row + 1)));
    found.expect("it was seen")
}

#[test]
fn the_smallest_screen_names_the_token_offers_help_and_says_what_keys_do_in_whole_sentences() {
    let home = Home::new();
    home.write(
        "config/tokendeck/config.toml",
        "[api]\nlisten = '127.0.0.1:0'\n[deck]\nrecords = false\n[terminal]\nascii = true\n",
    );
    let terminal = home.open();
    terminal.resize(60, 16);
    let line = |screen: &vt100::Screen, nth: usize| {
        screen
            .contents()
            .lines()
            .nth(nth)
            .unwrap_or_default()
            .to_owned()
    };
    terminal.until("the token and the API in the header", |screen| {
        line(screen, 0).contains("SHIB   * api")
    });
    terminal.until("help in the footer", |screen| {
        line(screen, 15).contains("Enter open") && line(screen, 15).contains("? help")
    });
    terminal.keys("?/filter_like\x1b[B");
    terminal.see("select the cell.");
}

#[test]
fn conflicts_of_keys_are_said_whole_in_the_help() {
    let home = Home::new();
    home.write(
        "config/tokendeck/config.toml",
        "[api]\nlisten = '127.0.0.1:0'\n[deck]\nrecords = false\n[terminal.keys]\nexport = 'y'\nstar = 'r'\n",
    );
    let terminal = home.open();
    terminal.keys("?");
    terminal.see(
        "`y` is bound to both `export` and `copy_value`; `export` keeps it; bind `copy_value`",
    );
    terminal.see("`r` is bound to both `star` and `reload`; `star` keeps it; bind `reload`");
}
