//! A test server for the used part of ClickHouse's HTTP interface, with fault injection: wrong answers, stalls and aborts.

use std::{
    collections::HashMap,
    fmt::Write as _,
    io::{BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use polars::prelude::{
    BooleanChunked, Column, DataFrame, DataType, IpcStreamWriter, SerWriter as _,
};

use crate::remote::server::{head, header, listen};

/// Fault of the next row answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Trouble {
    None,
    /// Status 200, with an error in place of rows.
    Said,
    /// This many rows, then a regular end of stream and body.
    Fewer(usize),
    /// Like `Fewer`, with a truncated body.
    Broken(usize),
    /// Like `Fewer`, then an error as text.
    Behind(usize),
    /// A regular end of the body after this many bytes.
    Cut(usize),
    /// Stalls after this many bytes.
    Stall(usize),
    /// Another status, with an error code.
    Fails(u16, u32),
    /// Bytes that are no rows.
    Noise,
}

/// A table: columns with engine types, and the rows to send.
#[derive(Clone)]
pub(super) struct Rows {
    pub(super) columns: Vec<(&'static str, &'static str)>,
    pub(super) frame: DataFrame,
    /// Reported newest block or time.
    pub(super) newest: String,
}

#[derive(Default)]
pub(super) struct Shared {
    pub(super) tables: Mutex<HashMap<&'static str, Rows>>,
    pub(super) queries: Mutex<Vec<String>>,
    pub(super) trouble: Mutex<Vec<Trouble>>,
    /// Fault of short answers.
    pub(super) short: Mutex<Option<Trouble>>,
    pub(super) down: AtomicBool,
    /// Number of short answers that are 503 first.
    pub(super) busy: AtomicU64,
    /// An address spelled with capitals in the table, if any.
    pub(super) written: Mutex<Option<&'static str>>,
    /// The user's `readonly` setting.
    pub(super) readonly: AtomicU64,
    /// Row count reported by EXPLAIN ESTIMATE.
    pub(super) estimate: AtomicU64,
}

pub(super) struct Server {
    pub(super) shared: Arc<Shared>,
    address: SocketAddr,
}

impl Server {
    pub(super) fn start() -> Self {
        let shared = Arc::new(Shared::default());
        let served = Arc::clone(&shared);
        let address = listen(move |stream| {
            serve(stream, &served);
        });
        Self { shared, address }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn put(&self, name: &'static str, rows: Rows) {
        self.shared.tables.lock().unwrap().insert(name, rows);
    }

    pub(super) fn trouble(&self, trouble: impl IntoIterator<Item = Trouble>) {
        let mut all: Vec<Trouble> = trouble.into_iter().collect();
        all.reverse();
        *self.shared.trouble.lock().unwrap() = all;
    }

    /// Makes short answers fail with this status and code.
    pub(super) fn refuse(&self, status: u16, code: u32) {
        *self.shared.short.lock().unwrap() = Some(Trouble::Fails(status, code));
    }

    /// Queries so far, with their URL parameters.
    pub(super) fn queries(&self) -> Vec<String> {
        self.shared.queries.lock().unwrap().clone()
    }
}

/// The rows as a complete Arrow IPC stream, one message per chunk of the frame.
fn arrow(frame: &DataFrame) -> Vec<u8> {
    let mut bytes = Vec::new();
    IpcStreamWriter::new(&mut bytes)
        .finish(&mut frame.clone())
        .unwrap();
    bytes
}

fn serve(stream: TcpStream, shared: &Shared) -> Option<()> {
    let mut out = stream.try_clone().ok()?;
    let mut reader = BufReader::new(stream);
    while let (false, Some(head)) = (shared.down.load(Ordering::Acquire), head(&mut reader)) {
        let address = head.lines().next()?;
        let mut body = vec![
            0;
            header(&head, "content-length")
                .map_or(Ok(0), str::parse)
                .ok()?
        ];
        reader.read_exact(&mut body).ok()?;
        let sql = String::from_utf8(body).ok()?;
        shared
            .queries
            .lock()
            .unwrap()
            .push(format!("{address} {sql}"));
        if shared.down.load(Ordering::Acquire) {
            return None;
        }
        if address.contains("default_format=ArrowStream") {
            rows(&mut out, shared, &sql)?;
        } else {
            short(&mut out, shared, &sql)?;
        }
    }
    None
}

/// The rows of the requested token, if any, up to the requested time.
fn asked(rows: &Rows, sql: &str) -> Rows {
    let end = sql
        .split(" < fromUnixTimestamp64Milli(toInt64(")
        .nth(1)
        .and_then(|rest| rest.split(')').next()?.parse::<i64>().ok());
    if let (Some(end), Ok(times)) = (end, rows.frame.column("ts")) {
        let times = times.cast(&DataType::Int64).unwrap();
        let mask: BooleanChunked = times
            .i64()
            .unwrap()
            .iter()
            .map(|time| time.is_some_and(|time| time < end))
            .collect();
        return asked(
            &Rows {
                frame: rows.frame.filter(&mask).unwrap(),
                ..rows.clone()
            },
            &sql.replace(" < from", " from"),
        );
    }
    let named = sql
        .split("`token_address` IN (")
        .nth(1)
        .and_then(|rest| rest.split(')').next());
    let (Some(named), Ok(tokens)) = (named, rows.frame.column("token_address")) else {
        return rows.clone();
    };
    let named: Vec<&str> = named.split('\'').collect();
    let mask: BooleanChunked = tokens
        .str()
        .unwrap()
        .iter()
        .map(|own| own.is_some_and(|own| named.contains(&own)))
        .collect();
    Rows {
        frame: rows.frame.filter(&mask).unwrap(),
        ..rows.clone()
    }
}

fn fail(out: &mut TcpStream, status: u16, code: u32) -> Option<()> {
    let text = format!(
        "Code: {code}. DB::Exception: something with a host 10.1.2.3. (NAME) (version 23.8.1.1)"
    );
    let head = format!(
        "HTTP/1.1 {status} X\r\nX-ClickHouse-Exception-Code: {code}\r\nContent-Length: {}\r\n\r\n{text}",
        text.len()
    );
    out.write_all(head.as_bytes()).ok()
}

fn short(out: &mut TcpStream, shared: &Shared, sql: &str) -> Option<()> {
    if shared
        .busy
        .fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| {
            left.checked_sub(1)
        })
        .is_ok()
    {
        return out
            .write_all(b"HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n")
            .ok();
    }
    let written = *shared.written.lock().unwrap();
    match *shared.short.lock().unwrap() {
        Some(Trouble::Fails(status, code)) => return fail(out, status, code),
        Some(Trouble::Stall(_)) => {
            thread::sleep(Duration::from_secs(3));
            return None;
        }
        _ => {}
    }
    let tables = shared.tables.lock().unwrap().clone();
    let table = tables
        .iter()
        .find(|(name, _)| sql.contains(&format!("`{name}`")))
        .map(|(_, rows)| asked(rows, sql));
    let answer = if sql.contains("system.settings") {
        let mut settings = format!(
            "version\t23.8.1.1\nreadonly\t{}\n",
            shared.readonly.load(Ordering::Acquire)
        );
        for name in [
            "max_result_rows",
            "result_overflow_mode",
            "skip_unavailable_shards",
            "max_rows_to_read",
            "max_execution_time",
        ] {
            writeln!(settings, "{name}\t0").unwrap();
        }
        settings
    } else if sql.starts_with("KILL") {
        String::new()
    } else {
        let Some(table) = table else {
            return fail(out, 404, 60);
        };
        let rows = table.frame.height();
        if sql.starts_with("DESCRIBE") {
            table
                .columns
                .iter()
                .map(|(name, kind)| [*name, "\t", *kind, "\t\t\t\t\t\n"].concat())
                .collect::<Vec<_>>()
                .concat()
        } else if sql.starts_with("EXPLAIN") {
            format!(
                "deck\tt\t1\t{}\t1\n",
                shared.estimate.load(Ordering::Acquire)
            )
        } else if sql.starts_with("SELECT DISTINCT") {
            format!("{}\n", written.unwrap_or_default())
        } else if sql.contains("LIMIT 1000") {
            // Counts of spelling variants per column: text, bytes, digits without 0x, with capitals.
            let first = table
                .frame
                .column("token_address")
                .ok()
                .and_then(|tokens| tokens.str().ok()?.get(0));
            let is_bare = first.is_some_and(|token| token.len() == 40);
            let one = match (written, is_bare) {
                (Some(_), _) => "1\t0\t0\t1",
                (None, true) => "1\t0\t1\t0",
                (None, false) => "1\t0\t0\t0",
            };
            vec![one; sql.matches("countIf(notEmpty").count()].join("\t") + "\n"
        } else if sql.starts_with("SELECT count(), toString(") {
            format!("{rows}\t{}\n", table.newest)
        } else if sql.starts_with("SELECT count(), ") {
            let sum = rows * 31;
            format!("{rows}\t{sum}\n")
        } else {
            return fail(out, 400, 62);
        }
    };
    out.write_all(
        format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{answer}",
            answer.len()
        )
        .as_bytes(),
    )
    .ok()
}

