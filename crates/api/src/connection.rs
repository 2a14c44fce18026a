//! A client connection and its timeouts: for a request head, for idling, and for a client that stops reading; a waiting connection also
//! closes when its slot is needed. Requests and answers belong to the service.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Buf as _, Bytes};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::Notify,
    time::{Instant, Sleep},
};

use model::error::{Code, Problem};

/// How long a request is still answered whose client closed its side: it may only have finished sending, or it may be gone, and then its
/// query is to be canceled.
const HALF_CLOSED_TIME: Duration = Duration::from_secs(2);
/// Write timeout: how long a client may leave an answer unread.
const UNREAD_TIME: Duration = Duration::from_secs(30);

/// Phase of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Phase {
    /// Reading a request head, or new and still silent.
    Head = 0,
    /// Keep-alive: between requests.
    IdleHolding = 1,
    /// Handling a request; the handler has its own limits.
    Busy = 2,
    /// Writing the response.
    Answered = 3,
}

/// Phase and its start time, shared between a connection and its service.
#[derive(Debug)]
pub(super) struct ConnectionState {
    opened: Instant,
    phase: AtomicU8,
    /// Start of the phase, in milliseconds after `opened`.
    since: AtomicU64,
    /// Asked to close in favour of another client; the next request revokes it.
    dismissed: AtomicBool,
    dismissal: Notify,
}

impl ConnectionState {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            opened: Instant::now(),
            phase: AtomicU8::new(Phase::Head as u8),
            since: AtomicU64::new(0),
            dismissed: AtomicBool::new(false),
            dismissal: Notify::new(),
        })
    }

    pub(super) fn enter(&self, phase: Phase, now: Instant) {
        self.since.store(
            now.saturating_duration_since(self.opened).as_millis() as u64,
            Ordering::Relaxed,
        );
        self.phase.store(phase as u8, Ordering::Relaxed);
        self.dismissed.store(false, Ordering::Relaxed);
    }

    /// Start of the keep-alive wait; `None` in other phases.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        self.is(Phase::IdleHolding).then(|| self.since())
    }

    /// Start of the wait for a request head; `None` in other phases.
    pub(super) fn awaiting_head_since(&self) -> Option<Instant> {
        self.is(Phase::Head).then(|| self.since())
    }

    /// Asks the connection to close, unless a request arrives first.
    pub(super) fn dismiss(&self) {
        self.dismissed.store(true, Ordering::Relaxed);
        self.dismissal.notify_one();
    }

    /// Whether the connection must close: dismissed, and still waiting for its client.
    pub(super) fn is_dismissed(&self) -> bool {
        self.dismissed.load(Ordering::Relaxed)
            && (self.is(Phase::IdleHolding) || self.is(Phase::Head))
    }

    /// Completes on each dismissal, so that the connection is polled.
    pub(super) async fn dismissal(&self) {
        self.dismissal.notified().await;
    }

    fn is(&self, phase: Phase) -> bool {
        self.phase.load(Ordering::Relaxed) == phase as u8
    }

    fn since(&self) -> Instant {
        self.opened + Duration::from_millis(self.since.load(Ordering::Relaxed))
    }
}

#[derive(Debug)]
pub(super) struct WatchedStream {
    stream: TcpStream,
    state: Arc<ConnectionState>,
    header_time: Duration,
    idle_time: Duration,
    /// When the client stopped reading; `None` while writes progress.
    stalled: Option<Instant>,
    /// When the client closed its side while its request was being answered.
    closed: Option<Instant>,
    /// What is left of the answer to a head that cannot be read.
    refusal: Option<Bytes>,
    /// Created at the first wait and seldom reset, since a reset costs more than a wake-up that is too early and only reads the clock.
    alarm: Option<Pin<Box<Sleep>>>,
}

impl WatchedStream {
    pub(super) fn new(
        stream: TcpStream,
        state: Arc<ConnectionState>,
        header_time: Duration,
        idle_time: Duration,
    ) -> Self {
        Self {
            stream,
            state,
            header_time,
            idle_time,
            stalled: None,
            closed: None,
            refusal: None,
            alarm: None,
        }
    }

    fn is_answering(&self) -> bool {
        !self.state.is(Phase::Head) && !self.state.is(Phase::IdleHolding)
    }

    /// Deadline for the client's next bytes; `None` while none are due.
    fn read_deadline(&self) -> Option<Instant> {
        if self.state.is(Phase::Head) {
            Some(self.state.since() + self.header_time)
        } else if self.state.is(Phase::IdleHolding) {
            Some(self.state.since() + self.idle_time)
        } else {
            None
        }
    }

    /// Whether the deadline has passed; if not, schedules a wake-up for it.
    fn overdue(&mut self, deadline: Instant, context: &mut Context<'_>) -> bool {
        loop {
            if Instant::now() >= deadline {
                return true;
            }
            let alarm = self
                .alarm
                .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
            if alarm.deadline() > deadline {
                alarm.as_mut().reset(deadline);
            }
            if alarm.as_mut().poll(context).is_pending() {
                return false;
            }
            alarm.as_mut().reset(deadline);
        }
    }

    /// Writes bytes of hyper's, of `count` in all: those of a bare refusal of the head are replaced, in one go.
    fn write_refusal(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
        count: usize,
    ) -> Option<Poll<io::Result<usize>>> {
        // Between answers nothing but a refusal is written.
        if self.refusal.is_none()
            && (self.state.is(Phase::Head) || self.state.is(Phase::IdleHolding))
        {
            self.refusal = whole_refusal(bytes);
        }
        while let Some(left) = self.refusal.as_mut().filter(|left| !left.is_empty()) {
            match Pin::new(&mut self.stream).poll_write(context, left) {
                Poll::Ready(Ok(0)) => {
                    return Some(Poll::Ready(Err(io::ErrorKind::WriteZero.into())));
                }
                Poll::Ready(Ok(written)) => left.advance(written),
                other => return Some(other),
            }
        }
        self.refusal.take().map(|_| Poll::Ready(Ok(count)))
    }

