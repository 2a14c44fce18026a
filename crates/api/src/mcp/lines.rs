//! JSON-RPC lines between a client and the protocol's server: a line that is not JSON gets an error response, which rmcp would omit. The
//! meaning of the messages is not known here.

use rmcp::model::ErrorCode;
use serde_json::{json, value::RawValue};
use tokio::{
    io::{
        AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _,
        BufReader, DuplexStream, duplex,
    },
    sync::mpsc,
    task::JoinHandle,
};

use super::batch;

/// Bytes on their way between client and server.
const PIPE_BYTES: usize = 64 << 10;
/// Refusals that wait for the client to read them; beyond it, nothing more is read.
const REFUSALS_MAX: usize = 16;

/// The server's ends of the two pipes, and the task that ends when everything is written to the client.
pub(super) struct Lines {
    pub(super) read: DuplexStream,
    pub(super) write: DuplexStream,
    pub(super) written: JoinHandle<()>,
}

/// Connects a server to its client. Lines have at most `bytes_max` bytes.
pub(super) fn connect(
    client_sends: impl AsyncRead + Send + Unpin + 'static,
    client_reads: impl AsyncWrite + Send + Unpin + 'static,
    bytes_max: usize,
) -> Lines {
    let (to_server, read) = duplex(PIPE_BYTES);
    let (write, from_server) = duplex(PIPE_BYTES);
    let (refuse, refusals) = mpsc::channel(REFUSALS_MAX);
    tokio::spawn(forward(
        BufReader::new(client_sends),
        to_server,
        refuse,
        bytes_max,
    ));
    let written = tokio::spawn(answer(BufReader::new(from_server), refusals, client_reads));
    Lines {
        read,
        write,
        written,
    }
}

/// Hands the client's lines to the server until either ends.
async fn forward(
    mut client: BufReader<impl AsyncRead + Unpin>,
    mut server: DuplexStream,
    refuse: mpsc::Sender<Vec<u8>>,
    bytes_max: usize,
) {
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut client)
            .take(bytes_max as u64 + 1)
            .read_until(b'\n', &mut line)
            .await
        {
            Ok(1..) => {}
            Ok(0) | Err(_) => return,
        }
        let too_long = line.len() > bytes_max && line.last() != Some(&b'\n');
        let sent = if too_long {
            skip_line(&mut client).await;
            let why = format!("The line has more than {bytes_max} bytes.");
            refuse
                .send(refusal(ErrorCode::PARSE_ERROR, &why))
                .await
                .is_ok()
        } else if line.trim_ascii().is_empty() {
            true
        } else {
            match messages_of(&line) {
                Ok(messages) => server.write_all(&messages).await.is_ok(),
                Err(refusal) => refuse.send(refusal).await.is_ok(),
            }
        };
        if !sent {
            return;
        }
    }
}

async fn skip_line(client: &mut BufReader<impl AsyncRead + Unpin>) {
    let mut piece = Vec::new();
    while let Ok(1..) = (&mut *client)
        .take(PIPE_BYTES as u64)
        .read_until(b'\n', &mut piece)
        .await
    {
        if piece.last() == Some(&b'\n') {
            return;
        }
        piece.clear();
    }
}

/// The messages of a line, each on a line of its own: one, or those of a batch. Errors: the refusal of what is none.
fn messages_of(line: &[u8]) -> Result<Vec<u8>, Vec<u8>> {
    let no_json = |error| {
        refusal(
            ErrorCode::PARSE_ERROR,
            &format!("The line is not JSON: {error}."),
        )
    };
    let value: Box<RawValue> = serde_json::from_slice(line).map_err(no_json)?;
    match value.get().as_bytes().first() {
        Some(b'{') => Ok([line.trim_ascii(), b"\n"].concat()),
        Some(b'[') if let Some(messages) = batch::messages(line) => {
            let lines = messages.iter().map(|message| {
                // A message within a batch may have line breaks.
                let breaks = |byte: &u8| b"\r\n".contains(byte);
                let mut line: Vec<u8> = message
                    .iter()
                    .copied()
                    .filter(|byte| !breaks(byte))
                    .collect();
                line.push(b'\n');
                line
            });
            Ok(lines.flatten().collect())
        }
        _ => Err(refusal(
            ErrorCode::INVALID_REQUEST,
            "The line is JSON but no JSON-RPC message.",
        )),
    }
}

fn refusal(code: ErrorCode, why: &str) -> Vec<u8> {
    let message = format!("{why} Expected one JSON-RPC message per line.");
    let body =
        json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code, "message": message } });
    format!("{body}\n").into_bytes()
}

/// Writes the server's lines and the refusals, each whole, until both have ended.
async fn answer(
    mut server: BufReader<DuplexStream>,
    mut refusals: mpsc::Receiver<Vec<u8>>,
    mut client: impl AsyncWrite + Unpin,
) {
    let (mut line, mut server_ended) = (Vec::new(), false);
    loop {
        let piece = tokio::select! {
            read = server.read_until(b'\n', &mut line), if !server_ended => {
                // A line that a refusal interrupts is read on from where it was.
                server_ended = !matches!(read, Ok(1..));
                std::mem::take(&mut line)
            }
            refused = refusals.recv() => match refused {
                Some(refused) => refused,
                None if server_ended => return,
                None => { rest(server, line, client).await; return }
            },
        };
        if client.write_all(&piece).await.is_err() || client.flush().await.is_err() {
            return;
        }
    }
}

/// Writes what the server still says after the client's last line.
async fn rest(
    mut server: BufReader<DuplexStream>,
    mut line: Vec<u8>,
    mut client: impl AsyncWrite + Unpin,
) {
    while let Ok(1..) = server.read_until(b'\n', &mut line).await {
        if client.write_all(&line).await.is_err() || client.flush().await.is_err() {
            return;
        }
        line.clear();
    }
}
