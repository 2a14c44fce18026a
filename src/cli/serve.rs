//! `tokendeck serve`: only the API server. It listens before the data is loaded, so that a supervisor sees it running.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use clap::Args;
use color_eyre::eyre::{Result, bail, eyre};
use tokio::{
    net::TcpListener,
    sync::{broadcast, oneshot},
};

use super::{
    LocationArgs,
    log::Log,
    outcome::{Failure, Outcome, print},
    program::{Program, no_dataset, open_keys},
    signals::{ReloadSignal, StopSignals},
};
use crate::config::{is_listen_address, plain_reason};
use api;
use query::service::{QueryService, ServiceEvent};

/// The port of an address without one.
const DEFAULT_PORT: u16 = 8787;

#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    /// Address to listen on (overrides the configuration); without a port, 8787; port 0 picks a free port
    #[arg(long, value_name = "ADDR", value_parser = listen_address)]
    listen: Option<String>,
    #[command(flatten)]
    location: LocationArgs,
}

pub(super) fn listen_address(text: &str) -> Result<String> {
    if let Ok(host) = text.parse::<IpAddr>() {
        Ok(SocketAddr::new(host, DEFAULT_PORT).to_string())
    } else if is_listen_address(text) {
        Ok(text.to_owned())
    } else {
        Err(eyre!(
            "expected an address and port, such as 127.0.0.1:8787"
        ))
    }
}

pub(super) fn run(args: &ServeArgs) -> Outcome {
    let log = Log::to_stderr();
    let program = Program::open_with_data(&args.location)?;
    let keys = open_keys(&program.config)?;
    let jobs = program.jobs()?;
    let listen = args.listen.as_ref().unwrap_or(&program.config.api.listen);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime =
        runtime.map_err(|error| eyre!("cannot start the server: {}", plain_reason(&error)))?;
    runtime.block_on(async {
        // Before the first line is printed, so that a signal right after it shuts the server down cleanly.
        let (signals, reload) = (StopSignals::new()?, ReloadSignal::new()?);
        let (listener, address) = bind(listen).await?;
        if let Some(reason) = keys.refused_on(address.ip()) {
            bail!(reason);
        }
        keys.warnings()
            .iter()
            .for_each(|warning| tracing::warn!("{warning}"));
        let api = program.api(keys, Some(jobs), address.ip());
        api.log.write_to(log.sink());
        let events = program.service.listen();
        program.service.load_in_background();
        program.service.start_feed();
        program
            .watch()
            .unwrap_or_else(|reason| tracing::warn!("{reason}"));
        announce(address)?;
        let (sender, mut ending) = oneshot::channel();
        let service = Arc::clone(&program.service);
        api::serve(listener, api, async move {
            sender
                .send(wait_for_end(signals, reload, events, &service).await)
                .ok();
        })
        .await;
        match ending.try_recv() {
            Ok(Ending::Signal(0)) => Ok(()),
            Ok(Ending::Signal(code)) => Err(Failure::Signal(code).into()),
            Ok(Ending::NoData(reason)) => Err(no_dataset(&program.service.folder(), &reason)),
            Err(_) => Err(eyre!("server on {address} stopped unexpectedly")),
        }
    })
}

async fn bind(listen: &str) -> Result<(TcpListener, SocketAddr)> {
    let refuse = |error: &std::io::Error| {
        eyre!(
            "cannot listen on `{listen}`: {}; pass another address with --listen (port 0 picks a free port)",
            plain_reason(error)
        )
    };
    let listener = TcpListener::bind(listen)
        .await
        .map_err(|error| refuse(&error))?;
    let address = listener.local_addr().map_err(|error| refuse(&error))?;
    Ok((listener, address))
}

/// Prints the first line of stdout, from which a caller learns the port.
fn announce(address: SocketAddr) -> Outcome {
    print(format!("listening on http://{address}\n")).or_else(|error| match error.downcast_ref() {
        Some(Failure::Unread) => Ok(()),
        _ => Err(error),
    })
}

/// Why the server stops.
enum Ending {
    /// A signal, with its exit code.
    Signal(u8),
    /// The first load failed, with the reason.
    NoData(String),
}

/// Waits for a reason to stop, logging reloads meanwhile. A second signal ends the process at once. SIGUSR1 reloads the data instead,
/// remote files included.
async fn wait_for_end(
    mut signals: StopSignals,
    reload: ReloadSignal,
    events: broadcast::Receiver<ServiceEvent>,
    service: &Arc<QueryService>,
) -> Ending {
    tokio::select! {
        code = signals.next() => {
            tracing::info!("shutting down when the requests in progress have finished");
            tokio::spawn(async move { std::process::exit(signals.next().await.into()) });
            Ending::Signal(code)
        }
        reason = first_load_failed(events, service) => Ending::NoData(reason),
        ending = reload_when_asked(reload, service) => ending,
    }
}

async fn reload_when_asked(mut reload: ReloadSignal, service: &Arc<QueryService>) -> Ending {
    loop {
        reload.next().await;
        service.load_in_background();
        service.refresh_feed();
    }
}

/// Completes if the first load fails, never after a successful one; logs later reloads.
pub(super) async fn first_load_failed(
    mut events: broadcast::Receiver<ServiceEvent>,
    service: &QueryService,
) -> String {
    loop {
        match events.recv().await {
            Ok(ServiceEvent::Reloaded(generation)) => {
                let missing = service
                    .snapshot()
                    .map(|snapshot| snapshot.dataset.importing.join(", "))
                    .unwrap_or_default();
                if missing.is_empty() {
                    tracing::info!(generation, "data loaded");
                } else {
                    tracing::info!(generation, "data loaded, except {missing} (still loading)");
                }
            }
            Ok(ServiceEvent::LoadFailed(reason)) if service.snapshot().is_err() => return reason,
            Ok(ServiceEvent::LoadFailed(reason)) => {
                tracing::warn!("reload failed; keeping the previous data: {reason}");
            }
            Ok(ServiceEvent::Notice(text)) => tracing::info!("{text}"),
            Ok(ServiceEvent::FeedRefreshed { table, rows }) => {
                tracing::info!(table, rows, "rows fetched");
            }
            Ok(ServiceEvent::FeedFailed { table, reason }) => {
                tracing::warn!(table, "refresh failed; keeping the previous rows: {reason}");
            }
            Ok(ServiceEvent::RecordCounted(name)) => {
                tracing::info!("track record of all tokens computed: {name}");
            }
            Ok(
                ServiceEvent::AlertsFired | ServiceEvent::JobUpdated(_) | ServiceEvent::FeedRunning,
            )
            | Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::listen_address;

    #[test]
    fn an_address_without_a_port_has_the_default_port() {
        for (text, address) in [
            ("127.0.0.2", Some("127.0.0.2:8787")),
            ("::1", Some("[::1]:8787")),
            ("127.0.0.1:0", Some("127.0.0.1:0")),
            ("deck.example:80", Some("deck.example:80")),
            ("127.0.0", None),
            ("", None),
        ] {
            assert_eq!(listen_address(text).ok().as_deref(), address, "{text}");
        }
    }
}
