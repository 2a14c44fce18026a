//! The columns of the token list, one table row each: a row is all it takes for the API, its document, `where`, `sort`, `fields`, exports
//! and alerts. The terminal decides how to draw a column, and `compute` how to compute a metric.

mod compute;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};

use super::{caches::SecuritySummary, list::Listed};
use analysis::{
    indicators::{Indicator, from_52w_high},
    market::TokenSummary,
    patterns::{AdviceWord, Pattern, PatternName, PatternsAnswer, TradeAction},
    trendlines::Trend,
};
use model::{
    candles::{Candles, Interval},
    chain::Chain,
    scalar::Scalar,
    time::Time,
};
use table::filter::{AddressOf, ColumnKind, ColumnValues, FilterColumn};

pub use self::compute::{figures, is_by_patterns, is_of_candles, of_candles, precomputed};
pub use super::figure::{FigureValue, Figures};

/// Source of a computed metric; shared sources are computed once.
#[derive(Clone, Copy)]
enum FigureSource {
    /// The trend of the trendline analysis.
    Trend,
    /// The patterns of daily candles.
    Patterns(fn(&PatternsAnswer) -> Option<FigureValue>),
    /// Daily candles with plausible prices, none if they end long before the newest in the data.
    Days(fn(&Candles<'_>) -> Option<f64>),
    /// The security inference.
    Security(fn(&SecuritySummary) -> FigureValue),
}

/// A member that `fields` adds, in the API document.
struct AddedRow {
    name: &'static str,
    meaning: &'static str,
    schema: fn(&mut SchemaGenerator) -> Schema,
}

/// Makes the tables out of one. `every`: members of each token; `added`: what each token has, answered on request; `computed`: what is worked
/// out on request. A row has the column, kind, aliases and what else the filter knows; for members that `fields` adds also their JSON type and
/// meaning; and where the value comes from.
macro_rules! columns {
    (
        every { $($every:literal: $every_kind:ident $every_aliases:tt $(.$every_with:ident($($every_given:expr)?))* = $every_value:expr;)* }
        added { $($known:literal: $known_kind:ident $known_aliases:tt, $known_type:ty, $known_meaning:literal = $known_value:expr;)* }
        computed { $($name:literal: $kind:ident $aliases:tt $(.$with:ident($($given:expr)?))*, $type:ty, $meaning:literal = $source:expr;)* }
    ) => {
        /// All values of `fields`, in the order of the answer.
        pub const FIELDS: &[&str] = &[$($known,)* OWN_COLUMNS, $($name,)*];

        /// The metrics that are computed on request; all other metrics are precomputed.
        pub const COMPUTED: &[&str] = &[$($name),*];

        $(const _: () = assert!(
            matches!(ColumnKind::$known_kind, ColumnKind::Number | ColumnKind::Time | ColumnKind::Duration),
            "only numbers, times and durations can be added: see `FigureValue::of`"
        );)*

        const SOURCES: &[(&str, FigureSource)] = &[$(($name, $source)),*];

        const ADDED: &[AddedRow] = &[
            $(AddedRow { name: $known, meaning: $known_meaning, schema: nullable::<$known_type> },)*
            AddedRow { name: OWN_COLUMNS, meaning: "Extra columns of the `tokens` file, by name.", schema: nullable::<Map<String, Value>> },
            $(AddedRow { name: $name, meaning: $meaning, schema: nullable::<$type> },)*
        ];

        impl Listed for TokenEntry {
            const COLUMNS: &'static [FilterColumn] = &[
                $(FilterColumn::new($every, ColumnKind::$every_kind, &$every_aliases)$(.$every_with($($every_given)?))*,)*
                $(FilterColumn::new($known, ColumnKind::$known_kind, &$known_aliases),)*
                $(FilterColumn::new($name, ColumnKind::$kind, &$aliases)$(.$with($($given)?))*,)*
            ];
            /// The members of every token, then those added by `fields`.
            const MEMBERS: &'static [&'static str] = &[
                "token_address", "symbol", "name", "chains", "price", "market_cap", "price_change_24h", "holders", "holders_growth",
                "price_history", $($known,)* OWN_COLUMNS, $($name,)*
            ];

            fn field(&self, column: &str) -> Scalar<'_> {
                if is_computed(column) { self.figures.get(column).map(FigureValue::field).into() } else { value(&self.summary, column) }
            }
        }

