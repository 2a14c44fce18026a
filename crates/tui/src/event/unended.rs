//! Unfinished input, such as a paste without an end: the reader waits for the rest and takes every key as part of it. Meanwhile Ctrl-C is a
//! signal, which ends the program.

use std::{
    io,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    termios::{LocalModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr},
};

/// The pieces of a whole sequence come in one burst.
const PATIENCE: Duration = Duration::from_millis(100);
const CTRL_C: u8 = 3;

/// Receives when something was read, and when it was complete.
pub(super) struct InputWatch(Sender<bool>);

impl InputWatch {
    pub(super) fn new() -> Self {
        let (sender, told) = channel();
        // Without the thread, the program is ended from outside.
        thread::Builder::new()
            .name("unended".into())
            .spawn(move || watch(&told))
            .ok();
        Self(sender)
    }

    /// Waits until there is input. Where terminals cannot be waited for, it returns at once.
    pub(super) fn wait() {
        let stdin = io::stdin();
        while let Err(Errno::INTR) = poll(&mut [PollFd::new(&stdin, PollFlags::IN)], None) {}
    }

    pub(super) fn tell(&self, begun: bool) {
        self.0.send(begun).ok();
    }
}

fn watch(told: &Receiver<bool>) {
    while let Ok(begun) = told.recv() {
        let mut waits = begun;
        while waits {
            match told.recv_timeout(PATIENCE) {
                Ok(more) => waits = more,
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    let_ctrl_c_end(true);
                    while told.recv() == Ok(true) {}
                    let_ctrl_c_end(false);
                    waits = false;
                }
            }
        }
    }
}

/// Whether Ctrl-C is a signal, of a terminal in the dashboard's modes: one that was given back is its shell's.
fn let_ctrl_c_end(is_signal: bool) {
    let stdin = io::stdin();
    let Ok(mut modes) = tcgetattr(&stdin) else {
        return;
    };
    if !modes.local_modes.contains(LocalModes::ICANON) {
        modes.local_modes.set(LocalModes::ISIG, is_signal);
        modes.special_codes[SpecialCodeIndex::VINTR] = CTRL_C;
        tcsetattr(&stdin, OptionalActions::Now, &modes).ok();
    }
}
