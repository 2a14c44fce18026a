//! Finds a table's columns of candle time and prices, by their names or, without a header, by their rows.

mod facts;

use self::facts::{by_time, candle_columns, clock, figures, time_cells, times};
use super::super::{
    evidence::{
        CellKind, kind,
        number::NumberStyle,
        ohlc::{self, FoundOrder, OhlcPlaces},
        when::{TimeStyle, early_year, without_zone},
    },
    names::{Names, is_one_of, plain},
    notation, pair,
    refusal::{COLUMN, Refusal},
    sheet::{RawTable, json::KEY},
};
use super::grid::{self, CandleTimes};
use model::{
    candles::Interval,
    time::{HOUR_MS, MINUTE_MS},
};
use std::collections::BTreeSet;

pub(crate) const PRICES: [&str; 4] = ["open", "high", "low", "close"];
pub(crate) const TIME_AND_PRICES: [&str; 5] = ["timestamp", "open", "high", "low", "close"];
/// Names of the candle's time; the first that is present and holds times wins. Names of the open time come first: a plain time beside one
/// of them may be the close time.
const TIMES: &str = "\
    opentime opentimeutc starttime start timestart timeperiodstart periodstart timeopen opentimestamp begin begins startat \
    candlebegintime intervalbegin intervalstart bucketstart windowstart periodbegin timestamp unix unixtimestamp unixtime time \
    datetime ts timestampms timestamputc candletime bartime bucket date dateutc datetimeutc timeutc candledatetimeutc utctime t d \
    day hour minute snappedat createdat evttime blocktime timestampunix datum zeit fecha data 日期 时间 交易日期 交易时间 дата время \
    日付 日時 날짜 timestampseconds gmttime localtime index id key";
/// Names of columns in which whole numbers may be days.
const DAYS: &str = "date day datum fecha data 日期 дата 日付 날짜";
const OPEN: &str = "open o opening erster first eröffn eröffnung apertura apert ouv ouverture abertura 开盘 开盘价 откр открытие 始値 시가";
const HIGH: &str = "high h max hoch máximo maximo máx haut plushaut máxima massimo 最高 最高价 макс максимум 高値 고가";
const LOW: &str =
    "low l min tief mínimo minimo mín bas plusbas mínima 最低 最低价 мин минимум 安値 저가";
pub(crate) const CLOSE: &str = "\
    close c closing trade last price zuletzt schluss schlusskurs último ultimo dernier clôture cierre 收盘 收盘价 цена закр закрытие \
    終値 종가 closelast adjclose";
/// Lists of the names of candle columns.
pub(crate) fn header_words() -> impl Iterator<Item = &'static str> {
    [TIMES, OPEN, HIGH, LOW, CLOSE].into_iter()
}

/// Currency and price markers that a column name may carry.
const MARKS: &str = "usd usdt usdc price priceusd usdprice inusd value";
const INTERVALS: &str = "interval timeframe granularity resolution period bar tf frequency";

/// The candle columns of a file, and the facts inferred from its sample.
#[derive(Debug, Clone)]
pub(crate) struct CandleColumns {
    pub time: usize,
    pub when: TimeStyle,
    /// The time of day, if in a column of its own.
    pub clock: Option<usize>,
    /// How the times become open times.
    pub placed: CandleTimes,
    pub prices: OhlcPlaces,
    pub style: NumberStyle,
    /// How many digits of the prices, which are written as whole numbers, are decimals.
    pub places: u32,
    pub interval: Option<usize>,
    /// The currency that the price columns' names carry.
    pub currency: Option<String>,
    /// The times of the sample rows, and the rows' indexes, oldest first.
    pub times: Vec<Option<i64>>,
    pub by_time: Vec<usize>,
    pub says: Vec<String>,
    /// Notes that every load repeats.
    pub notes: Vec<String>,
    /// The numbers of open, high, low and close in the sample rows.
    pub figures: [Vec<f64>; 4],
}

/// Builds the refusal: the reason, the options that would help, and the equivalent lines of `dataset.toml`.
pub(crate) fn refusal(sheet: &RawTable, why: &str, what: &str) -> Refusal {
    let name = |words: &str, or: usize| {
        Names::of(&sheet.names)
            .find(words)
            .or_else(|| (or < sheet.names.len()).then_some(or))
            .map_or("NAME", |at| sheet.names[at].as_str())
            .to_owned()
    };
    let (time, open, high, low, close) = (
        name(TIMES, 0),
        name(OPEN, 1),
        name(HIGH, 2),
        name(LOW, 3),
        name(CLOSE, 4),
    );
    Refusal::new(format!("looks like candles, but {why}; {what}")).lines(format!(
        "[tables.candles] columns = {{ timestamp = \"{time}\", open = \"{open}\", high = \"{high}\", low = \"{low}\", close = \"{close}\" }}"
    ))
}