        /// The token's value in a column that is not computed.
        pub fn value<'a>(token: &'a TokenSummary, column: &str) -> Scalar<'a> {
            type Read = for<'t> fn(&'t TokenSummary) -> Scalar<'t>;
            let read: Read = match column {
                $($every => $every_value,)*
                $($known => $known_value,)*
                _ => return Scalar::Missing,
            };
            read(token)
        }
    };
}

/// The member of the `tokens` file's extra columns.
const OWN_COLUMNS: &str = "own";

columns! {
    every {
        "symbol": Text [].searched() = |token| token.symbol.as_deref().into();
        "name": Text [].searched() = |token| token.name.as_deref().into();
        "token_address": Text ["address"].addresses(AddressOf::Tokens) = |token| Scalar::text(token.token_address.to_string());
        "chain": Chain ["chains"].of_chains(Vec::new()) = |token| Scalar::list(token.chains.iter().map(Chain::as_str));
        "price": Number [] = |token| token.price.into();
        "price_change_24h": Number ["24h", "change"] = |token| token.price_change_24h.into();
        "market_cap": Number ["cap", "mcap"] = |token| token.market_cap.into();
        "holders": Number [] = |token| token.holders.into();
        "holders_growth": Number ["growth"] = |token| token.holders_growth.into();
    }
    added {
        "created_at": Time ["created"], Time, "Deployment time of the contract; null if unknown."
            = |token| token.created_at.into();
        "age": Duration [], f64, "Days from deployment to the newest time in the data." = |token| token.age.map(Scalar::Duration).into();
        "as_of": Time ["asof"], Time, "Start of the last candle." = |token| token.last_candle.map(|last| last.start).into();
        "price_as_of": Time [], Time, "Time of the price: from the file, or the start of the candle that supplied it; null if unknown."
            = |token| token.price_as_of.into();
        "market_cap_as_of": Time ["cap_as_of"], Time,
            "Time of the market cap: from the file, or the earlier time of price and supply if it is their product; null if unknown."
            = |token| token.market_cap_as_of.into();
        "holders_as_of": Time [], Time, "Time of the holder count, from the file; null if unknown."
            = |token| token.holders_as_of.into();
        "volume_24h": Number ["vol", "volume"], f64,
            "USD traded in the 24 hours up to the end of the last candle: the sum over those candles of `volume_usd`, or of volume × \
            close where that is unknown; if they do not reach back a day or a volume is unknown, the sum of `volume24h` over the \
            token's pools; null if the candles are stale." = |token| token.volume_24h.into();
        "liquidity": Number ["liq"], f64, "USD: the sum of `liquidity` over the token's pools."
            = |token| token.liquidity.into();
        "price_change_1h": Number ["1h"], f64,
            "Percent change over the last hour; null if no close from that long ago is known, or if the candles are stale: more than \
            three candles behind the newest from their source, or three days behind the other tokens." = |token| token.price_change_1h.into();
        "price_change_7d": Number ["7d"], f64, "Percent change over the last 7 days; null under the same conditions as for the last hour."
            = |token| token.price_change_7d.into();
        "price_change_30d": Number ["30d"], f64, "Percent change over the last 30 days; null under the same conditions as for the last \
            hour."
            = |token| token.price_change_30d.into();
        "mentions": Number ["mentions_7d"], i64,
            "Number of posts about the token in the 7 days up to the newest post of the dataset, without dropped and deleted posts; null \
            for a token without posts." = |token| token.mentions.into();
        "engagement_7d": Number [], i64, "Reactions to these posts; null if none is known." = |token| token.engagement_7d.into();
        "decimals": Number [], i64, "Decimal places of the token: an amount of 1 is 10^decimals base units; null if unknown."
            = |token| token.decimals.into();
    }
    computed {
        "trend": Text [].of_words(trends), Trend, "Trend label of the trendline analysis; null without candles." = FigureSource::Trend;
        "best_pattern": Text ["pattern"].of_words(patterns), Pattern,
            "Daily-candle pattern with the highest `confidence`, discounted by age; null if there is none."
            = FigureSource::Patterns(|answer| {
                Some(FigureValue::Pattern(Box::new(Pattern { detail: None, ..answer.best()?.clone() }), answer.best_status()))
            });
        "recommendedAction": Text ["action"].of_words(actions), TradeAction,
            "Advice from the token's daily candles, as in GET /technical/{contractAddress}/patterns: `hold` until the track record of all \
            tokens has been computed; null without daily candles." = FigureSource::Patterns(|answer| Some(answer.recommended_action.into()));
        "advice": Text [].of_words(advices), AdviceWord,
            "`recommendedAction` with one more value: `watch` if patterns point one way but nothing shows that following them pays; null \
            without daily candles." = FigureSource::Patterns(|answer| Some(answer.advice.as_ref()?.word.into()));
        "signal": Text [].of_words(actions), TradeAction,
            "What the daily-candle patterns alone suggest, before track record, candle age and security are considered; null without \
            daily candles." = FigureSource::Patterns(|answer| Some(answer.signal.map_or(TradeAction::Hold, |signal| signal.action).into()));
        "securityScore": Number ["score"], i64,
            "Security score; null without security data, and if the recommendation is `NOT ENOUGH DATA`."
            = FigureSource::Security(|summary| summary.known_score().map_or(FigureValue::Unknown, |score| FigureValue::Value(Scalar::Whole(score))));
        "recommendation": Text [], String,
            "Leading word of the security recommendation; null without security data. `NOT ENOUGH DATA` means that the score is unknown."
            = FigureSource::Security(|summary| FigureValue::Value(Scalar::text(summary.recommendation)));
        "security_changed": Flag [], bool,
            "Whether code, owner, taxes, trades or owner privileges differ from the previous scan. Scans of the files are compared only \
                while the program runs. False after a single scan, null without security data." = FigureSource::Security(|summary| FigureValue::Value(Scalar::Flag(summary.changed)));
        "largest_cluster": Number ["cluster"].fraction(), f64,
            "Fraction of the free supply that the largest cluster of holders has (see /tokens/{token_address}/clusters), 0 without \
            clusters; null without all transfers of the token."
            = FigureSource::Security(|summary| {
                let share = |share| FigureValue::Value(Scalar::Float(share));
                summary.largest_cluster.map_or(FigureValue::Unknown, share)
            });
        "rsi_14": Number ["rsi"], f64,
            "Relative strength index (RSI) over 14 daily candles, 0–100, at the last candle, as in \
            `/technical/{contractAddress}/indicators`; null with fewer candles, or if they end long before the newest in the data." = FigureSource::Days(|days| Indicator::Rsi(14).last(days));
        "from_52w_high": Number ["52w_high", "52w"], f64,
            "Percent distance of the last daily close from the highest high of the year (365 days) up to it: 0 at that high, otherwise negative; \
            null if the candles do not reach back a year, or end long before the newest in the data."
            = FigureSource::Days(|days| from_52w_high(days, Interval::DAY.0));
    }
}

