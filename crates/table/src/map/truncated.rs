//! Truncation of a mapped file by another program. Reading a page beyond the new end raises SIGBUS, which would end the program. The signal
//! handler here replaces that page and those after it with zeros, and marks the map as truncated: data read from it must not be used.
#![allow(
    unsafe_code,
    reason = "a signal's handler is given to the system, and pages are put in place of those that are gone"
)]

use std::{
    ptr,
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

/// Maximum number of watched maps. A dataset has two per large table, and a few generations are alive at once; a map beyond the limit is
/// not watched, and there SIGBUS ends the program as usual.
const WATCHED_MAX: usize = 1_024;

/// Address range of a map; all zero: a free slot.
struct Watched {
    taken: AtomicBool,
    start: AtomicUsize,
    end: AtomicUsize,
    truncated: AtomicBool,
}

static WATCHED: [Watched; WATCHED_MAX] = [const {
    Watched {
        taken: AtomicBool::new(false),
        start: AtomicUsize::new(0),
        end: AtomicUsize::new(0),
        truncated: AtomicBool::new(false),
    }
}; WATCHED_MAX];

/// Slot of a map in `WATCHED`, freed on drop.
#[derive(Debug)]
pub(super) struct Watch(Option<usize>);

impl Watch {
    pub(super) fn over(map: &[u8]) -> Self {
        if map.is_empty() || !installed() {
            return Self(None);
        }
        let free = WATCHED
            .iter()
            .position(|slot| !slot.taken.swap(true, Ordering::AcqRel));
        if let Some(slot) = free.map(|at| &WATCHED[at]) {
            let start = map.as_ptr() as usize;
            slot.truncated.store(false, Ordering::Release);
            slot.start.store(start, Ordering::Release);
            // The end last: a slot without an end contains no address.
            slot.end.store(start + map.len(), Ordering::Release);
        }
        Self(free)
    }

    pub(super) fn is_truncated(&self) -> bool {
        self.0
            .is_some_and(|at| WATCHED[at].truncated.load(Ordering::Acquire))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(slot) = self.0.map(|at| &WATCHED[at]) {
            slot.end.store(0, Ordering::Release);
            slot.start.store(0, Ordering::Release);
            slot.taken.store(false, Ordering::Release);
        }
    }
}

/// The previous action for SIGBUS: Rust's own handler, which reports a stack overflow.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();
static PAGE: AtomicUsize = AtomicUsize::new(0);

/// Whether the handler is installed; the first call installs it.
fn installed() -> bool {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    *INSTALLED.get_or_init(|| {
        // SAFETY: the structs are plain numbers, zero is a valid value of each; `on_bus_error` has the signature that SA_SIGINFO requires,
        // and does nothing that is forbidden in a handler.
        unsafe {
            let page = libc::sysconf(libc::_SC_PAGESIZE);
            let mut before: libc::sigaction = std::mem::zeroed();
            if page <= 0
                || libc::sigaction(libc::SIGBUS, ptr::null(), &raw mut before) != 0
                || BEFORE.set(before).is_err()
            {
                return false;
            }
            PAGE.store(page as usize, Ordering::Release);
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_bus_error as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&raw mut action.sa_mask) == 0
                && libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut()) == 0
        }
    })
}

/// Runs on the faulting thread, between two of its instructions: it must not lock or allocate.
extern "C" fn on_bus_error(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the system gives the handler a valid `info`.
    let address = unsafe { (*info).si_addr() } as usize;
    let page = address & !(PAGE.load(Ordering::Acquire).wrapping_sub(1));
    let of = |slot: &&Watched| {
        (slot.start.load(Ordering::Acquire)..slot.end.load(Ordering::Acquire)).contains(&address)
    };
    if let Some(slot) = WATCHED.iter().find(of) {
        let length = slot.end.load(Ordering::Acquire).saturating_sub(page);
        slot.truncated.store(true, Ordering::Release);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: the pages from here to the map's end belong to the map, which only reads them; `mmap` is a single system call.
        let zeros = unsafe {
            libc::mmap(
                page as *mut libc::c_void,
                length,
                libc::PROT_READ,
                flags,
                -1,
                0,
            )
        };
        if zeros != libc::MAP_FAILED {
            return;
        }
    }
    // Not one of the watched maps: the same behaviour as without this handler.
    // SAFETY: the previous handler is called with the signature it was installed with; else the default action is restored, which ends the
    // program when the read is retried.
    unsafe {
        match BEFORE.get() {
            Some(before) if before.sa_flags & libc::SA_SIGINFO != 0 => {
                let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                    std::mem::transmute(before.sa_sigaction);
                handler(signal, info, context);
            }
            _ => drop(libc::signal(libc::SIGBUS, libc::SIG_DFL)),
        }
    }
}
