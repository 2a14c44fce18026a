//! Posts about the tokens: invented authors and links, and titles that match the day's price change.

use super::{
    candles,
    error::DemoError,
    market::{DemoMarket, DemoToken, LEADERS},
    output::{DemoTable, row},
    path::Path,
    people,
    random::{Random, round},
};
use model::time::{DAY_MS, Time};

pub(super) const COLUMNS: &str =
    "post_id token_address title link published_at impressions engagement smart_engagement author";
/// Posts per token, and additional ones per leading token.
const POSTS: usize = 47;
const POSTS_MORE: usize = 40;

const SITES: &[&str] = &[
    "https://news.example",
    "https://forum.example",
    "https://social.example",
    "https://blog.example",
    "https://video.example/watch",
];

/// Minimum daily price change that a title mentions.
const MOVE: f64 = 0.025;
const RISES: &[&str] = &[
    "{sym} climbs {pct}% as buyers return to {chain}",
    "{name} adds {pct}% in a day — what changed?",
    "{sym} +{pct}% 🚀 volume is finally back",
    "Shorts squeezed: {sym} up {pct}% to ${price}",
    "{sym} reclaims ${price} after a {pct}% day",
    "Why I added to my {sym} position at ${price}",
    "{name} breaks out, next stop? {pct}% today 📈",
    "{sym} 今日上涨 {pct}%，成交量放大",
    "{name}、1日で{pct}%上昇 注目は次の抵抗線",
];
const FALLS: &[&str] = &[
    "{sym} slides {pct}% as leverage is flushed out",
    "{name} loses {pct}%, holders look to ${price} for support",
    "{sym} -{pct}% 😬 buying the dip or catching a knife?",
    "Large wallet sends {n} {sym} to an exchange, price drops {pct}%",
    "What went wrong with {name} today ({pct}% down)",
    "{sym} back at ${price}. I am not selling",
    "{sym} 跌 {pct}%，链上资金流出",
    "Liquidations on {chain}: {sym} falls {pct}% within hours",
];
const QUIET: &[&str] = &[
    "{name}: an introduction for newcomers in {n} slides",
    "Weekly {sym} on-chain report #{n}",
    "{sym} holders, week {n}: who is accumulating?",
    "Governance: proposal {n} of {name} passes with 82% in favour",
    "{name} on {chain}: fees and liquidity at ${price}",
    "AMA recap with the {name} contributors, part {n}",
    "Is {sym} undervalued at ${price}? A look at the numbers",
    "{sym} ranges around ${price}; patience pays",
    "Audit report {n} for {name} published: two low findings",
    "Thread: {n} things most people miss about {sym} 🧵",
    "{sym}/USD chart of the day: watch the ${price} level",
    "I tracked {n} wallets that bought {sym} early. Here is what they do now",
    "{name} grants round {n}: winners announced 🎉",
    "Comparing {n} ways to put {sym} to work on {chain}",
    "[Discussion] Would you hold {sym} for {n} months?",
    "{name} development update {n}: faster sync, smaller proofs",
    "新手指南：{name} 是什么？（第 {n} 期）",
    "تقرير أسبوعي عن {sym} رقم {n}",
    "{sym}: données du jour et niveau clé à {price} $",
    "Ask me anything: I have used {name} daily for {n} days",
];
/// Titles for invented tokens that promise too much.
const PROMISES: &[&str] = &[
    "{sym} 100x soon 🚀🚀🚀 do not miss it, {n} holders already",
    "LAST CHANCE: {name} airdrop closes in {n} hours!!! 🎁",
    "Dev wallet locked for {n} years, trust me. {sym} to the moon 🌕",
    "Warning: tried {n} times and could not sell my {sym}, anyone else?",
    "{sym} liquidity looks thin at ${price}, be careful out there ⚠️",
];

pub(super) fn rows(market: &DemoMarket) -> u64 {
    market.tokens.iter().map(|token| count(token) as u64).sum()
}

