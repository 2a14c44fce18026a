//! Nodes of a chain by JSON-RPC over HTTP: read-only calls, in batches, and the block that they are pinned to. If a node fails, the next
//! one of its chain is used. Interpreting the results belongs to the dataset.

mod answer;
mod method;
mod server;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, atomic::AtomicU32},
    time::{Duration, Instant},
};

use serde_json::Value;

use self::server::NodeServer;
pub use self::{
    answer::{CallRefusal, bytes, number, word},
    method::{NodeCall, READ_METHODS, ReadMethod},
};
use super::{
    Fault, RemoteClient, locked,
    source::{Source, SourceKind},
};

/// How long a fetched block counts as the newest.
const NEWEST_FOR: Duration = Duration::from_mins(1);

/// A block, as far as it is needed to pin calls to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeBlock {
    pub number: u64,
    /// Seconds since 1970.
    pub timestamp: u64,
    pub hash: [u8; 32],
    /// Base fee per gas; 0 on a chain without one.
    pub base_fee: u64,
    pub parent_hash: [u8; 32],
    /// Address of the block's producer.
    pub coinbase: [u8; 20],
    pub gas_limit: u64,
}

impl NodeBlock {
    /// Reads the response to `eth_getBlockByNumber`; `None` if there is no such block.
    pub fn read(block: &Value) -> Option<Self> {
        let or_none = |name: &str| number(&block[name]).unwrap_or_default();
        let coinbase = bytes(&block["miner"])
            .and_then(|bytes| bytes.try_into().ok())
            .unwrap_or_default();
        Some(Self {
            number: number(&block["number"])?,
            timestamp: number(&block["timestamp"])?,
            hash: word(&block["hash"])?,
            base_fee: or_none("baseFeePerGas"),
            parent_hash: word(&block["parentHash"]).unwrap_or_default(),
            coinbase,
            gas_limit: or_none("gasLimit"),
        })
    }
}

/// Results of calls, in their order, and the number of round trips.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeAnswers {
    pub answers: Vec<Result<Value, CallRefusal>>,
    pub trips: u32,
}

/// What is known of the nodes of this program.
#[derive(Debug, Default)]
pub(super) struct KnownNodes {
    servers: Mutex<HashMap<String, Arc<NodeServer>>>,
    /// The newest block by chain, and when it was fetched.
    newest: Mutex<HashMap<String, (Instant, NodeBlock)>>,
}

/// The nodes of one chain, in the order in which they are used.
#[derive(Debug, Clone)]
pub struct ChainNode {
    wire: Arc<RemoteClient>,
    servers: Vec<Arc<NodeServer>>,
    chain: String,
    chain_id: Option<u64>,
}

impl RemoteClient {
    /// Configuration of the node of that name.
    pub fn node_source(&self, name: &str) -> Option<&Source> {
        self.options
            .sources
            .iter()
            .find(|source| source.kind == SourceKind::Node && source.name == name)
    }

    /// Names of the nodes of this node's chain: this one, then the others in the order of the configuration.
    pub fn nodes_beside(&self, name: &str) -> Vec<String> {
        let Some(own) = self.node_source(name) else {
            return Vec::new();
        };
        let others = self
            .options
            .sources
            .iter()
            .filter(|source| source.kind == SourceKind::Node && source.chain == own.chain);
        [own]
            .into_iter()
            .chain(others.filter(|source| source.name != name))
            .map(|source| source.name.clone())
            .collect()
    }

    /// These nodes of the chain with this id, used in this order; no request is sent yet.
    pub fn node(
        self: &Arc<Self>,
        names: &[String],
        chain_id: Option<u64>,
    ) -> Result<ChainNode, Fault> {
        let servers: Vec<Arc<NodeServer>> = names
            .iter()
            .map(|name| self.node_server(name))
            .collect::<Result<_, _>>()?;
        let chain = servers
            .first()
            .map(|server| server.source.chain.clone())
            .unwrap_or_default();
        Ok(ChainNode {
            wire: Arc::clone(self),
            servers,
            chain,
            chain_id,
        })
    }

