//! Finds the base volume (in tokens). A quote volume (in money) is divided by the price, or left out.

use super::{
    super::{
        evidence::{
            CellKind, kind,
            number::{NumberStyle, plain as plain_number},
        },
        format::FileToImport,
        names::{Names, is_one_of, plain},
        notation, pair,
        sheet::RawTable,
    },
    columns::CandleColumns,
    volume_units::{self, scale_of, unread},
};
use crate::{
    VolumeUnit,
    evidence::{PriceRange, VolumeMeasure, pair as pays, too_large},
};
use load::{loader::bind::BESIDE_DOLLARS, manifest::Unit};

/// Prices from which six decimals reveal a 32-bit float.
const SINGLE_SHOWS: f64 = 100.0;
/// Minimum supply that shows a market cap (of a price in another currency the ratio is a rate of exchange), most change of it from one row to the
/// next, and rows that show it.
const SUPPLY_MIN: f64 = 20_000.0;
const STEADY: f64 = 0.01;
const CAP_ROWS_MIN: usize = 5;
/// Volume names that do not tell the unit.
const BARE: &str =
    "volume vol v volumen volumes 成交量 объем объём 出来高 거래량 volumetraded tradedvolume";
const TOKENS: &str = "\
    volumefrom basevolume volbase volumebase basevol assetvolume baseassetvolume quantity volumebtc volumeeth volumecoin amount \
    basevolumetraded homenotional candleacctradevolume stuecke stücke";
const MONEY: &str = "\
    volumeto foreignnotional candleacctradeprice quotevolume quoteassetvolume turnover volumeusd volumeusdt usdvolume volumequote \
    quotevol volquote volumecurrency volccyquote volccy dollarvolume notional amountusd qav 成交额 value volumequotecurrency \
    totalvolume volumeusdc volusd";

/// The source of the base volume.
pub(super) enum Volume {
    /// A column that holds it. `is_sure` if the rows show it or the user says so; otherwise nothing contradicts it.
    Column {
        at: usize,
        style: NumberStyle,
        is_sure: bool,
        scale: f64,
    },
    /// Computed row by row.
    Made(VolumeRule, String),
    /// None, and the reason.
    None(Option<String>),
}

/// How the base volume is computed from other columns.
#[derive(Debug, Clone, Copy)]
pub(super) struct VolumeRule {
    /// The base volume, if `second` is the quote volume; without `second`, the quote volume.
    pub first: usize,
    pub second: Option<usize>,
    pub style: NumberStyle,
    /// Factor of `first`, from its column name.
    pub scale: f64,
}

impl VolumeRule {
    /// The tokens traded in a row. If two columns swap roles between rows, the one that fits as tokens; a lone quote volume is divided by
    /// the close.
    pub(super) fn tokens(
        range: PriceRange,
        close: f64,
        first: f64,
        second: Option<f64>,
    ) -> Option<f64> {
        match second {
            Some(second) if range.pays(first, second) || first == 0.0 => Some(first),
            Some(second) if range.pays(second, first) => Some(second),
            Some(_) => None,
            // Sources that give USD write 0 for no measurement rather than for no trades.
            None => Some(first / close)
                .filter(|tokens| first > 0.0 && close > 0.0 && tokens.is_finite()),
        }
    }
}

impl Volume {
    /// The columns it is computed from.
    pub(super) fn worked_out(&self, sheet: &RawTable) -> Vec<String> {
        match self {
            Self::Made(made, _) => std::iter::once(made.first)
                .chain(made.second)
                .map(|at| sheet.names[at].clone())
                .collect(),
            Self::Column { .. } | Self::None(_) => Vec::new(),
        }
    }

    /// The column it is read from, or the first it is computed from.
    pub(super) fn column(&self) -> Option<usize> {
        match self {
            Self::Column { at, .. } => Some(*at),
            Self::Made(made, _) => Some(made.first),
            Self::None(_) => None,
        }
    }

    /// The note on non-numeric volume cells, if there are several.
    pub(super) fn unread(&self, sheet: &RawTable) -> Option<String> {
        let at = self.column()?;
        let (bad, filled, first) = unread(sheet, at);
        let first = first.filter(|_| bad > 1)?;
        Some(format!(
            "{bad} of the first {filled} cells of `{}` are not numbers, such as `{first}`; such cells are left empty",
            sheet.names[at]
        ))
    }

