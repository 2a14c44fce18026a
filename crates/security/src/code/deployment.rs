//! Deployment of the token: by its constructor, from a storage dump, or from runtime code alone, with a simulated account as the owner.
//! `funding` creates the balances.

use evmole::DynSolType;
use revm::primitives::{Address, U256};

use super::{
    CodeInput,
    abi::{self, Filling, RoleNames},
    accounts::{Accounts, Seed},
    functions::Function,
    machine::Machine,
    trace::Trace,
};

model::words! {
    /// Source of the contract's initial state.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum DeployedBy {
        Constructor = "constructor",
        /// Runtime code only: every slot is zero except those that hold our owner.
        Code = "runtime code",
        /// Runtime code with the dataset's storage dump.
        Snapshot = "snapshot",
        /// The on-chain state at one block.
        Chain = "chain",
    }
}

impl DeployedBy {
    /// Whether it is the state on a chain, as far as it is known.
    pub(super) fn is_real(self) -> bool {
        matches!(self, Self::Snapshot | Self::Chain)
    }
}

pub(super) struct Deployment {
    pub(super) token: Address,
    /// The deployer, or the address that the contract treats as its owner.
    pub(super) owner: Address,
    pub(super) deployed_by: DeployedBy,
    /// Whether the dataset's constructor completed; `None` without one.
    pub(super) deploys: Option<bool>,
    /// Other addresses that may call restricted functions, found in its code or in the storage of the dataset.
    pub(super) privileged: Vec<Address>,
    /// Mapping slots written to give our owner a role.
    pub(super) roles: Vec<U256>,
    /// Whether the current or former owner is known from the dataset.
    pub(super) owner_known: bool,
}

impl Deployment {
    pub(super) fn new(
        token: Address,
        owner: Address,
        deployed_by: DeployedBy,
        deploys: Option<bool>,
    ) -> Self {
        Self {
            token,
            owner,
            deployed_by,
            deploys,
            privileged: Vec::new(),
            roles: Vec::new(),
            owner_known: false,
        }
    }
}

