//! Whole screens over the demo market: every view at three sizes as text, and the same text in every theme. The clock stands still,
//! so that a screen is the same tomorrow. The Data view shows load times and is left to its own tests.

use std::{path::Path, sync::Arc};

use ratatui::{buffer::Buffer, style::Color};
use tokendeck::{
    dataset::time::Time,
    deck::{Deck, DeckOptions},
    tui::{
        app::{Look, Setup},
        keymap::{Keymap, VIEWS, ViewId},
        picture, run,
        theme::{Depth, Options, Palette, Theme},
        view::NoApi,
    },
};

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/datasets");
const SIZES: [(u16, u16); 3] = [(80, 24), (140, 42), (220, 60)];

fn deck() -> Arc<Deck> {
    let deck = Deck::new(Path::new(DEMO), DeckOptions::default()).unwrap();
    deck.load().unwrap();
    deck
}

/// Noon of the day after the demo market's last.
fn noon() -> Time {
    Time(1_794_744_000_000)
}

fn screen(deck: &Arc<Deck>, view: ViewId, size: (u16, u16), palette: &Palette, options: Options, ascii: bool) -> Buffer {
    let setup = Setup {
        deck: Arc::clone(deck),
        jobs: None,
        api: Arc::new(NoApi),
        start_api: false,
        keymap: Keymap::default(),
        look: Look { theme: Theme::new(palette, options), ascii, bell: false, options, fixed: true },
        clock: noon,
        demo_folder: None,
        warnings: Vec::new(),
    };
    run::picture(setup, view, size, |_| ()).0
}

fn plain(deck: &Arc<Deck>, view: ViewId, size: (u16, u16)) -> Buffer {
    screen(deck, view, size, &Palette::dark(), Options::default(), false)
}

#[test]
fn every_view_looks_as_it_did_at_every_size() {
    let deck = deck();
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots/screens");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for view in VIEWS.iter().filter(|view| view.id != ViewId::Data) {
            for (width, height) in SIZES {
                let text = picture::text(&plain(&deck, view.id, (width, height)));
                assert!(
                    text.lines().all(|line| unicode_width::UnicodeWidthStr::width(line) <= usize::from(width)),
                    "{} is too wide",
                    view.word
                );
                insta::assert_snapshot!(format!("{}-{width}x{height}", view.word), text);
            }
        }
    });
}

#[test]
fn a_theme_changes_colours_and_no_letter() {
    let deck = deck();
    for view in [ViewId::Tokens, ViewId::Chart, ViewId::Growth] {
        let dark = plain(&deck, view, SIZES[1]);
        for palette in [Palette::light(), Palette::high_contrast()] {
            let other = screen(&deck, view, SIZES[1], &palette, Options::default(), false);
            assert_eq!(picture::text(&dark), picture::text(&other), "{view:?} in {}", palette.name);
            assert_ne!(dark.content()[0].bg, other.content()[0].bg, "{view:?}: the background is the theme's");
        }
    }
}

#[test]
fn without_colour_nothing_has_one_and_the_selection_is_still_seen() {
    let deck = deck();
    for view in VIEWS {
        let options = Options { depth: Depth::None, ..Options::default() };
        let buffer = screen(&deck, view.id, SIZES[0], &Palette::dark(), options, false);
        let coloured = buffer.content().iter().find(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset);
        assert!(coloured.is_none(), "{}: {coloured:?}", view.title);
        if view.id == ViewId::Tokens {
            assert!(buffer.content().iter().any(|cell| cell.modifier.contains(ratatui::style::Modifier::REVERSED)));
        }
    }
}

#[test]
fn ascii_screens_hold_ascii_but_for_what_the_data_say() {
    let deck = deck();
    for view in [ViewId::Chart, ViewId::Security, ViewId::Api] {
        let buffer = screen(&deck, view, SIZES[1], &Palette::dark(), Options::default(), true);
        let text = picture::text(&buffer);
        let strange: String = text.chars().filter(|c| !c.is_ascii()).collect();
        assert!(strange.is_empty(), "{view:?}: {strange}");
    }
}

#[test]
fn no_size_makes_a_view_panic() {
    let deck = deck();
    for view in VIEWS {
        for size in [(1, 1), (10, 5), (40, 10), (59, 16), (60, 15), (60, 16), (61, 17), (80, 16), (100, 200), (400, 16)] {
            let buffer = plain(&deck, view.id, size);
            assert_eq!((buffer.area.width, buffer.area.height), size, "{}", view.title);
        }
    }
}
