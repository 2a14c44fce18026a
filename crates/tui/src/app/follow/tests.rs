//! The dashboard over a service whose load the test can hold back and release between any two keys.

use super::*;
use crate::app::bench::Bench;
use load::{Dataset, Table, sample};

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

fn bench() -> Bench {
    Bench::new(crate::views::all())
}

/// Checks that every token name on screen is the same.
fn is_on(bench: &mut Bench, token: &str, symbol: &str, what: &str) {
    let screen = bench.settled(120, 30);
    assert_eq!(
        bench.app.token,
        Some(sample::address(token)),
        "{what}\n{screen}"
    );
    assert!(
        screen
            .lines()
            .next()
            .is_some_and(|line| line.contains(&format!("{symbol}  0x"))),
        "the header, {what}\n{screen}"
    );
    bench.app.go(ViewId::Tokens);
    bench.rest();
    let selected = bench
        .app
        .with_view(ViewId::Tokens, |view, context| view.selected_token(context));
    assert_eq!(selected, bench.app.token, "the selected row, {what}");
    bench.app.go(ViewId::Posts);
    assert!(
        bench.settled(120, 30).contains(&format!("of {symbol}")),
        "the posts, {what}\n{screen}"
    );
}

#[test]
fn what_was_said_of_a_view_goes_with_it_and_what_went_wrong_stays() {
    let mut bench = bench();
    for (warning, stays) in [(false, false), (true, true)] {
        bench.app.go(ViewId::Tokens);
        bench.app.say("2 tokens marked", warning);
        bench.app.go(ViewId::Chart);
        assert_eq!(bench.app.message.is_some(), stays);
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
            let mut bench = bench();
            for (i, key) in keys.iter().enumerate() {
                if i == held {
                    bench.load(market());
                }
                bench.keys(&key.to_string());
            }
            if held == keys.len() {
                bench.load(market());
            }
            is_on(
                &mut bench,
                token,
                symbol,
                &format!("{keys:?}, loaded before key {held}"),
            );
        }
    }
}

#[test]
fn the_selected_row_is_the_token_whatever_moves_under_it() {
    let mut bench = bench();
    bench.load(market());
    is_on(&mut bench, LARGEST, "WETH", "at the start");
    // Selecting a token in the palette clears a filter that hides it.
    bench.app.go(ViewId::Tokens);
    bench.keys("/uni⏎");
    bench.app.select(sample::address(MIDDLE));
    is_on(&mut bench, MIDDLE, "LINK", "chosen by name");
    // New figures change the rows under the filter.
    bench.app.go(ViewId::Tokens);
    bench.keys("/cap<1000⏎");
    let dearer = "token_address,symbol,name,chain,market_cap\n0x1,WETH,Wrapped Ether,eth,9000\n0x2,LINK,Chainlink,eth,5000\n0x3,UNI,Uniswap,eth,90";
    bench.load(sample::dataset(&[
        ("tokens", dearer),
        (
            "posts",
            "post_id,token_address,title,link,published_at,impressions,engagement,smart_engagement\nb,0x3,of uniswap,,2026-01-01,1,2,3",
        ),
    ]));
    is_on(&mut bench, SMALLEST, "UNI", "after a reload");
}

