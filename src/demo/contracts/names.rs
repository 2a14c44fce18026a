//! The names that the contracts' texts use: functions with their selectors, events with their topics, words for what is said often.
//! The tests compute every selector and topic anew.

use super::assembler::SymbolTable;

pub(super) const NAMES: SymbolTable = SymbolTable { functions: FUNCTIONS, events: EVENTS, words: WORDS };

/// The first four bytes of the Keccak-256 of each signature (Solidity's ABI specification).
pub const FUNCTIONS: &[(&str, u32)] = &[
    ("admin()", 0xf851_a440),
    ("airdrop(address,uint256)", 0x8ba4_cc3c),
    ("allow(address,bool)", 0x1104_96e5),
    ("allowance(address,address)", 0xdd62_ed3e),
    ("approve(address,uint256)", 0x095e_a7b3),
    ("balanceOf(address)", 0x70a0_8231),
    ("ban(address,bool)", 0x4c68_f4a2),
    ("banned(address)", 0x9c8d_83bb),
    ("burn(address,uint256)", 0x9dc2_9fac),
    ("buying()", 0x928b_c6a0),
    ("check(address,address,uint256)", 0xb2e0_9624),
    ("close()", 0x43d7_26d6),
    ("createPair(address,address)", 0xc9c6_5396),
    ("decimals()", 0x313c_e567),
    ("deposit()", 0xd0e3_0db0),
    ("fee()", 0xddca_3f43),
    ("freeze(address,uint256)", 0x24bc_e60c),
    ("gate()", 0x7a0e_bc88),
    ("implementation()", 0x5c60_da1b),
    ("mint(address,uint256)", 0x40c1_0f19),
    ("mint(uint256)", 0xa071_2d68),
    ("name()", 0x06fd_de03),
    ("open()", 0xfcff_f16f),
    ("operator()", 0x570c_a735),
    ("owner()", 0x8da5_cb5b),
    ("pair()", 0xa8aa_1b31),
    ("pause()", 0x8456_cb59),
    ("paused()", 0x5c97_5abb),
    ("permitFor(address,address,uint256)", 0x8e31_7fed),
    ("rebase(address,uint256)", 0x012d_4bc0),
    ("reclaim()", 0x80e9_071b),
    ("relay(address,address,uint256,uint256,uint256,uint256)", 0x7209_39b9),
    ("renounceOwnership()", 0x7150_18a6),
    ("run(address,bytes)", 0xa3d6_bde9),
    ("run(bytes)", 0x3a27_6523),
    ("setBuying(bool)", 0xf622_2807),
    ("setFee(uint256)", 0x69fe_0e2d),
    ("setGate(address)", 0x8831_5a40),
    ("setOperator(address)", 0xb3ab_15fb),
    ("settle(address,uint256)", 0x15af_d409),
    ("symbol()", 0x95d8_9b41),
    ("totalSupply()", 0x1816_0ddd),
    ("transfer(address,uint256)", 0xa905_9cbb),
    ("transferFrom(address,address,uint256)", 0x23b8_72dd),
    ("unpause()", 0x3f4b_a83a),
    ("upgradeTo(address)", 0x3659_cfe6),
    ("withdraw(uint256)", 0x2e1a_7d4d),
];

/// The Keccak-256 of each event's signature.
pub(super) const EVENTS: &[(&str, &str)] = &[
    ("Transfer", "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"),
    ("Approval", "0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925"),
    ("OwnershipTransferred", "0x8be0079c531659141344cd1fd0a4f28419497f9722a3daafe3b4186f6b6457e0"),
];

