//! Posts, people and accounts from social services: what is about a token, from whom it comes, and what is asked again.

use std::{io::Write as _, path::Path};

use model::rows::{AccountRow, PersonRow, SocialPost};
use tokendeck_load::{
    live::TableRefreshReport,
    provider::{Template, built_in},
};

use super::{server::ServiceRequest, *};

const DEGEN: &str = "0x4ed4e862860bed51a9570b96d89af5e1b0efefed";

/// A recorded response; `None` where the shared data is missing.
fn recorded(file: &str) -> Option<String> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/feeds/social");
    let text = fs::read_to_string(shared.join(file)).ok();
    if text.is_none() {
        assert!(
            std::env::var_os("TOKENDECK_SHARED").is_none(),
            "{file} is missing from the shared data"
        );
        writeln!(std::io::stderr(), "skipped: the shared data is missing").ok();
    }
    text
}

/// A dataset with these tokens and accounts, in CSV without their headers, and built-in providers that ask the service.
fn setup(service: &Service, manifest: &str, tokens: &str, accounts: &str) -> Setup {
    let setup = Setup::new(service, manifest);
    let write = |file: &str, header: &str, rows: &str| {
        fs::write(
            setup.folder.path().join(file),
            format!("{header}\n{rows}\n"),
        )
        .expect("written");
    };
    write("tokens.csv", "token_address,symbol,name,chain", tokens);
    if !accounts.is_empty() {
        write(
            "accounts.csv",
            "token_address,platform,account,role",
            accounts,
        );
    }
    let providers = ["neynar", "bluesky", "github"].map(|id| {
        let mut provider = built_in()[id].clone();
        provider.home = Template::parse(&format!("{}/{id}", service.url)).expect("a URL");
        (provider.per_minute, provider.per_second, provider.per_day) = (100_000, None, None);
        (provider.key, provider.origin) = (None, ProviderOrigin::Own);
        (id.to_owned(), provider)
    });
    Setup {
        providers: providers.into(),
        // The first of November 2026, after all recorded posts.
        now: Time(20_758 * DAY_MS),
        ..setup
    }
}

fn refreshed(setup: &Setup, by_hand: bool) -> RefreshReport {
    let dataset = setup.dataset();
    let manifest = fs::read_to_string(setup.folder.path().join("dataset.toml")).expect("text");
    refresh(
        &RefreshContext {
            dataset: setup.folder.path(),
            manifest: &Manifest::parse(&manifest).expect("valid"),
            providers: &setup.providers,
            wire: &setup.wire,
            market: &LiveMarket::of(&dataset),
            rows: Some(&dataset),
            by_hand,
            watchlist: &[],
            now: setup.now,
            watch: Arc::clone(&setup.watch),
        },
        &[],
    )
    .expect("a refresh")
}

fn table<'a>(report: &'a RefreshReport, name: &str) -> &'a TableRefreshReport {
    report
        .tables
        .iter()
        .find(|table| table.table == name)
        .expect("the table")
}

fn posts(setup: &Setup, token: &str) -> Vec<SocialPost> {
    let token = Address::parse(token).expect("an address");
    setup.dataset().posts_of(&token).social().collect()
}

fn matched_by(posts: &[SocialPost]) -> Vec<&str> {
    let mut signs: Vec<&str> = posts
        .iter()
        .map(|post| post.matched_by.as_deref().unwrap_or("none"))
        .collect();
    signs.sort_unstable();
    signs
}

const NEYNAR: &str =
    "[tables.posts]\nprovider = 'neynar'\nhistory = '10y'\n[tables.people]\nprovider = 'neynar'\n";

fn neynar(search: String, channel: String) -> impl FnMut(&ServiceRequest) -> ServiceReply + Send {
    move |request| match request.target.split('?').next() {
        Some("/neynar/cast/search/") => ServiceReply::ok(search.clone()),
        Some("/neynar/feed/channels/") => ServiceReply::ok(channel.clone()),
        _ => ServiceReply::status(404),
    }
}

