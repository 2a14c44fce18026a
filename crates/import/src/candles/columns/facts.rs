//! Checks candle columns against the sample rows and infers the facts about them: time format, number style, and the order of the prices,
//! which is rejected if the rows contradict it.

use super::{
    super::{
        grid::{self, CandleTimes, RowsSeen},
        times::{are_ends, foreign_zone, rounded, unzoned},
    },
    CandleColumns, INTERVALS, PRICES, TIME_AND_PRICES, local_times, refusal,
};
use crate::{
    edits::with_clock,
    evidence::{
        number::NumberStyle,
        ohlc::{self, FoundOrder, OhlcPlaces},
        when::{AmbiguousDate, TimeStyle},
    },
    names::{Names, plain},
    notation, pair,
    refusal::{COLUMN, DATES, Refusal},
    sheet::RawTable,
    zone::Zone,
};
use model::candles::Interval;

/// Maximum share of invalid candles for which the columns may still be those that their names say.
const BROKEN_FEW: f64 = 0.2;

pub(super) fn figures(sheet: &RawTable, at: usize, style: NumberStyle) -> Vec<f64> {
    sheet
        .column(at)
        .map(|cell| {
            style
                .plain(cell)
                .and_then(|text| text.parse().ok())
                .unwrap_or(f64::NAN)
        })
        .collect()
}

/// The column of times of day beside that of days.
pub(super) fn clock(sheet: &RawTable, time: usize) -> Option<usize> {
    let is_clock = |cell: &str| {
        let parts: Vec<&str> = cell.trim().split(':').collect();
        (2..=3).contains(&parts.len())
            && parts.iter().all(|part| {
                (1..=2).contains(&part.len()) && part.bytes().all(|digit| digit.is_ascii_digit())
            })
    };
    // `093000`, in a column whose name says so.
    let is_digits = |cell: &str| {
        let cell = cell.trim();
        let part = |from: usize| {
            format!("{cell:0>6}")[from..from + 2]
                .parse::<u32>()
                .unwrap_or(99)
        };
        (1..=6).contains(&cell.len())
            && cell.bytes().all(|digit| digit.is_ascii_digit())
            && part(0) < 24
            && part(2) < 60
            && part(4) < 60
    };
    let days = sheet.column(time).take(50).all(|cell| !cell.contains(':'));
    let all = |at: &usize, is: &dyn Fn(&str) -> bool| {
        sheet.column(*at).take(50).all(is) && sheet.column(*at).next().is_some()
    };
    let named = |at: &usize| ["time", "hour", "clock"].contains(&plain(&sheet.names[*at]).as_str());
    let others = || (0..sheet.names.len()).filter(|at| *at != time);
    days.then(|| {
        others()
            .find(|at| all(at, &is_clock))
            .or_else(|| others().find(|at| named(at) && all(at, &is_digits)))
    })
    .flatten()
}

/// The time cells of the sample rows, each joined with its time of day if that is a separate column.
pub(super) fn time_cells(sheet: &RawTable, time: usize, clock: Option<usize>) -> Vec<String> {
    let cell = |row: &Vec<String>| {
        clock.map_or_else(
            || row[time].clone(),
            |clock| with_clock(&row[time], &row[clock]),
        )
    };
    sheet.first.iter().map(cell).collect()
}

pub(super) fn times(cells: &[String], when: TimeStyle) -> Vec<Option<i64>> {
    cells.iter().map(|cell| when.ms(cell)).collect()
}

/// The sample rows by time; if the table joins several lists, only those of the first, as each is a series.
pub(super) fn by_time(sheet: &RawTable, times: &[Option<i64>]) -> Vec<usize> {
    let first =
        |row: usize| sheet.lists().len() < 2 || sheet.first[row].first() == sheet.lists().first();
    let mut rows: Vec<usize> = (0..times.len())
        .filter(|&row| times[row].is_some() && first(row))
        .collect();
    rows.sort_by_key(|&row| times[row]);
    rows
}

