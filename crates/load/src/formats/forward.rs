//! A byte stream behind an interface of random access: bytes arrive in order, and only the first ones can be read again.

use std::{
    io::{self, Read},
    sync::{Mutex, MutexGuard},
};

use super::read_at::ReadAt;
use model::locks::Locked as _;

/// Bytes at the beginning that can be read again.
const KEPT: u64 = 1 << 20;

/// A byte stream that keeps its beginning.
pub struct BufferedStream {
    state: Mutex<State>,
}

struct State {
    reader: Box<dyn Read + Send>,
    /// The first bytes, which can be read again.
    kept: Vec<u8>,
    at: u64,
}

impl BufferedStream {
    pub fn new(reader: Box<dyn Read + Send>) -> Self {
        Self {
            state: Mutex::new(State {
                reader,
                kept: Vec::new(),
                at: 0,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.locked()
    }

    /// Reads and drops up to `most` further bytes; returns their number.
    pub fn drain(&self, most: u64) -> io::Result<u64> {
        let mut state = self.lock();
        let drained = io::copy(&mut state.reader.by_ref().take(most), &mut io::sink())?;
        state.at += drained;
        Ok(drained)
    }
}

impl State {
    fn next(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        self.reader.read_exact(buffer)?;
        if self.at == self.kept.len() as u64 && self.at < KEPT {
            self.kept.extend_from_slice(buffer);
        }
        self.at += buffer.len() as u64;
        Ok(())
    }
}

impl ReadAt for BufferedStream {
    /// The length is unknown before the end.
    fn bytes(&self) -> io::Result<u64> {
        Ok(u64::MAX)
    }

    fn read_exact_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        let state = &mut *self.lock();
        if at > state.at {
            let between = at - state.at;
            let passed = io::copy(&mut state.reader.by_ref().take(between), &mut io::sink())?;
            state.at += passed;
            if passed < between {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        if at == state.at {
            return state.next(buffer);
        }
        let start = usize::try_from(at).unwrap_or(usize::MAX);
        let again = state
            .kept
            .get(start..)
            .map_or(0, |kept| kept.len().min(buffer.len()));
        if again < buffer.len() && at + again as u64 != state.at {
            return Err(io::Error::other(
                "the part already read is no longer available",
            ));
        }
        buffer[..again].copy_from_slice(&state.kept[start..start + again]);
        if again < buffer.len() {
            state.next(&mut buffer[again..])
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_beginning_can_be_read_again() {
        let all: Vec<u8> = (0..3 * KEPT as usize).map(|i| (i % 251) as u8).collect();
        let forward = BufferedStream::new(Box::new(io::Cursor::new(all.clone())));
        let read = |at: usize, length: usize| {
            let mut buffer = vec![0; length];
            forward
                .read_exact_at(&mut buffer, at as u64)
                .map(|()| assert_eq!(buffer, all[at..at + length], "{at} {length}"))
        };
        for (at, length) in [
            (0, 4),
            (4, 100),
            (0, 300),
            (10, 5),
            (300, KEPT as usize),
            (0, 1_000),
            (2 * KEPT as usize, 5),
        ] {
            read(at, length).expect("there");
        }
        assert!(read(KEPT as usize + 400, 10).is_err(), "gone");
        assert_eq!(forward.drain(u64::MAX).expect("there"), KEPT - 5);
        assert!(read(3 * KEPT as usize - 1, 2).is_err());
        assert_eq!(read(0, 0).map_err(|error| error.kind()), Ok(()));
    }
}
