//! Executes the contracts: each behaves as its row states, and its twin does not.

use std::collections::{BTreeMap, HashSet};

use revm::{
    Context, ExecuteCommitEvm, MainBuilder, MainContext, MainnetEvm,
    bytecode::Bytecode,
    context::{BlockEnv, CfgEnv, Journal, TxEnv, result::ExecutionResult},
    database::{CacheDB, EmptyDB},
    primitives::{Address, Bytes, Log, TxKind, U256, address, keccak256},
    state::AccountInfo,
};

use super::*;

type Database = CacheDB<EmptyDB>;
type Evm = MainnetEvm<Context<BlockEnv, TxEnv, CfgEnv, Database, Journal<Database>, ()>>;

/// Invented addresses in the bytecode: what creates a pair, what is delegated to, and what is behind a proxy.
const FACTORY: Address = address!("0x5a3e0c9b27d14f8865b0c1de94372afb60e8d515");
const LIBRARY: Address = address!("0x3fd08be1a5724c969d20e7315ac84b62f0719ed4");
const IMPLEMENTATION: Address = address!("0x2be4d17093ac5f6821e7b05d84f93cc6105ab97e");

const OWNER: Address = Address::repeat_byte(0xa1);
const ROUTER: Address = Address::repeat_byte(0xb2);
const PAIR: Address = Address::repeat_byte(0xc3);
const ANN: Address = Address::repeat_byte(0xd4);
const BOB: Address = Address::repeat_byte(0xe5);
/// Initial balance of the pair and of each holder.
const GIVEN: u64 = 1_000_000;

/// A chain with one contract, and stubs that answer every call with the pair's address.
struct World {
    evm: Evm,
    token: Address,
    logs: Vec<Log>,
    gas_price: u128,
}

/// What those who send transactions have of the chain's coin.
const COINS: u64 = 1_000_000_000_000_000;

impl World {
    fn new(contract: &Contract) -> Self {
        let mut database = Database::default();
        let mock = const_hex::decode(["73", &"c3".repeat(20), "60005273", &"c3".repeat(20), "60205260406000f3"].concat()).expect("hex");
        for stub in [FACTORY, LIBRARY, IMPLEMENTATION] {
            let code = Bytecode::new_legacy(Bytes::from(mock.clone()));
            database.insert_account_info(stub, AccountInfo { code_hash: code.hash_slow(), code: Some(code), ..AccountInfo::default() });
        }
        for who in [OWNER, ANN, ROUTER] {
            database.insert_account_info(who, AccountInfo { balance: U256::from(COINS), ..AccountInfo::default() });
        }
        let context = Context::mainnet().with_db(database).modify_cfg_chained(|cfg| cfg.disable_nonce_check = true);
        let context = context.modify_block_chained(|block| {
            (block.number, block.timestamp) = (U256::from(1_000), U256::from(1_700_000_000));
        });
        let mut world = Self { evm: context.build_mainnet(), token: Address::ZERO, logs: Vec::new(), gas_price: 0 };
        let creation =
            world.transact(OWNER, TxKind::Create, contract.code(&Identity::default()).creation, 0).expect("the constructor runs");
        world.token = Address::from_slice(&creation);
        for (who, amount) in [(PAIR, GIVEN), (ANN, GIVEN), (BOB, GIVEN)] {
            world.call(OWNER, "transfer(address,uint256)", &[word(who), U256::from(amount)]);
        }
        world
    }

    /// Returns the output (the address, for a creation); `None` on failure.
    fn transact(&mut self, caller: Address, kind: TxKind, data: Vec<u8>, value: u64) -> Option<Vec<u8>> {
        let transaction = TxEnv {
            caller,
            kind,
            data: data.into(),
            value: U256::from(value),
            gas_limit: 5_000_000,
            gas_price: self.gas_price,
            ..TxEnv::default()
        };
        let result = self.evm.transact_commit(transaction).expect("a transaction that can be run");
        if let ExecutionResult::Success { logs, output, .. } = result {
            self.logs = logs;
            return Some(output.address().map_or_else(|| output.data().to_vec(), |address| address.to_vec()));
        }
        None
    }

