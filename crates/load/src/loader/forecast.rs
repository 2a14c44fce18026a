//! Forecast of how much a load of remote Parquet files would download, from their footers, before any row is fetched. Files that seem too
//! large may fit, because only some columns are read; otherwise, the message suggests what to do, with the values.

use std::sync::Arc;

use super::{
    bind::wanted,
    remote::{self, Pulse, objects},
    task::{TableLoad, TableLoadError},
};
use crate::formats::{SourceFormat, format_of, locate::LocatedFile, parquet_footer};
use model::format::count;
use wire::{Fault, Object, RemoteClient, amount};

/// Maximum number of footers that are read; with more files, evenly spaced ones stand for all.
const FOOTERS_MAX: usize = 48;

/// Number of bytes from which the footers are read before any row.
const LARGE: u64 = 1 << 30;

/// Rows, and bytes of the columns that are read.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct Forecast {
    rows: u64,
    bytes: u64,
    /// Whether every footer was read.
    exact: bool,
}

/// The bytes that will be fetched, and of many the rows, of files that would take `missing` bytes whole. Errors: more than the budget of the
/// day; what would be brought, and what can be done.
pub(super) fn afford(
    load: &TableLoad<'_>,
    wire: &RemoteClient,
    files: &[LocatedFile],
    missing: u64,
    first: &str,
) -> Result<(u64, Option<String>), TableLoadError> {
    let whole = wire.afford(missing);
    let told = |fault| TableLoadError::Remote(first.to_owned(), fault);
    let forecast = if whole.is_err() || missing >= LARGE {
        of_footers(load, files)?
    } else {
        None
    };
    let Some(forecast) = forecast else {
        return whole.map(|()| (missing, None)).map_err(told);
    };
    let needed = forecast.bytes.min(missing);
    match wire.afford(needed) {
        Ok(()) => Ok((needed, Some(forecast.rows()))),
        Err(fault) => Err(told(Fault::Refused(words(&fault, files, &forecast, first)))),
    }
}

impl Forecast {
    fn about(&self) -> &'static str {
        if self.exact { "" } else { "about " }
    }

    fn rows(&self) -> String {
        format!("{}{}", self.about(), count(self.rows))
    }
}

/// The refusal with what would be brought, and an offer.
fn words(fault: &Fault, files: &[LocatedFile], forecast: &Forecast, url: &str) -> String {
    let all: u64 = objects(files).map(|object| object.bytes).sum();
    format!(
        "{fault}. The table has {} Parquet files of {} in total; the columns read have {}{} in {} rows. To skip whole files, filter by folder names, as in `where = {{ date = {{ min = \"2026-01-01\" }} }}`; to skip a column, use `set = {{ COLUMN = \"\" }}`. Or query the files in place with a ClickHouse server: query = \"SELECT … FROM s3('{url}')\" with read = \"in place\" (see engines.md)",
        count(objects(files).count() as u64),
        amount(all),
        forecast.about(),
        amount(forecast.bytes),
        forecast.rows(),
    )
}

/// By the footers of some files; `None` unless all are Parquet, or where none could be read.
fn of_footers(
    load: &TableLoad<'_>,
    files: &[LocatedFile],
) -> Result<Option<Forecast>, TableLoadError> {
    let all: Vec<&Object> = objects(files).collect();
    let is_parquet =
        |object: &&Object| matches!(format_of(&object.url), Some((_, SourceFormat::Parquet)));
    if !all.iter().all(is_parquet) {
        return Ok(None);
    }
    let step = all.len().div_ceil(FOOTERS_MAX).max(1);
    let some: Vec<&Object> = all.iter().step_by(step).copied().collect();
    let pulse = Pulse::default();
    let found = remote::cancellable(load, &pulse, || {
        // Opened at once, so that their ends come at once.
        let opened: Vec<_> = some
            .iter()
            .map(|object| remote::open(load.context, object, &pulse, None))
            .collect::<Result<_, _>>()?;
        for file in &opened {
            file.prefetch_end();
        }
        let wanted = wanted(load.schema, load.manifest);
        let footers = opened
            .into_iter()
            .map(|file| parquet_footer(Arc::clone(&file) as _, &wanted).map_err(|_| file.fault()));
        let mut sum = Forecast {
            exact: step == 1,
            ..Forecast::default()
        };
        for footer in footers {
            match footer {
                Ok((rows, bytes)) => {
                    (sum.rows, sum.bytes) = (
                        sum.rows.saturating_add(rows),
                        sum.bytes.saturating_add(bytes),
                    );
                }
                Err(Some(Fault::Stopped)) => return Err(TableLoadError::Cancelled),
                Err(_) => return Ok(None),
            }
        }
        Ok(Some(sum))
    })?;
    let bytes = |objects: &[&Object]| objects.iter().map(|object| object.bytes).sum::<u64>();
    let (seen, whole) = (bytes(&some), bytes(&all));
    let of_all = |sum: u64| (sum as f64 * whole as f64 / seen.max(1) as f64) as u64;
    Ok(found.map(|sum| {
        if sum.exact {
            sum
        } else {
            Forecast {
                rows: of_all(sum.rows),
                bytes: of_all(sum.bytes),
                exact: false,
            }
        }
    }))
}