    /// The note on a volume whose unit is known only from its name.
    pub(super) fn assumed(&self, sheet: &RawTable) -> Option<String> {
        let name = &sheet.names[self.column()?];
        if let Some(word) = volume_units::may_be_token(name) {
            let by = scale_of(name);
            return Some(format!(
                "assumed: the values in `{name}` are multiplied by {by}, because of `{word}`; if {word} is a token, remove it from \
                 the column name"
            ));
        }
        let Self::Column {
            at, is_sure: false, ..
        } = self
        else {
            return None;
        };
        let name = &sheet.names[*at];
        Some(format!(
            "assumed: `{name}` is in tokens, because nothing in it indicates USD; if it is in USD, as in files from Yahoo Finance and \
                CoinMarketCap, pass --volume usd"
        ))
    }

    pub(super) fn says(&self, sheet: &RawTable) -> Option<String> {
        match self {
            Self::Column { at, scale, .. } if *scale != 1.0 => Some(format!(
                "volume in tokens from `{}`, multiplied by {scale} because of its name",
                sheet.names[*at]
            )),
            Self::Column { at, .. } if is_one_of(&plain(&sheet.names[*at]), BARE) => None,
            Self::Column { at, .. } => {
                Some(format!("volume in tokens from `{}`", sheet.names[*at]))
            }
            Self::Made(_, says) => Some(says.clone()),
            Self::None(says) => says.clone(),
        }
    }
}

fn counts(name: &str) -> Option<VolumeMeasure> {
    if is_one_of(name, TOKENS) {
        return Some(VolumeMeasure::Tokens);
    }
    let money = is_one_of(name, MONEY)
        || name.contains("vol")
            && ["usd", "quote", "eur", "currency"]
                .iter()
                .any(|mark| name.contains(mark));
    money.then_some(VolumeMeasure::Money)
}

/// Determines the base volume of candles with these columns.
pub(super) fn volume(file: &FileToImport<'_>, sheet: &RawTable, found: &CandleColumns) -> Volume {
    let names = Names::of(&sheet.names);
    let candidates = file
        .mapped("volume")
        .map_or_else(|| candidates(sheet, found, &names), |said| vec![said]);
    let Some(style) = notation::style_beside(sheet, &candidates, found.style.comma) else {
        return Volume::None(Some(
            "some of its volumes have a decimal comma and others a decimal point, so volume is left empty".to_owned(),
        ));
    };
    let [_, high, low, _] = &found.figures;
    let ranges: Vec<PriceRange> = low
        .iter()
        .zip(high)
        .map(|(&low, &high)| PriceRange { low, high })
        .collect();
    let scales: Vec<f64> = candidates
        .iter()
        .map(|&at| scale_of(&sheet.names[at]))
        .collect();
    let number = |cell: &str| {
        style
            .plain(&volume_units::figure(cell))
            .and_then(|text| text.parse().ok())
            .unwrap_or(f64::NAN)
    };
    let figures: Vec<Vec<f64>> = candidates
        .iter()
        .zip(&scales)
        .map(|(&at, scale)| sheet.column(at).map(|cell| number(cell) * scale).collect())
        .collect();
    if let Some(volume) = of_contracts(&names, &candidates, &figures, &ranges, style) {
        return volume;
    }
    if candidates.is_empty() {
        return Volume::None(illegible(sheet, &names));
    }
    let are_counts = trade_counts(sheet, &candidates);
    let among = Candidates {
        names: &names,
        columns: &candidates,
        figures: &figures,
        ranges: &ranges,
        style,
    };
    if let Some(volume) = of_pair(sheet, found, &among, &scales, &are_counts) {
        return volume;
    }
    let (columns, figures): (Vec<usize>, Vec<Vec<f64>>) = candidates
        .iter()
        .copied()
        .zip(figures.iter().cloned())
        .zip(&are_counts)
        .filter(|(_, is_count)| !**is_count)
        .map(|(of, _)| of)
        .unzip();
    single(
        file,
        sheet,
        found,
        &Candidates {
            columns: &columns,
            figures: &figures,
            ..among
        },
    )
}

