//! A web service on this machine that responds as a test specifies.
#![allow(dead_code, reason = "each test that includes it uses a part of it")]

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

/// What is answered.
#[derive(Debug, Clone)]
pub(super) struct ServiceReply {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: String,
    pub(super) trouble: Trouble,
}

/// What goes wrong on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    None,
    /// The connection ends in the middle of the body.
    CutOff,
    /// It announces a gigabyte.
    Huge,
    /// It sends a byte now and then.
    Drips,
}

impl ServiceReply {
    pub(super) fn ok(body: impl Into<String>) -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            body: body.into(),
            trouble: Trouble::None,
        }
    }

    pub(super) fn status(status: u16) -> Self {
        Self {
            status,
            ..Self::ok("{}")
        }
    }

    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(super) fn but(self, trouble: Trouble) -> Self {
        Self { trouble, ..self }
    }
}

/// A request: its path with the query, and its headers in lower case.
#[derive(Debug, Clone)]
pub(super) struct ServiceRequest {
    pub(super) target: String,
    pub(super) head: String,
}

type Handler = Box<dyn FnMut(&ServiceRequest) -> ServiceReply + Send>;

/// The service.
pub(super) struct Service {
    pub(super) url: String,
    pub(super) requests: Arc<Mutex<Vec<ServiceRequest>>>,
    handler: Arc<Mutex<Handler>>,
}

impl Service {
    pub(super) fn new(
        handler: impl FnMut(&ServiceRequest) -> ServiceReply + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let (requests, handler): (Arc<Mutex<Vec<ServiceRequest>>>, Arc<Mutex<Handler>>) =
            (Arc::default(), Arc::new(Mutex::new(Box::new(handler))));
        let (seen, answering) = (Arc::clone(&requests), Arc::clone(&handler));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, answering) = (Arc::clone(&seen), Arc::clone(&answering));
                thread::spawn(move || serve(stream, &seen, &answering));
            }
        });
        Self {
            url,
            requests,
            handler,
        }
    }

    /// Answers otherwise from now on.
    pub(super) fn now(
        &self,
        handler: impl FnMut(&ServiceRequest) -> ServiceReply + Send + 'static,
    ) {
        *self.handler.lock().expect("no panic") = Box::new(handler);
    }

    /// The targets asked for since the last call.
    pub(super) fn asked(&self) -> Vec<String> {
        self.requests
            .lock()
            .expect("no panic")
            .drain(..)
            .map(|request| request.target)
            .collect()
    }
}

fn serve(mut stream: TcpStream, seen: &Mutex<Vec<ServiceRequest>>, answering: &Mutex<Handler>) {
    let mut head = Vec::new();
    let mut byte = [0; 1];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).unwrap_or(0) == 0 {
            return;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let request = ServiceRequest {
        target,
        head: head.to_lowercase(),
    };
    seen.lock().expect("no panic").push(request.clone());
    let reply = (answering.lock().expect("no panic"))(&request);
    let length = if reply.trouble == Trouble::Huge {
        1 << 30
    } else {
        reply.body.len()
    };
    let mut text = format!(
        "HTTP/1.1 {} x\r\ncontent-length: {length}\r\nconnection: close\r\n",
        reply.status
    );
    for (name, value) in &reply.headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    stream.write_all(text.as_bytes()).ok();
    match reply.trouble {
        Trouble::None => drop(stream.write_all(reply.body.as_bytes())),
        Trouble::CutOff => drop(stream.write_all(&reply.body.as_bytes()[..reply.body.len() / 2])),
        Trouble::Huge => while stream.write_all(&[b' '; 8_192]).is_ok() {},
        Trouble::Drips => {
            for byte in reply.body.as_bytes() {
                if stream.write_all(&[*byte]).is_err() {
                    return;
                }
                thread::sleep(Duration::from_millis(100));
            }
        }
    }
}