fn rows(out: &mut TcpStream, shared: &Shared, sql: &str) -> Option<()> {
    let trouble = shared
        .trouble
        .lock()
        .unwrap()
        .pop()
        .unwrap_or(Trouble::None);
    let tables = shared.tables.lock().unwrap().clone();
    let (_, table) = tables
        .iter()
        .find(|(name, _)| sql.contains(&format!("`{name}`")))?;
    let table = asked(table, sql);
    // The requested columns, by their aliases.
    let asked: Vec<&str> = sql
        .split(" FROM (")
        .next()?
        .split(" AS `")
        .skip(1)
        .filter_map(|part| part.split('`').next())
        .collect();
    let frame = if asked.is_empty() {
        table.frame.clone()
    } else {
        table.frame.select(asked).ok()?
    };
    let mut frame = frame;
    if sql.contains("concat('0x', toString(`token_address`)) AS `token_address`") {
        let tokens = frame.column("token_address").unwrap().str().unwrap();
        let tokens: Vec<Option<String>> = tokens
            .iter()
            .map(|token| token.map(|token| format!("0x{token}")))
            .collect();
        frame
            .with_column(Column::new("token_address".into(), tokens))
            .unwrap();
    }
    let text = "Code: 395. DB::Exception: Value passed to 'throwIf' is non zero. (NAME)";
    let (mut bytes, mut ends) = (arrow(&frame), true);
    match trouble {
        Trouble::Fails(status, code) => return fail(out, status, code),
        Trouble::Said => bytes = text.as_bytes().to_vec(),
        Trouble::Fewer(rows) => bytes = arrow(&frame.slice(0, rows)),
        Trouble::Broken(rows) => (bytes, ends) = (arrow(&frame.slice(0, rows)), false),
        Trouble::Behind(rows) => {
            bytes = arrow(&frame.slice(0, rows));
            bytes.extend_from_slice(text.as_bytes());
        }
        Trouble::Cut(at) => bytes.truncate(at),
        Trouble::Stall(at) => {
            bytes.truncate(at);
            ends = false;
        }
        Trouble::Noise => bytes = (0..5_000u32).map(|i| (i * 7 % 251) as u8).collect(),
        Trouble::None => {}
    }
    out.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        .ok()?;
    for part in bytes.chunks(10_000) {
        out.write_all(format!("{:x}\r\n", part.len()).as_bytes())
            .ok()?;
        out.write_all(part).ok()?;
        out.write_all(b"\r\n").ok()?;
    }
    if let Trouble::Stall(_) = trouble {
        thread::sleep(Duration::from_secs(3));
    }
    if !ends {
        out.shutdown(std::net::Shutdown::Both).ok();
        return None;
    }
    out.write_all(b"0\r\n\r\n").ok()
}
