//! Row streams: the query service selects the rows, and a thread writes them in chunks with backpressure from the client, so that memory
//! does not grow with their number. A disconnect cancels the work; a failure mid-stream aborts the connection.

use std::{
    io::{self, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    task::{Context, Poll, ready},
    thread,
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use hyper::{
    Response,
    body::Frame,
    header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue},
};
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, mpsc},
    time::timeout,
};

use super::{
    Api,
    call::{Answered, Call, HandlerStep},
    coding::Coding,
    format::{AnswerFormat, FORMAT},
    reply::{self, Body},
};
use frames::export::{self, ExportError, ExportRows, writers::ExportFormat};
use model::{
    error::{Code, Problem, Result},
    progress::Progress,
};
use query::queries::{
    Find, known_token,
    paging::{link, with_parameter},
    snapshot::Snapshot,
    tabular::{Tabled, Tabular},
    view::View,
};

/// Chunk size in bytes, and chunks buffered per client.
const CHUNK_BYTES: usize = 256 << 10;
const CHUNKS_BUFFERED: usize = 4;

/// A message of a stream.
#[derive(Debug)]
enum StreamMessage {
    Data(Bytes),
    /// End of a complete stream; a stream without it was aborted.
    End,
}

/// The stream was aborted: the client must not treat it as complete.
#[derive(Debug)]
pub struct StreamAborted;

impl std::fmt::Display for StreamAborted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the row stream ended early")
    }
}

impl std::error::Error for StreamAborted {}

/// Completion callback: the bytes sent, and whether the stream was complete.
pub(super) type OnEnd = Box<dyn FnOnce(u64, bool) + Send>;

/// Receiving end of a stream.
pub(super) struct RowStream {
    messages: mpsc::Receiver<StreamMessage>,
    bytes: u64,
    done: bool,
    pub(super) on_end: Option<OnEnd>,
}

impl std::fmt::Debug for RowStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowStream")
            .field("bytes", &self.bytes)
            .field("done", &self.done)
            .finish_non_exhaustive()
    }
}

