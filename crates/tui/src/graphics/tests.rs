//! Tests of pictures on the terminal: the query, the reply, the bytes sent.

use ratatui::backend::CrosstermBackend;

use super::{
    answers::{QUESTION, TerminalReader, TerminalReply},
    *,
};
use crate::widgets::pixels::plot::PlotShape;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

const KITTY: &[u8] = b"\x1b_Gi=31;OK\x1b\\";
const NAME: &[u8] = b"\x1bP>|iTerm2 3.5.4\x1b\\";
const CELL: &[u8] = b"\x1b[6;20;10t";
const SIXELS: &[u8] = b"\x1b[?62;4;22c";
const PLAIN: &[u8] = b"\x1b[?62;22c";

fn none(_: &str) -> Option<String> {
    None
}

fn letter(letter: char) -> TerminalReply {
    let modifiers = if letter.is_uppercase() {
        KeyModifiers::SHIFT
    } else {
        KeyModifiers::NONE
    };
    TerminalReply::Key(KeyEvent::new(KeyCode::Char(letter), modifiers))
}

#[test]
fn the_protocol_follows_the_answers_and_the_setting() {
    let heard = |parts: &[&[u8]]| {
        let mut hearing = TerminalReader::default();
        assert_eq!(hearing.take(&parts.concat()), []);
        hearing.answers
    };
    let iterm = |name: &str| (name == "TERM_PROGRAM").then(|| "iTerm.app".to_owned());
    let in_tmux = |name: &str| {
        if name == "TMUX" {
            Some("/tmp/tmux,1,0".to_owned())
        } else {
            iterm(name)
        }
    };
    let by = PictureProtocol::Sixel;
    for (setting, answers, expected) in [
        (
            "auto",
            heard(&[KITTY, CELL, SIXELS]),
            Some(PictureProtocol::Kitty),
        ),
        (
            "auto",
            heard(&[b"\x1b_Gi=31;ENOENT\x1b\\", SIXELS]),
            Some(by),
        ),
        (
            "auto",
            heard(&[NAME, CELL, SIXELS]),
            Some(PictureProtocol::Iterm),
        ),
        ("auto", heard(&[PLAIN]), None),
        ("auto", heard(&[]), None),
        // The class of a terminal is no attribute of it.
        ("auto", heard(&[b"\x1b[?4c"]), None),
        ("sixel", heard(&[PLAIN]), Some(by)),
        ("off", heard(&[KITTY, SIXELS]), None),
    ] {
        let setting = Graphics::parse(setting).expect("a setting");
        assert_eq!(
            setting.protocol(&answers, none),
            Ok(expected),
            "{setting:?} {answers:?}"
        );
    }
    assert_eq!(
        Graphics::Auto.protocol(&heard(&[PLAIN]), iterm),
        Ok(Some(PictureProtocol::Iterm))
    );
    assert_eq!(Graphics::Auto.protocol(&heard(&[PLAIN]), in_tmux), Ok(None));
    assert_eq!(
        Graphics::Auto.protocol(&heard(&[SIXELS]), in_tmux),
        Ok(Some(by))
    );
    assert!(
        Graphics::By(PictureProtocol::Kitty)
            .protocol(&heard(&[PLAIN]), in_tmux)
            .is_err()
    );
    let question = Graphics::Auto.question(true, in_tmux);
    assert!(
        question.ends_with(b"\x1b[c") && !question.contains(&b'_'),
        "tmux would make a title of it"
    );
    assert_eq!(heard(&[CELL]).cell, CellPixels::new(10, 20));
    assert_eq!(Graphics::parse("yes"), None);
}

#[test]
fn a_terminal_that_would_print_the_question_is_not_asked() {
    let apple = |name: &str| (name == "TERM_PROGRAM").then(|| "Apple_Terminal".to_owned());
    let console = |name: &str| (name == "TERM").then(|| "linux".to_owned());
    assert_eq!(Graphics::Auto.question(true, none), QUESTION);
    assert!(
        Graphics::Auto.question(true, apple).is_empty()
            && Graphics::Auto.question(true, console).is_empty()
    );
    assert!(
        Graphics::Auto.question(false, none).is_empty()
            && Graphics::Off.question(true, none).is_empty()
    );
}