/// An address that a constructor is given.
#[derive(Debug, Clone, Copy)]
enum Given {
    Owner,
    /// The exchange's router, whose answers name its factory and the pool.
    Router,
    /// A contract that is none of the others.
    Other(&'static str),
}

impl Given {
    fn address(self, people: &Accounts, seed: Seed) -> Address {
        match self {
            Self::Owner => people.owner,
            Self::Router => people.router,
            Self::Other(name) => seed.address(name),
        }
    }
}

/// Constructor arguments to try: addresses, number, boolean. The first set that succeeds and leaves a supply is used.
const TRIES: &[(&[Given], u128, bool)] = &[
    (&[Given::Owner], 1_000_000_000, true),
    (&[Given::Router], 1_000_000_000, true),
    (&[Given::Owner], 1_000_000_000_000_000_000_000_000_000, true),
    (&[Given::Owner], 1, true),
    (
        &[
            Given::Router,
            Given::Other("one"),
            Given::Other("two"),
            Given::Other("three"),
        ],
        1,
        false,
    ),
    (&[Given::Owner], 0, false),
    (&[Given::Router], 100, false),
    (&[Given::Router, Given::Owner], 10_000, true),
    // A time shortly after now, then one well before.
    (&[Given::Owner], 1_900_000_000, true),
    (&[Given::Router, Given::Owner], 1_600_000_000, true),
];
/// Maximum number of words, all the owner's address, appended for a constructor of unknown types.
const BLIND_WORDS: usize = 8;
/// Maximum number of slots that are tried.
const ASSUMPTIONS_MAX: usize = 48;
const PRIVILEGED_MAX: usize = 4;

pub(super) fn set_up(
    machine: &mut Machine<'_>,
    input: &CodeInput<'_>,
    functions: &[Function],
) -> Deployment {
    for contract in input.implementations {
        let address = Address::new(contract.address.0);
        machine.evm_state().place(address, &contract.code);
        for (slot, value) in &contract.storage {
            machine.evm_state().set_slot(
                address,
                U256::from_be_bytes(*slot),
                U256::from_be_bytes(*value),
            );
        }
    }
    if let Some(storage) = input.storage.filter(|storage| !storage.is_empty()) {
        let people = machine.people;
        machine.evm_state().place(people.token, input.runtime);
        for (slot, value) in storage {
            machine.evm_state().set_slot(
                people.token,
                U256::from_be_bytes(*slot),
                U256::from_be_bytes(*value),
            );
        }
        let asked = abi::OWNER_OF_IT
            .iter()
            .find_map(|selector| machine.ask(people.token, *selector, &[]));
        let told = input
            .owner
            .map(|owner| Address::new(owner.0))
            .filter(|owner| !owner.is_zero());
        let known = asked
            .filter(|word| !word.is_zero())
            .map(abi::address_of)
            .or(told);
        let mut deployment = Deployment {
            owner: known.unwrap_or(people.owner),
            owner_known: known.is_some(),
            ..Deployment::new(people.token, people.owner, DeployedBy::Snapshot, None)
        };
        machine.evm_state().person(deployment.owner);
        assume_ownership(machine, &mut deployment, functions, AssumedSlots::None);
        return deployment;
    }
    // A proxy's constructor arguments would name another implementation than the one behind the proxy.
    let creation = input
        .creation
        .filter(|code| !code.is_empty() && input.implementations.is_empty());
    let (place, here) = (&input.place, machine.people.token);
    if creation.is_some() {
        // Where its deployer's first contract stands.
        machine.stand_at(machine.people.owner.create(1), place.venue.as_ref());
    }
    let deployed = creation.map(|code| deploy(machine, code, input));
    let mut deployment = if let Some(Some(token)) = deployed {
        Deployment {
            owner: owner_of(machine, token),
            ..Deployment::new(
                token,
                machine.people.owner,
                DeployedBy::Constructor,
                Some(true),
            )
        }
    } else {
        machine.stand_at(here, place.venue.as_ref());
        machine.evm_state().place(here, input.runtime);
        Deployment::new(
            here,
            machine.people.owner,
            DeployedBy::Code,
            deployed.map(|token| token.is_some()),
        )
    };
    // Slots that a constructor left empty stay empty.
    let slots = if deployment.deployed_by == DeployedBy::Code {
        AssumedSlots::All
    } else {
        AssumedSlots::None
    };
    assume_ownership(machine, &mut deployment, functions, slots);
    deployment
}

/// The owner after the constructor ran: the address returned by `owner()`, or the deployer if that is a simulated account.
fn owner_of(machine: &mut Machine<'_>, token: Address) -> Address {
    let named = abi::OWNER_OF_IT
        .iter()
        .find_map(|selector| machine.ask(token, *selector, &[]))
        .map(abi::address_of);
    let Some(named) =
        named.filter(|named| !invented(machine, *named) && machine.evm_state().mocked(*named))
    else {
        return machine.people.owner;
    };
    machine.evm_state().person(named);
    named
}

/// Whether the address is one passed to constructors here, rather than one from the code.
fn invented(machine: &Machine<'_>, address: Address) -> bool {
    let (people, seed) = (&machine.people, machine.circumstances.hashes);
    let given = |given: &Given| given.address(people, seed) == address;
    address.is_zero()
        || address == people.pair
        || TRIES
            .iter()
            .any(|(addresses, ..)| addresses.iter().any(given))
}

/// Kinds of empty slots that our owner's address or role is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AssumedSlots {
    None,
    /// Slots that hold one address, such as the owner's.
    Owner,
    /// Mappings from addresses to roles.
    Roles,
    All,
}

impl AssumedSlots {
    fn owner(self) -> bool {
        matches!(self, Self::Owner | Self::All)
    }

    fn roles(self) -> bool {
        matches!(self, Self::Roles | Self::All)
    }
}

/// Runs the constructor with one set of arguments after another. Returns `None` if all fail.
fn deploy(machine: &mut Machine<'_>, creation: &[u8], input: &CodeInput<'_>) -> Option<Address> {
    let mut without_supply = None;
    let (people, seed) = (machine.people, machine.circumstances.hashes);
    // Listed addresses get powers that they would not have otherwise: empty lists are tried first.
    let lists = input
        .constructor_types
        .is_some_and(|types| types.iter().any(|of| of.contains("[]")));
    let tries =
        (usize::from(!lists)..=1).flat_map(|length| TRIES.iter().map(move |one| (one, length)));
    for ((addresses, number, yes), length) in tries {
        let mark = machine.mark();
        let mut code = creation.to_vec();
        match input.constructor_types {
            Some(types) => {
                let addresses = addresses
                    .iter()
                    .map(|given| given.address(&people, seed))
                    .collect();
                code.extend(arguments(types, addresses, *number, *yes, length));
            }
            // Unknown types: first without arguments, then with words; surplus words are ignored.
            None if without_supply.is_some() || addresses.len() > 1 => {
                code.extend(
                    abi::word_of(people.owner)
                        .to_be_bytes::<32>()
                        .repeat(BLIND_WORDS),
                );
            }
            None => {}
        }
        let made = machine.create(people.owner, code.clone());
        let stands = made
            .created
            .filter(|address| made.ok && machine.evm_state().code_len(*address) > 0);
        if let Some(token) = stands {
            if machine
                .ask(token, abi::TOTAL_SUPPLY, &[])
                .is_some_and(|supply| !supply.is_zero())
            {
                return Some(settle(machine, token, input));
            }
            without_supply = without_supply.or(Some(code));
        }
        machine.rollback(mark);
        if input.constructor_types.is_some_and(<[_]>::is_empty) {
            break;
        }
    }
    let token = machine.create(people.owner, without_supply?).created?;
    Some(settle(machine, token, input))
}