/// The base volume of two columns whose ratio is the price. Of several such pairs, the one with the most money: purchases by takers are a
/// part of all trades.
fn of_pair(
    sheet: &RawTable,
    found: &CandleColumns,
    among: &Candidates<'_>,
    scales: &[f64],
    are_counts: &[bool],
) -> Option<Volume> {
    let Candidates {
        names,
        columns: candidates,
        figures,
        ranges,
        style,
    } = *among;
    let total = |at: usize| {
        figures[at]
            .iter()
            .filter(|figure| figure.is_finite())
            .sum::<f64>()
    };
    let fine = found.figures[3]
        .iter()
        .any(|close| !(0.8..=1.25).contains(close));
    // Of a row or two, a number of trades may be near anything; one with a point is none.
    let may_be_tokens = |at: usize| {
        !are_counts[at]
            || ranges.len() > 2
            || sheet.column(candidates[at]).any(|cell| cell.contains('.'))
    };
    let (mut most, mut changing): (Option<(usize, f64)>, Option<Volume>) = (None, None);
    for (i, tokens) in figures
        .iter()
        .enumerate()
        .filter(|(i, _)| may_be_tokens(*i))
    {
        for (j, money) in figures
            .iter()
            .enumerate()
            .filter(|(j, _)| *j != i && !are_counts[*j])
        {
            let (Some(right), Some(wrong)) =
                (pays(ranges, tokens, money), pays(ranges, money, tokens))
            else {
                continue;
            };
            if right >= 0.98
                && (fine || counts(names.whole(candidates[i])) != Some(VolumeMeasure::Money))
            {
                let paid = total(j);
                // Near a price of 1, tokens and money differ by less than this, and the order decides.
                if most.is_none_or(|(_, known)| paid > known * 1.1) {
                    most = Some((i, paid));
                }
            } else if scales[i] == 1.0
                && scales[j] == 1.0
                && right > 0.02
                && wrong > 0.02
                && right + wrong >= 0.95
                && changing.is_none()
            {
                let says = format!(
                    "its volume columns `{}` and `{}` are swapped in some rows ({:.1}% of the rows have the tokens in the second); in \
                        each row, the order whose ratio matches the price is used",
                    sheet.names[candidates[i]],
                    sheet.names[candidates[j]],
                    wrong * 100.0
                );
                changing = Some(Volume::Made(
                    VolumeRule {
                        first: candidates[i],
                        second: Some(candidates[j]),
                        style,
                        scale: 1.0,
                    },
                    says,
                ));
            }
        }
    }
    most.map(|(i, _)| Volume::Column {
        at: candidates[i],
        style,
        is_sure: true,
        scale: scales[i],
    })
    .or(changing)
}

/// Which of these columns may be numbers of trades: whole numbers beside a column with fractions, where no names tell.
fn trade_counts(sheet: &RawTable, columns: &[usize]) -> Vec<bool> {
    let whole = |at: &usize| {
        sheet.column(*at).take(200).all(|cell| {
            cell.parse::<f64>()
                .is_ok_and(|number| number.fract() == 0.0)
        })
    };
    let whole: Vec<bool> = columns.iter().map(whole).collect();
    if sheet.named || whole.iter().all(|whole| *whole) {
        vec![false; columns.len()]
    } else {
        whole
    }
}

/// Candidate volume columns, and their figures in the sample rows.
#[derive(Clone, Copy)]
struct Candidates<'a> {
    names: &'a Names,
    columns: &'a [usize],
    figures: &'a [Vec<f64>],
    ranges: &'a [PriceRange],
    style: NumberStyle,
}

/// The note on a column named as a volume with few numbers in it.
fn illegible(sheet: &RawTable, names: &Names) -> Option<String> {
    let at = (0..names.len()).find(|&at| sheet.named && is_one_of(names.whole(at), BARE))?;
    let (bad, filled, first) = unread(sheet, at);
    let first = first?;
    Some(format!(
        "{bad} of the first {filled} cells of `{}` are not numbers, such as `{first}`, so volume is left empty",
        sheet.names[at]
    ))
}

/// The base volume beside a volume in contracts, as of coin-margined futures: a contract is 100 or 10 USD.
fn of_contracts(
    names: &Names,
    candidates: &[usize],
    figures: &[Vec<f64>],
    ranges: &[PriceRange],
    style: NumberStyle,
) -> Option<Volume> {
    names.find("closetime")?;
    let place = |words: &str| {
        candidates
            .iter()
            .position(|&at| is_one_of(names.whole(at), words))
    };
    let (contracts, tokens) = (place("volume")?, place("quotevolume quoteassetvolume")?);
    let worth = |usd: f64| {
        let money: Vec<f64> = figures[contracts].iter().map(|count| count * usd).collect();
        pays(ranges, &figures[tokens], &money).is_some_and(|share| share >= 0.98)
    };
    (worth(100.0) || worth(10.0)).then(|| Volume::Column {
        at: candidates[tokens],
        style,
        is_sure: true,
        scale: 1.0,
    })
}

