//! The nodes of a chain that a dataset may query: the one that `dataset.toml` names, and the other nodes of its chain in config.toml.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use model::chain::Chain;
use wire::{Fault, RemoteClient, node::ChainNode};

/// Origin for consent: the user agrees that the dataset asks the node of that name.
fn origin(source: &str) -> String {
    format!("node://{source}")
}

/// Origins of the nodes that are asked where the dataset names this one.
pub(crate) fn origins(wire: &RemoteClient, source: &str) -> Vec<String> {
    wire.nodes_beside(source)
        .iter()
        .map(|name| origin(name))
        .collect()
}

#[derive(Debug)]
pub(super) struct ChainNodes {
    wire: Arc<RemoteClient>,
    /// The dataset's folder, for consent.
    dataset: PathBuf,
    /// Name of the node in config.toml.
    pub(super) source: String,
    /// `None` where config.toml has no such node.
    pub(super) chain: Option<Chain>,
}

impl ChainNodes {
    /// Sends no request.
    pub(super) fn new(wire: &Arc<RemoteClient>, dataset: &Path, source: &str) -> Self {
        let chain = wire
            .node_source(source)
            .and_then(|node| Chain::parse(&node.chain));
        Self {
            wire: Arc::clone(wire),
            dataset: dataset.to_owned(),
            source: source.to_owned(),
            chain,
        }
    }

    /// Origin of the node for consent, and its name in messages.
    pub(super) fn origin(&self) -> String {
        origin(&self.source)
    }

    /// Whether a token on these chains is on the nodes' chain. If their chain is unknown, every token is, so that each response reports the
    /// fault.
    pub(super) fn is_of(&self, chains: &[Chain]) -> bool {
        self.chain
            .as_ref()
            .is_none_or(|chain| chains.contains(chain))
    }

    /// Name of the chain's folder. For a chain outside the list, this is the name that the user gave it.
    pub(super) fn folder_name(&self) -> String {
        plain(self.chain.as_ref().map_or("unknown", Chain::as_str))
    }

    /// Age in blocks from which on a block is read: as config.toml says, else from which on the chain does not take it back.
    pub(super) fn depth(&self) -> u64 {
        let blocks = self.chain.clone().unwrap_or_else(Chain::unknown).blocks();
        let minutes = self
            .wire
            .node_source(&self.source)
            .and_then(|node| node.lag_minutes);
        minutes.map_or(blocks.finality, |minutes| {
            u64::from(minutes) * 60_000 / blocks.interval_ms
        })
    }

    /// The nodes that may be asked.
    pub(super) fn node(&self) -> Result<ChainNode, Fault> {
        let Some(chain) = &self.chain else {
            return self.wire.node(std::slice::from_ref(&self.source), None);
        };
        let (mut names, mut refused) = (Vec::new(), None);
        for name in self.wire.nodes_beside(&self.source) {
            match self.wire.may_ask(&self.dataset, &origin(&name)) {
                Ok(()) => names.push(name),
                Err(fault) => drop(refused.get_or_insert(fault)),
            }
        }
        if let (true, Some(fault)) = (names.is_empty(), refused) {
            return Err(fault);
        }
        self.wire
            .node(&names, chain.id().or_else(|| chain.as_str().parse().ok()))
    }
}

fn plain(chain: &str) -> String {
    chain
        .chars()
        .map(|letter| {
            if letter.is_ascii_alphanumeric() || letter == '-' {
                letter
            } else {
                '_'
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_chain_leads_to_no_other_folder() {
        assert_eq!(
            (super::plain("arb-nova"), super::plain("robin/../hood")),
            ("arb-nova".to_owned(), "robin____hood".to_owned())
        );
    }
}
