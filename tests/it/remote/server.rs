//! An object server with fault injection: listings, HEAD, ranges and conditional requests as on S3 and web servers; and 503, truncated
//! bodies, stalls, closed connections, changing objects.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt::Write as _,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

/// Fault of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    None,
    /// This status, with a body that echoes the request.
    Status(u16),
    /// The body is truncated after this many bytes.
    Cut(usize),
    /// The body stalls after this many bytes.
    Stall(usize),
    /// The connection is closed without an answer.
    Reset,
    /// The object is replaced by another version.
    Change,
    /// Wrong bytes: the range is shifted.
    Shift,
}

#[derive(Debug, Clone)]
pub(super) struct Held {
    pub(super) bytes: Vec<u8>,
    pub(super) state: u64,
}

#[derive(Default)]
pub(super) struct Shared {
    pub(super) objects: Mutex<BTreeMap<String, Held>>,
    pub(super) troubles: Mutex<VecDeque<Trouble>>,
    /// Request line and headers of every request.
    pub(super) requests: Mutex<Vec<String>>,
    pub(super) sent: AtomicU64,
    pub(super) latency: Mutex<Duration>,
    /// Whether the server is unreachable.
    pub(super) down: AtomicBool,
    /// Whether range requests are ignored.
    pub(super) whole: AtomicBool,
    /// Page size of listings.
    pub(super) page: AtomicU64,
}

pub(super) struct Server {
    pub(super) shared: Arc<Shared>,
    pub(super) address: SocketAddr,
}

impl Server {
    pub(super) fn start() -> Self {
        let shared = Arc::new(Shared {
            page: AtomicU64::new(1_000),
            ..Shared::default()
        });
        let served = Arc::clone(&shared);
        Self {
            shared,
            address: listen(move |stream| attend(&served, stream)),
        }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Puts an object into the bucket `bucket`.
    pub(super) fn put(&self, key: &str, bytes: impl Into<Vec<u8>>) {
        let mut objects = self.shared.objects.lock().unwrap();
        let state = objects.get(key).map_or(1, |held| held.state + 1);
        objects.insert(
            key.to_owned(),
            Held {
                bytes: bytes.into(),
                state,
            },
        );
    }

    pub(super) fn trouble(&self, troubles: impl IntoIterator<Item = Trouble>) {
        *self.shared.troubles.lock().unwrap() = troubles.into_iter().collect();
    }

    pub(super) fn requests(&self) -> usize {
        self.shared.requests.lock().unwrap().len()
    }
}

/// Listens on a free port, with a thread per connection.
pub(crate) fn listen(attend: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, attend) = (listener.local_addr().unwrap(), Arc::new(attend));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let attend = Arc::clone(&attend);
            std::thread::spawn(move || attend(stream));
        }
    });
    address
}

/// Reads the request line and headers of the next request; `None` once the connection is closed.
pub(crate) fn head(reader: &mut BufReader<TcpStream>) -> Option<String> {
    let mut head = String::new();
    loop {
        let mut line = String::new();
        match reader.read_line(&mut line) {
            Ok(0) | Err(_) => return None,
            Ok(_) if line == "\r\n" => return Some(head),
            Ok(_) => head.push_str(&line),
        }
    }
}

fn attend(shared: &Shared, stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream);
    while let Some(head) = head(&mut reader) {
        if shared.down.load(Ordering::Acquire) || answer(shared, &head, reader.get_mut()).is_err() {
            return;
        }
    }
}

pub(crate) fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines()
        .find_map(|line| {
            line.split_once(':')
                .filter(|(own, _)| own.eq_ignore_ascii_case(name))
        })
        .map(|(_, value)| value.trim())
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut read, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        if bytes[at] == b'%' {
            read.push(u8::from_str_radix(&text[at + 1..at + 3], 16).unwrap());
            at += 3;
        } else {
            read.push(if bytes[at] == b'+' { b' ' } else { bytes[at] });
            at += 1;
        }
    }
    String::from_utf8(read).unwrap()
}

