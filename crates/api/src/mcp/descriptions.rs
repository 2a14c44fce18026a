//! Descriptions of the tools for language models: which query each answers, and which other tool answers a similar query. They
//! contain no terms of HTTP. A test checks the table against queries in plain English.

/// A tool's description.
pub(super) fn description(tool: &str) -> Option<&'static str> {
    DESCRIPTIONS
        .iter()
        .find(|(name, _)| *name == tool)
        .map(|(_, text)| *text)
}

/// Defaults of a tool if the client sets nothing: enough to choose by. The last value omits nothing.
pub(super) const LEAN: &[(&str, &str, &str)] = &[
    (
        "tokens",
        "only",
        "token_address,symbol,name,chains,price,market_cap,price_change_24h,holders,holders_growth",
    ),
    ("tokens", "limit", "20"),
    ("candles", "limit", "100"),
    ("indicators", "limit", "100"),
    ("patterns", "include", "active"),
    ("posts", "limit", "20"),
    ("table", "limit", "50"),
];

/// Short descriptions of arguments that replace the meaning in the API; empty if the name or an error explains it. For one tool, or for all
/// tools without an own entry.
pub(super) const SHORT: &[(&str, &str, &str)] = &[
    ("compare", "period", "Latest days to compare."),
    ("compare", "base", "Benchmark token. Default: the first."),
    ("token_flows", "days", "Add each of the last 30 days."),
    ("holders", "flows", "Add amounts received and sent."),
    ("posts", "query", "Words in the title, or a token address."),
    (
        "tokens",
        "query",
        "Symbol, name or address, or part of one.",
    ),
    (
        "patterns",
        "explain",
        "Add evidence; `record`: also outcomes of earlier patterns.",
    ),
    ("patterns", "include", "`all`: also past patterns."),
    ("rehearse_alert", "days", "Number of latest days to test."),
    ("rehearse_alert", "token_address", "Default: every token."),
    (
        "rehearse_alert",
        "condition",
        "Like `where` of `tokens`: `price>20`, `pattern:bull_flag`.",
    ),
    (
        "table",
        "agg",
        "Per group, comma-separated: count, sum:COLUMN, mean:COLUMN, min:COLUMN, max:COLUMN.",
    ),
    ("table", "by", "Group by this column."),
    ("table", "columns", "Comma-separated. Default: all."),
    (
        "table",
        "sort",
        "Comma-separated columns; `-` for descending.",
    ),
    ("track_record", "scope", "This token, or all tokens."),
    ("trendline", "period", "Candles to analyze."),
    ("yield", "settings", ""),
    (
        "yield",
        "tokens",
        "Amounts in base units, by symbol or address.",
    ),
    (
        "",
        "addresses",
        "Comma-separated tokens, such as `UNI,LINK`.",
    ),
    ("", "as_of", "A past day."),
    ("", "before", "A `fired_id`, for the next page."),
    ("", "budget_kb", ""),
    ("", "column", ""),
    ("", "cursor", "`next` of the previous page."),
    ("", "dexId", "From `dexes`."),
    ("", "chain", "Such as `base`."),
    ("", "explain", ""),
    ("", "fields", "Add"),
    ("", "from", "Such as 2026-08-14."),
    ("", "generation", ""),
    ("", "job_id", ""),
    ("", "limit", ""),
    ("", "only", "Return"),
    ("", "page", ""),
    ("", "table", ""),
    ("", "timeframe", ""),
    ("", "to", ""),
    (
        "",
        "where",
        "Such as `close>100 timestamp>=2026-01`, with `or` and brackets.",
    ),
];
/// Of a token.
pub(super) const NAMED: &str = "`UNI`, `UNI@base` or address.";
/// Of conditions on the columns that follow.
pub(super) const CONDITIONS: &str = "Conditions, also with `or` and brackets.";

