//! Observer of an execution: counts its work, aborts it at the limit, turns branches, and records calls.

use revm::{
    Inspector,
    context::{ContextTr, JournalTr},
    interpreter::{
        CallInputs, CallOutcome, CallScheme, CreateInputs, CreateOutcome, InstructionResult,
        Interpreter, InterpreterTypes,
        interpreter_types::{InputsTr, Jumps, MemoryTr, StackTr},
    },
    primitives::{Address, U256},
};

use super::super::{
    abi,
    caller_checks::{Branch, GuardTrace, JUMPI},
    evm_state::{self, EvmState},
    trace::Trace,
    transaction_context::BlockFacts,
};

/// Work of one signature recovery (ECRECOVER), which takes some thousand times longer than its gas suggests.
const RECOVERY_WORK: u64 = 20_000;
/// Work of reading or writing a slot, beside the step: it has to be looked up, and afterwards compared.
const SLOT_WORK: u64 = 25;
/// Work of a call, beside its steps.
const CALL_WORK: u64 = 60;

/// Inspector of an execution: counts its work, aborts it at the limit, and records calls.
#[derive(Debug, Default)]
pub(super) struct CallObserver {
    pub(super) work: u64,
    limit: u64,
    pub(super) cut: bool,
    pub(super) destroyed: bool,
    pub(super) delegated: Vec<Address>,
    pub(super) called: Vec<Address>,
    pub(super) handed: Vec<Address>,
    pub(super) questioned: Vec<Address>,
    /// The transaction and block values read since `forget_asked`, except by the exchange's own contracts.
    pub(super) asked: BlockFacts,
    pub(super) exchange: Vec<Address>,
    /// Branches that go the other way, and how often each was reached.
    pub(super) forced: Vec<(Branch, u32)>,
    pub(super) guards: Option<GuardTrace>,
    /// Who makes the first call, if it is not who sent the transaction.
    pub(super) first_caller: Option<Address>,
    pub(super) trace: Option<Trace>,
}

impl CallObserver {
    pub(super) fn start(&mut self, limit: u64) {
        let (exchange, forced) = (
            std::mem::take(&mut self.exchange),
            std::mem::take(&mut self.forced),
        );
        let (trace, guards) = (self.trace.take(), self.guards.take());
        *self = Self {
            limit,
            asked: self.asked,
            exchange,
            forced,
            trace,
            guards,
            ..Self::default()
        };
    }
}

impl CallObserver {
    /// Whether the branch that is reached goes the other way.
    fn turns(&mut self, (code, pc): (Address, usize)) -> bool {
        let mut turns = false;
        for (branch, reached) in self
            .forced
            .iter_mut()
            .filter(|(branch, _)| (branch.code, branch.pc) == (code, pc))
        {
            turns |= *reached == branch.nth;
            *reached += 1;
        }
        turns
    }
}

