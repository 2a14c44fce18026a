//! Deploying the token: by its constructor, with the storage of the dataset, or by its code alone, and so that it obeys our owner. The
//! balances are `funding`'s.

use evmole::DynSolType;
use revm::primitives::{Address, U256};

use super::{
    CodeInput,
    abi::{self, Filling},
    functions::Function,
    machine::Machine,
    world::{OWNER, PAIR, PLACED, small},
};

/// How the contract was deployed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeployedBy {
    Constructor,
    /// Only its code was put there: every slot is zero but those that name our owner.
    Code,
    /// With the storage that the dataset has of it.
    Snapshot,
}

impl DeployedBy {
    pub fn word(self) -> &'static str {
        match self {
            Self::Constructor => "constructor",
            Self::Code => "runtime code",
            Self::Snapshot => "snapshot",
        }
    }
}

pub(super) struct Deployment {
    pub(super) token: Address,
    /// The deployer, or the address that the contract takes for its owner.
    pub(super) owner: Address,
    pub(super) deployed_by: DeployedBy,
    /// Whether the constructor of the dataset ran to its end; `None` when there is none.
    pub(super) deploys: Option<bool>,
    /// Other addresses that it obeys: they stand in its code, or in the storage of the dataset.
    pub(super) privileged: Vec<Address>,
    /// Places of mappings that were written so that our owner has a role.
    pub(super) roles: Vec<U256>,
    /// Whether the dataset tells who the owner is or was.
    pub(super) owner_known: bool,
}

impl Deployment {
    fn new(token: Address, deployed_by: DeployedBy, deploys: Option<bool>) -> Self {
        Self { token, owner: OWNER, deployed_by, deploys, privileged: Vec::new(), roles: Vec::new(), owner_known: false }
    }
}

/// What constructors are tried with: addresses, numbers, yes or no. The first that works and leaves a supply is taken.
const TRIES: &[(&[Address], u128, bool)] = &[
    (&[OWNER], 1_000_000_000, true),
    (&[PAIR], 1_000_000_000, true),
    (&[OWNER], 1_000_000_000_000_000_000_000_000_000, true),
    (&[OWNER], 1, true),
    (&[PAIR, small(0x00FA_1701), small(0x00FA_1702), small(0x00FA_1703)], 1, false),
    (&[OWNER], 0, false),
    (&[PAIR], 100, false),
    (&[PAIR, OWNER], 10_000, true),
    // A moment after now, then one well before.
    (&[OWNER], 1_800_000_000, true),
    (&[PAIR, OWNER], 1_600_000_000, true),
];
/// Bytes appended for a constructor whose types nobody knows: words that are the owner, at most.
const BLIND_WORDS: usize = 8;
/// Comparisons with the caller that are followed up.
const CLAIMS_MAX: usize = 48;
const PRIVILEGED_MAX: usize = 3;

pub(super) fn set_up(machine: &mut Machine<'_>, input: &CodeInput<'_>, functions: &[Function]) -> Deployment {
    for behind in input.behind {
        let address = Address::new(behind.address.0);
        machine.world().place(address, &behind.code);
        for (slot, value) in &behind.storage {
            machine.world().set_slot(address, U256::from_be_bytes(*slot), U256::from_be_bytes(*value));
        }
    }
    if let Some(storage) = input.storage.filter(|storage| !storage.is_empty()) {
        machine.world().place(PLACED, input.runtime);
        for (slot, value) in storage {
            machine.world().set_slot(PLACED, U256::from_be_bytes(*slot), U256::from_be_bytes(*value));
        }
        let asked = abi::OWNER_OF_IT.iter().find_map(|selector| machine.ask(PLACED, *selector, &[]));
        let told = input.owner.map(|owner| Address::new(owner.0)).filter(|owner| !owner.is_zero());
        let known = asked.filter(|word| !word.is_zero()).map(abi::address_of).or(told);
        let mut deployment = Deployment {
            owner: known.unwrap_or(OWNER),
            owner_known: known.is_some(),
            ..Deployment::new(PLACED, DeployedBy::Snapshot, None)
        };
        machine.world().person(deployment.owner);
        claim(machine, &mut deployment, functions, Claims::None);
        return deployment;
    }
    // A proxy's constructor would be passed another implementation than the one behind the proxy.
    let creation = input.creation.filter(|code| !code.is_empty() && input.behind.is_empty());
    let deployed = creation.map(|code| deploy(machine, code, input));
    let mut deployment = if let Some(Some(token)) = deployed {
        Deployment { owner: owner_of(machine, token), ..Deployment::new(token, DeployedBy::Constructor, Some(true)) }
    } else {
        machine.world().place(PLACED, input.runtime);
        Deployment::new(PLACED, DeployedBy::Code, deployed.map(|token| token.is_some()))
    };
    // A place that a constructor left empty stays so.
    let claims = if deployment.deployed_by == DeployedBy::Code { Claims::All } else { Claims::None };
    claim(machine, &mut deployment, functions, claims);
    deployment
}

