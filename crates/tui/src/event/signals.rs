//! Unix signals, and the loss of the terminal without a signal.

use std::{io, sync::mpsc::SyncSender, thread};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
};
use signal_hook::{
    consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH},
    iterator::Signals,
};

use super::Event;

/// Starts the threads.
pub(super) fn listen(sender: &SyncSender<Event>) -> io::Result<()> {
    listen_to_signals(sender.clone())?;
    listen_to_hang_up(sender.clone())
}

fn listen_to_signals(sender: SyncSender<Event>) -> io::Result<()> {
    // While the terminal's answers are awaited, nobody else listens to its size.
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP, SIGTSTP, SIGCONT, SIGWINCH])?;
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            for signal in &mut signals {
                let event = match signal {
                    SIGHUP => Event::Terminate(129),
                    SIGTSTP => Event::Suspend,
                    SIGCONT => Event::Continue,
                    SIGWINCH => Event::Resize,
                    _ => Event::Terminate(0),
                };
                if sender.send(event).is_err() {
                    break;
                }
            }
        })?;
    Ok(())
}

/// A terminal that goes without a signal, as of a program that is no session's leader: crossterm would read its end over and over.
fn listen_to_hang_up(sender: SyncSender<Event>) -> io::Result<()> {
    thread::Builder::new()
        .name("hang-up".into())
        .spawn(move || {
            let stdin = io::stdin();
            // Nothing is asked for: a hang-up and an error are told anyway. Where terminals cannot be waited for, nobody is.
            let mut waited = [PollFd::new(&stdin, PollFlags::empty())];
            while let Err(Errno::INTR) = poll(&mut waited, None) {}
            if waited[0]
                .revents()
                .intersects(PollFlags::HUP | PollFlags::ERR)
            {
                sender.send(Event::Terminate(129)).ok();
            }
        })?;
    Ok(())
}
