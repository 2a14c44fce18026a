//! A pending result: polled by the terminal, awaited by the API, canceled on drop.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::sync::oneshot;

use super::cached::CachedAnswer;
use model::{
    error::{Code, Problem, Result},
    progress::Progress,
};

/// A pending answer to a query.
pub type PendingAnswer<A> = PendingResult<Arc<CachedAnswer<A>>>;

/// A pending result of any type.
#[derive(Debug)]
pub struct PendingResult<T> {
    receiver: oneshot::Receiver<Result<T>>,
    progress: Progress,
}

impl<T> PendingResult<T> {
    pub(super) fn new() -> (oneshot::Sender<Result<T>>, Progress, Self) {
        let (sender, receiver) = oneshot::channel();
        let progress = Progress::default();
        (sender, progress.clone(), Self { receiver, progress })
    }

    /// Takes the result once it is ready; `None` before. Once it was taken, a further call returns an error.
    pub fn poll_now(&mut self) -> Option<Result<T>> {
        match self.receiver.try_recv() {
            Ok(outcome) => Some(outcome),
            Err(oneshot::error::TryRecvError::Empty) => None,
            Err(oneshot::error::TryRecvError::Closed) => Some(Err(lost())),
        }
    }

    /// (done, total); total 0 while unknown.
    pub fn progress(&self) -> (u64, u64) {
        self.progress.state()
    }
}

impl<T> Future for PendingResult<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.receiver)
            .poll(context)
            .map(|outcome| outcome.unwrap_or_else(|_| Err(lost())))
    }
}

impl<T> Drop for PendingResult<T> {
    fn drop(&mut self) {
        self.progress.cancel();
    }
}

fn lost() -> Problem {
    Problem::new(
        Code::Cancelled,
        "The query was canceled before it completed.",
    )
}
