//! Accounts and slots that the node proves against the state root of the block. Used if config.toml has `verify`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::token_state::TokenState;
use model::{
    address::Address,
    chain_state::{ChainAccount, MissingState, Word},
};
use wire::{
    Fault,
    node::{self, CallRefusal, NodeCall, ProvedAccount},
};

/// Slots that are proved at once.
const SLOTS_AT_ONCE: usize = 200;

/// Slots of each address that are proved with it.
fn parts(missing: &MissingState) -> Vec<(Address, Vec<Word>)> {
    let mut all: BTreeMap<Address, Vec<Word>> = missing.accounts.iter().map(|address| (*address, Vec::new())).collect();
    for (address, slot) in &missing.slots {
        all.entry(*address).or_default().push(*slot);
    }
    let chunks = |(address, slots): (Address, Vec<Word>)| -> Vec<(Address, Vec<Word>)> {
        if slots.is_empty() { vec![(address, slots)] } else { slots.chunks(SLOTS_AT_ONCE).map(|some| (address, some.to_vec())).collect() }
    };
    all.into_iter().flat_map(chunks).collect()
}

/// The codes, and a proof of each account with its slots.
pub(super) fn calls(missing: &MissingState, block: u64) -> Vec<NodeCall> {
    let codes = missing.accounts.iter().map(|address| NodeCall::code(&address.0, block));
    let proofs = parts(missing).into_iter().map(|(address, slots)| NodeCall::proof(&address.0, &slots, block));
    codes.chain(proofs).collect()
}

/// Adds what is proved to the state. Errors: something is not, named by its address and slot.
pub(super) fn add(
    state: &mut TokenState,
    missing: &MissingState,
    answers: Vec<Result<Value, CallRefusal>>,
    (block, hash): (&Value, &Word),
) -> Result<(), Fault> {
    let lie = |what: String| Fault::Unavailable(format!("returned data that its proofs don't confirm (`verify` in config.toml): {what}"));
    let root = node::state_root(block, hash).map_err(|what| lie(format!("the block {} has {what}", const_hex::encode_prefixed(hash))))?;
    let mut answers = answers.into_iter();
    let codes: Vec<_> = answers.by_ref().take(missing.accounts.len()).collect();
    let mut proved: BTreeMap<Address, ProvedAccount> = BTreeMap::new();
    for ((address, slots), answer) in parts(missing).into_iter().zip(answers) {
        let answer = answer.map_err(|CallRefusal { code, message, .. }| {
            Fault::Unavailable(format!("returned no proof (eth_getProof, code {code}: {message}); remove `verify`, or use another node"))
        })?;
        let account = node::proved_account(&answer, &address.0, &slots, &root).map_err(|what| lie(format!("`{address}`: {what}")))?;
        state.slots.extend(slots.iter().zip(&account.slots).map(|(slot, value)| ((address, *slot), *value)));
        proved.insert(address, account);
    }
    for (address, code) in missing.accounts.iter().zip(codes) {
        let code = super::read::code_of(&super::read::understood(Some(code))?)?;
        let account = proved.get(address).ok_or_else(|| lie(format!("`{address}`: no proof")))?;
        if !account.is_code(&code) {
            return Err(lie(format!("`{address}`: the code")));
        }
        state.accounts.insert(*address, ChainAccount { balance: account.balance, code });
    }
    Ok(())
}
