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
    ("trendline", "explain", "true"),
    ("patterns", "explain", "true"),
    ("holders", "only", "holder_address,balance,share,labels"),
    ("holders", "limit", "20"),
    ("compare", "only", "tokens"),
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
    (
        "compare",
        "addresses",
        "Comma-separated, such as `UNI,LINK`; one token: compared with the 11 that moved most like it.",
    ),
    (
        "compare",
        "only",
        "Comma-separated: `tokens`, `correlations` (of each pair), `rows` (of each day). Default: `tokens`.",
    ),
    ("add_alert", "token_address", "Default: every token."),
    (
        "add_alert",
        "condition",
        "Like `where` of `tokens`: `price>20`, `rsi_14<30`, `price crosses 20`; then also `cooldown 6h`, `until 2026-12-31`.",
    ),
    (
        "trendline",
        "explain",
        "Prices of the lines at their ends, and reasons.",
    ),
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
    (
        "table",
        "by",
        "Group by this column; of a list, by each element.",
    ),
    ("table", "columns", "Comma-separated. Default: all."),
    (
        "table",
        "sort",
        "Comma-separated columns; `-` for descending.",
    ),
    (
        "pools",
        "amount",
        "USD value of the tokens to sell in each pool.",
    ),
    ("track_record", "scope", "With a token: of it, or of all."),
    ("track_record", "contractAddress", "Default: all tokens."),
    ("trendline", "period", "Candles to analyze."),
    ("yield", "settings", ""),
    (
        "yield",
        "tokens",
        "Amounts by symbol or address, in base units: of USDC (6 decimals) 1000 are `1000000000`.",
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
    ("", "table", ""),
    ("", "job_id", ""),
    ("", "limit", ""),
    ("", "only", "Return"),
    ("", "page", ""),
    ("", "timeframe", ""),
    ("", "to", ""),
    (
        "",
        "where",
        "Such as `token_address:UNI timestamp>=2026-01`, with `or` and brackets.",
    ),
];
/// Of a token.
pub(super) const NAMED: &str = "`UNI`, `UNI@base` or address.";
/// Of conditions on the columns that follow.
pub(super) const CONDITIONS: &str = "Conditions, also with `or` and brackets.";