#[test]
fn posts_around_a_channel_are_about_a_token_only_if_the_channel_is_its_own() {
    let (Some(search), Some(channel)) = (
        recorded("neynar/search-casts.json"),
        recorded("neynar/casts-channel.json"),
    ) else {
        return;
    };
    let service = Service::new(neynar(search, channel));
    let token = format!("{DEGEN},DEGEN,Degen,base");
    let without = setup(&service, NEYNAR, &token, "");
    let report = refreshed(&without, false);
    assert_eq!(table(&report, "posts").failure, None);
    let note = "excluded 6 posts of 6 because nothing in them refers to the token";
    let notes = &table(&report, "posts").notes;
    assert!(notes.iter().any(|found| found == note), "{notes:?}");
    assert!(posts(&without, DEGEN).is_empty());
    assert_eq!(
        without.dataset().people().len(),
        0,
        "nobody wrote a post about it"
    );
    let with = setup(
        &service,
        NEYNAR,
        &token,
        &format!("{DEGEN},farcaster,degencast,channel"),
    );
    refreshed(&with, false);
    let found = posts(&with, DEGEN);
    // The six of the search are among the twenty of the channel, of which two are from outside it.
    assert_eq!(matched_by(&found), ["channel"; 18]);
    assert!(
        found
            .iter()
            .all(|post| post.post_id.starts_with("farcaster:0x") && post.author_id.is_some())
    );
    let reacted: Vec<_> = found.iter().filter_map(|post| post.engagement).collect();
    assert_eq!(reacted.len(), 18, "0 is a number too");
    assert!(!with.dataset().people().is_empty());
}

fn cast(hash: &str, text: &str, likes: &str, more: &str) -> String {
    format!(
        r#"{{"hash":"{hash}","parent_hash":null,"author":{{"fid":7,"username":"ann","follower_count":500}},"text":"{text}","timestamp":"2026-10-30T10:00:00.000Z","reactions":{likes},"replies":{{"count":1}}{more}}}"#
    )
}

fn casts(casts: &[String]) -> String {
    format!(
        r#"{{"result":{{"casts":[{}],"next":{{"cursor":null}}}}}}"#,
        casts.join(",")
    )
}

const LIKES: &str = r#"{"likes_count":3,"recasts_count":null}"#;
const NO_CHANNEL: &str = r#"{"casts":[],"next":{"cursor":null}}"#;