#[test]
fn a_token_whose_row_went_is_looked_at_again_when_it_is_back() {
    let without = || {
        sample::dataset(&[(
            "tokens",
            "token_address,symbol,name,chain,market_cap\n0x1,WETH,Ether,eth,9000\n0x2,LINK,Chainlink,eth,900",
        )])
    };
    let dear = || {
        sample::dataset(&[(
            "tokens",
            "token_address,symbol,name,chain,market_cap\n0x1,WETH,Ether,eth,9000\n0x2,LINK,Chainlink,eth,900\n0x3,UNI,Uniswap,eth,5000",
        )])
    };
    let token = |bench: &mut Bench| {
        bench.settled(120, 30);
        bench.app.token
    };
    for view in [ViewId::Tokens, ViewId::Posts] {
        let mut bench = bench();
        bench.load(market());
        bench.app.go(view);
        bench.app.select(sample::address(SMALLEST));
        bench.load(without());
        assert_ne!(
            token(&mut bench),
            Some(sample::address(SMALLEST)),
            "{view:?}"
        );
        bench.load(market());
        is_on(&mut bench, SMALLEST, "UNI", "it is back");
    }
    // The row is left out by a filter, and comes back.
    let mut bench = bench();
    bench.load(market());
    bench.keys("/cap<1000⏎");
    bench.app.select(sample::address(SMALLEST));
    bench.load(dear());
    assert_eq!(
        token(&mut bench),
        Some(sample::address(MIDDLE)),
        "the row that is left"
    );
    bench.load(market());
    assert_eq!(token(&mut bench), Some(sample::address(SMALLEST)));
    // Another that is chosen meanwhile stays.
    bench.load(dear());
    assert_eq!(token(&mut bench), Some(sample::address(MIDDLE)));
    bench.app.select(sample::address(MIDDLE));
    bench.load(market());
    is_on(&mut bench, MIDDLE, "LINK", "it was chosen");
}