const DESCRIPTIONS: &[(&str, &str)] = &[
    (
        "token",
        "Profile of ONE token, by symbol or address: price, market cap, followers, social reach, key opinion leaders with followers, top posts, share of the top 10 holders, whale trend. Use for \"tell me about UNI\". Price changes, volume, liquidity: `tokens` with `query`. Many tokens: `tokens`. Safety: `security`. Past prices: `candles`.",
    ),
    (
        "tokens",
        "Figures of MANY tokens or one (`query`): price and its changes over 1 h to 30 days, market cap, holders, RSI, trend, security score. Filters, sorts, gets addresses. Use for \"which tokens …?\", \"the ten largest …\", \"what does UNI cost and how did it change?\", `where` `trend:uptrend best_pattern:bull_flag`, `recommendation:AVOID`. Profile of one: `token`. `only` selects fields; daily prices need `price_history`. Sums per chain: `table`.",
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
        "ONE token's trend (uptrend, downtrend, sideways) with trend line, support, resistance (`endPrice`: their price now) and confidence. Use for \"is UNI going up?\", \"where is support?\". Flags, double tops: `patterns`. RSI, MACD, averages: `indicators`.",
    ),
    (
        "security",
        "Is it SAFE to buy? Risks of ONE token: honeypot, rug pull, scam, owner privileges, taxes, suspicious transfers and holders, similar scams; score out of 100 and recommendation. Without `explain` only findings; with it every check and its result: set it to ask about ONE risk, such as \"can it be upgraded?\" (PROXY), \"can the owner mint?\", \"is the liquidity locked?\". Use for \"is it a scam?\", \"can I sell it?\". Several tokens: `security_batch`.",
    ),
    (
        "patterns",
        "Chart patterns in ONE token's price now (flags, triangles, double tops, head and shoulders), completion, projected move in percent, target price, and `recommendedAction`, which is a buy or sell only if such patterns beat their base rate, and never a buy if `security` warns; `advice` says why. Use for \"is there a bull flag?\", \"does the chart say buy or sell?\". Up or down only: `trendline`. Past hit rates: `track_record`. Tokens with a pattern: `tokens`.",
    ),
    (
        "dexes",
        "Where ONE token trades: decentralized exchanges with volume, pool count and best pool. Use for \"where can I buy UNI?\". One \
        exchange: `dex`. All exchanges: `all_dexes`. Cost of selling: `pools`.",
    ),
    (
        "dex",
        "ONE exchange for one token: version, router and factory contracts, fee tiers, value locked on its chain, pools. Needs the exchange id, such as `uniswap-v3`. Use for \"what fees does Uniswap take for UNI?\". A token's exchanges: `dexes`.",
    ),
    (
        "all_dexes",
        "ALL decentralized exchanges per chain and version, with value locked, router, factory. Use for \"which exchange is the largest?\". Locked in one over all chains and versions: `table` `dexes`, `by` name, `agg` sum:total_value_locked. Volume: `table` `pools`, `by` dex_id, `agg` sum:volume24h. One token's exchanges: `dexes`.",
    ),
    (
        "pools",
        "Pools of ONE token, and the cost of SELLING `amount` USD of it in each: depth, fee, price impact (slippage), loss (fee and impact), all fractions. Use for \"how much can I sell without moving the price?\", \"which pool is deepest?\" (sort `-liquidity`). Where it trades: `dexes`.",
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
        "WHO holds ONE token: largest holders first, with balance, share (fraction of the supply) and labels; `flows` adds amounts received and sent. Use for \"who are the whales of UNI?\", \"what do the ten largest hold?\". Counts per day: `holder_counts`. A wallet's tokens: `held_tokens`.",
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
        "Where to deposit tokens the user OWNS to earn yield: an allocation over lending and liquidity protocols for given amounts (base units) and risk, with expected APY, earnings a year in USD, gas and steps. Use for \"what can I earn on my 1000 USDC after gas?\". A list of pools by APY: `table` `yields`.",
    ),
    (
        "candles",
        "Price HISTORY of ONE token: open, high, low, close, volume per hour, day or week, and in `range` the percent change and highest and lowest prices with their times, over all from `from` to `to` whatever `limit` is. Use for \"what did UNI cost on 1 November?\" (`from` and `to` that day), \"when was PEPE highest?\", \"how much did it gain in October?\". Several tokens: `candle_batch`. Relative performance: `compare`. Price now: `tokens`.",
    ),
    (
        "candle_batch",
        "Raw candles of SEVERAL tokens, each with the `range` of `candles`. Returns, drawdown, correlation: `compare`. One token: `candles`.",
    ),
    (
        "compare",
        "COMPARES two or more tokens over a period: return, drawdown, volatility, correlation of daily returns with the first. ONE token: finds those that moved most like it. Use for \"did UNI do better than WETH?\", \"do they move together?\", \"which tokens correlate with WETH?\". Raw prices: `candle_batch`.",
    ),
    (
        "indicators",
        "Technical INDICATORS of ONE token per candle: RSI, MACD, moving averages, Bollinger Bands, ATR and others. Use for \"what is the \
        RSI of UNI?\", \"is it overbought?\". Trend: `trendline`. Find tokens by RSI: `tokens`.",
    ),
    (
        "track_record",
        "How RELIABLE past signals were: of all tokens, or of one, how often each chart pattern hit its target (`target`, `randomTarget`: the base rate), trend labels and holder-growth ranks; only the `verdict` `beats_base_rate` is an edge. Use for \"how often did double bottoms work?\". Patterns now: `patterns`. Your own condition: `rehearse_alert`. Security: `security_track_record`. Posts: `posts_track_record`.",
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
        "NAMES, meanings and types of all columns of the raw tables, with row counts; long. `table`, `table_counts` and `table_describe` list the names already. Freshness: `datasets`.",
    ),
    (
        "table",
        "RAW rows of one table, filtered and sorted, or sums and counts per group with `by` and `agg`. Use if no other tool fits: \"largest transfers of UNI\" (sort `-value`), \"yields above 8%\" (`yields`), \"market cap by chain\" (`tokens` by chain, sum:market_cap), \"who owns the contract?\" (`contracts`). Name `columns`; `tables` explains them.",
    ),
    (
        "table_counts",
        "How OFTEN each value of a column occurs. Use for \"how many tokens are on each chain?\", \"how many posts per platform?\". Columns: see `table`. Quartiles and mean of numbers: `table_describe`. Sums and means per group: `table`.",
    ),
    (
        "table_describe",
        "Statistics of a column: min, max, mean, quartiles, histogram, missing. Use for \"what is the median market cap?\". Columns: see `table`. How often each value occurs: `table_counts`.",
    ),
    (
        "datasets",
        "How FRESH and complete the data is: files, times, rejected rows, missing tables with reasons, load failures. Use for \"how old \
        is the data?\", \"why is there no price?\". Columns of the tables: `tables`.",
    ),
    (
        "jobs",
        "Deep analyses and their status. Use for \"is my analysis done?\". Results of one: `job_report`. Start one: `create_job`.",
    ),
    (
        "create_job",
        "STARTS a deep analysis of one or several tokens in the background: every analysis of each, with a report. Use for \"start a deep analysis of UNI\". Then `jobs`, `job_report`.",
    ),
    (
        "job_report",
        "Results of ONE deep analysis, by id from `jobs`; partial while it runs.",
    ),
    (
        "alerts",
        "The alerts the user has SET and when they fired. Use for \"which of my alerts fired?\". Set one: `add_alert`. How often a condition would have fired: `rehearse_alert`.",
    ),
    (
        "add_alert",
        "SETS an alert: notifies the user when a condition becomes true for one token or any. Use for \"tell me when the RSI of UNI falls under 30\". Try it on the past first: `rehearse_alert`. Those that are set: `alerts`.",
    ),
    (
        "rehearse_alert",
        "BACKTESTS a condition on the past: days on which `24h<-10` would have fired, and the price moves after. Use for \"what happened \
        when UNI fell 10% in a day?\". Alerts in use: `alerts`; set one: `add_alert`. Past chart patterns: `track_record`.",
    ),
];