/// Answers a request; an error closes the connection.
fn answer(shared: &Shared, head: &str, stream: &mut TcpStream) -> std::io::Result<()> {
    shared.requests.lock().unwrap().push(head.to_owned());
    std::thread::sleep(*shared.latency.lock().unwrap());
    let trouble = shared
        .troubles
        .lock()
        .unwrap()
        .pop_front()
        .unwrap_or(Trouble::None);
    let mut words = head.split_whitespace();
    let (method, target) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let closed = || std::io::Error::from(std::io::ErrorKind::ConnectionReset);
    match trouble {
        Trouble::Reset => return Err(closed()),
        Trouble::Status(status) => {
            let body = format!("<Error><Code>SlowDown</Code><Sent>{head}</Sent></Error>");
            return write!(
                stream,
                "HTTP/1.1 {status} Trouble\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
        }
        _ => {}
    }
    let path = decoded(path.trim_start_matches('/'));
    let key = path
        .strip_prefix("bucket")
        .map(|rest| rest.trim_start_matches('/'));
    let Some(key) = key else {
        return write!(
            stream,
            "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"
        );
    };
    if query.contains("list-type=2") {
        let body = list(shared, query);
        write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-type: application/xml\r\ncontent-length: {}\r\n\r\n",
            body.len()
        )?;
        return send(shared, stream, body.as_bytes(), trouble);
    }
    if trouble == Trouble::Change
        && let Some(held) = shared.objects.lock().unwrap().get_mut(key)
    {
        held.state += 1;
        held.bytes
            .iter_mut()
            .for_each(|byte| *byte = byte.wrapping_add(1));
    }
    let Some(held) = shared.objects.lock().unwrap().get(key).cloned() else {
        return write!(
            stream,
            "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"
        );
    };
    let etag = format!("\"state-{}\"", held.state);
    if header(head, "if-match").is_some_and(|wanted| wanted != etag) {
        return write!(
            stream,
            "HTTP/1.1 412 Precondition Failed\r\ncontent-length: 0\r\n\r\n"
        );
    }
    let total = held.bytes.len();
    let range = header(head, "range")
        .and_then(|range| range.strip_prefix("bytes="))
        .filter(|_| !shared.whole.load(Ordering::Acquire));
    let date = "last-modified: Wed, 21 Oct 2026 07:28:00 GMT";
    let (body, line) = match range.and_then(|range| range.split_once('-')) {
        Some((start, end)) => {
            let shift = usize::from(trouble == Trouble::Shift);
            let start = start.parse::<usize>().unwrap();
            let end = end
                .parse::<usize>()
                .map_or(total, |end| (end + 1).min(total));
            if start >= total {
                return write!(
                    stream,
                    "HTTP/1.1 416 Range Not Satisfiable\r\ncontent-length: 0\r\n\r\n"
                );
            }
            let body = held.bytes[(start + shift).min(end)..end].to_vec();
            let line = format!(
                "206 Partial Content\r\ncontent-range: bytes {}-{}/{total}",
                (start + shift).min(end),
                end - 1
            );
            (body, line)
        }
        None => (held.bytes, "200 OK".to_owned()),
    };
    write!(
        stream,
        "HTTP/1.1 {line}\r\netag: {etag}\r\n{date}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )?;
    if method == "HEAD" {
        Ok(())
    } else {
        send(shared, stream, &body, trouble)
    }
}

fn send(
    shared: &Shared,
    stream: &mut TcpStream,
    body: &[u8],
    trouble: Trouble,
) -> std::io::Result<()> {
    let upto = match trouble {
        Trouble::Cut(bytes) | Trouble::Stall(bytes) => bytes.min(body.len()),
        _ => body.len(),
    };
    stream.write_all(&body[..upto])?;
    shared.sent.fetch_add(upto as u64, Ordering::Relaxed);
    match trouble {
        Trouble::Cut(_) => Err(std::io::ErrorKind::ConnectionReset.into()),
        Trouble::Stall(_) => {
            // Stalls until the client gives up.
            stream.set_read_timeout(Some(Duration::from_secs(5)))?;
            stream.read_exact(&mut [0; 1]).ok();
            Err(std::io::ErrorKind::ConnectionReset.into())
        }
        _ => Ok(()),
    }
}

fn list(shared: &Shared, query: &str) -> String {
    let given = |name: &str| {
        query
            .split('&')
            .find_map(|pair| pair.split_once('=').filter(|(own, _)| *own == name))
            .map(|(_, value)| decoded(value))
    };
    let (prefix, after) = (
        given("prefix").unwrap_or_default(),
        given("continuation-token").unwrap_or_default(),
    );
    let objects = shared.objects.lock().unwrap();
    let mut matching = objects
        .iter()
        .filter(|(key, _)| key.starts_with(&prefix) && **key > after);
    let page: Vec<_> = matching
        .by_ref()
        .take(shared.page.load(Ordering::Relaxed) as usize)
        .collect();
    let mut body = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult>");
    for (key, held) in &page {
        write!(
            body,
            "<Contents><Key>{key}</Key><LastModified>2026-10-21T07:28:00.000Z</LastModified><ETag>\"state-{}\"</ETag><Size>{}</Size></Contents>",
            held.state,
            held.bytes.len()
        )
        .unwrap();
    }
    if let (Some((last, _)), true) = (page.last(), matching.next().is_some()) {
        write!(
            body,
            "<IsTruncated>true</IsTruncated><NextContinuationToken>{last}</NextContinuationToken>"
        )
        .unwrap();
    } else {
        body.push_str("<IsTruncated>false</IsTruncated>");
    }
    body + "</ListBucketResult>"
}