/// Whether the column is a metric that is computed on request.
pub fn is_computed(column: &str) -> bool {
    COMPUTED.contains(&column)
}

/// Whether the metric needs the security assessment, which is slow.
pub fn is_inferred(column: &str) -> bool {
    SOURCES
        .iter()
        .any(|(name, source)| *name == column && matches!(source, FigureSource::Security(_)))
}

/// The words that a column can have; none of other columns.
pub fn words(column: &str) -> Vec<&'static str> {
    let known = TokenEntry::COLUMNS
        .iter()
        .find(|known| known.name == column);
    known.map_or_else(Vec::new, |known| {
        if let ColumnValues::Words(words) = known.values {
            words()
        } else {
            Vec::new()
        }
    })
}

fn nullable<T: schemars::JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<Option<T>>()
}

fn trends() -> Vec<&'static str> {
    [Trend::Uptrend, Trend::Sideways, Trend::Downtrend]
        .map(Trend::word)
        .to_vec()
}

fn patterns() -> Vec<&'static str> {
    PatternName::ALL.iter().map(|name| name.word()).collect()
}

fn actions() -> Vec<&'static str> {
    [
        TradeAction::StrongBuy,
        TradeAction::Buy,
        TradeAction::Hold,
        TradeAction::Sell,
        TradeAction::StrongSell,
    ]
    .map(TradeAction::word)
    .to_vec()
}

