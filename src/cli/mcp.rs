//! `tokendeck mcp`: the Model Context Protocol over stdio, for a client that starts the program. Messages to the user go to stderr, since
//! stdout carries the protocol.

use std::{
    io::{IsTerminal, stdin},
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use clap::Args;
use color_eyre::eyre::{Report, eyre};

use super::{
    AsOfArgs,
    log::Log,
    outcome::{Outcome, say},
    program::{Program, no_dataset},
    serve::first_load_failed,
};
use crate::config::plain_reason;
use api;
use api::keys::Keys;

#[derive(Debug, Args)]
pub(super) struct McpArgs {
    #[command(flatten)]
    location: AsOfArgs,
}

pub(super) fn run(args: &McpArgs) -> Outcome {
    let _log = Log::to_stderr();
    let program = Program::open_with_data(&args.location.location())?;
    if stdin().is_terminal() {
        say(
            "waiting for a Model Context Protocol client on stdin; usually the client starts this command itself. Press Ctrl-C to stop",
        );
    }
    // The client needs no key, so none is read or generated.
    let keys = Keys::in_memory().map_err(Report::msg)?;
    // Without a state folder there are neither alerts nor jobs.
    let jobs = program
        .jobs()
        .map_err(|reason| tracing::warn!("{reason}"))
        .ok();
    let api = program.api(keys, jobs, IpAddr::V4(Ipv4Addr::LOCALHOST));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime =
        runtime.map_err(|error| eyre!("cannot start the server: {}", plain_reason(&error)))?;
    let service = Arc::clone(&program.service);
    let outcome = runtime.block_on(async {
        let events = service.listen();
        service.load_in_background();
        program
            .watch()
            .unwrap_or_else(|reason| tracing::warn!("{reason}"));
        tokio::select! {
            served = api::mcp::serve_stdio(api) => served.map_err(Report::msg),
            reason = first_load_failed(events, &service) => Err(no_dataset(&service.folder(), &reason)),
        }
    });
    // Does not wait: a read of stdin may still block on the client.
    runtime.shutdown_background();
    outcome
}
