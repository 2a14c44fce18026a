//! The contracts that a proxy hands its calls to, as far as their code is in the dataset: those whose address stands in its code
//! (EIP-1167, links), in its storage (EIP-1967, EIP-1822, diamonds), or some steps further: behind a beacon, behind a proxy of a proxy. Nothing is executed here.

use std::collections::BTreeMap;

use super::{
    code::{Behind, Slot, delegates},
    corpus::contract_code,
    opcodes::instructions,
};
use crate::dataset::{Dataset, address::Address};

/// Contracts behind one; a diamond has a dozen or two.
const BEHIND_MAX: usize = 32;
/// Slots of a snapshot that are searched for addresses.
const SLOTS_MAX: usize = 4_096;
/// How far is gone: a clone of a beacon's proxy has its implementation three steps away.
const STEPS: usize = 4;
/// The PUSHes that an address may stand behind: clones of one that begins with zeros push fewer bytes than its twenty, and the shortest
/// that are believed have two zeros.
const PUSH18: u8 = 0x71;
const PUSH20: u8 = 0x73;

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
    let address = |bytes: &[u8]| {
        let mut address = [0; 20];
        address[20 - bytes.len()..].copy_from_slice(bytes);
        Address(address)
    };
    let in_code = instructions(code).filter(|(opcode, _)| (PUSH18..=PUSH20).contains(opcode)).map(|(_, data)| address(data));
    let words = storage.iter().take(SLOTS_MAX).flat_map(|(_, word)| [address(&word[12..]), address(&word[..20])]);
    in_code.chain(words.filter(|address| address.0 != [0; 20])).collect()
}