/// The owner after the constructor ran: the address that `owner()` names, unless it is one of our own making; else the deployer.
fn owner_of(machine: &mut Machine<'_>, token: Address) -> Address {
    let named = abi::OWNER_OF_IT.iter().find_map(|selector| machine.ask(token, *selector, &[])).map(abi::address_of);
    let Some(named) = named.filter(|named| !invented(*named) && machine.world().mocked(*named)) else { return OWNER };
    machine.world().person(named);
    named
}

/// Whether the address is one that constructors were given here, and not one that stands in the code.
fn invented(address: Address) -> bool {
    address.is_zero() || [OWNER, PAIR].contains(&address) || TRIES.iter().any(|(addresses, ..)| addresses.contains(&address))
}

/// Which empty places are given to our owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claims {
    None,
    /// Storage slots that hold one address, such as the owner's.
    Places,
    /// Mappings from addresses to roles.
    Roles,
    All,
}

impl Claims {
    fn places(self) -> bool {
        matches!(self, Self::Places | Self::All)
    }

    fn roles(self) -> bool {
        matches!(self, Self::Roles | Self::All)
    }
}

/// Runs the constructor with one set of arguments after another. `None` when all of them fail.
fn deploy(machine: &mut Machine<'_>, creation: &[u8], input: &CodeInput<'_>) -> Option<Address> {
    let mut without_supply = None;
    // Whom a list names has powers that nobody would have whom it does not: lists stay empty where that works.
    let lists = input.constructor_types.is_some_and(|types| types.iter().any(|of| of.contains("[]")));
    let tries = (usize::from(!lists)..=1).flat_map(|length| TRIES.iter().map(move |one| (one, length)));
    for ((addresses, number, yes), length) in tries {
        let mark = machine.mark();
        let mut code = creation.to_vec();
        match input.constructor_types {
            Some(types) => code.extend(arguments(types, addresses, *number, *yes, length)),
            // Unknown types: first none at all, then words; a constructor that reads fewer minds neither.
            None if without_supply.is_some() || addresses.len() > 1 => {
                code.extend(abi::word_of(OWNER).to_be_bytes::<32>().repeat(BLIND_WORDS));
            }
            None => {}
        }
        let made = machine.create(OWNER, code.clone());
        let stands = made.created.filter(|address| made.ok && machine.world().code_len(*address) > 0);
        if let Some(token) = stands {
            if machine.ask(token, abi::TOTAL_SUPPLY, &[]).is_some_and(|supply| !supply.is_zero()) {
                return Some(settle(machine, token, input));
            }
            without_supply = without_supply.or(Some(code));
        }
        machine.rollback(mark);
        if input.constructor_types.is_some_and(<[_]>::is_empty) {
            break;
        }
    }
    let token = machine.create(OWNER, without_supply?).created?;
    Some(settle(machine, token, input))
}

/// A constructor may leave other code than the one that is asked about; that one counts, in the storage which the constructor made.
fn settle(machine: &mut Machine<'_>, token: Address, input: &CodeInput<'_>) -> Address {
    if !input.runtime.is_empty() && machine.world().code_len(token) != input.runtime.len() {
        machine.world().place(token, input.runtime);
    }
    token
}

fn arguments(types: &[String], addresses: &[Address], number: u128, yes: bool, lists: usize) -> Vec<u8> {
    let types: Vec<DynSolType> = types.iter().map(|text| text.parse().unwrap_or(DynSolType::Uint(256))).collect();
    // Eight bits are the decimals.
    let figure = |of: &DynSolType| U256::from(if *of == DynSolType::Uint(8) { 18 } else { number });
    let numbers = types.iter().filter(|of| matches!(of, DynSolType::Uint(_) | DynSolType::Int(_))).map(figure).chain([U256::from(number)]);
    let filling = Filling { addresses: addresses.to_vec(), numbers: numbers.collect(), yes, decimals: None, token: Address::ZERO };
    abi::encode_lists(&types, &filling, lists).0
}

