//! Implementation contracts behind a proxy, as far as their code is in the dataset: addresses in its code (EIP-1167, linked libraries) or
//! storage (EIP-1967, EIP-1822, diamonds), directly or through further steps, such as a beacon or a proxy of a proxy. Nothing is executed
//! here.

use std::collections::BTreeMap;

use super::{
    code::{ImplementationContract, Slot, delegates},
    corpus::contract_code,
    opcodes::instructions,
};
use model::address::Address;
use model::data::Data;

/// Maximum number of contracts behind a proxy; a diamond has a dozen or two.
const IMPLEMENTATIONS_MAX: usize = 32;
/// Maximum number of storage slots of a snapshot searched for addresses.
const SLOTS_MAX: usize = 4_096;
/// Maximum number of steps: a clone of a beacon proxy has its implementation three steps away.
const STEPS: usize = 4;
/// PUSH opcodes that may precede an address: minimal proxies drop leading zeros of the address and push fewer than twenty bytes; at most
/// two are accepted.
const PUSH18: u8 = 0x71;
const PUSH20: u8 = 0x73;

/// Returns the contracts behind this one, ordered by address. Empty if it delegates to no other code, or if that code is not in the
/// dataset.
pub fn implementations(
    dataset: &dyn Data,
    own: &Address,
    code: &[u8],
    storage: Option<&[Slot]>,
    storage_of: &dyn Fn(&Address) -> Option<Vec<Slot>>,
) -> Vec<ImplementationContract> {
    let mut found: BTreeMap<Address, ImplementationContract> = BTreeMap::new();
    if !delegates(code) {
        return Vec::new();
    }
    let mut asked = named(code, storage.unwrap_or_default());
    for step in 0..STEPS {
        let mut next = Vec::new();
        for address in asked {
            if found.len() >= IMPLEMENTATIONS_MAX
                || address == *own
                || found.contains_key(&address)
                || dataset.contracts().count(&address) == 0
            {
                continue;
            }
            let Some(code) = contract_code(dataset, &address) else {
                continue;
            };
            let storage = storage_of(&address).unwrap_or_default();
            if step + 1 < STEPS {
                next.extend(named(&code, &storage));
            }
            found.insert(
                address,
                ImplementationContract {
                    address,
                    code,
                    storage,
                },
            );
        }
        asked = next;
    }
    found.into_values().collect()
}

/// Addresses in the operands of PUSH instructions, and at the low or high end of storage words.
fn named(code: &[u8], storage: &[Slot]) -> Vec<Address> {
    let address = |bytes: &[u8]| {
        let mut address = [0; 20];
        address[20 - bytes.len()..].copy_from_slice(bytes);
        Address(address)
    };
    let in_code = instructions(code)
        .filter(|(opcode, _)| (PUSH18..=PUSH20).contains(opcode))
        .map(|(_, data)| address(data));
    let words = storage
        .iter()
        .take(SLOTS_MAX)
        .flat_map(|(_, word)| [address(&word[12..]), address(&word[..20])]);
    in_code
        .chain(words.filter(|address| address.0 != [0; 20]))
        .collect()
}
