//! Candles of any source. Columns of time, prices and volume are found by name where there are names, and always checked against the rows,
//! so that a source needs no reader of its own.

mod columns;
pub(super) mod currency;
pub(super) mod grid;
mod lengths;
mod pools;
mod series;
mod times;
mod volume_units;
mod volumes;

use self::{
    columns::{CandleColumns, TIME_AND_PRICES, columns, refusal},
    volumes::{Volume, VolumeRule},
};
use super::{
    edits::{Fix, fixed},
    error::FileError,
    evidence::PriceRange,
    format::{FileToImport, ImportPlan, ImportedTable},
    names::Names,
    refusal::{COLUMN, Refusal, VALUE},
    rows::{Edited, numbers, put},
    sheet::RawTable,
    sniff::Sniffed,
    tokens::TokenMatch,
};
use load::{formats::RowSource, manifest::Unit};

pub(super) use self::columns::{PRICES, has_close_times, header_words};

/// How sources write that a candle has ended, and that it has not.
const YES: &[&str] = &["1", "true", "True", "TRUE"];
const NO: &[&str] = &["0", "false", "False", "FALSE"];

/// The column that says whether a candle has ended, as streams and some exchanges write it, and its value where one has. Without names it is
/// the last column, if the newest candle alone has not ended.
fn ended(sheet: &RawTable) -> Option<(&str, &str)> {
    const NAMES: &str = "confirm confirmed isconfirmed isclosed isfinal complete iscomplete x";
    let at = if sheet.named {
        Names::of(&sheet.names).find(NAMES)?
    } else {
        sheet.names.len().checked_sub(1)?
    };
    let cells: Vec<&str> = sheet.column(at).map(str::trim).collect();
    let yes = *cells.iter().find(|cell| YES.contains(cell))?;
    let open = cells.iter().filter(|cell| NO.contains(cell)).count();
    let is_flag = cells
        .iter()
        .all(|cell| YES.contains(cell) || NO.contains(cell));
    let ends = [cells.first()?, cells.last()?];
    let is_newest = open == 1 && cells.len() > 4 && ends.into_iter().any(|cell| NO.contains(cell));
    (is_flag && (sheet.named || is_newest)).then_some((&*sheet.names[at], yes))
}

/// Added column with the base volume, where the file's volume is not a number of tokens as written.
pub(super) const TOKENS_TRADED: &str = "tokens traded";

/// Note on prices of unknown currency.
pub(super) const IN_DOLLARS: &str = "assumed: prices are in USD, as the file names no currency";

/// Added column that marks rows with prices, where some have none.
pub(super) const TRADED: &str = "traded";

/// Whether the file has a time and four prices.
pub(super) fn is(sniffed: &Sniffed) -> bool {
    sniffed
        .sheet
        .as_ref()
        .is_some_and(|sheet| matches!(columns(sheet, &[], false), Ok(Some(_)) | Err(_)))
}

pub(super) fn open(file: &FileToImport<'_>) -> Result<ImportPlan, Refusal> {
    let sheet = file.sheet()?;
    // The user's mapping counts before that of the description.
    let described = TIME_AND_PRICES.iter().filter_map(|ours| {
        let rule = file.format.said("candles", ours, sheet)?;
        Some(((*ours).to_owned(), rule.from.clone()?))
    });
    let said: Vec<(String, String)> = file.options.map.iter().cloned().chain(described).collect();
    let mut found = columns(sheet, &said, file.format.ends)?
        .ok_or("needs a time column and four price columns that fit together")?;
    if file.format.ends && found.placed.ended.is_none() {
        return Err(grid::TOO_FEW.into());
    }
    found.in_dollars(file.options.as_usd)?;
    let named = currency::named(file, sheet, &found);
    currency::in_dollars(file, &named)?;
    currency::with_stated_places(file, sheet, &mut found)?;
    let found = &found;
    currency::not_smallest_units(file, sheet, found)?;
    let mut says = found.says.clone();
    let ended = ended(sheet);
    let mut picked = file.options.pick.clone();
    picked.extend(ended.map(|(name, yes)| (name.to_owned(), yes.to_owned())));
    let repeated = found.repeated_times(sheet, &picked);
    let volume = volumes::volume(file, sheet, found);
    let mut take = figures(file, sheet, found, &volume)?;
    if let Some(interval) = found.interval {
        take = take.columns(&[("interval", &sheet.names[interval])]);
    } else if sheet
        .names
        .iter()
        .any(|name| name.eq_ignore_ascii_case("interval"))
    {
        // An `interval` column that holds no intervals is ignored.
        take = take.without("interval");
    }
    if found.has_empty_rows() {
        take = take.keep(TRADED, &["yes"], "have no prices (no trades)");
    }
    if let Some((name, _)) = ended {
        take = take.keep(name, YES, "are candles that had not ended");
    }
    if found.marks(sheet) {
        take = take.keep(grid::WHOLE, &["yes"], grid::PART);
    }
    if let Volume::None(_) = volume {
        take = take.without("volume");
    }
    says.extend(volume.says(sheet));
    let (mut plan, several) = series::by_series(file, sheet, found, take)?;
    lengths::of_all_rows(file, sheet, found, &mut plan)?;
    if repeated > 0.01 && !several {
        return Err(refusal(
            sheet,
            &format!(
                "{:.1}% of its first rows have the same time as another row but different prices, so it contains several series without \
                    a recognized column that separates them",
                repeated * 100.0
            ),
            "choose one with --pick COLUMN=VALUE, where COLUMN separates the series",
        )
        .say("pick", format!("{COLUMN}={VALUE}")));
    }
    let prices =
        prices_assumed(file, sheet, found, plan.token.as_ref()).filter(|_| named.is_empty());
    Ok(plan
        .saying_all(says)
        .noting(found.notes.clone())
        .noting(prices)
        .noting(eastern(file))
        .noting(volume.assumed(sheet))
        .noting(volume.unread(sheet)))
}