/// The columns of time, open, high, low and close, by name.
pub(crate) fn named(sheet: &RawTable) -> Option<(usize, OhlcPlaces)> {
    let names = Names::of(&sheet.names);
    let prices = [
        price(&names, OPEN)?,
        price(&names, HIGH)?,
        price(&names, LOW)?,
        price(&names, CLOSE)?,
    ];
    let apart = prices
        .iter()
        .enumerate()
        .all(|(i, at)| !prices[..i].contains(at));
    let time = time(sheet, &names)?;
    (apart && !prices.contains(&time)).then_some((time, prices))
}

/// Whether another column has the same name and other cells, as those of two series side by side.
fn stands_twice(sheet: &RawTable, at: usize) -> bool {
    let twin = format!("{} (2)", sheet.names[at]);
    sheet
        .names
        .iter()
        .position(|name| *name == twin)
        .is_some_and(|other| sheet.column(at).ne(sheet.column(other)))
}

fn price(names: &Names, words: &str) -> Option<usize> {
    let marked = |name: &str| {
        // `trade_value` is a turnover.
        words
            .split_whitespace()
            .filter(|_| name != "tradevalue")
            .any(|word| {
                name.strip_prefix(word)
                    .is_some_and(|rest| is_one_of(rest, MARKS) || pair::is_currency(rest))
                    && word.len() > 1
                    || name
                        .strip_suffix(word)
                        .is_some_and(|rest| word.len() > 1 && is_one_of(rest, MARKS))
            })
    };
    names
        .find(words)
        .or_else(|| (0..names.len()).find(|&at| marked(names.whole(at)) || marked(names.last(at))))
}

/// The time column: by name, else a column that holds only times.
fn time(sheet: &RawTable, names: &Names) -> Option<usize> {
    let reads = |at: usize| {
        let cells: Vec<&str> = sheet.column(at).take(200).collect();
        match TimeStyle::of(&cells) {
            // Numbers of rows and blocks rise by one too.
            Ok(Some(TimeStyle::Days)) => is_one_of(names.last(at), DAYS),
            style => style != Ok(None),
        }
    };
    let known: Vec<usize> = names.in_order(TIMES).filter(|&at| reads(at)).collect();
    // Excel serial dates look like prices, so a column counts as times only by its name, or as the first unnamed one that reads as times.
    let apart = || {
        (0..names.len()).find(|&at| {
            (sheet.names[at].starts_with("column ")
                || names.whole(at).starts_with("unnamed")
                || sheet.names[at] == KEY)
                && reads(at)
        })
    };
    let written = || (0..names.len()).find(|&at| kind(sheet.column(at).take(50)) == CellKind::Time);
    // Monotonic numbers in the range of present-day epochs can only be times.
    let epochs = || {
        (0..names.len()).find(|&at| {
            TimeStyle::of(&sheet.column(at).collect::<Vec<_>>()) == Ok(Some(TimeStyle::Epoch))
                && rises(sheet, at)
        })
    };
    // Of several, the first that is on full minutes: candles open there, whereas last trades and close times are off.
    let to_the_minute = |at: &usize| {
        let cells: Vec<&str> = sheet.column(*at).filter(|cell| !cell.is_empty()).collect();
        TimeStyle::of(&cells).ok().flatten().is_some_and(|when| {
            cells
                .iter()
                .all(|cell| when.ms(cell).is_some_and(|ms| ms % MINUTE_MS == 0))
        })
    };
    let known = known
        .iter()
        .copied()
        .find(to_the_minute)
        .or_else(|| known.first().copied());
    let found = known.or_else(apart).or_else(written).or_else(epochs)?;
    let universal =
        || (0..names.len()).find(|&at| is_universal(sheet, at) && differ_by_zone(sheet, found, at));
    if is_universal(sheet, found) {
        Some(found)
    } else {
        universal().or(Some(found))
    }
}

