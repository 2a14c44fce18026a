//! Members of zip archives as readers. Nothing that an archive declares is trusted: the number of members and their unpacked size are
//! limited, and each member's CRC is checked against the bytes read.

use std::{
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom},
    path::Path,
};

use flate2::{Crc, read::DeflateDecoder};
use zip::{CompressionMethod, ZipArchive};

use super::error::ArchiveError;
use load::formats::{UNPACKED_FLOOR, UNPACKED_RATIO_MAX};

const MEMBERS_MAX: usize = 1_000;
/// Maximum number of parts of a workbook; a sheet is one or two.
const PARTS_MAX: usize = 20_000;
/// Maximum unpacked size of a member.
const UNPACKED_MAX: u64 = 64 << 30;
/// Maximum unpacked size of a table: bytes, or a multiple of its packed size if that is more.
const OF_TABLE: (u64, u64) = (UNPACKED_FLOOR, UNPACKED_RATIO_MAX);
/// The same for a part of a workbook, whose cells are counted before they are read.
const OF_PART: (u64, u64) = (256 << 20, 500);

/// Said of a file that unpacks to more.
const PACKED_TOO_WELL: &str =
    "unpacks to many times its size, so it is not read; unpack it, and use the plain file";

/// A file in an archive.
#[derive(Debug, Clone)]
pub(super) struct Member {
    /// File name, without folders.
    pub name: String,
    /// The name with its folders.
    pub path: String,
    /// The unpacked size that the archive declares: reason enough to refuse it, but not to be trusted.
    pub declared: u64,
    start: u64,
    packed: u64,
    unpacked_max: u64,
    crc: u32,
    deflated: bool,
}

/// Workbooks that are zip archives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ZippedWorkbook {
    Excel,
    ExcelBinary,
    OpenDocument,
}

/// The kind of workbook that the zip archive is, if it is one; what its name ends with is not asked.
pub(super) fn workbook(path: &Path) -> Option<ZippedWorkbook> {
    let archive = ZipArchive::new(BufReader::new(File::open(path).ok()?)).ok()?;
    let holds = |name: &str| archive.file_names().flatten().any(|held| *held == *name);
    [
        ("xl/workbook.xml", ZippedWorkbook::Excel),
        ("xl/workbook.bin", ZippedWorkbook::ExcelBinary),
        ("content.xml", ZippedWorkbook::OpenDocument),
    ]
    .into_iter()
    .find_map(|(name, kind)| holds(name).then_some(kind))
}

/// The members that may be tables; folders and files that operating systems add are left out.
pub(super) fn members(path: &Path) -> Result<Vec<Member>, ArchiveError> {
    let added = |path: &str, name: &str| name.starts_with('.') || path.starts_with("__MACOSX/");
    let members = listed(path, MEMBERS_MAX, OF_TABLE, |path, name| !added(path, name))?;
    if members.is_empty() {
        Err(ArchiveError::Empty)
    } else {
        Ok(members)
    }
}

/// All files in a workbook, hidden ones too: its reader follows any name.
pub(super) fn parts(path: &Path) -> Result<Vec<Member>, ArchiveError> {
    listed(path, PARTS_MAX, OF_PART, |_, _| true)
}

fn listed(
    path: &Path,
    most: usize,
    (floor, ratio): (u64, u64),
    wanted: impl Fn(&str, &str) -> bool,
) -> Result<Vec<Member>, ArchiveError> {
    let damaged = |error: &dyn std::fmt::Display| ArchiveError::Damaged(error.to_string());
    let file = File::open(path).map_err(ArchiveError::Unread)?;
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(|error| damaged(&error))?;
    if archive.len() > most {
        return Err(ArchiveError::TooManyFiles {
            count: archive.len(),
            max: most,
        });
    }
    let mut members = Vec::new();
    for i in 0..archive.len() {
        let member = archive.by_index_raw(i).map_err(|error| damaged(&error))?;
        let path = member.name().map_err(|error| damaged(&error))?.to_string();
        let name = path
            .rsplit(['/', '\\'])
            .next()
            .unwrap_or_default()
            .to_owned();
        if !member.is_file() || name.is_empty() || !wanted(&path, &name) {
            continue;
        }
        if member.encrypted() {
            return Err(ArchiveError::Encrypted(name));
        }
        let deflated = match member.compression() {
            CompressionMethod::Stored => false,
            CompressionMethod::Deflated => true,
            method => return Err(ArchiveError::Compression { name, method }),
        };
        let Some(start) = member.data_start() else {
            return Err(ArchiveError::NoData(name));
        };
        let (packed, declared, crc) = (member.compressed_size(), member.size(), member.crc32());
        let unpacked_max = packed.saturating_mul(ratio).clamp(floor, UNPACKED_MAX);
        members.push(Member {
            name,
            path,
            declared,
            start,
            packed,
            unpacked_max,
            crc,
            deflated,
        });
    }
    Ok(members)
}

impl Member {
    pub(super) fn open(&self, path: &Path) -> Result<Box<dyn Read + Send>, ArchiveError> {
        let open = || -> io::Result<_> {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(self.start))?;
            Ok(BufReader::new(file.take(self.packed)))
        };
        let packed = open().map_err(ArchiveError::Unread)?;
        let inner: Box<dyn Read + Send> = if self.deflated {
            Box::new(DeflateDecoder::new(packed))
        } else {
            Box::new(packed)
        };
        Ok(Box::new(Checked {
            inner,
            crc: Crc::new(),
            expected: self.crc,
            most: self.unpacked_max,
        }))
    }
}

/// A reader that limits the bytes read and checks the CRC at the end.
struct Checked {
    inner: Box<dyn Read + Send>,
    crc: Crc,
    expected: u32,
    most: u64,
}

impl Read for Checked {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(into)?;
        if n == 0 && !into.is_empty() && self.crc.sum() != self.expected {
            return Err(io::Error::other("its checksum is wrong"));
        }
        self.crc.update(&into[..n]);
        self.most = self
            .most
            .checked_sub(n as u64)
            .ok_or_else(|| io::Error::new(io::ErrorKind::FileTooLarge, PACKED_TOO_WELL))?;
        Ok(n)
    }
}
