//! Parallel work inside one query, on threads of its own. On the service's pool it could deadlock: a thread waiting for its parts would run
//! another query meanwhile, which may wait for this one.

use std::{
    any::Any,
    num::NonZero,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Mutex,
};

use model::{
    error::{Code, Problem, Result},
    locks::Locked as _,
    progress::Progress,
};

/// Maximum number of threads of one query.
const THREADS_MAX: usize = 32;

/// Runs `work` on each item, several in parallel; the first error ends it.
pub fn each<T: Send>(
    items: &mut [T],
    progress: &Progress,
    work: impl Fn(&mut T) -> Result<()> + Sync,
) -> Result<()> {
    let total = items.len() as u64;
    let threads = std::thread::available_parallelism()
        .map_or(1, NonZero::get)
        .min(THREADS_MAX)
        .min(items.len());
    let queue = Mutex::new((0, items.iter_mut()));
    let next = || {
        let mut queue = queue.locked();
        let (done, items) = &mut *queue;
        let item = items.next()?;
        *done += 1;
        Some((*done, item))
    };
    let run = || {
        while let Some((done, item)) = next() {
            let worked = progress.step(done, total).and_then(|()| work(item));
            if worked.is_err() {
                // Drains the queue, so that the other threads stop.
                while next().is_some() {}
                return worked;
            }
        }
        Ok(())
    };
    let defect = |_: Box<dyn Any + Send>| {
        Err(Problem::new(
            Code::Defect,
            "Internal error in a part of the query.",
        ))
    };
    if threads < 2 {
        return catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(defect);
    }
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        let ended = running
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(defect));
        ended.fold(Ok(()), Result::and)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_worked_on_once_and_a_problem_ends_it() {
        let mut items: Vec<u32> = (0..1_000).collect();
        let twice = |item: &mut u32| {
            *item *= 2;
            Ok(())
        };
        assert_eq!(each(&mut items, &Progress::default(), twice), Ok(()));
        assert!(
            items
                .iter()
                .enumerate()
                .all(|(i, item)| *item == 2 * i as u32)
        );
        let progress = Progress::default();
        progress.cancel();
        assert_eq!(
            each(&mut items, &progress, twice).map_err(|problem| problem.code),
            Err(Code::Cancelled)
        );
        let refuse = |item: &mut u32| {
            if *item == 50 {
                Err(Problem::new(Code::NoCandles, "none"))
            } else {
                Ok(())
            }
        };
        assert_eq!(
            each(&mut items, &Progress::default(), refuse).map_err(|problem| problem.code),
            Err(Code::NoCandles)
        );
        assert_eq!(each(&mut Vec::<u32>::new(), &progress, refuse), Ok(()));
        let defect = each(&mut items, &Progress::default(), |_| panic!("a defect"));
        assert_eq!(defect.map_err(|problem| problem.code), Err(Code::Defect));
        let broken = each(&mut items[..1], &Progress::default(), |_| {
            panic!("a defect")
        });
        assert_eq!(broken.map_err(|problem| problem.code), Err(Code::Defect));
    }
}
