//! The response body of a ClickHouse query as a byte stream with backpressure. Dropping it before the end kills the query on the server.

use std::{
    io::{self, Read},
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use bytes::{Buf, Bytes};
use tokio::{sync::mpsc, task::AbortHandle};

use super::{Engine, codes, new_id};
use crate::{Fault, POLL_INTERVAL, SPEND_EVERY, Source, locked};

/// Chunks buffered ahead of the reader.
const AHEAD: usize = 8;

/// A response body.
pub struct Stream {
    engine: Engine,
    id: String,
    parts: mpsc::Receiver<Result<Bytes, Fault>>,
    task: AbortHandle,
    stopped: Arc<dyn Fn() -> bool + Send + Sync>,
    now: Bytes,
    /// Whether the body has arrived in full, or nothing more will arrive.
    ended: bool,
    outcome: Arc<StreamEnd>,
}

/// Outcome of a stream, for the caller that handed it to a reader.
#[derive(Debug, Default)]
pub struct StreamEnd {
    source: Source,
    fault: OnceLock<Fault>,
    /// Last bytes read, in which a server that failed midway reports it.
    tail: Mutex<Vec<u8>>,
}

impl StreamEnd {
    /// Fault that ended the stream early, if any.
    pub fn fault(&self) -> Option<Fault> {
        self.fault.get().cloned()
    }

    /// Error message in the last bytes. Rows may contain such a text, so this is only for a malformed response.
    pub fn error_in_tail(&self) -> Option<Fault> {
        let tail = locked(&self.tail);
        let text = String::from_utf8_lossy(&tail);
        codes::in_text(&text).map(|code| codes::of_answer(&self.source, 200, Some(code), &text))
    }

    fn read(&self, bytes: &[u8]) {
        let mut tail = locked(&self.tail);
        tail.extend_from_slice(&bytes[bytes.len().saturating_sub(TAIL)..]);
        if tail.len() > 4 * TAIL {
            let more = tail.len() - TAIL;
            tail.drain(..more);
        }
    }
}

/// Bytes at the end that are searched for an error message.
const TAIL: usize = 4 << 10;

impl Stream {
    pub(super) fn begin(
        engine: Engine,
        sql: String,
        pairs: Vec<(&'static str, String)>,
        stopped: Arc<dyn Fn() -> bool + Send + Sync>,
    ) -> Result<Self, Fault> {
        let (id, (sender, parts)) = (new_id()?, mpsc::channel(AHEAD));
        let (wire, held, query) = (
            Arc::clone(&engine.wire),
            Arc::clone(&engine.held),
            id.clone(),
        );
        let work = async move {
            let sent = async {
                let _place = held.places.acquire().await;
                let _asking = wire.ask(&held.source.name);
                let mut response = held.post(&query, sql, &pairs).await?;
                let mut since = SPEND_EVERY;
                while let Some(part) = response
                    .chunk()
                    .await
                    .map_err(|error| codes::of_request(&held.source, &error))?
                {
                    wire.count(part.len() as u64);
                    since += part.len() as u64;
                    if since >= SPEND_EVERY {
                        wire.afford(0)?;
                        since = 0;
                    }
                    if sender.send(Ok(part)).await.is_err() {
                        return Ok(());
                    }
                }
                Ok(())
            };
            if let Err(fault) = sent.await {
                drop(sender.send(Err(fault)).await);
            }
        };
        let outcome = Arc::new(StreamEnd {
            source: engine.source().clone(),
            ..StreamEnd::default()
        });
        let task = engine.wire.runtime()?.spawn(work).abort_handle();
        Ok(Self {
            engine,
            id,
            parts,
            task,
            stopped,
            now: Bytes::new(),
            ended: false,
            outcome,
        })
    }

    /// Outcome of the stream; filled in once it has ended.
    pub fn outcome(&self) -> Arc<StreamEnd> {
        Arc::clone(&self.outcome)
    }

    fn end(&mut self, fault: Option<Fault>) -> io::Result<usize> {
        let Some(fault) = fault else {
            self.ended = true;
            return Ok(0);
        };
        // A server that fails midway writes its error before it breaks off.
        let fault = if fault == Fault::Stopped {
            fault
        } else {
            self.outcome.error_in_tail().unwrap_or(fault)
        };
        let error = io::Error::other(fault.to_string());
        self.outcome.fault.set(fault).ok();
        Err(error)
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(fault) = self.outcome.fault.get() {
            return Err(io::Error::other(fault.to_string()));
        }
        while self.now.is_empty() && !self.ended {
            let part = match self.parts.try_recv() {
                Ok(part) => Some(Some(part)),
                Err(mpsc::error::TryRecvError::Disconnected) => Some(None),
                Err(mpsc::error::TryRecvError::Empty) => {
                    let runtime = self
                        .engine
                        .wire
                        .runtime()
                        .map_err(|fault| io::Error::other(fault.to_string()))?
                        .handle()
                        .clone();
                    let parts = &mut self.parts;
                    runtime
                        .block_on(async {
                            tokio::time::timeout(
                                POLL_INTERVAL.max(Duration::from_millis(1)),
                                parts.recv(),
                            )
                            .await
                        })
                        .ok()
                }
            };
            match part {
                Some(Some(Ok(part))) => self.now = part,
                Some(Some(Err(fault))) => return self.end(Some(fault)),
                Some(None) => return self.end(None),
                None => {}
            }
            if (self.stopped)() {
                return self.end(Some(Fault::Stopped));
            }
        }
        let take = self.now.len().min(buffer.len());
        self.now.copy_to_slice(&mut buffer[..take]);
        self.outcome.read(&buffer[..take]);
        Ok(take)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if !self.ended {
            self.task.abort();
            self.engine.kill(&self.id);
        }
    }
}
