//! Locks that can still be acquired after a thread panicked while holding them: the guarded data is consistent after every statement, and
//! one failed query must not make all later ones fail.

use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

pub trait Locked<T> {
    fn locked(&self) -> MutexGuard<'_, T>;
}

impl<T> Locked<T> for Mutex<T> {
    fn locked(&self) -> MutexGuard<'_, T> {
        self.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub trait SharedLock<T> {
    fn reading(&self) -> RwLockReadGuard<'_, T>;
    fn writing(&self) -> RwLockWriteGuard<'_, T>;
}

impl<T> SharedLock<T> for RwLock<T> {
    fn reading(&self) -> RwLockReadGuard<'_, T> {
        self.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn writing(&self) -> RwLockWriteGuard<'_, T> {
        self.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::panic;

    use super::*;

    #[test]
    fn a_panic_under_a_lock_does_not_close_it() {
        let (own, shared) = (Mutex::new(1), RwLock::new(1));
        let broken = panic::catch_unwind(|| {
            let (_own, _shared) = (own.locked(), shared.writing());
            panic!("a defect");
        });
        assert!(broken.is_err() && own.is_poisoned() && shared.is_poisoned());
        *shared.writing() += 1;
        assert_eq!((*own.locked(), *shared.reading()), (1, 2));
    }
}
