//! Row streams: the deck selects the rows, and a thread writes them in chunks with backpressure from the client, so that memory does not
//! grow with their number. A disconnect cancels the work; a failure mid-stream aborts the connection.

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
use crate::{
    dataset::export::{self, ExportError, ExportRows, writers::ExportFormat},
    deck::fetch,
    error::{Code, Problem, Result},
    question::{
        Find, known_token,
        paging::{link, turned},
        progress::Progress,
        snapshot::Snapshot,
        tabular::{Tabled, Tabular},
    },
};

/// Chunk size in bytes, and chunks buffered per client.
const PIECE_BYTES: usize = 256 << 10;
const PIECES_WAITING: usize = 4;

/// A message of a stream.
#[derive(Debug)]
enum Piece {
    Data(Bytes),
    /// End of a complete stream; one that ends without it broke off.
    End,
}

/// The stream broke off: the client must not take it for complete.
#[derive(Debug)]
pub(super) struct BrokenOff;

impl std::fmt::Display for BrokenOff {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the rows broke off")
    }
}

impl std::error::Error for BrokenOff {}

/// Completion callback: the bytes sent, and whether the stream was complete.
pub(super) type Ended = Box<dyn FnOnce(u64, bool) + Send>;

/// Receiving end of a stream.
pub(super) struct RowStream {
    pieces: mpsc::Receiver<Piece>,
    bytes: u64,
    done: bool,
    pub(super) ended: Option<Ended>,
}

impl std::fmt::Debug for RowStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowStream").field("bytes", &self.bytes).field("done", &self.done).finish_non_exhaustive()
    }
}

impl RowStream {
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<std::result::Result<Frame<Bytes>, BrokenOff>>> {
        if self.done {
            return Poll::Ready(None);
        }
        let piece = ready!(self.pieces.poll_recv(context));
        Poll::Ready(self.take(piece).transpose().map(|piece| piece.map(Frame::data)))
    }

    /// Blocks for the next chunk; `None` at the end.
    pub(super) fn wait(&mut self) -> std::result::Result<Option<Bytes>, BrokenOff> {
        if self.done {
            return Ok(None);
        }
        let piece = self.pieces.blocking_recv();
        self.take(piece)
    }

    fn take(&mut self, piece: Option<Piece>) -> std::result::Result<Option<Bytes>, BrokenOff> {
        match piece {
            Some(Piece::Data(bytes)) => {
                self.bytes += bytes.len() as u64;
                Ok(Some(bytes))
            }
            Some(Piece::End) => {
                self.end(true);
                Ok(None)
            }
            None => {
                self.end(false);
                Err(BrokenOff)
            }
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    fn end(&mut self, whole: bool) {
        self.done = true;
        if let Some(ended) = self.ended.take() {
            ended(self.bytes, whole);
        }
    }
}

impl Drop for RowStream {
    fn drop(&mut self) {
        self.end(false);
    }
}

/// Selects a list's rows on the deck: those of its page, or with `whole` all.
struct FindRows<Q> {
    question: Q,
    whole: bool,
    snapshot: Arc<Snapshot>,
}

impl<Q: Tabular> Find for FindRows<Q> {
    type Found = Tabled;

    fn find(&self, snapshot: &Snapshot, progress: &Progress) -> Result<Tabled> {
        let _here = fetch(snapshot, &self.question.fetch_keys_of(snapshot, self.whole), progress)?;
        self.question.tabled(&self.snapshot, self.whole, progress)
    }
}

/// Streams a list in a row format: its page, or with `whole` all rows.
pub(super) fn stream<Q: Tabular>(call: &Call<'_>, question: Q, whole: bool, row: &'static AnswerFormat, form: ExportFormat) -> Answered {
    let (api, head) = (call.api, call.head);
    let snapshot = api.deck.ready::<Q>()?;
    if let Some(token) = question.token() {
        known_token(&snapshot, &token)?;
    }
    let coding = if row.text { Coding::wanted(call.headers) } else { None };
    let target = question.target();
    let etag = Coding::tag(coding, &snapshot.etag(&format!("{target}\n{}{}", row.word, if whole { " whole" } else { "" })));
    if call.if_none_match.names(&etag) {
        return Ok(HandlerStep::Now(reply::tagged(&Bytes::new(), &etag, call.if_none_match)));
    }
    let any = call.if_none_match.holds("");
    let (permit, time) = (permit(api)?, patience(call));
    let deck = Arc::clone(&api.deck);
    let coming = deck.find(&snapshot, FindRows { question, whole, snapshot: Arc::clone(&snapshot) }, || {});
    Ok(HandlerStep::later(async move {
        let tabled = coming.await?;
        let next = tabled.next.clone();
        let body = if head || any {
            Body::Whole(Bytes::new())
        } else {
            Body::Rows(written(time, permit, move |sending| {
                let out = Coding::around(coding, Pieces { sending: sending.clone(), gathered: BytesMut::new() })?;
                let rows = ExportRows::Batches(tabled.rows);
                let written = export::write_to(out, form, &tabled.columns, &rows, &mut |_| !sending.is_closed());
                deck.check(&snapshot).ok();
                written
            })?)
        };
        let mut reply = Response::new(body);
        reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(row.media[0]));
        if let Some(coding) = coding {
            reply.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static(coding.token()));
        }
        if let Some(cursor) = next {
            reply::link(&mut reply, &link("next", &turned(&turned(&target, "cursor", &cursor), FORMAT.name, row.word)));
        }
        reply::tag(&mut reply, &etag);
        Ok(if any { reply::into_not_modified(&reply) } else { reply })
    }))
}