/// The volume from a single column, with no second one to confirm its unit.
fn single(
    file: &FileToImport<'_>,
    sheet: &RawTable,
    found: &CandleColumns,
    among: &Candidates<'_>,
) -> Volume {
    let of = |wanted: Option<VolumeMeasure>| {
        among.columns.iter().position(|&at| {
            let name = among.names.whole(at);
            counts(name).or_else(|| counts(among.names.last(at))) == wanted
        })
    };
    let bare = among.columns.iter().position(|&at| {
        is_one_of(among.names.whole(at), BARE) || is_one_of(among.names.last(at), BARE)
    });
    let Some(place) = of(Some(VolumeMeasure::Tokens))
        .or(bare)
        .or_else(|| of(None))
        .or_else(|| of(Some(VolumeMeasure::Money)))
    else {
        return Volume::None(None);
    };
    let at = among.columns[place];
    let name = &sheet.names[at];
    let scale = scale_of(name);
    let (bad, filled, first) = unread(sheet, at);
    if let Some(first) = first.filter(|_| bad == filled) {
        return Volume::None(Some(format!(
            "`{name}` has no numeric cells (the first is `{first}`), so volume is left empty"
        )));
    }
    if among.figures[place]
        .iter()
        .all(|figure| figure.is_nan() || *figure == 0.0)
    {
        return Volume::None(Some(format!(
            "`{name}` has no value above zero, so volume is left empty"
        )));
    }
    let too_large = too_large(among.ranges, &among.figures[place], found.step());
    let currency = volume_units::currency(sheet, at);
    // The user's word, else that of the format's description.
    let described = file
        .format
        .said("candles", "volume", sheet)
        .and_then(|rule| rule.unit);
    let said = file.options.volume.is_some() || described.is_some();
    if let Some(currency) = currency.filter(|currency| !said && !pair::is_dollar(currency)) {
        return Volume::None(Some(format!(
            "`{name}` is in {currency} (from its cells), but volume must be in tokens, so it is left empty"
        )));
    }
    let money = match file.options.volume {
        Some(unit) => (unit == VolumeUnit::Usd).then(|| "from --volume usd".to_owned()),
        None if said => {
            (described == Some(Unit::Usd)).then(|| format!("as {} reports it", file.format.title))
        }
        None if too_large => {
            Some("in tokens, it would be worth more than the daily volume of any token".to_owned())
        }
        None if currency.is_some() => Some("from its cells".to_owned()),
        None if counts(among.names.whole(at)) == Some(VolumeMeasure::Money)
            || name.contains('$') =>
        {
            Some("from its name".to_owned())
        }
        None => in_usd(sheet, among.names, found, &among.figures[place])
            .or_else(|| beside_cap(sheet, found, among.style, at)),
    };
    match money {
        None => {
            let named = counts(among.names.whole(at)) == Some(VolumeMeasure::Tokens);
            Volume::Column {
                at,
                style: among.style,
                is_sure: named || said,
                scale,
            }
        }
        Some(why) => Volume::Made(
            VolumeRule {
                first: at,
                second: None,
                style: among.style,
                scale,
            },
            format!(
                "warning: its volume `{name}` is in USD ({why}) and is divided by each close, which approximates the number of tokens \
                    traded; zeros are left empty"
            ),
        ),
    }
}

/// Why the volume is in USD, if other columns or the texts beside the table show it.
fn in_usd(
    sheet: &RawTable,
    names: &Names,
    found: &CandleColumns,
    figures: &[f64],
) -> Option<String> {
    if let Some(at) = names.find(&BESIDE_DOLLARS.join(" ")) {
        return Some(format!(
            "as in sources that also have `{}`",
            sheet.names[at]
        ));
    }
    if sheet.beside("datagranularity instrumenttype").is_some() {
        return Some("as Yahoo reports it".to_owned());
    }
    let whole = figures
        .iter()
        .all(|figure| figure.is_nan() || figure.fract() == 0.0)
        && figures.iter().any(|figure| *figure > 1e5);
    let prices: Vec<&str> = found
        .prices
        .iter()
        .flat_map(|&at| sheet.column(at).take(100))
        .filter(|cell| !cell.is_empty())
        .collect();
    let as_yahoo = |cell: &&&str| {
        let Ok(price) = cell.parse::<f64>() else {
            return false;
        };
        let decimals = cell
            .split_once('.')
            .map_or(0, |(_, decimals)| decimals.len());
        // Yahoo's prices were once 32-bit floats, recognizable even when cut to six decimals; small ones of any source could look so.
        let single = f64::from(price as f32);
        decimals > 6 && single == price
            || decimals == 6 && price >= SINGLE_SHOWS && format!("{single:.6}") == **cell
    };
    let share = prices.iter().filter(as_yahoo).count() as f64 / prices.len().max(1) as f64;
    (whole && share > 0.6).then(|| "whole numbers next to prices in Yahoo's notation".to_owned())
}

