//! Screen snapshots over the demo market: every view at three sizes as text, and the same text in every theme. The clock is fixed, so that
//! screens are reproducible. The Data view shows load times and is left to its own tests.

use std::{path::Path, sync::Arc};

use model::{address::Address, time::Time};
use query::service::{QueryService, ServiceOptions};
use ratatui::{buffer::Buffer, style::Color};
use tui::{
    app::Setup,
    run,
    views::keymap::{VIEWS, ViewId, ViewRow},
    widgets::{
        picture,
        theme::{Appearance, BUILTIN, Depth, Options, Palette, Role, Theme},
    },
};

const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/datasets");
/// The token of every screen: the largest.
const LARGEST: &str = "0xdac17f958d2ee523a2206206994597c13d831ec7";
const SIZES: [(u16, u16); 4] = [(60, 16), (80, 24), (140, 42), (220, 60)];

/// Every built-in palette.
fn palettes() -> impl Iterator<Item = Palette> {
    BUILTIN
        .iter()
        .filter_map(|(name, _)| Palette::builtin(name))
}

fn service() -> Arc<QueryService> {
    let service = QueryService::new(Path::new(DEMO), ServiceOptions::default()).unwrap();
    service.load().unwrap();
    service
}

/// Noon of the day after the demo market's last.
fn noon() -> Time {
    Time(1_794_744_000_000)
}

fn screen(
    service: &Arc<QueryService>,
    view: ViewId,
    size: (u16, u16),
    palette: &Palette,
    options: Options,
    ascii: bool,
) -> Buffer {
    let look = Appearance {
        theme: Theme::new(palette, options),
        ascii,
        bell: false,
        zone: tui::zone::DisplayZone::default(),
        options,
        fixed: true,
    };
    let setup = Setup {
        clock: noon,
        ..Setup::still(Arc::clone(service), look)
    };
    // Growth stays at its first row.
    let selects = view != ViewId::Growth;
    run::picture(setup, view, size, |app| {
        if selects {
            app.select(Address::parse(LARGEST).unwrap());
        }
    })
    .0
}

/// Renders every view in parallel; each waits until no more answers arrive for a while.
fn in_each_view(views: &[ViewRow], test: impl Fn(&ViewRow) + Sync) {
    std::thread::scope(|scope| {
        for view in views {
            scope.spawn(|| test(view));
        }
    });
}

fn plain(service: &Arc<QueryService>, view: ViewId, size: (u16, u16)) -> Buffer {
    screen(
        service,
        view,
        size,
        &Palette::dark(),
        Options::default(),
        false,
    )
}

#[test]
fn every_view_looks_as_it_did_at_every_size() {
    let service = service();
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots/screens");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    in_each_view(VIEWS, |view| {
        settings.bind(|| {
            for (width, height) in SIZES.into_iter().filter(|_| view.id != ViewId::Data) {
                let text = picture::text(&plain(&service, view.id, (width, height)));
                assert!(
                    text.lines()
                        .all(|line| unicode_width::UnicodeWidthStr::width(line)
                            <= usize::from(width)),
                    "{} is too wide",
                    view.word
                );
                insta::assert_snapshot!(format!("{}-{width}x{height}", view.word), text);
            }
        });
    });
}

#[test]
fn a_theme_changes_colours_and_no_letter() {
    let service = service();
    in_each_view(VIEWS, |view| {
        let dark = plain(&service, view.id, SIZES[2]);
        for palette in palettes().filter(|palette| palette.name != "dark") {
            let other = screen(
                &service,
                view.id,
                SIZES[2],
                &palette,
                Options::default(),
                false,
            );
            assert_eq!(
                picture::text(&dark),
                picture::text(&other),
                "{} in {}",
                view.word,
                palette.name
            );
            assert_ne!(
                dark.content()[0].bg,
                other.content()[0].bg,
                "{}: the background is the theme's",
                view.word
            );
        }
    });
}

/// Finds a number truncated with `…`: its first digits would read as another number. Names and hashes may be truncated anywhere.
fn cut_number(text: &str) -> Option<&str> {
    let before = |at: usize| {
        text[..at]
            .rsplit(|c: char| c.is_whitespace() || "│(".contains(c))
            .next()
            .unwrap_or_default()
    };
    let is_number = |word: &&str| {
        word.ends_with(|c: char| c.is_ascii_digit()) && !word.contains(char::is_alphabetic)
    };
    text.match_indices('…')
        .map(|(at, _)| before(at))
        .find(is_number)
}

