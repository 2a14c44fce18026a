//! Posts as they are written, and the sign by which each is about a token.

use super::{
    MatchOutcome::{Ambiguous, Matched, Unrelated},
    MatchedBy::{Account, Cashtag, Channel, Contract, Mention},
    *,
};

const DEGEN: &str = "0x4ed4e862860bed51a9570b96d89af5e1b0efefed";
const PEPE: &str = "0x6982508145454ce325ddbe47a25d4ec3d2311933";
const OTHER_PEPE: &str = "0x52b492a33e447cdb854c7fc19f1e57e8bfa1777d";

fn address(text: &str) -> Address {
    Address::parse(text).expect("an address")
}

fn token(at: &str, symbol: &str, name: &str, chain: &str) -> MatchToken {
    MatchToken {
        address: address(at),
        symbol: Some(symbol.to_owned()),
        name: Some(name.to_owned()),
        chains: vec![Chain::parse(chain).expect("a chain")],
        listed: false,
    }
}

fn degen() -> MatchToken {
    token(DEGEN, "DEGEN", "Degen", "base")
}

fn account(platform: &str, account: &str, id: Option<&str>, role: Option<&str>) -> AccountRow {
    AccountRow {
        token_address: address(DEGEN),
        platform: platform.to_owned(),
        account: account.to_owned(),
        account_id: id.map(str::to_owned),
        role: role.map(str::to_owned),
        followers: None,
        as_of: None,
        source: None,
    }
}

fn text(text: &str) -> PostTexts<'_> {
    PostTexts {
        texts: vec![text],
        platform: "farcaster",
        is_top_level: true,
        ..PostTexts::default()
    }
}

fn check(tokens: &[MatchToken], wanted: &str, cases: &[(&str, MatchOutcome)]) {
    let matcher = Matcher::new(tokens, &[]);
    for (post, outcome) in cases {
        assert_eq!(
            matcher.matched(&address(wanted), &text(post)),
            *outcome,
            "{post}"
        );
    }
}

#[test]
fn a_cashtag_is_a_word_of_its_own() {
    check(
        &[degen()],
        DEGEN,
        &[
            ("$DEGEN", Matched(Cashtag)),
            ("gm $degen", Matched(Cashtag)),
            ("($Degen)", Matched(Cashtag)),
            ("sold my $DEGEN.", Matched(Cashtag)),
            ("$DEGEN's chart", Matched(Cashtag)),
            ("#$DEGEN/$ETH", Matched(Cashtag)),
            ("\u{1f3a9}$DEGEN\u{1f3a9}", Matched(Cashtag)),
            ("買$DEGEN", Unrelated),
            ("$DEGENS", Unrelated),
            ("$DEGEN_X", Unrelated),
            ("$DEGEN-X", Unrelated),
            ("$DEGEN\u{301}", Unrelated),
            ("US$DEGEN", Unrelated),
            ("$$DEGEN", Unrelated),
            ("#degen", Unrelated),
            ("degen", Unrelated),
            ("Degen on Base", Unrelated),
            ("$ DEGEN", Unrelated),
            ("$", Unrelated),
            ("", Unrelated),
        ],
    );
}

#[test]
fn letters_that_only_look_alike_are_others() {
    check(
        &[degen()],
        DEGEN,
        &[
            ("$D\u{415}GEN", Unrelated),
            ("\u{ff04}DEGEN", Unrelated),
            ("$\u{ff24}EGEN", Unrelated),
            ("$DE\u{200b}GEN", Unrelated),
        ],
    );
    let kelvin = [token(DEGEN, "KISS", "Kiss token", "base")];
    check(
        &kelvin,
        DEGEN,
        &[("$\u{212a}ISS", Unrelated), ("$kiss", Matched(Cashtag))],
    );
    let umlaut = [token(DEGEN, "MÜLL", "", "base")];
    check(
        &umlaut,
        DEGEN,
        &[("$müll", Matched(Cashtag)), ("$mull", Unrelated)],
    );
}

#[test]
fn a_short_symbol_a_share_or_a_currency_needs_another_sign() {
    for (symbol, chain) in [
        ("F", "base"),
        ("AI", "base"),
        ("C98", "base"),
        ("TSLA", "base"),
        ("eur", "base"),
    ] {
        let alone = format!("buying ${symbol}");
        let named = format!("buying ${symbol}, the Famous coin");
        let on_chain = format!("buying ${symbol} on base");
        check(
            &[token(DEGEN, symbol, "Famous", chain)],
            DEGEN,
            &[
                (alone.as_str(), Ambiguous),
                (named.as_str(), Matched(Cashtag)),
                (on_chain.as_str(), Matched(Cashtag)),
            ],
        );
    }
    check(
        &[token(DEGEN, "FUN", "F", "base")],
        DEGEN,
        &[("$FUN", Matched(Cashtag))],
    );
    check(
        &[token(DEGEN, "100", "Hundred", "base")],
        DEGEN,
        &[("for $100", Ambiguous)],
    );
    check(
        &[token(DEGEN, "$WIF", "", "base")],
        DEGEN,
        &[("$WIF", Matched(Cashtag))],
    );
    // A name that is the symbol tells nothing more.
    check(
        &[token(DEGEN, "TSLA", "Tsla", "eth")],
        DEGEN,
        &[("TSLA! $TSLA", Ambiguous)],
    );
}