/// Why the volume at `volume` is in USD where columns have no names: one behind it is a market cap, as in CoinMarketCap's tables. Divided by the
/// opening or closing price it is the supply, which hardly changes from row to row.
fn beside_cap(
    sheet: &RawTable,
    found: &CandleColumns,
    style: NumberStyle,
    volume: usize,
) -> Option<String> {
    let is_cap = |at: usize| {
        [0, 3].into_iter().any(|price| {
            let number = |cell: &str| style.plain(cell).and_then(|text| text.parse::<f64>().ok());
            let supply = sheet
                .column(at)
                .zip(&found.figures[price])
                .filter_map(|(cell, price)| Some(number(cell)? / price));
            let supply: Vec<f64> = supply
                .filter(|supply| supply.is_finite() && *supply > SUPPLY_MIN)
                .collect();
            let steady = supply
                .windows(2)
                .filter(|two| (two[1] / two[0] - 1.0).abs() < STEADY)
                .count();
            supply.len() >= CAP_ROWS_MIN
                && supply.len() * 2 > sheet.first.len()
                && steady * 10 >= (supply.len() - 1) * 9
        })
    };
    let other = |at: &usize| *at != found.time && !found.prices.contains(at);
    let at = (volume + 1..sheet.names.len())
        .filter(|_| !sheet.named)
        .filter(other)
        .find(|at| is_cap(*at))?;
    Some(format!(
        "as in sources with a market cap, which `{}` seems to be",
        sheet.names[at]
    ))
}

/// Columns that may be volumes: by name if there are names, or all numbers that are neither time nor price nor count.
fn candidates(sheet: &RawTable, found: &CandleColumns, names: &Names) -> Vec<usize> {
    let taken = |at: &usize| *at == found.time || found.prices.contains(at);
    let numbers = |at: &usize| {
        kind(sheet.column(*at).filter(|cell| *cell != "0").take(100)) == CellKind::Number
            || sheet.column(*at).all(|cell| cell == "0")
    };
    // A column named as a volume need not be numeric in every row.
    let mostly = |at: &usize| {
        let (bad, filled, _) = unread(sheet, *at);
        sheet.named
            && filled > 0
            && bad * 2 <= filled
            && kind(sheet.column(*at).take(100)) != CellKind::Time
    };
    let free = (0..names.len()).filter(|at| !taken(at) && (numbers(at) || mostly(at)));
    if sheet.named {
        let named = |at: &usize| {
            [names.whole(*at), names.last(*at)].iter().any(|name| {
                let other =
                    "tick taker change num count trades 24h 7d 30d ma mean avg pct weighted";
                let known = is_one_of(name, BARE) || counts(name).is_some();
                known
                    || name.contains("vol")
                        && !other.split(' ').any(|mark| name.contains(mark))
                        && !name.contains("volatil")
            })
        };
        return free.filter(named).collect();
    }
    let price_like = |at: &usize| {
        // A weighted average price (VWAP) lies between low and high in every row.
        let inside = sheet.column(*at).enumerate().filter_map(|(row, cell)| {
            let number: f64 = plain_number(cell, found.style.comma)?.parse().ok()?;
            Some(number >= found.figures[2][row] * 0.999 && number <= found.figures[1][row] * 1.001)
        });
        let inside: Vec<bool> = inside.collect();
        inside.iter().filter(|inside| **inside).count() * 10 >= inside.len() * 9
    };
    let time_like = |at: &usize| {
        sheet.column(*at).take(50).all(|cell| {
            cell.parse::<f64>().is_ok_and(|number| {
                number > 1e12 || (1.2e9..2e9).contains(&number) && cell.len() == 10
            })
        })
    };
    free.filter(|at| {
        *at > found.prices.iter().copied().min().unwrap_or(0)
            || found.prices.iter().all(|price| price > at)
    })
    .filter(|at| !price_like(at) && !time_like(at))
    .collect()
}
