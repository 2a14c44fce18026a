//! The first block in which a token can have transfers: the one of its contract's creation, if the node has the states of old blocks.

use model::address::Address;
use wire::{
    Fault,
    node::{self, ChainNode, NodeCall},
};

/// A token, and the blocks between which its contract was made.
struct Search {
    token: Address,
    without: u64,
    with: u64,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Starts {
    /// The first block of each token.
    pub(super) found: Vec<(Address, u64)>,
    /// Tokens whose first block the node cannot tell, as it has no states of old blocks.
    pub(super) unknown: Vec<Address>,
    /// Tokens without a contract on this chain.
    pub(super) absent: Vec<Address>,
}

/// Finds the first blocks by halving, for all tokens at once.
pub(super) fn find(
    node: &ChainNode,
    tokens: &[Address],
    end: u64,
    stopped: &dyn Fn() -> bool,
) -> Result<Starts, Fault> {
    let mut starts = Starts::default();
    let has_code = |blocks: &[(Address, u64)]| -> Result<Vec<Option<bool>>, Fault> {
        let calls = blocks
            .iter()
            .map(|(token, block)| NodeCall::code(&token.0, *block))
            .collect();
        let answers = node.ask(calls, stopped)?.answers;
        Ok(answers
            .into_iter()
            .map(|answer| Some(!node::bytes(&answer.ok()?)?.is_empty()))
            .collect())
    };
    // Without the state of the block itself nobody knows whether it is a contract, and its transfers may be there all the same.
    let now = match has_code(&tokens.iter().map(|token| (*token, end)).collect::<Vec<_>>()) {
        Err(Fault::NoState(_)) => vec![None; tokens.len()],
        now => now?,
    };
    let mut searches = Vec::new();
    for (token, now) in tokens.iter().zip(now) {
        match now {
            Some(true) => searches.push(Search {
                token: *token,
                without: 0,
                with: end,
            }),
            Some(false) => starts.absent.push(*token),
            None => starts.unknown.push(*token),
        }
    }
    while !searches.is_empty() {
        let middle = |search: &Search| search.without + (search.with - search.without) / 2;
        let told = match has_code(
            &searches
                .iter()
                .map(|search| (search.token, middle(search)))
                .collect::<Vec<_>>(),
        ) {
            Err(Fault::NoState(_)) => vec![None; searches.len()],
            told => told?,
        };
        let mut open = Vec::new();
        for (search, told) in searches.into_iter().zip(told) {
            let at = middle(&search);
            match told {
                None => starts.unknown.push(search.token),
                Some(true) if at == search.without => starts.found.push((search.token, at)),
                Some(false) if at + 1 >= search.with => {
                    starts.found.push((search.token, search.with));
                }
                Some(true) => open.push(Search { with: at, ..search }),
                Some(false) => open.push(Search {
                    without: at,
                    ..search
                }),
            }
        }
        searches = open;
    }
    Ok(starts)
}
