//! Keeps a fault of the interpreter or of the inference of functions, which an attacker's bytecode may lead it to, from ending the
//! program: what it did is thrown away, and the answer says that it broke off.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
};

thread_local! {
    static HERE: Cell<usize> = const { Cell::new(0) };
}

/// Whether this thread is executing a contract, so that a panic here is caught and told of in the answer. The program's panic hook asks
/// this and stays silent if so.
pub fn executing() -> bool {
    HERE.get() > 0
}

/// Counts itself in while it lives, whatever ends it.
struct Marker;

impl Marker {
    fn new() -> Self {
        HERE.set(HERE.get() + 1);
        Self
    }
}

impl Drop for Marker {
    fn drop(&mut self) {
        HERE.set(HERE.get() - 1);
    }
}

/// Runs what hostile bytecode may break; `None` when it did. What it works on must be dropped by it or not be used again.
pub(super) fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    let marker = Marker::new();
    let outcome = catch_unwind(AssertUnwindSafe(work));
    drop(marker);
    outcome.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_nothing_and_the_marker_is_cleared() {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !executing() {
                hook(info);
            }
        }));
        let outcome: Option<()> = guarded(|| {
            assert!(executing());
            panic!("an opcode that nobody thought of");
        });
        assert_eq!(outcome, None);
        assert!(!executing());
    }
}
