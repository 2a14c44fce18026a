//! The bytes of a table, in memory or in a mapped cache file, and returning freed memory to the system: the only place that needs `unsafe`.
#![allow(
    unsafe_code,
    reason = "mapping a file is unsafe: what is mapped must not change; see `MappedFile::open`"
)]

#[cfg(unix)]
mod truncated;

use std::{fs::File, io, path::Path};

use memmap2::Mmap;

#[cfg(unix)]
use self::truncated::Watch;

#[derive(Debug)]
pub struct MappedFile {
    // Dropped before the map, so that memory mapped later at its address is not mistaken for it. Windows truncates no file that is mapped.
    #[cfg(unix)]
    watch: Watch,
    map: Mmap,
}

impl MappedFile {
    /// Maps the whole file. For files of the cache only: they are complete before they get their final name, are never written or truncated
    /// after that, and are removed by unlinking, which leaves a mapping intact.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::of(&File::open(path)?)
    }

    /// Like `open`, of an unnamed temporary file that its creator no longer writes to.
    pub fn of(file: &File) -> io::Result<Self> {
        // SAFETY: no program of ours changes a file that has its final name, see above. Another program that writes into the user's cache
        // folder could change bytes; they are only ever read as numbers and checked text, so a change gives wrong figures, never memory
        // unsafety. One that truncates the file makes a read raise SIGBUS; see `truncated`.
        let map = unsafe { Mmap::map(file) }?;
        Ok(Self {
            #[cfg(unix)]
            watch: Watch::over(&map),
            map,
        })
    }

    pub fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Gives the pages that were read back to the system, which keeps them as long as it has room for files; what is read again comes from there.
    pub fn release(&self) {
        // SAFETY: the map is shared and only read, so no page of it differs from the file; a page read meanwhile is mapped again. Zeros in place
        // of missing pages stay zeros.
        #[cfg(unix)]
        if let Err(error) = unsafe {
            self.map
                .unchecked_advise(memmap2::UncheckedAdvice::DontNeed)
        } {
            tracing::debug!("cannot release the pages of a mapped file: {error}");
        }
    }

    /// Whether bytes were read that are missing because another program truncated the file: they were read as zeros.
    pub fn is_truncated(&self) -> bool {
        #[cfg(unix)]
        return self.watch.is_truncated();
        #[cfg(not(unix))]
        false
    }
}

/// Bytes that begin at a multiple of eight.
#[derive(Debug)]
pub enum Image {
    Mapped(MappedFile),
    /// In memory; the number of bytes, of which the last word may have fewer.
    Held(Vec<u64>, usize),
}

impl From<&[u8]> for Image {
    fn from(bytes: &[u8]) -> Self {
        let mut words = vec![0_u64; bytes.len().div_ceil(8)];
        if let Some(place) = bytemuck::cast_slice_mut::<u64, u8>(&mut words).get_mut(..bytes.len())
        {
            place.copy_from_slice(bytes);
        }
        Self::Held(words, bytes.len())
    }
}

impl Image {
    pub fn open(path: &Path) -> io::Result<Self> {
        MappedFile::open(path).map(Self::Mapped)
    }

    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map.bytes(),
            Self::Held(words, length) => bytemuck::cast_slice(words)
                .get(..*length)
                .unwrap_or_default(),
        }
    }

    pub fn is_held(&self) -> bool {
        matches!(self, Self::Held(..))
    }

    pub fn release(&self) {
        if let Self::Mapped(map) = self {
            map.release();
        }
    }

    pub fn is_truncated(&self) -> bool {
        matches!(self, Self::Mapped(map) if map.is_truncated())
    }
}

/// Size in bytes from which an allocation is mapped on its own, and returned to the system as soon as it is freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MMAP_THRESHOLD: libc::c_int = 4 << 20;

/// Keeps large allocations out of the heap from now on. After the first large allocation is freed, glibc would place later ones in the
/// heap, where one in use holds back the free memory behind it: an import would use a third more memory than it needs.
pub fn set_mmap_threshold() {
    // SAFETY: it sets a parameter of the allocator, which any thread may do at any time.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MMAP_THRESHOLD);
    }
}

/// Returns freed heap memory to the system. Loading a dataset takes several times the memory of the loaded dataset.
pub fn trim_heap() {
    // SAFETY: it may be called at any time from any thread, and touches no memory that is in use.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::malloc_trim(0);
    }
}
