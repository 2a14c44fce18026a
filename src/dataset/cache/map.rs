//! A file of the cache as memory, and memory that is given back: the only place that needs `unsafe`.
#![allow(unsafe_code, reason = "mapping a file is unsafe: what is mapped must not change; see `Map::open`")]

mod truncated;

use std::{fs::File, io, path::Path};

use memmap2::Mmap;

use self::truncated::Watch;

#[derive(Debug)]
pub(super) struct Map {
    // Goes before the map does, so that no other memory is taken for it.
    watch: Watch,
    map: Mmap,
}

impl Map {
    /// Maps the whole file. Only files of the cache may be: they are complete before they get their name, are never written or cut
    /// after that, and go by being unlinked, which leaves a map as it is.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Self::of(&File::open(path)?)
    }

    /// As `open`, of a file that has no name any more and that its maker writes no further.
    pub(super) fn of(file: &File) -> io::Result<Self> {
        // SAFETY: no program of ours changes a file that has its name, see above. Someone else who writes into the user's cache folder
        // could change bytes; they are only ever read as numbers and checked text, so a change gives other figures, never bad memory.
        // Someone who truncates it makes reading raise SIGBUS; see `truncated`.
        let map = unsafe { Mmap::map(file) }?;
        Ok(Self { watch: Watch::over(&map), map })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Whether bytes were read that are gone, as somebody truncated the file: they were zeros.
    pub(super) fn is_truncated(&self) -> bool {
        self.watch.is_truncated()
    }
}

/// From how many bytes on memory is asked of the system, and given back as soon as it is free.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const APART: libc::c_int = 4 << 20;

/// Keeps large pieces of memory out of the heap from now on. glibc takes them into it once the first was freed, and what lies behind
/// one that is in use stays: an import would keep a third more than it needs.
pub(crate) fn keep_large_apart() {
    // SAFETY: it sets a number of the allocator, which any thread may at any time.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, APART);
    }
}

/// Gives back what the heap keeps of memory that is free again. Reading a dataset takes several times what stays of it.
pub(crate) fn give_back() {
    // SAFETY: it may be called at any time from any thread, and touches no memory that is in use.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::malloc_trim(0);
    }
}
