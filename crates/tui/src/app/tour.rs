//! The tour: six stops over the views. Each explains a view in one sentence and names the key to continue; keys work as usual.

use ratatui::{
    buffer::Buffer,
    layout::Rect,
    widgets::{Block, Clear, Widget},
};

use super::App;
use crate::{
    views::keymap::{Action, ViewId},
    widgets::{
        put, text,
        theme::{Role, Theme},
    },
};

/// Where the tour is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tour {
    /// In `STOPS`; behind the last the tour only says goodbye.
    stop: usize,
}

struct Stop {
    /// Where its key works.
    at: ViewId,
    /// What goes on to the next stop.
    action: Action,
    says: &'static str,
}

const STOPS: [Stop; 6] = [
    Stop {
        at: ViewId::Tokens,
        action: Action::Filter,
        says: "This table lists every token. Filter it by words and conditions: type cap>1b, then Enter.",
    },
    Stop {
        at: ViewId::Tokens,
        action: Action::ViewChart,
        says: "The chart shows trendlines and patterns, each with target and stop.",
    },
    Stop {
        at: ViewId::Chart,
        action: Action::NextPattern,
        says: "Patterns are marked and listed, open ones first. Step through them; Enter explains one.",
    },
    Stop {
        at: ViewId::Chart,
        action: Action::ViewSecurity,
        says: "These checks show what the contract, holders and liquidity can do to you, with evidence.",
    },
    Stop {
        at: ViewId::Security,
        action: Action::ViewYield,
        says: "The yield plan allocates your wallet for the highest return after gas, at the risk you choose.",
    },
    Stop {
        at: ViewId::Yield,
        action: Action::ViewApi,
        says: "Everything on screen is also available to scripts over HTTP.",
    },
];

const GOODBYE: &str = "That's the tour. c copies the curl command for a view; ? lists its keys.";

/// Rows of the box with its border, and its width at most.
const HEIGHT: u16 = 5;
const WIDTH_MAX: u16 = 78;

impl App {
    pub(super) fn begin_tour(&mut self) {
        self.tour = Some(Tour::default());
        self.go(STOPS[0].at);
    }

    /// Ends the tour; false where there is none.
    pub(super) fn leave_tour(&mut self) -> bool {
        self.tour.take().is_some()
    }

    /// The key of this stop or a later one was pressed: continues with the stop after it.
    pub(super) fn tour_follows(&mut self, action: Action) {
        let Some(tour) = &mut self.tour else { return };
        let behind = STOPS
            .iter()
            .position(|stop| stop.action == action)
            .map_or(0, |nth| nth + 1);
        tour.stop = tour.stop.max(behind);
    }

    /// The area of the view: without the box, so that the box hides no row, unless the view would be too low.
    pub(crate) fn beside_tour(&self, body: Rect) -> Rect {
        let is_shown = self.tour.is_some() && self.overlay.is_none() && self.filter.is_none();
        if is_shown && body.height >= 3 * HEIGHT {
            Rect {
                height: body.height - HEIGHT,
                ..body
            }
        } else {
            body
        }
    }

    /// Drawn under the view, or over its lower end in a low terminal; hidden under a dialog and while a line is typed.
    pub(crate) fn draw_tour(&self, buffer: &mut Buffer, body: Rect) {
        let Some(tour) = self
            .tour
            .filter(|_| self.overlay.is_none() && self.filter.is_none())
        else {
            return;
        };
        let key = |action: Action| {
            self.setup
                .keymap
                .keys(action)
                .first()
                .cloned()
                .unwrap_or_else(|| action.name().to_owned())
        };
        let (title, says, press) = match STOPS.get(tour.stop) {
            Some(stop) => {
                // A number key works everywhere, another one in its view.
                let is_here = stop.at == self.current
                    || crate::views::keymap::VIEWS
                        .iter()
                        .any(|row| row.goto == stop.action);
                let first = if is_here {
                    String::new()
                } else {
                    format!("{}, then ", key(stop.at.row().goto))
                };
                (
                    format!(
                        "tour · {} of {} · {}",
                        tour.stop + 1,
                        STOPS.len(),
                        stop.at.title()
                    ),
                    stop.says,
                    format!("press {first}{}", key(stop.action)),
                )
            }
            None => ("tour · the end".to_owned(), GOODBYE, String::new()),
        };
        let leave = format!(
            "{} {}",
            key(Action::Back),
            if press.is_empty() {
                "closes"
            } else {
                "leaves the tour"
            }
        );
        draw_box(
            buffer,
            body,
            &self.setup.look.theme,
            (&title, says, &press, &leave),
        );
    }
}

