//! `tokendeck health`: checks whether a server responds, for supervisors of containers that contain only this program.

use std::{
    io::{Read as _, Write as _},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs as _},
    path::PathBuf,
    time::Duration,
};

use clap::Args;
use color_eyre::eyre::eyre;

use super::{
    outcome::{Outcome, print_line},
    program::configuration,
    serve::listen_address,
};
use crate::config::plain_reason;

const PATIENCE: Duration = Duration::from_secs(3);
/// Maximum bytes of the response to read.
const ANSWER_MAX: u64 = 64 << 10;

#[derive(Debug, Args)]
pub(super) struct HealthArgs {
    /// Address of the server (overrides the configuration)
    #[arg(long, value_name = "ADDR", value_parser = listen_address)]
    listen: Option<String>,
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(super) fn run(args: &HealthArgs) -> Outcome {
    let listen = match &args.listen {
        Some(listen) => listen.clone(),
        None => configuration(args.config.as_deref())?.api.listen,
    };
    let refused = |reason: &str| eyre!("no healthy response from `{listen}`: {reason}");
    let answer = ask(&listen).map_err(|error| refused(&plain_reason(&error)))?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let line = head.lines().next().unwrap_or_default();
    if line.split(' ').nth(1) == Some("200") {
        print_line(body.trim_end())
    } else {
        Err(refused(&format!("`{line}`")))
    }
}

fn ask(listen: &str) -> std::io::Result<String> {
    let address = listen
        .to_socket_addrs()?
        .next()
        .ok_or(std::io::ErrorKind::AddrNotAvailable)?;
    let mut server = TcpStream::connect_timeout(&reachable(address), PATIENCE)?;
    server.set_read_timeout(Some(PATIENCE))?;
    server.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    server.take(ANSWER_MAX).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// A server that listens on all addresses is contacted on loopback.
fn reachable(address: SocketAddr) -> SocketAddr {
    let loopback: IpAddr = if address.is_ipv4() {
        Ipv4Addr::LOCALHOST.into()
    } else {
        Ipv6Addr::LOCALHOST.into()
    };
    if address.ip().is_unspecified() {
        SocketAddr::new(loopback, address.port())
    } else {
        address
    }
}