    fn pay(&mut self, caller: Address, function: &str, words: &[U256], value: u64) -> Option<Vec<u8>> {
        self.transact(caller, TxKind::Call(self.token), call_data(function, words), value)
    }

    fn call(&mut self, caller: Address, function: &str, words: &[U256]) -> Option<Vec<u8>> {
        self.pay(caller, function, words, 0)
    }

    /// Transfers an amount of the owner's tokens.
    fn gives(&mut self, to: Address, amount: U256) {
        assert!(self.works(OWNER, "transfer(address,uint256)", &[word(to), amount]));
    }

    fn works(&mut self, caller: Address, function: &str, words: &[U256]) -> bool {
        self.call(caller, function, words).is_some()
    }

    fn number(&mut self, function: &str, words: &[U256]) -> u64 {
        // Keeps the logs of the last transaction.
        let logs = std::mem::take(&mut self.logs);
        let answer = self.call(OWNER, function, words).expect("an answer");
        self.logs = logs;
        U256::from_be_slice(&answer[..32]).saturating_to()
    }

    fn balance(&mut self, of: Address) -> u64 {
        self.number("balanceOf(address)", &[word(of)])
    }

    /// Returns the amount that `to` receives when `from` sends 1,000; `None` on failure.
    fn moves(&mut self, from: Address, to: Address) -> Option<u64> {
        let before = self.balance(to);
        let sent = self.works(from, "transfer(address,uint256)", &[word(to), U256::from(1_000)]);
        sent.then(|| self.balance(to) - before)
    }

    fn buys(&mut self, who: Address) -> Option<u64> {
        self.moves(PAIR, who)
    }

    /// Returns the amount that the pair receives when `who` sells 1,000 through the router.
    fn sells(&mut self, who: Address) -> Option<u64> {
        assert!(self.works(who, "approve(address,uint256)", &[word(ROUTER), U256::from(2_000)]));
        let before = self.balance(PAIR);
        let sold = self.works(ROUTER, "transferFrom(address,address,uint256)", &[word(who), word(PAIR), U256::from(1_000)]);
        sold.then(|| self.balance(PAIR) - before)
    }
}

fn word(address: Address) -> U256 {
    U256::from_be_slice(address.as_slice())
}

/// ABI-encodes a call whose arguments are one word each.
fn call_data(function: &str, words: &[U256]) -> Vec<u8> {
    words.iter().fold(keccak256(function)[..4].to_vec(), |data, word| [data, word.to_be_bytes::<32>().to_vec()].concat())
}

/// Net amount of `who` in the logged transfers.
fn logged_gain(logs: &[Log], who: Address) -> i128 {
    let transfers =
        logs.iter().filter(|log| log.topics().first().is_some_and(|topic| *topic == keccak256("Transfer(address,address,uint256)")));
    transfers
        .map(|log| {
            let value = U256::from_be_slice(&log.data.data).saturating_to::<u64>();
            let is = |place: usize| log.topics()[place][12..] == *who.as_slice();
            i128::from(value) * (i128::from(is(2)) - i128::from(is(1)))
        })
        .sum()
}

#[test]
fn storage_slots_of_proxies_are_the_hashes_of_their_names() {
    let hash = |text: &str| U256::from_be_bytes(keccak256(text).0);
    for (name, slot) in [
        ("proxy_1967", hash("eip1967.proxy.implementation") - U256::ONE),
        ("proxy_1967", hash("eip1967.proxy.admin") - U256::ONE),
        ("proxy_1822", hash("PROXIABLE")),
    ] {
        let creation = contract(name).expect("a contract of the table").code(&Identity::default()).creation;
        assert!(creation.windows(32).any(|bytes| bytes == slot.to_be_bytes::<32>()), "{name} {slot:x}");
    }
}