#[test]
fn no_number_is_cut_at_any_size() {
    assert_eq!(cut_number("a 0x1f98…f984  1.2… b"), Some("1.2"));
    let service = service();
    in_each_view(VIEWS, |view| {
        for size in SIZES
            .into_iter()
            .chain([(66, 20), (72, 24), (100, 30), (118, 34)])
        {
            let text = picture::text(&plain(&service, view.id, size));
            let cut = text.lines().find_map(cut_number);
            assert_eq!(cut, None, "{} at {size:?}:\n{text}", view.word);
        }
    });
}

/// Contrast ratio of WCAG 2.2, 1.4.3; `None` for colours that the terminal chooses.
fn contrast(a: Color, b: Color) -> Option<f64> {
    let luminance = |color: Color| {
        let Color::Rgb(r, g, b) = color else {
            return None;
        };
        let part = |value: u8| {
            let s = f64::from(value) / 255.0;
            if s <= 0.04045 {
                s / 12.92
            } else {
                ((s + 0.055) / 1.055).powf(2.4)
            }
        };
        Some(0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b))
    };
    let (a, b) = (luminance(a)?, luminance(b)?);
    Some((a.max(b) + 0.05) / (a.min(b) + 0.05))
}

#[test]
fn every_letter_can_be_read() {
    let service = service();
    for palette in palettes() {
        let selection = Theme::new(&palette, Options::default())
            .style(Role::Selection)
            .bg;
        in_each_view(VIEWS, |view| {
            let buffer = screen(
                &service,
                view.id,
                SIZES[1],
                &palette,
                Options::default(),
                false,
            );
            for (place, cell) in buffer
                .content()
                .iter()
                .enumerate()
                .filter(|(_, cell)| cell.symbol().contains(char::is_alphanumeric))
            {
                let found = contrast(cell.fg, cell.bg).expect("colours of the palette");
                // The selected row is marked twice, by background and weight, so a lower contrast suffices.
                let wanted = if Some(cell.bg) == selection { 3.0 } else { 4.5 };
                assert!(
                    found >= wanted,
                    "{} in {}: {found:.1} of `{}` at {place}",
                    view.word,
                    palette.name,
                    cell.symbol()
                );
            }
        });
    }
}

#[test]
fn without_colour_nothing_has_one_and_the_selection_is_still_seen() {
    let service = service();
    in_each_view(VIEWS, |view| {
        let options = Options {
            depth: Depth::None,
            ..Options::default()
        };
        let buffer = screen(
            &service,
            view.id,
            SIZES[1],
            &Palette::dark(),
            options,
            false,
        );
        let coloured = buffer
            .content()
            .iter()
            .find(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset);
        assert!(coloured.is_none(), "{}: {coloured:?}", view.title);
        if view.id == ViewId::Tokens {
            assert!(
                buffer
                    .content()
                    .iter()
                    .any(|cell| cell.modifier.contains(ratatui::style::Modifier::REVERSED))
            );
        }
    });
}

#[test]
fn ascii_screens_hold_ascii_but_for_what_the_data_say() {
    let service = service();
    in_each_view(VIEWS, |view| {
        for size in SIZES {
            let text = picture::text(&screen(
                &service,
                view.id,
                size,
                &Palette::dark(),
                Options::default(),
                true,
            ));
            // Names and titles in the data may be in any script.
            let of_data = |c: char| {
                c.is_alphanumeric() || c > '\u{1f000}' || "：？！，、（）「」。∞".contains(c)
            };
            let strange: String = text
                .chars()
                .filter(|c| !c.is_ascii() && !of_data(*c))
                .collect();
            assert!(strange.is_empty(), "{} at {size:?}: {strange}", view.word);
        }
    });
}

#[test]
fn no_size_makes_a_view_panic() {
    let service = service();
    in_each_view(VIEWS, |view| {
        for size in [
            (1, 1),
            (10, 5),
            (40, 10),
            (59, 16),
            (60, 15),
            (60, 16),
            (61, 17),
            (80, 16),
            (100, 200),
            (400, 16),
        ] {
            let buffer = plain(&service, view.id, size);
            assert_eq!(
                (buffer.area.width, buffer.area.height),
                size,
                "{}",
                view.title
            );
        }
    });
}
