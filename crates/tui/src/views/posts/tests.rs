//! The Posts view on the synthetic market.

use super::*;
use crate::views::fixture::{Stage, address, market, shown};
use load::Dataset;
use model::time::DAY_MS;

#[test]
fn screens_look_as_they_did() {
    let (mut stage, mut view) = shown::<PostsView>();
    insta::assert_snapshot!("posts", stage.screen(&mut view));
    stage.act(&mut view, Action::AllPosts);
    stage.act(&mut view, Action::Down);
    stage.act(&mut view, Action::Open);
    insta::assert_snapshot!("posts_open", stage.screens(&mut view));
}

#[test]
fn one_tokens_posts_come_newest_first_and_all_of_them_to_the_last() {
    let (mut stage, mut view) = shown::<PostsView>();
    assert_eq!(view.window.total(), 130);
    stage.act(&mut view, Action::Last);
    stage.draw(&mut view, 140, 38);
    assert_eq!(
        view.post().map(|post| post.post_id.as_str()),
        Some("post-1-129")
    );
    assert_eq!(
        view.export(&stage.context()).expect("rows to export").count,
        Some(130)
    );
    let request = view.request(&stage.context()).expect("a request");
    assert_eq!(
        (request.target, request.page),
        (
            format!("/tokens/{}/posts?page=2&limit=100", address(1)),
            Some((2, 2))
        )
    );
    // An export contains every post, as answered.
    let (context, members) = (stage.context(), view.list.members());
    let row = |place| {
        Some(List::<PostFields>::written(
            ListedPost {
                post: view.window.post(place)?,
                context: &context,
            },
            &members,
        ))
    };
    let expected: Vec<Vec<Json>> = (0..130).filter_map(row).collect();
    let export = view.export(&stage.context()).expect("rows to export");
    assert_eq!(
        (export.count, export.selected.as_ref()),
        (Some(130), expected.last())
    );
    let rows = export.values();
    assert_eq!(expected.len(), 130);
    assert_eq!(rows, expected);
}

#[test]
fn sorting_and_words_hold_within_the_token_and_across_all() {
    let (mut stage, mut view) = shown::<PostsView>();
    view.set_filter("STAKING overnight", &stage.context())
        .expect("a filter that reads");
    stage.draw(&mut view, 140, 38);
    let of_one = view.window.total();
    assert!(
        of_one > 0
            && of_one < 130
            && view
                .post()
                .is_some_and(|post| post.token_address == address(1))
    );
    stage.act(&mut view, Action::AllPosts);
    stage.draw(&mut view, 140, 38);
    assert!(view.window.total() > of_one);
    assert_eq!(stage.act(&mut view, Action::Back), Effect::Redraw);
    for _ in 0..2 {
        stage.act(&mut view, Action::Sort);
    }
    stage.draw(&mut view, 140, 38);
    assert_eq!(
        (view.window.total(), view.list.sorting.save()),
        (145, json!(["-impressions"]))
    );
    let seen: Vec<i64> = (0..145)
        .filter_map(|row| view.window.post(row)?.impressions)
        .collect();
    assert!(
        seen.len() > 50 && seen.windows(2).all(|pair| pair[0] >= pair[1]),
        "{seen:?}"
    );
    assert!(view.set_filter(&"x".repeat(300), &stage.context()).is_err());
}

#[test]
fn links_are_opened_and_copied() {
    let (mut stage, mut view) = shown::<PostsView>();
    assert_eq!(
        stage.act(&mut view, Action::OpenLink),
        Effect::OpenLink("https://posts.example/1/0".to_owned())
    );
    assert_eq!(
        stage.act(&mut view, Action::CopyValue),
        Effect::Copy("https://posts.example/1/0".to_owned(), "link")
    );
    let empty = Stage::new(Some(Dataset::default()));
    assert_eq!(
        PostsView::default().act(Action::OpenLink, &empty.context()),
        Effect::Pass
    );
}

#[test]
fn another_token_shows_its_own_posts_from_the_top() {
    let (mut stage, mut view) = shown::<PostsView>();
    stage.act(&mut view, Action::Last);
    stage.token = Some(address(2));
    stage.draw(&mut view, 140, 38);
    assert_eq!((view.window.total(), view.list.selected()), (5, Some(0)));
    stage.token = Some(address(9));
    assert!(
        stage
            .text(&mut view, 140, 38)
            .contains("no posts about this token")
    );
}

#[test]
fn what_is_missing_is_said_and_choices_are_kept() {
    let stage = Stage::new(Some(Dataset::default()));
    assert!(
        stage
            .text(&mut PostsView::default(), 80, 20)
            .contains("no `posts` table: add posts.csv")
    );
    let mut view = PostsView {
        all: true,
        ..PostsView::default()
    };
    view.set_filter("usd", &stage.context()).expect("words");
    view.list.act(Action::SortReverse);
    let mut again = PostsView::default();
    again.restore(&view.save());
    assert_eq!(again.save(), view.save());
}

