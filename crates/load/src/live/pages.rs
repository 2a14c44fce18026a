//! Runs one request, page by page, until no new rows arrive or the span is covered.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use polars::prelude::DataFrame;

use super::{ExcludedPosts, LiveError, RefreshWatch};
use crate::{
    live::{
        ask::{Ask, PageParameters, PageValue, elsewhere, first_page, origin},
        rows::{self, Known},
    },
    provider::{JsonAnswer, NextPage, RefusalAction, RequestScope},
};
use model::schema::{self, Kind, TableSchema};
use wire::{
    Fault, RemoteClient,
    web::{WebAnswer, WebVersion},
};

/// The most pages of a span of time.
const SPAN_PAGES_MAX: u32 = 400;
/// Number of retries if a service reports in its response that it is busy.
const WAITS_MAX: u32 = 3;
const WAIT: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(50);

/// Outcome of one request.
#[derive(Debug)]
pub(crate) enum AskOutcome {
    Rows(Box<FetchedRows>),
    /// The response is the same as last time.
    Unchanged,
    /// The provider does not know the token or pool.
    Unknown,
    Failed(FetchFault),
    Stopped,
}

/// Why something has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FetchFault {
    /// For people; continues the name of the provider.
    pub(crate) reason: String,
    /// Whether the service answered, and this answer alone is no good.
    pub(crate) of_answer: bool,
}

impl FetchFault {
    fn of_answer(reason: impl Into<String>) -> AskOutcome {
        AskOutcome::Failed(Self {
            reason: reason.into(),
            of_answer: true,
        })
    }

    fn of_service(reason: impl Into<String>) -> AskOutcome {
        AskOutcome::Failed(Self {
            reason: reason.into(),
            of_answer: false,
        })
    }
}

/// The rows of all pages.
#[derive(Debug, Default)]
pub(crate) struct FetchedRows {
    /// By table.
    pub(crate) frames: Vec<(&'static str, DataFrame)>,
    pub(crate) notes: Vec<String>,
    pub(crate) excluded: ExcludedPosts,
    /// The times between which everything was answered, in milliseconds.
    pub(crate) covered: Option<(i64, i64)>,
    pub(crate) version: WebVersion,
    /// Why further pages did not come.
    pub(crate) fault: Option<FetchFault>,
}

/// Who asks, and for which dataset.
pub(crate) struct Asker<'a> {
    pub(crate) wire: &'a Arc<RemoteClient>,
    pub(crate) dataset: &'a Path,
    pub(crate) known: Known,
    pub(crate) watch: Arc<dyn RefreshWatch>,
    pub(crate) requests: u64,
}

/// What a page brought, as far as the next one depends on it.
struct PageRead {
    answer: JsonAnswer,
    rows: usize,
    /// The smallest and largest value by column, in the first table.
    bounds: BTreeMap<String, (i64, i64)>,
}