#[test]
fn of_tokens_with_one_symbol_the_listed_or_the_named_one_is_meant() {
    let tokens = |listed| {
        let first = MatchToken {
            listed,
            ..token(PEPE, "PEPE", "Pepe", "eth")
        };
        [first, token(OTHER_PEPE, "pepe", "Pepe", "base")]
    };
    check(
        &tokens(false),
        PEPE,
        &[
            ("$PEPE", Ambiguous),
            ("Pepe $PEPE", Ambiguous),
            ("$PEPE on Base", Ambiguous),
            ("$PEPE on Ethereum", Matched(Cashtag)),
            ("$PEPE on eth", Matched(Cashtag)),
            ("$PEPE up, eth down", Ambiguous),
        ],
    );
    check(
        &tokens(false),
        OTHER_PEPE,
        &[
            ("$PEPE", Ambiguous),
            ("$pepe (Base)", Matched(Cashtag)),
            ("$PEPE on base", Matched(Cashtag)),
            ("$PEPE https://dexscreener.com/base/abc", Matched(Cashtag)),
            ("$PEPE #base", Matched(Cashtag)),
            ("$PEPE has a strong base here", Ambiguous),
            ("$PEPE database chain", Ambiguous),
        ],
    );
    let elsewhere = format!("$PEPE {OTHER_PEPE}");
    check(
        &tokens(true),
        PEPE,
        &[
            ("$PEPE", Matched(Cashtag)),
            ("$PEPE on Base", Ambiguous),
            (elsewhere.as_str(), Ambiguous),
        ],
    );
    check(
        &tokens(true),
        OTHER_PEPE,
        &[
            ("$PEPE", Ambiguous),
            (elsewhere.as_str(), Matched(Contract)),
        ],
    );
    let mut both = tokens(true);
    both[1].listed = true;
    check(&both, PEPE, &[("$PEPE", Ambiguous)]);
}

#[test]
fn a_contract_counts_in_any_case_and_in_urls_but_not_inside_a_longer_number() {
    let upper = DEGEN.to_uppercase();
    let hash = format!("https://basescan.org/tx/{DEGEN}0123456789abcdef01234567");
    let padded = format!("0x000000000000000000000000{}", &DEGEN[2..]);
    let cases = [
        (DEGEN.to_owned(), true),
        (upper.clone(), true),
        (upper.replace("0X", "0x"), true),
        (format!("https://basescan.org/token/{upper}?a=1"), true),
        (format!("https://dexscreener.com/base/{DEGEN}"), true),
        (format!("CA:{DEGEN}."), true),
        (format!("{PEPE}{DEGEN}"), true),
        (format!("{DEGEN} {PEPE}"), true),
        (format!("ü{DEGEN}ü"), true),
        (hash, false),
        (padded, false),
        (format!("{DEGEN}a"), false),
        (DEGEN[..41].to_owned(), false),
        (DEGEN[2..].to_owned(), false),
        (PEPE.to_owned(), false),
    ];
    for (post, is_about) in cases {
        let outcome = if is_about {
            Matched(Contract)
        } else {
            Unrelated
        };
        check(&[degen()], DEGEN, &[(post.as_str(), outcome)]);
    }
}

