//! Tests of the social metrics: each rule with a case in which it withholds a number, and one in which the number must come.

use crate::{
    market::Market,
    social::{
        SocialBound, SocialDetail,
        SocialGap::{self, NoAccounts, NoHolders, NoLeaders, NoPosts},
        SocialMetric, SocialSource,
    },
    token::{Thresholds, TokenDetail, detail},
};
use load::sample;

type Tables<'a> = &'a [(&'a str, &'a str)];

const TOKENS: (&str, &str) = (
    "tokens",
    "token_address,symbol,name,chain,price\n0x1,ONE,One,eth,1",
);
const POST_COLUMNS: &str = "token_address,post_id,platform,author_id,author,published_at,engagement,impressions,smart_engagement,dropped,gone_at";

fn of(tables: Tables<'_>) -> (TokenDetail, SocialDetail) {
    let has_tokens = tables.iter().any(|(name, _)| *name == "tokens");
    let own: Tables<'_> = if has_tokens { &[] } else { &[TOKENS] };
    let dataset = sample::dataset(&[own, tables].concat());
    let market = Market::new(&dataset);
    let thresholds = Thresholds {
        whale_usd: 100_000.0,
        medium_usd: 10_000.0,
        whale_change_percent: 1.0,
    };
    let mut detail = detail(
        &dataset,
        &dataset.tokens()[0],
        &market.tokens[0],
        thresholds,
        None,
    );
    let social = *detail.social.take().expect("the basis of the metrics");
    (detail, social)
}

/// Value, bound and reason.
fn read(metric: SocialMetric) -> (Option<i64>, Option<SocialBound>, Option<SocialGap>) {
    (metric.value, metric.bound, metric.gap)
}

fn posts(rows: &str) -> String {
    format!("{POST_COLUMNS}\n{rows}")
}

#[test]
fn smart_followers_are_those_listed_at_least_unless_the_list_is_whole() {
    let people = "platform,author_id,handle,score,wallets
        f,1,a,0.9,0xa1
        f,2,b,0.8999,
        f,3,c,,
        g,1,a,0.95,0xa1;0xa2";
    let unscored = "platform,author_id,handle,score\nf,1,a,\nf,2,b,";
    let account = |count| {
        format!("token_address,platform,account,account_id,followers\n0x1,f,one,77,{count}")
    };
    let both = "platform,account,follower_id\nf,77,1\nf,one,1\nf,one,2\nf,one,3\nf,other,2";
    let stranger = "platform,account,follower_id\nf,77,1\nf,77,9";
    let at_least = Some(SocialBound::AtLeast);
    for (accounts, follows, people, expected) in [
        (account("3"), both, people, (Some(1), None, None)),
        (account("4"), both, people, (Some(1), at_least, None)),
        (account(""), both, people, (Some(1), at_least, None)),
        // A follower who is not in `people` may be smart.
        (account("2"), stranger, people, (Some(1), at_least, None)),
        (
            account("3"),
            both,
            unscored,
            (None, None, Some(SocialGap::NoScores)),
        ),
        (
            account("3"),
            "platform,account,follower_id\nf,other,1",
            people,
            (None, None, Some(SocialGap::NoFollows)),
        ),
        (
            account("3"),
            "platform,account,follower_id\nf,77,9",
            people,
            (None, None, Some(SocialGap::NoPeople)),
        ),
        // One person, by the wallet, who follows on two platforms.
        (
            account("2") + "\n0x1,g,uno,,1",
            "platform,account,follower_id\nf,77,1\nf,77,2\ng,uno,1",
            people,
            (Some(1), None, None),
        ),
    ] {
        let (_, social) = of(&[
            ("accounts", &accounts),
            ("follows", follows),
            ("people", people),
        ]);
        assert_eq!(
            read(social.metrics.smart_followers),
            expected,
            "{accounts}, {follows}"
        );
    }
    let (_, social) = of(&[("follows", both), ("people", people)]);
    assert_eq!(
        social.metrics.smart_followers.gap,
        Some(SocialGap::NoAccounts)
    );
}

