//! Static view of a contract: its functions with their argument types, and other properties of its bytecode. Nothing is executed here.

use evmole::{ContractInfoArgs, DynSolType, contract_info};

use super::abi::{self, Filling, Selector};
use crate::opcodes::{DELEGATECALL, EQ, PUSH4, PUSH32, instructions};
use model::untrusted::caught;

/// Maximum number of functions examined per contract.
pub(super) const FUNCTIONS_MAX: usize = 160;
/// ERC-20 functions, and those that return the owner.
const STANDARD: [Selector; 7] = [
    abi::TRANSFER,
    abi::BALANCE_OF,
    abi::TRANSFER_FROM,
    abi::APPROVE,
    abi::TOTAL_SUPPLY,
    abi::OWNER_OF_IT[0],
    abi::OWNER_OF_IT[1],
];
/// Maximum length of code whose argument types are inferred.
const TYPED_CODE_MAX: usize = 64 << 10;
/// Storage slots of proxy standards: two of EIP-1967, one of EIP-1822, and OpenZeppelin's earlier one.
pub(super) const PROXY_SLOTS: [[u8; 4]; 4] = [
    [0x36, 0x08, 0x94, 0xA1],
    [0xA3, 0xF0, 0xAD, 0x74],
    [0xC5, 0xF1, 0x6F, 0x0F],
    [0x70, 0x50, 0xC9, 0xE0],
];
/// Code prefix of an account that has a contract's code run for it (EIP-7702).
pub(super) const DELEGATION: [u8; 3] = [0xEF, 0x01, 0x00];
/// Code prefixes of minimal proxies: EIP-1167, and its variant that starts with PUSH0.
const CLONES: [&[u8]; 4] = [
    &DELEGATION,
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
    /// Whether it is an ERC-20 function that moves tokens or permits it.
    pub(super) fn standard(&self) -> bool {
        abi::MOVING.contains(&self.selector)
    }

    /// What its arguments may be: numbers in a list that nothing is computed with may be addresses.
    pub(super) fn readings(&self) -> impl Iterator<Item = Self> {
        let addresses = |of: &DynSolType| match of {
            DynSolType::Array(of) if **of == DynSolType::Uint(256) => {
                DynSolType::Array(Box::new(DynSolType::Address))
            }
            of => of.clone(),
        };
        let arguments: Vec<DynSolType> = self.arguments.iter().map(addresses).collect();
        let other = (arguments != self.arguments).then_some(Self {
            selector: self.selector,
            arguments,
        });
        std::iter::once(self.clone()).chain(other)
    }

    /// The calldata of a call with these arguments, and the arguments' display text.
    pub(super) fn call(&self, filling: &Filling) -> (Vec<u8>, String) {
        let (arguments, words) = abi::encode(&self.arguments, filling);
        ([&self.selector[..], &arguments].concat(), words)
    }
}

/// Properties of the bytecode that need no execution.
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact")]
#[derive(Debug, Default)]
pub(super) struct CodeShape {
    pub(super) functions: Vec<Function>,
    /// Whether it has more than `FUNCTIONS_MAX` functions.
    pub(super) too_many: bool,
    /// Whether the inference of functions panicked.
    pub(super) failed: bool,
    pub(super) delegates: bool,
    /// Whether the code pushes a storage slot of the proxy standards.
    pub(super) proxy_slot: bool,
    pub(super) clone: bool,
}

impl CodeShape {
    pub(super) fn has(&self, selector: Selector) -> bool {
        self.functions
            .iter()
            .any(|function| function.selector == selector)
    }

    /// Adds the functions of a contract that it delegates to.
    pub(super) fn join(&mut self, other: Self) {
        self.failed |= other.failed;
        self.functions.extend(other.functions);
        self.functions.sort_by_key(|function| function.selector);
        self.functions.dedup_by_key(|function| function.selector);
        self.too_many |= other.too_many || self.functions.len() > FUNCTIONS_MAX;
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
    // The inference library has `unreachable!` and unchecked slices on paths that unusual code may reach, and no configurable limit. A
    // panic affects only its own stack, so continuing without a result is sound.
    let found = caught(|| {
        let wanted = ContractInfoArgs::new(code).with_selectors();
        contract_info(if code.len() <= TYPED_CODE_MAX {
            wanted.with_arguments()
        } else {
            wanted
        })
        .functions
    });
    match found {
        Some(functions) => {
            let functions = functions.unwrap_or_default();
            shape.too_many = functions.len() > FUNCTIONS_MAX;
            // Unknown arguments are assumed to be an address and an amount.
            let unknown = || vec![DynSolType::Address, DynSolType::Uint(256)];
            let standard = |function: &evmole::Function| !STANDARD.contains(&function.selector);
            // A dispatcher may be padded with functions: those that make it a token come first, to survive the limit.
            let mut functions = functions;
            functions.sort_by_key(standard);
            shape.functions = functions
                .into_iter()
                .take(FUNCTIONS_MAX)
                .map(|function| Function {
                    selector: function.selector,
                    arguments: function.arguments.unwrap_or_else(unknown),
                })
                .collect();
            if shape.functions.is_empty() {
                shape.functions = compared(code)
                    .into_iter()
                    .map(|selector| Function {
                        selector,
                        arguments: unknown(),
                    })
                    .collect();
            }
            shape.functions.sort_by_key(|function| function.selector);
            shape.functions.dedup_by_key(|function| function.selector);
        }
        None => shape.failed = true,
    }
    shape
}

/// Whether the code contains DELEGATECALL.
pub(super) fn delegates(code: &[u8]) -> bool {
    instructions(code).any(|(opcode, _)| opcode == DELEGATECALL)
}

fn names_proxy_slot(code: &[u8]) -> bool {
    instructions(code).any(|(opcode, data)| {
        opcode == PUSH32 && PROXY_SLOTS.iter().any(|start| data.starts_with(start))
    })
}

/// Four-byte constants that are compared right afterwards: fallback for dispatchers that the inference cannot follow.
fn compared(code: &[u8]) -> Vec<Selector> {
    let all: Vec<(u8, &[u8])> = instructions(code).collect();
    let mut found = Vec::new();
    for (at, (opcode, data)) in all.iter().enumerate() {
        if let (PUSH4, Ok(selector)) = (*opcode, Selector::try_from(*data))
            && all[at + 1..].iter().take(2).any(|(next, _)| *next == EQ)
            && (found.len() < FUNCTIONS_MAX
                || found.len() < 2 * FUNCTIONS_MAX && STANDARD.contains(&selector))
        {
            found.push(selector);
        }
    }
    found
}