fn count(token: &DemoToken) -> usize {
    if token.index < LEADERS {
        POSTS + POSTS_MORE
    } else {
        POSTS
    }
}

pub(super) fn write(market: &DemoMarket, table: &mut DemoTable) -> Result<(), DemoError> {
    for token in &market.tokens {
        let authors = people::handles(market, token);
        for (i, post) in posts(market, token).iter().enumerate() {
            let Post {
                title,
                link,
                published_at,
                impressions,
                engagement,
                smart_engagement,
            } = post;
            let post_id = format!("demo-{}-{i:03}", token.index);
            row!(
                table,
                &post_id,
                token.address,
                title,
                link.as_deref(),
                *published_at,
                *impressions,
                *engagement,
                *smart_engagement,
                // The first leaders write the most.
                &authors[(i % 5 * (i % 3)) % authors.len()]
            )?;
        }
    }
    Ok(())
}

/// Totals of impressions, engagement and smart engagement over the token's posts.
pub(super) fn sums(market: &DemoMarket, token: &DemoToken) -> [i64; 3] {
    posts(market, token)
        .iter()
        .fold([0; 3], |[impressions, engagement, smart], post| {
            [
                impressions + post.impressions.unwrap_or(0),
                engagement + post.engagement,
                smart + post.smart_engagement.unwrap_or(0),
            ]
        })
}

struct Post {
    title: String,
    link: Option<String>,
    published_at: Time,
    impressions: Option<i64>,
    engagement: i64,
    smart_engagement: Option<i64>,
}

fn posts(market: &DemoMarket, token: &DemoToken) -> Vec<Post> {
    let mut random = market.random("posts", token);
    let path = candles::daily(market, token);
    let weight = (token.cap() / 1e9).clamp(0.01, 40.0).powf(0.4);
    let post = |_| {
        // Squared, so that most are recent.
        let ago = (random.unit().powi(2) * f64::from(market.options.days)) as usize + 1;
        let title = title(token, &path, ago, &mut random);
        let published_at = Time(
            DemoMarket::day(ago).start().0 + random.below((DAY_MS / 1000) as usize) as i64 * 1000,
        );
        let impressions =
            random.spread(120.0, 42_000.0) * weight * if random.unit() < 0.03 { 12.0 } else { 1.0 };
        let engagement = impressions * random.spread(0.004, 0.09);
        let smart = engagement * random.between(0.0, 0.22);
        let link = format!(
            "{}/{}/{:x}",
            random.pick(SITES),
            token.index,
            random.next() >> 36
        );
        let seen = random.unit() >= 0.02;
        Post {
            title,
            link: (random.unit() >= 0.01).then_some(link),
            published_at,
            impressions: seen.then_some(impressions as i64),
            engagement: engagement as i64,
            smart_engagement: seen.then_some(smart as i64),
        }
    };
    (0..count(token)).map(post).collect()
}

fn title(token: &DemoToken, path: &Path, ago: usize, random: &mut Random) -> String {
    let step = path.spreads.len().checked_sub(ago);
    let change = step.map_or(0.0, |step| path.change(step));
    let price = step.map_or(token.price, |step| path.levels[step + 1].exp());
    let risky = !token.real && token.cap() < 12e6;
    let template = match change {
        _ if risky && random.unit() < 0.3 => random.pick(PROMISES),
        _ if random.unit() < 0.35 => random.pick(QUIET),
        change if change > MOVE => random.pick(RISES),
        change if change < -MOVE => random.pick(FALLS),
        _ => random.pick(QUIET),
    };
    let chain = model::chain::CHAINS
        .iter()
        .find(|row| row.short_name == token.chain())
        .map_or(token.chain(), |row| row.name);
    template
        .replace("{sym}", &token.symbol)
        .replace("{name}", &token.name)
        .replace("{chain}", chain)
        .replace("{pct}", &format!("{:.1}", change.abs() * 100.0))
        .replace("{price}", &round(price, 3).to_string())
        .replace("{n}", &(3 + random.below(96)).to_string())
}
