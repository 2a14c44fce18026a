//! The honest token, contracts that harm every caller, and proxies, each with its honest twin.

use super::{
    Contract, rows,
    template::{ContractText, HONEST, TokenProgram},
};

pub(super) const ROWS: &[Contract] = rows! {
    "honest": "the standard and nothing else" [] [] honest token { };

    "tax": "30 % of what is moved goes to the owner, for good" ["SELL_TAX"] [] twin "tax_none"
        token { owned: true, functions: &["fee()"], cut: "CUT_FEE", bodies: "fee: 4 sload ANSWER", constructor: "ISSUE 30 4 sstore" };
    "tax_none": "a fee of nothing, for good" [] [] honest
        token { owned: true, functions: &["fee()"], cut: "CUT_FEE", bodies: "fee: 4 sload ANSWER" };

    "fee_on_top": "a sale spends a twentieth more of what was allowed than it moves" [] [] honest
        token { spend: "AMOUNT AMOUNT 20 swap1 div add caller FROM ALLOWANCE LOWER" };

    "sell_block_pair": "nobody but the owner sends to the pair" ["SELL_BLOCKED"] [] twin "launch_switch"
        token { owned: true, functions: &["pair()"], guard: "TO PAIR eq FROM OWNER eq iszero and @fail jumpi",
            bodies: "pair: PAIR ANSWER", constructor: "ISSUE MAKE_PAIR" };
    "sell_block_all": "nobody but the owner can be sold for" ["SELL_BLOCKED"] [] twin "launch_switch"
        token { owned: true, spend: "FROM OWNER eq iszero @fail jumpi AMOUNT caller FROM ALLOWANCE LOWER" };
    "sell_allowlist": "only those sell whom the owner allowed one by one" ["SELL_BLOCKED"] ["BLACKLIST", "PAUSABLE"] twin "launch_switch"
        token { owned: true, functions: &["pair()", "allow(address,bool)"],
            guard: "TO PAIR eq FROM LISTED sload FROM OWNER eq or iszero and @fail jumpi",
            bodies: "pair: PAIR ANSWER
                allow: ONLY_OWNER BOOL_2 ADDRESS_1 LISTED sstore stop",
            constructor: "ISSUE MAKE_PAIR" };
    "launch_switch": "nothing but the owner's moves before the owner opens trading, which cannot be closed again" [] [] honest
        token { owned: true, functions: &["open()"], guard: "11 sload FROM OWNER eq or iszero @fail jumpi",
            bodies: "open: ONLY_OWNER 1 11 sstore stop" };

    "public_mint": "anyone makes new tokens" ["PUBLIC_MINT"] ["OWNER_MINT"] twin "wrapped"
        token { functions: &["mint(uint256)"],
            bodies: "mint: NUMBER_1 2 RAISE NUMBER_1 caller BALANCE RAISE NUMBER_1 caller 0 LOG_TRANSFER stop" };
    "wrapped": "anyone makes new tokens for as many coins, and takes the coins back" [] [] honest
        token { functions: &["withdraw(uint256)"], payable: &["deposit()"],
            bodies: "deposit: callvalue 2 RAISE callvalue caller BALANCE RAISE callvalue caller 0 LOG_TRANSFER stop
                withdraw: NUMBER_1 caller BALANCE LOWER NUMBER_1 2 LOWER NUMBER_1 0 caller LOG_TRANSFER
                    0 0 0 0 NUMBER_1 caller gas call iszero @fail jumpi stop",
            constructor: "" };

    "public_drain": "anyone burns anyone's tokens" ["PUBLIC_DRAIN"] ["OWNER_DRAIN"] twin "burn_from"
        token { functions: &["burn(address,uint256)"], bodies: "burn: BURN stop" };
    "burn_from": "anyone burns what the holder allowed" [] [] honest
        token { functions: &["burn(address,uint256)"], bodies: "burn: NUMBER_2 caller ADDRESS_1 ALLOWANCE LOWER BURN stop" };

    "event_lie": "a transfer between holders is logged and moves nothing" ["EVENT_LIE"] ["SELL_TAX"] twin "fast_path"
        token { owned: true, functions: &["pair()"],
            guard: "caller FROM eq caller PAIR eq iszero and caller OWNER eq iszero and @aside jumpi",
            bodies: "pair: PAIR ANSWER
                aside: AMOUNT TO FROM LOG_TRANSFER jump",
            constructor: "ISSUE MAKE_PAIR" };
    "fast_path": "a transfer between holders takes a way of its own, and moves what is logged" [] [] honest
        token { owned: true, functions: &["pair()"],
            guard: "caller FROM eq caller PAIR eq iszero and caller OWNER eq iszero and @aside jumpi",
            bodies: "pair: PAIR ANSWER
                aside: AMOUNT FROM BALANCE LOWER AMOUNT TO BALANCE RAISE AMOUNT TO FROM LOG_TRANSFER jump",
            constructor: "ISSUE MAKE_PAIR" };
    "phantom_airdrop": "anyone logs that the owner sent tokens, and none move" ["EVENT_LIE"] [] twin "airdrop"
        token { owned: true, functions: &["airdrop(address,uint256)"], bodies: "airdrop: NUMBER_2 ADDRESS_1 OWNER LOG_TRANSFER stop" };
    "airdrop": "anyone gives tokens of their own away" [] [] honest
        token { owned: true, functions: &["airdrop(address,uint256)"],
            bodies: "airdrop: NUMBER_2 caller BALANCE LOWER NUMBER_2 ADDRESS_1 BALANCE RAISE NUMBER_2 ADDRESS_1 caller LOG_TRANSFER stop" };

    "proxy_1167": "forwards every call to one contract (EIP-1167)" ["PROXY"] [] twin "delegate_library"
        // The standard's bytecode (EIP-1167 minimal proxy), with the invented implementation in it.
        other "calldatasize returndatasize returndatasize calldatacopy returndatasize returndatasize returndatasize calldatasize returndatasize
            IMPLEMENTATION gas delegatecall returndatasize dup3 dup1 returndatacopy swap1 returndatasize swap2 0x2b jumpi revert
            passed: return", "";
    "proxy_1967": "forwards every call to a contract that the admin exchanges (EIP-1967)" ["PROXY"] [] twin "delegate_library"
        other "4 calldatasize lt @forward jumpi
            0 calldataload 0xe0 shr
            dup1 $upgradeTo(address) eq @upgradeTo jumpi dup1 $implementation() eq @implementation jumpi dup1 $admin() eq @admin jumpi
            forward: calldatasize 0 0 calldatacopy
                0 0 calldatasize 0 IMPLEMENTATION_SLOT sload MASK and gas delegatecall returndatasize 0 0 returndatacopy
                @passed jumpi returndatasize 0 revert
            passed: returndatasize 0 return
            upgradeTo: ONLY_ADMIN ADDRESS_1 IMPLEMENTATION_SLOT sstore stop
            implementation: ONLY_ADMIN IMPLEMENTATION_SLOT sload MASK and ANSWER
            admin: ONLY_ADMIN ADMIN_SLOT sload MASK and ANSWER",
            "IMPLEMENTATION IMPLEMENTATION_SLOT sstore caller ADMIN_SLOT sstore";
    "proxy_1822": "forwards every call to a contract that can exchange itself (EIP-1822)" ["PROXY"] [] twin "delegate_library"
        other "calldatasize 0 0 calldatacopy
            0 0 calldatasize 0 PROXIABLE_SLOT sload MASK and gas delegatecall returndatasize 0 0 returndatacopy
            @passed jumpi returndatasize 0 revert
            passed: returndatasize 0 return",
            "IMPLEMENTATION PROXIABLE_SLOT sstore";
};
