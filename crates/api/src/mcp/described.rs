//! What a language model is told of each tool: which question it answers, and which other tool answers the question that sounds like it. The
//! words of HTTP stand nowhere here. A test holds the table against questions in plain English.

/// A tool's description.
pub(super) fn description(tool: &str) -> Option<&'static str> {
    DESCRIPTIONS.iter().find(|(name, _)| *name == tool).map(|(_, text)| *text)
}

/// What is asked for where the client says nothing: enough to choose by. The given value leaves nothing out.
pub(super) const LEAN: &[(&str, &str, &str)] = &[
    ("tokens", "only", "token_address,symbol,name,chains,price,market_cap,price_change_24h,holders,holders_growth"),
    ("tokens", "limit", "20"),
    ("candles", "limit", "100"),
    ("indicators", "limit", "100"),
    ("patterns", "include", "active"),
    ("posts", "limit", "20"),
    ("table", "limit", "50"),
];

/// What is told of an argument in place of its meaning, as people read it; nothing where its name or an answer says it. Of one tool, or of all
/// others.
pub(super) const SHORT: &[(&str, &str, &str)] = &[
    ("compare", "period", "The last days."),
    ("compare", "base", "The one that the others are held against; else the first."),
    ("holders", "flows", "Adds what each received and sent."),
    ("posts", "query", "Words of the title, or a token's address."),
    ("tokens", "query", "A symbol, name or address, or a part of one."),
    ("patterns", "explain", "With evidence; `record`: what became of earlier ones too."),
    ("patterns", "include", "`all`: past ones too."),
    ("rehearse_alert", "days", "The last days."),
    ("rehearse_alert", "token_address", "Else every token."),
    ("rehearse_alert", "condition", "As `where` of `tokens`: `price>20`, `pattern:bull_flag`."),
    ("table", "agg", "Of a group: count, sum:COLUMN, mean:COLUMN, min:COLUMN, max:COLUMN, by commas."),
    ("table", "by", "A column: one row for each of its values, with `agg`."),
    ("table", "columns", "By commas; else all."),
    ("table", "sort", "Columns by commas; `-` falls."),
    ("track_record", "scope", "This token, or all."),
    ("trendline", "period", "Candles to look at."),
    ("yield", "settings", ""),
    ("yield", "tokens", "By symbol or address the amount in smallest units."),
    ("", "addresses", "Tokens by commas, as `UNI,LINK`."),
    ("", "as_of", "A past day."),
    ("", "before", "A `fired_id`, for the next page."),
    ("", "budget_kb", ""),
    ("", "column", ""),
    ("", "cursor", "`next` of the page before."),
    ("", "dexId", "As `dexes` has it."),
    ("", "chain", "As `base`."),
    ("", "explain", ""),
    ("", "fields", "To add:"),
    ("", "from", "As 2026-08-14."),
    ("", "generation", ""),
    ("", "job_id", ""),
    ("", "limit", ""),
    ("", "only", "Members:"),
    ("", "page", ""),
    ("", "table", ""),
    ("", "timeframe", ""),
    ("", "to", ""),
    ("", "where", "As `close>100 timestamp>=2026-01`, with `or` and brackets."),
];
/// Of a token.
pub(super) const NAMED: &str = "`UNI`, `UNI@base` or address.";
/// Of conditions on the columns that follow.
pub(super) const CONDITIONS: &str = "With `or` and brackets.";