fn draw_box(
    buffer: &mut Buffer,
    body: Rect,
    theme: &Theme,
    (title, says, press, leave): (&str, &str, &str, &str),
) {
    let width = WIDTH_MAX.min(body.width.saturating_sub(2));
    let height = HEIGHT.min(body.height);
    let place = Rect {
        x: body.x + (body.width - width) / 2,
        y: body.y + body.height - height,
        width,
        height,
    };
    let base = theme.style(Role::Panel);
    Clear.render(place, buffer);
    let block = Block::bordered()
        .title(format!(" {title} "))
        .style(theme.text().patch(base))
        .border_style(theme.accent().patch(base))
        .title_style(theme.accent().patch(base));
    let inner = block.inner(place);
    block.render(place, buffer);
    let inner = Rect {
        x: inner.x + 1,
        width: inner.width.saturating_sub(2),
        ..inner
    };
    for (row, line) in text::wrap(says, inner.width.into(), 2).iter().enumerate() {
        put(buffer, inner, 0, row as u16, line, theme.text().patch(base));
    }
    let last = inner.height.saturating_sub(1);
    put(buffer, inner, 0, last, press, theme.accent().patch(base));
    put(
        buffer,
        inner,
        inner.width.saturating_sub(text::width(leave) as u16),
        last,
        leave,
        theme.dim().patch(base),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::bench::Bench,
        event::Event,
        memory::{Memory, NoStorage},
    };
    use load::sample;
    use query::service::ServiceEvent;
    use serde_json::{Value, json};

    /// The screens of a new user: no data, the demo's first screen, a stop of the tour.
    #[test]
    fn the_first_minute_looks_as_it_did() {
        for (width, height) in [(60, 16), (80, 24), (140, 42)] {
            let mut bench = Bench::new(crate::views::all());
            bench.app.remember(&NoStorage);
            bench.app.setup.data_folder = Some("/home/a/.local/share/tokendeck".into());
            bench
                .app
                .update(Event::QueryService(ServiceEvent::LoadFailed(
                    "the dataset folder `datasets` cannot be read".to_owned(),
                )));
            insta::assert_snapshot!(
                format!("welcome-{width}x{height}"),
                bench.settled(width, height)
            );
            let mut market = sample::dataset(&[(
                "tokens",
                "token_address,symbol,name,chain,price,market_cap\n0x1,UNI,Uniswap,eth,7,90",
            )]);
            (market.synthetic, market.title, market.folder) =
                (true, Some("Demo market".to_owned()), "demo".into());
            bench.load(market);
            bench.app.overlay = None;
            bench.screen_of(width, height);
            insta::assert_snapshot!(
                format!("first-{width}x{height}"),
                bench.settled(width, height)
            );
            bench.app.act(Action::Tour);
            bench.screen_of(width, height);
            insta::assert_snapshot!(
                format!("tour-{width}x{height}"),
                bench.settled(width, height)
            );
        }
    }

    #[test]
    fn each_way_to_data_is_a_number_away() {
        let folder = |bench: &Bench| Some(bench.folder.path().join("own"));
        for (keys, has_folder, shown) in [
            ("2", true, "› open"),
            ("1", false, "› open"),
            ("↓⏎", true, "› open"),
            ("3", true, "› add"),
            ("9", true, "Where do you want to start"),
            ("⎋", true, "loading the dataset"),
        ] {
            let mut bench = Bench::new(crate::views::all());
            bench.app.setup.data_folder = folder(&bench).filter(|_| has_folder);
            bench
                .app
                .update(Event::QueryService(ServiceEvent::LoadFailed(
                    "there is nothing".to_owned(),
                )));
            assert_eq!(bench.screen().contains("the demo"), has_folder, "{keys}");
            bench.keys(keys);
            assert!(bench.screen().contains(shown), "{keys}\n{}", bench.screen());
            // Nothing is made before it is chosen.
            assert_eq!(
                bench.files(),
                if keys == "3" { vec!["own"] } else { Vec::new() },
                "{keys}"
            );
        }
    }

    struct Session(Value);

    impl Memory for Session {
        fn session(&self) -> Value {
            self.0.clone()
        }
    }

    #[test]
    fn the_folder_seen_last_is_the_first_way_while_it_is_there() {
        let seen = tempfile::tempdir().expect("a folder");
        for is_there in [true, false] {
            let mut bench = Bench::new(crate::views::all());
            let failed = bench.app.setup.service.folder();
            let folder = if is_there {
                seen.path()
            } else {
                &seen.path().join("gone")
            };
            for (last, is_offered) in [(folder, is_there), (&failed, false)] {
                bench.app.remember(&Session(json!({ "folder": last })));
                bench
                    .app
                    .update(Event::QueryService(ServiceEvent::LoadFailed(
                        "there is nothing".to_owned(),
                    )));
                assert_eq!(
                    bench.screen().contains("last folder"),
                    is_offered,
                    "{}",
                    last.display()
                );
                // It stays the last one while nothing else is seen.
                assert_eq!(bench.app.last_session()["folder"], json!(last));
                if is_offered {
                    bench.keys("⏎");
                    assert_eq!(bench.app.setup.service.folder(), seen.path());
                    bench.app.setup.service.open(&failed);
                }
            }
        }
    }

    #[test]
    fn six_keys_walk_the_tour_and_do_what_they_always_do() {
        let mut bench = Bench::new(crate::views::all());
        bench.load(sample::dataset(&[(
            "tokens",
            "token_address,symbol,name,chain\n0x1,UNI,Uniswap,eth",
        )]));
        bench.app.act(Action::Tour);
        let walk = [
            ("1 of 6 · Tokens", "/cap>1⎋", ViewId::Tokens),
            ("2 of 6 · Tokens", "3", ViewId::Chart),
            ("3 of 6 · Chart", "n", ViewId::Chart),
            ("4 of 6 · Chart", "4", ViewId::Security),
            ("5 of 6 · Security", "7", ViewId::Yield),
            ("6 of 6 · Yield", "0", ViewId::Api),
        ];
        for (title, keys, view) in walk {
            assert!(
                bench.screen().contains(&format!("tour · {title}")),
                "{title}\n{}",
                bench.screen()
            );
            bench.keys(keys);
            assert_eq!(bench.app.current, view, "after {keys}");
        }
        assert!(bench.screen().contains("tour · the end"));
        bench.keys("⎋");
        assert!(!bench.screen().contains("tour ·"));
    }

    #[test]
    fn the_tour_waits_for_its_key_and_goes_by_esc() {
        let mut bench = Bench::new(crate::views::all());
        bench.load(sample::dataset(&[(
            "tokens",
            "token_address,symbol,name,chain\n0x1,UNI,Uniswap,eth",
        )]));
        bench.keys("?t");
        // Under a dialog and a typed line it is silent.
        for (keys, shown) in [
            ("", true),
            ("/", false),
            ("⎋", true),
            (":", false),
            ("⎋", true),
            ("9", true),
        ] {
            bench.keys(keys);
            assert_eq!(bench.screen().contains("tour ·"), shown, "after {keys}");
        }
        // `/` counted as the first stop; the second's key works from any view.
        assert!(
            bench.screen().contains("tour · 2 of 6 · Tokens")
                && bench.screen().contains("press 3 ")
        );
        bench.keys("31");
        assert!(
            bench.screen().contains("3 of 6 · Chart") && bench.screen().contains("press 3, then n"),
            "{}",
            bench.screen()
        );
        // A later stop's key is not asked for again.
        bench.keys("71");
        assert!(
            bench.screen().contains("6 of 6 · Yield") && bench.screen().contains("press 0 "),
            "{}",
            bench.screen()
        );
        bench.keys("⎋");
        assert!(!bench.screen().contains("tour ·") && bench.app.current == ViewId::Tokens);
    }
}
