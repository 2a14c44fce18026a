//! What the user typed is on disk soon after, whatever ends the program.

use std::fs;

use super::terminal::{Home, Terminal};
use crate::wait::wait_until;

fn saved(home: &Home, file: &str, text: &str) {
    let path = home.path().join("state/tokendeck").join(file);
    wait_until(&format!("`{text}` in {file}"), || {
        fs::read_to_string(&path).is_ok_and(|kept| kept.contains(text))
    });
}

fn kill(terminal: Terminal) {
    terminal.signal("-KILL");
    terminal.until_state(&['Z', '-']);
    drop(terminal);
}

#[test]
fn what_was_typed_survives_a_kill() {
    let home = Home::new();
    let terminal = home.open();
    terminal.see("Wrapped Ether");
    terminal.keys("w");
    terminal.see("added to the watchlist");
    saved(&home, "watchlist", "0x");
    terminal.keys(" ");
    terminal.see("marked; mark another");
    saved(&home, "session.json", "\"marks\": [\n");
    terminal.keys("/cap>1m\r");
    saved(&home, "session.json", "cap>1m");
    terminal.keys("7/\x15250k USDC, 10 WETH\r");
    terminal.see("250k USDC, 10 WETH");
    terminal.keys("v");
    terminal.see("saved plan 1");
    terminal.keys("t");
    terminal.see("high risk");
    saved(&home, "session.json", "\"high\"");
    kill(terminal);

    let terminal = home.open();
    terminal.see("high risk");
    terminal.keys("p");
    terminal.see("saved 1: medium");
    terminal.keys("1");
    terminal.see("/ cap>1m");
    terminal.see("★");
    kill(terminal);
}

#[test]
fn marks_come_back_after_the_program_was_left() {
    let home = Home::new();
    let mut terminal = home.open();
    terminal.see("Wrapped Ether");
    terminal.keys(" ");
    terminal.see("marked; mark another");
    terminal.keys("\x1b[B ");
    terminal.see("2 tokens marked");
    terminal.keys("q");
    assert_eq!(terminal.exit(), 0);
    let terminal = home.open();
    terminal.see("Wrapped Ether");
    terminal.keys("V");
    terminal.see("2 tokens, percent from a common start");
}
