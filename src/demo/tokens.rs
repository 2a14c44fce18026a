//! The table of tokens: what the market knows of each, and invented social figures.

use super::{
    DemoOptions,
    market::{DemoMarket, DemoToken},
    output::{DemoCell, DemoTable},
    people, posts,
    random::round,
    stories,
};

pub(super) const COLUMNS: &[&str] = &[
    "token_address",
    "symbol",
    "name",
    "chain",
    "decimals",
    "price",
    "market_cap",
    "total_supply",
    "holders",
    "followers",
    "smart_followers",
    "impressions",
    "smart_reach",
    "post_engagement",
    "smart_engagement",
    "listed",
];

pub(super) fn write(market: &DemoMarket, options: &DemoOptions, table: &mut DemoTable) -> Result<(), String> {
    for token in &market.tokens {
        row(market, options, token, table)?;
    }
    Ok(())
}

fn row(market: &DemoMarket, options: &DemoOptions, token: &DemoToken, table: &mut DemoTable) -> Result<(), String> {
    let mut random = market.random("social", token);
    let followers = round((token.cap().powf(0.47) * random.spread(1.2, 16.0)).min(4.2e6), 4);
    let smart = followers * random.spread(0.001, 0.02);
    // What its posts add up to, since the dataset has them all.
    let [impressions, engagement, smart_engagement] = posts::sums(market, options, token);
    // Some tokens are followed by nobody who counts, or nobody counted.
    let known = token.index % 11 != 7;
    let figure = |value: f64| if known { DemoCell::Int(value as i64) } else { DemoCell::Null };
    let sum = |value: i64| if known { DemoCell::Int(value) } else { DemoCell::Null };
    table.row(&[
        DemoCell::Text(&token.address.to_string()),
        DemoCell::Text(&token.symbol),
        DemoCell::Text(&token.name),
        DemoCell::Texts(&token.chains),
        DemoCell::Int(token.decimals),
        DemoCell::Float(token.price),
        DemoCell::Float(round(token.cap(), 9)),
        DemoCell::Float(token.supply),
        DemoCell::Int(people::holder_count(market, token)),
        figure(followers),
        figure(smart),
        sum(impressions),
        figure(smart * random.spread(900.0, 9_000.0)),
        sum(engagement),
        sum(smart_engagement),
        DemoCell::Bool(token.real || stories::of(market, token).is_some_and(|story| story.listed)),
    ])
}