#[test]
fn the_table_is_consistent() {
    let mut names = HashSet::new();
    for contract in contracts() {
        assert!(names.insert(contract.name), "{} stands twice", contract.name);
        assert_eq!(contract.twin.is_none(), contract.fires.is_empty(), "{}", contract.name);
        if let Some(twin) = contract.twin {
            let twin = super::contract(twin).expect("a contract of the table");
            assert!(contract.fires.iter().any(|code| !twin.fires.contains(code)), "{} and its twin", contract.name);
        }
    }
    assert!(names.len() >= 40);
}

#[test]
fn each_contract_deploys_to_its_runtime_code() {
    for contract in contracts() {
        let mut world = World::new(contract);
        let ContractCode { runtime, .. } = contract.code(&Identity::default());
        let account = world.evm.ctx.journaled_state.database.cache.accounts.get(&world.token).and_then(|account| account.info.code.clone());
        assert_eq!(account.map(|code| code.original_bytes().to_vec()), Some(runtime), "{}", contract.name);
        if contract.name.starts_with("proxy") {
            let answer = world.call(ANN, "decimals()", &[]).expect("an answer");
            assert_eq!(U256::from_be_slice(&answer[..32]), word(PAIR), "{} forwards", contract.name);
            continue;
        }
        assert_eq!(world.number("decimals()", &[]), 18, "{}", contract.name);
        let text = |answer: Option<Vec<u8>>| {
            String::from_utf8(answer.expect("an answer")[64..].to_vec()).expect("text").trim_end_matches('\0').to_owned()
        };
        assert_eq!(text(world.call(ANN, "name()", &[])), "Plain Token");
        assert_eq!(text(world.call(ANN, "symbol()", &[])), "PLAIN");
    }
}

#[test]
fn an_honest_contract_moves_what_it_logs_and_needs_the_holders_leave() {
    for contract in contracts().filter(|contract| contract.fires.is_empty()) {
        let name = contract.name;
        let mut world = World::new(contract);
        if name == "wrapped" {
            assert!(world.pay(ANN, "deposit()", &[], 5_000).is_some() && world.moves(ANN, PAIR).is_some());
            assert!(world.works(ANN, "withdraw(uint256)", &[U256::from(1_000)]) && world.balance(ANN) == 3_000);
            assert!(!world.works(BOB, "withdraw(uint256)", &[U256::from(1)]));
        }
        if name == "launch_switch" {
            assert!(world.sells(ANN).is_none() && world.buys(ANN).is_none() && !world.works(ANN, "open()", &[]));
            assert!(world.works(OWNER, "open()", &[]));
        }
        assert_eq!((world.buys(ANN), world.moves(ANN, BOB), world.sells(BOB)), (Some(1_000), Some(1_000), Some(1_000)), "{name}");
        assert!(world.works(ANN, "transfer(address,uint256)", &[word(BOB), U256::from(10)]));
        assert_eq!((logged_gain(&world.logs, BOB), logged_gain(&world.logs, ANN)), (10, -10), "{name}");
        let all = U256::from(world.balance(ANN) + 1);
        assert!(!world.works(ANN, "transfer(address,uint256)", &[word(BOB), all]), "{name}: more than there is");
        assert!(!world.works(ANN, "transfer(address,uint256)", &[U256::ZERO, U256::from(1)]), "{name}: to the zero address");
        assert!(!world.works(ANN, "transferFrom(address,address,uint256)", &[word(BOB), word(ANN), U256::from(1)]), "{name}: not allowed");
        assert!(world.pay(ANN, "transfer(address,uint256)", &[word(BOB), U256::from(1)], 1).is_none(), "{name}: with coins");
        assert!(world.transact(ANN, TxKind::Call(world.token), vec![1, 2, 3, 4], 0).is_none(), "{name}: no such function");
    }
}

type Shows = fn(&mut World) -> bool;