const DESCRIPTIONS: &[(&str, &str)] = &[
    (
        "token",
        "Everything about ONE token, by symbol or address: price, market cap, followers, social reach, opinion leaders, top posts, holder \
        concentration, whale activity. Use for \"tell me about UNI\", \"what does UNI cost?\". Many tokens: `tokens`. Safety: \
        `security`. Past prices: `candles`.",
    ),
    (
        "tokens",
        "Finds MANY tokens: searches names and symbols, filters by metrics (market cap, price change, age, holders, RSI, trend, pattern, \
        security score), sorts, gets addresses. Use for \"which tokens …?\", \"the ten largest …\". One known token: `token`. `only` \
        selects fields; daily prices need `price_history`.",
    ),
    (
        "token_posts",
        "Social posts about ONE token, newest first, with reach. Use for \"what do people write about UNI?\". Search by words or across \
        tokens: `posts`.",
    ),
    (
        "posts",
        "Searches social posts about ALL tokens by words; filters and sorts by reach or time. Use for \"which posts mention an \
        airdrop?\", \"most viewed posts this week\". One token: `token_posts`. What followed: `posts_track_record`.",
    ),
    (
        "trendline",
        "ONE token's trend (uptrend, downtrend, sideways) with trend line, support, resistance and confidence. Use for \"is UNI going \
        up?\", \"where is support?\". Flags, double tops: `patterns`. RSI, MACD, averages: `indicators`.",
    ),
    (
        "security",
        "Is it SAFE to buy? Risks of ONE token: honeypot, rug pull, scam, owner privileges, taxes, suspicious transfers and holders, \
        similar scams; score out of 100 and recommendation. `explain` adds evidence. Use for \"is it a scam?\", \"can I sell it \
        later?\", \"can the owner mint?\". Several tokens: `security_batch`.",
    ),
    (
        "patterns",
        "Chart patterns in ONE token's price now (flags, triangles, double tops, head and shoulders), completion, projected move, and \
        `recommendedAction`, which is a buy or sell only if such patterns beat their base rate, and never a buy if `security` warns; \
        `explain` adds the reason. Use for \"is there a bull flag?\", \"does the chart say buy or sell?\". Up or down only: `trendline`. Past \
        hit rates: `track_record`.",
    ),
    (
        "dexes",
        "Where ONE token trades: decentralized exchanges with volume, pool count and best pool. Use for \"where can I buy UNI?\". One \
        exchange: `dex`. All exchanges: `all_dexes`. Cost of selling: `pools`.",
    ),
    (
        "dex",
        "ONE exchange for one token: version, router and factory contracts, fee tiers, value locked, pools. Needs the exchange id, such \
        as `uniswap-v3`. Use for \"what fees does Uniswap take for UNI?\". A token's exchanges: `dexes`.",
    ),
    (
        "all_dexes",
        "ALL decentralized exchanges per chain, with volume, pools and value locked. Use for \"which exchange has the most volume?\". One \
        token's exchanges: `dexes`.",
    ),
    (
        "pools",
        "Cost of SELLING an amount of ONE token: each pool's depth, fee and price impact (slippage). Use for \"how much can I sell \
        without moving the price?\", \"which pool is deepest?\". Where it trades: `dexes`.",
    ),
    (
        "holders_growth",
        "RANKING of tokens by holder growth. Use for \"which tokens are gaining holders?\". One token day by day: `holder_counts`. Other \
        rankings: `tokens`.",
    ),
    (
        "holder_counts",
        "Number of holders of ONE token, day by day. Use for \"how has the number of UNI holders changed?\". Who they are: `holders`. \
        Ranking: `holders_growth`.",
    ),
    (
        "holders",
        "WHO holds ONE token: largest holders with balance, share and label; `flows` adds amounts received and sent. Use for \"who are \
        the whales of UNI?\", \"what share has the largest wallet?\". Counts per day: `holder_counts`. A wallet's tokens: `held_tokens`.",
    ),
    (
        "token_flows",
        "Who BUYS and SELLS ONE token: net flows over 1, 7 and 30 days of whales, new wallets, exchanges, the creator and the largest \
        holders; average cost and profit of the largest. Use for \"are whales selling UNI?\". Each holder: `holders` with `flows`.",
    ),
    (
        "clusters",
        "WHO CONTROLS ONE token: holders grouped by likely owner, with share, amounts bought and sold, and the linking transactions. Use for \"who controls PEPE?\", \"was the launch bundled?\", \"are insiders selling?\". Single addresses: `holders`.",
    ),
    (
        "held_tokens",
        "Tokens in ONE WALLET, with balance, value, first purchase, realized profit and cluster. Use for \"what does the wallet 0x… have?\". A token's holders: `holders`.",
    ),
    (
        "yield",
        "Where to deposit tokens the user OWNS to earn yield: an allocation over lending and liquidity protocols for given amounts (base \
        units) and risk, with expected APY, gas and steps. Use for \"what can I earn on my 1000 USDC?\".",
    ),
    (
        "candles",
        "Price HISTORY of ONE token: open, high, low, close, volume per hour, day or week. Use for \"what did UNI cost in March?\", \
        charts. Several tokens: `candle_batch`. Relative performance: `compare`. Price now: `token`.",
    ),
    (
        "candle_batch",
        "Raw candles of SEVERAL tokens, for your own calculations. Returns, drawdown, correlation: `compare`. One token: `candles`.",
    ),
    (
        "compare",
        "COMPARES two or more tokens over a period: return, drawdown, volatility, correlation of daily returns. Use for \"did UNI do \
        better than WETH?\", \"do they move together?\". Raw prices: `candle_batch`.",
    ),
    (
        "indicators",
        "Technical INDICATORS of ONE token per candle: RSI, MACD, moving averages, Bollinger Bands, ATR and others. Use for \"what is the \
        RSI of UNI?\", \"is it overbought?\". Trend: `trendline`. Find tokens by RSI: `tokens`.",
    ),
    (
        "track_record",
        "How RELIABLE past signals were: outcomes of confirmed chart patterns, trend labels and holder-growth ranks, for one token or \
        all, each with a `verdict`; only `beats_base_rate` is an edge. Use for \"how often did double bottoms work?\". Patterns now: \
        `patterns`. Your own condition: `rehearse_alert`. Security: `security_track_record`. Posts: \
        `posts_track_record`.",
    ),
    (
        "security_track_record",
        "How RELIABLE past security verdicts were: of tokens called AVOID a day, a week or a month after launch, how many fell, were pulled \
        or died, compared with all tokens. Use for \"how often was AVOID right?\". One token now: `security`. Past chart signals: \
        `track_record`.",
    ),
    (
        "posts_track_record",
        "What FOLLOWED past social posts: returns after each author's posts, compared with similar candles and with the market. Use for \
        \"which influencers were right?\". Only `better` is an edge. The posts: `posts`. Past chart signals: `track_record`.",
    ),
    (
        "security_batch",
        "Is it SAFE to buy, for SEVERAL tokens: score, findings and recommendation each. Use for \"which of these is riskiest?\". One \
        token: `security`.",
    ),
    (
        "tables",
        "NAMES, columns and row counts of raw tables; call it before `table`, `table_counts` or `table_describe`. Freshness: `datasets`.",
    ),
    (
        "table",
        "RAW rows of one table, filtered and sorted, or aggregates with `by` and `agg`. Use if no other tool fits: \"largest transfers of \
        UNI\", \"transfers of each sender\". Names of tables and columns: `tables`.",
    ),
    (
        "table_counts",
        "How OFTEN each value of a column occurs. Use for \"how many tokens are on each chain?\". Quartiles and mean of numbers: \
        `table_describe`. Sums and means per group: `table`.",
    ),
    (
        "table_describe",
        "Statistics of a column: min, max, mean, quartiles, histogram, missing. Use for \"what is the median market cap?\". How often \
        each value occurs: `table_counts`.",
    ),
    (
        "datasets",
        "How FRESH and complete the data is: files, times, rejected rows, missing tables with reasons, load failures. Use for \"how old \
        is the data?\", \"why is there no price?\". Columns of the tables: `tables`.",
    ),
    (
        "jobs",
        "Deep analyses and their status. Use for \"is my analysis done?\". Results of one: `job_report`. This tool cannot start \
        jobs.",
    ),
    (
        "job_report",
        "Results of ONE deep analysis, by id from `jobs`; partial while it runs.",
    ),
    (
        "alerts",
        "The alerts the user has SET and when they fired. Use for \"which of my alerts fired?\". How often a condition would have fired: \
            `rehearse_alert`. This tool cannot create alerts.",
    ),
    (
        "rehearse_alert",
        "BACKTESTS a condition on the past: days on which `24h<-10` would have fired, and the price moves after. Use for \"what happened \
        when UNI fell 10% in a day?\". Alerts in use: `alerts`. Past chart patterns: `track_record`.",
    ),
];
