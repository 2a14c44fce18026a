//! Test fixture: a server on a free port over a small dataset, and a raw-bytes client.

use std::{
    fs,
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    sync::Arc,
    thread::JoinHandle,
};

use api::{Api, ApiOptions, keys::Keys, serve};
use frames::cache::CacheOptions;
use query::{
    jobs::{JobOptions, Jobs},
    service::{QueryService, ServiceOptions},
};
use serde_json::Value;
use tempfile::TempDir;
use tokio::{net::TcpListener, sync::oneshot};

use crate::wait::PATIENCE;

pub(super) const KEY: &str = "0123456789abcdef0123456789abcdef";
pub(super) const TOKEN: &str = "0x1f9840a85d5af5bf1d1762f925bdaddc4201f984";
pub(super) const UNKNOWN: &str = "0x9999999999999999999999999999999999999998";
pub(super) const JSON: &str = "Content-Type: application/json\r\n";

pub(super) struct Running {
    pub api: Arc<Api>,
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    folders: [TempDir; 2],
}

fn write_dataset(folder: &Path) {
    let other = "0xdac17f958d2ee523a2206206994597c13d831ec7";
    for (name, text) in [
        (
            "tokens.csv",
            format!(
                "token_address,symbol,name,chain,price\n{TOKEN},UNI,Uniswap,eth,5\n{other},USDT,Tether,eth,1\n"
            ),
        ),
        (
            "posts.csv",
            format!(
                "post_id,token_address,title,link,published_at,impressions,engagement,smart_engagement\na,{TOKEN},T,,2026-01-01,1,2,3\n"
            ),
        ),
    ] {
        fs::write(folder.join(name), text).expect("a dataset is written");
    }
}

impl Running {
    pub(super) fn start() -> Self {
        Self::with(ApiOptions::default())
    }

    pub(super) fn with(options: ApiOptions) -> Self {
        let running = Self::loading_with(options);
        running.api.service.load().expect("the dataset loads");
        running
    }

    /// A server whose dataset is never loaded.
    pub(super) fn loading() -> Self {
        Self::loading_with(ApiOptions::default())
    }

    fn loading_with(options: ApiOptions) -> Self {
        Self::over(write_dataset, CacheOptions::default(), options)
    }

    /// A server over the files that `write` creates, before they are loaded.
    pub(super) fn over(
        write: impl Fn(&Path),
        mut cache: CacheOptions,
        options: ApiOptions,
    ) -> Self {
        let folders = [
            tempfile::tempdir().expect("a folder"),
            tempfile::tempdir().expect("a folder"),
        ];
        write(folders[0].path());
        cache.folder = cache.folder.map(|_| folders[1].path().join("cache"));
        let service = QueryService::new(
            folders[0].path(),
            ServiceOptions {
                workers: 1,
                cache,
                ..ServiceOptions::default()
            },
        )
        .expect("a query service");
        let jobs = Jobs::open(
            folders[1].path(),
            Arc::clone(&service),
            JobOptions::default(),
        )
        .expect("jobs");
        let keys = Keys::open_with(Some(KEY), None, folders[1].path()).expect("keys");
        let api = Api::new(service, Some(jobs), Arc::new(keys), options);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let listener = runtime
            .block_on(TcpListener::bind("127.0.0.1:0"))
            .expect("a port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel();
        let served = Arc::clone(&api);
        let thread = std::thread::spawn(move || {
            runtime.block_on(serve(listener, served, async {
                stopped.await.ok();
            }));
        });
        Self {
            api,
            address,
            stop: Some(stop),
            thread: Some(thread),
            folders,
        }
    }

    /// Folders of its dataset and of its state.
    pub(super) fn folders(&self) -> [&Path; 2] {
        [self.folders[0].path(), self.folders[1].path()]
    }

    pub(super) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("the server is there");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream
    }

    pub(super) fn get(&self, path: &str) -> Answer {
        self.ask(&get(path, ""))
    }

    pub(super) fn post(&self, path: &str, body: &str) -> Answer {
        self.ask(&request(
            "POST",
            path,
            &format!("{JSON}Content-Length: {}\r\n", body.len()),
            body,
        ))
    }

    /// Sends the bytes, which should ask the server to close the connection, and reads until it does.
    pub(super) fn ask(&self, bytes: &[u8]) -> Answer {
        Answer::parse(&self.raw(bytes))
    }

    pub(super) fn raw(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.connect();
        // The server may answer before everything is sent.
        stream.write_all(bytes).ok();
        let mut answer = Vec::new();
        let mut buffer = [0; 16 << 10];
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => return answer,
                Ok(count) => answer.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return answer,
            }
        }
    }

    /// Starts a shutdown, without waiting for it.
    pub(super) fn tell_to_stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop.send(()).ok();
        }
    }

    /// Waits until the server has stopped.
    pub(super) fn stopped(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server does not panic");
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.tell_to_stop();
        if !std::thread::panicking() {
            self.stopped();
        }
    }
}

pub(super) fn request(method: &str, path: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nx-api-key: {KEY}\r\n{headers}\r\n{body}").into_bytes()
}

pub(super) fn get(path: &str, headers: &str) -> Vec<u8> {
    request("GET", path, headers, "")
}

#[derive(Debug)]
pub(super) struct Answer {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub(super) fn parse(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let end = end.unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(bytes)));
        let head = String::from_utf8_lossy(&bytes[..end]);
        let mut lines = head.lines();
        let status = lines
            .next()
            .and_then(|line| line.split(' ').nth(1)?.parse().ok())
            .expect("a status");
        let headers = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()));
        Self {
            status,
            headers: headers.collect(),
            body: bytes[end + 4..].to_vec(),
        }
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// Decodes a chunked body; `None` if it ended early.
    pub(super) fn chunks(&self) -> Option<Vec<u8>> {
        assert_eq!(self.header("transfer-encoding"), Some("chunked"));
        let (mut whole, mut rest) = (Vec::new(), &self.body[..]);
        loop {
            let end = rest.windows(2).position(|two| two == b"\r\n")?;
            let length = usize::from_str_radix(std::str::from_utf8(&rest[..end]).ok()?, 16).ok()?;
            rest = &rest[end + 2..];
            if length == 0 {
                return (rest == b"\r\n").then_some(whole);
            }
            whole.extend_from_slice(rest.get(..length)?);
            rest = rest.get(length + 2..)?;
        }
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("no JSON: {:?}", String::from_utf8_lossy(&self.body)))
    }

    pub(super) fn is_problem(&self, status: u16, code: &str, what: &str) {
        let body = self.json();
        assert_eq!(
            (self.status, &body["code"], &body["status"]),
            (status, &code.into(), &status.into()),
            "{what}: {body}"
        );
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json"),
            "{what}"
        );
        assert!(
            self.header("x-request-id").is_some()
                && self.header("x-content-type-options") == Some("nosniff"),
            "{what}"
        );
        assert!(
            body["detail"]
                .as_str()
                .is_some_and(|detail| !detail.is_empty())
                && body["title"].is_string(),
            "{what}"
        );
    }
}