/// A word whose bytes all differ, so that a part of it tells where it was taken from.
fn pattern() -> U256 {
    let mut bytes = [0; 32];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = 0xC1_u8.wrapping_add(at as u8);
    }
    U256::from_be_bytes(bytes)
}

const ADDRESS_BITS: usize = 160;

/// Finds out whom the contract obeys: functions that refuse our owner after comparing the caller with an empty slot get our owner into
/// that slot where that is claimed, and other addresses that the caller is compared with are remembered. Returns whether a place was claimed.
pub(super) fn claim(machine: &mut Machine<'_>, deployment: &mut Deployment, functions: &[Function], claims: Claims) -> bool {
    let (mut left, mut any) = (CLAIMS_MAX, false);
    let owner = deployment.owner;
    for function in functions {
        let (data, _) = function.call(&Filling::plain(vec![owner], U256::ONE));
        // Each success shows the next check, of which there are seldom more than two.
        for _ in 0..3 {
            let (outcome, trace) = machine.trace(owner, deployment.token, data.clone());
            if outcome.ok || left == 0 {
                break;
            }
            let mut claimed = false;
            for (other, slot) in trace.compared.iter().copied() {
                if left == 0 {
                    break;
                }
                let known = abi::address_of(other);
                if let (true, Some(slot), false) = (other.is_zero() && claims.places(), slot, function.standard()) {
                    left -= 1;
                    claimed |= obeys(machine, deployment, slot, &data);
                } else if other >> ADDRESS_BITS == U256::ZERO && other >> 80 != U256::ZERO && known != owner {
                    // Without a snapshot what a slot holds is of our own making, unless a constructor had it in its code.
                    let ours =
                        deployment.deployed_by == DeployedBy::Code || deployment.deployed_by == DeployedBy::Constructor && invented(known);
                    let stored = ours && slot.is_some_and(|slot| holds(machine.world().slot(deployment.token, slot), other));
                    if !stored
                        && deployment.privileged.len() < PRIVILEGED_MAX
                        && !deployment.privileged.contains(&known)
                        && machine.world().mocked(known)
                    {
                        deployment.privileged.push(known);
                    }
                }
            }
            if function.standard() {
                break;
            }
            let seen = trace.read.len();
            for slot in trace.read.iter().filter(|(_, key)| *key == Some(abi::word_of(owner))).map(|(slot, _)| *slot) {
                if left > 0 && claims.roles() && machine.world().slot(deployment.token, slot).is_zero() {
                    left -= 1;
                    let admitted = admits(machine, deployment, slot, &data, seen);
                    if admitted {
                        deployment.roles.push(slot);
                    }
                    claimed |= admitted;
                }
            }
            any |= claimed;
            if !claimed {
                break;
            }
        }
    }
    any
}

/// Writes "yes" where a mapping keeps what our owner may do. Kept when the refused call gets further by it.
fn admits(machine: &mut Machine<'_>, deployment: &Deployment, slot: U256, data: &[u8], seen: usize) -> bool {
    let mark = machine.mark();
    machine.world().set_slot(deployment.token, slot, U256::ONE);
    let (outcome, trace) = machine.trace(deployment.owner, deployment.token, data.to_vec());
    let further = outcome.ok || trace.read.len() > seen;
    if !further {
        machine.rollback(mark);
    }
    further
}

/// Whether the word has the address in it, wherever it stands.
pub(super) fn holds(word: U256, address: U256) -> bool {
    (0..=12).any(|byte| (word >> (8 * byte)) & (U256::MAX >> (256 - ADDRESS_BITS)) == address)
}

/// Puts our owner into a slot if the caller is compared with it, at the place in the word where it is taken from.
fn obeys(machine: &mut Machine<'_>, deployment: &Deployment, slot: U256, data: &[u8]) -> bool {
    let token = deployment.token;
    let old = machine.world().slot(token, slot);
    machine.world().set_slot(token, slot, pattern());
    let (_, trace) = machine.trace(deployment.owner, token, data.to_vec());
    let mask = U256::MAX >> (256 - ADDRESS_BITS);
    let place =
        trace.compared.iter().find_map(|(other, _)| (0..=12).map(|byte| 8 * byte).find(|shift| (pattern() >> *shift) & mask == *other));
    let value = place.map_or(old, |shift: usize| (old & !(mask << shift)) | (abi::word_of(deployment.owner) << shift));
    machine.world().set_slot(token, slot, value);
    place.is_some()
}
