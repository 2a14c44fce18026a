//! Charts in pixels, as a terminal of each protocol gets them: what was sent is decoded, and nothing is sent without need.

use std::{io::Read as _, time::Duration};

use flate2::read::ZlibDecoder;

use super::terminal::{CELL, Home, SIZE, Shows, Terminal};

const ESC: &str = "\x1b";
const DELETE: &str = "\x1b_Ga=d";
/// Up, down and background of the dark theme.
const COLORS: [[u8; 3]; 3] = [[0x4c, 0xc3, 0x8a], [0xf0, 0x69, 0x6f], [0x11, 0x13, 0x1a]];

/// A decoded picture: its size and the colours in it.
#[derive(Debug, PartialEq)]
struct Decoded {
    width: usize,
    height: usize,
    colors: Vec<[u8; 3]>,
}

/// Every picture in the terminal's stream, from a place on.
fn pictures(terminal: &Terminal, shows: Shows, from: usize) -> Vec<Decoded> {
    let stream = terminal.stream().split_off(from);
    let between = |begin: &str, end: &str| -> Vec<String> {
        stream
            .split(begin)
            .skip(1)
            .map(|rest| rest.split(end).next().unwrap().to_owned())
            .collect()
    };
    match shows {
        Shows::Text => Vec::new(),
        Shows::Kitty => {
            let mut texts: Vec<String> = Vec::new();
            for command in between("\x1b_G", "\x1b\\") {
                let (keys, data) = command.split_once(';').unwrap_or((&command, ""));
                if keys.contains("a=T") {
                    assert!(
                        keys.contains("q=2") && keys.contains("C=1") && keys.contains("z=-1"),
                        "{keys}"
                    );
                    texts.push(String::new());
                }
                if keys.contains("m=") {
                    assert!(data.len() <= 4_096);
                    texts.last_mut().unwrap().push_str(data);
                }
            }
            texts.iter().map(|text| png(&base64(text))).collect()
        }
        Shows::Iterm => between("\x1b]1337;File=inline=1", "\x07")
            .iter()
            .map(|image| png(&base64(image.split_once(':').unwrap().1)))
            .collect(),
        Shows::Sixel => between("\x1bP0;1q\"1;1;", "\x1b\\")
            .iter()
            .map(|image| sixel(image))
            .collect(),
    }
}

fn base64(text: &str) -> Vec<u8> {
    let value = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let letters: Vec<u8> = text
        .bytes()
        .filter(|letter| *letter != b'=')
        .map(value)
        .collect();
    let bits = |four: &[u8]| {
        four.iter()
            .fold(0_u32, |bits, six| bits << 6 | u32::from(*six))
            << (6 * (4 - four.len()))
    };
    letters
        .chunks(4)
        .flat_map(|four| bits(four).to_be_bytes()[1..four.len()].to_vec())
        .collect()
}

fn png(file: &[u8]) -> Decoded {
    let number = |at: usize| u32::from_be_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let (width, height) = (number(16), number(20));
    let (mut at, mut palette, mut data) = (8, Vec::new(), Vec::new());
    while at < file.len() {
        let body = &file[at + 8..at + 8 + number(at)];
        match &file[at + 4..at + 8] {
            b"PLTE" => {
                palette = body
                    .chunks(3)
                    .map(|color| [color[0], color[1], color[2]])
                    .collect();
            }
            b"IDAT" => data.extend_from_slice(body),
            _ => {}
        }
        at += 12 + body.len();
    }
    let mut rows = Vec::new();
    ZlibDecoder::new(&data[..]).read_to_end(&mut rows).unwrap();
    assert_eq!(rows.len(), (width + 1) * height);
    let used = |index: usize| {
        rows.chunks(width + 1)
            .any(|row| row[1..].contains(&(index as u8)))
    };
    Decoded {
        width,
        height,
        colors: (0..palette.len())
            .filter(|index| used(*index))
            .map(|index| palette[index])
            .collect(),
    }
}

/// The size of a sixel image, and the colours of its passes. The codings themselves are read back in the widgets' own tests.
fn sixel(image: &str) -> Decoded {
    let mut parts = image.split('#');
    let size: Vec<usize> = parts
        .next()
        .unwrap()
        .split(';')
        .map(|part| part.parse().unwrap())
        .collect();
    let (mut defined, mut used) = (Vec::new(), Vec::new());
    for part in parts {
        let digits = part.chars().take_while(char::is_ascii_digit).count();
        let index: usize = part[..digits].parse().unwrap();
        match part[digits..].strip_prefix(";2;") {
            Some(color) => {
                let color = color.split(['!', '-']).next().unwrap();
                defined.push(
                    color
                        .split(';')
                        .map(|percent| percent.parse::<u32>().unwrap())
                        .collect::<Vec<_>>(),
                );
            }
            None => used.push(index),
        }
    }
    assert_eq!(image.matches('-').count(), size[1].div_ceil(6), "bands");
    let color = |index: usize| [0, 1, 2].map(|channel| (defined[index][channel] * 255 / 100) as u8);
    used.sort_unstable();
    used.dedup();
    Decoded {
        width: size[0],
        height: size[1],
        colors: used.into_iter().map(color).collect(),
    }
}

fn has(picture: &Decoded, color: [u8; 3]) -> bool {
    // Sixel colours are in percent.
    picture
        .colors
        .iter()
        .any(|other| other.iter().zip(color).all(|(a, b)| a.abs_diff(b) <= 3))
}