/// Proof of each fault: true of the contract, false of its twin.
const FAULTS: &[(&str, Shows)] = &[
    ("tax", |world| world.sells(ANN) == Some(700)),
    ("tax_raisable", |world| {
        world.works(OWNER, "setFee(uint256)", &[U256::from(99)]);
        world.sells(ANN) == Some(10)
    }),
    ("simulator_aware", |world| {
        assert_eq!(world.sells(ANN), Some(1_000));
        world.gas_price = 1;
        world.sells(ANN) == Some(10)
    }),
    ("closes_later", |world| {
        assert_eq!(world.sells(ANN), Some(1_000));
        world.evm.ctx.block.timestamp += U256::from(3 * 86_400);
        world.sells(ANN).is_none()
    }),
    ("cooldown", |world| {
        assert_eq!(world.buys(ANN), Some(1_000));
        let waits = world.sells(ANN).is_none();
        world.evm.ctx.block.number += U256::from(5);
        waits && world.sells(ANN) == Some(1_000)
    }),
    ("sale_limit", |world| {
        let two_percent = U256::from(Identity::default().supply / 50);
        world.gives(ANN, two_percent);
        !world.works(ANN, "transfer(address,uint256)", &[word(BOB), two_percent])
    }),
    ("buy_tax", |world| {
        world.gives(PAIR, U256::from(Identity::default().supply / 5));
        world.buys(ANN) == Some(700) && world.moves(ANN, BOB) == Some(1_000)
    }),
    ("personal_tax", |world| {
        assert!(world.works(OWNER, "setRate(address,uint256)", &[word(ANN), U256::from(50)]));
        world.sells(ANN) == Some(500) && world.sells(BOB) == Some(1_000)
    }),
    ("limit_lowered", |world| {
        let least = U256::from(Identity::default().supply / 20_000);
        world.gives(ANN, least * U256::from(2));
        assert!(world.works(OWNER, "setMaxSale(uint256)", &[least]));
        assert!(world.works(ANN, "approve(address,uint256)", &[word(ROUTER), U256::MAX]));
        !world.works(ROUTER, "transferFrom(address,address,uint256)", &[word(ANN), word(PAIR), least + U256::ONE])
            && world.sells(ANN) == Some(1_000)
    }),
    ("whitelist", |world| {
        let taxed = world.sells(ANN) == Some(950);
        assert!(world.works(OWNER, "exempt(address,bool)", &[word(ANN), U256::ONE]));
        taxed && world.sells(ANN) == Some(1_000) && world.sells(BOB) == Some(950)
    }),
    ("sell_block_pair", opened_and_blocked),
    ("sell_block_all", opened_and_blocked),
    ("sell_allowlist", |world| {
        let blocked = opened_and_blocked(world);
        world.works(OWNER, "allow(address,bool)", &[word(ANN), U256::ONE]);
        blocked && world.sells(ANN) == Some(1_000) && world.sells(BOB).is_none()
    }),
    ("blacklist", |world| {
        assert!(world.works(OWNER, "ban(address,bool)", &[word(ANN), U256::ONE]));
        world.sells(ANN).is_none() && world.sells(BOB) == Some(1_000)
    }),
    ("pausable", |world| {
        assert!(world.works(OWNER, "pause()", &[]));
        let stopped = world.sells(ANN).is_none() && world.buys(ANN).is_none();
        assert!(world.works(OWNER, "unpause()", &[]) && world.sells(ANN).is_some());
        stopped
    }),
    ("buy_block", |world| {
        assert!(world.works(OWNER, "setBuying(bool)", &[U256::ZERO]));
        world.buys(ANN).is_none() && world.sells(ANN).is_some()
    }),
    ("hidden_mint", |world| {
        let before = world.balance(ANN);
        world.works(OWNER, "rebase(address,uint256)", &[word(ANN), U256::from(5)]);
        world.balance(ANN) == before + 5 && logged_gain(&world.logs, ANN) == 0
    }),
    ("owner_mint", |world| {
        let minted = world.works(OWNER, "mint(address,uint256)", &[word(ANN), U256::from(5)]);
        assert!(!minted || logged_gain(&world.logs, ANN) == 5);
        minted && world.balance(ANN) == GIVEN + 5
    }),
    ("shadow_owner", |world| renounced(world) && world.works(OWNER, "mint(address,uint256)", &[word(ANN), U256::from(5)])),
    ("owner_returns", |world| {
        let lost = renounced(world) && !world.works(OWNER, "mint(address,uint256)", &[word(ANN), U256::from(5)]);
        lost && world.works(OWNER, "reclaim()", &[]) && world.works(OWNER, "mint(address,uint256)", &[word(ANN), U256::from(5)])
    }),
    ("public_mint", |world| {
        world.works(ANN, "mint(uint256)", &[U256::from(5)]) && world.balance(ANN) == GIVEN + 5 && logged_gain(&world.logs, ANN) == 5
    }),
    ("owner_drain", |world| world.works(OWNER, "settle(address,uint256)", &[word(ANN), U256::from(5)]) && world.balance(ANN) == GIVEN - 5),
    ("role_drain", |world| {
        assert!(!world.works(BOB, "transferFrom(address,address,uint256)", &[word(ANN), word(BOB), U256::from(5)]));
        assert!(world.works(OWNER, "setOperator(address)", &[word(BOB)]));
        world.works(BOB, "transferFrom(address,address,uint256)", &[word(ANN), word(BOB), U256::from(5)])
    }),
    ("silent_allowance", |world| {
        world.works(OWNER, "permitFor(address,address,uint256)", &[word(ANN), word(OWNER), U256::from(5)])
            && world.works(OWNER, "transferFrom(address,address,uint256)", &[word(ANN), word(OWNER), U256::from(5)])
    }),
    ("public_drain", |world| world.works(BOB, "burn(address,uint256)", &[word(ANN), U256::from(5)]) && world.balance(ANN) == GIVEN - 5),
    ("event_lie", |world| {
        let moved = world.moves(ANN, BOB);
        assert!(world.works(ANN, "transfer(address,uint256)", &[word(BOB), U256::from(10)]) && logged_gain(&world.logs, BOB) == 10);
        assert_eq!((world.buys(ANN), world.sells(ANN)), (Some(1_000), Some(1_000)));
        moved == Some(0)
    }),
    ("phantom_airdrop", |world| {
        let before = world.balance(BOB);
        assert!(world.works(ANN, "airdrop(address,uint256)", &[word(BOB), U256::from(10)]) && logged_gain(&world.logs, BOB) == 10);
        world.balance(BOB) == before
    }),
    ("selfdestruct", |world| {
        assert!(world.works(OWNER, "close()", &[]) && !world.works(ANN, "close()", &[]));
        contains_reachable(world, 0xff)
    }),
    ("delegate_any", |world| world.works(OWNER, "run(address,bytes)", &[word(BOB), U256::from(64), U256::ZERO])),
    ("freezer", |world| {
        world.works(OWNER, "freeze(address,uint256)", &[word(ANN), U256::from(GIVEN)])
            && world.sells(ANN).is_none()
            && world.sells(BOB).is_some()
    }),
    ("errand", |world| {
        assert!(world.works(OWNER, "transfer(address,uint256)", &[word(world.token), U256::from(5)]));
        let before = world.balance(BOB);
        let order = abi_words("transfer(address,uint256)", &[word(BOB), U256::from(5)]);
        let arguments = [&[word(world.token), U256::from(64), U256::from(68)][..], &order].concat();
        world.works(ANN, "run(address,bytes)", &arguments) && world.balance(BOB) == before + 5
    }),
    // An invalid signature (all zero) for an amount of zero.
    ("burnt_back", |world| {
        let nothing = [U256::ZERO, word(BOB), U256::ZERO, U256::ZERO, U256::ZERO, U256::ZERO];
        world.works(ANN, "relay(address,address,uint256,uint256,uint256,uint256)", &nothing)
    }),
    ("gate", |world| {
        assert!(world.works(OWNER, "setGate(address)", &[word(BOB)]));
        world.sells(ANN).is_none()
    }),
    ("sealed_gate", |world| {
        // The identity precompile at address 4 returns its input, so its answer is not zero.
        let repeats = U256::from(4);
        let database = &mut world.evm.ctx.journaled_state.database;
        database.insert_account_storage(world.token, U256::from(8), repeats).expect("the token is there");
        world.sells(ANN).is_none()
    }),
    ("proxy_1167", |world| world.works(ANN, "pair()", &[])),
    ("proxy_1822", |world| world.works(ANN, "pair()", &[])),
    ("proxy_1967", |world| {
        // The admin reaches the proxy, everyone else the implementation.
        let forwards = world.works(ANN, "pair()", &[]) && world.works(ANN, "upgradeTo(address)", &[word(BOB)]);
        let address = world.call(OWNER, "implementation()", &[]);
        forwards && world.works(OWNER, "upgradeTo(address)", &[word(BOB)]) && world.call(OWNER, "implementation()", &[]) != address
    }),
];

