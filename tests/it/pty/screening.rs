//! An analyst's tasks with their key presses counted: screening, comparing, choosing columns, column descriptions, export.

use std::fs;

use super::terminal::{DEMO, Home, Terminal, key_presses};

const RIGHT: &str = "\x1b[C";
const DOWN: &str = "\x1b[B";
const F2: &str = "\x1bOQ";

/// Presses and counts keys; an escape sequence counts as one.
struct Hand<'a> {
    terminal: &'a Terminal,
    pressed: usize,
}

impl<'a> Hand<'a> {
    fn new(terminal: &'a Terminal) -> Self {
        Self {
            terminal,
            pressed: 0,
        }
    }

    fn press(&mut self, keys: &[&str]) -> &mut Self {
        for key in keys {
            self.pressed += key_presses(key);
            self.terminal.keys(key);
        }
        self
    }

    fn see(&mut self, text: &str) -> &mut Self {
        self.terminal.see(text);
        self
    }

    fn at_most(&self, keys: usize) {
        assert!(
            self.pressed <= keys,
            "{} keys, {keys} were enough",
            self.pressed
        );
    }
}

#[test]
fn two_tokens_are_compared_with_three_keys() {
    let home = Home::new();
    let terminal = home.open();
    terminal.see("Wrapped Ether");
    terminal.keys("g");
    let mut hand = Hand::new(&terminal);
    hand.press(&[" "])
        .see("marked; mark another")
        .press(&[DOWN, "V"]);
    hand.see("2 tokens, percent from a common start")
        .see("correlation of daily returns, ");
    hand.at_most(3);
    terminal.see("A  USDT");
    // The crosshair moves over all lines, and the legend with it.
    let last = terminal.text();
    terminal.keys("g");
    terminal.until("the first day", |screen| {
        screen.contents() != last && screen.contents().contains("percent to 2025-10-11")
    });
    terminal.keys("\x1b");
    terminal.see("SYMBOL");
}

#[test]
fn a_screen_is_typed_once_and_had_again_with_two_keys() {
    let home = Home::new();
    let mut terminal = home.open();
    terminal.see("Wrapped Ether");
    let mut hand = Hand::new(&terminal);
    hand.press(&["/"]).see("Tab");
    hand.press(&["cap>10m vol>1m age<90d", "\r"])
        .see("/ cap>10m vol>1m age<90d")
        .see("LUMEO");
    hand.at_most(24);
    // Completion of the column, then of one of its values.
    terminal.keys("/ cha");
    terminal.see("Tab chain:");
    terminal.keys("\tba");
    terminal.see("Tab chain:base");
    terminal.keys("\t\r");
    terminal.see("/ cap>10m vol>1m age<90d chain:base");
    terminal.see_no("Wrapped BNB");
    terminal.keys(F2);
    terminal.see("save this screen as");
    terminal.keys("young on base\r");
    terminal.see("`young on base` saved");
    terminal.keys("\x1b");
    terminal.see_no("/ cap>10m");
    terminal.keys("q");
    assert_eq!(terminal.exit(), 0);

    let again = home.open();
    again.see("Wrapped Ether");
    let mut hand = Hand::new(&again);
    hand.press(&[F2])
        .see("young on base")
        .press(&["\r"])
        .see("/ cap>10m vol>1m age<90d chain:base");
    hand.at_most(2);
}

#[test]
fn the_cell_under_the_cursor_filters_and_the_filtered_table_is_a_file() {
    let home = Home::new();
    let terminal = home.open();
    terminal.see("Wrapped Ether");
    let mut hand = Hand::new(&terminal);
    // Symbol, name, chain.
    hand.press(&[RIGHT, RIGHT, RIGHT, "+"]).see("/ chain:eth");
    hand.press(&["e"])
        .see("save")
        .press(&["\r"])
        .see("exported ");
    hand.at_most(6);
    let written = fs::read_to_string(home.path().join("tokendeck-tokens.csv")).expect("the file");
    let mut rows = written.lines();
    let header: Vec<&str> = rows.next().expect("a header").split(',').collect();
    assert!(
        ["volume_24h", "liquidity", "price_change_7d", "chains"]
            .iter()
            .all(|column| header.contains(column)),
        "{header:?}"
    );
    let rows: Vec<&str> = rows.collect();
    assert!(
        rows.len() > 5 && rows.iter().all(|row| row.contains("eth")),
        "{}",
        rows.len()
    );
    terminal.keys("-");
    terminal.see("/ chain:eth chain!=eth");
    terminal.see("no token");
}

#[test]
fn columns_are_hidden_and_stay_hidden() {
    let home = Home::new();
    let mut terminal = home.open();
    terminal.see("PRICE");
    let mut hand = Hand::new(&terminal);
    hand.press(&["C"])
        .see("show or hide")
        .press(&[DOWN, DOWN, DOWN, " ", "\x1b"]);
    hand.at_most(6);
    terminal.see_no("PRICE");
    terminal.keys("q");
    assert_eq!(terminal.exit(), 0);
    let again = home.open();
    again.see("SYMBOL");
    again.see_no("PRICE");
    again.keys("Cr");
    again.see("[x] PRICE");
    again.keys("\x1b");
    again.see("PRICE");
}

