//! Executes the contracts: each deploys, has the functions of its row, and an honest one moves what it logs.

mod faults;

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
        let mock = const_hex::decode(
            [
                "73",
                &"c3".repeat(20),
                "60005273",
                &"c3".repeat(20),
                "60205260406000f3",
            ]
            .concat(),
        )
        .expect("hex");
        for stub in [FACTORY, LIBRARY, IMPLEMENTATION] {
            let code = Bytecode::new_legacy(Bytes::from(mock.clone()));
            database.insert_account_info(
                stub,
                AccountInfo {
                    code_hash: code.hash_slow(),
                    code: Some(code),
                    ..AccountInfo::default()
                },
            );
        }
        for who in [OWNER, ANN, ROUTER] {
            database.insert_account_info(
                who,
                AccountInfo {
                    balance: U256::from(COINS),
                    ..AccountInfo::default()
                },
            );
        }
        let context = Context::mainnet()
            .with_db(database)
            .modify_cfg_chained(|cfg| cfg.disable_nonce_check = true);
        let context = context.modify_block_chained(|block| {
            (block.number, block.timestamp) = (U256::from(1_000), U256::from(1_700_000_000));
        });
        let mut world = Self {
            evm: context.build_mainnet(),
            token: Address::ZERO,
            logs: Vec::new(),
            gas_price: 0,
        };
        let creation = world
            .transact(
                OWNER,
                TxKind::Create,
                contract.code(&Identity::default()).creation,
                0,
            )
            .expect("the constructor runs");
        world.token = Address::from_slice(&creation);
        for (who, amount) in [(PAIR, GIVEN), (ANN, GIVEN), (BOB, GIVEN)] {
            world.call(
                OWNER,
                "transfer(address,uint256)",
                &[word(who), U256::from(amount)],
            );
        }
        world
    }

    /// Returns the output (the address, for a creation); `None` on failure.
    fn transact(
        &mut self,
        caller: Address,
        kind: TxKind,
        data: Vec<u8>,
        value: u64,
    ) -> Option<Vec<u8>> {
        let transaction = TxEnv {
            caller,
            kind,
            data: data.into(),
            value: U256::from(value),
            gas_limit: 5_000_000,
            gas_price: self.gas_price,
            ..TxEnv::default()
        };
        let result = self
            .evm
            .transact_commit(transaction)
            .expect("a transaction that can be run");
        if let ExecutionResult::Success { logs, output, .. } = result {
            self.logs = logs;
            return Some(
                output
                    .address()
                    .map_or_else(|| output.data().to_vec(), |address| address.to_vec()),
            );
        }
        None
    }

    fn pay(
        &mut self,
        caller: Address,
        function: &str,
        words: &[U256],
        value: u64,
    ) -> Option<Vec<u8>> {
        self.transact(
            caller,
            TxKind::Call(self.token),
            call_data(function, words),
            value,
        )
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
        let sent = self.works(
            from,
            "transfer(address,uint256)",
            &[word(to), U256::from(1_000)],
        );
        sent.then(|| self.balance(to) - before)
    }

    fn buys(&mut self, who: Address) -> Option<u64> {
        self.moves(PAIR, who)
    }

    /// Returns the amount that the pair receives when `who` sells 1,000 through the router.
    fn sells(&mut self, who: Address) -> Option<u64> {
        assert!(self.works(
            who,
            "approve(address,uint256)",
            &[word(ROUTER), U256::from(2_000)]
        ));
        let before = self.balance(PAIR);
        let sold = self.works(
            ROUTER,
            "transferFrom(address,address,uint256)",
            &[word(who), word(PAIR), U256::from(1_000)],
        );
        sold.then(|| self.balance(PAIR) - before)
    }
}

fn word(address: Address) -> U256 {
    U256::from_be_slice(address.as_slice())
}

/// ABI-encodes a call whose arguments are one word each.
fn call_data(function: &str, words: &[U256]) -> Vec<u8> {
    words
        .iter()
        .fold(keccak256(function)[..4].to_vec(), |data, word| {
            [data, word.to_be_bytes::<32>().to_vec()].concat()
        })
}

/// Net amount of `who` in the logged transfers.
fn logged_gain(logs: &[Log], who: Address) -> i128 {
    let transfers = logs.iter().filter(|log| {
        log.topics()
            .first()
            .is_some_and(|topic| *topic == keccak256("Transfer(address,address,uint256)"))
    });
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
        (
            "proxy_1967",
            hash("eip1967.proxy.implementation") - U256::ONE,
        ),
        ("proxy_1967", hash("eip1967.proxy.admin") - U256::ONE),
        ("proxy_1822", hash("PROXIABLE")),
    ] {
        let creation = contract(name)
            .expect("a contract of the table")
            .code(&Identity::default())
            .creation;
        assert!(
            creation
                .windows(32)
                .any(|bytes| bytes == slot.to_be_bytes::<32>()),
            "{name} {slot:x}"
        );
    }
}

