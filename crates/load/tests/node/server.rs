//! A chain's node for tests: JSON-RPC over HTTP, with the faults of real nodes.

use std::{
    collections::{HashMap, VecDeque},
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

/// Fault of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeTrouble {
    None,
    /// This status, with `Retry-After` in seconds.
    Status(u16, Option<u32>),
    /// Sends nothing for three seconds.
    Stall,
    /// The connection is closed in the middle of the body.
    Cut,
    /// The body ends regularly in the middle of the JSON.
    Broken,
    /// A body of 100 MB is announced.
    Huge,
    /// Sends as much without announcing it.
    Endless,
    NotJson,
    /// The answers come in reverse order.
    Reversed,
    /// Every second answer is missing.
    Partial,
    /// The first call has this error.
    One(i64, &'static str),
    /// One error for the whole batch.
    Whole(i64, &'static str),
    /// The chain is reorganized before the response.
    Reorganised,
}

/// What the node says and how.
#[derive(Default)]
pub(crate) struct NodeSettings {
    pub(crate) chain_id: u64,
    pub(crate) block: u64,
    /// Changes the hashes of all blocks, from this one on.
    pub(crate) fork: u8,
    pub(crate) fork_from: u64,
    /// Seconds between two blocks.
    pub(crate) interval: u64,
    /// The block before which no contract has code.
    pub(crate) born: u64,
    /// Whether the states of blocks before the newest are gone.
    pub(crate) pruned: bool,
    /// Transfers: block, token, sender, receiver, value.
    pub(crate) transfers: Vec<(u64, u8, u8, u8, u64)>,
    /// Events, blocks and contracts that it takes in a question for logs.
    pub(crate) logs_max: Option<usize>,
    pub(crate) span_max: Option<u64>,
    pub(crate) addresses_max: Option<usize>,
    /// Whether logs have the time of their block.
    pub(crate) timed_logs: bool,
    /// Balances by holder, beside those of transfers.
    pub(crate) balances: HashMap<u8, u64>,
    pub(crate) troubles: VecDeque<NodeTrouble>,
    /// The fault of all requests, once there are none in the queue.
    pub(crate) always: Option<NodeTrouble>,
    /// Calls that it takes in a batch.
    pub(crate) batch_max: Option<usize>,
    /// Answers to `eth_call` by the selector; others revert.
    pub(crate) calls: HashMap<String, String>,
    /// Methods of each request.
    pub(crate) requests: Vec<Vec<String>>,
}

pub(crate) struct FakeNode {
    shared: Arc<Mutex<NodeSettings>>,
    address: SocketAddr,
}

impl FakeNode {
    pub(crate) fn start() -> Self {
        let shared = Arc::new(Mutex::new(NodeSettings {
            chain_id: 1,
            block: 100,
            ..NodeSettings::default()
        }));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let served = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let served = Arc::clone(&served);
                thread::spawn(move || serve(stream, &served));
            }
        });
        Self { shared, address }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn set(&self) -> MutexGuard<'_, NodeSettings> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn trouble(&self, troubles: impl IntoIterator<Item = NodeTrouble>) {
        self.set().troubles = troubles.into_iter().collect();
    }

    pub(crate) fn requests(&self) -> usize {
        self.set().requests.len()
    }
}

fn serve(stream: TcpStream, shared: &Mutex<NodeSettings>) -> Option<()> {
    let mut out = stream.try_clone().ok()?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if line.trim().is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').unwrap_or_default();
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        answer(&mut out, shared, &serde_json::from_slice(&body).ok()?)?;
    }
}

