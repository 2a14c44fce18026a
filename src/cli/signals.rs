//! Signals to a program that serves or imports: to stop, and to read the data again. The waiting code decides what to do.

use std::{
    future::pending,
    io,
    sync::{Arc, atomic::AtomicBool},
};

use color_eyre::eyre::{Report, Result, eyre};
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
#[cfg(windows)]
use tokio::signal::windows::{CtrlBreak, CtrlC, CtrlClose, ctrl_break, ctrl_c, ctrl_close};

use crate::config::plain_reason;

fn unheard(error: &io::Error) -> Report {
    eyre!("cannot receive signals: {}", plain_reason(error))
}

/// Returns a flag set by SIGINT or SIGTERM. A second signal ends the program at once, which leaves no file half written either.
pub(super) fn stop_flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
            .map_err(|error| unheard(&error))?;
    }
    Ok(stop)
}

#[cfg(unix)]
type Stops = (Signal, Signal, Signal);
#[cfg(windows)]
type Stops = (CtrlC, CtrlBreak, CtrlClose);

#[cfg(unix)]
fn stops() -> io::Result<Stops> {
    Ok((
        signal(SignalKind::interrupt())?,
        signal(SignalKind::terminate())?,
        signal(SignalKind::hangup())?,
    ))
}

#[cfg(windows)]
fn stops() -> io::Result<Stops> {
    Ok((ctrl_c()?, ctrl_break()?, ctrl_close()?))
}

/// What stops the server: a key, a signal, or a closed terminal.
pub(super) struct StopSignals(Stops);

impl StopSignals {
    pub(super) fn new() -> Result<Self> {
        stops().map(Self).map_err(|error| unheard(&error))
    }

    /// Waits for the next, and returns its exit code.
    pub(super) async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.0.0.recv() => 0,
            _ = self.0.1.recv() => 0,
            _ = self.0.2.recv() => 129,
        }
    }
}

/// SIGUSR1, which reloads the data; Windows has no such signal.
pub(super) struct ReloadSignal {
    #[cfg(unix)]
    asked: Signal,
}

impl ReloadSignal {
    pub(super) fn new() -> Result<Self> {
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
        pending::<()>().await;
    }
}