impl<C, I> Inspector<C, I> for CallObserver
where
    C: ContextTr<Db = EvmState>,
    I: InterpreterTypes,
{
    fn step(&mut self, interpreter: &mut Interpreter<I>, _: &mut C) {
        self.work += 1;
        let opcode = interpreter.bytecode.opcode();
        if let Some(asked) = BlockFacts::of(opcode)
            && !self.exchange.contains(&interpreter.input.target_address())
        {
            self.asked.add(asked);
        }
        if self.guards.is_some() || opcode == JUMPI && !self.forced.is_empty() {
            let place = (
                interpreter
                    .input
                    .bytecode_address()
                    .copied()
                    .unwrap_or_default(),
                interpreter.bytecode.pc(),
            );
            if let Some(guards) = &mut self.guards {
                guards.step(opcode, interpreter.stack.data(), place);
            }
            if opcode == JUMPI
                && self.turns(place)
                && let Some([target, condition]) = interpreter.stack.popn()
            {
                let turned = if condition.is_zero() {
                    U256::ONE
                } else {
                    U256::ZERO
                };
                let _ = interpreter.stack.push(turned) && interpreter.stack.push(target);
            }
        }
        // SLOAD, SSTORE.
        if matches!(opcode, 0x54 | 0x55) {
            self.work += SLOT_WORK;
        }
        // Hashing is charged by length.
        if opcode == 0x20 {
            let data = interpreter.stack.data();
            let length = data
                .len()
                .checked_sub(2)
                .map_or(0, |at| u64::try_from(data[at]).unwrap_or(u64::MAX));
            self.work = self
                .work
                .saturating_add(20)
                .saturating_add(length.min(1 << 24) / 8);
        }
        if let Some(trace) = &mut self.trace
            && interpreter.input.target_address() == trace.of
        {
            let memory = &interpreter.memory;
            trace.step(opcode, interpreter.stack.data(), |at| {
                let bytes =
                    (at.checked_add(64)? <= memory.size()).then(|| memory.slice(at..at + 64))?;
                Some([
                    U256::from_be_slice(&bytes[..32]),
                    U256::from_be_slice(&bytes[32..]),
                ])
            });
        }
        if self.work > self.limit {
            self.cut = true;
            interpreter.halt(InstructionResult::OutOfGas);
        }
    }

    fn call(&mut self, context: &mut C, inputs: &mut CallInputs) -> Option<CallOutcome> {
        if let Some(caller) = self.first_caller.take() {
            // Coins that go along are taken from an account that is loaded.
            if context.journal_mut().load_account(caller).is_ok() {
                inputs.caller = caller;
            }
        }
        let delegates = matches!(
            inputs.scheme,
            CallScheme::DelegateCall | CallScheme::CallCode
        );
        if let Some(guards) = &mut self.guards {
            guards.enter(inputs.target_address, delegates);
        }
        let own = |address: Address| address == inputs.target_address;
        self.work += CALL_WORK
            + match inputs.bytecode_address {
                one if one == evm_state::small(1) => RECOVERY_WORK,
                two if two == evm_state::small(2) || two == evm_state::small(3) => {
                    inputs.input.len() as u64
                }
                other if context.db_ref().is_of_chain() => {
                    precompile_work(other, &inputs.input.bytes(context))
                }
                _ => 0,
            };
        match inputs.scheme {
            _ if delegates && !own(inputs.bytecode_address) => {
                push_new(&mut self.delegated, inputs.bytecode_address);
            }
            _ => {
                push_new(&mut self.called, inputs.target_address);
                if inputs.input.len() >= 4 {
                    push_new(&mut self.questioned, inputs.target_address);
                }
                // Old compilers pad it to a word.
                let handed = inputs.input.len() <= 32
                    && inputs
                        .input
                        .bytes(context)
                        .strip_prefix(&abi::BYTES)
                        .is_some_and(|rest| rest.iter().all(|byte| *byte == 0));
                if handed {
                    push_new(&mut self.handed, inputs.target_address);
                }
            }
        }
        None
    }

    fn call_end(&mut self, _: &mut C, _: &CallInputs, _: &mut CallOutcome) {
        if let Some(guards) = &mut self.guards {
            guards.leave();
        }
    }

    fn create_end(&mut self, _: &mut C, _: &CreateInputs, _: &mut CreateOutcome) {
        if let Some(guards) = &mut self.guards {
            guards.leave();
        }
    }

    fn create(&mut self, context: &mut C, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        if let Some(guards) = &mut self.guards {
            guards.enter(Address::ZERO, false);
        }
        self.work += 10 * CALL_WORK + inputs.init_code().len() as u64 / 8;
        let nonce = context
            .journal_mut()
            .load_account(inputs.caller())
            .map_or(0, |account| account.info.nonce);
        let address = inputs.created_address(nonce);
        // On a chain the account there is known, or asked for.
        if !context.db_ref().is_of_chain() {
            context.db_mut().set_blank(address);
        }
        None
    }

    fn selfdestruct(&mut self, _: Address, _: Address, _: U256) {
        self.destroyed = true;
    }
}

/// Work of the precompiled contracts that only a chain has, by what they are given: about their time.
fn precompile_work(address: Address, input: &[u8]) -> u64 {
    let length = input.len() as u64;
    let per = |bytes: u64, work: u64| (length / bytes + 1).saturating_mul(work);
    match address {
        _ if !evm_state::is_precompile(address) => 0,
        // BLAKE2F says its rounds in the first word.
        _ if address == evm_state::small(9) => input.first_chunk::<4>().map_or(0, |rounds| {
            u64::from(u32::from_be_bytes(*rounds)).saturating_mul(5)
        }),
        _ if address == evm_state::small(4) => length / 16,
        // MODEXP: the square of the length.
        _ if address == evm_state::small(5) => length.saturating_mul(length) / 4,
        // Curves: additions, multiplications, pairings.
        _ => per(96, 100_000),
    }
}

fn push_new(list: &mut Vec<Address>, address: Address) {
    if list.len() < 64 && !list.contains(&address) {
        list.push(address);
    }
}