/// The note on the times of HistData, whose files name no zone.
fn eastern(file: &FileToImport<'_>) -> Option<String> {
    let says = "assumed: its times are in UTC; files with such names are usually from HistData, whose times are in Eastern Standard Time \
        (5 hours behind UTC all year); if the times of this file are too, pass --timezone EST";
    (file.options.timezone.is_none() && file.sniffed.name.to_uppercase().contains("DAT_ASCII_"))
        .then(|| says.to_owned())
}

/// The figures times a factor.
fn scaled(figures: Vec<f64>, by: f64) -> Vec<f64> {
    figures.into_iter().map(|figure| figure * by).collect()
}

/// The note on prices of unknown currency; `None` if the currency is known.
fn prices_assumed(
    file: &FileToImport<'_>,
    sheet: &RawTable,
    found: &CandleColumns,
    token: Option<&TokenMatch>,
) -> Option<String> {
    let quoted = || {
        file.format.token_at.is_none()
            && (token.is_some_and(|token| token.quoted) || series::quotes(sheet))
    };
    let told = file.options.as_usd || found.currency.is_some() || quoted();
    (!told).then(|| IN_DOLLARS.to_owned())
}

/// Reads time, prices and base volume as determined here, so that the loader does not infer them again.
fn figures(
    file: &FileToImport<'_>,
    sheet: &RawTable,
    found: &CandleColumns,
    volume: &Volume,
) -> Result<ImportedTable, FileError> {
    let mut take = ImportedTable::into("candles", rows(file, sheet, found, volume)?)
        .columns(&[("timestamp", &sheet.names[found.time])]);
    take.worked_out = volume.worked_out(sheet);
    for (ours, theirs) in PRICES.iter().zip(found.prices) {
        take = take.columns(&[(ours, &sheet.names[theirs])]);
    }
    let name = match volume {
        Volume::Column { at, .. } => &sheet.names[*at],
        Volume::Made(..) => TOKENS_TRADED,
        Volume::None(_) => return Ok(take),
    };
    take = take.columns(&[("volume", name)]);
    take.rule("volume").unit = Some(Unit::Token);
    if let Volume::Column { scale, .. } = volume {
        take.rule("volume").scale = Some(*scale).filter(|scale| *scale != 1.0);
    }
    Ok(take)
}

/// The rows, with cells rewritten for the loader.
fn rows(
    file: &FileToImport<'_>,
    sheet: &RawTable,
    found: &CandleColumns,
    volume: &Volume,
) -> Result<Box<dyn RowSource>, FileError> {
    let mut fixes = vec![match found.clock {
        Some(clock) => Fix::day_and_clock(sheet, found.time, clock, found.when),
        None => Fix::candle_time(sheet, found.time, found.when, found.placed),
    }];
    for at in found.prices {
        fixes.extend(Fix::price(sheet, at, found.style, found.places));
    }
    if volume.unread(sheet).is_some() {
        fixes.extend(
            volume
                .column()
                .map(|at| Fix::text(sheet, at, volume_units::emptied)),
        );
    }
    if let Some(at) = volume.column().filter(|&at| {
        sheet
            .column(at)
            .any(|cell| volume_units::without_ticker(cell).is_some())
    }) {
        fixes.push(Fix::text(sheet, at, volume_units::without_ticker));
    }
    if let Volume::Column { at, style, .. } = volume {
        fixes.extend(Fix::number(sheet, *at, *style));
    }
    let mut rows = fixed(sheet.rows(file.sniffed)?, fixes);
    if found.has_empty_rows() {
        let (names, style) = (found.prices.map(|at| sheet.names[at].clone()), found.style);
        rows = Edited::over(rows, [TRADED], move |batch| {
            let prices: Vec<Vec<f64>> = names
                .iter()
                .map(|name| numbers(batch, name, style))
                .collect();
            let traded = (0..batch.height).map(|row| {
                prices
                    .iter()
                    .any(|prices| !prices[row].is_nan() && prices[row] != 0.0)
            });
            let traded = traded
                .map(|traded| Some(if traded { "yes" } else { "no" }.to_owned()))
                .collect();
            put(batch, TRADED, traded);
        });
    }
    let Volume::Made(made, _) = volume else {
        return Ok(rows);
    };
    let (made, style) = (*made, found.style);
    let names = sheet.names.clone();
    let [_, high, low, close] = found.prices;
    Ok(Edited::over(rows, [TOKENS_TRADED], move |batch| {
        let column = |at: usize, style| numbers(batch, &names[at], style);
        let (highs, lows, closes) = (
            column(high, style),
            column(low, style),
            column(close, style),
        );
        let (first, second) = (
            scaled(column(made.first, made.style), made.scale),
            made.second.map(|at| column(at, made.style)),
        );
        let tokens = (0..batch.height).map(|row| {
            let range = PriceRange {
                low: lows[row],
                high: highs[row],
            };
            VolumeRule::tokens(
                range,
                closes[row],
                first[row],
                second.as_ref().map(|second| second[row]),
            )
        });
        let tokens: Vec<Option<f64>> = tokens.collect();
        put(batch, TOKENS_TRADED, tokens);
    }))
}