    fn node_server(&self, name: &str) -> Result<Arc<NodeServer>, Fault> {
        let mut servers = locked(&self.nodes.servers);
        if let Some(server) = servers.get(name) {
            return Ok(Arc::clone(server));
        }
        let source = self.node_source(name).ok_or_else(|| {
            let all = "kind = \"node\", `url` and `chain`";
            Fault::Refused(format!(
                "belongs to an unknown source; add [sources.{name}] with {all} to config.toml"
            ))
        })?;
        if let Some(reason) = source.fault() {
            return Err(Fault::Refused(format!("belongs to a source that {reason}")));
        }
        let server = Arc::new(NodeServer::new(source.clone(), &self.options.timeouts)?);
        servers.insert(name.to_owned(), Arc::clone(&server));
        Ok(server)
    }
}

impl ChainNode {
    /// Runs all calls on one node. Fails if no node responds.
    pub fn ask(
        &self,
        calls: Vec<NodeCall>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<NodeAnswers, Fault> {
        self.wire.afford(calls.iter().map(NodeCall::weight).sum())?;
        let node = self.clone();
        self.wire
            .wait(stopped, async move { node.answer(&calls).await })
    }

    async fn answer(&self, calls: &[NodeCall]) -> Result<NodeAnswers, Fault> {
        let (trips, mut faults) = (AtomicU32::new(0), Vec::new());
        // One that failed just now is asked last.
        let (rested, resting): (Vec<_>, Vec<_>) =
            self.servers.iter().partition(|server| !server.rests());
        for server in rested.into_iter().chain(resting) {
            match server
                .answer(&self.wire, calls, self.chain_id, &trips)
                .await
            {
                Ok(answers) => {
                    return Ok(NodeAnswers {
                        answers,
                        trips: trips.into_inner(),
                    });
                }
                Err(fault) => faults.push((&server.source.name, fault)),
            }
        }
        match faults.pop() {
            None => Err(Fault::Refused(
                "has no node that tokendeck may contact".to_owned(),
            )),
            Some((_, only)) if faults.is_empty() => Err(only),
            Some((name, last)) => {
                let before: Vec<String> = faults
                    .iter()
                    .map(|(name, fault)| format!("; `node://{name}` {fault}"))
                    .collect();
                let said = format!(
                    "failed, and so did the other nodes of its chain: `node://{name}` {last}{}",
                    before.concat()
                );
                let any = |is: fn(&Fault) -> bool| {
                    faults.iter().map(|(_, fault)| fault).chain([&last]).any(is)
                };
                Err(if any(|fault| matches!(fault, Fault::NoState(_))) {
                    Fault::NoState(said)
                } else if any(|fault| matches!(fault, Fault::TooMuch(_))) {
                    Fault::TooMuch(said)
                } else {
                    Fault::Unavailable(said)
                })
            }
        }
    }

    /// The newest block, and the number of round trips: none if it was fetched less than a minute ago, unless it must be `fresh`.
    pub fn newest(
        &self,
        fresh: bool,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(NodeBlock, u32), Fault> {
        let known = locked(&self.wire.nodes.newest)
            .get(&self.chain)
            .filter(|(asked, _)| asked.elapsed() < NEWEST_FOR && !fresh)
            .copied();
        if let Some((_, block)) = known {
            return Ok((block, 0));
        }
        let NodeAnswers { mut answers, trips } =
            self.ask(vec![NodeCall::newest_block()], stopped)?;
        let block = answers
            .pop()
            .and_then(Result::ok)
            .and_then(|block| NodeBlock::read(&block));
        let block = block
            .ok_or_else(|| Fault::Unavailable("did not return its newest block".to_owned()))?;
        locked(&self.wire.nodes.newest).insert(self.chain.clone(), (Instant::now(), block));
        Ok((block, trips))
    }
}
