//! The honest ERC-20 token as an assembly template, its instances, and contracts with a source of their own.

use sha3::{Digest as _, Keccak256};

use super::{
    assembler::{assemble, deploy},
    macros::MACROS,
};

/// Name, symbol and supply of a token.
#[derive(Debug, Clone, Copy)]
pub struct Identity<'a> {
    pub name: &'a str,
    pub symbol: &'a str,
    pub decimals: u8,
    /// In smallest units; all minted to the deployer.
    pub supply: u128,
}

impl Default for Identity<'_> {
    fn default() -> Self {
        Self { name: "Plain Token", symbol: "PLAIN", decimals: 18, supply: 1_000_000_000 * 10_u128.pow(18) }
    }
}

/// Runtime bytecode of a contract, and the init code that deploys it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractCode {
    pub runtime: Vec<u8>,
    pub creation: Vec<u8>,
}

/// Assembly source of a contract.
#[derive(Debug)]
pub(super) enum ContractText {
    Token(TokenProgram),
    /// A source of its own.
    Other {
        runtime: &'static str,
        constructor: &'static str,
    },
}

/// The honest token with a variant's additions and replacements, each in assembly.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenProgram {
    /// Whether it has `owner()` and `renounceOwnership()`.
    pub(super) owned: bool,
    /// Additional functions; the name before the parenthesis is the label of the body.
    pub(super) functions: &'static [&'static str],
    /// Additional payable functions.
    pub(super) payable: &'static [&'static str],
    /// Bodies of the additional functions.
    pub(super) bodies: &'static str,
    /// Runs before every transfer, and may revert it.
    pub(super) guard: &'static str,
    /// Runs before a `transferFrom`: deducts the allowance.
    pub(super) spend: &'static str,
    /// Leaves the received amount on the stack (fee on transfer).
    pub(super) cut: &'static str,
    pub(super) constructor: &'static str,
}

pub(super) const SPEND: &str = "AMOUNT caller FROM ALLOWANCE LOWER";

pub(super) const HONEST: TokenProgram =
    TokenProgram { owned: false, functions: &[], payable: &[], bodies: "", guard: "", spend: SPEND, cut: "AMOUNT", constructor: "ISSUE" };

const STANDARD: &[&str] = &[
    "name()",
    "symbol()",
    "decimals()",
    "totalSupply()",
    "balanceOf(address)",
    "allowance(address,address)",
    "transfer(address,uint256)",
    "approve(address,uint256)",
    "transferFrom(address,address,uint256)",
];

const OWNED: &[&str] = &["owner()", "renounceOwnership()"];
const OWNED_BODIES: &str = "
owner:
    OWNER ANSWER
renounceOwnership:
    ONLY_OWNER 0 OWNER %OwnershipTransferred(address,address) 0 0 log3 0 3 sstore stop
";

/// Template whose `{…}` placeholders `TokenProgram::text` replaces.
const TEMPLATE: &str = "
    0x80 0x40 mstore
    4 calldatasize lt @fail jumpi
    0 calldataload 0xe0 shr
    {payable}
    callvalue @fail jumpi
    {functions}
fail:
    0 0 revert
yes:
    1 ANSWER

name:
    0x20 0 mstore {name_length} 0x20 mstore {name} 0x40 mstore 0x60 0 return
symbol:
    0x20 0 mstore {symbol_length} 0x20 mstore {symbol} 0x40 mstore 0x60 0 return
decimals:
    {decimals} ANSWER
totalSupply:
    2 sload ANSWER
balanceOf:
    ADDRESS_1 BALANCE sload ANSWER
allowance:
    ADDRESS_2 ADDRESS_1 ALLOWANCE sload ANSWER
approve:
    NUMBER_2 ADDRESS_1 caller ALLOWANCE sstore
    NUMBER_2 0 mstore ADDRESS_1 caller %Approval(address,address,uint256) 0x20 0 log3
    @yes jump
transfer:
    caller 0x80 mstore ADDRESS_1 0xa0 mstore NUMBER_2 0xc0 mstore
    @yes @move jump
