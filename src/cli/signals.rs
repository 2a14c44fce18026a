//! Signals to a program that serves or imports: to stop, and to read the data again. What is done then is theirs who wait.

use std::{
    future::pending,
    io,
    sync::{Arc, atomic::AtomicBool},
};

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
#[cfg(windows)]
use tokio::signal::windows::{CtrlBreak, CtrlC, CtrlClose, ctrl_break, ctrl_c, ctrl_close};

use super::outcome::Failure;
use crate::config::plain_reason;

fn unheard(error: &io::Error) -> Failure {
    Failure::Bad(format!("signals cannot be received: {}", plain_reason(error)))
}

/// Returns a flag set by SIGINT or SIGTERM. A second signal ends the program at once, which leaves no file half written either.
pub(super) fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
            .map_err(|error| unheard(&error))?;
    }
    Ok(stop)
}

/// The signals that stop the server, each with its exit code.
#[cfg(unix)]
pub(super) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

#[cfg(unix)]
impl StopSignals {
    pub(super) fn new() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).map_err(|error| unheard(&error));
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    pub(super) async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.terminate.recv() => 0,
            _ = self.interrupt.recv() => 0,
            _ = self.hang_up.recv() => 129,
        }
    }
}

/// The keys that stop the server, and its window being closed; each with its exit code.
#[cfg(windows)]
pub(super) struct StopSignals {
    interrupt: CtrlC,
    stop: CtrlBreak,
    closed: CtrlClose,
}

#[cfg(windows)]
impl StopSignals {
    pub(super) fn new() -> Result<Self, Failure> {
        let listen = || Ok(Self { interrupt: ctrl_c()?, stop: ctrl_break()?, closed: ctrl_close()? });
        listen().map_err(|error: io::Error| unheard(&error))
    }

    pub(super) async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => 0,
            _ = self.stop.recv() => 0,
            _ = self.closed.recv() => 129,
        }
    }
}

/// SIGUSR1, by which the data are read again; Windows has nothing like it.
pub(super) struct ReloadSignal {
    #[cfg(unix)]
    asked: Signal,
}

impl ReloadSignal {
    pub(super) fn new() -> Result<Self, Failure> {
        Ok(Self {
            #[cfg(unix)]
            asked: signal(SignalKind::user_defined1()).map_err(|error| unheard(&error))?,
        })
    }

    pub(super) async fn next(&mut self) {
        #[cfg(unix)]
        if self.asked.recv().await.is_some() {
            return;
        }
        pending().await
    }
}