/// Sending end of a stream: sending blocks for a slow client, up to the timeout.
#[derive(Debug, Clone)]
pub(super) struct Sending {
    sender: mpsc::Sender<Piece>,
    /// With a server: the runtime for the timer, and the write timeout.
    patience: Option<(Handle, Duration)>,
}

impl Sending {
    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    pub(super) fn data(&self, bytes: Bytes) -> io::Result<()> {
        self.send(Piece::Data(bytes))
    }

    fn send(&self, piece: Piece) -> io::Result<()> {
        let sent = match &self.patience {
            None => self.sender.blocking_send(piece).is_ok(),
            Some((runtime, time)) => runtime.block_on(async { matches!(timeout(*time, self.sender.send(piece)).await, Ok(Ok(()))) }),
        };
        if sent { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
    }
}

/// Starts a stream that `write` fills on its own thread; holds `permit` until it ends.
pub(super) fn written(
    patience: Option<Duration>,
    permit: OwnedSemaphorePermit,
    write: impl FnOnce(&Sending) -> std::result::Result<(), ExportError> + Send + 'static,
) -> Result<RowStream> {
    let (sender, pieces) = mpsc::channel(PIECES_WAITING);
    let sending = Sending { sender, patience: patience.map(|time| (Handle::current(), time)) };
    let run = move || {
        let _permit = permit;
        match catch_unwind(AssertUnwindSafe(|| write(&sending))) {
            Ok(Ok(())) => sending.send(Piece::End).unwrap_or_default(),
            Ok(Err(ExportError::Failed(reason))) if !sending.is_closed() => tracing::warn!("rows broke off: {reason}"),
            // The client has disconnected.
            Ok(Err(_)) => {}
            Err(_) => tracing::error!("rows broke off: a defect of the program"),
        }
    };
    let started = thread::Builder::new().name("rows".into()).spawn(run);
    started.map_err(|error| Problem::new(Code::Busy, format!("The rows cannot be sent now: {error}. Ask again in a moment.")))?;
    Ok(RowStream { pieces, bytes: 0, done: false, ended: None })
}

/// Acquires a permit for one more stream.
pub(super) fn permit(api: &Api) -> Result<OwnedSemaphorePermit> {
    Arc::clone(&api.row_streams).try_acquire_owned().map_err(|_| {
        let detail = format!("{} clients are being sent rows already: ask again in a moment.", api.options.row_streams);
        Problem::new(Code::Busy, detail)
    })
}

/// Write timeout of the client; `None` without a server.
pub(super) fn patience(call: &Call<'_>) -> Option<Duration> {
    call.headers.map(|_| call.api.options.idle_time)
}

/// Buffers writes into chunks for the client.
struct Pieces {
    sending: Sending,
    gathered: BytesMut,
}

impl Pieces {
    fn send(&mut self) -> io::Result<()> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        self.sending.data(self.gathered.split().freeze())
    }
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.gathered.capacity() == 0 {
            self.gathered.reserve(PIECE_BYTES);
        }
        // At most a chunk, as a column of a record batch can be much larger.
        let taken = &bytes[..bytes.len().min(PIECE_BYTES - self.gathered.len().min(PIECE_BYTES))];
        self.gathered.extend_from_slice(taken);
        if self.gathered.len() >= PIECE_BYTES {
            self.send()?;
        }
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send()
    }
}

impl Drop for Pieces {
    /// A content coding writes its trailer when it is dropped, right before this.
    fn drop(&mut self) {
        self.send().ok();
    }
}
