//! The dashboard over a deck whose load is held back until the test lets it come, between any two keys.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::{buffer::Buffer, layout::Rect};

use super::*;
use crate::{
    dataset::{Dataset, sample},
    deck::{Deck, DeckEvent, DeckOptions},
    tui::{app::Setup, event::Event, picture, views},
};

const LARGEST: &str = "0x1";
const MIDDLE: &str = "0x2";
const SMALLEST: &str = "0x3";

fn market() -> Dataset {
    sample::dataset(&[
        (
            "tokens",
            "token_address,symbol,name,chain,price,market_cap
             0x1,WETH,Wrapped Ether,eth,3000,9000
             0x2,LINK,Chainlink,eth,14,900
             0x3,UNI,Uniswap,eth,7,90",
        ),
        (
            "posts",
            "post_id,token_address,title,link,published_at,impressions,engagement,smart_engagement
             a,0x1,of ether,,2026-01-01,1,2,3
             b,0x3,of uniswap,,2026-01-01,1,2,3",
        ),
    ])
}

struct Desk {
    app: App,
}

impl Desk {
    fn new() -> Self {
        let setup =
            Setup::plain(Deck::new(std::path::Path::new("market"), DeckOptions { workers: 1, ..DeckOptions::default() }).expect("a deck"));
        Self { app: App::new(setup, views::all(), Arc::new(|| ())) }
    }