#[test]
fn own_accounts_write_are_named_and_have_places() {
    let accounts = [
        account("farcaster", "@DegenTips", Some("15983"), None),
        account("x", "https://x.com/degentokenbase", None, Some("project")),
        account(
            "farcaster",
            "degencast",
            Some("https://warpcast.com/~/channel/degen-old"),
            Some("channel"),
        ),
        account(
            "github",
            "https://github.com/degen-xyz/contracts",
            None,
            Some("repo"),
        ),
        account("rss", "https://blog.degen.tips/feed", None, Some("feed")),
        account(
            "snapshot",
            "https://snapshot.org/#/degen.eth",
            None,
            Some("space"),
        ),
    ];
    let matcher = Matcher::new(&[degen()], &accounts);
    let on = |platform| PostTexts {
        platform,
        is_top_level: true,
        ..text("gm")
    };
    let by = |name| PostTexts {
        author: Some(name),
        ..on("farcaster")
    };
    let says = |words| PostTexts {
        texts: vec![words],
        ..on("farcaster")
    };
    let place = |platform, channel| PostTexts {
        channel: Some(channel),
        ..on(platform)
    };
    let cases = [
        (by("degentips"), Matched(Account)),
        (
            PostTexts {
                author_id: Some("15983"),
                ..on("farcaster")
            },
            Matched(Account),
        ),
        (
            PostTexts {
                platform: "X",
                ..by("DegenTokenBase")
            },
            Matched(Account),
        ),
        (
            PostTexts {
                platform: "bluesky",
                ..by("degentips")
            },
            Unrelated,
        ),
        (by("degencast"), Unrelated),
        (by(""), Unrelated),
        (
            PostTexts {
                mentions: vec!["1", "15983"],
                ..on("farcaster")
            },
            Matched(Mention),
        ),
        (
            PostTexts {
                mentions: vec!["159830"],
                ..on("farcaster")
            },
            Unrelated,
        ),
        (says("thanks @degentips."), Matched(Mention)),
        (says("@degentips.eth"), Unrelated),
        (says("me@degentips"), Unrelated),
        (says("https://medium.com/@degentips"), Unrelated),
        (place("farcaster", "degencast"), Matched(Channel)),
        (
            place("farcaster", "https://warpcast.com/~/channel/degencast"),
            Matched(Channel),
        ),
        (place("farcaster", "degen-old"), Matched(Channel)),
        (
            PostTexts {
                is_top_level: false,
                ..place("farcaster", "degencast")
            },
            Unrelated,
        ),
        (place("farcaster", "warpcast"), Unrelated),
        (place("bluesky", "degencast"), Unrelated),
        (place("github", "degen-xyz/contracts"), Matched(Channel)),
        (place("github", "other/contracts"), Unrelated),
        (
            place("rss", "https://blog.degen.tips/feed"),
            Matched(Channel),
        ),
        (place("rss", "https://blog.other.tips/feed"), Unrelated),
        (place("snapshot", "degen.eth"), Matched(Channel)),
    ];
    for (post, outcome) in cases {
        assert_eq!(matcher.matched(&address(DEGEN), &post), outcome, "{post:?}");
    }
    // The first sign in the order of the list.
    let all = format!("{DEGEN} $DEGEN @degentips");
    let post = PostTexts {
        texts: vec![&all],
        ..by("degentips")
    };
    assert_eq!(matcher.matched(&address(DEGEN), &post), Matched(Contract));
    let post = PostTexts {
        texts: vec!["$DEGEN @degentips"],
        ..by("degentips")
    };
    assert_eq!(matcher.matched(&address(DEGEN), &post), Matched(Account));
    // A token outside the dataset.
    assert_eq!(matcher.matched(&address(PEPE), &by("degentips")), Unrelated);
}

#[test]
fn six_cashtags_or_four_contracts_are_a_list() {
    let tags =
        |count: usize| ["$AA", "$BB", "$CC", "$DD", "$EE", "$FF", "$100", "$aa"][..count].join(" ");
    assert!(!is_list(&[&tags(5)]) && is_list(&[&tags(6)]));
    assert!(!is_list(&[&tags(5), "$100 $5k $aa $Bb US$X $GG-1"]) && is_list(&[&tags(5), "$1 $GG"]));
    let contracts = |count: usize| {
        (0..count)
            .map(|i| format!("0x{i:040x}"))
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert!(!is_list(&[&contracts(3), &contracts(3)]) && is_list(&[&contracts(4)]));
}

#[test]
fn a_hostile_text_is_read_in_part_and_never_panics() {
    let fill = "é".repeat(TEXT_BYTES_MAX / 2 - 5);
    let near = format!("{fill} $DEGEN {}", "x".repeat(1 << 20));
    let far = format!("{fill}aaaaa $DEGEN");
    check(
        &[degen()],
        DEGEN,
        &[(near.as_str(), Matched(Cashtag)), (far.as_str(), Unrelated)],
    );
    for odd in [
        "$".repeat(1 << 20),
        "0x".repeat(1 << 19),
        "$DEGE".repeat(200_000),
        "on ".repeat(400_000),
    ] {
        check(&[degen()], DEGEN, &[(odd.as_str(), Unrelated)]);
        is_list(&[odd.as_str()]);
    }
    let many = vec![""; 1 << 20];
    let post = PostTexts {
        texts: many,
        ..text("")
    };
    assert_eq!(
        Matcher::new(&[degen()], &[]).matched(&address(DEGEN), &post),
        Unrelated
    );
    let long = "A".repeat(1 << 20);
    check(
        &[token(DEGEN, &long, &long, "base")],
        DEGEN,
        &[("$A", Unrelated)],
    );
}

#[test]
fn the_list_of_other_cashtags_is_upper_case_and_names_what_posts_name() {
    let words: Vec<&str> = OTHER_CASHTAGS
        .lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::split_whitespace)
        .collect();
    assert!(
        words
            .iter()
            .all(|word| word.bytes().all(|b| b.is_ascii_uppercase())),
        "{words:?}"
    );
    for word in ["TSLA", "GME", "USD", "CASH", "SPY"] {
        assert!(words.contains(&word), "{word}");
    }
    for word in ["PEPE", "DEGEN", "LINK", "USDC", "ETH"] {
        assert!(!words.contains(&word), "{word}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_has_an_outcome(words in ".{0,200}", symbol in ".{0,10}") {
        let token = MatchToken { symbol: Some(symbol.clone()), name: Some(words.clone()), ..degen() };
        let matcher = Matcher::new(&[token], &[account("farcaster", &symbol, Some(&words), None)]);
        matcher.matched(&address(DEGEN), &PostTexts { mentions: vec![&words], channel: Some(&words), ..text(&words) });
        is_list(&[&words]);
    }
}