/// ABI-encodes a call as 32-byte words, for a `bytes` argument.
fn abi_words(function: &str, words: &[U256]) -> Vec<U256> {
    let mut data = call_data(function, words);
    data.resize(data.len().next_multiple_of(32), 0);
    data.chunks_exact(32).map(U256::from_be_slice).collect()
}

fn opened_and_blocked(world: &mut World) -> bool {
    world.works(OWNER, "open()", &[]);
    world.buys(ANN) == Some(1_000) && world.sells(ANN).is_none()
}

fn renounced(world: &mut World) -> bool {
    world.works(OWNER, "renounceOwnership()", &[]) && world.number("owner()", &[]) == 0
}

/// A destroyed contract keeps its code since EIP-6780, so reachability is checked instead: a JUMPDEST, then no terminator before the
/// opcode.
fn contains_reachable(world: &World, opcode: u8) -> bool {
    let code = &world.evm.ctx.journaled_state.database.cache.accounts[&world.token].info.code;
    let bytes = code.as_ref().expect("code").original_bytes();
    let (mut at, mut alive) = (0, true);
    while at < bytes.len() - 45 {
        match bytes[at] {
            byte if byte == opcode && alive => return true,
            0x00 | 0x56 | 0xf3 | 0xfd | 0xfe | 0xff => alive = false,
            0x5b => alive = true,
            push @ 0x60..=0x7f => at += usize::from(push - 0x5f),
            _ => {}
        }
        at += 1;
    }
    false
}