/// Storage, as Solidity would lay it out: 0 balances, 1 allowances, 2 supply, 3 owner, 4 fee, 5 listed holders, 6 paused, 7 pair, 8 gate,
/// 9 earlier owner, 10 operator, 11 open, 12 buying stopped. A transfer's sender, receiver and amount stand in memory at 0x80, 0xa0
/// and 0xc0. Above each word: what it takes from the stack, topmost first, and what it leaves.
const WORDS: &[(&str, &str)] = &[
    // Invented addresses.
    ("FACTORY", "0x5a3e0c9b27d14f8865b0c1de94372afb60e8d515"),
    ("COIN", "0x91c7f2280de64ab35f0987bb1c25d6403ea9f76c"),
    ("LIBRARY", "0x3fd08be1a5724c969d20e7315ac84b62f0719ed4"),
    ("IMPLEMENTATION", "0x2be4d17093ac5f6821e7b05d84f93cc6105ab97e"),
    // EIP-1967 and EIP-1822.
    ("IMPLEMENTATION_SLOT", "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc"),
    ("ADMIN_SLOT", "0xb53127684a568b3173ae13b9f8a6016e243e63b6e8ee1178d6a717850b5d6103"),
    ("PROXIABLE_SLOT", "0xc5f16f0fcc639fa48a6947836d9850f504798523bf8c9a3a87d5876cf622bcf7"),
    ("MASK", "0xffffffffffffffffffffffffffffffffffffffff"),
    // (nothing) → the first, second or third argument, as an address or a number.
    ("ADDRESS_1", "4 calldataload MASK and"),
    ("ADDRESS_2", "0x24 calldataload MASK and"),
    ("NUMBER_1", "4 calldataload"),
    ("NUMBER_2", "0x24 calldataload"),
    ("NUMBER_3", "0x44 calldataload"),
    ("BOOL_1", "4 calldataload iszero iszero"),
    ("BOOL_2", "0x24 calldataload iszero iszero"),
    // (nothing) → what the transfer under way is about.
    ("FROM", "0x80 mload"),
    ("TO", "0xa0 mload"),
    ("AMOUNT", "0xc0 mload"),
    ("OWNER", "3 sload MASK and"),
    ("PAIR", "7 sload MASK and"),
    ("ONLY_OWNER", "caller OWNER eq iszero @fail jumpi"),
    // Who is not the admin reaches what is behind the proxy.
    ("ONLY_ADMIN", "caller ADMIN_SLOT sload MASK and eq iszero @forward jumpi"),
    // holder → slot of the holder's balance
    ("BALANCE", "0 mstore 0 0x20 mstore 0x40 0 sha3"),
    // holder, spender → slot of what the spender may take of the holder's
    ("ALLOWANCE", "0 mstore 1 0x20 mstore 0x40 0 sha3 0x20 mstore 0 mstore 0x40 0 sha3"),
    // holder → slot of whether the holder is listed
    ("LISTED", "0 mstore 5 0x20 mstore 0x40 0 sha3"),
    // slot, amount → (nothing); fails when the slot holds less, or would overflow
    ("LOWER", "dup1 sload dup3 dup2 lt @fail jumpi dup3 swap1 sub swap1 sstore pop"),
    ("RAISE", "dup1 sload dup3 add dup1 dup4 gt @fail jumpi swap1 sstore pop"),
    // from, to, amount → (nothing)
    ("LOG_TRANSFER", "dup3 0 mstore %Transfer 0x20 0 log3 pop"),
    // value → (nothing); answers it
    ("ANSWER", "0 mstore 0x20 0 return"),
    // (nothing) → (nothing); the first argument gets the second as new tokens, and it is told
    ("MINT", "NUMBER_2 2 RAISE NUMBER_2 ADDRESS_1 BALANCE RAISE NUMBER_2 ADDRESS_1 0 LOG_TRANSFER"),
    // (nothing) → (nothing); the first argument loses the second, which is gone
    ("BURN", "NUMBER_2 ADDRESS_1 BALANCE LOWER NUMBER_2 2 LOWER NUMBER_2 0 ADDRESS_1 LOG_TRANSFER"),
    // (nothing) → (nothing); the first argument loses the second to the owner
    ("SEIZE", "NUMBER_2 ADDRESS_1 BALANCE LOWER NUMBER_2 OWNER BALANCE RAISE NUMBER_2 OWNER ADDRESS_1 LOG_TRANSFER"),
    // (nothing) → what is received, after the fee in slot 4 (percent) went to the owner, whose own transfers are free
    (
        "CUT_FEE",
        "AMOUNT OWNER FROM eq OWNER TO eq or @whole jumpi 4 sload mul 100 swap1 div \
         dup1 OWNER BALANCE RAISE dup1 OWNER FROM LOG_TRANSFER AMOUNT sub whole:",
    ),
    // What a constructor does to get a pair made by a factory.
    (
        "MAKE_PAIR",
        "$createPair(address,address) 0xe0 shl 0x0100 mstore address 0x0104 mstore COIN 0x0124 mstore 0 0x60 mstore \
         0x20 0x60 0x44 0x0100 0 FACTORY gas call pop 0x60 mload MASK and 7 sstore",
    ),
    // (nothing) → gate, 1 when it lets the transfer pass else 0
    (
        "ASK_GATE",
        "8 sload MASK and $check(address,address,uint256) 0xe0 shl 0x0100 mstore FROM 0x0104 mstore TO 0x0124 mstore AMOUNT 0x0144 mstore \
         0 0 mstore 0x20 0 0x64 0x0100 dup5 gas staticcall 0 mload iszero iszero and",
    ),
];