#[test]
fn contracts_in_links_count_and_symbols_alone_do_not() {
    let shout = format!(
        "https://dexscreener.com/base/{}",
        DEGEN.to_uppercase().replace("0X", "0x")
    );
    let service = Service::new(neynar(
        casts(&[
            cast(
                "0x1",
                "look",
                LIKES,
                &format!(r#","embeds":[{{"url":"{shout}"}}]"#),
            ),
            cast("0x2", "$DEGENS US$DEGEN #degen degen", LIKES, ""),
            cast("0x3", "buy $degen.", r#"{"likes_count":null}"#, ""),
        ]),
        NO_CHANNEL.to_owned(),
    ));
    let setup = setup(&service, NEYNAR, &format!("{DEGEN},DEGEN,Degen,base"), "");
    refreshed(&setup, false);
    let found = posts(&setup, DEGEN);
    assert_eq!(matched_by(&found), ["cashtag", "contract"]);
    let engagement = |id: &str| {
        let post = found
            .iter()
            .find(|post| post.post_id == format!("farcaster:{id}"));
        post.and_then(|post| post.engagement)
    };
    assert_eq!(engagement("0x1"), Some(4), "3 likes and a reply");
    assert_eq!(engagement("0x3"), Some(1), "a reply; likes are unknown");
    // A cashtag that two tokens have is a sign of neither, unless the post names the chain.
    let service = Service::new(neynar(
        casts(&[
            cast("0x1", "$PEPE up", LIKES, ""),
            cast("0x2", "$PEPE on base", LIKES, ""),
        ]),
        NO_CHANNEL.to_owned(),
    ));
    let two = self::setup(
        &service,
        NEYNAR,
        &format!("{TOKEN},PEPE,Pepe,eth\n{OTHER},PEPE,Pepe,base"),
        "",
    );
    let report = refreshed(&two, false);
    assert_eq!(posts(&two, TOKEN).len(), 0);
    assert_eq!(posts(&two, OTHER).len(), 1);
    assert!(
        table(&report, "posts").notes.contains(
            &"excluded 1 post of 2 because the cashtag may mean something else".to_owned()
        ),
        "{:?}",
        table(&report, "posts").notes
    );
}

const BOTH: &str = "[tables.posts]\nprovider = ['neynar', 'bluesky', 'github']\nhistory = '10y'\n[tables.people]\nprovider = ['neynar', 'bluesky']\n[tables.follows]\nprovider = ['neynar', 'bluesky']\n[tables.accounts]\nprovider = 'bluesky'\n";

/// Posts of Bluesky: an account's feed, and a profile.
fn bluesky(request: &ServiceRequest) -> ServiceReply {
    let post = |key: &str, reply: &str| {
        format!(
            r#"{{"uri":"at://did:plc:a/app.bsky.feed.post/{key}","author":{{"did":"did:plc:a","handle":"degen.bsky.social","labels":[]}},"record":{{"text":"hello","createdAt":"2026-10-30T12:00:00Z","langs":["en"]{reply}}},"likeCount":2,"repostCount":1,"quoteCount":1,"replyCount":0}}"#
        )
    };
    match request.target.split('?').next() {
        Some("/bluesky/app.bsky.feed.getAuthorFeed") => {
            ServiceReply::ok(format!(r#"{{"feed":[{{"post":{}}}]}}"#, post("k1", "")))
        }
        Some("/bluesky/app.bsky.actor.getProfiles") => ServiceReply::ok(
            r#"{"profiles":[{"did":"did:plc:a","handle":"degen.bsky.social","followersCount":77,"followsCount":3}]}"#,
        ),
        Some("/bluesky/app.bsky.graph.getFollowers") => {
            ServiceReply::ok(r#"{"followers":[{"did":"did:plc:b","handle":"b.bsky.social"}]}"#)
        }
        Some("/github/repos/degen/core/releases") => ServiceReply::ok(
            r#"[{"html_url":"https://github.com/degen/core/releases/tag/v1","name":"v1","published_at":"2026-10-29T00:00:00Z","author":{"login":"dev","id":5}},{"html_url":"https://github.com/degen/core/releases/tag/v2","name":"v2","published_at":null,"author":{"login":"dev","id":5}}]"#,
        ),
        _ => ServiceReply::status(404),
    }
}

#[test]
fn all_services_are_asked_and_the_fault_of_one_does_not_hide_the_rows_of_others() {
    let mut farcaster = neynar(
        casts(&[cast("0x1", "$DEGEN", LIKES, "")]),
        NO_CHANNEL.to_owned(),
    );
    let is_down = Arc::new(AtomicBool::new(false));
    let down = Arc::clone(&is_down);
    let service = Service::new(move |request| match request.target.starts_with("/neynar") {
        true if down.load(Ordering::Relaxed) => ServiceReply::status(402),
        true => farcaster(request),
        false => bluesky(request),
    });
    let setup = setup(
        &service,
        BOTH,
        &format!("{DEGEN},DEGEN,Degen,base"),
        // A URL is the account that it leads to.
        &format!(
            "{DEGEN},web,https://bsky.app/profile/degen.bsky.social,\n{DEGEN},web,https://github.com/degen/core,"
        ),
    );
    let report = refreshed(&setup, false);
    assert_eq!(report.failures().collect::<Vec<_>>(), Vec::<String>::new());
    let found = posts(&setup, DEGEN);
    assert_eq!(matched_by(&found), ["account", "cashtag", "channel"]);
    let bluesky = found
        .iter()
        .find(|post| post.platform.as_deref() == Some("bluesky"))
        .expect("a post");
    assert_eq!(bluesky.engagement, Some(4));
    let dataset = setup.dataset();
    let token = Address::parse(DEGEN).expect("an address");
    let link = dataset
        .posts_of(&token)
        .iter()
        .find_map(|post| post.link.filter(|link| link.contains("bsky")));
    assert_eq!(
        link.as_deref(),
        Some("https://bsky.app/profile/degen.bsky.social/post/k1")
    );
    let account = |row: &&AccountRow| row.platform == "bluesky" && row.followers.is_some();
    let accounts = dataset.accounts_of(&token);
    assert_eq!(
        accounts.iter().find(account).map(|row| row.followers),
        Some(Some(77))
    );
    assert_eq!(dataset.follows().len(), 1);
    let people: Vec<&str> = dataset
        .people()
        .iter()
        .map(|row: &PersonRow| &*row.author_id)
        .collect();
    assert_eq!(people, ["did:plc:a", "did:plc:b", "7"]);
    // One fails: the others' rows come, and the fault is reported.
    is_down.store(true, Ordering::Relaxed);
    let again = Setup {
        now: Time(setup.now.0 + DAY_MS),
        ..setup
    };
    let report = refreshed(&again, false);
    let failure = table(&report, "posts").failure.clone().expect("a failure");
    assert!(failure.starts_with("Farcaster by Neynar"), "{failure}");
    assert_eq!(posts(&again, DEGEN).len(), 3);
}

#[test]
fn a_post_of_the_last_days_is_requested_again_and_its_newer_counts_win() {
    let answer = |likes: u32, old: bool| {
        let likes = format!(r#"{{"likes_count":{likes},"recasts_count":0}}"#);
        let mut posts = vec![cast("0x1", "$DEGEN", &likes, "")];
        if old {
            posts.push(cast("0x2", "$DEGEN", &likes, "").replace("2026-10-30", "2026-10-01"));
        }
        casts(&posts)
    };
    let service = Service::new(neynar(answer(1, true), NO_CHANNEL.to_owned()));
    let mut setup = setup(&service, NEYNAR, &format!("{DEGEN},DEGEN,Degen,base"), "");
    refreshed(&setup, false);
    service.now(neynar(answer(9, false), NO_CHANNEL.to_owned()));
    setup.now = Time(setup.now.0 + 2 * DAY_MS);
    refreshed(&setup, false);
    let mut counts: Vec<_> = posts(&setup, DEGEN)
        .into_iter()
        .map(|post| (post.post_id, post.engagement))
        .collect();
    counts.sort();
    assert_eq!(
        counts,
        [
            ("farcaster:0x1".to_owned(), Some(10)),
            ("farcaster:0x2".to_owned(), Some(2))
        ]
    );
}

#[test]
fn a_search_for_people_runs_only_if_the_user_asks_and_leaves_out_who_does_not_want_it() {
    let Some(body) = recorded("bluesky/search-posts.json") else {
        return;
    };
    let service = Service::new(move |request| {
        if request.target.contains("until=") {
            return ServiceReply::status(403);
        }
        ServiceReply::ok(body.clone())
    });
    let mut setup = setup(
        &service,
        "[tables.posts]\nprovider = 'bluesky'\nhistory = '10y'\n",
        &format!("{TOKEN},RDST,Redistricting,eth"),
        "",
    );
    // The recorded posts are about another subject: here, all count.
    let bluesky = setup.providers.get_mut("bluesky").expect("there");
    for filled in bluesky
        .requests
        .iter_mut()
        .flat_map(|request| &mut request.tables)
    {
        filled.signs = None;
    }
    refreshed(&setup, false);
    assert_eq!(service.asked(), Vec::<String>::new());
    let report = refreshed(&setup, true);
    let asked = service.asked();
    assert!(
        asked.len() == 2 && asked[1].contains("until=20"),
        "{asked:?}"
    );
    assert!(
        table(&report, "posts").failure.is_some(),
        "the second page is refused"
    );
    assert_eq!(
        posts(&setup, TOKEN).len(),
        18,
        "20 posts, two of people who ask not to be shown"
    );
}

#[test]
fn a_deleted_post_loses_its_words_after_two_refreshes_a_day_apart() {
    let is_deleted = Arc::new(AtomicBool::new(false));
    let deleted = Arc::clone(&is_deleted);
    let service = Service::new(move |request| {
        let path = request.target.split('?').next().unwrap_or_default();
        let is_gone = deleted.load(Ordering::Relaxed);
        match path {
            "/bluesky/app.bsky.feed.getPosts" if is_gone => ServiceReply::ok(r#"{"posts":[]}"#),
            "/bluesky/app.bsky.feed.getAuthorFeed" if is_gone => ServiceReply::ok(r#"{"feed":[]}"#),
            "/bluesky/app.bsky.feed.getPosts" => ServiceReply::ok(r#"{"posts":[]}"#),
            _ => bluesky(request),
        }
    });
    let mut setup = setup(
        &service,
        "[tables.posts]\nprovider = 'bluesky'\nhistory = '10y'\n",
        &format!("{DEGEN},DEGEN,Degen,base"),
        &format!("{DEGEN},bluesky,degen.bsky.social,"),
    );
    refreshed(&setup, false);
    is_deleted.store(true, Ordering::Relaxed);
    let token = Address::parse(DEGEN).expect("an address");
    let title = |setup: &Setup| {
        setup
            .dataset()
            .posts_of(&token)
            .get(0)
            .and_then(|post| post.title)
    };
    let start = setup.now.0;
    for (hours, expected) in [(1, Some("hello")), (20, Some("hello")), (26, None)] {
        setup.now = Time(start + hours * DAY_MS / 24);
        let report = refreshed(&setup, false);
        assert_eq!(title(&setup).as_deref(), expected, "after {hours} h");
        let notes = &table(&report, "posts").notes;
        let is_told =
            notes.contains(&"deleted the texts of 1 post that no longer exist".to_owned());
        assert_eq!(is_told, expected.is_none(), "{notes:?}");
    }
    let posts = posts(&setup, DEGEN);
    assert!(posts[0].gone_at.is_some() && posts[0].author.is_none());
    assert_eq!(posts[0].engagement, Some(4), "its counts stay");
    let before = setup.dataset().known_at(Time(start)).expect("cut");
    let post = before.posts_of(&token).social().next().expect("a post");
    assert!(
        post.gone_at.is_none() && post.author.is_none(),
        "as of before, it counts, without words"
    );
}

#[test]
fn people_of_an_earlier_day_are_as_they_were_seen_then() {
    let answer = |followers: &str| {
        let post = cast("0x1", "$DEGEN", LIKES, "").replace("500", followers);
        neynar(casts(&[post]), NO_CHANNEL.to_owned())
    };
    let service = Service::new(answer("500"));
    let mut setup = setup(&service, NEYNAR, &format!("{DEGEN},DEGEN,Degen,base"), "");
    refreshed(&setup, false);
    service.now(answer("900"));
    setup.now = Time(setup.now.0 + 2 * DAY_MS);
    refreshed(&setup, false);
    let now = setup.dataset();
    let before = now.known_at(Time(setup.now.0 - DAY_MS)).expect("cut");
    let followers = [&now, &before].map(|dataset| dataset.people()[0].followers);
    assert_eq!(followers, [Some(900), Some(500)]);
}

#[test]
fn a_forgotten_person_does_not_come_back_and_a_bot_does_not_count() {
    let casts = casts(&[
        cast("0x1", "$DEGEN", LIKES, ""),
        cast("0x2", "$DEGEN up", LIKES, "")
            .replace("\"fid\":7", "\"fid\":8,\"score\":0.29")
            .replace("ann", "bob"),
        cast("0x3", "$DEGEN up", LIKES, "")
            .replace("\"fid\":7", "\"fid\":9,\"score\":0.3")
            .replace("ann", "eve"),
    ]);
    let service = Service::new(neynar(casts, NO_CHANNEL.to_owned()));
    let mut setup = setup(&service, NEYNAR, &format!("{DEGEN},DEGEN,Degen,base"), "");
    refreshed(&setup, false);
    let dropped = |setup: &Setup| {
        let mut posts: Vec<_> = posts(setup, DEGEN)
            .into_iter()
            .map(|post| (post.post_id, post.author, post.dropped))
            .collect();
        posts.sort();
        posts
    };
    let row = |id: &str, author: Option<&str>, dropped: Option<&str>| {
        (
            format!("farcaster:{id}"),
            author.map(str::to_owned),
            dropped.map(str::to_owned),
        )
    };
    assert_eq!(
        dropped(&setup),
        [
            row("0x1", Some("ann"), None),
            row("0x2", Some("bob"), Some("low_score")),
            row("0x3", Some("eve"), None)
        ]
    );
    tokendeck_load::live::forget::forget(setup.folder.path(), "@Ann").expect("forgotten");
    setup.now = Time(setup.now.0 + DAY_MS);
    refreshed(&setup, false);
    assert_eq!(dropped(&setup)[0], row("0x1", None, None));
    assert!(
        setup
            .dataset()
            .people()
            .iter()
            .all(|row| row.author_id != "7")
    );
}

#[test]
fn the_language_of_providers_can_ask_for_reactions_and_holders() {
    let text = r#"
        home = "HOME"
        per_minute = 10000
        platform = "farcaster"
        [[request]]
        name = "reactions"
        fills = "reactions"
        each = "post"
        most = 1
        path = "/reactions/cast/"
        query = { hash = "{post}", gql = "{{ a }}" }
        rows = "reactions"
        set = { platform = "farcaster", post_id = "farcaster:{post}" }
        columns = { author_id = "user.fid", kind = "reaction_type", at = "reaction_timestamp" }
        [[request]]
        name = "holders"
        fills = "people"
        each = "holder"
        batch = 350
        path = "/user/bulk-by-address/"
        query = { addresses = "{holders}" }
        rows = "*"
        set = { platform = "farcaster" }
        columns = { author_id = "fid", handle = "username", wallets = "verified_addresses.eth_addresses" }
    "#;
    let service = Service::new(|request| match request.target.split('?').next() {
        Some("/reactions/cast/") => ServiceReply::ok(
            r#"{"reactions":[{"reaction_type":"like","reaction_timestamp":"2026-10-30T12:00:00Z","user":{"fid":9}}]}"#,
        ),
        Some("/user/bulk-by-address/") => ServiceReply::ok(format!(
            r#"{{"{OTHER}":[{{"fid":9,"username":"bob","verified_addresses":{{"eth_addresses":["{OTHER}"]}}}}]}}"#
        )),
        _ => ServiceReply::status(404),
    });
    let mut setup = setup(
        &service,
        "[tables.reactions]\nprovider = 'far'\n[tables.people]\nprovider = 'far'\n",
        &format!("{TOKEN},A,A,eth"),
        "",
    );
    setup.providers.insert(
        "far".to_owned(),
        provider("far", text, &service.url, ProviderOrigin::Own),
    );
    let write = |file: &str, text: String| {
        fs::write(setup.folder.path().join(file), text).expect("written");
    };
    write(
        "posts.csv",
        format!(
            "post_id,token_address,published_at,platform,engagement\nfarcaster:0xa,{TOKEN},2026-10-01T00:00:00Z,farcaster,5\n\
             farcaster:0xb,{TOKEN},2026-10-01T00:00:00Z,farcaster,6\nbluesky:c,{TOKEN},2026-10-01T00:00:00Z,bluesky,7\n"
        ),
    );
    write(
        "holders.csv",
        format!("token_address,holder_address,balance\n{TOKEN},{OTHER},5\n"),
    );
    refreshed(&setup, false);
    let asked = service.asked();
    assert_eq!(
        asked,
        [
            format!("/user/bulk-by-address/?addresses={OTHER}"),
            "/reactions/cast/?hash=0xb&gql=%7B+a+%7D".to_owned(),
        ]
    );
    let dataset = setup.dataset();
    let reactions: Vec<_> = dataset
        .reactions()
        .iter()
        .map(|row| (&*row.post_id, &*row.author_id, &*row.kind))
        .collect();
    assert_eq!(reactions, [("farcaster:0xb", "9", "like")]);
    assert_eq!(
        dataset.people()[0].wallets,
        [Address::parse(OTHER).expect("an address")]
    );
}

#[test]
fn a_cursor_that_the_request_does_not_use_ends_the_pages_with_a_note() {
    let text = r#"
        home = "HOME"
        per_minute = 10000
        platform = "far"
        chains = { eth = "eth" }
        [[request]]
        name = "list"
        fills = "posts"
        each = "token"
        path = "/posts"
        rows = "posts"
        match = "any"
        columns = { post_id = "id", published_at = "at" }
        next = { cursor = "next" }
    "#;
    let service = Service::new(|_| {
        ServiceReply::ok(r#"{"posts":[{"id":"1","at":"2026-10-01T00:00:00Z"}],"next":"abc"}"#)
    });
    let mut setup = setup(
        &service,
        "[tables.posts]\nprovider = 'far'\n",
        &format!("{TOKEN},A,A,eth"),
        "",
    );
    setup.providers.insert(
        "far".to_owned(),
        provider("far", text, &service.url, ProviderOrigin::Own),
    );
    let report = refreshed(&setup, false);
    assert_eq!(service.asked(), ["/posts"]);
    assert_eq!(
        table(&report, "posts").notes,
        [
            "the request `list` does not use the placeholder of `next`, so only its first page was fetched"
        ]
    );
    assert_eq!(posts(&setup, TOKEN).len(), 1);
}

#[test]
fn a_repository_in_a_path_leads_nowhere_else() {
    let service = Service::new(|_| ServiceReply::ok("[]"));
    let setup = setup(
        &service,
        "[tables.posts]\nprovider = 'github'\n",
        &format!("{TOKEN},A,A,eth"),
        &format!("{TOKEN},github,../../user,repo\n{TOKEN},github,a/b?c,repo"),
    );
    refreshed(&setup, false);
    assert_eq!(
        service.asked(),
        ["/github/repos/a/b%3Fc/releases?per_page=30"]
    );
}
