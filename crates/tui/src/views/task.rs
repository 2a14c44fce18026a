//! A background task for work other than a query (a store on disk, sorting many rows): started, polled, canceled on drop.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, TryRecvError, sync_channel},
    },
    thread,
    time::Duration,
};

use model::{
    error::{Code, Problem, Result},
    progress::Progress,
};

/// Wakes the event loop, from any thread: a result has arrived.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

#[derive(Debug)]
pub struct BackgroundTask<T> {
    receiver: Receiver<Result<T>>,
    progress: Progress,
}

/// Wakes the event loop on drop, so also after a panic.
struct Bell(Wake);

impl Drop for Bell {
    fn drop(&mut self) {
        (self.0)();
    }
}

impl<T: Send + 'static> BackgroundTask<T> {
    /// Runs `work` on a thread of its own and wakes the event loop at its end.
    pub fn start(wake: &Wake, work: impl FnOnce(&Progress) -> Result<T> + Send + 'static) -> Self {
        let (sender, receiver) = sync_channel(1);
        let progress = Progress::default();
        let (seen, bell) = (progress.clone(), Bell(Wake::clone(wake)));
        let run = move || {
            // The result is sent before the bell rings: the bell is dropped last.
            let _bell = bell;
            let sender = sender;
            sender.send(work(&seen)).ok();
        };
        // If no thread can be started, the channel closes and `poll` reports it.
        thread::Builder::new().name("task".into()).spawn(run).ok();
        Self { receiver, progress }
    }

    /// The result, once; `None` before it arrives and after it was taken.
    pub fn poll(&mut self) -> Option<Result<T>> {
        match self.receiver.try_recv() {
            Ok(outcome) => Some(outcome),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(Problem::new(
                Code::Defect,
                "The task ended without a result; try again.",
            ))),
        }
    }

    /// Cancels the work; its outcome still arrives.
    pub fn stop(&self) {
        self.progress.cancel();
    }

    /// Cancels the work and waits for its end, at most for this time.
    pub fn end(&mut self, at_most: Duration) {
        self.stop();
        self.receiver.recv_timeout(at_most).ok();
    }

    /// (done, total); total 0 while unknown.
    pub fn progress(&self) -> (u64, u64) {
        self.progress.state()
    }
}

impl BackgroundTask<()> {
    /// Wakes the event loop after a delay.
    pub fn pause(wake: &Wake, time: Duration) -> Self {
        Self::start(wake, move |_| {
            thread::sleep(time);
            Ok(())
        })
    }
}

impl<T> Drop for BackgroundTask<T> {
    fn drop(&mut self) {
        self.progress.cancel();
    }
}

/// Takes the outcome once it has arrived, and empties the slot.
pub fn take<T: Send + 'static>(slot: &mut Option<BackgroundTask<T>>) -> Option<Result<T>> {
    let outcome = slot.as_mut()?.poll()?;
    *slot = None;
    Some(outcome)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};

    use super::*;
    use crate::views::fixture::PATIENCE;

    fn wait<T: Send + 'static>(
        task: &mut BackgroundTask<T>,
        woken: &mpsc::Receiver<()>,
    ) -> Result<T> {
        woken.recv_timeout(PATIENCE).unwrap();
        task.poll().unwrap()
    }

    #[test]
    fn work_wakes_when_it_ends_and_even_when_it_fails() {
        let (sender, woken) = mpsc::channel();
        let wake: Wake = Arc::new(move || sender.send(()).unwrap_or_default());
        assert_eq!(
            wait(&mut BackgroundTask::start(&wake, |_| Ok(7)), &woken),
            Ok(7)
        );
        let mut failing = BackgroundTask::<u8>::start(&wake, |_| panic!("a defect"));
        assert_eq!(wait(&mut failing, &woken).unwrap_err().code, Code::Defect);
        BackgroundTask::pause(&wake, Duration::from_millis(1));
        woken.recv_timeout(PATIENCE).unwrap();
    }

    #[test]
    fn dropping_cancels() {
        let (sender, seen) = mpsc::channel();
        let wake: Wake = Arc::new(|| {});
        let task = BackgroundTask::start(&wake, move |progress| {
            while progress.step(1, 2).is_ok() {
                thread::sleep(Duration::from_millis(1));
            }
            sender.send(()).ok();
            Ok(())
        });
        drop(task);
        seen.recv_timeout(PATIENCE).unwrap();
    }
}