/// If the constructor leaves other runtime code than the code under analysis, replaces it, keeping the constructor's storage.
fn settle(machine: &mut Machine<'_>, token: Address, input: &CodeInput<'_>) -> Address {
    if !input.runtime.is_empty() && machine.evm_state().code_len(token) != input.runtime.len() {
        machine.evm_state().place(token, input.runtime);
    }
    token
}

fn arguments(
    types: &[String],
    addresses: Vec<Address>,
    number: u128,
    yes: bool,
    lists: usize,
) -> Vec<u8> {
    let types: Vec<DynSolType> = types
        .iter()
        .map(|text| text.parse().unwrap_or(DynSolType::Uint(256)))
        .collect();
    // A uint8 is taken to be the decimals.
    let figure = |of: &DynSolType| {
        U256::from(if *of == DynSolType::Uint(8) {
            18
        } else {
            number
        })
    };
    let numbers = types
        .iter()
        .filter(|of| matches!(of, DynSolType::Uint(_) | DynSolType::Int(_)))
        .map(figure)
        .chain([U256::from(number)]);
    let filling = Filling {
        addresses,
        numbers: numbers.collect(),
        yes,
        word: U256::ZERO,
        decimals: None,
        names: RoleNames::default(),
    };
    abi::encode_lists(&types, &filling, lists).0
}

/// A word with distinct bytes, so that any part of it reveals its offset.
fn pattern() -> U256 {
    let mut bytes = [0; 32];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = 0xC1_u8.wrapping_add(at as u8);
    }
    U256::from_be_bytes(bytes)
}

const ADDRESS_BITS: usize = 160;

/// Determines who may call restricted functions. If a function refuses our owner after comparing the caller with an empty slot, our owner
/// is written to that slot where `slots` allows it; other addresses compared with the caller are recorded as privileged. Returns whether a
/// slot was written.
pub(super) fn assume_ownership(
    machine: &mut Machine<'_>,
    deployment: &mut Deployment,
    functions: &[Function],
    slots: AssumedSlots,
) -> bool {
    let mut assumption = Assumption {
        machine,
        deployment,
        slots,
        left: ASSUMPTIONS_MAX,
    };
    let mut any = false;
    // In functions that move tokens the caller is compared with many who have no power over anything.
    let (standard, own): (Vec<_>, Vec<_>) =
        functions.iter().partition(|function| function.standard());
    let (owner, pair) = (assumption.deployment.owner, assumption.machine.people.pair);
    for function in own.into_iter().chain(standard.iter().copied()) {
        any |= assumption.enter(function, owner, U256::ONE);
    }
    // Some are compared in sales alone, or where nothing is sent.
    for (function, to, number) in standard
        .into_iter()
        .flat_map(|function| [(function, pair, U256::ONE), (function, owner, U256::ZERO)])
    {
        any |= assumption.enter(function, to, number);
    }
    any
}

/// The search for the slots to which our owner is written.
struct Assumption<'a, 'm> {
    machine: &'a mut Machine<'m>,
    deployment: &'a mut Deployment,
    slots: AssumedSlots,
    /// Number of slots that may still be tried.
    left: usize,
}

impl Assumption<'_, '_> {
    /// Passes the checks of a function, one after another. Returns whether a slot was written.
    fn enter(&mut self, function: &Function, to: Address, number: U256) -> bool {
        let (data, _) = function.call(&Filling::plain(vec![to], number));
        let mut any = false;
        // Each success reveals the next check; there are seldom more than two.
        for _ in 0..3 {
            let (outcome, trace) =
                self.machine
                    .trace(self.deployment.owner, self.deployment.token, data.clone());
            if outcome.ok || self.left == 0 {
                // Whom it obeys it may obey without refusing anybody else.
                for (other, slot) in trace.compared.iter().copied() {
                    self.note_privileged(other, slot);
                }
                break;
            }
            let by_owner = self.assume_owner(function, &trace, &data);
            let by_role = !function.standard() && self.assume_role(&trace, &data);
            if !by_owner && !by_role {
                break;
            }
            any = true;
        }
        any
    }