#[test]
fn each_rule_counts_by_its_own_rows() {
    let base = [
        ("accounts", "token_address,platform,account\n0x1,f,one"),
        ("follows", "platform,account,follower_id\nf,one,1\nf,one,2"),
        (
            "people",
            "platform,author_id,handle,score,wallets\nf,1,a,0.1,0xa1;0xa2\nf,2,b,0.95,0xa3",
        ),
    ];
    let holders =
        "token_address,holder_address,balance\n0x1,0xa1,6000\n0x1,0xa2,4000\n0x1,0xa3,9999";
    let labels = "address,label\n0xa2,Smart\n0xa3,exchange";
    for (rule, more, expected) in [
        ("score", ("labels", labels), Ok(1)),
        ("holder", ("holders", holders), Ok(1)),
        ("holder", ("labels", labels), Err(SocialGap::NoHolders)),
        ("list", ("labels", labels), Ok(1)),
        ("list", ("holders", holders), Err(SocialGap::NoLabels)),
    ] {
        let manifest = format!("social = {{ smart = \"{rule}\" }}");
        let (_, social) = of(&[&base[..], &[more, ("dataset.toml", &manifest)]].concat());
        let found = social.metrics.smart_followers;
        assert_eq!(
            found.value.ok_or(found.gap),
            expected.map_err(Some),
            "{rule} with {}",
            more.0
        );
        assert_eq!(social.smart_rule, rule);
    }
}

#[test]
fn followers_are_those_of_the_largest_account_of_each_platform() {
    let people = "platform,author_id,handle,followers\nf,77,one,30";
    for (rows, expected) in [
        ("0x1,x,one,,100\n0x1,x,two,,40\n0x1,g,one,,5", Ok(105)),
        // Without a number in `accounts`, that of the person.
        ("0x1,f,one,77,\n0x1,x,one,,1", Ok(31)),
        ("0x1,x,one,,", Err(SocialGap::NoFollowerCounts)),
        ("0x2,x,one,,9", Err(SocialGap::NoAccounts)),
    ] {
        let accounts = format!("token_address,platform,account,account_id,followers\n{rows}");
        let (detail, social) = of(&[("accounts", &accounts), ("people", people)]);
        let found = social.metrics.followers;
        assert_eq!(
            detail.followers.ok_or(found.gap),
            expected.map_err(Some),
            "{rows}"
        );
    }
}

