//! The length of candles in a file that writes periods without trades as rows without prices. Those rows are left out, so the steps between
//! the others would show a longer length.

use std::collections::BTreeMap;

use super::{
    super::{
        format::{FileToImport, ImportPlan},
        refusal::{Refusal, VALUE},
        sheet::{ROWS, RawTable},
    },
    columns::CandleColumns,
};
use model::candles::Interval;

/// The times of one token's rows: of all, and of those with prices.
#[derive(Default)]
struct RowTimes {
    all: Vec<i64>,
    priced: Vec<i64>,
}

/// The step between nearly all of these times, which are in order and none nearer to each other than it.
fn regular(times: &[i64]) -> Option<i64> {
    let steps: Vec<i64> = times
        .windows(2)
        .map(|two| two[1] - two[0])
        .filter(|step| *step > 0)
        .collect();
    let step = Interval::between(times.to_vec()).0;
    let equal = steps.iter().filter(|of| **of == step).count();
    (steps.len() > 1 && equal * 10 >= steps.len() * 9 && steps.iter().all(|of| *of >= step))
        .then_some(step)
}

/// Gives candles the length that all rows show, those without prices too. Asks if the prices are of a usual longer length.
pub(super) fn of_all_rows(
    file: &FileToImport<'_>,
    sheet: &RawTable,
    found: &CandleColumns,
    plan: &mut ImportPlan,
) -> Result<(), Refusal> {
    let is_told =
        found.interval.is_some() || file.options.set.iter().any(|(ours, _)| ours == "interval");
    let Some(take) = plan
        .takes
        .first_mut()
        .filter(|_| !is_told && found.has_empty_rows())
    else {
        return Ok(());
    };
    let token = take
        .manifest
        .columns
        .get("token_address")
        .and_then(|rule| rule.from.as_ref());
    let token = token.and_then(|token| sheet.names.iter().position(|name| name == token));
    let mut by_token: BTreeMap<&str, RowTimes> = BTreeMap::new();
    for row in found.picked_rows(sheet, &file.options.pick) {
        let Some(time) = found.times[row] else {
            continue;
        };
        let times = by_token
            .entry(token.map_or("", |at| sheet.first[row][at].trim()))
            .or_default();
        times.all.push(time);
        times
            .priced
            .extend((!found.is_empty_row(row)).then_some(time));
    }
    let steps: Option<Vec<i64>> = by_token.values().map(|times| regular(&times.all)).collect();
    let Some(&step) = steps.as_ref().and_then(|steps| {
        steps
            .first()
            .filter(|first| steps.iter().all(|step| step == *first))
    }) else {
        return Ok(());
    };
    let priced = || by_token.values().filter(|times| times.priced.len() > 1);
    let seems = |times: &RowTimes| Interval::between(times.priced.clone()).0;
    let is_longer = priced().any(|times| seems(times) != step);
    let longer = priced()
        .next()
        .and_then(|times| regular(&times.priced))
        .map(Interval)
        .filter(|longer| longer.0 > step && longer.is_usual());
    if let Some(longer) =
        longer.filter(|longer| priced().all(|times| regular(&times.priced) == Some(longer.0)))
    {
        let length = Interval(step);
        return Err(Refusal::new(format!(
            "has a row every {length} and prices every {longer}, so its candles may have either length; pass --set interval={length} if \
                there were no trades in the rows without prices, or --set interval={longer} if each price covers the longer interval"
        ))
        .say("set", format!("interval={VALUE}")));
    }
    if is_longer || sheet.first.len() >= ROWS {
        take.manifest
            .set
            .insert("interval", Interval(step).to_string());
    }
    plan.notes.extend(is_longer.then(|| {
        format!("assumed: its candles are {} long, like the steps between its rows; rows without prices are omitted", Interval(step))
    }));
    Ok(())
}