/// Builds the candle columns with the facts that the rows show.
pub(super) fn candle_columns(
    sheet: &RawTable,
    time: usize,
    prices: OhlcPlaces,
    said: bool,
    ends: bool,
) -> Result<CandleColumns, Refusal> {
    let clock = clock(sheet, time);
    let cells = time_cells(sheet, time, clock);
    let when = time_style(sheet, time, &cells)?;
    if let Some((zone, column)) = foreign_zone(sheet, time, when, &cells) {
        let why = format!(
            "its times are in the time zone `{zone}` (see its column `{column}`), but candles are in UTC"
        );
        let refused = refusal(
            sheet,
            &why,
            "convert them to UTC, or pass their time zone, as in --timezone Europe/Berlin or --timezone +01:00",
        );
        return Err(zone.parse().map_or(refused.clone(), |zone: Zone| {
            refused.say("timezone", zone.to_string())
        }));
    }
    let style = notation::style(sheet, &prices).ok_or_else(|| {
        refusal(
            sheet,
            "some of its prices have a decimal comma and others a decimal point",
            "use one notation",
        )
    })?;
    let figures = |prices: OhlcPlaces| prices.map(|at| figures(sheet, at, style));
    let times = times(&cells, when);
    if let Some(cell) = rounded(&cells, &times) {
        let why = format!(
            "`{cell}` in `{}` has lost its last digits, as spreadsheets round long numbers",
            sheet.names[time]
        );
        return Err(refusal(
            sheet,
            &why,
            "format the column as whole numbers and save it again, or use the original file",
        ));
    }
    let names = Names::of(&sheet.names);
    // A bare number may be minutes or seconds, which the steps between times decide; of a single candle, a small one is minutes.
    let is_single = times.iter().flatten().min() == times.iter().flatten().max();
    let intervals = |at: &usize| {
        let different = sheet.different(*at);
        let length = |text: &str| {
            text.parse::<i64>()
                .map_or(Interval::parse(text).is_some(), |number| {
                    is_single && (1..60).contains(&number)
                })
        };
        !different.is_empty() && different.iter().all(|text| length(text))
    };
    let interval = names.find(INTERVALS).filter(intervals);
    let ends = ends || are_ends(sheet, time);
    let placed = match (clock, interval) {
        (Some(_), _) => CandleTimes::default(),
        (None, Some(_)) => CandleTimes::of_lengths(&times, ends),
        (None, None) => CandleTimes::of(&times, ends, None),
    };
    let whole = placed.whole(&times, &mut RowsSeen::default());
    let times: Vec<Option<i64>> = times
        .iter()
        .zip(whole)
        .map(|(ms, whole)| ms.filter(|_| whole).map(|ms| placed.start(ms)))
        .collect();
    let unzoned = unzoned(sheet, time, when, &cells, &times);
    let by_time = by_time(sheet, &times);
    let (prices, reordered) = fitting_columns(sheet, prices, &figures(prices), &by_time, said)?;
    let mut says: Vec<String> = reordered.into_iter().collect();
    says.extend(when.says());
    says.extend(placed.ended.map(|_| grid::ENDS.to_owned()));
    if style.comma {
        says.push("its numbers have a decimal comma".to_owned());
    }
    let currency = PRICES
        .iter()
        .zip(prices)
        .find_map(|(_, at)| pair::currency_of(&plain(&sheet.names[at])));
    let figures = figures(prices);
    Ok(CandleColumns {
        time,
        when,
        clock,
        placed,
        prices,
        style,
        places: 0,
        interval,
        currency,
        times,
        by_time,
        says,
        notes: [
            notation::assumed(sheet, &prices, style),
            placed.assumed(),
            local_times(sheet, time),
            unzoned,
        ]
        .into_iter()
        .flatten()
        .collect(),
        figures,
    })
}

fn time_style(sheet: &RawTable, time: usize, cells: &[String]) -> Result<TimeStyle, Refusal> {
    let name = &sheet.names[time];
    match sheet.when(&cells.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(Some(when)) => Ok(when),
        Ok(None) => {
            let cell = cells
                .iter()
                .find(|cell| !cell.is_empty())
                .map_or("", String::as_str);
            let why = format!("`{cell}` in `{name}` is not a readable time");
            Err(refusal(
                sheet,
                &why,
                "write times as ISO 8601 or as seconds since 1970",
            ))
        }
        Err(AmbiguousDate) => {
            let why = format!(
                "`{}` in `{name}` could be day/month or month/day",
                sheet.column(time).next().unwrap_or_default()
            );
            Err(refusal(sheet, &why, "pass --dates day or --dates month").say("dates", DATES))
        }
    }
}

