//! All rows of a query of a table in place, as one stream that is read while they are written. The stream succeeds only if as many rows
//! arrived as were counted.

use std::{
    ops::Range,
    sync::{Arc, Mutex},
};

use polars::prelude::DataFrame;

use super::{EngineQuery, fetched::EngineFetch, pages, rows::DRAIN_MAX};
use crate::{
    engine_rows::FetchError,
    error::ReadError,
    formats::{RowSource, arrow_stream, forward::BufferedStream},
};
use frames::{error::FrameError, export::RowBatches};
use model::{
    locks::Locked as _,
    progress::NoProgress,
    table_ask::{AskKind, SourceQuery},
};
use wire::{Fault, clickhouse::StreamEnd};

/// The rows of a query.
#[derive(Debug)]
pub(super) struct StreamedRows {
    source: Arc<EngineFetch>,
    ask: Arc<SourceQuery>,
    columns: Vec<&'static str>,
    count: usize,
    state: Mutex<StreamState>,
}

#[derive(Debug, Default)]
struct StreamState {
    open: Option<OpenStream>,
    /// Rows passed on so far.
    done: usize,
    /// Rows that arrived and were not passed on yet.
    ready: Option<DataFrame>,
}

struct OpenStream {
    forward: Arc<BufferedStream>,
    batches: Box<dyn RowSource>,
    end: Arc<StreamEnd>,
    /// The table's name at the engine.
    name: String,
}

impl std::fmt::Debug for OpenStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenStream")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl OpenStream {
    /// The server's own reason, else this one.
    fn why(&self, reason: impl std::fmt::Display) -> ReadError {
        self.forward.drain(DRAIN_MAX).ok();
        let fault = self.end.fault().or_else(|| self.end.error_in_tail());
        let fault =
            fault.unwrap_or_else(|| Fault::Unavailable(format!("failed: the response {reason}")));
        ReadError::Engine {
            name: self.name.clone(),
            fault,
        }
    }

    fn next(&mut self) -> Result<Option<DataFrame>, ReadError> {
        match self.batches.next_batch() {
            Ok(Some(batch)) => Ok(Some(DataFrame::new(batch.height, batch.columns)?)),
            Ok(None) => Ok(None),
            Err(error) => Err(self.why(error.to_string())),
        }
    }
}

impl StreamedRows {
    pub(super) fn new(
        source: Arc<EngineFetch>,
        ask: Arc<SourceQuery>,
        columns: Vec<&'static str>,
    ) -> Self {
        let count = if let AskKind::Page(page) = &ask.wanted {
            usize::try_from(page.count).unwrap_or(usize::MAX)
        } else {
            0
        };
        Self {
            source,
            ask,
            columns,
            count,
            state: Mutex::default(),
        }
    }

    fn open(&self) -> Result<OpenStream, FetchError> {
        let ask = &self.ask;
        self.source
            .at_the_engine(&ask.tokens, &NoProgress, |asking, conditions, _| {
                let base = asking.base(&asking.columns()?, conditions)?;
                let sql = pages::asked(&base, ask, self.source.schema());
                open(asking, &sql, self.count as u64)
            })
    }
}

fn open(
    asking: &EngineQuery<'_>,
    sql: &str,
    rows: u64,
) -> Result<OpenStream, crate::loader::task::TableLoadError> {
    let stream = asking
        .engine
        .stream(sql, "ArrowStream", rows, Arc::new(|| false))
        .map_err(|fault| asking.fault(fault))?;
    let end = stream.outcome();
    let forward = Arc::new(BufferedStream::new(Box::new(stream)));
    let batches = arrow_stream(Arc::clone(&forward) as _, &(Arc::new(|_: &str| true) as _))
        .map_err(|reason| {
            forward.drain(DRAIN_MAX).ok();
            let fault = end.fault().or_else(|| end.error_in_tail());
            asking.fault(fault.unwrap_or_else(|| {
                Fault::Unavailable(format!("sent unreadable rows: the response {reason}"))
            }))
        })?;
    Ok(OpenStream {
        forward,
        batches,
        end,
        name: asking.name.clone(),
    })
}

impl RowBatches for StreamedRows {
    fn count(&self) -> usize {
        self.count
    }

    fn frame(&self, rows: Range<usize>) -> Result<DataFrame, FrameError> {
        Ok(self.next(rows)?)
    }
}

impl StreamedRows {
    fn next(&self, rows: Range<usize>) -> Result<DataFrame, ReadError> {
        let mut state = self.state.locked();
        let read = |frames: &[DataFrame]| {
            pages::read(frames, self.source.schema()).ok_or(ReadError::AnswerColumns)
        };
        let mut ready = state.ready.take().map_or_else(|| read(&[]), Ok)?;
        if !rows.is_empty() {
            if rows.start != state.done {
                return Err(ReadError::ReadTwice);
            }
            if state.open.is_none() {
                state.open = Some(self.open()?);
            }
        }
        while let Some(open) = state.open.as_mut().filter(|_| ready.height() < rows.len()) {
            let next = open
                .next()?
                .ok_or_else(|| open.why("has fewer rows than were counted"))?;
            ready.vstack_mut(&read(&[next])?)?;
        }
        state.done += rows.len();
        if state.done == self.count
            && let Some(mut open) = state.open.take()
        {
            let over =
                ready.height() > rows.len() || open.next()?.is_some_and(|more| more.height() > 0);
            if over || open.forward.drain(DRAIN_MAX).unwrap_or(1) > 0 {
                return Err(open.why("has more rows than were counted"));
            }
        }
        state.ready = Some(ready.slice(rows.len() as i64, ready.height()));
        let rows = ready.slice(0, rows.len());
        Ok(rows.select(self.columns.iter().copied())?)
    }
}