#[test]
fn posts_are_filtered_by_the_age_that_their_column_shows() {
    let (stage, mut view) = shown::<PostsView>();
    for (filter, fits) in [
        ("age<7d", (0..7)),
        ("age>=7d", (7..i64::MAX)),
        ("age:5d", (5..6)),
    ] {
        view.set_filter(filter, &stage.context()).expect("a filter");
        stage.draw(&mut view, 140, 38);
        let ages: Vec<i64> = (0..view.window.total())
            .filter_map(|place| view.window.post(place))
            .map(|post| (stage.context().newest_post().0 - post.published_at.0).div_euclid(DAY_MS))
            .collect();
        assert!(
            ages.iter().all(|age| fits.contains(age)),
            "{filter}: {ages:?}"
        );
        assert!(
            view.window.total() < 130,
            "{filter}: {}",
            view.window.total()
        );
    }
    assert!(
        view.request(&stage.context())
            .is_some_and(|request| request.target.contains("published_at"))
    );
    assert!(view.set_filter("age!=5d", &stage.context()).is_err());
}

#[test]
fn ages_count_from_the_newest_post_whatever_candles_come() {
    let posts = (
        "posts",
        "post_id,token_address,title,published_at\na,0x1,first,2026-01-01\nb,0x2,second,2026-01-04",
    );
    let tokens = (
        "tokens",
        "token_address,symbol,name,chain\n0x1,A,A,eth\n0x2,B,B,eth",
    );
    let candles = |day: &str| {
        format!("token_address,interval,timestamp,open,high,low,close\n0x2,1d,{day},1,1,1,1")
    };
    for day in ["2026-01-04", "2026-03-04"] {
        let candles = candles(day);
        let mut stage = Stage::new(Some(load::sample::dataset(&[
            tokens,
            posts,
            ("candles", &candles),
        ])));
        stage.token = Some(load::sample::address("0x1"));
        let shown = stage.text(&mut PostsView::default(), 140, 20);
        assert!(
            shown.contains("ages as of 2026-01-04 00:00") && shown.contains("    3d  2026-01-01"),
            "{day}\n{shown}"
        );
    }
}

const TOKENS: (&str, &str) = (
    "tokens",
    "token_address,symbol,name,chain\n0x1,A,A,eth\n0x2,B,B,eth",
);

#[test]
fn posts_show_and_filter_why_they_are_about_the_token() {
    let posts = (
        "posts",
        "post_id,token_address,title,published_at,author,platform,matched_by
         a,0x1,first,2026-01-01,anna,farcaster,cashtag
         b,0x1,second,2026-01-02,bob,farcaster,contract
         c,0x1,third,2026-01-03,anna,bluesky,contract",
    );
    let mut stage = Stage::new(Some(load::sample::dataset(&[TOKENS, posts])));
    stage.token = Some(load::sample::address("0x1"));
    let mut view = PostsView::default();
    let text = stage.text(&mut view, 220, 56);
    for says in ["MATCHED", "cashtag", "matched by"] {
        assert!(
            text.to_uppercase().contains(&says.to_uppercase()),
            "{says}: {text}"
        );
    }
    for (filter, expected) in [
        ("matched_by=contract", "cb"),
        ("author=anna", "ca"),
        ("platform=farcaster", "ba"),
        ("author=anna matched_by=contract", "c"),
    ] {
        view.set_filter(filter, &stage.context()).expect("a filter");
        stage.draw(&mut view, 140, 38);
        let found: String = (0..view.window.total())
            .filter_map(|place| Some(view.window.post(place)?.post_id.clone()))
            .collect();
        assert_eq!(found, expected, "{filter}");
    }
    // The column is hidden where no post has a reason.
    let (stage, mut view) = shown::<PostsView>();
    assert!(
        !stage
            .text(&mut view, 220, 56)
            .to_uppercase()
            .contains("MATCHED")
    );
}

#[test]
fn the_record_of_the_authors_is_a_table_of_all_tokens() {
    let mut posts = "post_id,token_address,published_at,author,platform\n".to_owned();
    let mut candles = "token_address,interval,timestamp,open,high,low,close\n".to_owned();
    for day in 0..200_i64 {
        let time = Time((20_000 + day) * DAY_MS);
        let price = 100.0 + (day * 7 % 11) as f64;
        candles += &format!("0x1,1d,{time},{price},{price},{price},{price}\n");
        if day >= 150 {
            posts += &format!("p{day},0x1,{time},anna,farcaster\n");
        }
    }
    let tables = [TOKENS, ("posts", &posts), ("candles", &candles)];
    let mut stage = Stage::new(Some(load::sample::dataset(&tables)));
    stage.token = Some(load::sample::address("0x1"));
    let mut view = PostsView::default();
    stage.draw(&mut view, 140, 38);
    stage.act(&mut view, Action::PostsRecord);
    let text = stage.text(&mut view, 140, 38);
    for says in [
        "track record of the authors",
        "anna",
        "farcaster",
        "1d",
        "7d",
        "too few",
        "Placebo",
    ] {
        assert!(
            text.to_uppercase().contains(&says.to_uppercase()),
            "{says}: {text}"
        );
    }
    let target = view.request(&stage.context()).expect("a request").target;
    assert_eq!(target, "/posts/track-record");
    let exported = view.export(&stage.context()).expect("rows to export");
    let place = exported
        .columns
        .iter()
        .position(|column| column == "meanExcess");
    let excess = exported.values()[0][place.expect("a column")].clone();
    assert!(excess.is_number(), "{excess}");
    stage.act(&mut view, Action::Back);
    assert!(!stage.text(&mut view, 140, 38).contains("Placebo"));
    // Without authors the table says why it is empty.
    let mut stage = Stage::new(Some(market()));
    let mut view = PostsView::default();
    stage.act(&mut view, Action::PostsRecord);
    let text = stage.text(&mut view, 140, 38);
    assert!(text.contains("No post that counts has an author"), "{text}");
}