/// Whether the times are certainly in UTC: seconds since 1970, or times with an offset or under a name with `UTC`.
fn is_universal(sheet: &RawTable, at: usize) -> bool {
    let is_zoned =
        |cell: &str| without_zone(cell).is_some_and(|(rest, _)| rest.len() < cell.trim().len());
    let mut filled = sheet
        .column(at)
        .filter(|cell| !cell.trim().is_empty())
        .take(200)
        .peekable();
    let is_stated =
        plain(&sheet.names[at]).ends_with("utc") || filled.peek().is_some() && filled.all(is_zoned);
    is_stated && kind(sheet.column(at).take(200)) == CellKind::Time || is_epoch(sheet, at)
}

fn is_epoch(sheet: &RawTable, at: usize) -> bool {
    TimeStyle::of(&sheet.column(at).collect::<Vec<_>>()) == Ok(Some(TimeStyle::Epoch))
}

/// Whether two columns give the same times in two time zones: whole half hours apart, and not by one candle, as its start and its end are. Over a
/// change of clocks there are two such differences.
fn differ_by_zone(sheet: &RawTable, one: usize, other: usize) -> bool {
    let read = |at: usize| -> Option<Vec<i64>> {
        let cells: Vec<&str> = sheet.column(at).collect();
        let style = TimeStyle::of(&cells).ok().flatten()?;
        cells.iter().map(|cell| style.ms(cell)).collect()
    };
    let (Some(one), Some(other)) = (read(one), read(other)) else {
        return false;
    };
    let apart: BTreeSet<i64> = one
        .iter()
        .zip(&other)
        .map(|(one, other)| one - other)
        .collect();
    let step = Interval::between(one).0;
    let is_zone = |apart: &i64| {
        *apart != 0
            && apart.abs() != step
            && apart.abs() <= 14 * HOUR_MS
            && apart % (HOUR_MS / 2) == 0
    };
    matches!(apart.len(), 1 | 2) && apart.iter().all(is_zone)
}

/// The note about a column with the same times in a time zone that the file does not name.
fn local_times(sheet: &RawTable, time: usize) -> Option<String> {
    let mut others = (0..sheet.names.len())
        .filter(|&at| at != time && is_universal(sheet, time) && !is_universal(sheet, at));
    let local = others.find(|&at| differ_by_zone(sheet, at, time))?;
    Some(format!(
        "assumed: times from `{}`, which are in UTC; `{}` has the same times in another time zone",
        sheet.names[time], sheet.names[local]
    ))
}

/// Finds the candle columns. Errors: what the user has to specify. `None` if these are no candles.
pub(crate) fn columns(
    sheet: &RawTable,
    map: &[(String, String)],
    ends: bool,
) -> Result<Option<CandleColumns>, Refusal> {
    let said = |ours: &str| {
        map.iter()
            .find(|(known, _)| known == ours)
            .and_then(|(_, theirs)| sheet.names.iter().position(|name| name == theirs))
    };
    let wanted = [
        ("open", OPEN),
        ("high", HIGH),
        ("low", LOW),
        ("close", CLOSE),
    ];
    if said("timestamp").is_some() || wanted.iter().any(|(ours, _)| said(ours).is_some()) {
        let names = Names::of(&sheet.names);
        let of = |(ours, words): (&str, &str)| {
            said(ours).or_else(|| price(&names, words).filter(|_| sheet.named))
        };
        let prices = wanted.map(of);
        let time = said("timestamp").or_else(|| time(sheet, &names).filter(|_| sheet.named));
        if let ([Some(open), Some(high), Some(low), Some(close)], Some(time)) = (prices, time) {
            return four_columns_or_one(sheet, [open, high, low, close]).and_then(|says| {
                let mut found = candle_columns(sheet, time, [open, high, low, close], true, ends)?;
                found.notes.extend(says);
                Ok(Some(found))
            });
        }
    }
    if sheet.named
        && let Some((time, prices)) = named(sheet)
    {
        if let Some(&twice) = prices.iter().find(|&&at| stands_twice(sheet, at)) {
            let what = "map the columns with --map, or save each series as a separate file";
            let refused = refusal(
                sheet,
                &format!(
                    "`{}` appears twice in its header, over different prices",
                    sheet.names[twice]
                ),
                what,
            );
            return Err(Refusal {
                lines: None,
                ..refused
            }
            .saying(TIME_AND_PRICES.map(|ours| ("map", format!("{ours}={COLUMN}")))));
        }
        return candle_columns(sheet, time, prices, false, ends).map(Some);
    }
    if sheet.named {
        early_times(sheet).map_or(Ok(None), Err)
    } else {
        unnamed(sheet)
    }
}

