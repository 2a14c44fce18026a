//! What the contract can be asked to do: its functions with the types of their arguments, and what its code alone says. Nothing is
//! executed here.

use evmole::{ContractInfoArgs, DynSolType, contract_info};

use super::abi::{self, Filling, Selector};
use crate::{
    analysis::security::opcodes::{DELEGATECALL, EQ, PUSH4, PUSH32, instructions},
    untrusted::caught,
};

/// Functions that are looked at; a contract of more is cut there.
pub(super) const FUNCTIONS_MAX: usize = 160;
/// Functions of ERC-20, and those that name the owner.
const STANDARD: [Selector; 7] =
    [abi::TRANSFER, abi::BALANCE_OF, abi::TRANSFER_FROM, abi::APPROVE, abi::TOTAL_SUPPLY, abi::OWNER_OF_IT[0], abi::OWNER_OF_IT[1]];
/// Longest code whose argument types are inferred.
const TYPED_CODE_MAX: usize = 64 << 10;
/// EIP-1967's two slots, EIP-1822's, and OpenZeppelin's before those.
const PROXY_SLOTS: [[u8; 4]; 4] = [[0x36, 0x08, 0x94, 0xA1], [0xA3, 0xF0, 0xAD, 0x74], [0xC5, 0xF1, 0x6F, 0x0F], [0x70, 0x50, 0xC9, 0xE0]];
/// EIP-1167, and its variant that starts with PUSH0.
const CLONES: [&[u8]; 3] = [
    &[0x36, 0x3D, 0x3D, 0x37, 0x3D, 0x3D, 0x3D, 0x36, 0x3D, 0x73],
    &[0x36, 0x5F, 0x5F, 0x37, 0x5F, 0x5F, 0x36, 0x5F, 0x73],
    &[0x36, 0x3D, 0x3D, 0x37, 0x3D, 0x3D, 0x3D, 0x3D, 0x36, 0x3D],
];

#[derive(Debug, Clone)]
pub(super) struct Function {
    pub(super) selector: Selector,
    pub(super) arguments: Vec<DynSolType>,
}

impl Function {
    /// One of the token standard's own that move or permit.
    pub(super) fn standard(&self) -> bool {
        abi::MOVING.contains(&self.selector)
    }

    /// The bytes of a call with these arguments, and the arguments in words.
    pub(super) fn call(&self, filling: &Filling) -> (Vec<u8>, String) {
        let (arguments, words) = abi::encode(&self.arguments, filling);
        ([&self.selector[..], &arguments].concat(), words)
    }
}

/// What the code says without being run.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Debug, Default)]
pub(super) struct CodeShape {
    pub(super) functions: Vec<Function>,
    /// More functions than are looked at.
    pub(super) too_many: bool,
    /// The inference of functions broke off.
    pub(super) failed: bool,
    pub(super) delegates: bool,
    /// A word of the proxy standards stands in the code.
    pub(super) proxy_slot: bool,
    pub(super) clone: bool,
}

impl CodeShape {
    pub(super) fn has(&self, selector: Selector) -> bool {
        self.functions.iter().any(|function| function.selector == selector)
    }

    /// Takes over the functions of a contract that its calls are handed to.
    pub(super) fn join(&mut self, behind: Self) {
        self.failed |= behind.failed;
        self.functions.extend(behind.functions);
        self.functions.sort_by_key(|function| function.selector);
        self.functions.dedup_by_key(|function| function.selector);
        self.too_many |= behind.too_many || self.functions.len() > FUNCTIONS_MAX;
        let standard = |function: &Function| !STANDARD.contains(&function.selector);
        self.functions.sort_by_key(standard);
        self.functions.truncate(FUNCTIONS_MAX);
        self.functions.sort_by_key(|function| function.selector);
    }

    pub(super) fn token(&self) -> bool {
        self.has(abi::TRANSFER) && self.has(abi::BALANCE_OF)
    }
}

pub(super) fn shape(code: &[u8]) -> CodeShape {
    let mut shape = CodeShape {
        delegates: delegates(code),
        proxy_slot: names_proxy_slot(code),
        clone: CLONES.iter().any(|start| code.starts_with(start)),
        ..CodeShape::default()
    };
    // The inference has `unreachable!` and slices of its own on paths that odd code may reach, and no bound that we could set; what it
    // breaks is its own stack, so going on without it is sound.
    let found = caught(|| {
        let wanted = ContractInfoArgs::new(code).with_selectors();
        contract_info(if code.len() <= TYPED_CODE_MAX { wanted.with_arguments() } else { wanted }).functions
    });
    match found {
        Some(functions) => {
            let functions = functions.unwrap_or_default();
            shape.too_many = functions.len() > FUNCTIONS_MAX;
            // Whatever takes unknown arguments gets words that fit an address and an amount.
            let unknown = || vec![DynSolType::Address, DynSolType::Uint(256)];
            let standard = |function: &evmole::Function| !STANDARD.contains(&function.selector);
            // A dispatcher may be stuffed: what makes it a token is looked at whatever else there is.
            let mut functions = functions;
            functions.sort_by_key(standard);
            shape.functions = functions
                .into_iter()
                .take(FUNCTIONS_MAX)
                .map(|function| Function { selector: function.selector, arguments: function.arguments.unwrap_or_else(unknown) })
                .collect();
            if shape.functions.is_empty() {
                shape.functions = compared(code).into_iter().map(|selector| Function { selector, arguments: unknown() }).collect();
            }
            shape.functions.sort_by_key(|function| function.selector);
            shape.functions.dedup_by_key(|function| function.selector);
        }
        None => shape.failed = true,
    }
    shape
}

/// Whether the code can run another contract's in its own place.
pub(super) fn delegates(code: &[u8]) -> bool {
    instructions(code).any(|(opcode, _)| opcode == DELEGATECALL)
}

fn names_proxy_slot(code: &[u8]) -> bool {
    instructions(code).any(|(opcode, data)| opcode == PUSH32 && PROXY_SLOTS.iter().any(|start| data.starts_with(start)))
}

/// Four-byte words that are compared with something right after: what a dispatcher looks like that the inference does not follow.
fn compared(code: &[u8]) -> Vec<Selector> {
    let all: Vec<(u8, &[u8])> = instructions(code).collect();
    let mut found = Vec::new();
    for (at, (opcode, data)) in all.iter().enumerate() {
        if let (PUSH4, Ok(selector)) = (*opcode, Selector::try_from(*data))
            && all[at + 1..].iter().take(2).any(|(next, _)| *next == EQ)
            && (found.len() < FUNCTIONS_MAX || found.len() < 2 * FUNCTIONS_MAX && STANDARD.contains(&selector))
        {
            found.push(selector);
        }
    }
    found
}