    fn press(&mut self, key: char) {
        let code = match key {
            '⏎' => KeyCode::Enter,
            '⎋' => KeyCode::Esc,
            key => KeyCode::Char(key),
        };
        self.app.update(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }

    fn load(&mut self, dataset: Dataset) {
        let generation = self.app.setup.deck.stand_on(dataset).generation;
        self.app.update(Event::Deck(DeckEvent::Reloaded(generation)));
    }

    /// The screen once every answer is there.
    fn screen(&mut self) -> String {
        let area = Rect::new(0, 0, 120, 30);
        let mut buffer = Buffer::empty(area);
        while self.app.setup.deck.waiting() > 0 {
            std::thread::yield_now();
        }
        self.app.look_again();
        self.app.draw_into(&mut buffer, area);
        picture::text(&buffer)
    }

    /// Nothing that names a token names another.
    fn is_on(&mut self, token: &str, symbol: &str, what: &str) {
        let screen = self.screen();
        assert_eq!(self.app.token, Some(sample::address(token)), "{what}\n{screen}");
        assert!(screen.lines().next().is_some_and(|line| line.contains(&format!("{symbol}  0x"))), "the header, {what}\n{screen}");
        self.app.go(ViewId::Tokens);
        let selected = self.app.with_view(ViewId::Tokens, |view, context| view.selected_token(context));
        assert_eq!(selected, self.app.token, "the selected row, {what}");
        self.app.go(ViewId::Posts);
        assert!(self.screen().contains(&format!("of {symbol}")), "the posts, {what}\n{screen}");
    }
}

#[test]
fn what_was_said_of_a_view_goes_with_it_and_what_went_wrong_stays() {
    let mut desk = Desk::new();
    for (warning, stays) in [(false, false), (true, true)] {
        desk.app.go(ViewId::Tokens);
        desk.app.say("2 tokens marked", warning);
        desk.app.go(ViewId::Chart);
        assert_eq!(desk.app.message.is_some(), stays);
    }
}

#[test]
fn keys_pressed_before_the_tables_are_there_choose_the_same_token() {
    for (keys, token, symbol) in [
        ("/uni⏎2", SMALLEST, "UNI"),
        ("/uni⏎", SMALLEST, "UNI"),
        ("/uni2⎋/uni⏎3", SMALLEST, "UNI"),
        ("/uni⎋2", LARGEST, "WETH"),
        ("/cap<1000⏎2/x⎋", MIDDLE, "LINK"),
        ("2", LARGEST, "WETH"),
    ] {
        let keys: Vec<char> = keys.chars().collect();
        for held in 0..=keys.len() {
            let mut desk = Desk::new();
            for (i, key) in keys.iter().enumerate() {
                if i == held {
                    desk.load(market());
                }
                desk.press(*key);
            }
            if held == keys.len() {
                desk.load(market());
            }
            desk.is_on(token, symbol, &format!("{keys:?}, loaded before key {held}"));
        }
    }
}

#[test]
fn the_selected_row_is_the_token_whatever_moves_under_it() {
    let mut desk = Desk::new();
    desk.load(market());
    desk.is_on(LARGEST, "WETH", "at the start");
    // A filter that hides what the palette chooses gives way.
    desk.app.go(ViewId::Tokens);
    "/uni⏎".chars().for_each(|key| desk.press(key));
    desk.app.select(sample::address(MIDDLE));
    desk.is_on(MIDDLE, "LINK", "chosen by name");
    // New figures put another row under the filter.
    desk.app.go(ViewId::Tokens);
    "/cap<1000⏎".chars().for_each(|key| desk.press(key));
    let dearer =
        "token_address,symbol,name,chain,market_cap\n0x1,WETH,Wrapped Ether,eth,9000\n0x2,LINK,Chainlink,eth,5000\n0x3,UNI,Uniswap,eth,90";
    desk.load(sample::dataset(&[
        ("tokens", dearer),
        (
            "posts",
            "post_id,token_address,title,link,published_at,impressions,engagement,smart_engagement\nb,0x3,of uniswap,,2026-01-01,1,2,3",
        ),
    ]));
    desk.is_on(SMALLEST, "UNI", "after a reload");
}

#[test]
fn panes_say_what_is_being_read_and_how_far() {
    let mut desk = Desk::new();
    let text = |desk: &mut Desk| {
        let area = Rect::new(0, 0, 120, 30);
        let mut buffer = Buffer::empty(area);
        desk.app.draw_into(&mut buffer, area);
        picture::text(&buffer)
    };
    let under_way = vec![("tokens".to_owned(), 10, 10), ("posts".to_owned(), 42, 100), ("candles".to_owned(), 0, 0)];
    (desk.app.load.running, desk.app.load.tables) = (true, under_way.clone());
    for view in [ViewId::Tokens, ViewId::Posts, ViewId::Chart, ViewId::Security, ViewId::Dexes, ViewId::Growth, ViewId::Yield] {
        desk.app.current = view;
        let screen = text(&mut desk);
        let told = |words: &[&str]| screen.lines().skip(3).any(|line| words.iter().all(|word| line.contains(word)));
        assert!(told(&["reading the dataset market"]) && told(&["posts", "42 %"]) && told(&["candles", "not begun"]), "{view:?}\n{screen}");
        assert!(!told(&["no `"]) && !told(&["tokens", "100 %"]), "{view:?}\n{screen}");
    }
    // The small tables stand, a large one is still on its way.
    let mut early = market();
    early.importing = vec!["posts"];
    early
        .tables
        .iter_mut()
        .filter(|table| table.schema.name == "posts")
        .for_each(|table| *table = crate::dataset::Table::absent(table.schema));
    desk.load(early);
    for (view, waits) in [(ViewId::Posts, true), (ViewId::Security, true), (ViewId::Tokens, true), (ViewId::Dexes, false)] {
        desk.app.go(view);
        (desk.app.load.running, desk.app.load.tables) = (true, under_way.clone());
        let screen = text(&mut desk);
        assert_eq!(screen.contains("`posts` is being read"), waits, "{view:?}\n{screen}");
        assert_eq!(screen.lines().skip(3).any(|line| line.contains("42 %")), waits, "{view:?}\n{screen}");
        assert!(!screen.contains("no `posts` table"), "{view:?}\n{screen}");
    }
    desk.load(market());
    desk.app.go(ViewId::Posts);
    assert!(desk.screen().contains("of ether"));
}

#[test]
fn a_load_is_looked_at_while_it_runs_and_at_no_other_time() {
    let mut desk = Desk::new();
    assert!(desk.app.deadline().is_some(), "it may begin at any moment");
    desk.load(market());
    desk.app.message = None;
    assert!(desk.app.deadline().is_none(), "at rest nothing is woken for");
    desk.app.load.running = true;
    let tick = desk.app.deadline().expect("a look at the load");
    desk.app.take_dirty();
    desk.app.deadline_passed(tick);
    assert!(desk.app.take_dirty() && desk.app.deadline().is_none(), "it has ended meanwhile");
}

#[test]
fn a_filter_that_was_refused_is_not_kept_by_another_view_or_the_end_of_the_program() {
    for leaves in ["view", "program"] {
        let mut desk = Desk::new();
        desk.load(market());
        desk.app.go(ViewId::Jobs);
        "/score>=90".chars().for_each(|key| desk.press(key));
        desk.press('⏎');
        assert!(desk.app.filter.as_ref().is_some_and(|line| line.problem.is_some()), "no such column there");
        if leaves == "view" {
            desk.app.go(ViewId::Tokens);
        }
        assert_eq!(desk.app.session()["views"]["jobs"]["filter"], "", "{leaves}");
    }
}

#[test]
fn the_help_of_the_comparison_is_its_own() {
    let mut desk = Desk::new();
    desk.load(market());
    desk.app.go(ViewId::Tokens);
    " j V".chars().for_each(|key| desk.press(key));
    let shown = desk.screen();
    assert!(shown.contains("2 tokens, percent") && !shown.contains("marked: V"), "{shown}");
    desk.press('?');
    let help = desk.screen();
    assert!(help.contains("keys · comparison") && help.contains("The crosshair to the left.") && !help.contains("watchlist"), "{help}");
}