/// Refuses candles whose times are from before any token traded.
fn early_times(sheet: &RawTable) -> Option<Refusal> {
    let names = Names::of(&sheet.names);
    if ![OPEN, HIGH, LOW, CLOSE]
        .iter()
        .all(|words| price(&names, words).is_some())
    {
        return None;
    }
    let early = |at: usize| {
        sheet
            .column(at)
            .find(|cell| !cell.is_empty())
            .and_then(|cell| Some((at, cell, early_year(cell)?)))
    };
    let (at, cell, year) = names.in_order(TIMES).find_map(early)?;
    let what = if year < 1972 {
        "seconds since 1970 were probably read as milliseconds; multiply them by 1000, or use the file with the original numbers"
    } else {
        "remove the rows from before 2008"
    };
    Some(Refusal::new(format!(
        "looks like candles, but `{cell}` in `{}` is in {year}, before any token traded; {what}",
        sheet.names[at]
    )))
}

/// Refuses one column used for two prices; if it is used for all four, returns the note for such candles.
fn four_columns_or_one(sheet: &RawTable, prices: OhlcPlaces) -> Result<Option<String>, Refusal> {
    let twice = (1..4).find(|&at| prices[..at].contains(&prices[at]));
    let Some(twice) = twice else { return Ok(None) };
    let name = &sheet.names[prices[twice]];
    if prices.iter().all(|at| *at == prices[0]) {
        return Ok(Some(format!(
            "warning: it has only one price per time, `{name}`, so open, high, low and close are equal; ranges and patterns of such \
                candles are meaningless"
        )));
    }
    let shown: Vec<&str> = PRICES
        .iter()
        .zip(prices)
        .filter(|(_, at)| *at == prices[twice])
        .map(|(ours, _)| *ours)
        .collect();
    Err(format!(
        "has only one column, `{name}`, for {}; a candle needs four price columns, or one column for all four",
        shown.join(" and ")
    )
    .into())
}