fn answer(out: &mut TcpStream, shared: &Mutex<NodeSettings>, body: &Value) -> Option<()> {
    let calls: Vec<&Value> = body
        .as_array()
        .map_or_else(|| vec![body], |calls| calls.iter().collect());
    let (trouble, mut replies) = {
        let mut settings = shared.lock().unwrap_or_else(PoisonError::into_inner);
        settings.requests.push(
            calls
                .iter()
                .map(|call| call["method"].as_str().unwrap_or_default().to_owned())
                .collect(),
        );
        let trouble = settings
            .troubles
            .pop_front()
            .or(settings.always)
            .unwrap_or(NodeTrouble::None);
        if trouble == NodeTrouble::Reorganised {
            settings.fork += 1;
            settings.block += 1;
        }
        if settings.batch_max.is_some_and(|most| calls.len() > most) {
            let refused = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32_600, "message": "batch too large"}});
            return send(out, 200, "", refused.to_string().as_bytes());
        }
        (
            trouble,
            calls
                .iter()
                .map(|call| reply(&settings, call))
                .collect::<Vec<Value>>(),
        )
    };
    let failed = |code: i64, message: &str| json!({"code": code, "message": message});
    match trouble {
        NodeTrouble::Status(status, after) => {
            let after =
                after.map_or_else(String::new, |seconds| format!("Retry-After: {seconds}\r\n"));
            return send(out, status, &after, b"no");
        }
        NodeTrouble::Stall => {
            thread::sleep(Duration::from_secs(3));
            return None;
        }
        NodeTrouble::Huge => {
            out.write_all(b"HTTP/1.1 200 X\r\nContent-Length: 100000000\r\n\r\n[")
                .ok()?;
            return None;
        }
        NodeTrouble::Endless => {
            out.write_all(b"HTTP/1.1 200 X\r\n\r\n[").ok()?;
            while out.write_all(&[b' '; 4_096]).is_ok() {}
            return None;
        }
        NodeTrouble::NotJson => return send(out, 200, "", b"<html>an error of a proxy</html>"),
        NodeTrouble::Whole(code, message) => {
            return send(
                out,
                200,
                "",
                json!({"jsonrpc": "2.0", "id": null, "error": failed(code, message)})
                    .to_string()
                    .as_bytes(),
            );
        }
        NodeTrouble::Reversed => replies.reverse(),
        NodeTrouble::Partial => {
            let mut place = 0;
            replies.retain(|_| {
                place += 1;
                place % 2 == 0
            });
        }
        NodeTrouble::One(code, message) => {
            replies[0] =
                json!({"jsonrpc": "2.0", "id": replies[0]["id"], "error": failed(code, message)});
        }
        NodeTrouble::None | NodeTrouble::Cut | NodeTrouble::Broken | NodeTrouble::Reorganised => {}
    }
    let text = if body.is_array() {
        Value::Array(replies).to_string()
    } else {
        replies.pop().unwrap_or_default().to_string()
    };
    match trouble {
        NodeTrouble::Broken => send(out, 200, "", &text.as_bytes()[..text.len() / 2]),
        NodeTrouble::Cut => {
            out.write_all(
                format!(
                    "HTTP/1.1 200 X\r\nContent-Length: {}\r\n\r\n{}",
                    text.len(),
                    &text[..text.len() / 2]
                )
                .as_bytes(),
            )
            .ok()?;
            None
        }
        _ => send(out, 200, "", text.as_bytes()),
    }
}