    /// Passes on a write's outcome; an error once the client has not read for `UNREAD_TIME`.
    fn written(
        &mut self,
        outcome: Poll<io::Result<usize>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if outcome.is_ready() {
            self.stalled = None;
            return outcome;
        }
        let since = *self.stalled.get_or_insert_with(Instant::now);
        if self.overdue(since + UNREAD_TIME, context) {
            Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
        } else {
            Poll::Pending
        }
    }
}

impl AsyncRead for WatchedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let outcome = if self.closed.is_some() {
            Poll::Ready(Ok(()))
        } else {
            Pin::new(&mut self.stream).poll_read(context, buffer)
        };
        let is_end = buffer.filled().len() == before && buffer.remaining() > 0;
        if matches!(outcome, Poll::Ready(Ok(()))) && is_end && self.is_answering() {
            let closed = *self.closed.get_or_insert_with(Instant::now);
            if !self.overdue(closed + HALF_CLOSED_TIME, context) {
                return Poll::Pending;
            }
        }
        if outcome.is_ready() {
            if buffer.filled().len() > before && self.state.is(Phase::IdleHolding) {
                self.state.enter(Phase::Head, Instant::now());
            }
            return outcome;
        }
        // Nothing was received and nothing is left to send, so the client loses no answer.
        if self.state.is_dismissed() && self.stalled.is_none() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        match self.read_deadline() {
            Some(deadline) if self.overdue(deadline, context) => {
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
            _ => Poll::Pending,
        }
    }
}

impl AsyncWrite for WatchedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = self.write_refusal(context, bytes, bytes.len());
        let outcome =
            outcome.unwrap_or_else(|| Pin::new(&mut self.stream).poll_write(context, bytes));
        self.written(outcome, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = bytes.first().map_or(&[][..], |slice| slice);
        let outcome =
            self.write_refusal(context, first, bytes.iter().map(|slice| slice.len()).sum());
        let outcome = outcome
            .unwrap_or_else(|| Pin::new(&mut self.stream).poll_write_vectored(context, bytes));
        self.written(outcome, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        // Idle starts only after the flush: during the answer hyper reads too, to notice a disconnect, and a dismissal would cut it off.
        if flushed.is_ready() && self.state.is(Phase::Answered) {
            self.state.enter(Phase::IdleHolding, Instant::now());
            // hyper may not read again before the deadline, so the wake-up is scheduled here; `poll_read` checks it.
            if let Some(deadline) = self.read_deadline() {
                self.overdue(deadline, context);
            }
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

// The answer to a request whose head cannot be read. hyper refuses it by a bare status before any service sees it; the client gets a problem
// like every other.

/// What is wrong with a head, by the status that hyper answers.
const REFUSALS: &[(&str, Code, &str)] = &[
    (
        "400",
        Code::InvalidRequest,
        "The request line or a header cannot be read. Expected a line such as `GET /tokens?limit=3 HTTP/1.1`, with `>`, `<`, quotes and \
        spaces in the target written as `%3E`, `%3C`, `%22` and `%20`; with curl, use `-G --data-urlencode 'where=price>10'`.",
    ),
    (
        "414",
        Code::TargetTooLong,
        "The request target is too long.",
    ),
    (
        "431",
        Code::HeadersTooLarge,
        "The request has more than 100 headers, or they are too large.",
    ),
    (
        "505",
        Code::InvalidRequest,
        "This version of HTTP is not supported; use HTTP/1.1.",
    ),
];

/// The whole response in place of the bare one that begins with these bytes; `None` if that is no refusal.
pub(super) fn whole_refusal(bare: &[u8]) -> Option<Bytes> {
    let status = bare
        .strip_prefix(b"HTTP/1.1 ")
        .or_else(|| bare.strip_prefix(b"HTTP/1.0 "))?;
    let (_, code, detail) = REFUSALS
        .iter()
        .find(|(known, ..)| status.starts_with(known.as_bytes()))?;
    let body = Problem::new(*code, *detail).json(None);
    let row = code.row();
    let head = format!(
        "HTTP/1.1 {} {}\r\ncontent-type: application/problem+json\r\ncontent-length: {}\r\ncache-control: no-store\r\n\
         x-content-type-options: nosniff\r\nconnection: close\r\n\r\n",
        row.status,
        row.title,
        body.len()
    );
    Some([head.as_bytes(), &body].concat().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_refusal_gets_the_body_of_a_problem() {
        for (bare, code) in [
            ("HTTP/1.1 400 Bad Request\r\n", Some("invalid_request")),
            (
                "HTTP/1.1 431 Request Header Fields Too Large\r\n",
                Some("headers_too_large"),
            ),
            ("HTTP/1.1 414 URI Too Long\r\n", Some("target_too_long")),
            ("HTTP/1.1 200 OK\r\n", None),
            ("HTTP/1.1 100 Continue\r\n", None),
            ("", None),
        ] {
            let response = whole_refusal(bare.as_bytes())
                .map(|bytes| String::from_utf8(bytes.to_vec()).expect("text"));
            let found = response
                .as_deref()
                .map(|response| response.split_once("\r\n\r\n").expect("a head and a body"));
            assert_eq!(found.is_some(), code.is_some(), "{bare}");
            if let (Some((head, body)), Some(code)) = (found, code) {
                assert!(
                    head.contains(&format!("content-length: {}\r\n", body.len()))
                        && body.contains(code),
                    "{head} {body}"
                );
            }
        }
    }
}