#[test]
fn a_person_with_two_wallets_is_one_holder_and_nobody_is_zero_only_with_the_rows() {
    let people = "platform,author_id,handle,score,wallets
        f,1,a,0.95,0xa1;0xa2
        f,2,b,0.95,0xa3
        g,9,b,0.95,0xa3
        f,3,c,0.1,0xa4";
    let nobody = "platform,author_id,handle,score,wallets\nf,1,a,0.1,0xa1";
    // 0xcc is the address of custody, which nobody verified.
    let holders = "token_address,holder_address,balance
        0x1,0xa1,6000\n0x1,0xa2,5000\n0x1,0xa3,100000\n0x1,0xa4,9e9\n0x1,0xcc,9e9";
    let kols =
        "token_address,kol_address,handle,followers,engagement_rate\n0x1,0xa2,a,,\n0x1,0xa4,c,,";
    let unpriced = "token_address,symbol,name,chain\n0x1,ONE,One,eth";
    let cases: &[(Tables<'_>, _, _)] = &[
        (
            &[("people", people), ("holders", holders)],
            [Some(1), Some(1), Some(0)],
            None,
        ),
        // A leader's wallet may be one of a person's.
        (
            &[("people", people), ("holders", holders), ("kols", kols)],
            [Some(2), Some(1), Some(0)],
            None,
        ),
        (
            &[("people", nobody), ("holders", holders)],
            [Some(0); 3],
            None,
        ),
        (&[("people", people)], [None; 3], Some(SocialGap::NoHolders)),
        (
            &[
                ("tokens", unpriced),
                ("people", people),
                ("holders", holders),
            ],
            [None; 3],
            Some(SocialGap::NoPrice),
        ),
        (
            &[("holders", holders)],
            [None; 3],
            Some(SocialGap::NoPeople),
        ),
    ];
    for (tables, expected, gap) in cases {
        let (detail, social) = of(tables);
        let found = detail.smart_follower_distribution;
        let found = [
            found.whale_holders,
            found.medium_holders,
            found.small_holders,
        ];
        assert_eq!(
            (found, social.metrics.smart_follower_distribution.gap),
            (*expected, *gap),
            "{tables:?}"
        );
    }
}

#[test]
fn smart_engagement_is_counted_where_reactions_are_listed_and_without_the_author() {
    let rows = "0x1,p1,f,1,a,2026-01-02,60,,,,\n0x1,p2,f,2,b,2026-01-01,40,,,,\n0x1,p3,f,2,b,2026-01-01,0,,,,";
    let people =
        "platform,author_id,handle,score,followers\nf,1,a,0.95,500\nf,2,b,0.1,7\nf,3,c,0.9,50";
    // The author likes the post; c likes and reposts it; b is not smart; nobody knows 9.
    let reactions = "platform,post_id,author_id,kind
        f,p1,1,like\nf,p1,2,like\nf,p1,3,like\nf,p1,3,repost\nf,p2,9,like";
    let posts = posts(rows);
    let (detail, social) = of(&[
        ("posts", &posts),
        ("people", people),
        ("reactions", reactions),
    ]);
    assert_eq!(
        read(social.metrics.smart_engagement),
        (Some(1), Some(SocialBound::AtLeast), None)
    );
    assert_eq!(social.reaction_coverage, Some(0.6));
    let found: Vec<_> = detail
        .top_posts
        .iter()
        .map(|post| (&*post.post_id, post.smart_engagement))
        .collect();
    assert_eq!(found, [("p1", Some(1)), ("p2", None), ("p3", None)]);
    // Followers of the author and of the reposter, who may overlap.
    assert_eq!(
        read(social.metrics.smart_reach),
        (Some(550), Some(SocialBound::AtMost), None)
    );
    let uncounted = "platform,author_id,handle,score,followers\nf,1,a,0.95,\nf,2,b,0.1,7";
    let unscored = "platform,author_id,handle,score,followers\nf,1,a,,500";
    for (tables, engagement, reach) in [
        (
            &[("people", uncounted)][..],
            SocialGap::NoReactions,
            SocialGap::FollowersUnknown,
        ),
        (
            &[("people", unscored), ("reactions", reactions)],
            SocialGap::NoScores,
            SocialGap::NoScores,
        ),
        (&[], SocialGap::NoReactions, SocialGap::NoPeople),
    ] {
        let (_, social) = of(&[&[("posts", &*posts)][..], tables].concat());
        let metrics = social.metrics;
        assert_eq!(
            read(metrics.smart_engagement),
            (None, None, Some(engagement))
        );
        assert_eq!(read(metrics.smart_reach), (None, None, Some(reach)));
        assert_eq!(
            read(metrics.impressions),
            (None, None, Some(SocialGap::NotPublished))
        );
        assert_eq!(read(metrics.post_engagement), (Some(100), None, None));
    }
}

#[test]
fn leaders_have_two_posts_on_two_days_and_a_verified_wallet() {
    // steady and small qualify; one has a single viral post, day two posts of one day, bare no wallet; own is the project.
    let rows = "0x1,1,f,1,steady,2026-01-01,30,,,,\n0x1,2,f,1,steady,2026-01-02T10:00:00Z,10,,,,
        0x1,3,f,2,viral,2026-01-02,9999,,,,
        0x1,4,f,3,day,2026-01-02,50,,,,\n0x1,5,f,3,day,2026-01-02T23:59:59Z,50,,,,
        0x1,6,f,4,bare,2026-01-01,50,,,,\n0x1,7,f,4,bare,2026-01-02,50,,,,
        0x1,8,f,5,small,2026-01-01,3,,,,\n0x1,9,f,5,small,2026-01-02,,,,,
        0x1,10,f,6,own,2026-01-01,70,,,,\n0x1,11,f,6,own,2026-01-02,70,,,,
        0x1,12,f,7,hundred,2026-01-01,1,,,,\n0x1,13,f,7,hundred,2026-01-02,1,,,,";
    let people = "platform,author_id,handle,followers,wallets
        f,1,steady,200,0xa1;0xa2\nf,2,viral,9,0xa3\nf,3,day,9,0xa4\nf,4,bare,9,\nf,5,small,99,0xa5\nf,6,own,9,0xa6\nf,7,hundred,100,0xa7;0xa8";
    let accounts = "token_address,platform,account\n0x1,f,@OWN\n0x1,g,steady";
    let holders = "token_address,holder_address,balance\n0x1,0xa2,5";
    let posts = posts(rows);
    let tables = [
        ("posts", &*posts),
        ("people", people),
        ("accounts", accounts),
        ("holders", holders),
    ];
    let (detail, social) = of(&tables);
    let leaders: Vec<_> = detail
        .top_kols
        .iter()
        .map(|kol| (kol.handle.as_deref(), kol.kol_address, kol.engagement_rate))
        .collect();
    assert_eq!(
        leaders,
        [
            // The wallet with most of the token; otherwise the first.
            (Some("steady"), sample::address("0xa2"), Some(0.1)),
            (Some("small"), sample::address("0xa5"), None),
            (Some("hundred"), sample::address("0xa7"), Some(0.01)),
        ]
    );
    assert_eq!(
        (
            social.leaders_without_wallet,
            social.authors,
            social.known_authors
        ),
        (1, 7, 7)
    );
    // The rows of `kols` are used as they are.
    let kols = "token_address,kol_address,handle,followers,engagement_rate\n0x1,0xff,file,1,0.5";
    let (detail, social) = of(&[&tables[..], &[("kols", kols)]].concat());
    assert_eq!(detail.top_kols[0].handle.as_deref(), Some("file"));
    assert_eq!(
        (detail.top_kols.len(), social.metrics.top_kols.source),
        (1, Some(SocialSource::Kols))
    );
}

#[test]
fn posts_count_in_the_window_if_they_are_neither_dropped_nor_deleted() {
    let rows = "0x1,new,f,1,a,2026-01-20,5,50,1,,\n0x1,in,f,2,b,2026-01-13T00:00:01Z,2,20,,,
        0x1,edge,f,2,b,2026-01-13,1,1,,,\n0x1,bot,f,3,c,2026-01-19,70,700,7,bot,\n0x1,gone,g,4,d,2026-01-19,80,800,8,,2026-01-20
        0x2,other,f,1,a,2026-01-10,,,,,";
    let tokens = "token_address,symbol,name,chain,price,impressions\n0x1,ONE,One,eth,1,\n0x2,TWO,Two,eth,1,\n0x3,TRI,Tri,eth,1,";
    let given = "token_address,symbol,name,chain,price,impressions\n0x1,ONE,One,eth,1,0";
    let posts = posts(rows);
    for (window, tokens, impressions, engagement, count) in [
        ("all", tokens, (Some(71), Some(SocialSource::Posts)), 8, 3),
        ("7d", tokens, (Some(70), Some(SocialSource::Posts)), 7, 2),
        ("7d", given, (Some(0), Some(SocialSource::Tokens)), 7, 2),
    ] {
        let manifest = format!("social = {{ window = \"{window}\" }}");
        let (detail, social) = of(&[
            ("tokens", tokens),
            ("posts", &posts),
            ("dataset.toml", &manifest),
        ]);
        let metric = social.metrics.impressions;
        assert_eq!((detail.impressions, metric.source), impressions, "{window}");
        assert_eq!(
            (detail.post_engagement, social.posts),
            (Some(engagement), count),
            "{window}"
        );
        assert_eq!(
            (detail.top_posts.len() as u64, detail.smart_engagement),
            (count, Some(1))
        );
        assert_eq!(
            (
                social.dropped.into_iter().collect::<Vec<_>>(),
                social.deleted
            ),
            (vec![("bot".to_owned(), 1)], 1)
        );
        assert_eq!(social.platforms.into_iter().collect::<Vec<_>>(), ["f"]);
    }
    // Seven days in any dataset; 0 for a token with older posts, nothing for one without any.
    let dataset = sample::dataset(&[("tokens", tokens), ("posts", &posts)]);
    let found: Vec<_> = Market::new(&dataset)
        .tokens
        .iter()
        .map(|token| (token.mentions, token.engagement_7d))
        .collect();
    assert_eq!(found, [(Some(2), Some(7)), (Some(0), None), (None, None)]);
}

#[test]
fn without_social_tables_nothing_is_counted_and_each_reason_is_given() {
    let (detail, social) = of(&[]);
    let metrics = social.metrics;
    let gaps = [
        metrics.followers,
        metrics.smart_followers,
        metrics.impressions,
        metrics.smart_reach,
        metrics.post_engagement,
        metrics.smart_engagement,
        metrics.top_kols,
        metrics.smart_follower_distribution,
    ]
    .map(|metric| metric.gap.expect("a reason"));
    assert_eq!(
        gaps,
        [
            NoAccounts, NoAccounts, NoPosts, NoPosts, NoPosts, NoPosts, NoLeaders, NoHolders
        ]
    );
    assert_eq!(
        (detail.top_kols.len(), detail.top_posts.len(), social.posts),
        (0, 0, 0)
    );
}