fn advices() -> Vec<&'static str> {
    AdviceWord::ALL.map(AdviceWord::word).to_vec()
}

/// A token in a list.
#[derive(Debug, Clone, PartialEq, serde::Serialize, schemars::JsonSchema)]
#[schemars(rename = "TokenSummary")]
pub struct TokenEntry {
    #[serde(flatten)]
    pub summary: TokenSummary,
    #[serde(flatten)]
    pub figures: Figures,
}

impl std::ops::Deref for TokenEntry {
    type Target = TokenSummary;

    fn deref(&self) -> &TokenSummary {
        &self.summary
    }
}

impl JsonSchema for Figures {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Figures".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let property = |row: &AddedRow, generator: &mut SchemaGenerator| {
            let mut schema = (row.schema)(generator);
            schema.insert("description".into(), row.meaning.into());
            (row.name.to_owned(), schema.to_value())
        };
        let properties: Map<String, Value> =
            ADDED.iter().map(|row| property(row, generator)).collect();
        json_schema!({ "type": "object", "properties": properties })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;
    use crate::queries::{snapshot::Snapshot, tests, tokens::TokensQuery};
    use model::{
        error::{Code, Result},
        time::DAY_MS,
    };

    /// A token that rises for twenty days, and one without any data.
    pub(in crate::queries) fn snapshot() -> Snapshot {
        let candles = (1..=20)
            .map(|day| format!("0x1,2026-01-{day:02},{day},{day},{day},{day},1d\n"))
            .collect::<Vec<_>>()
            .concat();
        tests::snapshot(&[
            (
                "tokens",
                "token_address,symbol,name,chain\n0x1,UP,Up,eth\n0x2,NONE,None,eth",
            ),
            (
                "candles",
                &format!("token_address,timestamp,open,high,low,close,interval\n{candles}"),
            ),
        ])
    }

    fn found(snapshot: &Snapshot, query: &str) -> Result<Value> {
        Ok(
            serde_json::to_value(tests::answered::<TokensQuery>(snapshot, &[], query)?.tokens)
                .unwrap(),
        )
    }

    fn ask(query: &str) -> Result<Value> {
        found(&snapshot(), query)
    }

    #[test]
    fn figures_are_added_where_they_are_asked_for_and_null_without_candles() {
        let figures = ask("fields=recommendedAction,trend,best_pattern,trend").unwrap();
        let of = |i: usize| {
            ["trend", "best_pattern", "recommendedAction"]
                .map(|field| figures[i].get(field).cloned())
        };
        assert_eq!(
            of(0),
            [
                Some(json!(Trend::Uptrend)),
                Some(Value::Null),
                Some(json!(TradeAction::Hold))
            ]
        );
        assert_eq!(
            of(1),
            [Some(Value::Null), Some(Value::Null), Some(Value::Null)]
        );
        assert_eq!(
            ask("only=symbol,trend").unwrap()[0],
            json!({ "symbol": "UP", "trend": "uptrend" })
        );
        assert_eq!(
            ask("only=symbol&fields=trend").unwrap()[0],
            json!({ "symbol": "UP" })
        );
        let bare = ask("fields=").unwrap();
        assert!(FIELDS.iter().all(|field| bare[0].get(field).is_none()));
        let refused = ask("fields=tend").unwrap_err();
        assert!(
            refused.code == Code::InvalidParameter
                && refused.detail.contains("did you mean `trend`?"),
            "{refused}"
        );
    }

    #[test]
    fn tokens_are_kept_and_ordered_by_figures_that_are_worked_out_for_that() {
        let symbols = |query: &str| {
            ask(&format!("only=symbol&{query}")).map(|tokens| tokens.as_array().map_or(0, Vec::len))
        };
        assert_eq!(symbols("where=trend:uptrend"), Ok(1));
        assert_eq!(
            symbols("where=trend!=uptrend"),
            Ok(0),
            "a token without candles has no trend"
        );
        assert_eq!(
            symbols("where=trend:uptrend%20chain:ethereum%20action=hold"),
            Ok(1)
        );
        assert_eq!(symbols("where=trend:downtrend"), Ok(0));
        for (sort, first) in [
            ("trend", "UP"),
            ("-trend,symbol", "UP"),
            ("symbol", "NONE"),
            ("-name,price", "UP"),
            ("price,-symbol", "UP"),
        ] {
            assert_eq!(
                ask(&format!("only=symbol&sort={sort}")).unwrap()[0],
                json!({ "symbol": first }),
                "{sort}"
            );
        }
        for (query, says) in [
            (
                "where=pric>1",
                "`where`: unknown column `pric`; did you mean `price`? Columns: symbol, name, ",
            ),
            (
                "where=price>x",
                "`where`: `x` is not a number; write `price>1000`, ",
            ),
            (
                "where=usd",
                "`where`: `usd` is not a condition; write column, operator and value, as in `symbol:usd`.",
            ),
            (
                "sort=pric",
                "`sort` names the unknown column `pric`; did you mean `price`? Expected up to 4 of symbol, ",
            ),
            (
                "sort=price,name,symbol,age,holders",
                "`sort` has 5 columns. Expected up to 4 of ",
            ),
            (
                "only=pric",
                "`only` names the unknown value `pric`; did you mean `price`? Expected one or more of token_address, ",
            ),
        ] {
            let refused = ask(query).unwrap_err();
            assert!(
                refused.code == Code::InvalidParameter && refused.detail.starts_with(says),
                "{query}: {refused}"
            );
        }
    }

    /// A token of 400 days that ends ten percent under the high of 365 days, which is on their first day, after a higher one on the day before;
    /// one of 30 days, and one whose candles ended long ago.
    fn ask_levels(query: &str) -> Value {
        let day = |token: u8, day: i64, close: f64| {
            let time = model::time::Time(day * DAY_MS);
            format!("0x{token},{time},{close},{close},{close},{close},1d\n")
        };
        let old = |at: i64| match at {
            34 => 30.0,
            35 => 20.0,
            at => 17.0 + (at % 2) as f64,
        };
        let rows: String = (0..400)
            .map(|at| day(1, 20_000 + at, old(at)))
            .chain((370..400).map(|at| day(2, 20_000 + at, at as f64)))
            .collect();
        let gone: String = (0..400).map(|at| day(3, 19_000 + at, old(at))).collect();
        let snapshot = tests::snapshot(&[
            (
                "tokens",
                "token_address,symbol,name,chain\n0x1,A,A,eth\n0x2,B,B,eth\n0x3,C,C,eth",
            ),
            (
                "candles",
                &format!("token_address,timestamp,open,high,low,close,interval\n{rows}{gone}"),
            ),
        ]);
        found(&snapshot, query).expect("an answer")
    }

    #[test]
    fn the_strength_of_a_token_and_how_far_it_is_from_its_high_are_asked_for_by_name() {
        let rows = ask_levels("fields=rsi_14,from_52w_high&sort=symbol");
        let of = |nth: usize| ["rsi_14", "from_52w_high"].map(|field| rows[nth][field].as_f64());
        let [rsi, high] = of(0);
        assert!(
            rsi.is_some_and(|rsi| (40.0..60.0).contains(&rsi)),
            "{rsi:?}"
        );
        assert!(
            high.is_some_and(|high| (high + 10.0).abs() < 1e-9),
            "{high:?}"
        );
        assert_eq!(
            of(1),
            [Some(100.0), None],
            "the price only rose, and the candles do not reach back a year"
        );
        assert_eq!(of(2), [None, None], "values from long ago are not current");
        for (query, expected) in [
            ("where=rsi<60", "A"),
            ("where=52w_high>-11", "A"),
            ("where=rsi>=99", "B"),
            ("sort=-rsi", "BAC"),
            ("sort=52w", "ABC"),
        ] {
            let rows = ask_levels(&format!("only=symbol&{query}"));
            let symbols: String = rows
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|row| row["symbol"].as_str())
                .collect();
            assert_eq!(symbols, expected, "{query}");
        }
    }

    /// A `tokens` file with a custom `rating` column, and a custom column whose name collides with a built-in one.
    fn ask_own(query: &str) -> Result<Value> {
        let snapshot = tests::snapshot(&[
            (
                "tokens",
                "token_address,symbol,name,chain,rating,age\n0x1,A,A,eth,3,old\n0x2,B,B,eth,5,new\n0x3,C,C,eth,,",
            ),
            (
                "pools",
                "address,dex_id,chain,token0,token1,liquidity,volume24h\n0xa,x,eth,0x1,0x2,100,7\n0xb,x,eth,0x1,0x3,50,",
            ),
        ]);
        found(&snapshot, query)
    }

    #[test]
    fn columns_of_the_file_that_are_not_ours_are_shown_filtered_and_ordered_by() {
        let symbols = |query: &str| {
            let rows = ask_own(&format!("only=symbol&{query}")).unwrap();
            rows.as_array()
                .unwrap()
                .iter()
                .filter_map(|row| row["symbol"].as_str())
                .collect::<String>()
        };
        assert_eq!(
            (
                symbols("where=rating>3"),
                symbols("where=rating>=3&sort=-rating"),
                symbols("sort=rating")
            ),
            ("B".into(), "BA".into(), "ABC".into())
        );
        // A colliding name takes the `own_` prefix.
        assert_eq!(
            (symbols("where=own_age:old"), symbols("where=age<90d")),
            ("A".into(), String::new())
        );
        let shown = ask_own("fields=own,liquidity,volume_24h&sort=symbol").unwrap();
        assert_eq!(shown[0]["own"], json!({ "rating": 3, "age": "old" }));
        assert_eq!(shown[2]["own"], json!({ "rating": null, "age": null }));
        assert_eq!(
            (&shown[0]["liquidity"], &shown[0]["volume_24h"]),
            (&json!(150.0), &json!(7.0))
        );
        assert_eq!(
            (&shown[2]["liquidity"], &shown[2]["volume_24h"]),
            (&json!(50.0), &Value::Null)
        );
        assert_eq!(symbols("where=liq>60%20vol>5"), "AB");
        let refused = ask_own("where=ratng>3").unwrap_err();
        assert!(
            refused.detail.contains("did you mean `rating`?"),
            "{refused}"
        );
        assert!(ask_own("sort=nothing").is_err());
    }

    #[test]
    fn tokens_are_filtered_and_ordered_by_their_recent_posts() {
        let snapshot = tests::snapshot(&[
            (
                "tokens",
                "token_address,symbol,name,chain\n0x1,A,A,eth\n0x2,B,B,eth\n0x3,C,C,eth",
            ),
            (
                "posts",
                "token_address,post_id,published_at,engagement\n0x1,a,2026-01-09,5\n0x2,b,2026-01-10,1\n0x2,c,2026-01-04,\n0x2,d,2026-01-03,9",
            ),
        ]);
        let shown = |query: &str| {
            let query = format!("fields=mentions,engagement_7d&{query}");
            let rows = found(&snapshot, &query).unwrap();
            let cells = |row: &Value| json!([row["symbol"], row["mentions"], row["engagement_7d"]]);
            json!(
                rows.as_array()
                    .unwrap()
                    .iter()
                    .map(cells)
                    .collect::<Vec<_>>()
            )
        };
        let (a, b, c) = (
            json!(["A", 1.0, 5.0]),
            json!(["B", 2.0, 1.0]),
            json!(["C", null, null]),
        );
        assert_eq!(shown("sort=-mentions"), json!([b, a, c]));
        assert_eq!(shown("where=mentions>1"), json!([b]));
        assert_eq!(shown("where=engagement_7d>1"), json!([a]));
    }

    #[test]
    fn an_old_pattern_gives_way_to_a_fresh_one_that_is_less_sure() {
        let pattern = |name, confidence, end_index| Pattern {
            name,
            confidence,
            completion_percent: 100.0,
            projected_movement: 1.0,
            start_index: 0,
            end_index,
            detail: None,
        };
        let (old, fresh) = (
            pattern(PatternName::DoubleTop, 0.9, 50),
            pattern(PatternName::Rectangle, 0.5, 95),
        );
        let answer = |patterns: &[&Pattern]| PatternsAnswer {
            patterns: patterns.iter().copied().cloned().collect(),
            ..PatternsAnswer::empty()
        };
        assert_eq!(answer(&[&fresh, &old]).best(), Some(&fresh));
        assert_eq!(answer(&[&old]).best(), Some(&old));
        assert_eq!(answer(&[]).best(), None);
        assert_eq!(
            answer(&[&fresh]).best_active(),
            None,
            "a plain response does not show which patterns are open"
        );
    }
}