/// A price order that fits the rows, and the note if it differs from the names. Columns given by the user (`said`) are kept.
fn fitting_columns(
    sheet: &RawTable,
    prices: OhlcPlaces,
    figures: &[Vec<f64>; 4],
    by_time: &[usize],
    said: bool,
) -> Result<(OhlcPlaces, Option<String>), Refusal> {
    let (share, first) = ohlc::holds(figures, [0, 1, 2, 3]);
    // A few invalid rows are the file's errors; many mean that the columns are misnamed.
    let few = share >= 1.0 - BROKEN_FEW && first.is_some();
    if share >= 0.99 || sheet.broken_too && few {
        return Ok((prices, None));
    }
    let shown = |row: usize| {
        PRICES
            .iter()
            .zip(figures)
            .map(|(name, cells)| format!("{name} {}", cells[row]))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let (row, why) = first.map_or((0, String::new()), |row| (row + 1, shown(row)));
    let broken = (1.0 - share) * 100.0;
    let why = format!(
        "row {row} has {why}, which breaks the rule low ≤ open, close ≤ high, all above zero (as do {broken:.1}% of the \
        rows)"
    );
    match ohlc::find_order(figures, by_time) {
        FoundOrder::Order(order) if !said => {
            let prices = order.map(|at| prices[at]);
            let named: Vec<String> =
                PRICES.iter().zip(prices).map(|(ours, theirs)| format!("{ours} from `{}`", sheet.names[theirs])).collect();
            let says = format!(
                "the names of its price columns don't fit its rows ({why}); the only order that fits every row is used: {}",
                named.join(", ")
            );
            Ok((prices, Some(says)))
        }
        _ if first.is_none() => Err(refusal(sheet, "its prices are empty or not numbers", "use a file with prices")),
        _ if few => Err(refusal(
            sheet,
            &why,
            "use a file whose prices follow the rule, or pass --broken-too to import this one anyway; no \
                analysis uses these rows",
        )),
        // No option helps: the columns are known, and no other order of them fits.
        FoundOrder::Nothing if !said && PRICES.iter().zip(prices).all(|(ours, at)| plain(&sheet.names[at]) == *ours) => {
            Err(Refusal::new(format!(
                "looks like candles, but {why}. Its price columns have the usual names, so these rows are wrong; correct them at their \
                    source, or use a file whose prices follow the rule"
            )))
        }
        _ => Err(refusal(sheet, &why, "map the columns with --map open=NAME and so on, or use a file whose prices follow the rule")
            .saying(TIME_AND_PRICES.map(|ours| ("map", format!("{ours}={COLUMN}"))))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_columns_are_known_it_is_the_rows_that_are_wrong() {
        let rows = [
            ["date", "open", "high", "low", "close"],
            ["2026-01-01", "1.1", "1.0", "0.9", "1.2"],
        ];
        let refused = |renamed: Option<&str>, said: bool| {
            let mut rows: Vec<Vec<String>> = rows
                .iter()
                .map(|row| row.iter().map(|&cell| cell.to_owned()).collect())
                .collect();
            rows[0][1] = renamed.unwrap_or("open").to_owned();
            let sheet = RawTable::cells(rows).expect("a table");
            // One of four rows closes above its high, and no order of these columns fits all.
            let figures = [
                vec![1.0, 1.05, 1.1, 1.2],
                vec![1.1, 1.2, 1.0, 1.3],
                vec![0.9, 1.0, 0.9, 1.1],
                vec![1.05, 1.1, 1.2, 1.2],
            ];
            fitting_columns(&sheet, [1, 2, 3, 4], &figures, &[0, 1, 2, 3], said)
                .expect_err("a refusal")
        };
        let wrong = refused(None, false);
        assert!(
            wrong.reason.contains("row 3 has open 1.1")
                && wrong.reason.contains("these rows are wrong"),
            "{}",
            wrong.reason
        );
        assert_eq!(
            (wrong.say, wrong.lines),
            (Vec::new(), None),
            "no option helps"
        );
        for unsure in [refused(Some("first"), false), refused(None, true)] {
            assert!(
                unsure.reason.contains("--map open=NAME") && !unsure.say.is_empty(),
                "{}",
                unsure.reason
            );
        }
    }
}
