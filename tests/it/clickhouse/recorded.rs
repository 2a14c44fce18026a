//! An engine that answers as a real one did: each query with the bytes that were recorded for it, any other with an error. The records are
//! made anew against a real engine (see `real`): `TOKENDECK_BLESS=1 TOKENDECK_CLICKHOUSE=… cargo test --release --test it recorded`.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use flate2::{Compression, read::GzDecoder, write::GzEncoder};

use crate::remote::server::{head, header, listen};

/// The address of the real engine, if records are made.
pub(super) fn recording() -> Option<String> {
    std::env::var("TOKENDECK_BLESS").ok()?;
    std::env::var("TOKENDECK_CLICKHOUSE").ok()
}

#[derive(Default)]
struct Shared {
    /// By query and format: status, and the body in hex.
    answers: Mutex<BTreeMap<String, (u16, String)>>,
    real: Option<String>,
    down: AtomicBool,
    asked: AtomicUsize,
}

pub(super) struct Recorded {
    shared: Arc<Shared>,
    address: SocketAddr,
    path: PathBuf,
}

impl Recorded {
    pub(super) fn of(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join(format!("tests/it/clickhouse/{name}.json.gz"));
        let shared = Arc::new(Shared {
            real: recording(),
            ..Shared::default()
        });
        if shared.real.is_none() {
            let mut text = String::new();
            GzDecoder::new(File::open(&path).expect("records"))
                .read_to_string(&mut text)
                .expect("text");
            *shared.answers.lock().expect("a lock") = serde_json::from_str(&text).expect("JSON");
        }
        let served = Arc::clone(&shared);
        let address = listen(move |stream| {
            serve(stream, &served);
        });
        Self {
            shared,
            address,
            path,
        }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn down(&self, down: bool) {
        self.shared.down.store(down, Ordering::Release);
    }

    /// Queries so far.
    pub(super) fn asked(&self) -> usize {
        self.shared.asked.load(Ordering::Acquire)
    }

    /// Writes what was recorded.
    pub(super) fn keep(&self) {
        if self.shared.real.is_some() {
            let text = serde_json::to_string(&*self.shared.answers.lock().expect("a lock"));
            let file = File::create(&self.path).expect("a file");
            let mut out = GzEncoder::new(file, Compression::best());
            out.write_all(text.expect("JSON").as_bytes())
                .expect("written");
            out.finish().expect("written");
        }
    }
}

fn serve(stream: TcpStream, shared: &Shared) -> Option<()> {
    let mut out = stream.try_clone().ok()?;
    let mut reader = BufReader::new(stream);
    while let Some(head) = head(&mut reader) {
        let target = head.split_whitespace().nth(1)?.to_owned();
        let length = header(&head, "content-length").map_or(Ok(0), str::parse);
        let mut body = vec![0; length.ok()?];
        reader.read_exact(&mut body).ok()?;
        if shared.down.load(Ordering::Acquire) {
            return None;
        }
        shared.asked.fetch_add(1, Ordering::AcqRel);
        let sql = String::from_utf8(body).ok()?;
        let format = if target.contains("ArrowStream") {
            "arrow"
        } else {
            "text"
        };
        let key = format!("{format} {sql}");
        if let Some(real) = &shared.real {
            let mut answer = ureq::post(format!("{real}{target}"))
                .config()
                .http_status_as_error(false)
                .build()
                .send(&sql)
                .ok()?;
            let (status, bytes) = (
                answer.status().as_u16(),
                answer.body_mut().read_to_vec().ok()?,
            );
            let mut answers = shared.answers.lock().expect("a lock");
            answers.insert(key.clone(), (status, const_hex::encode(bytes)));
        }
        let answer = shared.answers.lock().expect("a lock").get(&key).cloned();
        let (status, hex) = answer.unwrap_or_else(|| {
            (
                500,
                const_hex::encode(format!("Code: 62. DB::Exception: not recorded: {sql}")),
            )
        });
        let bytes = const_hex::decode(hex).ok()?;
        let head = format!(
            "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n",
            bytes.len()
        );
        out.write_all(head.as_bytes())
            .and_then(|()| out.write_all(&bytes))
            .ok()?;
    }
    None
}
