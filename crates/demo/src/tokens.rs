//! The token table: market data of each token, and invented social metrics.

use super::{
    error::DemoError,
    market::{DemoMarket, DemoToken},
    output::{DemoTable, row},
    people, posts,
    random::round,
    stories,
};

pub(super) const COLUMNS: &str = "\
    token_address symbol name chain decimals price market_cap total_supply holders followers smart_followers impressions smart_reach \
    post_engagement smart_engagement listed";

pub(super) fn write(market: &DemoMarket, table: &mut DemoTable) -> Result<(), DemoError> {
    market
        .tokens
        .iter()
        .try_for_each(|token| write_token(market, token, table))
}

fn write_token(
    market: &DemoMarket,
    token: &DemoToken,
    table: &mut DemoTable,
) -> Result<(), DemoError> {
    let mut random = market.random("social", token);
    let followers = round(
        (token.cap().powf(0.47) * random.spread(1.2, 16.0)).min(4.2e6),
        4,
    );
    let smart = followers * random.spread(0.001, 0.02);
    let smart_reach = smart * random.spread(900.0, 9_000.0);
    // Totals over its posts, since the dataset has them all.
    let [impressions, engagement, smart_engagement] = posts::sums(market, token);
    // Some tokens have no social metrics.
    let known = |figure: i64| (token.index % 11 != 7).then_some(figure);
    row!(
        table,
        token.address,
        &token.symbol,
        &token.name,
        &token.chains,
        token.decimals,
        token.price,
        round(token.cap(), 9),
        token.supply,
        people::holder_count(market, token),
        known(followers as i64),
        known(smart as i64),
        known(impressions),
        known(smart_reach as i64),
        known(engagement),
        known(smart_engagement),
        token.real || stories::of(market, token).is_some_and(|story| story.listed),
    )
}