impl Asker<'_> {
    /// Asks all pages of it.
    pub(crate) fn all_pages(&mut self, ask: &Ask<'_>, version: WebVersion) -> AskOutcome {
        let mut page = first_page(ask);
        // An older span is asked from its end backwards.
        if let Some((_, to)) = ask.span.filter(|(_, to)| ask.is_past(*to)) {
            let oldest = ask.request.next.iter().filter(
                |(_, next)| matches!(next, NextPage::Oldest(column) if is_time(ask, column)),
            );
            page.values
                .extend(oldest.map(|(name, _)| (name.clone(), PageValue::Time(to))));
        }
        let most = if ask.span.is_some() && ask.request.again.is_none() {
            ask.request.pages.max(SPAN_PAGES_MAX)
        } else {
            ask.request.pages
        };
        let (mut fetched, mut seen): (FetchedRows, Option<(i64, i64)>) =
            (FetchedRows::default(), None);
        let (mut known, mut number) = (version, 0);
        // Whether the span was answered whole, and why it was not.
        let (whole, fault) = loop {
            let first = number == 0;
            if number == most {
                fetched
                    .notes
                    .extend((most > 1).then(|| format!("the service has more than the {most} pages requested; older rows may be missing")));
                break (false, None);
            }
            number += 1;
            let (read, version) =
                match self.page(ask, &page, std::mem::take(&mut known), &mut fetched) {
                    Ok(Some(read)) => read,
                    Ok(None) if first => return AskOutcome::Unchanged,
                    Err(outcome) if first => return outcome,
                    // A later page that is not there is the end.
                    Ok(None) | Err(AskOutcome::Unknown) => break (true, None),
                    // What came before is kept.
                    Err(AskOutcome::Failed(fault)) => break (false, Some(fault)),
                    Err(_) => break (false, None),
                };
            if first && ask.request.next.is_empty() {
                fetched.version = version;
            }
            let times = time_column(ask).and_then(|column| read.bounds.get(column).copied());
            let before = seen;
            seen = match (seen, times) {
                (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
                (seen, times) => seen.or(times),
            };
            let next = next_page(ask, &page, &read).filter(|next| read.rows > 0 && *next != page);
            let is_covered = ask
                .span
                .zip(seen)
                .is_some_and(|(span, seen)| covers(ask, span, seen));
            let is_new = times.is_none() || before.is_none() || before != seen;
            match next.filter(|_| is_new && !is_covered && !ask.request.next.is_empty()) {
                Some(next) if self.is_same(ask, &page, &next) => {
                    fetched.notes.push(format!(
                        "the request `{}` does not use the placeholder of `next`, so only its first page was fetched",
                        ask.request.name
                    ));
                    break (false, None);
                }
                Some(next) => page = next,
                None => break (true, None),
            }
        };
        (fetched.covered, fetched.fault) = (covered(ask, seen, whole), fault);
        AskOutcome::Rows(Box::new(fetched))
    }

    /// Whether both pages are the same request.
    fn is_same(&self, ask: &Ask<'_>, page: &PageParameters, next: &PageParameters) -> bool {
        let other = elsewhere(self.wire, ask.provider);
        let url = |page| {
            let request = ask.page(page, other.as_deref(), WebVersion::default())?;
            Some((request.url, request.query))
        };
        url(page) == url(next)
    }

    /// Asks one page and adds its rows; none where the answer did not change.
    fn page(
        &mut self,
        ask: &Ask<'_>,
        page: &PageParameters,
        known: WebVersion,
        fetched: &mut FetchedRows,
    ) -> Result<Option<(PageRead, WebVersion)>, AskOutcome> {
        let other = elsewhere(self.wire, ask.provider);
        let Some(request) = ask.page(page, other.as_deref(), known) else {
            return Err(AskOutcome::Unknown);
        };
        let failed = |fault: Fault| {
            if fault == Fault::Stopped {
                AskOutcome::Stopped
            } else {
                FetchFault::of_service(fault.to_string())
            }
        };
        let host =
            origin(&request.url).ok_or_else(|| FetchFault::of_service("has no valid URL"))?;
        self.wire.may_ask(self.dataset, &host).map_err(failed)?;
        let (watch, id) = (Arc::clone(&self.watch), ask.provider.id.clone());
        let waits = Arc::new(move |wait, asked| watch.waits(&id, wait, asked));
        for wait in 1.. {
            self.requests += 1;
            let watch = Arc::clone(&self.watch);
            let answer = self
                .wire
                .get(request.clone(), Arc::clone(&waits) as _, &|| {
                    watch.is_stopped()
                })
                .map_err(failed)?;
            let (bytes, version) = match answer {
                WebAnswer::Body { bytes, version } => (bytes, version),
                WebAnswer::Unchanged => return Ok(None),
                WebAnswer::Unknown if ask.request.each == RequestScope::Once => {
                    return Err(FetchFault::of_service(format!(
                        "responded 404 to the request `{}`; check its `path` in the provider's description",
                        ask.request.name
                    )));
                }
                WebAnswer::Unknown => return Err(AskOutcome::Unknown),
            };
            let answer = JsonAnswer::read(&bytes)
                .map_err(|error| FetchFault::of_answer(error.to_string()))?;
            match answer.refusal(&ask.request.refusals) {
                None => {}
                Some((RefusalAction::NoRows, _)) => {
                    return Ok(Some((
                        PageRead {
                            answer,
                            rows: 0,
                            bounds: BTreeMap::new(),
                        },
                        version,
                    )));
                }
                Some((RefusalAction::Wait, _)) if wait <= WAITS_MAX => {
                    self.pause(&ask.provider.id, WAIT * wait)?;
                    continue;
                }
                Some((_, said)) => {
                    return Err(FetchFault::of_answer(format!(
                        "rejected the request: `{said}`"
                    )));
                }
            }
            return self
                .take(ask, answer, bytes.len() as u64, fetched)
                .map(|read| Some((read, version)))
                .map_err(|error| FetchFault::of_answer(error.to_string()));
        }
        Err(AskOutcome::Stopped)
    }

    /// Adds the rows of an answer to what was fetched.
    fn take(
        &self,
        ask: &Ask<'_>,
        answer: JsonAnswer,
        bytes: u64,
        fetched: &mut FetchedRows,
    ) -> Result<PageRead, LiveError> {
        let mut read = PageRead {
            answer,
            rows: 0,
            bounds: BTreeMap::new(),
        };
        for (number, (table, given, rows)) in
            rows::of_answer(ask, &read.answer, bytes, &self.known)?
                .into_iter()
                .enumerate()
        {
            read.rows += given;
            fetched.excluded.add(rows.excluded);
            fetched.notes.extend(
                rows.notes
                    .into_iter()
                    .filter(|note| !fetched.notes.contains(note))
                    .collect::<Vec<_>>(),
            );
            let Some(frame) = rows.frame else { continue };
            if number == 0 {
                for (_, next) in &ask.request.next {
                    if let NextPage::Oldest(column) | NextPage::Newest(column) = next {
                        read.bounds.extend(
                            rows::bounds(&frame, column).map(|bounds| (column.clone(), bounds)),
                        );
                    }
                }
                if let Some(column) = time_column(ask) {
                    read.bounds.extend(
                        rows::bounds(&frame, column).map(|bounds| (column.to_owned(), bounds)),
                    );
                }
            }
            fetched.frames.push((table, frame));
        }
        Ok(read)
    }

    /// Waits, unless it is stopped.
    fn pause(&self, provider: &str, wait: Duration) -> Result<(), AskOutcome> {
        self.watch.waits(provider, wait, true);
        let until = Instant::now() + wait;
        while Instant::now() < until {
            if self.watch.is_stopped() {
                return Err(AskOutcome::Stopped);
            }
            std::thread::sleep(POLL.min(wait));
        }
        Ok(())
    }
}