const DESCRIPTIONS: &[(&str, &str)] = &[
    (
        "token",
        "Everything about ONE token that is named by its symbol or address: price, market cap, followers, social reach, opinion leaders, top \
         posts, how concentrated its holders are, what whales do. Choose it for \"tell me about UNI\" or \"what does UNI cost?\". To find, filter \
         or rank MANY tokens choose `tokens`; for \"is it safe?\" `security`; for prices of the past `candles`.",
    ),
    (
        "tokens",
        "Finds MANY tokens: searches names and symbols, filters by figures (market cap, price change, age, holders, RSI, trend, pattern, security \
         score), sorts, and gives addresses. Choose it for \"which tokens …?\", \"the ten largest …\", or when the address of a name is wanted. \
         For all about ONE token that is named already choose `token`. `only` chooses members; the daily prices are left out unless it names \
         `price_history`.",
    ),
    (
        "token_posts",
        "The social posts about ONE token, newest first, with their reach. Choose it for \"what do people write about UNI?\". To search posts by \
         words, or over all tokens, choose `posts`.",
    ),
    (
        "posts",
        "Searches the social posts about ALL tokens by words, filters and sorts them by reach or time. Choose it for \"which posts mention an \
         airdrop?\" or \"the most seen posts of the week\". The posts about one token: `token_posts`.",
    ),
    (
        "trendline",
        "Whether ONE token's price is in an uptrend, a downtrend or sideways, with the trend line, support and resistance and how sure that is. \
         Choose it for \"is UNI going up?\" or \"where is support?\". Shapes such as flags and double tops: `patterns`. RSI, MACD and averages: \
         `indicators`.",
    ),
    (
        "security",
        "Is it SAFE to buy? The risks of ONE token's contract: honeypot, rug pull, scam, what its owner may do, taxes on trades, suspicious \
         transfers and holders, similar scams; a score out of 100 and a recommendation. `explain` gives the evidence for each. Choose it for \
         \"is it a scam?\", \"can it be sold again?\", \"can the owner mint?\". Several tokens at once: `security_batch`.",
    ),
    (
        "patterns",
        "The chart patterns that ONE token's price shows now (flags, triangles, double tops, head and shoulders, …), how complete each is, the \
         move it projects, and `recommendedAction`, no stronger than the record of such patterns allows, and no buy where `security` warns; \
         with `explain` also why. Choose it for \"is there a bull flag?\" or \
         \"buy or sell by the chart?\". Only up or down: `trendline`. How often such patterns were right before: `track_record`.",
    ),
    (
        "dexes",
        "Where ONE token can be traded: the decentralised exchanges that have it, each with volume, number of pools and best pool. Choose it for \
         \"where can I buy UNI?\". More about one of those exchanges: `dex`. All exchanges, whatever the token: `all_dexes`. What a sale would \
         lose: `pools`.",
    ),
    (
        "dex",
        "The details of ONE decentralised exchange for one token: version, router and factory contracts, fee tiers, value locked and the token's \
         pools there. It needs the exchange's id, such as `uniswap-v3`. Choose it for \"what fees does Uniswap take for UNI?\". Which exchanges a \
         token has: `dexes`. A list of all exchanges: `all_dexes`.",
    ),
    (
        "all_dexes",
        "A list of ALL decentralised exchanges in the data, on each chain, with volume, pools and value locked. Choose it for \"which exchange \
         has the most volume?\". Those where one token trades: `dexes`.",
    ),
    (
        "pools",
        "What SELLING an amount of ONE token would lose: each of its pools with its depth, and the fee and price impact (slippage) of a sale. \
         Choose it for \"how much can I sell without moving the price?\" or \"which pool is deepest?\". Where it trades at all: `dexes`.",
    ),
    (
        "holders_growth",
        "A RANKING of the tokens that gained holders fastest. Choose it for \"which tokens are gaining holders?\". One token's number of holders \
         day by day: `holder_counts`. Any other ranking: `tokens`.",
    ),
    (
        "holder_counts",
        "How MANY holders ONE token had, day by day. Choose it for \"how did the number of holders of UNI develop?\". Who they are: `holders`. A \
         ranking of tokens by growth: `holders_growth`.",
    ),
    (
        "holders",
        "WHO holds ONE token: its largest holders with balance, share of the supply and label, and with `flows` what each received and sent. \
         Choose it for \"who are the whales of UNI?\" or \"what share has the largest wallet?\". How many there were each day: `holder_counts`. \
         What one wallet holds: `held_tokens`.",
    ),
    (
        "held_tokens",
        "What a WALLET holds: the tokens of one holder's address, with balance and worth. Choose it for \"what does the wallet 0x… have?\". The \
         other way round, who holds a token: `holders`.",
    ),
    (
        "yield",
        "Where to put tokens that the person OWNS so that they earn interest: a plan over lending and liquidity protocols for given amounts and a \
         level of risk, with expected yield in percent, gas and steps. Choose it for \"what can I earn on my 1000 USDC?\". Amounts are in the \
         token's smallest unit.",
    ),
    (
        "candles",
        "The price HISTORY of ONE token: open, high, low, close and volume of each hour, day or week. Choose it for \"what did UNI cost in \
         March?\" or to draw a chart. Several tokens: `candle_batch`; how they did against each other: `compare`; the price now: `token`.",
    ),
    (
        "candle_batch",
        "The price histories of SEVERAL tokens at once, as raw candles, for a calculation of one's own. Choose it when the prices themselves of \
         two or more tokens are wanted. Returns, drawdown and correlation ready made: `compare`. One token: `candles`.",
    ),
    (
        "compare",
        "COMPARES two or more tokens over a time: return in percent, drawdown, volatility and correlation of their days. Choose it for \"did UNI do \
         better than WETH?\" or \"do they move together?\". Their raw prices: `candle_batch`.",
    ),
    (
        "indicators",
        "Technical INDICATORS of ONE token, value by value: RSI, MACD, moving averages, Bollinger bands, ATR and others. Choose it for \"what is \
         the RSI of UNI?\" or \"is it overbought?\". Whether it rises or falls: `trendline`. To find tokens by their RSI: `tokens`.",
    ),
    (
        "track_record",
        "How RELIABLE past signals were: what became of the chart patterns that were confirmed in the past, of trend words and of ranks of growth, \
         for one token or all. Choose it for \"how often did double bottoms work?\". The patterns of now: `patterns`. How often a condition of \
         one's own came true: `rehearse_alert`.",
    ),
    (
        "security_batch",
        "Is it SAFE to buy, for SEVERAL tokens at once: the score, findings and recommendation of each, as `security` has them for one token. \
         Choose it for \"which of these is riskiest?\".",
    ),
    (
        "tables",
        "The NAMES and columns of the raw tables, and how many rows each has. Choose it before `table`, `table_counts` or `table_describe`, to know \
         what can be asked. How fresh the data are and what is missing: `datasets`.",
    ),
    (
        "table",
        "RAW rows of one table (transfers, posts, pools, …), filtered and sorted, or sums, means and counts of groups of them by `by` and `agg`. \
         Choose it where no other tool answers: \"the largest transfers of UNI\", \"transfers of each sender\". Names of tables and columns: `tables`.",
    ),
    (
        "table_counts",
        "How OFTEN each value of one column of a raw table occurs. Choose it for \"how many tokens are on each chain?\". Quartiles and mean of \
         numbers: `table_describe`. Sums and means by group: `table`.",
    ),
    (
        "table_describe",
        "What the values of one column of a raw table are LIKE: smallest, largest, mean, quartiles, histogram, how many are missing. Choose it for \
         \"what is the median market cap?\". How often each value occurs: `table_counts`.",
    ),
    (
        "datasets",
        "How FRESH and complete the data are: for each table its files and their times, rejected rows, what is missing and why, what failed to \
         load. Choose it for \"how old are the data?\" or \"why is there no price?\". The columns of the tables: `tables`.",
    ),
    (
        "jobs",
        "The list of deep analyses that were started, with their state. Choose it for \"is my analysis done?\". What one of them found: \
         `job_report`. It starts none.",
    ),
    ("job_report", "What ONE deep analysis FOUND about its tokens, by its id; partial while it runs. The ids are in `jobs`."),
    (
        "alerts",
        "The price and other alerts that the person has SET, and when each fired. Choose it for \"which of my alerts fired?\". How often one would \
         have fired: `rehearse_alert`. It sets none.",
    ),
    (
        "rehearse_alert",
        "TRIES a condition on the past: on which days an alert such as `24h<-10` would have fired, and how the price moved after it. Choose it for \
         \"what happened when UNI fell 10 % in a day?\". Alerts that are set: `alerts`. Past chart patterns: `track_record`.",
    ),
];