impl RowStream {
    pub(super) fn poll(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<std::result::Result<Frame<Bytes>, StreamAborted>>> {
        if self.done {
            return Poll::Ready(None);
        }
        let message = ready!(self.messages.poll_recv(context));
        Poll::Ready(
            self.take(message)
                .transpose()
                .map(|message| message.map(Frame::data)),
        )
    }

    /// Blocks for the next chunk; `None` at the end.
    pub(super) fn wait(&mut self) -> std::result::Result<Option<Bytes>, StreamAborted> {
        if self.done {
            return Ok(None);
        }
        let message = self.messages.blocking_recv();
        self.take(message)
    }

    fn take(
        &mut self,
        message: Option<StreamMessage>,
    ) -> std::result::Result<Option<Bytes>, StreamAborted> {
        match message {
            Some(StreamMessage::Data(bytes)) => {
                self.bytes += bytes.len() as u64;
                Ok(Some(bytes))
            }
            Some(StreamMessage::End) => {
                self.end(true);
                Ok(None)
            }
            None => {
                self.end(false);
                Err(StreamAborted)
            }
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    fn end(&mut self, complete: bool) {
        self.done = true;
        if let Some(on_end) = self.on_end.take() {
            on_end(self.bytes, complete);
        }
    }
}

impl Drop for RowStream {
    fn drop(&mut self) {
        self.end(false);
    }
}

/// Selects a list's rows: those of its page, or with `all` every row.
struct FindRows<Q> {
    question: Q,
    all: bool,
    snapshot: Arc<Snapshot>,
}

impl<Q: Tabular> Find for FindRows<Q> {
    type Found = Tabled;

    fn find(&self, view: &View<'_>, progress: &Progress) -> Result<Tabled> {
        self.question
            .tabled(view, &self.snapshot, self.all, progress)
    }
}

/// Streams a list in a row format: its page, or with `all` every row.
pub(super) fn stream<Q: Tabular>(
    call: &Call<'_>,
    question: Q,
    all: bool,
    row: &'static AnswerFormat,
    form: ExportFormat,
) -> Answered {
    let (api, head) = (call.api, call.head);
    let snapshot = call.ready::<Q>()?;
    if let Some(token) = question.token() {
        known_token(&snapshot, &token)?;
    }
    let coding = if row.text {
        Coding::preferred(call.headers)
    } else {
        None
    };
    let target = snapshot.named_in(&question.target());
    let form_of_it = format!(
        "{}\n{}{}",
        question.etag(&snapshot),
        row.word,
        if all { " whole" } else { "" }
    );
    let etag = Coding::tag(coding, &snapshot.etag(&form_of_it));
    if call.if_none_match.lists(&etag) {
        return Ok(HandlerStep::Now(reply::tagged(
            &Bytes::new(),
            &etag,
            call.if_none_match,
        )));
    }
    let any_tag = call.if_none_match.matches("");
    let (permit, time) = (permit(api)?, write_timeout(call));
    let service = Arc::clone(&api.service);
    let pending = service.find(
        &snapshot,
        FindRows {
            question,
            all,
            snapshot: Arc::clone(&snapshot),
        },
        || {},
    );
    Ok(HandlerStep::later(async move {
        let tabled = pending.await?;
        let next = tabled.next.clone();
        let body = if head || any_tag {
            Body::Whole(Bytes::new())
        } else {
            Body::Rows(spawn_writer(time, permit, move |sender| {
                let out = Coding::encoder(
                    coding,
                    ChunkWriter {
                        sender: sender.clone(),
                        buffer: BytesMut::new(),
                    },
                )?;
                let rows = ExportRows::Batches(tabled.rows);
                let outcome = export::write_to(out, form, &tabled.columns, &rows, &mut |_| {
                    !sender.is_closed()
                });
                service.check_undamaged(&snapshot).ok();
                outcome
            })?)
        };
        let mut reply = Response::new(body);
        reply
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static(row.media[0]));
        if let Some(coding) = coding {
            reply
                .headers_mut()
                .insert(CONTENT_ENCODING, HeaderValue::from_static(coding.token()));
        }
        if let Some(cursor) = next {
            reply::link(
                &mut reply,
                &link(
                    "next",
                    &with_parameter(
                        &with_parameter(&target, "cursor", &cursor),
                        FORMAT.name,
                        row.word,
                    ),
                ),
            );
        }
        reply::tag(&mut reply, &etag);
        Ok(if any_tag {
            reply::into_not_modified(&reply)
        } else {
            reply
        })
    }))
}

/// Sending end of a stream: sending blocks for a slow client, up to the timeout.
#[derive(Debug, Clone)]
pub(super) struct RowSender {
    sender: mpsc::Sender<StreamMessage>,
    /// With a server: the runtime for the timer, and the write timeout.
    write_timeout: Option<(Handle, Duration)>,
}

impl RowSender {
    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    pub(super) fn data(&self, bytes: Bytes) -> io::Result<()> {
        self.send(StreamMessage::Data(bytes))
    }

    fn send(&self, message: StreamMessage) -> io::Result<()> {
        let sent = match &self.write_timeout {
            None => self.sender.blocking_send(message).is_ok(),
            Some((runtime, time)) => runtime.block_on(async {
                matches!(timeout(*time, self.sender.send(message)).await, Ok(Ok(())))
            }),
        };
        if sent {
            Ok(())
        } else {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }
}

/// Starts a stream that `write` fills on its own thread; holds `permit` until it ends.
pub(super) fn spawn_writer(
    write_timeout: Option<Duration>,
    permit: OwnedSemaphorePermit,
    write: impl FnOnce(&RowSender) -> std::result::Result<(), ExportError> + Send + 'static,
) -> Result<RowStream> {
    let (sender, messages) = mpsc::channel(CHUNKS_BUFFERED);
    let sender = RowSender {
        sender,
        write_timeout: write_timeout.map(|time| (Handle::current(), time)),
    };
    let run = move || {
        let _permit = permit;
        match catch_unwind(AssertUnwindSafe(|| write(&sender))) {
            Ok(Ok(())) => sender.send(StreamMessage::End).unwrap_or_default(),
            Ok(Err(ExportError::Failed(reason))) if !sender.is_closed() => {
                tracing::warn!("the row stream ended early: {reason}");
            }
            // The client has disconnected.
            Ok(Err(_)) => {}
            Err(_) => tracing::error!("the row stream ended early: internal error"),
        }
    };
    let started = thread::Builder::new().name("rows".into()).spawn(run);
    started.map_err(|error| {
        Problem::new(
            Code::Busy,
            format!("Cannot stream the rows: {error}. Retry in a moment."),
        )
    })?;
    Ok(RowStream {
        messages,
        bytes: 0,
        done: false,
        on_end: None,
    })
}

/// Acquires a permit for one more stream.
pub(super) fn permit(api: &Api) -> Result<OwnedSemaphorePermit> {
    Arc::clone(&api.row_streams)
        .try_acquire_owned()
        .map_err(|_| {
            let detail = format!(
                "{} clients are already streaming; retry in a moment.",
                api.options.row_streams
            );
            Problem::new(Code::Busy, detail)
        })
}

/// Write timeout of the client; `None` without a server.
pub(super) fn write_timeout(call: &Call<'_>) -> Option<Duration> {
    call.headers.map(|_| call.api.options.idle_time)
}

/// Buffers writes into chunks for the client.
struct ChunkWriter {
    sender: RowSender,
    buffer: BytesMut,
}

impl ChunkWriter {
    fn send(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.sender.data(self.buffer.split().freeze())
    }
}

impl Write for ChunkWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.capacity() == 0 {
            self.buffer.reserve(CHUNK_BYTES);
        }
        // At most a chunk, as a column of a record batch can be much larger.
        let taken = &bytes[..bytes
            .len()
            .min(CHUNK_BYTES - self.buffer.len().min(CHUNK_BYTES))];
        self.buffer.extend_from_slice(taken);
        if self.buffer.len() >= CHUNK_BYTES {
            self.send()?;
        }
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send()
    }
}

impl Drop for ChunkWriter {
    /// A content coding writes its trailer when it is dropped, right before this.
    fn drop(&mut self) {
        self.send().ok();
    }
}