fn send(out: &mut TcpStream, status: u16, headers: &str, body: &[u8]) -> Option<()> {
    let head = format!(
        "HTTP/1.1 {status} X\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    );
    // At once: a second packet would wait until the first is acknowledged.
    out.write_all(&[head.as_bytes(), body].concat()).ok()
}

fn reply(settings: &NodeSettings, call: &Value) -> Value {
    let param = |place: usize| call["params"][place].as_str().unwrap_or_default();
    let result = match call["method"].as_str().unwrap_or_default() {
        "eth_chainId" => json!(format!("{:#x}", settings.chain_id)),
        "eth_getBlockByNumber" => {
            let number = if param(0) == "latest" {
                settings.block
            } else {
                u64::from_str_radix(&param(0)[2..], 16).unwrap_or_default()
            };
            if number > settings.block {
                return json!({"jsonrpc": "2.0", "id": call["id"], "result": null});
            }
            json!({"number": format!("{number:#x}"), "timestamp": format!("{:#x}", time(settings, number)), "hash": hash(settings, number)})
        }
        "eth_getLogs" => return logs(settings, call),
        "eth_getCode" if settings.pruned && param(1) != format!("{:#x}", settings.block) => {
            return json!({"jsonrpc": "2.0", "id": call["id"], "error": {"code": -32_000, "message": "missing trie node"}});
        }
        "eth_getCode"
            if u64::from_str_radix(&param(1)[2..], 16).is_ok_and(|block| block < settings.born) =>
        {
            json!("0x")
        }
        "eth_getCode" => json!(format!("0x60{}{:02x}", &param(0)[40..], settings.fork)),
        "eth_getBalance" => json!("0x7"),
        "eth_getStorageAt" => json!(format!("0x{}", &param(1)[2..])),
        "eth_call"
            if call["params"][0]["data"]
                .as_str()
                .is_some_and(|data| data.starts_with("0x70a08231")) =>
        {
            let data = call["params"][0]["data"].as_str().unwrap_or_default();
            let holder = u8::from_str_radix(&data[data.len() - 2..], 16).unwrap_or_default();
            let sum = settings
                .transfers
                .iter()
                .fold(0, |sum, (_, _, from, to, value)| {
                    sum + if *to == holder { *value } else { 0 }
                        - if *from == holder { *value } else { 0 }
                });
            json!(format!(
                "0x{:064x}",
                settings.balances.get(&holder).copied().unwrap_or(sum)
            ))
        }
        "eth_call" => match settings
            .calls
            .get(&call["params"][0]["data"].as_str().unwrap_or_default()[2..10])
        {
            Some(answer) => json!(answer),
            None => {
                return json!({"jsonrpc": "2.0", "id": call["id"], "error": {"code": 3, "message": "execution reverted"}});
            }
        },
        _ => {
            return json!({"jsonrpc": "2.0", "id": call["id"], "error": {"code": -32_601, "message": "the method does not exist"}});
        }
    };
    json!({"jsonrpc": "2.0", "id": call["id"], "result": result})
}

/// Seconds since 1970.
fn time(settings: &NodeSettings, number: u64) -> u64 {
    0x6554_0000 + number.saturating_sub(100) * settings.interval
        - 100_u64.saturating_sub(number) * settings.interval
}

fn hash(settings: &NodeSettings, number: u64) -> String {
    format!(
        "0x{number:062x}{:02x}",
        if number >= settings.fork_from {
            settings.fork
        } else {
            0
        }
    )
}

fn logs(settings: &NodeSettings, call: &Value) -> Value {
    let filter = &call["params"][0];
    let block = |name: &str| {
        u64::from_str_radix(&filter[name].as_str().unwrap_or("0x0")[2..], 16).unwrap_or_default()
    };
    let (from, to) = (block("fromBlock"), block("toBlock"));
    let addresses: Vec<&str> = filter["address"].as_array().map_or_else(Vec::new, |all| {
        all.iter().filter_map(Value::as_str).collect()
    });
    let refused = |code: i64, message: &str| json!({"jsonrpc": "2.0", "id": call["id"], "error": {"code": code, "message": message}});
    if settings.span_max.is_some_and(|most| to - from >= most) {
        return refused(-32_000, "block range is too large");
    }
    if settings
        .addresses_max
        .is_some_and(|most| addresses.len() > most)
    {
        return refused(
            -32_602,
            "exceed max addresses or topics per search position",
        );
    }
    let token = |token: u8| format!("0x{}", format!("{token:02x}").repeat(20));
    let word = |number: u64| format!("0x{number:064x}");
    let all = settings.transfers.iter().enumerate();
    let meant = all.filter(|(_, (block, of, ..))| {
        (from..=to).contains(block) && addresses.contains(&token(*of).as_str())
    });
    let logs: Vec<Value> = meant
        .map(|(nth, (block, of, sender, receiver, value))| {
            let mut log = json!({
                "address": token(*of), "blockNumber": format!("{block:#x}"), "blockHash": hash(settings, *block),
                "transactionHash": word(nth as u64), "logIndex": format!("{nth:#x}"), "data": word(*value), "removed": false,
                "topics": [filter["topics"][0], word((*sender).into()), word((*receiver).into())]
            });
            if settings.timed_logs {
                log["blockTimestamp"] = json!(format!("{:#x}", time(settings, *block)));
            }
            log
        })
        .collect();
    if settings.logs_max.is_some_and(|most| logs.len() > most) {
        return refused(-32_005, "query returned more than 10000 results");
    }
    json!({"jsonrpc": "2.0", "id": call["id"], "result": logs})
}