    /// Writes our owner to the empty slots that the caller was compared with.
    fn assume_owner(&mut self, function: &Function, trace: &Trace, data: &[u8]) -> bool {
        let mut written = false;
        for (other, slot) in trace.compared.iter().copied() {
            if self.left == 0 {
                break;
            }
            match slot {
                Some(slot) if other.is_zero() && self.slots.owner() && !function.standard() => {
                    self.left -= 1;
                    written |= self.owner_slot_works(slot, data);
                }
                _ => self.note_privileged(other, slot),
            }
        }
        written
    }

    /// Records the address that the caller was compared with, unless it is a simulated account.
    fn note_privileged(&mut self, other: U256, slot: Option<U256>) {
        let (deployment, address) = (&mut *self.deployment, abi::address_of(other));
        let people = self.machine.people;
        // The pool takes from who sells and gives to who buys; nobody obeys it.
        let of_exchange =
            [people.pair, people.router, people.factory, people.coin].contains(&address);
        if other >> ADDRESS_BITS != U256::ZERO
            || other >> 80 == U256::ZERO
            || address == deployment.owner
            || of_exchange
        {
            return;
        }
        // Without a snapshot, slots hold our own values, unless a constructor had the address in its code.
        let ours = match deployment.deployed_by {
            DeployedBy::Code => true,
            DeployedBy::Constructor => invented(self.machine, address),
            DeployedBy::Snapshot | DeployedBy::Chain => false,
        };
        let stored = ours
            && slot.is_some_and(|slot| {
                holds(self.machine.evm_state().slot(deployment.token, slot), other)
            });
        let is_new = deployment.privileged.len() < PRIVILEGED_MAX
            && !deployment.privileged.contains(&address);
        if !stored && is_new && self.machine.evm_state().is_real(address) {
            deployment.privileged.push(address);
        }
    }

    /// Gives our owner the roles that the call looked up and found empty.
    fn assume_role(&mut self, trace: &Trace, data: &[u8]) -> bool {
        let owner = Some(abi::word_of(self.deployment.owner));
        let mut given = false;
        for (slot, _) in trace.read.iter().filter(|(_, key)| *key == owner) {
            if self.left > 0
                && self.slots.roles()
                && self
                    .machine
                    .evm_state()
                    .slot(self.deployment.token, *slot)
                    .is_zero()
            {
                self.left -= 1;
                if self.role_works(*slot, data, trace.read.len()) {
                    self.deployment.roles.push(*slot);
                    given = true;
                }
            }
        }
        given
    }

    /// Sets a mapping entry of our owner to 1; reverts it unless the refused call then reads more than `seen` slots.
    fn role_works(&mut self, slot: U256, data: &[u8], seen: usize) -> bool {
        let mark = self.machine.mark();
        self.machine
            .evm_state()
            .set_slot(self.deployment.token, slot, U256::ONE);
        let (outcome, trace) =
            self.machine
                .trace(self.deployment.owner, self.deployment.token, data.to_vec());
        let further = outcome.ok || trace.read.len() > seen;
        if !further {
            self.machine.rollback(mark);
        }
        further
    }

    /// Writes our owner into a slot if the caller is compared with it, at the bit offset the comparison reads.
    fn owner_slot_works(&mut self, slot: U256, data: &[u8]) -> bool {
        let Deployment { token, owner, .. } = *self.deployment;
        let old = self.machine.evm_state().slot(token, slot);
        self.machine.evm_state().set_slot(token, slot, pattern());
        let (_, trace) = self.machine.trace(owner, token, data.to_vec());
        let mask = U256::MAX >> (256 - ADDRESS_BITS);
        let place = trace.compared.iter().find_map(|(other, _)| {
            (0..=12)
                .map(|byte| 8 * byte)
                .find(|shift| (pattern() >> *shift) & mask == *other)
        });
        let value = place.map_or(old, |shift: usize| {
            (old & !(mask << shift)) | (abi::word_of(owner) << shift)
        });
        self.machine.evm_state().set_slot(token, slot, value);
        place.is_some()
    }
}

/// Whether the word contains the address at any byte offset.
pub(super) fn holds(word: U256, address: U256) -> bool {
    (0..=12).any(|byte| (word >> (8 * byte)) & (U256::MAX >> (256 - ADDRESS_BITS)) == address)
}
