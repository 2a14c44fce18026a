//! Who can replace the contract behind a proxy, and how soon.

use revm::primitives::{Address, U256};

use super::{is_contract, pools};
use crate::code::{
    UpgradedBy,
    abi::{self, Filling, Selector},
    effects::{Caller, FunctionCall},
    functions::Function,
    machine::Machine,
};

/// Owners of owners that are followed.
const OWNERS_MAX: usize = 3;
/// `getMinDelay()` and `delay()` of a timelock, in seconds.
const DELAYS: [Selector; 2] = [[0xF2, 0x7A, 0x0C, 0x92], [0x6A, 0x42, 0xB8, 0xF8]];
/// A longer delay is not a real setting.
const DELAY_MAX: u64 = 10 * 365 * DAY;
const DAY: u64 = 86_400;
/// How long an exchange may have to be announced before, at most.
const WAITS: [u64; 6] = [3_600, DAY, 2 * DAY, 3 * DAY, 7 * DAY, 31 * DAY];
/// What a wait goes beyond, so that one of just as long is over.
const MARGIN: u64 = 60;
/// Functions of a proxy's own that are tried.
const FUNCTIONS_MAX: usize = 24;

/// Who can exchange the contract behind the proxy: the admin of EIP-1967, or who owns that contract. `own`: the functions of the proxy itself.
pub(super) fn upgraded_by(
    machine: &mut Machine<'_>,
    proxy: Address,
    own: &[Function],
) -> Option<UpgradedBy> {
    let slot = U256::from_str_radix(pools::ADMIN_SLOT, 16).ok()?;
    let mut admin = abi::address_of(machine.evm_state().slot(proxy, slot));
    if admin.is_zero() {
        return None;
    }
    let shown = |address: Address| model::address::Address(address.into_array());
    for _ in 0..OWNERS_MAX {
        if !is_contract(&machine.evm_state().code(admin)) {
            let wait = announced(machine, proxy, admin, own);
            return Some(wait.map_or(UpgradedBy::Person(shown(admin)), |wait| {
                UpgradedBy::Announced(shown(admin), wait)
            }));
        }
        match machine
            .ask(admin, abi::OWNER_OF_IT[0], &[])
            .map(abi::address_of)
        {
            Some(owner) if owner.is_zero() => return Some(UpgradedBy::Nobody),
            Some(owner) if owner != admin => admin = owner,
            _ => break,
        }
    }
    let delay = DELAYS
        .iter()
        .find_map(|selector| machine.ask(admin, *selector, &[]));
    let delay = delay
        .and_then(|delay| u64::try_from(delay).ok())
        .filter(|delay| (1..=DELAY_MAX).contains(delay));
    Some(UpgradedBy::Contract(shown(admin), delay))
}

/// How long the admin has to wait between two calls that exchange the contract, where no single one does; `None` where one does, or nothing was
/// found that does: then no wait is certain.
fn announced(
    machine: &mut Machine<'_>,
    proxy: Address,
    admin: Address,
    own: &[Function],
) -> Option<u64> {
    let slot = U256::from_str_radix(pools::IMPLEMENTATION_SLOT, 16).ok()?;
    let was = machine.evm_state().slot(proxy, slot);
    // Any contract that is there.
    let filling = Filling {
        numbers: vec![U256::ZERO],
        ..Filling::plain(vec![machine.people.coin], U256::ZERO)
    };
    let calls: Vec<FunctionCall> = own
        .iter()
        .take(FUNCTIONS_MAX)
        .map(|function| FunctionCall::new(function, admin, proxy, Caller::Owner, filling.clone()))
        .collect();
    let exchanges = |machine: &mut Machine<'_>, call: &FunctionCall| {
        let mark = machine.mark();
        let writes = !call.make(machine).writes.is_empty();
        let exchanged = machine.evm_state().slot(proxy, slot) != was;
        machine.rollback(mark);
        (writes, exchanged)
    };
    let mut announcing = Vec::new();
    for call in &calls {
        match exchanges(machine, call) {
            (_, true) => return None,
            (true, false) => announcing.push(call),
            _ => {}
        }
    }
    WAITS.into_iter().find(|wait| {
        announcing.iter().any(|first| {
            let mark = machine.mark();
            first.make(machine);
            machine.wait_seconds(wait + MARGIN);
            let exchanged = calls.iter().any(|call| exchanges(machine, call).1);
            machine.rollback(mark);
            exchanged
        })
    })
}