#[test]
fn marks_are_kept_by_address_over_a_reload() {
    let mut bench = bench();
    bench.load(market());
    bench.app.go(ViewId::Tokens);
    for token in [SMALLEST, MIDDLE] {
        bench.app.select(sample::address(token));
        bench.keys(" ");
    }
    let marked = |bench: &mut Bench| {
        bench
            .settled(120, 30)
            .lines()
            .filter(|line| line.contains('◆'))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let before = marked(&mut bench);
    assert!(
        before.len() == 2
            && before.iter().any(|line| line.contains("UNI"))
            && before.iter().any(|line| line.contains("LINK")),
        "{before:?}"
    );
    bench.load(sample::dataset(&[(
        "tokens",
        "token_address,symbol,name,chain,market_cap\n0x5,NEW,New,eth,99000\n0x3,UNI,Uniswap,eth,50000\n0x1,WETH,Ether,eth,9000\n0x2,LINK,Chainlink,eth,1",
    )]));
    let after = marked(&mut bench);
    assert!(
        after.len() == 2
            && after.iter().any(|line| line.contains("UNI"))
            && after.iter().any(|line| line.contains("LINK")),
        "{after:?}"
    );
}

#[test]
fn panes_say_what_is_being_read_and_how_far() {
    let mut bench = bench();
    let under_way = vec![
        ("tokens".to_owned(), 10, 10),
        ("posts".to_owned(), 42, 100),
        ("candles".to_owned(), 0, 0),
    ];
    (bench.app.load.running, bench.app.load.tables) = (true, under_way.clone());
    for view in [
        ViewId::Tokens,
        ViewId::Posts,
        ViewId::Chart,
        ViewId::Security,
        ViewId::Dexes,
        ViewId::Growth,
        ViewId::Yield,
    ] {
        bench.app.current = view;
        let screen = bench.screen();
        let told = |words: &[&str]| {
            screen
                .lines()
                .skip(3)
                .any(|line| words.iter().all(|word| line.contains(word)))
        };
        assert!(
            told(&["loading the dataset"])
                && told(&["posts", "42%"])
                && told(&["candles", "not started"]),
            "{view:?}\n{screen}"
        );
        assert!(
            !told(&["no `"]) && !told(&["tokens", "100%"]),
            "{view:?}\n{screen}"
        );
    }
    // The small tables are loaded, a large one is not.
    let mut early = market();
    early.importing = vec!["posts"];
    early
        .tables
        .iter_mut()
        .filter(|table| table.schema.name == "posts")
        .for_each(|table| *table = Table::absent(table.schema));
    bench.load(early);
    for (view, waits) in [
        (ViewId::Posts, true),
        (ViewId::Security, true),
        (ViewId::Tokens, true),
        (ViewId::Dexes, false),
    ] {
        bench.app.go(view);
        bench.rest();
        (bench.app.load.running, bench.app.load.tables) = (true, under_way.clone());
        let screen = bench.screen();
        assert_eq!(
            screen.contains("`posts` is loading"),
            waits,
            "{view:?}\n{screen}"
        );
        assert_eq!(
            screen.lines().skip(3).any(|line| line.contains("42%")),
            waits,
            "{view:?}\n{screen}"
        );
        assert!(!screen.contains("no `posts` table"), "{view:?}\n{screen}");
    }
    bench.load(market());
    bench.app.go(ViewId::Posts);
    assert!(bench.settled(120, 30).contains("of ether"));
}

#[test]
fn a_load_is_looked_at_while_it_runs_and_at_no_other_time() {
    let mut bench = bench();
    assert!(bench.app.deadline().is_some(), "it may begin at any moment");
    bench.load(market());
    bench.app.message = None;
    assert!(
        bench.app.deadline().is_none(),
        "at rest nothing is woken for"
    );
    bench.app.load.running = true;
    let tick = bench.app.deadline().expect("a look at the load");
    bench.app.dirty = false;
    bench.app.deadline_passed(tick);
    assert!(
        bench.app.dirty && bench.app.deadline().is_none(),
        "it has ended meanwhile"
    );
}

#[test]
fn a_filter_that_was_refused_is_not_kept_by_another_view_or_the_end_of_the_program() {
    for leaves in ["view", "program"] {
        let mut bench = bench();
        bench.load(market());
        bench.app.go(ViewId::Jobs);
        bench.keys("/score>=90");
        bench.keys("⏎");
        assert!(
            bench
                .app
                .filter
                .as_ref()
                .is_some_and(|line| line.problem.is_some()),
            "no such column there"
        );
        if leaves == "view" {
            bench.app.go(ViewId::Tokens);
        }
        assert_eq!(
            bench.app.last_session()["datasets"]
                .as_object()
                .and_then(|datasets| datasets.values().next())
                .map(|dataset| &dataset["views"]["jobs"]["filter"]),
            Some(&serde_json::json!("")),
            "{leaves}"
        );
    }
}

#[test]
fn the_help_of_the_comparison_is_its_own() {
    let mut bench = bench();
    bench.load(market());
    bench.app.go(ViewId::Tokens);
    bench.keys(" j V");
    let shown = bench.settled(120, 30);
    assert!(
        shown.contains("2 tokens, percent") && !shown.contains("marked; press V"),
        "{shown}"
    );
    bench.keys("?");
    let help = bench.settled(120, 30);
    assert!(
        help.contains("keys · comparison")
            && help.contains("Move the crosshair left.")
            && !help.contains("watchlist"),
        "{help}"
    );
}

#[test]
fn the_list_of_tables_is_filtered_by_name() {
    let mut bench = bench();
    bench.load(market());
    bench.app.go(ViewId::Data);
    bench.keys("/post⏎");
    let screen = bench.settled(120, 30);
    assert!(
        screen.contains("posts ") && !screen.contains("holder_counts"),
        "{screen}"
    );
    bench.keys("/⌫⌫⌫⌫zzz⏎");
    assert!(
        bench
            .settled(120, 30)
            .contains("no table matches the filter"),
        "{}",
        bench.screen()
    );
}

#[test]
fn tokens_are_compared_by_their_names() {
    let mut bench = bench();
    bench.load(market());
    bench.app.go(ViewId::Posts);
    bench.keys(":compare uni,link vs weth 90d⏎");
    let screen = bench.settled(120, 30);
    assert!(
        bench.app.current == ViewId::Tokens
            && screen.contains("3 tokens")
            && screen.contains("90d"),
        "{screen}"
    );
    for (typed, says) in [
        ("uni", "a comparison needs 2 to"),
        ("uni,nosuch", "`nosuch` is not a token in the data"),
    ] {
        bench.keys(&format!(":compare {typed}⏎"));
        let screen = bench.settled(120, 30);
        assert!(screen.contains(says), "{typed}\n{screen}");
    }
}