#[test]
fn keys_among_the_answers_stay_keys_wherever_the_bytes_are_cut() {
    let said = [
        b"3".as_slice(),
        KITTY,
        "é/uni\r".as_bytes(),
        NAME,
        b"\x1b[B\x1bx",
        CELL,
        b"\x1b[200~a\nb\x1b[201~",
        SIXELS,
        b"q",
    ]
    .concat();
    let key = |code, modifiers| TerminalReply::Key(KeyEvent::new(code, modifiers));
    let expected = vec![
        letter('3'),
        letter('é'),
        letter('/'),
        letter('u'),
        letter('n'),
        letter('i'),
        key(KeyCode::Enter, KeyModifiers::NONE),
        key(KeyCode::Down, KeyModifiers::NONE),
        key(KeyCode::Char('x'), KeyModifiers::ALT),
        TerminalReply::Paste("a\nb".to_owned()),
        letter('q'),
    ];
    let mut whole = TerminalReader::default();
    assert_eq!(whole.take(&said), expected);
    assert!(
        whole.answers.arrived && whole.answers.kitty && whole.answers.sixel && whole.is_whole()
    );
    for cut in 1..said.len() {
        // A lone Esc at the end of what was read is the key.
        if said[cut - 1] == 0x1b {
            continue;
        }
        let mut hearing = TerminalReader::default();
        let mut heard = hearing.take(&said[..cut]);
        heard.extend(hearing.take(&said[cut..]));
        assert_eq!(
            (heard, &hearing.answers),
            (expected.clone(), &whole.answers),
            "cut at {cut}"
        );
    }
}

#[test]
fn any_bytes_are_taken() {
    let mut hearing = TerminalReader::default();
    for bytes in [
        &b"\xff\xfe"[..],
        b"\x1b[",
        b"999999999999999999;;\xc3t",
        b"\x1b[6;1;99999999999t",
        b"\x1bO",
        b"\x1b_",
        b"\x1b]",
        b"\x1b\\",
    ] {
        hearing.take(bytes);
    }
    assert_eq!(hearing.answers.cell, None);
}

fn scene(x: u16, color: (u8, u8, u8)) -> PlotScene {
    let shape = PlotShape::Bar {
        x: 1.0,
        width: 1.0,
        y: (0.0, 1.0),
        color,
    };
    PlotScene {
        area: Rect::new(x, 1, 4, 2),
        background: (1, 2, 3),
        shapes: vec![shape],
    }
}

#[test]
fn a_picture_is_sent_when_it_changes_and_taken_away_when_a_frame_has_none() {
    for protocol in [
        PictureProtocol::Kitty,
        PictureProtocol::Iterm,
        PictureProtocol::Sixel,
    ] {
        let cell = CellPixels::new(10, 20).expect("a cell");
        let mut pictures = Pictures::new(protocol, cell);
        let mut frame = Buffer::empty(Rect::new(0, 0, 12, 4));
        frame.set_string(2, 2, "word", ratatui::style::Style::new());
        let sent = |pictures: &mut Pictures, scene: Option<PlotScene>, frame: &Buffer| {
            let mut bytes = Vec::new();
            pictures
                .follow(scene, frame, &mut CrosstermBackend::new(&mut bytes))
                .expect("memory can be written");
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let begin = match protocol {
            PictureProtocol::Kitty => "\x1b_Ga=T,f=100",
            PictureProtocol::Iterm => "\x1b]1337;File=inline=1",
            PictureProtocol::Sixel => "\x1bP",
        };
        let first = sent(&mut pictures, Some(scene(1, (200, 0, 0))), &frame);
        assert!(
            first.starts_with("\x1b[2;2H") && first.contains(begin),
            "{first:?}"
        );
        // Where text replaces a picture, the words in it are written after it.
        assert_eq!(
            first.ends_with("\x1b[0m") && first.contains("wor"),
            protocol != PictureProtocol::Kitty,
            "{first:?}"
        );
        assert_eq!(
            sent(&mut pictures, Some(scene(1, (200, 0, 0))), &frame),
            "",
            "{protocol:?} unchanged"
        );
        assert!(sent(&mut pictures, Some(scene(1, (0, 200, 0))), &frame).contains(begin));
        frame.set_string(2, 2, "else", ratatui::style::Style::new());
        assert_eq!(
            sent(&mut pictures, Some(scene(1, (0, 200, 0))), &frame).contains(begin),
            protocol != PictureProtocol::Kitty
        );
        assert!(
            sent(&mut pictures, Some(scene(2, (0, 200, 0))), &frame).contains(begin),
            "it moved"
        );
        pictures.forget();
        assert!(
            sent(&mut pictures, Some(scene(2, (0, 200, 0))), &frame).contains(begin),
            "the screen was cleared"
        );
        let gone = sent(&mut pictures, None, &frame);
        assert_eq!(gone == farewell(), protocol == PictureProtocol::Kitty);
        assert_eq!(
            gone.contains("else"),
            protocol != PictureProtocol::Kitty,
            "{gone:?}"
        );
        assert_eq!(sent(&mut pictures, None, &frame), "", "once");
    }
}
