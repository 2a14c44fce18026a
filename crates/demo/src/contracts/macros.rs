//! Assembler macros of the contracts: shared text under names in capitals.

/// Storage slots, in Solidity's layout: 0 balances, 1 allowances, 2 supply, 3 owner, 4 fee, 5 listed holders, 6 paused, 7 pair, 8 gate,
/// 9 earlier owner, 10 operator, 11 open, 12 buying stopped. The current transfer's sender, receiver and amount are in memory at 0x80,
/// 0xa0 and 0xc0. The comment above a macro is its stack effect, top of stack first.
pub(super) const MACROS: &[(&str, &str)] = &[
    // Invented addresses.
    ("FACTORY", "0x5a3e0c9b27d14f8865b0c1de94372afb60e8d515"),
    ("COIN", "0x91c7f2280de64ab35f0987bb1c25d6403ea9f76c"),
    ("LIBRARY", "0x3fd08be1a5724c969d20e7315ac84b62f0719ed4"),
    ("IMPLEMENTATION", "0x2be4d17093ac5f6821e7b05d84f93cc6105ab97e"),
    // Storage slots of EIP-1967 and EIP-1822.
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
    // (nothing) → sender, receiver or amount of the current transfer.
    ("FROM", "0x80 mload"),
    ("TO", "0xa0 mload"),
    ("AMOUNT", "0xc0 mload"),
    ("OWNER", "3 sload MASK and"),
    ("PAIR", "7 sload MASK and"),
    ("ONLY_OWNER", "caller OWNER eq iszero @fail jumpi"),
    // Forwards every caller but the admin to the implementation behind the proxy.
    ("ONLY_ADMIN", "caller ADMIN_SLOT sload MASK and eq iszero @forward jumpi"),
    // holder → slot of the holder's balance
    ("BALANCE", "0 mstore 0 0x20 mstore 0x40 0 keccak256"),
    // holder, spender → slot of the spender's allowance from the holder
    ("ALLOWANCE", "0 mstore 1 0x20 mstore 0x40 0 keccak256 0x20 mstore 0 mstore 0x40 0 keccak256"),
    // holder → slot of the holder's listed flag
    ("LISTED", "0 mstore 5 0x20 mstore 0x40 0 keccak256"),
    // slot, amount → (nothing); fails if the slot would underflow or overflow
    ("LOWER", "dup1 sload dup3 dup2 lt @fail jumpi dup3 swap1 sub swap1 sstore pop"),
    ("RAISE", "dup1 sload dup3 add dup1 dup4 gt @fail jumpi swap1 sstore pop"),
    // from, to, amount → (nothing)
    ("LOG_TRANSFER", "dup3 0 mstore %Transfer(address,address,uint256) 0x20 0 log3 pop"),
    // value → (nothing); returns it to the caller
    ("ANSWER", "0 mstore 0x20 0 return"),
    // (nothing) → (nothing); mints the second argument to the first, and logs the transfer
    ("MINT", "NUMBER_2 2 RAISE NUMBER_2 ADDRESS_1 BALANCE RAISE NUMBER_2 ADDRESS_1 0 LOG_TRANSFER"),
    // (nothing) → (nothing); burns the second argument from the first's balance
    ("BURN", "NUMBER_2 ADDRESS_1 BALANCE LOWER NUMBER_2 2 LOWER NUMBER_2 0 ADDRESS_1 LOG_TRANSFER"),
    // (nothing) → (nothing); moves the second argument from the first's balance to the owner
    ("SEIZE", "NUMBER_2 ADDRESS_1 BALANCE LOWER NUMBER_2 OWNER BALANCE RAISE NUMBER_2 OWNER ADDRESS_1 LOG_TRANSFER"),
    // (nothing) → amount received, after the fee in slot 4 (percent) went to the owner, whose own transfers are free
    (
        "CUT_FEE",
        "AMOUNT OWNER FROM eq OWNER TO eq or @whole jumpi 4 sload mul 100 swap1 div \
         dup1 OWNER BALANCE RAISE dup1 OWNER FROM LOG_TRANSFER AMOUNT sub whole:",
    ),
    // Constructor code: has a factory create a pair.
    (
        "MAKE_PAIR",
        "$createPair(address,address) 0xe0 shl 0x0100 mstore address 0x0104 mstore COIN 0x0124 mstore 0 0x60 mstore \
         0x20 0x60 0x44 0x0100 0 FACTORY gas call pop 0x60 mload MASK and 7 sstore",
    ),
    // (nothing) → the gate's answer: 1 lets the transfer pass, 0 does not
    (
        "ASK_GATE",
        "8 sload MASK and $check(address,address,uint256) 0xe0 shl 0x0100 mstore FROM 0x0104 mstore TO 0x0124 mstore AMOUNT 0x0144 mstore \
         0 0 mstore 0x20 0 0x64 0x0100 dup5 gas staticcall 0 mload iszero iszero and",
    ),
];
