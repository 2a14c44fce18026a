//! Each fault shows in its contract, and not in the twin.

use super::*;

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
        assert!(world.works(
            OWNER,
            "setRate(address,uint256)",
            &[word(ANN), U256::from(50)]
        ));
        world.sells(ANN) == Some(500) && world.sells(BOB) == Some(1_000)
    }),
    ("limit_lowered", |world| {
        let least = U256::from(Identity::default().supply / 20_000);
        world.gives(ANN, least * U256::from(2));
        assert!(world.works(OWNER, "setMaxSale(uint256)", &[least]));
        assert!(world.works(ANN, "approve(address,uint256)", &[word(ROUTER), U256::MAX]));
        !world.works(
            ROUTER,
            "transferFrom(address,address,uint256)",
            &[word(ANN), word(PAIR), least + U256::ONE],
        ) && world.sells(ANN) == Some(1_000)
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
        world.works(
            OWNER,
            "rebase(address,uint256)",
            &[word(ANN), U256::from(5)],
        );
        world.balance(ANN) == before + 5 && logged_gain(&world.logs, ANN) == 0
    }),
    ("owner_mint", |world| {
        let minted = world.works(OWNER, "mint(address,uint256)", &[word(ANN), U256::from(5)]);
        assert!(!minted || logged_gain(&world.logs, ANN) == 5);
        minted && world.balance(ANN) == GIVEN + 5
    }),
    ("shadow_owner", |world| {
        renounced(world) && world.works(OWNER, "mint(address,uint256)", &[word(ANN), U256::from(5)])
    }),
    ("owner_returns", |world| {
        let lost = renounced(world)
            && !world.works(OWNER, "mint(address,uint256)", &[word(ANN), U256::from(5)]);
        lost && world.works(OWNER, "reclaim()", &[])
            && world.works(OWNER, "mint(address,uint256)", &[word(ANN), U256::from(5)])
    }),
    ("public_mint", |world| {
        world.works(ANN, "mint(uint256)", &[U256::from(5)])
            && world.balance(ANN) == GIVEN + 5
            && logged_gain(&world.logs, ANN) == 5
    }),
    ("owner_drain", |world| {
        world.works(
            OWNER,
            "settle(address,uint256)",
            &[word(ANN), U256::from(5)],
        ) && world.balance(ANN) == GIVEN - 5
    }),
    ("role_drain", |world| {
        assert!(!world.works(
            BOB,
            "transferFrom(address,address,uint256)",
            &[word(ANN), word(BOB), U256::from(5)]
        ));
        assert!(world.works(OWNER, "setOperator(address)", &[word(BOB)]));
        world.works(
            BOB,
            "transferFrom(address,address,uint256)",
            &[word(ANN), word(BOB), U256::from(5)],
        )
    }),
    ("silent_allowance", |world| {
        world.works(
            OWNER,
            "permitFor(address,address,uint256)",
            &[word(ANN), word(OWNER), U256::from(5)],
        ) && world.works(
            OWNER,
            "transferFrom(address,address,uint256)",
            &[word(ANN), word(OWNER), U256::from(5)],
        )
    }),
    ("public_drain", |world| {
        world.works(BOB, "burn(address,uint256)", &[word(ANN), U256::from(5)])
            && world.balance(ANN) == GIVEN - 5
    }),
    ("event_lie", |world| {
        let moved = world.moves(ANN, BOB);
        assert!(
            world.works(
                ANN,
                "transfer(address,uint256)",
                &[word(BOB), U256::from(10)]
            ) && logged_gain(&world.logs, BOB) == 10
        );
        assert_eq!(
            (world.buys(ANN), world.sells(ANN)),
            (Some(1_000), Some(1_000))
        );
        moved == Some(0)
    }),
    ("phantom_airdrop", |world| {
        let before = world.balance(BOB);
        assert!(
            world.works(
                ANN,
                "airdrop(address,uint256)",
                &[word(BOB), U256::from(10)]
            ) && logged_gain(&world.logs, BOB) == 10
        );
        world.balance(BOB) == before
    }),
    ("selfdestruct", |world| {
        assert!(world.works(OWNER, "close()", &[]) && !world.works(ANN, "close()", &[]));
        contains_reachable(world, 0xff)
    }),
    ("delegate_any", |world| {
        world.works(
            OWNER,
            "run(address,bytes)",
            &[word(BOB), U256::from(64), U256::ZERO],
        )
    }),
    ("freezer", |world| {
        world.works(
            OWNER,
            "freeze(address,uint256)",
            &[word(ANN), U256::from(GIVEN)],
        ) && world.sells(ANN).is_none()
            && world.sells(BOB).is_some()
    }),
    ("errand", |world| {
        assert!(world.works(
            OWNER,
            "transfer(address,uint256)",
            &[word(world.token), U256::from(5)]
        ));
        let before = world.balance(BOB);
        let order = abi_words("transfer(address,uint256)", &[word(BOB), U256::from(5)]);
        let arguments = [
            &[word(world.token), U256::from(64), U256::from(68)][..],
            &order,
        ]
        .concat();
        world.works(ANN, "run(address,bytes)", &arguments) && world.balance(BOB) == before + 5
    }),
    // An invalid signature (all zero) for an amount of zero.
    ("burnt_back", |world| {
        let nothing = [
            U256::ZERO,
            word(BOB),
            U256::ZERO,
            U256::ZERO,
            U256::ZERO,
            U256::ZERO,
        ];
        world.works(
            ANN,
            "relay(address,address,uint256,uint256,uint256,uint256)",
            &nothing,
        )
    }),
    ("gate", |world| {
        assert!(world.works(OWNER, "setGate(address)", &[word(BOB)]));
        world.sells(ANN).is_none()
    }),
    ("sealed_gate", |world| {
        // The identity precompile at address 4 returns its input, so its answer is not zero.
        let repeats = U256::from(4);
        let database = &mut world.evm.ctx.journaled_state.database;
        database
            .insert_account_storage(world.token, U256::from(8), repeats)
            .expect("the token is there");
        world.sells(ANN).is_none()
    }),
    ("proxy_1167", |world| world.works(ANN, "pair()", &[])),
    ("proxy_1822", |world| world.works(ANN, "pair()", &[])),
    ("proxy_1967", |world| {
        // The admin reaches the proxy, everyone else the implementation.
        let forwards =
            world.works(ANN, "pair()", &[]) && world.works(ANN, "upgradeTo(address)", &[word(BOB)]);
        let address = world.call(OWNER, "implementation()", &[]);
        forwards
            && world.works(OWNER, "upgradeTo(address)", &[word(BOB)])
            && world.call(OWNER, "implementation()", &[]) != address
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
    let code = &world.evm.ctx.journaled_state.database.cache.accounts[&world.token]
        .info
        .code;
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
    let faulty: HashSet<&str> = contracts()
        .filter(|contract| !contract.fires.is_empty())
        .map(|contract| contract.name)
        .collect();
    assert_eq!(faulty, FAULTS.iter().map(|(name, _)| *name).collect());
    for (name, shows) in FAULTS {
        let contract = contract(name).expect("a contract of the table");
        let twin =
            super::contract(contract.twin.expect("a twin")).expect("a contract of the table");
        assert!(shows(&mut World::new(contract)), "{name}");
        // The proof of a proxy is that it forwards, which a token that reverts on unknown functions cannot.
        assert!(
            !shows(&mut World::new(twin)),
            "{} as the twin of {name}",
            twin.name
        );
    }
}