#[test]
fn the_next_token_of_the_list_is_a_key_away() {
    let home = Home::new();
    let terminal = home.open();
    terminal.see("Wrapped Ether");
    terminal.keys("g\r");
    terminal.see("USDT · 1d");
    terminal.keys("J");
    terminal.see("2 of ");
    terminal.see("USDC");
    terminal.keys("4K");
    terminal.see("1 of ");
    terminal.keys("K");
    terminal.see("this is the first token in Tokens");
}

#[test]
fn a_column_is_counted_and_described_with_a_key() {
    let home = Home::new();
    let terminal = home.open();
    terminal.keys("9");
    terminal.see("tables");
    let mut hand = Hand::new(&terminal);
    hand.press(&["\r"])
        .see("TOKEN_ADDRESS")
        .press(&[RIGHT, RIGHT, RIGHT, "F"])
        .see("values of chain")
        .see(" distinct")
        .see("%");
    hand.press(&["D"]).see("description of chain");
    hand.at_most(6);
    // It follows the selected column.
    terminal.keys(&RIGHT.repeat(3));
    terminal.see("description of market_cap");
    terminal.see("median");
    terminal.keys("\x1b");
    terminal.see_no("description of");
}

#[test]
fn settings_that_change_while_it_runs_hold_at_once_and_a_broken_file_changes_nothing() {
    let home = Home::new();
    let terminal = home.open();
    terminal.see("▲");
    let file = "config/tokendeck/config.toml";
    home.write(
        file,
        "[api]\nlisten = '127.0.0.1:0'\n[terminal]\nascii = true\nkeys.quit = 'Q'\n",
    );
    terminal.see("applied: terminal.ascii, terminal.keys");
    terminal.see_no("▲");
    home.write(file, "[terminal]\nasci = true\n");
    terminal.see("did you mean `terminal.ascii`?");
    terminal.see_no("▲");
    home.write(file, "[api]\nlisten = '127.0.0.1:0'\nrate_per_second = 5\n");
    terminal.see("effective at the next start: api.rate_per_second");
    terminal.see("▲");
}

#[test]
fn a_theme_of_the_command_line_outlives_changed_settings() {
    let light = |screen: &vt100::Screen| {
        let ground = screen.cell(20, 20).map(vt100::Cell::bgcolor);
        matches!(ground, Some(vt100::Color::Rgb(200.., 200.., 200..)))
    };
    let home = Home::new();
    let file = "config/tokendeck/config.toml";
    home.write(file, "[terminal]\ntheme = 'dark'\n");
    let terminal = home.run(&["--data", DEMO, "--no-api", "--theme", "light"], &[]);
    terminal.until("a light screen", |screen| {
        screen.contents().contains("▲") && light(screen)
    });
    home.write(file, "[terminal]\ntheme = 'high-contrast'\nascii = true\n");
    terminal.until("what was taken in and what was not", |screen| {
        let says = screen.contents();
        says.contains("applied: terminal.ascii")
            && says.contains("overridden by the command line: terminal.theme")
    });
    terminal.see_no("▲");
    terminal.until("a light screen still", light);
}

#[test]
fn the_five_that_grow_fastest_among_the_safe() {
    let home = Home::new();
    let terminal = home.open();
    terminal.see("Wrapped Ether");
    let mut hand = Hand::new(&terminal);
    hand.press(&["/", "score>=60 growth>0", "\r", "s", "s", "s", "s", "s"]);
    hand.at_most(25);
    // The filter on scores is complete once every token's score is known.
    terminal.until("every score", |screen| {
        let text = screen.contents();
        text.contains("HOLDERS 7D % ▾")
            && text.contains(" of 64")
            && !text.contains(" 0 of 64")
            && !text.contains("Esc stops")
    });
    // The rows may be drawn after the title.
    terminal.settle();
    let text = terminal.text();
    let mut rows = text.lines().skip_while(|line| !line.contains("HOLDERS 7D"));
    let header: Vec<char> = rows.next().expect("a header").chars().collect();
    let end = header
        .windows(7)
        .position(|title| title == ['H', 'O', 'L', 'D', 'E', 'R', 'S'])
        .expect("the column")
        + 14;
    let growth = |line: &str| {
        let cell: String = line.chars().take(end).skip(end - 15).collect();
        cell.split_whitespace()
            .last()
            .and_then(|figure| figure.parse::<f64>().ok())
    };
    let five: Vec<f64> = rows.take(5).filter_map(growth).collect();
    assert!(
        five.len() == 5 && five.is_sorted_by(|a, b| a >= b) && five[4] > 0.0,
        "{five:?}\n{text}"
    );
}

#[test]
fn indicators_are_chosen_by_key_and_are_there_again_after_a_restart() {
    let home = Home::new();
    let mut terminal = home.open();
    let mut hand = Hand::new(&terminal);
    // The average's period is changed from 20 to 30; then the fourth indicator below it, the RSI.
    hand.press(&["3"])
        .see("patterns ─")
        .press(&["I"])
        .see("Simple moving average")
        .press(&["3", "0"])
        .see("SMA 30 ");
    hand.press(&[DOWN, DOWN, DOWN, DOWN, " "])
        .see(" RSI 14 ")
        .press(&["\x1b"]);
    hand.at_most(10);
    terminal.see_no("Simple moving average");
    terminal.keys("q");
    assert_eq!(terminal.exit(), 0);
    let again = home.open();
    again.see("SMA 30 ");
    again.see(" RSI 14 ");
}