transferFrom:
    ADDRESS_1 0x80 mstore ADDRESS_2 0xa0 mstore NUMBER_3 0xc0 mstore
    {spend}
    @yes @move jump

move: ; where to go on
    TO iszero @fail jumpi
    {guard}
    AMOUNT FROM BALANCE LOWER
    {cut} ; what is received
    dup1 TO BALANCE RAISE
    TO FROM LOG_TRANSFER
    jump

    {bodies}
";

impl TokenProgram {
    /// Signatures of all its functions, payable ones last.
    pub(super) fn functions(&self) -> Vec<&'static str> {
        let owned = if self.owned { OWNED } else { &[] };
        [STANDARD, owned, self.functions, self.payable].concat()
    }

    fn text(&self, identity: &Identity) -> String {
        let dispatch = |functions: &[&str]| -> String {
            let row = |function: &&str| format!("dup1 ${function} eq @{} jumpi\n", function.split('(').next().unwrap_or_default());
            functions.iter().map(row).collect()
        };
        let (name_length, name) = word(identity.name);
        let (symbol_length, symbol) = word(identity.symbol);
        let owned_bodies = if self.owned { OWNED_BODIES } else { "" };
        let functions = self.functions();
        let (unpaid, payable) = functions.split_at(functions.len() - self.payable.len());
        let filled = [
            ("{payable}", dispatch(payable)),
            ("{functions}", dispatch(unpaid)),
            ("{name_length}", name_length),
            ("{name}", name),
            ("{symbol_length}", symbol_length),
            ("{symbol}", symbol),
            ("{decimals}", identity.decimals.to_string()),
            ("{spend}", self.spend.to_owned()),
            ("{guard}", self.guard.to_owned()),
            ("{cut}", self.cut.to_owned()),
            ("{bodies}", [owned_bodies, self.bodies].concat()),
        ];
        filled.iter().fold(TEMPLATE.to_owned(), |text, (place, with)| text.replace(place, with))
    }
}

/// Encodes a string of at most one word as length and bytes; a longer one is cut at a character boundary.
fn word(text: &str) -> (String, String) {
    const WORD: usize = 32;
    let end = (0..=text.len().min(WORD)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let mut padded = [0; WORD];
    padded[..end].copy_from_slice(&text.as_bytes()[..end]);
    let digits = padded.map(|byte| format!("{byte:02x}")).concat();
    (end.to_string(), format!("0x{digits}"))
}

impl ContractText {
    pub(super) fn code(&self, identity: &Identity) -> Result<ContractCode, String> {
        let (text, constructor) = match self {
            Self::Token(program) => (program.text(identity), program.constructor),
            Self::Other { runtime, constructor } => ((*runtime).to_owned(), *constructor),
        };
        let mut runtime = assemble(&text, MACROS)?;
        if let Self::Token(_) = self {
            runtime.extend(metadata(identity));
        }
        // Not a macro, since every identity has its own supply.
        let constructor = constructor.replace("ISSUE", ISSUE).replace("SUPPLY", &format!("0x{:032x}", identity.supply));
        let constructor = assemble(&constructor, MACROS)?;
        Ok(ContractCode { creation: deploy(&constructor, &runtime), runtime })
    }
}

/// Constructor code: makes the deployer the owner and mints the whole supply to it.
const ISSUE: &str = "caller 3 sstore SUPPLY 2 sstore SUPPLY caller BALANCE sstore SUPPLY caller 0 LOG_TRANSFER";

/// The metadata trailer that Solidity's compiler adds, CBOR `{ipfs: multihash}` and its length. The hash is invented and depends on the
/// identity.
fn metadata(identity: &Identity) -> Vec<u8> {
    let digest = Keccak256::digest(format!("{}\n{}", identity.name, identity.symbol));
    let mut trailer = vec![0xfe, 0xa1, 0x64, b'i', b'p', b'f', b's', 0x58, 0x22, 0x12, 0x20];
    trailer.extend(digest.as_slice());
    trailer.extend([0x00, 0x2a]);
    trailer
}
