//! Contracts whose owner, or another role, has power over the holders, each with an honest twin.

use super::{
    Contract, rows,
    template::{ContractText, HONEST, SPEND, TokenProgram},
};

pub(super) const ROWS: &[Contract] = rows! {
    "tax_raisable": "the owner sets the fee on transfers to anything up to all of it" ["TAX_RAISABLE"] ["SELL_TAX"] twin "tax_capped"
        token { owned: true, functions: &["fee()", "setFee(uint256)"], cut: "CUT_FEE",
            bodies: "fee: 4 sload ANSWER
                setFee: ONLY_OWNER NUMBER_1 dup1 100 lt @fail jumpi 4 sstore stop" };
    "tax_capped": "the owner sets the fee on transfers, to 5 % at most" [] [] honest
        token { owned: true, functions: &["fee()", "setFee(uint256)"], cut: "CUT_FEE",
            bodies: "fee: 4 sload ANSWER
                setFee: ONLY_OWNER NUMBER_1 dup1 5 lt @fail jumpi 4 sstore stop" };

    "blacklist": "the owner stops the transfers of any one holder" ["BLACKLIST"] ["PAUSABLE", "BUY_BLOCKABLE"] twin "register"
        token { owned: true, functions: &["ban(address,bool)", "banned(address)"],
            guard: "FROM LISTED sload TO LISTED sload or @fail jumpi",
            bodies: "ban: ONLY_OWNER BOOL_2 ADDRESS_1 LISTED sstore stop
                banned: ADDRESS_1 LISTED sload ANSWER" };
    "register": "the owner keeps a list of holders that nothing but its reader asks" [] [] honest
        token { owned: true, functions: &["ban(address,bool)", "banned(address)"],
            bodies: "ban: ONLY_OWNER BOOL_2 ADDRESS_1 LISTED sstore stop
                banned: ADDRESS_1 LISTED sload ANSWER" };

    "freezer": "the owner takes tokens from a holder's balance and keeps them for the same holder" ["BLACKLIST"] [] twin "register"
        token { owned: true, functions: &["freeze(address,uint256)"],
            bodies: "freeze: ONLY_OWNER NUMBER_2 ADDRESS_1 BALANCE LOWER NUMBER_2 ADDRESS_1 LISTED RAISE stop" };

    "pausable": "the owner stops all transfers and lets them go on" ["PAUSABLE"] ["BUY_BLOCKABLE"] twin "pause_flag"
        token { owned: true, functions: &["pause()", "unpause()", "paused()"], guard: "6 sload @fail jumpi",
            bodies: "pause: ONLY_OWNER 1 6 sstore stop
                unpause: ONLY_OWNER 0 6 sstore stop
                paused: 6 sload ANSWER" };
    "pause_flag": "the owner sets a flag that no transfer asks" [] [] honest
        token { owned: true, functions: &["pause()", "unpause()", "paused()"],
            bodies: "pause: ONLY_OWNER 1 6 sstore stop
                unpause: ONLY_OWNER 0 6 sstore stop
                paused: 6 sload ANSWER" };

    "buy_block": "the owner stops what comes out of the pair" ["BUY_BLOCKABLE"] [] twin "buy_flag"
        token { owned: true, functions: &["pair()", "buying()", "setBuying(bool)"], guard: "12 sload FROM PAIR eq and @fail jumpi",
            bodies: "pair: PAIR ANSWER
                buying: 12 sload iszero ANSWER
                setBuying: ONLY_OWNER BOOL_1 iszero 12 sstore stop",
            constructor: "ISSUE MAKE_PAIR" };
    "buy_flag": "the owner says that buying has stopped, and it has not" [] [] honest
        token { owned: true, functions: &["pair()", "buying()", "setBuying(bool)"],
            bodies: "pair: PAIR ANSWER
                buying: 12 sload iszero ANSWER
                setBuying: ONLY_OWNER BOOL_1 iszero 12 sstore stop",
            constructor: "ISSUE MAKE_PAIR" };

    "owner_mint": "the owner makes new tokens, and an event tells" ["OWNER_MINT"] [] twin "ownerless_mint"
        token { owned: true, functions: &["mint(address,uint256)"], bodies: "mint: ONLY_OWNER MINT stop" };
    "ownerless_mint": "the owner could make new tokens, but the constructor left the place of the owner empty" [] [] honest
        token { owned: true, functions: &["mint(address,uint256)"], bodies: "mint: ONLY_OWNER MINT stop", constructor: "ISSUE 0 3 sstore" };
    "hidden_mint": "the owner raises any balance, and neither an event nor the supply tells" ["HIDDEN_MINT"] ["EVENT_LIE", "OWNER_MINT"]
        twin "owner_mint"
        token { owned: true, functions: &["rebase(address,uint256)"],
            bodies: "rebase: ONLY_OWNER NUMBER_2 ADDRESS_1 BALANCE RAISE stop" };
    "shadow_owner": "the deployer keeps the owner's power to mint after renouncing" ["OWNERSHIP_RETURNS", "OWNER_MINT"] [] twin "owner_mint"
        token { owned: true, functions: &["mint(address,uint256)"],
            bodies: "mint: caller 9 sload MASK and eq caller OWNER eq or iszero @fail jumpi MINT stop",
            constructor: "ISSUE caller 9 sstore" };
    "owner_returns": "renouncing notes the owner, who takes the place back later" ["OWNERSHIP_RETURNS", "OWNER_MINT"] [] twin "owner_mint"
        token { functions: &["owner()", "renounceOwnership()", "reclaim()", "mint(address,uint256)"],
            bodies: "owner: OWNER ANSWER
                renounceOwnership: ONLY_OWNER 0 OWNER %OwnershipTransferred(address,address) 0 0 log3 OWNER 9 sstore 0 3 sstore stop
                reclaim: caller 9 sload MASK and eq iszero @fail jumpi
                    caller 0 %OwnershipTransferred(address,address) 0 0 log3 caller 3 sstore stop
                mint: ONLY_OWNER MINT stop" };

    "owner_drain": "the owner takes any holder's tokens" ["OWNER_DRAIN"] [] twin "owner_draws"
        token { owned: true, functions: &["settle(address,uint256)"], bodies: "settle: ONLY_OWNER SEIZE stop" };
    "owner_draws": "the owner takes what the holder allowed, as anyone could" [] [] honest
        token { owned: true, functions: &["settle(address,uint256)"],
            bodies: "settle: ONLY_OWNER NUMBER_2 caller ADDRESS_1 ALLOWANCE LOWER SEIZE stop" };
    "role_drain": "a role that the owner gives away needs no allowance" ["OWNER_DRAIN"] [] twin "role_plain"
        token { owned: true, functions: &["operator()", "setOperator(address)"],
            spend: "caller 10 sload MASK and eq @spent jumpi AMOUNT caller FROM ALLOWANCE LOWER spent:",
            bodies: "operator: 10 sload MASK and ANSWER
                setOperator: ONLY_OWNER ADDRESS_1 10 sstore stop" };
    "role_plain": "a role that the owner gives away, and that needs an allowance like everyone" [] [] honest
        token { owned: true, functions: &["operator()", "setOperator(address)"], spend: SPEND,
            bodies: "operator: 10 sload MASK and ANSWER
                setOperator: ONLY_OWNER ADDRESS_1 10 sstore stop" };
    "silent_allowance": "the owner allows a spender to take a holder's tokens, and no event tells" ["OWNER_DRAIN"] [] twin "own_allowance"
        token { owned: true, functions: &["permitFor(address,address,uint256)"],
            bodies: "permitFor: ONLY_OWNER NUMBER_3 ADDRESS_2 ADDRESS_1 ALLOWANCE sstore stop" };
    "own_allowance": "a holder allows a spender, by another name" [] [] honest
        token { owned: true, functions: &["permitFor(address,address,uint256)"],
            bodies: "permitFor: caller ADDRESS_1 eq iszero @fail jumpi NUMBER_3 ADDRESS_2 ADDRESS_1 ALLOWANCE sstore stop" };

    "selfdestruct": "the owner destroys the contract" ["SELFDESTRUCT"] [] twin "dead_bytes"
        token { owned: true, functions: &["close()"], bodies: "close: ONLY_OWNER OWNER selfdestruct" };
    "dead_bytes": "the byte that destroys stands in a number and after an end, where nothing reaches it" [] [] honest
        token { owned: true, functions: &["close()"], bodies: "close: ONLY_OWNER 0xff pop stop OWNER selfdestruct" };
    "delegate_any": "the owner runs any code on the contract's storage" ["DELEGATECALL_ANY"] [] twin "delegate_library"
        token { owned: true, functions: &["run(address,bytes)"],
            bodies: "run: ONLY_OWNER 0x24 calldataload 4 add dup1 calldataload swap1 0x20 add
                dup2 swap1 0x0100 calldatacopy 0 swap1 0 swap1 0x0100 ADDRESS_1 gas delegatecall iszero @fail jumpi stop" };
    "delegate_library": "the owner runs one library, which nobody can change" [] [] honest
        token { owned: true, functions: &["run(bytes)"],
            bodies: "run: ONLY_OWNER 4 calldataload 4 add dup1 calldataload swap1 0x20 add
                dup2 swap1 0x0100 calldatacopy 0 swap1 0 swap1 0x0100 LIBRARY gas delegatecall iszero @fail jumpi stop" };

    "errand": "anyone has the contract call anyone with anything" ["OWNER_DRAIN"] [] twin "errand_library"
        token { functions: &["run(address,bytes)"],
            bodies: "run: 0x24 calldataload 4 add dup1 calldataload swap1 0x20 add
                dup2 swap1 0x0100 calldatacopy 0 swap1 0 swap1 0x0100 0 ADDRESS_1 gas call iszero @fail jumpi stop" };
    "errand_library": "anyone has the contract call one other with anything" [] [] honest
        token { functions: &["run(bytes)"],
            bodies: "run: 4 calldataload 4 add dup1 calldataload swap1 0x20 add
                dup2 swap1 0x0100 calldatacopy 0 swap1 0 swap1 0x0100 0 LIBRARY gas call iszero @fail jumpi stop" };
    "burnt_back": "a signature that is none counts as the zero address's, so anyone fetches back what was burnt" ["OWNER_DRAIN"] []
        twin "relayed"
        token { functions: &["relay(address,address,uint256,uint256,uint256,uint256)"],
            bodies: "relay: ADDRESS_1 ADDRESS_2 pop pop NUMBER_3 0x0100 mstore 0x64 calldataload 0x0120 mstore
                0x84 calldataload 0x0140 mstore 0xa4 calldataload 0x0160 mstore 0x20 0x0180 0x80 0x0100 1 gas staticcall pop
                0x0180 mload ADDRESS_1 eq iszero @fail jumpi
                ADDRESS_1 0x80 mstore ADDRESS_2 0xa0 mstore NUMBER_3 0xc0 mstore @yes @move jump" };
    "relayed": "anyone sends what its holder has signed" [] [] honest
        token { functions: &["relay(address,address,uint256,uint256,uint256,uint256)"],
            bodies: "relay: ADDRESS_1 ADDRESS_2 pop pop NUMBER_3 0x0100 mstore 0x64 calldataload 0x0120 mstore
                0x84 calldataload 0x0140 mstore 0xa4 calldataload 0x0160 mstore 0x20 0x0180 0x80 0x0100 1 gas staticcall pop
                0x0180 mload ADDRESS_1 eq iszero @fail jumpi 0x0180 mload iszero @fail jumpi
                ADDRESS_1 0x80 mstore ADDRESS_2 0xa0 mstore NUMBER_3 0xc0 mstore @yes @move jump" };

    "gate": "a contract whose address the owner sets decides on each transfer" ["EXTERNAL_GATE"]
        ["PAUSABLE", "BUY_BLOCKABLE", "BLACKLIST"] twin "notified"
        token { owned: true, functions: &["gate()", "setGate(address)"],
            guard: "8 sload MASK and iszero @ungated jumpi ASK_GATE iszero @fail jumpi pop ungated:",
            bodies: "gate: 8 sload MASK and ANSWER
                setGate: ONLY_OWNER ADDRESS_1 8 sstore stop" };
    "notified": "a contract whose address the owner sets is told of each transfer, and its answer is dropped" [] [] honest
        token { owned: true, functions: &["gate()", "setGate(address)"],
            guard: "8 sload MASK and iszero @ungated jumpi ASK_GATE pop pop ungated:",
            bodies: "gate: 8 sload MASK and ANSWER
                setGate: ONLY_OWNER ADDRESS_1 8 sstore stop" };
    "sealed_gate": "a contract that nobody can see or change lets a transfer pass by answering zero" ["EXTERNAL_GATE"] ["PAUSABLE", "BUY_BLOCKABLE"]
        twin "sealed_listener"
        token { owned: true, functions: &[], guard: "ASK_GATE @fail jumpi pop", bodies: "" };
    "sealed_listener": "a contract that nobody can see or change is told of each transfer, and its answer is dropped" [] [] honest
        token { owned: true, functions: &[], guard: "ASK_GATE pop pop", bodies: "" };
};