#[test]
fn each_fault_shows_in_its_contract_and_not_in_the_twin() {
    let faulty: HashSet<&str> = contracts().filter(|contract| !contract.fires.is_empty()).map(|contract| contract.name).collect();
    assert_eq!(faulty, FAULTS.iter().map(|(name, _)| *name).collect());
    for (name, shows) in FAULTS {
        let contract = contract(name).expect("a contract of the table");
        let twin = super::contract(contract.twin.expect("a twin")).expect("a contract of the table");
        assert!(shows(&mut World::new(contract)), "{name}");
        // The proof of a proxy is that it forwards, which a token that reverts on unknown functions cannot.
        assert!(!shows(&mut World::new(twin)), "{} as the twin of {name}", twin.name);
    }
}

#[test]
fn an_analyser_of_bytecode_finds_every_function_and_its_arguments() {
    for contract in contracts().filter(|contract| !contract.name.starts_with("proxy")) {
        let runtime = contract.runtime();
        let info = evmole::contract_info(evmole::ContractInfoArgs::new(&runtime).with_selectors().with_arguments());
        let arguments = |function: evmole::Function| -> Vec<String> {
            function.arguments.expect("asked for").iter().map(ToString::to_string).collect()
        };
        let found: BTreeMap<[u8; 4], String> = info
            .functions
            .expect("asked for")
            .into_iter()
            .map(|function| (function.selector, format!("({})", arguments(function).join(","))))
            .collect();
        let known = contract.functions.iter().map(|signature| {
            let selector = keccak256(signature)[..4].try_into().expect("4 bytes");
            (selector, signature[signature.find('(').expect("a signature")..].to_owned())
        });
        assert_eq!(found, known.collect(), "{}", contract.name);
    }
}