#[test]
fn the_table_is_consistent() {
    let mut names = HashSet::new();
    for contract in contracts() {
        assert!(
            names.insert(contract.name),
            "{} stands twice",
            contract.name
        );
        assert_eq!(
            contract.twin.is_none(),
            contract.fires.is_empty(),
            "{}",
            contract.name
        );
        if let Some(twin) = contract.twin {
            let twin = super::contract(twin).expect("a contract of the table");
            assert!(
                contract.fires.iter().any(|code| !twin.fires.contains(code)),
                "{} and its twin",
                contract.name
            );
        }
    }
    assert!(names.len() >= 40);
}

#[test]
fn each_contract_deploys_to_its_runtime_code() {
    for contract in contracts() {
        let mut world = World::new(contract);
        let ContractCode { runtime, .. } = contract.code(&Identity::default());
        let account = world
            .evm
            .ctx
            .journaled_state
            .database
            .cache
            .accounts
            .get(&world.token)
            .and_then(|account| account.info.code.clone());
        assert_eq!(
            account.map(|code| code.original_bytes().to_vec()),
            Some(runtime),
            "{}",
            contract.name
        );
        if contract.name.starts_with("proxy") {
            let answer = world.call(ANN, "decimals()", &[]).expect("an answer");
            assert_eq!(
                U256::from_be_slice(&answer[..32]),
                word(PAIR),
                "{} forwards",
                contract.name
            );
            continue;
        }
        assert_eq!(world.number("decimals()", &[]), 18, "{}", contract.name);
        let text = |answer: Option<Vec<u8>>| {
            String::from_utf8(answer.expect("an answer")[64..].to_vec())
                .expect("text")
                .trim_end_matches('\0')
                .to_owned()
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
            assert!(
                world.pay(ANN, "deposit()", &[], 5_000).is_some()
                    && world.moves(ANN, PAIR).is_some()
            );
            assert!(
                world.works(ANN, "withdraw(uint256)", &[U256::from(1_000)])
                    && world.balance(ANN) == 3_000
            );
            assert!(!world.works(BOB, "withdraw(uint256)", &[U256::from(1)]));
        }
        if name == "launch_switch" {
            assert!(
                world.sells(ANN).is_none()
                    && world.buys(ANN).is_none()
                    && !world.works(ANN, "open()", &[])
            );
            assert!(world.works(OWNER, "open()", &[]));
        }
        assert_eq!(
            (world.buys(ANN), world.moves(ANN, BOB), world.sells(BOB)),
            (Some(1_000), Some(1_000), Some(1_000)),
            "{name}"
        );
        assert!(world.works(
            ANN,
            "transfer(address,uint256)",
            &[word(BOB), U256::from(10)]
        ));
        assert_eq!(
            (logged_gain(&world.logs, BOB), logged_gain(&world.logs, ANN)),
            (10, -10),
            "{name}"
        );
        let all = U256::from(world.balance(ANN) + 1);
        assert!(
            !world.works(ANN, "transfer(address,uint256)", &[word(BOB), all]),
            "{name}: more than there is"
        );
        assert!(
            !world.works(
                ANN,
                "transfer(address,uint256)",
                &[U256::ZERO, U256::from(1)]
            ),
            "{name}: to the zero address"
        );
        assert!(
            !world.works(
                ANN,
                "transferFrom(address,address,uint256)",
                &[word(BOB), word(ANN), U256::from(1)]
            ),
            "{name}: not allowed"
        );
        assert!(
            world
                .pay(
                    ANN,
                    "transfer(address,uint256)",
                    &[word(BOB), U256::from(1)],
                    1
                )
                .is_none(),
            "{name}: with coins"
        );
        assert!(
            world
                .transact(ANN, TxKind::Call(world.token), vec![1, 2, 3, 4], 0)
                .is_none(),
            "{name}: no such function"
        );
    }
}

#[test]
fn an_analyser_of_bytecode_finds_every_function_and_its_arguments() {
    for contract in contracts().filter(|contract| !contract.name.starts_with("proxy")) {
        let runtime = contract.runtime();
        let info = evmole::contract_info(
            evmole::ContractInfoArgs::new(&runtime)
                .with_selectors()
                .with_arguments(),
        );
        let arguments = |function: evmole::Function| -> Vec<String> {
            function
                .arguments
                .expect("asked for")
                .iter()
                .map(ToString::to_string)
                .collect()
        };
        let found: BTreeMap<[u8; 4], String> = info
            .functions
            .expect("asked for")
            .into_iter()
            .map(|function| {
                (
                    function.selector,
                    format!("({})", arguments(function).join(",")),
                )
            })
            .collect();
        let known = contract.functions.iter().map(|signature| {
            let selector = keccak256(signature)[..4].try_into().expect("4 bytes");
            (
                selector,
                signature[signature.find('(').expect("a signature")..].to_owned(),
            )
        });
        assert_eq!(found, known.collect(), "{}", contract.name);
    }
}