/// The column with the time of a row, in the first table that is filled.
fn time_column(ask: &Ask<'_>) -> Option<&'static str> {
    let schema: &TableSchema = schema::table(ask.request.tables.first()?.table)?;
    schema
        .columns
        .iter()
        .find(|column| matches!(column.kind, Kind::Time | Kind::Date))
        .map(|column| column.name)
}

/// Whether the rows reach over the span, in the direction in which its pages go.
fn covers(ask: &Ask<'_>, span: (i64, i64), seen: (i64, i64)) -> bool {
    let step = ask.interval.map_or(0, |interval| interval.0);
    ask.request.next.iter().any(|(_, next)| match next {
        NextPage::Oldest(_) => seen.0 <= span.0,
        NextPage::Newest(_) => seen.1 + step >= span.1,
        // Posts come newest first.
        NextPage::Step(_) | NextPage::Place(_) => ask.request.again.is_some() && seen.0 <= span.0,
    })
}

/// The times between which nothing has to be asked again. A span that was answered whole is covered where it has no rows too, but for the
/// newest times, whose rows may still come.
fn covered(ask: &Ask<'_>, seen: Option<(i64, i64)>, whole: bool) -> Option<(i64, i64)> {
    let (from, to) = ask.span?;
    let settled = ask
        .present
        .map_or(to, |present| to.min(present - ask.step()));
    match (seen, whole) {
        (Some((oldest, newest)), true) => Some((from.min(oldest), newest)),
        (None, true) if from < settled => Some((from, settled)),
        (seen, _) => seen,
    }
}

fn is_time(ask: &Ask<'_>, column: &str) -> bool {
    let schema = ask
        .request
        .tables
        .first()
        .and_then(|filled| schema::table(filled.table));
    schema
        .and_then(|schema| schema.column(column))
        .is_some_and(|column| matches!(column.kind, Kind::Time | Kind::Date))
}

/// The bound of a column, as a time where it is one.
fn bound(ask: &Ask<'_>, column: &str, value: i64) -> PageValue {
    if is_time(ask, column) {
        PageValue::Time(value)
    } else {
        PageValue::Text(value.to_string())
    }
}

fn next_page(ask: &Ask<'_>, page: &PageParameters, read: &PageRead) -> Option<PageParameters> {
    let mut next = PageParameters {
        values: page.values.clone(),
        query: Vec::new(),
    };
    for (name, rule) in &ask.request.next {
        let value = match rule {
            NextPage::Oldest(column) => bound(ask, column, read.bounds.get(column)?.0),
            NextPage::Newest(column) => bound(ask, column, read.bounds.get(column)?.1),
            NextPage::Step(step) => {
                let Some(PageValue::Text(number)) = page.values.get(name) else {
                    return None;
                };
                PageValue::Text((number.parse::<u64>().ok()? + u64::from(*step)).to_string())
            }
            NextPage::Place(place) => match read.answer.members(place) {
                Some(members) if members.is_empty() => return None,
                Some(members) => {
                    next.query = members;
                    continue;
                }
                None => PageValue::Text(read.answer.text(place).filter(|text| !text.is_empty())?),
            },
        };
        next.values.insert(name.clone(), value);
    }
    Some(next)
}