#[test]
fn each_protocol_gets_the_chart_and_nothing_without_need() {
    for shows in [Shows::Kitty, Shows::Iterm, Shows::Sixel] {
        let home = Home::new();
        let mut terminal = home.run_in(shows, Duration::ZERO, &[]);
        terminal.ready();
        terminal.settle();
        assert_eq!(
            pictures(&terminal, shows, 0),
            [],
            "{shows:?}: no view but the chart has one"
        );
        terminal.keys("3");
        terminal.see("patterns ─");
        terminal.settle();
        let first = pictures(&terminal, shows, 0)
            .pop()
            .unwrap_or_else(|| panic!("{shows:?}: no picture"));
        assert_eq!(
            (
                first.width % usize::from(CELL.0),
                first.height % usize::from(CELL.1)
            ),
            (0, 0)
        );
        assert!(
            first.width > 500 && first.width < usize::from(SIZE.0 * CELL.0),
            "{shows:?}: {}",
            first.width
        );
        assert!(
            first.height > 400 && first.height < usize::from(SIZE.1 * CELL.1),
            "{shows:?}: {}",
            first.height
        );
        for color in COLORS {
            assert!(
                has(&first, color),
                "{shows:?}: {color:?} in {:?}",
                first.colors
            );
        }
        assert!(
            !terminal.text().contains(['▌', '█', '⠉']),
            "{shows:?}: the candles are in the picture\n{}",
            terminal.text()
        );
        // At rest nothing is sent, nor for a key that changes no picture.
        let before = terminal.written();
        terminal.settle();
        assert_eq!(terminal.written(), before, "{shows:?}");
        terminal.keys("?");
        terminal.see("keys · Chart");
        terminal.settle();
        // Under a dialog the chart is in cells.
        assert_eq!(pictures(&terminal, shows, before), [], "{shows:?}");
        assert!(
            terminal.text().contains(['▌', '█']),
            "{shows:?}\n{}",
            terminal.text()
        );
        let deletes = |terminal: &Terminal| terminal.stream().matches(DELETE).count();
        assert_eq!(
            deletes(&terminal),
            usize::from(shows == Shows::Kitty),
            "{shows:?}"
        );
        let before = terminal.written();
        terminal.keys(ESC);
        terminal.see_no("keys · Chart");
        terminal.settle();
        assert_eq!(pictures(&terminal, shows, before), [first], "{shows:?}");
        let before = terminal.written();
        terminal.keys("1");
        terminal.see("SYMBOL");
        terminal.settle();
        assert_eq!(
            (pictures(&terminal, shows, before), deletes(&terminal)),
            (Vec::new(), 2 * usize::from(shows == Shows::Kitty))
        );
        terminal.keys("3");
        terminal.see("patterns ─");
        terminal.settle();
        let before = terminal.written();
        terminal.resize(100, 30);
        terminal.settle();
        let smaller = pictures(&terminal, shows, before)
            .pop()
            .unwrap_or_else(|| panic!("{shows:?}: no picture after a resize"));
        assert!(
            smaller.width < 1_000 && smaller.height < 600,
            "{shows:?}: {} {}",
            smaller.width,
            smaller.height
        );
        let before = terminal.written();
        terminal.keys("q");
        assert_eq!(terminal.exit(), 0);
        terminal.restored();
        assert_eq!(
            terminal.stream().split_off(before).contains(DELETE),
            shows == Shows::Kitty,
            "{shows:?}"
        );
    }
}

#[test]
fn a_terminal_that_does_not_answer_gets_no_picture_and_one_that_is_not_asked_no_question() {
    for (shows, args, asked) in [
        (Shows::Text, &[][..], true),
        (Shows::Kitty, &["--graphics", "off"], false),
    ] {
        let home = Home::new();
        let terminal = home.run_in(shows, Duration::ZERO, args);
        terminal.ready();
        terminal.keys("3");
        terminal.see("patterns ─");
        terminal.settle();
        assert_eq!(terminal.stream().contains("a=q"), asked);
        assert!(!terminal.stream().contains("a=T") && !terminal.stream().contains("a=d"));
        assert!(terminal.text().contains(['▌', '█']), "{}", terminal.text());
    }
}

#[test]
fn the_setting_names_a_protocol_and_says_where_cells_have_no_size() {
    let home = Home::new();
    let terminal = home.run_in(Shows::Kitty, Duration::ZERO, &["--graphics", "sixel"]);
    terminal.ready();
    terminal.keys("3");
    terminal.see("patterns ─");
    terminal.settle();
    assert!(terminal.stream().contains("\x1bP0;1q") && !terminal.stream().contains("a=T"));
    let terminal = home.run_in(Shows::Text, Duration::ZERO, &["--graphics", "kitty"]);
    terminal.see("graphics: the terminal does not report its cell size in pixels");
}

#[test]
fn keys_pressed_while_the_terminal_is_asked_arrive() {
    for late in [0, 60, 400] {
        let home = Home::new();
        let terminal = home.run_in(Shows::Kitty, Duration::from_millis(late), &[]);
        terminal.see("1 Tokens");
        terminal.keys("3");
        terminal.see("patterns ─");
        terminal.keys("J?");
        terminal.see("keys · Chart");
        terminal.keys(ESC);
        terminal.see_no("keys · Chart");
        terminal.settle();
        assert!(
            !terminal.text().contains("palette ─") && !terminal.text().contains("keys ·"),
            "{late} ms late\n{}",
            terminal.text()
        );
    }
}
