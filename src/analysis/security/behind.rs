//! The contracts that a proxy hands its calls to, as far as their code is in the dataset: those whose address stands in its code
//! (EIP-1167, links), in its storage (EIP-1967, EIP-1822, diamonds), or some steps further: behind a beacon, behind a proxy of a proxy. Nothing is executed here.

use std::collections::BTreeMap;

use super::{
    code::{Behind, Slot, delegates},
    corpus::contract_code,
};
use crate::dataset::{Dataset, address::Address};

/// Contracts behind one; a diamond has a dozen or two.
const BEHIND_MAX: usize = 32;
/// Slots of a snapshot that are searched for addresses.
const SLOTS_MAX: usize = 4_096;
/// How far is gone: a clone of a beacon's proxy has its implementation three steps away.
const STEPS: usize = 4;
const PUSH1: u8 = 0x60;
const PUSH20: u8 = 0x73;
const PUSH32: u8 = 0x7F;

/// In the order of addresses. Empty for a contract that runs nobody else's code, or whose others are not in the dataset.
pub fn behind(
    dataset: &Dataset,
    own: &Address,
    code: &[u8],
    storage: Option<&[Slot]>,
    storage_of: &dyn Fn(&Address) -> Option<Vec<Slot>>,
) -> Vec<Behind> {
    let mut found: BTreeMap<Address, Behind> = BTreeMap::new();
    if !delegates(code) {
        return Vec::new();
    }
    let mut asked = named(code, storage.unwrap_or_default());
    for step in 0..STEPS {
        let mut next = Vec::new();
        for address in asked {
            if found.len() >= BEHIND_MAX || address == *own || found.contains_key(&address) || dataset.contracts().count(&address) == 0 {
                continue;
            }
            let Some(code) = contract_code(dataset, &address) else { continue };
            let storage = storage_of(&address).unwrap_or_default();
            if step + 1 < STEPS {
                next.extend(named(&code, &storage));
            }
            found.insert(address, Behind { address, code, storage });
        }
        asked = next;
    }
    found.into_values().collect()
}

/// Addresses that stand in the code after a PUSH, and in the storage, as a word's low or high end.
fn named(code: &[u8], storage: &[Slot]) -> Vec<Address> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < code.len() {
        let length = match code[at] {
            push @ PUSH1..=PUSH32 => usize::from(push - PUSH1) + 1,
            _ => 0,
        };
        // Clones of an address that begins with zeros push fewer bytes; the shortest that are believed have two of them.
        if code[at] <= PUSH20 && length >= 18 {
            let bytes = &code[(at + 1).min(code.len())..(at + 1 + length).min(code.len())];
            let mut address = [0; 20];
            address[20 - bytes.len()..].copy_from_slice(bytes);
            found.push(Address(address));
        }
        at += 1 + length;
    }
    for (_, word) in storage.iter().take(SLOTS_MAX) {
        let [low, high] = [&word[12..], &word[..20]].map(|bytes| {
            let mut address = [0; 20];
            address.copy_from_slice(bytes);
            Address(address)
        });
        found.extend([low, high].into_iter().filter(|address| address.0 != [0; 20]));
    }
    found
}