/// Headerless columns: a time followed by prices that fit exactly one order.
fn unnamed(sheet: &RawTable) -> Result<Option<CandleColumns>, Refusal> {
    let width = sheet.names.len();
    if !(5..=16).contains(&width) || sheet.first.is_empty() {
        return Ok(None);
    }
    let when = |at: usize| TimeStyle::of(&sheet.column(at).take(200).collect::<Vec<_>>());
    let Some(time) =
        (0..width.min(3)).find(|&at| !matches!(when(at), Ok(None | Some(TimeStyle::Days))))
    else {
        return Ok(None);
    };
    let spaced = kind(sheet.column(time).take(50)) == CellKind::Time
        || rises(sheet, time)
        || has_close_times(sheet);
    let rest: Vec<usize> = (time + 1..width)
        .filter(|&at| kind(sheet.column(at).take(50)) == CellKind::Number)
        .collect();
    if rest.len() < 4 || !spaced {
        return Ok(None);
    }
    let style = notation::style(sheet, &rest).ok_or(
        "has numbers with a decimal comma and others with a decimal point; use one notation",
    )?;
    let numbers: Vec<Vec<f64>> = rest.iter().map(|&at| figures(sheet, at, style)).collect();
    let times = times(
        &time_cells(sheet, time, clock(sheet, time)),
        when(time).ok().flatten().unwrap_or(TimeStyle::MonthFirst),
    );
    let told = ohlc::find_order(&numbers, &by_time(sheet, &times));
    match told {
        FoundOrder::Nothing => Ok(None),
        FoundOrder::Order(order) => {
            let mut found = candle_columns(sheet, time, order.map(|at| rest[at]), false, false)?;
            found.says.push(if order == [0, 1, 2, 3] || order.iter().any(|at| *at > 3) {
                "its columns have no names and are identified from the rows: open, high, low, close; high and low fit every row, and \
                 each candle opens where the last one closed"
                    .to_owned()
            } else {
                let shown = [0, 1, 2, 3].map(|at| PRICES[order.iter().position(|place| *place == at).unwrap_or(at)]);
                format!(
                    "its columns have no names, and its prices are in the order {}; high and low fit every row, and each candle opens \
                     where the last one closed",
                    shown.join(", ")
                )
            });
            Ok(Some(found))
        }
        FoundOrder::Several(orders) => {
            let named = |order: &OhlcPlaces| -> Vec<String> {
                let named = PRICES
                    .iter()
                    .zip(order)
                    .map(|(price, at)| format!("{price}={}", sheet.names[rest[*at]]));
                std::iter::once(format!("timestamp={}", sheet.names[time]))
                    .chain(named)
                    .collect()
            };
            let shown = |order: &OhlcPlaces| {
                named(order)
                    .iter()
                    .map(|map| format!("--map {map}"))
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            Err(refusal(
                sheet,
                "its columns have no names, and its rows fit more than one order of the prices",
                &format!(
                    "map them, as in `{}` or `{}`",
                    shown(&orders[0]),
                    shown(orders.get(1).unwrap_or(&orders[0]))
                ),
            )
            .saying(TIME_AND_PRICES.map(|ours| ("map", format!("{ours}={COLUMN}")))))
        }
    }
}

/// Whether the seventh number is a close time, a millisecond before the next row, as in Binance klines.
pub(crate) fn has_close_times(sheet: &RawTable) -> bool {
    let spans = |row: &Vec<String>| {
        let number = |at: usize| row.get(at).and_then(|cell| cell.parse::<f64>().ok());
        number(0)
            .zip(number(6))
            .is_some_and(|(open, close)| open > 1e11 && close > open && close < open * 1.01)
    };
    !sheet.named && !sheet.first.is_empty() && sheet.first.iter().take(50).all(spans)
}

/// Whether the column is nearly monotonic, as times are.
fn rises(sheet: &RawTable, at: usize) -> bool {
    let numbers: Vec<f64> = sheet
        .column(at)
        .filter_map(|cell| cell.trim().parse().ok())
        .collect();
    let up = numbers.windows(2).filter(|two| two[1] > two[0]).count();
    let down = numbers.windows(2).filter(|two| two[1] < two[0]).count();
    numbers.len() > 1 && (up.max(down)) * 100 >= (numbers.len() - 1) * 90
}

impl CandleColumns {
    /// Refuses prices whose column names carry another currency.
    pub(crate) fn in_dollars(&self, as_usd: bool) -> Result<(), Refusal> {
        match &self.currency {
            Some(currency) if !as_usd && !pair::is_dollar(currency) => Err(format!(
                "has prices in {} (from its column names), but candles must be in USD; use a file with prices in USD, or pass \
                 --as-usd if they are in USD",
                currency.to_uppercase()
            )
            .into()),
            _ => Ok(()),
        }
    }

    /// Whether rows are marked as those of whole candles or not.
    pub(crate) fn marks(&self, sheet: &RawTable) -> bool {
        self.placed.marks(grid::has_more(sheet))
    }

    /// Whether some sample rows have no prices, as sources write periods without trades.
    pub(crate) fn has_empty_rows(&self) -> bool {
        (0..self.figures[0].len()).any(|row| self.is_empty_row(row))
    }

    /// Whether a sample row has no prices.
    pub(crate) fn is_empty_row(&self, row: usize) -> bool {
        self.figures
            .iter()
            .all(|figures| figures[row].is_nan() || figures[row] == 0.0)
    }

    /// The most frequent step between the sample's times, in milliseconds.
    pub(crate) fn step(&self) -> i64 {
        Interval::between(self.times.iter().flatten().copied().collect()).0
    }

    /// The sample rows that are picked, oldest first.
    pub(crate) fn picked_rows(&self, sheet: &RawTable, picked: &[(String, String)]) -> Vec<usize> {
        let places: Vec<(usize, &str)> = (picked.iter())
            .filter_map(|(name, value)| {
                Some((
                    sheet
                        .names
                        .iter()
                        .position(|known| known.eq_ignore_ascii_case(name))?,
                    value.as_str(),
                ))
            })
            .collect();
        let is_picked = |row: usize| {
            places
                .iter()
                .all(|(at, value)| sheet.first[row][*at].trim() == *value)
        };
        self.by_time
            .iter()
            .copied()
            .filter(|row| is_picked(*row))
            .collect()
    }

    /// The share of sample rows that have the time of another row but different prices.
    pub(crate) fn repeated_times(&self, sheet: &RawTable, picked: &[(String, String)]) -> f64 {
        let rows = self.picked_rows(sheet, picked);
        let same = |a: usize, b: usize| self.times[a] == self.times[b];
        let differs = |a: usize, b: usize| {
            self.prices
                .iter()
                .any(|&at| sheet.first[a][at] != sheet.first[b][at])
        };
        let repeated = rows
            .windows(2)
            .filter(|two| same(two[0], two[1]) && differs(two[0], two[1]))
            .count();
        // A single duplicate is an error in one row, not a second series.
        if repeated < 2 {
            0.0
        } else {
            repeated as f64 / rows.len() as f64
        }
    }
}
